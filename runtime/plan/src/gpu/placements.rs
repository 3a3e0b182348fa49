//! Reasons for the CPU: why nodes of a physical plan are not in a fragment.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;

/// Why nodes are on the CPU, by their address.
#[derive(Default)]
pub struct Placements {
    reasons: HashMap<usize, String>,
}

fn address(plan: &Arc<dyn ExecutionPlan>) -> usize {
    Arc::as_ptr(plan).cast::<()>() as usize
}

impl Placements {
    pub(super) fn note(&mut self, plan: &Arc<dyn ExecutionPlan>, reason: String) {
        self.reasons.insert(address(plan), reason);
    }

    pub fn reason(&self, plan: &Arc<dyn ExecutionPlan>) -> Option<&str> {
        self.reasons.get(&address(plan)).map(String::as_str)
    }

    /// Whether no node is there.
    pub fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    /// All of them, each once.
    pub fn reasons(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.reasons.values().map(String::as_str).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
