//! Diagnostics about plans: unknown names with the nearest known one, mismatched types, wrong arguments.
//!
//! Errors of DataFusion and Arrow are put into words in `error.rs`.

use arrow::datatypes::{DataType, Schema};
use onrush_wire::{Class, Diagnostic, Span};

/// Adds the place: the token's own, or the call's if the token has none.
pub fn place(diagnostic: Diagnostic, span: Option<&Span>, at: Option<&Span>, text: &str) -> Diagnostic {
    match span.or(at) {
        Some(span) => diagnostic.at(span.clone(), text),
        None => diagnostic,
    }
}

pub fn plan_error(code: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Class::Plan, code, message)
}

/// The user's word for a type: `i64`, `str`, `datetime[μs]`.
pub fn type_name(dtype: &DataType) -> String {
    onrush_frame::dtype_to_wire(dtype).to_string()
}

/// The known name that the user most likely meant: the same in another case, else one within a third of its length.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        if candidate.starts_with(HIDDEN) {
            continue;
        }
        let candidate_lower = candidate.to_lowercase();
        if candidate_lower == lower {
            return Some(candidate);
        }
        let distance = strsim::damerau_levenshtein(&lower, &candidate_lower);
        let limit = (lower.chars().count().max(candidate_lower.chars().count())).div_ceil(3);
        if distance <= limit && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, name)| name)
}

/// Columns of ours that carry windows, aggregates and row numbers; the user never sees them.
pub const HIDDEN: &str = "__onrush_";

pub fn unknown_column(name: &str, schema: &Schema) -> Diagnostic {
    let names = || schema.fields().iter().map(|f| f.name().as_str());
    let mut diagnostic = plan_error("unknown-column", format!("there is no column `{name}`"));
    match nearest(name, names()) {
        Some(near) if near.to_lowercase() == name.to_lowercase() => {
            diagnostic = diagnostic.help(format!("column names are case-sensitive: `{name}` is `{near}`"));
        }
        Some(near) => diagnostic = diagnostic.help(format!("did you mean `{near}`?")),
        None => {}
    }
    let visible: Vec<&str> = names().filter(|n| !n.starts_with(HIDDEN)).collect();
    let shown: Vec<String> = visible.iter().take(10).map(|n| format!("`{n}`")).collect();
    diagnostic.note(match visible.len() {
        0 => "the frame has no columns".to_string(),
        n if n > 10 => format!("columns: {}, and {} more", shown.join(", "), n - 10),
        _ => format!("columns: {}", shown.join(", ")),
    })
}

pub fn duplicate_column(name: &str) -> Diagnostic {
    plan_error("duplicate-column", format!("the result would have two columns named `{name}`"))
        .help("give one of them another name: `new_name = expression`, or `.alias(\"new_name\")`")
}

/// The help for a column's name in quotes.
pub fn quoted_column(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let column = if is_plain { format!("`{name}` or `col(\"{name}\")`") } else { format!("`col(\"{name}\")`") };
    format!("the column is written {column}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_close_or_absent() {
        let names = ["dep_delay", "arr_delay", "carrier", "x"];
        assert_eq!(nearest("dep_dely", names), Some("dep_delay"));
        assert_eq!(nearest("Carrier", names), Some("carrier"));
        assert_eq!(nearest("temperature", names), None);
        assert_eq!(nearest("y", names), Some("x"));
    }
}
