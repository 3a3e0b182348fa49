//! The tree-structured Parzen estimator (Bergstra et al. 2011), with the formulas and defaults of Optuna's
//! `TPESampler` (`optuna/samplers/_tpe`).
//!
//! The first trials are random. Then the best `min(ceil(0.1 n), 25)` of `n` trials are the good ones. A mixture of
//! truncated normal distributions, one for each trial, is the density of the good trials, and another one that of the
//! others. Each mixture also has a wide component, the prior, of weight 1. The proposal is the one of 24 draws from the
//! good density that has the highest ratio of the two densities.
//!
//! The 25 latest trials have weight 1, and earlier ones a weight that falls linearly to `1 / n`. The standard deviation
//! of a component is the distance to its farther neighbour, clipped to the range and to `range / min(100, 1 + n)`. The
//! first and the last component look at their inner neighbour only.
//!
//! A proposal depends on the seed, the number of the trial and the history, and on nothing else. A search that was
//! interrupted therefore continues as if nothing had happened.

use std::f64::consts::FRAC_1_SQRT_2;

use crate::quantile;
use crate::random::Philox;

/// Trials among the good ones, at most.
const MOST_GOOD: usize = 25;
/// Latest trials of full weight.
const FULL_WEIGHT: usize = 25;

/// The values of a parameter. Integers and positions of choices are integers in an `f64`.
#[derive(Clone, Debug, PartialEq)]
pub enum TpeDimension {
    /// Numbers from `low` to `high`. With `log` their logarithm is searched.
    Float { low: f64, high: f64, log: bool },
    /// Integers, both ends included.
    Int { low: i64, high: i64 },
    /// Positions below `count`, without an order.
    Choice { count: usize },
}

/// The result of a trial. Higher scores are better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TpeScore {
    Complete(f64),
    /// A trial that ended early is worse than a complete one. More folds are better, then a higher score.
    Pruned {
        folds: usize,
        score: f64,
    },
}

impl TpeScore {
    /// Higher is better.
    fn key(self) -> (usize, f64) {
        match self {
            TpeScore::Complete(score) => (usize::MAX, score),
            TpeScore::Pruned { folds, score } => (folds, score),
        }
    }
}

/// A past trial: a value for each dimension, and the result.
#[derive(Clone, Debug, PartialEq)]
pub struct TpeTrial {
    pub values: Vec<f64>,
    pub score: TpeScore,
}

/// Optuna's parameters of the sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TpeOptions {
    /// Trials that are random, at the start.
    pub n_startup_trials: usize,
    /// Draws from the good density for each proposal. At least 1.
    pub n_ei_candidates: usize,
    /// Whether all parameters are drawn together. Otherwise each one has separate densities.
    pub multivariate: bool,
}

impl Default for TpeOptions {
    fn default() -> Self {
        TpeOptions { n_startup_trials: 10, n_ei_candidates: 24, multivariate: false }
    }
}

/// Proposes trials.
#[derive(Clone, Debug)]
pub struct TpeSampler {
    dimensions: Vec<TpeDimension>,
    options: TpeOptions,
    seed: u32,
}

impl TpeSampler {
    /// A sampler of these parameters. Ranges have `low <= high`, a logarithmic one starts above 0, and `count` is at
    /// least 1.
    pub fn new(dimensions: Vec<TpeDimension>, options: TpeOptions, seed: u32) -> Self {
        TpeSampler { dimensions, options, seed }
    }

    /// Whether the proposal of this trial is random, so that it does not depend on the history.
    pub fn is_startup(&self, number: usize) -> bool {
        number < self.options.n_startup_trials
    }

    /// The values of trial `number`, from 0. `history` has the earlier trials in order. Trials without a score, NaN,
    /// are not looked at.
    pub fn propose(&self, number: usize, history: &[TpeTrial]) -> Vec<f64> {
        let mut draws = Draws::new(self.seed, number);
        let scored: Vec<&TpeTrial> = history.iter().filter(|trial| !trial.score.key().1.is_nan()).collect();
        if self.is_startup(number) || scored.is_empty() {
            return self.dimensions.iter().map(|dimension| random(dimension, &mut draws)).collect();
        }
        let (good, others) = divided(&scored);
        let all: Vec<usize> = (0..self.dimensions.len()).collect();
        let groups: Vec<&[usize]> = match self.options.multivariate {
            true => vec![&all],
            false => all.chunks(1).collect(),
        };
        groups.into_iter().flat_map(|group| self.proposal(group, &good, &others, &mut draws)).collect()
    }

    /// The best of some draws from the density of good trials, for parameters that are drawn together.
    fn proposal(&self, group: &[usize], good: &[&TpeTrial], others: &[&TpeTrial], draws: &mut Draws) -> Vec<f64> {
        let mixture = |trials: &[&TpeTrial]| {
            let values = |j: usize| trials.iter().map(|trial| trial.values[j]).collect::<Vec<f64>>();
            let kernels = group.iter().map(|j| Kernels::new(&self.dimensions[*j], &values(*j))).collect();
            Mixture::new(trials.len(), kernels)
        };
        let (good, others) = (mixture(good), mixture(others));
        let mut best = (f64::NEG_INFINITY, Vec::new());
        for _ in 0..self.options.n_ei_candidates.max(1) {
            let drawn = good.sample(draws);
            let ratio = good.log_density(&drawn) - others.log_density(&drawn);
            if best.1.is_empty() || ratio > best.0 {
                best = (ratio, drawn);
            }
        }
        best.1
    }
}

/// Random numbers in [0, 1) of one trial.
struct Draws {
    philox: Philox,
    number: u64,
    next: u64,
}

impl Draws {
    fn new(seed: u32, number: usize) -> Self {
        // "tpe" as a stream of its own.
        Draws { philox: Philox::new(seed, 0x0074_7065), number: number as u64, next: 0 }
    }

    fn uniform(&mut self) -> f64 {
        self.next += 1;
        self.philox.uniform(self.number, self.next)
    }
}

/// The good trials and the others, both in the order of their numbers.
fn divided<'a>(trials: &[&'a TpeTrial]) -> (Vec<&'a TpeTrial>, Vec<&'a TpeTrial>) {
    let good = trials.len().div_ceil(10).min(MOST_GOOD);
    let mut order: Vec<usize> = (0..trials.len()).collect();
    let key = |at: usize| trials[at].score.key();
    order.sort_by(|a, b| key(*b).0.cmp(&key(*a).0).then(key(*b).1.total_cmp(&key(*a).1)));
    let mut is_good = vec![false; trials.len()];
    order.iter().take(good).for_each(|at| is_good[*at] = true);
    let of = |wanted: bool| trials.iter().zip(&is_good).filter(|(_, good)| **good == wanted).map(|(t, _)| *t).collect();
    (of(true), of(false))
}

/// The weights of so many trials in order, and of the prior: together 1.
fn weights(n: usize) -> Vec<f64> {
    let ramp = n.saturating_sub(FULL_WEIGHT);
    let first = 1.0 / n.max(1) as f64;
    let rising = |i: usize| match ramp {
        1 => first,
        _ => first + (1.0 - first) * i as f64 / (ramp - 1) as f64,
    };
    let mut weights: Vec<f64> = (0..n).map(|i| if i < ramp { rising(i) } else { 1.0 }).collect();
    weights.push(1.0);
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= total);
    weights
}

/// A random value of a parameter.
fn random(dimension: &TpeDimension, draws: &mut Draws) -> f64 {
    let u = draws.uniform();
    match *dimension {
        TpeDimension::Float { low, high, log: false } => (low + u * (high - low)).clamp(low, high),
        TpeDimension::Float { low, high, log: true } => (low.ln() + u * (high.ln() - low.ln())).exp().clamp(low, high),
        TpeDimension::Int { low, high } => {
            let (low, high) = (low as f64, high as f64);
            (low + (u * (high - low + 1.0)).floor()).clamp(low, high)
        }
        TpeDimension::Choice { count } => (u * count as f64).floor().min(count as f64 - 1.0),
    }
}

/// A normal distribution, truncated to a range. In logarithms for a logarithmic range.
#[derive(Clone, Copy)]
struct Normal {
    center: f64,
    deviation: f64,
    /// The logarithm of the probability of the range without truncation.
    log_mass: f64,
}

impl Normal {
    fn new(center: f64, deviation: f64, low: f64, high: f64) -> Self {
        let z = |x: f64| (x - center) / deviation;
        Normal { center, deviation, log_mass: mass(z(low), z(high)).ln() }
    }

    fn z(&self, x: f64) -> f64 {
        (x - self.center) / self.deviation
    }

    /// The logarithm of the density, without its constant.
    fn log_density(&self, x: f64) -> f64 {
        -0.5 * self.z(x).powi(2) - self.deviation.ln() - self.log_mass
    }
}

/// A component for each trial, and the prior as the last one.
enum Kernels {
    Numbers {
        components: Vec<Normal>,
        /// The ends of the range: half a step further for integers.
        low: f64,
        high: f64,
        shape: TpeDimension,
    },
    Choices {
        observed: Vec<f64>,
        count: usize,
    },
}

impl Kernels {
    fn new(dimension: &TpeDimension, values: &[f64]) -> Self {
        let (low, high, log) = match *dimension {
            TpeDimension::Choice { count } => return Kernels::Choices { observed: values.to_vec(), count },
            TpeDimension::Float { low, high, log: false } => (low, high, false),
            TpeDimension::Float { low, high, log: true } => (low.ln(), high.ln(), true),
            TpeDimension::Int { low, high } => (low as f64 - 0.5, high as f64 + 0.5, false),
        };
        let center = |value: f64| (if log { value.ln() } else { value }).clamp(low, high);
        let centers: Vec<f64> = values.iter().map(|value| center(*value)).collect();
        let normal = |(center, deviation): (f64, f64)| Normal::new(center, deviation, low, high);
        let each = centers.iter().copied().zip(deviations(&centers, low, high));
        let prior = (0.5 * low + 0.5 * high, high - low);
        let components = each.chain([prior]).map(normal).collect();
        Kernels::Numbers { components, low, high, shape: dimension.clone() }
    }

    /// A draw of one component.
    fn sample(&self, component: usize, draws: &mut Draws) -> f64 {
        let u = draws.uniform();
        match self {
            Kernels::Choices { observed, count } => {
                let (own, each) = choice_weights(observed.len(), *count);
                match observed.get(component) {
                    Some(choice) if u < own => *choice,
                    // The rest of the unit interval is divided evenly.
                    Some(_) => (((u - own) / each).floor()).min(*count as f64 - 1.0),
                    None => (u * *count as f64).floor().min(*count as f64 - 1.0),
                }
            }
            Kernels::Numbers { components, low, high, shape } => {
                let normal = &components[component];
                let (a, b) = (below(normal.z(*low)), below(normal.z(*high)));
                let x = normal.center + normal.deviation * quantile::normal(a + u * (b - a));
                let x = if x.is_nan() { normal.center } else { x.clamp(*low, *high) };
                match *shape {
                    TpeDimension::Float { log: true, low, high } => x.exp().clamp(low, high),
                    TpeDimension::Int { low, high } => x.round().clamp(low as f64, high as f64),
                    _ => x,
                }
            }
        }
    }

    /// The logarithm of the density, or of the probability, of a value in one component.
    fn log_density(&self, component: usize, value: f64) -> f64 {
        match self {
            Kernels::Choices { observed, count } => {
                let (own, each) = choice_weights(observed.len(), *count);
                match observed.get(component) {
                    Some(choice) if *choice == value => (own + each).ln(),
                    Some(_) => each.ln(),
                    None => -(*count as f64).ln(),
                }
            }
            Kernels::Numbers { components, shape, .. } => {
                let normal = &components[component];
                match *shape {
                    TpeDimension::Int { .. } => {
                        mass(normal.z(value - 0.5), normal.z(value + 0.5)).ln() - normal.log_mass
                    }
                    TpeDimension::Float { log: true, .. } => normal.log_density(value.ln()),
                    _ => normal.log_density(value),
                }
            }
        }
    }
}

/// The extra probability of the observed choice, and that of each choice, in the component of a trial.
fn choice_weights(trials: usize, count: usize) -> (f64, f64) {
    let prior = 1.0 / (trials + 1) as f64;
    let total = 1.0 + prior * count as f64;
    (1.0 / total, prior / total)
}

/// The standard deviations of components around these centers.
fn deviations(centers: &[f64], low: f64, high: f64) -> Vec<f64> {
    let n = centers.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| centers[*a].total_cmp(&centers[*b]));
    let at = |place: usize| centers[order[place]];
    let (least, most) = ((high - low) / (2.0 + n as f64).min(100.0), high - low);
    let mut out = vec![0.0; n];
    for place in 0..n {
        let left = if place == 0 { at(place) - low } else { at(place) - at(place - 1) };
        let right = if place + 1 == n { high - at(place) } else { at(place + 1) - at(place) };
        let distance = match n {
            2.. if place == 0 => right,
            2.. if place + 1 == n => left,
            _ => left.max(right),
        };
        out[order[place]] = distance.clamp(least, most);
    }
    out
}

/// A mixture of products of components.
struct Mixture {
    weights: Vec<f64>,
    log_weights: Vec<f64>,
    /// For each dimension.
    kernels: Vec<Kernels>,
}

impl Mixture {
    /// The mixture of trials in order, each with weight by its age.
    fn new(trials: usize, kernels: Vec<Kernels>) -> Self {
        let weights = weights(trials);
        Mixture { log_weights: weights.iter().map(|weight| weight.ln()).collect(), weights, kernels }
    }

    fn sample(&self, draws: &mut Draws) -> Vec<f64> {
        let mut left = draws.uniform();
        let last = self.weights.len() - 1;
        let mut component = 0;
        while component < last && left >= self.weights[component] {
            left -= self.weights[component];
            component += 1;
        }
        self.kernels.iter().map(|kernels| kernels.sample(component, draws)).collect()
    }

    fn log_density(&self, values: &[f64]) -> f64 {
        let of = |component: usize| {
            let each = self.kernels.iter().zip(values).map(|(kernels, value)| kernels.log_density(component, *value));
            self.log_weights[component] + each.sum::<f64>()
        };
        let logs: Vec<f64> = (0..self.weights.len()).map(of).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match most.is_finite() {
            true => most + logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln(),
            false => most,
        }
    }
}

/// The standard normal distribution function.
fn below(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// The probability that a standard normal number is between `a` and `b`. The smaller tail is computed, so that it
/// keeps its digits.
fn mass(a: f64, b: f64) -> f64 {
    if a > 0.0 { below(-a) - below(-b) } else { below(b) - below(a) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_optuna() {
        // `default_weights(28)` of Optuna is 1/28, 0.517857.., 1 and 25 ones.
        let found = weights(28);
        let total = 1.0 / 28.0 + 0.5 * (1.0 + 1.0 / 28.0) + 1.0 + 25.0 + 1.0;
        let wanted = [1.0 / 28.0 / total, 0.5 * (1.0 + 1.0 / 28.0) / total, 1.0 / total];
        wanted.iter().zip(&found).for_each(|(wanted, found)| assert!((wanted - found).abs() < 1e-15));
        assert_eq!(found.len(), 29);
        assert_eq!(weights(0), [1.0]);
        assert_eq!(weights(1), [0.5, 0.5]);
    }

    #[test]
    fn densities_have_a_sum_of_one() {
        let check = |dimension: TpeDimension, values: &[f64], points: &[f64], step: f64| {
            let mixture = Mixture::new(values.len(), vec![Kernels::new(&dimension, values)]);
            let total: f64 = points.iter().map(|x| mixture.log_density(&[*x]).exp() * step).sum();
            // The sampler leaves out the constant of the normal density, which cancels.
            let constant = match dimension {
                TpeDimension::Float { .. } => (2.0 * std::f64::consts::PI).sqrt(),
                _ => 1.0,
            };
            assert!((total / constant - 1.0).abs() < 1e-6, "{dimension:?}: {total}");
        };
        let middle: Vec<f64> = (0..20_000).map(|i| -2.0 + (f64::from(i) + 0.5) * 5.0 / 20_000.0).collect();
        let range = TpeDimension::Float { low: -2.0, high: 3.0, log: false };
        check(range, &[-2.0, 0.3, 0.31, 2.9], &middle, 5.0 / 20_000.0);
        let integers: Vec<f64> = (-3..=7).map(f64::from).collect();
        check(TpeDimension::Int { low: -3, high: 7 }, &[-3.0, 7.0, 7.0], &integers, 1.0);
        check(TpeDimension::Choice { count: 4 }, &[1.0, 1.0, 3.0], &[0.0, 1.0, 2.0, 3.0], 1.0);
    }

    #[test]
    fn draws_have_the_density_of_the_mixture() {
        // 20,000 draws of each kind against the probabilities of the density, to four standard errors.
        for dimension in [TpeDimension::Int { low: 0, high: 5 }, TpeDimension::Choice { count: 6 }] {
            let kernels = vec![Kernels::new(&dimension, &[4.0, 0.0, 4.0])];
            let mixture = Mixture::new(3, kernels);
            let mut draws = Draws::new(1, 0);
            let mut counts = [0.0; 6];
            (0..20_000).for_each(|_| counts[mixture.sample(&mut draws)[0] as usize] += 1.0);
            for (value, count) in counts.iter().enumerate() {
                let p = mixture.log_density(&[value as f64]).exp();
                let error = (p * (1.0 - p) / 20_000.0).sqrt();
                assert!((count / 20_000.0 - p).abs() < 4.0 * error, "{dimension:?} {value}: {count}, {p}");
            }
        }
    }

    #[test]
    fn the_ends_of_a_range_are_no_trouble() {
        let dimensions = vec![
            TpeDimension::Int { low: i64::MIN, high: i64::MAX },
            TpeDimension::Int { low: 3, high: 3 },
            TpeDimension::Choice { count: 1 },
            TpeDimension::Float { low: 1e-300, high: 1e300, log: true },
            TpeDimension::Float { low: 0.0, high: 5e-324, log: false },
        ];
        for multivariate in [false, true] {
            let options = TpeOptions { n_startup_trials: 0, multivariate, ..TpeOptions::default() };
            let sampler = TpeSampler::new(dimensions.clone(), options, 7);
            let mut history: Vec<TpeTrial> = Vec::new();
            for number in 0..40 {
                let values = sampler.propose(number, &history);
                assert_eq!((values[1], values[2]), (3.0, 0.0));
                assert!((1e-300..=1e300).contains(&values[3]) && (0.0..=5e-324).contains(&values[4]), "{values:?}");
                let score = match number % 4 {
                    0 => TpeScore::Complete(f64::NAN),
                    1 => TpeScore::Pruned { folds: 2, score: values[0] },
                    2 => TpeScore::Complete(f64::NEG_INFINITY),
                    _ => TpeScore::Complete(values[0]),
                };
                history.push(TpeTrial { values, score });
            }
        }
    }
}
