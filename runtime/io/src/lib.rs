//! Files in and out: CSV, Parquet, JSON lines, workbooks, Arrow IPC, Avro, ORC, graphs and databases, with globs,
//! whole-file inference and errors that name the line.
//!
//! Reads into [`onrush_frame::Table`]s and keeps them by path, size and modification time, so that a file is read once.
//! Knows no plans: `runtime/engine` asks for [`Loaded`] and scans it.

mod any;
mod avro;
mod binary;
pub mod cache;
mod columns;
mod csv;
mod database;
mod excel;
mod graph;
mod hive;
mod ipc;
mod json;
mod magic;
mod marks;
mod memory;
mod orc;
mod parquet;
mod paths;
mod pieces;
mod text;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use onrush_frame::{Table, TaskHandle};
use onrush_wire::Diagnostic;
use onrush_wire::plan::{FileMark, Format, Source};

pub use cache::FileCache;
pub use graph::write_graph;
pub use memory::{Full, Memory, NoLimit};
pub use onrush_graph_io::GraphTables;
pub use parquet::ParquetScan;
pub use write::{DatabaseWriter, FileWriter, FolderWriter, FrameWriter, Written, write_bytes};

/// A source that was opened: its schema is known, and its rows are in memory or can be scanned.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The files in the order in which their rows come, by absolute path.
    pub files: Vec<PathBuf>,
    pub schema: SchemaRef,
    /// Equal for the same files, unchanged, read with the same options.
    pub key: u128,
    pub rows: u64,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub enum Content {
    /// Decoded and held, shared with the cache.
    Memory(Arc<Table>),
    /// Too large to hold: read anew by every scan.
    Scan(Arc<dyn TableProvider>),
}

impl Loaded {
    /// `flights.csv`, or `12 files` for a glob.
    pub fn title(&self) -> String {
        match self.files.as_slice() {
            [one] => one.file_name().unwrap_or(one.as_os_str()).to_string_lossy().into_owned(),
            many => format!("{} files", many.len()),
        }
    }
}

/// Opens a source through the process's own [`FileCache`], and says what its files can be recognised by. With `marked` it must be
/// these files, as they were then.
///
/// # Errors
/// A missing, unreadable or damaged file, a text that is not what the options say; each names the file and, in text files,
/// the line. A file that has changed. Not enough memory.
pub fn open(
    source: &Source,
    marked: Option<&[FileMark]>,
    memory: &dyn Memory,
    task: &TaskHandle,
) -> Result<(Loaded, Vec<FileMark>), Diagnostic> {
    match &source.format {
        Format::Database { query } => database::open(source, query, marked, memory, task),
        _ => FileCache::shared().open_marked(source, marked, memory, task),
    }
}
