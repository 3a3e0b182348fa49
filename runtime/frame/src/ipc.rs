//! Arrow IPC: how tables travel between processes. Files (with a footer) for results, streams or files for frames made
//! from Rust values.

use std::io::{Cursor, Write};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::buffer::Buffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use arrow::ipc::reader::{FileReader, StreamReader};
use arrow::ipc::writer::FileWriter;

use crate::Table;

/// Magic bytes at both ends of an Arrow IPC file; a stream has none.
const MAGIC: &[u8] = b"ARROW1";

/// Text and binary as `Utf8` and `Binary` with 32-bit offsets (64-bit where a batch holds more than 2 GiB), instead of
/// views that would carry the buffers of rows that a filter dropped. Readers on the other side know fewer layouts.
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
    Ok(Table::new(schema, batches))
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

/// An Arrow IPC file or stream in `bytes`. Copies nothing where the buffers in it are aligned.
pub fn read(bytes: Buffer) -> Result<Table, ArrowError> {
    if bytes.starts_with(MAGIC) {
        read_file(bytes)
    } else {
        let reader = StreamReader::try_new(Cursor::new(bytes.as_slice()), None)?;
        let schema = reader.schema();
        Ok(Table::new(schema, reader.collect::<Result<_, _>>()?))
    }
}

/// The decoder is used directly: `FileReader` copies every block out of its input.
fn read_file(bytes: Buffer) -> Result<Table, ArrowError> {
    use arrow::ipc::convert::fb_to_schema;
    use arrow::ipc::reader::{FileDecoder, read_footer_length};
    use arrow::ipc::root_as_footer;

    let damaged = |what: &str| ArrowError::IpcError(format!("no whole Arrow IPC file: {what}"));
    let trailer = bytes.len().checked_sub(10).ok_or_else(|| damaged("too short"))?;
    let tail: [u8; 10] = bytes[trailer..].try_into().map_err(|_| damaged("no trailer"))?;
    let footer_length = read_footer_length(tail)?;
    let start = trailer.checked_sub(footer_length).ok_or_else(|| damaged("footer longer than the file"))?;
    let footer = root_as_footer(&bytes[start..trailer]).map_err(|e| damaged(&e.to_string()))?;
    let schema = Arc::new(fb_to_schema(footer.schema().ok_or_else(|| damaged("no schema"))?));
    let mut decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
    let slice = |block: &arrow::ipc::Block| {
        let length = block.metaDataLength() as usize + block.bodyLength() as usize;
        let offset = block.offset() as usize;
        match offset.checked_add(length) {
            Some(end) if end <= bytes.len() => Ok(bytes.slice_with_length(offset, length)),
            _ => Err(damaged("a block lies outside the file")),
        }
    };
    for block in footer.dictionaries().iter().flatten() {
        decoder.read_dictionary(block, &slice(block)?)?;
    }
    let mut batches = Vec::new();
    for block in footer.recordBatches().iter().flatten() {
        batches.extend(decoder.read_record_batch(block, &slice(block)?)?);
    }
    Ok(Table::new(schema, batches))
}

/// As [`read`], from something seekable, by copying.
pub fn read_from(input: impl std::io::Read + std::io::Seek) -> Result<Table, ArrowError> {
    let reader = FileReader::try_new(input, None)?;
    let schema = reader.schema();
    Ok(Table::new(schema, reader.collect::<Result<_, _>>()?))
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
}
