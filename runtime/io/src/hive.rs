//! Folders named `key=value`, as Hive, Spark, DuckDB and Polars write them: each gives a column of the files below.

use std::path::{Component, Path};
use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field};
use onrush_wire::{Class, Diagnostic};

use crate::cache::FileState;

/// The value of null.
pub(crate) const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// A column of folders.
pub(crate) struct HiveColumn {
    pub field: Field,
    /// One row for each file.
    pub values: ArrayRef,
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
            .help("read a part of the files, or leave the keys out: parquet().hive(false).read(..)"));
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
