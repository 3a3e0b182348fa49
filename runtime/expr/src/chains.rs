//! Long chains of operators in another form. `a + b + c + ...` is a tree as deep as it has terms. DataFusion asks each
//! node for its type, and the node asks those below: a thousand terms take seconds. A long chain becomes nested calls
//! of a function that computes many steps. A long `and` or `or` becomes a balanced tree.

use std::any::Any;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue, internal_datafusion_err, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility, binary_expr,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr as Compute, Column, Literal};
use onrush_wire::{BinaryOp, Diagnostic, ExprKind, Span};
use serde::{Deserialize, Serialize};

use crate::diagnostics::{self, plan_error};
use crate::ipc_type::IpcType;

/// Steps from which a chain is long, and which one call computes: all its arguments are in memory at once.
const LONG: usize = 64;

/// Operators that stand one in the other, at most.
const MOST_OPERATORS: usize = 10_000;
/// Anything else, such as calls of functions: no form of less depth means the same.
const MOST_NESTED: usize = 100;

/// Refuses expressions so deep that to walk them would take minutes, or more stack than there is.
pub fn check<'a>(exprs: impl IntoIterator<Item = &'a onrush_wire::Expr>, at: Option<&Span>) -> Result<(), Diagnostic> {
    let (mut operators, mut nested) = (0, 0);
    let (mut next, mut inner) = (Vec::new(), Vec::new());
    next.extend(exprs.into_iter().map(|expr| (expr, 0, 0)));
    while let Some((expr, mut above, mut around)) = next.pop() {
        match expr.kind {
            // `%` is a call of a function: no form of less depth means the same.
            ExprKind::Binary(op, ..) if op != BinaryOp::Remainder => above += 1,
            _ => around += 1,
        }
        (operators, nested) = (operators.max(above), nested.max(around));
        expr.children_into(&mut inner);
        next.extend(inner.drain(..).map(|child| (child, above, around)));
    }
    let (found, most, what) = match () {
        () if operators > MOST_OPERATORS => (operators, MOST_OPERATORS, "operators"),
        () if nested > MOST_NESTED => (nested, MOST_NESTED, "calls"),
        () => return Ok(()),
    };
    Err(diagnostics::place(deep(&format!("this expression has {found} {what} one in the other, and {most} are the most")), None, at, "")
        .help("make columns of parts of it first, with `with_columns` and `persist`; many columns are added by `sum_horizontal`"))
}

/// The message of an expression that is too deep.
pub fn deep(message: &str) -> Diagnostic {
    plan_error("deep-expression", message)
}

/// A plan in which no chain is long.
pub fn shortened(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !is_long(&plan)? {
        return Ok(plan);
    }
    let node = |node: LogicalPlan| {
        let schema = merge_schema(&node.inputs());
        let names = NamePreserver::new(&node);
        let new = node.map_expressions(|expr| {
            // A set is recognised by its form, and its members by their names.
            if matches!(expr, Expr::GroupingSet(_)) {
                return Ok(Transformed::no(expr));
            }
            let name = names.save(&expr);
            let new = expr.transform_down(|expr| shorter(expr, &schema))?;
            Ok(new.update_data(|expr| name.restore(expr)))
        })?;
        if new.transformed { new.map_data(LogicalPlan::recompute_schema) } else { Ok(new) }
    };
    plan.transform_up_with_subqueries(node).map(|plan| plan.data)
}

/// Whether an expression has so many nodes that a chain in it could be long.
fn is_long(plan: &LogicalPlan) -> Result<bool> {
    let mut long = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            let mut nodes = 0;
            expr.apply(|_| {
                nodes += 1;
                Ok(if nodes > LONG { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            })?;
            long |= nodes > LONG;
            Ok(if long { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(long)
}

fn shorter(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::BinaryExpr(BinaryExpr { op, .. }) = &expr else { return Ok(Transformed::no(expr)) };
    match op {
        Operator::And | Operator::Or => Ok(flat(expr)),
        _ => match chain(&expr, schema)? {
            Some(chain) => Ok(Transformed::yes(chain)),
            None => Ok(Transformed::no(expr)),
        },
    }
}

/// The conditions of a deep `and` or `or`, in their order, in a tree of little depth.
fn flat(expr: Expr) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { op, .. }) = &expr else { return Transformed::no(expr) };
    let op = *op;
    let (mut conditions, mut deepest) = (Vec::new(), 0);
    let mut next = vec![(&expr, 0)];
    while let Some((expr, depth)) = next.pop() {
        deepest = deepest.max(depth);
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: other, right }) if *other == op => {
                next.push((right, depth + 1));
                next.push((left, depth + 1));
            }
            other => conditions.push(other),
        }
    }
    if deepest <= LONG {
        return Transformed::no(expr);
    }
    let mut level: Vec<Expr> = conditions.into_iter().cloned().collect();
    while level.len() > 1 {
        let mut above = Vec::with_capacity(level.len().div_ceil(2));
        let mut pairs = level.into_iter();
        while let Some(left) = pairs.next() {
            above.push(match pairs.next() {
                Some(right) => binary_expr(left, op, right),
                None => left,
            });
        }
        level = above;
    }
    level.pop().map_or_else(|| Transformed::no(expr), Transformed::yes)
}

/// A step of a chain as it stands in an expression.
struct Link<'a> {
    op: Operator,
    other: &'a Expr,
    /// The chain so far is the right side.
    flipped: bool,
    /// The type that the result is cast to.
    cast: Option<&'a DataType>,
}

/// Operators of chains: each gives the same result for a row, whichever other rows are evaluated. Integer division and
/// remainder can fail. They must not be evaluated for rows that a filter leaves out (`optimizer/short_circuit.rs`).
const LINKED: [Operator; 8] = [
    Operator::Plus,
    Operator::Minus,
    Operator::Multiply,
    Operator::Divide,
    Operator::StringConcat,
    Operator::BitwiseAnd,
    Operator::BitwiseOr,
    Operator::BitwiseXor,
];

fn is_linked(op: Operator) -> bool {
    LINKED.contains(&op)
}

fn is_link(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(binary) => is_linked(binary.op),
        Expr::Cast(cast) => matches!(cast.expr.as_ref(), Expr::BinaryExpr(binary) if is_linked(binary.op)),
        _ => false,
    }
}

/// A long chain as calls; `None` if it is not long, or what it computes has types that the chain's operators would have
/// to change first.
fn chain(expr: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let (mut links, mut first) = (Vec::new(), expr);
    while is_link(first) {
        let (binary, cast) = match first {
            Expr::BinaryExpr(binary) => (binary, None),
            Expr::Cast(cast) => match cast.expr.as_ref() {
                Expr::BinaryExpr(binary) => (binary, Some(cast.field.data_type())),
                _ => break,
            },
            _ => break,
        };
        let flipped = !is_link(&binary.left) && is_link(&binary.right);
        let (inner, other) = if flipped { (&binary.right, &binary.left) } else { (&binary.left, &binary.right) };
        links.push(Link { op: binary.op, other, flipped, cast });
        first = inner;
    }
    if links.len() <= LONG {
        return Ok(None);
    }
    links.reverse();
    let mut dtype = first.get_type(schema)?;
    let mut value = first.clone();
    for links in links.chunks(LONG) {
        let (mut steps, mut args) = (Vec::with_capacity(links.len()), vec![value]);
        for link in links {
            let other = link.other.get_type(schema)?;
            let (left, right) = if link.flipped { (&other, &dtype) } else { (&dtype, &other) };
            let coercer = BinaryTypeCoercer::new(left, &link.op, right);
            let fails = link.op == Operator::Divide && !left.is_floating();
            if fails || coercer.get_input_types()? != (left.clone(), right.clone()) {
                return Ok(None);
            }
            dtype = link.cast.cloned().map_or_else(|| coercer.get_result_type(), Ok)?;
            steps.push(Step { op: link.op, flipped: link.flipped, cast: link.cast.cloned() });
            args.push(link.other.clone());
        }
        value = Steps::function(steps, dtype.clone()).call(args);
    }
    Ok(Some(value))
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Step {
    op: Operator,
    flipped: bool,
    cast: Option<DataType>,
}

/// The first argument with each of the others, one after the other.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Steps {
    steps: Vec<Step>,
    output: DataType,
    signature: Signature,
}

impl Steps {
    fn function(steps: Vec<Step>, output: DataType) -> Arc<ScalarUDF> {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Steps { steps, output, signature }))
    }
}

/// A part of a chain as data.
#[derive(Serialize, Deserialize)]
pub(crate) struct StepsForm {
    steps: Vec<StepForm>,
    output: IpcType,
}

#[derive(Serialize, Deserialize)]
struct StepForm {
    /// The place in [`LINKED`].
    operator: usize,
    flipped: bool,
    cast: Option<IpcType>,
}

impl StepsForm {
    /// The form of a part of a chain. `None` for any other function.
    ///
    /// # Errors
    /// If an operator is not one of [`LINKED`].
    pub(crate) fn of(function: &ScalarUDF) -> Result<Option<StepsForm>> {
        let inner: &dyn Any = function.inner().as_ref();
        let Some(Steps { steps, output, .. }) = inner.downcast_ref::<Steps>() else { return Ok(None) };
        let form = |step: &Step| -> Result<StepForm> {
            let operator = LINKED.iter().position(|op| *op == step.op);
            let operator = operator.ok_or_else(|| internal_datafusion_err!("chains have no operator {}", step.op))?;
            Ok(StepForm { operator, flipped: step.flipped, cast: step.cast.clone().map(IpcType) })
        };
        let steps = steps.iter().map(form).collect::<Result<Vec<_>>>()?;
        Ok(Some(StepsForm { steps, output: IpcType(output.clone()) }))
    }

    /// # Errors
    /// If an operator is not one of [`LINKED`].
    pub(crate) fn into_function(self) -> Result<Arc<ScalarUDF>> {
        let step = |form: StepForm| -> Result<Step> {
            let op = LINKED.get(form.operator).copied();
            let op = op.ok_or_else(|| internal_datafusion_err!("chains have no operator {}", form.operator))?;
            Ok(Step { op, flipped: form.flipped, cast: form.cast.map(|IpcType(dtype)| dtype) })
        };
        let steps = self.steps.into_iter().map(step).collect::<Result<Vec<_>>>()?;
        Ok(Steps::function(steps, self.output.0))
    }
}

impl ScalarUDFImpl for Steps {
    fn name(&self) -> &str {
        "steps"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.output.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.output.clone(), nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut values = args.args.into_iter();
        let Some(mut value) = values.next() else { return internal_err!("steps of nothing") };
        for (step, other) in self.steps.iter().zip(values) {
            let (left, right) = if step.flipped { (other, value) } else { (value, other) };
            value = computed(left, step.op, right, args.number_rows)?;
            if let Some(dtype) = &step.cast {
                value = value.cast_to(dtype, None)?;
            }
        }
        Ok(value)
    }
}

/// As DataFusion computes an operator between two expressions.
fn computed(left: ColumnarValue, op: Operator, right: ColumnarValue, rows: usize) -> Result<ColumnarValue> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    let mut side = |value: ColumnarValue| -> Arc<dyn PhysicalExpr> {
        match value {
            ColumnarValue::Scalar(scalar) => Arc::new(Literal::new(scalar)),
            ColumnarValue::Array(array) => {
                let index = columns.len();
                fields.push(Field::new("", array.data_type().clone(), true));
                columns.push(array);
                Arc::new(Column::new("", index))
            }
        }
    };
    let (left, right) = (side(left), side(right));
    let rows = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &rows)?;
    match Compute::new(left, op, right).evaluate(&batch)? {
        // Two scalars give one value, too.
        ColumnarValue::Array(array) if batch.num_columns() == 0 && !array.is_empty() => {
            Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?))
        }
        value => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use onrush_wire::codec;

    use super::*;

    /// By definition: steps come back as they were.
    #[test]
    fn steps_come_back() {
        let step = |op, flipped, cast| Step { op, flipped, cast };
        let steps = vec![
            step(Operator::BitwiseXor, false, Some(DataType::Decimal128(30, 2))),
            step(Operator::Divide, true, None),
        ];
        let function = Steps::function(steps, DataType::Float64);
        let bytes = codec::content(&StepsForm::of(&function).unwrap().unwrap());
        assert_eq!(codec::decode::<StepsForm>(&bytes).unwrap().into_function().unwrap(), function);
    }
}
