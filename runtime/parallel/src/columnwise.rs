//! Aggregates of whole tables, computed for several columns at once: `describe`, or `select sum(a), median(b) from t`.
//!
//! Each aggregate sees all rows in their order, so its result has the same bits on any number of cores.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::memory::DataSourceExec;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::TryStreamExt;
use onrush_logical::mem_table::HeldRows;

use crate::nodes::{node_parts, visit_all};

/// Rows from which another task gains more than it costs.
const MANY_ROWS: usize = 65_536;

/// Whether a plan reads many rows in memory, and does nothing else to them that would be done twice.
fn reads_many(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let any: &dyn Any = plan.as_ref();
    if let Some(projection) = any.downcast_ref::<ProjectionExec>() {
        let is_column = |expr: &Arc<dyn PhysicalExpr>| {
            let any: &dyn Any = expr.as_ref();
            any.is::<datafusion::physical_expr::expressions::Column>()
        };
        return projection.expr().iter().all(|expr| is_column(&expr.expr)) && reads_many(projection.input());
    }
    any.downcast_ref::<DataSourceExec>().is_some_and(|node| {
        let source: &dyn Any = node.data_source().as_ref();
        source.downcast_ref::<HeldRows>().is_some_and(|rows| rows.table().rows() >= MANY_ROWS)
    })
}

/// An aggregate without groups, of many rows in memory, by columns. `None` for other nodes.
pub fn split(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let any: &dyn Any = node.as_ref();
    let Some(aggregate) = any.downcast_ref::<AggregateExec>() else { return Ok(None) };
    let whole = matches!(aggregate.mode(), AggregateMode::Single | AggregateMode::SinglePartitioned);
    if !whole || !aggregate.group_expr().is_empty() || aggregate.fetch().is_some() || !reads_many(aggregate.input()) {
        return Ok(None);
    }
    // Aggregates of one argument share its casts.
    let mut parts: Vec<(String, Vec<usize>)> = Vec::new();
    for (place, function) in aggregate.aggr_expr().iter().enumerate() {
        let of = function.expressions().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match parts.iter_mut().find(|(known, _)| *known == of) {
            Some((_, places)) => places.push(place),
            None => parts.push((of, vec![place])),
        }
    }
    if parts.len() < 2 {
        return Ok(None);
    }
    let mut places = vec![(0, 0); aggregate.aggr_expr().len()];
    let mut inputs: Vec<Arc<dyn ExecutionPlan>> = Vec::new();
    for (number, (_, of)) in parts.iter().enumerate() {
        of.iter().enumerate().for_each(|(column, place)| places[*place] = (number, column));
        inputs.push(Arc::new(AggregateExec::try_new(
            *aggregate.mode(),
            PhysicalGroupBy::default(),
            of.iter().map(|place| Arc::clone(&aggregate.aggr_expr()[*place])).collect(),
            of.iter().map(|place| aggregate.filter_expr()[*place].clone()).collect(),
            Arc::clone(aggregate.input()),
            aggregate.input_schema(),
        )?));
    }
    Ok(Some(Arc::new(ColumnwiseExec::new(inputs, places, node))))
}

/// Rows of one each, side by side.
#[derive(Debug)]
pub struct ColumnwiseExec {
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    /// The input of each column of the result, and its place there.
    places: Vec<(usize, usize)>,
    properties: Arc<PlanProperties>,
}

impl ColumnwiseExec {
    fn new(inputs: Vec<Arc<dyn ExecutionPlan>>, places: Vec<(usize, usize)>, of: &Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(of.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        ColumnwiseExec { inputs, places, properties: Arc::new(properties) }
    }
}

impl DisplayAs for ColumnwiseExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ColumnwiseExec: {} parts", self.inputs.len())
    }
}

impl ExecutionPlan for ColumnwiseExec {
    node_parts! {
        ColumnwiseExec of self,
        properties: &self.properties,
        children: self.inputs.iter().collect(),
        expressions: |visit| visit_all([], visit),
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let (places, properties) = (self.places.clone(), Arc::clone(&self.properties));
        Ok(Arc::new(ColumnwiseExec { inputs, places, properties }))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (schema, places) = (self.schema(), self.places.clone());
        let streams =
            self.inputs.iter().map(|input| input.execute(0, Arc::clone(&context))).collect::<Result<Vec<_>>>()?;
        let rows = {
            let schema = Arc::clone(&schema);
            async move {
                // All of them are started before the first is waited for.
                let tasks: Vec<_> = streams
                    .into_iter()
                    .map(|stream| {
                        SpawnedTask::spawn(async move {
                            let schema = stream.schema();
                            let batches: Vec<RecordBatch> = stream.try_collect().await?;
                            Ok::<_, DataFusionError>(concat_batches(&schema, &batches)?)
                        })
                    })
                    .collect();
                let mut parts = Vec::new();
                for task in tasks {
                    parts.push(task.join_unwind().await.map_err(|e| DataFusionError::External(Box::new(e)))??);
                }
                let column = |(part, place): &(usize, usize)| -> ArrayRef { Arc::clone(parts[*part].column(*place)) };
                Ok(RecordBatch::try_new(schema, places.iter().map(column).collect())?)
            }
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::once(rows))))
    }
}
