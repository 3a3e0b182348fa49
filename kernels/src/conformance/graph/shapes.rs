//! Graphs for cases: awkward sizes and shapes, and their rows on the host.

use crate::conformance::values::Random;
use crate::conformance::{Coverage, same};
use crate::error::Result;
use crate::graph::Csr;
use crate::library::Context;

/// Compressed sparse rows on the host, with weights of eighths.
#[derive(Clone, Debug)]
pub struct HostRows {
    pub offsets: Vec<u32>,
    pub targets: Vec<u32>,
    pub weights: Vec<f64>,
    pub edges: Vec<u32>,
}

impl HostRows {
    /// Rows of arcs from a node to a node, sorted by both and then by edge.
    pub fn of(nodes: usize, arcs: &[(u32, u32, u32, f64)]) -> HostRows {
        let mut arcs = arcs.to_vec();
        arcs.sort_by_key(|(source, target, edge, _)| (*source, *target, *edge));
        let mut offsets = vec![0; nodes + 1];
        arcs.iter().for_each(|(source, ..)| offsets[*source as usize + 1] += 1);
        (0..nodes).for_each(|v| offsets[v + 1] += offsets[v]);
        HostRows {
            offsets,
            targets: arcs.iter().map(|arc| arc.1).collect(),
            weights: arcs.iter().map(|arc| arc.3).collect(),
            edges: arcs.iter().map(|arc| arc.2).collect(),
        }
    }

    /// The rows of an undirected graph: each edge at both ends, a self-loop once.
    pub fn undirected(nodes: usize, ends: &[(u32, u32)]) -> HostRows {
        let mut arcs = Vec::new();
        for (edge, (u, v)) in (0..).zip(ends) {
            let weight = weight_of(edge);
            arcs.push((*u, *v, edge, weight));
            if u != v {
                arcs.push((*v, *u, edge, weight));
            }
        }
        HostRows::of(nodes, &arcs)
    }

    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn degree(&self, node: u32) -> u32 {
        self.offsets[node as usize + 1] - self.offsets[node as usize]
    }

    /// The other ends and weights of a row.
    pub fn row(&self, node: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let arcs = self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize;
        arcs.map(|arc| (self.targets[arc], self.weights[arc]))
    }

    pub fn transposed(&self) -> HostRows {
        let mut arcs = Vec::new();
        for u in 0..self.nodes() as u32 {
            for arc in self.offsets[u as usize] as usize..self.offsets[u as usize + 1] as usize {
                arcs.push((self.targets[arc], u, self.edges[arc], self.weights[arc]));
            }
        }
        HostRows::of(self.nodes(), &arcs)
    }

    pub fn upload(&self, context: &Context) -> Result<Csr> {
        Ok(Csr::new(
            (self.nodes() as u32, self.targets.len() as u32),
            context.upload(&self.offsets)?,
            context.upload(&self.targets)?,
            Some(context.upload(&self.weights)?),
            Some(context.upload(&self.edges)?),
        ))
    }

    pub fn read(context: &Context, csr: &Csr) -> Result<HostRows> {
        let (nodes, arcs, stream) = (csr.nodes as usize, csr.arcs as usize, &context.stream);
        let weights = csr.weights.as_ref().map_or(Ok(Vec::new()), |w| w.read(0..arcs, stream))?;
        let edges = csr.edges.as_ref().map_or(Ok(Vec::new()), |e| e.read(0..arcs, stream))?;
        let offsets = csr.offsets.read(0..nodes + 1, stream)?;
        Ok(HostRows { offsets, targets: csr.targets.read(0..arcs, stream)?, weights, edges })
    }

    pub fn same(&self, expected: &HostRows) -> std::result::Result<(), String> {
        same(&self.offsets, &expected.offsets)?;
        same(&self.targets, &expected.targets)?;
        same(&self.edges, &expected.edges)?;
        same(&self.weights, &expected.weights)
    }
}

/// 1/8 to 2, 0 of every 17th edge.
fn weight_of(edge: u32) -> f64 {
    if edge % 17 == 16 { 0.0 } else { f64::from(1 + edge.wrapping_mul(2_654_435_761) % 16) / 8.0 }
}

/// So many edges between random nodes, of which low numbers are more likely. Undirected.
pub fn random(nodes: usize, edges: usize, seed: u64) -> HostRows {
    let mut random = Random(seed);
    let mut end = || (random.below(nodes as u64).min(random.below(nodes as u64))) as u32;
    let ends: Vec<(u32, u32)> = (0..edges).map(|_| (end(), end())).collect();
    HostRows::undirected(nodes, &ends)
}

/// Undirected graphs by name: paths, stars, cliques, isolated nodes, and random ones with loops and parallel edges.
pub fn shapes(depth: Coverage) -> Vec<(String, HostRows)> {
    let mut all = Vec::new();
    let sizes: &[u32] = match depth {
        Coverage::Small => &[0, 1, 33, 130],
        Coverage::Full => &[0, 1, 31, 32, 33, 1025],
    };
    for n in sizes.iter().copied() {
        let path: Vec<(u32, u32)> = (1..n).map(|v| (v - 1, v)).collect();
        let star: Vec<(u32, u32)> = (1..n).map(|v| (0, v)).collect();
        all.push((format!("path of {n}"), HostRows::undirected(n as usize, &path)));
        all.push((format!("star of {n}"), HostRows::undirected(n as usize, &star)));
        all.push((format!("{n} isolated"), HostRows::undirected(n as usize, &[])));
    }
    if depth == Coverage::Full {
        // A row of a block. A path as long has as many levels, each a look at all nodes.
        let star: Vec<(u32, u32)> = (1..9000).map(|v| (0, v)).collect();
        all.push(("star of 9000".into(), HostRows::undirected(9000, &star)));
    }
    let clique = |from: u32| (from..from + 20).flat_map(move |u| (u + 1..from + 20).map(move |v| (u, v)));
    all.push(("two cliques".into(), HostRows::undirected(40, &clique(0).chain(clique(20)).collect::<Vec<_>>())));
    let sizes: &[(usize, usize)] = match depth {
        Coverage::Small => &[(60, 200), (200, 250)],
        Coverage::Full => &[(60, 200), (500, 700), (300, 6000), (20_000, 15_000), (30_000, 400_000)],
    };
    for (seed, (nodes, edges)) in (7..).zip(sizes) {
        all.push((format!("random {nodes} nodes, {edges} edges"), random(*nodes, *edges, seed)));
    }
    all
}
