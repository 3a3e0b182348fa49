//! A preview of a frame as a table: the common part of both forms. `table/html.rs` and `table/text.rs` draw it.

mod html;
mod json;
pub mod text;

pub use html::html;
pub use json::{Formats, column_schema, json};
pub use text::text;

use onrush_wire::display::{TableKind, TablePreview};
use onrush_wire::{DataType, Value};

use crate::value::{Cell, ColumnFormat, right_aligned};

/// A preview with formatted values.
struct Table<'a> {
    preview: &'a TablePreview,
    columns: Vec<Column<'a>>,
    /// Rows of `head`, then of `tail`.
    rows: Vec<Row>,
    /// The row before which the table is cut.
    cut: Option<usize>,
}

struct Column<'a> {
    name: &'a str,
    dtype: &'a DataType,
    nulls: Option<u64>,
    right: bool,
}

struct Row {
    /// Position in the frame, from 0.
    index: u64,
    cells: Vec<Cell>,
}

impl<'a> Table<'a> {
    fn new(preview: &'a TablePreview) -> Self {
        // A row that is too short is padded with nulls: a table that cannot be drawn would hide the rest of the data.
        let value = |row: &'a Vec<Value>, column: usize| row.get(column).unwrap_or(&Value::Null);
        let all_rows = || preview.head.iter().chain(&preview.tail);
        let formats: Vec<ColumnFormat> =
            (0..preview.columns.len()).map(|c| ColumnFormat::of(all_rows().map(move |row| value(row, c)))).collect();
        let tail_start = preview.total_rows.saturating_sub(preview.tail.len() as u64);
        let rows = all_rows()
            .enumerate()
            .map(|(i, row)| Row {
                index: if i < preview.head.len() { i as u64 } else { tail_start + (i - preview.head.len()) as u64 },
                cells: formats.iter().enumerate().map(|(c, format)| format.cell(value(row, c))).collect(),
            })
            .collect::<Vec<_>>();
        let cut = (preview.total_rows > rows.len() as u64).then_some(preview.head.len());
        let columns = preview
            .columns
            .iter()
            .map(|c| Column {
                name: &c.name,
                dtype: &c.dtype,
                nulls: c.nulls.filter(|n| *n > 0),
                right: right_aligned(&c.dtype),
            })
            .collect();
        Table { preview, columns, rows, cut }
    }

    /// Whether rows show their position: in a single column nothing else distinguishes them.
    fn has_index(&self) -> bool {
        self.preview.kind != TableKind::Frame
    }

    /// `336 776 rows × 19 columns`, with `separator` in long numbers.
    fn size(&self, separator: char) -> String {
        let number = |n: u64| onrush_wire::format_integer::grouped(n, separator);
        let rows = self.preview.total_rows;
        match self.preview.kind {
            TableKind::Frame => {
                let columns = self.columns.len() as u64;
                format!("{} {} × {} {}", number(rows), plural(rows, "row"), number(columns), plural(columns, "column"))
            }
            TableKind::Column => format!("column of {} {}", number(rows), plural(rows, "row")),
            TableKind::Values => format!("{} {}", number(rows), plural(rows, "value")),
        }
    }
}

fn plural(n: u64, word: &str) -> String {
    if n == 1 { word.to_string() } else { format!("{word}s") }
}

/// Selects the first and last of `count` columns so that `keep` remain, and the columns left out in the middle.
fn middle(count: usize, keep: usize) -> std::ops::Range<usize> {
    if count <= keep {
        return count..count;
    }
    let first = keep.div_ceil(2);
    first..count - (keep - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_left_out() {
        assert_eq!(middle(5, 5), 5..5);
        assert_eq!(middle(10, 4), 2..8);
        assert_eq!(middle(10, 5), 3..8);
        assert_eq!(middle(3, 1), 1..3);
    }
}
