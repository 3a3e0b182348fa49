//! The first rows in an order, of each partition by itself.

use std::fmt;
use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};

use crate::nodes::{node_parts, visit_all};
use crate::streams::StreamsExec;

/// The first rows of each partition. DataFusion's top-k lets partitions skip rows by what others have found so far, and
/// so would choose among equal rows by time.
#[derive(Debug)]
pub struct PartitionTopKExec {
    input: Arc<dyn ExecutionPlan>,
    order: LexOrdering,
    fetch: usize,
    properties: Arc<PlanProperties>,
}

impl PartitionTopKExec {
    pub fn new(input: Arc<dyn ExecutionPlan>, order: LexOrdering, fetch: usize) -> PartitionTopKExec {
        let mut equivalences = input.equivalence_properties().clone();
        equivalences.clear_orderings();
        let properties = PlanProperties::new(
            equivalences,
            input.output_partitioning().clone(),
            EmissionType::Final,
            input.properties().boundedness,
        );
        PartitionTopKExec { input, order, fetch, properties: Arc::new(properties) }
    }
}

impl DisplayAs for PartitionTopKExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartitionTopKExec: first {} by {}", self.fetch, self.order)
    }
}

impl ExecutionPlan for PartitionTopKExec {
    node_parts! {
        PartitionTopKExec of self,
        properties: &self.properties,
        children: vec![&self.input],
        expressions: |visit| visit_all(self.order.iter().map(|key| &key.expr), visit),
    }

    fn with_new_children(self: Arc<Self>, mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(PartitionTopKExec::new(inputs.swap_remove(0), self.order.clone(), self.fetch)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, Arc::clone(&context))?;
        let input = StreamsExec::new(self.schema(), vec![rows]);
        SortExec::new(self.order.clone(), Arc::new(input)).with_fetch(Some(self.fetch)).execute(0, context)
    }
}
