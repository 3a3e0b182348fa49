//! Random walks: sequences of nodes along edges, as node2vec learns from.

use rayon::prelude::*;

use crate::error::Error;
use crate::graph::Graph;
use crate::random::Philox;
use crate::run::Run;

/// How walks go on.
#[derive(Clone, Debug)]
pub struct WalkOptions {
    /// The most edges of a walk.
    pub length: usize,
    /// Walks from each start.
    pub per_node: usize,
    /// Above 1, walks return to the node before less often. Positive.
    pub p: f64,
    /// Above 1, walks stay near the node before. Positive.
    pub q: f64,
    /// Edges are chosen in proportion to their weights.
    pub weighted: bool,
    pub seed: u64,
}

impl Default for WalkOptions {
    fn default() -> Self {
        WalkOptions { length: 10, per_node: 1, p: 1.0, q: 1.0, weighted: true, seed: 0 }
    }
}

/// Walks after one another. Walk `i` has the nodes `offsets[i]..offsets[i + 1]`, the start among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Walks {
    pub offsets: Vec<usize>,
    pub nodes: Vec<u32>,
}

/// The most nodes of all walks: 8 GB.
const MOST_NODES: usize = 1 << 31;

/// Attempts by rejection before the probabilities of all neighbours are added up.
const MOST_ATTEMPTS: usize = 64;

/// Walks between checks for cancellation.
const WALKS_BETWEEN_CHECKS: usize = 64;

/// Random walks from each of `starts`, `per_node` after one another (Grover and Leskovec 2016). A walk ends early at a
/// node without a way on.
///
/// Weights of neighbours are multiplied by 1 / p for the node before, 1 for its neighbours, and 1 / q for others. With
/// p and q of 1 the node before has no part in it. Neighbours are drawn by rejection (Yang et al. 2019), so that a step
/// takes O(log(row)) time. Walk `i` has its own random numbers (Philox): it is the same whatever the number of threads
/// and of other walks.
///
/// # Errors
/// If p or q is not positive, or a start is not a node. Also if a weight is negative and weights count, or the user
/// stops it.
pub fn random_walks(graph: &Graph, starts: &[u32], options: &WalkOptions, run: &Run) -> Result<Walks, Error> {
    for (name, value) in [("p", options.p), ("q", options.q)] {
        if !value.is_finite() || value <= 0.0 {
            return Err(Error::parameter(format!("{name} is {value}, expected a finite number above 0")));
        }
    }
    starts.iter().try_for_each(|start| graph.check_node(*start))?;
    let weights = if options.weighted { graph.out_weights() } else { None };
    if weights.is_some() {
        graph.check_positive("random_walks")?;
    }
    let rows = graph.out_rows();
    // Sums of the weights of a row up to each arc.
    let sums: Option<Vec<f64>> = weights.map(|weights| {
        let row = |v: u32| {
            let mut sum = 0.0;
            weights[rows.arcs(v)].iter().map(|w| (sum += w, sum).1).collect::<Vec<f64>>()
        };
        rows.each(row).into_iter().flatten().collect()
    });
    let walker = Walker { graph, sums: sums.as_deref(), options, random: Philox::new(options.seed) };
    let count = starts.len().saturating_mul(options.per_node);
    if count.saturating_mul(options.length.saturating_add(1)) > MOST_NODES {
        let (walks, length) = (count, options.length);
        let message = format!("{walks} walks of {length} edges: the result has at most {MOST_NODES} nodes");
        return Err(Error::parameter(message).help("reduce `length` or `per_node`, or name fewer starts"));
    }
    run.stage(format!("random_walks: {count} walks"));
    let chunk = |c: usize| {
        run.check(|| format!("{} of {count} walks", c * WALKS_BETWEEN_CHECKS))?;
        let (mut lengths, mut nodes) = (Vec::with_capacity(WALKS_BETWEEN_CHECKS), Vec::new());
        for walk in c * WALKS_BETWEEN_CHECKS..count.min((c + 1) * WALKS_BETWEEN_CHECKS) {
            let before = nodes.len();
            walker.walk(walk as u64, starts[walk / options.per_node], &mut nodes);
            lengths.push(nodes.len() - before);
        }
        Ok((lengths, nodes))
    };
    let chunks = (0..count.div_ceil(WALKS_BETWEEN_CHECKS)).into_par_iter().map(chunk);
    let chunks = chunks.collect::<Result<Vec<(Vec<usize>, Vec<u32>)>, Error>>()?;
    let mut walks = Walks { offsets: vec![0], nodes: Vec::with_capacity(chunks.iter().map(|c| c.1.len()).sum()) };
    for (lengths, nodes) in chunks {
        lengths.iter().for_each(|length| walks.offsets.push(walks.offsets[walks.offsets.len() - 1] + length));
        walks.nodes.extend_from_slice(&nodes);
    }
    Ok(walks)
}

struct Walker<'a> {
    graph: &'a Graph,
    sums: Option<&'a [f64]>,
    options: &'a WalkOptions,
    random: Philox,
}

impl Walker<'_> {
    fn walk(&self, walk: u64, start: u32, nodes: &mut Vec<u32>) {
        nodes.push(start);
        let (mut node, mut before, mut drawn) = (start, None, 0);
        for _ in 0..self.options.length {
            let Some(next) = self.step(node, before, walk, &mut drawn) else { break };
            before = Some(node);
            node = next;
            nodes.push(next);
        }
    }

    /// The next node. `drawn` is how many random numbers the walk has used.
    fn step(&self, node: u32, before: Option<u32>, walk: u64, drawn: &mut u64) -> Option<u32> {
        let WalkOptions { p, q, .. } = *self.options;
        let mut draw = || {
            *drawn += 1;
            self.random.uniform(walk, *drawn)
        };
        let rows = self.graph.out_rows();
        let before = before.filter(|_| p != 1.0 || q != 1.0);
        let Some(before) = before else { return self.neighbor(node, draw()[0]) };
        let bias = |next: u32| match next {
            next if next == before => 1.0 / p,
            next if rows.row(before).binary_search(&next).is_ok() => 1.0,
            _ => 1.0 / q,
        };
        let most = (1.0 / p).max(1.0 / q).max(1.0);
        for _ in 0..MOST_ATTEMPTS {
            let [chosen, accepted] = draw();
            let next = self.neighbor(node, chosen)?;
            if accepted * most < bias(next) {
                return Some(next);
            }
        }
        let arcs = rows.arcs(node);
        let weight = |arc: usize| match self.sums {
            Some(sums) if arc > arcs.start => sums[arc] - sums[arc - 1],
            Some(sums) => sums[arc],
            None => 1.0,
        };
        let biased = |arc: usize| weight(arc) * bias(rows.targets[arc]);
        let mut rest = draw()[0] * arcs.clone().map(biased).sum::<f64>();
        let mut last = None;
        for arc in arcs.clone().filter(|arc| weight(*arc) > 0.0) {
            last = Some(rows.targets[arc]);
            rest -= biased(arc);
            if rest < 0.0 {
                break;
            }
        }
        last
    }

    /// The neighbour at a share of the row's weight. `None` if there is no weight.
    fn neighbor(&self, node: u32, share: f64) -> Option<u32> {
        let row = self.graph.out_rows().row(node);
        match self.sums {
            None if row.is_empty() => None,
            None => Some(row[((share * row.len() as f64) as usize).min(row.len() - 1)]),
            Some(sums) => {
                let sums = &sums[self.graph.out_rows().arcs(node)];
                let total = *sums.last()?;
                if total <= 0.0 {
                    return None;
                }
                let at = (share * total).min(total.next_down());
                Some(row[sums.partition_point(|sum| *sum <= at)])
            }
        }
    }
}
