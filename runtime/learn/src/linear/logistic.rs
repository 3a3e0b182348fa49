//! Logistic regression: binary and multinomial (softmax), with l1, l2 and elastic net penalties.
//!
//! The objective is that of scikit-learn's L-BFGS (`sklearn/linear_model/_logistic.py`): the weighted mean loss, plus
//! the penalty divided by `c` times the sum of the weights. Intercepts are not penalised.

use std::ops::Range;

use onrush_dense as dense;
use onrush_dense::Matrix;
use onrush_wire::learn::{Detail, Param};
use serde::{Deserialize, Serialize};

use super::design::{BLOCK, Design, add, blocks, mirror, shape, sum_chunks};
use super::{finite, lbfgs, newton, sparse};
use crate::data::Data;
use crate::device::DeviceRows;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, LinearScores, Link, Model, Role, Values};
use crate::params;
use crate::run::Run;
use crate::sums::dot;
use crate::tensor::Tensor;
use crate::weights;

/// A logistic regression.
#[derive(Default, Serialize, Deserialize)]
pub struct Logistic {
    /// Outputs x features. There is one output for two classes, that of the second one, else one for each class.
    pub coef: Tensor,
    /// For each output.
    pub intercept: Tensor,
    pub n_iter: u64,
    /// The objective after each iteration.
    pub losses: Tensor,
    /// The penalty that cross-validation chose.
    #[serde(with = "crate::tensor::scalar")]
    pub c: Option<f64>,
    pub l1_ratio: Option<f64>,
    /// `l1_ratio`, `c`, fold and score: rows of four.
    pub scores: Option<Tensor>,
    pub notes: Vec<String>,
}

/// Trains `LogisticRegression`.
pub fn fit(params: &params::LogisticRegression, data: &Data, run: &Run<'_>) -> Result<Logistic, Error> {
    let settings = Settings::new(params.fit_intercept, params.max_iter, params.tol)?;
    let (mut c, mut ratio) = (params.c, finite("l1_ratio", params.l1_ratio)?);
    match params.penalty.as_deref() {
        Some("l1") => ratio = 1.0,
        Some("l2") => ratio = 0.0,
        Some("none") => c = f64::INFINITY,
        _ => {}
    }
    let weight = row_weights(&params.class_weight, data)?;
    if data.sparse.is_some() && ratio > 0.0 {
        return fit(params, &data.to_dense("LogisticRegression with an l1 penalty")?, run);
    }
    if data.sparse.is_some() {
        let end = sparse::logistic(data, weight.as_deref(), c, &settings, run)?;
        return Ok(model_of(data.total_width(), end, &settings));
    }
    let mut problem = Problem::new(data, weight.as_deref(), None, settings.centre)?;
    problem.penalise(c, ratio);
    let start = vec![0.0; problem.outputs * (data.width() + 1)];
    let end = solve(&problem, &start, &settings, run)?;
    Ok(model(&problem, end, &settings))
}

/// The model at the end of a training.
pub(crate) fn model(problem: &Problem<'_>, end: LogisticEnd, settings: &Settings) -> Logistic {
    model_of(problem.width(), end, settings)
}

/// The model of so many features.
fn model_of(d: usize, end: LogisticEnd, settings: &Settings) -> Logistic {
    let k = end.coef.len() / (d + 1);
    let notes = match end.converged {
        _ if end.is_stuck => vec![format!(
            "the line search found no descent after {} iterations; the gradient is {:.0e}, `tol` asks for {:e}; scale \
             the features",
            end.losses.len(),
            end.gradient,
            settings.tol
        )],
        true => Vec::new(),
        false => vec![format!(
            "stopped after {} of {} iterations; the gradient is {:.0e}, `tol` asks for {:e}; raise `max_iter` or scale \
             the features",
            end.losses.len(),
            settings.max_iter,
            end.gradient,
            settings.tol
        )],
    };
    let rows = end.coef.chunks_exact(d + 1);
    Logistic {
        coef: Tensor::new(vec![k, d], rows.clone().flat_map(|row| row[..d].to_vec()).collect()),
        intercept: Tensor::vector(rows.map(|row| row[d]).collect()),
        n_iter: end.losses.len() as u64,
        losses: Tensor::vector(end.losses),
        notes,
        ..Logistic::default()
    }
}

/// Parameters that all trainings share.
pub(crate) struct Settings {
    pub centre: bool,
    pub max_iter: usize,
    pub tol: f64,
}

impl Settings {
    pub fn new(centre: bool, max_iter: usize, tol: f64) -> Result<Self, Error> {
        Ok(Settings { centre, max_iter, tol: finite("tol", tol)? })
    }
}

/// The weights of rows times those of classes. Balanced classes have equal sums of weights, as in scikit-learn 1.9.
pub(crate) fn row_weights(class_weight: &Param, data: &Data) -> Result<Option<Vec<f64>>, Error> {
    let mut counts = vec![0.0; data.classes.len()];
    data.y.iter().enumerate().for_each(|(row, class)| counts[*class as usize] += data.weight_of(row));
    let Some(by_class) = weights::of_counts(class_weight, data, &counts)? else { return Ok(data.weight.clone()) };
    let weight = |(row, class): (usize, &f64)| data.weight_of(row) * by_class[*class as usize];
    Ok(Some(data.y.iter().enumerate().map(weight).collect()))
}

/// Rows, their classes and a penalty. Parameters are in units of centred and scaled columns: for each output the
/// coefficients, then the intercept if there is one.
pub(crate) struct Problem<'a> {
    pub design: Design<'a>,
    y: &'a [f64],
    pub outputs: usize,
    pub centre: bool,
    /// Penalties of the mean loss in units of the data.
    pub l1: f64,
    pub l2: f64,
    /// Whether no column lies so far from 0 that it must be centred before it is multiplied.
    near: bool,
}

/// The result of a pass over the rows: the mean loss, its gradient, and its second derivatives.
pub(crate) struct Sums {
    pub loss: f64,
    pub gradient: Vec<f64>,
    pub hessian: Hessian,
}

/// Second derivatives.
pub(crate) enum Hessian {
    None,
    Full(Matrix),
    /// The second derivatives of each output alone.
    Blocks(Vec<Matrix>),
}

/// The derivatives that a pass computes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Derivatives {
    Gradient,
    FullHessian,
    BlockHessian,
}

/// The end of a training.
pub(crate) struct LogisticEnd {
    /// For each output the coefficients and the intercept, in units of the data.
    pub coef: Vec<f64>,
    pub losses: Vec<f64>,
    /// The largest component of the gradient.
    pub gradient: f64,
    pub converged: bool,
    /// No step went further down although the gradient is not small.
    pub is_stuck: bool,
}

/// Parameters up to which Newton's method is used.
const NEWTON: usize = 512;

/// Multiplications of a matrix of second derivatives up to which Newton's method is used: L-BFGS with a preconditioner
/// takes more iterations that cost less.
const CHEAP: usize = 1 << 27;

/// Second derivatives up to which they are computed: 512 MB. Above, L-BFGS has no preconditioner.
const CURVATURE: usize = 1 << 26;

/// Minimises the objective from `start`, which is in units of the data.
///
/// # Errors
/// If the user stops the work, a number overflows, or there are too many features for an l1 penalty.
pub(crate) fn solve(
    problem: &Problem<'_>,
    start: &[f64],
    settings: &Settings,
    run: &Run<'_>,
) -> Result<LogisticEnd, Error> {
    let start = problem.inner(start);
    let size = start.len();
    if problem.l1 > 0.0 && !problem.has_curvature() {
        let most = (CURVATURE / problem.outputs.max(1)).isqrt();
        let message = format!("an l1 penalty with {} features: at most {most} for these classes", problem.width());
        return Err(Error::new(ErrorKind::Size, message).help("take an l2 penalty, or keep fewer features"));
    }
    // On a device second derivatives cost little more than first ones.
    let cheap = problem.design.device.is_some() || problem.design.rows.saturating_mul(size * size) <= CHEAP;
    let mut end = match (problem.l1 > 0.0, size <= NEWTON && cheap) {
        (true, cheap) => newton::proximal(problem, start, cheap || problem.outputs == 1, settings, run)?,
        (false, true) => newton::newton(problem, start, settings, run)?,
        (false, false) => lbfgs::minimize(problem, start, settings, run)?,
    };
    end.coef = problem.outer(&end.coef);
    match end.coef.iter().all(|w| w.is_finite()) {
        true => Ok(end),
        false => Err(Error::new(
            ErrorKind::Overflow,
            "the coefficients are not finite numbers: the values of the data are too large",
        )
        .help("scale the features, for example with `StandardScaler`")),
    }
}

/// Shows an iteration.
pub(crate) fn show(run: &Run<'_>, losses: &[f64], settings: &Settings) -> Result<(), Error> {
    let done = losses.len();
    run.stage(format!("iteration {done}, loss {:.6}", losses.last().copied().unwrap_or(f64::NAN)));
    (run.steps)(done as u64, settings.max_iter as u64);
    (run.detail)(Detail::Curves(vec![("loss".to_string(), curve(losses))]));
    run.check(|| format!("{done} of {} iterations", settings.max_iter))
}

fn curve(losses: &[f64]) -> Vec<(f64, f64)> {
    losses.iter().enumerate().map(|(i, loss)| ((i + 1) as f64, *loss)).collect()
}

impl<'a> Problem<'a> {
    pub fn new(
        data: &'a Data,
        weight: Option<&'a [f64]>,
        pick: Option<&'a [usize]>,
        centre: bool,
    ) -> Result<Self, Error> {
        let design = match &data.device {
            Some(device) => Design::on_device(device, data, centre, data.width())?,
            None => {
                let columns = data.features.iter().map(|c| c.values.as_slice()).collect();
                Design::new(columns, weight, pick, centre)?
            }
        };
        let outputs = if data.classes.len() == 2 { 1 } else { data.classes.len() };
        let near = design.mean.iter().zip(&design.scale).all(|(m, s)| (m * s).abs() <= 100.0);
        Ok(Problem { design, y: &data.y, outputs, centre, l1: 0.0, l2: 0.0, near })
    }

    /// Sets the penalty.
    pub fn penalise(&mut self, c: f64, ratio: f64) {
        let strength = 1.0 / (c * self.design.total);
        (self.l1, self.l2) = (strength * ratio, strength * (1.0 - ratio));
    }

    pub fn width(&self) -> usize {
        self.design.columns.len()
    }

    /// Parameters of an output.
    pub fn stride(&self) -> usize {
        self.width() + usize::from(self.centre)
    }

    /// Parameters from those in units of the data.
    fn inner(&self, outer: &[f64]) -> Vec<f64> {
        let d = self.width();
        let mut inner = Vec::new();
        for row in outer.chunks_exact(d + 1) {
            inner.extend(row[..d].iter().zip(&self.design.scale).map(|(w, s)| w / s));
            if self.centre {
                inner.push(row[d] + dot(&row[..d], &self.design.mean));
            }
        }
        inner
    }

    /// Parameters in units of the data. Intercepts of several classes sum to 0, as scikit-learn's do.
    fn outer(&self, inner: &[f64]) -> Vec<f64> {
        let d = self.width();
        let mut outer = Vec::new();
        for row in inner.chunks_exact(self.stride()) {
            let coef: Vec<f64> = row[..d].iter().zip(&self.design.scale).map(|(w, s)| w * s).collect();
            let shift = dot(&coef, &self.design.mean);
            outer.extend(coef);
            outer.push(if self.centre { row[d] - shift } else { 0.0 });
        }
        if self.centre && self.outputs > 1 {
            let mean = outer.iter().skip(d).step_by(d + 1).sum::<f64>() / self.outputs as f64;
            outer.iter_mut().skip(d).step_by(d + 1).for_each(|b| *b -= mean);
        }
        outer
    }

    /// The penalties of a parameter by its position: l1, and the factor of half its square.
    pub fn penalty(&self, position: usize) -> (f64, f64) {
        match position % self.stride() {
            j if j < self.width() => {
                let scale = self.design.scale[j];
                (self.l1 * scale, self.l2 * scale * scale)
            }
            _ => (0.0, 0.0),
        }
    }

    /// The mean loss and the l2 penalty with its derivatives.
    pub fn smooth(&self, params: &[f64], wanted: Derivatives, run: &Run<'_>) -> Result<Sums, Error> {
        let mut sums = self.pass(params, wanted, 1, run)?;
        let stride = self.stride();
        for (i, w) in params.iter().enumerate() {
            let (_, l2) = self.penalty(i);
            sums.loss += 0.5 * l2 * w * w;
            sums.gradient[i] += l2 * w;
            match &mut sums.hessian {
                Hessian::None => {}
                Hessian::Full(h) => h.data[i * params.len() + i] += l2,
                Hessian::Blocks(h) => h[i / stride].data[(i % stride) * (stride + 1)] += l2,
            }
        }
        Ok(sums)
    }

    /// The l1 penalty.
    pub fn rough(&self, params: &[f64]) -> f64 {
        params.iter().enumerate().map(|(i, w)| self.penalty(i).0 * w.abs()).sum()
    }

    /// The largest component of the (sub)gradient, in units of the data.
    pub fn slope(&self, params: &[f64], gradient: &[f64]) -> f64 {
        let (d, stride) = (self.width(), self.stride());
        // NaN stays: `f64::max` would drop it.
        let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
        let mut largest = 0.0f64;
        for (params, gradient) in params.chunks_exact(stride).zip(gradient.chunks_exact(stride)) {
            let own = if self.centre { gradient[d] } else { 0.0 };
            largest = larger(largest, own.abs());
            for j in 0..d {
                let slope = gradient[j] / self.design.scale[j] + self.design.mean[j] * own;
                let size = match (self.l1 > 0.0, params[j] == 0.0) {
                    (false, _) => slope.abs(),
                    (true, true) => slope.abs() - self.l1,
                    (true, false) => (slope + self.l1 * params[j].signum()).abs(),
                };
                largest = larger(largest, size);
            }
        }
        largest
    }

    /// The end of a training whose line search found no further descent. That is the optimum up to rounding, unless the
    /// gradient is large in units of the scaled columns.
    pub fn stalled(&self, coef: Vec<f64>, losses: Vec<f64>, gradient: f64, tol: f64) -> LogisticEnd {
        let unit = |(mean, scale): (&f64, &f64)| mean.abs() + 1.0 / scale;
        let largest = self.design.mean.iter().zip(&self.design.scale).map(unit).fold(1.0, f64::max);
        let converged = gradient <= tol.max(1e-6 * largest);
        LogisticEnd { coef, losses, gradient, converged, is_stuck: !converged }
    }

    /// Whether the second derivatives of each output fit in memory.
    pub fn has_curvature(&self) -> bool {
        self.outputs.saturating_mul(self.stride() * self.stride()) <= CURVATURE
    }

    /// Approximates the block-diagonal Hessian, one block per class, from evenly spaced blocks of rows. Empty if it is
    /// too large.
    ///
    /// # Errors
    /// If the user stops the work.
    pub fn curvature(&self, params: &[f64], run: &Run<'_>) -> Result<Vec<Matrix>, Error> {
        if !self.has_curvature() {
            return Ok(Vec::new());
        }
        let stride = self.stride();
        let every = (self.design.rows / (64 * stride).max(16_384)).max(1);
        let sums = self.pass(params, Derivatives::BlockHessian, every, run)?;
        let Hessian::Blocks(mut blocks) = sums.hessian else { return Ok(Vec::new()) };
        for h in &mut blocks {
            h.data.iter_mut().for_each(|v| *v *= every as f64);
            (0..stride).for_each(|j| h.data[j * (stride + 1)] += self.penalty(j).1);
        }
        Ok(blocks)
    }

    /// One pass over the rows: the mean loss and its derivatives. It reads only one block of `every` so many.
    fn pass(&self, params: &[f64], wanted: Derivatives, every: usize, run: &Run<'_>) -> Result<Sums, Error> {
        let (size, stride) = (params.len(), self.stride());
        let numbers = match wanted {
            Derivatives::Gradient => 0,
            Derivatives::FullHessian => size * size,
            Derivatives::BlockHessian => size * stride,
        };
        if let Some(device) = self.design.device {
            return self.pass_on_device(device, params, run);
        }
        let weights = Matrix::new(stride, self.outputs, params.to_vec());
        let empty = || Sums {
            loss: 0.0,
            gradient: vec![0.0; size],
            hessian: match wanted {
                Derivatives::Gradient => Hessian::None,
                Derivatives::FullHessian => Hessian::Full(Matrix::zeros(size, size)),
                Derivatives::BlockHessian => Hessian::Blocks(vec![Matrix::zeros(stride, stride); self.outputs]),
            },
        };
        let work = |rows: Range<usize>| {
            let (mut sums, mut scratch) = (empty(), Scratch::default());
            let sampled = blocks(rows).filter(|block| (block.start / BLOCK).is_multiple_of(every));
            sampled.for_each(|block| self.block(block, &weights, &mut scratch, &mut sums));
            sums
        };
        let mut sum = sum_chunks(run, self.design.rows, numbers + size, work, |sum, other| {
            sum.loss += other.loss;
            add(&mut sum.gradient, &other.gradient);
            match (&mut sum.hessian, &other.hessian) {
                (Hessian::Full(a), Hessian::Full(b)) => add(&mut a.data, &b.data),
                (Hessian::Blocks(a), Hessian::Blocks(b)) => {
                    a.iter_mut().zip(b).for_each(|(a, b)| add(&mut a.data, &b.data));
                }
                _ => {}
            }
        })?;
        match &mut sum.hessian {
            Hessian::None => {}
            Hessian::Full(h) => mirror(h),
            Hessian::Blocks(h) => h.iter_mut().for_each(mirror),
        }
        Ok(sum)
    }

    /// Two classes, 0 and 1.
    fn pass_on_device(&self, device: &DeviceRows, params: &[f64], run: &Run<'_>) -> Result<Sums, Error> {
        run.check(|| "a pass over the rows".to_string())?;
        let design = &self.design;
        let (width, size) = (self.width(), params.len());
        let with = |values: &[f64], last: f64| values[..width].iter().copied().chain([last]).collect::<Vec<f64>>();
        let own = if self.centre { params[width] } else { 0.0 };
        let (shift, scale) = (with(&design.mean, 0.0), with(&design.scale, 1.0));
        let found = device.0.logistic(&shift, &scale, &with(params, own), 1.0 / design.total)?;
        let mut hessian = Matrix::zeros(size, size);
        for j in 0..size {
            (0..size).for_each(|i| hessian.set(i, j, found.hessian[j * (width + 1) + i]));
        }
        Ok(Sums { loss: found.squares, gradient: found.gradient[..size].to_vec(), hessian: Hessian::Full(hessian) })
    }

    /// Adds a block of rows to the sums. Only the lower triangles of second derivatives are filled.
    fn block(&self, rows: Range<usize>, weights: &Matrix, scratch: &mut Scratch, sums: &mut Sums) {
        let (len, width) = (rows.len(), self.width());
        let share = rows.clone().map(|i| self.design.weight_at(i) / self.design.total);
        scratch.share.clear();
        scratch.share.extend(share);
        scratch.class.clear();
        scratch.class.extend(rows.clone().map(|i| self.y[self.design.row(i)] as usize));
        if let (1, true, Some(run)) = (self.outputs, matches!(sums.hessian, Hessian::None), self.design.run(&rows))
            && self.near
        {
            return self.direct(run, &weights.data, scratch, sums);
        }
        let Scratch { x, .. } = scratch;
        shape(x, len, self.stride());
        self.design.fill(rows, &mut x.data);
        if self.centre {
            x.column_mut(width).fill(1.0);
        }
        match self.outputs {
            1 => binary(scratch, &weights.data, sums),
            _ => softmax(scratch, weights, sums),
        }
    }
}

impl Problem<'_> {
    /// Loss and gradient of two classes from the columns as they are.
    fn direct(&self, rows: Range<usize>, params: &[f64], scratch: &Scratch, sums: &mut Sums) {
        let (d, design) = (self.width(), &self.design);
        let coef: Vec<f64> = params[..d].iter().zip(&design.scale).map(|(w, s)| w * s).collect();
        let start = if self.centre { params[d] - dot(&coef, &design.mean) } else { 0.0 };
        let mut z = vec![start; rows.len()];
        // Four columns at once, so that the scores are read and written less often.
        for (columns, w) in design.columns.chunks(4).zip(coef.chunks(4)) {
            if let ([a, b, c, e], [wa, wb, wc, we]) = (columns, w) {
                let (a, b, c, e) = (&a[rows.clone()], &b[rows.clone()], &c[rows.clone()], &e[rows.clone()]);
                for ((((z, a), b), c), e) in z.iter_mut().zip(a).zip(b).zip(c).zip(e) {
                    *z += (a * wa + b * wb) + (c * wc + e * we);
                }
                continue;
            }
            for (column, w) in columns.iter().zip(w) {
                z.iter_mut().zip(&column[rows.clone()]).for_each(|(z, x)| *z += x * w);
            }
        }
        for ((z, share), class) in z.iter_mut().zip(&scratch.share).zip(&scratch.class) {
            let (loss, p, _) = half(*z, *class);
            sums.loss += share * loss;
            *z = share * (p - *class as f64);
        }
        let total: f64 = z.iter().sum();
        for j in 0..d {
            let along = dot(&design.columns[j][rows.clone()], &z);
            sums.gradient[j] += (along - design.mean[j] * total) * design.scale[j];
        }
        if self.centre {
            sums.gradient[d] += total;
        }
    }
}

/// The loss at a score, the probability of the second class, and `exp(-|z|)`.
fn half(z: f64, class: usize) -> (f64, f64, f64) {
    let small = (-z.abs()).exp();
    let p = if z >= 0.0 { 1.0 } else { small } / (1.0 + small);
    (small.ln_1p() + z.max(0.0) - class as f64 * z, p, small)
}

/// Memory that the blocks of a chunk share.
struct Scratch {
    /// Columns of a block, with a column of ones for the intercept.
    x: Matrix,
    /// The columns under factors of their rows.
    scaled: Matrix,
    /// Weights of rows as shares of their sum.
    share: Vec<f64>,
    class: Vec<usize>,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch { x: Matrix::zeros(0, 0), scaled: Matrix::zeros(0, 0), share: Vec::new(), class: Vec::new() }
    }
}

/// The loss of two classes: `ln(1 + exp(z)) - y z`.
fn binary(scratch: &mut Scratch, params: &[f64], sums: &mut Sums) {
    let Scratch { x, scaled, share, class } = scratch;
    let mut z = vec![0.0; x.rows];
    for (j, w) in params.iter().enumerate() {
        z.iter_mut().zip(x.column(j)).for_each(|(z, x)| *z += x * w);
    }
    let mut root = vec![0.0; x.rows];
    for (i, z) in z.iter_mut().enumerate() {
        let (loss, p, small) = half(*z, class[i]);
        sums.loss += share[i] * loss;
        root[i] = (share[i] * small).sqrt() / (1.0 + small);
        *z = share[i] * (p - class[i] as f64);
    }
    for j in 0..params.len() {
        sums.gradient[j] += dot(x.column(j), &z);
    }
    let hessian = match &mut sums.hessian {
        Hessian::None => return,
        Hessian::Full(h) => h,
        Hessian::Blocks(h) => &mut h[0],
    };
    times(x, &root, scaled);
    dense::add_gram(hessian, scaled);
}

/// Rows multiplied by factors.
fn times(x: &Matrix, factors: &[f64], out: &mut Matrix) {
    shape(out, x.rows, x.columns);
    for (out, x) in out.data.chunks_exact_mut(x.rows).zip(x.data.chunks_exact(x.rows)) {
        out.iter_mut().zip(x).zip(factors).for_each(|((o, x), f)| *o = x * f);
    }
}

/// The loss of several classes: the logarithm of the sum of exponentials, minus the score of the class.
fn softmax(scratch: &mut Scratch, weights: &Matrix, sums: &mut Sums) {
    let Scratch { x, scaled, share, class } = scratch;
    let (len, k, stride) = (x.rows, weights.columns, weights.rows);
    let mut p = dense::multiply(x, weights);
    let mut largest = p.column(0).to_vec();
    for c in 1..k {
        largest.iter_mut().zip(p.column(c)).for_each(|(a, z)| *a = if *z > *a { *z } else { *a });
    }
    for i in 0..len {
        sums.loss += share[i] * (largest[i] - p.at(i, class[i]));
    }
    let mut total = vec![0.0; len];
    for c in 0..k {
        for ((z, largest), total) in p.column_mut(c).iter_mut().zip(&largest).zip(&mut total) {
            *z = (*z - largest).exp();
            *total += *z;
        }
    }
    sums.loss += share.iter().zip(&total).map(|(s, t)| s * t.ln()).sum::<f64>();
    for c in 0..k {
        p.column_mut(c).iter_mut().zip(&total).for_each(|(p, t)| *p /= t);
    }
    let mut rest = p.clone();
    for c in 0..k {
        rest.column_mut(c).iter_mut().zip(&*share).for_each(|(r, s)| *r *= s);
    }
    for i in 0..len {
        // Not by adding the product: a probability of 1 must leave nothing.
        rest.set(i, class[i], share[i] * (p.at(i, class[i]) - 1.0));
    }
    add(&mut sums.gradient, &dense::transpose_multiply(x, &rest).data);
    if matches!(sums.hessian, Hessian::None) {
        return;
    }
    let root: Vec<f64> = share.iter().map(|s| s.sqrt()).collect();
    match &mut sums.hessian {
        Hessian::None => {}
        Hessian::Full(h) => {
            // diag(p) - p p', in two products.
            let mut all = Matrix::zeros(len, k * stride);
            for c in 0..k {
                let factors: Vec<f64> = p.column(c).iter().zip(&root).map(|(p, r)| p * r).collect();
                times(x, &factors, scaled);
                all.data[c * stride * len..(c + 1) * stride * len].copy_from_slice(&scaled.data);
                let factors: Vec<f64> = p.column(c).iter().zip(&root).map(|(p, r)| p.sqrt() * r).collect();
                times(x, &factors, scaled);
                let mut own = Matrix::zeros(stride, stride);
                dense::add_gram(&mut own, scaled);
                for j in 0..stride {
                    let start = (c * stride + j) * k * stride + c * stride;
                    add(&mut h.data[start..start + stride], own.column(j));
                }
            }
            let mut cross = Matrix::zeros(k * stride, k * stride);
            dense::add_gram(&mut cross, &all);
            h.data.iter_mut().zip(&cross.data).for_each(|(h, c)| *h -= c);
        }
        Hessian::Blocks(h) => {
            for (c, h) in h.iter_mut().enumerate() {
                let factors = p.column(c).iter().zip(&root).map(|(p, r)| (p * (1.0 - p)).sqrt() * r);
                times(x, &factors.collect::<Vec<f64>>(), scaled);
                dense::add_gram(h, scaled);
            }
        }
    }
}

/// The scores of the outputs for each row, output after output.
pub(crate) fn decisions(data: &Data, coef: &[f64], intercept: &[f64]) -> Vec<Vec<f64>> {
    let d = data.total_width();
    intercept.iter().enumerate().map(|(k, b)| super::scores(data, &coef[k * d..(k + 1) * d], *b)).collect()
}

/// The positions of the classes.
pub(crate) fn predicted(decisions: &[Vec<f64>]) -> Vec<f64> {
    let first = decisions.first().map_or(&[] as &[f64], Vec::as_slice);
    let class = |i: usize| match decisions.len() {
        1 => usize::from(decisions[0][i] > 0.0),
        k => (1..k).fold(0, |best, c| if decisions[c][i] > decisions[best][i] { c } else { best }),
    };
    (0..first.len()).map(|i| class(i) as f64).collect()
}

/// The probability of each class.
pub(crate) fn probabilities(mut decisions: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    if decisions.len() == 1 {
        let one = |z: &f64, sign: f64| {
            let small = (-z.abs()).exp();
            if sign * z >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) }
        };
        return [-1.0, 1.0].iter().map(|sign| decisions[0].iter().map(|z| one(z, *sign)).collect()).collect();
    }
    let rows = decisions.first().map_or(0, Vec::len);
    for i in 0..rows {
        let largest = decisions.iter().fold(f64::NEG_INFINITY, |a, z| a.max(z[i]));
        let mut total = 0.0;
        for z in &mut decisions {
            z[i] = (z[i] - largest).exp();
            total += z[i];
        }
        decisions.iter_mut().for_each(|z| z[i] /= total);
    }
    decisions
}

impl Logistic {
    fn outputs(&self) -> usize {
        self.intercept.data.len()
    }

    /// The names of the classes of the outputs.
    fn named(&self, classes: &[String]) -> Vec<String> {
        match self.outputs() {
            1 => classes.get(1).cloned().into_iter().collect(),
            _ => classes.to_vec(),
        }
    }

    fn scores_frame(&self) -> Option<Attribute> {
        let table = self.scores.as_ref()?;
        let column = |j: usize| table.data.chunks_exact(4).map(|row| row[j]).collect::<Vec<f64>>();
        let mut out = vec![
            ("c".to_string(), Values::Floats(column(1))),
            ("fold".to_string(), Values::Ints(column(2).into_iter().map(|f| f as i64).collect())),
            ("score".to_string(), Values::Floats(column(3))),
        ];
        if table.data.chunks_exact(4).any(|row| row[0] != table.data[0]) {
            out.insert(0, ("l1_ratio".to_string(), Values::Floats(column(0))));
        }
        Some(Attribute::Frame(out))
    }
}

impl Model for Logistic {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        let classes = if Logistic::outputs(self) == 1 { 2 } else { Logistic::outputs(self) };
        std::iter::once(Role::Prediction).chain((0..classes).map(Role::Proba)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let decisions = decisions(data, &self.coef.data, &self.intercept.data);
        let classes = if wanted.contains(&0) { predicted(&decisions) } else { Vec::new() };
        let proba = if wanted.iter().any(|w| *w > 0) { probabilities(decisions) } else { Vec::new() };
        Ok(wanted.iter().map(|w| if *w == 0 { classes.clone() } else { proba[w - 1].clone() }).collect())
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        Ok(Some(decisions(data, &self.coef.data, &self.intercept.data)))
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        let outputs = self.named(classes);
        match name {
            "classes" => Some(Attribute::Strs(classes.to_vec())),
            "coef" => {
                let names = outputs.iter().flat_map(|_| features.iter().map(|f| f.name.clone())).collect();
                let classes = outputs.iter().flat_map(|c| features.iter().map(move |_| c.clone())).collect();
                Some(Attribute::Frame(vec![
                    ("feature".to_string(), Values::Strs(names)),
                    ("class".to_string(), Values::Strs(classes)),
                    ("coef".to_string(), Values::Floats(self.coef.data.clone())),
                ]))
            }
            "intercept" => Some(Attribute::Frame(vec![
                ("class".to_string(), Values::Strs(outputs)),
                ("intercept".to_string(), Values::Floats(self.intercept.data.clone())),
            ])),
            "n_iter" => Some(Attribute::Int(self.n_iter as i64)),
            "c" => self.c.map(Attribute::Float),
            "l1_ratio" => self.l1_ratio.map(Attribute::Float),
            "scores" => self.scores_frame(),
            _ => None,
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        (Logistic::outputs(self) == 1).then(|| ("coefficient", self.coef.data.clone()))
    }

    fn linear(&self) -> Option<LinearScores> {
        let coef: Vec<Vec<f64>> = (0..self.coef.shape[0]).map(|k| self.coef.row(k).to_vec()).collect();
        let link = if coef.len() == 1 { Link::Logistic } else { Link::Softmax };
        let (intercept, shift) = (self.intercept.data.clone(), vec![0.0; self.coef.shape[1]]);
        Some(LinearScores { coef, intercept, shift, link })
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        vec![("loss".to_string(), curve(&self.losses.data))]
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::new(ErrorKind::ModelFile, what));
        let outputs = Logistic::outputs(self);
        if outputs != if classes == 2 { 1 } else { classes } || outputs == 0 {
            return wrong(format!("{outputs} intercepts for {classes} classes"));
        }
        let count = self.coef.data.len();
        if count != outputs * features {
            return wrong(format!("{count} coefficients for {features} features and {outputs} outputs"));
        }
        match self.scores.as_ref().is_some_and(|s| s.data.len() % 4 != 0) {
            true => wrong("a table of scores that is cut off".to_string()),
            false => Ok(()),
        }
    }

    fn bytes(&self) -> u64 {
        self.coef.bytes() + self.intercept.bytes() + self.losses.bytes() + self.scores.as_ref().map_or(0, Tensor::bytes)
    }
}

#[cfg(test)]
mod tests;
