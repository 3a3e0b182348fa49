//! Counts of nodes and edges at pixels as a shaded picture. Edges are grey, nodes have the colours of a map, both on a
//! logarithmic scale as in datashader. Pixels without either are transparent.

use base64::Engine as _;
use onrush_wire::plot::ColorMap;
use onrush_wire::visual::{Drawing, GraphPlot};
use plotters::style::RGBColor;
use resvg::tiny_skia::{ColorU8, Pixmap};

use crate::plot::shade::neighbored;
use crate::plot::theme::scale_color;

/// The opacity of pixels with one edge, and with the most edges.
const EDGES: (f64, f64) = (0.06, 0.55);
const NODES: (f64, f64) = (0.55, 1.0);
/// The part of the colour map that can be seen on light and on dark pages.
const MAP: (f64, f64) = (0.15, 0.9);

/// Nodes are widened by a pixel if fewer of them have a neighbor: the threshold of datashader's `dynspread`.
const CROWDED: f64 = 0.5;

/// The shaded raster of a picture, which its SVG, its PNG and its data share.
pub struct ShadedRaster {
    /// The pixels as PNG, in base64.
    pub png: String,
}

impl ShadedRaster {
    /// `None` for a picture with points, and for a raster whose counts do not fit its size.
    pub fn of(plot: &GraphPlot) -> Option<ShadedRaster> {
        let Drawing::Raster(raster) = &plot.drawing else { return None };
        let map = plot.style.color_map.unwrap_or_default();
        let pixels = shade(raster.width, raster.height, &raster.node_counts, &raster.edge_counts, map)?;
        let png = base64::engine::general_purpose::STANDARD.encode(crate::png::encode(&pixels).ok()?);
        Some(ShadedRaster { png })
    }
}

/// The shaded picture. `None` if the counts do not fit the size, or if it has no pixels.
fn shade(width: u32, height: u32, nodes: &[u32], edges: &[u32], map: ColorMap) -> Option<Pixmap> {
    #[cfg(test)]
    tests::SHADED.set(tests::SHADED.get() + 1);
    let size = (width as usize).checked_mul(height as usize)?;
    if nodes.len() != size || edges.len() != size {
        return None;
    }
    let has_neighbors = || neighbored(nodes.len(), width as usize, 1, |at| nodes[at] > 0);
    if size == 0 || has_neighbors() > CROWDED {
        return paint(width, height, nodes, edges, map);
    }
    paint(width, height, &widened(nodes, width as usize), edges, map)
}

/// Each pixel with the largest count of itself and its neighbors.
fn widened(counts: &[u32], width: usize) -> Vec<u32> {
    let mut wide = counts.to_vec();
    for at in (0..counts.len()).filter(|at| counts[*at] > 0) {
        around(at, counts.len(), width).for_each(|near| wide[near] = wide[near].max(counts[at]));
    }
    wide
}

/// The positions of a pixel and of those next to it, also diagonally.
fn around(at: usize, length: usize, width: usize) -> impl Iterator<Item = usize> {
    let (row, column) = (at / width, at % width);
    let rows = row.saturating_sub(1)..=(row + 1).min(length / width - 1);
    let columns = column.saturating_sub(1)..=(column + 1).min(width - 1);
    rows.flat_map(move |row| columns.clone().map(move |column| row * width + column))
}

fn paint(width: u32, height: u32, nodes: &[u32], edges: &[u32], map: ColorMap) -> Option<Pixmap> {
    let mut pixels = Pixmap::new(width, height)?;
    let (most_nodes, most_edges) = (nodes.iter().max()?, edges.iter().max()?);
    let grey = RGBColor(0x80, 0x80, 0x80);
    for ((pixel, n), e) in pixels.pixels_mut().iter_mut().zip(nodes).zip(edges) {
        let mut color = [0.0; 4];
        if *e > 0 {
            color = over(grey, between(EDGES, level(*e, *most_edges)), color);
        }
        if *n > 0 {
            let level = level(*n, *most_nodes);
            color = over(scale_color(map, between(MAP, level)), between(NODES, level), color);
        }
        let [r, g, b, a] = color.map(|value| (value * 255.0).round() as u8);
        *pixel = ColorU8::from_rgba(r, g, b, a).premultiply();
    }
    Some(pixels)
}

/// The picture as PNG.
pub fn png(width: u32, height: u32, nodes: &[u32], edges: &[u32], map: ColorMap) -> Option<Vec<u8>> {
    crate::png::encode(&shade(width, height, nodes, edges, map)?).ok()
}

/// From 0 for one to 1 for the most.
fn level(count: u32, most: u32) -> f64 {
    if most <= 1 { 1.0 } else { f64::from(count).ln() / f64::from(most).ln() }
}

fn between((low, high): (f64, f64), level: f64) -> f64 {
    low + (high - low) * level
}

/// A colour over another one, neither premultiplied.
fn over(RGBColor(r, g, b): RGBColor, alpha: f64, [r0, g0, b0, a0]: [f64; 4]) -> [f64; 4] {
    let a = alpha + a0 * (1.0 - alpha);
    let mix = |new: u8, old: f64| (f64::from(new) / 255.0 * alpha + old * a0 * (1.0 - alpha)) / a;
    [mix(r, r0), mix(g, g0), mix(b, b0), a]
}

#[cfg(test)]
pub mod tests {
    use super::*;

    thread_local! {
        /// Calls of [`shade`] on this thread.
        pub static SHADED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    }

    #[test]
    fn empty_pixels_are_transparent_and_more_is_stronger() {
        let pixels = paint(4, 1, &[0, 0, 0, 9], &[0, 1, 100, 100], ColorMap::Viridis).unwrap();
        let alphas: Vec<u8> = pixels.pixels().iter().map(|pixel| pixel.alpha()).collect();
        // 0.06 and 0.55 of 255; the node covers what is below.
        assert_eq!(alphas, [0, 15, 140, 255]);
        // Grey is drawn as grey.
        let edge = pixels.pixels()[2].demultiply();
        assert!(edge.red().abs_diff(0x80) < 2 && edge.red() == edge.green() && edge.green() == edge.blue());
        assert!(shade(1, 4, &[1; 4], &[0; 4], ColorMap::Viridis).is_some());
        assert!(shade(4, 1, &[0; 3], &[0; 4], ColorMap::Viridis).is_none());
        assert!(shade(0, 0, &[], &[], ColorMap::Viridis).is_none());
        assert!(png(2, 2, &[0; 4], &[0; 4], ColorMap::Magma).unwrap().starts_with(b"\x89PNG"));
    }

    #[test]
    fn single_nodes_become_larger_and_crowds_do_not() {
        // A corner, and the middle of five rows of five.
        let mut counts = [0; 25];
        (counts[0], counts[12]) = (3, 1);
        let has_neighbors = |counts: &[u32]| neighbored(counts.len(), 5, 1, |at| counts[at] > 0);
        assert_eq!(has_neighbors(&counts), 0.0);
        let wide = widened(&counts, 5);
        let rows: Vec<&[u32]> = wide.chunks(5).collect();
        assert_eq!(rows, [[3, 3, 0, 0, 0], [3, 3, 1, 1, 0], [0, 1, 1, 1, 0], [0, 1, 1, 1, 0], [0; 5]]);
        assert_eq!(has_neighbors(&wide), 1.0);
        assert_eq!(has_neighbors(&[0; 25]), 1.0);
    }
}
