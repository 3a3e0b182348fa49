//! Expands `interact!`: parameters whose values choose their controls, and a closure over them. rustc checks the types.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

use crate::cursor::{Cursor, Failure, Result, is_comma, plain_name};

const USAGE: &str = "help: write `interact!(|threshold: 0..60, carrier: [\"UA\", \"AA\"]| { … })`";

/// The maximum number of parameters.
const MOST: usize = 8;

struct Parameter {
    name: Ident,
    is_mutable: bool,
    value: TokenStream,
    at: Span,
}

pub fn expand(input: TokenStream) -> Result<TokenStream> {
    let mut cursor = Cursor::new(input, Span::call_site());
    // Names of the variables that the closure copies. Generated code puts them first.
    let kept: Vec<Ident> = match cursor.take_group(Delimiter::Bracket) {
        Some(group) => group.stream().into_iter().filter_map(ident).collect(),
        None => Vec::new(),
    };
    cursor.eat_ident("move");
    if cursor.is_operator("||") {
        return Err(Failure::new(
            cursor.span(),
            format!("there is nothing to set: the closure has no parameters\n{USAGE}"),
        ));
    }
    if !cursor.eat("|") {
        return Err(Failure::new(cursor.span(), format!("a closure is expected here\n{USAGE}")));
    }
    let mut parameters = Vec::new();
    while !cursor.eat("|") {
        parameters.push(parameter(&mut cursor)?);
    }
    if parameters.is_empty() {
        return Err(Failure::new(
            cursor.span(),
            format!("there is nothing to set: the closure has no parameters\n{USAGE}"),
        ));
    }
    if let Some(over) = parameters.get(MOST) {
        return Err(Failure::new(over.name.span(), format!("`interact!` takes {MOST} parameters at most")));
    }
    let body_at = cursor.span();
    let mut body = Vec::new();
    while let Some(token) = cursor.advance() {
        body.push(token);
    }
    if body.is_empty() {
        return Err(Failure::new(body_at, format!("the closure has no body\n{USAGE}")));
    }
    let body: TokenStream = body.into_iter().collect();
    let names: Vec<String> = parameters.iter().map(|parameter| plain_name(&parameter.name)).collect();
    let values = parameters
        .iter()
        .map(|Parameter { value, at, .. }| quote_spanned!(*at=> ::onrush::controls::parameter(#value)));
    let patterns = parameters.iter().map(
        |Parameter { name, is_mutable, .. }| {
            if *is_mutable { quote!(mut #name) } else { quote!(#name) }
        },
    );
    let copies = kept.iter().map(
        |name| quote_spanned!(name.span()=> #[allow(unused_mut)] let mut #name = ::onrush::controls::keep(&#name);),
    );
    Ok(quote! {{
        let parameters = (#(#values,)*);
        #(#copies)*
        ::onrush::controls::interact(&[#(#names),*], parameters, move |(#(#patterns,)*)| {
            ::onrush::__show!({ #body }, false)
        })
    }})
}

fn ident(token: TokenTree) -> Option<Ident> {
    if let TokenTree::Ident(ident) = token { Some(ident) } else { None }
}

fn parameter(cursor: &mut Cursor) -> Result<Parameter> {
    let is_mutable = cursor.eat_ident("mut").is_some();
    let span = cursor.span();
    let Some(name) = cursor.take_ident() else {
        return Err(Failure::new(span, format!("the name of a parameter is expected here\n{USAGE}")));
    };
    if !cursor.eat(":") {
        let message = format!("`{name}` needs a range, a list or a value, which says what its control is\n{USAGE}");
        return Err(Failure::new(name.span(), message));
    }
    let at = cursor.span();
    let mut value = Vec::new();
    while !cursor.is_operator("|") {
        match cursor.advance() {
            Some(token) if is_comma(&token) => break,
            Some(token) => value.push(token),
            None => return Err(Failure::new(span, format!("`|` is missing after the parameters\n{USAGE}"))),
        }
    }
    if value.is_empty() {
        let message = format!("`{name}` needs a range, a list or a value, which says what its control is\n{USAGE}");
        return Err(Failure::new(name.span(), message));
    }
    Ok(Parameter { name, is_mutable, value: value.into_iter().collect(), at })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> String {
        expand(text.parse().unwrap()).unwrap_or_else(Failure::into_tokens).to_string()
    }

    #[test]
    fn a_closure_gets_its_parameters_and_copies() {
        let text = expanded("[flights] |threshold: 0..60, mut name: \"a\"| { flights.len() }");
        for wanted in [
            "let parameters = (:: onrush :: controls :: parameter (0 .. 60) , :: onrush :: controls :: parameter (\"a\") ,)",
            "let mut flights = :: onrush :: controls :: keep (& flights)",
            "& [\"threshold\" , \"name\"]",
            "move | (threshold , mut name ,) |",
        ] {
            assert!(text.contains(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        for (text, wanted) in [
            ("|| 1", "no parameters"),
            ("| | 1", "no parameters"),
            ("x + 1", "a closure is expected here"),
            ("|a| a", "`a` needs a range"),
            ("|a:| a", "`a` needs a range"),
            ("|a: 1", "`|` is missing"),
            ("|a: 1|", "has no body"),
            ("|a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1| ()", "8 parameters at most"),
        ] {
            let message = expand(text.parse().unwrap()).map(|tokens| tokens.to_string()).unwrap_err().message;
            assert!(message.contains(wanted), "{text}: {message}");
        }
    }
}
