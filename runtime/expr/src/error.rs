//! DataFusion's and Arrow's errors in the user's words.

use arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use onrush_wire::{Class, Diagnostic};

use crate::diagnostics;

/// A diagnostic without a place; the caller knows where.
pub fn diagnose(error: DataFusionError) -> Diagnostic {
    // An error of ours that went through DataFusion comes back as it was.
    let error = match error {
        DataFusionError::External(source) => match source.downcast::<Diagnostic>() {
            Ok(ours) => return *ours,
            Err(source) => DataFusionError::External(source),
        },
        other => other,
    };
    // However deep: a sort that has no room for its runs says so first, and then what it was refused.
    if let DataFusionError::ResourcesExhausted(message) = error.find_root() {
        return resources(message);
    }
    let text = error.to_string();
    match error {
        DataFusionError::Context(_, inner) => diagnose(*inner),
        DataFusionError::Diagnostic(_, inner) => diagnose(*inner),
        DataFusionError::Shared(inner) => match inner.as_ref() {
            DataFusionError::External(source) => match source.downcast_ref::<Diagnostic>() {
                Some(ours) => ours.clone(),
                None => data(&text),
            },
            DataFusionError::ArrowError(inner, _) => arrow_text(inner),
            _ => data(&text),
        },
        DataFusionError::ArrowError(inner, _) => match *inner {
            ArrowError::ExternalError(source) => match source.downcast::<DataFusionError>() {
                Ok(inner) => diagnose(*inner),
                Err(source) => match source.downcast::<Diagnostic>() {
                    Ok(ours) => *ours,
                    Err(source) => data(&source.to_string()),
                },
            },
            other => arrow_text(&other),
        },
        DataFusionError::SQL(source, _) => {
            Diagnostic::error(Class::Plan, "sql-syntax", clean(&source.to_string().replace("sql parser error: ", "")))
        }
        DataFusionError::SchemaError(source, _) => schema(*source),
        DataFusionError::Plan(message) => Diagnostic::error(Class::Plan, "invalid-plan", clean(&message)),
        DataFusionError::NotImplemented(message) => {
            Diagnostic::error(Class::Plan, "not-supported", clean(&message)).help("write it in another way")
        }
        DataFusionError::IoError(source) => Diagnostic::error(Class::Environment, "io", source.to_string()),
        DataFusionError::ObjectStore(source) => Diagnostic::error(Class::Data, "unreadable-file", source.to_string()),
        DataFusionError::ParquetError(source) => {
            Diagnostic::error(Class::Data, "bad-parquet", clean(&source.to_string().replace("Parquet error: ", "")))
        }
        DataFusionError::Internal(message) => internal(&message),
        DataFusionError::Execution(message) => data(&message),
        DataFusionError::External(source) => data(&source.to_string()),
        DataFusionError::Collection(mut all) if !all.is_empty() => diagnose(all.swap_remove(0)),
        _ => data(&text),
    }
}

/// An error of ours on its way through DataFusion: [`diagnose`] gives it back as it was.
pub fn external(diagnostic: Diagnostic) -> DataFusionError {
    DataFusionError::External(Box::new(diagnostic))
}

/// A bug of ours, or of the engine under us.
pub fn internal(message: &str) -> Diagnostic {
    let first = clean(message);
    Diagnostic::error(Class::Internal, "internal", format!("the engine could not do this: {first}"))
        .help("this is a bug in Onrush: please report it together with the cell")
}

fn resources(message: &str) -> Diagnostic {
    Diagnostic::error(Class::Resources, "out-of-memory", format!("the memory limit is reached: {}", clean(message)))
        .help("work on fewer rows or columns, aggregate first, or raise ONRUSH_MEMORY")
}

fn schema(error: SchemaError) -> Diagnostic {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let names: Vec<&str> = valid_fields.iter().map(|c| c.name.as_str()).collect();
            // With its table where another one has a column of this name.
            let others = || valid_fields.iter().filter(|other| other.name == field.name && other.relation.is_some());
            let diagnostic = match &field.relation {
                Some(table) if others().next().is_some() => {
                    let list: Vec<String> = others().map(|other| format!("`{}`", other.flat_name())).collect();
                    let message = format!("there is no column `{}` in `{table}`", field.name);
                    diagnostics::plan_error("unknown-column", message)
                        .help(format!("did you mean {}?", list.join(" or ")))
                }
                _ => {
                    let message = format!("there is no column `{}`", field.name);
                    let diagnostic = diagnostics::plan_error("unknown-column", message);
                    match diagnostics::nearest(&field.name, names.iter().copied()) {
                        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                        None => diagnostic,
                    }
                }
            };
            let mut shown: Vec<String> = Vec::new();
            for name in names.iter().filter(|n| !n.starts_with(diagnostics::HIDDEN)) {
                let name = format!("`{name}`");
                if !shown.contains(&name) {
                    shown.push(name);
                }
            }
            let more = shown.len().saturating_sub(10);
            shown.truncate(10);
            match (shown.is_empty(), more) {
                (true, _) => diagnostic,
                (false, 0) => diagnostic.note(format!("columns: {}", shown.join(", "))),
                (false, more) => diagnostic.note(format!("columns: {}, and {more} more", shown.join(", "))),
            }
        }
        SchemaError::AmbiguousReference { field } => diagnostics::plan_error(
            "ambiguous-column",
            format!("`{}` could be a column of more than one table", field.name),
        )
        .help(format!("write the table in front of it: `table.{}`", field.name)),
        SchemaError::DuplicateUnqualifiedField { name } => diagnostics::duplicate_column(&name),
        SchemaError::DuplicateQualifiedField { name, .. } => diagnostics::duplicate_column(&name),
    }
}

fn data(message: &str) -> Diagnostic {
    arrow_message(&clean(message))
}

fn arrow_text(error: &ArrowError) -> Diagnostic {
    match error {
        ArrowError::DivideByZero => Diagnostic::error(Class::Data, "division-by-zero", "an integer is divided by zero")
            .help("leave such rows out with a filter, or use `nullif(divisor, 0)` in SQL"),
        ArrowError::ArithmeticOverflow(message) => overflow(message),
        ArrowError::MemoryError(message) => resources(message),
        other => arrow_message(&clean(&other.to_string())),
    }
}

fn overflow(message: &str) -> Diagnostic {
    let message = message.strip_prefix("Overflow happened on: ").unwrap_or(message);
    Diagnostic::error(Class::Data, "overflow", format!("a result is too large for its type: {}", clean(message)))
        .help("cast to a wider type first, such as `f64`: `cast(x as double)` in SQL")
}

fn arrow_message(message: &str) -> Diagnostic {
    // Arrow: "Cannot cast string 'abc' to value of Int64 type", and "value" for a boolean.
    if let Some(rest) = message.strip_prefix("Cannot cast string '").or(message.strip_prefix("Cannot cast value '"))
        && let Some((value, rest)) = rest.rsplit_once("' to value of ")
    {
        let to = rest.trim_end_matches(" type");
        return cast_failure(&format!("the text `{value}`"), to);
    }
    // A decimal that does not fit into the integer type: an exact sum that is too large.
    if message.contains("is out of range") || message.contains("value of Int64") || message.contains("too large to") {
        return overflow(message);
    }
    if message.contains("Overflow happened on") || message.starts_with("Arithmetic overflow") {
        return overflow(message.trim_start_matches("Arithmetic overflow: "));
    }
    if message.starts_with("Divide by zero") {
        return arrow_text(&ArrowError::DivideByZero);
    }
    if let Some(rest) = message.strip_prefix("Can't cast value ")
        && let Some((value, to)) = rest.rsplit_once(" to type ")
    {
        return cast_failure(&format!("the value {value}"), to);
    }
    if let Some(rest) = message.strip_prefix("Error parsing timestamp from '") {
        let value = rest.split('\'').next().unwrap_or(rest);
        return cast_failure(&format!("the text `{value}`"), "timestamp");
    }
    Diagnostic::error(Class::Data, "data", message.to_string())
}

fn cast_failure(what: &str, to: &str) -> Diagnostic {
    let to = match to {
        "Int8" => "i8",
        "Int16" => "i16",
        "Int32" => "i32",
        "Int64" => "i64",
        "UInt8" => "u8",
        "UInt16" => "u16",
        "UInt32" => "u32",
        "UInt64" => "u64",
        "Float32" => "f32",
        "Float64" => "f64",
        "Boolean" => "bool",
        "Date32" | "Date64" => "date",
        other => other,
    };
    Diagnostic::error(Class::Data, "cast", format!("{what} cannot be cast to `{to}`")).help(
        "values that do not fit become null with `.try_cast(...)` (`.cast(...)` is strict); in SQL with `try_cast`",
    )
}

/// Without the prefixes that say which library spoke, without a dump of internals.
pub fn clean(message: &str) -> String {
    let mut text = message.trim();
    loop {
        let before = text;
        for prefix in [
            "Arrow error: ",
            "Cast error: ",
            "Parser error: ",
            "Compute error: ",
            "Invalid argument error: ",
            "Execution error: ",
            "Error during planning: ",
            "External error: ",
            "Internal error: ",
            "Optimizer rule",
            "SQL error: ",
            "ParserError(",
            "Schema error: ",
            "Resources exhausted: ",
            "This feature is not implemented: ",
            "Shared error: ",
        ] {
            if prefix != "Optimizer rule" {
                text = text.strip_prefix(prefix).unwrap_or(text);
            }
        }
        if text == before {
            break;
        }
    }
    let end = ["\n\nbacktrace:", ".\nThis issue was likely caused", "\nThis was likely caused"]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min()
        .unwrap_or(text.len());
    text[..end].trim().trim_end_matches('.').to_string()
}
