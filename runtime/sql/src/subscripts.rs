//! Subscripts: pieces of strings, slices of lists with a step, and entries of maps whose keys are nested values.

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array, make_comparator};
use arrow::compute::{SortOptions, cast as cast_array, take};
use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::planner::{PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, GetFieldAccess, cast};
use onrush_expr::scalar_udf::{error, kernel_by_types};
use onrush_expr::type_coercion;

use super::library::{list_slice, string_slice};

/// Plans what DataFusion's subscripts do not do: characters of strings, steps of slices, and nested keys of maps.
pub fn planned(raw: RawFieldAccessExpr, schema: &DFSchema) -> Result<PlannerResult<RawFieldAccessExpr>> {
    let Ok(dtype) = raw.expr.get_type(schema) else { return Ok(PlannerResult::Original(raw)) };
    let bound = |bound: Expr| cast(bound, DataType::Int64);
    match (&dtype, raw.field_access.clone()) {
        (text, GetFieldAccess::ListIndex { key }) if type_coercion::is_string(text) => {
            Ok(PlannerResult::Planned(string_slice(raw.expr, bound(*key.clone()), bound(*key))))
        }
        (text, GetFieldAccess::ListRange { start, stop, .. }) if type_coercion::is_string(text) => {
            Ok(PlannerResult::Planned(string_slice(raw.expr, bound(*start), bound(*stop))))
        }
        (list, GetFieldAccess::ListRange { start, stop, stride })
            if type_coercion::is_list(list) && !is_one(&stride) =>
        {
            Ok(PlannerResult::Planned(list_slice(raw.expr, bound(*start), bound(*stop), bound(*stride))))
        }
        (DataType::Map(..), GetFieldAccess::ListIndex { key })
            if key.get_type(schema).is_ok_and(|key| key.is_nested()) =>
        {
            let value = kernel_by_types("map_value", value_type, map_value);
            Ok(PlannerResult::Planned(value.call(vec![raw.expr, *key])))
        }
        _ => Ok(PlannerResult::Original(raw)),
    }
}

fn is_one(stride: &Expr) -> bool {
    matches!(stride, Expr::Literal(ScalarValue::Int64(Some(1)), _))
}

fn value_type(dtypes: &[DataType]) -> Result<DataType> {
    match dtypes.first() {
        Some(DataType::Map(entries, _)) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => Ok(fields[1].data_type().clone()),
            _ => Err(error("a map without keys and values")),
        },
        _ => Err(error("a map is expected")),
    }
}

/// The value of a key in each map, null if the key is not there.
fn map_value(args: &[ArrayRef]) -> Result<ArrayRef> {
    let Some(maps) = args[0].as_map_opt() else { return Err(error("a map is expected")) };
    let keys = cast_array(&args[1], maps.keys().data_type())?;
    let compare = make_comparator(maps.keys(), &keys, SortOptions::default())?;
    let places = (0..maps.len()).map(|row| {
        if maps.is_null(row) || keys.is_null(row) {
            return None;
        }
        let offsets = maps.value_offsets();
        let mut entries = offsets[row] as usize..offsets[row + 1] as usize;
        entries.find(|at| compare(*at, row).is_eq()).map(|at| at as u32)
    });
    Ok(take(maps.values(), &places.collect::<UInt32Array>(), None)?)
}
