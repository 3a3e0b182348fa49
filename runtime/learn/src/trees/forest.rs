//! Decision trees and forests: bootstrap samples, trees in parallel, means of leaves, scores of rows that a tree did
//! not see (`sklearn/tree/_classes.py`, `sklearn/ensemble/_forest.py`; Breiman 2001; Geurts, Ernst and Wehenkel 2006).
//!
//! Random numbers come from Philox: for each tree its rows, for each node its features. Trees are those of scikit-learn
//! in distribution only.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use onrush_wire::learn::Param;

use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::explain::Scale;
use crate::explain::shape::Shapes;
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params::{self, Floats};
use crate::random::Philox;
use crate::run::Run;
use crate::sums;
use crate::tensor::Tensor;
use crate::weights;

use super::bins::{BinnedData, bin};
use super::criterion::{Criterion, Item, Target};
use super::grow::{GrownTree, Plan, TreeRows, grow};
use super::tree::{CATEGORY, MISSING_LEFT, Trees};

/// Streams of random numbers.
const ROWS: u32 = 1;
const FEATURES: u32 = 2;

/// Decision trees whose leaves hold a mean, or the share of each class.
#[derive(Serialize, Deserialize)]
pub struct Forest {
    pub trees: Trees,
    /// Classes. 0 for a regressor.
    pub classes: usize,
    pub importances: Tensor,
    /// Rows, impurity and values of each node of a single tree. `None` for a forest.
    pub nodes: Option<Nodes>,
    pub oob: Option<Oob>,
    pub notes: Vec<String>,
}

/// Nodes of a single tree in preorder.
#[derive(Serialize, Deserialize)]
pub struct Nodes {
    pub samples: Tensor,
    pub impurity: Tensor,
    /// nodes x classes, or nodes x 1.
    pub value: Tensor,
}

/// Predictions of rows by the trees that did not see them.
#[derive(Serialize, Deserialize)]
pub struct Oob {
    /// Accuracy, or R². NaN if no row was left out.
    #[serde(with = "crate::tensor::scalar")]
    pub score: f64,
    /// rows x classes, or rows x 1. NaN for a row that each tree saw.
    pub prediction: Tensor,
}

/// Parameters of decision trees and forests.
pub struct TreeParams {
    criterion: String,
    max_depth: Option<usize>,
    min_samples_split: Param,
    min_samples_leaf: Param,
    min_weight_fraction_leaf: f64,
    max_features: Param,
    random_state: usize,
    max_leaf_nodes: Option<usize>,
    min_impurity_decrease: f64,
    ccp_alpha: f64,
    monotonic_cst: Option<Floats>,
    max_bins: usize,
    /// `None` for a regressor.
    class_weight: Param,
    /// Whether thresholds are drawn.
    draws_thresholds: bool,
    /// `None` for a single tree.
    ensemble: Option<Ensemble>,
}

/// Parameters of forests alone.
struct Ensemble {
    n_estimators: usize,
    bootstrap: bool,
    oob_score: bool,
    max_samples: Param,
}

/// Makes [`TreeParams`] of the parameters `$params` of each estimator.
macro_rules! tree_params {
    (|$params:ident| $($estimator:ident { $($own:tt)* })*) => {$(
        impl From<&params::$estimator> for TreeParams {
            fn from($params: &params::$estimator) -> Self {
                TreeParams {
                    criterion: $params.criterion.clone(),
                    max_depth: $params.max_depth,
                    min_samples_split: $params.min_samples_split.clone(),
                    min_samples_leaf: $params.min_samples_leaf.clone(),
                    min_weight_fraction_leaf: $params.min_weight_fraction_leaf,
                    max_features: $params.max_features.clone(),
                    random_state: $params.random_state,
                    max_leaf_nodes: $params.max_leaf_nodes,
                    min_impurity_decrease: $params.min_impurity_decrease,
                    ccp_alpha: $params.ccp_alpha,
                    monotonic_cst: $params.monotonic_cst.clone(),
                    max_bins: $params.max_bins,
                    $($own)*
                }
            }
        }
    )*};
    (@ensemble $params:ident) => {
        Some(Ensemble {
            n_estimators: $params.n_estimators,
            bootstrap: $params.bootstrap,
            oob_score: $params.oob_score,
            max_samples: $params.max_samples.clone(),
        })
    };
}

tree_params! {
    |p|
    DecisionTreeClassifier {
        class_weight: p.class_weight.clone(),
        draws_thresholds: p.splitter == "random",
        ensemble: None,
    }
    DecisionTreeRegressor {
        class_weight: Param::None,
        draws_thresholds: p.splitter == "random",
        ensemble: None,
    }
    RandomForestClassifier {
        class_weight: p.class_weight.clone(),
        draws_thresholds: false,
        ensemble: tree_params!(@ensemble p),
    }
    RandomForestRegressor {
        class_weight: Param::None,
        draws_thresholds: false,
        ensemble: tree_params!(@ensemble p),
    }
    ExtraTreesClassifier {
        class_weight: p.class_weight.clone(),
        draws_thresholds: true,
        ensemble: tree_params!(@ensemble p),
    }
    ExtraTreesRegressor {
        class_weight: Param::None,
        draws_thresholds: true,
        ensemble: tree_params!(@ensemble p),
    }
}

impl TreeParams {
    fn bootstrap(&self) -> bool {
        self.ensemble.as_ref().is_some_and(|ensemble| ensemble.bootstrap)
    }

    /// Whether classes are balanced in each bootstrap sample.
    fn is_subsample_balanced(&self) -> bool {
        self.ensemble.is_some() && params::word(&self.class_weight) == Some("balanced_subsample")
    }
}

/// Trains a decision tree or a forest.
///
/// # Errors
/// If a parameter does not fit the data, a category has too many values, or the user stops the training.
pub fn fit(params: &TreeParams, data: &Data, run: &Run<'_>) -> Result<Forest, Error> {
    let target = target(&params.criterion, data)?;
    let single = params.ensemble.is_none();
    let weight = row_weights(params, data)?;
    if weight.as_ref().is_some_and(|w| w.iter().sum::<f64>() <= 0.0) {
        return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: expected at least one above 0"));
    }
    let plan = plan(params, data, target, weight.as_deref())?;
    let draws = match &params.ensemble {
        Some(ensemble) => draws(ensemble, data.rows, weight.as_deref())?,
        None => None,
    };
    // Rows of weight 0 set no thresholds.
    let kept;
    let (data, weight) = match weight {
        Some(weight) if single && weight.contains(&0.0) => {
            let rows: Vec<usize> = (0..data.rows).filter(|row| weight[*row] > 0.0).collect();
            kept = data.take(&rows);
            (&kept, Some(rows.iter().map(|row| weight[*row]).collect()))
        }
        weight => (data, weight),
    };
    let count = params.ensemble.as_ref().map_or(1, |ensemble| ensemble.n_estimators);
    let seed = params::seed(params.random_state);
    run.stage("binning features");
    let binned = bin(data, params.max_bins, None, seed)?;
    let centre = match target.criterion {
        Criterion::SquaredError => sums::mean(&data.y, weight.as_deref()),
        _ => 0.0,
    };
    let source = Source {
        data,
        weight,
        draws,
        cdf: Vec::new(),
        centre,
        seed,
        balanced: params.is_subsample_balanced() && params.bootstrap(),
        parallel: count < rayon::current_num_threads(),
    };
    let source = source.with_cdf();
    let (grown, seen) = grow_all(&plan, &binned, &source, count, run)?;
    let width = if target.is_class() { target.slots } else { 1 };
    let mut trees = Trees::new(width);
    let mut importances = vec![0.0; data.width()];
    let mut nodes = None;
    for tree in grown {
        importances.iter_mut().zip(&tree.importances).for_each(|(sum, one)| *sum += one);
        if single {
            let shape = vec![tree.details.samples.len(), width];
            nodes = Some(Nodes {
                samples: Tensor::vector(tree.details.samples),
                impurity: Tensor::vector(tree.details.impurity),
                value: Tensor::new(shape, tree.details.value),
            });
        }
        trees.push(tree.tree);
    }
    let sum: f64 = importances.iter().sum();
    if sum > 0.0 {
        importances.iter_mut().for_each(|i| *i /= sum);
    }
    let classes = if target.is_class() { data.classes.len() } else { 0 };
    let importances = Tensor::vector(importances);
    let mut forest = Forest { trees, classes, importances, nodes, oob: None, notes: Vec::new() };
    if params.ensemble.as_ref().is_some_and(|ensemble| ensemble.oob_score) {
        run.stage("scoring the rows that trees did not see");
        forest.score(data, &seen);
    }
    Ok(forest)
}

/// Grows all trees. Gives for each one the rows that it saw as bits, if they were drawn.
fn grow_all(
    plan: &Plan,
    binned: &[BinnedData],
    source: &Source<'_>,
    count: usize,
    run: &Run<'_>,
) -> Result<(Vec<GrownTree>, Vec<Vec<u64>>), Error> {
    let done = std::sync::atomic::AtomicU64::new(0);
    let one = |number: usize| {
        let (rows, seen) = source.rows(number, &plan.target);
        let mut grown = grow(plan, binned, rows, run)?;
        if count > 1 {
            grown.details = super::grow::Details::default();
        }
        let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        (run.steps)(done, count as u64);
        run.check(|| format!("{done} of {count} trees"))?;
        Ok((grown, seen))
    };
    run.stage(if count == 1 { "growing a tree".to_string() } else { format!("growing {count} trees") });
    let all: Result<Vec<_>, Error> = (0..count).into_par_iter().map(one).collect();
    Ok(all?.into_iter().unzip())
}

/// Criterion and number of sums.
fn target(criterion: &str, data: &Data) -> Result<Target, Error> {
    let criterion = match criterion {
        "entropy" | "log_loss" => Criterion::Entropy,
        "squared_error" | "friedman_mse" => Criterion::SquaredError,
        "poisson" => Criterion::Poisson,
        _ => Criterion::Gini,
    };
    if criterion == Criterion::Poisson {
        if let Some(y) = data.y.iter().find(|y| **y < 0.0) {
            let message =
                format!("the target `{}` has the value {y}, and `criterion` poisson takes none below 0", data.target);
            return Err(Error::new(ErrorKind::Target, message));
        }
        if data.y.iter().sum::<f64>() <= 0.0 {
            let message =
                format!("the target `{}` is 0 in all rows, and `criterion` poisson needs a positive sum", data.target);
            return Err(Error::new(ErrorKind::Target, message));
        }
    }
    let is_class = matches!(criterion, Criterion::Gini | Criterion::Entropy);
    Ok(Target { criterion, slots: if is_class { data.classes.len() } else { 2 } })
}

/// Weights of rows and classes. `balanced_subsample` is applied to each bootstrap sample later; without bootstrap it is
/// `balanced`.
fn row_weights(params: &TreeParams, data: &Data) -> Result<Option<Vec<f64>>, Error> {
    match (params.is_subsample_balanced(), params.bootstrap()) {
        (false, _) => weights::of_rows(&params.class_weight, data),
        (true, true) => Ok(data.weight.clone()),
        (true, false) => weights::of_rows(&Param::from("balanced"), data),
    }
}

/// A number of rows, or a share below 1 of `all`, rounded up. An integer counts rows, also 1.
pub fn rows_or_share(name: &str, value: &Param, all: usize, least: usize) -> Result<usize, Error> {
    match *value {
        Param::Int(rows) if rows >= least as i64 => Ok(rows as usize),
        Param::Float(share) if share > 0.0 && share < 1.0 => Ok((share * all as f64).ceil() as usize),
        _ => {
            let message = format!("`{name}` is {value}: an integer of at least {least}, or a share between 0 and 1");
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

/// Features that are drawn for a node.
pub fn max_features(given: &Param, width: usize) -> Result<usize, Error> {
    let drawn = match given {
        Param::None => width,
        Param::Str(word) if word == "sqrt" => (width as f64).sqrt() as usize,
        Param::Str(word) if word == "log2" => (width as f64).log2() as usize,
        Param::Int(count) if *count >= 1 => *count as usize,
        Param::Float(share) if *share > 0.0 && *share <= 1.0 => (share * width as f64) as usize,
        other => {
            let message =
                format!("`max_features` is {other}: an integer of at least 1, a share up to 1.0, sqrt, log2 or None");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    Ok(drawn.clamp(1, width))
}

/// Constraints of features. Empty if there are none.
///
/// # Errors
/// If there are not as many as features, one is not -1, 0 or 1, or one is about a category.
pub fn monotonic(signs: Option<&Floats>, data: &Data) -> Result<Vec<i8>, Error> {
    let Some(signs) = signs else { return Ok(Vec::new()) };
    if signs.len() != data.width() {
        let message =
            format!("`monotonic_cst` has {} values: one for each of the {} features", signs.len(), data.width());
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    for (sign, column) in signs.iter().zip(&data.features) {
        if ![-1.0, 0.0, 1.0].contains(sign) {
            return Err(Error::new(ErrorKind::Parameter, format!("`monotonic_cst` has the value {sign}: -1, 0 or 1")));
        }
        if *sign != 0.0 && column.categories().is_some() {
            let message = format!(
                "`monotonic_cst` constrains `{}`, which is a category: only numbers have an order",
                column.name
            );
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    }
    if data.classes.len() > 2 {
        let message = format!("`monotonic_cst` takes two classes, and `{}` has {}", data.target, data.classes.len());
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    Ok(signs.iter().map(|s| *s as i8).collect())
}

fn plan(params: &TreeParams, data: &Data, target: Target, weight: Option<&[f64]>) -> Result<Plan, Error> {
    let min_leaf = rows_or_share("min_samples_leaf", &params.min_samples_leaf, data.rows, 1)?;
    let min_split =
        rows_or_share("min_samples_split", &params.min_samples_split, data.rows, 2)?.max(2).max(2 * min_leaf);
    let share = params.min_weight_fraction_leaf;
    let total = weight.map_or(data.rows as f64, |w| w.iter().sum());
    let max_features = max_features(&params.max_features, data.width())?;
    Ok(Plan {
        target,
        max_depth: params.max_depth.unwrap_or(usize::MAX),
        min_split,
        min_leaf,
        min_weight: share * total,
        max_features,
        // The features of a single tree are in order, so that the first of equal splits wins.
        shuffle: params.ensemble.is_some() || max_features < data.width(),
        max_leaf_nodes: params.max_leaf_nodes,
        min_decrease: params.min_impurity_decrease,
        ccp_alpha: params.ccp_alpha,
        monotonic: monotonic(params.monotonic_cst.as_ref(), data)?,
        random: params.draws_thresholds,
    })
}

/// Rows of a bootstrap sample. `None` without bootstrap.
fn draws(ensemble: &Ensemble, rows: usize, weight: Option<&[f64]>) -> Result<Option<usize>, Error> {
    let wanted = &ensemble.max_samples;
    if !ensemble.bootstrap {
        if *wanted != Param::None {
            return Err(Error::new(
                ErrorKind::Parameter,
                format!("`max_samples` is {wanted}, and `bootstrap` is false: there are no samples"),
            )
            .help("set `bootstrap(true)`, or leave `max_samples` out"));
        }
        if ensemble.oob_score {
            let message = "`oob_score` is true, and `bootstrap` is false: each tree sees all rows";
            return Err(Error::new(ErrorKind::Parameter, message).help("set `bootstrap(true)`"));
        }
        return Ok(None);
    }
    let limited = |count: f64| match count < f64::from(u32::MAX) {
        true => Ok(Some(count as usize)),
        false => Err(Error::new(ErrorKind::Parameter, format!("`max_samples` asks for {count:e} rows: at most 4e9"))),
    };
    match *wanted {
        Param::None => Ok(Some(rows)),
        Param::Int(count) if count >= 1 => limited(count as f64),
        Param::Float(share) if share > 0.0 => {
            let total = weight.map_or(rows as f64, |w| w.iter().sum());
            limited((share * total).max(1.0))
        }
        _ => Err(Error::new(
            ErrorKind::Parameter,
            format!("`max_samples` is {wanted}: an integer of at least 1, a share above 0, or None"),
        )),
    }
}

/// The source of the rows of trees.
struct Source<'a> {
    data: &'a Data,
    weight: Option<Vec<f64>>,
    /// Rows of a bootstrap sample.
    draws: Option<usize>,
    /// Cumulative weights, if rows are drawn by weight.
    cdf: Vec<f64>,
    centre: f64,
    seed: u32,
    /// Classes are balanced in each bootstrap sample.
    balanced: bool,
    parallel: bool,
}

impl<'a> Source<'a> {
    fn with_cdf(mut self) -> Self {
        if let (Some(weight), Some(_)) = (&self.weight, self.draws) {
            let mut sum = 0.0;
            self.cdf = weight
                .iter()
                .map(|w| {
                    sum += w;
                    sum
                })
                .collect();
        }
        self
    }

    /// How often each row is drawn for a tree.
    fn counts(&self, number: usize, draws: usize) -> Vec<u32> {
        let philox = Philox::new(self.seed, ROWS);
        let rows = self.data.rows;
        let mut counts = vec![0u32; rows];
        let tree = number as u32;
        if let Some(total) = self.cdf.last() {
            for k in 0..draws {
                let u = philox.uniform(u64::from(tree), k as u64) * total;
                counts[self.cdf.partition_point(|c| *c <= u).min(rows - 1)] += 1;
            }
            return counts;
        }
        // Four rows for a call of the generator. The bias of the product is below rows / 2^32.
        for k in 0..draws.div_ceil(4) {
            let four = philox.at([k as u32, (k >> 32) as u32, tree, 0]);
            for bits in &four[..4.min(draws - 4 * k)] {
                counts[((u64::from(*bits) * rows as u64) >> 32) as usize] += 1;
            }
        }
        counts
    }

    /// The rows of a tree, and which ones it saw as bits.
    fn rows(&self, number: usize, target: &Target) -> (TreeRows<'a>, Vec<u64>) {
        let data = self.data;
        let item = |row: usize, weight: f64| Item { weight, target: data.y[row] - self.centre };
        let (mut rows, mut items, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        let mut add = |row: usize, weight: f64| {
            if weight > 0.0 {
                rows.push(row as u32);
                items.push(item(row, weight));
            }
        };
        match self.draws {
            None => (0..data.rows).for_each(|row| add(row, self.weight.as_ref().map_or(1.0, |w| w[row]))),
            Some(draws) => {
                let counts = self.counts(number, draws);
                let by_class = self.balanced.then(|| self.balance(&counts, draws, target.slots));
                seen = vec![0u64; data.rows.div_ceil(64)];
                for (row, count) in counts.iter().enumerate() {
                    let weight = by_class.as_ref().map_or(1.0, |w| w[data.y[row] as usize]);
                    add(row, f64::from(*count) * weight);
                    seen[row >> 6] |= u64::from(*count > 0) << (row & 63);
                }
            }
        }
        let rows = TreeRows {
            rows,
            items,
            y: &data.y,
            centre: self.centre,
            random: Philox::new(self.seed, FEATURES),
            number: number as u64,
            parallel: self.parallel,
        };
        (rows, seen)
    }

    /// The weight of each class that gives all classes of a sample the same weight.
    fn balance(&self, counts: &[u32], draws: usize, classes: usize) -> Vec<f64> {
        let mut by_class = vec![0.0; classes];
        counts.iter().zip(&self.data.y).for_each(|(n, y)| by_class[*y as usize] += f64::from(*n));
        let present = by_class.iter().filter(|n| **n > 0.0).count() as f64;
        by_class.iter().map(|n| if *n > 0.0 { draws as f64 / (present * n) } else { 0.0 }).collect()
    }
}

impl Forest {
    fn width(&self) -> usize {
        self.classes.max(1)
    }

    /// Means of the leaves, row after row.
    fn means(&self, data: &Data) -> Vec<f64> {
        let mut sums = self.trees.sums(data, self.width(), |_, _, values, sums| {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        });
        let count = self.trees.len() as f64;
        sums.iter_mut().for_each(|sum| *sum /= count);
        sums
    }

    /// Predicts each row with the trees that did not see it.
    fn score(&mut self, data: &Data, seen: &[Vec<u64>]) {
        let width = self.width();
        let sums = self.trees.sums(data, width + 1, |tree, row, values, sums| {
            if seen[tree][row >> 6] >> (row & 63) & 1 == 0 {
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                sums[width] += 1.0;
            }
        });
        let mut prediction = Vec::with_capacity(data.rows * width);
        let (mut right, mut known, mut never) = (0.0, Vec::new(), 0);
        for (row, sums) in sums.chunks(width + 1).enumerate() {
            let count = sums[width];
            prediction.extend(sums[..width].iter().map(|s| if count > 0.0 { s / count } else { f64::NAN }));
            if count == 0.0 {
                never += 1;
            } else {
                known.push(row);
                right += f64::from(u8::from(highest(&sums[..width]) as f64 == data.y[row]));
            }
        }
        let score = if known.is_empty() {
            f64::NAN
        } else if self.classes > 0 {
            right / known.len() as f64
        } else {
            let y: Vec<f64> = known.iter().map(|row| data.y[*row]).collect();
            let mean = sums::mean(&y, None);
            let error: f64 = known.iter().zip(&y).map(|(row, y)| (y - prediction[*row]).powi(2)).sum();
            1.0 - error / y.iter().map(|y| (y - mean).powi(2)).sum::<f64>()
        };
        if never > 0 {
            let message =
                format!("{never} of {} rows were seen by all trees and have no out-of-bag prediction", data.rows);
            self.notes.push(format!("{message}: raise `n_estimators`"));
        }
        self.oob = Some(Oob { score, prediction: Tensor::new(vec![data.rows, width], prediction) });
    }

    /// Nodes of a single tree as a frame.
    fn frame(&self, nodes: &Nodes, features: &[Field], classes: &[String]) -> Attribute {
        let tree = self.trees.tree(0);
        let leaf = |node: &super::tree::Node| node.right == 0;
        let name = |node: &super::tree::Node| match leaf(node) {
            true => String::new(),
            false => features.get(Trees::feature(node)).map_or_else(String::new, |f| f.name.clone()),
        };
        let threshold = |node: &super::tree::Node| match leaf(node) || node.feature & CATEGORY != 0 {
            true => f64::NAN,
            false => node.threshold,
        };
        let children = |right: bool| {
            let child = move |(i, node): (usize, &super::tree::Node)| match (leaf(node), right) {
                (true, _) => -1,
                (false, true) => i64::from(node.right),
                (false, false) => i as i64 + 1,
            };
            Values::Ints(tree.iter().enumerate().map(child).collect())
        };
        let mut columns = vec![
            ("node".to_string(), Values::Ints((0..tree.len() as i64).collect())),
            ("depth".to_string(), Values::Ints(self.trees.depths(0).iter().map(|d| *d as i64).collect())),
            ("feature".to_string(), Values::Strs(tree.iter().map(name).collect())),
            ("threshold".to_string(), Values::Floats(tree.iter().map(threshold).collect())),
            ("left".to_string(), children(false)),
            ("right".to_string(), children(true)),
            ("missing_left".to_string(), Values::Bools(tree.iter().map(|n| n.feature & MISSING_LEFT != 0).collect())),
            ("samples".to_string(), Values::Ints(nodes.samples.data.iter().map(|s| *s as i64).collect())),
            ("impurity".to_string(), Values::Floats(nodes.impurity.data.clone())),
        ];
        let width = self.width();
        let names = match self.classes {
            0 => vec!["value".to_string()],
            _ => classes.iter().map(|class| format!("proba_{class}")).collect(),
        };
        for (k, name) in names.into_iter().enumerate() {
            let values = nodes.value.data.iter().skip(k).step_by(width);
            columns.push((name, Values::Floats(values.copied().collect())));
        }
        Attribute::Frame(columns)
    }
}

/// The position of the first highest value.
pub fn highest(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, k| if values[k] > values[best] { k } else { best })
}

/// The columns `wanted` of a classifier's predicted class and its probabilities, or of a regressor's prediction.
/// `means` is row after row.
pub fn columns(means: &[f64], classes: usize, wanted: &[usize]) -> Vec<Vec<f64>> {
    let width = classes.max(1);
    let one = |output: &usize| match (*output, classes) {
        (0, 1..) => means.chunks(width).map(|row| highest(row) as f64).collect(),
        (0, 0) => means.to_vec(),
        (class, _) => means.iter().skip(class - 1).step_by(width).copied().collect(),
    };
    wanted.iter().map(one).collect()
}

/// The outputs of a classifier or a regressor.
pub fn outputs(classes: usize) -> Vec<Role> {
    std::iter::once(Role::Prediction).chain((0..classes).map(Role::Proba)).collect()
}

impl Model for Forest {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        outputs(self.classes)
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(columns(&self.means(data), self.classes, wanted))
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        match name {
            "feature_importances" => Some(Attribute::by_feature(features, "importance", &self.importances.data)),
            "tree" => Some(self.frame(self.nodes.as_ref()?, features, classes)),
            "n_leaves" => Some(Attribute::Int(self.trees.nodes.iter().filter(|n| n.right == 0).count() as i64)),
            "depth" => Some(Attribute::Int(self.trees.depths(0).into_iter().max()? as i64)),
            "oob_score" => Some(Attribute::Float(self.oob.as_ref()?.score)),
            "oob_prediction" => {
                let values = self.oob.as_ref()?.prediction.data.clone();
                Some(Attribute::Frame(vec![("prediction".to_string(), Values::Floats(values))]))
            }
            "oob_decision_function" => {
                let values = &self.oob.as_ref()?.prediction.data;
                let column = |k: usize| values.iter().skip(k).step_by(self.classes).copied().collect();
                let named = classes.iter().enumerate().map(|(k, c)| (format!("proba_{c}"), Values::Floats(column(k))));
                Some(Attribute::Frame(named.collect()))
            }
            _ => None,
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        Some(("importance", self.importances.data.clone()))
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Means of numbers, or the probability of each class.
    fn shapes(&self, _: &Data) -> Result<Option<Shapes<'_>>, Error> {
        let scale = if self.classes > 0 { Scale::Probability } else { Scale::Value };
        self.trees.shapes((vec![0.0; self.width()], scale), 1.0 / self.trees.len() as f64, |_| 0).map(Some)
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |what: &str| Err(Error::new(ErrorKind::ModelFile, what.to_string()));
        if self.classes != classes {
            return wrong("the number of classes is not that of the target");
        }
        if self.trees.len() == 0 {
            return wrong("there are no trees");
        }
        if self.importances.data.len() != features {
            return wrong("there is not one importance for each feature");
        }
        self.trees.check(features, self.width())?;
        let count = self.trees.tree(0).len();
        let width = self.width();
        let fits = |n: &Nodes| {
            n.samples.data.len() == count && n.impurity.data.len() == count && n.value.data.len() == count * width
        };
        if self.nodes.as_ref().is_some_and(|n| !fits(n)) {
            return wrong("the description of nodes does not fit the tree");
        }
        if self.oob.as_ref().is_some_and(|o| o.prediction.data.len() % width != 0) {
            return wrong("the out-of-bag predictions do not fit the classes");
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        let oob = self.oob.as_ref().map_or(0, |o| o.prediction.bytes());
        let nodes = self.nodes.as_ref().map_or(0, |n| n.samples.bytes() + n.impurity.bytes() + n.value.bytes());
        self.trees.bytes() + oob + nodes
    }
}
