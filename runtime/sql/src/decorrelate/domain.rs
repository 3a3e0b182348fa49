//! A subquery for all the values that it takes from the query around it, at once.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result;
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::{AggregateFunction, Sort as Key};
use datafusion::logical_expr::{
    Aggregate, Distinct, DistinctOn, Expr, ExprFunctionExt, ExprSchemable, FetchType, GroupingSet, Join, JoinType,
    Limit, LogicalPlan, LogicalPlanBuilder, SkipType, SubqueryAlias, Volatility, lit,
};

use super::{Unnesting, classify, conditions, fail, joined, plan_error, same};

/// The distinct values of some columns of a query, under names that nothing else has.
pub struct Domain {
    plan: LogicalPlan,
    /// The columns, and what they are called in plans over the domain.
    columns: Vec<(Column, String)>,
}

impl Domain {
    pub fn of(input: &LogicalPlan, columns: Vec<Column>, name: &str) -> Result<Self> {
        if is_volatile(input)? {
            return fail(
                plan_error(
                    "not-supported",
                    "a subquery cannot use columns of rows that are random: it would find others",
                )
                .help("make a frame of these rows first, with `sql(...)` and `persist()`, and query that"),
            );
        }
        let columns: Vec<(Column, String)> =
            columns.into_iter().enumerate().map(|(at, column)| (column, format!("{name}_{at}"))).collect();
        let exprs: Vec<Expr> = columns.iter().map(|(column, name)| Expr::Column(column.clone()).alias(name)).collect();
        let plan = LogicalPlanBuilder::from(input.clone()).project(exprs)?.distinct()?.build()?;
        Ok(Domain { plan, columns })
    }

    /// Its columns in the rows of a plan over it.
    pub fn columns(&self, plan: &LogicalPlan) -> Result<Vec<Expr>> {
        self.columns.iter().map(|(_, name)| find(plan.schema(), name)).collect()
    }

    /// The keys that join the rows of a plan over it to those of the query around it.
    pub fn pairs(&self, plan: &LogicalPlan) -> Result<Vec<Expr>> {
        self.columns
            .iter()
            .map(|(column, name)| Ok(same(Expr::Column(column.clone()), find(plan.schema(), name)?)))
            .collect()
    }

    /// The rows of a subquery, with the domain values of each row after its columns.
    pub fn over(&self, names: &mut Unnesting, plan: LogicalPlan) -> Result<LogicalPlan> {
        if self.columns.is_empty() {
            return Ok(plan);
        }
        let schema = Arc::clone(plan.schema());
        let over = self.node(names, plan)?;
        // The subquery's columns under the names that they had.
        let own = over.schema().iter().zip(schema.iter()).take(schema.fields().len());
        let mut changed = over.schema().fields().len() != schema.fields().len() + self.columns.len();
        let mut exprs: Vec<Expr> = Vec::new();
        for ((table, field), (wanted_table, wanted)) in own {
            let is_named = table == wanted_table && field.name() == wanted.name();
            let column = Expr::Column(Column::new(table.cloned(), field.name()));
            changed |= !is_named;
            exprs.push(if is_named { column } else { column.alias_qualified(wanted_table.cloned(), wanted.name()) });
        }
        if !changed {
            return Ok(over);
        }
        exprs.extend(self.columns(&over)?);
        LogicalPlanBuilder::from(over).project(exprs)?.build()
    }

    fn takes(&self, plan: &LogicalPlan) -> Result<bool> {
        Ok(classify::outer_columns(plan)?.iter().any(|column| self.has(column)))
    }

    fn has(&self, column: &Column) -> bool {
        self.columns.iter().any(|(other, _)| other == column)
    }

    /// The outer references of an expression as columns of `schema`, under the name that it had.
    fn read(&self, expr: Expr, schema: &DFSchema) -> Result<Expr> {
        let done = expr.transform_up(|expr| match expr {
            Expr::OuterReferenceColumn(_, column) if self.has(&column) => {
                let at = self.columns.iter().position(|(other, _)| *other == column);
                let name = at.map(|at| self.columns[at].1.as_str()).unwrap_or_default();
                Ok(Transformed::yes(find(schema, name)?))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(done.data)
    }

    /// The same for expressions that others know by their names: from field `at` of `named` on.
    fn read_named(&self, exprs: Vec<Expr>, schema: &DFSchema, named: &DFSchema, at: usize) -> Result<Vec<Expr>> {
        let read = |(index, expr): (usize, Expr)| {
            let new = self.read(expr.clone(), schema)?;
            let (table, field) = named.qualified_field(at + index);
            Ok(if new == expr { expr } else { new.unalias().alias_qualified(table.cloned(), field.name()) })
        };
        exprs.into_iter().enumerate().map(read).collect()
    }

    fn node(&self, names: &mut Unnesting, plan: LogicalPlan) -> Result<LogicalPlan> {
        if !self.takes(&plan)? {
            return match plan {
                LogicalPlan::EmptyRelation(rows) if rows.produce_one_row && rows.schema.fields().is_empty() => {
                    Ok(self.plan.clone())
                }
                plan => LogicalPlanBuilder::from(plan).cross_join(self.plan.clone())?.build(),
            };
        }
        let schema = Arc::clone(plan.schema());
        match plan {
            LogicalPlan::Projection(projection) => {
                let input = self.over(names, Arc::unwrap_or_clone(projection.input))?;
                let mut exprs = self.read_named(projection.expr, input.schema(), &schema, 0)?;
                exprs.extend(self.columns(&input)?);
                LogicalPlanBuilder::from(input).project(exprs)?.build()
            }
            LogicalPlan::Filter(filter) => {
                let input = self.over(names, Arc::unwrap_or_clone(filter.input))?;
                let condition = self.read(filter.predicate, input.schema())?;
                LogicalPlanBuilder::from(input).filter(condition)?.build()
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let input = self.over(names, Arc::unwrap_or_clone(alias.input))?;
                SubqueryAlias::try_new(Arc::new(input), alias.alias).map(LogicalPlan::SubqueryAlias)
            }
            LogicalPlan::Subquery(subquery) => self.over(names, Arc::unwrap_or_clone(subquery.subquery)),
            LogicalPlan::Aggregate(group) => self.aggregate(names, group),
            LogicalPlan::Join(join) => self.join(names, join),
            LogicalPlan::Limit(limit) => self.limit(names, &limit, Arc::unwrap_or_clone(Arc::clone(&limit.input))),
            // Rows that are joined have no order.
            LogicalPlan::Sort(sort) => match sort.fetch {
                None => self.over(names, Arc::unwrap_or_clone(sort.input)),
                Some(rows) => self.first(names, Arc::unwrap_or_clone(sort.input), sort.expr, 0, Some(rows)),
            },
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let input = self.over(names, Arc::unwrap_or_clone(input))?;
                LogicalPlanBuilder::from(input).distinct()?.build()
            }
            LogicalPlan::Distinct(Distinct::On(rows)) => {
                let input = self.over(names, Arc::unwrap_or_clone(rows.input))?;
                let columns = self.columns(&input)?;
                let read = |exprs: Vec<Expr>| exprs.into_iter().map(|expr| self.read(expr, input.schema()));
                let on = columns.iter().cloned().map(Ok).chain(read(rows.on_expr)).collect::<Result<Vec<Expr>>>()?;
                let mut select = self.read_named(rows.select_expr, input.schema(), &schema, 0)?;
                select.extend(columns.iter().cloned());
                let keys = |keys: Vec<Key>| {
                    let first = columns.iter().cloned().map(|column| Ok(column.sort(true, false)));
                    first.chain(keys.into_iter().map(|key| self.key(key, input.schema()))).collect::<Result<Vec<Key>>>()
                };
                let keys = rows.sort_expr.map(keys).transpose()?;
                let rows = DistinctOn::try_new(on, select, keys, Arc::new(input.clone()))?;
                Ok(LogicalPlan::Distinct(Distinct::On(rows)))
            }
            LogicalPlan::Union(union) => {
                let mut parts = union.inputs.into_iter().map(|part| self.over(names, Arc::unwrap_or_clone(part)));
                let first = parts.next().unwrap_or_else(|| unreachable!("a union has inputs"))?;
                let all = parts.try_fold(LogicalPlanBuilder::from(first), |all, part| all.union(part?))?;
                all.build()
            }
            LogicalPlan::Window(window) => {
                let before = window.input.schema().fields().len();
                let input = self.over(names, Arc::unwrap_or_clone(window.input))?;
                let columns = self.columns(&input)?;
                let parted = window.window_expr.into_iter().map(|expr| {
                    expr.transform_down(|expr| match expr {
                        Expr::WindowFunction(mut call) => {
                            call.params.partition_by.extend(columns.iter().cloned());
                            Ok(Transformed::yes(Expr::WindowFunction(call)))
                        }
                        other => Ok(Transformed::no(other)),
                    })
                });
                let parted = parted.map(|done| done.map(|done| done.data)).collect::<Result<Vec<Expr>>>()?;
                let read = parted.into_iter().enumerate().map(|(index, expr)| {
                    let (table, field) = schema.qualified_field(before + index);
                    let expr = self.read(expr, input.schema())?.unalias();
                    Ok(expr.alias_qualified(table.cloned(), field.name()))
                });
                let exprs = read.collect::<Result<Vec<Expr>>>()?;
                let plan = LogicalPlanBuilder::from(input).window(exprs)?.build()?;
                self.in_order(plan, &schema)
            }
            plan @ (LogicalPlan::Unnest(_) | LogicalPlan::Extension(_)) if plan.inputs().len() == 1 => {
                let input = self.over(names, plan.inputs()[0].clone())?;
                let exprs = plan.expressions().into_iter().map(|expr| self.read(expr, input.schema()));
                let exprs = exprs.collect::<Result<Vec<Expr>>>()?;
                self.in_order(plan.with_new_exprs(exprs, vec![input])?, &schema)
            }
            other => {
                let what = other.display().to_string();
                fail(
                    plan_error("not-supported", "a subquery cannot use columns of the query around it here")
                        .note(format!("in {what}"))
                        .help("join the tables, and compute it from the rows of the join"),
                )
            }
        }
    }

    /// Columns of `schema` first, then the domain's.
    fn in_order(&self, plan: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan> {
        let own = schema.columns().into_iter().map(Expr::Column);
        let exprs: Vec<Expr> = own.chain(self.columns(&plan)?).collect();
        LogicalPlanBuilder::from(plan).project(exprs)?.build()
    }

    fn key(&self, key: Key, schema: &DFSchema) -> Result<Key> {
        Ok(Key { expr: self.read(key.expr, schema)?, ..key })
    }

    fn aggregate(&self, names: &mut Unnesting, group: Aggregate) -> Result<LogicalPlan> {
        let schema = Arc::clone(&group.schema);
        let input = self.over(names, Arc::unwrap_or_clone(group.input))?;
        let columns = self.columns(&input)?;
        let (keys, values) = (group.group_expr, group.aggr_expr);
        if let [Expr::GroupingSet(sets)] = keys.as_slice() {
            // A group of all rows is a row of the result where there are none, too.
            let listed = match sets {
                GroupingSet::GroupingSets(sets) if sets.iter().all(|set| !set.is_empty()) => Some(sets),
                _ => None,
            };
            let Some(sets) = listed else {
                return fail(
                    plan_error(
                        "not-supported",
                        "`rollup`, `cube` and groups of all rows in a subquery that uses columns around it",
                    )
                    .help("list the other groups with `grouping sets`, or join the tables first"),
                );
            };
            let with = |set: &Vec<Expr>| columns.iter().cloned().chain(set.iter().cloned()).collect();
            let sets = Expr::GroupingSet(GroupingSet::GroupingSets(sets.iter().map(with).collect()));
            let plan = LogicalPlanBuilder::from(input).aggregate(vec![sets], values)?.build()?;
            return self.in_order(plan, &schema);
        }
        let alone = keys.is_empty();
        let before = keys.len();
        let mut all = self.read_named(keys, input.schema(), &schema, 0)?;
        all.extend(columns);
        let values = self.read_named(values, input.schema(), &schema, before)?;
        let plan = LogicalPlanBuilder::from(input.clone()).aggregate(all, values.clone())?.build()?;
        if !alone {
            return self.in_order(plan, &schema);
        }
        // A group without rows is a row all the same.
        let name = names.name("groups");
        let groups = LogicalPlanBuilder::from(plan).alias(name.as_str())?.build()?;
        let values_of = names.name("of");
        let all = LogicalPlanBuilder::from(self.plan.clone()).alias(values_of.as_str())?.build()?;
        let on = self.columns.iter().map(|(_, name)| Ok(same(find(all.schema(), name)?, find(groups.schema(), name)?)));
        let on = on.collect::<Result<Vec<Expr>>>()?;
        let own = schema.iter().map(|(table, field)| {
            let value = find(groups.schema(), field.name())?;
            let nothing = values.iter().find_map(|value| of_nothing(value, field.name(), input.schema()));
            let value = match nothing {
                Some(nothing) => coalesce(vec![value, nothing]),
                None => value,
            };
            Ok(value.alias_qualified(table.cloned(), field.name()))
        });
        let mut exprs = own.collect::<Result<Vec<Expr>>>()?;
        for (_, name) in &self.columns {
            exprs.push(find(all.schema(), name)?.alias(name));
        }
        let plan = LogicalPlanBuilder::from(all).join_on(groups, JoinType::Left, on)?;
        plan.project(exprs)?.build()
    }

    fn join(&self, names: &mut Unnesting, join: Join) -> Result<LogicalPlan> {
        let schema = Arc::clone(&join.schema);
        let conditions = conditions(join.on, join.filter, join.null_equality);
        let (left, right) = (Arc::unwrap_or_clone(join.left), Arc::unwrap_or_clone(join.right));
        let (takes_left, takes_right) = (self.takes(&left)?, self.takes(&right)?);
        let (on_left, on_right) = match join.join_type {
            JoinType::Inner => (takes_left || !takes_right, takes_right),
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => (true, takes_right),
            JoinType::Right => (takes_left, true),
            JoinType::Full => (true, true),
            _ => return fail(plan_error("not-supported", "this join in a subquery that uses columns around it")),
        };
        let left = if on_left { self.over(names, left)? } else { left };
        let mut right = if on_right { self.over(names, right)? } else { right };
        let mut on = Vec::new();
        let mut theirs = Vec::new();
        if on_left && on_right {
            // Under other names on one side.
            let suffix = names.name("side");
            let own = right.schema().columns().into_iter().map(|column| {
                let is_domain = self.columns.iter().any(|(_, name)| *name == column.name);
                let (table, name) = (column.relation.clone(), column.name.clone());
                let expr = Expr::Column(column);
                if is_domain { expr.alias_qualified(table, format!("{name}{suffix}")) } else { expr }
            });
            let own: Vec<Expr> = own.collect();
            right = LogicalPlanBuilder::from(right).project(own)?.build()?;
            for (_, name) in &self.columns {
                let other = find(right.schema(), &format!("{name}{suffix}"))?;
                on.push(same(find(left.schema(), name)?, other.clone()));
                theirs.push(other);
            }
        }
        let both = left.schema().join(right.schema())?;
        for condition in conditions {
            on.push(self.read(condition, &both)?);
        }
        let mine = if on_left { self.columns(&left)? } else { self.columns(&right)? };
        let plan = joined(left, right, join.join_type, on)?;
        let own = schema.columns().into_iter().map(Expr::Column);
        let outer = match join.join_type {
            JoinType::Full => mine.into_iter().zip(theirs).map(|(a, b)| coalesce(vec![a, b])).collect(),
            JoinType::Right if on_left => theirs,
            _ => mine,
        };
        let outer = outer.into_iter().zip(&self.columns).map(|(expr, (_, name))| match &expr {
            Expr::Column(column) if column.name == *name => expr,
            _ => expr.alias(name),
        });
        let exprs: Vec<Expr> = own.chain(outer).collect();
        LogicalPlanBuilder::from(plan).project(exprs)?.build()
    }

    /// The first rows for each value. Projections and names above the order do not change which these are.
    fn limit(&self, names: &mut Unnesting, limit: &Limit, input: LogicalPlan) -> Result<LogicalPlan> {
        let Some((skip, rows)) = bounds(limit)? else {
            return fail(plan_error(
                "not-supported",
                "a limit in a subquery that uses columns around it is not a number",
            ));
        };
        match input {
            LogicalPlan::Projection(projection) => {
                let schema = Arc::clone(&projection.schema);
                let input = self.limit(names, limit, Arc::unwrap_or_clone(projection.input))?;
                let mut exprs = self.read_named(projection.expr, input.schema(), &schema, 0)?;
                exprs.extend(self.columns(&input)?);
                LogicalPlanBuilder::from(input).project(exprs)?.build()
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let input = self.limit(names, limit, Arc::unwrap_or_clone(alias.input))?;
                SubqueryAlias::try_new(Arc::new(input), alias.alias).map(LogicalPlan::SubqueryAlias)
            }
            LogicalPlan::Sort(sort) => self.first(names, Arc::unwrap_or_clone(sort.input), sort.expr, skip, rows),
            other => self.first(names, other, Vec::new(), skip, rows),
        }
    }

    fn first(
        &self,
        names: &mut Unnesting,
        input: LogicalPlan,
        keys: Vec<Key>,
        skip: usize,
        rows: Option<usize>,
    ) -> Result<LogicalPlan> {
        let schema = Arc::clone(input.schema());
        let input = self.over(names, input)?;
        let keys = keys.into_iter().map(|key| self.key(key, input.schema())).collect::<Result<Vec<Key>>>()?;
        let name = names.name("nth");
        let number = row_number().partition_by(self.columns(&input)?);
        let number = if keys.is_empty() { number } else { number.order_by(keys) }.build()?.alias(&name);
        let nth = || Expr::Column(Column::from_name(&name));
        let after = (skip > 0).then(|| nth().gt(lit(skip as u64)));
        let until = rows.map(|rows| nth().lt_eq(lit((skip.saturating_add(rows)) as u64)));
        let plan = LogicalPlanBuilder::from(input).window(vec![number])?;
        let plan = after.into_iter().chain(until).try_fold(plan, LogicalPlanBuilder::filter)?.build()?;
        self.in_order(plan, &schema)
    }
}

/// Whether a plan gives other rows each time that it runs.
fn is_volatile(plan: &LogicalPlan) -> Result<bool> {
    let calls = |expr: &Expr| {
        Ok(matches!(expr, Expr::ScalarFunction(call) if call.func.signature().volatility == Volatility::Volatile))
    };
    plan.exists(|node| {
        let mut found = false;
        node.apply_expressions(|expr| {
            found |= expr.exists(calls)?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(found)
    })
}

/// Rows that are left out, and those that may follow.
pub fn bounds(limit: &Limit) -> Result<Option<(usize, Option<usize>)>> {
    Ok(match (limit.get_skip_type()?, limit.get_fetch_type()?) {
        (SkipType::Literal(skip), FetchType::Literal(rows)) => Some((skip, rows)),
        _ => None,
    })
}

fn find(schema: &DFSchema, name: &str) -> Result<Expr> {
    let field = schema.iter().find(|(_, field)| field.name() == name);
    match field {
        Some(field) => Ok(Expr::Column(Column::from(field))),
        None => datafusion::common::internal_err!("there is no column {name} in {schema}"),
    }
}

/// The value of an aggregate called `name` over no rows, if it is not null.
fn of_nothing(value: &Expr, name: &str, schema: &DFSchema) -> Option<Expr> {
    if value.schema_name().to_string() != name {
        return None;
    }
    let Expr::AggregateFunction(AggregateFunction { func, .. }) = value.clone().unalias_nested().data else {
        return None;
    };
    let dtype = value.get_type(schema).ok()?;
    let nothing = func.default_value(&dtype).ok()?;
    (!nothing.is_null()).then(|| lit(nothing))
}
