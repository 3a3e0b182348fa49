//! Macros of cells that define items. Their definitions are made public in the macro itself, because the definitions of
//! a call are not known before rustc expands it. Later cells import all of a crate that has such a call, if they
//! mention a name that may be its.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{Cell, ItemKind, ItemPart, PartKind};
use crate::types::PRIMITIVES;

const KEYWORDS: [&str; 9] = ["struct", "enum", "union", "trait", "fn", "const", "static", "type", "mod"];

/// The places for `pub ` in the arms of a `macro_rules!`, if the arms give items; `None` if not.
pub fn places(rules: TokenStream) -> Option<Vec<usize>> {
    let tokens: Vec<TokenTree> = rules.into_iter().collect();
    let mut places = Vec::new();
    let mut arms = 0;
    for (i, token) in tokens.iter().enumerate() {
        let is_arrow = |i: usize| is_punct(tokens.get(i), '=') && is_punct(tokens.get(i + 1), '>');
        let TokenTree::Group(group) = token else { continue };
        if i >= 2 && is_arrow(i - 2) {
            let mut found = false;
            items(&group.stream().into_iter().collect::<Vec<_>>(), &mut places, &mut found);
            if !found {
                return None;
            }
            arms += 1;
        }
    }
    (arms > 0).then_some(places)
}

fn is_punct(token: Option<&TokenTree>, c: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == c)
}

fn is_word(token: Option<&TokenTree>, words: &[&str]) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if words.iter().any(|word| ident == word))
}

fn group(token: Option<&TokenTree>, delimiter: Delimiter) -> Option<Vec<TokenTree>> {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group.stream().into_iter().collect()),
        _ => None,
    }
}

/// Whether a token may stand before an item: the end of another one, an attribute, or a repetition.
fn ends(tokens: &[TokenTree], before: usize) -> bool {
    let Some(last) = before.checked_sub(1) else { return true };
    match &tokens[last] {
        TokenTree::Group(group) => match group.delimiter() {
            Delimiter::Brace => true,
            Delimiter::Bracket => last > 0 && is_punct(tokens.get(last - 1), '#'),
            _ => false,
        },
        TokenTree::Punct(punct) => {
            let repeats = matches!(punct.as_char(), '*' | '+' | '?');
            punct.as_char() == ';'
                || repeats
                    && last > 1
                    && group(tokens.get(last - 1), Delimiter::Parenthesis).is_some()
                    && is_punct(tokens.get(last - 2), '$')
        }
        _ => false,
    }
}

/// Items, and what in them is private.
fn items(tokens: &[TokenTree], places: &mut Vec<usize>, found: &mut bool) {
    let mut i = 0;
    while i < tokens.len() {
        if is_punct(tokens.get(i), '$')
            && let Some(inner) = group(tokens.get(i + 1), Delimiter::Parenthesis)
        {
            items(&inner, places, found);
            i += 2;
            continue;
        }
        if is_word(tokens.get(i), &["impl"]) && (ends(tokens, i) || is_word(tokens.get(i.wrapping_sub(1)), &["unsafe"]))
        {
            *found = true;
            let body = (i..tokens.len()).find(|&at| group(tokens.get(at), Delimiter::Brace).is_some());
            let Some(body) = body else { return };
            let of_trait = (i..body).any(|at| is_word(tokens.get(at), &["for"]) && !is_punct(tokens.get(at + 1), '<'));
            if let (false, Some(inner)) = (of_trait, group(tokens.get(body), Delimiter::Brace)) {
                items(&inner, places, &mut false);
            }
            i = body + 1;
            continue;
        }
        if !is_word(tokens.get(i), &KEYWORDS) {
            i += 1;
            continue;
        }
        // `const fn`, `unsafe extern "C" fn`.
        let mut start = i;
        while start > 0
            && (is_word(tokens.get(start - 1), &["const", "unsafe", "async", "extern"])
                || matches!(tokens.get(start - 1), Some(TokenTree::Literal(_))))
        {
            start -= 1;
        }
        let is_block = is_word(tokens.get(i), &["const"]) && group(tokens.get(i + 1), Delimiter::Brace).is_some();
        let is_qualifier = is_word(tokens.get(i + 1), &["fn", "unsafe", "async", "extern"]);
        let has_visibility = start > 0
            && (is_word(tokens.get(start - 1), &["pub"])
                || start > 1 && is_word(tokens.get(start - 2), &["pub"])
                || start > 1 && is_punct(tokens.get(start - 2), '$'));
        if is_block || is_qualifier || !(ends(tokens, start) || has_visibility) {
            i += 1;
            continue;
        }
        *found = true;
        if !has_visibility {
            places.push(tokens[start].span().byte_range().start);
        }
        let end = (i..tokens.len())
            .find(|&at| is_punct(tokens.get(at), ';') || group(tokens.get(at), Delimiter::Brace).is_some());
        let end = end.unwrap_or(tokens.len());
        if is_word(tokens.get(i), &["struct", "union"]) {
            let body = (i..=end).find_map(|at| {
                group(tokens.get(at), Delimiter::Brace).or_else(|| group(tokens.get(at), Delimiter::Parenthesis))
            });
            body.iter().for_each(|body| fields(body, places));
        }
        i = end + 1;
    }
}

fn fields(tokens: &[TokenTree], places: &mut Vec<usize>) {
    let mut begins = true;
    let mut i = 0;
    while i < tokens.len() {
        let repeats = is_punct(tokens.get(i), '$').then(|| group(tokens.get(i + 1), Delimiter::Parenthesis)).flatten();
        if let (true, Some(inner)) = (begins, &repeats) {
            // A repeated attribute is not a field.
            if !is_punct(inner.first(), '#') {
                fields(inner, places);
                begins = false;
            }
            i += 2;
        } else if begins && is_punct(tokens.get(i), '#') {
            i += 2;
        } else if begins
            && matches!(tokens.get(i), Some(TokenTree::Punct(p)) if matches!(p.as_char(), ',' | '*' | '+' | '?'))
        {
            i += 1;
        } else {
            if begins && !is_word(tokens.get(i), &["pub"]) {
                places.push(tokens[i].span().byte_range().start);
            }
            begins = is_punct(tokens.get(i), ',');
            i += 1;
        }
    }
}

/// Names that the arms say themselves.
fn named(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => named(group.stream(), names),
            TokenTree::Ident(name) if i > 0 && is_word(tokens.get(i - 1), &KEYWORDS) => {
                names.insert(name.to_string());
            }
            _ => {}
        }
    }
}

/// Types and traits that every crate sees: an argument of a call, and no name that the call defines.
fn is_of_rust(word: &str) -> bool {
    const USUAL: [&str; 16] = [
        "String", "Vec", "Option", "Box", "Some", "None", "Ok", "Err", "Result", "Debug", "Clone", "Copy", "Default",
        "self", "Self", "static",
    ];
    USUAL.contains(&word) || PRIMITIVES.contains(&word)
}

/// Calls of such macros are items: those of macros that this cell or an earlier one defines. `earlier`: the definition
/// of a macro of an earlier cell.
pub fn recognise(mut cell: Cell, earlier: &dyn Fn(&str) -> Option<syn::ItemMacro>) -> Cell {
    let own: Vec<(String, String)> = cell
        .parts
        .iter()
        .filter_map(|part| match &part.kind {
            PartKind::Item(ItemPart { kind: ItemKind::Macro(name), .. }) => {
                Some((name.clone(), cell.code[part.range.clone()].to_string()))
            }
            _ => None,
        })
        .collect();
    for part in &mut cell.parts {
        if !matches!(part.kind, PartKind::Statement | PartKind::Show) {
            continue;
        }
        let text = &cell.code[part.range.clone()];
        let Some((name, _)) =
            text.split_once('!').filter(|(name, _)| syn::parse_str::<syn::Ident>(name.trim()).is_ok())
        else {
            continue;
        };
        let name = name.trim();
        let own =
            own.iter().rfind(|(own, _)| own == name).and_then(|(_, text)| syn::parse_str::<syn::ItemMacro>(text).ok());
        let Some(definition) = own.or_else(|| earlier(name)) else { continue };
        let call = text.trim_end_matches(';');
        let call = if call.ends_with('}') { call.to_string() } else { format!("{call};") };
        if places(definition.mac.tokens.clone()).is_none() || syn::parse_str::<syn::ItemMacro>(&call).is_err() {
            continue;
        }
        let mut names = BTreeSet::new();
        named(definition.mac.tokens, &mut names);
        names.extend(part.mentions.iter().filter(|word| *word != name && !is_of_rust(word)).cloned());
        part.kind =
            PartKind::Item(ItemPart { kind: ItemKind::Made(names), publish: Vec::new(), restrictions: Vec::new() });
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(rules: &str) -> Option<String> {
        let mut places = places(rules.parse().unwrap())?;
        places.sort_unstable();
        let mut text = rules.to_string();
        places.iter().rev().for_each(|&at| text.insert_str(at, "pub "));
        Some(text)
    }

    #[test]
    fn items_become_public() {
        for (rules, wanted) in [
            (
                "($n:ident, $($f:ident),*) => { #[derive(Debug)] struct $n { $($f: f64),* } impl $n { fn sum(&self) -> f64 { 0.0 } } }",
                "($n:ident, $($f:ident),*) => { #[derive(Debug)] pub struct $n { $(pub $f: f64),* } impl $n { pub fn sum(&self) -> f64 { 0.0 } } }",
            ),
            (
                "($($n:ident = $v:expr;)*) => { $(const $n: i32 = $v;)* }",
                "($($n:ident = $v:expr;)*) => { $(pub const $n: i32 = $v;)* }",
            ),
            (
                "($v:vis $n:ident) => { $v struct $n(u8, pub u8); }",
                "($v:vis $n:ident) => { $v struct $n(pub u8, pub u8); }",
            ),
            (
                "() => { const unsafe fn f() -> fn(i32) {} impl A for B { fn g() {} } }",
                "() => { pub const unsafe fn f() -> fn(i32) {} impl A for B { fn g() {} } }",
            ),
        ] {
            assert_eq!(published(rules).as_deref(), Some(wanted));
        }
        for rules in [
            "($e:expr) => { $e + 1 }",
            "() => {{ fn f() {} f() }}",
            "() => { const { 5 } }",
            "($($k:expr),*) => { vec![$($k),*] }",
        ] {
            assert_eq!(published(rules), None);
        }
    }
}
