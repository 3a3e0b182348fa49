//! Parses `match` over a column. Patterns become conditions in order, and the first true condition gives the value.
//! `None`, a name and `_` match a null.

use onrush_wire::{BinaryOp, Expr, ExprKind, UnaryOp, Value};
use proc_macro2::{Delimiter, Span, TokenTree};

use crate::cursor::{Cursor, Failure, Result, is_comma, place, plain_name};
use crate::literal::{self, LiteralToken};
use crate::syntax::{Node, Parser, expect_comma, expect_end};

const PATTERNS: &str =
    "help: patterns are literals, ranges such as `1..=5`, `a | b`, `{value}`, `None`, a name, and `_`";

/// `None` for a pattern that always matches.
type Condition = Option<Expr>;

impl Parser {
    /// Parses `match value { pattern if guard => result, ... }` after the word `match`.
    pub(crate) fn choice(&mut self, start: Span, input: &mut Cursor) -> Result<Node> {
        let subjects = self.subjects(input)?;
        let Some(arms) = input.take_group(Delimiter::Brace) else {
            return Err(Failure::new(
                input.span(),
                "`match` needs its arms in braces\nhelp: match x { \"a\" => 1, _ => 0 }",
            ));
        };
        let mut branches = Vec::new();
        let mut otherwise = None;
        let mut inner = Cursor::of_group(&arms);
        while !inner.is_empty() {
            if otherwise.is_some() {
                return Err(Failure::new(inner.span(), "this arm is never reached: the one before takes every row"));
            }
            let depth = self.bound.len();
            let mut condition = self.pattern(&mut inner, &subjects)?;
            if inner.eat_ident("if").is_some() {
                let guard = self.expression(&mut inner)?.expr;
                condition = both(condition, Some(guard));
            }
            if !inner.eat("=>") {
                return Err(Failure::new(inner.span(), format!("`=>` is missing after the pattern\n{PATTERNS}")));
            }
            let value = self.expression(&mut inner)?;
            // As in Rust, the comma after an arm in braces is optional.
            if !value.closed || inner.is_operator(",") || inner.is_empty() {
                expect_comma(&mut inner)?;
            }
            self.bound.truncate(depth);
            match condition {
                Some(condition) => branches.push((condition, value.expr)),
                None => otherwise = Some(Box::new(value.expr)),
            }
        }
        let end = arms.span_close();
        if branches.is_empty() {
            return match otherwise {
                Some(only) => Ok(Node { expr: *only, start, end, closed: true }),
                None => Err(Failure::new(arms.span(), "this `match` has no arms")),
            };
        }
        Ok(Node { closed: true, ..Node::new(ExprKind::Case { branches, otherwise }, start, end) })
    }

    /// The matched value: one expression, or several in a tuple.
    fn subjects(&mut self, input: &mut Cursor) -> Result<Vec<Expr>> {
        let tuple = input.peek_group(Delimiter::Parenthesis).filter(|group| {
            group.stream().into_iter().any(|token| is_comma(&token))
                && matches!(input.peek_second(), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Brace)
        });
        let Some(tuple) = tuple.cloned() else {
            return Ok(vec![self.expression(input)?.expr]);
        };
        input.advance();
        let mut inner = Cursor::of_group(&tuple);
        let mut subjects = Vec::new();
        while !inner.is_empty() {
            subjects.push(self.expression(&mut inner)?.expr);
            expect_comma(&mut inner)?;
        }
        Ok(subjects)
    }

    fn pattern(&mut self, input: &mut Cursor, subjects: &[Expr]) -> Result<Condition> {
        input.eat("|");
        let start = input.span();
        let mut alternatives = Vec::new();
        let mut always = false;
        loop {
            match self.atom(input, subjects)? {
                Some(condition) => alternatives.push(condition),
                None => always = true,
            }
            if !input.eat("|") {
                break;
            }
        }
        if always || alternatives.is_empty() {
            return Ok(None);
        }
        // `"AA" | "US"` becomes a list, which is shorter than a chain of comparisons.
        if alternatives.len() > 1 && subjects.len() == 1 {
            let literals: Option<Vec<Expr>> = alternatives
                .iter()
                .map(|condition| match &condition.kind {
                    ExprKind::Binary(BinaryOp::Equal, _, literal) => Some((**literal).clone()),
                    _ => None,
                })
                .collect();
            if let Some(list) = literals {
                let value = Box::new(subjects[0].clone());
                return Ok(Some(Expr { kind: ExprKind::In { value, list }, span: Some(place(start, start)) }));
            }
        }
        let any = alternatives.into_iter().reduce(|a, b| combine(BinaryOp::Or, a, b));
        Ok(any)
    }

    /// Parses one pattern without `|`.
    fn atom(&mut self, input: &mut Cursor, subjects: &[Expr]) -> Result<Condition> {
        let span = input.span();
        if let Some(group) = input.take_group(Delimiter::Parenthesis) {
            let mut inner = Cursor::of_group(&group);
            let mut all = None;
            if subjects.len() == 1 {
                all = self.pattern(&mut inner, subjects)?;
            } else {
                for subject in subjects {
                    if inner.is_empty() {
                        let count = subjects.len();
                        return Err(Failure::new(
                            group.span(),
                            format!("this pattern needs {count} parts, as the tuple after `match`"),
                        ));
                    }
                    let part = self.pattern(&mut inner, std::slice::from_ref(subject))?;
                    all = both(all, part);
                    expect_comma(&mut inner)?;
                }
            }
            expect_end(&inner)?;
            return Ok(all);
        }
        let [subject] = subjects else {
            if input.eat_ident("_").is_some() {
                return Ok(None);
            }
            return Err(Failure::new(span, "a tuple is matched by a tuple or by `_`\nhelp: write `(\"a\", _) => ..`"));
        };
        if input.is_operator("..") || input.is_operator("..=") {
            return self.range(input, subject, None, span).map(Some);
        }
        if let Some(word) = input.peek_ident() {
            match word.as_str() {
                "_" => {
                    input.advance();
                    return Ok(None);
                }
                "None" => {
                    input.advance();
                    return Ok(Some(Expr::call("is_null", [subject.clone()]).at(place(span, span))));
                }
                "Some" => {
                    input.advance();
                    let Some(group) = input.take_group(Delimiter::Parenthesis) else {
                        return Err(Failure::new(span, "`Some` needs a pattern in parentheses"));
                    };
                    let mut inner = Cursor::of_group(&group);
                    let part = self.pattern(&mut inner, subjects)?;
                    expect_end(&inner)?;
                    let present = Expr::call("is_not_null", [subject.clone()]).at(place(span, span));
                    return Ok(both(Some(present), part));
                }
                "true" | "false" => {}
                _ => return self.binding(input, subject),
            }
        }
        let value = self.pattern_value(input)?;
        if input.is_operator("..") || input.is_operator("..=") {
            return self.range(input, subject, Some(value), span).map(Some);
        }
        let kind = ExprKind::Binary(BinaryOp::Equal, Box::new(subject.clone()), Box::new(value));
        Ok(Some(Expr { kind, span: Some(place(span, span)) }))
    }

    /// Binds a name to the matched value, for the guard and the result.
    fn binding(&mut self, input: &mut Cursor, subject: &Expr) -> Result<Condition> {
        let span = input.span();
        let Some(ident) = input.take_ident() else {
            return Err(Failure::new(span, PATTERNS));
        };
        let name = plain_name(&ident);
        if input.is_operator("::")
            || (name.len() > 1 && name.chars().all(|c| c.is_uppercase() || c == '_' || c.is_ascii_digit()))
        {
            return Err(Failure::new(
                span,
                format!("a Rust value in a pattern is written in braces\nhelp: write `{{{name}}}`"),
            ));
        }
        let condition = if input.eat("@") { self.pattern(input, std::slice::from_ref(subject))? } else { None };
        self.bound.push((name, subject.clone()));
        Ok(condition)
    }

    /// Parses a range pattern from its operator on; `low` was already taken.
    fn range(&mut self, input: &mut Cursor, subject: &Expr, low: Option<Expr>, start: Span) -> Result<Expr> {
        let high_inclusive = input.is_operator("..=");
        let operator = input.take_operator();
        let ends = input.is_empty()
            || input.is_operator("=>")
            || input.is_operator("|")
            || input.is_operator(",")
            || input.peek_ident().as_deref() == Some("if");
        let high = if ends { None } else { Some(self.pattern_value(input)?) };
        let span = Some(place(start, operator));
        let value = Box::new(subject.clone());
        let compare = |op, bound: Expr| ExprKind::Binary(op, value.clone(), Box::new(bound));
        let kind = match (low, high) {
            (Some(low), Some(high)) => {
                ExprKind::Between { value: value.clone(), low: Box::new(low), high: Box::new(high), high_inclusive }
            }
            (Some(low), None) => compare(BinaryOp::GreaterEqual, low),
            (None, Some(high)) if high_inclusive => compare(BinaryOp::LessEqual, high),
            (None, Some(high)) => compare(BinaryOp::Less, high),
            (None, None) => return Err(Failure::new(operator, "this range has no bounds\nhelp: write `_`")),
        };
        Ok(Expr { kind, span })
    }

    /// A literal or `{value}`.
    fn pattern_value(&mut self, input: &mut Cursor) -> Result<Expr> {
        let span = input.span();
        let negative = input.eat("-");
        let end = input.span();
        let place = Some(place(span, end));
        let value = match input.advance() {
            Some(TokenTree::Literal(literal)) => match literal::parse(&literal)? {
                LiteralToken::Value(value) | LiteralToken::Typed(value, _) => value,
                LiteralToken::Name(name) => {
                    return Err(Failure::new(end, format!("`{name}` is not a literal\n{PATTERNS}")));
                }
            },
            Some(TokenTree::Ident(ident)) if ident == "true" || ident == "false" => Value::Boolean(ident == "true"),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let slot = self.rust_value(&group)?;
                return Ok(if negative {
                    Expr { kind: ExprKind::Unary(UnaryOp::Negate, Box::new(slot.expr)), span: place }
                } else {
                    slot.expr
                });
            }
            _ => return Err(Failure::new(end, format!("this is not a pattern\n{PATTERNS}"))),
        };
        let value = match (negative, value) {
            (false, value) => value,
            (true, Value::Int(n)) => Value::Int(-n),
            (true, Value::Float(n)) => Value::Float(-n),
            (true, Value::Float32(n)) => Value::Float32(-n),
            (true, _) => return Err(Failure::new(end, format!("a sign stands before a number only\n{PATTERNS}"))),
        };
        Ok(Expr { kind: ExprKind::Literal(value), span: place })
    }
}

fn both(a: Condition, b: Condition) -> Condition {
    match (a, b) {
        (Some(a), Some(b)) => Some(combine(BinaryOp::And, a, b)),
        (a, b) => a.or(b),
    }
}

fn combine(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let span = a.span.clone();
    Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), span }
}
