//! The variables that outlive their cell: values by name, taken out by the cell that uses them and put back at its end.

use std::any::{Any, TypeId, type_name};
use std::collections::BTreeMap;
use std::fmt::Write;

use onrush_wire::host::Variable;
use onrush_wire::{Class, Diagnostic, ObjectId};

use super::CellError;

/// A short text for `:vars`, if the type can be shown cheaply.
pub type Preview = Option<String>;

struct Slot {
    value: Box<dyn Any>,
    type_name: &'static str,
    preview: Preview,
    bytes: u64,
}

/// The proof that a cell reached its end and put its variables back. Only [`Store::done`] makes one.
pub struct CellEnd(());

#[derive(Default)]
pub struct Store {
    slots: BTreeMap<String, Slot>,
}

impl Store {
    pub fn new() -> Self {
        Store::default()
    }

    /// The value of a variable, which leaves the store.
    pub fn take<T: 'static>(&mut self, name: &str) -> Result<T, CellError> {
        let value = self.take_any(name, TypeId::of::<T>(), type_name::<T>())?;
        // SAFETY: `take_any` has compared the type; the box was made of a `Box<T>`.
        Ok(*unsafe { Box::from_raw(Box::into_raw(value).cast::<T>()) })
    }

    // Code that is not generic is compiled with the prelude, not with every cell.
    #[inline(never)]
    fn take_any(&mut self, name: &str, wanted: TypeId, type_name: &str) -> Result<Box<dyn Any>, CellError> {
        let failed = |message: String| CellError {
            diagnostic: Diagnostic::error(Class::Internal, "variable", message)
                .help("run the cell that defines it again"),
        };
        let slot = self.slots.remove(name).ok_or_else(|| failed(format!("the variable `{name}` is not there")))?;
        if (*slot.value).type_id() == wanted {
            return Ok(slot.value);
        }
        let found = slot.type_name;
        Err(failed(format!("the variable `{name}` is of type `{found}`, and the cell was compiled for `{type_name}`")))
    }

    pub fn put<T: 'static>(&mut self, name: &str, value: T) {
        self.put_any(name, Box::new(value), type_name::<T>());
    }

    #[inline(never)]
    fn put_any(&mut self, name: &str, value: Box<dyn Any>, type_name: &'static str) {
        let preview = preview(&*value);
        let bytes = heap_bytes(&*value) + std::mem::size_of_val(&*value) as u64;
        self.slots.insert(name.to_string(), Slot { value, type_name, preview, bytes });
    }

    #[inline(never)]
    pub fn done(&mut self) -> CellEnd {
        CellEnd(())
    }

    /// Opens the locks that a gone thread holds, as far as they are variables; gives their names.
    ///
    /// # Safety
    /// No other thread runs, and no cell.
    pub unsafe fn open_locks(&self) -> Vec<String> {
        let variables = self.slots.iter().map(|(name, slot)| (name.as_str(), slot.type_name, &*slot.value));
        // SAFETY: the caller's promise; the names were taken with the values.
        unsafe { super::locks::open(variables) }
    }

    /// All of them if `names` is empty.
    pub fn forget(&mut self, names: &[String]) {
        if names.is_empty() {
            self.slots.clear();
        }
        for name in names {
            self.slots.remove(name);
        }
    }

    pub fn variables(&self) -> Vec<Variable> {
        let describe = |(name, slot): (&String, &Slot)| Variable {
            name: name.clone(),
            type_name: slot.type_name.to_string(),
            preview: slot.preview.clone(),
            bytes: slot.bytes,
        };
        self.slots.iter().map(describe).collect()
    }

    /// The variables that hold objects of the session.
    pub fn objects(&self) -> Vec<(String, ObjectId)> {
        self.slots.iter().filter_map(|(name, slot)| Some((name.clone(), super::object_of(&*slot.value)?))).collect()
    }
}

/// Simple values and the lengths of the usual collections; other types have no cheap preview.
fn preview(any: &dyn Any) -> Preview {
    macro_rules! shown {
        ($($t:ty),*) => {$(if let Some(v) = any.downcast_ref::<$t>() { return Some(cut(format!("{v:?}"))); })*};
    }
    macro_rules! counted {
        ($($t:ty),*) => {$(if let Some(v) = any.downcast_ref::<Vec<$t>>() {
            let mut text = String::from("[");
            for (i, item) in v.iter().take(5).enumerate() {
                let _ = write!(text, "{}{item:?}", if i > 0 { ", " } else { "" });
            }
            text.push_str(if v.len() > 5 { ", …]" } else { "]" });
            return Some(cut(format!("{text}, {} in all", v.len())));
        })*};
    }
    shown!(bool, char, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64, &'static str, String);
    counted!(bool, char, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64, &'static str, String);
    crate::controls::preview(any).or_else(|| Some(crate::cuda::preview(any)?.0)).map(cut)
}

fn cut(text: String) -> String {
    if text.chars().count() <= 80 { text } else { text.chars().take(79).chain(['…']).collect() }
}

/// Bytes of the usual containers on the heap; 0 for others.
fn heap_bytes(any: &dyn Any) -> u64 {
    macro_rules! held {
        ($($t:ty),*) => {$(if let Some(v) = any.downcast_ref::<Vec<$t>>() {
            return (v.capacity() * std::mem::size_of::<$t>()) as u64;
        })*};
    }
    if let Some(text) = any.downcast_ref::<String>() {
        return text.capacity() as u64;
    }
    held!(bool, char, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64, &'static str);
    crate::cuda::preview(any).map_or(0, |(_, bytes)| bytes)
}
