//! Frames indexed as in pandas: `df[df.a > 1]`, `df["a"]`, `df.loc[..]`, `df["b"] = 1`.

use std::ops::Range;

use onrush_wire::Diagnostic;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{frame_methods, offset, primary};

/// An index into a value: `base[index]`.
struct IndexExpr {
    base: String,
    index: String,
    range: Range<usize>,
}

/// The help on an error about an index or a field of a frame.
pub fn advise(diagnostic: &Diagnostic, code: &str) -> Option<String> {
    let at = primary(diagnostic).and_then(|span| offset(code, &span))?;
    let mut found = Vec::new();
    collect(code.parse().ok()?, code, at, &mut found);
    // `df.loc[..]`: the index is of what `loc` would give.
    let base = |of: &str| of.split('.').next().unwrap_or(of).to_string();
    let is_condition = |of: &str| of.contains(['<', '>', '!', '&', '|', '~']) || of.contains("==");
    let outer = found.iter().find(|of| is_condition(&of.index)).or(found.last());
    let field = diagnostic.message.split('`').nth(1).filter(|_| diagnostic.code != "E0608").unwrap_or("");
    let step = |f: &str, column: &str, value: &str| {
        let value = expression(value, f);
        Some(format!("a step gives a new frame: `let {f} = {f}.with_columns(x!({column} = {value}));`"))
    };
    let Some(IndexExpr { base: name, index, range }) = outer else {
        // `df.b = 1`
        return match code.get(at + field.len()..).and_then(assigned).filter(|_| !field.is_empty()) {
            Some(value) => step(last_word(code[..at].trim_end_matches('.')), field, &value),
            None => frame_methods::of_frame(field),
        };
    };
    let f = base(name);
    if let Some(value) = assigned(&code[range.end..]) {
        return step(&f, literal(index).unwrap_or("b"), &value);
    }
    Some(if is_condition(index) {
        let rows = index.split(',').next().unwrap_or(index);
        format!("rows by a condition: `{f}.filter(x!({}))`", expression(rows, &f))
    } else if index.starts_with('[') {
        format!("several columns: `{f}.select({index})`")
    } else if let (Some(column), false) = (literal(index), name.contains('.')) {
        format!(
            "`{f}.column::<f64>(\"{column}\")` gives the values of a column, `{f}.select(\"{column}\")` a frame of it"
        )
    } else if index.parse::<u64>().is_ok() {
        format!("rows by number: `{f}.slice({index}, 1)`, `{f}.head(5)`; columns: `{f}.select([\"a\", \"b\"])`")
    } else if let Some((start, end)) = index.split_once("..").or_else(|| index.split_once(':')) {
        let start = start.trim().parse::<u64>().unwrap_or(0);
        let length = end.trim().parse::<u64>().map_or(5, |end| end.saturating_sub(start));
        format!("rows by number: `{f}.slice({start}, {length})`; by a condition: `{f}.filter(x!(a > 1))`")
    } else {
        format!(
            "rows by a condition: `{f}.filter(x!(a > 1))`; by number: `{f}.slice(0, 5)`; columns: `{f}.select([\"a\", \"b\"])`"
        )
    })
}

/// The indexes around a byte of the text, the outermost first.
fn collect(tokens: TokenStream, code: &str, at: usize, found: &mut Vec<IndexExpr>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (place, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let range = group.span().byte_range();
        // The place of `df` in `df[..]` counts, too.
        let start = base_of(&tokens[..place]).filter(|_| group.delimiter() == Delimiter::Bracket);
        if !(start.unwrap_or(range.start)..range.end).contains(&at) {
            continue;
        }
        if let Some(start) = start {
            let index = code[range.start + 1..range.end - 1].trim().to_string();
            found.push(IndexExpr { base: code[start..range.start].trim().to_string(), index, range: range.clone() });
        }
        collect(group.stream(), code, at, found);
    }
}

/// The begin of the names and dots in front of a bracket.
fn base_of(before: &[TokenTree]) -> Option<usize> {
    let is_name = |token: &TokenTree| matches!(token, TokenTree::Ident(_));
    let is_dot = |token: &TokenTree| matches!(token, TokenTree::Punct(dot) if dot.as_char() == '.');
    let mut at = before.len().checked_sub(1).filter(|last| is_name(&before[*last]))?;
    while at >= 2 && is_dot(&before[at - 1]) && is_name(&before[at - 2]) {
        at -= 2;
    }
    Some(before[at].span().byte_range().start)
}

fn last_word(text: &str) -> &str {
    text.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("")
}

/// The value that is assigned behind an index, up to the end of the statement.
fn assigned(after: &str) -> Option<String> {
    let value = after.trim_start().strip_prefix('=').filter(|value| !value.starts_with('='))?;
    Some(value.split([';', '\n']).next().unwrap_or("").trim().to_string())
}

fn literal(index: &str) -> Option<&str> {
    let inner = index.trim().strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains('"')).then_some(inner)
}

/// A condition as an expression: `df.a` and `df["a"]` are the column `a`.
fn expression(text: &str, frame: &str) -> String {
    let mut out = text.replace(&format!("{frame}."), "");
    let start = format!("{frame}[\"");
    while let Some(at) = out.find(&start) {
        let Some(end) = out[at..].find("\"]").map(|end| at + end) else { break };
        let name = out[at + start.len()..end].to_string();
        let is_plain = syn::parse_str::<syn::Ident>(&name).is_ok();
        out.replace_range(at..end + 2, &if is_plain { name } else { format!("col(\"{name}\")") });
    }
    for (sign, twice) in [('&', "&&"), ('|', "||")] {
        if !out.contains(twice) {
            out = out.replace(sign, twice);
        }
    }
    out.replace('~', "!")
}

#[cfg(test)]
mod tests {
    use onrush_wire::{Class, Span};

    use super::*;

    fn help(code: &str, from: &str) -> String {
        let column = code[..code.find(from).unwrap()].chars().count() as u32 + 1;
        let span = Span { file: "c".into(), line: 1, column, length: 1 };
        let message = "cannot index into a value of type `Frame`";
        advise(&Diagnostic::error(Class::Compile, "E0608", message).at(span, ""), code).unwrap_or_default()
    }

    #[test]
    fn conditions_are_filters() {
        assert_eq!(help("f[f.r > 1]", "[f"), "rows by a condition: `f.filter(x!(r > 1))`");
        assert_eq!(help("f[f.r > 1]", "r > 1"), "rows by a condition: `f.filter(x!(r > 1))`");
        let two = help("df[(df[\"a b\"] > 1) & (df[\"c\"] == 2)]", "[\"a b");
        assert_eq!(two, "rows by a condition: `df.filter(x!((col(\"a b\") > 1) && (c == 2)))`");
        assert_eq!(help("df.loc[df.a > 1, \"b\"]", "loc"), "rows by a condition: `df.filter(x!(a > 1))`");
    }

    #[test]
    fn an_assigned_field_is_a_column() {
        let code = "df.b = df.a * 2;";
        let span = Span { file: "c".into(), line: 1, column: 4, length: 1 };
        let message = "no field `b` on type `Frame`";
        let help = advise(&Diagnostic::error(Class::Compile, "E0609", message).at(span, ""), code).unwrap();
        assert_eq!(help, "a step gives a new frame: `let df = df.with_columns(x!(b = a * 2));`");
    }

    #[test]
    fn columns_rows_and_assignments_are_told_apart() {
        assert!(help("df[\"a\"]", "[").contains("df.select(\"a\")"));
        assert!(help("df[[\"a\", \"b\"]]", "[").contains("`df.select([\"a\", \"b\"])`"));
        assert!(help("df.iloc[2..5]", "iloc").contains("`df.slice(2, 3)`"));
        assert!(help("df[0]", "[0").contains("`df.slice(0, 1)`"));
        assert_eq!(
            help("df[\"b\"] = df[\"a\"] * 2;", "["),
            "a step gives a new frame: `let df = df.with_columns(x!(b = a * 2));`"
        );
    }
}
