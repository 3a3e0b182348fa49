//! Dashboards: views of one frame that filter each other. What is asked of the session ([`DashboardRequest`]), what is
//! filtered ([`Filter`]), and what is drawn ([`Dashboard`]). Rows never travel: the session counts, the kernel process
//! draws.
//!
//! A dimension of a view is cut into *slots*: the bins of numbers and times, the values of categories, and slots for
//! the rest. Slots are fixed when a dashboard is opened. A filter of a user is a set of slots, and a filter of a cell
//! may lie between their edges ([`KeptSlots::Exact`]). The number of selected rows is exact for both.

use serde::{Deserialize, Serialize};

use crate::FrameId;
use crate::expr::Expr;
use crate::plot::{AxisScale, LayerRequest, Plot, Theme};
use crate::preview::TablePreview;
use crate::value::Value;
use crate::window::Window;

/// Most views of a dashboard.
pub const MAX_VIEWS: usize = 16;
/// Most slots of a dimension.
pub const MAX_SLOTS: usize = 512;
/// Most corners of a lasso.
pub const MAX_CORNERS: usize = 64;

/// A dashboard. The session answers [`crate::visual::VisualAsk::Dashboard`] with a [`Dashboard`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DashboardRequest {
    pub frame: FrameId,
    pub views: Vec<ViewRequest>,
    pub title: Option<String>,
    /// Views in a row. Default: by their kinds.
    pub columns: Option<u32>,
    pub theme: Theme,
}

impl DashboardRequest {
    /// All expressions of the request.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.views.iter().flat_map(|view| {
            let layer = [&view.layer.x, &view.layer.y, &view.layer.color].into_iter().flatten();
            layer.chain(&view.columns)
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ViewKind {
    /// Bins of a number or a time.
    Histogram,
    /// The most frequent values of a column.
    Bar,
    /// Two dimensions, a cell for each pair of slots.
    HeatMap,
    /// An aggregate in each bin of a number or a time.
    Line,
    /// All rows as points.
    Raster,
    /// Aggregates of the selected rows, as cards.
    Numbers,
    /// The first of the selected rows.
    Table,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ViewRequest {
    pub kind: ViewKind,
    /// The columns and options that plots have, too. `y` of bars and histograms is the aggregated column; without an
    /// `aggregate` rows are counted.
    pub layer: LayerRequest,
    /// The aggregates of cards, or the columns of a table; all columns if empty.
    pub columns: Vec<Expr>,
    /// The range that the bins cover.
    pub range: Option<(f64, f64)>,
    pub title: Option<String>,
    pub wide: bool,
    pub tall: bool,
}

/// Columns of the grid of views, and pixels of one.
const GRID: u32 = 12;
const COLUMN: u32 = 68;
/// Pixels between views.
pub const GAP: u32 = 12;
/// Pixels of all columns.
pub const GRID_WIDTH: u32 = GRID * COLUMN - GAP;

impl ViewRequest {
    /// Width and height in pixels. `columns`: views in a row, as the user said it.
    pub fn size(&self, columns: Option<u32>) -> (u32, u32) {
        let (span, height) = match self.kind {
            ViewKind::Histogram | ViewKind::Bar | ViewKind::Line => (4, 190),
            ViewKind::HeatMap => (4, 400),
            ViewKind::Raster => (8, 400),
            ViewKind::Numbers => (GRID, 64),
            ViewKind::Table => (GRID, 300),
        };
        let is_whole = matches!(self.kind, ViewKind::Numbers | ViewKind::Table);
        let span = match columns {
            _ if self.wide || is_whole => GRID,
            Some(columns) => (GRID / columns.clamp(1, GRID)).max(1),
            None => span,
        };
        (span * COLUMN - GAP, if self.tall { height * 2 + GAP } else { height })
    }
}

/// What a user selected in one view. Filters of several views are combined with `and`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// The position of the view in [`DashboardRequest::views`].
    pub view: u32,
    pub kept: KeptSlots,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum KeptSlots {
    /// Half-open ranges of slots, in order, without overlaps.
    Slots(Vec<(u32, u32)>),
    /// A half-open rectangle of slots: x0, x1, y0, y1.
    Cells([u32; 4]),
    /// A rectangle of positions, its edges included.
    Box(Window),
    /// The inside of a polygon, by the even-odd rule.
    Lasso(Vec<(f64, f64)>),
    /// Values as a cell wrote them, which end between the edges of slots. `marks`: half-open ranges of slots that a
    /// picture marks, with parts of slots, in order, without overlaps.
    Exact { wanted: SlotQuery, marks: Vec<(f64, f64)> },
}

impl KeptSlots {
    /// The slots that a picture marks. `None` for filters without slots.
    #[must_use]
    pub fn marks(&self) -> Option<Vec<(f64, f64)>> {
        match self {
            KeptSlots::Slots(ranges) => {
                Some(ranges.iter().map(|(from, to)| (f64::from(*from), f64::from(*to))).collect())
            }
            KeptSlots::Exact { marks, .. } => Some(marks.clone()),
            KeptSlots::Cells(_) | KeptSlots::Box(_) | KeptSlots::Lasso(_) => None,
        }
    }
}

/// What a cell asks for instead of slots: [`crate::visual::VisualAsk::Slots`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SlotQuery {
    /// `None`: without a bound. `is_closed`: with the upper bound.
    Range {
        low: Option<Value>,
        high: Option<Value>,
        is_closed: bool,
    },
    Values(Vec<Value>),
}

/// All views of a dashboard under its filters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dashboard {
    pub rows: u64,
    pub selected: u64,
    /// In the order of [`DashboardRequest::views`].
    pub views: Vec<DashboardView>,
    /// What was left out or reduced.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DashboardView {
    pub title: String,
    pub data: ViewData,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ViewData {
    /// Histograms, bars and lines.
    Slots {
        x: Dimension,
        measure: Measure,
    },
    /// Row after row from the bottom: `values[y * x.slots.len() + x]`.
    Cells {
        x: Dimension,
        y: Dimension,
        measure: Measure,
    },
    Raster(Box<Plot>),
    /// One row.
    Numbers(TablePreview),
    Table(TablePreview),
    /// Not computed, because the picture is only moved: see [`crate::visual::VisualAsk::Dashboard`].
    Unchanged,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dimension {
    pub label: String,
    pub scale: AxisScale,
    pub slots: Vec<Slot>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// The label: `10 to 20`, `2013-01-05`, `AA`, `other`, `missing`.
    pub name: String,
    pub kind: SlotKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum SlotKind {
    /// From `low` to `high`, in the positions of the axis.
    Bin {
        low: f64,
        high: f64,
    },
    /// Below the lowest and above the highest edge.
    Below(f64),
    Above(f64),
    Value,
    /// All values that have no slot.
    Other,
    /// Null and NaN.
    Missing,
}

/// A value in each slot. NaN without rows, for aggregates that have no value then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// `rows`, `mean(tip)`.
    pub label: String,
    /// Of all rows.
    pub all: Vec<f64>,
    /// Of the rows that pass the filters of all other views.
    pub shown: Vec<f64>,
}
