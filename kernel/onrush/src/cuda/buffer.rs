//! Buffers: values that kernels read and write, and that Rust reads and writes as a slice.

use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::ArrayRef;
use arrow::datatypes::ToByteSlice;

use crate::column::Column;
use crate::elements::{ColumnValue, IntoColumn};

/// Numbers of buffers and of states of their contents. A snapshot that takes over counts on from where it was, with a worker of its own.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

fn next() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

/// What a buffer can hold: the numbers of CUDA C++, and `bool`.
#[diagnostic::on_unimplemented(
    message = "a `Buffer` cannot hold `{Self}`",
    label = "expected a number (`f32`, `f64`, `i8` to `i64`, `u8` to `u64`) or `bool`"
)]
pub trait Element: Copy + Default + PartialEq + Debug + Send + Sync + 'static {
    #[doc(hidden)]
    const NAME: &'static str;
    /// As they lie in the device's memory.
    #[doc(hidden)]
    fn bytes(values: &[Self]) -> Cow<'_, [u8]>;
    /// As many values as there are.
    #[doc(hidden)]
    fn put(values: &mut [Self], bytes: &[u8]);
}

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
}

/// Values for kernels: `Buffer::from(vec![1.0f32, 2.0])`, `Buffer::<f32>::zeros(n)`, `Buffer::from(&frame.column::<f64>("x"))`.
///
/// A kernel that takes `float*` gets `&mut buffer`, one that takes `const float*` gets `&buffer`. In Rust it is a slice:
/// `buffer[0]`, `buffer.iter().sum::<f32>()`, `buffer.to_vec()`. A launch that fails leaves it as it was.
pub struct Buffer<T: Element> {
    values: Vec<T>,
    number: u64,
    /// Changes with the contents: the device's copy is good as long as it has the same.
    stamp: u64,
}

impl<T: Element> Buffer<T> {
    /// `length` zeros (`false`).
    pub fn zeros(length: usize) -> Self {
        vec![T::default(); length].into()
    }

    /// `length` times the same value.
    pub fn filled(length: usize, value: T) -> Self {
        vec![value; length].into()
    }

    /// The values, without a copy.
    pub fn into_vec(mut self) -> Vec<T> {
        std::mem::take(&mut self.values)
    }

    pub(crate) fn heap_bytes(&self) -> u64 {
        (self.values.capacity() * size_of::<T>()) as u64
    }
}

impl<T: Element> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Buffer { values, number: next(), stamp: next() }
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
        self.values.to_array()
    }
}

impl<T: Element> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        self.values.clone().into()
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T: Element> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.stamp = next();
        &mut self.values
    }
}

impl<'a, T: Element> IntoIterator for &'a Buffer<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.values.iter()
    }
}

impl<T: Element> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl<T: Element> PartialEq<Vec<T>> for Buffer<T> {
    fn eq(&self, other: &Vec<T>) -> bool {
        self.values == *other
    }
}

impl<T: Element, const N: usize> PartialEq<[T; N]> for Buffer<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        self.values == other
    }
}

/// First and last values are enough to see what it holds.
impl<T: Element> Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        const LAST: usize = 3;
        if self.values.len() <= SHOWN {
            return Debug::fmt(&self.values, f);
        }
        let (first, last) = (&self.values[..SHOWN - LAST], &self.values[self.values.len() - LAST..]);
        f.write_str("[")?;
        first.iter().try_for_each(|value| write!(f, "{value:?}, "))?;
        f.write_str("…")?;
        last.iter().try_for_each(|value| write!(f, ", {value:?}"))?;
        write!(f, "], {} in all", self.values.len())
    }
}

impl<T: Element> Drop for Buffer<T> {
    fn drop(&mut self) {
        super::worker::freed(self.number);
    }
}

/// A buffer of any type, as a launch sees it.
pub trait AnyBuffer {
    fn number(&self) -> u64;
    fn stamp(&self) -> u64;
    fn length(&self) -> u64;
    fn element(&self) -> u32;
    /// The bytes of these elements.
    fn piece(&self, from: usize, to: usize) -> Cow<'_, [u8]>;
    /// Makes the elements from `from` on what the bytes say.
    fn put(&mut self, from: usize, bytes: &[u8]);
    /// The contents are others from here on; gives their stamp.
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
        self.values.len() as u64
    }

    fn element(&self) -> u32 {
        size_of::<T>() as u32
    }

    fn piece(&self, from: usize, to: usize) -> Cow<'_, [u8]> {
        T::bytes(&self.values[from..to])
    }

    fn put(&mut self, from: usize, bytes: &[u8]) {
        T::put(&mut self.values[from..], bytes);
    }

    fn renew(&mut self) -> u64 {
        self.stamp = next();
        self.stamp
    }
}

/// For `:vars`: what a variable holds, if it is a buffer.
pub(crate) fn preview(any: &dyn std::any::Any) -> Option<(String, u64)> {
    macro_rules! held {
        ($($t:ty),*) => {$(if let Some(buffer) = any.downcast_ref::<Buffer<$t>>() {
            return Some((format!("{buffer:?}"), buffer.heap_bytes()));
        })*};
    }
    held!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, bool);
    None
}
