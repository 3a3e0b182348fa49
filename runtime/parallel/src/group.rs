//! `GROUP BY` over many partitions.
//!
//! Few groups: each partition is aggregated by itself, and the states are merged in the order of the partitions. Many
//! groups: rows are hash-partitioned by their keys, so that each group sees its rows in their order. The rows of the
//! first partition decide.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};
use futures::{StreamExt, TryStreamExt, stream};

use crate::cores::Cores;
use crate::exchange::{PARTITIONS, exchanged};
use crate::gather::{collect, counted, plan_in_order, streams_in_order};
use crate::nodes::node_parts;
use crate::streams::{StreamsExec, batches};

/// Rows for each group in the first partition from which on groups are few.
const ROWS_PER_FEW_GROUPS: usize = 16;

/// The groups of an aggregate over a partitioned input.
#[derive(Debug)]
pub struct PartitionedAggregateExec {
    /// Over one partition: its input is not used.
    aggregate: Arc<AggregateExec>,
    node: Arc<dyn ExecutionPlan>,
    input: Arc<dyn ExecutionPlan>,
    metrics: ExecutionPlanMetricsSet,
    /// All aggregates have states that are small and can be merged.
    merges: bool,
    cores: Cores,
    properties: Arc<PlanProperties>,
}

impl PartitionedAggregateExec {
    pub fn new(aggregate: Arc<AggregateExec>, input: Arc<dyn ExecutionPlan>, cores: Cores) -> PartitionedAggregateExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(aggregate.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let merges = merges(&aggregate);
        let node = Arc::<AggregateExec>::clone(&aggregate);
        let metrics = ExecutionPlanMetricsSet::new();
        PartitionedAggregateExec { aggregate, node, input, metrics, merges, cores, properties: Arc::new(properties) }
    }
}

impl PartitionedAggregateExec {
    /// DataFusion's aggregate, which this node stands for.
    pub fn node(&self) -> &Arc<dyn ExecutionPlan> {
        &self.node
    }

    pub fn aggregate(&self) -> &AggregateExec {
        &self.aggregate
    }

    /// The column of the input that a column of the result groups by.
    pub fn key(&self, place: usize) -> Option<usize> {
        let keys = self.aggregate.group_expr().expr();
        let key: &dyn Any = keys.get(place)?.0.as_ref();
        key.downcast_ref::<Column>().map(Column::index)
    }
}

/// Aggregates with states of a few bytes for each group, which can be merged in the order of the partitions.
const MERGEABLE_AGGREGATES: &[&str] = &[
    "sum",
    "count",
    "min",
    "max",
    "avg",
    "mean",
    "var",
    "var_samp",
    "var_pop",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "bool_and",
    "bool_or",
    "bit_and",
    "bit_or",
    "bit_xor",
    "corr",
    "covar_samp",
    "covar_pop",
    "first_value",
    "last_value",
    "product",
];

/// Whether the states of all aggregates are small and can be merged.
pub fn merges(aggregate: &AggregateExec) -> bool {
    aggregate.aggr_expr().iter().all(|call| {
        let name = call.fun().name();
        !call.is_distinct() && call.order_bys().is_empty() && MERGEABLE_AGGREGATES.contains(&name)
    })
}

/// The aggregate over part of the rows, with states instead of results.
pub fn partial(aggregate: &AggregateExec, input: Arc<dyn ExecutionPlan>) -> Result<AggregateExec> {
    AggregateExec::try_new(
        AggregateMode::Partial,
        aggregate.group_expr().clone(),
        aggregate.aggr_expr().to_vec(),
        aggregate.filter_expr().to_vec(),
        input,
        aggregate.input_schema(),
    )
}

/// The aggregate over states.
pub fn merged(aggregate: &AggregateExec, states: Arc<dyn ExecutionPlan>) -> Result<AggregateExec> {
    let aggregates = aggregate.aggr_expr().to_vec();
    AggregateExec::try_new(
        AggregateMode::Final,
        aggregate.group_expr().as_final(),
        aggregates.clone(),
        vec![None; aggregates.len()],
        states,
        aggregate.input_schema(),
    )
}

impl DisplayAs for PartitionedAggregateExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartitionedAggregateExec: ")?;
        self.aggregate.fmt_as(t, f)
    }
}

impl ExecutionPlan for PartitionedAggregateExec {
    node_parts! {
        PartitionedAggregateExec of self,
        properties: &self.properties,
        children: vec![&self.input],
        expressions: |visit| self.aggregate.apply_expressions(visit),
    }

    fn with_new_children(self: Arc<Self>, mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(PartitionedAggregateExec::new(Arc::clone(&self.aggregate), inputs.swap_remove(0), self.cores)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let work = Work {
            aggregate: Arc::clone(&self.aggregate),
            input: Arc::clone(&self.input),
            merges: self.merges,
            cores: self.cores,
            context,
        };
        let rows = {
            let schema = Arc::clone(&schema);
            stream::once(work.run()).try_flatten().map(move |batch| {
                // The same types, maybe under other names.
                let batch = batch?;
                Ok(RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec())?)
            })
        };
        Ok(counted(Box::pin(RecordBatchStreamAdapter::new(schema, rows)), &self.metrics, 0))
    }
}

struct Work {
    aggregate: Arc<AggregateExec>,
    input: Arc<dyn ExecutionPlan>,
    merges: bool,
    cores: Cores,
    context: Arc<TaskContext>,
}

impl Work {
    async fn run(self) -> Result<SendableRecordBatchStream> {
        let partitions = self.input.output_partitioning().partition_count();
        let schema = self.input.schema();
        let (mut first, mut at) = (Vec::new(), 0);
        let mut rows = 0;
        if self.merges {
            while rows == 0 && at < partitions {
                first = collect(self.input.execute(at, Arc::clone(&self.context))?).await?;
                rows = first.iter().map(RecordBatch::num_rows).sum();
                at += 1;
            }
            let input = StreamsExec::new(Arc::clone(&schema), vec![batches(Arc::clone(&schema), first.clone())]);
            let states = partial(&self.aggregate, Arc::new(input))?;
            let state_schema = states.schema();
            let states = collect(states.execute(0, Arc::clone(&self.context))?).await?;
            let groups: usize = states.iter().map(RecordBatch::num_rows).sum();
            if groups * ROWS_PER_FEW_GROUPS <= rows || at == partitions {
                return self.few(at, batches(state_schema, states));
            }
        }
        self.many(at, first).await
    }

    /// Merges the states of the first partitions with those of the others.
    fn few(self, at: usize, states: SendableRecordBatchStream) -> Result<SendableRecordBatchStream> {
        let partitions = self.input.output_partitioning().partition_count();
        let schema = states.schema();
        let rest = partial(&self.aggregate, self.input)?;
        let (cores, context) = (self.cores, Arc::clone(&self.context));
        let rest = streams_in_order(Arc::clone(&schema), partitions - at, cores, false, move |number| {
            rest.execute(at + number, Arc::clone(&context))
        });
        let all = RecordBatchStreamAdapter::new(Arc::clone(&schema), states.chain(rest));
        let input = StreamsExec::new(schema, vec![Box::pin(all)]);
        merged(&self.aggregate, Arc::new(input))?.execute(0, self.context)
    }

    async fn many(self, at: usize, first: Vec<RecordBatch>) -> Result<SendableRecordBatchStream> {
        let input = Arc::clone(&self.input);
        let schema = input.schema();
        let partitions = input.output_partitioning().partition_count();
        let started = usize::from(at > 0);
        let open = {
            let (schema, context) = (Arc::clone(&schema), Arc::clone(&self.context));
            move |number: usize| match number < started {
                true => Ok(batches(Arc::clone(&schema), first.clone())),
                false => input.execute(at + number - started, Arc::clone(&context)),
            }
        };
        let keys = self.aggregate.group_expr().input_exprs();
        let count = started + partitions - at;
        let pieces = exchanged(Arc::clone(&schema), count, open, keys, self.cores, false, &self.context).await?;
        let streams: Vec<_> = (0..PARTITIONS).map(|partition| pieces.partition(partition)).collect::<Result<_>>()?;
        let groups = AggregateExec::try_new(
            AggregateMode::SinglePartitioned,
            self.aggregate.group_expr().clone(),
            self.aggregate.aggr_expr().to_vec(),
            self.aggregate.filter_expr().to_vec(),
            Arc::new(StreamsExec::new(schema, streams)),
            self.aggregate.input_schema(),
        )?;
        let groups: Arc<dyn ExecutionPlan> = Arc::new(groups);
        Ok(plan_in_order(&groups, self.cores, false, &self.context))
    }
}
