//! The tree-structured Parzen estimator against Optuna 5.0 (`tests/learn/expect_tpe.py`): the median over 40 seeds of
//! the distance from the lowest value, after 60 trials.

use onrush_learn::select::tpe::{TpeDimension, TpeOptions, TpeSampler, TpeScore, TpeTrial};

use crate::support::expected;

const SEEDS: u32 = 40;
const TRIALS: usize = 60;

type Function = fn(&[f64]) -> f64;

fn float(low: f64, high: f64) -> TpeDimension {
    TpeDimension::Float { low, high, log: false }
}

fn sphere(x: &[f64]) -> f64 {
    x.iter().enumerate().map(|(i, x)| (x - i as f64).powi(2)).sum()
}

fn branin(v: &[f64]) -> f64 {
    use std::f64::consts::PI;
    let (x, y) = (v[0], v[1]);
    let (b, c, t) = (5.1 / (4.0 * PI * PI), 5.0 / PI, 1.0 / (8.0 * PI));
    (y - b * x * x + c * x - 6.0).powi(2) + 10.0 * (1.0 - t) * x.cos() + 10.0
}

fn mixed(v: &[f64]) -> f64 {
    (v[0].log10() + 3.0).powi(2) + 0.05 * (v[1] - 11.0).powi(2) + [2.0, 1.0, 0.0, 3.0, 1.5][v[2] as usize]
}

fn steps(v: &[f64]) -> f64 {
    (v[3] - 17.0).abs() + v[..3].iter().filter(|word| **word != 4.0).count() as f64 * 4.0
}

fn cases() -> [(&'static str, Vec<TpeDimension>, Function); 4] {
    let words = || TpeDimension::Choice { count: 6 };
    [
        ("sphere", vec![float(-5.0, 5.0), float(-5.0, 5.0), float(-5.0, 5.0)], sphere),
        ("branin", vec![float(-5.0, 10.0), float(0.0, 15.0)], branin),
        (
            "mixed",
            vec![
                TpeDimension::Float { low: 1e-6, high: 1e2, log: true },
                TpeDimension::Int { low: 1, high: 30 },
                TpeDimension::Choice { count: 5 },
            ],
            mixed,
        ),
        ("steps", vec![words(), words(), words(), TpeDimension::Int { low: -50, high: 50 }], steps),
    ]
}

/// The values of the trials of a search for the lowest value.
fn search(sampler: &TpeSampler, function: Function) -> Vec<f64> {
    let mut history: Vec<TpeTrial> = Vec::new();
    for number in 0..TRIALS {
        let values = sampler.propose(number, &history);
        let score = TpeScore::Complete(-function(&values));
        history.push(TpeTrial { values, score });
    }
    history.iter().map(|trial| function(&trial.values)).collect()
}

fn median_regret(dimensions: &[TpeDimension], options: TpeOptions, function: Function, lowest: f64) -> f64 {
    let best = |seed: u32| {
        let values = search(&TpeSampler::new(dimensions.to_vec(), options, seed), function);
        values.into_iter().fold(f64::INFINITY, f64::min) - lowest
    };
    let mut regrets: Vec<f64> = (0..SEEDS).map(best).collect();
    regrets.sort_by(f64::total_cmp);
    0.5 * (regrets[SEEDS as usize / 2 - 1] + regrets[SEEDS as usize / 2])
}

#[test]
fn searches_come_as_near_as_those_of_optuna() {
    let file = expected("tpe.json");
    for (name, dimensions, function) in cases() {
        let wanted = |kind: &str| file[name][kind].as_f64().unwrap();
        let lowest = wanted("lowest");
        let random = TpeOptions { n_startup_trials: TRIALS, ..TpeOptions::default() };
        let random = median_regret(&dimensions, random, function, lowest);
        for (kind, multivariate) in [("independent", false), ("joint", true)] {
            let options = TpeOptions { multivariate, ..TpeOptions::default() };
            let found = median_regret(&dimensions, options, function, lowest);
            println!("{name} {kind}: {found}, Optuna {}, random {random}, Optuna's {}", wanted(kind), wanted("random"));
            assert!(found <= 1.2 * wanted(kind), "{name} {kind}: {found}, Optuna {}", wanted(kind));
            assert!(found < 0.6 * random.min(wanted("random")), "{name} {kind}: {found}, random {random}");
        }
    }
}

#[test]
fn a_proposal_depends_on_seed_number_and_history_alone() {
    let (_, dimensions, function) = cases().into_iter().nth(2).unwrap();
    let sampler = |seed: u32| TpeSampler::new(dimensions.clone(), TpeOptions::default(), seed);
    assert_eq!(search(&sampler(3), function), search(&sampler(3), function));
    assert_ne!(search(&sampler(3), function), search(&sampler(4), function));
    // The random trials at the start do not look at the history.
    let past = TpeTrial { values: vec![1.0, 3.0, 0.0], score: TpeScore::Complete(1.0) };
    assert_eq!(sampler(3).propose(9, std::slice::from_ref(&past)), sampler(3).propose(9, &[]));
    let many: Vec<TpeTrial> = std::iter::repeat_n(past, 10).collect();
    assert_ne!(sampler(3).propose(10, &many), sampler(3).propose(10, &[]));
}
