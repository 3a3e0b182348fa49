//! Files out: written under another name and renamed when complete, so that nobody ever sees half a file.

mod csv;
mod database;
mod encode;
mod excel;
mod folders;
mod graph;
mod packed;
mod row_groups;
mod target;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::json::writer::{JsonArray, LineDelimited};
use onrush_files::Temporary;
use onrush_frame::{TaskHandle, dtype_to_wire};
use onrush_wire::plan::{FORMATS, FormatInfo, Sink, SinkFormat};
use onrush_wire::{Class, Diagnostic};
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::file::io_diagnostic;
use csv::CsvWriter;
pub use database::DatabaseWriter;
use encode::{Encode, EncodeError, Out};
pub use folders::FolderWriter;
pub use graph::write_graph;
use packed::PackedFile;
use row_groups::ParquetWriter;
use target::Target;

/// A file under way. Dropped before [`FileWriter::finish`], it leaves nothing behind.
pub struct FileWriter {
    target: Target,
    temporary: Temporary,
    /// `None` once it is finished.
    encoder: Option<Box<dyn Encode>>,
    rows: u64,
    /// The task of the last write, which an upload belongs to.
    task: TaskHandle,
}

/// A frame under way to a file, to folders or to a table of a database.
pub enum FrameWriter {
    File(Box<FileWriter>),
    Database(Box<DatabaseWriter>),
    Folders(Box<FolderWriter>),
}

impl FrameWriter {
    /// Starts to write batches of `schema`: see [`FileWriter::create`], [`FolderWriter::create`] and
    /// [`DatabaseWriter::create`].
    pub fn create(sink: &Sink, schema: &SchemaRef) -> Result<FrameWriter, Diagnostic> {
        match &sink.format {
            SinkFormat::Folders { by, format } => {
                FolderWriter::create(sink, by, format, schema).map(|w| FrameWriter::Folders(Box::new(w)))
            }
            SinkFormat::Database { table, if_exists } => {
                let writer = DatabaseWriter::create(sink, (table, *if_exists), schema);
                writer.map(|w| FrameWriter::Database(Box::new(w)))
            }
            _ => FileWriter::create(sink, schema).map(|w| FrameWriter::File(Box::new(w))),
        }
    }

    pub fn write(&mut self, batch: &RecordBatch, task: &TaskHandle) -> Result<(), Diagnostic> {
        match self {
            FrameWriter::File(writer) => writer.write(batch, task),
            FrameWriter::Database(writer) => writer.write(batch, task),
            FrameWriter::Folders(writer) => writer.write(batch, task),
        }
    }

    pub fn finish(self, task: &TaskHandle) -> Result<WrittenFile, Diagnostic> {
        match self {
            FrameWriter::File(writer) => writer.finish(),
            FrameWriter::Database(writer) => writer.finish(),
            FrameWriter::Folders(writer) => writer.finish(task),
        }
    }
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Absolute.
    pub path: PathBuf,
    pub rows: u64,
    pub bytes: u64,
}

impl FileWriter {
    /// Starts a file for batches of `schema`. An existing file of that name is replaced at the end, and keeps its mode
    /// and owner. A symbolic link stays, and its target is replaced.
    ///
    /// # Errors
    /// A missing folder, a path that is not a regular file, an unknown compression, a column type that the format
    /// cannot hold.
    pub fn create(sink: &Sink, schema: &SchemaRef) -> Result<FileWriter, Diagnostic> {
        FileWriter::start(Target::open(&sink.path, &sink.folder)?, sink, schema)
    }

    fn start(target: Target, sink: &Sink, schema: &SchemaRef) -> Result<FileWriter, Diagnostic> {
        let format = match &sink.format {
            SinkFormat::Any => &by_name(&target.named)?,
            format => format,
        };
        check_columns(format, schema)?;
        let (temporary, file) = target.temporary()?;
        let file = BufWriter::with_capacity(1 << 20, file);
        let encoder = encoder(format, file, schema, &target)?;
        Ok(FileWriter { target, temporary, encoder: Some(encoder), rows: 0, task: TaskHandle::new() })
    }

    /// Writes some rows; the task is only asked whether it goes on.
    pub fn write(&mut self, batch: &RecordBatch, task: &TaskHandle) -> Result<(), Diagnostic> {
        task.check()?;
        let result = match self.encoder.as_mut() {
            Some(encoder) => guarded(|| encoder.write(batch, task)),
            None => Err("it is finished".to_string().into()),
        };
        result.map_err(|e| failed(&self.target, e))?;
        self.rows += batch.num_rows() as u64;
        self.task = task.clone();
        Ok(())
    }

    /// Completes the file and gives it its name.
    pub fn finish(mut self) -> Result<WrittenFile, Diagnostic> {
        let buffer = match self.encoder.take() {
            Some(encoder) => guarded(|| encoder.finish(&self.task)),
            None => Err("it is finished".to_string().into()),
        };
        let mut buffer = buffer.map_err(|e| failed(&self.target, e))?;
        let io = |e: &std::io::Error| io_diagnostic("written", &self.target.named, e);
        buffer.flush().map_err(|e| io(&e))?;
        let file = buffer.into_inner().map_err(|e| io(e.error()))?;
        let bytes = self.target.replace(self.temporary, &file, &self.task)?;
        Ok(WrittenFile { path: self.target.named, rows: self.rows, bytes })
    }
}

/// The encoder of a format: the table of writers.
fn encoder(format: &SinkFormat, file: Out, schema: &SchemaRef, target: &Target) -> Result<Box<dyn Encode>, Diagnostic> {
    let packed = |file| PackedFile::by_name(&target.named, file);
    match format {
        SinkFormat::Csv { separator, header, null } => {
            let separator = u8::try_from(*separator).ok().filter(u8::is_ascii).ok_or_else(|| {
                Diagnostic::error(
                    Class::Plan,
                    "bad-option",
                    format!("the separator `{}` is not a single ASCII character", separator.escape_default()),
                )
            })?;
            let csv = CsvWriter::new(packed(file)?, separator, *header, null.clone(), schema);
            Ok(Box::new(csv.map_err(|e| failed(target, e.to_string().into()))?))
        }
        SinkFormat::Parquet { compression, row_group_rows } => {
            let mut properties = WriterProperties::builder().set_compression(codec(compression)?);
            if let Some(rows) = row_group_rows {
                let rows = usize::try_from(*rows).ok().filter(|rows| *rows > 0).ok_or_else(|| {
                    Diagnostic::error(Class::Plan, "bad-option", format!("a row group cannot have {rows} rows"))
                })?;
                properties = properties.set_max_row_group_row_count(Some(rows));
            }
            let parquet = ParquetWriter::new(file, schema, properties.build());
            Ok(Box::new(parquet.map_err(|e| failed(target, e.to_string().into()))?))
        }
        SinkFormat::JsonLines => Ok(encode::json::<LineDelimited>(packed(file)?)),
        SinkFormat::JsonArray => Ok(encode::json::<JsonArray>(packed(file)?)),
        SinkFormat::Ipc { compression } => encode::ipc(file, schema, compression),
        SinkFormat::Avro { compression } => encode::avro(file, schema, compression),
        SinkFormat::Orc { compression } => encode::orc(file, schema, compression),
        SinkFormat::Excel { sheet } => excel::start(file, schema, sheet),
        SinkFormat::Any | SinkFormat::Folders { .. } | SinkFormat::Database { .. } => {
            Err(Diagnostic::error(Class::Plan, "bad-option", "one file has one format")
                .help("name a format, and write folders with `partition_by` of a frame"))
        }
    }
}

fn failed(target: &Target, error: EncodeError) -> Diagnostic {
    let why = match error {
        EncodeError::Interrupted(stopped) => return stopped,
        EncodeError::Failed(why) => why,
    };
    let full = why.contains("No space left") || why.contains("os error 28") || why.contains("os error 122");
    let class = if full { Class::Resources } else { Class::Data };
    let message = format!("`{}` could not be written: {why}", target.named.display());
    let error = Diagnostic::error(class, "write-failed", message);
    if full { error.help("free some disk space, or write to another folder") } else { error }
}

/// The format of a file by its extension.
fn by_name(path: &Path) -> Result<SinkFormat, Diagnostic> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let has = |info: &&FormatInfo| info.written.contains(&extension.as_str());
    if let Some(sink) = FORMATS.iter().find(has).and_then(|info| info.sink) {
        return Ok(sink(&extension));
    }
    let what = match extension.as_str() {
        "" => "it has no extension".to_string(),
        other => format!("`.{other}` is not an extension that is written"),
    };
    let suggested = FORMATS.iter().flat_map(|info| info.written.iter().take(info.suggested));
    let suggested: Vec<String> = suggested.map(|extension| format!(".{extension}")).collect();
    let message = format!("the format of `{}` is not known: {what}", path.display());
    Err(Diagnostic::error(Class::Plan, "unknown-format", message)
        .help(format!("use {}, or name the writer: write_csv, ..", listed(&suggested))))
}

/// `.csv, .tsv or .xlsx`.
fn listed(names: &[String]) -> String {
    match names {
        [names @ .., last] if !names.is_empty() => format!("{} or {last}", names.join(", ")),
        names => names.join(", "),
    }
}

/// Runs an encoder. A panic of it is a sentence.
fn guarded<T>(work: impl FnOnce() -> Result<T, EncodeError>) -> Result<T, EncodeError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err("the encoder failed on a value".to_string().into()))
}

/// Writes a whole file as [`FileWriter`] does. It gets its name when it is complete, and keeps the mode and owner of a
/// file that is there.
///
/// # Errors
/// A missing folder, a path that exists and is not a regular file, a full disk.
pub fn write_bytes(path: &str, folder: &str, bytes: &[u8]) -> Result<WrittenFile, Diagnostic> {
    let target = Target::open(path, folder)?;
    let (temporary, mut file) = target.temporary()?;
    file.write_all(bytes).map_err(|e| io_diagnostic("written", &target.named, &e))?;
    let bytes = target.replace(temporary, &file, &TaskHandle::new())?;
    Ok(WrittenFile { path: target.named, rows: 0, bytes })
}

/// Formats of text have no place for lists and structs (CSV) or raw bytes.
fn check_columns(format: &SinkFormat, schema: &SchemaRef) -> Result<(), Diagnostic> {
    if !matches!(format, SinkFormat::Csv { .. }) {
        return Ok(());
    }
    let nested = schema.fields().iter().find(|f| {
        let values = match f.data_type() {
            DataType::Dictionary(_, values) => values.as_ref(),
            other => other,
        };
        values.is_nested() || matches!(values, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
    });
    match nested {
        Some(field) => Err(Diagnostic::error(
            Class::Plan,
            "unsupported-type",
            format!("column `{}` of type {} has no form in CSV", field.name(), dtype_to_wire(field.data_type())),
        )
        .help("write Parquet instead, or drop or convert the column")),
        None => Ok(()),
    }
}

fn codec(name: &str) -> Result<Compression, Diagnostic> {
    Ok(match name {
        "" | "zstd" => Compression::ZSTD(ZstdLevel::default()),
        "snappy" => Compression::SNAPPY,
        "lz4" => Compression::LZ4_RAW,
        "gzip" => Compression::GZIP(GzipLevel::default()),
        "brotli" => Compression::BROTLI(BrotliLevel::default()),
        "none" => Compression::UNCOMPRESSED,
        other => {
            return Err(Diagnostic::error(Class::Plan, "bad-option", format!("there is no compression `{other}`"))
                .help("use zstd, snappy, lz4, gzip, brotli or none"));
        }
    })
}
