//! Graphs: a view of a frame of edges, with the algorithms of NetworkX. Results are frames with the user's ids.

mod calls;
mod files;
mod parts;
pub(crate) mod plot;

use std::fmt;

use onrush_wire::display::Content;
use onrush_wire::graph::{GraphSpec, NodeIds};
use onrush_wire::session::{Reply, Request};
use onrush_wire::visual::GraphCardRequest;
use onrush_wire::{Class, Diagnostic, ExprKind, Span};

pub use calls::*;
pub use files::{GraphReader, read_graph};
pub use parts::{EgoGraph, NodeSet};
pub use plot::{GraphPlot, GraphView};

use crate::display::Show;
use crate::expr::{Expr, IntoColumns, IntoExprs};
use crate::frame::{Frame, on};
use crate::raise::{here, raise};
use crate::session;

/// A graph over a frame of edges: `flights.graph("origin", "dest")`. Every row is an edge; a row with a null at an end
/// is left out. Nodes are the ids that occur. The handle is cheap to clone.
#[derive(Clone)]
#[must_use]
pub struct Graph {
    edges: Frame,
    source: Vec<String>,
    target: Vec<String>,
    directed: bool,
    weight: Option<String>,
    /// Frames with columns of nodes, and the columns of the ids in them.
    columns: Vec<(Frame, Vec<String>)>,
    /// Frames whose ids are nodes too.
    isolated: Vec<(Frame, Vec<String>)>,
    /// Whether those frames have the nodes at the edges too.
    has_all_nodes: bool,
}

impl Frame {
    /// An undirected graph whose edges are the rows, between the ids of two columns. An id may have several columns:
    /// `f.graph(["city", "state"], ["to_city", "to_state"])`.
    #[track_caller]
    pub fn graph(&self, source: impl IntoColumns, target: impl IntoColumns) -> Graph {
        Graph::new(self, source.into_columns(), target.into_columns(), false, &here("graph"))
    }

    /// A directed graph whose edges are the rows, from the ids of `source` to those of `target`.
    #[track_caller]
    pub fn digraph(&self, source: impl IntoColumns, target: impl IntoColumns) -> Graph {
        Graph::new(self, source.into_columns(), target.into_columns(), true, &here("digraph"))
    }
}

fn error(code: &str, message: String) -> Diagnostic {
    Diagnostic::error(Class::Plan, code, message)
}

/// Raises if a frame lacks a column.
fn check_columns(frame: &Frame, wanted: &[String], at: &Span) {
    let columns = frame.columns();
    if let Some(name) = wanted.iter().find(|name| !columns.contains(name)) {
        let error = error("unknown-column", format!("no column `{name}`")).at(at.clone(), "");
        raise(error.note(format!("the columns are {}", columns.join(", "))));
    }
}

impl Graph {
    #[inline(never)]
    fn new(edges: &Frame, source: Vec<String>, target: Vec<String>, directed: bool, at: &Span) -> Graph {
        if source.is_empty() || source.len() != target.len() {
            let message = format!("an id has {} columns at one end and {} at the other", source.len(), target.len());
            raise(error("argument", message).at(at.clone(), "").help("name as many columns for both ends"));
        }
        check_columns(edges, &source, at);
        check_columns(edges, &target, at);
        let (columns, isolated) = (Vec::new(), Vec::new());
        let edges = edges.clone();
        Graph { edges, source, target, directed, weight: None, columns, isolated, has_all_nodes: false }
    }

    /// The graph as the session needs it.
    pub(crate) fn spec(&self) -> GraphSpec {
        let isolated = self.isolated.iter();
        GraphSpec {
            source: self.source.clone(),
            target: self.target.clone(),
            directed: self.directed,
            weight: self.weight.clone(),
            nodes: isolated.map(|(frame, columns)| NodeIds { frame: frame.id(), columns: columns.clone() }).collect(),
        }
    }

    /// A column of numbers as the weights of the edges: probabilities for ranks, lengths for paths by weight,
    /// similarities for communities. Calls whose default in NetworkX is `weight="weight"` use it.
    ///
    /// An expression becomes a column of the edges, under its name or `weight`: `g.weight(x!(hours = km / speed))`.
    #[track_caller]
    pub fn weight(&self, weight: impl IntoExprs) -> Graph {
        self.weighted(weight.into_exprs(), &here("weight"))
    }

    #[inline(never)]
    #[track_caller]
    fn weighted(&self, mut exprs: Vec<onrush_wire::Expr>, at: &Span) -> Graph {
        let (Some(expr), true) = (exprs.pop(), exprs.is_empty()) else {
            let message = "a graph has one weight: expected the name of a column, or one expression".to_string();
            raise(error("argument", message).at(at.clone(), ""));
        };
        let columns = self.edges.columns();
        let name = match &expr.kind {
            ExprKind::Column(name) => {
                check_columns(&self.edges, std::slice::from_ref(name), at);
                return Graph { weight: Some(name.clone()), ..self.clone() };
            }
            ExprKind::Alias(_, name) => name.clone(),
            _ => {
                let numbered = (2..).map(|number| format!("weight_{number}"));
                let mut names = std::iter::once("weight".to_string()).chain(numbered);
                names.find(|name| !columns.contains(name)).unwrap_or_default()
            }
        };
        if self.ends().contains(&name) {
            let message = format!("the weight is called `{name}`, and so is a column of ids");
            raise(
                error("duplicate-column", message).at(at.clone(), "").help("give it another name: `x!(length = ...)`"),
            );
        }
        let edges = self.edges.with_columns(Expr(expr.alias(name.as_str())));
        Graph { edges, weight: Some(name), ..self.clone() }
    }

    /// The same graph without weights.
    pub fn unweighted(&self) -> Graph {
        Graph { weight: None, ..self.clone() }
    }

    /// The same edges without directions.
    pub fn to_undirected(&self) -> Graph {
        Graph { directed: false, ..self.clone() }
    }

    /// The same edges the other way round.
    pub fn reverse(&self) -> Graph {
        Graph { source: self.target.clone(), target: self.source.clone(), ..self.clone() }
    }

    /// Whether edges have directions.
    pub fn is_directed(&self) -> bool {
        self.directed
    }

    /// Adds the columns of a frame to the nodes whose ids are in its column `id`: `g.with_nodes(&airports, "faa")`. A
    /// node without a row has null there. Conditions of [`Graph::filter_nodes`] and plots use them.
    #[track_caller]
    pub fn with_nodes(&self, nodes: impl IntoFrame, id: impl IntoColumns) -> Graph {
        self.nodes_from(nodes.to_frame(), id.into_columns(), false, &here("with_nodes"))
    }

    /// [`Graph::with_nodes`], where all ids of the frame are nodes, also those without an edge.
    #[track_caller]
    pub fn add_nodes(&self, nodes: impl IntoFrame, id: impl IntoColumns) -> Graph {
        self.nodes_from(nodes.to_frame(), id.into_columns(), true, &here("add_nodes"))
    }

    #[inline(never)]
    fn nodes_from(&self, nodes: Frame, id: Vec<String>, is_node: bool, at: &Span) -> Graph {
        self.check_width(id.len(), at);
        check_columns(&nodes, &id, at);
        let known =
            self.columns.iter().flat_map(|(frame, id)| frame.columns().into_iter().filter(|name| !id.contains(name)));
        let known: Vec<String> = known.collect();
        if let Some(name) = nodes.columns().iter().find(|name| !id.contains(name) && known.contains(name)) {
            let message = format!("the nodes have a column `{name}` already");
            raise(error("duplicate-column", message).at(at.clone(), "").help("`rename` or `drop` one of them first"));
        }
        let mut graph = self.clone();
        if is_node {
            graph.isolated.push((nodes.clone(), id.clone()));
        }
        graph.columns.push((nodes, id));
        graph
    }

    /// Raises if ids are given in another number of columns than the graph's.
    fn check_width(&self, given: usize, at: &Span) {
        if given != self.source.len() {
            let message = format!("an id of this graph has {} columns, and {given} are given", self.source.len());
            raise(error("argument", message).at(at.clone(), ""));
        }
    }

    /// The names of the id columns in results: `node`, or `node_1`, `node_2`, ...
    pub(crate) fn id_names(&self, name: &str) -> Vec<String> {
        match self.source.len() {
            1 => vec![name.to_string()],
            parts => (1..=parts).map(|part| format!("{name}_{part}")).collect(),
        }
    }

    /// The nodes in ascending order of their ids: `node`, `degree`, and the columns of [`Graph::with_nodes`]. One of
    /// these that is called `degree` becomes `degree_right`.
    #[track_caller]
    pub fn nodes(&self) -> Frame {
        self.with_columns_of_nodes(self.degree().frame())
    }

    /// The nodes with the columns of [`Graph::with_nodes`] alone.
    pub(crate) fn node_columns(&self) -> Frame {
        self.with_columns_of_nodes(self.degree().select(self.id_names("node")))
    }

    fn with_columns_of_nodes(&self, nodes: Frame) -> Frame {
        let ids = self.id_names("node");
        self.columns.iter().fold(nodes, |nodes, (frame, id)| {
            nodes.left_join(&frame.unique_by(id.clone()), on(ids.clone(), id.clone()))
        })
    }

    /// The frame of the edges.
    pub fn edges(&self) -> Frame {
        self.edges.clone()
    }

    /// The number of nodes.
    #[track_caller]
    pub fn number_of_nodes(&self) -> usize {
        self.degree().height()
    }

    /// The number of edges: rows without a null at an end.
    #[track_caller]
    pub fn number_of_edges(&self) -> usize {
        self.edges.drop_nulls_in(self.ends()).height()
    }

    /// All columns of ids.
    fn ends(&self) -> Vec<String> {
        self.source.iter().chain(&self.target).cloned().collect()
    }
}

impl Show for Graph {
    #[track_caller]
    fn content(&self) -> Option<Content> {
        let at = here("show");
        let request = GraphCardRequest { edges: self.edges.id(), graph: self.spec() };
        match session::expect(&Request::GraphCard(request), at.clone()) {
            Reply::GraphCard(card) => Some(Content::GraphCard(Box::new(card))),
            other => session::unexpected(&other, at),
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.directed { "digraph" } else { "graph" };
        write!(f, "{kind} of {} and {}", self.source.join(", "), self.target.join(", "))?;
        self.weight.as_ref().map_or(Ok(()), |weight| write!(f, ", weight {weight}"))
    }
}
