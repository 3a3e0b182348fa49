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

/// Solves `a x = b` for a symmetric positive definite `a` by Cholesky's decomposition. `None` if `a` is not positive definite.
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

/// Eigenvalues in ascending order, and eigenvectors as columns, of a symmetric matrix. `None` if the iteration does not converge.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A 3 x 2 matrix of hand-made numbers.
    fn tall() -> Matrix {
        Matrix::new(3, 2, vec![1.0, 1.0, 1.0, 1.0, 2.0, 3.0])
    }

    #[test]
    fn all_numbers_of_threads_give_the_same_bits() {
        let n = 400;
        let square = Matrix::new(n, n, (0..n * n).map(|i| ((i * 7919 % 10_007) as f64).sin()).collect());
        let mut positive = transpose_multiply(&square, &square);
        (0..n).for_each(|j| positive.set(j, j, positive.at(j, j) + 1.0));
        let column = Matrix::new(n, 1, square.column(0).to_vec());
        let bits = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (values, vectors) = eigh(&positive).unwrap();
                let (u, singular, v) = svd(&square).unwrap();
                let mut gram = Matrix::zeros(n, n);
                add_gram(&mut gram, &square);
                let matrices = [
                    vectors.data,
                    u.data,
                    v.data,
                    gram.data,
                    triangle(&square).data,
                    orthonormal(&square).data,
                    cholesky(&positive).unwrap().data,
                    inverse_positive(&positive).unwrap().data,
                    solve_positive(&positive, &column).unwrap().data,
                    multiply(&square, &square).data,
                    multiply(&square, &column).data,
                    transpose_multiply(&square, &column).data,
                ];
                let all: Vec<u64> = [values, singular].iter().chain(&matrices).flatten().map(|v| v.to_bits()).collect();
                all
            })
        };
        assert!(bits(1) == bits(3));
    }

    #[test]
    fn decompositions_give_the_matrix_back() {
        let a = Matrix::new(2, 2, vec![2.0, 1.0, 1.0, 3.0]);
        let (values, vectors) = eigh(&a).unwrap();
        // The roots of x^2 - 5 x + 5.
        assert!((values[0] - (5.0 - 5f64.sqrt()) / 2.0).abs() < 1e-12);
        assert!((values[1] - (5.0 + 5f64.sqrt()) / 2.0).abs() < 1e-12);
        let scaled = Matrix::new(2, 2, (0..4).map(|i| vectors.data[i] * values[i / 2]).collect());
        let back = multiply(&scaled, &vectors.transposed());
        assert!(back.data.iter().zip(&a.data).all(|(x, y)| (x - y).abs() < 1e-12));
        let (u, s, v) = svd(&tall()).unwrap();
        let scaled = Matrix::new(3, 2, (0..6).map(|i| u.data[i] * s[i / 3]).collect());
        let back = multiply(&scaled, &v.transposed());
        assert!(back.data.iter().zip(&tall().data).all(|(x, y)| (x - y).abs() < 1e-12));
        let lower = cholesky(&a).unwrap();
        let back = multiply(&lower, &lower.transposed());
        assert!(back.data.iter().zip(&a.data).all(|(x, y)| (x - y).abs() < 1e-12) && lower.at(0, 1) == 0.0);
        let mut sum = Matrix::new(2, 2, vec![1.0, 0.0, 7.0, 0.0]);
        add_gram(&mut sum, &tall());
        assert_eq!(sum.data, [4.0, 6.0, 7.0, 14.0]);
        let upper = triangle(&tall());
        let back = transpose_multiply(&upper, &upper);
        let gram = transpose_multiply(&tall(), &tall());
        assert!(back.data.iter().zip(&gram.data).all(|(x, y)| (x - y).abs() < 1e-12) && upper.at(1, 0) == 0.0);
        assert!(solve_positive(&a, &Matrix::new(2, 1, vec![3.0, 4.0])).is_some());
        assert!(solve_positive(&Matrix::new(2, 2, vec![1.0, 2.0, 2.0, 1.0]), &a).is_none());
    }
}
