//! Isolation forests (Liu, Ting and Zhou, ICDM 2008): outliers are rows that few random splits separate from the
//! others. As in `sklearn/ensemble/_iforest.py`, with other random numbers.

use std::cmp::Ordering;

use onrush_wire::learn::Param;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::outliers::{contamination, label, percentile};
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::random::{Mt19937, Philox};
use crate::run::Run;
use crate::tensor::Tensor;

/// The stream of the seeds of the trees.
const SEEDS: u32 = 1;

/// Trees between two looks at whether the user stopped the work.
const ROUND: usize = 32;

/// Rows of a chunk of one thread.
const CHUNK: usize = 512;

/// Random trees, one after the other. The left child of a node follows it.
#[derive(Serialize, Deserialize)]
pub struct IsolationForest {
    /// The first node of each tree, and the number of nodes.
    pub starts: Tensor,
    /// The feature of each node; -1 for a leaf.
    pub features: Tensor,
    /// The threshold of each node: values up to it go to the left. For a leaf the path length.
    pub thresholds: Tensor,
    /// The right child of each node. 0 for a leaf.
    pub rights: Tensor,
    pub max_samples: usize,
    #[serde(with = "crate::tensor::scalar")]
    pub offset: f64,
}

/// A tree that grows.
#[derive(Default)]
struct Tree {
    features: Vec<f64>,
    thresholds: Vec<f64>,
    rights: Vec<f64>,
}

/// Trains `IsolationForest`.
///
/// # Errors
/// If a parameter does not fit the data, and if the user stops the work.
pub fn fit(params: &params::IsolationForest, data: &Data, run: &Run<'_>) -> Result<IsolationForest, Error> {
    let share = contamination(&params.contamination)?;
    let max_samples = match &params.max_samples {
        Param::Str(word) if word == "auto" => data.rows.min(256),
        other => portion("max_samples", other, data.rows)?,
    };
    let max_features = portion("max_features", &params.max_features, data.width())?;
    let depth = (max_samples.max(2) as f64).log2().ceil() as usize;
    let seeds = Philox::new(params::seed(params.random_state), SEEDS);
    let grow = |number: usize| {
        let mut random = Mt19937::new(seeds.at([number as u32, 0, 0, 0])[0]);
        let mut rows: Vec<u32> = match params.bootstrap {
            true => (0..max_samples).map(|_| random.randint(0, data.rows as u64) as u32).collect(),
            false => {
                random.sample_without_replacement(data.rows as u64, max_samples).iter().map(|r| *r as u32).collect()
            }
        };
        // Rows that are drawn twice count once, as in scikit-learn.
        rows.sort_unstable();
        rows.dedup();
        let mut features: Vec<usize> = match max_features < data.width() {
            true => random.choice(data.width(), max_features),
            false => (0..data.width()).collect(),
        };
        let mut tree = Tree::default();
        tree.grow(data, &mut rows, &mut features, 0, depth, &mut random);
        tree
    };
    let mut forest = IsolationForest {
        starts: Tensor::default(),
        features: Tensor::default(),
        thresholds: Tensor::default(),
        rights: Tensor::default(),
        max_samples,
        offset: -0.5,
    };
    let mut starts = vec![0.0];
    let (mut features, mut thresholds, mut rights) = (Vec::new(), Vec::new(), Vec::new());
    for first in (0..params.n_estimators).step_by(ROUND) {
        run.check(|| format!("{first} of {} trees", params.n_estimators))?;
        (run.steps)(first as u64, params.n_estimators as u64);
        let numbers = first..params.n_estimators.min(first + ROUND);
        let trees: Vec<Tree> = numbers.into_par_iter().map(grow).collect();
        for tree in trees {
            let start = features.len() as f64;
            rights.extend(tree.rights.iter().map(|right| if *right > 0.0 { right + start } else { 0.0 }));
            features.extend(tree.features);
            thresholds.extend(tree.thresholds);
            starts.push(features.len() as f64);
        }
    }
    forest.starts = Tensor::vector(starts);
    forest.features = Tensor::vector(features);
    forest.thresholds = Tensor::vector(thresholds);
    forest.rights = Tensor::vector(rights);
    if let Some(share) = share {
        run.stage("scores of the rows");
        forest.offset = percentile(&forest.scores(data), share);
    }
    Ok(forest)
}

/// A number of things, or their share.
fn portion(name: &str, param: &Param, all: usize) -> Result<usize, Error> {
    match param {
        Param::Int(count) if *count >= 1 => Ok((*count as usize).min(all)),
        Param::Float(share) if *share > 0.0 && *share <= 1.0 => Ok(((share * all as f64) as usize).max(1)),
        other => {
            let message = format!("`{name}` is {other}: an integer from 1, or a share above 0 and at most 1");
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

/// The mean path length of an unsuccessful search in a binary search tree of `count` rows.
fn mean_path(count: usize) -> f64 {
    const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;
    match count {
        0 | 1 => 0.0,
        2 => 1.0,
        _ => 2.0 * (((count - 1) as f64).ln() + EULER_GAMMA) - 2.0 * (count - 1) as f64 / count as f64,
    }
}

impl Tree {
    /// Grows the node of some rows and all below it. The order of the rows and of the features changes.
    fn grow(
        &mut self,
        data: &Data,
        rows: &mut [u32],
        features: &mut [usize],
        level: usize,
        depth: usize,
        random: &mut Mt19937,
    ) {
        let split = (rows.len() > 1 && level < depth).then(|| split(data, rows, features, random)).flatten();
        let Some((feature, threshold)) = split else {
            self.features.push(-1.0);
            self.thresholds.push(level as f64 + mean_path(rows.len()));
            self.rights.push(0.0);
            return;
        };
        let node = self.features.len();
        self.features.push(feature as f64);
        self.thresholds.push(threshold);
        self.rights.push(0.0);
        let values = &data.features[feature].values;
        let mut left = 0;
        for at in 0..rows.len() {
            if values[rows[at] as usize] <= threshold {
                rows.swap(left, at);
                left += 1;
            }
        }
        let (lower, upper) = rows.split_at_mut(left);
        self.grow(data, lower, features, level + 1, depth, random);
        self.rights[node] = self.features.len() as f64;
        self.grow(data, upper, features, level + 1, depth, random);
    }
}

/// A random feature that is not constant in these rows, and a random threshold. `None` if all are constant.
fn split(data: &Data, rows: &[u32], features: &mut [usize], random: &mut Mt19937) -> Option<(usize, f64)> {
    for left in (1..=features.len()).rev() {
        features.swap(left - 1, random.interval(left as u64 - 1) as usize);
        let feature = features[left - 1];
        let values = &data.features[feature].values;
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for row in rows {
            low = low.min(values[*row as usize]);
            high = high.max(values[*row as usize]);
        }
        if low < high {
            let threshold = low + random.uniform() * (high - low);
            return Some((feature, if threshold < high { threshold } else { low }));
        }
    }
    None
}

impl IsolationForest {
    /// The scores of all rows: the opposite of the anomaly score of the paper.
    fn scores(&self, data: &Data) -> Vec<f64> {
        let points = data.row_major();
        let width = data.width();
        let starts: Vec<usize> = self.starts.data.iter().map(|start| *start as usize).collect();
        let trees = starts.len().saturating_sub(1);
        let longest = trees as f64 * mean_path(self.max_samples);
        let nodes: Vec<(i64, f64, usize)> = (0..self.features.data.len())
            .map(|n| (self.features.data[n] as i64, self.thresholds.data[n], self.rights.data[n] as usize))
            .collect();
        points
            .par_chunks(CHUNK * width)
            .flat_map_iter(|chunk| {
                let rows = chunk.len() / width;
                let mut paths = vec![0.0; rows];
                // Tree by tree: its nodes stay in the cache.
                for start in &starts[..trees] {
                    for (path, row) in paths.iter_mut().zip(chunk.chunks_exact(width)) {
                        let mut at = *start;
                        while let (feature @ 0.., threshold, right) = nodes[at] {
                            at = if row[feature as usize] <= threshold { at + 1 } else { right };
                        }
                        *path += nodes[at].1;
                    }
                }
                let score = move |path: f64| -(if longest > 0.0 { -path / longest } else { -1.0 }).exp2();
                paths.into_iter().map(score)
            })
            .collect()
    }
}

impl Model for IsolationForest {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        vec![Role::Label, Role::Feature("score".to_string(), Kind::Number)]
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let scores = self.scores(data);
        let column = |output: &usize| match *output {
            0 => scores.iter().map(|score| label(*score, self.offset)).collect(),
            _ => scores.clone(),
        };
        Ok(wanted.iter().map(column).collect())
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "offset" => Some(Attribute::Float(self.offset)),
            "max_samples" => Some(Attribute::Int(self.max_samples as i64)),
            _ => None,
        }
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let broken = |what: &str| Err(Error::new(ErrorKind::ModelFile, format!("the isolation forest has {what}")));
        let count = self.features.data.len();
        if self.thresholds.data.len() != count || self.rights.data.len() != count {
            return broken("arrays of different lengths");
        }
        let starts = &self.starts.data;
        if starts.len() < 2 || starts[0] != 0.0 || starts[starts.len() - 1] != count as f64 {
            return broken("trees that do not end");
        }
        for bounds in starts.windows(2) {
            let (first, end) = (bounds[0], bounds[1]);
            if first.partial_cmp(&end) != Some(Ordering::Less) || first.fract() != 0.0 {
                return broken("an empty tree");
            }
            for node in first as usize..end as usize {
                let (feature, right) = (self.features.data[node], self.rights.data[node]);
                let forward = right > node as f64 && right < end && right.fract() == 0.0;
                let inner = feature >= 0.0 && feature < features as f64 && forward;
                if feature != -1.0 && (!inner || node as f64 + 1.0 >= end) {
                    return broken("a node outside of its tree");
                }
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        3 * self.features.bytes()
    }
}
