//! Views of rows on a device: the pixels of rasters, and the passes of dashboards. The kernels are
//! `onrush_kernels::raster` and `onrush_kernels::crossfilter`.

use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::DataType;
use onrush_device::Buffer;
use onrush_frame::TaskHandle;
use onrush_gpu::{Accelerator, Policy};
use onrush_kernels::crossfilter::{self, CountedView, FailedFilters, SlotAxis};
use onrush_kernels::raster::{PixelWindow, PositionColumns, PositionExtent};
use onrush_kernels::{Column, Context, Scalar};
use onrush_ops::residency::ColumnChunks;
use onrush_ops::{DeviceColumn, DeviceType};
use onrush_wire::{Diagnostic, Expr, FrameId};

use super::Engine;

/// Positions of rows in columns that are on a device.
pub struct DevicePositions {
    accelerator: Arc<Accelerator>,
    columns: [(DeviceColumn, Scalar); 2],
    rows: u64,
}

/// Slots of the rows of a dashboard, positions of its rasters, and the filters that each row fails, on a device.
pub struct DeviceSlots {
    accelerator: Arc<Accelerator>,
    slots: Vec<(Buffer, u32)>,
    positions: Vec<[Buffer; 2]>,
    failed: Buffer,
    rows: u64,
}

/// The slot of each row.
#[derive(Clone, Copy)]
pub enum SlotValues<'a> {
    Narrow(&'a [u8]),
    Wide(&'a [u16]),
}

/// What is counted: the sum of slots along axes, each with a factor. Without axes all rows are in slot 0.
#[derive(Clone, Debug)]
pub struct SlotView {
    /// Which slots, in the order of [`Engine::device_slots`], and the factor.
    pub axes: Vec<(usize, u32)>,
    /// The number of slots.
    pub count: u32,
    /// Bits of filters that do not matter.
    pub own: u16,
}

/// Runs work on a stream, with columns of others moved out of the device's memory where it needs that. Nothing runs any
/// more when it returns, so that the next pass may take another stream.
fn pass<T>(
    accelerator: &Accelerator,
    rows: u64,
    work: impl Fn(&Context) -> onrush_kernels::Result<T>,
) -> onrush_ops::Result<T> {
    let gpu = &accelerator.gpu;
    gpu.with_eviction(|| {
        let lane = gpu.lane(rows)?;
        let done = work(&lane.context);
        lane.context.stream.synchronize()?;
        Ok(done?)
    })
}

/// `None` if the device has too little memory.
fn if_there_is_memory<T>(made: onrush_ops::Result<T>) -> Result<Option<T>, Diagnostic> {
    match made {
        Ok(made) => Ok(Some(made)),
        Err(error) if error.is_memory() => Ok(None),
        Err(error) => Err(onrush_gpu::diagnostic(error)),
    }
}

impl Engine {
    /// The device, for views of so many rows.
    fn device_of_views(&self, rows: u64) -> Option<&Arc<Accelerator>> {
        let least = |accelerator: &Accelerator| match accelerator.policy {
            Policy::FromRows(least) => least,
            _ => 1,
        };
        self.accelerator.as_ref().filter(|accelerator| rows >= least(accelerator).max(1))
    }

    /// The positions of the rows of a frame, if its rows are held, the expressions are columns of plain numbers without
    /// nulls, and there is a device with memory for them. A plan is not run for them: it may give more rows than memory
    /// holds.
    ///
    /// # Errors
    /// Those of the device, and a frame that is not there.
    pub fn device_positions(
        &self,
        frame: FrameId,
        [x, y]: [&Expr; 2],
        task: &TaskHandle,
    ) -> Result<Option<DevicePositions>, Diagnostic> {
        if self.accelerator.is_none() {
            return Ok(None);
        }
        let exprs = [x.clone().alias("x"), y.clone().alias("y")];
        let Some(table) = self.held_columns(frame, &exprs)? else { return Ok(None) };
        if table.schema().fields().iter().any(|field| !is_number(field.data_type())) {
            return Ok(None);
        }
        let has_null = |column: usize| table.batches().iter().any(|batch| batch.column(column).null_count() > 0);
        let Some(accelerator) = self.device_of_views(table.rows() as u64) else { return Ok(None) };
        if has_null(0) || has_null(1) {
            return Ok(None);
        }
        task.stage("columns on the device");
        let chunks = [0, 1].map(|column| ColumnChunks::of(table.batches(), column));
        let gpu = &accelerator.gpu;
        let columns = if_there_is_memory(gpu.with_eviction(|| {
            let lane = gpu.lane(table.rows() as u64)?;
            let columns = chunks.iter().map(|chunks| gpu.residency.column(&lane, chunks, false));
            let columns = columns.collect::<onrush_ops::Result<Vec<_>>>()?;
            lane.context.stream.synchronize()?;
            Ok(columns)
        }))?;
        let typed = columns.into_iter().flatten().map(|column| match column.stored() {
            DeviceType::Number(scalar) => Some((column, scalar)),
            _ => None,
        });
        let Some(typed) = typed.collect::<Option<Vec<_>>>() else { return Ok(None) };
        let Ok(columns) = <[_; 2]>::try_from(typed) else { return Ok(None) };
        Ok(Some(DevicePositions { accelerator: Arc::clone(accelerator), columns, rows: table.rows() as u64 }))
    }

    /// Slots and positions of rows, if there is a device with memory for them. No row fails a filter yet.
    ///
    /// # Errors
    /// Errors of the device.
    ///
    /// # Panics
    /// If there are other numbers of slots or positions than rows.
    pub fn device_slots(
        &self,
        slots: &[SlotValues<'_>],
        positions: &[(&[f64], &[f64])],
        rows: usize,
    ) -> Result<Option<DeviceSlots>, Diagnostic> {
        let Some(accelerator) = self.device_of_views(rows as u64) else { return Ok(None) };
        let made = pass(accelerator, rows as u64, |context| {
            let on_device = slots.iter().map(|slots| match slots {
                SlotValues::Narrow(slots) => {
                    assert_eq!(slots.len(), rows);
                    Ok((context.upload(slots)?, 1))
                }
                SlotValues::Wide(slots) => {
                    assert_eq!(slots.len(), rows);
                    Ok((context.upload(slots)?, 2))
                }
            });
            let on_device = on_device.collect::<onrush_kernels::Result<Vec<_>>>()?;
            let both = positions.iter().map(|(x, y)| {
                assert!(x.len() == rows && y.len() == rows);
                Ok([context.upload(x)?, context.upload(y)?])
            });
            let both = both.collect::<onrush_kernels::Result<Vec<_>>>()?;
            Ok((on_device, both, context.zeros(2 * rows as u64)?))
        });
        let accelerator = Arc::clone(accelerator);
        let slots =
            |(slots, positions, failed)| DeviceSlots { accelerator, slots, positions, failed, rows: rows as u64 };
        Ok(if_there_is_memory(made)?.map(slots))
    }
}

fn is_number(dtype: &DataType) -> bool {
    dtype.is_integer() || matches!(dtype, DataType::Float32 | DataType::Float64)
}

impl DevicePositions {
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn columns(&self) -> onrush_kernels::Result<PositionColumns<'_>> {
        let [x, y] = self.columns.each_ref().map(|(column, scalar)| column.numbers(*scalar));
        PositionColumns::new(x, y)
    }

    /// The range of the finite positions. `None` if the device has too little memory.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn extent(&self) -> Result<Option<PositionExtent>, Diagnostic> {
        if_there_is_memory(pass(&self.accelerator, self.rows, |context| self.columns()?.extent(context)))
    }

    /// The rows at each pixel, row by row from the top. `None` if the device has too little memory.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn count(&self, window: &PixelWindow) -> Result<Option<Vec<u32>>, Diagnostic> {
        if_there_is_memory(pass(&self.accelerator, self.rows, |context| self.columns()?.count(context, window, None)))
    }
}

impl DeviceSlots {
    fn run<T>(&self, work: impl Fn(&Context) -> onrush_kernels::Result<T>) -> Result<T, Diagnostic> {
        pass(&self.accelerator, self.rows, work).map_err(onrush_gpu::diagnostic)
    }

    fn axes(&self, view: &SlotView) -> Vec<SlotAxis<'_>> {
        let axis = |(at, factor): &(usize, u32)| {
            let (slots, bytes) = &self.slots[*at];
            SlotAxis { slots, bytes: *bytes, factor: *factor }
        };
        view.axes.iter().map(axis).collect()
    }

    /// The rows of each slot of each view that fail none of the filters `bits` but the view's own.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn count(&self, views: &[SlotView], bits: u16) -> Result<Vec<Vec<u64>>, Diagnostic> {
        let counted = |view| CountedView { axes: self.axes(view), count: view.count, own: view.own };
        let counted: Vec<CountedView<'_>> = views.iter().map(counted).collect();
        let filters = (bits != 0).then_some(FailedFilters { failed: &self.failed, bits });
        self.run(|context| crossfilter::count(context, &counted, filters, self.rows))
    }

    /// Sets the bit of a filter for the rows whose slot it does not keep, and clears it for the others. `kept` has an
    /// entry for each slot; without it all rows are kept.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn mark(&self, view: &SlotView, kept: Option<&[bool]>, bit: u16) -> Result<(), Diagnostic> {
        let axes = self.axes(view);
        self.run(|context| crossfilter::mark(context, &axes, kept, bit, (&self.failed, self.rows)))
    }

    /// Sets the bit for the rows that `fails`, which has a 1 or a 0 for each row, and clears it for the others.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn mark_rows(&self, fails: &[u8], bit: u16) -> Result<(), Diagnostic> {
        self.run(|context| {
            let slots = context.upload(fails)?;
            let axis = SlotAxis { slots: &slots, bytes: 1, factor: 1 };
            crossfilter::mark(context, &[axis], Some(&[true, false]), bit, (&self.failed, self.rows))
        })
    }

    fn positions(&self, at: usize) -> onrush_kernels::Result<PositionColumns<'_>> {
        let [x, y] = self.positions[at].each_ref().map(|buffer| Column::new(Scalar::F64, buffer).slice(0, self.rows));
        PositionColumns::new(x, y)
    }

    /// Sets the bit for the rows outside of a window of a raster, and clears it for the others.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn mark_window(&self, at: usize, window: &PixelWindow, bit: u16) -> Result<(), Diagnostic> {
        self.run(|context| self.positions(at)?.mark(context, window, bit, &self.failed))
    }

    /// The rows at each pixel of a raster that fail none of the filters `bits`, row by row from the top.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn raster(&self, at: usize, window: &PixelWindow, bits: u16) -> Result<Vec<u32>, Diagnostic> {
        let filters = (bits != 0).then_some(FailedFilters { failed: &self.failed, bits });
        self.run(|context| self.positions(at)?.count(context, window, filters))
    }
}
