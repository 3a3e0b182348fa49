//! Calls of algorithms on a device: graphs that were copied there, and what runs there.

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::DataType;
use lru::LruCache;
use onrush_gpu::{Accelerator, Policy};
use onrush_graph::Run;
use onrush_graph::device::index::DeviceIndex;
use onrush_graph::device::{DeviceError, DeviceGraph, MOST_ARCS};
use onrush_graph_arrow::{DeviceCallError, DeviceResult, Index, call_on_device, runs_on_device};
use onrush_kernels::graph::build::EdgeColumns as KernelColumns;
use onrush_kernels::{Column, Context, Scalar};
use onrush_ops::residency::ColumnChunks;
use onrush_ops::{DeviceColumn, DeviceType};
use onrush_wire::Diagnostic;
use onrush_wire::graph::{GraphCall, GraphSpec};
use parking_lot::Mutex;

use super::GraphTables;
use crate::engine::Engine;

/// Graphs with fewer arcs stay on the host, unless a device was asked for: launches take longer than the work.
const LEAST_ARCS: u64 = 300_000;
/// Graphs that stay on the device.
const MOST_GRAPHS: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// An LRU cache of graphs on the device.
pub struct DeviceGraphs(Mutex<LruCache<IndexAddress, (Arc<Index>, DeviceGraph)>>);

/// The address of an index, which lives as long as its entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct IndexAddress(usize);

impl IndexAddress {
    fn of(index: &Arc<Index>) -> IndexAddress {
        IndexAddress(Arc::as_ptr(index).addr())
    }
}

impl Default for DeviceGraphs {
    fn default() -> DeviceGraphs {
        DeviceGraphs(Mutex::new(LruCache::new(MOST_GRAPHS)))
    }
}

impl DeviceGraphs {
    fn get(&self, index: &Arc<Index>) -> Option<DeviceGraph> {
        self.0.lock().get(&IndexAddress::of(index)).map(|(_, graph)| graph.clone())
    }

    pub fn put(&self, index: &Arc<Index>, graph: &DeviceGraph) {
        let gone = self.0.lock().push(IndexAddress::of(index), (Arc::clone(index), graph.clone()));
        // Memory of the device is freed after the lock.
        drop(gone);
    }

    /// Drops the graphs of other indexes.
    pub fn keep(&self, is_kept: impl Fn(&Arc<Index>) -> bool) {
        self.0.lock().retain(|_, (index, _)| is_kept(index));
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

impl Engine {
    /// The device for a graph of so many arcs and a call. `None` if the host has to do it.
    fn graph_device(&self, call: &GraphCall, arcs: u64) -> Option<&Accelerator> {
        let accelerator = self.accelerator.as_ref().filter(|_| runs_on_device(call))?;
        let least = if let Policy::FromRows(_) = accelerator.policy { LEAST_ARCS } else { 0 };
        (least..=MOST_ARCS as u64).contains(&arcs).then_some(accelerator)
    }

    /// The result of a call by the device. `None` if the host has to do it. There is then no device, the graph is small
    /// or does not fit, or the algorithm has no form for devices.
    pub(super) fn graph_call_on_device(
        &self,
        index: &Arc<Index>,
        call: &GraphCall,
        frames: &[(String, RecordBatch)],
        run: &Run<'_>,
    ) -> Result<Option<(RecordBatch, &'static str)>, Diagnostic> {
        let Some(accelerator) = self.graph_device(call, index.arcs() as u64) else { return Ok(None) };
        let attempt = || self.on_device(accelerator, index, call, frames, run);
        // Graphs of other frames are not known to the eviction of columns.
        let done = attempt().or_else(|error| match error.is_memory() {
            true => {
                self.graphs.device.clear();
                attempt()
            }
            false => Err(error),
        });
        self.or_host(done.map(|done| done.map(|batch| Some((batch?, accelerator.name)))))
    }

    /// A result of the device. `None` if there is too little memory on it.
    fn or_host<T>(&self, made: onrush_ops::Result<Result<Option<T>, Diagnostic>>) -> Result<Option<T>, Diagnostic> {
        match made {
            Ok(made) => made,
            Err(error) if error.is_memory() => {
                self.graphs.device.clear();
                Ok(None)
            }
            Err(error) => Err(onrush_gpu::diagnostic(error)),
        }
    }

    /// The result of a call. `None` if the device does not number as many arcs as the algorithm needs.
    fn on_device(
        &self,
        accelerator: &Accelerator,
        index: &Arc<Index>,
        call: &GraphCall,
        frames: &[(String, RecordBatch)],
        run: &Run<'_>,
    ) -> onrush_ops::Result<Result<Option<RecordBatch>, Diagnostic>> {
        let gpu = &accelerator.gpu;
        gpu.with_eviction(|| {
            let lane = gpu.lane(index.arcs() as u64)?;
            let context = &lane.context;
            let attempt = || -> Result<DeviceResult, DeviceCallError> {
                let graph = match self.graphs.device.get(index) {
                    Some(graph) => graph,
                    None => {
                        run.stage("copy the graph to the device");
                        let graph = copied(context, index)?;
                        self.graphs.put_on_device(index, &graph);
                        graph
                    }
                };
                run.stage(call.algorithm.clone());
                call_on_device(index, &graph, call, frames, context, run)
            };
            match attempt() {
                Ok(result) => Ok(Ok(Some(with_resident_columns(accelerator, result)))),
                Err(error) => {
                    // Enqueued work may still read memory that is freed now. Another attempt may take another stream,
                    // and write memory that this one still writes.
                    context.stream.synchronize().map_err(onrush_kernels::Error::from)?;
                    match error {
                        DeviceCallError::Call(diagnostic) => Ok(Err(diagnostic)),
                        DeviceCallError::TooManyArcs => Ok(Ok(None)),
                        DeviceCallError::Device(error) => Err(error.into()),
                    }
                }
            }
        })
    }

    /// The index that the device makes of the columns of node ids, with the graph. `None` if the host has to number the
    /// ids. The ids are then no integers or have nulls, a list of nodes is given too, or the algorithm does not run on
    /// the device.
    pub(super) fn index_on_device(
        &self,
        tables: &GraphTables,
        spec: &GraphSpec,
        call: &GraphCall,
    ) -> Result<Option<(Index, DeviceGraph)>, Diagnostic> {
        let edges = &tables.edges;
        let arcs = if spec.directed { edges.rows() } else { 2 * edges.rows() };
        let Some(accelerator) = self.graph_device(call, arcs as u64) else { return Ok(None) };
        let dtype = |at: usize| edges.schema().field(at).data_type();
        let width = edges.schema().fields().len();
        let is_weight = |dtype: &DataType| dtype.is_integer() || matches!(dtype, DataType::Float32 | DataType::Float64);
        let has_nulls = (0..width).any(|at| edges.batches().iter().any(|batch| batch.column(at).null_count() > 0));
        let is_plain = spec.source.len() == 1
            && spec.nodes.is_empty()
            && edges.rows() > 0
            && dtype(0).is_integer()
            && dtype(0) == dtype(1)
            && (2..width).all(|at| is_weight(dtype(at)))
            && !has_nulls;
        if !is_plain {
            return Ok(None);
        }
        self.or_host(self.numbered_on_device(accelerator, tables, spec, dtype(0)))
    }

    fn numbered_on_device(
        &self,
        accelerator: &Accelerator,
        tables: &GraphTables,
        spec: &GraphSpec,
        dtype: &DataType,
    ) -> onrush_ops::Result<Result<Option<(Index, DeviceGraph)>, Diagnostic>> {
        let gpu = &accelerator.gpu;
        let edges = &tables.edges;
        let rows = edges.rows();
        gpu.with_eviction(|| {
            let lane = gpu.lane(rows as u64)?;
            let context = &lane.context;
            let mut columns = Vec::new();
            for at in 0..edges.schema().fields().len() {
                let chunks = ColumnChunks::of(edges.batches(), at);
                columns.push(gpu.residency.column(&lane, &chunks, false)?);
            }
            let mut numbers = Vec::new();
            for column in &columns {
                let DeviceType::Number(scalar) = column.stored() else { return Ok(Ok(None)) };
                numbers.push(column.numbers(scalar));
            }
            let parts = KernelColumns {
                sources: numbers[0],
                targets: numbers[1],
                weights: numbers.get(2).copied(),
                directed: spec.directed,
                with_edges: false,
            };
            let made = match onrush_graph::device::index::index(context, &parts) {
                Ok(made) => made,
                Err(error) => {
                    context.stream.synchronize().map_err(onrush_kernels::Error::from)?;
                    return match error {
                        // The host finds it again, and names the column and the row.
                        DeviceError::Graph(_) => Ok(Ok(None)),
                        DeviceError::Kernels(error) => Err(error.into()),
                    };
                }
            };
            let DeviceIndex { graph, ids, id_type } = made;
            let nodes = graph.nodes() as u64;
            let on_device = DeviceColumn::of_numbers(id_type, ids, nodes);
            let ids = on_device.download(context, dtype, nodes)?;
            let index = Index::of_device(spec.directed, rows, &ids, tables.columns(spec));
            // Results have the ids as a column.
            if let Ok(index) = &index
                && index.ids[0].data_type() == dtype
            {
                gpu.residency.put(&ColumnChunks::new(vec![Arc::clone(&index.ids[0])]), &on_device);
            }
            Ok(index.map(|index| Some((index, graph))))
        })
    }
}

/// Copies a graph to the device: its rows if the host has them, else the numbers at its edges, which the device sorts.
fn copied(context: &Context, index: &Index) -> Result<DeviceGraph, DeviceCallError> {
    if let (None, Some(ends)) = (index.made_graph(), index.made_ends()) {
        let [from, to] = &ends.nodes;
        let (from, to) = (
            context.upload(from).map_err(DeviceCallError::Device)?,
            context.upload(to).map_err(DeviceCallError::Device)?,
        );
        let weights = index.weights()?;
        let weights = weights.map(|weights| context.upload(&weights)).transpose().map_err(DeviceCallError::Device)?;
        let parts = KernelColumns {
            sources: Column::new(Scalar::U32, &from).slice(0, index.edges as u64),
            targets: Column::new(Scalar::U32, &to).slice(0, index.edges as u64),
            weights: weights.as_ref().map(|weights| Column::new(Scalar::F64, weights).slice(0, index.edges as u64)),
            directed: index.directed,
            with_edges: false,
        };
        let made = onrush_graph::device::index::index(context, &parts)?;
        // A node without an edge has no number there.
        if made.graph.nodes() == index.nodes() {
            return Ok(made.graph);
        }
    }
    Ok(DeviceGraph::upload(context, index.graph(), false)?)
}

/// Lets the columns of a result stay on the device, as long as their arrays live.
fn with_resident_columns(accelerator: &Accelerator, result: DeviceResult) -> RecordBatch {
    let DeviceResult { batch, resident } = result;
    for (at, values) in resident {
        let array = batch.column(at);
        let scalar = match array.data_type() {
            DataType::Float64 => Scalar::F64,
            DataType::Int64 => Scalar::I64,
            _ => continue,
        };
        let column = DeviceColumn::of_numbers(scalar, values, batch.num_rows() as u64);
        accelerator.gpu.residency.put(&ColumnChunks::new(vec![Arc::clone(array)]), &column);
    }
    batch
}
