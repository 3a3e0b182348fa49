//! Functions of single values (scikit-learn's `Binarizer` and `FunctionTransformer`).

use serde::{Deserialize, Serialize};

use super::outputs;
use crate::data::Data;
use crate::error::Error;
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::tensor::scalar;

/// A function of each value.
#[derive(Serialize, Deserialize)]
pub struct Elementwise {
    function: Function,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Function {
    Identity,
    /// 1 above the number, else 0.
    Above(#[serde(with = "scalar")] f64),
    Abs,
    Cbrt,
    Exp,
    Expm1,
    Log,
    Log10,
    Log1p,
    Log2,
    Reciprocal,
    Sign,
    Sqrt,
    Square,
    Tanh,
}

impl Function {
    /// NumPy's function.
    fn of(self, x: f64) -> f64 {
        match self {
            Function::Identity => x,
            Function::Above(threshold) => f64::from(u8::from(x > threshold)),
            Function::Abs => x.abs(),
            Function::Cbrt => x.cbrt(),
            Function::Exp => x.exp(),
            Function::Expm1 => x.exp_m1(),
            Function::Log => x.ln(),
            Function::Log10 => x.log10(),
            Function::Log1p => x.ln_1p(),
            Function::Log2 => x.log2(),
            Function::Reciprocal => 1.0 / x,
            Function::Sign if x == 0.0 || x.is_nan() => x,
            Function::Sign => x.signum(),
            Function::Sqrt => x.sqrt(),
            Function::Square => x * x,
            Function::Tanh => x.tanh(),
        }
    }
}

/// `Binarizer`. Nothing is learnt from the data.
pub fn binarizer(params: &params::Binarizer) -> Elementwise {
    Elementwise { function: Function::Above(params.threshold) }
}

/// `FunctionTransformer`. Nothing is learnt from the data.
pub fn function(params: &params::FunctionTransformer) -> Elementwise {
    let function = match params.func.as_deref() {
        Some("abs") => Function::Abs,
        Some("cbrt") => Function::Cbrt,
        Some("exp") => Function::Exp,
        Some("expm1") => Function::Expm1,
        Some("log") => Function::Log,
        Some("log10") => Function::Log10,
        Some("log1p") => Function::Log1p,
        Some("log2") => Function::Log2,
        Some("reciprocal") => Function::Reciprocal,
        Some("sign") => Function::Sign,
        Some("sqrt") => Function::Sqrt,
        Some("square") => Function::Square,
        Some("tanh") => Function::Tanh,
        _ => Function::Identity,
    };
    Elementwise { function }
}

impl Model for Elementwise {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        features.iter().map(|f| Role::Feature(f.name.clone(), f.kind.clone())).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(outputs(wanted, |j| data.features[j].values.iter().map(|x| self.function.of(*x)).collect()))
    }

    fn attribute(&self, _: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        None
    }

    fn check(&self, _: usize, _: usize) -> Result<(), Error> {
        Ok(())
    }
}
