//! The readers of the formats: a module for each, and the table of them. The format of a file follows from its first
//! bytes and its extension. The facts of the formats are in the vocabulary ([`FORMATS`]).

mod avro;
pub(crate) mod binary;
mod csv;
pub(crate) mod excel;
mod fixed_width;
pub(crate) mod graph;
mod ipc;
mod json;
mod orc;
mod parquet;

use std::fs::File;
use std::io::Read;

use onrush_frame::TaskHandle;
use onrush_wire::plan::{CsvOptions, ExcelOptions, FORMATS, Format, FormatKind};
use onrush_wire::{Class, Diagnostic};

use crate::content::DecodedFiles;
use crate::file::{FileState, SourceFiles, extension, io_diagnostic};
use crate::hive::Folders;
use crate::magic::{HEAD, kind_of};
use crate::memory::{Memory, Reservation};
use crate::pieces::Division;
use avro::AVRO;
use csv::Layout;
use ipc::IPC;
use orc::ORC;
pub use parquet::{ParquetScan, parquet_readers};

/// The format of files: that of the first one.
///
/// # Errors
/// If neither the first bytes nor the extension say it.
pub(crate) fn format_of(files: &[FileState]) -> Result<Format, Diagnostic> {
    let path = &files[0].path;
    let failed = |e: std::io::Error| io_diagnostic("read", path, &e);
    let mut head = Vec::with_capacity(HEAD);
    File::open(path).map_err(failed)?.take(HEAD as u64).read_to_end(&mut head).map_err(failed)?;
    let kind = kind_of(&head);
    let extension = extension(path);
    // Without magic bytes the reader of the extension has the error of an empty or damaged file.
    let format = kind.and_then(|kind| kind.info().format).or_else(|| FormatKind::of_extension(&extension));
    if let Some(format) = format {
        return Ok((format.info().format)(&extension));
    }
    if head.trim_ascii_start().starts_with(b"{") {
        return Ok(Format::JsonLines);
    }
    let what = match kind {
        Some(kind) => format!("it is {}", kind.name()),
        None if extension.is_empty() => "it has no extension".to_string(),
        None => format!("`.{extension}` is not an extension that is known"),
    };
    let message = format!("the format of `{}` is not known: {what}", path.display());
    let error = Diagnostic::error(Class::Data, "unknown-format", message);
    Err(match kind {
        Some(kind) => error.help(kind.help()),
        None => {
            let readers: Vec<&str> = FORMATS.iter().map(|info| info.readers[0]).collect();
            error.help(format!("name the reader: {}", readers.join(", ")))
        }
    })
}

/// Reads files: the table of readers. `hold` are the bytes up to which a Parquet file is held in memory.
pub(crate) fn read(
    resolved: &SourceFiles,
    folder: &str,
    format: &Format,
    hold: u64,
    memory: &dyn Memory,
    task: &TaskHandle,
) -> Result<DecodedFiles, Diagnostic> {
    let files = resolved.files.as_slice();
    task.add_total_bytes(files.iter().map(|f| f.bytes).sum());
    let taken = Reservation::new(memory);
    let division = Division::default();
    let folders = match format {
        // Parquet has its own, which it also has when it is scanned.
        Format::Parquet(_) => Folders::none(),
        Format::Csv(options) => Folders::of(resolved, options.hive)?,
        Format::FixedWidth(options) => Folders::of(resolved, options.text.hive)?,
        _ => Folders::of(resolved, None)?,
    };
    let text = |options: &CsvOptions, layout: Option<Layout<'_>>| {
        let (own, chosen) = folders.apart(&options.columns);
        let options = &CsvOptions { columns: own, ..options.clone() };
        let table = csv::read(files, options, layout, folder, &folders, division, &taken, task)?;
        if options.rejects { Ok(DecodedFiles::Table(table)) } else { chosen.of(table).map(DecodedFiles::Table) }
    };
    match format {
        Format::Any | Format::Database { .. } => {
            Err(Diagnostic::error(Class::Internal, "internal", "a file is read before its format is known"))
        }
        Format::Csv(options) => text(options, None),
        Format::FixedWidth(options) => {
            let layout = |file: &FileState, bytes: Vec<u8>| fixed_width::separated(file, bytes, options);
            text(&fixed_width::csv_options(options)?, Some(&layout))
        }
        Format::JsonLines => json::read(files, None, folder, &folders, division, &taken, task).map(DecodedFiles::Table),
        Format::JsonAt(path) => {
            json::read(files, Some(path), folder, &folders, division, &taken, task).map(DecodedFiles::Table)
        }
        Format::Parquet(options) => parquet::read(resolved, options, hold, division, &taken, task),
        Format::Excel(options) => {
            let (own, chosen) = folders.apart(&options.columns);
            let options = &ExcelOptions { columns: own, ..options.clone() };
            excel::read(files, options, &folders, division, &taken, task)
                .and_then(|table| chosen.of(table))
                .map(DecodedFiles::Table)
        }
        Format::Sheets => excel::sheets(files, &taken).map(DecodedFiles::Table),
        Format::Ipc => binary::read(&IPC, files, &folders, division, &taken, task).map(DecodedFiles::Table),
        Format::Avro => binary::read(&AVRO, files, &folders, division, &taken, task).map(DecodedFiles::Table),
        Format::Orc => binary::read(&ORC, files, &folders, division, &taken, task).map(DecodedFiles::Table),
        Format::Graph { format, part } => graph::read(files, format.as_deref(), *part, &taken).map(DecodedFiles::Table),
    }
}
