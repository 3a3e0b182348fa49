//! A small expander of `macro_rules!` for the index: it finds the methods that a macro of the file writes from a list
//! of names. A macro that it does not understand yields no items.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::Item;

/// Macro definitions by name.
pub type Macros = BTreeMap<String, TokenStream>;

/// The items that a macro call yields.
pub fn items(macros: &Macros, call: &syn::Macro) -> Vec<Item> {
    let Some(name) = call.path.get_ident().map(ToString::to_string) else { return Vec::new() };
    let Some(rules) = macros.get(&name) else { return Vec::new() };
    let rules: Vec<TokenTree> = rules.clone().into_iter().collect();
    let input: Vec<TokenTree> = call.tokens.clone().into_iter().collect();
    // `(pattern) => {body};`
    let groups: Vec<&Group> =
        rules.iter().filter_map(|t| if let TokenTree::Group(group) = t { Some(group) } else { None }).collect();
    for rule in groups.chunks_exact(2) {
        let pattern = parse(rule[0].stream());
        let mut bound = Bindings::new();
        let mut at = 0;
        if matches(&pattern, &input, &mut at, &mut bound) && at == input.len() {
            let body = fill(&parse(rule[1].stream()), &bound);
            return syn::parse2::<syn::File>(body).map(|file| file.items).unwrap_or_default();
        }
    }
    Vec::new()
}

enum Piece {
    Token(TokenTree),
    Group(Delimiter, Vec<Piece>),
    /// A variable, with its fragment specifier in a pattern and without it in a body.
    Variable(String, String),
    Repeat(Vec<Piece>, Option<TokenTree>),
}

enum Value {
    One(TokenStream),
    Many(Vec<Bindings>),
}

type Bindings = BTreeMap<String, Value>;

fn is(token: Option<&TokenTree>, c: char) -> bool {
    matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == c)
}

fn parse(stream: TokenStream) -> Vec<Piece> {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut pieces = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        match &tokens[i] {
            dollar if is(Some(dollar), '$') => match tokens.get(i + 1) {
                Some(TokenTree::Group(group)) => {
                    let inner = parse(group.stream());
                    i += 2;
                    let is_end = |t: Option<&TokenTree>| ['*', '+', '?'].iter().any(|&c| is(t, c));
                    let separator = tokens.get(i).filter(|t| !is_end(Some(t))).cloned();
                    i += usize::from(separator.is_some()) + 1;
                    pieces.push(Piece::Repeat(inner, separator));
                }
                Some(TokenTree::Ident(name)) => {
                    i += 2;
                    let fragment = match tokens.get(i + 1) {
                        Some(TokenTree::Ident(fragment)) if is(tokens.get(i), ':') && !is(tokens.get(i + 1), ':') => {
                            let known = [
                                "ident", "ty", "expr", "literal", "meta", "tt", "vis", "path", "lifetime", "block",
                                "pat",
                            ];
                            known.iter().find(|f| fragment == **f).map(ToString::to_string)
                        }
                        _ => None,
                    };
                    i += if fragment.is_some() { 2 } else { 0 };
                    pieces.push(Piece::Variable(name.to_string(), fragment.unwrap_or_default()));
                }
                _ => i += 1,
            },
            TokenTree::Group(group) => {
                pieces.push(Piece::Group(group.delimiter(), parse(group.stream())));
                i += 1;
            }
            token => {
                pieces.push(Piece::Token(token.clone()));
                i += 1;
            }
        }
    }
    pieces
}

fn matches(pattern: &[Piece], input: &[TokenTree], at: &mut usize, bound: &mut Bindings) -> bool {
    for piece in pattern {
        match piece {
            Piece::Token(token) => match input.get(*at) {
                Some(found) if found.to_string() == token.to_string() => *at += 1,
                _ => return false,
            },
            Piece::Group(delimiter, inner) => {
                let Some(TokenTree::Group(group)) = input.get(*at) else { return false };
                let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut within = 0;
                if group.delimiter() != *delimiter
                    || !matches(inner, &tokens, &mut within, bound)
                    || within < tokens.len()
                {
                    return false;
                }
                *at += 1;
            }
            Piece::Variable(name, fragment) => {
                let length = length_of(fragment, &input[*at..]);
                if length == 0 && fragment != "vis" {
                    return false;
                }
                let tokens = input[*at..*at + length].iter().cloned().collect();
                bound.insert(name.clone(), Value::One(tokens));
                *at += length;
            }
            Piece::Repeat(inner, separator) => {
                let mut rounds = Vec::new();
                loop {
                    let (mut next, mut round) = (*at, Bindings::new());
                    if next >= input.len() || !matches(inner, input, &mut next, &mut round) || next == *at {
                        break;
                    }
                    *at = next;
                    rounds.push(round);
                    if let Some(separator) = separator {
                        let follows = input.get(*at).is_some_and(|t| t.to_string() == separator.to_string());
                        if !follows {
                            break;
                        }
                        *at += 1;
                    }
                }
                let mut names = Vec::new();
                names_in(inner, &mut names);
                // Each variable has its value in all repetitions.
                for name in names {
                    let values = rounds.iter().map(|round| {
                        let value = round.get(&name).map(copy);
                        value.into_iter().map(|v| (name.clone(), v)).collect::<Bindings>()
                    });
                    bound.insert(name.clone(), Value::Many(values.collect()));
                }
            }
        }
    }
    true
}

fn copy(value: &Value) -> Value {
    match value {
        Value::One(tokens) => Value::One(tokens.clone()),
        Value::Many(rounds) => {
            Value::Many(rounds.iter().map(|r| r.iter().map(|(n, v)| (n.clone(), copy(v))).collect()).collect())
        }
    }
}

fn names_in(pieces: &[Piece], names: &mut Vec<String>) {
    for piece in pieces {
        match piece {
            Piece::Variable(name, _) => names.push(name.clone()),
            Piece::Group(_, inner) | Piece::Repeat(inner, _) => names_in(inner, names),
            Piece::Token(_) => {}
        }
    }
}

/// The number of tokens that a fragment takes.
fn length_of(fragment: &str, input: &[TokenTree]) -> usize {
    let Some(first) = input.first() else { return 0 };
    match fragment {
        "ident" => usize::from(matches!(first, TokenTree::Ident(_))),
        "tt" | "block" => 1,
        "literal" if is(Some(first), '-') => 2,
        "literal" => usize::from(matches!(first, TokenTree::Literal(_))),
        "lifetime" => 2,
        "vis" => match first {
            TokenTree::Ident(word) if word == "pub" => {
                1 + usize::from(
                    matches!(input.get(1), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis),
                )
            }
            _ => 0,
        },
        // An attribute's inside.
        "meta" => input.len(),
        _ => {
            let mut depth = 0;
            let end = input.iter().enumerate().position(|(i, token)| {
                let arrow = is(Some(token), '>') && i > 0 && (is(input.get(i - 1), '-') || is(input.get(i - 1), '='));
                depth += i32::from(is(Some(token), '<')) - i32::from(is(Some(token), '>') && !arrow);
                depth == 0
                    && ([',', ';'].iter().any(|&c| is(Some(token), c))
                        || is(Some(token), '=') && is(input.get(i + 1), '>'))
                    || depth == 0
                        && fragment == "ty"
                        && (is(Some(token), '=')
                            || is(Some(token), ':')
                                && !is(input.get(i + 1), ':')
                                && !(i > 0 && is(input.get(i - 1), ':')))
            });
            end.unwrap_or(input.len())
        }
    }
}

fn fill(body: &[Piece], bound: &Bindings) -> TokenStream {
    let mut out = TokenStream::new();
    for piece in body {
        match piece {
            Piece::Token(token) => out.extend([token.clone()]),
            Piece::Group(delimiter, inner) => {
                out.extend([TokenTree::Group(Group::new(*delimiter, fill(inner, bound)))]);
            }
            Piece::Variable(name, fragment) => {
                if let Some(Value::One(tokens)) = bound.get(name) {
                    out.extend(tokens.clone());
                }
                if !fragment.is_empty() {
                    // `$x: ty` in a body is the variable and what follows it.
                    out.extend(format!(": {fragment}").parse::<TokenStream>().unwrap_or_default());
                }
            }
            Piece::Repeat(inner, separator) => {
                let mut names = Vec::new();
                names_in(inner, &mut names);
                let rounds = names.iter().filter_map(|n| match bound.get(n) {
                    Some(Value::Many(rounds)) => Some(rounds.len()),
                    _ => None,
                });
                for round in 0..rounds.max().unwrap_or(0) {
                    let mut now: Bindings = bound.iter().map(|(n, v)| (n.clone(), copy(v))).collect();
                    for name in &names {
                        if let Some(Value::Many(rounds)) = bound.get(name)
                            && let Some(value) = rounds.get(round).and_then(|r| r.get(name))
                        {
                            now.insert(name.clone(), copy(value));
                        }
                    }
                    if round > 0 {
                        out.extend(separator.clone());
                    }
                    out.extend(fill(inner, &now));
                }
            }
        }
    }
    out
}
