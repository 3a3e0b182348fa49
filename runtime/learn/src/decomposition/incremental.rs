//! Principal components by batches of rows (Ross, Lim, Lin and Yang 2008), as in
//! `sklearn/decomposition/_incremental_pca.py`.

use onrush_dense::{self as dense, Matrix};

use super::linear_map::LinearMap;
use super::pca::{centred, components};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::params;
use crate::run::Run;
use crate::stored::StoredAttributes;
use crate::tensor::Tensor;

/// The rows so far.
struct RowsSoFar {
    rows: usize,
    mean: Vec<f64>,
    var: Vec<f64>,
    /// components x features.
    components: Tensor,
    singular: Vec<f64>,
    variance: Vec<f64>,
    ratio: Vec<f64>,
    noise: f64,
}

/// Trains `IncrementalPCA` on batches of the rows in their order.
///
/// # Errors
/// If `n_components` does not fit the features or the first batch. If the user stops the work.
pub fn fit(params: &params::IncrementalPCA, data: &Data, run: &Run<'_>) -> Result<LinearMap, Error> {
    let (n, d) = (data.rows, data.width());
    let size = params.batch_size.unwrap_or(5 * d);
    let batches = batches(n, size, params.n_components.unwrap_or(0));
    let first = batches[0].len();
    let count = params.n_components.unwrap_or(first.min(d));
    if count > first.min(d) {
        let message = format!(
            "`n_components` is {count}: at most {}, the smaller of the first batch of {first} rows and {d} features",
            first.min(d)
        );
        return Err(Error::new(ErrorKind::Parameter, message).help("set `batch_size` to a larger number"));
    }
    let mut seen: Option<RowsSoFar> = None;
    for batch in &batches {
        run.check(|| format!("{} of {n} rows", batch.start))?;
        (run.steps)(batch.start as u64, n as u64);
        seen = Some(step(seen, data, batch.clone(), count)?);
    }
    let Some(seen) = seen else { return Err(Error::new(ErrorKind::NoRows, "IncrementalPCA got no rows")) };
    let (mut map, mut back) = (seen.components.clone(), seen.components.clone());
    if params.whiten {
        for (k, variance) in seen.variance.iter().enumerate() {
            let deviation = variance.sqrt();
            map.data[k * d..(k + 1) * d].iter_mut().for_each(|v| *v /= deviation.max(f64::EPSILON));
            back.data[k * d..(k + 1) * d].iter_mut().for_each(|v| *v *= deviation);
        }
    }
    let first_column = "component";
    let attributes = StoredAttributes::default()
        .by_row("components", first_column, seen.components.data)
        .numbered("explained_variance", first_column, "explained_variance", seen.variance)
        .numbered("explained_variance_ratio", first_column, "explained_variance_ratio", seen.ratio)
        .numbered("singular_values", first_column, "singular_values", seen.singular)
        .by_feature("mean", "mean", seen.mean.clone())
        .by_feature("var", "var", seen.var)
        .float("noise_variance", seen.noise)
        .int("n_components", count)
        .int("n_samples_seen", seen.rows)
        .int("batch_size", size);
    Ok(LinearMap { back: Some(back), ..LinearMap::new("incrementalpca", map, seen.mean, attributes) })
}

/// `sklearn.utils.gen_batches`: a last batch below `least` rows joins the one before.
fn batches(n: usize, size: usize, least: usize) -> Vec<std::ops::Range<usize>> {
    let mut out = Vec::new();
    let mut start = 0;
    for _ in 0..n / size {
        let end = start + size;
        if end + least > n {
            continue;
        }
        out.push(start..end);
        start = end;
    }
    if start < n {
        out.push(start..n);
    }
    out
}

/// The components after one more batch.
fn step(seen: Option<RowsSoFar>, data: &Data, batch: std::ops::Range<usize>, count: usize) -> Result<RowsSoFar, Error> {
    let (rows, d) = (batch.len(), data.width());
    let values = |j: usize| &data.features[j].values[batch.clone()];
    let own: Vec<f64> = (0..d).map(|j| values(j).iter().sum::<f64>() / rows as f64).collect();
    let square = |j: usize| values(j).iter().map(|v| (v - own[j]).powi(2)).sum::<f64>();
    let squares: Vec<f64> = (0..d).map(square).collect();
    let block = centred(data, batch, &own);
    let before = seen.as_ref().map_or(0, |seen| seen.rows);
    let total = before + rows;
    let (mean, var, stacked) = match &seen {
        None => (own, squares.iter().map(|s| s / rows as f64).collect::<Vec<f64>>(), block),
        Some(seen) => {
            let share = before as f64 * rows as f64 / total as f64;
            let gap: Vec<f64> = seen.mean.iter().zip(&own).map(|(a, b)| a - b).collect();
            let mean: Vec<f64> = own.iter().zip(&gap).map(|(m, gap)| m + gap * before as f64 / total as f64).collect();
            let var =
                (0..d).map(|j| (seen.var[j] * before as f64 + squares[j] + gap[j] * gap[j] * share) / total as f64);
            let mut stacked = Matrix::zeros(seen.singular.len() + rows + 1, d);
            for (j, gap) in gap.iter().enumerate() {
                let old = seen.singular.iter().enumerate().map(|(k, s)| s * seen.components.row(k)[j]);
                let column: Vec<f64> = old.chain(block.column(j).iter().copied()).chain([share.sqrt() * gap]).collect();
                stacked.column_mut(j).copy_from_slice(&column);
            }
            (mean, var.collect(), stacked)
        }
    };
    let (_, singular, v) = dense::svd(&stacked).ok_or_else(|| {
        Error::new(ErrorKind::NoConvergence, "the singular value decomposition does not converge")
            .help("scale the features first, for example with StandardScaler")
    })?;
    let all = var.iter().sum::<f64>() * total as f64;
    let variance: Vec<f64> = singular.iter().map(|s| s * s / (total as f64 - 1.0)).collect();
    let noise = match count == rows || count == d {
        true => 0.0,
        false => variance[count..].iter().sum::<f64>() / (variance.len() - count) as f64,
    };
    Ok(RowsSoFar {
        rows: total,
        mean,
        var,
        components: components(&v, count),
        ratio: singular.iter().take(count).map(|s| s * s / all).collect(),
        singular: singular[..count].to_vec(),
        variance: variance[..count].to_vec(),
        noise,
    })
}
