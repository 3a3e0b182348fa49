//! The offsets of the buffers of an Arrow IPC file, for programs that map the file and do not read flatbuffers.

use arrow::datatypes::{DataType, Schema};
use arrow::error::ArrowError;
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::root_as_message;
use arrow::ipc::writer::StreamWriter;

use crate::ipc::{damaged, footer};

/// The layout of a file, or of some of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLayout {
    /// The schema of the columns: an Arrow IPC stream without batches.
    pub schema: Vec<u8>,
    pub batches: Vec<BatchLayout>,
    /// Whether a column is dictionary-encoded: its values are in other messages of the file.
    pub has_dictionaries: bool,
}

/// A record batch, in the order of the message's flattened columns
/// (<https://arrow.apache.org/docs/format/Columnar.html#recordbatch-message>).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchLayout {
    pub rows: u64,
    /// Length and nulls of each array.
    pub nodes: Vec<[u64; 2]>,
    /// Offset from the start of the file, and bytes, of each buffer.
    pub buffers: Vec<[u64; 2]>,
    /// Data buffers of each column of views.
    pub variadic: Vec<u64>,
}

impl FileLayout {
    /// The layout of the columns at these positions, or of all.
    ///
    /// # Errors
    /// If the bytes are no Arrow IPC file.
    pub fn of(bytes: &[u8], columns: Option<&[usize]>) -> Result<FileLayout, ArrowError> {
        let footer = footer(bytes)?;
        let schema = fb_to_schema(footer.schema().ok_or_else(|| damaged("no schema"))?);
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let columns = columns.unwrap_or(&all);
        let projected = schema.project(columns)?;
        let mut batches = Vec::new();
        for block in footer.recordBatches().iter().flatten() {
            let number = |n: i64| u64::try_from(n).map_err(|_| damaged("a negative length"));
            let (start, head) = (number(block.offset())?, number(i64::from(block.metaDataLength()))?);
            let (from, body) = (usize::try_from(start).unwrap_or(usize::MAX), start + head);
            let message = bytes.get(from..).and_then(|rest| rest.get(..head as usize));
            let message = message.ok_or_else(|| damaged("a block lies outside the file"))?;
            let mark = if message.starts_with(&[0xff; 4]) { 8 } else { 4 };
            let message = message.get(mark..).ok_or_else(|| damaged("a message without a body"))?;
            let message = root_as_message(message).map_err(|e| damaged(&e.to_string()))?;
            let batch = message.header_as_record_batch().ok_or_else(|| damaged("a block that is not a batch"))?;
            let (nodes, buffers, views) = (batch.nodes(), batch.buffers(), batch.variadicBufferCounts());
            let mut nodes = nodes.iter().flatten().map(|node| [node.length() as u64, node.null_count() as u64]);
            let mut buffers = buffers.iter().flatten().map(|b| [body + b.offset() as u64, b.length() as u64]);
            let mut variadic = views.iter().flatten().map(|count| count as u64);
            let mut parts = Vec::new();
            for field in schema.fields() {
                let (mut of_nodes, mut of_buffers, mut views) = (0, 0, Vec::new());
                count(field.data_type(), &mut of_nodes, &mut of_buffers, &mut || {
                    let count = variadic.next().unwrap_or(0);
                    views.push(count);
                    count as usize
                });
                parts.push(BatchLayout {
                    rows: 0,
                    nodes: nodes.by_ref().take(of_nodes).collect(),
                    buffers: buffers.by_ref().take(of_buffers).collect(),
                    variadic: views,
                });
            }
            let mut layout = BatchLayout { rows: number(batch.length())?, ..Default::default() };
            for column in columns {
                let part = parts.get(*column).ok_or_else(|| damaged("a column that is not there"))?;
                layout.nodes.extend(&part.nodes);
                layout.buffers.extend(&part.buffers);
                layout.variadic.extend(&part.variadic);
            }
            batches.push(layout);
        }
        let has_dictionaries = projected.fields().iter().any(|field| has_dictionary(field.data_type()));
        Ok(FileLayout { schema: schema_message(&projected)?, batches, has_dictionaries })
    }
}

fn schema_message(schema: &Schema) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = Vec::new();
    StreamWriter::try_new(&mut bytes, schema)?.finish()?;
    Ok(bytes)
}

/// Counts the arrays and the buffers of a column of a type. `views` gives the data buffers of the next array of views.
fn count(dtype: &DataType, nodes: &mut usize, buffers: &mut usize, views: &mut dyn FnMut() -> usize) {
    *nodes += 1;
    *buffers += match dtype {
        DataType::Null | DataType::RunEndEncoded(..) => 0,
        DataType::Struct(_) | DataType::FixedSizeList(..) => 1,
        DataType::Union(_, mode) => match mode {
            arrow::datatypes::UnionMode::Sparse => 1,
            arrow::datatypes::UnionMode::Dense => 2,
        },
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => 3,
        DataType::ListView(_) | DataType::LargeListView(_) => 3,
        DataType::Utf8View | DataType::BinaryView => 2 + views(),
        _ => 2,
    };
    match dtype {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => count(item.data_type(), nodes, buffers, views),
        DataType::Struct(fields) => fields.iter().for_each(|f| count(f.data_type(), nodes, buffers, views)),
        DataType::Union(fields, _) => fields.iter().for_each(|(_, f)| count(f.data_type(), nodes, buffers, views)),
        DataType::RunEndEncoded(ends, values) => {
            count(ends.data_type(), nodes, buffers, views);
            count(values.data_type(), nodes, buffers, views);
        }
        _ => {}
    }
}

fn has_dictionary(dtype: &DataType) -> bool {
    match dtype {
        DataType::Dictionary(..) => true,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_dictionary(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_dictionary(field.data_type())),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Array, ArrayRef, Int32Array, ListArray, RecordBatch, StringArray, StructArray};
    use arrow::datatypes::Int32Type;

    use super::*;
    use crate::ipc;
    use crate::table::Table;

    /// The offsets are checked against the addresses at which arrow's own reader finds the buffers.
    #[test]
    fn buffers_lie_where_the_layout_says() {
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
        let inner = StructArray::from(vec![(
            Arc::new(arrow::datatypes::Field::new("s", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec![Some("a"), None, Some("ccc")])) as ArrayRef,
        )]);
        let batch = RecordBatch::try_from_iter([
            ("n", Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef),
            ("lists", Arc::new(lists) as ArrayRef),
            ("inner", Arc::new(inner) as ArrayRef),
        ])
        .unwrap();
        let sealed = ipc::seal(&Table::new(batch.schema(), vec![batch.slice(0, 1), batch.slice(1, 2)])).unwrap();
        let bytes = sealed.sealed().unwrap().map().unwrap();
        let back = ipc::read(bytes.clone()).unwrap();
        let layout = FileLayout::of(&bytes, None).unwrap();
        assert!(!layout.has_dictionaries);
        let [found] = &layout.batches[..] else { panic!("{layout:?}") };
        assert_eq!(found.rows, 3);
        assert_eq!(found.nodes, [[3, 0], [3, 1], [2, 1], [3, 0], [3, 1]]);
        // Validity and values of `n`; validity, offsets, and the items' two of `lists`; that of `inner` and three of
        // its strings.
        assert_eq!(found.buffers.len(), 2 + 4 + 1 + 3);
        let start = bytes.as_ptr() as u64;
        let data = back.batches()[0].column(2).to_data();
        let text = data.child_data()[0].buffers()[1].as_ptr() as u64;
        assert_eq!(found.buffers[9][0], text - start);
        assert_eq!(found.buffers[9][1], 4);
        let some = FileLayout::of(&bytes, Some(&[2, 0])).unwrap();
        assert_eq!(some.batches[0].nodes, [[3, 0], [3, 1], [3, 0]]);
        assert_eq!(some.batches[0].buffers[4..], found.buffers[..2]);
        let schema = ipc::schema(&some.schema.into()).unwrap();
        assert_eq!(schema.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(), ["inner", "n"]);
    }

    #[test]
    fn a_sealed_table_counts_its_bytes_once() {
        let values: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100_000));
        let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..100_000).map(|i| format!("value {i}"))));
        let views = arrow::compute::cast(&text, &DataType::Utf8View).unwrap();
        let numbers = RecordBatch::try_from_iter([("n", Arc::clone(&values))]).unwrap();
        let sealed = ipc::seal(&Table::new(numbers.schema(), vec![numbers])).unwrap();
        assert_eq!(sealed.bytes(), sealed.sealed().unwrap().bytes());
        assert_eq!(sealed.column(0).unwrap().as_ref(), values.as_ref());
        let strings = RecordBatch::try_from_iter([("s", Arc::clone(&views))]).unwrap();
        let before = Table::new(strings.schema(), vec![strings]);
        let sealed = ipc::seal(&before).unwrap();
        assert_eq!(sealed.bytes(), before.bytes() + sealed.sealed().unwrap().bytes());
        assert_eq!(sealed.column(0).unwrap().as_ref(), views.as_ref());
    }
}
