//! Sequential minimal optimisation with second-order working sets, as in LIBSVM. Fan, Chen and Lin, Working set
//! selection using second order information for training support vector machines, 2005.
//!
//! The objective is `b K b / 2 + q b` with bounds of each variable and constant sums over groups of variables. `b` is
//! LIBSVM's `y alpha`: its signs are those of the classes. Regressions have two variables for each row.

use std::ops::Range;

use super::kernel::{Kernel, KernelPoints};
use crate::error::{Error, ErrorKind};
use crate::neighbors::tile::LANES;
use crate::run::Run;

/// The least curvature of a pair, as in LIBSVM.
const LEAST_CURVE: f64 = 1e-12;

/// Bytes of stored rows of the kernel, of all problems that are solved at a time.
pub const CACHE: usize = 512 << 20;

/// Steps between two looks at the user.
const STEPS: u64 = 2048;

pub struct DualProblem<'a> {
    pub points: &'a KernelPoints,
    pub kernel: &'a Kernel,
    /// The linear part of the objective for each variable. The kernel row of variable `t` is `t` modulo the rows.
    pub linear: Vec<f64>,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    /// The variables at the start, which set the constant sums.
    pub start: Vec<f64>,
    /// The variables of each constant sum, side by side.
    pub groups: Vec<Range<usize>>,
}

/// The variables at the optimum.
pub struct DualSolution {
    pub b: Vec<f64>,
    /// For each group the multiplier of its constant sum: the gradient of its free variables.
    pub multipliers: Vec<f64>,
    pub n_iter: u64,
    pub converged: bool,
}

/// When to stop, and how much to store.
#[derive(Clone, Copy)]
pub struct SmoLimits {
    /// The largest violation of the optimality conditions.
    pub tol: f64,
    /// Most steps. `None`: no limit.
    pub max_iter: Option<u64>,
    /// Bytes of stored rows of the kernel.
    pub cache: usize,
}

/// Rows of the kernel, the least recently used one replaced.
struct Cache {
    rows: Vec<Vec<f64>>,
    /// For each stored row the last use.
    used: Vec<u64>,
    /// For each stored row its position.
    row_of: Vec<u32>,
    /// For each row of the kernel where it is stored.
    slot_of: Vec<u32>,
    most: usize,
    clock: u64,
}

impl Cache {
    const ABSENT: u32 = u32::MAX;

    fn new(rows: usize, bytes: usize) -> Self {
        let most = (bytes / (rows * size_of::<f64>()).max(1)).clamp(2, rows.max(2));
        Cache {
            rows: Vec::new(),
            used: Vec::new(),
            row_of: Vec::new(),
            slot_of: vec![Self::ABSENT; rows],
            most,
            clock: 0,
        }
    }

    /// The place of a row. It is computed if need be, and replaces no row of the last call.
    fn slot(&mut self, row: usize, problem: &DualProblem<'_>) -> usize {
        self.clock += 1;
        if self.slot_of[row] != Self::ABSENT {
            let slot = self.slot_of[row] as usize;
            self.used[slot] = self.clock;
            return slot;
        }
        let slot = if self.rows.len() < self.most {
            self.rows.push(vec![0.0; problem.points.rows()]);
            self.used.push(0);
            self.row_of.push(0);
            self.rows.len() - 1
        } else {
            let oldest = (0..self.used.len()).fold(0, |a, b| if self.used[b] < self.used[a] { b } else { a });
            self.slot_of[self.row_of[oldest] as usize] = Self::ABSENT;
            oldest
        };
        problem.kernel.values(problem.points.row(row), problem.points, &mut self.rows[slot]);
        self.used[slot] = self.clock;
        self.row_of[slot] = row as u32;
        self.slot_of[row] = slot as u32;
        slot
    }
}

/// Variables side by side of one group, whose kernel rows are side by side.
#[derive(Clone)]
struct Piece {
    group: usize,
    variables: Range<usize>,
    /// The kernel row of the first one.
    first: usize,
}

struct State {
    b: Vec<f64>,
    gradient: Vec<f64>,
    /// 0 for variables that may grow, else minus infinity.
    up: Vec<f64>,
    /// 0 for variables that may fall, else minus infinity.
    down: Vec<f64>,
    diagonal: Vec<f64>,
    pieces: Vec<Piece>,
    /// For each group the variable that may grow with the steepest descent, and this descent.
    steepest: Vec<(f64, usize)>,
}

/// Minimises.
///
/// # Errors
/// If values of the kernel overflow, and if the user stops the work.
pub fn solve(problem: &DualProblem<'_>, limits: SmoLimits, run: &Run<'_>) -> Result<DualSolution, Error> {
    let mut cache = Cache::new(problem.points.rows(), limits.cache);
    let mut state = State::new(problem, &mut cache);
    if state.diagonal.iter().any(|value| !value.is_finite()) {
        let message = "the values of the kernel are not finite numbers: the values of the data are too large";
        return Err(Error::new(ErrorKind::Overflow, message).help("scale the features, such as with `StandardScaler`"));
    }
    let rows = problem.points.rows();
    let mut n_iter = 0;
    let converged = loop {
        if n_iter % STEPS == 0 {
            run.check(|| format!("{n_iter} steps"))?;
        }
        if limits.max_iter.is_some_and(|most| n_iter >= most) {
            break false;
        }
        // A pair for each group, of which the one with the largest gain moves.
        let (mut violation, mut best) = (f64::NEG_INFINITY, (f64::NEG_INFINITY, 0, 0));
        for group in 0..problem.groups.len() {
            let (descent, i) = state.steepest[group];
            if descent == f64::NEG_INFINITY {
                continue;
            }
            let slot = cache.slot(i % rows, problem);
            let (gain, j, ascent) = state.partner(group, i % rows, descent, &cache.rows[slot]);
            violation = violation.max(descent + ascent);
            if gain > best.0 {
                best = (gain, i, j);
            }
        }
        if violation.is_nan() || violation < limits.tol || best.0 == f64::NEG_INFINITY {
            break true;
        }
        if n_iter % STEPS == 0 {
            run.stage(format!("{n_iter} steps, violation {violation:.2e}"));
        }
        let (_, i, j) = best;
        let slot_j = cache.slot(j % rows, problem);
        let slot_i = cache.slot(i % rows, problem);
        n_iter += 1;
        if !state.step((i, j), problem, &cache.rows[slot_i], &cache.rows[slot_j]) {
            // Rounding: no step changes a variable any more.
            break true;
        }
    };
    let multipliers = problem.groups.iter().map(|group| state.multiplier(group.clone(), problem)).collect();
    Ok(DualSolution { b: state.b, multipliers, n_iter, converged })
}

impl State {
    fn new(problem: &DualProblem<'_>, cache: &mut Cache) -> Self {
        let rows = problem.points.rows();
        let mut pieces = Vec::new();
        for (group, variables) in problem.groups.iter().enumerate() {
            let mut from = variables.start;
            while from < variables.end {
                let to = variables.end.min((from / rows + 1) * rows);
                pieces.push(Piece { group, variables: from..to, first: from % rows });
                from = to;
            }
        }
        let b = problem.start.clone();
        let mut gradient = problem.linear.clone();
        for row in 0..rows {
            let sum: f64 = b.iter().skip(row).step_by(rows).sum();
            if sum != 0.0 {
                let slot = cache.slot(row, problem);
                for gradient in gradient.chunks_exact_mut(rows) {
                    gradient.iter_mut().zip(&cache.rows[slot]).for_each(|(g, k)| *g += sum * k);
                }
            }
        }
        let mask = |free: bool| if free { 0.0 } else { f64::NEG_INFINITY };
        let mut state = State {
            up: b.iter().zip(&problem.high).map(|(b, high)| mask(b < high)).collect(),
            down: b.iter().zip(&problem.low).map(|(b, low)| mask(b > low)).collect(),
            b,
            gradient,
            diagonal: problem.kernel.diagonal(problem.points),
            steepest: vec![(f64::NEG_INFINITY, 0); problem.groups.len()],
            pieces,
        };
        let zeros = vec![0.0; rows];
        state.update(0.0, &zeros, &zeros);
        state
    }

    /// The partner of a variable that grows: the gain, the variable, and the steepest ascent of a variable that may
    /// fall.
    fn partner(&self, group: usize, row: usize, descent: f64, values: &[f64]) -> (f64, usize, f64) {
        let mut best = (f64::NEG_INFINITY, 0, f64::NEG_INFINITY);
        for piece in self.pieces.iter().filter(|piece| piece.group == group) {
            let rows = piece.first..piece.first + piece.variables.len();
            let (gain, at, ascent) = pulp::Arch::new().dispatch(Partner {
                descent,
                own: self.diagonal[row],
                gradient: &self.gradient[piece.variables.clone()],
                down: &self.down[piece.variables.clone()],
                diagonal: &self.diagonal[rows.clone()],
                values: &values[rows],
            });
            best.2 = f64::max(best.2, ascent);
            if gain > best.0 {
                (best.0, best.1) = (gain, piece.variables.start + at);
            }
        }
        best
    }

    /// Moves a pair: the first one grows by what the second one falls. False if rounding swallows the step.
    fn step(&mut self, (i, j): (usize, usize), problem: &DualProblem<'_>, a: &[f64], b: &[f64]) -> bool {
        let rows = problem.points.rows();
        let (row_i, row_j) = (i % rows, j % rows);
        let curve = (self.diagonal[row_i] + self.diagonal[row_j] - 2.0 * a[row_j]).max(LEAST_CURVE);
        let wanted = (self.gradient[j] - self.gradient[i]) / curve;
        let (room_i, room_j) = (problem.high[i] - self.b[i], self.b[j] - problem.low[j]);
        let step = wanted.min(room_i).min(room_j);
        let next_i = if step >= room_i { problem.high[i] } else { self.b[i] + step };
        let next_j = if step >= room_j { problem.low[j] } else { self.b[j] - step };
        if step.is_nan() || (next_i == self.b[i] && next_j == self.b[j]) {
            return false;
        }
        for (variable, next) in [(i, next_i), (j, next_j)] {
            self.b[variable] = next;
            self.up[variable] = if next < problem.high[variable] { 0.0 } else { f64::NEG_INFINITY };
            self.down[variable] = if next > problem.low[variable] { 0.0 } else { f64::NEG_INFINITY };
        }
        self.update(step, a, b);
        true
    }

    /// Adds `step (a - b)` to the gradient, and finds the steepest descents.
    fn update(&mut self, step: f64, a: &[f64], b: &[f64]) {
        self.steepest.fill((f64::NEG_INFINITY, 0));
        for piece in &self.pieces {
            let rows = piece.first..piece.first + piece.variables.len();
            let (descent, at) = pulp::Arch::new().dispatch(Update {
                step,
                gradient: &mut self.gradient[piece.variables.clone()],
                up: &self.up[piece.variables.clone()],
                a: &a[rows.clone()],
                b: &b[rows],
            });
            if descent > self.steepest[piece.group].0 {
                self.steepest[piece.group] = (descent, piece.variables.start + at);
            }
        }
    }

    /// The mean gradient of the free variables, or the middle of the bounds by the others.
    fn multiplier(&self, group: Range<usize>, problem: &DualProblem<'_>) -> f64 {
        let (mut sum, mut free) = (0.0, 0usize);
        let (mut most, mut least) = (f64::INFINITY, f64::NEG_INFINITY);
        for t in group {
            let gradient = self.gradient[t];
            match (self.b[t] <= problem.low[t], self.b[t] >= problem.high[t]) {
                (false, false) => {
                    sum += gradient;
                    free += 1;
                }
                (true, false) => most = most.min(gradient),
                (false, true) => least = least.max(gradient),
                (true, true) => {}
            }
        }
        match free {
            0 if most.is_infinite() => least,
            0 if least.is_infinite() => most,
            0 => 0.5 * (most + least),
            free => sum / free as f64,
        }
    }
}

/// The best numbers so far, apart for each lane, and the blocks in which they stand.
#[derive(Clone, Copy)]
struct Best {
    value: [f64; LANES],
    /// A float, so that it is chosen by the same instructions.
    block: [f64; LANES],
}

impl Best {
    const EMPTY: Best = Best { value: [f64::NEG_INFINITY; LANES], block: [0.0; LANES] };

    #[inline(always)]
    fn take(&mut self, lane: usize, block: f64, value: f64) {
        let is_better = value > self.value[lane];
        self.value[lane] = if is_better { value } else { self.value[lane] };
        self.block[lane] = if is_better { block } else { self.block[lane] };
    }

    /// The best number and its position: the lowest one on ties.
    #[inline(always)]
    fn best(&self) -> (f64, usize) {
        let mut best = (f64::NEG_INFINITY, usize::MAX);
        for lane in 0..LANES {
            let found = (self.value[lane], self.block[lane] as usize * LANES + lane);
            if found.0 > best.0 || (found.0 == best.0 && found.1 < best.1) {
                best = found;
            }
        }
        best
    }
}

struct Update<'a> {
    step: f64,
    gradient: &'a mut [f64],
    up: &'a [f64],
    a: &'a [f64],
    b: &'a [f64],
}

impl pulp::NullaryFnOnce for Update<'_> {
    type Output = (f64, usize);

    // Inlined into the code for each set of instructions: a call would leave it.
    #[inline(always)]
    fn call(self) -> (f64, usize) {
        let Update { step, gradient, up, a, b } = self;
        let (gradient, gradient_rest) = gradient.as_chunks_mut::<LANES>();
        let ((up, up_rest), (a, a_rest), (b, b_rest)) =
            (up.as_chunks::<LANES>(), a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let mut best = Best::EMPTY;
        let mut block = 0.0;
        for (((gradient, up), a), b) in gradient.iter_mut().zip(up).zip(a).zip(b) {
            for lane in 0..LANES {
                gradient[lane] = step.mul_add(a[lane] - b[lane], gradient[lane]);
                best.take(lane, block, up[lane] - gradient[lane]);
            }
            block += 1.0;
        }
        for (lane, gradient) in gradient_rest.iter_mut().enumerate() {
            *gradient = step.mul_add(a_rest[lane] - b_rest[lane], *gradient);
            best.take(lane, block, up_rest[lane] - *gradient);
        }
        best.best()
    }
}

struct Partner<'a> {
    descent: f64,
    /// The kernel's value of the growing variable with itself.
    own: f64,
    gradient: &'a [f64],
    down: &'a [f64],
    diagonal: &'a [f64],
    values: &'a [f64],
}

impl Partner<'_> {
    /// Gain and ascent of a variable.
    #[inline(always)]
    fn gain(descent: f64, own: f64, (gradient, down): (f64, f64), (diagonal, value): (f64, f64)) -> (f64, f64) {
        let ascent = gradient + down;
        let difference = descent + ascent;
        let curve = own + diagonal - 2.0 * value;
        let curve = if curve > LEAST_CURVE { curve } else { LEAST_CURVE };
        let gain = difference * difference / curve;
        (if difference > 0.0 { gain } else { f64::NEG_INFINITY }, ascent)
    }
}

impl pulp::NullaryFnOnce for Partner<'_> {
    type Output = (f64, usize, f64);

    #[inline(always)]
    fn call(self) -> (f64, usize, f64) {
        let Partner { descent, own, gradient, down, diagonal, values } = self;
        let ((gradient, gradient_rest), (down, down_rest)) = (gradient.as_chunks::<LANES>(), down.as_chunks::<LANES>());
        let ((diagonal, diagonal_rest), (values, values_rest)) =
            (diagonal.as_chunks::<LANES>(), values.as_chunks::<LANES>());
        let (mut best, mut ascents) = (Best::EMPTY, [f64::NEG_INFINITY; LANES]);
        let mut block = 0.0;
        for (((gradient, down), diagonal), values) in gradient.iter().zip(down).zip(diagonal).zip(values) {
            for lane in 0..LANES {
                let (gain, ascent) =
                    Partner::gain(descent, own, (gradient[lane], down[lane]), (diagonal[lane], values[lane]));
                best.take(lane, block, gain);
                ascents[lane] = if ascent > ascents[lane] { ascent } else { ascents[lane] };
            }
            block += 1.0;
        }
        for lane in 0..gradient_rest.len() {
            let (of_variable, of_row) =
                ((gradient_rest[lane], down_rest[lane]), (diagonal_rest[lane], values_rest[lane]));
            let (gain, ascent) = Partner::gain(descent, own, of_variable, of_row);
            best.take(lane, block, gain);
            ascents[lane] = f64::max(ascents[lane], ascent);
        }
        let (gain, at) = best.best();
        (gain, at, ascents.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }
}
