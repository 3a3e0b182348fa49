//! Physical plans that ran, to run again: the same step over the same rows is planned once. A plan holds the rows that
//! it reads, so only plans over rows that frames hold are kept, and all of them go when such a frame does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use onrush_expr::error::diagnose;
use onrush_wire::Diagnostic;

/// Plans that are kept; the one that was used longest ago goes first.
const KEPT: usize = 128;

#[derive(Default)]
pub struct Plans {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    clock: u64,
    /// How often all plans were forgotten.
    forgotten: u64,
    /// By the key of the frame.
    plans: HashMap<u128, (u64, Arc<dyn ExecutionPlan>)>,
}

impl Plans {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A plan as if it had never run.
    pub fn get(&self, key: u128) -> Result<Option<Arc<dyn ExecutionPlan>>, Diagnostic> {
        let found = {
            let mut state = self.lock();
            state.clock += 1;
            let clock = state.clock;
            state.plans.get_mut(&key).map(|(used, plan)| {
                *used = clock;
                Arc::clone(plan)
            })
        };
        found.map(reset_plan_states).transpose().map_err(diagnose)
    }

    /// A plan that is made after this reads the rows that are there now.
    pub fn now(&self) -> u64 {
        self.lock().forgotten
    }

    /// Keeps a plan, unless all were forgotten since it was made.
    pub fn put(&self, key: u128, plan: &Arc<dyn ExecutionPlan>, made: u64) {
        let mut state = self.lock();
        if state.forgotten != made {
            return;
        }
        if state.plans.len() >= KEPT {
            let oldest = state.plans.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| *key);
            oldest.and_then(|key| state.plans.remove(&key));
        }
        state.clock += 1;
        let used = state.clock;
        state.plans.insert(key, (used, Arc::clone(plan)));
    }

    pub fn clear(&self) {
        let gone = {
            let mut state = self.lock();
            state.forgotten += 1;
            std::mem::take(&mut state.plans)
        };
        drop(gone);
    }
}
