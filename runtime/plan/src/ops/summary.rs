//! `describe` and `value_counts`.

use arrow::datatypes::DataType;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, case, cast};
use onrush_wire::{Diagnostic, Expr as Wire, Span};

use super::{build, names, project_exprs};
use crate::check;
use crate::error::diagnose;
use crate::expr::{Lower, Scope, column, lit, null};
use crate::types;

const STATISTICS: [&str; 9] = ["count", "null_count", "mean", "std", "min", "25%", "50%", "75%", "max"];

/// The number of the statistic in each row; `explain` knows `describe` by it.
pub const STATISTIC: &str = "__onrush_statistic";

/// Numbers and booleans as `f64`, everything else as text; what has no meaning for a type is null.
pub fn describe(plan: LogicalPlan) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    if available.iter().any(|n| n == "statistic") {
        return Err(check::duplicate_column("statistic"));
    }
    let mut lower = Lower::new(plan, None)?;
    lower.scope = Scope::Groups;
    let mut columns: Vec<(String, DataType, Vec<Option<Expr>>)> = Vec::new();
    for name in &available {
        let dtype = lower.column(name, None)?.dtype;
        let number = types::is_number(&dtype) || dtype == DataType::Boolean;
        let temporal = types::is_temporal(&dtype);
        let ordered = number || temporal || types::is_text(&dtype);
        let out = if number { DataType::Float64 } else { types::TEXT };
        let mut values = Vec::new();
        for statistic in STATISTICS {
            let this = || Wire::column(name.clone());
            let call = match statistic {
                "count" | "null_count" => Some(Wire::call(statistic, [this()])),
                "mean" if number || temporal => Some(Wire::call("mean", [this()])),
                "std" if number && dtype != DataType::Boolean => Some(Wire::call("std", [this()])),
                "min" | "max" if ordered => Some(Wire::call(statistic, [this()])),
                "25%" | "50%" | "75%" if (number && dtype != DataType::Boolean) || temporal => {
                    let which = statistic.trim_end_matches('%').parse::<i64>().unwrap_or(50) / 25;
                    Some(Wire::call("quartile", [this(), Wire::literal(which)]))
                }
                _ => None,
            };
            values.push(match call {
                None => None,
                Some(call) => {
                    let typed = lower.expr(&call)?;
                    // Arrow has no cast from booleans to floats.
                    let typed = if typed.dtype == DataType::Boolean { typed.to(&DataType::Int32) } else { typed };
                    Some(typed.to(&out).expr)
                }
            });
        }
        columns.push((name.clone(), out, values));
    }
    let aggregates = std::mem::take(&mut lower.aggregates);
    let row = build(LogicalPlanBuilder::new(lower.plan).aggregate(Vec::<Expr>::new(), aggregates))?;
    let numbers = (0..STATISTICS.len()).map(|i| vec![lit(i as i64)]).collect();
    let numbers = build(LogicalPlanBuilder::values(numbers))?;
    let first = numbers.schema().field(0).name().clone();
    let numbers = project_exprs(numbers, vec![column(&first).alias(STATISTIC)])?;
    let plan = build(LogicalPlanBuilder::new(row).cross_join(numbers))?;
    let plan = build(LogicalPlanBuilder::new(plan).sort(vec![column(STATISTIC).sort(true, true)]))?;
    let pick = |values: Vec<Option<Expr>>, dtype: &DataType| {
        let mut choice = case(column(STATISTIC));
        let mut last = None;
        for (i, value) in values.into_iter().enumerate() {
            let Some(value) = value else { continue };
            last = Some(choice.when(lit(i as i64), value));
            choice = last.clone().unwrap_or_else(|| case(column(STATISTIC)));
        }
        match last {
            Some(mut choice) => choice.otherwise(null(dtype)).map_err(diagnose),
            None => Ok(null(dtype)),
        }
    };
    let titles = STATISTICS.iter().map(|s| Some(cast(lit(*s), types::TEXT))).collect();
    let mut exprs = vec![pick(titles, &types::TEXT)?.alias("statistic")];
    for (name, dtype, values) in columns {
        exprs.push(pick(values, &dtype)?.alias(name));
    }
    project_exprs(plan, exprs)
}

/// Most frequent first; equally frequent ones in the order of the values.
pub fn value_counts(plan: LogicalPlan, value: &Wire, at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let count = Wire::call("len", []).alias("count");
    let (plan, keys) = super::group::grouped(plan, std::slice::from_ref(value), &[count], at)?;
    let mut sorts = vec![column("count").sort(false, false)];
    sorts.extend(keys.iter().map(|k| column(k).sort(true, true)));
    build(LogicalPlanBuilder::new(plan).sort(sorts))
}
