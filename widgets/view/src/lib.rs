//! What the notebook shows: tables, plots, diagnostics and progress as MIME bundles. The only crate that knows HTML.
//!
//! Pure: plain values in, a bundle out. Every bundle carries a static form that needs no script.

use onrush_wire::Diagnostic;
use onrush_wire::display::Content;
use onrush_wire::plot::Plot;
use onrush_wire::progress::Task;

/// MIME type to data, as Jupyter's `data` field.
pub type Bundle = serde_json::Map<String, serde_json::Value>;

/// The bundle of one output.
pub fn bundle(_content: &Content) -> Bundle {
    Bundle::new()
}

/// Draws a plot into a file: SVG or PNG by the path's extension.
pub fn save_plot(_plot: &Plot, _path: &std::path::Path) -> Result<(), Diagnostic> {
    Ok(())
}

/// A diagnostic as the lines of a traceback. `source` gives the text of a file (`cell_3.rs`), `title` its name for the user
/// (`In [3]`).
pub fn diagnostic(
    _diagnostic: &Diagnostic,
    _source: &dyn Fn(&str) -> Option<String>,
    _title: &dyn Fn(&str) -> String,
    _ansi: bool,
) -> Vec<String> {
    Vec::new()
}

/// The line shown while tasks run; the last call, with all of them ended, gives the line that stays (empty: nothing stays).
pub fn progress(_tasks: &[Task]) -> Bundle {
    Bundle::new()
}
