//! A function of frames as data, and a call of it whose arguments were checked. The list of functions is in
//! `catalogue.rs`.

use arrow::datatypes::DataType;
use onrush_wire::{Diagnostic, ExprKind, Span, UnaryOp, Value};

use crate::diagnostics;
use crate::{Lower, TypedExpr, null};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One value for each row, from that row.
    Row,
    /// One value for many rows.
    Aggregate,
    /// One value for each row, from several rows.
    Window,
}

pub type Build = fn(&mut Lower, &Call) -> Result<TypedExpr, Diagnostic>;

/// One function. `params`: names with types, separated by spaces: `self:num n:#int? rest:any*`. A `?` is optional, a
/// `*` takes all that follow, a `#` wants a literal.
pub struct Function {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub kind: Kind,
    pub params: &'static str,
    pub build: Build,
}

pub const fn function(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: Kind,
    params: &'static str,
    build: Build,
) -> Function {
    Function { name, aliases, kind, params, build }
}

/// A parameter of a function.
pub(crate) struct Param {
    pub name: &'static str,
    pub dtype: &'static str,
    pub literal: bool,
    pub optional: bool,
    pub many: bool,
}

impl Function {
    pub(crate) fn params(&self) -> Vec<Param> {
        self.params
            .split_whitespace()
            .map(|text| {
                let (name, rest) = text.split_once(':').unwrap_or((text, "any"));
                let dtype = rest.trim_matches(['#', '?', '*']);
                Param {
                    name,
                    dtype,
                    literal: rest.starts_with('#'),
                    optional: rest.ends_with('?') || rest.ends_with('*'),
                    many: rest.ends_with('*'),
                }
            })
            .collect()
    }

    /// The place from which on arguments are any number of columns, as those of `sum_horizontal`.
    pub fn columns_from(&self) -> Option<usize> {
        self.params().iter().position(|param| param.many)
    }

    /// How it is called: `dep_delay.quantile(quantile, interpolation?)`.
    pub fn usage(&self) -> String {
        let params = self.params();
        let shown = |p: &Param| match (p.many, p.optional) {
            (true, _) => format!("{}...", p.name),
            (_, true) => format!("{}?", p.name),
            _ => p.name.to_string(),
        };
        match params.first() {
            Some(first) if first.name == "self" => {
                format!(".{}({})", self.name, params[1..].iter().map(shown).collect::<Vec<_>>().join(", "))
            }
            _ => format!("{}({})", self.name, params.iter().map(shown).collect::<Vec<_>>().join(", ")),
        }
    }
}

/// A call whose arguments are lowered and checked: one slot for each parameter.
#[derive(Clone)]
pub struct Call<'c> {
    pub function: &'static Function,
    pub(crate) args: Vec<Option<TypedExpr>>,
    /// The arguments of a `*` parameter.
    pub rest: Vec<TypedExpr>,
    pub span: Option<&'c Span>,
}

impl Call<'_> {
    /// A required argument. (The slot is filled: `call` has checked it.)
    pub fn arg(&self, index: usize) -> TypedExpr {
        self.args.get(index).cloned().flatten().unwrap_or_else(|| TypedExpr {
            expr: null(&DataType::Null),
            dtype: DataType::Null,
            name: "literal".to_string(),
            span: None,
            literal: Some(Value::Null),
        })
    }

    /// Puts another receiver in place.
    pub fn replace(&mut self, this: TypedExpr) {
        if let Some(slot) = self.args.first_mut() {
            *slot = Some(this);
        }
    }

    pub fn this(&self) -> TypedExpr {
        self.arg(0)
    }

    pub fn opt(&self, index: usize) -> Option<TypedExpr> {
        self.args.get(index).cloned().flatten()
    }

    pub fn int(&self, index: usize) -> Option<i64> {
        match self.args.get(index)?.as_ref()?.literal.as_ref()? {
            Value::Int(v) => Some(*v),
            Value::UInt(v) => i64::try_from(*v).ok(),
            Value::Float(v) if v.fract() == 0.0 => Some(*v as i64),
            _ => None,
        }
    }

    pub fn number(&self, index: usize) -> Option<f64> {
        match self.args.get(index)?.as_ref()?.literal.as_ref()? {
            Value::Int(v) => Some(*v as f64),
            Value::UInt(v) => Some(*v as f64),
            Value::Float(v) => Some(*v),
            Value::Float32(v) => Some((*v).into()),
            _ => None,
        }
    }

    pub fn text(&self, index: usize) -> Option<&str> {
        match self.args.get(index)?.as_ref()?.literal.as_ref()? {
            Value::Text(v) => Some(v),
            _ => None,
        }
    }

    pub fn flag(&self, index: usize) -> bool {
        matches!(self.args.get(index), Some(Some(TypedExpr { literal: Some(Value::Boolean(true)), .. })))
    }

    /// An error about one argument.
    pub fn wrong(&self, lower: &Lower, index: usize, message: impl Into<String>) -> Diagnostic {
        let span = self.args.get(index).and_then(|a| a.as_ref()).and_then(|a| a.span.clone());
        let diagnostic =
            diagnostics::plan_error("argument", message).help(format!("it is called as `{}`", self.function.usage()));
        lower.fail(diagnostic, span.as_ref().or(self.span), "")
    }

    /// One of a few words.
    pub fn choice<'w>(&self, lower: &Lower, index: usize, words: &[&'w str]) -> Result<&'w str, Diagnostic> {
        let Some(text) = self.text(index) else { return Ok(words[0]) };
        words.iter().find(|w| **w == text).copied().ok_or_else(|| {
            let list: Vec<String> = words.iter().map(|w| format!("\"{w}\"")).collect();
            self.wrong(lower, index, format!("\"{text}\" is none of {}", list.join(", ")))
        })
    }
}

/// `-1` as a literal.
pub fn fold(expr: &onrush_wire::Expr) -> onrush_wire::Expr {
    if let ExprKind::Unary(UnaryOp::Negate, inner) = &expr.kind {
        let value = match &inner.kind {
            ExprKind::Literal(Value::Int(v)) => v.checked_neg().map(Value::Int),
            ExprKind::Literal(Value::Float(v)) => Some(Value::Float(-v)),
            _ => None,
        };
        if let Some(value) = value {
            return onrush_wire::Expr { kind: ExprKind::Literal(value), span: expr.span.clone() };
        }
    }
    expr.clone()
}
