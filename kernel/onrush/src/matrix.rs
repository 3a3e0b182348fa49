//! A dense row-major matrix to hand data to other crates. It has no linear algebra.

use std::fmt;
use std::ops::{Index, IndexMut};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{self as ad, DataType as Arrow};
use onrush_wire::{Class, DataType, Diagnostic};

use crate::arrow_conversion::wire_type;

/// Numbers in rows and columns, in row-major order: `m[(row, column)]`, `m.row(0)`, `m.as_slice()`.
#[derive(Clone, PartialEq)]
pub struct Matrix<T> {
    rows: usize,
    columns: usize,
    data: Vec<T>,
}

/// A type that a matrix can hold.
pub trait Number: Copy + Default + fmt::Debug + 'static {
    #[doc(hidden)]
    fn arrow() -> Arrow;
    #[doc(hidden)]
    fn copy(array: &dyn Array, out: &mut [Self], offset: usize, stride: usize);
}

macro_rules! number {
    ($($t:ty: $native:ident $arrow:ident),*) => {$(
        impl Number for $t {
            fn arrow() -> Arrow {
                Arrow::$arrow
            }
            fn copy(array: &dyn Array, out: &mut [Self], offset: usize, stride: usize) {
                let values = array.as_primitive::<ad::$native>().values();
                for (place, value) in out.iter_mut().skip(offset).step_by(stride).zip(values.iter()) {
                    *place = *value;
                }
            }
        }
    )*};
}
number!(f32: Float32Type Float32, f64: Float64Type Float64, i32: Int32Type Int32, i64: Int64Type Int64,
        u8: UInt8Type UInt8, u32: UInt32Type UInt32, u64: UInt64Type UInt64);

impl<T: Number> Matrix<T> {
    pub(crate) fn from_batch(batch: &RecordBatch) -> Result<Self, Diagnostic> {
        let (rows, columns) = (batch.num_rows(), batch.num_columns());
        let mut data = vec![T::default(); rows * columns];
        let schema = batch.schema();
        for (at, (array, field)) in batch.columns().iter().zip(schema.fields()).enumerate() {
            let (name, found) = (field.name(), wire_type(array.data_type()));
            if !found.is_numeric() && found != DataType::Boolean {
                return Err(Diagnostic::error(
                    Class::Plan,
                    "column-type",
                    format!("`{name}` is of type {found}, and a matrix holds numbers"),
                )
                .help("leave it out, or convert it: `.cast(..)`, or `x!(if a == \"x\" { 1 } else { 0 })`"));
            }
            if array.null_count() > 0 {
                return Err(Diagnostic::error(
                    Class::Data,
                    "nulls",
                    format!("`{name}` has {} nulls, and a matrix has no place for them", array.null_count()),
                )
                .help("`drop_nulls()` leaves those rows out, `fill_null(0)` gives them a value"));
            }
            let array = cast(array, &T::arrow()).ok().filter(|cast| cast.null_count() == 0).ok_or_else(|| {
                Diagnostic::error(
                    Class::Data,
                    "value",
                    format!("`{name}` holds values that do not fit {}", wire_type(&T::arrow())),
                )
                .help("take a wider type: `to_matrix::<f64>`")
            })?;
            T::copy(array.as_ref(), &mut data, at, columns);
        }
        Ok(Matrix { rows, columns, data })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.columns
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// All numbers in row-major order.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// All numbers in row-major order, without a copy.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// One row. Panics if the index is out of range.
    pub fn row(&self, row: usize) -> &[T] {
        &self.data[row * self.columns..(row + 1) * self.columns]
    }

    /// All rows in order.
    pub fn iter_rows(&self) -> impl Iterator<Item = &[T]> {
        self.data.chunks_exact(self.columns.max(1))
    }

    /// A copy of one column.
    pub fn column(&self, column: usize) -> Vec<T> {
        assert!(column < self.columns, "column {column} of a matrix of {} columns", self.columns);
        self.data.iter().skip(column).step_by(self.columns).copied().collect()
    }
}

impl<T> Index<(usize, usize)> for Matrix<T> {
    type Output = T;
    fn index(&self, (row, column): (usize, usize)) -> &T {
        assert!(column < self.columns, "column {column} of a matrix of {} columns", self.columns);
        &self.data[row * self.columns + column]
    }
}

impl<T> IndexMut<(usize, usize)> for Matrix<T> {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut T {
        assert!(column < self.columns, "column {column} of a matrix of {} columns", self.columns);
        &mut self.data[row * self.columns + column]
    }
}

/// The shape and the first rows.
impl<T: Number> fmt::Debug for Matrix<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matrix {} × {}", self.rows, self.columns)?;
        for row in self.iter_rows().take(8) {
            write!(f, "\n  {row:?}")?;
        }
        if self.rows > 8 {
            let more = self.rows - 8;
            write!(f, "\n  … {more} more {}", if more == 1 { "row" } else { "rows" })?;
        }
        Ok(())
    }
}
