//! Rasters: the rows at each pixel of a window. `cuda/raster.cuh`.
//!
//! Counts are integers: the result is the same on every device.

use onrush_device::{Arguments, Buffer, Function, Grid};

use crate::column::Column;
use crate::crossfilter::FailedFilters;
use crate::error::{Error, Result};
use crate::headers;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

/// Threads of a block, as in the header.
const THREADS: u32 = 1024;
/// Rows of a round, as in the header.
const ROUND: u64 = 8 << 10;
/// Canvases of more parts than this are counted in global memory.
const MOST_PARTS: u32 = 4;

/// The positions of rows: two columns of numbers without nulls.
#[derive(Clone, Copy)]
pub struct PositionColumns<'a> {
    pub x: Column<'a>,
    pub y: Column<'a>,
}

/// A window, and the factor and the offset of the pixels along each axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PixelWindow {
    /// The lowest and the highest position.
    pub x: (f64, f64),
    pub y: (f64, f64),
    /// A pixel is `position * scale - offset`, rounded down.
    pub x_scale: (f64, f64),
    pub y_scale: (f64, f64),
    pub width: u32,
    pub height: u32,
}

/// The range of the rows of which both positions are finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PositionExtent {
    pub x: (f64, f64),
    pub y: (f64, f64),
    /// How many there are. Without any, the ranges are those of nothing: from infinity to -infinity.
    pub rows: u64,
}

impl<'a> PositionColumns<'a> {
    /// # Errors
    /// If a column is not of numbers of up to 64 bits.
    ///
    /// # Panics
    /// If a column has nulls, or they have different numbers of rows.
    pub fn new(x: Column<'a>, y: Column<'a>) -> Result<Self> {
        assert!(x.rows == y.rows && x.validity.is_none() && y.validity.is_none());
        for scalar in [x.scalar, y.scalar] {
            if scalar == Scalar::I128 {
                return Err(Error::Unsupported { algorithm: "raster", scalar: scalar.cuda() });
            }
        }
        Ok(PositionColumns { x, y })
    }

    pub fn rows(&self) -> u64 {
        self.x.rows
    }

    fn types(&self) -> String {
        format!("{}_{}", self.x.scalar.cuda(), self.y.scalar.cuda())
    }

    fn parameters(&self) -> String {
        format!("const {}* xs, const {}* ys", self.x.scalar.cuda(), self.y.scalar.cuda())
    }

    fn arguments(&self) -> Arguments {
        Arguments::new().value(self.x.address()).value(self.y.address())
    }

    /// The range of the finite positions.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn extent(&self, context: &Context) -> Result<PositionExtent> {
        const SMALL: u32 = 256;
        let name = format!("raster_extent_{}", self.types());
        let body = format!(
            "extern \"C\" __global__ void __launch_bounds__({SMALL}) {name}({}, u64 rows, f64* out) {{\n  \
             raster_extent(xs, ys, rows, out);\n}}\n",
            self.parameters()
        );
        let function = function(context, body, &name)?;
        let shared = 5 * 8 * SMALL;
        let most = u64::from(function.resident_blocks(SMALL, shared)?);
        let blocks = self.rows().div_ceil(u64::from(SMALL) * 4).clamp(1, most) as u32;
        let out = context.allocate(5 * 8 * u64::from(blocks))?;
        let grid = Grid::new(blocks, SMALL).shared(shared);
        launch(context, &function, &grid, self.arguments().value(self.rows()).buffer(&out))?;
        let found = out.read::<f64>(0..5 * blocks as usize, &context.stream)?;
        let nothing = (f64::INFINITY, f64::NEG_INFINITY);
        let mut all = PositionExtent { x: nothing, y: nothing, rows: 0 };
        for part in found.chunks_exact(5) {
            all.x = (all.x.0.min(part[0]), all.x.1.max(part[1]));
            all.y = (all.y.0.min(part[2]), all.y.1.max(part[3]));
            all.rows += part[4] as u64;
        }
        Ok(all)
    }

    /// The rows at each pixel, row by row from the top. Rows outside of the window and those that fail a filter are
    /// left out.
    ///
    /// # Errors
    /// Errors of the device.
    ///
    /// # Panics
    /// If the mask is shorter than the rows, or the window has no pixel.
    pub fn count(
        &self,
        context: &Context,
        window: &PixelWindow,
        filters: Option<FailedFilters<'_>>,
    ) -> Result<Vec<u32>> {
        let canvas = self.canvas(context, window, filters)?;
        let pixels = window.width as usize * window.height as usize;
        Ok(canvas.read::<u32>(0..pixels, &context.stream)?)
    }

    /// As [`PositionColumns::count`], on the device.
    ///
    /// # Errors
    /// Errors of the device.
    ///
    /// # Panics
    /// As [`PositionColumns::count`].
    pub fn canvas(
        &self,
        context: &Context,
        window: &PixelWindow,
        filters: Option<FailedFilters<'_>>,
    ) -> Result<Buffer> {
        assert!(window.width > 0 && window.height > 0, "{window:?}");
        let pixels = window.width * window.height;
        let canvas = context.zeros(4 * u64::from(pixels))?;
        let table = context.upload(&words(window))?;
        if let Some(filters) = filters {
            assert!(filters.failed.bytes() >= 2 * self.rows(), "{} rows", self.rows());
        }
        let arguments = self
            .arguments()
            .buffer(&table)
            .optional(filters.map(|filters| filters.failed))
            .value(u32::from(filters.map_or(0, |filters| filters.bits)))
            .value(self.rows());
        let limit = context.device().properties().shared_memory_per_block;
        let parts = pixels.div_ceil(limit / 2);
        let parameters =
            format!("{}, const RasterGrid* window, const u16* failed, u32 bits, u64 rows", self.parameters());
        if parts > MOST_PARTS {
            let name = format!("raster_count_large_{}", self.types());
            let body = format!(
                "extern \"C\" __global__ void __launch_bounds__(256) {name}({parameters}, u32* canvas) {{\n  \
                 raster_count_large(xs, ys, window, failed, bits, rows, canvas);\n}}\n"
            );
            let function = function(context, body, &name)?;
            let most = u64::from(function.resident_blocks(256, 0)?);
            let blocks = self.rows().div_ceil(1024).min(most) as u32;
            launch(context, &function, &Grid::new(blocks, 256), arguments.buffer(&canvas))?;
            return Ok(canvas);
        }
        let name = format!("raster_count_{}", self.types());
        let body = format!(
            "extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}({parameters}, u32 parts, u32 size, u32* canvas) {{\n  \
             raster_count(xs, ys, window, failed, bits, rows, parts, size, canvas);\n}}\n"
        );
        let function = function(context, body, &name)?;
        // Even, so that no word has counters of two parts.
        let size = pixels.div_ceil(parts).next_multiple_of(2);
        let shared = 2 * size;
        let groups = u64::from(function.resident_blocks(THREADS, shared)? / parts).max(1);
        let groups = self.rows().div_ceil(ROUND).min(groups) as u32;
        let arguments = arguments.value(parts).value(size).buffer(&canvas);
        launch(context, &function, &Grid::new(groups * parts, THREADS).shared(shared), arguments)?;
        Ok(canvas)
    }

    /// Sets the bit for the rows outside of a window, and clears it for the others.
    ///
    /// # Errors
    /// Errors of the device.
    ///
    /// # Panics
    /// If the mask is shorter than the rows.
    pub fn mark(&self, context: &Context, window: &PixelWindow, bit: u16, failed: &Buffer) -> Result<()> {
        assert!(failed.bytes() >= 2 * self.rows(), "{} rows", self.rows());
        let name = format!("raster_mark_{}", self.types());
        let body = format!(
            "extern \"C\" __global__ void __launch_bounds__(256) {name}({}, const RasterGrid* window, u32 bit, u64 rows, u16* failed) {{\n  \
             raster_mark(xs, ys, window, bit, rows, failed);\n}}\n",
            self.parameters()
        );
        let function = function(context, body, &name)?;
        let table = context.upload(&words(window))?;
        let most = u64::from(function.resident_blocks(256, 0)?);
        let blocks = self.rows().div_ceil(1024).min(most) as u32;
        let arguments = self.arguments().buffer(&table).value(u32::from(bit)).value(self.rows()).buffer(failed);
        launch(context, &function, &Grid::new(blocks, 256), arguments)
    }
}

/// A window as the header has it.
fn words(window: &PixelWindow) -> [u64; 9] {
    let PixelWindow { x, y, x_scale, y_scale, width, height } = *window;
    let floats = [x.0, y.0, x.1, y.1, x_scale.0, x_scale.1, y_scale.0, y_scale.1].map(f64::to_bits);
    let mut words = [0; 9];
    words[..8].copy_from_slice(&floats);
    words[8] = u64::from(width) | u64::from(height) << 32;
    words
}

fn function(context: &Context, body: String, entry: &str) -> Result<Function> {
    context.library.function(&Program::new(&[&headers::RASTER], body, [entry]), entry)
}

fn launch(context: &Context, function: &Function, grid: &Grid, arguments: Arguments) -> Result<()> {
    // SAFETY: the parameters are those of the bodies above. Canvases, masks and tables have the lengths that are
    // passed. The columns live as long as the borrow.
    unsafe { function.launch(grid, arguments, &context.stream)? };
    Ok(())
}
