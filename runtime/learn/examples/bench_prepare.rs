//! Times of preprocessing at 100,000 rows x 50 features: a line `name seconds` for each estimator, the least of several
//! runs.
//!
//! The peer is `tests/learn/bench_prepare.py`. Run both in turn:
//! `cargo run --release -p onrush-learn --example bench_prepare`.

use std::time::Instant;

use onrush_learn::random::Philox;
use onrush_learn::{Column, Data, Run, Spec, fit, fit_transform};

const ROWS: usize = 100_000;
const WIDTH: usize = 50;
const RUNS: usize = 5;

/// Columns of a function of uniform numbers.
fn columns(value: impl Fn(f64) -> f64) -> Data {
    let random = Philox::new(1, 0);
    let column = |j: usize| (0..ROWS).map(|i| value(random.uniform(j as u64, i as u64))).collect();
    Data::new((0..WIDTH).map(|j| Column::number(format!("x{j}"), column(j))).collect())
}

fn main() {
    let numbers = columns(|u| (u - 0.5) * 7.0 + u * u);
    let y: Vec<f64> = numbers.features[0].values.iter().map(|v| v + 1.0).collect();
    let categories = Data { y, ..columns(|u| (u * 10.0).floor()) };
    let holes = columns(|u| if u < 0.1 { f64::NAN } else { u });
    let cases = [
        ("StandardScaler", &numbers, Spec::new("StandardScaler")),
        ("MinMaxScaler", &numbers, Spec::new("MinMaxScaler")),
        ("MaxAbsScaler", &numbers, Spec::new("MaxAbsScaler")),
        ("RobustScaler", &numbers, Spec::new("RobustScaler")),
        ("SimpleImputer", &holes, Spec::new("SimpleImputer")),
        ("SimpleImputer_median", &holes, Spec::new("SimpleImputer").with("strategy", "median")),
        ("OneHotEncoder", &categories, Spec::new("OneHotEncoder")),
        ("OrdinalEncoder", &categories, Spec::new("OrdinalEncoder")),
        ("TargetEncoder", &categories, Spec::new("TargetEncoder")),
        ("KBinsDiscretizer", &numbers, Spec::new("KBinsDiscretizer")),
        ("KBinsDiscretizer_kmeans", &numbers, Spec::new("KBinsDiscretizer").with("strategy", "kmeans")),
        ("PowerTransformer", &numbers, Spec::new("PowerTransformer")),
        ("QuantileTransformer", &numbers, Spec::new("QuantileTransformer")),
        ("VarianceThreshold", &numbers, Spec::new("VarianceThreshold")),
        ("PolynomialFeatures", &numbers, Spec::new("PolynomialFeatures")),
    ];
    for (name, data, spec) in cases {
        let mut least = f64::MAX;
        for _ in 0..RUNS {
            let start = Instant::now();
            fit(&spec, data, &Run::silent()).expect("the data suit the estimator");
            least = least.min(start.elapsed().as_secs_f64());
        }
        println!("{name} {least:.4}");
    }
    for name in ["StandardScaler", "Normalizer", "TargetEncoder", "OrdinalEncoder"] {
        let data = if name.ends_with("Encoder") { &categories } else { &numbers };
        let mut least = f64::MAX;
        for _ in 0..RUNS {
            let start = Instant::now();
            fit_transform(&Spec::new(name), data, &Run::silent()).expect("the data suit the estimator");
            least = least.min(start.elapsed().as_secs_f64());
        }
        println!("{name}_fit_transform {least:.4}");
    }
}
