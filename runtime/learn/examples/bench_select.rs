//! Times of metrics and splitters on a million rows: a line `name seconds` for each, the best of five.
//!
//! `cargo run --release -p onrush-learn --example bench_select`

use std::hint::black_box;
use std::time::Instant;

use onrush_learn::metrics::classification::{Average, Confusion};
use onrush_learn::metrics::{probability, ranking, regression};
use onrush_learn::random::Mt19937;
use onrush_learn::select::{splits, train_test_split};
use onrush_learn::{Column, Data};
use onrush_wire::learn::Splitter;

fn time<T>(name: &str, work: impl Fn() -> T) {
    let once = || {
        let start = Instant::now();
        black_box(work());
        start.elapsed().as_secs_f64()
    };
    let best = (0..5).map(|_| once()).fold(f64::INFINITY, f64::min);
    println!("{name} {best:.6}");
}

fn main() {
    let rows = 1_000_000;
    let mut random = Mt19937::new(0);
    let p: Vec<f64> = (0..rows).map(|_| random.uniform()).collect();
    let y: Vec<f64> = p.iter().map(|p| f64::from(random.uniform() < *p)).collect();
    let guess: Vec<f64> = p.iter().map(|p| f64::from(*p > 0.5)).collect();
    let none: Vec<f64> = p.iter().map(|p| 1.0 - p).collect();
    let positive: Vec<bool> = y.iter().map(|y| *y == 1.0).collect();
    let proba: [&[f64]; 2] = [&none, &p];
    time("roc_auc", || ranking::roc_auc(&positive, &p, None));
    time("average_precision", || ranking::average_precision(&positive, &p, None));
    time("f1", || Confusion::new(&y, &guess, None, 2).fbeta(1.0, Average::Binary));
    time("log_loss", || probability::log_loss(&y, &proba, None));
    time("r2", || regression::r2(&y, &p, None));
    time("median_absolute_error", || regression::median_absolute_error(&y, &p, None));
    let kfold = Splitter::KFold { n_splits: 5, shuffle: true, random_state: 0 };
    time("kfold", || splits(&kfold, rows, None, false, None));
    let stratified = Splitter::StratifiedKFold { n_splits: 5, shuffle: true, random_state: 0 };
    time("stratified_kfold", || splits(&stratified, rows, Some(&y), true, None));
    time("train_test_split", || train_test_split(rows, None, None, true, Some(&y), 0));
    let few = 100_000;
    let data =
        Data::new((0..50).map(|j| Column::number(format!("x{j}"), p[j * 1000..j * 1000 + few].to_vec())).collect());
    let (train, _) = train_test_split(few, None, None, true, None, 0).unwrap_or_default();
    time("take_100000_x_50", || data.take(&train));
}
