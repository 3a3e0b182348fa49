//! Device allocations that evict columns if there is too little memory.

use crate::Result;
use crate::exec::executor::Executor;

impl Executor {
    /// Makes what needs memory of the device. Where that is too little, what nobody holds makes room, then what lies there for later, but not
    /// what was used for this.
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
