//! Graphs: a view of a frame of edges, with the algorithms of NetworkX. Results are frames with the user's ids.

use std::cell::OnceCell;
use std::fmt;
use std::ops::Deref;

use onrush_wire::display::Content;
use onrush_wire::graph::{GraphCall, GraphSpec};
use onrush_wire::plan::Op;
use onrush_wire::{Class, Diagnostic, ExprKind, Span, Value};

use crate::display::Show;
use crate::expr::{ToExpr, col};
use crate::frame::Frame;
use crate::raise::{here, raise};

/// A graph over a frame of edges: `flights.graph("origin", "dest")`. Every row is an edge; a row with a null at an end is left out.
/// Nodes are the ids that occur. The handle is cheap to clone.
#[derive(Clone)]
#[must_use]
pub struct Graph {
    edges: Frame,
    spec: GraphSpec,
}

impl Frame {
    /// An undirected graph whose edges are the rows, between the ids of two columns.
    #[track_caller]
    pub fn graph(&self, source: impl Into<String>, target: impl Into<String>) -> Graph {
        Graph::new(self, source.into(), target.into(), false, here("graph"))
    }

    /// A directed graph whose edges are the rows, from the ids of `source` to those of `target`.
    #[track_caller]
    pub fn digraph(&self, source: impl Into<String>, target: impl Into<String>) -> Graph {
        Graph::new(self, source.into(), target.into(), true, here("digraph"))
    }
}

impl Graph {
    #[inline(never)]
    fn new(edges: &Frame, source: String, target: String, directed: bool, at: Span) -> Graph {
        let graph = Graph { edges: edges.clone(), spec: GraphSpec { source, target, directed, weight: None } };
        graph.check(&at);
        graph
    }

    /// Raises if a column does not exist.
    fn check(&self, at: &Span) {
        let columns = self.edges.columns();
        let GraphSpec { source, target, weight, .. } = &self.spec;
        for name in [Some(source), Some(target), weight.as_ref()].into_iter().flatten() {
            if !columns.contains(name) {
                let error = Diagnostic::error(Class::Plan, "unknown-column", format!("no column `{name}`"));
                raise(error.at(at.clone(), "").note(format!("the columns are {}", columns.join(", "))));
            }
        }
    }

    /// A column of numbers as the weights of the edges: probabilities for ranks, lengths for paths by weight.
    #[track_caller]
    pub fn weight(&self, column: impl Into<String>) -> Graph {
        let graph = self.with(|spec| spec.weight = Some(column.into()));
        graph.check(&here("weight"));
        graph
    }

    fn with(&self, change: impl FnOnce(&mut GraphSpec)) -> Graph {
        let mut graph = self.clone();
        change(&mut graph.spec);
        graph
    }

    /// The same graph without weights.
    pub fn unweighted(&self) -> Graph {
        self.with(|spec| spec.weight = None)
    }

    /// The same edges without directions.
    pub fn to_undirected(&self) -> Graph {
        self.with(|spec| spec.directed = false)
    }

    /// The same edges the other way round.
    pub fn reverse(&self) -> Graph {
        self.with(|spec| std::mem::swap(&mut spec.source, &mut spec.target))
    }

    /// The frame of the edges.
    pub fn edges(&self) -> Frame {
        self.edges.clone()
    }

    /// The graph of the edges for which a condition holds: `g.filter_edges(x!(distance < 500))`.
    #[track_caller]
    pub fn filter_edges(&self, condition: impl crate::expr::IntoExprs) -> Graph {
        Graph { edges: self.edges.filter(condition), spec: self.spec.clone() }
    }

    /// The number of nodes.
    #[track_caller]
    pub fn number_of_nodes(&self) -> usize {
        self.nodes().height()
    }

    /// The number of edges: rows without a null at an end.
    #[track_caller]
    pub fn number_of_edges(&self) -> usize {
        self.edges.drop_nulls_in([self.spec.source.as_str(), self.spec.target.as_str()]).height()
    }

    fn call(&self, algorithm: &str, nodes: Vec<(&str, Value)>, at: Span) -> Call {
        let params = nodes.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        let call = GraphCall { algorithm: algorithm.to_string(), params };
        Call { graph: self.clone(), call, at, frame: OnceCell::new() }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GraphSpec { source, target, directed, weight } = &self.spec;
        let kind = if *directed { "digraph" } else { "graph" };
        write!(f, "{kind} of {source} and {target}")?;
        weight.as_ref().map_or(Ok(()), |weight| write!(f, ", weight {weight}"))
    }
}

/// A call of an algorithm, which is sent when its frame is first used.
#[derive(Clone)]
struct Call {
    graph: Graph,
    call: GraphCall,
    at: Span,
    frame: OnceCell<Frame>,
}

impl Call {
    #[inline(never)]
    fn frame(&self) -> &Frame {
        self.frame.get_or_init(|| {
            let Graph { edges, spec } = &self.graph;
            let op = Op::Graph { input: edges.id(), graph: spec.clone(), call: self.call.clone() };
            Frame::step(op, self.at.clone())
        })
    }

    fn set(mut self, name: &str, value: Value) -> Call {
        self.call.params.push((name.to_string(), value));
        self.frame = OnceCell::new();
        self
    }
}

/// The value of a literal that names a node.
#[inline(never)]
fn node(expr: onrush_wire::Expr, at: &Span) -> Value {
    match &expr.kind {
        ExprKind::Literal(value) => value.clone(),
        _ => raise(
            Diagnostic::error(Class::Plan, "argument", "a node is given by its id, and this is an expression")
                .at(at.clone(), ""),
        ),
    }
}

macro_rules! calls {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $type:ident ($($node:ident),*) {
            $( $(#[doc = $param_doc:literal])* $param:ident: $kind:ident = $default:literal; )*
        } -> $result:ident;
    )*) => {$(
        call! { $result [$(#[doc = $doc])*] $name $type ($($node),*) { $( [$(#[doc = $param_doc])*] $param $kind )* } }
    )*};
}

macro_rules! call {
    (Frame [$($doc:tt)*] $name:ident $type:ident ($($node:ident),*) { $( [$($param_doc:tt)*] $param:ident $kind:ident )* }) => {
        $($doc)*
        ///
        /// A frame: parameters can be set before it is first used.
        #[derive(Clone)]
        pub struct $type(Call);

        impl $type {
            $( setter!([$($param_doc)*] $param $kind); )*

            /// The result as a frame.
            #[track_caller]
            pub fn frame(&self) -> Frame {
                self.0.frame().clone()
            }
        }

        impl Deref for $type {
            type Target = Frame;

            fn deref(&self) -> &Frame {
                self.0.frame()
            }
        }

        impl Show for $type {
            #[track_caller]
            fn content(&self) -> Option<Content> {
                self.0.frame().content()
            }
        }

        impl From<$type> for Frame {
            fn from(call: $type) -> Frame {
                call.frame()
            }
        }

        impl Graph {
            $($doc)*
            #[track_caller]
            pub fn $name(&self $(, $node: impl ToExpr)*) -> $type {
                let at = here(stringify!($name));
                $( let $node = (stringify!($node), node($node.into_expr().0, &at)); )*
                $type(self.call(stringify!($name), vec![$($node),*], at))
            }
        }
    };
    ($result:ident [$($doc:tt)*] $name:ident $type:ident ($($node:ident),*) {}) => {
        impl Graph {
            $($doc)*
            #[track_caller]
            pub fn $name(&self $(, $node: impl ToExpr)*) -> scalar!($result) {
                let at = here(stringify!($name));
                $( let $node = (stringify!($node), node($node.into_expr().0, &at)); )*
                self.call(stringify!($name), vec![$($node),*], at).frame().value(col(stringify!($name)))
            }
        }
    };
}

macro_rules! scalar {
    (Float) => {
        f64
    };
    (Int) => {
        i64
    };
    (Bool) => {
        bool
    };
}

macro_rules! setter {
    ([$($doc:tt)*] $param:ident Float) => {
        $($doc)*
        pub fn $param(self, value: f64) -> Self {
            Self(self.0.set(stringify!($param), Value::Float(value)))
        }
    };
    ([$($doc:tt)*] $param:ident Int) => {
        $($doc)*
        pub fn $param(self, value: usize) -> Self {
            Self(self.0.set(stringify!($param), Value::Int(i64::try_from(value).unwrap_or(i64::MAX))))
        }
    };
}

onrush_wire::graph_algorithms!(calls);
