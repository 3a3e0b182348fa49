//! The order of inner joins in a query: greedy operator ordering (Fegaras, DEXA 1998). The two inputs whose join has
//! the fewest rows are joined first, then the next two, where a join is an input, too.
//!
//! Rows of a join are estimated as `|L| * |R| / max(distinct values of the keys)`. A key has at most as many values as
//! its table has rows, and as there are integers in its range.

use std::any::Any;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinConstraint, NullEquality};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, Join, JoinType, LogicalPlan, Projection};
use onrush_logical::mem_table::HeldTable;

use crate::sides::{may_swap, rows};

/// Another order must promise this part of the rows that joins give, or the written one stays.
const MOST_REMAINING_SHARE: f64 = 0.98;

/// A plan whose inner joins come in an order with few rows between them, and whether it has changed.
pub fn chosen(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_down_with_subqueries(|node| {
        if !is_inner(&node) {
            return Ok(Transformed::no(node));
        }
        let mut tree = Tree::default();
        tree.take(&node);
        match tree.ordered(&node)? {
            Some(new) => Ok(Transformed::yes(new)),
            None => Ok(Transformed::no(node)),
        }
    })
}

fn is_inner(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Join(join) = plan else { return false };
    join.join_type == JoinType::Inner
        && join.null_equality == NullEquality::NullEqualsNothing
        && may_swap(join)
        && join.on.iter().all(|(left, right)| matches!((left, right), (Expr::Column(_), Expr::Column(_))))
}

/// The inputs of joins that follow each other, and what they have in common.
#[derive(Default)]
struct Tree {
    inputs: Vec<LogicalPlan>,
    pairs: Vec<(Column, Column)>,
    filters: Vec<Expr>,
    /// Rows that the joins give, about, as they are written.
    written: f64,
    unknown: bool,
}

/// A projection that only leaves columns out.
fn narrows(projection: &Projection) -> bool {
    projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_)))
}

/// Some of the inputs, joined.
struct JoinedInputs {
    plan: LogicalPlan,
    rows: f64,
}

impl Tree {
    /// Takes a join apart; returns its rows.
    fn take(&mut self, plan: &LogicalPlan) -> f64 {
        match plan {
            LogicalPlan::Join(join) if is_inner(plan) => {
                let (left, right) = (self.take(&join.left), self.take(&join.right));
                let mut pairs = Vec::new();
                for pair in &join.on {
                    if let (Expr::Column(left), Expr::Column(right)) = pair {
                        pairs.push((left.clone(), right.clone()));
                    }
                }
                let rows = self.rows(left, right, &pairs);
                self.pairs.extend(pairs);
                self.filters.extend(join.filter.iter().cloned().flat_map(split_conjunction_owned));
                self.written += rows;
                rows
            }
            LogicalPlan::Projection(projection) if narrows(projection) && is_inner(&projection.input) => {
                self.take(&projection.input)
            }
            plan => {
                let known = rows(plan);
                self.unknown |= known.is_none();
                self.inputs.push(plan.clone());
                known.unwrap_or(1.0).max(1.0)
            }
        }
    }

    /// Rows of a join by these pairs of columns.
    fn rows(&self, left: f64, right: f64, pairs: &[(Column, Column)]) -> f64 {
        let (mut values, mut most) = (1.0, f64::INFINITY);
        for (a, b) in pairs {
            let (a, b) = (self.key(a), self.key(b));
            values *= a.values.max(b.values);
            most = most.min(a.rows.max(b.rows));
        }
        (left * right / values.min(most)).max(1.0)
    }

    fn key(&self, column: &Column) -> Key {
        let of = self.inputs.iter().find(|input| input.schema().has_column(column));
        of.and_then(|input| key(input, column)).unwrap_or(Key { values: 1.0, rows: 1.0 })
    }

    fn between(&self, a: &JoinedInputs, b: &JoinedInputs) -> Vec<(Column, Column)> {
        let mut pairs = Vec::new();
        for (left, right) in &self.pairs {
            let (a, b) = (a.plan.schema(), b.plan.schema());
            if a.has_column(left) && b.has_column(right) {
                pairs.push((left.clone(), right.clone()));
            } else if a.has_column(right) && b.has_column(left) {
                pairs.push((right.clone(), left.clone()));
            }
        }
        pairs
    }

    /// The joins in another order, if that is better.
    fn ordered(&self, plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
        if self.unknown || self.filters.iter().any(Expr::is_volatile) || self.inputs.len() < 3 || self.is_ambiguous() {
            return Ok(None);
        }
        let joined = |plan: &LogicalPlan| JoinedInputs { rows: rows(plan).unwrap_or(1.0).max(1.0), plan: plan.clone() };
        let mut parts: Vec<JoinedInputs> = self.inputs.iter().map(joined).collect();
        let mut filters = self.filters.clone();
        let mut cost = 0.0;
        while parts.len() > 1 {
            let mut best: Option<(f64, usize, usize)> = None;
            for a in 0..parts.len() {
                for b in a + 1..parts.len() {
                    let pairs = self.between(&parts[a], &parts[b]);
                    if pairs.is_empty() {
                        continue;
                    }
                    let rows = self.rows(parts[a].rows, parts[b].rows, &pairs);
                    if best.is_none_or(|(least, ..)| rows < least) {
                        best = Some((rows, a, b));
                    }
                }
            }
            // A product of inputs stays as it is written.
            let Some((rows, a, b)) = best else { return Ok(None) };
            let (b, a) = (parts.remove(b), parts.remove(a));
            let pairs = self.between(&a, &b);
            // Without estimates of filters: the side with fewer rows is hashed later, by `sides.rs`.
            let on = pairs.into_iter().map(|(a, b)| (Expr::Column(a), Expr::Column(b))).collect();
            let join = Join::try_new(
                a.plan.into(),
                b.plan.into(),
                on,
                None,
                JoinType::Inner,
                JoinConstraint::On,
                NullEquality::NullEqualsNothing,
                false,
            )?;
            let mut plan = LogicalPlan::Join(join);
            let within = |filter: &Expr| filter.column_refs().iter().all(|column| plan.schema().has_column(column));
            let (now, later): (Vec<Expr>, Vec<Expr>) = filters.into_iter().partition(within);
            filters = later;
            if let Some(filter) = conjunction(now) {
                plan = LogicalPlan::Filter(Filter::try_new(filter, plan.into())?);
            }
            cost += rows;
            parts.push(JoinedInputs { plan, rows });
        }
        let Some(whole) = parts.pop().filter(|_| filters.is_empty() && cost < MOST_REMAINING_SHARE * self.written)
        else {
            return Ok(None);
        };
        let columns = plan.schema().columns().into_iter().map(Expr::Column).collect();
        Ok(Some(LogicalPlan::Projection(Projection::try_new(columns, whole.plan.into())?)))
    }

    /// Whether a column could be that of two inputs.
    fn is_ambiguous(&self) -> bool {
        let mut seen = std::collections::HashSet::new();
        self.inputs.iter().flat_map(|input| input.schema().columns()).any(|column| !seen.insert(column))
    }
}

/// Values of a key, at most, and the rows of its table.
#[derive(Clone, Copy)]
struct Key {
    values: f64,
    rows: f64,
}

/// The key of an input, from the table that it comes from.
fn key(plan: &LogicalPlan, column: &Column) -> Option<Key> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let provider = source_as_provider(&scan.source).ok()?;
            let any: &dyn Any = provider.as_ref();
            let table = &any.downcast_ref::<HeldTable>()?.0;
            let rows = (table.rows() as f64).max(1.0);
            let place = table.schema().index_of(&column.name).ok()?;
            let range = table.range(place).map(|(least, most)| most as f64 - least as f64 + 1.0);
            Some(Key { values: range.map_or(rows, |range| range.min(rows)), rows })
        }
        LogicalPlan::Filter(filter) => key(&filter.input, column),
        LogicalPlan::SubqueryAlias(alias) => {
            let place = alias.schema.maybe_index_of_column(column)?;
            key(&alias.input, alias.input.schema().columns().get(place)?)
        }
        LogicalPlan::Projection(projection) => {
            let place = projection.schema.maybe_index_of_column(column)?;
            match projection.expr.get(place)? {
                Expr::Column(column) => key(&projection.input, column),
                Expr::Alias(alias) => match alias.expr.as_ref() {
                    Expr::Column(column) => key(&projection.input, column),
                    _ => whole(plan),
                },
                _ => whole(plan),
            }
        }
        plan => whole(plan),
    }
}

fn whole(plan: &LogicalPlan) -> Option<Key> {
    let rows = rows(plan)?.max(1.0);
    Some(Key { values: rows, rows })
}
