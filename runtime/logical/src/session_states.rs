//! Session states of DataFusion that are used again: making one copies the names of all functions.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use datafusion::catalog::CatalogProviderList;
use datafusion::execution::session_state::SessionState;
use datafusion::prelude::SessionContext;
use parking_lot::Mutex;

type Idle = Arc<Mutex<Vec<SessionState>>>;

#[derive(Default)]
pub struct States {
    idle: Idle,
}

/// A state for one query: `now()` and the names that rules make begin with it. It goes back with what it had, but for
/// its tables.
pub struct PooledState {
    state: Option<SessionState>,
    tables: Arc<dyn CatalogProviderList>,
    idle: Option<Idle>,
}

impl States {
    pub fn lend(&self, context: &SessionContext) -> PooledState {
        let kept = self.idle.lock().pop();
        let state = match kept {
            Some(mut state) => {
                state.mark_start_execution();
                state
            }
            None => context.state(),
        };
        let tables = Arc::clone(state.catalog_list());
        PooledState { state: Some(state), tables, idle: Some(Arc::clone(&self.idle)) }
    }
}

impl PooledState {
    /// It is changed for this query and used for no other one.
    pub fn keep_apart(&mut self) {
        self.idle = None;
    }
}

impl Deref for PooledState {
    type Target = SessionState;

    fn deref(&self) -> &SessionState {
        self.state.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for PooledState {
    fn deref_mut(&mut self) -> &mut SessionState {
        self.state.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for PooledState {
    fn drop(&mut self) {
        if let (Some(mut state), Some(idle)) = (self.state.take(), &self.idle) {
            state.register_catalog_list(Arc::clone(&self.tables));
            idle.lock().push(state);
        }
    }
}
