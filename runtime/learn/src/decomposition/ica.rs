//! Independent components by a fixed-point iteration (Hyvärinen and Oja, Neural Networks 2000), as in
//! `sklearn/decomposition/_fastica.py`.

use onrush_dense::{self as dense, Matrix};
use onrush_wire::learn::Param;
use rayon::prelude::*;

use super::linear_map::{LinearMap, pseudo_inverse, row_major};
use super::pca::centred;
use crate::data::Data;
use crate::elementary::{exp, tanh};
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::stored::StoredAttributes;
use crate::sums::{CHUNK, dot};

/// The contrast function: its derivative, and the derivative of that.
#[derive(Clone, Copy)]
enum Contrast {
    LogCosh,
    Exp,
    Cube,
}

impl Contrast {
    fn of(word: &str) -> Self {
        match word {
            "exp" => Contrast::Exp,
            "cube" => Contrast::Cube,
            _ => Contrast::LogCosh,
        }
    }

    /// Puts the derivative in the place of each value. Returns the sum of the second derivatives, the same bits on any
    /// number of threads.
    fn apply(self, values: &mut [f64]) -> f64 {
        let sums: Vec<f64> = values.par_chunks_mut(CHUNK).map(|chunk| self.apply_to_chunk(chunk)).collect();
        sums.iter().sum()
    }

    fn apply_to_chunk(self, chunk: &mut [f64]) -> f64 {
        match self {
            Contrast::LogCosh => {
                chunk.iter_mut().for_each(|x| *x = tanh(*x));
                chunk.len() as f64 - dot(chunk, chunk)
            }
            Contrast::Exp => {
                let mut weights: Vec<f64> = chunk.iter().map(|x| exp(-x * x / 2.0)).collect();
                let sum: f64 = weights.iter().sum();
                weights.iter_mut().zip(&*chunk).for_each(|(weight, x)| *weight *= x);
                let slope = sum - dot(&weights, chunk);
                chunk.copy_from_slice(&weights);
                slope
            }
            Contrast::Cube => {
                let slope = 3.0 * dot(chunk, chunk);
                chunk.iter_mut().for_each(|x| *x = *x * *x * *x);
                slope
            }
        }
    }
}

fn broken() -> Error {
    Error::new(ErrorKind::NoConvergence, "a decomposition does not converge: the values are too different in size")
        .help("scale the features first, for example with StandardScaler")
}

/// Trains `FastICA`.
///
/// # Errors
/// If `whiten` or `w_init` do not fit, or a feature is a sum of others. If the user stops the work.
pub fn fit(params: &params::FastICA, data: &Data, run: &Run<'_>) -> Result<LinearMap, Error> {
    let (n, d) = (data.rows, data.width());
    if n < 2 {
        return Err(Error::new(ErrorKind::NoRows, "FastICA got 1 row: at least 2 rows have a variance"));
    }
    let whiten = match &params.whiten {
        Param::Str(word) if word == "unit-variance" => Some(true),
        Param::Str(word) if word == "arbitrary-variance" => Some(false),
        Param::Bool(false) => None,
        other => {
            let message = format!("`whiten` is {other}: \"unit-variance\", \"arbitrary-variance\" or false");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    let least = n.min(d);
    let mut notes = Vec::new();
    let count = match (params.n_components, whiten) {
        (Some(count), Some(_)) if count > least => {
            notes.push(format!("`n_components` is {least}, the smaller of {n} rows and {d} features"));
            least
        }
        (Some(count), Some(_)) => count,
        _ => least,
    };
    let mean = if whiten.is_some() { data.means() } else { vec![0.0; d] };
    let rows = centred(data, 0..n, &mean);
    run.stage("whitening");
    let whitening = whiten.map(|_| whitening(&rows, count, params.whiten_solver == "eigh")).transpose()?;
    // rows x components.
    let white = match &whitening {
        Some(map) => {
            let mut white = dense::multiply(&rows, &map.transposed());
            white.data.iter_mut().for_each(|v| *v *= (n as f64).sqrt());
            white
        }
        None => rows.clone(),
    };
    let start = start(params, count)?;
    let contrast = Contrast::of(&params.fun);
    let (mut unmixing, n_iter, converged) = match params.algorithm.as_str() {
        "deflation" => deflation(&white, &start, contrast, params, run)?,
        _ => parallel(&white, start, contrast, params, run)?,
    };
    if !converged {
        notes.push(format!("stopped after `max_iter` = {n_iter} iterations: raise `max_iter` or `tol`"));
    }
    let map = |unmixing: &Matrix| match &whitening {
        Some(whitening) => dense::multiply(unmixing, whitening),
        None => unmixing.clone(),
    };
    if whiten == Some(true) {
        let sources = dense::multiply(&rows, &map(&unmixing).transposed());
        for k in 0..count {
            let column = sources.column(k);
            let mean = crate::sums::mean(column, None);
            let deviation = (column.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n as f64).sqrt();
            (0..count).for_each(|j| unmixing.set(k, j, unmixing.at(k, j) / deviation));
        }
    }
    let components = map(&unmixing);
    if components.data.iter().any(|v| !v.is_finite()) {
        let message = "the components are not finite numbers: some features may be sums of others";
        return Err(Error::new(ErrorKind::Numeric, message).help("set `n_components` to a smaller number"));
    }
    let mixing = pseudo_inverse(&components)?;
    let mut attributes = StoredAttributes::default()
        .by_row("components", "component", row_major(&components).data)
        .columns("mixing", (0..count).map(|k| format!("fastica{k}")).collect(), row_major(&mixing).data)
        .int("n_iter", n_iter);
    if let Some(whitening) = &whitening {
        attributes = attributes.by_feature("mean", "mean", mean.clone()).by_row(
            "whitening",
            "component",
            row_major(whitening).data,
        );
    }
    let back = Some(row_major(&mixing.transposed()));
    Ok(LinearMap { back, notes, ..LinearMap::new("fastica", row_major(&components), mean, attributes) })
}

/// The map that makes the features uncorrelated, with the variance 1 / rows: components x features.
fn whitening(rows: &Matrix, count: usize, by_eigenvalues: bool) -> Result<Matrix, Error> {
    let (values, vectors) = match by_eigenvalues {
        true => {
            let (values, vectors) = dense::eigh(&dense::transpose_multiply(rows, rows)).ok_or_else(broken)?;
            let order = (0..values.len()).rev().take(count);
            let columns: Vec<f64> = order.clone().flat_map(|k| vectors.column(k).to_vec()).collect();
            let roots = order.map(|k| values[k].max(10.0 * f64::EPSILON).sqrt()).collect::<Vec<f64>>();
            (roots, Matrix::new(vectors.rows, count, columns))
        }
        false => {
            let (_, values, vectors) = dense::svd(rows).ok_or_else(broken)?;
            (values, vectors)
        }
    };
    let mut out = Matrix::zeros(count, vectors.rows);
    for (k, value) in values.iter().enumerate().take(count) {
        let vector = vectors.column(k);
        let sign = if vector[0] < 0.0 { -1.0 } else { 1.0 };
        vector.iter().enumerate().for_each(|(j, v)| out.set(k, j, sign * v / value));
    }
    Ok(out)
}

/// The first unmixing matrix.
fn start(params: &params::FastICA, count: usize) -> Result<Matrix, Error> {
    let mut random = Mt19937::new(params::seed(params.random_state));
    let values: Vec<f64> = match &params.w_init {
        Some(given) if given.len() != count * count || given.iter().any(|v| !v.is_finite()) => {
            let message = format!("`w_init` has {} numbers: expected {count} x {count}", given.len());
            return Err(Error::new(ErrorKind::Parameter, message));
        }
        Some(given) => given.to_vec(),
        None => (0..count * count).map(|_| random.normal()).collect(),
    };
    Ok(Matrix::new(count, count, values).transposed())
}

/// `(W W')^(-1/2) W`.
fn decorrelated(w: &Matrix) -> Result<Matrix, Error> {
    let (values, vectors) = dense::eigh(&dense::multiply(w, &w.transposed())).ok_or_else(broken)?;
    let mut scaled = vectors.clone();
    for (k, value) in values.iter().enumerate() {
        let root = value.max(f64::MIN_POSITIVE).sqrt();
        scaled.column_mut(k).iter_mut().for_each(|v| *v /= root);
    }
    Ok(dense::multiply(&dense::multiply(&scaled, &vectors.transposed()), w))
}

type Unmixing = (Matrix, usize, bool);

/// All components at once.
fn parallel(
    white: &Matrix,
    start: Matrix,
    contrast: Contrast,
    params: &params::FastICA,
    run: &Run<'_>,
) -> Result<Unmixing, Error> {
    let (n, count) = (white.rows as f64, white.columns);
    let mut w = decorrelated(&start)?;
    for iteration in 0..params.max_iter {
        run.check(|| format!("{iteration} of at most {} iterations", params.max_iter))?;
        run.stage(format!("iteration {}", iteration + 1));
        let mut sources = dense::multiply(white, &w.transposed());
        let mut slopes = vec![0.0; count];
        for (k, slope) in slopes.iter_mut().enumerate() {
            *slope = contrast.apply(sources.column_mut(k)) / n;
        }
        let mut next = dense::transpose_multiply(&sources, white);
        for j in 0..count {
            for (k, slope) in slopes.iter().enumerate() {
                next.set(k, j, next.at(k, j) / n - slope * w.at(k, j));
            }
        }
        let next = decorrelated(&next)?;
        let turn = |k: usize| (0..count).map(|j| next.at(k, j) * w.at(k, j)).sum::<f64>();
        let moved = (0..count).map(|k| (turn(k).abs() - 1.0).abs()).fold(0.0, f64::max);
        w = next;
        if moved < params.tol {
            return Ok((w, iteration + 1, true));
        }
    }
    Ok((w, params.max_iter, false))
}

/// One component after the other.
fn deflation(
    white: &Matrix,
    start: &Matrix,
    contrast: Contrast,
    params: &params::FastICA,
    run: &Run<'_>,
) -> Result<Unmixing, Error> {
    let (n, count) = (white.rows, white.columns);
    let mut found: Vec<Vec<f64>> = Vec::new();
    let (mut most, mut converged) = (0, true);
    let unit = |mut w: Vec<f64>| {
        let length = dot(&w, &w).sqrt();
        w.iter_mut().for_each(|v| *v /= length);
        w
    };
    for k in 0..count {
        let mut w = unit((0..count).map(|j| start.at(k, j)).collect());
        let (mut iterations, mut rests) = (0, false);
        while iterations < params.max_iter && !rests {
            run.check(|| format!("{k} of {count} components"))?;
            let mut source = vec![0.0; n];
            for (j, w) in w.iter().enumerate() {
                source.iter_mut().zip(white.column(j)).for_each(|(s, x)| *s += w * x);
            }
            let slope = contrast.apply(&mut source) / n as f64;
            let mut next: Vec<f64> =
                w.iter().enumerate().map(|(j, w)| dot(white.column(j), &source) / n as f64 - slope * w).collect();
            let parts: Vec<f64> = found.iter().map(|other| dot(&next, other)).collect();
            for (part, other) in parts.iter().zip(&found) {
                next.iter_mut().zip(other).for_each(|(v, o)| *v -= part * o);
            }
            let next = unit(next);
            rests = (dot(&next, &w).abs() - 1.0).abs() < params.tol;
            w = next;
            iterations += 1;
        }
        most = most.max(iterations);
        converged &= rests;
        found.push(w);
    }
    Ok((Matrix::new(count, count, found.concat()).transposed(), most, converged))
}
