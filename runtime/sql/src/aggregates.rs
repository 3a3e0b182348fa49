//! Type-dependent rewrites of aggregate and window functions: sums that do not wrap, quantiles and means of times, and
//! `string_agg`.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Float64Type, TimeUnit};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result;
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    AggregateUDF, Cast, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, ScalarUDF, WindowFunctionDefinition, cast,
};
use onrush_expr::diagnostics::HIDDEN;
use onrush_expr::error::external;
use onrush_expr::quantile::{Interpolation, quantile};
use onrush_expr::scalar_udf::kernel_by_types;
use onrush_expr::temporal_aggregates;
use onrush_expr::type_coercion;
use onrush_wire::{Class, Diagnostic};

/// The function that a placeholder stands for, after types are known.
fn of_type(function: &AggregateUDF, arg: &Expr, schema: &DFSchema) -> Option<(Arc<AggregateUDF>, Expr)> {
    let is_time = |dtype: &DataType| type_coercion::is_date_or_time(dtype) || matches!(dtype, DataType::Duration(_));
    let time = |expr: &Expr, dtype: &DataType| match dtype {
        DataType::Date32 => cast(expr.clone(), DataType::Timestamp(TimeUnit::Microsecond, None)),
        _ => expr.clone(),
    };
    if let Some(q) = temporal_aggregates::quantile_of(function) {
        let dtype = arg.get_type(schema).ok()?;
        return Some(match is_time(&dtype) {
            true => (temporal_aggregates::quantile(q), time(arg, &dtype)),
            false => (quantile(q, Interpolation::Linear), cast(arg.clone(), DataType::Float64)),
        });
    }
    match arg {
        Expr::Cast(c) if function.name() == "avg" => {
            let dtype = c.expr.get_type(schema).ok().filter(|dtype| is_time(dtype))?;
            Some((temporal_aggregates::mean(), time(&c.expr, &dtype)))
        }
        _ => None,
    }
}

/// Casts aggregated categories and their sort keys to strings: DataFusion would take the two for different values.
fn joined(args: &mut [Expr], order_by: &mut [Sort], schema: &DFSchema) -> bool {
    let Some(arg) = args.first_mut().filter(|arg| arg.get_type(schema).is_ok_and(|dtype| is_category(&dtype))) else {
        return false;
    };
    order_by
        .iter_mut()
        .filter(|key| key.expr == *arg)
        .for_each(|key| key.expr = cast(arg.clone(), type_coercion::TEXT));
    *arg = cast(arg.clone(), type_coercion::TEXT);
    true
}

/// A call without the name that it had before its arguments got their types.
pub fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => bare(&alias.expr),
        expr => expr,
    }
}

/// The same, taken.
pub fn unnamed(expr: Expr) -> Expr {
    match expr {
        Expr::Alias(alias) => unnamed(*alias.expr),
        expr => expr,
    }
}

/// Aggregates as what they are of the types of their arguments.
pub fn of_types(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let schema = match &node {
        LogicalPlan::Aggregate(aggregate) => Arc::clone(aggregate.input.schema()),
        LogicalPlan::Window(window) => Arc::clone(window.input.schema()),
        _ => return Ok(Transformed::no(node)),
    };
    let names = NamePreserver::new_for_projection();
    // Names are long strings, and few aggregates need them here.
    let concerns = |function: &AggregateUDF| {
        matches!(function.name(), "avg" | "string_agg") || temporal_aggregates::quantile_of(function).is_some()
    };
    let node = node.map_expressions(|expr| {
        let concerned = match bare(&expr) {
            Expr::AggregateFunction(f) => concerns(&f.func),
            Expr::WindowFunction(call) => match &call.fun {
                WindowFunctionDefinition::AggregateUDF(function) => concerns(function),
                WindowFunctionDefinition::WindowUDF(_) => false,
            },
            _ => false,
        };
        if !concerned {
            return Ok(Transformed::no(expr));
        }
        let saved = names.save(&expr);
        let mut expr = unnamed(expr);
        let changed = match &mut expr {
            Expr::AggregateFunction(f) if f.func.name() == "string_agg" => {
                joined(&mut f.params.args, &mut f.params.order_by, &schema)
            }
            Expr::AggregateFunction(f) => match f.params.args.first().and_then(|arg| of_type(&f.func, arg, &schema)) {
                Some((function, arg)) => {
                    (f.func, f.params.args) = (function, vec![arg]);
                    true
                }
                None => false,
            },
            Expr::WindowFunction(call) => {
                let WindowFunctionDefinition::AggregateUDF(function) = &call.fun else {
                    return Ok(Transformed::no(saved.restore(expr)));
                };
                match call.params.args.first().and_then(|arg| of_type(function, arg, &schema)) {
                    Some((function, arg)) => {
                        call.fun = WindowFunctionDefinition::AggregateUDF(function);
                        call.params.args = vec![arg];
                        true
                    }
                    None => false,
                }
            }
            _ => false,
        };
        Ok(Transformed::new_transformed(saved.restore(expr), changed))
    })?;
    if node.transformed { node.map_data(LogicalPlan::recompute_schema) } else { Ok(node) }
}

/// A sum whose type may be too small for it, as one that is not, and what is made of that.
enum Exact {
    /// A sum of integers: in 38 digits, in place of the sum.
    Whole(Expr),
    /// A sum of decimals of more than 28 digits: a second sum as a float, which shows where 38 digits were not enough.
    Beside(Expr),
    /// The same call with other arguments.
    Instead(Expr),
}

/// Decimals that come with more digits than 64 bits have. Other sums could leave 38 digits only for numbers and rows
/// that nobody has. Prices need no second sum that way.
fn is_wide(arg: &Expr, schema: &DFSchema) -> bool {
    let of = |expr: &Expr| match expr.get_type(schema) {
        Ok(DataType::Decimal128(precision, _)) => precision,
        _ => 0,
    };
    if of(arg) <= 28 {
        return false;
    }
    let mut found = false;
    let walked = arg.apply(|expr| {
        let whole = |c: &Cast| c.expr.get_type(schema).is_ok_and(|dtype| dtype.is_integer());
        Ok(match expr {
            Expr::Cast(c) if whole(c) => TreeNodeRecursion::Jump,
            Expr::BinaryExpr(_) | Expr::Negative(_) | Expr::Alias(_) => TreeNodeRecursion::Continue,
            Expr::Literal(..) => TreeNodeRecursion::Continue,
            leaf => {
                found |= of(leaf) > 18;
                TreeNodeRecursion::Jump
            }
        })
    });
    walked.is_err() || found
}

fn with_arg(expr: &Expr, arg: Expr) -> Expr {
    let mut new = expr.clone();
    match &mut new {
        Expr::AggregateFunction(f) => f.params.args = vec![arg],
        Expr::WindowFunction(call) => call.params.args = vec![arg],
        _ => {}
    }
    new
}

/// Sums of integers are exact in 38 digits. A sum that is not a 64-bit integer is an error: DuckDB gives a 128-bit one,
/// DataFusion wraps. Sums of decimals of more than 38 digits are an error. Distinct counts of floats count the two
/// zeros once.
fn exact(expr: &Expr, schema: &DFSchema) -> Option<Exact> {
    let expr = bare(expr);
    let (name, args, distinct, least) = match expr {
        Expr::AggregateFunction(f) => (f.func.name(), &f.params.args, f.params.distinct, 0),
        // Numbers of 32 bits and less cannot leave 64 along rows that there can be.
        Expr::WindowFunction(call) => (call.fun.name(), &call.params.args, false, 8),
        _ => return None,
    };
    let [arg] = args.as_slice() else { return None };
    match name {
        "sum" => {
            let dtype = arg.get_type(schema).ok()?;
            let bytes = dtype.primitive_width().unwrap_or_default();
            if dtype.is_integer() && bytes >= least {
                return Some(Exact::Whole(with_arg(expr, cast(arg.clone(), DataType::Decimal128(38, 0)))));
            }
            is_wide(arg, schema).then(|| Exact::Beside(with_arg(expr, cast(arg.clone(), DataType::Float64))))
        }
        "count" if distinct => one_zero(arg.clone(), schema).map(|arg| Exact::Instead(with_arg(expr, arg))),
        _ => None,
    }
}

/// The sums of a group, or along a window, where they fit their types.
pub fn exact_sums(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let (input, calls) = match &node {
        LogicalPlan::Aggregate(aggregate) => (&aggregate.input, &aggregate.aggr_expr),
        LogicalPlan::Window(window) => (&window.input, &window.window_expr),
        _ => return Ok(Transformed::no(node)),
    };
    let found: Vec<Option<Exact>> = calls.iter().map(|call| exact(call, input.schema())).collect();
    if found.iter().all(Option::is_none) {
        return Ok(Transformed::no(node));
    }
    let first = node.schema().fields().len() - calls.len();
    let hidden = |index: usize| format!("{HIDDEN}sum_{index}");
    let column = |name: String| Expr::Column(Column::from_name(name));
    let fields = node.schema().iter().enumerate().map(|(index, (qualifier, field))| {
        let own = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let Some(i) = index.checked_sub(first) else { return own };
        match &found[i] {
            None => own,
            Some(Exact::Beside(_)) => checked_sum().call(vec![own, column(hidden(i))]).alias(field.name()),
            Some(_) => cast(column(hidden(i)), field.data_type().clone()).alias(field.name()),
        }
    });
    let fields: Vec<Expr> = fields.collect();
    let mut exprs: Vec<Expr> = Vec::with_capacity(calls.len());
    let mut beside: Vec<Expr> = Vec::new();
    for (i, (call, exact)) in calls.iter().zip(&found).enumerate() {
        match exact {
            None => exprs.push(call.clone()),
            Some(Exact::Beside(float)) => {
                exprs.push(call.clone());
                beside.push(float.clone().alias(hidden(i)));
            }
            Some(Exact::Whole(new) | Exact::Instead(new)) => exprs.push(new.clone().alias(hidden(i))),
        }
    }
    exprs.extend(beside);
    let plan = LogicalPlanBuilder::new_from_arc(Arc::clone(input));
    let plan = match &node {
        LogicalPlan::Aggregate(aggregate) => plan.aggregate(aggregate.group_expr.clone(), exprs)?,
        _ => plan.window(exprs)?,
    };
    Ok(Transformed::yes(plan.project(fields)?.build()?))
}

/// A sum of decimals, and the same as a float: an error where 38 digits were not enough, and 128 bits may have wrapped.
fn checked_sum() -> ScalarUDF {
    let output = |types: &[DataType]| Ok(types[0].clone());
    kernel_by_types("checked_sum", output, |args| {
        let DataType::Decimal128(_, scale) = args[0].data_type() else { return Ok(Arc::clone(&args[0])) };
        let unit = 10_f64.powi(i32::from(*scale));
        let floats = args[1].as_primitive::<Float64Type>();
        if floats.iter().flatten().any(|float| float.abs() * unit > type_coercion::MAX_EXACT_SUM) {
            let diagnostic = Diagnostic::error(Class::Data, "overflow", "a sum of decimals has more than 38 digits");
            let help = "sum them as floats, `sum(cast(x as double))`, or cast them to fewer digits";
            return Err(external(diagnostic.help(help)));
        }
        Ok(Arc::clone(&args[0]))
    })
}

/// Whether a type is that of a column of categories.
pub fn is_category(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Dictionary(..)) && type_coercion::is_text(dtype)
}

/// Sorts, windows and distinct counts of floats take the two zeros for one value.
pub fn one_zero(expr: Expr, schema: &DFSchema) -> Option<Expr> {
    let dtype = expr.get_type(schema).ok()?;
    dtype.is_floating().then(|| type_coercion::one_zero(expr, &dtype))
}
