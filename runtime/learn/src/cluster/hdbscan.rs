//! HDBSCAN (Campello, Moulavi and Sander, PAKDD 2013; McInnes and Healy 2017), as in `sklearn/cluster/_hdbscan`: the
//! minimum spanning tree of the mutual reachability by Prim's algorithm, its condensed tree, and the stable clusters.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::labels;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::neighbors::search::{Index, Metric, NeighborSearch};
use crate::neighbors::tile;
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// Rows of a chunk of one thread.
const CHUNK: usize = 2048;

/// Clusters of the rows of a training.
#[derive(Serialize, Deserialize)]
pub struct Hdbscan {
    /// The cluster of each row; -1 is noise.
    pub labels: Tensor,
    /// How strongly each row belongs to its cluster. 0 for noise.
    pub probabilities: Tensor,
}

/// Two clusters of the single linkage that become one. Rows come first, then the merges in their order.
struct Merge {
    left: usize,
    right: usize,
    distance: f64,
    size: usize,
}

/// An edge of the condensed tree: a row or a cluster leaves its parent. Clusters have numbers after those of the rows;
/// the root is the first one.
struct Edge {
    parent: usize,
    child: usize,
    /// 1 / distance.
    lambda: f64,
    size: usize,
}

/// Trains `HDBSCAN`.
///
/// # Errors
/// If there are fewer rows than neighbours, and if the user stops the work.
pub fn fit(params: &params::HDBSCAN, data: &Data, run: &Run<'_>) -> Result<Hdbscan, Error> {
    let min_samples = params.min_samples.unwrap_or(params.min_cluster_size);
    if data.rows < min_samples.max(2) || data.rows >= u32::MAX as usize {
        let message =
            format!("`min_samples` is {min_samples}, and there are {} rows: at least as many rows", data.rows);
        return Err(Error::new(ErrorKind::Parameter, message).help("set `min_samples` to a smaller number"));
    }
    let metric = Metric::of(&params.metric, 2.0);
    run.stage("neighbours");
    let rows = data.row_major();
    let index = Index::new(metric, &rows, data.width());
    let queries = index.prepared(rows);
    let last = |list: Vec<(f64, u32)>| Ok(list.last().map_or(0.0, |(distance, _)| *distance));
    let cores = index.search(&queries, NeighborSearch::Count(min_samples), run, last)?;
    run.stage("minimum spanning tree");
    let mut merges = spanning_tree(&index, metric, &cores, params.alpha, run)?;
    merges.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    number(&mut merges, data.rows);
    let tree = CondensedTree::new(&merges, data.rows, params.min_cluster_size);
    let clusters = tree.selected(params);
    let (labels, probabilities) = tree.labels(&clusters, params);
    Ok(Hdbscan { labels: Tensor::vector(labels), probabilities: Tensor::vector(probabilities) })
}

/// The edges of the minimum spanning tree of the mutual reachability, with rows as clusters.
fn spanning_tree(index: &Index, metric: Metric, cores: &[f64], alpha: f64, run: &Run<'_>) -> Result<Vec<Merge>, Error> {
    let rows = cores.len();
    let points = index.points(0..rows);
    let width = points.len() / rows;
    let row = |row: usize| &points[row * width..(row + 1) * width];
    let distance = |a: usize, b: usize| match metric {
        Metric::Euclidean => tile::distance(row(a), row(b)).sqrt(),
        _ => metric.finished(metric.reduced(row(a), row(b))),
    };
    // The least reachability of each row that is not in the tree, and from where. NaN: it is in the tree.
    let mut reach = vec![(f64::INFINITY, 1usize); rows];
    let mut merges = Vec::with_capacity(rows - 1);
    let mut current = 0;
    while merges.len() + 1 < rows {
        if merges.len().is_multiple_of(64) {
            run.check(|| format!("{} of {rows} rows", merges.len()))?;
            (run.steps)(merges.len() as u64, rows as u64);
        }
        reach[current].0 = f64::NAN;
        let nearest: Vec<(f64, usize)> = reach
            .par_chunks_mut(CHUNK)
            .enumerate()
            .map(|(chunk, reach)| {
                let mut best = (f64::INFINITY, usize::MAX);
                for (other, (least, from)) in (chunk * CHUNK..).zip(reach) {
                    if least.is_nan() {
                        continue;
                    }
                    let mutual = cores[current].max(cores[other]).max(distance(current, other) / alpha);
                    if mutual < *least {
                        (*least, *from) = (mutual, current);
                    }
                    if *least < best.0 {
                        best = (*least, other);
                    }
                }
                best
            })
            .collect();
        let best = nearest.into_iter().fold((f64::INFINITY, usize::MAX), |a, b| if b.0 < a.0 { b } else { a });
        if best.1 == usize::MAX {
            let message = "the distances are not finite numbers: the values are too large";
            return Err(Error::new(ErrorKind::Overflow, message).help("scale the features first"));
        }
        merges.push(Merge { left: reach[best.1].1, right: best.1, distance: best.0, size: 0 });
        current = best.1;
    }
    Ok(merges)
}

/// Replaces rows by the clusters that they belong to at that time, and counts the rows.
fn number(merges: &mut [Merge], rows: usize) {
    let mut parent: Vec<usize> = (0..2 * rows).collect();
    let mut sizes = vec![1usize; 2 * rows];
    let root = |parent: &mut Vec<usize>, mut node: usize| {
        while parent[node] != node {
            parent[node] = parent[parent[node]];
            node = parent[node];
        }
        node
    };
    for (at, merge) in merges.iter_mut().enumerate() {
        merge.left = root(&mut parent, merge.left);
        merge.right = root(&mut parent, merge.right);
        merge.size = sizes[merge.left] + sizes[merge.right];
        sizes[rows + at] = merge.size;
        parent[merge.left] = rows + at;
        parent[merge.right] = rows + at;
    }
}

/// The tree of the clusters that have enough rows.
struct CondensedTree {
    rows: usize,
    edges: Vec<Edge>,
    /// For each cluster its parent, the lambda of its birth, its size, its children and its stability.
    parents: Vec<usize>,
    births: Vec<f64>,
    sizes: Vec<usize>,
    children: Vec<Vec<usize>>,
    stabilities: Vec<f64>,
}

impl CondensedTree {
    fn new(merges: &[Merge], rows: usize, min_cluster_size: usize) -> Self {
        let mut tree = CondensedTree {
            rows,
            edges: Vec::new(),
            parents: vec![0],
            births: vec![0.0],
            sizes: vec![0],
            children: vec![Vec::new()],
            stabilities: Vec::new(),
        };
        let below = |node: usize| {
            let mut all = vec![node];
            let mut at = 0;
            while at < all.len() {
                if let Some(merge) = all[at].checked_sub(rows) {
                    all.extend([merges[merge].left, merges[merge].right]);
                }
                at += 1;
            }
            all
        };
        let size = |node: usize| node.checked_sub(rows).map_or(1, |merge| merges[merge].size);
        let root = rows + merges.len() - 1;
        let mut cluster = vec![0; root + 1];
        cluster[root] = rows;
        let mut gone = vec![false; root + 1];
        for node in below(root) {
            if gone[node] || node < rows {
                continue;
            }
            let Merge { left, right, distance, .. } = merges[node - rows];
            let lambda = if distance > 0.0 { 1.0 / distance } else { f64::INFINITY };
            let own = cluster[node];
            let is_split = [left, right].iter().all(|side| size(*side) >= min_cluster_size);
            for side in [left, right] {
                if is_split {
                    cluster[side] = tree.add_cluster(own, lambda, size(side));
                } else if size(side) >= min_cluster_size {
                    cluster[side] = own;
                } else {
                    for below in below(side) {
                        gone[below] = true;
                        if below < rows {
                            tree.edges.push(Edge { parent: own, child: below, lambda, size: 1 });
                        }
                    }
                }
            }
        }
        let mut stabilities = vec![0.0; tree.births.len()];
        for edge in &tree.edges {
            let parent = edge.parent - rows;
            stabilities[parent] += (edge.lambda - tree.births[parent]) * edge.size as f64;
        }
        tree.stabilities = stabilities;
        tree.sizes[0] = tree.children[0].iter().map(|child| tree.sizes[*child]).sum();
        tree
    }

    fn add_cluster(&mut self, parent: usize, lambda: f64, size: usize) -> usize {
        let number = self.births.len();
        self.edges.push(Edge { parent, child: self.rows + number, lambda, size });
        self.parents.push(parent - self.rows);
        self.births.push(lambda);
        self.sizes.push(size);
        self.children.push(Vec::new());
        self.children[parent - self.rows].push(number);
        self.rows + number
    }

    /// The clusters that are chosen, by their number without the rows: 0 is the root.
    fn selected(&self, params: &params::HDBSCAN) -> BTreeSet<usize> {
        let first = usize::from(!params.allow_single_cluster);
        let epsilon = params.cluster_selection_epsilon;
        let has_splits = self.births.len() > 1;
        let chosen: BTreeSet<usize> = match params.cluster_selection_method.as_str() {
            "leaf" => (1..self.births.len()).filter(|cluster| self.children[*cluster].is_empty()).collect(),
            _ => self.most_stable(first, params.max_cluster_size.unwrap_or(usize::MAX)),
        };
        if epsilon == 0.0 || !has_splits {
            return chosen.into_iter().filter(|cluster| *cluster >= first).collect();
        }
        if chosen.len() == 1 && chosen.contains(&0) {
            return chosen;
        }
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for cluster in chosen {
            if 1.0 / self.births[cluster] >= epsilon {
                found.insert(cluster);
            } else if !seen.contains(&cluster) {
                let above = self.above(cluster, epsilon, params.allow_single_cluster);
                found.insert(above);
                seen.extend(self.below(above).into_iter().skip(1));
            }
        }
        found.into_iter().filter(|cluster| *cluster >= first).collect()
    }

    /// Clusters that are more stable than their descendants together (excess of mass).
    fn most_stable(&self, first: usize, most: usize) -> BTreeSet<usize> {
        let mut stabilities = self.stabilities.clone();
        let mut chosen = vec![true; stabilities.len()];
        for cluster in (first..stabilities.len()).rev() {
            let of_children: f64 = self.children[cluster].iter().map(|child| stabilities[*child]).sum();
            if of_children > stabilities[cluster] || self.sizes[cluster] > most {
                chosen[cluster] = false;
                stabilities[cluster] = of_children;
            } else {
                self.below(cluster).into_iter().skip(1).for_each(|below| chosen[below] = false);
            }
        }
        (first..chosen.len()).filter(|cluster| chosen[*cluster]).collect()
    }

    /// A cluster and all below it.
    fn below(&self, cluster: usize) -> Vec<usize> {
        let mut all = vec![cluster];
        let mut at = 0;
        while at < all.len() {
            all.extend(&self.children[all[at]]);
            at += 1;
        }
        all
    }

    /// The first cluster above that is born at a distance above `epsilon`, or the last one below the root.
    fn above(&self, mut cluster: usize, epsilon: f64, allow_root: bool) -> usize {
        loop {
            let parent = self.parents[cluster];
            if parent == 0 {
                return if allow_root { parent } else { cluster };
            }
            if 1.0 / self.births[parent] > epsilon {
                return parent;
            }
            cluster = parent;
        }
    }

    /// The label of each row and how strongly it belongs to its cluster.
    fn labels(&self, clusters: &BTreeSet<usize>, params: &params::HDBSCAN) -> (Vec<f64>, Vec<f64>) {
        let numbers: Vec<usize> = clusters.iter().copied().collect();
        let number = |cluster: usize| numbers.binary_search(&cluster).ok();
        // The chosen cluster that each cluster lies in, or the root.
        let mut within: Vec<usize> = vec![0; self.births.len()];
        for cluster in 1..within.len() {
            within[cluster] = if clusters.contains(&cluster) { cluster } else { within[self.parents[cluster]] };
        }
        let of_root = self.edges.iter().filter(|edge| edge.parent == self.rows).map(|edge| edge.lambda);
        let threshold = match params.cluster_selection_epsilon {
            0.0 => of_root.fold(f64::NEG_INFINITY, f64::max),
            epsilon => 1.0 / epsilon,
        };
        let is_single = clusters.len() == 1 && params.allow_single_cluster;
        let deaths = self.deaths();
        let (mut labels, mut probabilities) = (vec![-1.0; self.rows], vec![0.0; self.rows]);
        for edge in self.edges.iter().filter(|edge| edge.child < self.rows) {
            let cluster = within[edge.parent - self.rows];
            let belongs = cluster != 0 || is_single && edge.lambda >= threshold;
            let Some(label) = number(cluster).filter(|_| belongs) else { continue };
            labels[edge.child] = label as f64;
            let death = deaths[cluster];
            let is_core = death == 0.0 || edge.lambda.is_infinite();
            probabilities[edge.child] = if is_core { 1.0 } else { edge.lambda.min(death) / death };
        }
        (labels, probabilities)
    }

    /// For each cluster the largest lambda of the last edges that follow each other, as in scikit-learn's
    /// `max_lambdas`.
    fn deaths(&self) -> Vec<f64> {
        let mut deaths = vec![0.0; self.births.len()];
        for run in self.edges.chunk_by(|a, b| a.parent == b.parent) {
            deaths[run[0].parent - self.rows] = run.iter().map(|edge| edge.lambda).fold(f64::NEG_INFINITY, f64::max);
        }
        deaths
    }
}

impl Model for Hdbscan {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        Vec::new()
    }

    fn apply(&self, _: &Data, _: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(Vec::new())
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "labels" => Some(labels(&self.labels.data)),
            "probabilities" => {
                let values = Values::Floats(self.probabilities.data.clone());
                Some(Attribute::Frame(vec![("probability".to_string(), values)]))
            }
            _ => None,
        }
    }

    fn rows(&self) -> Option<Vec<f64>> {
        Some(self.labels.data.clone())
    }

    fn notes(&self) -> Vec<String> {
        let noise = self.labels.data.iter().filter(|l| **l < 0.0).count();
        let clusters = self.labels.data.iter().copied().fold(-1.0, f64::max) as i64 + 1;
        vec![format!("{clusters} clusters; {noise} of {} rows are noise", self.labels.data.len())]
    }

    fn check(&self, _: usize, _: usize) -> Result<(), Error> {
        let (labels, probabilities) = (self.labels.data.len(), self.probabilities.data.len());
        if labels == probabilities {
            return Ok(());
        }
        Err(Error::new(ErrorKind::ModelFile, format!("{labels} labels and {probabilities} probabilities")))
    }

    fn bytes(&self) -> u64 {
        self.labels.bytes() + self.probabilities.bytes()
    }
}
