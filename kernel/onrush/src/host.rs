//! The cell process's side of the prelude: the channel to the kernel process and the store of variables.
//!
//! Used by `onrush-cell` and by generated code, never by users.

use onrush_wire::display::Display;
use onrush_wire::plot::Plot;
use onrush_wire::{Diagnostic, Generation, NotebookId};

/// Who this process is. `None` outside a cell process (an exported program, a test).
#[derive(Clone, Debug)]
pub struct Context {
    pub notebook: NotebookId,
    pub generation: Generation,
    pub session_socket: String,
}

pub fn context() -> Option<Context> {
    None
}

/// Sends an output to the notebook. Outside a cell process it is printed as text.
pub fn display(_display: Display) {}

pub fn clear_output(_wait: bool) {}

/// Asks the user for a line; `None` if they interrupted.
pub fn input(_prompt: &str, _password: bool) -> Option<String> {
    None
}

/// Has the kernel process draw and write a plot.
pub fn save_plot(_plot: Plot, _path: &str) -> Result<(), Diagnostic> {
    Ok(())
}

/// Has the kernel process start a session.
pub fn need_session() -> Result<(), Diagnostic> {
    Ok(())
}
