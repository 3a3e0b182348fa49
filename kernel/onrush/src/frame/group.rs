//! Aggregation by groups.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{cast, concat_batches};
use onrush_wire::plan::{Op, SampleSize};
use onrush_wire::{BinaryOp, Class, Diagnostic, Expr, ExprKind, Span, Value};

use super::pick::{binary, over};
use super::{Frame, IntoSampleSize};
use crate::arrow_conversion::value_at;
use crate::expr::IntoExprs;
use crate::raise::{here, raise};
use crate::session;

/// Groups that `map_groups` calls a function for.
const MOST_GROUPS: usize = 10_000;

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

    /// Adds keys before the others: `f.group_by_dynamic("time", "1d").and_by("shop")`.
    #[must_use]
    pub fn and_by(&self, keys: impl IntoExprs) -> GroupBy {
        let keys = keys.into_exprs().into_iter().chain(self.keys.iter().cloned()).collect();
        GroupBy { frame: self.frame.clone(), keys }
    }

    /// The first `n` rows of each group, in the order of the keys, with all columns.
    #[track_caller]
    pub fn head(&self, n: usize) -> Frame {
        let place = over(Expr::call("row_number", []), self.keys.clone());
        self.picked(binary(BinaryOp::LessEqual, place, Expr::literal(n as i64)), here("head"))
    }

    /// The last `n` rows of each group, in the order of the keys, with all columns.
    #[track_caller]
    pub fn tail(&self, n: usize) -> Frame {
        let place = over(Expr::call("row_number", []), self.keys.clone());
        let rows = Expr::call("cast", [over(Expr::call("len", []), self.keys.clone()), Expr::literal("i64")]);
        let left = binary(BinaryOp::Subtract, rows, place);
        self.picked(binary(BinaryOp::Less, left, Expr::literal(n as i64)), here("tail"))
    }

    /// A random sample of each group: so many rows (or all of a smaller group), or a fraction of them, rounded. With
    /// the keys as strata it is a stratified sample. In the order of the keys.
    #[track_caller]
    pub fn sample(&self, amount: impl IntoSampleSize, seed: u64) -> Frame {
        let at = here("sample");
        let random = Expr::call("random", [Expr::literal(seed.cast_signed())]);
        let place = over(Expr::call("rank", [random, Expr::literal("ordinal")]), self.keys.clone());
        let most = match amount.into_sample_size() {
            Ok(SampleSize::Rows(n)) => Expr::literal(n),
            Ok(SampleSize::Fraction(share)) => {
                let rows = over(Expr::call("len", []), self.keys.clone());
                Expr::call("round", [binary(BinaryOp::Multiply, rows, Expr::literal(share))])
            }
            Err(message) => raise(Diagnostic::error(Class::Plan, "sample-size", message).at(at, "")),
        };
        self.picked(binary(BinaryOp::LessEqual, place, most), at)
    }

    #[inline(never)]
    fn picked(&self, predicate: Expr, at: Span) -> Frame {
        let rows = Frame::step(Op::Filter { input: self.frame.id(), predicate }, at.clone());
        let key = |expr: &Expr| onrush_wire::expr::SortKey { expr: expr.clone(), descending: false, nulls_last: None };
        let keys = self.keys.iter().map(key).collect();
        let sorted = Frame::step(Op::Sort { input: rows.id(), keys }, at.clone());
        // Keys that are columns come first, as in Polars.
        let named = self.keys.iter().filter_map(|key| match &key.kind {
            ExprKind::Column(name) => Some(name.clone()),
            _ => None,
        });
        let named: Vec<String> = named.collect();
        if named.len() != self.keys.len() {
            return sorted;
        }
        let mut exprs: Vec<Expr> = named.iter().map(|name| Expr::column(name.clone())).collect();
        if self.frame.width() > named.len() {
            exprs.push(Expr::new(ExprKind::All { except: named }));
        }
        Frame::step(Op::Select { input: sorted.id(), exprs }, at)
    }

    /// Calls a Rust function with the rows of each group, in the order of the keys, and concatenates the frames that it
    /// returns, which have the same columns: `f.group_by("shop").map_groups(|g| g.top_k(1, "price"))`. Each call runs a
    /// plan: where an expression does the same, it is much faster. At most 10,000 groups.
    #[track_caller]
    pub fn map_groups(&self, mut function: impl FnMut(&Frame) -> Frame) -> Frame {
        let at = here("map_groups");
        let groups = self.parts(&at);
        let mut results: Vec<RecordBatch> = Vec::with_capacity(groups.len());
        for group in groups {
            let result = function(&group);
            results.push(session::collect(result.id(), Vec::new(), at.clone()));
        }
        let Some(first) = results.first() else { return function(&self.frame) };
        let schema = first.schema();
        let of_schema = |(place, batch): (usize, &RecordBatch)| {
            let columns = schema.fields().iter().map(|field| {
                let column =
                    batch.column_by_name(field.name()).filter(|_| batch.num_columns() == schema.fields().len());
                column.and_then(|column| cast(column, field.data_type()).ok())
            });
            let columns: Option<Vec<ArrayRef>> = columns.collect();
            let batch = columns.and_then(|columns| {
                let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
                RecordBatch::try_new(Arc::new(arrow::datatypes::Schema::new(fields.collect::<Vec<_>>())), columns).ok()
            });
            batch.unwrap_or_else(|| {
                let message = format!("group {place} gave other columns than the first one");
                let help = "`select` the same columns in the same types in every case";
                raise(Diagnostic::error(Class::Plan, "columns", message).at(at.clone(), "").help(help))
            })
        };
        let alike: Vec<RecordBatch> = results.iter().enumerate().map(of_schema).collect();
        match concat_batches(&alike[0].schema(), &alike) {
            Ok(batch) => crate::handle::send(&batch, at),
            Err(e) => raise(Diagnostic::error(Class::Data, "frame", e.to_string()).at(at, "")),
        }
    }

    /// The rows of each group as a frame.
    fn parts(&self, at: &Span) -> Vec<Frame> {
        let key = |expr: &Expr| onrush_wire::expr::SortKey { expr: expr.clone(), descending: false, nulls_last: None };
        let keys = self.keys.iter().map(key).collect();
        let sorted = Frame::step(Op::Sort { input: self.frame.id(), keys }, at.clone()).persist();
        let counts = self.run(vec![Expr::call("len", []).alias("__count")], at.clone());
        let batch = session::collect(counts.id(), vec!["__count".to_string()], at.clone());
        if batch.num_rows() > MOST_GROUPS {
            let message =
                format!("{} groups are too many for `map_groups`, {MOST_GROUPS} are the most", batch.num_rows());
            let help = "write it as an expression: `.agg(..)`, or `.over(\"key\")` for a value of each row";
            raise(Diagnostic::error(Class::Plan, "too-many-groups", message).at(at.clone(), "").help(help));
        }
        let mut offset = 0;
        let mut parts = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let rows = match value_at(batch.column(0), row) {
                Value::UInt(n) => n,
                Value::Int(n) => n.unsigned_abs(),
                _ => 0,
            };
            parts.push(Frame::step(Op::Slice { input: sorted.id(), offset, length: Some(rows) }, at.clone()));
            offset += rows as i64;
        }
        parts
    }

    #[inline(never)]
    pub(super) fn run(&self, aggs: Vec<Expr>, at: Span) -> Frame {
        Frame::step(Op::GroupBy { input: self.frame.id(), keys: self.keys.clone(), aggs }, at)
    }

    #[inline(never)]
    fn each(&self, function: &str, columns: Vec<Expr>, at: Span) -> Frame {
        // A selector stands for several columns, which keep their names.
        let aggs = columns.into_iter().map(|column| match &column.kind {
            ExprKind::Column(name) => {
                let name = name.clone();
                Expr::call(function, [column]).at(at.clone()).alias(name)
            }
            _ => Expr::call(function, [column]).at(at.clone()),
        });
        self.run(aggs.collect(), at.clone())
    }
}

macro_rules! shortcuts {
    ($($(#[$doc:meta])* $name:ident),*) => {
        impl GroupBy {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(&self, columns: impl IntoExprs) -> Frame {
                self.each(stringify!($name), columns.into_exprs(), here(stringify!($name)))
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
