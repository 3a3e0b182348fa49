//! Calls of the table of algorithms (`kernel/wire/src/graph/table.rs`): parameters in, columns out.

pub(crate) mod centrality;
pub(crate) mod communities;
mod components;
mod degrees;
mod distances;
pub(crate) mod layouts;
pub(crate) mod pairs;
pub(crate) mod paths;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use onrush_graph::Run;
use onrush_wire::Diagnostic;
use onrush_wire::graph::GraphCall;

use crate::arguments::{Arguments, Columns, unknown_algorithm};
use crate::error::internal;
use crate::index::Index;

/// Some columns if the algorithm is one of the module's.
type MaybeColumns = Result<Option<Columns>, Diagnostic>;

/// The result of a call. `frames` are the rows of those parameters that are frames, by the names of the parameters.
///
/// # Errors
/// Errors of the algorithm, and unknown nodes.
pub fn call(
    index: &Index,
    call: &GraphCall,
    frames: &[(String, RecordBatch)],
    run: &Run<'_>,
) -> Result<RecordBatch, Diagnostic> {
    let arguments = Arguments::new(index, call, frames, run)?;
    check_exact(&arguments)?;
    let modules = [
        degrees::columns,
        centrality::columns,
        paths::columns,
        distances::columns,
        components::columns,
        communities::columns,
        pairs::columns,
        layouts::columns,
    ];
    for columns in modules {
        if let Some(columns) = columns(&arguments)? {
            return batch(columns);
        }
    }
    Err(unknown_algorithm(&call.algorithm))
}

/// The error of a call that compares sums of weights, if a weight is an integer that f64 does not have. Spanning trees
/// compare weights alone.
///
/// # Errors
/// If it is.
pub(crate) fn check_exact(args: &Arguments<'_>) -> Result<(), Diagnostic> {
    let name = args.call.algorithm.as_str();
    let adds = match name {
        "single_source_dijkstra" | "multi_source_dijkstra" | "dijkstra_path" | "dijkstra_path_length" => true,
        "single_source_bellman_ford" | "bellman_ford_path" | "bellman_ford_path_length" | "negative_edge_cycle" => true,
        "shortest_path"
        | "average_shortest_path_length"
        | "closeness_centrality"
        | "harmonic_centrality"
        | "betweenness_centrality"
        | "edge_betweenness_centrality" => args.get("weighted")?,
        _ => false,
    };
    if adds { args.index.check_exact(name) } else { Ok(()) }
}

pub(crate) fn batch(columns: Columns) -> Result<RecordBatch, Diagnostic> {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(internal)
}
