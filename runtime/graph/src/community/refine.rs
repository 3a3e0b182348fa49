//! The refinement of Leiden: parts of communities that are connected.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::level::Level;
use super::moving::{Communities, FEW_ARCS, ModularitySearch, expected, strength};
use super::table::Table;
use crate::error::Error;
use crate::graph::Graph;
use crate::parallel;
use crate::run::Run;

/// Sweeps by classes: a node that found its best part in its own class looks again.
pub(crate) const SWEEPS: usize = 2;

/// Parts of the communities `labels`. A part is a number of a node, and its nodes are connected.
pub(super) fn refine(
    level: &Level<'_>,
    labels: &[u32],
    search: &ModularitySearch,
    run: &Run,
) -> Result<Vec<u32>, Error> {
    let whole = Communities::new(level, labels);
    let parts = Communities::alone(level);
    let cut = parallel::fill(level.nodes(), |v| {
        let mut sum = 0;
        level.visit(v as u32, |target, weight| sum += weight * u64::from(labels[target as usize] == labels[v]));
        AtomicU64::new(sum)
    });
    let refinement = Refinement { level, labels, whole, parts, cut, resolution: search.resolution };
    if level.arcs() < FEW_ARCS {
        let mut table = Table::default();
        for (i, v) in search.order(level).into_iter().enumerate() {
            if i % 1024 == 0 {
                run.check(|| format!("{i} nodes of a refinement"))?;
            }
            if let Some((to, change)) = refinement.best(v, &mut table, |_| false) {
                refinement.join(v, to, change);
            }
        }
        return Ok(refinement.parts.labels());
    }
    for sweep in SWEEPS_BEFORE..SWEEPS_BEFORE + SWEEPS {
        let alone = |v: u32| refinement.parts.label(v) == v && refinement.parts.size(v) == 1;
        for (class, list) in search.classes(level.nodes(), sweep, alone).iter().enumerate() {
            run.check(|| format!("class {class} of a refinement of {}", search.name))?;
            let moves: Vec<Option<(u32, u32, u64)>> = list
                .par_iter()
                .with_min_len(256)
                .map_init(Table::default, |table, v| {
                    let moves = |part: u32| search.class(sweep, part) == class as u64;
                    refinement.best(*v, table, moves).map(|(to, change)| (*v, to, change))
                })
                .collect();
            moves.par_iter().flatten().for_each(|(v, to, change)| refinement.join(*v, *to, *change));
        }
    }
    Ok(refinement.parts.labels())
}

/// Numbers of sweeps that moving does not use: other classes.
pub(crate) const SWEEPS_BEFORE: usize = 100;

struct Refinement<'a> {
    level: &'a Level<'a>,
    labels: &'a [u32],
    whole: Communities,
    /// A part is named by the node that began it, which never leaves it once another has joined.
    parts: Communities,
    /// Weight between a part and the rest of its community: at least, since nodes that join in one class do not see
    /// each other.
    cut: Vec<AtomicU64>,
    resolution: f64,
}

impl Refinement<'_> {
    /// The part that gains most if `node` is alone and well connected, and what it changes of the part's cut
    /// (wrapping). `is_moving` says whether the node that began a part may move in this class.
    fn best(&self, node: u32, table: &mut Table, is_moving: impl Fn(u32) -> bool) -> Option<(u32, u64)> {
        let level = self.level;
        let community = self.labels[node as usize];
        let cut = self.cut[node as usize].load(Relaxed);
        if self.parts.size(node) != 1 || self.parts.label(node) != node || cut == 0 {
            return None;
        }
        let own = strength(level, node);
        if !self.is_connected(community, own, cut) {
            return None;
        }
        table.clear(level.degree(node).min(level.nodes()));
        level.visit(node, |target, weight| {
            if self.labels[target as usize] == community {
                table.add(self.parts.label(target), weight);
            }
        });
        let (mut best, mut most) = (None, 0.0);
        for (part, weight) in table.iter().filter(|(part, weight)| *part != node && *weight > 0) {
            let sums = self.parts.strength(part);
            let score = weight as f64 - expected(level, self.resolution, own, sums);
            let better = match best {
                None => score >= 0.0,
                Some((best, _)) => score > most || (score == most && part < best),
            };
            if better
                && !(self.parts.size(part) == 1 && is_moving(part))
                && self.is_connected(community, sums, self.cut[part as usize].load(Relaxed))
            {
                (best, most) = (Some((part, cut.wrapping_sub(2 * weight))), score);
            }
        }
        best
    }

    /// Whether a part with these strengths has enough weight to the rest of its community.
    fn is_connected(&self, community: u32, part: (u64, u64), cut: u64) -> bool {
        let all = self.whole.strength(community);
        let rest = (all.0 - part.0, all.1 - part.1);
        cut as f64 >= expected(self.level, self.resolution, part, rest)
    }

    fn join(&self, node: u32, part: u32, change: u64) {
        self.parts.change(self.level, node, part);
        self.cut[part as usize].fetch_add(change, Relaxed);
    }
}

/// Splits communities into their connected parts, which are named by their lowest nodes. Edges of a digraph connect
/// both ways.
pub(super) fn split_apart(graph: &Graph, membership: &mut [u32]) {
    let mut found = vec![u32::MAX; membership.len()];
    let mut stack = Vec::new();
    for root in 0..membership.len() as u32 {
        if found[root as usize] != u32::MAX {
            continue;
        }
        found[root as usize] = root;
        stack.push(root);
        while let Some(v) = stack.pop() {
            let into: &[u32] = if graph.is_directed() { graph.in_rows().row(v) } else { &[] };
            for target in graph.out_rows().row(v).iter().chain(into) {
                let target = *target as usize;
                if found[target] == u32::MAX && membership[target] == membership[v as usize] {
                    found[target] = root;
                    stack.push(target as u32);
                }
            }
        }
    }
    membership.copy_from_slice(&found);
}
