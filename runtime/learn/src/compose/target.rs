//! A regressor of a function of the target (scikit-learn's `TransformedTargetRegressor`).

use onrush_wire::learn::{EstimatorKind, Spec};
use serde::{Deserialize, Serialize};

use super::{check_inside, inside, kind, named_bars};
use crate::check;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::fit as fit_one;
use crate::model::{Attribute, Field, FittedModel, Model, Role};
use crate::params;
use crate::run::Run;

/// A trained regressor and the function of its target.
#[derive(Serialize, Deserialize)]
pub struct TransformedTarget {
    name: String,
    model: Box<FittedModel>,
    func: Option<Func>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Func {
    Log,
    Log1p,
    Sqrt,
}

impl Func {
    fn value(self, y: f64) -> f64 {
        match self {
            Func::Log => y.ln(),
            Func::Log1p => y.ln_1p(),
            Func::Sqrt => y.sqrt(),
        }
    }

    fn inverse(self, value: f64) -> f64 {
        match self {
            Func::Log => value.exp(),
            Func::Log1p => value.exp_m1(),
            Func::Sqrt => value * value,
        }
    }
}

/// Trains the regressor.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<TransformedTarget, Error> {
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
    let model = Box::new(fit_one(&part.spec, &changed, run).map_err(|e| inside(&part.name, e))?);
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

impl Model for TransformedTarget {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        self.model.model().outputs(&self.model.features)
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        check::features(&self.model.spec, data).map_err(|e| inside(&self.name, e))?;
        let mut values = self.model.model().apply(data, wanted).map_err(|e| inside(&self.name, e))?;
        let roles = self.outputs(&[]);
        if let Some(func) = self.func {
            let predictions = values.iter_mut().zip(wanted).filter(|(_, k)| roles[**k] == Role::Prediction);
            predictions.for_each(|(column, _)| column.iter_mut().for_each(|v| *v = func.inverse(*v)));
        }
        Ok(values)
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        self.model.attribute(name)
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        self.model.model().bars()
    }

    fn bar_names(&self) -> Option<Vec<String>> {
        Some(named_bars(self.model.model(), &self.model.features))
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        self.model.model().curves()
    }

    fn notes(&self) -> Vec<String> {
        self.model.model().notes()
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        check_inside(&self.model)?;
        if classes != 0 || !self.model.classes.is_empty() {
            return Err(Error::new(ErrorKind::ModelFile, "the model has classes, and predicts numbers"));
        }
        match self.model.features.len() == features {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::ModelFile, "the regressor has other features than the model")),
        }
    }

    fn bytes(&self) -> u64 {
        self.model.model().bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_undone_by_their_inverses() {
        for func in [Func::Log, Func::Log1p, Func::Sqrt] {
            for y in [1e-12, 0.3, 1.0, 7.5, 1e9] {
                let back = func.inverse(func.value(y));
                assert!((back - y).abs() <= 1e-14 * y * y.ln().abs().max(1.0), "{y}: {back}");
            }
        }
        assert_eq!(Func::Log1p.inverse(Func::Log1p.value(0.0)), 0.0);
    }
}
