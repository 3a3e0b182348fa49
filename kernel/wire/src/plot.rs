//! Plots: what is asked of the session ([`PlotRequest`]) and what is drawn ([`Plot`]). The session aggregates (bins,
//! boxes, group means); the kernel process draws (`widgets/view`); rows never travel.

mod annotations;
mod layers;
pub mod marks;
mod packed;

pub use annotations::{Annotations, PlotPosition, PlotText, ShadedSpan};
pub use layers::{Candles, Hexagons, Interval, Violin};
pub use marks::{Mark, MarkInfo, SeriesShape};

use serde::{Deserialize, Serialize};

use crate::FrameId;
use crate::expr::Expr;
use crate::map::{Choropleth, Projection, ShapeSet};
use crate::window::Window;

/// A chart over a frame. The session answers with a [`Plot`] whose `layers` are filled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlotRequest {
    pub frame: FrameId,
    pub layers: Vec<LayerRequest>,
    pub style: PlotStyle,
    /// A panel for each value.
    pub facet: Option<Expr>,
}

impl PlotRequest {
    /// All expressions of the request.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let of_layers = self.layers.iter().flat_map(|layer| [&layer.x, &layer.y, &layer.color, &layer.size, &layer.by]);
        let more = self.layers.iter().flat_map(|layer| &layer.more_y);
        of_layers.chain([&self.facet]).flatten().chain(more)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayerRequest {
    pub mark: Mark,
    /// Column or expression; a histogram has `x` only, a box plot's `x` is the category.
    pub x: Option<Expr>,
    pub y: Option<Expr>,
    /// One series for each value (text) or a colour scale (numbers, heat map's cell value).
    pub color: Option<Expr>,
    /// The area of a scatter plot's points.
    pub size: Option<Expr>,
    /// Bins of a histogram or heat map; chosen from the data if `None`.
    pub bins: Option<u32>,
    /// How equal x positions combine in a bar or heat map: `sum`, `mean`, `count`, ...; `None` takes rows as they are.
    pub aggregate: Option<String>,
    /// Standard deviation of a density's kernel, in units of `x`; from the data if `None`.
    pub bandwidth: Option<f64>,
    /// Length of the time buckets in which rows are combined: `15m`, `1h`, `1d`, `1w`, `1mo`, `1y`. `None` if not
    /// given.
    pub every: Option<String>,
    /// Further columns for `y`, each a separate series.
    pub more_y: Vec<Expr>,
    /// The group of each row: a raster's lines connect the rows of one group.
    pub by: Option<Expr>,
    /// How a raster's values become colours. Default: [`Shading::EqHist`] for counts, else [`Shading::Linear`].
    pub how: Option<Shading>,
    /// Pixels by which each pixel of a raster is widened. Default: as in datashader's `dynspread`.
    pub spread: Option<u32>,
    /// Length of a point plot's error bars. Default: [`ErrorBar::Confidence`].
    pub error: Option<ErrorBar>,
    /// The regions of a choropleth. Default: those that the values name.
    pub shapes: Option<ShapeSet>,
}

/// Length of the error bars of a mean, by the names of seaborn: `ci`, `sd`, `se`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ErrorBar {
    /// The 95 % confidence interval of the mean, by Student's t distribution.
    #[default]
    Confidence,
    /// One standard deviation of the values at each side.
    Deviation,
    /// One standard error of the mean at each side.
    StandardError,
}

/// How the values of pixels become colours, by the names of datashader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Shading {
    Linear,
    Log,
    Cbrt,
    /// By rank: as many pixels have one part of the colours as another.
    EqHist,
}

/// The user's options of a plot's looks. `None` means a default from the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlotStyle {
    pub title: Option<String>,
    pub x_label: Option<String>,
    pub y_label: Option<String>,
    pub legend_title: Option<String>,
    /// Pixels.
    pub width: Option<u32>,
    pub height: Option<u32>,
    pub theme: Theme,
    pub log_x: bool,
    pub log_y: bool,
    /// Limits of the axes, in values. Ignored on an axis of categories.
    pub x_limits: Option<(f64, f64)>,
    pub y_limits: Option<(f64, f64)>,
    /// Whether bars are stacked. If not, they are next to each other.
    pub stacked: bool,
    pub legend: Option<bool>,
    /// Also emit a PNG.
    pub png: bool,
    /// How numbers (d3-format: `,.1f`, `.0%`) and times (strftime: `%b %Y`) of an axis are written.
    pub x_format: Option<String>,
    pub y_format: Option<String>,
    /// Alternative text of the picture; a description of the data if `None`.
    pub alt: Option<String>,
    pub color_map: Option<ColorMap>,
    /// Panels in a row.
    pub facet_columns: Option<u32>,
    /// Lines across the plot.
    pub rules: Vec<Rule>,
    /// Bars, boxes and bins lie: the first axis goes down the left side. Options of an axis apply to the axis as it is
    /// drawn.
    pub is_horizontal: bool,
    /// Whether each panel has a separate range.
    pub free_x: bool,
    pub free_y: bool,
    /// Opacity of points, bars, bins and areas, from 0 to 1; from the data if `None`.
    pub opacity: Option<f64>,
    /// Categories that come first on an axis, in this order.
    pub order: Vec<String>,
    pub annotations: Annotations,
    /// Panels form a grid: a column of panels has one x axis, a row one y axis.
    pub is_grid: bool,
    /// A base map under the data: x is the longitude and y the latitude in degrees, also of limits. Positions of
    /// rasters are projected already. `None` without a map.
    pub map: Option<Projection>,
}

/// A line at a value of an axis: `is_vertical` at one of the x axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    pub at: f64,
    pub is_vertical: bool,
    pub label: String,
}

/// Colours of numbers; each can be read without full colour vision, and its lightness alone tells the order (of
/// [`ColorMap::BlueRed`] the distance from the middle).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ColorMap {
    #[default]
    Viridis,
    Cividis,
    Magma,
    Greys,
    BlueRed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Theme {
    /// Readable on light and on dark pages: transparent background, mid-grey axes.
    #[default]
    Auto,
    Light,
    Dark,
}

/// A chart that can be drawn without any more data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    pub layers: Vec<Layer>,
    pub style: PlotStyle,
    /// Notes on data that was left out or reduced: `5 000 of 336 776 points shown`, `12 nulls left out`.
    pub notes: Vec<String>,
    /// Panels instead of `layers`, in this order.
    pub facets: Vec<Facet>,
    pub facet_label: String,
}

/// One panel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facet {
    pub name: String,
    pub layers: Vec<Layer>,
    /// Titles of its axes, if they differ from those of the plot's style.
    pub x_label: Option<String>,
    pub y_label: Option<String>,
    /// Lines across this panel, in addition to the lines of the style.
    pub rules: Vec<Rule>,
    pub annotations: Annotations,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Layer {
    /// Line, scatter, area, bar: one [`Series`] for each colour.
    Xy {
        mark: Mark,
        x: Axis,
        y: Axis,
        series: Vec<Series>,
    },
    /// A scatter plot whose points have a numeric colour, a size, or both. The lists are as long as `xs`, `colors` and
    /// `sizes` may be empty. A colour that is not finite is drawn grey. Points of one series have its colour instead.
    Points {
        x: Axis,
        y: Axis,
        name: String,
        xs: Vec<f64>,
        ys: Vec<f64>,
        colors: Vec<f64>,
        color_label: String,
        sizes: Vec<f64>,
        size_label: String,
        /// Smallest and largest size of all series.
        size_range: (f64, f64),
    },
    Histogram {
        x: Axis,
        series: Vec<Bins>,
    },
    Box {
        x: Axis,
        y: Axis,
        boxes: Vec<BoxStats>,
    },
    /// `values[row][column]`, rows from the bottom; null cells are `None`. With a `range` colours cover it, through a
    /// neutral one in its middle.
    HeatMap {
        x: Axis,
        y: Axis,
        values: Vec<Vec<Option<f64>>>,
        color_label: String,
        range: Option<(f64, f64)>,
    },
    Raster(Raster),
    /// Error bars, or bands around lines.
    Intervals {
        x: Axis,
        y: Axis,
        series: Vec<Interval>,
        is_band: bool,
    },
    Violins {
        x: Axis,
        y: Axis,
        violins: Vec<Violin>,
    },
    Hexagons(Hexagons),
    Candles(Candles),
    Choropleth(Choropleth),
}

/// Counts at each pixel of a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Raster {
    pub x: Axis,
    pub y: Axis,
    /// In drawn positions: the logarithm to base 10 on a logarithmic axis.
    pub window: Window,
    pub width: u32,
    pub height: u32,
    pub pixels: Pixels,
    /// The column or the aggregate of the colours: `rows`, `mean(fare)`.
    pub color_label: String,
    pub how: Option<Shading>,
    pub spread: Option<u32>,
    /// Rows inside the window.
    pub rows: u64,
}

/// Rows from the top, `width * height` entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pixels {
    Counts(#[serde(with = "packed")] Vec<u32>),
    /// An aggregate of a column. NaN without rows.
    Numbers(#[serde(with = "packed")] Vec<f32>),
    /// Counts for each category, in the order of `names`.
    Categories {
        names: Vec<String>,
        counts: Vec<Vec<u32>>,
    },
}

/// An axis. With `categories`, positions are indexes into them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    pub label: String,
    pub scale: AxisScale,
    pub categories: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AxisScale {
    Number,
    /// Positions are seconds since 1970-01-01.
    Time,
    Category,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Empty if there is only one.
    pub name: String,
    pub x: Vec<f64>,
    /// As long as `x`; NaN breaks a line.
    pub y: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bins {
    pub name: String,
    /// One more than `counts`.
    pub edges: Vec<f64>,
    pub counts: Vec<u64>,
}

/// Tukey's box: whiskers at the last point within 1.5 interquartile ranges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoxStats {
    pub category: String,
    pub low: f64,
    pub q1: f64,
    pub median: f64,
    pub q3: f64,
    pub high: f64,
    /// Different values beyond the whiskers, in order. If there are too many, some that are spread over them.
    pub outliers: Vec<f64>,
    /// The number of different values beyond the whiskers. The number of rows, if there are too many to compare them.
    pub different: u64,
    /// Rows beyond the whiskers.
    pub outside: u64,
    pub count: u64,
}
