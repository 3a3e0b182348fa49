//! Strings as lists, structs and maps: `'[1, 2]'::int[]`, `'{a: 1}'::struct(a int)`, `'{k=1}'::map(varchar, int)`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StringViewBuilder, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Fields};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use onrush_expr::scalar_udf::{Body, kernel, strict};
use onrush_expr::type_coercion;

use super::{at, invalid, strings_of};

/// How strictly strings are read.
#[derive(Clone, Copy)]
struct Reading {
    /// Whether a string that is not a value of the type is an error, instead of null.
    fails: bool,
    /// Whether a struct may have fields that its type does not have, as documents of JSON may.
    is_open: bool,
}

/// A string as a value of a nested type. Without `fail` it is null where it is none.
///
/// # Errors
/// If there is no null of the type.
pub fn call(value: Expr, to: &DataType, fail: bool) -> Result<Expr> {
    const DOCUMENTS: [&str; 7] =
        ["json", "try_json", "json_extract", "json_merge_patch", "json_object", "json_array", "to_json"];
    let is_open = matches!(&value, Expr::ScalarFunction(f) if DOCUMENTS.contains(&f.func.name()));
    let (name, body): (&'static str, Body) = match (fail, is_open) {
        (true, false) => ("nested_of_varchar", |args| read(args, Reading { fails: true, is_open: false })),
        (false, false) => ("try_nested_of_varchar", |args| read(args, Reading { fails: false, is_open: false })),
        (true, true) => ("nested_of_json", |args| read(args, Reading { fails: true, is_open: true })),
        (false, true) => ("try_nested_of_json", |args| read(args, Reading { fails: false, is_open: true })),
    };
    // The second argument says the type.
    let null = Expr::Literal(ScalarValue::try_from(to)?, None);
    Ok(kernel(name, to.clone(), body).call(vec![value, null]))
}

fn read(args: &[ArrayRef], reading: Reading) -> Result<ArrayRef> {
    let texts = strings_of(&args[0])?;
    let texts: Vec<Option<&str>> = (0..texts.len()).map(|row| at(&texts, row)).collect();
    column(&texts, args[1].data_type(), reading)
}

/// The strings as a column of a type.
fn column(texts: &[Option<&str>], to: &DataType, reading: Reading) -> Result<ArrayRef> {
    match to {
        DataType::List(field) => {
            let (mut items, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new());
            for text in texts {
                let parts = match text {
                    Some(text) => parts(text, '[', ']', reading.fails)?,
                    None => None,
                };
                valid.push(parts.is_some());
                lengths.push(parts.as_ref().map_or(0, Vec::len));
                items.extend(parts.into_iter().flatten().map(value_of));
            }
            let items: Vec<Option<&str>> = items.iter().map(|item| item.as_deref()).collect();
            let values = column(&items, field.data_type(), reading)?;
            let offsets = OffsetBuffer::from_lengths(lengths);
            Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, Some(NullBuffer::from(valid)))?))
        }
        DataType::Struct(fields) => {
            let mut columns: Vec<Vec<Option<String>>> = vec![Vec::with_capacity(texts.len()); fields.len()];
            let mut valid = Vec::new();
            for text in texts {
                let found = match text {
                    Some(text) => entries(text, fields, reading)?,
                    None => None,
                };
                valid.push(found.is_some());
                let mut found = found.unwrap_or_default();
                found.resize(fields.len(), None);
                columns.iter_mut().zip(found).for_each(|(column, value)| column.push(value));
            }
            let columns = fields.iter().zip(&columns).map(|(field, texts)| {
                let texts: Vec<Option<&str>> = texts.iter().map(|text| text.as_deref()).collect();
                column(&texts, field.data_type(), reading)
            });
            let columns = columns.collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(StructArray::try_new(fields.clone(), columns, Some(NullBuffer::from(valid)))?))
        }
        DataType::Map(entries, sorted) => {
            let DataType::Struct(fields) = entries.data_type() else { return invalid("a map without entries") };
            let (mut keys, mut values, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for text in texts {
                let parts = match text {
                    Some(text) => parts(text, '{', '}', reading.fails)?,
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
                column(&texts, dtype, reading)
            };
            let columns = vec![of(&keys, fields[0].data_type())?, of(&values, fields[1].data_type())?];
            let inner = StructArray::try_new(fields.clone(), columns, None)?;
            let offsets = OffsetBuffer::from_lengths(lengths);
            let valid = Some(NullBuffer::from(valid));
            Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, inner, valid, *sorted)?))
        }
        leaf => {
            let mut builder = StringViewBuilder::with_capacity(texts.len());
            for text in texts {
                match text.filter(|_| leaf.is_integer()).and_then(rounded) {
                    Some(whole) => builder.append_value(whole),
                    None => builder.append_option(*text),
                }
            }
            let strings: ArrayRef = Arc::new(builder.finish());
            match (type_coercion::is_string(leaf), reading.fails) {
                (false, false) => {
                    Ok(cast_with_options(&strings, leaf, &CastOptions { safe: true, ..Default::default() })?)
                }
                _ => strict(&strings, leaf),
            }
        }
    }
}

/// The integer nearest to a written fraction: halves go away from zero.
fn rounded(text: &str) -> Option<String> {
    let value = text.trim().parse::<f64>().ok().filter(|value| text.contains(['.', 'e', 'E']) && value.is_finite())?;
    Some(format!("{:.0}", value.round()))
}

/// The strings of the fields of a struct, null for those that are missing. `None` if the text is not a struct of such
/// fields and nothing fails.
fn entries(text: &str, fields: &Fields, reading: Reading) -> Result<Option<Vec<Option<String>>>> {
    let wrong =
        |what: String| if reading.fails { invalid(format!("`{text}` is not a struct: {what}")) } else { Ok(None) };
    let inside = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let Some(mut rest) = inside else { return wrong("it has no braces around it".to_string()) };
    let mut out = vec![None; fields.len()];
    if rest.trim().is_empty() {
        return Ok(Some(out));
    }
    loop {
        // Commas and brackets in front of the colon are letters of the name.
        let mut scan = Scan { names: true, ..Scan::default() };
        let colon = rest.char_indices().find(|(_, c)| scan.is_outside(*c) && *c == ':').map(|(place, _)| place);
        let Some(colon) = colon else { return wrong(format!("`{rest}` has no `:`")) };
        let name = unquoted(rest[..colon].trim());
        let exact = fields.iter().position(|field| *field.name() == name);
        let any_case = || fields.iter().position(|field| field.name().eq_ignore_ascii_case(&name));
        let field = exact.or_else(any_case);
        if field.is_none() && !reading.is_open {
            return wrong(format!("there is no field `{name}`"));
        }
        rest = &rest[colon + 1..];
        let mut scan = Scan::default();
        let comma = rest.char_indices().find(|(_, c)| scan.is_outside(*c) && *c == ',').map(|(place, _)| place);
        if let Some(field) = field {
            out[field] = value_of(&rest[..comma.unwrap_or(rest.len())]);
        }
        match comma {
            Some(comma) => rest = &rest[comma + 1..],
            None => return Ok(Some(out)),
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
    /// Whether brackets are letters of a name.
    names: bool,
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
            (None, '[' | '{' | '(' | ']' | '}' | ')') if self.names => {}
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
    Some(unquoted(part))
}

/// Without quotes and the backslashes that escape.
fn unquoted(part: &str) -> String {
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
    out
}
