//! Radix partitioning of rows by their group or join key, for tables that are larger than shared memory or the L2
//! cache.

pub mod l2;
pub mod shared;
