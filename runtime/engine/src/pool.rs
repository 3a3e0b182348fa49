//! The memory of running plans: DataFusion's fair pool, with error messages that name the largest holders in the user's words.
//! Plans have half of `ONRUSH_MEMORY`. Readers of files have what plans leave of the whole.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use onrush_io::Full;

/// An allocation that does not fit fails with [`DataFusionError::ResourcesExhausted`]. Operators that can spill to disk then do so, and
/// the user sees only the errors of the other operators.
#[derive(Debug)]
pub struct Pool {
    fair: FairSpillPool,
    limit: usize,
    /// What readers take.
    reading: AtomicU64,
    /// Bytes by what they are for.
    held: Mutex<BTreeMap<&'static str, usize>>,
}

/// What a consumer of DataFusion's is for, by its name. A partition's number follows in brackets.
fn purpose(name: &str) -> &'static str {
    let name = name.split('[').next().unwrap_or(name);
    let starts = |of: &str| name.starts_with(of);
    if starts("HashJoin") || starts("SymmetricHashJoin") || starts("SMJ") || starts("PiecewiseMergeJoin") {
        "the table of a join"
    } else if starts("NestedLoopJoin") || starts("CrossJoin") {
        "a side of a join without keys"
    } else if starts("ExternalSorter") || starts("SortPreservingMerge") || starts("OrderedSort") {
        "a sort"
    } else if starts("TopK") || starts("PartitionedTopK") {
        "a top-k"
    } else if name.contains("Aggregate") || starts("GroupedHash") {
        "the grouping of rows"
    } else if starts("RecursiveQuery") {
        "a recursive query"
    } else if name == "parts" || starts("Exchange") {
        "the rows that parts of a query gave"
    } else {
        "a step of a query"
    }
}

/// As MB, of which there is one at least where there is something.
fn megabytes(bytes: usize) -> String {
    format!("{} MB", if bytes == 0 { 0 } else { (bytes >> 20).max(1) })
}

impl Pool {
    pub fn new(limit: usize) -> Pool {
        Pool { fair: FairSpillPool::new(limit), limit, reading: AtomicU64::new(0), held: Mutex::default() }
    }

    /// Half of it is for plans.
    fn whole(&self) -> u64 {
        (self.limit as u64).saturating_mul(2)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, reservation: &MemoryReservation, bytes: usize) {
        *self.lock().entry(purpose(reservation.consumer().name())).or_default() += bytes;
    }

    fn refusal(&self, reservation: &MemoryReservation, additional: usize) -> String {
        let of = purpose(reservation.consumer().name());
        let reading = usize::try_from(self.reading.load(Ordering::Relaxed)).unwrap_or(usize::MAX);
        let most = self.limit.min(self.limit.saturating_mul(2).saturating_sub(reading));
        let (has, free) = (reservation.size(), most.saturating_sub(self.reserved()));
        let mut others = self.lock().clone();
        if let Some(own) = others.get_mut(of) {
            *own = own.saturating_sub(has);
        }
        let mut others: Vec<(&str, usize)> = others.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
        if most < self.limit {
            others.push(("files that are read", reading));
        }
        others.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let others: Vec<String> = others.iter().map(|(of, bytes)| format!("{of} {}", megabytes(*bytes))).collect();
        let rest = match others.as_slice() {
            [] => String::new(),
            others => format!("; the rest: {}", others.join(", ")),
        };
        // Those that can write to disk get an equal part each, and do so when they have had it.
        let shared = if free >= additional { ", which sorts and groups share evenly" } else { "" };
        format!(
            "{} or more are needed for {of}, which has {}: of the {} for running queries, half of ONRUSH_MEMORY, {} are free{shared}{rest}",
            megabytes(has + additional),
            megabytes(has),
            megabytes(self.limit),
            megabytes(free),
        )
    }
}

impl Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for running queries", megabytes(self.limit))
    }
}

impl MemoryPool for Pool {
    fn name(&self) -> &str {
        "running queries"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.fair.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.fair.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.fair.grow(reservation, additional);
        self.add(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.fair.shrink(reservation, shrink);
        if let Some(held) = self.lock().get_mut(purpose(reservation.consumer().name())) {
            *held = held.saturating_sub(shrink);
        }
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let all = (self.reserved() as u64).saturating_add(self.reading.load(Ordering::Relaxed));
        if all.saturating_add(additional as u64) > self.whole() {
            return Err(DataFusionError::ResourcesExhausted(self.refusal(reservation, additional)));
        }
        match self.fair.try_grow(reservation, additional) {
            Ok(()) => self.add(reservation, additional),
            Err(DataFusionError::ResourcesExhausted(_)) => {
                return Err(DataFusionError::ResourcesExhausted(self.refusal(reservation, additional)));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.fair.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.fair.memory_limit()
    }
}

impl onrush_io::Memory for Pool {
    fn take(&self, bytes: u64) -> std::result::Result<(), Full> {
        let limit = self.whole().saturating_sub(self.reserved() as u64);
        let more = |reading: u64| reading.checked_add(bytes).filter(|all| *all <= limit);
        let taken = self.reading.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map(|_| ()).map_err(|reading| Full { limit: self.whole(), free: limit.saturating_sub(reading) })
    }

    fn give_back(&self, bytes: u64) {
        self.reading.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// The figures by hand, of 64 MB.
    #[test]
    fn a_refusal_says_what_is_needed_what_is_free_and_what_has_the_rest() {
        let pool: Arc<dyn MemoryPool> = Arc::new(Pool::new(64 << 20));
        let join = MemoryConsumer::new("HashJoinInput[0]").register(&pool);
        let groups = MemoryConsumer::new("SingleHashAggregateStream[0]").register(&pool);
        join.try_grow(40 << 20).unwrap();
        groups.try_grow(4 << 20).unwrap();
        let error = groups.try_grow(30 << 20).unwrap_err();
        let DataFusionError::ResourcesExhausted(message) = error else { panic!("{error}") };
        assert_eq!(
            message,
            "34 MB or more are needed for the grouping of rows, which has 4 MB: of the 64 MB for running queries, half of ONRUSH_MEMORY, \
             20 MB are free; the rest: the table of a join 40 MB"
        );
        join.free();
        groups.try_grow(30 << 20).unwrap();
        assert_eq!(pool.reserved(), 34 << 20);
        groups.free();
        assert_eq!(pool.reserved(), 0);
    }

    /// Of 128 MB, of which plans have half.
    #[test]
    fn readers_have_what_plans_leave() {
        use onrush_io::Memory;
        let pool = Arc::new(Pool::new(64 << 20));
        let plans: Arc<dyn MemoryPool> = Arc::<Pool>::clone(&pool);
        let join = MemoryConsumer::new("HashJoinInput[0]").register(&plans);
        join.try_grow(28 << 20).unwrap();
        pool.take(90 << 20).unwrap();
        assert_eq!(pool.take(20 << 20), Err(Full { limit: 128 << 20, free: 10 << 20 }));
        let DataFusionError::ResourcesExhausted(message) = join.try_grow(20 << 20).unwrap_err() else { panic!() };
        assert!(message.contains("10 MB are free; the rest: files that are read 90 MB"), "{message}");
        pool.give_back(90 << 20);
        join.try_grow(20 << 20).unwrap();
        pool.take(80 << 20).unwrap();
    }
}
