//! Scores of predicted numbers. The source is scikit-learn's `metrics/_regression.py`.

use rayon::prelude::*;

use super::{average, ratio, sums};
use crate::error::{Error, ErrorKind};

type Weight<'a> = Option<&'a [f64]>;

/// The share of the variance of `y` that the prediction explains. NaN for fewer than two rows and for a constant `y`.
pub fn r2(y: &[f64], predicted: &[f64], weight: Weight<'_>) -> f64 {
    if y.len() < 2 {
        return f64::NAN;
    }
    let mean = average(y.len(), weight, |row| y[row]);
    let residual = sums(y.len(), weight, |row| (y[row] - predicted[row]).powi(2)).0;
    let total = sums(y.len(), weight, |row| (y[row] - mean).powi(2)).0;
    1.0 - ratio(residual, total)
}

/// As [`r2`], but a constant error of the prediction does not count.
pub fn explained_variance(y: &[f64], predicted: &[f64], weight: Weight<'_>) -> f64 {
    let shift = average(y.len(), weight, |row| y[row] - predicted[row]);
    let residual = average(y.len(), weight, |row| (y[row] - predicted[row] - shift).powi(2));
    let mean = average(y.len(), weight, |row| y[row]);
    let total = average(y.len(), weight, |row| (y[row] - mean).powi(2));
    1.0 - ratio(residual, total)
}

pub fn mean_squared_error(y: &[f64], predicted: &[f64], weight: Weight<'_>) -> f64 {
    average(y.len(), weight, |row| (y[row] - predicted[row]).powi(2))
}

pub fn root_mean_squared_error(y: &[f64], predicted: &[f64], weight: Weight<'_>) -> f64 {
    mean_squared_error(y, predicted, weight).sqrt()
}

pub fn mean_absolute_error(y: &[f64], predicted: &[f64], weight: Weight<'_>) -> f64 {
    average(y.len(), weight, |row| (y[row] - predicted[row]).abs())
}

/// The median of the absolute errors.
pub fn median_absolute_error(y: &[f64], predicted: &[f64], weight: Weight<'_>) -> f64 {
    let mut errors: Vec<f64> = y.iter().zip(predicted).map(|(a, b)| (b - a).abs()).collect();
    match weight {
        Some(_) => weighted_quantile(&errors, weight, 0.5),
        None => median(&mut errors),
    }
}

/// The median, the mean of the two middle values of an even number. NaN if there are none.
fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return f64::NAN;
    }
    let even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    match even {
        true => (below.iter().copied().fold(f64::NEG_INFINITY, f64::max) + upper) / 2.0,
        false => upper,
    }
}

/// The mean of absolute errors relative to `y`. A `y` of 0 counts as 2.2e-16.
pub fn mean_absolute_percentage_error(y: &[f64], predicted: &[f64], weight: Weight<'_>) -> f64 {
    average(y.len(), weight, |row| (predicted[row] - y[row]).abs() / y[row].abs().max(f64::EPSILON))
}

/// The largest absolute error. Weights do not count. NaN if there are no rows.
pub fn max_error(y: &[f64], predicted: &[f64]) -> f64 {
    let errors = y.iter().zip(predicted).map(|(a, b)| (a - b).abs());
    errors.fold(f64::NAN, f64::max)
}

/// The mean squared error of `ln(1 + y)`.
///
/// # Errors
/// If a value is -1 or less.
pub fn mean_squared_log_error(y: &[f64], predicted: &[f64], weight: Weight<'_>) -> Result<f64, Error> {
    for (what, values) in [("the target", y), ("the prediction", predicted)] {
        if let Some(bad) = values.iter().find(|v| **v <= -1.0) {
            let message = format!("the squared log error takes values above -1, and {what} has {bad}");
            return Err(Error::new(ErrorKind::Score, message).help("take `neg_mean_squared_error`"));
        }
    }
    Ok(average(y.len(), weight, |row| (y[row].ln_1p() - predicted[row].ln_1p()).powi(2)))
}

/// The mean pinball loss of a predicted quantile `alpha`.
pub fn mean_pinball_loss(y: &[f64], predicted: &[f64], weight: Weight<'_>, alpha: f64) -> f64 {
    average(y.len(), weight, |row| {
        let error = y[row] - predicted[row];
        if error >= 0.0 { alpha * error } else { (alpha - 1.0) * error }
    })
}

/// The mean Tweedie deviance: `power` 0 is the squared error, 1 Poisson, 2 gamma.
///
/// # Errors
/// If `power` is between 0 and 1, or a value is outside the range of the distribution.
pub fn mean_tweedie_deviance(y: &[f64], predicted: &[f64], weight: Weight<'_>, power: f64) -> Result<f64, Error> {
    if !(power <= 0.0 || power >= 1.0) {
        return Err(Error::new(ErrorKind::Score, format!("`power` is {power}: at most 0 or at least 1")));
    }
    let bad = |values: &[f64], ok: fn(&f64) -> bool| values.iter().find(|v| !ok(v)).copied();
    let positive: fn(&f64) -> bool = |v| *v > 0.0;
    let bad_y = match power {
        p if p >= 2.0 => bad(y, positive),
        p if p >= 1.0 => bad(y, |v| *v >= 0.0),
        _ => None,
    };
    let bad_prediction = if power == 0.0 { None } else { bad(predicted, positive) };
    let wrong = |what: &str, value: f64, wanted: &str| {
        let message = format!("the Tweedie deviance of power {power} takes {wanted}, and {what} has {value}");
        Err(Error::new(ErrorKind::Score, message).help("take `neg_mean_squared_error`, or a model with a log link"))
    };
    match (bad_y, bad_prediction) {
        (Some(value), _) => {
            wrong("the target", value, if power >= 2.0 { "values above 0" } else { "values of at least 0" })
        }
        (_, Some(value)) => wrong("the prediction", value, "predictions above 0"),
        _ => Ok(average(y.len(), weight, |row| tweedie(y[row], predicted[row], power))),
    }
}

fn tweedie(y: f64, predicted: f64, p: f64) -> f64 {
    let general = |y_power: f64| {
        2.0 * (y_power / ((1.0 - p) * (2.0 - p)) - y * predicted.powf(1.0 - p) / (1.0 - p)
            + predicted.powf(2.0 - p) / (2.0 - p))
    };
    if p == 0.0 {
        (y - predicted).powi(2)
    } else if p == 1.0 {
        let log = if y == 0.0 { 0.0 } else { y * (y / predicted).ln() };
        2.0 * (log - y + predicted)
    } else if p == 2.0 {
        2.0 * ((predicted / y).ln() + y / predicted - 1.0)
    } else if p < 0.0 {
        general(y.max(0.0).powf(2.0 - p))
    } else {
        general(y.powf(2.0 - p))
    }
}

/// The share of the Tweedie deviance that the prediction saves against the mean. NaN for fewer than two rows and for
/// a constant `y`.
///
/// # Errors
/// As [`mean_tweedie_deviance`].
pub fn d2_tweedie_score(y: &[f64], predicted: &[f64], weight: Weight<'_>, power: f64) -> Result<f64, Error> {
    if y.len() < 2 {
        return Ok(f64::NAN);
    }
    let loss = mean_tweedie_deviance(y, predicted, weight, power)?;
    let mean = average(y.len(), weight, |row| y[row]);
    Ok(1.0 - ratio(loss, average(y.len(), weight, |row| tweedie(y[row], mean, power))))
}

/// The share of the pinball loss that the prediction saves against the quantile of `y`. NaN for fewer than two rows
/// and if that quantile has no loss.
pub fn d2_pinball_score(y: &[f64], predicted: &[f64], weight: Weight<'_>, alpha: f64) -> f64 {
    if y.len() < 2 {
        return f64::NAN;
    }
    let quantile = weighted_quantile(y, weight, alpha);
    let null = mean_pinball_loss(y, &vec![quantile; y.len()], weight, alpha);
    1.0 - ratio(mean_pinball_loss(y, predicted, weight, alpha), null)
}

/// The share of the absolute error that the prediction saves against the median.
pub fn d2_absolute_error_score(y: &[f64], predicted: &[f64], weight: Weight<'_>) -> f64 {
    d2_pinball_score(y, predicted, weight, 0.5)
}

/// The quantile of values under weights, the mean of two values where the share lies between them:
/// `_weighted_percentile(average=True)` of `sklearn/utils/stats.py`. NaN values are left out. NaN if no value has a
/// weight.
pub fn weighted_quantile(values: &[f64], weight: Weight<'_>, share: f64) -> f64 {
    let pairs = values.iter().enumerate().map(|(row, value)| (*value, weight.map_or(1.0, |w| w[row])));
    let mut sorted: Vec<(f64, f64)> = pairs.filter(|(value, weight)| !value.is_nan() && *weight > 0.0).collect();
    sorted.par_sort_by(|a, b| a.0.total_cmp(&b.0));
    crate::quantile::weighted(&sorted, std::iter::once(share), true)[0]
}
