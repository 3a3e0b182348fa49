//! Quantiles of a column: exact if a copy of the column is cheap, else from a fine histogram.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::ArrowPrimitiveType;
use onrush_frame::TaskHandle;
use onrush_wire::Diagnostic;
use onrush_wire::explore::SummaryRequest;

use super::{Moments, Number, each_value};

/// Columns with more values are counted and not copied.
const COPIED: u64 = 2_000_000;
/// Counts between the least and the largest finite value.
const COUNTS: usize = 1 << 16;

pub enum QuantileEstimate<T> {
    /// Two values that are next to each other, and how far from the first one on.
    Between(T, T, f64),
    About(f64),
}

impl<T> QuantileEstimate<T> {
    pub fn is_exact(&self) -> bool {
        matches!(self, QuantileEstimate::Between(..))
    }
}

impl QuantileEstimate<f64> {
    pub fn between(self, mix: impl Fn(f64, f64, f64) -> f64) -> f64 {
        match self {
            // Infinities have no mean.
            QuantileEstimate::Between(low, high, part) if low == high || part == 0.0 => low,
            QuantileEstimate::Between(low, high, part) => mix(low, high, part),
            QuantileEstimate::About(x) => x,
        }
    }
}

/// The quantiles that were asked for, and the median after them. Nothing of a column without values.
pub fn of<P: ArrowPrimitiveType>(
    chunks: &[ArrayRef],
    prepare: impl Fn(&ArrayRef) -> Result<ArrayRef, Diagnostic>,
    moments: &Moments<P::Native>,
    request: &SummaryRequest,
    task: &TaskHandle,
) -> Result<Vec<QuantileEstimate<P::Native>>, Diagnostic>
where
    P::Native: Number,
{
    let copied = moments.count <= COPIED;
    let median = if request.median && copied { Some(0.5) } else { None };
    let wanted: Vec<f64> = request.quantiles.iter().copied().chain(median).map(|q| q.clamp(0.0, 1.0)).collect();
    if wanted.is_empty() || moments.count == 0 {
        return Ok(Vec::new());
    }
    let place = |q: f64| q * (moments.count - 1) as f64;
    if copied {
        let mut values: Vec<P::Native> = Vec::with_capacity(moments.count as usize);
        for chunk in chunks {
            task.check()?;
            let prepared = prepare(chunk)?;
            let array = prepared.as_primitive::<P>();
            each_value(array.values(), array.nulls(), |_, x| {
                if !x.is_nan() {
                    values.push(x);
                }
            });
        }
        let compare = |a: &P::Native, b: &P::Native| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal);
        let found = wanted.into_iter().map(|q| {
            let (at, part) = (place(q).floor() as usize, place(q).fract());
            let (_, low, above) = values.select_nth_unstable_by(at, compare);
            let low = *low;
            let high = if part > 0.0 { above.iter().copied().min_by(compare) } else { None };
            QuantileEstimate::Between(low, high.unwrap_or(low), part)
        });
        return Ok(found.collect());
    }
    let Some((least, most)) = moments.finite.map(|(least, most)| (least.float(), most.float())) else {
        return Ok(Vec::new());
    };
    let width = (most / COUNTS as f64 - least / COUNTS as f64).max(f64::MIN_POSITIVE);
    let mut counts = vec![0u64; COUNTS];
    let (mut below, mut counted) = (0u64, 0u64);
    for chunk in chunks {
        task.check()?;
        let prepared = prepare(chunk)?;
        let array = prepared.as_primitive::<P>();
        each_value(array.values(), array.nulls(), |_, x| {
            let x = x.float();
            if x.is_finite() {
                counts[(((x - least) / width) as usize).min(COUNTS - 1)] += 1;
                counted += 1;
            } else if x < 0.0 {
                below += 1;
            }
        });
    }
    let found = wanted.into_iter().map(|q| {
        let mut left = place(q) - below as f64;
        if left < 0.0 || left > counted as f64 {
            return QuantileEstimate::About(if left < 0.0 { f64::NEG_INFINITY } else { f64::INFINITY });
        }
        for (bar, count) in counts.iter().enumerate() {
            if left < *count as f64 {
                // As if the values of a bar lay evenly in it.
                return QuantileEstimate::About(
                    (least + width * (bar as f64 + (left + 0.5) / *count as f64)).clamp(least, most),
                );
            }
            left -= *count as f64;
        }
        QuantileEstimate::About(most)
    });
    Ok(found.collect())
}
