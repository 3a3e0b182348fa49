//! Errors of algorithms.

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A parameter has a value outside of its range.
    Parameter,
    /// The graph has no such node.
    Node,
    /// The ends of edges do not make a graph.
    Edges,
    /// A weight is not one that the algorithm takes.
    Weight,
    /// The algorithm is for undirected graphs.
    Directed,
    /// The algorithm is for directed graphs.
    Undirected,
    /// The graph has no nodes or edges to compute the result of.
    Empty,
    /// The graph has self-loops.
    Loops,
    /// The graph has a cycle.
    Cycle,
    /// The graph has a cycle of negative weight.
    NegativeCycle,
    /// There is no path between two nodes.
    NoPath,
    /// There are nodes without a path between them.
    NotConnected,
    /// The iteration has not converged.
    Convergence,
    /// The result would be too large.
    Size,
    /// The graph has more arcs than a device numbers. The host has no such limit.
    TooManyArcs,
    /// The user stopped the work.
    Interrupted,
}

impl ErrorKind {
    /// The code of a diagnostic.
    pub fn code(self) -> &'static str {
        match self {
            ErrorKind::Parameter => "parameter",
            ErrorKind::Node => "node",
            ErrorKind::Edges => "edges",
            ErrorKind::Weight => "weight",
            ErrorKind::Directed => "directed",
            ErrorKind::Undirected => "undirected",
            ErrorKind::Empty => "empty",
            ErrorKind::Loops => "loops",
            ErrorKind::Cycle => "cycle",
            ErrorKind::NegativeCycle => "negative_cycle",
            ErrorKind::NoPath => "no_path",
            ErrorKind::NotConnected => "not_connected",
            ErrorKind::Convergence => "convergence",
            ErrorKind::Size => "size",
            ErrorKind::TooManyArcs => "arcs",
            ErrorKind::Interrupted => "interrupted",
        }
    }
}

/// An algorithm has no result: the message names the found and the expected, `help` has ways out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
    pub help: Vec<String>,
    /// The nodes that the message names.
    pub nodes: Vec<u32>,
    /// The edge that the message names, as `edge 7`.
    pub edge: Option<u32>,
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), help: Vec::new(), nodes: Vec::new(), edge: None }
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    pub fn nodes(mut self, nodes: impl IntoIterator<Item = u32>) -> Self {
        self.nodes.extend(nodes);
        self
    }

    pub fn edge(mut self, edge: u32) -> Self {
        self.edge = Some(edge);
        self
    }

    /// A parameter has a value outside of its range.
    pub fn parameter(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Parameter, message)
    }

    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// Whether the user stopped the work.
    pub fn is_stopped(&self) -> bool {
        self.kind == ErrorKind::Interrupted
    }
}
