//! Graphs from and to files.

use std::path::Path;

use onrush_wire::Span;
use onrush_wire::plan::{Format, GraphPart, Op, Source};
use onrush_wire::session::{Reply, Request};
use onrush_wire::visual::GraphWrite;

use super::Graph;
use crate::expr::col;
use crate::frame::{Frame, folder, path_text};
use crate::raise::here;
use crate::session;

/// Reads a graph: GraphML, GEXF, GML, Pajek, Matrix Market, METIS, node-link JSON, or an edge list. The extension says
/// the format (`.graphml`, `.gexf`, `.gml`, `.net`, `.mtx`, `.metis`, `.json`, `.edgelist`, `.el`, `.wel`, `.csv`,
/// `.tsv`), and `.gz` may follow.
///
/// Edges have the columns `source` and `target`, a column `weight` if the file has weights, and the attributes of
/// edges. Attributes of nodes are columns of nodes, as after [`Graph::with_nodes`]; nodes without an edge are nodes.
#[track_caller]
pub fn read_graph(path: impl AsRef<Path>) -> Graph {
    read(path_text(path), None, &here("read_graph"))
}

#[inline(never)]
fn read(path: String, format: Option<String>, at: &Span) -> Graph {
    let folder = folder();
    let part = |part: GraphPart| {
        let format = Format::Graph { format: format.clone(), part };
        let source = Source { path: path.clone(), folder: folder.clone(), format, cluster: None };
        Frame::step(Op::Read(source), at.clone())
    };
    let (kind, edges, nodes) = (part(GraphPart::Kind), part(GraphPart::Edges), part(GraphPart::Nodes));
    let ends = |name: &str| vec![name.to_string()];
    let graph = Graph::new(&edges, ends("source"), ends("target"), kind.value(col("directed")), at);
    let graph = graph.nodes_from(nodes, ends("node"), true, at);
    match kind.value(col("weighted")) {
        true => graph.weight("weight"),
        false => graph,
    }
}

/// A reader of graphs whose files do not say their format: `GraphReader::format("graphml").read("export.xml")`.
#[derive(Clone, Debug)]
#[must_use]
pub struct GraphReader {
    format: String,
}

impl GraphReader {
    /// The extension that stands for the format: see [`read_graph`].
    pub fn format(format: &str) -> Self {
        GraphReader { format: format.to_string() }
    }

    /// Reads the file.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> Graph {
        read(path_text(path), Some(self.format.clone()), &here("read"))
    }
}

impl Graph {
    /// Writes the graph: GraphML, GEXF, node-link JSON, Matrix Market or an edge list, as the extension says (see
    /// [`read_graph`]). Gives the number of edges. Columns of edges and of [`Graph::with_nodes`] become attributes; a
    /// format that cannot hold them is an error.
    #[track_caller]
    pub fn write_graph(&self, path: impl AsRef<Path>) -> u64 {
        let at = here("write_graph");
        let nodes = (!self.columns.is_empty()).then(|| self.node_columns());
        let write = GraphWrite {
            edges: self.edges.id(),
            graph: self.spec(),
            nodes: nodes.as_ref().map(Frame::id),
            path: path_text(path),
            folder: folder(),
            format: None,
        };
        match session::expect(&Request::WriteGraph(write), at.clone()) {
            Reply::Written { rows, path, .. } => {
                crate::process::crash_record::wrote(path.as_bytes());
                rows
            }
            other => session::unexpected(&other, at),
        }
    }
}
