//! Rasters: all rows counted at the pixels of a window, with the pixels of datashader. A value's pixel is `x * width /
//! (x1 - x0) - x0 * width / (x1 - x0)` rounded down, and the last pixel has the upper edge.

mod lines;
mod live;
mod positioned;

use std::thread;

use onrush_engine::{DevicePositions, PixelWindow};
use onrush_expr::diagnostics::{place, plan_error};
use onrush_frame::TaskHandle;
use onrush_map::Projector;
use onrush_stats::Combine;
use onrush_wire::plot::{Axis, AxisScale, Layer, LayerRequest, Mark, Pixels, PlotStyle, Raster};
use onrush_wire::visual::Window;
use onrush_wire::{Diagnostic, Expr};

use super::axis_values::{Values, each_of, label, without_alias};
use super::map;
use super::row_source::Rows;
use super::{SERIES, Source, aggregate, grouped, needed, unknown_aggregate};

/// Pixels of a picture whose size the user did not set. The data area is a bit smaller, so that the picture is scaled
/// down.
const SIZE: (u32, u32) = (600, 360);
/// Most pixels of a side.
const SIDE: u32 = 4_096;
/// The share of the memory limit that positions may take between the two passes. The plan runs twice for more rows.
const HELD: u64 = 16;
/// Rows that are counted between two looks at whether the user stopped it.
const CHUNK: usize = 1 << 18;
/// Parts of the rows whose sums are added up one after another, whatever the number of threads: sums have the same
/// bits.
const PARTS: usize = 16;

use lines::GroupLines;
pub use live::Rasters;
pub use positioned::{PositionedRows, positioned};

pub type Point = (f64, f64);

/// The pixels at which rows are counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PixelGrid {
    pub window: Window,
    pub width: u32,
    pub height: u32,
}

impl PixelGrid {
    fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    fn scales(&self) -> Scales {
        let Window { x0, y0, x1, y1 } = self.window;
        let of = |low: f64, high: f64, count: u32| {
            let scale = f64::from(count) / (high - low);
            (scale, low * scale)
        };
        Scales { grid: *self, x: of(x0, x1, self.width), y: of(y0, y1, self.height) }
    }

    /// The same for a device, which counts the same pixels.
    fn on_device(&self) -> PixelWindow {
        let Window { x0, y0, x1, y1 } = self.window;
        let Scales { x, y, .. } = self.scales();
        let (width, height) = (self.width, self.height);
        PixelWindow { x: (x0, x1), y: (y0, y1), x_scale: x, y_scale: y, width, height }
    }

    /// The index of a pixel, with rows from the top.
    fn index(&self, (column, row): (u32, u32)) -> usize {
        (self.height - 1 - row) as usize * self.width as usize + column as usize
    }
}

/// A grid with the factor and the offset of each axis, which are the same for all rows.
#[derive(Clone, Copy)]
struct Scales {
    grid: PixelGrid,
    x: (f64, f64),
    y: (f64, f64),
}

impl Scales {
    /// The column and the row, from the bottom, of a position; `None` outside and for NaN.
    #[inline]
    fn cell(&self, (x, y): (f64, f64)) -> Option<(u32, u32)> {
        let Window { x0, y0, x1, y1 } = self.grid.window;
        if !((x0..=x1).contains(&x) && (y0..=y1).contains(&y)) {
            return None;
        }
        let along =
            |value: f64, (scale, offset): (f64, f64), count: u32| ((value * scale - offset) as u32).min(count - 1);
        Some((along(x, self.x, self.grid.width), along(y, self.y, self.grid.height)))
    }
}

/// The statistic of each pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PixelStatistic {
    Counts,
    Numbers(Combine),
    /// The number of categories.
    Categories(usize),
}

/// Pixels that are counted.
#[derive(Clone)]
struct Canvas {
    grid: PixelGrid,
    scales: Scales,
    kept: PixelStatistic,
    counts: Vec<u32>,
    /// The value of each pixel, or empty.
    values: Vec<f64>,
    /// Rows inside the window.
    rows: u64,
}

impl Canvas {
    fn new(grid: PixelGrid, kept: PixelStatistic) -> Self {
        let pixels = grid.pixels();
        let values = match kept {
            PixelStatistic::Counts | PixelStatistic::Categories(_) => Vec::new(),
            PixelStatistic::Numbers(Combine::Min) => vec![f64::INFINITY; pixels],
            PixelStatistic::Numbers(Combine::Max) => vec![f64::NEG_INFINITY; pixels],
            PixelStatistic::Numbers(_) => vec![0.0; pixels],
        };
        Canvas { grid, scales: grid.scales(), kept, counts: vec![0; Canvas::layers(kept) * pixels], values, rows: 0 }
    }

    /// How many counts a pixel has.
    fn layers(kept: PixelStatistic) -> usize {
        if let PixelStatistic::Categories(count) = kept { count } else { 1 }
    }

    /// Counts rows without colours. Rows that are not wanted or lie outside have the count behind the last pixel. No
    /// branch depends on the place of a row, which the processor would mispredict.
    fn add_counts(&mut self, (x, y): (&[f64], &[f64]), is_wanted: impl Fn(usize) -> bool) {
        let Window { x0, y0, x1, y1 } = self.grid.window;
        let ((x_scale, x_offset), (y_scale, y_offset)) = (self.scales.x, self.scales.y);
        let (last_column, last_row) = (self.grid.width - 1, self.grid.height - 1);
        let (width, nowhere) = (self.grid.width as usize, self.grid.pixels());
        let before = self.counts[nowhere];
        for (at, (x, y)) in x.iter().zip(y).enumerate() {
            let is_inside = (*x >= x0) & (*x <= x1) & (*y >= y0) & (*y <= y1) & is_wanted(at);
            let column = ((x * x_scale - x_offset) as i32).max(0).cast_unsigned().min(last_column);
            let row = ((y * y_scale - y_offset) as i32).max(0).cast_unsigned().min(last_row);
            let pixel = (last_row - row) as usize * width + column as usize;
            self.counts[if is_inside { pixel } else { nowhere }] += 1;
        }
        self.rows += x.len() as u64 - u64::from(self.counts[nowhere] - before);
    }

    /// Counts that a device has made.
    fn of_counts(grid: PixelGrid, counts: Vec<u32>) -> Self {
        let rows = counts.iter().map(|count| u64::from(*count)).sum();
        Canvas { grid, scales: grid.scales(), kept: PixelStatistic::Counts, counts, values: Vec::new(), rows }
    }

    /// Counts a row. `color` is a value, or the index of a category; NaN for none.
    fn add(&mut self, at: (f64, f64), color: f64) {
        let Some(cell) = self.scales.cell(at) else { return };
        let pixel = self.grid.index(cell);
        match self.kept {
            PixelStatistic::Counts => self.counts[pixel] += 1,
            _ if color.is_nan() => return,
            PixelStatistic::Categories(_) => self.counts[color as usize * self.grid.pixels() + pixel] += 1,
            PixelStatistic::Numbers(combine) => {
                self.counts[pixel] += 1;
                let value = &mut self.values[pixel];
                match combine {
                    Combine::Min => *value = value.min(color),
                    Combine::Max => *value = value.max(color),
                    _ => *value += color,
                }
            }
        }
        self.rows += 1;
    }

    /// Adds the counts of later rows.
    fn merge(&mut self, later: &Canvas) {
        self.counts.iter_mut().zip(&later.counts).for_each(|(sum, count)| *sum += count);
        self.values.iter_mut().zip(&later.values).for_each(|(value, later)| match self.kept {
            PixelStatistic::Numbers(Combine::Min) => *value = value.min(*later),
            PixelStatistic::Numbers(Combine::Max) => *value = value.max(*later),
            _ => *value += later,
        });
        self.rows += later.rows;
    }

    /// The pixels of a segment between two positions after the first one, and that one too at the start of the line.
    /// Bresenham 1965, with the ties of datashader, clipped to the window (Liang and Barsky 1984).
    fn segment(&mut self, from: (f64, f64), to: (f64, f64), color: f64, is_start: bool) {
        let Some((a, b, cut)) = clipped(self.grid.window, from, to) else { return };
        let (Some(a), Some(b)) = (self.scales.cell(a), self.scales.cell(b)) else { return };
        let ((mut x, mut y), (x1, y1)) = ((i64::from(a.0), i64::from(a.1)), (i64::from(b.0), i64::from(b.1)));
        let (step_x, step_y) = ((x1 - x).signum(), (y1 - y).signum());
        let (dx, dy) = ((x1 - x).abs() * 2, (y1 - y).abs() * 2);
        let mut count = |x: i64, y: i64| {
            let pixel = self.grid.index((x as u32, y as u32));
            match self.kept {
                PixelStatistic::Categories(_) if color.is_nan() => {}
                PixelStatistic::Categories(_) => self.counts[color as usize * self.grid.pixels() + pixel] += 1,
                _ => self.counts[pixel] += 1,
            }
        };
        if cut == (false, false) && dx == 0 && dy == 0 {
            return count(x, y);
        }
        if is_start || cut.0 {
            count(x, y);
        }
        if dx >= dy {
            let mut error = 2 * dy - dx;
            while x != x1 {
                if error >= 0 && (error != 0 || step_x > 0) {
                    error -= 2 * dx;
                    y += step_y;
                }
                error += 2 * dy;
                x += step_x;
                count(x, y);
            }
        } else {
            let mut error = 2 * dx - dy;
            while y != y1 {
                if error >= 0 && (error != 0 || step_y > 0) {
                    error -= 2 * dy;
                    x += step_x;
                }
                error += 2 * dx;
                y += step_y;
                count(x, y);
            }
        }
    }

    fn finish(self, names: Vec<String>) -> Pixels {
        let pixels = self.grid.pixels();
        match self.kept {
            PixelStatistic::Counts => Pixels::Counts(self.counts),
            PixelStatistic::Categories(_) => {
                let counts = self.counts.chunks(pixels.max(1)).map(<[u32]>::to_vec).collect();
                Pixels::Categories { names, counts }
            }
            PixelStatistic::Numbers(combine) => {
                let value = |(count, value): (&u32, &f64)| match (count, combine) {
                    (0, _) => f32::NAN,
                    (count, Combine::Mean) => (value / f64::from(*count)) as f32,
                    _ => *value as f32,
                };
                Pixels::Numbers(self.counts.iter().zip(&self.values).map(value).collect())
            }
        }
    }
}

/// The part of a segment inside of a window (Liang and Barsky 1984), and whether its beginning and its end were cut
/// off. `None` outside, and for NaN.
pub fn clipped(window: Window, from: Point, to: Point) -> Option<(Point, Point, (bool, bool))> {
    let Window { x0, y0, x1, y1 } = window;
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    if !(dx.is_finite() && dy.is_finite()) {
        return None;
    }
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    for (step, distance) in [(-dx, from.0 - x0), (dx, x1 - from.0), (-dy, from.1 - y0), (dy, y1 - from.1)] {
        if step == 0.0 {
            if distance < 0.0 {
                return None;
            }
        } else if step < 0.0 {
            enter = enter.max(distance / step);
        } else {
            leave = leave.min(distance / step);
        }
    }
    if enter > leave {
        return None;
    }
    // Rounding must not push a point of an edge outside.
    let at = |t: f64| ((from.0 + t * dx).clamp(x0, x1), (from.1 + t * dy).clamp(y0, y1));
    let start = if enter > 0.0 { at(enter) } else { from };
    let end = if leave < 1.0 { at(leave) } else { to };
    Some((start, end, (enter > 0.0, leave < 1.0)))
}

/// Positions of rows in memory, in drawn positions. `colors` is empty or as long as `x`.
#[derive(Default)]
pub struct Positions {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub colors: Vec<f32>,
}

/// Counts positions on all cores.
fn count(held: &Positions, grid: PixelGrid, kept: PixelStatistic, task: &TaskHandle) -> Result<Canvas, Diagnostic> {
    count_where(held, grid, kept, |_| true, task)
}

/// Counts the positions of the rows that are wanted.
fn count_where(
    held: &Positions,
    grid: PixelGrid,
    kept: PixelStatistic,
    is_wanted: impl Fn(usize) -> bool + Sync,
    task: &TaskHandle,
) -> Result<Canvas, Diagnostic> {
    let rows = held.x.len();
    let cores = thread::available_parallelism().map_or(1, |n| n.get());
    let parts = match kept {
        _ if rows < CHUNK => 1,
        PixelStatistic::Numbers(_) => PARTS,
        _ => cores.min(PARTS),
    };
    let part = rows.div_ceil(parts).max(1);
    let one = |begin: usize| {
        let mut canvas = Canvas::new(grid, kept);
        if kept == PixelStatistic::Counts {
            // For the rows that are nowhere.
            canvas.counts.push(0);
        }
        for start in (begin..(begin + part).min(rows)).step_by(CHUNK) {
            if task.cancelled() {
                break;
            }
            let end = (start + CHUNK).min(begin + part).min(rows);
            if kept == PixelStatistic::Counts {
                canvas.add_counts((&held.x[start..end], &held.y[start..end]), |at| is_wanted(start + at));
                continue;
            }
            for row in start..end {
                if !is_wanted(row) {
                    continue;
                }
                let color = held.colors.get(row).copied().map_or(f64::NAN, f64::from);
                canvas.add((held.x[row], held.y[row]), color);
            }
        }
        canvas.counts.truncate(Canvas::layers(kept) * grid.pixels());
        canvas
    };
    let one = &one;
    let mut canvases: Vec<Option<Canvas>> = (0..parts).map(|_| None).collect();
    thread::scope(|scope| {
        let per_thread = parts.div_ceil(cores).max(1);
        for (thread, own) in canvases.chunks_mut(per_thread).enumerate() {
            scope.spawn(move || {
                for (index, canvas) in own.iter_mut().enumerate() {
                    *canvas = Some(one((thread * per_thread + index) * part));
                }
            });
        }
    });
    task.check()?;
    let mut all = canvases.into_iter().flatten();
    let mut sum = all.next().unwrap_or_else(|| Canvas::new(grid, kept));
    all.for_each(|canvas| sum.merge(&canvas));
    Ok(sum)
}

/// The ranges of both axes.
#[derive(Clone, Copy)]
struct Extent {
    x: (f64, f64),
    y: (f64, f64),
}

impl Extent {
    fn new() -> Self {
        let none = (f64::INFINITY, f64::NEG_INFINITY);
        Extent { x: none, y: none }
    }

    fn add(&mut self, (x, y): (f64, f64)) {
        if x.is_finite() && y.is_finite() {
            self.x = (self.x.0.min(x), self.x.1.max(x));
            self.y = (self.y.0.min(y), self.y.1.max(y));
        }
    }

    fn is_empty(self) -> bool {
        self.x.0 > self.x.1
    }

    /// A window around them. A range of one value gets a width.
    fn window(self) -> Window {
        let around = |(low, high): (f64, f64)| match high - low {
            span if span > 0.0 && span.is_finite() => (low, high),
            0.0 => (low - (low.abs() * 0.1).max(0.5), low + (low.abs() * 0.1).max(0.5)),
            _ => (0.0, 1.0),
        };
        let ((x0, x1), (y0, y1)) = (around(self.x), around(self.y));
        Window { x0, y0, x1, y1 }
    }
}

/// The rows, the range of their positions, and how many have none.
type IndexedRows = (HeldRows, Extent, usize);

/// The columns of a raster.
struct Columns<'a> {
    rows: Rows<'a>,
    x: Values,
    y: Values,
    color: Option<Values>,
    by: Option<Values>,
    log: (bool, bool),
    /// The projection of a map: positions are longitudes and latitudes in degrees.
    projector: Option<Projector>,
    names: Vec<String>,
    has_other: bool,
}

impl Columns<'_> {
    /// Calls `each` with the position of each row, its colour, and its group; NaN for null.
    fn each(&self, task: &TaskHandle, mut each: impl FnMut((f64, f64), f64, f64)) -> Result<(), Diagnostic> {
        let columns = [Some(&self.x), Some(&self.y), self.color.as_ref(), self.by.as_ref()];
        let other = if self.has_other { (self.names.len() - 1) as f64 } else { f64::NAN };
        let is_category = !self.names.is_empty();
        let drawn = |value: f64, log: bool| match log {
            true if value > 0.0 => value.log10(),
            true => f64::NAN,
            false => value,
        };
        each_of(&self.rows, columns, task, |[x, y, color, by]| {
            let color = if is_category && color.is_nan() { other } else { color };
            let at = match &self.projector {
                Some(projector) => projector.forward((x, y)).unwrap_or((f64::NAN, f64::NAN)),
                None => (drawn(x, self.log.0), drawn(y, self.log.1)),
            };
            each(at, color, by);
        })
    }

    /// Counts the rows as they come.
    fn counted(
        &self,
        mark: Mark,
        grid: PixelGrid,
        kept: PixelStatistic,
        task: &TaskHandle,
    ) -> Result<Canvas, Diagnostic> {
        let (mut canvas, mut lines) = (Canvas::new(grid, kept), GroupLines::default());
        self.each(task, |at, color, by| match mark {
            Mark::RasterLines => lines.next(&mut canvas, at, color, if self.by.is_some() { by } else { 0.0 }),
            _ => canvas.add(at, color),
        })?;
        Ok(canvas)
    }
}

/// Rows by position, from which the raster of any window is counted.
struct RasterIndex {
    x: Axis,
    y: Axis,
    kept: PixelStatistic,
    names: Vec<String>,
    color_label: String,
    /// The range of the finite positions.
    window: Window,
    missing: usize,
    rows: HeldRows,
}

/// The memory of the positions of a raster.
enum HeldRows {
    Host(Positions),
    Device(DevicePositions),
    /// They take too much memory: each pass runs the plan again.
    Nowhere,
}

impl RasterIndex {
    /// Counts the rows at the pixels of a window. `None` if they are not in memory.
    fn counted(&self, grid: PixelGrid, task: &TaskHandle) -> Result<Option<Canvas>, Diagnostic> {
        match &self.rows {
            HeldRows::Host(held) => count(held, grid, self.kept, task).map(Some),
            HeldRows::Device(held) => Ok(held.count(&grid.on_device())?.map(|counts| Canvas::of_counts(grid, counts))),
            HeldRows::Nowhere => Ok(None),
        }
    }

    fn layer(&self, layer: &LayerRequest, canvas: Canvas) -> Layer {
        let PixelGrid { window, width, height } = canvas.grid;
        Layer::Raster(Raster {
            x: self.x.clone(),
            y: self.y.clone(),
            window,
            width,
            height,
            rows: canvas.rows,
            pixels: canvas.finish(self.names.clone()),
            color_label: self.color_label.clone(),
            how: layer.how,
            spread: layer.spread,
        })
    }
}

/// The window with the limits of the axes that the user has set, in drawn positions.
fn limited(mut window: Window, style: &PlotStyle) -> Window {
    let drawn = |(low, high): (f64, f64), is_log: bool| {
        let (low, high) = if is_log { (low.log10(), high.log10()) } else { (low, high) };
        Some((low, high)).filter(|_| low.is_finite() && high.is_finite() && low < high)
    };
    if let Some((low, high)) = style.x_limits.and_then(|limits| drawn(limits, style.log_x)) {
        (window.x0, window.x1) = (low, high);
    }
    if let Some((low, high)) = style.y_limits.and_then(|limits| drawn(limits, style.log_y)) {
        (window.y0, window.y1) = (low, high);
    }
    window
}

/// The sides of a picture in pixels.
fn size(width: Option<u32>, height: Option<u32>) -> (u32, u32) {
    (width.unwrap_or(SIZE.0).clamp(1, SIDE), height.unwrap_or(SIZE.1).clamp(1, SIDE))
}

impl Source<'_> {
    /// All rows counted at pixels. The window is the range of the finite positions.
    pub fn raster(&mut self, layer: &LayerRequest, style: &PlotStyle) -> Result<Layer, Diagnostic> {
        let (columns, kept) = self.raster_columns(layer, style)?;
        let index = self.raster_index(layer, &columns, kept)?;
        let (width, height) = size(style.width, style.height);
        let window = match style.map {
            Some(projection) => map::window(index.window, projection, style, (width, height))?,
            None => limited(index.window, style),
        };
        let grid = PixelGrid { window, width, height };
        let canvas = match index.counted(grid, self.task)? {
            Some(canvas) => canvas,
            None => columns.counted(layer.mark, grid, kept, self.task)?,
        };
        let lacking = if style.map.is_some() { "no position on the map" } else { "no finite position" };
        self.left_out(index.missing, "row", lacking);
        if layer.mark == Mark::Raster {
            self.notes.push(format!("{} rows", grouped(canvas.rows as usize)));
        }
        Ok(index.layer(layer, canvas))
    }

    fn counted_again(&self, layer: &LayerRequest, style: &PlotStyle, grid: PixelGrid) -> Result<Canvas, Diagnostic> {
        let (columns, kept) = self.raster_columns(layer, style)?;
        columns.counted(layer.mark, grid, kept, self.task)
    }

    fn raster_index(
        &self,
        layer: &LayerRequest,
        columns: &Columns<'_>,
        kept: PixelStatistic,
    ) -> Result<RasterIndex, Diagnostic> {
        self.indexed(layer, columns, kept, false)
    }

    /// `has_every_row`: rows without a position have one that is not finite, so that row numbers are those of the
    /// frame.
    fn indexed(
        &self,
        layer: &LayerRequest,
        columns: &Columns<'_>,
        kept: PixelStatistic,
        has_every_row: bool,
    ) -> Result<RasterIndex, Diagnostic> {
        let on_device = if has_every_row { None } else { self.on_device(layer, columns, kept)? };
        let (rows, extent, missing) = match on_device {
            Some(found) => found,
            None => self.positions(columns, kept, (layer.mark == Mark::RasterLines, has_every_row))?,
        };
        let color_label = match (&layer.color, kept) {
            (Some(color), PixelStatistic::Categories(_)) => label(color),
            (Some(_), PixelStatistic::Numbers(_)) => {
                let value = LayerRequest { y: layer.color.clone(), ..layer.clone() };
                label(&aggregate(layer.aggregate.as_deref().unwrap_or("mean"), &value)?)
            }
            _ if layer.mark == Mark::RasterLines => "lines".to_string(),
            _ => "rows".to_string(),
        };
        if columns.projector.is_some() && extent.is_empty() && missing > 0 {
            return Err(map::nothing_there((&columns.x.label, &columns.y.label), layer.x.as_ref()));
        }
        Ok(RasterIndex {
            x: columns.x.axis(),
            y: columns.y.axis(),
            kept,
            names: columns.names.clone(),
            color_label,
            window: extent.window(),
            missing,
            rows,
        })
    }

    /// Positions that are counted on a device: two columns of numbers as they are, whose rows are all alike.
    fn on_device(
        &self,
        layer: &LayerRequest,
        columns: &Columns<'_>,
        kept: PixelStatistic,
    ) -> Result<Option<IndexedRows>, Diagnostic> {
        let is_plain = layer.mark == Mark::Raster && kept == PixelStatistic::Counts && layer.color.is_none();
        let (Some(x), Some(y), true) = (&layer.x, &layer.y, is_plain) else { return Ok(None) };
        if columns.projector.is_some() || columns.log != (false, false) {
            return Ok(None);
        }
        let plain = [x, y].map(|expr| without_alias(expr).clone());
        let Some(held) = self.engine.device_positions(self.frame, plain.each_ref(), self.task)? else {
            return Ok(None);
        };
        let Some(found) = held.extent()? else { return Ok(None) };
        let missing = (held.rows() - found.rows) as usize;
        Ok(Some((HeldRows::Device(held), Extent { x: found.x, y: found.y }, missing)))
    }

    fn raster_columns(
        &self,
        layer: &LayerRequest,
        style: &PlotStyle,
    ) -> Result<(Columns<'_>, PixelStatistic), Diagnostic> {
        let x = needed(layer.x.as_ref(), layer.mark, "x")?;
        let y = needed(layer.y.as_ref(), layer.mark, "y")?;
        let exprs = [Some(x), Some(y), layer.color.as_ref(), layer.by.as_ref()];
        let rows = self.rows(exprs)?;
        let axis = |index: usize, expr: &Expr| {
            let values = Values::of(&rows, index, expr)?;
            if values.scale == AxisScale::Category {
                let message =
                    format!("a {} needs numbers or times, and `{}` is text", layer.mark.info().name, values.label);
                return Err(place(plan_error("plot-type", message), expr.span.as_ref(), None, "not a number"));
            }
            Ok(values)
        };
        let (x_values, y_values) = (axis(0, x)?, axis(1, y)?);
        if style.map.is_some() {
            map::check_degrees([(&x_values.axis(), x), (&y_values.axis(), y)])?;
        }
        let color = layer.color.as_ref().map(|expr| Values::of(&rows, 2, expr)).transpose()?;
        let by_at = 2 + usize::from(color.is_some());
        let by = layer.by.as_ref().map(|expr| Values::of(&rows, by_at, expr)?.into_categories(&rows, None, self.task));
        let by = by.transpose()?;
        let mut columns = Columns {
            log: (
                style.log_x && x_values.scale == AxisScale::Number,
                style.log_y && y_values.scale == AxisScale::Number,
            ),
            projector: style.map.map(Projector::new),
            rows,
            x: x_values,
            y: y_values,
            color,
            by,
            names: Vec::new(),
            has_other: false,
        };
        let is_category = columns.color.as_ref().is_some_and(|color| color.scale == AxisScale::Category);
        let kept = match (&mut columns.color, layer.aggregate.as_deref()) {
            (None, None | Some("count" | "len")) => PixelStatistic::Counts,
            (None, Some(function)) => {
                let message =
                    format!("`{function}` needs a column: say `.color(..)` before `.aggregate(\"{function}\")`");
                return Err(plan_error("plot-aggregate", message));
            }
            (Some(color), None) if is_category => {
                let all = color.keep_most(&columns.rows, SERIES - 1, self.task)?;
                columns.names = color.categories();
                if all > columns.names.len() {
                    columns.has_other = true;
                    columns.names.push("other".to_string());
                }
                PixelStatistic::Categories(columns.names.len())
            }
            (Some(color), Some(function)) if is_category => {
                let message = format!("`{}` is text, which has no {function}", color.label);
                return Err(plan_error("plot-aggregate", message)
                    .help("leave `.aggregate(..)` out: the colours of the values are mixed by their counts"));
            }
            (Some(_), _) if layer.mark == Mark::RasterLines => {
                let message = "lines are coloured by strings or not at all, and the colour is a number";
                return Err(plan_error("plot-type", message).help("write `.cast(DataType::String)` after it"));
            }
            (Some(_), function) => {
                let function = function.unwrap_or("mean");
                match Combine::of(function) {
                    Some(Combine::Count) => PixelStatistic::Counts,
                    Some(Combine::Median) | None => {
                        return Err(
                            unknown_aggregate(function, layer).help("write `mean`, `sum`, `min`, `max` or `count`")
                        );
                    }
                    Some(combine) => PixelStatistic::Numbers(combine),
                }
            }
        };
        Ok((columns, kept))
    }

    /// A first pass: the positions if they fit into memory, their range, and how many rows have no position.
    fn positions(
        &self,
        columns: &Columns<'_>,
        kept: PixelStatistic,
        (is_lines, has_every_row): (bool, bool),
    ) -> Result<IndexedRows, Diagnostic> {
        let per_row = 16 + if kept == PixelStatistic::Counts { 0 } else { 4 };
        let most = (self.engine.memory_limit() / HELD / per_row) as usize;
        let (mut held, mut extent, mut missing) = (Positions::default(), Extent::new(), 0);
        let mut fits = !is_lines;
        columns.each(self.task, |at, color, _| {
            let is_there = at.0.is_finite() && at.1.is_finite();
            missing += usize::from(!is_there);
            extent.add(at);
            if fits && (is_there || has_every_row) {
                held.x.push(at.0);
                held.y.push(at.1);
                if kept != PixelStatistic::Counts {
                    held.colors.push(color as f32);
                }
                if held.x.len() > most {
                    fits = false;
                    held = Positions::default();
                }
            }
        })?;
        Ok((if fits { HeldRows::Host(held) } else { HeldRows::Nowhere }, extent, missing))
    }
}
