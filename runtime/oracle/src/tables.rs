//! Small tables as text: `tests/sql/tables`, which a Python script reads, too.
//!
//! ```text
//! table NAME
//! a:bigint s:varchar
//! 1 x
//! NULL (empty)
//! ```
//! Words are separated by blanks and escaped as in answers ([`crate::answer`]); a list is one word, `[1,NULL]`, and so
//! is a struct, `{1,NULL}`. Comments start with `#`.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, ListArray, RecordBatch, RecordBatchOptions, StringArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit, TimestampMicrosecondType};
use onrush_frame::Table;

use crate::answer::unescaped;

pub struct NamedTable {
    pub name: String,
    pub table: Table,
}

/// # Errors
/// With the line that is not understood.
pub fn read(text: &str) -> Result<Vec<NamedTable>, String> {
    let lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let mut tables = Vec::new();
    let mut lines = lines.peekable();
    while let Some((number, line)) = lines.next() {
        let fail = |what: &str| format!("line {}: {what}", number + 1);
        let name = line.strip_prefix("table ").ok_or_else(|| fail("`table NAME` is expected here"))?.trim().to_string();
        let (_, header) = lines.next().ok_or_else(|| fail("the columns are missing"))?;
        let columns: Vec<(&str, &str)> = header
            .split_whitespace()
            .map(|word| word.split_once(':').ok_or_else(|| fail(&format!("`{word}` is not NAME:TYPE"))))
            .collect::<Result<_, _>>()?;
        let mut words: Vec<Vec<Option<String>>> = vec![Vec::new(); columns.len()];
        while let Some((number, line)) = lines.next_if(|(_, line)| !line.starts_with("table ")) {
            let row: Vec<&str> = line.split_whitespace().collect();
            if row.len() != columns.len() {
                return Err(format!("line {}: {} values for {} columns", number + 1, row.len(), columns.len()));
            }
            for (column, word) in words.iter_mut().zip(row) {
                column.push((word != "NULL").then(|| unescaped(word)));
            }
        }
        let arrays = columns
            .iter()
            .zip(words)
            .map(|((column, sql), words)| array(sql, words).map_err(|e| format!("table {name}, column {column}: {e}")));
        let arrays: Vec<ArrayRef> = arrays.collect::<Result<_, _>>()?;
        let fields = columns.iter().zip(&arrays).map(|((c, _), a)| Field::new(*c, a.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(arrays.first().map(|a| a.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options);
        tables.push(NamedTable { name, table: Table::new(schema, vec![batch.map_err(|e| fail(&e.to_string()))?]) });
    }
    Ok(tables)
}

/// The same rows in batches of at most `rows`.
pub fn chunked(table: &Table, rows: usize) -> Table {
    let starts = (0..table.rows()).step_by(rows.max(1));
    let batches = starts.flat_map(|start| table.slice(start, rows).batches().to_vec()).collect();
    Table::new(Arc::clone(table.schema()), batches)
}

/// A column of words.
///
/// # Errors
/// If a word is not a value of the type.
pub fn array(sql: &str, words: Vec<Option<String>>) -> Result<ArrayRef, String> {
    if let Some((of, length)) = list_of(sql) {
        return list(of, length, &words);
    }
    if let Some(fields) = sql.strip_prefix("struct(").and_then(|rest| rest.strip_suffix(')')) {
        return structs(fields, &words);
    }
    let texts: ArrayRef = Arc::new(StringArray::from(words.clone()));
    let strict = arrow::compute::CastOptions { safe: false, ..Default::default() };
    let to = |dtype: &DataType| arrow::compute::cast_with_options(&texts, dtype, &strict).map_err(|e| e.to_string());
    match dtype(sql)? {
        DataType::Duration(unit) => {
            let ticks = to(&DataType::Int64)?;
            cast(&ticks, &DataType::Duration(unit)).map_err(|e| e.to_string())
        }
        // The text is a time in UTC.
        DataType::Timestamp(unit, Some(zone)) => {
            let times = to(&DataType::Timestamp(unit, None))?;
            let times = times.as_primitive::<TimestampMicrosecondType>().clone();
            Ok(Arc::new(times.with_timezone(zone)))
        }
        dtype => to(&dtype),
    }
}

/// The type of a list's elements, and what is between the brackets.
fn list_of(sql: &str) -> Option<(&str, &str)> {
    sql.strip_suffix(']')?.rsplit_once('[').filter(|(_, length)| length.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// Words such as `[1,NULL]`, of `integer[]`; `integer[large]` and `integer[2]` are Arrow's other lists.
fn list(of: &str, length: &str, words: &[Option<String>]) -> Result<ArrayRef, String> {
    let mut items = Vec::new();
    let mut lengths = Vec::new();
    for word in words {
        let before = items.len();
        if let Some(word) = word {
            items.extend(inside(word, '[', ']')?);
        }
        lengths.push(items.len() - before);
    }
    let items = array(of, items)?;
    let nulls: NullBuffer = words.iter().map(Option::is_some).collect();
    let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    let (offsets, nulls) = (OffsetBuffer::from_lengths(lengths), Some(nulls));
    let made = ListArray::try_new(Arc::clone(&field), offsets, items, nulls).map_err(|e| e.to_string())?;
    let dtype = match length {
        "" => return Ok(Arc::new(made)),
        "large" => DataType::LargeList(field),
        length => {
            DataType::FixedSizeList(field, length.parse().map_err(|_| format!("`[{length}]` is not a list length"))?)
        }
    };
    cast(&made, &dtype).map_err(|e| e.to_string())
}

/// The elements between brackets, split at commas.
fn inside(word: &str, open: char, close: char) -> Result<Vec<Option<String>>, String> {
    let inside = word.strip_prefix(open).and_then(|word| word.strip_suffix(close));
    let inside = inside.ok_or_else(|| format!("`{word}` has no {open} and {close}"))?;
    Ok(split(inside).into_iter().map(|item| (item != "NULL").then(|| item.replace("(empty)", ""))).collect())
}

fn split(text: &str) -> Vec<String> {
    let (mut items, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        depth += i32::from("[{(".contains(c)) - i32::from("]})".contains(c));
        match items.last_mut() {
            Some(_) if c == ',' && depth == 0 => items.push(String::new()),
            Some(last) => last.push(c),
            None => {}
        }
    }
    if text.is_empty() { Vec::new() } else { items }
}

/// Words such as `{1,NULL}`, of `struct(a:integer,b:varchar)`.
fn structs(fields: &str, words: &[Option<String>]) -> Result<ArrayRef, String> {
    let fields = split(fields);
    let mut columns = vec![Vec::new(); fields.len()];
    for word in words {
        let items = word.as_ref().map(|word| inside(word, '{', '}')).transpose()?;
        let items = items.unwrap_or_else(|| vec![None; fields.len()]);
        if items.len() != fields.len() {
            return Err(format!("{} values for {} fields", items.len(), fields.len()));
        }
        columns.iter_mut().zip(items).for_each(|(column, item)| column.push(item));
    }
    let mut of = Vec::new();
    let mut arrays = Vec::new();
    for (field, words) in fields.iter().zip(columns) {
        let (name, sql) = field.split_once(':').ok_or_else(|| format!("`{field}` is not NAME:TYPE"))?;
        let array = array(sql, words)?;
        of.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let nulls: NullBuffer = words.iter().map(Option::is_some).collect();
    Ok(Arc::new(StructArray::try_new(of.into(), arrays, Some(nulls)).map_err(|e| e.to_string())?))
}

/// DuckDB's names; `category` is text with few values, stored as a dictionary; `timestamptz[ZONE]`; `duration` in
/// microseconds.
///
/// # Errors
/// For any other name.
pub fn dtype(sql: &str) -> Result<DataType, String> {
    let argument = |prefix: &str, end: char| sql.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(end));
    if let Some((precision, scale)) = argument("decimal(", ')').and_then(|a| a.split_once(',')) {
        let number = |e: std::num::ParseIntError| e.to_string();
        return Ok(DataType::Decimal128(precision.parse().map_err(number)?, scale.parse().map_err(number)?));
    }
    if let Some(zone) = argument("timestamptz[", ']') {
        return Ok(DataType::Timestamp(TimeUnit::Microsecond, Some(zone.into())));
    }
    Ok(match sql {
        "boolean" => DataType::Boolean,
        "tinyint" => DataType::Int8,
        "smallint" => DataType::Int16,
        "integer" => DataType::Int32,
        "bigint" => DataType::Int64,
        "utinyint" => DataType::UInt8,
        "usmallint" => DataType::UInt16,
        "uinteger" => DataType::UInt32,
        "ubigint" => DataType::UInt64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "date" => DataType::Date32,
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "timestamp_s" => DataType::Timestamp(TimeUnit::Second, None),
        "timestamp_ms" => DataType::Timestamp(TimeUnit::Millisecond, None),
        "timestamp_ns" => DataType::Timestamp(TimeUnit::Nanosecond, None),
        "duration" => DataType::Duration(TimeUnit::Microsecond),
        "varchar" => DataType::Utf8View,
        "category" => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        other => return Err(format!("`{other}` is not a type")),
    })
}
