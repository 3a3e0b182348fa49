//! Seconds of SHAP values, to be compared with those of the Python package shap (`tests/learn/bench_shap.py`).
//!
//! Arguments choose cases by a part of their name.

use std::time::Instant;

use onrush_learn::random::Philox;
use onrush_learn::select::{ShapOptions, shap};
use onrush_learn::{Column, Data, Run, Spec};

/// Features, a target that depends on some of them, and two classes by the sign of its deviation.
fn data(rows: usize, width: usize, is_class: bool) -> Data {
    let random = Philox::new(1, 1);
    let uniform = |i: usize, j: usize| random.uniform(j as u64, i as u64);
    let columns: Vec<Vec<f64>> = (0..width).map(|j| (0..rows).map(|i| uniform(i, j)).collect()).collect();
    let target = |i: usize| {
        let x = |j: usize| columns[j][i];
        let noise: f64 = (100..112).map(|j| uniform(i, j)).sum::<f64>() - 6.0;
        let curve = 10.0 * (std::f64::consts::PI * x(0) * x(1)).sin() + 20.0 * (x(2) - 0.5).powi(2);
        curve + 10.0 * x(3) + 5.0 * x(4) + noise
    };
    let y: Vec<f64> = (0..rows).map(target).collect();
    let y = if is_class { y.iter().map(|y| f64::from(u8::from(*y > 14.4))).collect() } else { y };
    let classes = if is_class { vec!["0".to_string(), "1".to_string()] } else { Vec::new() };
    let features = columns.into_iter().enumerate().map(|(j, c)| Column::number(format!("x{j}"), c)).collect();
    Data { y, classes, target: "y".to_string(), ..Data::new(features) }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let forest = |name: &str| Spec::new(name).with("n_estimators", 100);
    // Rows that train, rows that are explained, features.
    let cases = [
        ("forest", forest("RandomForestRegressor").with("max_depth", 8), (20_000, 1_000, 20)),
        ("deep_forest", forest("RandomForestClassifier"), (20_000, 200, 20)),
        ("boosted", forest("GradientBoostingRegressor").with("max_depth", 6), (20_000, 10_000, 20)),
        ("hist", Spec::new("HistGradientBoostingClassifier").with("early_stopping", false), (100_000, 10_000, 50)),
        ("linear", Spec::new("LinearRegression"), (100_000, 100_000, 50)),
        ("permutation", Spec::new("KNeighborsRegressor"), (2_000, 20, 10)),
    ];
    let options = ShapOptions { class: None, evaluations: None, random_state: 0 };
    for (name, spec, (rows, explained, width)) in cases {
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        let data = data(rows, width, spec.estimator.ends_with("Classifier"));
        let fitted = onrush_learn::fit(&spec, &data, &Run::silent()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let some = data.take(&(0..explained).collect::<Vec<_>>());
        let background = data.take(&(0..100).collect::<Vec<_>>());
        let start = Instant::now();
        let made = shap(&fitted, &some, Some(&background), &options, &Run::silent());
        let made = made.unwrap_or_else(|e| panic!("{name}: {e}"));
        let seconds = start.elapsed().as_secs_f64();
        println!("{name} {seconds:.3} for {explained} rows, base {:.6}", made.values.base[0]);
    }
}
