//! Annotations of a plot: shaded spans and text at positions. Reference lines are [`super::Rule`]s.

use serde::{Deserialize, Serialize};

/// Drawn in addition to the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Annotations {
    pub spans: Vec<ShadedSpan>,
    pub texts: Vec<PlotText>,
}

impl Annotations {
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.texts.is_empty()
    }
}

/// A shaded part of an axis, from edge to edge of the plot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShadedSpan {
    /// In values of the axis: numbers, or seconds since 1970-01-01.
    pub low: f64,
    pub high: f64,
    /// Part of the x axis. If not, part of the y axis.
    pub is_vertical: bool,
    pub label: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlotText {
    pub x: PlotPosition,
    pub y: PlotPosition,
    pub text: String,
}

/// A position on an axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PlotPosition {
    /// A number, or seconds since 1970-01-01.
    Number(f64),
    /// A category, or a date or timestamp: `2013-07-04`, `2013-07-04 12:30`.
    Name(String),
}
