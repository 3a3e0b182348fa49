//! Seconds of trainings of support vector machines, to be compared with scikit-learn's (`tests/learn/bench_svm.py`).
//!
//! Arguments choose cases by a part of their name.

use std::time::Instant;

use onrush_learn::random::Philox;
use onrush_learn::{Column, Data, Run, Spec};

/// Normally distributed features, and two classes or a number by some of them with noise.
fn data(rows: usize, width: usize, is_class: bool) -> Data {
    let random = Philox::new(1, 1);
    let normal = |i: usize, j: usize| {
        let (a, b) = (random.uniform(2 * j as u64, i as u64), random.uniform(2 * j as u64 + 1, i as u64));
        (-2.0 * (1.0 - a).ln()).sqrt() * (2.0 * std::f64::consts::PI * b).cos()
    };
    let columns: Vec<Vec<f64>> = (0..width).map(|j| (0..rows).map(|i| normal(i, j)).collect()).collect();
    let target = |i: usize| {
        let x = |j: usize| columns[j][i];
        x(0) + 0.8 * x(1) - 0.6 * x(2) + 0.7 * x(3) * x(4) + 0.5 * normal(i, width)
    };
    let y: Vec<f64> = (0..rows).map(target).collect();
    let y = if is_class { y.iter().map(|y| f64::from(u8::from(*y > 0.0))).collect() } else { y };
    let classes = if is_class { vec!["0".to_string(), "1".to_string()] } else { Vec::new() };
    let features = columns.into_iter().enumerate().map(|(j, c)| Column::number(format!("x{j}"), c)).collect();
    Data { y, classes, target: "y".to_string(), ..Data::new(features) }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let hinge = Spec::new("LinearSVC").with("loss", "hinge");
    let l1 = Spec::new("LinearSVC").with("penalty", "l1");
    let cases = [
        ("svc", Spec::new("SVC"), (10_000, 20)),
        ("svr", Spec::new("SVR"), (10_000, 20)),
        ("linear_svc", Spec::new("LinearSVC"), (100_000, 50)),
        ("linear_hinge", hinge, (100_000, 50)),
        ("linear_l1", l1, (100_000, 50)),
        ("linear_svr", Spec::new("LinearSVR"), (100_000, 50)),
    ];
    for (name, spec, (rows, width)) in cases {
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        let data = data(rows, width, !name.ends_with("svr"));
        let start = Instant::now();
        let fitted = onrush_learn::fit(&spec, &data, &Run::silent()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let fit = start.elapsed().as_secs_f64();
        let start = Instant::now();
        fitted.apply(&data, &[0]).unwrap_or_else(|e| panic!("{name}: {e}"));
        println!("{name} {fit:.3} predict {:.3} {:?}", start.elapsed().as_secs_f64(), fitted.model().notes());
    }
}
