//! Readers of CSV, fixed-width and JSON files with options. The names of options are those of Polars or shorter ones;
//! both work.

use std::ops::Range;
use std::path::Path;

use onrush_wire::plan::{CsvOptions, DuplicateNames, FixedWidthOptions, Format, OnError};
use onrush_wire::{Class, DataType, Diagnostic, Span};

use super::read::source;
use super::{Frame, IntoPairs, path_text};
use crate::expr::IntoColumns;
use crate::raise::{here, raise};

/// Options for reading a CSV file: `csv().sep(';').nulls(["-"]).read("x.csv")`.
///
/// ```text
/// csv().sep(';').decimal(',').dates("%d.%m.%Y").encoding("windows-1252").read("export.csv");
/// csv().on_error("skip").max_errors(100).read("log.csv");     // rows that do not fit are left out
/// csv().on_error("skip").rejects("log.csv");                  // a frame with them: line, text, reason
/// ```
pub fn csv() -> CsvReader {
    CsvReader { options: CsvOptions::default(), columns: None }
}

/// Reads text with columns of fixed width. Columns are separated by the blanks that the first 100 lines have in common,
/// and the first line names them. Types, nulls and compression are as for [`crate::read_csv`]. For other options see
/// [`fwf`].
#[track_caller]
pub fn read_fwf(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), fwf().format()), here("read_fwf"))
}

/// Options for reading text with columns of fixed width: `fwf().widths([6, 14, 13]).header(false).read("x.txt")`.
/// Without widths, the columns are as for [`read_fwf`].
pub fn fwf() -> CsvReader {
    CsvReader { columns: Some(Vec::new()), ..csv() }
}

/// Options of a CSV reader; see [`csv`].
#[derive(Clone, Debug)]
#[must_use = "`.read(path)` reads the file"]
pub struct CsvReader {
    options: CsvOptions,
    /// The columns of fixed width, by their characters. `None`: fields are separated.
    columns: Option<Vec<(u64, u64)>>,
}

fn unknown(what: &str, given: &str, known: &str, at: Span) -> ! {
    raise(Diagnostic::error(Class::Plan, "bad-option", format!("there is no {what} `{given}`")).help(known).at(at, ""))
}

impl CsvReader {
    /// The number of characters of each column from the left, as `widths` of pandas' `read_fwf`. Blanks around values
    /// are left out, and the text behind the last column is not read.
    pub fn widths(mut self, widths: impl IntoIterator<Item = usize>) -> Self {
        let mut from = 0;
        let column = |width: usize| {
            let column = (from, from + width as u64);
            from = column.1;
            column
        };
        self.columns = Some(widths.into_iter().map(column).collect());
        self
    }

    /// The characters of each column from 0, as `colspecs` of pandas' `read_fwf`: `.spans([0..6, 8..20])`. Other
    /// characters are not read.
    pub fn spans(mut self, spans: impl IntoIterator<Item = Range<usize>>) -> Self {
        self.columns = Some(spans.into_iter().map(|span| (span.start as u64, span.end as u64)).collect());
        self
    }

    /// The separator of fields. Default: a comma.
    pub fn sep(mut self, separator: char) -> Self {
        self.options.separator = separator;
        self
    }

    /// The separator of fields: an alias of [`CsvReader::sep`], as in Polars.
    pub fn separator(self, separator: char) -> Self {
        self.sep(separator)
    }

    /// The quote character of strings. `None`: quotes are part of the string. Default: `"`.
    pub fn quote(mut self, quote: impl Into<Option<char>>) -> Self {
        self.options.quote = quote.into();
        self
    }

    /// The quote character: an alias of [`CsvReader::quote`], as in Polars.
    pub fn quote_char(self, quote: impl Into<Option<char>>) -> Self {
        self.quote(quote)
    }

    /// The character that makes the next one a part of the value: `.escape('\\')` reads `"5\" disk"`. Default: none;
    /// within quotes, a quote is written twice.
    pub fn escape(mut self, escape: impl Into<Option<char>>) -> Self {
        self.options.escape = escape.into();
        self
    }

    /// Whether the first row is a header with names. Without: `column_1`, `column_2`, ...
    pub fn header(mut self, has_header: bool) -> Self {
        self.options.has_header = has_header;
        self
    }

    /// Whether the first row is a header: an alias of [`CsvReader::header`], as in Polars.
    pub fn has_header(self, has_header: bool) -> Self {
        self.header(has_header)
    }

    /// Names of the columns from the left, in place of those of the header. With `.header(false)` the first row is
    /// data.
    pub fn names(mut self, names: impl IntoColumns) -> Self {
        self.options.names = names.into_columns();
        self
    }

    /// Names of the columns: an alias of [`CsvReader::names`], as in Polars.
    pub fn new_columns(self, names: impl IntoColumns) -> Self {
        self.names(names)
    }

    /// A name that comes twice: `"rename"` makes `a_duplicated_0` of the second `a`, as Polars does, and `"error"`
    /// refuses the file. Default: rename, but refuse a header of numbers, since it is a row.
    #[track_caller]
    pub fn duplicate_names(mut self, how: &str) -> Self {
        self.options.duplicate_names = match how {
            "rename" => DuplicateNames::Rename,
            "error" => DuplicateNames::Error,
            other => unknown("treatment of duplicate names", other, "use rename or error", here("duplicate_names")),
        };
        self
    }

    /// Skips lines that start with this.
    pub fn comment(mut self, start: char) -> Self {
        self.options.comment = Some(start);
        self
    }

    /// Skips lines that start with this: an alias of [`CsvReader::comment`], as in Polars.
    pub fn comment_prefix(self, start: char) -> Self {
        self.comment(start)
    }

    /// Whether blanks and tabs around fields, and between quotes and separators, are left out (`skipinitialspace` of
    /// pandas does so before fields). Default: no.
    pub fn trim(mut self, trim: bool) -> Self {
        self.options.trim = trim;
        self
    }

    /// Strings that mean null, instead of `NA`, also within quotes. An empty field is null as well.
    pub fn nulls(mut self, strings: impl IntoColumns) -> Self {
        self.options.nulls = strings.into_columns();
        self.options.quoted_nulls = true;
        self
    }

    /// Strings that mean null: an alias of [`CsvReader::nulls`], as in Polars.
    pub fn null_values(self, strings: impl IntoColumns) -> Self {
        self.nulls(strings)
    }

    /// Strings that mean null in one column, instead of those of [`CsvReader::nulls`]: `.column_nulls("price", ["-",
    /// "n/a"])`.
    pub fn column_nulls(mut self, column: impl Into<String>, strings: impl IntoColumns) -> Self {
        self.options.column_nulls.push((column.into(), strings.into_columns()));
        self
    }

    /// Whether an empty field is null in a column of strings. `false`: it is an empty string. An empty field in quotes
    /// always is. Default: yes.
    pub fn empty_is_null(mut self, is_null: bool) -> Self {
        self.options.empty_is_null = is_null;
        self
    }

    /// Skips rows at the top, before the header.
    pub fn skip_rows(mut self, rows: usize) -> Self {
        self.options.skip_rows = rows as u64;
        self
    }

    /// Skips rows after the header, such as a row of units.
    pub fn skip_after_header(mut self, rows: usize) -> Self {
        self.options.skip_after_header = rows as u64;
        self
    }

    /// Skips rows after the header: an alias of [`CsvReader::skip_after_header`], as in Polars.
    pub fn skip_rows_after_header(self, rows: usize) -> Self {
        self.skip_after_header(rows)
    }

    /// Types for some columns: `.dtypes([("zip", "str")])`.
    #[track_caller]
    pub fn dtypes(mut self, dtypes: impl IntoPairs<DataType>) -> Self {
        self.options.dtypes.extend(dtypes.into_pairs());
        self
    }

    /// Types for some columns: an alias of [`CsvReader::dtypes`], as in Polars.
    #[track_caller]
    pub fn schema_overrides(self, dtypes: impl IntoPairs<DataType>) -> Self {
        self.dtypes(dtypes)
    }

    /// Whether dates and times are recognised: `2024-12-31`, `2024/12/31`, `31.12.2024`, and `31/12/2024` if a day of
    /// the column is beyond the 12th, each also with a time. Default: yes.
    pub fn parse_dates(mut self, parse: bool) -> Self {
        self.options.parse_dates = parse;
        self
    }

    /// Whether dates and times are recognised: an alias of [`CsvReader::parse_dates`], as in Polars.
    pub fn try_parse_dates(self, parse: bool) -> Self {
        self.parse_dates(parse)
    }

    /// Formats of dates and timestamps, one or several: `.dates("%m/%d/%Y")`, `.dates(["%d %b %Y", "%d.%m.%y %H:%M"])`.
    /// The notation is that of `strftime`. A column whose values all have the format is of its type.
    pub fn dates(mut self, formats: impl IntoColumns) -> Self {
        self.options.dates.extend(formats.into_columns());
        self
    }

    /// The decimal separator of numbers: `.decimal(',')` reads `1,5`. Default: a point.
    pub fn decimal(mut self, separator: char) -> Self {
        self.options.decimal = separator;
        self
    }

    /// Whether the decimal separator is a comma, as in Polars.
    pub fn decimal_comma(self, is_comma: bool) -> Self {
        self.decimal(if is_comma { ',' } else { '.' })
    }

    /// The character between groups of digits: `.thousands('.')` reads `1.234.567`. Default: none.
    pub fn thousands(mut self, separator: impl Into<Option<char>>) -> Self {
        self.options.thousands = separator.into();
        self
    }

    /// The encoding of the file: `"latin1"`, `"windows-1252"`, `"utf-16"`, `"shift_jis"` and the other names of Python
    /// and the web; `"utf8-lossy"` replaces what is not UTF-8. Default: UTF-8, or as a byte order mark says.
    pub fn encoding(mut self, name: impl Into<String>) -> Self {
        self.options.encoding = Some(name.into());
        self
    }

    /// Reads only these columns.
    pub fn columns(mut self, names: impl IntoColumns) -> Self {
        self.options.columns = names.into_columns();
        self
    }

    /// Reads only the first rows.
    pub fn limit(mut self, rows: usize) -> Self {
        self.options.limit = Some(rows as u64);
        self
    }

    /// Reads only the first rows: an alias of [`CsvReader::limit`], as in Polars.
    pub fn n_rows(self, rows: usize) -> Self {
        self.limit(rows)
    }

    /// Adds a first column that numbers the rows from 0 (`u32`).
    pub fn row_number(mut self, name: impl Into<String>) -> Self {
        self.options.row_number = Some(name.into());
        self
    }

    /// Adds a first column of row numbers: an alias of [`CsvReader::row_number`], as in Polars.
    pub fn row_index_name(self, name: impl Into<String>) -> Self {
        self.row_number(name)
    }

    /// Adds a last column with the path of the file of each row.
    pub fn file_name(mut self, name: impl Into<String>) -> Self {
        self.options.file_name = Some(name.into());
        self
    }

    /// Adds a last column with the paths of the files: an alias of [`CsvReader::file_name`], as in Polars.
    pub fn include_file_paths(self, name: impl Into<String>) -> Self {
        self.file_name(name)
    }

    /// Whether the files of a pattern may have different columns: all of them are read, and null where a file has none.
    /// Columns are found by name in any case. Default: no.
    pub fn union_by_name(mut self, union: bool) -> Self {
        self.options.union_by_name = union;
        self
    }

    /// Whether folders named `key=value` give columns. Default: if the path is a folder or has a `*`.
    pub fn hive(mut self, hive: bool) -> Self {
        self.options.hive = Some(hive);
        self
    }

    /// Whether rows may be short: missing fields at the end are null (`null_padding` of DuckDB). Default: no.
    pub fn pad_rows(mut self, pad: bool) -> Self {
        self.options.pad_rows = pad;
        self
    }

    /// Whether rows may be short: an alias of [`CsvReader::pad_rows`], as in DuckDB.
    pub fn null_padding(self, pad: bool) -> Self {
        self.pad_rows(pad)
    }

    /// Whether rows may be long: surplus fields at the end are left out. Default: no.
    pub fn cut_rows(mut self, cut: bool) -> Self {
        self.options.cut_rows = cut;
        self
    }

    /// Whether rows may be ragged, as in Polars: surplus fields are left out, and missing ones are null.
    pub fn truncate_ragged_lines(self, truncate: bool) -> Self {
        self.cut_rows(truncate).pad_rows(truncate)
    }

    /// The treatment of rows that do not fit. `"fail"`, the default: the first one is an error. `"null"`: values that
    /// are not of the type that [`CsvReader::dtypes`] says are null, missing fields are null, surplus fields are left
    /// out. `"skip"`: the row is left out, also if a quote is broken or bytes are not UTF-8. See
    /// [`CsvReader::rejects`].
    #[track_caller]
    pub fn on_error(mut self, policy: &str) -> Self {
        self.options.on_error = match policy {
            "fail" | "error" => OnError::Fail,
            "null" => OnError::Null,
            "skip" => OnError::Skip,
            other => unknown("error policy", other, "use fail, null or skip", here("on_error")),
        };
        self
    }

    /// Refuses a file with more errors than this.
    pub fn max_errors(mut self, errors: usize) -> Self {
        self.options.max_errors = Some(errors as u64);
        self
    }

    /// Reads the file, or several with `*` in the path.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> Frame {
        Frame::step(source(path_text(path), self.format()), here("read"))
    }

    fn format(&self) -> Format {
        let text = self.options.clone();
        match &self.columns {
            Some(columns) => Format::FixedWidth(FixedWidthOptions { columns: columns.clone(), text }),
            None => Format::Csv(text),
        }
    }

    /// The rows that [`CsvReader::read`] leaves out or changes with the same options: a frame of `file`, `line`,
    /// `column` (null if the whole row does not fit), `text` and `reason`, with the first 100,000 of them.
    #[track_caller]
    pub fn rejects(&self, path: impl AsRef<Path>) -> Frame {
        let mut reader = self.clone();
        reader.options.rejects = true;
        if reader.options.on_error == OnError::Fail {
            reader.options.on_error = OnError::Skip;
        }
        Frame::step(source(path_text(path), reader.format()), here("rejects"))
    }
}

/// Options for reading a JSON file: `json().at("data.records").read("x.json")`.
pub fn json() -> JsonReader {
    JsonReader { at: None }
}

/// Options of a JSON reader; see [`json`].
#[derive(Clone, Debug)]
#[must_use = "`.read(path)` reads the file"]
pub struct JsonReader {
    at: Option<String>,
}

impl JsonReader {
    /// The field of the file's object that holds the rows: `"records"`, or `"data.records"` for a field of a field. Its
    /// value is an array of objects, or one object.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.at = Some(path.into());
        self
    }

    /// Reads the file, or several with `*` in the path; see [`crate::read_json`].
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> Frame {
        let format = match &self.at {
            Some(at) => Format::JsonAt(at.clone()),
            None => Format::JsonLines,
        };
        Frame::step(source(path_text(path), format), here("read"))
    }
}
