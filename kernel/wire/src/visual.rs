//! Pictures of graphs, and what live pictures of graphs, plots and dashboards ask. Graphs: the request
//! ([`GraphPlotRequest`]), the data of a picture ([`GraphPlot`]), and the requests of a live picture ([`VisualAsk`]).
//! The session computes positions and rasters, the kernel process draws (`widgets/view`).

use serde::{Deserialize, Serialize};

use crate::FrameId;
use crate::dashboard::{Dashboard, DashboardRequest, Filter, KeptSlots, SlotQuery};
use crate::expr::Expr;
use crate::graph::{GraphCall, GraphSpec};
use crate::plot::{Plot, PlotRequest, PlotStyle};
pub use crate::window::Window;

/// Most nodes that a picture has as points. A larger graph is a [`GraphRaster`].
pub const MAX_NODES: u32 = 5_000;
/// Most links of such a picture, after parallel edges were merged.
pub const MAX_LINKS: u32 = 20_000;
/// Most names of a categorical colour. The last one is `other` if the column has more values.
pub const MAX_CATEGORIES: usize = 20;

/// A picture of a graph. Reply: [`crate::session::Reply::GraphPlot`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphPlotRequest {
    pub edges: FrameId,
    pub graph: GraphSpec,
    /// A frame with the ids in `node`, or in `node_1`, `node_2`, ... Its other columns are shown and can be used for
    /// colour, size, label and position.
    pub nodes: Option<FrameId>,
    pub positions: Positions,
    /// Columns of `nodes`.
    pub color: Option<String>,
    pub size: Option<String>,
    pub label: Option<String>,
    /// Most nodes as points, at most [`MAX_NODES`]. A graph with more nodes becomes a raster.
    pub max_nodes: u32,
    pub style: PlotStyle,
}

impl GraphPlotRequest {
    /// The frames that the request reads.
    pub fn frames(&self) -> impl Iterator<Item = FrameId> {
        let layout = match &self.positions {
            Positions::Layout(call) => call.frames.as_slice(),
            Positions::Columns { .. } => &[],
        };
        let of_graph = self.graph.nodes.iter().map(|ids| ids.frame);
        std::iter::once(self.edges).chain(self.nodes).chain(of_graph).chain(layout.iter().map(|(_, frame)| *frame))
    }

    pub fn frames_mut(&mut self) -> impl Iterator<Item = &mut FrameId> {
        let layout = match &mut self.positions {
            Positions::Layout(call) => call.frames.as_mut_slice(),
            Positions::Columns { .. } => &mut [],
        };
        let of_graph = self.graph.nodes.iter_mut().map(|ids| &mut ids.frame);
        let frames = std::iter::once(&mut self.edges).chain(&mut self.nodes).chain(of_graph);
        frames.chain(layout.iter_mut().map(|(_, frame)| frame))
    }
}

/// What is shown of a graph. Reply: [`crate::session::Reply::GraphCard`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphCardRequest {
    pub edges: FrameId,
    pub graph: GraphSpec,
}

impl GraphCardRequest {
    /// The frames that the request reads.
    pub fn frames_mut(&mut self) -> impl Iterator<Item = &mut FrameId> {
        std::iter::once(&mut self.edges).chain(self.graph.nodes.iter_mut().map(|ids| &mut ids.frame))
    }
}

/// A graph to a file. Reply: [`crate::session::Reply::Written`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphWrite {
    pub edges: FrameId,
    pub graph: GraphSpec,
    /// A frame with a column `node` of ids and the columns of the nodes.
    pub nodes: Option<FrameId>,
    pub path: String,
    pub folder: String,
    /// The name of the format if the extension does not say it.
    pub format: Option<String>,
}

impl GraphWrite {
    /// The frames that the request reads.
    pub fn frames_mut(&mut self) -> impl Iterator<Item = &mut FrameId> {
        let of_graph = self.graph.nodes.iter_mut().map(|ids| &mut ids.frame);
        std::iter::once(&mut self.edges).chain(&mut self.nodes).chain(of_graph)
    }
}

/// Figures of a graph, each found in at most two passes over the edges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphCard {
    pub directed: bool,
    /// The columns of the ids at the two ends.
    pub source: Vec<String>,
    pub target: Vec<String>,
    pub nodes: u64,
    pub edges: u64,
    /// Pairs of different nodes with an edge.
    pub pairs: u64,
    pub self_loops: u64,
    /// Rows with a null at an end.
    pub left_out: u64,
    pub weight: Option<WeightRange>,
    pub density: f64,
    pub degree_mean: f64,
    pub degree_median: f64,
    pub degree_max: u64,
    /// Nodes by degree: entry 0 counts degree 0, entry `k` the degrees from `2^(k - 1)` to `2^k - 1`.
    pub degrees: Vec<u64>,
    /// Connected components, without regard to directions, and the nodes of the largest one.
    pub components: u64,
    pub largest_component: u64,
    /// Bytes of the index.
    pub bytes: u64,
    /// Where the index is: `memory`, `cuda:0`.
    pub location: String,
}

/// The least and the largest weight of an edge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeightRange {
    pub column: String,
    pub min: f64,
    pub max: f64,
}

/// The source of the positions of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Positions {
    /// A call of an algorithm that gives the columns `node`, `x` and `y`.
    Layout(GraphCall),
    /// Numeric columns of the frame of nodes. A node with a null is left out, and a note says so.
    Columns { x: String, y: String },
}

/// A graph that can be drawn without any more data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphPlot {
    /// Nodes and edges of the whole graph.
    pub nodes: u64,
    pub edges: u64,
    pub directed: bool,
    /// The name of the layout, or the two columns: `forceatlas2_layout`, `lon, lat`.
    pub positions: String,
    pub drawing: Drawing,
    pub style: PlotStyle,
    /// What was left out or merged: `12 nodes without a position left out`.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Drawing {
    Points(NodeLink),
    Raster(GraphRaster),
}

/// Nodes and links, each list of nodes as long as `ids`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeLink {
    /// The user's ids, cast to strings. The parts of an id of several columns are joined by `, `.
    pub ids: Vec<String>,
    /// Positions with the y axis upwards. The longer side of the bounding box spans 0 to 1, the shorter side begins at
    /// 0.
    pub x: Vec<f32>,
    pub y: Vec<f32>,
    /// The number of edges at each node. A self-loop counts twice.
    pub degrees: Vec<u32>,
    /// Empty if no column was named: then ids are the labels.
    pub labels: Vec<String>,
    pub color: Option<NodeColor>,
    pub size: Option<NodeSize>,
    /// Further columns of the frame of nodes, for reading.
    pub columns: Vec<NodeColumn>,
    /// Positions of the two ends in the lists of nodes. Links of a directed graph lead from the first to the second.
    pub links: Vec<(u32, u32)>,
    /// The sum of the weights of the merged parallel edges, or their number without weights. As long as `links`.
    pub widths: Vec<f32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum NodeColor {
    /// Null: NaN.
    Numbers { column: String, values: Vec<f64> },
    /// Positions in `names`, which has at most [`MAX_CATEGORIES`] entries: in the order of the values for integers and
    /// booleans, else the most frequent first.
    Categories { column: String, names: Vec<String>, codes: Vec<Option<u32>> },
}

/// Sizes of nodes as areas. Null: NaN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeSize {
    pub column: String,
    pub values: Vec<f64>,
}

/// A column as text. Null: empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeColumn {
    pub name: String,
    pub values: Vec<String>,
}

/// The numbers of nodes and of edges at each pixel: rows from the top, `width * height` entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphRaster {
    pub window: Window,
    pub width: u32,
    pub height: u32,
    pub node_counts: Vec<u32>,
    /// Of the edges that cross a pixel, or of a sample of them.
    pub edge_counts: Vec<u32>,
}

/// A live picture. Each request names all of it, so that a session that was restarted computes it anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum VisualSpec {
    Graph(Box<GraphPlotRequest>),
    /// A plot of one raster.
    Raster(Box<PlotRequest>),
    Dashboard(Box<DashboardRequest>),
}

impl VisualSpec {
    /// The frames that the picture reads.
    pub fn frames(&self) -> impl Iterator<Item = FrameId> {
        let (graph, frame) = match self {
            VisualSpec::Graph(request) => (Some(request), None),
            VisualSpec::Raster(request) => (None, Some(request.frame)),
            VisualSpec::Dashboard(request) => (None, Some(request.frame)),
        };
        graph.into_iter().flat_map(|graph| graph.frames()).chain(frame)
    }

    /// All expressions of the picture.
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            VisualSpec::Graph(_) => Vec::new(),
            VisualSpec::Raster(request) => request.exprs().collect(),
            VisualSpec::Dashboard(request) => request.exprs().collect(),
        }
    }

    pub fn frames_mut(&mut self) -> impl Iterator<Item = &mut FrameId> {
        let (graph, frame) = match self {
            VisualSpec::Graph(request) => (Some(request), None),
            VisualSpec::Raster(request) => (None, Some(&mut request.frame)),
            VisualSpec::Dashboard(request) => (None, Some(&mut request.frame)),
        };
        graph.into_iter().flat_map(|graph| graph.frames_mut()).chain(frame)
    }
}

/// What a live picture asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum VisualAsk {
    /// A part of the picture. Answer for a plot: [`VisualHead::Plot`]. Answer for a graph: [`VisualHead::Raster`] with
    /// the sections `node_counts` and `edge_counts`: u32 in little endian, as in [`GraphRaster`].
    Raster { window: Window, width: u32, height: u32 },
    /// All views of a dashboard. `moving`: the user is still dragging, so that cards and tables can wait. Answer:
    /// [`VisualHead::Dashboard`].
    Dashboard { filters: Vec<Filter>, moving: bool },
    /// For each slot of one view the counts of all other views, under the filters of the others: while the view is
    /// brushed, a front end adds them up. Answer: [`VisualHead::Done`] with sections for each view: `counts_3` (u32),
    /// and for sums and means `sums_3` (f64) and `valued_3` (u32), the rows with a value: a row for each slot of the
    /// active view, as running sums with a row of zeros first.
    Cubes { view: u32, filters: Vec<Filter> },
    /// The condition of the filters. Answer: [`VisualHead::Condition`].
    Condition { filters: Vec<Filter> },
    /// The slots of a view, by its title or the name of its column, that have what is wanted. Answer:
    /// [`VisualHead::Slots`].
    Slots { view: String, wanted: SlotQuery },
    /// Slots and positions of rows, for a file that cross-filters without a kernel. At most `rows` of them, at equal
    /// distances. Answer: [`VisualHead::Export`] with the sections `x_0`, `y_0`, ... (u16; positions f32), `value_0`
    /// (f32), and `kept_0` (u8: 1 for a row that passes) for each filter by values.
    Export { rows: u64, filters: Vec<Filter> },
    /// The picture is closed: its positions need not be kept. Answer: [`VisualHead::Done`].
    Forget,
}

/// The answer of [`crate::session::Request::Visual`] without its binary sections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum VisualHead {
    Done,
    /// The plot of the window.
    Plot(Box<Plot>),
    Dashboard(Box<Dashboard>),
    Condition {
        /// `None` without filters.
        condition: Option<Expr>,
        /// The condition as it is written in `x!(...)`.
        code: String,
    },
    Slots {
        view: u32,
        kept: KeptSlots,
    },
    Export {
        /// The rows that are in the sections, of `total`.
        rows: u64,
        total: u64,
    },
    Raster {
        /// The nodes inside the window.
        nodes: u64,
        notes: Vec<String>,
    },
}

/// A named piece of the memory that comes with an answer. `offset` is a multiple of 8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub name: String,
    /// The type of the elements.
    pub kind: SectionKind,
    /// In bytes.
    pub offset: u64,
    pub length: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SectionKind {
    U8,
    U16,
    U32,
    F32,
    F64,
}

impl Section {
    /// Lays sections out in one piece of memory.
    pub fn lay_out(parts: &[(&str, SectionKind, &[u8])]) -> (Vec<Section>, Vec<u8>) {
        let (mut sections, mut memory) = (Vec::new(), Vec::new());
        for (name, kind, bytes) in parts {
            memory.resize(usize::next_multiple_of(memory.len(), 8), 0);
            let (offset, length) = (memory.len() as u64, bytes.len() as u64);
            sections.push(Section { name: (*name).to_string(), kind: *kind, offset, length });
            memory.extend_from_slice(bytes);
        }
        (sections, memory)
    }

    /// The bytes of this section. `None` if the memory is too short.
    pub fn of<'a>(&self, memory: &'a [u8]) -> Option<&'a [u8]> {
        let start = usize::try_from(self.offset).ok()?;
        memory.get(start..start.checked_add(usize::try_from(self.length).ok()?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_come_back_and_begin_at_multiples_of_eight() {
        let (sections, memory) =
            Section::lay_out(&[("a", SectionKind::U8, b"abc"), ("b", SectionKind::U32, &[1, 0, 0, 0])]);
        assert_eq!(sections.iter().map(|section| section.offset).collect::<Vec<_>>(), [0, 8]);
        assert_eq!(sections[0].of(&memory), Some(&b"abc"[..]));
        assert_eq!(sections[1].of(&memory), Some(&[1, 0, 0, 0][..]));
        assert_eq!(sections[1].of(&memory[..9]), None);
        let absurd = Section { offset: u64::MAX, ..sections[1].clone() };
        assert_eq!(absurd.of(&memory), None);
    }
}
