//! Times XGBoost at 100,000 rows x 50 features: `name seconds` lines. `tests/learn/bench_foreign.py` times its Python
//! package on the same numbers.

use std::time::Instant;

use onrush_learn::{Column, Data, Run, Spec, fit, save};

const ROWS: usize = 100_000;
const FEATURES: usize = 50;

/// In [0, 1): the same in the Python file.
fn value(i: usize, j: usize) -> f64 {
    let n = (i as u64 * 50 + j as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (n >> 32) as f64 / (1u64 << 32) as f64
}

fn main() {
    let columns: Vec<Column> =
        (0..FEATURES).map(|j| Column::number(format!("f{j}"), (0..ROWS).map(|i| value(i, j)).collect())).collect();
    let target = |i: usize| value(i, 0) + 2.0 * value(i, 1) * value(i, 2) - value(i, 3);
    let y: Vec<f64> = (0..ROWS).map(target).collect();
    let regression = Data { y, target: "y".to_string(), ..Data::new(columns) };
    let classes = regression.y.iter().map(|y| if *y > 0.5 { 1.0 } else { 0.0 }).collect();
    let classes = Data { y: classes, classes: vec!["0".into(), "1".into()], ..regression.clone() };
    for (name, data) in [("XGBRegressor", &regression), ("XGBClassifier", &classes)] {
        let start = Instant::now();
        let fitted = match fit(&Spec::new(name), data, &Run::silent()) {
            Ok(fitted) => fitted,
            Err(error) => return eprintln!("{error}"),
        };
        println!("{name} {:.3}", start.elapsed().as_secs_f64());
        let loaded = save::save(&fitted, "m.ubj").and_then(|bytes| save::load("m.ubj", &bytes));
        for (label, model) in [("predict", Some(&fitted)), ("predict_without_library", loaded.as_ref().ok())] {
            let start = Instant::now();
            let sum: f64 = model.map_or(0.0, |m| m.apply(data, &[0]).map_or(0.0, |c| c[0].iter().sum()));
            println!("{name}_{label} {:.3} {sum}", start.elapsed().as_secs_f64());
        }
    }
}
