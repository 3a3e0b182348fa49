//! Functions of text, under `.str`. Lengths and positions count characters unless the name says bytes.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListBuilder, StringViewBuilder, UInt32Array};
use arrow::datatypes::{DataType, Field, Int64Type, TimeUnit};
use chrono::{NaiveDate, NaiveDateTime};
use datafusion::functions::expr_fn as df;
use datafusion::logical_expr::{Expr, Operator, binary_expr, cast};
use onrush_wire::Diagnostic;
use regex::Regex;
use unicode_segmentation::UnicodeSegmentation;

use super::function::{Call, Function, Kind, function};
use super::scalar_udf::{Body, error, kernel, kernel_at, literal_text, map_text};
use super::{Lower, TypedExpr, json, lit};
use crate::type_coercion::TEXT;

const R: Kind = Kind::Row;

pub const FUNCTIONS: &[Function] = &[
    function("str.contains", &["str.matches"], R, "self:str pattern:str literal:#bool?", contains),
    function("str.starts_with", &["str.startswith"], R, "self:str prefix:str", |_, c| {
        Ok(truth(c, df::starts_with(c.this().text(), c.arg(1).text())))
    }),
    function("str.ends_with", &["str.endswith"], R, "self:str suffix:str", |_, c| {
        Ok(truth(c, df::ends_with(c.this().text(), c.arg(1).text())))
    }),
    function("str.len_chars", &["str.len", "str.length", "str.n_chars"], R, "self:str", |_, c| {
        Ok(as_u32(c, df::character_length(c.this().text())))
    }),
    function("str.len_bytes", &["str.n_bytes"], R, "self:str", |_, c| {
        Ok(as_u32(
            c,
            kernel("len_bytes", DataType::UInt32, |args| {
                let texts = args[0].as_string_view();
                Ok(Arc::new(texts.iter().map(|t| Some(t?.len() as u32)).collect::<UInt32Array>()))
            })
            .call(vec![c.this().text()]),
        ))
    }),
    function("str.to_uppercase", &["str.upper", "str.uppercase"], R, "self:str", |_, c| {
        Ok(map(c, "to_uppercase", |a| map_text(a, |t| Some(t.to_uppercase()))))
    }),
    function("str.to_lowercase", &["str.lower", "str.lowercase"], R, "self:str", |_, c| {
        Ok(map(c, "to_lowercase", |a| map_text(a, |t| Some(t.to_lowercase()))))
    }),
    function("str.to_titlecase", &["str.title", "str.capitalize_words"], R, "self:str", |_, c| {
        Ok(map(c, "to_titlecase", |a| map_text(a, |t| Some(title(t)))))
    }),
    function("str.reverse", &[], R, "self:str", |_, c| {
        Ok(map(c, "reverse_graphemes", |a| map_text(a, |t| Some(t.graphemes(true).rev().collect()))))
    }),
    function("str.strip_chars", &["str.strip", "str.trim"], R, "self:str characters:#str?", |_, c| {
        Ok(strip(c, "strip_chars"))
    }),
    function("str.strip_chars_start", &["str.lstrip", "str.trim_start"], R, "self:str characters:#str?", |_, c| {
        Ok(strip(c, "strip_chars_start"))
    }),
    function("str.strip_chars_end", &["str.rstrip", "str.trim_end"], R, "self:str characters:#str?", |_, c| {
        Ok(strip(c, "strip_chars_end"))
    }),
    function("str.strip_prefix", &["str.removeprefix"], R, "self:str prefix:#str", |_, c| {
        Ok(with_text(c, "strip_prefix", |a| {
            let prefix = literal_text(&a[1]).unwrap_or_default();
            map_text(a, |t| Some(t.strip_prefix(prefix).unwrap_or(t).to_string()))
        }))
    }),
    function("str.strip_suffix", &["str.removesuffix"], R, "self:str suffix:#str", |_, c| {
        Ok(with_text(c, "strip_suffix", |a| {
            let suffix = literal_text(&a[1]).unwrap_or_default();
            map_text(a, |t| Some(t.strip_suffix(suffix).unwrap_or(t).to_string()))
        }))
    }),
    function("str.replace", &[], R, "self:str pattern:#str value:str literal:#bool?", |l, c| replace(l, c, false)),
    function("str.replace_all", &[], R, "self:str pattern:#str value:str literal:#bool?", |l, c| replace(l, c, true)),
    function("str.slice", &["str.substring", "str.substr"], R, "self:str offset:int length:int?", |_, c| {
        let length = c.opt(2).map_or_else(|| lit(i64::MAX), |t| t.i64());
        Ok(slice(&c.this(), c.arg(1).i64(), length))
    }),
    function("str.head", &["str.left"], R, "self:str n:#int", |_, c| {
        let n = c.int(1).unwrap_or(0);
        // A negative number leaves that many characters out at the end.
        let length = if n < 0 { cast(df::character_length(c.this().text()), DataType::Int64) + lit(n) } else { lit(n) };
        Ok(slice(&c.this(), lit(0i64), df::greatest(vec![length, lit(0i64)])))
    }),
    function("str.tail", &["str.right"], R, "self:str n:#int", |_, c| {
        let n = c.int(1).unwrap_or(0);
        Ok(slice(&c.this(), lit(if n == 0 { i64::MAX } else { -n }), lit(i64::MAX)))
    }),
    function("str.split", &[], R, "self:str by:#str", |_, c| {
        let out = DataType::List(Arc::new(Field::new_list_field(TEXT, true)));
        Ok(c.this().with(kernel("split", out.clone(), split).call(vec![c.this().text(), c.arg(1).text()]), out))
    }),
    function("str.extract", &[], R, "self:str pattern:#str group_index:#int?", |l, c| {
        let regex = pattern(l, c, 1)?;
        let group = c.int(2).unwrap_or(1);
        if group < 0 || group as usize >= regex.captures_len() {
            let message = format!("the pattern has {} groups, group {group} is asked for", regex.captures_len() - 1);
            return Err(c.wrong(l, 1, message).help("put the part to extract in parentheses"));
        }
        let body: Body = |args| {
            let regex = compile(literal_text(&args[1]).unwrap_or_default())?;
            let group = args[2].as_primitive::<Int64Type>();
            let group = if group.is_empty() { 1 } else { group.value(0) as usize };
            map_text(args, |t| Some(regex.captures(t)?.get(group)?.as_str().to_string()))
        };
        Ok(c.this().with(kernel("extract", TEXT, body).call(vec![c.this().text(), c.arg(1).text(), lit(group)]), TEXT))
    }),
    function("str.extract_all", &[], R, "self:str pattern:#str", |l, c| {
        pattern(l, c, 1)?;
        let out = DataType::List(Arc::new(Field::new_list_field(TEXT, true)));
        let body: Body = |args| {
            let regex = compile(literal_text(&args[1]).unwrap_or_default())?;
            lists(args, |t| regex.find_iter(t).map(|m| m.as_str().to_string()).collect())
        };
        Ok(c.this().with(kernel("extract_all", out.clone(), body).call(vec![c.this().text(), c.arg(1).text()]), out))
    }),
    function("str.count_matches", &[], R, "self:str pattern:#str literal:#bool?", |l, c| {
        let expr = pattern_text(l, c, 1, c.flag(2))?;
        let body: Body = |args| {
            let regex = compile(literal_text(&args[1]).unwrap_or_default())?;
            let texts = args[0].as_string_view();
            Ok(Arc::new(texts.iter().map(|t| Some(regex.find_iter(t?).count() as u32)).collect::<UInt32Array>()))
        };
        Ok(as_u32(c, kernel("count_matches", DataType::UInt32, body).call(vec![c.this().text(), expr])))
    }),
    function("str.find", &[], R, "self:str pattern:#str literal:#bool?", |l, c| {
        let expr = pattern_text(l, c, 1, c.flag(2))?;
        let body: Body = |args| {
            let regex = compile(literal_text(&args[1]).unwrap_or_default())?;
            let texts = args[0].as_string_view();
            let first = |t: Option<&str>| Some(regex.find(t?)?.start() as u32);
            Ok(Arc::new(texts.iter().map(first).collect::<UInt32Array>()))
        };
        Ok(as_u32(c, kernel("find", DataType::UInt32, body).call(vec![c.this().text(), expr])))
    }),
    function("str.zfill", &[], R, "self:str length:#int", |l, c| {
        let length = width(l, c)?;
        Ok(c.this().with(
            kernel("zfill", TEXT, |args| {
                let width = args[1].as_primitive::<Int64Type>();
                let width = if width.is_empty() { 0 } else { width.value(0) as usize };
                map_text(args, |t| {
                    let missing = width.saturating_sub(t.chars().count());
                    let (sign, digits) = match t.strip_prefix(['+', '-']) {
                        Some(digits) => t.split_at(t.len() - digits.len()),
                        None => ("", t),
                    };
                    Some(format!("{sign}{}{digits}", "0".repeat(missing)))
                })
            })
            .call(vec![c.this().text(), lit(length)]),
            TEXT,
        ))
    }),
    function("str.pad_start", &["str.rjust", "str.lpad"], R, "self:str length:#int fill_char:#str?", |l, c| {
        pad(l, c, true)
    }),
    function("str.pad_end", &["str.ljust", "str.rpad"], R, "self:str length:#int fill_char:#str?", |l, c| {
        pad(l, c, false)
    }),
    function("str.to_date", &[], R, "self:str format:#str? strict:#bool?", |_, c| Ok(date(c))),
    function(
        "str.to_datetime",
        &["str.strptime", "str.to_timestamp"],
        R,
        "self:str format:#str? strict:#bool?",
        |_, c| Ok(datetime(c)),
    ),
    function("str.to_integer", &["str.to_int"], R, "self:str strict:#bool?", |_, c| {
        let (value, dtype) = (c.this().to(&TEXT), DataType::Int64);
        Ok(if strict(c, 1) { value.to(&dtype) } else { value.or_null(&dtype) })
    }),
    function("str.json_path_match", &["str.json_path", "str.json_extract"], R, "self:str path:#str", json_path),
    function("concat_str", &["concat"], R, "exprs:any* separator:#str?", |l, c| {
        let Some(first) = c.rest.first().cloned() else {
            return Err(c.wrong(l, 0, "`concat_str` needs at least one column"));
        };
        let separator = c.text(1).unwrap_or_default();
        let mut expr = None;
        for part in &c.rest {
            expr = Some(match expr {
                None => part.text(),
                Some(before) => {
                    let glued = match separator.is_empty() {
                        true => before,
                        false => binary_expr(
                            before,
                            Operator::StringConcat,
                            first.with(lit(separator.to_string()), DataType::Utf8).text(),
                        ),
                    };
                    binary_expr(glued, Operator::StringConcat, part.text())
                }
            });
        }
        Ok(first.with(expr.unwrap_or_else(|| first.text()), TEXT))
    }),
];

/// The value at a path such as `$.a.b[0]`, as text; null where there is nothing, or no JSON.
fn json_path(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let path = call.text(1).unwrap_or_default();
    if json::pointer(path).is_none() {
        let message = format!("`{path}` is not a path of names and numbers");
        return Err(call.wrong(lower, 1, message).help("such as \"$.user.tags[0]\""));
    }
    Ok(with_text(call, "json_path_match", |args| {
        let pointer = literal_text(&args[1]).and_then(json::pointer).unwrap_or_default();
        map_text(args, |text| json::at(text, &pointer))
    }))
}

fn truth(call: &Call, expr: Expr) -> TypedExpr {
    call.this().with(expr, DataType::Boolean)
}

fn as_u32(call: &Call, expr: Expr) -> TypedExpr {
    call.this().with(cast(expr, DataType::UInt32), DataType::UInt32)
}

fn map(call: &Call, name: &'static str, body: Body) -> TypedExpr {
    call.this().with(kernel(name, TEXT, body).call(vec![call.this().text()]), TEXT)
}

/// A kernel over the text and one literal text.
fn with_text(call: &Call, name: &'static str, body: Body) -> TypedExpr {
    call.this().with(kernel(name, TEXT, body).call(vec![call.this().text(), call.arg(1).text()]), TEXT)
}

fn strict(call: &Call, slot: usize) -> bool {
    call.opt(slot).is_none() || call.flag(slot)
}

/// Makes each letter upper case that follows a character which is not a letter, and all others lower case.
fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut start = true;
    for c in text.chars() {
        match start {
            // `ß` becomes `Ss`.
            true => out.extend(c.to_uppercase().take(1).chain(c.to_uppercase().skip(1).flat_map(char::to_lowercase))),
            false => out.extend(c.to_lowercase()),
        }
        start = !c.is_alphabetic();
    }
    out
}

fn compile(pattern: &str) -> datafusion::error::Result<Regex> {
    Regex::new(pattern).map_err(|e| error(e.to_string()))
}

fn pattern(lower: &Lower, call: &Call, slot: usize) -> Result<Regex, Diagnostic> {
    Regex::new(call.text(slot).unwrap_or_default()).map_err(|e| {
        let text = e.to_string();
        let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string();
        call.wrong(lower, slot, format!("this is not a regular expression: {reason}"))
            .help("for plain text write `literal = true`")
    })
}

/// The pattern as a regular expression, escaped if it is meant literally.
fn pattern_text(lower: &Lower, call: &Call, slot: usize, literal: bool) -> Result<Expr, Diagnostic> {
    if !literal {
        pattern(lower, call, slot)?;
    }
    let text = call.text(slot).unwrap_or_default();
    let text = if literal { regex::escape(text) } else { text.to_string() };
    Ok(call.this().with(lit(text), DataType::Utf8).text())
}

fn contains(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let plain = |text: &str| regex::escape(text) == text;
    match call.text(1) {
        Some(text) if call.flag(2) || plain(text) => {
            Ok(truth(call, df::contains(call.this().text(), call.arg(1).text())))
        }
        Some(_) => {
            pattern(lower, call, 1)?;
            Ok(truth(call, binary_expr(call.this().text(), Operator::RegexMatch, call.arg(1).text())))
        }
        None if call.flag(2) => Ok(truth(call, df::contains(call.this().text(), call.arg(1).text()))),
        None => Ok(truth(call, binary_expr(call.this().text(), Operator::RegexMatch, call.arg(1).text()))),
    }
}

fn strip(call: &Call, name: &'static str) -> TypedExpr {
    fn set(args: &[ArrayRef]) -> impl Fn(char) -> bool + '_ {
        let chars = args.get(1).and_then(literal_text);
        move |c: char| chars.map_or(c.is_whitespace(), |set| set.contains(c))
    }
    let body: Body = match name {
        "strip_chars" => |args| map_text(args, |t| Some(t.trim_matches(set(args)).to_string())),
        "strip_chars_start" => |args| map_text(args, |t| Some(t.trim_start_matches(set(args)).to_string())),
        _ => |args| map_text(args, |t| Some(t.trim_end_matches(set(args)).to_string())),
    };
    let mut args = vec![call.this().text()];
    args.extend(call.opt(1).map(|t| t.text()));
    call.this().with(kernel(name, TEXT, body).call(args), TEXT)
}

fn replace(lower: &mut Lower, call: &Call, all: bool) -> Result<TypedExpr, Diagnostic> {
    let literal = call.flag(3);
    let pattern = pattern_text(lower, call, 1, literal)?;
    let body: Body = match (all, literal) {
        (true, false) => |args| substitute(args, |regex, t, with| regex.replace_all(t, with).into_owned()),
        (false, false) => |args| substitute(args, |regex, t, with| regex.replace(t, with).into_owned()),
        (true, true) => {
            |args| substitute(args, |regex, t, with| regex.replace_all(t, regex::NoExpand(with)).into_owned())
        }
        (false, true) => |args| substitute(args, |regex, t, with| regex.replace(t, regex::NoExpand(with)).into_owned()),
    };
    let name = match (all, literal) {
        (true, false) => "replace_all",
        (false, false) => "replace",
        (true, true) => "replace_all_literal",
        (false, true) => "replace_literal",
    };
    Ok(call.this().with(kernel(name, TEXT, body).call(vec![call.this().text(), pattern, call.arg(2).text()]), TEXT))
}

fn substitute(args: &[ArrayRef], f: impl Fn(&Regex, &str, &str) -> String) -> datafusion::error::Result<ArrayRef> {
    let regex = compile(literal_text(&args[1]).unwrap_or_default())?;
    let (texts, values) = (args[0].as_string_view(), args[2].as_string_view());
    let mut out = StringViewBuilder::with_capacity(texts.len());
    for (text, value) in texts.iter().zip(values) {
        out.append_option(text.zip(value).map(|(t, v)| f(&regex, t, v)));
    }
    Ok(Arc::new(out.finish()))
}

/// Characters from `offset` (from the end if negative), at most `length`.
fn slice(value: &TypedExpr, offset: Expr, length: Expr) -> TypedExpr {
    let body: Body = |args| {
        let texts = args[0].as_string_view();
        let (offsets, lengths): (&Int64Array, &Int64Array) = (args[1].as_primitive(), args[2].as_primitive());
        let mut out = StringViewBuilder::with_capacity(texts.len());
        for (row, text) in texts.iter().enumerate() {
            let piece = text.filter(|_| offsets.is_valid(row) && lengths.is_valid(row)).map(|text| {
                let (offset, length) = (offsets.value(row), lengths.value(row).max(0));
                let chars = if offset < 0 { text.chars().count() as i64 } else { 0 };
                let start = if offset < 0 { chars + offset } else { offset };
                // A start before the text uses up some of the length.
                let length = if start < 0 { length.saturating_add(start).max(0) } else { length };
                text.chars().skip(start.max(0) as usize).take(length as usize).collect::<String>()
            });
            out.append_option(piece);
        }
        Ok(Arc::new(out.finish()))
    };
    value.with(kernel("slice", TEXT, body).call(vec![value.text(), offset, length]), TEXT)
}

fn lists(args: &[ArrayRef], f: impl Fn(&str) -> Vec<String>) -> datafusion::error::Result<ArrayRef> {
    let texts = args[0].as_string_view();
    let field = Field::new_list_field(TEXT, true);
    let mut out = ListBuilder::new(StringViewBuilder::new()).with_field(field);
    for text in texts {
        match text {
            Some(text) => out.append_value(f(text).into_iter().map(Some)),
            None => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

fn split(args: &[ArrayRef]) -> datafusion::error::Result<ArrayRef> {
    let by = literal_text(&args[1]).unwrap_or_default();
    lists(args, |t| match by.is_empty() {
        true => t.chars().map(String::from).collect(),
        false => t.split(by).map(String::from).collect(),
    })
}

fn width(lower: &Lower, call: &Call) -> Result<i64, Diagnostic> {
    match call.int(1) {
        Some(length @ 0..=100_000) => Ok(length),
        other => Err(call.wrong(
            lower,
            1,
            format!("`length` lies between 0 and 100000, this is {}", other.unwrap_or_default()),
        )),
    }
}

fn pad(lower: &mut Lower, call: &Call, start: bool) -> Result<TypedExpr, Diagnostic> {
    let length = width(lower, call)?;
    let fill = call.text(2).unwrap_or(" ");
    if fill.chars().count() != 1 {
        return Err(call.wrong(lower, 2, "`fill_char` is one character"));
    }
    let fill = call.this().with(lit(fill.to_string()), DataType::Utf8).text();
    let body: Body = match start {
        true => |args| padded(args, |t, filling| format!("{filling}{t}")),
        false => |args| padded(args, |t, filling| format!("{t}{filling}")),
    };
    let name = if start { "pad_start" } else { "pad_end" };
    Ok(call.this().with(kernel(name, TEXT, body).call(vec![call.this().text(), fill, lit(length)]), TEXT))
}

fn padded(args: &[ArrayRef], f: impl Fn(&str, &str) -> String) -> datafusion::error::Result<ArrayRef> {
    let fill = literal_text(&args[1]).unwrap_or(" ").to_string();
    let width = args[2].as_primitive::<Int64Type>();
    let width = if width.is_empty() { 0 } else { width.value(0) as usize };
    map_text(args, |t| Some(f(t, &fill.repeat(width.saturating_sub(t.chars().count())))))
}

/// ISO dates by Arrow's parser, others by `format` (strftime).
fn date(call: &Call) -> TypedExpr {
    let value = call.this().to(&TEXT);
    let strict = strict(call, 2);
    if call.opt(1).is_none() {
        return match strict {
            true => value.strictly(&DataType::Date32, call.span),
            false => value.or_null(&DataType::Date32),
        };
    }
    let body: Body = if strict { |args| dates(args, true) } else { |args| dates(args, false) };
    let name = if strict { "to_date" } else { "to_date_or_null" };
    let function = kernel_at(name, DataType::Date32, body, call.span);
    value.with(function.call(vec![value.text(), call.arg(1).text()]), DataType::Date32)
}

fn dates(args: &[ArrayRef], strict: bool) -> datafusion::error::Result<ArrayRef> {
    let format = literal_text(&args[1]).unwrap_or("%Y-%m-%d");
    let mut out = arrow::array::Date32Builder::new();
    for text in args[0].as_string_view() {
        let parsed = text.map(|t| {
            NaiveDate::parse_from_str(t, format)
                .or_else(|e| NaiveDateTime::parse_from_str(t, format).map(|d| d.date()).map_err(|_| e))
        });
        match (text, parsed) {
            (Some(t), Some(Err(e))) if strict => return Err(unreadable(t, format, "date", &e.to_string())),
            (_, Some(Ok(d))) => out.append_value(arrow::datatypes::Date32Type::from_naive_date(d)),
            _ => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

fn datetime(call: &Call) -> TypedExpr {
    let value = call.this().to(&TEXT);
    let strict = strict(call, 2);
    let out = DataType::Timestamp(TimeUnit::Microsecond, None);
    let Some(format) = call.opt(1).and_then(|_| call.text(1)) else {
        return if strict { value.strictly(&out, call.span) } else { value.or_null(&out) };
    };
    // With an offset in the text it is a moment, as in Polars.
    use chrono::format::{Fixed, Item, StrftimeItems};
    let is_offset = |item: Item| {
        matches!(
            item,
            Item::Fixed(
                Fixed::TimezoneOffset
                    | Fixed::TimezoneOffsetColon
                    | Fixed::TimezoneOffsetDoubleColon
                    | Fixed::TimezoneOffsetTripleColon
                    | Fixed::TimezoneOffsetColonZ
                    | Fixed::TimezoneOffsetZ
                    | Fixed::RFC2822
                    | Fixed::RFC3339
            )
        ) || format!("{item:?}").contains("TimezoneOffsetPermissive")
    };
    let (out, name, body): (DataType, &'static str, Body) = match (StrftimeItems::new(format).any(is_offset), strict) {
        (false, true) => (out, "to_datetime", |args| datetimes(args, true)),
        (false, false) => (out, "to_datetime_or_null", |args| datetimes(args, false)),
        (true, true) => (utc(), "to_moment", |args| moments(args, true)),
        (true, false) => (utc(), "to_moment_or_null", |args| moments(args, false)),
    };
    value.with(kernel_at(name, out.clone(), body, call.span).call(vec![value.text(), call.arg(1).text()]), out)
}

fn utc() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

fn datetimes(args: &[ArrayRef], strict: bool) -> datafusion::error::Result<ArrayRef> {
    let read = |text: &str, format: &str| {
        NaiveDateTime::parse_from_str(text, format)
            .or_else(|e| NaiveDate::parse_from_str(text, format).map(|d| d.and_time(Default::default())).map_err(|_| e))
            .map(|t| t.and_utc().timestamp_micros())
    };
    Ok(Arc::new(timestamps(args, strict, read)?.finish()))
}

/// Strings with an offset from UTC.
fn moments(args: &[ArrayRef], strict: bool) -> datafusion::error::Result<ArrayRef> {
    let read = |text: &str, format: &str| {
        chrono::DateTime::parse_from_str(text, format).map(|moment| moment.timestamp_micros())
    };
    Ok(Arc::new(timestamps(args, strict, read)?.finish().with_timezone("UTC")))
}

fn timestamps(
    args: &[ArrayRef],
    strict: bool,
    read: impl Fn(&str, &str) -> chrono::ParseResult<i64>,
) -> datafusion::error::Result<arrow::array::TimestampMicrosecondBuilder> {
    let format = literal_text(&args[1]).unwrap_or("%Y-%m-%d %H:%M:%S");
    let mut out = arrow::array::TimestampMicrosecondBuilder::new();
    for text in args[0].as_string_view() {
        match (text, text.map(|t| read(t, format))) {
            (Some(t), Some(Err(e))) if strict => return Err(unreadable(t, format, "timestamp", &e.to_string())),
            (_, Some(Ok(micros))) => out.append_value(micros),
            _ => out.append_null(),
        }
    }
    Ok(out)
}

fn unreadable(text: &str, format: &str, what: &str, reason: &str) -> datafusion::error::DataFusionError {
    let diagnostic = Diagnostic::error(
        onrush_wire::Class::Data,
        "cast",
        format!("the text `{text}` is not a {what} of the form `{format}`: {reason}"),
    )
    .help("with `strict = false` such strings become null");
    datafusion::error::DataFusionError::External(Box::new(diagnostic))
}
