//! How an estimator says where it is, and learns that the user stopped it.

use onrush_wire::learn::Detail;

use crate::error::Error;

/// The surroundings of a training.
pub struct Run<'a> {
    /// True once the user has stopped the work.
    pub is_stopped: &'a (dyn Fn() -> bool + Sync),
    /// Shows what is being done now: `iteration 12, loss 0.431`.
    pub stage: &'a (dyn Fn(String) + Sync),
    /// Shows how far the work is: steps done, and how many there are.
    pub steps: &'a (dyn Fn(u64, u64) + Sync),
    /// Shows a curve, or the trials of a search.
    pub detail: &'a (dyn Fn(Detail) + Sync),
}

impl Run<'static> {
    /// For tests and small work: nobody looks, nobody stops it.
    pub fn silent() -> Run<'static> {
        Run { is_stopped: &|| false, stage: &|_| {}, steps: &|_, _| {}, detail: &|_| {} }
    }
}

impl Run<'_> {
    /// Between passes over the data: `done` says how far the work is, such as `iteration 12 of 100`.
    ///
    /// # Errors
    /// If the user has stopped it.
    pub fn check(&self, done: impl FnOnce() -> String) -> Result<(), Error> {
        match (self.is_stopped)() {
            true => Err(Error::stopped(format!("stopped after {}", done()))),
            false => Ok(()),
        }
    }

    /// Shows what is being done now.
    pub fn stage(&self, stage: impl Into<String>) {
        (self.stage)(stage.into());
    }
}
