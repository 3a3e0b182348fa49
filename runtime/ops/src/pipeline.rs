//! Pipelines: stages with their joins and windows, and the sink of their rows. A stage runs over the rows or the
//! groups of the stage before.

pub mod dictionary_propagation;
pub mod lookup;

use std::sync::Arc;

use crate::column::dictionary::Dictionary;
use crate::ir::aggregate::{Accumulator, AggregateOp};
use crate::ir::expr::{ExprGraph, NodeId, Op};
use crate::pipeline::lookup::Lookup;

/// Columns, and how many rows of them are wanted.
#[derive(Clone, Debug)]
pub struct Output {
    pub columns: Vec<NodeId>,
    /// Rows that are left out at the start.
    pub skip: u64,
    pub limit: Option<u64>,
}

/// The rows with the lowest keys, in the order in which they came. At least as many as are wanted, and all that are
/// equal at the edge.
#[derive(Clone, Debug)]
pub struct TopK {
    pub columns: Vec<NodeId>,
    /// An unsigned integer of 64 bits, never null.
    pub key: NodeId,
    pub rows: u64,
}

/// A sort key.
#[derive(Clone, Debug)]
pub struct SortKey {
    pub value: NodeId,
    /// An unsigned integer of 64 bits, never null.
    pub key: NodeId,
    /// Whether the value is null, as such a key. It is compared first, if nulls are possible.
    pub absent: NodeId,
    pub descending: bool,
}

/// All rows in an order, the first key the most important. Equal rows keep the order in which they came. The two zeros
/// of a float are an exception if nothing else is wanted of the float.
#[derive(Clone, Debug)]
pub struct Sort {
    pub columns: Vec<NodeId>,
    pub keys: Vec<SortKey>,
    pub skip: u64,
    pub limit: Option<u64>,
}

/// A quantile of the values of all rows, nulls left out; null if there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    /// A node of kind `f64`.
    pub of: NodeId,
    /// The bits of a float from 0 to 1.
    pub rank: u64,
    pub how: Interpolation,
}

/// Interpolation between the two nearest values, as `expr/quantile.rs` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    Nearest,
    Lower,
    Higher,
    Midpoint,
    Linear,
}

/// The destination of the rows of a pipeline.
#[derive(Clone, Debug)]
pub enum Sink {
    Output(Output),
    Sort(Sort),
    TopK(TopK),
    /// The next stage's inputs are the keys, then the accumulators, then the quantiles, which need that there are no
    /// keys.
    Aggregate {
        keys: Vec<NodeId>,
        accumulators: Vec<Accumulator>,
        quantiles: Vec<Quantile>,
    },
}

/// Kinds of joins: how a probe row becomes output rows by its matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Semi, anti and mark joins: the row stays one row, and it is known whether it has a match.
    Semi,
    /// One row for each match.
    Inner,
    /// One row for each match, and the probe row itself without a match.
    Outer,
    /// As `Outer`, followed by the build-side rows without a match.
    Full,
}

impl JoinKind {
    /// Whether a probe row without a match stays.
    pub(crate) fn keeps(self) -> bool {
        matches!(self, JoinKind::Outer | JoinKind::Full)
    }
}

/// The build side of a join, and how a pipeline probes it.
#[derive(Clone)]
pub struct Join {
    /// The number of the build side among the tables that the pipeline joins.
    pub table: usize,
    /// Over that table's columns.
    pub graph: ExprGraph,
    pub keys: Vec<NodeId>,
    /// The node of the pipeline that probes; its arguments are the probe keys.
    pub probe: NodeId,
    /// Whether null is a key like any other one.
    pub nulls_equal: bool,
    pub how: JoinKind,
    /// The residual condition on both rows, in terms of the pipeline's nodes. A residual condition of an inner join is
    /// a filter instead.
    pub residual: Option<NodeId>,
    /// The rows of the pipeline that are joined at all.
    pub probe_filter: Option<NodeId>,
}

impl Join {
    /// Whether all pairs of rows are looked at: there are no keys.
    pub fn is_all(&self) -> bool {
        self.keys.iter().all(|key| matches!(self.graph.node(*key).op, Op::Literal(_)))
    }
}

/// The windows of a stage, whose table is sorted by partition and order.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Nodes over the table's columns alone.
    pub partition: Vec<NodeId>,
    pub order: Vec<NodeId>,
    /// From the beginning of a row's partition to the row, by the number in [`crate::ir::expr::Op::Prefix`].
    pub prefix: Vec<Accumulator>,
    /// From the row to the end of its partition, by the number in [`crate::ir::expr::Op::Suffix`].
    pub suffix: Vec<Accumulator>,
    /// Accumulators of frames, by the number in [`crate::ir::expr::Op::Sliding`].
    pub sliding: Vec<Accumulator>,
    /// Whether a frame may have many rows: then the accumulators of spans of rows are computed before.
    pub block_tree: bool,
}

impl Window {
    /// Values that are summed in 128 bits, along rows from an end of their partition: in fewer if it is known that
    /// these are enough.
    pub fn sums(&self) -> Vec<NodeId> {
        let all = self.prefix.iter().chain(&self.suffix);
        all.filter(|a| a.op == AggregateOp::SumI128).filter_map(|a| a.of).collect()
    }

    /// The nodes of a graph that its accumulators and keys need.
    pub fn roots(&self) -> Vec<NodeId> {
        let values = self.prefix.iter().chain(&self.suffix).chain(&self.sliding).filter_map(|a| a.of);
        self.partition.iter().chain(&self.order).copied().chain(values).collect()
    }
}

/// A pipeline: what is computed of each row, which rows count, and where they go.
#[derive(Clone)]
pub struct Stage {
    pub graph: ExprGraph,
    pub joins: Vec<Join>,
    /// Only in a stage without joins that reads a table.
    pub window: Option<Window>,
    /// How many rows each row becomes, a number of 32 bits that is never null. The same holds as of windows, of which
    /// there is none.
    pub repeat: Option<NodeId>,
    /// The columns of `ListOp::Struct`, by their places in the stage's table; only in a stage that goes over one,
    /// without joins.
    pub structs: Vec<Vec<u32>>,
    pub lookups: Vec<Lookup>,
    /// The lists of [`Op::ToDictIndex`].
    pub texts: Vec<Arc<Dictionary>>,
    pub filter: Option<NodeId>,
    pub sink: Sink,
}

impl Stage {
    /// The nodes by which its rows are grouped or sorted.
    pub(crate) fn keys(&self) -> Vec<NodeId> {
        match &self.sink {
            Sink::Aggregate { keys, .. } => keys.clone(),
            Sink::Sort(sort) => sort.keys.iter().map(|key| key.value).collect(),
            Sink::Output(_) | Sink::TopK(_) => Vec::new(),
        }
    }
}

/// The graph that reads a fragment's table of this number: the first table is the source, the others are joined.
pub fn graph_of_table(stages: &[Stage], table: usize) -> Option<&ExprGraph> {
    match table {
        0 => stages.first().map(|stage| &stage.graph),
        _ => stages.iter().flat_map(|stage| &stage.joins).find(|join| join.table + 1 == table).map(|join| &join.graph),
    }
}

/// An estimate of the rows that stages look at, over a table of so many and those that they join. More if each row is
/// looked at often.
pub fn estimate_rows(stages: &[Stage], rows: &[u64]) -> u64 {
    /// For each row of an order, and of a window, whose frames may have a thousand.
    const SORTED: u64 = 8;
    const WINDOW: u64 = 256;
    let all: u64 = rows.iter().sum();
    let mut most = all;
    for stage in stages {
        for join in stage.joins.iter().filter(|join| join.is_all()) {
            let right = rows.get(join.table + 1).copied().unwrap_or_default();
            most = most.max(all.saturating_mul(right));
        }
        if stage.window.is_some() {
            most = most.max(all.saturating_mul(WINDOW));
        }
        if matches!(stage.sink, Sink::Sort(_)) {
            most = most.max(all.saturating_mul(SORTED));
        }
    }
    most
}
