//! Partitions of an exchange.

use arrow::array::{AsArray, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_expr::expressions::Column;

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use onrush_parallel::Cores;
use onrush_parallel::inside::{PARTITIONS, batches, collect, exchanged};

const CHUNKS: i64 = 5;
const ROWS: i64 = 1_000;

async fn partitions(memory: usize) -> Vec<Vec<i64>> {
    let fields = vec![Field::new("key", DataType::Utf8, false), Field::new("row", DataType::Int64, false)];
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let of = Arc::clone(&schema);
    let open = move |chunk: usize| {
        let rows: Vec<i64> = (0..ROWS).map(|row| chunk as i64 * ROWS + row).collect();
        let keys: StringArray = rows.iter().map(|row| Some(format!("key {}", row % 97))).collect();
        let columns: Vec<ArrayRef> = vec![Arc::new(keys), Arc::new(Int64Array::from(rows))];
        Ok(batches(Arc::clone(&of), vec![RecordBatch::try_new(Arc::clone(&of), columns)?]))
    };
    let pool = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(GreedyMemoryPool::new(memory)));
    let context = Arc::new(TaskContext::default().with_runtime(pool.build_arc().unwrap()));
    let keys: Vec<Arc<dyn PhysicalExpr>> = vec![Arc::new(Column::new("key", 0))];
    let count = CHUNKS as usize;
    let pieces = exchanged(schema, count, open, keys, Cores::new(2), false, &context).await.unwrap();
    assert_eq!(pieces.is_spilled(), memory < 100_000);
    let mut partitions = Vec::new();
    for partition in 0..PARTITIONS {
        let batches = collect(pieces.partition(partition).unwrap()).await.unwrap();
        let rows = |batch: &RecordBatch| batch.column(1).as_primitive::<Int64Type>().values().to_vec();
        partitions.push(batches.iter().flat_map(rows).collect());
    }
    partitions
}

/// A partition has all rows of its keys, in their order; without room for them they come from disk, the same ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_keep_the_order_of_rows_in_memory_and_on_disk() {
    let held = partitions(1 << 30).await;
    assert_eq!(held.iter().map(Vec::len).sum::<usize>() as i64, CHUNKS * ROWS);
    for rows in &held {
        assert!(rows.is_sorted());
        let keys: std::collections::BTreeSet<i64> = rows.iter().map(|row| row % 97).collect();
        let others = held.iter().filter(|other| *other != rows).flatten();
        assert!(others.clone().all(|row| !keys.contains(&(row % 97))), "a key is in two partitions");
    }
    for memory in [1_000, 60_000] {
        assert_eq!(partitions(memory).await, held);
    }
}
