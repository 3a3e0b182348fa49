//! Plots as bundles and files. Drawing is in the files under `plot/`; aggregation happens in the session.
//!
//! A bundle carries Vega-Lite for front ends that draw it, SVG, a PNG and a line of text. It has no HTML: front ends
//! prefer HTML to pictures, and GitHub draws only the pictures. The PNG is there because JupyterLab does not show SVG
//! of a notebook that it does not trust. A large PNG needs a request.

pub mod canvas;
pub mod chart;
pub mod data;
mod format;
mod heatmap_blocks;
pub mod legend;
mod map;
mod marks;
mod pdf;
pub mod png;
pub mod scale;
pub mod shade;
mod shapes;
pub mod theme;
mod vega;

use std::borrow::Cow;
use std::path::Path;

use base64::Engine as _;
use onrush_wire::format_integer::thousands;
use onrush_wire::plot::{Annotations, Axis, Facet, Layer, Pixels, Plot, PlotStyle, SeriesShape};
use onrush_wire::visual::Window;
use onrush_wire::{Class, Diagnostic};

use crate::bundle::Bundle;

/// Largest PNG that is added to an SVG without a request.
const PNG_LIMIT: usize = 60_000;

/// The bundle of a plot.
pub fn bundle(plot: &Plot) -> Bundle {
    let mut bundle = Bundle::new();
    let plot = &of_the_data(plot);
    let spec = vega::spec(plot, &alt(plot));
    let noted = match &spec {
        Err(vega::Absent::TooLarge) => {
            let mut noted = plot.clone();
            let most = vega::LIMIT >> 10;
            noted.notes.push(format!("a still picture: what can be zoomed would have more than {most} kB"));
            Some(noted)
        }
        _ => None,
    };
    let plot = noted.as_ref().unwrap_or(plot);
    let text = describe(plot);
    if let Ok(svg) = svg(plot) {
        let complete = complete(&svg, &|note| svg_with(plot, note));
        // A map has no other form for a notebook that is not trusted.
        let limit = if plot.style.map.is_some() { 4 * PNG_LIMIT } else { PNG_LIMIT };
        // Pixels of a raster gain nothing from more pixels.
        let scale = if svg.contains(png::IMAGE) { 1.0 } else { 1.5 };
        if let Ok(png) = complete.map_err(|e| e.message).and_then(|svg| png::png(&svg, scale))
            && (plot.style.png || png.len() <= limit || svg.len() > vega::LIMIT)
        {
            bundle.insert("image/png".into(), base64::engine::general_purpose::STANDARD.encode(png).into());
        }
        // A picture of many thousands of elements is smaller as pixels.
        if svg.len() <= vega::LIMIT || !bundle.contains_key("image/png") {
            bundle.insert("image/svg+xml".into(), svg.into());
        }
    }
    if let Ok(spec) = spec {
        bundle.insert(vega::MIME.into(), spec);
    }
    bundle.insert("text/plain".into(), text.into());
    bundle
}

/// The MIME type of a live raster.
const RASTER: &str = "application/vnd.onrush.raster.v1+json";

/// The bundle of a plot of one raster, which a live session draws again for other windows. The SVG is part of the live
/// form, and the PNG is for everybody else.
pub fn raster_bundle(id: &str, plot: &Plot) -> Bundle {
    let styled = PlotStyle { png: true, ..plot.style.clone() };
    let mut bundle = bundle(&Plot { style: styled, ..plot.clone() });
    let svg = match bundle.remove("image/svg+xml") {
        Some(serde_json::Value::String(svg)) => svg,
        _ => svg(&of_the_data(plot)).unwrap_or_default(),
    };
    let mut state = state_of(plot, svg);
    state["view"] = id.into();
    bundle.insert(RASTER.into(), state);
    bundle
}

/// The state of a live raster: its SVG, whose `image` fills the data area, the window in drawn positions, and its size
/// in pixels.
pub fn raster_state(plot: &Plot) -> serde_json::Value {
    let plot = &of_the_data(plot);
    state_of(plot, svg(plot).unwrap_or_default())
}

fn state_of(plot: &Plot, svg: String) -> serde_json::Value {
    let window = plot.layers.iter().find_map(|layer| match layer {
        Layer::Raster(raster) => Some(raster),
        _ => None,
    });
    let (window, size) = window.map_or(([0.0, 0.0, 1.0, 1.0], [1, 1]), |raster| {
        let Window { x0, y0, x1, y1 } = raster.window;
        ([x0, y0, x1, y1], [raster.width, raster.height])
    });
    let frame = png::place(&svg).unwrap_or_default();
    serde_json::json!({ "svg": svg, "window": window, "frame": frame, "size": size, "alt": alt(plot) })
}

/// Maps the user's options of drawn axes to the axes of the data: in a horizontal plot they are swapped. Matrices have
/// no more cells than are drawn.
fn of_the_data(plot: &Plot) -> Plot {
    let mut plot = heatmap_blocks::fitting(plot);
    if plot.style.is_horizontal {
        let style = &mut plot.style;
        std::mem::swap(&mut style.x_label, &mut style.y_label);
        std::mem::swap(&mut style.x_format, &mut style.y_format);
        std::mem::swap(&mut style.log_x, &mut style.log_y);
        std::mem::swap(&mut style.x_limits, &mut style.y_limits);
        std::mem::swap(&mut style.free_x, &mut style.free_y);
        style.rules.iter_mut().for_each(|rule| rule.is_vertical = !rule.is_vertical);
        exchange(&mut style.annotations);
        for facet in &mut plot.facets {
            std::mem::swap(&mut facet.x_label, &mut facet.y_label);
            facet.rules.iter_mut().for_each(|rule| rule.is_vertical = !rule.is_vertical);
            exchange(&mut facet.annotations);
        }
    }
    plot
}

/// Swaps the axes of annotations.
fn exchange(annotations: &mut Annotations) {
    annotations.spans.iter_mut().for_each(|span| span.is_vertical = !span.is_vertical);
    annotations.texts.iter_mut().for_each(|text| std::mem::swap(&mut text.x, &mut text.y));
}

fn svg(plot: &Plot) -> Result<String, Diagnostic> {
    let label = alt(plot);
    let title = plot.style.title.clone().unwrap_or_else(|| label.lines().next().unwrap_or("plot").to_string());
    chart::draw(plot, &title, &label)
        .map_err(|e| Diagnostic::error(Class::Internal, "plot", format!("the plot could not be drawn: {e}")))
}

/// For a picture with rasterised letters. If the fonts lack letters of the SVG, it is drawn again with a note that
/// names them.
pub fn complete<'s>(
    svg: &'s str,
    draw: &dyn Fn(Option<String>) -> Result<String, Diagnostic>,
) -> Result<Cow<'s, str>, Diagnostic> {
    const NAMED: usize = 3;
    let letters = png::undrawn(svg);
    if letters.is_empty() {
        return Ok(Cow::Borrowed(svg));
    }
    let names: Vec<String> = letters.iter().take(NAMED).map(|c| format!("U+{:04X}", *c as u32)).collect();
    let more = if letters.len() > NAMED { format!(" and {} more", letters.len() - NAMED) } else { String::new() };
    draw(Some(format!("no font here can draw {}{more}", names.join(", ")))).map(Cow::Owned)
}

/// The plot as SVG, with one more note.
fn svg_with(plot: &Plot, note: Option<String>) -> Result<String, Diagnostic> {
    match note {
        None => svg(plot),
        Some(note) => {
            let mut plot = plot.clone();
            plot.notes.push(note);
            svg(&plot)
        }
    }
}

/// The text alternative of the picture.
fn alt(plot: &Plot) -> String {
    plot.style.alt.clone().filter(|alt| !alt.trim().is_empty()).unwrap_or_else(|| describe(plot))
}

/// Draws into a file; see [`crate::save_plot`].
pub fn save(plot: &Plot, path: &Path) -> Result<(), Diagnostic> {
    let plot = &of_the_data(plot);
    save_drawn(path, &|note| svg_with(plot, note))
}

/// Writes what `draw` gives with a note in the format of the path's extension.
pub fn save_drawn(path: &Path, draw: &dyn Fn(Option<String>) -> Result<String, Diagnostic>) -> Result<(), Diagnostic> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    let failed = |e: String| Diagnostic::error(Class::Internal, "plot", e);
    let bytes = match extension.as_str() {
        "svg" => draw(None)?.into_bytes(),
        "png" => png::png(&complete(&draw(None)?, draw)?, 2.0).map_err(failed)?,
        "pdf" => {
            let svg = draw(None)?;
            if svg.contains(png::IMAGE) {
                let message = "a raster is saved as `.svg` or `.png`, not as `.pdf`";
                return Err(Diagnostic::error(Class::Plan, "plot-format", message)
                    .help(format!("write `{}`", path.with_extension("png").display())));
            }
            pdf::pdf(&complete(&svg, draw)?).map_err(failed)?
        }
        _ => {
            let found = if extension.is_empty() { "no extension".to_string() } else { format!("`.{extension}`") };
            let message = format!("a plot is saved as `.svg`, `.png` or `.pdf`; `{}` has {found}", path.display());
            return Err(Diagnostic::error(Class::Plan, "plot-format", message)
                .help(format!("write `{}`", path.with_extension("png").display())));
        }
    };
    onrush_files::write(path, &bytes).map(drop)
}

/// `bar chart: 3 series (AA, UA, US), x = month, y = n`, with the title before it and the notes after it.
pub fn describe(plot: &Plot) -> String {
    let mut lines = Vec::new();
    if let Some(title) = plot.style.title.as_ref().filter(|t| !t.trim().is_empty()) {
        lines.push(title.clone());
    }
    for layer in &plot.layers {
        lines.push(describe_layer(plot, None, layer));
        lines.extend(map::ranking(layer));
    }
    if let Some(first) = plot.facets.first() {
        let names: Vec<&str> = plot.facets.iter().take(10).map(|f| f.name.as_str()).collect();
        let more = if plot.facets.len() > 10 { ", …" } else { "" };
        let by = if plot.facet_label.is_empty() { String::new() } else { format!(" by {}", plot.facet_label) };
        let kinds = |facet: &Facet| -> Vec<String> {
            let all = facet.layers.iter().map(|layer| describe_layer(plot, Some(facet), layer));
            all.map(|text| text.split(':').next().unwrap_or_default().to_string()).collect()
        };
        if plot.facets.iter().all(|facet| kinds(facet) == kinds(first)) {
            lines.push(format!("{} panels{by} ({}{more}), each a", plot.facets.len(), names.join(", ")));
            lines.extend(first.layers.iter().map(|layer| describe_layer(plot, Some(first), layer)));
        } else {
            lines.push(format!("{} panels{by} ({}{more})", plot.facets.len(), names.join(", ")));
            for facet in plot.facets.iter().take(10) {
                let layers = facet.layers.iter().map(|layer| describe_layer(plot, Some(facet), layer));
                lines.extend(layers.map(|text| format!("{}: {text}", facet.name)));
            }
        }
    } else if plot.layers.is_empty() {
        lines.push("empty plot".to_string());
    }
    lines.extend(plot.notes.iter().cloned());
    lines.join("\n")
}

fn describe_layer(plot: &Plot, facet: Option<&Facet>, layer: &Layer) -> String {
    let mut parts = Vec::new();
    let many = |n: usize, one: &str, more: &str| format!("{} {}", thousands(n as u64), if n == 1 { one } else { more });
    let named = |names: Vec<&str>| {
        let shown: Vec<&str> = names.iter().copied().filter(|n| !n.is_empty()).take(10).collect();
        let more = if names.len() > 10 { ", …" } else { "" };
        if shown.is_empty() { String::new() } else { format!(" ({}{more})", shown.join(", ")) }
    };
    let info = layer.mark().info();
    let (x, y) = match layer {
        Layer::Xy { x, y, series, .. } => {
            let points: usize = series.iter().map(|s| s.x.len()).sum();
            if series.len() > 1 || series.iter().any(|s| !s.name.is_empty()) {
                parts.push(
                    many(series.len(), "series", "series") + &named(series.iter().map(|s| s.name.as_str()).collect()),
                );
            } else if info.shape == SeriesShape::Bars {
                parts.push(many(points, "bar", "bars"));
            } else {
                parts.push(many(points, "point", "points"));
            }
            (Some(x), Some(y))
        }
        Layer::Points { x, y, name, xs, color_label, size_label, .. } => {
            let of = if name.is_empty() { String::new() } else { format!(" of {name}") };
            parts.push(many(xs.len(), "point", "points") + &of);
            if !color_label.is_empty() {
                parts.push(format!("colour = {color_label}"));
            }
            if !size_label.is_empty() {
                parts.push(format!("size = {size_label}"));
            }
            (Some(x), Some(y))
        }
        Layer::Histogram { x, series } => {
            parts.push(many(series.iter().map(|s| s.counts.len()).max().unwrap_or(0), "bin", "bins"));
            if series.len() > 1 {
                parts.push(
                    many(series.len(), "series", "series") + &named(series.iter().map(|s| s.name.as_str()).collect()),
                );
            }
            let total: u64 = series.iter().flat_map(|s| &s.counts).sum();
            parts.push(format!("{} values", thousands(total)));
            (Some(x), None)
        }
        Layer::Box { x, y, boxes } => {
            parts.push(many(boxes.len(), "box", "boxes") + &named(boxes.iter().map(|b| b.category.as_str()).collect()));
            (Some(x), Some(y))
        }
        Layer::HeatMap { x, y, values, color_label, .. } => {
            let columns = values.iter().map(Vec::len).max().unwrap_or(0);
            parts.push(format!("{} × {} cells", values.len(), columns));
            if !color_label.is_empty() {
                parts.push(format!("colour = {color_label}"));
            }
            (Some(x), Some(y))
        }
        Layer::Raster(raster) => {
            parts.push(format!("{} × {} pixels", raster.width, raster.height));
            parts.push(many(raster.rows as usize, "row", "rows"));
            parts.push(format!("colour = {}", raster.color_label));
            if let Pixels::Categories { names, .. } = &raster.pixels {
                parts.push(many(names.len(), "value", "values") + &named(names.iter().map(String::as_str).collect()));
            }
            (Some(&raster.x), Some(&raster.y))
        }
        Layer::Intervals { x, y, series, is_band } => {
            let count: usize = series.iter().map(|one| one.x.len()).sum();
            if series.len() > 1 || series.iter().any(|one| !one.name.is_empty()) {
                let names = series.iter().map(|one| one.name.as_str()).collect();
                parts.push(many(series.len(), "series", "series") + &named(names));
            } else if !is_band {
                parts.push(many(count, "interval", "intervals"));
            }
            (Some(x), Some(y))
        }
        Layer::Violins { x, y, violins } => {
            let names = violins.iter().map(|violin| violin.stats.category.as_str()).collect();
            parts.push(many(violins.len(), "violin", "violins") + &named(names));
            (Some(x), Some(y))
        }
        Layer::Hexagons(hexagons) => {
            parts.push(many(hexagons.counts.len(), "hexagon", "hexagons"));
            parts.push(many(hexagons.counts.iter().sum::<u64>() as usize, "row", "rows"));
            (Some(&hexagons.x), Some(&hexagons.y))
        }
        Layer::Candles(candles) => {
            parts.push(many(candles.at.len(), "candle", "candles"));
            (Some(&candles.x), Some(&candles.y))
        }
        Layer::Choropleth(choropleth) => {
            parts.push(map::counted(choropleth));
            parts.push(format!("colour = {}", choropleth.color_label));
            (None, None)
        }
    };
    let label = |whole: &Option<String>, own: Option<&String>, axis: Option<&Axis>| {
        let said = whole.clone().or_else(|| own.cloned());
        said.or_else(|| axis.map(|a| a.label.clone())).filter(|l| !l.is_empty())
    };
    let (x_label, y_label) = (facet.and_then(|f| f.x_label.as_ref()), facet.and_then(|f| f.y_label.as_ref()));
    let mut drawn = [label(&plot.style.x_label, x_label, x), label(&plot.style.y_label, y_label, y)];
    if plot.style.is_horizontal {
        drawn.reverse();
    }
    for (side, label) in ["x", "y"].into_iter().zip(drawn) {
        parts.extend(label.map(|label| format!("{side} = {label}")));
    }
    parts.extend(plot.style.map.map(|projection| format!("map = {}", projection.name())));
    let is_turned = plot.style.is_horizontal && matches!(layer, Layer::Xy { .. }) && info.shape == SeriesShape::Bars;
    format!("{}{}: {}", if is_turned { "horizontal " } else { "" }, info.description, parts.join(", "))
}
