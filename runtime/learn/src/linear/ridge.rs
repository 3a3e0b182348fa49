//! Ridge regression.

use onrush_dense as dense;
use onrush_dense::Matrix;

use super::design::{Design, Gram, add, divide_by_norms, intercept, substitute};
use super::least_squares::{self, WIDE, decomposed, residuals, spread, stacked, triangle};
use super::{Linear, finite, nnls, sparse};
use crate::data::Data;
use crate::error::Error;
use crate::params;
use crate::run::Run;
use crate::sums::dot;
use crate::tensor::Tensor;

/// Trains `Ridge`.
pub fn fit(params: &params::Ridge, data: &Data, run: &Run<'_>) -> Result<Linear, Error> {
    let (alpha, centre) = (finite("alpha", params.alpha)?, params.fit_intercept);
    let positive = params.positive;
    if data.sparse.is_some() {
        if alpha == 0.0 || positive {
            return fit(params, &data.to_dense("Ridge with `alpha` = 0 or `positive`")?, run);
        }
        let (coef, intercept, notes) = sparse::ridge(data, alpha, centre, run)?;
        return Ok(Linear { coef: Tensor::vector(coef), intercept, notes, ..Linear::default() });
    }
    if alpha == 0.0 && !positive {
        let least = least_squares::fit(&params::LinearRegression { fit_intercept: centre, positive }, data, run)?;
        return Ok(Linear { rank: None, singular: None, summary: None, ..least });
    }
    let design = Design::of(data, centre)?;
    let active: Vec<usize> = (0..data.width()).filter(|j| !design.constant[*j]).collect();
    let inner = design.with(&[active.as_slice(), &[data.width()]].concat());
    if positive {
        return nnls::fit(&inner, &active, data.width(), centre, alpha, run);
    }
    let gram = gram(&inner, centre, run)?;
    let (coef, intercept) = solve(&inner, gram.as_ref(), &active, data.width(), alpha, centre, run)?;
    Ok(Linear { coef: Tensor::vector(coef), intercept, ..Linear::default() })
}

/// The Gram matrix, which serves all penalties. `None` if there are more columns than rows, more than [`WIDE`] of them,
/// or none that vary.
pub fn gram(design: &Design<'_>, centre: bool, run: &Run<'_>) -> Result<Option<Gram>, Error> {
    let d = design.columns.len() - 1;
    if d == 0 || d > design.rows || d > WIDE {
        return Ok(None);
    }
    run.stage("products of columns");
    Ok(Some(Gram::new(&design.products(run)?, &design.mean, &design.scale, centre)))
}

/// Coefficients in units of the data for all `width` features, of which `design` has those at the positions `active`;
/// and the intercept.
pub fn solve(
    design: &Design<'_>,
    gram: Option<&Gram>,
    active: &[usize],
    width: usize,
    alpha: f64,
    centre: bool,
    run: &Run<'_>,
) -> Result<(Vec<f64>, f64), Error> {
    let d = active.len();
    if d == 0 {
        return Ok((vec![0.0; width], if centre { design.mean[0] } else { 0.0 }));
    }
    if d > design.rows {
        return dual(design, active, width, alpha, centre, run);
    }
    run.stage("solve");
    let penalty: Vec<f64> = (0..d).map(|j| alpha * design.scale[j] * design.scale[j]).collect();
    let coef = match gram.and_then(|gram| by_gram(gram, &penalty)) {
        Some((coef, false, _)) => coef,
        Some((mut coef, true, step)) => {
            // One pass that refines the solution with residuals from the data.
            let (mut gradient, _) = residuals(design, &coef, centre, run)?;
            (0..d).for_each(|j| gradient[j] -= penalty[j] * coef[j]);
            add(&mut coef, &step(&gradient));
            coef
        }
        None => by_triangle(design, &penalty, run)?,
    };
    let coef = spread(&coef, design, active, width);
    let inner: Vec<f64> = active.iter().map(|j| coef[*j]).collect();
    let mean = gram.map_or(&design.mean, |gram| &gram.mean);
    Ok((coef, if centre { intercept(mean, &inner) } else { 0.0 }))
}

/// The solution by Cholesky's decomposition, whether it needs refinement, and how another right side is solved. `None`
/// if the matrix is too close to singular.
fn by_gram(gram: &Gram, penalty: &[f64]) -> Option<(Vec<f64>, bool, impl Fn(&[f64]) -> Vec<f64>)> {
    let d = penalty.len();
    let norm: Vec<f64> = (0..d).map(|j| (gram.g.at(j, j) + penalty[j]).sqrt()).collect();
    if norm.iter().any(|n| !(*n > 0.0 && n.is_finite())) {
        return None;
    }
    let mut scaled = gram.g.clone();
    divide_by_norms(&mut scaled, &norm);
    (0..d).for_each(|j| scaled.set(j, j, 1.0));
    let factor = dense::cholesky(&scaled)?;
    // A pivot is the share of a column that the columns before it do not explain.
    let least = (0..d).map(|j| factor.at(j, j) * factor.at(j, j)).fold(1.0, f64::min);
    if least <= 1e-10 {
        return None;
    }
    let step = move |q: &[f64]| -> Vec<f64> {
        let mut x: Vec<f64> = q.iter().zip(&norm).map(|(q, n)| q / n).collect();
        substitute(&factor, &mut x);
        x.iter().zip(&norm).map(|(x, n)| x / n).collect()
    };
    Some((step(&gram.q), least < 1e-2, step))
}

/// The solution by the QR decomposition of the columns above the roots of the penalties.
fn by_triangle(design: &Design<'_>, penalty: &[f64], run: &Run<'_>) -> Result<Vec<f64>, Error> {
    let d = penalty.len();
    let mut below = Matrix::zeros(d, d + 1);
    penalty.iter().enumerate().for_each(|(j, p)| below.set(j, j, p.sqrt()));
    let r = stacked(&triangle(design, run)?, &below);
    run.check(|| "the QR decomposition".to_string())?;
    let a = Matrix::new(r.rows, d, r.data[..r.rows * d].to_vec());
    let (u, s, v) = decomposed(&a)?;
    let cutoff = f64::EPSILON * a.rows as f64 * s.first().copied().unwrap_or(0.0);
    let mut coef = vec![0.0; d];
    for k in (0..s.len()).filter(|k| s[*k] > cutoff) {
        let share = dot(u.column(k), r.column(d)) / s[k];
        (0..d).for_each(|j| coef[j] += v.at(j, k) * share);
    }
    Ok(coef)
}

/// The solution for more columns than rows, by the singular values of the centred columns in units of the data.
fn dual(
    design: &Design<'_>,
    active: &[usize],
    width: usize,
    alpha: f64,
    centre: bool,
    run: &Run<'_>,
) -> Result<(Vec<f64>, f64), Error> {
    let d = active.len();
    let (a, y) = unscaled(design);
    run.check(|| "the centring of the columns".to_string())?;
    run.stage("singular values");
    let (u, s, v) = decomposed(&a)?;
    let mut inner = vec![0.0; d];
    let root = alpha.sqrt();
    // As in `by_triangle`, the penalty counts as rows below the columns.
    let cutoff = f64::EPSILON * d as f64 * s.first().copied().unwrap_or(0.0).hypot(root);
    for (k, s) in s.iter().enumerate().filter(|(_, s)| **s > 0.0 && s.hypot(root) > cutoff) {
        let share = dot(u.column(k), &y) / (s + alpha / s);
        inner.iter_mut().zip(v.column(k)).for_each(|(w, v)| *w += v * share);
    }
    let mut coef = vec![0.0; width];
    active.iter().zip(&inner).for_each(|(j, w)| coef[*j] = *w);
    Ok((coef, if centre { intercept(&design.mean, &inner) } else { 0.0 }))
}

/// The centred columns and target in units of the data, rows multiplied by the roots of their weights.
pub fn unscaled(design: &Design<'_>) -> (Matrix, Vec<f64>) {
    let d = design.columns.len() - 1;
    let mut all = design.block(0..design.rows, false);
    for (j, scale) in design.scale.iter().enumerate() {
        all.column_mut(j).iter_mut().for_each(|v| *v /= scale);
    }
    let y = all.data.split_off(design.rows * d);
    (Matrix::new(design.rows, d, all.data), y)
}
