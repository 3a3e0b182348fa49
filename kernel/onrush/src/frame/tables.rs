//! Tables about a frame: correlations, contingency tables, indicator columns, the frame on its side, an overview of its
//! columns. The columns of most of them depend on values, which are computed at the call.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Builder, RecordBatch, StringArray, UInt64Array};
use arrow::compute::{cast, concat, take};
use arrow::datatypes::{DataType as Arrow, Float64Type};
use onrush_wire::plan::Op;
use onrush_wire::{BinaryOp, Class, DataType, Diagnostic, Expr, Span, Value};

use super::Frame;
use super::pick::binary;
use crate::arrow_conversion::value_at;
use crate::expr::IntoExprs;
use crate::raise::{here, raise};
use crate::session;

/// Expressions that one request asks for.
const AT_ONCE: usize = 300;
/// Columns that a table about a frame may have.
const MOST_COLUMNS: usize = 2000;

fn refuse(message: String, help: &str, at: Span) -> ! {
    raise(Diagnostic::error(Class::Plan, "too-many-columns", message).at(at, "").help(help))
}

fn frame_of(columns: Vec<(String, ArrayRef)>, at: Span) -> Frame {
    match RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))) {
        Ok(batch) => crate::handle::send(&batch, at),
        Err(e) => raise(Diagnostic::error(Class::Plan, "frame", e.to_string()).at(at, "")),
    }
}

impl Frame {
    /// Pearson's correlations of the numeric columns with each other: a square table whose first column, `column`, has
    /// the names. A pair of columns is taken over the rows that have both values. Runs the plan.
    #[track_caller]
    pub fn corr(&self) -> Frame {
        self.pairs("corr", Some("pearson"), here("corr"))
    }

    /// Correlations as of [`Frame::corr`] by a method: `"pearson"` or `"spearman"` (of ranks).
    #[track_caller]
    pub fn corr_by(&self, method: &str) -> Frame {
        self.pairs("corr", Some(method), here("corr_by"))
    }

    /// Sample covariances (divisor n − 1) of the numeric columns with each other, as a table as of [`Frame::corr`].
    #[track_caller]
    pub fn cov(&self) -> Frame {
        self.pairs("cov", None, here("cov"))
    }

    #[inline(never)]
    fn pairs(&self, function: &str, method: Option<&str>, at: Span) -> Frame {
        let fields = self.schema().fields;
        let names: Vec<String> = fields.iter().filter(|f| f.dtype.is_numeric()).map(|f| f.name.clone()).collect();
        if names.is_empty() {
            let message = format!("`{function}` needs numeric columns, and the frame has none");
            raise(Diagnostic::error(Class::Plan, "no-numbers", message).at(at, ""));
        }
        if names.len() > MOST_COLUMNS / 5 {
            let message = format!("{} numeric columns are too many, {} are the most", names.len(), MOST_COLUMNS / 5);
            refuse(message, "`select` the columns in question first", at);
        }
        let places: Vec<(usize, usize)> = (0..names.len()).flat_map(|a| (0..=a).map(move |b| (a, b))).collect();
        let expr = |(a, b): &(usize, usize)| {
            let mut args = vec![Expr::column(&*names[*a]), Expr::column(&*names[*b])];
            args.extend(method.map(Expr::literal));
            Expr::call(function, args).at(at.clone()).alias(format!("{a} {b}"))
        };
        let mut matrix = vec![vec![None; names.len()]; names.len()];
        for part in places.chunks(AT_ONCE) {
            let exprs = part.iter().map(expr).collect();
            let row = Frame::step(Op::Select { input: self.id(), exprs }, at.clone());
            let batch = session::collect(row.id(), Vec::new(), at.clone());
            for ((a, b), column) in part.iter().zip(batch.columns()) {
                let value = cast(column, &Arrow::Float64).ok();
                let value = value.and_then(|v| v.as_primitive::<Float64Type>().iter().next().flatten());
                // Rounding is not shown where the answer is known.
                let value =
                    if a == b && function == "corr" { value.map(|v| if v.is_nan() { v } else { 1.0 }) } else { value };
                (matrix[*a][*b], matrix[*b][*a]) = (value, value);
            }
        }
        let titles: ArrayRef = Arc::new(StringArray::from(names.clone()));
        let mut columns = vec![("column".to_string(), titles)];
        for (name, values) in names.into_iter().zip(matrix) {
            let mut column = Float64Builder::with_capacity(values.len());
            values.into_iter().for_each(|value| column.append_option(value));
            columns.push((name, Arc::new(column.finish())));
        }
        frame_of(columns, at)
    }

    /// How often each pair of values of two columns occurs: a row for each value of `index`, a column for each value of
    /// `columns`, both in ascending order. As pandas' `crosstab`.
    #[track_caller]
    pub fn crosstab(&self, index: &str, columns: &str) -> Frame {
        let at = here("crosstab");
        let count = "__count";
        let keys = vec![Expr::column(columns).at(at.clone()), Expr::column(index).at(at.clone())];
        let aggs = vec![Expr::call("len", []).alias(count)];
        let counts = Frame::step(Op::GroupBy { input: self.id(), keys, aggs }, at.clone());
        let pivot = Op::Pivot {
            input: counts.id(),
            on: vec![columns.to_string()],
            index: vec![index.to_string()],
            values: vec![count.to_string()],
            aggregate: "sum".to_string(),
        };
        let table = Frame::step(pivot, at.clone());
        let key = onrush_wire::expr::SortKey { expr: Expr::column(index), descending: false, nulls_last: None };
        Frame::step(Op::Sort { input: table.id(), keys: vec![key] }, at)
    }

    /// A column of 0 and 1 (`u8`) for each value of the named columns, in place of them: `color_blue`, `color_red`,
    /// `color_null`. As Polars' `to_dummies` and pandas' `get_dummies`. Finds the values at the call.
    #[track_caller]
    pub fn to_dummies(&self, columns: impl IntoExprs) -> Frame {
        self.dummies(columns.into_exprs(), 0, here("to_dummies"))
    }

    /// Columns as of [`Frame::to_dummies`], without that of the first value of each column: the others say it.
    #[track_caller]
    pub fn to_dummies_drop_first(&self, columns: impl IntoExprs) -> Frame {
        self.dummies(columns.into_exprs(), 1, here("to_dummies_drop_first"))
    }

    #[inline(never)]
    fn dummies(&self, named: Vec<Expr>, skipped: usize, at: Span) -> Frame {
        let named = self.chosen(named, &at);
        // An unknown name is an error of the step below.
        let mut exprs = Vec::new();
        let mut made = std::collections::HashMap::new();
        for name in &named {
            made.insert(name.clone(), self.indicators(name, skipped, at.clone()));
        }
        for name in self.columns() {
            match made.remove(&name) {
                Some(all) => exprs.extend(all),
                None => exprs.push(Expr::column(name)),
            }
        }
        if exprs.len() > MOST_COLUMNS {
            let message = format!("{} columns would come out, {MOST_COLUMNS} are the most", exprs.len());
            refuse(message, "take columns with fewer values, or `replace` rare values by one", at);
        }
        Frame::step(Op::Select { input: self.id(), exprs }, at)
    }

    fn indicators(&self, name: &str, skipped: usize, at: Span) -> Vec<Expr> {
        let column = || Expr::column(name).at(at.clone());
        let text = Expr::call("first", [Expr::call("cast", [column(), Expr::literal("str")])]);
        let aggs = vec![text.alias("__text")];
        let values = Frame::step(Op::GroupBy { input: self.id(), keys: vec![column()], aggs }, at.clone());
        let batch = session::collect(values.id(), Vec::new(), at.clone());
        let mut rows: Vec<(Value, Value)> =
            (0..batch.num_rows()).map(|row| (value_at(batch.column(0), row), value_at(batch.column(1), row))).collect();
        rows.sort_by_key(|(value, _)| *value == Value::Null);
        let rows = rows.into_iter().skip(skipped).map(|(value, text)| {
            let (is_value, text) = match (value, text) {
                (Value::Null, _) => (Expr::call("is_null", [column()]), "null".to_string()),
                (value, Value::Text(text)) => (Expr::call("eq_missing", [column(), Expr::literal(value)]), text),
                (value, _) => {
                    (Expr::call("eq_missing", [column(), Expr::literal(value.clone())]), format!("{value:?}"))
                }
            };
            Expr::call("cast", [is_value, Expr::literal("u8")]).alias(format!("{name}_{text}"))
        });
        rows.collect()
    }

    /// Rows become columns: `column` has the names of the columns, `column_0` the values of the first row, and so on.
    /// Numbers come as integers or floats, anything else as strings. Runs the plan; at most 2,000 rows.
    #[track_caller]
    pub fn transpose(&self) -> Frame {
        self.turned(None, here("transpose"))
    }

    /// A transposed frame as of [`Frame::transpose`], whose columns are named by the values of a column.
    #[track_caller]
    pub fn transpose_by(&self, names: &str) -> Frame {
        self.turned(Some(names), here("transpose_by"))
    }

    #[inline(never)]
    fn turned(&self, by: Option<&str>, at: Span) -> Frame {
        let rows = self.count_rows(at.clone());
        if rows > MOST_COLUMNS {
            refuse(
                format!("{rows} rows would become as many columns, {MOST_COLUMNS} are the most"),
                "take fewer rows first, such as with `head(n)`",
                at,
            );
        }
        let fields: Vec<onrush_wire::schema::Field> =
            self.schema().fields.into_iter().filter(|f| Some(f.name.as_str()) != by).collect();
        let is = |test: fn(&DataType) -> bool| fields.iter().all(|f| test(&f.dtype));
        let is_integer = |dtype: &DataType| {
            use DataType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32};
            matches!(dtype, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32)
        };
        let to = match () {
            () if is(is_integer) => "i64",
            () if is(DataType::is_numeric) => "f64",
            () => "str",
        };
        let as_text = |name: &str, to: &str| {
            Expr::call("cast", [Expr::column(name).at(at.clone()), Expr::literal(to)]).alias(name.to_string())
        };
        let mut exprs: Vec<Expr> = fields.iter().map(|f| as_text(&f.name, to)).collect();
        exprs.extend(by.map(|name| as_text(name, "str")));
        let batch = session::collect(
            Frame::step(Op::Select { input: self.id(), exprs }, at.clone()).id(),
            Vec::new(),
            at.clone(),
        );
        let titles: ArrayRef = Arc::new(StringArray::from_iter_values(fields.iter().map(|f| f.name.as_str())));
        let mut columns = vec![("column".to_string(), titles)];
        let cells: Vec<&dyn Array> = batch.columns()[..fields.len()].iter().map(AsRef::as_ref).collect();
        let all = concat(&cells).unwrap_or_else(|e| {
            raise(Diagnostic::error(Class::Data, "frame", e.to_string()).at(at.clone(), ""));
        });
        for row in 0..batch.num_rows() {
            let places = UInt64Array::from_iter_values((0..fields.len()).map(|c| (c * batch.num_rows() + row) as u64));
            let name = match by.map(|_| value_at(batch.column(fields.len()), row)) {
                Some(Value::Text(text)) => text,
                Some(_) => "null".to_string(),
                None => format!("column_{row}"),
            };
            match take(&all, &places, None) {
                Ok(values) => columns.push((name, values)),
                Err(e) => raise(Diagnostic::error(Class::Data, "frame", e.to_string()).at(at, "")),
            }
        }
        let mut seen = std::collections::HashSet::new();
        if let Some((name, _)) = columns.iter().find(|(name, _)| !seen.insert(name.clone())) {
            let message = format!("the result would have two columns named `{name}`");
            raise(Diagnostic::error(Class::Plan, "duplicate-column", message).at(at, ""));
        }
        frame_of(columns, at)
    }

    /// One row for each column: its name, its type and its first values. Reads a few rows.
    #[track_caller]
    pub fn glimpse(&self) -> Frame {
        let at = here("glimpse");
        let few = Frame::step(Op::Slice { input: self.id(), offset: 0, length: Some(8) }, at.clone());
        let batch = session::collect(few.id(), Vec::new(), at.clone());
        let fields = self.schema().fields;
        let shown = |column: &ArrayRef| {
            let one = |row| match column.is_null(row) {
                true => "null".to_string(),
                false => arrow::util::display::array_value_to_string(column, row).unwrap_or_default(),
            };
            (0..column.len()).map(one).collect::<Vec<_>>().join(", ")
        };
        let string_column = |values: Vec<String>| Arc::new(StringArray::from(values)) as ArrayRef;
        let columns = vec![
            ("column".to_string(), string_column(fields.iter().map(|f| f.name.clone()).collect())),
            ("type".to_string(), string_column(fields.iter().map(|f| f.dtype.to_string()).collect())),
            ("values".to_string(), string_column(batch.columns().iter().map(shown).collect())),
        ];
        frame_of(columns, at)
    }

    /// Bytes that the rows take in Arrow's layout. Runs the plan.
    #[track_caller]
    pub fn estimated_size(&self) -> usize {
        let batch = session::collect(self.id(), Vec::new(), here("estimated_size"));
        batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(0)).sum()
    }

    /// Pairs of rows of both frames for which a condition holds: `f.join_where(&g, x!(time >= start && time < end))`.
    /// Names that both frames have get the suffix `_right` for the right one, also in the condition. Compares each row
    /// with each other one; equal keys in the condition make it a hash join.
    #[track_caller]
    pub fn join_where(&self, right: &Frame, condition: impl crate::expr::IntoExprs) -> Frame {
        let at = here("join_where");
        let condition = super::arguments::condition(condition.into_exprs(), &at);
        let cross = Op::Join {
            left: self.id(),
            right: right.id(),
            how: onrush_wire::plan::JoinKind::Cross,
            left_on: Vec::new(),
            right_on: Vec::new(),
            suffix: "_right".to_string(),
        };
        let pairs = Frame::step(cross, at.clone());
        Frame::step(Op::Filter { input: pairs.id(), predicate: condition }, at)
    }

    /// A key that occurs more than once, as text, and how often; nulls match nothing and are left out.
    pub(super) fn repeated_key(&self, keys: &[Expr], at: &Span) -> Option<(String, i64)> {
        let present = Frame::step(Op::DropNulls { input: self.id(), subset: keys.to_vec() }, at.clone());
        let (keys, aggs) = (keys.to_vec(), vec![Expr::call("len", []).alias("__count")]);
        let counts = Frame::step(Op::GroupBy { input: present.id(), keys, aggs }, at.clone());
        let predicate = binary(BinaryOp::Greater, Expr::column("__count"), Expr::literal(1i64));
        let twice = Frame::step(Op::Filter { input: counts.id(), predicate }, at.clone());
        let first = Frame::step(Op::Slice { input: twice.id(), offset: 0, length: Some(1) }, at.clone());
        let batch = session::collect(first.id(), Vec::new(), at.clone());
        if batch.num_rows() == 0 {
            return None;
        }
        let (count, keys) = batch.columns().split_last()?;
        let schema = batch.schema();
        let shown = keys.iter().zip(schema.fields()).map(|(column, field)| {
            let value = arrow::util::display::array_value_to_string(column, 0).unwrap_or_default();
            format!("`{}` = {value}", field.name())
        });
        let count = match value_at(count, 0) {
            Value::Int(n) => n,
            Value::UInt(n) => n as i64,
            _ => 2,
        };
        Some((shown.collect::<Vec<_>>().join(", "), count))
    }
}
