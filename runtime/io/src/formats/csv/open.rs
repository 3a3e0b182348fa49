//! From the options and the first lines of files to columns: form, header, names, types that the user gave.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow::datatypes::DataType;
use onrush_frame::{TaskHandle, dtype_from_wire};
use onrush_wire::plan::{CsvOptions, DuplicateNames, OnError};
use onrush_wire::{Class, Diagnostic};

use super::Layout;
use super::build;
use super::dates::{self, Format};
use super::errors;
use super::infer::Notation;
use super::tokens::{self, Form, MalformedRecord};
use crate::file::FileState;
use crate::memory::Reservation;
use crate::paths::below;
use crate::pieces::Division;
use crate::text::{Charset, TextOptions, line_of, load};

/// One file, looked at as far as its header.
pub(super) struct Text {
    /// The position among the files.
    pub index: usize,
    pub path: PathBuf,
    /// The path as the user would write it.
    pub shown: String,
    pub bytes: Vec<u8>,
    /// The names of its columns.
    pub names: Vec<String>,
    /// The position in the file of each column of the frame; `None` if the file lacks it.
    pub positions: Vec<Option<usize>>,
    /// The ranges of its records: each range has whole records.
    pub pieces: Vec<Range<usize>>,
    /// In one column a blank line is a null; in several it is nothing.
    pub skip_blank: bool,
    /// Rows end with a separator that the header does not have.
    pub has_last_separator: bool,
    /// Some of the bytes are not UTF-8.
    pub has_mistakes: bool,
}

fn bad_option(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Class::Plan, "bad-option", message)
}

fn ascii(what: &str, c: char) -> Result<u8, Diagnostic> {
    u8::try_from(c).ok().filter(|b| b.is_ascii() && *b != b'\n' && *b != b'\r').ok_or_else(|| {
        bad_option(format!("{what} `{}` is not a single ASCII character", c.escape_default()))
            .help("use a character such as ',' or ';' or '\\t'")
    })
}

/// The special characters of a file.
pub(super) fn form(options: &CsvOptions) -> Result<Form, Diagnostic> {
    let form = Form {
        separator: ascii("the separator", options.separator)?,
        quote: options.quote.map(|c| ascii("the quote", c)).transpose()?,
        comment: options.comment.map(|c| ascii("the comment mark", c)).transpose()?,
        escape: options.escape.map(|c| ascii("the escape character", c)).transpose()?,
        trim: options.trim,
        skip_broken: options.on_error == OnError::Skip,
    };
    // An escape that is the quote means doubled quotes, as always.
    let form = Form { escape: form.escape.filter(|c| Some(*c) != form.quote), ..form };
    if form.quote == Some(form.separator) {
        return Err(bad_option("separator and quote are the same character"));
    }
    if form.escape == Some(form.separator) {
        return Err(bad_option("separator and escape character are the same character"));
    }
    Ok(form)
}

/// The notation of numbers and dates.
pub(super) fn notation(options: &CsvOptions, form: &Form) -> Result<Notation, Diagnostic> {
    let decimal = ascii("the decimal separator", options.decimal)?;
    let thousands = options.thousands.map(|c| ascii("the thousands separator", c)).transpose()?;
    for (what, c) in [("decimal", Some(decimal)), ("thousands", thousands)] {
        if c.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'+')) {
            return Err(bad_option(format!("the {what} separator cannot be a letter, a digit or a sign")));
        }
    }
    if thousands == Some(decimal) {
        return Err(bad_option("decimal and thousands separator are the same character"));
    }
    if decimal == form.separator {
        let message = format!("the decimal separator and the separator of fields are both `{}`", options.separator);
        return Err(bad_option(message).help("name the separator of fields: csv().sep(';').decimal(',')"));
    }
    if options.dates.len() > dates::MOST {
        return Err(bad_option(format!("{} date formats are given, at most {}", options.dates.len(), dates::MOST)));
    }
    let formats = options.dates.iter().map(|f| Format::new(f)).collect::<Result<_, _>>()?;
    Ok(Notation::new(decimal, thousands, options.parse_dates, formats))
}

/// Loads a file, reads its header and cuts the rest into pieces.
pub(super) fn open(
    file: &FileState,
    (options, layout): (&CsvOptions, Option<Layout<'_>>),
    form: &Form,
    charset: Option<Charset>,
    folder: &str,
    (division, taken, task): (Division, &Reservation<'_>, &TaskHandle),
) -> Result<Text, Diagnostic> {
    let path = &file.path;
    let shown = below(path, folder);
    let help =
        |encoding: &str| format!("say which encoding the file has: csv().encoding(\"{encoding}\").read(\"{shown}\")");
    let wanted = TextOptions { charset, keep_mistakes: options.on_error == OnError::Skip, help: &help };
    let loaded = load(file, &wanted, taken, task)?;
    let mut bytes = loaded.bytes;
    tokens::line_feeds(&mut bytes, form);
    if let Some(layout) = layout {
        let before = bytes.len() as u64;
        bytes = layout(file, bytes)?;
        taken.take(path, (bytes.len() as u64).saturating_sub(before))?;
    }
    let malformed = |bytes: &[u8], e: MalformedRecord| errors::malformed(path, &shown, bytes, form, e);
    let mut at = 0;
    for _ in 0..options.skip_rows {
        if at < bytes.len() {
            at = tokens::line_end(&bytes, at);
        }
    }
    while at < bytes.len() && (tokens::is_comment(&bytes, at, form) || tokens::is_blank(&bytes, at)) {
        at = tokens::line_end(&bytes, at);
    }
    if at >= bytes.len() {
        let what = if bytes.is_empty() { "is empty" } else { "has no rows and no header" };
        let error = Diagnostic::error(Class::Data, "empty-file", format!("`{}` {what}", path.display()));
        return Err(match options.skip_rows {
            0 => error.help("check that it was written to its end; a CSV file starts with a line of column names"),
            n => error.help(format!("the first {n} lines were skipped: `skip_rows` may be too large")),
        });
    }
    let mut fields = Vec::new();
    let first_end = tokens::record(&bytes, at, form, &mut fields).map_err(|e| malformed(&bytes, e))?;
    if loaded.has_mistakes && std::str::from_utf8(&bytes[at..first_end]).is_err() {
        let message = format!("the header of `{}`, in line {}, is not UTF-8", path.display(), line_of(&bytes, at));
        return Err(Diagnostic::error(Class::Data, "not-utf8", message).help(help("windows-1252")));
    }
    let header: Vec<String> = fields.iter().map(|f| f.text(&bytes, form).trim().to_string()).collect();
    if layout.is_none() {
        errors::wrong_separator(path, &shown, (&bytes, at, first_end), &header, options)?;
    }
    let names = column_names(header, options, (path, &shown, line_of(&bytes, at)))?;
    let skip_blank = names.len() > 1;
    let mut from = if options.has_header { first_end } else { at };
    if options.skip_after_header > 0 {
        from = tokens::limit(&bytes, from, options.skip_after_header, skip_blank, form)
            .map_err(|e| malformed(&bytes, e))?;
    }
    let mut has_last_separator = false;
    let first = (from..bytes.len()).find(|i| !matches!(bytes[*i], b'\n' | b'\r'));
    if let Some(first) = first.filter(|_| options.has_header)
        && tokens::record(&bytes, first, form, &mut fields).is_ok()
    {
        has_last_separator =
            fields.len() == names.len() + 1 && fields.last().is_some_and(|f| f.start == f.end && !f.quoted);
    }
    if let Some(limit) = options.limit {
        let end = tokens::limit(&bytes, from, limit, skip_blank, form).map_err(|e| malformed(&bytes, e))?;
        bytes.truncate(end);
    }
    let pieces = tokens::pieces(&bytes, from, division.bytes(&bytes), form).map_err(|e| malformed(&bytes, e))?;
    let pieces = pieces.into_iter().map(|(start, end)| start..end).collect();
    let (path, has_mistakes) = (path.clone(), loaded.has_mistakes);
    Ok(Text {
        index: 0,
        path,
        shown,
        bytes,
        names,
        positions: Vec::new(),
        pieces,
        skip_blank,
        has_last_separator,
        has_mistakes,
    })
}

/// The names of the columns of a file whose first row is `header`.
fn column_names(
    header: Vec<String>,
    options: &CsvOptions,
    (path, shown, line): (&Path, &str, usize),
) -> Result<Vec<String>, Diagnostic> {
    let number = |(i, name): (usize, String)| if name.is_empty() { format!("column_{}", i + 1) } else { name };
    let width = header.len();
    let mut names: Vec<String> = match options.has_header {
        true => header.into_iter().enumerate().map(number).collect(),
        false => (1..=width).map(|i| format!("column_{i}")).collect(),
    };
    if options.names.len() > width {
        let message = format!("{} names are given, and `{}` has {width} columns", options.names.len(), path.display());
        return Err(Diagnostic::error(Class::Plan, "too-many-names", message)
            .help("give at most as many names as there are columns"));
    }
    for (name, given) in names.iter_mut().zip(&options.names) {
        name.clone_from(given);
    }
    let mut seen = HashSet::new();
    let mut twice: Vec<&str> = names.iter().map(String::as_str).filter(|n| !seen.insert(*n)).collect();
    if twice.is_empty() {
        return Ok(names);
    }
    twice.sort_unstable();
    twice.dedup();
    let is_number = |name: &String| name.parse::<f64>().is_ok() || name.starts_with("column_");
    let is_data = options.has_header && options.names.is_empty() && names.iter().all(is_number);
    let refuse = match options.duplicate_names {
        DuplicateNames::Auto => is_data || !options.names.is_empty(),
        DuplicateNames::Rename => false,
        DuplicateNames::Error => true,
    };
    if refuse {
        let list = twice.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let error = match options.names.is_empty() {
            true => {
                let message = format!("line {line} of `{}` names a column more than once: {list}", path.display());
                Diagnostic::error(Class::Data, "duplicate-column", message)
            }
            false => {
                let message = format!("the names of the columns of `{}` would be there twice: {list}", path.display());
                Diagnostic::error(Class::Plan, "duplicate-column", message)
            }
        };
        return Err(match is_data {
            true => error.help(format!(
                "the line seems to hold values, not names: csv().header(false).read(\"{shown}\"); if it does hold names: \
                 csv().duplicate_names(\"rename\")"
            )),
            false => error.help("give every column another name: csv().duplicate_names(\"rename\"), or csv().names([..])"),
        });
    }
    renamed(&mut names);
    Ok(names)
}

/// Names as Polars makes them: `a`, `a_duplicated_0`, `a_duplicated_1`.
fn renamed(names: &mut [String]) {
    let mut used: HashSet<String> = names.iter().cloned().collect();
    let mut seen: HashSet<String> = HashSet::new();
    let mut next: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    for name in names.iter_mut() {
        if seen.insert(name.clone()) {
            continue;
        }
        let number = next.entry(name.clone()).or_insert(0);
        let new = loop {
            let new = format!("{name}_duplicated_{number}");
            *number += 1;
            if used.insert(new.clone()) {
                break new;
            }
        };
        *name = new;
    }
}

/// The columns of all files together.
pub(super) struct Columns {
    pub names: Vec<String>,
    /// The types that the user gave.
    pub given: Vec<Option<DataType>>,
    /// The columns of the frame in their order.
    pub keep: Vec<usize>,
    /// The strings that mean null in each column.
    pub nulls: Vec<Vec<String>>,
    /// Whether they mean null within quotes in a string column, too.
    pub quoted_nulls: Vec<bool>,
}

impl Columns {
    /// Finds the columns of the files by their names.
    ///
    /// # Errors
    /// Files with other columns than the first, options for a column that is not there.
    pub fn of(texts: &mut [Text], options: &CsvOptions) -> Result<Columns, Diagnostic> {
        let mut names = texts[0].names.clone();
        for other in &texts[1..] {
            if other.names == names {
                continue;
            }
            let known: HashSet<&String> = names.iter().collect();
            let new: Vec<String> = other.names.iter().filter(|n| !known.contains(n)).cloned().collect();
            let is_same = new.is_empty() && other.names.len() == names.len();
            if !is_same && !options.union_by_name {
                return Err(errors::different(&texts[0], other));
            }
            names.extend(new);
        }
        for (index, text) in texts.iter_mut().enumerate() {
            text.index = index;
            text.positions = match text.names == names {
                true => (0..names.len()).map(Some).collect(),
                false => names.iter().map(|n| text.names.iter().position(|m| m == n)).collect(),
            };
        }
        let path = &texts[0].path;
        let find = |name: &String| {
            let index = names.iter().position(|n| n == name);
            index.ok_or_else(|| errors::unknown_column(name, &names, path))
        };
        let mut given = vec![None; names.len()];
        for (name, dtype) in &options.dtypes {
            let arrow = dtype_from_wire(dtype)?;
            if !build::castable(&arrow) {
                let message = format!(
                    "column `{name}` cannot be read as {dtype}: a CSV file holds strings, and they do not convert to it"
                );
                return Err(Diagnostic::error(Class::Plan, "unsupported-type", message)
                    .help("read it as text and convert it afterwards"));
            }
            given[find(name)?] = Some(arrow);
        }
        let mut keep = Vec::with_capacity(names.len());
        for name in &options.columns {
            let index = find(name)?;
            if keep.contains(&index) {
                let message = format!("column `{name}` is asked for twice");
                return Err(Diagnostic::error(Class::Plan, "duplicate-column", message));
            }
            keep.push(index);
        }
        if options.columns.is_empty() {
            keep.extend(0..names.len());
        }
        let mut nulls = vec![options.nulls.clone(); names.len()];
        let mut quoted_nulls = vec![options.quoted_nulls; names.len()];
        for (name, strings) in &options.column_nulls {
            let index = find(name)?;
            nulls[index].clone_from(strings);
            quoted_nulls[index] = true;
        }
        Ok(Columns { names, given, keep, nulls, quoted_nulls })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polars gives the first four names; where a name is there already, Polars has an error.
    #[test]
    fn names_that_are_there_twice() {
        let mut names = ["a", "b", "a", "a", "b", "b_duplicated_0"].map(str::to_string);
        renamed(&mut names);
        assert_eq!(names, ["a", "b", "a_duplicated_0", "a_duplicated_1", "b_duplicated_1", "b_duplicated_0"]);
    }
}
