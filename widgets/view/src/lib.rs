//! Outputs of the notebook: tables, plots, diagnostics and progress as MIME bundles. The only crate that knows HTML.
//!
//! Pure: plain values in, a bundle out. Every bundle carries a static form that needs no script.

mod bundle;
mod controls;
pub mod dashboard;
mod diagnostic;
mod graph;
mod graph_card;
mod html;
mod model;
mod neutral;
mod plan;
mod plot;
mod png;
pub mod progress;
mod table;
mod value;

use onrush_wire::control::Panel;
use onrush_wire::display::{Content, Picture, TablePreview};
use onrush_wire::plot::Plot;
use onrush_wire::{Diagnostic, Value};

/// The MIME type from which the extension in `widgets/web` draws frames.
pub const TABLE: &str = "application/vnd.onrush.table.v1+json";

/// The MIME type from which the extension draws graphs.
pub const GRAPH: &str = "application/vnd.onrush.graph.v1+json";

/// Rows of a frame that static forms show: the first and the last.
const HEAD: usize = 10;
const TAIL: usize = 5;

pub use bundle::Bundle;
pub use graph::raster::png as graph_raster;
pub use html::escape;
pub use neutral::{Neutral, neutral};
pub use plot::raster_state;
pub use table::text::plain;
pub use table::{Formats, column_schema};

/// A value as in a table.
pub fn value(value: &Value) -> String {
    value::ColumnFormat::of(std::iter::once(value)).cell(value).text
}

/// The bundle of one output.
pub fn bundle(content: &Content) -> Bundle {
    let mut bundle = Bundle::new();
    match content {
        Content::Table(preview) => static_table(&mut bundle, preview),
        Content::Frame { frame, preview } => {
            bundle.insert(TABLE.into(), table::json(*frame, preview));
            static_table(&mut bundle, &preview.short(HEAD, TAIL));
        }
        Content::Text(text) => {
            bundle.insert("text/plain".into(), text.as_str().into());
        }
        Content::Plot(plot) => return plot::bundle(plot),
        Content::Raster { id, plot, .. } => return plot::raster_bundle(id, plot),
        Content::Graph(plot) => return graph::bundle(plot, None),
        Content::Dashboard { id, request, filters, data } => return dashboard::bundle(id, request, filters, data),
        Content::GraphView { id, plot, .. } => return graph::bundle(plot, Some(id)),
        Content::Model(card) => return model::card(card),
        Content::GraphCard(card) => return graph_card::card(card),
        Content::Plan(text) => return plan::plan(text),
        Content::Panel(panel) => return controls::panel(panel, &[]),
        Content::Mime(parts) => {
            for (mime, data) in parts {
                let value = mime_value(mime, data);
                bundle.insert(mime.clone(), value);
            }
        }
    }
    bundle
}

fn static_table(bundle: &mut Bundle, preview: &TablePreview) {
    bundle.insert("text/html".into(), table::html(preview).into());
    bundle.insert("text/plain".into(), table::text(preview).into());
}

/// JSON types are JSON in a bundle, everything else is a string. JSON that does not parse stays the text it is.
fn mime_value(mime: &str, data: &str) -> serde_json::Value {
    let kind = mime.split(';').next().unwrap_or(mime).trim();
    if (kind == "application/json" || kind.ends_with("+json"))
        && let Ok(value) = serde_json::from_str(data)
    {
        return value;
    }
    data.into()
}

/// Controls and their values, above the outputs of their callbacks: the form that needs no front end.
pub fn panel(panel: &Panel, outputs: &[Bundle]) -> Bundle {
    controls::panel(panel, outputs)
}

/// Truncates text to so many columns of a terminal, with an ellipsis. Some letters are two columns wide.
pub fn clip(text: &str, width: usize) -> String {
    table::text::cut_to(text, width)
}

/// Draws a plot into a file: SVG or PNG (twice as many pixels each way) by the path's extension. An existing file is
/// replaced as a whole; a folder that does not exist, or another extension, is an error.
pub fn save_plot(plot: &Plot, path: &std::path::Path) -> Result<(), Diagnostic> {
    plot::save(plot, path)
}

/// Draws a picture into a file, as [`save_plot`] does. A dashboard also becomes a page, whose `script` is that of the
/// front end.
pub fn save(picture: &Picture, path: &std::path::Path, script: &str) -> Result<(), Diagnostic> {
    match picture {
        Picture::Plot(plot) => plot::save(plot, path),
        Picture::Graph(plot) => graph::save(plot, path),
        Picture::Dashboard(request, data, file) => dashboard::save(request, data, file, path, script),
    }
}

/// A diagnostic as the lines of a traceback. `source` gives the text of a file (`cell_3.rs`), `title` its name for the
/// user (`In [3]`).
pub fn diagnostic(
    diagnostic: &Diagnostic,
    source: &dyn Fn(&str) -> Option<String>,
    title: &dyn Fn(&str) -> String,
    ansi: bool,
) -> Vec<String> {
    diagnostic::lines(diagnostic, source, title, ansi)
}
