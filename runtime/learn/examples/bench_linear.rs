//! Times of the linear models on generated rows: `cargo run -p onrush-learn --example bench_linear [rows] [features]
//! [name]` prints a line `name seconds` with the best of three runs for each.

use std::time::Instant;

use onrush_learn::random::Mt19937;
use onrush_learn::{Column, Data, Run, Spec};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: usize| arguments.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (rows, width) = (number(0, 100_000), number(1, 50));
    let mut random = Mt19937::new(0);
    let columns: Vec<Vec<f64>> = (0..width).map(|_| (0..rows).map(|_| random.normal()).collect()).collect();
    let score: Vec<f64> = (0..rows).map(|i| (0..width).map(|j| columns[j][i] * (j as f64 * 0.7).sin()).sum()).collect();
    let noise: Vec<f64> = (0..rows).map(|_| random.normal()).collect();
    let features = columns.into_iter().enumerate().map(|(j, c)| Column::number(format!("x{j}"), c)).collect();
    let y = score.iter().zip(&noise).map(|(s, e)| s + e).collect();
    let regression = Data { y, target: "y".to_string(), ..Data::new(features) };
    let classes = |count: usize| {
        let y = score
            .iter()
            .zip(&noise)
            .map(|(s, e)| ((s + 3.0 * e) / 4.0 + 0.5 * count as f64).clamp(0.0, count as f64 - 0.5).floor());
        Data { y: y.collect(), classes: (0..count).map(|c| c.to_string()).collect(), ..regression.clone() }
    };
    let (two, three, ten) = (classes(2), classes(3), classes(10));
    let c = |value: f64| Spec::new("LogisticRegression").with("c", value);
    let jobs: Vec<(&str, Spec, &Data)> = vec![
        ("LinearRegression", Spec::new("LinearRegression"), &regression),
        ("Ridge", Spec::new("Ridge"), &regression),
        ("RidgeCV", Spec::new("RidgeCV"), &regression),
        ("Lasso", Spec::new("Lasso").with("alpha", 0.01), &regression),
        ("LassoCV", Spec::new("LassoCV"), &regression),
        ("ElasticNetCV", Spec::new("ElasticNetCV"), &regression),
        ("LogisticRegression2", c(1.0), &two),
        ("LogisticRegression3", c(1.0), &three),
        ("LogisticRegression10", c(1.0), &ten),
        ("LogisticRegressionL1", c(0.01).with("l1_ratio", 1.0), &two),
        ("LogisticRegressionCV", Spec::new("LogisticRegressionCV"), &two),
    ];
    for (name, spec, data) in jobs {
        if arguments.get(2).is_some_and(|wanted| wanted != name) {
            continue;
        }
        let time = |_| {
            let start = Instant::now();
            let fitted = onrush_learn::fit(&spec, data, &Run::silent());
            assert!(fitted.is_ok(), "{name} failed");
            start.elapsed().as_secs_f64()
        };
        println!("{name} {:.4}", (0..3).map(time).fold(f64::INFINITY, f64::min));
    }
}
