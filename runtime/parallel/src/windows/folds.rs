//! Aggregates of frames as folds.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Float64Array, Int64Array, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type, UInt64Type};
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::AggregateUDF;
use onrush_expr::quantile::{Interpolation, of_sorted, parameters};

use super::{is_float, taken};
use crate::sort::words::{SortKeys, has_words};

/// Rows of a frame of which the values are kept in order.
const SORTED_FRAME_ROWS: i64 = 4_096;

/// Whether a function over values of this type has a fold here. `width`: the rows of its frames, if they have a fixed
/// number.
pub fn has_fold(function: &AggregateUDF, dtype: &DataType, width: Option<i64>) -> bool {
    if parameters(function).is_some() {
        return width.is_some_and(|width| width <= SORTED_FRAME_ROWS);
    }
    match function.name() {
        "count" | "first_value" | "last_value" => true,
        "sum" => is_float(dtype) || matches!(dtype, DataType::Int64 | DataType::UInt64),
        "avg" | "var" | "var_samp" | "var_pop" | "stddev" | "stddev_samp" | "stddev_pop" => is_float(dtype),
        "min" | "max" => {
            let numbers = !dtype.is_string() && !dtype.is_binary() && !matches!(dtype, DataType::Decimal128(..));
            numbers && !matches!(dtype, DataType::Dictionary(..)) && has_words(dtype)
        }
        _ => false,
    }
}

/// Rows of frames that are folded by themselves.
const SHORT_FRAME_ROWS: usize = 12;

/// The frame of each row: rows from a first one to one after the last.
pub struct Frames {
    partitions: Vec<Range<usize>>,
    bounds: (Option<i64>, Option<i64>),
    /// The last row's successor by row, where frames end with the peers of their row.
    ends: Option<Vec<u32>>,
    rows: usize,
    /// Rows of the longest frame, if both of its ends move.
    width: Option<usize>,
}

impl Frames {
    /// `bounds`: see `bounds` in the parent module. With `peers`, a frame ends with the last peer of its row.
    pub fn new(
        partitions: Vec<Range<usize>>,
        bounds: (Option<i64>, Option<i64>),
        peers: Option<&[Range<usize>]>,
        rows: usize,
    ) -> Frames {
        let ends = peers.map(|peers| {
            let mut ends = vec![0; rows];
            peers.iter().for_each(|peers| ends[peers.clone()].fill(peers.end as u32));
            ends
        });
        let width = bounds.0.zip(bounds.1).map(|(from, to)| (to - from + 1).clamp(0, rows as i64) as usize);
        Frames { partitions, bounds, ends, rows, width }
    }

    /// The first row of a row's frame, and the one after the last.
    fn of(&self, partition: &Range<usize>, row: usize) -> (usize, usize) {
        let (start, end, row) = (partition.start as i64, partition.end as i64, row as i64);
        let first = self.bounds.0.map_or(start, |from| (row + from).clamp(start, end));
        let last = match &self.ends {
            Some(ends) => i64::from(ends[row as usize]),
            None => self.bounds.1.map_or(end, |to| (row + to + 1).clamp(start, end)),
        };
        (first as usize, last.max(first) as usize)
    }
}

/// A value that two parts of a frame are put together to.
trait Fold {
    type State: Copy + Default;

    /// The state of one row; the default if it is null.
    fn row(&self, row: usize) -> Self::State;

    /// The state of the rows of `before`, then of `after`.
    fn join(&self, before: Self::State, after: Self::State) -> Self::State;

    /// The states of all frames.
    fn frames(&self, frames: &Frames) -> Vec<Self::State> {
        let mut states = vec![Self::State::default(); frames.rows];
        for partition in &frames.partitions {
            match (frames.bounds, frames.width) {
                ((None, _), _) => self.running(partition, frames, &mut states),
                ((_, None), _) => self.running_back(partition, frames, &mut states),
                (_, Some(width)) if width > SHORT_FRAME_ROWS => self.fixed(partition, width, frames, &mut states),
                _ => self.short(partition, frames, &mut states),
            }
        }
        states
    }

    /// Frames from the start of the partition.
    fn running(&self, partition: &Range<usize>, frames: &Frames, states: &mut [Self::State]) {
        let (mut state, mut until) = (Self::State::default(), partition.start);
        for row in partition.clone() {
            while until < frames.of(partition, row).1 {
                let next = self.row(until);
                state = if until == partition.start { next } else { self.join(state, next) };
                until += 1;
            }
            states[row] = state;
        }
    }

    /// Frames to the end of the partition.
    fn running_back(&self, partition: &Range<usize>, frames: &Frames, states: &mut [Self::State]) {
        let (mut state, mut from) = (Self::State::default(), partition.end);
        for row in partition.clone().rev() {
            while from > frames.of(partition, row).0 {
                from -= 1;
                let next = self.row(from);
                state = if from + 1 == partition.end { next } else { self.join(next, state) };
            }
            states[row] = state;
        }
    }

    /// Frames of a few rows, each by itself.
    fn short(&self, partition: &Range<usize>, frames: &Frames, states: &mut [Self::State]) {
        for row in partition.clone() {
            let (first, end) = frames.of(partition, row);
            if first < end {
                states[row] = (first + 1..end).fold(self.row(first), |state, row| self.join(state, self.row(row)));
            }
        }
    }

    /// Frames of at most `width` rows: blocks of that many rows from the start of the partition, of which a frame
    /// touches two at most.
    fn fixed(&self, partition: &Range<usize>, width: usize, frames: &Frames, states: &mut [Self::State]) {
        let (start, rows) = (partition.start, partition.len());
        let mut to_here: Vec<Self::State> = Vec::with_capacity(rows);
        let mut from_here = vec![Self::State::default(); rows];
        for place in 0..rows {
            let value = self.row(start + place);
            let state = if place % width == 0 { value } else { self.join(to_here[place - 1], value) };
            to_here.push(state);
        }
        for place in (0..rows).rev() {
            let value = self.row(start + place);
            let last = (place + 1) % width == 0 || place + 1 == rows;
            from_here[place] = if last { value } else { self.join(value, from_here[place + 1]) };
        }
        for row in partition.clone() {
            let (first, end) = frames.of(partition, row);
            let (first, end) = (first - start, end - start);
            if first >= end {
                continue;
            }
            let last = end - 1;
            states[row] = if first % width == 0 && last / width == first / width {
                to_here[last]
            } else if first / width == last / width {
                // It ends with the block, or with the partition.
                from_here[first]
            } else {
                self.join(from_here[first], to_here[last])
            };
        }
    }
}

/// Counts the valid rows of a frame.
struct Counts<'a>(&'a NullBuffer);

impl Fold for Counts<'_> {
    type State = i64;

    fn row(&self, row: usize) -> i64 {
        i64::from(self.0.is_valid(row))
    }

    fn join(&self, before: i64, after: i64) -> i64 {
        before + after
    }
}

/// A sum, and how many values it has.
#[derive(Clone, Copy, Default)]
struct Sum<N> {
    sum: N,
    count: u64,
}

struct Sums<'a, T: ArrowPrimitiveType> {
    values: &'a PrimitiveArray<T>,
    add: fn(T::Native, T::Native) -> T::Native,
}

impl<T: ArrowPrimitiveType> Fold for Sums<'_, T> {
    type State = Sum<T::Native>;

    fn row(&self, row: usize) -> Self::State {
        match self.values.is_valid(row) {
            true => Sum { sum: self.values.value(row), count: 1 },
            false => Sum::default(),
        }
    }

    fn join(&self, before: Self::State, after: Self::State) -> Self::State {
        // A null leaves a negative zero what it is.
        match (before.count, after.count) {
            (0, _) => after,
            (_, 0) => before,
            _ => Sum { sum: (self.add)(before.sum, after.sum), count: before.count + after.count },
        }
    }
}

/// Count, mean and sum of squared distances from it (Chan, Golub and LeVeque 1979).
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

struct Variances<'a>(&'a Float64Array);

impl Fold for Variances<'_> {
    type State = Moments;

    fn row(&self, row: usize) -> Moments {
        match self.0.is_valid(row) {
            // Zero, or NaN of a value that is not finite.
            true => Moments { count: 1.0, mean: self.0.value(row), squares: self.0.value(row) - self.0.value(row) },
            false => Moments::default(),
        }
    }

    fn join(&self, before: Moments, after: Moments) -> Moments {
        if before.count == 0.0 {
            return after;
        }
        if after.count == 0.0 {
            return before;
        }
        let count = before.count + after.count;
        let apart = after.mean - before.mean;
        Moments {
            count,
            mean: before.mean + apart * after.count / count,
            squares: before.squares + after.squares + apart * apart * before.count * after.count / count,
        }
    }
}

/// The number of the row with the least or the greatest value, from one on; zero if there is none.
struct Extremes<'a> {
    keys: &'a [u64],
    values: &'a ArrayRef,
    greatest: bool,
}

impl Fold for Extremes<'_> {
    type State = u32;

    fn row(&self, row: usize) -> u32 {
        if self.values.is_valid(row) { row as u32 + 1 } else { 0 }
    }

    fn join(&self, before: u32, after: u32) -> u32 {
        if before == 0 || after == 0 {
            return before.max(after);
        }
        let (a, b) = (self.keys[before as usize - 1], self.keys[after as usize - 1]);
        if (self.greatest && b > a) || (!self.greatest && b < a) { after } else { before }
    }
}

/// The number of the first or the last row that has a value, from one on.
struct Ends<'a> {
    values: &'a ArrayRef,
    last: bool,
    ignore_nulls: bool,
}

impl Fold for Ends<'_> {
    type State = u32;

    fn row(&self, row: usize) -> u32 {
        if self.ignore_nulls && self.values.is_null(row) { 0 } else { row as u32 + 1 }
    }

    fn join(&self, before: u32, after: u32) -> u32 {
        match (before, after) {
            (0, row) | (row, 0) => row,
            (first, last) => {
                if self.last {
                    last
                } else {
                    first
                }
            }
        }
    }
}

fn rows_of(states: Vec<u32>) -> Vec<Option<u32>> {
    states.into_iter().map(|row| row.checked_sub(1)).collect()
}

/// Quantiles of frames, of which the values are kept in order.
fn quantiles(values: &Float64Array, frames: &Frames, q: f64, interpolation: Interpolation) -> Float64Array {
    let mut results = Vec::with_capacity(values.len());
    let mut sorted: Vec<f64> = Vec::new();
    for partition in &frames.partitions {
        sorted.clear();
        let (mut first, mut end) = (partition.start, partition.start);
        for row in partition.clone() {
            let (from, to) = frames.of(partition, row);
            let place = |sorted: &[f64], value: f64| sorted.partition_point(|other| other.total_cmp(&value).is_lt());
            for row in end..to.max(end) {
                if values.is_valid(row) {
                    let value = values.value(row);
                    sorted.insert(place(&sorted, value), value);
                }
            }
            for row in first..from.max(first) {
                if values.is_valid(row) && row < to.max(end) {
                    sorted.remove(place(&sorted, values.value(row)));
                }
            }
            (first, end) = (from.max(first), to.max(end));
            results.push(of_sorted(&sorted, q, interpolation));
        }
    }
    results.into_iter().collect()
}

/// The aggregate of each row's frame.
pub fn fold(function: &AggregateUDF, ignore_nulls: bool, values: &ArrayRef, frames: &Frames) -> Result<ArrayRef> {
    if let Some((q, interpolation)) = parameters(function) {
        return Ok(Arc::new(quantiles(values.as_primitive::<Float64Type>(), frames, q, interpolation)));
    }
    let name = function.name();
    let sums = |values: &Float64Array| Sums { values, add: |a, b| a + b }.frames(frames);
    let variance = |most: f64, less: f64, root: bool| -> ArrayRef {
        let states = Variances(values.as_primitive::<Float64Type>()).frames(frames);
        let of = |state: Moments| {
            let variance = state.squares / (state.count - less);
            (state.count >= most).then(|| if root { variance.sqrt() } else { variance })
        };
        Arc::new(states.into_iter().map(of).collect::<Float64Array>())
    };
    Ok(match name {
        "count" if values.logical_null_count() == 0 => {
            let count = |partition: &Range<usize>, row: usize| {
                let (first, end) = frames.of(partition, row);
                (end - first) as i64
            };
            let of = |partition: &Range<usize>| partition.clone().map(|row| count(partition, row)).collect::<Vec<_>>();
            Arc::new(Int64Array::from_iter_values(frames.partitions.iter().flat_map(of)))
        }
        "count" => match values.logical_nulls() {
            Some(nulls) => Arc::new(Int64Array::from(Counts(&nulls).frames(frames))),
            None => return internal_err!("nulls were counted and are not there"),
        },
        "sum" | "avg" if is_float(values.data_type()) => {
            let mean = name == "avg";
            let of = |state: Sum<f64>| {
                (state.count > 0).then(|| if mean { state.sum / state.count as f64 } else { state.sum })
            };
            Arc::new(sums(values.as_primitive::<Float64Type>()).into_iter().map(of).collect::<Float64Array>())
        }
        "sum" => match values.data_type() {
            DataType::UInt64 => {
                let states =
                    Sums { values: values.as_primitive::<UInt64Type>(), add: u64::wrapping_add }.frames(frames);
                let of = |state: Sum<u64>| (state.count > 0).then_some(state.sum);
                Arc::new(states.into_iter().map(of).collect::<PrimitiveArray<UInt64Type>>())
            }
            _ => {
                let states = Sums { values: values.as_primitive::<Int64Type>(), add: i64::wrapping_add }.frames(frames);
                let of = |state: Sum<i64>| (state.count > 0).then_some(state.sum);
                Arc::new(states.into_iter().map(of).collect::<Int64Array>())
            }
        },
        "var" | "var_samp" => variance(2.0, 1.0, false),
        "stddev" | "stddev_samp" => variance(2.0, 1.0, true),
        "var_pop" => variance(1.0, 0.0, false),
        "stddev_pop" => variance(1.0, 0.0, true),
        "min" | "max" => {
            let SortKeys::Numbers { mut codes, .. } = SortKeys::new(values)? else {
                return internal_err!("`{name}` of {} has no fold", values.data_type());
            };
            // Every NaN is above all numbers, whatever its sign.
            if let Some(floats) = values.as_primitive_opt::<Float64Type>() {
                let nans = codes.iter_mut().zip(floats.values()).filter(|(_, value)| value.is_nan());
                nans.for_each(|(code, _)| *code = u64::MAX);
            } else if let Some(floats) = values.as_primitive_opt::<Float32Type>() {
                let nans = codes.iter_mut().zip(floats.values()).filter(|(_, value)| value.is_nan());
                nans.for_each(|(code, _)| *code = u64::MAX);
            }
            let states = Extremes { keys: &codes, values, greatest: name == "max" }.frames(frames);
            taken(values, rows_of(states))?
        }
        "first_value" | "last_value" => {
            let states = Ends { values, last: name == "last_value", ignore_nulls }.frames(frames);
            taken(values, rows_of(states))?
        }
        name => return internal_err!("`{name}` has no fold"),
    })
}
