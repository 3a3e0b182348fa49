//! The engine: frames by id, plans that run, results that are kept, and how a plan is explained.
//!
//! Puts the crates of plans together: the wire's steps and SQL become plans, rules and devices are chosen, files are
//! read. Knows no sockets, no names of notebooks, no files' formats and no views of frames (`runtime/explore`).

mod engine;
pub mod explain;
mod memory_pool;
pub mod result_cache;

pub use engine::{
    Answer, CALLS_STACK, Engine, EngineConfig, ExportedColumn, FrameRows, HeadTail, Job, KEPT, TableHolder, misrouted,
    serve_worker,
};
pub use engine::{DevicePositions, DeviceSlots, SlotValues, SlotView};
pub use explain::Placement;
pub use memory_pool::HeldMemory;
#[doc(hidden)]
pub use memory_pool::Pool;
pub use onrush_cluster::{Settings as ClusterSettings, WorkerOptions};
pub use onrush_gpu::{EngineChoice, Policy, Tuning};
pub use onrush_graph_arrow::Index;
pub use onrush_kernels::raster::{PixelWindow, PositionExtent};
