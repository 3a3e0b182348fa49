//! Column expressions as Rust values: the result of `x!`, and a builder with methods and operators.
//!
//! An `Expr` is a description. The session types and checks it when a method of a frame takes it.

mod arguments;
mod methods;
mod operators;
mod value;

pub use arguments::{IntoColumns, IntoExprs, IntoSortKeys, SortKey, asc, desc};
pub use methods::{ExprDt, ExprList, ExprStr};
pub use value::ToExpr;
pub(crate) use value::list as list_of;

use onrush_wire::{Arg, DataType, ExprKind, Span, Value};

/// The name of a call whose arguments are the values of a list. No function of the user has it.
pub(crate) const LIST: &str = "\0list";
/// Calls one in the other, at most, as the session has them.
const MOST_NESTED: usize = 100;

/// A computation over the columns of a frame: one value for each row, or one for each group if it aggregates.
///
/// `x!(distance / air_time * 60)` is the short form of `col("distance") / col("air_time") * 60`. The expression runs
/// when the frame that uses it is shown, collected or written.
#[derive(Clone)]
pub struct Expr(pub(crate) onrush_wire::Expr);

/// Several expressions, such as `x!(a, b = c + 1)`. Every method that takes a list of expressions takes them.
#[derive(Clone, Debug)]
pub struct Exprs(pub(crate) Vec<Expr>);

impl Exprs {
    /// The expressions of the list, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Expr> {
        self.0.iter()
    }
}

/// The column of that name.
#[track_caller]
pub fn col(name: impl AsRef<str>) -> Expr {
    Expr(onrush_wire::Expr::column(name.as_ref()).at(crate::raise::here("col")))
}

/// A Rust value as an expression: a literal, equal for every row.
pub fn lit<T: ToExpr>(value: T) -> Expr {
    value.to_expr()
}

/// The number of rows: of each group, or of the frame.
pub fn len() -> Expr {
    Expr(onrush_wire::Expr::call("len", []))
}

/// All columns; [`Expr::exclude`] leaves some out.
pub fn all() -> Expr {
    Expr(onrush_wire::Expr::new(ExprKind::All { except: Vec::new() }))
}

/// All columns of strings, for `select`, `with_columns` and `agg`: `strings().str().strip_chars()`.
pub fn strings() -> Expr {
    function("strings", Vec::new())
}

/// All columns of dates, times and durations.
pub fn temporal() -> Expr {
    function("temporal", Vec::new())
}

/// All columns of booleans.
pub fn booleans() -> Expr {
    function("booleans", Vec::new())
}

/// All columns whose names match a regular expression: `matching("^x_").mean()`.
#[track_caller]
pub fn matching(pattern: &str) -> Expr {
    Expr(onrush_wire::Expr::call("matching", [onrush_wire::Expr::literal(pattern)]).at(crate::raise::here("matching")))
}

/// A number between 0 and 1 for each row, the same ones for the same seed.
pub fn random(seed: i64) -> Expr {
    function("random", vec![onrush_wire::Expr::literal(seed)])
}

/// A struct of several columns, under their names: `struct_of(["x", "y"])`; in `x!` also `struct(x, y)`.
pub fn struct_of(values: impl IntoExprs) -> Expr {
    function("struct", values.into_exprs())
}

/// The first of its arguments that is not null, row by row.
pub fn coalesce(values: impl IntoExprs) -> Expr {
    function("coalesce", values.into_exprs())
}

/// Concatenates strings, row by row; null if one of them is null. For a separator: `concat_str(..).str()`, or `x!(a +
/// "-" + b)`.
pub fn concat_str(values: impl IntoExprs) -> Expr {
    function("concat_str", values.into_exprs())
}

/// The smallest of several columns, row by row; nulls are left out.
pub fn min_horizontal(values: impl IntoExprs) -> Expr {
    function("min_horizontal", values.into_exprs())
}

/// The largest of several columns, row by row; nulls are left out.
pub fn max_horizontal(values: impl IntoExprs) -> Expr {
    function("max_horizontal", values.into_exprs())
}

/// The sum of several columns, row by row; nulls count as 0.
pub fn sum_horizontal(values: impl IntoExprs) -> Expr {
    function("sum_horizontal", values.into_exprs())
}

/// Starts a conditional expression: `when(x!(a > 1)).then("big").otherwise("small")`.
pub fn when(condition: impl ToExpr) -> When {
    When { branches: Vec::new(), condition: condition.into_expr().0 }
}

/// A condition that waits for its value; see [`when`].
#[derive(Clone)]
pub struct When {
    branches: Vec<(onrush_wire::Expr, onrush_wire::Expr)>,
    condition: onrush_wire::Expr,
}

/// Conditions with their values. Without [`Then::otherwise`], other rows are null.
#[derive(Clone)]
pub struct Then {
    branches: Vec<(onrush_wire::Expr, onrush_wire::Expr)>,
}

impl When {
    /// The value of the rows for which the condition is true. A string is a literal, not a column name.
    pub fn then(mut self, value: impl ToExpr) -> Then {
        self.branches.push((self.condition, value.into_expr().0));
        Then { branches: self.branches }
    }
}

impl Then {
    /// Adds another condition, for the rows without a match so far.
    pub fn when(self, condition: impl ToExpr) -> When {
        When { branches: self.branches, condition: condition.into_expr().0 }
    }

    /// The value of all other rows.
    pub fn otherwise(self, value: impl ToExpr) -> Expr {
        let otherwise = Some(Box::new(value.into_expr().0));
        Expr(onrush_wire::Expr::new(ExprKind::Case { branches: self.branches, otherwise }))
    }
}

impl From<Then> for Expr {
    fn from(then: Then) -> Self {
        Expr(onrush_wire::Expr::new(ExprKind::Case { branches: then.branches, otherwise: None }))
    }
}

#[inline(never)]
fn function(name: &str, args: Vec<onrush_wire::Expr>) -> Expr {
    Expr(onrush_wire::Expr::call(name, args))
}

impl Expr {
    #[inline(never)]
    fn method(&self, name: &str, args: Vec<onrush_wire::Expr>, at: Span) -> Expr {
        // Each call copies what it is called on: calls without end are refused here, not after a quadratic number of
        // copies.
        let mut receiver = &self.0;
        for _ in 0..MOST_NESTED {
            let ExprKind::Call { args, .. } = &receiver.kind else { break };
            let Some(first) = args.first() else { break };
            receiver = &first.value;
        }
        if matches!(&receiver.kind, ExprKind::Call { args, .. } if !args.is_empty()) {
            let message =
                format!("this expression has more than {MOST_NESTED} calls one in the other, which are the most");
            let diagnostic = onrush_wire::Diagnostic::error(onrush_wire::Class::Plan, "deep-expression", message);
            let help = "make columns of parts of it first, with `with_columns` and `persist`";
            crate::raise::raise(diagnostic.at(at, "one call too many").help(help))
        }
        let args = std::iter::once(self.0.clone()).chain(args);
        Expr(onrush_wire::Expr::call(name, args).at(at))
    }

    /// Names the result.
    #[must_use]
    pub fn alias(&self, name: impl Into<String>) -> Expr {
        Expr(self.0.clone().alias(name))
    }

    /// Converts to another type, given by name (`"f64"`, `"date"`) or as a `DataType`. Raises if a value cannot be
    /// converted; [`Expr::try_cast`] gives null instead.
    #[must_use]
    #[track_caller]
    pub fn cast(&self, to: impl IntoDataType) -> Expr {
        self.cast_to(to.into_data_type(), true)
    }

    /// Converts as [`Expr::cast`]; a value that cannot be converted becomes null.
    #[must_use]
    #[track_caller]
    pub fn try_cast(&self, to: impl IntoDataType) -> Expr {
        self.cast_to(to.into_data_type(), false)
    }

    fn cast_to(&self, to: DataType, strict: bool) -> Expr {
        let value = Box::new(self.0.clone());
        Expr(onrush_wire::Expr { kind: ExprKind::Cast { value, to, strict }, span: self.0.span.clone() })
    }

    /// Computes an aggregate or a window function within each group of `partition`, and gives it to every row of the
    /// group. Chain [`Expr::order_by`] for functions that depend on the order.
    #[must_use]
    #[track_caller]
    pub fn over(&self, partition: impl IntoExprs) -> Expr {
        let kind =
            ExprKind::Over { value: Box::new(self.0.clone()), partition: partition.into_exprs(), order: Vec::new() };
        Expr(onrush_wire::Expr { kind, span: Some(crate::raise::here("over")) })
    }

    /// The order of rows within a window: `col("x").cum_sum().over("g").order_by("day")`.
    #[must_use]
    #[track_caller]
    pub fn order_by(&self, keys: impl IntoSortKeys) -> Expr {
        let keys = keys.into_sort_keys();
        let mut expr = self.0.clone();
        match &mut expr.kind {
            ExprKind::Over { order, .. } => *order = keys,
            _ => {
                let span = Some(crate::raise::here("order_by"));
                let kind = ExprKind::Over { value: Box::new(expr), partition: Vec::new(), order: keys };
                expr = onrush_wire::Expr { kind, span };
            }
        }
        Expr(expr)
    }

    /// Whether the value is one of `list`: an array, a slice or a `Vec` of Rust values, or of expressions. Null stays
    /// null.
    #[must_use]
    pub fn is_in(&self, list: impl ToExpr) -> Expr {
        let list = match list.into_expr().0.into_parts() {
            (ExprKind::Literal(Value::List(values)), _) => values.into_iter().map(onrush_wire::Expr::literal).collect(),
            (ExprKind::Call { function, args }, _) if function == LIST => args.into_iter().map(|a| a.value).collect(),
            (kind, span) => vec![onrush_wire::Expr { kind, span }],
        };
        let kind = ExprKind::In { value: Box::new(self.0.clone()), list };
        Expr(onrush_wire::Expr { kind, span: self.0.span.clone() })
    }

    /// Whether the value lies between two others, both included. Option in `x!`: `closed = "left"`, `"right"` or
    /// `"none"`.
    #[must_use]
    pub fn is_between(&self, low: impl ToExpr, high: impl ToExpr) -> Expr {
        let kind = ExprKind::Between {
            value: Box::new(self.0.clone()),
            low: Box::new(low.into_expr().0),
            high: Box::new(high.into_expr().0),
            high_inclusive: true,
        };
        Expr(onrush_wire::Expr { kind, span: self.0.span.clone() })
    }

    /// Adds to the end of the name that the result has: `all().sum().name_suffix("_sum")`; in `x!`,
    /// `.name.suffix("_sum")`.
    #[must_use]
    #[track_caller]
    pub fn name_suffix(&self, suffix: &str) -> Expr {
        self.method("name.suffix", vec![onrush_wire::Expr::literal(suffix)], crate::raise::here("name_suffix"))
    }

    /// Adds to the start of the name that the result has: `numeric().mean().name_prefix("mean_")`.
    #[must_use]
    #[track_caller]
    pub fn name_prefix(&self, prefix: &str) -> Expr {
        self.method("name.prefix", vec![onrush_wire::Expr::literal(prefix)], crate::raise::here("name_prefix"))
    }

    /// Spearman's rank correlation with another column.
    #[must_use]
    #[track_caller]
    pub fn spearman(&self, other: impl ToExpr) -> Expr {
        let method = onrush_wire::Expr::literal("spearman");
        self.method("corr", vec![other.into_expr().0, method], crate::raise::here("spearman"))
    }

    /// Leaves columns out of [`all`], `numeric()`, [`strings`] and the like.
    #[must_use]
    pub fn exclude(&self, names: impl IntoColumns) -> Expr {
        let mut expr = self.0.clone();
        match &mut expr.kind {
            ExprKind::All { except } => except.extend(names.into_columns()),
            // The columns that these leave out are their arguments.
            ExprKind::Call { function, args }
                if ["numeric", "strings", "temporal", "booleans", "matching"].contains(&function.as_str()) =>
            {
                let names = names.into_columns().into_iter().map(onrush_wire::Expr::column);
                args.extend(names.map(|value| Arg { name: None, value }));
            }
            _ => {}
        }
        Expr(expr)
    }

    /// Calls a function of the session by its name, with this as the first argument: for functions without a method
    /// here.
    #[must_use]
    #[track_caller]
    pub fn call(&self, function: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
        let at = crate::raise::here("call");
        self.method(function, args.into_iter().map(|e| e.0).collect(), at)
    }

    /// Calls a function with named options: `col("x").call_with("rank", [("method", lit("dense"))])`.
    #[must_use]
    #[track_caller]
    pub fn call_with<'a>(&self, function: &str, options: impl IntoIterator<Item = (&'a str, Expr)>) -> Expr {
        let at = crate::raise::here("call_with");
        let mut args = vec![Arg { name: None, value: self.0.clone() }];
        args.extend(options.into_iter().map(|(name, e)| Arg { name: Some(name.to_string()), value: e.0 }));
        let kind = ExprKind::Call { function: function.to_string(), args };
        Expr(onrush_wire::Expr { kind, span: Some(at) })
    }

    /// Functions of strings: `col("name").str().contains("x")`.
    pub fn str(&self) -> ExprStr {
        ExprStr(self.clone())
    }

    /// Functions of dates and times: `col("day").dt().month()`.
    pub fn dt(&self) -> ExprDt {
        ExprDt(self.clone())
    }

    /// Functions of lists: `col("tags").list().len()`.
    pub fn list(&self) -> ExprList {
        ExprList(self.clone())
    }

    /// Sorts in descending order by this expression; for `sort`.
    pub fn desc(&self) -> SortKey {
        desc(self)
    }

    /// Sorts in ascending order by this expression; for `sort`.
    pub fn asc(&self) -> SortKey {
        asc(self)
    }
}

/// A type by name or by value.
pub trait IntoDataType {
    /// Returns the type. Raises if the name is not the name of a type.
    #[track_caller]
    fn into_data_type(self) -> DataType;
}

impl IntoDataType for DataType {
    fn into_data_type(self) -> DataType {
        self
    }
}

impl IntoDataType for &DataType {
    fn into_data_type(self) -> DataType {
        self.clone()
    }
}

impl IntoDataType for &str {
    #[track_caller]
    fn into_data_type(self) -> DataType {
        self.parse().unwrap_or_else(|e: onrush_wire::schema::UnknownType| {
            let at = crate::raise::here("");
            crate::raise::raise(
                onrush_wire::Diagnostic::error(onrush_wire::Class::Plan, "unknown-type", e.to_string()).at(at, ""),
            )
        })
    }
}

/// The source text on one line, close to what was written: `(distance / air_time) * 60`.
impl std::fmt::Debug for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::arrow_conversion::expression_text(&self.0))
    }
}

impl std::fmt::Display for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}
