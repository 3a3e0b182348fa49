//! Columns of files of typed formats: the layout in memory, and one schema for several files.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayData, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::{can_cast_types, cast};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use onrush_frame::dtype_to_wire;
use onrush_wire::{Class, Diagnostic};

/// The layout in which a column of an Arrow type is held. Strings and bytes are views; dictionaries and runs are
/// decoded, also inside of lists and structs.
pub(crate) fn held(dtype: &DataType) -> DataType {
    let inner = |field: &FieldRef| Arc::new(field.as_ref().clone().with_data_type(held(field.data_type())));
    let wanted = match dtype {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Dictionary(_, values) => held(values),
        DataType::RunEndEncoded(_, values) => held(values.data_type()),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => DataType::List(inner(item)),
        other => other.clone(),
    };
    if can_cast_types(dtype, &wanted) { wanted } else { dtype.clone() }
}

/// A schema in the layout of [`held`], without metadata: that of pandas is of no use here and makes equal schemas
/// differ.
pub(crate) fn held_schema(schema: &Schema) -> Schema {
    // A column without null keys can have a dictionary with a null.
    let is_nullable = |f: &Field| f.is_nullable() || matches!(f.data_type(), DataType::Dictionary(..));
    let fields = schema.fields().iter().map(|f| Field::new(f.name(), held(f.data_type()), is_nullable(f)));
    Schema::new(fields.collect::<Vec<_>>())
}

/// A column in another layout.
pub(crate) fn converted(column: &ArrayRef, dtype: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == dtype {
        return Ok(Arc::clone(column));
    }
    if dictionary_has_nulls(&column.to_data()) {
        let plain = without_dictionaries(column.data_type());
        return cast(&cast(column, &plain)?, dtype);
    }
    cast(column, dtype)
}

/// Whether a dictionary, here or inside of lists and structs, has a null among its values. A cast of such a dictionary
/// to a view gives an empty string for the null (arrow 59, `view_from_dict_values`).
fn dictionary_has_nulls(data: &ArrayData) -> bool {
    let own = matches!(data.data_type(), DataType::Dictionary(..));
    data.child_data().iter().any(|child| (own && child.null_count() > 0) || dictionary_has_nulls(child))
}

/// A type with the values of its dictionaries in place of the dictionaries.
fn without_dictionaries(dtype: &DataType) -> DataType {
    let inner =
        |field: &FieldRef| Arc::new(field.as_ref().clone().with_data_type(without_dictionaries(field.data_type())));
    match dtype {
        DataType::Dictionary(_, values) => without_dictionaries(values),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::List(item) => DataType::List(inner(item)),
        DataType::LargeList(item) => DataType::LargeList(inner(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(inner(item), *length),
        other => other.clone(),
    }
}

/// The rows of a batch with the columns of `schema`, by name and cast; a column that is missing is null.
pub(crate) fn with_schema(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let column = |field: &FieldRef| -> Result<ArrayRef, ArrowError> {
        match batch.column_by_name(field.name()) {
            None => Ok(new_null_array(field.data_type(), batch.num_rows())),
            Some(column) => converted(column, field.data_type()),
        }
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &rows)
}

/// The type that holds the values of two others, as CSV files have it together. It is the wider integer or float, a
/// float for an integer and a float, or a decimal with the digits of both. `None`: their values differ in kind.
fn widened(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::{Date32, Dictionary, Float16, Float32, Float64, Timestamp, Utf8View};
    let bits = |dtype: &DataType| dtype.primitive_width().unwrap_or(8) * 8;
    let digits = |dtype: &DataType| match dtype {
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) | DataType::Decimal128(p, s) => Some((*p, *s)),
        DataType::Int8 | DataType::UInt8 => Some((3, 0)),
        DataType::Int16 | DataType::UInt16 => Some((5, 0)),
        DataType::Int32 | DataType::UInt32 => Some((10, 0)),
        DataType::Int64 => Some((19, 0)),
        DataType::UInt64 => Some((20, 0)),
        _ => None,
    };
    let signed = |bits: usize| match bits {
        8 => DataType::Int8,
        16 => DataType::Int16,
        32 => DataType::Int32,
        _ => DataType::Int64,
    };
    Some(match (a, b) {
        (a, b) if a == b => a.clone(),
        (a, b) if a.is_integer() && b.is_integer() => match (a.is_signed_integer(), b.is_signed_integer()) {
            (true, true) | (false, false) => {
                if bits(a) >= bits(b) {
                    a.clone()
                } else {
                    b.clone()
                }
            }
            (is_signed, _) => {
                let (with, without) = if is_signed { (bits(a), bits(b)) } else { (bits(b), bits(a)) };
                if without == 64 { DataType::Decimal128(20, 0) } else { signed(with.max(without * 2)) }
            }
        },
        (Float16, Float32) | (Float32, Float16) => Float32,
        (a, b) if a.is_floating() && (b.is_floating() || digits(b).is_some()) => Float64,
        (a, b) if b.is_floating() && digits(a).is_some() => Float64,
        (a, b) if digits(a).is_some() && digits(b).is_some() => {
            let ((p, s), (q, t)) = (digits(a)?, digits(b)?);
            let scale = s.max(t);
            let whole = (i32::from(p) - i32::from(s)).max(i32::from(q) - i32::from(t));
            DataType::Decimal128(u8::try_from(whole + i32::from(scale)).unwrap_or(38).min(38), scale)
        }
        (Date32, time @ Timestamp(..)) | (time @ Timestamp(..), Date32) => time.clone(),
        (Utf8View, Dictionary(_, values)) | (Dictionary(_, values), Utf8View) if values.is_string() => Utf8View,
        _ => return None,
    })
}

/// The columns that all files have, in the order of the first file. A column that can be null in one file can be null
/// in all. With `union`, the columns of any file, in the order in which they come first. A column can be null if a file
/// lacks it, and its type holds the values of all files.
///
/// # Errors
/// Another column, or a column of another type, which names the file. Two columns of one name.
pub(crate) fn of_all(files: &[(&Path, &Schema)], union: bool) -> Result<SchemaRef, Diagnostic> {
    let (first, schema) = files[0];
    let plain = |f: &FieldRef| Field::new(f.name(), f.data_type().clone(), f.is_nullable());
    let mut fields: Vec<Field> = schema.fields().iter().map(plain).collect();
    for (path, schema) in files {
        let mut names = HashSet::new();
        if let Some(twice) = schema.fields().iter().find(|f| !names.insert(f.name())) {
            return Err(Diagnostic::error(
                Class::Data,
                "duplicate-column",
                format!("`{}` has more than one column named `{}`", path.display(), twice.name()),
            ));
        }
    }
    let differs = |path: &Path, what: String, help: &str| {
        let message = format!("`{}` does not have the columns of `{}`: {what}", path.display(), first.display());
        Diagnostic::error(Class::Data, "different-columns", message).help(help)
    };
    const MISSING: &str = "to read what is missing as null: parquet().union_by_name().read(..); files of other formats \
                           are put together with `concat_diagonal`";
    const TYPES: &str = "read the files one by one, cast or select columns, and put them together with `concat`";
    for (path, other) in &files[1..] {
        for extra in other.fields().iter().filter(|f| !fields.iter().any(|o| o.name() == f.name())).collect::<Vec<_>>()
        {
            if !union {
                return Err(differs(path, format!("its column `{}` is not in the first", extra.name()), MISSING));
            }
            fields.push(plain(extra).with_nullable(true));
        }
        for field in &mut fields {
            match other.field_with_name(field.name()) {
                Err(_) if union => *field = field.clone().with_nullable(true),
                Err(_) => return Err(differs(path, format!("it has no column `{}`", field.name()), MISSING)),
                Ok(same) if same.data_type() == field.data_type() => {
                    *field = field.clone().with_nullable(field.is_nullable() || same.is_nullable());
                }
                // A column of nulls has the type of the other files.
                Ok(same) if union && same.data_type() == &DataType::Null => {
                    *field = field.clone().with_nullable(true);
                }
                Ok(same) if union && field.data_type() == &DataType::Null => {
                    *field = field.clone().with_data_type(same.data_type().clone()).with_nullable(true);
                }
                Ok(same) if union && let Some(wide) = widened(field.data_type(), same.data_type()) => {
                    let is_nullable = field.is_nullable() || same.is_nullable();
                    *field = field.clone().with_data_type(wide).with_nullable(is_nullable);
                }
                Ok(same) => {
                    let (there, here) = (dtype_to_wire(same.data_type()), dtype_to_wire(field.data_type()));
                    let what = format!("its column `{}` is {there}, not {here}", field.name());
                    return Err(differs(path, what, TYPES));
                }
            }
        }
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// The chosen columns of a schema in their order; all of them if none is chosen.
///
/// # Errors
/// A name that the schema lacks.
pub(crate) fn chosen(schema: &SchemaRef, names: &[String], path: &Path) -> Result<SchemaRef, Diagnostic> {
    if names.is_empty() {
        return Ok(Arc::clone(schema));
    }
    let position = |name: &String| {
        schema.index_of(name).map_err(|_| {
            let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            unknown(name, &names, path)
        })
    };
    let positions = names.iter().map(position).collect::<Result<Vec<_>, _>>()?;
    let fields: Vec<FieldRef> = positions.iter().map(|i| Arc::clone(&schema.fields()[*i])).collect();
    Ok(Arc::new(Schema::new(fields)))
}

/// The error of a name that is not among the columns.
pub(crate) fn unknown(name: &str, names: &[&str], path: &Path) -> Diagnostic {
    let error =
        Diagnostic::error(Class::Plan, "unknown-column", format!("`{}` has no column `{name}`", path.display()));
    let near = names.iter().map(|n| (strsim::jaro_winkler(&n.to_lowercase(), &name.to_lowercase()), n));
    match near.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((_, near)) => error.help(format!("did you mean `{near}`?")),
        None => {
            let list = names.iter().take(20).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            error.help(format!("its columns are {list}{}", if names.len() > 20 { ", ..." } else { "" }))
        }
    }
}
