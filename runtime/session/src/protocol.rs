//! What the supervisor and its engine process say to each other, over a socket pair that is the engine's standard
//! input.
//!
//! Calls run concurrently and are answered in any order; `call` says which answer belongs to which.

use onrush_wire::call::EngineCall;
use onrush_wire::learn::{Detail, ModelId};
use onrush_wire::plan::FileMark;
use onrush_wire::session::{Reply, Residency};
use onrush_wire::{FrameId, ObjectId};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToEngine {
    pub call: u64,
    pub ask: EngineRequest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum EngineRequest {
    /// A request, with the ids of the engine. Its rows (`Op::FromArrow`) come as a descriptor: an Arrow IPC file or
    /// stream. Answered as the request; a reply that goes with shared memory comes with a descriptor.
    Call {
        call: EngineCall,
        /// The id of the object that the call makes.
        made: Option<ObjectId>,
        /// For a frame that is made again: the files that it was read from, which must not have changed.
        files: Option<Vec<FileMark>>,
    },
    /// A model that is made again from its file, which comes as a descriptor. Answered by [`Reply::Model`].
    RestoreModel { id: ModelId },
    /// Answered by [`Reply::Done`], and done before any later call.
    Release(Vec<ObjectId>),
    /// Stops another call, which answers with an error of class `Interrupted`. `Cancel` itself has no answer.
    Cancel { call: u64 },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromEngine {
    /// First message.
    Ready { engine: String },
    Answer {
        call: u64,
        reply: Box<Reply>,
        /// Where the engine's time went since it began: phases, in microseconds.
        spent: Vec<(String, u64)>,
    },
    /// The files of a frame that was just read: comes before the answer.
    Read { id: FrameId, files: Vec<FileMark> },
    /// A few times a second for every call under way.
    Progress(Vec<CallProgress>),
    /// What the engine holds: comes before the answer to what changed it.
    Holds {
        resident_bytes: u64,
        device_bytes: Option<u64>,
        /// Of each object whose data is in memory.
        objects: Vec<(ObjectId, Residency)>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallProgress {
    pub call: u64,
    pub stage: String,
    pub rows: u64,
    pub total_rows: Option<u64>,
    pub bytes: u64,
    pub total_bytes: Option<u64>,
    pub memory: u64,
    pub device: Option<u64>,
    pub steps: Option<(u64, u64)>,
    pub detail: Option<Detail>,
}
