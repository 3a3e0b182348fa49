//! The numeric type that the branches of CASE have in common. DataFusion finds it after the query is planned. Until
//! then a CASE has the type of its first branch, and operators above would be those of that type.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::Case;
use datafusion::logical_expr::type_coercion::other::get_coerce_type_for_case_expression;
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use onrush_expr::type_coercion;

/// An operand, under a cast to the type that it will have if it says another one now.
pub fn settled(operand: Expr, schema: &DFSchema) -> Expr {
    match common(&operand, schema) {
        Some(dtype) if operand.get_type(schema).is_ok_and(|now| now != dtype) => cast(operand, dtype),
        _ => operand,
    }
}

/// The numeric type of a CASE, or of a function of one that has the type of its arguments.
fn common(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    match expr {
        Expr::Alias(alias) => common(&alias.expr, schema),
        Expr::Case(case) => of_values(branches(case), schema),
        Expr::ScalarFunction(call) if matches!(call.func.name(), "coalesce" | "greatest" | "least") => {
            call.args.iter().any(|arg| common(arg, schema).is_some()).then(|| of_values(call.args.iter(), schema))?
        }
        _ => None,
    }
}

fn branches(case: &Case) -> impl Iterator<Item = &Expr> {
    case.when_then_expr.iter().map(|(_, then)| then.as_ref()).chain(case.else_expr.as_deref())
}

/// The type of numbers together: a literal integer takes the type of the others if it fits, as in DuckDB. `None` unless
/// all are numbers.
fn of_values<'e>(values: impl Iterator<Item = &'e Expr>, schema: &DFSchema) -> Option<DataType> {
    let (mut dtypes, mut literals) = (Vec::new(), Vec::new());
    for value in values {
        let dtype = common(value, schema).or_else(|| value.get_type(schema).ok())?;
        match value {
            _ if dtype == DataType::Null => {}
            _ if !type_coercion::is_number(&dtype) => return None,
            Expr::Literal(value, _) if dtype.is_integer() => literals.push((value, dtype)),
            _ => dtypes.push(dtype),
        }
    }
    let of = |dtypes: &[DataType]| {
        let has = |is: fn(&DataType) -> bool| dtypes.iter().any(is);
        match has(DataType::is_floating) && has(type_coercion::is_decimal) {
            true => Some(DataType::Float64),
            false => get_coerce_type_for_case_expression(dtypes, None),
        }
    };
    let own = of(&dtypes);
    let fits = |value: &datafusion::common::ScalarValue, dtype: &DataType| {
        dtype.is_integer() && value.cast_to(dtype).is_ok_and(|value| !value.is_null())
    };
    let others = literals.into_iter().filter(|(value, _)| !own.as_ref().is_some_and(|own| fits(value, own)));
    dtypes.extend(others.map(|(_, dtype)| dtype));
    of(&dtypes)
}

/// Gives the branches of a CASE their common type; says whether that changed any.
pub fn meet(case: &mut Case, schema: &DFSchema) -> bool {
    let Some(dtype) = of_values(branches(case), schema) else { return false };
    let mut changed = false;
    let values = case.when_then_expr.iter_mut().map(|(_, then)| then).chain(case.else_expr.as_mut());
    for value in values {
        if value.get_type(schema).is_ok_and(|now| now != dtype && now != DataType::Null) {
            **value = match value.as_ref() {
                Expr::Literal(literal, _) => literal.cast_to(&dtype).map_or_else(
                    |_| cast(value.as_ref().clone(), dtype.clone()),
                    |literal| Expr::Literal(literal, None),
                ),
                other => cast(other.clone(), dtype.clone()),
            };
            changed = true;
        }
    }
    changed
}
