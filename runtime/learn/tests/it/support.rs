//! Shared code of the tests of estimators: data sets, expectations, comparisons.

#![allow(dead_code, reason = "the tests of plans, which include this file, use some of it")]

use std::path::PathBuf;

use onrush_learn::{Attribute, Column, Data, FittedModel, Run, Spec, Values, save};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/learn")
}

/// A data set of `tests/learn/data` with its target as a number.
pub fn regression(name: &str) -> Data {
    let text = std::fs::read_to_string(folder().join("data").join(format!("{name}.csv"))).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<f64>> = lines.map(|l| l.split(',').map(|v| v.parse().unwrap()).collect()).collect();
    let column = |j: usize| rows.iter().map(|r| r[j]).collect::<Vec<f64>>();
    let width = names.len() - 1;
    let features = (0..width).map(|j| Column::number(names[j], column(j))).collect();
    Data { y: column(width), target: "target".to_string(), ..Data::new(features) }
}

/// The same with the target as classes 0, 1, ...
pub fn classification(name: &str) -> Data {
    let data = regression(name);
    let classes = data.y.iter().fold(0.0f64, |a, b| a.max(*b)) as usize + 1;
    Data { classes: (0..classes).map(|c| c.to_string()).collect(), ..data }
}

/// Expectations of `tests/learn`.
pub fn expected(file: &str) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join(file)).unwrap()).unwrap()
}

/// The numbers of a JSON array, also of a nested one, row after row. `null` is NaN.
pub fn numbers(value: &serde_json::Value) -> Vec<f64> {
    match value {
        serde_json::Value::Array(values) => values.iter().flat_map(numbers).collect(),
        serde_json::Value::Null => vec![f64::NAN],
        value => vec![value.as_f64().unwrap()],
    }
}

pub fn fit(spec: &Spec, data: &Data) -> FittedModel {
    onrush_learn::fit(spec, data, &Run::silent()).unwrap_or_else(|e| panic!("{spec:?}: {e} {:?}", e.help))
}

/// The only column of numbers of an attribute, or its number.
pub fn attribute(fitted: &FittedModel, name: &str) -> Vec<f64> {
    match fitted.attribute(name).unwrap_or_else(|| panic!("no attribute {name}")) {
        Attribute::Float(value) => vec![value],
        Attribute::Int(value) => vec![value as f64],
        Attribute::Strs(values) => panic!("{name} is {values:?}"),
        Attribute::Frame(columns) => {
            let mut found = columns.into_iter().filter_map(|(_, values)| match values {
                Values::Floats(values) => Some(values),
                _ => None,
            });
            let values = found.next().unwrap();
            assert!(found.next().is_none(), "{name} has several columns of numbers");
            values
        }
    }
}

/// Asserts that numbers are equal up to `relative` times the largest of the expected ones.
pub fn assert_close(found: &[f64], expected: &[f64], relative: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: number of values");
    let scale = expected.iter().filter(|v| v.is_finite()).fold(f64::MIN_POSITIVE, |a, b| a.max(b.abs()));
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        let same = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= relative * scale;
        assert!(same, "{what}: value {i} is {a}, expected {b}");
    }
}

/// The columns of numbers of an attribute, row after row.
pub fn matrix(fitted: &FittedModel, name: &str) -> Vec<f64> {
    let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!("{name} is not a frame") };
    let numbers = columns.into_iter().filter_map(|(_, values)| match values {
        Values::Floats(values) => Some(values),
        _ => None,
    });
    row_major(&numbers.collect::<Vec<Vec<f64>>>())
}

/// Columns of equal length, row after row.
pub fn row_major(columns: &[Vec<f64>]) -> Vec<f64> {
    (0..columns.first().map_or(0, Vec::len)).flat_map(|i| columns.iter().map(move |c| c[i])).collect()
}

/// All columns that a model makes.
pub fn applied(fitted: &FittedModel, data: &Data) -> Vec<Vec<f64>> {
    let all: Vec<usize> = (0..fitted.outputs().len()).collect();
    fitted.apply(data, &all).unwrap_or_else(|e| panic!("{e}"))
}

/// At most about `count` values at a fixed stride, as the scripts take them.
pub fn sample(values: &[f64], count: usize) -> Vec<f64> {
    values.iter().step_by((values.len() / count).max(1)).copied().collect()
}

/// The message of a training that must fail.
pub fn error(spec: &Spec, data: &Data) -> String {
    match onrush_learn::fit(spec, data, &Run::silent()) {
        Ok(_) => panic!("{spec:?} is trained"),
        Err(error) => error.message,
    }
}

/// Asserts that a training repeats bit for bit, and that the saved model does the same as the trained one.
pub fn assert_repeats(spec: &Spec, data: &Data) {
    let (a, b) = (fit(spec, data), fit(spec, data));
    let back = save::from_bytes(&save::to_bytes(&b).unwrap()).unwrap();
    let bits = |columns: Vec<Vec<f64>>| columns.into_iter().flatten().map(f64::to_bits).collect::<Vec<u64>>();
    assert!(bits(applied(&a, data)) == bits(applied(&back, data)), "{spec:?}: two trainings differ");
    assert_eq!(a.model().rows(), back.model().rows(), "{spec:?}");
}
