//! A fragment: the nodes of a plan that run on a device together, and what they read.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::Count;
use futures::future::BoxFuture;
use onrush_logical::cooperative::cooperative;
use parking_lot::Mutex;

use super::accelerator::Accelerator;
use super::plan_node::with_inputs;

/// A node that runs on a device.
#[derive(Clone, Debug)]
pub struct FragmentNode {
    pub node: Arc<dyn ExecutionPlan>,
    /// For a join, the number of its build side, and whether that is the left input.
    pub other: Option<(usize, bool)>,
}

impl FragmentNode {
    pub fn new(node: &Arc<dyn ExecutionPlan>) -> FragmentNode {
        FragmentNode { node: Arc::clone(node), other: None }
    }

    /// The node as it runs on the CPU, over what is below it and the tables that are joined.
    pub fn over(
        &self,
        below: Arc<dyn ExecutionPlan>,
        others: &[Arc<dyn ExecutionPlan>],
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(cooperative(self.fresh(below, others)?).data)
    }

    /// The node itself, likewise.
    pub fn fresh(
        &self,
        below: Arc<dyn ExecutionPlan>,
        others: &[Arc<dyn ExecutionPlan>],
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let inputs = match self.other {
            None => vec![below],
            Some((other, true)) => vec![Arc::clone(&others[other]), below],
            Some((other, false)) => vec![below, Arc::clone(&others[other])],
        };
        with_inputs(&self.node, inputs)?.reset_state()
    }
}

/// A fragment that did not fit.
pub struct Fragment {
    pub accelerator: Arc<Accelerator>,
    /// The topmost first.
    pub chain: Vec<FragmentNode>,
    /// The input, then the build sides: rows in memory.
    pub inputs: Vec<Arc<dyn ExecutionPlan>>,
    pub context: Arc<TaskContext>,
    /// Whether a join made more rows than can be numbered. Only their aggregates come to the host.
    pub multiplies: bool,
    /// Counts parts.
    pub ran: Count,
    /// The memory of the partitions' results, of the pool of running plans.
    pub held: Mutex<MemoryReservation>,
}

/// Runs a fragment that did not fit, in partitions. `None` if a node cannot be partitioned, or if no partition fits.
///
/// A function that its users are given: it places the nodes of each partition again, and they become fragments.
pub type OutOfCore = fn(Fragment) -> BoxFuture<'static, Result<Option<SendableRecordBatchStream>>>;
