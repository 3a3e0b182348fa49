//! Sheets of workbooks: xlsx, xlsm, xlsb, xls, ods. The first row that has a value is the header.
//!
//! Rows and columns without any value are left out, as Polars leaves them out. Types hold for a column as a whole.

mod build;
mod cells;
mod compound;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringViewArray};
use arrow::datatypes::{DataType, Field, Schema};
use onrush_frame::{Table, TaskHandle};
use onrush_wire::plan::ExcelOptions;
use onrush_wire::{Class, Diagnostic};

use crate::columns;
use crate::file::FileState;
use crate::formats::binary::guarded;
use crate::hive::Folders;
use crate::memory::Reservation;
use crate::pieces::Division;
use build::ColumnKinds;
use cells::{CellValue, Cells};

/// For messages.
const NAME: &str = "a workbook";
/// Rows and columns that a sheet of Excel has at most.
pub(crate) const ROWS: u32 = 1 << 20;
pub(crate) const COLUMNS: u32 = 1 << 14;
/// Cells, empty ones included, that a frame of a sheet has at most: a sheet with two cells in opposite corners has
/// 2^34.
const CELLS: usize = 1 << 28;

/// A part of a sheet; both ends belong to it. Positions are from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Area {
    rows: (u32, u32),
    columns: (u32, u32),
}

/// The columns of a file, by name.
struct Part {
    names: Vec<String>,
    /// A value for each row.
    columns: Vec<Vec<Option<CellValue>>>,
    rows: usize,
}

/// Reads a sheet of each file, one below the other. `folders` have further columns.
pub(crate) fn read(
    files: &[FileState],
    options: &ExcelOptions,
    folders: &Folders,
    division: Division,
    taken: &Reservation<'_>,
    task: &TaskHandle,
) -> Result<Table, Diagnostic> {
    let area = options.range.as_deref().map(area).transpose()?;
    let parts = division.run(files, task, |file| {
        let cells = guarded(&file.path, NAME, || cells::read(file, &options.sheet, area, taken, task))?;
        let part = part(cells, options, &file.path)?;
        task.add_bytes(file.bytes);
        task.add_rows(part.rows as u64);
        Ok(part)
    });
    let parts = parts.into_iter().collect::<Result<Vec<_>, Diagnostic>>()?;
    let names = same_names(files, &parts)?;
    let schema = Arc::new(Schema::new(names.iter().map(|n| Field::new(n, DataType::Null, true)).collect::<Vec<_>>()));
    let chosen = columns::chosen(&schema, &options.columns, &files[0].path)?;
    let names: Vec<String> = chosen.fields().iter().map(|f| f.name().clone()).collect();
    let positions = |part: &Part| -> Vec<usize> {
        names.iter().filter_map(|name| part.names.iter().position(|other| other == name)).collect()
    };
    let places: Vec<Vec<usize>> = parts.iter().map(positions).collect();
    let dtypes: Vec<DataType> = (0..names.len())
        .map(|i| {
            let columns = parts.iter().zip(&places).flat_map(|(part, places)| &part.columns[places[i]]);
            columns.flatten().fold(ColumnKinds::default(), |kinds, value| kinds.with(value)).data_type()
        })
        .collect();
    let fields: Vec<Field> = names.iter().zip(&dtypes).map(|(n, dtype)| Field::new(n, dtype.clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let mut batches = Vec::new();
    for (file, (part, places)) in parts.iter().zip(&places).enumerate() {
        let mut start = 0;
        while start < part.rows {
            task.check()?;
            let end = part.rows.min(start + division.chunk);
            let columns = places.iter().zip(&dtypes);
            let columns: Vec<ArrayRef> =
                columns.map(|(i, dtype)| build::array(&part.columns[*i][start..end], dtype)).collect();
            let batch = RecordBatch::try_new(Arc::clone(&schema), columns)
                .map_err(|e| Diagnostic::error(Class::Internal, "internal", e.to_string()))?;
            taken.take(&files[0].path, batch.get_array_memory_size() as u64)?;
            batches.push((file, batch));
            start = end;
        }
    }
    let table = folders.table(schema, batches, files, taken)?;
    Ok(match options.limit {
        Some(limit) => table.head(usize::try_from(limit).unwrap_or(usize::MAX)),
        None => table,
    })
}

/// The sheets of one workbook: `sheet` and `visible`.
pub(crate) fn sheets(files: &[FileState], taken: &Reservation<'_>) -> Result<Table, Diagnostic> {
    let [file] = files else {
        let message = format!("{} files match, and `sheets` is about one workbook", files.len());
        return Err(Diagnostic::error(Class::Plan, "argument", message));
    };
    let sheets = guarded(&file.path, NAME, || cells::sheets(file, taken))?;
    let names: ArrayRef = Arc::new(sheets.iter().map(|(name, _)| Some(name.as_str())).collect::<StringViewArray>());
    let visible: ArrayRef = Arc::new(sheets.iter().map(|(_, visible)| Some(*visible)).collect::<BooleanArray>());
    let batch = RecordBatch::try_from_iter([("sheet", names), ("visible", visible)])
        .map_err(|e| Diagnostic::error(Class::Internal, "internal", e.to_string()))?;
    Ok(Table::new(batch.schema(), vec![batch]))
}

/// The header and the rows of some cells.
fn part(cells: Cells, options: &ExcelOptions, path: &Path) -> Result<Part, Diagnostic> {
    let mut rows: Vec<u32> = cells.columns.iter().flat_map(|column| column.iter().map(|(row, _)| *row)).collect();
    rows.sort_unstable();
    rows.dedup();
    if rows.is_empty() {
        let message = match &options.range {
            Some(range) => format!("the cells {range} of sheet `{}` of `{}` are empty", cells.sheet, path.display()),
            None => format!("sheet `{}` of `{}` is empty", cells.sheet, path.display()),
        };
        return Err(Diagnostic::error(Class::Data, "empty-sheet", message).help(
            "`sheets(path)` lists the sheets, and excel().sheet(\"name\").range(\"B3:F200\").read(path) reads one",
        ));
    }
    let header = options.has_header.then(|| rows.remove(0));
    if let Some(limit) = options.limit {
        rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    let used = cells.columns.iter().filter(|column| !column.is_empty()).count();
    if rows.len().saturating_mul(used) > CELLS {
        let message =
            format!("sheet `{}` of `{}` has {} rows and {used} columns", cells.sheet, path.display(), rows.len());
        return Err(Diagnostic::error(Class::Resources, "too-large", message)
            .help(format!("read a part of it: .range(\"A1:Z1000\"); {CELLS} cells are the most")));
    }
    let (mut names, mut columns) = (Vec::with_capacity(used), Vec::with_capacity(used));
    for (i, mut column) in cells.columns.into_iter().enumerate() {
        if column.is_empty() {
            continue;
        }
        // The last value of a cell that is there twice.
        column.sort_by_key(|(row, _)| *row);
        let mut values: Vec<Option<CellValue>> = (0..rows.len()).map(|_| None).collect();
        let mut name = None;
        for (row, value) in column {
            if Some(row) == header {
                name = Some(value.text());
            } else if let Ok(at) = rows.binary_search(&row) {
                values[at] = Some(value);
            }
        }
        let name = name.map(|n| n.trim().to_string()).filter(|n| !n.is_empty());
        names.push(name.unwrap_or_else(|| format!("column_{}", i as u32 + 1 - cells.first_column)));
        columns.push(values);
    }
    Ok(Part { names: distinct(names), rows: rows.len(), columns })
}

/// Names that are there before get the suffix that Polars gives them: `a`, `a_duplicated_0`.
fn distinct(names: Vec<String>) -> Vec<String> {
    let mut seen: HashSet<String> = HashSet::new();
    names
        .into_iter()
        .map(|name| {
            let numbered = (0..).map(|i| format!("{name}_duplicated_{i}"));
            let free = std::iter::once(name.clone()).chain(numbered).find(|n| !seen.contains(n)).unwrap_or(name);
            seen.insert(free.clone());
            free
        })
        .collect()
}

fn same_names(files: &[FileState], parts: &[Part]) -> Result<Vec<String>, Diagnostic> {
    let schema =
        |part: &Part| Schema::new(part.names.iter().map(|n| Field::new(n, DataType::Null, true)).collect::<Vec<_>>());
    let schemas: Vec<Schema> = parts.iter().map(schema).collect();
    let files: Vec<(&Path, &Schema)> = files.iter().map(|f| f.path.as_path()).zip(&schemas).collect();
    Ok(columns::of_all(&files, false)?.fields().iter().map(|f| f.name().clone()).collect())
}

/// Cells as Excel names them: `B3:F200`, `B:F`, `3:200`.
fn area(text: &str) -> Result<Area, Diagnostic> {
    let bad = || {
        Diagnostic::error(Class::Plan, "bad-option", format!("`{text}` is not a range of cells"))
            .help("write the first and the last cell, such as \"B3:F200\", \"B:F\" or \"3:200\"")
    };
    let (first, last) = text.split_once(':').ok_or_else(bad)?;
    let (first, last) = (corner(first).ok_or_else(bad)?, corner(last).ok_or_else(bad)?);
    let rows = match (first.0, last.0) {
        (Some(first), Some(last)) if first <= last => (first, last),
        (None, None) => (0, ROWS - 1),
        _ => return Err(bad()),
    };
    let columns = match (first.1, last.1) {
        (Some(first), Some(last)) if first <= last => (first, last),
        (None, None) => (0, COLUMNS - 1),
        _ => return Err(bad()),
    };
    Ok(Area { rows, columns })
}

/// The row and the column of a cell, from 0. One of them may be left out.
fn corner(text: &str) -> Option<(Option<u32>, Option<u32>)> {
    let text: String = text.trim().chars().filter(|c| *c != '$').collect();
    let letters = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (letters, digits) = text.split_at(letters);
    if letters.is_empty() && digits.is_empty() || letters.len() > 3 {
        return None;
    }
    let column = letters.bytes().fold(0, |sum, letter| sum * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1);
    let row: Option<u32> = if digits.is_empty() { None } else { Some(digits.parse().ok()?) };
    let row = row.map(|row| row.checked_sub(1).filter(|row| *row < ROWS).ok_or(())).transpose().ok()?;
    (column <= COLUMNS).then_some((row, column.checked_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_cells() {
        assert_eq!(area("B3:F200").unwrap(), Area { rows: (2, 199), columns: (1, 5) });
        assert_eq!(area("$b$3:xfd3").unwrap(), Area { rows: (2, 2), columns: (1, COLUMNS - 1) });
        assert_eq!(area("B:F").unwrap(), Area { rows: (0, ROWS - 1), columns: (1, 5) });
        assert_eq!(area("3:200").unwrap(), Area { rows: (2, 199), columns: (0, COLUMNS - 1) });
        for bad in ["", "B3", ":", "B3:", "F3:B3", "B9:B3", "B:3", "A0:B1", "XFE1:XFE2", "A1:B1048577", "é1:é2"] {
            assert!(area(bad).unwrap_err().message.contains("range of cells"), "{bad}");
        }
    }

    #[test]
    fn names_are_made_distinct() {
        let names = ["a", "b", "a", "a_duplicated_0", "a"].map(str::to_string).to_vec();
        assert_eq!(distinct(names), ["a", "b", "a_duplicated_0", "a_duplicated_0_duplicated_0", "a_duplicated_1"]);
    }
}
