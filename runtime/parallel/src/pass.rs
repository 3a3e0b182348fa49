//! The pass over a physical plan of one partition. Chunks become the partitions of its leaves, and nodes of this crate
//! go below nodes that need all rows.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::datasource::memory::DataSourceExec;
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec, WindowUDFExpr};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, InputOrderMode};
use datafusion::scalar::ScalarValue;
use onrush_expr::diagnostics::HIDDEN;
use onrush_logical::mem_table::HeldRows;

use crate::cores::Cores;
use crate::estimate::rows;
use crate::exchange::HashExchangeExec;
use crate::filter::ConjunctFilterExec;
use crate::gather::GatherExec;
use crate::group::{PartitionedAggregateExec, merged, merges, partial};
use crate::nodes::{Plan, cast, with_inputs};
use crate::row_number::RowNumberExec;
use crate::runtime_filter::RuntimeFilterBuildExec;
use crate::shared::{SharedExec, shared};
use crate::sort::{ParallelSortExec, can_order};
use crate::spilling_join::spilling;
use crate::top_k::PartitionTopKExec;
use crate::windows::ColumnarWindowExec;
use crate::{columnwise, runtime_filter};

/// Least rows of a build side for which both sides of a join are hash-partitioned. A probe side with many times more
/// rows is not: it would be copied to build one table on several cores.
const LARGE_BUILD: usize = 1_000_000;
const MANY_PROBES: usize = 8;
/// Rows of a top-k from which on all rows are sorted.
const LARGE_TOP: usize = 10_000;

/// A plan of one partition, on all cores. `sorted`: the order of its rows, as far as the plan has one, is asked for.
///
/// # Errors
/// Those of DataFusion, if a node does not take its new inputs.
pub fn parallel(plan: Plan, cores: Cores, sorted: bool) -> Result<Plan> {
    let pass = Pass { cores };
    let changes = |node: &Plan| {
        let merges = cast::<CoalescePartitionsExec>(node).is_some() || cast::<SortPreservingMergeExec>(node).is_some();
        let windows = cast::<BoundedWindowAggExec>(node).is_some() || cast::<WindowAggExec>(node).is_some();
        Ok(merges
            || windows
            || partitions(node) > 1
            || pass.chunks(node).is_some()
            || columnwise::split(node)?.is_some())
    };
    if !plan.exists(changes)? {
        return spilling(plan, true, cores);
    }
    let plan = pass.node(&shared(plan, cores.chunk)?, sorted)?;
    spilling(pass.one(plan, false), true, cores)
}

fn is_row_number(expr: &Arc<dyn WindowExpr>) -> bool {
    let Some(expr) = expr.as_any().downcast_ref::<StandardWindowExpr>() else { return false };
    expr.get_standard_func_expr()
        .as_any()
        .downcast_ref::<WindowUDFExpr>()
        .is_some_and(|call| call.fun().name() == "row_number")
}

/// The rows of each partition of a plan that has all rows of a table.
fn chunk_of(plan: &Plan) -> Option<usize> {
    if let Some(source) = cast::<DataSourceExec>(plan) {
        let source: &dyn Any = source.data_source().as_ref();
        return source.downcast_ref::<HeldRows>()?.chunk();
    }
    let same_rows = cast::<ProjectionExec>(plan).is_some() || cast::<CooperativeExec>(plan).is_some();
    if same_rows { chunk_of(plan.children()[0]) } else { None }
}

/// Whether the inputs of a union come in the order of a sort. Each then has another constant as the first key, and the
/// order of the other keys.
fn is_in_order(sort: &SortExec) -> bool {
    let Some(union) = cast::<UnionExec>(sort.input()) else { return false };
    let keys: Vec<_> = sort.expr().iter().cloned().collect();
    let (Some(first), Some(others)) = (keys.first(), LexOrdering::new(keys[1..].to_vec())) else { return false };
    let any: &dyn Any = first.expr.as_ref();
    let Some(place) = any.downcast_ref::<Column>().map(Column::index) else { return false };
    let constant = |input: &Plan| {
        let expr: &dyn Any = cast::<ProjectionExec>(input)?.expr().get(place)?.expr.as_ref();
        Some(expr.downcast_ref::<Literal>()?.value().clone())
    };
    let inputs = union.inputs();
    let constants: Option<Vec<_>> = inputs.iter().map(constant).collect();
    let ascend = |two: &[ScalarValue]| !two[0].is_null() && !first.options.descending && two[0] < two[1];
    constants.is_some_and(|constants| constants.windows(2).all(ascend))
        && inputs.iter().all(|input| {
            partitions(input) == 1 && input.equivalence_properties().ordering_satisfy(others.clone()).unwrap_or(false)
        })
}

struct Pass {
    cores: Cores,
}

fn partitions(plan: &Plan) -> usize {
    plan.output_partitioning().partition_count()
}

/// The aggregate that two are, one over the states of the other, if all rows go through both.
fn in_one_step(last: &AggregateExec) -> Result<Option<Arc<AggregateExec>>> {
    let merge = cast::<CoalescePartitionsExec>(last.input()).filter(|merge| merge.fetch().is_none());
    let first = cast::<AggregateExec>(merge.map_or(last.input(), |merge| merge.input()));
    let is_pair = |first: &&AggregateExec| {
        *last.mode() == AggregateMode::Final
            && *first.mode() == AggregateMode::Partial
            && first.group_expr().is_single()
            && first.limit_options().is_none()
            && last.limit_options().is_none()
            && first.aggr_expr().iter().all(|call| call.order_bys().is_empty())
    };
    let Some(first) = first.filter(is_pair) else { return Ok(None) };
    let single = AggregateExec::try_new(
        AggregateMode::Single,
        first.group_expr().clone(),
        first.aggr_expr().to_vec(),
        first.filter_expr().to_vec(),
        Arc::clone(first.input()),
        first.input_schema(),
    )?;
    Ok((single.schema() == last.schema()).then(|| Arc::new(single)))
}

/// A node of windows a column at a time, if its functions can be.
fn by_columns(node: Plan) -> Plan {
    match ColumnarWindowExec::of(&node) {
        Some(windows) => Arc::new(windows),
        None => node,
    }
}

/// Whether the partitions of a plan come from an exchange, and so are not parts of the rows in their order.
fn is_exchanged(plan: &Plan) -> bool {
    if partitions(plan) == 1 {
        return false;
    }
    cast::<HashExchangeExec>(plan).is_some() || plan.children().into_iter().any(is_exchanged)
}

/// Whether the partitions of a plan are those of several inputs: each may be sorted, and all of them are not.
fn is_united(plan: &Plan) -> bool {
    partitions(plan) > 1 && (cast::<UnionExec>(plan).is_some() || plan.children().into_iter().any(is_united))
}

/// Whether a node calculates something that differs from call to call.
fn volatile(node: &Plan) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(&mut |expr| {
        found |= is_volatile(expr);
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

fn same_aggregate(aggregate: &AggregateExec, calls: Vec<Arc<AggregateFunctionExpr>>) -> Result<AggregateExec> {
    AggregateExec::try_new(
        *aggregate.mode(),
        aggregate.group_expr().clone(),
        calls,
        aggregate.filter_expr().to_vec(),
        Arc::clone(aggregate.input()),
        aggregate.input_schema(),
    )
}

/// Aggregates that take values as they come if they are given no order.
const TAKES_INPUT_ORDER: &[&str] = &["array_agg", "string_agg"];

/// The aggregate without the orders of its calls, if the input has each of these orders already.
fn in_input_order(aggregate: &AggregateExec) -> Result<Option<AggregateExec>> {
    let input = aggregate.input().equivalence_properties();
    let mut calls = Vec::with_capacity(aggregate.aggr_expr().len());
    for call in aggregate.aggr_expr() {
        if call.order_bys().is_empty() {
            calls.push(Arc::clone(call));
            continue;
        }
        let takes = TAKES_INPUT_ORDER.contains(&call.fun().name()) && !call.is_distinct() && !call.is_reversed();
        if !takes || !input.ordering_satisfy(call.order_bys().iter().cloned())? {
            return Ok(None);
        }
        let unordered = AggregateExprBuilder::new(Arc::new(call.fun().clone()), call.expressions())
            .schema(aggregate.input_schema())
            .alias(call.name())
            .with_ignore_nulls(call.ignore_nulls())
            .build()?;
        if unordered.field() != call.field() {
            return Ok(None);
        }
        calls.push(Arc::new(unordered));
    }
    same_aggregate(aggregate, calls).map(Some)
}

impl Pass {
    /// The rows of a leaf in chunks, if there are several.
    fn chunks(&self, plan: &Plan) -> Option<HeldRows> {
        let source: &dyn Any = cast::<DataSourceExec>(plan)?.data_source().as_ref();
        let held = source.downcast_ref::<HeldRows>()?;
        let many = held.table().rows() > self.cores.chunk && plan.fetch().is_none();
        many.then(|| held.in_chunks(self.cores.chunk))
    }

    fn gather(&self, plan: Plan, limited: bool) -> Plan {
        let ordered = !is_exchanged(&plan) && !is_united(&plan);
        Arc::new(GatherExec::new(plan, self.cores, ordered, limited))
    }

    /// A plan in one partition.
    fn one(&self, plan: Plan, limited: bool) -> Plan {
        if partitions(&plan) == 1 { plan } else { self.gather(plan, limited) }
    }

    /// A node over its inputs in one partition each.
    fn serial(&self, node: &Plan, sorted: bool) -> Result<Plan> {
        let limited = cast::<GlobalLimitExec>(node).is_some() || cast::<LocalLimitExec>(node).is_some();
        let limited = limited || node.fetch().is_some();
        let needs = node.required_input_ordering();
        let keeps = node.maintains_input_order();
        let mut inputs = Vec::new();
        let mut changed = false;
        for (place, input) in node.children().into_iter().enumerate() {
            let needs = needs.get(place).is_some_and(Option::is_some);
            let keeps = keeps.get(place).copied().unwrap_or(true);
            let new = self.one(self.node(input, needs || (sorted && keeps))?, limited);
            changed |= !Arc::ptr_eq(&new, input);
            inputs.push(new);
        }
        if changed { with_inputs(node, inputs) } else { Ok(Arc::clone(node)) }
    }

    /// The same node over new inputs.
    fn over(node: &Plan, inputs: Vec<Plan>) -> Result<Plan> {
        let same = node.children().iter().zip(&inputs).all(|(old, new)| Arc::ptr_eq(old, new));
        if same { Ok(Arc::clone(node)) } else { with_inputs(node, inputs) }
    }

    /// `sorted`: a node above relies on the order that this one says it has.
    fn node(&self, node: &Plan, sorted: bool) -> Result<Plan> {
        // Its parts share a table of rows that is replaced in each round.
        if cast::<RecursiveQueryExec>(node).is_some() {
            return Ok(Arc::clone(node));
        }
        if let Some(rows) = self.chunks(node) {
            return Ok(DataSourceExec::from_data_source(rows));
        }
        // Below what puts several partitions together, a limit of each of them saves work and is not needed.
        if partitions(node) > 1 {
            if cast::<LocalLimitExec>(node).is_some() {
                return self.node(node.children()[0], sorted);
            }
            if node.fetch().is_some()
                && cast::<SortExec>(node).is_none()
                && let Some(unlimited) = node.with_fetch(None)
            {
                return self.node(&unlimited, sorted);
            }
        }
        // All readers have one order of rows, whichever of them computes these.
        if cast::<SharedExec>(node).is_some() {
            let input = self.one(self.node(node.children()[0], true)?, false);
            return with_inputs(node, vec![input]);
        }
        // DataFusion's take rows as they come.
        if let Some(merge) = cast::<CoalescePartitionsExec>(node).filter(|merge| merge.fetch().is_none()) {
            return self.node(merge.input(), sorted).map(|input| self.one(input, false));
        }
        if let Some(merge) = cast::<SortPreservingMergeExec>(node) {
            let input = self.node(merge.input(), true)?;
            let (order, fetch) = (merge.expr().clone(), merge.fetch());
            return Ok(match can_order(&order, &input.schema()) {
                true => Arc::new(ParallelSortExec::new(input, order, fetch, self.cores, node)),
                false => Arc::new(SortExec::new(order, self.one(input, false)).with_fetch(fetch)),
            });
        }
        if let Some(aggregate) = cast::<AggregateExec>(node) {
            return self.aggregate(node, aggregate, sorted);
        }
        if let Some(join) = cast::<HashJoinExec>(node) {
            return self.join(node, join, sorted);
        }
        if let Some(sort) = cast::<SortExec>(node) {
            return self.sort(node, sort);
        }
        if cast::<BoundedWindowAggExec>(node).is_some() || cast::<WindowAggExec>(node).is_some() {
            return self.window(node, sorted);
        }
        let by_batch = cast::<FilterExec>(node).is_some()
            || cast::<ProjectionExec>(node).is_some()
            || cast::<CooperativeExec>(node).is_some()
            || cast::<UnnestExec>(node).is_some();
        if (by_batch && node.fetch().is_none() && !volatile(node)?) || cast::<UnionExec>(node).is_some() {
            let inputs = node.children().into_iter().map(|input| self.node(input, sorted)).collect::<Result<_>>()?;
            let node = Self::over(node, inputs)?;
            return Ok(match ConjunctFilterExec::of(&node)? {
                Some(filter) => Arc::new(filter),
                None => node,
            });
        }
        self.serial(node, sorted)
    }

    fn aggregate(&self, node: &Plan, aggregate: &AggregateExec, sorted: bool) -> Result<Plan> {
        // Over a union DataFusion aggregates each input, and then their states.
        if let Some(single) = in_one_step(aggregate)? {
            return self.aggregate(&(Arc::clone(&single) as Plan), &single, sorted);
        }
        let whole = matches!(aggregate.mode(), AggregateMode::Single | AggregateMode::SinglePartitioned);
        let ordered = aggregate.aggr_expr().iter().any(|call| !call.order_bys().is_empty());
        let unsorted = matches!(aggregate.input_order_mode(), InputOrderMode::Linear);
        if whole && ordered && unsorted {
            return self.ordered_aggregate(node, aggregate, sorted);
        }
        if !whole || ordered || !unsorted || aggregate.limit_options().is_some() || volatile(node)? {
            return self.serial(node, sorted);
        }
        let merges = merges(aggregate);
        if aggregate.group_expr().is_empty() {
            if !merges {
                let split = columnwise::split(node)?;
                return split.map_or_else(|| self.serial(node, sorted), Ok);
            }
            let input = self.node(aggregate.input(), false)?;
            if partitions(&input) == 1 {
                return Self::over(node, vec![input]);
            }
            let states = self.gather(Arc::new(partial(aggregate, input)?), false);
            return Ok(Arc::new(merged(aggregate, states)?));
        }
        let input = self.node(aggregate.input(), false)?;
        if partitions(&input) == 1 || !aggregate.group_expr().is_single() {
            return Self::over(node, vec![self.one(input, false)]);
        }
        let single = same_aggregate(aggregate, aggregate.aggr_expr().to_vec())?;
        Ok(Arc::new(PartitionedAggregateExec::new(Arc::new(single), input, self.cores)))
    }

    /// Lists and joined strings in the order that the input has: each group takes its values as they come, and
    /// none is sorted.
    fn ordered_aggregate(&self, node: &Plan, aggregate: &AggregateExec, sorted: bool) -> Result<Plan> {
        let Some(unordered) = in_input_order(aggregate)? else { return self.serial(node, sorted) };
        if aggregate.limit_options().is_some() || volatile(node)? {
            return self.serial(node, sorted);
        }
        let input = self.node(aggregate.input(), true)?;
        if is_exchanged(&input) || is_united(&input) {
            return self.serial(node, sorted);
        }
        let grouped = !aggregate.group_expr().is_empty() && aggregate.group_expr().is_single();
        let unordered: Plan = Arc::new(unordered);
        match cast::<AggregateExec>(&unordered) {
            Some(groups) if grouped && partitions(&input) > 1 => {
                let groups = Arc::new(same_aggregate(groups, groups.aggr_expr().to_vec())?);
                Ok(Arc::new(PartitionedAggregateExec::new(groups, input, self.cores)))
            }
            _ => Self::over(&unordered, vec![self.one(input, false)]),
        }
    }

    fn join(&self, node: &Plan, join: &HashJoinExec, sorted: bool) -> Result<Plan> {
        use JoinType::{Full, Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi};
        if *join.partition_mode() != PartitionMode::CollectLeft || join.null_aware || node.fetch().is_some() {
            return self.serial(node, sorted);
        }
        let probe_order = sorted && node.output_ordering().is_some();
        let mut left = self.node(join.left(), false)?;
        let mut right = self.node(join.right(), probe_order)?;
        // Rows of the probe side without a match are not in the result, nor do they change it.
        let drops = matches!(join.join_type(), Inner | Left | LeftSemi | LeftAnti | LeftMark | RightSemi);
        if drops && partitions(&right) > 1 && join.null_equality() == NullEquality::NullEqualsNothing {
            let bits = |key: &Arc<dyn PhysicalExpr>, of: &Plan| {
                key.data_type(&of.schema()).is_ok_and(|dtype| runtime_filter::has_bits(&dtype))
            };
            let usable = join.on().iter().find_map(|(left_key, right_key)| {
                let place = (right_key.as_ref() as &dyn Any).downcast_ref::<Column>()?.index();
                (bits(left_key, &left) && bits(right_key, &right)).then(|| (Arc::clone(left_key), place))
            });
            if let Some((key, place)) = usable {
                let shared = Arc::new(runtime_filter::JoinKeys::default());
                right = runtime_filter::reduced(&right, place, &shared)?;
                left = Arc::new(RuntimeFilterBuildExec::new(left, key, shared));
            }
        }
        // Joins of frames give their rows in the order of the probe side.
        let hidden = |key: &Arc<dyn PhysicalExpr>| {
            let any: &dyn Any = key.as_ref();
            any.downcast_ref::<Column>().is_some_and(|column| column.name().starts_with(HIDDEN))
        };
        let of_frames = join.on().iter().any(|(left, right)| hidden(left) || hidden(right));
        let free = !of_frames && !probe_order && !join.on().is_empty();
        let both_sides = |left: Plan, right: Plan| -> Result<Plan> {
            let (left_keys, right_keys) = join.on().iter().cloned().unzip();
            let left: Plan = Arc::new(HashExchangeExec::new(left, left_keys, self.cores));
            let right: Plan = Arc::new(HashExchangeExec::new(right, right_keys, self.cores));
            let partitioned = join.builder().with_partition_mode(PartitionMode::Partitioned);
            partitioned.with_new_children(vec![left, right])?.build_exec()
        };
        let large = match (rows(join.left()), rows(join.right())) {
            (Some(build), Some(probe)) => build >= self.large_build() && probe / MANY_PROBES <= build,
            _ => false,
        };
        match join.join_type() {
            _ if partitions(&left) == 1 && partitions(&right) == 1 => Self::over(node, vec![left, right]),
            _ if free && large && partitions(&left) > 1 && partitions(&right) > 1 => both_sides(left, right),
            Inner | Right | RightSemi | RightAnti | RightMark => Self::over(node, vec![self.one(left, false), right]),
            // All of their rows come from the partition that ends last, whichever that is.
            LeftSemi | LeftAnti | LeftMark => {
                let joined = Self::over(node, vec![self.one(left, false), right])?;
                Ok(self.one(joined, false))
            }
            // Rows without a match come from the partition that ends last, after those with one.
            Left | Full if free && partitions(&right) > 1 => both_sides(left, right),
            Left | Full => Self::over(node, vec![self.one(left, false), self.one(right, false)]),
        }
    }

    /// Tests with small chunks have small joins that are large.
    fn large_build(&self) -> usize {
        LARGE_BUILD.min(self.cores.chunk.saturating_mul(8))
    }

    fn sort(&self, node: &Plan, sort: &SortExec) -> Result<Plan> {
        if sort.fetch().is_none() && is_in_order(sort) {
            let input = self.node(sort.input(), true)?;
            return Ok(Arc::new(GatherExec::with_properties(input, self.cores, node.properties())));
        }
        let input = self.node(sort.input(), false)?;
        match sort.fetch() {
            // The first rows of each input of a union, under a merge of all. A key that is constant in each input is
            // not in this order, so that rows of different inputs cannot be compared by it.
            Some(fetch) if sort.preserve_partitioning() && partitions(sort.input()) > 1 => {
                let is_whole = partitions(&input) < partitions(sort.input()) || is_exchanged(&input);
                Ok(match is_whole {
                    true => input,
                    false => Arc::new(PartitionTopKExec::new(input, sort.expr().clone(), fetch)),
                })
            }
            Some(fetch) if fetch < LARGE_TOP => {
                if partitions(&input) == 1 {
                    return Self::over(node, vec![input]);
                }
                let top: Plan = Arc::new(PartitionTopKExec::new(input, sort.expr().clone(), fetch));
                Self::over(node, vec![self.gather(top, false)])
            }
            fetch if can_order(sort.expr(), &sort.input().schema()) && !sort.preserve_partitioning() => {
                let order = sort.expr().clone();
                Ok(Arc::new(ParallelSortExec::new(input, order, fetch, self.cores, node)))
            }
            _ => Self::over(node, vec![self.one(input, false)]),
        }
    }

    /// Windows over one sort: those with a common key of their partitions run in the partitions of an exchange by it.
    fn window(&self, node: &Plan, sorted: bool) -> Result<Plan> {
        if let Some(plan) = self.row_numbers(node)? {
            return Ok(plan);
        }
        let mut windows = Vec::new();
        let mut below = node;
        let mut common: Option<Vec<Arc<dyn PhysicalExpr>>> = None;
        loop {
            let exprs = match (cast::<BoundedWindowAggExec>(below), cast::<WindowAggExec>(below)) {
                (Some(window), _) => window.window_expr(),
                (_, Some(window)) => window.window_expr(),
                _ => break,
            };
            for expr in exprs {
                let keys = expr.partition_by();
                common = Some(match common {
                    Some(common) => common.into_iter().filter(|key| keys.contains(key)).collect(),
                    None => keys.to_vec(),
                });
            }
            windows.push(below);
            below = below.children()[0];
        }
        let keys = common.unwrap_or_default();
        let one = |node: &Plan| self.serial(node, sorted).map(by_columns);
        let Some(sort) = cast::<SortExec>(below).filter(|sort| sort.fetch().is_none()) else {
            return one(node);
        };
        let few = || rows(sort.input()).is_none_or(|rows| rows <= self.cores.chunk);
        if keys.is_empty() || sorted || volatile(node)? || few() {
            return one(node);
        }
        let input = self.node(sort.input(), false)?;
        let exchange: Plan = Arc::new(HashExchangeExec::new(input, keys, self.cores));
        let sort = SortExec::new(sort.expr().clone(), exchange).with_preserve_partitioning(true);
        let ordered = can_order(sort.expr(), &sort.input().schema());
        let mut plan: Plan = match ordered {
            true => Arc::new(ParallelSortExec::apart(sort, self.cores)),
            false => Arc::new(sort),
        };
        for window in windows.into_iter().rev() {
            plan = by_columns(with_inputs(window, vec![plan])?);
        }
        Ok(plan)
    }

    /// `row_number() over ()` alone, of rows in several partitions.
    fn row_numbers(&self, node: &Plan) -> Result<Option<Plan>> {
        let Some(window) = cast::<BoundedWindowAggExec>(node) else { return Ok(None) };
        let [expr] = window.window_expr() else { return Ok(None) };
        let of_all = expr.partition_by().is_empty() && expr.order_by().is_empty();
        if !of_all || !is_row_number(expr) {
            return Ok(None);
        }
        let input = self.node(window.input(), true)?;
        if partitions(&input) == 1 || is_exchanged(&input) {
            return Self::over(node, vec![self.one(input, false)]).map(Some);
        }
        let chunk = chunk_of(&input);
        Ok(Some(Arc::new(RowNumberExec::new(input, chunk, node.properties()))))
    }
}
