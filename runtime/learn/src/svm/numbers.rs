//! `SVR`, `NuSVR` and `OneClassSVM`, as in LIBSVM: regressions have two variables for each row, one for errors above
//! the target and one for errors below.

use super::kernel::{Kernel, KernelPoints};
use super::machine::{Machine, MachineTask};
use super::smo::{self, DualProblem, DualSolution, SmoLimits};
use super::{KernelParams, training_rows};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::linear::finite;
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// Trains `SVR`.
///
/// # Errors
/// If a parameter does not fit, all weights are 0, or the numbers overflow.
pub fn svr(params: &params::SVR, data: &Data, run: &Run<'_>) -> Result<Machine, Error> {
    let (c, epsilon) = (finite("c", params.c)?, finite("epsilon", params.epsilon)?);
    let rows = Rows::new(&params.into(), data, c)?;
    let y = rows.y(data);
    let n = rows.bounds.len();
    let linear = y.iter().map(|y| epsilon - y).chain(y.iter().map(|y| -epsilon - y)).collect();
    let groups = std::iter::once(0..2 * n).collect();
    let end = rows.solve(linear, vec![0.0; 2 * n], groups, run)?;
    let rho = end.multipliers[0];
    rows.machine(MachineTask::Numbers, end, rho, data)
}

/// Trains `NuSVR`.
///
/// # Errors
/// As [`svr`].
pub fn nu_svr(params: &params::NuSVR, data: &Data, run: &Run<'_>) -> Result<Machine, Error> {
    check_nu(params.nu)?;
    let rows = Rows::new(&params.into(), data, finite("c", params.c)?)?;
    let y = rows.y(data);
    let n = rows.bounds.len();
    let mut start = vec![0.0; 2 * n];
    let sum = 0.5 * params.nu * rows.bounds.iter().sum::<f64>();
    fill(&rows.bounds, sum, 1.0, &mut start[..n]);
    fill(&rows.bounds, sum, -1.0, &mut start[n..]);
    let linear = [&y[..], &y[..]].concat().iter().map(|y| -y).collect();
    let end = rows.solve(linear, start, vec![0..n, n..2 * n], run)?;
    let rho = 0.5 * (end.multipliers[0] + end.multipliers[1]);
    rows.machine(MachineTask::Numbers, end, rho, data)
}

/// Trains `OneClassSVM`.
///
/// # Errors
/// As [`svr`].
pub fn one_class(params: &params::OneClassSVM, data: &Data, run: &Run<'_>) -> Result<Machine, Error> {
    check_nu(params.nu)?;
    let rows = Rows::new(&params.into(), data, 1.0)?;
    let n = rows.bounds.len();
    let mut start = vec![0.0; n];
    fill(&rows.bounds, params.nu * rows.bounds.iter().sum::<f64>(), 1.0, &mut start);
    let groups = std::iter::once(0..n).collect();
    let end = rows.solve(vec![0.0; n], start, groups, run)?;
    let rho = end.multipliers[0];
    rows.machine(MachineTask::OneClass, end, rho, data)
}

/// # Errors
/// If `nu` is not above 0 and at most 1.
pub fn check_nu(nu: f64) -> Result<(), Error> {
    match nu > 0.0 && nu <= 1.0 {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Parameter, format!("`nu` is {nu}: above 0, and at most 1"))),
    }
}

/// Fills variables up to their bounds until their sum is `sum`.
pub fn fill(bounds: &[f64], mut sum: f64, sign: f64, out: &mut [f64]) {
    for (bound, out) in bounds.iter().zip(out) {
        let value = bound.min(sum).max(0.0);
        *out = sign * value;
        sum -= value;
    }
}

/// # Errors
/// If a coefficient or the intercept is not finite.
pub fn finite_solution(b: &[f64], rho: f64) -> Result<(), Error> {
    match rho.is_finite() && b.iter().all(|b| b.is_finite()) {
        true => Ok(()),
        false => {
            let message = "the coefficients are not finite numbers: the values of the data are too large";
            Err(Error::new(ErrorKind::Overflow, message).help("scale the features, such as with `StandardScaler`"))
        }
    }
}

/// When the solver stops.
///
/// # Errors
/// If `tol` is not finite.
pub fn limits(params: &KernelParams) -> Result<SmoLimits, Error> {
    let max_iter = params.max_iter.map(|most| most as u64);
    Ok(SmoLimits { tol: finite("tol", params.tol)?, max_iter, cache: smo::CACHE })
}

/// The note of a solver that did not converge.
pub fn note(limits: &SmoLimits) -> String {
    let steps = limits.max_iter.unwrap_or(0);
    format!("stopped after {steps} steps; raise `max_iter` or scale the features, such as with `StandardScaler`")
}

/// The rows of a weight above 0.
struct Rows {
    positions: Vec<usize>,
    points: KernelPoints,
    kernel: Kernel,
    bounds: Vec<f64>,
    limits: SmoLimits,
}

impl Rows {
    fn new(params: &KernelParams, data: &Data, c: f64) -> Result<Rows, Error> {
        let positions: Vec<usize> = (0..data.rows).filter(|row| c * data.weight_of(*row) > 0.0).collect();
        if positions.is_empty() {
            return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: at least one must be above 0"));
        }
        let (x, kernel) = training_rows(params, data)?;
        let width = data.width();
        let row = |row: &usize| &x[row * width..(row + 1) * width];
        let points = KernelPoints::new(positions.iter().flat_map(row).copied().collect(), width);
        let bounds = positions.iter().map(|row| c * data.weight_of(*row)).collect();
        Ok(Rows { positions, points, kernel, bounds, limits: limits(params)? })
    }

    fn y(&self, data: &Data) -> Vec<f64> {
        self.positions.iter().map(|row| data.y[*row]).collect()
    }

    /// Solves with one or two variables for each row: the second ones are not above 0.
    fn solve(
        &self,
        linear: Vec<f64>,
        start: Vec<f64>,
        groups: Vec<std::ops::Range<usize>>,
        run: &Run<'_>,
    ) -> Result<DualSolution, Error> {
        let (n, variables) = (self.bounds.len(), linear.len());
        let problem = DualProblem {
            points: &self.points,
            kernel: &self.kernel,
            linear,
            low: (0..variables).map(|t| if t < n { 0.0 } else { -self.bounds[t - n] }).collect(),
            high: (0..variables).map(|t| if t < n { self.bounds[t] } else { 0.0 }).collect(),
            start,
            groups,
        };
        smo::solve(&problem, self.limits, run)
    }

    fn machine(&self, task: MachineTask, end: DualSolution, rho: f64, data: &Data) -> Result<Machine, Error> {
        finite_solution(&end.b, rho)?;
        let n = self.bounds.len();
        let coef: Vec<f64> = (0..n).map(|row| end.b.iter().skip(row).step_by(n).sum()).collect();
        let support: Vec<usize> = (0..n).filter(|row| coef[*row] != 0.0).collect();
        let rows: Vec<usize> = support.iter().map(|at| self.positions[*at]).collect();
        let vectors = rows.iter().flat_map(|row| data.features.iter().map(move |c| c.values[*row])).collect();
        Ok(Machine {
            task,
            kernel: self.kernel,
            vectors: Tensor::new(vec![rows.len(), data.width()], vectors),
            support: Tensor::vector(rows.iter().map(|row| *row as f64).collect()),
            dual_coef: Tensor::new(vec![1, rows.len()], support.iter().map(|at| coef[*at]).collect()),
            intercept: Tensor::vector(vec![-rho]),
            counts: vec![rows.len()],
            platt: None,
            n_iter: vec![end.n_iter],
            is_one_versus_rest: false,
            break_ties: false,
            notes: if end.converged { Vec::new() } else { vec![note(&self.limits)] },
        })
    }
}
