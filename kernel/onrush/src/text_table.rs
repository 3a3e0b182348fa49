//! Tables as plain text, for `println!("{frame}")` and for programs outside of a notebook. The kernel process draws the
//! tables of a notebook.

use std::fmt::Write;

use onrush_wire::Value;
use onrush_wire::display::TablePreview;

/// The number of columns that are shown; the others are counted.
const COLUMNS: usize = 10;
/// The maximum number of characters of one value.
const WIDTH: usize = 30;

/// Formats names, types, rows, and the number of rows.
pub fn table(preview: &TablePreview) -> String {
    let shown = preview.columns.len().min(COLUMNS);
    let header: Vec<String> = preview.columns[..shown].iter().map(|c| cut(&c.name)).collect();
    let types: Vec<String> = preview.columns[..shown].iter().map(|c| c.dtype.to_string()).collect();
    let row = |row: &Vec<Value>| row.iter().take(shown).map(|v| cut(&value(v))).collect::<Vec<_>>();
    let mut lines = vec![header, types];
    lines.extend(preview.head.iter().map(row));
    if !preview.tail.is_empty() && (preview.head.len() + preview.tail.len()) < preview.total_rows as usize {
        lines.push(vec!["…".to_string(); shown]);
    }
    lines.extend(preview.tail.iter().map(row));
    let length = |text: &String| text.chars().count();
    let widths: Vec<usize> = (0..shown).map(|at| lines.iter().map(|l| length(&l[at])).max().unwrap_or(0)).collect();
    let right: Vec<bool> = preview.columns[..shown].iter().map(|c| c.dtype.is_numeric()).collect();
    let mut out = String::new();
    for line in &lines {
        for (at, text) in line.iter().enumerate() {
            let space = widths[at] - length(text);
            let (before, after) = if right[at] { (space, 0) } else { (0, space) };
            let _ = write!(out, "{}{}{text}{}", if at > 0 { "  " } else { "" }, " ".repeat(before), " ".repeat(after));
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    let rows = preview.total_rows;
    let columns = preview.columns.len();
    let many = |n: u64| if n == 1 { "" } else { "s" };
    let _ = write!(out, "{rows} row{} × {columns} column{}", many(rows), many(columns as u64));
    out
}

fn cut(text: &str) -> String {
    let line = signs(text);
    if line.chars().count() <= WIDTH { line } else { line.chars().take(WIDTH - 1).chain(['…']).collect() }
}

/// On one line, and without anything that a terminal obeys.
fn signs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push('⏎'),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// One value as a person reads it.
fn value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Boolean(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::UInt(v) => v.to_string(),
        Value::Float32(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Text(v) => v.clone(),
        Value::Binary(v) => format!("{} bytes", v.len()),
        Value::Decimal { value, scale, .. } => decimal(*value, *scale),
        Value::List(values) => format!("[{}]", values.iter().map(self::value).collect::<Vec<_>>().join(", ")),
        Value::Struct(fields) => {
            let fields: Vec<String> = fields.iter().map(|(name, v)| format!("{name}: {}", self::value(v))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        other => match crate::arrow_conversion::iso(other) {
            Some(text) => text.replace('T', " "),
            None => format!("{other:?}"),
        },
    }
}

fn decimal(value: i128, scale: i8) -> String {
    let Ok(scale) = usize::try_from(scale) else { return format!("{value}e{}", -i32::from(scale)) };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    let sign = if value < 0 { "-" } else { "" };
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

#[cfg(test)]
mod tests {
    use onrush_wire::DataType;
    use onrush_wire::display::{PreviewColumn, TableKind};

    use super::*;

    #[test]
    fn numbers_stand_right_and_texts_left() {
        let column = |name: &str, dtype| PreviewColumn { name: name.to_string(), dtype, nulls: None };
        let preview = TablePreview {
            kind: TableKind::Frame,
            columns: vec![column("name", DataType::String), column("n", DataType::Int64)],
            total_rows: 9,
            head: vec![vec![Value::Text("a".into()), Value::Int(1)]],
            tail: vec![vec![Value::Null, Value::Int(1000)]],
            bytes: None,
            location: String::new(),
        };
        assert_eq!(table(&preview), "name     n\nstr    i64\na        1\n…        …\nnull  1000\n9 rows × 2 columns");
        assert_eq!(cut("a\x1b]0;t\x07\nb"), "a\\u{1b}]0;t\\u{7}⏎b");
        assert_eq!(decimal(-1234, 2), "-12.34");
        assert_eq!(decimal(5, 3), "0.005");
    }
}
