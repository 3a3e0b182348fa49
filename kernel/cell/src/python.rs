//! The Python worker of a notebook, shared by the executor, which runs cells in it, and by completion.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

use onrush_python_cells::Worker;
use parking_lot::{Mutex, MutexGuard};

/// How long completion waits for a worker. A worker that runs a cell has no time for it.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a question waits for one that is answered.
const TURN: Duration = Duration::from_millis(50);

/// `None` before the first `%%python` cell, and after the worker has ended.
#[derive(Clone, Debug, Default)]
pub struct SharedWorker(Arc<Mutex<Option<Worker>>>);

impl SharedWorker {
    pub fn lock(&self) -> MutexGuard<'_, Option<Worker>> {
        self.0.lock()
    }

    /// Descriptors that are readable when the worker has something to say. Empty without a worker.
    pub fn descriptors(&self) -> Vec<RawFd> {
        self.lock().as_ref().map_or(Vec::new(), Worker::descriptors)
    }

    /// Completions at a cursor with the range that they replace, in code points. `None` if the worker is busy.
    pub fn complete(&self, code: &str, cursor: usize) -> Option<(Vec<String>, usize, usize)> {
        self.0.try_lock_for(TURN)?.as_mut()?.complete(code, cursor, PATIENCE)
    }
}
