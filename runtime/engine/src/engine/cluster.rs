//! Frames that a cluster computes: connections to clusters, and plans for their workers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::provider_as_source;
use datafusion::execution::TaskContext;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::prelude::SessionConfig;
use onrush_calls::{CallTable, Function};
use onrush_cluster::{Address, Cluster, ClusterExec, ClusterQuery, Identity, WorkerOptions};
use onrush_device::phases::{self, Phase};
use onrush_expr::device_udf::UdfHost;
use onrush_expr::diagnostics::HIDDEN;
use onrush_expr::error::diagnose;
use onrush_frame::{Table, TaskHandle};
use onrush_gpu::udf::DeviceUdfRunner;
use onrush_logical::frame_table::{self, Frame};
use onrush_wire::cell_function::CellFunction;
use onrush_wire::cluster::ClusterInfo;
use onrush_wire::{Class, Diagnostic, FrameId};

use super::physical::ClusterPlanner;
use super::{Engine, guarded};

/// Bytes of a result in the session that go to the workers rather than being computed there again.
const SENT: u64 = 16 << 20;

/// A cluster, and the session that plans for it.
pub(super) struct ClusterSession {
    cluster: Arc<Cluster>,
    session: Arc<SessionState>,
    context: Arc<TaskContext>,
}

impl Engine {
    /// Connects to the workers of an address, or asks those that are connected how they are.
    ///
    /// # Errors
    /// A wrong address; no token; at the first time a worker that does not answer, has another token, or is of another
    /// build.
    pub fn connect(&self, address: &str) -> Result<ClusterInfo, Diagnostic> {
        let address = Address::parse(address)?;
        let connected = match self.connected(&address.to_string()) {
            Some(connected) => {
                self.wait(connected.cluster.refresh())?;
                connected
            }
            None => self.connect_anew(&address, false)?,
        };
        self.wait(connected.cluster.info())
    }

    fn connected(&self, address: &str) -> Option<Arc<ClusterSession>> {
        self.clusters.lock().unwrap_or_else(|e| e.into_inner()).get(address).cloned()
    }

    fn connect_anew(&self, address: &Address, some: bool) -> Result<Arc<ClusterSession>, Diagnostic> {
        let identity = self.config.cluster_token.as_deref().map_or_else(Identity::of_environment, Identity::of)?;
        let connecting = Cluster::connect(address.clone(), &identity, self.config.cluster.clone(), some);
        let cluster = Arc::new(self.wait(connecting)??);
        let session = Arc::new(cluster.session(&self.context.state(), Arc::new(ClusterPlanner))?);
        let context = session.task_ctx();
        let connected = Arc::new(ClusterSession { cluster, session, context });
        let mut clusters = self.clusters.lock().unwrap_or_else(|e| e.into_inner());
        clusters.insert(address.to_string(), Arc::clone(&connected));
        Ok(connected)
    }

    /// The cluster of a frame. An engine that was started again connects anew, to the workers that are there.
    fn cluster(&self, address: &str) -> Result<Arc<ClusterSession>, Diagnostic> {
        match self.connected(address) {
            Some(connected) => Ok(connected),
            None => self.connect_anew(&Address::parse(address)?, true),
        }
    }

    /// Makes the node that runs a plan, analysed before, on the workers of a cluster.
    pub(super) fn on_cluster(
        &self,
        address: &str,
        plan: &LogicalPlan,
        title: &str,
        task: &TaskHandle,
    ) -> Result<Arc<dyn ExecutionPlan>, Diagnostic> {
        match self.planned(address, plan, title, task)? {
            Plan::Stages(exec) => Ok(Arc::new(*exec)),
            Plan::OfSession(_, plan) => Ok(plan),
        }
    }

    pub(super) fn explain_on_cluster(
        &self,
        address: &str,
        frame: &Frame,
        task: &TaskHandle,
    ) -> Result<String, Diagnostic> {
        Ok(match self.planned(address, &frame.plan, &frame.title, task)? {
            Plan::Stages(exec) => exec.stages(),
            Plan::OfSession(reason, plan) => {
                format!("The session runs this query: {reason}.\n\n{}", displayable(plan.as_ref()).indent(false))
            }
        })
    }

    fn planned(&self, address: &str, plan: &LogicalPlan, title: &str, task: &TaskHandle) -> Result<Plan, Diagnostic> {
        let connected = self.cluster(address)?;
        let mut ready = HashMap::new();
        self.prepare(plan, &mut ready, task)?;
        let held = |frame: &Frame| ready.get(&frame.key).map(Arc::clone).or_else(|| self.held_for(frame));
        let expanded = frame_table::expand(plan, &held).map_err(diagnose)?;
        if let Some(reason) = needs_session(&expanded).map_err(diagnose)? {
            return Ok(Plan::OfSession(reason, self.physical(plan, task)?.0));
        }
        let plan = expanded;
        let _time = phases::scope(Phase::Plan);
        guarded(|| {
            let session = &connected.session;
            let mut rules = session.optimizers().iter();
            let plan = rules.try_fold(plan, |plan, rule| rule.rewrite(plan, session.as_ref()).map(|plan| plan.data));
            let query = ClusterQuery {
                cluster: Arc::clone(&connected.cluster),
                session: Arc::clone(session),
                context: Arc::clone(&connected.context),
                plan: plan.map_err(diagnose)?,
                planner: Arc::new(ClusterPlanner),
                title: title.to_string(),
                task: task.clone(),
            };
            Ok(Plan::Stages(Box::new(self.wait(ClusterExec::new(query))?.map_err(diagnose)?)))
        })
    }

    /// The calls of a function of a cell with the rows of a frame.
    pub(super) fn calls(
        &self,
        input: FrameId,
        address: &str,
        function: &CellFunction,
        key: u128,
        task: &TaskHandle,
    ) -> Result<Frame, Diagnostic> {
        let rows = self.table(input, &[], task)?;
        let title = format!("map {}", function.name);
        let calls = CallTable::new(Function::read(function)?, rows.schema(), rows.batches()).map_err(diagnose)?;
        let plan = LogicalPlanBuilder::scan("calls", provider_as_source(Arc::new(calls)), None);
        let plan = plan.and_then(LogicalPlanBuilder::build).map_err(diagnose)?;
        let mut frame = Frame::computed(key, title, plan);
        frame.cluster = Some(Arc::from(Address::parse(address)?.to_string()));
        Ok(frame)
    }

    /// The rows of a frame, if they are there and a plan should take them from there. Rows of a cluster's frame go to
    /// the workers only if they are few.
    pub(super) fn held_for(&self, frame: &Frame) -> Option<Arc<Table>> {
        self.held(frame).filter(|table| frame.cluster.is_none() || table.bytes() <= SENT)
    }

    /// Fails if a step takes in frames of two clusters.
    pub(super) fn one_cluster(plan: &LogicalPlan) -> Result<(), Diagnostic> {
        let inputs = frame_table::inputs(plan);
        let mut places = inputs.iter().filter_map(|frame| frame.cluster.as_deref());
        let Some(first) = places.next() else { return Ok(()) };
        match places.find(|place| *place != first) {
            None => Ok(()),
            Some(second) => {
                let message = format!("this step takes in frames of two clusters, `{first}` and `{second}`");
                Err(Diagnostic::error(Class::Plan, "two-clusters", message)
                    .help("`persist()` the smaller one: its rows are then in the session, and travel with the query"))
            }
        }
    }
}

/// The plan of a query over frames of a cluster.
enum Plan {
    Stages(Box<ClusterExec>),
    /// The session runs it, for this reason.
    OfSession(&'static str, Arc<dyn ExecutionPlan>),
}

/// Why workers would give wrong rows for a plan. Each task reads its input anew, and rows have no order there.
fn needs_session(plan: &LogicalPlan) -> datafusion::error::Result<Option<&'static str>> {
    let asof = format!("{HIDDEN}asof");
    let mut seen = HashSet::new();
    let mut reason = None;
    plan.apply_with_subqueries(|node| {
        if onrush_optimizer::depends_on_order(node) && !seen.insert(node.clone()) {
            reason = Some("rows that depend on an order are read twice");
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    Expr::Column(column) if column.name.starts_with(&asof) => {
                        reason = Some("an as-of join numbers the rows of both sides");
                    }
                    Expr::ScalarSubquery(query) if query.subquery.max_rows().is_none_or(|rows| rows > 1) => {
                        reason = Some("a scalar subquery may give several rows, which is an error");
                    }
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(reason)
}

/// Runs tasks of queries for those who have the cluster's token, until the process ends. Without a `token` it is that
/// of the environment. `ready` is told where the worker listens.
///
/// # Errors
/// No token; an address that cannot be listened on.
pub fn serve_worker(
    options: &WorkerOptions,
    token: Option<&str>,
    ready: impl FnOnce(std::net::SocketAddr),
) -> Result<(), Diagnostic> {
    let identity = token.map_or_else(Identity::of_environment, Identity::of)?;
    onrush_expr::model::set_loader(super::models::from_file);
    let runner = Arc::new(DeviceUdfRunner::new(None, None));
    let settings = move |config: SessionConfig| {
        let runner = Arc::clone(&runner);
        config.with_option_extension(UdfHost(runner))
    };
    onrush_cluster::serve(options, &identity, settings, ready)
}
