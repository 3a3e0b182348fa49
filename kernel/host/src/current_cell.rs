//! The cell that a thread belongs to: output and new threads carry its number.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The cell that runs, or ran last.
static CELL: AtomicU64 = AtomicU64::new(0);

/// No cell has this number: the main thread's is in [`CELL`].
const MAIN: u64 = u64::MAX;

thread_local! {
    static HOME: Cell<u64> = const { Cell::new(MAIN) };
}

/// A cell begins.
pub fn begin(cell: u64) {
    CELL.store(cell, Ordering::Relaxed);
}

/// The cell that this thread belongs to.
pub fn cell() -> u64 {
    match HOME.try_with(Cell::get) {
        Ok(MAIN) | Err(_) => CELL.load(Ordering::Relaxed),
        Ok(cell) => cell,
    }
}

/// Makes this new thread one of `cell`.
pub fn join(cell: u64) {
    let _ = HOME.try_with(|home| home.set(cell));
}
