//! A leaf for plans that are made while another one runs: its partitions are streams that are there already.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use parking_lot::Mutex;

use crate::nodes::{node_parts, visit_all};

/// Streams as the partitions of a plan. Each is taken once.
pub struct StreamsExec {
    slots: Vec<Mutex<Option<SendableRecordBatchStream>>>,
    properties: Arc<PlanProperties>,
}

impl StreamsExec {
    pub fn new(schema: SchemaRef, streams: Vec<SendableRecordBatchStream>) -> StreamsExec {
        StreamsExec::ordered(EquivalenceProperties::new(schema), streams)
    }

    /// Streams of whose rows something is known.
    pub fn ordered(equivalences: EquivalenceProperties, streams: Vec<SendableRecordBatchStream>) -> StreamsExec {
        let properties = PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(streams.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let slots = streams.into_iter().map(|stream| Mutex::new(Some(stream))).collect();
        StreamsExec { slots, properties: Arc::new(properties) }
    }
}

impl fmt::Debug for StreamsExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamsExec").field("slots", &self.slots.len()).finish_non_exhaustive()
    }
}

impl DisplayAs for StreamsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamsExec: {} streams", self.slots.len())
    }
}

impl ExecutionPlan for StreamsExec {
    node_parts! {
        StreamsExec of self,
        properties: &self.properties,
        children: Vec::new(),
        expressions: |visit| visit_all([], visit),
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let taken = self.slots[partition].lock().take();
        match taken {
            Some(stream) => Ok(stream),
            None => internal_err!("partition {partition} of a stream was read twice"),
        }
    }
}

/// Batches in memory as a stream.
pub fn batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> SendableRecordBatchStream {
    Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(batches.into_iter().map(Ok))))
}
