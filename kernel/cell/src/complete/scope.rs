//! Local scope at the cursor: bindings, parameters, items, and the type of `Self` that the cell defines.

use std::collections::BTreeMap;

use super::tokens::{Kind, Token, open_brackets, partners};
use crate::parse::UseLeaf;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Innermost last.
    pub locals: Vec<String>,
    /// Items that the tokens name before the cursor: name and keyword.
    pub items: Vec<(String, &'static str)>,
    /// Type parameters and what is said of them: `T`, `Display + Clone`.
    pub generics: BTreeMap<String, String>,
    /// The type of the `impl`, or the trait, that the cursor is in.
    pub self_type: Option<String>,
    pub uses: Vec<UseLeaf>,
    /// A function sees no variables of the notebook.
    pub in_function: bool,
}

const ITEMS: [&str; 8] = ["fn", "struct", "enum", "trait", "const", "static", "type", "mod"];

/// The scope at the end of the tokens.
pub fn scope(tokens: &[Token<'_>]) -> Scope {
    let mut scope = Scope::default();
    let open = open_brackets(tokens);
    let mut is_match = false;
    for level in 0..=open.len() {
        let start = if level == 0 { 0 } else { open[level - 1] + 1 };
        let stop = open.get(level).copied().unwrap_or(tokens.len());
        let next = open.get(level).map(|&i| tokens[i].kind);
        is_match = walk(&tokens[start..stop], next, is_match, &mut scope);
    }
    scope
}

/// The index behind a bracket that is closed, or behind a token.
fn step(pairs: &[Option<usize>], i: usize) -> usize {
    pairs[i].filter(|&p| p > i).map_or(i + 1, |p| p + 1)
}

/// One level of brackets; `next` is the bracket in which the cursor is from there on. Says whether that holds a match's
/// arms.
fn walk(level: &[Token<'_>], next: Option<Kind>, in_match: bool, scope: &mut Scope) -> bool {
    let pairs = partners(level);
    let mut begin = 0;
    let mut i = 0;
    let mut closures: Vec<usize> = Vec::new();
    let mut arm = scope.locals.len();
    while i < level.len() {
        let token = &level[i];
        let at_start = i == begin || level[begin..i].iter().all(|t| matches!(t.text, "pub" | "async" | "unsafe"));
        if token.is(";") {
            statement(&level[begin..i], scope);
            begin = i + 1;
        } else if token.is(",") {
            // The parameters of a closure end with it.
            if let Some(&before) = closures.first() {
                scope.locals.truncate(before);
                closures.clear();
            }
            if in_match {
                scope.locals.truncate(arm);
                begin = i + 1;
            }
        } else if token.is("=>") && in_match {
            arm = scope.locals.len();
            let pattern = &level[begin..i];
            let end = pattern.iter().position(|t| t.is("if")).unwrap_or(pattern.len());
            names_of(&pattern[..end], &mut scope.locals);
            begin = i + 1;
        } else if token.kind == Kind::Open('{') {
            let end = step(&pairs, i);
            // A block ends a statement that is not a `let`.
            if !level[begin..i].iter().any(|t| t.is("let") || t.is("=")) || is_item(&level[begin..i]) {
                statement(&level[begin..i], scope);
                begin = end;
                if in_match {
                    scope.locals.truncate(arm.min(scope.locals.len()));
                }
            }
            i = end;
            continue;
        } else if (token.is("|") || token.is("||")) && starts_expression(level, i) {
            if let Some(n) = level[i + 1..].iter().position(|t| t.is("|")).filter(|_| token.is("|")) {
                closures.push(scope.locals.len());
                parameters(&level[i + 1..i + 1 + n], &mut scope.locals);
                i += n + 2;
                continue;
            }
        } else if at_start && token.is("use") {
            let end = level[i..].iter().position(|t| t.is(";")).map(|n| i + n);
            if let Some(end) = end {
                use_of(&level[i + 1..end], scope);
            }
        }
        i = step(&pairs, i);
    }
    let rest = &level[begin.min(level.len())..];
    header(rest, next, in_match, scope)
}

fn is_item(tokens: &[Token<'_>]) -> bool {
    tokens.iter().any(|t| matches!(t.text, "fn" | "struct" | "enum" | "impl" | "trait" | "mod"))
}

/// A closure begins where an operand may.
fn starts_expression(level: &[Token<'_>], i: usize) -> bool {
    i == 0
        || matches!(level[i - 1].text, "," | "=" | "move" | "=>" | "return" | ";" | "&&" | "||" | "+" | "async")
        || matches!(level[i - 1].kind, Kind::Open(_))
}

/// A statement that has ended.
fn statement(tokens: &[Token<'_>], scope: &mut Scope) {
    let at = tokens.iter().position(|t| !matches!(t.text, "pub" | "async" | "unsafe" | "extern")).unwrap_or(0);
    let Some(first) = tokens.get(at) else { return };
    if first.is("let") {
        let pattern = &tokens[at + 1..];
        let end = pattern.iter().position(|t| t.is("=")).unwrap_or(pattern.len());
        parameter(&pattern[..end], &mut scope.locals);
        return;
    }
    let word = skip_brackets(tokens, at);
    if let Some(kind) = ITEMS.iter().find(|k| word.is_some_and(|w| tokens[w].is(k))) {
        let name =
            word.and_then(|w| tokens[w + 1..].iter().find(|t| t.kind == Kind::Word && !t.is("mut") && !t.is("fn")));
        if let Some(name) = name {
            scope.items.push((name.text.to_string(), kind));
        }
    }
}

/// Behind attributes and `pub(crate)`.
fn skip_brackets(tokens: &[Token<'_>], mut at: usize) -> Option<usize> {
    let pairs = partners(tokens);
    while at < tokens.len() && (tokens[at].is("#") || matches!(tokens[at].kind, Kind::Open(_)) || tokens[at].is("pub"))
    {
        at = step(&pairs, at);
    }
    (at < tokens.len()).then_some(at)
}

/// The unfinished statement in front of the bracket that is open: `for x in y {`, `fn f(a: i32) {`, `match x {`.
fn header(tokens: &[Token<'_>], next: Option<Kind>, in_match: bool, scope: &mut Scope) -> bool {
    // The guard of an arm sees the arm's names.
    if in_match && let Some(at) = tokens.iter().position(|t| t.is("if")) {
        names_of(&tokens[..at], &mut scope.locals);
    }
    if next != Some(Kind::Open('{')) {
        return false;
    }
    let pairs = partners(tokens);
    let mut is_match = false;
    let mut i = 0;
    while i < tokens.len() {
        match tokens[i].text {
            "fn" if tokens.get(i + 1).is_some_and(|t| t.kind == Kind::Word) => {
                scope.items.push((tokens[i + 1].text.to_string(), "fn"));
                // A function sees no variables around it.
                scope.locals.clear();
                scope.in_function = true;
                generics(&tokens[i + 2..], &mut scope.generics);
                let open = (i + 2..tokens.len()).find(|&n| tokens[n].kind == Kind::Open('('));
                if let Some((open, close)) = open.and_then(|o| Some((o, pairs[o]?))) {
                    parameters(&tokens[open + 1..close], &mut scope.locals);
                    i = close;
                }
            }
            "impl" => {
                generics(&tokens[i + 1..], &mut scope.generics);
                let mut from = i + 1 + generics_length(&tokens[i + 1..]);
                if let Some(n) = tokens[from..].iter().position(|t| t.is("for")) {
                    from += n + 1;
                }
                let end = tokens[from..].iter().position(|t| t.is("where")).map_or(tokens.len(), |n| from + n);
                scope.self_type = Some(joined(&tokens[from..end]));
            }
            "trait" => scope.self_type = tokens.get(i + 1).map(|t| t.text.to_string()),
            "for" => {
                if let Some(n) = tokens[i..].iter().position(|t| t.is("in")) {
                    names_of(&tokens[i + 1..i + n], &mut scope.locals);
                }
            }
            "let" => {
                let pattern = &tokens[i + 1..];
                let end = pattern.iter().position(|t| t.is("=")).unwrap_or(pattern.len());
                // `let x = { …`: not yet bound in there.
                if i > 0 && matches!(tokens[i - 1].text, "if" | "while" | "&&") {
                    names_of(&pattern[..end], &mut scope.locals);
                }
            }
            "match" => is_match = true,
            _ => {}
        }
        i = step(&pairs, i);
    }
    is_match
}

fn joined(tokens: &[Token<'_>]) -> String {
    let mut out = String::new();
    for token in tokens {
        if out.ends_with(super::tokens::is_word) && token.kind == Kind::Word {
            out.push(' ');
        }
        out.push_str(token.text);
    }
    out
}

fn generics_length(tokens: &[Token<'_>]) -> usize {
    if !tokens.first().is_some_and(|t| t.is("<")) {
        return 0;
    }
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate() {
        depth += i32::from(token.is("<")) - i32::from(token.is(">"));
        if depth == 0 {
            return i + 1;
        }
    }
    tokens.len()
}

/// `<T: A, U>` and `where T: B`.
fn generics(tokens: &[Token<'_>], out: &mut BTreeMap<String, String>) {
    let length = generics_length(tokens);
    let declared = if length > 2 { &tokens[1..length - 1] } else { &[] };
    let wheres = tokens.iter().position(|t| t.is("where")).map_or(&[][..], |n| &tokens[n + 1..]);
    for part in split(declared).into_iter().chain(split(wheres)) {
        let Some(name) = part.first().filter(|t| t.kind == Kind::Word) else { continue };
        let bounds = part.iter().position(|t| t.is(":")).map_or(&[][..], |n| &part[n + 1..]);
        let bounds = bounds.iter().position(|t| t.is("=")).map_or(bounds, |n| &bounds[..n]);
        let known = out.entry(name.text.to_string()).or_default();
        let text = joined(bounds);
        if !known.is_empty() && !text.is_empty() {
            known.push_str(" + ");
        }
        known.push_str(&text);
    }
}

/// Parts between commas that are in no bracket, `<…>` included.
fn split<'a, 't>(tokens: &'a [Token<'t>]) -> Vec<&'a [Token<'t>]> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (i, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Open(_) => depth += 1,
            Kind::Close(_) => depth -= 1,
            Kind::Mark if token.is("<") => depth += 1,
            Kind::Mark if token.is(">") => depth -= 1,
            Kind::Mark if token.is(",") && depth == 0 => {
                parts.push(&tokens[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    if start < tokens.len() {
        parts.push(&tokens[start..]);
    }
    parts
}

fn parameters(tokens: &[Token<'_>], out: &mut Vec<String>) {
    split(tokens).into_iter().for_each(|one| parameter(one, out));
}

/// A pattern, up to its type.
fn parameter(tokens: &[Token<'_>], out: &mut Vec<String>) {
    let mut depth = 0;
    let end = tokens.iter().position(|t| {
        depth += i32::from(matches!(t.kind, Kind::Open(_))) - i32::from(matches!(t.kind, Kind::Close(_)));
        depth == 0 && t.is(":")
    });
    names_of(&tokens[..end.unwrap_or(tokens.len())], out);
}

/// The names that a pattern binds.
fn names_of(tokens: &[Token<'_>], out: &mut Vec<String>) {
    for (i, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Word || matches!(token.text, "mut" | "ref" | "box" | "let" | "true" | "false" | "_") {
            continue;
        }
        let next = tokens.get(i + 1);
        let is_path = next.is_some_and(|n| n.is("::") || n.is("!") || matches!(n.kind, Kind::Open('(' | '{')));
        let is_field = next.is_some_and(|n| n.is(":"));
        let after_path = i > 0 && tokens[i - 1].is("::");
        if is_path || is_field || after_path || token.text.starts_with(char::is_uppercase) {
            continue;
        }
        out.push(token.text.to_string());
    }
}

fn use_of(tokens: &[Token<'_>], scope: &mut Scope) {
    let code = format!("use {};", joined(tokens));
    let cell = crate::parse::parse_cell(&code);
    for part in cell.parts {
        if let crate::parse::PartKind::Item(item) = part.kind
            && let crate::parse::ItemKind::Use(leaves) = item.kind
        {
            scope.uses.extend(leaves);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_end(code: &str) -> Scope {
        scope(&crate::complete::tokens::tokens(code).0)
    }

    fn locals(code: &str) -> Vec<String> {
        at_end(code).locals
    }

    #[test]
    fn names_in_scope() {
        assert_eq!(locals("let a = 1; let (b, mut c): (i32, i32) = x; let d = "), ["a", "b", "c"]);
        assert_eq!(locals("for (i, x) in v.iter() { let y = 1; "), ["i", "x", "y"]);
        assert_eq!(locals("for x in v { f(x); }\n"), Vec::<String>::new());
        assert_eq!(locals("let v = w.iter().fold(0, |acc, &(k, v)| acc + "), ["acc", "k", "v"]);
        assert_eq!(locals("let w = f(|a| a + 1, "), Vec::<String>::new());
        assert_eq!(locals("let a = 1; fn f<T: Ord>(x: &T, mut y: Vec<i32>) -> i32 { "), ["x", "y"]);
        assert_eq!(locals("match o { None => 0, Some(Point { x, y: z }) if x > 1 => "), ["x", "z"]);
        assert_eq!(locals("match o { Some(a) => 1, Some(b) => "), ["b"]);
        assert_eq!(locals("if let Some(q) = o && let Ok(r) = q { "), ["q", "r"]);
    }

    #[test]
    fn types_and_items_in_scope() {
        let found = at_end("struct P; impl<T: Clone + Default> Shape<T> for P where T: Ord { fn area(&self) -> f64 { ");
        assert_eq!(found.self_type.as_deref(), Some("P"));
        assert_eq!(found.generics["T"], "Clone+Default + Ord");
        assert_eq!(found.locals, ["self"]);
        assert!(found.items.contains(&("P".to_string(), "struct")));
        let found = at_end("use std::{fs::File, io}; ");
        assert_eq!(found.uses.iter().map(|u| u.path.as_str()).collect::<Vec<_>>(), ["std::fs::File", "std::io"]);
    }
}
