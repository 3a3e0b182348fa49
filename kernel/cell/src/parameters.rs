//! Parameters of a notebook: values from outside as `let`s of a cell, which follows the cell that is tagged
//! `parameters`.
//!
//! A value is a scalar of YAML or JSON, or a list of scalars. Its Rust type is that of the variable in the tagged cell:
//! from a type annotation, or from the form of the default. Front ends find the tagged cell.

use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{Expr, Lit, Pat, Stmt, Type};

use crate::parse::without_commands;

/// A cell that gives variables the values from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterCell {
    pub source: String,
    /// Names that the tagged cell does not define.
    pub unknown: Vec<String>,
}

/// Makes the cell. `tagged`: the text of the cell that is tagged `parameters`. `given`: names and values.
///
/// # Errors
/// If a name is not one of Rust, and if a value does not fit the type that the tagged cell says.
pub fn injected_parameters(tagged: Option<&str>, given: &[(String, String)]) -> Result<ParameterCell, String> {
    let text = without_commands(tagged.unwrap_or_default());
    let defaults = defaults_of(&text);
    let mut injected = ParameterCell { source: "// Parameters\n".to_string(), unknown: Vec::new() };
    for (name, value) in given {
        if syn::parse_str::<syn::Ident>(name).is_err() {
            return Err(format!("`{name}` is not the name of a variable: write NAME=VALUE"));
        }
        let default = defaults.iter().rfind(|default| default.name == *name);
        if default.is_none() {
            injected.unknown.push(name.clone());
        }
        let literal = Literal { name, is_typed: default.is_some_and(|d| d.ty.is_some()) };
        let wanted = default.map_or(ParameterType::Any, |default| default.wanted.clone());
        let literal = literal.of(&Value::read(value)?, value, &wanted)?;
        let (keyword, ty) = default.map_or(("let ", ""), |default| (default.keyword, default.ty.unwrap_or_default()));
        let ty = if ty.is_empty() { String::new() } else { format!(": {ty}") };
        injected.source.push_str(&format!("{keyword}{name}{ty} = {literal};\n"));
    }
    injected.source.truncate(injected.source.trim_end().len());
    Ok(injected)
}

/// A variable or constant of the tagged cell.
struct Default<'a> {
    name: String,
    /// `let `, `let mut `, `const `, `static `.
    keyword: &'static str,
    /// As it is written.
    ty: Option<&'a str>,
    wanted: ParameterType,
}

fn defaults_of(text: &str) -> Vec<Default<'_>> {
    let Ok(statements) = syn::Block::parse_within.parse_str(text) else { return Vec::new() };
    statements.iter().flat_map(|statement| of_statement(statement, text)).collect()
}

fn of_statement<'a>(statement: &Stmt, text: &'a str) -> Vec<Default<'a>> {
    let written = |ty: &Type| text.get(ty.span().byte_range());
    match statement {
        Stmt::Local(local) => {
            let (pattern, ty) = match &local.pat {
                Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
                pattern => (pattern, None),
            };
            let init = local.init.as_ref().map(|init| &*init.expr);
            match pattern {
                Pat::Ident(ident) => vec![Default {
                    name: ident.ident.to_string(),
                    keyword: if ident.mutability.is_some() { "let mut " } else { "let " },
                    ty: ty.and_then(written),
                    wanted: wanted(ty, init),
                }],
                // A pattern says nothing of the types of its parts.
                _ => crate::stale::defined_names(&text[statement.span().byte_range()])
                    .into_iter()
                    .map(|name| Default { name, keyword: "let ", ty: None, wanted: ParameterType::Any })
                    .collect(),
            }
        }
        Stmt::Item(syn::Item::Const(of)) => vec![Default {
            name: of.ident.to_string(),
            keyword: "const ",
            ty: written(&of.ty),
            wanted: wanted(Some(&of.ty), Some(&of.expr)),
        }],
        Stmt::Item(syn::Item::Static(of)) => vec![Default {
            name: of.ident.to_string(),
            keyword: "static ",
            ty: written(&of.ty),
            wanted: wanted(Some(&of.ty), Some(&of.expr)),
        }],
        _ => Vec::new(),
    }
}

/// The type that a value gets.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ParameterType {
    /// Nothing is known of it: the value says it.
    Any,
    Bool,
    Char,
    /// `&str`.
    Str,
    /// `String`, and what a string converts into.
    String,
    /// With its suffix, which may be empty.
    Int(String),
    Float(String),
    Option(Box<ParameterType>),
    Vec(Box<ParameterType>),
    Array(Box<ParameterType>),
}

fn wanted(ty: Option<&Type>, default: Option<&Expr>) -> ParameterType {
    match ty.map_or(ParameterType::Any, of_type) {
        ParameterType::Any => default.map_or(ParameterType::Any, of_default),
        known => known,
    }
}

const INTS: [&str; 12] = ["i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize"];

fn of_type(ty: &Type) -> ParameterType {
    match ty {
        Type::Reference(reference) => match of_type(&reference.elem) {
            ParameterType::Any if matches!(&*reference.elem, Type::Path(of) if of.path.is_ident("str")) => {
                ParameterType::Str
            }
            _ => ParameterType::Any,
        },
        Type::Array(array) => ParameterType::Array(Box::new(of_type(&array.elem))),
        Type::Paren(inner) => of_type(&inner.elem),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return ParameterType::Any };
            let argument = || match &last.arguments {
                syn::PathArguments::AngleBracketed(list) => list.args.iter().find_map(|argument| match argument {
                    syn::GenericArgument::Type(ty) => Some(of_type(ty)),
                    _ => None,
                }),
                _ => None,
            };
            match last.ident.to_string().as_str() {
                "bool" => ParameterType::Bool,
                "char" => ParameterType::Char,
                "String" => ParameterType::String,
                // The type of the `let` says the rest.
                "f32" | "f64" => ParameterType::Float(String::new()),
                name if INTS.contains(&name) => ParameterType::Int(String::new()),
                "Option" => ParameterType::Option(Box::new(argument().unwrap_or(ParameterType::Any))),
                "Vec" => ParameterType::Vec(Box::new(argument().unwrap_or(ParameterType::Any))),
                _ => ParameterType::Any,
            }
        }
        _ => ParameterType::Any,
    }
}

fn of_default(default: &Expr) -> ParameterType {
    let first =
        |elements: &mut dyn Iterator<Item = &Expr>| Box::new(elements.next().map_or(ParameterType::Any, of_default));
    match default {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Bool(_) => ParameterType::Bool,
            Lit::Char(_) => ParameterType::Char,
            Lit::Str(_) => ParameterType::Str,
            Lit::Int(of) if matches!(of.suffix(), "f32" | "f64") => ParameterType::Float(of.suffix().to_string()),
            Lit::Int(of) => ParameterType::Int(of.suffix().to_string()),
            Lit::Float(of) => ParameterType::Float(of.suffix().to_string()),
            _ => ParameterType::Any,
        },
        Expr::Unary(unary) => of_default(&unary.expr),
        Expr::Paren(inner) => of_default(&inner.expr),
        Expr::Cast(cast) => match (of_type(&cast.ty), &*cast.ty) {
            (ParameterType::Int(_), Type::Path(path)) => ParameterType::Int(suffix(path)),
            (ParameterType::Float(_), Type::Path(path)) => ParameterType::Float(suffix(path)),
            (other, _) => other,
        },
        Expr::MethodCall(call) if of_default(&call.receiver) == ParameterType::Str => {
            match call.method.to_string().as_str() {
                "to_string" | "to_owned" | "into" => ParameterType::String,
                _ => ParameterType::Any,
            }
        }
        Expr::Call(call) => match (&*call.func, call.args.first()) {
            (Expr::Path(path), Some(argument)) if path.path.is_ident("Some") => {
                ParameterType::Option(Box::new(of_default(argument)))
            }
            (Expr::Path(path), _) if path.path.segments.first().is_some_and(|s| s.ident == "String") => {
                ParameterType::String
            }
            _ => ParameterType::Any,
        },
        Expr::Path(path) if path.path.is_ident("None") => ParameterType::Option(Box::new(ParameterType::Any)),
        Expr::Array(array) => ParameterType::Array(first(&mut array.elems.iter())),
        Expr::Macro(of) if of.mac.path.is_ident("format") => ParameterType::String,
        Expr::Macro(of) if of.mac.path.is_ident("vec") => {
            let list = syn::punctuated::Punctuated::<Expr, syn::Token![,]>::parse_terminated;
            let elements = list.parse2(of.mac.tokens.clone()).unwrap_or_default();
            ParameterType::Vec(first(&mut elements.iter()))
        }
        _ => ParameterType::Any,
    }
}

fn suffix(path: &syn::TypePath) -> String {
    path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
}

/// A value as it was given.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Value>),
}

impl Value {
    /// A scalar of YAML 1.2 or JSON, a list of JSON, or text. `True`, `False` and `None` are Python's.
    fn read(text: &str) -> Result<Value, String> {
        let text = text.trim();
        if let Some(number) = integer(text) {
            return Ok(Value::Int(number));
        }
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(text) {
            return Value::of_json(&value)
                .ok_or_else(|| format!("`{text}` is a mapping: a parameter is a scalar or a list"));
        }
        if let Some(inner) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
            return Ok(Value::Text(inner.replace("''", "'")));
        }
        let is_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
        Ok(match text {
            "" | "~" | "Null" | "NULL" | "None" => Value::Null,
            "True" | "TRUE" => Value::Bool(true),
            "False" | "FALSE" => Value::Bool(false),
            ".inf" | "+.inf" | ".Inf" | ".INF" => Value::Float(f64::INFINITY),
            "-.inf" | "-.Inf" | "-.INF" => Value::Float(f64::NEG_INFINITY),
            ".nan" | ".NaN" | ".NAN" => Value::Float(f64::NAN),
            _ => match text.parse::<f64>() {
                Ok(number) if is_number && number.is_finite() => Value::Float(number),
                _ => Value::Text(text.to_string()),
            },
        })
    }

    fn of_json(value: &serde_json::Value) -> Option<Value> {
        Some(match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(*value),
            serde_json::Value::Number(number) => match number.to_string().parse::<i128>() {
                Ok(number) => Value::Int(number),
                Err(_) => Value::Float(number.as_f64()?),
            },
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(list) => Value::List(list.iter().map(Value::of_json).collect::<Option<_>>()?),
            serde_json::Value::Object(_) => return None,
        })
    }

    fn described(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
        }
    }
}

/// `-7`, `+7`, `007`, `0x1f`, `0o17`.
fn integer(text: &str) -> Option<i128> {
    let radix = |prefix: &str, radix: u32| i128::from_str_radix(text.strip_prefix(prefix)?, radix).ok();
    radix("0x", 16).or_else(|| radix("0o", 8)).or_else(|| text.parse().ok())
}

/// Writes the literal of one parameter.
struct Literal<'a> {
    name: &'a str,
    /// The `let` has a type, which the literal has to fit.
    is_typed: bool,
}

impl Literal<'_> {
    /// `raw`: the value as it was given, for a variable that is a string.
    fn of(&self, value: &Value, raw: &str, wanted: &ParameterType) -> Result<String, String> {
        let text = |value: &Value| match value {
            Value::Text(text) => text.clone(),
            _ => raw.trim().to_string(),
        };
        Ok(match (wanted, value) {
            (ParameterType::Option(_), Value::Null) if self.is_typed => "None".to_string(),
            (ParameterType::Option(inner), Value::Null) => match type_name(inner) {
                Some(name) => format!("None::<{name}>"),
                None => return Err(self.without_type()),
            },
            (_, Value::Null) => return Err(self.without_type()),
            (ParameterType::Option(inner), value) => format!("Some({})", self.of(value, raw, inner)?),
            (ParameterType::Vec(inner), Value::List(list)) => format!("vec![{}]", self.list(list, inner)?),
            (ParameterType::Array(inner), Value::List(list)) => format!("[{}]", self.list(list, inner)?),
            (ParameterType::Any, Value::List(list)) => format!("vec![{}]", self.list(list, &ParameterType::Any)?),
            (ParameterType::Str, value) if !matches!(value, Value::List(_)) => format!("{:?}", text(value)),
            (ParameterType::String, value) if !matches!(value, Value::List(_)) => {
                format!("String::from({:?})", text(value))
            }
            (ParameterType::Char, Value::Text(_) | Value::Int(_)) if text(value).chars().count() == 1 => {
                format!("{:?}", text(value).chars().next().unwrap_or_default())
            }
            (ParameterType::Int(suffix), Value::Int(number)) if !suffix.is_empty() => format!("{number}{suffix}"),
            (ParameterType::Int(_), Value::Int(number)) if self.is_typed => number.to_string(),
            (ParameterType::Float(suffix), Value::Int(number)) => format!("{number}.0{suffix}"),
            (ParameterType::Float(suffix), Value::Float(number)) => float(*number, suffix),
            (ParameterType::Bool, Value::Bool(value)) => value.to_string(),
            (wanted, value) if self.is_typed && *wanted != ParameterType::Any => {
                let (name, found) = (self.name, value.described());
                return Err(format!(
                    "`{name}={}` is {found}, and the cell `parameters` says {}",
                    raw.trim(),
                    told(wanted)
                ));
            }
            // The default has no type: the value says what the variable is.
            (_, Value::Int(number)) => integer_literal(*number),
            (_, Value::Float(number)) => float(*number, ""),
            (_, Value::Bool(value)) => value.to_string(),
            (_, Value::Text(text)) => format!("{text:?}"),
            (_, Value::List(list)) => format!("vec![{}]", self.list(list, &ParameterType::Any)?),
        })
    }

    fn list(&self, list: &[Value], wanted: &ParameterType) -> Result<String, String> {
        let raw = |value: &Value| match value {
            Value::Bool(value) => value.to_string(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            _ => String::new(),
        };
        // A list with one float is one of floats.
        let has_float = list.iter().any(|value| matches!(value, Value::Float(_)));
        let floats = ParameterType::Float(String::new());
        let wanted = if *wanted == ParameterType::Any && has_float { &floats } else { wanted };
        let all = list.iter().map(|value| self.of(value, &raw(value), wanted)).collect::<Result<Vec<_>, _>>()?;
        Ok(all.join(", "))
    }

    fn without_type(&self) -> String {
        let name = self.name;
        format!(
            "`{name}` is null, which has no type in Rust: say `let {name}: Option<f64> = None;` (or another type) in the \
             cell `parameters`"
        )
    }
}

/// An integer that `i32` does not hold says its type: rustc refuses it otherwise.
fn integer_literal(number: i128) -> String {
    match (i32::try_from(number), i64::try_from(number)) {
        (Ok(_), _) => number.to_string(),
        (_, Ok(_)) => format!("{number}i64"),
        _ => format!("{number}i128"),
    }
}

fn float(number: f64, suffix: &str) -> String {
    let ty = if suffix.is_empty() { "f64" } else { suffix };
    match number {
        _ if number.is_nan() => format!("{ty}::NAN"),
        f64::INFINITY => format!("{ty}::INFINITY"),
        f64::NEG_INFINITY => format!("{ty}::NEG_INFINITY"),
        _ => format!("{number:?}{suffix}"),
    }
}

fn type_name(wanted: &ParameterType) -> Option<&str> {
    Some(match wanted {
        ParameterType::Bool => "bool",
        ParameterType::Char => "char",
        ParameterType::Str => "&str",
        ParameterType::String => "String",
        ParameterType::Int(suffix) => {
            if suffix.is_empty() {
                "i32"
            } else {
                suffix
            }
        }
        ParameterType::Float(suffix) => {
            if suffix.is_empty() {
                "f64"
            } else {
                suffix
            }
        }
        ParameterType::Any | ParameterType::Option(_) | ParameterType::Vec(_) | ParameterType::Array(_) => return None,
    })
}

fn told(wanted: &ParameterType) -> &'static str {
    match wanted {
        ParameterType::Any => "another type",
        ParameterType::Bool => "a boolean: `true` or `false`",
        ParameterType::Char => "one character",
        ParameterType::Str | ParameterType::String => "a string",
        ParameterType::Int(_) => "an integer",
        ParameterType::Float(_) => "a number",
        ParameterType::Option(_) => "an `Option`",
        ParameterType::Vec(_) | ParameterType::Array(_) => "a list: `[1, 2, 3]`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAGGED: &str = "let n = 5;\nlet mut rate: f32 = 0.5;\nlet name = \"a\";\nlet path = String::from(\"b\");\n\
        let ids = vec![1u64, 2];\nlet limit: Option<u32> = None;\nconst SIZE: usize = 4;\nlet wide = 1.5; let fast = false;\n\
        let (low, high) = (1, 2);";

    fn injected(given: &str) -> Result<String, String> {
        let given: Vec<(String, String)> =
            given.split(';').filter_map(|p| p.split_once('=')).map(|(n, v)| (n.into(), v.into())).collect();
        let made = injected_parameters(Some(TAGGED), &given)?;
        Ok(made.source.strip_prefix("// Parameters\n").unwrap_or_default().to_string())
    }

    // Rust's own literals, by hand.
    #[test]
    fn values_have_the_types_of_the_defaults() {
        for (given, expected) in [
            ("n=7", "let n = 7;"),
            ("n=-3", "let n = -3;"),
            ("n=3000000000", "let n = 3000000000i64;"),
            ("n=1.5", "let n = 1.5;"),
            ("n=x y", "let n = \"x y\";"),
            ("rate=2", "let mut rate: f32 = 2.0;"),
            ("rate=1e-3", "let mut rate: f32 = 0.001;"),
            ("name=true", "let name = \"true\";"),
            ("name=007", "let name = \"007\";"),
            ("name=say \"hi\"\\n", "let name = \"say \\\"hi\\\"\\\\n\";"),
            ("path=/tmp/a b", "let path = String::from(\"/tmp/a b\");"),
            ("ids=[3, 4]", "let ids = vec![3u64, 4u64];"),
            ("limit=9", "let limit: Option<u32> = Some(9);"),
            ("limit=null", "let limit: Option<u32> = None;"),
            ("SIZE=16", "const SIZE: usize = 16;"),
            ("wide=.inf", "let wide = f64::INFINITY;"),
            ("wide=3", "let wide = 3.0;"),
            ("fast=True", "let fast = true;"),
            ("low=8", "let low = 8;"),
            ("n=0x1f;fast=false", "let n = 31;\nlet fast = false;"),
            ("other=[1, 2.5]", "let other = vec![1.0, 2.5];"),
            ("other=\"7\"", "let other = \"7\";"),
            ("other='it''s'", "let other = \"it's\";"),
        ] {
            assert_eq!(injected(given).as_deref(), Ok(expected), "{given}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (given, part) in [
            ("SIZE=big", "is a string, and the cell `parameters` says an integer"),
            ("SIZE=1.5", "is a float"),
            ("n=null", "Option<f64>"),
            ("2n=1", "not the name of a variable"),
            ("n={\"a\": 1}", "a mapping"),
        ] {
            let error = injected(given).unwrap_err();
            assert!(error.contains(part), "{given}: {error}");
        }
        let unknown = injected_parameters(None, &[("n".into(), "7".into())]).unwrap();
        assert_eq!((unknown.source.as_str(), unknown.unknown), ("// Parameters\nlet n = 7;", vec!["n".to_string()]));
    }
}
