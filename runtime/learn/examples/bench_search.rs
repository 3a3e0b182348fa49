//! Times of searches by `n_jobs`: a line `estimator rows n_jobs seconds` for each, the best of three.
//!
//! `cargo run --release -p onrush-learn --example bench_search`

use std::time::Instant;

use onrush_learn::random::Mt19937;
use onrush_learn::{Column, Data, Param, Run, Spec, fit};
use onrush_wire::learn::{Grid, Part};

/// Rows of 20 features, and a target of the first three.
fn rows(count: usize) -> Data {
    let mut random = Mt19937::new(1);
    let columns: Vec<Vec<f64>> = (0..20).map(|_| (0..count).map(|_| random.normal()).collect()).collect();
    let y = (0..count).map(|i| columns[0][i] + columns[1][i] * columns[2][i] + random.normal()).collect();
    let features = columns.into_iter().enumerate().map(|(j, values)| Column::number(format!("x{j}"), values));
    Data { y, target: "y".to_string(), ..Data::new(features.collect()) }
}

fn search(estimator: &str, path: &str, values: Vec<Param>) -> Spec {
    let part = Part { name: "estimator".to_string(), columns: Vec::new(), spec: Spec::new(estimator) };
    Spec { parts: vec![part], grid: vec![(path.to_string(), Grid::List(values))], ..Spec::new("GridSearchCV") }
}

fn main() {
    let depths = || (4..10).map(Param::Int).collect();
    let alphas = || (0..12).map(|i| Param::Float(f64::from(i) + 0.1)).collect();
    for count in [5_000, 50_000] {
        let data = rows(count);
        let searches = [search("DecisionTreeRegressor", "max_depth", depths()), search("Ridge", "alpha", alphas())];
        for spec in searches {
            for jobs in [Param::None, Param::Int(1), Param::Int(2), Param::Int(-1)] {
                let spec = spec.clone().with("refit", false).with("n_jobs", jobs.clone());
                let once = || {
                    let start = Instant::now();
                    let made = fit(&spec, &data, &Run::silent());
                    assert!(made.is_ok(), "{:?}", made.err());
                    start.elapsed().as_secs_f64()
                };
                let best = (0..3).map(|_| once()).fold(f64::INFINITY, f64::min);
                println!("{} {count} {jobs} {best:.3}", spec.parts[0].spec.estimator);
            }
        }
    }
}
