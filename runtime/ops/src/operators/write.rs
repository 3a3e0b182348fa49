//! Writes the columns of a pipeline: all rows, the rows that pass a filter, or rows by their numbers. Computed
//! strings are measured before they are written.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onrush_device::{Arguments, Buffer, Function};
use onrush_kernels::scan::{Bounds, scan};
use onrush_kernels::{Column, Scalar};

use crate::Result;
use crate::codegen::output;
use crate::codegen::{KernelBody, LookupTable, check_parameters};
use crate::column::dictionary::Dictionary;
use crate::column::output_column::OutputColumn;
use crate::column::string::{StringBuffers, StringRows, has_strings, room, with_row_number};
use crate::column::{DeviceColumn, DeviceTable};
use crate::ir::expr::{DeviceType, NodeId};
use crate::launch::stream_context::StreamContext;
use crate::launch::{launch, launch_tiles};
use crate::pipeline::Output;

/// A launch, and what becomes of it.
pub struct RecordedLaunch {
    pub function: Function,
    pub arguments: Arguments,
    /// Items, threads of a block, and blocks at most.
    pub grid: (u64, u32, u32),
    /// The argument that is the first of its results. Each result is its values, then its validity if it has nulls.
    pub first: usize,
    pub results: Vec<OutputSlot>,
    pub rows: u64,
    /// Lookup tables that the kernel reads in addition to the source.
    pub tables: Vec<Arc<LookupTable>>,
}

/// A column of a result.
pub struct OutputSlot {
    pub kind: DeviceType,
    pub values: u64,
    pub valid: Option<u64>,
    pub dictionary: Option<Arc<Dictionary>>,
}

impl OutputSlot {
    pub fn of(kind: DeviceType, target: &OutputColumn, dictionary: Option<Arc<Dictionary>>) -> OutputSlot {
        OutputSlot { kind, values: target.values.bytes(), valid: target.valid.as_ref().map(Buffer::bytes), dictionary }
    }
}

pub fn output(
    lane: &StreamContext,
    body: &KernelBody,
    output: &Output,
    dictionary_of: &dyn Fn(NodeId) -> Option<Arc<Dictionary>>,
) -> Result<DeviceTable> {
    output_and(lane, body, output, dictionary_of, None)
}

/// The same; `keep` is given the run if it was one kernel.
pub fn output_and(
    lane: &StreamContext,
    body: &KernelBody,
    output: &Output,
    dictionary_of: &dyn Fn(NodeId) -> Option<Arc<Dictionary>>,
    keep: Option<&dyn Fn(RecordedLaunch)>,
) -> Result<DeviceTable> {
    let rows = body.source.rows;
    let filtered = body.filter.is_some() || body.source.present.is_some();
    let most = rows.saturating_sub(output.skip);
    let capacity = output.limit.map_or(most, |limit| limit.min(most));
    if !filtered && capacity == rows {
        return write_and(lane, body, &output.columns, None, dictionary_of, keep);
    }
    let kept = |count: u64| count.saturating_sub(output.skip).min(capacity);
    if !has_strings(body.graph, &output.columns) {
        let (targets, count) = compact(lane, body, &output.columns, output.skip, capacity)?;
        return written(lane, body, &output.columns, targets, kept(count), dictionary_of);
    }
    let (graph, roots) = with_row_number(body.graph, &output.columns);
    let body = KernelBody::new(body.source, &graph, body.beside, body.filter, body.memo);
    let (mut targets, count) = compact(lane, &body, &roots, output.skip, capacity)?;
    let numbers = targets.pop().map(|target| target.values);
    let rows = StringRows { numbers: numbers.as_ref().map(|buffer| ("u64", buffer.address())), count: kept(count) };
    let texts = write_strings(lane, &body, &output.columns, &targets, &rows)?;
    with_strings(lane, &body, &output.columns, (targets, texts), rows.count, dictionary_of)
}

/// The rows that exist and pass the filter, behind the first `skip` and at most `capacity` of them, and their number in
/// all. Waits.
pub fn compact(
    lane: &StreamContext,
    body: &KernelBody,
    roots: &[NodeId],
    skip: u64,
    capacity: u64,
) -> Result<(Vec<OutputColumn>, u64)> {
    let context = &lane.context;
    let rows = body.source.rows;
    let mut targets = Vec::new();
    for (root, nullable) in roots.iter().zip(body.nullable(roots)) {
        targets.push(OutputColumn::new(context, body.graph.kind(*root), nullable, capacity, false)?);
    }
    let tiles = rows.div_ceil(u64::from(output::FILTERING * output::items(body))).max(1);
    let state = context.zeros(8 + 8 * tiles)?;
    let scratch = output::Scratch { state: &state, skip, limit: capacity };
    let parameters = output::filtered_parameters(body, roots, &targets, lane, &scratch);
    check_parameters(context, &parameters)?;
    let program = || output::filtered(body, roots, &parameters);
    let function = body.kernel(context, "output_filtered", roots, program)?;
    let count =
        lane.launch_and_wait(|| launch_tiles(context, &function, parameters.arguments(), tiles, output::FILTERING))?;
    Ok((targets, count))
}

/// All rows of a pipeline, or those that an order names.
pub fn write(
    lane: &StreamContext,
    body: &KernelBody,
    roots: &[NodeId],
    order: Option<output::RowOrder>,
    dictionary_of: &dyn Fn(NodeId) -> Option<Arc<Dictionary>>,
) -> Result<DeviceTable> {
    write_and(lane, body, roots, order, dictionary_of, None)
}

fn write_and(
    lane: &StreamContext,
    body: &KernelBody,
    roots: &[NodeId],
    order: Option<output::RowOrder>,
    dictionary_of: &dyn Fn(NodeId) -> Option<Arc<Dictionary>>,
    keep: Option<&dyn Fn(RecordedLaunch)>,
) -> Result<DeviceTable> {
    let context = &lane.context;
    let rows = order.map_or(body.source.rows, |(_, count)| count);
    let mut targets = Vec::new();
    for (root, nullable) in roots.iter().zip(body.nullable(roots)) {
        targets.push(OutputColumn::new(context, body.graph.kind(*root), nullable, rows, true)?);
    }
    let parameters = output::all_parameters(body, roots, &targets, lane, order);
    check_parameters(context, &parameters)?;
    let program = || output::all(body, roots, &parameters, order.is_some());
    let function = body.kernel(context, "output_all", (roots, order.is_some()), program)?;
    lane.launch_and_wait(|| launch(context, &function, parameters.arguments(), rows, output::THREADS, 0))?;
    if !has_strings(body.graph, roots) {
        if let Some(keep) = keep {
            let made = |(root, target): (&NodeId, &OutputColumn)| {
                let kind = body.graph.kind(*root);
                OutputSlot::of(kind, target, if kind.has_dictionary() { dictionary_of(*root) } else { None })
            };
            let results: Vec<OutputSlot> = roots.iter().zip(&targets).map(made).collect();
            let values = results.len() + results.iter().filter(|made| made.valid.is_some()).count();
            keep(RecordedLaunch {
                function,
                first: parameters.len() - values,
                arguments: parameters.arguments(),
                grid: (rows, output::THREADS, u32::MAX),
                results,
                rows,
                tables: Vec::new(),
            });
        }
        return written(lane, body, roots, targets, rows, dictionary_of);
    }
    let which = StringRows { numbers: order.map(|(numbers, _)| ("u32", numbers)), count: rows };
    let texts = write_strings(lane, body, roots, &targets, &which)?;
    with_strings(lane, body, roots, (targets, texts), rows, dictionary_of)
}

pub fn written(
    lane: &StreamContext,
    body: &KernelBody,
    roots: &[NodeId],
    targets: Vec<OutputColumn>,
    rows: u64,
    dictionary_of: &dyn Fn(NodeId) -> Option<Arc<Dictionary>>,
) -> Result<DeviceTable> {
    let texts = roots.iter().map(|_| None).collect();
    with_strings(lane, body, roots, (targets, texts), rows, dictionary_of)
}

fn with_strings(
    lane: &StreamContext,
    body: &KernelBody,
    roots: &[NodeId],
    (targets, texts): (Vec<OutputColumn>, Vec<Option<StringBuffers>>),
    rows: u64,
    dictionary_of: &dyn Fn(NodeId) -> Option<Arc<Dictionary>>,
) -> Result<DeviceTable> {
    // Bits are packed, and strings written, after the kernel that signals completion.
    if targets.iter().any(|target| !target.packed) || texts.iter().any(Option::is_some) {
        lane.is_idle.store(false, Ordering::Relaxed);
    }
    let mut columns = Vec::new();
    for ((root, target), texts) in roots.iter().zip(targets).zip(texts) {
        let kind = body.graph.kind(*root);
        let dictionary = if kind.has_dictionary() { dictionary_of(*root) } else { None };
        let mut column = DeviceColumn::written(&lane.context, kind, target, rows, dictionary)?;
        if let Some(texts) = texts {
            column.values = Arc::clone(&texts.bytes);
            column.texts = Some(Arc::new(texts));
        }
        columns.push(column);
    }
    Ok(DeviceTable { rows, columns })
}

/// Writes strings whose lengths are known to newly allocated memory.
pub fn write_strings(
    lane: &StreamContext,
    body: &KernelBody,
    roots: &[NodeId],
    targets: &[OutputColumn],
    rows: &StringRows,
) -> Result<Vec<Option<StringBuffers>>> {
    let context = &lane.context;
    let mut all = Vec::new();
    for (root, target) in roots.iter().zip(targets) {
        if body.graph.kind(*root) != DeviceType::String {
            all.push(None);
            continue;
        }
        // One more, of no length: its sum is the end.
        target.values.fill_range(4 * rows.count, 4, 0, &context.stream)?;
        let lengths = Column::new(Scalar::U32, &target.values).slice(0, rows.count + 1);
        let offsets = scan(context, &lengths, Bounds::Exclusive)?;
        let last = rows.count as usize;
        let end = offsets.read::<u64>(last..last + 1, &context.stream)?[0];
        let bytes = Arc::new(context.allocate(room(end))?);
        all.push(Some(StringBuffers { bytes, offsets: Arc::new(offsets), wide: true }));
    }
    if rows.count > 0 {
        let texts: Vec<(usize, &StringBuffers)> =
            all.iter().enumerate().filter_map(|(index, texts)| Some((index, texts.as_ref()?))).collect();
        let parameters = output::texts_parameters(body, &texts, lane.status.fault(), rows);
        let form = rows.numbers.map(|(kind, _)| kind);
        let program = || output::texts(body, roots, &parameters, form);
        let function = body.kernel(context, "output_texts", (roots, form), program)?;
        launch(context, &function, parameters.arguments(), rows.count, output::THREADS, 0)?;
    }
    Ok(all)
}
