//! Batches that another thread still makes. Who asks for them waits.

use std::sync::OnceLock;

use arrow::array::RecordBatch;
use onrush_wire::Diagnostic;
use parking_lot::{Condvar, Mutex};

/// The batches of a table that are on their way to the host.
#[derive(Debug)]
pub struct ComingBatches {
    /// About what they will take.
    bytes: u64,
    batches: OnceLock<Result<Vec<RecordBatch>, Diagnostic>>,
    waiting: Mutex<()>,
    came: Condvar,
}

impl ComingBatches {
    /// `bytes` is about what the batches will take.
    pub fn new(bytes: u64) -> ComingBatches {
        ComingBatches { bytes, batches: OnceLock::new(), waiting: Mutex::new(()), came: Condvar::new() }
    }

    /// Gives the batches to those who wait, or why there are none.
    pub fn finish(&self, batches: Result<Vec<RecordBatch>, Diagnostic>) {
        drop(self.batches.set(batches));
        drop(self.waiting.lock());
        self.came.notify_all();
    }

    pub fn is_there(&self) -> bool {
        self.batches.get().is_some()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Waits for the batches.
    ///
    /// # Panics
    /// With the diagnostic as payload, if the copy failed. Each later read of the table fails in the same way.
    pub(crate) fn wait(&self) -> &[RecordBatch] {
        let mut waiting = self.waiting.lock();
        loop {
            match self.batches.get() {
                Some(Ok(batches)) => return batches,
                Some(Err(reason)) => std::panic::panic_any(reason.clone()),
                None => self.came.wait(&mut waiting),
            }
        }
    }
}
