//! Dense linear algebra on the CPU: faer behind plain functions over column-major slices of `f64`.
//!
//! faer is generic and is compiled in the crate that calls it, so this crate is always built with optimisation.
//! Everything here runs on the thread that calls, or on the pool of rayon in which it is called, and gives the same
//! bits on any number of threads.

use faer::linalg::solvers::{DenseSolveCore, Solve};
use faer::{MatRef, Par, Side};

/// Partitions of a parallel loop. faer adds up one partial vector per partition, so their number must not depend on
/// the number of threads.
const PARTITIONS: usize = 16;

/// Column-major matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    pub rows: usize,
    pub columns: usize,
    /// `rows * columns` values, column after column.
    pub data: Vec<f64>,
}

impl Matrix {
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Matrix { rows, columns, data: vec![0.0; rows * columns] }
    }

    /// # Panics
    /// If `data` has another length than `rows * columns`.
    pub fn new(rows: usize, columns: usize, data: Vec<f64>) -> Self {
        assert_eq!(data.len(), rows * columns);
        Matrix { rows, columns, data }
    }

    #[inline]
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.data[column * self.rows + row]
    }

    #[inline]
    pub fn set(&mut self, row: usize, column: usize, value: f64) {
        self.data[column * self.rows + row] = value;
    }

    #[inline]
    pub fn column(&self, column: usize) -> &[f64] {
        &self.data[column * self.rows..(column + 1) * self.rows]
    }

    #[inline]
    pub fn column_mut(&mut self, column: usize) -> &mut [f64] {
        &mut self.data[column * self.rows..(column + 1) * self.rows]
    }

    pub fn transposed(&self) -> Matrix {
        let mut out = Matrix::zeros(self.columns, self.rows);
        for column in 0..self.columns {
            for row in 0..self.rows {
                out.set(column, row, self.at(row, column));
            }
        }
        out
    }

    /// Every operation starts here, so that none runs under the parallelism that faer takes from the pool.
    fn view(&self) -> MatRef<'_, f64> {
        faer::set_global_parallelism(Par::rayon(PARTITIONS));
        MatRef::from_column_major_slice(&self.data, self.rows, self.columns)
    }

    fn of(matrix: MatRef<'_, f64>) -> Matrix {
        let mut out = Matrix::zeros(matrix.nrows(), matrix.ncols());
        for column in 0..matrix.ncols() {
            for row in 0..matrix.nrows() {
                out.set(row, column, matrix[(row, column)]);
            }
        }
        out
    }
}

/// `a * b`.
pub fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::of((a.view() * b.view()).as_ref())
}

/// `a' * b`.
pub fn transpose_multiply(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::of((a.view().transpose() * b.view()).as_ref())
}

/// A matrix in memory of the caller, or its transpose.
#[derive(Clone, Copy)]
pub struct View<'a> {
    rows: usize,
    columns: usize,
    data: &'a [f64],
    is_transposed: bool,
}

impl<'a> View<'a> {
    /// `rows` x `columns`, column after column.
    pub fn new(rows: usize, columns: usize, data: &'a [f64]) -> Self {
        View { rows, columns, data, is_transposed: false }
    }

    pub fn transposed(self) -> Self {
        View { is_transposed: !self.is_transposed, ..self }
    }

    fn matrix(self) -> MatRef<'a, f64> {
        let plain = MatRef::from_column_major_slice(self.data, self.rows, self.columns);
        if self.is_transposed { plain.transpose() } else { plain }
    }
}

/// Writes `a b` to `out`, column after column, on the calling thread alone.
///
/// # Panics
/// If the sizes do not fit each other.
pub fn multiply_into(a: View<'_>, b: View<'_>, out: &mut [f64]) {
    let (a, b) = (a.matrix(), b.matrix());
    let out = faer::MatMut::from_column_major_slice_mut(out, a.nrows(), b.ncols());
    faer::linalg::matmul::matmul(out, faer::Accum::Replace, a, b, 1.0, Par::Seq);
}

/// Adds `a' a` to the lower triangle of `sum`. What is above the diagonal of `sum` stays.
pub fn add_gram(sum: &mut Matrix, a: &Matrix) {
    use faer::linalg::matmul::triangular::{BlockStructure, matmul};

    let (rows, columns) = (sum.rows, sum.columns);
    let sum = faer::MatMut::from_column_major_slice_mut(&mut sum.data, rows, columns);
    let full = BlockStructure::Rectangular;
    let (left, right) = (a.view().transpose(), a.view());
    let lower = BlockStructure::TriangularLower;
    matmul(sum, lower, faer::Accum::Add, left, full, right, full, 1.0, Par::rayon(PARTITIONS));
}

/// Solves `a x = b` for a symmetric positive definite `a` by Cholesky's decomposition. `None` if `a` is not positive
/// definite.
pub fn solve_positive(a: &Matrix, b: &Matrix) -> Option<Matrix> {
    let llt = a.view().llt(Side::Lower).ok()?;
    Some(Matrix::of(llt.solve(b.view()).as_ref()))
}

/// The inverse of a symmetric positive definite matrix. `None` if it is not positive definite.
pub fn inverse_positive(a: &Matrix) -> Option<Matrix> {
    let llt = a.view().llt(Side::Lower).ok()?;
    Some(Matrix::of(llt.inverse().as_ref()))
}

/// The lower triangle `l` of Cholesky's decomposition `a = l l'`. `None` if `a` is not positive definite.
pub fn cholesky(a: &Matrix) -> Option<Matrix> {
    let llt = a.view().llt(Side::Lower).ok()?;
    let mut out = Matrix::of(llt.L());
    for column in 1..out.columns {
        out.column_mut(column)[..column].fill(0.0);
    }
    Some(out)
}

/// The upper triangle `r` (`min(rows, columns)` x columns) of `a`'s thin QR decomposition.
pub fn triangle(a: &Matrix) -> Matrix {
    let mut out = Matrix::of(a.view().qr().thin_R());
    for column in 0..out.columns {
        let below = (column + 1).min(out.rows);
        out.column_mut(column)[below..].fill(0.0);
    }
    out
}

/// Eigenvalues in ascending order, and eigenvectors as columns, of a symmetric matrix. `None` if the iteration does not
/// converge.
pub fn eigh(a: &Matrix) -> Option<(Vec<f64>, Matrix)> {
    let eigen = a.view().self_adjoint_eigen(Side::Lower).ok()?;
    let values = eigen.S().column_vector().iter().copied().collect();
    Some((values, Matrix::of(eigen.U())))
}

/// The thin singular value decomposition: `u` (rows x k), singular values in descending order, `v` (columns x k), with
/// `k = min(rows, columns)`. `None` if the iteration does not converge.
pub fn svd(a: &Matrix) -> Option<(Matrix, Vec<f64>, Matrix)> {
    let svd = a.view().thin_svd().ok()?;
    let values = svd.S().column_vector().iter().copied().collect();
    Some((Matrix::of(svd.U()), values, Matrix::of(svd.V())))
}

/// The orthonormal columns of `a`'s thin QR decomposition.
pub fn orthonormal(a: &Matrix) -> Matrix {
    Matrix::of(a.view().qr().compute_thin_Q().as_ref())
}
