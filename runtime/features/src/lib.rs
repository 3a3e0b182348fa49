//! No code: the crate's dependencies name the features of third-party crates that the workspace asks for as a whole.
//!
//! Cargo builds a dependency with the features that the selected crates ask for together. With this crate below all of
//! the session's crates, `-p onrush-expr` and the whole build ask for the same, and DataFusion is built once.
