//! Reserved words of `x!`: namespaces of methods, and operators of other languages, which get a hint. The session knows
//! the functions themselves (`runtime/expr`).

pub use onrush_wire::reserved_names::is_function;

/// Whether the name is a namespace, written without parentheses before a method.
pub fn is_namespace(name: &str) -> bool {
    ["str", "dt", "list", "arr", "cat", "struct", "bin", "name"].contains(&name)
}

/// Whether a namespace is never the name of a struct's field, so that something must follow it.
pub fn is_only_namespace(name: &str) -> bool {
    ["str", "dt"].contains(&name)
}

/// The end of every message about unexpected syntax.
pub const ACCEPTED: &str = "help: x! reads columns, {rust_value}, literals, + - * / %, comparisons, && || !, `x in [..]`, \
                            `as f64`, if/else, match, and methods such as .mean() or .str.contains(\"a\")";

/// The Rust spelling of an operator of Python, SQL or R that stands after an operand.
pub fn foreign_operator(word: &str) -> Option<&'static str> {
    Some(match word {
        "and" | "AND" => "in Rust, \"and\" is `&&`\nhelp: write `a && b`",
        "or" | "OR" => "in Rust, \"or\" is `||`\nhelp: write `a || b`",
        "not" | "NOT" => "in Rust, \"not\" is `!`\nhelp: write `!(a in [..])` or `!a`",
        "is" | "IS" => "`is` is not an operator in Rust\nhelp: write `a == b`, `a.is_null()` or `a.is_not_null()`",
        "IN" => "`in` is written in lower case\nhelp: write `a in [1, 2]`",
        "between" | "BETWEEN" => "`between` is not an operator in Rust\nhelp: write `a in 1..=5`",
        "like" | "LIKE" => {
            "`like` is not an operator in Rust\nhelp: write `a.str.contains(\"text\")` or `a.str.starts_with(\"text\")`"
        }
        _ => return None,
    })
}
