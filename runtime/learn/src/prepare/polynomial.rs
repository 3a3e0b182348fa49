//! Products of features (scikit-learn's `PolynomialFeatures`).

use onrush_wire::learn::Param;
use serde::{Deserialize, Serialize};

use super::{few, lying, outputs};
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::tensor::Tensor;

/// `PolynomialFeatures`.
#[derive(Serialize, Deserialize)]
pub struct Polynomial {
    /// The positions of the features of each product, in ascending order and repeated for powers; all products in a
    /// row.
    factors: Tensor,
    /// The end of each product in `factors`.
    ends: Tensor,
}

/// The largest number of products.
const MOST: usize = 1 << 20;
/// The largest degree of a product.
const MOST_DEGREE: usize = 64;

/// Lists the products. Nothing else is learnt from the data.
pub fn fit(params: &params::PolynomialFeatures, data: &Data) -> Result<Polynomial, Error> {
    let (least, most) = degrees(&params.degree)?;
    let only = params.interaction_only;
    let width = data.width();
    let mut factors = Vec::new();
    let mut ends = Vec::new();
    let start = if params.include_bias { 0 } else { least.max(1) };
    for degree in (start..=most).filter(|d| *d == 0 || *d >= least) {
        let mut product: Vec<usize> = (0..degree).map(|k| if only { k } else { 0 }).collect();
        if only && degree > width {
            break;
        }
        loop {
            factors.extend(product.iter().map(|j| *j as f64));
            ends.push(factors.len() as f64);
            if ends.len() > MOST || factors.len() > 16 * MOST {
                let message = format!("degree {most} of {width} features makes more than {MOST} products");
                return Err(Error::new(ErrorKind::TooManyColumns, message)
                    .help("take a lower `degree`, fewer features, or `.interaction_only(true)`"));
            }
            if !advance(&mut product, width, only) {
                break;
            }
        }
    }
    if ends.is_empty() {
        let message = format!("degree {most} of {width} features makes no column");
        return Err(Error::new(ErrorKind::Parameter, message).help("take `.include_bias(true)` or another `degree`"));
    }
    Ok(Polynomial { factors: Tensor::vector(factors), ends: Tensor::vector(ends) })
}

fn degrees(param: &Param) -> Result<(usize, usize), Error> {
    let degree = |value: &Param| match value {
        Param::Int(n) => usize::try_from(*n).ok().filter(|n| *n <= MOST_DEGREE),
        _ => None,
    };
    let found = match param {
        Param::List(list) if list.len() == 2 => degree(&list[0]).zip(degree(&list[1])),
        one => degree(one).map(|most| (0, most)),
    };
    found.filter(|(least, most)| least <= most).ok_or_else(|| {
        let wanted =
            format!("expected an integer from 0 to {MOST_DEGREE}, or a list of the smallest and the largest degree");
        Error::new(ErrorKind::Parameter, format!("`degree` is {param}: {wanted}"))
    })
}

/// The next combination in lexicographic order: `itertools.combinations`, or with replacement. False after the last
/// one.
fn advance(product: &mut [usize], width: usize, only: bool) -> bool {
    let degree = product.len();
    let last = |k: usize| if only { width + k - degree } else { width - 1 };
    let Some(k) = (0..degree).rev().find(|k| product[*k] < last(*k)) else { return false };
    product[k] += 1;
    for next in k + 1..degree {
        product[next] = product[next - 1] + usize::from(only);
    }
    true
}

impl Polynomial {
    fn product(&self, k: usize) -> &[f64] {
        let start = if k == 0 { 0 } else { self.ends.data[k - 1] as usize };
        &self.factors.data[start..self.ends.data[k] as usize]
    }

    /// The exponent of each feature of a product that has one.
    fn powers(&self, k: usize) -> Vec<(usize, u32)> {
        let mut powers: Vec<(usize, u32)> = Vec::new();
        for factor in self.product(k) {
            match powers.last_mut() {
                Some((j, power)) if *j == *factor as usize => *power += 1,
                _ => powers.push((*factor as usize, 1)),
            }
        }
        powers
    }

    fn name(&self, k: usize, features: &[Field]) -> String {
        let power = |(j, power): (usize, u32)| match power {
            1 => features[j].name.clone(),
            _ => format!("{}^{power}", features[j].name),
        };
        let names: Vec<String> = self.powers(k).into_iter().map(power).collect();
        if names.is_empty() { "1".to_string() } else { names.join(" ") }
    }
}

impl Model for Polynomial {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        (0..self.ends.data.len()).map(|k| Role::Feature(self.name(k, features), Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        few("PolynomialFeatures", data.rows, wanted.len())?;
        Ok(outputs(wanted, |k| {
            // From the last factor on, as scikit-learn multiplies.
            let mut factors = self.product(k).iter().rev().map(|j| &data.features[*j as usize].values);
            let Some(first) = factors.next() else { return vec![1.0; data.rows] };
            let mut out = first.clone();
            factors.for_each(|values| out.iter_mut().zip(values).for_each(|(o, x)| *o *= x));
            out
        }))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        if name != "powers" {
            return None;
        }
        let (mut outputs, mut names, mut powers) = (Vec::new(), Vec::new(), Vec::new());
        for k in 0..self.ends.data.len() {
            for (j, power) in self.powers(k) {
                outputs.push(self.name(k, features));
                names.push(features[j].name.clone());
                powers.push(i64::from(power));
            }
        }
        Some(Attribute::Frame(vec![
            ("output".to_string(), Values::Strs(outputs)),
            ("feature".to_string(), Values::Strs(names)),
            ("power".to_string(), Values::Ints(powers)),
        ]))
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let integer = |v: &f64| v.fract() == 0.0 && *v >= 0.0;
        let (factors, ends) = (&self.factors.data, &self.ends.data);
        let fits = factors.iter().all(|j| integer(j) && *j < features as f64)
            && ends.iter().all(|end| integer(end) && *end <= factors.len() as f64)
            && ends.windows(2).all(|pair| pair[0] <= pair[1]);
        if fits { Ok(()) } else { Err(lying(format!("the products do not fit {features} features"))) }
    }

    fn bytes(&self) -> u64 {
        self.factors.bytes() + self.ends.bytes()
    }
}
