//! SHAP values of any model by random orders of its features (`shap.PermutationExplainer`).
//!
//! Each order is walked forwards and backwards: the antithetic sampling of Mitchell, Cooper, Frank and Holmes 2022.
//! Unknown features have the values of background rows, over which the outputs are averaged.

use rayon::prelude::*;

use super::ShapValues;
use crate::data::{Column, Data};
use crate::error::Error;
use crate::random::Mt19937;
use crate::run::Run;

/// Calls of the model for a row, each with all background rows. The default of `shap.PermutationExplainer`.
pub const EVALUATIONS: usize = 500;

/// The outputs of the model for rows: a column for each output.
pub type Predict<'a> = &'a (dyn Fn(&Data) -> Result<Vec<Vec<f64>>, Error> + Sync);

/// The SHAP values of rows. Orders are those of `shap` for the same seed.
///
/// # Errors
/// If the model refuses rows, or the user stops the work.
pub fn explain(
    predict: Predict<'_>,
    data: &Data,
    background: &Data,
    (evaluations, seed): (usize, u32),
    run: &Run<'_>,
) -> Result<ShapValues, Error> {
    let width = data.width();
    let mut random = Mt19937::new(seed);
    // The orders of a row come after those of the rows before it.
    let orders: Vec<Vec<Vec<usize>>> = (0..data.rows)
        .map(|row| {
            let mut order: Vec<usize> = (0..width).filter(|j| varies(data, background, row, *j)).collect();
            let count = match order.len() {
                0 => 0,
                n => (evaluations / (2 * n + 1)).max(1),
            };
            (0..count)
                .map(|_| {
                    random.shuffle(&mut order);
                    order.clone()
                })
                .collect()
        })
        .collect();
    let means = |columns: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
        let mean = |rows: &[f64]| rows.iter().sum::<f64>() / rows.len() as f64;
        columns.iter().map(|column| column.chunks(background.rows).map(mean).collect()).collect()
    };
    let base: Vec<f64> = means(predict(background)?).into_iter().map(|column| column[0]).collect();
    let outputs = base.len();
    let done = std::sync::atomic::AtomicU64::new(0);
    let of_row = |row: usize| -> Result<Vec<f64>, Error> {
        let mut sums = vec![0.0; outputs * width];
        for order in &orders[row] {
            run.check(|| format!("{row} of {} rows", data.rows))?;
            let made = means(predict(&masked(data, background, row, order))?);
            let scale = 0.5 / orders[row].len() as f64;
            for (k, (made, base)) in made.iter().zip(&base).enumerate() {
                let n = order.len();
                let at = |i: usize| if i == 0 || i == 2 * n { *base } else { made[i - 1] };
                for (i, feature) in order.iter().enumerate() {
                    let (on, off) = (at(i + 1) - at(i), at(n + i) - at(n + i + 1));
                    sums[k * width + feature] += scale * (on + off);
                }
            }
        }
        let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        (run.steps)(done, data.rows as u64);
        Ok(sums)
    };
    let sums: Result<Vec<Vec<f64>>, Error> = (0..data.rows).into_par_iter().map(of_row).collect();
    Ok(ShapValues::of_rows(base, &sums?.concat(), width))
}

/// Whether a background row has another value than a row.
fn varies(data: &Data, background: &Data, row: usize, feature: usize) -> bool {
    let value = data.features[feature].values[row];
    background.features[feature].values.iter().any(|other| *other != value && !(other.is_nan() && value.is_nan()))
}

/// Copies of the background rows, one for each step but the last. The features of an order are set to those of a row,
/// one after the other, and then set back.
fn masked(data: &Data, background: &Data, row: usize, order: &[usize]) -> Data {
    let (n, copies) = (order.len(), 2 * order.len() - 1);
    let column = |(j, known): (usize, &Column)| {
        let place = order.iter().position(|feature| *feature == j);
        let value = data.features[j].values[row];
        let mut values = Vec::with_capacity(copies * background.rows);
        for step in 1..=copies {
            match place {
                Some(place) if step > place && step <= n + place => {
                    values.extend(std::iter::repeat_n(value, background.rows));
                }
                _ => values.extend_from_slice(&known.values),
            }
        }
        Column { name: known.name.clone(), kind: data.features[j].kind.clone(), values }
    };
    Data::new(background.features.iter().enumerate().map(column).collect())
}
