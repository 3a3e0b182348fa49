//! Folders named `key=value`, as Hive, Spark, DuckDB and Polars write them: each gives a column of the files below.

use std::path::{Component, Path};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringViewArray, UInt32Array, new_null_array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use onrush_frame::Table;
use onrush_wire::{Class, Diagnostic};

use crate::file::{FileState, SourceFiles};
use crate::memory::Reservation;

/// The value of null.
pub(crate) const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// A column of folders.
#[derive(Debug)]
pub(crate) struct HiveColumn {
    pub field: Field,
    /// One row for each file.
    pub values: ArrayRef,
}

/// The columns of the folders above the files of a source. Every reader puts them behind those of the files.
pub(crate) struct Folders {
    columns: Vec<HiveColumn>,
}

/// The columns that the user chose, in their order. Empty: all.
pub(crate) struct Chosen(Vec<String>);

impl Folders {
    pub fn none() -> Self {
        Folders { columns: Vec::new() }
    }

    /// The columns of the folders named `key=value`. `hive`: whether they give columns; by default if the path is a
    /// folder or a pattern.
    ///
    /// # Errors
    /// If the files have different keys.
    pub fn of(resolved: &SourceFiles, hive: Option<bool>) -> Result<Self, Diagnostic> {
        let columns = match hive.unwrap_or(resolved.is_set) {
            true => columns(&resolved.files, &resolved.hive)?,
            false => Vec::new(),
        };
        Ok(Folders { columns })
    }

    /// The chosen columns that a reader looks for in the files, and all of them if some are those of folders.
    pub fn apart(&self, chosen: &[String]) -> (Vec<String>, Chosen) {
        let is_key = |name: &String| self.columns.iter().any(|column| column.field.name() == name);
        match chosen.iter().any(is_key) {
            true => (chosen.iter().filter(|name| !is_key(name)).cloned().collect(), Chosen(chosen.to_vec())),
            false => (chosen.to_vec(), Chosen(Vec::new())),
        }
    }

    /// The table of batches, each of the file at its place in `files`, with the columns of the folders. Keys that the
    /// files hold, too, are read from there.
    pub fn table(
        &self,
        schema: SchemaRef,
        batches: Vec<(usize, RecordBatch)>,
        files: &[FileState],
        taken: &Reservation<'_>,
    ) -> Result<Table, Diagnostic> {
        let own = |column: &&HiveColumn| schema.field_with_name(column.field.name()).is_err();
        let added: Vec<&HiveColumn> = self.columns.iter().filter(own).collect();
        if added.is_empty() {
            return Ok(Table::new(schema, batches.into_iter().map(|(_, batch)| batch).collect()));
        }
        let keys = added.iter().map(|column| FieldRef::new(column.field.clone()));
        let schema = SchemaRef::new(Schema::new(schema.fields().iter().cloned().chain(keys).collect::<Vec<_>>()));
        let with_keys = |file: usize, batch: &RecordBatch| -> Result<RecordBatch, ArrowError> {
            let rows = batch.num_rows();
            let mut all = batch.columns().to_vec();
            for column in &added {
                all.push(column.repeated(file, rows)?);
            }
            let count = RecordBatchOptions::new().with_row_count(Some(rows));
            RecordBatch::try_new_with_options(SchemaRef::clone(&schema), all, &count)
        };
        let mut whole = Vec::with_capacity(batches.len());
        for (file, batch) in batches {
            let all = with_keys(file, &batch).map_err(|e| {
                Diagnostic::error(Class::Internal, "internal", format!("the keys of folders do not fit: {e}"))
            })?;
            let keys = &all.columns()[batch.num_columns()..];
            taken.take(&files[file].path, keys.iter().map(|key| key.get_array_memory_size() as u64).sum())?;
            whole.push(all);
        }
        Ok(Table::new(schema, whole))
    }
}

impl Chosen {
    /// These columns of a table.
    pub fn of(&self, table: Table) -> Result<Table, Diagnostic> {
        if self.0.is_empty() {
            return Ok(table);
        }
        let places = self.0.iter().map(|name| table.schema().index_of(name)).collect::<Result<Vec<_>, _>>();
        places
            .and_then(|places| table.project(&places))
            .map_err(|e| Diagnostic::error(Class::Internal, "internal", format!("columns cannot be chosen: {e}")))
    }
}

impl HiveColumn {
    /// The value of a file for a number of rows.
    pub fn repeated(&self, file: usize, rows: usize) -> Result<ArrayRef, ArrowError> {
        match self.values.is_valid(file) {
            true => take(&self.values, &UInt32Array::from(vec![file as u32; rows]), None),
            false => Ok(new_null_array(self.values.data_type(), rows)),
        }
    }
}

/// The keys and values of the folders above a file, from the outermost one.
pub(crate) fn keys(file: &Path) -> Vec<(String, String)> {
    let folders = file.parent().into_iter().flat_map(Path::components);
    folders
        .filter_map(|component| match component {
            Component::Normal(name) => {
                let name = name.to_string_lossy();
                let (key, value) = name.split_once('=')?;
                (!key.is_empty()).then(|| (decode(key), decode(value)))
            }
            _ => None,
        })
        .collect()
}

/// The columns of files. Types come from all values: integer, date, else string.
///
/// # Errors
/// If the files have different keys.
pub(crate) fn columns(files: &[FileState], keys: &[Vec<(String, String)>]) -> Result<Vec<HiveColumn>, Diagnostic> {
    let first = &keys[0];
    for (file, keys) in files.iter().zip(keys) {
        if keys.iter().map(|(key, _)| key).ne(first.iter().map(|(key, _)| key)) {
            let names = |keys: &[(String, String)]| match keys {
                [] => "none".to_string(),
                keys => keys.iter().map(|(key, _)| format!("`{key}`")).collect::<Vec<_>>().join(", "),
            };
            return Err(Diagnostic::error(
                Class::Data,
                "different-columns",
                format!(
                    "the folders above `{}` have other keys than those above `{}`: {} and {}",
                    file.path.display(),
                    files[0].path.display(),
                    names(keys),
                    names(first)
                ),
            )
            .help(
                "read a part of the files, or leave the keys out: parquet().hive(false).read(..), csv().hive(false).read(..)",
            ));
        }
    }
    let column = |i: usize| {
        let values: StringViewArray = keys.iter().map(|k| Some(k[i].1.as_str()).filter(|v| *v != NULL)).collect();
        let is = |test: fn(&str) -> bool| values.iter().any(|v| v.is_some()) && values.iter().flatten().all(test);
        let dtype = match () {
            () if is(is_integer) => DataType::Int64,
            () if is(is_date) => DataType::Date32,
            () => DataType::Utf8View,
        };
        let values: ArrayRef = Arc::new(values);
        let cast = cast(&values, &dtype).ok().filter(|cast| cast.null_count() == values.null_count());
        let values = cast.unwrap_or(values);
        HiveColumn { field: Field::new(&first[i].0, values.data_type().clone(), true), values }
    };
    Ok((0..first.len()).map(column).collect())
}

/// An integer as it would be written: `007` is a string, so that it stays what it is.
fn is_integer(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|n| n.to_string() == text)
}

fn is_date(text: &str) -> bool {
    let digits = |range: std::ops::Range<usize>| text.as_bytes()[range].iter().all(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-' && digits(0..4) && digits(5..7) && digits(8..10)
}

/// `%20` and the like as their characters. A percent sign without two hexadecimal digits stays.
fn decode(text: &str) -> String {
    let hex = |byte: Option<&u8>| byte.and_then(|b| (*b as char).to_digit(16)).map(|digit| digit as u8);
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        match (byte, hex(bytes.get(at + 1)), hex(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push(high * 16 + low);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A key or a value in the name of a folder: all characters are percent-encoded but letters of any script, digits,
/// blanks and some marks.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, c) in text.chars().enumerate() {
        let stays = c.is_alphanumeric() || matches!(c, '-' | '_' | ' ' | '+' | ',') || c == '.' && i > 0;
        if stays {
            out.push(c);
        } else {
            let mut buffer = [0; 4];
            c.encode_utf8(&mut buffer).bytes().for_each(|byte| out.push_str(&format!("%{byte:02X}")));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_folders() {
        let keys = keys(Path::new("sales=x/year=2024/name=a%20b%2Fc%zz/k=/x=1.parquet"));
        let keys: Vec<(&str, &str)> = keys.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(keys, [("sales", "x"), ("year", "2024"), ("name", "a b/c%zz"), ("k", "")]);
    }

    #[test]
    fn encoded_values_come_back() {
        for text in ["a b", "x/y", "50%", "é=ü", "..", ".", "a:b\n", "2013-01-02 03:04:05"] {
            let encoded = encode(text);
            assert!(!encoded.contains(['/', '=', ':', '\n']) && !encoded.starts_with('.'), "{encoded}");
            assert_eq!(decode(&encoded), text);
        }
    }
}
