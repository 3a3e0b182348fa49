//! Files of graphs as frames: `runtime/graph-io` reads them, each part is a table.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use onrush_frame::Table;
use onrush_graph_io::{Format, GraphTables};
use onrush_wire::plan::GraphPart;
use onrush_wire::{Class, Diagnostic};

use crate::cache::FileState;
use crate::memory::Reservation;
use crate::write::write_bytes;

/// Memory that reading takes for each byte of a file: XML as strings, and the columns.
const MEMORY: u64 = 4;

/// The format that a name stands for.
fn format(name: Option<&str>) -> Result<Option<Format>, Diagnostic> {
    let Some(name) = name else { return Ok(None) };
    let extension = Path::new("x").with_extension(name);
    Format::of(&extension).map(Some).ok_or_else(|| {
        Diagnostic::error(Class::Plan, "argument", format!("no format of graphs is called `{name}`")).help(
            "known are edgelist, el, wel, csv, tsv, mtx, graphml, gexf, json, gml, net and metis: the extensions of files",
        )
    })
}

/// A part of a graph.
pub(crate) fn read(
    files: &[FileState],
    name: Option<&str>,
    part: GraphPart,
    taken: &Reservation<'_>,
) -> Result<Table, Diagnostic> {
    let format = format(name)?;
    let [file] = files else {
        let message = format!("{} files match, and a graph is read from one", files.len());
        return Err(Diagnostic::error(Class::Plan, "argument", message));
    };
    taken.take(&file.path, file.bytes * MEMORY)?;
    let GraphTables { directed, nodes, edges } =
        onrush_graph_io::read(&file.path, format).map_err(|e| e.diagnostic())?;
    let batch = match part {
        GraphPart::Nodes => nodes,
        GraphPart::Edges => edges,
        GraphPart::Kind => {
            let field = |name: &str| Field::new(name, DataType::Boolean, false);
            let schema = Arc::new(Schema::new(vec![field("directed"), field("weighted")]));
            let weighted = edges
                .column_by_name("weight")
                .is_some_and(|weights| weights.data_type().is_numeric() && weights.null_count() == 0);
            let column = |value: bool| Arc::new(BooleanArray::from(vec![value])) as _;
            RecordBatch::try_new(schema, vec![column(directed), column(weighted)])
                .map_err(|e| Diagnostic::error(Class::Internal, "internal", e.to_string()))?
        }
    };
    Ok(Table::new(batch.schema(), vec![batch]))
}

/// Writes a graph. Gives the path and the bytes.
///
/// # Errors
/// If the folder is missing, the format is unknown or cannot hold the graph, or the file cannot be written.
pub fn write_graph(
    path: &str,
    folder: &str,
    name: Option<&str>,
    graph: &GraphTables,
) -> Result<(String, u64), Diagnostic> {
    let format = format(name)?;
    let bytes = onrush_graph_io::encode(path, format, graph).map_err(|e| e.diagnostic())?;
    let written = write_bytes(path, folder, &bytes)?;
    Ok((written.path.to_string_lossy().into_owned(), written.bytes))
}
