//! Trains `GradientBoostingClassifier` and `GradientBoostingRegressor`.
//!
//! Trees are those of scikit-learn if features have at most `max_bins` different values and no two splits are equally
//! good. Rows of `subsample` and of early stopping are scikit-learn's for a seed; features of `max_features` are not.

use rayon::prelude::*;

use onrush_wire::learn::{Detail, Param, Size};

use super::losses::{BoostingLoss, Targets};
use super::model::{GradientBoosted, points};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::random::{Mt19937, Philox};
use crate::run::Run;
use crate::split::train_test_split;
use crate::tensor::Tensor;
use crate::trees::bins::{BinnedData, bin};
use crate::trees::criterion::{Criterion, Item, Target};
use crate::trees::forest::{max_features, rows_or_share};
use crate::trees::grow::{GrownTree, Plan, TreeRows, grow};
use crate::trees::tree::{Node, Tree, Trees};

params::shared! {
    /// Parameters of classifiers and regressors.
    pub struct GradientParams of [GradientBoostingClassifier GradientBoostingRegressor] {
        learning_rate: f64,
        n_estimators: usize,
        subsample: f64,
        min_samples_split: Param,
        min_samples_leaf: Param,
        min_weight_fraction_leaf: f64,
        max_depth: Param,
        min_impurity_decrease: f64,
        init: Option<String>,
        random_state: usize,
        max_features: Param,
        max_leaf_nodes: Option<usize>,
        validation_fraction: f64,
        n_iter_no_change: Option<usize>,
        tol: f64,
        ccp_alpha: f64,
        max_bins: usize,
    }
}

/// The stream of random numbers that draw features.
const FEATURES: u32 = 2;

/// The exclusive upper end of the seeds that scikit-learn draws for a tree.
const SEEDS: u64 = 0x7fff_ffff;

/// Rows that a thread walks through a tree at a time.
const CHUNK: usize = 4096;

/// Trains `GradientBoostingClassifier`.
///
/// # Errors
/// As [`regressor`], and for the loss `exponential` with more than two classes.
pub fn classifier(
    params: &params::GradientBoostingClassifier,
    data: &Data,
    run: &Run<'_>,
) -> Result<GradientBoosted, Error> {
    let classes = data.classes.len();
    let loss = match (params.loss.as_str(), classes) {
        ("exponential", 2) => BoostingLoss::Exponential,
        ("exponential", _) => {
            let message = format!("`loss` is exponential, and `{}` has {classes} classes: expected 2", data.target);
            return Err(Error::new(ErrorKind::Parameter, message).help("take the loss \"log_loss\""));
        }
        (_, 2) => BoostingLoss::Binary,
        _ => BoostingLoss::Classes(classes),
    };
    fit(&params.into(), loss, data, run)
}

/// Trains `GradientBoostingRegressor`.
///
/// # Errors
/// If a parameter does not fit the data, all weights are 0, or the user stops the training.
pub fn regressor(
    params: &params::GradientBoostingRegressor,
    data: &Data,
    run: &Run<'_>,
) -> Result<GradientBoosted, Error> {
    let alpha = params.alpha;
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(Error::new(ErrorKind::Parameter, format!("`alpha` is {alpha}: above 0 and below 1")));
    }
    let loss = match params.loss.as_str() {
        "absolute_error" => BoostingLoss::AbsoluteError,
        "huber" => BoostingLoss::Huber(alpha),
        "quantile" => BoostingLoss::Quantile(alpha),
        _ => BoostingLoss::SquaredError,
    };
    fit(&params.into(), loss, data, run)
}

fn fit(params: &GradientParams, loss: BoostingLoss, data: &Data, run: &Run<'_>) -> Result<GradientBoosted, Error> {
    let wrong = |message: String| Err(Error::new(ErrorKind::Parameter, message));
    if params.subsample <= 0.0 {
        return wrong(format!("`subsample` is {}: above 0 and at most 1", params.subsample));
    }
    if data.weight.as_ref().is_some_and(|w| w.iter().sum::<f64>() <= 0.0) {
        return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: expected at least one above 0"));
    }
    if params.n_iter_no_change.is_none() {
        return Boosting::new(params, loss, data, None)?.train(run);
    }
    let share = params.validation_fraction;
    if !(share > 0.0 && share < 1.0) {
        return wrong(format!("`validation_fraction` is {share}: above 0 and below 1"));
    }
    let (shuffle, stratify) = (true, (!data.classes.is_empty()).then_some(&data.y[..]));
    let seed = params::seed(params.random_state);
    let (train, test) = train_test_split(data.rows, Some(Size::Share(share)), None, shuffle, stratify, seed)?;
    let (train, test) = (data.take(&train), data.take(&test));
    Boosting::new(params, loss, &train, Some(&test))?.train(run)
}

/// A training while it goes on.
struct Boosting<'a> {
    params: &'a GradientParams,
    loss: BoostingLoss,
    data: &'a Data,
    /// Rows of early stopping.
    held: Option<&'a Data>,
    plan: Plan,
    baseline: Vec<f64>,
    /// Raw predictions of the training rows and of the rows of early stopping, output after output.
    raw: Vec<Vec<f64>>,
    held_raw: Vec<Vec<f64>>,
    trees: Trees,
    importances: Vec<f64>,
    scores: Scores,
}

#[derive(Default)]
struct Scores {
    train: Vec<f64>,
    oob: Vec<f64>,
    validation: Vec<f64>,
}

fn targets(data: &Data) -> Targets<'_> {
    Targets { y: &data.y, weight: data.weight.as_deref() }
}

impl<'a> Boosting<'a> {
    fn new(
        params: &'a GradientParams,
        loss: BoostingLoss,
        data: &'a Data,
        held: Option<&'a Data>,
    ) -> Result<Self, Error> {
        let baseline = match params.init {
            Some(_) => vec![0.0; loss.outputs()],
            None => loss.constant(targets(data)),
        };
        let raw = |rows: usize| baseline.iter().map(|b| vec![*b; rows]).collect::<Vec<Vec<f64>>>();
        Ok(Boosting {
            params,
            loss,
            data,
            held,
            plan: plan(params, data)?,
            raw: raw(data.rows),
            held_raw: raw(held.map_or(0, |held| held.rows)),
            baseline,
            trees: Trees::new(1),
            importances: vec![0.0; data.width()],
            scores: Scores::default(),
        })
    }

    fn train(mut self, run: &Run<'_>) -> Result<GradientBoosted, Error> {
        let seed = params::seed(self.params.random_state);
        run.stage("binning features");
        let binned = bin(self.data, self.params.max_bins, None, seed)?;
        let mut random = Mt19937::new(seed);
        let rounds = self.params.n_estimators;
        let mut history = vec![f64::INFINITY; self.params.n_iter_no_change.unwrap_or(0)];
        for round in 0..rounds {
            run.check(|| format!("{round} of {rounds} rounds"))?;
            self.round(round, &binned, &mut random, run)?;
            self.show(round + 1, run);
            if let Some(loss) = self.scores.validation.last() {
                if !history.iter().any(|before| loss + self.params.tol < *before) {
                    break;
                }
                let at = round % history.len();
                history[at] = *loss;
            }
        }
        let total: f64 = self.importances.iter().sum();
        if total > 0.0 {
            self.importances.iter_mut().for_each(|i| *i /= total);
        }
        Ok(GradientBoosted {
            loss: self.loss,
            baseline: Tensor::vector(self.baseline),
            trees: self.trees,
            importances: Tensor::vector(self.importances),
            train_score: Tensor::vector(self.scores.train),
            oob: Tensor::vector(self.scores.oob),
            validation: Tensor::vector(self.scores.validation),
        })
    }

    /// Draws rows, grows the trees of a round, and scores them.
    fn round(&mut self, round: usize, binned: &[BinnedData], random: &mut Mt19937, run: &Run<'_>) -> Result<(), Error> {
        let (loss, rows) = (self.loss, targets(self.data));
        let samples = self.params.subsample < 1.0;
        let mask = samples.then(|| sample(self.data.rows, self.params.subsample, random));
        let is_in = |row: usize| mask.as_ref().is_none_or(|mask| mask[row]);
        let delta = loss.delta(rows, &self.raw);
        if samples && round == 0 {
            self.scores.oob.push(loss.mean(rows, &self.raw, delta, |row| !is_in(row)));
        }
        let mut gradient = vec![vec![0.0; self.data.rows]; loss.outputs()];
        loss.gradients(rows.y, &self.raw, delta, &mut gradient);
        for (k, gradient) in gradient.iter().enumerate() {
            random.randint(0, SEEDS);
            let number = round * loss.outputs() + k;
            let grown = self.grow(number, gradient, &is_in, binned, run)?;
            self.add(k, grown, gradient, delta, &is_in);
        }
        self.scores.train.push(loss.mean(rows, &self.raw, delta, is_in));
        if samples {
            self.scores.oob.push(loss.mean(rows, &self.raw, delta, |row| !is_in(row)));
        }
        if let Some(held) = self.held {
            self.scores.validation.push(loss.mean(targets(held), &self.held_raw, delta, |_| true));
        }
        Ok(())
    }

    fn grow(
        &self,
        number: usize,
        gradient: &[f64],
        is_in: &dyn Fn(usize) -> bool,
        binned: &[BinnedData],
        run: &Run<'_>,
    ) -> Result<GrownTree, Error> {
        let (mut rows, mut items) = (Vec::with_capacity(self.data.rows), Vec::with_capacity(self.data.rows));
        for (row, target) in gradient.iter().enumerate() {
            let weight = self.data.weight_of(row);
            if weight > 0.0 && is_in(row) {
                rows.push(row as u32);
                items.push(Item { weight, target: *target });
            }
        }
        if rows.is_empty() {
            return Err(Error::new(ErrorKind::Weight, "all rows of a sample have the weight 0")
                .help("set a larger `subsample`"));
        }
        let rows = TreeRows {
            rows,
            items,
            y: gradient,
            centre: 0.0,
            random: Philox::new(params::seed(self.params.random_state), FEATURES),
            number: number as u64,
            parallel: true,
        };
        grow(&self.plan, binned, rows, run)
    }

    /// Sets the leaves of a tree, and adds it.
    fn add(
        &mut self,
        output: usize,
        grown: GrownTree,
        gradient: &[f64],
        delta: f64,
        is_in: &(dyn Fn(usize) -> bool + Sync),
    ) {
        let mut tree = grown.tree;
        let places: Vec<usize> = (0..tree.nodes.len()).filter(|i| tree.nodes[*i].right == 0).collect();
        let mut leaf_of_node = vec![0u32; tree.nodes.len()];
        places.iter().zip(0..).for_each(|(place, leaf)| leaf_of_node[*place] = leaf);
        let mut leaf_of = vec![0u32; self.data.rows];
        walk(&tree.nodes, self.data, &mut leaf_of, |node, leaf| *leaf = leaf_of_node[node]);
        let masked: Option<Vec<u32>> = (self.params.subsample < 1.0).then(|| {
            let in_sample = leaf_of.iter().enumerate();
            in_sample.map(|(row, leaf)| if is_in(row) { *leaf } else { u32::MAX }).collect()
        });
        let trained = masked.as_deref().unwrap_or(&leaf_of);
        let raw = (output, &self.raw[output][..]);
        let leaves = (trained, places.len());
        if let Some(values) = self.loss.leaf_values(targets(self.data), raw, gradient, delta, leaves) {
            places.iter().zip(values).for_each(|(place, value)| tree.nodes[*place].threshold = value);
        }
        for place in &places {
            tree.nodes[*place].threshold *= self.params.learning_rate;
        }
        let values: Vec<f64> = places.iter().map(|place| tree.nodes[*place].threshold).collect();
        self.raw[output].iter_mut().zip(&leaf_of).for_each(|(raw, leaf)| *raw += values[*leaf as usize]);
        if let Some(held) = self.held {
            walk(&tree.nodes, held, &mut self.held_raw[output], |node, raw| *raw += tree.nodes[node].threshold);
        }
        let importances = self.importances.iter_mut().zip(&grown.importances);
        importances.for_each(|(sum, share)| *sum += share * grown.decrease);
        self.trees.push(Tree { values: Vec::new(), sets: Vec::new(), ..tree });
    }

    /// Shows the losses so far, about twenty times in a training and in each of the first rounds.
    fn show(&self, round: usize, run: &Run<'_>) {
        let (rounds, scores) = (self.params.n_estimators, &self.scores);
        (run.steps)(round as u64, rounds as u64);
        let last = |scores: &[f64]| scores.last().copied().unwrap_or(f64::NAN);
        let validation = match scores.validation.is_empty() {
            true => String::new(),
            false => format!(", validation loss {:.4}", last(&scores.validation)),
        };
        run.stage(format!("round {round} of {rounds}, loss {:.4}{validation}", last(&scores.train)));
        if round < 10 || round.is_multiple_of((rounds / 20).max(1)) || round == rounds {
            let mut curves = vec![("training loss".to_string(), points(&scores.train))];
            if scores.oob.len() > 1 {
                curves.push(("out-of-bag loss".to_string(), points(&scores.oob[1..])));
            }
            if !scores.validation.is_empty() {
                curves.push(("validation loss".to_string(), points(&scores.validation)));
            }
            (run.detail)(Detail::Curves(curves));
        }
    }
}

fn plan(params: &GradientParams, data: &Data) -> Result<Plan, Error> {
    let min_leaf = rows_or_share("min_samples_leaf", &params.min_samples_leaf, data.rows, 1)?;
    let min_split = rows_or_share("min_samples_split", &params.min_samples_split, data.rows, 2)?;
    let total = data.weight.as_ref().map_or(data.rows as f64, |w| w.iter().sum());
    let max_features = max_features(&params.max_features, data.width())?;
    let max_depth = match (&params.max_depth, params::count(&params.max_depth)) {
        (Param::None, _) => usize::MAX,
        (_, Some(depth)) => depth,
        (other, None) => {
            let message = format!("`max_depth` is {other}: an integer of at least 1, or None");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    Ok(Plan {
        target: Target { criterion: Criterion::SquaredError, slots: 2 },
        max_depth,
        min_split: min_split.max(2).max(2 * min_leaf),
        min_leaf,
        min_weight: params.min_weight_fraction_leaf * total,
        max_features,
        max_leaf_nodes: params.max_leaf_nodes,
        min_decrease: params.min_impurity_decrease,
        ccp_alpha: params.ccp_alpha,
        monotonic: Vec::new(),
        shuffle: max_features < data.width(),
        random: false,
    })
}

/// Draws a share of the rows without replacement: scikit-learn's `_random_sample_mask`.
fn sample(rows: usize, share: f64, random: &mut Mt19937) -> Vec<bool> {
    let wanted = ((share * rows as f64) as usize).max(1);
    let mut drawn = 0;
    let mut mask = vec![false; rows];
    for (row, is_in) in mask.iter_mut().enumerate() {
        *is_in = random.uniform() * ((rows - row) as f64) < (wanted - drawn) as f64;
        drawn += usize::from(*is_in);
    }
    mask
}

/// Calls `set` for each row with the leaf that it reaches. Features are numbers without missing values.
fn walk<T: Send>(nodes: &[Node], data: &Data, out: &mut [T], set: impl Fn(usize, &mut T) + Sync) {
    out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
        for (i, out) in out.iter_mut().enumerate() {
            let row = chunk * CHUNK + i;
            let mut at = 0;
            while nodes[at].right != 0 {
                let node = &nodes[at];
                let value = data.features[Trees::feature(node)].values[row];
                at = if value <= node.threshold { at + 1 } else { node.right as usize };
            }
            set(at, out);
        }
    });
}
