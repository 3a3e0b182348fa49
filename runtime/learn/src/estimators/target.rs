//! A trained regressor of a function of the target.

use serde::{Deserialize, Serialize};

use super::FittedModel;
use super::inside::{check_inside, inside, named_bars};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};

/// A trained regressor and the function of its target.
#[derive(Serialize, Deserialize)]
pub struct TransformedTarget {
    pub(crate) name: String,
    pub(crate) model: Box<FittedModel>,
    pub(crate) func: Option<Func>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Func {
    Log,
    Log1p,
    Sqrt,
}

impl Func {
    pub fn value(self, y: f64) -> f64 {
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

impl Model for TransformedTarget {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        self.model.model().outputs(&self.model.features)
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let data = self.model.ready(data).map_err(|e| inside(&self.name, e))?;
        let mut values = self.model.model().apply(&data, wanted).map_err(|e| inside(&self.name, e))?;
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
