//! Subqueries as joins, wherever a query has them.
//!
//! DataFusion makes joins of subqueries that are conditions of a filter, and of aggregates whose rows are found by
//! equality. Such subqueries stay as they are: its plans for them are the best ones. Everything else is made a join
//! here, before the query is analysed: `in` as a value, which may be null; subqueries among columns, groups, orders,
//! windows and join conditions. Subqueries with an order or a limit, and correlated by an inequality, are joins, too.
//! How: Neumann and Kemper, "Unnesting Arbitrary Queries" (BTW 2015). A subquery runs once for all distinct values that
//! it takes from the query around it: its *domain* (`domain.rs`). Its rows are joined to that query's rows by them.

mod classify;
mod domain;

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::Int64Type;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, NullEquality, ScalarValue};
use datafusion::error::Result;
use datafusion::functions_aggregate::expr_fn::{count, first_value};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Case, Expr, ExprSchemable, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, Subquery,
    SubqueryAlias, binary_expr, lit, not, when,
};
use onrush_expr::diagnostics::{HIDDEN, plan_error};
use onrush_expr::scalar_udf::kernel;
use onrush_logical::predicates::has_subqueries;

use super::duckdb_semantics::fail;
use domain::Domain;

/// The plan of a query without subqueries that DataFusion cannot run, or runs wrong.
///
/// # Errors
/// A subquery whose rows cannot be found: in the condition of an outer join over both sides, in a recursive query.
pub fn decorrelate(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !has_subqueries(&plan) && !plan.exists(|node| Ok(matches!(node, LogicalPlan::Subquery(_))))? {
        return Ok(plan);
    }
    let plan = Unnesting::default().plan(plan)?;
    match classify::outer_columns(&plan)?.first() {
        None => Ok(plan),
        Some(column) => fail(
            plan_error("not-supported", format!("a subquery cannot use `{column}` of the query around it here"))
                .help("select the column in the query around it, too, or join the tables"),
        ),
    }
}

#[derive(Default)]
struct Unnesting {
    names: usize,
    /// The inputs of the open nodes, before subqueries were joined to them.
    bases: Vec<LogicalPlan>,
}

/// A plan with the columns of subqueries in addition to its own, and an expression that reads them.
type PlanWithColumn = (LogicalPlan, Expr);

impl Unnesting {
    fn name(&mut self, what: &str) -> String {
        self.names += 1;
        format!("{HIDDEN}{what}{}", self.names)
    }

    /// From the inside out: what is left in a subquery is of one level.
    fn plan(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let plan = plan.map_children(|input| Ok(Transformed::yes(self.plan(input)?)))?.data;
        let plan = match plan {
            LogicalPlan::Join(join) if classify::is_lateral(&join)? => return self.lateral(join),
            plan => plan,
        };
        let mut has = false;
        let plan = plan.map_expressions(|expr| self.inner(expr, &mut has))?.data;
        if !has {
            return Ok(plan);
        }
        match plan {
            LogicalPlan::Filter(filter) => {
                self.filter(split_conjunction_owned(filter.predicate), Arc::unwrap_or_clone(filter.input))
            }
            LogicalPlan::Join(join) => self.join(join),
            plan @ (LogicalPlan::Projection(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Window(_)) => self.below(plan),
            other => {
                let what = other.display().to_string();
                fail(
                    plan_error("not-supported", "a subquery cannot stand here")
                        .note(format!("in {what}"))
                        .help("make its rows a table with `with t as (...)`, and join it"),
                )
            }
        }
    }

    /// An expression whose subqueries are unnested in themselves.
    fn inner(&mut self, expr: Expr, has: &mut bool) -> Result<Transformed<Expr>> {
        expr.transform_up(|expr| {
            let mut within = |subquery: Subquery| -> Result<Subquery> {
                *has = true;
                classify::refuse_outer_aggregates(&subquery.subquery)?;
                let plan = self.plan(Arc::unwrap_or_clone(subquery.subquery))?;
                Ok(Subquery { subquery: Arc::new(plan), ..subquery })
            };
            Ok(Transformed::yes(match expr {
                Expr::ScalarSubquery(subquery) => Expr::ScalarSubquery(within(subquery)?),
                Expr::Exists(it) => {
                    Expr::Exists(Exists { subquery: without_order(within(it.subquery)?)?, negated: it.negated })
                }
                Expr::InSubquery(it) => Expr::InSubquery(InSubquery::new(it.expr, within(it.subquery)?, it.negated)),
                Expr::SetComparison(it) => compared(SetComparison { subquery: within(it.subquery)?, ..it }),
                other => return Ok(Transformed::no(other)),
            }))
        })
    }

    fn filter(&mut self, conditions: Vec<Expr>, input: LogicalPlan) -> Result<LogicalPlan> {
        let schema = Arc::clone(input.schema());
        let (simple, other): (Vec<Expr>, Vec<Expr>) =
            conditions.into_iter().partition(|expr| classify::is_left_to_rules(expr, &schema));
        let mut plan = match conjunction(simple) {
            Some(condition) => LogicalPlanBuilder::from(input).filter(condition)?.build()?,
            None => input,
        };
        if other.is_empty() {
            return Ok(plan);
        }
        let (mut simple, mut rest) = (Vec::new(), Vec::new());
        self.bases.push(plan.clone());
        for condition in other {
            let (attached, condition) = self.spread(condition, plan)?;
            plan = attached;
            for condition in split_conjunction_owned(only_true(condition)) {
                match condition {
                    condition if classify::is_left_to_rules(&condition, plan.schema()) => simple.push(condition),
                    Expr::Exists(it) if !classify::outer_columns(&it.subquery.subquery)?.is_empty() => {
                        let kind = if it.negated { JoinType::LeftAnti } else { JoinType::LeftSemi };
                        plan = self.partners(it.subquery, plan, kind)?.0;
                    }
                    condition => {
                        let (attached, condition) = self.value(condition, plan)?;
                        (plan, _) = (attached, rest.push(condition));
                    }
                }
            }
        }
        self.bases.pop();
        if let Some(condition) = conjunction(simple.into_iter().chain(rest)) {
            plan = LogicalPlanBuilder::from(plan).filter(condition)?.build()?;
        }
        only(plan, &schema)
    }

    /// Nodes over whose rows their expressions are computed: these come from columns below.
    fn below(&mut self, node: LogicalPlan) -> Result<LogicalPlan> {
        let schema = Arc::clone(node.schema());
        let (keeps, sorts) = (matches!(node, LogicalPlan::Projection(_)), matches!(node, LogicalPlan::Sort(_)));
        let mut input = node.inputs()[0].clone();
        if sorts {
            input = with_columns_of_keys(&node, input)?;
        }
        let before = Arc::clone(input.schema());
        self.bases.push(input.clone());
        let mut exprs = Vec::new();
        for (at, expr) in node.expressions().into_iter().enumerate() {
            let (attached, spread) = self.spread(expr.clone(), input)?;
            let (attached, mut new) = self.value(spread, attached)?;
            input = attached;
            if !keeps {
                // Rules look for single values in projections and filters only.
                (input, new) = self.values_below(new, input)?;
            }
            // Readers of the column know it by its name; keys of orders have none.
            let index = match &node {
                LogicalPlan::Window(_) => before.fields().len() + at,
                // Grouping sets are one expression with several columns.
                LogicalPlan::Aggregate(group) if at >= group.group_expr.len() => {
                    schema.fields().len() - group.aggr_expr.len() + at - group.group_expr.len()
                }
                _ => at,
            };
            if !sorts && new != expr {
                let (table, field) = schema.qualified_field(index);
                new = new.unalias().alias_qualified(table.cloned(), field.name());
            }
            exprs.push(new);
        }
        self.bases.pop();
        let plan = node.with_new_exprs(exprs, vec![input])?;
        if keeps { Ok(plan) } else { only(plan, &schema) }
    }

    fn values_below(&mut self, expr: Expr, mut input: LogicalPlan) -> Result<PlanWithColumn> {
        let done = expr.transform_up(|expr| match expr {
            Expr::ScalarSubquery(_) => {
                let name = self.name("value");
                let columns = input.schema().columns().into_iter().map(Expr::Column);
                let exprs: Vec<Expr> = columns.chain([expr.alias(&name)]).collect();
                input = LogicalPlanBuilder::from(input.clone()).project(exprs)?.build()?;
                Ok(Transformed::yes(Expr::Column(Column::from_name(name))))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok((input, done.data))
    }

    fn join(&mut self, join: Join) -> Result<LogicalPlan> {
        let schema = Arc::clone(&join.schema);
        let conditions = conditions(join.on, join.filter, join.null_equality);
        let (with, mut on): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(classify::has_subquery);
        let (mut left, mut right) = (Arc::unwrap_or_clone(join.left), Arc::unwrap_or_clone(join.right));
        if join.join_type == JoinType::Inner {
            return self.filter(with, joined(left, right, JoinType::Inner, on)?);
        }
        for condition in with {
            let mut columns = Vec::new();
            classify::columns(&condition, &mut columns)?;
            let all_in = |plan: &LogicalPlan| columns.iter().all(|column| plan.schema().has_column(column));
            let side = match (all_in(&left), all_in(&right)) {
                (true, _) => &mut left,
                (false, true) => &mut right,
                (false, false) => {
                    return fail(
                        plan_error(
                            "not-supported",
                            "a subquery in the condition of an outer join uses columns of both tables",
                        )
                        .help("compute it as a column of one of them first, in a `with`"),
                    );
                }
            };
            self.bases.push(side.clone());
            let (attached, spread) = self.spread(condition, side.clone())?;
            let (attached, condition) = self.value(only_true(spread), attached)?;
            let (attached, condition) = self.values_below(condition, attached)?;
            self.bases.pop();
            *side = attached;
            on.push(condition);
        }
        only(joined(left, right, join.join_type, on)?, &schema)
    }

    /// A table that is computed for each row of the tables before it.
    fn lateral(&mut self, join: Join) -> Result<LogicalPlan> {
        let (subquery, alias) = classify::lateral(&join.right).unwrap_or_else(|| (join.right.as_ref().clone(), None));
        let refs = classify::outer_columns(&subquery)?;
        let mine = refs.iter().all(|column| join.left.schema().has_column(column));
        if refs.is_empty() || !classify::may_be_lateral(&join) {
            if !mine {
                return fail(
                    plan_error("not-supported", "this join cannot be lateral").help("use an inner or a left join"),
                );
            }
            return Ok(LogicalPlan::Join(join));
        }
        if mine && classify::is_lateral_of_rules(&subquery) {
            return Ok(LogicalPlan::Join(join));
        }
        let schema = Arc::clone(&join.schema);
        let left = Arc::unwrap_or_clone(join.left);
        let domain = self.domain(&left, &refs)?;
        let mut right = domain.over(self, subquery)?;
        if let Some(alias) = alias {
            right = LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(right), alias)?);
        }
        let mut on = domain.pairs(&right)?;
        on.extend(conditions(join.on, join.filter, join.null_equality));
        only(joined(left, right, join.join_type, on)?, &schema)
    }

    /// `x in (...)` as what it means: true where something equals, else null where something may.
    fn spread(&mut self, expr: Expr, mut input: LogicalPlan) -> Result<PlanWithColumn> {
        let done = expr.transform_up(|expr| {
            let (x, op, subquery, negated) = match expr {
                Expr::InSubquery(it) => (*it.expr, Operator::Eq, it.subquery, it.negated),
                Expr::SetComparison(it) => match (&it.quantifier, it.op.negate()) {
                    (SetQuantifier::Any, _) => (*it.expr, it.op, it.subquery, false),
                    // For all: for none the opposite.
                    (SetQuantifier::All, Some(op)) => (*it.expr, op, it.subquery, true),
                    (SetQuantifier::All, None) => return Ok(Transformed::no(Expr::SetComparison(it))),
                },
                other => return Ok(Transformed::no(other)),
            };
            let x = if classify::has_subquery(&x) {
                let (attached, x) = self.value(x, input.clone())?;
                let (attached, x) = self.values_below(x, attached)?;
                input = attached;
                x
            } else {
                x
            };
            let found = self.some(x, op, subquery, input.schema())?;
            Ok(Transformed::yes(if negated { not(found) } else { found }))
        })?;
        Ok((input, done.data))
    }

    /// Whether `x op y` for some row `y` of the subquery: true, else null where it is null for one, else false.
    fn some(&mut self, x: Expr, op: Operator, subquery: Subquery, schema: &DFSchema) -> Result<Expr> {
        let nullable = (x.nullable(schema)?, subquery.subquery.schema().field(0).is_nullable());
        let name = self.name("of");
        let rows = LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(subquery.subquery, name.as_str())?);
        let (table, field) = rows.schema().qualified_field(0);
        let y = Expr::Column(Column::new(table.cloned(), field.name()));
        let outer = classify::as_outer(x.clone(), schema)?;
        let with = |condition: Option<Expr>| -> Result<Expr> {
            let plan = LogicalPlanBuilder::from(rows.clone());
            let plan = condition.into_iter().try_fold(plan, LogicalPlanBuilder::filter)?.build()?;
            let outer_ref_columns = plan.all_out_ref_exprs();
            let subquery = Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Default::default() };
            Ok(Expr::Exists(Exists { subquery, negated: false }))
        };
        let found = with(Some(binary_expr(outer, op, y.clone())))?;
        let unknown_x = if nullable.0 { Some(x.is_null().and(with(None)?)) } else { None };
        let unknown_y = if nullable.1 { Some(with(Some(y.is_null()))?) } else { None };
        match unknown_x.into_iter().chain(unknown_y).reduce(Expr::or) {
            Some(unknown) => Ok(found.or(when(unknown, lit(ScalarValue::Boolean(None))).otherwise(lit(false))?)),
            None => Ok(found),
        }
    }

    /// An expression without subqueries, but for single values that DataFusion's rules find.
    fn value(&mut self, expr: Expr, mut input: LogicalPlan) -> Result<PlanWithColumn> {
        let done = expr.transform_up(|expr| {
            let (attached, value) = match expr {
                Expr::ScalarSubquery(it) if !classify::is_single_of_rules(&it.subquery, input.schema())? => {
                    self.single(it, input.clone())?
                }
                Expr::Exists(it) => {
                    let (plan, found) = self.exists(it.subquery, input.clone())?;
                    (plan, if it.negated { not(found) } else { found })
                }
                other => return Ok(Transformed::no(other)),
            };
            input = attached;
            Ok(Transformed::yes(value))
        })?;
        Ok((input, done.data))
    }

    fn exists(&mut self, subquery: Subquery, input: LogicalPlan) -> Result<PlanWithColumn> {
        let refs = classify::outer_columns(&subquery.subquery)?;
        if refs.is_empty() {
            let n = count(lit(1)).alias(self.name("rows"));
            let rows = LogicalPlanBuilder::new_from_arc(subquery.subquery).limit(0, Some(1))?;
            let rows = rows.aggregate(Vec::<Expr>::new(), vec![n])?.build()?;
            let rows = Subquery { subquery: Arc::new(rows), outer_ref_columns: Vec::new(), spans: Default::default() };
            return Ok((input, Expr::ScalarSubquery(rows).gt(lit(0_i64))));
        }
        self.partners(subquery, input, JoinType::LeftMark)
    }

    /// The rows with whether a subquery has some for them, or those for which it has some, or none.
    fn partners(&mut self, subquery: Subquery, input: LogicalPlan, kind: JoinType) -> Result<PlanWithColumn> {
        let mark = self.name("mark");
        let (rows, on) = match classify::pulled_up(&subquery.subquery, input.schema())? {
            Some((rows, conditions)) => {
                let inner = classify::inner_columns(&conditions, rows.schema());
                let columns =
                    inner.iter().enumerate().map(|(i, column)| Expr::Column(column.clone()).alias(format!("c{i}")));
                let columns: Vec<Expr> = columns.chain(inner.is_empty().then(|| lit(true).alias("c0"))).collect();
                let rows = LogicalPlanBuilder::from(rows).project(columns)?.alias(mark.as_str())?.build()?;
                let on = conditions.into_iter().map(|condition| {
                    classify::as_joined(condition, |column| {
                        let at = inner.iter().position(|other| other == column)?;
                        Some(Column::new(Some(mark.as_str()), format!("c{at}")))
                    })
                });
                (rows, on.collect::<Result<Vec<Expr>>>()?)
            }
            None => {
                let refs = classify::outer_columns(&subquery.subquery)?;
                let domain = self.domain(&input, &refs)?;
                let rows = domain.over(self, Arc::unwrap_or_clone(subquery.subquery))?;
                let columns = domain.columns(&rows)?;
                let columns = if columns.is_empty() { vec![lit(true).alias("c0")] } else { columns };
                let rows = LogicalPlanBuilder::from(rows).project(columns)?.alias(mark.as_str())?.build()?;
                let pairs = domain.pairs(&rows)?;
                (rows, pairs)
            }
        };
        Ok((joined(input, rows, kind, on)?, Expr::Column(Column::new(Some(mark), "mark"))))
    }

    /// The one value that a subquery has for each row.
    fn single(&mut self, subquery: Subquery, input: LogicalPlan) -> Result<PlanWithColumn> {
        let fields = subquery.subquery.schema().fields();
        if fields.len() != 1 {
            let found = fields.len();
            return fail(plan_error(
                "subquery-columns",
                format!("a subquery as a value has {found} columns, expected one"),
            ));
        }
        let refs = classify::outer_columns(&subquery.subquery)?;
        let is_one = classify::has_one_row_at_most(&subquery.subquery)?;
        let domain = self.domain(&input, &refs)?;
        let mut rows = domain.over(self, Arc::unwrap_or_clone(subquery.subquery))?;
        let (alias, dtype) = (self.name("single"), rows.schema().field(0).data_type().clone());
        let value = |plan: &LogicalPlan| Expr::Column(Column::from(plan.schema().qualified_field(0)));
        let keys = domain.columns(&rows)?;
        if is_one {
            let columns = std::iter::once(value(&rows).alias("value")).chain(keys);
            rows = LogicalPlanBuilder::from(rows).project(columns)?.build()?;
        } else {
            let values = vec![first_value(value(&rows), Vec::new()).alias("value"), count(lit(1)).alias("rows")];
            rows = LogicalPlanBuilder::from(rows).aggregate(keys, values)?.build()?;
            let only = kernel("single_value", dtype, |args| single_value(&args[0], &args[1]));
            let column = |name: &str| Expr::Column(Column::from_name(name));
            let value = only.call(vec![column("value"), column("rows")]).alias("value");
            let columns = domain.columns(&rows)?;
            rows = LogicalPlanBuilder::from(rows).project(std::iter::once(value).chain(columns))?.build()?;
        }
        let rows = LogicalPlanBuilder::from(rows).alias(alias.as_str())?.build()?;
        let on = domain.pairs(&rows)?;
        Ok((joined(input, rows, JoinType::Left, on)?, Expr::Column(Column::new(Some(alias), "value"))))
    }

    /// Takes the rows before other subqueries were joined to them, if they have the columns. Plans would double with
    /// each subquery.
    fn domain(&mut self, input: &LogicalPlan, refs: &[Column]) -> Result<Domain> {
        let mine = refs.iter().filter(|column| input.schema().has_column(column)).cloned();
        let unique: HashSet<Column> = mine.collect();
        let mut columns: Vec<Column> = unique.into_iter().collect();
        columns.sort();
        let name = self.name("domain");
        let has_all = |base: &&LogicalPlan| columns.iter().all(|column| base.schema().has_column(column));
        let base = self.bases.last().filter(has_all).unwrap_or(input);
        Domain::of(base, columns, &name)
    }
}

/// The sorted input, with the columns that subqueries of the order take and that the query does not select.
fn with_columns_of_keys(sort: &LogicalPlan, input: LogicalPlan) -> Result<LogicalPlan> {
    let mut columns = Vec::new();
    sort.apply_expressions(|expr| {
        classify::columns(expr, &mut columns)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    columns.retain(|column| !input.schema().has_column(column));
    match input {
        LogicalPlan::Projection(mut projection)
            if !columns.is_empty() && columns.iter().all(|column| projection.input.schema().has_column(column)) =>
        {
            for column in columns.into_iter().map(Expr::Column) {
                if !projection.expr.contains(&column) {
                    projection.expr.push(column);
                }
            }
            LogicalPlanBuilder::new_from_arc(projection.input).project(projection.expr)?.build()
        }
        input => Ok(input),
    }
}

/// The value of a subquery's only row.
fn single_value(values: &ArrayRef, rows: &ArrayRef) -> Result<ArrayRef> {
    let most = rows.as_primitive::<Int64Type>().iter().flatten().max().unwrap_or(0);
    if most > 1 {
        return fail(
            plan_error("subquery-rows", format!("a subquery as a value has {most} rows for one row, expected one"))
                .help("add `limit 1`, or take `max(...)` or another aggregate of them"),
        );
    }
    Ok(Arc::clone(values))
}

/// Whether there is a row does not depend on their order, nor on how many they may be at most.
fn without_order(subquery: Subquery) -> Result<Subquery> {
    let mut plan = subquery.subquery;
    loop {
        plan = match plan.as_ref() {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => Arc::clone(&sort.input),
            LogicalPlan::Limit(limit) if domain::bounds(limit)?.is_some_and(|(skip, n)| skip == 0 && n != Some(0)) => {
                Arc::clone(&limit.input)
            }
            _ => return Ok(Subquery { subquery: plan, ..subquery }),
        };
    }
}

/// `= any` is `in`, `<> all` is `not in`.
fn compared(it: SetComparison) -> Expr {
    match (&it.quantifier, it.op) {
        (SetQuantifier::Any, Operator::Eq) => Expr::InSubquery(InSubquery::new(it.expr, it.subquery, false)),
        (SetQuantifier::All, Operator::NotEq) => Expr::InSubquery(InSubquery::new(it.expr, it.subquery, true)),
        _ => Expr::SetComparison(it),
    }
}

/// A condition of which it only matters where it is true: what is at most null is left out.
fn only_true(expr: Expr) -> Expr {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let (left, right) = (only_true(*left), only_true(*right));
            match op {
                Operator::Or if is_never_true(&left) => right,
                Operator::Or if is_never_true(&right) => left,
                _ => binary_expr(left, op, right),
            }
        }
        other => other,
    }
}

fn is_never_true(expr: &Expr) -> bool {
    let never = |expr: &Expr| matches!(expr, Expr::Literal(ScalarValue::Boolean(None | Some(false)), _));
    match expr {
        Expr::Case(Case { expr: None, when_then_expr, else_expr }) => {
            when_then_expr.iter().all(|(_, then)| never(then)) && else_expr.as_deref().is_none_or(never)
        }
        expr => never(expr),
    }
}

/// The condition of a join as one expression.
fn conditions(on: Vec<(Expr, Expr)>, filter: Option<Expr>, null_equality: NullEquality) -> Vec<Expr> {
    let pairs = on.into_iter().map(|(left, right)| match null_equality {
        NullEquality::NullEqualsNothing => left.eq(right),
        NullEquality::NullEqualsNull => same(left, right),
    });
    pairs.chain(filter.into_iter().flat_map(split_conjunction_owned)).collect()
}

/// A join on any conditions, and on none.
fn joined(left: LogicalPlan, right: LogicalPlan, kind: JoinType, mut on: Vec<Expr>) -> Result<LogicalPlan> {
    if on.is_empty() {
        on.push(lit(true));
    }
    LogicalPlanBuilder::from(left).join_on(right, kind, on)?.build()
}

/// Two values that are equal, or both null.
fn same(left: Expr, right: Expr) -> Expr {
    binary_expr(left, Operator::IsNotDistinctFrom, right)
}

/// A plan with the columns that another had, where it has more.
fn only(plan: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan> {
    if plan.schema().fields().len() == schema.fields().len() {
        return Ok(plan);
    }
    LogicalPlanBuilder::from(plan).project(schema.columns().into_iter().map(Expr::Column))?.build()
}
