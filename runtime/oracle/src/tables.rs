//! Small tables as text: `tests/sql/tables`, which a Python script reads, too.
//!
//! ```text
//! table NAME
//! a:bigint s:varchar
//! 1 x
//! NULL (empty)
//! ```
//! Words are separated by blanks and escaped as in answers ([`crate::answer`]). Comments start with `#`.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit, TimestampMicrosecondType};
use onrush_frame::Table;

use crate::answer::unescaped;

pub struct Named {
    pub name: String,
    pub table: Table,
}

/// # Errors
/// With the line that is not understood.
pub fn read(text: &str) -> Result<Vec<Named>, String> {
    let lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let mut tables = Vec::new();
    let mut lines = lines.peekable();
    while let Some((number, line)) = lines.next() {
        let fail = |what: &str| format!("line {}: {what}", number + 1);
        let name = line.strip_prefix("table ").ok_or_else(|| fail("`table NAME` is expected here"))?.trim().to_string();
        let (_, header) = lines.next().ok_or_else(|| fail("the columns are missing"))?;
        let columns: Vec<(&str, &str)> = header
            .split_whitespace()
            .map(|word| word.split_once(':').ok_or_else(|| fail(&format!("`{word}` is no NAME:TYPE"))))
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
        tables.push(Named { name, table: Table::new(schema, vec![batch.map_err(|e| fail(&e.to_string()))?]) });
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
/// If a word is no value of the type.
pub fn array(sql: &str, words: Vec<Option<String>>) -> Result<ArrayRef, String> {
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

/// DuckDB's names; `category` is text with few values, stored as a dictionary; `timestamptz[ZONE]`; `duration` in microseconds.
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
        other => return Err(format!("`{other}` is no type")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{line, rows};

    #[test]
    fn every_type_is_read() {
        let text = "# comment\ntable t\nb:boolean i:utinyint f:double d:decimal(10,2) t:timestamptz[Europe/Berlin] u:duration s:category\n\
                    true 255 -inf -1.50 2020-06-01T00:00:00 5 a\\sb\nNULL NULL nan NULL NULL NULL (empty)\ntable none\nx:date\n";
        let tables = read(text).unwrap();
        let all = rows(&tables[0].table);
        assert_eq!(line(&all[0]), "true\t255\t-inf\t-1.5\t2020-06-01T00:00:00Z\t5us\ta\\sb");
        assert_eq!(line(&all[1]), "NULL\tNULL\tNaN\tNULL\tNULL\tNULL\t(empty)");
        assert_eq!((tables[1].name.as_str(), tables[1].table.rows()), ("none", 0));
        assert_eq!(chunked(&tables[0].table, 1).batches().len(), 2);
        for wrong in ["x", "table t\na", "table t\na:int\n1", "table t\na:bigint\n1 2", "table t\na:bigint\nx"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
