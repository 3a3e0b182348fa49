//! Variables that a closure of `interact!` uses: it gets copies of them, whose names are put in front of it. A macro
//! does not know what is a variable.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::parse::identifiers;

/// The copies and their places, in bytes of `code`. `known`: the variables that there are before it.
pub fn copies(code: &str, known: &BTreeSet<&str>) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    if code.contains("interact")
        && let Ok(tokens) = code.parse::<TokenStream>()
    {
        collect(tokens, known, &mut found);
    }
    found
}

fn collect(tokens: TokenStream, known: &BTreeSet<&str>, found: &mut Vec<(usize, String)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let is_call = at >= 2
            && matches!(&tokens[at - 1], TokenTree::Punct(p) if p.as_char() == '!')
            && matches!(&tokens[at - 2], TokenTree::Ident(name) if name == "interact");
        if is_call {
            let names = used(group, known);
            if !names.is_empty() {
                found.push((group.span_open().byte_range().end, format!("[{}] ", names.join(", "))));
            }
        }
        collect(group.stream(), known, found);
    }
}

fn used(group: &Group, known: &BTreeSet<&str>) -> Vec<String> {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    // Written by hand.
    if matches!(tokens.first(), Some(TokenTree::Group(first)) if first.delimiter() == Delimiter::Bracket) {
        return Vec::new();
    }
    let is = |at: usize, c: char| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == c);
    let bars: Vec<usize> = (0..tokens.len()).filter(|at| is(*at, '|')).collect();
    let [first, second, ..] = bars[..] else { return Vec::new() };
    let parameter = |at: usize| match &tokens[at] {
        TokenTree::Ident(name) if is(at + 1, ':') && !is(at + 2, ':') => Some(name.to_string()),
        _ => None,
    };
    let parameters: BTreeSet<String> = (first..second).filter_map(parameter).collect();
    let mut names = BTreeSet::new();
    identifiers(tokens[second + 1..].iter().cloned().collect(), &mut names);
    names.into_iter().filter(|name| known.contains(name.as_str()) && !parameters.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_the_closure_uses_are_copied() {
        let known = BTreeSet::from(["flights", "limit", "n", "unused", "a"]);
        let code =
            "let ä = 1; interact!(|n: 0..limit, s: \"x\"| { flights.filter(x!(d > {n})); println!(\"{limit}\") })";
        let [(at, names)] = &copies(code, &known)[..] else { panic!("one place") };
        assert_eq!((&code[..*at], names.as_str()), ("let ä = 1; interact!(", "[flights, limit] "));
        assert!(copies("interact!([a] |n: 0..3| a + n)", &known).is_empty());
        assert!(copies("interact!(|n: 0..3| n)", &known).is_empty());
        assert!(copies("interact(|n| a)", &known).is_empty());
        let nested = copies("f(|| interact!(|b: 0..3| interact!(|c: 0..3| a + b + c)))", &known);
        assert_eq!(nested.iter().map(|(_, names)| names.as_str()).collect::<Vec<_>>(), ["[a] ", "[a] "]);
    }
}
