//! What a notebook's processes ask of the session, and what it answers.
//!
//! One connection carries one request at a time: [`Request`], then [`Reply`]. A client that wants to ask two things at
//! once opens two connections. After [`Request::Subscribe`] the connection carries only [`Event`]s. The first message
//! is [`Hello`], answered by [`Welcome`].

use serde::{Deserialize, Serialize};

pub use crate::call::{CellEnd, Request};
use crate::cluster::ClusterInfo;
use crate::diagnostic::Diagnostic;
use crate::explore::ExploreReply;
use crate::learn::{ModelId, ModelInfo};
use crate::plot::Plot;
use crate::preview::TablePreview;
use crate::progress::Task;
use crate::schema::{DataType, Schema};
use crate::value::Value;
use crate::visual::{GraphCard, GraphPlot, Section, VisualHead};
use crate::{FrameId, Generation, NotebookId};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    pub notebook: NotebookId,
    pub role: Role,
    /// Of the cell process; a kernel process says the newest that it knows.
    pub generation: Generation,
    pub pid: u32,
    /// The token of a session that listens on TCP; empty on a Unix socket.
    pub token: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// User code. Its requests are undone if its generation is rolled back.
    Cell,
    /// The kernel process: begins and ends cells. When its last connection closes, the notebook's names are released.
    Kernel,
    /// `onrush doctor` and other tools: reads only.
    Observer,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Welcome {
    Accepted {
        protocol: u32,
        pid: u32,
        engine: String,
    },
    /// Another build's session, an old generation, a wrong token.
    Refused(Diagnostic),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    Done,
    Frame {
        id: FrameId,
        schema: Schema,
    },
    Model {
        id: ModelId,
        info: Box<ModelInfo>,
    },
    Preview(TablePreview),
    Count(u64),
    /// An Arrow IPC file of `bytes` bytes in a sealed memfd whose descriptor comes with this message (`SCM_RIGHTS`), or
    /// in `inline` where descriptors cannot travel.
    Batches {
        schema: Schema,
        rows: u64,
        bytes: u64,
        inline: Option<Vec<u8>>,
    },
    /// The values of a column without nulls, one after another in memory of the engine's device, which a process that
    /// has a device of the same name maps by the descriptor that comes with this message. Nobody writes to them any
    /// more, and the descriptor keeps them.
    Exported {
        rows: u64,
        bytes: u64,
        dtype: DataType,
        device: String,
        /// The processor plays the device.
        emulated: bool,
    },
    Value {
        value: Value,
        dtype: DataType,
    },
    Text(String),
    /// Absolute path and what was written.
    Written {
        path: String,
        rows: u64,
        bytes: u64,
    },
    Plot(Plot),
    GraphPlot(GraphPlot),
    GraphCard(GraphCard),
    Explored(ExploreReply),
    /// The sections lie in `inline`, or in a sealed memfd whose descriptor comes with this message. Without sections
    /// there is neither.
    Visual {
        head: VisualHead,
        sections: Vec<Section>,
        inline: Option<Vec<u8>>,
    },
    Names {
        own: Vec<NamedFrame>,
        published: Vec<NamedFrame>,
        /// This notebook's models.
        models: Vec<NamedModel>,
    },
    Tasks(Vec<Task>),
    Status(Status),
    Failed(Diagnostic),
    Cluster(ClusterInfo),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedFrame {
    pub name: String,
    pub frame: FrameId,
    pub schema: Schema,
    /// If it is known without running anything.
    pub rows: Option<u64>,
    /// Its rows, where they lie in memory; `None` if it is a plan that runs when it is used.
    pub held: Option<Residency>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedModel {
    pub name: String,
    pub model: ModelId,
    /// `RidgeCV(alpha=10) on 2930 x 4, r2 0.78`.
    pub title: String,
    /// Bytes in the engine's memory, if it is there.
    pub bytes: Option<u64>,
}

/// Rows that the session's engine holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residency {
    pub rows: u64,
    pub bytes: u64,
    /// `cpu`, or the name of a device.
    pub place: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub pid: u32,
    /// `None` while no engine runs.
    pub engine_pid: Option<u32>,
    /// How often an engine was started; more than 1 means that one died or was ended.
    pub engine_starts: u32,
    pub engine: String,
    pub notebooks: Vec<NotebookUse>,
    pub frames: u64,
    /// Of these, the ones that failed cells had finished and that wait for corrected ones.
    pub parked: u64,
    /// Bytes of resident frames, kept results and models in the engine. The supervisor's copies of models are not
    /// counted.
    pub resident_bytes: u64,
    /// Bytes on the device, if there is one.
    pub device_bytes: Option<u64>,
    pub memory_limit: u64,
    pub uptime_ms: u64,
    /// Where the engine's time went since it began: phases (`read`, `upload`, ...), in microseconds.
    pub spent: Vec<(String, u64)>,
}

/// What one notebook holds in the session, by its variables and by its outputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotebookUse {
    pub notebook: NotebookId,
    pub frames: u64,
    /// Of these, in the engine's memory. What several notebooks hold counts for each.
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// Sent when a task starts, a few times a second while it runs, and when it ends.
    Task(Task),
    /// The engine process died and another one took over; frames are rebuilt on use.
    EngineRestarted { reason: String },
}
