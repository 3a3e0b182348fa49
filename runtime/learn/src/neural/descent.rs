//! Stochastic gradient descent for one linear output, row after row: `_plain_sgd` of scikit-learn
//! (`sklearn/linear_model/_sgd_fast.pyx.tp`), with its order of rows. Knows no classes and no estimator.

use crate::data::sparse::Sparse;
use crate::error::{Error, ErrorKind};
use crate::run::Run;

/// The loss of a score `p` and a target `y`. Targets of classifiers are -1 and 1, for [`DescentLoss::Log`] 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DescentLoss {
    /// The hinge loss with its margin. 0 is the perceptron.
    Hinge(f64),
    SquaredHinge,
    ModifiedHuber,
    Log,
    Squared,
    Huber(f64),
    Insensitive(f64),
    SquaredInsensitive(f64),
}

impl DescentLoss {
    #[inline(always)]
    fn value(self, y: f64, p: f64) -> f64 {
        match self {
            DescentLoss::Hinge(margin) => (margin - p * y).max(0.0),
            DescentLoss::SquaredHinge => (1.0 - p * y).max(0.0).powi(2),
            DescentLoss::ModifiedHuber if p * y < -1.0 => -4.0 * p * y,
            DescentLoss::ModifiedHuber => (1.0 - p * y).max(0.0).powi(2),
            DescentLoss::Log => (-p.abs()).exp().ln_1p() + p.max(0.0) - y * p,
            DescentLoss::Squared => 0.5 * (p - y) * (p - y),
            DescentLoss::Huber(delta) => match (y - p).abs() {
                error if error <= delta => 0.5 * error * error,
                error => delta * (error - 0.5 * delta),
            },
            DescentLoss::Insensitive(epsilon) => ((y - p).abs() - epsilon).max(0.0),
            DescentLoss::SquaredInsensitive(epsilon) => ((y - p).abs() - epsilon).max(0.0).powi(2),
        }
    }

    /// The slope in the score.
    #[inline(always)]
    fn slope(self, y: f64, p: f64) -> f64 {
        match self {
            DescentLoss::Hinge(margin) => {
                if p * y <= margin {
                    -y
                } else {
                    0.0
                }
            }
            DescentLoss::SquaredHinge => -2.0 * y * (1.0 - p * y).max(0.0),
            DescentLoss::ModifiedHuber if p * y < -1.0 => -4.0 * y,
            DescentLoss::ModifiedHuber => 2.0 * (1.0 - p * y).max(0.0) * -y,
            DescentLoss::Log if p > -37.0 => {
                let small = (-p).exp();
                ((1.0 - y) - y * small) / (1.0 + small)
            }
            DescentLoss::Log => p.exp() - y,
            DescentLoss::Squared => p - y,
            DescentLoss::Huber(delta) => (p - y).clamp(-delta, delta),
            DescentLoss::Insensitive(epsilon) if (y - p).abs() > epsilon => (p - y).signum(),
            DescentLoss::Insensitive(_) => 0.0,
            DescentLoss::SquaredInsensitive(epsilon) => {
                let error = p - y;
                2.0 * (error - error.clamp(-epsilon, epsilon))
            }
        }
    }
}

/// The schedule of the learning rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    Constant,
    /// Léon Bottou's: 1 / (alpha (t0 + t)).
    Optimal,
    InvScaling,
    Adaptive,
    /// Passive-aggressive steps, PA-I and PA-II (Crammer et al. 2006).
    Pa1,
    Pa2,
}

impl Schedule {
    fn is_passive(self) -> bool {
        matches!(self, Schedule::Pa1 | Schedule::Pa2)
    }
}

/// Parameters of a descent.
#[derive(Clone, Copy, Debug)]
pub struct DescentPlan {
    pub loss: DescentLoss,
    pub has_penalty: bool,
    pub alpha: f64,
    /// The share of the l1 penalty.
    pub l1_ratio: f64,
    pub has_intercept: bool,
    /// The factor of steps of the intercept: smaller for sparse rows.
    pub intercept_decay: f64,
    pub max_iter: usize,
    pub tol: f64,
    pub shuffle: bool,
    pub schedule: Schedule,
    pub eta0: f64,
    pub power: f64,
    pub patience: usize,
    /// The step from which on coefficients are averaged. 0: they are not.
    pub average: usize,
}

/// Rows of features.
pub enum Source<'a> {
    /// Row after row.
    Dense(Vec<f64>),
    /// Dense features row after row, and sparse ones after them.
    Mixed(Vec<f64>, &'a Sparse),
}

impl Source<'_> {
    /// The product of a row and a vector with a number for each feature.
    pub fn dot(&self, row: usize, with: &[f64]) -> f64 {
        match self {
            Source::Dense(x) => Dense { x, width: with.len() }.dot(row, with),
            Source::Mixed(x, sparse) => {
                let dense = Dense { x, width: with.len() - sparse.width() };
                MixedRow { dense, sparse }.dot(row, with)
            }
        }
    }
}

/// The rows of a descent with their targets.
pub struct DescentRows<'a> {
    pub source: &'a Source<'a>,
    /// All features.
    pub width: usize,
    pub y: &'a [f64],
    /// The factor of steps of each row.
    pub weight: Option<&'a [f64]>,
    /// The factors of rows with targets above 0, and of others.
    pub sides: (f64, f64),
    /// For each row whether it is held out. Empty without early stopping.
    pub held: &'a [bool],
}

/// The end of a descent.
pub struct Descent {
    pub coef: Vec<f64>,
    pub intercept: f64,
    /// The averages of all steps.
    pub average: Option<(Vec<f64>, f64)>,
    /// The objective after each pass, or the score of the held-out rows.
    pub values: Vec<f64>,
}

/// Steps down the gradient of one row after another. `score` gives the score of coefficients on the held-out rows.
///
/// # Errors
/// If a coefficient overflows, and if the user stops the work.
pub fn descend(
    plan: &DescentPlan,
    rows: &DescentRows<'_>,
    seed: u32,
    score: &dyn Fn(&[f64], f64) -> f64,
    name: &str,
    run: &Run<'_>,
) -> Result<Descent, Error> {
    let mut order: Vec<u32> = (0..rows.y.len() as u32).collect();
    let is_scored = !rows.held.is_empty();
    let train = (rows.y.len() - rows.held.iter().filter(|held| **held).count()) as f64;
    let mut state = State::new(plan, rows.width);
    let (mut best, mut idle) = (f64::INFINITY, 0);
    let mut values = Vec::new();
    for pass in 1..=plan.max_iter {
        run.check(|| format!("{} of {} passes", pass - 1, plan.max_iter))?;
        if plan.shuffle {
            shuffle(&mut order, seed);
        }
        let sum = match rows.source {
            Source::Dense(x) => pass_over(plan, rows, Dense { x, width: rows.width }, &order, &mut state),
            Source::Mixed(x, sparse) => {
                let dense = Dense { x, width: rows.width - sparse.width() };
                pass_over(plan, rows, MixedRow { dense, sparse }, &order, &mut state)
            }
        };
        if !(state.intercept.is_finite() && state.w.iter().all(|w| w.is_finite())) {
            let message = format!("the coefficients overflowed in pass {pass}");
            return Err(Error::new(ErrorKind::Overflow, message)
                .help("scale the features, for example with `StandardScaler`")
                .help(format!("or lower `eta0`, which is {}", plan.eta0)));
        }
        // A score is better if it is higher. scikit-learn scores the coefficients before their common factor.
        let value = if is_scored { -score(&state.w, state.intercept) } else { sum / train };
        let title = if is_scored { "validation score" } else { "objective" };
        let shown = if is_scored { -value } else { value };
        values.push(shown);
        run.stage(format!("{name}pass {pass}, {title} {shown:.6}"));
        let improves = plan.tol == f64::NEG_INFINITY || value.is_nan() || best.is_nan() || value <= best - plan.tol;
        idle = if improves { 0 } else { idle + 1 };
        best = if value < best { value } else { best };
        if idle >= plan.patience {
            if plan.schedule == Schedule::Adaptive && state.eta > 1e-6 {
                state.eta /= 5.0;
                idle = 0;
            } else {
                break;
            }
        }
    }
    state.reset();
    let State { w, intercept, average, average_intercept, .. } = state;
    Ok(Descent { coef: w, intercept, average: average.map(|a| (a, average_intercept)), values })
}

/// The shuffle of scikit-learn's `SequentialDataset`: Fisher and Yates with numbers of xorshift.
fn shuffle(order: &mut [u32], seed: u32) {
    let mut state = if seed == 0 { 1 } else { seed };
    let len = order.len();
    for i in 0..len.saturating_sub(1) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let number = state & 0x7fff_ffff;
        order.swap(i, i + (number % (len - i) as u32) as usize);
    }
}

/// Access to rows, for coefficients without their common factor.
trait Features: Copy {
    fn dot(self, row: usize, w: &[f64]) -> f64;

    /// Adds a multiple of a row, and gives the sums of squares and of absolute values of the coefficients that it
    /// touches.
    fn add(self, row: usize, factor: f64, w: &mut [f64]) -> (f64, f64);

    /// The squared norm of a row.
    fn squares(self, row: usize) -> f64;

    /// Calls `work` with the positions that a row touches.
    fn each(self, row: usize, work: impl FnMut(usize));
}

#[derive(Clone, Copy)]
struct Dense<'a> {
    x: &'a [f64],
    width: usize,
}

impl Dense<'_> {
    #[inline(always)]
    fn row(&self, row: usize) -> &[f64] {
        &self.x[row * self.width..(row + 1) * self.width]
    }
}

/// The sum of products, one after another as in scikit-learn. The first steps are so large that another order of the
/// sum would end in other coefficients.
#[inline(always)]
fn product(a: &[f64], b: &[f64]) -> f64 {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let mut sum = 0.0;
    for i in 0..len {
        sum += a[i] * b[i];
    }
    sum
}

#[inline(always)]
fn total(s: [f64; 8]) -> f64 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

impl Features for Dense<'_> {
    #[inline(always)]
    fn dot(self, row: usize, w: &[f64]) -> f64 {
        product(self.row(row), w)
    }

    #[inline(always)]
    fn add(self, row: usize, factor: f64, w: &mut [f64]) -> (f64, f64) {
        let (mut squares, mut absolutes) = ([0.0f64; 8], [0.0f64; 8]);
        let (x8, x_rest) = self.row(row).as_chunks::<8>();
        let (w8, w_rest) = w[..self.width].as_chunks_mut::<8>();
        for (x, w) in x8.iter().zip(w8) {
            for k in 0..8 {
                w[k] += x[k] * factor;
                squares[k] += w[k] * w[k];
                absolutes[k] += w[k].abs();
            }
        }
        let (mut square, mut absolute) = (0.0, 0.0);
        for (x, w) in x_rest.iter().zip(w_rest) {
            *w += x * factor;
            square += *w * *w;
            absolute += w.abs();
        }
        (total(squares) + square, total(absolutes) + absolute)
    }

    #[inline(always)]
    fn squares(self, row: usize) -> f64 {
        product(self.row(row), self.row(row))
    }

    #[inline(always)]
    fn each(self, _: usize, mut work: impl FnMut(usize)) {
        for j in 0..self.width {
            work(j);
        }
    }
}

#[derive(Clone, Copy)]
struct MixedRow<'a> {
    dense: Dense<'a>,
    sparse: &'a Sparse,
}

impl Features for MixedRow<'_> {
    #[inline(always)]
    fn dot(self, row: usize, w: &[f64]) -> f64 {
        let (first, rest) = w.split_at(self.dense.width);
        let mut sum = self.dense.dot(row, first);
        let (columns, values) = self.sparse.row(row);
        for (column, value) in columns.iter().zip(values) {
            sum += rest[*column as usize] * value;
        }
        sum
    }

    #[inline(always)]
    fn add(self, row: usize, factor: f64, w: &mut [f64]) -> (f64, f64) {
        let (mut square, mut absolute) = self.dense.add(row, factor, w);
        let rest = &mut w[self.dense.width..];
        let (columns, values) = self.sparse.row(row);
        for (column, value) in columns.iter().zip(values) {
            let w = &mut rest[*column as usize];
            *w += value * factor;
            square += *w * *w;
            absolute += w.abs();
        }
        (square, absolute)
    }

    #[inline(always)]
    fn squares(self, row: usize) -> f64 {
        self.dense.squares(row) + self.sparse.row(row).1.iter().map(|v| v * v).sum::<f64>()
    }

    #[inline(always)]
    fn each(self, row: usize, mut work: impl FnMut(usize)) {
        for j in 0..self.dense.width {
            work(j);
        }
        for column in self.sparse.row(row).0 {
            work(self.dense.width + *column as usize);
        }
    }
}

/// Coefficients as a vector times a factor (Bottou, Stochastic gradient descent tricks, 2012), and the learning rate.
struct State {
    w: Vec<f64>,
    scale: f64,
    /// The squared l2 norm and the l1 norm of the coefficients that the last step touched.
    squares: f64,
    absolutes: f64,
    intercept: f64,
    average: Option<Vec<f64>>,
    average_intercept: f64,
    /// The average is `(average + a w) / b`.
    a: f64,
    b: f64,
    /// The l1 penalty so far, and that which each coefficient got (Tsuruoka, Tsujii and Ananiadou 2009).
    u: f64,
    q: Vec<f64>,
    eta: f64,
    /// The number of the next step.
    t: f64,
    /// The shift of the schedule [`Schedule::Optimal`].
    shift: f64,
}

impl State {
    fn new(plan: &DescentPlan, width: usize) -> Self {
        let typical = (1.0 / plan.alpha.sqrt()).sqrt();
        let first = typical / plan.loss.slope(1.0, -typical).max(1.0);
        State {
            w: vec![0.0; width],
            scale: 1.0,
            squares: 0.0,
            absolutes: 0.0,
            intercept: 0.0,
            average: (plan.average > 0).then(|| vec![0.0; width]),
            average_intercept: 0.0,
            a: 0.0,
            b: 1.0,
            u: 0.0,
            q: vec![0.0; if plan.has_penalty && plan.l1_ratio > 0.0 { width } else { 0 }],
            eta: plan.eta0,
            t: 1.0,
            shift: 1.0 / (first * plan.alpha),
        }
    }

    #[inline(always)]
    fn shrink(&mut self, factor: f64) {
        self.scale *= factor;
        self.squares *= factor * factor;
        self.absolutes *= factor;
        if self.scale < 1e-9 {
            self.reset();
        }
    }

    /// Multiplies the factor out.
    fn reset(&mut self) {
        if let Some(average) = &mut self.average {
            average.iter_mut().zip(&self.w).for_each(|(a, w)| *a = (*a + self.a * w) * (1.0 / self.b));
            (self.a, self.b) = (0.0, 1.0);
        }
        self.w.iter_mut().for_each(|w| *w *= self.scale);
        self.scale = 1.0;
    }

    #[inline(always)]
    fn add<X: Features>(&mut self, x: X, row: usize, factor: f64) {
        let (squares, absolutes) = x.add(row, factor / self.scale, &mut self.w);
        self.squares = squares * (self.scale * self.scale);
        self.absolutes = absolutes * self.scale;
    }

    #[inline(always)]
    fn add_average<X: Features>(&mut self, x: X, row: usize, factor: f64, number: f64) {
        let Some(average) = &mut self.average else { return };
        let factor = self.a * (-factor / self.scale);
        if factor != 0.0 {
            x.add(row, factor, average);
        }
        let share = 1.0 / number;
        if number > 1.0 {
            self.b /= 1.0 - share;
        }
        self.a += share * self.b * self.scale;
        self.average_intercept += (self.intercept - self.average_intercept) / number;
    }

    /// The l1 penalty of the coefficients that a row touches.
    #[inline(always)]
    fn clip<X: Features>(&mut self, x: X, row: usize) {
        let State { w, q, u, scale, .. } = self;
        x.each(row, |j| {
            let before = w[j];
            if *scale * before > 0.0 {
                w[j] = (before - (*u + q[j]) / *scale).max(0.0);
            } else if *scale * before < 0.0 {
                w[j] = (before + (*u - q[j]) / *scale).min(0.0);
            }
            q[j] += *scale * (w[j] - before);
        });
    }
}

/// A pass over the rows in their order: the sum of the objective.
fn pass_over<X: Features>(plan: &DescentPlan, rows: &DescentRows<'_>, x: X, order: &[u32], state: &mut State) -> f64 {
    let mut sum = 0.0;
    let (is_scored, is_passive) = (!rows.held.is_empty(), plan.schedule.is_passive());
    let l1 = plan.l1_ratio;
    let is_shrunk = plan.has_penalty && l1 < 1.0;
    for row in order {
        let row = *row as usize;
        if is_scored && rows.held[row] {
            continue;
        }
        let y = rows.y[row];
        let p = x.dot(row, &state.w) * state.scale + state.intercept;
        match plan.schedule {
            Schedule::Optimal => state.eta = 1.0 / (plan.alpha * (state.shift + state.t - 1.0)),
            Schedule::InvScaling => state.eta = plan.eta0 / power(state.t, plan.power),
            _ => {}
        }
        if !is_scored {
            sum += plan.loss.value(y, p);
            if plan.has_penalty && !is_passive {
                sum += plan.alpha * ((1.0 - l1) * 0.5 * state.squares + l1 * state.absolutes);
            }
        }
        let Some(update) = size(plan, x, row, (y, p), state.eta) else { continue };
        let side = if y > 0.0 { rows.sides.0 } else { rows.sides.1 };
        let update = update * (side * rows.weight.map_or(1.0, |w| w[row]));
        if is_shrunk {
            state.shrink((1.0 - (1.0 - l1) * state.eta * plan.alpha).max(0.0));
        }
        if update != 0.0 {
            state.add(x, row, update);
            if plan.has_intercept {
                state.intercept += update * plan.intercept_decay;
            }
        }
        if plan.average > 0 && plan.average as f64 <= state.t {
            state.add_average(x, row, update, state.t - plan.average as f64 + 1.0);
        }
        if !state.q.is_empty() {
            state.u += l1 * state.eta * plan.alpha;
            state.clip(x, row);
        }
        state.t += 1.0;
    }
    sum
}

/// The size of a step along a row. `None`: scikit-learn leaves the row out.
#[inline(always)]
fn size<X: Features>(plan: &DescentPlan, x: X, row: usize, (y, p): (f64, f64), eta: f64) -> Option<f64> {
    const MOST: f64 = 1e12;
    let size = match plan.schedule {
        Schedule::Pa1 => {
            let squares = x.squares(row);
            if squares == 0.0 {
                return None;
            }
            (plan.loss.value(y, p) / squares).min(plan.eta0)
        }
        Schedule::Pa2 => plan.loss.value(y, p) / (x.squares(row) + 0.5 / plan.eta0),
        _ => {
            let slope = plan.loss.slope(y, p);
            return Some(-eta * if slope.is_nan() { slope } else { slope.clamp(-MOST, MOST) });
        }
    };
    Some(match plan.loss {
        DescentLoss::Hinge(_) => size * y,
        _ if y - p < 0.0 => -size,
        _ => size,
    })
}

/// `t` to a power, with roots for scikit-learn's defaults.
#[inline(always)]
fn power(t: f64, power: f64) -> f64 {
    if power == 0.5 {
        t.sqrt()
    } else if power == 0.25 {
        t.sqrt().sqrt()
    } else {
        t.powf(power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_rows_is_that_of_scikit_learn() {
        // sklearn.utils._seq_dataset.ArrayDataset64(..)._shuffle_py(123), twice, and the numbers of the rows.
        let mut order: Vec<u32> = (0..8).collect();
        shuffle(&mut order, 123);
        shuffle(&mut order, 123);
        assert_eq!(order, [6, 5, 2, 7, 3, 4, 1, 0]);
    }
}
