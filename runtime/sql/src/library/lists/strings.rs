//! `concat` and `concat_ws` of lists, which DataFusion's functions take for strings, and `list_concat` of null lists
//! alone.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use onrush_expr::scalar_udf::kernel;
use onrush_expr::type_coercion;

use super::joined;

/// A call of `concat` or `concat_ws` with lists: one list of all elements, or each list as the string of its elements.
/// `None` for other calls.
pub fn concatenated(name: &str, args: &[Expr], schema: &DFSchema) -> Option<Expr> {
    let dtypes = args.iter().map(|arg| arg.get_type(schema).ok()).collect::<Option<Vec<DataType>>>()?;
    if !dtypes.iter().any(type_coercion::is_list) {
        return None;
    }
    match name {
        "concat" | "array_concat"
            if dtypes.iter().all(|dtype| type_coercion::is_list(dtype) || *dtype == DataType::Null) =>
        {
            // Null is an empty list here.
            let lists = args.iter().zip(&dtypes).filter(|(_, dtype)| type_coercion::is_list(dtype));
            let lists = lists.map(|(arg, dtype)| match dtype {
                DataType::FixedSizeList(field, _) => {
                    let element = Field::new_list_field(field.data_type().clone(), true);
                    cast(arg.clone(), DataType::List(Arc::new(element)))
                }
                _ => arg.clone(),
            });
            let lists = datafusion::functions_nested::expr_fn::array_concat(lists.collect());
            let Ok(DataType::List(element)) = lists.get_type(schema) else { return Some(lists) };
            let empty = ScalarValue::List(ScalarValue::new_list_nullable(&[], element.data_type()));
            Some(datafusion::functions::expr_fn::coalesce(vec![lists, Expr::Literal(empty, None)]))
        }
        "concat_ws" if !type_coercion::is_list(&dtypes[0]) => {
            let (separator, values) = args.split_first()?;
            let values = values.iter().zip(&dtypes[1..]).map(|(value, dtype)| match type_coercion::is_list(dtype) {
                true => {
                    kernel("list_string_agg", type_coercion::TEXT, joined).call(vec![value.clone(), separator.clone()])
                }
                false => value.clone(),
            });
            Some(datafusion::functions::expr_fn::concat_ws(separator.clone(), values.collect()))
        }
        _ => None,
    }
}
