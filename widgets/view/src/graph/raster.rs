//! Counts of nodes and edges at pixels as a shaded picture: edges grey, nodes in the colours of a map, both on a logarithmic
//! scale as in datashader. Pixels without either are transparent.

use onrush_wire::plot::ColorMap;
use plotters::style::RGBColor;
use resvg::tiny_skia::{ColorU8, Pixmap};

use crate::plot::theme::scale_color;

/// The opacity of pixels with one edge, and with the most edges.
const EDGES: (f64, f64) = (0.06, 0.55);
const NODES: (f64, f64) = (0.55, 1.0);
/// The part of the colour map that can be seen on light and on dark pages.
const MAP: (f64, f64) = (0.15, 0.9);

/// Nodes are widened by a pixel if fewer of them have a neighbor: the threshold of datashader's `dynspread`.
const CROWDED: f64 = 0.5;

/// The shaded picture. `None` if the counts do not fit the size, or if it has no pixels.
pub fn shade(width: u32, height: u32, nodes: &[u32], edges: &[u32], map: ColorMap) -> Option<Pixmap> {
    let size = (width as usize).checked_mul(height as usize)?;
    if nodes.len() != size || edges.len() != size {
        return None;
    }
    if size == 0 || has_neighbors(nodes, width as usize) > CROWDED {
        return paint(width, height, nodes, edges, map);
    }
    paint(width, height, &widened(nodes, width as usize), edges, map)
}

/// The share of the pixels with nodes that have another one next to them.
fn has_neighbors(counts: &[u32], width: usize) -> f64 {
    let (mut all, mut with) = (0u32, 0u32);
    for at in (0..counts.len()).filter(|at| counts[*at] > 0) {
        all += 1;
        with += u32::from(around(at, counts.len(), width).any(|near| near != at && counts[near] > 0));
    }
    if all == 0 { 1.0 } else { f64::from(with) / f64::from(all) }
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
    shade(width, height, nodes, edges, map)?.encode_png().ok()
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
mod tests {
    use super::*;

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
        assert_eq!(has_neighbors(&counts, 5), 0.0);
        let wide = widened(&counts, 5);
        let rows: Vec<&[u32]> = wide.chunks(5).collect();
        assert_eq!(rows, [[3, 3, 0, 0, 0], [3, 3, 1, 1, 0], [0, 1, 1, 1, 0], [0, 1, 1, 1, 0], [0; 5]]);
        assert_eq!(has_neighbors(&wide, 5), 1.0);
        assert_eq!(has_neighbors(&[0; 25], 5), 1.0);
    }
}
