//! CSV files: form, header, types of the whole file, then columns; in pieces, on all cores.
//!
//! Two passes over the text: the first finds the type of every column, the second builds the columns. A value is null
//! if it is empty and not quoted, or one of the null strings. A quoted empty field is the empty string in a string
//! column and null in any other. A quoted `NA` is a value of a string column too, unless the user named the null
//! strings.

mod build;
mod dates;
mod errors;
mod infer;
mod open;
mod rejects;
mod rows;
mod tokens;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::datatypes::{DataType, Field as ArrowField, Schema, SchemaRef};
use onrush_frame::{Table, TaskHandle};
use onrush_wire::plan::CsvOptions;
use onrush_wire::{Class, Diagnostic};

use crate::file::FileState;
use crate::hive::Folders;
use crate::memory::Reservation;
use crate::pieces::Division;
use infer::{DateForm, Kinds};
use open::{Columns, Text};
use rejects::Rejects;
use rows::Reader;

/// Makes a text with separators of the text of a file. Each line stays one line.
pub(crate) type Layout<'a> = &'a dyn Fn(&FileState, Vec<u8>) -> Result<Vec<u8>, Diagnostic>;

/// Reads files one below the other. `layout` is for text whose fields are not separated, `folder` is the one that
/// relative paths are shown for, `folders` have further columns.
pub(crate) fn read(
    files: &[FileState],
    options: &CsvOptions,
    layout: Option<Layout<'_>>,
    folder: &str,
    folders: &Folders,
    division: Division,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Table, Diagnostic> {
    let form = open::form(options)?;
    let notation = open::notation(options, &form)?;
    let charset = options.encoding.as_deref().map(crate::text::Charset::named).transpose()?;
    let mut texts = Vec::with_capacity(files.len());
    for file in files {
        texts.push(open::open(file, (options, layout), &form, charset, folder, (division, taken, task))?);
    }
    let columns = Columns::of(&mut texts, options)?;
    let jobs: Vec<(&Text, Range<usize>)> =
        texts.iter().flat_map(|t| t.pieces.iter().map(move |p| (t, p.clone()))).collect();
    let reader = Reader { options, form, notation: &notation, columns: &columns };

    let kinds = division.run(&jobs, task, |(text, piece)| reader.kinds(text, piece.clone()));
    let kinds = kinds
        .into_iter()
        .collect::<Result<Vec<_>, Diagnostic>>()?
        .into_iter()
        .fold(vec![Kinds::ANY; columns.names.len()], |all, one| {
            all.into_iter().zip(one).map(|(a, b)| a.and(b)).collect()
        });
    let types: Vec<(DataType, DateForm)> = columns
        .given
        .iter()
        .zip(&kinds)
        .map(|(given, kinds)| match given {
            Some(given) => (given.clone(), DateForm::Any),
            None => kinds.data_type(&notation),
        })
        .collect();
    let schema = schema(options, &columns, &types)?;
    let built = division.run(&jobs, task, |(text, piece)| -> Result<rows::BuiltPiece, Diagnostic> {
        let (arrays, rows, rejects) = reader.build(text, piece.clone(), &types)?;
        let bytes: usize = arrays.iter().map(|a| a.get_array_memory_size()).sum();
        taken.take(&text.path, bytes as u64)?;
        task.add_rows(rows as u64);
        Ok((arrays, rows, rejects))
    });
    let mut batches = Vec::with_capacity(built.len());
    let mut rejects = Rejects::default();
    let mut before = 0;
    let places = texts.iter().enumerate().flat_map(|(file, text)| text.pieces.iter().map(move |_| file));
    for (((text, _), file), built) in jobs.iter().zip(places).zip(built) {
        let (mut arrays, rows, found) = built?;
        rejects.add(found);
        if options.row_number.is_some() {
            arrays.insert(0, row_numbers(text, before, rows)?);
        }
        before += rows;
        let count = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &count);
        let batch = batch
            .map_err(|e| Diagnostic::error(Class::Internal, "csv", format!("columns do not fit together: {e}")))?;
        batches.push((file, batch));
    }
    rejects.check(options, &texts, &columns)?;
    if options.rejects {
        return rejects.table(&texts, &columns, taken);
    }
    let table = folders.table(schema, batches, files, taken)?;
    match options.limit {
        // Each file was cut at the limit; together they can hold more.
        Some(limit) => Ok(table.head(usize::try_from(limit).unwrap_or(usize::MAX))),
        None => Ok(table),
    }
}

/// The columns of the frame: the number of the row, those of the files, the path of the file.
fn schema(options: &CsvOptions, columns: &Columns, types: &[(DataType, DateForm)]) -> Result<SchemaRef, Diagnostic> {
    let mut fields: Vec<ArrowField> =
        columns.keep.iter().map(|i| ArrowField::new(&columns.names[*i], types[*i].0.clone(), true)).collect();
    let row_number = options.row_number.iter().map(|name| (name, DataType::UInt32, 0));
    let file_name = options.file_name.iter().map(|name| (name, DataType::Utf8View, fields.len()));
    // The last one first, so that positions stay.
    for (name, dtype, at) in file_name.chain(row_number).collect::<Vec<_>>() {
        if fields.iter().any(|f| f.name() == name) {
            let message = format!("there is a column `{name}` already");
            return Err(Diagnostic::error(Class::Plan, "duplicate-column", message)
                .help("give the column of row numbers or file names another name"));
        }
        fields.insert(at, ArrowField::new(name, dtype, true));
    }
    Ok(Arc::new(Schema::new(fields)))
}

fn row_numbers(text: &Text, before: usize, rows: usize) -> Result<ArrayRef, Diagnostic> {
    let (Ok(from), Ok(to)) = (u32::try_from(before), u32::try_from(before + rows)) else {
        let message = format!("`{}` has more rows than a row number can count", text.path.display());
        return Err(Diagnostic::error(Class::Resources, "too-many-rows", message));
    };
    Ok(Arc::new(UInt32Array::from_iter_values(from..to)))
}

#[cfg(test)]
mod tests {
    use onrush_wire::plan::OnError;

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
        let table = |file: &FileState, options: &CsvOptions, threads, piece| {
            let division = Division { threads, piece, chunk: 1 };
            let files = std::slice::from_ref(file);
            let taken = Reservation::new(&NoLimit);
            read(files, options, None, "/", &Folders::none(), division, &taken, &TaskHandle::new())
        };
        let rows = "1,\"x\n y\",2013-01-02\r\n2,,\n\n3,é,2013-01-03\n".repeat(50);
        let good = file(&format!("a,b,c\n{rows}4.5,last,"));
        let plain = CsvOptions::default();
        let whole = table(&good, &plain, 1, 1 << 20).unwrap().to_batch().unwrap();
        assert_eq!(whole.num_rows(), 151);
        for piece in [1, 33, 500] {
            let tables: Vec<Table> = [1, 2, 3, 16].map(|threads| table(&good, &plain, threads, piece).unwrap()).into();
            assert!(tables.iter().all(|t| t.batches() == tables[0].batches()));
            assert_eq!(tables[0].to_batch().unwrap(), whole);
        }
        let ragged = |last: &str| format!("a,b,c\n{rows}1,2\n{rows}1,2,3,4\n{rows}{last}");
        let bad = file(&ragged(""));
        let skip = CsvOptions { on_error: OnError::Skip, row_number: Some("n".to_string()), ..CsvOptions::default() };
        let rejects = CsvOptions { rejects: true, ..skip.clone() };
        for (threads, piece) in [(1, 33), (2, 1), (3, 500), (16, 33), (1, 1 << 20)] {
            let error = table(&bad, &plain, threads, piece).unwrap_err();
            // Each repetition has five lines.
            assert!(error.message.starts_with("line 252 of"), "{error}");
        }
        let bad = file(&ragged(&format!("9,\"x\"y,3\n{rows}")));
        for (threads, piece) in [(1, 33), (2, 1), (3, 500), (16, 33), (1, 1 << 20)] {
            assert_eq!(table(&bad, &skip, threads, piece).unwrap().rows(), 600);
            let batch = table(&bad, &rejects, threads, piece).unwrap().to_batch().unwrap();
            let lines = arrow::array::AsArray::as_primitive::<arrow::datatypes::Int64Type>(batch.column(1));
            assert_eq!(lines.values(), &[252, 503, 754]);
        }
    }
}
