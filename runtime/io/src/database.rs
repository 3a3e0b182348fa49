//! Databases: the rows of a query as a table. The driver and its process are in `runtime/databases`.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use arrow::error::ArrowError;
use onrush_databases::{Address, Kind, Place, Target};
use onrush_frame::TaskHandle;
use onrush_wire::plan::{FileKind, FileMark, Source};
use onrush_wire::{Class, Diagnostic};

use crate::content::{Content, LoadedSource};
use crate::file::FileState;
use crate::formats::binary::assembled;
use crate::magic::{HEAD, kind_of};
use crate::memory::{Memory, Reservation};
use crate::pieces::CHUNK;
use crate::{file_marks, paths};

/// Numbers the reads of this process: no two reads are taken for the same.
static READS: AtomicU64 = AtomicU64::new(0);

/// Runs the query of a source, whatever was read before. A database in a file can be recognised by its files.
///
/// # Errors
/// A missing file, a missing driver, a query that the database refuses, columns of types that frames do not hold. With
/// `marked`, a file that has changed.
pub(crate) fn open(
    source: &Source,
    query: &str,
    marked: Option<&[FileMark]>,
    memory: &dyn Memory,
    task: &TaskHandle,
) -> Result<(LoadedSource, Vec<FileMark>), Diagnostic> {
    let mut address = Address::parse(&source.path)?;
    let name = address.name();
    task.stage(format!("read {}", paths::short(Path::new(&name))));
    let (files, file) = match &address.place {
        Place::Server(_) => (Vec::new(), None),
        Place::File(path) => {
            let state = paths::single(&existing(path, &source.folder))?;
            address.kind = kind(&state.path, address.kind)?;
            let file = state.path.to_string_lossy().into_owned();
            (with_log(state), Some(file))
        }
    };
    if let Some(marked) = marked {
        file_marks::unchanged(source, marked, &files)?;
    }
    let marked_now = file_marks::marks(&files)?;
    let rows = onrush_databases::query(&Target { address, file: file.clone() }, query, task)?;
    let taken = Reservation::new(memory);
    let path = PathBuf::from(file.as_deref().unwrap_or(&name));
    let schema = Arc::clone(rows.schema());
    let batches = rows.map(|batch| {
        let batch = batch.map_err(|diagnostic| ArrowError::ExternalError(Box::new(DiagnosticError(diagnostic))))?;
        task.add_rows(batch.num_rows() as u64);
        Ok::<_, ArrowError>(batch)
    });
    let table = assembled(&schema, batches, &path, &failed, CHUNK, &taken, task)?;
    let loaded = LoadedSource {
        files: vec![path],
        schema: Arc::clone(table.schema()),
        key: key(),
        rows: table.rows() as u64,
        content: Content::Memory(Arc::new(table)),
    };
    Ok((loaded, marked_now))
}

/// A diagnostic on its way through Arrow's errors.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.message)]
struct DiagnosticError(Diagnostic);

fn failed(error: ArrowError) -> Diagnostic {
    match error {
        ArrowError::ExternalError(inner) => match inner.downcast::<DiagnosticError>() {
            Ok(wrapped) => wrapped.0,
            Err(other) => strange(&other.to_string()),
        },
        other => strange(&other.to_string()),
    }
}

fn strange(what: &str) -> Diagnostic {
    Diagnostic::error(Class::Data, "database-query", format!("the rows of the query cannot be held: {what}"))
        .help("cast the columns in the query, or leave some out")
}

/// The file of a database: `sqlite:///home/a.db` may mean a path from the folder of the notebook or from the root.
pub(crate) fn existing(path: &str, folder: &str) -> PathBuf {
    let relative = paths::absolute(path, folder);
    let from_root = Path::new("/").join(path);
    let is_there = |path: &Path| path.exists() || path.parent().is_some_and(Path::is_dir);
    if !is_there(&relative) && is_there(&from_root) { from_root } else { relative }
}

/// The kind of a database, as the first bytes of its file say.
pub(crate) fn kind(path: &Path, named: Kind) -> Result<Kind, Diagnostic> {
    let mut head = Vec::with_capacity(HEAD);
    let read = File::open(path).and_then(|file| file.take(HEAD as u64).read_to_end(&mut head));
    read.map_err(|e| crate::file::io_diagnostic("read", path, &e))?;
    match kind_of(&head) {
        Some(FileKind::Sqlite) => Ok(Kind::Sqlite),
        Some(FileKind::DuckDb) => Ok(Kind::DuckDb),
        // An empty file is a database without tables.
        None if head.is_empty() => Ok(named),
        other => {
            let what = other.map_or("its first bytes are others", |kind| kind.name());
            let message = format!("`{}` is not a database of {}: {what}", path.display(), named.name());
            let error = Diagnostic::error(Class::Data, "wrong-format", message);
            Err(match other.and_then(FileKind::reader) {
                Some(reader) => error.help(format!("read it with `{reader}`")),
                None => error.help("check how it was made, and whether it was copied whole"),
            })
        }
    }
}

/// The file of a database, and its log of what was written last, if there is one.
fn with_log(state: FileState) -> Vec<FileState> {
    let names = ["-wal", ".wal"].map(|end| PathBuf::from(format!("{}{end}", state.path.display())));
    let logs = names.into_iter().filter_map(|path| {
        let metadata = fs::metadata(&path).ok().filter(|metadata| metadata.len() > 0)?;
        Some(FileState::of(path, &metadata))
    });
    let logs: Vec<FileState> = logs.collect();
    std::iter::once(state).chain(logs).collect()
}

/// The key of one read: another read may have other rows.
fn key() -> u128 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let read = READS.fetch_add(1, Ordering::Relaxed);
    (time << 40) ^ (u128::from(std::process::id()) << 20) ^ u128::from(read)
}
