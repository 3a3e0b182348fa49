//! Work that waits for a device, and how it learns that its query was stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::error::{DataFusionError, Result};
use onrush_frame::TaskHandle;

tokio::task_local! {
    /// The task of a query that is run by a thread which waits for nothing else.
    static INLINE_TASK: TaskHandle;
}

/// Runs a plan on this thread, which may wait for the device, as far as no other thread gets a part of it. Between two
/// fragments no thread has to be woken.
pub async fn run_inline<T>(task: TaskHandle, work: impl Future<Output = T>) -> T {
    INLINE_TASK.scope(task, work).await
}

/// The signal that a query was stopped.
#[derive(Clone)]
pub enum Stop {
    Task(TaskHandle),
    Flag(Arc<AtomicBool>),
}

impl Stop {
    pub fn is_set(&self) -> bool {
        match self {
            Stop::Task(task) => task.cancelled(),
            Stop::Flag(flag) => flag.load(Ordering::Relaxed),
        }
    }
}

/// Works on a thread that may wait for the device: the thread of the query, if it has one and the work is quick. On any
/// other thread a cancelled query ends at once, and the work, which sees the flag, ends at its next step.
pub async fn blocking<T: Send + 'static>(is_quick: bool, work: impl FnOnce(&Stop) -> T + Send + 'static) -> Result<T> {
    if let (true, Ok(task)) = (is_quick, INLINE_TASK.try_with(TaskHandle::clone)) {
        return Ok(work(&Stop::Task(task)));
    }
    let flag = Arc::new(AtomicBool::new(false));
    let _guard = SetOnDrop(Arc::clone(&flag));
    let done = tokio::task::spawn_blocking(move || work(&Stop::Flag(flag))).await;
    done.map_err(|e| DataFusionError::Internal(format!("the GPU's thread failed: {e}")))
}

struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
