//! DBSCAN (Ester, Kriegel, Sander and Xu, KDD 1996) by union-find over pairs of core samples. Labels are numbered as
//! in scikit-learn: clusters by their lowest core sample, and a border row belongs to the first cluster that reaches
//! it.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::labels;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::neighbors::search::{Index, Metric};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// Rows of a block: one thread searches their neighbours.
const BLOCK: usize = 48;

/// Blocks of a round at most. Their pairs are held at once.
const ROUND: usize = 32;

/// Pairs of a round about, 4 bytes each: a round has fewer blocks if the last one found many.
const HELD: usize = 1 << 26;

/// Up to this many pairs are kept in memory between the passes, 4 bytes each. With more of them the search is run
/// again.
const KEPT: usize = 1 << 27;

/// Clusters of the rows of a training.
#[derive(Serialize, Deserialize)]
pub struct Dbscan {
    /// The cluster of each row; -1 is noise.
    pub labels: Tensor,
    /// Rows that have enough neighbours, in order.
    pub core_sample_indices: Tensor,
    /// core samples x features.
    pub components: Tensor,
}

/// Trains `DBSCAN`.
///
/// # Errors
/// If there are too many rows.
pub fn fit(params: &params::DBSCAN, data: &Data, run: &Run<'_>) -> Result<Dbscan, Error> {
    if data.rows >= u32::MAX as usize {
        return Err(Error::new(ErrorKind::Size, format!("{} rows: DBSCAN takes at most {}", data.rows, u32::MAX - 1)));
    }
    let metric = Metric::of(&params.metric, params.p.unwrap_or(2.0));
    let points = data.row_major();
    let index = Index::new(metric, &points, data.width());
    let limit = metric.limit(params.eps);
    let mut pairs = Pairs { index, rows: data.rows, limit, kept: Some(Vec::new()), count: 0 };

    run.stage("neighbours");
    let mut weights: Vec<f64> = (0..data.rows).map(|row| data.weight_of(row)).collect();
    pairs.each(run, |a, b| {
        weights[a] += data.weight_of(b);
        weights[b] += data.weight_of(a);
    })?;
    let min_samples = params.min_samples as f64;
    let core: Vec<bool> = weights.iter().map(|w| *w >= min_samples).collect();

    run.stage("clusters");
    let mut forest = Forest { parent: (0..data.rows as u32).collect() };
    pairs.each(run, |a, b| {
        if core[a] && core[b] {
            forest.join(a as u32, b as u32);
        }
    })?;
    let mut numbers = vec![-1.0; data.rows];
    let mut next = 0.0;
    for row in (0..data.rows).filter(|row| core[*row]) {
        // The root of a cluster is its lowest core sample, which therefore comes first.
        let root = forest.root(row as u32) as usize;
        if root == row {
            numbers[row] = next;
            next += 1.0;
        } else {
            numbers[row] = numbers[root];
        }
    }

    run.stage("border rows");
    let mut border = vec![f64::INFINITY; data.rows];
    pairs.each(run, |a, b| {
        for (from, to) in [(a, b), (b, a)] {
            if core[from] && !core[to] {
                border[to] = border[to].min(numbers[from]);
            }
        }
    })?;
    numbers.iter_mut().zip(&border).filter(|(_, b)| b.is_finite()).for_each(|(n, b)| *n = *b);
    let indices: Vec<usize> = (0..data.rows).filter(|row| core[*row]).collect();
    let width = data.width();
    let components = indices.iter().flat_map(|row| points[row * width..(row + 1) * width].iter().copied()).collect();
    Ok(Dbscan {
        labels: Tensor::vector(numbers),
        components: Tensor::new(vec![indices.len(), width], components),
        core_sample_indices: Tensor::vector(indices.iter().map(|row| *row as f64).collect()),
    })
}

/// The pairs of rows within the distance.
struct Pairs {
    index: Index,
    rows: usize,
    limit: f64,
    /// For each row the later ones near it, after the first pass, unless there are too many.
    kept: Option<Vec<Vec<u32>>>,
    count: usize,
}

impl Pairs {
    /// Calls `then` for each pair with the lower row first, in a fixed order of the rounds.
    fn each(&mut self, run: &Run<'_>, mut then: impl FnMut(usize, usize)) -> Result<(), Error> {
        if let Some(kept) = self.kept.as_ref().filter(|kept| kept.len() == self.rows) {
            for (row, later) in kept.iter().enumerate() {
                if row % (BLOCK * ROUND) == 0 {
                    run.check(|| format!("{row} of {} rows", self.rows))?;
                }
                later.iter().for_each(|other| then(row, *other as usize));
            }
            return Ok(());
        }
        let (mut first, mut blocks) = (0, 2);
        while first < self.rows {
            (run.steps)(first as u64, self.rows as u64);
            let end = self.rows.min(first + BLOCK * blocks);
            let starts: Vec<usize> = (first..end).step_by(BLOCK).collect();
            let found: Vec<Vec<Vec<u32>>> = starts
                .into_par_iter()
                .map(|start| {
                    run.check(|| format!("{start} of {} rows", self.rows))?;
                    let queries = self.index.points(start..end.min(start + BLOCK));
                    let mut lists = self.index.within(queries, self.limit, start);
                    for (i, list) in lists.iter_mut().enumerate() {
                        list.retain(|row| *row as usize > start + i);
                        list.sort_unstable();
                        list.shrink_to_fit();
                    }
                    Ok(lists)
                })
                .collect::<Result<_, Error>>()?;
            let pairs: usize = found.iter().flatten().map(Vec::len).sum();
            blocks = (HELD * blocks / pairs.max(1)).clamp(1, ROUND.min(4 * blocks));
            for (row, later) in (first..).zip(found.into_iter().flatten()) {
                later.iter().for_each(|other| then(row, *other as usize));
                self.count += later.len();
                if self.count > KEPT {
                    self.kept = None;
                }
                if let Some(kept) = &mut self.kept {
                    kept.push(later);
                }
            }
            first = end;
        }
        Ok(())
    }
}

/// Union-find in which the root of a set is its lowest member.
struct Forest {
    parent: Vec<u32>,
}

impl Forest {
    fn root(&mut self, mut row: u32) -> u32 {
        while self.parent[row as usize] != row {
            // Path halving.
            let above = self.parent[self.parent[row as usize] as usize];
            self.parent[row as usize] = above;
            row = above;
        }
        row
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }
}

impl Model for Dbscan {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        Vec::new()
    }

    fn apply(&self, _: &Data, _: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(Vec::new())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "labels" => Some(labels(&self.labels.data)),
            "core_sample_indices" => {
                let rows = self.core_sample_indices.data.iter().map(|row| *row as i64).collect();
                Some(Attribute::Frame(vec![("row".to_string(), Values::Ints(rows))]))
            }
            "components" => Some(Attribute::by_row(None, features, &self.components.data)),
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

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let shape = &self.components.shape;
        if features > 0 && shape.len() == 2 && shape[1] == features && shape[0] == self.core_sample_indices.data.len() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::ModelFile, format!("core samples of the shape {shape:?} for {features} features")))
    }

    fn bytes(&self) -> u64 {
        self.labels.bytes() + self.components.bytes()
    }
}
