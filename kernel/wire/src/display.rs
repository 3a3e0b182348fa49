//! What a cell shows, before it is HTML: the kernel process turns it into MIME bundles (`widgets/view`).

use serde::{Deserialize, Serialize};

use crate::FrameId;
use crate::control::Panel;
use crate::dashboard::{Dashboard, DashboardRequest, Filter};
use crate::learn::Card;
use crate::plot::{Plot, PlotRequest};
use crate::schema::DataType;
use crate::value::Value;
use crate::visual::{GraphCard, GraphPlot, GraphPlotRequest, Section};

/// One output of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Display {
    pub content: Content,
    /// With an id the output can be replaced later.
    pub display_id: Option<String>,
    /// Replaces the output of that id instead of adding one.
    pub update: bool,
    /// The value of the cell's last expression (`execute_result`), not something shown on the way (`display_data`).
    pub is_result: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Content {
    Table(TablePreview),
    /// A frame of the session: the preview carries more first rows than static forms show.
    Frame {
        frame: FrameId,
        preview: TablePreview,
    },
    Plot(Plot),
    /// A plot of one raster, which the session draws again for other windows.
    Raster {
        id: String,
        request: Box<PlotRequest>,
        plot: Plot,
    },
    Graph(GraphPlot),
    /// A picture of a graph in which nodes can be selected. The kernel process keeps the selection under this id.
    GraphView {
        id: String,
        request: Box<GraphPlotRequest>,
        plot: GraphPlot,
    },
    /// Views that filter each other. The kernel process keeps the filters under this id.
    Dashboard {
        id: String,
        request: Box<DashboardRequest>,
        filters: Vec<Filter>,
        data: Box<Dashboard>,
    },
    Panel(Panel),
    /// A fitted model.
    Model(Card),
    /// The figures of a graph.
    GraphCard(Box<GraphCard>),
    /// What `explain` gives: a step in each line, indented under what it feeds; then what is true of all.
    Plan(String),
    /// Plain text, as of `Debug` or `Display`.
    Text(String),
    /// A bundle as it is: MIME type and data. Binary types carry base64, JSON types carry JSON text.
    Mime(Vec<(String, String)>),
}

/// A picture that can be written to a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Picture {
    Plot(Plot),
    Graph(GraphPlot),
    Dashboard(Box<DashboardRequest>, Box<Dashboard>, DashboardFile),
}

/// A dashboard in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DashboardFile {
    pub filters: Vec<Filter>,
    /// Rows for a page that filters without a kernel: sections of [`crate::visual::VisualAsk::Export`] and their memory.
    pub rows: Option<DashboardRows>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DashboardRows {
    pub rows: u64,
    pub total: u64,
    pub sections: Vec<Section>,
    pub memory: Vec<u8>,
}

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
