//! The positions of all rows of a frame: any selection of them is drawn without another pass over the frame.

use onrush_engine::Engine;
use onrush_expr::check::plan_error;
use onrush_frame::TaskHandle;
use onrush_wire::plot::{Axis, LayerRequest, Plot, PlotStyle};
use onrush_wire::{Diagnostic, FrameId};

use super::super::{Shared, Source, grouped};
use super::{PixelGrid, Positions, RasterIndex, count_where, limited};

/// The rows of a frame with their positions, of which any selection can be drawn.
pub struct PositionedRows {
    index: RasterIndex,
    layer: LayerRequest,
    style: PlotStyle,
    positions: Positions,
}

impl<'a> Source<'a> {
    /// The source of one raster: it draws neither points nor lines, and shares nothing with other layers.
    pub(super) fn of_raster(
        engine: &'a Engine,
        frame: FrameId,
        (shared, notes): (&'a mut Shared, &'a mut Vec<String>),
        task: &'a TaskHandle,
    ) -> Self {
        Source { engine, frame, index: 0, points: 0, line: 0, has_log_bins: false, shared, task, notes }
    }
}

/// The positions of all rows of a frame, in their order.
///
/// # Errors
/// As a raster plot, and if the positions take too much memory.
pub fn positioned(
    engine: &Engine,
    frame: FrameId,
    layer: &LayerRequest,
    style: &PlotStyle,
    task: &TaskHandle,
) -> Result<PositionedRows, Diagnostic> {
    let (mut shared, mut notes) = (Shared::default(), Vec::new());
    let source = Source::of_raster(engine, frame, (&mut shared, &mut notes), task);
    let (columns, kept) = source.raster_columns(layer, style)?;
    let mut index = source.indexed(layer, &columns, kept, true)?;
    let Some(positions) = index.held.take() else {
        let message = "the positions of the rows take more memory than a raster may use";
        return Err(plan_error("plot-size", message).help("draw a sample of the rows: `f.sample(0.1)`"));
    };
    Ok(PositionedRows { index, layer: layer.clone(), style: style.clone(), positions })
}

impl PositionedRows {
    pub fn positions(&self) -> &Positions {
        &self.positions
    }

    /// The axes of the picture.
    pub fn axes(&self) -> (&Axis, &Axis) {
        (&self.index.x, &self.index.y)
    }

    /// A plot of the rows that are wanted.
    pub fn plot(
        &self,
        (width, height): (u32, u32),
        is_wanted: impl Fn(usize) -> bool + Sync,
        task: &TaskHandle,
    ) -> Result<Plot, Diagnostic> {
        let grid = PixelGrid { window: limited(self.index.window, &self.style), width, height };
        let canvas = count_where(&self.positions, grid, self.index.kept, is_wanted, task)?;
        let notes = vec![format!("{} rows", grouped(canvas.rows as usize))];
        Ok(Plot {
            layers: vec![self.index.layer(&self.layer, canvas)],
            style: self.style.clone(),
            notes,
            facets: Vec::new(),
            facet_label: String::new(),
        })
    }
}
