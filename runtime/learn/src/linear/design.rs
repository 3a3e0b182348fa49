//! The columns of a linear model in blocks of rows: centred, scaled by powers of two, and their sums of products.
//!
//! Scaling by a power of two is exact, so it changes no result; it keeps squares of huge and tiny values in range.

use std::ops::Range;

use onrush_dense as dense;
use onrush_dense::Matrix;
use rayon::prelude::*;

use crate::data::Data;
use crate::device::{self, DeviceRows};
use crate::error::{Error, ErrorKind};
use crate::run::Run;
use crate::sums::dot;

/// Rows that are copied into a block at once: it stays in the second-level cache.
pub const BLOCK: usize = 512;

/// Columns, weights of rows and the order of rows.
pub struct Design<'a> {
    pub columns: Vec<&'a [f64]>,
    pub weight: Option<&'a [f64]>,
    /// The rows that are used, in ascending order. `None`: all.
    pub pick: Option<&'a [usize]>,
    pub rows: usize,
    /// The shift of each column.
    pub mean: Vec<f64>,
    /// The factor of each centred column: a power of two.
    pub scale: Vec<f64>,
    /// Columns of one value, or without an intercept of zeros.
    pub constant: Vec<bool>,
    /// The sum of the weights.
    pub total: f64,
    /// Rows of a weight above 0.
    pub used: usize,
    /// The device with the values, if the columns have none.
    pub device: Option<&'a DeviceRows>,
    /// The positions of the columns on the device: features, then the target.
    pub places: Vec<usize>,
    /// The number of all features of the device.
    pub features: usize,
}

impl<'a> Design<'a> {
    /// # Errors
    /// If all weights are 0 or their sum is infinite.
    pub fn new(
        columns: Vec<&'a [f64]>,
        weight: Option<&'a [f64]>,
        pick: Option<&'a [usize]>,
        centre: bool,
    ) -> Result<Self, Error> {
        let rows = pick.map_or_else(|| columns.first().map_or(0, |c| c.len()), <[usize]>::len);
        let weight_at = |i: usize| weight.map_or(1.0, |w| w[pick.map_or(i, |p| p[i])]);
        let total: f64 = (0..rows).map(weight_at).sum();
        let used = (0..rows).filter(|i| weight_at(*i) > 0.0).count();
        if used == 0 {
            return Err(Error::new(
                ErrorKind::Weight,
                "the sample weights are all 0: at least one row must have a weight above 0",
            ));
        }
        if !total.is_finite() {
            return Err(
                Error::new(ErrorKind::Weight, "the sum of the sample weights is infinite").help("divide the weights")
            );
        }
        let found: Vec<(f64, f64, bool)> =
            columns.par_iter().map(|column| statistics(column, rows, pick, weight, total, centre)).collect();
        Ok(Design {
            columns,
            weight,
            pick,
            rows,
            mean: found.iter().map(|f| f.0).collect(),
            scale: found.iter().map(|f| f.1).collect(),
            constant: found.iter().map(|f| f.2).collect(),
            total,
            used,
            device: None,
            places: Vec::new(),
            features: 0,
        })
    }

    /// The features of `data` and its target as the last column.
    ///
    /// # Errors
    /// As [`Design::new`].
    pub fn of(data: &'a Data, centre: bool) -> Result<Self, Error> {
        if let Some(device) = &data.device {
            return Design::on_device(device, data, centre, data.width() + 1);
        }
        let mut columns: Vec<&[f64]> = data.features.iter().map(|c| c.values.as_slice()).collect();
        columns.push(&data.y);
        Design::new(columns, data.weight.as_deref(), None, centre)
    }

    /// The first `count` of the features and the target of a device.
    ///
    /// # Errors
    /// If a value is not finite, or the device fails.
    pub fn on_device(device: &'a DeviceRows, data: &Data, centre: bool, count: usize) -> Result<Self, Error> {
        let found = device::statistics(device)?;
        let mut design = Design {
            columns: vec![&[]; count],
            weight: None,
            pick: None,
            rows: data.rows,
            mean: Vec::new(),
            scale: Vec::new(),
            constant: Vec::new(),
            total: data.rows as f64,
            used: data.rows,
            device: Some(device),
            places: (0..count).collect(),
            features: data.width(),
        };
        for column in &found[..count] {
            let mean = if centre { device::mean(column, data.rows) } else { 0.0 };
            let reach = (column.high - mean).abs().max((column.low - mean).abs());
            design.mean.push(mean);
            design.scale.push(if reach > 0.0 { power_of_two(reach) } else { 1.0 });
            design.constant.push(reach <= 0.0);
        }
        Ok(design)
    }

    /// # Errors
    /// If the values are on a device, and must be read by the host.
    pub fn on_host(&self) -> Result<(), Error> {
        match self.device {
            None => Ok(()),
            Some(_) => Err(Error::host_needed("the columns depend on each other")),
        }
    }

    /// The same with only these columns.
    pub fn with(&self, columns: &[usize]) -> Design<'a> {
        Design {
            columns: columns.iter().map(|j| self.columns[*j]).collect(),
            mean: columns.iter().map(|j| self.mean[*j]).collect(),
            scale: columns.iter().map(|j| self.scale[*j]).collect(),
            constant: columns.iter().map(|j| self.constant[*j]).collect(),
            places: columns.iter().filter_map(|j| self.places.get(*j).copied()).collect(),
            ..*self
        }
    }

    /// The same rows and columns in other rows.
    pub fn on(&self, pick: &'a [usize]) -> Design<'a> {
        Design {
            columns: self.columns.clone(),
            mean: self.mean.clone(),
            scale: self.scale.clone(),
            constant: self.constant.clone(),
            places: self.places.clone(),
            pick: Some(pick),
            rows: pick.len(),
            ..*self
        }
    }

    pub fn row(&self, position: usize) -> usize {
        self.pick.map_or(position, |p| p[position])
    }

    pub fn weight_at(&self, position: usize) -> f64 {
        self.weight.map_or(1.0, |w| w[self.row(position)])
    }

    /// The rows of the data at these positions, if they lie side by side.
    pub fn run(&self, rows: &Range<usize>) -> Option<Range<usize>> {
        let Some(pick) = self.pick else { return Some(rows.clone()) };
        let (first, last) = (*pick.get(rows.start)?, *pick.get(rows.end.checked_sub(1)?)?);
        (last - first + 1 == rows.len()).then_some(first..last + 1)
    }

    /// Writes the centred and scaled columns of these rows, column after column.
    pub fn fill(&self, rows: Range<usize>, out: &mut [f64]) {
        let len = rows.len();
        let run = self.run(&rows);
        for (j, out) in out.chunks_exact_mut(len.max(1)).take(self.columns.len()).enumerate() {
            let (mean, scale) = (self.mean[j], self.scale[j]);
            let values = self.columns[j];
            match (&run, self.pick) {
                (Some(run), _) => {
                    out.iter_mut().zip(&values[run.clone()]).for_each(|(o, x)| *o = (x - mean) * scale);
                }
                (None, Some(pick)) => {
                    let rows = pick[rows.clone()].iter();
                    out.iter_mut().zip(rows).for_each(|(o, i)| *o = (values[*i] - mean) * scale);
                }
                (None, None) => {}
            }
        }
    }

    /// The square roots of the weights of these rows. `None` if all weigh 1.
    fn roots(&self, rows: Range<usize>) -> Option<Vec<f64>> {
        self.weight?;
        Some(rows.map(|i| self.weight_at(i).sqrt()).collect())
    }

    /// [`Design::fill`] with rows multiplied by the square roots of their weights, as a matrix, with the roots as a
    /// last column if `ones` says so.
    pub fn block(&self, rows: Range<usize>, ones: bool) -> Matrix {
        let mut block = Matrix::zeros(0, 0);
        self.block_into(rows, ones, &mut block);
        block
    }

    /// [`Design::block`] in the memory of another block.
    pub fn block_into(&self, rows: Range<usize>, ones: bool, block: &mut Matrix) {
        let (len, width) = (rows.len(), self.columns.len());
        shape(block, len, width + usize::from(ones));
        self.fill(rows.clone(), &mut block.data);
        let roots = self.roots(rows);
        if let Some(roots) = &roots {
            for column in block.data.chunks_exact_mut(len).take(width) {
                // A row of weight 0 may hold anything, also what overflows when it is scaled.
                column.iter_mut().zip(roots).for_each(|(x, r)| *x = if *r > 0.0 { *x * r } else { 0.0 });
            }
        }
        if ones {
            match roots {
                Some(roots) => block.column_mut(width).copy_from_slice(&roots),
                None => block.column_mut(width).fill(1.0),
            }
        }
    }

    /// Sums of products of the columns and of a column of ones, under weights: (columns + 1) squared.
    ///
    /// # Errors
    /// If the user stops the work.
    pub fn products(&self, run: &Run<'_>) -> Result<Matrix, Error> {
        if let Some(device) = self.device {
            run.check(|| "the products of columns".to_string())?;
            return device::products(device, self.features, &self.places, &self.mean, &self.scale);
        }
        let width = self.columns.len() + 1;
        let work = |rows: Range<usize>| {
            let mut sum = Matrix::zeros(width, width);
            let mut block = Matrix::zeros(0, 0);
            for range in blocks(rows) {
                self.block_into(range, true, &mut block);
                dense::add_gram(&mut sum, &block);
            }
            sum
        };
        let mut sum = sum_chunks(run, self.rows, width * width, work, |sum, other| add(&mut sum.data, &other.data))?;
        mirror(&mut sum);
        Ok(sum)
    }
}

/// The mean of a column under weights (0 unless `centre`), the factor, and whether all centred values are 0. The factor
/// is a power of two that brings the centred values to about 1. Rows of weight 0 do not count.
fn statistics(
    column: &[f64],
    rows: usize,
    pick: Option<&[usize]>,
    weight: Option<&[f64]>,
    total: f64,
    centre: bool,
) -> (f64, f64, bool) {
    let row = |i: usize| pick.map_or(i, |p| p[i]);
    // Weights of a block, 1 for all if there are none.
    let mut weights = [1.0; BLOCK];
    let mut values = [0.0; BLOCK];
    let mut pass = |take: &mut dyn FnMut(&[f64], &[f64])| {
        for block in blocks(0..rows) {
            let len = block.len();
            if let Some(weight) = weight {
                weights[..len].iter_mut().zip(block.clone()).for_each(|(w, i)| *w = weight[row(i)]);
            }
            match pick {
                None => take(&column[block], &weights[..len]),
                Some(pick) => {
                    values[..len].iter_mut().zip(&pick[block]).for_each(|(v, i)| *v = column[*i]);
                    take(&values[..len], &weights[..len]);
                }
            }
        }
    };
    let (mut low, mut high) = ([f64::INFINITY; 8], [f64::NEG_INFINITY; 8]);
    pass(&mut |values, weights| {
        for (values, weights) in values.chunks(8).zip(weights.chunks(8)) {
            if let (Ok(values), None) = (<&[f64; 8]>::try_from(values), weight) {
                for k in 0..8 {
                    low[k] = if values[k] < low[k] { values[k] } else { low[k] };
                    high[k] = if values[k] > high[k] { values[k] } else { high[k] };
                }
                continue;
            }
            for (k, (v, w)) in values.iter().zip(weights).enumerate() {
                low[k] = if *v < low[k] && *w > 0.0 { *v } else { low[k] };
                high[k] = if *v > high[k] && *w > 0.0 { *v } else { high[k] };
            }
        }
    });
    let (low, high) =
        (low.iter().copied().fold(f64::INFINITY, f64::min), high.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    let mean = match centre {
        false => 0.0,
        true if low == high => low,
        true => {
            // Sums of blocks keep the rounding small; the common factor keeps huge values finite.
            let share = power_of_two(low.abs().max(high.abs()));
            let mut sum = 0.0;
            pass(&mut |values, weights| sum += dot_scaled(values, weights, share));
            let mean = sum / total / share;
            if mean.is_finite() { mean.clamp(low, high) } else { 0.5 * low + 0.5 * high }
        }
    };
    let reach = (high - mean).abs().max((low - mean).abs());
    match reach > 0.0 {
        true => (mean, power_of_two(reach), false),
        false => (mean, 1.0, true),
    }
}

/// The sum of `values * weights * share`, in eight sums.
fn dot_scaled(values: &[f64], weights: &[f64], share: f64) -> f64 {
    let mut sums = [0.0; 8];
    let ((values, values_rest), (weights, weights_rest)) = (values.as_chunks::<8>(), weights.as_chunks::<8>());
    for (v, w) in values.iter().zip(weights) {
        for k in 0..8 {
            sums[k] += v[k] * share * w[k];
        }
    }
    let rest: f64 = values_rest.iter().zip(weights_rest).map(|(v, w)| v * share * w).sum();
    sums.iter().sum::<f64>() + rest
}

/// A power of two which times `size` is about 1. 1 for zero, infinity and NaN.
pub fn power_of_two(size: f64) -> f64 {
    match size.is_finite() && size > 0.0 {
        true => (-size.log2().round()).clamp(-1000.0, 1000.0).exp2(),
        false => 1.0,
    }
}

/// Gives a matrix another shape. Its values are those of other rows until they are written.
pub fn shape(matrix: &mut Matrix, rows: usize, columns: usize) {
    (matrix.rows, matrix.columns) = (rows, columns);
    matrix.data.resize(rows * columns, 0.0);
}

/// Copies the lower triangle of a square matrix to the upper one.
pub fn mirror(matrix: &mut Matrix) {
    for j in 0..matrix.columns {
        for i in 0..j {
            matrix.set(i, j, matrix.at(j, i));
        }
    }
}

/// The blocks of a chunk of rows.
pub fn blocks(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(BLOCK).map(move |start| start..end.min(start + BLOCK))
}

/// Divides each entry of a square matrix by the norms of its row and of its column.
pub fn divide_by_norms(matrix: &mut Matrix, norm: &[f64]) {
    for j in 0..norm.len() {
        matrix.column_mut(j).iter_mut().zip(norm).for_each(|(v, n)| *v /= n * norm[j]);
    }
}

/// Solves `l l' x = b` in place for a lower triangle `l`: forward and back substitution.
pub fn substitute(l: &Matrix, x: &mut [f64]) {
    for j in 0..x.len() {
        x[j] /= l.at(j, j);
        let value = x[j];
        x[j + 1..].iter_mut().zip(&l.column(j)[j + 1..]).for_each(|(x, l)| *x -= l * value);
    }
    for j in (0..x.len()).rev() {
        x[j] = (x[j] - dot(&l.column(j)[j + 1..], &x[j + 1..])) / l.at(j, j);
    }
}

pub fn add(sum: &mut [f64], other: &[f64]) {
    sum.iter_mut().zip(other).for_each(|(a, b)| *a += b);
}

/// Calls `work` for chunks of rows on all threads and merges the results in the order of the chunks. The chunks depend
/// on the number of rows and on `state`, the numbers that a result holds. The results of all chunks take about 256 MB,
/// or the size of two results if that is more.
///
/// # Errors
/// If the user stops the work.
pub fn sum_chunks<S: Send>(
    run: &Run<'_>,
    rows: usize,
    state: usize,
    work: impl Fn(Range<usize>) -> S + Sync,
    mut merge: impl FnMut(&mut S, S),
) -> Result<S, Error> {
    let most = ((1usize << 25) / state.max(1)).clamp(2, 64);
    let size = rows.div_ceil(most).next_multiple_of(BLOCK).max(4 * BLOCK);
    let chunks = rows.div_ceil(size).max(1);
    let results: Vec<Option<S>> = (0..chunks)
        .into_par_iter()
        .map(|c| (!(run.is_stopped)()).then(|| work(c * size..rows.min((c + 1) * size))))
        .collect();
    let mut sum: Option<S> = None;
    for result in results {
        let Some(result) = result else {
            return Err(Error::stopped("stopped in a pass over the rows"));
        };
        match &mut sum {
            Some(sum) => merge(sum, result),
            None => sum = Some(result),
        }
    }
    sum.ok_or_else(|| Error::new(ErrorKind::NoRows, "there are no rows"))
}

/// Centred sums of products of features and target, in units of the scaled columns.
pub struct Gram {
    /// Features x features.
    pub g: Matrix,
    /// Features with the target.
    pub q: Vec<f64>,
    /// The target with itself.
    pub yy: f64,
    /// Means in the units of the data, the target's last.
    pub mean: Vec<f64>,
    /// Powers of two, the target's last.
    pub scale: Vec<f64>,
    /// The sum of the weights.
    pub total: f64,
}

impl Gram {
    /// From [`Design::products`]. The rounding error of the means is corrected.
    pub fn new(products: &Matrix, mean: &[f64], scale: &[f64], centre: bool) -> Gram {
        let d = mean.len() - 1;
        let total = products.at(d + 1, d + 1);
        let shift: Vec<f64> = match centre && total > 0.0 {
            true => (0..=d).map(|j| products.at(j, d + 1) / total).collect(),
            false => vec![0.0; d + 1],
        };
        let entry = |i: usize, j: usize| products.at(i, j) - total * shift[i] * shift[j];
        let mut g = Matrix::zeros(d, d);
        for j in 0..d {
            for i in 0..d {
                // The upper triangle decides, so that the matrix is symmetric to the last bit.
                g.set(i, j, entry(i.min(j), i.max(j)));
            }
            g.set(j, j, entry(j, j).max(0.0));
        }
        Gram {
            g,
            q: (0..d).map(|j| entry(j, d)).collect(),
            yy: entry(d, d).max(0.0),
            mean: (0..=d).map(|j| mean[j] + shift[j] / scale[j]).collect(),
            scale: scale.to_vec(),
            total,
        }
    }
}

/// The last mean minus the others times the coefficients, with compensated sums (Ogita, Rump and Oishi 2005).
pub fn intercept(mean: &[f64], coef: &[f64]) -> f64 {
    let (mut sum, mut rest) = (mean[coef.len()], 0.0);
    for (m, w) in mean.iter().zip(coef) {
        let product = -m * w;
        let error = (-m).mul_add(*w, -product);
        let next = sum + product;
        let back = next - sum;
        rest += error + ((sum - (next - back)) + (product - back));
        sum = next;
    }
    let exact = sum + rest;
    if exact.is_finite() { exact } else { sum }
}
