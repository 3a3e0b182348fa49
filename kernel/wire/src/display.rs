//! What a cell shows, before it is HTML: the kernel process turns it into MIME bundles (`widgets/view`).

use serde::{Deserialize, Serialize};

use crate::FrameId;
use crate::control::Panel;
use crate::dashboard::{Dashboard, DashboardRequest, Filter};
use crate::learn::Card;
use crate::plot::{Plot, PlotRequest};
pub use crate::preview::{PreviewColumn, TableKind, TablePreview};
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
    /// Rows for a page that filters without a kernel: sections of [`crate::visual::VisualAsk::Export`] and their
    /// memory.
    pub rows: Option<DashboardRows>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DashboardRows {
    pub rows: u64,
    pub total: u64,
    pub sections: Vec<Section>,
    pub memory: Vec<u8>,
}
