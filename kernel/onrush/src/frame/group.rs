//! Aggregation by groups.

use onrush_wire::plan::Op;
use onrush_wire::{Expr, Span};

use super::Frame;
use crate::expr::{IntoColumns, IntoExprs};
use crate::raise::here;

/// A frame with grouping keys, before its aggregates are known; see [`Frame::group_by`].
#[derive(Clone)]
pub struct GroupBy {
    frame: Frame,
    keys: Vec<Expr>,
}

impl GroupBy {
    pub(super) fn new(frame: Frame, keys: Vec<Expr>) -> Self {
        GroupBy { frame, keys }
    }

    /// One row for each group, with the keys and these aggregates: `.agg(x!(n = len(), p90 = delay.quantile(0.9)))`.
    #[track_caller]
    pub fn agg(&self, aggs: impl IntoExprs) -> Frame {
        self.run(aggs.into_exprs(), here("agg"))
    }

    /// Number of rows of each group, as the column `len`.
    #[track_caller]
    pub fn len(&self) -> Frame {
        self.run(vec![Expr::call("len", []).alias("len")], here("len"))
    }

    #[inline(never)]
    fn run(&self, aggs: Vec<Expr>, at: Span) -> Frame {
        Frame::step(Op::GroupBy { input: self.frame.id(), keys: self.keys.clone(), aggs }, at)
    }

    #[inline(never)]
    fn each(&self, function: &str, columns: Vec<String>, at: Span) -> Frame {
        let aggs =
            columns.into_iter().map(|name| Expr::call(function, [Expr::column(&*name)]).at(at.clone()).alias(name));
        self.run(aggs.collect(), at.clone())
    }
}

macro_rules! shortcuts {
    ($($(#[$doc:meta])* $name:ident),*) => {
        impl GroupBy {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(&self, columns: impl IntoColumns) -> Frame {
                self.each(stringify!($name), columns.into_columns(), here(stringify!($name)))
            }
        )*}
    };
}
shortcuts! {
    /// Number of values that are not null, of each named column.
    count,
    /// Sum of each named column.
    sum,
    /// Mean of each named column.
    mean,
    /// Median of each named column.
    median,
    /// Smallest value of each named column.
    min,
    /// Largest value of each named column.
    max,
    /// Standard deviation (divisor n − 1) of each named column.
    std,
    /// Variance (divisor n − 1) of each named column.
    var,
    /// First value of each named column.
    first,
    /// Last value of each named column.
    last,
    /// Number of distinct values of each named column.
    n_unique
}
