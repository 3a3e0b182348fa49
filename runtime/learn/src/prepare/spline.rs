//! Features as B-splines of them (scikit-learn's `SplineTransformer`; Eilers and Marx 1996, "Flexible smoothing with
//! B-splines and penalties").

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{each, few, lying, outputs, scale};
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::quantile::{self, Method};
use crate::run::Run;
use crate::tensor::Tensor;

/// `SplineTransformer`.
#[derive(Serialize, Deserialize)]
pub struct Spline {
    /// features x knots: the knots with those outside of the range of the training.
    knots: Tensor,
    degree: usize,
    extrapolation: Extrapolation,
    include_bias: bool,
}

/// The values of the splines outside of the range of the training.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Extrapolation {
    Error,
    Constant,
    Linear,
    Continue,
    Periodic,
}

/// Finds the knots.
///
/// # Errors
/// If there are too few knots for periodic splines, too many columns, or none.
pub fn fit(params: &params::SplineTransformer, data: &Data, run: &Run<'_>) -> Result<Spline, Error> {
    let (degree, n_knots) = (params.degree, params.n_knots);
    let extrapolation = match params.extrapolation.as_str() {
        "error" => Extrapolation::Error,
        "linear" => Extrapolation::Linear,
        "continue" => Extrapolation::Continue,
        "periodic" => Extrapolation::Periodic,
        _ => Extrapolation::Constant,
    };
    if extrapolation == Extrapolation::Periodic && n_knots <= degree {
        let message = format!("`n_knots` is {n_knots}: above `degree` = {degree} for periodic splines");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    few("SplineTransformer", data.rows, data.width().saturating_mul(n_knots.saturating_add(degree)))?;
    let knots = each(data, run, |_, column| {
        let base: Vec<f64> = match params.knots.as_str() {
            "quantile" => {
                let percents: Vec<f64> = steps(0.0, 1.0, n_knots).into_iter().map(|share| 100.0 * share).collect();
                quantile::percentiles(&mut column.values.clone(), &percents, Method::Linear)
            }
            _ => {
                let [low, high] = scale::ends(&column.values);
                steps(low, high, n_knots)
            }
        };
        Ok(extended(&base, degree, extrapolation))
    })?;
    let width = knots.first().map_or(0, Vec::len);
    let knots = Tensor::new(vec![data.width(), width], knots.concat());
    let model = Spline { knots, degree, extrapolation, include_bias: params.include_bias };
    match model.columns() {
        0 => {
            let message = "a feature has one spline, which `include_bias` = false leaves out";
            Err(Error::new(ErrorKind::NoFeatures, message).help("take a higher `n_knots` or `degree`"))
        }
        _ => Ok(model),
    }
}

/// `numpy.linspace(low, high, count)`.
fn steps(low: f64, high: f64, count: usize) -> Vec<f64> {
    let last = count.saturating_sub(1);
    let step = (high - low) / last.max(1) as f64;
    (0..count).map(|i| if i == last && last > 0 { high } else { low + i as f64 * step }).collect()
}

/// The knots with `degree` more on each side.
fn extended(base: &[f64], degree: usize, extrapolation: Extrapolation) -> Vec<f64> {
    let last = base.len() - 1;
    if extrapolation == Extrapolation::Periodic {
        let period = base[last] - base[0];
        let before = base[last - degree..last].iter().map(|knot| knot - period);
        let after = base[1..=degree].iter().map(|knot| knot + period);
        return before.chain(base.iter().copied()).chain(after).collect();
    }
    let (first, end) = (base[1] - base[0], base[last] - base[last - 1]);
    let before = (1..=degree).rev().map(|i| base[0] - i as f64 * first);
    let after = (1..=degree).map(|i| base[last] + i as f64 * end);
    before.chain(base.iter().copied()).chain(after).collect()
}

/// The B-splines of a degree that are not 0 at `x`, in the interval of knots from `at` on. They are the splines `at -
/// degree` to `at` (`_deBoor_D` of SciPy; de Boor 1978). Outside of the interval the polynomials go on.
fn basis(knots: &[f64], degree: usize, at: usize, x: f64) -> Vec<f64> {
    let mut values = vec![0.0; degree + 1];
    values[0] = 1.0;
    for j in 1..=degree {
        let before = values.clone();
        values[0] = 0.0;
        for n in 1..=j {
            let (high, low) = (knots[at + n], knots[at + n - j]);
            if high == low {
                values[n] = 0.0;
                continue;
            }
            let share = before[n - 1] / (high - low);
            values[n - 1] += share * (high - x);
            values[n] = share * (x - low);
        }
    }
    values
}

impl Spline {
    /// Columns of each feature.
    fn columns(&self) -> usize {
        self.splines() - usize::from(!self.include_bias)
    }

    /// Splines of each feature.
    fn splines(&self) -> usize {
        let base = self.knots.shape[1] - 2 * self.degree;
        match self.extrapolation {
            Extrapolation::Periodic => base - 1,
            _ => base + self.degree - 1,
        }
    }

    /// The interval of the range of the training that holds `x`, or is next to it.
    fn interval(&self, knots: &[f64], x: f64) -> usize {
        let (first, last) = (self.degree, knots.len() - self.degree - 2);
        (first + knots[first + 1..=last].partition_point(|knot| *knot <= x)).min(last)
    }

    /// All splines at a value.
    fn at(&self, knots: &[f64], x: f64, out: &mut [f64]) {
        let (low, high) = (knots[self.degree], knots[knots.len() - self.degree - 1]);
        let x = match self.extrapolation {
            Extrapolation::Periodic if high > low => low + (x - low).rem_euclid(high - low),
            Extrapolation::Periodic => 0.0,
            Extrapolation::Constant => x.max(low).min(high),
            _ => x,
        };
        if self.extrapolation == Extrapolation::Linear && !(low..=high).contains(&x) {
            let end = if x < low { low } else { high };
            let at = self.interval(knots, end);
            let values = basis(knots, self.degree, at, end);
            let slopes = self.slopes(knots, at, end);
            for (k, (value, slope)) in values.iter().zip(slopes).enumerate() {
                out[at - self.degree + k] = value + (x - end) * slope;
            }
            return;
        }
        let at = self.interval(knots, x);
        let splines = out.len();
        for (k, value) in basis(knots, self.degree, at, x).into_iter().enumerate() {
            // The last splines of a period are the first ones.
            out[(at - self.degree + k) % splines] += value;
        }
    }

    /// The derivatives of the splines of [`basis`].
    fn slopes(&self, knots: &[f64], at: usize, x: f64) -> Vec<f64> {
        let degree = self.degree;
        let Some(lower) = degree.checked_sub(1) else { return vec![0.0] };
        let below = basis(knots, lower, at, x);
        let share = |k: usize| {
            // The spline `at - lower + k` of the lower degree over the width of its knots.
            let first = at - lower + k;
            let width = knots[first + degree] - knots[first];
            if width == 0.0 { 0.0 } else { degree as f64 * below[k] / width }
        };
        let of = |k: usize| {
            let rising = if k > 0 { share(k - 1) } else { 0.0 };
            let falling = if k < degree { share(k) } else { 0.0 };
            rising - falling
        };
        (0..=degree).map(of).collect()
    }
}

impl Model for Spline {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        let names = |f: &Field| (0..self.columns()).map(|k| format!("{}_sp_{k}", f.name)).collect::<Vec<String>>();
        features.iter().flat_map(names).map(|name| Role::Feature(name, Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        few("SplineTransformer", data.rows, wanted.len())?;
        let (columns, splines) = (self.columns(), self.splines());
        let mut needed = vec![false; data.width()];
        wanted.iter().for_each(|k| needed[k / columns] = true);
        if self.extrapolation == Extrapolation::Error {
            self.inside(data, &needed)?;
        }
        // For each needed feature all splines, row after row.
        let tables: Vec<Vec<f64>> = data
            .features
            .par_iter()
            .enumerate()
            .map(|(j, column)| {
                if !needed[j] {
                    return Vec::new();
                }
                let knots = self.knots.row(j);
                let mut table = vec![0.0; data.rows * splines];
                let rows = table.par_chunks_mut(splines).zip(&column.values);
                rows.for_each(|(out, x)| self.at(knots, *x, out));
                table
            })
            .collect();
        Ok(outputs(wanted, |k| tables[k / columns].iter().skip(k % columns).step_by(splines).copied().collect()))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        if name != "knots" {
            return None;
        }
        let (width, degree) = (self.knots.shape[1], self.degree);
        let base = |j: usize| self.knots.row(j)[degree..width - degree].to_vec();
        let columns = features.iter().enumerate().map(|(j, f)| (f.name.clone(), Values::Floats(base(j))));
        Some(Attribute::Frame(columns.collect()))
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let shape = &self.knots.shape;
        let enough = shape.len() == 2
            && self.degree < 1 << 20
            && shape[1] >= 2 * self.degree + 2
            && (self.extrapolation != Extrapolation::Periodic || shape[1] - 2 * self.degree > self.degree)
            && self.columns() > 0;
        match enough && shape[0] == features {
            true => Ok(()),
            false => Err(lying(format!("the knots of splines do not fit {features} features"))),
        }
    }

    fn bytes(&self) -> u64 {
        self.knots.bytes()
    }
}

impl Spline {
    /// Checks that no value is outside of the range of the training.
    fn inside(&self, data: &Data, needed: &[bool]) -> Result<(), Error> {
        for (j, column) in data.features.iter().enumerate().filter(|(j, _)| needed[*j]) {
            let knots = self.knots.row(j);
            let (low, high) = (knots[self.degree], knots[knots.len() - self.degree - 1]);
            if let Some(value) = column.values.iter().find(|v| !(low..=high).contains(*v)) {
                let message = format!("`{}` has the value {value}: between {low} and {high}", column.name);
                let error = Error::new(ErrorKind::Range, message);
                return Err(error.help("`.extrapolation(\"constant\")` takes other values, too"));
            }
        }
        Ok(())
    }
}
