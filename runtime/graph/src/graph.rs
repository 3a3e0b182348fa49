//! A graph as compressed sparse rows.
//!
//! Immutable: changing edges makes a new graph.

mod build;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::error::{Error, ErrorKind};
use crate::parallel;
use crate::run::Run;

/// Nodes `0..n` and the edges between them. A clone shares the rows.
///
/// Parallel edges and self-loops are kept. An undirected edge between different nodes is an arc in the rows of both. An
/// undirected self-loop is one arc of its row, as in NetworkX's adjacency. Weights belong to edges and are finite.
#[derive(Clone, Debug)]
pub struct Graph {
    shape: Arc<Shape>,
    weights: Option<Arc<Weights>>,
}

/// Everything but weights.
#[derive(Debug)]
struct Shape {
    directed: bool,
    edges: usize,
    out: Rows,
    /// Rows by target, of a directed graph.
    into: OnceLock<Rows>,
    loops: OnceLock<usize>,
    /// Distinct pairs without loops. `None` if the graph has no others.
    simple: OnceLock<Option<Arc<Shape>>>,
}

/// Weights by edge, and in the order of arcs.
#[derive(Debug)]
struct Weights {
    edge: Vec<f64>,
    out: OnceLock<Vec<f64>>,
    into: OnceLock<Vec<f64>>,
    simple: OnceLock<Arc<Weights>>,
}

/// Compressed sparse rows. A row is sorted by node, then by edge.
#[derive(Debug, Default)]
pub struct Rows {
    /// The start of the row of each node, and the number of arcs at the end.
    pub offsets: Vec<usize>,
    /// The other end of each arc.
    pub targets: Vec<u32>,
    /// The edge of each arc: its position in what the graph was made of.
    pub edges: Vec<u32>,
}

impl Rows {
    pub fn nodes(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The positions of a node's arcs.
    #[inline]
    pub fn arcs(&self, node: u32) -> Range<usize> {
        self.offsets[node as usize]..self.offsets[node as usize + 1]
    }

    /// The other ends of a node's arcs, ascending. Parallel edges repeat a node.
    #[inline]
    pub fn row(&self, node: u32) -> &[u32] {
        &self.targets[self.arcs(node)]
    }

    #[inline]
    pub fn len(&self, node: u32) -> usize {
        self.arcs(node).len()
    }

    /// Ranges of nodes with about [`parallel::ARCS`] arcs and nodes each, the same on any number of threads.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        self.ranges_of(parallel::ARCS)
    }

    /// Ranges of nodes with about `size` arcs and nodes each.
    pub fn ranges_of(&self, size: usize) -> Vec<Range<usize>> {
        let n = self.nodes();
        let mut ranges = Vec::new();
        let mut begin = 0;
        while begin < n {
            let limit = self.offsets[begin] + begin + size;
            // The work up to a node, offset + number, ascends: find the last node that stays within the limit.
            let (mut low, mut high) = (begin + 1, n);
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                match self.offsets[middle] + middle <= limit {
                    true => low = middle,
                    false => high = middle - 1,
                }
            }
            ranges.push(begin..low);
            begin = low;
        }
        ranges
    }

    /// `value` of each node, with chunks of about as many arcs.
    pub fn each<T: Send>(&self, value: impl Fn(u32) -> T + Sync) -> Vec<T> {
        let parts: Vec<Vec<T>> =
            self.ranges().into_par_iter().map(|range| range.map(|v| value(v as u32)).collect()).collect();
        let mut all = Vec::with_capacity(self.nodes());
        parts.into_iter().for_each(|part| all.extend(part));
        all
    }
}

impl Rows {
    /// [`Rows::each`] for work that the user may stop: `algorithm` is the name in the error.
    ///
    /// # Errors
    /// If the user stops it.
    pub fn try_each<T: Send>(
        &self,
        algorithm: &str,
        run: &Run,
        value: impl Fn(u32) -> T + Sync,
    ) -> Result<Vec<T>, Error> {
        let part = |range: Range<usize>| -> Result<Vec<T>, Error> {
            run.check(|| format!("part of the arcs of {algorithm}"))?;
            Ok(range.map(|v| value(v as u32)).collect())
        };
        let parts: Vec<Vec<T>> = self.ranges().into_par_iter().map(part).collect::<Result<_, Error>>()?;
        let mut all = Vec::with_capacity(self.nodes());
        parts.into_iter().for_each(|part| all.extend(part));
        Ok(all)
    }
}

impl Graph {
    /// A graph of `nodes` nodes with an edge from `sources[i]` to `targets[i]` for each `i`. Weights are by edge.
    ///
    /// Takes O(nodes + edges log(longest row)) time on all threads.
    ///
    /// # Errors
    /// If the columns differ in length, an end is not below `nodes`, or a weight is not finite. Also if there are
    /// 2^32 - 1 edges or more.
    pub fn new(
        directed: bool,
        nodes: u32,
        sources: &[u32],
        targets: &[u32],
        weights: Option<Vec<f64>>,
    ) -> Result<Graph, Error> {
        if sources.len() != targets.len() {
            let message = format!("{} sources and {} targets: an edge has one of each", sources.len(), targets.len());
            return Err(Error::new(ErrorKind::Edges, message));
        }
        if sources.len() >= u32::MAX as usize {
            let message = format!("{} edges: a graph has at most {}", sources.len(), u32::MAX - 1);
            return Err(Error::new(ErrorKind::Edges, message).help("merge parallel edges before the graph is made"));
        }
        let outside = |ends: &[u32]| ends.par_iter().with_min_len(parallel::CHUNK).position_first(|v| *v >= nodes);
        for ends in [sources, targets] {
            if let Some(edge) = outside(ends) {
                let message = format!("edge {edge} has the node {}, expected a number below {nodes}", ends[edge]);
                return Err(Error::new(ErrorKind::Edges, message));
            }
        }
        let out = match directed {
            true => build::directed(nodes as usize, sources, targets),
            false => build::undirected(nodes as usize, sources, targets),
        };
        let shape = Shape {
            directed,
            edges: sources.len(),
            out,
            into: OnceLock::new(),
            loops: OnceLock::new(),
            simple: OnceLock::new(),
        };
        let graph = Graph { shape: Arc::new(shape), weights: None };
        match weights {
            Some(weights) => graph.with_weights(weights),
            None => Ok(graph),
        }
    }

    /// The same edges with other weights, by edge.
    ///
    /// # Errors
    /// If their number is not that of the edges, or a weight is not finite.
    pub fn with_weights(&self, weights: Vec<f64>) -> Result<Graph, Error> {
        if weights.len() != self.shape.edges {
            let message = format!("{} weights for {} edges: an edge has one", weights.len(), self.shape.edges);
            return Err(Error::new(ErrorKind::Weight, message));
        }
        if let Some(edge) = weights.par_iter().with_min_len(parallel::CHUNK).position_first(|w| !w.is_finite()) {
            let message = format!("the weight of edge {edge} is {}, expected a finite number", weights[edge]);
            return Err(Error::new(ErrorKind::Weight, message).help("leave the edge out, or give it a weight"));
        }
        Ok(Graph { shape: Arc::clone(&self.shape), weights: Some(Arc::new(Weights::new(weights))) })
    }

    /// The same edges without weights.
    pub fn unweighted(&self) -> Graph {
        Graph { shape: Arc::clone(&self.shape), weights: None }
    }

    pub fn is_directed(&self) -> bool {
        self.shape.directed
    }

    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.shape.out.nodes()
    }

    /// Number of edges: parallel ones and self-loops count.
    pub fn edges(&self) -> usize {
        self.shape.edges
    }

    /// Rows by source; of an undirected graph, each edge in both rows.
    pub fn out_rows(&self) -> &Rows {
        &self.shape.out
    }

    /// Rows by target, made at the first call; of an undirected graph, [`Graph::out_rows`].
    pub fn in_rows(&self) -> &Rows {
        match self.shape.directed {
            true => once(&self.shape.into, || build::transposed(&self.shape.out)),
            false => &self.shape.out,
        }
    }

    /// [`Graph::in_rows`] if they are already computed.
    pub fn made_in_rows(&self) -> Option<&Rows> {
        match self.shape.directed {
            true => self.shape.into.get(),
            false => Some(&self.shape.out),
        }
    }

    /// The weights by edge. In [`Graph::simple`], only the weights of edges that occur in its rows have a meaning.
    pub fn edge_weights(&self) -> Option<&[f64]> {
        self.weights.as_ref().map(|w| w.edge.as_slice())
    }

    /// Weights in the order of the arcs of [`Graph::out_rows`]. `None` if the graph has none.
    pub fn out_weights(&self) -> Option<&[f64]> {
        let weights = self.weights.as_ref()?;
        Some(once(&weights.out, || gather(&weights.edge, &self.shape.out)).as_slice())
    }

    /// Weights in the order of the arcs of [`Graph::in_rows`]. `None` if the graph has none.
    pub fn in_weights(&self) -> Option<&[f64]> {
        let weights = self.weights.as_ref()?;
        match self.shape.directed {
            true => Some(once(&weights.into, || gather(&weights.edge, self.in_rows())).as_slice()),
            false => self.out_weights(),
        }
    }

    /// Number of edges from a node to itself. NetworkX: `number_of_selfloops`.
    pub fn number_of_selfloops(&self) -> usize {
        *once(&self.shape.loops, || {
            let out = &self.shape.out;
            out.ranges().into_par_iter().map(|range| range.map(|v| loops_of(out, v as u32)).sum::<usize>()).sum()
        })
    }

    /// One edge for each pair of nodes that has one, and no self-loops. Weights of parallel edges add up, in the order
    /// of the edges.
    ///
    /// An edge keeps the number of the first of its parallel edges, so that edge numbers may be larger than
    /// [`Graph::edges`]. Directed graphs keep their directions. Made once; the same graph if it is simple already.
    pub fn simple(&self) -> Graph {
        let made = once(&self.shape.simple, || build::simple(&self.shape).map(Arc::new));
        let Some(shape) = made else { return self.clone() };
        let weights = self.weights.as_ref().map(|w| {
            let added = || Arc::new(Weights::new(build::added_weights(&self.shape.out, &w.edge)));
            Arc::clone(once(&w.simple, added))
        });
        Graph { shape: Arc::clone(shape), weights }
    }

    /// The graph with all edges reversed. An undirected graph is its own reverse.
    pub fn reverse(&self) -> Graph {
        if !self.shape.directed {
            return self.clone();
        }
        let shape = Shape {
            directed: true,
            edges: self.shape.edges,
            out: build::transposed(&self.shape.out),
            into: OnceLock::new(),
            loops: OnceLock::new(),
            simple: OnceLock::new(),
        };
        let weights = self.weights.as_ref().map(|w| Arc::new(Weights::new(w.edge.clone())));
        Graph { shape: Arc::new(shape), weights }
    }

    /// The error if `node` is not a node of the graph.
    ///
    /// # Errors
    /// If it is not.
    pub fn check_node(&self, node: u32) -> Result<(), Error> {
        check_node(self.nodes(), node)
    }

    /// The error if a weight is negative.
    ///
    /// # Errors
    /// If one is, with its edge; `algorithm` is the name in the message.
    pub fn check_positive(&self, algorithm: &str) -> Result<(), Error> {
        let Some(weights) = self.out_weights() else { return Ok(()) };
        let Some(arc) = weights.par_iter().with_min_len(parallel::CHUNK).position_first(|w| *w < 0.0) else {
            return Ok(());
        };
        Err(negative_weight(Some(self.out_rows().edges[arc]), weights[arc], algorithm))
    }

    /// The error if the graph is directed.
    ///
    /// # Errors
    /// If it is; `algorithm` is the name in the message.
    pub fn check_undirected(&self, algorithm: &str) -> Result<(), Error> {
        check_undirected(self.shape.directed, algorithm)
    }

    /// The error if the graph is undirected.
    ///
    /// # Errors
    /// If it is; `algorithm` is the name in the message.
    pub fn check_directed(&self, algorithm: &str) -> Result<(), Error> {
        check_directed(self.shape.directed, algorithm)
    }
}

impl Weights {
    fn new(edge: Vec<f64>) -> Self {
        Weights { edge, out: OnceLock::new(), into: OnceLock::new(), simple: OnceLock::new() }
    }
}

pub(crate) fn check_node(nodes: usize, node: u32) -> Result<(), Error> {
    match (node as usize) < nodes {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Node, format!("no node {node}: the graph has {nodes} nodes"))),
    }
}

pub(crate) fn check_undirected(directed: bool, algorithm: &str) -> Result<(), Error> {
    match directed {
        true => {
            Err(Error::new(ErrorKind::Directed, format!("{algorithm} is for undirected graphs, this one is directed")))
        }
        false => Ok(()),
    }
}

pub(crate) fn check_directed(directed: bool, algorithm: &str) -> Result<(), Error> {
    match directed {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::Undirected,
            format!("{algorithm} is for directed graphs, this one is undirected"),
        )),
    }
}

/// The error of a negative weight. Without an edge the message cannot name it.
pub(crate) fn negative_weight(edge: Option<u32>, weight: f64, algorithm: &str) -> Error {
    let named = edge.map_or("an edge".to_string(), |edge| format!("edge {edge}"));
    let message = format!("the weight of {named} is {weight}: {algorithm} takes none below 0");
    Error { edge, ..Error::new(ErrorKind::Weight, message) }
}

/// The value of a cell, made at the first call.
///
/// It is made outside of the cell's lock: work on all threads that holds a lock may take up a task that waits for it.
/// Two callers at once may make it twice.
pub fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    match cell.get() {
        Some(value) => value,
        None => {
            let value = make();
            cell.get_or_init(|| value)
        }
    }
}

/// Values by edge in the order of arcs.
fn gather(edge: &[f64], rows: &Rows) -> Vec<f64> {
    rows.edges.par_iter().with_min_len(parallel::CHUNK).map(|e| edge[*e as usize]).collect()
}

/// Number of arcs from a node to itself.
pub(crate) fn loops_of(rows: &Rows, node: u32) -> usize {
    let row = rows.row(node);
    let begin = row.partition_point(|v| *v < node);
    row[begin..].iter().take_while(|v| **v == node).count()
}
