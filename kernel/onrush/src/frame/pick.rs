//! Steps that pick rows or names and are made of other steps: the largest rows, every n-th one, duplicates, other
//! names.

use onrush_wire::plan::Op;
use onrush_wire::{BinaryOp, Expr, ExprKind, Span};

use super::Frame;
use crate::expr::{IntoExprs, IntoSortKeys};
use crate::raise::here;

/// An operator between two expressions.
pub(super) fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::new(ExprKind::Binary(op, Box::new(left), Box::new(right)))
}

/// `value.over(partition)`.
pub(super) fn over(value: Expr, partition: Vec<Expr>) -> Expr {
    Expr::new(ExprKind::Over { value: Box::new(value), partition, order: Vec::new() })
}

/// The end of an order.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Largest,
    Smallest,
}

impl Frame {
    /// The `k` rows with the largest values, the largest first; nulls come last: `f.top_k(5, "price")`, or
    /// `desc("price")`. With `desc` among several keys, the rows that come first in that order: `f.top_k(5,
    /// (desc("score"), asc("name")))`.
    #[track_caller]
    pub fn top_k(&self, k: usize, by: impl IntoSortKeys) -> Frame {
        self.ends(k, by.into_sort_keys(), here("top_k"), Direction::Largest)
    }

    /// The `k` rows with the smallest values, the smallest first; nulls come last. With `desc` among several keys, the
    /// rows that come last in that order.
    #[track_caller]
    pub fn bottom_k(&self, k: usize, by: impl IntoSortKeys) -> Frame {
        self.ends(k, by.into_sort_keys(), here("bottom_k"), Direction::Smallest)
    }

    fn ends(&self, k: usize, mut keys: Vec<onrush_wire::expr::SortKey>, at: Span, direction: Direction) -> Frame {
        // Keys without a direction are all of one.
        let is_ordered = keys.iter().any(|key| key.descending);
        for key in &mut keys {
            let first = !is_ordered || key.descending;
            key.descending = first == (direction == Direction::Largest);
            key.nulls_last = Some(key.nulls_last.unwrap_or(true));
        }
        let sorted = Frame::step(Op::Sort { input: self.id(), keys }, at.clone());
        Frame::step(Op::Slice { input: sorted.id(), offset: 0, length: Some(k as u64) }, at)
    }

    /// Every `n`-th row, from the row `offset` on.
    #[track_caller]
    pub fn gather_every(&self, n: usize, offset: usize) -> Frame {
        let row = binary(BinaryOp::Subtract, Expr::call("row_number", []), Expr::literal(offset as i64 + 1));
        let place = binary(BinaryOp::Remainder, row.clone(), Expr::literal(n.max(1) as i64));
        let every = binary(BinaryOp::Equal, place, Expr::literal(0i64));
        let later = binary(BinaryOp::GreaterEqual, row, Expr::literal(0i64));
        let predicate = binary(BinaryOp::And, every, later);
        Frame::step(Op::Filter { input: self.id(), predicate }, here("gather_every"))
    }

    /// All rows in an order that the seed fixes.
    #[track_caller]
    pub fn shuffle(&self, seed: u64) -> Frame {
        let expr = Expr::call("random", [Expr::literal(seed.cast_signed())]);
        let keys = vec![onrush_wire::expr::SortKey { expr, descending: false, nulls_last: None }];
        Frame::step(Op::Sort { input: self.id(), keys }, here("shuffle"))
    }

    /// The rows that occur more than once, by some columns (by all of them if the list is empty): `f.duplicates("id")`.
    #[track_caller]
    pub fn duplicates(&self, columns: impl IntoExprs) -> Frame {
        let at = here("duplicates");
        let predicate = self.is_repeated(columns.into_exprs());
        Frame::step(Op::Filter { input: self.id(), predicate }, at)
    }

    /// For each row whether an equal one occurs, as the only column `is_duplicated`.
    #[track_caller]
    pub fn is_duplicated(&self) -> Frame {
        let at = here("is_duplicated");
        let exprs = vec![self.is_repeated(Vec::new()).alias("is_duplicated")];
        Frame::step(Op::Select { input: self.id(), exprs }, at)
    }

    fn is_repeated(&self, columns: Vec<Expr>) -> Expr {
        let columns = match columns.is_empty() {
            true => self.columns().into_iter().map(Expr::column).collect(),
            false => columns,
        };
        binary(BinaryOp::Greater, over(Expr::call("len", []), columns), Expr::literal(1i64))
    }

    /// Renames all columns by a function: `f.rename_with(|name| name.to_lowercase().replace(' ', "_"))`.
    #[track_caller]
    pub fn rename_with(&self, rename: impl Fn(&str) -> String) -> Frame {
        let names = self.columns().into_iter().map(|name| (name.clone(), rename(&name)));
        let names = names.filter(|(old, new)| old != new).collect();
        Frame::step(Op::Rename { input: self.id(), names }, here("rename_with"))
    }
}
