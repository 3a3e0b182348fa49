//! Expressions parsed from source to tree, and the messages for malformed expressions.

use onrush_wire::{Arg, Expr, ExprKind, Value};

use super::*;

/// Parses the only expression in `text` and prints its tree on one line.
fn tree(text: &str) -> String {
    let mut parser = Parser::default();
    let mut cursor = Cursor::new(text.parse().unwrap(), Span::call_site());
    let node = item(&mut parser, &mut cursor).unwrap_or_else(|e| panic!("{text}: {}", e.message));
    assert!(cursor.is_empty(), "{text}: something is left over");
    show(&node.expr)
}

fn args(args: &[Arg]) -> String {
    let shown: Vec<String> =
        args.iter().map(|a| a.name.as_ref().map_or(String::new(), |n| format!("{n}=")) + &show(&a.value)).collect();
    shown.join(", ")
}

fn list(exprs: &[Expr]) -> String {
    exprs.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn show(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Column(name) => name.clone(),
        ExprKind::Literal(Value::Int(n)) => n.to_string(),
        ExprKind::Literal(Value::Text(t)) => format!("{t:?}"),
        ExprKind::Literal(value) => format!("{value:?}"),
        ExprKind::Alias(inner, name) => format!("{name}: {}", show(inner)),
        ExprKind::Unary(op, inner) => format!("{op:?}({})", show(inner)),
        ExprKind::Binary(op, a, b) => format!("({} {} {})", show(a), op.symbol(), show(b)),
        ExprKind::Case { branches, otherwise } => {
            let shown: Vec<String> = branches.iter().map(|(c, v)| format!("{} -> {}", show(c), show(v))).collect();
            format!("case({}; {})", shown.join("; "), otherwise.as_ref().map_or("null".into(), |o| show(o)))
        }
        ExprKind::In { value, list: items } => format!("{} in [{}]", show(value), list(items)),
        ExprKind::Between { value, low, high, high_inclusive } => {
            format!("{} in {}..{}{}", show(value), show(low), if *high_inclusive { "=" } else { "" }, show(high))
        }
        ExprKind::Cast { value, to, strict } => format!("cast({}, {to}, {strict})", show(value)),
        ExprKind::Call { function, args: a } => format!("{}({})", function.replace('\0', "$"), args(a)),
        ExprKind::Over { value, partition, order } => {
            let order: Vec<String> =
                order.iter().map(|k| show(&k.expr) + if k.descending { " desc" } else { "" }).collect();
            format!("{} over [{}] by [{}]", show(value), list(partition), order.join(", "))
        }
        ExprKind::All { except } => format!("all except {except:?}"),
        ExprKind::Native { function, args } => format!("{}({})", function.name, list(args)),
        ExprKind::Model(output) => format!("model {}", output.output),
    }
}

#[test]
fn operators_bind_as_in_rust() {
    assert_eq!(tree("mph = distance / air_time * 60"), "mph: ((distance / air_time) * 60)");
    assert_eq!(tree("a + b * c == d && !e || f"), "((((a + (b * c)) == d) && Not(e)) || f)");
    assert_eq!(tree("-a as f64 + 1"), "(cast(Negate(a), f64, true) + 1)");
    assert_eq!(tree("a - b - c"), "((a - b) - c)");
    assert_eq!(tree("(a == 1) & (b == 2)"), "((a == 1) && (b == 2))");
    assert_eq!(tree("a & 4"), "(a & 4)");
    assert_eq!(tree("x < -1"), "(x < -1)");
}

#[test]
fn names_need_not_be_rusts() {
    assert_eq!(tree("type == 1"), "(type == 1)");
    assert_eq!(tree("r#match + 1stFlrSF"), "(match + 1stFlrSF)");
    assert_eq!(tree("\"Price\" = col(\"Sale Price\").fill_null(0)"), "Price: fill_null(Sale Price, 0)");
    assert_eq!(tree("1stFlrSF = 2ndFlrSF * 2"), "1stFlrSF: (2ndFlrSF * 2)");
}

#[test]
fn methods_calls_and_windows() {
    assert_eq!(tree("u = carrier.str.contains(\"U\")"), "u: str.contains(carrier, \"U\")");
    assert_eq!(tree("time_hour.dt.month()"), "dt.month(time_hour)");
    assert_eq!(tree("time_hour.dt().month()"), "dt.month(time_hour)");
    assert_eq!(tree("n = len()"), "n: len()");
    assert_eq!(
        tree("dep_delay - dep_delay.mean().over(\"carrier\")"),
        "(dep_delay - mean(dep_delay) over [carrier] by [])"
    );
    assert_eq!(
        tree("x.shift(1).over([\"a\", b], c).order_by(desc(d), e)"),
        "shift(x, 1) over [a, b, c] by [d desc, e]"
    );
    assert_eq!(tree("x.rolling_mean(window_size = 3)"), "rolling_mean(x, window_size=3)");
    assert_eq!(tree("x.cut([1, 2])"), "cut(x, $list(1, 2))");
    assert_eq!(tree("x.cast(\"datetime[ms]\")"), "cast(x, datetime[ms], true)");
    assert_eq!(tree("x.cast(f32, strict = false)"), "cast(x, f32, false)");
    assert_eq!(tree("x.cast::<i32>()"), "cast(x, i32, true)");
    assert_eq!(tree("all().exclude(\"a\")"), "all except [\"a\"]");
    assert_eq!(tree("numeric().exclude(a).sum()"), "sum(numeric(a))");
    assert_eq!(tree("user.name"), "struct.field(user, \"name\")");
    assert_eq!(
        tree("user.list.len() + user.name.str.len()"),
        "(list.len(user) + str.len(struct.field(user, \"name\")))"
    );
    assert_eq!(tree("a.b.c > 1"), "(struct.field(struct.field(a, \"b\"), \"c\") > 1)");
    assert_eq!(tree("all().sum().name.suffix(\"_x\")"), "name.suffix(sum(all except []), \"_x\")");
    assert_eq!(tree("p = struct(a, y = b)"), "p: struct(a, y=b)");
    assert_eq!(tree("day >= date(1970, 3, 1)"), "(day >= Date(59))");
}

#[test]
fn membership_choice_and_conditions() {
    assert_eq!(
        tree("late == \"late\" && origin in [\"JFK\", \"LGA\"]"),
        "((late == \"late\") && origin in [\"JFK\", \"LGA\"])"
    );
    assert_eq!(tree("x in 1..5"), "x in 1..5");
    assert_eq!(tree("x.is_between(0, 1)"), "x in 0..=1");
    assert_eq!(tree("x.is_between(0, 1, closed = \"right\")"), "is_between(x, 0, 1, closed=\"right\")");
    assert_eq!(tree("x.between(0, 1, \"left\")"), "is_between(x, 0, 1, \"left\")");
    assert_eq!(tree("\"a\" + \"b\""), "(\"a\" + \"b\")");
    assert_eq!(tree("x + 1 in 1..=y"), "(x + 1) in 1..=y");
    assert_eq!(tree("x in {list}"), "x in [$slot(0)]");
    assert_eq!(
        tree("late = if dep_delay > {limit} { \"late\" } else if dep_delay < 0 { \"early\" } else { \"ok\" }"),
        "late: case((dep_delay > $slot(0)) -> \"late\"; (dep_delay < 0) -> \"early\"; \"ok\")"
    );
    assert_eq!(
        tree("match carrier { \"AA\" | \"US\" => \"American\", _ => \"other\" }"),
        "case(carrier in [\"AA\", \"US\"] -> \"American\"; \"other\")"
    );
    assert_eq!(
        tree("match a + 1 { None => 0, n if n > 5 => n * 2, -3..=-1 => 1, ..0 | 9.. => 2, {k} => 3 }"),
        "case(is_null((a + 1)) -> 0; ((a + 1) > 5) -> ((a + 1) * 2); (a + 1) in -3..=-1 -> 1; \
         (((a + 1) < 0) || ((a + 1) >= 9)) -> 2; ((a + 1) == $slot(0)) -> 3; null)"
    );
    assert_eq!(
        tree("match (a, b) { (1, _) => 1, (_, \"x\") => 2, _ => 3 }"),
        "case((a == 1) -> 1; (b == \"x\") -> 2; 3)"
    );
}

#[test]
fn a_place_is_that_of_the_token() {
    let mut parser = Parser::default();
    let mut cursor = Cursor::new("é = dep_dela.mean()".parse().unwrap(), Span::call_site());
    let node = item(&mut parser, &mut cursor).unwrap();
    let ExprKind::Alias(call, _) = node.expr.into_kind() else { panic!() };
    let (kind, span) = call.into_parts();
    let span = span.unwrap();
    assert_eq!((span.line, span.column, span.length), (1, 14, 4));
    let ExprKind::Call { args, .. } = kind else { panic!() };
    let span = args[0].value.span.clone().unwrap();
    assert_eq!((span.line, span.column, span.length), (1, 5, 8));
}

#[test]
fn a_list_and_a_name_decide_the_type() {
    let code = |text: &str| x(text.parse().unwrap(), None).unwrap().to_string().replace(' ', "");
    assert!(code("a").starts_with("::onrush::__x::one("));
    assert!(code("n = a").starts_with("::onrush::__x::one("));
    assert!(code("a, b").starts_with("::onrush::__x::many("));
    assert!(code("a,").starts_with("::onrush::__x::many("));
    let code = code("scaled(a + {k}, 2) > {limit.max(3)}");
    assert!(code.contains("slot(&(limit.max(3)))"), "{code}");
    assert!(code.contains("slot(&scaled(::onrush::__x::one("), "{code}");
}

fn message(text: &str) -> String {
    x(text.parse().unwrap(), Some(text)).expect_err(text).message
}

#[test]
fn habits_of_other_languages_are_answered() {
    for (text, expect) in [
        ("a ** 2", "`x.pow(2)`"),
        ("a and b", "`&&`"),
        ("not a", "`!`"),
        ("a == 1 & b == 2", "`&&`"),
        ("a == 1 && b = 2", "`==`"),
        ("1 < a < 5", "cannot be chained"),
        ("a in b", "`in` needs a list"),
        ("a.mean", ".mean()"),
        ("a.str", ".str.method()"),
        ("a b", "a comma is missing"),
        ("a as strng", "`strng` is not a type"),
        ("std::f64::consts::PI * a", "write `{std::f64::consts::PI}`"),
        ("format!(\"a\")", "macros"),
        ("if a > 1 { 2 } else 3", "in braces"),
        ("match a { _ => 1, 2 => 3 }", "never reached"),
        ("h = hour // 2\n, k = 3", "starts a comment"),
        ("date(2013, 2, 30)", "no such day"),
        ("a == null", "`a.is_null()`"),
        ("None != a", "`a.is_not_null()`"),
        ("\"a\" > 1", "`a` or `col(\"a\")`"),
        ("\"unit price\" * 2", "write `col(\"unit price\")`"),
        ("\"name\" == \"Anna\"", "`name` or `col(\"name\")`"),
        ("", "needs an expression"),
    ] {
        let found = message(text);
        assert!(found.contains(expect), "{text}: {found}");
    }
}

#[test]
fn a_comment_is_a_comment() {
    for text in ["a // minutes\n", "a // 2 of them\n", "a, // 3\n b", "a == \"http://x/2\""] {
        assert!(x(text.parse().unwrap(), Some(text)).is_ok(), "{text}");
    }
}
