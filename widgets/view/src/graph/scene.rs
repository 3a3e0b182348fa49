//! The looks of nodes and links, in pixels: positions in an area, radii, colours, widths. Shared by the SVG and by the
//! data for the extension.

use onrush_wire::visual::{GraphPlot, NodeColor, NodeLink};
use plotters::style::RGBColor;

use crate::plot::data::color_at;
use crate::plot::theme::series_color;

/// Radius of the largest node if a column gives the sizes, in pixels.
const LARGEST: f64 = 16.0;
const SMALLEST: f64 = 2.0;
/// Widths of links in pixels.
const THIN: f64 = 0.7;
const THICK: f64 = 3.0;
/// The colour of nodes without a value.
const GREY: RGBColor = RGBColor(0x99, 0x99, 0x99);
/// The colours of a scale, so that they fit into a byte.
const SHADES: usize = 64;

/// Looks of the nodes and links of a picture.
pub struct Looks {
    pub radii: Vec<f64>,
    pub palette: Vec<RGBColor>,
    /// A position in the palette for each node.
    pub colors: Vec<u8>,
    /// The range of numeric colours.
    pub range: Option<(f64, f64)>,
    /// Valid links with their widths.
    pub links: Vec<(u32, u32, f64)>,
}

/// Characters of a shown id or label, as in `widgets/web/ts/graph/data.ts`.
const SHOWN: usize = 80;

/// The beginning of a long text, with an ellipsis.
pub fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_string(),
        Some(_) => text.chars().take(SHOWN - 1).chain(['…']).collect(),
    }
}

/// The text at a node.
pub fn label(points: &NodeLink, node: usize) -> String {
    points.labels.get(node).or(points.ids.get(node)).map(|text| short(text)).unwrap_or_default()
}

/// Nodes are compared by this: the size, else the number of edges.
pub fn importance(points: &NodeLink, node: usize) -> f64 {
    match &points.size {
        Some(size) => size.values.get(node).copied().filter(|value| value.is_finite()).unwrap_or(f64::MIN),
        None => f64::from(points.degrees.get(node).copied().unwrap_or(0)),
    }
}

pub fn looks(plot: &GraphPlot, points: &NodeLink) -> Looks {
    let count = points.ids.len();
    let (palette, colors, range) = colors(plot, points);
    let node_count = count as u32;
    let valid = |(_, (a, b)): &(usize, &(u32, u32))| *a < node_count && *b < node_count;
    let weight = |i: usize| points.widths.get(i).copied().filter(|w| w.is_finite()).map_or(1.0, |w| f64::from(w.abs()));
    let finite = || points.links.iter().enumerate().filter(valid).map(|(i, _)| weight(i));
    let (low, high) = finite().fold((f64::INFINITY, 0.0), |(low, high), w| (w.min(low), w.max(high)));
    let width = |w: f64| if high > low { THIN + (THICK - THIN) * (w / high).sqrt() } else { plain_width(count) };
    let links = points.links.iter().enumerate().filter(valid).map(|(i, (a, b))| (*a, *b, width(weight(i)))).collect();
    Looks { radii: radii(points), palette, colors, range, links }
}

fn plain_width(nodes: usize) -> f64 {
    if nodes <= 200 { 1.2 } else { THIN }
}

/// The area of a node is proportional to its size.
fn radii(points: &NodeLink) -> Vec<f64> {
    let count = points.ids.len();
    let plain = match count {
        0..=60 => 7.0,
        61..=250 => 5.0,
        251..=1200 => 3.5,
        _ => 2.2,
    };
    let Some(size) = &points.size else { return vec![plain; count] };
    let largest = size.values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
    let limit = (LARGEST * (60.0 / count.max(1) as f64).sqrt().clamp(0.25, 1.0)).max(plain);
    let radius = |value: f64| match largest > 0.0 && value.is_finite() {
        true => ((value / largest).max(0.0).sqrt() * limit).max(SMALLEST),
        false => SMALLEST,
    };
    (0..count).map(|i| radius(size.values.get(i).copied().unwrap_or(f64::NAN))).collect()
}

fn colors(plot: &GraphPlot, points: &NodeLink) -> (Vec<RGBColor>, Vec<u8>, Option<(f64, f64)>) {
    let count = points.ids.len();
    match &points.color {
        None => (vec![series_color(0, "")], vec![0; count], None),
        Some(NodeColor::Categories { names, codes, .. }) => {
            let names = &names[..names.len().min(usize::from(u8::MAX))];
            let mut palette: Vec<RGBColor> = names.iter().enumerate().map(|(i, name)| series_color(i, name)).collect();
            palette.push(GREY);
            let code = |i: usize| codes.get(i).copied().flatten().map_or(names.len(), |code| code as usize);
            let colors = (0..count).map(|i| code(i).min(names.len()) as u8).collect();
            (palette, colors, None)
        }
        Some(NodeColor::Numbers { values, .. }) => {
            let finite = values.iter().copied().filter(|value| value.is_finite());
            let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
            let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
            let map = plot.style.color_map.unwrap_or_default();
            let top = (SHADES - 1) as f64;
            let mut palette: Vec<RGBColor> = (0..SHADES).map(|i| color_at(map, i as f64, 0.0, top)).collect();
            palette.push(GREY);
            let shade = |value: f64| match value.is_finite() {
                true if high > low => ((value - low) / (high - low) * top).round() as usize,
                true => SHADES / 2,
                false => SHADES,
            };
            let colors = (0..count).map(|i| shade(values.get(i).copied().unwrap_or(f64::NAN)) as u8).collect();
            (palette, colors, Some((low, high)))
        }
    }
}

/// Pixels of the nodes in an area (left, top, right, bottom): as large as fits, with equal scales of both axes, y
/// upwards.
pub fn positions(points: &NodeLink, [left, top, right, bottom]: [f64; 4]) -> Vec<(f64, f64)> {
    let finite = |value: Option<&f32>| value.copied().filter(|v| v.is_finite()).map_or(0.0, f64::from);
    let at = |i: usize| (finite(points.x.get(i)), finite(points.y.get(i)));
    let all: Vec<(f64, f64)> = (0..points.ids.len()).map(at).collect();
    let span = |pick: &dyn Fn(&(f64, f64)) -> f64| {
        let values = || all.iter().map(pick);
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    };
    let ((x0, x1), (y0, y1)) = (span(&|p| p.0), span(&|p| p.1));
    let share = |room: f64, extent: f64| if extent > 0.0 { room / extent } else { f64::INFINITY };
    let scale = share(right - left, x1 - x0).min(share(bottom - top, y1 - y0));
    // All nodes on one place.
    let scale = if scale.is_finite() { scale.max(0.0) } else { 0.0 };
    let (middle_x, middle_y) = ((left + right) / 2.0, (top + bottom) / 2.0);
    let place =
        |(x, y): &(f64, f64)| (middle_x + (x - (x0 + x1) / 2.0) * scale, middle_y - (y - (y0 + y1) / 2.0) * scale);
    all.iter().map(place).collect()
}
