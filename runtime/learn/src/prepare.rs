//! Preprocessing: scalers, imputation, encoders, bins and products of features.

pub mod bins;
pub mod elementwise;
pub mod impute;
pub mod labels;
mod levels;
pub mod neighbors;
pub mod one_hot;
pub mod ordinal;
pub mod polynomial;
pub mod power;
pub mod ranks;
pub mod rows;
pub mod scale;
pub mod spline;
pub mod target;
pub mod variance;

pub use bins::Discretizer;
pub use elementwise::Elementwise;
pub use impute::Imputer;
pub use labels::{LabelSets, Labels};
pub use neighbors::KnnImputer;
pub use one_hot::OneHot;
pub use ordinal::Ordinal;
pub use polynomial::Polynomial;
pub use power::Power;
pub use ranks::QuantileMap;
pub use rows::Normalizer;
pub use scale::Scaler;
pub use spline::Spline;
pub use target::TargetEncoder;
pub use variance::Variance;

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::data::{Column, Data};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Values};
use crate::run::Run;

/// Calls `work` for each feature on all threads.
fn each<T: Send>(
    data: &Data,
    run: &Run<'_>,
    work: impl Fn(usize, &Column) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let done = AtomicUsize::new(0);
    let results: Vec<Result<T, Error>> = data
        .features
        .par_iter()
        .enumerate()
        .map(|(j, column)| {
            run.check(|| format!("{} of {} features", done.load(Ordering::Relaxed), data.width()))?;
            let result = work(j, column);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            (run.steps)(done as u64, data.width() as u64);
            result
        })
        .collect();
    // The error of the first feature, on any number of threads.
    results.into_iter().collect()
}

/// Columns of numbers under the names of features, each made by `work` on all threads.
fn numbers(features: &[Field], work: impl Fn(usize) -> Vec<f64> + Sync) -> Vec<Column> {
    let made = outputs(&(0..features.len()).collect::<Vec<usize>>(), work);
    features.iter().zip(made).map(|(field, values)| Column::number(field.name.as_str(), values)).collect()
}

/// For each row the position of the largest value among some columns, the first one on ties. `None`: all are 0.
fn largest(columns: &[Column], rows: usize) -> Vec<Option<usize>> {
    let of_row = |row: usize| {
        let better = |best: Option<usize>, k: usize| match best {
            Some(best) if columns[k].values[row] <= columns[best].values[row] => Some(best),
            _ => Some(k),
        };
        let best = (0..columns.len()).fold(None, better);
        best.filter(|_| columns.iter().any(|column| column.values[row] != 0.0))
    };
    (0..rows).map(of_row).collect()
}

/// Calls `work` for each wanted output that belongs to one feature, on all threads.
fn outputs(wanted: &[usize], work: impl Fn(usize) -> Vec<f64> + Sync) -> Vec<Vec<f64>> {
    wanted.par_iter().map(|k| work(*k)).collect()
}

/// Values that a transformer makes at most at once: 16 GiB.
const MOST_VALUES: u64 = 1 << 31;

/// Checks that so many columns of these rows can be made at once.
///
/// # Errors
/// If there are more than [`MOST_VALUES`] values.
fn few(estimator: &str, rows: usize, columns: usize) -> Result<(), Error> {
    match (rows as u64).saturating_mul(columns as u64) {
        0..=MOST_VALUES => Ok(()),
        _ => {
            let message =
                format!("{estimator} makes {columns} columns of {rows} rows: at most {MOST_VALUES} values at once");
            Err(Error::new(ErrorKind::TooManyColumns, message)
                .help("take fewer rows, or leave out features with many categories or products"))
        }
    }
}

/// An attribute with several rows for each feature: columns `feature` and `value`.
fn long<T>(features: &[Field], lists: &[Vec<T>], value: &str, values: impl FnOnce(Vec<&T>) -> Values) -> Attribute {
    let names = features.iter().zip(lists).flat_map(|(f, list)| list.iter().map(|_| f.name.clone()));
    Attribute::Frame(vec![
        ("feature".to_string(), Values::Strs(names.collect())),
        (value.to_string(), values(lists.iter().flatten().collect())),
    ])
}

/// An error of a model file whose arrays do not fit.
fn lying(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::ModelFile, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_columns_are_refused_before_they_are_made() {
        assert_eq!(few("OneHotEncoder", 1 << 20, 1 << 11), Ok(()));
        let error = few("OneHotEncoder", 1 << 20, 4096).unwrap_err();
        let wanted = "OneHotEncoder makes 4096 columns of 1048576 rows: at most 2147483648 values at once";
        assert_eq!(error.message, wanted);
    }
}
