//! Files of graphs: edge lists, Matrix Market, GraphML, GEXF, node-link JSON, GML, Pajek and METIS.
//!
//! [`read`] gives two tables, the nodes and the edges, and [`write`](write()) takes them. Types are those that NetworkX
//! reads; an attribute that a node or an edge does not have is null. Knows no algorithm and no DataFusion.

mod edge_list;
mod error;
mod gexf;
mod gml;
mod graphml;
mod matrix_market;
mod metis;
mod node_link;
mod output;
mod pajek;
mod tables;
mod text;
mod tokens;
mod xml;

use std::path::Path;

pub use error::{Error, ErrorKind};
pub use tables::{CELL, GraphTables, most_cells};
#[doc(hidden)]
pub use text::load_up_to;

use error::Fault;
use output::GraphColumns;

/// A file format of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Two ids a line, separated by spaces or tabs, then the weight, or a Python dict as NetworkX writes it.
    EdgeList,
    /// GAP's `.el` and `.wel`: an edge list of a directed graph.
    Gap,
    /// An edge list with commas, with or without a header.
    Csv,
    /// An edge list with tabs, with or without a header.
    Tsv,
    MatrixMarket,
    GraphMl,
    Gexf,
    /// NetworkX's node-link JSON, also with `links` as before NetworkX 3.4.
    NodeLink,
    /// Read only.
    Gml,
    /// Read only.
    Pajek,
    /// Read only.
    Metis,
}

/// Format, its extensions.
const EXTENSIONS: &[(Format, &[&str])] = &[
    (Format::EdgeList, &["edgelist", "edges", "txt"]),
    (Format::Gap, &["el", "wel"]),
    (Format::Csv, &["csv"]),
    (Format::Tsv, &["tsv"]),
    (Format::MatrixMarket, &["mtx"]),
    (Format::GraphMl, &["graphml"]),
    (Format::Gexf, &["gexf"]),
    (Format::NodeLink, &["json"]),
    (Format::Gml, &["gml"]),
    (Format::Pajek, &["net"]),
    (Format::Metis, &["metis", "graph"]),
];

impl Format {
    /// The format that the extension of a path names, also before `.gz`. `None` if it names none.
    pub fn of(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?;
        if extension.eq_ignore_ascii_case("gz") {
            return Format::of(Path::new(path.file_stem()?));
        }
        Format::named(extension)
    }

    /// The format that a name of [`Format::names`] stands for, in letters of either case. `None` if it is another name.
    pub fn named(name: &str) -> Option<Format> {
        let has = |extensions: &[&str]| extensions.iter().any(|known| known.eq_ignore_ascii_case(name));
        EXTENSIONS.iter().find(|(_, extensions)| has(extensions)).map(|(format, _)| *format)
    }

    /// The names of all formats: their extensions, without the dot.
    pub fn names() -> impl Iterator<Item = &'static str> {
        EXTENSIONS.iter().flat_map(|(_, extensions)| extensions.iter().copied())
    }

    /// The name of the format in messages.
    pub fn name(self) -> &'static str {
        match self {
            Format::EdgeList => "edge list",
            Format::Gap => "GAP edge list",
            Format::Csv => "CSV",
            Format::Tsv => "TSV",
            Format::MatrixMarket => "Matrix Market",
            Format::GraphMl => "GraphML",
            Format::Gexf => "GEXF",
            Format::NodeLink => "node-link JSON",
            Format::Gml => "GML",
            Format::Pajek => "Pajek",
            Format::Metis => "METIS",
        }
    }

    fn for_path(path: &Path) -> Result<Format, Error> {
        Format::of(path).ok_or_else(|| {
            let known: Vec<String> = Format::names().map(|name| format!(".{name}")).collect();
            let found = match path.extension() {
                Some(extension) => format!("the extension `.{}`", extension.to_string_lossy()),
                None => "no extension".to_string(),
            };
            let message = format!("{found}, expected that of a file format of graphs");
            Fault::new(ErrorKind::Format, message)
                .help(format!("rename the file, or name the format; known are {}", known.join(", ")))
                .at_path(path)
        })
    }
}

/// Reads a graph. The format is that of the extension if it is `None`; a file whose name ends in `.gz` is
/// decompressed.
///
/// Edge lists do not say whether they are directed: GAP's are, others are undirected unless their first line is the
/// comment `# directed`. Attributes of the graph itself, visual attributes and ports are not read.
///
/// # Errors
/// If the file cannot be read, is not of the format, or uses something that two tables cannot hold, such as nested
/// graphs. The error names the file, the line, what was found and what was expected.
pub fn read(path: impl AsRef<Path>, format: Option<Format>) -> Result<GraphTables, Error> {
    let path = path.as_ref();
    // A format that nobody knows is an error before a large file is loaded.
    let format = format.map_or_else(|| Format::for_path(path), Ok)?;
    parse(path, Some(format), &load(path)?)
}

/// The content of a file, decompressed if its name ends in `.gz`: the first half of [`read`].
///
/// # Errors
/// If the file cannot be read, or has more than 2 GiB after decompression.
pub fn load(path: impl AsRef<Path>) -> Result<Vec<u8>, Error> {
    text::load(path.as_ref())
}

/// Reads a graph from the bytes that [`load`] gave: the second half of [`read`]. `path` says the format if it is
/// `None`, and is named in errors.
///
/// # Errors
/// If the bytes are not of the format: see [`read`].
pub fn parse(path: impl AsRef<Path>, format: Option<Format>, bytes: &[u8]) -> Result<GraphTables, Error> {
    parse_within(path, format, bytes, usize::MAX)
}

/// As [`parse`], with memory for so many cells of attributes ([`CELL`]).
///
/// # Errors
/// As there, and `out-of-memory` if nodes or edges have more cells.
pub fn parse_within(
    path: impl AsRef<Path>,
    format: Option<Format>,
    bytes: &[u8],
    cells: usize,
) -> Result<GraphTables, Error> {
    let path = path.as_ref();
    let format = format.map_or_else(|| Format::for_path(path), Ok)?;
    let tables = text::utf8(bytes).and_then(|text| match format {
        Format::EdgeList => edge_list::read(text, edge_list::Separator::Space, false, cells),
        Format::Gap => edge_list::read(text, edge_list::Separator::Space, true, cells),
        Format::Csv => edge_list::read(text, edge_list::Separator::Char(','), false, cells),
        Format::Tsv => edge_list::read(text, edge_list::Separator::Char('\t'), false, cells),
        Format::MatrixMarket => matrix_market::read(text),
        Format::GraphMl => graphml::read(text, cells),
        Format::Gexf => gexf::read(text, cells),
        Format::NodeLink => node_link::read(text, cells),
        Format::Gml => gml::read(text, cells),
        Format::Pajek => pajek::read(text, cells),
        Format::Metis => metis::read(text, cells),
    });
    tables.map_err(|fault| fault.at_path(path))
}

/// Writes a graph. The format is that of the extension if it is `None`; a file whose name ends in `.gz` is compressed.
///
/// A value of a type that the format lacks (timestamps, decimals) is written as a string or a float. A null is left
/// out.
///
/// # Errors
/// If the file cannot be written, or the format cannot hold the graph. Edge lists have no attributes of nodes and no
/// isolated nodes, some formats no ids with spaces or nested values. Nothing is left out silently.
pub fn write(path: impl AsRef<Path>, format: Option<Format>, graph: &GraphTables) -> Result<(), Error> {
    let path = path.as_ref();
    let bytes = encode(path, format, graph)?;
    let failed = |why: onrush_wire::Diagnostic| Error::io("write", path, std::io::Error::other(why.message));
    onrush_files::write(path, &bytes).map(drop).map_err(failed)
}

/// The bytes that [`write()`] would write.
///
/// # Errors
/// If the format cannot hold the graph.
pub fn encode(path: impl AsRef<Path>, format: Option<Format>, graph: &GraphTables) -> Result<Vec<u8>, Error> {
    let path = path.as_ref();
    let format = format.map_or_else(|| Format::for_path(path), Ok)?;
    let columns = GraphColumns::of(graph);
    let written = columns.and_then(|graph| match format {
        Format::EdgeList | Format::Gap => edge_list::write(&graph, edge_list::Separator::Space, format == Format::Gap),
        Format::Csv => edge_list::write(&graph, edge_list::Separator::Char(','), false),
        Format::Tsv => edge_list::write(&graph, edge_list::Separator::Char('\t'), false),
        Format::MatrixMarket => matrix_market::write(&graph),
        Format::GraphMl => graphml::write(&graph),
        Format::Gexf => gexf::write(&graph),
        Format::NodeLink => node_link::write(&graph),
        Format::Gml | Format::Pajek | Format::Metis => {
            let message = format!("{} is read, not written", format.name());
            Err(Fault::new(ErrorKind::Format, message)
                .help("write GraphML, GEXF, node-link JSON, Matrix Market or a CSV"))
        }
    });
    let text = written.map_err(|fault| fault.at_path(path))?;
    text::encode(path, text)
}
