//! The kinds of layers, and one table of the facts about each kind. The prelude, the session and the drawing look facts
//! up here.

use serde::{Deserialize, Serialize};

use super::{AxisScale, Layer};

/// The kind of a layer. New variants are appended, so that the encoding of the others stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mark {
    #[default]
    Bar,
    Line,
    Scatter,
    Area,
    Histogram,
    Box,
    HeatMap,
    /// A smooth histogram whose area is 1.
    Density,
    /// Pearson's coefficient of each pair of numeric columns; takes no columns.
    Correlation,
    /// All rows, counted at each pixel.
    Raster,
    /// Lines through the rows of each group, counted at each pixel.
    RasterLines,
    /// Empirical cumulative distribution function.
    Ecdf,
    /// A density estimate for each category, with quartiles inside.
    Violin,
    /// A point for each row, with jitter inside its category.
    Strip,
    /// The mean of each `x` with an error bar.
    PointPlot,
    /// Error bars from `y` to the only one of `more_y`.
    ErrorBars,
    /// An area from `y` to the only one of `more_y`.
    Band,
    /// A regression line by ordinary least squares, with the 95 % confidence band of the mean.
    Regression,
    /// Rows counted in a hexagonal grid.
    Hexbin,
    /// A scatter plot for each pair of the columns in `more_y`, histograms on the diagonal.
    Pair,
    /// `y` is the opening price; `more_y` has the high, low and closing price.
    Candlestick,
    /// Receiver operating characteristic of scores (`y`) for a truth (`x`).
    Roc,
    /// Precision-recall curve of scores (`y`) for a truth (`x`).
    PrecisionRecall,
    /// Rows of each pair of truth (`x`) and prediction (`y`).
    ConfusionMatrix,
    /// Regions of a map, coloured by a value of each: `x` names the region.
    Choropleth,
    /// A line of horizontal and vertical pieces through the points.
    Step(StepPosition),
}

/// The place between two points at which a step line changes, by the names of matplotlib: `pre`, `post`, `mid`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StepPosition {
    /// At the left point: a value holds to the left of its point.
    #[default]
    Pre,
    /// At the right point: a value holds to the right of its point.
    Post,
    /// Half-way.
    Mid,
}

/// The facts about a mark.
#[derive(Clone, Copy, Debug)]
pub struct MarkInfo {
    /// The method of a plot that adds a layer.
    pub method: &'static str,
    /// The columns that the method takes.
    pub columns: &'static [&'static str],
    /// The methods that set options of the layer.
    pub options: &'static [&'static str],
    /// The layer in a message, after "a".
    pub name: &'static str,
    /// The layer in the text for screen readers.
    pub description: &'static str,
    pub shape: SeriesShape,
    /// Whether a list of columns for `y` is a list of series.
    pub has_several_y: bool,
    /// Whether it is a distribution of `x`, whose y axis counts.
    pub is_distribution: bool,
    pub can_be_horizontal: bool,
    /// Whether it can be drawn on a map.
    pub is_on_maps: bool,
    /// Whether it is a map without a call of `map`.
    pub is_map: bool,
    /// Whether it is a picture of pixels, which a session draws again for other windows. It has no Vega-Lite.
    pub is_raster: bool,
}

/// The shapes of series of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesShape {
    /// From zero.
    Bars,
    Lines,
    /// Lines on an axis from zero.
    LinesFromZero,
    /// Filled to zero.
    Areas,
    Points,
    /// With jitter inside their categories.
    Strip,
}

/// The facts of marks that have nothing special.
const PLAIN: MarkInfo = MarkInfo {
    method: "",
    columns: &["x", "y"],
    options: &[],
    name: "",
    description: "",
    shape: SeriesShape::Points,
    has_several_y: false,
    is_distribution: false,
    can_be_horizontal: false,
    is_on_maps: false,
    is_map: false,
    is_raster: false,
};

impl Mark {
    /// All marks, in the order of messages.
    pub const ALL: [Mark; 26] = [
        Mark::Bar,
        Mark::Line,
        Mark::Step(StepPosition::Pre),
        Mark::Area,
        Mark::Scatter,
        Mark::Histogram,
        Mark::Density,
        Mark::Box,
        Mark::HeatMap,
        Mark::Raster,
        Mark::RasterLines,
        Mark::Choropleth,
        Mark::Correlation,
        Mark::Ecdf,
        Mark::Violin,
        Mark::Strip,
        Mark::PointPlot,
        Mark::ErrorBars,
        Mark::Band,
        Mark::Regression,
        Mark::Hexbin,
        Mark::Pair,
        Mark::Candlestick,
        Mark::Roc,
        Mark::PrecisionRecall,
        Mark::ConfusionMatrix,
    ];

    /// Looks up the facts about the mark.
    #[expect(clippy::too_many_lines, reason = "a table: a row for each mark")]
    pub const fn info(self) -> MarkInfo {
        match self {
            Mark::Bar => MarkInfo {
                method: "bar",
                options: &["aggregate", "every", "color"],
                name: "bar chart",
                description: "bar chart",
                shape: SeriesShape::Bars,
                has_several_y: true,
                can_be_horizontal: true,
                ..PLAIN
            },
            Mark::Line => MarkInfo {
                method: "line",
                options: &["aggregate", "every", "color"],
                name: "line chart",
                description: "line chart",
                shape: SeriesShape::Lines,
                has_several_y: true,
                ..PLAIN
            },
            Mark::Step(_) => MarkInfo {
                method: "step",
                options: &["aggregate", "every", "color", "step_where"],
                name: "step line",
                description: "step line",
                shape: SeriesShape::Lines,
                has_several_y: true,
                ..PLAIN
            },
            Mark::Area => MarkInfo {
                method: "area",
                options: &["aggregate", "every", "color"],
                name: "area chart",
                description: "area chart",
                shape: SeriesShape::Areas,
                has_several_y: true,
                ..PLAIN
            },
            Mark::Scatter => MarkInfo {
                method: "scatter",
                options: &["size_by", "color"],
                name: "scatter plot",
                description: "scatter plot",
                has_several_y: true,
                is_on_maps: true,
                ..PLAIN
            },
            Mark::Histogram => MarkInfo {
                method: "hist",
                columns: &["x"],
                options: &["bins", "color"],
                name: "histogram",
                description: "histogram",
                shape: SeriesShape::Bars,
                is_distribution: true,
                can_be_horizontal: true,
                ..PLAIN
            },
            Mark::Density => MarkInfo {
                method: "density",
                columns: &["x"],
                options: &["bandwidth", "color"],
                name: "density",
                description: "density",
                shape: SeriesShape::Areas,
                is_distribution: true,
                ..PLAIN
            },
            Mark::Box => MarkInfo {
                method: "box_plot",
                name: "box plot",
                description: "box plot",
                can_be_horizontal: true,
                ..PLAIN
            },
            Mark::HeatMap => MarkInfo {
                method: "heatmap",
                options: &["aggregate", "bins", "color"],
                name: "heat map",
                description: "heat map",
                ..PLAIN
            },
            Mark::Raster => MarkInfo {
                method: "raster",
                options: &["aggregate", "color", "how", "spread"],
                name: "raster",
                description: "raster",
                is_on_maps: true,
                is_raster: true,
                ..PLAIN
            },
            Mark::RasterLines => MarkInfo {
                method: "raster_lines",
                options: &["color", "by", "how", "spread"],
                name: "raster of lines",
                description: "raster",
                is_on_maps: true,
                is_raster: true,
                ..PLAIN
            },
            Mark::Choropleth => MarkInfo {
                method: "choropleth",
                columns: &["region", "value"],
                options: &["aggregate", "shapes"],
                name: "choropleth",
                description: "choropleth",
                is_on_maps: true,
                is_map: true,
                ..PLAIN
            },
            Mark::Correlation => MarkInfo {
                method: "correlation",
                columns: &[],
                name: "correlation matrix",
                description: "heat map",
                ..PLAIN
            },
            Mark::Ecdf => MarkInfo {
                method: "ecdf",
                columns: &["x"],
                options: &["color", "by"],
                name: "cumulative distribution",
                description: "cumulative distribution",
                shape: SeriesShape::LinesFromZero,
                is_distribution: true,
                ..PLAIN
            },
            Mark::Violin => MarkInfo {
                method: "violin",
                options: &["bandwidth"],
                name: "violin plot",
                description: "violin plot",
                can_be_horizontal: true,
                ..PLAIN
            },
            Mark::Strip => MarkInfo {
                method: "strip",
                options: &["color"],
                name: "strip plot",
                description: "strip plot",
                shape: SeriesShape::Strip,
                can_be_horizontal: true,
                ..PLAIN
            },
            Mark::PointPlot => MarkInfo {
                method: "point_plot",
                options: &["error", "color"],
                name: "point plot",
                description: "point plot",
                ..PLAIN
            },
            Mark::ErrorBars => MarkInfo {
                method: "error_bars",
                columns: &["x", "low", "high"],
                options: &["color"],
                name: "set of error bars",
                description: "error bars",
                ..PLAIN
            },
            Mark::Band => MarkInfo {
                method: "band",
                columns: &["x", "low", "high"],
                options: &["color"],
                name: "band",
                description: "band",
                ..PLAIN
            },
            Mark::Regression => MarkInfo {
                method: "regression",
                options: &["color"],
                name: "regression line",
                description: "regression line with its 95 % confidence band",
                ..PLAIN
            },
            Mark::Hexbin => MarkInfo {
                method: "hexbin",
                options: &["bins"],
                name: "hexbin plot",
                description: "hexbin plot",
                ..PLAIN
            },
            Mark::Pair => {
                MarkInfo { method: "pair", columns: &["columns"], options: &["color"], name: "pair plot", ..PLAIN }
            }
            Mark::Candlestick => MarkInfo {
                method: "candlestick",
                columns: &["x", "open", "high", "low", "close"],
                name: "candlestick chart",
                description: "candlestick chart",
                ..PLAIN
            },
            Mark::Roc => MarkInfo {
                method: "roc",
                columns: &["truth", "score"],
                name: "ROC curve",
                description: "ROC curve",
                shape: SeriesShape::LinesFromZero,
                has_several_y: true,
                ..PLAIN
            },
            Mark::PrecisionRecall => MarkInfo {
                method: "precision_recall",
                columns: &["truth", "score"],
                name: "precision-recall curve",
                description: "precision-recall curve",
                shape: SeriesShape::LinesFromZero,
                has_several_y: true,
                ..PLAIN
            },
            Mark::ConfusionMatrix => MarkInfo {
                method: "confusion_matrix",
                columns: &["truth", "predicted"],
                name: "confusion matrix",
                description: "heat map",
                ..PLAIN
            },
        }
    }

    /// Whether the mark takes an option. An option that no mark lists belongs to the plot, and every mark takes it.
    pub fn takes(self, option: &str) -> bool {
        self.info().options.contains(&option) || Mark::ALL.iter().all(|mark| !mark.info().options.contains(&option))
    }
}

impl Layer {
    /// Whether coloured points lie between the categories of their x axis, as in a strip plot.
    pub fn is_spread(&self) -> bool {
        match self {
            Layer::Points { x, xs, .. } => x.scale == AxisScale::Category && xs.iter().any(|at| at.fract() != 0.0),
            _ => false,
        }
    }

    /// The mark whose facts hold for a computed layer. Matrices are heat maps, and panels of pairs are their parts.
    pub fn mark(&self) -> Mark {
        match self {
            Layer::Xy { mark, .. } => *mark,
            Layer::Points { .. } if self.is_spread() => Mark::Strip,
            Layer::Points { .. } => Mark::Scatter,
            Layer::Histogram { .. } => Mark::Histogram,
            Layer::Box { .. } => Mark::Box,
            Layer::HeatMap { .. } => Mark::HeatMap,
            Layer::Raster(_) => Mark::Raster,
            Layer::Intervals { series, is_band, .. } => match (is_band, series.iter().any(|one| !one.y.is_empty())) {
                (true, true) => Mark::Regression,
                (true, false) => Mark::Band,
                (false, true) => Mark::PointPlot,
                (false, false) => Mark::ErrorBars,
            },
            Layer::Violins { .. } => Mark::Violin,
            Layer::Hexagons(_) => Mark::Hexbin,
            Layer::Candles(_) => Mark::Candlestick,
            Layer::Choropleth(_) => Mark::Choropleth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of each mark of postcard: its place among the variants. Old requests stay readable if these stay.
    #[test]
    fn every_mark_is_listed_and_keeps_its_encoding() {
        let order = [
            "bar",
            "line",
            "scatter",
            "area",
            "hist",
            "box_plot",
            "heatmap",
            "density",
            "correlation",
            "raster",
            "raster_lines",
            "ecdf",
            "violin",
            "strip",
            "point_plot",
            "error_bars",
            "band",
            "regression",
            "hexbin",
            "pair",
            "candlestick",
            "roc",
            "precision_recall",
            "confusion_matrix",
            "choropleth",
            "step",
        ];
        let decoded = |byte: u8| postcard::from_bytes::<Mark>(&[byte, 0]);
        for (byte, method) in (0..).zip(order) {
            assert_eq!(decoded(byte).unwrap().info().method, method);
        }
        assert!(decoded(order.len() as u8).is_err());
        assert_eq!(Mark::ALL.len(), order.len());
        for (index, mark) in Mark::ALL.iter().enumerate() {
            assert!(Mark::ALL[..index].iter().all(|other| other != mark), "{mark:?} is listed twice");
        }
    }
}
