//! Errors of workers. The engine below sends an error as text. Here a diagnostic goes into that text and comes out of
//! it again, with its class, its place in the cell and its advice.

use std::fmt;
use std::sync::Arc;

use datafusion::common::internal_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ReplaceChildrenOptions,
};
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

/// The rows of its input, and its errors as [`sent`].
#[derive(Debug)]
struct ErrorsExec {
    input: Arc<dyn ExecutionPlan>,
    worker: Arc<str>,
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
            Ok([input]) => Ok(Arc::new(ErrorsExec { input, worker: Arc::clone(&self.worker) })),
            Err(_) => internal_err!("a step got another number of inputs"),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let worker = Arc::clone(&self.worker);
        let rows = self.input.execute(partition, context).map_err(|e| sent(e, &worker))?;
        let schema = rows.schema();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows.map_err(move |e| sent(e, &worker)))))
    }
}

/// The plan of a task with its errors in the form that comes through. The head of the plan stays, because the engine
/// below puts another one in its place.
pub(crate) fn with_errors(plan: Arc<dyn ExecutionPlan>, worker: &Arc<str>) -> Result<Arc<dyn ExecutionPlan>> {
    let wrapped = |input: &Arc<dyn ExecutionPlan>| -> Arc<dyn ExecutionPlan> {
        Arc::new(ErrorsExec { input: Arc::clone(input), worker: Arc::clone(worker) })
    };
    match head_input(&plan) {
        Some(input) => {
            let input = wrapped(input);
            plan.replace_children(vec![input], ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
        }
        None => Ok(wrapped(&plan)),
    }
}

/// The input of the head of a plan, if it has one of those that the engine below makes.
fn head_input(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    let is_head = plan.downcast_ref::<RepartitionExec>().is_some() || plan.downcast_ref::<BroadcastExec>().is_some();
    if is_head { plan.children().into_iter().next() } else { None }
}

/// Refuses a plan without a signature.
pub(crate) fn only_signed_plans(event: WorkerPlanRewriteEvent<'_>) -> Result<WorkerPlanRewriteEventResponse> {
    let below = head_input(&event.plan).unwrap_or(&event.plan);
    if below.downcast_ref::<ErrorsExec>().is_none() {
        return internal_err!("a plan without a signature");
    }
    Ok(WorkerPlanRewriteEventResponse::new(event.plan))
}
