//! Row filters as expressions: for the session as `Expr`, for a cell as the text of an `x!`. Both say the same.

use onrush_wire::expr::{BinaryOp, Expr, ExprKind, UnaryOp};
use onrush_wire::schema::Field;
use onrush_wire::{Arg, DataType, Value};
use serde_json::Value as Json;

use super::positron_protocol::{RowFilter, SortKey};

/// An expression, and how it is written in a cell.
#[derive(Clone, Debug)]
struct Both {
    expr: Expr,
    text: String,
    /// Whether it needs no parentheses as an operand of `&&`.
    tight: bool,
}

/// All filters as one predicate, or the first one that is wrong: its place and why.
pub fn predicate(filters: &[Json], columns: &[Field]) -> Result<Option<(Expr, String)>, (usize, String)> {
    let mut all: Option<Both> = None;
    for (at, filter) in filters.iter().enumerate() {
        let parsed: RowFilter = serde_json::from_value(filter.clone()).map_err(|e| (at, e.to_string()))?;
        let next = one(&parsed, columns).map_err(|why| (at, why))?;
        all = Some(match all {
            None => next,
            Some(before) => join(before, next, parsed.condition == "or"),
        });
    }
    Ok(all.map(|both| (both.expr, both.text)))
}

fn join(left: Both, right: Both, or: bool) -> Both {
    let (op, sign) = if or { (BinaryOp::Or, "||") } else { (BinaryOp::And, "&&") };
    let part = |both: &Both| if both.tight { both.text.clone() } else { format!("({})", both.text) };
    // `&&` after `&&` needs no parentheses; what `||` joined does.
    let text = format!("{} {sign} {}", part(&left), part(&right));
    Both { expr: binary(op, left.expr, right.expr), text, tight: !or }
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::new(ExprKind::Binary(op, Box::new(left), Box::new(right)))
}

fn one(filter: &RowFilter, columns: &[Field]) -> Result<Both, String> {
    let index = filter.column_schema.column_index;
    let field = columns.get(index).ok_or_else(|| format!("there is no column {index}"))?;
    let column = || Expr::column(&field.name);
    let name = column_text(&field.name);
    let params = &filter.params;
    let text_of = |key: &str| params[key].as_str().ok_or_else(|| format!("the filter has no `{key}`"));
    let plain = |expr: Expr, text: String| Ok(Both { expr, text, tight: true });
    let method = |function: &str| plain(Expr::call(function, [column()]), format!("{name}.{function}()"));
    let compare = |op: BinaryOp, sign: &str, value: &str| -> Result<Both, String> {
        let (value, written) = literal(field, value)?;
        Ok(Both {
            expr: binary(op, column(), Expr::literal(value)),
            text: format!("{name} {sign} {written}"),
            tight: true,
        })
    };
    let not = |both: Both| {
        let expr = Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(both.expr)));
        Both { expr, text: format!("!({})", both.text), tight: true }
    };
    match filter.filter_type.as_str() {
        "is_null" => method("is_null"),
        "not_null" => method("is_not_null"),
        "is_empty" => plain(binary(BinaryOp::Equal, column(), Expr::literal("")), format!("{name} == \"\"")),
        "not_empty" => plain(binary(BinaryOp::NotEqual, column(), Expr::literal("")), format!("{name} != \"\"")),
        "is_true" => plain(binary(BinaryOp::Equal, column(), Expr::literal(true)), format!("{name} == true")),
        "is_false" => plain(binary(BinaryOp::Equal, column(), Expr::literal(false)), format!("{name} == false")),
        "compare" => {
            let (op, sign) = match text_of("op")? {
                "=" => (BinaryOp::Equal, "=="),
                "!=" => (BinaryOp::NotEqual, "!="),
                "<" => (BinaryOp::Less, "<"),
                "<=" => (BinaryOp::LessEqual, "<="),
                ">" => (BinaryOp::Greater, ">"),
                ">=" => (BinaryOp::GreaterEqual, ">="),
                other => return Err(format!("`{other}` is not a comparison: = != < <= > >= are")),
            };
            compare(op, sign, text_of("value")?)
        }
        kind @ ("between" | "not_between") => {
            let low = compare(BinaryOp::GreaterEqual, ">=", text_of("left_value")?)?;
            let high = compare(BinaryOp::LessEqual, "<=", text_of("right_value")?)?;
            let both = join(low, high, false);
            Ok(if kind == "between" { both } else { not(both) })
        }
        "set_membership" => {
            let values = params["values"].as_array().ok_or("the filter has no `values`")?;
            let mut list = Vec::new();
            let mut written = Vec::new();
            for value in values {
                let (value, text) = literal(field, value.as_str().ok_or("the values of a set are strings")?)?;
                list.push(Expr::literal(value));
                written.push(text);
            }
            let expr = Expr::new(ExprKind::In { value: Box::new(column()), list });
            let within = Both { expr, text: format!("{name} in [{}]", written.join(", ")), tight: true };
            Ok(if params["inclusive"] == Json::Bool(false) { not(within) } else { within })
        }
        "search" => {
            if !field.dtype.is_text() {
                return Err(format!("`{}` is of type {}: only strings can be searched", field.name, field.dtype));
            }
            search(
                column(),
                &name,
                text_of("search_type")?,
                text_of("term")?,
                params["case_sensitive"] == Json::Bool(true),
            )
            .map(|both| if params["search_type"] == "not_contains" { not(both) } else { both })
        }
        other => Err(format!("the filter `{other}` is not known")),
    }
}

fn search(column: Expr, name: &str, kind: &str, term: &str, case_sensitive: bool) -> Result<Both, String> {
    let call = |function: &str, term: String, literal: bool| {
        let quoted = quoted(&term);
        let mut expr = Expr::call(function, [column.clone(), Expr::literal(term)]);
        let option = if literal { ", literal = true" } else { "" };
        if let (ExprKind::Call { args, .. }, true) = (&mut expr.kind, literal) {
            args.push(Arg { name: Some("literal".to_string()), value: Expr::literal(true) });
        }
        Both { expr, text: format!("{name}.{function}({quoted}{option})"), tight: true }
    };
    let pattern = escaped(term);
    let is_plain = pattern == term;
    let insensitive = if case_sensitive { "" } else { "(?i)" };
    Ok(match (kind, case_sensitive) {
        ("contains" | "not_contains", true) => call("str.contains", term.to_string(), !is_plain),
        ("contains" | "not_contains", false) => call("str.contains", format!("(?i){pattern}"), false),
        ("starts_with", true) => call("str.starts_with", term.to_string(), false),
        ("ends_with", true) => call("str.ends_with", term.to_string(), false),
        ("starts_with", false) => call("str.contains", format!("(?i)^{pattern}"), false),
        ("ends_with", false) => call("str.contains", format!("(?i){pattern}$"), false),
        ("regex_match", _) => call("str.contains", format!("{insensitive}{term}"), false),
        (other, _) => return Err(format!("the search `{other}` is not known")),
    })
}

/// A regular expression that matches the text itself.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A value of the column's type as the user typed it, and as it is written in Rust.
fn literal(field: &Field, text: &str) -> Result<(Value, String), String> {
    let trimmed = text.trim();
    let wrong = |expected: &str| format!("`{text}` is {expected}, and `{}` is of type {}", field.name, field.dtype);
    match &field.dtype {
        DataType::Boolean => match trimmed {
            "true" => Ok((Value::Boolean(true), "true".into())),
            "false" => Ok((Value::Boolean(false), "false".into())),
            _ => Err(wrong("neither true nor false")),
        },
        dtype if dtype.is_numeric() => {
            let digits: String = trimmed.chars().filter(|c| !['_', ' ', '\u{202f}'].contains(c)).collect();
            if let Ok(n) = digits.parse::<i64>() {
                return Ok((Value::Int(n), n.to_string()));
            }
            if let Ok(n) = digits.parse::<u64>() {
                return Ok((Value::UInt(n), n.to_string()));
            }
            match digits.parse::<f64>() {
                Ok(x) if x.is_finite() => Ok((Value::Float(x), format!("{x:?}"))),
                _ => Err(wrong("not a number")),
            }
        }
        // The session reads a string that is compared with a date or a time as one.
        DataType::Date | DataType::Timestamp(..) | DataType::Time(_) => {
            Ok((Value::Text(trimmed.to_string()), quoted(trimmed)))
        }
        DataType::String | DataType::Categorical => Ok((Value::Text(text.to_string()), quoted(text))),
        dtype => Err(format!("columns of type {dtype} cannot be compared with a value here")),
    }
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// A column in `x!`: by its bare name where Rust lets it be one.
fn column_text(name: &str) -> String {
    const WORDS: &[&str] = &[
        "as", "break", "col", "const", "continue", "crate", "date", "datetime", "else", "enum", "extern", "false",
        "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self",
        "Self", "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while", "async",
        "await", "dyn", "abstract", "become", "box", "do", "final", "gen", "macro", "override", "priv", "try",
        "typeof", "unsized", "virtual", "yield", "_",
    ];
    let mut chars = name.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if starts && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') && !WORDS.contains(&name) {
        return name.to_string();
    }
    format!("col({})", quoted(name))
}

/// The steps that make a view of a frame, one to a line: `flights`, `.filter(x!(...))`, `.sort(...)`.
pub fn code(frame: &str, predicate: Option<&str>, sort: &[SortKey], columns: &[Field]) -> Vec<String> {
    let mut lines = vec![frame.to_string()];
    lines.extend(predicate.map(|text| format!(".filter(x!({text}))")));
    let keys: Vec<String> = sort
        .iter()
        .filter_map(|key| {
            let function = if key.ascending { "asc" } else { "desc" };
            Some(format!("{function}({}).nulls_last()", quoted(&columns.get(key.column_index)?.name)))
        })
        .collect();
    match keys.as_slice() {
        [] => {}
        [one] => lines.push(format!(".sort({one})")),
        many => lines.push(format!(".sort([{}])", many.join(", "))),
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn columns() -> Vec<Field> {
        let column = |name: &str, dtype| Field { name: name.to_string(), dtype, nullable: true };
        vec![
            column("delay", DataType::Float64),
            column("Sale \"Price\"", DataType::Int64),
            column("carrier", DataType::String),
            column("day", DataType::Date),
            column("type", DataType::Boolean),
        ]
    }

    fn text(filters: Json) -> Result<String, String> {
        let filters: Vec<Json> = filters.as_array().unwrap().clone();
        predicate(&filters, &columns()).map(|p| p.map_or(String::new(), |(_, text)| text)).map_err(|(_, why)| why)
    }

    fn filter(column: usize, kind: &str, params: Json) -> Json {
        json!({ "filter_id": "f", "filter_type": kind, "column_schema": { "column_index": column }, "condition": "and",
                "params": params })
    }

    #[test]
    fn filters_are_written_as_a_person_would() {
        let between = filter(0, "between", json!({ "left_value": "1.5", "right_value": "1_000" }));
        assert_eq!(text(json!([between])).unwrap(), "delay >= 1.5 && delay <= 1000");
        let set = filter(2, "set_membership", json!({ "values": ["UA", "a\"b"], "inclusive": false }));
        assert_eq!(text(json!([set])).unwrap(), r#"!(carrier in ["UA", "a\"b"])"#);
        let price = filter(1, "compare", json!({ "op": ">=", "value": "10" }));
        assert_eq!(text(json!([price])).unwrap(), r#"col("Sale \"Price\"") >= 10"#);
        let day = filter(3, "compare", json!({ "op": "<", "value": "2013-02-01" }));
        let kind = filter(4, "is_true", Json::Null);
        assert_eq!(text(json!([day, kind])).unwrap(), r#"day < "2013-02-01" && col("type") == true"#);
        let mut or = filter(0, "is_null", Json::Null);
        or["condition"] = json!("or");
        let last = filter(2, "not_empty", Json::Null);
        assert_eq!(
            text(json!([day, or, last])).unwrap(),
            r#"(day < "2013-02-01" || delay.is_null()) && carrier != """#
        );
    }

    #[test]
    fn searches_take_special_characters_as_they_are() {
        let search = |kind: &str, term: &str, case: bool| {
            text(json!([filter(2, "search", json!({ "search_type": kind, "term": term, "case_sensitive": case }))]))
        };
        assert_eq!(search("contains", "a.b", true).unwrap(), r#"carrier.str.contains("a.b", literal = true)"#);
        assert_eq!(search("contains", "ab", true).unwrap(), r#"carrier.str.contains("ab")"#);
        assert_eq!(search("contains", "a.b", false).unwrap(), r#"carrier.str.contains("(?i)a\\.b")"#);
        assert_eq!(search("not_contains", "x", true).unwrap(), r#"!(carrier.str.contains("x"))"#);
        assert_eq!(search("ends_with", "$", false).unwrap(), r#"carrier.str.contains("(?i)\\$$")"#);
    }

    #[test]
    fn what_is_no_value_of_the_column_is_said() {
        let wrong = filter(0, "compare", json!({ "op": "<", "value": "ten" }));
        assert_eq!(text(json!([wrong])).unwrap_err(), "`ten` is not a number, and `delay` is of type f64");
        let far = filter(9, "is_null", Json::Null);
        assert_eq!(text(json!([far])).unwrap_err(), "there is no column 9");
        let number = filter(0, "search", json!({ "search_type": "contains", "term": "1", "case_sensitive": true }));
        assert!(text(json!([number])).unwrap_err().contains("only strings can be searched"));
    }

    #[test]
    fn code_has_a_line_for_each_step() {
        let sort = [SortKey { column_index: 0, ascending: false }, SortKey { column_index: 2, ascending: true }];
        assert_eq!(
            code("flights", Some("delay > 60"), &sort, &columns()),
            [
                "flights",
                ".filter(x!(delay > 60))",
                ".sort([desc(\"delay\").nulls_last(), asc(\"carrier\").nulls_last()])"
            ]
        );
        assert_eq!(code("f", None, &sort[..1], &columns()), ["f", ".sort(desc(\"delay\").nulls_last())"]);
    }
}
