//! Joins in DataFusion's own partitions whose build side goes to disk. The expected rows are those of DataFusion's join
//! in memory.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::util::display::array_value_to_string;
use datafusion::common::{JoinType, NullEquality};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{HashJoinExecBuilder, PartitionMode};
use datafusion::prelude::SessionConfig;
use onrush_parallel::inside::collect;
use onrush_parallel::{Cores, spilling_in_partitions};

const PARTITIONS: i64 = 3;
const BATCH: usize = 64;
const TYPES: [JoinType; 10] = [
    JoinType::Inner,
    JoinType::Left,
    JoinType::Right,
    JoinType::Full,
    JoinType::LeftSemi,
    JoinType::RightSemi,
    JoinType::LeftAnti,
    JoinType::RightAnti,
    JoinType::LeftMark,
    JoinType::RightMark,
];

/// Rows with keys below `keys`, each in the partition of its key. Some keys are null.
fn side(rows: i64, keys: i64) -> Arc<dyn ExecutionPlan> {
    let key = |row: &i64| (row % 11 > 0).then_some(row % keys);
    let batch = |rows: &[i64]| {
        let strings = rows.iter().map(|row| format!("the text of row {row}"));
        let columns: [(&str, ArrayRef); 3] = [
            ("key", Arc::new(rows.iter().map(key).collect::<Int64Array>())),
            ("row", Arc::new(Int64Array::from(rows.to_vec()))),
            ("text", Arc::new(StringArray::from_iter_values(strings))),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
    };
    let partition = |number: i64| {
        let own = (0..rows).filter(|row| (row % keys) % PARTITIONS == number).collect::<Vec<_>>();
        own.chunks(BATCH).map(batch).collect()
    };
    let partitions: Vec<Vec<RecordBatch>> = (0..PARTITIONS).map(partition).collect();
    let schema = partitions[0][0].schema();
    MemorySourceConfig::try_new_exec(&partitions, schema, None).unwrap()
}

fn join(of: JoinType) -> Arc<dyn ExecutionPlan> {
    let key = || Arc::new(Column::new("key", 0)) as Arc<dyn PhysicalExpr>;
    HashJoinExecBuilder::new(side(24_000, 8_000), side(9_000, 9_000), vec![(key(), key())], of)
        .with_partition_mode(PartitionMode::Partitioned)
        .with_null_equality(NullEquality::NullEqualsNothing)
        .build_exec()
        .unwrap()
}

/// The rows of each partition.
async fn rows(plan: &Arc<dyn ExecutionPlan>, memory: usize) -> Result<Vec<Vec<String>>> {
    // That of a worker.
    let pool = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(FairSpillPool::new(memory)));
    // A sort needs memory for a batch, and keeps 10 MB free for merging otherwise.
    let config = SessionConfig::new()
        .with_batch_size(BATCH)
        .set_u64("datafusion.execution.sort_spill_reservation_bytes", 1 << 10);
    let context = Arc::new(TaskContext::default().with_session_config(config).with_runtime(pool.build_arc()?));
    let mut partitions = Vec::new();
    for partition in 0..PARTITIONS as usize {
        let batches = collect(plan.execute(partition, Arc::clone(&context))?).await?;
        let row = |batch: &RecordBatch, row: usize| {
            let values = batch.columns().iter().map(|column| array_value_to_string(column, row).unwrap());
            values.collect::<Vec<_>>().join(" ")
        };
        partitions.push(
            batches
                .iter()
                .flat_map(|batch| (0..batch.num_rows()).map(|at| row(batch, at)).collect::<Vec<_>>())
                .collect(),
        );
    }
    Ok(partitions)
}

fn sorted(partitions: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut sorted = partitions.to_vec();
    sorted.iter_mut().for_each(|rows| rows.sort());
    sorted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joins_of_partitions_go_to_disk_and_have_the_same_rows() {
    let little = 200_000;
    for of in TYPES {
        let wanted = rows(&join(of), usize::MAX).await.unwrap();
        assert!(wanted.iter().flatten().count() > 500, "{of}");
        assert!(rows(&join(of), little).await.is_err(), "{of}: the join in memory has room, so that nothing is tested");
        let cores = Cores { threads: 2, chunk: 1, jitter: false };
        for ordered in [true, false] {
            let join = spilling_in_partitions(join(of), ordered, cores).unwrap();
            for memory in [usize::MAX, little] {
                // Other joins give many rows in one batch, for whose sort this memory is too little.
                if ordered && memory == little && !matches!(of, JoinType::Inner | JoinType::Left) {
                    continue;
                }
                let found = rows(&join, memory).await.unwrap();
                // DataFusion gives the rows of the right side without a match after the others of their batch.
                let exact = ordered && !matches!(of, JoinType::Right | JoinType::Full);
                let same = if exact { found == wanted } else { sorted(&found) == sorted(&wanted) };
                assert!(same, "{of} with {memory} bytes, in order: {ordered}");
            }
        }
    }
}
