//! The trait of encoders, and those of JSON, Arrow IPC, Avro and ORC. The binary ones cast the columns to types that
//! the format and its usual readers have.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use arrow::ipc::CompressionType as IpcCompression;
use arrow::ipc::writer::{FileWriter as IpcWriter, IpcWriteOptions};
use arrow::json::writer::{JsonFormat, Writer as JsonWriter, WriterBuilder as JsonBuilder};
use arrow_avro::compression::CompressionCodec;
use arrow_avro::writer::{AvroWriter, WriterBuilder};
use onrush_frame::{TaskHandle, dtype_to_wire};
use onrush_wire::{Class, Diagnostic};
use orc_rust::compression::CompressionType as OrcCompression;
use orc_rust::{ArrowWriter as OrcWriter, ArrowWriterBuilder as OrcBuilder};

use super::packed::PackedFile;
use crate::pieces::Division;

/// The target of the bytes.
pub(super) type Out = BufWriter<File>;

/// A file of a format under way.
pub(super) trait Encode {
    fn write(&mut self, batch: &RecordBatch, task: &TaskHandle) -> Result<(), EncodeError>;

    /// Completes the file.
    fn finish(self: Box<Self>, task: &TaskHandle) -> Result<Out, EncodeError>;
}

/// The error of an encoder.
pub(super) enum EncodeError {
    /// The task was stopped.
    Interrupted(Diagnostic),
    /// The reason as a sentence.
    Failed(String),
}

impl From<String> for EncodeError {
    fn from(reason: String) -> Self {
        EncodeError::Failed(reason)
    }
}

impl From<Diagnostic> for EncodeError {
    fn from(error: Diagnostic) -> Self {
        match error.class {
            Class::Interrupted => EncodeError::Interrupted(error),
            _ => EncodeError::Failed(error.message),
        }
    }
}

/// JSON lines, or one array of objects. Nulls are written, so that the columns come back even if they are null
/// everywhere.
pub(super) fn json<F: JsonFormat + 'static>(file: PackedFile) -> Box<dyn Encode> {
    Box::new(Json { writer: JsonBuilder::new().with_explicit_nulls(true).build::<_, F>(file) })
}

struct Json<F: JsonFormat> {
    writer: JsonWriter<PackedFile, F>,
}

impl<F: JsonFormat> Encode for Json<F> {
    fn write(&mut self, batch: &RecordBatch, _: &TaskHandle) -> Result<(), EncodeError> {
        Ok(self.writer.write(batch).map_err(|e| e.to_string())?)
    }

    fn finish(mut self: Box<Self>, _: &TaskHandle) -> Result<Out, EncodeError> {
        self.writer.finish().map_err(|e| e.to_string())?;
        Ok(self.writer.into_inner().finish().map_err(|e| e.to_string())?)
    }
}

pub(super) fn ipc(out: Out, schema: &SchemaRef, compression: &str) -> Result<Box<dyn Encode>, Diagnostic> {
    let compression = match compression {
        "" | "none" => None,
        "lz4" => Some(IpcCompression::LZ4_FRAME),
        "zstd" => Some(IpcCompression::ZSTD),
        other => return Err(no_codec(other, "lz4, zstd or none")),
    };
    let schema = converted(schema, "Arrow IPC", &ipc_type)?;
    let options = IpcWriteOptions::default().try_with_compression(compression).map_err(|e| unwritable(&e))?;
    let writer = IpcWriter::try_new_with_options(out, &schema, options).map_err(|e| unwritable(&e))?;
    Ok(Box::new(Ipc { writer, schema }))
}

pub(super) fn avro(out: Out, schema: &SchemaRef, compression: &str) -> Result<Box<dyn Encode>, Diagnostic> {
    let codec = match compression {
        "none" => None,
        "" | "snappy" => Some(CompressionCodec::Snappy),
        "deflate" => Some(CompressionCodec::Deflate),
        "zstd" => Some(CompressionCodec::ZStandard),
        "bzip2" => Some(CompressionCodec::Bzip2),
        other => return Err(no_codec(other, "snappy, deflate, zstd, bzip2 or none")),
    };
    let schema = converted(schema, "Avro", &avro_type)?;
    let writer = WriterBuilder::new(schema.as_ref().clone()).with_compression(codec).build(out);
    Ok(Box::new(Avro { writer: writer.map_err(|e| unwritable(&e))?, schema }))
}

pub(super) fn orc(out: Out, schema: &SchemaRef, compression: &str) -> Result<Box<dyn Encode>, Diagnostic> {
    let codec = match compression {
        "none" => None,
        "" | "zstd" => Some(OrcCompression::Zstd),
        "zlib" => Some(OrcCompression::Zlib),
        "snappy" => Some(OrcCompression::Snappy),
        "lz4" => Some(OrcCompression::Lz4),
        other => return Err(no_codec(other, "zstd, zlib, snappy, lz4 or none")),
    };
    let schema = converted(schema, "ORC", &orc_type)?;
    // The builder does not give the file back: another handle of it does.
    let handle = out.get_ref().try_clone().map_err(|e| unwritable(&e))?;
    let mut builder = OrcBuilder::new(out, Arc::clone(&schema));
    if let Some(codec) = codec {
        builder = builder.with_compression(codec);
    }
    let writer = builder.try_build().map_err(|e| unwritable(&e))?;
    Ok(Box::new(Orc { writer, schema, handle }))
}

struct Ipc {
    writer: IpcWriter<Out>,
    schema: SchemaRef,
}

struct Avro {
    writer: AvroWriter<Out>,
    schema: SchemaRef,
}

struct Orc {
    writer: OrcWriter<Out>,
    schema: SchemaRef,
    handle: File,
}

impl Encode for Ipc {
    fn write(&mut self, batch: &RecordBatch, _: &TaskHandle) -> Result<(), EncodeError> {
        Ok(self.writer.write(&laid_out(batch, &self.schema)?).map_err(|e| e.to_string())?)
    }

    fn finish(mut self: Box<Self>, _: &TaskHandle) -> Result<Out, EncodeError> {
        self.writer.finish().map_err(|e| e.to_string())?;
        Ok(self.writer.into_inner().map_err(|e| e.to_string())?)
    }
}

impl Encode for Avro {
    fn write(&mut self, batch: &RecordBatch, _: &TaskHandle) -> Result<(), EncodeError> {
        Ok(self.writer.write(&laid_out(batch, &self.schema)?).map_err(|e| e.to_string())?)
    }

    fn finish(mut self: Box<Self>, _: &TaskHandle) -> Result<Out, EncodeError> {
        self.writer.finish().map_err(|e| e.to_string())?;
        Ok(self.writer.into_inner())
    }
}

impl Encode for Orc {
    fn write(&mut self, batch: &RecordBatch, _: &TaskHandle) -> Result<(), EncodeError> {
        Ok(self.writer.write(&laid_out(batch, &self.schema)?).map_err(|e| e.to_string())?)
    }

    fn finish(self: Box<Self>, _: &TaskHandle) -> Result<Out, EncodeError> {
        self.writer.close().map_err(|e| e.to_string())?;
        Ok(BufWriter::new(self.handle))
    }
}

fn unwritable(error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Class::Data, "write-failed", format!("the file could not be started: {error}"))
}

fn no_codec(name: &str, names: &str) -> Diagnostic {
    Diagnostic::error(Class::Plan, "bad-option", format!("there is no compression `{name}`"))
        .help(format!("use {names}"))
}

/// A schema whose columns have the types of a format. `target` gives `None` for a type that has no form in it.
fn converted(
    schema: &Schema,
    format: &str,
    target: &dyn Fn(&DataType) -> Option<DataType>,
) -> Result<SchemaRef, Diagnostic> {
    let field = |field: &FieldRef| {
        let dtype = target(field.data_type()).ok_or_else(|| {
            let dtype = dtype_to_wire(field.data_type());
            Diagnostic::error(
                Class::Plan,
                "unsupported-type",
                format!("column `{}` of type {dtype} has no form in {format}", field.name()),
            )
            .help("write Parquet instead, or drop or convert the column")
        })?;
        Ok::<_, Diagnostic>(Field::new(field.name(), dtype, field.is_nullable()))
    };
    Ok(Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Result<Vec<_>, _>>()?)))
}

/// The columns of a batch in the types of `schema`, by all cores. A value that its type cannot hold is an error.
fn laid_out(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, String> {
    let pairs: Vec<(&ArrayRef, &FieldRef)> = batch.columns().iter().zip(schema.fields()).collect();
    let columns = Division::default().run(&pairs, &TaskHandle::new(), |(column, field)| {
        if column.data_type() == field.data_type() {
            return Ok(Arc::clone(column));
        }
        let options = CastOptions { safe: false, ..CastOptions::default() };
        cast_with_options(*column, field.data_type(), &options)
            .map_err(|e| Diagnostic::error(Class::Data, "write-failed", format!("column `{}`: {e}", field.name())))
    });
    let columns = columns.into_iter().collect::<Result<Vec<ArrayRef>, Diagnostic>>().map_err(|e| e.message)?;
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &rows).map_err(|e| e.to_string())
}

/// Applies a conversion to what is inside of lists and structs.
fn inside(dtype: &DataType, target: &dyn Fn(&DataType) -> Option<DataType>) -> Option<DataType> {
    let field = |field: &FieldRef| Some(Arc::new(field.as_ref().clone().with_data_type(target(field.data_type())?)));
    Some(match dtype {
        DataType::List(item) | DataType::ListView(item) | DataType::FixedSizeList(item, _) => {
            DataType::List(field(item)?)
        }
        DataType::LargeList(item) | DataType::LargeListView(item) => DataType::LargeList(field(item)?),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect::<Option<_>>()?),
        DataType::Dictionary(_, values) => target(values)?,
        DataType::RunEndEncoded(_, values) => target(values.data_type())?,
        other => other.clone(),
    })
}

/// Views and dictionaries become plain strings, which every reader has.
fn ipc_type(dtype: &DataType) -> Option<DataType> {
    match dtype {
        DataType::Utf8View => Some(DataType::LargeUtf8),
        DataType::BinaryView => Some(DataType::LargeBinary),
        other => inside(other, &ipc_type),
    }
}

/// Avro has signed integers of 32 and 64 bits, times of milliseconds and microseconds.
fn avro_type(dtype: &DataType) -> Option<DataType> {
    Some(match dtype {
        DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => DataType::Int32,
        DataType::UInt32 | DataType::UInt64 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary => DataType::Binary,
        DataType::Date64 => DataType::Date32,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Timestamp(TimeUnit::Second, zone) => {
            DataType::Timestamp(TimeUnit::Millisecond, zone.as_ref().map(|_| "+00:00".into()))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            DataType::Timestamp(TimeUnit::Microsecond, zone.as_ref().map(|_| "+00:00".into()))
        }
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some("+00:00".into())),
        DataType::Time32(_) => DataType::Time32(TimeUnit::Millisecond),
        DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Duration(_) | DataType::Interval(_) | DataType::Union(..) => return None,
        other => return inside(other, &avro_type),
    })
}

/// The types that orc-rust writes: no decimals, times, lists and structs.
fn orc_type(dtype: &DataType) -> Option<DataType> {
    Some(match dtype {
        DataType::Null => DataType::Boolean,
        DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 | DataType::UInt64 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::Utf8View => DataType::LargeUtf8,
        DataType::BinaryView | DataType::FixedSizeBinary(_) => DataType::LargeBinary,
        DataType::Date64 => DataType::Date32,
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some("UTC".into())),
        DataType::Dictionary(_, values) => return orc_type(values),
        DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::Date32
        | DataType::Timestamp(_, None) => dtype.clone(),
        _ => return None,
    })
}
