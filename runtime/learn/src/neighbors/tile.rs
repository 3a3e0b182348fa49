//! Dot products of rows with many other rows: the register-blocked kernel that k-means and the search for neighbours
//! share.
//!
//! A product is a chain of fused multiply-adds in the order of the features, whatever the width of the registers. The
//! bits are the same on each processor and on any number of threads. The crate `pulp` chooses the instructions at run
//! time.

use rayon::prelude::*;

/// Rows of a panel.
pub const LANES: usize = 8;

/// Rows that are multiplied with a panel at once. 4 x 8 sums, 8 features and 4 values fit the 16 registers of AVX2.
pub const BLOCK: usize = 4;

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
            let of = |lane: usize| {
                let row = panel * LANES + lane;
                &points[row * width..(row + 1) * width]
            };
            let (features, _) = out.as_chunks_mut::<LANES>();
            if rows - panel * LANES >= LANES {
                // Eight rows at once: their values are written side by side.
                let lanes: [&[f64]; LANES] = std::array::from_fn(of);
                for (j, feature) in features.iter_mut().enumerate() {
                    for lane in 0..LANES {
                        feature[lane] = lanes[lane][j];
                    }
                }
                return;
            }
            for lane in 0..rows - panel * LANES {
                features.iter_mut().zip(of(lane)).for_each(|(feature, value)| feature[lane] = *value);
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

/// `(x - shift)' (x - shift)` for the columns of `x`: a symmetric matrix, of which each half is computed once.
pub fn gram(columns: &[&[f64]], shift: &[f64]) -> Vec<f64> {
    let width = columns.len();
    let rows = columns.first().map_or(0, |c| c.len());
    let mut panels = vec![[0.0; LANES]; width.div_ceil(LANES) * rows];
    for (panel, out) in panels.chunks_exact_mut(rows.max(1)).enumerate() {
        // Columns that fill up the last panel are copies, whose products nobody reads.
        let of = |lane: usize| (panel * LANES + lane).min(width - 1);
        let lanes: [&[f64]; LANES] = std::array::from_fn(|lane| &columns[of(lane)][..rows]);
        let shifts: [f64; LANES] = std::array::from_fn(|lane| shift[of(lane)]);
        for (row, out) in out.iter_mut().enumerate() {
            for lane in 0..LANES {
                out[lane] = lanes[lane][row] - shifts[lane];
            }
        }
    }
    let mut out = vec![0.0; width * width];
    if rows > 0 {
        pulp::Arch::new().dispatch(Gram { panels: &panels, rows, width, out: &mut out });
    }
    for row in 0..width {
        for column in 0..row {
            out[row * width + column] = out[column * width + row];
        }
    }
    out
}

/// The upper half of the products of all pairs of columns.
struct Gram<'a> {
    /// Panel after panel the values of eight columns side by side.
    panels: &'a [[f64; LANES]],
    rows: usize,
    width: usize,
    out: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Gram<'_> {
    type Output = ();

    // Inlined into the code for each set of instructions: a call would leave it.
    #[inline(always)]
    fn call(self) {
        let Gram { panels, rows, width, out } = self;
        let panel = |number: usize| &panels[number * rows..(number + 1) * rows];
        for a in 0..width.div_ceil(LANES) {
            for b in a..width.div_ceil(LANES) {
                let halves = [half::<0>(panel(a), panel(b)), half::<BLOCK>(panel(a), panel(b))];
                for (r, sums) in halves.iter().flatten().enumerate().take(width - a * LANES) {
                    let start = (a * LANES + r) * width;
                    let out = &mut out[start + b * LANES..start + width.min((b + 1) * LANES)];
                    out.iter_mut().zip(sums).for_each(|(out, sum)| *out = *sum);
                }
            }
        }
    }
}

/// The products of the columns from `FIRST` on of a panel with all columns of another one.
#[inline(always)]
fn half<const FIRST: usize>(a: &[[f64; LANES]], b: &[[f64; LANES]]) -> [[f64; LANES]; BLOCK] {
    let mut sums = [[0.0; LANES]; BLOCK];
    for (a, b) in a.iter().zip(b) {
        for r in 0..BLOCK {
            for lane in 0..LANES {
                sums[r][lane] = a[FIRST + r].mul_add(b[lane], sums[r][lane]);
            }
        }
    }
    sums
}

/// The sum of squares of a row.
#[inline]
pub fn square(row: &[f64]) -> f64 {
    crate::sums::dot(row, row)
}

/// The squared distance of two rows. Eight sums side by side: one sum would wait for each addition.
#[inline]
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    let (a_eights, a_rest) = a.as_chunks::<LANES>();
    let (b_eights, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a_eights.iter().zip(b_eights) {
        for lane in 0..LANES {
            sums[lane] += (a[lane] - b[lane]) * (a[lane] - b[lane]);
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(x, y)| (x - y) * (x - y)).sum::<f64>()
}

/// A bound of the error of `|a|^2 + |b|^2 - 2 a b`, relative to `|a|^2 + |b|^2`: the sums have `width` terms.
pub fn relative_error(width: usize) -> f64 {
    4.0 * (width as f64 + 4.0) * f64::EPSILON
}
