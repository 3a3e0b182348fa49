//! The handle of a frame: its id in the session, its schema, and the release when its last clone is dropped.
//!
//! The methods that users call are in `frame`, above what displays and converts frames.

use std::any::Any;
use std::sync::Arc;

use arrow::array::RecordBatch;
use onrush_wire::plan::Op;
use onrush_wire::{FrameId, ObjectId, Schema, Span};

use crate::{process, session};

/// An immutable table in the session: named, typed columns and ordered rows. The handle is small and cheap to clone.
/// Use and display do not move it.
///
/// Methods return new frames and leave this one unchanged. An error, such as an unknown column or a type that does not
/// fit, raises at the call.
#[derive(Clone)]
pub struct Frame {
    pub(crate) handle: Arc<FrameHandle>,
}

/// Released when its last clone is dropped. The session learns of it after the cell has succeeded.
pub(crate) struct FrameHandle {
    id: FrameId,
    pub schema: Schema,
    /// The id of the session that holds the frame.
    epoch: u64,
}

impl FrameHandle {
    /// `None` if its session has ended.
    pub fn known_id(&self) -> Option<FrameId> {
        (self.epoch == session::epoch()).then_some(self.id)
    }
}

impl Drop for FrameHandle {
    fn drop(&mut self) {
        if let Some(id) = self.known_id() {
            process::release(id);
        }
    }
}

/// The frame of a variable that holds one, if its session runs.
pub(crate) fn object_of(value: &dyn Any) -> Option<ObjectId> {
    value.downcast_ref::<Frame>().and_then(|frame| frame.handle.known_id()).map(ObjectId::from)
}

/// Sends a record batch to the session as a frame.
#[inline(never)]
pub(crate) fn send(batch: &RecordBatch, at: Span) -> Frame {
    Frame::new(session::send(batch, at))
}

impl Frame {
    pub(crate) fn new((id, schema): (FrameId, Schema)) -> Self {
        Frame { handle: Arc::new(FrameHandle { id, schema, epoch: session::epoch() }) }
    }

    #[inline(never)]
    pub(crate) fn step(op: Op, at: Span) -> Self {
        Frame::new(session::step(op, at))
    }

    /// The id of the frame for as long as another handle keeps it. `None` if the last handle was dropped.
    pub(crate) fn weak_id(&self) -> impl Fn() -> Option<FrameId> + Send + use<> {
        let weak = Arc::downgrade(&self.handle);
        move || weak.upgrade().and_then(|handle| handle.known_id())
    }
}
