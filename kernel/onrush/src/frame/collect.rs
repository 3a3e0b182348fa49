//! Collects rows into Rust: a batch, a column, a value, a matrix.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType as Arrow, TimeUnit as ArrowUnit};
use onrush_wire::session::{Reply, Request};
use onrush_wire::{Class, DataType, Diagnostic, Span, TimeUnit, Value};

use super::Frame;
use crate::arrow_conversion::wire_type;
use crate::column::{Column, Element};
use crate::cuda::{self, Buffer};
use crate::expr::IntoExprs;
use crate::matrix::{Matrix, Number};
use crate::raise::{here, raise};
use crate::session::{self, ExportedColumn};

impl Frame {
    /// Runs the plan and returns all rows as an Arrow batch, in memory that is shared with the session.
    #[track_caller]
    pub fn collect(&self) -> RecordBatch {
        session::collect(self.id(), Vec::new(), here("collect"))
    }

    /// The values of one column as a slice. Numbers share memory with the session.
    /// `f.column::<f64>("x")`, `f.column::<Option<f64>>("x")` for a column with nulls, `f.column::<String>("name")`.
    ///
    /// Raises if the type does not fit, or if there are nulls and `T` is not an `Option`.
    #[track_caller]
    pub fn column<T: Element>(&self, name: &str) -> Column<T> {
        let at = here("column");
        let array = self.array(name, at.clone());
        Column::new(name, &array).unwrap_or_else(|diagnostic| session::raise_at(diagnostic, at))
    }

    #[inline(never)]
    fn array(&self, name: &str, at: Span) -> ArrayRef {
        only(&session::collect(self.id(), vec![name.to_string()], at.clone()), name, at)
    }

    /// The values of one column for the kernels of `%%cuda` cells: `let x = f.buffer::<f64>("x");`. They equal
    /// [`Buffer::from`]`(&f.column::<f64>("x"))`. If the frame's rows are on the GPU, for example after `persist()`, a
    /// column of a megabyte or more is copied on the device, and to the host only when Rust reads it.
    ///
    /// `T` is a number (`f32`, `f64`, `i8` to `i64`, `u8` to `u64`) or `bool`; numbers become other numbers if no value
    /// changes. Raises as [`Frame::column`] does, if the type does not fit or if there are nulls: a buffer has none.
    #[track_caller]
    pub fn buffer<T: Element + cuda::Element>(&self, name: &str) -> Buffer<T> {
        let at = here("buffer");
        let array = match self.lent(name, &wire_type(&T::arrow()), at.clone()) {
            Some(ExportedColumn::OnDevice { memory, rows, .. }) => match Buffer::on_device(memory, rows as usize) {
                Some(buffer) => return buffer,
                None => self.array(name, at.clone()),
            },
            Some(ExportedColumn::OnHost(batch)) => only(&batch, name, at.clone()),
            None => self.array(name, at.clone()),
        };
        match Column::new(name, &array) {
            Ok(column) => column.into(),
            Err(diagnostic) => session::raise_at(diagnostic, at),
        }
    }

    /// The column as the session exports it to the worker's device. `None` if the copy by way of the host is known to
    /// be right.
    #[inline(never)]
    fn lent(&self, name: &str, wanted: &DataType, at: Span) -> Option<ExportedColumn> {
        // A conversion happens on the host, and an unknown column is an error there.
        self.handle.schema.fields.iter().find(|field| field.name == name && field.dtype == *wanted)?;
        let kernels = cuda::device()?;
        match session::export_column(self.id(), name.to_string(), at) {
            // Only a device of the same kind can map the memory.
            ExportedColumn::OnDevice { device, dtype, .. } if device != kernels || dtype != *wanted => None,
            lent => Some(lent),
        }
    }

    /// The only value of an expression that yields one row: `let mean: f64 = f.value(x!(delay.mean()))`. A null needs
    /// an `Option`.
    #[track_caller]
    pub fn value<T: FromValue>(&self, expr: impl IntoExprs) -> T {
        let at = here("value");
        let (value, dtype) = self.single(expr.into_exprs(), at.clone());
        T::from_value(value, &dtype).unwrap_or_else(|diagnostic| session::raise_at(diagnostic, at))
    }

    #[inline(never)]
    fn single(&self, exprs: Vec<onrush_wire::Expr>, at: Span) -> (Value, DataType) {
        let Ok([expr]) = <[onrush_wire::Expr; 1]>::try_from(exprs) else {
            raise(Diagnostic::error(Class::Plan, "one-expression", "`value` takes one expression").at(at, ""));
        };
        match session::expect(&Request::Value { frame: self.id(), expr }, at.clone()) {
            Reply::Value { value, dtype } => (value, dtype),
            other => session::unexpected(&other, at),
        }
    }

    /// Columns as a dense row-major matrix for Rust's numeric crates: `f.to_matrix::<f32>(["a", "b"])`.
    /// Numbers and `bool` are converted to `T`; a null raises.
    #[track_caller]
    pub fn to_matrix<T: Number>(&self, columns: impl IntoExprs) -> Matrix<T> {
        let at = here("to_matrix");
        let names = self.chosen(columns.into_exprs(), &at);
        let batch = session::collect(self.id(), names, at.clone());
        Matrix::from_batch(&batch).unwrap_or_else(|diagnostic| session::raise_at(diagnostic, at))
    }
}

impl From<&Frame> for RecordBatch {
    #[track_caller]
    fn from(frame: &Frame) -> Self {
        frame.collect()
    }
}

impl From<Frame> for RecordBatch {
    #[track_caller]
    fn from(frame: Frame) -> Self {
        frame.collect()
    }
}

/// Takes the requested column out of the batch.
fn only(batch: &RecordBatch, name: &str, at: Span) -> ArrayRef {
    match batch.columns().first() {
        Some(array) => Arc::clone(array),
        None => raise(Diagnostic::error(Class::Internal, "reply", format!("`{name}` did not come back")).at(at, "")),
    }
}

/// A type that [`Frame::value`] can return: the types of column values ([`Element`]).
pub trait FromValue: Sized {
    #[doc(hidden)]
    fn from_value(value: Value, dtype: &DataType) -> Result<Self, Diagnostic>;
}

impl<T: Element + Clone> FromValue for T {
    fn from_value(value: Value, dtype: &DataType) -> Result<Self, Diagnostic> {
        if value == Value::Null && !T::NULLABLE {
            return Err(Diagnostic::error(Class::Data, "null", "the value is null")
                .help(format!("take it as `Option<{}>`, or give another with `.fill_null(..)`", T::name())));
        }
        let array = array_of(value, dtype);
        crate::column::first("the value", &array)
    }
}

/// An array of one value. A value without an Arrow form here is a type error when it is read.
fn array_of(value: Value, dtype: &DataType) -> ArrayRef {
    use arrow::array as a;
    let stamp_unit = |unit: TimeUnit| match unit {
        TimeUnit::Second => ArrowUnit::Second,
        TimeUnit::Millisecond => ArrowUnit::Millisecond,
        TimeUnit::Microsecond => ArrowUnit::Microsecond,
        TimeUnit::Nanosecond => ArrowUnit::Nanosecond,
    };
    let through_int = |value: i64, to: Arrow| -> ArrayRef {
        let ints: ArrayRef = Arc::new(a::Int64Array::from(vec![value]));
        cast_with_options(&ints, &to, &CastOptions::default()).unwrap_or_else(|_| new_null_array(&to, 1))
    };
    match value {
        Value::Null => {
            let to = match dtype {
                DataType::Boolean => Arrow::Boolean,
                DataType::String | DataType::Categorical => Arrow::LargeUtf8,
                _ => Arrow::Null,
            };
            new_null_array(&to, 1)
        }
        Value::Boolean(v) => Arc::new(a::BooleanArray::from(vec![v])),
        Value::Int(v) => Arc::new(a::Int64Array::from(vec![v])),
        Value::UInt(v) => Arc::new(a::UInt64Array::from(vec![v])),
        Value::Float32(v) => Arc::new(a::Float32Array::from(vec![v])),
        Value::Float(v) => Arc::new(a::Float64Array::from(vec![v])),
        Value::Text(v) => Arc::new(a::LargeStringArray::from(vec![v])),
        Value::Binary(v) => Arc::new(a::BinaryArray::from(vec![v.as_slice()])),
        Value::Decimal { value, precision, scale } => {
            let array = a::Decimal128Array::from(vec![value]);
            match array.with_precision_and_scale(precision, scale) {
                Ok(array) => Arc::new(array),
                Err(_) => new_null_array(&Arrow::Decimal128(precision, scale), 1),
            }
        }
        Value::Date(days) => Arc::new(a::Date32Array::from(vec![days])),
        Value::Time(ns) => Arc::new(a::Time64NanosecondArray::from(vec![ns])),
        Value::Timestamp { value, unit, zone } => {
            through_int(value, Arrow::Timestamp(stamp_unit(unit), zone.map(Into::into)))
        }
        Value::Duration { value, unit } => through_int(value, Arrow::Duration(stamp_unit(unit))),
        Value::List(_) | Value::Struct(_) => Arc::new(a::LargeStringArray::from(vec![format!("{value:?}")])),
    }
}
