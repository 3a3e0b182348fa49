//! Schemas and arrays of the Arrow C data interface as Arrow's. Everything is copied, so that a driver frees its memory
//! when it likes.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::slice;
use std::sync::Arc;

use arrow::array::{ArrayData, ArrayRef, RecordBatch, RecordBatchOptions, StructArray, make_array};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, IntervalUnit, SchemaRef, TimeUnit};

use super::ffi;
use crate::error::{Failure, Stage};

/// The schema of a stream, whose format is a struct of the columns.
///
/// # Errors
/// A column of a type that is not read; the error names both.
pub fn schema(schema: &ffi::Schema) -> Result<SchemaRef, Failure> {
    match dtype(schema, "")? {
        DataType::Struct(fields) => Ok(Arc::new(arrow::datatypes::Schema::new(fields))),
        other => Err(broken(&format!("a result has the type {other} instead of columns"))),
    }
}

/// The rows of an array whose type is a struct of the columns of `schema`.
///
/// # Errors
/// Buffers that are missing, or that are not those of the type.
pub fn batch(array: &ffi::Array, schema: &SchemaRef) -> Result<RecordBatch, Failure> {
    let rows = length(array.length)?;
    let data = array_data(array, &DataType::Struct(schema.fields().clone()))?;
    let columns = StructArray::from(data);
    let columns: Vec<ArrayRef> = columns.columns().iter().map(|column| column.slice(0, rows)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(|e| broken(&e.to_string()))
}

fn broken(what: &str) -> Failure {
    Failure::new(Stage::Rows, format!("the driver's rows cannot be read: {what}"))
}

fn length(number: i64) -> Result<usize, Failure> {
    usize::try_from(number).map_err(|_| broken(&format!("a length of {number}")))
}

fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the strings of a schema end with a zero byte and live as long as the schema.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

fn children(schema: &ffi::Schema) -> Result<Vec<&ffi::Schema>, Failure> {
    let count = length(schema.n_children)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    if schema.children.is_null() {
        return Err(broken("a type lacks its parts"));
    }
    // SAFETY: the producer says that there are so many pointers.
    let pointers = unsafe { slice::from_raw_parts(schema.children, count) };
    // SAFETY: children live as long as their schema.
    let children = pointers.iter().map(|child| unsafe { child.as_ref() });
    children.map(|child| child.ok_or_else(|| broken("a type lacks a part"))).collect()
}

fn field(schema: &ffi::Schema) -> Result<FieldRef, Failure> {
    let name = text(schema.name);
    let dtype = dtype(schema, &name)?;
    let is_nullable = schema.flags & ffi::NULLABLE != 0;
    Ok(Arc::new(Field::new(name, dtype, is_nullable).with_metadata(metadata(schema.metadata))))
}

/// The keys and values of a field: a number of pairs, and each text after its length, in the machine's byte order.
fn metadata(pointer: *const c_char) -> HashMap<String, String> {
    if pointer.is_null() {
        return HashMap::new();
    }
    let mut cursor = Cursor { next: pointer.cast() };
    let pairs = cursor.number();
    (0..pairs).map(|_| (cursor.text(), cursor.text())).collect()
}

/// A place in the metadata of a field.
struct Cursor {
    next: *const u8,
}

impl Cursor {
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        // SAFETY: the producer wrote so many bytes here, as the numbers before them say.
        let bytes = unsafe { slice::from_raw_parts(self.next, count) }.to_vec();
        // SAFETY: the end of these bytes is inside of the metadata, or at its end.
        self.next = unsafe { self.next.add(count) };
        bytes
    }

    fn number(&mut self) -> usize {
        let bytes = self.bytes(4).try_into().unwrap_or([0; 4]);
        usize::try_from(i32::from_ne_bytes(bytes)).unwrap_or(0)
    }

    fn text(&mut self) -> String {
        let length = self.number();
        String::from_utf8_lossy(&self.bytes(length)).into_owned()
    }
}

/// The type of a schema: its format is a short text. `column` is for messages.
fn dtype(schema: &ffi::Schema, column: &str) -> Result<DataType, Failure> {
    let format = text(schema.format);
    let plain = match simple(&format) {
        Some(plain) => plain,
        None => nested(schema, &format, column)?,
    };
    // SAFETY: a dictionary lives as long as its schema.
    match unsafe { schema.dictionary.as_ref() } {
        Some(values) => Ok(DataType::Dictionary(Box::new(plain), Box::new(dtype(values, column)?))),
        None => Ok(plain),
    }
}

/// The types without parts.
fn simple(format: &str) -> Option<DataType> {
    Some(match format {
        "n" => DataType::Null,
        "b" => DataType::Boolean,
        "c" => DataType::Int8,
        "C" => DataType::UInt8,
        "s" => DataType::Int16,
        "S" => DataType::UInt16,
        "i" => DataType::Int32,
        "I" => DataType::UInt32,
        "l" => DataType::Int64,
        "L" => DataType::UInt64,
        "e" => DataType::Float16,
        "f" => DataType::Float32,
        "g" => DataType::Float64,
        "z" => DataType::Binary,
        "Z" => DataType::LargeBinary,
        "u" => DataType::Utf8,
        "U" => DataType::LargeUtf8,
        "tdD" => DataType::Date32,
        "tdm" => DataType::Date64,
        "tts" => DataType::Time32(TimeUnit::Second),
        "ttm" => DataType::Time32(TimeUnit::Millisecond),
        "ttu" => DataType::Time64(TimeUnit::Microsecond),
        "ttn" => DataType::Time64(TimeUnit::Nanosecond),
        "tDs" => DataType::Duration(TimeUnit::Second),
        "tDm" => DataType::Duration(TimeUnit::Millisecond),
        "tDu" => DataType::Duration(TimeUnit::Microsecond),
        "tDn" => DataType::Duration(TimeUnit::Nanosecond),
        "tiM" => DataType::Interval(IntervalUnit::YearMonth),
        "tiD" => DataType::Interval(IntervalUnit::DayTime),
        "tin" => DataType::Interval(IntervalUnit::MonthDayNano),
        _ => return with_arguments(format),
    })
}

/// Types with numbers or a time zone behind a colon.
fn with_arguments(format: &str) -> Option<DataType> {
    let (name, arguments) = format.split_once(':')?;
    let unit = match name {
        "tss" => Some(TimeUnit::Second),
        "tsm" => Some(TimeUnit::Millisecond),
        "tsu" => Some(TimeUnit::Microsecond),
        "tsn" => Some(TimeUnit::Nanosecond),
        _ => None,
    };
    if let Some(unit) = unit {
        return Some(DataType::Timestamp(unit, (!arguments.is_empty()).then(|| arguments.into())));
    }
    let mut numbers = arguments.split(',').map(|number| number.trim().parse::<i32>().ok());
    let first = numbers.next()??;
    match name {
        "w" => Some(DataType::FixedSizeBinary(first)),
        "d" => {
            let (precision, scale) = (u8::try_from(first).ok()?, i8::try_from(numbers.next()??).ok()?);
            match numbers.next() {
                None | Some(Some(128)) => Some(DataType::Decimal128(precision, scale)),
                Some(Some(256)) => Some(DataType::Decimal256(precision, scale)),
                Some(_) => None,
            }
        }
        _ => None,
    }
}

fn nested(schema: &ffi::Schema, format: &str, column: &str) -> Result<DataType, Failure> {
    let parts = children(schema)?;
    let one = || parts.first().ok_or_else(|| broken("a list has no items")).and_then(|item| field(item));
    Ok(match format.split_once(':').map_or(format, |(name, _)| name) {
        "+l" => DataType::List(one()?),
        "+L" => DataType::LargeList(one()?),
        "+w" => {
            let size = format.split_once(':').and_then(|(_, size)| size.parse().ok());
            DataType::FixedSizeList(one()?, size.ok_or_else(|| broken("a list of no size"))?)
        }
        "+s" => DataType::Struct(parts.into_iter().map(field).collect::<Result<Fields, _>>()?),
        _ => return Err(Failure::unsupported(column, type_name(format))),
    })
}

/// The name of a type that is not read.
fn type_name(format: &str) -> &str {
    match format.get(..3).unwrap_or(format) {
        "+m" => "map",
        "+ud" | "+us" => "union",
        "+r" => "run-end encoded",
        "+vl" | "+vL" => "list view",
        "vu" => "string view",
        "vz" => "binary view",
        _ => format,
    }
}

/// The widths of values in bits; `None` for types whose first buffer is something else.
fn width(dtype: &DataType) -> Option<usize> {
    Some(match dtype {
        DataType::Boolean => 1,
        DataType::FixedSizeBinary(bytes) => 8 * usize::try_from(*bytes).ok()?,
        DataType::Dictionary(keys, _) => return width(keys),
        other => 8 * other.primitive_width()?,
    })
}

fn array_data(array: &ffi::Array, dtype: &DataType) -> Result<ArrayData, Failure> {
    let (rows, offset) = (length(array.length)?, length(array.offset)?);
    let end = rows.checked_add(offset).ok_or_else(|| broken("a length that is too large"))?;
    let mut data = ArrayData::builder(dtype.clone()).len(rows).offset(offset);
    if dtype == &DataType::Null {
        return data.build().map_err(|e| broken(&e.to_string()));
    }
    data = data.null_bit_buffer(match buffer(array, 0) {
        Ok(validity) if array.null_count != 0 => Some(copied(validity, end.div_ceil(8))),
        _ => None,
    });
    let fixed = |index: usize, bytes: usize| match (bytes, buffer(array, index)) {
        (0, _) => Ok(Buffer::from_vec(Vec::<u64>::new())),
        (_, Err(error)) => Err(error),
        (bytes, Ok(pointer)) => Ok(copied(pointer, bytes)),
    };
    match dtype {
        DataType::Utf8 | DataType::Binary => {
            let offsets = offsets::<i32>(array, end)?;
            let bytes = length(offsets.typed_data::<i32>().last().map_or(0, |last| i64::from(*last)))?;
            data = data.add_buffer(offsets).add_buffer(fixed(2, bytes)?);
        }
        DataType::LargeUtf8 | DataType::LargeBinary => {
            let offsets = offsets::<i64>(array, end)?;
            let bytes = length(offsets.typed_data::<i64>().last().copied().unwrap_or(0))?;
            data = data.add_buffer(offsets).add_buffer(fixed(2, bytes)?);
        }
        DataType::List(item) => {
            data = data.add_buffer(offsets::<i32>(array, end)?).add_child_data(child(array, 0, item)?);
        }
        DataType::LargeList(item) => {
            data = data.add_buffer(offsets::<i64>(array, end)?).add_child_data(child(array, 0, item)?);
        }
        DataType::FixedSizeList(item, _) => data = data.add_child_data(child(array, 0, item)?),
        DataType::Struct(fields) => {
            for (index, field) in fields.iter().enumerate() {
                data = data.add_child_data(child(array, index, field)?);
            }
        }
        other => {
            let bits = width(other).ok_or_else(|| broken(&format!("the type {other}")))?;
            let bytes = end.checked_mul(bits).ok_or_else(|| broken("a length that is too large"))?.div_ceil(8);
            data = data.add_buffer(fixed(1, bytes)?);
        }
    }
    if let DataType::Dictionary(_, values) = dtype {
        // SAFETY: a dictionary lives as long as its array.
        let dictionary = unsafe { array.dictionary.as_ref() }.ok_or_else(|| broken("an array lacks its dictionary"))?;
        data = data.add_child_data(array_data(dictionary, values)?);
    }
    // The builder checks lengths, offsets and UTF-8.
    let data = data.align_buffers(true).build().map_err(|e| broken(&e.to_string()))?;
    // Readers of structs and of bits know no offset.
    Ok(if offset == 0 { data } else { make_array(data).to_data() })
}

fn child(array: &ffi::Array, index: usize, field: &FieldRef) -> Result<ArrayData, Failure> {
    if array.children.is_null() || index >= length(array.n_children)? {
        return Err(broken(&format!("the column `{}` is missing", field.name())));
    }
    // SAFETY: the producer says that there are more pointers than `index`, and children live as long as their array.
    let child = unsafe { (*array.children.add(index)).as_ref() };
    array_data(child.ok_or_else(|| broken("an array lacks a part"))?, field.data_type())
}

/// The offsets of `end` values: one more than these. An array of no values may have none.
fn offsets<T: arrow::datatypes::ArrowNativeType>(array: &ffi::Array, end: usize) -> Result<Buffer, Failure> {
    match buffer(array, 1) {
        Ok(pointer) => Ok(copied(pointer, (end + 1) * size_of::<T>())),
        Err(_) if end == 0 => Ok(Buffer::from_vec(vec![T::default()])),
        Err(error) => Err(error),
    }
}

/// The address of a buffer.
fn buffer(array: &ffi::Array, index: usize) -> Result<*const u8, Failure> {
    let missing = || broken("an array lacks a buffer");
    if array.buffers.is_null() || index >= length(array.n_buffers)? {
        return Err(missing());
    }
    // SAFETY: the producer says that there are more pointers than `index`.
    let pointer: *const c_void = unsafe { *array.buffers.add(index) };
    if pointer.is_null() { Err(missing()) } else { Ok(pointer.cast()) }
}

fn copied(pointer: *const u8, bytes: usize) -> Buffer {
    // SAFETY: a buffer of an array of this type and length has so many bytes.
    Buffer::from(unsafe { slice::from_raw_parts(pointer, bytes) })
}
