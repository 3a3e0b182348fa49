//! LightGBM's model text as trees that predict (`src/io/tree.cpp` and `src/boosting/gbdt_model_text.cpp` write it).
//!
//! Sums are in double precision in the order of the trees, as in `GBDT::PredictRaw`, so that predictions are those of
//! the library bit for bit. A file may lie. Every node that a row can reach is checked once, and has one parent, so
//! that every walk ends.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::explain::Scale;
use crate::explain::shape::{Shape, Shapes, SourceNode};

/// Rows that walk through a tree together: its nodes stay in the cache.
const BLOCK: usize = 64;
/// The feature of a leaf.
const LEAF: u32 = u32::MAX;
/// `kZeroThreshold`: smaller values are 0.
const ZERO: f64 = 1e-35f32 as f64;

/// Bits of `decision_type`.
const CATEGORY: u8 = 1;
const DEFAULT_LEFT: u8 = 2;
/// Bits 2 and 3: which values are missing.
const MISSING_ZERO: u8 = 1;
const MISSING_NAN: u8 = 2;

/// A model that was read.
#[derive(Debug)]
pub struct LightgbmForest {
    /// The names of the features, without white space.
    pub names: Vec<String>,
    /// Values of a prediction: one, or one for each class.
    pub outputs: usize,
    /// The objective with its parameters, such as `binary sigmoid:1`. Empty for one of the user's.
    pub objective: String,
    link: Link,
    /// Predictions are means of the trees, as those of random forests are.
    is_mean: bool,
    nodes: Vec<Node>,
    /// For each node the number of its training rows. Empty if the text does not say it.
    counts: Vec<f64>,
    /// Bit sets of the categories that go left.
    sets: Vec<u32>,
    /// The root of each tree. Tree `t` is for output `t % outputs`.
    roots: Vec<u32>,
    /// For each feature the number of its splits, and the sum of their gains.
    pub splits: Vec<f64>,
    pub gains: Vec<f64>,
    /// For each feature whether it has categories, as far as the file says it.
    pub categorical: Vec<bool>,
    /// The categories of each feature with some, as pandas had them. Empty if they are not strings.
    pub levels: Vec<Vec<String>>,
}

/// From sums of leaves to values on the target's scale: `ConvertOutput` of `src/objective`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Link {
    Identity,
    /// The square with the sign.
    Square,
    Exp,
    Sigmoid(f64),
    /// `ln(1 + exp(x))`.
    Softplus,
    Softmax,
}

/// A node of a tree.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The feature that is asked. [`LEAF`] for a leaf.
    feature: u32,
    decision: u8,
    left: u32,
    right: u32,
    /// Values up to it go left; the value of a leaf.
    value: f64,
    /// The range of the bit set of a node that asks for categories.
    set: (u32, u32),
}

/// `key=value` lines.
type Section<'a> = HashMap<&'a str, &'a str>;

impl LightgbmForest {
    /// The model of a text.
    ///
    /// # Errors
    /// Says what is missing, contradicts itself or is not supported.
    pub fn read(bytes: &[u8]) -> Result<LightgbmForest, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_string())?;
        let (body, tail) = text.split_once("\nend of trees").ok_or("`end of trees` is missing")?;
        let mut parts = body.split("\nTree=");
        let header = parts.next().unwrap_or_default();
        if header.lines().next().map(str::trim) != Some("tree") {
            return Err("it does not begin with `tree`".to_string());
        }
        let is_mean = header.lines().any(|line| line.trim() == "average_output");
        let header = section(header);
        let count = |name: &str| header.get(name).and_then(|v| v.trim().parse::<usize>().ok());
        let outputs = count("num_tree_per_iteration").ok_or("num_tree_per_iteration is missing")?;
        let names: Vec<String> =
            header.get("feature_names").copied().unwrap_or_default().split_whitespace().map(str::to_string).collect();
        let features = count("max_feature_idx").and_then(|n| n.checked_add(1)).ok_or("max_feature_idx is missing")?;
        if names.len() != features {
            return Err(format!("it has {} names for {features} features", names.len()));
        }
        let objective = header.get("objective").copied().unwrap_or_default().trim().to_string();
        let link = link(&objective)?;
        let mut forest = LightgbmForest {
            names,
            outputs,
            objective,
            link,
            is_mean,
            nodes: Vec::new(),
            counts: Vec::new(),
            sets: Vec::new(),
            roots: Vec::new(),
            splits: vec![0.0; features],
            gains: vec![0.0; features],
            categorical: Vec::new(),
            levels: levels(tail),
        };
        for (number, tree) in parts.enumerate() {
            forest.tree(&section(tree)).map_err(|why| format!("tree {number}: {why}"))?;
        }
        let trees = forest.roots.len();
        if outputs == 0 || !trees.is_multiple_of(outputs) {
            return Err(format!("it has {trees} trees for {outputs} values"));
        }
        // A row of predictions has this many values, whatever the file is worth.
        if outputs > trees.max(1) {
            return Err(format!("it says that it has {outputs} classes, and has {trees} trees"));
        }
        if outputs > 1 && !matches!(link, Link::Softmax | Link::Sigmoid(_)) {
            return Err(format!("it has {outputs} classes, but its objective is `{}`", forest.objective));
        }
        forest.categorical = categorical(&header, tail, features);
        Ok(forest)
    }

    pub fn features(&self) -> usize {
        self.names.len()
    }

    pub fn rounds(&self) -> usize {
        self.roots.len() / self.outputs
    }

    /// Bytes in memory, about.
    pub fn bytes(&self) -> u64 {
        (size_of_val(&self.nodes[..]) + size_of_val(&self.sets[..])) as u64
    }

    /// Values on the target's scale: rows x outputs. `columns` are the features; NaN is missing.
    ///
    /// # Panics
    /// If there are fewer columns than features, or columns of fewer rows.
    pub fn predict(&self, columns: &[&[f64]], rows: usize) -> Vec<f64> {
        let width = self.features();
        assert!(columns.len() >= width, "{} columns for {width} features", columns.len());
        let mut out = vec![0.0; rows * self.outputs];
        out.par_chunks_mut(BLOCK * self.outputs).enumerate().for_each(|(block, out)| {
            let first = block * BLOCK;
            let mut values = vec![0.0; out.len() / self.outputs * width];
            for (j, column) in columns[..width].iter().enumerate() {
                for (i, value) in column[first..].iter().take(BLOCK).enumerate() {
                    // As in `RowPairFunctionFromDenseRows`.
                    values[i * width + j] = if value.abs() > ZERO || value.is_nan() { *value } else { 0.0 };
                }
            }
            for (tree, root) in self.roots.iter().enumerate() {
                let output = tree % self.outputs;
                for (i, out) in out.chunks_mut(self.outputs).enumerate() {
                    out[output] += self.leaf(*root, &values[i * width..(i + 1) * width]);
                }
            }
            out.chunks_mut(self.outputs).for_each(|row| self.link(row));
        });
        out
    }

    /// The trees for SHAP values of sums of leaves. Nodes weigh as many training rows as they had, as in the library's
    /// `pred_contrib`. `None`: the text does not say how many.
    pub fn shapes(&self) -> Option<Shapes<'_>> {
        if self.counts.len() != self.nodes.len() {
            return None;
        }
        let node = |at: u32| {
            let node = &self.nodes[at as usize];
            match node.feature {
                LEAF => SourceNode::Leaf(std::slice::from_ref(&node.value)),
                feature => SourceNode::Inner(feature, [node.left, node.right]),
            }
        };
        let scale = if self.is_mean { 1.0 / self.rounds() as f64 } else { 1.0 };
        let shape = |(tree, root): (usize, &u32)| {
            let mut shape = Shape::new(*root, 1, tree % self.outputs, node, |at| self.counts[at as usize]);
            shape.values.iter_mut().for_each(|value| *value *= scale);
            shape
        };
        let trees = self.roots.iter().enumerate().map(shape).collect();
        let kind = if self.link == Link::Identity { Scale::Value } else { Scale::Margin };
        Some(Shapes::new(trees, (vec![0.0; self.outputs], kind), |at, row| {
            let node = &self.nodes[at as usize];
            let value = row[node.feature as usize];
            self.is_left(node, if value.abs() > ZERO || value.is_nan() { value } else { 0.0 })
        }))
    }

    /// Whether a value goes to the left child.
    fn is_left(&self, node: &Node, value: f64) -> bool {
        match node.decision & CATEGORY != 0 {
            true => self.is_in(node.set, value),
            false => node.goes_left(value),
        }
    }

    /// The value of the leaf that a row reaches.
    fn leaf(&self, root: u32, row: &[f64]) -> f64 {
        let mut node = &self.nodes[root as usize];
        while node.feature != LEAF {
            let left = self.is_left(node, row[node.feature as usize]);
            node = &self.nodes[if left { node.left } else { node.right } as usize];
        }
        node.value
    }

    /// `CategoricalDecision`: a value that is not an integer is rounded towards zero. A missing one is in no set.
    fn is_in(&self, (begin, end): (u32, u32), value: f64) -> bool {
        if !(value > -1.0 && value < 2_147_483_648.0) {
            return false;
        }
        let category = value as u32;
        let words = &self.sets[begin as usize..end as usize];
        words.get(category as usize / 32).is_some_and(|word| word >> (category % 32) & 1 == 1)
    }

    /// Sums of leaves become values, in place.
    fn link(&self, row: &mut [f64]) {
        if self.is_mean {
            let rounds = self.rounds() as f64;
            row.iter_mut().for_each(|v| *v /= rounds);
        }
        match self.link {
            Link::Identity => {}
            Link::Square => row.iter_mut().for_each(|v| *v = if *v >= 0.0 { *v * *v } else { -(*v * *v) }),
            Link::Exp => row.iter_mut().for_each(|v| *v = v.exp()),
            Link::Sigmoid(slope) => row.iter_mut().for_each(|v| *v = 1.0 / (1.0 + (-slope * *v).exp())),
            Link::Softplus => row.iter_mut().for_each(|v| *v = v.exp().ln_1p()),
            Link::Softmax => softmax(row),
        }
    }

    /// Notes the training rows of a node.
    fn count(&mut self, at: usize, rows: Option<&f64>) {
        if let Some(rows) = rows {
            self.counts.resize(self.counts.len().max(at + 1), 0.0);
            self.counts[at] = *rows;
        }
    }

    /// Reads a tree.
    fn tree(&mut self, tree: &Section<'_>) -> Result<(), String> {
        let leaves = tree.get("num_leaves").and_then(|v| v.trim().parse::<usize>().ok());
        let leaves = leaves.filter(|n| *n > 0).ok_or("num_leaves is missing")?;
        if tree.get("is_linear").is_some_and(|v| v.trim() != "0") {
            return Err("its leaves are linear models, which are not supported".to_string());
        }
        let values: Vec<f64> = numbers(tree, "leaf_value")?;
        let root = place(self.nodes.len())?;
        if values.len() != leaves {
            return Err(format!("it has {} values of leaves for {leaves} leaves", values.len()));
        }
        self.roots.push(root);
        if leaves == 1 {
            self.nodes.push(Node::leaf(values[0]));
            // A tree that is one leaf needs no number of rows.
            self.counts.push(1.0);
            return Ok(());
        }
        let source = TreeSource {
            features: self.names.len(),
            left: numbers(tree, "left_child")?,
            right: numbers(tree, "right_child")?,
            feature: numbers(tree, "split_feature")?,
            threshold: numbers(tree, "threshold")?,
            decision: numbers(tree, "decision_type")?,
            gain: if tree.contains_key("split_gain") { numbers(tree, "split_gain")? } else { Vec::new() },
            bounds: if tree.contains_key("cat_boundaries") { numbers(tree, "cat_boundaries")? } else { Vec::new() },
            words: if tree.contains_key("cat_threshold") { numbers(tree, "cat_threshold")? } else { Vec::new() },
            values,
            leaf_counts: if tree.contains_key("leaf_count") { numbers(tree, "leaf_count")? } else { Vec::new() },
            counts: if tree.contains_key("internal_count") { numbers(tree, "internal_count")? } else { Vec::new() },
        };
        source.copy(self)
    }
}

impl Node {
    fn leaf(value: f64) -> Node {
        Node { feature: LEAF, decision: 0, left: 0, right: 0, value, set: (0, 0) }
    }

    /// `NumericalDecision`.
    fn goes_left(&self, value: f64) -> bool {
        let missing = self.decision >> 2 & 3;
        let value = if value.is_nan() && missing != MISSING_NAN { 0.0 } else { value };
        let is_missing = match missing {
            MISSING_ZERO => value.abs() <= ZERO,
            MISSING_NAN => value.is_nan(),
            _ => false,
        };
        if is_missing { self.decision & DEFAULT_LEFT != 0 } else { value <= self.value }
    }
}

/// The arrays of a tree in a text.
struct TreeSource {
    features: usize,
    left: Vec<i64>,
    right: Vec<i64>,
    feature: Vec<u32>,
    threshold: Vec<f64>,
    decision: Vec<i64>,
    gain: Vec<f32>,
    /// The beginning of each bit set, and the end of the last one.
    bounds: Vec<usize>,
    words: Vec<u32>,
    values: Vec<f64>,
    /// Rows of each leaf and of each inner node. Empty if the text does not have them.
    leaf_counts: Vec<f64>,
    counts: Vec<f64>,
}

impl TreeSource {
    /// Copies the nodes that a row can reach, the root first.
    fn copy(&self, forest: &mut LightgbmForest) -> Result<(), String> {
        let inner = self.values.len() - 1;
        let lengths = [
            self.left.len(),
            self.right.len(),
            self.feature.len(),
            self.threshold.len(),
            self.decision.len(),
            if self.gain.is_empty() { inner } else { self.gain.len() },
        ];
        if lengths.iter().any(|len| *len != inner) {
            return Err(format!("its arrays have {lengths:?} nodes for {} leaves", self.values.len()));
        }
        if self.bounds.windows(2).any(|pair| pair[0] > pair[1])
            || self.bounds.last().is_some_and(|end| *end > self.words.len())
        {
            return Err("cat_boundaries does not fit cat_threshold".to_string());
        }
        let first_word = place(forest.sets.len())?;
        forest.sets.extend(&self.words);
        place(forest.sets.len())?;
        let (mut seen, mut seen_leaf) = (vec![false; inner], vec![false; self.values.len()]);
        // The number of a node in the text, and where it is copied to.
        let mut waiting = vec![(0i64, forest.nodes.len())];
        forest.nodes.push(Node::leaf(0.0));
        while let Some((number, to)) = waiting.pop() {
            if number < 0 {
                let leaf = usize::try_from(!number).ok().filter(|leaf| *leaf < self.values.len());
                let leaf = leaf.ok_or_else(|| format!("there is no leaf {} of {}", !number, self.values.len()))?;
                if std::mem::replace(&mut seen_leaf[leaf], true) {
                    return Err(format!("leaf {leaf} is reached in two ways"));
                }
                forest.nodes[to] = Node::leaf(self.values[leaf]);
                forest.count(to, self.leaf_counts.get(leaf));
                continue;
            }
            let at = usize::try_from(number).ok().filter(|at| *at < inner);
            let at = at.ok_or_else(|| format!("there is no node {number} of {inner}"))?;
            if std::mem::replace(&mut seen[at], true) {
                return Err(format!("node {at} is reached in two ways"));
            }
            let feature = self.feature[at];
            if feature as usize >= self.features {
                return Err(format!("node {at} asks for feature {feature} of {}", self.features));
            }
            let decision = u8::try_from(self.decision[at] & 0xff).unwrap_or(0);
            let set = if decision & CATEGORY != 0 { self.set(at, first_word)? } else { (0, 0) };
            forest.count(to, self.counts.get(at));
            let next = place(forest.nodes.len() + 1)?;
            forest.nodes.extend([Node::leaf(0.0); 2]);
            waiting.extend([(self.right[at], next as usize), (self.left[at], next as usize - 1)]);
            forest.nodes[to] = Node { feature, decision, left: next - 1, right: next, value: self.threshold[at], set };
        }
        // In the order of the text, as `GBDT::FeatureImportance` adds them.
        for (feature, gain) in self.feature.iter().zip(&self.gain) {
            let at = *feature as usize;
            if *gain > 0.0 && at < self.features {
                forest.splits[at] += 1.0;
                forest.gains[at] += f64::from(*gain);
            }
        }
        Ok(())
    }

    /// The range of a node's bit set among those of all trees.
    fn set(&self, at: usize, first_word: u32) -> Result<(u32, u32), String> {
        let wrong = || format!("node {at} has the bit set {} of {}", self.threshold[at], self.bounds.len());
        let number = self.threshold[at];
        if !(number >= 0.0 && number < self.bounds.len() as f64) {
            return Err(wrong());
        }
        let range = self.bounds.get(number as usize..).and_then(|bounds| Some((*bounds.first()?, *bounds.get(1)?)));
        let (begin, end) = range.ok_or_else(wrong)?;
        Ok((first_word + place(begin)?, first_word + place(end)?))
    }
}

/// A position of a node or of a word, which 31 bits hold.
fn place(at: usize) -> Result<u32, String> {
    u32::try_from(at).ok().filter(|at| *at < 1 << 31).ok_or_else(|| "there are too many nodes".to_string())
}

/// `Common::Softmax`.
pub fn softmax(row: &mut [f64]) {
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for value in row.iter_mut() {
        *value = (*value - largest).exp();
        sum += *value;
    }
    row.iter_mut().for_each(|value| *value /= sum);
}

fn section(text: &str) -> Section<'_> {
    text.lines().filter_map(|line| line.split_once('=')).map(|(key, value)| (key.trim(), value)).collect()
}

fn numbers<T: std::str::FromStr>(tree: &Section<'_>, name: &str) -> Result<Vec<T>, String> {
    let text = tree.get(name).ok_or_else(|| format!("{name} is missing"))?;
    let number = |v: &str| v.parse().map_err(|_| format!("{name} has `{}`", v.chars().take(20).collect::<String>()));
    text.split_ascii_whitespace().map(number).collect()
}

fn link(objective: &str) -> Result<Link, String> {
    let mut words = objective.split_ascii_whitespace();
    let name = words.next().unwrap_or_default();
    let words: Vec<&str> = words.collect();
    let slope = words.iter().find_map(|w| w.strip_prefix("sigmoid:")).map_or(Some(1.0), |v| v.parse::<f64>().ok());
    let slope = slope.filter(|v| *v > 0.0).ok_or("the sigmoid of its objective is not a number above 0")?;
    Ok(match name {
        "" | "custom" | "lambdarank" | "rank_xendcg" => Link::Identity,
        "regression" | "regression_l1" | "quantile" | "mape" | "fair" | "huber" => match words.contains(&"sqrt") {
            true => Link::Square,
            false => Link::Identity,
        },
        "poisson" | "gamma" | "tweedie" => Link::Exp,
        "binary" | "multiclassova" => Link::Sigmoid(slope),
        "cross_entropy" => Link::Sigmoid(1.0),
        "cross_entropy_lambda" => Link::Softplus,
        "multiclass" => Link::Softmax,
        other => return Err(format!("its objective is `{other}`, which is not known")),
    })
}

/// The line that the Python package writes at the end: the categories of its data frame.
pub const PANDAS: &str = "pandas_categorical:";

/// The categories of the line at the end, if all of a feature are strings.
fn levels(tail: &str) -> Vec<Vec<String>> {
    let line = tail.lines().rev().find_map(|line| line.strip_prefix(PANDAS));
    let lists: Option<Vec<Vec<serde_json::Value>>> = line.and_then(|line| serde_json::from_str(line).ok());
    let strings = |list: Vec<serde_json::Value>| -> Option<Vec<String>> {
        list.into_iter().map(|v| v.as_str().map(str::to_string)).collect()
    };
    lists.unwrap_or_default().into_iter().map(|list| strings(list).unwrap_or_default()).collect()
}

/// For each feature whether it has categories: what the parameters say, or else the features' values.
fn categorical(header: &Section<'_>, tail: &str, features: usize) -> Vec<bool> {
    let mut found = vec![false; features];
    let listed = tail.lines().find_map(|line| line.strip_prefix("[categorical_feature: ")?.strip_suffix(']'));
    let listed: Option<Vec<usize>> =
        listed.filter(|list| !list.is_empty()).and_then(|l| l.split(',').map(|v| v.trim().parse().ok()).collect());
    if let Some(listed) = listed {
        listed.into_iter().filter(|at| *at < features).for_each(|at| found[at] = true);
        return found;
    }
    let infos = header.get("feature_infos").copied().unwrap_or_default().split_ascii_whitespace();
    for (found, info) in found.iter_mut().zip(infos) {
        *found = !info.starts_with('[') && info != "none";
    }
    found
}
