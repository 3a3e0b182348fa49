//! Seconds of trainings on 100,000 rows x 50 features, to be compared with scikit-learn's
//! (`tests/learn/bench_trees.py`).
//!
//! Arguments choose estimators by a part of their name.

use std::time::Instant;

use onrush_learn::random::Philox;
use onrush_learn::{Column, Data, Run, Spec};

/// Features, a target that depends on some of them, and two classes by the sign of its deviation.
fn data(rows: usize, width: usize, is_class: bool) -> Data {
    let random = Philox::new(1, 1);
    let uniform = |i: usize, j: usize| random.uniform(j as u64, i as u64);
    let columns: Vec<Vec<f64>> = (0..width).map(|j| (0..rows).map(|i| uniform(i, j)).collect()).collect();
    let target = |i: usize| {
        let x = |j: usize| columns[j][i];
        let noise: f64 = (100..112).map(|j| uniform(i, j)).sum::<f64>() - 6.0;
        10.0 * (std::f64::consts::PI * x(0) * x(1)).sin()
            + 20.0 * (x(2) - 0.5).powi(2)
            + 10.0 * x(3)
            + 5.0 * x(4)
            + noise
    };
    let y: Vec<f64> = (0..rows).map(target).collect();
    let y = if is_class { y.iter().map(|y| f64::from(u8::from(*y > 14.4))).collect() } else { y };
    let classes = if is_class { vec!["0".to_string(), "1".to_string()] } else { Vec::new() };
    let features = columns.into_iter().enumerate().map(|(j, c)| Column::number(format!("x{j}"), c)).collect();
    Data { y, classes, target: "y".to_string(), ..Data::new(features) }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let specs = [
        Spec::new("DecisionTreeClassifier"),
        Spec::new("DecisionTreeRegressor"),
        Spec::new("RandomForestClassifier"),
        Spec::new("RandomForestRegressor").with("n_estimators", 10),
        Spec::new("ExtraTreesClassifier"),
        Spec::new("HistGradientBoostingClassifier").with("early_stopping", false),
        Spec::new("HistGradientBoostingRegressor").with("early_stopping", false),
        Spec::new("GradientBoostingClassifier").with("n_estimators", 10),
        Spec::new("GradientBoostingRegressor").with("n_estimators", 10),
    ];
    let (numbers, classes) = (data(100_000, 50, false), data(100_000, 50, true));
    for spec in specs {
        if !wanted.is_empty() && !wanted.iter().any(|w| spec.estimator.contains(w)) {
            continue;
        }
        let data = if spec.estimator.ends_with("Regressor") { &numbers } else { &classes };
        let start = Instant::now();
        let fitted =
            onrush_learn::fit(&spec, data, &Run::silent()).unwrap_or_else(|e| panic!("{}: {e}", spec.estimator));
        let fit = start.elapsed().as_secs_f64();
        let start = Instant::now();
        fitted.apply(data, &[0]).unwrap_or_else(|e| panic!("{}: {e}", spec.estimator));
        println!("{} {fit:.3} predict {:.3}", spec.estimator, start.elapsed().as_secs_f64());
    }
}
