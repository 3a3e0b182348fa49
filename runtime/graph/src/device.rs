//! Graphs on a device, and algorithms on them: names, options, results and ties are those of the host's modules.
//!
//! An algorithm takes a [`DeviceGraph`], a [`Context`] and a [`Run`](crate::Run), and leaves [`DeviceValues`]. Sums of
//! integers are those of the host bit for bit; sums of floats have another order, the same on every device. Kernels are
//! in `kernels/src/graph`; loops are here.

pub mod betweenness;
pub mod cluster;
pub mod community;
pub mod components;
pub mod cores;
pub mod degree;
pub mod index;
pub mod layout;
pub mod link_analysis;
mod rounds;
pub mod shortest_paths;
pub mod similarity;
pub mod traversal;
mod values;

use std::sync::{Arc, OnceLock};

use onrush_device::CompletionFlag;
use onrush_kernels::graph::{Csr, levels};
use onrush_kernels::reduce::{LOW, Number, SUM, reduce};
use onrush_kernels::{Column, Context, Scalar};
use parking_lot::Mutex;

use crate::error::{Error, ErrorKind};
use crate::graph::{Graph, Rows, check_directed, check_node, check_undirected, negative_weight};

pub use rounds::DeviceRounds;
pub use values::DeviceValues;

/// Why an algorithm on a device has no result.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The error of the host's algorithm.
    #[error(transparent)]
    Graph(#[from] Error),
    /// An error of the device or of the compiler of kernels.
    #[error(transparent)]
    Kernels(#[from] onrush_kernels::Error),
}

impl From<onrush_device::Error> for DeviceError {
    fn from(error: onrush_device::Error) -> Self {
        DeviceError::Kernels(error.into())
    }
}

impl DeviceError {
    /// Whether the device has too little memory: the host has room, or memory can be freed.
    pub fn is_memory(&self) -> bool {
        use onrush_device::Error::{DriverOutOfMemory, OutOfMemory};
        matches!(
            self,
            DeviceError::Kernels(onrush_kernels::Error::Device(OutOfMemory { .. } | DriverOutOfMemory { .. }))
        )
    }
}

/// The result of an algorithm on a device.
pub type Result<T> = std::result::Result<T, DeviceError>;

/// Arcs of a graph on a device at most, and nodes.
pub const MOST_ARCS: usize = onrush_kernels::graph::MOST_ARCS as usize;

/// A [`Graph`] on a device. A clone shares the memory.
///
/// Its memory belongs to the stream of the context that it was made with, and is complete when the graph is. Algorithms
/// may run on other streams, and wait for their streams before they return.
#[derive(Clone)]
pub struct DeviceGraph {
    directed: bool,
    edges: u64,
    out: Csr,
    /// Rows by target, of a directed graph.
    into: Arc<OnceLock<Csr>>,
    /// The sum of the weights by arc, and the least.
    weights: Arc<OnceLock<(f64, f64)>>,
    /// Completion flags that no algorithm uses now.
    flags: Arc<Mutex<Vec<Arc<CompletionFlag>>>>,
}

impl DeviceGraph {
    /// Copies the rows and weights of a graph to the device. The numbers of edges are copied with `with_edges`: paths
    /// need them, most algorithms do not.
    ///
    /// # Errors
    /// If the graph has more than [`MOST_ARCS`] arcs or nodes, and those of the device.
    pub fn upload(context: &Context, graph: &Graph, with_edges: bool) -> Result<DeviceGraph> {
        let out = upload_rows(context, graph.out_rows(), graph.out_weights(), with_edges)?;
        context.stream.synchronize()?;
        let made = DeviceGraph::new(graph.is_directed(), graph.edges() as u64, out);
        if let (true, Some(rows)) = (graph.is_directed(), graph.made_in_rows()) {
            let into = upload_rows(context, rows, graph.in_weights(), with_edges)?;
            context.stream.synchronize()?;
            let _ = made.into.set(into);
        }
        Ok(made)
    }

    /// A graph of rows by source that are on the device. An edge of an undirected graph is in the rows of both ends, a
    /// self-loop once.
    pub fn new(directed: bool, edges: u64, out: Csr) -> DeviceGraph {
        let (into, weights, flags) = (Arc::default(), Arc::default(), Arc::default());
        DeviceGraph { directed, edges, out, into, weights, flags }
    }

    /// Copies a graph to the host. Edges are numbered by their arcs' order, unless the device has their numbers.
    ///
    /// # Errors
    /// Errors of the device.
    pub(crate) fn download(&self, context: &Context) -> Result<Graph> {
        let (nodes, arcs, stream) = (self.nodes(), 0..self.arcs(), &context.stream);
        let offsets = self.out.offsets.read::<u32>(0..nodes + 1, stream)?;
        let targets = self.out.targets.read::<u32>(arcs.clone(), stream)?;
        let weights = self.out.weights.as_ref().map(|w| w.read::<f64>(arcs.clone(), stream)).transpose()?;
        let edges = self.out.edges.as_ref().map(|e| e.read::<u32>(arcs, stream)).transpose()?;
        let arcs = (0..nodes).flat_map(|v| (offsets[v]..offsets[v + 1]).map(move |arc| (v as u32, arc as usize)));
        let mut once: Vec<(u32, usize)> = arcs.filter(|(v, arc)| self.directed || *v <= targets[*arc]).collect();
        if let Some(edges) = edges {
            once.sort_by_key(|(_, arc)| edges[*arc]);
        }
        let (sources, ends): (Vec<u32>, Vec<u32>) = once.iter().map(|(v, arc)| (*v, targets[*arc])).unzip();
        let weights = weights.map(|w| once.iter().map(|(_, arc)| w[*arc]).collect());
        Ok(Graph::new(self.directed, nodes as u32, &sources, &ends, weights)?)
    }

    /// The same edges without weights.
    #[must_use]
    pub fn unweighted(&self) -> DeviceGraph {
        let into = self.into.get().map_or_else(OnceLock::new, |rows| OnceLock::from(rows.unweighted()));
        DeviceGraph { out: self.out.unweighted(), into: Arc::new(into), ..self.clone() }
    }

    pub fn is_directed(&self) -> bool {
        self.directed
    }

    pub fn is_weighted(&self) -> bool {
        self.out.weights.is_some()
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.out.nodes as usize
    }

    /// Number of edges: parallel ones and self-loops count.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Number of arcs: entries of rows.
    pub fn arcs(&self) -> usize {
        self.out.arcs as usize
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.out.bytes() + self.into.get().map_or(0, Csr::bytes)
    }

    /// Rows by source; of an undirected graph, each edge in both rows.
    pub fn out_rows(&self) -> &Csr {
        &self.out
    }

    /// Rows by target, made at the first call; of an undirected graph, [`DeviceGraph::out_rows`].
    ///
    /// # Errors
    /// Errors of the device.
    pub fn in_rows(&self, context: &Context) -> Result<&Csr> {
        if !self.directed {
            return Ok(&self.out);
        }
        match self.into.get() {
            Some(rows) => Ok(rows),
            None => {
                let rows = self.out.transposed(context)?;
                Ok(self.into.get_or_init(|| rows))
            }
        }
    }

    /// [`DeviceGraph::in_rows`] if they are already computed.
    pub fn made_in_rows(&self) -> Option<&Csr> {
        if self.directed { self.into.get() } else { Some(&self.out) }
    }

    /// The error if `node` is not a node of the graph.
    ///
    /// # Errors
    /// If it is not.
    pub fn check_node(&self, node: u32) -> std::result::Result<(), Error> {
        check_node(self.nodes(), node)
    }

    /// The error if the graph is directed.
    ///
    /// # Errors
    /// If it is; `algorithm` is the name in the message.
    pub fn check_undirected(&self, algorithm: &str) -> std::result::Result<(), Error> {
        check_undirected(self.directed, algorithm)
    }

    /// The error if the graph is undirected.
    ///
    /// # Errors
    /// If it is; `algorithm` is the name in the message.
    pub fn check_directed(&self, algorithm: &str) -> std::result::Result<(), Error> {
        check_directed(self.directed, algorithm)
    }

    /// The error if a weight is negative: that of [`Graph::check_positive`], or one without an edge if the device has
    /// no edge numbers. Its code is `weight` in both cases.
    ///
    /// # Errors
    /// If one is, and those of the device.
    pub fn check_positive(&self, algorithm: &str, context: &Context) -> Result<()> {
        match self.first_negative(context)? {
            Some((edge, weight)) => Err(negative_weight(edge, weight, algorithm).into()),
            None => Ok(()),
        }
    }

    /// The weight of the first arc that has a negative one, and its edge if the device has edge numbers.
    fn first_negative(&self, context: &Context) -> Result<Option<(Option<u32>, f64)>> {
        let Some(weights) = self.out.weights.as_ref() else { return Ok(None) };
        if self.weight_summary(context)?.1 >= 0.0 {
            return Ok(None);
        }
        let Some(arc) = levels::first_negative(context, &self.out)? else { return Ok(None) };
        let arc = arc as usize..arc as usize + 1;
        let weight = weights.read::<f64>(arc.clone(), &context.stream)?[0];
        let edge = self.out.edges.as_ref().map(|edges| edges.read::<u32>(arc, &context.stream)).transpose()?;
        Ok(Some((edge.map(|edge| edge[0]), weight)))
    }

    /// The sum of the weights by arc, up to its last bits. The number of arcs if the graph has no weights.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn weight_sum(&self, context: &Context) -> Result<f64> {
        Ok(if self.is_weighted() { self.weight_summary(context)?.0 } else { self.arcs() as f64 })
    }

    fn weight_summary(&self, context: &Context) -> Result<(f64, f64)> {
        let Some(weights) = self.out.weights.as_ref().filter(|_| self.arcs() > 0) else { return Ok((0.0, 0.0)) };
        if let Some(summary) = self.weights.get() {
            return Ok(*summary);
        }
        let column = Column::new(Scalar::F64, weights).slice(0, self.arcs() as u64);
        let totals = reduce(context, &column, SUM | LOW)?;
        let number = |number: Number| match number {
            Number::Float(value) => value,
            Number::Integer(value) => value as f64,
        };
        Ok(*self.weights.get_or_init(|| (number(totals.sum), number(totals.low))))
    }

    fn take_flag(&self, context: &Context) -> Result<Arc<CompletionFlag>> {
        let kept = self.flags.lock().pop();
        match kept {
            Some(flag) => Ok(flag),
            None => Ok(Arc::new(onrush_kernels::graph::completion_flag(context)?)),
        }
    }

    fn keep_flag(&self, flag: Arc<CompletionFlag>) {
        self.flags.lock().push(flag);
    }
}

fn upload_rows(context: &Context, rows: &Rows, weights: Option<&[f64]>, with_edges: bool) -> Result<Csr> {
    let arcs = rows.targets.len();
    if arcs.max(rows.nodes()) > MOST_ARCS {
        let message = format!("{} nodes, {arcs} arcs: a graph on a device has at most {MOST_ARCS} each", rows.nodes());
        return Err(Error::new(ErrorKind::TooManyArcs, message)
            .help("merge parallel edges, or run the algorithm on the CPU")
            .into());
    }
    let offsets: Vec<u32> = rows.offsets.iter().map(|o| *o as u32).collect();
    // A graph without nodes may have no offsets at all.
    let offsets = if offsets.is_empty() { vec![0] } else { offsets };
    let weights = weights.map(|w| context.upload(w)).transpose()?;
    let edges = with_edges.then(|| context.upload(&rows.edges)).transpose()?;
    let counts = (rows.nodes() as u32, arcs as u32);
    Ok(Csr::new(counts, context.upload(&offsets)?, context.upload(&rows.targets)?, weights, edges))
}
