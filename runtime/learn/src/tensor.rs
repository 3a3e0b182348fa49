//! Arrays of fitted models. They are written as separate arrays, not into its JSON: bit for bit, also NaN and infinity.

use std::cell::RefCell;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A row-major array of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensor {
    pub shape: Vec<usize>,
    pub data: Vec<f64>,
}

impl Tensor {
    /// # Panics
    /// If the shape does not fit the number of values.
    pub fn new(shape: Vec<usize>, data: Vec<f64>) -> Self {
        assert_eq!(shape.iter().product::<usize>(), data.len());
        Tensor { shape, data }
    }

    pub fn vector(data: Vec<f64>) -> Self {
        Tensor { shape: vec![data.len()], data }
    }

    /// A row of a matrix.
    ///
    /// # Panics
    /// If the array has no such row.
    pub fn row(&self, row: usize) -> &[f64] {
        let width = self.shape[1..].iter().product::<usize>();
        &self.data[row * width..(row + 1) * width]
    }

    pub fn bytes(&self) -> u64 {
        (self.data.len() * size_of::<f64>()) as u64
    }
}

thread_local! {
    /// The arrays of the model that is being written or read on this thread.
    static ARRAYS: RefCell<Vec<Tensor>> = const { RefCell::new(Vec::new()) };
}

/// Serialises with `work`, and gives the arrays that it met, in the order of their numbers.
pub(crate) fn collect<T>(work: impl FnOnce() -> T) -> (T, Vec<Tensor>) {
    ARRAYS.with_borrow_mut(Vec::clear);
    let done = work();
    (done, ARRAYS.with_borrow_mut(std::mem::take))
}

/// Deserialises with `work`; an array is found by its number in `arrays`.
pub(crate) fn supply<T>(arrays: Vec<Tensor>, work: impl FnOnce() -> T) -> T {
    ARRAYS.with_borrow_mut(|known| *known = arrays);
    let done = work();
    ARRAYS.with_borrow_mut(Vec::clear);
    done
}

impl Serialize for Tensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = ARRAYS.with_borrow_mut(|arrays| {
            arrays.push(self.clone());
            arrays.len() - 1
        });
        serializer.serialize_u64(number as u64)
    }
}

impl<'de> Deserialize<'de> for Tensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        ARRAYS
            .with_borrow(|arrays| arrays.get(number as usize).cloned())
            .ok_or_else(|| D::Error::custom(format!("there is no array {number}")))
    }
}
