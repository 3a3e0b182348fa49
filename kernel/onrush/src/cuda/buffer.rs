//! Buffers: arrays that CUDA kernels read and write, and that Rust uses as slices.

use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::ops::{Deref, DerefMut, Range};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use arrow::buffer::{Buffer as Bytes, MutableBuffer};
use arrow::datatypes::ToByteSlice;
use onrush_wire::Diagnostic;

use super::worker;
use crate::column::Column;
use crate::into_column::{ColumnValue, IntoColumn};
use crate::raise::raise;

/// The counter of buffers and of versions of their contents. A snapshot counts on from its state, with a separate
/// worker.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

fn next() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

/// A type of the elements of a buffer: the numbers of CUDA C++, and `bool`.
#[diagnostic::on_unimplemented(
    message = "a `Buffer` cannot hold `{Self}`",
    label = "expected a number (`f32`, `f64`, `i8` to `i64`, `u8` to `u64`) or `bool`"
)]
pub trait Element: Copy + Default + PartialEq + Debug + Send + Sync + 'static {
    #[doc(hidden)]
    const NAME: &'static str;
    /// The elements as bytes in device memory.
    #[doc(hidden)]
    fn bytes(values: &[Self]) -> Cow<'_, [u8]>;
    /// The number of elements.
    #[doc(hidden)]
    fn put(values: &mut [Self], bytes: &[u8]);
    /// Allocates this many elements, whose bytes `fill` writes.
    #[doc(hidden)]
    fn filled(length: usize, fill: &mut Fill<'_>) -> Result<Vec<Self>, Diagnostic>;
}

/// Writes all of the bytes, or returns the reason.
#[doc(hidden)]
pub type Fill<'a> = dyn FnMut(&mut [u8]) -> Result<(), Diagnostic> + 'a;

macro_rules! numbers {
    ($($t:ident),*) => {$(
        impl Element for $t {
            const NAME: &'static str = stringify!($t);
            fn bytes(values: &[Self]) -> Cow<'_, [u8]> {
                Cow::Borrowed(values.to_byte_slice())
            }
            fn put(values: &mut [Self], bytes: &[u8]) {
                let (parts, _) = bytes.as_chunks::<{ size_of::<$t>() }>();
                values.iter_mut().zip(parts).for_each(|(value, part)| *value = <$t>::from_le_bytes(*part));
            }
            fn filled(length: usize, fill: &mut Fill<'_>) -> Result<Vec<Self>, Diagnostic> {
                // Views the vector's memory as bytes.
                let mut bytes = MutableBuffer::from(vec![<$t>::default(); length]);
                fill(bytes.as_slice_mut())?;
                Ok(Bytes::from(bytes).into_vec().unwrap_or_else(|bytes| bytes.typed_data::<$t>().to_vec()))
            }
        }
    )*};
}
numbers!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

impl Element for bool {
    const NAME: &'static str = "bool";
    fn bytes(values: &[Self]) -> Cow<'_, [u8]> {
        Cow::Owned(values.iter().map(|value| u8::from(*value)).collect())
    }
    fn put(values: &mut [Self], bytes: &[u8]) {
        values.iter_mut().zip(bytes).for_each(|(value, byte)| *value = *byte != 0);
    }
    fn filled(length: usize, fill: &mut Fill<'_>) -> Result<Vec<Self>, Diagnostic> {
        let mut bytes = vec![0u8; length];
        fill(&mut bytes)?;
        Ok(bytes.into_iter().map(|byte| byte != 0).collect())
    }
}

/// An array for CUDA kernels: `Buffer::from(vec![1.0f32, 2.0])`, `Buffer::<f32>::zeros(n)`, `frame.buffer::<f64>("x")`.
/// The last is a column, which stays on the GPU if possible; `Buffer::from(&frame.column::<f64>("x"))` has the same
/// values by way of the host.
///
/// A kernel that takes `float*` gets `&mut buffer`, one that takes `const float*` gets `&buffer`. In Rust a buffer is a
/// slice: `buffer[0]`, `buffer.iter().sum::<f32>()`, `buffer.to_vec()`. A launch that fails leaves the contents
/// unchanged.
///
/// The result of a kernel in a buffer of a megabyte or more stays on the device until Rust reads it. Between launches
/// it is not copied over the bus.
pub struct Buffer<T: Element> {
    /// The host's copy. Empty after a kernel wrote the contents on the device, until they are read.
    values: OnceLock<Vec<T>>,
    length: usize,
    /// The device's copy: the descriptor keeps the memory alive, also after the worker ends. A snapshot has the
    /// descriptor of its time.
    lent: Option<Arc<OwnedFd>>,
    number: u64,
    /// The version of the contents: the worker's copy is valid while it has the same version.
    stamp: u64,
}

impl<T: Element> Buffer<T> {
    /// A buffer of `length` zeros (`false`).
    pub fn zeros(length: usize) -> Self {
        vec![T::default(); length].into()
    }

    /// A buffer of `length` equal values.
    pub fn filled(length: usize, value: T) -> Self {
        vec![value; length].into()
    }

    /// A buffer of `length` values in the device memory behind the descriptor. `None` if the worker cannot map it.
    pub(crate) fn on_device(memory: OwnedFd, length: usize) -> Option<Self> {
        let lent = Some(Arc::new(memory));
        let buffer = Buffer { values: OnceLock::new(), length, lent, number: next(), stamp: next() };
        worker::has(&buffer).then_some(buffer)
    }

    /// The values, without a copy if the host has them.
    pub fn into_vec(mut self) -> Vec<T> {
        self.values();
        self.values.take().unwrap_or_default()
    }

    /// The values, copied from the device if only the device has them. Raises if the copy fails.
    fn values(&self) -> &Vec<T> {
        self.values.get_or_init(|| self.fetched(0..self.length).unwrap_or_else(|diagnostic| raise(diagnostic)))
    }

    fn fetched(&self, range: Range<usize>) -> Result<Vec<T>, Diagnostic> {
        let offset = (range.start * size_of::<T>()) as u64;
        T::filled(range.len(), &mut |bytes| worker::fetch(self, offset, bytes))
    }

    /// A range of the values, without copying the others.
    fn some(&self, range: Range<usize>) -> Result<Cow<'_, [T]>, Diagnostic> {
        match self.values.get() {
            Some(values) => Ok(Cow::Borrowed(&values[range])),
            None => self.fetched(range).map(Cow::Owned),
        }
    }

    /// The versions of the host's and of the device's values.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let host = self.values.get().map_or(0, Vec::capacity) * size_of::<T>();
        let device = self.lent.as_ref().map_or(0, |_| self.length * size_of::<T>());
        (host + device) as u64
    }
}

impl<T: Element> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Buffer { length: values.len(), values: values.into(), lent: None, number: next(), stamp: next() }
    }
}

impl<T: Element> From<&[T]> for Buffer<T> {
    fn from(values: &[T]) -> Self {
        values.to_vec().into()
    }
}

impl<T: Element> From<&Vec<T>> for Buffer<T> {
    fn from(values: &Vec<T>) -> Self {
        values.clone().into()
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Buffer<T> {
    fn from(values: [T; N]) -> Self {
        values.to_vec().into()
    }
}

impl<T: Element, const N: usize> From<&[T; N]> for Buffer<T> {
    fn from(values: &[T; N]) -> Self {
        values.to_vec().into()
    }
}

impl<T: Element + crate::column::Element> From<Column<T>> for Buffer<T> {
    fn from(column: Column<T>) -> Self {
        column.to_vec().into()
    }
}

impl<T: Element + crate::column::Element> From<&Column<T>> for Buffer<T> {
    fn from(column: &Column<T>) -> Self {
        column.to_vec().into()
    }
}

impl<T: Element> FromIterator<T> for Buffer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        values.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: Element> From<Buffer<T>> for Vec<T> {
    fn from(buffer: Buffer<T>) -> Self {
        buffer.into_vec()
    }
}

impl<T: Element + ColumnValue> IntoColumn for Buffer<T> {
    fn to_array(&self) -> ArrayRef {
        self.values().to_array()
    }
}

impl<T: Element> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        let (values, lent) = (self.values.clone(), self.lent.clone());
        Buffer { values, length: self.length, lent, number: next(), stamp: next() }
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.values()
    }
}

impl<T: Element> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.values();
        self.lent = None;
        self.stamp = next();
        self.values.get_mut().map_or(&mut [], Vec::as_mut_slice)
    }
}

impl<'a, T: Element> IntoIterator for &'a Buffer<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.values().iter()
    }
}

impl<T: Element> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: Element> PartialEq<Vec<T>> for Buffer<T> {
    fn eq(&self, other: &Vec<T>) -> bool {
        self[..] == other[..]
    }
}

impl<T: Element, const N: usize> PartialEq<[T; N]> for Buffer<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        self[..] == other[..]
    }
}

/// Prints the first and the last values, which show what a buffer holds.
impl<T: Element> Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        const LAST: usize = 3;
        if self.length <= SHOWN {
            return Debug::fmt(self.values(), f);
        }
        let some = |range| self.some(range).unwrap_or_else(|diagnostic| raise(diagnostic));
        let (first, last) = (some(0..SHOWN - LAST), some(self.length - LAST..self.length));
        f.write_str("[")?;
        first.iter().try_for_each(|value| write!(f, "{value:?}, "))?;
        f.write_str("…")?;
        last.iter().try_for_each(|value| write!(f, ", {value:?}"))?;
        write!(f, "], {} in all", self.length)
    }
}

impl<T: Element> Drop for Buffer<T> {
    fn drop(&mut self) {
        worker::freed(self.number);
    }
}

/// A buffer of any type, as a launch sees it.
pub trait AnyBuffer {
    fn number(&self) -> u64;
    fn stamp(&self) -> u64;
    fn length(&self) -> u64;
    fn element(&self) -> u32;
    /// The bytes of a range of elements.
    fn piece(&self, from: usize, to: usize) -> Cow<'_, [u8]>;
    /// Overwrites the elements from `from` on with bytes.
    fn put(&mut self, from: usize, bytes: &[u8]);
    /// The device memory that has the contents.
    fn lent(&self) -> Option<BorrowedFd<'_>>;
    /// Makes the device memory behind this descriptor the contents.
    fn lend(&mut self, memory: OwnedFd);
    /// Marks the contents as changed and returns their version.
    fn renew(&mut self) -> u64;
}

impl<T: Element> AnyBuffer for Buffer<T> {
    fn number(&self) -> u64 {
        self.number
    }

    fn stamp(&self) -> u64 {
        self.stamp
    }

    fn length(&self) -> u64 {
        self.length as u64
    }

    fn element(&self) -> u32 {
        size_of::<T>() as u32
    }

    fn piece(&self, from: usize, to: usize) -> Cow<'_, [u8]> {
        T::bytes(&self.values()[from..to])
    }

    fn put(&mut self, from: usize, bytes: &[u8]) {
        self.lent = None;
        // Only the device may have had the old contents, which are not needed any more.
        let length = self.length;
        self.values.get_or_init(|| vec![T::default(); length]);
        self.values.get_mut().into_iter().for_each(|values| T::put(&mut values[from..], bytes));
    }

    fn lent(&self) -> Option<BorrowedFd<'_>> {
        self.lent.as_ref().map(|memory| memory.as_fd())
    }

    fn lend(&mut self, memory: OwnedFd) {
        self.values = OnceLock::new();
        self.lent = Some(Arc::new(memory));
    }

    fn renew(&mut self) -> u64 {
        self.stamp = next();
        self.stamp
    }
}

/// For `:vars`: the description of a variable that is a buffer.
pub(crate) fn preview(any: &dyn std::any::Any) -> Option<(String, u64)> {
    macro_rules! held {
        ($($t:ty),*) => {$(if let Some(buffer) = any.downcast_ref::<Buffer<$t>>() {
            return Some((format!("{buffer:?}"), buffer.heap_bytes()));
        })*};
    }
    held!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, bool);
    None
}
