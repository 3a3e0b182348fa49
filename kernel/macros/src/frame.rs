//! Expands `frame!`: column names and lists of Rust values. rustc checks the types, the prelude checks the lengths.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

use crate::cursor::{Cursor, Failure, Result, is_comma, plain_name};
use crate::literal::{self, LiteralToken};

const USAGE: &str = "help: write `frame! { name: [1, 2], \"other name\": values }`";

pub fn expand(input: TokenStream) -> Result<TokenStream> {
    let mut cursor = Cursor::new(input, Span::call_site());
    let mut columns = Vec::new();
    while !cursor.is_empty() {
        let span = cursor.span();
        let name = match cursor.advance() {
            Some(TokenTree::Ident(ident)) => plain_name(&ident),
            Some(TokenTree::Literal(literal)) => match literal::parse(&literal)? {
                LiteralToken::Name(name) | LiteralToken::Value(onrush_wire::Value::Text(name)) => name,
                _ => return Err(Failure::new(span, format!("a column's name is missing here\n{USAGE}"))),
            },
            _ => return Err(Failure::new(span, format!("a column's name is missing here\n{USAGE}"))),
        };
        if !cursor.is_operator(":") {
            return Err(Failure::new(cursor.span(), format!("`:` is missing after `{name}`\n{USAGE}")));
        }
        cursor.take_operator();
        let value = cursor.until_comma();
        let Some(first) = value.first().map(TokenTree::span) else {
            return Err(Failure::new(span, format!("`{name}` has no values\n{USAGE}")));
        };
        let value = match value.as_slice() {
            [TokenTree::Group(group)] if group.delimiter() == Delimiter::Bracket => with_nulls(group),
            _ => value.into_iter().collect(),
        };
        let (line, column, length) = {
            let place = crate::cursor::place(span, span);
            (place.line, place.column, place.length)
        };
        columns.push(quote_spanned!(first=>
            ::onrush::__frame::column(#name, (#line, #column, #length), &(#value))
        ));
    }
    Ok(quote!(::onrush::__frame::frame(::core::file!(), ::std::vec![#(#columns),*])))
}

/// An array with some `None` elements: the other elements need `Some`.
fn with_nulls(group: &Group) -> TokenStream {
    let mut elements: Vec<Vec<TokenTree>> = vec![Vec::new()];
    for token in group.stream() {
        if is_comma(&token) {
            elements.push(Vec::new());
        } else if let Some(last) = elements.last_mut() {
            last.push(token);
        }
    }
    elements.retain(|element| !element.is_empty());
    let is_none = |element: &[TokenTree]| variant(element).is_some_and(|name| name == "None");
    let is_some = |element: &[TokenTree]| match element {
        [path @ .., TokenTree::Group(_)] => variant(path).is_some_and(|name| name == "Some"),
        _ => false,
    };
    if !elements.iter().any(|element| is_none(element)) {
        return TokenTree::Group(group.clone()).into();
    }
    let elements = elements.iter().map(|element| {
        let tokens: TokenStream = element.iter().cloned().collect();
        if is_none(element) || is_some(element) { tokens } else { quote!(::core::option::Option::Some(#tokens)) }
    });
    let inner = quote!(#(#elements),*);
    let mut group = Group::new(Delimiter::Bracket, inner);
    group.set_span(Span::call_site());
    TokenTree::Group(group).into()
}

/// The last segment of a path without its type arguments: `None` in `None`, `None::<i64>` and `Option::<i64>::None`.
fn variant(path: &[TokenTree]) -> Option<String> {
    let (mut depth, mut name) = (0, None);
    for token in path {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' => depth -= 1,
            _ if depth > 0 => {}
            TokenTree::Ident(ident) => name = Some(ident.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == ':' => {}
            _ => return None,
        }
    }
    name
}
