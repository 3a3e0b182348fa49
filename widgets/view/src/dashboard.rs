//! Dashboards as bundles, files and the state of the live form. The session counts. A front end moves bars and marks
//! brushes over the pictures that are drawn here, so that both forms look alike.

mod filters;
mod page;
mod tile;

use base64::Engine as _;
use onrush_wire::dashboard::{
    Dashboard, DashboardRequest, DashboardView, Filter, GAP, GRID_WIDTH, ViewData, ViewRequest,
};
use onrush_wire::format_integer::thousands;
use onrush_wire::{Class, Diagnostic};
use serde_json::{Value as Json, json};

pub use filters::{filters_from_json, filters_to_json};
use page::page;

use crate::bundle::Bundle;
use crate::html::escape;
use crate::plot::{png, theme};
use tile::{Pen, Tile};

/// The MIME type of a live dashboard.
pub const MIME: &str = "application/vnd.onrush.dashboard.v1+json";
/// Pixels above the views: the title, and the number of selected rows.
const HEAD: f64 = 46.0;

/// The places of the views: left, top, width and height.
fn places(request: &DashboardRequest, tiles: &[Tile]) -> (Vec<[f64; 4]>, f64) {
    let (mut places, mut left, mut top, mut row): (Vec<[f64; 4]>, f64, f64, f64) = (Vec::new(), 0.0, 0.0, 0.0);
    for (view, tile) in request.views.iter().zip(tiles) {
        let width = f64::from(view.size(request.columns).0);
        if left > 0.0 && left + width > f64::from(GRID_WIDTH) + 1.0 {
            (left, top, row) = (0.0, top + row + f64::from(GAP), 0.0);
        }
        places.push([left, top, width, tile.height]);
        left += width + f64::from(GAP);
        row = row.max(tile.height);
    }
    (places, top + row)
}

fn tiles(request: &DashboardRequest, data: &Dashboard, filters: &[Filter]) -> Vec<Tile> {
    let of = |(at, (asked, view)): (usize, (&ViewRequest, &DashboardView))| {
        let kept = filters.iter().find(|filter| filter.view as usize == at).map(|filter| &filter.kept);
        Tile::of(asked, asked.size(request.columns), request.theme, view, kept)
    };
    request.views.iter().zip(&data.views).enumerate().map(of).collect()
}

/// `1,204 of 336,776 rows`.
fn summary(data: &Dashboard) -> String {
    let rows = if data.rows == 1 { "row" } else { "rows" };
    match data.selected == data.rows {
        true => format!("all {} {rows}", thousands(data.rows)),
        false => format!("{} of {} {rows}", thousands(data.selected), thousands(data.rows)),
    }
}

/// The selection, a line for each filter: `fare: 10 to 20`.
pub fn sentences(data: &Dashboard, filters: &[Filter]) -> Vec<String> {
    filters
        .iter()
        .filter_map(|filter| {
            let view = data.views.get(filter.view as usize)?;
            Some(format!("{}: {}", view.title, tile::kept_text(&view.data, &filter.kept)))
        })
        .collect()
}

/// The picture of a dashboard as it is.
pub fn svg(request: &DashboardRequest, data: &Dashboard, filters: &[Filter]) -> String {
    let tiles = tiles(request, data, filters);
    let (places, height) = places(request, &tiles);
    let (width, height) = (f64::from(GRID_WIDTH), height + HEAD);
    let colors = theme::colors(request.theme);
    let mut pen = Pen::new(colors);
    if let Some(background) = colors.background {
        pen.rect([0.0, 0.0, width, height], background, 1.0, "");
    }
    let title = request.title.clone().unwrap_or_else(|| "Dashboard".to_string());
    pen.text(&title, 0.0, 18.0, 16.0, true, colors.text, "start");
    let mut line = summary(data);
    for sentence in sentences(data, filters) {
        line.push_str("; ");
        line.push_str(&sentence);
    }
    pen.text(&theme::fit_text(&line, 12.0, width), 0.0, 37.0, 12.0, false, colors.faint, "start");
    for (tile, [left, top, ..]) in tiles.iter().zip(places) {
        pen.place(tile, left, top + HEAD);
    }
    document(&pen.out, width, height, &title, &text(request, data, filters))
}

fn document(inside: &str, width: f64, height: f64, title: &str, label: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"{}\" font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', \
         sans-serif\">\n<title>{}</title>\n{inside}</svg>\n",
        escape(label),
        escape(title),
    )
}

/// A line for the whole, and one for each filter.
fn text(request: &DashboardRequest, data: &Dashboard, filters: &[Filter]) -> String {
    let title = request.title.as_deref().unwrap_or("Dashboard");
    let names: Vec<&str> = data.views.iter().map(|view| view.title.as_str()).filter(|name| !name.is_empty()).collect();
    let mut out = format!("{title}: {}", summary(data));
    if !names.is_empty() {
        out.push_str(&format!("; views: {}", names.join(", ")));
    }
    for sentence in sentences(data, filters) {
        out.push('\n');
        out.push_str(&sentence);
    }
    out
}

/// The bundle of a dashboard: the live form, a PNG of its state, and a few lines of text.
pub fn bundle(id: &str, request: &DashboardRequest, filters: &[Filter], data: &Dashboard) -> Bundle {
    let mut bundle = Bundle::new();
    let picture = svg(request, data, filters);
    if let Ok(png) = png::png(&picture, 1.0) {
        bundle.insert("image/png".into(), base64::engine::general_purpose::STANDARD.encode(png).into());
    }
    let mut live = state(request, data, filters);
    live["view"] = id.into();
    bundle.insert(MIME.into(), live);
    bundle.insert("text/plain".into(), text(request, data, filters).into());
    bundle
}

/// The state of a live form under other filters: without the pictures whose bars and cells it draws itself, and without
/// marks.
pub fn changes(request: &DashboardRequest, data: &Dashboard, filters: &[Filter]) -> Json {
    let mut state = state(request, data, filters);
    let tiles = tiles(request, data, &[]);
    let views = state["views"].as_array_mut().into_iter().flatten();
    for ((view, tile), shown) in views.zip(&tiles).zip(&data.views) {
        match kind(&shown.data) {
            "raster" => view["svg"] = tile.json()["svg"].take(),
            _ => drop(view.as_object_mut().map(|view| view.remove("svg"))),
        }
    }
    state
}

/// The state of the live form.
pub fn state(request: &DashboardRequest, data: &Dashboard, filters: &[Filter]) -> Json {
    let tiles = tiles(request, data, filters);
    let (places, height) = places(request, &tiles);
    let views: Vec<Json> = tiles
        .iter()
        .zip(&places)
        .map(|(tile, place)| {
            let mut json = tile.json();
            json["place"] = json!(place);
            json
        })
        .collect();
    json!({
        "title": request.title.as_deref().unwrap_or(""),
        "rows": data.rows,
        "selected": data.selected,
        "summary": summary(data),
        "sentences": sentences(data, filters),
        "filters": filters_to_json(filters),
        "width": GRID_WIDTH,
        "height": height,
        "views": views,
        "notes": data.notes,
    })
}

/// Draws a dashboard into a file: `.html`, `.svg`, `.png` or `.pdf`.
pub fn save(
    request: &DashboardRequest,
    data: &Dashboard,
    file: &onrush_wire::display::DashboardFile,
    path: &std::path::Path,
    script: &str,
) -> Result<(), Diagnostic> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    if matches!(extension.as_deref(), Some("html" | "htm")) {
        let Some(rows) = &file.rows else {
            return Err(Diagnostic::error(Class::Internal, "save", "the dashboard's rows did not come with it"));
        };
        let page = page(request, data, &file.filters, rows, script)?;
        return onrush_files::write(path, page.as_bytes()).map(drop);
    }
    crate::plot::save_drawn(path, &|_| Ok(svg(request, data, &file.filters)))
}

#[cfg(test)]
mod tests;

/// The kind of a view, in a word.
fn kind(data: &ViewData) -> &'static str {
    match data {
        ViewData::Slots { .. } => "slots",
        ViewData::Cells { .. } => "cells",
        ViewData::Raster(_) => "raster",
        ViewData::Numbers(_) => "numbers",
        ViewData::Table(_) => "table",
        ViewData::Unchanged => "unchanged",
    }
}
