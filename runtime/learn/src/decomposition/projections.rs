//! Random projections (Johnson and Lindenstrauss 1984; Achlioptas 2003; Li, Hastie and Church 2006), with the numbers
//! of `sklearn/random_projection.py`.

use onrush_dense::Matrix;
use onrush_wire::learn::Param;

use super::linear_map::{LinearMap, pseudo_inverse, row_major};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::random::Mt19937;
use crate::stored::StoredAttributes;
use crate::tensor::Tensor;

/// The mean of a binomial number from which numpy has another algorithm. Such numbers are sums of draws here.
const INVERSION: f64 = 30.0;

/// Trains `GaussianRandomProjection`.
///
/// # Errors
/// If `n_components` does not fit the features.
pub fn gaussian(params: &params::GaussianRandomProjection, data: &Data) -> Result<LinearMap, Error> {
    let d = data.total_width();
    let count = component_count(&params.n_components, params.eps, data.rows, d)?;
    let mut random = Mt19937::new(params::seed(params.random_state));
    let scale = 1.0 / (count as f64).sqrt();
    let map = Tensor::new(vec![count, d], (0..count * d).map(|_| scale * random.normal()).collect());
    let attributes = StoredAttributes::default();
    finished("gaussianrandomprojection", map, attributes, params.compute_inverse_components)
}

/// Trains `SparseRandomProjection`.
///
/// # Errors
/// If `n_components` or `density` do not fit the features.
pub fn sparse(params: &params::SparseRandomProjection, data: &Data) -> Result<LinearMap, Error> {
    let d = data.total_width();
    let count = component_count(&params.n_components, params.eps, data.rows, d)?;
    let density = match (&params.density, params.density.as_f64()) {
        (Param::Str(word), _) if word == "auto" => 1.0 / (d as f64).sqrt(),
        (_, Some(share)) if share > 0.0 && share <= 1.0 => share,
        (other, _) => {
            let message = format!("`density` is {other}: \"auto\" or a number above 0, at most 1");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    let mut random = Mt19937::new(params::seed(params.random_state));
    let mut places: Vec<usize> = Vec::new();
    match density == 1.0 {
        true => places.extend(0..count * d),
        false => {
            for component in 0..count {
                let chosen = binomial(d, density, &mut random);
                let features = random.sample_without_replacement(d as u64, chosen);
                places.extend(features.into_iter().map(|j| component * d + j as usize));
            }
        }
    }
    let size = (1.0 / density).sqrt() / (count as f64).sqrt();
    let mut values = vec![0.0; count * d];
    for place in places {
        values[place] = if binomial(1, 0.5, &mut random) == 1 { size } else { -size };
    }
    let attributes = StoredAttributes::default().float("density", density);
    let map = Tensor::new(vec![count, d], values);
    finished("sparserandomprojection", map, attributes, params.compute_inverse_components)
}

/// The number of components: a number, or that of Johnson and Lindenstrauss for the error `eps`.
fn component_count(given: &Param, eps: f64, rows: usize, features: usize) -> Result<usize, Error> {
    let wrong = |message: String| Err(Error::new(ErrorKind::Parameter, message));
    match (given, params::count(given)) {
        (Param::Str(word), _) if word == "auto" => {
            if eps >= 1.0 {
                return wrong(format!("`eps` is {eps}: above 0 and below 1"));
            }
            let denominator = eps * eps / 2.0 - eps * eps * eps / 3.0;
            let count = (4.0 * (rows as f64).ln() / denominator) as usize;
            match count {
                0 => wrong(format!("`n_components` \"auto\" is 0 for {rows} rows: set it to a number")),
                count if count > features => wrong(format!(
                    "`eps` {eps} and {rows} rows need {count} components, and there are {features} features"
                ))
                .map_err(|e| e.help("set `n_components` to a number").help("or `eps` to a larger one")),
                count => Ok(count),
            }
        }
        (_, Some(count)) if count > 0 => Ok(count),
        (other, _) => wrong(format!("`n_components` is {other}: \"auto\" or an integer from 1")),
    }
}

/// `RandomState.binomial(n, p)` of numpy, by inversion.
fn binomial(n: usize, p: f64, random: &mut Mt19937) -> usize {
    if p > 0.5 {
        return n - binomial(n, 1.0 - p, random);
    }
    let mean = n as f64 * p;
    if mean > INVERSION {
        return (0..n).filter(|_| random.uniform() < p).count();
    }
    let (q, none) = (1.0 - p, (n as f64 * (-p).ln_1p()).exp());
    let bound = (n as f64).min(mean + 10.0 * (mean * q + 1.0).sqrt()) as usize;
    let (mut count, mut share, mut draw) = (0, none, random.uniform());
    while draw > share {
        count += 1;
        if count > bound {
            (count, share, draw) = (0, none, random.uniform());
        } else {
            draw -= share;
            share = ((n - count + 1) as f64 * p * share) / (count as f64 * q);
        }
    }
    count
}

fn finished(name: &str, map: Tensor, attributes: StoredAttributes, with_inverse: bool) -> Result<LinearMap, Error> {
    let (count, d) = (map.shape[0], map.shape[1]);
    let mut attributes = attributes.by_row("components", "component", map.data.clone()).int("n_components", count);
    let mut back = None;
    if with_inverse {
        let inverse = pseudo_inverse(&Matrix::new(d, count, map.data.clone()).transposed())?;
        let names = (0..count).map(|k| format!("{name}{k}")).collect();
        attributes = attributes.columns("inverse_components", names, row_major(&inverse).data);
        back = Some(row_major(&inverse.transposed()));
    }
    Ok(LinearMap { back, ..LinearMap::new(name, map, vec![0.0; d], attributes) })
}
