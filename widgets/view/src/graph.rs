//! Pictures of graphs as bundles and files: nodes and links, or a raster of a large graph. Positions come from the
//! session.
//!
//! A bundle carries the data for the extension in `widgets/web`, SVG, a PNG and a line of text, as that of a plot does.

mod draw;
mod json;
mod labels;
pub mod raster;
mod scene;
#[cfg(test)]
mod tests;

use std::path::Path;

use base64::Engine as _;
use onrush_wire::Diagnostic;
use onrush_wire::format_integer::thousands;
use onrush_wire::visual::{Drawing, GraphPlot, NodeColor};

use crate::plot::{complete, png::png, save_drawn};
use crate::{Bundle, GRAPH};
use raster::ShadedRaster;

/// Largest PNG that is added to an SVG without a request.
const PNG_LIMIT: usize = 100_000;
/// Largest SVG. A picture of more elements is smaller as pixels.
const SVG_LIMIT: usize = 300_000;

/// The bundle of a picture. `view` is the id of the kernel process's selection.
pub fn bundle(plot: &GraphPlot, view: Option<&str>) -> Bundle {
    let mut bundle = Bundle::new();
    let shaded = ShadedRaster::of(plot);
    let shaded = shaded.as_ref();
    bundle.insert(GRAPH.into(), json::json(plot, view, shaded));
    if let Ok(svg) = noted(plot, shaded, None) {
        let drawn = complete(&svg, &|note| noted(plot, shaded, note)).map_err(|e| e.message);
        if let Ok(png) = drawn.and_then(|svg| png(&svg, 1.5))
            && (plot.style.png || png.len() <= PNG_LIMIT || svg.len() > SVG_LIMIT)
        {
            bundle.insert("image/png".into(), base64::engine::general_purpose::STANDARD.encode(png).into());
        }
        if svg.len() <= SVG_LIMIT || !bundle.contains_key("image/png") {
            bundle.insert("image/svg+xml".into(), svg.into());
        }
    }
    bundle.insert("text/plain".into(), describe(plot).into());
    bundle
}

/// Draws into a file; see [`crate::save_plot`].
pub fn save(plot: &GraphPlot, path: &Path) -> Result<(), Diagnostic> {
    let shaded = ShadedRaster::of(plot);
    let shaded = shaded.as_ref();
    save_drawn(path, &|note| noted(plot, shaded, note))
}

/// The picture as SVG, with one more note.
fn noted(plot: &GraphPlot, shaded: Option<&ShadedRaster>, note: Option<String>) -> Result<String, Diagnostic> {
    let notes: Vec<String> = plot.notes.iter().cloned().chain(note).collect();
    let label = alt(plot);
    let title = plot.style.title.clone().unwrap_or_else(|| label.lines().next().unwrap_or("graph").to_string());
    draw::svg(plot, shaded, &notes, (&title, &label))
}

/// The text alternative of the picture.
fn alt(plot: &GraphPlot) -> String {
    plot.style.alt.clone().filter(|alt| !alt.trim().is_empty()).unwrap_or_else(|| describe(plot))
}

/// `graph of 34 nodes and 78 edges: spring_layout, colour = club (Mr. Hi, Officer)`, with the title before it and the
/// notes after it.
fn describe(plot: &GraphPlot) -> String {
    let many = |n: u64, one: &str| format!("{} {one}{}", thousands(n), if n == 1 { "" } else { "s" });
    let kind = if plot.directed { "directed graph" } else { "graph" };
    let mut parts = vec![plot.positions.clone()];
    let mut largest = None;
    match &plot.drawing {
        Drawing::Points(points) => {
            match &points.color {
                Some(NodeColor::Numbers { column, .. }) => parts.push(format!("colour = {column}")),
                Some(NodeColor::Categories { column, names, .. }) => {
                    let shown: Vec<String> = names.iter().take(10).map(|name| scene::short(name)).collect();
                    let more = if names.len() > 10 { ", …" } else { "" };
                    parts.push(format!("colour = {column} ({}{more})", shown.join(", ")));
                }
                None => {}
            }
            parts.extend(points.size.as_ref().map(|size| format!("size = {}", size.column)));
            let mut order: Vec<usize> = (0..points.ids.len()).collect();
            order.sort_by_key(|i| std::cmp::Reverse(points.degrees.get(*i).copied().unwrap_or(0)));
            let names: Vec<String> = order.iter().take(3).map(|i| scene::label(points, *i)).collect();
            if points.ids.len() > 3 {
                largest = Some(format!("most edges: {}", names.join(", ")));
            }
        }
        Drawing::Raster(raster) => parts.push(format!("shaded on {} × {} pixels", raster.width, raster.height)),
    }
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut line = format!("{kind} of {} and {}", many(plot.nodes, "node"), many(plot.edges, "edge"));
    if !parts.is_empty() {
        line.push_str(": ");
        line.push_str(&parts.join(", "));
    }
    let title = plot.style.title.iter().filter(|title| !title.trim().is_empty()).cloned();
    title.chain([line]).chain(largest).chain(plot.notes.iter().cloned()).collect::<Vec<_>>().join("\n")
}
