//! The two passes over the records of a piece: types, then columns. Rows that do not fit are treated as `on_error`
//! says.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, StringViewBuilder};
use arrow::compute::filter;
use arrow::datatypes::DataType;
use onrush_wire::plan::{CsvOptions, OnError};
use onrush_wire::{Class, Diagnostic};

use super::build::Column;
use super::errors;
use super::infer::{self, DateForm, Kinds, Notation};
use super::open::{Columns, Text};
use super::rejects::{Reason, Reject, Rejects};
use super::tokens::{self, Field, Form, MalformedRecord};

/// The state that both passes share.
pub(super) struct Reader<'a> {
    pub options: &'a CsvOptions,
    pub form: Form,
    pub notation: &'a Notation,
    pub columns: &'a Columns,
}

/// The columns of a piece in the order of the frame, without row numbers; the number of rows; the rows that do not fit.
pub(super) type BuiltPiece = (Vec<ArrayRef>, usize, Rejects);

impl Reader<'_> {
    /// Calls `row` with the start, the end and the fields of every record of a piece. A record has as many fields as
    /// the file has columns.
    fn records(
        &self,
        text: &Text,
        piece: Range<usize>,
        rejects: &mut Rejects,
        mut row: impl FnMut(usize, usize, &[Field]) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        // Only the piece's end is cut off: positions stay those of the file.
        let bytes = &text.bytes[..piece.end];
        let mut fields: Vec<Field> = Vec::with_capacity(text.names.len() + 1);
        let mut at = piece.start;
        while at < bytes.len() {
            if tokens::is_comment(bytes, at, &self.form) || (text.skip_blank && tokens::is_blank(bytes, at)) {
                at = tokens::line_end(bytes, at);
                continue;
            }
            let start = at;
            at = match tokens::record(bytes, at, &self.form, &mut fields) {
                Ok(end) => end,
                Err(error) => {
                    at = self.broken(text, start, error, rejects)?;
                    continue;
                }
            };
            if fields.len() != text.names.len() && !self.fitted(text, start..at, &mut fields, rejects)? {
                continue;
            }
            if text.has_mistakes && std::str::from_utf8(&bytes[start..at]).is_err() {
                rejects.push(text.index, || Reject { start, end: at, column: None, reason: Reason::NotUtf8 });
                continue;
            }
            row(start, at, &fields)?;
        }
        Ok(())
    }

    /// A record with a broken quote: an error, or it is left out up to its line end.
    #[cold]
    fn broken(
        &self,
        text: &Text,
        start: usize,
        e: MalformedRecord,
        rejects: &mut Rejects,
    ) -> Result<usize, Diagnostic> {
        if !self.form.skip_broken {
            return Err(errors::malformed(&text.path, &text.shown, &text.bytes, &self.form, e));
        }
        let end = tokens::line_end(&text.bytes, start);
        let reason = match e {
            MalformedRecord::Unclosed { .. } => Reason::UnclosedQuote,
            MalformedRecord::AfterQuote { .. } => Reason::AfterQuote,
        };
        rejects.push(text.index, || Reject { start, end, column: None, reason });
        Ok(end)
    }

    /// Gives a record of another length the right number of fields. False: it is left out.
    #[cold]
    fn fitted(
        &self,
        text: &Text,
        record: Range<usize>,
        fields: &mut Vec<Field>,
        rejects: &mut Rejects,
    ) -> Result<bool, Diagnostic> {
        let (expected, found) = (text.names.len(), fields.len());
        let is_last_empty = fields.last().is_some_and(|f| f.start == f.end && !f.quoted);
        let is_allowed = match found > expected {
            true => self.options.cut_rows || (text.has_last_separator && found == expected + 1 && is_last_empty),
            false => self.options.pad_rows,
        };
        if !is_allowed {
            if self.options.on_error == OnError::Fail {
                return Err(errors::ragged(self.options, text, record, found));
            }
            let (start, end) = (record.start, record.end);
            let reason = Reason::Fields { expected, found };
            rejects.push(text.index, || Reject { start, end, column: None, reason });
        }
        fields.resize(expected, Field::MISSING);
        Ok(is_allowed || self.options.on_error == OnError::Null)
    }

    /// Whether a field is null in a column of any type: empty without quotes, or one of the null strings.
    #[inline]
    fn is_null(&self, text: &[u8], field: &Field, nulls: &[String]) -> bool {
        let bytes = field.bytes(text);
        match bytes.is_empty() {
            true => !field.quoted,
            false => nulls.iter().any(|n| n.as_bytes() == bytes),
        }
    }

    /// Whether a null field is a value in a column of strings.
    #[cold]
    fn is_string(&self, text: &[u8], field: &Field, column: usize) -> bool {
        match (field.quoted, field.bytes(text).is_empty()) {
            (true, _) => !self.columns.quoted_nulls[column],
            (false, true) => !self.options.empty_is_null && !field.missing,
            (false, false) => false,
        }
    }

    /// The types that all values of a piece could have, by column.
    pub fn kinds(&self, text: &Text, piece: Range<usize>) -> Result<Vec<Kinds>, Diagnostic> {
        let columns = self.columns;
        let mut kinds = vec![Kinds::ANY; columns.names.len()];
        // The columns whose types are asked for, and their positions in the file.
        let mut wanted: Vec<(usize, usize, &[String])> = Vec::with_capacity(columns.keep.len());
        for (i, kind) in kinds.iter_mut().enumerate() {
            match text.positions[i] {
                Some(position) if columns.given[i].is_none() && columns.keep.contains(&i) => {
                    wanted.push((i, position, &columns.nulls[i]))
                }
                // The file has nothing to say of it.
                None => {}
                Some(_) => *kind = Kinds::TEXT,
            }
        }
        self.records(text, piece, &mut Rejects::default(), |_, _, fields| {
            for (i, position, nulls) in &wanted {
                let field = &fields[*position];
                if kinds[*i] == Kinds::TEXT || field.start == field.end || self.is_null(&text.bytes, field, nulls) {
                    continue;
                }
                kinds[*i] = kinds[*i].and(infer::kinds(field.bytes(&text.bytes), self.notation));
            }
            Ok(())
        })?;
        Ok(kinds)
    }

    /// The columns of a piece.
    pub fn build(
        &self,
        text: &Text,
        piece: Range<usize>,
        types: &[(DataType, DateForm)],
    ) -> Result<BuiltPiece, Diagnostic> {
        let keep = &self.columns.keep;
        let guess = piece.len() / (text.names.len() * 6).max(1);
        let column = |i: &usize| {
            let (dtype, dates) = &types[*i];
            Column::new(dtype, guess, self.notation, *dates, self.columns.given[*i].is_some())
        };
        let mut columns: Vec<(Column<'_>, usize, usize, &[String])> = keep
            .iter()
            .map(|i| (column(i), *i, text.positions[*i].unwrap_or(usize::MAX), self.columns.nulls[*i].as_slice()))
            .collect();
        let mut starts: Vec<usize> = Vec::new();
        let mut bad_rows: HashSet<usize> = HashSet::new();
        let (mut rejects, mut bad_values) = (Rejects::default(), Rejects::default());
        self.records(text, piece.clone(), &mut rejects, |start, end, fields| {
            starts.push(start);
            for (column, i, position, nulls) in &mut columns {
                let field = fields.get(*position).unwrap_or(&Field::MISSING);
                let is_null = self.is_null(&text.bytes, field, nulls);
                if (is_null && !(column.is_text() && self.is_string(&text.bytes, field, *i)))
                    || (field.start == field.end && !column.is_text())
                {
                    column.null();
                } else if !column.push(field.text(&text.bytes, &self.form)) {
                    let dtype = &types[*i].0;
                    if self.options.on_error == OnError::Fail {
                        return Err(errors::unfit(text, (start, &self.form), (*i, *position), self.columns, dtype));
                    }
                    column.null();
                    self.reject_value(
                        (text, start..end),
                        (*i, starts.len() - 1, dtype),
                        &mut bad_rows,
                        &mut bad_values,
                    );
                }
            }
            Ok(())
        })?;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len() + 1);
        for (column, i, position, _) in columns {
            let (array, unfit) = column.finish();
            let dtype = &types[i].0;
            for unfit in unfit {
                let start = *starts
                    .get(unfit.row)
                    .ok_or_else(|| Diagnostic::error(Class::Internal, "csv", "a column could not be converted"))?;
                if self.options.on_error == OnError::Fail {
                    return Err(errors::unfit(text, (start, &self.form), (i, position), self.columns, dtype));
                }
                let end = starts.get(unfit.row + 1).copied().unwrap_or(piece.end);
                self.reject_value((text, start..end), (i, unfit.row, dtype), &mut bad_rows, &mut bad_values);
            }
            arrays.push(array);
        }
        rejects.merge(bad_values);
        let mut rows = starts.len();
        if self.options.on_error == OnError::Skip && !bad_rows.is_empty() {
            let mut keep = vec![true; rows];
            bad_rows.iter().for_each(|row| keep[*row] = false);
            let keep = BooleanArray::from(keep);
            rows = keep.true_count();
            for array in &mut arrays {
                *array = filter(array, &keep)
                    .map_err(|e| Diagnostic::error(Class::Internal, "csv", format!("rows cannot be left out: {e}")))?;
            }
        }
        if self.options.file_name.is_some() {
            let mut paths = StringViewBuilder::with_capacity(rows).with_deduplicate_strings();
            let path = text.path.display().to_string();
            (0..rows).for_each(|_| paths.append_value(&path));
            arrays.push(Arc::new(paths.finish()));
        }
        Ok((arrays, rows, rejects))
    }

    /// Records a value that is not of the column's type. A row that is left out counts once.
    #[cold]
    fn reject_value(
        &self,
        (text, record): (&Text, Range<usize>),
        (column, row, dtype): (usize, usize, &DataType),
        bad_rows: &mut HashSet<usize>,
        rejects: &mut Rejects,
    ) {
        if self.options.on_error == OnError::Skip && !bad_rows.insert(row) {
            return;
        }
        let reason = Reason::Type(onrush_frame::dtype_to_wire(dtype).to_string());
        rejects.push(text.index, || Reject { start: record.start, end: record.end, column: Some(column), reason });
    }
}
