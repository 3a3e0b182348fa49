//! What the supervisor and its engine process say to each other, over a socket pair that is the engine's standard input.
//!
//! Calls run concurrently and are answered in any order; `call` says which answer belongs to which.

use onrush_wire::explore::{Explore, View};
use onrush_wire::learn::{Detail, Fit, ModelAsk, ModelId, Splitter};
use onrush_wire::plan::{FileMark, Op, Sink};
use onrush_wire::plot::PlotRequest;
use onrush_wire::session::{Held, Reply};
use onrush_wire::visual::{GraphCardRequest, GraphPlotRequest, GraphWrite, VisualAsk, VisualSpec};
use onrush_wire::{Expr, FrameId, ObjectId, Span};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToEngine {
    pub call: u64,
    pub ask: Ask,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// The rows of `Op::FromArrow` come as a descriptor: an Arrow IPC file or stream.
    Step {
        id: FrameId,
        op: Op,
        at: Option<Span>,
        /// Of a frame that is made again: the files that it was read from, which must not have changed.
        files: Option<Vec<FileMark>>,
    },
    Persist {
        frame: FrameId,
        new: FrameId,
    },
    Preview {
        frame: FrameId,
        head: u32,
        tail: u32,
        nulls: bool,
    },
    RowCount {
        frame: FrameId,
    },
    /// The answer comes with a descriptor.
    Collect {
        frame: FrameId,
        columns: Vec<String>,
    },
    /// Answered by [`Reply::Lent`] or [`Reply::Batches`], with a descriptor.
    Lend {
        frame: FrameId,
        column: String,
    },
    Value {
        frame: FrameId,
        expr: Expr,
    },
    Explain {
        frame: FrameId,
        analyze: bool,
    },
    Write {
        frame: FrameId,
        sink: Sink,
    },
    Plot(PlotRequest),
    GraphPlot(GraphPlotRequest),
    GraphCard(GraphCardRequest),
    WriteGraph(GraphWrite),
    /// The answer may come with a descriptor.
    Visual {
        what: VisualSpec,
        ask: VisualAsk,
    },
    Explore {
        view: View,
        what: Explore,
    },
    /// Trains a model. Answered by [`Reply::Model`] with a descriptor: the model's file.
    Fit {
        id: ModelId,
        fit: Fit,
        at: Option<Span>,
    },
    /// The model of a file. Answered likewise.
    LoadModel {
        id: ModelId,
        path: String,
        folder: String,
    },
    /// The model of a file that comes as a descriptor: made again for another engine. Answered by [`Reply::Model`].
    RestoreModel {
        id: ModelId,
    },
    Model {
        model: ModelId,
        what: ModelAsk,
    },
    ClusterScore {
        frame: FrameId,
        label: String,
        score: String,
    },
    CrossValidate {
        fit: Fit,
        cv: Splitter,
        scoring: Vec<String>,
        train_score: bool,
        at: Option<Span>,
    },
    /// Answered by [`Reply::Done`], and done before any later call.
    Release(Vec<ObjectId>),
    /// Stops another call, which answers with an error of class `Interrupted`. `Cancel` itself has no answer.
    Cancel {
        call: u64,
    },
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
        objects: Vec<(ObjectId, Held)>,
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
