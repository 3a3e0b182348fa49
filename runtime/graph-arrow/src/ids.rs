//! Ids of nodes: types that can be compared, and values as the user writes them.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::util::display::array_value_to_string;
use onrush_wire::{Diagnostic, Value};

use crate::error::internal;

/// Whether values are strings, also in a dictionary.
pub fn is_string(dtype: &DataType) -> bool {
    match dtype {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, value) => is_string(value),
        _ => false,
    }
}

/// Ids in a type that can be compared: integers as 64 bits, strings as views. As in groups, -0.0 is 0.0, and all NaNs
/// are one.
pub fn comparable(array: &ArrayRef) -> Result<ArrayRef, Diagnostic> {
    let dtype = match array.data_type() {
        dtype if is_string(dtype) => DataType::Utf8View,
        DataType::UInt64 => DataType::UInt64,
        dtype if dtype.is_integer() => DataType::Int64,
        DataType::Dictionary(_, value) => {
            return comparable(&cast(array, value).map_err(internal)?);
        }
        DataType::Float32 => {
            let one = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            return Ok(Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(one)));
        }
        DataType::Float64 => {
            let one = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            return Ok(Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(one)));
        }
        dtype => dtype.clone(),
    };
    cast(array, &dtype).map_err(internal)
}

/// An id as it is shown in messages.
pub fn shown(value: &Value) -> String {
    let text = onrush_frame::array_from_value(value).ok().and_then(|array| array_value_to_string(&array, 0).ok());
    text.unwrap_or_default()
}

/// The parts of an id as it is shown in messages.
pub fn tuple(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        parts => format!("({})", parts.join(", ")),
    }
}
