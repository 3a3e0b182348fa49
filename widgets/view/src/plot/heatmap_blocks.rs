//! Downsampling of large matrices: means of blocks of cells.

use onrush_wire::plot::{Axis, Layer, Plot};

/// Cells of a heat map's side.
pub const CELLS: usize = 100;

/// Replaces a heat map with too many cells by one with blocks; a note has the size of the blocks.
pub fn fitting(plot: &Plot) -> Plot {
    let mut fitting = plot.clone();
    let own = fitting.layers.iter_mut().chain(fitting.facets.iter_mut().flat_map(|facet| &mut facet.layers));
    for layer in own.filter(|layer| is_large(layer)) {
        let Layer::HeatMap { x, y, values, .. } = layer else { continue };
        let (across, up) = (width(values).div_ceil(CELLS), values.len().div_ceil(CELLS));
        *values = blocks(values, across, up);
        thin(x, across);
        thin(y, up);
        let note = format!("means of blocks of {across} × {up} cells");
        if !fitting.notes.contains(&note) {
            fitting.notes.push(note);
        }
    }
    fitting
}

fn is_large(layer: &Layer) -> bool {
    matches!(layer, Layer::HeatMap { values, .. } if values.len().max(width(values)) > CELLS)
}

fn width(values: &[Vec<Option<f64>>]) -> usize {
    values.iter().map(Vec::len).max().unwrap_or(0)
}

/// Means of the finite values.
fn blocks(values: &[Vec<Option<f64>>], across: usize, up: usize) -> Vec<Vec<Option<f64>>> {
    let mean = |rows: &[Vec<Option<f64>>], column: usize| {
        let cells = rows.iter().flat_map(|row| row.iter().skip(column * across).take(across));
        let (mut sum, mut count) = (0.0, 0.0);
        for value in cells.flatten().filter(|value| value.is_finite()) {
            sum += value;
            count += 1.0;
        }
        (count > 0.0).then(|| sum / count)
    };
    let columns = width(values).div_ceil(across);
    values.chunks(up).map(|rows| (0..columns).map(|column| mean(rows, column)).collect()).collect()
}

/// A block is named after its first and last cell.
fn thin(axis: &mut Axis, every: usize) {
    let name = |cells: &[String]| match cells {
        [first, .., last] => format!("{first} to {last}"),
        one => one.concat(),
    };
    axis.categories = axis.categories.chunks(every).map(name).collect();
}
