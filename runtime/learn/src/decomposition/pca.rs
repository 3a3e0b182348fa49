//! Principal components, centred (`PCA`) and not (`TruncatedSVD`).
//!
//! Small data take the singular value decomposition, larger data the eigenvectors of the Gram matrix of the centred
//! features. Both are exact. Above [`EXACT`] rows and features the subspace iteration of Halko, Martinsson and Tropp
//! (2011) takes over, with the random numbers of scikit-learn. Signs are those of `svd_flip(u_based_decision=False)`:
//! the largest value is positive.

use onrush_dense::{self as dense, Matrix};
use onrush_wire::learn::Param;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{randomized, sparse};
use crate::data::{Column, Data, Kind};
use crate::device;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, LinearScores, Link, Model, Role, Values};
use crate::neighbors::tile;
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::sums;
use crate::tensor::Tensor;

/// Up to this number of rows or features the result is exact.
const EXACT: usize = 4096;

/// Up to this many multiplications the singular value decomposition is taken: it keeps the digits of small singular
/// values.
const SMALL: usize = 50_000_000;

/// Up to this many features half of the Gram matrix is computed. Above, blocking for the caches gains more than the
/// symmetry.
const HALVED: usize = 192;

/// A linear map to components.
#[derive(Serialize, Deserialize)]
pub struct Projection {
    /// The names of the components are this word and a number.
    pub name: String,
    /// components x features.
    pub components: Tensor,
    /// The shift of each feature. Zeros if the features are not centred.
    pub mean: Tensor,
    /// The factor of each component.
    pub scale: Tensor,
    pub explained_variance: Tensor,
    pub explained_variance_ratio: Tensor,
    pub singular_values: Tensor,
    /// Mean variance of the components that were left out. 0 if there are none.
    #[serde(with = "crate::tensor::scalar")]
    pub noise_variance: f64,
}

/// Singular values in descending order with the right singular vectors of a matrix.
struct Spectrum {
    singular: Vec<f64>,
    /// features x components.
    vectors: Matrix,
    /// Whether the smallest ones are left out.
    truncated: bool,
}

impl Spectrum {
    fn is_finite(&self) -> bool {
        self.singular.iter().chain(&self.vectors.data).all(|v| v.is_finite())
    }
}

/// Trains `PCA`.
///
/// # Errors
/// If there is one row only, or `n_components` does not fit the data.
pub fn fit(params: &params::PCA, data: &Data, run: &Run<'_>) -> Result<Projection, Error> {
    let (n, d) = (data.rows, data.width());
    if n < 2 {
        return Err(Error::new(ErrorKind::NoRows, "PCA got 1 row: at least 2 rows have a variance"));
    }
    let wanted = ComponentCount::of(&params.n_components, n, d)?;
    let mean = match &data.device {
        Some(device) => {
            let found = device::statistics(device)?;
            found.iter().map(|column| device::mean(column, n)).collect()
        }
        None => data.means(),
    };
    let truncation = match (&wanted, n.min(d) > EXACT) {
        (ComponentCount::Count(count), true) if *count * 5 < n.min(d) * 4 => {
            let iterations = match params.iterated_power {
                Param::Int(iterations) if iterations >= 0 => iterations as usize,
                _ => {
                    if *count * 10 < n.min(d) {
                        7
                    } else {
                        4
                    }
                }
            };
            let (oversamples, seed) = (params.n_oversamples, params::seed(params.random_state));
            Some(Truncation { count: *count, oversamples, iterations, seed })
        }
        _ => None,
    };
    let spectrum = spectrum(data, &mean, None, truncation.as_ref(), run)?;
    let rows = (n - 1) as f64;
    let variance: Vec<f64> = spectrum.singular.iter().map(|s| s * s / rows).collect();
    let total = if spectrum.truncated { squares(data, &mean) / rows } else { variance.iter().sum() };
    let ratio: Vec<f64> = variance.iter().map(|v| v / total).collect();
    let k = match wanted {
        ComponentCount::Count(count) => count,
        ComponentCount::Mle => minka(&variance[..d.min(variance.len())], n, run)?,
        ComponentCount::Share(share) => {
            let mut sum = 0.0;
            let cumulated = ratio.iter().map(|r| {
                sum += r;
                sum
            });
            (cumulated.filter(|s| *s <= share).count() + 1).min(variance.len())
        }
    };
    let left_out = n.min(d) - k;
    let noise_variance = match (left_out, spectrum.truncated) {
        (0, _) => 0.0,
        (_, true) => (total - variance[..k].iter().sum::<f64>()) / left_out as f64,
        (_, false) => variance[k..].iter().sum::<f64>() / (variance.len() - k) as f64,
    };
    // scikit-learn's `_transform` keeps tiny variances from blowing up the components.
    let whitened = |v: &f64| 1.0 / v.sqrt().max(f64::EPSILON);
    let scale = if params.whiten { variance[..k].iter().map(whitened).collect() } else { vec![1.0; k] };
    Ok(Projection {
        name: "pca".to_string(),
        components: components(&spectrum.vectors, k),
        mean: Tensor::vector(mean),
        scale: Tensor::vector(scale),
        explained_variance: Tensor::vector(variance[..k].to_vec()),
        explained_variance_ratio: Tensor::vector(ratio[..k].to_vec()),
        singular_values: Tensor::vector(spectrum.singular[..k].to_vec()),
        noise_variance,
    })
}

/// Trains `TruncatedSVD`.
///
/// # Errors
/// If there are fewer rows or features than components.
pub fn truncated(params: &params::TruncatedSVD, data: &Data, run: &Run<'_>) -> Result<Projection, Error> {
    if data.sparse.is_some() {
        return sparse::truncated(params, data, run);
    }
    let (n, d) = (data.rows, data.width());
    let k = params.n_components;
    check_count(k, n, d)?;
    let mean = data.means();
    let truncation = (n.min(d) > EXACT).then(|| Truncation {
        count: k,
        oversamples: params.n_oversamples,
        iterations: params.n_iter,
        seed: params::seed(params.random_state),
    });
    let zero = vec![0.0; d];
    let spectrum = spectrum(data, &zero, Some(&mean), truncation.as_ref(), run)?;
    let components = components(&spectrum.vectors, k);
    // The variance of a component: the mean square of its values minus their squared mean, added up around the mean.
    let variance: Vec<f64> = sums::over_rows(
        n,
        |rows| {
            let block = projected(data, rows, &mean, &components);
            (0..k).map(|c| block.column(c).iter().map(|v| v * v).sum()).collect::<Vec<f64>>()
        },
        |a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect(),
    )
    .unwrap_or_default();
    let variance: Vec<f64> = variance.iter().map(|v| v / n as f64).collect();
    let total = squares(data, &mean) / n as f64;
    Ok(Projection {
        name: "truncatedsvd".to_string(),
        components,
        mean: Tensor::vector(zero),
        scale: Tensor::vector(vec![1.0; k]),
        explained_variance_ratio: Tensor::vector(variance.iter().map(|v| v / total).collect()),
        explained_variance: Tensor::vector(variance),
        singular_values: Tensor::vector(spectrum.singular[..k].to_vec()),
        noise_variance: 0.0,
    })
}

/// How many components are asked for.
enum ComponentCount {
    Count(usize),
    Share(f64),
    Mle,
}

impl ComponentCount {
    fn of(n_components: &Param, n: usize, d: usize) -> Result<Self, Error> {
        let wrong = |found: &str| {
            let message = format!("`n_components` is {found}: an integer from 1, a share between 0 and 1, or \"mle\"");
            Err(Error::new(ErrorKind::Parameter, message))
        };
        match n_components {
            Param::None => Ok(ComponentCount::Count(n.min(d))),
            Param::Str(word) if word == "mle" && n < d => {
                let message =
                    format!("`n_components` \"mle\" needs at least as many rows as features: {n} rows, {d} features");
                Err(Error::new(ErrorKind::Parameter, message))
            }
            Param::Str(word) if word == "mle" => Ok(ComponentCount::Mle),
            Param::Float(share) if *share > 0.0 && *share < 1.0 => Ok(ComponentCount::Share(*share)),
            other => match params::count(other) {
                Some(count) if count > 0 => check_count(count, n, d).map(|()| ComponentCount::Count(count)),
                _ => wrong(&other.to_string()),
            },
        }
    }
}

pub(super) fn check_count(count: usize, n: usize, d: usize) -> Result<(), Error> {
    if count <= n.min(d) {
        return Ok(());
    }
    let message = format!("`n_components` is {count}: at most {}, the smaller of {n} rows and {d} features", n.min(d));
    Err(Error::new(ErrorKind::Parameter, message))
}

/// Parameters of the subspace iteration.
struct Truncation {
    count: usize,
    oversamples: usize,
    iterations: usize,
    seed: u32,
}

/// The sum of squares of the centred features.
fn squares(data: &Data, mean: &[f64]) -> f64 {
    let columns: Vec<f64> = data
        .features
        .par_iter()
        .zip(mean)
        .map(|(column, mean)| {
            let chunk =
                |rows: std::ops::Range<usize>| column.values[rows].iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
            sums::over_rows(data.rows, chunk, |a, b| a + b).unwrap_or(0.0)
        })
        .collect();
    columns.iter().sum()
}

/// The singular values and vectors of the features minus `shift`. If `shift` is 0, `mean` is the mean of the features.
fn spectrum(
    data: &Data,
    shift: &[f64],
    mean: Option<&[f64]>,
    truncation: Option<&Truncation>,
    run: &Run<'_>,
) -> Result<Spectrum, Error> {
    let (n, d) = (data.rows, data.width());
    let broken = || {
        let message =
            "the singular value decomposition does not converge: the values are too large or too different in size";
        Error::new(ErrorKind::NoConvergence, message).help("scale the features first, for example with StandardScaler")
    };
    if let Some(truncation) = truncation {
        let found = subspace(&centred(data, 0..n, shift), truncation, run)?;
        return found.filter(Spectrum::is_finite).ok_or_else(broken);
    }
    if n.min(d) > 2 * EXACT {
        let most = 2 * EXACT;
        let message =
            format!("a full decomposition takes at most {most} rows or features, found {n} rows and {d} features");
        return Err(Error::new(ErrorKind::Size, message)
            .help(format!("set `n_components` to a count below {}", n.min(d) * 4 / 5)));
    }
    if data.device.is_none() && (n < d || n.saturating_mul(d).saturating_mul(d) <= SMALL) {
        run.stage("singular value decomposition");
        let (_, singular, vectors) = dense::svd(&centred(data, 0..n, shift)).ok_or_else(broken)?;
        return Some(Spectrum { singular, vectors, truncated: false }).filter(Spectrum::is_finite).ok_or_else(broken);
    }
    run.stage("Gram matrix");
    let mut gram = gram(data, mean.unwrap_or(shift), run)?;
    if let Some(mean) = mean {
        for column in 0..d {
            for row in 0..d {
                let value = gram.at(row, column) + n as f64 * mean[row] * mean[column];
                gram.set(row, column, value);
            }
        }
    }
    if gram.data.iter().any(|v| !v.is_finite()) {
        return Err(broken());
    }
    run.check(|| "the Gram matrix".to_string())?;
    run.stage("eigenvectors");
    let (values, ascending) = dense::eigh(&gram).ok_or_else(broken)?;
    let mut vectors = Matrix::zeros(d, d);
    for column in 0..d {
        vectors.column_mut(column).copy_from_slice(ascending.column(d - 1 - column));
    }
    let singular = values.iter().rev().map(|v| v.max(0.0).sqrt()).collect();
    Ok(Spectrum { singular, vectors, truncated: false })
}

/// `(x - shift)' (x - shift)`, added up in the order of the chunks.
fn gram(data: &Data, shift: &[f64], run: &Run<'_>) -> Result<Matrix, Error> {
    let d = data.width();
    if let Some(device) = &data.device {
        let places: Vec<usize> = (0..d).collect();
        let products = device::products(device, d, &places, shift, &vec![1.0; d])?;
        // The rounding error of the means is corrected.
        let off = |j: usize| products.at(j, d) / data.rows as f64;
        let mut gram = Matrix::zeros(d, d);
        for j in 0..d {
            for i in 0..=j {
                let value = products.at(i, j) - off(i) * products.at(j, d);
                gram.set(i, j, value);
                gram.set(j, i, value);
            }
        }
        return Ok(gram);
    }
    // Chunks of which eight columns fit the first cache, in rounds whose sums take about 256 MB, or as much as eight.
    let chunk = 256usize.max(d);
    let round = ((1 << 25) / (d * d).max(1)).clamp(8, 64) * chunk;
    let mut total = Matrix::zeros(d, d);
    for first in (0..data.rows).step_by(round) {
        run.check(|| format!("{first} of {} rows", data.rows))?;
        let end = data.rows.min(first + round);
        let starts: Vec<usize> = (first..end).step_by(chunk).collect();
        let parts: Vec<Matrix> = starts
            .into_par_iter()
            .map(|start| {
                let rows = start..end.min(start + chunk);
                if d <= HALVED {
                    let columns: Vec<&[f64]> = data.features.iter().map(|c| &c.values[rows.clone()]).collect();
                    return Matrix::new(d, d, tile::gram(&columns, shift));
                }
                let block = centred(data, rows, shift);
                dense::transpose_multiply(&block, &block)
            })
            .collect();
        for part in parts {
            total.data.iter_mut().zip(&part.data).for_each(|(t, p)| *t += p);
        }
    }
    Ok(total)
}

/// The features of some rows minus `shift`.
pub(super) fn centred(data: &Data, rows: std::ops::Range<usize>, shift: &[f64]) -> Matrix {
    let mut out = Vec::with_capacity(rows.len() * data.width());
    for (column, shift) in data.features.iter().zip(shift) {
        out.extend(column.values[rows.clone()].iter().map(|v| v - shift));
    }
    Matrix::new(rows.len(), data.width(), out)
}

/// The largest singular values by subspace iteration. `None` if the small decomposition does not converge.
fn subspace(matrix: &Matrix, truncation: &Truncation, run: &Run<'_>) -> Result<Option<Spectrum>, Error> {
    let directions = (truncation.count + truncation.oversamples).min(matrix.rows.min(matrix.columns));
    let mut random = Mt19937::new(truncation.seed);
    let found = randomized::subspace(matrix, directions, truncation.iterations, &mut random, run)?;
    Ok(found.map(|found| Spectrum { singular: found.values, vectors: found.v, truncated: true }))
}

/// The first `k` vectors as rows, each with the sign that makes its largest value positive.
pub(super) fn components(vectors: &Matrix, k: usize) -> Tensor {
    let mut out = Vec::with_capacity(k * vectors.rows);
    for column in 0..k {
        let vector = vectors.column(column);
        let largest = vector.iter().fold(0.0f64, |a, b| if b.abs() > a.abs() { *b } else { a });
        let sign = if largest < 0.0 { -1.0 } else { 1.0 };
        out.extend(vector.iter().map(|v| v * sign));
    }
    Tensor::new(vec![k, vectors.rows], out)
}

/// Minka's estimate of the number of components (NIPS 2000), as in scikit-learn's `_infer_dimension`.
fn minka(spectrum: &[f64], n: usize, run: &Run<'_>) -> Result<usize, Error> {
    const TINY: f64 = 1e-15;
    let d = spectrum.len();
    // ln gamma(m / 2) by ln gamma(x + 1) = ln x + ln gamma(x).
    let mut gamma = vec![f64::NAN, std::f64::consts::PI.sqrt().ln(), 0.0];
    for m in 3..=d {
        let x = m as f64 / 2.0 - 1.0;
        gamma.push(x.ln() + gamma[m - 2]);
    }
    let rows = n as f64;
    let (mut best, mut likelihood) = (1, f64::NEG_INFINITY);
    let (mut pu, mut pl) = (0.0, 0.0);
    for rank in 1..d {
        run.check(|| format!("{rank} of {d} numbers of components"))?;
        let m = d - rank + 1;
        pu += -(2f64.ln()) + gamma[m] - std::f64::consts::PI.ln() * m as f64 / 2.0;
        if spectrum[rank - 1] < TINY {
            continue;
        }
        pl += spectrum[rank - 1].ln();
        let rest = (d - rank) as f64;
        let noise = (spectrum[rank..].iter().sum::<f64>() / rest).max(TINY);
        let pv = -noise.ln() * rows * rest / 2.0;
        let k = rank as f64;
        let pp = (2.0 * std::f64::consts::PI).ln() * (d as f64 * k - k * (k + 1.0) / 2.0 + k) / 2.0;
        let inverse = |j: usize| 1.0 / if j < rank { spectrum[j] } else { noise };
        let mut pa = 0.0;
        for i in 0..rank {
            for j in i + 1..d {
                // Equal values would have the logarithm of 0, an infinite likelihood.
                let gap = ((spectrum[i] - spectrum[j]) * (inverse(j) - inverse(i))).max(f64::MIN_POSITIVE);
                pa += gap.ln() + rows.ln();
            }
        }
        let value = pu - pl * rows / 2.0 + pv + pp - pa / 2.0 - k * rows.ln() / 2.0;
        if value > likelihood {
            (best, likelihood) = (rank, value);
        }
    }
    Ok(best)
}

/// The components of some rows: rows x components.
pub(super) fn projected(data: &Data, rows: std::ops::Range<usize>, mean: &[f64], components: &Tensor) -> Matrix {
    let block = centred(data, rows, mean);
    // The components lie row after row: as a column-major matrix they are features x components.
    let map = Matrix::new(data.width(), components.shape[0], components.data.clone());
    dense::multiply(&block, &map)
}

impl Model for Projection {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        (0..self.components.shape[0]).map(|c| Role::Feature(format!("{}{c}", self.name), Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        if data.sparse.is_some() {
            // Features that are centred are never sparse.
            let rows = data.all_sparse();
            let column = |c: &usize| {
                let component = self.components.row(*c);
                (0..data.rows).map(|row| rows.dot(row, component) * self.scale.data[*c]).collect()
            };
            return Ok(wanted.par_iter().map(column).collect());
        }
        let rows = wanted.iter().flat_map(|c| self.components.row(*c).iter().map(|v| v * self.scale.data[*c]));
        let components = Tensor::new(vec![wanted.len(), data.width()], rows.collect());
        let chunks: Vec<usize> = (0..data.rows).step_by(sums::CHUNK).collect();
        let blocks: Vec<Matrix> = chunks
            .into_par_iter()
            .map(|start| projected(data, start..data.rows.min(start + sums::CHUNK), &self.mean.data, &components))
            .collect();
        Ok((0..wanted.len()).map(|c| blocks.iter().flat_map(|b| b.column(c).iter().copied()).collect()).collect())
    }

    fn inverse(&self, data: &Data, features: &[Field]) -> Result<Option<Vec<Column>>, Error> {
        let (count, width) = (self.components.shape[0], features.len());
        let column = |j: usize| {
            let mut values = vec![self.mean.data[j]; data.rows];
            for c in 0..count {
                let factor = self.components.data[c * width + j] / self.scale.data[c];
                values.iter_mut().zip(&data.features[c].values).for_each(|(sum, v)| *sum += v * factor);
            }
            Column::number(features[j].name.as_str(), values)
        };
        Ok(Some((0..width).into_par_iter().map(column).collect()))
    }

    fn linear(&self) -> Option<LinearScores> {
        let scaled = |c: usize| self.components.row(c).iter().map(|v| v * self.scale.data[c]).collect::<Vec<f64>>();
        let coef: Vec<Vec<f64>> = (0..self.components.shape[0]).map(scaled).collect();
        let intercept = vec![0.0; coef.len()];
        Some(LinearScores { coef, intercept, shift: self.mean.data.clone(), link: Link::Identity })
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        let k = self.components.shape[0];
        let numbers = || (0..k as i64).collect::<Vec<i64>>();
        let by_component = |values: &Tensor| {
            let values = (name.to_string(), Values::Floats(values.data.clone()));
            Some(Attribute::Frame(vec![("component".to_string(), Values::Ints(numbers())), values]))
        };
        let centred = self.name == "pca";
        match name {
            "components" => {
                Some(Attribute::by_row(Some(("component", Values::Ints(numbers()))), features, &self.components.data))
            }
            "explained_variance" => by_component(&self.explained_variance),
            "explained_variance_ratio" => by_component(&self.explained_variance_ratio),
            "singular_values" => by_component(&self.singular_values),
            "mean" if centred => Some(Attribute::by_feature(features, "mean", &self.mean.data)),
            "noise_variance" if centred => Some(Attribute::Float(self.noise_variance)),
            "n_components" if centred => Some(Attribute::Int(k as i64)),
            _ => None,
        }
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let points = self.explained_variance_ratio.data.iter().enumerate().map(|(c, v)| (c as f64, *v));
        vec![("explained variance ratio".to_string(), points.collect())]
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let shape = &self.components.shape;
        let k = shape.first().copied().unwrap_or(0);
        let lists = [&self.scale, &self.explained_variance, &self.explained_variance_ratio, &self.singular_values];
        if features == 0 || shape.len() != 2 || shape[1] != features || self.mean.data.len() != features {
            let message = format!("components of the shape {shape:?} for {features} features");
            return Err(Error::new(ErrorKind::ModelFile, message));
        }
        match lists.iter().find(|list| list.data.len() != k) {
            Some(list) => {
                Err(Error::new(ErrorKind::ModelFile, format!("{} values for {k} components", list.data.len())))
            }
            None => Ok(()),
        }
    }

    fn bytes(&self) -> u64 {
        self.components.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subspace_iteration_agrees_with_the_exact_decomposition() {
        // Singular values that fall quickly, so that four iterations reach the last digits.
        let value = |i: usize, j: usize| 1.0 / (1.0 + (i + 2 * j) as f64);
        let data = (0..30).flat_map(|j| (0..50).map(move |i| value(i, j))).collect();
        let matrix = Matrix::new(50, 30, data);
        let (_, exact, vectors) = dense::svd(&matrix).unwrap();
        let truncation = Truncation { count: 4, oversamples: 6, iterations: 4, seed: 7 };
        let found = subspace(&matrix, &truncation, &Run::silent()).unwrap().unwrap();
        let (a, b) = (components(&found.vectors, 4), components(&vectors, 4));
        assert!(found.singular.iter().zip(&exact).take(4).all(|(a, b)| (a - b).abs() <= 1e-13 * exact[0]));
        assert!(a.data.iter().zip(&b.data).all(|(a, b)| (a - b).abs() <= 1e-9), "{a:?}, expected {b:?}");
    }
}
