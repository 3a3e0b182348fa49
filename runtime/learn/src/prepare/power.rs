//! Powers that make features look normal (scikit-learn's `PowerTransformer`; Yeo and Johnson 2000, Box and Cox 1964).

use serde::{Deserialize, Serialize};

use super::{each, lying, numbers, outputs, scale};
use crate::check::plural;
use crate::data::{Column, Data};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::run::Run;
use crate::sums::over_rows;
use crate::tensor::Tensor;

/// `PowerTransformer`. Missing values are skipped in training and stay missing.
#[derive(Serialize, Deserialize)]
pub struct Power {
    /// Box-Cox if true, Yeo-Johnson otherwise.
    is_box_cox: bool,
    lambdas: Tensor,
    /// Mean and standard deviation of each transformed feature, one feature after the other. `None`: results are not
    /// standardised.
    moments: Option<Tensor>,
}

/// Exponents are searched between the negative of this bound and the bound.
const BOUND: f64 = 30.0;
/// The search ends at this distance from the optimum.
const PRECISION: f64 = 1e-9;
const EVALUATIONS: usize = 200;

/// Finds the exponents of the largest likelihood.
pub fn fit(params: &params::PowerTransformer, data: &Data, run: &Run<'_>) -> Result<Power, Error> {
    let is_box_cox = params.method == "box-cox";
    let found = each(data, run, |_, column| {
        if is_box_cox {
            positive(&column.name, &column.values)?;
        }
        let values: Vec<f64> = column.values.iter().copied().filter(|v| !v.is_nan()).collect();
        let lambda = match values.is_empty() || scale::is_constant(&values) {
            true => 1.0,
            false => most_likely(&values, is_box_cox, run)?,
        };
        let transformed: Vec<f64> = values.iter().map(|v| transform(*v, lambda, is_box_cox)).collect();
        let (mean, scale) = scale::mean_and_scale(&transformed);
        Ok([lambda, mean, scale])
    })?;
    let moments = || Tensor::vector(found.iter().flat_map(|f| [f[1], f[2]]).collect());
    Ok(Power {
        is_box_cox,
        lambdas: Tensor::vector(found.iter().map(|f| f[0]).collect()),
        moments: params.standardize.then(moments),
    })
}

fn positive(name: &str, values: &[f64]) -> Result<(), Error> {
    let bad = values.iter().filter(|v| **v <= 0.0).count();
    if bad == 0 {
        return Ok(());
    }
    let (found, rows) = (plural(bad, "value"), plural(values.len(), "row"));
    let message = format!("`{name}` has {found} of 0 or below in {rows}, and Box-Cox takes positive numbers");
    Err(Error::new(ErrorKind::Range, message).help("`.method(\"yeo-johnson\")` takes all numbers"))
}

/// The transformed value.
fn transform(x: f64, lambda: f64, is_box_cox: bool) -> f64 {
    match is_box_cox {
        true => power(x.ln(), lambda),
        false if x < 0.0 => -power((-x).ln_1p(), 2.0 - lambda),
        false => power(x.ln_1p(), lambda),
    }
}

/// The value of which `transformed` is the power.
fn back(transformed: f64, lambda: f64, is_box_cox: bool) -> f64 {
    let root = |y: f64, lambda: f64| match lambda.abs() < f64::EPSILON {
        true => y.exp_m1(),
        false => ((lambda * y).ln_1p() / lambda).exp_m1(),
    };
    match is_box_cox {
        true => root(transformed, lambda) + 1.0,
        false if transformed < 0.0 => -root(-transformed, 2.0 - lambda),
        false => root(transformed, lambda),
    }
}

/// The exponent of the largest likelihood: Brent's bounded minimisation (1973), as `scipy.optimize.fminbound`.
fn most_likely(values: &[f64], is_box_cox: bool, run: &Run<'_>) -> Result<f64, Error> {
    // The logarithm of a value is taken once. Its sign says which branch it is on.
    let logs: Vec<f64> = values
        .iter()
        .map(|x| match is_box_cox {
            true => x.ln(),
            false => x.signum() * x.abs().ln_1p(),
        })
        .collect();
    let jacobian = over_rows(logs.len(), |rows| logs[rows].iter().sum::<f64>(), |a, b| a + b).unwrap_or(0.0);
    let rows = logs.len() as f64;
    let (least, most) = logs.iter().fold((f64::MAX, f64::MIN), |(a, b), l| (a.min(*l), b.max(*l)));
    let loss = |lambda: f64| {
        let log_variance = if is_box_cox || least >= 0.0 {
            log_variance_of_powers(&logs, lambda, if lambda > 0.0 { most } else { least })
        } else if most < 0.0 {
            log_variance_of_powers(&logs, lambda - 2.0, if lambda > 2.0 { most } else { least })
        } else {
            variance_around_first(&logs, |l| if l < 0.0 { -power(-l, 2.0 - lambda) } else { power(l, lambda) }).ln()
        };
        let loss = rows / 2.0 * log_variance - (lambda - 1.0) * jacobian;
        if loss.is_nan() { f64::INFINITY } else { loss }
    };
    brent(-BOUND, BOUND, loss, run)
}

/// The logarithm of the variance of `e^(a l) / a`, for values on one branch. The largest power is taken out of the
/// variance, so that it neither overflows nor vanishes.
fn log_variance_of_powers(logs: &[f64], a: f64, largest: f64) -> f64 {
    2.0 * a * largest + variance_around_first(logs, |l| power(l - largest, a)).ln()
}

/// The variance of a function of the values, with the first one as the origin.
fn variance_around_first(logs: &[f64], value: impl Fn(f64) -> f64 + Sync) -> f64 {
    let first = value(logs[0]);
    let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
    let of = |l: &f64| value(*l) - first;
    let sums = over_rows(logs.len(), |r| logs[r].iter().map(of).fold([0.0; 2], |s, d| add(s, [d, d * d])), add);
    let [sum, squares] = sums.unwrap_or_default();
    let rows = logs.len() as f64;
    (squares - sum * sum / rows) / rows
}

/// `(e^(a l) - 1) / a`, which is `l` at `a = 0`.
fn power(l: f64, a: f64) -> f64 {
    if a.abs() < f64::EPSILON { l } else { (a * l).exp_m1() / a }
}

fn brent(low: f64, high: f64, loss: impl Fn(f64) -> f64, run: &Run<'_>) -> Result<f64, Error> {
    let golden = 0.5 * (3.0 - 5f64.sqrt());
    let (mut a, mut b) = (low, high);
    // The best point, the second best, and the one before that. The search starts at 1, which changes nothing.
    let mut x = 1.0;
    let (mut w, mut v) = (x, x);
    let mut fx = loss(x);
    let (mut fw, mut fv) = (fx, fx);
    let (mut step, mut last) = (0.0f64, 0.0f64);
    for evaluation in 0..EVALUATIONS {
        run.check(|| format!("evaluation {evaluation} of an exponent"))?;
        let middle = 0.5 * (a + b);
        let near = f64::EPSILON.sqrt() * 1e-2 * x.abs() + PRECISION / 3.0;
        if (x - middle).abs() <= 2.0 * near - 0.5 * (b - a) {
            break;
        }
        let mut is_golden = true;
        if last.abs() > near {
            // The vertex of the parabola through the three points.
            let r = (x - w) * (fx - fv);
            let q = (x - v) * (fx - fw);
            let p = (x - v) * q - (x - w) * r;
            let q = 2.0 * (q - r);
            let (p, q) = if q > 0.0 { (-p, q) } else { (p, -q) };
            let before = std::mem::replace(&mut last, step);
            if p.is_finite()
                && q.is_finite()
                && p.abs() < (0.5 * q * before).abs()
                && p > q * (a - x)
                && p < q * (b - x)
            {
                step = p / q;
                let u = x + step;
                if u - a < 2.0 * near || b - u < 2.0 * near {
                    step = near * if middle >= x { 1.0 } else { -1.0 };
                }
                is_golden = false;
            }
        }
        if is_golden {
            last = if x >= middle { a - x } else { b - x };
            step = golden * last;
        }
        let u = x + if step >= 0.0 { step.max(near) } else { step.min(-near) };
        let fu = loss(u);
        if fu <= fx {
            if u >= x {
                a = x
            } else {
                b = x
            }
            (v, fv, w, fw, x, fx) = (w, fw, x, fx, u, fu);
            continue;
        }
        if u < x {
            a = u
        } else {
            b = u
        }
        if fu <= fw || w == x {
            (v, fv, w, fw) = (w, fw, u, fu);
        } else if fu <= fv || v == x || v == w {
            (v, fv) = (u, fu);
        }
    }
    Ok(x)
}

impl Model for Power {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        features.iter().map(|f| Role::Feature(f.name.clone(), f.kind.clone())).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        if self.is_box_cox {
            wanted.iter().map(|j| &data.features[*j]).try_for_each(|c| positive(&c.name, &c.values))?;
        }
        Ok(outputs(wanted, |j| {
            let lambda = self.lambdas.data[j];
            let (mean, scale) = self.moments.as_ref().map_or((0.0, 1.0), |m| (m.data[2 * j], m.data[2 * j + 1]));
            let value = |x: &f64| (transform(*x, lambda, self.is_box_cox) - mean) / scale;
            data.features[j].values.iter().map(value).collect()
        }))
    }

    fn inverse(&self, data: &Data, features: &[Field]) -> Result<Option<Vec<Column>>, Error> {
        Ok(Some(numbers(features, |j| {
            let lambda = self.lambdas.data[j];
            let (mean, scale) = self.moments.as_ref().map_or((0.0, 1.0), |m| (m.data[2 * j], m.data[2 * j + 1]));
            data.features[j].values.iter().map(|y| back(y * scale + mean, lambda, self.is_box_cox)).collect()
        })))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        (name == "lambdas").then(|| Attribute::by_feature(features, "lambda", &self.lambdas.data))
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let moments = self.moments.as_ref().is_none_or(|m| m.data.len() == 2 * features);
        match self.lambdas.data.len() == features && moments {
            true => Ok(()),
            false => Err(lying(format!("the exponents do not fit {features} features"))),
        }
    }

    fn bytes(&self) -> u64 {
        self.lambdas.bytes()
    }
}
