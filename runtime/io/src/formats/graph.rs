//! Files of graphs as frames: `runtime/graph-io` reads them, each part is a table.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use onrush_frame::Table;
use onrush_graph_io::{Format, GraphTables};
use onrush_wire::plan::GraphPart;
use onrush_wire::{Class, Diagnostic};
use parking_lot::Mutex;

use crate::file::FileState;
use crate::memory::Reservation;

/// Memory that reading takes for each byte of a decompressed file: XML as strings, and the columns.
const MEMORY: u64 = 4;

/// The format that a name stands for.
pub(crate) fn format(name: Option<&str>) -> Result<Option<Format>, Diagnostic> {
    let Some(name) = name else { return Ok(None) };
    Format::named(name).map(Some).ok_or_else(|| {
        let names: Vec<&str> = Format::names().collect();
        Diagnostic::error(Class::Plan, "argument", format!("unknown graph format `{name}`"))
            .help(format!("known are the extensions of files: {}", names.join(", ")))
    })
}

/// A part of a graph.
pub(crate) fn read(
    files: &[FileState],
    name: Option<&str>,
    part: GraphPart,
    taken: &Reservation<'_>,
) -> Result<Table, Diagnostic> {
    static LAST: LastGraph = LastGraph::new();
    let format = format(name)?;
    let [file] = files else {
        let message = format!("{} files match, and a graph is read from one", files.len());
        return Err(Diagnostic::error(Class::Plan, "argument", message));
    };
    let GraphTables { directed, nodes, edges } = LAST.read(file, format, part, taken)?;
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

/// The last file of a graph, kept until each of its parts was taken. The parts are separate entries of the file cache,
/// and one parse gives them all.
struct LastGraph {
    parsed: Mutex<Option<ParsedGraph>>,
}

struct ParsedGraph {
    file: FileState,
    format: Option<Format>,
    /// Parts that nobody has taken.
    left: Vec<GraphPart>,
    /// `None` until the file is parsed. A request for another part waits for the lock meanwhile.
    tables: Arc<Mutex<Option<GraphTables>>>,
}

impl LastGraph {
    const fn new() -> Self {
        LastGraph { parsed: Mutex::new(None) }
    }

    /// The tables of a file, for one part of them.
    fn read(
        &self,
        file: &FileState,
        format: Option<Format>,
        part: GraphPart,
        taken: &Reservation<'_>,
    ) -> Result<GraphTables, Diagnostic> {
        let shared = self.of(file, format);
        let tables = {
            let mut slot = shared.lock();
            match &*slot {
                Some(tables) => tables.clone(),
                None => slot.insert(parse(file, format, taken)?).clone(),
            }
        };
        let mut last = self.parsed.lock();
        // Another file may have replaced this one meanwhile.
        if let Some(parsed) = last.as_mut().filter(|parsed| Arc::ptr_eq(&parsed.tables, &shared)) {
            parsed.left.retain(|left| *left != part);
            if parsed.left.is_empty() {
                *last = None;
            }
        }
        Ok(tables)
    }

    /// The place for the tables of a file.
    fn of(&self, file: &FileState, format: Option<Format>) -> Arc<Mutex<Option<GraphTables>>> {
        let mut last = self.parsed.lock();
        match &*last {
            Some(parsed) if parsed.file == *file && parsed.format == format => Arc::clone(&parsed.tables),
            _ => {
                let tables = Arc::default();
                let left = vec![GraphPart::Kind, GraphPart::Nodes, GraphPart::Edges];
                *last = Some(ParsedGraph { file: file.clone(), format, left, tables: Arc::clone(&tables) });
                tables
            }
        }
    }
}

fn parse(file: &FileState, format: Option<Format>, taken: &Reservation<'_>) -> Result<GraphTables, Diagnostic> {
    let compressed = file.bytes * MEMORY;
    taken.take(&file.path, compressed)?;
    let bytes = onrush_graph_io::load(&file.path).map_err(|e| e.diagnostic())?;
    // A compressed file says its size only here.
    taken.take(&file.path, (bytes.len() as u64 * MEMORY).saturating_sub(compressed))?;
    // As much as the cells may take at most, or all that is free; the rest is given back.
    let cell = onrush_graph_io::CELL as u64;
    let room = taken.take_up_to(onrush_graph_io::most_cells(bytes.len()) as u64 * cell);
    let cells = usize::try_from(room / cell).unwrap_or(usize::MAX);
    let parsed = onrush_graph_io::parse_within(&file.path, format, &bytes, cells).map_err(|e| e.diagnostic());
    let used = parsed.as_ref().map_or(0, |tables| {
        let cells = |batch: &RecordBatch| (batch.num_rows() * batch.num_columns()) as u64;
        cell * (cells(&tables.nodes) + cells(&tables.edges))
    });
    taken.give_back(room.saturating_sub(used));
    parsed
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::memory::{Full, Memory, NoLimit};

    fn state(path: PathBuf) -> FileState {
        let metadata = std::fs::metadata(&path).unwrap();
        FileState::of(path, &metadata)
    }

    #[test]
    fn a_file_is_parsed_once_for_its_three_parts() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "1 2\n2 3\n").unwrap();
            state(path)
        };
        let (first, second) = (file("first.edgelist"), file("second.edgelist"));
        let last = LastGraph::new();
        let nodes = |file: &FileState, format, part| {
            last.read(file, format, part, &Reservation::new(&NoLimit)).map(|tables| tables.nodes.num_rows()).ok()
        };
        // Without the file, only tables that are kept can be given.
        assert_eq!(nodes(&first, None, GraphPart::Kind), Some(3));
        std::fs::remove_file(&first.path).unwrap();
        let changed = FileState { modified: first.modified + 1, ..first.clone() };
        assert_eq!(nodes(&first, None, GraphPart::Edges), Some(3));
        assert_eq!(nodes(&first, None, GraphPart::Edges), Some(3), "a part is taken twice");
        assert_eq!(nodes(&first, None, GraphPart::Nodes), Some(3));
        assert_eq!(nodes(&first, None, GraphPart::Nodes), None, "the tables are kept after each part was taken");
        assert!(last.parsed.lock().as_ref().is_some_and(|parsed| parsed.tables.lock().is_none()));
        // Another state, format or file is another key.
        assert_eq!(nodes(&second, None, GraphPart::Kind), Some(3));
        std::fs::remove_file(&second.path).unwrap();
        assert_eq!(nodes(&second, Some(Format::Gap), GraphPart::Kind), None);
        assert_eq!(nodes(&changed, None, GraphPart::Kind), None);
        assert_eq!(nodes(&second, None, GraphPart::Nodes), None, "the tables of another file are kept");
    }

    #[test]
    fn names_of_formats() {
        assert_eq!(format(None).unwrap(), None);
        assert_eq!(format(Some("graphml")).unwrap(), Some(Format::GraphMl));
        let error = format(Some("a/b")).unwrap_err();
        assert_eq!(error.message, "unknown graph format `a/b`");
        let help = error.help.join(" ");
        assert!(["edges,", "txt,"].iter().all(|name| help.contains(name)) && help.contains(", graph"), "{help}");
    }

    /// Has a fixed size.
    struct Small {
        limit: u64,
        free: AtomicU64,
    }

    impl Memory for Small {
        fn take(&self, bytes: u64) -> Result<(), Full> {
            let left = |free: u64| free.checked_sub(bytes);
            let taken = self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
            taken.map(|_| ()).map_err(|free| Full { limit: self.limit, free })
        }

        fn give_back(&self, bytes: u64) {
            self.free.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    #[test]
    fn memory_follows_from_the_decompressed_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("zeros.edgelist.gz");
        let packed = std::fs::File::create(&path).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(packed, flate2::Compression::default());
        encoder.write_all("1 2\n".repeat(250_000).as_bytes()).unwrap();
        encoder.finish().unwrap();
        let file = state(path);
        assert!(file.bytes < 10_000, "{} bytes", file.bytes);
        let read = |limit: u64| {
            let memory = Small { limit, free: AtomicU64::new(limit) };
            let read = LastGraph::new().read(&file, None, GraphPart::Kind, &Reservation::new(&memory));
            assert_eq!(memory.free.into_inner(), limit, "memory is not given back");
            read.map(|tables| tables.edges.num_rows())
        };
        // 4 bytes for each byte of 1 MB.
        assert_eq!(read(4_000_000).unwrap(), 250_000);
        assert_eq!(read(3_999_999).unwrap_err().code, "out-of-memory");
    }
}
