//! Functions of DuckDB that DataFusion lacks, or has with another meaning: of strings, lists, JSON, dates and types.
//!
//! Each is a name and a plain function over arrays. Their meaning is DuckDB's, null handling included: a null argument
//! gives null unless the comment says otherwise.

mod collation;
mod dates;
pub(crate) mod format;
pub(crate) mod json;
mod lists;
pub mod nested;
mod numbers;
mod strings;
pub mod varchar;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringViewArray, StringViewBuilder};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::error::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionContext;
use onrush_expr::diagnostics::plan_error;
use onrush_expr::error::external;
use onrush_expr::scalar_udf::{error, strict};
use onrush_expr::type_coercion;

pub use lists::{aggregated as aggregate_of_a_list, concatenated, sliced as string_slice, stepped as list_slice};
pub use numbers::{as_double, bytes, exact_double, type_name};

/// # Errors
/// If a name is taken by what cannot be replaced.
pub fn register(context: &SessionContext) -> Result<()> {
    let state = context.state_ref();
    let mut state = state.write();
    let groups: [Vec<ScalarUDF>; 8] = [
        collation::functions(),
        strings::functions(),
        format::functions(),
        lists::functions(),
        json::functions(),
        dates::functions(),
        numbers::functions(),
        varchar::functions(),
    ];
    for function in groups.into_iter().flatten() {
        state.register_udf(Arc::new(function))?;
    }
    Ok(())
}

/// An argument as strings.
fn strings_of(values: &ArrayRef) -> Result<StringViewArray> {
    Ok(strict(values, &type_coercion::TEXT)?.as_string_view().clone())
}

fn integers_of(values: &ArrayRef) -> Result<Int64Array> {
    Ok(strict(values, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

fn floats_of(values: &ArrayRef) -> Result<arrow::array::Float64Array> {
    if type_coercion::is_decimal(values.data_type()) {
        return numbers::floats_of_decimals(values);
    }
    Ok(strict(values, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
}

/// An error if a function has fewer or more arguments than it takes.
fn takes(name: &str, args: &[ArrayRef], least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&args.len()) {
        return Ok(());
    }
    let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let message = format!("`{name}` takes {expected} arguments, not {}", args.len());
    Err(external(plan_error("argument", message)))
}

/// A string for each row, from strings: `f` of the row gives null or an error.
fn to_strings(rows: usize, mut f: impl FnMut(usize) -> Result<Option<String>>) -> Result<ArrayRef> {
    let mut out = StringViewBuilder::with_capacity(rows);
    for row in 0..rows {
        out.append_option(f(row)?);
    }
    Ok(Arc::new(out.finish()))
}

/// The value of a row, or `None` where it is null.
fn at(values: &StringViewArray, row: usize) -> Option<&str> {
    values.is_valid(row).then(|| values.value(row))
}

fn number_at(values: &Int64Array, row: usize) -> Option<i64> {
    values.is_valid(row).then(|| values.value(row))
}

/// An error of one of the values.
fn invalid<T>(message: impl Into<String>) -> Result<T> {
    Err(error(message))
}

fn text(_: &[DataType]) -> Result<DataType> {
    Ok(type_coercion::TEXT)
}

fn integer(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Int64)
}

fn float(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Float64)
}

fn boolean(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Boolean)
}

/// A list of strings.
fn text_list(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::List(Arc::new(arrow::datatypes::Field::new_list_field(type_coercion::TEXT, true))))
}
