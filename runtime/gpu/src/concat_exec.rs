//! Tables one after the other, in one partition.

use std::fmt;
use std::sync::Arc;

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, execute_stream,
};
use futures::TryStreamExt;

use super::materialized_exec::known_of;
use super::plan_node::{common_methods, with_inputs, with_schema};

/// The rows of its inputs, one input after the other.
#[derive(Debug)]
pub struct ConcatExec {
    /// As DataFusion has it: what is known of its columns.
    pub union: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl ConcatExec {
    pub fn new(union: Arc<dyn ExecutionPlan>, ordering: Option<&LexOrdering>) -> ConcatExec {
        let mut known: EquivalenceProperties = known_of(union.properties());
        known.clear_orderings();
        if let Some(ordering) = ordering {
            known.add_ordering(ordering.clone());
        }
        let one = Partitioning::UnknownPartitioning(1);
        let properties = PlanProperties::new(known, one, EmissionType::Incremental, Boundedness::Bounded);
        ConcatExec { union, properties: Arc::new(properties) }
    }
}

impl DisplayAs for ConcatExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConcatExec")
    }
}

impl ExecutionPlan for ConcatExec {
    common_methods!("ConcatExec");

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.union.children()
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let ordering = self.properties.output_ordering().cloned();
        let union = with_inputs(&self.union, inputs)?;
        Ok(Arc::new(ConcatExec::new(union, ordering.as_ref())))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let inputs: Vec<_> = self.children().into_iter().map(Arc::clone).collect();
        let of = Arc::clone(&schema);
        let rows = futures::stream::iter(inputs.into_iter().map(Ok::<_, DataFusionError>))
            .and_then(move |input| {
                let opened = execute_stream(input, Arc::clone(&context));
                async move { opened }
            })
            .try_flatten()
            // The same types, maybe under other names.
            .and_then(move |batch| {
                let batch = with_schema(&batch, &of);
                async move { batch }
            });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
