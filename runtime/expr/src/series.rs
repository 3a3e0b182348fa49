//! Functions over neighbouring rows that are no aggregate of a fixed number of rows: interpolation, exponentially
//! weighted means, correlations of windows, windows by time. Each sees a whole partition at once, in its order.

use std::any::Any;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Float64Builder, Int64Array};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl};
use serde::{Deserialize, Serialize};

use crate::calendar_interval::CalendarInterval;
use crate::quantile::{Interpolation, of_sorted};

/// A number that is compared and hashed by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bits(u64);

impl Bits {
    pub fn new(value: f64) -> Self {
        Bits(value.to_bits())
    }

    fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// The ends that belong to a window by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClosedEnds {
    pub left: bool,
    pub right: bool,
}

/// The statistic of a window by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Statistic {
    Sum,
    Mean,
    Min,
    Max,
    Std,
    Var,
    Quantile(Bits, Interpolation),
}

/// How far a window by time reaches back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reach {
    /// A range of the numbers that the rows are ordered by.
    Number(i64),
    /// Calendar months.
    Months(i64),
}

impl Reach {
    pub fn of(every: CalendarInterval) -> Self {
        match every {
            CalendarInterval::Micros(n) => Reach::Number(n),
            CalendarInterval::Weeks(n) => Reach::Number(n * 7 * 86_400_000_000),
            CalendarInterval::Months(n) => Reach::Months(n),
        }
    }

    fn before(self, at: i64) -> i64 {
        match self {
            Reach::Number(n) => at.saturating_sub(n),
            Reach::Months(n) => {
                let back = |t: chrono::DateTime<chrono::Utc>| {
                    t.checked_sub_months(chrono::Months::new(u32::try_from(n).unwrap_or(u32::MAX)))
                };
                let from = chrono::DateTime::from_timestamp_micros(at).and_then(back);
                from.map_or(i64::MIN, |t| t.timestamp_micros())
            }
        }
    }
}

/// The computation. Arguments are `Float64` unless it says otherwise; so is the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Work {
    /// Nulls between two values become values on the line between them.
    Interpolate,
    /// The exponentially weighted mean, as in pandas and Polars.
    Ewm { alpha: Bits, adjust: bool, ignore_nulls: bool, min_samples: u64 },
    /// A statistic of two columns over the last rows: the covariance with this `ddof`, or the correlation.
    Together { window: u64, min_samples: u64, covariance: Option<i64> },
    /// Over the rows of a time interval; the second argument is the time (`Int64`), by which the rows are ordered.
    ByTime { statistic: Statistic, reach: Reach, closed: ClosedEnds, min_samples: u64 },
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Series {
    work: Work,
    signature: Signature,
}

pub fn series(work: Work) -> Arc<WindowUDF> {
    let signature = Signature::variadic_any(Volatility::Immutable);
    Arc::new(WindowUDF::new_from_impl(Series { work, signature }))
}

/// The computation of a [`series`]. `None` for any other function.
pub(crate) fn work(function: &WindowUDF) -> Option<Work> {
    let inner: &dyn Any = function.inner().as_ref();
    inner.downcast_ref::<Series>().map(|series| series.work)
}

impl WindowUDFImpl for Series {
    fn name(&self) -> &str {
        match self.work {
            Work::Interpolate => "interpolate",
            Work::Ewm { .. } => "ewm_mean",
            Work::Together { covariance: None, .. } => "rolling_corr",
            Work::Together { .. } => "rolling_cov",
            Work::ByTime { statistic, .. } => match statistic {
                Statistic::Sum => "rolling_sum_by",
                Statistic::Mean => "rolling_mean_by",
                Statistic::Min => "rolling_min_by",
                Statistic::Max => "rolling_max_by",
                Statistic::Std => "rolling_std_by",
                Statistic::Var => "rolling_var_by",
                Statistic::Quantile(..) => "rolling_quantile_by",
            },
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(&self, _: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(Evaluator(self.work)))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(args.name(), DataType::Float64, true)))
    }
}

#[derive(Debug)]
struct Evaluator(Work);

impl PartitionEvaluator for Evaluator {
    fn evaluate_all(&mut self, values: &[ArrayRef], _: usize) -> Result<ArrayRef> {
        let floats = |slot: usize| values[slot].as_primitive::<Float64Type>();
        let result = match self.0 {
            Work::Interpolate => interpolated(floats(0)),
            Work::Ewm { alpha, adjust, ignore_nulls, min_samples } => {
                weighted(floats(0), alpha.get(), adjust, ignore_nulls, min_samples)
            }
            Work::Together { window, min_samples, covariance } => {
                together(floats(0), floats(1), window as usize, min_samples as usize, covariance)
            }
            Work::ByTime { statistic, reach, closed, min_samples } => {
                by_time(floats(0), values[1].as_primitive::<Int64Type>(), statistic, reach, closed, min_samples)
            }
        };
        Ok(Arc::new(result))
    }
}

fn interpolated(values: &Float64Array) -> Float64Array {
    let mut out: Vec<Option<f64>> = values.iter().collect();
    let mut last: Option<usize> = None;
    for row in 0..values.len() {
        if values.is_null(row) {
            continue;
        }
        if let Some(before) = last {
            let (from, to) = (values.value(before), values.value(row));
            let step = (to - from) / (row - before) as f64;
            for (place, slot) in out[before + 1..row].iter_mut().enumerate() {
                *slot = Some(from + step * (place + 1) as f64);
            }
        }
        last = Some(row);
    }
    out.into()
}

/// pandas' algorithm; a row that is null has no mean, as in Polars.
fn weighted(values: &Float64Array, alpha: f64, adjust: bool, ignore_nulls: bool, min_samples: u64) -> Float64Array {
    let (keep, new) = (1.0 - alpha, if adjust { 1.0 } else { alpha });
    let (mut mean, mut weight, mut seen) = (None, 1.0, 0u64);
    let mut out = Float64Builder::with_capacity(values.len());
    for value in values {
        mean = match (mean, value) {
            (None, value) => value,
            (Some(mean), None) => {
                if !ignore_nulls {
                    weight *= keep;
                }
                Some(mean)
            }
            (Some(mean), Some(value)) => {
                weight *= keep;
                let next = (weight * mean + new * value) / (weight + new);
                weight = if adjust { weight + new } else { 1.0 };
                Some(if mean == value { mean } else { next })
            }
        };
        seen += u64::from(value.is_some());
        out.append_option(mean.filter(|_| value.is_some() && seen >= min_samples));
    }
    out.finish()
}

/// Over the last rows in which both are there; each window is computed by itself, so that no rounding stays of rows
/// that left.
fn together(a: &Float64Array, b: &Float64Array, window: usize, least: usize, covariance: Option<i64>) -> Float64Array {
    let mut out = Float64Builder::with_capacity(a.len());
    let mut pairs: Vec<(f64, f64)> = Vec::with_capacity(window.min(a.len()));
    for row in 0..a.len() {
        let first = (row + 1).saturating_sub(window);
        pairs.clear();
        pairs.extend((first..=row).filter(|r| a.is_valid(*r) && b.is_valid(*r)).map(|r| (a.value(r), b.value(r))));
        let n = pairs.len() as f64;
        if pairs.len() < least.max(1) {
            out.append_null();
            continue;
        }
        let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
        let (mean_a, mean_b) = (mean(|p| p.0), mean(|p| p.1));
        let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
        for (x, y) in &pairs {
            let (x, y) = (x - mean_a, y - mean_b);
            (ab, aa, bb) = (ab + x * y, aa + x * x, bb + y * y);
        }
        out.append_value(match covariance {
            Some(ddof) if n > ddof as f64 => ab / (n - ddof as f64),
            None if aa > 0.0 && bb > 0.0 => ab / (aa * bb).sqrt(),
            _ => f64::NAN,
        });
    }
    out.finish()
}

/// Some values of a window, put together without a subtraction.
#[derive(Clone, Copy)]
struct Part {
    count: f64,
    sum: f64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Part {
    const NONE: Part =
        Part { count: 0.0, sum: 0.0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };

    fn one(value: f64) -> Part {
        // The distance of a value from itself: NaN if it is not finite.
        let squares = if value.is_finite() { 0.0 } else { f64::NAN };
        Part { count: 1.0, sum: value, mean: value, squares, min: value, max: value }
    }

    /// Mean and squares by Chan, Golub and LeVeque (1979). NaN is the least and the greatest, as in Polars' windows.
    fn join(self, after: Part) -> Part {
        if self.count == 0.0 {
            return after;
        }
        if after.count == 0.0 {
            return self;
        }
        let count = self.count + after.count;
        let apart = after.mean - self.mean;
        let either = |a: f64, b: f64, best: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { best };
        Part {
            count,
            sum: self.sum + after.sum,
            mean: self.mean + apart * after.count / count,
            squares: self.squares + after.squares + apart * apart * self.count * after.count / count,
            min: either(self.min, after.min, self.min.min(after.min)),
            max: either(self.max, after.max, self.max.max(after.max)),
        }
    }
}

/// A queue that knows what all of it is together: two stacks, of which each place knows what lies above it.
#[derive(Default)]
struct Queue {
    front: Vec<Part>,
    back: Vec<Part>,
    whole_back: Option<Part>,
}

impl Queue {
    fn push(&mut self, part: Part) {
        self.whole_back = Some(self.whole_back.map_or(part, |whole| whole.join(part)));
        self.back.push(part);
    }

    fn pop(&mut self) {
        if self.front.is_empty() {
            while let Some(part) = self.back.pop() {
                let whole = self.front.last().map_or(part, |after| part.join(*after));
                self.front.push(whole);
            }
            self.whole_back = None;
        }
        self.front.pop();
    }

    fn whole(&self) -> Part {
        let front = self.front.last().copied().unwrap_or(Part::NONE);
        front.join(self.whole_back.unwrap_or(Part::NONE))
    }
}

fn by_time(
    values: &Float64Array,
    times: &Int64Array,
    statistic: Statistic,
    reach: Reach,
    closed: ClosedEnds,
    least: u64,
) -> Float64Array {
    let rows = values.len();
    let mut out = Float64Builder::with_capacity(rows);
    let (mut queue, mut sorted) = (Queue::default(), Vec::<f64>::new());
    // Rows without a time come first, and have no window.
    let without = times.null_count();
    (0..without).for_each(|_| out.append_null());
    let (mut first, mut end) = (without, without);
    for row in without..rows {
        let at = times.value(row);
        let from = reach.before(at);
        while end < rows && (times.value(end) < at || closed.right && times.value(end) == at) {
            if values.is_valid(end) {
                let value = values.value(end);
                match statistic {
                    Statistic::Quantile(..) => {
                        let place = sorted.partition_point(|other| other.total_cmp(&value).is_lt());
                        sorted.insert(place, value);
                    }
                    _ => queue.push(Part::one(value)),
                }
            }
            end += 1;
        }
        while first < end && (times.value(first) < from || !closed.left && times.value(first) == from) {
            if values.is_valid(first) {
                let value = values.value(first);
                match statistic {
                    Statistic::Quantile(..) => {
                        sorted.remove(sorted.partition_point(|other| other.total_cmp(&value).is_lt()));
                    }
                    _ => queue.pop(),
                }
            }
            first += 1;
        }
        let whole = queue.whole();
        let (count, result) = match statistic {
            Statistic::Quantile(q, how) => (sorted.len() as u64, of_sorted(&sorted, q.get(), how)),
            Statistic::Sum => (whole.count as u64, Some(whole.sum)),
            Statistic::Mean => (whole.count as u64, (whole.count > 0.0).then_some(whole.sum / whole.count)),
            Statistic::Min => (whole.count as u64, (whole.count > 0.0).then_some(whole.min)),
            Statistic::Max => (whole.count as u64, (whole.count > 0.0).then_some(whole.max)),
            Statistic::Var | Statistic::Std => {
                let variance = (whole.count > 1.0).then(|| whole.squares / (whole.count - 1.0));
                let root = statistic == Statistic::Std;
                (whole.count as u64, variance.map(|v| if root { v.sqrt() } else { v }))
            }
        };
        // Polars' sum of no values is 0 even if a value is asked for.
        let is_empty_sum = statistic == Statistic::Sum && count == 0 && least <= 1;
        out.append_option(result.filter(|_| count >= least || is_empty_sum));
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition of a window: each one computed from its rows.
    #[test]
    fn a_queue_knows_its_whole() {
        let mut queue = Queue::default();
        let (mut from, mut to) = (0, 0);
        for step in 0..200 {
            if step % 3 != 2 {
                queue.push(Part::one(f64::from(to)));
                to += 1;
            } else {
                queue.pop();
                from += 1;
            }
            let whole = queue.whole();
            assert_eq!(whole.sum, f64::from((from..to).sum::<i32>()));
            assert_eq!((whole.min, whole.max), (f64::from(from), f64::from(to - 1)));
        }
    }
}
