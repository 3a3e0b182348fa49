//! A frame for a renderer that scrolls and sorts: its columns as Positron's data explorer describes them, and its first
//! rows as strings and codes. Bounded, because it is saved with the notebook.

use onrush_wire::display::TablePreview;
use onrush_wire::{DataType, FrameId, Value};
use serde_json::{Value as Json, json};

use crate::value::{Cell, ColumnFormat, Kind, right_aligned};

/// Approximate limit of the rows, in bytes of JSON.
const MOST: usize = 64 << 10;
/// Maximum number of saved columns; the others need a kernel.
const COLUMNS: usize = 500;
/// Characters of one value.
const CELL: usize = 200;

/// Positron's codes for special values.
const NULL: i64 = 0;
const NAN: i64 = 2;
const INFINITY: i64 = 10;
const NEGATIVE_INFINITY: i64 = 11;

/// The formats of the columns of a frame, wherever its rows are shown: the first rows decide.
#[derive(Clone, Debug, Default)]
pub struct Formats(Vec<ColumnFormat>);

impl Formats {
    pub fn of(preview: &TablePreview) -> Formats {
        let values = |column: usize| {
            preview.head.iter().chain(&preview.tail).map(move |row| row.get(column).unwrap_or(&Value::Null))
        };
        Formats((0..preview.columns.len()).map(|column| ColumnFormat::of(values(column))).collect())
    }

    /// A value as Positron's `ColumnValue`: a string of at most `most` characters, or a code.
    pub fn value(&self, column: usize, value: &Value, most: usize) -> Json {
        let plain = ColumnFormat::default();
        let cell = self.0.get(column).unwrap_or(&plain).cell(value);
        column_value(cell, most)
    }

    /// A value for a person.
    pub fn text(&self, column: usize, value: &Value) -> String {
        let plain = ColumnFormat::default();
        self.0.get(column).unwrap_or(&plain).cell(value).text
    }
}

fn column_value(cell: Cell, most: usize) -> Json {
    match (cell.kind, cell.text.as_str()) {
        (Kind::Null, _) => json!(NULL),
        (Kind::NotFinite, "NaN") => json!(NAN),
        (Kind::NotFinite, "inf") => json!(INFINITY),
        (Kind::NotFinite, "-inf") => json!(NEGATIVE_INFINITY),
        (_, text) => match text.char_indices().nth(most) {
            Some((end, _)) => json!(format!("{}…", &text[..end])),
            None => json!(text),
        },
    }
}

/// Positron's `ColumnDisplayType`.
pub fn display_type(dtype: &DataType) -> &'static str {
    match dtype {
        DataType::Boolean => "boolean",
        DataType::Float16 | DataType::Float32 | DataType::Float64 => "floating",
        DataType::Decimal { .. } => "decimal",
        DataType::String | DataType::Categorical => "string",
        DataType::Date => "date",
        DataType::Time(_) => "time",
        DataType::Timestamp(..) => "datetime",
        DataType::Duration(_) | DataType::Interval => "interval",
        DataType::List(_) => "array",
        DataType::Struct(_) => "struct",
        dtype if dtype.is_integer() => "integer",
        DataType::Binary => "object",
        _ => "unknown",
    }
}

/// Positron's `ColumnSchema`.
pub fn column_schema(index: usize, name: &str, dtype: &DataType) -> Json {
    let mut schema = json!({
        "column_name": name,
        "column_index": index,
        "type_name": dtype.to_string(),
        "type_display": display_type(dtype),
    });
    match dtype {
        DataType::Decimal { precision, scale } => {
            schema["precision"] = json!(precision);
            schema["scale"] = json!(scale);
        }
        DataType::Timestamp(_, Some(zone)) => schema["timezone"] = json!(zone),
        _ => {}
    }
    schema
}

/// The data of the renderer: see `widgets/web/ts/table/types.ts`.
pub fn json(frame: FrameId, preview: &TablePreview) -> Json {
    let formats = Formats::of(preview);
    let shown = preview.columns.len().min(COLUMNS);
    let columns: Vec<Json> = preview.columns[..shown]
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let mut schema = column_schema(index, &column.name, &column.dtype);
            schema["right"] = json!(right_aligned(&column.dtype));
            if let Some(nulls) = column.nulls {
                schema["nulls"] = json!(nulls);
            }
            schema
        })
        .collect();
    let mut left = MOST.saturating_sub(Json::from(columns.clone()).to_string().len());
    let mut rows: Vec<Json> = Vec::new();
    for row in &preview.head {
        let values = row[..shown.min(row.len())].iter().enumerate();
        let row = Json::from(values.map(|(column, value)| formats.value(column, value, CELL)).collect::<Vec<_>>());
        let length = row.to_string().len() + 1;
        // At least one row, so that a table is never empty.
        if length > left && !rows.is_empty() {
            break;
        }
        left = left.saturating_sub(length);
        rows.push(row);
    }
    json!({
        "version": 1,
        // More digits than JavaScript's numbers have.
        "frame": frame.0.to_string(),
        "num_rows": preview.total_rows,
        "num_columns": preview.columns.len(),
        "bytes": preview.bytes,
        "location": preview.location,
        "columns": columns,
        "rows": rows,
    })
}
