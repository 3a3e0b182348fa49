//! How a cell keeps a value that may be an iterator over a closure: its type has no name, that of a box has one.
//!
//! `__keep!` chooses at compile time: a method call finds the first of the traits by the number of references it has to
//! take.

use std::any::type_name;
use std::cell::Cell;

use super::Store;

/// A value on its way into the store.
pub struct KeptValue<T>(Cell<Option<T>>);

impl<T> KeptValue<T> {
    pub fn new(value: T) -> Self {
        KeptValue(Cell::new(Some(value)))
    }
}

fn has_no_name<T>() -> bool {
    type_name::<T>().contains("{{closure}}")
}

pub trait KeepBothEnds {
    fn __onrush_keep(&self, store: &mut Store, name: &str);
}

impl<I: DoubleEndedIterator + 'static> KeepBothEnds for &&KeptValue<I> {
    fn __onrush_keep(&self, store: &mut Store, name: &str) {
        match self.0.take() {
            Some(value) if has_no_name::<I>() => {
                store.put(name, Box::new(value) as Box<dyn DoubleEndedIterator<Item = I::Item>>);
            }
            Some(value) => store.put(name, value),
            None => {}
        }
    }
}

pub trait KeepIterator {
    fn __onrush_keep(&self, store: &mut Store, name: &str);
}

impl<I: Iterator + 'static> KeepIterator for &KeptValue<I> {
    fn __onrush_keep(&self, store: &mut Store, name: &str) {
        match self.0.take() {
            Some(value) if has_no_name::<I>() => {
                store.put(name, Box::new(value) as Box<dyn Iterator<Item = I::Item>>);
            }
            Some(value) => store.put(name, value),
            None => {}
        }
    }
}

pub trait KeepOther {
    fn __onrush_keep(&self, store: &mut Store, name: &str);
}

impl<T: 'static> KeepOther for KeptValue<T> {
    fn __onrush_keep(&self, store: &mut Store, name: &str) {
        if let Some(value) = self.0.take() {
            store.put(name, value);
        }
    }
}

/// For generated code: puts a value back, in a box if it is an iterator whose type has no name.
#[doc(hidden)]
#[macro_export]
macro_rules! __keep {
    ($store:expr, $name:expr, $value:expr) => {{
        #[allow(unused_imports)]
        use $crate::host::{KeepBothEnds as _, KeepIterator as _, KeepOther as _};
        (&&&$crate::host::KeptValue::new($value)).__onrush_keep($store, $name);
    }};
}
