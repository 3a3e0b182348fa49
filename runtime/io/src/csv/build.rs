//! From fields to Arrow columns of known types.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, StringBuilder, StringViewArray,
    StringViewBuilder, TimestampMicrosecondBuilder,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, TimeUnit};
use arrow::error::ArrowError;

use super::infer;

/// Blocks in which a text column keeps what is longer than twelve bytes.
const TEXT_BLOCK: u32 = 256 << 10;

/// Collects one column of one piece of a file.
pub(super) enum Column {
    Boolean(BooleanBuilder),
    Integer(Int64Builder),
    Float(Float64Builder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
    Text(StringViewBuilder),
    /// A type that the user gave and that is made by a cast at the end.
    Cast(StringBuilder, DataType),
}

/// A value of the wrong type: in which row of the piece, and what was there.
#[derive(Debug)]
pub(super) struct Unfit {
    pub row: usize,
}

impl Column {
    pub fn new(dtype: &DataType, rows: usize) -> Column {
        match dtype {
            DataType::Boolean => Column::Boolean(BooleanBuilder::with_capacity(rows)),
            DataType::Int64 => Column::Integer(Int64Builder::with_capacity(rows)),
            DataType::Float64 => Column::Float(Float64Builder::with_capacity(rows)),
            DataType::Date32 => Column::Date(Date32Builder::with_capacity(rows)),
            DataType::Timestamp(TimeUnit::Microsecond, zone) if zone.as_deref().is_none_or(|z| z == "UTC") => {
                let builder = TimestampMicrosecondBuilder::with_capacity(rows);
                Column::Timestamp(builder.with_timezone_opt(zone.clone()))
            }
            DataType::Utf8View => {
                Column::Text(StringViewBuilder::with_capacity(rows).with_fixed_block_size(TEXT_BLOCK))
            }
            other => Column::Cast(StringBuilder::new(), other.clone()),
        }
    }

    pub fn is_text(&self) -> bool {
        matches!(self, Column::Text(_))
    }

    pub fn null(&mut self) {
        match self {
            Column::Boolean(b) => b.append_null(),
            Column::Integer(b) => b.append_null(),
            Column::Float(b) => b.append_null(),
            Column::Date(b) => b.append_null(),
            Column::Timestamp(b) => b.append_null(),
            Column::Text(b) => b.append_null(),
            Column::Cast(b, _) => b.append_null(),
        }
    }

    /// Adds a value; false if it is not of the column's type. `given`: the user named the type, so that forms are taken
    /// which inference leaves alone (leading zeros, `1` for true).
    #[inline]
    pub fn push(&mut self, text: Cow<'_, str>, given: bool) -> bool {
        let bytes = text.as_bytes();
        match self {
            Column::Text(b) => b.append_value(text),
            Column::Integer(b) => match if given { infer::any_integer(trim(bytes)) } else { infer::integer(bytes) } {
                Some(v) => b.append_value(v),
                None => return false,
            },
            Column::Float(b) => match if given { infer::any_float(trim(bytes)) } else { infer::float(bytes) } {
                Some(v) => b.append_value(v),
                None => return false,
            },
            Column::Boolean(b) => {
                match infer::boolean(bytes).or_else(|| if given { loose_boolean(&text) } else { None }) {
                    Some(v) => b.append_value(v),
                    None => return false,
                }
            }
            Column::Date(b) => match infer::date(bytes) {
                Some(v) => b.append_value(v),
                None => return false,
            },
            Column::Timestamp(b) => {
                match infer::timestamp(bytes)
                    .map(|t| t.0)
                    .or_else(|| infer::date(bytes).map(|d| i64::from(d) * 86_400_000_000))
                {
                    Some(v) => b.append_value(v),
                    None => return false,
                }
            }
            Column::Cast(b, _) => b.append_value(text.trim()),
        }
        true
    }

    pub fn finish(self) -> Result<ArrayRef, Unfit> {
        Ok(match self {
            Column::Boolean(mut b) => Arc::new(b.finish()),
            Column::Integer(mut b) => Arc::new(b.finish()),
            Column::Float(mut b) => Arc::new(b.finish()),
            Column::Date(mut b) => Arc::new(b.finish()),
            Column::Timestamp(mut b) => Arc::new(b.finish()),
            Column::Text(mut b) => Arc::new(b.finish()) as Arc<StringViewArray>,
            Column::Cast(mut b, dtype) => {
                let texts = b.finish();
                let options = CastOptions { safe: true, ..Default::default() };
                let array = match cast_with_options(&texts, &dtype, &options) {
                    Ok(array) => array,
                    // Nothing of the column can be cast: the first value is as good a place as any.
                    Err(_) => return Err(Unfit { row: (0..texts.len()).find(|r| texts.is_valid(*r)).unwrap_or(0) }),
                };
                if array.null_count() != texts.null_count() {
                    let row = (0..texts.len()).find(|r| texts.is_valid(*r) && array.is_null(*r)).unwrap_or(0);
                    return Err(Unfit { row });
                }
                array
            }
        })
    }
}

/// True if a column of this type can be made from text at all.
pub(super) fn castable(dtype: &DataType) -> bool {
    let none: Result<ArrayRef, ArrowError> =
        arrow::compute::cast(&arrow::array::StringArray::from(vec![None::<&str>]), dtype);
    none.is_ok()
}

fn trim(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

fn loose_boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "t" | "y" | "yes" | "on" | "true" => Some(true),
        "0" | "f" | "n" | "no" | "off" | "false" => Some(false),
        _ => None,
    }
}
