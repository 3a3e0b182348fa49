//! The memory of running plans.

use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool};
use onrush_engine::Pool;
use onrush_io::{Full, Memory};

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
