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

/// The shaded picture. `None` if the counts do not fit the size, or if it has no pixels.
pub fn shade(width: u32, height: u32, nodes: &[u32], edges: &[u32], map: ColorMap) -> Option<Pixmap> {
    let size = (width as usize).checked_mul(height as usize)?;
    if nodes.len() != size || edges.len() != size {
        return None;
    }
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
        let pixels = shade(4, 1, &[0, 0, 0, 9], &[0, 1, 100, 100], ColorMap::Viridis).unwrap();
        let alphas: Vec<u8> = pixels.pixels().iter().map(|pixel| pixel.alpha()).collect();
        // 0.06 and 0.55 of 255; the node covers what is below.
        assert_eq!(alphas, [0, 15, 140, 255]);
        // Grey is drawn as grey.
        let edge = pixels.pixels()[2].demultiply();
        assert!(edge.red().abs_diff(0x80) < 2 && edge.red() == edge.green() && edge.green() == edge.blue());
        assert!(shade(4, 1, &[0; 3], &[0; 4], ColorMap::Viridis).is_none());
        assert!(shade(0, 0, &[], &[], ColorMap::Viridis).is_none());
        assert!(png(2, 2, &[0; 4], &[0; 4], ColorMap::Magma).unwrap().starts_with(b"\x89PNG"));
    }
}
