//! The bounded simplex method (Dantzig 1955) for linear programs with few constraints and many variables: the largest
//! `cost x` with `A x = 0` and bounds. Every bound includes 0, so that all variables may start there.

use crate::error::{Error, ErrorKind};
use crate::run::Run;

/// Columns that are priced together.
const BLOCK: usize = 1024;

/// Steps after which the inverse of the basis is computed anew.
const RENEWED: usize = 128;

/// Steps without progress after which the first variables are taken (Bland 1977), so that no cycle is possible.
const STALLED: usize = 256;

/// Values below it are 0.
const TINY: f64 = 1e-11;

/// A linear program. The last variables are slacks, one for each constraint.
pub struct Program<'a> {
    /// For each constraint its factors of the variables.
    pub rows: Vec<&'a [f64]>,
    pub cost: &'a [f64],
    /// For each variable, then for each slack.
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// Reduced costs up to it count as 0.
    pub tol: f64,
}

/// The prices of the constraints at the optimum, and the number of steps.
pub struct Prices {
    pub prices: Vec<f64>,
    pub steps: usize,
}

struct Simplex<'a, 'b> {
    program: &'b Program<'a>,
    /// The value of each variable.
    values: Vec<f64>,
    /// The variable of each row of the basis.
    basis: Vec<usize>,
    is_basic: Vec<bool>,
    /// The inverse of the basis, row after row.
    inverse: Vec<f64>,
    prices: Vec<f64>,
    next: usize,
}

/// Solves a program.
///
/// # Errors
/// If the steps do not end, or the user stops the work.
pub fn solve(program: &Program<'_>, run: &Run<'_>) -> Result<Prices, Error> {
    let (n, m) = (program.cost.len(), program.rows.len());
    let most = 200 * (n + m) + 10_000;
    let mut simplex = Simplex {
        program,
        values: vec![0.0; n + m],
        basis: (n..n + m).collect(),
        is_basic: (0..n + m).map(|j| j >= n).collect(),
        inverse: (0..m * m).map(|i| f64::from(u8::from(i / m.max(1) == i % m.max(1)))).collect(),
        prices: vec![0.0; m],
        next: 0,
    };
    let (mut steps, mut stalled, mut since) = (0, 0, 0);
    loop {
        if steps % 64 == 0 {
            run.check(|| format!("{steps} steps of the simplex method"))?;
        }
        let Some((entering, reduced)) = simplex.entering(stalled > STALLED) else {
            // The last prices are computed without the errors of the steps.
            if since == 0 || !simplex.renewed() {
                return Ok(Prices { prices: simplex.prices, steps });
            }
            since = 0;
            continue;
        };
        let length = simplex.step(entering, reduced, stalled > STALLED);
        stalled = if length > 0.0 { 0 } else { stalled + 1 };
        (steps, since) = (steps + 1, since + 1);
        if since >= RENEWED {
            simplex.renewed();
            since = 0;
        }
        if steps > most {
            let message = format!("the linear program is not solved after {most} steps");
            return Err(Error::new(ErrorKind::NoConvergence, message).help("scale the features and the target"));
        }
    }
}

impl Simplex<'_, '_> {
    fn count(&self) -> usize {
        self.program.cost.len()
    }

    /// The factors of a variable in the constraints.
    fn column(&self, variable: usize) -> Vec<f64> {
        let n = self.count();
        (0..self.basis.len())
            .map(|k| if variable < n { self.program.rows[k][variable] } else { f64::from(u8::from(variable - n == k)) })
            .collect()
    }

    fn reduced(&self, variable: usize) -> f64 {
        let n = self.count();
        if variable >= n {
            return -self.prices[variable - n];
        }
        let priced: f64 = self.program.rows.iter().zip(&self.prices).map(|(row, price)| row[variable] * price).sum();
        self.program.cost[variable] - priced
    }

    /// Whether the variable may move in the direction of a reduced cost.
    fn may_move(&self, variable: usize, reduced: f64) -> bool {
        let Program { lower, upper, tol, .. } = self.program;
        !self.is_basic[variable]
            && (reduced > *tol && self.values[variable] < upper[variable]
                || reduced < -tol && self.values[variable] > lower[variable])
    }

    /// The variable of the next step with its reduced cost: the largest one of a block, or the first one. `None`: the
    /// optimum is reached.
    fn entering(&mut self, first: bool) -> Option<(usize, f64)> {
        let all = self.values.len();
        let mut start = if first { 0 } else { self.next };
        for _ in 0..all.div_ceil(BLOCK) + 1 {
            let end = all.min(start + BLOCK);
            let mut best: Option<(usize, f64)> = None;
            for variable in start..end {
                let reduced = self.reduced(variable);
                if self.may_move(variable, reduced) && best.is_none_or(|(_, most)| reduced.abs() > f64::abs(most)) {
                    best = Some((variable, reduced));
                    if first {
                        return best;
                    }
                }
            }
            start = if end == all { 0 } else { end };
            if best.is_some() {
                self.next = start;
                return best;
            }
        }
        None
    }

    /// Moves a variable as far as the bounds allow. Gives the length of the step.
    fn step(&mut self, entering: usize, reduced: f64, first: bool) -> f64 {
        let m = self.basis.len();
        let sign = if reduced > 0.0 { 1.0 } else { -1.0 };
        let column = self.column(entering);
        let turned: Vec<f64> =
            (0..m).map(|i| self.inverse[i * m..(i + 1) * m].iter().zip(&column).map(|(a, b)| a * b).sum()).collect();
        let Program { lower, upper, .. } = self.program;
        let own = match sign > 0.0 {
            true => upper[entering] - self.values[entering],
            false => self.values[entering] - lower[entering],
        };
        let (mut length, mut leaving): (f64, Option<usize>) = (own, None);
        for (i, change) in turned.iter().enumerate() {
            let (speed, variable) = (-sign * change, self.basis[i]);
            if speed.abs() <= TINY {
                continue;
            }
            let room = if speed > 0.0 {
                upper[variable] - self.values[variable]
            } else {
                self.values[variable] - lower[variable]
            };
            let limit = room.max(0.0) / speed.abs();
            let is_tie = (limit - length).abs() <= TINY * (1.0 + length.min(1e9));
            let is_better = match leaving {
                // The largest pivot of equal steps keeps the most digits.
                Some(other) if is_tie && first => variable < self.basis[other],
                Some(other) if is_tie => change.abs() > turned[other].abs(),
                _ => limit < length,
            };
            if is_better {
                (length, leaving) = (limit.min(length), Some(i));
            }
        }
        for (i, change) in turned.iter().enumerate() {
            self.values[self.basis[i]] -= sign * change * length;
        }
        match leaving {
            None => self.values[entering] = if sign > 0.0 { upper[entering] } else { lower[entering] },
            Some(row) => {
                self.values[entering] += sign * length;
                let out = self.basis[row];
                // The variable that leaves is at a bound, up to rounding.
                self.values[out] = if -sign * turned[row] > 0.0 { upper[out] } else { lower[out] };
                self.pivot(row, entering, &turned, reduced);
            }
        }
        length
    }

    /// Takes a variable into a row of the basis.
    fn pivot(&mut self, row: usize, entering: usize, turned: &[f64], reduced: f64) {
        let m = self.basis.len();
        self.is_basic[self.basis[row]] = false;
        self.is_basic[entering] = true;
        self.basis[row] = entering;
        let pivot = turned[row];
        let own: Vec<f64> = self.inverse[row * m..(row + 1) * m].iter().map(|v| v / pivot).collect();
        for (price, v) in self.prices.iter_mut().zip(&own) {
            *price += reduced * v;
        }
        for (i, factor) in turned.iter().enumerate().filter(|(i, factor)| *i != row && **factor != 0.0) {
            self.inverse[i * m..(i + 1) * m].iter_mut().zip(&own).for_each(|(v, own)| *v -= factor * own);
        }
        self.inverse[row * m..(row + 1) * m].copy_from_slice(&own);
    }

    /// Computes the inverse, the prices and the values of the basis from the data. False if the basis is singular.
    fn renewed(&mut self) -> bool {
        let m = self.basis.len();
        let mut matrix = onrush_dense::Matrix::zeros(m, m);
        for (i, variable) in self.basis.iter().enumerate() {
            matrix.column_mut(i).copy_from_slice(&self.column(*variable));
        }
        let Some(inverse) = inverted(&matrix) else { return false };
        self.inverse = inverse;
        let n = self.count();
        let cost = |variable: usize| if variable < n { self.program.cost[variable] } else { 0.0 };
        let costs: Vec<f64> = self.basis.iter().map(|variable| cost(*variable)).collect();
        self.prices = (0..m).map(|k| (0..m).map(|i| costs[i] * self.inverse[i * m + k]).sum()).collect();
        let rest: Vec<f64> = (0..m)
            .map(|k| {
                let own = if self.is_basic[n + k] { 0.0 } else { self.values[n + k] };
                let row = self.program.rows[k].iter().zip(&self.values).zip(&self.is_basic);
                own + row.filter(|(_, basic)| !**basic).map(|((a, v), _)| a * v).sum::<f64>()
            })
            .collect();
        for i in 0..m {
            let value: f64 = self.inverse[i * m..(i + 1) * m].iter().zip(&rest).map(|(a, b)| a * b).sum();
            let variable = self.basis[i];
            self.values[variable] = (-value).clamp(self.program.lower[variable], self.program.upper[variable]);
        }
        true
    }
}

/// The inverse of a matrix, row after row, by Gauss and Jordan with the largest pivots.
fn inverted(matrix: &onrush_dense::Matrix) -> Option<Vec<f64>> {
    let m = matrix.rows;
    let mut left = matrix.transposed().data;
    let mut right: Vec<f64> = (0..m * m).map(|i| f64::from(u8::from(i / m == i % m))).collect();
    for k in 0..m {
        let row = (k..m).max_by(|a, b| left[a * m + k].abs().total_cmp(&left[b * m + k].abs()))?;
        let pivot = left[row * m + k];
        if pivot.abs() < f64::MIN_POSITIVE {
            return None;
        }
        for j in 0..m {
            left.swap(k * m + j, row * m + j);
            right.swap(k * m + j, row * m + j);
            left[k * m + j] /= pivot;
            right[k * m + j] /= pivot;
        }
        for i in (0..m).filter(|i| *i != k) {
            let factor = left[i * m + k];
            if factor != 0.0 {
                for j in 0..m {
                    left[i * m + j] -= factor * left[k * m + j];
                    right[i * m + j] -= factor * right[k * m + j];
                }
            }
        }
    }
    Some(right)
}
