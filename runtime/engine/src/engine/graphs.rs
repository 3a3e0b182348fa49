//! Graphs: indexes over frames of edges, which are kept for the next calls, and calls of algorithms as steps.
//!
//! Ids become numbers of nodes in `runtime/graph-arrow`; the algorithms are in `runtime/graph`. An index is kept by the
//! key of the frame and the columns.

mod device;

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{and, concat_batches, filter_record_batch, is_not_null};
use onrush_expr::diagnostics;
use onrush_expr::error::internal;
use onrush_frame::{Table, TaskHandle};
use onrush_graph::Run;
use onrush_graph::device::DeviceGraph;
use onrush_graph_arrow::{EdgeColumns, Index, MakeColumns, WeightColumn};
use onrush_io::GraphTables as GraphFile;
use onrush_logical::fingerprint;
use onrush_logical::ops::Inputs;
use onrush_wire::graph::{GraphCall, GraphSpec};
use onrush_wire::plan::Op;
use onrush_wire::session::{Reply, Request};
use onrush_wire::visual::GraphWrite;
use onrush_wire::{Diagnostic, Expr, FrameId, Span};

use super::frames::resident;
use super::service::{Answer, Job, misrouted};
use super::{Engine, Frame, placed};
use crate::memory_pool::HeldMemory;

/// Indexes that were used last.
#[derive(Default)]
pub(super) struct Indexes {
    /// With their keys, the latest used last.
    kept: Mutex<Vec<(u128, Arc<Index>, HeldMemory)>>,
    device: device::DeviceGraphs,
}

/// Indexes that are kept.
const KEPT: usize = 4;
/// Bytes that the numbering of nodes takes for each edge.
const NUMBERED: u64 = 48;

impl Indexes {
    fn get(&self, key: u128) -> Option<Arc<Index>> {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|(known, ..)| *known == key)?;
        let found = all.remove(at);
        let index = Arc::clone(&found.1);
        all.push(found);
        Some(index)
    }

    /// Keeps an index, and as many of the others as fit into `most` bytes with it. `memory`: what is counted for it.
    fn put(&self, key: u128, index: &Arc<Index>, most: u64, mut memory: HeldMemory) {
        if index.bytes() > most || memory.set(index.bytes()).is_err() {
            return;
        }
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(known, ..)| *known != key);
        all.push((key, Arc::clone(index), memory));
        let bytes = |all: &[(u128, Arc<Index>, HeldMemory)]| all.iter().map(|(_, index, _)| index.bytes()).sum::<u64>();
        let mut gone = Vec::new();
        while all.len() > 1 && (all.len() > KEPT || bytes(&all) > most) {
            gone.push(all.remove(0));
        }
        self.device.keep(|index| all.iter().any(|(_, kept, _)| Arc::ptr_eq(kept, index)));
        // Large buffers are freed after the lock.
        drop(all);
        drop(gone);
    }

    /// Keeps the graph of an index on the device, if the index is kept.
    fn put_on_device(&self, index: &Arc<Index>, graph: &DeviceGraph) {
        let all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if all.iter().any(|(_, kept, _)| Arc::ptr_eq(kept, index)) {
            self.device.put(index, graph);
        }
    }

    /// Bytes of all indexes that are kept.
    pub(super) fn bytes(&self) -> u64 {
        let all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(_, index, _)| index.bytes()).sum()
    }

    pub(super) fn clear(&self) {
        self.device.clear();
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The columns that a graph is made of: those of the edges (sources, targets, weights), and ids of nodes.
#[derive(Clone)]
struct GraphTables {
    edges: Arc<Table>,
    nodes: Vec<Arc<Table>>,
}

impl GraphTables {
    /// Makes whole columns when they are needed.
    fn columns(&self, spec: &GraphSpec) -> MakeColumns {
        let (tables, spec) = (self.clone(), spec.clone());
        Box::new(move || {
            let whole = |table: &Table| -> Result<Vec<ArrayRef>, Diagnostic> {
                let columns = 0..table.schema().fields().len();
                columns.map(|at| table.column(at).map_err(|e| internal(&e.to_string()))).collect()
            };
            let all = whole(&tables.edges)?;
            let (source, rest) = all.split_at(spec.source.len());
            let (target, rest) = rest.split_at(spec.target.len());
            let weight = spec.weight.iter().zip(rest).next();
            let weight = weight.map(|(name, values)| WeightColumn { name: name.clone(), values: values.clone() });
            Ok(EdgeColumns {
                source: source.to_vec(),
                target: target.to_vec(),
                names: [spec.source.clone(), spec.target.clone()],
                weight,
                directed: spec.directed,
                nodes: tables.nodes.iter().map(|table| whole(table)).collect::<Result<_, _>>()?,
            })
        })
    }
}

impl Engine {
    /// Answers a call of the family of graphs.
    pub(super) fn answer_graphs(&self, job: Job, task: &TaskHandle) -> Result<Answer, Diagnostic> {
        match job.request {
            Request::WriteGraph(write) => {
                let (path, rows, bytes) = self.write_graph(&write, task)?;
                Ok(Answer::reply(Reply::Written { path, rows, bytes }))
            }
            other => Err(misrouted(&other)),
        }
    }

    /// The result of an algorithm, computed at once.
    pub(super) fn graph_step(
        &self,
        input: FrameId,
        spec: &GraphSpec,
        call: &GraphCall,
        (key, at): (u128, Option<&Span>),
        task: &TaskHandle,
    ) -> Result<Frame, Diagnostic> {
        let work = || {
            let index = self.index_for(input, spec, Some(call), task)?;
            let (batch, place) = self.graph_call_placed(&index, call, task)?;
            let table = Table::new(batch.schema(), vec![batch]);
            resident(key, format!("{}, {place}", call.algorithm), Arc::new(table))
        };
        work().map_err(|d| placed(d, at))
    }

    /// The number of connected components, without regard to directions, and the nodes of the largest one.
    ///
    /// # Errors
    /// If the user stops it.
    pub fn graph_components(&self, index: &Index, task: &TaskHandle) -> Result<(u64, u64), Diagnostic> {
        let stopped = || task.cancelled();
        let run = Run { is_stopped: &stopped, ..Run::silent() };
        let graph = index.graph();
        let found = self.on_learners(|| match graph.is_directed() {
            true => onrush_graph::components::weakly_connected_components(graph, &run),
            false => onrush_graph::components::connected_components(graph, &run),
        });
        let found = found.map_err(|_| Diagnostic::from(onrush_frame::CancelError))?;
        let largest = found.component.iter().filter(|component| **component == 0).count();
        Ok((found.count() as u64, largest as u64))
    }

    /// Runs an algorithm.
    ///
    /// # Errors
    /// Those of the algorithm, unknown nodes, and what the frames of its parameters can fail with.
    pub fn graph_call(
        &self,
        index: &Arc<Index>,
        call: &GraphCall,
        task: &TaskHandle,
    ) -> Result<RecordBatch, Diagnostic> {
        Ok(self.graph_call_placed(index, call, task)?.0)
    }

    /// The result of an algorithm, and where it ran: `cpu`, `cuda` or `emulated`.
    fn graph_call_placed(
        &self,
        index: &Arc<Index>,
        call: &GraphCall,
        task: &TaskHandle,
    ) -> Result<(RecordBatch, &'static str), Diagnostic> {
        let mut frames = Vec::new();
        for (name, frame) in &call.frames {
            let table = self.table(*frame, &[], task)?;
            let batch = concat_batches(table.schema(), table.batches()).map_err(|e| internal(&e.to_string()))?;
            frames.push((name.clone(), batch));
        }
        task.stage(call.algorithm.clone());
        let stopped = || task.cancelled();
        let stage = |text: String| task.stage(text);
        let steps = |done: u64, of: u64| task.set_steps(done, of);
        let run = Run { is_stopped: &stopped, stage: &stage, steps: &steps };
        let batch = match self.graph_call_on_device(index, call, &frames, &run) {
            Ok(None) => self.on_learners(|| onrush_graph_arrow::call(index, call, &frames, &run)).map(|b| (b, "cpu")),
            Ok(Some(placed)) => Ok(placed),
            Err(error) => Err(error),
        };
        if task.cancelled() {
            return Err(onrush_frame::CancelError.into());
        }
        batch
    }

    /// The index of a graph with its rows on the host, kept for the next call.
    ///
    /// # Errors
    /// Those of [`Index::new`], unknown columns, and what the frames can fail with.
    pub fn graph_index(&self, input: FrameId, spec: &GraphSpec, task: &TaskHandle) -> Result<Arc<Index>, Diagnostic> {
        let index = self.index_for(input, spec, None, task)?;
        self.on_learners(|| _ = index.graph());
        Ok(index)
    }

    /// The index of a graph, kept for the next call. With a call that runs on a device it may be made there.
    fn index_for(
        &self,
        input: FrameId,
        spec: &GraphSpec,
        call: Option<&GraphCall>,
        task: &TaskHandle,
    ) -> Result<Arc<Index>, Diagnostic> {
        let frame = self.frame(input)?;
        let mut of_nodes = Vec::new();
        for nodes in &spec.nodes {
            of_nodes.push((self.frame(nodes.frame)?.key, nodes.columns.clone()));
        }
        let index_key = fingerprint::hash(|h| {
            use std::hash::Hash;
            let GraphSpec { source, target, directed, weight, nodes: _ } = spec;
            ("graph", frame.key, source, target, directed, weight, &of_nodes).hash(h);
        });
        if let Some(index) = self.graphs.get(index_key) {
            return Ok(index);
        }
        let tables = self.graph_tables(input, spec, task)?;
        task.stage("number the nodes");
        // Ids, numbers of nodes and neighbours in both directions: about three words for each end of an edge.
        let mut memory = self.account("graphs");
        memory.grow(
            NUMBERED * (tables.edges.rows() as u64 + tables.nodes.iter().map(|t| t.rows() as u64).sum::<u64>()),
        )?;
        let made = match call {
            Some(call) => self.index_on_device(&tables, spec, call)?,
            None => None,
        };
        let (index, on_device) = match made {
            Some((index, graph)) => (Arc::new(index), Some(graph)),
            None => (Arc::new(self.on_learners(|| Index::new(tables.columns(spec)))?), None),
        };
        if task.cancelled() {
            return Err(onrush_frame::CancelError.into());
        }
        self.graphs.put(index_key, &index, self.memory_limit() / 8, memory);
        if let Some(graph) = on_device {
            self.graphs.put_on_device(&index, &graph);
        }
        Ok(index)
    }

    /// The rows that a graph is made of.
    fn graph_tables(&self, input: FrameId, spec: &GraphSpec, task: &TaskHandle) -> Result<GraphTables, Diagnostic> {
        let of_edges = spec.source.iter().chain(&spec.target).chain(&spec.weight).map(String::as_str);
        let edges = self.columns_of(input, of_edges, task)?;
        let mut nodes = Vec::new();
        for ids in &spec.nodes {
            nodes.push(self.columns_of(ids.frame, ids.columns.iter().map(String::as_str), task)?);
        }
        Ok(GraphTables { edges, nodes })
    }

    /// Columns of a frame, in this order.
    fn columns_of<'a>(
        &self,
        input: FrameId,
        columns: impl Iterator<Item = &'a str>,
        task: &TaskHandle,
    ) -> Result<Arc<Table>, Diagnostic> {
        // A column may be asked for twice.
        let named = columns.enumerate().map(|(at, column)| Expr::column(column).alias(format!("__onrush_{at}")));
        self.run_op(&Op::Select { input, exprs: named.collect() }, task)
    }

    /// Writes a graph to a file: the path, the number of edges, the bytes.
    ///
    /// # Errors
    /// What the frames and the file can fail with, and a graph that the format cannot hold.
    pub fn write_graph(&self, write: &GraphWrite, task: &TaskHandle) -> Result<(String, u64, u64), Diagnostic> {
        let GraphSpec { source, target, directed, weight, .. } = &write.graph;
        let ([source], [target]) = (source.as_slice(), target.as_slice()) else {
            return Err(diagnostics::plan_error(
                "argument",
                "a file has one id for each node, and this graph has several columns",
            )
            .help("join them to one column first: `concat_str`"));
        };
        let fail = |e: arrow::error::ArrowError| internal(&e.to_string());
        let table = self.table(write.edges, &[], task)?;
        let edges = concat_batches(table.schema(), table.batches()).map_err(fail)?;
        let kept = is_not_null(
            edges.column_by_name(source).ok_or_else(|| diagnostics::unknown_column(source, table.schema()))?,
        )
        .and_then(|from| {
            let to = edges.column_by_name(target).map_or_else(|| Ok(from.clone()), |to| is_not_null(to))?;
            and(&from, &to)
        })
        .map_err(fail)?;
        let edges = filter_record_batch(&edges, &kept).map_err(fail)?;
        // The ends first, then the weight, then all other columns.
        let first = [(source.as_str(), "source"), (target, "target")].into_iter();
        let first: Vec<(&str, &str)> = first.chain(weight.as_deref().map(|weight| (weight, "weight"))).collect();
        let schema = edges.schema();
        let others = schema.fields().iter().map(|f| f.name().as_str());
        let others: Vec<&str> = others.filter(|name| !first.iter().any(|(column, _)| column == name)).collect();
        if let Some((_, taken)) = first.iter().find(|(_, new)| others.contains(new)) {
            let message = format!("the edges have a column `{taken}`, and the file gives that name to another one");
            return Err(diagnostics::plan_error("duplicate-column", message)
                .help(format!("`rename` or `drop` `{taken}` first")));
        }
        let named: Vec<(&str, &str)> =
            first.iter().copied().chain(others.into_iter().map(|name| (name, name))).collect();
        let columns = named.iter().filter_map(|(column, new)| Some((*new, edges.column_by_name(column)?.clone())));
        let edges =
            RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).map_err(fail)?;
        let nodes = match write.nodes {
            Some(frame) => {
                let table = self.table(frame, &[], task)?;
                concat_batches(table.schema(), table.batches()).map_err(fail)?
            }
            None => {
                let index = self.graph_index(write.edges, &write.graph, task)?;
                RecordBatch::try_from_iter_with_nullable([("node", index.ids[0].clone(), false)]).map_err(fail)?
            }
        };
        let rows = edges.num_rows() as u64;
        let graph = GraphFile { directed: *directed, nodes, edges };
        task.stage(format!("write {}", write.path));
        let (path, bytes) = onrush_io::write_graph(&write.path, &write.folder, write.format.as_deref(), &graph)?;
        Ok((path, rows, bytes))
    }
}
