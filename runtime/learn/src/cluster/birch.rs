//! BIRCH (Zhang, Ramakrishnan and Livny 1996): a tree of small clusters, which are then clustered by Ward's linkage, as
//! in `sklearn/cluster/_birch.py`.

use onrush_wire::learn::Param;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{agglomerative, labels};
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::neighbors::tile;
use crate::params;
use crate::run::Run;
use crate::sums::dot;
use crate::tensor::Tensor;

/// Small clusters with their labels.
#[derive(Serialize, Deserialize)]
pub struct Birch {
    /// subclusters x features.
    pub centers: Tensor,
    /// The cluster of each subcluster.
    pub clusters: Tensor,
    /// The labels of the training rows. Empty if they were not asked for.
    pub labels: Tensor,
    pub notes: Vec<String>,
}

/// A cluster of some rows: their number, sum and sum of squares.
struct Subcluster {
    rows: f64,
    sum: Vec<f64>,
    squares: f64,
    center: Vec<f64>,
    norm: f64,
    /// The node below it.
    child: Option<usize>,
}

impl Subcluster {
    fn empty(width: usize, child: usize) -> Self {
        let zero = vec![0.0; width];
        Subcluster { rows: 0.0, sum: zero.clone(), squares: 0.0, center: zero, norm: 0.0, child: Some(child) }
    }

    fn of(row: &[f64]) -> Self {
        let square = dot(row, row);
        Subcluster { rows: 1.0, sum: row.to_vec(), squares: square, center: row.to_vec(), norm: square, child: None }
    }

    fn add(&mut self, other: &Subcluster) {
        self.rows += other.rows;
        self.sum.iter_mut().zip(&other.sum).for_each(|(a, b)| *a += b);
        self.squares += other.squares;
        self.center = self.sum.iter().map(|v| v / self.rows).collect();
        self.norm = dot(&self.center, &self.center);
    }

    /// Takes a row in, if the radius stays within the threshold.
    fn merges(&mut self, other: &Subcluster, threshold: f64) -> bool {
        let rows = self.rows + other.rows;
        let sum: Vec<f64> = self.sum.iter().zip(&other.sum).map(|(a, b)| a + b).collect();
        let squares = self.squares + other.squares;
        let center: Vec<f64> = sum.iter().map(|v| v * (1.0 / rows)).collect();
        let norm = dot(&center, &center);
        let fits = squares / rows - norm <= threshold * threshold;
        if fits {
            (self.rows, self.sum, self.squares, self.center, self.norm) = (rows, sum, squares, center, norm);
        }
        fits
    }
}

/// A node: its clusters, and for a leaf the next leaf.
struct Node {
    clusters: Vec<Subcluster>,
    is_leaf: bool,
    before: Option<usize>,
    next: Option<usize>,
}

struct Tree {
    nodes: Vec<Node>,
    root: usize,
    first: usize,
    threshold: f64,
    branching: usize,
    width: usize,
}

/// Trains `Birch`.
///
/// # Errors
/// If `n_clusters` is not a number, or there are too many small clusters. If the user stops the work.
pub fn fit(params: &params::Birch, data: &Data, run: &Run<'_>) -> Result<Birch, Error> {
    let wanted = match (&params.n_clusters, params::count(&params.n_clusters)) {
        (Param::None, _) => None,
        (_, Some(count)) if count > 0 => Some(count),
        (other, _) => {
            let message = format!("`n_clusters` is {other}: an integer from 1, or None");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    let width = data.width();
    let leaf = Node { clusters: Vec::new(), is_leaf: true, before: None, next: None };
    let (threshold, branching) = (params.threshold, params.branching_factor);
    let mut tree = Tree { nodes: vec![leaf], root: 0, first: 0, threshold, branching, width };
    for (row, values) in data.row_major().chunks_exact(width).enumerate() {
        if row % 1024 == 0 {
            run.check(|| format!("{row} of {} rows", data.rows))?;
            (run.steps)(row as u64, data.rows as u64);
        }
        tree.insert(values);
    }
    let centers = tree.centers();
    let count = centers.len() / width;
    let mut notes = vec![format!("{count} small clusters")];
    let clusters: Vec<f64> = match wanted {
        Some(wanted) if wanted <= count && count > 1 => {
            run.stage(format!("linkage of {count} small clusters"));
            let column = |j: usize| Column::number("", centers.iter().skip(j).step_by(width).copied().collect());
            let small = Data::new((0..width).map(column).collect());
            let ward = params::AgglomerativeClustering { n_clusters: wanted, ..Default::default() };
            agglomerative::fit(&ward, &small, run)?.labels.data
        }
        _ => (0..count).map(|k| k as f64).collect(),
    };
    if let Some(wanted) = wanted.filter(|wanted| *wanted > count) {
        notes.push(format!("`n_clusters` is {wanted}, and there are {count} small clusters: set `threshold` to less"));
    }
    let centers = Tensor::new(vec![count, width], centers);
    let mut model = Birch { centers, clusters: Tensor::vector(clusters), labels: Tensor::default(), notes };
    if params.compute_labels {
        model.labels = Tensor::vector(model.apply(data, &[0])?.remove(0));
    }
    Ok(model)
}

impl Tree {
    fn insert(&mut self, row: &[f64]) {
        if self.insert_into(self.root, &Subcluster::of(row)) {
            let (left, right) = self.split(self.root);
            let clusters = vec![left, right];
            self.root = self.nodes.len();
            self.nodes.push(Node { clusters, is_leaf: false, before: None, next: None });
        }
    }

    /// Takes a row into a node. True: the node has too many clusters now.
    fn insert_into(&mut self, node: usize, row: &Subcluster) -> bool {
        if self.nodes[node].clusters.is_empty() {
            self.nodes[node].clusters.push(Subcluster::of(&row.center));
            return false;
        }
        let near = |cluster: &Subcluster| cluster.norm - 2.0 * dot(&cluster.center, &row.center);
        let distances: Vec<f64> = self.nodes[node].clusters.iter().map(near).collect();
        let nearest = (0..distances.len()).fold(0, |a, b| if distances[b] < distances[a] { b } else { a });
        let Some(child) = self.nodes[node].clusters[nearest].child else {
            if self.nodes[node].clusters[nearest].merges(row, self.threshold) {
                return false;
            }
            self.nodes[node].clusters.push(Subcluster::of(&row.center));
            return self.nodes[node].clusters.len() > self.branching;
        };
        if !self.insert_into(child, row) {
            self.nodes[node].clusters[nearest].add(row);
            return false;
        }
        let (left, right) = self.split(child);
        self.nodes[node].clusters[nearest] = left;
        self.nodes[node].clusters.push(right);
        self.nodes[node].clusters.len() > self.branching
    }

    /// Splits a node by its two clusters that are farthest from each other.
    fn split(&mut self, node: usize) -> (Subcluster, Subcluster) {
        let Node { clusters, is_leaf, before, next } = &mut self.nodes[node];
        let (clusters, is_leaf, before, next) = (std::mem::take(clusters), *is_leaf, *before, *next);
        // The rounding of scikit-learn's sum, which is not symmetric, decides which of the two comes first.
        let product = |a: &Subcluster, b: &Subcluster| {
            a.center.iter().zip(&b.center).fold(0.0, |sum: f64, (x, y)| x.mul_add(*y, sum))
        };
        let distance = |a: &Subcluster, b: &Subcluster| (-2.0 * product(a, b) + a.norm) + b.norm;
        let (mut far, mut most) = ((0, 0), 0.0);
        for (i, a) in clusters.iter().enumerate() {
            for (j, b) in clusters.iter().enumerate().filter(|(j, _)| *j != i) {
                let distance = distance(a, b);
                if distance > most {
                    (far, most) = ((i, j), distance);
                }
            }
        }
        let to = |k: usize, end: usize| if k == end { 0.0 } else { distance(&clusters[end], &clusters[k]) };
        let is_left: Vec<bool> = (0..clusters.len()).map(|k| k == far.0 || to(k, far.0) < to(k, far.1)).collect();
        let (first, second) = (self.nodes.len(), self.nodes.len() + 1);
        let mut left = Node { clusters: Vec::new(), is_leaf, before, next: Some(second) };
        let mut right = Node { clusters: Vec::new(), is_leaf, before: Some(first), next };
        if is_leaf {
            match before {
                Some(before) => self.nodes[before].next = Some(first),
                None => self.first = first,
            }
            if let Some(next) = next {
                self.nodes[next].before = Some(second);
            }
        }
        let (mut a, mut b) = (Subcluster::empty(self.width, first), Subcluster::empty(self.width, second));
        for (cluster, is_left) in clusters.into_iter().zip(is_left) {
            if is_left {
                a.add(&cluster);
                left.clusters.push(cluster);
            } else {
                b.add(&cluster);
                right.clusters.push(cluster);
            }
        }
        self.nodes.extend([left, right]);
        (a, b)
    }

    /// The centres of the clusters of all leaves, in their order.
    fn centers(&self) -> Vec<f64> {
        let (mut out, mut leaf) = (Vec::new(), Some(self.first));
        while let Some(node) = leaf {
            self.nodes[node].clusters.iter().for_each(|cluster| out.extend_from_slice(&cluster.center));
            leaf = self.nodes[node].next;
        }
        out
    }
}

impl Model for Birch {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        let distances = (0..self.clusters.data.len()).map(|k| Role::Feature(format!("birch{k}"), Kind::Number));
        std::iter::once(Role::Label).chain(distances).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let rows = data.row_major();
        let width = data.width();
        let label = |row: &[f64]| {
            let distances = (0..self.clusters.data.len()).map(|k| (tile::distance(row, self.centers.row(k)), k));
            let nearest = distances.reduce(|a, b| if b.0 < a.0 { b } else { a });
            nearest.map_or(f64::NAN, |(_, k)| self.clusters.data[k])
        };
        let column = |k: &usize| match k.checked_sub(1) {
            None => rows.par_chunks(width).map(label).collect(),
            Some(k) => rows.par_chunks(width).map(|row| tile::distance(row, self.centers.row(k)).sqrt()).collect(),
        };
        Ok(wanted.iter().map(column).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "subcluster_centers" => Some(Attribute::by_row(None, features, &self.centers.data)),
            "subcluster_labels" => {
                let values = Values::Ints(self.clusters.data.iter().map(|v| *v as i64).collect());
                Some(Attribute::Frame(vec![("label".to_string(), values)]))
            }
            "labels" if !self.labels.data.is_empty() => Some(labels(&self.labels.data)),
            _ => None,
        }
    }

    fn rows(&self) -> Option<Vec<f64>> {
        (!self.labels.data.is_empty()).then(|| self.labels.data.clone())
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        match features > 0 && self.centers.shape == [self.clusters.data.len(), features] {
            true => Ok(()),
            false => {
                let message = format!("centres of the shape {:?} for {features} features", self.centers.shape);
                Err(Error::new(ErrorKind::ModelFile, message))
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.centers.bytes() + self.labels.bytes()
    }
}
