//! The largest singular values by subspace iteration (Halko, Martinsson and Tropp 2011), with the random numbers of
//! scikit-learn's `randomized_svd`.

use onrush_dense::{self as dense, Matrix};

use crate::error::{Error, ErrorKind};
use crate::random::Mt19937;
use crate::run::Run;

/// Left vectors, singular values in descending order, and right vectors as columns.
pub(super) struct Singular {
    pub u: Matrix,
    pub values: Vec<f64>,
    pub v: Matrix,
}

/// Additional directions: scikit-learn's default.
pub(super) const OVERSAMPLES: usize = 10;

/// The `directions` largest singular values after some power iterations. `None` if the small decomposition does not
/// converge.
///
/// # Errors
/// If the user stops the work.
pub(super) fn subspace(
    matrix: &Matrix,
    directions: usize,
    iterations: usize,
    random: &mut Mt19937,
    run: &Run<'_>,
) -> Result<Option<Singular>, Error> {
    let d = matrix.columns;
    let mut start = Matrix::zeros(d, directions);
    for row in 0..d {
        for column in 0..directions {
            start.set(row, column, random.normal());
        }
    }
    let mut basis = dense::orthonormal(&dense::multiply(matrix, &start));
    for iteration in 0..iterations {
        run.check(|| format!("{iteration} of {iterations} power iterations"))?;
        (run.steps)(iteration as u64, iterations as u64);
        let right = dense::orthonormal(&dense::transpose_multiply(matrix, &basis));
        basis = dense::orthonormal(&dense::multiply(matrix, &right));
    }
    let small = dense::transpose_multiply(&basis, matrix);
    Ok(dense::svd(&small).map(|(u, values, v)| Singular { u: dense::multiply(&basis, &u), values, v }))
}

/// scikit-learn's `randomized_svd` with its defaults: `count` singular values. `iterations` of `None` depend on the
/// size. The largest value of each left vector is positive, that of each right vector if there are more columns than
/// rows.
///
/// # Errors
/// If the small decomposition does not converge, or the user stops the work.
pub(super) fn randomized_svd(
    matrix: &Matrix,
    count: usize,
    iterations: Option<usize>,
    random: &mut Mt19937,
    run: &Run<'_>,
) -> Result<Singular, Error> {
    let least = matrix.rows.min(matrix.columns);
    let directions = count + OVERSAMPLES;
    let iterations = iterations.unwrap_or(if (count as f64) < 0.1 * least as f64 { 7 } else { 4 });
    let is_wide = matrix.rows < matrix.columns;
    let turned = if is_wide { matrix.transposed() } else { matrix.clone() };
    // More directions than columns are cut by the decomposition, after their random numbers are drawn.
    let found = match directions <= turned.columns {
        true => subspace(&turned, directions, iterations, random, run)?,
        false => {
            (0..turned.columns * directions).for_each(|_| _ = random.normal());
            dense::svd(&turned).map(|(u, values, v)| Singular { u, values, v })
        }
    };
    let Some(Singular { mut u, values, mut v }) = found else {
        let message = "the singular value decomposition does not converge: the values are too large";
        return Err(Error::new(ErrorKind::NoConvergence, message).help("scale the features first"));
    };
    for k in 0..values.len() {
        // The left vectors of the turned matrix decide: those of the wider side are the right ones of the matrix.
        let largest = u.column(k).iter().fold(0.0f64, |a, b| if b.abs() > a.abs() { *b } else { a });
        if largest < 0.0 {
            u.column_mut(k).iter_mut().chain(v.column_mut(k)).for_each(|x| *x = -*x);
        }
    }
    let cut = |matrix: Matrix| {
        let count = count.min(matrix.columns);
        Matrix::new(matrix.rows, count, matrix.data[..matrix.rows * count].to_vec())
    };
    let (u, v) = (cut(u), cut(v));
    let values = values.into_iter().take(count).collect();
    Ok(if is_wide { Singular { u: v, values, v: u } } else { Singular { u, values, v } })
}
