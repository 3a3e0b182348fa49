//! Graphs over frames of edges: which columns are a graph, and the table of algorithms. A call of an algorithm is a
//! step of a plan.

mod table;

use std::fmt::{self, Display};

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

/// An algorithm with the parameters that were set. Nodes are given as values of the user's ids: one for each column of
/// an id, in their order, under one name.
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
}

/// The result of an algorithm: a frame, or the only value of a frame of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphResult {
    Frame,
    Float,
    Int,
    Bool,
}

/// The value of a parameter that was not set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GraphDefault {
    /// The parameter is an argument, which must be given.
    Required,
    /// The algorithm runs without the option.
    None,
    Float(f64),
    Int(i64),
    Bool(bool),
    Text(&'static str),
}

/// As the documentation has it: `0.85`, `1e-6`, `none`.
impl Display for GraphDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphDefault::Required => Ok(()),
            GraphDefault::None => f.write_str("none"),
            GraphDefault::Float(value) if value.abs() < 1e-3 => write!(f, "{value:e}"),
            GraphDefault::Float(value) => write!(f, "{value:?}"),
            GraphDefault::Int(value) => value.fmt(f),
            GraphDefault::Bool(value) => value.fmt(f),
            GraphDefault::Text(value) => f.write_str(value),
        }
    }
}

/// A parameter of an algorithm. `kind` is `node`, `frame` or `int` for an argument, which must be given, and else
/// `Float`, `Int`, `Bool`, `Text` or `Frame` for an option.
#[derive(Clone, Copy, Debug)]
pub struct GraphParam {
    pub name: &'static str,
    pub kind: &'static str,
    pub default: GraphDefault,
    pub doc: &'static str,
}

impl GraphParam {
    /// Whether it must be given.
    pub fn is_argument(&self) -> bool {
        self.default == GraphDefault::Required
    }
}

/// An algorithm of the table.
#[derive(Clone, Copy, Debug)]
pub struct GraphAlgorithm {
    pub name: &'static str,
    pub doc: &'static str,
    pub params: &'static [GraphParam],
    pub result: GraphResult,
    /// The method for a call with options, of an algorithm with a single result and options.
    pub with_options: Option<&'static str>,
}

impl GraphAlgorithm {
    pub fn named(name: &str) -> Option<&'static GraphAlgorithm> {
        ALGORITHMS.iter().find(|algorithm| algorithm.name == name)
    }

    pub fn param(&self, name: &str) -> Option<&'static GraphParam> {
        self.params.iter().find(|param| param.name == name)
    }
}

macro_rules! default_of {
    ($kind:ident none) => {
        GraphDefault::None
    };
    ($kind:ident $value:tt) => {
        GraphDefault::$kind($value)
    };
}

macro_rules! rows_of_table {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $type:ident ($($argument:ident: $argument_kind:ident),*) {
            $( $(#[doc = $param_doc:literal])* $param:ident: $kind:ident = $default:tt; )*
        } -> $result:ident $(, $with:ident)?;
    )*) => {
        &[$(GraphAlgorithm {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),*),
            params: &[
                $(GraphParam {
                    name: stringify!($argument),
                    kind: stringify!($argument_kind),
                    default: GraphDefault::Required,
                    doc: "",
                },)*
                $(GraphParam {
                    name: stringify!($param),
                    kind: stringify!($kind),
                    default: default_of!($kind $default),
                    doc: concat!($($param_doc, "\n"),*),
                }),*
            ],
            result: GraphResult::$result,
            with_options: only(&[$(stringify!($with))?]),
        }),*]
    };
}

const fn only(names: &[&'static str]) -> Option<&'static str> {
    match names {
        [name] => Some(*name),
        _ => None,
    }
}

static ALGORITHMS: &[GraphAlgorithm] = crate::graph_algorithms!(rows_of_table);

/// All algorithms.
pub fn table() -> &'static [GraphAlgorithm] {
    ALGORITHMS
}
