//! Calls of functions of cells as rows of a plan. A call has its argument as bytes in one row, and its value in a row
//! of the result. So calls are spread over workers, reported, stopped and made again as the rows of other plans are.
//!
//! A function runs in separate processes ([`processes`]): its panics, crashes and memory are not those of a worker.

mod exec;
mod function;
mod processes;

pub use exec::{CallExec, CallTable};
pub use function::Function;
pub use processes::set_concurrency;
