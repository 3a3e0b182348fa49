//! Rows that were left out or changed, because they did not fit: where they are and why.

use std::sync::Arc;

use arrow::array::{Int64Builder, RecordBatch, StringViewBuilder};
use arrow::datatypes::{DataType, Field, Schema};
use onrush_frame::Table;
use onrush_wire::plan::{CsvOptions, OnError};
use onrush_wire::{Class, Diagnostic};

use super::open::{Columns, Text};
use crate::memory::Reservation;
use crate::text::{excerpt, line_of};

/// Rows of the frame of rejected rows.
const MOST: usize = 100_000;

/// Why a row does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Fields { expected: usize, found: usize },
    Type(String),
    UnclosedQuote,
    AfterQuote,
    NotUtf8,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reason::Fields { expected, found: 1 } => write!(f, "1 field instead of {expected}"),
            Reason::Fields { expected, found } => write!(f, "{found} fields instead of {expected}"),
            Reason::Type(dtype) => write!(f, "not of type {dtype}"),
            Reason::UnclosedQuote => f.write_str("a quote is never closed"),
            Reason::AfterQuote => f.write_str("text behind a closing quote"),
            Reason::NotUtf8 => f.write_str("not UTF-8"),
        }
    }
}

/// A row that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reject {
    pub start: usize,
    pub end: usize,
    /// The column of the frame, if one value does not fit.
    pub column: Option<usize>,
    pub reason: Reason,
}

/// The rejected rows of a piece, then of all.
#[derive(Clone, Debug, Default)]
pub(super) struct Rejects {
    /// The first [`MOST`], with the index of their file.
    first: Vec<(usize, Reject)>,
    count: u64,
}

impl Rejects {
    pub fn push(&mut self, file: usize, reject: impl FnOnce() -> Reject) {
        self.count += 1;
        if self.first.len() < MOST {
            self.first.push((file, reject()));
        }
    }

    /// Adds those of later rows.
    pub fn add(&mut self, later: Rejects) {
        self.count += later.count;
        let room = MOST - self.first.len();
        self.first.extend(later.first.into_iter().take(room));
    }

    /// Puts those of two passes over a piece in the order of the rows.
    pub fn merge(&mut self, other: Rejects) {
        self.count += other.count;
        self.first.extend(other.first);
        self.first.sort_by_key(|(_, reject)| (reject.start, reject.column));
        self.first.truncate(MOST);
    }

    /// # Errors
    /// More than `max_errors`.
    pub fn check(&self, options: &CsvOptions, texts: &[Text], columns: &Columns) -> Result<(), Diagnostic> {
        let Some(most) = options.max_errors.filter(|most| self.count > *most) else { return Ok(()) };
        let what = match options.on_error {
            OnError::Null => "errors",
            _ => "rows with an error",
        };
        let path = match texts {
            [one] => format!("`{}` has", one.path.display()),
            many => format!("the {} files have", many.len()),
        };
        let mut error = Diagnostic::error(
            Class::Data,
            "too-many-errors",
            format!("{path} {} {what}, and `max_errors` allows {most}", self.count),
        );
        if let Some((file, reject)) = self.first.first() {
            let text = &texts[*file];
            let column = reject.column.map(|i| format!(" in column `{}`", columns.names[i])).unwrap_or_default();
            let line = line_of(&text.bytes, reject.start);
            error = error
                .note(format!("the first is in line {line} of `{}`: {}{column}", text.path.display(), reject.reason))
                .help(format!("csv().on_error(\"skip\").rejects(\"{}\") is a frame with them", text.shown));
        }
        Err(error)
    }

    /// The frame of rejected rows: `file`, `line`, `column`, `text`, `reason`.
    pub fn table(&self, texts: &[Text], columns: &Columns, taken: &Reservation<'_>) -> Result<Table, Diagnostic> {
        let (mut files, mut lines) = (StringViewBuilder::new(), Int64Builder::new());
        let (mut names, mut rows, mut reasons) =
            (StringViewBuilder::new(), StringViewBuilder::new(), StringViewBuilder::new());
        // Lines are counted from the row before, so that the text is passed once.
        let (mut file, mut at, mut line) = (0, 0, 1);
        for (index, reject) in &self.first {
            let bytes = &texts[*index].bytes;
            if *index != file {
                (file, at, line) = (*index, 0, 1);
            }
            line += memchr::memchr_iter(b'\n', &bytes[at..reject.start]).count() as i64;
            at = reject.start;
            files.append_value(texts[*index].path.display().to_string());
            lines.append_value(line);
            names.append_option(reject.column.map(|i| columns.names[i].as_str()));
            rows.append_value(excerpt(bytes[reject.start..reject.end].trim_ascii_end()));
            reasons.append_value(reject.reason.to_string());
        }
        let text = |name: &str| Field::new(name, DataType::Utf8View, true);
        let fields =
            vec![text("file"), Field::new("line", DataType::Int64, true), text("column"), text("text"), text("reason")];
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(
            Arc::clone(&schema),
            vec![
                Arc::new(files.finish()),
                Arc::new(lines.finish()),
                Arc::new(names.finish()),
                Arc::new(rows.finish()),
                Arc::new(reasons.finish()),
            ],
        );
        let batch = batch.map_err(|e| Diagnostic::error(Class::Internal, "csv", format!("rejected rows: {e}")))?;
        taken.take(&texts[0].path, batch.get_array_memory_size() as u64)?;
        Ok(Table::new(schema, vec![batch]))
    }
}
