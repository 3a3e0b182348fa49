//! Integer arithmetic that fails on overflow, as in DuckDB. A long chain of it becomes one call with all terms.
//!
//! DataFusion names each call by its arguments, those by theirs, and so on, each time that it asks for a type. Calls
//! inside calls therefore take time with the cube of their depth; terms of one call do not.

use std::any::Any;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::kernels::numeric;
use arrow::datatypes::DataType;
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use onrush_expr::ipc_type::IpcType;
use onrush_expr::scalar_udf::{Body, fixed_output, kernel};
use onrush_expr::type_coercion;
use serde::{Deserialize, Serialize};

/// Calls inside calls, at most. Plans of fewer run on a device as they did: it does not know the long form.
const DEEPEST: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Step {
    Add,
    Subtract,
    Multiply,
}

impl Step {
    fn of(op: &BinaryOperator) -> Step {
        match op {
            BinaryOperator::Plus => Step::Add,
            BinaryOperator::Minus => Step::Subtract,
            _ => Step::Multiply,
        }
    }

    fn call(self, dtype: DataType, args: Vec<Expr>) -> Expr {
        let (name, body): (&'static str, Body) = match self {
            Step::Add => ("add", |args: &[ArrayRef]| Ok(numeric::add(&args[0], &args[1])?)),
            Step::Subtract => ("subtract", |args: &[ArrayRef]| Ok(numeric::sub(&args[0], &args[1])?)),
            Step::Multiply => ("multiply", |args: &[ArrayRef]| Ok(numeric::mul(&args[0], &args[1])?)),
        };
        kernel(name, dtype, body).call(args)
    }
}

/// The first argument with each of the others, one after another, all of one type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Chain {
    /// With the steps in it: DataFusion tells expressions of one plan apart by their names.
    name: String,
    steps: Vec<Step>,
    dtype: DataType,
    signature: Signature,
}

impl Chain {
    fn function(steps: Vec<Step>, dtype: DataType) -> Arc<ScalarUDF> {
        let signature = Signature::variadic_any(Volatility::Immutable);
        let signs = steps.iter().map(|step| match step {
            Step::Add => '+',
            Step::Subtract => '-',
            Step::Multiply => '*',
        });
        let name = signs.fold("integer_chain ".to_string(), |mut name, sign| {
            name.push(sign);
            name
        });
        Arc::new(ScalarUDF::new_from_impl(Chain { name, steps, dtype, signature }))
    }
}

impl ScalarUDFImpl for Chain {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.dtype.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let mut values = args.args.iter().map(|arg| arg.to_array(rows));
        let Some(mut value) = values.next().transpose()? else { return internal_err!("a chain of no terms") };
        for (step, other) in self.steps.iter().zip(values) {
            let other = other?;
            value = match step {
                Step::Add => numeric::add(&value, &other)?,
                Step::Subtract => numeric::sub(&value, &other)?,
                Step::Multiply => numeric::mul(&value, &other)?,
            };
        }
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&value, 0)?),
            false => ColumnarValue::Array(value),
        })
    }
}

fn chain_of(function: &ScalarUDF) -> Option<&Chain> {
    let inner: &dyn Any = function.inner().as_ref();
    inner.downcast_ref()
}

/// A [`Chain`] as data.
#[derive(Serialize, Deserialize)]
pub struct ChainForm {
    steps: Vec<Step>,
    dtype: IpcType,
}

impl ChainForm {
    /// The form of a chain. `None` for any other function.
    pub fn of(function: &ScalarUDF) -> Option<ChainForm> {
        let chain = chain_of(function)?;
        Some(ChainForm { steps: chain.steps.clone(), dtype: IpcType(chain.dtype.clone()) })
    }

    pub fn into_function(self) -> Arc<ScalarUDF> {
        Chain::function(self.steps, self.dtype.0)
    }
}

/// The type of a call that has one whatever its arguments are: what is below it is not asked.
pub fn fixed_type(expr: &Expr) -> Option<&DataType> {
    let Expr::ScalarFunction(call) = expr else { return None };
    fixed_output(&call.func).or_else(|| Some(&chain_of(&call.func)?.dtype))
}

/// `+`, `-` or `*` of two integers.
pub fn checked(raw: RawBinaryExpr, left: &DataType, right: &DataType) -> Expr {
    let step = Step::of(&raw.op);
    let (a, b, dtype) = in_one_type(raw.left, raw.right, left, right);
    match a {
        Expr::ScalarFunction(mut call) if chain_of(&call.func).is_some_and(|chain| chain.dtype == dtype) => {
            let mut steps = chain_of(&call.func).map_or_else(Vec::new, |chain| chain.steps.clone());
            steps.push(step);
            call.args.push(b);
            Chain::function(steps, dtype).call(call.args)
        }
        a if depth(&a) >= DEEPEST => Chain::function(vec![step], dtype).call(vec![a, b]),
        a => step.call(dtype, vec![a, b]),
    }
}

/// Integer operators inside each other, down the left sides, as far as it matters.
fn depth(mut expr: &Expr) -> usize {
    let mut depth = 0;
    while let Expr::ScalarFunction(call) = expr
        && depth < DEEPEST
        && let Some(first) = call.args.first()
        && matches!(call.func.name(), "add" | "subtract" | "multiply")
    {
        (expr, depth) = (first, depth + 1);
    }
    depth
}

/// Two integers in one type: a literal takes the column's type if it fits, as in DuckDB.
pub fn in_one_type(a: Expr, b: Expr, left: &DataType, right: &DataType) -> (Expr, Expr, DataType) {
    let fits = |e: &Expr, dtype: &DataType| match e {
        Expr::Literal(value, _) => value.cast_to(dtype).ok().filter(|v| !v.is_null()).map(|v| Expr::Literal(v, None)),
        _ => None,
    };
    let is_literal = |e: &Expr| matches!(e, Expr::Literal(..));
    match (is_literal(&a), is_literal(&b)) {
        (false, true) if let Some(b) = fits(&b, left) => (a, b, left.clone()),
        (true, false) if let Some(a) = fits(&a, right) => (a, b, right.clone()),
        _ => {
            let common = type_coercion::supertype(left, right).unwrap_or(DataType::Int64);
            let common = if common.is_integer() { common } else { DataType::Int64 };
            let cast_to = |e: Expr, from: &DataType| if *from == common { e } else { cast(e, common.clone()) };
            (cast_to(a, left), cast_to(b, right), common)
        }
    }
}
