//! The features of a linear machine: dense columns, sparse rows and a constant feature for the intercept.

use onrush_dense as dense;
use onrush_dense::Matrix;
use rayon::prelude::*;

use crate::data::Data;
use crate::data::sparse::Sparse;
use crate::sums::{self, CHUNK, dot};

/// Parts of the rows whose sums are stored at once, at most: sums of wide sparse features are large.
const PARTS: usize = 16;

/// Rows of a dense block.
const BLOCK: usize = 512;

/// The features in the order dense, sparse, constant.
pub struct MachineDesign<'a> {
    pub rows: usize,
    columns: Vec<&'a [f64]>,
    sparse: Option<&'a Sparse>,
    /// The value of the constant feature. 0: there is none.
    bias: f64,
}

impl<'a> MachineDesign<'a> {
    pub fn new(data: &'a Data, bias: f64) -> Self {
        let columns = data.features.iter().map(|c| c.values.as_slice()).collect();
        MachineDesign { rows: data.rows, columns, sparse: data.sparse.as_ref(), bias }
    }

    /// Number of features, with the constant one.
    pub fn width(&self) -> usize {
        self.columns.len() + self.sparse.map_or(0, Sparse::width) + usize::from(self.bias != 0.0)
    }

    pub fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// For each row the product with the coefficients `w`.
    pub fn times(&self, w: &[f64]) -> Vec<f64> {
        let first = self.columns.len();
        let constant = if self.bias == 0.0 { 0.0 } else { self.bias * w.last().copied().unwrap_or_default() };
        let mut out = vec![constant; self.rows];
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            let start = chunk * CHUNK;
            for (block, out) in out.chunks_mut(BLOCK).enumerate() {
                let start = start + block * BLOCK;
                for (column, w) in self.columns.iter().zip(w) {
                    out.iter_mut().zip(&column[start..]).for_each(|(o, x)| *o += x * w);
                }
            }
            if let Some(sparse) = self.sparse {
                out.iter_mut().enumerate().for_each(|(i, o)| *o += sparse.dot(start + i, &w[first..]));
            }
        });
        out
    }

    /// For each feature the product with `u`, a number for each row.
    pub fn transposed_times(&self, u: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = self.columns.par_iter().map(|column| dot(column, u)).collect();
        if let Some(sparse) = self.sparse {
            let sums = self.in_parts(
                |rows| {
                    let mut sum = vec![0.0; sparse.width()];
                    rows.filter(|row| u[*row] != 0.0).for_each(|row| sparse.add(row, u[row], &mut sum));
                    sum
                },
                |mut a, b| {
                    a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
                    a
                },
            );
            out.extend(sums.unwrap_or_else(|| vec![0.0; sparse.width()]));
        }
        if self.bias != 0.0 {
            out.push(self.bias * u.iter().sum::<f64>());
        }
        out
    }

    /// For each feature the sum of its squares under the weights `d` of the rows.
    pub fn squares(&self, d: &[f64]) -> Vec<f64> {
        let square = |column: &&[f64]| column.iter().zip(d).map(|(x, d)| d * x * x).sum::<f64>();
        let mut out: Vec<f64> = self.columns.par_iter().map(square).collect();
        if let Some(sparse) = self.sparse {
            let mut sum = vec![0.0; sparse.width()];
            for (row, d) in d.iter().enumerate() {
                let (columns, values) = sparse.row(row);
                columns.iter().zip(values).for_each(|(column, x)| sum[*column as usize] += d * x * x);
            }
            out.extend(sum);
        }
        if self.bias != 0.0 {
            out.push(self.bias * self.bias * d.iter().sum::<f64>());
        }
        out
    }

    /// The lower triangle of the sums of products of features under the weights `d` of the rows. Only for dense
    /// features. Rows of weight 0 cost nothing.
    pub fn gram(&self, d: &[f64]) -> Matrix {
        let width = self.width();
        let sum = self.in_parts(
            |rows| {
                let used: Vec<usize> = rows.filter(|row| d[*row] > 0.0).collect();
                let mut sum = Matrix::zeros(width, width);
                for rows in used.chunks(BLOCK) {
                    let roots: Vec<f64> = rows.iter().map(|row| d[*row].sqrt()).collect();
                    let mut block = Vec::with_capacity(rows.len() * width);
                    for column in &self.columns {
                        block.extend(rows.iter().zip(&roots).map(|(row, root)| column[*row] * root));
                    }
                    if self.bias != 0.0 {
                        block.extend(roots.iter().map(|root| self.bias * root));
                    }
                    dense::add_gram(&mut sum, &Matrix::new(rows.len(), width, block));
                }
                sum
            },
            |mut a, b| {
                a.data.iter_mut().zip(&b.data).for_each(|(a, b)| *a += b);
                a
            },
        );
        sum.unwrap_or_else(|| Matrix::zeros(width, width))
    }

    /// Sums over at most [`PARTS`] parts of the rows, in their order.
    fn in_parts<S: Send>(
        &self,
        work: impl Fn(std::ops::Range<usize>) -> S + Sync,
        merge: impl FnMut(S, S) -> S,
    ) -> Option<S> {
        let size = CHUNK.max(self.rows.div_ceil(PARTS));
        let starts: Vec<usize> = (0..self.rows).step_by(size).collect();
        let parts: Vec<S> = starts.into_par_iter().map(|start| work(start..self.rows.min(start + size))).collect();
        parts.into_iter().reduce(merge)
    }

    /// The features row after row.
    pub fn by_row(&self) -> ByRow<'a> {
        const ROWS: usize = 64;
        let width = self.columns.len() + usize::from(self.bias != 0.0);
        let mut dense = vec![self.bias; self.rows * width];
        dense.par_chunks_mut(ROWS * width.max(1)).enumerate().for_each(|(block, out)| {
            let first = block * ROWS;
            for (j, column) in self.columns.iter().enumerate() {
                let values = &column[first..(first + ROWS).min(self.rows)];
                values.iter().enumerate().for_each(|(i, value)| out[i * width + j] = *value);
            }
        });
        ByRow { dense, width, first: self.columns.len(), sparse: self.sparse }
    }

    /// The features column after column.
    pub fn by_column(&self) -> ByColumn<'a> {
        let mut columns: Vec<Entries<'a>> = self.columns.iter().map(|column| Entries::Dense(column)).collect();
        if let Some(sparse) = self.sparse {
            let mut lists: Vec<(Vec<u32>, Vec<f64>)> = vec![Default::default(); sparse.width()];
            for row in 0..self.rows {
                let (positions, values) = sparse.row(row);
                for (column, value) in positions.iter().zip(values) {
                    let (rows, list) = &mut lists[*column as usize];
                    rows.push(row as u32);
                    list.push(*value);
                }
            }
            columns.extend(lists.into_iter().map(|(rows, values)| Entries::Sparse(rows, values)));
        }
        if self.bias != 0.0 {
            columns.push(Entries::Constant(self.bias, self.rows));
        }
        ByColumn { columns }
    }
}

/// The features row after row. Coefficients are in the order of [`MachineDesign`]: the dense part of a row has the
/// constant feature at its end.
pub struct ByRow<'a> {
    dense: Vec<f64>,
    /// Dense features, with the constant one.
    width: usize,
    /// Dense features, without the constant one.
    first: usize,
    sparse: Option<&'a Sparse>,
}

impl ByRow<'_> {
    fn dense(&self, row: usize) -> &[f64] {
        &self.dense[row * self.width..(row + 1) * self.width]
    }

    /// The product of a row and the coefficients.
    #[inline]
    pub fn dot(&self, row: usize, w: &[f64]) -> f64 {
        let dense = self.dense(row);
        let Some(sparse) = self.sparse else { return dot(dense, w) };
        let constant = if self.width > self.first { dense[self.first] * w[w.len() - 1] } else { 0.0 };
        dot(&dense[..self.first], &w[..self.first]) + sparse.dot(row, &w[self.first..]) + constant
    }

    /// Adds a multiple of a row to the coefficients.
    #[inline]
    pub fn add(&self, row: usize, factor: f64, w: &mut [f64]) {
        let dense = self.dense(row);
        let Some(sparse) = self.sparse else {
            w.iter_mut().zip(dense).for_each(|(w, x)| *w += factor * x);
            return;
        };
        w.iter_mut().zip(&dense[..self.first]).for_each(|(w, x)| *w += factor * x);
        sparse.add(row, factor, &mut w[self.first..]);
        if let (true, Some(last)) = (self.width > self.first, w.last_mut()) {
            *last += factor * dense[self.first];
        }
    }

    /// The sum of squares of a row.
    pub fn square(&self, row: usize) -> f64 {
        let dense = self.dense(row);
        dot(dense, dense) + self.sparse.map_or(0.0, |sparse| sparse.row(row).1.iter().map(|x| x * x).sum())
    }
}

/// The features column after column.
pub struct ByColumn<'a> {
    pub columns: Vec<Entries<'a>>,
}

/// The values of a feature other than 0.
pub enum Entries<'a> {
    Dense(&'a [f64]),
    /// Rows and values.
    Sparse(Vec<u32>, Vec<f64>),
    /// A value, and the number of rows.
    Constant(f64, usize),
}

impl Entries<'_> {
    /// Calls `visit` with each row and its value.
    #[inline(always)]
    pub fn each(&self, mut visit: impl FnMut(usize, f64)) {
        match self {
            Entries::Dense(values) => values.iter().enumerate().for_each(|(row, x)| visit(row, *x)),
            Entries::Sparse(rows, values) => {
                rows.iter().zip(values).for_each(|(row, x)| visit(*row as usize, *x));
            }
            Entries::Constant(value, rows) => (0..*rows).for_each(|row| visit(row, *value)),
        }
    }
}

/// The Euclidean norm of a vector.
pub fn norm(v: &[f64]) -> f64 {
    sums::dot(v, v).sqrt()
}
