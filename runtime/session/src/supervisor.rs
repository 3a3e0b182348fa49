//! The supervisor: small and long-lived. Its only data are plans and the rows that cells sent.
//!
//! One thread accepts, one serves each connection, one keeps time. They share [`state::State`] behind one lock, which
//! is never held while the engine works.

mod calls;
#[doc(hidden)]
pub mod catalog;
mod client;
mod copies;
mod engine_process;
mod requests;
mod server;
mod start;
mod state;
mod tasks;

use std::path::PathBuf;
use std::time::Duration;

#[doc(hidden)]
pub use calls::mentions;
pub use start::{serve, start_in_background};

/// How a session is run.
#[derive(Clone, Debug)]
pub struct Options {
    pub socket: PathBuf,
    /// Ends after so long with nobody attached.
    pub idle: Duration,
    /// Whether the process leaves the terminal and the process group that started it.
    pub detached: bool,
}
