//! Parts that the estimators of outliers share: labels, shares of outliers and percentiles.

use onrush_wire::learn::Param;

use crate::error::{Error, ErrorKind};

/// The share of outliers. `None` for `auto`.
///
/// # Errors
/// If it is neither `auto` nor above 0 and at most 0.5.
pub(super) fn contamination(param: &Param) -> Result<Option<f64>, Error> {
    match (param, param.as_f64()) {
        (Param::Str(word), _) if word == "auto" => Ok(None),
        (_, Some(share)) if share > 0.0 && share <= 0.5 => Ok(Some(share)),
        (other, _) => {
            let message = format!("`contamination` is {other}: \"auto\" or a number above 0 and at most 0.5");
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

/// The value below which a share of the values lies, by linear interpolation (`numpy.percentile`).
pub(super) fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    let low = (place.floor() as usize).min(last);
    let high = (low + 1).min(last);
    let part = place - low as f64;
    // As in NumPy, the interpolation starts at the nearer end.
    match part < 0.5 {
        true => sorted[low] + (sorted[high] - sorted[low]) * part,
        false => sorted[high] - (sorted[high] - sorted[low]) * (1.0 - part),
    }
}

/// 1, and -1 for outliers.
pub(super) fn label(score: f64, offset: f64) -> f64 {
    if score < offset { -1.0 } else { 1.0 }
}
