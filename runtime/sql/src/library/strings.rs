//! Strings: distances, parts, grapheme clusters, URLs, paths and regular expressions with all their matches.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListBuilder, StringViewBuilder};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use onrush_expr::diagnostics::plan_error;
use onrush_expr::error::external;
use onrush_expr::scalar_udf::kernel_by_types;
use regex::Regex;
use unicode_segmentation::UnicodeSegmentation;

use super::{
    at, boolean, float, integer, integers_of, invalid, number_at, strings_of, takes, text, text_list, to_strings,
};

pub fn functions() -> Vec<ScalarUDF> {
    let of_text = |name, body: fn(&[ArrayRef]) -> Result<ArrayRef>| kernel_by_types(name, text, body);
    vec![
        // Grapheme clusters are kept together.
        of_text("reverse_graphemes", |args| mapped("reverse", args, |s| s.graphemes(true).rev().collect())),
        of_text("substring_from", |args| substring("substring", args, false)),
        of_text("substring_grapheme", |args| substring("substring_grapheme", args, true)),
        of_text("split_part_of", split_part),
        of_text("strip_accents", |args| mapped("strip_accents", args, without_accents)),
        of_text("url_encode", |args| mapped("url_encode", args, url_encoded)),
        of_text("url_decode", url_decoded),
        of_text("hex", |args| digits("hex", args, |n| format!("{n:X}"), |b| format!("{b:02X}"))),
        of_text("bin", |args| digits("bin", args, |n| format!("{n:b}"), |b| format!("{b:08b}"))),
        of_text("parse_filename", |args| path_part("parse_filename", args)),
        of_text("parse_dirname", |args| path_part("parse_dirname", args)),
        of_text("parse_dirpath", |args| path_part("parse_dirpath", args)),
        of_text("regexp_escape", |args| mapped("regexp_escape", args, escaped)),
        of_text("overlay_of", overlay),
        of_text("format_bytes", |args| bytes(args, 1024, ["KiB", "MiB", "GiB", "TiB", "PiB"])),
        of_text("format_bytes_decimal", |args| bytes(args, 1000, ["kB", "MB", "GB", "TB", "PB"])),
        kernel_by_types("regexp_extract_all", text_list, matches),
        kernel_by_types("regexp_split_to_array", text_list, pieces),
        kernel_by_types("length_grapheme", integer, |args| {
            counted("length_grapheme", args, |s| s.graphemes(true).count() as i64)
        }),
        kernel_by_types("ord", integer, |args| {
            counted("ord", args, |s| s.chars().next().map_or(-1, |c| i64::from(u32::from(c))))
        }),
        kernel_by_types("damerau_levenshtein", integer, |args| {
            distance("damerau_levenshtein", args, |a, b| Ok(strsim::damerau_levenshtein(a, b) as i64))
        }),
        kernel_by_types("hamming", integer, |args| distance("hamming", args, hamming)),
        kernel_by_types("jaccard", float, |args| similarity("jaccard", args, jaccard)),
        kernel_by_types("jaro_similarity", float, |args| {
            similarity("jaro_similarity", args, |a, b| Ok(if a.is_empty() { 0.0 } else { strsim::jaro(a, b) }))
        }),
        kernel_by_types("jaro_winkler_similarity", float, |args| {
            similarity("jaro_winkler_similarity", args, |a, b| {
                Ok(if a.is_empty() { 0.0 } else { strsim::jaro_winkler(a, b) })
            })
        }),
        kernel_by_types("like_escape", boolean, |args| like_escape(args, false)),
        kernel_by_types("ilike_escape", boolean, |args| like_escape(args, true)),
        kernel_by_types("regexp_full_match", boolean, full_match),
    ]
}

fn mapped(name: &str, args: &[ArrayRef], f: impl Fn(&str) -> String) -> Result<ArrayRef> {
    takes(name, args, 1, 1)?;
    let values = strings_of(&args[0])?;
    to_strings(values.len(), |row| Ok(at(&values, row).map(&f)))
}

/// The digits of an integer, in two's complement below zero, or of the bytes of a string.
fn digits(
    name: &str,
    args: &[ArrayRef],
    of_number: impl Fn(i64) -> String,
    of_byte: impl Fn(u8) -> String,
) -> Result<ArrayRef> {
    takes(name, args, 1, 1)?;
    if args[0].data_type().is_integer() {
        let values = integers_of(&args[0])?;
        return to_strings(values.len(), |row| Ok(number_at(&values, row).map(&of_number)));
    }
    mapped(name, args, |text| text.bytes().map(&of_byte).collect())
}

fn counted(name: &str, args: &[ArrayRef], f: impl Fn(&str) -> i64) -> Result<ArrayRef> {
    takes(name, args, 1, 1)?;
    let values = strings_of(&args[0])?;
    Ok(Arc::new((0..values.len()).map(|row| at(&values, row).map(&f)).collect::<Int64Array>()))
}

/// `substr(s, from, length)` from 1 on; a negative start counts from the end, a negative length goes to the left.
fn substring(name: &str, args: &[ArrayRef], graphemes: bool) -> Result<ArrayRef> {
    takes(name, args, 2, 3)?;
    let (values, from) = (strings_of(&args[0])?, integers_of(&args[1])?);
    let length = args.get(2).map(integers_of).transpose()?;
    to_strings(values.len(), |row| {
        let (Some(value), Some(from)) = (at(&values, row), number_at(&from, row)) else { return Ok(None) };
        let length = match &length {
            Some(length) => match number_at(length, row) {
                Some(length) => Some(length),
                None => return Ok(None),
            },
            None => None,
        };
        Ok(Some(match graphemes {
            true => piece(&value.graphemes(true).collect::<Vec<_>>(), from, length).concat(),
            false => piece(&value.chars().collect::<Vec<_>>(), from, length).iter().collect(),
        }))
    })
}

fn piece<T>(all: &[T], from: i64, length: Option<i64>) -> &[T] {
    let count = all.len() as i64;
    // Position 0 is the one before the first.
    let start = if from < 0 { count.saturating_add(from) } else { from - 1 };
    let end = length.map_or(i64::MAX, |length| start.saturating_add(length));
    let (start, end) = if end < start { (end, start) } else { (start, end) };
    let (start, end) = (start.clamp(0, count) as usize, end.clamp(0, count) as usize);
    &all[start..end.max(start)]
}

/// `overlay(s placing new from p for n)`: a length below zero is that of the new piece.
fn overlay(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("overlay", args, 4, 4)?;
    let (values, pieces) = (strings_of(&args[0])?, strings_of(&args[1])?);
    let (from, length) = (integers_of(&args[2])?, integers_of(&args[3])?);
    to_strings(values.len(), |row| {
        let (Some(value), Some(piece)) = (at(&values, row), at(&pieces, row)) else { return Ok(None) };
        let (Some(from), Some(length)) = (number_at(&from, row), number_at(&length, row)) else { return Ok(None) };
        let length = if length < 0 { piece.chars().count() as i64 } else { length };
        let start = from.saturating_sub(1);
        let (before, after) = (start.max(0) as usize, start.saturating_add(length).max(0) as usize);
        let head: String = value.chars().take(before).collect();
        let tail: String = value.chars().skip(after).collect();
        Ok(Some(head + piece + &tail))
    })
}

/// A backslash before all that is neither a letter nor a digit, as RE2 has it. Characters beyond ASCII have no meaning
/// in a pattern.
fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' {
            out.push('\\');
        }
        match c {
            '\0' => out.push_str("x00"),
            c => out.push(c),
        }
    }
    out
}

/// The part of a number from 1 on, from the end if it is negative; there is no part 0. An empty separator
/// splits into characters.
fn split_part(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("split_part", args, 3, 3)?;
    let (values, separator, index) = (strings_of(&args[0])?, strings_of(&args[1])?, integers_of(&args[2])?);
    to_strings(values.len(), |row| {
        let (Some(value), Some(separator), Some(index)) =
            (at(&values, row), at(&separator, row), number_at(&index, row))
        else {
            return Ok(None);
        };
        let nth = |parts: Vec<&str>| {
            let place = if index < 0 { parts.len() as i64 + index } else { index - 1 };
            usize::try_from(place).ok().and_then(|place| parts.get(place).copied()).unwrap_or_default().to_string()
        };
        Ok(Some(match separator {
            "" => nth(value.char_indices().map(|(at, c)| &value[at..at + c.len_utf8()]).collect()),
            separator => nth(value.split(separator).collect()),
        }))
    })
}

/// Latin letters without their marks.
pub(super) fn without_accents(value: &str) -> String {
    const PLAIN: [(&str, char); 52] = [
        ("ÀÁÂÃÄÅĀĂĄ", 'A'),
        ("àáâãäåāăą", 'a'),
        ("ÇĆĈĊČ", 'C'),
        ("çćĉċč", 'c'),
        ("ĎḊḌ", 'D'),
        ("ďḋḍ", 'd'),
        ("ÈÉÊËĒĔĖĘĚ", 'E'),
        ("èéêëēĕėęě", 'e'),
        ("ĜĞĠĢ", 'G'),
        ("ĝğġģ", 'g'),
        ("ĤḢḤ", 'H'),
        ("ĥḣḥ", 'h'),
        ("ÌÍÎÏĨĪĬĮİ", 'I'),
        ("ìíîïĩīĭį", 'i'),
        ("Ĵ", 'J'),
        ("ĵ", 'j'),
        ("ĶḰ", 'K'),
        ("ķḱ", 'k'),
        ("ĹĻĽ", 'L'),
        ("ĺļľ", 'l'),
        ("ḾṀ", 'M'),
        ("ḿṁ", 'm'),
        ("ÑŃŅŇ", 'N'),
        ("ñńņň", 'n'),
        ("ÒÓÔÕÖŌŎŐ", 'O'),
        ("òóôõöōŏő", 'o'),
        ("ṔṖ", 'P'),
        ("ṕṗ", 'p'),
        ("ŔŖŘ", 'R'),
        ("ŕŗř", 'r'),
        ("ŚŜŞŠȘ", 'S'),
        ("śŝşšș", 's'),
        ("ŢŤȚ", 'T'),
        ("ţťț", 't'),
        ("ÙÚÛÜŨŪŬŮŰŲ", 'U'),
        ("ùúûüũūŭůűų", 'u'),
        ("ṼṾ", 'V'),
        ("ṽṿ", 'v'),
        ("ŴẀẂẄ", 'W'),
        ("ŵẁẃẅ", 'w'),
        ("ẊẌ", 'X'),
        ("ẋẍ", 'x'),
        ("ÝŶŸ", 'Y'),
        ("ýÿŷ", 'y'),
        ("ŹŻŽ", 'Z'),
        ("źżž", 'z'),
        ("Ǎ", 'A'),
        ("ǎ", 'a'),
        ("Ǒ", 'O'),
        ("ǒ", 'o'),
        ("Ǔ", 'U'),
        ("ǔ", 'u'),
    ];
    let combining = |c: char| ('\u{300}'..='\u{36f}').contains(&c);
    let plain = |c: char| PLAIN.iter().find(|(all, _)| all.contains(c)).map_or(c, |(_, plain)| *plain);
    value.chars().filter(|c| !combining(*c)).map(|c| if c.is_ascii() { c } else { plain(c) }).collect()
}

fn url_encoded(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

fn url_decoded(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("url_decode", args, 1, 1)?;
    let values = strings_of(&args[0])?;
    to_strings(values.len(), |row| {
        let Some(value) = at(&values, row) else { return Ok(None) };
        let bytes = value.as_bytes();
        let mut out = Vec::with_capacity(bytes.len());
        let mut place = 0;
        while place < bytes.len() {
            let code = (bytes[place] == b'%')
                .then(|| value.get(place + 1..place + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok()))
                .flatten();
            match code {
                Some(code) => out.push(code),
                None => out.push(bytes[place]),
            }
            place += if code.is_some() { 3 } else { 1 };
        }
        match String::from_utf8(out) {
            Ok(text) => Ok(Some(text)),
            Err(_) => invalid(format!("`{value}` does not decode to valid UTF-8")),
        }
    })
}

/// A part of a path. The second argument is the kind of separator, or whether the extension is dropped.
fn path_part(name: &str, args: &[ArrayRef]) -> Result<ArrayRef> {
    takes(name, args, 1, 3)?;
    let values = strings_of(&args[0])?;
    let options = args[1..].iter().map(strings_of).collect::<Result<Vec<_>>>()?;
    to_strings(values.len(), |row| {
        let Some(value) = at(&values, row) else { return Ok(None) };
        let given: Vec<&str> = options.iter().filter_map(|option| at(option, row)).collect();
        let separators: &[char] =
            match given.iter().find(|o| o.contains("slash") || **o == "system" || **o == "both_slash") {
                Some(&"forward_slash" | &"system") => &['/'],
                Some(&"backslash") => &['\\'],
                _ => &['/', '\\'],
            };
        let cut = value.rfind(separators);
        Ok(Some(match name {
            // A separator alone is the root.
            "parse_dirpath" if cut == Some(0) && value.len() == 1 => value.to_string(),
            "parse_dirpath" => value[..cut.unwrap_or(0)].to_string(),
            "parse_dirname" => match value.find(separators) {
                Some(0) | None if value.starts_with(separators) => value[..1].to_string(),
                Some(at) => value[..at].to_string(),
                None => String::new(),
            },
            _ => {
                let file = &value[cut.map_or(0, |at| at + 1)..];
                match given.first() {
                    Some(&"true") => file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_string(),
                    _ => file.to_string(),
                }
            }
        }))
    })
}

/// In the largest unit that is not more than the number, with one digit after the point that is cut, not rounded.
fn bytes(args: &[ArrayRef], unit: u128, names: [&str; 5]) -> Result<ArrayRef> {
    takes("format_bytes", args, 1, 1)?;
    let values = integers_of(&args[0])?;
    to_strings(values.len(), |row| {
        let Some(value) = number_at(&values, row) else { return Ok(None) };
        let size = u128::from(value.unsigned_abs());
        if size < unit {
            return Ok(Some(format!("{value} {}", if size == 1 { "byte" } else { "bytes" })));
        }
        let (mut scale, mut name) = (1, "");
        for next in names {
            if size / scale < unit {
                break;
            }
            scale *= unit;
            name = next;
        }
        let tenths = size * 10 / scale;
        Ok(Some(format!("{}{}.{} {name}", if value < 0 { "-" } else { "" }, tenths / 10, tenths % 10)))
    })
}

/// A regular expression with DuckDB's options: `i`, `c`, `s`, `m`, `l`, `g`.
fn regex(pattern: &str, options: &str) -> Result<Regex> {
    let mut builder = regex::RegexBuilder::new(pattern);
    for option in options.chars() {
        match option {
            'i' => builder.case_insensitive(true),
            's' => builder.dot_matches_new_line(true),
            // RE2's `$` is the end of the text: these options are about the dot alone.
            'm' | 'n' | 'p' => builder.dot_matches_new_line(false),
            'c' | 'g' => continue,
            'l' => {
                builder = regex::RegexBuilder::new(&regex::escape(pattern));
                continue;
            }
            other => {
                let message = format!("`{other}` is not an option of regular expressions");
                return Err(external(plan_error("argument", message).help("options are c, i, l, m, s and g")));
            }
        };
    }
    builder.build().map_err(|e| external(plan_error("argument", format!("`{pattern}`: {e}"))))
}

/// The expression of a row, kept while it stays the same.
#[derive(Default)]
struct LastRegex {
    last: Option<(String, String, Regex)>,
}

impl LastRegex {
    fn get(&mut self, pattern: &str, options: &str) -> Result<&Regex> {
        if self.last.as_ref().is_none_or(|(p, o, _)| p != pattern || o != options) {
            self.last = Some((pattern.to_string(), options.to_string(), regex(pattern, options)?));
        }
        match &self.last {
            Some((_, _, regex)) => Ok(regex),
            None => invalid("a regular expression was not compiled"),
        }
    }
}

/// All matches of a pattern, or of a group of it: null for a group that takes part in no match.
fn matches(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("regexp_extract_all", args, 2, 4)?;
    let (values, patterns) = (strings_of(&args[0])?, strings_of(&args[1])?);
    let group = args.get(2).map(integers_of).transpose()?;
    let options = args.get(3).map(strings_of).transpose()?;
    let mut compiled = LastRegex::default();
    let mut out = ListBuilder::new(StringViewBuilder::new());
    for row in 0..values.len() {
        let (Some(value), Some(pattern)) = (at(&values, row), at(&patterns, row)) else {
            out.append_null();
            continue;
        };
        let options = options.as_ref().and_then(|options| at(options, row)).unwrap_or_default();
        let regex = compiled.get(pattern, options)?;
        let group = match &group {
            Some(group) => match number_at(group, row) {
                Some(group) => group,
                None => {
                    out.append_null();
                    continue;
                }
            },
            None => 0,
        };
        let group = usize::try_from(group).ok().filter(|group| *group < regex.captures_len());
        let Some(group) = group else {
            return invalid(format!("`{pattern}` has {} groups", regex.captures_len() - 1));
        };
        // As RE2 does it: an empty match may stand right behind another one.
        let mut place = 0;
        while place <= value.len()
            && let Some(found) = regex.captures_at(value, place)
        {
            out.values().append_option(found.get(group).map(|part| part.as_str()));
            let Some(whole) = found.get(0) else { break };
            place = match whole.is_empty() {
                true => whole.end() + value[whole.end()..].chars().next().map_or(1, char::len_utf8),
                false => whole.end(),
            };
        }
        out.append(true);
    }
    Ok(Arc::new(out.finish()))
}

fn pieces(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("regexp_split_to_array", args, 2, 3)?;
    let (values, patterns) = (strings_of(&args[0])?, strings_of(&args[1])?);
    let options = args.get(2).map(strings_of).transpose()?;
    let mut compiled = LastRegex::default();
    let mut out = ListBuilder::new(StringViewBuilder::new());
    for row in 0..values.len() {
        let Some(value) = at(&values, row) else {
            out.append_null();
            continue;
        };
        match at(&patterns, row) {
            Some(pattern) => {
                let options = options.as_ref().and_then(|options| at(options, row)).unwrap_or_default();
                split(value, compiled.get(pattern, options)?).for_each(|piece| out.values().append_value(piece));
            }
            // Nothing to split by.
            None => out.values().append_value(value),
        }
        out.append(true);
    }
    Ok(Arc::new(out.finish()))
}

/// The pieces between matches. An empty match at the beginning of a piece splits behind its first character.
fn split<'a>(value: &'a str, regex: &Regex) -> impl Iterator<Item = &'a str> {
    let mut place = Some(0);
    std::iter::from_fn(move || {
        let from = place?;
        let rest = &value[from..];
        let found = regex.find_at(value, from).filter(|_| !rest.is_empty()).and_then(|found| {
            let is_blank = found.is_empty() && found.start() == from;
            let next = from + rest.chars().next().map_or(0, char::len_utf8);
            match is_blank {
                true => (next < value.len()).then_some((next, next)),
                false => Some((found.start(), found.end())),
            }
        });
        place = found.map(|(_, end)| end);
        Some(&value[from..found.map_or(value.len(), |(start, _)| start)])
    })
}

fn full_match(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("regexp_full_match", args, 2, 3)?;
    let (values, patterns) = (strings_of(&args[0])?, strings_of(&args[1])?);
    let options = args.get(2).map(strings_of).transpose()?;
    let mut compiled = LastRegex::default();
    let found = (0..values.len()).map(|row| {
        let (Some(value), Some(pattern)) = (at(&values, row), at(&patterns, row)) else { return Ok(None) };
        let options = options.as_ref().and_then(|options| at(options, row)).unwrap_or_default();
        Ok(Some(compiled.get(&format!(r"\A(?:{pattern})\z"), options)?.is_match(value)))
    });
    Ok(Arc::new(found.collect::<Result<BooleanArray>>()?))
}

fn like_escape(args: &[ArrayRef], any_case: bool) -> Result<ArrayRef> {
    takes("like_escape", args, 3, 3)?;
    let (values, patterns, escapes) = (strings_of(&args[0])?, strings_of(&args[1])?, strings_of(&args[2])?);
    let mut compiled = LastRegex::default();
    let found = (0..values.len()).map(|row| {
        let (Some(value), Some(pattern), Some(escape)) = (at(&values, row), at(&patterns, row), at(&escapes, row))
        else {
            return Ok(None);
        };
        let escape = escape.chars().next();
        let mut expression = String::from("(?s)^");
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            match c {
                c if Some(c) == escape => match chars.next() {
                    Some(next) => expression.push_str(&regex::escape(&next.to_string())),
                    None => return invalid("a LIKE pattern must not end with its escape character"),
                },
                '%' => expression.push_str(".*"),
                '_' => expression.push('.'),
                other => expression.push_str(&regex::escape(&other.to_string())),
            }
        }
        expression.push('$');
        Ok(Some(compiled.get(&expression, if any_case { "i" } else { "" })?.is_match(value)))
    });
    Ok(Arc::new(found.collect::<Result<BooleanArray>>()?))
}

fn distance(name: &str, args: &[ArrayRef], f: impl Fn(&str, &str) -> Result<i64>) -> Result<ArrayRef> {
    takes(name, args, 2, 2)?;
    let (a, b) = (strings_of(&args[0])?, strings_of(&args[1])?);
    let values = (0..a.len()).map(|row| at(&a, row).zip(at(&b, row)).map(|(a, b)| f(a, b)).transpose());
    Ok(Arc::new(values.collect::<Result<Int64Array>>()?))
}

/// With a third argument, what is below it is 0.
fn similarity(name: &str, args: &[ArrayRef], f: impl Fn(&str, &str) -> Result<f64>) -> Result<ArrayRef> {
    takes(name, args, 2, 3)?;
    let (a, b) = (strings_of(&args[0])?, strings_of(&args[1])?);
    let least = args.get(2).map(super::floats_of).transpose()?;
    let values = (0..a.len()).map(|row| {
        let found = at(&a, row).zip(at(&b, row)).map(|(a, b)| f(a, b)).transpose()?;
        Ok(found.map(|value| match &least {
            Some(least) if value < least.value(row) => 0.0,
            _ => value,
        }))
    });
    Ok(Arc::new(values.collect::<Result<Float64Array>>()?))
}

/// The number of places in which two strings of equal length differ.
fn hamming(a: &str, b: &str) -> Result<i64> {
    match a.chars().count() == b.chars().count() && !a.is_empty() {
        true => Ok(a.chars().zip(b.chars()).filter(|(a, b)| a != b).count() as i64),
        false => invalid(format!("`hamming` compares strings of equal length that are not empty, not `{a}` and `{b}`")),
    }
}

/// The share of characters that both have.
fn jaccard(a: &str, b: &str) -> Result<f64> {
    if a.is_empty() || b.is_empty() {
        return invalid("`jaccard` compares strings that are not empty");
    }
    let (a, b): (HashSet<char>, HashSet<char>) = (a.chars().collect(), b.chars().collect());
    Ok(a.intersection(&b).count() as f64 / a.union(&b).count() as f64)
}
