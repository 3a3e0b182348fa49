//! `SVC` and `NuSVC`: a machine for each pair of classes, as in LIBSVM (Chang and Lin, LIBSVM: a library for support
//! vector machines, 2011).

use std::ops::Range;

use rayon::prelude::*;

use super::kernel::{Kernel, KernelPoints};
use super::machine::{Machine, MachineTask, pairs};
use super::numbers::{check_nu, fill, finite_solution, limits, note};
use super::smo::{self, DualProblem, SmoLimits};
use super::{KernelParams, platt, training_rows};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::linear::finite;
use crate::params::{self, seed};
use crate::random::Mt19937;
use crate::run::Run;
use crate::sums::dot;
use crate::tensor::Tensor;
use crate::weights;

/// Folds of the scores that probabilities are trained on.
const FOLDS: usize = 5;

params::shared! {
    /// Parameters of both estimators.
    pub struct ClassParams of [SVC NuSVC] {
        probability: bool,
        decision_function_shape: String,
        break_ties: bool,
        random_state: Option<usize>,
    }
}

/// Trains `SVC`.
///
/// # Errors
/// If a parameter does not fit, a class has no weight, or the numbers overflow.
pub fn svc(params: &params::SVC, data: &Data, run: &Run<'_>) -> Result<Machine, Error> {
    let c = finite("c", params.c)?;
    let mut counts = vec![0.0; data.classes.len()];
    data.y.iter().for_each(|class| counts[*class as usize] += 1.0);
    let by_class = weights::of_counts(&params.class_weight, data, &counts)?;
    let weight = |row: usize| by_class.as_ref().map_or(1.0, |w| w[data.y[row] as usize]) * data.weight_of(row);
    let bounds = (0..data.rows).map(|row| c * weight(row)).collect();
    fit(&params.into(), &params.into(), data, bounds, None, run)
}

/// Trains `NuSVC`.
///
/// # Errors
/// As [`svc`], and if no machine has the share `nu`.
pub fn nu_svc(params: &params::NuSVC, data: &Data, run: &Run<'_>) -> Result<Machine, Error> {
    check_nu(params.nu)?;
    let counts = vec![1.0; data.classes.len()];
    // As in scikit-learn: the weights are checked, and have no effect on bounds that do not depend on `c`.
    weights::of_counts(&params.class_weight, data, &counts)?;
    let mut sums = vec![0.0; data.classes.len()];
    (0..data.rows).for_each(|row| sums[data.y[row] as usize] += data.weight_of(row));
    for (a, b) in pairs(sums.len()) {
        let most = 2.0 * sums[a].min(sums[b]) / (sums[a] + sums[b]);
        if params.nu > most {
            let (a, b) = (&data.classes[a], &data.classes[b]);
            let message = format!("`nu` is {}: at most {most:.6} for the classes `{a}` and `{b}`", params.nu);
            return Err(Error::new(ErrorKind::Parameter, message).help("take a smaller `nu`, or SVC"));
        }
    }
    let bounds = (0..data.rows).map(|row| data.weight_of(row)).collect();
    fit(&params.into(), &params.into(), data, bounds, Some(params.nu), run)
}

/// The parts that all pairs share.
struct Training<'a> {
    x: Vec<f64>,
    width: usize,
    kernel: Kernel,
    /// For each row of the data the bound of its variable.
    bounds: Vec<f64>,
    nu: Option<f64>,
    limits: SmoLimits,
    run: &'a Run<'a>,
}

/// The machine of a pair.
struct Pair {
    /// The rows of the first class, then those of the second one.
    rows: Vec<usize>,
    /// For each row its signed coefficient.
    b: Vec<f64>,
    intercept: f64,
    n_iter: u64,
    converged: bool,
}

fn fit(
    params: &ClassParams,
    of_kernel: &KernelParams,
    data: &Data,
    bounds: Vec<f64>,
    nu: Option<f64>,
    run: &Run<'_>,
) -> Result<Machine, Error> {
    let classes = data.classes.len();
    let is_one_versus_rest = params.decision_function_shape == "ovr";
    if params.break_ties && !is_one_versus_rest {
        let message = "`break_ties` is true, and `decision_function_shape` is \"ovo\": there are no scores of classes";
        return Err(Error::new(ErrorKind::Parameter, message).help("take \"ovr\""));
    }
    let mut members = vec![Vec::new(); classes];
    (0..data.rows).filter(|row| bounds[*row] > 0.0).for_each(|row| members[data.y[row] as usize].push(row));
    if let Some(class) = members.iter().position(Vec::is_empty) {
        let message = format!("the class `{}` has no row with a weight above 0", data.classes[class]);
        return Err(Error::new(ErrorKind::Weight, message).help("leave its rows out"));
    }
    let (x, kernel) = training_rows(of_kernel, data)?;
    // Large pairs use all threads for the rows of their kernel, small ones are solved at the same time.
    let is_large = data.rows * (data.width() + 8) > 1 << 19;
    let mut limits = limits(of_kernel)?;
    if !is_large {
        limits.cache /= rayon::current_num_threads().min(pairs(classes).count()).max(1);
    }
    let training = Training { x, width: data.width(), kernel, bounds, nu, limits, run };
    let all: Vec<(usize, usize)> = pairs(classes).collect();
    let with_platt = |(k, (a, b)): (usize, &(usize, usize))| -> Result<(Pair, Option<[f64; 2]>), Error> {
        let pair = training.pair(&members[*a], &members[*b])?;
        let seed = seed(params.random_state).wrapping_add(k as u32);
        let platt = params.probability.then(|| training.platt(&members[*a], &members[*b], seed)).transpose()?;
        Ok((pair, platt))
    };
    let ends: Vec<(Pair, Option<[f64; 2]>)> = match is_large {
        true => all.iter().enumerate().map(with_platt).collect::<Result<_, Error>>()?,
        false => all.par_iter().enumerate().map(with_platt).collect::<Result<_, Error>>()?,
    };
    let platt: Option<Vec<f64>> =
        ends.iter().map(|(_, platt)| *platt).collect::<Option<Vec<[f64; 2]>>>().map(|list| list.concat());
    let trained: Vec<Pair> = ends.into_iter().map(|(pair, _)| pair).collect();
    let mut machine = assemble(&trained, &members, data, kernel);
    machine.platt = platt.map(|platt| Tensor::new(vec![trained.len(), 2], platt));
    machine.is_one_versus_rest = is_one_versus_rest;
    machine.break_ties = params.break_ties;
    if trained.iter().any(|pair| !pair.converged) {
        machine.notes.push(note(&training.limits));
    }
    Ok(machine)
}

impl Training<'_> {
    fn points(&self, rows: &[usize]) -> KernelPoints {
        let row = |row: &usize| &self.x[row * self.width..(row + 1) * self.width];
        KernelPoints::new(rows.iter().flat_map(row).copied().collect(), self.width)
    }

    /// Trains the machine of two classes with these rows.
    fn pair(&self, first: &[usize], second: &[usize]) -> Result<Pair, Error> {
        let rows = [first, second].concat();
        self.solve(rows, first.len()).map(|(pair, _)| pair)
    }

    /// Trains a machine of rows of which the first `split` are of the first class.
    fn solve(&self, rows: Vec<usize>, split: usize) -> Result<(Pair, KernelPoints), Error> {
        let points = self.points(&rows);
        let bounds: Vec<f64> = rows.iter().map(|row| self.bounds[*row]).collect();
        let sign = |t: usize| if t < split { 1.0 } else { -1.0 };
        let n = rows.len();
        let mut start = vec![0.0; n];
        let mut groups: Vec<Range<usize>> = std::iter::once(0..n).collect();
        if let Some(nu) = self.nu {
            let half = 0.5 * nu * bounds.iter().sum::<f64>();
            fill(&bounds[..split], half, 1.0, &mut start[..split]);
            fill(&bounds[split..], half, -1.0, &mut start[split..]);
            groups = vec![0..split, split..n];
        }
        let problem = DualProblem {
            points: &points,
            kernel: &self.kernel,
            linear: (0..n).map(|t| if self.nu.is_some() { 0.0 } else { -sign(t) }).collect(),
            low: (0..n).map(|t| if t < split { 0.0 } else { -bounds[t] }).collect(),
            high: (0..n).map(|t| if t < split { bounds[t] } else { 0.0 }).collect(),
            start,
            groups,
        };
        let mut end = smo::solve(&problem, self.limits, self.run)?;
        let mut rho = end.multipliers[0];
        if self.nu.is_some() {
            let (a, b) = (end.multipliers[0], end.multipliers[1]);
            let scale = 0.5 * (a - b);
            rho = 0.5 * (a + b) / scale;
            end.b.iter_mut().for_each(|b| *b /= scale);
        }
        finite_solution(&end.b, rho)?;
        let pair = Pair { rows, b: end.b, intercept: -rho, n_iter: end.n_iter, converged: end.converged };
        Ok((pair, points))
    }

    /// Slope and intercept of the logarithmic odds, by the scores of rows that a machine was not trained on.
    fn platt(&self, first: &[usize], second: &[usize], seed: u32) -> Result<[f64; 2], Error> {
        let mut rows: Vec<(usize, bool)> =
            first.iter().map(|row| (*row, true)).chain(second.iter().map(|row| (*row, false))).collect();
        Mt19937::new(seed).shuffle(&mut rows);
        let mut scores = Vec::with_capacity(rows.len());
        for fold in 0..FOLDS {
            let (begin, end) = (fold * rows.len() / FOLDS, (fold + 1) * rows.len() / FOLDS);
            let rest = || rows[..begin].iter().chain(&rows[end..]);
            let of = |is_first: bool| rest().filter(move |row| row.1 == is_first).map(|row| row.0);
            let (a, b): (Vec<usize>, Vec<usize>) = (of(true).collect(), of(false).collect());
            if a.is_empty() || b.is_empty() {
                let score = f64::from(u8::from(!a.is_empty())) - f64::from(u8::from(!b.is_empty()));
                scores.extend(rows[begin..end].iter().map(|_| score));
                continue;
            }
            let split = a.len();
            let (pair, points) = self.solve([a, b].concat(), split)?;
            let mut values = vec![0.0; points.rows()];
            for (row, _) in &rows[begin..end] {
                self.kernel.values(&self.x[row * self.width..(row + 1) * self.width], &points, &mut values);
                scores.push(dot(&pair.b, &values) + pair.intercept);
            }
        }
        let is_first: Vec<bool> = rows.iter().map(|row| row.1).collect();
        let (slope, intercept) = platt::train(&scores, &is_first);
        Ok([slope, intercept])
    }
}

/// The machine of all pairs: support vectors class after class.
fn assemble(trained: &[Pair], members: &[Vec<usize>], data: &Data, kernel: Kernel) -> Machine {
    let classes = members.len();
    let mut is_support = vec![false; data.rows];
    for pair in trained {
        pair.rows.iter().zip(&pair.b).filter(|(_, b)| **b != 0.0).for_each(|(row, _)| is_support[*row] = true);
    }
    let support: Vec<Vec<usize>> =
        members.iter().map(|rows| rows.iter().copied().filter(|row| is_support[*row]).collect()).collect();
    let rows = support.concat();
    let mut place = vec![usize::MAX; data.rows];
    rows.iter().enumerate().for_each(|(at, row)| place[*row] = at);
    let count = rows.len();
    let mut dual_coef = vec![0.0; (classes - 1) * count];
    for (pair, (a, b)) in trained.iter().zip(pairs(classes)) {
        for (at, (row, value)) in pair.rows.iter().zip(&pair.b).enumerate() {
            if *value != 0.0 {
                let line = if at < members[a].len() { b - 1 } else { a };
                dual_coef[line * count + place[*row]] = *value;
            }
        }
    }
    let vectors = rows.iter().flat_map(|row| data.features.iter().map(move |c| c.values[*row])).collect();
    Machine {
        task: MachineTask::Classes,
        kernel,
        vectors: Tensor::new(vec![count, data.width()], vectors),
        support: Tensor::vector(rows.iter().map(|row| *row as f64).collect()),
        dual_coef: Tensor::new(vec![classes - 1, count], dual_coef),
        intercept: Tensor::vector(trained.iter().map(|pair| pair.intercept).collect()),
        counts: support.iter().map(Vec::len).collect(),
        platt: None,
        n_iter: trained.iter().map(|pair| pair.n_iter).collect(),
        is_one_versus_rest: true,
        break_ties: false,
        notes: Vec::new(),
    }
}
