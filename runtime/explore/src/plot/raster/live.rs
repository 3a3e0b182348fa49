//! Live rasters: the counts of other windows of a raster that was drawn, from a cache of its positions.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use onrush_engine::Engine;
use onrush_expr::diagnostics::plan_error;
use onrush_frame::TaskHandle;
use onrush_wire::plot::{Plot, PlotRequest, PlotStyle};
use onrush_wire::visual::{VisualAsk, VisualHead};
use onrush_wire::{Diagnostic, codec};
use parking_lot::Mutex;

use super::super::{SharedScales, Source, grouped};
use super::{PixelGrid, RasterIndex, size};

/// Rasters that were drawn last in another window than the whole: pan and zoom do not run the plan again.
pub struct Rasters(Mutex<LruCache<Vec<u8>, Arc<RasterIndex>>>);

/// Rasters whose positions are kept.
const KEPT_INDEXES: NonZeroUsize = NonZeroUsize::new(2).unwrap();

impl Default for Rasters {
    fn default() -> Self {
        Rasters(Mutex::new(LruCache::new(KEPT_INDEXES)))
    }
}

impl Rasters {
    /// Answers a live raster with a plot of the window.
    ///
    /// # Errors
    /// As [`crate::plot()`], a window without an extent, and a request that is not a single raster.
    pub fn answer(
        &self,
        engine: &Engine,
        request: &PlotRequest,
        ask: &VisualAsk,
        task: &TaskHandle,
    ) -> Result<VisualHead, Diagnostic> {
        let [layer] = request.layers.as_slice() else {
            return Err(plan_error("plot", "a live raster has one layer"));
        };
        let style = &request.style;
        // The whole layer: its mark and its groups say which lines there are.
        let key = codec::content(&(request.frame, layer, style.log_x, style.log_y, style.map));
        let VisualAsk::Raster { window, width, height } = ask else {
            self.0.lock().pop(&key);
            return Ok(VisualHead::Done);
        };
        let is_extent = |low: f64, high: f64| low.is_finite() && high.is_finite() && low < high;
        if !is_extent(window.x0, window.x1) || !is_extent(window.y0, window.y1) {
            return Err(plan_error("argument", format!("the window {window:?} has no extent")));
        }
        let (mut shared, mut notes) = (SharedScales::default(), Vec::new());
        let source = Source::of_raster(engine, request.frame, (&mut shared, &mut notes), task);
        let known = self.0.lock().get(&key).map(Arc::clone);
        let index = match known {
            Some(index) => index,
            None => {
                let (columns, kept) = source.raster_columns(layer, style)?;
                let index = Arc::new(source.raster_index(layer, &columns, kept)?);
                self.0.lock().put(key, Arc::clone(&index));
                index
            }
        };
        let (width, height) = size(Some(*width), Some(*height));
        let window = if style.map.is_some() { window.with_aspect(width, height) } else { *window };
        let grid = PixelGrid { window, width, height };
        let canvas = match index.counted(grid, task)? {
            Some(canvas) => canvas,
            None => source.counted_again(layer, style, grid)?,
        };
        notes.push(format!("{} rows", grouped(canvas.rows as usize)));
        Ok(VisualHead::Plot(Box::new(Plot {
            layers: vec![index.layer(layer, canvas)],
            // The window takes the place of the user's limits.
            style: PlotStyle { x_limits: None, y_limits: None, ..style.clone() },
            notes,
            facets: Vec::new(),
            facet_label: String::new(),
        })))
    }
}
