//! Parses calls in `x!`: methods, built-in and user functions, their arguments, type arguments and date literals.

use onrush_wire::expr::SortKey;
use onrush_wire::{Arg, DataType, Expr, ExprKind, Value};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;

use crate::cursor::{Cursor, Failure, Result, place, plain_name};
use crate::literal::{self, LiteralToken};
use crate::syntax::{LIST, NAMED_COLUMN, Node, Parser, SLOT, expect_comma, slot_number};
use crate::words::{ACCEPTED, is_function, is_namespace, is_only_namespace};

impl Parser {
    pub fn method(&mut self, receiver: Node, input: &mut Cursor) -> Result<Node> {
        let Some(mut name) = input.take_ident() else {
            return Err(Failure::new(input.span(), "a method's name is missing after the dot"));
        };
        let mut function = plain_name(&name);
        // `.str().len_chars()`, as the methods outside of `x!` are written.
        let empty = |group: &Group| group.stream().is_empty();
        let called = is_namespace(&function) && input.peek_group(Delimiter::Parenthesis).is_some_and(empty);
        if called && matches!(input.peek_second(), Some(TokenTree::Punct(p)) if p.as_char() == '.') {
            input.advance();
        }
        if is_namespace(&function) && input.is_operator(".") && (is_only_namespace(&function) || is_called(input)) {
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
            let message = if is_only_namespace(shown) {
                format!("`.{shown}` is the start of a method's name\nhelp: write `.{shown}.method()`")
            } else if is_function(shown) || function.contains('.') || generic.is_some() {
                let method = shown.rsplit('.').next().unwrap_or(shown);
                format!(
                    "a method needs parentheses\nhelp: write `.{shown}()`; a field of a struct is `.field(\"{method}\")`"
                )
            } else {
                return Ok(field(receiver, &name));
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
                match argument.expr.into_kind() {
                    ExprKind::Literal(Value::Text(text)) => node(ExprKind::Alias(value, text)),
                    ExprKind::Column(text) => node(ExprKind::Alias(value, text)),
                    ref slot => match slot_number(slot) {
                        Some(number) => node(ExprKind::Alias(value, format!("{SLOT}{number}"))),
                        None => Err(Failure::over(
                            argument.start,
                            argument.end,
                            "a name is a string\nhelp: write `.alias(\"name\")`",
                        )),
                    },
                }
            }
            "is_in" => {
                let argument = self.single(&group, &name)?;
                let (kind, span) = argument.expr.into_parts();
                let list = match kind {
                    ExprKind::Literal(Value::List(values)) => values.into_iter().map(Expr::literal).collect(),
                    ExprKind::Call { function, args } if function == LIST => {
                        args.into_iter().map(|a| a.value).collect()
                    }
                    kind => vec![Expr { kind, span }],
                };
                node(ExprKind::In { value, list })
            }
            "is_between" | "between" => {
                let (mut bounds, mut options) = (Vec::new(), Vec::new());
                for (option, node) in self.arguments(&group)? {
                    match option {
                        None => bounds.push(node.expr),
                        Some(name) => options.push(Arg { name: Some(name), value: node.expr }),
                    }
                }
                match <[Expr; 2]>::try_from(bounds) {
                    Ok([low, high]) if options.is_empty() => {
                        let (low, high) = (Box::new(low), Box::new(high));
                        node(ExprKind::Between { value, low, high, high_inclusive: true })
                    }
                    // With options: the session knows them.
                    bounds => {
                        let bounds = bounds.map_or_else(|bounds| bounds, Vec::from);
                        let unnamed = [*value].into_iter().chain(bounds).map(|value| Arg { name: None, value });
                        let args = unnamed.chain(options).collect();
                        node(ExprKind::Call { function: "is_between".to_string(), args })
                    }
                }
            }
            "exclude" if is_selector(&value.kind) => self.excluded(*value, &group, start, end),
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

    /// A selector without the columns that `exclude` names.
    fn excluded(&mut self, value: Expr, group: &Group, start: Span, end: Span) -> Result<Node> {
        let mut except = Vec::new();
        for (_, key) in self.arguments(group)? {
            let (start, end) = (key.start, key.end);
            for key in keys(key) {
                match key.into_kind() {
                    ExprKind::Column(name) => except.push(name),
                    _ => return Err(Failure::over(start, end, "`exclude` takes names of columns")),
                }
            }
        }
        let (kind, span) = value.into_parts();
        // The columns that other selectors leave out are their arguments.
        let kind = match kind {
            ExprKind::Call { function, mut args } => {
                let names = except.into_iter().map(|name| Arg { name: None, value: Expr::column(name) });
                args.extend(names);
                ExprKind::Call { function, args }
            }
            ExprKind::All { except: mut before } => {
                before.append(&mut except);
                ExprKind::All { except: before }
            }
            kind => kind,
        };
        Ok(Node { expr: Expr { kind, span }, start, end, closed: true })
    }

    /// Parses a call of a built-in or user function.
    pub fn call(&mut self, text: &str, ident: &Ident, group: &Group) -> Result<Node> {
        let span = ident.span();
        let end = group.span_close();
        let node =
            |kind| Ok(Node { expr: Expr { kind, span: Some(place(span, span)) }, start: span, end, closed: true });
        match text {
            "col" => {
                let argument = self.single(group, ident)?;
                let (kind, place) = argument.expr.into_parts();
                match kind {
                    ExprKind::Literal(Value::Text(name)) => Ok(Node {
                        expr: Expr { kind: ExprKind::Column(name), span: place },
                        start: span,
                        end,
                        closed: true,
                    }),
                    kind if slot_number(&kind).is_some() => {
                        let args = vec![Arg { name: None, value: Expr { kind, span: None } }];
                        let expr =
                            Expr { kind: ExprKind::Call { function: NAMED_COLUMN.to_string(), args }, span: place };
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
                    except.extend(keys(key).into_iter().filter_map(|key| match key.into_kind() {
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
    pub fn path(&mut self, first: &Ident, input: &mut Cursor) -> Result<Node> {
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

    /// A user function that takes and returns `Expr`s. It runs once, when the expression is built, not for each row.
    fn user_call(&mut self, path: TokenStream, span: Span, group: &Group) -> Result<Node> {
        let mut inner = Cursor::of_group(group);
        let mut arguments = Vec::new();
        while !inner.is_empty() {
            // A separate parser, because its slots are filled when the argument is built.
            let mut parser = Parser { slots: Vec::new(), bound: self.bound.clone() };
            let node = parser.expression(&mut inner)?;
            expect_comma(&mut inner)?;
            arguments.push(in_place(crate::expand::one(&node.expr, &parser.slots, span), node.start, node.end));
        }
        // Keeps the parentheses of the call, so that rustc's errors about the arguments point there.
        let mut given = Group::new(Delimiter::Parenthesis, quote_spanned!(span=> #(#arguments),*));
        given.set_span(group.span());
        let call = quote_spanned!(span=> ::onrush::__x::slot(&#path #given));
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
    pub fn dtype(&mut self, input: &mut Cursor) -> Result<(DataType, Span)> {
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
                LiteralToken::Value(Value::Text(text)) => (text, span),
                _ => return Err(Failure::new(span, "a type is missing here\nhelp: write `f64` or `\"f64\"`")),
            },
            _ => return Err(Failure::new(span, "a type is missing here\nhelp: write `f64` or `\"f64\"`")),
        };
        text.parse()
            .map(|dtype| (dtype, end))
            .map_err(|e: onrush_wire::schema::UnknownType| Failure::over(span, end, e.to_string()))
    }

    /// `date(2013, 1, 31)` and `datetime(2013, 1, 31, 12, 30, 0)` of numbers.
    pub fn date(&mut self, name: &str, span: Span, group: &Group) -> Result<Node> {
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
}

/// Tokens that cover the source from the first span to the last.
fn in_place(tokens: TokenStream, start: Span, end: Span) -> TokenStream {
    let mut tokens: Vec<TokenTree> = tokens.into_iter().collect();
    if let [first, .., last] = &mut tokens[..] {
        first.set_span(start);
        last.set_span(end);
    }
    tokens.into_iter().collect()
}

/// `user.name`: a field of a struct.
fn field(receiver: Node, name: &Ident) -> Node {
    let (start, end) = (receiver.start, name.span());
    let args = [receiver.expr, Expr::literal(plain_name(name))].map(|value| Arg { name: None, value }).into();
    let kind = ExprKind::Call { function: "struct.field".to_string(), args };
    Node { expr: Expr { kind, span: Some(place(end, end)) }, start, end, closed: true }
}

/// Whether a method's name and its arguments follow after a dot, and not a field: `.list.sum()`.
fn is_called(input: &Cursor) -> bool {
    let name = match input.peek_second() {
        Some(TokenTree::Ident(ident)) => plain_name(ident),
        _ => return false,
    };
    !is_namespace(&name) && input.is_group_third()
}

fn is_selector(kind: &ExprKind) -> bool {
    let names = ["numeric", "strings", "temporal", "booleans", "matching", "by_dtype"];
    match kind {
        ExprKind::All { .. } => true,
        ExprKind::Call { function, .. } => names.contains(&function.as_str()),
        _ => false,
    }
}

/// The keys in one argument: the elements of a list, or a string as a column name.
fn keys(node: Node) -> Vec<Expr> {
    let (kind, span) = node.expr.into_parts();
    match kind {
        ExprKind::Call { function, args } if function == LIST => args.into_iter().map(|a| named(a.value)).collect(),
        kind => vec![named(Expr { kind, span })],
    }
}

/// A text names a column.
fn named(expr: Expr) -> Expr {
    let (kind, span) = expr.into_parts();
    match kind {
        ExprKind::Literal(Value::Text(name)) => Expr { kind: ExprKind::Column(name), span },
        kind => Expr { kind, span },
    }
}

fn sort_key(expr: Expr) -> SortKey {
    let (kind, span) = expr.into_parts();
    match kind {
        ExprKind::Call { function, mut args } if (function == "desc" || function == "asc") && args.len() == 1 => {
            let expr = named(args.remove(0).value);
            SortKey { expr, descending: function == "desc", nulls_last: None }
        }
        kind => SortKey { expr: Expr { kind, span }, descending: false, nulls_last: None },
    }
}

fn unknown_option(node: &Node, method: &str, found: &str, known: &str) -> Failure {
    Failure::over(node.start, node.end, format!("`{method}` has no option `{found}`\nhelp: its option is `{known}`"))
}

/// Days since 1970-01-01 (Howard Hinnant, "chrono-compatible low-level date algorithms"); `None` if the date does not
/// exist.
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
