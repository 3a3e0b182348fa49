//! Operators on a device. A plan's pipeline (scan, filter, projection, then output or an aggregate) is one generated kernel; between
//! pipelines there are only tables of groups.
//!
//! Nothing here knows DataFusion or a query's text: `runtime/plan` builds [`Graph`]s and [`Stage`]s. Nothing here knows what a CPU would
//! do instead: a fault of the data is [`Error::Fault`], and the caller runs the plan on the CPU, which says what is wrong.

pub mod aggregate;
mod certain;
mod clustered;
pub mod coded;
pub mod codegen;
pub mod column;
mod concat;
pub mod dictionary;
mod few;
pub mod graph;
pub mod group;
pub mod join;
pub mod lane;
pub mod launch;
mod lending;
mod list;
mod lookup;
mod meaning;
pub mod memo;
pub mod native;
mod numbered;
mod pairs;
mod parted;
mod partitioned;
pub mod prepared;
pub mod range;
pub mod residency;
pub mod run;
mod small;
mod sort;
pub mod text;
pub mod window;

pub use aggregate::{Accumulator, What};
pub use column::{DeviceColumn, DeviceTable, kind_of};
pub use graph::{Comparison, Edge, Fold, Graph, Id, Kind, ListOp, Misfit, Op, TextOp, Value};
pub use join::{How, Join};
pub use lane::{Lane, Working};
pub use lookup::{Lookup, Origin, Zone};
pub use native::Native;
pub use parted::Tuning;
pub use run::{Gpu, Output, Sink, Sort, SortKey, Stage, Top};
pub use window::Window;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Kernels(#[from] onrush_kernels::Error),
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
    /// A row has no result: a division by zero, a number that does not fit. Which one it is the CPU engine says.
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
