//! Dot products of rows with many other rows: the register-blocked kernel that k-means and the search for neighbours
//! share.
//!
//! A product is a chain of fused multiply-adds in the order of the features, whatever the width of the registers: the
//! bits are the same on each processor and on any number of threads. pulp chooses the instructions at run time.

use rayon::prelude::*;

use crate::data::Data;

/// Rows of a panel.
pub const LANES: usize = 8;

/// Rows that are multiplied with a panel at once. 6 x 8 sums fit the 16 registers of AVX2.
pub const BLOCK: usize = 6;

/// Rows of data, packed so that the same feature of eight rows lies side by side.
pub struct Panels {
    /// Number of rows. The last panel is filled up with zeros.
    pub rows: usize,
    pub width: usize,
    /// Panel after panel: `width` x `LANES` values.
    data: Vec<f64>,
}

impl Panels {
    /// Packs a row-major matrix of `width` columns.
    pub fn new(points: &[f64], width: usize) -> Self {
        let rows = points.len() / width;
        let mut data = vec![0.0; rows.div_ceil(LANES) * width * LANES];
        data.par_chunks_mut(width * LANES).enumerate().for_each(|(panel, out)| {
            for lane in 0..LANES.min(rows - panel * LANES) {
                let row = panel * LANES + lane;
                for (j, value) in points[row * width..(row + 1) * width].iter().enumerate() {
                    out[j * LANES + lane] = *value;
                }
            }
        });
        Panels { rows, width, data }
    }

    pub fn count(&self) -> usize {
        self.rows.div_ceil(LANES)
    }

    #[inline(always)]
    pub fn panel(&self, panel: usize) -> &[f64] {
        &self.data[panel * self.width * LANES..(panel + 1) * self.width * LANES]
    }
}

/// The products of `BLOCK` rows with the rows of a panel. Call it from a `pulp::NullaryFnOnce` whose functions are all
/// inlined: only there it is compiled for wide registers.
#[inline(always)]
pub fn products(rows: &[&[f64]; BLOCK], panel: &[f64]) -> [[f64; LANES]; BLOCK] {
    let (features, _) = panel.as_chunks::<LANES>();
    let rows: [&[f64]; BLOCK] = std::array::from_fn(|r| &rows[r][..features.len()]);
    let mut sums = [[0.0; LANES]; BLOCK];
    for (j, feature) in features.iter().enumerate() {
        for r in 0..BLOCK {
            let x = rows[r][j];
            for lane in 0..LANES {
                sums[r][lane] = x.mul_add(feature[lane], sums[r][lane]);
            }
        }
    }
    sums
}

/// The features row after row. Column by column in blocks of rows that fit the cache, on all threads.
pub fn row_major(data: &Data) -> Vec<f64> {
    shifted(data, &vec![0.0; data.width()])
}

/// The features minus `shift`, row after row.
pub fn shifted(data: &Data, shift: &[f64]) -> Vec<f64> {
    const ROWS: usize = 64;
    let width = data.width();
    let mut out = vec![0.0; data.rows * width];
    out.par_chunks_mut(ROWS * width.max(1)).enumerate().for_each(|(block, out)| {
        let first = block * ROWS;
        for (j, column) in data.features.iter().enumerate() {
            let values = &column.values[first..(first + ROWS).min(data.rows)];
            for (i, value) in values.iter().enumerate() {
                out[i * width + j] = value - shift[j];
            }
        }
    });
    out
}

/// The mean of each feature.
pub fn means(data: &Data) -> Vec<f64> {
    data.features.par_iter().map(|c| mean(&c.values)).collect()
}

/// The mean of values. Eight sums side by side in each chunk: one sum would wait for each addition.
pub fn mean(values: &[f64]) -> f64 {
    let chunk = |rows: std::ops::Range<usize>| {
        let (eights, rest) = values[rows].as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        eights.iter().for_each(|eight| sums.iter_mut().zip(eight).for_each(|(s, v)| *s += v));
        sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
    };
    crate::sums::over_rows(values.len(), chunk, |a, b| a + b).map_or(f64::NAN, |sum| sum / values.len() as f64)
}

/// The products of all pairs of rows of a row-major matrix of `width` columns: a symmetric matrix, of which each half
/// is computed once.
pub fn pairs(points: &[f64], width: usize) -> Vec<f64> {
    let panels = Panels::new(points, width);
    let mut out = vec![0.0; panels.rows * panels.rows];
    pulp::Arch::new().dispatch(Pairs { points, panels: &panels, out: &mut out });
    for row in 0..panels.rows {
        for column in 0..row {
            out[row * panels.rows + column] = out[column * panels.rows + row];
        }
    }
    out
}

/// The upper half of the products of all pairs.
struct Pairs<'a> {
    points: &'a [f64],
    panels: &'a Panels,
    out: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Pairs<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (rows, width) = (self.panels.rows, self.panels.width);
        for first in (0..rows).step_by(BLOCK) {
            let row = |r: usize| (first + r).min(rows - 1);
            let block: [&[f64]; BLOCK] = std::array::from_fn(|r| &self.points[row(r) * width..(row(r) + 1) * width]);
            for panel in first / LANES..self.panels.count() {
                let found = products(&block, self.panels.panel(panel));
                for (r, found) in found.iter().enumerate().take(rows - first) {
                    let end = rows.min((panel + 1) * LANES);
                    let out = &mut self.out[(first + r) * rows + panel * LANES..(first + r) * rows + end];
                    out.iter_mut().zip(found).for_each(|(out, value)| *out = *value);
                }
            }
        }
    }
}

/// The sum of squares of a row.
#[inline]
pub fn square(row: &[f64]) -> f64 {
    row.iter().map(|v| v * v).sum()
}

/// The squared distance of two rows.
#[inline]
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

/// A bound of the error of `|a|^2 + |b|^2 - 2 a b`, relative to `|a|^2 + |b|^2`: the sums have `width` terms.
pub fn relative_error(width: usize) -> f64 {
    4.0 * (width as f64 + 4.0) * f64::EPSILON
}
