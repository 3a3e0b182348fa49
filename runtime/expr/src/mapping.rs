//! `replace` and `replace_strict`: other values for some values, from a map, pairs or two lists.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::logical_expr::expr::Case;
use datafusion::logical_expr::{Expr, when};
use onrush_wire::{Class, Diagnostic, Value};

use super::function::{Call, Function, Kind, function};
use super::scalar_udf::{Body, kernel_at, literal_text};
use super::{Lower, TypedExpr, null, operators};
use crate::diagnostics::{self, type_name};
use crate::error::{diagnose, external};
use crate::type_coercion::{self, TEXT};

pub const FUNCTIONS: &[Function] = &[
    function("replace", &["map_values", "recode"], Kind::Row, "self:any old:any new:any? default:any?", |l, c| {
        replaced(l, c, false)
    }),
    function("replace_strict", &[], Kind::Row, "self:any old:any new:any? default:any?", |l, c| replaced(l, c, true)),
];

/// Old and new values, one pair for each.
fn pairs(lower: &Lower, call: &Call) -> Result<Vec<(Value, Value)>, Diagnostic> {
    let literal = |slot: usize| call.opt(slot).and_then(|value| value.literal);
    let field = |fields: &[(String, Value)], name: &str| {
        fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.clone())
    };
    let list = |value: Value| match value {
        Value::List(values) => values,
        value => vec![value],
    };
    let no_map = || {
        call.wrong(lower, 1, "the values to replace are a map, pairs, or two lists of fixed values")
            .help("such as `{map}` with a `HashMap` or pairs in it, or `[1, 2], [\"a\", \"b\"]`")
    };
    match (literal(1), call.opt(2).is_some()) {
        (Some(old), true) => {
            let (old, new) = (list(old), list(literal(2).ok_or_else(no_map)?));
            match (old.len(), new.len()) {
                (a, b) if a == b => Ok(old.into_iter().zip(new).collect()),
                (_, 1) => Ok(old.into_iter().map(|old| (old, new[0].clone())).collect()),
                (a, b) => Err(call.wrong(lower, 2, format!("{a} values cannot become {b} values"))),
            }
        }
        (Some(Value::Struct(fields)), false) => match (field(&fields, OLD), field(&fields, NEW)) {
            (Some(Value::List(old)), Some(Value::List(new))) => Ok(old.into_iter().zip(new).collect()),
            _ => Err(no_map()),
        },
        _ => Err(no_map()),
    }
}

/// The fields of a map; `kernel/onrush/src/expr/value.rs` writes them.
const OLD: &str = "old";
const NEW: &str = "new";

fn replaced(lower: &mut Lower, call: &Call, is_strict: bool) -> Result<TypedExpr, Diagnostic> {
    let span = call.arg(1).span.or_else(|| call.span.cloned());
    let literal = |lower: &mut Lower, value: &Value| {
        lower.expr(&onrush_wire::Expr { kind: onrush_wire::ExprKind::Literal(value.clone()), span: span.clone() })
    };
    let mut subject = call.this();
    let mut all = Vec::new();
    for (old, new) in pairs(lower, call)? {
        let (old, new) = (literal(lower, &old)?, literal(lower, &new)?);
        let old = match old.dtype == DataType::Null {
            true => old,
            false => {
                let (unified, old) = operators::unify(lower, subject, old, "`replace`:", span.as_ref())?;
                subject = unified;
                old
            }
        };
        all.push((old, new));
    }
    let default = call.opt(3);
    let is_kept = !is_strict && default.is_none();
    // The type of the result: the column's own where the others stay.
    let mut dtype = if is_kept { call.this().dtype } else { DataType::Null };
    let this = call.this();
    let mut values = Vec::new();
    for (_, new) in all.iter() {
        let new = if is_kept { operators::beside(lower, new.clone(), &this)? } else { new.clone() };
        let common = type_coercion::supertype(&dtype, &new.dtype);
        dtype = common
            .filter(|_| {
                !is_kept
                    || type_coercion::is_text(&dtype) == type_coercion::is_text(&new.dtype)
                    || new.dtype == DataType::Null
            })
            .ok_or_else(|| {
                let message = format!("`{}` values cannot become `{}`", type_name(&dtype), type_name(&new.dtype));
                let help =
                    "`replace_strict` gives values of another type: it replaces all of them, or takes a `default`";
                lower.fail(diagnostics::plan_error("type-mismatch", message).help(help), span.as_ref(), "")
            })?;
        values.push(new);
    }
    let rest = match &default {
        Some(default) => {
            let common = type_coercion::supertype(&dtype, &default.dtype);
            dtype = common.ok_or_else(|| {
                let message = format!(
                    "the default is `{}`, the other values are `{}`",
                    type_name(&default.dtype),
                    type_name(&dtype)
                );
                lower.fail(
                    diagnostics::plan_error("type-mismatch", message),
                    default.span.as_ref().or(span.as_ref()),
                    "",
                )
            })?;
            default.to(&dtype).expr
        }
        None if is_kept => this.to(&dtype).expr,
        None => {
            let function = kernel_at("unmapped", dtype.clone(), unmapped, call.span);
            let text = match this.dtype {
                ref d if d.is_nested() => return Err(call.wrong(lower, 0, "`replace_strict` needs plain values")),
                _ => this.to(&TEXT).expr,
            };
            function.call(vec![text, null(&dtype)])
        }
    };
    let of_null = all.iter().position(|(old, _)| old.dtype == DataType::Null);
    let new = |at: usize| values[at].to(&dtype).expr;
    let branches: Vec<_> = all
        .iter()
        .enumerate()
        .filter(|(_, (old, _))| old.dtype != DataType::Null)
        .map(|(at, (old, _))| (Box::new(old.to(&subject.dtype).expr), Box::new(new(at))))
        .collect();
    let mut expr = match branches.is_empty() {
        true => rest.clone(),
        false => Expr::Case(Case::new(Some(Box::new(subject.expr.clone())), branches, Some(Box::new(rest.clone())))),
    };
    let null_becomes = match of_null {
        Some(at) => Some(new(at)),
        // A null that is not in the map stays null.
        None if is_strict && default.is_none() => Some(null(&dtype)),
        None => None,
    };
    if let Some(value) = null_becomes {
        expr = when(Expr::IsNull(Box::new(this.expr.clone())), value).otherwise(expr).map_err(diagnose)?;
    }
    Ok(this.with(expr, dtype))
}

/// An error that names the first value that has no other. `CASE` calls it for these rows only.
fn unmapped(args: &[ArrayRef]) -> datafusion::error::Result<ArrayRef> {
    let body: Body = |args| Ok(ArrayRef::clone(&args[1]));
    if let Some(text) = literal_text(&args[0]) {
        let message = format!("`replace_strict` has no other value for `{text}`");
        let diagnostic = Diagnostic::error(Class::Data, "unmapped", message);
        return Err(external(diagnostic.help("add it to the map, or give a `default`")));
    }
    body(args)
}
