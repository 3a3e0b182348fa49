//! The importance of each feature for a trained model, as scikit-learn's selectors of features compute it
//! (`_get_feature_importances` and `_calculate_threshold`).

use onrush_wire::learn::Param;

use crate::error::{Error, ErrorKind};
use crate::estimators::FittedModel;
use crate::model::{Attribute, Values};
use crate::quantile;

/// Coefficients or importances: a list for each output of the model, with a number for each feature.
///
/// # Errors
/// If the model has neither.
pub fn rows(fitted: &FittedModel) -> Result<Vec<Vec<f64>>, Error> {
    let names: Vec<&str> = fitted.features.iter().map(|f| f.name.as_str()).collect();
    for name in ["coef", "feature_importances"] {
        if let Some(Attribute::Frame(columns)) = fitted.attribute(name)
            && let Some(rows) = by_feature(&columns, &names).or_else(|| by_column(&columns, &names))
        {
            return Ok(rows);
        }
    }
    match fitted.bars() {
        Some((_, bars)) if bars.iter().map(|(name, _)| name.as_str()).eq(names.iter().copied()) => {
            Ok(vec![bars.into_iter().map(|(_, value)| value).collect()])
        }
        _ => {
            let message = format!("{} has no coefficient or importance of each feature", fitted.spec.estimator);
            Err(Error::new(ErrorKind::Estimator, message)
                .help("take a linear model, or trees such as RandomForestClassifier")
                .help("`SequentialFeatureSelector` takes every estimator"))
        }
    }
}

/// A row for each feature and output: the column `feature`, and one of numbers.
fn by_feature(columns: &[(String, Values)], names: &[&str]) -> Option<Vec<Vec<f64>>> {
    let features = columns.iter().find_map(|(name, values)| match values {
        Values::Strs(features) if name == "feature" => Some(features),
        _ => None,
    })?;
    let mut numbers = columns.iter().filter_map(|(_, values)| match values {
        Values::Floats(values) => Some(values),
        _ => None,
    });
    let (values, None) = (numbers.next()?, numbers.next()) else { return None };
    let width = names.len();
    let fits =
        width > 0 && features.chunks(width).all(|list| list.iter().map(String::as_str).eq(names.iter().copied()));
    fits.then(|| values.chunks(width).map(<[f64]>::to_vec).collect())
}

/// A column of numbers for each feature, and a row for each output.
fn by_column(columns: &[(String, Values)], names: &[&str]) -> Option<Vec<Vec<f64>>> {
    let column = |name: &&str| {
        columns.iter().find_map(|(known, values)| match values {
            Values::Floats(values) if known == name => Some(values),
            _ => None,
        })
    };
    let columns: Vec<&Vec<f64>> = names.iter().map(column).collect::<Option<_>>()?;
    let outputs = columns.first()?.len();
    Some((0..outputs).map(|k| columns.iter().map(|column| column[k]).collect()).collect())
}

/// For each feature the sum of squares over the outputs.
pub fn squares(rows: &[Vec<f64>]) -> Vec<f64> {
    over_outputs(rows, |values| values.map(|v| v * v).sum())
}

/// For each feature the norm over the outputs (`numpy.linalg.norm`).
pub fn norms(rows: &[Vec<f64>], order: f64) -> Vec<f64> {
    over_outputs(rows, |values| {
        let sizes = values.map(f64::abs);
        match order {
            1.0 => sizes.sum(),
            2.0 => sizes.map(|v| v * v).sum::<f64>().sqrt(),
            f64::INFINITY => sizes.fold(0.0, f64::max),
            f64::NEG_INFINITY => sizes.fold(f64::INFINITY, f64::min),
            order => sizes.map(|v| v.powf(order)).sum::<f64>().powf(1.0 / order),
        }
    })
}

fn over_outputs(rows: &[Vec<f64>], of: impl Fn(&mut dyn Iterator<Item = f64>) -> f64) -> Vec<f64> {
    let width = rows.first().map_or(0, Vec::len);
    (0..width).map(|j| of(&mut rows.iter().map(|row| row[j]))).collect()
}

/// The order of a norm: an integer other than 0, or an infinity.
///
/// # Errors
/// If it is something else.
pub fn norm_order(value: &Param) -> Result<f64, Error> {
    match value {
        Param::Int(order) if *order != 0 => Ok(*order as f64),
        Param::Float(order) if order.is_infinite() => Ok(*order),
        other => {
            let message = format!("`norm_order` is {other}: expected an integer other than 0, or an infinity");
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

/// The least importance that counts: a number, `mean`, `median`, or a multiple such as `1.25*mean`. None: 1e-5 for a
/// model with an l1 penalty, else the mean.
///
/// # Errors
/// If it is something else.
pub fn threshold(value: &Param, fitted: &FittedModel, scores: &[f64]) -> Result<f64, Error> {
    let word = match value {
        Param::None if is_l1(fitted) => return Ok(1e-5),
        Param::None => "mean",
        Param::Str(word) => word.as_str(),
        other => {
            return other.as_f64().filter(|v| !v.is_nan()).ok_or_else(|| wrong(value));
        }
    };
    let (factor, reference) = match word.split_once('*') {
        Some((factor, reference)) => (factor.trim().parse::<f64>().map_err(|_| wrong(value))?, reference.trim()),
        None => (1.0, word),
    };
    match reference {
        "mean" => Ok(factor * (sum(scores) / scores.len() as f64)),
        "median" => Ok(factor * quantile::median(&mut scores.to_vec())),
        _ => Err(wrong(value)),
    }
}

fn wrong(value: &Param) -> Error {
    let message =
        format!("`threshold` is {value}: expected a number, \"mean\", \"median\", or a multiple such as \"1.25*mean\"");
    Error::new(ErrorKind::Parameter, message)
}

/// Whether a model was trained with an l1 penalty alone.
fn is_l1(fitted: &FittedModel) -> bool {
    let spec = &fitted.spec;
    let is_one = |ratio: f64| (ratio - 1.0).abs() <= 1e-5;
    match spec.estimator.as_str() {
        name if name.contains("Lasso") || spec.param("penalty") == Param::from("l1") => true,
        "ElasticNet" | "LogisticRegression" => spec.param("l1_ratio").as_f64().is_some_and(is_one),
        "ElasticNetCV" | "LogisticRegressionCV" => {
            matches!(fitted.attribute("l1_ratio"), Some(Attribute::Float(ratio)) if is_one(ratio))
        }
        _ => false,
    }
}

/// NumPy's pairwise sum: the mean of equal importances must not be above them by a rounding error that scikit-learn
/// does not have.
fn sum(values: &[f64]) -> f64 {
    if values.len() > 128 {
        let half = values.len() / 2;
        let (low, high) = values.split_at(half - half % 8);
        return sum(low) + sum(high);
    }
    let (eights, rest) = values.as_chunks::<8>();
    let mut r = [0.0; 8];
    eights.iter().for_each(|eight| r.iter_mut().zip(eight).for_each(|(s, v)| *s += v));
    rest.iter().fold(((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7])), |sum, v| sum + v)
}
