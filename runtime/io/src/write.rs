//! Files out: written under another name and renamed when complete, so that nobody ever sees half a file.

mod target;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::json::writer::{LineDelimited, Writer as JsonWriter, WriterBuilder as JsonBuilder};
use onrush_frame::{TaskHandle, dtype_to_wire};
use onrush_wire::plan::{Sink, SinkFormat};
use onrush_wire::{Class, Diagnostic};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::cache::io_diagnostic;
use target::{Target, Temporary};

/// A file under way. Dropped before [`FileWriter::finish`], it leaves nothing behind.
pub struct FileWriter {
    target: Target,
    temporary: Temporary,
    /// `None` once it is finished.
    format: Option<Format>,
    rows: u64,
}

enum Format {
    Csv(arrow::csv::Writer<BufWriter<File>>),
    Parquet(Box<ArrowWriter<BufWriter<File>>>),
    Json(JsonWriter<BufWriter<File>, LineDelimited>),
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Absolute.
    pub path: PathBuf,
    pub rows: u64,
    pub bytes: u64,
}

impl FileWriter {
    /// Starts a file for batches of `schema`. An existing file of that name is replaced at the end, and keeps its mode and owner; a
    /// symbolic link stays, and the file that it leads to is replaced.
    ///
    /// # Errors
    /// A missing folder, a path that exists and is not a regular file, an unknown compression, a column type that the format cannot
    /// hold.
    pub fn create(sink: &Sink, schema: &SchemaRef) -> Result<FileWriter, Diagnostic> {
        let target = Target::open(&sink.path, &sink.folder)?;
        check_columns(&sink.format, schema)?;
        let (temporary, file) = target.temporary()?;
        let file = BufWriter::with_capacity(1 << 20, file);
        let mut writer = FileWriter { target, temporary, format: None, rows: 0 };
        writer.format = Some(match &sink.format {
            SinkFormat::Csv { separator, header, null } => {
                let separator = u8::try_from(*separator).ok().filter(u8::is_ascii).ok_or_else(|| {
                    Diagnostic::error(
                        Class::Plan,
                        "bad-option",
                        format!("the separator `{}` is not a single ASCII character", separator.escape_default()),
                    )
                })?;
                let builder = arrow::csv::WriterBuilder::new().with_delimiter(separator).with_header(*header);
                let mut csv = builder.with_null(null.clone()).build(file);
                // The header of a frame without rows; with rows it comes with the first batch, and only once.
                csv.write(&RecordBatch::new_empty(schema.clone())).map_err(|e| writer.failed(&e.to_string()))?;
                Format::Csv(csv)
            }
            SinkFormat::Parquet { compression } => {
                let properties = WriterProperties::builder().set_compression(codec(compression)?).build();
                let parquet = ArrowWriter::try_new(file, schema.clone(), Some(properties));
                Format::Parquet(Box::new(parquet.map_err(|e| writer.failed(&e.to_string()))?))
            }
            SinkFormat::JsonLines => {
                // Nulls are written, so that the columns come back even if they are null everywhere.
                Format::Json(JsonBuilder::new().with_explicit_nulls(true).build(file))
            }
        });
        Ok(writer)
    }

    /// Writes some rows; the task is only asked whether it goes on.
    pub fn write(&mut self, batch: &RecordBatch, task: &TaskHandle) -> Result<(), Diagnostic> {
        task.check()?;
        let result = match self.format.as_mut() {
            Some(Format::Csv(w)) => w.write(batch).map_err(|e| e.to_string()),
            Some(Format::Parquet(w)) => w.write(batch).map_err(|e| e.to_string()),
            Some(Format::Json(w)) => w.write(batch).map_err(|e| e.to_string()),
            None => Err("it is finished".to_string()),
        };
        result.map_err(|e| self.failed(&e))?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Completes the file and gives it its name.
    pub fn finish(mut self) -> Result<Written, Diagnostic> {
        let buffer = match self.format.take() {
            Some(Format::Csv(w)) => Ok(w.into_inner()),
            Some(Format::Parquet(w)) => w.into_inner().map_err(|e| e.to_string()),
            Some(Format::Json(mut w)) => w.finish().map(|()| w.into_inner()).map_err(|e| e.to_string()),
            None => Err("it is finished".to_string()),
        };
        let mut buffer = buffer.map_err(|e| self.failed(&e))?;
        let io = |e: &std::io::Error| io_diagnostic("written", &self.target.named, e);
        buffer.flush().map_err(|e| io(&e))?;
        let file = buffer.into_inner().map_err(|e| io(e.error()))?;
        let bytes = self.target.replace(self.temporary, &file)?;
        Ok(Written { path: self.target.named, rows: self.rows, bytes })
    }

    fn failed(&self, why: &str) -> Diagnostic {
        let full = why.contains("No space left") || why.contains("os error 28") || why.contains("os error 122");
        let class = if full { Class::Resources } else { Class::Data };
        let error = Diagnostic::error(
            class,
            "write-failed",
            format!("`{}` could not be written: {why}", self.target.named.display()),
        );
        if full { error.help("free some disk space, or write to another folder") } else { error }
    }
}

/// Writes a whole file, with the care of [`FileWriter`]: it gets its name when it is complete, and a file that is there keeps its mode and owner.
///
/// # Errors
/// A missing folder, a path that exists and is not a regular file, a full disk.
pub fn write_bytes(path: &str, folder: &str, bytes: &[u8]) -> Result<Written, Diagnostic> {
    let target = Target::open(path, folder)?;
    let (temporary, mut file) = target.temporary()?;
    file.write_all(bytes).map_err(|e| io_diagnostic("written", &target.named, &e))?;
    let bytes = target.replace(temporary, &file)?;
    Ok(Written { path: target.named, rows: 0, bytes })
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
