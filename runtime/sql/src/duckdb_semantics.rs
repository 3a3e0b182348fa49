//! DuckDB's meaning of operators and aggregates, for DataFusion's SQL planner.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Int64Array, UInt64Array};
use arrow::compute;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, NullEquality, ScalarValue};
use datafusion::error::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::expr_rewriter::{NamePreserver, coerce_plan_expr_for_schema};
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawAggregateExpr, RawBinaryExpr, RawFieldAccessExpr, RawWindowExpr,
};
use datafusion::logical_expr::{
    AggregateUDF, Expr, ExprFunctionExt, ExprSchemable, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, Union,
    WindowFunctionDefinition, binary_expr, cast, lit, when,
};
use datafusion::optimizer::analyzer::type_coercion::coerce_union_schema;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::BinaryOperator;
use onrush_expr::categories;
use onrush_expr::diagnostics::{HIDDEN, plan_error, type_name};
use onrush_expr::error::external;
use onrush_expr::math::by_number;
use onrush_expr::min_max::extremes;
use onrush_expr::quantile::{mode, mode_desc, product};
use onrush_expr::scalar_udf::{Body, error, kernel, strict};
use onrush_expr::temporal_aggregates;
use onrush_expr::type_coercion;
use onrush_logical::predicates::{has_subqueries, is_column};
use onrush_wire::Diagnostic;

use super::aggregates::{bare, is_category, one_zero, unnamed};
use super::cases::{self, settled};
use super::checked::{checked, fixed_type, in_one_type};
use super::library::{as_double, exact_double, nested, varchar};
use super::{aggregates, aliases, datetime, intervals, library, subscripts};

pub fn register(context: &SessionContext) -> Result<()> {
    let state = context.state_ref();
    let mut state = state.write();
    state.register_udaf(mode())?;
    state.register_udaf(mode_desc())?;
    state.register_udf(kernel("len", DataType::Int64, |args| length(&args[0])))?;
    state.register_udf(kernel("cardinality", DataType::UInt64, |args| cardinality(&args[0])))?;
    state.register_udaf(product())?;
    state.register_udaf(onrush_expr::correlation::corr())?;
    for extreme in extremes() {
        state.register_udaf(Arc::new(extreme))?;
    }
    state.register_udf(aliases::function())?;
    state.register_udf(Arc::new(super::asof::function()))?;
    for (name, body) in [
        ("sqrt", (|args| by_number(args, f64::sqrt)) as Body),
        ("ln", |args| by_number(args, f64::ln)),
        ("log2", |args| by_number(args, f64::log2)),
        ("log10", |args| by_number(args, f64::log10)),
    ] {
        state.register_udf(kernel(name, DataType::Float64, body))?;
    }
    drop(state);
    datetime::register(context)?;
    intervals::register(context)
}

/// Elements of a list, characters of a text.
fn length(values: &ArrayRef) -> Result<ArrayRef> {
    if type_coercion::is_list(values.data_type()) {
        return Ok(compute::cast(&compute::kernels::length::length(values)?, &DataType::Int64)?);
    }
    let texts = compute::cast(values, &type_coercion::TEXT)?;
    let lengths = texts.as_string_view().iter().map(|t| t.map(|t| t.chars().count() as i64));
    Ok(Arc::new(lengths.collect::<Int64Array>()))
}

/// Entries of a map, elements of a list. DataFusion's own counts the elements of inner lists.
fn cardinality(values: &ArrayRef) -> Result<ArrayRef> {
    let Some(map) = values.as_map_opt() else { return Ok(compute::cast(&length(values)?, &DataType::UInt64)?) };
    let lengths: Vec<u64> = map.offsets().lengths().map(|length| length as u64).collect();
    Ok(Arc::new(UInt64Array::new(lengths.into(), map.nulls().cloned())))
}

/// Plans operators as DuckDB does. It must come before DataFusion's own, which take every access to a list.
pub fn planner() -> Arc<dyn ExprPlanner> {
    Arc::new(DuckDb)
}

#[derive(Debug)]
struct DuckDb;

pub fn fail<T>(diagnostic: Diagnostic) -> Result<T> {
    Err(external(diagnostic))
}

impl ExprPlanner for DuckDb {
    fn plan_binary_op(&self, raw: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if matches!(raw.op, BinaryOperator::And | BinaryOperator::Or) {
            // The operands may have any types: asking each of a thousand conditions for the types before it would take
            // seconds.
            return Ok(PlannerResult::Original(raw));
        }
        let raw = RawBinaryExpr { left: settled(raw.left, schema), right: settled(raw.right, schema), ..raw };
        let type_of = |expr: &Expr| fixed_type(expr).map_or_else(|| expr.get_type(schema), |dtype| Ok(dtype.clone()));
        let (Ok(left), Ok(right)) = (type_of(&raw.left), type_of(&raw.right)) else {
            return Ok(PlannerResult::Original(raw));
        };
        if let Some(new) = of_spans(&raw, &left, &right) {
            return Ok(PlannerResult::Planned(new));
        }
        let numbers = type_coercion::is_number(&left) && type_coercion::is_number(&right);
        let float = |e: &Expr| cast(e.clone(), DataType::Float64);
        match raw.op {
            // In single precision if one side is, as in DuckDB, and the other is no more.
            BinaryOperator::Divide
                if (left == DataType::Float32 && (right == DataType::Float32 || right.is_integer()))
                    || (right == DataType::Float32 && left.is_integer()) =>
            {
                let single = |e: Expr| cast(e, DataType::Float32);
                Ok(PlannerResult::Planned(binary_expr(single(raw.left), Operator::Divide, single(raw.right))))
            }
            // True division, also for integers and decimals.
            BinaryOperator::Divide if numbers => {
                Ok(PlannerResult::Planned(binary_expr(float(&raw.left), Operator::Divide, float(&raw.right))))
            }
            BinaryOperator::DuckIntegerDivide if numbers => {
                let common = type_coercion::supertype(&left, &right).unwrap_or(DataType::Int64);
                let common = if common.is_integer() { common } else { DataType::Int64 };
                let both = (cast(raw.left, common.clone()), cast(raw.right, common));
                Ok(PlannerResult::Planned(binary_expr(both.0, Operator::Divide, both.1)))
            }
            BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply
                if left.is_integer() && right.is_integer() =>
            {
                Ok(PlannerResult::Planned(checked(raw, &left, &right)))
            }
            // A literal does not widen: `u64 % 5` would be a decimal.
            BinaryOperator::Modulo if left.is_integer() && right.is_integer() => {
                let (a, b, _) = in_one_type(raw.left, raw.right, &left, &right);
                Ok(PlannerResult::Planned(binary_expr(a, Operator::Modulo, b)))
            }
            BinaryOperator::PGBitwiseShiftLeft if left.is_integer() && right.is_integer() => {
                let (a, b) = (cast(raw.left, left.clone()), cast(raw.right, DataType::Int64));
                Ok(PlannerResult::Planned(kernel("shift_left", left, shifted_left).call(vec![a, b])))
            }
            BinaryOperator::PGBitwiseShiftRight
                if left.is_integer() && right.is_integer() && left != DataType::UInt64 =>
            {
                let (a, b) = (cast(raw.left, DataType::Int64), cast(raw.right, DataType::Int64));
                let moved = kernel("shift_right", DataType::Int64, shifted_right).call(vec![a, b]);
                Ok(PlannerResult::Planned(cast(moved, left)))
            }
            BinaryOperator::PGBitwiseShiftLeft | BinaryOperator::PGBitwiseShiftRight
                if matches!(left, DataType::Decimal128(_, 0)) && right.is_integer() =>
            {
                let (name, body): (&'static str, Body) = match raw.op {
                    BinaryOperator::PGBitwiseShiftLeft => ("shift_left", shifted_left),
                    _ => ("shift_wide_right", shifted_wide_right),
                };
                let moved = kernel(name, left, body).call(vec![raw.left, cast(raw.right, DataType::Int64)]);
                Ok(PlannerResult::Planned(moved))
            }
            BinaryOperator::PGExp | BinaryOperator::BitwiseXor if numbers => {
                let power = datafusion::functions::expr_fn::power(float(&raw.left), float(&raw.right));
                Ok(PlannerResult::Planned(power))
            }
            BinaryOperator::StringConcat if left == DataType::Binary && right == DataType::Binary => {
                Ok(PlannerResult::Planned(varchar::concatenated(raw.left, raw.right)))
            }
            BinaryOperator::StringConcat
                if (type_coercion::is_string(&left) || type_coercion::is_string(&right))
                    && [&left, &right].into_iter().any(varchar::differs) =>
            {
                let text =
                    |expr: Expr, dtype: &DataType| if varchar::differs(dtype) { varchar::call(expr) } else { expr };
                let (left, right) = (text(raw.left, &left), text(raw.right, &right));
                Ok(PlannerResult::Original(RawBinaryExpr { op: raw.op, left, right }))
            }
            // A null is no element here.
            BinaryOperator::StringConcat
                if (type_coercion::is_list(&left) && right == DataType::Null)
                    || (left == DataType::Null && type_coercion::is_list(&right)) =>
            {
                let list = if left == DataType::Null { &right } else { &left };
                Ok(PlannerResult::Planned(Expr::Literal(ScalarValue::try_from(list)?, None)))
            }
            // DataFusion's own takes a null list for an empty one, as `list_concat` does in DuckDB, too.
            BinaryOperator::StringConcat if type_coercion::is_list(&left) && type_coercion::is_list(&right) => {
                let missing = raw.left.clone().is_null().or(raw.right.clone().is_null());
                let lists = datafusion::functions_nested::expr_fn::array_concat(vec![raw.left, raw.right]);
                Ok(PlannerResult::Planned(when(missing, lit(ScalarValue::Null)).otherwise(lists)?))
            }
            // Categories are strings.
            BinaryOperator::StringConcat if [&left, &right].into_iter().any(is_category) => {
                let text = |expr: Expr, dtype: &DataType| {
                    if is_category(dtype) { cast(expr, type_coercion::TEXT) } else { expr }
                };
                let (left, right) = (text(raw.left, &left), text(raw.right, &right));
                Ok(PlannerResult::Original(RawBinaryExpr { op: raw.op, left, right }))
            }
            BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq => {
                // A string literal beside bytes is a BLOB literal.
                let as_bytes = |expr: Expr, other: &DataType| match expr {
                    Expr::Literal(ref value, _) if other.is_binary() && value.try_as_str().is_some() => {
                        library::bytes(expr)
                    }
                    other => other,
                };
                let raw =
                    RawBinaryExpr { op: raw.op, left: as_bytes(raw.left, &right), right: as_bytes(raw.right, &left) };
                compare(raw, &left, &right)
            }
            _ => Ok(PlannerResult::Original(raw)),
        }
    }

    fn plan_field_access(
        &self,
        raw: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        subscripts::planned(raw, schema)
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
            // The sum of a condition counts the rows for which it is true.
            ("sum", [x]) if is_condition(x) => {
                PlannerResult::Planned(call(Arc::clone(func), vec![cast(x.clone(), DataType::Int64)]))
            }
            // Decimals are averaged as floats.
            ("avg", [x]) => PlannerResult::Planned(call(Arc::clone(func), vec![cast(x.clone(), DataType::Float64)])),
            // DataFusion's own is accurate to six digits.
            ("percentile_cont", [x, Expr::Literal(q, _)]) if !distinct => match q.cast_to(&DataType::Float64) {
                Ok(ScalarValue::Float64(Some(q))) if (0.0..=1.0).contains(&q) => {
                    PlannerResult::Planned(call(temporal_aggregates::any_quantile(q), vec![x.clone()]))
                }
                _ => return fail(plan_error("argument", "a quantile lies between 0 and 1")),
            },
            ("median", [x]) if !distinct => {
                PlannerResult::Planned(call(temporal_aggregates::any_quantile(0.5), vec![x.clone()]))
            }
            _ => PlannerResult::Original(raw),
        })
    }

    fn plan_window(&self, raw: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        let is = |name: &str| matches!(&raw.func_def, WindowFunctionDefinition::AggregateUDF(f) if f.name() == name);
        let (average, median) = (is("avg"), is("median") && !raw.distinct);
        if !(average || median) || raw.args.len() != 1 {
            return Ok(PlannerResult::Original(raw));
        }
        let fun = if median {
            WindowFunctionDefinition::AggregateUDF(temporal_aggregates::any_quantile(0.5))
        } else {
            raw.func_def
        };
        let float = |x: Expr| if average { cast(x, DataType::Float64) } else { x };
        let params = WindowFunctionParams {
            args: raw.args.into_iter().map(float).collect(),
            partition_by: raw.partition_by,
            order_by: raw.order_by,
            window_frame: raw.window_frame,
            filter: raw.filter,
            null_treatment: raw.null_treatment,
            distinct: raw.distinct,
        };
        Ok(PlannerResult::Planned(Expr::WindowFunction(Box::new(WindowFunction { fun, params }))))
    }
}

/// Whether an expression is a condition by its form. The type of a column is not known here.
fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(binary) => is_comparison(binary.op) || matches!(binary.op, Operator::And | Operator::Or),
        Expr::Alias(alias) => is_condition(&alias.expr),
        Expr::Not(_) | Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::InList(_) | Expr::Between(_) | Expr::Like(_) => {
            true
        }
        _ => false,
    }
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// By a power of two, rounded down; 0 where nothing is left.
fn shifted_right(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (values, by) = (args[0].as_primitive::<Int64Type>(), args[1].as_primitive::<Int64Type>());
    let moved = values.iter().zip(by.iter()).map(|(value, by)| {
        value.zip(by).map(|(value, by)| match by {
            0..64 => value >> by,
            _ => 0,
        })
    });
    Ok(Arc::new(moved.collect::<Int64Array>()))
}

/// As [`shifted_right`], of numbers of 128 bits.
fn shifted_wide_right(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (values, by) = (args[0].as_primitive::<Decimal128Type>(), args[1].as_primitive::<Int64Type>());
    let moved = values.iter().zip(by.iter()).map(|(value, by)| {
        value.zip(by).map(|(value, by)| match by {
            0..128 => value >> by,
            _ => 0,
        })
    });
    Ok(Arc::new(moved.collect::<Decimal128Array>().with_data_type(args[0].data_type().clone())))
}

/// Times a power of two, which is an error where there is no such number, and for numbers below zero.
fn shifted_left(args: &[ArrayRef]) -> Result<ArrayRef> {
    let wide = strict(&args[0], &DataType::Decimal128(38, 0))?;
    let (values, by) = (wide.as_primitive::<Decimal128Type>(), args[1].as_primitive::<Int64Type>());
    let bits = if type_coercion::is_decimal(args[0].data_type()) { 127 } else { 64 };
    let shifted = values.iter().zip(by.iter()).map(|(value, by)| {
        let Some((value, by)) = value.zip(by) else { return Ok(None) };
        if value < 0 || by < 0 {
            return Err(error(format!("`{value} << {by}`: numbers below zero are not moved to the left")));
        }
        let most = 10_i128.pow(38) - 1;
        let power = u32::try_from(by).ok().filter(|by| *by < bits).map(|by| 1_i128 << by);
        let moved = match value {
            0 => Some(0),
            _ => power.and_then(|power| value.checked_mul(power)).filter(|moved| *moved <= most),
        };
        let overflow = || arrow::error::ArrowError::ArithmeticOverflow(format!("{value} << {by}"));
        Ok(Some(moved.ok_or_else(overflow)?))
    });
    let shifted = shifted.collect::<Result<Decimal128Array>>()?.with_precision_and_scale(38, 0)?;
    strict(&(Arc::new(shifted) as ArrayRef), args[0].data_type())
}

/// Intervals times numbers, and dates moved by hours.
fn of_spans(raw: &RawBinaryExpr, left: &DataType, right: &DataType) -> Option<Expr> {
    if !intervals::is_span(left) && !intervals::is_span(right) {
        return None;
    }
    let op = match raw.op {
        BinaryOperator::Plus => Operator::Plus,
        BinaryOperator::Minus => Operator::Minus,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Divide => Operator::Divide,
        _ => return None,
    };
    let (left, right) = ((&raw.left, left), (&raw.right, right));
    match op {
        Operator::Plus | Operator::Minus => intervals::shifted_date(op, left, right),
        _ => intervals::scaled(op, left, right),
    }
}

/// A plan in which types, sums and zeros are what DuckDB makes of them.
pub fn apply_duckdb_semantics(plan: LogicalPlan) -> Result<LogicalPlan> {
    let node = |node| {
        let node = typed(node)?.transform_data(aggregates::of_types)?.transform_data(orders_with_one_zero)?;
        // Sums come last: they put a projection above the aggregates and windows whose keys the others change.
        node.transform_data(intervals::ordered)?.transform_data(aggregates::exact_sums)?.transform_data(bags)
    };
    match has_subqueries(&plan) {
        true => plan.transform_up_with_subqueries(node),
        false => plan.transform_up(node),
    }
    .map(|plan| plan.data)
}

fn orders_with_one_zero(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let replace = |expr: &mut Expr, schema: &DFSchema| {
        if let Some(new) = one_zero(expr.clone(), schema) {
            *expr = new;
        }
    };
    let order = |expr: &mut Expr, schema: &DFSchema| match expr
        .to_field(schema)
        .ok()
        .and_then(|(_, field)| categories::place(expr, &field))
    {
        Some(place) => *expr = place,
        None => replace(expr, schema),
    };
    match node {
        LogicalPlan::Sort(mut sort) => {
            let schema = Arc::clone(sort.input.schema());
            sort.expr.iter_mut().for_each(|key| order(&mut key.expr, &schema));
            Ok(Transformed::yes(LogicalPlan::Sort(sort)))
        }
        LogicalPlan::Window(window) => {
            let schema = Arc::clone(window.input.schema());
            let names = NamePreserver::new_for_projection();
            LogicalPlan::Window(window).map_expressions(|expr| {
                let saved = names.save(&expr);
                if !matches!(bare(&expr), Expr::WindowFunction(_)) {
                    return Ok(Transformed::no(expr));
                }
                let Expr::WindowFunction(mut call) = unnamed(expr) else { unreachable!("it is one without its name") };
                let params = &mut call.params;
                params.order_by.iter_mut().for_each(|key| order(&mut key.expr, &schema));
                params.partition_by.iter_mut().for_each(|key| replace(key, &schema));
                Ok(Transformed::yes(saved.restore(Expr::WindowFunction(call))))
            })
        }
        node => Ok(Transformed::no(node)),
    }
}

/// `except all` and `intersect all`, which DataFusion makes joins of. The joins are by the rows and, here, by the
/// number of each among its equals. As many are left out, or kept, as there are on the other side.
fn bags(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(join) = &node else { return Ok(Transformed::no(node)) };
    let is_set = matches!(join.join_type, JoinType::LeftAnti | JoinType::LeftSemi)
        && join.null_equality == NullEquality::NullEqualsNull
        && join.filter.is_none()
        && join.on.len() == join.left.schema().fields().len();
    // Without `all` the rows on the left are distinct.
    if !is_set || matches!(join.left.as_ref(), LogicalPlan::Distinct(_)) {
        return Ok(Transformed::no(node));
    }
    let nth = format!("{HIDDEN}nth");
    let columns = |plan: &LogicalPlan| plan.schema().columns().into_iter().map(Expr::Column).collect::<Vec<_>>();
    let numbered = |plan: &Arc<LogicalPlan>| {
        let all = columns(plan);
        let number = datafusion::functions_window::expr_fn::row_number().partition_by(all.clone()).build()?;
        let name = number.schema_name().to_string();
        let numbers = Expr::Column(Column::from_name(name)).alias(&nth);
        let plan = LogicalPlanBuilder::new_from_arc(Arc::clone(plan)).window(vec![number])?;
        plan.project(all.into_iter().chain([numbers]))?.build()
    };
    let (left, right) = (numbered(&join.left)?, numbered(&join.right)?);
    let number = || Expr::Column(Column::from_name(&nth));
    let mut new = join.clone();
    new.on.push((number(), number()));
    (new.left, new.right) = (Arc::new(left), Arc::new(right));
    let joined = LogicalPlan::Join(new).recompute_schema()?;
    let plan = LogicalPlanBuilder::from(joined).project(columns(&join.left))?.build()?;
    Ok(Transformed::yes(plan))
}

/// Decimals next to floats become floats: DataFusion would make decimals of floats to compare them, and fail for NaN.
fn meet(exprs: &mut [&mut Expr], dtypes: &[DataType]) -> bool {
    let double = dtypes.contains(&DataType::Float64);
    if !(double || dtypes.contains(&DataType::Float32)) || !dtypes.iter().any(type_coercion::is_decimal) {
        return false;
    }
    let float = if double { DataType::Float64 } else { DataType::Float32 };
    for (expr, dtype) in exprs.iter_mut().zip(dtypes) {
        if type_coercion::is_decimal(dtype) {
            let literal = match &**expr {
                Expr::Literal(value, _) if double => exact_double(value).or_else(|| value.cast_to(&float).ok()),
                Expr::Literal(value, _) => value.cast_to(&float).ok(),
                _ => None,
            };
            **expr = match literal {
                Some(value) => Expr::Literal(value, None),
                None => cast(expr.clone(), float.clone()),
            };
        }
    }
    true
}

/// Casts operands of one operator to types that go together: see [`meet`], [`datetime::meet`] and
/// [`intervals::compared`].
fn beside(exprs: &mut [&mut Expr], schema: &DFSchema, compared: bool) -> bool {
    let dtypes: Vec<DataType> = exprs.iter().map(|e| e.get_type(schema).unwrap_or(DataType::Null)).collect();
    let changed = meet(exprs, &dtypes);
    compared && (datetime::meet(exprs, &dtypes) | intervals::compared(exprs, &dtypes)) || changed
}

/// Rounds the argument of a cast to an integer: halves of floats go to the even neighbour, halves of decimals away from
/// zero. `None` if there is nothing to round.
fn rounded(value: &Expr, schema: &DFSchema) -> Option<Expr> {
    match value.get_type(schema) {
        // A decimal literal is a float here, but a decimal in DuckDB.
        Ok(t) if t.is_floating() && matches!(value, Expr::Literal(..)) => {
            Some(datafusion::functions::expr_fn::round(vec![value.clone()]))
        }
        Ok(t) if t.is_floating() => {
            let body: Body = |args| {
                let values = args[0].as_primitive::<Float64Type>();
                Ok(Arc::new(values.unary::<_, Float64Type>(f64::round_ties_even)))
            };
            let value = cast(value.clone(), DataType::Float64);
            Some(kernel("round_half_even", DataType::Float64, body).call(vec![value]))
        }
        Ok(t) if type_coercion::is_decimal(&t) => Some(datafusion::functions::expr_fn::round(vec![value.clone()])),
        _ => None,
    }
}

/// Gives expressions the types of DuckDB. A cast of a fraction to an integer rounds, where Arrow's truncates. A decimal
/// with a float is a float.
fn typed(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    // DataFusion finds the common types later: until then a union says that it has those of its first input.
    if let LogicalPlan::Union(union) = node {
        let schema = Arc::new(in_common(&union)?);
        let inputs = union.inputs.into_iter();
        let inputs =
            inputs.map(|input| coerce_plan_expr_for_schema(Arc::unwrap_or_clone(input), &schema).map(Arc::new));
        return Ok(Transformed::yes(LogicalPlan::Union(Union { inputs: inputs.collect::<Result<_>>()?, schema })));
    }
    let mut plain = true;
    node.apply_expressions(|expr| {
        plain &= is_column(expr);
        Ok(if plain { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    if plain {
        // The inputs may have other types now.
        return Ok(Transformed::yes(node.recompute_schema()?));
    }
    let inputs = node.inputs();
    let schema = match inputs.as_slice() {
        [] => return Ok(Transformed::no(node)),
        [one] => one.schema().as_ref().clone(),
        many => {
            let mut schema = many[0].schema().as_ref().clone();
            many[1..].iter().for_each(|input| schema.merge(input.schema()));
            schema
        }
    };
    let names = NamePreserver::new(&node);
    node.map_expressions(|expr| {
        let saved = names.save(&expr);
        let new = expr.transform_up(|e| match e {
            named if aliases::without(&named).is_some() => {
                Ok(Transformed::yes(aliases::without(&named).unwrap_or(&named).clone()))
            }
            Expr::Cast(ref c) if is_varchar_of(&c.expr, c.field.data_type(), &schema) => {
                Ok(Transformed::yes(varchar::call(c.expr.as_ref().clone())))
            }
            Expr::TryCast(ref c) if is_varchar_of(&c.expr, c.field.data_type(), &schema) => {
                Ok(Transformed::yes(varchar::call(c.expr.as_ref().clone())))
            }
            Expr::Cast(ref c) if is_long_decimal(&c.expr, c.field.data_type(), &schema) => {
                Ok(Transformed::yes(match c.expr.as_ref() {
                    // The cast stays: a float that is written without one stands for a decimal, which is rounded
                    // otherwise.
                    Expr::Literal(value, _) if let Some(value) = exact_double(value) => {
                        cast(Expr::Literal(value, None), DataType::Float64)
                    }
                    value => as_double(value.clone()),
                }))
            }
            Expr::Cast(ref c) if is_nested_of_text(&c.expr, c.field.data_type(), &schema) => {
                Ok(Transformed::yes(nested::call(c.expr.as_ref().clone(), c.field.data_type(), true)?))
            }
            Expr::TryCast(ref c) if is_nested_of_text(&c.expr, c.field.data_type(), &schema) => {
                Ok(Transformed::yes(nested::call(c.expr.as_ref().clone(), c.field.data_type(), false)?))
            }
            Expr::Cast(mut c)
                if *c.field.data_type() == DataType::Boolean
                    && c.expr.get_type(&schema).is_ok_and(|dtype| type_coercion::is_decimal(&dtype)) =>
            {
                c.expr = Box::new(cast(c.expr.as_ref().clone(), DataType::Float64));
                Ok(Transformed::yes(Expr::Cast(c)))
            }
            Expr::TryCast(ref c) if is_time_of_integer(&c.expr, c.field.data_type(), &schema) => {
                Ok(Transformed::yes(nothing(&c.expr, c.field.data_type(), &schema)?))
            }
            Expr::Cast(mut c) if c.field.data_type().is_integer() => match rounded(&c.expr, &schema) {
                Some(value) => {
                    c.expr = Box::new(value);
                    Ok(Transformed::yes(Expr::Cast(c)))
                }
                None => Ok(Transformed::no(Expr::Cast(c))),
            },
            Expr::TryCast(mut c) if c.field.data_type().is_integer() => match rounded(&c.expr, &schema) {
                Some(value) => {
                    c.expr = Box::new(value);
                    Ok(Transformed::yes(Expr::TryCast(c)))
                }
                None => Ok(Transformed::no(Expr::TryCast(c))),
            },
            Expr::BinaryExpr(b)
                if is_comparison(b.op) && b.left.get_type(&schema).is_ok_and(|dtype| dtype.is_nested()) =>
            {
                match varchar::compared(b.op, b.left.as_ref().clone(), b.right.as_ref().clone()) {
                    Some(new) => Ok(Transformed::yes(new)),
                    None => Ok(Transformed::no(Expr::BinaryExpr(b))),
                }
            }
            Expr::BinaryExpr(mut b) => {
                let changed = beside(&mut [&mut b.left, &mut b.right], &schema, is_comparison(b.op));
                Ok(Transformed::new_transformed(Expr::BinaryExpr(b), changed))
            }
            Expr::Between(mut b) => {
                let changed = beside(&mut [&mut b.expr, &mut b.low, &mut b.high], &schema, true);
                Ok(Transformed::new_transformed(Expr::Between(b), changed))
            }
            Expr::InList(mut i) => {
                let mut all: Vec<&mut Expr> = vec![&mut i.expr];
                all.extend(&mut i.list);
                let changed = beside(&mut all, &schema, true);
                Ok(Transformed::new_transformed(Expr::InList(i), changed))
            }
            Expr::Case(mut c) => {
                let (mut tests, mut values): (Vec<&mut Expr>, Vec<&mut Expr>) =
                    c.when_then_expr.iter_mut().map(|(w, t)| (w.as_mut(), t.as_mut())).unzip();
                values.extend(c.else_expr.as_deref_mut());
                let mut changed = beside(&mut values, &schema, false);
                if let Some(base) = c.expr.as_deref_mut() {
                    tests.push(base);
                    changed |= beside(&mut tests, &schema, true);
                }
                changed |= cases::meet(&mut c, &schema);
                Ok(Transformed::new_transformed(Expr::Case(c), changed))
            }
            Expr::ScalarFunction(mut f) if ["coalesce", "greatest", "least"].contains(&f.func.name()) => {
                let compared = f.func.name() != "coalesce";
                let changed = beside(&mut f.args.iter_mut().collect::<Vec<_>>(), &schema, compared);
                Ok(Transformed::new_transformed(Expr::ScalarFunction(f), changed))
            }
            Expr::ScalarFunction(f) if f.func.name() == "negate" && f.args.len() == 1 => {
                let new = f.args[0].get_type(&schema).ok().and_then(|dtype| intervals::negated(&f.args[0], &dtype));
                Ok(new.map_or_else(|| Transformed::no(Expr::ScalarFunction(f)), Transformed::yes))
            }
            // Bytes are shown as in a string.
            Expr::ScalarFunction(mut f)
                if f.func.name() == "concat" && f.args.iter().any(|arg| is_binary(arg, &schema)) =>
            {
                for arg in f.args.iter_mut().filter(|arg| is_binary(arg, &schema)) {
                    *arg = varchar::call(arg.clone());
                }
                Ok(Transformed::yes(Expr::ScalarFunction(f)))
            }
            Expr::ScalarFunction(f) if matches!(f.func.name(), "concat" | "concat_ws" | "array_concat") => {
                let new = library::concatenated(f.func.name(), &f.args, &schema);
                Ok(new.map_or_else(|| Transformed::no(Expr::ScalarFunction(f)), Transformed::yes))
            }
            other @ (Expr::Cast(_) | Expr::TryCast(_) | Expr::ScalarFunction(_)) => {
                Ok(datetime::lowered(other, &schema).map_or_else(Transformed::no, Transformed::yes))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(new.update_data(|e| saved.restore(e)))
    })?
    .map_data(LogicalPlan::recompute_schema)
}

/// Whether a value becomes a string, of a type whose strings have another form in Arrow.
fn is_varchar_of(value: &Expr, to: &DataType, schema: &DFSchema) -> bool {
    type_coercion::is_string(to) && value.get_type(schema).is_ok_and(|dtype| varchar::differs(&dtype))
}

fn is_binary(value: &Expr, schema: &DFSchema) -> bool {
    value.get_type(schema).is_ok_and(|dtype| dtype == DataType::Binary)
}

/// Whether Arrow's division would not round a decimal to the nearest float. It is a literal, or has more than 15 digits
/// behind the point. Other decimals stay with Arrow, whose cast devices have, too.
fn is_long_decimal(value: &Expr, to: &DataType, schema: &DFSchema) -> bool {
    let scale = match value.get_type(schema) {
        Ok(DataType::Decimal128(_, scale)) => scale,
        _ => return false,
    };
    *to == DataType::Float64 && (scale > 15 || matches!(value, Expr::Literal(..)))
}

/// Whether a string becomes a list, a struct or a map.
fn is_nested_of_text(value: &Expr, to: &DataType, schema: &DFSchema) -> bool {
    to.is_nested()
        && !matches!(to, DataType::Dictionary(..))
        && value.get_type(schema).is_ok_and(|dtype| type_coercion::is_string(&dtype))
}

/// Whether integers, or lists of them, are cast to dates or times: DuckDB has no such cast.
fn is_time_of_integer(value: &Expr, to: &DataType, schema: &DFSchema) -> bool {
    let inner = |dtype: &DataType| match dtype {
        DataType::List(field) | DataType::FixedSizeList(field, _) => field.data_type().clone(),
        other => other.clone(),
    };
    type_coercion::is_date_or_time(&inner(to)) && value.get_type(schema).is_ok_and(|dtype| inner(&dtype).is_integer())
}

/// Null, or a list of nulls for each list.
fn nothing(value: &Expr, to: &DataType, schema: &DFSchema) -> Result<Expr> {
    let null = ScalarValue::try_from(to)?;
    if !type_coercion::is_list(&value.get_type(schema)?) {
        return Ok(Expr::Literal(null, None));
    }
    // Elements as strings that are no times.
    let blank: Body = |args| {
        let (DataType::List(of) | DataType::FixedSizeList(of, _)) = args[0].data_type() else {
            return Err(error("a list is expected"));
        };
        let list = strict(&args[0], &DataType::List(Arc::clone(of)))?;
        let list = list.as_list::<i32>();
        let field = Arc::new(arrow::datatypes::Field::new_list_field(
            DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, None),
            true,
        ));
        let nulls = arrow::array::new_null_array(field.data_type(), list.values().len());
        Ok(Arc::new(arrow::array::ListArray::try_new(field, list.offsets().clone(), nulls, list.nulls().cloned())?))
    };
    let micros = DataType::List(Arc::new(arrow::datatypes::Field::new_list_field(
        DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, None),
        true,
    )));
    Ok(cast(kernel("nulls_of", micros, blank).call(vec![value.clone()]), to.clone()))
}

/// The columns of a union, in types that hold those of all inputs.
fn in_common(union: &Union) -> Result<DFSchema> {
    let schema = coerce_union_schema(&union.inputs)?;
    let has_float = |index: usize| union.inputs.iter().any(|i| i.schema().field(index).data_type().is_floating());
    let fields = schema.iter().enumerate().map(|(index, (qualifier, field))| {
        let field = match type_coercion::is_decimal(field.data_type()) && has_float(index) {
            true => Arc::new(field.as_ref().clone().with_data_type(DataType::Float64)),
            false => Arc::clone(field),
        };
        (qualifier.cloned(), field)
    });
    DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())
}

/// A text literal takes the other side's type; a text column and a number do not compare.
fn compare(raw: RawBinaryExpr, left: &DataType, right: &DataType) -> Result<PlannerResult<RawBinaryExpr>> {
    // A boolean is 1 or 0 where it meets an integer.
    if *left == DataType::Boolean && right.is_integer() {
        let raw = RawBinaryExpr { op: raw.op, left: cast(raw.left, right.clone()), right: raw.right };
        return Ok(PlannerResult::Original(raw));
    }
    if *right == DataType::Boolean && left.is_integer() {
        let raw = RawBinaryExpr { op: raw.op, left: raw.left, right: cast(raw.right, left.clone()) };
        return Ok(PlannerResult::Original(raw));
    }
    let (text_left, text_right) = (type_coercion::is_text(left), type_coercion::is_text(right));
    if text_left == text_right || !(type_coercion::is_number(left) || type_coercion::is_number(right)) {
        return Ok(PlannerResult::Original(raw));
    }
    let (text, number) = if text_left { (&raw.left, right) } else { (&raw.right, left) };
    let Expr::Literal(value, _) = text else {
        let message = format!("`{}` is text and is compared with `{}`", name(text), type_name(number));
        return fail(
            plan_error("type-mismatch", message)
                .help(format!("cast one side: `cast({} as double)`, or write the number in quotes", name(text))),
        );
    };
    match value.cast_to(number) {
        Ok(value) if !value.is_null() => {
            let literal = Expr::Literal(value, None);
            let (left, right) = if text_left { (literal, raw.right) } else { (raw.left, literal) };
            Ok(PlannerResult::Original(RawBinaryExpr { op: raw.op, left, right }))
        }
        _ => {
            let message = format!("the text {value} is not a value of type `{}`", type_name(number));
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
