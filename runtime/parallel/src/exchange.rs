//! Hash partitioning that keeps the order of rows: partition `h` has the rows of chunk 0, then those of chunk 1, and so on.
//!
//! All rows are taken in before the first one goes out. Where the memory pool has no room for them they go to disk, in the same order.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::SchemaRef;
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, SpillFile, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::spill::SpillManager;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::OnceCell;

use crate::Cores;
use crate::gather::tasks_in_order;
use crate::streams;

/// Partitions of an exchange: enough for the cores of a workstation, few enough for pieces of a chunk to be long.
pub const PARTITIONS: usize = 32;

/// Not the seed of DataFusion's tables: rows of one partition would fall into few of their slots.
const SEED: RandomState = RandomState::with_seed(0x6f6e_7275_7368);

/// The rows of its input, hash-partitioned by keys.
#[derive(Debug)]
pub struct HashExchangeExec {
    input: Arc<dyn ExecutionPlan>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    cores: Cores,
    properties: Arc<PlanProperties>,
    /// Filled by the partition that is asked first.
    pieces: Arc<OnceCell<Result<Pieces, Arc<DataFusionError>>>>,
}

impl HashExchangeExec {
    pub fn new(input: Arc<dyn ExecutionPlan>, keys: Vec<Arc<dyn PhysicalExpr>>, cores: Cores) -> HashExchangeExec {
        let mut equivalences: EquivalenceProperties = input.equivalence_properties().clone();
        equivalences.clear_orderings();
        equivalences.clear_per_partition_constants();
        let properties = PlanProperties::new(
            equivalences,
            Partitioning::Hash(keys.clone(), PARTITIONS),
            EmissionType::Final,
            input.properties().boundedness,
        );
        HashExchangeExec { input, keys, cores, properties: Arc::new(properties), pieces: Arc::default() }
    }
}

impl DisplayAs for HashExchangeExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<String> = self.keys.iter().map(ToString::to_string).collect();
        write!(f, "HashExchangeExec: hash({}) into {PARTITIONS} partitions", keys.join(", "))
    }
}

impl ExecutionPlan for HashExchangeExec {
    fn name(&self) -> &str {
        "HashExchangeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for key in &self.keys {
            if visit(key)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(HashExchangeExec::new(inputs.swap_remove(0), self.keys.clone(), self.cores)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (schema, input, keys) = (self.schema(), Arc::clone(&self.input), self.keys.clone());
        let (cores, pieces) = (self.cores, Arc::clone(&self.pieces));
        let rows = async move {
            let filled = pieces
                .get_or_init(|| async {
                    let count = input.output_partitioning().partition_count();
                    let (schema, of_input) = (input.schema(), Arc::clone(&context));
                    let open = move |partition: usize| input.execute(partition, Arc::clone(&of_input));
                    exchanged(schema, count, open, keys, cores, &context).await.map_err(Arc::new)
                })
                .await;
            match filled {
                Ok(pieces) => pieces.partition(partition),
                Err(error) => Err(DataFusionError::Shared(Arc::clone(error))),
            }
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream::once(rows).try_flatten())))
    }
}

/// The rows of each partition, in memory or, past its limit, on disk.
pub struct Pieces {
    schema: SchemaRef,
    /// None once a partition was taken.
    held: Vec<Mutex<Option<Vec<RecordBatch>>>>,
    /// Bytes of the rows of each partition in memory.
    bytes: Vec<usize>,
    /// With the manager that reads them.
    spilled: Option<(SpillManager, Vec<Option<Arc<dyn SpillFile>>>)>,
    /// For the partitions that were not taken.
    reservation: MemoryReservation,
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pieces").field("partitions", &self.held.len()).finish_non_exhaustive()
    }
}

impl Pieces {
    /// The rows of a partition.
    ///
    /// # Errors
    /// If the partition was taken before, or its file cannot be read.
    pub fn partition(&self, partition: usize) -> Result<SendableRecordBatchStream> {
        let held = self.held[partition].lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(held) = held else { return internal_err!("partition {partition} of an exchange was read twice") };
        // Goes with the stream.
        let reserved = self.reservation.split(self.bytes[partition]);
        let held = streams::batches(Arc::clone(&self.schema), held).inspect(move |_| {
            let _ = &reserved;
        });
        let held = RecordBatchStreamAdapter::new(Arc::clone(&self.schema), held);
        let file = self.spilled.as_ref().and_then(|(manager, files)| files[partition].as_ref().map(|f| (manager, f)));
        let Some((manager, file)) = file else { return Ok(Box::pin(held)) };
        let spilled = manager.read_spill_as_stream(Arc::clone(file), None)?;
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), held.chain(spilled))))
    }
}

/// Hash-partitions the rows of so many streams; `open` is called in their order.
pub async fn exchanged(
    schema: SchemaRef,
    count: usize,
    open: impl Fn(usize) -> Result<SendableRecordBatchStream> + Send + 'static,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    cores: Cores,
    context: &Arc<TaskContext>,
) -> Result<Pieces> {
    let work = {
        let schema = Arc::clone(&schema);
        move |number: usize| {
            let (opened, keys, schema) = (open(number), keys.clone(), Arc::clone(&schema));
            async move {
                let mut rows = opened?;
                let mut chunks = Vec::new();
                let (mut waiting, mut many) = (Vec::new(), 0);
                while let Some(batch) = rows.next().await {
                    let batch = batch?;
                    many += batch.num_rows();
                    waiting.push(batch);
                    if many >= crate::CHUNK {
                        chunks.push(parted(&schema, &std::mem::take(&mut waiting), &keys)?);
                        many = 0;
                    }
                }
                if many > 0 {
                    chunks.push(parted(&schema, &waiting, &keys)?);
                }
                Ok(chunks)
            }
        }
    };
    let consumer = MemoryConsumer::new("Exchange").with_can_spill(true);
    let reservation = consumer.register(context.memory_pool());
    let mut held: Vec<Vec<RecordBatch>> = vec![Vec::new(); PARTITIONS];
    let mut held_bytes = vec![0; PARTITIONS];
    let mut files = None;
    let mut chunks = std::pin::pin!(tasks_in_order(count, cores, work));
    while let Some(chunk) = chunks.try_next().await? {
        for pieces in chunk {
            if files.is_none() {
                let sizes: Vec<usize> = pieces.iter().map(|piece| piece.as_ref().map_or(0, rows_size)).collect();
                if reservation.try_grow(sizes.iter().sum()).is_ok() {
                    held_bytes.iter_mut().zip(sizes).for_each(|(held, size)| *held += size);
                    held.iter_mut().zip(pieces).for_each(|(held, piece)| held.extend(piece));
                    continue;
                }
                // From here on to disk, and what is held before that.
                let metrics = SpillMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
                let manager = SpillManager::new(context.runtime_env(), metrics, Arc::clone(&schema));
                let mut made = Vec::with_capacity(PARTITIONS);
                for held in &mut held {
                    let mut file = manager.create_in_progress_file("exchange")?;
                    for batch in std::mem::take(held) {
                        file.append_batch(&batch)?;
                    }
                    made.push(file);
                }
                reservation.free();
                held_bytes.fill(0);
                files = Some((manager, made));
            }
            if let Some((_, files)) = &mut files {
                for (file, piece) in files.iter_mut().zip(pieces) {
                    if let Some(piece) = piece {
                        file.append_batch(&piece)?;
                    }
                }
            }
        }
    }
    let mut spilled = None;
    if let Some((manager, made)) = files {
        let mut finished = Vec::with_capacity(PARTITIONS);
        for mut file in made {
            finished.push(file.finish()?);
        }
        spilled = Some((manager, finished));
    }
    let held = held.into_iter().map(|held| Mutex::new(Some(held))).collect();
    Ok(Pieces { schema, held, bytes: held_bytes, spilled, reservation })
}

/// Bytes of the rows of a batch, which may share its arrays with others.
pub fn rows_size(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(0)).sum()
}

/// The rows of a chunk by their partition: one counting sort, one `take` of each column.
fn parted(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    keys: &[Arc<dyn PhysicalExpr>],
) -> Result<Vec<Option<RecordBatch>>> {
    let batch = match batches {
        [one] => one.clone(),
        batches => concat_batches(schema, batches)?,
    };
    let rows = batch.num_rows();
    let of_keys: Vec<ArrayRef> =
        keys.iter().map(|key| key.evaluate(&batch)?.into_array(rows)).collect::<Result<_>>()?;
    let mut hashes = vec![0u64; rows];
    create_hashes(&of_keys, &SEED, &mut hashes)?;
    let partition = |hash: u64| ((u128::from(hash) * PARTITIONS as u128) >> 64) as usize;
    let mut starts = [0u32; PARTITIONS + 1];
    for hash in &hashes {
        starts[partition(*hash) + 1] += 1;
    }
    for partition in 0..PARTITIONS {
        starts[partition + 1] += starts[partition];
    }
    let mut next = starts;
    let mut order = vec![0u32; rows];
    for (row, hash) in hashes.iter().enumerate() {
        let place = &mut next[partition(*hash)];
        order[*place as usize] = row as u32;
        *place += 1;
    }
    let order = UInt32Array::from(order);
    let columns = batch.columns().iter().map(|column| take(column, &order, None)).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let sorted = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?;
    let piece = |partition: usize| {
        let (start, end) = (starts[partition] as usize, starts[partition + 1] as usize);
        (end > start).then(|| sorted.slice(start, end - start))
    };
    Ok((0..PARTITIONS).map(piece).collect())
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int64Array, StringArray};
    use arrow::datatypes::{DataType, Field, Int64Type, Schema};
    use datafusion::execution::memory_pool::GreedyMemoryPool;
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::physical_expr::expressions::Column;

    use super::*;
    use crate::gather::collect;

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
            Ok(streams::batches(Arc::clone(&of), vec![RecordBatch::try_new(Arc::clone(&of), columns)?]))
        };
        let pool = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(GreedyMemoryPool::new(memory)));
        let context = Arc::new(TaskContext::default().with_runtime(pool.build_arc().unwrap()));
        let keys: Vec<Arc<dyn PhysicalExpr>> = vec![Arc::new(Column::new("key", 0))];
        let count = CHUNKS as usize;
        let pieces = exchanged(schema, count, open, keys, Cores::new(2), &context).await.unwrap();
        assert_eq!(pieces.spilled.is_some(), memory < 100_000);
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
}
