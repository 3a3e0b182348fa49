//! Batches as a stream of the Arrow C data interface, from which a driver takes the rows that it writes. Buffers are
//! shared, not copied: an exported array holds them until the driver releases it.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

use arrow::array::{Array, ArrayData, AsArray, RecordBatch, StructArray};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, Fields, SchemaRef, TimeUnit};

use super::ffi;
use crate::error::Failure;

/// `EIO`.
const EIO: c_int = 5;

/// Batches that come one after another, or the reason why they do not.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch, String>>>;

/// The state behind a stream.
struct Source {
    schema: SchemaRef,
    batches: Batches,
    error: CString,
}

/// A stream of batches of a schema. The driver calls it on one thread at a time.
///
/// # Errors
/// A column of a type that is not written.
pub fn stream(schema: SchemaRef, batches: Batches) -> Result<ffi::Stream, Failure> {
    for field in schema.fields() {
        format(field.data_type()).ok_or_else(|| Failure::unsupported(field.name(), field.data_type()))?;
    }
    let source = Box::new(Source { schema, batches, error: CString::default() });
    Ok(ffi::Stream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(source).cast(),
    })
}

/// The format of a type in the C data interface; `None` for types that are not written.
fn format(dtype: &DataType) -> Option<String> {
    Some(match dtype {
        DataType::Null => "n".to_string(),
        DataType::Boolean => "b".to_string(),
        DataType::Int8 => "c".to_string(),
        DataType::UInt8 => "C".to_string(),
        DataType::Int16 => "s".to_string(),
        DataType::UInt16 => "S".to_string(),
        DataType::Int32 => "i".to_string(),
        DataType::UInt32 => "I".to_string(),
        DataType::Int64 => "l".to_string(),
        DataType::UInt64 => "L".to_string(),
        DataType::Float32 => "f".to_string(),
        DataType::Float64 => "g".to_string(),
        DataType::Binary => "z".to_string(),
        DataType::LargeBinary => "Z".to_string(),
        DataType::Utf8 => "u".to_string(),
        DataType::LargeUtf8 => "U".to_string(),
        DataType::Date32 => "tdD".to_string(),
        DataType::Time32(TimeUnit::Second) => "tts".to_string(),
        DataType::Time32(TimeUnit::Millisecond) => "ttm".to_string(),
        DataType::Time64(TimeUnit::Microsecond) => "ttu".to_string(),
        DataType::Time64(TimeUnit::Nanosecond) => "ttn".to_string(),
        DataType::Timestamp(unit, zone) => {
            let unit = match unit {
                TimeUnit::Second => 's',
                TimeUnit::Millisecond => 'm',
                TimeUnit::Microsecond => 'u',
                TimeUnit::Nanosecond => 'n',
            };
            format!("ts{unit}:{}", zone.as_deref().unwrap_or_default())
        }
        DataType::Decimal128(precision, scale) => format!("d:{precision},{scale}"),
        _ => return None,
    })
}

/// The memory that a schema points to.
struct SchemaParts {
    _format: CString,
    _name: CString,
    children: Vec<*mut ffi::Schema>,
}

/// The schema of a column, or of the rows.
fn exported(name: &str, format: &str, is_nullable: bool, children: Vec<ffi::Schema>) -> Option<ffi::Schema> {
    let (format, name) = (CString::new(format).ok()?, CString::new(name).ok()?);
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let mut parts = Box::new(SchemaParts { _format: format, _name: name, children });
    Some(ffi::Schema {
        format: parts._format.as_ptr(),
        name: parts._name.as_ptr(),
        metadata: ptr::null(),
        flags: if is_nullable { ffi::NULLABLE } else { 0 },
        n_children: parts.children.len() as i64,
        children: parts.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: Box::into_raw(parts).cast(),
    })
}

fn exported_fields(fields: &Fields) -> Option<ffi::Schema> {
    let column = |field: &Field| exported(field.name(), &format(field.data_type())?, field.is_nullable(), Vec::new());
    let columns = fields.iter().map(|field| column(field)).collect::<Option<Vec<_>>>()?;
    exported("", "+s", false, columns)
}

unsafe extern "C" fn release_schema(schema: *mut ffi::Schema) {
    // SAFETY: the caller passes a schema of `exported`, which it releases once.
    let parts = unsafe {
        (*schema).release = None;
        Box::from_raw((*schema).private_data.cast::<SchemaParts>())
    };
    for child in parts.children {
        // SAFETY: `exported` made the child by `Box::into_raw`. One that the consumer has moved out has no `release`.
        drop(unsafe { Box::from_raw(child) });
    }
}

/// The memory that an array points to, and the memory that it shares.
struct ArrayParts {
    _data: Option<ArrayData>,
    _validity: Option<Buffer>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ffi::Array>,
}

fn array(parts: ArrayParts, length: usize, null_count: usize) -> ffi::Array {
    let mut parts = Box::new(parts);
    ffi::Array {
        length: length as i64,
        null_count: null_count as i64,
        offset: 0,
        n_buffers: parts.buffers.len() as i64,
        n_children: parts.children.len() as i64,
        buffers: parts.buffers.as_mut_ptr(),
        children: parts.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(parts).cast(),
    }
}

/// A column. Its type is one of [`format()`].
fn exported_column(column: &dyn Array) -> ffi::Array {
    let length = column.len();
    let validity = column.nulls().map(|nulls| nulls.inner().sliced());
    let null_count = column.null_count();
    let first = validity.as_ref().map_or(ptr::null(), |bits| bits.as_ptr().cast());
    if column.data_type() == &DataType::Null {
        let parts = ArrayParts { _data: None, _validity: None, buffers: Vec::new(), children: Vec::new() };
        return array(parts, length, length);
    }
    // Bits alone have an offset that no buffer can be cut at.
    let data = match column.data_type() {
        DataType::Boolean => {
            let bits = column.as_boolean().values().sliced();
            // SAFETY: so many bits, and validity is not looked for here.
            unsafe { ArrayData::builder(DataType::Boolean).len(length).add_buffer(bits).build_unchecked() }
        }
        _ => column.to_data(),
    };
    let values = data.buffers().iter().map(|buffer| {
        // The buffers of other types begin with the first value.
        buffer.as_ptr().cast::<c_void>()
    });
    let buffers = std::iter::once(first).chain(values).collect();
    array(ArrayParts { _data: Some(data), _validity: validity, buffers, children: Vec::new() }, length, null_count)
}

fn exported_batch(batch: &RecordBatch) -> ffi::Array {
    let rows = StructArray::from(batch.clone());
    let columns = rows.columns().iter();
    let children = columns.map(|column| Box::into_raw(Box::new(exported_column(column.as_ref())))).collect();
    let parts = ArrayParts { _data: None, _validity: None, buffers: vec![ptr::null()], children };
    array(parts, batch.num_rows(), 0)
}

unsafe extern "C" fn release_array(array: *mut ffi::Array) {
    // SAFETY: the caller passes an array of this file, which it releases once.
    let parts = unsafe {
        (*array).release = None;
        Box::from_raw((*array).private_data.cast::<ArrayParts>())
    };
    for child in parts.children {
        // SAFETY: `exported_batch` made the child by `Box::into_raw`. One that was moved out has no `release`.
        drop(unsafe { Box::from_raw(child) });
    }
}

unsafe extern "C" fn get_schema(stream: *mut ffi::Stream, out: *mut ffi::Schema) -> c_int {
    // SAFETY: the caller passes a stream of this file, and calls it on one thread at a time.
    let source = unsafe { &mut *(*stream).private_data.cast::<Source>() };
    match exported_fields(source.schema.fields()) {
        Some(schema) => {
            // SAFETY: the caller passes the address of a schema that holds nothing.
            unsafe { ptr::write(out, schema) };
            0
        }
        None => fail(source, "the columns cannot cross to the driver: a name has a zero byte"),
    }
}

unsafe extern "C" fn get_next(stream: *mut ffi::Stream, out: *mut ffi::Array) -> c_int {
    // SAFETY: the caller passes a stream of this file, and calls it on one thread at a time.
    let source = unsafe { &mut *(*stream).private_data.cast::<Source>() };
    let next = match source.batches.next() {
        None => ffi::Array::empty(),
        Some(Ok(batch)) => exported_batch(&batch),
        Some(Err(error)) => return fail(source, &error),
    };
    // SAFETY: the caller passes the address of an array that holds nothing.
    unsafe { ptr::write(out, next) };
    0
}

fn fail(source: &mut Source, error: &str) -> c_int {
    source.error = CString::new(error.replace('\0', " ")).unwrap_or_default();
    EIO
}

unsafe extern "C" fn get_last_error(stream: *mut ffi::Stream) -> *const c_char {
    // SAFETY: the caller passes a stream of this file. The text lives until the next call.
    unsafe { (*(*stream).private_data.cast::<Source>()).error.as_ptr() }
}

unsafe extern "C" fn release_stream(stream: *mut ffi::Stream) {
    // SAFETY: the caller passes a stream of this file, which it releases once.
    unsafe {
        (*stream).release = None;
        drop(Box::from_raw((*stream).private_data.cast::<Source>()));
    }
}
