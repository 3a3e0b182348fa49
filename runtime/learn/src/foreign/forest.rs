//! Predictions of XGBoost's models without its library: trees, dropped-out trees and linear models from their files.
//!
//! The sums have the order and the precision of `src/predictor/cpu_predictor.cc`, so that margins are those of the
//! library bit for bit. A file may lie. Every node that a row can reach is checked once, and has one parent, so that
//! every walk ends.

use rayon::prelude::*;

use super::document::Document;
use crate::explain::Scale;
use crate::explain::shape::{Shape, Shapes, SourceNode};

/// Rows that walk through a tree together: its nodes stay in the cache.
const BLOCK: usize = 64;
/// The feature of a leaf.
const LEAF: u32 = u32::MAX;

/// A model that was read.
#[derive(Debug)]
pub struct XgbForest {
    pub features: usize,
    /// Values of a prediction: one, or one for each class.
    pub outputs: usize,
    /// The name of the objective, such as `binary:logistic`.
    pub objective: String,
    /// The margin of a row before the first tree, for each output.
    base: Vec<f32>,
    link: Link,
    body: Body,
}

/// From a margin to a value on the target's scale.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Link {
    Identity,
    Sigmoid,
    Exp,
    /// 1 above 0.
    Hinge,
    Softmax,
}

#[derive(Debug)]
enum Body {
    Trees {
        nodes: Vec<Node>,
        /// For each node the sum of second derivatives of its training rows. Empty if the file does not say it.
        covers: Vec<f32>,
        /// The categories that go right, ascending for each node.
        categories: Vec<u32>,
        trees: Vec<Tree>,
        /// The number of trees after each round.
        rounds: Vec<usize>,
        /// Whether the trees have weights, as those of `dart` have.
        weighted: bool,
    },
    /// Features x outputs, then a bias for each output.
    Linear(Vec<f32>),
}

#[derive(Debug)]
struct Tree {
    root: u32,
    output: u32,
    /// 1 for trees without weights.
    weight: f32,
}

/// A node of a tree.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The feature that is asked. [`LEAF`] for a leaf.
    feature: u32,
    /// Values below it go left; the value of a leaf.
    value: f32,
    left: u32,
    right: u32,
    /// Missing values go left.
    missing_left: bool,
    /// The range of the categories that go right, if the node asks for categories.
    categories: Option<(u32, u32)>,
}

impl XgbForest {
    /// The model of a file.
    ///
    /// # Errors
    /// Says what is missing, contradicts itself or is not supported.
    pub fn read(document: &Document) -> Result<XgbForest, String> {
        let params = document.at("learner.learner_model_param").ok_or("learner.learner_model_param is missing")?;
        let count = |name: &str| params.get(name).and_then(Document::int).and_then(|n| usize::try_from(n).ok());
        let features = count("num_feature").ok_or("num_feature is missing")?;
        let outputs = count("num_class").unwrap_or(0).max(1);
        if count("num_target").is_some_and(|targets| targets > 1) {
            return Err("it predicts several targets, and one is supported".to_string());
        }
        if features >= LEAF as usize {
            return Err(format!("it says that it has {features} features"));
        }
        let objective = document.at("learner.objective.name").and_then(Document::str);
        let objective = objective.ok_or("learner.objective.name is missing")?.to_string();
        let (link, to_margin) = objective_of(&objective)?;
        if outputs > 1 && link != Link::Softmax && link != Link::Identity {
            return Err(format!("it has {outputs} classes, but its objective is `{objective}`"));
        }
        let base = params.get("base_score").and_then(Document::str).ok_or("base_score is missing")?;
        let base: Vec<f32> = base_scores(base)?.into_iter().map(to_margin).collect();
        let booster = document.at("learner.gradient_booster").ok_or("learner.gradient_booster is missing")?;
        let body = match booster.get("name").and_then(Document::str) {
            Some("gbtree") => trees(booster, None, features, outputs)?,
            Some("dart") => {
                let weights = booster.get("weight_drop").and_then(Document::floats).ok_or("weight_drop is missing")?;
                let inner = booster.get("gbtree").ok_or("gbtree is missing")?;
                trees(inner, Some(&weights), features, outputs)?
            }
            Some("gblinear") => linear(booster, features, outputs)?,
            Some(other) => return Err(format!("its booster is `{other}`, which is not known")),
            None => return Err("the name of its booster is missing".to_string()),
        };
        // A row of predictions has this many values, whatever the file is worth.
        let (parts, what) = match &body {
            Body::Trees { trees, .. } => (trees.len(), "trees"),
            Body::Linear(weights) => (weights.len(), "weights"),
        };
        if outputs > parts.max(1000) {
            return Err(format!("it says that it has {outputs} classes, and has {parts} {what}"));
        }
        let base = spread(base, outputs)?;
        Ok(XgbForest { features, outputs, objective, base, link, body })
    }

    /// The number of rounds. 0 for a linear model.
    pub fn rounds(&self) -> usize {
        match &self.body {
            Body::Trees { rounds, .. } => rounds.len(),
            Body::Linear(_) => 0,
        }
    }

    /// Bytes in memory, about.
    pub fn bytes(&self) -> u64 {
        match &self.body {
            Body::Trees { nodes, categories, .. } => (size_of_val(&nodes[..]) + size_of_val(&categories[..])) as u64,
            Body::Linear(weights) => size_of_val(&weights[..]) as u64,
        }
    }

    /// The margins of the first `rounds` rounds, or of all for 0: rows x outputs. `columns` are the features; NaN is
    /// missing.
    ///
    /// # Panics
    /// If there are fewer columns than features, or columns of fewer rows.
    pub fn margins(&self, columns: &[&[f64]], rows: usize, rounds: usize) -> Vec<f32> {
        assert!(columns.len() >= self.features, "{} columns for {} features", columns.len(), self.features);
        let mut out = vec![0.0f32; rows * self.outputs];
        let width = self.features;
        out.par_chunks_mut(BLOCK * self.outputs).enumerate().for_each(|(block, out)| {
            let first = block * BLOCK;
            let mut values = vec![0.0f32; out.len() / self.outputs * width];
            for (j, column) in columns[..width].iter().enumerate() {
                for (i, value) in column[first..].iter().take(BLOCK).enumerate() {
                    values[i * width + j] = *value as f32;
                }
            }
            self.block(&values, rounds, out);
        });
        out
    }

    /// The first `rounds` rounds, or all for 0, for SHAP values of margins. The library's contributions weigh nodes by
    /// second derivatives, too. `None`: the model is linear, or the file does not say the second derivatives.
    pub fn shapes(&self, rounds: usize) -> Option<Shapes<'_>> {
        let Body::Trees { nodes, covers, categories, trees, rounds: ends, .. } = &self.body else { return None };
        if covers.len() != nodes.len() {
            return None;
        }
        let end = match rounds {
            0 => trees.len(),
            rounds => ends.get(rounds - 1).copied().unwrap_or(trees.len()),
        };
        let values: Vec<f64> = nodes.iter().map(|node| f64::from(node.value)).collect();
        let node = |at: u32| {
            let node = &nodes[at as usize];
            match node.feature {
                LEAF => SourceNode::Leaf(std::slice::from_ref(&values[at as usize])),
                feature => SourceNode::Inner(feature, [node.left, node.right]),
            }
        };
        let shape = |tree: &Tree| {
            let mut shape = Shape::new(tree.root, 1, tree.output as usize, node, |at| f64::from(covers[at as usize]));
            shape.values.iter_mut().for_each(|value| *value *= f64::from(tree.weight));
            shape
        };
        let base = self.base.iter().map(|base| f64::from(*base)).collect();
        let scale = if self.link == Link::Identity { Scale::Value } else { Scale::Margin };
        Some(Shapes::new(trees[..end].iter().map(shape).collect(), (base, scale), |at, row| {
            let node = &nodes[at as usize];
            node.is_left(row[node.feature as usize] as f32, categories)
        }))
    }

    /// Margins become values on the target's scale, in place: rows x outputs.
    pub fn link(&self, margins: &mut [f32]) {
        match self.link {
            Link::Identity => {}
            Link::Sigmoid => margins.iter_mut().for_each(|v| *v = sigmoid(*v)),
            Link::Exp => margins.iter_mut().for_each(|v| *v = v.exp()),
            Link::Hinge => margins.iter_mut().for_each(|v| *v = if *v > 0.0 { 1.0 } else { 0.0 }),
            Link::Softmax => margins.chunks_mut(self.outputs).for_each(softmax),
        }
    }

    fn block(&self, values: &[f32], rounds: usize, out: &mut [f32]) {
        let width = self.features;
        let row = |i: usize| &values[i * width..(i + 1) * width];
        let rows = out.len() / self.outputs;
        match &self.body {
            Body::Linear(weights) => {
                let bias = &weights[width * self.outputs..];
                for (i, out) in out.chunks_mut(self.outputs).enumerate() {
                    for (k, out) in out.iter_mut().enumerate() {
                        // The library takes the first one for all classes (`PredictBatchInternal` of `gblinear.cc`).
                        *out = bias[k] + self.base[0];
                        let present = row(i).iter().enumerate().filter(|(_, v)| !v.is_nan());
                        present.for_each(|(j, v)| *out += v * weights[j * self.outputs + k]);
                    }
                }
            }
            Body::Trees { nodes, categories, trees, rounds: ends, weighted, .. } => {
                out.chunks_mut(self.outputs).for_each(|out| out.copy_from_slice(&self.base));
                let end = match rounds {
                    0 => trees.len(),
                    rounds => ends.get(rounds - 1).copied().unwrap_or(trees.len()),
                };
                for tree in &trees[..end] {
                    for i in 0..rows {
                        let leaf = leaf_of(nodes, categories, tree.root, row(i));
                        let output = tree.output as usize;
                        let base = self.base[output];
                        // The library predicts with one tree, and takes the base out again: its bits are not those of
                        // the leaf.
                        let value = if *weighted { ((base + leaf) - base) * tree.weight } else { leaf };
                        out[i * self.outputs + output] += value;
                    }
                }
            }
        }
    }
}

/// The value of the leaf that a row reaches.
fn leaf_of(nodes: &[Node], categories: &[u32], root: u32, row: &[f32]) -> f32 {
    let mut node = &nodes[root as usize];
    while node.feature != LEAF {
        let left = node.is_left(row[node.feature as usize], categories);
        node = &nodes[if left { node.left } else { node.right } as usize];
    }
    node.value
}

impl Node {
    /// Whether a value goes to the left child.
    fn is_left(&self, value: f32, categories: &[u32]) -> bool {
        match self.categories {
            _ if value.is_nan() => self.missing_left,
            None => value < self.value,
            // A category that is not in the list goes left, and so does a value that is not a category.
            Some((begin, end)) => {
                let chosen = &categories[begin as usize..end as usize];
                !(0.0..16_777_216.0).contains(&value) || chosen.binary_search(&(value as u32)).is_err()
            }
        }
    }
}

/// `Sigmoid` of `src/common/math.h`.
pub fn sigmoid(x: f32) -> f32 {
    1.0 / ((-x).min(88.7).exp() + 1.0 + 1e-16)
}

/// `Softmax` of `src/common/math.h`.
pub fn softmax(values: &mut [f32]) {
    let largest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0f64;
    for value in values.iter_mut() {
        *value = (*value - largest).exp();
        sum += f64::from(*value);
    }
    values.iter_mut().for_each(|value| *value /= sum as f32);
}

/// How an objective turns margins into values, and `base_score` into a margin: `PredTransform` and `ProbToMargin` of
/// `src/objective`.
fn objective_of(name: &str) -> Result<(Link, fn(f32) -> f32), String> {
    let identity: fn(f32) -> f32 = |v| v;
    // `kRtEps` keeps the logarithm finite.
    let logit: fn(f32) -> f32 = |v| -((1.0 / v.clamp(1e-6, 1.0 - 1e-6) - 1.0).ln());
    Ok(match name {
        "reg:squarederror"
        | "reg:linear"
        | "reg:squaredlogerror"
        | "reg:pseudohubererror"
        | "reg:absoluteerror"
        | "reg:quantileerror" => (Link::Identity, identity),
        "binary:logitraw" => (Link::Identity, identity),
        "reg:logistic" | "binary:logistic" => (Link::Sigmoid, logit),
        "binary:hinge" => (Link::Hinge, identity),
        "count:poisson" | "reg:gamma" | "reg:tweedie" | "survival:cox" | "survival:aft" => (Link::Exp, |v| v.ln()),
        "multi:softmax" | "multi:softprob" => (Link::Softmax, identity),
        "rank:ndcg" | "rank:pairwise" | "rank:map" => (Link::Identity, identity),
        other => return Err(format!("its objective is `{other}`, which is not known")),
    })
}

/// `5E-1` of old files, `[5E-1]` or a number for each output of files from 3.1 on.
fn base_scores(text: &str) -> Result<Vec<f32>, String> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let numbers: Result<Vec<f32>, _> = inner.split(',').map(|v| v.trim().parse::<f32>()).collect();
    numbers.map_err(|_| "base_score is not a number".to_string())
}

/// A margin for each output.
fn spread(base: Vec<f32>, outputs: usize) -> Result<Vec<f32>, String> {
    match base.len() {
        1 => Ok(vec![base[0]; outputs]),
        len if len == outputs => Ok(base),
        len => Err(format!("base_score has {len} numbers for {outputs} outputs")),
    }
}

fn linear(booster: &Document, features: usize, outputs: usize) -> Result<Body, String> {
    let weights = booster.at("model.weights").and_then(Document::floats).ok_or("model.weights is missing")?;
    match (features + 1).checked_mul(outputs) == Some(weights.len()) {
        true => Ok(Body::Linear(weights)),
        false => Err(format!("it has {} weights for {features} features and {outputs} outputs", weights.len())),
    }
}

fn trees(booster: &Document, weights: Option<&[f32]>, features: usize, outputs: usize) -> Result<Body, String> {
    let model = booster.get("model").ok_or("gradient_booster.model is missing")?;
    let list = model.get("trees").and_then(Document::list).ok_or("model.trees is missing")?;
    let outputs_of = model.get("tree_info").and_then(Document::ints).ok_or("model.tree_info is missing")?;
    if outputs_of.len() != list.len() {
        return Err(format!("tree_info has {} entries for {} trees", outputs_of.len(), list.len()));
    }
    if weights.is_some_and(|weights| weights.len() != list.len()) {
        return Err(format!("weight_drop has {} entries for {} trees", weights.map_or(0, <[f32]>::len), list.len()));
    }
    let (mut nodes, mut covers, mut categories, mut trees) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (number, tree) in list.iter().enumerate() {
        let root = nodes.len() as u32;
        let output = u32::try_from(outputs_of[number]).ok().filter(|output| (*output as usize) < outputs);
        let output =
            output.ok_or_else(|| format!("tree {number} is for output {} of {outputs}", outputs_of[number]))?;
        Source::new(tree)
            .and_then(|source| source.copy(features, &mut nodes, &mut covers, &mut categories))
            .map_err(|why| format!("tree {number}: {why}"))?;
        trees.push(Tree { root, output, weight: weights.map_or(1.0, |weights| weights[number]) });
    }
    let rounds = match model.get("iteration_indptr").and_then(Document::ints) {
        Some(ends) if ends.len() > 1 => {
            let ends: Vec<usize> = ends[1..].iter().map(|end| usize::try_from(*end).unwrap_or(usize::MAX)).collect();
            if ends.windows(2).any(|pair| pair[0] > pair[1]) || ends.last() != Some(&trees.len()) {
                return Err(format!("iteration_indptr does not lead to {} trees", trees.len()));
            }
            ends
        }
        // Files before 2.0.
        _ => {
            let parallel = model.at("gbtree_model_param.num_parallel_tree").and_then(Document::int).unwrap_or(1);
            let step = usize::try_from(parallel).unwrap_or(1).max(1).saturating_mul(outputs);
            (1..=trees.len() / step).map(|round| round * step).collect()
        }
    };
    Ok(Body::Trees { nodes, covers, categories, trees, rounds, weighted: weights.is_some() })
}

/// The arrays of a tree in a file.
struct Source {
    left: Vec<i64>,
    right: Vec<i64>,
    feature: Vec<i64>,
    value: Vec<f32>,
    /// Sums of second derivatives. Empty if they are not there.
    cover: Vec<f32>,
    missing_left: Vec<i64>,
    /// For each node that asks for categories its number, then where its categories are.
    asked: Vec<(i64, usize, usize)>,
    categories: Vec<i64>,
}

impl Source {
    fn new(tree: &Document) -> Result<Source, String> {
        let ints = |name: &str| tree.get(name).and_then(Document::ints).ok_or_else(|| format!("{name} is missing"));
        if tree.at("tree_param.size_leaf_vector").and_then(Document::int).is_some_and(|size| size > 1) {
            return Err("its leaves are vectors, which are not supported".to_string());
        }
        let left = ints("left_children")?;
        let value = tree.get("split_conditions").and_then(Document::floats).ok_or("split_conditions is missing")?;
        let (right, feature) = (ints("right_children")?, ints("split_indices")?);
        let missing_left = ints("default_left")?;
        let lengths = [right.len(), feature.len(), value.len(), missing_left.len()];
        if left.is_empty() || lengths.iter().any(|len| *len != left.len()) {
            return Err(format!("its arrays have {} and {lengths:?} nodes", left.len()));
        }
        let cover = tree.get("sum_hessian").and_then(Document::floats).unwrap_or_default();
        let mut source =
            Source { left, right, feature, value, cover, missing_left, asked: Vec::new(), categories: Vec::new() };
        // Files before 1.3 have none.
        if tree.get("categories_nodes").is_some() {
            let nodes = ints("categories_nodes")?;
            let (begins, sizes) = (ints("categories_segments")?, ints("categories_sizes")?);
            source.categories = ints("categories")?;
            if begins.len() != nodes.len() || sizes.len() != nodes.len() {
                return Err(format!("{} nodes ask for categories, and {} have some", nodes.len(), begins.len()));
            }
            for (node, (begin, size)) in nodes.iter().zip(begins.iter().zip(&sizes)) {
                let range = usize::try_from(*begin).ok().zip(usize::try_from(*size).ok());
                let range = range.and_then(|(begin, size)| Some((begin, begin.checked_add(size)?)));
                let (begin, end) = range.filter(|(_, end)| *end <= source.categories.len()).ok_or_else(|| {
                    format!("node {node} has categories {begin} + {size} of {}", source.categories.len())
                })?;
                source.asked.push((*node, begin, end));
            }
            // Files that share categories between nodes would need more memory than they have bytes.
            let all: usize = source.asked.iter().map(|(_, begin, end)| end - begin).sum();
            if all > source.categories.len() {
                return Err(format!("its nodes have {all} categories of {}", source.categories.len()));
            }
            source.asked.sort_unstable();
        }
        Ok(source)
    }

    /// Copies the nodes that a row can reach behind `nodes`, the root first.
    fn copy(
        &self,
        features: usize,
        nodes: &mut Vec<Node>,
        covers: &mut Vec<f32>,
        categories: &mut Vec<u32>,
    ) -> Result<(), String> {
        let first = nodes.len();
        let place = |len: usize| u32::try_from(len).ok().filter(|len| *len < LEAF).ok_or("there are too many nodes");
        let mut seen = vec![false; self.left.len()];
        // The number of a node in the file, and where it is copied to.
        let mut waiting = vec![(0usize, first)];
        nodes.push(Node { feature: LEAF, value: 0.0, left: 0, right: 0, missing_left: false, categories: None });
        while let Some((number, to)) = waiting.pop() {
            if std::mem::replace(&mut seen[number], true) {
                return Err(format!("node {number} is reached in two ways"));
            }
            nodes[to].value = self.value[number];
            if let Some(cover) = self.cover.get(number) {
                covers.resize(covers.len().max(nodes.len()), 0.0);
                covers[to] = *cover;
            }
            if self.left[number] == -1 {
                continue;
            }
            let child = |index: i64| {
                let found = usize::try_from(index).ok().filter(|index| *index < self.left.len());
                found.ok_or_else(|| format!("node {number} has the child {index} of {} nodes", self.left.len()))
            };
            let (left, right) = (child(self.left[number])?, child(self.right[number])?);
            let feature = usize::try_from(self.feature[number]).ok().filter(|feature| *feature < features);
            let feature = feature
                .ok_or_else(|| format!("node {number} asks for feature {} of {features}", self.feature[number]))?;
            let at = place(nodes.len() + 1)?;
            let empty = nodes[to];
            nodes.extend([empty, empty].map(|node| Node { feature: LEAF, ..node }));
            waiting.extend([(right, at as usize), (left, at as usize - 1)]);
            nodes[to] = Node {
                feature: feature as u32,
                value: self.value[number],
                left: at - 1,
                right: at,
                missing_left: self.missing_left[number] != 0,
                categories: self.categories_of(number, categories)?,
            };
        }
        Ok(())
    }

    fn categories_of(&self, number: usize, categories: &mut Vec<u32>) -> Result<Option<(u32, u32)>, String> {
        let Ok(at) = self.asked.binary_search_by_key(&(number as i64), |(node, ..)| *node) else { return Ok(None) };
        let (_, begin, end) = self.asked[at];
        let from = categories.len();
        for category in &self.categories[begin..end] {
            categories
                .push(u32::try_from(*category).map_err(|_| format!("node {number} has the category {category}"))?);
        }
        categories[from..].sort_unstable();
        let range = u32::try_from(from).ok().zip(u32::try_from(categories.len()).ok());
        range.map(Some).ok_or_else(|| "there are too many categories".to_string())
    }
}
