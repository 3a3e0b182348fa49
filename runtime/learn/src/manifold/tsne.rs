//! t-distributed stochastic neighbour embedding (van der Maaten and Hinton, JMLR 2008), with the schedule of
//! `sklearn/manifold/_t_sne.py`.

use onrush_wire::learn::{Detail, Param};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::affinities::Affinities;
use super::quadtree::{Quadtree, kernel};
use crate::data::Data;
use crate::decomposition::pca;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::neighbors::search::Metric;
use crate::params;
use crate::random::{Mt19937, Philox};
use crate::run::Run;
use crate::tensor::Tensor;

/// Below this number of rows all pairs are computed, and the best of several starts is kept.
const EXACT: usize = 500;

/// Starts of few rows. Their minima differ by a few percent.
const STARTS: u32 = 4;

/// How far the places of the starts differ, relative to their size.
const JITTER: f64 = 1e-7;

/// Rows of the method `exact` at most: all pairs of probabilities are held, 12 bytes each.
const MOST_EXACT: usize = 1 << 13;

/// Iterations of the early exaggeration.
const EXPLORATION: usize = 250;

/// Iterations after which the divergence is computed.
const CHECK: usize = 50;

/// Rows of a chunk of one thread.
const CHUNK: usize = 256;

/// The standard deviation of the first component at the start.
const SPREAD: f64 = 1e-4;

/// The places of the rows of a training.
#[derive(Serialize, Deserialize)]
pub struct Tsne {
    /// rows x components.
    pub embedding: Tensor,
    #[serde(with = "crate::tensor::scalar")]
    pub kl_divergence: f64,
    pub n_iter: u64,
    /// Iterations and divergences after the early exaggeration.
    pub curve: Vec<(f64, f64)>,
    pub notes: Vec<String>,
}

/// Trains `TSNE`.
///
/// # Errors
/// If a parameter does not fit the data. If the user stops the work: an embedding has no meaning before its end.
pub fn fit(params: &params::TSNE, data: &Data, run: &Run<'_>) -> Result<Tsne, Error> {
    // On a thread of the pool: outside of it, each of the many short passes would wake one up.
    rayon::scope(|_| match params.n_components {
        1 => embed::<1>(params, data, run),
        2 => embed::<2>(params, data, run),
        3 => embed::<3>(params, data, run),
        other => Err(Error::new(ErrorKind::Parameter, format!("`n_components` is {other}: 1, 2 or 3"))),
    })
}

fn embed<const D: usize>(params: &params::TSNE, data: &Data, run: &Run<'_>) -> Result<Tsne, Error> {
    let rows = data.rows;
    let is_exact = params.method == "exact";
    if rows < 2 || params.perplexity >= rows as f64 {
        let message =
            format!("`perplexity` is {}, and there are {rows} rows: it must be below the rows", params.perplexity);
        return Err(Error::new(ErrorKind::Parameter, message).help("set `perplexity` to about a third of the rows"));
    }
    if rows >= u32::MAX as usize || is_exact && rows > MOST_EXACT {
        let message = format!("{rows} rows: the method `{}` takes fewer rows", params.method);
        return Err(Error::new(ErrorKind::Size, message).help("set `method` to \"barnes_hut\", or take a sample"));
    }
    let learning_rate = match (&params.learning_rate, params.learning_rate.as_f64()) {
        (Param::Str(word), _) if word == "auto" => (rows as f64 / params.early_exaggeration / 4.0).max(50.0),
        (_, Some(rate)) if rate > 0.0 && rate.is_finite() => rate,
        (other, _) => {
            let message = format!("`learning_rate` is {other}: \"auto\" or a number above 0");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    let places = start::<D>(params, data, run)?;
    let count = if is_exact { rows - 1 } else { (rows - 1).min((3.0 * params.perplexity + 1.0) as usize) };
    let affinities = Affinities::new(data, Metric::of(&params.metric, 2.0), params.perplexity, count, run)?;
    let is_small = rows < EXACT;
    let mut best: Option<Tsne> = None;
    for number in 0..if is_small { STARTS } else { 1 } {
        let mut descent = Descent {
            affinities: &affinities,
            angle: if is_exact || is_small { 0.0 } else { params.angle },
            learning_rate,
            max_iter: params.max_iter,
            min_grad_norm: params.min_grad_norm,
            places: jittered(&places, number, params::seed(params.random_state)),
            curve: Vec::new(),
        };
        let exploration = Phase { momentum: 0.5, exaggeration: params.early_exaggeration, patience: EXPLORATION };
        let (mut last, mut divergence) = descent.run(&exploration, 0, EXPLORATION.min(descent.max_iter), run)?;
        if last + 1 < descent.max_iter {
            let rest = Phase { momentum: 0.8, exaggeration: 1.0, patience: params.n_iter_without_progress };
            (last, divergence) = descent.run(&rest, last + 1, descent.max_iter, run)?;
        }
        if best.as_ref().is_none_or(|best| divergence < best.kl_divergence) {
            best = Some(descent.finished(last, divergence));
        }
    }
    let best = best.ok_or_else(|| Error::new(ErrorKind::NoRows, "TSNE got no rows"))?;
    if best.embedding.data.iter().any(|place| !place.is_finite()) {
        let message = "the embedding is not finite: the steps are too large";
        return Err(Error::new(ErrorKind::Overflow, message).help("set `learning_rate` to a smaller number"));
    }
    Ok(best)
}

/// The first places for a start. All but the first start move them by a trifle, which leads to other minima.
fn jittered<const D: usize>(places: &[[f64; D]], number: u32, seed: u32) -> Vec<[f64; D]> {
    let random = Philox::new(seed, number);
    let moved = |(row, place): (usize, &[f64; D])| {
        let factor = |d: usize| 1.0 + JITTER * (random.uniform(d as u64, row as u64) - 0.5);
        if number == 0 { *place } else { std::array::from_fn(|d| place[d] * factor(d)) }
    };
    places.iter().enumerate().map(moved).collect()
}

/// The first places of the rows.
fn start<const D: usize>(params: &params::TSNE, data: &Data, run: &Run<'_>) -> Result<Vec<[f64; D]>, Error> {
    let rows = data.rows;
    match &params.init {
        Param::Str(word) if word == "random" => {
            let mut random = Mt19937::new(params::seed(params.random_state));
            Ok((0..rows).map(|_| std::array::from_fn(|_| SPREAD * random.normal())).collect())
        }
        Param::Str(word) if word == "pca" => {
            if data.width().min(rows) < D {
                let message =
                    format!("`init` is \"pca\", and {} features have fewer than {D} components", data.width());
                return Err(Error::new(ErrorKind::Parameter, message).help("set `init` to \"random\""));
            }
            let wanted = params::PCA {
                n_components: Param::from(D),
                random_state: params.random_state,
                ..params::PCA::default()
            };
            let columns = pca::fit(&wanted, data, run)?.apply(data, &(0..D).collect::<Vec<usize>>())?;
            let mean = columns[0].iter().sum::<f64>() / rows as f64;
            let variance = columns[0].iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / rows as f64;
            let scale = if variance > 0.0 { SPREAD / variance.sqrt() } else { 0.0 };
            Ok((0..rows).map(|row| std::array::from_fn(|d| columns[d][row] * scale)).collect())
        }
        Param::List(_) => {
            let values = params::floats(&params.init).unwrap_or_default();
            if values.len() != rows * D || values.iter().any(|v| !v.is_finite()) {
                let message = format!(
                    "`init` has {} numbers: expected {}, the places of the rows one after the other",
                    values.len(),
                    rows * D
                );
                return Err(Error::new(ErrorKind::Parameter, message));
            }
            Ok(values.as_chunks::<D>().0.to_vec())
        }
        other => {
            let message = format!("`init` is {other}: \"pca\", \"random\" or a list of places");
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

/// A part of the schedule.
struct Phase {
    momentum: f64,
    /// The factor of the probabilities.
    exaggeration: f64,
    /// Iterations without a smaller divergence after which it ends.
    patience: usize,
}

/// The gradient descent.
struct Descent<'a, const D: usize> {
    affinities: &'a Affinities,
    angle: f64,
    learning_rate: f64,
    max_iter: usize,
    min_grad_norm: f64,
    places: Vec<[f64; D]>,
    curve: Vec<(f64, f64)>,
}

impl<const D: usize> Descent<'_, D> {
    /// The result of the last iteration.
    fn finished(self, last: usize, divergence: f64) -> Tsne {
        let note = if last + 1 < self.max_iter { "converged" } else { "stopped" };
        Tsne {
            embedding: Tensor::new(vec![self.places.len(), D], self.places.iter().flatten().copied().collect()),
            kl_divergence: divergence,
            n_iter: last as u64,
            curve: self.curve,
            notes: vec![format!("{note} after {} iterations with the KL divergence {divergence:.4}", last + 1)],
        }
    }

    /// Runs the iterations from `first` to `end`: the number of the last one and its divergence.
    fn run(&mut self, phase: &Phase, first: usize, end: usize, run: &Run<'_>) -> Result<(usize, f64), Error> {
        let rows = self.places.len();
        let (mut update, mut gains) = (vec![[0.0f64; D]; rows], vec![[1.0f64; D]; rows]);
        let (mut error, mut best, mut best_iter, mut last) = (f64::MAX, f64::MAX, first, first);
        for iteration in first..end {
            run.check(|| format!("{iteration} of at most {} iterations", self.max_iter))?;
            (run.steps)(iteration as u64, self.max_iter as u64);
            last = iteration;
            let checks = (iteration + 1).is_multiple_of(CHECK);
            let (mut gradient, divergence) = self.gradient(phase.exaggeration, checks || iteration + 1 == end);
            let moves = self.places.iter_mut().flatten().zip(update.iter_mut().flatten());
            let slopes = gradient.iter_mut().flatten().zip(gains.iter_mut().flatten());
            for ((place, update), (slope, gain)) in moves.zip(slopes) {
                *gain = if *update * *slope < 0.0 { *gain + 0.2 } else { *gain * 0.8 };
                *gain = gain.max(0.01);
                *slope *= *gain;
                *update = phase.momentum * *update - self.learning_rate * *slope;
                *place += *update;
            }
            let Some(divergence) = divergence else { continue };
            error = divergence;
            if !checks {
                continue;
            }
            self.show(phase, iteration + 1, error, run);
            let norm = gradient.iter().flatten().map(|g| g * g).sum::<f64>().sqrt();
            if error < best {
                (best, best_iter) = (error, iteration);
            } else if iteration - best_iter > phase.patience {
                break;
            }
            if norm <= self.min_grad_norm {
                break;
            }
        }
        Ok((last, error))
    }

    fn show(&mut self, phase: &Phase, iteration: usize, divergence: f64, run: &Run<'_>) {
        if phase.exaggeration != 1.0 {
            return run.stage(format!("early exaggeration, iteration {iteration} of {}", self.max_iter));
        }
        run.stage(format!("iteration {iteration} of {}, KL divergence {divergence:.4}", self.max_iter));
        self.curve.push((iteration as f64, divergence));
        (run.detail)(Detail::Curves(vec![("KL divergence".to_string(), self.curve.clone())]));
    }

    /// The gradient of the divergence, and the divergence itself if it is wanted.
    fn gradient(&self, exaggeration: f64, with_divergence: bool) -> (Vec<[f64; D]>, Option<f64>) {
        let degrees = D.saturating_sub(1).max(1) as f64;
        let factor = 2.0 * (degrees + 1.0) / degrees;
        let repulsion = Quadtree::new(&self.places).repulsion(self.angle);
        let sum = repulsion.sum;
        let mut gradient = repulsion.forces;
        let parts: Vec<f64> = gradient
            .par_chunks_mut(CHUNK)
            .enumerate()
            .map(|(chunk, forces)| {
                let mut divergence = 0.0;
                for (row, force) in (chunk * CHUNK..).zip(forces) {
                    let place = self.places[row];
                    let mut pull = [0.0; D];
                    for (other, value) in self.affinities.row(row) {
                        let off: [f64; D] = std::array::from_fn(|d| place[d] - self.places[other][d]);
                        let weight = kernel::<D>(off.iter().map(|v| v * v).sum());
                        let p = value * exaggeration;
                        pull.iter_mut().zip(off).for_each(|(pull, off)| *pull += p * weight * off);
                        if with_divergence {
                            divergence += p * (p.max(SMALLEST) / (weight / sum).max(SMALLEST)).ln();
                        }
                    }
                    force.iter_mut().zip(pull).for_each(|(force, pull)| *force = factor * (pull - *force / sum));
                }
                divergence
            })
            .collect();
        (gradient, with_divergence.then(|| parts.iter().sum()))
    }
}

/// Probabilities count as at least this number: the smallest normal `float` of C.
const SMALLEST: f64 = f32::MIN_POSITIVE as f64;

impl Model for Tsne {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        Vec::new()
    }

    fn apply(&self, _: &Data, _: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(Vec::new())
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "embedding" => {
                let columns = self.embedding()?.into_iter().map(|(name, values)| (name, Values::Floats(values)));
                Some(Attribute::Frame(columns.collect()))
            }
            "kl_divergence" => Some(Attribute::Float(self.kl_divergence)),
            "n_iter" => Some(Attribute::Int(self.n_iter as i64)),
            _ => None,
        }
    }

    fn embedding(&self) -> Option<Vec<(String, Vec<f64>)>> {
        let width = self.embedding.shape.get(1).copied()?;
        let column = |c: usize| self.embedding.data.iter().skip(c).step_by(width).copied().collect();
        Some((0..width).map(|c| (format!("tsne{c}"), column(c))).collect())
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        vec![("KL divergence".to_string(), self.curve.clone())]
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, _: usize, _: usize) -> Result<(), Error> {
        let shape = &self.embedding.shape;
        if shape.len() == 2 && (1..=3).contains(&shape[1]) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::ModelFile, format!("an embedding of the shape {shape:?}")))
    }

    fn bytes(&self) -> u64 {
        self.embedding.bytes()
    }
}
