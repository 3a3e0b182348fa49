//! Tables in memory and what they look like from outside: Arrow on this side, the wire's types and values on the other.
//!
//! Knows no DataFusion, no files and no sockets. [`Table`] is a list of record batches of one schema; [`TaskHandle`] is
//! how long work reports where it is and learns that it was cancelled.

pub mod categories;
mod coming;
pub mod disk;
pub mod ipc;
pub mod layout;
mod mapping;
pub mod nan;
pub mod preview;
pub mod scalar;
pub mod sealed;
pub mod table;
pub mod task;
pub mod types;

pub use coming::ComingBatches;
pub use preview::{PreviewOptions, preview};
pub use scalar::{array_from_value, value_at};
pub use table::{ColumnSize, Table};
pub use task::{CancelError, TaskHandle};
pub use types::{dtype_from_wire, dtype_to_wire, schema_from_wire, schema_to_wire};
