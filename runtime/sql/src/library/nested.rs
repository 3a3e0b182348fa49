//! Strings as lists, structs and maps: `'[1, 2]'::int[]`, `'{a: 1}'::struct(a int)`, `'{k=1}'::map(varchar, int)`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StringViewBuilder, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use onrush_expr::kernels::{Body, kernel, strict};
use onrush_expr::types;

use super::{at, invalid, strings_of};

/// A string as a value of a nested type. Without `fail` it is null where it is none.
///
/// # Errors
/// If there is no null of the type.
pub fn call(value: Expr, to: &DataType, fail: bool) -> Result<Expr> {
    let body: Body = if fail { |args| read(args, true) } else { |args| read(args, false) };
    let name = if fail { "nested_of_varchar" } else { "try_nested_of_varchar" };
    // The second argument says the type.
    let null = Expr::Literal(ScalarValue::try_from(to)?, None);
    Ok(kernel(name, to.clone(), body).call(vec![value, null]))
}

fn read(args: &[ArrayRef], fail: bool) -> Result<ArrayRef> {
    let texts = strings_of(&args[0])?;
    let texts: Vec<Option<&str>> = (0..texts.len()).map(|row| at(&texts, row)).collect();
    column(&texts, args[1].data_type(), fail)
}

/// The strings as a column of a type.
fn column(texts: &[Option<&str>], to: &DataType, fail: bool) -> Result<ArrayRef> {
    match to {
        DataType::List(field) => {
            let (mut items, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new());
            for text in texts {
                let parts = match text {
                    Some(text) => parts(text, '[', ']', fail)?,
                    None => None,
                };
                valid.push(parts.is_some());
                lengths.push(parts.as_ref().map_or(0, Vec::len));
                items.extend(parts.into_iter().flatten().map(value_of));
            }
            let items: Vec<Option<&str>> = items.iter().map(|item| item.as_deref()).collect();
            let values = column(&items, field.data_type(), fail)?;
            let offsets = OffsetBuffer::from_lengths(lengths);
            Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, Some(NullBuffer::from(valid)))?))
        }
        DataType::Struct(fields) => {
            let mut columns: Vec<Vec<Option<String>>> = vec![Vec::with_capacity(texts.len()); fields.len()];
            let mut valid = Vec::new();
            for text in texts {
                let parts = match text {
                    Some(text) => parts(text, '{', '}', fail)?,
                    None => None,
                };
                valid.push(parts.is_some());
                let pairs: Vec<(String, &str)> =
                    parts.into_iter().flatten().filter_map(|part| pair(part, ':')).collect();
                for (field, column) in fields.iter().zip(&mut columns) {
                    let own = pairs.iter().find(|(name, _)| name.eq_ignore_ascii_case(field.name()));
                    column.push(own.and_then(|(_, value)| value_of(value)));
                }
            }
            let columns = fields.iter().zip(&columns).map(|(field, texts)| {
                let texts: Vec<Option<&str>> = texts.iter().map(|text| text.as_deref()).collect();
                column(&texts, field.data_type(), fail)
            });
            let columns = columns.collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(StructArray::try_new(fields.clone(), columns, Some(NullBuffer::from(valid)))?))
        }
        DataType::Map(entries, sorted) => {
            let DataType::Struct(fields) = entries.data_type() else { return invalid("a map without entries") };
            let (mut keys, mut values, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for text in texts {
                let parts = match text {
                    Some(text) => parts(text, '{', '}', fail)?,
                    None => None,
                };
                valid.push(parts.is_some());
                let pairs: Vec<(String, &str)> =
                    parts.into_iter().flatten().filter_map(|part| pair(part, '=')).collect();
                lengths.push(pairs.len());
                for (key, value) in pairs {
                    keys.push(Some(key));
                    values.push(value_of(value));
                }
            }
            let of = |texts: &[Option<String>], dtype: &DataType| {
                let texts: Vec<Option<&str>> = texts.iter().map(|text| text.as_deref()).collect();
                column(&texts, dtype, fail)
            };
            let columns = vec![of(&keys, fields[0].data_type())?, of(&values, fields[1].data_type())?];
            let inner = StructArray::try_new(fields.clone(), columns, None)?;
            let offsets = OffsetBuffer::from_lengths(lengths);
            let valid = Some(NullBuffer::from(valid));
            Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, inner, valid, *sorted)?))
        }
        leaf => {
            let mut builder = StringViewBuilder::with_capacity(texts.len());
            texts.iter().for_each(|text| builder.append_option(*text));
            let strings: ArrayRef = Arc::new(builder.finish());
            match (types::is_string(leaf), fail) {
                (false, false) => {
                    Ok(cast_with_options(&strings, leaf, &CastOptions { safe: true, ..Default::default() })?)
                }
                _ => strict(&strings, leaf),
            }
        }
    }
}

/// The parts between commas of what stands in brackets. `None` if there are no brackets and nothing fails.
pub fn parts(text: &str, open: char, close: char, fail: bool) -> Result<Option<Vec<&str>>> {
    let trimmed = text.trim();
    let inside = trimmed.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    let Some(inside) = inside else {
        return match fail {
            true => invalid(format!("`{text}` does not start with `{open}` and end with `{close}`")),
            false => Ok(None),
        };
    };
    if inside.trim().is_empty() {
        return Ok(Some(Vec::new()));
    }
    let mut out = Vec::new();
    let mut start = 0;
    let mut scan = Scan::default();
    for (place, c) in inside.char_indices() {
        if scan.is_outside(c) && c == ',' {
            out.push(&inside[start..place]);
            start = place + 1;
        }
    }
    out.push(&inside[start..]);
    Ok(Some(out))
}

/// Whether a place is outside of quotes and inner brackets.
#[derive(Default)]
struct Scan {
    depth: usize,
    quote: Option<char>,
    escaped: bool,
}

impl Scan {
    fn is_outside(&mut self, c: char) -> bool {
        // Outside of quotes, a backslash escapes quotes only.
        if std::mem::take(&mut self.escaped) && (self.quote.is_some() || matches!(c, '"' | '\'')) {
            return self.quote.is_none() && self.depth == 0;
        }
        match (self.quote, c) {
            (_, '\\') => self.escaped = true,
            (Some(quote), c) if c == quote => self.quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => self.quote = Some(c),
            (None, '[' | '{' | '(') => self.depth += 1,
            (None, ']' | '}' | ')') => self.depth = self.depth.saturating_sub(1),
            (None, _) => {}
        }
        self.quote.is_none() && self.depth == 0
    }
}

/// A key and the text of its value.
fn pair(part: &str, between: char) -> Option<(String, &str)> {
    let mut scan = Scan::default();
    let place = part.char_indices().find(|(_, c)| scan.is_outside(*c) && *c == between).map(|(place, _)| place)?;
    Some((value_of(&part[..place]).unwrap_or_default(), &part[place + between.len_utf8()..]))
}

/// The value of a part: without blanks around it and without quotes; `None` for `NULL`.
pub fn value_of(part: impl AsRef<str>) -> Option<String> {
    let part = part.as_ref().trim();
    if part.eq_ignore_ascii_case("null") {
        return None;
    }
    if part.starts_with(['[', '{']) {
        return Some(part.to_string());
    }
    let mut out = String::with_capacity(part.len());
    let mut quote = None;
    let mut chars = part.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => out.extend(chars.next()),
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '\\') if matches!(chars.peek(), Some('"' | '\'')) => out.extend(chars.next()),
            (_, c) => out.push(c),
        }
    }
    Some(out)
}
