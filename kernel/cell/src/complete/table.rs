//! The prelude's public functions and methods, taken from its sources when this crate is built (`build.rs`).

/// One function, method or macro that a cell can call.
pub struct Entry {
    /// The type that it is a method of; empty for functions and macros.
    pub owner: &'static str,
    pub name: &'static str,
    pub kind: &'static str,
    pub signature: &'static str,
    pub docs: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/prelude_table.rs"));
