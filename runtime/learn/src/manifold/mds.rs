//! Multidimensional scaling: `MDS` by majorisation (SMACOF: de Leeuw 1977; Borg and Groenen 2005) and `ClassicalMDS`
//! (Torgerson 1952), as in `sklearn/manifold/_mds.py` and `_classical_mds.py`.

use onrush_dense::{self as dense, Matrix};
use rayon::prelude::*;

use super::embedded::{EmbeddedRows, check_rows, flipped};
use crate::data::Data;
use crate::decomposition::linear_map::row_major;
use crate::error::{Error, ErrorKind};
use crate::neighbors::search::{Index, Metric};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::stored::StoredAttributes;

/// Distances of 0 are replaced by it.
const TINY: f64 = 1e-5;

/// Places with their stress.
struct Scaling {
    places: Matrix,
    stress: f64,
    n_iter: usize,
    converged: bool,
}

/// Trains `MDS`.
///
/// # Errors
/// If there are too many rows, or non-metric scaling is asked for. If the user stops the work.
pub fn fit(params: &params::MDS, data: &Data, run: &Run<'_>) -> Result<EmbeddedRows, Error> {
    check_rows("MDS", data.rows)?;
    if !params.metric_mds {
        let message = "`metric_mds` is false: distances are kept as they are, and scaling by ranks is not there";
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let is_normalized = match &params.normalized_stress {
        onrush_wire::learn::Param::Bool(value) => *value,
        onrush_wire::learn::Param::Str(word) if word == "auto" => false,
        other => {
            let message = format!("`normalized_stress` is {other}: true, false or \"auto\"");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    let wanted = pairwise(data, Metric::of(&params.metric, 2.0));
    let mut random = Mt19937::new(params::seed(params.random_state));
    let is_classical = params.init == "classical_mds";
    let mut best: Option<Scaling> = None;
    for number in 0..if is_classical { 1 } else { params.n_init } {
        let start = match is_classical {
            true => torgerson(&wanted, params.n_components)?.0,
            false => {
                let values = (0..data.rows * params.n_components).map(|_| random.uniform()).collect();
                Matrix::new(params.n_components, data.rows, values).transposed()
            }
        };
        let found = smacof(&wanted, start, params.max_iter, params.eps, run)?;
        (run.steps)(number as u64 + 1, params.n_init as u64);
        if best.as_ref().is_none_or(|best| found.stress < best.stress) {
            best = Some(found);
        }
    }
    let Some(best) = best else { return Err(Error::new(ErrorKind::Parameter, "`n_init` is 0: at least 1")) };
    let stress = match is_normalized {
        true => {
            let distances = between(&best.places);
            (best.stress / (distances.data.iter().map(|d| d * d).sum::<f64>() / 2.0)).sqrt()
        }
        false => best.stress,
    };
    let notes = match best.converged {
        true => Vec::new(),
        false => vec![format!("stopped after `max_iter` = {} iterations: the stress still fell", best.n_iter)],
    };
    let attributes = StoredAttributes::default().float("stress", stress).int("n_iter", best.n_iter);
    Ok(EmbeddedRows { name: "mds".to_string(), places: row_major(&best.places), attributes, notes })
}

/// Trains `ClassicalMDS`.
///
/// # Errors
/// If there are too many rows, or too few for the components.
pub fn classical(params: &params::ClassicalMDS, data: &Data, run: &Run<'_>) -> Result<EmbeddedRows, Error> {
    check_rows("ClassicalMDS", data.rows)?;
    run.stage("eigenvectors of the distances");
    let (places, values) = torgerson(&pairwise(data, Metric::of(&params.metric, 2.0)), params.n_components)?;
    let attributes = StoredAttributes::default().numbered("eigenvalues", "component", "eigenvalue", values);
    let name = "classicalmds".to_string();
    Ok(EmbeddedRows { name, places: row_major(&places), attributes, notes: Vec::new() })
}

/// The distances of all pairs.
fn pairwise(data: &Data, metric: Metric) -> Matrix {
    let n = data.rows;
    let index = Index::new(metric, &data.row_major(), data.width());
    let points = index.points(0..n);
    let width = points.len() / n;
    let mut out = Matrix::zeros(n, n);
    out.data.par_chunks_mut(n).enumerate().for_each(|(j, column)| {
        let other = &points[j * width..(j + 1) * width];
        for (i, out) in column.iter_mut().enumerate() {
            *out = metric.finished(metric.reduced(&points[i * width..(i + 1) * width], other));
        }
    });
    out
}

/// The distances of places.
fn between(places: &Matrix) -> Matrix {
    let n = places.rows;
    let mut out = Matrix::zeros(n, n);
    out.data.par_chunks_mut(n).enumerate().for_each(|(j, column)| {
        for k in 0..places.columns {
            let place = places.column(k);
            column.iter_mut().zip(place).for_each(|(out, v)| *out += (v - place[j]) * (v - place[j]));
        }
        column.iter_mut().for_each(|out| *out = out.sqrt());
    });
    out
}

/// Places from the eigenvectors of the centred squares, and the eigenvalues.
fn torgerson(distances: &Matrix, count: usize) -> Result<(Matrix, Vec<f64>), Error> {
    let n = distances.rows;
    if count > n {
        let message = format!("`n_components` is {count}, and there are {n} rows");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let mut squares = Matrix::new(n, n, distances.data.iter().map(|d| d * d).collect());
    let means: Vec<f64> = (0..n).map(|j| squares.column(j).iter().sum::<f64>() / n as f64).collect();
    let all = means.iter().sum::<f64>() / n as f64;
    for j in 0..n {
        squares.column_mut(j).iter_mut().zip(&means).for_each(|(v, mean)| *v = -0.5 * (*v + all - means[j] - mean));
    }
    let (values, vectors) = dense::eigh(&squares)
        .ok_or_else(|| Error::new(ErrorKind::NoConvergence, "the eigenvectors of the distances do not converge"))?;
    let chosen: Vec<f64> = values.iter().rev().take(count).copied().collect();
    if chosen.iter().any(|v| *v < -1e-9 * chosen[0].abs()) {
        let message = format!("the distances have fewer than {count} dimensions");
        return Err(Error::new(ErrorKind::Numeric, message).help("set `n_components` to a smaller number"));
    }
    let mut places = Matrix::new(n, count, (0..count).flat_map(|k| vectors.column(n - 1 - k).to_vec()).collect());
    flipped(&mut places);
    for (k, value) in chosen.iter().enumerate() {
        places.column_mut(k).iter_mut().for_each(|v| *v *= value.max(0.0).sqrt());
    }
    Ok((places, chosen))
}

/// Moves places by the Guttman transform until the stress rests.
fn smacof(wanted: &Matrix, start: Matrix, max_iter: usize, eps: f64, run: &Run<'_>) -> Result<Scaling, Error> {
    let n = wanted.rows;
    let mut places = start;
    let mut distances = between(&places);
    let mut before: Option<f64> = None;
    for iteration in 0..max_iter {
        run.check(|| format!("{iteration} of at most {max_iter} iterations"))?;
        let mut transform = Matrix::zeros(n, n);
        let columns = transform.data.par_chunks_mut(n).zip(wanted.data.par_chunks(n)).zip(distances.data.par_chunks(n));
        columns.enumerate().for_each(|(j, ((out, wanted), distances))| {
            let mut sum = 0.0;
            for (out, (wanted, distance)) in out.iter_mut().zip(wanted.iter().zip(distances)) {
                let ratio = wanted / if *distance == 0.0 { TINY } else { *distance };
                *out = -ratio;
                sum += ratio;
            }
            out[j] += sum;
        });
        places = dense::multiply(&transform, &places);
        places.data.iter_mut().for_each(|v| *v /= n as f64);
        distances = between(&places);
        let differences = distances.data.iter().zip(&wanted.data).map(|(a, b)| (a - b) * (a - b));
        let stress = differences.sum::<f64>() / 2.0;
        run.stage(format!("iteration {}, stress {stress:.6}", iteration + 1));
        let size = distances.data.iter().map(|d| d * d).sum::<f64>() / 2.0;
        if before.is_some_and(|before| (before - stress) / size < eps) {
            return Ok(Scaling { places, stress, n_iter: iteration + 1, converged: true });
        }
        before = Some(stress);
    }
    Ok(Scaling { places, stress: before.unwrap_or(f64::NAN), n_iter: max_iter, converged: false })
}
