//! Parts of a graph, as graphs: by edges, by nodes, around a node.

use std::cell::OnceCell;
use std::fmt;
use std::ops::Deref;

use onrush_wire::display::Content;
use onrush_wire::{DataType, Span, Value};

use super::{Graph, IntoFrame, NodeId, error};
use crate::display::Show;
use crate::expr::{Expr, IntoExprs, col, lit, when};
use crate::frame::{Frame, on};
use crate::raise::{here, raise};

/// Nodes: a list of ids, or a frame with their ids in `node` (`node_1`, `node_2`, ...) or in its first columns.
pub trait NodeSet {
    /// A frame of ids. `names` are those that the ids have in results.
    #[doc(hidden)]
    #[track_caller]
    fn node_frame(self, names: &[String]) -> Frame;
}

impl<F: IntoFrame> NodeSet for F {
    #[track_caller]
    fn node_frame(self, names: &[String]) -> Frame {
        let frame = self.to_frame();
        let columns = frame.columns();
        match names.iter().all(|name| columns.contains(name)) {
            true => frame.select(names.to_vec()),
            false => frame.select(columns.into_iter().take(names.len()).collect::<Vec<_>>()),
        }
    }
}

impl Graph {
    /// The graph of the edges for which a condition holds: `g.filter_edges(x!(distance < 500))`. A node that loses all
    /// edges stays in the graph.
    #[track_caller]
    pub fn filter_edges(&self, condition: impl IntoExprs) -> Graph {
        self.with_fewer_edges(self.edges.filter(condition))
    }

    /// The graph of all nodes of this graph, with some of its edges.
    #[inline(never)]
    #[track_caller]
    fn with_fewer_edges(&self, edges: Frame) -> Graph {
        let mut isolated = self.isolated.clone();
        if !self.has_all_nodes {
            // A row with a null at an end is not an edge, and its ids are not nodes.
            let whole = self.edges.drop_nulls_in(self.ends());
            isolated.extend([&self.source, &self.target].map(|ids| (whole.clone(), ids.clone())));
        }
        Graph { edges, isolated, has_all_nodes: true, ..self.clone() }
    }

    /// The graph of the nodes for which a condition over [`Graph::nodes`] holds, and of the edges between them:
    /// `g.filter_nodes(x!(lat.is_not_null()))`. `degree` is a node's degree in this graph. A node that loses all edges
    /// stays in the graph.
    #[track_caller]
    pub fn filter_nodes(&self, condition: impl IntoExprs) -> Graph {
        self.induced_subgraph(&self.nodes().filter(condition).select(self.id_names("node")))
    }

    /// The graph of some nodes and of the edges between them: `g.subgraph(&communities.filter(x!(community == 0)))`,
    /// with the ids in `node` or in the first column; `g.subgraph(["JFK", "LGA"])`. Ids that are not in the graph are
    /// ignored.
    #[track_caller]
    pub fn subgraph(&self, nodes: impl NodeSet) -> Graph {
        let ids = self.id_names("node");
        let wanted = nodes.node_frame(&ids);
        self.check_width(wanted.columns().len(), &here("subgraph"));
        let known = self.degree().select(ids.clone());
        self.induced_subgraph(&known.semi_join(&wanted, on(ids, keys(&wanted, &wanted.columns()))))
    }

    /// The graph of nodes of this graph, whose ids are the columns of `nodes`, and of the edges between them.
    #[inline(never)]
    fn induced_subgraph(&self, nodes: &Frame) -> Graph {
        let ids = nodes.columns();
        let edges = self.edges.semi_join(nodes, on(keys(&self.edges, &self.source), ids.clone()));
        let edges = edges.semi_join(nodes, on(keys(&self.edges, &self.target), ids.clone()));
        Graph { edges, isolated: vec![(nodes.clone(), ids)], has_all_nodes: true, ..self.clone() }
    }

    /// One edge for each pair of nodes, with the number of edges in `n`; weights add up. If the graph is undirected,
    /// the ends are in ascending order.
    #[track_caller]
    pub fn simple(&self) -> Graph {
        let taken = self.ends().into_iter().chain(self.weight.clone()).any(|name| name == "n");
        if taken {
            let error =
                error("duplicate-column", "the number of edges is called `n`, and a column has that name".to_string());
            raise(
                error.at(here("simple"), "").help("`simple_agg` takes a name for it: `simple_agg(x!(count = len()))`"),
            );
        }
        let mut kept = vec![crate::expr::len().alias("n")];
        kept.extend(self.weight.as_ref().map(|weight| col(weight.as_str()).sum().alias(weight)));
        self.merged(kept)
    }

    /// One edge for each pair of nodes, with these aggregates of its edges: `g.simple_agg(x!(n = len(), distance =
    /// distance.mean()))`. A weight stays one if a column of its name is among them.
    #[track_caller]
    pub fn simple_agg(&self, aggregates: impl IntoExprs) -> Graph {
        self.merged(aggregates.into_exprs().into_iter().map(Expr).collect())
    }

    #[inline(never)]
    #[track_caller]
    fn merged(&self, aggregates: Vec<Expr>) -> Graph {
        let mut edges = self.edges.drop_nulls_in(self.ends());
        if !self.directed {
            edges = edges.with_columns(self.ascending());
        }
        let edges = edges.group_by(self.ends()).agg(aggregates).sort(self.ends());
        let weight = self.weight.clone().filter(|weight| edges.columns().contains(weight));
        Graph { edges, weight, ..self.clone() }
    }

    /// The ends of an edge with the smaller id first.
    fn ascending(&self) -> Vec<Expr> {
        let pairs = || self.source.iter().zip(&self.target);
        // Ids of several columns compare as tuples: by the first part that differs.
        let after = pairs().rev().fold(lit(false), |rest, (source, target)| {
            let (source, target) = (col(source.as_str()), col(target.as_str()));
            source.gt(target.clone()).or(source.eq(target).and(rest))
        });
        let swapped = |column: &String, other: &String| {
            let (here, there) = (col(column.as_str()), col(other.as_str()));
            when(after.clone()).then(there).otherwise(here).alias(column)
        };
        pairs().flat_map(|(source, target)| [swapped(source, target), swapped(target, source)]).collect()
    }

    /// The edges between different nodes. All nodes stay in the graph.
    #[track_caller]
    pub fn without_self_loops(&self) -> Graph {
        let pairs = self.source.iter().zip(&self.target);
        let same = pairs.map(|(source, target)| col(source.as_str()).eq(col(target.as_str())));
        let same = same.reduce(|a, b| a.and(b)).unwrap_or_else(|| lit(false));
        self.with_fewer_edges(self.edges.filter(!same))
    }

    /// More edges: the rows of a frame with the columns of this one.
    #[track_caller]
    pub fn add_edges(&self, edges: impl IntoFrame) -> Graph {
        Graph {
            edges: crate::frame::concat_diagonal([&self.edges, &edges.to_frame()]),
            has_all_nodes: false,
            ..self.clone()
        }
    }

    /// The nodes within a distance of a node, and the edges between them: `g.ego_graph("DEN").radius(2)`.
    #[track_caller]
    pub fn ego_graph(&self, node: impl NodeId) -> EgoGraph {
        let at = here("ego_graph");
        EgoGraph {
            graph: self.clone(),
            node: node.values(&at),
            radius: 1,
            center: true,
            undirected: false,
            at,
            found: OnceCell::new(),
        }
    }

    /// The k-core: the largest part in which each node has `k` neighbors.
    #[track_caller]
    pub fn k_core(&self, k: usize) -> Graph {
        let cores = self.core_number().filter(col("core_number").gt_eq(k));
        self.subgraph(&cores)
    }

    /// The nodes of core number `k`, and the edges between them.
    #[track_caller]
    pub fn k_shell(&self, k: usize) -> Graph {
        let cores = self.core_number().filter(col("core_number").eq(k));
        self.subgraph(&cores)
    }
}

/// Columns of ids as keys of a join with nodes, which have 0.0 for -0.0.
fn keys(frame: &Frame, ids: &[String]) -> Vec<Expr> {
    let schema = frame.schema();
    let is_float = |name: &String| {
        let field = schema.fields.iter().find(|field| field.name == *name);
        field.is_some_and(|field| matches!(field.dtype, DataType::Float32 | DataType::Float64))
    };
    ids.iter().map(|name| if is_float(name) { col(name) + lit(0.0) } else { col(name) }).collect()
}

/// The part of a graph around a node, a graph itself: parameters can be set before it is first used.
#[derive(Clone)]
#[must_use]
pub struct EgoGraph {
    graph: Graph,
    node: Vec<Value>,
    radius: usize,
    center: bool,
    undirected: bool,
    at: Span,
    found: OnceCell<Graph>,
}

impl EgoGraph {
    /// The largest number of hops from the node: 1 by default.
    pub fn radius(self, hops: usize) -> Self {
        EgoGraph { radius: hops, found: OnceCell::new(), ..self }
    }

    /// Whether the node itself is in the result: `true` by default.
    pub fn center(self, included: bool) -> Self {
        EgoGraph { center: included, found: OnceCell::new(), ..self }
    }

    /// Whether edges of a directed graph count in both directions: `false` by default.
    pub fn undirected(self, both: bool) -> Self {
        EgoGraph { undirected: both, found: OnceCell::new(), ..self }
    }

    /// The part as a graph.
    #[track_caller]
    pub fn graph(&self) -> Graph {
        (**self).clone()
    }
}

impl Deref for EgoGraph {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        self.found.get_or_init(|| {
            let whole = if self.undirected { self.graph.to_undirected() } else { self.graph.clone() };
            let near = whole.bfs_of(self.node.clone(), self.radius, self.at.clone());
            let near = if self.center { near } else { near.filter(col("distance").gt(0)) };
            self.graph.induced_subgraph(&near.select(self.graph.id_names("node")))
        })
    }
}

impl Show for EgoGraph {
    #[track_caller]
    fn content(&self) -> Option<Content> {
        (**self).content()
    }
}

impl fmt::Debug for EgoGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
