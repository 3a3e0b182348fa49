//! Hexagonal binning: rows counted in two shifted grids of rectangles (Carr et al. 1987), cell by cell as
//! `matplotlib.axes.Axes.hexbin` does.

use std::collections::BTreeMap;

use onrush_stats::Extent;
use onrush_wire::Diagnostic;
use onrush_wire::plot::{Hexagons, Layer, LayerRequest, PlotStyle};

use super::axis_values::{Values, each_of};
use super::{Source, needed};

/// Hexagons along x if the user does not say how many, and the most.
const ACROSS: u32 = 40;
const MOST: u32 = 200;

/// The two grids: `nx + 1` by `ny + 1` points, and `nx` by `ny` points between them.
#[derive(Clone, Copy, Debug)]
struct Grid {
    nx: i64,
    ny: i64,
    x: (f64, f64),
    y: (f64, f64),
}

impl Grid {
    fn new(across: u32, x: &Extent, y: &Extent) -> Self {
        let (x, y) = (nonsingular(x.low, x.high), nonsingular(y.low, y.high));
        // Padding against rounding errors at the ends.
        let padding = 1e-9 * (x.1 - x.0);
        let x = (x.0 - padding, x.1 + padding);
        Grid { nx: i64::from(across), ny: (f64::from(across) / 3f64.sqrt()) as i64, x, y }
    }

    fn size(&self) -> (f64, f64) {
        ((self.x.1 - self.x.0) / self.nx as f64, (self.y.1 - self.y.0) / self.ny.max(1) as f64)
    }

    /// Column and row of the nearest centre, in half steps.
    fn cell(&self, x: f64, y: f64) -> (i64, i64) {
        let size = self.size();
        let (x, y) = ((x - self.x.0) / size.0, (y - self.y.0) / size.1);
        let near = (x.round_ties_even(), y.round_ties_even());
        let below = (x.floor(), y.floor());
        let first = (x - near.0).powi(2) + 3.0 * (y - near.1).powi(2);
        let second = (x - below.0 - 0.5).powi(2) + 3.0 * (y - below.1 - 0.5).powi(2);
        if first < second {
            (2 * near.0 as i64, 2 * near.1 as i64)
        } else {
            (2 * below.0 as i64 + 1, 2 * below.1 as i64 + 1)
        }
    }

    fn center(&self, (column, row): (i64, i64)) -> (f64, f64) {
        let size = self.size();
        (self.x.0 + size.0 * column as f64 / 2.0, self.y.0 + size.1 * row as f64 / 2.0)
    }
}

/// A range around a single value: `matplotlib.transforms.nonsingular` with an expander of 0.1.
fn nonsingular(low: f64, high: f64) -> (f64, f64) {
    let largest = low.abs().max(high.abs());
    if high - low > largest * 1e-15 {
        (low, high)
    } else if largest == 0.0 {
        (-0.1, 0.1)
    } else {
        (low - 0.1 * low.abs(), high + 0.1 * high.abs())
    }
}

impl Source<'_> {
    /// Rows in each hexagon; empty hexagons are left out (`mincnt=1`).
    pub(super) fn hexbin(&mut self, layer: &LayerRequest, style: &PlotStyle) -> Result<Layer, Diagnostic> {
        let x_expr = needed(layer.x.as_ref(), layer.mark, "x")?;
        let y_expr = needed(layer.y.as_ref(), layer.mark, "y")?;
        let rows = self.rows([Some(x_expr), Some(y_expr)])?;
        let x = Values::of(&rows, 0, x_expr)?.on_line("the x of a hexbin plot", x_expr)?;
        let y = Values::of(&rows, 1, y_expr)?.on_line("the y of a hexbin plot", y_expr)?;
        let drawn = |value: f64, log: bool| if log { value.log10() } else { value };
        let place = |x: f64, y: f64| {
            let (x, y) = (drawn(x, style.log_x), drawn(y, style.log_y));
            (x.is_finite() && y.is_finite()).then_some((x, y))
        };
        let (mut wide, mut high, mut left_out) = (Extent::default(), Extent::default(), 0);
        each_of(&rows, [Some(&x), Some(&y)], self.task, |[x, y]| match place(x, y) {
            Some((x, y)) => {
                wide.add(x);
                high.add(y);
            }
            None => left_out += 1,
        })?;
        self.left_out(left_out, "row", "no finite position");
        let mut counts: BTreeMap<(i64, i64), u64> = BTreeMap::new();
        if wide.count == 0 {
            (wide.low, wide.high, high.low, high.high) = (0.0, 1.0, 0.0, 1.0);
        }
        let grid = Grid::new(layer.bins.unwrap_or(ACROSS).clamp(2, MOST), &wide, &high);
        each_of(&rows, [Some(&x), Some(&y)], self.task, |[x, y]| {
            if let Some((x, y)) = place(x, y) {
                *counts.entry(grid.cell(x, y)).or_default() += 1;
            }
        })?;
        let (xs, ys) = counts.keys().map(|cell| grid.center(*cell)).unzip();
        let counts = counts.into_values().collect();
        Ok(Layer::Hexagons(Hexagons { x: x.axis(), y: y.axis(), size: grid.size(), xs, ys, counts }))
    }
}
