//! Sums over rows in a fixed order: the same bits on any number of threads.

use rayon::prelude::*;

/// Rows of a chunk. The results of chunks are added in their order.
pub const CHUNK: usize = 4096;

/// Calls `work` for each chunk of rows on all threads, and merges the results in the order of the chunks. `None` if
/// there are no rows.
pub fn over_rows<S: Send>(
    rows: usize,
    work: impl Fn(std::ops::Range<usize>) -> S + Sync,
    merge: impl FnMut(S, S) -> S,
) -> Option<S> {
    let chunks = rows.div_ceil(CHUNK);
    let parts: Vec<S> = (0..chunks).into_par_iter().map(|c| work(c * CHUNK..rows.min((c + 1) * CHUNK))).collect();
    parts.into_iter().reduce(merge)
}

/// The sum of products, in the order of the values.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Eight sums side by side, so that the compiler can use wide registers.
    let mut sums = [0.0f64; 8];
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    for (x, y) in a8.iter().zip(b8) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

/// The sum of values. Eight sums side by side: one sum would wait for each addition.
#[inline]
fn sum(values: &[f64]) -> f64 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    eights.iter().for_each(|eight| sums.iter_mut().zip(eight).for_each(|(s, v)| *s += v));
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

/// Mean of values under weights. NaN if the weights sum to 0.
pub fn mean(values: &[f64], weight: Option<&[f64]>) -> f64 {
    let sums = over_rows(
        values.len(),
        |rows| match weight {
            Some(weight) => (dot(&values[rows.clone()], &weight[rows.clone()]), weight[rows].iter().sum::<f64>()),
            None => (sum(&values[rows.clone()]), rows.len() as f64),
        },
        |a, b| (a.0 + b.0, a.1 + b.1),
    );
    sums.map_or(f64::NAN, |(sum, weight)| sum / weight)
}

/// The sum of contiguous values in numpy's order (`pairwise_sum` of `numpy/_core/src/umath/loops_utils.h.src`), for
/// results that ties decide.
pub(crate) fn numpy_sum(values: &[f64]) -> f64 {
    const BLOCK: usize = 128;
    let n = values.len();
    if n < 8 {
        return values.iter().sum();
    }
    if n > BLOCK {
        let half = n / 2 - (n / 2) % 8;
        return numpy_sum(&values[..half]) + numpy_sum(&values[half..]);
    }
    let mut lanes = [0.0; 8];
    let (eights, rest) = values.as_chunks::<8>();
    for (k, eight) in eights.iter().enumerate() {
        lanes.iter_mut().zip(eight).for_each(|(lane, v)| *lane = if k == 0 { *v } else { *lane + v });
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    rest.iter().fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, v| sum + v)
}
