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

/// Single numbers of models in their JSON, also NaN and infinity: for `#[serde(with = "crate::tensor::scalar")]` on
/// fields of type `f64` and `Option<f64>`.
pub(crate) mod scalar {
    use onrush_wire::learn::number;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    pub struct JsonNumber(#[serde(with = "number")] f64);

    /// A type of numbers, and what is written for it.
    pub trait Scalar: Sized + Copy {
        type Form: Serialize + for<'de> Deserialize<'de>;

        fn form(self) -> Self::Form;

        fn of(form: Self::Form) -> Self;
    }

    impl Scalar for f64 {
        type Form = JsonNumber;

        fn form(self) -> JsonNumber {
            JsonNumber(self)
        }

        fn of(form: JsonNumber) -> f64 {
            form.0
        }
    }

    impl Scalar for Option<f64> {
        type Form = Option<JsonNumber>;

        fn form(self) -> Option<JsonNumber> {
            self.map(JsonNumber)
        }

        fn of(form: Option<JsonNumber>) -> Option<f64> {
            form.map(|written| written.0)
        }
    }

    pub fn serialize<T: Scalar, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.form().serialize(serializer)
    }

    pub fn deserialize<'de, T: Scalar, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::Form::deserialize(deserializer).map(T::of)
    }
}

thread_local! {
    /// The arrays of the model that is being written or read on this thread. `None`: it was read.
    static ARRAYS: RefCell<Vec<Option<Tensor>>> = const { RefCell::new(Vec::new()) };
}

/// Serialises with `work`, and gives the arrays that it met, in the order of their numbers.
pub(crate) fn collect<T>(work: impl FnOnce() -> T) -> (T, Vec<Tensor>) {
    ARRAYS.with_borrow_mut(Vec::clear);
    let done = work();
    (done, ARRAYS.with_borrow_mut(std::mem::take).into_iter().flatten().collect())
}

/// Deserialises with `work`; an array is found by its number in `arrays`, once.
pub(crate) fn supply<T>(arrays: Vec<Tensor>, work: impl FnOnce() -> T) -> T {
    ARRAYS.with_borrow_mut(|known| *known = arrays.into_iter().map(Some).collect());
    let done = work();
    ARRAYS.with_borrow_mut(Vec::clear);
    done
}

impl Serialize for Tensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = ARRAYS.with_borrow_mut(|arrays| {
            arrays.push(Some(self.clone()));
            arrays.len() - 1
        });
        serializer.serialize_u64(number as u64)
    }
}

impl<'de> Deserialize<'de> for Tensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        // An array is moved and not cloned, so that a short file cannot mention a large array many times.
        match ARRAYS.with_borrow_mut(|arrays| arrays.get_mut(number as usize).map(Option::take)) {
            Some(Some(array)) => Ok(array),
            Some(None) => Err(D::Error::custom(format!("array {number} is used twice"))),
            None => Err(D::Error::custom(format!("there is no array {number}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Numbers {
        #[serde(with = "scalar")]
        plain: f64,
        #[serde(with = "scalar")]
        optional: Option<f64>,
    }

    #[test]
    fn an_array_is_read_once() {
        let read = |json: &str| {
            let arrays = vec![Tensor::vector(vec![1.0])];
            supply(arrays, || serde_json::from_str::<Vec<Tensor>>(json).map_err(|e| e.to_string()))
        };
        assert_eq!(read("[0]"), Ok(vec![Tensor::vector(vec![1.0])]));
        assert!(read("[0, 0]").unwrap_err().starts_with("array 0 is used twice"));
        assert!(read("[1]").unwrap_err().starts_with("there is no array 1"));
    }

    #[test]
    fn numbers_come_back_bit_for_bit() {
        for value in [0.1 + 0.2, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0, 2.0, f64::MIN_POSITIVE, 1e300] {
            for optional in [None, Some(value)] {
                let written = serde_json::to_string(&Numbers { plain: value, optional }).unwrap();
                let read: Numbers = serde_json::from_str(&written).unwrap();
                assert_eq!(read.plain.to_bits(), value.to_bits(), "{written}");
                assert_eq!(read.optional.map(f64::to_bits), optional.map(f64::to_bits), "{written}");
            }
            let param = onrush_wire::learn::Param::List(vec![value.into()]);
            let written = serde_json::to_string(&param).unwrap();
            let read: onrush_wire::learn::Param = serde_json::from_str(&written).unwrap();
            assert_eq!(format!("{read:?}"), format!("{param:?}"), "{written}");
        }
    }
}
