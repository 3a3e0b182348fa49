//! Successive halving (Karnin et al. 2013): `sklearn/model_selection/_search_successive_halving.py`.
//!
//! All candidates are scored with few resources. The best of them, one in `factor`, are scored again with `factor`
//! times the resources, and so on. The resource is the number of rows, or a parameter of the estimator. Iterations,
//! resources and sampled rows are those of scikit-learn.

use std::sync::Arc;

use onrush_wire::learn::{Param, Spec};

use super::race::Race;
use super::rules::HalvingParams;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::{Candidate, HalvingRound};
use crate::params;
use crate::path;
use crate::random::Mt19937;
use crate::select::candidates;
use crate::split::RowSplit;

/// The name of the resource that is the number of rows.
const ROWS: &str = "n_samples";

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Parameter, message)
}

/// The resources of a search.
struct Resources {
    min: usize,
    max: usize,
}

/// A number of resources, or `None` for one of these words.
fn resources(name: &str, value: &Param, words: &[&str]) -> Result<Option<usize>, Error> {
    match value {
        Param::Str(word) if words.contains(&word.as_str()) => Ok(None),
        value => match params::count(value) {
            Some(count) if count > 0 => Ok(Some(count)),
            _ => {
                let list = words.iter().map(|word| format!("{word:?}")).collect::<Vec<String>>().join(" or ");
                Err(wrong(format!("`{name}` is {value}: at least 1, or {list}")))
            }
        },
    }
}

impl Resources {
    fn of(params: &HalvingParams, folds: usize, data: &Data) -> Result<Self, Error> {
        let is_rows = params.resource == ROWS;
        let min = match resources("min_resources", &params.min_resources, &["exhaust", "smallest"])? {
            Some(min) => min,
            None if is_rows => 2 * folds * data.classes.len().max(1),
            None => 1,
        };
        let max = match resources("max_resources", &params.max_resources, &["auto"])? {
            Some(max) if is_rows && max > data.rows => {
                return Err(wrong(format!("`max_resources` is {max}: there are {} rows", data.rows)));
            }
            Some(max) => max,
            None if is_rows => data.rows,
            None => {
                let message = format!("`max_resources` is \"auto\", and the resource is `{}`", params.resource);
                return Err(wrong(message).help("set `max_resources` to the highest value of the parameter"));
            }
        };
        match min <= max {
            true => Ok(Resources { min, max }),
            false => Err(wrong(format!("`min_resources` is {min}: at most `max_resources`, which is {max}"))
                .help("take fewer folds, or set `min_resources`")),
        }
    }
}

/// The candidates of the first iteration.
fn first(spec: &Spec, params: &HalvingParams, resources: &Resources) -> Result<Vec<Candidate>, Error> {
    let Some(wanted) = &params.n_candidates else { return candidates::grid(spec) };
    let exhausts = |value: &Param| params::word(value) == Some("exhaust");
    if exhausts(wanted) && exhausts(&params.min_resources) {
        return Err(wrong("`n_candidates` and `min_resources` are both \"exhaust\"".to_string())
            .help("set one of them to a number, or `min_resources` to \"smallest\""));
    }
    let count = match self::resources("n_candidates", wanted, &["exhaust"])? {
        Some(count) => count,
        None => resources.max / resources.min,
    };
    candidates::sample(spec, count, params.seed)
}

/// `1 + floor(log(n, factor))` with Python's rounding.
fn iterations(n: f64, factor: f64) -> usize {
    1 + (n.ln() / factor.ln()).floor().max(0.0) as usize
}

/// A share of the rows of each split, drawn without replacement.
fn sampled(splits: &[RowSplit], fraction: f64, seed: u32) -> Vec<RowSplit> {
    let of = |rows: &[usize]| {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        Mt19937::new(seed).shuffle(&mut order);
        order.truncate((fraction * rows.len() as f64) as usize);
        order.into_iter().map(|at| rows[at]).collect::<Vec<usize>>()
    };
    splits.iter().map(|(train, test)| (of(train), of(test))).collect()
}

/// The best `keep` of some candidates, the best one last. Candidates without a score come first.
fn top(scored: Vec<(Candidate, f64)>, keep: usize) -> Vec<Candidate> {
    let mut scored = scored;
    let key = |score: f64| if score.is_nan() { (0, 0.0) } else { (1, score) };
    scored.sort_by(|a, b| key(a.1).0.cmp(&key(b.1).0).then(key(a.1).1.total_cmp(&key(b.1).1)));
    let dropped = scored.len().saturating_sub(keep);
    scored.into_iter().skip(dropped).map(|(candidate, _)| candidate).collect()
}

/// Runs the iterations, and gives notes about them.
///
/// # Errors
/// If a parameter does not fit the rows or the estimator.
pub(super) fn run(
    race: &Race<'_>,
    spec: &Spec,
    estimator: &Spec,
    params: &HalvingParams,
) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    let (factor, is_rows) = (params.factor, params.resource == ROWS);
    let resource = params.resource.replace('.', "__");
    if !is_rows {
        path::get(estimator, &resource).map_err(|error| Error {
            message: format!("`resource` is `{}`, and {}", params.resource, error.message),
            ..error
        })?;
        if spec.grid.iter().any(|(path, _)| path.replace('.', "__") == resource) {
            return Err(wrong(format!("`{}` is the resource, and cannot be tried as well", params.resource)));
        }
    }
    let mut resources = Resources::of(params, race.folds(), race.data)?;
    let mut left = first(spec, params, &resources)?;
    if left.is_empty() {
        return Err(Error::new(ErrorKind::Grid, "there are no candidates to try"));
    }
    let required = iterations(left.len() as f64, factor);
    if params::word(&params.min_resources) == Some("exhaust") {
        let most = (resources.max as f64 / factor.powi(required as i32 - 1)).floor() as usize;
        resources.min = resources.min.max(most);
    }
    let possible = iterations((resources.max / resources.min) as f64, factor);
    let count = if params.aggressive_elimination { required } else { possible.min(required) };
    let sizes = (1..count).scan(left.len(), |n, _| {
        *n = (*n as f64 / factor).ceil() as usize;
        Some(*n)
    });
    race.plan(left.len() + sizes.sum::<usize>());
    for iteration in 0..count {
        let power = match params.aggressive_elimination {
            true => (iteration + possible).saturating_sub(required),
            false => iteration,
        };
        let n_resources = ((factor.powi(power as i32) * resources.min as f64) as usize).min(resources.max);
        let splits = match is_rows {
            true => Arc::new(sampled(&race.splits, n_resources as f64 / race.data.rows as f64, params.seed)),
            false => Arc::clone(&race.splits),
        };
        if !is_rows {
            left.iter_mut().for_each(|candidate| set(candidate, &resource, n_resources));
        }
        let round = HalvingRound { iteration, n_resources };
        let specs: Vec<Spec> =
            left.iter().map(|c| candidates::with_params(estimator, c)).collect::<Result<_, Error>>()?;
        let added: Vec<usize> =
            left.iter().zip(specs).map(|(c, spec)| race.add_to_round(round, c.clone(), spec, &splits)).collect();
        let (Some(start), Some(end)) = (added.first(), added.last()) else { break };
        race.run_all(*start..*end + 1);
        if (race.run.is_stopped)() {
            break;
        }
        let keep = (left.len() as f64 / factor).ceil() as usize;
        let scores: Vec<f64> = added.iter().map(|trial| race.mean(*trial).unwrap_or(f64::NAN)).collect();
        if scores.iter().all(|score| score.is_nan()) && iteration + 1 < count {
            notes.push(format!(
                "no candidate of iteration {iteration} has a score with {n_resources} of `{}`, so that the last ones \
                 stay: set `min_resources` higher",
                params.resource
            ));
        }
        left = top(left.into_iter().zip(scores).collect(), keep);
    }
    Ok(notes)
}

/// Sets the resource of a candidate, in the order of paths.
fn set(candidate: &mut Candidate, resource: &str, value: usize) {
    candidate.retain(|(path, _)| path != resource);
    let at = candidate.partition_point(|(path, _)| path.as_str() < resource);
    candidate.insert(at, (resource.to_string(), Param::Int(value as i64)));
}
