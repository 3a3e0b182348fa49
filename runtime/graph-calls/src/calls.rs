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

use crate::arguments::{Arguments, Columns};
use crate::error::internal;
use crate::index::Index;

/// Some columns if the algorithm is one of the module's.
type MaybeColumns = Result<Option<Columns>, Diagnostic>;

/// The result of a call. `frames` are the rows of those parameters that are frames, by the names of the parameters.
///
/// # Errors
/// Those of the algorithm, and unknown nodes.
pub fn call(
    index: &Index,
    call: &GraphCall,
    frames: &[(String, RecordBatch)],
    run: &Run<'_>,
) -> Result<RecordBatch, Diagnostic> {
    let arguments = Arguments { index, call, frames, run };
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
    Err(internal(format!("the engine knows no algorithm `{}`", call.algorithm)))
}

pub(crate) fn batch(columns: Columns) -> Result<RecordBatch, Diagnostic> {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(internal)
}
