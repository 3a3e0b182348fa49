//! Scores of single features against the target, as in scikit-learn's `feature_selection/_univariate_selection.py`.
//!
//! Dense features are shifted by their first value, so that a constant feature has a variance of exactly 0. Sparse
//! features are summed as they are, as in scikit-learn.

use rayon::prelude::*;

use super::distribution::{chi2_tail, f_tail};
use super::mutual;
use crate::data::sparse::Sparse;
use crate::data::{Column, Data, values};
use crate::error::{Error, ErrorKind};
use crate::run::Run;
use crate::sums;

/// The score of each feature, dense ones first. NaN is not defined.
pub struct FeatureScores {
    pub scores: Vec<f64>,
    /// `None`: the score has no p-value.
    pub pvalues: Option<Vec<f64>>,
}

/// Scores all features with the function of this name.
///
/// # Errors
/// If the target does not fit the function, and for `chi2` if a value is negative.
pub fn score(name: &str, data: &Data, run: &Run<'_>) -> Result<FeatureScores, Error> {
    if data.y.len() != data.rows {
        let error = Error::new(ErrorKind::NoTarget, format!("`{name}` needs a target"));
        return Err(error.help("name it: `.fit(&frame, \"target\")`"));
    }
    match name {
        "f_regression" => f_regression(data, run),
        "r_regression" => Ok(FeatureScores { scores: correlations(data, run)?, pvalues: None }),
        "chi2" => chi2(data, run),
        "mutual_info_classif" => {
            Ok(FeatureScores { scores: mutual::with_classes(data, &Classes::of(name, data)?, run)?, pvalues: None })
        }
        "mutual_info_regression" => {
            Ok(FeatureScores { scores: mutual::with_numbers(data, &numbers(data)?, run)?, pvalues: None })
        }
        _ => f_classif(data, run),
    }
}

/// The classes of a target: those that it has, or the different values of a target of numbers.
pub(super) struct Classes {
    /// For each row the position of its class.
    pub codes: Vec<u32>,
    /// For each class how many rows it has. At least two classes have some.
    pub counts: Vec<f64>,
}

impl Classes {
    /// # Errors
    /// If the target holds numbers with decimals, or the rows have one class.
    pub fn of(score: &str, data: &Data) -> Result<Classes, Error> {
        if data.classes.is_empty() && data.y.iter().any(|y| y.fract() != 0.0) {
            let message =
                format!("`{score}` compares classes, and the target `{}` holds numbers with decimals", data.target);
            let error = Error::new(ErrorKind::Target, message);
            return Err(error.help("take `f_regression`, `r_regression` or `mutual_info_regression`"));
        }
        // Only classes that have rows count, as in scikit-learn.
        let (known, positions, _) = values::classes(&data.y);
        let codes: Vec<u32> = positions.iter().map(|p| *p as u32).collect();
        let mut counts = vec![0.0; known.len()];
        codes.iter().for_each(|code| counts[*code as usize] += 1.0);
        if counts.len() < 2 {
            let message = format!("`{}` has one class in these rows, and `{score}` compares classes", data.target);
            return Err(Error::new(ErrorKind::OneClass, message));
        }
        Ok(Classes { codes, counts })
    }
}

/// The target as numbers. Classes are read as numbers, if all are.
///
/// # Errors
/// Names a class that is not a number.
pub(crate) fn numbers(data: &Data) -> Result<Vec<f64>, Error> {
    if data.classes.is_empty() {
        return Ok(data.y.clone());
    }
    let number = |class: &String| match class.as_str() {
        "true" => Ok(1.0),
        "false" => Ok(0.0),
        word => word.parse::<f64>().map_err(|_| {
            let message = format!("the target `{}` has the class `{word}`: expected numbers", data.target);
            Error::new(ErrorKind::Target, message).help("take a score of classes, such as `f_classif`")
        }),
    };
    let known: Vec<f64> = data.classes.iter().map(number).collect::<Result<_, Error>>()?;
    Ok(data.y.iter().map(|class| known[*class as usize]).collect())
}

/// Calls `work` for each dense feature on all threads.
pub(super) fn each<T: Send>(
    data: &Data,
    run: &Run<'_>,
    work: impl Fn(&Column) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let results: Vec<Result<T, Error>> = data
        .features
        .par_iter()
        .map(|column| {
            run.check(|| format!("scores of some of {} features", data.width()))?;
            work(column)
        })
        .collect();
    results.into_iter().collect()
}

/// Sums of values in each class, and the sum of all squares.
fn by_class(classes: &Classes, values: &[f64], shift: f64) -> (Vec<f64>, f64) {
    let chunk = |rows: std::ops::Range<usize>| {
        let (mut sums, mut squares) = (vec![0.0; classes.counts.len()], 0.0);
        for (value, code) in values[rows.clone()].iter().zip(&classes.codes[rows]) {
            let value = value - shift;
            sums[*code as usize] += value;
            squares += value * value;
        }
        (sums, squares)
    };
    let add = |(mut a, s): (Vec<f64>, f64), (b, t): (Vec<f64>, f64)| {
        a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
        (a, s + t)
    };
    sums::over_rows(values.len(), chunk, add).unwrap_or_default()
}

/// The same for sparse features: classes x features, and for each feature the sum of squares.
fn sparse_by_class(classes: &Classes, sparse: &Sparse) -> (Vec<f64>, Vec<f64>) {
    let width = sparse.width();
    let (mut sums, mut squares) = (vec![0.0; classes.counts.len() * width], vec![0.0; width]);
    for row in 0..sparse.rows() {
        let first = classes.codes[row] as usize * width;
        let (columns, values) = sparse.row(row);
        for (column, value) in columns.iter().zip(values) {
            sums[first + *column as usize] += value;
            squares[*column as usize] += value * value;
        }
    }
    (sums, squares)
}

/// F of the one-way analysis of variance of each feature over the classes.
fn f_classif(data: &Data, run: &Run<'_>) -> Result<FeatureScores, Error> {
    let classes = Classes::of("f_classif", data)?;
    let rows = data.rows as f64;
    let (between, within) = (classes.counts.len() as f64 - 1.0, rows - classes.counts.len() as f64);
    let f = |sums: &mut dyn Iterator<Item = f64>, squares: f64| {
        let (mut all, mut explained) = (0.0, 0.0);
        for (sum, count) in sums.zip(&classes.counts) {
            all += sum;
            explained += sum * sum / count;
        }
        let total = squares - all * all / rows;
        let explained = explained - all * all / rows;
        // Below 0 is a rounding error.
        (explained.max(0.0) / between) / ((total - explained).max(0.0) / within)
    };
    let mut scores = each(data, run, |column| {
        let shift = column.values.first().copied().unwrap_or(0.0);
        let (sums, squares) = by_class(&classes, &column.values, shift);
        Ok(f(&mut sums.into_iter(), squares))
    })?;
    if let Some(sparse) = &data.sparse {
        let (sums, squares) = sparse_by_class(&classes, sparse);
        let width = sparse.width();
        scores.extend((0..width).map(|j| f(&mut sums.iter().skip(j).step_by(width).copied(), squares[j])));
    }
    let pvalues = scores.par_iter().map(|f| f_tail(*f, between, within)).collect();
    Ok(FeatureScores { scores, pvalues: Some(pvalues) })
}

/// Chi-squared of the sums by class against those that independence of the classes would give.
fn chi2(data: &Data, run: &Run<'_>) -> Result<FeatureScores, Error> {
    let classes = Classes::of("chi2", data)?;
    let rows = data.rows as f64;
    let negative = |name: &str, value: f64| {
        let message = format!("`{name}` has the value {value}, and `chi2` takes counts of at least 0");
        let error = Error::new(ErrorKind::Range, message);
        error.help("take `f_classif`, or scale the features with `MinMaxScaler`")
    };
    let statistic = |sums: &mut dyn Iterator<Item = f64>, all: f64| {
        let terms = sums.zip(&classes.counts).map(|(observed, count)| {
            let expected = count / rows * all;
            (observed - expected) * (observed - expected) / expected
        });
        terms.sum::<f64>()
    };
    let mut scores = each(data, run, |column| {
        if let Some(value) = column.values.iter().find(|v| **v < 0.0) {
            return Err(negative(&column.name, *value));
        }
        let (sums, _) = by_class(&classes, &column.values, 0.0);
        let all = sums.iter().sum();
        Ok(statistic(&mut sums.into_iter(), all))
    })?;
    if let Some(sparse) = &data.sparse {
        if let Some(at) = sparse.values.iter().position(|v| *v < 0.0) {
            return Err(negative(&sparse.names[sparse.columns[at] as usize], sparse.values[at]));
        }
        let (sums, _) = sparse_by_class(&classes, sparse);
        let width = sparse.width();
        let of = |j: usize| sums.iter().skip(j).step_by(width).copied();
        scores.extend((0..width).map(|j| statistic(&mut of(j), of(j).sum())));
    }
    let df = classes.counts.len() as f64 - 1.0;
    let pvalues = scores.par_iter().map(|x| chi2_tail(*x, df)).collect();
    Ok(FeatureScores { scores, pvalues: Some(pvalues) })
}

/// Pearson's r of each feature and the target. 0 for a constant feature or target.
fn correlations(data: &Data, run: &Run<'_>) -> Result<Vec<f64>, Error> {
    let y = numbers(data)?;
    let first = y.first().copied().unwrap_or(0.0);
    let shifted: Vec<f64> = y.iter().map(|v| v - first).collect();
    let mean = sums::mean(&shifted, None);
    let centered: Vec<f64> = shifted.iter().map(|v| v - mean).collect();
    let rows = data.rows as f64;
    let length = moments(&centered, &centered, 0.0).product.sqrt();
    let r = |moments: &Moments| {
        let mean = moments.sum / rows;
        let r = moments.product / (moments.squares - rows * mean * mean).sqrt() / length;
        if r.is_finite() { r } else { 0.0 }
    };
    let mut scores = each(data, run, |column| {
        let shift = column.values.first().copied().unwrap_or(0.0);
        Ok(r(&moments(&column.values, &centered, shift)))
    })?;
    if let Some(sparse) = &data.sparse {
        let mut all = vec![Moments::default(); sparse.width()];
        for (row, y) in centered.iter().enumerate().take(sparse.rows()) {
            let (columns, values) = sparse.row(row);
            for (column, value) in columns.iter().zip(values) {
                all[*column as usize].add(*value, *y);
            }
        }
        scores.extend(all.iter().map(r));
    }
    Ok(scores)
}

/// Sums over a feature.
#[derive(Clone, Copy, Default)]
struct Moments {
    sum: f64,
    squares: f64,
    /// The sum of products with the target.
    product: f64,
}

impl Moments {
    fn add(&mut self, value: f64, y: f64) {
        self.sum += value;
        self.squares += value * value;
        self.product += value * y;
    }
}

fn moments(values: &[f64], y: &[f64], shift: f64) -> Moments {
    let chunk = |rows: std::ops::Range<usize>| {
        let mut moments = Moments::default();
        values[rows.clone()].iter().zip(&y[rows]).for_each(|(value, y)| moments.add(value - shift, *y));
        moments
    };
    let add = |a: Moments, b: Moments| Moments {
        sum: a.sum + b.sum,
        squares: a.squares + b.squares,
        product: a.product + b.product,
    };
    sums::over_rows(values.len(), chunk, add).unwrap_or_default()
}

/// F of the regression of the target on each feature. A constant feature has F 0 and p 1. One that determines the
/// target has the largest number and p 0, also if r is above 1 by a rounding error.
fn f_regression(data: &Data, run: &Run<'_>) -> Result<FeatureScores, Error> {
    let df = data.rows as f64 - 2.0;
    let f = |r: f64| {
        let square = r * r;
        let f = square / (1.0 - square).max(0.0) * df;
        match f {
            f if f.is_nan() => (0.0, 1.0),
            f if f.is_infinite() => (f64::MAX, 0.0),
            f => (f, f_tail(f, 1.0, df)),
        }
    };
    let (scores, pvalues) = correlations(data, run)?.into_par_iter().map(f).unzip();
    Ok(FeatureScores { scores, pvalues: Some(pvalues) })
}
