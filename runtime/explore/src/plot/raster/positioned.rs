//! The positions of all rows of a frame: any selection of them is drawn without another pass over the frame.

use onrush_engine::{Engine, PixelWindow};
use onrush_expr::diagnostics::plan_error;
use onrush_frame::TaskHandle;
use onrush_wire::plot::{Axis, LayerRequest, Plot, PlotStyle};
use onrush_wire::{Diagnostic, FrameId};

use super::super::{SharedScales, Source, grouped};
use super::{Canvas, HeldRows, PixelGrid, PixelStatistic, Positions, RasterIndex, count_where, limited};

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
        (shared, notes): (&'a mut SharedScales, &'a mut Vec<String>),
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
    let (mut shared, mut notes) = (SharedScales::default(), Vec::new());
    let source = Source::of_raster(engine, frame, (&mut shared, &mut notes), task);
    let (columns, kept) = source.raster_columns(layer, style)?;
    let mut index = source.indexed(layer, &columns, kept, true)?;
    let HeldRows::Host(positions) = std::mem::replace(&mut index.rows, HeldRows::Nowhere) else {
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

    /// Whether pixels have counts of rows alone, which a device can make.
    pub fn is_counted(&self) -> bool {
        self.index.kept == PixelStatistic::Counts
    }

    fn grid(&self, (width, height): (u32, u32)) -> PixelGrid {
        PixelGrid { window: limited(self.index.window, &self.style), width, height }
    }

    /// The window of the whole, for a device.
    pub fn window(&self, size: (u32, u32)) -> PixelWindow {
        self.grid(size).on_device()
    }

    /// A plot of the rows that are wanted.
    pub fn plot(
        &self,
        size: (u32, u32),
        is_wanted: impl Fn(usize) -> bool + Sync,
        task: &TaskHandle,
    ) -> Result<Plot, Diagnostic> {
        Ok(self.drawn(count_where(&self.positions, self.grid(size), self.index.kept, is_wanted, task)?))
    }

    /// A plot of the rows that a device has counted in [`PositionedRows::window`].
    pub fn plot_of_counts(&self, size: (u32, u32), counts: Vec<u32>) -> Plot {
        self.drawn(Canvas::of_counts(self.grid(size), counts))
    }

    fn drawn(&self, canvas: Canvas) -> Plot {
        let notes = vec![format!("{} rows", grouped(canvas.rows as usize))];
        Plot {
            layers: vec![self.index.layer(&self.layer, canvas)],
            style: self.style.clone(),
            notes,
            facets: Vec::new(),
            facet_label: String::new(),
        }
    }
}
