//! Files in and out: CSV, Parquet, JSON lines, workbooks, Arrow IPC, Avro, ORC, graphs and databases, with globs,
//! whole-file inference and errors that name the line.
//!
//! Reads into [`onrush_frame::Table`]s and keeps them by path, size and modification time, so that a file is read once.
//! Knows no plans: `runtime/engine` asks for a [`LoadedSource`] and scans it.

pub mod cache;
mod columns;
mod content;
mod database;
mod file;
mod file_marks;
mod formats;
mod hive;
mod magic;
mod memory;
mod paths;
mod pieces;
mod spill;
mod text;
mod write;

use onrush_frame::TaskHandle;
use onrush_wire::Diagnostic;
use onrush_wire::plan::{FileMark, Format, Source};

pub use cache::FileCache;
pub use content::{Content, LoadedSource};
pub use formats::{ParquetScan, parquet_readers};
pub use memory::{Full, Memory, NoLimit};
pub use onrush_graph_io::GraphTables;
pub use spill::disk_manager;
pub use write::{DatabaseWriter, FileWriter, FolderWriter, FrameWriter, WrittenFile, write_bytes, write_graph};

/// Opens a source through the process's own [`FileCache`], and says what its files can be recognised by. With `marked`
/// it must be these files, as they were then.
///
/// # Errors
/// A missing, unreadable or damaged file, or a text that is not what the options say. The error names the file and, in
/// text files, the line. A file that has changed. Not enough memory.
pub fn open(
    source: &Source,
    marked: Option<&[FileMark]>,
    memory: &dyn Memory,
    task: &TaskHandle,
) -> Result<(LoadedSource, Vec<FileMark>), Diagnostic> {
    match &source.format {
        Format::Database { query } => database::open(source, query, marked, memory, task),
        _ if source.cluster.is_some() => FileCache::of_scans().open_marked(source, marked, memory, task),
        _ => FileCache::shared().open_marked(source, marked, memory, task),
    }
}
