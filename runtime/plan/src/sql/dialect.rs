//! What operators and aggregates mean in DuckDB, for DataFusion's SQL planner.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::compute;
use arrow::compute::kernels::numeric;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, NullEquality, ScalarValue};
use datafusion::error::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::expr_rewriter::{NamePreserver, coerce_plan_expr_for_schema};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawAggregateExpr, RawBinaryExpr, RawWindowExpr};
use datafusion::logical_expr::{
    AggregateUDF, Expr, ExprFunctionExt, ExprSchemable, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, Union,
    WindowFunctionDefinition, binary_expr, cast,
};
use datafusion::optimizer::analyzer::type_coercion::coerce_union_schema;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::BinaryOperator;
use onrush_wire::Diagnostic;

use super::{functions, names};
use crate::check::{HIDDEN, plan_error, type_name};
use crate::expr::kernels::{Body, kernel};
use crate::expr::math::by_number;
use crate::expr::quantile::{Interpolation, mode, product, quantile};
use crate::rules::{has_subqueries, is_column};
use crate::types;

pub fn register(context: &SessionContext) -> Result<()> {
    let state = context.state_ref();
    let mut state = state.write();
    state.register_expr_planner(Arc::new(DuckDb))?;
    state.register_udaf(mode())?;
    state.register_udf(kernel("len", DataType::Int64, |args| length(&args[0])))?;
    state.register_udaf(product())?;
    state.register_udf(names::function())?;
    for (name, body) in [
        ("sqrt", (|args| by_number(args, f64::sqrt)) as Body),
        ("ln", |args| by_number(args, f64::ln)),
        ("log2", |args| by_number(args, f64::log2)),
        ("log10", |args| by_number(args, f64::log10)),
    ] {
        state.register_udf(kernel(name, DataType::Float64, body))?;
    }
    Ok(())
}

/// Elements of a list, characters of a text.
fn length(values: &ArrayRef) -> Result<ArrayRef> {
    if types::is_list(values.data_type()) {
        return Ok(compute::cast(&compute::kernels::length::length(values)?, &DataType::Int64)?);
    }
    let texts = compute::cast(values, &types::TEXT)?;
    let lengths = texts.as_string_view().iter().map(|t| t.map(|t| t.chars().count() as i64));
    Ok(Arc::new(lengths.collect::<Int64Array>()))
}

#[derive(Debug)]
struct DuckDb;

pub fn fail<T>(diagnostic: Diagnostic) -> Result<T> {
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
            // In single precision if one side is, as in DuckDB, and the other is no more.
            BinaryOperator::Divide
                if (left == DataType::Float32 && (right == DataType::Float32 || right.is_integer()))
                    || (right == DataType::Float32 && left.is_integer()) =>
            {
                let single = |e: Expr| cast(e, DataType::Float32);
                Ok(PlannerResult::Planned(binary_expr(single(raw.left), Operator::Divide, single(raw.right))))
            }
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
            // A literal does not widen: `u64 % 5` would be a decimal.
            BinaryOperator::Modulo if left.is_integer() && right.is_integer() => {
                let (a, b, _) = in_one_type(&raw, &left, &right);
                Ok(PlannerResult::Planned(binary_expr(a, Operator::Modulo, b)))
            }
            BinaryOperator::PGExp | BinaryOperator::BitwiseXor if numbers => {
                let power = datafusion::functions::expr_fn::power(float(&raw.left), float(&raw.right));
                Ok(PlannerResult::Planned(power))
            }
            // Categories are texts.
            BinaryOperator::StringConcat if [&left, &right].into_iter().any(is_category) => {
                let text =
                    |expr: Expr, dtype: &DataType| if is_category(dtype) { cast(expr, types::TEXT) } else { expr };
                let (left, right) = (text(raw.left, &left), text(raw.right, &right));
                Ok(PlannerResult::Original(RawBinaryExpr { op: raw.op, left, right }))
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
            // DataFusion's own is accurate to six digits.
            ("percentile_cont", [x, Expr::Literal(q, _)]) if !distinct => match q.cast_to(&DataType::Float64) {
                Ok(ScalarValue::Float64(Some(q))) if (0.0..=1.0).contains(&q) => PlannerResult::Planned(call(
                    quantile(q, Interpolation::Linear),
                    vec![cast(x.clone(), DataType::Float64)],
                )),
                _ => return fail(plan_error("argument", "a quantile lies between 0 and 1")),
            },
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

fn is_category(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Dictionary(..)) && types::is_text(dtype)
}

/// Sorts, windows and distinct counts of floats take the two zeros for one value.
fn one_zero(expr: Expr, schema: &DFSchema) -> Option<Expr> {
    let dtype = expr.get_type(schema).ok()?;
    dtype.is_floating().then(|| types::one_zero(expr, &dtype))
}

/// A plan in which types, sums and zeros are what DuckDB makes of them.
pub fn as_duckdb_means(plan: LogicalPlan) -> Result<LogicalPlan> {
    let node = |node| {
        let node = typed(node)?.transform_data(exact_sums)?;
        node.transform_data(orders_with_one_zero)?.transform_data(bags)
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
    match node {
        LogicalPlan::Sort(mut sort) => {
            let schema = Arc::clone(sort.input.schema());
            sort.expr.iter_mut().for_each(|key| replace(&mut key.expr, &schema));
            Ok(Transformed::yes(LogicalPlan::Sort(sort)))
        }
        LogicalPlan::Window(window) => {
            let schema = Arc::clone(window.input.schema());
            let names = NamePreserver::new_for_projection();
            LogicalPlan::Window(window).map_expressions(|expr| {
                let saved = names.save(&expr);
                let Expr::WindowFunction(mut call) = expr else { return Ok(Transformed::no(expr)) };
                let params = &mut call.params;
                params.order_by.iter_mut().for_each(|key| replace(&mut key.expr, &schema));
                params.partition_by.iter_mut().for_each(|key| replace(key, &schema));
                Ok(Transformed::yes(saved.restore(Expr::WindowFunction(call))))
            })
        }
        node => Ok(Transformed::no(node)),
    }
}

/// `except all` and `intersect all`, which DataFusion makes joins of: by the rows and, here, by the number of each among its equals, so that as many are
/// left out, or kept, as there are on the other side.
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

/// Sums of whole numbers are exact in 38 digits, and an error where the sum is no 64-bit number (DuckDB gives a 128-bit
/// one, DataFusion wraps). Distinct counts of floats count the two zeros once.
fn exact_sums(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Aggregate(aggregate) = &node else { return Ok(Transformed::no(node)) };
    let schema = aggregate.input.schema();
    let groups = aggregate.schema.fields().len() - aggregate.aggr_expr.len();
    let mut changed = Vec::new();
    let mut aggregates = Vec::new();
    for (index, expr) in aggregate.aggr_expr.iter().enumerate() {
        let wide = match expr {
            Expr::AggregateFunction(f) if f.func.name() == "sum" && f.params.args.len() == 1 => {
                let whole = f.params.args[0].get_type(schema).is_ok_and(|t| t.is_integer());
                whole.then(|| {
                    let mut f = f.clone();
                    f.params.args = vec![cast(f.params.args[0].clone(), DataType::Decimal128(38, 0))];
                    Expr::AggregateFunction(f)
                })
            }
            Expr::AggregateFunction(f) if f.params.distinct && f.func.name() == "count" && f.params.args.len() == 1 => {
                one_zero(f.params.args[0].clone(), schema).map(|arg| {
                    let mut f = f.clone();
                    f.params.args = vec![arg];
                    Expr::AggregateFunction(f)
                })
            }
            _ => None,
        };
        changed.push(wide.is_some().then(|| format!("{HIDDEN}sum_{index}")));
        aggregates.push(match (wide, changed.last()) {
            (Some(wide), Some(Some(name))) => wide.alias(name),
            _ => expr.clone(),
        });
    }
    if changed.iter().all(Option::is_none) {
        return Ok(Transformed::no(node));
    }
    let fields = aggregate.schema.iter().enumerate().map(|(index, (qualifier, field))| {
        let hidden = index.checked_sub(groups).and_then(|i| changed[i].as_ref());
        match hidden {
            Some(name) => cast(Expr::Column(Column::from_name(name)), field.data_type().clone()).alias(field.name()),
            None => Expr::Column(Column::new(qualifier.cloned(), field.name())),
        }
    });
    let fields: Vec<Expr> = fields.collect();
    let plan = LogicalPlanBuilder::new_from_arc(Arc::clone(&aggregate.input))
        .aggregate(aggregate.group_expr.clone(), aggregates)?
        .project(fields)?
        .build()?;
    Ok(Transformed::yes(plan))
}

/// Where floats and decimals meet, the decimals become floats: DataFusion would make decimals of floats to compare them, and fail for
/// NaN.
fn meet(exprs: &mut [&mut Expr], schema: &DFSchema) -> bool {
    let dtypes: Vec<DataType> = exprs.iter().map(|e| e.get_type(schema).unwrap_or(DataType::Null)).collect();
    let double = dtypes.contains(&DataType::Float64);
    if !(double || dtypes.contains(&DataType::Float32)) || !dtypes.iter().any(types::is_decimal) {
        return false;
    }
    let float = if double { DataType::Float64 } else { DataType::Float32 };
    for (expr, dtype) in exprs.iter_mut().zip(&dtypes) {
        if types::is_decimal(dtype) {
            let literal = match &**expr {
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

/// Texts beside times, which become times: those that are written to the minute with seconds.
fn to_the_second(exprs: &mut [&mut Expr], schema: &DFSchema) -> bool {
    let is_text = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if types::is_text(&value.data_type()));
    let is_time = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::Timestamp(..)));
    if !exprs.iter().any(|expr| is_text(expr)) || !exprs.iter().any(|expr| is_time(expr)) {
        return false;
    }
    let mut changed = false;
    for expr in exprs {
        let Expr::Literal(value, _) = &**expr else { continue };
        let text = value.try_as_str().flatten().and_then(functions::with_seconds);
        if let Some(text) = text {
            **expr = Expr::Literal(ScalarValue::Utf8View(Some(text)), None);
            changed = true;
        }
    }
    changed
}

/// What a cast to a whole number casts: halves of floats go to the even neighbour, those of decimals away from zero. `None` where
/// there is nothing to round.
fn rounded(value: &Expr, schema: &DFSchema) -> Option<Expr> {
    match value.get_type(schema) {
        // What is written with a point is a decimal in DuckDB.
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
        Ok(t) if types::is_decimal(&t) => Some(datafusion::functions::expr_fn::round(vec![value.clone()])),
        _ => None,
    }
}

/// Types as DuckDB has them: a cast of a fraction to a whole number rounds, where Arrow's cuts; decimals beside floats are floats.
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
        // What is below may have other types now.
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
            named if names::without(&named).is_some() => {
                Ok(Transformed::yes(names::without(&named).unwrap_or(&named).clone()))
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
            Expr::BinaryExpr(mut b) => {
                let mut changed = to_the_second(&mut [&mut b.left, &mut b.right], &schema);
                changed |= meet(&mut [&mut b.left, &mut b.right], &schema);
                Ok(Transformed::new_transformed(Expr::BinaryExpr(b), changed))
            }
            Expr::Between(mut b) => {
                let mut changed = to_the_second(&mut [&mut b.expr, &mut b.low, &mut b.high], &schema);
                changed |= meet(&mut [&mut b.expr, &mut b.low, &mut b.high], &schema);
                Ok(Transformed::new_transformed(Expr::Between(b), changed))
            }
            Expr::InList(mut i) => {
                let mut all: Vec<&mut Expr> = vec![&mut i.expr];
                all.extend(&mut i.list);
                let changed = meet(&mut all, &schema);
                Ok(Transformed::new_transformed(Expr::InList(i), changed))
            }
            Expr::Case(mut c) => {
                let (mut tests, mut values): (Vec<&mut Expr>, Vec<&mut Expr>) =
                    c.when_then_expr.iter_mut().map(|(w, t)| (w.as_mut(), t.as_mut())).unzip();
                values.extend(c.else_expr.as_deref_mut());
                let mut changed = meet(&mut values, &schema);
                if let Some(base) = c.expr.as_deref_mut() {
                    tests.push(base);
                    changed |= meet(&mut tests, &schema);
                }
                Ok(Transformed::new_transformed(Expr::Case(c), changed))
            }
            Expr::ScalarFunction(mut f) if ["coalesce", "greatest", "least"].contains(&f.func.name()) => {
                let changed = meet(&mut f.args.iter_mut().collect::<Vec<_>>(), &schema);
                Ok(Transformed::new_transformed(Expr::ScalarFunction(f), changed))
            }
            // Of a date it is a time, which DataFusion counts in nanoseconds: from 1677 to 2262.
            Expr::ScalarFunction(mut f) if f.func.name() == "date_trunc" && f.args.len() == 2 => {
                match f.args[1].get_type(&schema) {
                    Ok(DataType::Date32) => {
                        let micros = DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, None);
                        f.args[1] = cast(f.args[1].clone(), micros);
                        Ok(Transformed::yes(Expr::ScalarFunction(f)))
                    }
                    _ => Ok(Transformed::no(Expr::ScalarFunction(f))),
                }
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(new.update_data(|e| saved.restore(e)))
    })?
    .map_data(LogicalPlan::recompute_schema)
}

/// The columns of a union, in types that hold those of all inputs.
fn in_common(union: &Union) -> Result<DFSchema> {
    let schema = coerce_union_schema(&union.inputs)?;
    let has_float = |index: usize| union.inputs.iter().any(|i| i.schema().field(index).data_type().is_floating());
    let fields = schema.iter().enumerate().map(|(index, (qualifier, field))| {
        let field = match types::is_decimal(field.data_type()) && has_float(index) {
            true => Arc::new(field.as_ref().clone().with_data_type(DataType::Float64)),
            false => Arc::clone(field),
        };
        (qualifier.cloned(), field)
    });
    DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())
}

/// Two whole numbers in one type: a literal takes the column's type where it fits, as in DuckDB.
fn in_one_type(raw: &RawBinaryExpr, left: &DataType, right: &DataType) -> (Expr, Expr, DataType) {
    let fits = |e: &Expr, dtype: &DataType| match e {
        Expr::Literal(value, _) => value.cast_to(dtype).ok().filter(|v| !v.is_null()).map(|v| Expr::Literal(v, None)),
        _ => None,
    };
    let is_literal = |e: &Expr| matches!(e, Expr::Literal(..));
    match (is_literal(&raw.left), is_literal(&raw.right)) {
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
    }
}

/// Whole-number arithmetic that fails instead of wrapping.
fn checked(raw: &RawBinaryExpr, left: &DataType, right: &DataType) -> Expr {
    let (a, b, dtype) = in_one_type(raw, left, right);
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
