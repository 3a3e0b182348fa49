//! Relational operators on a device. A pipeline (scan, filter, projection, then output or an aggregate) is one
//! generated kernel; between pipelines there are only tables of groups.
//!
//! Nothing here knows DataFusion or SQL: `runtime/gpu` builds [`ExprGraph`]s and [`Stage`]s. Nothing here knows the CPU
//! engine: a row that fails to evaluate is [`Error::Fault`]. The caller then runs the plan on the CPU, which reports
//! the row.

pub mod codegen;
pub mod column;
pub mod exec;
pub mod ir;
pub mod launch;
pub mod operators;
pub mod pipeline;

pub use column::residency;
pub use column::{DeviceColumn, DeviceTable, dictionary, kind_of};
pub use exec::executor::Executor;
pub use ir::aggregate::{Accumulator, AggregateOp};
pub use ir::expr::{
    Comparison, DeviceType, ExprGraph, Fold, ListOp, LiteralValue, NodeId, Op, OverflowPolicy, StringOp, WindowBoundary,
};
pub use ir::udf::DeviceUdf;
pub use launch::stream_context::{StreamContext, StreamGuard};
pub use operators::partition::shared::Tuning;
pub use operators::window;
pub use pipeline::lookup::{Lookup, StringSource, TimeZoneTable};
pub use pipeline::{Interpolation, Join, JoinKind, Output, Quantile, Sink, Sort, SortKey, Stage, TopK, Window};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Kernels(#[from] onrush_kernels::Error),
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
    /// A row has no result: a division by zero, a number that does not fit. The CPU engine reports the row.
    #[error("a row has no result")]
    Fault,
    #[error("{0}")]
    Unsupported(String),
    /// More rows than one run can have, whose numbers are of 32 bits.
    #[error("{0}")]
    TooManyRows(String),
    #[error("the query was cancelled")]
    Cancelled,
}

impl Error {
    /// Whether the device has too little memory for now.
    pub fn is_memory(&self) -> bool {
        self.missing().is_some()
    }

    /// Whether fewer rows at a time may do.
    pub fn is_too_large(&self) -> bool {
        self.is_memory() || matches!(self, Error::TooManyRows(_))
    }

    /// How many bytes of device memory there were too few for the allocation that failed.
    pub fn missing(&self) -> Option<u64> {
        match self {
            Error::Kernels(onrush_kernels::Error::Device(
                onrush_device::Error::OutOfMemory { requested, free, .. }
                | onrush_device::Error::DriverOutOfMemory { requested, free, .. },
            )) => Some(requested.saturating_sub(*free).max(1)),
            _ => None,
        }
    }
}

impl From<onrush_device::Error> for Error {
    fn from(error: onrush_device::Error) -> Self {
        Error::Kernels(error.into())
    }
}
