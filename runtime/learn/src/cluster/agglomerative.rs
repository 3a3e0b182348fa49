//! Agglomerative clustering by the chain of nearest neighbours (Müllner, 2011, arXiv:1109.2378) as in SciPy's
//! `linkage`, and single linkage by Prim's minimum spanning tree. Labels are numbered as in
//! `sklearn/cluster/_agglomerative.py`.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::labels;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::neighbors::search::{Index, Metric};
use crate::neighbors::tile;
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// Rows at most: all pairs of distances are held, 8 bytes each.
const MOST_ROWS: usize = 20_000;

/// Features from which the sums of distances are computed side by side. Below, they are in SciPy's order, which decides
/// ties.
const WIDE: usize = 16;

/// Clusters of the rows of a training.
#[derive(Serialize, Deserialize)]
pub struct Agglomerative {
    pub labels: Tensor,
    /// For each merge both clusters: rows come first, then the merges in their order.
    pub merges: Tensor,
    /// The distance of each merge.
    pub distances: Tensor,
    pub n_clusters: usize,
}

/// Two clusters that become one.
#[derive(Clone, Copy)]
struct Merge {
    left: usize,
    right: usize,
    distance: f64,
}

/// Trains `AgglomerativeClustering`.
///
/// # Errors
/// If there are too many rows or too few, or the distance does not fit the linkage.
pub fn fit(params: &params::AgglomerativeClustering, data: &Data, run: &Run<'_>) -> Result<Agglomerative, Error> {
    let (rows, metric) = (data.rows, Metric::of(&params.metric, 2.0));
    if params.linkage == "ward" && metric != Metric::Euclidean {
        let message = format!("`metric` is {:?}, and the linkage `ward` takes euclidean distances", params.metric);
        return Err(Error::new(ErrorKind::Parameter, message).help("set `linkage` to \"average\" or \"complete\""));
    }
    if rows > MOST_ROWS {
        let message = format!("{rows} rows: AgglomerativeClustering takes at most {MOST_ROWS}");
        return Err(Error::new(ErrorKind::Size, message).help("take a sample, or another clustering, such as KMeans"));
    }
    if rows < 2 {
        return Err(Error::new(ErrorKind::NoRows, "AgglomerativeClustering got 1 row: at least 2 rows are merged"));
    }
    run.stage("distances");
    let distances = pairwise(data, metric);
    run.check(|| "the distances".to_string())?;
    run.stage("merges");
    let is_single = params.linkage == "single";
    let mut merges = match is_single {
        true => spanning_tree(rows, &distances, run)?,
        false => chain(rows, distances, &params.linkage, run)?,
    };
    merges.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    // scikit-learn has its own single linkage, which leaves the clusters of a merge in the order of the tree.
    number(&mut merges, rows, !is_single || metric == Metric::Cosine);
    let n_clusters = match params.distance_threshold {
        Some(threshold) => merges.iter().filter(|merge| merge.distance >= threshold).count() + 1,
        None => params.n_clusters,
    };
    if n_clusters > rows {
        let message =
            format!("`n_clusters` is {n_clusters}, and there are {rows} rows: at least as many rows as clusters");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let pairs = merges.iter().flat_map(|merge| [merge.left as f64, merge.right as f64]).collect();
    Ok(Agglomerative {
        labels: Tensor::vector(cut(&merges, rows, n_clusters)),
        merges: Tensor::new(vec![merges.len(), 2], pairs),
        distances: Tensor::vector(merges.iter().map(|merge| merge.distance).collect()),
        n_clusters,
    })
}

/// The distances of all pairs: for each row those to the later ones.
struct CondensedDistances {
    rows: usize,
    values: Vec<f64>,
}

impl CondensedDistances {
    #[inline]
    fn place(&self, a: usize, b: usize) -> usize {
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        a * (2 * self.rows - a - 1) / 2 + b - a - 1
    }

    #[inline]
    fn at(&self, a: usize, b: usize) -> f64 {
        self.values[self.place(a, b)]
    }
}

fn pairwise(data: &Data, metric: Metric) -> CondensedDistances {
    let rows = data.rows;
    let (points, width) = match metric {
        // Compared as directions, which have one value more.
        Metric::Cosine => {
            let index = Index::new(metric, &data.row_major(), data.width());
            (index.points(0..rows).to_vec(), data.width() + 1)
        }
        _ => (data.row_major(), data.width()),
    };
    let row = |row: usize| &points[row * width..(row + 1) * width];
    let mut values = vec![0.0; rows * (rows - 1) / 2];
    let mut rest = values.as_mut_slice();
    let mut parts = Vec::with_capacity(rows);
    for a in 0..rows {
        let (part, after) = rest.split_at_mut(rows - 1 - a);
        parts.push(part);
        rest = after;
    }
    parts.into_par_iter().enumerate().for_each(|(a, part)| {
        for (b, out) in (a + 1..rows).zip(part) {
            *out = match metric {
                Metric::Euclidean if width >= WIDE => tile::distance(row(a), row(b)).sqrt(),
                _ => metric.finished(metric.reduced(row(a), row(b))),
            };
        }
    });
    CondensedDistances { rows, values }
}

/// How the distance of a merged cluster follows from those of its parts.
fn updated(linkage: &str) -> fn(f64, f64, f64, [f64; 3]) -> f64 {
    match linkage {
        "ward" => |x, y, between, [nx, ny, ni]| {
            let t = 1.0 / (nx + ny + ni);
            ((ni + nx) * t * x * x + (ni + ny) * t * y * y - ni * t * between * between).sqrt()
        },
        "average" => |x, y, _, [nx, ny, _]| (nx * x + ny * y) / (nx + ny),
        _ => |x, y, _, _| f64::max(x, y),
    }
}

/// Follows nearest neighbours until two clusters are nearest to each other, and merges them.
fn chain(rows: usize, mut distances: CondensedDistances, linkage: &str, run: &Run<'_>) -> Result<Vec<Merge>, Error> {
    let update = updated(linkage);
    let mut sizes = vec![1.0; rows];
    let mut path: Vec<usize> = Vec::new();
    let mut merges = Vec::with_capacity(rows - 1);
    while merges.len() + 1 < rows {
        if merges.len().is_multiple_of(64) {
            run.check(|| format!("{} of {} merges", merges.len(), rows - 1))?;
            (run.steps)(merges.len() as u64, rows as u64 - 1);
        }
        if path.is_empty() {
            path.extend((0..rows).find(|row| sizes[*row] > 0.0));
        }
        let (left, right, least) = loop {
            let x = path[path.len() - 1];
            // The cluster before is preferred on ties, so that the chain ends.
            let before = path.len().checked_sub(2).map(|at| path[at]);
            let (mut y, mut least) = match before {
                Some(before) => (before, distances.at(x, before)),
                None => (x, f64::INFINITY),
            };
            for other in (0..rows).filter(|other| sizes[*other] > 0.0 && *other != x) {
                let distance = distances.at(x, other);
                if distance < least {
                    (y, least) = (other, distance);
                }
            }
            if before == Some(y) {
                break (x.min(y), x.max(y), least);
            }
            if y == x {
                let message = "the distances are not finite numbers: the values are too large";
                return Err(Error::new(ErrorKind::Overflow, message).help("scale the features first"));
            }
            path.push(y);
        };
        path.truncate(path.len() - 2);
        let (nx, ny) = (sizes[left], sizes[right]);
        merges.push(Merge { left, right, distance: least });
        sizes[left] = 0.0;
        sizes[right] = nx + ny;
        for other in (0..rows).filter(|other| sizes[*other] > 0.0 && *other != right) {
            let place = distances.place(other, right);
            let sizes = [nx, ny, sizes[other]];
            distances.values[place] = update(distances.at(other, left), distances.values[place], least, sizes);
        }
    }
    Ok(merges)
}

/// The edges of the minimum spanning tree in the order in which Prim's algorithm finds them.
fn spanning_tree(rows: usize, distances: &CondensedDistances, run: &Run<'_>) -> Result<Vec<Merge>, Error> {
    let mut nearest = vec![f64::INFINITY; rows];
    let mut open: Vec<usize> = (1..rows).collect();
    let mut merges = Vec::with_capacity(rows - 1);
    let mut current = 0;
    while !open.is_empty() {
        if merges.len().is_multiple_of(64) {
            run.check(|| format!("{} of {} merges", merges.len(), rows - 1))?;
            (run.steps)(merges.len() as u64, rows as u64 - 1);
        }
        let mut best = (f64::INFINITY, open[0]);
        for other in &open {
            nearest[*other] = nearest[*other].min(distances.at(current, *other));
            if nearest[*other] < best.0 {
                best = (nearest[*other], *other);
            }
        }
        merges.push(Merge { left: current, right: best.1, distance: best.0 });
        open.retain(|other| *other != best.1);
        current = best.1;
    }
    Ok(merges)
}

/// Replaces rows by the clusters that they belong to at that time. `sorted`: the lower number comes first.
fn number(merges: &mut [Merge], rows: usize, sorted: bool) {
    let mut parent: Vec<usize> = (0..2 * rows).collect();
    let root = |parent: &mut Vec<usize>, mut node: usize| {
        while parent[node] != node {
            parent[node] = parent[parent[node]];
            node = parent[node];
        }
        node
    };
    for (at, merge) in merges.iter_mut().enumerate() {
        let (left, right) = (root(&mut parent, merge.left), root(&mut parent, merge.right));
        (merge.left, merge.right) = if sorted { (left.min(right), left.max(right)) } else { (left, right) };
        parent[left] = rows + at;
        parent[right] = rows + at;
    }
}

/// The labels of the rows if the last merges are undone: `_hc_cut` of scikit-learn, with Python's heap.
fn cut(merges: &[Merge], rows: usize, n_clusters: usize) -> Vec<f64> {
    // A heap with the highest number on top.
    let mut heap = vec![rows + merges.len() - 1];
    for _ in 1..n_clusters {
        let Merge { left, right, .. } = merges[heap[0] - rows];
        heap.push(left);
        rise(&mut heap);
        // `heappushpop`: the new number takes the place of the top, unless it is higher.
        if heap[0] > right {
            heap[0] = right;
            sink(&mut heap);
        }
    }
    let mut out = vec![0.0; rows];
    for (number, node) in heap.iter().enumerate() {
        let mut open = vec![*node];
        while let Some(node) = open.pop() {
            match node.checked_sub(rows) {
                None => out[node] = number as f64,
                Some(merge) => open.extend([merges[merge].left, merges[merge].right]),
            }
        }
    }
    out
}

/// `heapq._siftdown`: moves the last number up.
fn rise(heap: &mut [usize]) {
    let mut at = heap.len() - 1;
    while at > 0 && heap[at] > heap[(at - 1) / 2] {
        heap.swap(at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

/// `heapq._siftup`: moves the first number down to a leaf along the higher children, and up from there.
fn sink(heap: &mut [usize]) {
    let (number, mut at) = (heap[0], 0);
    while 2 * at + 1 < heap.len() {
        let (left, right) = (2 * at + 1, 2 * at + 2);
        let child = if right < heap.len() && heap[left] <= heap[right] { right } else { left };
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = number;
    while at > 0 && heap[at] > heap[(at - 1) / 2] {
        heap.swap(at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

impl Model for Agglomerative {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        Vec::new()
    }

    fn apply(&self, _: &Data, _: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(Vec::new())
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "labels" => Some(labels(&self.labels.data)),
            "merges" => {
                let column = |side: usize| {
                    Values::Ints(self.merges.data.iter().skip(side).step_by(2).map(|v| *v as i64).collect())
                };
                Some(Attribute::Frame(vec![
                    ("left".to_string(), column(0)),
                    ("right".to_string(), column(1)),
                    ("distance".to_string(), Values::Floats(self.distances.data.clone())),
                ]))
            }
            "n_clusters" => Some(Attribute::Int(self.n_clusters as i64)),
            _ => None,
        }
    }

    fn rows(&self) -> Option<Vec<f64>> {
        Some(self.labels.data.clone())
    }

    fn notes(&self) -> Vec<String> {
        vec![format!("{} clusters", self.n_clusters)]
    }

    fn check(&self, _: usize, _: usize) -> Result<(), Error> {
        let shape = &self.merges.shape;
        if shape.len() == 2 && shape[1] == 2 && shape[0] == self.distances.data.len() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::ModelFile, format!("merges of the shape {shape:?}")))
    }

    fn bytes(&self) -> u64 {
        self.labels.bytes() + self.merges.bytes() + self.distances.bytes()
    }
}
