//! CSV out: rows as text by all cores, in the order of the rows.
//!
//! An empty string is written as `""` and a null as an empty field, so that both come back. A string that the reader
//! would take for null is quoted.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, SchemaRef};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use onrush_frame::TaskHandle;
use onrush_wire::{Class, Diagnostic};

use super::encode::{Encode, EncodeError, Out};
use super::packed::PackedFile;
use crate::pieces::Division;

/// Rows that one core takes at a time.
const ROWS: usize = 8192;
/// The string that the reader takes for null by default.
const NULL: &str = "NA";

/// A CSV file under way.
pub(super) struct CsvWriter {
    file: PackedFile,
    separator: u8,
    null: String,
}

impl CsvWriter {
    /// Starts a file, with the names of the columns if `header` is set.
    pub fn new(
        file: PackedFile,
        separator: u8,
        header: bool,
        null: String,
        schema: &SchemaRef,
    ) -> io::Result<CsvWriter> {
        let mut writer = CsvWriter { file, separator, null };
        if header {
            let mut line = Vec::new();
            for (i, field) in schema.fields().iter().enumerate() {
                if i > 0 {
                    line.push(separator);
                }
                writer.string(field.name(), &mut line);
            }
            line.push(b'\n');
            writer.file.write_all(&line)?;
        }
        Ok(writer)
    }

    /// Writes the rows of a batch.
    ///
    /// # Errors
    /// A value that cannot be formatted, a file that cannot be written.
    fn write_rows(&mut self, batch: &RecordBatch, task: &TaskHandle) -> Result<(), Diagnostic> {
        let failed = |e: &dyn std::fmt::Display| Diagnostic::error(Class::Data, "write-failed", e.to_string());
        let columns: Vec<ArrayRef> =
            batch.columns().iter().map(plain).collect::<Result<_, _>>().map_err(|e| failed(&e))?;
        let starts: Vec<usize> = (0..batch.num_rows()).step_by(ROWS).collect();
        let this = &*self;
        let lines = Division::default().run(&starts, task, |start| {
            let rows = *start..(*start + ROWS).min(batch.num_rows());
            this.lines(&columns, rows).map_err(|e| failed(&e))
        });
        for lines in lines {
            self.file.write_all(&lines?).map_err(|e| failed(&e))?;
        }
        Ok(())
    }

    fn lines(&self, columns: &[ArrayRef], rows: Range<usize>) -> Result<Vec<u8>, ArrowError> {
        let options = FormatOptions::default();
        let columns: Vec<Column<'_>> = columns.iter().map(|c| Column::new(c, &options)).collect::<Result<_, _>>()?;
        let mut lines: Vec<u8> = Vec::with_capacity(rows.len() * columns.len() * 8);
        let mut text = String::new();
        for row in rows {
            for (i, column) in columns.iter().enumerate() {
                if i > 0 {
                    lines.push(self.separator);
                }
                if column.array.is_null(row) {
                    lines.extend_from_slice(self.null.as_bytes());
                    continue;
                }
                match &column.form {
                    Form::Strings(string) => self.string(string(row), &mut lines),
                    Form::Integers(numbers) => {
                        // `Vec<u8>` never fails.
                        let _ = write!(lines, "{}", numbers[row]);
                    }
                    Form::Others(formatter) => {
                        text.clear();
                        // Through the value's own `write`, whose errors have a message.
                        formatter.value(row).write(&mut text).map_err(|e| ArrowError::CsvError(e.to_string()))?;
                        self.field(&text, false, &mut lines);
                    }
                }
            }
            lines.push(b'\n');
        }
        Ok(lines)
    }

    /// A string: in quotes if it would not come back without.
    fn string(&self, text: &str, line: &mut Vec<u8>) {
        self.field(text, text.is_empty() || text == self.null || text == NULL, line);
    }

    fn field(&self, text: &str, quoted: bool, line: &mut Vec<u8>) {
        let is_special = |b: &u8| *b == self.separator || matches!(b, b'"' | b'\n' | b'\r');
        if !quoted && !text.as_bytes().iter().any(is_special) {
            line.extend_from_slice(text.as_bytes());
            return;
        }
        line.push(b'"');
        for (i, part) in text.split('"').enumerate() {
            if i > 0 {
                line.extend_from_slice(b"\"\"");
            }
            line.extend_from_slice(part.as_bytes());
        }
        line.push(b'"');
    }
}

impl Encode for CsvWriter {
    fn write(&mut self, batch: &RecordBatch, task: &TaskHandle) -> Result<(), EncodeError> {
        Ok(self.write_rows(batch, task)?)
    }

    fn finish(self: Box<Self>, _: &TaskHandle) -> Result<Out, EncodeError> {
        Ok(self.file.finish().map_err(|e| e.to_string())?)
    }
}

/// The strings of a dictionary as an array of strings; other arrays as they are.
fn plain(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values),
        _ => Ok(Arc::clone(array)),
    }
}

struct Column<'a> {
    array: &'a dyn Array,
    form: Form<'a>,
}

/// How values become text.
enum Form<'a> {
    Strings(Box<dyn Fn(usize) -> &'a str + 'a>),
    Integers(&'a [i64]),
    Others(ArrayFormatter<'a>),
}

impl<'a> Column<'a> {
    fn new(array: &'a ArrayRef, options: &FormatOptions<'a>) -> Result<Column<'a>, ArrowError> {
        let form = match array.data_type() {
            DataType::Utf8View => {
                let strings = array.as_string_view();
                Form::Strings(Box::new(|row| strings.value(row)))
            }
            DataType::Utf8 => {
                let strings = array.as_string::<i32>();
                Form::Strings(Box::new(|row| strings.value(row)))
            }
            DataType::LargeUtf8 => {
                let strings = array.as_string::<i64>();
                Form::Strings(Box::new(|row| strings.value(row)))
            }
            DataType::Int64 => Form::Integers(array.as_primitive::<Int64Type>().values()),
            _ => Form::Others(ArrayFormatter::try_new(array.as_ref(), options)?),
        };
        Ok(Column { array: array.as_ref(), form })
    }
}
