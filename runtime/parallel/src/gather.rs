//! Partitions one after the other, computed several at a time.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};
use futures::{Stream, StreamExt, TryStreamExt, stream};

use crate::cores::Cores;
use crate::nodes::{node_parts, visit_all};

/// Batches of a partition that wait for those before them.
const MOST_WAITING_BATCHES: usize = 32;

/// The rows of its input's partitions, one partition after the other. Partitions are started in their order, and the
/// first unfinished one is always under way, so no partition waits for one that is not started.
#[derive(Debug)]
pub struct GatherExec {
    input: Arc<dyn ExecutionPlan>,
    cores: Cores,
    /// A node above takes only the first rows: partitions are started 1, 2, 4, ... at a time.
    limited: bool,
    /// The properties are those of a node that this one stands for.
    given: bool,
    properties: Arc<PlanProperties>,
}

impl GatherExec {
    /// `properties`: of a node in one partition that this one stands for.
    pub fn with_properties(
        input: Arc<dyn ExecutionPlan>,
        cores: Cores,
        properties: &Arc<PlanProperties>,
    ) -> GatherExec {
        GatherExec { input, cores, limited: false, given: true, properties: Arc::clone(properties) }
    }

    /// `ordered`: the partitions are contiguous parts of the rows, so that the order of each is the order of all.
    pub fn new(input: Arc<dyn ExecutionPlan>, cores: Cores, ordered: bool, limited: bool) -> GatherExec {
        let mut equivalences = input.equivalence_properties().clone();
        // A column that is constant in each input of a union is not constant in all of them.
        equivalences.clear_per_partition_constants();
        if !ordered {
            equivalences.clear_orderings();
        }
        let properties = PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            input.properties().boundedness,
        );
        GatherExec { input, cores, limited, given: false, properties: Arc::new(properties) }
    }
}

impl DisplayAs for GatherExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GatherExec: {} partitions", self.input.output_partitioning().partition_count())
    }
}

impl ExecutionPlan for GatherExec {
    node_parts! {
        GatherExec of self,
        properties: &self.properties,
        children: vec![&self.input],
        expressions: |visit| visit_all([], visit),
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![self.properties.output_ordering().is_some()]
    }

    fn with_new_children(self: Arc<Self>, mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        if self.given {
            let input = inputs.swap_remove(0);
            return Ok(Arc::new(GatherExec::with_properties(input, self.cores, &self.properties)));
        }
        let ordered = self.properties.output_ordering().is_some();
        Ok(Arc::new(GatherExec::new(inputs.swap_remove(0), self.cores, ordered, self.limited)))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Ok(plan_in_order(&self.input, self.cores, self.limited, &context))
    }
}

/// All partitions of a plan, in their order.
pub fn plan_in_order(
    plan: &Arc<dyn ExecutionPlan>,
    cores: Cores,
    limited: bool,
    context: &Arc<TaskContext>,
) -> SendableRecordBatchStream {
    let partitions = plan.output_partitioning().partition_count();
    let (schema, context, plan) = (plan.schema(), Arc::clone(context), Arc::clone(plan));
    let open = move |partition: usize| plan.execute(partition, Arc::clone(&context));
    streams_in_order(schema, partitions, cores, limited, open)
}

/// The rows of so many streams, one stream after the other. `open` is called in their order.
pub fn streams_in_order(
    schema: SchemaRef,
    count: usize,
    cores: Cores,
    limited: bool,
    open: impl Fn(usize) -> Result<SendableRecordBatchStream> + Send + Sync + 'static,
) -> SendableRecordBatchStream {
    if cores.threads == 1 && !cores.jitter {
        let rows = stream::iter(0..count).map(open).try_flatten();
        return Box::pin(RecordBatchStreamAdapter::new(schema, rows));
    }
    let open = Arc::new(open);
    let start = {
        let schema = Arc::clone(&schema);
        move |partition: usize| {
            let mut builder = RecordBatchReceiverStream::builder(Arc::clone(&schema), MOST_WAITING_BATCHES);
            let (sender, open) = (builder.tx(), Arc::clone(&open));
            builder.spawn(async move {
                cores.delay().await;
                let mut rows = open(partition)?;
                while let Some(batch) = rows.next().await {
                    let failed = batch.is_err();
                    // Nobody takes them any more.
                    if sender.send(batch).await.is_err() || failed {
                        break;
                    }
                }
                Ok(())
            });
            builder.build()
        }
    };
    let under_way =
        Streams { next: 0, count, at_once: if limited { 1 } else { cores.window() }, queue: VecDeque::new() };
    let rows = stream::unfold((under_way, start), move |(mut under_way, start)| async move {
        loop {
            while under_way.next < under_way.count && under_way.queue.len() < under_way.at_once {
                under_way.queue.push_back(start(under_way.next));
                under_way.next += 1;
            }
            let first = under_way.queue.front_mut()?;
            match first.next().await {
                Some(Ok(batch)) => return Some((Ok(batch), (under_way, start))),
                Some(Err(error)) => {
                    // The earliest partition's error is the only one.
                    under_way.queue.clear();
                    under_way.count = 0;
                    return Some((Err(error), (under_way, start)));
                }
                None => {
                    under_way.queue.pop_front();
                    under_way.at_once = (under_way.at_once * 2).min(cores.window());
                }
            }
        }
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

struct Streams {
    next: usize,
    count: usize,
    at_once: usize,
    queue: VecDeque<SendableRecordBatchStream>,
}

/// Results of so many tasks in their order, computed several at a time. `work` is called in their order.
pub fn tasks_in_order<T, F>(
    count: usize,
    cores: Cores,
    work: impl Fn(usize) -> F + Send + 'static,
) -> impl Stream<Item = Result<T>> + Send
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let started = move |number: usize| {
        let work = work(number);
        let task = SpawnedTask::spawn(async move {
            cores.delay().await;
            work.await
        });
        async move {
            match task.join_unwind().await {
                Ok(result) => result,
                Err(error) => Err(DataFusionError::External(Box::new(error))),
            }
        }
    };
    stream::iter(0..count).map(started).buffered(cores.window())
}

/// A stream whose rows are counted for `explain_analyze`.
pub fn counted(
    rows: SendableRecordBatchStream,
    metrics: &ExecutionPlanMetricsSet,
    partition: usize,
) -> SendableRecordBatchStream {
    let count = MetricBuilder::new(metrics).output_rows(partition);
    let schema = rows.schema();
    let rows = rows.inspect_ok(move |batch| count.add(batch.num_rows()));
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

/// All batches of a stream.
pub async fn collect(rows: SendableRecordBatchStream) -> Result<Vec<RecordBatch>> {
    rows.try_collect().await
}
