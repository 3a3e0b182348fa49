//! Reasons for the CPU: why nodes of a physical plan are not in a fragment.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;

use super::cpu_reason::CpuReason;

/// Why nodes are on the CPU, by their address.
#[derive(Default)]
pub struct Placements {
    reasons: HashMap<usize, CpuReason>,
}

fn address(plan: &Arc<dyn ExecutionPlan>) -> usize {
    Arc::as_ptr(plan).cast::<()>() as usize
}

impl Placements {
    pub(super) fn note(&mut self, plan: &Arc<dyn ExecutionPlan>, reason: CpuReason) {
        self.reasons.insert(address(plan), reason);
    }

    pub fn reason(&self, plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
        self.reasons.get(&address(plan)).map(CpuReason::to_string)
    }

    /// Whether no node is there.
    pub fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    /// All of them, each once.
    pub fn reasons(&self) -> Vec<String> {
        let mut all: Vec<String> = self.reasons.values().map(CpuReason::to_string).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
