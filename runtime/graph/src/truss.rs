//! Trusses: edges that are in many triangles.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::Error;
use crate::graph::{Graph, Rows};
use crate::run::Run;
use crate::similarity::common;

const PRESENT: u8 = 0;
/// Leaves in this round.
const LEAVES: u8 = 1;
const GONE: u8 = 2;

/// The edges of the largest subgraph in which each edge is in `k - 2` triangles or more (Cohen 2005), ascending.
/// NetworkX: `k_truss`, whose graph has the ends of these edges as its nodes.
///
/// Self-loops are left out, and of parallel edges only the first stays. Edges with too few triangles leave in rounds
/// (Kabir and Madduri 2017). Takes O(edges^1.5) time to find the triangles, and
/// O(both rows) for each edge that leaves.
///
/// # Errors
/// If the graph is directed, or the user stops it.
pub fn k_truss(graph: &Graph, k: u32, run: &Run) -> Result<Vec<u32>, Error> {
    graph.check_undirected("k_truss")?;
    let simple = graph.simple();
    let rows = simple.out_rows();
    let truss = Truss::new(rows);
    let least = k.saturating_sub(2);
    run.stage(format!("k_truss: triangles of {} edges", truss.ends.len()));
    if least == 0 {
        let mut edges = truss.edges;
        edges.sort_unstable();
        return Ok(edges);
    }
    let triangles = truss.triangles(run)?;
    let mut leaving: Vec<u32> =
        (0..truss.ends.len() as u32).filter(|i| triangles[*i as usize].load(Relaxed) < least).collect();
    let mut round = 0;
    while !leaving.is_empty() {
        round += 1;
        run.stage(format!("k_truss: round {round}, {} edges leave", leaving.len()));
        leaving.par_iter().for_each(|i| truss.state[*i as usize].store(LEAVES, Relaxed));
        let chunk = |edges: &[u32]| {
            run.check(|| format!("{} rounds of k_truss", round - 1))?;
            let mut next = Vec::new();
            edges.iter().for_each(|i| truss.leave(*i, &triangles, least, &mut next));
            Ok(next)
        };
        let next = leaving.par_chunks(256).map(chunk).collect::<Result<Vec<Vec<u32>>, Error>>()?;
        leaving.par_iter().for_each(|i| truss.state[*i as usize].store(GONE, Relaxed));
        leaving = next.concat();
    }
    let stays = |i: &usize| truss.state[*i].load(Relaxed) == PRESENT;
    let mut edges: Vec<u32> = (0..truss.ends.len()).filter(stays).map(|i| truss.edges[i]).collect();
    edges.sort_unstable();
    Ok(edges)
}

/// Edges from lower to higher nodes, numbered in the order of rows.
struct Truss<'a> {
    rows: &'a Rows,
    ends: Vec<(u32, u32)>,
    edges: Vec<u32>,
    /// The number of each arc's edge.
    number: Vec<u32>,
    state: Vec<AtomicU8>,
}

impl<'a> Truss<'a> {
    fn new(rows: &'a Rows) -> Self {
        let mut number = vec![0; rows.targets.len()];
        let (mut ends, mut edges) = (Vec::new(), Vec::new());
        // Arcs to lower nodes come first in a row, and ascend as the rows that they come from do.
        let mut place: Vec<usize> = rows.offsets.clone();
        for u in 0..rows.nodes() as u32 {
            for arc in rows.arcs(u).filter(|arc| rows.targets[*arc] > u) {
                let v = rows.targets[arc];
                number[arc] = ends.len() as u32;
                number[place[v as usize]] = ends.len() as u32;
                place[v as usize] += 1;
                ends.push((u, v));
                edges.push(rows.edges[arc]);
            }
        }
        let state = ends.iter().map(|_| AtomicU8::new(PRESENT)).collect();
        Truss { rows, ends, edges, number, state }
    }

    /// The number of triangles of each edge. A triangle is found at its node of the lowest degree (Schank and Wagner
    /// 2005). Lists of nodes with higher degrees are short, also those of hubs.
    fn triangles(&self, run: &Run) -> Result<Vec<AtomicU32>, Error> {
        let rows = self.rows;
        let is_above = |u: u32, v: u32| (rows.len(u), u) < (rows.len(v), v);
        // Neighbours of higher degree, and the edges to them.
        let above: Vec<Vec<(u32, u32)>> = rows.each(|u| {
            let arcs = rows.arcs(u).filter(|arc| is_above(u, rows.targets[*arc]));
            arcs.map(|arc| (rows.targets[arc], self.number[arc])).collect()
        });
        let triangles: Vec<AtomicU32> = self.ends.iter().map(|_| AtomicU32::new(0)).collect();
        let add = |edge: u32, count: u32| triangles[edge as usize].fetch_add(count, Relaxed);
        let unmarked = || vec![u32::MAX; rows.nodes()];
        rows.ranges_of(1 << 12)
            .into_par_iter()
            .map_init(unmarked, |edge_to, range| {
                for u in range {
                    run.check(|| "some triangles of k_truss".into())?;
                    above[u].iter().for_each(|(w, edge)| edge_to[*w as usize] = *edge);
                    for (v, edge) in &above[u] {
                        let mut count = 0;
                        for (w, across) in &above[*v as usize] {
                            let other = edge_to[*w as usize];
                            if other != u32::MAX {
                                count += 1;
                                add(*across, 1);
                                add(other, 1);
                            }
                        }
                        add(*edge, count);
                    }
                    above[u].iter().for_each(|(w, _)| edge_to[*w as usize] = u32::MAX);
                }
                Ok(())
            })
            .collect::<Result<(), Error>>()?;
        Ok(triangles)
    }

    /// Takes a triangle from the other edges of each triangle of edge `i`, once where two of its edges leave in one
    /// round.
    fn leave(&self, i: u32, triangles: &[AtomicU32], least: u32, next: &mut Vec<u32>) {
        let (u, v) = self.ends[i as usize];
        let (first, second) = (self.rows.arcs(u).start, self.rows.arcs(v).start);
        let mut lessen = |edge: u32| {
            // Exactly one edge that leaves sees the count pass the limit.
            if triangles[edge as usize].fetch_sub(1, Relaxed) == least {
                next.push(edge);
            }
        };
        common(self.rows.row(u), self.rows.row(v), |a, b| {
            let (a, b) = (self.number[first + a], self.number[second + b]);
            match (self.state[a as usize].load(Relaxed), self.state[b as usize].load(Relaxed)) {
                (PRESENT, PRESENT) => {
                    lessen(a);
                    lessen(b);
                }
                (PRESENT, LEAVES) if i < b => lessen(a),
                (LEAVES, PRESENT) if i < a => lessen(b),
                _ => {}
            }
        });
    }
}
