//! Bins features into intervals (scikit-learn's `KBinsDiscretizer`). All rows are used; scikit-learn subsamples
//! 200,000.

use onrush_wire::learn::Param;
use serde::{Deserialize, Serialize};

use super::{each, largest, long, lying, numbers, outputs};
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::quantile::{self, Method};
use crate::run::Run;
use crate::sums;
use crate::tensor::Tensor;

/// `KBinsDiscretizer`.
#[derive(Serialize, Deserialize)]
pub struct Discretizer {
    /// For each feature the edges of its bins, in ascending order. -infinity and infinity for a constant feature.
    edges: Vec<Tensor>,
    /// Whether each bin has a column.
    one_hot: bool,
    notes: Vec<String>,
}

/// The largest number of bins of a feature.
const MOST_BINS: usize = 1 << 20;
/// Narrower bins are joined.
const NARROW: f64 = 1e-8;
/// `max_iter` and `tol` of scikit-learn's `KMeans`.
const ITERATIONS: usize = 300;
const TOLERANCE: f64 = 1e-4;

/// Finds the edges of the bins.
pub fn fit(params: &params::KBinsDiscretizer, data: &Data, run: &Run<'_>) -> Result<Discretizer, Error> {
    let wanted = counts(&params.n_bins, data)?;
    let (strategy, method) = (params.strategy.as_str(), params.quantile_method.as_str());
    if strategy == "quantile" && method == "linear" && data.weight.is_some() {
        let message = "`quantile_method` is \"linear\", which takes no sample weights";
        return Err(
            Error::new(ErrorKind::Parameter, message).help("take \"averaged_inverted_cdf\" or \"inverted_cdf\"")
        );
    }
    let edges = each(data, run, |j, column| {
        // Rows of weight 0 do not count.
        let kept = |row: &usize| data.weight_of(*row) > 0.0;
        let (values, weights): (Vec<f64>, Option<Vec<f64>>) = match &data.weight {
            None => (column.values.clone(), None),
            Some(w) => (
                (0..data.rows).filter(kept).map(|row| column.values[row]).collect(),
                Some((0..data.rows).filter(kept).map(|row| w[row]).collect()),
            ),
        };
        let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
        if low >= high {
            return Ok(vec![f64::NEG_INFINITY, f64::INFINITY]);
        }
        let edges = match strategy {
            "uniform" => return Ok(evenly(low, high, wanted[j])),
            "kmeans" => centres(values, weights, wanted[j], low, high, run)?,
            _ => quantiles(values, weights, &evenly(0.0, 100.0, wanted[j]), method),
        };
        let mut before = f64::NEG_INFINITY;
        // Each edge is compared with the one before it, whether that one stays or not, as in scikit-learn.
        let wide = |edge: &f64| edge - std::mem::replace(&mut before, *edge) > NARROW;
        let edges: Vec<f64> = edges.into_iter().filter(wide).collect();
        Ok(if edges.len() < 2 { vec![f64::NEG_INFINITY, f64::INFINITY] } else { edges })
    })?;
    let mut notes = Vec::new();
    for ((column, edges), wanted) in data.features.iter().zip(&edges).zip(&wanted) {
        if edges.len() == 2 && edges[0].is_infinite() {
            notes.push(format!("`{}` is constant: it has one bin", column.name));
        } else if edges.len() - 1 < *wanted {
            let joined =
                format!("`{}` has {} bins of {wanted}: narrower ones were joined", column.name, edges.len() - 1);
            notes.push(joined);
        }
    }
    let one_hot = params.encode != "ordinal";
    Ok(Discretizer { edges: edges.into_iter().map(Tensor::vector).collect(), one_hot, notes })
}

/// The number of bins of each feature.
fn counts(n_bins: &Param, data: &Data) -> Result<Vec<usize>, Error> {
    let count = |value: &Param| match value {
        Param::Int(n) if *n >= 2 && *n <= MOST_BINS as i64 => Ok(*n as usize),
        other => {
            let message = format!("`n_bins` is {other}: expected an integer between 2 and {MOST_BINS}");
            Err(Error::new(ErrorKind::Parameter, message))
        }
    };
    match n_bins {
        Param::List(list) if list.len() == data.width() => list.iter().map(count).collect(),
        Param::List(list) => {
            let message = format!("`n_bins` has {} numbers for {} features", list.len(), data.width());
            Err(Error::new(ErrorKind::Parameter, message).help("give one number for all, or one for each feature"))
        }
        one => Ok(vec![count(one)?; data.width()]),
    }
}

/// `numpy.linspace(low, high, n + 1)`.
fn evenly(low: f64, high: f64, n: usize) -> Vec<f64> {
    let width = high - low;
    let step = width / n as f64;
    // The width of the largest numbers overflows.
    let at = |k: usize| match step.is_finite() {
        true => low + k as f64 * step,
        false => low + (high / n as f64 - low / n as f64) * k as f64,
    };
    (0..n).map(at).chain([high]).collect()
}

/// Quantiles by one of NumPy's methods. Weights are above 0.
fn quantiles(mut values: Vec<f64>, weights: Option<Vec<f64>>, percents: &[f64], method: &str) -> Vec<f64> {
    let method = match method {
        "linear" => Method::Linear,
        "inverted_cdf" => Method::InvertedCdf,
        _ => Method::AveragedInvertedCdf,
    };
    let Some(weights) = weights else { return quantile::percentiles(&mut values, percents, method) };
    let mut sorted: Vec<(f64, f64)> = values.into_iter().zip(weights).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    quantile::weighted(&sorted, percents.iter().map(|p| p / 100.0), method == Method::AveragedInvertedCdf)
}

/// Edges half way between the centres of a k-means clustering that starts in the middle of bins of equal width: Lloyd's
/// algorithm over sorted values, where clusters are ranges and sums are differences of running sums.
fn centres(
    values: Vec<f64>,
    weights: Option<Vec<f64>>,
    k: usize,
    low: f64,
    high: f64,
    run: &Run<'_>,
) -> Result<Vec<f64>, Error> {
    let mut rows: Vec<(f64, f64)> = match weights {
        Some(weights) => values.into_iter().zip(weights).collect(),
        None => values.into_iter().map(|v| (v, 1.0)).collect(),
    };
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let x: Vec<f64> = rows.iter().map(|(x, _)| *x).collect();
    let mean = sums::mean(&x, None);
    let var = sums::mean(&x.iter().map(|x| (x - mean) * (x - mean)).collect::<Vec<f64>>(), None);
    let x: Vec<f64> = x.iter().map(|x| x - mean).collect();
    // Running sums of weights and of weighted values.
    let mut running = vec![(0.0, 0.0)];
    for (x, (_, w)) in x.iter().zip(&rows) {
        let (weight, sum) = running[running.len() - 1];
        running.push((weight + w, sum + w * x));
    }
    let uniform = evenly(low, high, k);
    let mut centres: Vec<f64> = uniform.windows(2).map(|pair| (pair[0] + pair[1]) * 0.5 - mean).collect();
    let mut ends_before: Vec<usize> = Vec::new();
    for iteration in 0..ITERATIONS {
        run.check(|| format!("iteration {iteration} of k-means"))?;
        let ends = ends(&x, &centres);
        let mut next = means(&x, &rows, &running, &ends, &centres);
        next.sort_by(f64::total_cmp);
        let shift: f64 = next.iter().zip(&centres).map(|(a, b)| (a - b) * (a - b)).sum();
        centres = next;
        if ends == ends_before || shift <= TOLERANCE * var {
            break;
        }
        ends_before = ends;
    }
    let between = centres.windows(2).map(|pair| (pair[0] + mean + (pair[1] + mean)) * 0.5);
    Ok([low].into_iter().chain(between).chain([high]).collect())
}

/// The end of each cluster's range of sorted values. A value half way belongs to the lower cluster.
fn ends(x: &[f64], centres: &[f64]) -> Vec<usize> {
    let inner = centres.windows(2).map(|pair| {
        let middle = (pair[0] + pair[1]) * 0.5;
        x.partition_point(|v| *v <= middle)
    });
    inner.chain([x.len()]).collect()
}

/// The mean of each cluster. An empty one gets the value that is farthest from its centre, and that value leaves its
/// cluster.
fn means(x: &[f64], rows: &[(f64, f64)], running: &[(f64, f64)], ends: &[usize], centres: &[f64]) -> Vec<f64> {
    let start = |c: usize| if c == 0 { 0 } else { ends[c - 1] };
    let mut sums: Vec<(f64, f64)> = (0..ends.len())
        .map(|c| {
            let (from, to) = (running[start(c)], running[ends[c].max(start(c))]);
            (to.0 - from.0, to.1 - from.1)
        })
        .collect();
    let empty: Vec<usize> = (0..ends.len()).filter(|c| ends[*c] <= start(*c)).collect();
    if !empty.is_empty() {
        let mut far: Vec<(f64, usize, usize)> = (0..ends.len())
            .flat_map(|c| (start(c)..ends[c]).map(move |row| (c, row)))
            .map(|(c, row)| ((x[row] - centres[c]).abs(), row, c))
            .collect();
        far.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (cluster, (_, row, from)) in empty.into_iter().zip(far) {
            let weight = rows[row].1;
            sums[from] = (sums[from].0 - weight, sums[from].1 - weight * x[row]);
            sums[cluster] = (weight, weight * x[row]);
        }
    }
    let mean = |(c, (weight, sum)): (usize, &(f64, f64))| if *weight > 0.0 { sum / weight } else { centres[c] };
    sums.iter().enumerate().map(mean).collect()
}

impl Discretizer {
    /// The number of the bin of each value.
    fn bins(&self, values: &[f64], j: usize) -> Vec<u32> {
        let edges = &self.edges[j].data;
        let inner = &edges[1..edges.len() - 1];
        values.iter().map(|v| inner.partition_point(|edge| edge <= v) as u32).collect()
    }

    fn count(&self, j: usize) -> usize {
        self.edges[j].data.len() - 1
    }

    fn places(&self) -> Vec<(usize, u32)> {
        (0..self.edges.len()).flat_map(|j| (0..self.count(j) as u32).map(move |bin| (j, bin))).collect()
    }
}

impl Model for Discretizer {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        match self.one_hot {
            false => features.iter().map(|f| Role::Feature(f.name.clone(), Kind::Number)).collect(),
            true => {
                let name = |(j, bin): &(usize, u32)| format!("{}_{bin}", features[*j].name);
                self.places().iter().map(|place| Role::Feature(name(place), Kind::Number)).collect()
            }
        }
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        if !self.one_hot {
            return Ok(outputs(wanted, |j| {
                self.bins(&data.features[j].values, j).into_iter().map(f64::from).collect()
            }));
        }
        let places = self.places();
        let mut bins: Vec<Vec<u32>> = vec![Vec::new(); self.edges.len()];
        for k in wanted {
            let j = places[*k].0;
            if bins[j].is_empty() {
                bins[j] = self.bins(&data.features[j].values, j);
            }
        }
        Ok(outputs(wanted, |k| {
            let (j, bin) = places[k];
            bins[j].iter().map(|b| f64::from(u8::from(*b == bin))).collect()
        }))
    }

    fn inverse(&self, data: &Data, features: &[Field]) -> Result<Option<Vec<Column>>, Error> {
        let centre = |j: usize, bin: usize| {
            let edges = &self.edges[j].data;
            edges.get(bin + 1).map_or(f64::NAN, |high| (edges[bin] + high) / 2.0)
        };
        if !self.one_hot {
            let bin = |j: usize, v: f64| if v >= 0.0 { centre(j, v as usize) } else { f64::NAN };
            return Ok(Some(numbers(features, |j| data.features[j].values.iter().map(|v| bin(j, *v)).collect())));
        }
        let first = |j: usize| (0..j).map(|j| self.count(j)).sum::<usize>();
        Ok(Some(numbers(features, |j| {
            let block = &data.features[first(j)..first(j + 1)];
            let found = largest(block, data.rows).into_iter();
            found.map(|bin| bin.map_or(f64::NAN, |bin| centre(j, bin))).collect()
        })))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        let counts: Vec<i64> = (0..self.edges.len()).map(|j| self.count(j) as i64).collect();
        match name {
            "bin_edges" => {
                let lists: Vec<Vec<f64>> = self.edges.iter().map(|e| e.data.clone()).collect();
                Some(long(features, &lists, "edge", |all| Values::Floats(all.into_iter().copied().collect())))
            }
            "n_bins" => Some(Attribute::Frame(vec![
                ("feature".to_string(), Values::Strs(features.iter().map(|f| f.name.clone()).collect())),
                ("n_bins".to_string(), Values::Ints(counts)),
            ])),
            _ => None,
        }
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let ascending = |e: &Tensor| e.data.len() >= 2 && e.data.windows(2).all(|pair| pair[0] <= pair[1]);
        match self.edges.len() == features && self.edges.iter().all(ascending) {
            true => Ok(()),
            false => Err(lying(format!("the edges of bins do not fit {features} features"))),
        }
    }

    fn bytes(&self) -> u64 {
        self.edges.iter().map(Tensor::bytes).sum()
    }
}
