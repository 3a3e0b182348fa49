//! Table sources for frames in plans, resolved at execution.
//!
//! A result that was computed meanwhile then replaces the frame's plan.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, OnceLock};

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableScan, TableType, Volatility};
use datafusion::physical_plan::ExecutionPlan;
use onrush_expr::diagnostics::HIDDEN;
use onrush_frame::Table;

use crate::drop_functional_dependencies::{self, Keyless};
use crate::mem_table::HeldTable;
use crate::resident::Resident;

/// An immutable frame: how to compute it, and its rows if they are held for good.
pub struct Frame {
    /// Equal for frames that have the same rows: made from the step and its inputs' keys.
    pub key: u128,
    /// The step in a word, for progress and `explain`: `filter`, `read flights.csv`.
    pub title: String,
    pub plan: LogicalPlan,
    pub schema: SchemaRef,
    /// The address of the cluster that computes the frame. `None`: the session does.
    pub cluster: Option<Arc<str>>,
    /// Rows that need no computing: of values, of files in memory, of `persist`.
    pub resident: Option<Arc<Resident>>,
    /// The number of rows of a file that is too large to hold, and of a plan that was found to be too large.
    pub rows: OnceLock<u64>,
    /// The plan sorts, or describes.
    pub sorts: bool,
    /// The rows differ from run to run.
    pub varies: bool,
    /// Joins, groups, sorts or windows since the last rows that are held. Plans take in such a frame once; a second
    /// reader has its rows computed and kept, if they are not too large.
    pub costly: bool,
    /// A description, or the end of a long chain of steps: computed before it is used.
    pub whole: bool,
    /// Steps since the last rows that are held, along the longest path; those that are costly count
    /// [`COSTLY_STEP_WEIGHT`] times.
    pub depth: u32,
    /// Steps since the last rows that are held, each as often as it is in the plan.
    pub size: u32,
    /// How many plans have taken in the plan of the frame.
    pub readers: AtomicU32,
    /// Its rows were found to be too large to keep for several readers.
    pub large: AtomicBool,
    /// Held while the frame is computed, so that two requests for it compute it once.
    pub running: Mutex<()>,
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Frame({:032x}, {})", self.key, self.title)
    }
}

impl Frame {
    /// A frame that is computed when it is asked for; its plan is analysed.
    pub fn computed(key: u128, title: String, plan: LogicalPlan) -> Frame {
        let schema = Arc::new(plan.schema().as_arrow().clone());
        let inputs = inputs(&plan);
        let within = |frame: &&Arc<Frame>| frame.resident.is_none() && !frame.whole;
        let below = || inputs.iter().filter(within);
        let costly = is_costly(&plan);
        let depth = below().map(|frame| frame.depth).max().unwrap_or(0) + if costly { COSTLY_STEP_WEIGHT } else { 1 };
        let size = below().fold(1, |size: u32, frame| size.saturating_add(frame.size));
        Frame {
            key,
            title,
            schema,
            cluster: inputs.iter().find_map(|frame| frame.cluster.clone()),
            resident: None,
            rows: OnceLock::new(),
            sorts: sorts(&plan),
            varies: changes(&plan) || inputs.iter().any(|frame| frame.varies),
            costly: costly || below().any(|frame| frame.costly),
            whole: describes(&plan) || depth >= MOST_STEPS_ON_PATH || size >= MOST_STEPS,
            depth,
            size,
            readers: AtomicU32::new(0),
            large: AtomicBool::new(false),
            running: Mutex::new(()),
            plan,
        }
    }

    /// A frame whose rows are there.
    pub fn held(key: u128, title: String, resident: Arc<Resident>) -> Result<Frame> {
        let plan = self::resident(&resident)?;
        let schema = Arc::clone(resident.schema());
        Ok(Frame {
            key,
            title,
            plan,
            schema,
            cluster: None,
            resident: Some(resident),
            rows: OnceLock::new(),
            sorts: false,
            varies: false,
            costly: false,
            whole: false,
            depth: 0,
            size: 0,
            readers: AtomicU32::new(0),
            large: AtomicBool::new(false),
            running: Mutex::new(()),
        })
    }

    /// How many rows a frame has that is too large to be held.
    pub fn too_many(&self) -> Option<u64> {
        self.rows.get().copied()
    }
}

/// Most steps in one plan along a path: a loop that adds thousands of steps makes no plan that nobody can walk.
const MOST_STEPS_ON_PATH: u32 = 48;
const COSTLY_STEP_WEIGHT: u32 = 4;
/// Most steps in one plan, with those that are in it several times.
const MOST_STEPS: u32 = 512;

/// Stands for a frame in the plans of frames made from it.
#[derive(Debug)]
pub struct FrameTable(pub Arc<Frame>);

#[async_trait]
impl TableProvider for FrameTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(DataFusionError::Internal("a frame was run before its inputs were put in place".to_string()))
    }
}

/// A scan of a frame under a name.
pub fn scan(name: &str, frame: &Arc<Frame>) -> Result<LogicalPlan> {
    let source = provider_as_source(Arc::new(FrameTable(Arc::clone(frame))));
    LogicalPlanBuilder::scan(datafusion::common::TableReference::bare(name), source, None)?.build()
}

/// The frame that a scan stands for.
pub fn frame_of(scan: &TableScan) -> Option<Arc<Frame>> {
    let provider = source_as_provider(&scan.source).ok()?;
    let any: &dyn Any = provider.as_ref();
    any.downcast_ref::<FrameTable>().map(|table| Arc::clone(&table.0))
}

/// The frames that a plan names.
pub fn inputs(plan: &LogicalPlan) -> Vec<Arc<Frame>> {
    let mut all = Vec::new();
    let _ = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            all.extend(frame_of(scan));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    all
}

fn any_node(plan: &LogicalPlan, is: impl Fn(&LogicalPlan) -> bool) -> bool {
    let mut found = false;
    let _ = plan.apply_with_subqueries(|node| {
        found |= is(node);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// `true` if some node of the plan sorts.
fn sorts(plan: &LogicalPlan) -> bool {
    any_node(plan, |node| matches!(node, LogicalPlan::Sort(_)) || describes(node))
}

/// `true` if the plan has a node of ours that is left in the physical plan.
fn describes(plan: &LogicalPlan) -> bool {
    any_node(plan, |node| match node {
        LogicalPlan::Extension(extension) => !extension.node.as_any().is::<Keyless>(),
        _ => false,
    })
}

/// `true` if a node of the plan takes in many rows before it gives one. The sort of a concatenation does not count,
/// since it has nothing to do.
fn is_costly(plan: &LogicalPlan) -> bool {
    let ordered = |expr: &Expr| match expr.clone().unalias() {
        Expr::WindowFunction(call) => !call.params.partition_by.is_empty() || !call.params.order_by.is_empty(),
        _ => false,
    };
    let source = |expr: &Expr| matches!(expr, Expr::Column(column) if column.name == format!("{HIDDEN}source"));
    any_node(plan, |node| match node {
        LogicalPlan::Join(_) | LogicalPlan::Distinct(_) | LogicalPlan::RecursiveQuery(_) => true,
        LogicalPlan::Aggregate(group) => !group.group_expr.is_empty(),
        LogicalPlan::Window(window) => window.window_expr.iter().any(ordered),
        LogicalPlan::Sort(sort) => !sort.expr.first().is_some_and(|key| source(&key.expr)),
        _ => false,
    })
}

/// `true` if the plan gives other rows at another time. It asks for the time, for random numbers, or for the one value
/// of a subquery, which becomes a part of it. Subqueries of IN and EXISTS become joins.
pub fn changes(plan: &LogicalPlan) -> bool {
    has_expression(plan, |expr| is_volatile_call(expr) || matches!(expr, Expr::ScalarSubquery(_)))
}

/// `true` if the plan asks for the time or for random numbers. Frames of two such steps have different rows.
pub fn is_volatile(plan: &LogicalPlan) -> bool {
    has_expression(plan, is_volatile_call)
}

fn is_volatile_call(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func.signature().volatility != Volatility::Immutable)
}

fn has_expression(plan: &LogicalPlan, is_wanted: impl Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    let _ = plan.apply_with_subqueries(|node| {
        let _ = node.apply_expressions(|expr| {
            let _ = expr.apply(|expr| {
                found |= is_wanted(expr);
                Ok(TreeNodeRecursion::Continue)
            });
            Ok(TreeNodeRecursion::Continue)
        });
        Ok(TreeNodeRecursion::Continue)
    });
    found
}

/// `true` if the rows come out in the order in which they went in, through any sort below.
pub fn keeps_order(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(_) => true,
        LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::Limit(_) | LogicalPlan::SubqueryAlias(_) => {
            plan.inputs().into_iter().all(keeps_order)
        }
        _ => false,
    }
}

/// A scan of rows in memory.
pub fn memory(name: &str, table: &Arc<Table>) -> Result<LogicalPlan> {
    let provider = provider_as_source(Arc::new(HeldTable(Arc::clone(table))));
    LogicalPlanBuilder::scan(datafusion::common::TableReference::bare(name), provider, None)?.build()
}

/// A scan of rows that a frame holds for good.
pub fn resident(resident: &Arc<Resident>) -> Result<LogicalPlan> {
    let provider = provider_as_source(Arc::new(ResidentTable(Arc::clone(resident))));
    LogicalPlanBuilder::scan(datafusion::common::TableReference::bare("values"), provider, None)?.build()
}

/// Reads the rows from where they lie when a plan is made.
#[derive(Debug)]
struct ResidentTable(Arc<Resident>);

#[async_trait]
impl TableProvider for ResidentTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.0.schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        HeldTable(self.0.table()).scan(session, projection, filters, limit).await
    }
}

/// Puts inputs in place: rows where `held` has them, else their plans.
pub fn expand(plan: &LogicalPlan, held: &dyn Fn(&Frame) -> Option<Arc<Table>>) -> Result<LogicalPlan> {
    drop_functional_dependencies::mend(replaced(plan, held)?)
}

fn replaced(plan: &LogicalPlan, held: &dyn Fn(&Frame) -> Option<Arc<Table>>) -> Result<LogicalPlan> {
    plan.clone()
        .transform_up_with_subqueries(|node| {
            let LogicalPlan::TableScan(scan) = &node else { return Ok(Transformed::no(node)) };
            let Some(frame) = frame_of(scan) else { return Ok(Transformed::no(node)) };
            let name = scan.table_name.to_string();
            let new = match held(&frame) {
                Some(table) => memory(&name, &table)?,
                None => {
                    let inner = replaced(&frame.plan, held)?;
                    LogicalPlanBuilder::new(inner).alias(scan.table_name.clone())?.build()?
                }
            };
            Ok(Transformed::yes(new))
        })
        .map(|t| t.data)
}
