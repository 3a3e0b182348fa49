//! Joins and their keys.

use onrush_wire::plan::{AsofStrategy, JoinKind, Op};
use onrush_wire::{Class, Diagnostic, Expr, Span, Value};

use super::Frame;
use crate::expr::{self, IntoExprs};
use crate::raise::{here, raise};

/// The key columns of a join, and the suffix of names that both frames have; see [`on`] and [`using`].
#[derive(Clone)]
pub struct On {
    left: Vec<Expr>,
    right: Vec<Expr>,
    suffix: String,
    /// Whether a key occurs at most once on the left, and on the right.
    once: (bool, bool),
}

/// Matches columns of different names: `on("dest", "faa")`, `on(["a", "b"], ["c", "d"])`.
pub fn on(left: impl IntoExprs, right: impl IntoExprs) -> On {
    On { left: left.into_exprs(), right: right.into_exprs(), suffix: "_right".to_string(), once: (false, false) }
}

/// Matches columns of the same name in both frames: `using("carrier")`, `using(["origin", "time_hour"])`.
pub fn using(columns: impl IntoExprs) -> On {
    let columns = columns.into_exprs();
    On { left: columns.clone(), right: columns, suffix: "_right".to_string(), once: (false, false) }
}

impl On {
    /// The suffix for names of the right frame that the left one has too. Default: `_right`.
    #[must_use]
    pub fn suffix(mut self, suffix: impl Into<String>) -> Self {
        self.suffix = suffix.into();
        self
    }

    /// Checks the keys when the join is made: `"1:1"`, `"1:m"` (each key once on the left), `"m:1"` (once on the right)
    /// or `"m:m"`. Raises an error that names a key that occurs more than once. Runs the plans of the sides that it
    /// checks.
    #[must_use]
    #[track_caller]
    pub fn validate(mut self, relation: &str) -> Self {
        self.once = match relation {
            "1:1" | "one_to_one" => (true, true),
            "1:m" | "one_to_many" => (true, false),
            "m:1" | "many_to_one" => (false, true),
            "m:m" | "many_to_many" => (false, false),
            other => {
                let message = format!("`{other}` is none of `1:1`, `1:m`, `m:1`, `m:m`");
                raise(Diagnostic::error(Class::Plan, "argument", message).at(here("validate"), ""))
            }
        };
        self
    }
}

/// The keys of a join: `on("dest", "faa")`, or the names that both frames have: `"carrier"`, `["origin", "time_hour"]`.
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
names!([] &str, [] String, [] &String, [] expr::Expr, [] &expr::Expr, [] expr::Exprs, [T: IntoExprs, const N: usize] [T; N],
       [T: IntoExprs + Clone, const N: usize] &[T; N], [T: IntoExprs] Vec<T>, [T: IntoExprs + Clone] &Vec<T>,
       [T: IntoExprs + Clone] &[T]);

/// The key and options of an as-of join; see [`asof`].
#[derive(Clone)]
pub struct Asof {
    on: On,
    by: On,
    strategy: AsofStrategy,
    tolerance: Option<Value>,
    exact: bool,
    suffix: Option<String>,
}

/// The ordered key of [`Frame::join_asof`], of numbers or times: `asof("time")`, `asof(on("time", "quoted_at"))`.
pub fn asof(key: impl IntoJoin) -> Asof {
    Asof {
        on: key.into_join(),
        by: using(()),
        strategy: AsofStrategy::Backward,
        tolerance: None,
        exact: true,
        suffix: None,
    }
}

impl Asof {
    /// Columns that must be equal: `.by("ticker")`. A null matches nothing.
    #[must_use]
    pub fn by(mut self, columns: impl IntoJoin) -> Self {
        self.by = columns.into_join();
        self
    }

    /// Looks backward: the last row whose key is at most the left one's. The default.
    #[must_use]
    pub fn backward(mut self) -> Self {
        self.strategy = AsofStrategy::Backward;
        self
    }

    /// Looks forward: the first row whose key is at least the left one's.
    #[must_use]
    pub fn forward(mut self) -> Self {
        self.strategy = AsofStrategy::Forward;
        self
    }

    /// Takes the nearest row of both directions; the one before, if both are equally near.
    #[must_use]
    pub fn nearest(mut self) -> Self {
        self.strategy = AsofStrategy::Nearest;
        self
    }

    /// The maximum distance: a number, or for times an interval such as `"30s"`, `"5m"`, `"1d"`. Default: no limit.
    #[must_use]
    pub fn tolerance(mut self, most: impl Into<Value>) -> Self {
        self.tolerance = Some(most.into());
        self
    }

    /// Whether a row with an equal key matches. Default: yes.
    #[must_use]
    pub fn allow_exact_matches(mut self, allow: bool) -> Self {
        self.exact = allow;
        self
    }

    /// The suffix for names of the right frame that the left one has too. Default: `_right`.
    #[must_use]
    pub fn suffix(mut self, suffix: impl Into<String>) -> Self {
        self.suffix = Some(suffix.into());
        self
    }
}

/// The keys of an as-of join: `asof("time").by("ticker")`, or the ordered key alone: `"time"`, `on("time",
/// "quoted_at")`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say by which column an as-of join finds rows",
    label = "expected asof(\"time\"), or the name of a column that both frames have"
)]
pub trait IntoAsof {
    #[doc(hidden)]
    fn into_asof(self) -> Asof;
}

impl IntoAsof for Asof {
    fn into_asof(self) -> Asof {
        self
    }
}

impl IntoAsof for &Asof {
    fn into_asof(self) -> Asof {
        self.clone()
    }
}

impl<T: IntoJoin> IntoAsof for T {
    fn into_asof(self) -> Asof {
        asof(self)
    }
}

impl Frame {
    /// All rows of this frame, in order, each with the one row of `right` that is nearest by a number or a time, or
    /// with nulls: `trades.join_asof(&quotes, asof("time").by("ticker").tolerance("2s"))`.
    ///
    /// Neither frame needs to be sorted. A key with several rows takes the last one of `right` looking backward, and
    /// the first one looking forward. A key that is null or NaN is near nothing, and a null in `by` matches nothing.
    /// The right frame's key columns are left out. As pandas' `merge_asof` and Polars' `join_asof`.
    ///
    /// # Errors
    /// Raises if the keys are neither numbers nor times, or a tolerance does not fit them.
    #[track_caller]
    pub fn join_asof(&self, right: &Frame, with: impl IntoAsof) -> Frame {
        self.near(right, with.into_asof(), here("join_asof"))
    }

    #[inline(never)]
    fn near(&self, right: &Frame, with: Asof, at: Span) -> Frame {
        let ([left_on], [right_on]) = (&with.on.left[..], &with.on.right[..]) else {
            let found = with.on.left.len().max(with.on.right.len());
            let message = format!("an as-of join goes by one column, and {found} were named");
            raise(
                Diagnostic::error(Class::Plan, "join-keys", message)
                    .at(at, "")
                    .help("columns that must be equal come with `by`: asof(\"time\").by(\"ticker\")"),
            )
        };
        let (left_on, right_on) = (left_on.clone(), right_on.clone());
        let suffix = with.suffix.unwrap_or(with.on.suffix);
        let with = onrush_wire::plan::Asof {
            left_on,
            right_on,
            left_by: with.by.left,
            right_by: with.by.right,
            strategy: with.strategy,
            tolerance: with.tolerance,
            exact: with.exact,
            suffix,
        };
        Frame::step(Op::JoinAsof { left: self.id(), right: right.id(), with }, at)
    }

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
        let sides = [(on.once.0, self, &on.left, "left"), (on.once.1, right, &on.right, "right")];
        for (_, frame, keys, side) in sides.into_iter().filter(|(once, ..)| *once) {
            if let Some((key, count)) = frame.repeated_key(keys, &at) {
                let message = format!("the key {key} occurs {count} times in the {side} frame, and once is allowed");
                let help = "remove the others with `unique_by`, or allow them: `validate(\"m:m\")`";
                raise(Diagnostic::error(Class::Data, "repeated-key", message).at(at, "").help(help));
            }
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

    /// Cross join: all pairs of rows. Width and height multiply.
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
    /// Inner join: the pairs of matching rows. A null matches nothing.
    inner_join Inner,
    /// Inner join: an alias of [`Frame::inner_join`].
    join Inner,
    /// Left join: all rows of this frame, in order, with the matching rows of `right`; null without a match.
    left_join Left,
    /// Right join: all rows of `right`, with the matching rows of this frame; null without a match.
    right_join Right,
    /// Full outer join: all rows of both frames; null without a match.
    full_join Full,
    /// Semi join: the rows of this frame that have a match in `right`; no columns are added.
    semi_join Semi,
    /// Anti join: the rows of this frame that have no match in `right`.
    anti_join Anti
}
