//! Joins, and the columns that they match.

use onrush_wire::plan::{JoinKind, Op};
use onrush_wire::{Class, Diagnostic, Expr, Span};

use super::Frame;
use crate::expr::IntoExprs;
use crate::raise::{here, raise};

/// Which columns of two frames match, and what names get that both have; see [`on`] and [`using`].
#[derive(Clone)]
pub struct On {
    left: Vec<Expr>,
    right: Vec<Expr>,
    suffix: String,
}

/// Matches columns of different names: `on("dest", "faa")`, `on(["a", "b"], ["c", "d"])`.
pub fn on(left: impl IntoExprs, right: impl IntoExprs) -> On {
    On { left: left.into_exprs(), right: right.into_exprs(), suffix: "_right".to_string() }
}

/// Matches columns of the same name in both frames: `using("carrier")`, `using(["origin", "time_hour"])`.
pub fn using(columns: impl IntoExprs) -> On {
    let columns = columns.into_exprs();
    On { left: columns.clone(), right: columns, suffix: "_right".to_string() }
}

impl On {
    /// What is added to the right frame's names that the left one has too. Default: `_right`.
    #[must_use]
    pub fn suffix(mut self, suffix: impl Into<String>) -> Self {
        self.suffix = suffix.into();
        self
    }
}

/// What to match: `on("dest", "faa")`, or the names that both frames have: `"carrier"`, `["origin", "time_hour"]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which columns a join matches",
    label = "expected on(\"left\", \"right\"), or the name of a column that both frames have"
)]
pub trait IntoJoin {
    #[doc(hidden)]
    fn into_join(self) -> On;
}

impl IntoJoin for On {
    fn into_join(self) -> On {
        self
    }
}

impl IntoJoin for &On {
    fn into_join(self) -> On {
        self.clone()
    }
}

macro_rules! names {
    ($([$($generics:tt)*] $t:ty),* $(,)?) => {$(
        impl<$($generics)*> IntoJoin for $t {
            fn into_join(self) -> On {
                using(self)
            }
        }
    )*};
}
names!([] &str, [] String, [] &String, [] crate::Expr, [] &crate::Expr, [] crate::Exprs, [T: IntoExprs, const N: usize] [T; N],
       [T: IntoExprs + Clone, const N: usize] &[T; N], [T: IntoExprs] Vec<T>, [T: IntoExprs + Clone] &Vec<T>,
       [T: IntoExprs + Clone] &[T]);

impl Frame {
    #[inline(never)]
    fn joined(&self, right: &Frame, how: JoinKind, on: On, at: Span) -> Frame {
        if on.left.len() != on.right.len() {
            raise(
                Diagnostic::error(
                    Class::Plan,
                    "join-keys",
                    format!(
                        "{} columns of the left frame and {} of the right one cannot match",
                        on.left.len(),
                        on.right.len()
                    ),
                )
                .at(at, "")
                .help("name as many on both sides: on([\"a\", \"b\"], [\"c\", \"d\"])"),
            );
        }
        let op = Op::Join {
            left: self.id(),
            right: right.id(),
            how,
            left_on: on.left,
            right_on: on.right,
            suffix: on.suffix,
        };
        Frame::step(op, at)
    }

    /// All combinations of rows: width and height multiply.
    #[track_caller]
    pub fn cross_join(&self, right: &Frame) -> Frame {
        self.joined(right, JoinKind::Cross, using(()), here("cross_join"))
    }
}

macro_rules! joins {
    ($($(#[$doc:meta])* $name:ident $kind:ident),*) => {
        impl Frame {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(&self, right: &Frame, on: impl IntoJoin) -> Frame {
                self.joined(right, JoinKind::$kind, on.into_join(), here(stringify!($name)))
            }
        )*}
    };
}
joins! {
    /// Rows of both frames that match. A null matches nothing.
    inner_join Inner,
    /// The same as [`Frame::inner_join`].
    join Inner,
    /// All rows of this frame, in order, with the matching rows of `right`; null where none matches.
    left_join Left,
    /// All rows of `right`, with the matching rows of this frame; null where none matches.
    right_join Right,
    /// All rows of both frames; null where none matches.
    full_join Full,
    /// The rows of this frame that have a match in `right`; no columns are added.
    semi_join Semi,
    /// The rows of this frame that have no match in `right`.
    anti_join Anti
}
