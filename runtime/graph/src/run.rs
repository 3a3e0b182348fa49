//! How an algorithm says where it is, and learns that the user stopped it.

use crate::error::{Error, ErrorKind};

/// The surroundings of an algorithm.
pub struct Run<'a> {
    /// True once the user has stopped the work.
    pub is_stopped: &'a (dyn Fn() -> bool + Sync),
    /// Shows what is being done now: `pagerank: iteration 12 of at most 100`.
    pub stage: &'a (dyn Fn(String) + Sync),
    /// Shows how far the work is: steps done, and how many there are.
    pub steps: &'a (dyn Fn(u64, u64) + Sync),
}

impl Run<'static> {
    /// For tests and small work: nobody looks, nobody stops it.
    pub fn silent() -> Run<'static> {
        Run { is_stopped: &|| false, stage: &|_| {}, steps: &|_, _| {} }
    }
}

impl Run<'_> {
    /// Called at least every 0.1 s of work: `done` says how far the work is, such as `12 of 100 iterations`.
    ///
    /// # Errors
    /// If the user has stopped it.
    pub fn check(&self, done: impl FnOnce() -> String) -> Result<(), Error> {
        match (self.is_stopped)() {
            true => Err(Error::new(ErrorKind::Interrupted, format!("stopped after {}", done()))),
            false => Ok(()),
        }
    }

    /// Shows what is being done now.
    pub fn stage(&self, stage: impl Into<String>) {
        (self.stage)(stage.into());
    }
}
