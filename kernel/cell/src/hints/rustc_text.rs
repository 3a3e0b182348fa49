//! The wording of rustc where its code does not say enough: messages, labels and help that hints and further compiles
//! depend on.

use onrush_wire::Diagnostic;

/// The code of errors for which rustc has none: those of its lexer and parser.
pub const SYNTAX: &str = "syntax";

/// Whether an error is of rustc's lexer or parser.
pub fn is_syntax(diagnostic: &Diagnostic) -> bool {
    diagnostic.code == SYNTAX || diagnostic.code.starts_with("E07")
}

/// A character that no token begins with, or a quote that opens nothing.
pub fn has_no_token(diagnostic: &Diagnostic) -> bool {
    diagnostic.message.starts_with("unknown start of token")
        || is_long_character(&diagnostic.message)
        || diagnostic.code == "E0762"
}

/// `'text'`
pub fn is_long_character(message: &str) -> bool {
    message.starts_with("character literal may only contain")
}

/// A literal without its end, or with an unknown prefix.
pub fn has_unclear_literal(diagnostic: &Diagnostic) -> bool {
    diagnostic.code.starts_with("E076") || diagnostic.code == SYNTAX && diagnostic.message.ends_with(" is unknown")
}

/// Whether the parser met this token where it expected another one.
pub fn met_token(message: &str, token: &str) -> bool {
    message.strip_suffix('`').and_then(|text| text.strip_suffix(token)).is_some_and(|text| text.ends_with("found `"))
}

pub fn met_some_token(message: &str) -> bool {
    message.contains("found `")
}

pub fn is_unknown_name(message: &str) -> bool {
    message.starts_with("cannot find ")
}

/// The name that an error of rustc or of a command does not find.
pub fn unknown_name(message: &str) -> Option<&str> {
    let is_about_a_name = is_unknown_name(message)
        || message.starts_with("there is no variable ")
        || message.starts_with("unresolved import")
        || message.contains("use of undeclared");
    message.split('`').nth(1).filter(|_| is_about_a_name)
}

pub fn is_unknown_in_scope(message: &str) -> bool {
    is_unknown_name(message) && message.ends_with(" in this scope")
}

pub fn met_macro(message: &str) -> bool {
    message.starts_with("expected value, found macro")
}

pub fn needs_annotation(message: &str) -> bool {
    message == "type annotations needed"
}

/// `?` on a value that is neither a `Result` nor an `Option`.
pub fn is_try_on_value(message: &str) -> bool {
    message.starts_with("the `?` operator can only be applied to")
}

pub fn is_try_on_option(message: &str) -> bool {
    message.contains("can only be used on `Result`s, not `Option`s")
}

/// `?` on an error that does not convert into that of the cell.
pub fn is_try_without_conversion(message: &str) -> bool {
    message.contains("`?` couldn't convert the error") || message.contains("CellError")
}

pub fn is_moved_in_part(message: &str) -> bool {
    message.contains("partially moved")
}

/// An error about borrows that has no code.
pub fn is_lifetime(message: &str) -> bool {
    message.starts_with("lifetime may not live long enough")
}

pub fn needs_static(text: &str) -> bool {
    text.contains("'static")
}

/// A label where a borrow is used after the value has moved or ended.
pub fn is_later_use(label: &str) -> bool {
    label.contains("later used") || label.contains("might be used")
}

pub fn is_unlinked_crate(label: &str) -> bool {
    label.contains("unlinked crate")
}

pub fn introduces_binding(help: &str) -> bool {
    help.contains("introduce a new binding")
}

pub fn names_similar(help: &str) -> bool {
    help.contains("similar name")
}

pub fn lists_types(help: &str) -> bool {
    help.starts_with("the following other types implement") || help.starts_with("the following types implement")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_names_of_messages() {
        let message = "expected one of `;` or `}`, found `::`";
        assert!(met_token(message, "::") && !met_token(message, ":") && met_some_token(message));
        assert_eq!(unknown_name("cannot find value `a` in this scope"), Some("a"));
        assert_eq!(unknown_name("there is no variable `b`"), Some("b"));
        assert_eq!(unknown_name("mismatched types `c`"), None);
    }
}
