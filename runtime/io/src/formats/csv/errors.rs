//! Errors of CSV files: the line, what is there, and the option that reads it.

use std::ops::Range;
use std::path::Path;

use arrow::datatypes::DataType;
use onrush_wire::plan::CsvOptions;
use onrush_wire::{Class, Diagnostic};

use super::open::{Columns, Text};
use super::tokens::{self, Form, MalformedRecord};
use crate::text::{excerpt, line_of};

/// One column whose name holds another separator is the sign of a file with that separator.
pub(super) fn wrong_separator(
    path: &Path,
    shown: &str,
    (bytes, at, header_end): (&[u8], usize, usize),
    header: &[String],
    options: &CsvOptions,
) -> Result<(), Diagnostic> {
    let [name] = header else { return Ok(()) };
    let second = &bytes[header_end..tokens::line_end(bytes, header_end.min(bytes.len()))];
    let best = [';', '\t', '|', ',']
        .into_iter()
        .filter(|c| *c != options.separator)
        .map(|c| (name.matches(c).count(), c))
        // A comma may be part of a value. Therefore the next line must have as many.
        .filter(|(n, c)| *n > 0 && (second.is_empty() || second.iter().filter(|b| **b == *c as u8).count() >= *n))
        .max_by_key(|(n, _)| *n);
    let Some((_, found)) = best else { return Ok(()) };
    Err(Diagnostic::error(
        Class::Data,
        "wrong-separator",
        format!(
            "`{}` has no separator `{}` in line {}: it would be one column named `{}`",
            path.display(),
            options.separator.escape_default(),
            line_of(bytes, at),
            excerpt(name.as_bytes()),
        ),
    )
    .help(format!(
        "its columns seem to be separated by `{0}`: csv().sep('{0}').read(\"{shown}\")",
        found.escape_default(),
    )))
}

/// A file of a pattern with other columns than the first.
pub(super) fn different(first: &Text, other: &Text) -> Diagnostic {
    let difference = match (
        first.names.iter().find(|n| !other.names.contains(n)),
        other.names.iter().find(|n| !first.names.contains(n)),
    ) {
        (Some(name), _) => format!("it has no column `{name}`"),
        (None, Some(name)) => format!("its column `{name}` is not in the first"),
        (None, None) => "it has other columns".to_string(),
    };
    Diagnostic::error(
        Class::Data,
        "different-columns",
        format!("`{}` does not have the columns of `{}`: {difference}", other.path.display(), first.path.display()),
    )
    .help("read them with all columns of both, and null where a file has none: csv().union_by_name(true)")
}

pub(super) fn unknown_column(name: &str, names: &[String], path: &Path) -> Diagnostic {
    let best = names
        .iter()
        .map(|n| (strsim::jaro_winkler(&n.to_lowercase(), &name.to_lowercase()), n))
        .filter(|(score, _)| *score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let error =
        Diagnostic::error(Class::Plan, "unknown-column", format!("`{}` has no column `{name}`", path.display()));
    match best {
        Some((_, near)) => error.help(format!("did you mean `{near}`?")),
        None => {
            let shown = names.iter().take(12).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            error.help(format!("its columns are {shown}{}", if names.len() > 12 { ", ..." } else { "" }))
        }
    }
}

/// A row with another number of fields than the header.
pub(super) fn ragged(options: &CsvOptions, text: &Text, record: Range<usize>, found: usize) -> Diagnostic {
    let expected = text.names.len();
    let line = line_of(&text.bytes, record.start);
    let fields = |n: usize| if n == 1 { "1 field".to_string() } else { format!("{n} fields") };
    let row = text.bytes[record].trim_ascii_end();
    let error = Diagnostic::error(
        Class::Data,
        "ragged-rows",
        format!("line {line} of `{}` has {}, the header has {expected}", text.path.display(), fields(found)),
    )
    .note(format!("the line is `{}`", excerpt(row)));
    let separator = options.separator.escape_default();
    let (plain, shown) = (options.separator, &text.shown);
    let has = |pattern: String| memchr::memmem::find(row, pattern.as_bytes()).is_some();
    if let (Some(first), None) = (text.names.first().filter(|name| name.starts_with('#')), options.comment) {
        let first = excerpt(first.as_bytes());
        error.help(format!("the first line, `{first}`, looks like a remark: csv().comment('#') leaves such lines out"))
    } else if !options.trim && options.quote.is_some_and(|quote| has(format!("{plain} {quote}"))) {
        error.help(format!("there are blanks before quotes: csv().trim(true).read(\"{shown}\")"))
    } else if options.escape.is_none() && has(format!("\\{plain}")) {
        error.help(format!("there are backslashes before separators: csv().escape('\\\\').read(\"{shown}\")"))
    } else if found > expected {
        error.help(format!(
            "put fields that contain `{separator}` in quotes, say which separator the file has: csv().sep(';'), or leave out \
             what the header has no name for: csv().cut_rows(true)"
        ))
    } else {
        error.help(
            "if the rest of the row is missing: csv().pad_rows(true) makes it null; if the line is a remark: \
             csv().comment('#'); csv().on_error(\"skip\") leaves such rows out",
        )
    }
}

/// A value that is not of the type that the user gave for the column.
pub(super) fn unfit(
    text: &Text,
    (start, form): (usize, &Form),
    (column, position): (usize, usize),
    columns: &Columns,
    dtype: &DataType,
) -> Diagnostic {
    let mut fields = Vec::new();
    let value = match tokens::record(&text.bytes, start, form, &mut fields) {
        Ok(_) if position < fields.len() => fields[position].text(&text.bytes, form).into_owned(),
        _ => String::new(),
    };
    let name = &columns.names[column];
    let dtype = onrush_frame::dtype_to_wire(dtype);
    let mut nulls: Vec<String> = columns.nulls[column].clone();
    nulls.push(value.clone());
    let nulls = nulls.iter().map(|n| format!("{n:?}")).collect::<Vec<_>>().join(", ");
    Diagnostic::error(
        Class::Data,
        "bad-value",
        format!(
            "line {} of `{}`: `{}` in column `{name}` is not of type {dtype}",
            line_of(&text.bytes, start),
            text.path.display(),
            excerpt(value.as_bytes()),
        ),
    )
    .help(format!(
        "read the column as text: .dtypes([({name:?}, \"str\")]); or, if the value means that there is none: .nulls([{nulls}]); or \
         take null for all that do not fit: .on_error(\"null\")"
    ))
}

/// A broken quote.
pub(super) fn malformed(path: &Path, shown: &str, bytes: &[u8], form: &Form, error: MalformedRecord) -> Diagnostic {
    let plain = format!("csv().quote(None).read(\"{shown}\")");
    match error {
        MalformedRecord::Unclosed { at } => Diagnostic::error(
            Class::Data,
            "unclosed-quote",
            format!("the quote in line {} of `{}` is never closed", line_of(bytes, at), path.display()),
        )
        .note(format!("there it says `{}`", excerpt(&bytes[at..tokens::line_end(bytes, at)])))
        .help(format!("if quotes are plain characters in this file, read it without: {plain}")),
        MalformedRecord::AfterQuote { at } => {
            let error = Diagnostic::error(
                Class::Data,
                "text-after-quote",
                format!(
                    "line {} of `{}` has text behind a closing quote, where a separator should be",
                    line_of(bytes, at),
                    path.display()
                ),
            )
            .note(format!("there it says `{}`", excerpt(&bytes[at..tokens::line_end(bytes, at)])));
            let blanks = bytes[at + 1..].iter().take_while(|c| matches!(c, b' ' | b'\t')).count();
            let next = bytes.get(at + 1 + blanks);
            if form.escape.is_none() && at > 0 && bytes[at - 1] == b'\\' {
                return error
                    .help(format!("there is a backslash before the quote: csv().escape('\\\\').read(\"{shown}\")"));
            }
            if !form.trim && blanks > 0 && next.is_none_or(|c| *c == form.separator || matches!(c, b'\r' | b'\n')) {
                return error.help(format!("there are blanks behind the quote: csv().trim(true).read(\"{shown}\")"));
            }
            error.help(format!(
                "quotes within a field are written twice (\"\"); if they are plain characters, read it with {plain}"
            ))
        }
    }
}
