//! Betweenness: how many shortest paths lead through a node or an edge.

mod brandes;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::{Error, ErrorKind};
use crate::generate::hash;
use crate::graph::{Graph, Rows, check_node};
use crate::run::Run;

use brandes::PathSearch;

/// The nodes from which paths are counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Sources {
    #[default]
    All,
    /// `k` different nodes, the same for each seed. NetworkX: `k`, whose nodes are others.
    Sample { k: usize, seed: u64 },
    /// These nodes, each once.
    Nodes(Vec<u32>),
}

/// Paths that are counted, and the scale of the result. The defaults are NetworkX's.
#[derive(Clone, Debug)]
pub struct BetweennessOptions {
    pub sources: Sources,
    /// Divides by the number of pairs of nodes.
    pub normalized: bool,
    /// A path counts for its ends too. Has no meaning for edges.
    pub endpoints: bool,
    /// Paths are short by the sum of weights. Without weights in the graph, by edges.
    pub weighted: bool,
}

impl Default for BetweennessOptions {
    fn default() -> Self {
        BetweennessOptions { sources: Sources::All, normalized: true, endpoints: false, weighted: false }
    }
}

/// The most numbers that groups of sources add up to, before groups become larger: 256 MB.
const MOST_SUMS: usize = 1 << 25;

/// The share of shortest paths between pairs of other nodes that lead through each node (Brandes 2001). NetworkX:
/// `betweenness_centrality`.
///
/// Parallel edges are one way, the lightest, and self-loops none. Numbers of paths are f64. Sources are searched in
/// groups whose number does not depend on threads, and the sums of groups are added in order. Takes O(sources * edges)
/// time, with weights O(sources * edges log nodes).
///
/// # Errors
/// If a weight is not above 0 where weights count, a source is not a node, or the user stops it.
pub fn betweenness_centrality(graph: &Graph, options: &BetweennessOptions, run: &Run) -> Result<Vec<f64>, Error> {
    let n = graph.nodes();
    let sources = sources(n, &options.sources)?;
    let paths = Paths::of(graph, options.weighted, "betweenness_centrality")?;
    let count = |search: &mut PathSearch<'_>, source: u32, sums: &mut [f64]| {
        search.accumulate(|_, _| {});
        let reached = search.reached();
        for v in reached.iter().filter(|v| **v != source) {
            sums[*v as usize] += search.delta(*v) + f64::from(u8::from(options.endpoints));
        }
        if options.endpoints {
            sums[source as usize] += reached.len() as f64 - 1.0;
        }
    };
    let mut sums = paths.sums("betweenness_centrality", &sources, n, count, run)?;
    Scale::of(n, &sources, graph.is_directed(), options).apply(&mut sums, &sources);
    Ok(sums)
}

/// The share of shortest paths that lead over each edge (Brandes 2008), by number of edge. NetworkX:
/// `edge_betweenness_centrality`.
///
/// Parallel edges share the value of their pair if they are as light as the lightest; others and self-loops have 0.
/// `endpoints` has no meaning. Time and order of sums are those of [`betweenness_centrality`].
///
/// # Errors
/// If a weight is not above 0 where weights count, a source is not a node, or the user stops it.
pub fn edge_betweenness_centrality(graph: &Graph, options: &BetweennessOptions, run: &Run) -> Result<Vec<f64>, Error> {
    let sources = sources(graph.nodes(), &options.sources)?;
    let paths = Paths::of(graph, options.weighted, "edge_betweenness_centrality")?;
    let edges = &paths.simple.out_rows().edges;
    let count = |search: &mut PathSearch<'_>, _: u32, sums: &mut [f64]| {
        search.accumulate(|arc, paths| sums[edges[arc] as usize] += paths);
    };
    // A graph of `Graph::simple` has larger numbers of edges than edges.
    let len = graph.out_rows().edges.par_iter().max().map_or(0, |last| *last as usize + 1).max(graph.edges());
    let mut sums = paths.sums("edge_betweenness_centrality", &sources, len, count, run)?;
    let n = graph.nodes();
    let k = (sources.len() < n).then_some(sources.len());
    let scale = Scale { n, k, directed: graph.is_directed(), normalized: options.normalized, ends: true };
    let factor = scale.factors().1;
    sums.iter_mut().for_each(|b| *b *= factor);
    share(graph, paths.weights.is_some(), &mut sums);
    Ok(sums)
}

/// The sources that are asked for, of so many nodes.
pub(crate) fn sources(n: usize, sources: &Sources) -> Result<Vec<u32>, Error> {
    match sources {
        Sources::All => Ok((0..n as u32).collect()),
        Sources::Sample { k, seed } => {
            if *k > n {
                let message = format!("k is {k}, expected at most the {n} nodes of the graph");
                return Err(Error::parameter(message).help("leave k out to count the paths from all nodes"));
            }
            let mut order: Vec<(u64, u32)> = (0..n as u32).map(|v| (hash(*seed, u64::from(v)), v)).collect();
            order.par_sort_unstable();
            Ok(order.into_iter().take(*k).map(|(_, v)| v).collect())
        }
        Sources::Nodes(nodes) => {
            let mut seen = std::collections::HashSet::new();
            for node in nodes {
                check_node(n, *node)?;
                if !seen.insert(*node) {
                    return Err(Error::parameter(format!("the source {node} occurs twice, expected different nodes")));
                }
            }
            Ok(nodes.clone())
        }
    }
}

/// Factors of NetworkX's `_rescale`, since 3.5.
pub(crate) struct Scale {
    n: usize,
    /// Number of sources. `None`: all nodes.
    k: Option<usize>,
    directed: bool,
    normalized: bool,
    ends: bool,
}

impl Scale {
    /// The scale of the sums of nodes over these sources.
    pub fn of(n: usize, sources: &[u32], directed: bool, options: &BetweennessOptions) -> Scale {
        let k = (sources.len() < n).then_some(sources.len());
        Scale { n, k, directed, normalized: options.normalized, ends: options.endpoints }
    }

    /// Scales the sums of nodes.
    pub fn apply(&self, sums: &mut [f64], sources: &[u32]) {
        let (of_sources, of_others) = self.factors();
        if of_sources == of_others {
            sums.iter_mut().for_each(|b| *b *= of_others);
            return;
        }
        let mut is_source = vec![false; self.n];
        sources.iter().for_each(|s| is_source[*s as usize] = true);
        sums.iter_mut().zip(is_source).for_each(|(b, is_source)| *b *= if is_source { of_sources } else { of_others });
    }

    /// The factor of nodes that are sources, and that of others.
    fn factors(&self) -> (f64, f64) {
        let pairs = if self.ends { self.n } else { self.n.saturating_sub(1) } as f64;
        if pairs < 2.0 {
            return (1.0, 1.0);
        }
        let sources = self.k.map_or(pairs, |k| k as f64);
        let sides = if self.directed { 1.0 } else { 2.0 };
        let factor = |sources: f64| match self.normalized {
            true => 1.0 / (sources * (pairs - 1.0)),
            false => pairs / (sources * sides),
        };
        if self.k.is_none() || self.ends {
            return (factor(sources), factor(sources));
        }
        // A source is no inner node of its own paths: there are k - 1 others for it.
        let of_sources = if sources > 1.0 { factor(sources - 1.0) } else { f64::NAN };
        (of_sources, factor(sources))
    }
}

/// Rows on which paths are searched.
struct Paths {
    simple: Graph,
    /// The lightest of parallel edges, by arc of `simple`. `None`: each arc has length 1.
    weights: Option<Vec<f64>>,
}

impl Paths {
    fn of(graph: &Graph, weighted: bool, name: &str) -> Result<Paths, Error> {
        let simple = graph.simple();
        let weights = if weighted { lightest(graph.out_weights(), graph.out_rows(), simple.out_rows()) } else { None };
        if let Some(arc) = weights.as_ref().and_then(|w| w.iter().position(|w| *w <= 0.0)) {
            let (edge, weight) = (simple.out_rows().edges[arc], weights.as_ref().map_or(0.0, |w| w[arc]));
            let message = format!("the weight of edge {edge} is {weight}: {name} needs weights above 0");
            let help =
                "over edges of length 0 the number of shortest paths has no meaning: leave them out or count edges";
            return Err(Error::new(ErrorKind::Weight, message).edge(edge).help(help));
        }
        Ok(Paths { simple, weights })
    }

    /// Sums of `count` over all sources.
    fn sums(
        &self,
        name: &str,
        sources: &[u32],
        len: usize,
        count: impl Fn(&mut PathSearch<'_>, u32, &mut [f64]) + Sync,
        run: &Run,
    ) -> Result<Vec<f64>, Error> {
        let groups = (MOST_SUMS / (len + 1)).clamp(8, 64);
        let done = AtomicU64::new(0);
        run.stage(format!("{name}: {} sources", sources.len()));
        let group = |sources: &[u32]| {
            let mut search = PathSearch::new(&self.simple, self.weights.as_deref());
            let mut sums = vec![0.0; len];
            for source in sources {
                let so_far = done.load(Relaxed);
                search.run(*source, &|| run.check(|| format!("{so_far} sources of {name}")))?;
                count(&mut search, *source, &mut sums);
                (run.steps)(done.fetch_add(1, Relaxed) + 1, sources.len() as u64);
            }
            Ok(sums)
        };
        // Nodes without edges reach nothing.
        let sources: Vec<u32> = sources.iter().copied().filter(|s| self.simple.out_rows().len(*s) > 0).collect();
        let parts = sources.par_chunks(sources.len().div_ceil(groups).max(1)).map(group);
        let mut parts = parts.collect::<Result<Vec<Vec<f64>>, Error>>()?.into_iter();
        let mut sums = parts.next().unwrap_or_else(|| vec![0.0; len]);
        parts.for_each(|part| sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part));
        Ok(sums)
    }
}

/// The lowest weight of parallel edges, by arc of `simple`.
pub(crate) fn lightest(weights: Option<&[f64]>, rows: &Rows, simple: &Rows) -> Option<Vec<f64>> {
    let weights = weights?;
    let row = |v: u32| {
        let mut arc = rows.arcs(v).start;
        let end = rows.arcs(v).end;
        let mut least = Vec::with_capacity(simple.len(v));
        for target in simple.row(v) {
            let mut weight = f64::INFINITY;
            while arc < end && rows.targets[arc] <= *target {
                if rows.targets[arc] == *target {
                    weight = weight.min(weights[arc]);
                }
                arc += 1;
            }
            least.push(weight);
        }
        least
    };
    Some(simple.each(row).into_iter().flatten().collect())
}

/// Divides the values of pairs, which are at the first of parallel edges, among the lightest of them.
fn share(graph: &Graph, weighted: bool, sums: &mut [f64]) {
    let rows = graph.out_rows();
    let weights = if weighted { graph.out_weights() } else { None };
    let weight = |arc: usize| weights.map_or(1.0, |w| w[arc]);
    for v in 0..graph.nodes() as u32 {
        let arcs = rows.arcs(v);
        let mut begin = arcs.start;
        while begin < arcs.end {
            let target = rows.targets[begin];
            let end = begin + rows.targets[begin..arcs.end].iter().take_while(|t| **t == target).count();
            if end - begin > 1 && target != v && (graph.is_directed() || v < target) {
                let value = sums[rows.edges[begin] as usize];
                let least = (begin..end).map(weight).fold(f64::INFINITY, f64::min);
                let lightest = (begin..end).filter(|arc| weight(*arc) == least).count() as f64;
                for arc in begin..end {
                    sums[rows.edges[arc] as usize] = if weight(arc) == least { value / lightest } else { 0.0 };
                }
            }
            begin = end;
        }
    }
}
