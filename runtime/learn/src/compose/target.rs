//! A regressor of a function of the target (scikit-learn's `TransformedTargetRegressor`).

use onrush_wire::learn::{EstimatorKind, Spec};

use super::kind;
use crate::check;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::inside::inside;
use crate::estimators::{Func, Trainer, TransformedTarget};
use crate::params;
use crate::run::Run;

/// Trains the regressor.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>, fit: Trainer<'_>) -> Result<TransformedTarget, Error> {
    let [part] = &spec.parts[..] else {
        let message = format!("TransformedTargetRegressor has {} estimators: expected one regressor", spec.parts.len());
        return Err(Error::new(ErrorKind::Parameter, message));
    };
    if kind(&part.spec) != EstimatorKind::Regressor {
        let message = format!("TransformedTargetRegressor has {}: expected a regressor", part.spec.estimator);
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let name = params::TransformedTargetRegressor::of(spec).func;
    let func = match name.as_deref() {
        Some("log") => Some(Func::Log),
        Some("log1p") => Some(Func::Log1p),
        Some("sqrt") => Some(Func::Sqrt),
        _ => None,
    };
    data.eval.iter().try_for_each(check::target)?;
    let mut changed = data.clone();
    if let Some(func) = func {
        std::iter::once(&mut changed.y).chain(changed.eval.iter_mut().map(|e| &mut e.y)).try_for_each(|y| {
            y.iter_mut().for_each(|y| *y = func.value(*y));
            possible(name.as_deref().unwrap_or_default(), data, y)
        })?;
    }
    let model = Box::new(fit(&part.spec, &changed, run).map_err(|e| inside(&part.name, e))?);
    Ok(TransformedTarget { name: part.name.clone(), model, func })
}

/// Checks that the function has a value for each target.
fn possible(func: &str, data: &Data, y: &[f64]) -> Result<(), Error> {
    let bad = y.iter().filter(|y| !y.is_finite()).count();
    if bad == 0 {
        return Ok(());
    }
    let wanted = match func {
        "log" => "above 0",
        "log1p" => "above -1",
        _ => "not below 0",
    };
    let message =
        format!("`{func}` takes numbers {wanted}, and the target `{}` has {bad} others of {}", data.target, y.len());
    Err(Error::new(ErrorKind::Target, message).help("filter the rows first, or take another `func`"))
}
