//! Functions of cells that other processes call: where a function is, and the messages of a process that calls it.

use serde::{Deserialize, Serialize};

/// A function of a cell, for processes on other machines: the shared objects that it is in, and its place there. All
/// paths are of the machine of the cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellFunction {
    /// The function's name, for messages.
    pub name: String,
    /// `onrush-cell`, the program that loads the objects.
    pub host: String,
    /// `libonrush.so`. The objects fit to this very file.
    pub prelude: String,
    /// Folders in which the loader looks for other libraries.
    pub folders: Vec<String>,
    /// Shared objects of cells and of their crates, in the order in which they were loaded.
    pub objects: Vec<String>,
    pub entry: FunctionEntry,
}

/// The place of a function that takes bytes and gives bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionEntry {
    /// The number of its object.
    pub object: u32,
    /// Bytes from the start of the loaded object.
    pub offset: u64,
}

/// The first message to a process for calls. Its answer is a `Result<(), String>`. Each later message is the argument
/// of a call as bytes, and each answer a [`CallResult`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadFunction {
    pub objects: Vec<String>,
    pub entry: FunctionEntry,
}

/// The value of a call as bytes, or its panic as text.
pub type CallResult = Result<Vec<u8>, String>;
