//! A dashboard as one HTML file that filters without a kernel and without a network. It has the front end's script, the
//! dashboard as it was, and the slots of its rows.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use onrush_wire::dashboard::{Dashboard, DashboardRequest, Filter};
use onrush_wire::display::DashboardRows;
use onrush_wire::format_integer::thousands;
use onrush_wire::plot::Theme;
use onrush_wire::visual::SectionKind;
use onrush_wire::{Class, Diagnostic};
use serde_json::{Value as Json, json};

use crate::html::escape;
use crate::plot::shade::MAP;
use crate::plot::theme::scale_color;

/// Colours of a raster that is counted in the page.
const COLORS: usize = 64;

/// # Errors
/// If the kernel was built without the front end.
pub fn page(
    request: &DashboardRequest,
    data: &Dashboard,
    filters: &[Filter],
    rows: &DashboardRows,
    script: &str,
) -> Result<String, Diagnostic> {
    if script.is_empty() {
        let message = "this kernel was built without its front end, so that it cannot write a page";
        return Err(Diagnostic::error(Class::Environment, "save", message)
            .help("build it with node 20 or newer, or save the picture: `.save(\"dashboard.svg\")`"));
    }
    let mut state = super::state(request, data, filters);
    if rows.rows < rows.total {
        let note = format!(
            "this page has a sample of {} of {} rows: counts are estimates",
            thousands(rows.rows),
            thousands(rows.total)
        );
        state["notes"].as_array_mut().into_iter().for_each(|notes| notes.push(note.clone().into()));
    }
    let sections: Vec<Json> = rows
        .sections
        .iter()
        .map(|section| {
            let kind = match section.kind {
                SectionKind::U8 => "u8",
                SectionKind::U16 => "u16",
                SectionKind::U32 => "u32",
                SectionKind::F32 => "f32",
                SectionKind::F64 => "f64",
            };
            json!({ "name": section.name, "kind": kind, "offset": section.offset, "length": section.length })
        })
        .collect();
    let color = |i: usize| {
        let part = MAP.0 + (MAP.1 - MAP.0) * i as f64 / (COLORS - 1) as f64;
        let color = scale_color(Default::default(), part);
        [color.0, color.1, color.2]
    };
    let about = json!({
        "state": state, "rows": rows.rows, "total": rows.total, "sections": sections,
        "colors": (0..COLORS).map(color).collect::<Vec<_>>(),
    });
    let failed = |error: std::io::Error| {
        Diagnostic::error(Class::Internal, "save", format!("the rows could not be packed: {error}"))
    };
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&rows.memory).map_err(failed)?;
    let packed = STANDARD.encode(packed.finish().map_err(failed)?);
    let title = escape(request.title.as_deref().unwrap_or("Dashboard"));
    let (background, text, scheme) = match request.theme {
        Theme::Dark => ("#17191c", "#e4e4e4", "dark"),
        Theme::Light => ("#ffffff", "#212121", "light"),
        Theme::Auto => ("Canvas", "CanvasText", "light dark"),
    };
    // A `<` inside of a script could end it.
    let about = about.to_string().replace('<', "\\u003c");
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-onrush'; \
         style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>:root {{ color-scheme: {scheme}; --jp-layout-color0: {background}; --jp-layout-color1: {background}; \
         --jp-content-font-color1: {text}; --jp-content-font-color2: color-mix(in srgb, {text} 75%, {background}); \
         --jp-border-color2: color-mix(in srgb, {text} 20%, {background}); }}\n\
         body {{ margin: 16px; background: {background}; color: {text}; font-family: system-ui, sans-serif; }}</style>\n\
         </head>\n<body>\n<div id=\"dashboard\"></div>\n\
         <noscript>This dashboard needs JavaScript.</noscript>\n\
         <script type=\"application/json\" id=\"about\">{about}</script>\n\
         <script type=\"text/plain\" id=\"rows\">{packed}</script>\n\
         <script nonce=\"onrush\">{script}</script>\n</body>\n</html>\n"
    ))
}
