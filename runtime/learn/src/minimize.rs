//! L-BFGS without bounds, with the steps of SciPy's `L-BFGS-B`. Directions come from the last ten steps, and the line
//! search of Moré and Thuente (`dcsrch` of MINPACK-2). Not for logistic regression, which has solvers with second
//! derivatives.

use crate::error::Error;
use crate::sums::dot;

/// Steps that are remembered: SciPy's default.
const MEMORY: usize = 10;

/// Evaluations of a line search: SciPy's default.
const EVALUATIONS: usize = 20;

/// When the iteration stops.
pub struct MinimizeLimits {
    pub max_iter: usize,
    pub max_fun: usize,
    /// The largest component of the gradient.
    pub gradient: f64,
    /// The relative decrease of the value.
    pub decrease: f64,
}

/// SciPy's default of [`MinimizeLimits::decrease`].
pub const DECREASE: f64 = 2.220_446_049_250_313e-9;

/// The reason of an end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Converged,
    Iterations,
    Evaluations,
    /// No step went further down.
    Stuck,
}

/// The place where an iteration ended.
pub struct Minimum {
    pub x: Vec<f64>,
    pub value: f64,
    pub gradient: Vec<f64>,
    pub iterations: usize,
    pub end: End,
}

/// Minimises a function from `start`. `objective` gives its value and gradient. `shown` is called after each iteration
/// with its number and value.
///
/// # Errors
/// Errors of `objective` and `shown`.
pub fn minimize(
    start: Vec<f64>,
    limits: &MinimizeLimits,
    mut objective: impl FnMut(&[f64]) -> Result<(f64, Vec<f64>), Error>,
    mut shown: impl FnMut(usize, f64) -> Result<(), Error>,
) -> Result<Minimum, Error> {
    let mut x = start;
    let (mut value, mut gradient) = objective(&x)?;
    let mut memory = Memory { pairs: Vec::new(), theta: 1.0 };
    let (mut iterations, mut evaluations) = (0, 1);
    let mut end = if largest(&gradient) <= limits.gradient { Some(End::Converged) } else { None };
    while end.is_none() {
        let step = memory.direction(&gradient);
        let slope = dot(&gradient, &step);
        let size = if iterations == 0 { (1.0 / dot(&step, &step).sqrt()).min(1e10) } else { 1.0 };
        let mut search = Search::new(value, slope, size);
        let mut found = None;
        while slope < 0.0 && search.evaluations < EVALUATIONS {
            let trial: Vec<f64> = x.iter().zip(&step).map(|(x, d)| search.size * d + x).collect();
            let (value, gradient) = objective(&trial)?;
            evaluations += 1;
            if search.ends(value, dot(&gradient, &step)) {
                found = Some((trial, value, gradient));
                break;
            }
        }
        let Some((trial, next, turned)) = found else {
            if memory.pairs.is_empty() {
                iterations += 1;
                end = Some(End::Stuck);
            } else {
                memory = Memory { pairs: Vec::new(), theta: 1.0 };
            }
            continue;
        };
        iterations += 1;
        shown(iterations, next)?;
        let (before, size) = (value, search.size);
        let change: Vec<f64> = turned.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let along = dot(&turned, &step) - slope;
        (x, value, gradient) = (trial, next, turned);
        end = match () {
            () if iterations >= limits.max_iter => Some(End::Iterations),
            () if evaluations > limits.max_fun => Some(End::Evaluations),
            () if largest(&gradient) <= limits.gradient => Some(End::Converged),
            () if before - value <= limits.decrease * before.abs().max(value.abs()).max(1.0) => Some(End::Converged),
            () => None,
        };
        if along * size > f64::EPSILON * -slope * size {
            let moved: Vec<f64> = step.iter().map(|d| d * size).collect();
            memory.push(moved, change, along * size);
        }
    }
    Ok(Minimum { x, value, gradient, iterations, end: end.unwrap_or(End::Stuck) })
}

/// The largest component of a gradient. NaN counts as infinity.
pub fn largest(gradient: &[f64]) -> f64 {
    gradient.iter().fold(0.0, |a, g| if g.is_nan() { f64::INFINITY } else { g.abs().max(a) })
}

/// The last steps, with the changes of the gradient and the products of both.
struct Memory {
    pairs: Vec<(Vec<f64>, Vec<f64>, f64)>,
    /// The scale of the first matrix of second derivatives.
    theta: f64,
}

impl Memory {
    fn push(&mut self, moved: Vec<f64>, change: Vec<f64>, product: f64) {
        if self.pairs.len() == MEMORY {
            self.pairs.remove(0);
        }
        self.theta = dot(&change, &change) / product;
        self.pairs.push((moved, change, product));
    }

    /// The two-loop recursion (Nocedal and Wright, Numerical Optimization, 7.4).
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut factors = Vec::with_capacity(self.pairs.len());
        for (moved, change, product) in self.pairs.iter().rev() {
            let factor = dot(moved, &step) / product;
            step.iter_mut().zip(change).for_each(|(s, y)| *s -= factor * y);
            factors.push(factor);
        }
        step.iter_mut().for_each(|s| *s /= self.theta);
        for ((moved, change, product), factor) in self.pairs.iter().zip(factors.iter().rev()) {
            let back = factor - dot(change, &step) / product;
            step.iter_mut().zip(moved).for_each(|(s, m)| *s += back * m);
        }
        step
    }
}

/// A step size with the value and the slope there.
#[derive(Clone, Copy)]
struct Point {
    size: f64,
    value: f64,
    slope: f64,
}

impl Point {
    /// The point of the function minus a line.
    fn lowered(self, slope: f64) -> Point {
        Point { value: self.value - self.size * slope, slope: self.slope - slope, ..self }
    }
}

/// The line search of Moré and Thuente (1994), as `dcsrch` of MINPACK-2 has it.
struct Search {
    size: f64,
    evaluations: usize,
    start: Point,
    best: Point,
    other: Point,
    is_bracketed: bool,
    is_first_stage: bool,
    widths: (f64, f64),
    range: (f64, f64),
}

impl Search {
    /// The share of the expected decrease that a step must bring.
    const ENOUGH: f64 = 1e-3;
    /// The share of the first slope that may be left.
    const FLAT: f64 = 0.9;
    /// The relative width at which an interval is too small.
    const NARROW: f64 = 0.1;
    /// The largest step.
    const MOST: f64 = 1e10;

    fn new(value: f64, slope: f64, size: f64) -> Self {
        let start = Point { size: 0.0, value, slope };
        Search {
            size,
            evaluations: 0,
            start,
            best: start,
            other: start,
            is_bracketed: false,
            is_first_stage: true,
            widths: (Self::MOST, 2.0 * Self::MOST),
            range: (0.0, size + 4.0 * size),
        }
    }

    /// Takes the value and the slope at `size`. True: the search ends there. Otherwise `size` is the next one.
    fn ends(&mut self, value: f64, slope: f64) -> bool {
        self.evaluations += 1;
        let wanted = Self::ENOUGH * self.start.slope;
        let limit = self.start.value + self.size * wanted;
        if self.is_first_stage && value <= limit && slope >= 0.0 {
            self.is_first_stage = false;
        }
        let (low, high) = self.range;
        let is_narrow =
            self.is_bracketed && (self.size <= low || self.size >= high || high - low <= Self::NARROW * high);
        let is_far = self.size == Self::MOST && value <= limit && slope <= wanted;
        let is_near = self.size == 0.0 && (value > limit || slope >= wanted);
        let is_done = value <= limit && slope.abs() <= Self::FLAT * -self.start.slope;
        if is_narrow || is_far || is_near || is_done {
            return true;
        }
        let at = Point { size: self.size, value, slope };
        let line = match self.is_first_stage && value <= self.best.value && value > limit {
            true => wanted,
            false => 0.0,
        };
        self.advance(at, line);
        if self.is_bracketed {
            let width = (self.other.size - self.best.size).abs();
            if width >= 0.66 * self.widths.1 {
                self.size = self.best.size + 0.5 * (self.other.size - self.best.size);
            }
            self.widths = (width, self.widths.0);
            self.range = (self.best.size.min(self.other.size), self.best.size.max(self.other.size));
        } else {
            let by = self.size - self.best.size;
            self.range = (self.size + 1.1 * by, self.size + 4.0 * by);
        }
        self.size = self.size.clamp(0.0, Self::MOST);
        let (low, high) = self.range;
        if self.is_bracketed && (self.size <= low || self.size >= high || high - low <= Self::NARROW * high) {
            self.size = self.best.size;
        }
        false
    }

    /// The next step from cubic and quadratic interpolation, and the new interval: `dcstep` of MINPACK-2, on the
    /// function minus a line.
    fn advance(&mut self, at: Point, line: f64) {
        let (x, y, p) = (self.best.lowered(line), self.other.lowered(line), at.lowered(line));
        let (low, high) = self.range;
        let turns = p.slope * x.slope.signum() < 0.0;
        let along = p.size - x.size;
        let cubic = |from: Point, sign: bool, floor: bool| {
            let theta = 3.0 * (from.value - p.value) / (p.size - from.size) + from.slope + p.slope;
            let scale = theta.abs().max(from.slope.abs()).max(p.slope.abs());
            let square = (theta / scale).powi(2) - (from.slope / scale) * (p.slope / scale);
            let gamma = scale * if floor { square.max(0.0) } else { square }.sqrt();
            (theta, if sign { -gamma } else { gamma })
        };
        let next = if p.value > x.value {
            let (theta, gamma) = cubic(x, p.size < x.size, false);
            let r = ((gamma - x.slope) + theta) / (((gamma - x.slope) + gamma) + p.slope);
            let cubic = x.size + r * along;
            let quadratic = x.size + ((x.slope / ((x.value - p.value) / along + x.slope)) / 2.0) * along;
            self.is_bracketed = true;
            match (cubic - x.size).abs() < (quadratic - x.size).abs() {
                true => cubic,
                false => cubic + (quadratic - cubic) / 2.0,
            }
        } else if turns {
            let (theta, gamma) = cubic(x, p.size > x.size, false);
            let r = ((gamma - p.slope) + theta) / (((gamma - p.slope) + gamma) + x.slope);
            let cubic = p.size - r * along;
            let quadratic = p.size - (p.slope / (p.slope - x.slope)) * along;
            self.is_bracketed = true;
            if (cubic - p.size).abs() > (quadratic - p.size).abs() { cubic } else { quadratic }
        } else if p.slope.abs() < x.slope.abs() {
            let (theta, gamma) = cubic(x, p.size > x.size, true);
            let r = ((gamma - p.slope) + theta) / ((gamma + (x.slope - p.slope)) + gamma);
            let cubic = match r < 0.0 && gamma != 0.0 {
                true => p.size - r * along,
                false if p.size > x.size => high,
                false => low,
            };
            let quadratic = p.size - (p.slope / (p.slope - x.slope)) * along;
            let is_closer = (cubic - p.size).abs() < (quadratic - p.size).abs();
            if self.is_bracketed {
                let next = if is_closer { cubic } else { quadratic };
                let edge = p.size + 0.66 * (y.size - p.size);
                if p.size > x.size { next.min(edge) } else { next.max(edge) }
            } else {
                let next = if (cubic - p.size).abs() > (quadratic - p.size).abs() { cubic } else { quadratic };
                next.min(high).max(low)
            }
        } else if self.is_bracketed {
            let (theta, gamma) = cubic(y, p.size > y.size, false);
            let r = ((gamma - p.slope) + theta) / (((gamma - p.slope) + gamma) + y.slope);
            p.size + r * (y.size - p.size)
        } else if p.size > x.size {
            high
        } else {
            low
        };
        if p.value > x.value {
            self.other = at;
        } else {
            if turns {
                self.other = self.best;
            }
            self.best = at;
        }
        self.size = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_of_rosenbrock_is_found_in_the_steps_of_scipy() {
        // scipy.optimize.minimize(rosen, [-1.2, 1, -0.7, 2], jac=rosen_der, method="L-BFGS-B"): nit and nfev.
        let rosen = |x: &[f64]| {
            let mut gradient = vec![0.0; x.len()];
            let mut value = 0.0;
            for i in 0..x.len() - 1 {
                let (a, b) = (x[i + 1] - x[i] * x[i], 1.0 - x[i]);
                value += 100.0 * a * a + b * b;
                gradient[i] += -400.0 * x[i] * a - 2.0 * b;
                gradient[i + 1] += 200.0 * a;
            }
            Ok((value, gradient))
        };
        let limits = MinimizeLimits { max_iter: 1000, max_fun: 15_000, gradient: 1e-5, decrease: DECREASE };
        let mut calls = 0;
        let counted = |x: &[f64]| {
            calls += 1;
            rosen(x)
        };
        let found = minimize(vec![-1.2, 1.0, -0.7, 2.0], &limits, counted, |_, _| Ok(())).unwrap();
        assert_eq!((found.iterations, calls, found.end), (40, 47, End::Converged));
        assert!(found.x.iter().all(|x| (x - 1.0).abs() < 1e-4), "{:?}", found.x);
    }
}
