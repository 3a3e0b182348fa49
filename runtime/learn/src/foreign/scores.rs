//! Scores of boosted models by round, set and metric.

use crate::model::{Attribute, Values};
use crate::tensor::Tensor;

/// The scores of a set by a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// The name of the set, such as `validation_0`.
    pub set: String,
    pub metric: String,
    /// One for each round.
    pub values: Vec<f64>,
}

/// Scores from their columns: `values` are those of the first line, then those of the next one.
pub fn lines(sets: &[String], metrics: &[String], values: &Tensor, rounds: usize) -> Vec<Scores> {
    let lines = sets.iter().zip(metrics).zip(values.data.chunks(rounds.max(1)));
    lines
        .map(|((set, metric), values)| Scores { set: set.clone(), metric: metric.clone(), values: values.to_vec() })
        .collect()
}

/// A line for each set and metric, by round.
pub fn curves(scores: &[Scores]) -> Vec<(String, Vec<(f64, f64)>)> {
    let points = |values: &[f64]| values.iter().enumerate().map(|(round, v)| (round as f64, *v)).collect();
    scores.iter().map(|s| (format!("{} {}", s.set, s.metric), points(&s.values))).collect()
}

/// One row for each round, set and metric.
pub fn frame(scores: &[Scores]) -> Attribute {
    let (mut iteration, mut set, mut metric, mut value) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for line in scores {
        for (round, score) in line.values.iter().enumerate() {
            iteration.push(round as i64);
            set.push(line.set.clone());
            metric.push(line.metric.clone());
            value.push(*score);
        }
    }
    Attribute::Frame(vec![
        ("iteration".to_string(), Values::Ints(iteration)),
        ("set".to_string(), Values::Strs(set)),
        ("metric".to_string(), Values::Strs(metric)),
        ("value".to_string(), Values::Floats(value)),
    ])
}

/// The position of the largest value, the first one of equal ones.
pub fn largest<T: Copy + PartialOrd>(row: &[T]) -> f64 {
    let best = (0..row.len()).reduce(|best, k| if row[k] > row[best] { k } else { best });
    best.unwrap_or(0) as f64
}
