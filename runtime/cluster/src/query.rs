//! A query on a cluster: planned for the workers that live, and run once more on those that are left if one dies.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::session_state::SessionState;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, execute_stream,
};
use datafusion_distributed::display_plan_ascii;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, stream};
use onrush_expr::error::{diagnose, external};
use onrush_frame::TaskHandle;

use crate::cluster::Cluster;
use crate::plan_node::leaf_methods;
use crate::progress::{Reporter, Stages};
use crate::{errors, failed, signed_plan};

/// Bytes of a result that are held back: as long as nobody has seen a row, the query can start again.
const HELD_BACK: usize = 64 << 20;

/// A query that is ready to be planned: an optimised logical plan, and the session that plans for the workers.
#[derive(Clone)]
pub struct ClusterQuery {
    pub cluster: Arc<Cluster>,
    pub session: Arc<SessionState>,
    pub context: Arc<TaskContext>,
    pub plan: LogicalPlan,
    /// Makes the plan of a query of which a part cannot run on workers: the session runs it.
    pub planner: Arc<dyn QueryPlanner + Send + Sync>,
    /// The title of the task, for progress.
    pub title: String,
    pub task: TaskHandle,
}

impl ClusterQuery {
    /// The plan, and why the session runs it, if the workers cannot.
    async fn physical(&self) -> Result<(Arc<dyn ExecutionPlan>, Option<String>)> {
        if self.cluster.workers().0 == 0 {
            return Err(external(
                failed("cluster-worker", format!("no worker of {} answers any more", self.cluster.address()))
                    .help("start them again, and run the cell once more"),
            ));
        }
        let plan = self.session.query_planner().create_physical_plan(&self.plan, self.session.as_ref()).await?;
        match signed_plan::check_serializable(&plan) {
            Ok(()) => Ok((plan, None)),
            Err(error) => {
                let plan = self.planner.create_physical_plan(&self.plan, self.session.as_ref()).await?;
                Ok((plan, Some(reason(error))))
            }
        }
    }
}

/// The query as a node of a plan of the session. It is planned when it runs.
pub struct ClusterExec {
    query: ClusterQuery,
    /// The plan for the workers that lived when the node was made.
    first: Arc<dyn ExecutionPlan>,
    /// Why the session runs it.
    here: Option<String>,
    properties: Arc<PlanProperties>,
}

impl fmt::Debug for ClusterExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterExec({})", self.query.cluster.address())
    }
}

impl ClusterExec {
    /// Plans the query for the workers that live now.
    ///
    /// # Errors
    /// The errors of planning.
    pub async fn new(query: ClusterQuery) -> Result<ClusterExec> {
        query.cluster.reconnect().await;
        let (first, here) = query.physical().await?;
        let properties = PlanProperties::new(
            EquivalenceProperties::new(first.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(ClusterExec { query, first, here, properties: Arc::new(properties) })
    }

    /// The stages, their tasks and what each of them does, as text.
    pub fn stages(&self) -> String {
        let plan = display_plan_ascii(self.first.as_ref(), false);
        let is_whole = Stages::of(&self.first).count() == 0;
        match &self.here {
            Some(reason) => format!("The session runs this query: {reason}.\n\n{plan}"),
            None if is_whole => {
                format!("The session runs this query: it reads too little for several workers.\n\n{plan}")
            }
            None => plan,
        }
    }
}

impl DisplayAs for ClusterExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let (live, _) = self.query.cluster.workers();
        write!(f, "ClusterExec: workers={live}, stages={}", Stages::of(&self.first).count())
    }
}

impl ExecutionPlan for ClusterExec {
    leaf_methods!("ClusterExec", self => &self.properties);

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (query, first) = (self.query.clone(), Arc::clone(&self.first));
        let rows = stream::once(run(query, first)).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn schema(&self) -> SchemaRef {
        self.first.schema()
    }
}

type Rows = BoxStream<'static, Result<RecordBatch>>;

async fn run(query: ClusterQuery, first: Arc<dyn ExecutionPlan>) -> Result<Rows> {
    let mut plan = first;
    let mut gone: Vec<String> = Vec::new();
    loop {
        let reporter =
            Reporter::start(Arc::clone(&query.cluster), Stages::of(&plan), query.title.clone(), query.task.clone());
        match head(plan, Arc::clone(&query.context)).await {
            Ok((held, rest)) => {
                let cluster = Arc::clone(&query.cluster);
                let rest = rest.map_or_else(|| stream::empty().boxed(), StreamExt::boxed);
                let rest = rest.then(move |batch| late(Arc::clone(&cluster), batch));
                let all = stream::iter(held.into_iter().map(Ok)).chain(rest);
                return Ok(all.inspect(move |_| _ = &reporter).boxed());
            }
            Err(error) => {
                drop(reporter);
                let lost = query.cluster.lost().await;
                if lost.is_empty() {
                    return Err(errors::restored(error));
                }
                if !gone.is_empty() {
                    return Err(twice(&gone, &lost, error));
                }
                query.task.stage(format!("{}; {} is gone, again on the others", query.title, lost.join(" and ")));
                gone = lost;
                plan = query.physical().await?.0;
            }
        }
    }
}

/// Why a plan cannot be written, in one sentence: what our codec says, else the start of the message.
fn reason(error: DataFusionError) -> String {
    let message = diagnose(error).message;
    let ours = message.split_once("External error: ").map(|(_, rest)| rest).unwrap_or(&message);
    ours.lines().next().unwrap_or_default().chars().take(200).collect()
}

/// Rows of a plan up to [`HELD_BACK`] bytes, and the stream of those that follow.
async fn head(
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
) -> Result<(Vec<RecordBatch>, Option<SendableRecordBatchStream>)> {
    let mut rows = execute_stream(plan, context)?;
    let (mut held, mut bytes) = (Vec::new(), 0);
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        bytes += batch.get_array_memory_size();
        held.push(batch);
        if bytes > HELD_BACK {
            return Ok((held, Some(rows)));
        }
    }
    Ok((held, None))
}

/// An error after the first rows were given: the query cannot start again.
async fn late(cluster: Arc<Cluster>, batch: Result<RecordBatch>) -> Result<RecordBatch> {
    let Err(error) = batch else { return batch };
    let lost = cluster.lost().await;
    if lost.is_empty() {
        return Err(errors::restored(error));
    }
    let message = format!("the worker {} is gone, after rows of the result had been given", lost.join(" and "));
    let last = format!("the last that was heard: {}", diagnose(error).message);
    Err(external(failed("cluster-worker", message).note(last).help("run the cell again: it runs on the other workers")))
}

fn twice(first: &[String], second: &[String], error: DataFusionError) -> DataFusionError {
    let message = format!(
        "the worker {} is gone, and when the query ran again without it, {} went, too",
        first.join(" and "),
        second.join(" and ")
    );
    external(
        failed("cluster-worker", message)
            .note(format!("the last that was heard: {}", diagnose(error).message))
            .help("look at the workers on their machines; the cell can run again once they are back"),
    )
}
