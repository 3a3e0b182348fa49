//! Ordinary least squares.
//!
//! The usual way is Cholesky's decomposition of the centred and scaled Gram matrix. Passes then refine the solution
//! with residuals from the data (Björck, Numerical Methods for Least Squares Problems, 2.9). If columns are close to
//! dependent, the solution comes from a QR decomposition by chunks of rows and the SVD of its triangle. The
//! decomposition is TSQR (Demmel et al., arXiv 0808.2664).

use onrush_dense as dense;
use onrush_dense::Matrix;

use super::design::{Design, Gram, add, blocks, divide_by_norms, intercept, power_of_two, sum_chunks};
use super::{Linear, listed, nnls, t_distribution};
use crate::data::Data;
use crate::device::{DeviceRows, spread as spread_columns};
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::run::Run;
use crate::sums::dot;
use crate::tensor::Tensor;

/// The largest inflation of a coefficient's variance by the other columns for which the Gram matrix is good enough.
const INFLATION: f64 = 1e9;

/// Columns up to which a Gram matrix is made.
pub const WIDE: usize = 4096;

/// A solution of least squares in units of the scaled columns.
pub struct Solution {
    pub coef: Vec<f64>,
    /// The diagonal of the inverse Gram matrix, and the quadratic form of the means under it. NaN for a column that
    /// depends on others.
    pub variance: Vec<f64>,
    pub variance_of_mean: f64,
    pub rank: usize,
    /// In units of the data.
    pub singular: Vec<f64>,
    /// Positions of columns that depend on each other.
    pub dependent: Vec<usize>,
    /// The weighted sum of squares of the residuals.
    pub rss: f64,
    /// Means of the columns and the target, in units of the data.
    pub mean: Vec<f64>,
}

/// Trains `LinearRegression`.
pub fn fit(params: &params::LinearRegression, data: &Data, run: &Run<'_>) -> Result<Linear, Error> {
    let centre = params.fit_intercept;
    let design = Design::of(data, centre)?;
    let width = data.width();
    let active: Vec<usize> = (0..width).filter(|j| !design.constant[*j]).collect();
    let names: Vec<&str> = data.features.iter().map(|c| c.name.as_str()).collect();
    let inner = design.with(&[active.as_slice(), &[width]].concat());
    if params.positive {
        return nnls::fit(&inner, &active, width, centre, 0.0, run);
    }
    if active.is_empty() {
        let rss = total_squares(&inner, run)?;
        let solution = Solution {
            coef: Vec::new(),
            variance: Vec::new(),
            variance_of_mean: 0.0,
            rank: 0,
            singular: Vec::new(),
            dependent: Vec::new(),
            rss,
            mean: inner.mean.clone(),
        };
        return Ok(finish(&solution, &inner, &active, &names, centre));
    }
    let free = inner.used.saturating_sub(usize::from(centre));
    let quick = if active.len() < free && active.len() <= WIDE { by_gram(&inner, centre, run)? } else { None };
    let solution = match quick {
        Some(solution) => solution,
        None => by_triangle(&inner, centre, run)?,
    };
    Ok(finish(&solution, &inner, &active, &names, centre))
}

/// The weighted sum of squares of the target, which is the last column.
fn total_squares(design: &Design<'_>, run: &Run<'_>) -> Result<f64, Error> {
    let y = design.columns.len() - 1;
    let products = design.products(run)?;
    let (sum, total) = (products.at(y, y + 1), products.at(y + 1, y + 1));
    let centred = if design.mean[y] == 0.0 { 0.0 } else { sum * sum / total };
    Ok((products.at(y, y) - centred).max(0.0) / design.scale[y] / design.scale[y])
}

/// Least squares by the Gram matrix. `None` if it is too close to singular.
fn by_gram(design: &Design<'_>, centre: bool, run: &Run<'_>) -> Result<Option<Solution>, Error> {
    run.stage("products of columns");
    let gram = Gram::new(&design.products(run)?, &design.mean, &design.scale, centre);
    run.stage("solve");
    let d = gram.q.len();
    let norm: Vec<f64> = (0..d).map(|j| gram.g.at(j, j).sqrt()).collect();
    let Some(inverse) = inverse_of(&gram.g, &norm) else { return Ok(None) };
    if (0..d).any(|j| inverse.at(j, j) > INFLATION) {
        return Ok(None);
    }
    let step = |q: &[f64]| -> Vec<f64> {
        let scaled: Vec<f64> = q.iter().zip(&norm).map(|(q, n)| q / n).collect();
        (0..d).map(|j| dot(inverse.column(j), &scaled) / norm[j]).collect()
    };
    let mut coef = step(&gram.q);
    let mut rss = 0.0;
    // The first pass finds the residuals in any case; further ones are for columns that nearly depend on each other.
    let passes = if (0..d).all(|j| inverse.at(j, j) <= 100.0) { 1 } else { 3 };
    for pass in 0..passes {
        run.stage(format!("refine, pass {} of {passes}", pass + 1));
        let (gradient, squares) = residuals(design, &coef, centre, run)?;
        rss = squares;
        add(&mut coef, &step(&gradient));
    }
    let variance: Vec<f64> = (0..d).map(|j| inverse.at(j, j) / (norm[j] * norm[j])).collect();
    let along: Vec<f64> = (0..d).map(|j| gram.mean[j] * design.scale[j] / norm[j]).collect();
    let variance_of_mean = (0..d).map(|j| dot(inverse.column(j), &along) * along[j]).sum();
    Ok(Some(Solution {
        singular: singular_of(&gram, &norm).unwrap_or_default(),
        coef,
        variance,
        variance_of_mean,
        rank: d,
        dependent: Vec::new(),
        rss: rss / design.scale[d] / design.scale[d],
        mean: gram.mean,
    }))
}

/// The inverse of a Gram matrix whose columns are divided by their norms. `None` if it is not positive definite.
fn inverse_of(gram: &Matrix, norm: &[f64]) -> Option<Matrix> {
    if norm.iter().any(|n| !(*n > 0.0 && n.is_finite())) {
        return None;
    }
    let mut scaled = gram.clone();
    divide_by_norms(&mut scaled, norm);
    dense::inverse_positive(&scaled).filter(|m| m.data.iter().all(|v| v.is_finite()))
}

/// Singular values of the centred columns in units of the data. The factor of the scaled Gram matrix has small ones to
/// more digits than its eigenvalues would (Demmel and Veselić 1992).
fn singular_of(gram: &Gram, norm: &[f64]) -> Option<Vec<f64>> {
    let mut scaled = gram.g.clone();
    divide_by_norms(&mut scaled, norm);
    // (l' D)' (l' D) is the Gram matrix in units of the data.
    let mut factor = dense::cholesky(&scaled)?.transposed();
    let units: Vec<f64> = norm.iter().zip(&gram.scale).map(|(n, s)| n / s).collect();
    let common = power_of_two(units.iter().fold(0.0, |a: f64, u| a.max(*u)));
    for (j, unit) in units.iter().enumerate() {
        factor.column_mut(j).iter_mut().for_each(|v| *v *= unit * common);
    }
    if factor.data.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let (_, values, _) = dense::svd(&factor)?;
    Some(values.into_iter().map(|v| v / common).collect())
}

/// The gradient `x' r` of centred columns and the sum of squares of the residuals, in units of the scaled columns.
pub fn residuals(design: &Design<'_>, coef: &[f64], centre: bool, run: &Run<'_>) -> Result<(Vec<f64>, f64), Error> {
    let d = coef.len();
    if let Some(device) = design.device {
        return residuals_on_device(device, design, coef, centre, run);
    }
    // x' r, x' 1, then r' r, r' 1, 1' 1.
    let work = |rows: std::ops::Range<usize>| {
        let mut sums = vec![0.0; 2 * d + 3];
        let mut block = Matrix::zeros(0, 0);
        for range in blocks(rows) {
            design.block_into(range, true, &mut block);
            let (ones, mut r) = (block.column(d + 1), block.column(d).to_vec());
            for (j, w) in coef.iter().enumerate() {
                r.iter_mut().zip(block.column(j)).for_each(|(r, x)| *r -= x * w);
            }
            for j in 0..d {
                sums[j] += dot(block.column(j), &r);
                sums[d + j] += if centre { dot(block.column(j), ones) } else { 0.0 };
            }
            sums[2 * d] += dot(&r, &r);
            sums[2 * d + 1] += if centre { dot(&r, ones) } else { 0.0 };
            sums[2 * d + 2] += dot(ones, ones);
        }
        sums
    };
    let sums = sum_chunks(run, design.rows, 2 * d + 3, work, |sum, other| add(sum, &other))?;
    let (off, total) = (sums[2 * d + 1], sums[2 * d + 2]);
    let gradient = (0..d).map(|j| sums[j] - sums[d + j] * off / total).collect();
    Ok((gradient, (sums[2 * d] - off * off / total).max(0.0)))
}

fn residuals_on_device(
    device: &DeviceRows,
    design: &Design<'_>,
    coef: &[f64],
    centre: bool,
    run: &Run<'_>,
) -> Result<(Vec<f64>, f64), Error> {
    run.check(|| "a pass over the rows".to_string())?;
    let all = |values: &[f64]| spread_columns(values, &design.places, design.features);
    let mut params = all(coef);
    // The place of the target is that of the intercept.
    params[design.features] = 0.0;
    let found = device.0.residuals(&all(&design.mean), &all(&design.scale), &params)?;
    let off = if centre { found.total } else { 0.0 };
    let gradient = design.places[..coef.len()].iter();
    let gradient = gradient.map(|place| found.gradient[*place] - found.sums[*place] * off / design.total);
    Ok((gradient.collect(), (found.squares - off * off / design.total).max(0.0)))
}

/// The triangle of the QR decomposition of the centred and scaled columns, the target's last.
pub fn triangle(design: &Design<'_>, run: &Run<'_>) -> Result<Matrix, Error> {
    design.on_host()?;
    run.stage("QR decomposition by chunks of rows");
    let width = design.columns.len();
    // Chunks are tall, so that the triangles are small beside them.
    let tall = (4 * width).max(4096);
    let work = |rows: std::ops::Range<usize>| {
        let end = rows.end;
        let mut sum: Option<Matrix> = None;
        for start in rows.step_by(tall) {
            let next = dense::triangle(&design.block(start..end.min(start + tall), false));
            sum = Some(match sum {
                Some(sum) => dense::triangle(&stacked(&sum, &next)),
                None => next,
            });
        }
        sum.unwrap_or_else(|| Matrix::zeros(0, width))
    };
    sum_chunks(run, design.rows, width * width, work, |sum, other| *sum = dense::triangle(&stacked(sum, &other)))
}

/// One matrix above another.
pub fn stacked(top: &Matrix, bottom: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(top.rows + bottom.rows, top.columns);
    for j in 0..top.columns {
        out.column_mut(j)[..top.rows].copy_from_slice(top.column(j));
        out.column_mut(j)[top.rows..].copy_from_slice(bottom.column(j));
    }
    out
}

/// Singular value decomposition. An error if values are not finite or the iteration does not converge.
pub fn decomposed(a: &Matrix) -> Result<(Matrix, Vec<f64>, Matrix), Error> {
    let done = a.data.iter().all(|v| v.is_finite()).then(|| dense::svd(a)).flatten();
    done.ok_or_else(|| {
        Error::new(ErrorKind::Numeric, "the singular value decomposition of the features did not converge")
            .help("scale the features, for example with `StandardScaler`")
    })
}

/// Least squares by the triangle of a QR decomposition and its singular values. If columns depend on each other, the
/// coefficients of the smallest norm are taken, as in LAPACK's `gelsd`.
fn by_triangle(design: &Design<'_>, centre: bool, run: &Run<'_>) -> Result<Solution, Error> {
    let r = triangle(design, run)?;
    run.stage("singular values");
    let d = design.columns.len() - 1;
    let b = r.column(d);
    let mut a = Matrix::new(r.rows, d, r.data[..r.rows * d].to_vec());
    let norm: Vec<f64> =
        (0..d).map(|j| dot(a.column(j), a.column(j)).sqrt()).map(|n| if n > 0.0 { n } else { 1.0 }).collect();
    for (j, n) in norm.iter().enumerate() {
        a.column_mut(j).iter_mut().for_each(|v| *v /= n);
    }
    let (u, s, v) = decomposed(&a)?;
    let cutoff = f64::EPSILON * design.used.max(d) as f64 * s.first().copied().unwrap_or(0.0);
    let most = design.used.saturating_sub(usize::from(centre));
    let rank = s.iter().filter(|s| **s > cutoff).count().min(most);
    let along = |u: &Matrix, s: &[f64], k: usize| dot(u.column(k), b) / s[k];
    let mut coef = vec![0.0; d];
    let mut variance = vec![0.0; d];
    let mut kept = vec![0.0; d];
    let mut variance_of_mean = 0.0;
    for k in 0..rank {
        let share = along(&u, &s, k);
        for j in 0..d {
            coef[j] += v.at(j, k) * share / norm[j];
            variance[j] += (v.at(j, k) / s[k] / norm[j]).powi(2);
            kept[j] += v.at(j, k) * v.at(j, k);
        }
        let mean: f64 = (0..d).map(|j| design.mean[j] * design.scale[j] * v.at(j, k) / norm[j]).sum();
        variance_of_mean += (mean / s[k]).powi(2);
    }
    // The same columns in units of the data, with one factor that keeps them finite.
    for (j, n) in norm.iter().enumerate() {
        a.column_mut(j).iter_mut().for_each(|v| *v *= n);
    }
    let units: Vec<f64> = (0..d).map(|j| norm[j] / design.scale[j]).collect();
    let common = power_of_two(units.iter().fold(0.0, |a: f64, u| a.max(*u)));
    for j in 0..d {
        let unit = common / design.scale[j];
        a.column_mut(j).iter_mut().for_each(|v| *v *= unit);
    }
    let (u, s, v) = decomposed(&a)?;
    let mut dependent = Vec::new();
    if rank < d {
        dependent = (0..d).filter(|j| kept[*j] < 1.0 - 1e-8).collect();
        dependent.iter().for_each(|j| variance[*j] = f64::NAN);
        coef = vec![0.0; d];
        for k in 0..rank.min(s.len()) {
            let share = along(&u, &s, k);
            (0..d).for_each(|j| coef[j] += v.at(j, k) * share * common / design.scale[j]);
        }
        if dependent.iter().any(|j| design.mean[*j] != 0.0) {
            variance_of_mean = f64::NAN;
        }
    }
    let (_, rss) = residuals(design, &coef, centre, run)?;
    Ok(Solution {
        coef,
        variance,
        variance_of_mean,
        rank,
        singular: s.into_iter().map(|s| s / common).collect(),
        dependent,
        rss: rss / design.scale[d] / design.scale[d],
        mean: design.mean.clone(),
    })
}

/// Coefficients in units of the data at the positions of all columns.
pub fn spread(coef: &[f64], design: &Design<'_>, active: &[usize], width: usize) -> Vec<f64> {
    let y = design.scale[coef.len()];
    let mut out = vec![0.0; width];
    for ((j, w), scale) in active.iter().zip(coef).zip(&design.scale) {
        // Both factors are powers of two.
        out[*j] = w * (scale / y);
    }
    out
}

/// The model with its summary and notes.
fn finish(solution: &Solution, design: &Design<'_>, active: &[usize], names: &[&str], centre: bool) -> Linear {
    let width = names.len();
    let coef = spread(&solution.coef, design, active, width);
    let inner: Vec<f64> = active.iter().map(|j| coef[*j]).collect();
    let intercept = if centre { intercept(&solution.mean, &inner) } else { 0.0 };
    let mut singular = solution.singular.clone();
    singular.resize(width.min(design.rows), 0.0);
    let mut notes = Vec::new();
    if solution.rank < width {
        let constant: Vec<&str> = (0..width).filter(|j| active.binary_search(j).is_err()).map(|j| names[j]).collect();
        let dependent: Vec<&str> = solution.dependent.iter().map(|j| names[active[*j]]).collect();
        let mut why = Vec::new();
        let wanted = active.len() + usize::from(centre);
        if wanted > design.used {
            why.push(format!("{} rows for {wanted} coefficients", design.used));
        } else if !dependent.is_empty() {
            why.push(format!("these columns depend on each other: {}", listed(&dependent)));
        }
        if !constant.is_empty() {
            why.push(format!("these columns are constant: {}", listed(&constant)));
        }
        notes.push(format!("rank {} of {width}: {}", solution.rank, why.join("; ")));
    }
    Linear {
        summary: Some(summary(solution, design, active, &coef, intercept, centre)),
        coef: Tensor::vector(coef),
        intercept,
        rank: Some(solution.rank),
        singular: Some(Tensor::vector(singular)),
        notes,
        ..Linear::default()
    }
}

/// Coefficient, standard error, t, p, and the 95 % interval: `statsmodels.OLS(..).fit()`, with weights `WLS`. Standard
/// errors of columns that are constant or depend on each other are NaN.
fn summary(
    solution: &Solution,
    design: &Design<'_>,
    active: &[usize],
    coef: &[f64],
    intercept: f64,
    centre: bool,
) -> Tensor {
    let free = design.used as f64 - solution.rank as f64 - f64::from(u8::from(centre));
    let sigma = if free > 0.0 { (solution.rss / free).sqrt() } else { f64::NAN };
    let reach = t_distribution::quantile(0.025, free);
    let mut table = Vec::with_capacity(6 * (coef.len() + 1));
    let mut line = |value: f64, error: f64| {
        let t = value / error;
        table.extend([
            value,
            error,
            t,
            t_distribution::two_sided(t, free),
            value - reach * error,
            value + reach * error,
        ]);
    };
    if centre {
        line(intercept, sigma * (1.0 / design.total + solution.variance_of_mean).sqrt());
    }
    for (j, value) in coef.iter().enumerate() {
        match active.binary_search(&j) {
            Ok(k) => line(*value, sigma * solution.variance[k].sqrt() * design.scale[k]),
            Err(_) => line(*value, f64::NAN),
        }
    }
    Tensor::new(vec![table.len() / 6, 6], table)
}
