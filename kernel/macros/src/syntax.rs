//! The grammar of `x!`: Rust's operators and precedence over columns, from tokens to [`Expr`].
//!
//! Rust values stay tokens: the tree holds a numbered slot for each, which is filled when the cell runs.

use onrush_wire::expr::SortKey;
use onrush_wire::{Arg, BinaryOp, DataType, Expr, ExprKind, UnaryOp, Value};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;

use crate::cursor::{Cursor, Failure, Result, place, plain_name};
use crate::literal::{self, Parsed};
use crate::words::{ACCEPTED, foreign_operator, is_function, is_namespace};

/// Names of calls that stand for something else until the slots are filled; see `onrush::__x`.
pub const SLOT: &str = "\0slot";
pub const LIST: &str = "\0list";
pub const NAMED_COLUMN: &str = "\0column";

/// An expression with its first and last token.
#[derive(Clone)]
pub struct Node {
    pub expr: Expr,
    pub start: Span,
    pub end: Span,
    /// In parentheses, so that operators beside it are meant.
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

/// Reads one expression at a time and collects the Rust values in it.
#[derive(Default)]
pub struct Parser {
    pub slots: Vec<TokenStream>,
    /// Names bound by patterns of the `match`es around, innermost last.
    pub bound: Vec<(String, Expr)>,
}

impl Parser {
    /// A whole expression.
    pub fn expression(&mut self, input: &mut Cursor) -> Result<Node> {
        self.climb(input, Level::Any)
    }

    /// The only expression between brackets.
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
                return Err(Failure::over(at, input.span(), "`**` is no operator in Rust\nhelp: write `x.pow(2)`"));
            }
            if op == BinaryOp::Divide && input.is_operator("/") {
                return Err(Failure::over(at, input.span(), FLOOR_HINT));
            }
            let right = self.climb(input, level)?;
            if level == Level::Compare {
                refuse_chain(&left, at)?;
                refuse_bit_operator(&left, &right)?;
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

    /// `[a, b]`, `1..5`, `1..=5` or `{list}` after `in`.
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

    fn method(&mut self, receiver: Node, input: &mut Cursor) -> Result<Node> {
        let Some(mut name) = input.take_ident() else {
            return Err(Failure::new(input.span(), "a method's name is missing after the point"));
        };
        let mut function = plain_name(&name);
        if is_namespace(&function) && input.is_operator(".") {
            input.take_operator();
            let Some(method) = input.take_ident() else {
                return Err(Failure::new(input.span(), format!("a method's name is missing after `.{function}.`")));
            };
            function = format!("{function}.{}", plain_name(&method));
            name = method;
        }
        let mut generic = None;
        if input.is_operator("::") {
            input.take_operator();
            if !input.eat("<") {
                return Err(Failure::new(input.span(), format!("a type in `<>` is missing after `::`\n{ACCEPTED}")));
            }
            generic = Some(self.dtype(input)?.0);
            if !input.eat(">") {
                return Err(Failure::new(input.span(), "`>` is missing after the type"));
            }
        }
        let Some(group) = input.take_group(Delimiter::Parenthesis) else {
            let shown = function.trim_start_matches("r#");
            let message = if is_namespace(shown) {
                format!("`.{shown}` is the start of a method's name\nhelp: write `.{shown}.method()`")
            } else {
                format!("a method needs parentheses\nhelp: write `.{shown}()`")
            };
            return Err(Failure::new(name.span(), message));
        };
        let start = receiver.start;
        let end = group.span_close();
        let value = Box::new(receiver.expr);
        let node = |kind| {
            Ok(Node { expr: Expr { kind, span: Some(place(name.span(), name.span())) }, start, end, closed: true })
        };
        match function.as_str() {
            "over" => {
                let (mut partition, mut order) = (Vec::new(), Vec::new());
                for (option, key) in self.arguments(&group)? {
                    match option.as_deref() {
                        None => partition.extend(keys(key)),
                        Some("order_by") => order.extend(keys(key).into_iter().map(sort_key)),
                        Some(other) => return Err(unknown_option(&key, "over", other, "order_by")),
                    }
                }
                if input.is_operator(".") && matches!(input.peek_second(), Some(TokenTree::Ident(i)) if i == "order_by")
                {
                    input.take_operator();
                    input.take_ident();
                    let Some(group) = input.take_group(Delimiter::Parenthesis) else {
                        return Err(Failure::new(input.span(), "`.order_by` needs its keys in parentheses"));
                    };
                    for (_, key) in self.arguments(&group)? {
                        order.extend(keys(key).into_iter().map(sort_key));
                    }
                }
                node(ExprKind::Over { value, partition, order })
            }
            "cast" | "try_cast" => {
                let (to, strict) = self.cast_arguments(&group, generic, &name)?;
                node(ExprKind::Cast { value, to, strict: strict && function == "cast" })
            }
            "alias" => {
                let argument = self.single(&group, &name)?;
                match argument.expr.kind {
                    ExprKind::Literal(Value::Text(text)) => node(ExprKind::Alias(value, text)),
                    ExprKind::Column(text) => node(ExprKind::Alias(value, text)),
                    ref slot => match slot_number(slot) {
                        Some(number) => node(ExprKind::Alias(value, format!("{SLOT}{number}"))),
                        None => Err(Failure::over(
                            argument.start,
                            argument.end,
                            "a name is a text\nhelp: write `.alias(\"name\")`",
                        )),
                    },
                }
            }
            "is_in" => {
                let argument = self.single(&group, &name)?;
                let list = match argument.expr.kind {
                    ExprKind::Literal(Value::List(values)) => values.into_iter().map(Expr::literal).collect(),
                    ExprKind::Call { function, args } if function == LIST => {
                        args.into_iter().map(|a| a.value).collect()
                    }
                    kind => vec![Expr { kind, span: argument.expr.span }],
                };
                node(ExprKind::In { value, list })
            }
            "is_between" | "between" => {
                let mut arguments = self.arguments(&group)?.into_iter().map(|(_, node)| Box::new(node.expr));
                match (arguments.next(), arguments.next(), arguments.next()) {
                    (Some(low), Some(high), None) => node(ExprKind::Between { value, low, high, high_inclusive: true }),
                    _ => Err(Failure::new(name.span(), "`.is_between(low, high)` takes two values, both included")),
                }
            }
            "exclude" if matches!(value.kind, ExprKind::All { .. }) => {
                let mut except = Vec::new();
                for (_, key) in self.arguments(&group)? {
                    let (start, end) = (key.start, key.end);
                    for key in keys(key) {
                        match key.kind {
                            ExprKind::Column(name) => except.push(name),
                            _ => return Err(Failure::over(start, end, "`exclude` takes names of columns")),
                        }
                    }
                }
                node(ExprKind::All { except })
            }
            _ if generic.is_some() => {
                Err(Failure::new(name.span(), format!("`.{function}` takes no type in `::<>`: only `.cast` does")))
            }
            _ => {
                let mut args = vec![Arg { name: None, value: *value }];
                args.extend(self.arguments(&group)?.into_iter().map(|(name, node)| Arg { name, value: node.expr }));
                node(ExprKind::Call { function, args })
            }
        }
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
                    Parsed::Value(value) => Node::new(ExprKind::Literal(value), span, span),
                    Parsed::Typed(value, to) => {
                        let value = Box::new(Node::new(ExprKind::Literal(value), span, span).expr);
                        Node::new(ExprKind::Cast { value, to, strict: true }, span, span)
                    }
                    Parsed::Name(name) => Node::new(ExprKind::Column(name), span, span),
                })
            }
            TokenTree::Group(group) => {
                input.advance();
                match group.delimiter() {
                    Delimiter::Parenthesis => {
                        let inner = self.only(&group, "this pair of parentheses")?;
                        let expr = Expr { span: Some(place(group.span_open(), group.span_close())), ..inner.expr };
                        // A column or a call keeps the place of its name.
                        let expr = match expr.kind {
                            ExprKind::Binary(..) | ExprKind::Unary(..) => expr,
                            kind => Expr { kind, span: inner.expr.span },
                        };
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

    /// `{value}`: a slot.
    pub fn rust_value(&mut self, group: &Group) -> Result<Node> {
        if group.stream().is_empty() {
            return Err(Failure::new(
                group.span(),
                "these braces are empty\nhelp: write a Rust value in them: `{limit}`",
            ));
        }
        let stream = group.stream();
        let first = stream.clone().into_iter().next().map_or(group.span(), |token| token.span());
        // The closing bracket's context, so that rustc points at the value if its type does not fit.
        let value = quote_spanned!(first=> ::onrush::__x::slot(&(#stream)));
        Ok(self.slot(value, group.span_open(), group.span_close()))
    }

    fn slot(&mut self, value: TokenStream, start: Span, end: Span) -> Node {
        let number = self.slots.len() as i64;
        self.slots.push(value);
        let args = vec![Arg { name: None, value: Expr::literal(number) }];
        Node::new(ExprKind::Call { function: SLOT.to_string(), args }, start, end)
    }

    /// `[a, b]` as an argument.
    fn list(&mut self, group: &Group) -> Result<Node> {
        let mut inner = Cursor::of_group(group);
        let mut items = Vec::new();
        while !inner.is_empty() {
            items.push(Arg { name: None, value: self.expression(&mut inner)?.expr });
            expect_comma(&mut inner)?;
        }
        Ok(Node::new(ExprKind::Call { function: LIST.to_string(), args: items }, group.span_open(), group.span_close()))
    }

    /// Anything that starts with a name: a column, a call, `if`, `match`.
    fn word(&mut self, ident: &Ident, input: &mut Cursor) -> Result<Node> {
        let span = ident.span();
        let text = ident.to_string();
        input.advance();
        match text.as_str() {
            "if" => return self.conditional(span, input),
            "match" => return self.choice(span, input),
            "true" | "false" => return Ok(Node::new(ExprKind::Literal(Value::Boolean(text == "true")), span, span)),
            "None" => return Ok(Node::new(ExprKind::Literal(Value::Null), span, span)),
            "_" => return Err(Failure::new(span, "`_` is a pattern of `match` and no column")),
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

    /// `a function of ours or of the user`.
    fn call(&mut self, text: &str, ident: &Ident, group: &Group) -> Result<Node> {
        let span = ident.span();
        let end = group.span_close();
        let node =
            |kind| Ok(Node { expr: Expr { kind, span: Some(place(span, span)) }, start: span, end, closed: true });
        match text {
            "col" => {
                let argument = self.single(group, ident)?;
                match argument.expr.kind {
                    ExprKind::Literal(Value::Text(name)) => Ok(Node {
                        expr: Expr { kind: ExprKind::Column(name), span: argument.expr.span },
                        start: span,
                        end,
                        closed: true,
                    }),
                    kind if slot_number(&kind).is_some() => {
                        let args = vec![Arg { name: None, value: Expr { kind, span: None } }];
                        let expr = Expr {
                            kind: ExprKind::Call { function: NAMED_COLUMN.to_string(), args },
                            span: argument.expr.span,
                        };
                        Ok(Node { expr, start: span, end, closed: true })
                    }
                    _ => Err(Failure::over(
                        argument.start,
                        argument.end,
                        "`col` takes a name\nhelp: write `col(\"Sale Price\")` or `col({name})`; a plain name needs no `col`",
                    )),
                }
            }
            "lit" => {
                let argument = self.single(group, ident)?;
                Ok(Node { start: span, end, closed: true, ..argument })
            }
            "all" => {
                let mut except = Vec::new();
                for (_, key) in self.arguments(group)? {
                    except.extend(keys(key).into_iter().filter_map(|key| match key.kind {
                        ExprKind::Column(name) => Some(name),
                        _ => None,
                    }));
                }
                node(ExprKind::All { except })
            }
            "asc" | "desc" => {
                let argument = self.single(group, ident)?;
                node(ExprKind::Call {
                    function: text.to_string(),
                    args: vec![Arg { name: None, value: argument.expr }],
                })
            }
            "Some" => {
                let argument = self.single(group, ident)?;
                Ok(Node { start: span, end, closed: true, ..argument })
            }
            _ if is_function(text) => {
                let args =
                    self.arguments(group)?.into_iter().map(|(name, node)| Arg { name, value: node.expr }).collect();
                node(ExprKind::Call { function: text.to_string(), args })
            }
            _ => {
                let path = TokenTree::Ident(ident.clone()).into();
                self.user_call(path, span, group)
            }
        }
    }

    /// `module::function(a, b)`.
    fn path(&mut self, first: &Ident, input: &mut Cursor) -> Result<Node> {
        let mut path: TokenStream = TokenTree::Ident(first.clone()).into();
        while input.is_operator("::") {
            for _ in 0..2 {
                path.extend(input.advance());
            }
            match input.take_ident() {
                Some(segment) => path.extend([TokenTree::Ident(segment)]),
                None => return Err(Failure::new(input.span(), "a name is missing after `::`")),
            }
        }
        match input.take_group(Delimiter::Parenthesis) {
            Some(group) => self.user_call(path, first.span(), &group),
            None => {
                let shown = path.to_string().replace(' ', "");
                Err(Failure::new(first.span(), format!("`{shown}` is a Rust value\nhelp: write `{{{shown}}}`")))
            }
        }
    }

    /// A function of the user's, which takes and gives `Expr`s: it runs when the expression is made, not for each row.
    fn user_call(&mut self, path: TokenStream, span: Span, group: &Group) -> Result<Node> {
        let mut inner = Cursor::of_group(group);
        let mut arguments = Vec::new();
        while !inner.is_empty() {
            // Its own parser: its slots are filled where the argument is made.
            let mut parser = Parser { slots: Vec::new(), bound: self.bound.clone() };
            let node = parser.expression(&mut inner)?;
            expect_comma(&mut inner)?;
            arguments.push(crate::expand::one(&node.expr, &parser.slots, span));
        }
        let call = quote_spanned!(span=> ::onrush::__x::slot(&#path(#(#arguments),*)));
        Ok(Node { closed: true, ..self.slot(call, span, group.span_close()) })
    }

    /// Positional and named arguments of a call.
    pub fn arguments(&mut self, group: &Group) -> Result<Vec<(Option<String>, Node)>> {
        let mut inner = Cursor::of_group(group);
        let mut arguments = Vec::new();
        while !inner.is_empty() {
            let mut name = None;
            if inner.peek_ident().is_some() && inner.operator_after_next().as_deref() == Some("=") {
                name = inner.take_ident().map(|ident| plain_name(&ident));
                inner.take_operator();
            }
            arguments.push((name, self.expression(&mut inner)?));
            expect_comma(&mut inner)?;
        }
        Ok(arguments)
    }

    fn single(&mut self, group: &Group, name: &Ident) -> Result<Node> {
        let mut arguments = self.arguments(group)?;
        match (arguments.pop(), arguments.is_empty()) {
            (Some((_, node)), true) => Ok(node),
            _ => Err(Failure::new(name.span(), format!("`{name}` takes one argument"))),
        }
    }

    fn cast_arguments(&mut self, group: &Group, generic: Option<DataType>, name: &Ident) -> Result<(DataType, bool)> {
        let mut inner = Cursor::of_group(group);
        let mut to = generic;
        let mut strict = true;
        while !inner.is_empty() {
            if inner.peek_ident().as_deref() == Some("strict") && inner.operator_after_next().as_deref() == Some("=") {
                inner.take_ident();
                inner.take_operator();
                strict = inner.eat_ident("true").is_some();
                if !strict && inner.eat_ident("false").is_none() {
                    return Err(Failure::new(inner.span(), "`strict` is `true` or `false`"));
                }
            } else {
                to = Some(self.dtype(&mut inner)?.0);
            }
            expect_comma(&mut inner)?;
        }
        match to {
            Some(to) => Ok((to, strict)),
            None => Err(Failure::new(name.span(), "a cast needs a type\nhelp: write `.cast(\"f64\")` or `as f64`")),
        }
    }

    /// A type: `f64`, `String`, `"datetime[ms]"`, `DataType::Int64`.
    fn dtype(&mut self, input: &mut Cursor) -> Result<(DataType, Span)> {
        let span = input.span();
        let (text, end) = match input.advance() {
            Some(TokenTree::Ident(ident)) => {
                let mut text = ident.to_string();
                let mut end = span;
                while input.is_operator("::") {
                    input.take_operator();
                    end = input.span();
                    text = input.take_ident().map(|i| i.to_string()).unwrap_or_default();
                }
                if let Some(group) = input.take_group(Delimiter::Bracket) {
                    end = group.span_close();
                    text = format!("{text}[{}]", group.stream().to_string().replace(' ', ""));
                }
                (text, end)
            }
            Some(TokenTree::Literal(literal)) => match literal::parse(&literal)? {
                Parsed::Value(Value::Text(text)) => (text, span),
                _ => return Err(Failure::new(span, "a type is missing here\nhelp: write `f64` or `\"f64\"`")),
            },
            _ => return Err(Failure::new(span, "a type is missing here\nhelp: write `f64` or `\"f64\"`")),
        };
        text.parse()
            .map(|dtype| (dtype, end))
            .map_err(|e: onrush_wire::schema::UnknownType| Failure::over(span, end, e.to_string()))
    }

    /// `date(2013, 1, 31)` and `datetime(2013, 1, 31, 12, 30, 0)` of numbers.
    fn date(&mut self, name: &str, span: Span, group: &Group) -> Result<Node> {
        let end = group.span_close();
        let usage = || {
            Failure::over(
                span,
                end,
                "`date(year, month, day)` and `datetime(year, month, day, hour, minute, second)` take \
                 numbers\nhelp: write `date(2013, 1, 31)`; a Rust value of chrono's is written `{day}`",
            )
        };
        let mut numbers = Vec::new();
        for (_, argument) in self.arguments(group)? {
            match argument.expr.kind {
                ExprKind::Literal(Value::Int(n)) => numbers.push(n),
                _ => return Err(usage()),
            }
        }
        let allowed = if name == "date" { 3..=3 } else { 3..=6 };
        if !allowed.contains(&numbers.len()) {
            return Err(usage());
        }
        numbers.resize(6, 0);
        let days = days_from_civil(numbers[0], numbers[1], numbers[2])
            .ok_or_else(|| Failure::over(span, end, "there is no such day in the calendar"))?;
        let value = if name == "date" {
            Value::Date(days as i32)
        } else {
            if !(0..24).contains(&numbers[3]) || !(0..60).contains(&numbers[4]) || !(0..60).contains(&numbers[5]) {
                return Err(Failure::over(span, end, "there is no such time of day"));
            }
            let seconds = days * 86_400 + numbers[3] * 3_600 + numbers[4] * 60 + numbers[5];
            Value::Timestamp { value: seconds * 1_000_000, unit: onrush_wire::TimeUnit::Microsecond, zone: None }
        };
        Ok(Node { closed: true, ..Node::new(ExprKind::Literal(value), span, end) })
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
    // Polars' way, each side in parentheses: the logical operator is meant.
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

/// `a == 1 & b == 2` is `a == (1 & b) == 2` in Rust.
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

/// The keys in one argument: a list's elements, a text as a column's name.
fn keys(node: Node) -> Vec<Expr> {
    let column = |expr: Expr| match expr.kind {
        ExprKind::Literal(Value::Text(name)) => Expr { kind: ExprKind::Column(name), span: expr.span },
        _ => expr,
    };
    match node.expr.kind {
        ExprKind::Call { function, args } if function == LIST => args.into_iter().map(|a| column(a.value)).collect(),
        kind => vec![column(Expr { kind, span: node.expr.span })],
    }
}

fn sort_key(expr: Expr) -> SortKey {
    match expr.kind {
        ExprKind::Call { function, mut args } if (function == "desc" || function == "asc") && args.len() == 1 => {
            let inner = args.remove(0).value;
            let expr = match inner.kind {
                ExprKind::Literal(Value::Text(name)) => Expr { kind: ExprKind::Column(name), span: inner.span },
                kind => Expr { kind, span: inner.span },
            };
            SortKey { expr, descending: function == "desc", nulls_last: None }
        }
        kind => SortKey { expr: Expr { kind, span: expr.span }, descending: false, nulls_last: None },
    }
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

fn unknown_option(node: &Node, method: &str, found: &str, known: &str) -> Failure {
    Failure::over(node.start, node.end, format!("`{method}` has no option `{found}`\nhelp: its option is `{known}`"))
}

/// Nothing may follow.
pub fn expect_end(input: &Cursor) -> Result<()> {
    if input.is_empty() { Ok(()) } else { Err(unexpected(input)) }
}

/// A comma or the end.
pub fn expect_comma(input: &mut Cursor) -> Result<()> {
    if input.is_empty() || input.eat(",") { Ok(()) } else { Err(unexpected(input)) }
}

/// What to say about a token that fits nowhere.
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

/// Days since 1970-01-01 (Howard Hinnant, "chrono-compatible low-level date algorithms"); `None` if there is no such day.
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(-9999..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let length = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
    if !(1..=length).contains(&day) {
        return None;
    }
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}
