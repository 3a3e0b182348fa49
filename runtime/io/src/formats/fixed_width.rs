//! Text with columns of fixed width, as `read_fwf` of pandas reads it. Each line is cut at the same characters, and
//! blanks around values are left out.
//!
//! Columns that are not given are those between the blanks that the first 100 lines have in common (`infer_nrows` of
//! pandas). The last of them ends with the line. Headers, types, nulls and dates are those of CSV, whose reader gets
//! the values with separators.

use std::borrow::Cow;

use onrush_wire::plan::{CsvOptions, DuplicateNames, FixedWidthOptions};
use onrush_wire::{Class, Diagnostic};

use crate::file::FileState;

/// Lines that say where columns are.
const SAMPLE: usize = 100;
/// The separator for the CSV reader: ASCII's unit separator.
const SEPARATOR: char = '\u{1f}';
/// Characters around values that are not a part of them.
const BLANKS: [char; 3] = [' ', '\t', '\r'];

/// The options for the CSV reader.
///
/// # Errors
/// A column without a character.
pub(super) fn csv_options(options: &FixedWidthOptions) -> Result<CsvOptions, Diagnostic> {
    if let Some((from, to)) = options.columns.iter().find(|(from, to)| from >= to) {
        let message = format!("a column from character {from} to {to} has no character");
        return Err(Diagnostic::error(Class::Plan, "bad-option", message)
            .help("give widths of at least 1, or spans whose end is behind their start"));
    }
    let duplicate_names = match options.text.duplicate_names {
        DuplicateNames::Auto => DuplicateNames::Rename,
        given => given,
    };
    Ok(CsvOptions { separator: SEPARATOR, quote: None, escape: None, duplicate_names, ..options.text.clone() })
}

/// The lines of a text with separators between the values. Lines without a value are empty, or left out if there is one
/// column.
///
/// # Errors
/// A value outside of columns that were not given.
pub(super) fn separated(file: &FileState, bytes: Vec<u8>, options: &FixedWidthOptions) -> Result<Vec<u8>, Diagnostic> {
    let text = String::from_utf8_lossy(&bytes);
    let text = if text.contains(SEPARATOR) { Cow::Owned(text.replace(SEPARATOR, " ")) } else { text };
    let skipped = usize::try_from(options.text.skip_rows).unwrap_or(usize::MAX);
    let is_inferred = options.columns.is_empty();
    let columns = match is_inferred {
        true => inferred(text.lines().skip(skipped).take(SAMPLE)),
        false => {
            let position = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
            options.columns.iter().map(|(from, to)| (position(*from), position(*to))).collect()
        }
    };
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.lines().enumerate() {
        let line = Line::new(line);
        if is_inferred && number >= skipped.saturating_add(SAMPLE) {
            let starts = columns.iter().map(|(from, _)| *from).chain([usize::MAX]);
            let ends = [0].into_iter().chain(columns.iter().map(|(_, to)| *to));
            if let Some(value) = ends.zip(starts).map(|(from, to)| line.value(from, to)).find(|value| !value.is_empty())
            {
                return Err(outside(file, number + 1, value));
            }
        }
        let start = out.len();
        for (i, (from, to)) in columns.iter().enumerate() {
            if i > 0 {
                out.push(SEPARATOR);
            }
            out.push_str(line.value(*from, *to));
        }
        let has_values = out.len() - start >= columns.len().max(1);
        if !has_values {
            // As in pandas, a line of empty values is no row.
            out.truncate(start);
        }
        if has_values || columns.len() > 1 || number < skipped {
            out.push('\n');
        }
    }
    Ok(out.into_bytes())
}

/// A line, and where its characters begin if they have several bytes.
struct Line<'a> {
    text: &'a str,
    starts: Option<Vec<usize>>,
}

impl<'a> Line<'a> {
    fn new(text: &'a str) -> Self {
        let starts = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect());
        Line { text, starts }
    }

    /// The characters of a range without the blanks around them. A range may reach beyond the end of the line.
    fn value(&self, from: usize, to: usize) -> &'a str {
        let byte = |at: usize| match &self.starts {
            Some(starts) => starts.get(at).copied().unwrap_or(self.text.len()),
            None => at.min(self.text.len()),
        };
        self.text[byte(from)..byte(to.max(from))].trim_matches(BLANKS)
    }
}

/// The columns between the blanks that lines have in common. The last one ends with the line.
fn inferred<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(usize, usize)> {
    let mut is_used: Vec<bool> = Vec::new();
    for line in lines {
        for (at, c) in line.chars().enumerate() {
            if is_used.len() <= at {
                is_used.push(false);
            }
            is_used[at] |= !BLANKS.contains(&c);
        }
    }
    let mut columns: Vec<(usize, usize)> = Vec::new();
    for (at, _) in is_used.iter().enumerate().filter(|(_, is_used)| **is_used) {
        match columns.last_mut().filter(|(_, to)| *to == at) {
            Some((_, to)) => *to = at + 1,
            None => columns.push((at, at + 1)),
        }
    }
    if let Some((_, to)) = columns.last_mut() {
        *to = usize::MAX;
    }
    columns
}

fn outside(file: &FileState, line: usize, value: &str) -> Diagnostic {
    let value: String = value.chars().take(40).collect();
    let message = format!(
        "line {line} of `{}` has `{value}` outside of the columns that its first {SAMPLE} lines have",
        file.path.display()
    );
    Diagnostic::error(Class::Data, "value-outside-columns", message)
        .help("give the widths of the columns: fwf().widths([6, 14, 13]).read(..)")
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use arrow::datatypes::{DataType, Float64Type};
    use onrush_frame::{Table, TaskHandle};
    use onrush_wire::plan::Format;

    use super::*;
    use crate::content::DecodedFiles;
    use crate::file::SourceFiles;
    use crate::memory::NoLimit;

    /// The columns of a text as the CSV reader gets them, with `|` between values.
    fn lines(text: &str, options: &FixedWidthOptions) -> Result<String, Diagnostic> {
        let file = FileState { path: "a.fwf".into(), bytes: 0, modified: 0, inode: 0, changed: 0 };
        let separated = separated(&file, text.as_bytes().to_vec(), options)?;
        Ok(String::from_utf8(separated).unwrap().replace(SEPARATOR, "|"))
    }

    fn table(text: &str, options: FixedWidthOptions) -> Table {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.fwf");
        std::fs::write(&path, text).unwrap();
        let state = FileState::of(path.clone(), &std::fs::metadata(&path).unwrap());
        let files = SourceFiles { files: vec![state], hive: vec![Vec::new()], is_set: false, urls: Vec::new() };
        match crate::formats::read(&files, "/", &Format::FixedWidth(options), 0, &NoLimit, &TaskHandle::new()).unwrap()
        {
            DecodedFiles::Table(table) => table,
            DecodedFiles::Scan { .. } => panic!("text is held"),
        }
    }

    fn columns(columns: &[(u64, u64)]) -> FixedWidthOptions {
        FixedWidthOptions { columns: columns.to_vec(), ..FixedWidthOptions::default() }
    }

    /// The file is that of pandas' user guide, "Files with fixed width columns". pandas 3.1.1 gives these values for
    /// `colspecs`, for `widths` and for neither.
    #[test]
    fn the_file_of_the_guide_of_pandas() {
        let text = "\
            id8141    360.242940   149.910199   11950.7\n\
            id1594    444.953632   166.985655   11788.4\n\
            id1849    364.136849   183.628767   11806.2\n\
            id1230    413.836124   184.375703   11916.8\n\
            id1948    502.953953   173.237159   12468.3\n";
        let expected = "\
            id8141|360.242940|149.910199|11950.7\n\
            id1594|444.953632|166.985655|11788.4\n\
            id1849|364.136849|183.628767|11806.2\n\
            id1230|413.836124|184.375703|11916.8\n\
            id1948|502.953953|173.237159|12468.3\n";
        for options in [
            columns(&[(0, 6), (8, 20), (21, 33), (34, 43)]),
            columns(&[(0, 6), (6, 20), (20, 33), (33, 43)]),
            FixedWidthOptions::default(),
        ] {
            assert_eq!(lines(text, &options).unwrap(), expected);
        }
        let options = CsvOptions { has_header: false, ..CsvOptions::default() };
        let table = table(text, FixedWidthOptions { text: options, ..FixedWidthOptions::default() });
        let types: Vec<_> = table.schema().fields().iter().map(|field| field.data_type().clone()).collect();
        assert_eq!(types, [DataType::Utf8View, DataType::Float64, DataType::Float64, DataType::Float64]);
        assert_eq!(table.rows(), 5);
        let last = table.batches()[0].column(3).as_primitive::<Float64Type>().clone();
        assert_eq!(last.values(), &[11950.7, 11788.4, 11806.2, 11916.8, 12468.3]);
    }

    /// Values of pandas 3.1.1. Characters are code points, tabs are blanks. An empty line is not a row, and a short
    /// line has empty values.
    #[test]
    fn characters_blanks_and_short_lines() {
        let text = "שלום שלום\nום   שלל\n\n  \t\nשל   ום\r\nab\n";
        assert_eq!(lines(text, &columns(&[(0, 4), (5, 9)])).unwrap(), "שלום|שלום\nום|שלל\n\n\nשל|ום\nab|\n");
        assert_eq!(lines("x\n\n y\n", &columns(&[(0, 2)])).unwrap(), "x\ny\n");
        assert_eq!(lines("name  n\nJohn Doe 1\n", &FixedWidthOptions::default()).unwrap(), "name|n|\nJohn|Doe|1\n");
        assert_eq!(lines("\n \n", &FixedWidthOptions::default()).unwrap(), "");
    }

    #[test]
    fn lines_behind_the_sample() {
        let text = |last: &str| format!("{}{last}\n", "  1  a\n".repeat(SAMPLE));
        let read = |last: &str| lines(&text(last), &FixedWidthOptions::default());
        // The last column ends with the line, wherever that is.
        assert!(read("  2  longer").unwrap().ends_with("\n2|longer\n"));
        let error = read("123  b").unwrap_err();
        assert_eq!(error.code, "value-outside-columns");
        assert!(error.message.starts_with("line 101 of `a.fwf` has `12` outside"), "{error}");
        // Given columns cut it, as in pandas.
        assert!(lines(&text("123  b"), &columns(&[(2, 3), (5, 6)])).unwrap().ends_with("\n3|b\n"));
    }

    #[test]
    fn skipped_lines_say_nothing_of_columns() {
        let mut options = FixedWidthOptions::default();
        options.text.skip_rows = 1;
        let read = lines("made by hand in 2024\n a   b\n 1  22\n", &options).unwrap();
        assert!(read.ends_with("\na|b\n1|22\n"), "{read}");
        assert_eq!(read.lines().count(), 3);
    }

    #[test]
    fn columns_have_a_character() {
        let error = csv_options(&columns(&[(0, 4), (4, 4)])).unwrap_err();
        assert_eq!((error.code.as_str(), error.class), ("bad-option", Class::Plan));
        assert!(csv_options(&columns(&[(0, 4)])).is_ok());
    }
}
