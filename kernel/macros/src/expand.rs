//! Expands `x!(...)`: a list of expressions with names, and the byte string that carries them.

use onrush_wire::{Expr, ExprKind, Value};
use proc_macro2::{Delimiter, Literal, Span, TokenStream, TokenTree};
use quote::quote_spanned;

use crate::cursor::{Cursor, Failure, Result, is_comma, plain_name};
use crate::literal::{self, LiteralToken};
use crate::syntax::{Node, Parser, SLOT, expect_comma, slot_number};
use crate::words::ACCEPTED;

/// Expands the macro call. `source` is the text of the whole call, if it is known.
pub fn x(input: TokenStream, source: Option<&str>) -> Result<TokenStream> {
    let site = Span::call_site();
    if input.is_empty() {
        return Err(Failure::new(site, format!("x! needs an expression\n{ACCEPTED}")));
    }
    if let Some(text) = source.and_then(swallowed_division) {
        return Err(Failure::new(
            site,
            format!(
                "`//` starts a comment in Rust: `{text}` was not read\nhelp: write `.floor_div(..)` for a division without \
                     remainder, or put the comment on a separate line"
            ),
        ));
    }
    let list = input.clone().into_iter().any(|token| is_comma(&token));
    let mut parser = Parser::default();
    let mut cursor = Cursor::new(input, site);
    let mut exprs = Vec::new();
    while !cursor.is_empty() {
        exprs.push(item(&mut parser, &mut cursor)?.expr);
        expect_comma(&mut cursor)?;
    }
    Ok(match exprs.as_slice() {
        [single] if !list => one(single, &parser.slots, site),
        many => {
            let bytes = encoded(&many.to_vec())?;
            let slots = &parser.slots;
            quote_spanned!(site=> ::onrush::__x::many(#bytes, ::core::file!(), &[#(#slots),*]))
        }
    })
}

/// Generates the code that builds one `Expr`.
pub fn one(expr: &Expr, slots: &[TokenStream], site: Span) -> TokenStream {
    match encoded(expr) {
        Ok(bytes) => quote_spanned!(site=> ::onrush::__x::one(#bytes, ::core::file!(), &[#(#slots),*])),
        Err(failure) => failure.into_tokens(),
    }
}

fn encoded<T: serde::Serialize>(tree: &T) -> Result<Literal> {
    match postcard::to_stdvec(tree) {
        Ok(bytes) => Ok(Literal::byte_string(&bytes)),
        Err(e) => Err(Failure::new(Span::call_site(), format!("this expression could not be encoded: {e}"))),
    }
}

/// `expression` or `name = expression`.
fn item(parser: &mut Parser, input: &mut Cursor) -> Result<Node> {
    if input.operator_after_next().as_deref() != Some("=") {
        return parser.expression(input);
    }
    let start = input.span();
    let name = match input.advance() {
        Some(TokenTree::Ident(ident)) if ident != "_" => plain_name(&ident),
        Some(TokenTree::Literal(literal)) => match literal::parse(&literal)? {
            LiteralToken::Name(name) | LiteralToken::Value(Value::Text(name)) => name,
            _ => return Err(Failure::new(start, "a number is not a name\nhelp: a comparison is `==`")),
        },
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            let slot = parser.rust_value(&group)?;
            format!("{SLOT}{}", slot_number(&slot.expr.kind).unwrap_or_default())
        }
        _ => {
            return Err(Failure::new(
                start,
                "`=` names a result and stands after a name only\nhelp: a comparison is `==`",
            ));
        }
    };
    input.take_operator();
    let node = parser.expression(input)?;
    let span = Some(crate::cursor::place(start, start));
    Ok(Node {
        expr: Expr { kind: ExprKind::Alias(Box::new(node.expr), name), span },
        start,
        end: node.end,
        closed: false,
    })
}

/// Finds Python's floor division, as in `hour // 2`, which Rust reads as a comment.
fn swallowed_division(source: &str) -> Option<String> {
    source.lines().find_map(|line| {
        let (before, after) = split_comment(line)?;
        let operand = before.trim_end().ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ')');
        let divisor = after.trim().trim_end_matches([',', ')', ';']).trim();
        let first = divisor.split_whitespace().next()?;
        let number =
            first.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '_') && !first.starts_with(['.', '_']);
        let followed = divisor[first.len()..].trim_start();
        let whole = followed.is_empty() || followed.starts_with(['*', '+', '-', '%', '/', '=', '<', '>']);
        (operand && number && whole).then(|| format!("// {}", after.trim()))
    })
}

/// Splits a line at its `//`, unless that is in a string.
fn split_comment(line: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let mut previous = ' ';
    for (at, c) in line.char_indices() {
        match c {
            '"' if previous != '\\' => quoted = !quoted,
            '/' if !quoted && previous == '/' => {
                let (before, after) = (&line[..at - 1], &line[at + 1..]);
                return (!after.starts_with(['/', '!'])).then_some((before, after));
            }
            _ => {}
        }
        previous = c;
    }
    None
}

#[cfg(test)]
mod tests;
