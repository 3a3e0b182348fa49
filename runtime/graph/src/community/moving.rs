//! Moves nodes to the neighbouring community of the highest gain.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::CommunityOptions;
use super::level::Level;
use super::table::Table;
use crate::error::Error;
use crate::generate::hash;
use crate::parallel;
use crate::run::Run;

/// Levels with fewer arcs are searched node by node. A snapshot of a class of few nodes is too coarse, and threads have
/// too little to do.
pub(crate) const FEW_ARCS: usize = 1 << 16;

/// Classes of nodes that decide by one snapshot. On an R-MAT graph of 2.1 M edges, 8 lose 1 % of the modularity of 16.
pub(crate) const CLASSES: u64 = 16;

/// The most sweeps of a level, as in nu-Louvain (Sahu 2025).
pub(crate) const SWEEPS: usize = 20;

/// The communities of a level while nodes move. Communities are numbers of nodes.
pub(crate) struct Communities {
    label: Vec<AtomicU32>,
    /// Sums of the members' `out` and `into`.
    out: Vec<AtomicU64>,
    into: Vec<AtomicU64>,
    pub sizes: Vec<AtomicU32>,
}

/// How one level is searched.
pub(crate) struct ModularitySearch {
    pub name: &'static str,
    pub resolution: f64,
    /// Sweeps end when one gains less modularity.
    pub tolerance: f64,
    pub seed: u64,
}

impl Communities {
    /// Each node alone.
    pub fn alone(level: &Level<'_>) -> Self {
        Communities {
            label: (0..level.nodes() as u32).map(AtomicU32::new).collect(),
            out: level.out.iter().map(|w| AtomicU64::new(*w)).collect(),
            into: level.into.iter().map(|w| AtomicU64::new(*w)).collect(),
            sizes: level.out.iter().map(|_| AtomicU32::new(1)).collect(),
        }
    }

    pub fn new(level: &Level<'_>, labels: &[u32]) -> Self {
        let zeros = |n: usize| (0..n).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let communities = Communities {
            label: labels.iter().map(|c| AtomicU32::new(*c)).collect(),
            out: zeros(level.out.len()),
            into: zeros(level.into.len()),
            sizes: labels.iter().map(|_| AtomicU32::new(0)).collect(),
        };
        labels.iter().enumerate().for_each(|(v, c)| communities.join(level, v as u32, *c));
        communities
    }

    pub fn labels(&self) -> Vec<u32> {
        self.label.iter().map(|c| c.load(Relaxed)).collect()
    }

    #[inline]
    pub fn label(&self, node: u32) -> u32 {
        self.label[node as usize].load(Relaxed)
    }

    pub fn size(&self, community: u32) -> u32 {
        self.sizes[community as usize].load(Relaxed)
    }

    /// Weight of edges that leave and that enter the members.
    #[inline]
    pub fn strength(&self, community: u32) -> (u64, u64) {
        let of = |sums: &[AtomicU64]| sums.get(community as usize).map_or(0, |sum| sum.load(Relaxed));
        (of(&self.out), of(&self.into))
    }

    fn join(&self, level: &Level<'_>, node: u32, community: u32) {
        self.label[node as usize].store(community, Relaxed);
        self.sizes[community as usize].fetch_add(1, Relaxed);
        self.out[community as usize].fetch_add(level.out[node as usize], Relaxed);
        if level.directed {
            self.into[community as usize].fetch_add(level.into[node as usize], Relaxed);
        }
    }

    /// Sums are of integers, so that moves by several threads add up to the same.
    pub fn change(&self, level: &Level<'_>, node: u32, to: u32) {
        let from = self.label(node) as usize;
        self.sizes[from].fetch_sub(1, Relaxed);
        self.out[from].fetch_sub(level.out[node as usize], Relaxed);
        if level.directed {
            self.into[from].fetch_sub(level.into[node as usize], Relaxed);
        }
        self.join(level, node, to);
    }
}

/// Weight that is expected between two sets of nodes with these strengths, out and in.
#[inline]
pub(super) fn expected(level: &Level<'_>, resolution: f64, a: (u64, u64), b: (u64, u64)) -> f64 {
    let (a, b) = ((a.0 as f64, a.1 as f64), (b.0 as f64, b.1 as f64));
    let product = if level.directed { a.0 * b.1 + a.1 * b.0 } else { a.0 * b.0 };
    resolution * product / level.total
}

/// Strength of a node, out and in.
#[inline]
pub(super) fn strength(level: &Level<'_>, node: u32) -> (u64, u64) {
    (level.out[node as usize], level.into.get(node as usize).copied().unwrap_or(0))
}

impl ModularitySearch {
    /// `salt` keeps the orders of starts and of levels apart.
    pub fn new(name: &'static str, options: &CommunityOptions, tolerance: f64, salt: [u64; 2]) -> ModularitySearch {
        let seed = hash(hash(options.seed, salt[0]), salt[1]);
        ModularitySearch { name, resolution: options.resolution, tolerance, seed }
    }

    /// Moves nodes until little is gained. Whether one moved.
    pub fn run(&self, level: &Level<'_>, communities: &Communities, run: &Run) -> Result<bool, Error> {
        match level.arcs() < FEW_ARCS {
            true => self.one_by_one(level, communities, run),
            false => self.by_classes(level, communities, run),
        }
    }

    /// The nodes of a level that have arcs, in the order of a hash.
    pub fn order(&self, level: &Level<'_>) -> Vec<u32> {
        let nodes = (0..level.nodes() as u32).filter(|v| level.degree(*v) > 0);
        let mut order: Vec<(u64, u32)> = nodes.map(|v| (hash(self.seed, u64::from(v)), v)).collect();
        order.par_sort_unstable();
        order.into_iter().map(|(_, v)| v).collect()
    }

    /// The class of a node in a sweep.
    #[inline]
    pub fn class(&self, sweep: usize, node: u32) -> u64 {
        hash(self.seed, (sweep as u64) << 32 | u64::from(node)) % CLASSES
    }

    /// The nodes with `is_in` by class, ascending.
    pub fn classes(&self, nodes: usize, sweep: usize, is_in: impl Fn(u32) -> bool + Sync) -> Vec<Vec<u32>> {
        let chunk = |c: usize| {
            let mut lists = vec![Vec::new(); CLASSES as usize];
            for v in c * parallel::ARCS..nodes.min((c + 1) * parallel::ARCS) {
                if is_in(v as u32) {
                    lists[self.class(sweep, v as u32) as usize].push(v as u32);
                }
            }
            lists
        };
        let chunks: Vec<Vec<Vec<u32>>> = (0..nodes.div_ceil(parallel::ARCS)).into_par_iter().map(chunk).collect();
        let list = |class: usize| chunks.iter().flat_map(|lists| lists[class].iter().copied()).collect();
        (0..CLASSES as usize).map(list).collect()
    }

    /// A queue, as in the fast local moving of Leiden: a node that moved puts its neighbours in other communities at
    /// the end.
    fn one_by_one(&self, level: &Level<'_>, communities: &Communities, run: &Run) -> Result<bool, Error> {
        let mut queue: VecDeque<u32> = self.order(level).into();
        let mut waits = vec![true; level.nodes()];
        let (mut table, mut moved, mut looked) = (Table::default(), false, 0usize);
        while let Some(v) = queue.pop_front() {
            waits[v as usize] = false;
            looked += 1;
            if looked % 1024 == 0 {
                run.check(|| format!("{looked} nodes of a level"))?;
            }
            let Some((to, _)) = self.best(level, communities, v, &mut table, |_| true) else { continue };
            communities.change(level, v, to);
            moved = true;
            for target in level.row(v) {
                if communities.label(*target) != to && !std::mem::replace(&mut waits[*target as usize], true) {
                    queue.push_back(*target);
                }
            }
        }
        Ok(moved)
    }

    /// Classes of nodes by hash: all of a class decide by one snapshot, then all move. A sweep takes the nodes that
    /// moves nearby have marked.
    fn by_classes(&self, level: &Level<'_>, communities: &Communities, run: &Run) -> Result<bool, Error> {
        let marked: Vec<AtomicBool> = (0..level.nodes()).map(|_| AtomicBool::new(true)).collect();
        let mut moved = false;
        for sweep in 0..SWEEPS {
            let lists = self.classes(level.nodes(), sweep, |v| marked[v as usize].swap(false, Relaxed));
            // In units of fixed point, so that the sum is the same in any order.
            let mut gained = 0u64;
            let unit = 1.0 + self.resolution;
            for (class, list) in lists.iter().enumerate() {
                run.check(|| format!("{sweep} sweeps of a level of {}", self.name))?;
                // Two nodes of a class, each alone, must not change places.
                let free = |own: u32, other: u32| {
                    communities.size(own) > 1
                        || communities.size(other) > 1
                        || other < own
                        || self.class(sweep, other) != class as u64
                };
                let decide = |table: &mut Table, nodes: &[u32]| {
                    let mut moves = Vec::new();
                    for v in nodes {
                        if (run.is_stopped)() {
                            break;
                        }
                        let own = communities.label(*v);
                        if let Some((to, gain)) = self.best(level, communities, *v, table, |c| free(own, c)) {
                            moves.push((*v, to, gain));
                        }
                    }
                    moves
                };
                let moves: Vec<Vec<(u32, u32, f64)>> = list.par_chunks(512).map_init(Table::default, decide).collect();
                // A stop leaves decisions out: they must not become a result.
                run.check(|| format!("{sweep} sweeps of a level of {}", self.name))?;
                moves.par_iter().flatten().for_each(|(v, to, _)| communities.change(level, *v, *to));
                moves.par_iter().flatten().for_each(|(v, to, _)| {
                    for target in level.row(*v) {
                        if communities.label(*target) != *to {
                            marked[*target as usize].store(true, Relaxed);
                        }
                    }
                });
                gained += moves.iter().flatten().map(|(_, _, gain)| (gain / unit) as u64).sum::<u64>();
                moved |= moves.iter().any(|moves| !moves.is_empty());
            }
            if self.is_little(gained, level.directed, level.total) {
                break;
            }
        }
        Ok(moved)
    }

    /// Whether a sweep gained so little that it is the last: `gained` is weight over 1 + resolution.
    pub fn is_little(&self, gained: u64, directed: bool, total: f64) -> bool {
        let sides = if directed { 1.0 } else { 2.0 };
        sides * (gained as f64 * (1.0 + self.resolution)) / total < self.tolerance
    }

    /// The neighbouring community that gains most over staying, and how much weight is gained. `None` if staying is
    /// best.
    #[inline]
    fn best(
        &self,
        level: &Level<'_>,
        communities: &Communities,
        node: u32,
        table: &mut Table,
        allowed: impl Fn(u32) -> bool,
    ) -> Option<(u32, f64)> {
        let degree = level.degree(node);
        if degree == 0 {
            return None;
        }
        table.clear(degree.min(level.nodes()));
        level.visit(node, |target, weight| table.add(communities.label(target), weight));
        let own = communities.label(node);
        let strength = strength(level, node);
        let rest = communities.strength(own);
        let rest = (rest.0 - strength.0, rest.1 - strength.1);
        let stays = table.get(own) as f64 - expected(level, self.resolution, strength, rest);
        // Below this, a difference is a matter of rounding.
        let least = 1e-12 * (strength.0 + strength.1) as f64 * (1.0 + self.resolution);
        let mut best = None;
        let mut most = stays + least;
        for (community, weight) in table.iter().filter(|(c, _)| *c != own) {
            let score = weight as f64 - expected(level, self.resolution, strength, communities.strength(community));
            let better = score > most || (score == most && best.is_some_and(|best| community < best));
            if better && allowed(community) {
                (best, most) = (Some(community), score);
            }
        }
        best.map(|community| (community, most - stays))
    }
}
