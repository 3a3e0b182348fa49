//! One NaN. The results of `0.0 / 0.0` on x86 processors are NaNs with a minus sign. Total orders put them below all
//! numbers, and hash tables keep them apart. Columns of a session have the NaN of [`f64::NAN`] alone, which is above
//! all numbers.

use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow::buffer::Buffer;
use arrow::datatypes::{ArrowNativeType, DataType};
use arrow::error::ArrowError;

/// Values that are looked at before the next decision whether there is another NaN.
const BLOCK: usize = 1024;

/// Whether values of the type are floats, or have floats inside.
pub fn has_floats(dtype: &DataType) -> bool {
    match dtype {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => true,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_floats(field.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        DataType::Dictionary(_, values) => has_floats(values),
        _ => false,
    }
}

/// The same values, with [`f64::NAN`] or its counterpart for every NaN, also in lists and structs. Copies a column only
/// if it has another NaN.
pub fn canonical(array: &ArrayRef) -> ArrayRef {
    let mended = has_floats(array.data_type()).then(|| mended(&array.to_data())).flatten();
    mended.map_or_else(|| Arc::clone(array), make_array)
}

/// [`canonical`] of all columns.
///
/// # Errors
/// None: the columns have the types and the lengths of those of the batch.
pub fn canonical_batch(batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    if !batch.schema_ref().fields().iter().any(|field| has_floats(field.data_type())) {
        return Ok(batch);
    }
    let columns: Vec<ArrayRef> = batch.columns().iter().map(canonical).collect();
    if columns.iter().zip(batch.columns()).all(|(new, old)| Arc::ptr_eq(new, old)) {
        return Ok(batch);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
}

/// A type of floats as the bits that its values have.
trait Bits: ArrowNativeType {
    /// Above the magnitude of infinity.
    fn is_nan(self) -> bool;
    const NAN: Self;

    /// Not the one NaN.
    fn is_other(self) -> bool {
        self.is_nan() && self != Self::NAN
    }
}

macro_rules! bits {
    ($($bits:ty, $is_nan:expr, $nan:expr);*) => {$(
        impl Bits for $bits {
            const NAN: Self = $nan;

            fn is_nan(self) -> bool {
                ($is_nan)(self)
            }
        }
    )*};
}
// The processor has an instruction that asks several floats at once whether they are NaNs.
bits!(u64, |bits| f64::from_bits(bits).is_nan(), f64::NAN.to_bits();
      u32, |bits| f32::from_bits(bits).is_nan(), f32::NAN.to_bits();
      u16, |bits| bits & 0x7fff > 0x7c00, 0x7e00);

/// The values of the first buffer with the one NaN; `None` if they have no other.
fn values<T: Bits>(data: &ArrayData) -> Option<ArrayData> {
    let all = data.buffers().first()?.typed_data::<T>();
    let used = all.get(data.offset()..data.offset() + data.len())?;
    let has_nan = |block: &[T]| block.iter().fold(false, |nan, value| nan | value.is_nan());
    let has_other = |block: &[T]| has_nan(block) && block.iter().any(|value| value.is_other());
    if !used.chunks(BLOCK).any(has_other) {
        return None;
    }
    let mended: Buffer =
        all.iter().map(|value| if value.is_other() { T::NAN } else { *value }).collect::<Vec<T>>().into();
    data.clone().into_builder().buffers(vec![mended]).build().ok()
}

fn mended(data: &ArrayData) -> Option<ArrayData> {
    match data.data_type() {
        DataType::Float64 => return values::<u64>(data),
        DataType::Float32 => return values::<u32>(data),
        DataType::Float16 => return values::<u16>(data),
        dtype if !has_floats(dtype) => return None,
        _ => {}
    }
    let children: Vec<Option<ArrayData>> = data.child_data().iter().map(mended).collect();
    if children.iter().all(Option::is_none) {
        return None;
    }
    let children = children.into_iter().zip(data.child_data()).map(|(new, old)| new.unwrap_or_else(|| old.clone()));
    data.clone().into_builder().child_data(children.collect()).build().ok()
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Float32Array, Float64Array, ListArray};
    use arrow::datatypes::{Float32Type, Float64Type};

    use super::*;

    /// By hand: IEEE 754 has a sign and a payload for NaN.
    #[test]
    fn every_nan_becomes_one() {
        let other = f64::from_bits(0xfff8_0000_0000_0001);
        let long: ArrayRef = Arc::new(Float64Array::from_iter((0..3000).map(|i| match i {
            2999 => Some(-f64::NAN),
            2 => Some(other),
            1 => None,
            i => Some(f64::from(i) - 5.0),
        })));
        // A slice keeps its rows.
        let slice = canonical(&long.slice(1, 2999));
        let slice = slice.as_primitive::<Float64Type>();
        assert_eq!((slice.len(), slice.is_null(0), slice.value(2)), (2999, true, -2.0));
        assert_eq!((slice.value(1).to_bits(), slice.value(2998).to_bits()), (f64::NAN.to_bits(), f64::NAN.to_bits()));
        let short: ArrayRef = Arc::new(Float32Array::from(vec![-f32::NAN, f32::NEG_INFINITY, -0.0]));
        let short = canonical(&short);
        let bits: Vec<u32> = short.as_primitive::<Float32Type>().values().iter().map(|v| v.to_bits()).collect();
        assert_eq!(bits, [f32::NAN.to_bits(), f32::NEG_INFINITY.to_bits(), (-0.0f32).to_bits()]);
        let list = ListArray::from_iter_primitive::<Float64Type, _, _>([Some([Some(1.0), Some(-f64::NAN)])]);
        let list: ArrayRef = Arc::new(list);
        let value = canonical(&list).as_list::<i32>().value(0).as_primitive::<Float64Type>().value(1);
        assert_eq!(value.to_bits(), f64::NAN.to_bits());
        // Nothing is copied without need.
        let clean: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, f64::INFINITY]));
        assert!(Arc::ptr_eq(&canonical(&clean), &clean));
    }
}
