//! Mixtures of normal distributions by expectation maximisation (Dempster, Laird and Rubin 1977), as in
//! `sklearn/mixture/_gaussian_mixture.py`.
//!
//! Each pass over the rows computes the responsibilities and the sums of the next step at once. Second-order sums are
//! taken around the old means, and corrected for the new ones.

use onrush_dense::{self as dense, Matrix};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::covariance::{CHUNK, block, scatter};
use super::inverse_lower;
use crate::cluster::kmeans;
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::neighbors::tile;
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::tensor::Tensor;

/// The form of the covariance matrices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Form {
    /// A matrix for each component.
    Full,
    /// One matrix.
    Tied,
    /// A variance for each component and feature.
    Diag,
    /// A variance for each component.
    Spherical,
}

impl Form {
    pub(super) fn of(word: &str) -> Self {
        match word {
            "tied" => Form::Tied,
            "diag" => Form::Diag,
            "spherical" => Form::Spherical,
            _ => Form::Full,
        }
    }

    pub(super) fn shape(self, components: usize, width: usize) -> Vec<usize> {
        match self {
            Form::Full => vec![components, width, width],
            Form::Tied => vec![width, width],
            Form::Diag => vec![components, width],
            Form::Spherical => vec![components],
        }
    }

    /// Free parameters of the covariances.
    fn count(self, components: usize, width: usize) -> usize {
        match self {
            Form::Full => components * width * (width + 1) / 2,
            Form::Tied => width * (width + 1) / 2,
            Form::Diag => components * width,
            Form::Spherical => components,
        }
    }
}

/// Weights, means and covariances of the components.
#[derive(Clone, Serialize, Deserialize)]
pub struct Components {
    pub form: Form,
    pub weights: Tensor,
    /// components x features.
    pub means: Tensor,
    /// By [`Form`]: components x features x features, features x features, components x features, or components.
    pub covariances: Tensor,
    /// The same shape: inverses of the Cholesky factors, row after row, or of the standard deviations.
    pub factors: Tensor,
    /// For each component what is added to the logarithm of its density, in place of that of its weight.
    #[serde(default)]
    pub offsets: Option<Tensor>,
}

/// A trained mixture.
#[derive(Serialize, Deserialize)]
pub struct GaussianMixture {
    pub components: Components,
    #[serde(with = "crate::tensor::scalar")]
    pub lower_bound: f64,
    pub n_iter: u64,
    pub converged: bool,
    #[serde(with = "crate::tensor::scalar")]
    pub aic: f64,
    #[serde(with = "crate::tensor::scalar")]
    pub bic: f64,
    /// The mean log-likelihood of a row after each iteration.
    pub lower_bounds: Tensor,
    pub notes: Vec<String>,
}

/// Trains `GaussianMixture`.
///
/// # Errors
/// If there are fewer rows than components or first values do not fit. If a covariance is not positive definite, and
/// if the user stops the work.
pub fn fit(params: &params::GaussianMixture, data: &Data, run: &Run<'_>) -> Result<GaussianMixture, Error> {
    let (count, width) = (params.n_components, data.width());
    if data.rows < count.max(2) {
        let message =
            format!("`n_components` is {count}, and there are {} rows: at least as many rows, and 2", data.rows);
        return Err(Error::new(ErrorKind::Parameter, message).help("set `n_components` to a smaller number"));
    }
    let form = Form::of(&params.covariance_type);
    let given = GivenParameters::of(params, width)?;
    let total = match form {
        Form::Tied => {
            let mean = data.means();
            Some((scatter(data, &mean), mean))
        }
        _ => None,
    };
    let fitting = Fitting { data, form, count, reg_covar: params.reg_covar, total };
    let mut random = Mt19937::new(params::seed(params.random_state));
    let mut best: Option<GaussianMixture> = None;
    for number in 0..params.n_init {
        let seed = if number == 0 { params::seed(params.random_state) } else { random.next_u32() };
        let start = fitting.start(&params.init_params, seed, &given, run)?;
        let found = fitting.train(start, params.max_iter, params.tol, run)?;
        (run.steps)(number as u64 + 1, params.n_init as u64);
        if best.as_ref().is_none_or(|best| found.lower_bound > best.lower_bound) {
            best = Some(found);
        }
    }
    let Some(mut best) = best else { return Err(Error::new(ErrorKind::Parameter, "`n_init` is 0: at least 1")) };
    let likelihood = fitting.pass(&best.components, false).likelihood;
    let free = (form.count(count, width) + width * count + count - 1) as f64;
    best.aic = -2.0 * likelihood + 2.0 * free;
    best.bic = -2.0 * likelihood + free * (data.rows as f64).ln();
    let (iterations, bound) = (best.n_iter, best.lower_bound);
    best.notes = vec![match best.converged {
        true => format!("converged after {iterations} iterations with the mean log-likelihood {bound:.6}"),
        false => {
            format!("stopped after `max_iter` = {iterations} iterations; the likelihood changed by more than `tol`")
        }
    }];
    Ok(best)
}

/// First values that the user gives.
#[derive(Default)]
pub(super) struct GivenParameters {
    weights: Option<Vec<f64>>,
    means: Option<Vec<f64>>,
}

impl GivenParameters {
    fn of(params: &params::GaussianMixture, width: usize) -> Result<Self, Error> {
        let list = |name: &str, values: &Option<params::Floats>, wanted: usize, what: &str| match values {
            Some(values) if values.len() != wanted || values.iter().any(|v| !v.is_finite()) => {
                let message = format!("`{name}` has {} numbers: expected {wanted}, {what}", values.len());
                Err(Error::new(ErrorKind::Parameter, message))
            }
            values => Ok(values.as_ref().map(|values| values.to_vec())),
        };
        let count = params.n_components;
        let weights = list("weights_init", &params.weights_init, count, "one for each component")?;
        if let Some(weights) = &weights {
            let sum: f64 = weights.iter().sum();
            if (sum - 1.0).abs() > 1e-6 || weights.iter().any(|w| *w < 0.0) {
                return Err(Error::new(ErrorKind::Parameter, format!("`weights_init` sum to {sum}: expected 1")));
            }
        }
        let what = "the means of the components one after the other";
        Ok(GivenParameters { weights, means: list("means_init", &params.means_init, count * width, what)? })
    }
}

/// Sums over the rows, for each component.
pub(super) struct Moments {
    /// The sum of the log-likelihoods of the rows.
    likelihood: f64,
    /// The sum of `r ln r` over the responsibilities, if the components have offsets.
    pub(super) entropy: f64,
    pub(super) weights: Vec<f64>,
    /// components x features: sums of the features minus the shift of the component.
    sums: Vec<f64>,
    /// Sums of products around the shift: components x features x features, or components x features.
    squares: Vec<f64>,
}

impl Moments {
    fn add(mut self, other: Moments) -> Moments {
        self.likelihood += other.likelihood;
        self.entropy += other.entropy;
        for (a, b) in
            [(&mut self.weights, &other.weights), (&mut self.sums, &other.sums), (&mut self.squares, &other.squares)]
        {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        }
        self
    }
}

pub(super) struct Fitting<'a> {
    pub data: &'a Data,
    pub form: Form,
    pub count: usize,
    pub reg_covar: f64,
    /// For tied covariances the scatter around the mean, and the mean.
    pub total: Option<(Matrix, Vec<f64>)>,
}

impl Fitting<'_> {
    /// The components before the first iteration.
    pub(super) fn start(
        &self,
        init: &str,
        seed: u32,
        given: &GivenParameters,
        run: &Run<'_>,
    ) -> Result<Components, Error> {
        run.stage("first components");
        let (data, count, width) = (self.data, self.count, self.data.width());
        let mut random = Mt19937::new(seed);
        let shares: Box<dyn Fn(usize) -> Vec<f64> + Sync> = match init {
            "random" => {
                let mut shares: Vec<f64> = (0..data.rows * count).map(|_| random.uniform()).collect();
                for row in shares.chunks_exact_mut(count) {
                    let sum: f64 = row.iter().sum();
                    row.iter_mut().for_each(|v| *v /= sum);
                }
                Box::new(move |row| shares[row * count..(row + 1) * count].to_vec())
            }
            "kmeans" => {
                let wanted = params::KMeans {
                    n_clusters: count,
                    random_state: Some(seed as usize),
                    ..params::KMeans::default()
                };
                let plain = Data { weight: None, ..data.with_features(data.features.clone()) };
                let labels = kmeans::fit(&wanted, &plain, run)?.labels.data;
                Box::new(move |row| (0..count).map(|k| f64::from(u8::from(labels[row] == k as f64))).collect())
            }
            word => {
                let rows = match word {
                    "k-means++" => kmeans::first_rows(data, count, &mut random, run)?,
                    _ => random.choice(data.rows, count),
                };
                Box::new(move |row| rows.iter().map(|r| f64::from(u8::from(*r == row))).collect())
            }
        };
        // The second pass has the means of the first one as shifts, so that no digits are lost.
        let zero: Vec<f64> = data.means().repeat(count);
        let moments = self.moments(&zero, |rows| rows.map(&shares).collect::<Vec<_>>().concat());
        let means = self.means(&moments, &zero);
        let moments = self.moments(&means, |rows| rows.map(&shares).collect::<Vec<_>>().concat());
        let mut components = self.maximised(&moments, &means)?;
        if given.weights.is_none() {
            components.weights.data = moments.weights.iter().map(|w| w / data.rows as f64).collect();
        }
        if let Some(weights) = &given.weights {
            components.weights = Tensor::vector(weights.clone());
        }
        if let Some(means) = &given.means {
            components.means = Tensor::new(vec![count, width], means.clone());
        }
        Ok(components)
    }

    fn train(&self, start: Components, max_iter: usize, tol: f64, run: &Run<'_>) -> Result<GaussianMixture, Error> {
        let rows = self.data.rows as f64;
        let (mut components, mut bound, mut converged) = (start, f64::NEG_INFINITY, false);
        let mut bounds = Vec::new();
        while bounds.len() < max_iter && !converged {
            run.check(|| format!("{} of at most {max_iter} iterations", bounds.len()))?;
            let moments = self.pass(&components, true);
            components = self.maximised(&moments, &components.means.data)?;
            let before = bound;
            bound = moments.likelihood / rows;
            bounds.push(bound);
            run.stage(format!("iteration {}, mean log-likelihood {bound:.6}", bounds.len()));
            converged = (bound - before).abs() < tol;
        }
        Ok(GaussianMixture {
            components,
            lower_bound: bound,
            n_iter: bounds.len() as u64,
            converged,
            aic: 0.0,
            bic: 0.0,
            lower_bounds: Tensor::vector(bounds),
            notes: Vec::new(),
        })
    }

    /// The responsibilities of all rows, and the sums that the next components need.
    pub(super) fn pass(&self, components: &Components, with_moments: bool) -> Moments {
        let width = self.data.width();
        let of = |rows: std::ops::Range<usize>| {
            let mut logs = components.joint(self.data, rows.clone());
            let likelihood = logs.chunks_exact_mut(self.count).map(responsibilities).sum::<f64>();
            let entropy: f64 = match components.offsets {
                Some(_) => logs.iter().filter(|r| **r > 0.0).map(|r| r * r.ln()).sum(),
                None => 0.0,
            };
            match with_moments {
                true => Moments { likelihood, entropy, ..self.of_chunk(rows, &components.means.data, &logs) },
                false => Moments { likelihood, entropy, weights: Vec::new(), sums: Vec::new(), squares: Vec::new() },
            }
        };
        debug_assert_eq!(components.means.data.len(), self.count * width);
        self.over_chunks(of)
    }

    fn moments(&self, shifts: &[f64], shares: impl Fn(std::ops::Range<usize>) -> Vec<f64> + Sync) -> Moments {
        self.over_chunks(|rows| self.of_chunk(rows.clone(), shifts, &shares(rows)))
    }

    fn over_chunks(&self, of: impl Fn(std::ops::Range<usize>) -> Moments + Sync) -> Moments {
        const ROUND: usize = 64;
        let rows = self.data.rows;
        let starts: Vec<usize> = (0..rows).step_by(CHUNK).collect();
        let mut total =
            Moments { likelihood: 0.0, entropy: 0.0, weights: Vec::new(), sums: Vec::new(), squares: Vec::new() };
        for round in starts.chunks(ROUND) {
            let parts: Vec<Moments> = round.par_iter().map(|start| of(*start..rows.min(start + CHUNK))).collect();
            for part in parts {
                total = if total.weights.is_empty() {
                    Moments { likelihood: total.likelihood + part.likelihood, ..part }
                } else {
                    total.add(part)
                };
            }
        }
        total
    }

    /// The sums of some rows. `shares` are their responsibilities, row after row.
    fn of_chunk(&self, rows: std::ops::Range<usize>, shifts: &[f64], shares: &[f64]) -> Moments {
        let (count, width) = (self.count, self.data.width());
        let zero = vec![0.0; width];
        let (mut weights, mut sums, mut squares) = (Vec::new(), Vec::new(), Vec::new());
        for k in 0..count {
            let of: Vec<f64> = shares.iter().skip(k).step_by(count).copied().collect();
            let mut centred = block(self.data, rows.clone(), &shifts[k * width..(k + 1) * width]);
            weights.push(of.iter().sum::<f64>());
            for j in 0..width {
                let column = centred.column_mut(j);
                sums.push(column.iter().zip(&of).map(|(v, share)| v * share).sum::<f64>());
                if matches!(self.form, Form::Diag | Form::Spherical) {
                    squares.push(column.iter().zip(&of).map(|(v, share)| v * v * share).sum::<f64>());
                }
            }
            if self.form == Form::Full {
                let roots: Vec<f64> = of.iter().map(|share| share.sqrt()).collect();
                for j in 0..width {
                    centred.column_mut(j).iter_mut().zip(&roots).for_each(|(v, root)| *v *= root);
                }
                let columns: Vec<&[f64]> = (0..width).map(|j| centred.column(j)).collect();
                squares.extend(tile::gram(&columns, &zero));
            }
        }
        Moments { likelihood: 0.0, entropy: 0.0, weights, sums, squares }
    }

    /// The means of the components.
    fn means(&self, moments: &Moments, shifts: &[f64]) -> Vec<f64> {
        let width = self.data.width();
        let weight = |i: usize| moments.weights[i / width] + 10.0 * f64::EPSILON;
        shifts.iter().enumerate().map(|(i, shift)| shift + moments.sums[i] / weight(i)).collect()
    }

    /// The components of the largest likelihood for these responsibilities.
    pub(super) fn maximised(&self, moments: &Moments, shifts: &[f64]) -> Result<Components, Error> {
        let (count, width) = (self.count, self.data.width());
        let weights: Vec<f64> = moments.weights.iter().map(|w| w + 10.0 * f64::EPSILON).collect();
        let means = self.means(moments, shifts);
        let off: Vec<f64> = means.iter().zip(shifts).map(|(mean, shift)| mean - shift).collect();
        let mut covariances = Vec::with_capacity(self.form.shape(count, width).iter().product());
        match (self.form, &self.total) {
            (Form::Tied, Some((total, center))) => {
                let sum: f64 = weights.iter().sum();
                for i in 0..width {
                    for j in 0..width {
                        let of = |k: usize, j: usize| means[k * width + j] - center[j];
                        let between: f64 = (0..count).map(|k| weights[k] * of(k, i) * of(k, j)).sum();
                        covariances.push((total.at(i, j) - between) / sum);
                    }
                }
            }
            (Form::Full, _) | (Form::Tied, None) => {
                for k in 0..count {
                    for i in 0..width {
                        for j in 0..width {
                            let square = moments.squares[(k * width + i) * width + j];
                            // Around the shift the mean is `off`; the sums have the weights without their addition.
                            let correction = off[k * width + i] * moments.sums[k * width + j]
                                + off[k * width + j] * moments.sums[k * width + i]
                                - off[k * width + i] * off[k * width + j] * moments.weights[k];
                            covariances.push((square - correction) / weights[k]);
                        }
                    }
                }
            }
            (Form::Diag | Form::Spherical, _) => {
                for (i, square) in moments.squares.iter().enumerate() {
                    let k = i / width;
                    let correction = 2.0 * off[i] * moments.sums[i] - off[i] * off[i] * moments.weights[k];
                    covariances.push((square - correction) / weights[k]);
                }
            }
        }
        self.regularised(&mut covariances);
        if self.form == Form::Spherical {
            covariances = covariances.chunks_exact(width).map(|v| v.iter().sum::<f64>() / width as f64).collect();
        }
        let factors = self.factors(&covariances)?;
        let total: f64 = weights.iter().sum();
        let shape = self.form.shape(count, width);
        Ok(Components {
            form: self.form,
            weights: Tensor::vector(weights.iter().map(|w| w / total).collect()),
            means: Tensor::new(vec![count, width], means),
            covariances: Tensor::new(shape.clone(), covariances),
            factors: Tensor::new(shape, factors),
            offsets: None,
        })
    }

    /// Adds `reg_covar` to the variances.
    fn regularised(&self, covariances: &mut [f64]) {
        let width = self.data.width();
        match self.form {
            Form::Full | Form::Tied => {
                for matrix in covariances.chunks_exact_mut(width * width) {
                    matrix.iter_mut().step_by(width + 1).for_each(|v| *v += self.reg_covar);
                }
            }
            Form::Diag | Form::Spherical => covariances.iter_mut().for_each(|v| *v += self.reg_covar),
        }
    }

    pub(super) fn factors(&self, covariances: &[f64]) -> Result<Vec<f64>, Error> {
        let width = self.data.width();
        let broken = || {
            let message = "the covariance of a component is not positive definite";
            Error::new(ErrorKind::Numeric, message)
                .help("set `reg_covar` to a larger number, or `n_components` to a smaller one")
                .help("or scale the features, for example with `StandardScaler`")
        };
        match self.form {
            Form::Full | Form::Tied => {
                let mut out = Vec::with_capacity(covariances.len());
                for matrix in covariances.chunks_exact(width * width) {
                    let lower = dense::cholesky(&Matrix::new(width, width, matrix.to_vec())).ok_or_else(broken)?;
                    let inverse = inverse_lower(&lower);
                    if inverse.data.iter().any(|v| !v.is_finite()) {
                        return Err(broken());
                    }
                    out.extend(inverse.transposed().data);
                }
                Ok(out)
            }
            Form::Diag | Form::Spherical => match covariances.iter().all(|v| *v > 0.0 && v.is_finite()) {
                true => Ok(covariances.iter().map(|v| 1.0 / v.sqrt()).collect()),
                false => Err(broken()),
            },
        }
    }
}

/// Turns logarithms of joint densities into responsibilities, and gives the log-likelihood of the row.
fn responsibilities(logs: &mut [f64]) -> f64 {
    let best = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logs.iter().map(|l| (l - best).exp()).sum();
    let likelihood = best + sum.ln();
    logs.iter_mut().for_each(|l| *l = (*l - likelihood).exp());
    likelihood
}

impl Components {
    fn count(&self) -> usize {
        self.weights.data.len()
    }

    /// For some rows the logarithm of the joint density of each component, row after row.
    fn joint(&self, data: &Data, rows: std::ops::Range<usize>) -> Vec<f64> {
        let (count, width) = (self.count(), data.width());
        let mut out = vec![0.0; rows.len() * count];
        for k in 0..count {
            let centred = block(data, rows.clone(), self.means.row(k));
            let mut squares = vec![0.0; rows.len()];
            let mut add = |column: &[f64], factor: f64| {
                squares.iter_mut().zip(column).for_each(|(s, v)| *s += (v * factor) * (v * factor));
            };
            let factors = match self.form {
                Form::Full | Form::Diag => self.factors.row(k),
                Form::Tied => &self.factors.data[..],
                Form::Spherical => &self.factors.data[k..=k],
            };
            let log: f64 = match self.form {
                Form::Full | Form::Tied => {
                    // The rows of the inverse factor are the columns of the map.
                    let places = dense::multiply(&centred, &Matrix::new(width, width, factors.to_vec()));
                    (0..width).for_each(|j| add(places.column(j), 1.0));
                    factors.iter().step_by(width + 1).map(|v| v.ln()).sum()
                }
                Form::Diag | Form::Spherical => {
                    let factor = |j: usize| factors[if factors.len() == 1 { 0 } else { j }];
                    (0..width).for_each(|j| add(centred.column(j), factor(j)));
                    (0..width).map(|j| factor(j).ln()).sum()
                }
            };
            let offset = self.offsets.as_ref().map_or_else(|| self.weights.data[k].ln(), |offsets| offsets.data[k]);
            let constant = log - 0.5 * width as f64 * (2.0 * std::f64::consts::PI).ln() + offset;
            squares.iter().enumerate().for_each(|(i, s)| out[i * count + k] = constant - 0.5 * s);
        }
        out
    }
}

impl Model for GaussianMixture {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        let proba = |k: usize| Role::Feature(format!("proba_{k}"), Kind::Number);
        let density = Role::Feature("log_likelihood".to_string(), Kind::Number);
        std::iter::once(Role::Label).chain((0..self.components.count()).map(proba)).chain([density]).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let count = self.components.count();
        let starts: Vec<usize> = (0..data.rows).step_by(CHUNK).collect();
        let of = |start: usize| {
            let rows = start..data.rows.min(start + CHUNK);
            let mut out = vec![Vec::with_capacity(rows.len()); wanted.len()];
            for logs in self.components.joint(data, rows).chunks_exact_mut(count) {
                let best = (0..count).fold(0, |a, b| if logs[b] > logs[a] { b } else { a });
                let likelihood = responsibilities(logs);
                for (column, output) in out.iter_mut().zip(wanted) {
                    column.push(match *output {
                        0 => best as f64,
                        k if k <= count => logs[k - 1],
                        _ => likelihood,
                    });
                }
            }
            out
        };
        let chunks: Vec<Vec<Vec<f64>>> = starts.into_par_iter().map(of).collect();
        Ok((0..wanted.len()).map(|c| chunks.iter().flat_map(|chunk| chunk[c].iter().copied()).collect()).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        let count = self.components.count();
        let numbers = || Values::Ints((0..count as i64).collect());
        let strings = |times: usize| {
            let names = (0..times).flat_map(|_| features.iter().map(|f| f.name.clone()));
            ("feature".to_string(), Values::Strs(names.collect()))
        };
        match name {
            "weights" => {
                let weights = ("weight".to_string(), Values::Floats(self.components.weights.data.clone()));
                Some(Attribute::Frame(vec![("component".to_string(), numbers()), weights]))
            }
            "means" => Some(Attribute::by_row(Some(("component", numbers())), features, &self.components.means.data)),
            "covariances" => {
                let values = &self.components.covariances.data;
                let Attribute::Frame(mut columns) = Attribute::by_row(None, features, values) else { return None };
                let width = features.len() as i64;
                match self.components.form {
                    Form::Full => {
                        let numbers = (0..count as i64 * width).map(|i| i / width).collect();
                        columns.insert(0, ("component".to_string(), Values::Ints(numbers)));
                        columns.insert(1, strings(count));
                    }
                    Form::Tied => columns.insert(0, strings(1)),
                    Form::Diag => columns.insert(0, ("component".to_string(), numbers())),
                    Form::Spherical => {
                        let variances = ("variance".to_string(), Values::Floats(values.clone()));
                        columns = vec![("component".to_string(), numbers()), variances];
                    }
                }
                Some(Attribute::Frame(columns))
            }
            "lower_bound" => Some(Attribute::Float(self.lower_bound)),
            "n_iter" => Some(Attribute::Int(self.n_iter as i64)),
            "converged" => Some(Attribute::Int(i64::from(self.converged))),
            "aic" => Some(Attribute::Float(self.aic)),
            "bic" => Some(Attribute::Float(self.bic)),
            _ => None,
        }
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let points = self.lower_bounds.data.iter().enumerate().map(|(i, v)| (i as f64 + 1.0, *v));
        vec![("mean log-likelihood".to_string(), points.collect())]
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let Components { form, weights, means, covariances, factors, offsets } = &self.components;
        let count = weights.data.len();
        let shape = form.shape(count, features);
        let fits = count > 0 && features > 0 && means.shape == [count, features];
        let offsets = offsets.as_ref().is_none_or(|offsets| offsets.data.len() == count);
        if fits && offsets && covariances.shape == shape && factors.shape == shape {
            return Ok(());
        }
        let message = format!("covariances of the shape {:?}, expected {shape:?}", covariances.shape);
        Err(Error::new(ErrorKind::ModelFile, message))
    }

    fn bytes(&self) -> u64 {
        2 * self.components.covariances.bytes() + self.components.means.bytes()
    }
}
