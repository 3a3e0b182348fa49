//! The memory of running plans: DataFusion's fair pool, with error messages that name the largest holders in the user's
//! words. Plans have half of `ONRUSH_MEMORY`. Readers of files have what plans leave of the whole.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use onrush_io::{Full, Memory};
use onrush_wire::{Class, Diagnostic};
use parking_lot::{Mutex, MutexGuard};

/// An allocation that does not fit fails with [`DataFusionError::ResourcesExhausted`]. Operators that can spill to disk
/// then do so, and the user sees only the errors of the other operators.
#[derive(Debug)]
pub struct Pool {
    fair: FairSpillPool,
    limit: usize,
    /// Bytes that readers take.
    reading: AtomicU64,
    /// Bytes by what they are for.
    held: Mutex<BTreeMap<&'static str, usize>>,
    /// The part of `reading` that models, graphs and dashboards have, by what has it.
    kept: Mutex<BTreeMap<&'static str, u64>>,
}

/// Memory that something outside of plans has: a model, the index of a graph or of a dashboard. It is counted before it
/// is taken, and given back with this.
#[derive(Debug)]
pub struct HeldMemory {
    pool: Arc<Pool>,
    what: &'static str,
    bytes: u64,
}

impl HeldMemory {
    /// Nothing yet. `what` is for messages: `models`.
    pub fn new(pool: Arc<Pool>, what: &'static str) -> HeldMemory {
        HeldMemory { pool, what, bytes: 0 }
    }

    /// Counts more bytes.
    ///
    /// # Errors
    /// `out-of-memory` if the session has not as many.
    pub fn grow(&mut self, bytes: u64) -> std::result::Result<(), Diagnostic> {
        Memory::take(self.pool.as_ref(), bytes).map_err(|full| self.refused(bytes, full))?;
        self.bytes += bytes;
        *self.pool.kept().entry(self.what).or_default() += bytes;
        Ok(())
    }

    /// Counts so many bytes instead.
    ///
    /// # Errors
    /// As [`HeldMemory::grow`].
    pub fn set(&mut self, bytes: u64) -> std::result::Result<(), Diagnostic> {
        let less = self.bytes.saturating_sub(bytes);
        if less == 0 {
            return self.grow(bytes - self.bytes);
        }
        Memory::give_back(self.pool.as_ref(), less);
        self.bytes = bytes;
        if let Some(kept) = self.pool.kept().get_mut(self.what) {
            *kept = kept.saturating_sub(less);
        }
        Ok(())
    }

    fn refused(&self, bytes: u64, full: Full) -> Diagnostic {
        let mb = |bytes: u64| megabytes(usize::try_from(bytes).unwrap_or(usize::MAX));
        let kept = self.pool.kept().clone();
        let kept: Vec<String> =
            kept.iter().filter(|(_, bytes)| **bytes > 0).map(|(of, bytes)| format!("{of} {}", mb(*bytes))).collect();
        let held = if kept.is_empty() { String::new() } else { format!("; held by: {}", kept.join(", ")) };
        let message = format!(
            "out of memory: {} need {} more, and {} of the {} of ONRUSH_MEMORY are free{held}",
            self.what,
            mb(bytes),
            mb(full.free),
            mb(full.limit)
        );
        Diagnostic::error(Class::Resources, "out-of-memory", message)
            .help("drop what is not needed any more, use fewer rows or columns, or raise ONRUSH_MEMORY")
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        Memory::give_back(self.pool.as_ref(), self.bytes);
        if let Some(kept) = self.pool.kept().get_mut(self.what) {
            *kept = kept.saturating_sub(self.bytes);
        }
    }
}

/// The purpose of a consumer of DataFusion's, by its name. A partition's number follows in brackets.
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
        Pool {
            fair: FairSpillPool::new(limit),
            limit,
            reading: AtomicU64::new(0),
            held: Mutex::default(),
            kept: Mutex::default(),
        }
    }

    /// Half of it is for plans.
    fn whole(&self) -> u64 {
        (self.limit as u64).saturating_mul(2)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, usize>> {
        self.held.lock()
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.kept.lock()
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
            let kept = self.kept().clone();
            let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
            others.push(("files that are read", reading.saturating_sub(bytes(kept.values().sum()))));
            others.extend(kept.into_iter().map(|(of, held)| (of, bytes(held))));
            others.retain(|(_, bytes)| *bytes > 0);
        }
        others.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let others: Vec<String> = others.iter().map(|(of, bytes)| format!("{of} {}", megabytes(*bytes))).collect();
        let rest = match others.as_slice() {
            [] => String::new(),
            others => format!("; the rest: {}", others.join(", ")),
        };
        // Consumers that can spill get an equal part each, and spill at the end of it.
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
