//! The grammar of `x!`: a parser from tokens to [`Expr`], with Rust's operators and precedence.
//!
//! Rust values stay tokens: the tree holds a numbered slot for each value, filled when the cell runs.

use onrush_wire::{Arg, BinaryOp, Expr, ExprKind, UnaryOp, Value};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;

use crate::cursor::{Cursor, Failure, Result, place, plain_name};
use crate::literal::{self, LiteralToken};
use crate::words::{ACCEPTED, foreign_operator};

/// Function names that mark slots and lists until the slots are filled; see `onrush::__x`.
pub const SLOT: &str = "\0slot";
pub const LIST: &str = "\0list";
pub const NAMED_COLUMN: &str = "\0column";

/// An expression with its first and last token.
#[derive(Clone)]
pub struct Node {
    pub expr: Expr,
    pub start: Span,
    pub end: Span,
    /// Whether the expression is in parentheses, so that operators next to it are meant as logical ones.
    pub closed: bool,
}

impl Node {
    pub fn new(kind: ExprKind, start: Span, end: Span) -> Self {
        Node { expr: Expr { kind, span: Some(place(start, end)) }, start, end, closed: false }
    }
}

#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Any,
    Or,
    And,
    Compare,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Add,
    Multiply,
    Cast,
}

fn binary(operator: &str) -> Option<(BinaryOp, Level)> {
    Some(match operator {
        "||" => (BinaryOp::Or, Level::Or),
        "&&" => (BinaryOp::And, Level::And),
        "==" => (BinaryOp::Equal, Level::Compare),
        "!=" => (BinaryOp::NotEqual, Level::Compare),
        "<" => (BinaryOp::Less, Level::Compare),
        "<=" => (BinaryOp::LessEqual, Level::Compare),
        ">" => (BinaryOp::Greater, Level::Compare),
        ">=" => (BinaryOp::GreaterEqual, Level::Compare),
        "|" => (BinaryOp::BitOr, Level::BitOr),
        "^" => (BinaryOp::Xor, Level::BitXor),
        "&" => (BinaryOp::BitAnd, Level::BitAnd),
        "<<" => (BinaryOp::ShiftLeft, Level::Shift),
        ">>" => (BinaryOp::ShiftRight, Level::Shift),
        "+" => (BinaryOp::Add, Level::Add),
        "-" => (BinaryOp::Subtract, Level::Add),
        "*" => (BinaryOp::Multiply, Level::Multiply),
        "/" => (BinaryOp::Divide, Level::Multiply),
        "%" => (BinaryOp::Remainder, Level::Multiply),
        _ => return None,
    })
}

fn is_comparison(node: &Node) -> bool {
    use BinaryOp::*;
    match &node.expr.kind {
        ExprKind::Binary(op, ..) => matches!(op, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual),
        ExprKind::In { .. } | ExprKind::Between { .. } => true,
        _ => false,
    }
}

/// Parses one expression at a time and collects its Rust values.
#[derive(Default)]
pub struct Parser {
    pub slots: Vec<TokenStream>,
    /// Names bound by the patterns of the enclosing `match`es, innermost last.
    pub bound: Vec<(String, Expr)>,
}

impl Parser {
    /// Parses a whole expression.
    pub fn expression(&mut self, input: &mut Cursor) -> Result<Node> {
        self.climb(input, Level::Any)
    }

    /// Parses the only expression between brackets.
    pub fn only(&mut self, group: &Group, what: &str) -> Result<Node> {
        let mut input = Cursor::of_group(group);
        if input.is_empty() {
            return Err(Failure::new(group.span(), format!("{what} is empty\nhelp: write an expression in it")));
        }
        let node = self.expression(&mut input)?;
        expect_end(&input)?;
        Ok(node)
    }

    fn climb(&mut self, input: &mut Cursor, least: Level) -> Result<Node> {
        let mut left = self.prefix(input)?;
        loop {
            if let Some(word) = input.peek_ident() {
                if word == "as" && Level::Cast >= least {
                    input.advance();
                    let (to, end) = self.dtype(input)?;
                    let start = left.start;
                    left = Node::new(ExprKind::Cast { value: Box::new(left.expr), to, strict: true }, start, end);
                    continue;
                }
                if word == "in" {
                    if Level::Compare <= least {
                        return Ok(left);
                    }
                    refuse_chain(&left, input.span())?;
                    input.advance();
                    left = self.membership(left, input)?;
                    continue;
                }
                if let Some(hint) = foreign_operator(&word) {
                    return Err(Failure::new(input.span(), hint));
                }
                return Ok(left);
            }
            let Some(operator) = input.operator() else { return Ok(left) };
            let Some((op, level)) = binary(&operator) else { return Ok(left) };
            if level <= least {
                return Ok(left);
            }
            let at = input.take_operator();
            if op == BinaryOp::Multiply && input.is_operator("*") {
                return Err(Failure::over(at, input.span(), "`**` is not an operator in Rust\nhelp: write `x.pow(2)`"));
            }
            if op == BinaryOp::Divide && input.is_operator("/") {
                return Err(Failure::over(at, input.span(), FLOOR_HINT));
            }
            let right = self.climb(input, level)?;
            if level == Level::Compare {
                refuse_chain(&left, at)?;
                refuse_bit_operator(&left, &right)?;
                refuse_null(op, &left, &right)?;
            }
            if level == Level::Compare || level >= Level::Add {
                refuse_quoted(op, &left, &right)?;
            }
            left = join(op, left, right);
        }
    }

    fn prefix(&mut self, input: &mut Cursor) -> Result<Node> {
        let start = input.span();
        if input.is_operator("-") {
            input.take_operator();
            let value = self.prefix_operand(input)?;
            let end = value.end;
            let kind = match value.expr.kind {
                ExprKind::Literal(Value::Int(n)) => ExprKind::Literal(Value::Int(-n)),
                ExprKind::Literal(Value::UInt(n)) if n == 1 << 63 => ExprKind::Literal(Value::Int(i64::MIN)),
                ExprKind::Literal(Value::Float(n)) => ExprKind::Literal(Value::Float(-n)),
                ExprKind::Literal(Value::Float32(n)) => ExprKind::Literal(Value::Float32(-n)),
                _ => ExprKind::Unary(UnaryOp::Negate, Box::new(value.expr)),
            };
            return Ok(Node::new(kind, start, end));
        }
        if input.is_operator("!") {
            input.take_operator();
            let value = self.prefix_operand(input)?;
            let end = value.end;
            return Ok(Node::new(ExprKind::Unary(UnaryOp::Not, Box::new(value.expr)), start, end));
        }
        self.postfix(input)
    }

    fn prefix_operand(&mut self, input: &mut Cursor) -> Result<Node> {
        self.prefix(input)
    }

    /// Parses `[a, b]`, `1..5`, `1..=5` or `{list}` after `in`.
    fn membership(&mut self, value: Node, input: &mut Cursor) -> Result<Node> {
        let start = value.start;
        if let Some(group) = input.take_group(Delimiter::Bracket) {
            let mut inner = Cursor::of_group(&group);
            let mut list = Vec::new();
            while !inner.is_empty() {
                list.push(self.expression(&mut inner)?.expr);
                expect_comma(&mut inner)?;
            }
            return Ok(Node::new(ExprKind::In { value: Box::new(value.expr), list }, start, group.span_close()));
        }
        let low = self.climb(input, Level::BitOr)?;
        let high_inclusive = input.is_operator("..=");
        if high_inclusive || input.is_operator("..") {
            input.take_operator();
            let high = self.climb(input, Level::BitOr)?;
            let (low, high, end) = (Box::new(low.expr), Box::new(high.expr), high.end);
            return Ok(Node::new(
                ExprKind::Between { value: Box::new(value.expr), low, high, high_inclusive },
                start,
                end,
            ));
        }
        if matches!(&low.expr.kind, ExprKind::Call { function, .. } if function == SLOT) {
            return Ok(Node::new(ExprKind::In { value: Box::new(value.expr), list: vec![low.expr] }, start, low.end));
        }
        Err(Failure::over(
            low.start,
            low.end,
            "`in` needs a list, a range or a Rust value\nhelp: write `x in [1, 2]`, `x in 1..5` or `x in {list}`",
        ))
    }

    fn postfix(&mut self, input: &mut Cursor) -> Result<Node> {
        let mut node = self.primary(input)?;
        while input.is_operator(".") {
            input.take_operator();
            node = self.method(node, input)?;
        }
        Ok(node)
    }

    fn primary(&mut self, input: &mut Cursor) -> Result<Node> {
        let span = input.span();
        let Some(token) = input.peek().cloned() else {
            return Err(Failure::new(span, format!("an expression is missing here\n{ACCEPTED}")));
        };
        match token {
            TokenTree::Literal(literal) => {
                input.advance();
                Ok(match literal::parse(&literal)? {
                    LiteralToken::Value(value) => Node::new(ExprKind::Literal(value), span, span),
                    LiteralToken::Typed(value, to) => {
                        let value = Box::new(Node::new(ExprKind::Literal(value), span, span).expr);
                        Node::new(ExprKind::Cast { value, to, strict: true }, span, span)
                    }
                    LiteralToken::Name(name) => Node::new(ExprKind::Column(name), span, span),
                })
            }
            TokenTree::Group(group) => {
                input.advance();
                match group.delimiter() {
                    Delimiter::Parenthesis => {
                        let inner = self.only(&group, "this pair of parentheses")?;
                        let mut expr = inner.expr;
                        // A column or a call keeps the place of its name.
                        if matches!(expr.kind, ExprKind::Binary(..) | ExprKind::Unary(..)) {
                            expr.span = Some(place(group.span_open(), group.span_close()));
                        }
                        Ok(Node { expr, start: group.span_open(), end: group.span_close(), closed: true })
                    }
                    Delimiter::None => {
                        let inner = self.only(&group, "this argument of a macro")?;
                        Ok(Node { closed: true, ..inner })
                    }
                    Delimiter::Brace => Ok(self.rust_value(&group)?),
                    Delimiter::Bracket => self.list(&group),
                }
            }
            TokenTree::Ident(ident) => self.word(&ident, input),
            TokenTree::Punct(punct) => {
                let message = match punct.as_char() {
                    '&' | '*' => {
                        "columns need no reference\nhelp: leave the sign out; a Rust value is written `{value}`"
                            .to_string()
                    }
                    '|' => format!("closures cannot run over columns\n{ACCEPTED}"),
                    '=' => "`=` names a result; a comparison is `==`".to_string(),
                    '@' | '$' | '#' | '~' => format!("`{}` has no meaning here\n{ACCEPTED}", punct.as_char()),
                    other => format!("an expression is missing before `{other}`\n{ACCEPTED}"),
                };
                Err(Failure::new(span, message))
            }
        }
    }

    /// Parses `{value}`, which becomes a slot.
    pub fn rust_value(&mut self, group: &Group) -> Result<Node> {
        if group.stream().is_empty() {
            return Err(Failure::new(
                group.span(),
                "these braces are empty\nhelp: write a Rust value in them: `{limit}`",
            ));
        }
        let stream = group.stream();
        let first = stream.clone().into_iter().next().map_or(group.span(), |token| token.span());
        // Takes the hygiene context of the closing bracket, so that rustc points at the value if its type does not fit.
        let value = quote_spanned!(first=> ::onrush::__x::slot(&(#stream)));
        Ok(self.slot(value, group.span_open(), group.span_close()))
    }

    pub fn slot(&mut self, value: TokenStream, start: Span, end: Span) -> Node {
        let number = self.slots.len() as i64;
        self.slots.push(value);
        let args = vec![Arg { name: None, value: Expr::literal(number) }];
        Node::new(ExprKind::Call { function: SLOT.to_string(), args }, start, end)
    }

    /// Parses `[a, b]` as an argument.
    fn list(&mut self, group: &Group) -> Result<Node> {
        let mut inner = Cursor::of_group(group);
        let mut items = Vec::new();
        while !inner.is_empty() {
            items.push(Arg { name: None, value: self.expression(&mut inner)?.expr });
            expect_comma(&mut inner)?;
        }
        Ok(Node::new(ExprKind::Call { function: LIST.to_string(), args: items }, group.span_open(), group.span_close()))
    }

    /// Parses everything that starts with a name: a column, a call, `if`, `match`.
    fn word(&mut self, ident: &Ident, input: &mut Cursor) -> Result<Node> {
        let span = ident.span();
        let text = ident.to_string();
        input.advance();
        match text.as_str() {
            "if" => return self.conditional(span, input),
            "match" => return self.choice(span, input),
            "true" | "false" => return Ok(Node::new(ExprKind::Literal(Value::Boolean(text == "true")), span, span)),
            "None" | "null" => return Ok(Node::new(ExprKind::Literal(Value::Null), span, span)),
            "_" => return Err(Failure::new(span, "`_` is a pattern of `match`, not a column")),
            _ => {}
        }
        let starts_operand = input.peek_group(Delimiter::Parenthesis).is_none()
            && matches!(input.peek(), Some(TokenTree::Ident(_) | TokenTree::Literal(_) | TokenTree::Group(_)));
        if starts_operand && let Some(hint) = foreign_operator(&text) {
            return Err(Failure::new(span, hint));
        }
        if ["return", "let", "loop", "while", "for", "fn", "move", "unsafe", "async"].contains(&text.as_str())
            && starts_operand
        {
            return Err(Failure::new(span, format!("`{text}` has no meaning over columns\n{ACCEPTED}")));
        }
        if input.is_operator("::") {
            return self.path(ident, input);
        }
        if input.is_operator("!")
            && input.operator_after_next().is_none()
            && matches!(input.peek_second(), Some(TokenTree::Group(_)))
        {
            return Err(Failure::new(
                span,
                format!(
                    "macros cannot run over columns\nhelp: compute the value before, and write `{{value}}`, or write `{{{text}!(..)}}`"
                ),
            ));
        }
        let name = plain_name(ident);
        if let Some(group) = input.take_group(Delimiter::Parenthesis) {
            if text == "date" || text == "datetime" {
                return self.date(&name, span, &group);
            }
            return self.call(&text, ident, &group);
        }
        if let Some((_, value)) = self.bound.iter().rev().find(|(bound, _)| *bound == name) {
            return Ok(Node { expr: value.clone(), start: span, end: span, closed: true });
        }
        Ok(Node::new(ExprKind::Column(name), span, span))
    }

    fn conditional(&mut self, start: Span, input: &mut Cursor) -> Result<Node> {
        let mut branches = Vec::new();
        let mut end;
        let otherwise = loop {
            let condition = self.expression(input)?;
            let Some(block) = input.take_group(Delimiter::Brace) else {
                return Err(Failure::new(
                    input.span(),
                    "`if` needs its value in braces\nhelp: write `if a > 0 { 1 } else { 0 }`",
                ));
            };
            let value = self.only(&block, "this branch of `if`")?;
            branches.push((condition.expr, value.expr));
            end = block.span_close();
            if input.eat_ident("else").is_none() {
                break None;
            }
            if input.eat_ident("if").is_some() {
                continue;
            }
            let Some(block) = input.take_group(Delimiter::Brace) else {
                return Err(Failure::new(input.span(), "`else` needs its value in braces\nhelp: write `else { 0 }`"));
            };
            end = block.span_close();
            break Some(Box::new(self.only(&block, "this `else`")?.expr));
        };
        Ok(Node { closed: true, ..Node::new(ExprKind::Case { branches, otherwise }, start, end) })
    }
}

const FLOOR_HINT: &str = "`//` starts a comment in Rust\nhelp: write `a.floor_div(b)` for a division without remainder";

fn join(op: BinaryOp, left: Node, right: Node) -> Node {
    // Polars' style with each side in parentheses: the logical operator is meant.
    let logical = left.closed && right.closed && is_comparison(&left) && is_comparison(&right);
    let op = match op {
        BinaryOp::BitAnd if logical => BinaryOp::And,
        BinaryOp::BitOr if logical => BinaryOp::Or,
        op => op,
    };
    let (start, end) = (left.start, right.end);
    Node::new(ExprKind::Binary(op, Box::new(left.expr), Box::new(right.expr)), start, end)
}

fn refuse_chain(left: &Node, at: Span) -> Result<()> {
    if is_comparison(left) && !left.closed {
        return Err(Failure::over(
            left.start,
            at,
            "comparisons cannot be chained\nhelp: write `a < x && x < b`, or `x in a..b`",
        ));
    }
    Ok(())
}

/// Refuses comparisons next to a bitwise operator: `a == 1 & b == 2` is `a == (1 & b) == 2` in Rust.
fn refuse_bit_operator(left: &Node, right: &Node) -> Result<()> {
    for side in [left, right] {
        if let ExprKind::Binary(op @ (BinaryOp::BitAnd | BinaryOp::BitOr), ..) = &side.expr.kind
            && !side.closed
        {
            let symbol = op.symbol();
            return Err(Failure::over(
                left.start,
                right.end,
                format!(
                    "`{symbol}` binds closer than a comparison\nhelp: write `{symbol}{symbol}` between conditions, or put each \
                     side in parentheses"
                ),
            ));
        }
    }
    Ok(())
}

/// Refuses `a == null`: the comparison is null in every row.
fn refuse_null(op: BinaryOp, left: &Node, right: &Node) -> Result<()> {
    let is_null = |node: &Node| matches!(node.expr.kind, ExprKind::Literal(Value::Null));
    let method = match op {
        BinaryOp::Equal => "is_null",
        BinaryOp::NotEqual => "is_not_null",
        _ => return Ok(()),
    };
    if !is_null(left) && !is_null(right) {
        return Ok(());
    }
    let message = format!(
        "a comparison with null is null in every row, so that it keeps no row\nhelp: write `a.{method}()`; a Rust value that \
         may be `None` is compared by `a.eq_missing({{value}})`"
    );
    Err(Failure::over(left.start, right.end, message))
}

/// Refuses a string next to another literal, as in `"a" > 1`: it looks like a column in quotes.
fn refuse_quoted(op: BinaryOp, left: &Node, right: &Node) -> Result<()> {
    let (ExprKind::Literal(a), ExprKind::Literal(b)) = (&left.expr.kind, &right.expr.kind) else { return Ok(()) };
    let (node, name) = match (a, b) {
        (Value::Text(_), Value::Text(_)) if op == BinaryOp::Add => return Ok(()),
        (Value::Text(name), _) => (left, name),
        (_, Value::Text(name)) => (right, name),
        _ => return Ok(()),
    };
    let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.is_empty();
    let column = if plain { format!("`{name}` or `col(\"{name}\")`") } else { format!("`col(\"{name}\")`") };
    let message =
        format!("\"{name}\" is a string and not a column, and neither side is a column\nhelp: write {column}");
    Err(Failure::over(node.start, node.end, message))
}

pub fn slot_number(kind: &ExprKind) -> Option<i64> {
    match kind {
        ExprKind::Call { function, args } if function == SLOT => match args.first()?.value.kind {
            ExprKind::Literal(Value::Int(number)) => Some(number),
            _ => None,
        },
        _ => None,
    }
}

/// Expects the end of the input.
pub fn expect_end(input: &Cursor) -> Result<()> {
    if input.is_empty() { Ok(()) } else { Err(unexpected(input)) }
}

/// Expects a comma or the end.
pub fn expect_comma(input: &mut Cursor) -> Result<()> {
    if input.is_empty() || input.eat(",") { Ok(()) } else { Err(unexpected(input)) }
}

/// The message for an unexpected token.
fn unexpected(input: &Cursor) -> Failure {
    let span = input.span();
    let message = match (input.operator().as_deref(), input.peek()) {
        (Some("="), _) => "`=` names a result and stands after a name only\nhelp: a comparison is `==`".to_string(),
        (Some("?"), _) => "`?` has no meaning over columns\nhelp: write `if a { b } else { c }`".to_string(),
        (Some(";"), _) => "expressions are separated by commas".to_string(),
        (Some(".." | "..="), _) => "a range stands after `in` only\nhelp: write `x in 1..5`".to_string(),
        (Some("=>"), _) => "`=>` stands in `match` only".to_string(),
        (_, Some(TokenTree::Group(g))) if g.delimiter() == Delimiter::Bracket => {
            "columns are not indexed in x!\nhelp: write `.list.get(0)` for an element of a list".to_string()
        }
        (_, Some(token)) => {
            let text: String = token.to_string().chars().take(20).collect();
            format!("`{text}` was not expected here: an operator or a comma is missing before it\n{ACCEPTED}")
        }
        (_, None) => "something is missing here".to_string(),
    };
    Failure::new(span, message)
}
