//! Groups that a query asks for twice are computed once: `with t as (select ... group by ...) select ... from t where x
//! = (select max(x) from t)`. DataFusion plans a common table expression where it is named, each time.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::memory::DataSourceExec;
use datafusion::datasource::source::DataSource;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::{StreamExt, TryStreamExt, stream};
use onrush_logical::mem_table::HeldRows;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::exchange::rows_size;
use crate::nodes::{Plan, cast, node_parts, visit_all};
use crate::streams;

/// A plan in which equal groups over many rows are computed once.
///
/// # Errors
/// Those of DataFusion, if a node does not take its new inputs.
pub fn shared(plan: Plan, many: usize) -> Result<Plan> {
    let mut groups: Vec<Plan> = Vec::new();
    plan.apply(|node| {
        if is_group(node) && reads(node) > many {
            groups.push(Arc::clone(node));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    // The number of the first of equal groups.
    let class = |node: &Plan| groups.iter().position(|other| is_same(node, other));
    let mut counts = vec![0; groups.len()];
    for group in &groups {
        if let Some(class) = class(group) {
            counts[class] += 1;
        }
    }
    if counts.iter().all(|count| *count < 2) {
        return Ok(plan);
    }
    // Groups inside of a shared group are computed with it.
    let mut readers = vec![0; groups.len()];
    plan.apply(|node| {
        let class = if is_group(node) && reads(node) > many { class(node) } else { None };
        Ok(match class.filter(|class| counts[*class] > 1) {
            Some(class) => {
                readers[class] += 1;
                TreeNodeRecursion::Jump
            }
            None => TreeNodeRecursion::Continue,
        })
    })?;
    let states: Vec<Arc<SharedRows>> = readers.iter().map(|count| Arc::new(SharedRows::new(*count))).collect();
    let replaced = plan.transform_down(|node| {
        let class = if is_group(&node) && reads(&node) > many { class(&node) } else { None };
        Ok(match class.filter(|class| counts[*class] > 1) {
            Some(class) => {
                let shared: Plan = Arc::new(SharedExec { input: node, shared: Arc::clone(&states[class]) });
                Transformed::new(shared, true, TreeNodeRecursion::Jump)
            }
            None => Transformed::no(node),
        })
    })?;
    Ok(replaced.data)
}

fn is_group(node: &Plan) -> bool {
    cast::<AggregateExec>(node).is_some_and(|group| !group.group_expr().is_empty() && group.limit_options().is_none())
}

/// The rows of the largest table that a plan reads.
fn reads(plan: &Plan) -> usize {
    match held(plan) {
        Some(held) => held.table().rows(),
        None => plan.children().into_iter().map(reads).max().unwrap_or(0),
    }
}

fn held(plan: &Plan) -> Option<&HeldRows> {
    let source: &dyn Any = cast::<DataSourceExec>(plan)?.data_source().as_ref();
    source.downcast_ref::<HeldRows>()
}

/// Whether two plans give the same rows, maybe under other names. Nodes that are not known here are never the same.
fn is_same(a: &Plan, b: &Plan) -> bool {
    let stable = |node: &Plan| {
        let mut stable = true;
        let walked = node.apply_expressions(&mut |expr: &Arc<dyn PhysicalExpr>| {
            stable &= !is_volatile(expr);
            Ok(TreeNodeRecursion::Continue)
        });
        walked.is_ok() && stable
    };
    let here = if let (Some(a), Some(b)) = (held(a), held(b)) {
        std::ptr::eq(a.table(), b.table()) && a.columns() == b.columns() && a.fetch() == b.fetch()
    } else if let (Some(a), Some(b)) = (cast::<AggregateExec>(a), cast::<AggregateExec>(b)) {
        let calls = a.aggr_expr().len() == b.aggr_expr().len()
            && a.aggr_expr().iter().zip(b.aggr_expr()).all(|(a, b)| {
                a.fun() == b.fun()
                    && a.expressions() == b.expressions()
                    && a.is_distinct() == b.is_distinct()
                    && a.ignore_nulls() == b.ignore_nulls()
                    && a.order_bys() == b.order_bys()
            });
        let keys = |group: &AggregateExec| group.group_expr().input_exprs();
        calls
            && a.mode() == b.mode()
            && a.group_expr().is_single()
            && b.group_expr().is_single()
            && keys(a) == keys(b)
            && a.filter_expr() == b.filter_expr()
            && a.limit_options().is_none()
            && b.limit_options().is_none()
    } else if let (Some(a), Some(b)) = (cast::<FilterExec>(a), cast::<FilterExec>(b)) {
        a.predicate() == b.predicate() && a.projection() == b.projection() && a.fetch() == b.fetch()
    } else if let (Some(a), Some(b)) = (cast::<ProjectionExec>(a), cast::<ProjectionExec>(b)) {
        let (a, b) = (a.expr(), b.expr());
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.expr.eq(&b.expr))
    } else if let (Some(a), Some(b)) = (cast::<HashJoinExec>(a), cast::<HashJoinExec>(b)) {
        a.join_type() == b.join_type()
            && a.on() == b.on()
            && a.filter().is_none()
            && b.filter().is_none()
            && a.projection == b.projection
            && a.null_equality() == b.null_equality()
            && a.partition_mode() == b.partition_mode()
            && a.null_aware == b.null_aware
            && a.fetch() == b.fetch()
    } else {
        false
    };
    let (below_a, below_b) = (a.children(), b.children());
    here && stable(a) && below_a.len() == below_b.len() && below_a.into_iter().zip(below_b).all(|(a, b)| is_same(a, b))
}

/// The rows of one run of a plan.
#[derive(Debug)]
enum Rows {
    Held(Vec<RecordBatch>, #[allow(dead_code)] MemoryReservation),
    /// The rows do not fit into memory, so each reader computes them.
    Apart,
}

type Cell = Arc<OnceCell<Result<Rows, Arc<DataFusionError>>>>;

/// The rows that the readers of equal plans have in common.
#[derive(Debug)]
struct SharedRows {
    readers: usize,
    /// The rows of the present run, and how many readers have yet to come.
    run: Mutex<Option<(Cell, usize)>>,
}

impl SharedRows {
    fn new(readers: usize) -> SharedRows {
        SharedRows { readers, run: Mutex::new(None) }
    }

    /// The rows of this run. A plan may run again once all readers were there; the rows go with the last of them.
    fn cell(&self) -> Cell {
        let mut run = self.run.lock();
        let (cell, left) = run.take().unwrap_or_else(|| (Cell::default(), self.readers));
        if left > 1 {
            *run = Some((Arc::clone(&cell), left - 1));
        }
        cell
    }
}

/// The rows of its input, which another node of this kind may have computed.
#[derive(Debug)]
pub struct SharedExec {
    input: Plan,
    shared: Arc<SharedRows>,
}

impl DisplayAs for SharedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedExec: computed once for {} readers", self.shared.readers)
    }
}

impl ExecutionPlan for SharedExec {
    node_parts! {
        SharedExec of self,
        properties: self.input.properties(),
        children: vec![&self.input],
        expressions: |visit| visit_all([], visit),
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn with_new_children(self: Arc<Self>, mut inputs: Vec<Plan>) -> Result<Plan> {
        Ok(Arc::new(SharedExec { input: inputs.swap_remove(0), shared: Arc::clone(&self.shared) }))
    }

    /// Readers that did not come leave the rows of their run behind.
    fn reset_state(self: Arc<Self>) -> Result<Plan> {
        self.shared.run.lock().take();
        Ok(Arc::new(SharedExec { input: Arc::clone(&self.input), shared: Arc::clone(&self.shared) }))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (cell, input, schema) = (self.shared.cell(), Arc::clone(&self.input), self.schema());
        let of = Arc::clone(&schema);
        let rows = async move {
            // The rows of the reader that computes them, if they cannot be held.
            let own = Mutex::new(None);
            let rows = cell
                .get_or_init(|| async {
                    let (rows, rest) = collected(&input, &context).await.map_err(Arc::new)?;
                    *own.lock() = rest;
                    Ok(rows)
                })
                .await;
            let own = own.into_inner();
            match (rows, own) {
                (Ok(Rows::Held(batches, _)), _) => Ok(streams::batches(input.schema(), batches.clone())),
                (Ok(Rows::Apart), Some(own)) => Ok(own),
                (Ok(Rows::Apart), None) => input.execute(0, context),
                (Err(error), _) => Err(DataFusionError::Shared(Arc::clone(error))),
            }
        };
        let rows = stream::once(rows).try_flatten().map(move |batch| {
            let batch = batch?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            // The same columns, under the names of this reader.
            Ok(RecordBatch::try_new_with_options(Arc::clone(&of), batch.columns().to_vec(), &options)?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// All rows of a plan, or, past the memory limit, a stream of them for one reader.
async fn collected(input: &Plan, context: &Arc<TaskContext>) -> Result<(Rows, Option<SendableRecordBatchStream>)> {
    let reservation = MemoryConsumer::new("Shared").with_can_spill(true).register(context.memory_pool());
    let mut rows = input.execute(0, Arc::clone(context))?;
    let mut batches = Vec::new();
    while let Some(batch) = rows.try_next().await? {
        let bytes = rows_size(&batch);
        batches.push(batch);
        if reservation.try_grow(bytes).is_err() {
            reservation.free();
            let all = streams::batches(input.schema(), batches).chain(rows);
            return Ok((Rows::Apart, Some(Box::pin(RecordBatchStreamAdapter::new(input.schema(), all)))));
        }
    }
    Ok((Rows::Held(batches, reservation), None))
}
