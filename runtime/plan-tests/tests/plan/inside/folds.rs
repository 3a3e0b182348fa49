//! Aggregates of frames.

use datafusion::functions_aggregate as df;
use onrush_expr::quantile::{of, quantile};

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{DataType, Float64Type};
use datafusion::logical_expr::AggregateUDF;
use onrush_expr::quantile::{Interpolation, parameters};
use onrush_parallel::inside::{Frames, fold};

const ROWS: usize = 300;

fn values() -> Float64Array {
    // Whole numbers: sums have no rounding, so that any order of additions gives the same.
    (0..ROWS).map(|row| (row % 11 != 3).then(|| ((row * 7919) % 101) as f64 - 50.0)).collect()
}

type OfFrame<'f> = &'f dyn Fn(&[f64]) -> Option<f64>;

/// What the frame of each row gives, computed for each row by itself.
fn expected(partitions: &[Range<usize>], bounds: (Option<i64>, Option<i64>), made: OfFrame) -> Vec<Option<f64>> {
    let values = values();
    let mut results = Vec::new();
    for partition in partitions {
        for row in partition.clone() {
            let within = |other: &usize| {
                let apart = *other as i64 - row as i64;
                bounds.0.is_none_or(|from| apart >= from) && bounds.1.is_none_or(|to| apart <= to)
            };
            let frame: Vec<f64> = partition
                .clone()
                .filter(within)
                .filter(|row| values.is_valid(*row))
                .map(|row| values.value(row))
                .collect();
            results.push(made(&frame));
        }
    }
    results
}

fn variance(frame: &[f64]) -> Option<f64> {
    let mean = frame.iter().sum::<f64>() / frame.len() as f64;
    let squares: f64 = frame.iter().map(|value| (value - mean) * (value - mean)).sum();
    (frame.len() > 1).then(|| squares / (frame.len() - 1) as f64)
}

#[test]
fn folds_give_what_each_frame_gives_by_itself() {
    let partitions = vec![0..1, 1..120, 120..121, 121..ROWS];
    let all: ArrayRef = Arc::new(values());
    let functions: [(Arc<AggregateUDF>, OfFrame); 8] = [
        (df::sum::sum_udaf(), &|frame| (!frame.is_empty()).then(|| frame.iter().sum())),
        (df::average::avg_udaf(), &|f| (!f.is_empty()).then(|| f.iter().sum::<f64>() / f.len() as f64)),
        (df::count::count_udaf(), &|frame| Some(frame.len() as f64)),
        (df::min_max::min_udaf(), &|frame| frame.iter().copied().reduce(f64::min)),
        (df::min_max::max_udaf(), &|frame| frame.iter().copied().reduce(f64::max)),
        (df::variance::var_samp_udaf(), &variance),
        (df::first_last::last_value_udaf(), &|frame| frame.last().copied()),
        (quantile(0.3, Interpolation::Linear), &|frame| of(&mut frame.to_vec(), 0.3, Interpolation::Linear)),
    ];
    let ends = [None, Some(-40), Some(-3), Some(0), Some(2), Some(35)];
    for (function, made) in functions {
        for bounds in ends.iter().flat_map(|from| ends.map(|to| (*from, to))) {
            let ordered = bounds.0.zip(bounds.1).is_none_or(|(from, to)| from <= to);
            let wide = parameters(&function).is_some() && bounds.0.zip(bounds.1).is_none();
            if !ordered || wide {
                continue;
            }
            let frames = Frames::new(partitions.clone(), bounds, None, ROWS);
            let result = fold(&function, true, &all, &frames).unwrap();
            let result = arrow::compute::cast(&result, &DataType::Float64).unwrap();
            let result: Vec<Option<f64>> = result.as_primitive::<Float64Type>().iter().collect();
            let close = |a: &Option<f64>, b: &Option<f64>| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs().max(1.0),
                (a, b) => a == b,
            };
            let expected = expected(&partitions, bounds, made);
            let wrong = result.iter().zip(&expected).position(|(a, b)| !close(a, b));
            let pair = wrong.map(|row| (row, result[row], expected[row]));
            assert_eq!(pair, None, "{} {bounds:?}", function.name());
        }
    }
}
