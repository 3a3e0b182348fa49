//! CSV files: form, header, types of the whole file, then columns; in pieces, on all cores.
//!
//! Two passes over the text: the first finds the type of every column, the second builds the columns. A value is null if it
//! is empty and not quoted, or one of the null strings. A quoted empty field is the empty string in a string column and null
//! in any other.

mod build;
mod infer;
mod tokens;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field as ArrowField, Schema};
use onrush_frame::{Table, TaskHandle, dtype_from_wire};
use onrush_wire::plan::CsvOptions;
use onrush_wire::{Class, Diagnostic};

use crate::cache::FileState;
use crate::memory::Reservation;
use crate::paths::short;
use crate::pieces::Division;
use crate::text::{excerpt, line_of, load};
use build::Column;
use infer::Kinds;
use tokens::{Field, Form, Malformed};

/// One file, looked at as far as its header.
struct Text {
    path: std::path::PathBuf,
    bytes: Vec<u8>,
    names: Vec<String>,
    /// Where its records lie: each range has whole records.
    pieces: Vec<Range<usize>>,
    /// In one column a blank line is a null; in several it is nothing.
    skip_blank: bool,
}

/// Reads files of the same columns one below the other.
pub(crate) fn read(
    files: &[FileState],
    options: &CsvOptions,
    division: Division,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Table, Diagnostic> {
    let form = form(options)?;
    let mut texts = Vec::with_capacity(files.len());
    for file in files {
        texts.push(open(file, options, &form, division, taken, task)?);
    }
    let names = same_columns(&texts)?;
    let given = given_types(options, &names, &texts[0].path)?;
    let keep = kept_columns(options, &names, &texts[0].path)?;
    let jobs: Vec<(&Text, Range<usize>)> =
        texts.iter().flat_map(|t| t.pieces.iter().map(move |p| (t, p.clone()))).collect();
    let reader = Reader { options, form, names: &names, given: &given, keep: &keep };

    let kinds = division.run(&jobs, task, |(text, piece)| reader.kinds(text, piece.clone()));
    let kinds = kinds
        .into_iter()
        .collect::<Result<Vec<_>, Diagnostic>>()?
        .into_iter()
        .fold(vec![Kinds::ANY; names.len()], |all, one| all.into_iter().zip(one).map(|(a, b)| a.and(b)).collect());
    let dtypes: Vec<DataType> = given
        .iter()
        .zip(&kinds)
        .map(|(given, kinds)| given.clone().unwrap_or_else(|| kinds.data_type(options.parse_dates)))
        .collect();
    let fields: Vec<ArrowField> = keep.iter().map(|i| ArrowField::new(&names[*i], dtypes[*i].clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let batches = division.run(&jobs, task, |(text, piece)| {
        let batch = reader.build(text, piece.clone(), &dtypes, &schema)?;
        taken.take(&text.path, batch.get_array_memory_size() as u64)?;
        task.add_rows(batch.num_rows() as u64);
        Ok(batch)
    });
    let batches = batches.into_iter().collect::<Result<Vec<_>, Diagnostic>>()?;
    let table = Table::new(schema, batches);
    match options.limit {
        // Each file was cut at the limit; together they can hold more.
        Some(limit) => Ok(table.head(usize::try_from(limit).unwrap_or(usize::MAX))),
        None => Ok(table),
    }
}

fn form(options: &CsvOptions) -> Result<Form, Diagnostic> {
    let ascii = |what: &str, c: char| {
        u8::try_from(c).ok().filter(|b| b.is_ascii() && *b != b'\n' && *b != b'\r').ok_or_else(|| {
            Diagnostic::error(
                Class::Plan,
                "bad-option",
                format!("{what} `{}` is not a single ASCII character", c.escape_default()),
            )
            .help("use a character such as ',' or ';' or '\\t'")
        })
    };
    let form = Form {
        separator: ascii("the separator", options.separator)?,
        quote: options.quote.map(|c| ascii("the quote", c)).transpose()?,
        comment: options.comment.map(|c| ascii("the comment mark", c)).transpose()?,
    };
    if form.quote == Some(form.separator) {
        return Err(Diagnostic::error(Class::Plan, "bad-option", "separator and quote are the same character"));
    }
    Ok(form)
}

/// Loads a file, reads its header and cuts the rest into pieces.
fn open(
    file: &FileState,
    options: &CsvOptions,
    form: &Form,
    division: Division,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Text, Diagnostic> {
    let bytes = load(file, taken, task)?;
    let path = &file.path;
    let malformed = |e: Malformed| malformed(path, &bytes, e);
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
    let first_end = tokens::record(&bytes, at, form, &mut fields).map_err(malformed)?;
    let header: Vec<String> = fields.iter().map(|f| f.text(&bytes, form).trim().to_string()).collect();
    wrong_separator(path, &bytes, at, first_end, &header, options)?;
    let names: Vec<String> = match options.has_header {
        true => header
            .into_iter()
            .enumerate()
            .map(|(i, n)| if n.is_empty() { format!("column_{}", i + 1) } else { n })
            .collect(),
        false => (1..=header.len()).map(|i| format!("column_{i}")).collect(),
    };
    duplicates(path, &names, line_of(&bytes, at))?;
    let from = if options.has_header { first_end } else { at };
    let skip_blank = names.len() > 1;
    let mut bytes = bytes;
    if let Some(limit) = options.limit {
        let end = tokens::limit(&bytes, from, limit, skip_blank, form).map_err(|e| self::malformed(path, &bytes, e))?;
        bytes.truncate(end);
    }
    let pieces =
        tokens::pieces(&bytes, from, division.bytes(&bytes), form).map_err(|e| self::malformed(path, &bytes, e))?;
    let pieces = pieces.into_iter().map(|(start, end)| start..end).collect();
    Ok(Text { path: path.clone(), bytes, names, pieces, skip_blank })
}

/// One column whose name holds another separator is the sign of a file with that separator.
fn wrong_separator(
    path: &Path,
    bytes: &[u8],
    at: usize,
    header_end: usize,
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
        "its columns seem to be separated by `{0}`: csv().sep('{0}').read(\"{1}\")",
        found.escape_default(),
        short(path)
    )))
}

fn duplicates(path: &Path, names: &[String], line: usize) -> Result<(), Diagnostic> {
    let mut seen = std::collections::HashSet::new();
    let mut twice: Vec<&str> = names.iter().map(String::as_str).filter(|n| !seen.insert(*n)).collect();
    twice.dedup();
    if twice.is_empty() {
        return Ok(());
    }
    let list = twice.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    Err(Diagnostic::error(
        Class::Data,
        "duplicate-column",
        format!("line {line} of `{}` names a column more than once: {list}", path.display()),
    )
    .help("rename one of them in the file, or read it with `header(false)` and `skip_rows(1)` and then rename the columns"))
}

fn same_columns(texts: &[Text]) -> Result<Vec<String>, Diagnostic> {
    let first = &texts[0];
    for other in &texts[1..] {
        if other.names == first.names {
            continue;
        }
        let difference = match (
            first.names.iter().find(|n| !other.names.contains(n)),
            other.names.iter().find(|n| !first.names.contains(n)),
        ) {
            (Some(name), _) => format!("it has no column `{name}`"),
            (None, Some(name)) => format!("its column `{name}` is not in the first"),
            (None, None) => "its columns are in another order".to_string(),
        };
        return Err(Diagnostic::error(
            Class::Data,
            "different-columns",
            format!("`{}` does not have the columns of `{}`: {difference}", other.path.display(), first.path.display()),
        )
        .help("read the files one by one and put them together with `concat`"));
    }
    Ok(first.names.clone())
}

fn unknown_column(name: &str, names: &[String], path: &Path) -> Diagnostic {
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

/// The types that the user gave, by column.
fn given_types(options: &CsvOptions, names: &[String], path: &Path) -> Result<Vec<Option<DataType>>, Diagnostic> {
    let mut given = vec![None; names.len()];
    for (name, dtype) in &options.dtypes {
        let index = names.iter().position(|n| n == name).ok_or_else(|| unknown_column(name, names, path))?;
        let arrow = dtype_from_wire(dtype)?;
        if !build::castable(&arrow) {
            return Err(Diagnostic::error(
                Class::Plan,
                "unsupported-type",
                format!(
                    "column `{name}` cannot be read as {dtype}: a CSV file holds strings, and they do not convert to it"
                ),
            )
            .help("read it as text and convert it afterwards"));
        }
        given[index] = Some(arrow);
    }
    Ok(given)
}

fn kept_columns(options: &CsvOptions, names: &[String], path: &Path) -> Result<Vec<usize>, Diagnostic> {
    if options.columns.is_empty() {
        return Ok((0..names.len()).collect());
    }
    let mut keep = Vec::with_capacity(options.columns.len());
    for name in &options.columns {
        let index = names.iter().position(|n| n == name).ok_or_else(|| unknown_column(name, names, path))?;
        if keep.contains(&index) {
            return Err(Diagnostic::error(
                Class::Plan,
                "duplicate-column",
                format!("column `{name}` is asked for twice"),
            ));
        }
        keep.push(index);
    }
    Ok(keep)
}

/// What both passes know.
struct Reader<'a> {
    options: &'a CsvOptions,
    form: Form,
    names: &'a [String],
    given: &'a [Option<DataType>],
    keep: &'a [usize],
}

impl Reader<'_> {
    /// Calls `row` with the fields of every record of a piece and where the record starts.
    fn records(
        &self,
        text: &Text,
        piece: Range<usize>,
        mut row: impl FnMut(usize, &[Field]) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        // Only the piece's end is cut off: positions stay those of the file.
        let bytes = &text.bytes[..piece.end];
        let mut fields: Vec<Field> = Vec::with_capacity(self.names.len());
        let mut at = piece.start;
        while at < bytes.len() {
            if tokens::is_comment(bytes, at, &self.form) || (text.skip_blank && tokens::is_blank(bytes, at)) {
                at = tokens::line_end(bytes, at);
                continue;
            }
            let start = at;
            at = tokens::record(bytes, at, &self.form, &mut fields)
                .map_err(|e| malformed(&text.path, &text.bytes, e))?;
            if fields.len() != self.names.len() {
                return Err(self.ragged(text, start, at, fields.len()));
            }
            row(start, &fields)?;
        }
        Ok(())
    }

    /// Whether a field is null in a column of any type: empty without quotes, or one of the null strings.
    #[inline]
    fn is_null(&self, text: &[u8], field: &Field) -> bool {
        let bytes = field.bytes(text);
        (bytes.is_empty() && !field.quoted)
            || self.options.nulls.iter().any(|n| n.as_bytes() == bytes && !bytes.is_empty())
    }

    fn kinds(&self, text: &Text, piece: Range<usize>) -> Result<Vec<Kinds>, Diagnostic> {
        let mut kinds = vec![Kinds::ANY; self.names.len()];
        let wanted: Vec<usize> = self.keep.iter().copied().filter(|i| self.given[*i].is_none()).collect();
        for (i, kind) in kinds.iter_mut().enumerate() {
            if !wanted.contains(&i) {
                *kind = Kinds::TEXT;
            }
        }
        self.records(text, piece, |_, fields| {
            for i in &wanted {
                let field = &fields[*i];
                if kinds[*i] == Kinds::TEXT || field.start == field.end || self.is_null(&text.bytes, field) {
                    continue;
                }
                kinds[*i] = kinds[*i].and(infer::kinds(field.bytes(&text.bytes)));
            }
            Ok(())
        })?;
        Ok(kinds)
    }

    fn build(
        &self,
        text: &Text,
        piece: Range<usize>,
        dtypes: &[DataType],
        schema: &Arc<Schema>,
    ) -> Result<RecordBatch, Diagnostic> {
        let guess = piece.len() / (self.names.len() * 6).max(1);
        let mut columns: Vec<Column> = self.keep.iter().map(|i| Column::new(&dtypes[*i], guess)).collect();
        let mut starts: Vec<usize> = Vec::new();
        self.records(text, piece.clone(), |start, fields| {
            starts.push(start);
            for (column, i) in columns.iter_mut().zip(self.keep) {
                let field = &fields[*i];
                if self.is_null(&text.bytes, field) || (field.start == field.end && !column.is_text()) {
                    column.null();
                } else if !column.push(field.text(&text.bytes, &self.form), self.given[*i].is_some()) {
                    return Err(self.unfit(text, start, *i, &dtypes[*i]));
                }
            }
            Ok(())
        })?;
        let mut arrays = Vec::with_capacity(columns.len());
        for (column, i) in columns.into_iter().zip(self.keep) {
            let array = column.finish().map_err(|unfit| match starts.get(unfit.row) {
                Some(start) => self.unfit(text, *start, *i, &dtypes[*i]),
                None => Diagnostic::error(Class::Internal, "csv", "a column could not be converted"),
            })?;
            arrays.push(array);
        }
        let rows = RecordBatchOptions::new().with_row_count(Some(starts.len()));
        RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &rows)
            .map_err(|e| Diagnostic::error(Class::Internal, "csv", format!("columns do not fit together: {e}")))
    }

    fn ragged(&self, text: &Text, start: usize, end: usize, found: usize) -> Diagnostic {
        let expected = self.names.len();
        let line = line_of(&text.bytes, start);
        let fields = |n: usize| if n == 1 { "1 field".to_string() } else { format!("{n} fields") };
        let error = Diagnostic::error(
            Class::Data,
            "ragged-rows",
            format!("line {line} of `{}` has {}, the header has {expected}", text.path.display(), fields(found)),
        )
        .note(format!("the line is `{}`", excerpt(text.bytes[start..end].trim_ascii_end())));
        let separator = self.options.separator.escape_default();
        if let (Some(first), None) = (self.names.first().filter(|name| name.starts_with('#')), self.options.comment) {
            let first = excerpt(first.as_bytes());
            error.help(format!(
                "the first line, `{first}`, looks like a remark: csv().comment('#') leaves such lines out"
            ))
        } else if found > expected {
            error.help(format!(
                "put fields that contain `{separator}` in quotes, or say which separator the file has: csv().sep(';')"
            ))
        } else {
            error.help(
                "the line may be cut off or hold a remark: correct it, or name a comment mark: csv().comment('#')",
            )
        }
    }

    fn unfit(&self, text: &Text, start: usize, column: usize, dtype: &DataType) -> Diagnostic {
        let mut fields = Vec::new();
        let value = match tokens::record(&text.bytes, start, &self.form, &mut fields) {
            Ok(_) if column < fields.len() => fields[column].text(&text.bytes, &self.form).into_owned(),
            _ => String::new(),
        };
        let name = &self.names[column];
        Diagnostic::error(
            Class::Data,
            "bad-value",
            format!(
                "line {} of `{}`: `{}` in column `{name}` is not of type {}",
                line_of(&text.bytes, start),
                text.path.display(),
                excerpt(value.as_bytes()),
                onrush_frame::dtype_to_wire(dtype),
            ),
        )
        .help(format!(
            "if it means that the value is missing: csv().nulls([\"{}\"]); otherwise read the column as text",
            excerpt(value.as_bytes()).escape_default()
        ))
    }
}

fn malformed(path: &Path, bytes: &[u8], error: Malformed) -> Diagnostic {
    match error {
        Malformed::Unclosed { at } => Diagnostic::error(
            Class::Data,
            "unclosed-quote",
            format!("the quote in line {} of `{}` is never closed", line_of(bytes, at), path.display()),
        )
        .note(format!("there it says `{}`", excerpt(&bytes[at..tokens::line_end(bytes, at)])))
        .help("if quotes are plain characters in this file, read it without: csv().quote(None)"),
        Malformed::AfterQuote { at } => Diagnostic::error(
            Class::Data,
            "text-after-quote",
            format!(
                "line {} of `{}` has text behind a closing quote, where a separator should be",
                line_of(bytes, at),
                path.display()
            ),
        )
        .note(format!("there it says `{}`", excerpt(&bytes[at..tokens::line_end(bytes, at)])))
        .help("quotes within a field are written twice (\"\"); if they are plain characters, read it with csv().quote(None)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::NoLimit;

    /// A file of quoted line ends, CRLF, a late type and no line end at the end, and one with two errors.
    #[test]
    fn threads_make_no_difference() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.csv");
        let file = |text: &str| {
            std::fs::write(&path, text).unwrap();
            FileState::of(path.clone(), &std::fs::metadata(&path).unwrap())
        };
        let table = |file: &FileState, threads, piece| {
            let division = Division { threads, piece, chunk: 1 };
            let files = std::slice::from_ref(file);
            super::read(files, &CsvOptions::default(), division, &Reservation::new(&NoLimit), &TaskHandle::new())
        };
        let rows = "1,\"x\n y\",2013-01-02\r\n2,,\n\n3,é,2013-01-03\n".repeat(50);
        let good = file(&format!("a,b,c\n{rows}4.5,last,"));
        let whole = table(&good, 1, 1 << 20).unwrap().to_batch().unwrap();
        assert_eq!(whole.num_rows(), 151);
        for piece in [1, 33, 500] {
            let tables: Vec<Table> = [1, 2, 3, 16].map(|threads| table(&good, threads, piece).unwrap()).into();
            assert!(tables.iter().all(|t| t.batches() == tables[0].batches()));
            assert_eq!(tables[0].to_batch().unwrap(), whole);
        }
        let bad = file(&format!("a,b,c\n{rows}1,2\n{rows}1,2,3,4\n{rows}"));
        for threads in [1, 2, 3, 16] {
            let error = table(&bad, threads, 33).unwrap_err();
            // Each repetition has five lines.
            assert!(error.message.starts_with("line 252 of"), "{error}");
        }
    }
}
