//! Results that are kept.

use arrow::array::{ArrayRef, Int64Array, RecordBatch};

use std::sync::Arc;

use onrush_engine::result_cache::{ResultCache, WeakMap};
use onrush_frame::Table;

fn table(rows: i64) -> Arc<Table> {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    Arc::new(Table::new(batch.schema(), vec![batch]))
}

#[test]
fn the_least_recently_used_goes_first() {
    let cache = ResultCache::new(10_000);
    cache.put(1, table(500));
    cache.put(2, table(400));
    assert!(cache.get(1).is_some());
    cache.put(3, table(400));
    assert!(cache.get(1).is_some() && cache.get(2).is_none() && cache.get(3).is_some());
    assert!(cache.bytes() <= 10_000);
    cache.put(4, table(1000));
    assert!(cache.get(4).is_none(), "too large to keep");
}

#[test]
fn what_somebody_holds_is_found() {
    let residents = WeakMap::default();
    let held = table(10);
    residents.put(1, &held);
    residents.put(2, &table(10));
    assert!(residents.get(1).is_some_and(|found| Arc::ptr_eq(&found, &held)) && residents.get(2).is_none());
    for key in 3..100 {
        residents.put(key, &table(1));
    }
    assert!(residents.entries() <= 65);
}
