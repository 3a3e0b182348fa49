//! Times of perceptrons, stochastic gradient descent and generalized linear models: `cargo run -p onrush-learn
//! --example bench_neural [name]` prints a line `name seconds` with the best of three runs for each. The digits are
//! those of `tests/learn/data`; the other rows are generated, 100 000 x 50.

use std::time::Instant;

use onrush_learn::random::Mt19937;
use onrush_learn::{Column, Data, Run, Spec};

fn digits() -> Data {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/learn/data/digits.csv");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let rows: Vec<Vec<f64>> =
        text.lines().skip(1).map(|line| line.split(',').filter_map(|v| v.parse().ok()).collect()).collect();
    let column = |j: usize| rows.iter().map(|row| row[j] / if j < 64 { 16.0 } else { 1.0 }).collect::<Vec<f64>>();
    let features = (0..64).map(|j| Column::number(format!("p{j}"), column(j))).collect();
    Data { y: column(64), classes: (0..10).map(|c| c.to_string()).collect(), ..Data::new(features) }
}

fn main() {
    let wanted = std::env::args().nth(1);
    let (rows, width) = (100_000, 50);
    let mut random = Mt19937::new(0);
    let columns: Vec<Vec<f64>> = (0..width).map(|_| (0..rows).map(|_| random.normal()).collect()).collect();
    let score: Vec<f64> = (0..rows).map(|i| (0..width).map(|j| columns[j][i] * (j as f64 * 0.7).sin()).sum()).collect();
    let noise: Vec<f64> = (0..rows).map(|_| random.normal()).collect();
    let features = columns.into_iter().enumerate().map(|(j, c)| Column::number(format!("x{j}"), c)).collect();
    let y = score.iter().zip(&noise).map(|(s, e)| s + e).collect();
    let numbers = Data { y, target: "y".to_string(), ..Data::new(features) };
    let classes = |count: usize| {
        let y = score
            .iter()
            .zip(&noise)
            .map(|(s, e)| ((s + 3.0 * e) / 4.0 + 0.5 * count as f64).clamp(0.0, count as f64 - 0.5).floor());
        Data { y: y.collect(), classes: (0..count).map(|c| c.to_string()).collect(), ..numbers.clone() }
    };
    let counts = Data { y: score.iter().map(|s| (s / 5.0).exp().floor()).collect(), ..numbers.clone() };
    let (digits, two, ten) = (digits(), classes(2), classes(10));
    let mlp = Spec::new("MLPClassifier").with("max_iter", 60).with("tol", 0.0).with("n_iter_no_change", 1000);
    let jobs: Vec<(&str, Spec, &Data)> = vec![
        ("mlp_digits", mlp.clone(), &digits),
        ("mlp_digits_tanh", mlp.clone().with("activation", "tanh"), &digits),
        ("mlp_digits_lbfgs", mlp.clone().with("solver", "lbfgs").with("tol", 1e-9), &digits),
        ("mlp_100000", mlp.with("max_iter", 3), &two),
        ("sgd_hinge", Spec::new("SGDClassifier"), &two),
        ("sgd_log_loss", Spec::new("SGDClassifier").with("loss", "log_loss"), &two),
        ("sgd_ten", Spec::new("SGDClassifier"), &ten),
        ("sgd_elasticnet", Spec::new("SGDClassifier").with("penalty", "elasticnet"), &two),
        ("sgd_regressor", Spec::new("SGDRegressor"), &numbers),
        ("perceptron", Spec::new("Perceptron"), &two),
        ("poisson", Spec::new("PoissonRegressor").with("alpha", 1e-3), &counts),
        ("huber", Spec::new("HuberRegressor"), &numbers),
        ("bayes", Spec::new("BayesianRidge"), &numbers),
        ("ridge_classifier", Spec::new("RidgeClassifier"), &ten),
    ];
    for (name, spec, data) in jobs {
        if wanted.as_ref().is_some_and(|wanted| wanted != name) {
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
