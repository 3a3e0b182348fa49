//! Ridge regression that chooses its penalty by leave-one-out or k-fold cross-validation.
//!
//! Leave-one-out errors have a closed form: the residual divided by one minus the leverage (Rifkin and Lippert, Notes
//! on Regularized Least Squares, 2007; scikit-learn's `_RidgeGCV`). One decomposition serves all penalties.

use onrush_dense as dense;
use onrush_dense::Matrix;

use super::design::{Design, Gram, add, blocks, sum_chunks};
use super::{Linear, folds, ridge, scores};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::run::Run;
use crate::sums::dot;

/// Sums of errors of predictions, from which the scores come.
#[derive(Clone, Copy, Default)]
struct Errors {
    weight: f64,
    squares: f64,
    absolute: f64,
    y: f64,
    /// Squares of the target, which is centred by a constant.
    yy: f64,
    /// Squares multiplied by weights, for rows counted as one each: scikit-learn's score without a scorer.
    rows: f64,
}

impl Errors {
    fn row(&mut self, error: f64, y: f64, weight: f64) {
        self.weight += weight;
        self.squares += weight * error * error;
        self.absolute += weight * error.abs();
        self.y += weight * y;
        self.yy += weight * y * y;
        self.rows += 1.0;
    }

    fn join(&mut self, other: &Errors) {
        self.weight += other.weight;
        self.squares += other.squares;
        self.absolute += other.absolute;
        self.y += other.y;
        self.yy += other.yy;
        self.rows += other.rows;
    }

    /// The score of a scorer. An empty name is the mean of weighted squares over rows.
    fn score(&self, scorer: &str) -> f64 {
        match scorer {
            "neg_mean_squared_error" => -self.squares / self.weight,
            "neg_root_mean_squared_error" => -(self.squares / self.weight).sqrt(),
            "neg_mean_absolute_error" => -self.absolute / self.weight,
            "r2" => {
                let total = self.yy - self.y * self.y / self.weight;
                match (total > 0.0, self.squares > 0.0) {
                    (true, _) => 1.0 - self.squares / total,
                    // scikit-learn's `force_finite`: a constant target.
                    (false, true) => 0.0,
                    (false, false) => 1.0,
                }
            }
            _ => -self.squares / self.rows,
        }
    }
}

/// Trains `RidgeCV`.
pub fn fit(params: &params::RidgeCV, data: &Data, run: &Run<'_>) -> Result<Linear, Error> {
    let (centre, alphas) = (params.fit_intercept, &params.alphas);
    let folds = params.cv.map(|count| folds::of(count, data)).transpose()?;
    let low = if folds.is_none() { "above 0" } else { "at least 0" };
    let bad = alphas.iter().find(|a| !(a.is_finite() && (**a > 0.0 || (folds.is_some() && **a == 0.0))));
    if let Some(bad) = bad {
        return Err(Error::new(ErrorKind::Parameter, format!("`alphas` holds {bad}: expected finite numbers {low}")));
    }
    if alphas.is_empty() {
        return Err(Error::new(ErrorKind::Parameter, "`alphas` is empty: expected at least one number"));
    }
    let scoring = params.scoring.as_deref();
    let scores = match &folds {
        Some(folds) => by_folds(data, folds, alphas, scoring.unwrap_or("r2"), centre, run)?,
        None => leave_one_out(data, alphas, scoring.unwrap_or(""), centre, run)?,
    };
    let best = first_of_best(&scores);
    let inner = params::Ridge { alpha: alphas[best], fit_intercept: centre, ..params::Ridge::default() };
    let model = ridge::fit(&inner, data, run)?;
    Ok(Linear { alpha: Some(alphas[best]), best_score: Some(scores[best]), ..model })
}

/// The position of the first of the highest scores. NaN is below all numbers.
fn first_of_best(scores: &[f64]) -> usize {
    let better = |a: f64, b: f64| a > b || (b.is_nan() && !a.is_nan());
    (0..scores.len()).fold(0, |best, i| if better(scores[i], scores[best]) { i } else { best })
}

/// The mean score of each penalty over the folds. Weights count in training and in the scores, as in scikit-learn.
fn by_folds(
    data: &Data,
    folds: &folds::Folds,
    alphas: &[f64],
    scorer: &str,
    centre: bool,
    run: &Run<'_>,
) -> Result<Vec<f64>, Error> {
    let mut sums = vec![0.0; alphas.len()];
    for fold in 0..folds.count {
        (run.steps)(fold as u64, folds.count as u64);
        let (train, test) = (folds.train(fold), folds.test(fold));
        let mut columns: Vec<&[f64]> = data.features.iter().map(|c| c.values.as_slice()).collect();
        columns.push(&data.y);
        let design = Design::new(columns, data.weight.as_deref(), Some(&train), centre)?;
        let active: Vec<usize> = (0..data.width()).filter(|j| !design.constant[*j]).collect();
        let inner = design.with(&[active.as_slice(), &[data.width()]].concat());
        let gram = ridge::gram(&inner, centre, run)?;
        let (held, shift) = (data.take(&test), data.y[test[0]]);
        for (sum, alpha) in sums.iter_mut().zip(alphas) {
            run.check(|| format!("{fold} of {} folds", folds.count))?;
            let (coef, intercept) = ridge::solve(&inner, gram.as_ref(), &active, data.width(), *alpha, centre, run)?;
            let mut errors = Errors::default();
            for (i, predicted) in scores(&held, &coef, intercept).into_iter().enumerate() {
                errors.row(held.y[i] - predicted, held.y[i] - shift, held.weight_of(i));
            }
            *sum += errors.score(scorer) / folds.count as f64;
        }
    }
    Ok(sums)
}

/// The score of each penalty by leave-one-out errors.
fn leave_one_out(data: &Data, alphas: &[f64], scorer: &str, centre: bool, run: &Run<'_>) -> Result<Vec<f64>, Error> {
    let design = Design::of(data, centre)?;
    let active: Vec<usize> = (0..data.width()).filter(|j| !design.constant[*j]).collect();
    let inner = design.with(&[active.as_slice(), &[data.width()]].concat());
    let errors = match active.len() > inner.rows {
        true => wide(&inner, alphas, centre, run)?,
        false => tall(&inner, alphas, centre, run)?,
    };
    Ok(errors.iter().map(|e| e.score(scorer)).collect())
}

/// By the eigenvalues of the Gram matrix.
fn tall(design: &Design<'_>, alphas: &[f64], centre: bool, run: &Run<'_>) -> Result<Vec<Errors>, Error> {
    let d = design.columns.len() - 1;
    run.stage("products of columns");
    let gram = Gram::new(&design.products(run)?, &design.mean, &design.scale, centre);
    // Units of the data, so that the penalty is the same for all columns.
    let mut g = Matrix::zeros(d, d);
    for j in 0..d {
        for i in 0..d {
            g.set(i, j, gram.g.at(i, j) / gram.scale[i] / gram.scale[j]);
        }
    }
    let finite = g.data.iter().all(|v| v.is_finite());
    let (values, vectors) = finite.then(|| dense::eigh(&g)).flatten().ok_or_else(|| {
        Error::new(ErrorKind::Numeric, "the eigenvalues of the Gram matrix did not converge").help("scale the features")
    })?;
    let values: Vec<f64> = values.into_iter().map(|v| v.max(0.0)).collect();
    // Columns of scaled data times this are the scores of the components; the last column is the target itself.
    let mut turn = Matrix::zeros(d + 1, d + 1);
    for k in 0..d {
        for j in 0..d {
            turn.set(j, k, vectors.at(j, k) / gram.scale[j]);
        }
    }
    turn.set(d, d, 1.0 / gram.scale[d]);
    let along: Vec<f64> =
        (0..d).map(|k| (0..d).map(|j| vectors.at(j, k) * gram.q[j] / gram.scale[j] / gram.scale[d]).sum()).collect();
    run.stage("leave-one-out errors");
    let work = |rows: std::ops::Range<usize>| {
        let mut sums = vec![Errors::default(); alphas.len()];
        for range in blocks(rows) {
            let block = design.block(range.clone(), false);
            let z = dense::multiply(&block, &turn);
            for (sum, alpha) in sums.iter_mut().zip(alphas) {
                // Predictions and leverages of the block.
                let (mut fitted, mut leverage) = (vec![0.0; range.len()], vec![0.0; range.len()]);
                for (k, value) in values.iter().enumerate() {
                    let share = 1.0 / (value + alpha);
                    let weight = along[k] * share;
                    let both = fitted.iter_mut().zip(&mut leverage).zip(z.column(k));
                    both.for_each(|((f, h), z)| {
                        *f += z * weight;
                        *h += z * z * share;
                    });
                }
                for (i, row) in range.clone().enumerate() {
                    let weight = design.weight_at(row);
                    let own = if centre { weight / design.total } else { 0.0 };
                    let root = weight.sqrt();
                    let error = (z.at(i, d) - fitted[i]) / (1.0 - leverage[i] - own);
                    let (error, y) = match root > 0.0 {
                        true => (error / root, z.at(i, d) / root),
                        false => (0.0, 0.0),
                    };
                    sum.row(error, y, weight);
                }
            }
        }
        sums
    };
    sum_chunks(run, design.rows, alphas.len() * 6, work, |sum, other| {
        sum.iter_mut().zip(&other).for_each(|(a, b)| a.join(b));
    })
}

/// By the eigenvalues of the rows' inner products, for more columns than rows.
fn wide(design: &Design<'_>, alphas: &[f64], centre: bool, run: &Run<'_>) -> Result<Vec<Errors>, Error> {
    run.stage("products of rows");
    let (a, y) = ridge::unscaled(design);
    let n = a.rows;
    let mut kernel = Matrix::zeros(n, n);
    let step = (1usize << 22).div_ceil(n).max(1);
    for start in (0..a.columns).step_by(step) {
        run.check(|| format!("{start} of {} columns", a.columns))?;
        let end = a.columns.min(start + step);
        let block = Matrix::new(n, end - start, a.data[start * n..end * n].to_vec()).transposed();
        add(&mut kernel.data, &dense::transpose_multiply(&block, &block).data);
    }
    let finite = kernel.data.iter().all(|v| v.is_finite());
    let (values, vectors) = finite.then(|| dense::eigh(&kernel)).flatten().ok_or_else(|| {
        Error::new(ErrorKind::Numeric, "the eigenvalues of the rows' products did not converge")
            .help("scale the features")
    })?;
    let along: Vec<f64> = (0..n).map(|k| dot(vectors.column(k), &y)).collect();
    let mut out = Vec::new();
    for alpha in alphas {
        let (mut c, mut diagonal) = (vec![0.0; n], vec![0.0; n]);
        for (k, value) in values.iter().enumerate() {
            let share = 1.0 / (value.max(0.0) + alpha);
            for (i, v) in vectors.column(k).iter().enumerate() {
                c[i] += v * along[k] * share;
                diagonal[i] += v * v * share;
            }
        }
        let mut sum = Errors::default();
        for i in 0..n {
            let weight = design.weight_at(i);
            let root = weight.sqrt();
            let own = if centre { weight / design.total / alpha } else { 0.0 };
            let (error, y) = match root > 0.0 {
                true => (c[i] / (diagonal[i] - own) / root, y[i] / root),
                false => (0.0, 0.0),
            };
            sum.row(error, y, weight);
        }
        out.push(sum);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_that_is_not_a_number_does_not_win() {
        assert_eq!(first_of_best(&[f64::NAN, -3.0, f64::NAN, -2.0, -2.0]), 3);
        assert_eq!(first_of_best(&[f64::NAN, f64::NAN]), 0);
    }

    #[test]
    fn scores_of_a_constant_target_are_those_of_scikit_learn() {
        // r2_score([3, 3], [3, 3]) is 1, r2_score([3, 3], [3, 4]) is 0.
        let mut exact = Errors::default();
        exact.row(0.0, 0.0, 1.0);
        exact.row(0.0, 0.0, 1.0);
        assert_eq!(exact.score("r2"), 1.0);
        exact.row(1.0, 0.0, 1.0);
        assert_eq!(exact.score("r2"), 0.0);
    }
}
