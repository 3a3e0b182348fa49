//! JSON in strings: parts by path, types, and documents from values.

pub(crate) mod document;
mod structure;

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, ListArray, ListBuilder, StringViewArray, StringViewBuilder, StructArray,
    UInt64Array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::nullif;
use arrow::datatypes::{DataType, Field, Fields};
use arrow::util::display::array_value_to_string;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use onrush_expr::scalar_udf::{kernel_by_types, strict};
use onrush_expr::type_coercion;

use super::{at, boolean, integers_of, invalid, lists, number_at, strings_of, takes, text, text_list, to_strings};
use document::{Json, Path, number_text};
use structure::structure;

pub fn functions() -> Vec<ScalarUDF> {
    let by_path: fn(&[DataType]) -> Result<DataType> = |dtypes| Ok(of_paths(dtypes, type_coercion::TEXT));
    let of_parts = vec![
        kernel_by_types("json_extract", by_path, |args| {
            at_paths("json_extract", 2, args, |found| strings(found, |value| Some(value.to_string())))
        }),
        kernel_by_types("json_extract_string", by_path, |args| {
            at_paths("json_extract_string", 2, args, |found| strings(found, Json::plain))
        }),
        kernel_by_types("json_value", by_path, |args| {
            at_paths("json_value", 2, args, |found| {
                strings(found, |value| match value {
                    Json::Array(_) | Json::Object(_) | Json::Null => None,
                    other => Some(other.to_string()),
                })
            })
        }),
        kernel_by_types("json_type", by_path, |args| {
            at_paths("json_type", 1, args, |found| strings(found, |value| Some(value.kind().to_string())))
        }),
        kernel_by_types(
            "json_array_length",
            |dtypes| Ok(of_paths(dtypes, DataType::UInt64)),
            |args| {
                at_paths("json_array_length", 1, args, |found| {
                    let length = |value: &Json| if let Json::Array(items) = value { items.len() as u64 } else { 0 };
                    Ok(Arc::new(found.iter().map(|value| value.as_ref().map(length)).collect::<UInt64Array>()))
                })
            },
        ),
        kernel_by_types(
            "json_keys",
            |dtypes| Ok(of_paths(dtypes, text_list(&[])?)),
            |args| at_paths("json_keys", 1, args, keys),
        ),
        kernel_by_types("json_exists", |dtypes| Ok(of_paths(dtypes, DataType::Boolean)), exists),
    ];
    of_parts.into_iter().chain(of_documents()).collect()
}

/// Functions without paths.
fn of_documents() -> Vec<ScalarUDF> {
    vec![
        kernel_by_types("json_valid", boolean, |args| {
            takes("json_valid", args, 1, 1)?;
            let values = strings_of(&args[0])?;
            let valid = (0..values.len()).map(|row| at(&values, row).map(|value| Json::parse(value).is_ok()));
            Ok(Arc::new(valid.collect::<BooleanArray>()))
        }),
        kernel_by_types("json_structure", text, |args| of_whole("json_structure", args, |v| structure(v).to_string())),
        // A value that is no string is written as JSON.
        kernel_by_types("json", text, |args| match args {
            [value] if !type_coercion::is_text(value.data_type()) => to_json(args),
            _ => of_whole("json", args, Json::to_string),
        }),
        kernel_by_types("try_json", text, |args| {
            takes("json", args, 1, 1)?;
            let values = strings_of(&args[0])?;
            to_strings(values.len(), |row| {
                Ok(at(&values, row).and_then(|value| Json::parse(value).ok()).map(|value| value.to_string()))
            })
        }),
        kernel_by_types("json_pretty", text, |args| {
            of_whole("json_pretty", args, |value| {
                let mut out = String::new();
                value.pretty(0, &mut out);
                out
            })
        }),
        kernel_by_types("json_contains", boolean, contains),
        kernel_by_types("json_merge_patch", text, merge),
        kernel_by_types("to_json", text, to_json),
        kernel_by_types("json_object", text, object),
        kernel_by_types("json_array", text, |args| {
            let rows = args.first().map_or(1, |arg| arg.len());
            to_strings(rows, |row| {
                let items = args.iter().map(|arg| json_of(arg, row)).collect::<Result<Vec<_>>>()?;
                Ok(Some(Json::Array(items).to_string()))
            })
        }),
        kernel_by_types("json_document", |_| Ok(marked(DOCUMENT)), |args| mark(DOCUMENT, args)),
        kernel_by_types("json_wildcard", |_| Ok(marked(WILDCARD)), |args| mark(WILDCARD, args)),
    ]
}

/// The field of strings that are documents: JSON has no separate type here.
const DOCUMENT: &str = "\u{1}document";
/// The field of strings that are paths with wildcards, which lead to lists.
const WILDCARD: &str = "\u{1}wildcard";

/// A struct around strings that says what they are.
fn marked(name: &str) -> DataType {
    DataType::Struct(Fields::from(vec![Field::new(name, type_coercion::TEXT, true)]))
}

fn mark(name: &str, args: &[ArrayRef]) -> Result<ArrayRef> {
    takes(name, args, 1, 1)?;
    let fields = Fields::from(vec![Field::new(name, type_coercion::TEXT, true)]);
    Ok(Arc::new(StructArray::try_new(fields, vec![Arc::new(strings_of(&args[0])?)], None)?))
}

/// Whether a path leads to several values.
pub fn is_wildcard(path: &str) -> bool {
    Path::parse(path).is_ok_and(|path| path.is_many())
}

/// The type of a function of what paths lead to: lists of paths and wildcards give lists.
fn of_paths(dtypes: &[DataType], one: DataType) -> DataType {
    match dtypes.get(1) {
        Some(paths) if type_coercion::is_list(paths) || *paths == marked(WILDCARD) => {
            DataType::List(Arc::new(Field::new_list_field(one, true)))
        }
        _ => one,
    }
}

fn parsed(text: &str) -> Result<Json> {
    match Json::parse(text) {
        Ok(value) => Ok(value),
        Err(what) => {
            let shown: String = text.chars().take(40).collect();
            invalid(format!("`{shown}` is not JSON: {what}"))
        }
    }
}

/// The paths of each row; numbers are places in arrays.
enum Paths {
    Text(StringViewArray, Option<(String, Path)>),
    Index(arrow::array::Int64Array),
}

impl Paths {
    fn of(values: &ArrayRef) -> Result<Paths> {
        Ok(match values.data_type().is_integer() {
            true => Paths::Index(integers_of(values)?),
            false => Paths::Text(strings_of(values)?, None),
        })
    }

    fn get(&mut self, row: usize) -> Result<Option<Path>> {
        match self {
            Paths::Index(values) => Ok(number_at(values, row).map(Path::index)),
            Paths::Text(values, last) => {
                let Some(text) = at(values, row) else { return Ok(None) };
                if let Some((known, path)) = last
                    && known == text
                {
                    return Ok(Some(path.clone()));
                }
                let path = Path::parse(text).or_else(invalid)?;
                *last = Some((text.to_string(), path.clone()));
                Ok(Some(path))
            }
        }
    }
}

/// A function of the documents, or of the values at their paths. Each row has one value, or a list if there are several
/// paths or wildcards.
fn at_paths(
    name: &str,
    least: usize,
    args: &[ArrayRef],
    f: impl Fn(&[Option<Json>]) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
    takes(name, args, least, 2)?;
    let documents = strings_of(&args[0])?;
    match args.get(1) {
        Some(paths) if type_coercion::is_list(paths.data_type()) => {
            let lists = strict(paths, &text_list(&[])?)?;
            let lists = lists.as_list::<i32>();
            listed(&documents, f, |row, document| {
                if lists.is_null(row) {
                    return Ok(None);
                }
                let first = |path: Path| path.of(document).first().map(|value| (*value).clone());
                let wanted = lists.value(row);
                let found = wanted.as_string_view().iter().map(|text| {
                    let path = text.map(Path::parse).transpose().or_else(invalid)?;
                    Ok(path.and_then(first))
                });
                found.collect::<Result<Vec<_>>>().map(Some)
            })
        }
        Some(paths) if *paths.data_type() == marked(WILDCARD) => {
            let mut paths = Paths::of(paths.as_struct().column(0))?;
            listed(&documents, f, |row, document| {
                let found = |path: Path| path.of(document).into_iter().map(|value| Some(value.clone())).collect();
                Ok(paths.get(row)?.map(found))
            })
        }
        paths => {
            let mut paths = paths.map(Paths::of).transpose()?;
            let found = (0..documents.len()).map(|row| {
                let Some(document) = at(&documents, row).map(parsed).transpose()? else { return Ok(None) };
                let Some(paths) = &mut paths else { return Ok(Some(document)) };
                Ok(paths.get(row)?.and_then(|path| path.of(&document).first().map(|value| (*value).clone())))
            });
            f(&found.collect::<Result<Vec<_>>>()?)
        }
    }
}

/// A list for each document, of a function of the values that are found in it.
fn listed(
    documents: &StringViewArray,
    f: impl Fn(&[Option<Json>]) -> Result<ArrayRef>,
    mut find: impl FnMut(usize, &Json) -> Result<Option<Vec<Option<Json>>>>,
) -> Result<ArrayRef> {
    let (mut all, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..documents.len() {
        let found = match at(documents, row).map(parsed).transpose()? {
            Some(document) => find(row, &document)?,
            None => None,
        };
        valid.push(found.is_some());
        lengths.push(found.as_ref().map_or(0, Vec::len));
        all.extend(found.into_iter().flatten());
    }
    let values = f(&all)?;
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let (offsets, nulls) = (OffsetBuffer::from_lengths(lengths), NullBuffer::from(valid));
    Ok(Arc::new(ListArray::try_new(field, offsets, values, Some(nulls))?))
}

fn strings(found: &[Option<Json>], f: impl Fn(&Json) -> Option<String>) -> Result<ArrayRef> {
    to_strings(found.len(), |row| Ok(found[row].as_ref().and_then(&f)))
}

/// A string for each document.
fn of_whole(name: &str, args: &[ArrayRef], f: impl Fn(&Json) -> String) -> Result<ArrayRef> {
    takes(name, args, 1, 1)?;
    let documents = strings_of(&args[0])?;
    to_strings(documents.len(), |row| Ok(at(&documents, row).map(parsed).transpose()?.as_ref().map(&f)))
}

fn keys(found: &[Option<Json>]) -> Result<ArrayRef> {
    let mut out = ListBuilder::new(StringViewBuilder::new());
    for value in found {
        if let Some(Json::Object(fields)) = value {
            fields.iter().for_each(|(name, _)| out.values().append_value(name));
        }
        out.append(value.is_some());
    }
    Ok(Arc::new(out.finish()))
}

/// Whether a path leads to anything. Null if the document or the path is.
fn exists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let found = at_paths("json_exists", 2, args, |found| {
        Ok(Arc::new(found.iter().map(|value| Some(value.is_some())).collect::<BooleanArray>()))
    })?;
    let missing = (0..found.len()).map(|row| Some(is_null(&args[0], row) || is_null(&args[1], row)));
    Ok(nullif(&found, &missing.collect::<BooleanArray>())?)
}

fn contains(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("json_contains", args, 2, 2)?;
    let (documents, others) = (strings_of(&args[0])?, strings_of(&args[1])?);
    let found = (0..documents.len()).map(|row| {
        let (Some(document), Some(other)) = (at(&documents, row), at(&others, row)) else { return Ok(None) };
        Ok(Some(parsed(document)?.contains(&parsed(other)?)))
    });
    Ok(Arc::new(found.collect::<Result<BooleanArray>>()?))
}

/// RFC 7396, from the left. A patch that is null gives null, which the next patch replaces.
fn merge(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("json_merge_patch", args, 2, usize::MAX)?;
    let documents = args.iter().map(strings_of).collect::<Result<Vec<_>>>()?;
    to_strings(documents[0].len(), |row| {
        let mut merged: Option<Json> = None;
        for document in &documents {
            let patch = at(document, row).map(parsed).transpose()?;
            merged = match (merged, patch) {
                (Some(merged), Some(patch)) => Some(merged.merged(patch)),
                (_, patch) => patch,
            };
        }
        Ok(merged.map(|merged| merged.to_string()))
    })
}

fn to_json(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("to_json", args, 1, 1)?;
    to_strings(args[0].len(), |row| match is_null(&args[0], row) {
        true => Ok(None),
        false => Ok(Some(json_of(&args[0], row)?.to_string())),
    })
}

/// `json_object(key, value, ...)`.
fn object(args: &[ArrayRef]) -> Result<ArrayRef> {
    if !args.len().is_multiple_of(2) {
        return invalid("`json_object` takes pairs of a key and a value");
    }
    let names = args.iter().step_by(2).map(strings_of).collect::<Result<Vec<_>>>()?;
    let rows = args.first().map_or(1, |arg| arg.len());
    to_strings(rows, |row| {
        let mut fields = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            let Some(name) = at(name, row) else { return invalid("a key of `json_object` cannot be null") };
            fields.push((name.to_string(), json_of(&args[2 * index + 1], row)?));
        }
        Ok(Some(Json::Object(fields).to_string()))
    })
}

/// Whether there is no value, or no document in a [`marked`] struct.
fn is_null(values: &ArrayRef, row: usize) -> bool {
    let dtype = values.data_type();
    let is_marked = *dtype == marked(DOCUMENT) || *dtype == marked(WILDCARD);
    *dtype == DataType::Null || values.is_null(row) || is_marked && values.as_struct().column(0).is_null(row)
}

/// A value as JSON.
fn json_of(values: &ArrayRef, row: usize) -> Result<Json> {
    if is_null(values, row) {
        return Ok(Json::Null);
    }
    Ok(match values.data_type() {
        t if *t == marked(DOCUMENT) => parsed(values.as_struct().column(0).as_string_view().value(row))?,
        DataType::Boolean => Json::Boolean(values.as_boolean().value(row)),
        t if t.is_integer() => Json::Number(array_value_to_string(values, row)?),
        // Decimals of which each is exact as a float are written as floats.
        DataType::Decimal32(..=15, _) | DataType::Decimal64(..=15, _) | DataType::Decimal128(..=15, _) => {
            let text = array_value_to_string(values, row)?;
            Json::Number(text.parse().map_or(text, number_text))
        }
        t if type_coercion::is_decimal(t) => Json::Number(array_value_to_string(values, row)?),
        t if t.is_floating() => {
            let value = strict(values, &DataType::Float64)?.as_primitive::<arrow::datatypes::Float64Type>().value(row);
            if value.is_finite() { Json::Number(number_text(value)) } else { Json::Null }
        }
        t if type_coercion::is_list(t) => {
            let list = lists::list_at(values, row)?;
            Json::Array((0..list.len()).map(|at| json_of(&list, at)).collect::<Result<_>>()?)
        }
        DataType::Struct(fields) => {
            let columns = values.as_struct().columns();
            let values = fields.iter().zip(columns).map(|(f, column)| Ok((f.name().clone(), json_of(column, row)?)));
            Json::Object(values.collect::<Result<_>>()?)
        }
        DataType::Map(..) => {
            let entries = values.as_map().value(row);
            let (names, inner) = (strict(entries.column(0), &type_coercion::TEXT)?, entries.column(1));
            let names = names.as_string_view();
            let values = (0..names.len()).map(|at| Ok((names.value(at).to_string(), json_of(inner, at)?)));
            Json::Object(values.collect::<Result<_>>()?)
        }
        _ => Json::Text(array_value_to_string(values, row)?),
    })
}
