//! Calls of algorithms on a device: graphs that were copied there, and what runs there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::RecordBatch;
use onrush_gpu::{Accelerator, Policy};
use onrush_graph::Run;
use onrush_graph::device::{DeviceGraph, MOST_ARCS};
use onrush_graph_calls::{DeviceCallError, Index, call_on_device, runs_on_device};
use onrush_wire::Diagnostic;
use onrush_wire::graph::GraphCall;

use crate::engine::Engine;

/// Graphs with fewer arcs stay on the host, unless a device was asked for: launches take longer than the work.
const LEAST_ARCS: u64 = 300_000;
/// Graphs on the device.
const KEPT: usize = 2;

/// Graphs that are on the device, the latest used last.
#[derive(Default)]
pub struct DeviceGraphs(Mutex<Vec<(Arc<Index>, DeviceGraph)>>);

impl DeviceGraphs {
    fn lock(&self) -> MutexGuard<'_, Vec<(Arc<Index>, DeviceGraph)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, index: &Arc<Index>) -> Option<DeviceGraph> {
        let mut all = self.lock();
        let at = all.iter().position(|(known, _)| Arc::ptr_eq(known, index))?;
        let found = all.remove(at);
        all.push(found.clone());
        Some(found.1)
    }

    fn put(&self, index: &Arc<Index>, graph: &DeviceGraph) {
        let mut all = self.lock();
        all.retain(|(known, _)| !Arc::ptr_eq(known, index));
        let more = (all.len() + 1).saturating_sub(KEPT);
        all.drain(..more);
        all.push((Arc::clone(index), graph.clone()));
    }

    /// Drops the graphs of other indexes.
    pub fn keep(&self, is_kept: impl Fn(&Arc<Index>) -> bool) {
        self.lock().retain(|(index, _)| is_kept(index));
    }

    pub fn clear(&self) {
        self.lock().clear();
    }
}

impl Engine {
    /// The result of a call by the device. `None` if the host has to do it: there is no device, the graph is small or does not fit, or
    /// the algorithm has no form for devices.
    pub(super) fn graph_call_on_device(
        &self,
        index: &Arc<Index>,
        call: &GraphCall,
        frames: &[(String, RecordBatch)],
        run: &Run<'_>,
    ) -> Result<Option<(RecordBatch, &'static str)>, Diagnostic> {
        let arcs = index.graph.out_rows().targets.len();
        let Some(accelerator) = self.accelerator.as_ref().filter(|_| runs_on_device(call)) else { return Ok(None) };
        let least = if let Policy::FromRows(_) = accelerator.policy { LEAST_ARCS } else { 0 };
        if (arcs as u64) < least || arcs > MOST_ARCS {
            return Ok(None);
        }
        let done = self.on_device(accelerator, index, call, frames, run);
        match done {
            Ok(done) => done.map(|batch| Some((batch, accelerator.name))),
            Err(error) if error.is_memory() => {
                self.graphs.device.clear();
                Ok(None)
            }
            Err(error) => Err(onrush_gpu::diagnostic(error)),
        }
    }

    fn on_device(
        &self,
        accelerator: &Accelerator,
        index: &Arc<Index>,
        call: &GraphCall,
        frames: &[(String, RecordBatch)],
        run: &Run<'_>,
    ) -> onrush_ops::Result<Result<RecordBatch, Diagnostic>> {
        let gpu = &accelerator.gpu;
        let arcs = index.graph.out_rows().targets.len() as u64;
        gpu.with_eviction(|| {
            let lane = gpu.lane(arcs)?;
            let context = &lane.context;
            let attempt = || -> Result<RecordBatch, DeviceCallError> {
                let graph = match self.graphs.device.get(index) {
                    Some(graph) => graph,
                    None => {
                        run.stage("copy the graph to the device");
                        let graph = DeviceGraph::upload(context, &index.graph, false)?;
                        self.graphs.device.put(index, &graph);
                        graph
                    }
                };
                run.stage(call.algorithm.clone());
                call_on_device(index, &graph, call, frames, context, run)
            };
            match attempt() {
                Ok(batch) => Ok(Ok(batch)),
                Err(DeviceCallError::Call(diagnostic)) => Ok(Err(diagnostic)),
                Err(DeviceCallError::Device(error)) => {
                    // Another attempt may take another stream, and write what this one still writes.
                    context.stream.synchronize().map_err(onrush_kernels::Error::from)?;
                    Err(error.into())
                }
            }
        })
    }
}
