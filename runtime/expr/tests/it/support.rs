//! An expression on a record batch: lowered as steps of frames lower it, simplified as plans are, and evaluated.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int8Array, Int64Array, RecordBatch, StringArray};
use datafusion::common::DFSchema;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{EmptyRelation, LogicalPlan};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::create_physical_expr;
use onrush_expr::Lower;
use onrush_expr::error::diagnose;
use onrush_frame::{dtype_to_wire, value_at};
use onrush_wire::{BinaryOp, Diagnostic, Expr, ExprKind, Value};

/// Five rows: integers, floats with a NaN, booleans and strings, each with a null.
pub fn sample() -> RecordBatch {
    let columns: [(&str, ArrayRef); 7] = [
        ("i", Arc::new(Int64Array::from(vec![Some(7), Some(-7), Some(7), Some(-7), None]))),
        ("j", Arc::new(Int64Array::from(vec![2, 2, -2, -2, 1]))),
        ("f", Arc::new(Float64Array::from(vec![Some(1.5), Some(f64::NAN), Some(-0.5), None, Some(2.0)]))),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true), Some(true)]))),
        ("s", Arc::new(StringArray::from(vec![Some("a"), Some("B"), None, Some("héllo"), Some("ab1c")]))),
        ("t", Arc::new(Int8Array::from(vec![Some(100), Some(100), Some(100), Some(-3), None]))),
        (
            "d",
            Arc::new(StringArray::from(vec![
                Some("2013-01-31 12:34:56"),
                None,
                Some("2012-02-29 00:00:00"),
                None,
                Some("1969-12-31 23:59:59"),
            ])),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

/// The column of an expression of rows. Windows and aggregates need a plan: their tests are those of plans.
///
/// # Errors
/// Of the lowering, or of a value.
pub fn evaluate(batch: &RecordBatch, expr: &Expr) -> Result<ArrayRef, Diagnostic> {
    let schema = Arc::new(DFSchema::try_from(batch.schema()).map_err(diagnose)?);
    let plan = LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema: Arc::clone(&schema) });
    let mut lower = Lower::new(plan, None)?;
    let typed = lower.expr(expr)?;
    assert_eq!(lower.plan.schema(), &schema, "the expression needs a plan");
    let context = SimplifyContext::builder().with_schema(Arc::clone(&schema)).build();
    let simple = ExprSimplifier::new(context).simplify(typed.expr).map_err(diagnose)?;
    let physical = create_physical_expr(&simple, &schema, &ExecutionProps::new(), &PhysicalPlanningContext::default())
        .map_err(diagnose)?;
    let array = physical.evaluate(batch).and_then(|value| value.into_array(batch.num_rows())).map_err(diagnose)?;
    assert_eq!(array.data_type(), &typed.dtype, "the type that the lowering says");
    Ok(array)
}

/// Compares the type and the values of an expression of [`sample`] with `expected`: `i64: 1 null 3`.
#[track_caller]
pub fn check(expr: Expr, expected: &str) {
    let array = evaluate(&sample(), &expr).unwrap_or_else(|d| panic!("{:?}\n{d}\n{d:?}", expr.kind));
    let values: Vec<String> = (0..array.len()).map(|row| text(&value_at(&array, row))).collect();
    let found = format!("{}: {}", dtype_to_wire(array.data_type()), values.join(" "));
    assert_eq!(found, expected, "{:?}", expr.kind);
}

/// The error of an expression of [`sample`].
#[track_caller]
pub fn refused(expr: Expr) -> Diagnostic {
    match evaluate(&sample(), &expr) {
        Ok(array) => panic!("{:?}\n{array:?}", expr.kind),
        Err(diagnostic) => diagnostic,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Boolean(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::UInt(v) => v.to_string(),
        Value::Float(v) if v.is_finite() => format!("{:?}", (v * 1e9).round() / 1e9),
        Value::Float(v) => format!("{v:?}"),
        Value::Text(v) => v.clone(),
        Value::Timestamp { value, .. } => {
            chrono::DateTime::from_timestamp_micros(*value).unwrap().naive_utc().format("%FT%T%.f").to_string()
        }
        Value::List(values) => format!("[{}]", values.iter().map(text).collect::<Vec<_>>().join(",")),
        other => format!("{other:?}"),
    }
}

pub fn col(name: &str) -> Expr {
    Expr::column(name)
}

pub fn lit(value: impl Into<Value>) -> Expr {
    Expr::literal(value)
}

/// A call: the receiver of a method comes first.
pub fn call<const N: usize>(function: &str, args: [Expr; N]) -> Expr {
    Expr::call(function, args)
}

pub fn op(left: Expr, operator: BinaryOp, right: Expr) -> Expr {
    Expr::new(ExprKind::Binary(operator, Box::new(left), Box::new(right)))
}
