//! What operators and aggregates mean in DuckDB, for DataFusion's SQL planner.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::kernels::numeric;
use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawAggregateExpr, RawBinaryExpr, RawWindowExpr};
use datafusion::logical_expr::{AggregateUDF, Expr, ExprSchemable, Operator, WindowFunctionDefinition, binary_expr, cast};
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::BinaryOperator;
use onrush_wire::Diagnostic;

use crate::check::{plan_error, type_name};
use crate::expr::kernels::{Body, kernel};
use crate::expr::quantile::{Interpolation, quantile};
use crate::types;

pub fn register(context: &SessionContext) -> Result<()> {
    let state = context.state_ref();
    let mut state = state.write();
    state.register_expr_planner(Arc::new(DuckDb))?;
    Ok(())
}

#[derive(Debug)]
struct DuckDb;

fn fail<T>(diagnostic: Diagnostic) -> Result<T> {
    Err(datafusion::error::DataFusionError::External(Box::new(diagnostic)))
}

impl ExprPlanner for DuckDb {
    fn plan_binary_op(&self, raw: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let (Ok(left), Ok(right)) = (raw.left.get_type(schema), raw.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(raw));
        };
        let numbers = types::is_number(&left) && types::is_number(&right);
        let float = |e: &Expr| cast(e.clone(), DataType::Float64);
        match raw.op {
            // True division, for whole numbers and decimals, too.
            BinaryOperator::Divide if numbers => {
                Ok(PlannerResult::Planned(binary_expr(float(&raw.left), Operator::Divide, float(&raw.right))))
            }
            BinaryOperator::DuckIntegerDivide if numbers => {
                let common = types::supertype(&left, &right).unwrap_or(DataType::Int64);
                let common = if common.is_integer() { common } else { DataType::Int64 };
                let both = (cast(raw.left, common.clone()), cast(raw.right, common));
                Ok(PlannerResult::Planned(binary_expr(both.0, Operator::Divide, both.1)))
            }
            BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply
                if left.is_integer() && right.is_integer() =>
            {
                Ok(PlannerResult::Planned(checked(&raw, &left, &right)))
            }
            BinaryOperator::PGExp | BinaryOperator::BitwiseXor if numbers => {
                let power = datafusion::functions::expr_fn::power(float(&raw.left), float(&raw.right));
                Ok(PlannerResult::Planned(power))
            }
            BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq => compare(raw, &left, &right),
            _ => Ok(PlannerResult::Original(raw)),
        }
    }

    fn plan_aggregate(&self, raw: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        let RawAggregateExpr { func, args, distinct, filter, order_by, null_treatment } = &raw;
        let call = |func: Arc<AggregateUDF>, args: Vec<Expr>| {
            Expr::AggregateFunction(AggregateFunction::new_udf(
                func,
                args,
                *distinct,
                filter.clone(),
                order_by.clone(),
                *null_treatment,
            ))
        };
        Ok(match (func.name(), args.as_slice()) {
            // Decimals are averaged as floats.
            ("avg", [x]) => PlannerResult::Planned(call(Arc::clone(func), vec![cast(x.clone(), DataType::Float64)])),
            ("median", [x]) if !distinct => PlannerResult::Planned(call(
                quantile(0.5, Interpolation::Linear),
                vec![cast(x.clone(), DataType::Float64)],
            )),
            _ => PlannerResult::Original(raw),
        })
    }

    fn plan_window(&self, raw: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        let average = matches!(&raw.func_def, WindowFunctionDefinition::AggregateUDF(f) if f.name() == "avg");
        if !average || raw.args.len() != 1 {
            return Ok(PlannerResult::Original(raw));
        }
        let params = WindowFunctionParams {
            args: raw.args.into_iter().map(|x| cast(x, DataType::Float64)).collect(),
            partition_by: raw.partition_by,
            order_by: raw.order_by,
            window_frame: raw.window_frame,
            filter: raw.filter,
            null_treatment: raw.null_treatment,
            distinct: raw.distinct,
        };
        Ok(PlannerResult::Planned(Expr::WindowFunction(Box::new(WindowFunction { fun: raw.func_def, params }))))
    }
}

/// Whole-number arithmetic that fails instead of wrapping.
fn checked(raw: &RawBinaryExpr, left: &DataType, right: &DataType) -> Expr {
    // A literal takes the column's type where it fits, as in DuckDB.
    let fits = |e: &Expr, dtype: &DataType| match e {
        Expr::Literal(value, _) => value.cast_to(dtype).ok().filter(|v| !v.is_null()).map(|v| Expr::Literal(v, None)),
        _ => None,
    };
    let is_literal = |e: &Expr| matches!(e, Expr::Literal(..));
    let (a, b, dtype) = match (is_literal(&raw.left), is_literal(&raw.right)) {
        (false, true) if fits(&raw.right, left).is_some() => {
            (raw.left.clone(), fits(&raw.right, left).unwrap_or_else(|| raw.right.clone()), left.clone())
        }
        (true, false) if fits(&raw.left, right).is_some() => {
            (fits(&raw.left, right).unwrap_or_else(|| raw.left.clone()), raw.right.clone(), right.clone())
        }
        _ => {
            let common = types::supertype(left, right).unwrap_or(DataType::Int64);
            let common = if common.is_integer() { common } else { DataType::Int64 };
            (cast(raw.left.clone(), common.clone()), cast(raw.right.clone(), common.clone()), common)
        }
    };
    let (name, body): (&'static str, Body) = match raw.op {
        BinaryOperator::Plus => ("add", |args: &[ArrayRef]| Ok(numeric::add(&args[0], &args[1])?)),
        BinaryOperator::Minus => ("subtract", |args: &[ArrayRef]| Ok(numeric::sub(&args[0], &args[1])?)),
        _ => ("multiply", |args: &[ArrayRef]| Ok(numeric::mul(&args[0], &args[1])?)),
    };
    kernel(name, dtype, body).call(vec![a, b])
}

/// A text literal takes the other side's type; a text column and a number do not compare.
fn compare(raw: RawBinaryExpr, left: &DataType, right: &DataType) -> Result<PlannerResult<RawBinaryExpr>> {
    let (text_left, text_right) = (types::is_text(left), types::is_text(right));
    if text_left == text_right || !(types::is_number(left) || types::is_number(right)) {
        return Ok(PlannerResult::Original(raw));
    }
    let (text, number) = if text_left { (&raw.left, right) } else { (&raw.right, left) };
    let Expr::Literal(value, _) = text else {
        let message = format!("`{}` is text and is compared with `{}`", name(text), type_name(number));
        return fail(plan_error("type-mismatch", message)
            .help(format!("cast one side: `cast({} as double)`, or write the number in quotes", name(text))));
    };
    match value.cast_to(number) {
        Ok(value) if !value.is_null() => {
            let literal = Expr::Literal(value, None);
            let (left, right) = if text_left { (literal, raw.right) } else { (raw.left, literal) };
            Ok(PlannerResult::Original(RawBinaryExpr { op: raw.op, left, right }))
        }
        _ => {
            let message = format!("the text {value} is no `{}`", type_name(number));
            fail(plan_error("type-mismatch", message).help("compare with a number"))
        }
    }
}

fn name(expr: &Expr) -> String {
    match expr {
        Expr::Column(column) => column.name.clone(),
        other => other.to_string(),
    }
}
