//! The rows that frames hold for good, in memory or on disk. Who moves them is in `runtime/engine`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow::datatypes::SchemaRef;
use onrush_frame::Table;
use parking_lot::Mutex;

/// Counts uses, of all tables.
static CLOCK: AtomicU64 = AtomicU64::new(0);

/// The rows of one or several frames.
#[derive(Debug)]
pub struct Resident {
    schema: SchemaRef,
    table: Mutex<Arc<Table>>,
    used: AtomicU64,
    /// It could not be written: this is not tried again and again.
    stays: AtomicBool,
}

impl Resident {
    pub fn new(table: Arc<Table>) -> Self {
        let used = AtomicU64::new(CLOCK.fetch_add(1, Ordering::Relaxed));
        Resident { schema: Arc::clone(table.schema()), table: Mutex::new(table), used, stays: AtomicBool::new(false) }
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// To be read.
    pub fn table(&self) -> Arc<Table> {
        self.used.store(CLOCK.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        self.look()
    }

    /// The table, without a change of its time of last use.
    pub fn look(&self) -> Arc<Table> {
        Arc::clone(&self.table.lock())
    }

    /// When it was last read, as a number that grows with each use of any table.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether it could not be written to disk.
    pub fn stays(&self) -> bool {
        self.stays.load(Ordering::Relaxed)
    }

    /// It could not be written to disk.
    pub fn stay(&self) {
        self.stays.store(true, Ordering::Relaxed);
    }

    /// Bytes that it takes for certain.
    pub fn memory(&self) -> u64 {
        let table = self.look();
        if table.is_on_disk() { 0 } else { table.bytes() }
    }

    /// The same rows from elsewhere.
    pub fn put(&self, table: Arc<Table>) {
        *self.table.lock() = table;
    }
}
