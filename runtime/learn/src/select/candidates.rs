//! The combinations of parameters that a search tries: `ParameterGrid` and `ParameterSampler` of
//! `sklearn/model_selection/_search.py`.

use onrush_wire::learn::{Grid, Param, Spec};

use crate::check;
use crate::error::{Error, ErrorKind};
use crate::estimators::Candidate;
use crate::path;
use crate::random::Mt19937;

/// Combinations up to which a grid is tried as a whole.
pub(super) const MOST: u64 = 1_000_000;

/// The candidates of a grid search: all combinations. Paths are sorted, and the last path changes fastest. Ranges of
/// integers are lists of their values.
///
/// # Errors
/// If there is nothing to try, a distribution in the grid, or too many combinations.
pub fn grid(spec: &Spec) -> Result<Vec<Candidate>, Error> {
    let mut sorted = sorted(spec)?;
    for (path, grid) in &mut sorted {
        if let Grid::Integers(low, high) = *grid {
            let count = high.abs_diff(low).saturating_add(1);
            if count > MOST {
                let message = format!("`{path}` has {count} values from {low} to {high}: at most {MOST}");
                return Err(Error::new(ErrorKind::Grid, message).help("name the values, or take RandomizedSearchCV"));
            }
            *grid = Grid::List((low..=high).map(Param::Int).collect());
        }
    }
    let mut lists = Vec::new();
    for (path, grid) in &sorted {
        match grid {
            Grid::List(values) => lists.push((path.as_str(), values.as_slice())),
            _ => {
                let message = format!("`{path}` is a distribution, and GridSearchCV tries lists of values");
                return Err(Error::new(ErrorKind::Grid, message).help("name the values, or take RandomizedSearchCV"));
            }
        }
    }
    let total = combinations(&lists);
    if total > MOST {
        let message = format!("the grid has {total} combinations: at most {MOST}");
        return Err(Error::new(ErrorKind::Grid, message).help("take RandomizedSearchCV, which tries `n_iter` of them"));
    }
    Ok((0..total).map(|number| combination(&lists, number)).collect())
}

/// The candidates of a randomized search: `n_iter` draws. Lists alone are drawn without replacement, in
/// scikit-learn's order.
///
/// # Errors
/// If there is nothing to try, or a distribution has no range.
pub fn sample(spec: &Spec, n_iter: usize, seed: u32) -> Result<Vec<Candidate>, Error> {
    let sorted = sorted(spec)?;
    let mut random = Mt19937::new(seed);
    let mut lists = Vec::new();
    for (path, grid) in &sorted {
        if let Grid::List(values) = grid {
            lists.push((path.as_str(), values.as_slice()));
        }
    }
    if n_iter as u64 > MOST {
        return Err(Error::new(ErrorKind::Parameter, format!("`n_iter` is {n_iter}: at most {MOST}")));
    }
    if lists.len() == sorted.len() {
        let numbers = random.sample_without_replacement(combinations(&lists), n_iter);
        return Ok(numbers.into_iter().map(|number| combination(&lists, number)).collect());
    }
    let draw = |random: &mut Mt19937| sorted.iter().map(|(path, grid)| (path.clone(), drawn(grid, random))).collect();
    Ok((0..n_iter).map(|_| draw(&mut random)).collect())
}

/// The estimator with the parameters of a candidate.
///
/// # Errors
/// If there is no such parameter, or a value is out of its range.
pub fn with_params(estimator: &Spec, candidate: &Candidate) -> Result<Spec, Error> {
    let mut spec = estimator.clone();
    candidate.iter().try_for_each(|(name, value)| path::set(&mut spec, name, value.clone()))?;
    check::spec(&spec)?;
    Ok(spec)
}

/// The grid in the order of its paths, checked.
pub(super) fn sorted(spec: &Spec) -> Result<Vec<(String, Grid)>, Error> {
    if spec.grid.is_empty() {
        let message = format!("{} has no parameters to try", spec.estimator);
        return Err(
            Error::new(ErrorKind::Grid, message).help("name some, such as `alpha` with the values 0.1, 1 and 10")
        );
    }
    let mut sorted = spec.grid.clone();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    if let Some(twice) = sorted.windows(2).find(|w| w[0].0 == w[1].0) {
        return Err(Error::new(ErrorKind::Grid, format!("`{}` is in the grid twice", twice[0].0)));
    }
    for (path, grid) in &sorted {
        let wrong = |what: String| Err(Error::new(ErrorKind::Grid, format!("`{path}` {what}")));
        match grid {
            Grid::List(values) if values.is_empty() => return wrong("has no values to try".to_string()),
            Grid::Uniform(low, high) if !(low.is_finite() && high.is_finite() && low < high) => {
                return wrong(format!("is uniform from {low} to {high}: the first must be less than the second"));
            }
            Grid::LogUniform(low, high) if !(*low > 0.0 && high.is_finite() && low < high) => {
                let wanted = "the first must be above 0 and less than the second";
                return wrong(format!("is log-uniform from {low} to {high}: {wanted}"));
            }
            Grid::Integers(low, high) if low > high => {
                return wrong(format!("is an integer from {low} to {high}: the first must be at most the second"));
            }
            _ => {}
        }
    }
    Ok(sorted)
}

fn combinations(lists: &[(&str, &[Param])]) -> u64 {
    lists.iter().fold(1u64, |total, (_, values)| total.saturating_mul(values.len() as u64))
}

/// The combination at a position of `ParameterGrid`.
fn combination(lists: &[(&str, &[Param])], mut number: u64) -> Candidate {
    let mut out: Candidate = Vec::with_capacity(lists.len());
    for (path, values) in lists.iter().rev() {
        let n = values.len() as u64;
        out.push((path.to_string(), values[(number % n) as usize].clone()));
        number /= n;
    }
    out.reverse();
    out
}

fn drawn(grid: &Grid, random: &mut Mt19937) -> Param {
    match grid {
        Grid::List(values) => values[random.randint(0, values.len() as u64) as usize].clone(),
        Grid::Uniform(low, high) => Param::Float(low + random.uniform() * (high - low)),
        Grid::LogUniform(low, high) => {
            let (a, b) = (low.ln(), high.ln());
            Param::Float((a + random.uniform() * (b - a)).exp().clamp(*low, *high))
        }
        Grid::Integers(low, high) => {
            Param::Int(low.wrapping_add(random.interval(high.wrapping_sub(*low) as u64) as i64))
        }
    }
}
