//! Arrow IPC: how tables travel between processes. Files (with a footer) for results, streams or files for frames made
//! from Rust values.

use std::io::{BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::buffer::Buffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow::ipc::writer::FileWriter;
use arrow::ipc::{Footer, root_as_footer, root_as_message};

use crate::sealed::SealedFile;
use crate::table::Table;

/// Magic bytes at both ends of an Arrow IPC file; a stream has none.
const MAGIC: &[u8] = b"ARROW1";
/// Rows of a batch. A column of nulls has no bytes that would say how many it can have.
const MOST_ROWS: i64 = 1 << 32;

/// Text and binary as `Utf8` and `Binary` with 32-bit offsets, 64-bit where a batch holds more than 2 GiB. Views would
/// carry the buffers of rows that a filter dropped. Readers on the other side know fewer layouts.
pub fn plain(table: &Table) -> Result<Table, ArrowError> {
    let wide = |i: usize| {
        table.batches().iter().any(|b| match b.column(i).data_type() {
            DataType::Utf8View | DataType::BinaryView => text_bytes(b.column(i).as_ref()) > i32::MAX as u64,
            _ => false,
        })
    };
    let fields: Vec<Field> = table
        .schema()
        .fields()
        .iter()
        .enumerate()
        .map(|(i, field)| {
            let dtype = match field.data_type() {
                DataType::Utf8View if wide(i) => DataType::LargeUtf8,
                DataType::BinaryView if wide(i) => DataType::LargeBinary,
                other => plain_type(other),
            };
            field.as_ref().clone().with_data_type(dtype)
        })
        .collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, table.schema().metadata().clone()));
    if &schema == table.schema() {
        return Ok(table.clone());
    }
    let batches = table
        .batches()
        .iter()
        .map(|batch| {
            let columns = batch
                .columns()
                .iter()
                .zip(schema.fields())
                .map(|(column, field)| match column.data_type() == field.data_type() {
                    true => Ok(Arc::clone(column)),
                    false => cast(column, field.data_type()),
                })
                .collect::<Result<Vec<ArrayRef>, _>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)
        })
        .collect::<Result<_, _>>()?;
    Ok(Table::of_canonical(schema, batches))
}

fn plain_type(dtype: &DataType) -> DataType {
    let field = |f: &Arc<Field>| Arc::new(f.as_ref().clone().with_data_type(plain_type(f.data_type())));
    match dtype {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::FixedSizeList(item, n) => DataType::FixedSizeList(field(item), *n),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::Dictionary(key, value) => DataType::Dictionary(key.clone(), Box::new(plain_type(value))),
        other => other.clone(),
    }
}

fn text_bytes(array: &dyn Array) -> u64 {
    use arrow::array::AsArray;
    match array.data_type() {
        DataType::Utf8View => array.as_string_view().views().iter().map(|v| (*v as u32) as u64).sum(),
        DataType::BinaryView => array.as_binary_view().views().iter().map(|v| (*v as u32) as u64).sum(),
        _ => 0,
    }
}

/// Writes an Arrow IPC file. Uncompressed, so that the reader can map it.
pub fn write_file(table: &Table, out: impl Write) -> Result<(), ArrowError> {
    let mut writer = FileWriter::try_new(out, table.schema())?;
    for batch in table.batches() {
        writer.write(batch)?;
    }
    writer.finish()
}

/// The same rows as one batch, with a copy of them in sealed memory: [`Table::sealed`]. Columns whose type is the same
/// in the file are those of the file. Strings stay views in the table, and are plain strings in the file.
///
/// # Errors
/// If the system has no memory for the copy.
pub fn seal(table: &Table) -> Result<Table, ArrowError> {
    let schema = Arc::clone(table.schema());
    let own = table.to_batch()?;
    let file = plain(&Table::of_canonical(Arc::clone(&schema), vec![own.clone()]))?;
    let file = SealedFile::write(|out| {
        write_file(&file, BufWriter::with_capacity(1 << 20, out)).map_err(std::io::Error::other)
    })?;
    let mapped = read(file.map()?)?;
    let batches = match mapped.batches() {
        [there] => {
            let columns = own.columns().iter().zip(there.columns()).map(|(own, there)| {
                let is_same = own.data_type() == there.data_type();
                Arc::clone(if is_same { there } else { own })
            });
            let options = RecordBatchOptions::new().with_row_count(Some(own.num_rows()));
            vec![RecordBatch::try_new_with_options(Arc::clone(&schema), columns.collect(), &options)?]
        }
        _ => Vec::new(),
    };
    Ok(Table::of_canonical(schema, batches).with_sealed(Arc::new(file)))
}

/// The schema of an Arrow IPC file or stream.
///
/// # Errors
/// If the bytes are neither.
pub fn schema(bytes: &Buffer) -> Result<SchemaRef, ArrowError> {
    let work = AssertUnwindSafe(|| match bytes.starts_with(MAGIC) {
        true => Ok(Arc::new(fb_to_schema(footer(bytes)?.schema().ok_or_else(|| damaged("no schema"))?))),
        false => {
            check_stream(bytes)?;
            let (mut decoder, mut rest) = (StreamDecoder::new(), bytes.clone());
            while decoder.schema().is_none() && !rest.is_empty() {
                decoder.decode(&mut rest)?;
            }
            decoder.schema().ok_or_else(|| damaged("no schema"))
        }
    });
    catch_unwind(work).unwrap_or_else(|_| Err(damaged("its inner structure makes no sense")))
}

/// The footer of an Arrow IPC file.
pub(crate) fn footer(bytes: &[u8]) -> Result<Footer<'_>, ArrowError> {
    let trailer = bytes.len().checked_sub(10).ok_or_else(|| damaged("too short"))?;
    let tail: [u8; 10] = bytes[trailer..].try_into().map_err(|_| damaged("no trailer"))?;
    let footer_length = read_footer_length(tail)?;
    let start = trailer.checked_sub(footer_length).ok_or_else(|| damaged("footer longer than the file"))?;
    root_as_footer(&bytes[start..trailer]).map_err(|e| damaged(&e.to_string()))
}

/// An Arrow IPC file or stream in `bytes`, as it is: for rows of strangers, [`Table::new`] of its batches mends NaNs.
/// Copies nothing where the buffers in it are aligned.
///
/// # Errors
/// Whatever is wrong with the bytes: nothing of what they say is believed, and no more memory is taken than they have.
pub fn read(bytes: Buffer) -> Result<Table, ArrowError> {
    // The decoder panics at numbers that make no sense.
    let work = AssertUnwindSafe(|| if bytes.starts_with(MAGIC) { read_file(bytes) } else { read_stream(bytes) });
    catch_unwind(work).unwrap_or_else(|_| Err(damaged("its inner structure makes no sense")))
}

pub(crate) fn damaged(what: &str) -> ArrowError {
    ArrowError::IpcError(format!("damaged Arrow data: {what}"))
}

/// `StreamReader` takes as much memory as a message says that it has.
fn read_stream(bytes: Buffer) -> Result<Table, ArrowError> {
    check_stream(&bytes)?;
    let (mut decoder, mut rest, mut batches) = (StreamDecoder::new(), bytes, Vec::new());
    while !rest.is_empty() {
        batches.extend(decoder.decode(&mut rest)?);
    }
    decoder.finish()?;
    let schema = decoder.schema().ok_or_else(|| damaged("no schema"))?;
    Ok(Table::of_canonical(schema, batches))
}

/// Looks at all messages of a stream that are whole.
fn check_stream(bytes: &[u8]) -> Result<(), ArrowError> {
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?));
    let mut at = 0;
    while let Some(mut length) = number(at) {
        at += 4;
        if length == u32::MAX {
            let Some(after) = number(at) else { break };
            (length, at) = (after, at + 4);
        }
        let Some(message) = at.checked_add(length as usize).and_then(|end| bytes.get(at..end)) else { break };
        if message.is_empty() {
            break;
        }
        let body = check_message(message)?;
        let Some(next) = (at + message.len()).checked_add(body) else { break };
        at = next;
    }
    Ok(())
}

/// Looks at what a message says of itself; returns the bytes of its body.
fn check_message(message: &[u8]) -> Result<usize, ArrowError> {
    let message = root_as_message(message).map_err(|e| damaged(&e.to_string()))?;
    let dictionary = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    for batch in message.header_as_record_batch().into_iter().chain(dictionary) {
        // We write none, and how large a packed buffer becomes is a number in it.
        if batch.compression().is_some() {
            return Err(damaged("its buffers are compressed"));
        }
        if !(0..=MOST_ROWS).contains(&batch.length()) {
            return Err(damaged(&format!("a batch of {} rows", batch.length())));
        }
    }
    usize::try_from(message.bodyLength()).map_err(|_| damaged("a message of a negative length"))
}

/// The decoder is used directly: `FileReader` copies every block out of its input.
fn read_file(bytes: Buffer) -> Result<Table, ArrowError> {
    let footer = footer(&bytes)?;
    let schema = Arc::new(fb_to_schema(footer.schema().ok_or_else(|| damaged("no schema"))?));
    let mut decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
    let slice = |block: &arrow::ipc::Block| {
        let outside = || damaged("a block lies outside the file");
        let number = |n: i64| usize::try_from(n).map_err(|_| outside());
        let (offset, head) = (number(block.offset())?, number(i64::from(block.metaDataLength()))?);
        let length = head.checked_add(number(block.bodyLength())?).ok_or_else(outside)?;
        if offset.checked_add(length).is_none_or(|end| end > bytes.len()) {
            return Err(outside());
        }
        let whole = bytes.slice_with_length(offset, length);
        // A length stands in front of the message, and a mark in front of that in files of today.
        let mark = if whole.starts_with(&[0xff; 4]) { 8 } else { 4 };
        check_message(whole.get(mark..head).ok_or_else(outside)?)?;
        Ok(whole)
    };
    for block in footer.dictionaries().iter().flatten() {
        decoder.read_dictionary(block, &slice(block)?)?;
    }
    let mut batches = Vec::new();
    for block in footer.recordBatches().iter().flatten() {
        batches.extend(decoder.read_record_batch(block, &slice(block)?)?);
    }
    Ok(Table::of_canonical(schema, batches))
}

#[cfg(test)]
mod tests {
    use arrow::array::{DictionaryArray, Int64Array, StringArray, StringViewArray};
    use arrow::datatypes::Int32Type;
    use arrow::ipc::writer::StreamWriter;

    use super::*;

    fn table() -> Table {
        let batch = RecordBatch::try_from_iter([
            ("n", Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])) as ArrayRef),
            (
                "text",
                Arc::new(StringViewArray::from(vec![Some("short"), None, Some("longer than twelve bytes")]))
                    as ArrayRef,
            ),
            ("cat", Arc::new(DictionaryArray::<Int32Type>::from_iter(["a", "b", "a"])) as ArrayRef),
        ])
        .unwrap();
        Table::new(batch.schema(), vec![batch.clone(), batch.slice(1, 2)])
    }

    #[test]
    fn a_file_and_a_stream_come_back_the_same() {
        let table = plain(&table()).unwrap();
        assert_eq!(table.schema().field(1).data_type(), &DataType::Utf8);
        let mut file = Vec::new();
        write_file(&table, &mut file).unwrap();
        let back = read(Buffer::from_vec(file)).unwrap();
        assert_eq!(back.batches(), table.batches());
        let mut stream = Vec::new();
        let mut writer = StreamWriter::try_new(&mut stream, table.schema()).unwrap();
        for batch in table.batches() {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        drop(writer);
        let back = read(Buffer::from_vec(stream)).unwrap();
        let text = back.column(1).unwrap();
        let text = text.as_any().downcast_ref::<StringArray>().unwrap();
        assert_eq!(text.iter().collect::<Vec<_>>().len(), 5);
        assert_eq!(text.value(2), "longer than twelve bytes");
    }

    #[test]
    fn damaged_bytes_are_errors() {
        let mut file = Vec::new();
        write_file(&plain(&table()).unwrap(), &mut file).unwrap();
        for cut in [0, 6, 9, 40, file.len() / 2, file.len() - 1] {
            assert!(read(Buffer::from_vec(file[..cut].to_vec())).is_err(), "cut at {cut}");
        }
    }

    /// Replaces each byte by ones that make lengths huge or negative. The stream is read or refused, without a panic
    /// that leaves `read`. A refused allocation would abort this test.
    #[test]
    fn no_damage_takes_memory_or_panics() {
        let table = plain(&table()).unwrap();
        let (mut file, mut stream) = (Vec::new(), Vec::new());
        write_file(&table, &mut file).unwrap();
        let mut writer = StreamWriter::try_new(&mut stream, table.schema()).unwrap();
        table.batches().iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
        drop(writer);
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let (mut refused, mut tried) = (0, 0);
        for whole in [&file, &stream] {
            for at in 0..whole.len() {
                for byte in [0x7f, 0xff, 0x80] {
                    let mut bytes = whole.clone();
                    bytes[at] = byte;
                    let _ = schema(&Buffer::from_vec(bytes.clone()));
                    refused += usize::from(read(Buffer::from_vec(bytes)).is_err());
                    tried += 1;
                }
            }
            for cut in 0..whole.len() {
                let _ = read(Buffer::from_vec(whole[..cut].to_vec()));
            }
        }
        std::panic::set_hook(quiet);
        assert!(refused > tried / 10, "{refused} of {tried}");
    }

    #[test]
    fn compressed_buffers_are_refused() {
        let table = plain(&table()).unwrap();
        let options = arrow::ipc::writer::IpcWriteOptions::default()
            .try_with_compression(Some(arrow::ipc::CompressionType::LZ4_FRAME))
            .unwrap();
        let mut stream = Vec::new();
        let mut writer = StreamWriter::try_new_with_options(&mut stream, table.schema(), options).unwrap();
        if writer.write(&table.batches()[0]).is_ok() {
            writer.finish().unwrap();
            drop(writer);
            let error = read(Buffer::from_vec(stream)).unwrap_err().to_string();
            assert!(error.contains("compressed"), "{error}");
        }
    }
}
