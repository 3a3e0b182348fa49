//! Optimizer rules: those of DataFusion that can apply to the plan, and those of Onrush.
//!
//! DataFusion runs every rule over every plan until nothing changes, which was most of the planning time
//! (docs/measurements/calls-and-planning.md). One pass over the plan finds its joins, subqueries and limits, and with
//! them the rules that can apply. Knows no SQL and no devices.

mod one_nan;
mod order;
mod push_filter_below_projection;
mod reduce;
mod short_circuit;
mod sides;
mod sorts;
mod walk;
mod window_filter_to_case;

use std::any::Any;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, SchemaExt, internal_err};
use datafusion::datasource::memory::{DataSourceExec, MemorySourceConfig};
use datafusion::error::Result;
use datafusion::logical_expr::logical_plan::InvariantLevel;
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Join, JoinType, LogicalPlan, Operator, Projection};
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{Optimizer, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use onrush_logical::mem_table::HeldRows;
use onrush_logical::predicates::is_column;

pub use sorts::depends_on_order;

use crate::push_filter_below_projection::FilterFirst;
use crate::window_filter_to_case::WindowFilters;
use walk::Rule;

/// The rule of logical plans, which runs all passes that are needed.
pub struct Logical {
    rules: Vec<Rule>,
    /// The compiler of kernels finds what occurs twice in arithmetic by itself.
    for_device: bool,
}

/// The parts of a plan that rules look for.
#[derive(Default)]
struct Shape {
    joins: bool,
    /// Joins whose pairs are not named yet.
    crosses: bool,
    /// Inner ones of these.
    products: bool,
    subqueries: bool,
    /// Comparisons for which nulls are equal.
    nulls: bool,
    /// Comparisons with some or all rows of a subquery.
    sets: bool,
    unions: bool,
    distinct: bool,
    limits: bool,
    sorts: bool,
    filters: bool,
    groups: bool,
    fields: bool,
    twice: bool,
    /// More than arithmetic and comparisons.
    costly: bool,
    /// Something is calculated from what a projection below calculates.
    merges: bool,
}

impl Logical {
    pub fn new(for_device: bool) -> Self {
        let mut rules = Optimizer::new().rules;
        if let Some(simplify) = rules.iter_mut().find(|rule| rule.name() == "simplify_expressions") {
            *simplify = Arc::new(SimplifyMore(Arc::clone(simplify)));
        }
        if let Some(pairs) = rules.iter_mut().find(|rule| rule.name() == EQUIJOIN) {
            *pairs = Arc::new(PairsOfEquals(Arc::clone(pairs)));
        }
        let empty = rules.iter().position(|rule| rule.name() == "propagate_empty_relation");
        rules.insert(empty.map_or(rules.len(), |at| at + 1), Arc::new(WholeNames));
        rules.push(Arc::new(WindowFilters));
        Logical { rules, for_device }
    }

    fn those(&self, which: impl Fn(&str) -> bool) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| which(rule.name()))
    }
}

impl fmt::Debug for Logical {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_list().entries(self.rules.iter().map(|rule| rule.name())).finish()
    }
}

const EQUIJOIN: &str = "extract_equijoin_predicate";

/// Rules of the second pass. DataFusion makes up to three with all of them; on TPC-H's queries nothing else changes a
/// plan then.
#[doc(hidden)]
pub const AGAIN: &[&str] = &[
    "simplify_expressions",
    "decorrelate_predicate_subquery",
    "scalar_subquery_to_join",
    "decorrelate_lateral_join",
    "extract_equijoin_predicate",
    "eliminate_filter",
    "eliminate_cross_join",
    "propagate_empty_relation",
    "whole_names",
    "eliminate_outer_join",
    "push_down_limit",
    "push_down_filter",
    "optimize_projections",
];

/// Rules after joins have come into another order.
const REORDERED: &[&str] = &["push_down_filter", "optimize_projections"];

/// Rules of the second pass for plans without joins, subqueries and unions.
#[doc(hidden)]
pub const AGAIN_SIMPLE: &[&str] = &["simplify_expressions", "eliminate_filter", "propagate_empty_relation"];

impl OptimizerRule for Logical {
    fn name(&self) -> &str {
        "chosen_rules"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let schema = Arc::clone(plan.schema());
        let plan = one_nan::of_constants(plan)?;
        let mut shape = Shape::of(&plan)?;
        shape.costly |= !self.for_device;
        let mut plan = walk::run(plan, self.those(|rule| shape.needs(rule)), |_, _, _| true, config)?;
        if shape.sorts {
            plan = self.without_sorts(plan, config)?;
        }
        // Merged projections and filters, and joins instead of subqueries, bring expressions together.
        if shape.joins || shape.subqueries || shape.unions || shape.merges {
            plan = self.again(plan, &shape, config)?;
        }
        if shape.nulls {
            let nulls: [Rule; 1] = [Arc::new(ExtractEquijoinPredicate::new())];
            plan = walk::run(plan, nulls.iter(), |_, _, _| true, config)?;
        }
        // A device chooses for itself.
        if (shape.joins || shape.subqueries) && !self.for_device {
            let lowered = reduce::semi_joins_first(plan)?;
            let ordered = order::chosen(lowered.data)?;
            let reduced = reduce::chosen(ordered.data)?;
            plan = reduced.data;
            if lowered.transformed || ordered.transformed || reduced.transformed {
                // Prunes columns and pushes filters down again in the new join order.
                plan = walk::run(plan, self.those(|rule| REORDERED.contains(&rule)), |_, _, _| true, config)?;
            }
            plan = sides::chosen(plan)?;
        }
        plan = one_nan::everywhere(plan)?;
        if !plan.schema().logically_equivalent_names_and_types(&schema) {
            return internal_err!("rules made {:?} of a plan that gives {schema:?}", plan.schema());
        }
        plan.check_invariants(InvariantLevel::Executable)?;
        Ok(Transformed::yes(plan))
    }
}

impl Logical {
    /// Without sorts that no result depends on, and without the columns that they alone read. Row numbers are among
    /// these columns, and with them goes the need of an order below.
    fn without_sorts(&self, mut plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<LogicalPlan> {
        let one = config.options().execution.target_partitions == 1;
        loop {
            let fewer = sorts::needed(plan, one)?;
            plan = fewer.data;
            if !fewer.transformed {
                return Ok(plan);
            }
            plan = walk::run(plan, self.those(|rule| rule == "optimize_projections"), |_, _, _| true, config)?;
        }
    }

    fn again(&self, plan: LogicalPlan, before: &Shape, config: &dyn OptimizerConfig) -> Result<LogicalPlan> {
        let rules = if before.joins || before.subqueries || before.unions { AGAIN } else { AGAIN_SIMPLE };
        let shape = Shape::of(&plan)?;
        let rules = self.those(|rule| rules.contains(&rule) && shape.needs(rule));
        let may_find = |rule: &str, plan: &LogicalPlan, changed: bool| match rule {
            "optimize_projections" => changed || before.merges || before.unions,
            // A rule before it may have named the pairs.
            "eliminate_cross_join" => Shape::of(plan).is_ok_and(|shape| shape.products),
            _ => true,
        };
        let mut plan = walk::run(plan, rules, may_find, config)?;
        if shape.joins && Shape::of(&plan)?.crosses {
            // A filter that came down to a join may have named its pairs.
            let pairs = self.those(|rule| rule == EQUIJOIN);
            plan = walk::run(plan, pairs, |_, _, _| true, config)?;
        }
        Ok(plan)
    }
}

/// DataFusion's rule, where there is something to simplify: it puts together the columns of all inputs of each node
/// first.
#[derive(Debug)]
struct SimplifyMore(Rule);

impl OptimizerRule for SimplifyMore {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let mut simple = true;
        plan.apply_expressions(|expr| {
            simple &= is_simple(expr);
            Ok(if simple { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        })?;
        if simple { Ok(Transformed::no(plan)) } else { self.0.rewrite(plan, config) }
    }
}

/// DataFusion's rule without its second part, which runs when no more joins come. That part makes keys of `a is not
/// distinct from b` if a join has no others, and lets nulls be equal in all later keys.
#[derive(Debug)]
struct PairsOfEquals(Rule);

impl OptimizerRule for PairsOfEquals {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(Join { filter: Some(filter), .. }) = &plan else { return self.0.rewrite(plan, config) };
        if !split_conjunction(filter).into_iter().any(is_not_distinct) {
            return self.0.rewrite(plan, config);
        }
        let LogicalPlan::Join(mut join) = plan else { return Ok(Transformed::no(plan)) };
        let conditions = join.filter.take().map(split_conjunction_owned).unwrap_or_default();
        let (nulls, others): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(is_not_distinct);
        join.filter = conjunction(others);
        self.0.rewrite(LogicalPlan::Join(join), config)?.map_data(|plan| {
            let LogicalPlan::Join(mut join) = plan else { return internal_err!("a join became {}", plan.display()) };
            join.filter = conjunction(join.filter.into_iter().chain(nulls));
            Ok(LogicalPlan::Join(join))
        })
    }
}

fn is_not_distinct(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryExpr(BinaryExpr { op: Operator::IsNotDistinctFrom, .. }))
}

/// Columns, and aggregates of them that have no simpler form.
fn is_simple(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_simple(&alias.expr),
        Expr::AggregateFunction(call) => {
            call.func.simplify().is_none()
                && call.params.filter.is_none()
                && call.params.order_by.is_empty()
                && call.params.args.iter().all(is_column)
        }
        expr => matches!(expr, Expr::Column(_)),
    }
}

impl Shape {
    fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut shape = Shape { merges: merges(plan, false), ..Shape::default() };
        plan.apply_with_subqueries(|node| {
            match node {
                LogicalPlan::Join(join) => {
                    shape.joins = true;
                    shape.crosses |= join.on.is_empty();
                    shape.products |= join.on.is_empty() && join.join_type == JoinType::Inner;
                }
                LogicalPlan::Subquery(_) => shape.subqueries = true,
                LogicalPlan::Union(_) | LogicalPlan::RecursiveQuery(_) => shape.unions = true,
                LogicalPlan::Distinct(_) => shape.distinct = true,
                LogicalPlan::Limit(_) => shape.limits = true,
                LogicalPlan::Filter(_) => shape.filters = true,
                LogicalPlan::TableScan(scan) if !scan.filters.is_empty() => shape.filters = true,
                LogicalPlan::Aggregate(group) => {
                    shape.groups = true;
                    shape.twice |= has_twice(group.group_expr.iter());
                }
                LogicalPlan::Sort(sort) => {
                    shape.twice |= has_twice(sort.expr.iter().map(|key| &key.expr));
                    shape.limits |= sort.fetch.is_some();
                    shape.sorts = true;
                }
                _ => {}
            }
            node.apply_expressions(|expr| {
                expr.apply(|expr| {
                    shape.sets |= matches!(expr, Expr::SetComparison(_));
                    shape.nulls |= is_not_distinct(expr);
                    match expr {
                        Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) | Expr::ScalarSubquery(_) => {
                            shape.subqueries = true;
                        }
                        Expr::ScalarFunction(call) => {
                            shape.costly = true;
                            shape.fields |= call.name() == "get_field";
                        }
                        Expr::Like(_)
                        | Expr::HigherOrderFunction(_)
                        | Expr::SimilarTo(_)
                        | Expr::Case(_)
                        | Expr::WindowFunction(_) => shape.costly = true,
                        _ => {}
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(shape)
    }

    /// Whether a rule can find what it looks for. Rules that are not named here always run.
    fn needs(&self, rule: &str) -> bool {
        let joins = self.joins || self.subqueries;
        match rule {
            "rewrite_set_comparison" => self.sets,
            "decorrelate_predicate_subquery" | "scalar_subquery_to_join" => self.subqueries,
            "decorrelate_lateral_join" | "eliminate_join" | "extract_equijoin_predicate" => joins,
            "filter_null_join_keys" | "eliminate_outer_join" => joins,
            "eliminate_cross_join" => self.products || self.subqueries,
            "optimize_unions" | "unions_to_filter" | "whole_names" => self.unions,
            "replace_distinct_aggregate" => self.distinct,
            "eliminate_limit" | "push_down_limit" => self.limits,
            "eliminate_filter" | "push_down_filter" => self.filters || joins,
            "eliminate_duplicated_expr" => self.twice || self.distinct || self.subqueries,
            "single_distinct_aggregation_to_group_by" | "eliminate_group_by_constant" => {
                self.groups || self.distinct || self.subqueries
            }
            "common_sub_expression_eliminate" => self.costly,
            "extract_leaf_expressions" | "push_down_leaf_projections" => self.fields,
            _ => true,
        }
    }
}

fn merges(plan: &LogicalPlan, above: bool) -> bool {
    let calculates = match plan {
        LogicalPlan::Projection(projection) => projection.expr.iter().any(|expr| !is_column(expr)),
        _ => false,
    };
    let uses = matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Window(_));
    (calculates && above) || plan.inputs().into_iter().any(|input| merges(input, above || calculates || uses))
}

/// Gives columns of projections the table that they come from. A union that is left with one input
/// (`propagate_empty_relation`) takes `c` instead of `l.c` of its input. A filter that moves down through it would find
/// the `c` of another table of a join below.
#[derive(Debug)]
struct WholeNames;

impl OptimizerRule for WholeNames {
    fn name(&self) -> &str {
        "whole_names"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Projection(projection) = plan else { return Ok(Transformed::no(plan)) };
        let input = projection.input.schema();
        let bare = |expr: &Expr| match expr {
            Expr::Column(column) if column.relation.is_none() => {
                let (table, field) = input.qualified_field_with_unqualified_name(&column.name).ok()?;
                let table = table?.clone();
                Some(Expr::Column(Column::new(Some(table), field.name())).alias(&column.name))
            }
            _ => None,
        };
        if !projection.expr.iter().any(|expr| bare(expr).is_some()) {
            return Ok(Transformed::no(LogicalPlan::Projection(projection)));
        }
        let exprs = projection.expr.iter().map(|expr| bare(expr).unwrap_or_else(|| expr.clone())).collect();
        let new = Projection::try_new_with_schema(exprs, projection.input, projection.schema)?;
        Ok(Transformed::yes(LogicalPlan::Projection(new)))
    }
}

fn has_twice<'a>(mut exprs: impl Iterator<Item = &'a Expr>) -> bool {
    let mut seen = HashSet::new();
    exprs.any(|expr| !seen.insert(expr))
}

/// The rules of physical plans: DataFusion's, then those of Onrush.
pub struct Physical {
    rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>,
}

#[derive(Default)]
struct Parts {
    /// Nodes may have rows of several partitions.
    spread: bool,
    /// Several inputs of a node: joins, unions, subqueries.
    several: bool,
    limits: bool,
    windows: bool,
    sorts: usize,
    groups: bool,
    /// Sources that may take filters and orders.
    files: bool,
    /// Rows of more than one partition, or an order that a node asks for and might have.
    requirements: bool,
    /// Two columns of one name in the rows of a node.
    alike: bool,
}

impl Default for Physical {
    fn default() -> Self {
        Physical::new()
    }
}

impl Physical {
    /// The rules of DataFusion that do no harm here, and those of Onrush.
    pub fn new() -> Self {
        let mut rules = PhysicalOptimizer::new().rules;
        // `aggregate_statistics` takes counts from statistics, and leaves plans above them with columns that are no
        // longer there. Counting rows of files reads no column without it either. `ProjectionPushdown` has two passes,
        // and the later one is enough.
        let last = rules.iter().rposition(|rule| rule.name() == "ProjectionPushdown");
        let mut at = 0;
        rules.retain(|rule| {
            at += 1;
            let again = rule.name() == "ProjectionPushdown" && Some(at - 1) != last;
            rule.name() != "aggregate_statistics" && !again
        });
        rules.push(Arc::new(FilterFirst));
        Physical { rules }
    }

    /// For a plan of which some may run on the CPU.
    pub fn for_cpu(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        self.run(plan, config, |_| true)
    }

    /// For a plan that runs on the device: its kernels read the columns that they need, wherever a projection stands.
    pub fn for_device(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        self.run(plan, config, |rule| rule != "ProjectionPushdown")
    }

    fn run(
        &self,
        mut plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = plan.schema();
        plan = sorts::required(plan)?;
        let parts = Parts::of(&plan, config.execution.target_partitions > 1)?;
        for rule in self.rules.iter().filter(|rule| wanted(rule.name()) && parts.needs(rule.name())) {
            plan = match parts.alike && rule.name().starts_with("FilterPushdown") {
                true => below(plan, &|part| rule.optimize(part, config)),
                false => rule.optimize(plan, config),
            }
            .map_err(|e| e.context(rule.name().to_string()))?;
        }
        if parts.limits && parts.groups {
            plan = plan.transform_up(|node| Ok(whole(node))).map(|plan| plan.data)?;
        }
        schema.logically_equivalent_names_and_types(&plan.schema())?;
        Ok(plan)
    }
}

impl Parts {
    fn of(plan: &Arc<dyn ExecutionPlan>, spread: bool) -> Result<Self> {
        let mut parts = Parts { spread, ..Parts::default() };
        plan.apply(|node| {
            let any: &dyn Any = node.as_ref();
            parts.several |= node.children().len() > 1;
            parts.limits |= any.is::<GlobalLimitExec>() || any.is::<LocalLimitExec>() || node.fetch().is_some();
            parts.windows |= any.is::<WindowAggExec>() || any.is::<BoundedWindowAggExec>();
            parts.files |= any.downcast_ref::<DataSourceExec>().is_some_and(|node| {
                let source: &dyn Any = node.data_source().as_ref();
                !source.is::<HeldRows>() && !source.is::<MemorySourceConfig>()
            });
            parts.alike |= has_alike(node);
            let ordered = match any.downcast_ref::<SortExec>() {
                Some(sort) => {
                    parts.sorts += 1;
                    sort.input().output_ordering().is_some()
                }
                None => node.required_input_ordering().iter().any(Option::is_some),
            };
            parts.requirements |= ordered || node.output_partitioning().partition_count() > 1;
            if let Some(group) = any.downcast_ref::<AggregateExec>() {
                parts.groups = true;
                parts.requirements |= group.aggr_expr().iter().any(|call| !call.order_bys().is_empty());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        // Orders that what is above them does not need are taken out with the requirements. The last one is the
        // result's.
        parts.requirements |= spread || parts.sorts > usize::from(ends_sorted(plan));
        Ok(parts)
    }

    /// Whether a rule can find what it looks for. Rules that are not named here always run.
    fn needs(&self, rule: &str) -> bool {
        let requirements = self.windows || self.requirements;
        match rule {
            "OutputRequirements" | "EnsureRequirements" | "OptimizeAggregateOrder" | "SanityCheckPlan" => requirements,
            // With one partition the plan has chosen already; sides are chosen before.
            "join_selection" | "HashJoinBuffering" => self.several && self.spread,
            "LimitedDistinctAggregation" | "LimitAggregation" => self.limits && self.groups,
            "FilterPushdown" | "FilterPushdown(Post)" => self.files,
            "WindowTopN" => self.windows,
            "CombinePartialFinalAggregate" => self.groups,
            "LimitPushPastWindows" => self.windows && self.limits,
            "LimitPushdown" => self.limits,
            "TopKRepartition" => self.spread && self.limits,
            "PushdownSort" => self.sorts > 0 && self.files,
            _ => true,
        }
    }
}

/// A rule for the parts of a plan in which no rows have two columns of one name. The filter pushdown goes by names: of
/// two alike a filter would be given the wrong one, and rows would be lost.
fn below(
    plan: Arc<dyn ExecutionPlan>,
    rule: &dyn Fn(Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    if !plan.exists(|node| Ok(has_alike(node)))? {
        return rule(plan);
    }
    plan.map_children(|child| below(child, rule).map(Transformed::yes)).map(|plan| plan.data)
}

fn ends_sorted(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let any: &dyn Any = plan.as_ref();
    let passes = any.is::<ProjectionExec>() || any.is::<GlobalLimitExec>() || any.is::<LocalLimitExec>();
    any.is::<SortExec>() || (passes && ends_sorted(plan.children()[0]))
}

fn has_alike(node: &Arc<dyn ExecutionPlan>) -> bool {
    let schema = node.schema();
    let mut names = HashSet::with_capacity(schema.fields().len());
    schema.fields().iter().any(|field| !names.insert(field.name()))
}

/// `LimitedDistinctAggregation` marks groups of which a few are enough, for groups without an order. One that later
/// rules gave an order, or whose input has one, does not run with the mark.
fn whole(node: Arc<dyn ExecutionPlan>) -> Transformed<Arc<dyn ExecutionPlan>> {
    let any: &dyn Any = node.as_ref();
    let Some(group) = any.downcast_ref::<AggregateExec>() else { return Transformed::no(node) };
    match group.limit_options() {
        Some(limit)
            if limit.descending().is_none()
                && group.get_minmax_desc().is_none()
                && !group.is_unordered_unfiltered_group_by_distinct() =>
        {
            Transformed::yes(Arc::new(group.with_new_limit_options(None)))
        }
        _ => Transformed::no(node),
    }
}

/// The names of the rules that run on every plan: logical ones, then physical ones.
#[doc(hidden)]
pub fn unconditional() -> (Vec<String>, Vec<String>) {
    let (none, bare) = (Shape::default(), Parts::default());
    let logical = Logical::new(false);
    let logical = logical.those(|rule| none.needs(rule)).map(|rule| rule.name().to_string()).collect();
    let physical = Physical::new().rules;
    let physical = physical.iter().map(|rule| rule.name().to_string()).filter(|rule| bare.needs(rule)).collect();
    (logical, physical)
}
