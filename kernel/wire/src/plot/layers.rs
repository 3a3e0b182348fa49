//! Data of layers with intervals, violins, hexagons and candles.

use serde::{Deserialize, Serialize};

use super::{Axis, BoxStats};

/// Intervals of one series: error bars, or a band.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Empty if there is only one.
    pub name: String,
    pub x: Vec<f64>,
    /// The estimate inside each interval, as long as `x`. Empty if only the intervals are drawn.
    pub y: Vec<f64>,
    /// As long as `x`. NaN: no interval.
    pub low: Vec<f64>,
    pub high: Vec<f64>,
}

/// A density estimate of the values of one category, with its quartiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Violin {
    pub stats: BoxStats,
    /// Values, in ascending order.
    pub at: Vec<f64>,
    /// Densities at the values; the area of each violin is 1.
    pub density: Vec<f64>,
}

/// Counts of a hexagonal grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hexagons {
    pub x: Axis,
    pub y: Axis,
    /// Distance between the centres of neighbours along x, and twice the distance of rows along y.
    pub size: (f64, f64),
    /// Centres of the hexagons that are not empty. In drawn positions: the logarithm to base 10 on a logarithmic axis.
    pub xs: Vec<f64>,
    pub ys: Vec<f64>,
    pub counts: Vec<u64>,
}

/// Prices of each period. All lists are equally long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candles {
    pub x: Axis,
    pub y: Axis,
    pub at: Vec<f64>,
    pub open: Vec<f64>,
    pub high: Vec<f64>,
    pub low: Vec<f64>,
    pub close: Vec<f64>,
}
