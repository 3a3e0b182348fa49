//! Hash partitioning that keeps the order of rows: partition `h` has the rows of chunk 0, then those of chunk 1, and so
//! on.
//!
//! All rows are taken in before the first one goes out. They go to disk, in the same order, if the memory pool has no
//! room for them.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::common::internal_err;
use datafusion::common::runtime::SpawnedTask;
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
use futures::{Stream, StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::cores::{CHUNK, Cores};
use crate::gather::tasks_in_order;
use crate::nodes::{node_parts, visit_all};
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
    node_parts! {
        HashExchangeExec of self,
        properties: &self.properties,
        children: vec![&self.input],
        expressions: |visit| visit_all(&self.keys, visit),
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
                    exchanged(schema, count, open, keys, cores, false, &context).await.map_err(Arc::new)
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
    /// Whether some rows are on disk.
    pub fn is_spilled(&self) -> bool {
        self.spilled.is_some()
    }

    /// The rows of a partition.
    ///
    /// # Errors
    /// If the partition was taken before, or its file cannot be read.
    pub fn partition(&self, partition: usize) -> Result<SendableRecordBatchStream> {
        let held = self.held[partition].lock().take();
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

/// Batches of about [`CHUNK`] rows together.
fn chunks(rows: SendableRecordBatchStream) -> impl Stream<Item = Result<Vec<RecordBatch>>> + Send {
    stream::try_unfold(rows, |mut rows| async move {
        let (mut waiting, mut many) = (Vec::new(), 0);
        while many < CHUNK
            && let Some(batch) = rows.try_next().await?
        {
            many += batch.num_rows();
            waiting.push(batch);
        }
        Ok(if many > 0 { Some((waiting, rows)) } else { None })
    })
}

/// Hash-partitions the rows of so many streams; `open` is called in their order. `to_disk`: memory is short already.
pub async fn exchanged(
    schema: SchemaRef,
    count: usize,
    open: impl Fn(usize) -> Result<SendableRecordBatchStream> + Send + 'static,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    cores: Cores,
    to_disk: bool,
    context: &Arc<TaskContext>,
) -> Result<Pieces> {
    let mut chunks = match count {
        // One stream may have all rows: they are cut as they come.
        1 => {
            let (rows, of) = (chunks(open(0)?), Arc::clone(&schema));
            let parts = move |chunk: Result<Vec<RecordBatch>>| {
                let (keys, schema) = (keys.clone(), Arc::clone(&of));
                let part = SpawnedTask::spawn(async move { Ok(vec![parted(&schema, &chunk?, &keys)?]) });
                async move { part.join_unwind().await.map_err(|error| DataFusionError::External(Box::new(error)))? }
            };
            rows.map(parts).buffered(cores.window()).boxed()
        }
        _ => {
            let of = Arc::clone(&schema);
            let work = move |number: usize| {
                let (opened, keys, schema) = (open(number), keys.clone(), Arc::clone(&of));
                async move {
                    let rows = chunks(opened?);
                    rows.map(|chunk| parted(&schema, &chunk?, &keys)).try_collect::<Vec<_>>().await
                }
            };
            tasks_in_order(count, cores, work).boxed()
        }
    };
    let consumer = MemoryConsumer::new("Exchange").with_can_spill(true);
    let reservation = consumer.register(context.memory_pool());
    let mut held: Vec<Vec<RecordBatch>> = vec![Vec::new(); PARTITIONS];
    let mut held_bytes = vec![0; PARTITIONS];
    let mut files = None;
    while let Some(chunk) = chunks.try_next().await? {
        for pieces in chunk {
            if files.is_none() {
                let sizes: Vec<usize> = pieces.iter().map(|piece| piece.as_ref().map_or(0, rows_size)).collect();
                if !to_disk && reservation.try_grow(sizes.iter().sum()).is_ok() {
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
    let size = |column: &ArrayRef| {
        // Arrow counts views without their text.
        let viewed = match column.data_type() {
            DataType::Utf8View => column.as_string_view().total_buffer_bytes_used(),
            DataType::BinaryView => column.as_binary_view().total_buffer_bytes_used(),
            _ => 0,
        };
        column.to_data().get_slice_memory_size().unwrap_or(0) + viewed
    };
    batch.columns().iter().map(size).sum()
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
