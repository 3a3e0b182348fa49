//! Gradient boosting on binned features (`sklearn/ensemble/_hist_gradient_boosting/gradient_boosting.py`).
//!
//! Bins, the rows of early stopping and trees are those of scikit-learn for the same `random_state`. Features that are
//! drawn, if `max_features` is below 1, differ.

use serde::{Deserialize, Serialize};

use onrush_wire::learn::{Detail, Param, Size, Spec};

use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::eval_set;
use crate::explain::Scale;
use crate::explain::shape::Shapes;
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params::{self, Floats};
use crate::random::{Mt19937, Philox};
use crate::run::Run;
use crate::split::train_test_split;
use crate::tensor::Tensor;
use crate::weights;

use super::bins::bin;
use super::forest::{columns, monotonic, outputs};
use super::leafwise::{LeafwisePlan, Lines, Memory, grow};
use super::loss::Loss;
use super::tree::{Tree, Trees};

/// A boosted model.
#[derive(Serialize, Deserialize)]
pub struct BoostedTrees {
    pub loss: Loss,
    /// Classes. 0 for a regressor.
    pub classes: usize,
    /// Raw predictions before the first tree.
    pub baseline: Tensor,
    /// Trees of the first round, then of the second one: as many for each round as there are raw predictions.
    pub trees: Trees,
    /// Negative losses before the first round and after each one.
    pub train_score: Tensor,
    /// Negative losses on the rows of early stopping or of the evaluation set. Empty if there are none.
    pub validation_score: Tensor,
    pub notes: Vec<String>,
}

/// Rows from which `early_stopping="auto"` stops early.
const AUTO: usize = 10_000;

params::shared! {
    /// Parameters of classifiers and regressors.
    pub struct BoostParams of [HistGradientBoostingClassifier HistGradientBoostingRegressor] {
        loss: String,
        learning_rate: f64,
        max_iter: usize,
        max_leaf_nodes: Param,
        max_depth: Option<usize>,
        min_samples_leaf: usize,
        l2_regularization: f64,
        max_features: f64,
        max_bins: usize,
        monotonic_cst: Option<Floats>,
        interaction_cst: Param,
        early_stopping: Param,
        validation_fraction: Param,
        n_iter_no_change: usize,
        tol: f64,
        random_state: usize,
    }
}

/// Trains `HistGradientBoostingClassifier`.
///
/// # Errors
/// As [`regressor`].
pub fn classifier(
    params: &params::HistGradientBoostingClassifier,
    spec: &Spec,
    data: &Data,
    run: &Run<'_>,
) -> Result<BoostedTrees, Error> {
    fit(&params.into(), None, &params.class_weight, spec, data, run)
}

/// Trains `HistGradientBoostingRegressor`.
///
/// # Errors
/// If a parameter does not fit the data, or a target is outside of the loss's domain. If a category has too many
/// values. If the user stops the training.
pub fn regressor(
    params: &params::HistGradientBoostingRegressor,
    spec: &Spec,
    data: &Data,
    run: &Run<'_>,
) -> Result<BoostedTrees, Error> {
    fit(&params.into(), params.quantile, &Param::None, spec, data, run)
}

/// Trains a boosted model. If `data` has an evaluation set, rounds are scored on the first one.
fn fit(
    params: &BoostParams,
    quantile: Option<f64>,
    class_weight: &Param,
    spec: &Spec,
    data: &Data,
    run: &Run<'_>,
) -> Result<BoostedTrees, Error> {
    let loss = loss(&params.loss, quantile, data)?;
    let constraints = monotonic(params.monotonic_cst.as_ref(), data)?;
    if params.interaction_cst != Param::None {
        let message =
            format!("`interaction_cst` is {}: constraints on interactions are not supported", params.interaction_cst);
        return Err(Error::new(ErrorKind::Parameter, message).help("leave it out"));
    }
    let early = early_stopping(&params.early_stopping, data)?;
    let weight = weights::of_rows(class_weight, data)?;
    if weight.as_ref().is_some_and(|w| w.iter().sum::<f64>() <= 0.0) {
        return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: expected at least one above 0"));
    }
    // scikit-learn draws the seed of its parts from the user's.
    let seed = Mt19937::new(params::seed(params.random_state)).randint(0, u64::from(u32::MAX)) as u32;
    let weighted = Data { weight, eval: Vec::new(), ..data.with_features(data.features.clone()) };
    let (train, validation) = match (data.eval.first(), early) {
        (Some(eval), _) => {
            let eval = eval_set::aligned(spec, data, eval)?;
            (weighted, Some(eval))
        }
        (None, true) => match held_out(&params.validation_fraction, &weighted, seed)? {
            Some((train, test)) => (weighted.take(&train), Some(weighted.take(&test))),
            None => (weighted, None),
        },
        (None, false) => (weighted, None),
    };
    train_rounds(params, loss, constraints, &train, validation.as_ref(), early, seed, run)
}

/// The loss, if the target is in its domain.
fn loss(name: &str, quantile: Option<f64>, data: &Data) -> Result<Loss, Error> {
    let below = |least: &str, is_inside: fn(f64) -> bool, loss: &str| match data.y.iter().find(|y| !is_inside(**y)) {
        Some(y) => {
            let message =
                format!("the target `{}` has the value {y}, and `loss` {loss} takes values {least}", data.target);
            Err(Error::new(ErrorKind::Target, message))
        }
        None => Ok(()),
    };
    match name {
        "absolute_error" => Ok(Loss::AbsoluteError),
        "quantile" => quantile.map(Loss::Quantile).ok_or_else(|| {
            Error::new(
                ErrorKind::Parameter,
                "`loss` is \"quantile\" and `quantile` is None: expected a number between 0 and 1",
            )
        }),
        "poisson" => {
            below("of at least 0", |y| y >= 0.0, "poisson")?;
            match data.y.iter().sum::<f64>() > 0.0 {
                true => Ok(Loss::Poisson),
                false => Err(Error::new(
                    ErrorKind::Target,
                    format!("the target `{}` is 0 in all rows, and `loss` poisson needs a positive sum", data.target),
                )),
            }
        }
        "gamma" => below("above 0", |y| y > 0.0, "gamma").map(|()| Loss::Gamma),
        "squared_error" => Ok(Loss::SquaredError),
        _ if data.classes.len() == 2 => Ok(Loss::Binary),
        _ => Ok(Loss::Classes(data.classes.len())),
    }
}

fn early_stopping(given: &Param, data: &Data) -> Result<bool, Error> {
    match given {
        Param::Bool(early) => Ok(*early),
        Param::Str(word) if word == "auto" => Ok(data.rows > AUTO),
        other => Err(Error::new(ErrorKind::Parameter, format!("`early_stopping` is {other}: true, false or auto"))),
    }
}

/// Training rows and rows that are held out: `train_test_split(test_size=validation_fraction, stratify=y)`. `None` if
/// no rows are.
fn held_out(fraction: &Param, data: &Data, seed: u32) -> Result<Option<(Vec<usize>, Vec<usize>)>, Error> {
    let rows = data.rows;
    let test = match *fraction {
        Param::None => return Ok(None),
        Param::Float(share) if share > 0.0 && share < 1.0 => (share * rows as f64).ceil() as usize,
        Param::Int(count) if count >= 1 => count as usize,
        _ => {
            let message = format!(
                "`validation_fraction` is {fraction}: a share between 0 and 1, an integer of at least 1, or None"
            );
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    let classes = data.classes.len();
    if test >= rows || test < classes || rows - test < classes.max(1) {
        let message =
            format!("early stopping holds out {test} of {rows} rows, which leaves too few to train on or to score");
        return Err(Error::new(ErrorKind::Parameter, message)
            .help("set `early_stopping(false)`, or another `validation_fraction`"));
    }
    let mut counts = vec![0usize; classes];
    if classes > 0 {
        data.y.iter().for_each(|class| counts[*class as usize] += 1);
    }
    if let Some(class) = counts.iter().position(|count| *count == 1) {
        let message = format!(
            "class `{}` of `{}` has 1 row, and early stopping holds rows of each class out",
            data.classes[class], data.target
        );
        return Err(
            Error::new(ErrorKind::Parameter, message).help("set `early_stopping(false)`, or give an evaluation set")
        );
    }
    let stratify = (classes > 0).then_some(&data.y[..]);
    let shuffle = true;
    let split = train_test_split(rows, Some(Size::Rows(test)), None, shuffle, stratify, seed)?;
    Ok(Some(split))
}

/// Raw predictions, output after output, and where they are compared.
struct Rows<'a> {
    data: &'a Data,
    raw: Vec<Vec<f64>>,
    scores: Vec<f64>,
}

impl<'a> Rows<'a> {
    fn new(data: &'a Data, baseline: &[f64]) -> Self {
        Rows { data, raw: baseline.iter().map(|b| vec![*b; data.rows]).collect(), scores: Vec::new() }
    }

    fn score(&mut self, loss: Loss) {
        self.scores.push(-loss.mean(&self.data.y, &self.raw, self.data.weight.as_deref()));
    }
}

fn train_rounds(
    params: &BoostParams,
    loss: Loss,
    monotonic: Vec<i8>,
    data: &Data,
    validation: Option<&Data>,
    early: bool,
    seed: u32,
    run: &Run<'_>,
) -> Result<BoostedTrees, Error> {
    let rounds = params.max_iter;
    let width = data.width();
    let max_leaf_nodes = match (&params.max_leaf_nodes, params::count(&params.max_leaf_nodes)) {
        (Param::None, _) => usize::MAX,
        (_, Some(count)) => count,
        (other, None) => {
            return Err(Error::new(
                ErrorKind::Parameter,
                format!("`max_leaf_nodes` is {other}: an integer of at least 2, or None"),
            ));
        }
    };
    let plan = LeafwisePlan {
        max_leaf_nodes,
        max_depth: params.max_depth.unwrap_or(usize::MAX),
        min_leaf: params.min_samples_leaf,
        l2: params.l2_regularization,
        learning_rate: params.learning_rate,
        max_features: ((params.max_features * width as f64).ceil() as usize).clamp(1, width),
        monotonic,
    };
    let weight = data.weight.as_deref();
    run.stage("binning features");
    let binned = bin(data, params.max_bins, weight, seed)?;
    let lines = Lines::new(&binned, data.rows);
    let baseline = loss.constant(&data.y, weight);
    let (mut train, mut held) = (Rows::new(data, &baseline), validation.map(|data| Rows::new(data, &baseline)));
    train.score(loss);
    if let Some(held) = &mut held {
        held.score(loss);
    }
    let outputs = loss.outputs();
    let constant = loss.is_constant() && weight.is_none();
    let mut gradient = vec![vec![0f32; data.rows]; outputs];
    let mut hessian = vec![vec![0f32; data.rows]; if constant { 0 } else { outputs }];
    let mut trees = Trees::new(1);
    let mut memory = Memory::default();
    let random = Philox::new(params::seed(params.random_state), 3);
    let patience = (params.n_iter_no_change, params.tol);
    for round in 0..rounds {
        run.check(|| format!("{round} of {rounds} rounds"))?;
        loss.gradients(&data.y, &train.raw, weight, &mut gradient, &mut hessian);
        for (k, gradient) in gradient.iter().enumerate() {
            let second = hessian.get(k).map_or(&[][..], Vec::as_slice);
            let number = (round * outputs + k) as u64;
            let mut grown = grow(&plan, (&lines, &binned), (gradient, second), (random, number), &mut memory);
            for (node, rows) in &grown.leaves {
                let rows = &grown.rows[rows.clone()];
                if loss.has_line_search() {
                    let residual =
                        |r: &u32| (data.y[*r as usize] - train.raw[k][*r as usize], data.weight_of(*r as usize));
                    let step = loss.quantile(rows.iter().map(residual).collect(), weight.is_some());
                    grown.tree.nodes[*node].threshold = plan.learning_rate * step;
                }
                let value = grown.tree.nodes[*node].threshold;
                rows.iter().for_each(|row| train.raw[k][*row as usize] += value);
            }
            if let Some(held) = &mut held {
                add(&grown.tree, held, k);
            }
            trees.push(grown.tree);
        }
        train.score(loss);
        if let Some(held) = &mut held {
            held.score(loss);
        }
        show(run, round + 1, rounds, &train, held.as_ref());
        if early && has_stopped(held.as_ref().map_or(&train.scores, |h| &h.scores), patience) {
            break;
        }
    }
    Ok(BoostedTrees {
        loss,
        classes: data.classes.len(),
        baseline: Tensor::vector(baseline),
        trees,
        train_score: Tensor::vector(train.scores),
        validation_score: Tensor::vector(held.map_or_else(Vec::new, |h| h.scores)),
        notes: Vec::new(),
    })
}

/// Adds the predictions of a tree.
fn add(tree: &Tree, rows: &mut Rows<'_>, output: usize) {
    let mut one = Trees::new(1);
    one.push(Tree { nodes: tree.nodes.clone(), values: Vec::new(), sets: tree.sets.clone(), covers: Vec::new() });
    let values = one.sums(rows.data, 1, |_, _, value, sum| sum[0] += value[0]);
    rows.raw[output].iter_mut().zip(values).for_each(|(raw, value)| *raw += value);
}

/// Shows the losses so far, about twenty times in a training and in each of the first rounds.
fn show(run: &Run<'_>, round: usize, rounds: usize, train: &Rows<'_>, held: Option<&Rows<'_>>) {
    (run.steps)(round as u64, rounds as u64);
    let last = |rows: &Rows<'_>| -rows.scores.last().copied().unwrap_or(f64::NAN);
    let validation = held.map_or_else(String::new, |h| format!(", validation loss {:.4}", last(h)));
    run.stage(format!("round {round} of {rounds}, loss {:.4}{validation}", last(train)));
    if round < 10 || round.is_multiple_of((rounds / 20).max(1)) || round == rounds {
        let mut curves = vec![("training loss".to_string(), points(&train.scores))];
        curves.extend(held.map(|h| ("validation loss".to_string(), points(&h.scores))));
        (run.detail)(Detail::Curves(curves));
    }
}

/// Losses by round.
fn points(scores: &[f64]) -> Vec<(f64, f64)> {
    scores.iter().enumerate().map(|(round, score)| (round as f64, -score)).collect()
}

/// Whether none of the last scores is better than the one before them by more than `tol`.
fn has_stopped(scores: &[f64], (patience, tol): (usize, f64)) -> bool {
    let Some(reference) = scores.len().checked_sub(patience + 1) else { return false };
    !scores[reference + 1..].iter().any(|score| *score > scores[reference] + tol)
}

impl BoostedTrees {
    /// Raw predictions, row after row.
    fn raw(&self, data: &Data) -> Vec<f64> {
        let count = self.loss.outputs();
        let mut sums = self.trees.sums(data, count, |tree, _, value, sums| sums[tree % count] += value[0]);
        for raw in sums.chunks_mut(count) {
            raw.iter_mut().zip(&self.baseline.data).for_each(|(raw, base)| *raw += base);
        }
        sums
    }
}

impl Model for BoostedTrees {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        outputs(self.classes)
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let mut predicted = Vec::with_capacity(data.rows * self.classes.max(1));
        self.raw(data).chunks(self.loss.outputs()).for_each(|raw| self.loss.predict(raw, &mut predicted));
        Ok(columns(&predicted, self.classes, wanted))
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        let (raw, count) = (self.raw(data), self.loss.outputs());
        let column = |k: usize| raw.iter().skip(k).step_by(count).copied().collect();
        Ok((self.classes > 0).then(|| (0..count).map(column).collect()))
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        let frame = |scores: &Tensor| {
            let rounds = (0..scores.data.len() as i64).collect();
            Attribute::Frame(vec![
                ("iteration".to_string(), Values::Ints(rounds)),
                ("score".to_string(), Values::Floats(scores.data.clone())),
            ])
        };
        match name {
            "n_iter" => Some(Attribute::Int((self.trees.len() / self.loss.outputs()) as i64)),
            "train_score" => Some(frame(&self.train_score)),
            "validation_score" => Some(frame(&self.validation_score)),
            _ => None,
        }
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let mut curves = vec![("training loss".to_string(), points(&self.train_score.data))];
        if !self.validation_score.data.is_empty() {
            curves.push(("validation loss".to_string(), points(&self.validation_score.data)));
        }
        curves
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Raw predictions.
    fn shapes(&self, _: &Data) -> Result<Option<Shapes<'_>>, Error> {
        let count = self.loss.outputs();
        let is_raw = self.classes > 0 || matches!(self.loss, Loss::Poisson | Loss::Gamma);
        let scale = if is_raw { Scale::Margin } else { Scale::Value };
        self.trees.shapes((self.baseline.data.clone(), scale), 1.0, |tree| tree % count).map(Some)
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |what: &str| Err(Error::new(ErrorKind::ModelFile, what.to_string()));
        let fits = match self.loss {
            Loss::Binary => self.classes == 2,
            Loss::Classes(count) => count > 2 && self.classes == count,
            _ => self.classes == 0,
        };
        if self.classes != classes || !fits {
            return wrong("the number of classes is not that of the target and the loss");
        }
        let outputs = self.loss.outputs();
        if self.baseline.data.len() != outputs || !self.trees.len().is_multiple_of(outputs) {
            return wrong("the trees do not fit the number of raw predictions");
        }
        self.trees.check(features, 1)
    }

    fn bytes(&self) -> u64 {
        self.trees.bytes() + self.train_score.bytes() + self.validation_score.bytes()
    }
}
