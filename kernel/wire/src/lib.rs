//! The types that Onrush's processes exchange: kernel process, cell process, session supervisor, engine.
//!
//! Plain serde structs and the length-prefixed codec that carries them. This crate knows no Arrow, no DataFusion, no
//! Jupyter and no rustc, and depends on no other crate of the project: the two towers of the workspace meet only here.

pub mod call;
pub mod cell_function;
pub mod cluster;
pub mod codec;
pub mod control;
pub mod dashboard;
pub mod diagnostic;
pub mod display;
pub mod explore;
pub mod expr;
pub mod fd_passing;
pub mod format_integer;
pub mod graph;
pub mod host;
pub mod learn;
pub mod limits;
pub mod map;
pub mod paths;
pub mod plan;
pub mod plot;
pub mod preview;
pub mod progress;
pub mod reserved_names;
pub mod schema;
pub mod session;
pub mod value;
pub mod visual;
pub mod window;
pub mod worker;

pub use diagnostic::{Call, Class, Diagnostic, Label, Severity, Span};
pub use expr::{Arg, BinaryOp, Expr, ExprKind, ModelOutput, NativeFunction, UnaryOp};
pub use schema::{DataType, Field, Schema, TimeUnit};
pub use value::Value;

use serde::{Deserialize, Serialize};

/// Version of everything in this crate. Both ends of a socket say it first; different numbers do not talk.
pub const PROTOCOL: u32 = 24;

/// Anything that a session holds for its notebooks: frames, and what other kinds come. One number space for all of
/// them, never reused within the life of a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectId(pub u64);

/// A frame in the session. Immutable: an operation gives a new id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FrameId(pub u64);

impl From<FrameId> for ObjectId {
    fn from(id: FrameId) -> Self {
        ObjectId(id.0)
    }
}

/// A fitted model in the session. Immutable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModelId(pub u64);

impl From<ModelId> for ObjectId {
    fn from(id: ModelId) -> Self {
        ObjectId(id.0)
    }
}

/// Which life of a notebook's cell process a message comes from. A rolled-back process's late messages carry an older
/// generation and are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Generation(pub u64);

/// A unit of work that the session reports on and can stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskId(pub u64);

/// A notebook: the namespace of its frames' names. The kernel process makes one up when it starts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotebookId(pub String);
