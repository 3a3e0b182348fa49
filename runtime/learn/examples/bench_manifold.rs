//! Times an estimator on rows of a file: prints the seconds that passed and its attributes that are numbers.
//!
//! `bench_manifold FILE WIDTH ESTIMATOR [name=value ..]`: the file has f64 values, row after row. It is one of
//! `tests/learn/bench_manifold.py`, so that scikit-learn is measured on the same rows.

use onrush_learn::{Attribute, Column, Data, Param, Run, Spec};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(width), Some(estimator)) =
        (arguments.next(), arguments.next().and_then(|w| w.parse::<usize>().ok()), arguments.next())
    else {
        eprintln!("usage: bench_manifold FILE WIDTH ESTIMATOR [name=value ..]: a file of f64 values, row after row");
        return;
    };
    let bytes = std::fs::read(path).expect("the file is read");
    let (values, _) = bytes.as_chunks::<8>();
    let values: Vec<f64> = values.iter().map(|b| f64::from_le_bytes(*b)).collect();
    let column = |j: usize| values.iter().skip(j).step_by(width).copied().collect::<Vec<f64>>();
    let data = Data::new((0..width).map(|j| Column::number(format!("x{j}"), column(j))).collect());
    let mut spec = Spec::new(&estimator);
    for argument in arguments {
        let (name, value) = argument.split_once('=').expect("an argument is name=value");
        spec.set(name, parameter(value));
    }
    let start = std::time::Instant::now();
    let fitted = onrush_learn::fit(&spec, &data, &Run::silent()).unwrap_or_else(|e| panic!("{e}"));
    print!("{estimator} {:.3} s", start.elapsed().as_secs_f64());
    for name in ["kl_divergence", "n_iter", "lower_bound", "offset"] {
        match fitted.attribute(name) {
            Some(Attribute::Float(value)) => print!(", {name} {value:.6}"),
            Some(Attribute::Int(value)) => print!(", {name} {value}"),
            _ => {}
        }
    }
    let start = std::time::Instant::now();
    let all: Vec<usize> = (0..fitted.outputs().len()).collect();
    fitted.apply(&data, &all).unwrap_or_else(|e| panic!("{e}"));
    println!(", applied in {:.3} s", start.elapsed().as_secs_f64());
}

fn parameter(value: &str) -> Param {
    if let Ok(value) = value.parse::<i64>() {
        return Param::Int(value);
    }
    value.parse::<f64>().map_or_else(|_| Param::from(value), Param::Float)
}
