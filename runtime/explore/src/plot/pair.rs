//! Pair plots: a panel for each pair of columns, histograms on the diagonal, as `seaborn.pairplot`.

use onrush_engine::Engine;
use onrush_expr::diagnostics::plan_error;
use onrush_frame::TaskHandle;
use onrush_wire::plot::{Facet, LayerRequest, Mark, Plot, PlotRequest};
use onrush_wire::{Diagnostic, FrameId};

use super::axis_values::label;
use super::{SharedScales, layers};

/// Columns whose panels can be read.
const COLUMNS: usize = 8;

/// The panels, row by row from the top. Panels of one column share x.
pub fn panels(
    engine: &Engine,
    request: &PlotRequest,
    frame: FrameId,
    task: &TaskHandle,
    plot: &mut Plot,
) -> Result<(), Diagnostic> {
    let [pair] = request.layers.as_slice() else {
        return Err(plan_error("plot", "a pair plot is not a layer of another plot")
            .help("draw it alone: `f.plot().pair([\"a\", \"b\", \"c\"])`"));
    };
    if request.facet.is_some() {
        return Err(plan_error("plot", "a pair plot has panels, and `facet` asks for more")
            .help("filter the frame, or tell groups apart with `.color(column)`"));
    }
    let columns = &pair.more_y;
    if !(2..=COLUMNS).contains(&columns.len()) {
        let message = format!("a pair plot takes 2 to {COLUMNS} columns, and there are {}", columns.len());
        return Err(plan_error("plot", message).help("list columns of numbers: `.pair([\"a\", \"b\", \"c\"])`"));
    }
    plot.style.is_grid = true;
    plot.style.facet_columns = Some(columns.len() as u32);
    let count = columns.len() * columns.len();
    let mut notes = Vec::new();
    for y in columns {
        for x in columns {
            let color = pair.color.clone();
            let is_diagonal = label(x) == label(y);
            let layer = match is_diagonal {
                true => LayerRequest { mark: Mark::Histogram, x: Some(x.clone()), color, ..LayerRequest::default() },
                false => {
                    let (x, y) = (Some(x.clone()), Some(y.clone()));
                    LayerRequest { mark: Mark::Scatter, x, y, color, ..LayerRequest::default() }
                }
            };
            let one = PlotRequest { layers: vec![layer], facet: None, ..request.clone() };
            let made = layers(engine, &one, frame, &mut SharedScales::default(), task, (count, &mut notes))?;
            plot.facets.push(Facet {
                layers: made,
                x_label: Some(label(x)),
                y_label: Some(label(y)),
                ..Facet::default()
            });
        }
    }
    for note in notes {
        if !plot.notes.contains(&note) {
            plot.notes.push(note);
        }
    }
    Ok(())
}
