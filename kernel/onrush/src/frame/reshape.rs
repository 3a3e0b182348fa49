//! Less common steps: sampling, nulls, duplicates, counts, and reshaping.

use arrow::array::{Array, RecordBatch};
use onrush_wire::plan::{ConcatHow, Keep, Op, SampleSize};
use onrush_wire::{Class, DataType, Diagnostic, ExprKind, Span, Value};

use super::{Frame, IntoFrames, IntoPairs, IntoSampleSize};
use crate::expr::IntoExprs;
use crate::into_column::IntoColumn;
use crate::raise::{here, raise};

impl Frame {
    /// A random sample without replacement, in the frame's order: `f.sample(1000)` rows, or `f.sample(0.1)` of them.
    /// One line of a cell takes equal rows every time; [`Frame::sample_seed`] takes others, and [`Frame::shuffle`]
    /// changes the order. Raises for more rows than there are. [`GroupBy::sample`](super::GroupBy::sample) takes rows
    /// of each group.
    #[track_caller]
    pub fn sample(&self, amount: impl IntoSampleSize) -> Frame {
        let at = here("sample");
        let seed = (u64::from(at.line) << 16) | u64::from(at.column);
        self.sampled(amount.into_sample_size(), seed, false, at)
    }

    /// A sample as of [`Frame::sample`], with a seed.
    #[track_caller]
    pub fn sample_seed(&self, amount: impl IntoSampleSize, seed: u64) -> Frame {
        self.sampled(amount.into_sample_size(), seed, false, here("sample_seed"))
    }

    /// A sample as of [`Frame::sample_seed`], with replacement (for a bootstrap).
    #[track_caller]
    pub fn sample_with_replacement(&self, amount: impl IntoSampleSize, seed: u64) -> Frame {
        self.sampled(amount.into_sample_size(), seed, true, here("sample_with_replacement"))
    }

    #[inline(never)]
    fn sampled(
        &self,
        amount: Result<onrush_wire::plan::SampleSize, String>,
        seed: u64,
        with_replacement: bool,
        at: Span,
    ) -> Frame {
        if let (Ok(SampleSize::Rows(wanted)), false) = (&amount, with_replacement) {
            let rows = self.count_rows(at.clone());
            if *wanted > rows as u64 {
                let message = format!("a sample of {wanted} rows is larger than the frame, which has {rows}");
                let help = "take at most as many, or draw with `sample_with_replacement`; `shuffle` gives all of them";
                raise(Diagnostic::error(Class::Plan, "sample-size", message).at(at, "").help(help));
            }
        }
        match amount {
            Ok(amount) => Frame::step(Op::Sample { input: self.id(), amount, seed, with_replacement }, at),
            Err(message) => raise(Diagnostic::error(Class::Plan, "sample-size", message).at(at, "")),
        }
    }

    /// Removes duplicate rows and keeps the first; the order stays.
    #[track_caller]
    pub fn unique(&self) -> Frame {
        Frame::step(Op::Unique { input: self.id(), subset: Vec::new(), keep: Keep::First }, here("unique"))
    }

    /// Removes rows that are equal in some columns and keeps the first; the order stays.
    #[track_caller]
    pub fn unique_by(&self, columns: impl IntoExprs) -> Frame {
        Frame::step(Op::Unique { input: self.id(), subset: columns.into_exprs(), keep: Keep::First }, here("unique_by"))
    }

    /// Removes duplicates as [`Frame::unique_by`], with a choice of the row to keep: `Keep::First`, `Last`, `Any`, or
    /// `None` of them.
    #[track_caller]
    pub fn unique_keep(&self, columns: impl IntoExprs, keep: Keep) -> Frame {
        Frame::step(Op::Unique { input: self.id(), subset: columns.into_exprs(), keep }, here("unique_keep"))
    }

    /// Drops rows with a null in any column.
    #[track_caller]
    pub fn drop_nulls(&self) -> Frame {
        Frame::step(Op::DropNulls { input: self.id(), subset: Vec::new() }, here("drop_nulls"))
    }

    /// Drops rows with a null in one of these columns.
    #[track_caller]
    pub fn drop_nulls_in(&self, columns: impl IntoExprs) -> Frame {
        Frame::step(Op::DropNulls { input: self.id(), subset: columns.into_exprs() }, here("drop_nulls_in"))
    }

    /// Replaces nulls by `value`, in every column whose type can hold it.
    #[track_caller]
    pub fn fill_null(&self, value: impl Into<Value>) -> Frame {
        Frame::step(Op::FillNull { input: self.id(), value: value.into() }, here("fill_null"))
    }

    /// Converts columns: `f.cast([("year", "i32"), ("flight", "str")])`. Raises if a value cannot be converted.
    #[track_caller]
    pub fn cast(&self, columns: impl IntoPairs<DataType>) -> Frame {
        Frame::step(Op::Cast { input: self.id(), columns: columns.into_pairs(), strict: true }, here("cast"))
    }

    /// Number of values, nulls, mean, standard deviation, smallest, quartiles and largest of each column.
    #[track_caller]
    pub fn describe(&self) -> Frame {
        Frame::step(Op::Describe { input: self.id() }, here("describe"))
    }

    /// Distinct values of a column with their `count`, most frequent first.
    #[track_caller]
    pub fn value_counts(&self, column: impl IntoExprs) -> Frame {
        let at = here("value_counts");
        match <[onrush_wire::Expr; 1]>::try_from(column.into_exprs()) {
            Ok([column]) => Frame::step(Op::ValueCounts { input: self.id(), column }, at),
            Err(columns) => raise(
                Diagnostic::error(
                    Class::Plan,
                    "one-column",
                    format!("value_counts takes one column, and {} are given", columns.len()),
                )
                .at(at, "")
                .help("for combinations: group_by([\"a\", \"b\"]).len()"),
            ),
        }
    }

    /// Number of nulls of every column, in one row.
    #[track_caller]
    pub fn null_count(&self) -> Frame {
        let at = here("null_count");
        let count =
            |name: String| onrush_wire::Expr::call("null_count", [onrush_wire::Expr::column(&*name)]).alias(name);
        Frame::step(Op::Select { input: self.id(), exprs: self.columns().into_iter().map(count).collect() }, at)
    }

    /// A column for each value of `on`, or for each combination of values of several columns (named `{"x","y"}`, as in
    /// Polars): rows are grouped by `index`, and `values` combined by `aggregate` (`sum`, `mean`, `min`, `max`, `len`,
    /// `first`, `last`, `median`).
    #[track_caller]
    pub fn pivot(&self, on: impl IntoExprs, index: impl IntoExprs, values: impl IntoExprs, aggregate: &str) -> Frame {
        let at = here("pivot");
        let op = Op::Pivot {
            input: self.id(),
            on: self.chosen(on.into_exprs(), &at),
            index: self.chosen(index.into_exprs(), &at),
            values: self.chosen(values.into_exprs(), &at),
            aggregate: aggregate.to_string(),
        };
        Frame::step(op, at)
    }

    /// Reshapes from wide to long: the columns `on` become rows, with their names in `variable` and their values in
    /// `value`. The columns `index` are repeated. Selectors such as `numeric()` and `matching("^d_")` stand for
    /// columns.
    #[track_caller]
    pub fn unpivot(&self, on: impl IntoExprs, index: impl IntoExprs) -> Frame {
        self.long(on.into_exprs(), index.into_exprs(), ("variable", "value"), here("unpivot"))
    }

    /// Reshapes as [`Frame::unpivot`], with names for the two new columns.
    #[track_caller]
    pub fn unpivot_as(&self, on: impl IntoExprs, index: impl IntoExprs, variable: &str, value: &str) -> Frame {
        self.long(on.into_exprs(), index.into_exprs(), (variable, value), here("unpivot_as"))
    }

    #[inline(never)]
    fn long(&self, on: Vec<onrush_wire::Expr>, index: Vec<onrush_wire::Expr>, names: (&str, &str), at: Span) -> Frame {
        // A column that is repeated does not become rows, too.
        let (index, is_named) = (self.chosen(index, &at), on.iter().all(is_name));
        let mut on = self.chosen(on, &at);
        if !is_named {
            on.retain(|name| !index.contains(name));
        }
        let (variable_name, value_name) = (names.0.to_string(), names.1.to_string());
        Frame::step(Op::Unpivot { input: self.id(), index, on, variable_name, value_name }, at)
    }

    /// Adds a first column that numbers the rows from 0.
    #[track_caller]
    pub fn with_row_index(&self, name: &str) -> Frame {
        Frame::step(Op::WithRowIndex { input: self.id(), name: name.to_string(), offset: 0 }, here("with_row_index"))
    }

    /// Explodes list columns: one row for each element.
    #[track_caller]
    pub fn explode(&self, columns: impl IntoExprs) -> Frame {
        let at = here("explode");
        let columns = self.chosen(columns.into_exprs(), &at);
        Frame::step(Op::Explode { input: self.id(), columns }, at)
    }

    /// Adds a column of Rust values, one for each row, after the other columns.
    #[track_caller]
    pub fn with_values(&self, name: &str, values: impl IntoColumn) -> Frame {
        let at = here("with_values");
        let values = values.to_array();
        let (rows, given) = (self.count_rows(at.clone()), values.len());
        if rows != given {
            let message = format!("{given} values are given for {rows} rows");
            raise(Diagnostic::error(Class::Plan, "lengths", message).at(at, "").help("give one value for each row"));
        }
        let column = match RecordBatch::try_from_iter([(name, values)]) {
            Ok(batch) => crate::handle::send(&batch, at.clone()),
            Err(e) => raise(Diagnostic::error(Class::Plan, "frame", e.to_string()).at(at, "")),
        };
        Frame::step(Op::Concat { inputs: vec![self.id(), column.id()], how: ConcatHow::Horizontal }, at)
    }

    /// Appends the rows of `other`, which has the same columns.
    #[track_caller]
    pub fn vstack(&self, other: &Frame) -> Frame {
        Frame::step(Op::Concat { inputs: vec![self.id(), other.id()], how: ConcatHow::Vertical }, here("vstack"))
    }

    /// Appends the columns of `other`, which has as many rows.
    #[track_caller]
    pub fn hstack(&self, other: &Frame) -> Frame {
        Frame::step(Op::Concat { inputs: vec![self.id(), other.id()], how: ConcatHow::Horizontal }, here("hstack"))
    }
}

fn is_name(expr: &onrush_wire::Expr) -> bool {
    matches!(expr.kind, ExprKind::Column(_))
}

/// Concatenates the rows of frames with the same columns: `concat([&a, &b])`.
#[track_caller]
pub fn concat(frames: impl IntoFrames) -> Frame {
    Frame::step(Op::Concat { inputs: frames.ids(), how: ConcatHow::Vertical }, here("concat"))
}

/// Concatenates the rows of frames with the union of their columns; missing values are null.
#[track_caller]
pub fn concat_diagonal(frames: impl IntoFrames) -> Frame {
    Frame::step(Op::Concat { inputs: frames.ids(), how: ConcatHow::Diagonal }, here("concat_diagonal"))
}

/// Concatenates the columns of frames with as many rows.
#[track_caller]
pub fn concat_horizontal(frames: impl IntoFrames) -> Frame {
    Frame::step(Op::Concat { inputs: frames.ids(), how: ConcatHow::Horizontal }, here("concat_horizontal"))
}
