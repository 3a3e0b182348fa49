//! Device allocations that evict columns if there is too little memory.

use crate::Result;
use crate::exec::executor::Executor;

impl Executor {
    /// Runs an attempt that needs device memory, again if it fails for want of memory. Columns that nobody holds are
    /// dropped first. Then cached columns are evicted, but not those that this attempt used.
    pub fn with_eviction<T>(&self, attempt: impl Fn() -> Result<T>) -> Result<T> {
        let residency = &self.residency;
        // Any: for a new one there may be no memory.
        let lane = || self.lane(0).or_else(|_| self.lane(u64::MAX));
        let (swept, begun) = (residency.sweeps(), residency.now());
        let done = loop {
            match attempt() {
                Err(error) if error.missing().is_some() && residency.sweep() > 0 => {}
                Err(error) if error.missing().is_some_and(|bytes| residency.evict(lane, bytes, begun) > 0) => {}
                done => break done,
            }
        };
        if residency.sweeps() == swept {
            residency.sweep_at_times();
        }
        done
    }
}
