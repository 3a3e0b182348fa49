//! Graphs over Arrow columns. The ids at the ends of edges become numbers of nodes ([`Index`]). A call of the table of
//! algorithms becomes a record batch with the ids ([`call`]).
//!
//! The algorithms are in `runtime/graph`. Knows no DataFusion and no session.

mod arguments;
mod calls;
mod device;
mod error;
mod ids;
mod index;
mod numbering;

pub use calls::call;
pub use device::{DeviceCallError, DeviceResult, call_on_device, runs_on_device};
pub use index::{EdgeColumns, Ends, Index, MakeColumns, WeightColumn};
#[doc(hidden)]
pub use numbering::{MISSING, numbered};
