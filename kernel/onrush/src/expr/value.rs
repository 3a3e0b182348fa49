//! Rust values as expressions, by reference.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Timelike};
use onrush_wire::{Arg, Class, Diagnostic, ExprKind, TimeUnit, Value};

use super::{Expr, LIST, Then};

/// A value in an expression: a number, a string, a `bool`, an `Option` (`None` is null), a date or time of chrono,
/// a list of them, or an expression. A string is a literal here, not a column name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand in an expression over columns",
    label = "expected a number, a string, a date, a list of them, or an `Expr`",
    note = "a column is written by its bare name in `x!`, or `col(\"name\")`"
)]
pub trait ToExpr {
    fn to_expr(&self) -> Expr;

    /// The expression of a value that is not needed any more: an expression is moved, not copied.
    #[doc(hidden)]
    fn into_expr(self) -> Expr
    where
        Self: Sized,
    {
        self.to_expr()
    }
}

#[inline(never)]
fn literal(value: Value) -> Expr {
    Expr(onrush_wire::Expr::new(ExprKind::Literal(value)))
}

impl ToExpr for Expr {
    fn to_expr(&self) -> Expr {
        self.clone()
    }

    fn into_expr(self) -> Expr {
        self
    }
}

impl ToExpr for Then {
    fn to_expr(&self) -> Expr {
        Expr::from(self.clone())
    }

    fn into_expr(self) -> Expr {
        Expr::from(self)
    }
}

impl<T: ToExpr + ?Sized> ToExpr for &T {
    fn to_expr(&self) -> Expr {
        (**self).to_expr()
    }
}

impl<T: ToExpr> ToExpr for Option<T> {
    fn to_expr(&self) -> Expr {
        self.as_ref().map_or_else(|| literal(Value::Null), ToExpr::to_expr)
    }
}

macro_rules! copied {
    ($($t:ty),*) => {$(
        impl ToExpr for $t {
            fn to_expr(&self) -> Expr {
                literal(Value::from(*self))
            }
        }
    )*};
}
copied!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64, bool);

impl ToExpr for str {
    fn to_expr(&self) -> Expr {
        literal(Value::from(self))
    }
}

impl ToExpr for String {
    fn to_expr(&self) -> Expr {
        literal(Value::from(self))
    }
}

impl ToExpr for char {
    fn to_expr(&self) -> Expr {
        literal(Value::Text(self.to_string()))
    }
}

impl ToExpr for Value {
    fn to_expr(&self) -> Expr {
        literal(self.clone())
    }
}

impl ToExpr for NaiveDate {
    fn to_expr(&self) -> Expr {
        literal(Value::Date(self.signed_duration_since(NaiveDate::default()).num_days() as i32))
    }
}

impl ToExpr for NaiveDateTime {
    fn to_expr(&self) -> Expr {
        literal(Value::Timestamp { value: self.and_utc().timestamp_micros(), unit: TimeUnit::Microsecond, zone: None })
    }
}

impl<Z: TimeZone> ToExpr for DateTime<Z> {
    fn to_expr(&self) -> Expr {
        literal(Value::Timestamp {
            value: self.timestamp_micros(),
            unit: TimeUnit::Microsecond,
            zone: Some("UTC".to_string()),
        })
    }
}

impl ToExpr for NaiveTime {
    fn to_expr(&self) -> Expr {
        let nanoseconds = i64::from(self.num_seconds_from_midnight()) * 1_000_000_000 + i64::from(self.nanosecond());
        literal(Value::Time(nanoseconds))
    }
}

impl ToExpr for TimeDelta {
    fn to_expr(&self) -> Expr {
        let value = self.num_microseconds().unwrap_or(if *self < TimeDelta::zero() { i64::MIN } else { i64::MAX });
        literal(Value::Duration { value, unit: TimeUnit::Microsecond })
    }
}

impl ToExpr for std::time::Duration {
    fn to_expr(&self) -> Expr {
        let value = i64::try_from(self.as_micros()).unwrap_or(i64::MAX);
        literal(Value::Duration { value, unit: TimeUnit::Microsecond })
    }
}

/// A list of literals is one literal; a list with other expressions in it is a call that `in` and `over` take apart.
pub(crate) fn list(items: Vec<onrush_wire::Expr>) -> Expr {
    if items.iter().all(|e| matches!(e.kind, ExprKind::Literal(_))) {
        let values = items.into_iter().filter_map(|e| match e.into_kind() {
            ExprKind::Literal(value) => Some(value),
            _ => None,
        });
        return literal(Value::List(values.collect()));
    }
    let args = items.into_iter().map(|value| Arg { name: None, value }).collect();
    Expr(onrush_wire::Expr::new(ExprKind::Call { function: LIST.to_string(), args }))
}

impl<T: ToExpr> ToExpr for [T] {
    fn to_expr(&self) -> Expr {
        list(self.iter().map(|v| v.to_expr().0).collect())
    }
}

impl<T: ToExpr, const N: usize> ToExpr for [T; N] {
    fn to_expr(&self) -> Expr {
        self.as_slice().to_expr()
    }
}

impl<T: ToExpr> ToExpr for Vec<T> {
    fn to_expr(&self) -> Expr {
        self.as_slice().to_expr()
    }
}

impl<T: ToExpr + crate::column::Element> ToExpr for crate::column::Column<T> {
    fn to_expr(&self) -> Expr {
        let values: &[T] = self;
        values.to_expr()
    }
}

macro_rules! sets {
    ($($t:ident),*) => {$(
        impl<T: ToExpr> ToExpr for std::collections::$t<T> {
            fn to_expr(&self) -> Expr {
                list(self.iter().map(|v| v.to_expr().0).collect())
            }
        }
    )*};
}
sets!(BTreeSet);

impl<T: ToExpr, S> ToExpr for std::collections::HashSet<T, S> {
    fn to_expr(&self) -> Expr {
        list(self.iter().map(|v| v.to_expr().0).collect())
    }
}

/// The fields of maps and pairs that `replace` reads.
const OLD: &str = "old";
const NEW: &str = "new";

/// Raises for an expression that is not a fixed value.
fn constant(expr: Expr) -> Value {
    match expr.0.into_parts() {
        (ExprKind::Literal(value), _) => value,
        (_, span) => {
            let message = "a map holds fixed values, and this is an expression over columns";
            let error = Diagnostic::error(Class::Plan, "argument", message).help("write `if` or `match` in x!");
            crate::raise::raise(match span {
                Some(span) => error.at(span, ""),
                None => error,
            })
        }
    }
}

/// A map as two lists, in the order of the keys as strings, so that equal maps are equal expressions.
fn map<'a, K: ToExpr + 'a, V: ToExpr + 'a>(entries: impl Iterator<Item = (&'a K, &'a V)>) -> Expr {
    let pair = |(old, new): (&K, &V)| (constant(old.to_expr()), constant(new.to_expr()));
    let mut pairs: Vec<(Value, Value)> = entries.map(pair).collect();
    pairs.sort_by_cached_key(|(old, _)| format!("{old:?}"));
    let (old, new) = pairs.into_iter().unzip();
    literal(Value::Struct(vec![(OLD.to_string(), Value::List(old)), (NEW.to_string(), Value::List(new))]))
}

/// For `replace` and `replace_strict`: fixed values and what they become.
impl<K: ToExpr, V: ToExpr, S> ToExpr for std::collections::HashMap<K, V, S> {
    fn to_expr(&self) -> Expr {
        map(self.iter())
    }
}

impl<K: ToExpr, V: ToExpr> ToExpr for std::collections::BTreeMap<K, V> {
    fn to_expr(&self) -> Expr {
        map(self.iter())
    }
}

/// Pairs for `replace`, as a map.
impl<K: ToExpr, V: ToExpr, const N: usize> ToExpr for [(K, V); N] {
    fn to_expr(&self) -> Expr {
        map(self.iter().map(|(old, new)| (old, new)))
    }
}

impl<K: ToExpr, V: ToExpr> ToExpr for Vec<(K, V)> {
    fn to_expr(&self) -> Expr {
        map(self.iter().map(|(old, new)| (old, new)))
    }
}
