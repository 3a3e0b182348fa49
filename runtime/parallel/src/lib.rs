//! Physical plans of the CPU engine on all cores.
//!
//! DataFusion plans one partition. A pass over that plan makes chunks of [`CHUNK`] rows the partitions of its leaves, and puts
//! partitions together again in their order where a node needs all rows. The order of rows and the bits of floating sums depend on the
//! data, never on the number of cores (decision 0023). A node that the pass does not know runs on one core, over a gather.

mod columnwise;
mod exchange;
mod filter;
mod gather;
mod group;
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
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use datafusion::error::Result;
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};

pub use pass::parallel;

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

/// Rows of a partition.
pub const CHUNK: usize = 131_072;

type Plan = Arc<dyn ExecutionPlan>;

/// A node as its type.
fn cast<T: 'static>(plan: &Plan) -> Option<&T> {
    let any: &dyn Any = plan.as_ref();
    any.downcast_ref::<T>()
}

/// The same node over new inputs.
fn with_inputs(node: &Plan, inputs: Vec<Plan>) -> Result<Plan> {
    Arc::clone(node).replace_children(inputs, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}

/// How plans are spread over cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// Threads that run partitions; bounds how many partitions are under way.
    pub threads: usize,
    /// Rows of a partition: [`CHUNK`], or fewer in tests.
    pub chunk: usize,
    /// Delays each partition by a random time, so that tests see every order of completion.
    pub jitter: bool,
}

impl Cores {
    pub fn new(threads: usize) -> Cores {
        Cores { threads: threads.max(1), chunk: CHUNK, jitter: false }
    }

    /// Partitions that are under way at a time.
    fn window(&self) -> usize {
        2 * self.threads + 1
    }

    async fn delay(&self) {
        if self.jitter {
            // The standard library's source of randomness: a new hasher has new keys.
            use std::hash::{BuildHasher, RandomState};
            let micros = RandomState::new().hash_one(0u8) % 500;
            tokio::time::sleep(Duration::from_micros(micros)).await;
        }
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows a partition", self.chunk)
    }
}
