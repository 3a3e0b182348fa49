//! `ORDER BY` on all cores: a stable sort by words of 64 bits.
//!
//! A sample sort, then an MSD radix sort by words. Keys become strings of bits that order as the keys do
//! (`sort/words.rs`). Splitters from a sample of first words cut the rows into ranges, and one task sorts each range.
//! Rows whose first words are equal are sorted by the next ones. Rows with equal keys keep their order.

pub(crate) mod words;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::compute::{concat_batches, interleave};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties};
use futures::{Stream, StreamExt, TryStreamExt, stream};

use crate::cores::{CHUNK, Cores};
use crate::exchange::rows_size;
use crate::gather::{collect, counted, tasks_in_order};
use crate::nodes::{node_parts, visit_all};
use crate::streams::StreamsExec;
use parking_lot::Mutex;
use words::{Layout, SortKeys};

/// Rows of a batch of the result, and about those of a range.
const RANGE_ROWS: usize = 65_536;
/// Rows of which each unit gives a sample.
const SAMPLE_ROWS: usize = 256;
/// Rows from which a radix sort is faster than one by comparisons.
pub const RADIX: usize = 2_048;

/// Whether keys of these types have words.
pub fn can_order(order: &LexOrdering, schema: &SchemaRef) -> bool {
    order.iter().all(|key| key.expr.data_type(schema).is_ok_and(|dtype| words::has_words(&dtype)))
}

/// The rows of its input in an order. Rows with equal keys keep the order that they have.
#[derive(Debug)]
pub struct ParallelSortExec {
    input: Arc<dyn ExecutionPlan>,
    order: LexOrdering,
    fetch: Option<usize>,
    cores: Cores,
    /// Each partition is sorted by itself.
    apart: bool,
    /// DataFusion's sort, which this node stands for.
    node: Arc<dyn ExecutionPlan>,
    metrics: ExecutionPlanMetricsSet,
}

impl ParallelSortExec {
    /// `node`: the sort in one partition that this node stands for.
    pub fn new(
        input: Arc<dyn ExecutionPlan>,
        order: LexOrdering,
        fetch: Option<usize>,
        cores: Cores,
        node: &Arc<dyn ExecutionPlan>,
    ) -> ParallelSortExec {
        let (node, metrics) = (Arc::clone(node), ExecutionPlanMetricsSet::new());
        ParallelSortExec { input, order, fetch, cores, apart: false, node, metrics }
    }

    /// Sorts each partition by itself, as `sort` does.
    pub fn apart(sort: SortExec, cores: Cores) -> ParallelSortExec {
        let (input, order, fetch) = (Arc::clone(sort.input()), sort.expr().clone(), sort.fetch());
        let metrics = ExecutionPlanMetricsSet::new();
        ParallelSortExec { input, order, fetch, cores, apart: true, node: Arc::new(sort), metrics }
    }

    /// DataFusion's sort.
    pub fn node(&self) -> &Arc<dyn ExecutionPlan> {
        &self.node
    }
}

impl DisplayAs for ParallelSortExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParallelSortExec: [{}]", self.order)?;
        self.fetch.map_or(Ok(()), |rows| write!(f, ", fetch={rows}"))
    }
}

impl ExecutionPlan for ParallelSortExec {
    node_parts! {
        ParallelSortExec of self,
        properties: self.node.properties(),
        children: vec![&self.input],
        expressions: |visit| visit_all(self.order.iter().map(|key| &key.expr), visit),
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn with_new_children(self: Arc<Self>, mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let (input, order, node) = (inputs.swap_remove(0), self.order.clone(), Arc::clone(&self.node));
        Ok(Arc::new(ParallelSortExec { input, order, node, metrics: ExecutionPlanMetricsSet::new(), ..*self }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let count = self.input.output_partitioning().partition_count();
        let work = Work {
            input: Arc::clone(&self.input),
            partitions: if self.apart { partition..partition + 1 } else { 0..count },
            order: self.order.clone(),
            fetch: self.fetch,
            cores: self.cores,
            context,
        };
        let rows = stream::once(work.run()).try_flatten().scan(self.fetch.unwrap_or(usize::MAX), |left, batch| {
            let taken = match batch {
                Ok(_) if *left == 0 => None,
                Ok(batch) => {
                    let taken = batch.slice(0, (*left).min(batch.num_rows()));
                    *left -= taken.num_rows();
                    Some(Ok(taken))
                }
                Err(error) => Some(Err(error)),
            };
            async move { taken }
        });
        Ok(counted(Box::pin(RecordBatchStreamAdapter::new(schema, rows)), &self.metrics, partition))
    }
}

struct Work {
    input: Arc<dyn ExecutionPlan>,
    partitions: Range<usize>,
    order: LexOrdering,
    fetch: Option<usize>,
    cores: Cores,
    context: Arc<TaskContext>,
}

/// Rows that are worked on by one task, with the values of their keys.
struct Unit {
    batch: RecordBatch,
    keys: Vec<SortKeys>,
}

/// A row by its word and its place: the number of its unit, and its row there.
#[derive(Clone, Copy, Default)]
pub struct Entry {
    pub word: u64,
    pub place: u64,
}

impl Entry {
    fn unit(self) -> usize {
        (self.place >> 32) as usize
    }

    fn row(self) -> usize {
        (self.place & u64::from(u32::MAX)) as usize
    }
}

impl Work {
    async fn run(self) -> Result<SendableRecordBatchStream> {
        let partitions = self.partitions.clone();
        let schema = self.input.schema();
        let (input, context, cores) = (Arc::clone(&self.input), Arc::clone(&self.context), self.cores);
        let mut collected = match partitions.len() {
            // One partition may have all rows: they are counted as they come.
            1 => input.execute(partitions.start, context)?.map_ok(|batch| vec![batch]).boxed(),
            count => tasks_in_order(count, cores, move |number| {
                let rows = input.execute(partitions.start + number, Arc::clone(&context));
                async move { collect(rows?).await }
            })
            .boxed(),
        };
        let reservation = MemoryConsumer::new("OrderedSort").with_can_spill(true).register(self.context.memory_pool());
        let mut batches: Vec<RecordBatch> = Vec::new();
        while let Some(more) = collected.try_next().await? {
            // The rows, a copy of them in their order, and a word and a place for each.
            let bytes: usize = more.iter().map(|batch| 2 * rows_size(batch) + 32 * batch.num_rows()).sum();
            batches.extend(more);
            if reservation.try_grow(bytes).is_err() {
                reservation.free();
                return self.external(batches, collected);
            }
        }
        let units = units(&schema, batches)?;
        if units.is_empty() {
            return Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream::empty())));
        }
        let units = self.with_keys(units).await?;
        let Some(layout) = Layout::new(&self.order, &units.iter().map(|unit| unit.keys.as_slice()).collect::<Vec<_>>())
        else {
            let batches = units.into_iter().map(|unit| unit.batch).collect();
            return self.external(batches, stream::empty().boxed());
        };
        let (units, layout) = (Arc::new(units), Arc::new(layout));
        let words = self.words(&units, &layout).await?;
        if is_sorted(&units, &layout, &words) {
            let batches: Vec<Result<RecordBatch>> = units.iter().map(|unit| Ok(unit.batch.clone())).collect();
            return Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter(batches))));
        }
        let ranges = self.ranges(&units, words).await?;
        let count = ranges.first().map_or(0, Vec::len);
        let mut ranges: Vec<std::vec::IntoIter<Vec<Entry>>> = ranges.into_iter().map(Vec::into_iter).collect();
        let (of, reserved) = (Arc::clone(&schema), Arc::new(reservation));
        let next = Mutex::new(move || ranges.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>());
        let sorted = tasks_in_order(count, cores, move |_| {
            let parts = next.lock()();
            let (units, layout, schema) = (Arc::clone(&units), Arc::clone(&layout), Arc::clone(&of));
            let reserved = Arc::clone(&reserved);
            async move {
                let rows = range(&schema, &units, &layout, parts);
                drop(reserved);
                rows
            }
        });
        let rows = sorted.map_ok(|batches| stream::iter(batches.into_iter().map(Ok))).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    /// The values of the keys of each unit.
    async fn with_keys(&self, units: Vec<RecordBatch>) -> Result<Vec<Unit>> {
        let order = self.order.clone();
        let count = units.len();
        let work = move |number: usize| {
            let (batch, order) = (units[number].clone(), order.clone());
            async move {
                let key =
                    |key: &PhysicalSortExpr| SortKeys::new(&key.expr.evaluate(&batch)?.into_array(batch.num_rows())?);
                let keys = order.iter().map(key).collect::<Result<_>>()?;
                Ok(Unit { batch, keys })
            }
        };
        tasks_in_order(count, self.cores, work).try_collect().await
    }

    /// The first words of each unit.
    async fn words(&self, units: &Arc<Vec<Unit>>, layout: &Arc<Layout>) -> Result<Vec<Vec<u64>>> {
        let words = {
            let (units, layout) = (Arc::clone(units), Arc::clone(layout));
            move |number: usize| {
                let (units, layout) = (Arc::clone(&units), Arc::clone(&layout));
                async move { Ok(layout.first_words(&units[number].keys, units[number].batch.num_rows())) }
            }
        };
        tasks_in_order(units.len(), self.cores, words).try_collect().await
    }

    /// The entries of each unit, by range.
    async fn ranges(&self, units: &Arc<Vec<Unit>>, words: Vec<Vec<u64>>) -> Result<Vec<Vec<Vec<Entry>>>> {
        let rows: usize = words.iter().map(Vec::len).sum();
        let splitters = Arc::new(splitters(&words, rows.div_ceil(RANGE_ROWS)));
        let words = Arc::new(words);
        let scattered = move |number: usize| {
            let (words, splitters) = (Arc::clone(&words), Arc::clone(&splitters));
            async move {
                let mut ranges: Vec<Vec<Entry>> = vec![Vec::new(); splitters.len() + 1];
                let expected = words[number].len() / ranges.len();
                ranges.iter_mut().for_each(|range| range.reserve(expected + expected / 4));
                for (row, word) in words[number].iter().enumerate() {
                    let range = splitters.partition_point(|splitter| splitter <= word);
                    ranges[range].push(Entry { word: *word, place: (number as u64) << 32 | row as u64 });
                }
                Ok(ranges)
            }
        };
        tasks_in_order(units.len(), self.cores, scattered).try_collect().await
    }

    /// DataFusion's sort, which goes to disk, over rows with their numbers as the last key.
    fn external(
        self,
        batches: Vec<RecordBatch>,
        rest: impl Stream<Item = Result<Vec<RecordBatch>>> + Send + 'static,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.input.schema();
        let number = schema.fields().len();
        let name = format!("{}sort_row", onrush_expr::diagnostics::HIDDEN);
        let fields = schema.fields().iter().cloned().chain([Arc::new(Field::new(&name, DataType::UInt64, false))]);
        let with_rows: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let rest = rest.map_ok(|batches| stream::iter(batches.into_iter().map(Ok))).try_flatten();
        let mut before = 0;
        let of = Arc::clone(&with_rows);
        let rows = stream::iter(batches.into_iter().map(Ok)).chain(rest).map(move |batch: Result<RecordBatch>| {
            let batch = batch?;
            let rows = batch.num_rows() as u64;
            let numbers = UInt64Array::from_iter_values(before..before + rows);
            before += rows;
            let columns = batch.columns().iter().cloned().chain([Arc::new(numbers) as _]).collect();
            Ok(RecordBatch::try_new(Arc::clone(&of), columns)?)
        });
        let rows = RecordBatchStreamAdapter::new(Arc::clone(&with_rows), rows);
        let input = StreamsExec::new(with_rows, vec![Box::pin(rows)]);
        let row = PhysicalSortExpr::new_default(Arc::new(Column::new(&name, number)));
        let keys = self.order.iter().cloned().chain([row]);
        let order = LexOrdering::new(keys).ok_or_else(|| DataFusionError::Internal("an order has no key".into()))?;
        let sorted = SortExec::new(order, Arc::new(input)).with_fetch(self.fetch).execute(0, self.context)?;
        let of = Arc::clone(&schema);
        let kept = sorted.map(move |batch| {
            let batch = batch?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let columns = batch.columns()[..number].to_vec();
            Ok(RecordBatch::try_new_with_options(Arc::clone(&of), columns, &options)?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, kept)))
    }
}

/// Batches as units of up to [`CHUNK`] rows.
fn units(schema: &SchemaRef, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
    let mut units = Vec::new();
    let (mut waiting, mut rows): (Vec<RecordBatch>, usize) = (Vec::new(), 0);
    let mut put = |waiting: &mut Vec<RecordBatch>| -> Result<()> {
        match waiting.as_slice() {
            [] => {}
            [one] => units.push(one.clone()),
            several => units.push(concat_batches(schema, several)?),
        }
        waiting.clear();
        Ok(())
    };
    for batch in batches {
        let mut start = 0;
        while start < batch.num_rows() {
            let piece = batch.slice(start, (batch.num_rows() - start).min(CHUNK));
            start += piece.num_rows();
            if rows + piece.num_rows() > CHUNK {
                put(&mut waiting)?;
                rows = 0;
            }
            rows += piece.num_rows();
            waiting.push(piece);
        }
    }
    put(&mut waiting)?;
    Ok(units)
}

/// Whether rows are in their order already.
fn is_sorted(units: &[Unit], layout: &Layout, words: &[Vec<u64>]) -> bool {
    let mut last: Option<(u64, usize, usize)> = None;
    for (unit, words) in words.iter().enumerate() {
        for (row, word) in words.iter().enumerate() {
            if let Some((before, of, at)) = last {
                let later = |level: usize| {
                    let before = layout.word(&units[of].keys, at, level);
                    before.cmp(&layout.word(&units[unit].keys, row, level))
                };
                let order = before.cmp(word);
                // Later words only of rows whose first words are equal.
                if order.is_gt()
                    || order.is_eq()
                        && (1..layout.levels()).map(later).find(|order| order.is_ne()).is_some_and(|o| o.is_gt())
                {
                    return false;
                }
            }
            last = Some((*word, unit, row));
        }
    }
    true
}

/// Words that cut all of them into about so many ranges of one length.
fn splitters(words: &[Vec<u64>], ranges: usize) -> Vec<u64> {
    let mut sample: Vec<u64> = Vec::new();
    for words in words {
        let step = words.len().div_ceil(SAMPLE_ROWS).max(1);
        sample.extend(words.iter().step_by(step));
    }
    sample.sort_unstable();
    let mut splitters: Vec<u64> = (1..ranges).map(|range| sample[range * sample.len() / ranges]).collect();
    splitters.dedup();
    splitters
}

/// The sorted rows of a range; `parts` are its entries by unit.
fn range(schema: &SchemaRef, units: &[Unit], layout: &Layout, parts: Vec<Vec<Entry>>) -> Result<Vec<RecordBatch>> {
    let mut entries = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.iter().for_each(|part| entries.extend_from_slice(part));
    drop(parts);
    let mut spare = Vec::new();
    sort(&mut entries, &mut spare);
    ties(&mut entries, units, layout, 1);
    let mut batches = Vec::new();
    for entries in entries.chunks(RANGE_ROWS) {
        let places: Vec<(usize, usize)> = entries.iter().map(|entry| (entry.unit(), entry.row())).collect();
        let column = |column: usize| {
            let arrays: Vec<&dyn Array> = units.iter().map(|unit| unit.batch.column(column).as_ref()).collect();
            interleave(&arrays, &places)
        };
        let columns = (0..schema.fields().len()).map(column).collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(entries.len()));
        batches.push(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?);
    }
    Ok(batches)
}

/// Sorts rows with equal words by the words of the next levels.
fn ties(entries: &mut [Entry], units: &[Unit], layout: &Layout, level: usize) {
    if level >= layout.levels() {
        return;
    }
    let mut start = 0;
    while start < entries.len() {
        let word = entries[start].word;
        let run = entries[start..].iter().take_while(|entry| entry.word == word).count();
        if run > 1 {
            let tied = &mut entries[start..start + run];
            for entry in &mut *tied {
                entry.word = layout.word(&units[entry.unit()].keys, entry.row(), level);
            }
            sort(tied, &mut Vec::new());
            ties(tied, units, layout, level + 1);
        }
        start += run;
    }
}

/// Sorts by word; entries with equal words come in the order of their places, in which they are.
pub fn sort(entries: &mut [Entry], spare: &mut Vec<Entry>) {
    let (mut any, mut all) = (0u64, u64::MAX);
    for entry in &*entries {
        any |= entry.word;
        all &= entry.word;
    }
    let differ = any & !all;
    let digits: Vec<u32> = (0..8).filter(|digit| differ >> (8 * digit) & 0xff != 0).collect();
    if digits.is_empty() {
        return;
    }
    if entries.len() < RADIX || digits.len() > 6 {
        entries.sort_unstable_by_key(|entry| u128::from(entry.word) << 64 | u128::from(entry.place));
        return;
    }
    spare.resize(entries.len(), Entry::default());
    let (mut from, mut to): (&mut [Entry], &mut [Entry]) = (entries, spare);
    for digit in &digits {
        let of = |entry: &Entry| (entry.word >> (8 * digit) & 0xff) as usize;
        let mut next = [0usize; 257];
        from.iter().for_each(|entry| next[of(entry) + 1] += 1);
        for value in 0..256 {
            next[value + 1] += next[value];
        }
        for entry in &*from {
            let place = &mut next[of(entry)];
            to[*place] = *entry;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    if digits.len() % 2 == 1 {
        // The sorted ones are in the spare room.
        to.copy_from_slice(from);
    }
}
