//! Rows that were read for the device, should the CPU need them after all.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};

use super::plan_node::common_methods;

/// Replaces the node that gave the rows, with its properties: their order, and which columns are constant or equal.
/// Nodes above were planned with that, and fail without it.
#[derive(Debug)]
struct MaterializedExec {
    rows: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

/// The rows of a node as a node.
pub fn fresh(batches: Vec<RecordBatch>, of: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    as_known(batches, of, known_of(of.properties()))
}

/// The same where they came out in another order.
pub fn unordered(batches: Vec<RecordBatch>, of: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let mut known = known_of(of.properties());
    known.clear_orderings();
    as_known(batches, of, known)
}

fn as_known(
    batches: Vec<RecordBatch>,
    of: &Arc<dyn ExecutionPlan>,
    known: EquivalenceProperties,
) -> Result<Arc<dyn ExecutionPlan>> {
    let properties = PlanProperties::new(
        known,
        Partitioning::UnknownPartitioning(1),
        EmissionType::Incremental,
        Boundedness::Bounded,
    );
    let rows = MemorySourceConfig::try_new_exec(&[batches], of.schema(), None)?;
    Ok(Arc::new(MaterializedExec { rows, properties: Arc::new(properties) }))
}

/// The source of a node's rows, if it stands for rows that were read.
pub fn source(plan: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    let any: &dyn Any = plan.as_ref();
    any.downcast_ref::<MaterializedExec>().map_or(plan, |read| &read.rows)
}

/// The properties of a node's rows in one partition. A column that is constant in each of several partitions is not
/// constant in their union.
pub fn known_of(properties: &PlanProperties) -> EquivalenceProperties {
    let mut known = properties.equivalence_properties().clone();
    if properties.output_partitioning().partition_count() > 1 {
        known.clear_per_partition_constants();
    }
    known
}

impl DisplayAs for MaterializedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadExec")
    }
}

impl ExecutionPlan for MaterializedExec {
    common_methods!("ReadExec");

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.rows.execute(partition, context)
    }
}
