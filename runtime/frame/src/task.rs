//! How long work says where it is, and learns that the user stopped it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use onrush_wire::learn::Detail;
use onrush_wire::{Class, Diagnostic};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Totals that are not known yet.
const UNKNOWN: u64 = u64::MAX;

/// One unit of work under way, shared by those who do it, report on it and stop it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TaskHandle(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    stage: Mutex<String>,
    rows: AtomicU64,
    total_rows: AtomicU64,
    bytes: AtomicU64,
    total_bytes: AtomicU64,
    memory: AtomicU64,
    /// Steps done, and how many there are.
    steps: Mutex<Option<(u64, u64)>>,
    detail: Mutex<Option<Detail>>,
    cancelled: AtomicBool,
    changed: Notify,
}

/// The task was stopped. Turns into a [`Diagnostic`] of class `Interrupted`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped")]
pub struct CancelError;

impl From<CancelError> for Diagnostic {
    fn from(_: CancelError) -> Self {
        Diagnostic::error(Class::Interrupted, "interrupted", "stopped before it was done")
    }
}

/// The progress of a task at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    pub stage: String,
    pub rows: u64,
    pub total_rows: Option<u64>,
    pub bytes: u64,
    pub total_bytes: Option<u64>,
    pub memory: u64,
    /// Steps done, and how many there are: iterations, trees, trials.
    pub steps: Option<(u64, u64)>,
    /// The curve or the trials of a training.
    pub detail: Option<Detail>,
}

impl Default for TaskHandle {
    fn default() -> Self {
        Self::new()
    }
}

impl TaskHandle {
    pub fn new() -> Self {
        TaskHandle(Arc::new(Inner {
            stage: Mutex::new(String::new()),
            rows: AtomicU64::new(0),
            total_rows: AtomicU64::new(UNKNOWN),
            bytes: AtomicU64::new(0),
            total_bytes: AtomicU64::new(UNKNOWN),
            memory: AtomicU64::new(0),
            steps: Mutex::new(None),
            detail: Mutex::new(None),
            cancelled: AtomicBool::new(false),
            changed: Notify::new(),
        }))
    }

    /// Names what is being done now: a few words, such as `read flights.csv`.
    pub fn stage(&self, stage: impl Into<String>) {
        *self.0.stage.lock() = stage.into();
    }

    pub fn add_rows(&self, rows: u64) {
        self.0.rows.fetch_add(rows, Ordering::Relaxed);
    }

    pub fn add_bytes(&self, bytes: u64) {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn set_rows(&self, rows: u64) {
        self.0.rows.store(rows, Ordering::Relaxed);
    }

    pub fn set_total_rows(&self, rows: Option<u64>) {
        self.0.total_rows.store(rows.unwrap_or(UNKNOWN), Ordering::Relaxed);
    }

    /// More bytes that this task will read; a task that reads several files adds them up.
    pub fn add_total_bytes(&self, bytes: u64) {
        let old = self.0.total_bytes.load(Ordering::Relaxed);
        self.0.total_bytes.store(if old == UNKNOWN { bytes } else { old + bytes }, Ordering::Relaxed);
    }

    pub fn set_memory(&self, bytes: u64) {
        self.0.memory.store(bytes, Ordering::Relaxed);
    }

    /// Steps done, and how many there are.
    pub fn set_steps(&self, done: u64, of: u64) {
        *self.0.steps.lock() = Some((done, of));
    }

    /// The curve or the trials of a training, as of now.
    pub fn set_detail(&self, detail: Detail) {
        *self.0.detail.lock() = Some(detail);
    }

    pub fn progress(&self) -> Progress {
        let known = |v: u64| (v != UNKNOWN).then_some(v);
        Progress {
            stage: self.0.stage.lock().clone(),
            rows: self.0.rows.load(Ordering::Relaxed),
            total_rows: known(self.0.total_rows.load(Ordering::Relaxed)),
            bytes: self.0.bytes.load(Ordering::Relaxed),
            total_bytes: known(self.0.total_bytes.load(Ordering::Relaxed)),
            memory: self.0.memory.load(Ordering::Relaxed),
            steps: *self.0.steps.lock(),
            detail: self.0.detail.lock().clone(),
        }
    }

    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Release);
        self.0.changed.notify_waiters();
    }

    pub fn cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// For loops: `task.check()?` between chunks.
    pub fn check(&self) -> Result<(), CancelError> {
        if self.cancelled() { Err(CancelError) } else { Ok(()) }
    }

    /// Returns after the task is cancelled: for `tokio::select!`, together with the work.
    pub async fn wait_cancelled(&self) {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            // Registered before the flag is read, so that no cancellation falls between the two.
            changed.as_mut().enable();
            if self.cancelled() {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_sees_progress_and_cancellation() {
        let task = TaskHandle::new();
        let other = task.clone();
        task.stage("read a.csv");
        task.add_bytes(10);
        task.add_total_bytes(40);
        task.add_total_bytes(2);
        let progress = other.progress();
        assert_eq!((progress.stage.as_str(), progress.bytes, progress.total_bytes), ("read a.csv", 10, Some(42)));
        assert_eq!(progress.total_rows, None);
        assert_eq!(task.check(), Ok(()));
        other.cancel();
        assert_eq!(task.check(), Err(CancelError));
    }

    #[test]
    fn waiting_ends_when_another_thread_cancels() {
        let task = TaskHandle::new();
        let other = task.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let thread = std::thread::spawn(move || other.cancel());
        runtime.block_on(task.wait_cancelled());
        thread.join().unwrap();
        assert!(task.cancelled());
    }
}
