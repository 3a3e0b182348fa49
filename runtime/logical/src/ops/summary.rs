//! `describe` and `value_counts`.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, LogicalPlanBuilder};
use onrush_expr::diagnostics;
use onrush_expr::error::diagnose;
use onrush_expr::type_coercion;
use onrush_expr::{Lower, Scope, column};
use onrush_wire::{Diagnostic, Expr as Wire, Span};

use super::describe::Describe;
use super::{build, names};

const STATISTICS: [&str; 9] = ["count", "null_count", "mean", "std", "min", "25%", "50%", "75%", "max"];

/// Numbers and booleans as `f64`, everything else as text; what has no meaning for a type is null.
pub fn describe(plan: LogicalPlan) -> Result<LogicalPlan, Diagnostic> {
    let available = names(&plan);
    if available.iter().any(|n| n == "statistic") {
        return Err(diagnostics::duplicate_column("statistic"));
    }
    let mut lower = Lower::new(plan, None)?;
    lower.scope = Scope::Groups;
    let mut columns: Vec<(String, DataType, Vec<Option<Expr>>)> = Vec::new();
    for name in &available {
        let dtype = lower.column(name, None)?.dtype;
        let number = type_coercion::is_number(&dtype) || dtype == DataType::Boolean;
        let temporal = type_coercion::is_temporal(&dtype);
        let ordered = number || temporal || type_coercion::is_text(&dtype);
        let out = if number { DataType::Float64 } else { type_coercion::TEXT };
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
    let mut fields = vec![Field::new("statistic", type_coercion::TEXT, false)];
    let (mut exprs, mut places) = (Vec::new(), Vec::new());
    for (column, (name, dtype, values)) in columns.into_iter().enumerate() {
        fields.push(Field::new(name, dtype, true));
        for (statistic, value) in values.into_iter().enumerate() {
            if let Some(value) = value {
                exprs.push(value);
                places.push((column + 1, statistic));
            }
        }
    }
    let schema = DFSchema::try_from(Schema::new(fields)).map_err(diagnose)?;
    let node =
        Describe { input: row, values: exprs, places: Arc::new(places), names: &STATISTICS, schema: Arc::new(schema) };
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
}

/// Most frequent first; equally frequent ones in the order of the values.
pub fn value_counts(plan: LogicalPlan, value: &Wire, at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let count = Wire::call("len", []).alias("count");
    let (plan, keys) = super::group::grouped(plan, std::slice::from_ref(value), &[count], at)?;
    let mut sorts = vec![column("count").sort(false, false)];
    sorts.extend(keys.iter().map(|k| column(k).sort(true, true)));
    build(LogicalPlanBuilder::new(plan).sort(sorts))
}
