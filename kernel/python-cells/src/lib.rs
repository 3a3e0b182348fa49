//! `%%python` cells: the active Python, and the worker process that runs the cells of one notebook.
//!
//! The worker is the module `onrush.worker` of the Python package (`kernel/python/onrush`), which this crate embeds. It
//! reads and publishes frames itself, over the session's client protocol. This crate knows neither Jupyter nor Rust
//! cells: `kernel/cell` parses the magic, sends the code and passes on what the worker says.

mod find;
mod message;
mod package;
mod worker;

pub use find::python;
pub use message::{FromWorker, ToWorker};
pub use worker::{Heard, Launch, Worker};
