//! The shapes of a plot: bars, lines, areas, points, boxes and cells in drawn positions. Placed by `data.rs`, drawn by
//! `marks.rs`.

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
    /// A PNG in base64, from its lower left to its upper right corner.
    Image {
        png: String,
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
    pub fn unnamed_color(&self) -> Option<RGBColor> {
        match self {
            Shape::Bar { series, color, .. }
            | Shape::Line { series, color, .. }
            | Shape::Area { series, color, .. }
            | Shape::Points { series, color, .. } => Some(*color).filter(|_| series.is_empty()),
            _ => None,
        }
    }

    /// The positions that must lie within an axis.
    pub fn extent(&self, is_x: bool) -> Vec<f64> {
        let pick = |p: &(f64, f64)| if is_x { p.0 } else { p.1 };
        match self {
            Shape::Bar { x, y, .. } | Shape::Image { x, y, .. } => {
                let (a, b) = if is_x { *x } else { *y };
                vec![a, b]
            }
            Shape::Line { points, .. } | Shape::Points { points, .. } => points.iter().map(pick).collect(),
            Shape::Area { upper, lower, .. } => upper.iter().chain(lower).map(pick).collect(),
            Shape::ColoredPoints { points, .. } => points.iter().map(|p| if is_x { p.x } else { p.y }).collect(),
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
