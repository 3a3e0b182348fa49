//! Communities: nodes with more edges between them than between random nodes of their degrees.
//!
//! A partition is a number for each node: 0 is the largest community, ties go to the one with the lowest node.

mod labels;
pub(crate) mod level;
pub(crate) mod moving;
mod quality;
pub(crate) mod refine;
mod table;

use std::sync::atomic::Ordering::Relaxed;

use crate::error::Error;
use crate::graph::Graph;
use crate::run::Run;

pub use labels::{cdlp, label_propagation_communities};
pub use quality::{conductance, coverage, modularity, performance};

use level::{Level, NO_COMMUNITY};
use moving::{Communities, ModularitySearch};

/// How communities are searched. The defaults are NetworkX's.
#[derive(Clone, Debug)]
pub struct CommunityOptions {
    /// Above 1, communities get smaller; below 1, larger. Not negative.
    pub resolution: f64,
    /// The search ends after a level that adds no more than this to the modularity. [`leiden_communities`] has no use
    /// for it.
    pub threshold: f64,
    /// The most levels. `None`: until nothing is gained.
    pub max_level: Option<usize>,
    /// Other seeds visit the nodes in another order.
    pub seed: u64,
}

impl Default for CommunityOptions {
    fn default() -> Self {
        CommunityOptions { resolution: 1.0, threshold: 1e-7, max_level: None, seed: 0 }
    }
}

/// Communities of high modularity by the Louvain method (Blondel, Guillaume, Lambiotte and Lefebvre 2008). NetworkX:
/// `louvain_communities`.
///
/// Parallel edges add up, self-loops count for the degrees. Without edges, or if all weights are 0, each node is a
/// community.
///
/// Nodes move in classes that a hash gives; a class decides by one snapshot, and ties go to the community with the
/// lowest number. Weights are integers (fixed point of 61 bits), so that the result is the same on any number of
/// threads. NetworkX visits nodes one after another in a shuffled order: its communities differ, with about the same
/// modularity. Takes O(edges) time for each of some 15 sweeps.
///
/// # Errors
/// If a parameter is out of range, a weight is negative, or the user stops it.
pub fn louvain_communities(graph: &Graph, options: &CommunityOptions, run: &Run) -> Result<Vec<u32>, Error> {
    check(graph, options, "louvain_communities")?;
    let Some(level) = Level::of(graph) else { return Ok((0..graph.nodes() as u32).collect()) };
    best_of_starts(graph, &level, options, |start| {
        let pass = LouvainPass::first(level.modularity(options.resolution));
        let mut membership = louvain(&level, pass, start, options, run)?;
        number_isolated(&mut membership);
        Ok(membership)
    })
}

/// The pass of a search by levels.
#[derive(Clone, Copy)]
pub(crate) struct LouvainPass {
    pub number: usize,
    /// The modularity of the level's nodes as communities.
    pub quality: f64,
    pub tolerance: f64,
}

impl LouvainPass {
    pub fn first(quality: f64) -> LouvainPass {
        LouvainPass { number: 0, quality, tolerance: 1e-3 }
    }

    pub fn is_within(&self, options: &CommunityOptions) -> bool {
        options.max_level.is_none_or(|most| self.number < most)
    }

    pub fn search(&self, options: &CommunityOptions, start: u64) -> ModularitySearch {
        ModularitySearch::new("louvain_communities", options, self.tolerance, [start, self.number as u64])
    }

    pub fn stage(&self) -> String {
        format!("louvain_communities: level {}, modularity {:.5}", self.number + 1, self.quality)
    }

    /// The pass after one that found communities of this modularity. `None` if it was the last.
    pub fn next(&self, found: f64, options: &CommunityOptions) -> Option<LouvainPass> {
        let least = options.threshold.max(1e-6);
        // A coarse first pass leaves more to the next ones: only a pass with the final tolerance may end the search.
        let ends = found - self.quality <= options.threshold && self.tolerance <= least;
        let tolerance = (self.tolerance / 10.0).max(least);
        (!ends).then_some(LouvainPass { number: self.number + 1, quality: found, tolerance })
    }
}

/// The levels of Louvain from a pass on. A community for each node of the level; [`NO_COMMUNITY`] of isolated ones.
pub(crate) fn louvain(
    first: &Level<'_>,
    mut pass: LouvainPass,
    start: u64,
    options: &CommunityOptions,
    run: &Run,
) -> Result<Vec<u32>, Error> {
    let mut membership: Vec<u32> = (0..first.nodes() as u32).collect();
    let mut owned: Option<Level<'static>> = None;
    while pass.is_within(options) {
        let level = owned.as_ref().unwrap_or(first);
        run.stage(pass.stage());
        let communities = Communities::alone(level);
        if !pass.search(options, start).run(level, &communities, run)? {
            break;
        }
        let (next, number) = level.aggregate(&communities.labels());
        let found = next.modularity(options.resolution);
        if found < pass.quality {
            break;
        }
        follow(&mut membership, &number);
        owned = Some(next);
        let Some(after) = pass.next(found, options) else { break };
        pass = after;
    }
    Ok(membership)
}

/// Communities of one level become those of the next.
fn follow(membership: &mut [u32], number: &[u32]) {
    membership.iter_mut().filter(|c| **c != NO_COMMUNITY).for_each(|c| *c = number[*c as usize]);
}

/// Gives nodes that are alone communities of the highest numbers, which no other has.
fn number_isolated(membership: &mut [u32]) {
    let mut next = membership.len() as u32;
    for c in membership.iter_mut().filter(|c| **c == NO_COMMUNITY) {
        next -= 1;
        *c = next;
    }
}

/// The partition of the highest modularity from several orders of the nodes. There are up to eight orders if the graph
/// is small, and one if it has 2^15 arcs or more. The result of one order varies most if there are few nodes.
fn best_of_starts(
    graph: &Graph,
    level: &Level<'_>,
    options: &CommunityOptions,
    search: impl Fn(u64) -> Result<Vec<u32>, Error>,
) -> Result<Vec<u32>, Error> {
    let starts = (moving::FEW_ARCS / level.arcs().max(1)).clamp(1, 8);
    let mut best = search(0)?;
    if starts > 1 {
        let mut most = modularity(graph, &best, options.resolution)?;
        for start in 1..starts as u64 {
            let found = search(start)?;
            let quality = modularity(graph, &found, options.resolution)?;
            if quality > most {
                (best, most) = (found, quality);
            }
        }
    }
    Ok(by_size(&best))
}

/// Communities of high modularity, each of them connected, by the Leiden algorithm (Traag, Waltman and van Eck 2019).
/// NetworkX: `leiden_communities`, whose metric is modularity here.
///
/// Moves nodes as [`louvain_communities`] does, then refines: within each community nodes start alone and join
/// well-connected parts once, the one of the highest gain. Levels are made of parts, and start from the communities.
/// Two rounds, as in igraph. Takes some three times as long as [`louvain_communities`].
///
/// # Errors
/// If a parameter is out of range, a weight is negative, or the user stops it.
pub fn leiden_communities(graph: &Graph, options: &CommunityOptions, run: &Run) -> Result<Vec<u32>, Error> {
    check(graph, options, "leiden_communities")?;
    let Some(level) = Level::of(graph) else { return Ok((0..graph.nodes() as u32).collect()) };
    best_of_starts(graph, &level, options, |start| {
        let mut membership: Vec<u32> = (0..graph.nodes() as u32).collect();
        for round in 0..2 {
            let before = membership.clone();
            leiden_round(&level, &mut membership, [start, round], options, run)?;
            if membership == before {
                break;
            }
        }
        refine::split_apart(graph, &mut membership);
        Ok(membership)
    })
}

/// One round of all levels from `membership`, a community for each node of `first`. Communities are numbers of nodes.
fn leiden_round(
    first: &Level<'_>,
    membership: &mut [u32],
    order: [u64; 2],
    options: &CommunityOptions,
    run: &Run,
) -> Result<(), Error> {
    let (found, node) = leiden(first, membership.to_vec(), LeidenPass::first(order), options, run)?;
    membership.copy_from_slice(&found);
    lowest_names(membership, &node);
    Ok(())
}

/// The pass of a search by levels.
#[derive(Clone, Copy)]
pub(crate) struct LeidenPass {
    /// Numbers of the start and of the round.
    pub order: [u64; 2],
    pub number: usize,
    pub tolerance: f64,
}

impl LeidenPass {
    pub fn first(order: [u64; 2]) -> LeidenPass {
        LeidenPass { order, number: 0, tolerance: 1e-3 }
    }

    pub fn is_within(&self, options: &CommunityOptions) -> bool {
        options.max_level.is_none_or(|most| self.number < most)
    }

    pub fn search(&self, options: &CommunityOptions) -> ModularitySearch {
        let salt = [self.order[0], 1000 * (self.order[1] + 1) + self.number as u64];
        ModularitySearch::new("leiden_communities", options, self.tolerance, salt)
    }

    pub fn stage(&self, nodes: usize) -> String {
        format!("leiden_communities: round {}, level {}, {nodes} nodes", self.order[1] + 1, self.number + 1)
    }

    pub fn next(&self) -> LeidenPass {
        LeidenPass { number: self.number + 1, tolerance: (self.tolerance / 10.0).max(1e-6), ..*self }
    }
}

/// The levels of Leiden from a pass on, whose nodes begin in the communities `start`. A community for each node of the
/// level, and its node in the last level: [`NO_COMMUNITY`] of isolated ones, whose communities have no meaning.
pub(crate) fn leiden(
    first: &Level<'_>,
    mut start: Vec<u32>,
    mut pass: LeidenPass,
    options: &CommunityOptions,
    run: &Run,
) -> Result<(Vec<u32>, Vec<u32>), Error> {
    let mut membership = start.clone();
    let mut node: Vec<u32> = (0..membership.len() as u32).collect();
    let mut owned: Option<Level<'static>> = None;
    while pass.is_within(options) {
        let level = owned.as_ref().unwrap_or(first);
        run.stage(pass.stage(level.nodes()));
        let communities = Communities::new(level, &start);
        let search = pass.search(options);
        search.run(level, &communities, run)?;
        let labels = communities.labels();
        for (c, v) in membership.iter_mut().zip(&node).filter(|(_, v)| **v != NO_COMMUNITY) {
            *c = labels[*v as usize];
        }
        if communities.sizes.iter().all(|size| size.load(Relaxed) <= 1) {
            break;
        }
        let parts = refine::refine(level, &labels, &search, run)?;
        let (next, number) = level.aggregate(&parts);
        if next.nodes() == level.nodes() {
            break;
        }
        follow(&mut node, &number);
        // A community is named by the lowest of its parts.
        let mut name = vec![u32::MAX; level.nodes()];
        start = vec![0; next.nodes()];
        for (v, part) in number.iter().enumerate() {
            let name = &mut name[labels[v] as usize];
            *name = (*name).min(*part);
        }
        for (v, part) in number.iter().enumerate().filter(|(_, part)| **part != NO_COMMUNITY) {
            start[*part as usize] = name[labels[v] as usize];
        }
        owned = Some(next);
        pass = pass.next();
    }
    Ok((membership, node))
}

/// Names each community by its lowest node, and nodes without a `node` by themselves.
fn lowest_names(membership: &mut [u32], node: &[u32]) {
    let mut name = vec![u32::MAX; membership.len()];
    for ((v, c), node) in (0..).zip(membership.iter_mut()).zip(node) {
        *c = match *node {
            NO_COMMUNITY => v,
            _ => {
                let name = &mut name[*c as usize];
                *name = (*name).min(v);
                *name
            }
        };
    }
}

fn check(graph: &Graph, options: &CommunityOptions, name: &str) -> Result<(), Error> {
    check_options(options)?;
    graph.check_positive(name).map_err(|error| error.help(WITHOUT_NEGATIVE))
}

/// The help of the error of a negative weight.
pub(crate) const WITHOUT_NEGATIVE: &str = "leave edges with negative weights out";

pub(crate) fn check_options(options: &CommunityOptions) -> Result<(), Error> {
    if !options.resolution.is_finite() || options.resolution < 0.0 {
        let message = format!("the resolution is {}, expected a finite number from 0", options.resolution);
        return Err(Error::parameter(message).help("1 is modularity; larger values give smaller communities"));
    }
    if options.threshold.is_nan() || options.threshold < 0.0 {
        return Err(Error::parameter(format!("the threshold is {}, expected a number from 0", options.threshold)));
    }
    if options.max_level == Some(0) {
        return Err(Error::parameter("max_level is 0, expected at least 1").help("leave it out for as many as needed"));
    }
    Ok(())
}

/// Communities numbered from 0 in order of falling size, ties by their lowest node. Labels are below the number of
/// nodes.
fn by_size(labels: &[u32]) -> Vec<u32> {
    let mut sizes = vec![0u32; labels.len()];
    labels.iter().for_each(|c| sizes[*c as usize] += 1);
    let mut seen = vec![false; labels.len()];
    // In the order of their lowest nodes; the sort by size is stable.
    let mut order: Vec<u32> =
        labels.iter().copied().filter(|c| !std::mem::replace(&mut seen[*c as usize], true)).collect();
    order.sort_by_key(|c| std::cmp::Reverse(sizes[*c as usize]));
    let mut number = vec![0u32; labels.len()];
    order.iter().enumerate().for_each(|(i, c)| number[*c as usize] = i as u32);
    labels.iter().map(|c| number[*c as usize]).collect()
}
