//! JSON in strings: parts by path, types, and documents from values.

pub(crate) mod document;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListBuilder, StringViewBuilder, UInt64Array};
use arrow::datatypes::DataType;
use arrow::util::display::array_value_to_string;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use onrush_expr::kernels::{kernel_by_types, strict};
use onrush_expr::types;

use super::{at, boolean, integers_of, invalid, number_at, strings_of, takes, text, text_list, to_strings};
use document::{Json, Path};

pub fn functions() -> Vec<ScalarUDF> {
    let count = |_: &[DataType]| Ok(DataType::UInt64);
    vec![
        kernel_by_types("json_extract", extract_type, |args| extract("json_extract", args, false)),
        kernel_by_types("json_extract_string", extract_type, |args| extract("json_extract_string", args, true)),
        kernel_by_types("json_value", text, |args| extract("json_value", args, false)),
        kernel_by_types("json_valid", boolean, |args| {
            takes("json_valid", args, 1, 1)?;
            let values = strings_of(&args[0])?;
            let valid = (0..values.len()).map(|row| at(&values, row).map(|value| Json::parse(value).is_ok()));
            Ok(Arc::new(valid.collect::<BooleanArray>()))
        }),
        kernel_by_types("json_type", text, |args| strings("json_type", args, |value| Some(value.kind().to_string()))),
        kernel_by_types("json_structure", text, |args| {
            strings("json_structure", args, |value| Some(structure(value).to_string()))
        }),
        kernel_by_types("json", text, |args| strings("json", args, |value| Some(value.to_string()))),
        kernel_by_types("try_json", text, |args| {
            takes("json", args, 1, 1)?;
            let values = strings_of(&args[0])?;
            to_strings(values.len(), |row| {
                Ok(at(&values, row).and_then(|value| Json::parse(value).ok()).map(|value| value.to_string()))
            })
        }),
        kernel_by_types("json_pretty", text, |args| {
            strings("json_pretty", args, |value| {
                let mut out = String::new();
                value.pretty(0, &mut out);
                Some(out)
            })
        }),
        kernel_by_types("json_array_length", count, |args| {
            let found = parts("json_array_length", args)?;
            Ok(Arc::new(
                found
                    .iter()
                    .map(|value| match value {
                        Some(Json::Array(items)) => Some(items.len() as u64),
                        Some(_) => Some(0),
                        None => None,
                    })
                    .collect::<UInt64Array>(),
            ))
        }),
        kernel_by_types("json_keys", text_list, keys),
        kernel_by_types("json_exists", boolean, |args| {
            takes("json_exists", args, 2, 2)?;
            let documents = strings_of(&args[0])?;
            let found = parts("json_exists", args)?;
            let there = found.iter().enumerate().map(|(row, value)| documents.is_valid(row).then_some(value.is_some()));
            Ok(Arc::new(there.collect::<BooleanArray>()))
        }),
        kernel_by_types("json_contains", boolean, contains),
        kernel_by_types("json_merge_patch", text, merge),
        kernel_by_types("to_json", text, |args| {
            takes("to_json", args, 1, 1)?;
            let rows = args[0].len();
            to_strings(rows, |row| Ok(Some(json_of(&args[0], row)?.to_string())))
        }),
        kernel_by_types("json_object", text, object),
        kernel_by_types("json_array", text, |args| {
            let rows = args.first().map_or(1, |arg| arg.len());
            to_strings(rows, |row| {
                let items = args.iter().map(|arg| json_of(arg, row)).collect::<Result<Vec<_>>>()?;
                Ok(Some(Json::Array(items).to_string()))
            })
        }),
    ]
}

/// A list of paths gives a list.
fn extract_type(dtypes: &[DataType]) -> Result<DataType> {
    if dtypes.get(1).is_some_and(types::is_list) { text_list(dtypes) } else { Ok(types::TEXT) }
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
    Text(arrow::array::StringViewArray, Option<(String, Path)>),
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

fn shown(value: &Json, as_string: bool) -> Option<String> {
    if as_string { value.plain() } else { Some(value.to_string()) }
}

fn extract(name: &str, args: &[ArrayRef], as_string: bool) -> Result<ArrayRef> {
    takes(name, args, 2, 2)?;
    let documents = strings_of(&args[0])?;
    if types::is_list(args[1].data_type()) {
        return extract_each(&documents, &args[1], as_string);
    }
    let mut paths = Paths::of(&args[1])?;
    to_strings(documents.len(), |row| {
        let (Some(document), Some(path)) = (at(&documents, row), paths.get(row)?) else { return Ok(None) };
        let document = parsed(document)?;
        let found = path.of(&document);
        if path.is_many() {
            return Ok(Some(Json::Array(found.into_iter().cloned().collect()).to_string()));
        }
        let found = found.first().copied();
        Ok(found
            .filter(|v| name != "json_value" || !matches!(v, Json::Array(_) | Json::Object(_)))
            .and_then(|v| shown(v, as_string)))
    })
}

fn extract_each(documents: &arrow::array::StringViewArray, paths: &ArrayRef, as_string: bool) -> Result<ArrayRef> {
    let lists = strict(paths, &text_list(&[])?)?;
    let lists = lists.as_list::<i32>();
    let mut out = ListBuilder::new(StringViewBuilder::new());
    for row in 0..documents.len() {
        let Some(document) = at(documents, row).filter(|_| lists.is_valid(row)) else {
            out.append_null();
            continue;
        };
        let document = parsed(document)?;
        let wanted = lists.value(row);
        for path in wanted.as_string_view() {
            let path = path.map(Path::parse).transpose().or_else(invalid)?;
            let found = path.and_then(|path| path.of(&document).first().and_then(|value| shown(value, as_string)));
            out.values().append_option(found);
        }
        out.append(true);
    }
    Ok(Arc::new(out.finish()))
}

/// The documents, or what a path leads to in them.
fn parts(name: &str, args: &[ArrayRef]) -> Result<Vec<Option<Json>>> {
    takes(name, args, 1, 2)?;
    let documents = strings_of(&args[0])?;
    let mut paths = args.get(1).map(Paths::of).transpose()?;
    let mut out = Vec::with_capacity(documents.len());
    for row in 0..documents.len() {
        let Some(document) = at(&documents, row) else {
            out.push(None);
            continue;
        };
        let document = parsed(document)?;
        out.push(match &mut paths {
            None => Some(document),
            Some(paths) => paths.get(row)?.and_then(|path| path.of(&document).first().map(|value| (*value).clone())),
        });
    }
    Ok(out)
}

fn strings(name: &str, args: &[ArrayRef], f: impl Fn(&Json) -> Option<String>) -> Result<ArrayRef> {
    let found = parts(name, args)?;
    to_strings(found.len(), |row| Ok(found[row].as_ref().and_then(&f)))
}

fn keys(args: &[ArrayRef]) -> Result<ArrayRef> {
    let mut out = ListBuilder::new(StringViewBuilder::new());
    for value in parts("json_keys", args)? {
        match value {
            Some(Json::Object(fields)) => {
                fields.iter().for_each(|(name, _)| out.values().append_value(name));
                out.append(true);
            }
            Some(_) => out.append(true),
            None => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
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

fn merge(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("json_merge_patch", args, 2, usize::MAX)?;
    let documents = args.iter().map(strings_of).collect::<Result<Vec<_>>>()?;
    to_strings(documents[0].len(), |row| {
        let mut merged = match at(&documents[0], row) {
            Some(text) => parsed(text)?,
            None => return Ok(None),
        };
        for patch in &documents[1..] {
            let Some(text) = at(patch, row) else { return Ok(None) };
            merged = merged.merged(parsed(text)?);
        }
        Ok(Some(merged.to_string()))
    })
}

/// The types of a document in its own form.
fn structure(value: &Json) -> Json {
    match value {
        Json::Object(fields) => {
            Json::Object(fields.iter().map(|(name, value)| (name.clone(), structure(value))).collect())
        }
        Json::Array(items) => {
            let mut kinds: Vec<Json> = items.iter().map(structure).collect();
            kinds.dedup();
            let first = kinds.first().cloned().unwrap_or(Json::Text("NULL".to_string()));
            Json::Array(vec![if kinds.len() > 1 { Json::Text("JSON".to_string()) } else { first }])
        }
        other => Json::Text(other.kind().to_string()),
    }
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

/// A value as JSON.
fn json_of(values: &ArrayRef, row: usize) -> Result<Json> {
    if values.is_null(row) {
        return Ok(Json::Null);
    }
    Ok(match values.data_type() {
        DataType::Null => Json::Null,
        DataType::Boolean => Json::Boolean(values.as_boolean().value(row)),
        t if t.is_integer() || types::is_decimal(t) => Json::Number(array_value_to_string(values, row)?),
        t if t.is_floating() => {
            let value = strict(values, &DataType::Float64)?.as_primitive::<arrow::datatypes::Float64Type>().value(row);
            if value.is_finite() { Json::Number(format!("{value:?}")) } else { Json::Null }
        }
        t if types::is_list(t) => {
            let list = super::lists::list_at(values, row)?;
            Json::Array((0..list.len()).map(|at| json_of(&list, at)).collect::<Result<_>>()?)
        }
        DataType::Struct(fields) => {
            let columns = values.as_struct().columns();
            let values = fields.iter().zip(columns).map(|(f, column)| Ok((f.name().clone(), json_of(column, row)?)));
            Json::Object(values.collect::<Result<_>>()?)
        }
        DataType::Map(..) => {
            let entries = values.as_map().value(row);
            let (names, inner) = (strict(entries.column(0), &types::TEXT)?, entries.column(1));
            let names = names.as_string_view();
            let values = (0..names.len()).map(|at| Ok((names.value(at).to_string(), json_of(inner, at)?)));
            Json::Object(values.collect::<Result<_>>()?)
        }
        _ => Json::Text(array_value_to_string(values, row)?),
    })
}
