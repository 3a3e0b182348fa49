//! Decompositions give their matrix back, with the same bits on any number of threads.

use onrush_dense::{
    Matrix, add_gram, cholesky, eigh, inverse_positive, multiply, orthonormal, solve_positive, svd, transpose_multiply,
    triangle,
};

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
