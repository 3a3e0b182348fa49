//! A cursor over a token list, and the parse error that points at tokens. The grammar is in `syntax`.

use onrush_wire::Span as Place;
use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::quote_spanned;

/// A compile error for the user, underlined from token `start` to token `end`.
#[derive(Debug)]
pub struct Failure {
    pub start: Span,
    pub end: Span,
    pub message: String,
}

pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Failure { start: span, end: span, message: message.into() }
    }

    pub fn over(start: Span, end: Span, message: impl Into<String>) -> Self {
        Failure { start, end, message: message.into() }
    }

    /// Expands to `compile_error!`. Its first and last tokens carry the span, because rustc underlines from one to the
    /// other.
    pub fn into_tokens(self) -> TokenStream {
        let message = &self.message;
        let mut body = TokenStream::new();
        body.extend(quote_spanned!(self.start=> ::core::compile_error!));
        let mut text = proc_macro2::Literal::string(message);
        text.set_span(self.end);
        let mut group = Group::new(Delimiter::Brace, TokenTree::Literal(text).into());
        group.set_span(self.end);
        body.extend([TokenTree::Group(group)]);
        body
    }
}

/// Operators of more than one character, longest first.
const LONG: [&str; 12] = ["..=", "=>", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "..", "::"];

/// The tokens between a pair of brackets.
pub struct Cursor {
    tokens: Vec<TokenTree>,
    at: usize,
    /// The span of the closing bracket, for errors about a missing token.
    end: Span,
}

impl Cursor {
    pub fn new(stream: TokenStream, end: Span) -> Self {
        Cursor { tokens: stream.into_iter().collect(), at: 0, end }
    }

    pub fn of_group(group: &Group) -> Self {
        Cursor::new(group.stream(), group.span_close())
    }

    pub fn is_empty(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub fn peek(&self) -> Option<&TokenTree> {
        self.tokens.get(self.at)
    }

    pub fn peek_second(&self) -> Option<&TokenTree> {
        self.tokens.get(self.at + 1)
    }

    /// Whether the token after the next two is a pair of parentheses.
    pub fn is_group_third(&self) -> bool {
        matches!(self.tokens.get(self.at + 2), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis)
    }

    pub fn advance(&mut self) -> Option<TokenTree> {
        let token = self.tokens.get(self.at).cloned();
        self.at += usize::from(token.is_some());
        token
    }

    /// The span of the next token, or of the closing bracket.
    pub fn span(&self) -> Span {
        self.peek().map_or(self.end, TokenTree::span)
    }

    /// The operator that starts `offset` tokens ahead, with its number of tokens.
    fn operator_at(&self, offset: usize) -> Option<(String, usize)> {
        let punct = |i: usize| match self.tokens.get(self.at + offset + i) {
            Some(TokenTree::Punct(p)) => Some(p),
            _ => None,
        };
        let first = punct(0)?;
        let mut text = String::from(first.as_char());
        let mut joint = first.spacing() == Spacing::Joint;
        for i in 1..3 {
            let Some(next) = punct(i).filter(|_| joint) else { break };
            text.push(next.as_char());
            joint = next.spacing() == Spacing::Joint;
        }
        let long = LONG.iter().find(|long| text.starts_with(**long));
        Some(match long {
            Some(long) => (long.to_string(), long.len()),
            None => (first.as_char().to_string(), 1),
        })
    }

    /// The operator at the cursor, such as `&&`.
    pub fn operator(&self) -> Option<String> {
        self.operator_at(0).map(|(text, _)| text)
    }

    pub fn operator_after_next(&self) -> Option<String> {
        self.operator_at(1).map(|(text, _)| text)
    }

    pub fn is_operator(&self, text: &str) -> bool {
        self.operator().as_deref() == Some(text)
    }

    /// Takes the operator and returns the span of its first character.
    pub fn take_operator(&mut self) -> Span {
        let length = self.operator_at(0).map_or(1, |(_, length)| length);
        let span = self.span();
        self.at += length;
        span
    }

    pub fn eat(&mut self, text: &str) -> bool {
        let found = self.is_operator(text);
        if found {
            self.take_operator();
        }
        found
    }

    pub fn peek_ident(&self) -> Option<String> {
        match self.peek() {
            Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
            _ => None,
        }
    }

    pub fn eat_ident(&mut self, text: &str) -> Option<Span> {
        let span = self.span();
        (self.peek_ident().as_deref() == Some(text)).then(|| {
            self.at += 1;
            span
        })
    }

    pub fn take_ident(&mut self) -> Option<Ident> {
        match self.peek() {
            Some(TokenTree::Ident(ident)) => {
                let ident = ident.clone();
                self.at += 1;
                Some(ident)
            }
            _ => None,
        }
    }

    pub fn peek_group(&self, delimiter: Delimiter) -> Option<&Group> {
        match self.peek() {
            Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group),
            _ => None,
        }
    }

    pub fn take_group(&mut self, delimiter: Delimiter) -> Option<Group> {
        let group = self.peek_group(delimiter).cloned();
        self.at += usize::from(group.is_some());
        group
    }

    /// Takes all tokens up to the next comma of this level, and the comma.
    pub fn until_comma(&mut self) -> Vec<TokenTree> {
        let mut taken = Vec::new();
        while let Some(token) = self.advance() {
            if is_comma(&token) {
                break;
            }
            taken.push(token);
        }
        taken
    }
}

pub fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(p) if is_punct(p, ','))
}

fn is_punct(punct: &Punct, character: char) -> bool {
    punct.as_char() == character
}

/// The identifier without `r#`: `r#type` is the column `type`.
pub fn plain_name(ident: &Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map(str::to_string).unwrap_or(text)
}

/// The span from the start of one token to the end of another. A span over several lines ends with the first token.
/// The file name is left empty: the expansion adds it once for the whole expression.
pub fn place(start: Span, end: Span) -> Place {
    let from = start.start();
    let mut to = end.end();
    if to.line != from.line || to.column <= from.column {
        to = start.end();
    }
    let length = if to.line == from.line { to.column.saturating_sub(from.column) } else { 1 };
    Place { file: String::new(), line: from.line as u32, column: from.column as u32 + 1, length: length.max(1) as u32 }
}
