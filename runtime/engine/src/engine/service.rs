//! Calls and their answers, as the services of the engine process see them: this crate's for frames, models and graphs,
//! and the views of `runtime/explore`. A new call is an arm in the service of its family.

use std::sync::Arc;

use arrow::array::RecordBatch;
use onrush_frame::{Table, TaskHandle};
use onrush_wire::call::Family;
use onrush_wire::learn::{ModelId, ModelInfo};
use onrush_wire::plan::FileMark;
use onrush_wire::session::{Reply, Request};
use onrush_wire::visual::{SectionKind, VisualHead};
use onrush_wire::{Class, Diagnostic, FrameId, ObjectId, Schema};

use super::Engine;
use super::export::ExportedColumn;

/// A call with everything that came with it.
#[derive(Debug)]
pub struct Job {
    pub request: Request,
    /// The id of the object that the call makes.
    pub made: Option<ObjectId>,
    /// The rows of `Op::FromArrow`.
    pub rows: Option<Vec<RecordBatch>>,
    /// The files that a frame was read from, which must not have changed.
    pub files: Option<Vec<FileMark>>,
}

/// The answer of a service. What is not in the reply itself travels in shared memory or on the device.
#[derive(Debug)]
pub enum Answer {
    Reply(Box<Reply>),
    /// [`Reply::Batches`].
    Rows(Arc<Table>),
    /// [`Reply::Exported`].
    Exported(ExportedColumn),
    /// [`Reply::Frame`] of files.
    Read {
        id: FrameId,
        schema: Schema,
        files: Vec<FileMark>,
    },
    /// [`Reply::Model`] with its file.
    Model {
        id: ModelId,
        info: Box<ModelInfo>,
        file: Vec<u8>,
    },
    /// [`Reply::Visual`] with named sections.
    Visual {
        head: VisualHead,
        sections: Vec<(String, SectionKind, Vec<u8>)>,
    },
}

impl Answer {
    pub fn reply(reply: Reply) -> Self {
        Answer::Reply(Box::new(reply))
    }
}

impl Job {
    /// The id of the frame that the call makes.
    pub(super) fn made_frame(&self) -> Result<FrameId, Diagnostic> {
        self.made.map(|id| FrameId(id.0)).ok_or_else(without_id)
    }

    /// The id of the model that the call makes.
    pub(super) fn made_model(&self) -> Result<ModelId, Diagnostic> {
        self.made.map(|id| ModelId(id.0)).ok_or_else(without_id)
    }
}

impl Engine {
    /// Answers a call about frames, models or graphs.
    ///
    /// # Errors
    /// Those of the call.
    pub fn answer(&self, job: Job, task: &TaskHandle) -> Result<Answer, Diagnostic> {
        match job.request.family() {
            Some(Family::Frames) => self.answer_frames(job, task),
            Some(Family::Models) => self.answer_models(job, task),
            Some(Family::Graphs) => self.answer_graphs(job, task),
            Some(Family::Views) | None => Err(misrouted(&job.request)),
        }
    }
}

/// The error of a service that has no arm for a call.
pub fn misrouted(request: &Request) -> Diagnostic {
    Diagnostic::error(Class::Internal, "request", format!("no service of the engine answers `{}`", request.name()))
        .help("please report it with the cell that led to it")
}

/// The error of a call that makes an object and came without its id.
fn without_id() -> Diagnostic {
    Diagnostic::error(Class::Internal, "request", "a call that makes an object came without its id")
}
