//! The part of a table that a notebook shows: first and last rows as values.

use arrow::array::Array;
use arrow::datatypes::Schema;
use onrush_wire::Value;
use onrush_wire::display::{PreviewColumn, TableKind, TablePreview};

use crate::scalar::value_at;
use crate::table::Table;
use crate::types::dtype_to_wire;

/// Longest text that a preview carries, in characters; the rest is cut with `…`. Nobody reads more in a table, and a
/// column of documents would fill the notebook file.
const TEXT_LIMIT: usize = 2000;
/// Most elements of a list that a preview carries.
const LIST_LIMIT: usize = 100;

/// The parts of a preview in addition to the rows.
#[derive(Clone, Debug)]
pub struct PreviewOptions {
    pub kind: TableKind,
    pub head: usize,
    pub tail: usize,
    /// Count the nulls of every column.
    pub nulls: bool,
    /// `memory`, `plan`, `cuda:0`.
    pub location: String,
}

impl Default for PreviewOptions {
    fn default() -> Self {
        PreviewOptions { kind: TableKind::Frame, head: 5, tail: 5, nulls: true, location: "memory".to_string() }
    }
}

/// The preview of a table that is wholly in memory. If head and tail together hold all rows, they come as the head.
pub fn preview(table: &Table, options: &PreviewOptions) -> TablePreview {
    let (head, tail) = match options.head.saturating_add(options.tail) >= table.rows() {
        true => (table.clone(), Table::empty(table.schema().clone())),
        false => (table.head(options.head), table.tail(options.tail)),
    };
    TablePreview {
        kind: options.kind,
        columns: columns(table.schema(), options.nulls.then(|| table.null_counts()).as_deref()),
        total_rows: table.rows() as u64,
        head: rows(&head),
        tail: rows(&tail),
        bytes: Some(table.own_bytes()),
        location: options.location.clone(),
    }
}

/// Names and types, with nulls if they were counted.
pub fn columns(schema: &Schema, nulls: Option<&[u64]>) -> Vec<PreviewColumn> {
    schema
        .fields()
        .iter()
        .enumerate()
        .map(|(i, field)| PreviewColumn {
            name: field.name().clone(),
            dtype: dtype_to_wire(field.data_type()),
            nulls: nulls.and_then(|n| n.get(i).copied()),
        })
        .collect()
}

/// All rows of a (small) table, with long strings and lists cut.
pub fn rows(table: &Table) -> Vec<Vec<Value>> {
    let mut rows = Vec::with_capacity(table.rows());
    for batch in table.batches() {
        for row in 0..batch.num_rows() {
            rows.push(batch.columns().iter().map(|c| shown(c.as_ref(), row)).collect());
        }
    }
    rows
}

/// A value, with long strings and lists cut.
pub fn shown(array: &dyn Array, row: usize) -> Value {
    cut(value_at(array, row))
}

fn cut(value: Value) -> Value {
    match value {
        Value::Text(text) => match text.char_indices().nth(TEXT_LIMIT) {
            Some((end, _)) => Value::Text(format!("{}…", &text[..end])),
            None => Value::Text(text),
        },
        Value::Binary(mut bytes) => {
            bytes.truncate(TEXT_LIMIT);
            Value::Binary(bytes)
        }
        Value::List(mut items) => {
            if items.len() > LIST_LIMIT {
                items.truncate(LIST_LIMIT);
                items.push(Value::Text("…".to_string()));
            }
            Value::List(items.into_iter().map(cut).collect())
        }
        Value::Struct(fields) => Value::Struct(fields.into_iter().map(|(n, v)| (n, cut(v))).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

    use super::*;

    fn table(rows: i64) -> Table {
        let batch = RecordBatch::try_from_iter([
            ("n", Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef),
            ("t", Arc::new(StringArray::from_iter((0..rows).map(|i| (i % 2 == 0).then_some("é".repeat(3000)))))),
        ])
        .unwrap();
        Table::new(batch.schema(), vec![batch])
    }

    #[test]
    fn first_and_last_rows_with_long_text_cut() {
        let shown = preview(&table(20), &PreviewOptions { head: 2, tail: 1, ..Default::default() });
        assert_eq!(shown.total_rows, 20);
        assert_eq!(shown.head.iter().map(|r| r[0].clone()).collect::<Vec<_>>(), [Value::Int(0), Value::Int(1)]);
        assert_eq!(shown.tail[0], [Value::Int(19), Value::Null]);
        assert_eq!(shown.head[0][1], Value::Text("é".repeat(2000) + "…"));
        assert_eq!(shown.columns[1].nulls, Some(10));
    }

    #[test]
    fn a_short_table_is_all_head() {
        let shown = preview(&table(3), &PreviewOptions::default());
        assert_eq!((shown.head.len(), shown.tail.len()), (3, 0));
        let none = preview(&table(0), &PreviewOptions::default());
        assert_eq!((none.total_rows, none.head.len(), none.columns.len()), (0, 0, 2));
    }
}
