//! One NaN on the CPU: arithmetic such as `0.0 / 0.0` makes NaNs with a minus sign on x86 processors. Comparisons,
//! sorts, group keys and join keys of Arrow would put them below all numbers and apart from other NaNs.
//!
//! The columns of frames have one NaN (`onrush_frame::nan`). This pass finds expressions that can make another one, and
//! puts [`one_nan`] around the outermost of them, before anything looks at the value. It is the last pass, so that no
//! other rule sees the function. Finite operands need none: `x * 2.0 + 1.0` is left as it is.

use std::any::Any;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DFSchemaRef, JoinType, ScalarValue};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Distinct, Expr, ExprSchemable, LogicalPlan, Operator};
use onrush_expr::nan::{is_one_nan, one_nan};
use onrush_expr::scalar_udf::{cast_target, is_ours};
use onrush_expr::type_coercion::is_text;
use onrush_logical::mem_table::HeldTable;
use onrush_logical::predicates::is_column;

/// Functions of numbers for which every NaN is the same, and which may give any NaN.
const ONE_NAN_FUNCTIONS: [&str; 28] = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "cos", "cosh", "cot", "degrees", "exp",
    "floor", "ln", "log", "log10", "log2", "power", "pow", "radians", "round", "sin", "sqrt", "steps", "tan", "trunc",
];
/// Functions that give one of their arguments, or a part of one.
const CHOOSING_FUNCTIONS: [&str; 11] =
    ["coalesce", "nullif", "nvl", "nvl2", "ifnull", "greatest", "least", "get_field", "array_element", "random", "abs"];
/// Aggregates of numbers for which every NaN is the same.
const ONE_NAN_AGGREGATES: [&str; 11] = [
    "sum",
    "avg",
    "var",
    "var_samp",
    "var_pop",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "corr",
    "covar_samp",
    "covar_pop",
];
/// Aggregates and window functions that give one of their values.
const CHOOSING_AGGREGATES: [&str; 8] = ["min", "max", "first_value", "last_value", "nth_value", "lag", "lead", "mode"];

/// The plan with one NaN wherever values are compared, hashed, sorted or given out.
///
/// # Errors
/// Those of DataFusion, if the type of an expression is unknown.
pub fn everywhere(plan: LogicalPlan) -> Result<LogicalPlan> {
    // For each node that waits for the one above, which of its columns can have another NaN.
    let mut waiting: Vec<Vec<bool>> = Vec::new();
    let node = |node: LogicalPlan| {
        let node = node.map_subqueries(|subquery| everywhere(subquery).map(Transformed::yes))?.data;
        let inputs = waiting.split_off(waiting.len().saturating_sub(node.inputs().len()));
        let node = mended(node, &inputs)?;
        waiting.push(columns(&node, inputs));
        Ok(Transformed::yes(node))
    };
    plan.transform_up(node).map(|plan| plan.data)
}

/// Arithmetic between constants, which the simplifier evaluates and compares before the other pass comes.
pub fn of_constants(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut any = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            any |= expr.exists(|expr| Ok(is_constant(expr)))?;
            Ok(if any { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    if !any {
        return Ok(plan);
    }
    let wrapped = |expr: Expr| match is_constant(&expr) {
        true => Ok(Transformed::new(one_nan().call(vec![expr]), true, TreeNodeRecursion::Jump)),
        false => Ok(Transformed::no(expr)),
    };
    let node = |node: LogicalPlan| {
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            expr.transform_down(wrapped).map(|new| new.update_data(|expr| name.restore(expr)))
        })
    };
    plan.transform_up_with_subqueries(node).map(|plan| plan.data)
}

/// Arithmetic between two float constants.
fn is_constant(expr: &Expr) -> bool {
    let of_float = |expr: &Expr| match expr {
        Expr::Literal(ScalarValue::Float64(_) | ScalarValue::Float32(_), _) => true,
        Expr::Cast(cast) => cast.field.data_type().is_floating() && matches!(*cast.expr, Expr::Literal(..)),
        _ => false,
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => is_arithmetic(*op) && of_float(left) && of_float(right),
        _ => false,
    }
}

fn is_arithmetic(op: Operator) -> bool {
    matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo)
}

/// A node whose expressions have one NaN.
fn mended(plan: LogicalPlan, others: &[Vec<bool>]) -> Result<LogicalPlan> {
    if matches!(plan, LogicalPlan::TableScan(_) | LogicalPlan::Extension(_) | LogicalPlan::Unnest(_)) {
        return Ok(plan);
    }
    let is_clean = others.iter().all(|columns| !columns.contains(&true));
    let mut is_plain = true;
    plan.apply_expressions(|expr| {
        is_plain &= is_column(expr);
        Ok(if is_plain { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    if is_clean && is_plain {
        return Ok(plan);
    }
    let schema: DFSchemaRef = match plan.inputs()[..] {
        [input] => Arc::clone(input.schema()),
        ref inputs => Arc::new(merge_schema(inputs)),
    };
    let inputs = plan.inputs().iter().map(|input| Arc::clone(input.schema())).zip(others.iter().cloned()).collect();
    let look = NodeExprs { schema, inputs: if is_clean { Vec::new() } else { inputs } };
    let has_names = !matches!(
        plan,
        LogicalPlan::Filter(_) | LogicalPlan::Join(_) | LogicalPlan::Sort(_) | LogicalPlan::Repartition(_)
    );
    let names = NamePreserver::new(&plan);
    let new = plan.map_expressions(|expr| {
        let name = has_names.then(|| names.save(&expr));
        let (new, value) = look.visit(expr)?;
        let keeps = matches!(new.data, Expr::AggregateFunction(_) | Expr::WindowFunction(_));
        let new = if value.other && !keeps { wrapped(new) } else { new };
        Ok(match (new.transformed, name) {
            (true, Some(name)) => new.update_data(|expr| name.restore(expr)),
            _ => new,
        })
    })?;
    Ok(new.data)
}

fn wrapped(expr: Transformed<Expr>) -> Transformed<Expr> {
    Transformed::yes(one_nan().call(vec![expr.data]))
}

/// Whether each column of a node can have another NaN.
fn columns(plan: &LogicalPlan, inputs: Vec<Vec<bool>>) -> Vec<bool> {
    let fields = plan.schema().fields();
    let is_float = |place: usize| fields[place].data_type().is_floating();
    let floats = || (0..fields.len()).map(is_float).collect::<Vec<_>>();
    let none = || vec![false; fields.len()];
    let made = |expr: &Expr, place: usize| is_float(place) && !picks(expr);
    let mut inputs = inputs.into_iter();
    let of_inputs = match plan {
        LogicalPlan::TableScan(scan) => {
            let provider = source_as_provider(&scan.source).ok();
            let is_held = provider.is_some_and(|provider| (provider.as_ref() as &dyn Any).is::<HeldTable>());
            return if is_held { none() } else { floats() };
        }
        LogicalPlan::Values(_) | LogicalPlan::EmptyRelation(_) | LogicalPlan::Projection(_) => return none(),
        LogicalPlan::Aggregate(aggregate) => {
            let groups = fields.len() - aggregate.aggr_expr.len();
            let aggregates = aggregate.aggr_expr.iter().enumerate().map(|(i, expr)| made(expr, groups + i));
            return vec![false; groups].into_iter().chain(aggregates).collect();
        }
        LogicalPlan::Window(window) => {
            let before = inputs.next().unwrap_or_default();
            let start = before.len();
            let new = window.window_expr.iter().enumerate().map(|(i, expr)| made(expr, start + i)).collect::<Vec<_>>();
            before.into_iter().chain(new).collect()
        }
        LogicalPlan::Join(join) => {
            let (left, right) = (inputs.next().unwrap_or_default(), inputs.next().unwrap_or_default());
            match join.join_type {
                JoinType::LeftSemi | JoinType::LeftAnti => left,
                JoinType::RightSemi | JoinType::RightAnti => right,
                JoinType::LeftMark => [left, vec![false]].concat(),
                JoinType::RightMark => [right, vec![false]].concat(),
                _ => [left, right].concat(),
            }
        }
        LogicalPlan::Union(_) => {
            inputs.reduce(|a, b| a.iter().zip(&b).map(|(a, b)| *a || *b).collect()).unwrap_or_default()
        }
        LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Repartition(_)
        | LogicalPlan::Distinct(Distinct::All(_)) => inputs.next().unwrap_or_default(),
        _ => floats(),
    };
    // A node of another form than expected.
    if of_inputs.len() == fields.len() { of_inputs } else { floats() }
}

/// Whether an aggregate or a window function gives one of its values.
fn picks(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => picks(&alias.expr),
        Expr::AggregateFunction(call) => CHOOSING_AGGREGATES.contains(&call.func.name()),
        Expr::WindowFunction(call) => CHOOSING_AGGREGATES.contains(&call.fun.name()),
        _ => false,
    }
}

/// Facts about the values of an expression.
#[derive(Clone, Copy, Default)]
struct Values {
    /// They can have another NaN.
    other: bool,
    /// They are floats; `None` if that is not known yet.
    float: Option<bool>,
    /// There is no NaN and no infinity among them.
    finite: bool,
    nonzero: bool,
}

impl Values {
    fn float(other: bool) -> Values {
        Values { other, float: Some(true), ..Values::default() }
    }
}

/// The expressions of one node.
struct NodeExprs {
    /// The columns of all inputs.
    schema: DFSchemaRef,
    /// Each input with the columns that can have another NaN. Empty if there are none.
    inputs: Vec<(DFSchemaRef, Vec<bool>)>,
}

impl NodeExprs {
    fn visit(&self, expr: Expr) -> Result<(Transformed<Expr>, Values)> {
        // Sets of groups are recognised by their form, and the parameters of lambdas have no types here.
        if matches!(expr, Expr::GroupingSet(_) | Expr::HigherOrderFunction(_) | Expr::Lambda(_)) {
            return Ok((Transformed::no(expr), Values::default()));
        }
        if let Some(literal) = one_literal(&expr) {
            return Ok((Transformed::yes(literal), Values::float(false)));
        }
        let passes = passes(&expr);
        let mut values = Vec::new();
        let new = expr.map_children(|child| {
            let (child, value) = self.visit(child)?;
            let keeps = matches!(child.data, Expr::AggregateFunction(_) | Expr::WindowFunction(_));
            if value.other && !passes && !keeps {
                values.push(Values::float(false));
                return Ok(wrapped(child));
            }
            values.push(value);
            Ok(child)
        })?;
        let value = self.values(&new.data, &values)?;
        Ok((new, value))
    }

    fn is_float(&self, expr: &Expr) -> Result<bool> {
        Ok(expr.get_type(&*self.schema)?.is_floating())
    }

    fn values(&self, expr: &Expr, children: &[Values]) -> Result<Values> {
        Ok(match expr {
            Expr::Literal(value, _) => {
                let number = match value {
                    ScalarValue::Float64(Some(v)) => Some(*v),
                    ScalarValue::Float32(Some(v)) => Some(f64::from(*v)),
                    _ => None,
                };
                let is = |of: fn(f64) -> bool| number.is_some_and(of);
                let float = Some(value.data_type().is_floating());
                Values { other: false, float, finite: is(f64::is_finite), nonzero: is(|v| v != 0.0) }
            }
            Expr::Column(column) => Values { other: self.has_other(column), ..Values::default() },
            Expr::BinaryExpr(binary) if is_arithmetic(binary.op) => {
                let [left, right] = children else { return Ok(Values::default()) };
                let is_float = match left.float.or(right.float) {
                    Some(is_float) => is_float,
                    None => self.is_float(&binary.left)?,
                };
                match is_float {
                    true => Values::float(left.other || right.other || makes(binary.op, left, right)),
                    false => Values { float: Some(false), ..Values::default() },
                }
            }
            Expr::Negative(inner) => match children {
                // The sign of a NaN turns, too.
                [value] if !value.finite && self.is_float(inner)? => Values::float(true),
                [value] => *value,
                _ => Values::default(),
            },
            Expr::Cast(cast) => self.cast(&cast.expr, cast.field.data_type(), children)?,
            Expr::TryCast(cast) => self.cast(&cast.expr, cast.field.data_type(), children)?,
            Expr::ScalarSubquery(_) => Values { other: self.is_float(expr)?, ..Values::default() },
            Expr::ScalarFunction(call) => {
                let function = &call.func;
                let is_clean = is_one_nan(function)
                    || is_ours(function)
                    || cast_target(function).is_some()
                    || CHOOSING_FUNCTIONS.contains(&function.name());
                if is_clean { Values::default() } else { Values { other: self.is_float(expr)?, ..Values::default() } }
            }
            _ => Values::default(),
        })
    }

    fn cast(&self, inner: &Expr, to: &DataType, children: &[Values]) -> Result<Values> {
        let [value] = children else { return Ok(Values::default()) };
        if !to.is_floating() {
            return Ok(Values { float: Some(false), ..Values::default() });
        }
        if value.float == Some(true) {
            // A smaller type may have infinity in its place.
            return Ok(Values { finite: false, ..*value });
        }
        let from = inner.get_type(&*self.schema)?;
        Ok(match from.is_floating() {
            true => Values { finite: false, float: Some(true), ..*value },
            // `-nan` is read as it is written.
            false => Values { other: is_text(&from), float: Some(true), finite: !is_text(&from), nonzero: false },
        })
    }

    fn has_other(&self, column: &Column) -> bool {
        let of = |(schema, others): &(Arc<DFSchema>, Vec<bool>)| {
            schema.maybe_index_of_column(column).is_some_and(|index| others.get(index).copied().unwrap_or(true))
        };
        self.inputs.iter().any(of)
    }
}

/// A NaN literal of another form as the one NaN.
fn one_literal(expr: &Expr) -> Option<Expr> {
    let value = match expr {
        Expr::Literal(ScalarValue::Float64(Some(v)), _) if v.is_nan() && v.to_bits() != f64::NAN.to_bits() => {
            ScalarValue::Float64(Some(f64::NAN))
        }
        Expr::Literal(ScalarValue::Float32(Some(v)), _) if v.is_nan() && v.to_bits() != f32::NAN.to_bits() => {
            ScalarValue::Float32(Some(f32::NAN))
        }
        _ => return None,
    };
    Some(Expr::Literal(value, None))
}

/// Whether an expression does not tell NaNs of its operands apart.
fn passes(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(binary) => is_arithmetic(binary.op),
        Expr::Negative(_) | Expr::Cast(_) | Expr::TryCast(_) | Expr::IsNull(_) | Expr::IsNotNull(_) => true,
        Expr::ScalarFunction(call) => {
            is_one_nan(&call.func) || call.name() == "isnan" || ONE_NAN_FUNCTIONS.contains(&call.name())
        }
        Expr::AggregateFunction(call) => {
            ONE_NAN_AGGREGATES.contains(&call.func.name()) && !call.params.distinct && call.params.order_by.is_empty()
        }
        _ => false,
    }
}

/// Whether an operation makes a NaN of numbers: `inf - inf`, `0 * inf`, `0 / 0`, `inf / inf`, `inf % x`.
fn makes(op: Operator, left: &Values, right: &Values) -> bool {
    let constant = |side: &Values| side.finite && side.nonzero;
    match op {
        Operator::Plus | Operator::Minus => !left.finite && !right.finite,
        Operator::Multiply => !(left.finite && right.finite || constant(left) || constant(right)),
        Operator::Divide => !constant(left) && !constant(right),
        _ => true,
    }
}
