//! A table in box-drawing characters, as Polars prints it, for a terminal of 80 columns. Widths are those of the
//! terminal: a wide character takes two cells, a combining one none.

use onrush_wire::display::{TableKind, TablePreview};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Table, middle};
use crate::html::visible;
use crate::value::{Cell, Kind};

/// Maximum width of a table.
const WIDTH: usize = 80;
/// Maximum width of a cell.
const CELL: usize = 32;
/// Minimum width of a truncated cell in a list.
const NARROWEST: usize = 8;

/// The table with its size above it.
pub fn text(preview: &TablePreview) -> String {
    let table = Table::new(preview);
    let mut columns: Vec<BoxedColumn> = Vec::new();
    if table.has_index() {
        columns.push(BoxedColumn {
            right: true,
            head: [String::new(), String::new()],
            cells: table.rows.iter().map(|r| r.index.to_string()).collect(),
        });
    }
    for (i, column) in table.columns.iter().enumerate() {
        columns.push(BoxedColumn {
            right: column.right,
            head: [cut(&named(column.name)), cut(&plain(&column.dtype.to_string()))],
            cells: table.rows.iter().map(|r| cut(&shown(&r.cells[i]))).collect(),
        });
    }
    if preview.kind == TableKind::Values {
        squeeze(&mut columns);
    }
    let fitting = fit(&columns.iter().map(BoxedColumn::width).collect::<Vec<_>>());
    let left_out = middle(columns.len(), fitting);
    let mut title = table.size('_');
    if !left_out.is_empty() {
        title.push_str(&format!(", {} not shown", left_out.len()));
        let row_count = table.rows.len();
        let ellipsis =
            BoxedColumn { right: false, head: ["…".into(), "…".into()], cells: vec!["…".to_string(); row_count] };
        columns.splice(left_out, [ellipsis]);
    }
    if let Some(row) = table.cut {
        for column in &mut columns {
            column.cells.insert(row, "…".to_string());
        }
    }
    if columns.is_empty() {
        return title;
    }
    let mut out = title;
    out.push('\n');
    out.push_str(&draw(&columns));
    out
}

struct BoxedColumn {
    right: bool,
    /// Name and type.
    head: [String; 2],
    cells: Vec<String>,
}

impl BoxedColumn {
    fn width(&self) -> usize {
        self.head.iter().chain(&self.cells).map(|s| s.width()).max().unwrap_or(0)
    }

    fn pad(&self, text: &str, width: usize) -> String {
        let space = " ".repeat(width.saturating_sub(text.width()));
        if self.right { format!("{space}{text}") } else { format!("{text}{space}") }
    }
}

/// How many columns fit; all, or as many as leave space for the column of ellipses. At least two of many.
fn fit(widths: &[usize]) -> usize {
    let total = |keep: usize| {
        let out = middle(widths.len(), keep);
        let kept: usize = widths.iter().enumerate().filter(|(i, _)| !out.contains(i)).map(|(_, w)| w + 3).sum();
        kept + 1 + if out.is_empty() { 0 } else { 4 }
    };
    (1..=widths.len()).rev().find(|keep| total(*keep) <= WIDTH).unwrap_or(widths.len().min(2))
}

/// Truncates the widest cells until all columns fit: a list needs every column, in part rather than not at all.
fn squeeze(columns: &mut [BoxedColumn]) {
    let total = |columns: &[BoxedColumn]| columns.iter().map(|c| c.width() + 3).sum::<usize>() + 1;
    while total(columns) > WIDTH {
        let Some(widest) = columns.iter_mut().max_by_key(|c| c.width()).filter(|c| c.width() > NARROWEST) else {
            return;
        };
        let width = widest.width() - 1;
        widest.head.iter_mut().chain(&mut widest.cells).for_each(|text| *text = cut_to(text, width));
    }
}

fn draw(columns: &[BoxedColumn]) -> String {
    let widths: Vec<usize> = columns.iter().map(BoxedColumn::width).collect();
    let rule = |left: &str, line: &str, between: &str, right: &str| {
        let parts: Vec<String> = widths.iter().map(|w| line.repeat(w + 2)).collect();
        format!("{left}{}{right}\n", parts.join(between))
    };
    let row = |cell: &dyn Fn(&BoxedColumn) -> String| {
        let parts: Vec<String> =
            columns.iter().zip(&widths).map(|(c, w)| format!(" {} ", c.pad(&cell(c), *w))).collect();
        format!("│{}│\n", parts.join("┆"))
    };
    let mut out = rule("┌", "─", "┬", "┐");
    for line in 0..2 {
        out.push_str(&row(&|c| c.head[line].clone()));
    }
    out.push_str(&rule("╞", "═", "╪", "╡"));
    for i in 0..columns[0].cells.len() {
        out.push_str(&row(&|c| c.cells[i].clone()));
    }
    out.push_str(rule("└", "─", "┴", "┘").trim_end());
    out
}

/// The text of a cell on one line; ambiguous text is quoted.
fn shown(cell: &Cell) -> String {
    match cell.kind {
        Kind::Blank => format!("\"{}\"", plain(&cell.text)),
        Kind::Text if matches!(cell.text.as_str(), "null" | "NaN" | "inf" | "-inf" | "…") => {
            format!("\"{}\"", cell.text)
        }
        _ => plain(&cell.text),
    }
}

/// The name of a column; an invisible name is quoted.
fn named(name: &str) -> String {
    if name.chars().all(char::is_whitespace) { format!("\"{}\"", plain(name)) } else { plain(name) }
}

/// Invisible characters as signs, on one line.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match visible(c) {
            Some(name) => out.push_str(&name),
            None => out.push(c),
        }
    }
    out
}

fn cut(text: &str) -> String {
    cut_to(text, CELL)
}

/// Truncates to a width, with an ellipsis.
pub fn cut_to(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_string();
    }
    let mut out = String::new();
    let mut width = 0;
    for c in text.chars() {
        width += c.width().unwrap_or(0);
        if width > most - 1 {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}
