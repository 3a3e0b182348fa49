//! Graphs over frames of edges: which columns are a graph, and the table of algorithms. A call of an algorithm is a step of a plan.

mod table;

use serde::{Deserialize, Serialize};

use crate::FrameId;
use crate::value::Value;

/// Columns of a frame of edges as a graph. Every row is an edge; rows with a null at an end are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphSpec {
    /// The columns of the ids at the two ends: one or several.
    pub source: Vec<String>,
    pub target: Vec<String>,
    pub directed: bool,
    /// The column of the weights.
    pub weight: Option<String>,
    /// Frames whose ids are nodes too, also those without an edge.
    pub nodes: Vec<NodeIds>,
}

/// The columns of the ids in a frame of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeIds {
    pub frame: FrameId,
    pub columns: Vec<String>,
}

/// An algorithm with the parameters that were set. Nodes are given as values of the user's ids: one for each column of an id, in
/// their order, under one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphCall {
    pub algorithm: String,
    pub params: Vec<(String, Value)>,
    /// Parameters that are frames.
    pub frames: Vec<(String, FrameId)>,
}

impl GraphCall {
    pub fn param(&self, name: &str) -> Option<&Value> {
        self.params.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// All values of a parameter: the parts of an id.
    pub fn values(&self, name: &str) -> Vec<&Value> {
        self.params.iter().filter(|(known, _)| known == name).map(|(_, value)| value).collect()
    }

    /// A parameter that is a float, if it was set.
    pub fn float(&self, name: &str) -> Option<f64> {
        match self.param(name)? {
            Value::Float(value) => Some(*value),
            Value::Int(value) => Some(*value as f64),
            _ => None,
        }
    }

    /// A parameter that is a count, if it was set.
    pub fn count(&self, name: &str) -> Option<usize> {
        match self.param(name)? {
            Value::Int(value) => Some(usize::try_from(*value).unwrap_or(0)),
            _ => None,
        }
    }
}

/// What an algorithm gives: a frame, or the only value of a frame of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphResult {
    Frame,
    Float,
    Int,
    Bool,
}

/// A parameter of an algorithm. `kind` is `node`, `frame` or `int` for an argument, which must be given, and else `Float`, `Int`, `Bool`,
/// `Text` or `Frame` for an option. `default` is empty for an argument, and `none` if an option has no default.
#[derive(Clone, Copy, Debug)]
pub struct GraphParam {
    pub name: &'static str,
    pub kind: &'static str,
    pub default: &'static str,
    pub doc: &'static str,
}

impl GraphParam {
    /// Whether it must be given.
    pub fn is_argument(&self) -> bool {
        self.default.is_empty()
    }
}

/// An algorithm of the table.
#[derive(Clone, Debug)]
pub struct GraphAlgorithm {
    pub name: &'static str,
    pub doc: &'static str,
    pub params: Vec<GraphParam>,
    pub result: GraphResult,
    /// The method for a call with options, of an algorithm with a single result and options.
    pub with_options: Option<&'static str>,
}

macro_rules! rows_of_table {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $type:ident ($($argument:ident: $argument_kind:ident),*) {
            $( $(#[doc = $param_doc:literal])* $param:ident: $kind:ident = $default:literal; )*
        } -> $result:ident $(, $with:ident)?;
    )*) => {
        vec![$(GraphAlgorithm {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),*),
            params: vec![
                $(GraphParam {
                    name: stringify!($argument),
                    kind: stringify!($argument_kind),
                    default: "",
                    doc: "",
                },)*
                $(GraphParam {
                    name: stringify!($param),
                    kind: stringify!($kind),
                    default: $default,
                    doc: concat!($($param_doc, "\n"),*),
                }),*
            ],
            result: GraphResult::$result,
            with_options: [$(stringify!($with))?].first().copied(),
        }),*]
    };
}

/// All algorithms.
pub fn table() -> Vec<GraphAlgorithm> {
    crate::graph_algorithms!(rows_of_table)
}
