//! Non-negative least squares, also with an l2 penalty, by the active set method on the Gram matrix (Lawson and Hanson
//! 1974, chapter 23).

use onrush_dense as dense;
use onrush_dense::Matrix;

use super::Linear;
use super::design::{Design, Gram, intercept};
use super::least_squares::{WIDE, spread};
use crate::error::{Error, ErrorKind};
use crate::run::Run;
use crate::sums::dot;
use crate::tensor::Tensor;

/// Trains on the columns of `design`, which are those at the positions `active` of `width` features. `alpha` is the
/// strength of an l2 penalty.
pub fn fit(
    design: &Design<'_>,
    active: &[usize],
    width: usize,
    centre: bool,
    alpha: f64,
    run: &Run<'_>,
) -> Result<Linear, Error> {
    if active.len() > WIDE {
        let message = format!("`positive` with {} features: at most {WIDE}", active.len());
        return Err(Error::new(ErrorKind::Size, message).help("leave `positive` at false, or keep fewer features"));
    }
    run.stage("products of columns");
    let mut gram = Gram::new(&design.products(run)?, &design.mean, &design.scale, centre);
    for j in 0..active.len() {
        gram.g.set(j, j, gram.g.at(j, j) + alpha * gram.scale[j] * gram.scale[j]);
    }
    run.stage("active set");
    let (coef, done) = solve(&gram.g, &gram.q, run)?;
    let coef = spread(&coef, design, active, width);
    let inner: Vec<f64> = active.iter().map(|j| coef[*j]).collect();
    let mut notes = Vec::new();
    if !done {
        notes.push("the active set method stopped before its optimum: the columns are close to dependent".to_string());
    }
    Ok(Linear {
        intercept: if centre { intercept(&gram.mean, &inner) } else { 0.0 },
        coef: Tensor::vector(coef),
        notes,
        ..Linear::default()
    })
}

/// The minimum of `x' g x / 2 - q' x` over `x >= 0`, and whether it was reached.
pub fn solve(gram: &Matrix, q: &[f64], run: &Run<'_>) -> Result<(Vec<f64>, bool), Error> {
    let d = q.len();
    let norm: Vec<f64> = (0..d).map(|j| gram.at(j, j).sqrt()).map(|n| if n > 0.0 { n } else { 1.0 }).collect();
    let mut x = vec![0.0; d];
    let mut free = vec![false; d];
    // Columns that cannot be added because they depend on the free ones.
    let mut barred = vec![false; d];
    let gradient = |x: &[f64]| -> Vec<f64> { (0..d).map(|j| (q[j] - dot(gram.column(j), x)) / norm[j]).collect() };
    let tolerance = 1e-13 * (0..d).fold(0.0f64, |a, j| a.max((q[j] / norm[j]).abs()));
    for round in 0..10 * d + 10 {
        run.check(|| format!("round {round} of the active set"))?;
        let slope = gradient(&x);
        let candidates = (0..d).filter(|j| !free[*j] && !barred[*j] && slope[*j] > tolerance);
        let Some(enter) = candidates.max_by(|a, b| slope[*a].total_cmp(&slope[*b])) else {
            // Not optimal: the objective still decreases along an excluded column.
            return Ok((x, (0..d).all(|j| !barred[j] || slope[j] <= tolerance)));
        };
        free[enter] = true;
        loop {
            let positions: Vec<usize> = (0..d).filter(|j| free[*j]).collect();
            let trial = match sub_solution(gram, q, &norm, &positions) {
                Some(trial) if trial.iter().all(|v| v.is_finite()) => trial,
                _ => {
                    free[enter] = false;
                    barred[enter] = true;
                    break;
                }
            };
            if trial.iter().all(|v| *v > 0.0) {
                x.fill(0.0);
                positions.iter().zip(&trial).for_each(|(j, v)| x[*j] = *v);
                barred.fill(false);
                break;
            }
            // The way from `x` to the trial ends where the first coefficient becomes 0.
            let ratios = positions.iter().zip(&trial).filter(|(_, v)| **v <= 0.0).map(|(j, v)| x[*j] / (x[*j] - v));
            let step = ratios.filter(|r| !r.is_nan()).fold(1.0, f64::min).max(0.0);
            for (j, v) in positions.iter().zip(&trial) {
                x[*j] += step * (v - x[*j]);
                if x[*j] <= 1e-15 * v.abs() || (*v <= 0.0 && x[*j] / norm[*j] <= 0.0) {
                    x[*j] = 0.0;
                    free[*j] = false;
                }
            }
            if positions.iter().all(|j| free[*j]) {
                // Rounding kept all of them: the smallest goes.
                let least = positions.iter().zip(&trial).min_by(|a, b| a.1.total_cmp(b.1)).map(|(j, _)| *j);
                if let Some(j) = least {
                    x[j] = 0.0;
                    free[j] = false;
                }
            }
            if !free[enter] {
                barred[enter] = true;
            }
            if free.iter().all(|f| !f) {
                break;
            }
        }
    }
    Ok((x, false))
}

/// The minimum over some columns, with one step of refinement.
fn sub_solution(gram: &Matrix, q: &[f64], norm: &[f64], positions: &[usize]) -> Option<Vec<f64>> {
    let k = positions.len();
    let mut a = Matrix::zeros(k, k);
    for (c, j) in positions.iter().enumerate() {
        for (r, i) in positions.iter().enumerate() {
            a.set(r, c, gram.at(*i, *j) / (norm[*i] * norm[*j]));
        }
    }
    let b: Vec<f64> = positions.iter().map(|j| q[*j] / norm[*j]).collect();
    let mut x = dense::solve_positive(&a, &Matrix::new(k, 1, b.clone()))?.data;
    let rest: Vec<f64> = (0..k).map(|r| b[r] - dot(a.column(r), &x)).collect();
    let step = dense::solve_positive(&a, &Matrix::new(k, 1, rest))?;
    x.iter_mut().zip(&step.data).for_each(|(x, s)| *x += s);
    Some(x.iter().zip(positions).map(|(x, j)| x / norm[*j]).collect())
}
