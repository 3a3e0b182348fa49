//! Coordinate descent for linear machines, as in LIBLINEAR. Losses that are not squared are minimised in the dual
//! (Hsieh et al. 2008, Ho and Lin 2012). The l1 penalty is minimised in the primal (Yuan et al. 2010, section 4).
//!
//! Rows and columns are taken in a random order that a seed decides.

use super::design::{ByColumn, ByRow, Entries};
use super::newton::NewtonEnd;
use crate::error::Error;
use crate::random::Mt19937;
use crate::run::Run;

/// Smallest change of a coordinate that counts.
const LEAST_STEP: f64 = 1e-12;

/// The positions that are still active, shuffled for a pass.
struct Active {
    positions: Vec<u32>,
    count: usize,
    random: Mt19937,
}

impl Active {
    fn new(positions: Vec<u32>, seed: u32) -> Self {
        Active { count: positions.len(), positions, random: Mt19937::new(seed) }
    }

    /// The rows that can move a coefficient.
    fn rows(squares: &[f64], c: &[f64], seed: u32) -> Self {
        let moves = |row: &u32| squares[*row as usize] > 0.0 && c[*row as usize] > 0.0;
        Active::new((0..squares.len() as u32).filter(moves).collect(), seed)
    }

    fn shuffle(&mut self) {
        self.random.shuffle(&mut self.positions[..self.count]);
    }

    /// Calls `visit` with each active position. A position for which it is false becomes inactive.
    fn pass(&mut self, mut visit: impl FnMut(usize) -> bool) {
        let mut at = 0;
        while at < self.count {
            if visit(self.positions[at] as usize) {
                at += 1;
            } else {
                self.count -= 1;
                self.positions.swap(at, self.count);
            }
        }
    }

    fn is_whole(&self) -> bool {
        self.count == self.positions.len()
    }

    fn all(&mut self) {
        self.count = self.positions.len();
    }
}

/// Minimises `w w / 2 + sum c max(0, 1 - y x w)`. It stops once the projected gradients of a pass differ by at most
/// `tol`.
pub fn hinge(
    rows: &ByRow<'_>,
    width: usize,
    y: &[f64],
    c: &[f64],
    tol: f64,
    (max_iter, seed): (usize, u32),
    run: &Run<'_>,
) -> Result<NewtonEnd, Error> {
    let squares: Vec<f64> = (0..y.len()).map(|row| rows.square(row)).collect();
    let mut w = vec![0.0; width];
    let mut alpha = vec![0.0; y.len()];
    let mut active = Active::rows(&squares, c, seed);
    let (mut most_before, mut least_before) = (f64::INFINITY, f64::NEG_INFINITY);
    for pass in 0..max_iter {
        run.check(|| format!("pass {pass} of {max_iter}"))?;
        run.stage(format!("pass {} over {} rows", pass + 1, active.count));
        let (mut most, mut least) = (f64::NEG_INFINITY, f64::INFINITY);
        active.shuffle();
        active.pass(|row| {
            let gradient = rows.dot(row, &w) * y[row] - 1.0;
            let (low, high) = (alpha[row] <= 0.0, alpha[row] >= c[row]);
            if (low && gradient > most_before) || (high && gradient < least_before) {
                return false;
            }
            let projected = match (low, high) {
                (true, _) => gradient.min(0.0),
                (_, true) => gradient.max(0.0),
                _ => gradient,
            };
            most = most.max(projected);
            least = least.min(projected);
            if projected.abs() > LEAST_STEP {
                let before = alpha[row];
                alpha[row] = (before - gradient / squares[row]).clamp(0.0, c[row]);
                rows.add(row, (alpha[row] - before) * y[row], &mut w);
            }
            true
        });
        if most - least <= tol || active.count == 0 {
            if active.is_whole() {
                return Ok(NewtonEnd { w, n_iter: pass + 1, converged: true });
            }
            active.all();
            (most_before, least_before) = (f64::INFINITY, f64::NEG_INFINITY);
            continue;
        }
        most_before = if most <= 0.0 { f64::INFINITY } else { most };
        least_before = if least >= 0.0 { f64::NEG_INFINITY } else { least };
    }
    Ok(NewtonEnd { w, n_iter: max_iter, converged: false })
}

/// The Newton step of a coordinate at `value` with an absolute value in its objective, by the derivatives: `slopes` are
/// those to the right and to the left of 0.
fn step(value: f64, slopes: (f64, f64), curve: f64) -> f64 {
    if slopes.0 < curve * value {
        -slopes.0 / curve
    } else if slopes.1 > curve * value {
        -slopes.1 / curve
    } else {
        -value
    }
}

/// Minimises `w w / 2 + sum c max(0, |y - x w| - epsilon)`. It stops once the sum of the violations of a pass is at
/// most `tol` times that of the first one.
pub fn insensitive(
    rows: &ByRow<'_>,
    width: usize,
    (y, epsilon): (&[f64], f64),
    c: &[f64],
    tol: f64,
    (max_iter, seed): (usize, u32),
    run: &Run<'_>,
) -> Result<NewtonEnd, Error> {
    let squares: Vec<f64> = (0..y.len()).map(|row| rows.square(row)).collect();
    let mut w = vec![0.0; width];
    let mut beta = vec![0.0; y.len()];
    let mut active = Active::rows(&squares, c, seed);
    let (mut before, mut first) = (f64::INFINITY, None);
    for pass in 0..max_iter {
        run.check(|| format!("pass {pass} of {max_iter}"))?;
        run.stage(format!("pass {} over {} rows", pass + 1, active.count));
        let (mut most, mut sum) = (0.0f64, 0.0);
        active.shuffle();
        active.pass(|row| {
            let gradient = rows.dot(row, &w) - y[row];
            let (right, left) = (gradient + epsilon, gradient - epsilon);
            let now = beta[row];
            let (violation, is_idle) = if now == 0.0 {
                ((-right).max(left).max(0.0), right > before && left < -before)
            } else if now >= c[row] {
                (right.max(0.0), right < -before)
            } else if now <= -c[row] {
                ((-left).max(0.0), left > before)
            } else {
                (if now > 0.0 { right.abs() } else { left.abs() }, false)
            };
            if is_idle {
                return false;
            }
            most = most.max(violation);
            sum += violation;
            let change = step(now, (right, left), squares[row]);
            if change.abs() >= LEAST_STEP {
                beta[row] = (now + change).clamp(-c[row], c[row]);
                rows.add(row, beta[row] - now, &mut w);
            }
            true
        });
        let start = *first.get_or_insert(sum);
        if sum <= tol * start {
            if active.is_whole() {
                return Ok(NewtonEnd { w, n_iter: pass + 1, converged: true });
            }
            active.all();
            before = f64::INFINITY;
            continue;
        }
        before = most;
    }
    Ok(NewtonEnd { w, n_iter: max_iter, converged: false })
}

/// Minimises `|w| + sum c max(0, 1 - y x w)^2`, the penalty being the l1 norm. It stops once the sum of the violations
/// of a pass is at most `tol` times that of the first one.
pub fn sparse_coefficients(
    features: &ByColumn<'_>,
    y: &[f64],
    c: &[f64],
    tol: f64,
    (max_iter, seed): (usize, u32),
    run: &Run<'_>,
) -> Result<NewtonEnd, Error> {
    let rows = y.len();
    let mut w = vec![0.0; features.columns.len()];
    let square = |column: &Entries<'_>| {
        let mut sum = 0.0;
        column.each(|row, x| sum += c[row] * x * x);
        sum
    };
    let squares: Vec<f64> = features.columns.iter().map(square).collect();
    // 1 - y x w.
    let mut slack = vec![1.0; rows];
    let mut active = Active::new((0..w.len() as u32).collect(), seed);
    let (mut before, mut first) = (f64::INFINITY, None);
    for pass in 0..max_iter {
        run.check(|| format!("pass {pass} of {max_iter}"))?;
        run.stage(format!("pass {} over {} coefficients", pass + 1, active.count));
        let (mut most, mut sum) = (0.0f64, 0.0);
        active.shuffle();
        active.pass(|j| {
            let column = &features.columns[j];
            let (mut slope, mut curve) = (0.0, 0.0);
            column.each(|row, x| {
                if slack[row] > 0.0 {
                    slope -= c[row] * y[row] * x * slack[row];
                    curve += c[row] * x * x;
                }
            });
            let (slope, curve) = (2.0 * slope, (2.0 * curve).max(1e-12));
            let (right, left) = (slope + 1.0, slope - 1.0);
            let share = before / rows as f64;
            let violation = if w[j] == 0.0 {
                if right > share && left < -share {
                    return false;
                }
                (-right).max(left).max(0.0)
            } else if w[j] > 0.0 {
                right.abs()
            } else {
                left.abs()
            };
            most = most.max(violation);
            sum += violation;
            let change = step(w[j], (right, left), curve);
            if change.abs() >= LEAST_STEP {
                w[j] += search(column, (y, c), &mut slack, (w[j], squares[j]), slope, change);
            }
            true
        });
        let start = *first.get_or_insert(sum);
        if sum <= tol * start {
            if active.is_whole() {
                return Ok(NewtonEnd { w, n_iter: pass + 1, converged: true });
            }
            active.all();
            before = f64::INFINITY;
            continue;
        }
        before = most;
    }
    Ok(NewtonEnd { w, n_iter: max_iter, converged: false })
}

/// Halves a change of a coefficient until the objective falls enough, and moves the slacks: the change that was made.
/// `square` is the sum of squares of the column, which bounds the losses.
fn search(
    column: &Entries<'_>,
    (y, c): (&[f64], &[f64]),
    slack: &mut [f64],
    (value, square): (f64, f64),
    slope: f64,
    mut change: f64,
) -> f64 {
    /// Share of the expected descent that is enough.
    const ENOUGH: f64 = 0.01;
    let loss = |slack: &[f64], change: f64| {
        let mut sum = 0.0;
        column.each(|row, x| {
            let slack = slack[row] - change * y[row] * x;
            if slack > 0.0 {
                sum += c[row] * slack * slack;
            }
        });
        sum
    };
    let mut before = None;
    for _ in 0..20 {
        let penalty = (value + change).abs() - value.abs();
        let rise = penalty - ENOUGH * (penalty + slope * change);
        let falls = square * change * change + slope * change + rise <= 0.0
            || loss(slack, change) - *before.get_or_insert_with(|| loss(slack, 0.0)) + rise <= 0.0;
        if falls {
            column.each(|row, x| slack[row] -= change * y[row] * x);
            return change;
        }
        change *= 0.5;
    }
    0.0
}
