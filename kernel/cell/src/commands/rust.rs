//! Whether a line that could be a command is Rust: `!v.is_empty()` and `!ls -l`, `% 3` below `let a = 7` and `%timeit`.
//!
//! The parser decides. A line that reads both ways, such as `!ls / etc`, is Rust if all its names are those of values.

use std::collections::BTreeSet;
use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser;
use syn::visit::{self, Visit};

use crate::lexer::scan;

/// Lines that an expression may go on for.
const LINES: usize = 200;

/// `above`: the code of the cell so far; `lines`: this line and those below it. `is_value`: whether a name is that of a
/// variable or an item of an earlier cell.
pub fn is_rust(above: &str, lines: &[&str], is_value: &dyn Fn(&str) -> bool) -> bool {
    let Some(first) = lines.first() else { return false };
    // Nothing is a command in the middle of a block, of a list, of a statement.
    if !scan(above).open.is_empty() {
        return true;
    }
    let goes_on = || {
        !above.trim().is_empty() && !parses(above) && from(first, lines).any(|text| parses(&format!("{above}{text}")))
    };
    match first.chars().next() {
        Some('!') => is_negation(above, first, lines, is_value) || goes_on(),
        Some('%') if first.starts_with("%%") => false,
        Some('%') => goes_on() || first.starts_with("% ") && parses(&format!("{above}{first}")),
        Some(':') => first.starts_with("::") || goes_on(),
        _ => true,
    }
}

/// The line, the line and the next one, and so on, as long as brackets are open.
fn from<'a>(first: &'a str, lines: &'a [&'a str]) -> impl Iterator<Item = String> + 'a {
    let mut text = String::new();
    let mut open = true;
    lines.iter().take(LINES).map_while(move |line| {
        if !open {
            return None;
        }
        text.push_str(if text.is_empty() { first } else { line });
        text.push('\n');
        open = TokenStream::from_str(&text).is_err();
        Some(text.clone())
    })
}

fn parses(code: &str) -> bool {
    syn::Block::parse_within.parse_str(code).is_ok()
}

fn is_negation(above: &str, first: &str, lines: &[&str], is_value: &dyn Fn(&str) -> bool) -> bool {
    let Some(text) = from(first, lines).last() else { return false };
    let Ok(statements) = syn::Block::parse_within.parse_str(&text) else {
        // `!flag` in the middle of a chain that the lines below go on with: `!v` and `.iter().any(…)`.
        return false;
    };
    let [syn::Stmt::Expr(expression, _)] = statements.as_slice() else { return false };
    let mut found = Operands::default();
    found.visit_expr(expression);
    if found.certain {
        return true;
    }
    let mut written = BTreeSet::new();
    if let Ok(tokens) = TokenStream::from_str(above) {
        words(tokens, &mut written);
    }
    let known = |name: &String| is_value(name) || written.contains(name);
    !looks_like_arguments(first) && found.names.iter().all(known)
}

/// Whether an expression is certainly not a shell command, and its names if it may be one.
#[derive(Default)]
struct Operands {
    certain: bool,
    names: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Operands {
    fn visit_expr(&mut self, expression: &'ast syn::Expr) {
        use syn::Expr::*;
        match expression {
            Path(path) => match path.path.get_ident() {
                Some(name) => drop(self.names.insert(name.to_string())),
                None => self.certain = true,
            },
            // `!(a && b)` is a group of commands, too; a field may be a file's extension.
            Unary(_) | Binary(_) | Paren(_) | Field(_) | Reference(_) => visit::visit_expr(self, expression),
            // The number of a signal, or of an option.
            Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) if number.suffix().is_empty() => {}
            _ => self.certain = true,
        }
    }
}

/// `ls -1`, `ls /etc`, `ls .`: a blank before it and none behind, as no operator between two operands is written.
fn looks_like_arguments(line: &str) -> bool {
    let characters: Vec<char> = line.chars().collect();
    characters.windows(4).any(|w| {
        let operand = w[0].is_alphanumeric() || matches!(w[0], '_' | ')' | ']' | '"');
        operand
            && w[1] == ' '
            && matches!(w[2], '-' | '/' | '.' | '*' | '~' | '&' | '>' | '<' | '|')
            && w[3].is_alphanumeric()
    })
}

fn words(tokens: TokenStream, into: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => drop(into.insert(name.to_string())),
            TokenTree::Group(group) => words(group.stream(), into),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(cell: &str) -> bool {
        let lines: Vec<&str> = cell.split('\n').collect();
        let at = lines.iter().rposition(|line| line.starts_with(['!', '%', ':'])).unwrap();
        let above: String = lines[..at].iter().map(|line| format!("{line}\n")).collect();
        is_rust(&above, &lines[at..], &|name| matches!(name, "v" | "flag" | "ls" | "x" | "n"))
    }

    #[test]
    fn what_only_rust_says_is_rust() {
        for line in [
            "!vec![1].is_empty()",
            "!std::path::Path::new(\"/nope\").exists()",
            "!0u8",
            "!true",
            "!v.is_empty()",
            "!unknown(1)",
            "!matches!(x, 1)",
            "!flag && n > 3",
            "!flag;",
            "!!flag",
            "!(x as u8)",
            "!vec![\n    1,\n].is_empty()",
            "!n - 1",
            "!x.0",
            "fn f(y: bool) -> bool {\n!y\n}",
            "let y = true;\n!y",
            "let a = 7\n% 3;",
            "let a = 7\n%3;",
            "let a: bool =\n!v.is_empty();",
            "v\n% n",
            "::std::mem::drop(1)",
            "let a\n:i32 = 5;",
        ] {
            assert!(rust(line), "{line}");
        }
    }

    #[test]
    fn what_a_shell_says_is_none() {
        for line in [
            "!ls /etc/hostname",
            "!ls -1",
            "!ls -la",
            "!ls .",
            "!date",
            "!git status",
            "!pwd",
            "!cat a.txt | grep x",
            "!x=1; echo $x",
            "!cargo --version",
            "!kill -9 4",
            "!echo 'it'",
            "!ls | wc -l",
            "let y = 1;\n!date",
            "let y = ;\n!date",
            ":vars",
            "let y = 1;\n:vars",
            "%timeit f()",
            "x\n%who",
            "%%sql",
        ] {
            assert!(!rust(line), "{line}");
        }
    }
}
