//! From fields to Arrow columns of known types.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, StringBuilder, StringViewArray,
    StringViewBuilder, TimestampMicrosecondBuilder,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::infer::{self, DateForm, Notation};

/// Blocks in which a text column keeps what is longer than twelve bytes.
const TEXT_BLOCK: u32 = 256 << 10;

/// Collects one column of one piece of a file.
pub(super) struct Column<'a> {
    values: Values,
    notation: &'a Notation,
    dates: DateForm,
    /// The user named the type, so that forms are taken which inference leaves alone: leading zeros, `1` for true.
    given: bool,
}

enum Values {
    Boolean(BooleanBuilder),
    Integer(Int64Builder),
    Float(Float64Builder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
    Text(StringViewBuilder),
    /// A type that the user gave and that is made by a cast at the end.
    Cast(StringBuilder, DataType),
}

/// A value of the wrong type in a row of the piece.
#[derive(Debug)]
pub(super) struct Unfit {
    pub row: usize,
}

impl<'a> Column<'a> {
    pub fn new(dtype: &DataType, rows: usize, notation: &'a Notation, dates: DateForm, given: bool) -> Column<'a> {
        let values = match dtype {
            DataType::Boolean => Values::Boolean(BooleanBuilder::with_capacity(rows)),
            DataType::Int64 => Values::Integer(Int64Builder::with_capacity(rows)),
            DataType::Float64 => Values::Float(Float64Builder::with_capacity(rows)),
            DataType::Date32 => Values::Date(Date32Builder::with_capacity(rows)),
            DataType::Timestamp(_, zone) if infer::is_plain_timestamp(dtype) => {
                let builder = TimestampMicrosecondBuilder::with_capacity(rows);
                Values::Timestamp(builder.with_timezone_opt(zone.clone()))
            }
            DataType::Utf8View => {
                Values::Text(StringViewBuilder::with_capacity(rows).with_fixed_block_size(TEXT_BLOCK))
            }
            other => Values::Cast(StringBuilder::new(), other.clone()),
        };
        Column { values, notation, dates, given }
    }

    #[inline]
    pub fn is_text(&self) -> bool {
        matches!(self.values, Values::Text(_))
    }

    pub fn null(&mut self) {
        match &mut self.values {
            Values::Boolean(b) => b.append_null(),
            Values::Integer(b) => b.append_null(),
            Values::Float(b) => b.append_null(),
            Values::Date(b) => b.append_null(),
            Values::Timestamp(b) => b.append_null(),
            Values::Text(b) => b.append_null(),
            Values::Cast(b, _) => b.append_null(),
        }
    }

    /// Adds a value; false if it is not of the column's type.
    #[inline]
    pub fn push(&mut self, text: Cow<'_, str>) -> bool {
        let bytes = text.as_bytes();
        let (given, notation, dates) = (self.given, self.notation, self.dates);
        match &mut self.values {
            Values::Text(b) => b.append_value(text),
            Values::Integer(b) => {
                let Some(number) = notation.number(if given { bytes.trim_ascii() } else { bytes }) else {
                    return false;
                };
                match if given { infer::any_integer(&number) } else { infer::integer(&number) } {
                    Some(v) => b.append_value(v),
                    None => return false,
                }
            }
            Values::Float(b) => {
                let Some(number) = notation.number(if given { bytes.trim_ascii() } else { bytes }) else {
                    return false;
                };
                match if given { infer::any_float(&number) } else { infer::float(&number) } {
                    Some(v) => b.append_value(v),
                    None => return false,
                }
            }
            Values::Boolean(b) => {
                match infer::boolean(bytes).or_else(|| if given { loose_boolean(&text) } else { None }) {
                    Some(v) => b.append_value(v),
                    None => return false,
                }
            }
            Values::Date(b) => match infer::date(bytes, dates, &notation.formats) {
                Some(v) => b.append_value(v),
                None => return false,
            },
            Values::Timestamp(b) => match infer::timestamp(bytes, dates, &notation.formats) {
                Some(v) => b.append_value(v),
                None => return false,
            },
            Values::Cast(b, dtype) => {
                let text = text.trim();
                match notation.number(text.as_bytes()) {
                    Some(number) if dtype.is_numeric() => {
                        b.append_value(std::str::from_utf8(&number).unwrap_or_default());
                    }
                    None if dtype.is_numeric() => return false,
                    _ => b.append_value(text),
                }
            }
        }
        true
    }

    /// The array, and the rows whose values could not be cast, which are null.
    pub fn finish(self) -> (ArrayRef, Vec<Unfit>) {
        let array: ArrayRef = match self.values {
            Values::Boolean(mut b) => Arc::new(b.finish()),
            Values::Integer(mut b) => Arc::new(b.finish()),
            Values::Float(mut b) => Arc::new(b.finish()),
            Values::Date(mut b) => Arc::new(b.finish()),
            Values::Timestamp(mut b) => Arc::new(b.finish()),
            Values::Text(mut b) => Arc::new(b.finish()) as Arc<StringViewArray>,
            Values::Cast(mut b, dtype) => {
                let texts = b.finish();
                let options = CastOptions { safe: true, ..Default::default() };
                // Values that cannot be cast are null, or nothing of the column can be cast.
                let array = cast_with_options(&texts, &dtype, &options)
                    .unwrap_or_else(|_| arrow::array::new_null_array(&dtype, texts.len()));
                let unfit = match array.null_count() == texts.null_count() {
                    true => Vec::new(),
                    false => {
                        let rows = (0..texts.len()).filter(|r| texts.is_valid(*r) && array.is_null(*r));
                        rows.map(|row| Unfit { row }).collect()
                    }
                };
                return (array, unfit);
            }
        };
        (array, Vec::new())
    }
}

/// True if a column of this type can be made from text at all.
pub(super) fn castable(dtype: &DataType) -> bool {
    let none: Result<ArrayRef, ArrowError> =
        arrow::compute::cast(&arrow::array::StringArray::from(vec![None::<&str>]), dtype);
    none.is_ok()
}

fn loose_boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "t" | "y" | "yes" | "on" | "true" => Some(true),
        "0" | "f" | "n" | "no" | "off" | "false" => Some(false),
        _ => None,
    }
}
