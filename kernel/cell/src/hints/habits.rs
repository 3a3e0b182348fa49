//! Words and signs of other languages in Rust code: what is written for them here.

use onrush_wire::{Diagnostic, Span};

use super::primary;
use super::rustc_text::SYNTAX;

/// Types of C, Java and Python in front of a new variable, and Rust's.
const TYPES: &[(&str, &str)] = &[
    ("int", "i32"),
    ("long", "i64"),
    ("short", "i16"),
    ("unsigned", "u32"),
    ("size_t", "usize"),
    ("float", "f32"),
    ("double", "f64"),
    ("bool", "bool"),
    ("boolean", "bool"),
    ("Boolean", "bool"),
    ("char", "char"),
    ("byte", "u8"),
    ("str", "&str"),
    ("string", "String"),
    ("Integer", "i32"),
    ("Double", "f64"),
];

/// A syntax error or an operator that another language has.
pub fn of_syntax(diagnostic: &Diagnostic, line: &str) -> Option<String> {
    let Span { column, length, .. } = primary(diagnostic)?;
    let before: String = line.chars().take(column as usize - 1).collect();
    let at: String = line.chars().skip(column as usize - 1).take(length as usize).collect();
    let after: String = line.chars().skip(column as usize - 1).collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let last = before.trim_end().rsplit(|c: char| !is_word(c)).next().unwrap_or("");
    match diagnostic.code.as_str() {
        // `2 ** 3` is read as `2 * (*3)`.
        "E0614" if before.trim_end().ends_with('*') || at.starts_with("**") => Some(
            "powers: `x.pow(3)` of an integer, `x.powi(3)` and `x.powf(0.5)` of a float: `2_i32.pow(3)`".to_string(),
        ),
        SYNTAX if last == "elif" || last == "elsif" => {
            Some("a further condition is written `else if`: `if a { … } else if b { … } else { … }`".to_string())
        }
        SYNTAX if after.starts_with(":=") => {
            let name = if last.is_empty() { "n" } else { last };
            Some(format!("a new variable is written `let {name} = …;`, a new value of it `{name} = …;`"))
        }
        SYNTAX if at == "is" => Some("`x.is_none()` and `x.is_some()` ask for `None`, `a == b` compares".to_string()),
        SYNTAX if at == "in" && !before.contains("for ") => {
            Some("`v.contains(&x)` asks whether a value is in a list, `map.contains_key(&x)` in a map".to_string())
        }
        SYNTAX if is_declaration(&before, last, &after) => {
            let name: String = after.chars().take_while(|c| is_word(*c)).collect();
            let of = TYPES.iter().find(|(other, _)| *other == last).map_or(last, |(_, of)| of);
            let value = after[name.len()..].trim_start().strip_prefix('=').map_or("…", |value| value.trim());
            let value = value.trim_end_matches(';');
            let made = if of == "String" && value.starts_with('"') { ".to_string()" } else { "" };
            Some(format!("the type follows the name: `let {name}: {of} = {value}{made};`"))
        }
        _ => None,
    }
}

/// Whether a statement is a type, a name and `=` or `;`.
fn is_declaration(before: &str, last: &str, after: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let start = before.trim_end().trim_end_matches(is_word).trim_end();
    let is_type = TYPES.iter().any(|(other, _)| *other == last) || last.starts_with(char::is_uppercase);
    let rest = after.trim_start_matches(is_word).trim_start();
    let is_end = rest.is_empty() || rest.starts_with(';') || rest.starts_with('=') && !rest.starts_with("==");
    (start.is_empty() || start.ends_with([';', '{', '}'])) && is_type && after.starts_with(is_word) && is_end
}

/// A function that other languages have without asking. `is_call`: rustc looked for a function.
pub fn of_name(name: &str, is_call: bool) -> Option<&'static str> {
    Some(match name {
        "console" | "System" | "cout" | "puts" | "echo" => {
            "`println!(\"{x}\")` prints a line, and the last expression of a cell is shown"
        }
        "display" => "`show(&x)` displays a value, and so does the last expression of a cell",
        "int" | "float" if is_call => {
            "a number is cast by `x as i64` or `x as f64`, a string is read by `s.parse::<i64>()?`"
        }
        "str" if is_call => "`x.to_string()` or `format!(\"{x}\")`",
        "list" if is_call => "an iterator becomes a list by `.collect::<Vec<_>>()`",
        "dict" if is_call => "a map is made by `HashMap::from([(\"a\", 1)])`, after `use std::collections::HashMap;`",
        "set" if is_call => "a set is made by `HashSet::from([1, 2])`, after `use std::collections::HashSet;`",
        "max" if is_call => "of a list: `v.iter().max()`; of two values: `a.max(b)`; of a column: `x!(a.max())`",
        "min" if is_call => "of a list: `v.iter().min()`; of two values: `a.min(b)`; of a column: `x!(a.min())`",
        "any" if is_call => "iterators have it as a method: `v.iter().any(|x| *x > 1)`",
        "reversed" if is_call => "iterators have it as a method: `v.iter().rev()`",
        "isinstance" if is_call => "the type of a variable is fixed: `:type NAME` says it",
        "open" if is_call => {
            "`std::fs::read_to_string(\"a.txt\")?` reads a file, `std::fs::File::open(\"a.txt\")?` opens it"
        }
        _ => return None,
    })
}

/// A function of the prelude that other languages have with another meaning, called with this argument.
pub fn of_function(name: &str, argument: &str) -> Option<String> {
    let value = argument.trim_start_matches('&').trim();
    let is_simple = value.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && value.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    let v = if is_simple { value } else { "v" };
    Some(match name {
        "len" => format!("`{v}.len()`: `len()` alone is the number of rows, in expressions of frames"),
        "all" => format!("`{v}.iter().all(|x| …)`: `all()` alone means all columns of a frame"),
        "random" => "`:dep rand = \"0.9\"`, then `rand::random::<f64>()`: `random(seed)` is a column of random numbers"
            .to_string(),
        "get" => format!("`{v}.get(i)` or `{v}[i]`: `get(\"name\")` gives a frame that a notebook has published"),
        "read" => "`std::fs::read_to_string(path)?` reads a file as a string: `read(path)` gives a frame".to_string(),
        "line" => {
            "`input(\"…\")` reads a line, `text.lines()` gives those of a string: `line(xs, ys)` draws".to_string()
        }
        "concat" => "`[a, b].concat()` or `format!(\"{a}{b}\")`: `concat([&f, &g])` joins frames".to_string(),
        "json" => "`:dep serde_json`, then `serde_json::from_str(text)?`: `read_json(path)` gives a frame".to_string(),
        "csv" | "parquet" | "excel" => format!("`read_{name}(path)` gives a frame: `{name}()` begins its options"),
        "input" => "with a prompt: `input(\"name? \")`".to_string(),
        "hist" => format!("a column of a frame: `{v}.plot().hist(\"a\")`; values: `hist(&values)`"),
        _ => return None,
    })
}

/// A `let` that was forgotten: rustc says it only if the line has nothing else in front. `line` is the text of the
/// line.
pub fn forgotten_let(line: &str, at: &Span) -> Option<String> {
    let column = at.column as usize - 1;
    let before: String = line.chars().take(column).collect();
    let name: String = line.chars().skip(column).take(at.length as usize).collect();
    let after: String = line.chars().skip(column + at.length as usize).collect();
    let start = before.trim();
    if !(start.is_empty() || start.ends_with([';', '{', '}'])) {
        return None;
    }
    let after = after.trim_start();
    let is_set = after.starts_with('=') && !after.starts_with("==") && !after.starts_with("=>");
    if is_set {
        let text = line.trim();
        let lead = before.trim_start().chars().count();
        let (head, tail) = text.split_at(text.char_indices().nth(lead).map_or(text.len(), |(at, _)| at));
        let mark = " ".repeat(unicode_width::UnicodeWidthStr::width(head));
        return Some(format!("you might have meant to introduce a new binding:\n    {head}let {tail}\n    {mark}+++"));
    }
    let is_changed = ["+=", "-=", "*=", "/=", "%="].iter().any(|sign| after.starts_with(sign));
    is_changed.then(|| format!("it has no value yet: `let mut {name} = …;` before this"))
}

/// A name in front of `=` inside of a call: a named argument.
pub fn named_argument(line: &str, at: &Span) -> Option<String> {
    let (column, length) = (at.column as usize - 1, at.length as usize);
    let before: String = line.chars().take(column).collect();
    let name: String = line.chars().skip(column).take(length).collect();
    let after: String = line.chars().skip(column + length).collect();
    let after = after.trim_start();
    if !is_in_call(&before)
        || !after.starts_with('=')
        || after.starts_with("==")
        || !before.trim_end().ends_with([',', '('])
    {
        return None;
    }
    let value = after[1..].trim_start().to_lowercase();
    let is_down = name == "ascending" && value.starts_with("false") || name != "ascending" && value.starts_with("true");
    if matches!(name.as_str(), "ascending" | "descending" | "reverse") {
        let column = before.split('"').nth(1).unwrap_or("a");
        let order = if is_down { "desc" } else { "asc" };
        return Some(format!("arguments have no names: `.sort({order}(\"{column}\"))`"));
    }
    Some("arguments have no names in Rust: give the value alone, in its place".to_string())
}

/// Whether the last bracket that is open is that of a call.
fn is_in_call(before: &str) -> bool {
    let mut depth = 0;
    for (at, c) in before.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => return before[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'),
            '(' => depth -= 1,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use onrush_wire::Class;

    use super::*;

    fn span(line: &str, from: &str, length: usize) -> Span {
        let column = line[..line.find(from).unwrap()].chars().count() as u32 + 1;
        Span { file: "c".into(), line: 1, column, length: length as u32 }
    }

    #[test]
    fn signs_of_other_languages_are_answered() {
        let help = |code: &str, line: &str, from: &str, length: usize| {
            let diagnostic = Diagnostic::error(Class::Compile, code, "expected").at(span(line, from, length), "");
            of_syntax(&diagnostic, line).unwrap_or_default()
        };
        assert!(help("syntax", "if x > 2 { 1 } elif x > 1 { 2 }", "x > 1", 1).contains("else if"));
        assert!(help("E0614", "let x = 2 ** 3;", "* 3", 3).contains("pow(3)"));
        assert!(help("syntax", "if (n := 5) > 3 { }", ":=", 1).contains("`let n = …;`"));
        assert_eq!(help("syntax", "int y = 5;", "y =", 1), "the type follows the name: `let y: i32 = 5;`");
        assert_eq!(
            help("syntax", "f(); String s = \"a\";", "s = ", 1),
            "the type follows the name: `let s: String = \"a\".to_string();`"
        );
        assert!(help("syntax", "let b = x is None;", "is", 2).contains("is_none()"));
        assert_eq!(help("syntax", "let y 5;", "5", 1), "");
        assert!(of_name("console", false).is_some_and(|help| help.contains("println!")));
        assert!(of_name("int", true).is_some() && of_name("int", false).is_none());
    }

    #[test]
    fn a_forgotten_let_is_shown_in_its_line() {
        let forgotten = |line: &str, name: &str| forgotten_let(line, &span(line, name, name.len()));
        assert_eq!(
            forgotten("  a(); speed = 5", "speed").as_deref(),
            Some("you might have meant to introduce a new binding:\n    a(); let speed = 5\n         +++")
        );
        assert!(forgotten("total += 1;", "total").is_some_and(|help| help.contains("let mut total")));
        assert_eq!(forgotten("speed == 5", "speed"), None);
        assert_eq!(forgotten("f(speed = 5)", "speed"), None);
    }

    #[test]
    fn named_arguments_are_told() {
        let named = |line: &str, name: &str| named_argument(line, &span(line, name, name.len())).unwrap_or_default();
        assert!(named("f.sort(\"r\", descending = true)", "descending").contains("desc(\"r\")"));
        assert!(named("f.sort(\"r\", ascending=False)", "ascending").contains("desc(\"r\")"));
        assert!(named("f.sort(\"r\", ascending=True)", "ascending").contains("asc(\"r\")"));
        assert_eq!(named("n = 5", "n"), "");
        assert_eq!(named("if (n = 5)", "n"), "");
    }
}
