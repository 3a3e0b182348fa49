//! Non-negative matrix factorization by coordinate descent (Cichocki and Phan 2009) from singular vectors (Boutsidis
//! and Gallopoulos 2008), as in `sklearn/decomposition/_nmf.py`.

use onrush_dense::{self as dense, Matrix};
use onrush_wire::learn::Param;
use serde::{Deserialize, Serialize};

use super::linear_map::row_major;
use super::randomized::{Singular, randomized_svd};
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::stored::StoredAttributes;
use crate::tensor::Tensor;

/// Values of the first matrices below it are 0.
const TINY: f64 = 1e-6;

/// Non-negative components.
#[derive(Serialize, Deserialize)]
pub struct Factorization {
    /// components x features.
    pub components: Tensor,
    /// The l1 and l2 penalties of the weights of a row, for each feature.
    pub penalties: (f64, f64),
    #[serde(with = "crate::tensor::scalar")]
    pub tol: f64,
    pub max_iter: usize,
    /// The seed of the order of the coordinates, if it is random.
    pub shuffle: Option<u32>,
    pub attributes: StoredAttributes,
    pub notes: Vec<String>,
}

/// Trains `NMF`: the model, and the weights of the training rows, rows x components.
///
/// # Errors
/// If a value is negative, or a parameter does not fit. If the user stops the work.
pub fn fit_transform(
    params: &params::NMF,
    data: &Data,
    run: &Run<'_>,
) -> Result<(Factorization, Vec<Vec<f64>>), Error> {
    let (n, d) = (data.rows, data.width());
    check_signs(data)?;
    let count = match (&params.n_components, params::count(&params.n_components)) {
        (Param::None, _) => d,
        (Param::Str(word), _) if word == "auto" => d,
        (_, Some(count)) if count > 0 => count,
        (other, _) => {
            let message = format!("`n_components` is {other}: \"auto\" or an integer from 1");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    let alpha_h = match (&params.alpha_h, params.alpha_h.as_f64()) {
        (Param::Str(word), _) if word == "same" => params.alpha_w,
        (_, Some(alpha)) if alpha >= 0.0 && alpha.is_finite() => alpha,
        (other, _) => {
            let message = format!("`alpha_H` is {other}: \"same\" or a number of at least 0");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    let seed = params::seed(params.random_state);
    let x = data.matrix();
    run.stage("first matrices");
    let (mut w, mut h) = first(params, &x, count, seed, run)?;
    let penalties = |alpha: f64, size: usize| {
        let all = alpha * size as f64;
        (all * params.l1_ratio, all * (1.0 - params.l1_ratio))
    };
    let mut random = Mt19937::new(seed);
    let turned = x.transposed();
    let (mut n_iter, mut first_violation, mut converged) = (0, 0.0, false);
    while n_iter < params.max_iter && !converged {
        run.check(|| format!("{n_iter} of at most {} iterations", params.max_iter))?;
        let shuffle = params.shuffle.then_some(&mut random);
        let mut violation = update(&x, &mut w, &h, penalties(params.alpha_w, d), shuffle);
        let shuffle = params.shuffle.then_some(&mut random);
        violation += update(&turned, &mut h, &w, penalties(alpha_h, n), shuffle);
        n_iter += 1;
        if n_iter == 1 {
            first_violation = violation;
        }
        converged = first_violation == 0.0 || violation / first_violation <= params.tol;
        run.stage(format!("iteration {n_iter}, violation {:.3e}", violation / first_violation));
        (run.steps)(n_iter as u64, params.max_iter as u64);
    }
    let rest = dense::multiply(&w, &h.transposed());
    let error = x.data.iter().zip(&rest.data).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt();
    let components = row_major(&h.transposed());
    let attributes = StoredAttributes::default()
        .by_row("components", "component", components.data.clone())
        .int("n_components", count)
        .float("reconstruction_err", error)
        .int("n_iter", n_iter);
    let mut notes = Vec::new();
    if n_iter == params.max_iter && params.tol > 0.0 {
        notes.push(format!("stopped after `max_iter` = {n_iter} iterations: raise `max_iter`"));
    }
    let penalties = penalties(params.alpha_w, d);
    let shuffle = params.shuffle.then_some(seed);
    let (tol, max_iter) = (params.tol, params.max_iter);
    let model = Factorization { components, penalties, tol, max_iter, shuffle, attributes, notes };
    Ok((model, (0..count).map(|k| w.column(k).to_vec()).collect()))
}

/// Checks that no value is negative.
fn check_signs(data: &Data) -> Result<(), Error> {
    for column in &data.features {
        if let Some(value) = column.values.iter().find(|v| **v < 0.0) {
            let message = format!("`{}` has the value {value}, and NMF takes values of at least 0", column.name);
            return Err(
                Error::new(ErrorKind::Range, message).help("scale the features first, for example with MinMaxScaler")
            );
        }
    }
    Ok(())
}

/// The first weights (rows x components) and the first components (features x components).
fn first(params: &params::NMF, x: &Matrix, count: usize, seed: u32, run: &Run<'_>) -> Result<(Matrix, Matrix), Error> {
    let (n, d) = (x.rows, x.columns);
    let least = n.min(d);
    let init = match params.init.as_deref() {
        None if count <= least => "nndsvda",
        None => "random",
        Some(word) if word != "random" && count > least => {
            let message =
                format!("`init` is {word:?}, and `n_components` is {count}: at most {least}, or `init` \"random\"");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
        Some(word) => word,
    };
    let mean = x.data.iter().sum::<f64>() / x.data.len() as f64;
    let mut random = Mt19937::new(seed);
    let mut drawn = |rows: usize, columns: usize, factor: f64| {
        Matrix::new(columns, rows, (0..rows * columns).map(|_| (factor * random.normal()).abs()).collect())
    };
    if init == "random" {
        let scale = (mean / count as f64).sqrt();
        // Components come first, row after row.
        let h = drawn(count, d, scale);
        return Ok((drawn(n, count, scale).transposed(), h));
    }
    let Singular { u, values, v } = randomized_svd(x, count, None, &mut Mt19937::new(seed), run)?;
    let (mut w, mut h) = (Matrix::zeros(n, count), Matrix::zeros(d, count));
    for (k, value) in values.iter().enumerate() {
        let (x, y) = (u.column(k), v.column(k));
        let part = |values: &[f64], sign: f64| values.iter().map(|v| (sign * v).max(0.0)).collect::<Vec<f64>>();
        let length = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>().sqrt();
        let (left, right) = match k {
            0 => (x.iter().map(|v| v.abs()).collect(), y.iter().map(|v| v.abs()).collect()),
            _ => {
                let (plus, minus) = ((part(x, 1.0), part(y, 1.0)), (part(x, -1.0), part(y, -1.0)));
                let of = |pair: &(Vec<f64>, Vec<f64>)| length(&pair.0) * length(&pair.1);
                if of(&plus) > of(&minus) { plus } else { minus }
            }
        };
        let (a, b) = if k == 0 { (1.0, 1.0) } else { (length(&left), length(&right)) };
        let scale = (value * a * b).sqrt();
        let keep = |v: f64| if v < TINY { 0.0 } else { v };
        w.column_mut(k).iter_mut().zip(&left).for_each(|(w, v)| *w = keep(scale * v / a));
        h.column_mut(k).iter_mut().zip(&right).for_each(|(h, v)| *h = keep(scale * v / b));
    }
    match init {
        "nndsvda" => w.data.iter_mut().chain(&mut h.data).filter(|v| **v == 0.0).for_each(|v| *v = mean),
        "nndsvdar" => {
            let mut random = Mt19937::new(seed);
            let mut fill = |v: &mut f64| {
                if *v == 0.0 {
                    *v = (mean * random.normal() / 100.0).abs();
                }
            };
            // Row after row, and component after component.
            (0..n).for_each(|i| (0..count).for_each(|k| fill(&mut w.data[k * n + i])));
            h.data.iter_mut().for_each(fill);
        }
        _ => {}
    }
    Ok((w, h))
}

/// A pass over the weights `w` (rows x components) of `x` (rows x columns), where `h` (columns x components) stays.
/// Gives the sum of the projected gradients.
fn update(x: &Matrix, w: &mut Matrix, h: &Matrix, (l1, l2): (f64, f64), shuffle: Option<&mut Mt19937>) -> f64 {
    let count = w.columns;
    let mut gram = dense::transpose_multiply(h, h);
    let products = dense::multiply(x, h);
    for k in 0..count {
        gram.set(k, k, gram.at(k, k) + l2);
    }
    let order = match shuffle {
        Some(random) => random.permutation(count),
        None => (0..count).collect(),
    };
    let mut violation = 0.0;
    for k in order {
        let mut gradient: Vec<f64> = products.column(k).iter().map(|v| l1 - v).collect();
        for other in 0..count {
            let factor = gram.at(k, other);
            gradient.iter_mut().zip(w.column(other)).for_each(|(g, w)| *g += factor * w);
        }
        let curvature = gram.at(k, k);
        for (w, gradient) in w.column_mut(k).iter_mut().zip(gradient) {
            violation += if *w == 0.0 { gradient.min(0.0).abs() } else { gradient.abs() };
            if curvature != 0.0 {
                *w = (*w - gradient / curvature).max(0.0);
            }
        }
    }
    violation
}

impl Model for Factorization {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        (0..self.components.shape[0]).map(|k| Role::Feature(format!("nmf{k}"), Kind::Number)).collect()
    }

    /// The weights of the rows depend on each other, because the iteration ends for all of them at once.
    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        check_signs(data)?;
        let (x, shape) = (data.matrix(), &self.components.shape);
        let h = Matrix::new(shape[1], shape[0], self.components.data.clone());
        let mut w = Matrix::zeros(data.rows, shape[0]);
        let mut first = 0.0;
        let mut random = self.shuffle.map(Mt19937::new);
        for iteration in 0..self.max_iter {
            let violation = update(&x, &mut w, &h, self.penalties, random.as_mut());
            if iteration == 0 {
                first = violation;
            }
            if first == 0.0 || violation / first <= self.tol {
                break;
            }
        }
        Ok(wanted.iter().map(|k| w.column(*k).to_vec()).collect())
    }

    fn inverse(&self, data: &Data, features: &[Field]) -> Result<Option<Vec<Column>>, Error> {
        let column = |(j, field): (usize, &Field)| {
            let mut values = vec![0.0; data.rows];
            for (k, weights) in data.features.iter().enumerate() {
                let factor = self.components.row(k)[j];
                values.iter_mut().zip(&weights.values).for_each(|(sum, w)| *sum += w * factor);
            }
            Column::number(field.name.as_str(), values)
        };
        Ok(Some(features.iter().enumerate().map(column).collect()))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        self.attributes.get(name, features)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let shape = &self.components.shape;
        if shape.len() != 2 || shape[1] != features || features == 0 {
            let message = format!("components of the shape {shape:?} for {features} features");
            return Err(Error::new(ErrorKind::ModelFile, message));
        }
        self.attributes.check(features)
    }

    fn bytes(&self) -> u64 {
        self.components.bytes()
    }
}
