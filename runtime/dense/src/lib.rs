//! Dense linear algebra on the CPU: faer behind plain functions over column-major slices of `f64`.
//!
//! faer is generic and is compiled in the crate that calls it, so this crate is always built with optimisation. Everything here runs on the
//! thread that calls, or on the pool of rayon in which it is called, and gives the same bits on any number of threads.

use faer::linalg::solvers::{DenseSolveCore, Solve};
use faer::{Mat, MatRef, Side};

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

    fn view(&self) -> MatRef<'_, f64> {
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
    matmul(sum, lower, faer::Accum::Add, left, full, right, full, 1.0, faer::get_global_parallelism());
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

/// Solves `a x = b` for a square `a` by LU with partial pivoting. Values are infinite or NaN if `a` is singular.
pub fn solve_square(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::of(a.view().partial_piv_lu().solve(b.view()).as_ref())
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

/// The least squares solution of the smallest norm, the rank, and the singular values. Directions whose singular value is at most
/// `cutoff` times the largest one count as zero. `None` if the decomposition does not converge.
///
/// Tall matrices go through QR first, then the small triangle through the SVD.
pub fn least_squares(a: &Matrix, b: &[f64], cutoff: f64) -> Option<(Vec<f64>, usize, Vec<f64>)> {
    let rhs = MatRef::from_column_major_slice(b, b.len(), 1);
    let (small, projected): (Mat<f64>, Mat<f64>) = if a.rows > a.columns {
        let qr = a.view().qr();
        let q = qr.compute_thin_Q();
        (qr.thin_R().to_owned(), q.transpose() * rhs)
    } else {
        (a.view().to_owned(), rhs.to_owned())
    };
    let svd = small.thin_svd().ok()?;
    let values: Vec<f64> = svd.S().column_vector().iter().copied().collect();
    let largest = values.first().copied().unwrap_or(0.0);
    let rank = values.iter().filter(|v| **v > cutoff * largest).count();
    let along = svd.U().transpose() * &projected;
    let mut solution = vec![0.0; a.columns];
    for (k, value) in values.iter().enumerate().take(rank) {
        let share = along[(k, 0)] / value;
        for (row, out) in solution.iter_mut().enumerate() {
            *out += svd.V()[(row, k)] * share;
        }
    }
    Some((solution, rank, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 3 x 2 matrix of hand-made numbers.
    fn tall() -> Matrix {
        Matrix::new(3, 2, vec![1.0, 1.0, 1.0, 1.0, 2.0, 3.0])
    }

    #[test]
    fn a_line_through_three_points_is_found() {
        // y = 1 + 2 x exactly.
        let (solution, rank, _) = least_squares(&tall(), &[3.0, 5.0, 7.0], 1e-12).unwrap();
        assert_eq!(rank, 2);
        assert!((solution[0] - 1.0).abs() < 1e-12 && (solution[1] - 2.0).abs() < 1e-12);
    }

    #[test]
    fn dependent_columns_have_the_solution_of_the_smallest_norm() {
        let a = Matrix::new(3, 2, vec![1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
        let (solution, rank, _) = least_squares(&a, &[2.0, 4.0, 6.0], 1e-12).unwrap();
        assert_eq!(rank, 1);
        assert!((solution[0] - 1.0).abs() < 1e-12 && (solution[1] - 1.0).abs() < 1e-12);
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
