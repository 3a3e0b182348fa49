//! Pictures of graphs: a builder of requests, and a picture in which nodes can be selected. The session computes
//! positions, the kernel process draws.

use std::fmt;
use std::path::Path;

use onrush_wire::control::Setting;
use onrush_wire::display::{Content, Picture};
use onrush_wire::graph::GraphCall;
use onrush_wire::plot::PlotStyle;
use onrush_wire::session::{Reply, Request};
use onrush_wire::visual::{GraphPlotRequest, MAX_NODES, Positions};
use onrush_wire::{Class, DataType, Diagnostic, Span};

use super::{Graph, check_columns};
use crate::display::Show;
use crate::expr::{Expr, col, concat_str, lit};
use crate::frame::Frame;
use crate::raise::{here, raise};
use crate::{plot, process, session};

/// A picture of a graph. It is shown when it is the last expression of a cell, and written to a file by
/// [`GraphPlot::save`].
///
/// Columns are those of [`Graph::nodes`]: `degree`, and the ones that [`Graph::with_nodes`] adds. A graph of more than
/// 5,000 nodes is shaded as a raster.
#[derive(Clone)]
pub struct GraphPlot {
    graph: Graph,
    positions: Positions,
    color: Option<String>,
    size: Option<String>,
    label: Option<String>,
    style: PlotStyle,
    at: Span,
}

/// A picture of a graph in which nodes can be selected: by clicks, by a box, by search. [`GraphView::selection`] reads
/// the selection in a later cell, and in callbacks of controls.
#[derive(Clone)]
pub struct GraphView {
    plot: GraphPlot,
    id: String,
}

impl Graph {
    /// Starts a picture: `g.plot().color("club").size("degree")`. Without [`GraphPlot::positions`] the layout is
    /// ForceAtlas2.
    #[track_caller]
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn plot(&self) -> GraphPlot {
        GraphPlot {
            graph: self.clone(),
            positions: layout("forceatlas2_layout"),
            color: None,
            size: None,
            label: None,
            style: PlotStyle::default(),
            at: here("plot"),
        }
    }

    /// Starts a picture in which nodes can be selected: `let v = g.view(); v`, and in a later cell `v.selection()`.
    #[track_caller]
    #[must_use = "a view is shown at the end of a cell, or by `show(&view)`"]
    pub fn view(&self) -> GraphView {
        let plot = self.plot();
        GraphView { plot: GraphPlot { at: here("view"), ..plot }, id: process::new_id("graph") }
    }
}

fn layout(algorithm: &str) -> Positions {
    Positions::Layout(GraphCall { algorithm: algorithm.to_string(), params: Vec::new(), frames: Vec::new() })
}

impl GraphPlot {
    #[inline(never)]
    fn checked(&self, column: String, at: &Span) -> String {
        check_columns(&self.graph.nodes(), std::slice::from_ref(&column), at);
        column
    }

    /// The same picture, in which nodes can be selected.
    #[must_use = "a view is shown at the end of a cell, or by `show(&view)`"]
    pub fn view(self) -> GraphView {
        GraphView { plot: self, id: process::new_id("graph") }
    }

    /// Also puts a PNG into the notebook, for viewers that show no SVG.
    #[must_use = "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`"]
    pub fn png(mut self) -> Self {
        self.style.png = true;
        self
    }

    /// Draws the graph into a file: `.svg`, `.png` or `.pdf`. Returns the plot, so that it can still be shown.
    #[track_caller]
    pub fn save(self, path: impl AsRef<Path>) -> Self {
        let at = here("save");
        let path = std::path::absolute(path.as_ref()).unwrap_or_else(|_| path.as_ref().to_path_buf());
        if let Err(diagnostic) = process::save_picture(Picture::Graph(self.drawn().1), &path.display().to_string()) {
            session::raise_at(diagnostic, at);
        }
        self
    }

    /// The request, and the picture that the session makes of it.
    #[inline(never)]
    fn drawn(&self) -> (GraphPlotRequest, onrush_wire::visual::GraphPlot) {
        let nodes = self.graph.nodes();
        let request = GraphPlotRequest {
            edges: self.graph.edges.id(),
            graph: self.graph.spec(),
            nodes: Some(nodes.id()),
            positions: self.positions.clone(),
            color: self.color.clone(),
            size: self.size.clone(),
            label: self.label.clone(),
            max_nodes: MAX_NODES,
            style: self.style.clone(),
        };
        match session::expect(&Request::GraphPlot(request.clone()), self.at.clone()) {
            Reply::GraphPlot(plot) => (request, plot),
            other => session::unexpected(&other, self.at.clone()),
        }
    }

    fn describe(&self, kind: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{kind} of a {:?}", self.graph)
    }
}

impl GraphView {
    /// The selected nodes: the rows of [`Graph::nodes`] that the user has selected. Without a selection the frame has
    /// no rows.
    #[track_caller]
    pub fn selection(&self) -> Frame {
        let ids = match process::read_control(&self.id) {
            Some(Setting::Nodes(ids)) => ids,
            _ => Vec::new(),
        };
        self.rows(ids)
    }

    /// The edges with both ends among the selected nodes, as a graph.
    #[track_caller]
    pub fn selected_graph(&self) -> Graph {
        self.plot.graph.subgraph(self.selection())
    }

    #[inline(never)]
    #[track_caller]
    fn rows(&self, ids: Vec<String>) -> Frame {
        let graph = &self.plot.graph;
        let nodes = graph.nodes();
        if ids.is_empty() {
            return nodes.head(0);
        }
        // As ids are written in the picture.
        let mut parts = graph.id_names("node").into_iter().map(|name| col(name).cast(DataType::String));
        let first = parts.next().unwrap_or_else(|| lit(""));
        let id = parts.fold(first, |id, part| concat_str([id, lit(", "), part]));
        nodes.filter(Expr::is_in(&id, ids))
    }
}

/// Methods of a picture and of a view of one.
macro_rules! builder {
    ($type:ident, $must:literal, |$self:ident| $plot:expr) => {
        impl $type {
            /// The layout: `"forceatlas2"` (the default), `"spring"`, `"spectral"` or `"circular"`; the calls are
            /// [`Graph::forceatlas2_layout`], [`Graph::spring_layout`], [`Graph::spectral_layout`] and
            /// [`Graph::circular_layout`].
            #[track_caller]
            #[must_use = $must]
            pub fn layout(mut $self, name: &str) -> Self {
                $plot.positions = match name {
                    "forceatlas2" | "spring" | "spectral" | "circular" => layout(&format!("{name}_layout")),
                    other => raise(
                        Diagnostic::error(Class::Plan, "layout", format!("no layout `{other}`"))
                            .at(here("layout"), "")
                            .help("the layouts are \"forceatlas2\", \"spring\", \"spectral\" and \"circular\""),
                    ),
                };
                $self
            }

            /// Numeric columns of the nodes as positions, with `y` upwards: `.positions("lon", "lat")`. Nodes with a
            /// null are left out.
            #[track_caller]
            #[must_use = $must]
            pub fn positions(mut $self, x: impl Into<String>, y: impl Into<String>) -> Self {
                let at = here("positions");
                let (x, y) = ($plot.checked(x.into(), &at), $plot.checked(y.into(), &at));
                $plot.positions = Positions::Columns { x, y };
                $self
            }

            /// The colour of nodes: one colour for each value of strings and booleans, a colour scale for numbers.
            /// Integers with at most ten values, and the columns `community` and `component`, have one colour for each
            /// value.
            #[track_caller]
            #[must_use = $must]
            pub fn color(mut $self, column: impl Into<String>) -> Self {
                $plot.color = Some($plot.checked(column.into(), &here("color")));
                $self
            }

            /// The area of nodes: a numeric column. A null has the smallest size.
            #[track_caller]
            #[must_use = $must]
            pub fn size(mut $self, column: impl Into<String>) -> Self {
                $plot.size = Some($plot.checked(column.into(), &here("size")));
                $self
            }

            /// The text at nodes. Default: their ids. Labels that would overlap are left out.
            #[track_caller]
            #[must_use = $must]
            pub fn label(mut $self, column: impl Into<String>) -> Self {
                $plot.label = Some($plot.checked(column.into(), &here("label")));
                $self
            }

            /// Colour scale of numbers: `"viridis"` (the default), `"cividis"`, `"magma"`, `"greys"` or `"bluered"`.
            #[track_caller]
            #[must_use = $must]
            pub fn color_map(mut $self, name: &str) -> Self {
                $plot.style.color_map = Some(plot::color_map(name, here("color_map")));
                $self
            }

            /// `"light"`, `"dark"` or `"auto"` (readable on both; the default).
            #[track_caller]
            #[must_use = $must]
            pub fn theme(mut $self, name: &str) -> Self {
                $plot.style.theme = plot::theme(name, here("theme"));
                $self
            }

            /// Title above the picture.
            #[must_use = $must]
            pub fn title(mut $self, text: impl Into<String>) -> Self {
                $plot.style.title = Some(text.into());
                $self
            }

            /// Alternative text for screen readers. Default: a description of the graph.
            #[must_use = $must]
            pub fn alt(mut $self, text: impl Into<String>) -> Self {
                $plot.style.alt = Some(text.into());
                $self
            }

            /// Whether there is a legend of the colours.
            #[must_use = $must]
            pub fn legend(mut $self, shown: bool) -> Self {
                $plot.style.legend = Some(shown);
                $self
            }

            /// Title of the legend. Default: the column's name.
            #[must_use = $must]
            pub fn legend_title(mut $self, text: impl Into<String>) -> Self {
                $plot.style.legend_title = Some(text.into());
                $self
            }

            /// Width in pixels.
            #[must_use = $must]
            pub fn width(mut $self, pixels: u32) -> Self {
                $plot.style.width = Some(pixels);
                $self
            }

            /// Height in pixels.
            #[must_use = $must]
            pub fn height(mut $self, pixels: u32) -> Self {
                $plot.style.height = Some(pixels);
                $self
            }
        }
    };
}
builder!(GraphPlot, "a plot is shown at the end of a cell, by `show(&plot)`, or by `.save(path)`", |self| self);
builder!(GraphView, "a view is shown at the end of a cell, or by `show(&view)`", |self| self.plot);

impl Show for GraphPlot {
    fn content(&self) -> Option<Content> {
        Some(Content::Graph(self.drawn().1))
    }
}

impl fmt::Debug for GraphPlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if crate::display::offer(self, || Content::Graph(self.drawn().1)) {
            return Ok(());
        }
        self.describe("Plot", f)
    }
}

impl GraphView {
    fn shown(&self) -> Content {
        let (request, plot) = self.plot.drawn();
        Content::GraphView { id: self.id.clone(), request: Box::new(request), plot }
    }
}

impl Show for GraphView {
    fn content(&self) -> Option<Content> {
        Some(self.shown())
    }
}

impl fmt::Debug for GraphView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if crate::display::offer(self, || self.shown()) {
            return Ok(());
        }
        self.plot.describe("View", f)
    }
}
