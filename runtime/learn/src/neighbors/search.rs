//! The search for neighbours: the nearest rows, or all rows within a radius. The result is exact, and on ties the
//! lower row comes first.
//!
//! Up to [`TREE`] features a kd-tree finds the rows. Above, blocks of queries are compared with all rows by dot
//! products. A pair whose distance is within the rounding error of the limit is computed again from its differences.

use std::sync::OnceLock;

use rayon::prelude::*;

use super::tile::{self, BLOCK, LANES, Panels};
use super::tree::KdTree;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::run::Run;
use crate::tensor::Tensor;

/// Up to this number of features a tree is faster than all pairs.
const TREE: usize = 15;

/// Queries that are searched together on one thread.
const QUERIES: usize = 48;

/// The distance between rows.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Metric {
    Euclidean,
    Manhattan,
    Chebyshev,
    /// The sum of powers of differences. The power is at least 1.
    Minkowski(f64),
    /// 1 - cosine of the angle. A row of zeros has the distance 1 from all others, and 0 from other rows of zeros.
    Cosine,
}

impl Metric {
    /// The distance that the parameters `metric` and `p` ask for.
    pub fn of(metric: &str, p: f64) -> Self {
        match metric {
            "manhattan" | "l1" | "cityblock" => Metric::Manhattan,
            "chebyshev" => Metric::Chebyshev,
            "cosine" => Metric::Cosine,
            "minkowski" if p == 1.0 => Metric::Manhattan,
            "minkowski" if p == f64::INFINITY => Metric::Chebyshev,
            "minkowski" if p != 2.0 => Metric::Minkowski(p),
            _ => Metric::Euclidean,
        }
    }

    /// A reduced distance plus the difference of another feature. Reduced distances (scikit-learn's `rdist`) are sums
    /// before the root is taken.
    #[inline(always)]
    pub fn add(self, sum: f64, difference: f64) -> f64 {
        match self {
            Metric::Euclidean | Metric::Cosine => sum + difference * difference,
            Metric::Manhattan => sum + difference,
            Metric::Chebyshev => sum.max(difference),
            Metric::Minkowski(p) => sum + difference.powf(p),
        }
    }

    /// The reduced distance of two rows, which are normalised for the cosine.
    #[inline(always)]
    pub fn reduced(self, a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).fold(0.0, |sum, (x, y)| self.add(sum, (x - y).abs()))
    }

    /// The distance of a reduced distance.
    pub fn finished(self, reduced: f64) -> f64 {
        match self {
            Metric::Euclidean => reduced.sqrt(),
            Metric::Manhattan | Metric::Chebyshev => reduced,
            Metric::Minkowski(p) => reduced.powf(1.0 / p),
            Metric::Cosine => reduced / 2.0,
        }
    }

    /// The largest reduced distance within a radius.
    pub fn limit(self, radius: f64) -> f64 {
        match self {
            Metric::Euclidean => radius * radius,
            Metric::Manhattan | Metric::Chebyshev => radius,
            Metric::Minkowski(p) => radius.powf(p),
            Metric::Cosine => 2.0 * radius,
        }
    }
}

/// Neighbours as parallel columns: query row, training row and distance, ordered by query, then distance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Neighbors {
    pub rows: Vec<usize>,
    pub neighbors: Vec<usize>,
    pub distances: Vec<f64>,
}

/// The kind of query: k nearest neighbours, or all within a radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NeighborSearch {
    /// This many nearest rows.
    Count(usize),
    /// All rows within this distance.
    Radius(f64),
}

/// Rows that can be searched.
pub struct Index {
    metric: Metric,
    /// Values of a row as it is compared: the cosine has one more than there are features.
    width: usize,
    /// The mean of each feature, which is subtracted for dot products: near the origin they lose fewer digits.
    shift: Vec<f64>,
    /// Row after row.
    points: Vec<f64>,
    /// The sum of squares of each row, for dot products.
    squares: Vec<f64>,
    /// The largest of `squares`.
    largest: f64,
    tree: Option<KdTree>,
    panels: Option<Panels>,
}

impl Index {
    /// Prepares a row-major matrix of `width` columns.
    pub fn new(metric: Metric, points: &[f64], width: usize) -> Self {
        let mut index = Index {
            metric,
            width,
            shift: vec![0.0; width],
            points: Vec::new(),
            squares: Vec::new(),
            largest: 0.0,
            tree: None,
            panels: None,
        };
        if metric == Metric::Cosine {
            index.width = width + 1;
        } else if width <= TREE {
            index.tree = Some(KdTree::new(points, width));
        } else if metric == Metric::Euclidean {
            let rows = (points.len() / width).max(1) as f64;
            for row in points.chunks_exact(width) {
                index.shift.iter_mut().zip(row).for_each(|(s, v)| *s += v);
            }
            index.shift.iter_mut().for_each(|s| *s /= rows);
        }
        index.points = index.prepared(points.to_vec());
        if index.tree.is_none() && matches!(metric, Metric::Euclidean | Metric::Cosine) {
            index.squares = index.points.par_chunks(index.width).map(tile::square).collect();
            index.largest = index.squares.iter().copied().fold(0.0, f64::max);
            let panels = Panels::new(&index.points, index.width);
            // The rows that fill up the last panel are far from everything.
            index.squares.resize(panels.count() * LANES, f64::INFINITY);
            index.panels = Some(panels);
        }
        index
    }

    pub fn rows(&self) -> usize {
        self.points.len() / self.width
    }

    /// Rows as they are compared with the points.
    pub fn prepared(&self, mut queries: Vec<f64>) -> Vec<f64> {
        match self.metric {
            Metric::Cosine => return queries.par_chunks(self.width - 1).flat_map_iter(direction).collect(),
            Metric::Euclidean if self.tree.is_none() => queries
                .par_chunks_mut(self.width)
                .for_each(|row| row.iter_mut().zip(&self.shift).for_each(|(v, s)| *v -= s)),
            _ => {}
        }
        queries
    }

    /// Some of the points as they are compared.
    pub fn points(&self, rows: std::ops::Range<usize>) -> &[f64] {
        &self.points[rows.start * self.width..rows.end * self.width]
    }

    /// Calls `then` with the neighbours of each query (row-major, as [`Index::prepared`] makes them): their distances
    /// and rows, by distance and then by row. Only a block of queries holds its neighbours at a time.
    ///
    /// # Errors
    /// Errors of `then`, and if the user stops the work.
    pub fn search<T: Send>(
        &self,
        queries: &[f64],
        search: NeighborSearch,
        run: &Run<'_>,
        then: impl Fn(Vec<(f64, u32)>) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let together = match search {
            NeighborSearch::Count(_) => QUERIES,
            // All rows may be within the radius: 16 bytes each.
            NeighborSearch::Radius(_) => ((1 << 25) / self.rows().max(1)).clamp(BLOCK, QUERIES),
        };
        let blocks: Vec<Vec<T>> = queries
            .par_chunks(together * self.width)
            .enumerate()
            .map(|(number, block)| {
                run.check(|| format!("{} of {} rows", number * together, queries.len() / self.width))?;
                let mut lists: Vec<Hits> =
                    block.chunks_exact(self.width).map(|_| Hits::new(self.metric, search)).collect();
                self.block(block, 0, &mut lists);
                lists.into_iter().map(|list| then(list.finished(self.metric))).collect()
            })
            .collect::<Result<_, Error>>()?;
        Ok(blocks.into_iter().flatten().collect())
    }

    /// The rows from `from` on that lie within a reduced distance of each query, in any order.
    pub fn within(&self, queries: &[f64], limit: f64, from: usize) -> Vec<Vec<u32>> {
        let all = || Hits { limit, kept: HitRule::Rows, heap: Vec::new(), rows: Vec::new() };
        let mut lists: Vec<Hits> = queries.chunks_exact(self.width).map(|_| all()).collect();
        self.block(queries, from, &mut lists);
        lists
            .into_iter()
            .map(|mut list| {
                list.rows.retain(|row| *row as usize >= from);
                list.rows
            })
            .collect()
    }

    fn block(&self, queries: &[f64], from: usize, lists: &mut [Hits]) {
        let arch = pulp::Arch::new();
        if let Some(tree) = &self.tree {
            for (query, list) in queries.chunks_exact(self.width).zip(lists) {
                arch.dispatch(InTree { tree, metric: self.metric, query, list });
            }
        } else if let Some(panels) = &self.panels {
            arch.dispatch(InPanels { index: self, panels, queries, from, lists });
        } else {
            for (row, point) in self.points.chunks_exact(self.width).enumerate().skip(from) {
                for (query, list) in queries.chunks_exact(self.width).zip(lists.iter_mut()) {
                    list.push(self.metric.reduced(query, point), row as u32);
                }
            }
        }
    }
}

/// Searches one query in a tree.
struct InTree<'a> {
    tree: &'a KdTree,
    metric: Metric,
    query: &'a [f64],
    list: &'a mut Hits,
}

impl pulp::NullaryFnOnce for InTree<'_> {
    type Output = ();

    // Inlined into the code for each set of instructions: a call would leave it.
    #[inline(always)]
    fn call(self) {
        self.tree.search(self.metric, self.query, self.list);
    }
}

/// Compares a block of queries with all rows by dot products.
struct InPanels<'a> {
    index: &'a Index,
    panels: &'a Panels,
    queries: &'a [f64],
    from: usize,
    lists: &'a mut [Hits],
}

impl pulp::NullaryFnOnce for InPanels<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let InPanels { index, panels, queries, from, lists } = self;
        let width = index.width;
        // A chunk of panels stays in the cache while all queries of the block pass over it.
        let chunk = (16_384 / (width * LANES)).clamp(1, 64);
        let squares: Vec<f64> = queries.chunks_exact(width).map(tile::square).collect();
        let relative = tile::relative_error(width);
        let query = |q: usize| &queries[q * width..(q + 1) * width];
        for start in (from / LANES..panels.count()).step_by(chunk) {
            let end = panels.count().min(start + chunk);
            for first in (0..lists.len()).step_by(BLOCK) {
                let count = BLOCK.min(lists.len() - first);
                let block: [&[f64]; BLOCK] = std::array::from_fn(|r| query(first + r.min(count - 1)));
                for panel in start..end {
                    let products = tile::products(&block, panels.panel(panel));
                    let (of_panel, _) = index.squares[panel * LANES..].as_chunks::<LANES>();
                    for (r, list) in lists[first..first + count].iter_mut().enumerate() {
                        let square = squares[first + r];
                        let bound = list.limit + relative * (square + index.largest) - square;
                        // Values that overflow give NaN, which counts as near.
                        let mut far = [true; LANES];
                        for lane in 0..LANES {
                            far[lane] = of_panel[0][lane] - 2.0 * products[r][lane] > bound;
                        }
                        if far != [true; LANES] {
                            index.look(query(first + r), panel, &far, list);
                        }
                    }
                }
            }
        }
    }
}

impl Index {
    /// Computes the exact distances to the rows of a panel that are not far.
    #[inline(never)]
    fn look(&self, query: &[f64], panel: usize, far: &[bool; LANES], list: &mut Hits) {
        let rows = self.rows();
        for lane in (0..LANES).filter(|lane| !far[*lane]) {
            let row = panel * LANES + lane;
            if row < rows {
                let point = &self.points[row * self.width..(row + 1) * self.width];
                list.push(self.metric.reduced(query, point), row as u32);
            }
        }
    }
}

/// A row divided by its length, and a 0. A row of zeros has no direction: it becomes zeros and a 1, which is at right
/// angles to all others.
fn direction(row: &[f64]) -> Vec<f64> {
    let largest = row.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    if largest == 0.0 {
        return row.iter().map(|_| 0.0).chain([1.0]).collect();
    }
    // By the largest value first: squares of huge values overflow.
    let mut out: Vec<f64> = row.iter().map(|v| v / largest).collect();
    let length = tile::square(&out).sqrt();
    out.iter_mut().for_each(|v| *v /= length);
    out.push(0.0);
    out
}

/// The hits of a query: a heap with the farthest one on top if their number is limited.
pub struct Hits {
    /// Reduced distances above it are of no interest.
    pub limit: f64,
    kept: HitRule,
    heap: Vec<(f64, u32)>,
    rows: Vec<u32>,
}

/// The hits that are kept.
#[derive(Clone, Copy)]
enum HitRule {
    /// This many nearest ones.
    Nearest(usize),
    /// All of them with their distances.
    All,
    /// The rows of all of them.
    Rows,
}

impl Hits {
    fn new(metric: Metric, search: NeighborSearch) -> Self {
        match search {
            NeighborSearch::Count(count) => {
                Hits { limit: f64::INFINITY, kept: HitRule::Nearest(count), heap: Vec::new(), rows: Vec::new() }
            }
            NeighborSearch::Radius(radius) => {
                Hits { limit: metric.limit(radius), kept: HitRule::All, heap: Vec::new(), rows: Vec::new() }
            }
        }
    }

    pub fn push(&mut self, distance: f64, row: u32) {
        // NaN comes from values whose squares overflow: as far away as can be.
        let distance = if distance.is_nan() { f64::INFINITY } else { distance };
        let after = |a: (f64, u32), b: (f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).is_gt();
        if distance > self.limit {
            return;
        }
        let count = match self.kept {
            HitRule::Nearest(count) => count,
            HitRule::All => return self.heap.push((distance, row)),
            HitRule::Rows => return self.rows.push(row),
        };
        if self.heap.len() < count {
            self.heap.push((distance, row));
            let mut at = self.heap.len() - 1;
            while at > 0 && after(self.heap[at], self.heap[(at - 1) / 2]) {
                self.heap.swap(at, (at - 1) / 2);
                at = (at - 1) / 2;
            }
        } else if after(self.heap[0], (distance, row)) {
            self.heap[0] = (distance, row);
            let mut at = 0;
            loop {
                let (left, right) = (2 * at + 1, 2 * at + 2);
                let mut top = at;
                for child in [left, right] {
                    if child < self.heap.len() && after(self.heap[child], self.heap[top]) {
                        top = child;
                    }
                }
                if top == at {
                    break;
                }
                self.heap.swap(at, top);
                at = top;
            }
        }
        if self.heap.len() == count {
            self.limit = self.heap[0].0;
        }
    }

    fn finished(mut self, metric: Metric) -> Vec<(f64, u32)> {
        self.heap.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.heap.iter_mut().for_each(|hit| hit.0 = metric.finished(hit.0));
        self.heap
    }
}

/// The rows of a training in a model. The index is made when it is used first: a file does not have it.
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Points {
    /// rows x features.
    pub points: Tensor,
    pub metric: Metric,
    #[serde(skip)]
    index: OnceLock<Index>,
}

impl Points {
    /// Keeps the rows of a training.
    ///
    /// # Errors
    /// If there are more rows than their numbers can count.
    pub fn new(metric: Metric, estimator: &str, data: &Data) -> Result<Self, Error> {
        if data.rows >= u32::MAX as usize {
            let message = format!("{} rows: {} takes at most {}", data.rows, estimator, u32::MAX - 1);
            return Err(Error::new(ErrorKind::Size, message));
        }
        let points = Tensor::new(vec![data.rows, data.width()], data.row_major());
        Ok(Points { points, metric, index: OnceLock::new() })
    }

    pub fn rows(&self) -> usize {
        self.points.shape[0]
    }

    /// [`Index::search`] for each row of `data`.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn search<T: Send>(
        &self,
        data: &Data,
        search: NeighborSearch,
        run: &Run<'_>,
        then: impl Fn(Vec<(f64, u32)>) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let index = match self.index.get() {
            Some(index) => index,
            None => {
                // Not inside the lock: a thread of rayon that waits there could take up a task that wants the lock.
                let made = Index::new(self.metric, &self.points.data, data.width());
                self.index.get_or_init(|| made)
            }
        };
        index.search(&index.prepared(data.row_major()), search, run, then)
    }

    /// As [`crate::model::Model::check`].
    ///
    /// # Errors
    /// If the shape does not fit, or the power of the distance is below 1.
    pub fn check(&self, features: usize) -> Result<(), Error> {
        let shape = &self.points.shape;
        if features == 0 || shape.len() != 2 || shape[1] != features || shape[0] == 0 || shape[0] >= u32::MAX as usize {
            return Err(Error::new(
                ErrorKind::ModelFile,
                format!("rows of the shape {shape:?} for {features} features"),
            ));
        }
        match self.metric {
            Metric::Minkowski(p) if p.is_nan() || p < 1.0 => {
                Err(Error::new(ErrorKind::ModelFile, format!("a distance with the power {p}")))
            }
            _ => Ok(()),
        }
    }
}
