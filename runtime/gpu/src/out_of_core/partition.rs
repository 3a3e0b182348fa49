//! Rows that are cut: by their number, by a hash of keys, and by ranges of keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array, make_comparator};
use arrow::compute::{SortColumn, cast, concat, concat_batches, lexsort_to_indices, take, take_record_batch};
use arrow::datatypes::{DataType, Float32Type, Float64Type, SchemaRef};
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use onrush_logical::fingerprint::mix;

use super::{MAX_PARTITIONS, Parts};
use crate::blocking::Stop;

/// Rows whose parts are found at once, at least: what a part is made of should be few arrays.
const MIN_PIECE_ROWS: usize = 1 << 18;
/// And at most: a query that is stopped waits for one.
const MAX_PIECE_ROWS: usize = 1 << 21;
/// Pieces for each thread.
const PIECES_PER_THREAD: usize = 2;
/// Rows of a run that are looked at for each range of an order.
const SAMPLES: usize = 8;

pub fn count(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

/// Bytes of the rows themselves: batches may be pieces of larger arrays, which they share.
pub fn bytes(batches: &[RecordBatch]) -> usize {
    let of = |column: &ArrayRef| match column.as_string_view_opt() {
        Some(texts) => texts.len() * 16 + texts.total_buffer_bytes_used(),
        None => column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size()),
    };
    batches.iter().flat_map(RecordBatch::columns).map(of).sum()
}

/// Some rows of a table.
pub fn slice(batches: &[RecordBatch], at: usize, rows: usize) -> Vec<RecordBatch> {
    let (mut before, mut found) = (0, Vec::new());
    for batch in batches {
        let (from, to) = (at.max(before), (at.saturating_add(rows)).min(before + batch.num_rows()));
        if from < to {
            found.push(batch.slice(from - before, to - from));
        }
        before += batch.num_rows();
    }
    found
}

/// Keys that are equal have the same bits.
fn plain(key: ArrayRef) -> Result<ArrayRef> {
    Ok(match key.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => cast(&key, &DataType::Utf8View)?,
        DataType::Dictionary(_, values) => {
            let values = if values.is_string() { DataType::Utf8View } else { values.as_ref().clone() };
            cast(&key, &values)?
        }
        DataType::Float64 => {
            let one = |x: f64| if x.is_nan() { f64::NAN } else { x + 0.0 };
            Arc::new(key.as_primitive::<Float64Type>().unary::<_, Float64Type>(one))
        }
        DataType::Float32 => {
            let one = |x: f32| if x.is_nan() { f32::NAN } else { x + 0.0 };
            Arc::new(key.as_primitive::<Float32Type>().unary::<_, Float32Type>(one))
        }
        _ => key,
    })
}

/// Cuts sorted runs at the same keys into ranges of about so many rows in all. Each range has its pieces in the order
/// of the runs. See Frazer and McKellar, "Samplesort: a sampling approach to minimal storage tree sorting", 1970.
pub fn ranges(runs: Parts, schema: &SchemaRef, by: &LexOrdering, rows: u64) -> Result<Vec<Parts>> {
    let runs = runs.into_iter().map(|run| Ok(concat_batches(schema, &run)?)).collect::<Result<Vec<_>>>()?;
    let all: usize = runs.iter().map(RecordBatch::num_rows).sum();
    // Samples are not even: ranges of two thirds fit.
    let wanted = (all as u64 * 3 / 2 / rows.max(1) + 1).clamp(2, MAX_PARTITIONS) as usize;
    let keys_of = |run: &RecordBatch| -> Result<Vec<ArrayRef>> {
        by.iter().map(|key| key.expr.evaluate(run)?.into_array(run.num_rows())).collect()
    };
    let keys = runs.iter().map(keys_of).collect::<Result<Vec<_>>>()?;
    let mut samples = vec![Vec::new(); by.len()];
    for (run, keys) in runs.iter().zip(&keys) {
        let (rows, most) = (run.num_rows(), (wanted * SAMPLES).min(run.num_rows()));
        let at = UInt32Array::from_iter_values((0..most).map(|sample| (sample * rows / most) as u32));
        for (samples, key) in samples.iter_mut().zip(keys) {
            samples.push(take(key, &at, None)?);
        }
    }
    let column = |(samples, key): (&Vec<ArrayRef>, &PhysicalSortExpr)| -> Result<SortColumn> {
        let samples: Vec<&dyn Array> = samples.iter().map(AsRef::as_ref).collect();
        Ok(SortColumn { values: concat(&samples)?, options: Some(key.options) })
    };
    let columns = samples.iter().zip(by.iter()).map(column).collect::<Result<Vec<_>>>()?;
    let order = lexsort_to_indices(&columns, None)?;
    let edges = (1..wanted).map(|edge| order.value(edge * order.len() / wanted) as usize).collect::<Vec<_>>();
    let mut found: Vec<Parts> = (0..wanted).map(|_| Vec::new()).collect();
    for (run, keys) in runs.iter().zip(&keys) {
        let compare = |(key, (samples, by)): (&ArrayRef, (&SortColumn, &PhysicalSortExpr))| {
            Ok(make_comparator(key.as_ref(), samples.values.as_ref(), by.options)?)
        };
        let compare = keys.iter().zip(columns.iter().zip(by.iter())).map(compare).collect::<Result<Vec<_>>>()?;
        let is_before = |row: usize, sample: usize| {
            let differs = compare.iter().map(|compare| compare(row, sample)).find(|found| found.is_ne());
            differs == Some(std::cmp::Ordering::Less)
        };
        let mut begin = 0;
        for (number, range) in found.iter_mut().enumerate() {
            // The first row that is not before the edge: all rows of one key are in the same range.
            let mut end = run.num_rows();
            if let Some(edge) = edges.get(number) {
                let mut low = begin;
                while low < end {
                    let middle = low.midpoint(end);
                    if is_before(middle, *edge) { low = middle + 1 } else { end = middle }
                }
            }
            range.push(if begin < end { vec![run.slice(begin, end - begin)] } else { Vec::new() });
            begin = end;
        }
    }
    Ok(found)
}

/// How rows are hash-partitioned.
pub struct Hashing {
    pub keys: Vec<Arc<dyn PhysicalExpr>>,
    /// Whether rows without a key can be anywhere.
    pub spreads_nulls: bool,
    pub parts: usize,
    pub seed: u64,
}

/// The rows of each part, in their order.
pub fn part(batches: &[RecordBatch], by: &Hashing, stop: &Stop) -> Result<Parts> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let size = (count(batches) / (PIECES_PER_THREAD * threads)).clamp(MIN_PIECE_ROWS, MAX_PIECE_ROWS);
    let all = count(batches);
    let pieces: Vec<Vec<RecordBatch>> = (0..all).step_by(size).map(|at| slice(batches, at, size)).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Vec<RecordBatch>)>> {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(number) else { return Ok(done) };
            if stop.is_set() {
                return Err(DataFusionError::External(Box::new(onrush_ops::Error::Cancelled)));
            }
            let Some(first) = piece.first() else { continue };
            let piece = concat_batches(&first.schema(), piece)?;
            done.push((number, part_piece(&piece, by)?));
        }
    };
    let threads = threads.min(pieces.len().max(1));
    let done = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, Result<Vec<_>>>| {
            handle
                .join()
                .unwrap_or_else(|_| Err(DataFusionError::Internal("a thread that parts rows panicked".to_string())))
        };
        handles.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    let mut done: Vec<_> = done.into_iter().flatten().collect();
    done.sort_unstable_by_key(|(number, _)| *number);
    let mut found = vec![Vec::new(); by.parts];
    for (_, piece) in done {
        for (part, rows) in found.iter_mut().zip(piece) {
            if rows.num_rows() > 0 {
                part.push(rows);
            }
        }
    }
    Ok(found)
}

fn part_piece(piece: &RecordBatch, by: &Hashing) -> Result<Vec<RecordBatch>> {
    let Hashing { keys, spreads_nulls, parts, seed } = by;
    let parts = *parts;
    let rows = piece.num_rows();
    let evaluate = |key: &Arc<dyn PhysicalExpr>| plain(key.evaluate(piece)?.into_array(rows)?);
    let arrays = keys.iter().map(evaluate).collect::<Result<Vec<_>>>()?;
    let mut hashes = vec![0; rows];
    create_hashes(&arrays, &RandomState::with_seed(0), &mut hashes)?;
    if *spreads_nulls && arrays.iter().any(|array| array.logical_null_count() > 0) {
        let nulls: Vec<_> = arrays.iter().filter_map(|array| array.logical_nulls()).collect();
        let lacks = |row: usize| nulls.iter().any(|nulls| nulls.is_null(row));
        hashes.iter_mut().zip(0..).filter(|(_, row)| lacks(*row)).for_each(|(hash, row)| *hash = row as u64);
    }
    hashes.iter_mut().for_each(|hash| *hash = mix(*hash ^ (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let of = |hash: &u64| ((hash >> 32) as usize * parts) >> 32;
    let mut ends = vec![0_usize; parts + 1];
    hashes.iter().for_each(|hash| ends[of(hash) + 1] += 1);
    (0..parts).for_each(|part| ends[part + 1] += ends[part]);
    let (begins, mut places) = (ends.clone(), ends);
    let mut order = vec![0_u32; rows];
    for (row, hash) in hashes.iter().enumerate() {
        let place = &mut places[of(hash)];
        order[*place] = row as u32;
        *place += 1;
    }
    let sorted = take_record_batch(piece, &UInt32Array::from(order))?;
    Ok((0..parts).map(|part| sorted.slice(begins[part], begins[part + 1] - begins[part])).collect())
}
