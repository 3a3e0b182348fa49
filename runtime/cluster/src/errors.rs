//! Errors of workers. The engine below sends an error as text. Here a diagnostic goes into that text and comes out of
//! it again, with its class, its place in the cell and its advice.

use std::fmt;
use std::sync::Arc;

use datafusion::common::internal_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use datafusion_distributed::{BroadcastExec, WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse};
use futures::TryStreamExt;
use onrush_expr::error::{diagnose, external};
use onrush_wire::{Class, Diagnostic};

use crate::plan_node::common_methods;

/// Stands before a diagnostic in a text. No message of anybody else has it.
const MARK: &str = "\u{1}onrush-diagnostic ";

/// An error in the form that comes through.
pub(crate) fn sent(error: DataFusionError, worker: &str) -> DataFusionError {
    let diagnostic = match received(&error) {
        Some(diagnostic) => diagnostic,
        None => {
            let mut diagnostic = diagnose(error);
            if diagnostic.class == Class::Resources {
                diagnostic.help = vec![
                    "work on fewer rows or columns, aggregate first, or start the workers with more `--memory`".into(),
                ];
            }
            let is_own = matches!(diagnostic.class, Class::Resources | Class::Environment);
            if is_own || diagnostic.code == "cluster-file" {
                diagnostic = diagnostic.note(format!("this is what the worker {worker} says"));
            }
            diagnostic
        }
    };
    DataFusionError::Execution(format!("{MARK}{}", serde_json::to_string(&diagnostic).unwrap_or_default()))
}

/// The diagnostic in the text of an error, if it has one.
pub(crate) fn received(error: &DataFusionError) -> Option<Diagnostic> {
    let text = error.to_string();
    let (_, json) = text.split_once(MARK)?;
    serde_json::Deserializer::from_str(json).into_iter().next()?.ok()
}

/// The error as this process would have made it.
pub(crate) fn restored(error: DataFusionError) -> DataFusionError {
    received(&error).map_or(error, external)
}

/// The rows of its input, and its errors as [`sent`]. Counts the rows, which the session shows as progress.
#[derive(Debug)]
struct ErrorsExec {
    input: Arc<dyn ExecutionPlan>,
    worker: Arc<str>,
    metrics: ExecutionPlanMetricsSet,
}

impl ErrorsExec {
    fn new(input: Arc<dyn ExecutionPlan>, worker: &Arc<str>) -> ErrorsExec {
        ErrorsExec { input, worker: Arc::clone(worker), metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for ErrorsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ErrorsExec")
    }
}

impl ExecutionPlan for ErrorsExec {
    common_methods!("ErrorsExec", self => self.input.properties());

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match <[Arc<dyn ExecutionPlan>; 1]>::try_from(inputs) {
            Ok([input]) => Ok(Arc::new(ErrorsExec::new(input, &self.worker))),
            Err(_) => internal_err!("a step got another number of inputs"),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let worker = Arc::clone(&self.worker);
        let rows = self.input.execute(partition, context).map_err(|e| sent(e, &worker))?;
        let (schema, counted) = (rows.schema(), BaselineMetrics::new(&self.metrics, partition));
        let rows = rows.inspect_ok(move |batch| counted.record_output(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows.map_err(move |e| sent(e, &worker)))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The plan of a task with its errors in the form that comes through. The head of the plan is left out, because the
/// engine below puts one there that fits the tasks of the next stage.
pub(crate) fn with_errors(plan: Arc<dyn ExecutionPlan>, worker: &Arc<str>) -> Arc<dyn ExecutionPlan> {
    let input = head_input(&plan).map(Arc::clone);
    Arc::new(ErrorsExec::new(input.unwrap_or(plan), worker))
}

/// The input of the head of a plan, if it has one of those that the engine below makes.
fn head_input(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    let is_head = plan.downcast_ref::<RepartitionExec>().is_some() || plan.downcast_ref::<BroadcastExec>().is_some();
    if is_head { plan.children().into_iter().next() } else { None }
}

/// Refuses a plan without a signature.
pub(crate) fn only_signed_plans(event: WorkerPlanRewriteEvent<'_>) -> Result<WorkerPlanRewriteEventResponse> {
    if event.plan.downcast_ref::<ErrorsExec>().is_none() {
        return internal_err!("a plan without a signature");
    }
    Ok(WorkerPlanRewriteEventResponse::new(event.plan))
}
