//! k-means that splits one cluster after the other in two (Steinbach, Karypis and Kumar 2000), as in
//! `sklearn/cluster/_bisect_k_means.py`.

use serde::{Deserialize, Serialize};

use super::kmeans::{Init, Rows, Training};
use super::labels;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::neighbors::tile;
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::tensor::Tensor;

/// A training must be better by this share to replace another one.
const BETTER: f64 = 1e-6;

/// A tree of clusters.
#[derive(Serialize, Deserialize)]
pub struct BisectingTree {
    /// nodes x features: the centres. The root comes first.
    pub nodes: Tensor,
    /// For each node the left child, and the right one after it. None for a cluster.
    pub children: Vec<Option<usize>>,
    /// For each node its cluster, if it is one.
    pub clusters: Vec<usize>,
    pub labels: Tensor,
    #[serde(with = "crate::tensor::scalar")]
    pub inertia: f64,
    pub n_clusters: usize,
}

/// A node while the tree grows.
struct Node {
    center: Vec<f64>,
    rows: Vec<usize>,
    score: f64,
    left: Option<usize>,
}

/// Trains `BisectingKMeans`.
///
/// # Errors
/// If there are fewer rows than clusters, or a cluster cannot be split. If the user stops the work.
pub fn fit(params: &params::BisectingKMeans, data: &Data, run: &Run<'_>) -> Result<BisectingTree, Error> {
    let (clusters, width) = (params.n_clusters, data.width());
    if data.rows < clusters {
        let message =
            format!("`n_clusters` is {clusters}, and there are {} rows: at least as many rows as clusters", data.rows);
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let init = if params.init == "k-means++" { Init::PlusPlus } else { Init::Random };
    let mean = data.means();
    let mut random = Mt19937::new(params::seed(params.random_state));
    let root = Node { center: vec![0.0; width], rows: (0..data.rows).collect(), score: 0.0, left: None };
    let mut nodes = vec![root];
    for number in 1..clusters {
        run.check(|| format!("{} of {} splits", number - 1, clusters - 1))?;
        (run.steps)(number as u64 - 1, clusters as u64 - 1);
        let order = leaves(&nodes);
        // The first one of equal scores, from left to right.
        let best =
            order.iter().copied().reduce(|a, b| if nodes[b].score > nodes[a].score { b } else { a }).unwrap_or(0);
        let own = data.take(&nodes[best].rows);
        if own.rows < 2 {
            let message =
                format!("a cluster of 1 row is the one to split: there are {number} different places of rows");
            return Err(Error::new(ErrorKind::Clusters, message).help("set `n_clusters` to a smaller number"));
        }
        let rows = Rows::new(&own, &mean, own.weight.clone());
        let mut found: Option<Training> = None;
        for _ in 0..params.n_init {
            let first = init.centers(&rows, 2, &mean, &mut random, run)?;
            let training = Training::run(&rows, first, params.max_iter as u64, params.tol, run)?;
            if found.as_ref().is_none_or(|best| training.inertia < best.inertia * (1.0 - BETTER)) {
                found = Some(training);
            }
        }
        let Some(found) = found else { return Err(Error::new(ErrorKind::Parameter, "`n_init` is 0: at least 1")) };
        nodes[best].left = Some(nodes.len());
        for side in 0..2 {
            let center = found.centers[side * width..(side + 1) * width].to_vec();
            let of_side: Vec<usize> = (0..own.rows).filter(|row| found.labels[*row] as usize == side).collect();
            let score = match params.bisecting_strategy.as_str() {
                "largest_cluster" => of_side.len() as f64,
                _ => of_side.iter().map(|row| own.weight_of(*row) * distance(&own, *row, &center, &mean)).sum(),
            };
            let rows = of_side.into_iter().map(|row| nodes[best].rows[row]).collect();
            nodes.push(Node { center, rows, score, left: None });
        }
        nodes[best].rows = Vec::new();
    }
    Ok(finished(&nodes, data, &mean))
}

/// The squared distance of a row to a centre, which is relative to the mean.
fn distance(data: &Data, row: usize, center: &[f64], mean: &[f64]) -> f64 {
    let values = data.features.iter().map(|column| column.values[row]);
    values.zip(mean).zip(center).map(|((v, m), c)| (v - m - c) * (v - m - c)).sum()
}

/// The nodes without children, from left to right.
fn leaves(nodes: &[Node]) -> Vec<usize> {
    let (mut out, mut open) = (Vec::new(), vec![0]);
    while let Some(node) = open.pop() {
        match nodes[node].left {
            Some(left) => open.extend([left + 1, left]),
            None => out.push(node),
        }
    }
    out
}

fn finished(nodes: &[Node], data: &Data, mean: &[f64]) -> BisectingTree {
    let mut labels = vec![0.0; data.rows];
    let mut clusters = vec![0; nodes.len()];
    let order = leaves(nodes);
    let mut inertia = 0.0;
    for (cluster, leaf) in order.iter().enumerate() {
        clusters[*leaf] = cluster;
        for row in &nodes[*leaf].rows {
            labels[*row] = cluster as f64;
            inertia += data.weight_of(*row) * distance(data, *row, &nodes[*leaf].center, mean);
        }
    }
    let values = nodes.iter().flat_map(|node| node.center.iter().zip(mean).map(|(c, m)| c + m)).collect();
    BisectingTree {
        nodes: Tensor::new(vec![nodes.len(), mean.len()], values),
        children: nodes.iter().map(|node| node.left).collect(),
        clusters,
        labels: Tensor::vector(labels),
        inertia,
        n_clusters: order.len(),
    }
}

impl Model for BisectingTree {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        vec![Role::Label]
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let cluster = |row: &[f64]| {
            let mut node = 0;
            while let Some(left) = self.children[node] {
                let near = |node: usize| tile::distance(row, self.nodes.row(node));
                node = if near(left + 1) < near(left) { left + 1 } else { left };
            }
            self.clusters[node] as f64
        };
        let found: Vec<f64> = data.row_major().chunks_exact(data.width()).map(cluster).collect();
        Ok(wanted.iter().map(|_| found.clone()).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "cluster_centers" => {
                let mut places = vec![0; self.n_clusters];
                let leaves = (0..self.children.len()).filter(|node| self.children[*node].is_none());
                leaves.for_each(|node| places[self.clusters[node]] = node);
                let centers: Vec<f64> = places.iter().flat_map(|node| self.nodes.row(*node).to_vec()).collect();
                Some(Attribute::by_row(None, features, &centers))
            }
            "labels" => Some(labels(&self.labels.data)),
            "inertia" => Some(Attribute::Float(self.inertia)),
            _ => None,
        }
    }

    fn rows(&self) -> Option<Vec<f64>> {
        Some(self.labels.data.clone())
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let count = self.children.len();
        let shape = features > 0 && count > 0 && self.nodes.shape == [count, features] && self.clusters.len() == count;
        // Children come after their parents, so that each path ends.
        let ends = |(node, left): (usize, &Option<usize>)| left.is_none_or(|left| left > node && left < count - 1);
        let clusters = self.n_clusters <= count && self.clusters.iter().all(|c| *c < self.n_clusters.max(1));
        match shape && clusters && self.children.iter().enumerate().all(ends) {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::ModelFile, format!("a tree of {count} nodes for {features} features"))),
        }
    }

    fn bytes(&self) -> u64 {
        self.nodes.bytes() + self.labels.bytes()
    }
}
