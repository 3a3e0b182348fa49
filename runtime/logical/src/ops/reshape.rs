//! Steps that put frames together or turn columns into rows.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{ScalarValue, UnnestOptions};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder, Union, cast};
use onrush_expr::diagnostics::{self, HIDDEN, type_name};
use onrush_expr::error::diagnose;
use onrush_expr::type_coercion;
use onrush_expr::{column, lit, null, number_rows};
use onrush_wire::plan::ConcatHow;
use onrush_wire::{Diagnostic, Span};

use super::{build, distinct_names, keep, names, project_exprs};

fn dtype(plan: &LogicalPlan, name: &str) -> Option<DataType> {
    plan.schema().as_arrow().field_with_name(name).ok().map(|f| f.data_type().clone())
}

pub fn concat(plans: Vec<LogicalPlan>, how: ConcatHow, at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let Some(first) = plans.first() else {
        return Err(diagnostics::plan_error("argument", "`concat` needs at least one frame"));
    };
    if how == ConcatHow::Horizontal {
        return beside(plans, at);
    }
    let mut columns = names(first);
    for (index, plan) in plans.iter().enumerate().skip(1) {
        let these = names(plan);
        if how == ConcatHow::Diagonal {
            columns.extend(these.into_iter().filter(|n| !columns.contains(n)).collect::<Vec<_>>());
            continue;
        }
        let missing = columns.iter().find(|n| !these.contains(n));
        let extra = these.iter().find(|n| !columns.contains(n));
        if let Some(name) = missing.or(extra) {
            let (has, lacks) = if missing.is_some() { (1, index + 1) } else { (index + 1, 1) };
            let message = format!("frame {has} has the column `{name}`, frame {lacks} has not");
            return Err(diagnostics::plan_error("unknown-column", message)
                .help("fill what is missing with nulls: `concat_diagonal`, or select the same columns first"));
        }
    }
    let mut fields = Vec::new();
    for name in &columns {
        let mut common = DataType::Null;
        for plan in &plans {
            let Some(this) = dtype(plan, name) else { continue };
            common = type_coercion::supertype(&common, &this).ok_or_else(|| {
                let message =
                    format!("`{name}` is `{}` in one frame and `{}` in another", type_name(&common), type_name(&this));
                diagnostics::plan_error("type-mismatch", message).help("cast it in one of them first")
            })?;
        }
        fields.push((name.clone(), common));
    }
    stack(
        plans
            .into_iter()
            .map(|plan| {
                let exprs = fields.iter().map(|(name, common)| match dtype(&plan, name) {
                    Some(this) if &this == common => column(name),
                    Some(_) => cast(column(name), common.clone()).alias(name),
                    None => null(common).alias(name),
                });
                (exprs.collect(), plan.clone())
            })
            .collect(),
        &columns,
        false,
    )
}

/// Plans with the same columns one after the other, in order. `by_row`: the first row of each, then the second, ...
fn stack(parts: Vec<(Vec<Expr>, LogicalPlan)>, columns: &[String], by_row: bool) -> Result<LogicalPlan, Diagnostic> {
    let (source, row) = (format!("{HIDDEN}source"), format!("{HIDDEN}stackrow"));
    let mut inputs = Vec::with_capacity(parts.len());
    for (index, (mut exprs, plan)) in parts.into_iter().enumerate() {
        let plan = number_rows(plan, &row)?;
        exprs.push(lit(index as i64).alias(&source));
        exprs.push(column(&row));
        inputs.push(Arc::new(project_exprs(plan, exprs)?));
    }
    // One union of all: unions of two, one inside the other, are flattened level by level, which is quadratic.
    let stacked = match inputs.len() {
        0 => return Err(diagnostics::plan_error("argument", "`concat` has no frames")),
        1 => LogicalPlanBuilder::new(Arc::unwrap_or_clone(inputs.remove(0))),
        _ => LogicalPlanBuilder::new(LogicalPlan::Union(Union::try_new_with_loose_types(inputs).map_err(diagnose)?)),
    };
    let mut order = vec![column(&source).sort(true, true), column(&row).sort(true, true)];
    if by_row {
        order.reverse();
    }
    let plan = build(stacked.sort(order))?;
    keep(super::unqualified(plan)?, columns)
}

/// The first argument; an error where either is null, which is a row that only one of the frames has.
fn same_height() -> Arc<datafusion::logical_expr::ScalarUDF> {
    onrush_expr::scalar_udf::kernel("same_height", DataType::UInt64, |args| {
        if args.iter().any(|a| arrow::array::Array::null_count(a) > 0) {
            let diagnostic = Diagnostic::error(
                onrush_wire::Class::Data,
                "different-heights",
                "frames of different numbers of rows cannot stand side by side",
            );
            let help = "cut the longer one with `.head(n)`, or join them by a key";
            return Err(datafusion::error::DataFusionError::External(Box::new(diagnostic.help(help))));
        }
        Ok(Arc::clone(&args[0]))
    })
}

/// Side by side; an error when it runs if the numbers of rows differ, as in Polars.
fn beside(plans: Vec<LogicalPlan>, at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let columns: Vec<String> = plans.iter().flat_map(names).collect();
    distinct_names(columns.iter().map(|n| (n.as_str(), None)), at)?;
    let mut joined: Option<(LogicalPlan, Vec<String>)> = None;
    let all = format!("{HIDDEN}row");
    for (index, plan) in plans.into_iter().enumerate() {
        let row = format!("{HIDDEN}row_{index}");
        let these = names(&plan);
        let plan = number_rows(plan, &row)?;
        joined = Some(match joined {
            None => {
                let mut exprs: Vec<Expr> = these.iter().map(|n| column(n)).collect();
                exprs.push(column(&row).alias(&all));
                (project_exprs(plan, exprs)?, these)
            }
            Some((before, mut kept)) => {
                let keys = (vec![column(&all)], vec![column(&row)]);
                let plan =
                    build(LogicalPlanBuilder::new(before).join_with_expr_keys(plan, JoinType::Full, keys, None))?;
                kept.extend(these);
                let mut exprs: Vec<Expr> = kept.iter().map(|n| column(n)).collect();
                exprs.push(same_height().call(vec![column(&all), column(&row)]).alias(&all));
                (project_exprs(plan, exprs)?, kept)
            }
        });
    }
    let Some((plan, kept)) = joined else {
        return Err(diagnostics::plan_error("argument", "`concat` needs at least one frame"));
    };
    let plan = build(LogicalPlanBuilder::new(plan).sort(vec![column(&all).sort(true, true)]))?;
    keep(plan, &kept)
}

/// Columns `on` become rows: their names in `variable_name`, their values in `value_name`; column by column, as in
/// Polars.
pub fn unpivot(
    plan: LogicalPlan,
    index: &[String],
    on: &[String],
    variable_name: &str,
    value_name: &str,
    at: Option<&Span>,
) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    for name in index.iter().chain(on) {
        if !available.contains(name) {
            return Err(diagnostics::place(diagnostics::unknown_column(name, plan.schema().as_arrow()), None, at, ""));
        }
    }
    let on: Vec<String> = match on.is_empty() {
        true => available.iter().filter(|n| !index.contains(n)).cloned().collect(),
        false => on.to_vec(),
    };
    let mut columns: Vec<String> = index.to_vec();
    columns.extend([variable_name.to_string(), value_name.to_string()]);
    distinct_names(columns.iter().map(|n| (n.as_str(), None)), at)?;
    let mut common = DataType::Null;
    for name in &on {
        let Some(this) = dtype(&plan, name) else { continue };
        common = type_coercion::supertype(&common, &this).ok_or_else(|| {
            let message =
                format!("`{name}` is `{}`, the columns before it are `{}`", type_name(&this), type_name(&common));
            diagnostics::plan_error("type-mismatch", message).help("cast them to one type first")
        })?;
    }
    if on.len() > MOST_BRANCHES {
        return unnested(plan, index, &on, (variable_name, value_name), &common);
    }
    let parts = on.iter().map(|name| {
        let mut exprs: Vec<Expr> = index.iter().map(|n| column(n)).collect();
        exprs.push(cast(lit(name.clone()), type_coercion::TEXT).alias(variable_name));
        exprs.push(cast(column(name), common.clone()).alias(value_name));
        (exprs, plan.clone())
    });
    stack(parts.collect(), &columns, false)
}

/// More columns than this are put into a list: a union has a branch for each, and each branch reads all rows.
const MOST_BRANCHES: usize = 8;

/// The columns of a row as a list, of which each element becomes a row.
fn unnested(
    plan: LogicalPlan,
    index: &[String],
    on: &[String],
    (variable_name, value_name): (&str, &str),
    common: &DataType,
) -> Result<LogicalPlan, Diagnostic> {
    let (source, row) = (format!("{HIDDEN}source"), format!("{HIDDEN}stackrow"));
    let plan = number_rows(plan, &row)?;
    let text = |name: &String| ScalarValue::Utf8View(Some(name.clone()));
    let list = |values: Vec<ScalarValue>, dtype: &DataType| {
        Expr::Literal(ScalarValue::List(ScalarValue::new_list(&values, dtype, true)), None)
    };
    let values = on.iter().map(|name| cast(column(name), common.clone())).collect();
    let mut exprs: Vec<Expr> = index.iter().map(|n| column(n)).collect();
    exprs.push(list(on.iter().map(text).collect(), &type_coercion::TEXT).alias(variable_name));
    exprs.push(datafusion::functions_nested::expr_fn::make_array(values).alias(value_name));
    let places = (0..on.len() as i64).map(|place| ScalarValue::Int64(Some(place))).collect();
    exprs.push(list(places, &DataType::Int64).alias(&source));
    exprs.push(column(&row));
    let lists = [variable_name, value_name, &source].map(datafusion::common::Column::from_name).to_vec();
    let plan = build(
        LogicalPlanBuilder::new(project_exprs(plan, exprs)?).unnest_columns_with_options(lists, UnnestOptions::new()),
    )?;
    let order = vec![column(&source).sort(true, true), column(&row).sort(true, true)];
    let plan = build(LogicalPlanBuilder::new(plan).sort(order))?;
    let mut columns: Vec<String> = index.to_vec();
    columns.extend([variable_name.to_string(), value_name.to_string()]);
    keep(plan, &columns)
}

/// A null list gives one row with null, an empty one gives none, as in Polars.
pub fn explode(plan: LogicalPlan, columns: &[String], at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    if columns.is_empty() {
        return Err(diagnostics::plan_error("argument", "`explode` needs at least one column"));
    }
    for name in columns {
        match dtype(&plan, name) {
            None => {
                return Err(diagnostics::place(
                    diagnostics::unknown_column(name, plan.schema().as_arrow()),
                    None,
                    at,
                    "",
                ));
            }
            Some(this) if !type_coercion::is_list(&this) => {
                let message = format!("`explode` needs a list, but `{name}` is `{}`", type_name(&this));
                return Err(diagnostics::place(diagnostics::plan_error("type-mismatch", message), None, at, ""));
            }
            Some(_) => {}
        }
    }
    let columns = columns.iter().map(datafusion::common::Column::from_name).collect();
    let options = UnnestOptions::new().with_preserve_nulls(true);
    build(LogicalPlanBuilder::new(plan).unnest_columns_with_options(columns, options))
}
