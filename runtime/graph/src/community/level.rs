//! A graph whose nodes are communities of the graph before, with weights in fixed point.

use std::borrow::Cow;

use rayon::prelude::*;

use super::moving::FEW_ARCS;
use super::table::Table;
use crate::graph::Graph;
use crate::parallel;

/// Symmetric rows without meaning for self-loops: their weight is in `inside`.
pub(crate) struct Level<'a> {
    pub directed: bool,
    pub offsets: Cow<'a, [usize]>,
    /// Self-loops may occur, and are skipped.
    pub targets: Cow<'a, [u32]>,
    /// By arc. `None`: each arc weighs `unit`. Directed: arcs have the weight of an edge in the rows of both of its
    /// ends.
    pub weights: Option<Vec<u64>>,
    pub unit: u64,
    /// Weight of a node's edges, or of those that leave it.
    pub out: Vec<u64>,
    /// Weight of edges that enter a node. Empty if undirected.
    pub into: Vec<u64>,
    /// Weight of edges inside of a node, twice if undirected.
    pub inside: Vec<u64>,
    /// The sum of `out`.
    pub total: f64,
}

impl<'a> Level<'a> {
    /// `None` if the graph has no weight at all: no edges, or only such of weight 0.
    pub fn of(graph: &'a Graph) -> Option<Level<'a>> {
        let rows = graph.out_rows();
        let sides = if graph.is_directed() { 1.0 } else { 2.0 };
        let sum = match graph.out_weights() {
            Some(weights) => parallel::sum(weights.len(), |arc| weights[arc]),
            None => rows.targets.len() as f64,
        };
        if sum <= 0.0 {
            return None;
        }
        let scale = scale_of(sides * sum);
        let fixed = |weights: &[f64]| -> Vec<u64> {
            weights.par_iter().with_min_len(parallel::CHUNK).map(|w| (w * scale).round() as u64).collect()
        };
        let unit = scale as u64;
        let weights = graph.out_weights().map(fixed);
        let weight = |arc: usize| weights.as_ref().map_or(unit, |w| w[arc]);
        let loops = rows.each(|v| rows.arcs(v).filter(|arc| rows.targets[*arc] == v).map(weight).sum::<u64>());
        let mut out = rows.each(|v| match &weights {
            Some(weights) => weights[rows.arcs(v)].iter().sum::<u64>(),
            None => unit * rows.len(v) as u64,
        });
        let level = if graph.is_directed() {
            let into_rows = graph.in_rows();
            let into_weights = graph.in_weights().map(fixed);
            let into = into_rows.each(|v| match &into_weights {
                Some(weights) => weights[into_rows.arcs(v)].iter().sum::<u64>(),
                None => unit * into_rows.len(v) as u64,
            });
            let (mut offsets, mut targets, mut both) = (vec![0], Vec::new(), Vec::new());
            for v in 0..graph.nodes() as u32 {
                targets.extend_from_slice(rows.row(v));
                targets.extend_from_slice(into_rows.row(v));
                if let (Some(a), Some(b)) = (&weights, &into_weights) {
                    both.extend_from_slice(&a[rows.arcs(v)]);
                    both.extend_from_slice(&b[into_rows.arcs(v)]);
                }
                offsets.push(targets.len());
            }
            Level {
                directed: true,
                offsets: Cow::Owned(offsets),
                targets: Cow::Owned(targets),
                weights: weights.is_some().then_some(both),
                unit,
                out,
                into,
                inside: loops,
                total: 0.0,
            }
        } else {
            out.par_iter_mut().zip(&loops).for_each(|(out, loops)| *out += loops);
            Level {
                directed: false,
                offsets: Cow::Borrowed(&rows.offsets),
                targets: Cow::Borrowed(&rows.targets),
                weights,
                unit,
                out,
                into: Vec::new(),
                inside: loops.into_iter().map(|w| 2 * w).collect(),
                total: 0.0,
            }
        };
        let total = level.out.iter().sum::<u64>() as f64;
        (total > 0.0).then_some(Level { total, ..level })
    }

    pub fn nodes(&self) -> usize {
        self.out.len()
    }

    pub fn arcs(&self) -> usize {
        self.targets.len()
    }

    pub fn degree(&self, node: u32) -> usize {
        self.offsets[node as usize + 1] - self.offsets[node as usize]
    }

    pub fn row(&self, node: u32) -> &[u32] {
        &self.targets[self.offsets[node as usize]..self.offsets[node as usize + 1]]
    }

    /// Calls `visit` with the other end and the weight of each arc of a node but for self-loops.
    #[inline]
    pub fn visit(&self, node: u32, mut visit: impl FnMut(u32, u64)) {
        let arcs = self.offsets[node as usize]..self.offsets[node as usize + 1];
        let targets = &self.targets[arcs.clone()];
        match &self.weights {
            Some(weights) => {
                for (target, weight) in targets.iter().zip(&weights[arcs]) {
                    if *target != node {
                        visit(*target, *weight);
                    }
                }
            }
            None => {
                for target in targets {
                    if *target != node {
                        visit(*target, self.unit);
                    }
                }
            }
        }
    }

    /// The modularity if each node is a community (Newman 2004; directed: Leicht and Newman 2008).
    pub fn modularity(&self, resolution: f64) -> f64 {
        let into = if self.directed { &self.into } else { &self.out };
        let inside = self.inside.iter().sum::<u64>() as f64 / self.total;
        let expected = parallel::sum(self.nodes(), |v| self.out[v] as f64 / self.total * (into[v] as f64 / self.total));
        inside - resolution * expected
    }

    /// A node without arcs and without weight inside.
    fn is_isolated(&self, node: u32) -> bool {
        self.degree(node) == 0 && self.out[node as usize] == 0 && self.into.get(node as usize).is_none_or(|w| *w == 0)
    }

    /// A level whose nodes are the labels that occur, in ascending order, and the new number of each node:
    /// [`NO_COMMUNITY`] of one without arcs and weight, which takes no part any more. Labels are numbers of nodes. Rows
    /// of a small level ascend: where nodes move one by one, their order has a meaning.
    pub fn aggregate(&self, labels: &[u32]) -> (Level<'static>, Vec<u32>) {
        let n = self.nodes();
        let mut first = vec![0usize; n + 1];
        let takes_part: Vec<bool> = parallel::fill(n, |v| !self.is_isolated(v as u32));
        let members = || (0u32..).zip(labels).filter(|(v, _)| takes_part[*v as usize]);
        members().for_each(|(_, c)| first[*c as usize + 1] += 1);
        let mut rank = vec![0u32; n];
        let mut count = 0;
        let mut begins = Vec::new();
        for c in 0..n {
            if first[c + 1] > 0 {
                rank[c] = count;
                count += 1;
                begins.push(first[c]);
            }
            first[c + 1] += first[c];
        }
        begins.push(first[n]);
        let mut number = vec![NO_COMMUNITY; n];
        members().for_each(|(v, c)| number[v as usize] = rank[*c as usize]);
        let mut sorted = vec![0u32; first[n]];
        for (v, c) in members() {
            sorted[first[*c as usize]] = v;
            first[*c as usize] += 1;
        }
        let members = sorted;
        let count = count as usize;
        let arcs: Vec<usize> = (0..count)
            .into_par_iter()
            .map(|c| members[begins[c]..begins[c + 1]].iter().map(|v| self.degree(*v)).sum())
            .collect();
        let parts: Vec<Part> = ranges(&arcs)
            .into_par_iter()
            .map_init(Table::default, |table, range| {
                let mut part = Part::default();
                for c in range {
                    self.merge(
                        c as u32,
                        &members[begins[c]..begins[c + 1]],
                        arcs[c].min(count),
                        &number,
                        table,
                        &mut part,
                    );
                }
                part
            })
            .collect();
        let (mut offsets, mut targets, mut weights, mut inside) = (vec![0], Vec::new(), Vec::new(), Vec::new());
        let total: usize = parts.iter().map(|p| p.targets.len()).sum();
        targets.reserve(total);
        weights.reserve(total);
        for part in parts {
            targets.extend_from_slice(&part.targets);
            weights.extend_from_slice(&part.weights);
            inside.extend_from_slice(&part.inside);
            part.lengths.iter().for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
        }
        if total < FEW_ARCS {
            sort_rows(&offsets, &mut targets, &mut weights);
        }
        let sums = |values: &[u64]| -> Vec<u64> {
            if values.is_empty() {
                return Vec::new();
            }
            let sum = |c: usize| members[begins[c]..begins[c + 1]].iter().map(|v| values[*v as usize]).sum();
            (0..count).into_par_iter().map(sum).collect()
        };
        let level = Level {
            directed: self.directed,
            offsets: Cow::Owned(offsets),
            targets: Cow::Owned(targets),
            weights: Some(weights),
            unit: 0,
            out: sums(&self.out),
            into: sums(&self.into),
            inside,
            total: self.total,
        };
        (level, number)
    }

    /// Appends the row of community `c`.
    fn merge(&self, c: u32, members: &[u32], entries: usize, number: &[u32], table: &mut Table, part: &mut Part) {
        table.clear(entries);
        let (mut within, mut inside) = (0, 0);
        for v in members {
            inside += self.inside[*v as usize];
            self.visit(*v, |target, weight| match number[target as usize] {
                own if own == c => within += weight,
                other => table.add(other, weight),
            });
        }
        // Each edge was seen from both ends.
        part.inside.push(inside + if self.directed { within / 2 } else { within });
        part.lengths.push(table.len());
        for (target, weight) in table.iter() {
            part.targets.push(target);
            part.weights.push(weight);
        }
    }
}

/// The number of a node that takes no part in a level.
pub(crate) const NO_COMMUNITY: u32 = u32::MAX;

/// The power of two by which weights of this sum are multiplied: it keeps weights that have few bits exact.
pub(crate) fn scale_of(sum: f64) -> f64 {
    2f64.powi((60 - sum.log2().ceil() as i32).clamp(-1000, 1000))
}

fn sort_rows(offsets: &[usize], targets: &mut [u32], weights: &mut [u64]) {
    let mut arcs: Vec<(u32, u64)> = Vec::new();
    for row in offsets.windows(2).map(|w| w[0]..w[1]) {
        arcs.clear();
        arcs.extend(targets[row.clone()].iter().copied().zip(weights[row.clone()].iter().copied()));
        arcs.sort_unstable();
        arcs.iter().zip(row).for_each(|((target, weight), at)| (targets[at], weights[at]) = (*target, *weight));
    }
}

/// Rows of some communities.
#[derive(Default)]
struct Part {
    lengths: Vec<usize>,
    targets: Vec<u32>,
    weights: Vec<u64>,
    inside: Vec<u64>,
}

/// Ranges of about [`parallel::ARCS`] arcs.
fn ranges(arcs: &[usize]) -> Vec<std::ops::Range<usize>> {
    let (mut ranges, mut begin, mut sum) = (Vec::new(), 0, 0);
    for (c, arcs) in arcs.iter().enumerate() {
        sum += arcs + 1;
        if sum >= parallel::ARCS {
            ranges.push(begin..c + 1);
            (begin, sum) = (c + 1, 0);
        }
    }
    if begin < arcs.len() {
        ranges.push(begin..arcs.len());
    }
    ranges
}
