//! `row_number() over ()` of partitions: the numbers go on from one partition to the next.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use datafusion::common::{internal_datafusion_err, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::gather::collect;
use crate::nodes::{node_parts, visit_all};

/// Adds a column with the number of each row, from one on, as the last one. The partitions are parts of the rows in
/// their order.
#[derive(Debug)]
pub struct RowNumberExec {
    input: Arc<dyn ExecutionPlan>,
    /// The rows of each partition but the last, if that is known. Otherwise a partition waits until those before it are
    /// counted.
    chunk: Option<usize>,
    properties: Arc<PlanProperties>,
    /// The count of each partition, until it is run.
    counts: Vec<Mutex<Option<Count>>>,
}

/// How many rows the partitions before one have.
#[derive(Debug, Default)]
struct Count {
    receiver: Option<oneshot::Receiver<u64>>,
    /// For the partition after it.
    sender: Option<oneshot::Sender<u64>>,
}

impl RowNumberExec {
    /// `properties`: of the window that this node stands for.
    pub fn new(input: Arc<dyn ExecutionPlan>, chunk: Option<usize>, properties: &PlanProperties) -> RowNumberExec {
        let partitioning = input.output_partitioning().clone();
        let counts = counts(partitioning.partition_count());
        let equivalences = properties.equivalence_properties().clone();
        let boundedness = input.properties().boundedness;
        let properties = PlanProperties::new(equivalences, partitioning, EmissionType::Incremental, boundedness);
        RowNumberExec { input, chunk, properties: Arc::new(properties), counts }
    }
}

fn counts(partitions: usize) -> Vec<Mutex<Option<Count>>> {
    let mut counts: Vec<Count> = (0..partitions).map(|_| Count::default()).collect();
    for after in 1..partitions {
        let (sender, receiver) = oneshot::channel();
        counts[after - 1].sender = Some(sender);
        counts[after].receiver = Some(receiver);
    }
    counts.into_iter().map(|count| Mutex::new(Some(count))).collect()
}

impl DisplayAs for RowNumberExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowNumberExec")
    }
}

impl ExecutionPlan for RowNumberExec {
    node_parts! {
        RowNumberExec of self,
        properties: &self.properties,
        children: vec![&self.input],
        expressions: |visit| visit_all([], visit),
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn with_new_children(self: Arc<Self>, mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(RowNumberExec::new(inputs.swap_remove(0), self.chunk, &self.properties)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?;
        let schema = self.schema();
        if let Some(chunk) = self.chunk {
            let of = Arc::clone(&schema);
            let mut before = (partition * chunk) as u64;
            let numbered = rows.map(move |batch| numbered(&of, &batch?, &mut before));
            return Ok(Box::pin(RecordBatchStreamAdapter::new(schema, numbered)));
        }
        let Some(count) = self.counts[partition].lock().take() else {
            return internal_err!("partition {partition} of numbered rows was run twice");
        };
        let of = Arc::clone(&schema);
        let counted = async move {
            let batches = collect(rows).await?;
            let mut before = match count.receiver {
                // The partition before this one ended with an error, which is the one that is shown.
                Some(receiver) => receiver
                    .await
                    .map_err(|_| internal_datafusion_err!("the rows before partition {partition} failed"))?,
                None => 0,
            };
            let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
            if let Some(sender) = count.sender {
                let _ = sender.send(before + rows as u64);
            }
            let numbered = batches.into_iter().map(move |batch| numbered(&of, &batch, &mut before));
            Ok::<_, DataFusionError>(stream::iter(numbered))
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream::once(counted).try_flatten())))
    }
}

fn numbered(schema: &arrow::datatypes::SchemaRef, batch: &RecordBatch, before: &mut u64) -> Result<RecordBatch> {
    let rows = batch.num_rows() as u64;
    let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(*before + 1..=*before + rows));
    *before += rows;
    let columns = batch.columns().iter().cloned().chain([numbers]).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}
