//! Physical plans of the CPU engine on all cores.
//!
//! DataFusion plans one partition. A pass over that plan makes chunks of [`CHUNK`] rows the partitions of its leaves.
//! It puts partitions together again in their order below nodes that need all rows. The order of rows and the bits of
//! floating sums depend on the data, never on the number of cores (decision 0023). A node that the pass does not know
//! runs on one core, over a gather.

mod columnwise;
mod cores;
mod estimate;
mod exchange;
mod filter;
mod gather;
mod group;
mod nodes;
mod pass;
mod row_number;
mod runtime_filter;
mod shared;
mod sort;
mod spilling_join;
mod streams;
mod top_k;
mod windows;

use std::any::Any;
use std::sync::Arc;

use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_plan::ExecutionPlan;

pub use cores::{CHUNK, Cores};
pub use pass::parallel;
pub use spilling_join::spilling_in_partitions;

/// For the tests of plans alone.
#[doc(hidden)]
pub mod inside {
    pub use crate::exchange::{PARTITIONS, Pieces, exchanged};
    pub use crate::gather::{collect, streams_in_order};
    pub use crate::sort::words::{Layout, SortKeys};
    pub use crate::sort::{Entry, RADIX, sort};
    pub use crate::streams::batches;
    pub use crate::windows::folds::{Frames, fold};
}

/// DataFusion's node that one of this crate stands for, for those who show plans.
pub fn stands_for(plan: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    let any: &dyn Any = plan.as_ref();
    let filter = any.downcast_ref().map(filter::ConjunctFilterExec::node);
    let group = any.downcast_ref().map(group::PartitionedAggregateExec::node);
    let sort = any.downcast_ref().map(sort::ParallelSortExec::node);
    let join = any.downcast_ref().map(spilling_join::SpillingJoinExec::node);
    filter.or(group).or(sort).or(join).unwrap_or(plan)
}

/// The windows of a node of this crate.
pub fn windows(plan: &Arc<dyn ExecutionPlan>) -> Option<&[Arc<dyn WindowExpr>]> {
    let any: &dyn Any = plan.as_ref();
    any.downcast_ref().map(windows::ColumnarWindowExec::windows)
}
