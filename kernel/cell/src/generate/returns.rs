//! `return` at the top level of a cell: it ends the cell, which keeps the variables that it has made so far.
//!
//! The variables are put back by a macro that is defined in front of the statement, where their names are in scope. A
//! name in the body of a `macro_rules!` macro is the one at its definition (hygiene), also where the statement shadows
//! it.
//!
//! `return 5` also shows its value, as a last expression does. A variable that was moved or is borrowed cannot be put
//! back at that place. The cell then ends without keeping anything (`Request::returns_bare`).

use syn::Expr;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::visit::Visit;

use super::layout::Insertion;
use crate::parse::{Cell, PartKind};

/// A `return` that is not inside of a function or a closure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Return {
    /// The statement that it is in.
    pub part: usize,
    /// In bytes of the cell: its beginning and its end.
    pub start: usize,
    pub end: usize,
    /// It has a value to show.
    pub has_value: bool,
}

const KEYWORD: usize = "return".len();

pub fn find(cell: &Cell) -> Vec<Return> {
    let mut found = Vec::new();
    if !cell.code.contains("return") {
        return found;
    }
    for (part, of) in cell.parts.iter().enumerate().filter(|(_, part)| !matches!(part.kind, PartKind::Item(_))) {
        let text = &cell.code[of.range.clone()];
        if !text.contains("return") {
            continue;
        }
        let parse = |input: ParseStream<'_>| syn::Block::parse_within(input);
        for statement in parse.parse_str(text).unwrap_or_default() {
            let mut visitor = Returns::default();
            visitor.visit_stmt(&statement);
            let whole = |(start, end, has_value)| {
                let (start, end) = (of.range.start + start, of.range.start + end);
                Return { part, start, end, has_value }
            };
            found.extend(visitor.0.into_iter().map(whole));
        }
    }
    found
}

#[derive(Default)]
struct Returns(Vec<(usize, usize, bool)>);

impl<'ast> Visit<'ast> for Returns {
    fn visit_expr_return(&mut self, of: &'ast syn::ExprReturn) {
        let range = of.span().byte_range();
        match of.expr.as_deref() {
            None => self.0.push((range.start, range.end, false)),
            Some(value) if is_result(value) || is_nothing(value) => {
                if is_nothing(value) {
                    self.0.push((range.start, range.end, false));
                }
            }
            Some(_) => self.0.push((range.start, range.end, true)),
        }
    }

    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}

    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

/// `Ok(…)` and `Err(…)` are the end of a function that returns a `Result`.
fn is_result(value: &Expr) -> bool {
    let Expr::Call(call) = value else { return false };
    matches!(&*call.func, Expr::Path(path) if path.path.is_ident("Ok") || path.path.is_ident("Err"))
}

/// `()` and `Ok(())`.
fn is_nothing(value: &Expr) -> bool {
    match value {
        Expr::Tuple(of) => of.elems.is_empty(),
        Expr::Call(call) => {
            let is_ok = matches!(&*call.func, Expr::Path(path) if path.path.is_ident("Ok"));
            is_ok && call.args.len() == 1 && call.args.first().is_some_and(is_nothing)
        }
        _ => false,
    }
}

/// Begins the name of the macro that puts variables back; the number of the part follows.
const KEEP: &str = "macro_rules! __onrush_keep_";

/// The macro that puts variables back where a part returns, to be defined before that part.
pub fn definition(part: usize, at: usize, puts: &str) -> Insertion {
    Insertion { at, text: format!("{KEEP}{part} {{ () => {{ {puts}}} }} "), into_items: false }
}

pub fn is_definition(text: &str) -> bool {
    text.starts_with(KEEP)
}

/// The variable that such a macro puts back last before the end of this text, if the text ends inside of the macro.
pub fn last_put(text: &str) -> Option<&str> {
    let inside = &text[text.rfind(KEEP)?..];
    let mut depth = 0;
    for brace in inside.matches(['{', '}']) {
        depth += if brace == "{" { 1 } else { -1 };
        if depth == 0 {
            return None;
        }
    }
    let put = &inside[inside.rfind("__onrush_store")?..];
    put.split('"').nth(1)
}

/// The code around a `return`. `keeps`: whether variables are put back, by the macro of [`definition`].
pub fn insertions(of: &Return, keeps: bool) -> Vec<Insertion> {
    let end = match keeps {
        true => format!("__onrush_keep_{}!(); return ::core::result::Result::Ok(__onrush_store.done()); }}", of.part),
        false => "return ::core::result::Result::Err(::onrush::host::returned().into()); }".to_string(),
    };
    let insertion = |at: usize, text: String| Insertion { at, text, into_items: false };
    if of.has_value {
        vec![
            insertion(of.start, "{ ::onrush::__show!(/*".to_string()),
            insertion(of.start + KEYWORD, "*/".to_string()),
            insertion(of.end, format!(", true); {end}")),
        ]
    } else {
        vec![insertion(of.start, "{ /*".to_string()), insertion(of.end, format!("*/ {end}"))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_cell;

    #[test]
    fn those_of_the_cell_itself_are_found() {
        let code =
            "fn f() { return; }\nif a { return; }\nlet g = || return;\nfor x in y { return x + 1 }\nreturn Ok(())\n";
        let found = find(&parse_cell(code));
        let texts: Vec<&str> = found.iter().map(|of| &code[of.start..of.end]).collect();
        assert_eq!(texts, ["return", "return x + 1", "return Ok(())"]);
        assert_eq!(
            found.iter().map(|of| (of.part, of.has_value)).collect::<Vec<_>>(),
            [(1, false), (3, true), (4, false)]
        );
        assert_eq!(find(&parse_cell("return Err(e)")), []);
    }

    #[test]
    fn a_place_in_the_macro_is_that_of_a_variable() {
        let puts = "__onrush_store.put(\"a\", a); ::onrush::__keep!(__onrush_store, \"b\", b); ";
        let text = format!("let x = {{ 1 }}; {}if c {{ return; }}", definition(3, 0, puts).text);
        let until = |word: &str| last_put(&text[..text.find(word).unwrap() + word.len()]);
        assert_eq!(until("put(\"a\", a"), Some("a"));
        assert_eq!(until("\"b\", b"), Some("b"));
        assert_eq!(until("keep_3"), None);
        assert_eq!(until("if c {"), None);
        assert_eq!(until("{ 1"), None);
    }
}
