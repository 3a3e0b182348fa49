//! What the session reports about work under way, and what cells say of their loops.

use serde::{Deserialize, Serialize};

use crate::learn::Detail;
use crate::{NotebookId, TaskId};

/// A snapshot of one task. Rows and bytes count what has been read or produced so far; totals are given where known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub notebook: NotebookId,
    /// A few words: `read flights.csv`, `group_by → sort`.
    pub title: String,
    /// What is being done at this moment.
    pub stage: String,
    pub state: TaskState,
    pub rows: u64,
    pub total_rows: Option<u64>,
    pub bytes: u64,
    pub total_bytes: Option<u64>,
    pub elapsed_ms: u64,
    pub memory_bytes: u64,
    /// What the session holds on its device meanwhile, for all tasks; none without a device.
    pub device_bytes: Option<u64>,
    /// Steps done, and how many there are: iterations, trees, trials.
    pub steps: Option<(u64, u64)>,
    /// The curve or the trials of a training.
    pub detail: Option<Detail>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskState {
    Queued,
    Running,
    Done,
    Failed,
    Cancelled,
}

/// A loop of a cell that says how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loop {
    /// Unique in its cell process.
    pub id: u64,
    /// How many others it is in.
    pub depth: u32,
    pub title: String,
    pub done: u64,
    pub total: Option<u64>,
    pub elapsed_ms: u64,
    pub state: TaskState,
}
