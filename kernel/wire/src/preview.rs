//! Previews of tables: the first and the last rows of a frame, a column or values.

use serde::{Deserialize, Serialize};

use crate::schema::DataType;
use crate::value::Value;

/// The part of a frame that its table shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TablePreview {
    /// `frame`, `column`: what it is called in the caption.
    pub kind: TableKind,
    pub columns: Vec<PreviewColumn>,
    pub total_rows: u64,
    /// The first rows, each with one value for each column.
    pub head: Vec<Vec<Value>>,
    /// The last rows; empty if `head` holds them all.
    pub tail: Vec<Vec<Value>>,
    /// Bytes that the frame holds in memory, if it is resident.
    pub bytes: Option<u64>,
    /// Where it lives: `memory`, `plan`, `cuda:0`.
    pub location: String,
}

impl TablePreview {
    /// The preview with `head` first and `tail` last rows at most.
    pub fn short(&self, head: usize, tail: usize) -> TablePreview {
        let rows = self.head.len() + self.tail.len();
        if rows <= head + tail && rows as u64 == self.total_rows {
            return self.clone();
        }
        let last: Vec<&Vec<Value>> = self.head.iter().chain(&self.tail).collect();
        // Without a tail the head need not be all there is.
        let has_end = !self.tail.is_empty() || rows as u64 == self.total_rows;
        let from = if has_end { rows.saturating_sub(tail).max(head.min(self.head.len())) } else { rows };
        TablePreview {
            head: self.head.iter().take(head).cloned().collect(),
            tail: last[from..].iter().map(|row| (*row).clone()).collect(),
            columns: self.columns.clone(),
            location: self.location.clone(),
            ..*self
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableKind {
    Frame,
    Column,
    Values,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreviewColumn {
    pub name: String,
    pub dtype: DataType,
    /// Nulls in the whole column; `None` if it was not counted.
    pub nulls: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_preview_has_the_first_and_the_last_rows() {
        let rows = |range: std::ops::Range<i64>| range.map(|i| vec![Value::Int(i)]).collect::<Vec<_>>();
        let preview = |head, tail, total_rows| TablePreview {
            kind: TableKind::Frame,
            columns: Vec::new(),
            total_rows,
            head,
            tail,
            bytes: None,
            location: String::new(),
        };
        let ends = |preview: TablePreview| {
            let short = preview.short(3, 2);
            (short.head, short.tail)
        };
        assert_eq!(ends(preview(rows(0..5), vec![], 5)), (rows(0..5), vec![]));
        assert_eq!(ends(preview(rows(0..9), vec![], 9)), (rows(0..3), rows(7..9)));
        assert_eq!(ends(preview(rows(0..6), rows(95..100), 100)), (rows(0..3), rows(98..100)));
    }
}
