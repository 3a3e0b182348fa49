//! The rows of a source that was opened, in memory or to be scanned.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use onrush_frame::Table;

/// A source that was opened: its schema is known, and its rows are in memory or can be scanned.
#[derive(Clone, Debug)]
pub struct LoadedSource {
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

impl LoadedSource {
    /// `flights.csv`, or `12 files` for a glob.
    pub fn title(&self) -> String {
        match self.files.as_slice() {
            [one] => one.file_name().unwrap_or(one.as_os_str()).to_string_lossy().into_owned(),
            many => format!("{} files", many.len()),
        }
    }
}

/// The result of a reader.
pub(crate) enum DecodedFiles {
    Table(Table),
    Scan { provider: Arc<dyn TableProvider>, rows: u64 },
}
