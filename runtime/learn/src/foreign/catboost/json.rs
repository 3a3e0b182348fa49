//! CatBoost's JSON as trees that predict (`catboost/libs/model/model_export/json_model_helpers.cpp` writes it).
//!
//! Numbers are compared in single precision and leaves are added in double precision in the order of the trees. A file
//! may lie. Every index is checked, and trees are nested in the file, so that every walk ends.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::Deserialize;

use super::counters::{CounterSource, Counters, Element, ElementSource, TableSource, signed};
use crate::data::{Data, Kind};
use crate::foreign::lightgbm::text::softmax;
use crate::model::Field;

/// Rows that walk through the trees together.
const BLOCK: usize = 64;
/// Splits of a symmetric tree at most.
const DEPTH: usize = 16;
/// The hash of a category that the training had none of: hashes have 32 bits with a sign.
const UNKNOWN: u64 = 1 << 40;

#[derive(Deserialize)]
struct FileSource {
    features_info: FeaturesSource,
    oblivious_trees: Option<Vec<SymmetricSource>>,
    trees: Option<Vec<NodeSource>>,
    #[serde(default)]
    ctr_data: Option<HashMap<String, TableSource>>,
    scale_and_bias: Option<(f64, Option<Vec<f64>>)>,
    #[serde(default)]
    model_info: serde_json::Value,
}

#[derive(Deserialize)]
struct FeaturesSource {
    #[serde(default)]
    float_features: Vec<FloatSource>,
    #[serde(default)]
    categorical_features: Vec<CategorySource>,
    #[serde(default)]
    ctrs: Vec<CounterSource>,
    #[serde(default)]
    cat_features_hash: Option<Vec<HashSource>>,
    text_features: Option<serde_json::Value>,
    embedding_features: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct FloatSource {
    #[serde(default)]
    borders: Option<Vec<f64>>,
    feature_index: usize,
    flat_feature_index: usize,
    #[serde(default)]
    feature_name: String,
    #[serde(default)]
    feature_id: String,
    #[serde(default)]
    nan_value_treatment: String,
}

#[derive(Deserialize)]
struct CategorySource {
    feature_index: usize,
    flat_feature_index: usize,
    #[serde(default)]
    feature_name: String,
    #[serde(default)]
    feature_id: String,
    #[serde(default)]
    values: Option<Vec<i64>>,
}

#[derive(Deserialize)]
struct HashSource {
    hash: u32,
    value: String,
}

#[derive(Deserialize)]
struct SplitSource {
    split_index: usize,
}

#[derive(Deserialize)]
struct SymmetricSource {
    #[serde(default)]
    leaf_values: Option<Vec<f64>>,
    #[serde(default)]
    splits: Option<Vec<SplitSource>>,
}

#[derive(Deserialize)]
struct NodeSource {
    split: Option<SplitSource>,
    left: Option<Box<NodeSource>>,
    right: Option<Box<NodeSource>>,
    value: Option<OneOrMore>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(f64),
    More(Vec<f64>),
}

/// A question to a row, by the position of a feature or of a statistic.
#[derive(Clone, Copy, Debug)]
enum Question {
    Above(usize, f32),
    Is(usize, u64),
    Counter(usize, f32),
}

/// A tree: its values are at `values`.
#[derive(Debug)]
enum Tree {
    /// The question of each level. The answer of the first one is the lowest bit of the leaf's number.
    Symmetric {
        questions: Vec<u32>,
        values: usize,
    },
    Nodes {
        root: u32,
    },
}

#[derive(Clone, Copy, Debug)]
enum Node {
    Inner { question: u32, no: u32, yes: u32 },
    Leaf { values: usize },
}

/// From sums of leaves to values on the target's scale.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Link {
    Identity,
    Exp,
    Sigmoid,
    Softmax,
}

/// A model that was read.
#[derive(Debug)]
pub struct CatboostForest {
    /// The loss, such as `Logloss`. Empty if the file does not say it.
    pub loss: String,
    /// Values of a row: one, or one for each class.
    pub outputs: usize,
    /// The names of the features, and whether they have categories.
    names: Vec<(String, bool)>,
    link: Link,
    /// For each feature whether missing values are above all others.
    missing_above: Vec<bool>,
    hashes: HashMap<String, u32>,
    questions: Vec<Question>,
    counters: Counters,
    trees: Vec<Tree>,
    nodes: Vec<Node>,
    values: Vec<f64>,
    scale: f64,
    bias: Vec<f64>,
}

impl CatboostForest {
    /// The model of a file.
    ///
    /// # Errors
    /// Says what is missing, contradicts itself or is not supported.
    pub fn read(bytes: &[u8]) -> Result<CatboostForest, String> {
        let mut source: FileSource = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        let info = &source.features_info;
        let has = |features: &Option<serde_json::Value>| {
            features.as_ref().and_then(serde_json::Value::as_array).is_some_and(|list| !list.is_empty())
        };
        if has(&info.text_features) || has(&info.embedding_features) {
            return Err("it has features of text or embeddings, which are not supported".to_string());
        }
        let loss = source.model_info.pointer("/params/loss_function/type").and_then(serde_json::Value::as_str);
        let (scale, bias) = source.scale_and_bias.take().unwrap_or((1.0, None));
        let places = Places::new(info)?;
        let mut forest = CatboostForest {
            loss: loss.unwrap_or_default().to_string(),
            outputs: 0,
            names: places.names,
            link: Link::Identity,
            missing_above: places.missing_above,
            hashes: info.cat_features_hash.iter().flatten().map(|h| (h.value.clone(), h.hash)).collect(),
            questions: Vec::new(),
            counters: Counters::of_tables(source.ctr_data.take().unwrap_or_default())?,
            trees: Vec::new(),
            nodes: Vec::new(),
            values: Vec::new(),
            scale,
            bias: bias.unwrap_or_default(),
        };
        forest.questions(info, &places.numbers, &places.categories)?;
        for (number, tree) in source.oblivious_trees.iter().flatten().enumerate() {
            forest.symmetric(tree).map_err(|why| format!("tree {number}: {why}"))?;
        }
        for (number, tree) in source.trees.iter().flatten().enumerate() {
            let root = forest.node(tree).map_err(|why| format!("tree {number}: {why}"))?;
            forest.trees.push(Tree::Nodes { root });
        }
        forest.outputs = forest.outputs.max(1);
        match forest.bias.len() {
            0 => forest.bias = vec![0.0; forest.outputs],
            1 => forest.bias = vec![forest.bias[0]; forest.outputs],
            len if len == forest.outputs => {}
            len => return Err(format!("it has {len} biases for {} values", forest.outputs)),
        }
        forest.link = match forest.loss.as_str() {
            "Logloss" | "CrossEntropy" | "MultiClassOneVsAll" => Link::Sigmoid,
            "MultiClass" => Link::Softmax,
            "Poisson" | "Tweedie" => Link::Exp,
            _ => Link::Identity,
        };
        if forest.outputs > 1 && !matches!(forest.loss.as_str(), "MultiClass" | "MultiClassOneVsAll") {
            return Err(format!("it predicts {} values, and its loss is `{}`", forest.outputs, forest.loss));
        }
        Ok(forest)
    }

    pub fn features(&self) -> usize {
        self.names.len()
    }

    /// Names and kinds of the features. The file has the categories of all features in one list.
    ///
    /// # Errors
    /// If the lists of all features would have more than 2^28 bytes.
    pub fn fields(&self) -> Result<Vec<Field>, String> {
        const MOST_BYTES: usize = 1 << 28;
        let mut categories: Vec<String> = self.hashes.keys().cloned().collect();
        categories.sort();
        let bytes: usize = categories.iter().map(|name| size_of::<String>() + name.len()).sum();
        let lists = self.names.iter().filter(|(_, is_category)| *is_category).count();
        if bytes.saturating_mul(lists) > MOST_BYTES {
            return Err(format!("it has {} categories for each of {lists} features", categories.len()));
        }
        let kind = |is_category| if is_category { Kind::Category(categories.clone()) } else { Kind::Number };
        let field = |(name, is_category): &(String, bool)| Field { name: name.clone(), kind: kind(*is_category) };
        Ok(self.names.iter().map(field).collect())
    }

    pub fn trees(&self) -> usize {
        self.trees.len()
    }

    /// The number of classes by the loss, 0 for a regressor.
    pub fn classes(&self) -> usize {
        match self.loss.as_str() {
            "Logloss" | "CrossEntropy" => 2,
            "MultiClass" | "MultiClassOneVsAll" => self.outputs,
            _ => 0,
        }
    }

    /// Bytes in memory, about.
    pub fn bytes(&self) -> u64 {
        (size_of_val(&self.nodes[..]) + size_of_val(&self.values[..])) as u64 + self.counters.bytes()
    }

    /// Values on the target's scale, rows x outputs: probabilities of a classifier.
    pub fn predict(&self, data: &Data, is_classifier: bool) -> Vec<f64> {
        let width = self.features();
        let codes: Vec<Vec<u64>> = data.features.iter().map(|c| self.codes(c.categories())).collect();
        let hash = |column: usize, value: f64| {
            let codes = &codes[column];
            // The last one is for missing values.
            let at = if value.is_nan() { codes.len() - 1 } else { value as usize };
            codes.get(at).copied().unwrap_or(UNKNOWN)
        };
        let link = if is_classifier || self.link == Link::Exp { self.link } else { Link::Identity };
        let mut out = vec![0.0; data.rows * self.outputs];
        out.par_chunks_mut(BLOCK * self.outputs).enumerate().for_each(|(block, out)| {
            let mut numbers = vec![0.0f32; width];
            let mut categories = vec![UNKNOWN; width];
            let mut counters = vec![0.0f32; self.counters.len()];
            for (i, out) in out.chunks_mut(self.outputs).enumerate() {
                let row = block * BLOCK + i;
                for (j, column) in data.features.iter().take(width).enumerate() {
                    let value = column.values[row];
                    match column.kind {
                        Kind::Category(_) | Kind::Text => categories[j] = hash(j, value),
                        Kind::Number if value.is_nan() && self.missing_above[j] => numbers[j] = f32::INFINITY,
                        Kind::Number => numbers[j] = value as f32,
                    }
                }
                self.counters.values(&numbers, &categories, &mut counters);
                self.row(&numbers, &categories, &counters, out);
                for (out, bias) in out.iter_mut().zip(&self.bias) {
                    *out = self.scale * *out + bias;
                }
                match link {
                    Link::Identity => {}
                    Link::Exp => out.iter_mut().for_each(|v| *v = v.exp()),
                    Link::Sigmoid => out.iter_mut().for_each(|v| *v = 1.0 / (1.0 + (-*v).exp())),
                    Link::Softmax => softmax(out),
                }
            }
        });
        out
    }

    /// Adds the leaves that a row reaches.
    fn row(&self, numbers: &[f32], categories: &[u64], counters: &[f32], out: &mut [f64]) {
        let answer = |question: u32| match self.questions[question as usize] {
            Question::Above(at, border) => numbers[at] > border,
            Question::Is(at, hash) => categories[at] == hash,
            Question::Counter(at, border) => counters[at] > border,
        };
        for tree in &self.trees {
            let values = match tree {
                Tree::Symmetric { questions, values } => {
                    let bits = questions.iter().enumerate();
                    let leaf = bits.fold(0, |leaf, (bit, question)| leaf | usize::from(answer(*question)) << bit);
                    values + leaf * self.outputs
                }
                Tree::Nodes { root } => {
                    let mut node = *root;
                    loop {
                        match self.nodes[node as usize] {
                            Node::Inner { question, no, yes } => node = if answer(question) { yes } else { no },
                            Node::Leaf { values } => break values,
                        }
                    }
                }
            };
            for (out, value) in out.iter_mut().zip(&self.values[values..]) {
                *out += value;
            }
        }
    }

    /// The hashes of a column's categories, and of a missing one. Empty for numbers.
    fn codes(&self, names: Option<&[String]>) -> Vec<u64> {
        let hash = |name: &str| self.hashes.get(name).map_or(UNKNOWN, |hash| signed(*hash));
        let names = names.into_iter().flat_map(|names| names.iter().map(String::as_str).chain(["nan"]));
        names.map(hash).collect()
    }

    /// The questions in the order of their numbers: borders of numbers, categories, borders of statistics.
    fn questions(&mut self, info: &FeaturesSource, numbers: &[usize], categories: &[usize]) -> Result<(), String> {
        for (at, feature) in numbers.iter().zip(&info.float_features) {
            let borders = feature.borders.iter().flatten();
            self.questions.extend(borders.map(|border| Question::Above(*at, *border as f32)));
        }
        for (at, feature) in categories.iter().zip(&info.categorical_features) {
            let values = feature.values.iter().flatten();
            self.questions.extend(values.map(|value| Question::Is(*at, value.cast_unsigned())));
        }
        // Features by the numbers that the file gives them.
        let number = |index: usize| {
            let found = info.float_features.iter().position(|f| f.feature_index == index);
            found.map(|at| numbers[at]).ok_or_else(|| format!("a statistic asks for the number {index}"))
        };
        let category = |index: usize| {
            let found = info.categorical_features.iter().position(|f| f.feature_index == index);
            found.map(|at| categories[at]).ok_or_else(|| format!("a statistic asks for the category {index}"))
        };
        let element = |source: &ElementSource| match source.combination_element.as_str() {
            "cat_feature_value" => Ok(Element::Category(category(source.cat_feature_index.unwrap_or(usize::MAX))?)),
            "float_feature" => {
                let at = number(source.float_feature_index.unwrap_or(usize::MAX))?;
                Ok(Element::Above(at, source.border.unwrap_or(0.0) as f32))
            }
            "cat_feature_exact_value" => {
                let at = category(source.cat_feature_index.unwrap_or(usize::MAX))?;
                Ok(Element::Is(at, source.value.unwrap_or(0).cast_unsigned()))
            }
            other => Err(format!("a statistic has `{other}`, which is not known")),
        };
        for (at, counter) in info.ctrs.iter().enumerate() {
            let elements = counter.elements.iter().map(element).collect::<Result<Vec<Element>, String>>()?;
            self.counters.add(counter, elements)?;
            self.questions.extend(counter.borders.iter().map(|border| Question::Counter(at, *border as f32)));
        }
        Ok(())
    }

    fn question(&self, split: &SplitSource) -> Result<u32, String> {
        let known = self.questions.len();
        let found = u32::try_from(split.split_index).ok().filter(|at| (*at as usize) < known);
        found.ok_or_else(|| format!("there is no split {} of {known}", split.split_index))
    }

    /// Takes the number of values of a leaf.
    fn leaf_of(&mut self, values: usize) -> Result<(), String> {
        if values == 0 || (self.outputs > 0 && values != self.outputs) {
            return Err(format!("a leaf has {values} values, and others have {}", self.outputs));
        }
        self.outputs = values;
        Ok(())
    }

    fn symmetric(&mut self, tree: &SymmetricSource) -> Result<(), String> {
        let splits = tree.splits.as_deref().unwrap_or_default();
        let values = tree.leaf_values.as_deref().unwrap_or_default();
        if splits.len() > DEPTH {
            return Err(format!("it has {} splits, and {DEPTH} are the most", splits.len()));
        }
        let leaves = 1 << splits.len();
        if !values.len().is_multiple_of(leaves) {
            return Err(format!("it has {} values for {leaves} leaves", values.len()));
        }
        self.leaf_of(values.len() / leaves)?;
        let questions = splits.iter().map(|split| self.question(split)).collect::<Result<Vec<u32>, String>>()?;
        self.trees.push(Tree::Symmetric { questions, values: self.values.len() });
        self.values.extend_from_slice(values);
        Ok(())
    }

    /// Adds a node and those below it. The reader of JSON limits how deep they are.
    fn node(&mut self, source: &NodeSource) -> Result<u32, String> {
        let node = match (&source.split, &source.left, &source.right, &source.value) {
            (Some(split), Some(left), Some(right), _) => {
                let question = self.question(split)?;
                Node::Inner { question, no: self.node(left)?, yes: self.node(right)? }
            }
            (None, None, None, Some(value)) => {
                let at = self.values.len();
                match value {
                    OneOrMore::One(value) => self.values.push(*value),
                    OneOrMore::More(values) => self.values.extend_from_slice(values),
                }
                self.leaf_of(self.values.len() - at)?;
                Node::Leaf { values: at }
            }
            _ => return Err("a node is neither a split with two sides nor a leaf".to_string()),
        };
        self.nodes.push(node);
        u32::try_from(self.nodes.len() - 1).map_err(|_| "there are too many nodes".to_string())
    }
}

/// The positions of the features among all.
struct Places {
    names: Vec<(String, bool)>,
    missing_above: Vec<bool>,
    /// For each number its position.
    numbers: Vec<usize>,
    /// For each category its position.
    categories: Vec<usize>,
}

impl Places {
    fn new(info: &FeaturesSource) -> Result<Places, String> {
        let all = info.float_features.len() + info.categorical_features.len();
        let mut names: Vec<Option<String>> = vec![None; all];
        let (mut missing_above, mut is_category) = (vec![false; all], vec![false; all]);
        let mut put = |at: usize, names_of: [&str; 2]| -> Result<usize, String> {
            let place = names.get_mut(at).ok_or_else(|| format!("feature {at} is one of {all}"))?;
            if place.is_some() {
                return Err(format!("two features are number {at}"));
            }
            let name = names_of.into_iter().find(|name| !name.is_empty());
            *place = Some(name.map_or_else(|| at.to_string(), str::to_string));
            Ok(at)
        };
        let mut numbers = Vec::new();
        for feature in &info.float_features {
            let at = put(feature.flat_feature_index, [&feature.feature_name, &feature.feature_id])?;
            missing_above[at] = feature.nan_value_treatment == "AsTrue";
            numbers.push(at);
        }
        let mut categories = Vec::new();
        for feature in &info.categorical_features {
            let at = put(feature.flat_feature_index, [&feature.feature_name, &feature.feature_id])?;
            is_category[at] = true;
            categories.push(at);
        }
        let names = names.into_iter().flatten().zip(is_category).collect();
        Ok(Places { names, missing_above, numbers, categories })
    }
}
