//! Eigenvectors of the Laplacian of a graph of similar rows: `SpectralEmbedding` (Belkin and Niyogi 2003) and
//! `SpectralClustering` (Shi and Malik 2000; von Luxburg 2007), as in `sklearn/manifold/_spectral_embedding.py` and
//! `sklearn/cluster/_spectral.py`.

use onrush_dense::{self as dense, Matrix};

use super::embedded::{EmbeddedRows, check_rows, flipped};
use crate::cluster::{ClusteredRows, kmeans};
use crate::data::{Column, Data};
use crate::decomposition::linear_map::row_major;
use crate::error::{Error, ErrorKind};
use crate::kernel_methods::PairwiseKernel;
use crate::neighbors::search::{Index, Metric, NeighborSearch};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::stored::StoredAttributes;
use crate::tensor::Tensor;

/// Trains `SpectralEmbedding`.
///
/// # Errors
/// If there are too many rows, or too few for the components and neighbours. If the user stops the work.
pub fn embedding(params: &params::SpectralEmbedding, data: &Data, run: &Run<'_>) -> Result<EmbeddedRows, Error> {
    check_rows("SpectralEmbedding", data.rows)?;
    let near = params.n_neighbors.unwrap_or((data.rows / 10).max(1));
    let mut attributes = StoredAttributes::default();
    let affinity = match params.affinity.as_str() {
        "nearest_neighbors" => {
            attributes = attributes.int("n_neighbors", near);
            neighbors(data, near, run)?
        }
        _ => {
            let gamma = params.gamma.unwrap_or(1.0 / data.width() as f64);
            attributes = attributes.float("gamma", gamma);
            kernel("rbf", gamma, (1.0, 3.0), data)?
        }
    };
    let count = params.n_components;
    let (maps, connected) = eigenmaps(&affinity, count + 1, run)?;
    let places = Matrix::new(data.rows, count, maps.data[data.rows..].to_vec());
    let name = "spectralembedding".to_string();
    Ok(EmbeddedRows { name, places: row_major(&places), attributes, notes: connection_note(connected) })
}

/// Trains `SpectralClustering`.
///
/// # Errors
/// As [`embedding`], and if there are fewer rows than clusters.
pub fn clustering(params: &params::SpectralClustering, data: &Data, run: &Run<'_>) -> Result<ClusteredRows, Error> {
    check_rows("SpectralClustering", data.rows)?;
    let affinity = match params.affinity.as_str() {
        "nearest_neighbors" => neighbors(data, params.n_neighbors, run)?,
        word => kernel(word, params.gamma, (params.coef0, params.degree), data)?,
    };
    let (maps, connected) = eigenmaps(&affinity, params.n_components.unwrap_or(params.n_clusters), run)?;
    let labels = match params.assign_labels.as_str() {
        "cluster_qr" => pivoted(&maps)?,
        _ => {
            let mut random = Mt19937::new(params::seed(params.random_state));
            // ARPACK's first vector.
            (0..data.rows).for_each(|_| _ = random.uniform());
            let columns = (0..maps.columns).map(|k| Column::number(format!("map{k}"), maps.column(k).to_vec()));
            let wanted = params::KMeans {
                n_clusters: params.n_clusters,
                n_init: (params.n_init as i64).into(),
                ..params::KMeans::default()
            };
            kmeans::fit_from(&wanted, &Data::new(columns.collect()), random, run)?.labels.data
        }
    };
    let attributes = StoredAttributes::default().int("n_clusters", params.n_clusters);
    Ok(ClusteredRows { labels: Tensor::vector(labels), attributes, notes: connection_note(connected) })
}

fn connection_note(connected: bool) -> Vec<String> {
    match connected {
        true => Vec::new(),
        false => vec!["the graph of the rows is not connected: some eigenvectors separate its parts".to_string()],
    }
}

/// The values of a kernel for all pairs.
fn kernel(word: &str, gamma: f64, (coef0, degree): (f64, f64), data: &Data) -> Result<Matrix, Error> {
    let kernel = PairwiseKernel::new(word, Some(gamma), coef0, degree, data.width());
    kernel.check(data)?;
    let points = data.row_major();
    Ok(kernel.matrix(&points, &points, data.width()))
}

/// 1 for rows that are among the nearest of each other, 1/2 for one direction.
fn neighbors(data: &Data, count: usize, run: &Run<'_>) -> Result<Matrix, Error> {
    let n = data.rows;
    if count > n {
        let message = format!("`n_neighbors` is {count}, and there are {n} rows: at most as many as rows");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let index = Index::new(Metric::Euclidean, &data.row_major(), data.width());
    let queries = index.prepared(data.row_major());
    let near = |list: Vec<(f64, u32)>| Ok(list.into_iter().map(|(_, row)| row as usize).collect::<Vec<usize>>());
    let lists = index.search(&queries, NeighborSearch::Count(count), run, near)?;
    let mut out = Matrix::zeros(n, n);
    for (row, list) in lists.into_iter().enumerate() {
        for other in list {
            out.set(row, other, out.at(row, other) + 0.5);
            out.set(other, row, out.at(other, row) + 0.5);
        }
    }
    Ok(out)
}

/// The eigenvectors of the smallest eigenvalues of the normalised Laplacian, divided by the roots of the degrees: rows
/// x count. Also whether the graph is connected.
fn eigenmaps(affinity: &Matrix, count: usize, run: &Run<'_>) -> Result<(Matrix, bool), Error> {
    let n = affinity.rows;
    if count > n {
        let message = format!("{count} eigenvectors are needed, and there are {n} rows");
        return Err(Error::new(ErrorKind::Parameter, message).help("set `n_components` to a smaller number"));
    }
    run.stage("eigenvectors of the Laplacian");
    let degree = |j: usize| affinity.column(j).iter().enumerate().filter(|(i, _)| *i != j).map(|(_, v)| v).sum::<f64>();
    let roots: Vec<f64> = (0..n).map(degree).map(|d| if d == 0.0 { 1.0 } else { d.sqrt() }).collect();
    let mut laplacian = Matrix::zeros(n, n);
    for j in 0..n {
        for i in 0..n {
            let value = if i == j { 1.0 } else { -affinity.at(i, j) / (roots[i] * roots[j]) };
            laplacian.set(i, j, value);
        }
    }
    let (_, vectors) = dense::eigh(&laplacian)
        .filter(|(values, _)| values.iter().all(|v| v.is_finite()))
        .ok_or_else(|| Error::new(ErrorKind::NoConvergence, "the eigenvectors of the Laplacian do not converge"))?;
    run.check(|| "the eigenvectors".to_string())?;
    let mut maps = Matrix::new(n, count, vectors.data[..n * count].to_vec());
    for k in 0..count {
        maps.column_mut(k).iter_mut().zip(&roots).for_each(|(v, root)| *v /= root);
    }
    flipped(&mut maps);
    Ok((maps, is_connected(affinity)))
}

fn is_connected(affinity: &Matrix) -> bool {
    let n = affinity.rows;
    let (mut seen, mut open) = (vec![false; n], vec![0]);
    seen[0] = true;
    while let Some(row) = open.pop() {
        for (other, value) in affinity.column(row).iter().enumerate() {
            if *value != 0.0 && !seen[other] {
                seen[other] = true;
                open.push(other);
            }
        }
    }
    seen.iter().all(|seen| *seen)
}

/// Labels by a QR decomposition with pivots (Damle, Minden and Ying 2019).
fn pivoted(maps: &Matrix) -> Result<Vec<f64>, Error> {
    let (n, k) = (maps.rows, maps.columns);
    // The rows of the map are the columns that are chosen, each far from the ones before.
    let mut rest: Vec<Vec<f64>> = (0..n).map(|i| (0..k).map(|j| maps.at(i, j)).collect()).collect();
    let mut chosen = Vec::new();
    for _ in 0..k {
        let square = |i: usize| rest[i].iter().map(|v| v * v).sum::<f64>();
        let squares: Vec<f64> = (0..n).map(square).collect();
        let best = (0..n).fold(0, |a, b| if squares[b] > squares[a] { b } else { a });
        let length = squares[best].sqrt();
        let direction: Vec<f64> = rest[best].iter().map(|v| v / length.max(f64::MIN_POSITIVE)).collect();
        for row in &mut rest {
            let along: f64 = row.iter().zip(&direction).map(|(v, d)| v * d).sum();
            row.iter_mut().zip(&direction).for_each(|(v, d)| *v -= along * d);
        }
        chosen.push(best);
    }
    let mut square = Matrix::zeros(k, k);
    for (column, row) in chosen.iter().enumerate() {
        (0..k).for_each(|j| square.set(j, column, maps.at(*row, j)));
    }
    let (u, _, v) = dense::svd(&square)
        .ok_or_else(|| Error::new(ErrorKind::NoConvergence, "the singular values of the map do not converge"))?;
    let turned = dense::multiply(maps, &dense::multiply(&u, &v.transposed()));
    let label = |i: usize| {
        let size = |j: usize| turned.at(i, j).abs();
        (0..k).fold(0, |a, b| if size(b) > size(a) { b } else { a }) as f64
    };
    Ok((0..n).map(label).collect())
}
