//! Arguments of frame methods: one name, one expression, or a list of them, by value or by reference. A string is a
//! column name here.

use onrush_wire::ExprKind;

use super::{Expr, Exprs, Then};

/// One or several columns or expressions: `"a"`, `["a", "b"]`, `x!(a, b = c + 1)`, `col("a")`, a `Vec` or a tuple of
/// them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of columns or expressions",
    label = "expected a name, an expression, or a list of them",
    note = "write \"a\", [\"a\", \"b\"], or x!(a, b = c + 1)"
)]
pub trait IntoExprs {
    #[doc(hidden)]
    fn into_exprs(self) -> Vec<onrush_wire::Expr>;
}

/// One or several column names: `"a"`, `["a", "b"]`, a `Vec<String>`, `x!(a, b)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of column names",
    label = "expected a name or a list of names",
    note = "write \"a\" or [\"a\", \"b\"]"
)]
pub trait IntoColumns {
    #[doc(hidden)]
    fn into_columns(self) -> Vec<String>;
}

/// One or several keys of a sort: `"a"`, `desc("a")`, `[desc("a"), asc("b")]`, `("a", desc("b"))`, `x!(a, desc(b))`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a sort key",
    label = "expected a name, an expression, `desc(..)`, `asc(..)`, or a list of them",
    note = "names and `desc(..)` in one list: [asc(\"a\"), desc(\"b\")], or a tuple: (\"a\", desc(\"b\"))"
)]
pub trait IntoSortKeys {
    #[doc(hidden)]
    fn into_sort_keys(self) -> Vec<onrush_wire::expr::SortKey>;
}

/// A key of a sort with its direction.
#[derive(Clone, Debug)]
pub struct SortKey(pub(crate) onrush_wire::expr::SortKey);

impl SortKey {
    /// Puts nulls after all values. By default they come first, as in Polars.
    #[must_use]
    pub fn nulls_last(mut self) -> Self {
        self.0.nulls_last = Some(true);
        self
    }

    /// Puts nulls before all values: the default.
    #[must_use]
    pub fn nulls_first(mut self) -> Self {
        self.0.nulls_last = Some(false);
        self
    }
}

fn key(by: impl IntoExprs, descending: bool) -> SortKey {
    let expr = by.into_exprs().into_iter().next().unwrap_or_else(|| onrush_wire::Expr::column(""));
    SortKey(onrush_wire::expr::SortKey { expr, descending, nulls_last: None })
}

/// Ascending order by a column or an expression.
pub fn asc(by: impl IntoExprs) -> SortKey {
    key(by, false)
}

/// Descending order by a column or an expression.
pub fn desc(by: impl IntoExprs) -> SortKey {
    key(by, true)
}

/// `desc(x)` in `x!` is a call until a sort takes it.
fn sort_key(expr: onrush_wire::Expr) -> onrush_wire::expr::SortKey {
    let (kind, span) = expr.into_parts();
    match kind {
        ExprKind::Call { function, mut args } if args.len() == 1 && (function == "desc" || function == "asc") => {
            let mut inner = args.remove(0).value;
            if let ExprKind::Literal(onrush_wire::Value::Text(name)) = &mut inner.kind {
                inner.kind = ExprKind::Column(std::mem::take(name));
            }
            onrush_wire::expr::SortKey { expr: inner, descending: function == "desc", nulls_last: None }
        }
        ExprKind::Call { function, mut args }
            if args.len() == 1 && (function == "nulls_last" || function == "nulls_first") =>
        {
            let mut key = sort_key(args.remove(0).value);
            key.nulls_last = Some(function == "nulls_last");
            key
        }
        kind => {
            let expr = onrush_wire::Expr { kind, span };
            onrush_wire::expr::SortKey { expr, descending: false, nulls_last: None }
        }
    }
}

impl IntoExprs for Expr {
    fn into_exprs(self) -> Vec<onrush_wire::Expr> {
        vec![self.0]
    }
}

impl IntoExprs for Then {
    fn into_exprs(self) -> Vec<onrush_wire::Expr> {
        vec![Expr::from(self).0]
    }
}

impl IntoExprs for &Expr {
    fn into_exprs(self) -> Vec<onrush_wire::Expr> {
        vec![self.0.clone()]
    }
}

impl IntoExprs for Exprs {
    fn into_exprs(self) -> Vec<onrush_wire::Expr> {
        self.0.into_iter().map(|e| e.0).collect()
    }
}

impl IntoExprs for &Exprs {
    fn into_exprs(self) -> Vec<onrush_wire::Expr> {
        self.clone().into_exprs()
    }
}

/// No columns: `agg(())`, `over(())`.
impl IntoExprs for () {
    fn into_exprs(self) -> Vec<onrush_wire::Expr> {
        Vec::new()
    }
}

fn named(exprs: Vec<onrush_wire::Expr>) -> Vec<String> {
    let name = |expr: onrush_wire::Expr| match expr.into_kind() {
        ExprKind::Column(name) => name,
        kind => crate::arrow_conversion::expression_text(&onrush_wire::Expr::new(kind)),
    };
    exprs.into_iter().map(name).collect()
}

macro_rules! texts {
    ($($t:ty),*) => {$(
        impl IntoExprs for $t {
            fn into_exprs(self) -> Vec<onrush_wire::Expr> {
                vec![onrush_wire::Expr::column(self)]
            }
        }
        impl IntoColumns for $t {
            fn into_columns(self) -> Vec<String> {
                vec![self.to_string()]
            }
        }
        impl IntoSortKeys for $t {
            fn into_sort_keys(self) -> Vec<onrush_wire::expr::SortKey> {
                vec![sort_key(onrush_wire::Expr::column(self))]
            }
        }
    )*};
}
texts!(&str, String, &String);

impl IntoExprs for &&str {
    fn into_exprs(self) -> Vec<onrush_wire::Expr> {
        (*self).into_exprs()
    }
}

impl IntoColumns for &&str {
    fn into_columns(self) -> Vec<String> {
        (*self).into_columns()
    }
}

macro_rules! through_exprs {
    ($($t:ty),*) => {$(
        impl IntoColumns for $t {
            fn into_columns(self) -> Vec<String> {
                named(self.into_exprs())
            }
        }
        impl IntoSortKeys for $t {
            fn into_sort_keys(self) -> Vec<onrush_wire::expr::SortKey> {
                self.into_exprs().into_iter().map(sort_key).collect()
            }
        }
    )*};
}
through_exprs!(Expr, &Expr, Exprs, &Exprs);

impl IntoSortKeys for SortKey {
    fn into_sort_keys(self) -> Vec<onrush_wire::expr::SortKey> {
        vec![self.0]
    }
}

impl IntoSortKeys for &SortKey {
    fn into_sort_keys(self) -> Vec<onrush_wire::expr::SortKey> {
        vec![self.0.clone()]
    }
}

macro_rules! lists {
    ($($trait:ident $method:ident $out:ty),*) => {$(
        impl<T: $trait, const N: usize> $trait for [T; N] {
            fn $method(self) -> Vec<$out> {
                self.into_iter().flat_map(T::$method).collect()
            }
        }
        impl<T: $trait + Clone, const N: usize> $trait for &[T; N] {
            fn $method(self) -> Vec<$out> {
                self.iter().cloned().flat_map(T::$method).collect()
            }
        }
        impl<T: $trait + Clone> $trait for &[T] {
            fn $method(self) -> Vec<$out> {
                self.iter().cloned().flat_map(T::$method).collect()
            }
        }
        impl<T: $trait> $trait for Vec<T> {
            fn $method(self) -> Vec<$out> {
                self.into_iter().flat_map(T::$method).collect()
            }
        }
        impl<T: $trait + Clone> $trait for &Vec<T> {
            fn $method(self) -> Vec<$out> {
                self.iter().cloned().flat_map(T::$method).collect()
            }
        }
        lists!(tuple $trait $method $out: A);
        lists!(tuple $trait $method $out: A B);
        lists!(tuple $trait $method $out: A B C);
        lists!(tuple $trait $method $out: A B C D);
        lists!(tuple $trait $method $out: A B C D E);
        lists!(tuple $trait $method $out: A B C D E F);
    )*};
    (tuple $trait:ident $method:ident $out:ty: $($t:ident)*) => {
        impl<$($t: $trait),*> $trait for ($($t,)*) {
            fn $method(self) -> Vec<$out> {
                #[allow(non_snake_case)]
                let ($($t,)*) = self;
                let mut out = Vec::new();
                $(out.extend($t.$method());)*
                out
            }
        }
    };
}
lists!(IntoExprs into_exprs onrush_wire::Expr, IntoColumns into_columns String,
       IntoSortKeys into_sort_keys onrush_wire::expr::SortKey);
