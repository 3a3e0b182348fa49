//! Panels of a grid of columns: those of a column share x, those of a row share y.

use super::super::shapes::Shape;
use super::Panel;

/// The share of the height of a panel that the highest bar of a histogram has.
const HIGHEST: f64 = 0.95;

/// Gives the panels of a grid their common ranges. Counts of a histogram are scaled to the y axis of its row.
pub(super) fn share(panels: &mut [Panel], columns: usize) {
    let columns = columns.max(1);
    for column in 0..columns {
        let of_column = || (column..panels.len()).step_by(columns);
        let low = of_column().map(|i| panels[i].data.x.low).fold(f64::INFINITY, f64::min);
        let high = of_column().map(|i| panels[i].data.x.high).fold(f64::NEG_INFINITY, f64::max);
        of_column().collect::<Vec<_>>().into_iter().for_each(|i| {
            (panels[i].data.x.low, panels[i].data.x.high) = (low, high);
        });
    }
    for row in panels.chunks_mut(columns) {
        let points = || row.iter().filter(|panel| !panel.data.histogram);
        let low = points().map(|panel| panel.data.y.low).fold(f64::INFINITY, f64::min);
        let high = points().map(|panel| panel.data.y.high).fold(f64::NEG_INFINITY, f64::max);
        let Some(shared) = points().next().map(|panel| panel.data.y.clone()) else { continue };
        for panel in row {
            let data = &mut panel.data;
            if data.histogram {
                let top = if data.y.high > 0.0 { data.y.high } else { 1.0 };
                let scaled = |count: f64| low + (high - low) * HIGHEST * count / top;
                for shape in &mut data.shapes {
                    if let Shape::Bar { y, .. } = shape {
                        *y = (scaled(y.0), scaled(y.1));
                    }
                }
                data.is_scaled = true;
                data.y = shared.clone();
            }
            (data.y.low, data.y.high) = (low, high);
        }
    }
}
