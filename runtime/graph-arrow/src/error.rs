//! Errors of algorithms and of Arrow as diagnostics.

use arrow::datatypes::DataType;
use onrush_graph::Error;
use onrush_wire::{Class, Diagnostic};

pub fn plan_error(code: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Class::Plan, code, message)
}

/// A fault of ours.
pub fn internal(message: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Class::Internal, "internal", format!("the engine could not do this: {message}"))
        .help("this is a bug in Onrush: please report it together with the cell")
}

/// The user's word for a type: `i64`, `str`.
pub fn type_name(dtype: &DataType) -> String {
    onrush_frame::dtype_to_wire(dtype).to_string()
}

/// An error of an algorithm for the user.
pub fn diagnose(error: &Error) -> Diagnostic {
    if error.is_stopped() {
        return onrush_frame::CancelError.into();
    }
    let diagnostic = plan_error(error.code(), error.message.clone());
    error.help.iter().fold(diagnostic, |diagnostic, help| diagnostic.help(help.clone()))
}

/// The known name that the user most likely meant: the same in another case, else one within a third of its length.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let length = lower.chars().count();
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let candidate_lower = candidate.to_lowercase();
        if candidate_lower == lower {
            return Some(candidate);
        }
        let distance = strsim::damerau_levenshtein(&lower, &candidate_lower);
        let limit = length.max(candidate_lower.chars().count()).div_ceil(3);
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, name)| name)
}
