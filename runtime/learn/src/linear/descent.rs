//! Coordinate descent for lasso and elastic net (Friedman, Hastie and Tibshirani 2010). The stop and the gap safe
//! screening (Ndiaye et al. 2017, arXiv 1611.05780) are those of scikit-learn's `sklearn/linear_model/_cd_fast.pyx`.

use onrush_dense::Matrix;

use super::design::Gram;
use crate::error::Error;
use crate::random::Mt19937;
use crate::run::Run;
use crate::sums::dot;

/// How the descent reads the columns.
pub trait DescentColumns {
    fn width(&self) -> usize;
    /// The squared norm of a column.
    fn square(&self, j: usize) -> f64;
    /// The product of a column and the residuals.
    fn slope(&self, j: usize) -> f64;
    /// Follows a coefficient that grew by this much.
    fn update_coefficient(&mut self, j: usize, by: f64);
    /// The squared norms of the residuals, and their product with the target, at these coefficients.
    fn residual_squares(&self, coef: &[f64]) -> (f64, f64);
    /// The squared norm of the target.
    fn target(&self) -> f64;
    /// About how many multiplications a pass over all columns takes.
    fn cost(&self) -> usize;
}

/// Sums of products in units of the data.
pub struct Products {
    pub g: Matrix,
    pub q: Vec<f64>,
    pub yy: f64,
    /// `g` times the coefficients.
    at: Vec<f64>,
}

impl Products {
    pub fn new(gram: &Gram) -> Self {
        let d = gram.q.len();
        let y = gram.scale[d];
        let mut g = Matrix::zeros(d, d);
        for j in 0..d {
            for i in 0..d {
                g.set(i, j, gram.g.at(i, j) / gram.scale[i] / gram.scale[j]);
            }
        }
        let q = (0..d).map(|j| gram.q[j] / gram.scale[j] / y).collect();
        Products { g, q, yy: gram.yy / y / y, at: vec![0.0; d] }
    }
}

impl DescentColumns for Products {
    fn width(&self) -> usize {
        self.q.len()
    }

    fn square(&self, j: usize) -> f64 {
        self.g.at(j, j)
    }

    fn slope(&self, j: usize) -> f64 {
        self.q[j] - self.at[j]
    }

    fn update_coefficient(&mut self, j: usize, by: f64) {
        self.at.iter_mut().zip(self.g.column(j)).for_each(|(a, g)| *a += g * by);
    }

    fn residual_squares(&self, coef: &[f64]) -> (f64, f64) {
        let along = dot(coef, &self.q);
        (self.yy + dot(coef, &self.at) - 2.0 * along, self.yy - along)
    }

    fn target(&self) -> f64 {
        self.yy
    }

    fn cost(&self) -> usize {
        self.q.len() * self.q.len()
    }
}

/// The centred columns themselves, in units of the data, and the residuals. For more columns than rows.
pub struct Residuals {
    x: Matrix,
    y: Vec<f64>,
    squares: Vec<f64>,
    residual: Vec<f64>,
}

impl Residuals {
    pub fn new(x: Matrix, y: Vec<f64>) -> Self {
        let squares = (0..x.columns).map(|j| dot(x.column(j), x.column(j))).collect();
        Residuals { squares, residual: y.clone(), x, y }
    }

    /// The products of the columns and the target.
    pub fn along_target(&self) -> Vec<f64> {
        (0..self.x.columns).map(|j| dot(self.x.column(j), &self.y)).collect()
    }
}

impl DescentColumns for Residuals {
    fn width(&self) -> usize {
        self.x.columns
    }

    fn square(&self, j: usize) -> f64 {
        self.squares[j]
    }

    fn slope(&self, j: usize) -> f64 {
        dot(self.x.column(j), &self.residual)
    }

    fn update_coefficient(&mut self, j: usize, by: f64) {
        self.residual.iter_mut().zip(self.x.column(j)).for_each(|(r, x)| *r -= x * by);
    }

    fn residual_squares(&self, _: &[f64]) -> (f64, f64) {
        (dot(&self.residual, &self.residual), dot(&self.residual, &self.y))
    }

    fn target(&self) -> f64 {
        dot(&self.y, &self.y)
    }

    fn cost(&self) -> usize {
        self.x.data.len()
    }
}

/// The objective of the descent, `|y - x w|^2 / 2 + l1 |w|_1 + l2 |w|^2 / 2`, and when it stops.
#[derive(Clone, Copy)]
pub struct Goal {
    pub l1: f64,
    pub l2: f64,
    pub positive: bool,
    pub max_iter: usize,
    /// The duality gap may be this multiple of the squared norm of the target.
    pub tol: f64,
}

/// The end of a descent.
pub struct DescentEnd {
    pub gap: f64,
    pub iterations: usize,
    pub converged: bool,
}

/// scikit-learn's `our_rand_r`: a generator of 32 bits (Marsaglia, Xorshift RNGs, 2003).
pub struct DescentOrder(u32);

impl DescentOrder {
    pub fn new(random: &mut Mt19937) -> Self {
        let seed = random.randint(0, 2_147_483_647) as u32;
        DescentOrder(if seed == 0 { 1 } else { seed })
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        (self.0 % 0x8000_0000) as usize % n
    }
}

/// Moves the coefficients to the minimum. They and `columns` must belong together. `order`: coordinates at random, else
/// in turn.
///
/// # Errors
/// If the user stops the work.
pub fn descend<C: DescentColumns>(
    columns: &mut C,
    coef: &mut [f64],
    goal: Goal,
    mut order: Option<DescentOrder>,
    run: &Run<'_>,
) -> Result<DescentEnd, Error> {
    let stop = goal.tol * columns.target();
    let (mut gap, mut dual) = duality_gap(columns, coef, goal);
    if (0.0..=stop).contains(&gap) {
        return Ok(DescentEnd { gap, iterations: 0, converged: true });
    }
    let mut active: Vec<usize> = (0..coef.len()).filter(|j| columns.square(*j) > 0.0).collect();
    screen(columns, coef, goal, gap, &dual, &mut active);
    let between = (20_000_000 / columns.cost().max(1)).max(1);
    for iteration in 0..goal.max_iter {
        if iteration % between == 0 {
            run.check(|| format!("{iteration} of {} iterations", goal.max_iter))?;
        }
        let (mut largest, mut change) = (0.0f64, 0.0f64);
        for turn in 0..active.len() {
            let j = active[order.as_mut().map_or(turn, |o| o.below(active.len()))];
            let (before, square) = (coef[j], columns.square(j));
            let pull = columns.slope(j) + before * square;
            coef[j] = match goal.positive && pull < 0.0 {
                true => 0.0,
                false => shrunk(pull, goal.l1) / (square + goal.l2),
            };
            if coef[j] != before {
                columns.update_coefficient(j, coef[j] - before);
            }
            change = change.max((coef[j] - before).abs());
            largest = largest.max(coef[j].abs());
        }
        if largest == 0.0 || change / largest <= goal.tol || iteration + 1 == goal.max_iter {
            (gap, dual) = duality_gap(columns, coef, goal);
            if gap <= stop {
                return Ok(DescentEnd { gap, iterations: iteration + 1, converged: true });
            }
            screen(columns, coef, goal, gap, &dual, &mut active);
        }
    }
    Ok(DescentEnd { gap, iterations: goal.max_iter, converged: false })
}

/// Soft thresholding.
pub fn shrunk(value: f64, by: f64) -> f64 {
    let size = (value.abs() - by).max(0.0);
    if value < 0.0 { -size } else { size }
}

/// The duality gap, and the gradient that the screening uses with its largest value.
fn duality_gap<C: DescentColumns>(columns: &C, coef: &[f64], goal: Goal) -> (f64, (Vec<f64>, f64)) {
    let (squares, along) = columns.residual_squares(coef);
    let norm2 = dot(coef, coef);
    let mut slopes: Vec<f64> = (0..coef.len()).map(|j| columns.slope(j)).collect();
    if goal.l1 == 0.0 {
        let total = dot(&slopes, &slopes);
        let gap = match goal.l2 == 0.0 {
            // Least squares has no dual: the condition of LSQR.
            true => total,
            false => squares + 0.5 * goal.l2 * norm2 - along + 0.5 / goal.l2 * total,
        };
        return (gap, (slopes, total));
    }
    slopes.iter_mut().zip(coef).for_each(|(s, w)| *s -= goal.l2 * w);
    let largest = match goal.positive {
        true => slopes.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        false => slopes.iter().fold(0.0, |a: f64, s| a.max(s.abs())),
    };
    let l1: f64 = coef.iter().map(|w| w.abs()).sum();
    let primal = 0.5 * (squares + goal.l2 * norm2) + goal.l1 * l1;
    let scale = if largest > goal.l1 { goal.l1 / largest } else { 1.0 };
    let value = -0.5 * scale * scale * (squares + goal.l2 * norm2) + scale * along;
    (primal - value, (slopes, largest))
}

/// Removes columns whose coefficients are 0 at the optimum, as the duality gap proves.
fn screen<C: DescentColumns>(
    columns: &mut C,
    coef: &mut [f64],
    goal: Goal,
    gap: f64,
    dual: &(Vec<f64>, f64),
    active: &mut Vec<usize>,
) {
    if goal.l1 == 0.0 {
        return;
    }
    let radius = (2.0 * gap.abs()).sqrt() / goal.l1;
    active.retain(|j| {
        let theta = dual.0[*j] / goal.l1.max(dual.1);
        let distance = (1.0 - theta.abs()) / (columns.square(*j) + goal.l2).sqrt();
        let kept = distance.partial_cmp(&radius) != Some(std::cmp::Ordering::Greater);
        if !kept && coef[*j] != 0.0 {
            columns.update_coefficient(*j, -coef[*j]);
            coef[*j] = 0.0;
        }
        kept
    });
}
