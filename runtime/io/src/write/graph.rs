//! Files of graphs: encoded by `runtime/graph-io`, written as all files are.

use onrush_graph_io::GraphTables;
use onrush_wire::Diagnostic;

use super::write_bytes;
use crate::formats::graph::format;

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
