//! The number of cores of a plan, and the rows of its partitions.

use std::fmt;
use std::time::Duration;

/// Rows of a partition.
pub const CHUNK: usize = 131_072;

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
    pub(crate) fn window(&self) -> usize {
        2 * self.threads + 1
    }

    pub(crate) async fn delay(&self) {
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
