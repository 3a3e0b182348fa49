//! Categories with an order, such as Polars' Enum and pandas' ordered categoricals in Parquet files: they sort by it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, lit};
use onrush_frame::categories;

use super::scalar_udf::{error, kernel};
use super::type_coercion;

/// The value that a column of categories sorts by: the place of each in their order. `None` if they have none.
pub fn place(expr: &Expr, field: &Field) -> Option<Expr> {
    let order = categories::ordered(field)?;
    Some(kernel("category_order", DataType::Int32, places).call(vec![expr.clone(), lit(categories::text(&order))]))
}

fn places(args: &[ArrayRef]) -> Result<ArrayRef> {
    let order = cast(&args[1], &type_coercion::TEXT)?;
    if order.is_empty() {
        return Ok(Arc::new(Int32Array::new_null(args[0].len())));
    }
    let order =
        categories::parse(order.as_string_view().value(0)).ok_or_else(|| error("categories without an order"))?;
    let places: HashMap<&str, i32> = order.iter().map(String::as_str).zip(0..).collect();
    if args[0].null_count() == args[0].len() {
        return Ok(Arc::new(Int32Array::new_null(args[0].len())));
    }
    let of = |value: Option<&str>| value.map(|value| places.get(value).copied().unwrap_or(i32::MAX));
    let (values, keys) = match args[0].as_any_dictionary_opt() {
        Some(dictionary) => (cast(dictionary.values(), &type_coercion::TEXT)?, Some(dictionary.normalized_keys())),
        None => (cast(&args[0], &type_coercion::TEXT)?, None),
    };
    let found: Int32Array = values.as_string_view().iter().map(of).collect();
    let Some(keys) = keys else { return Ok(Arc::new(found)) };
    let present = |(row, key): (usize, usize)| args[0].is_valid(row).then_some(key as i64);
    let keys: Int64Array = keys.into_iter().enumerate().map(present).collect();
    Ok(take(&found, &keys, None)?)
}
