//! A graph for the renderer of the extension: positions, looks and strings, so that it works without a kernel. Ids,
//! labels and columns have limits in bytes, because the data is saved with the notebook.

use base64::Engine as _;
use onrush_wire::format_integer::thousands;
use onrush_wire::visual::{Drawing, GraphPlot, MAX_LINKS, MAX_NODES, NodeColor, NodeLink};
use plotters::style::RGBColor;
use serde_json::{Value as Json, json};

use super::raster::ShadedRaster;
use super::scene::{label, looks, short};
use super::{alt, draw};
use crate::plot::scale::number_ticks;
use crate::plot::theme::series_color;

/// Bytes of the further columns together. Columns beyond that are left out.
const COLUMNS: usize = 400_000;
/// Bytes of the ids together. Longer ids are left out, and the nodes cannot be selected.
const IDS: usize = 1_000_000;
/// Quarters of a pixel in a byte of a radius, and tenths in that of a width.
const RADIUS: f64 = 4.0;
const WIDTH: f64 = 10.0;

pub fn json(plot: &GraphPlot, view: Option<&str>, shaded: Option<&ShadedRaster>) -> Json {
    let mut notes = plot.notes.clone();
    let ids = match &plot.drawing {
        Drawing::Points(points) => id_bytes(points),
        Drawing::Raster(_) => 0,
    };
    let has_ids = ids <= IDS;
    if !has_ids && view.is_some() {
        let (found, limit) = (thousands(ids as u64), thousands(IDS as u64));
        notes.push(format!("nodes cannot be selected for later cells: their ids have {found} bytes (limit {limit})"));
    }
    let (width, height) = draw::size(plot);
    let mut made = json!({
        "nodes": plot.nodes,
        "edges": plot.edges,
        "directed": plot.directed,
        "title": plot.style.title.as_deref().unwrap_or(""),
        "legend": plot.style.legend.unwrap_or(true),
        "theme": format!("{:?}", plot.style.theme).to_lowercase(),
        "width": width,
        "height": height,
        "alt": alt(plot),
        "notes": notes,
        "view": view.filter(|_| has_ids),
    });
    match &plot.drawing {
        Drawing::Points(points) => made["points"] = of_points(plot, points, has_ids),
        Drawing::Raster(raster) => {
            let window = &raster.window;
            made["raster"] = json!({
                "window": [window.x0, window.y0, window.x1, window.y1],
                "width": raster.width,
                "height": raster.height,
                "png": shaded.map_or("", |shaded| shaded.png.as_str()),
            });
        }
    }
    made
}

/// The number of nodes in the data.
fn count(points: &NodeLink) -> usize {
    points.ids.len().min(MAX_NODES as usize)
}

fn id_bytes(points: &NodeLink) -> usize {
    points.ids.iter().take(count(points)).map(String::len).sum()
}

/// `has_ids`: without ids every node has a label.
fn of_points(plot: &GraphPlot, points: &NodeLink, has_ids: bool) -> Json {
    let looks = looks(plot, points);
    let count = count(points);
    let node_count = count as u32;
    let texts = |values: &[String]| -> Vec<String> { values.iter().take(count).cloned().collect() };
    let links: Vec<_> = looks.links.iter().filter(|(a, b, _)| *a < node_count && *b < node_count).collect();
    let links = &links[..links.len().min(MAX_LINKS as usize)];
    let position = |values: &[f32], i: usize| {
        let value = values.get(i).copied().filter(|v| v.is_finite()).unwrap_or(0.0);
        (f64::from(value).clamp(0.0, 1.0) * f64::from(u16::MAX)).round() as u16
    };
    let mut size = 0;
    let mut columns: Vec<Json> = Vec::new();
    for column in &points.columns {
        size += column.values.iter().map(|value| value.len() + 3).sum::<usize>();
        if size > COLUMNS {
            break;
        }
        columns.push(json!({ "name": column.name, "values": texts(&column.values) }));
    }
    let is_labelled = !has_ids || !points.labels.is_empty();
    let labels: Vec<String> = (0..count).filter(|_| is_labelled).map(|i| label(points, i)).collect();
    json!({
        "ids": if has_ids { texts(&points.ids) } else { Vec::new() },
        "labels": labels,
        "x": of_u16((0..count).map(|i| position(&points.x, i))),
        "y": of_u16((0..count).map(|i| position(&points.y, i))),
        "degrees": of_u32((0..count).map(|i| points.degrees.get(i).copied().unwrap_or(0))),
        "radii": of_u8(looks.radii.iter().take(count).map(|radius| radius * RADIUS)),
        "palette": looks.palette.iter().map(|color| hex(*color)).collect::<Vec<_>>(),
        "colors": of_u8(looks.colors.iter().take(count).map(|color| f64::from(*color))),
        "links": of_u16(links.iter().flat_map(|(a, b, _)| [*a as u16, *b as u16])),
        "widths": of_u8(links.iter().map(|(_, _, width)| width * WIDTH)),
        "key": key(plot, points, looks.range),
        "size": points.size.as_ref().map(|size| size.column.as_str()),
        "columns": columns,
    })
}

/// The legend.
fn key(plot: &GraphPlot, points: &NodeLink, range: Option<(f64, f64)>) -> Json {
    let title = |column: &str| plot.style.legend_title.clone().unwrap_or_else(|| column.to_string());
    match &points.color {
        None => Json::Null,
        Some(NodeColor::Categories { column, names, codes }) => {
            let mut entries: Vec<Json> =
                names.iter().enumerate().map(|(i, name)| json!([short(name), hex(series_color(i, name))])).collect();
            if codes.iter().any(Option::is_none) {
                entries.push(json!(["null", hex(series_color(0, "null"))]));
            }
            json!({ "title": title(column), "entries": entries })
        }
        Some(NodeColor::Numbers { column, .. }) => {
            let (low, high) = range.unwrap_or((0.0, 1.0));
            let inside = |at: &f64| *at >= low && *at <= high;
            let ticks = number_ticks(low, high, 4).into_iter().filter(|tick| inside(&tick.at));
            let part = |at: f64| if high > low { (at - low) / (high - low) } else { 0.5 };
            let ticks: Vec<Json> = ticks.map(|tick| json!([part(tick.at), tick.label])).collect();
            json!({ "title": title(column), "ticks": ticks })
        }
    }
}

fn hex(RGBColor(r, g, b): RGBColor) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn base64(bytes: Vec<u8>) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn of_u8(values: impl Iterator<Item = f64>) -> String {
    base64(values.map(|value| value.round().clamp(0.0, 255.0) as u8).collect())
}

/// Little endian.
fn of_u16(values: impl Iterator<Item = u16>) -> String {
    base64(values.flat_map(u16::to_le_bytes).collect())
}

fn of_u32(values: impl Iterator<Item = u32>) -> String {
    base64(values.flat_map(u32::to_le_bytes).collect())
}
