//! The shapes of a plot: bars, lines, areas, points, boxes and cells in drawn positions. Placed by `data.rs`, drawn by
//! `marks.rs`.

use onrush_wire::map::ShapeSet;
use onrush_wire::plot::Mark;
use plotters::style::RGBColor;

/// In drawn positions; a y of negative infinity stands for the lower end of the axis.
pub enum Shape {
    Bar {
        series: String,
        /// The position of the bar; a bin has all of its width.
        at: Option<f64>,
        x: (f64, f64),
        y: (f64, f64),
        color: RGBColor,
        opacity: f64,
    },
    Line {
        series: String,
        /// The mark whose lines connect points in this way.
        mark: Mark,
        points: Vec<(f64, f64)>,
        color: RGBColor,
        dashes: Option<&'static str>,
    },
    /// From a base line (reversed) to the line above it.
    Area {
        series: String,
        upper: Vec<(f64, f64)>,
        lower: Vec<(f64, f64)>,
        color: RGBColor,
        opacity: f64,
    },
    Points {
        series: String,
        points: Vec<(f64, f64)>,
        color: RGBColor,
    },
    /// Points with a numeric colour, a size, or both; without a numeric colour they have the colour of their series.
    ColoredPoints {
        series: String,
        color: Option<RGBColor>,
        points: Vec<Point>,
    },
    /// A line at a value of an axis.
    Rule {
        at: f64,
        is_vertical: bool,
        label: String,
    },
    Box {
        x: f64,
        /// `x` is a position of the vertical axis.
        is_lying: bool,
        stats: [f64; 5],
        outliers: Vec<f64>,
        color: RGBColor,
    },
    Cell {
        column: usize,
        row: usize,
        value: f64,
        color: RGBColor,
    },
    /// A line from one value to another, with short lines across its ends.
    Interval {
        series: String,
        at: f64,
        ends: (f64, f64),
        color: RGBColor,
        /// In pixels; without a cap 0.
        width: f64,
        cap: f64,
    },
    Candle {
        series: String,
        at: f64,
        /// Half of the width of the body.
        half: f64,
        /// Opening, highest, lowest and closing price.
        prices: [f64; 4],
        color: RGBColor,
    },
    /// Hexagons of one size: twice the distance from the centre to the side along x, three times that to a corner along
    /// y.
    Hexagons {
        size: (f64, f64),
        points: Vec<(Point, RGBColor)>,
    },
    /// A shaded part of an axis.
    Span {
        ends: (f64, f64),
        is_vertical: bool,
        label: String,
    },
    Text {
        x: f64,
        y: f64,
        text: String,
    },
    /// A PNG in base64, from its lower left to its upper right corner.
    Image {
        png: String,
        x: (f64, f64),
        y: (f64, f64),
    },
    /// The regions of a map, by their places in `onrush_map::regions`, with a text of each. Regions that are not in the
    /// list have no value.
    Regions {
        set: ShapeSet,
        fills: Vec<(usize, RGBColor, String)>,
        x: (f64, f64),
        y: (f64, f64),
    },
}

#[derive(Clone, Copy)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// The value of the colour; NaN if there is none.
    pub value: f64,
    pub size: f64,
    /// Radius in pixels; `None` for the default.
    pub radius: Option<f64>,
}

impl Shape {
    /// The colour of a series that no legend names.
    fn unnamed_color(&self) -> Option<RGBColor> {
        match self {
            Shape::Bar { series, color, .. }
            | Shape::Line { series, color, .. }
            | Shape::Area { series, color, .. }
            | Shape::Interval { series, color, .. }
            | Shape::Points { series, color, .. } => Some(*color).filter(|_| series.is_empty()),
            _ => None,
        }
    }

    /// Whether one mark of Vega-Lite can draw both: shapes of one kind, mark and line width. Series without a name have
    /// the colour of their mark.
    pub fn shares_mark(&self, other: &Shape) -> bool {
        let line = |shape: &Shape| match shape {
            Shape::Line { mark, .. } => (Some(*mark), None),
            Shape::Interval { width, .. } => (None, Some(*width)),
            _ => (None, None),
        };
        let is_same_kind = std::mem::discriminant(self) == std::mem::discriminant(other);
        is_same_kind && self.unnamed_color() == other.unnamed_color() && line(self) == line(other)
    }

    /// Whether text at a position has no room at its right side.
    pub fn is_left_of(&self, x: f64, (low, high): (f64, f64)) -> bool {
        const RIGHT: f64 = 0.75;
        matches!(self, Shape::Text { .. }) && (x - low) / (high - low) > RIGHT
    }

    /// The positions that must lie within an axis.
    pub fn extent(&self, is_x: bool) -> Vec<f64> {
        let pick = |p: &(f64, f64)| if is_x { p.0 } else { p.1 };
        match self {
            Shape::Bar { x, y, .. } | Shape::Image { x, y, .. } | Shape::Regions { x, y, .. } => {
                let (a, b) = if is_x { *x } else { *y };
                vec![a, b]
            }
            Shape::Line { points, .. } | Shape::Points { points, .. } => points.iter().map(pick).collect(),
            Shape::Area { upper, lower, .. } => upper.iter().chain(lower).map(pick).collect(),
            Shape::ColoredPoints { points, .. } => points.iter().map(|p| if is_x { p.x } else { p.y }).collect(),
            Shape::Interval { at, ends, .. } => {
                if is_x {
                    vec![*at]
                } else {
                    vec![ends.0, ends.1]
                }
            }
            Shape::Candle { at, half, .. } if is_x => vec![at - half, at + half],
            Shape::Candle { prices, .. } => prices.to_vec(),
            Shape::Hexagons { size, points } => {
                let reach = if is_x { size.0 / 2.0 } else { size.1 / 3.0 };
                let middle = |point: &Point| if is_x { point.x } else { point.y };
                points.iter().flat_map(|(point, _)| [middle(point) - reach, middle(point) + reach]).collect()
            }
            Shape::Span { ends, is_vertical, .. } => {
                if *is_vertical == is_x {
                    vec![ends.0, ends.1]
                } else {
                    vec![]
                }
            }
            Shape::Text { x, y, .. } => vec![if is_x { *x } else { *y }],
            Shape::Rule { at, is_vertical, .. } => {
                if *is_vertical == is_x {
                    vec![*at]
                } else {
                    vec![]
                }
            }
            Shape::Box { x, .. } if is_x => vec![x - 0.5, x + 0.5],
            Shape::Box { stats, outliers, .. } => stats.iter().chain(outliers).copied().collect(),
            Shape::Cell { column, row, .. } => vec![if is_x { *column as f64 } else { *row as f64 }],
        }
    }

    /// Removes shapes beyond a position; false if nothing is left.
    pub fn keep_below(&mut self, is_x: bool, limit: f64) -> bool {
        match self {
            Shape::Line { points, .. } | Shape::Points { points, .. } => {
                points.retain(|p| if is_x { p.0 } else { p.1 } < limit);
                !points.is_empty()
            }
            Shape::ColoredPoints { points, .. } => {
                points.retain(|p| if is_x { p.x } else { p.y } < limit);
                !points.is_empty()
            }
            Shape::Area { upper, lower, .. } => {
                upper.retain(|p| !is_x || p.0 < limit);
                lower.retain(|p| !is_x || p.0 < limit);
                !upper.is_empty()
            }
            other => other.extent(is_x).iter().all(|v| *v <= limit + 0.5),
        }
    }
}
