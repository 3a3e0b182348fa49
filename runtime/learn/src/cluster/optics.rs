//! OPTICS (Ankerst, Breunig, Kriegel and Sander 1999): rows in the order of their reachability, and clusters from its
//! steep places, as in `sklearn/cluster/_optics.py`.

use onrush_wire::learn::Param;

use super::ClusteredRows;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::neighbors::search::{Index, Metric, NeighborSearch};
use crate::params;
use crate::run::Run;
use crate::stored::StoredAttributes;
use crate::tensor::Tensor;

/// Rows in the order in which they are reached.
struct Reachability {
    ordering: Vec<usize>,
    /// For each row the distance to its `min_samples`-th neighbour, itself included.
    core: Vec<f64>,
    reachability: Vec<f64>,
    /// The row from which a row is reached. -1 if there is none.
    predecessor: Vec<i64>,
}

/// Trains `OPTICS`.
///
/// # Errors
/// If `min_samples`, `min_cluster_size` or `eps` do not fit. If the user stops the work.
pub fn fit(params: &params::OPTICS, data: &Data, run: &Run<'_>) -> Result<ClusteredRows, Error> {
    let n = data.rows;
    let samples = size("min_samples", &params.min_samples, n)?;
    let least = match &params.min_cluster_size {
        Param::None => samples,
        given => size("min_cluster_size", given, n)?,
    };
    let max_eps = params.max_eps.unwrap_or(f64::INFINITY);
    let reached = Reachability::new(data, samples, max_eps, Metric::of(&params.metric, params.p), run)?;
    let mut attributes = StoredAttributes::default();
    let labels = match params.cluster_method.as_str() {
        "dbscan" => {
            let eps = params.eps.unwrap_or(max_eps);
            if eps > max_eps {
                let message = format!("`eps` is {eps}: at most `max_eps`, {max_eps}");
                return Err(Error::new(ErrorKind::Parameter, message));
            }
            reached.cut(eps)
        }
        _ => {
            let plot = Plot::new(&reached);
            let clusters = plot.clusters(1.0 - params.xi, samples, least, params.predecessor_correction);
            let rows = clusters.iter().flat_map(|(start, end)| [*start as f64, *end as f64]).collect();
            attributes = attributes.counts("cluster_hierarchy", &["start", "end"], rows);
            plot.labels(&clusters)
        }
    };
    let floats = |values: &[usize]| values.iter().map(|v| *v as f64).collect::<Vec<f64>>();
    let attributes = attributes
        .counts("ordering", &["row"], floats(&reached.ordering))
        .numbered("reachability", "row", "reachability", reached.reachability)
        .numbered("core_distances", "row", "core_distance", reached.core)
        .counts("predecessor", &["row"], reached.predecessor.iter().map(|v| *v as f64).collect());
    let count = labels.iter().fold(-1.0f64, |a, b| a.max(*b)) + 1.0;
    let noise = labels.iter().filter(|label| **label < 0.0).count();
    let notes = vec![format!("{count} clusters and {noise} rows of noise")];
    Ok(ClusteredRows { labels: Tensor::vector(labels), attributes, notes })
}

/// A number of rows: an integer from 2, or a share of all rows.
fn size(name: &str, given: &Param, rows: usize) -> Result<usize, Error> {
    let found = match (given, given.as_f64()) {
        (Param::Float(share), _) if *share >= 0.0 && *share <= 1.0 => ((share * rows as f64) as usize).max(2),
        (_, Some(count)) if count >= 2.0 && count.fract() == 0.0 => count as usize,
        (other, _) => {
            let message = format!("`{name}` is {other}: an integer from 2, or a share between 0 and 1");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    match found <= rows {
        true => Ok(found),
        false => {
            let message = format!("`{name}` is {found}, and there are {rows} rows: at most as many as rows");
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

/// A distance with 15 decimals: equal distances that differ by rounding count as equal.
fn rounded(distance: f64) -> f64 {
    const DIGITS: f64 = 1e15;
    let scaled = distance * DIGITS;
    if scaled.is_finite() { scaled.round_ties_even() / DIGITS } else { distance }
}

impl Reachability {
    fn new(data: &Data, samples: usize, max_eps: f64, metric: Metric, run: &Run<'_>) -> Result<Self, Error> {
        let (n, width) = (data.rows, data.width());
        let points = data.row_major();
        let index = Index::new(metric, &points, width);
        let queries = index.prepared(points.clone());
        run.stage("core distances");
        let last = |list: Vec<(f64, u32)>| Ok(list.last().map_or(f64::INFINITY, |(distance, _)| *distance));
        let core = index.search(&queries, NeighborSearch::Count(samples), run, last)?;
        let core: Vec<f64> = core.into_iter().map(|d| if d > max_eps { f64::INFINITY } else { rounded(d) }).collect();
        let (mut reachability, mut predecessor) = (vec![f64::INFINITY; n], vec![-1; n]);
        let mut open: Vec<usize> = (0..n).collect();
        let mut ordering = Vec::with_capacity(n);
        run.stage("order of the rows");
        let row = |i: usize| &points[i * width..(i + 1) * width];
        while !open.is_empty() {
            if ordering.len() % 256 == 0 {
                run.check(|| format!("{} of {n} rows", ordering.len()))?;
                (run.steps)(ordering.len() as u64, n as u64);
            }
            // The first one of equal reachabilities.
            let next =
                (0..open.len()).fold(0, |a, b| if reachability[open[b]] < reachability[open[a]] { b } else { a });
            let point = open.remove(next);
            ordering.push(point);
            if core[point] == f64::INFINITY {
                continue;
            }
            for other in &open {
                let distance = metric.finished(metric.reduced(row(point), row(*other)));
                let reach = rounded(distance.max(core[point]));
                if distance <= max_eps && reach < reachability[*other] {
                    reachability[*other] = reach;
                    predecessor[*other] = point as i64;
                }
            }
        }
        Ok(Reachability { ordering, core, reachability, predecessor })
    }

    /// The clusters of DBSCAN with this radius.
    fn cut(&self, eps: f64) -> Vec<f64> {
        let mut labels = vec![0.0; self.ordering.len()];
        let mut label = -1.0;
        for row in &self.ordering {
            let (is_far, is_core) = (self.reachability[*row] > eps, self.core[*row] <= eps);
            label += f64::from(u8::from(is_far && is_core));
            labels[*row] = if is_far && !is_core { -1.0 } else { label };
        }
        labels
    }
}

/// The reachabilities in their order, with infinity at the end.
struct Plot<'a> {
    values: Vec<f64>,
    predecessor: Vec<i64>,
    ordering: &'a [usize],
}

/// A steep area downwards.
#[derive(Clone, Copy)]
struct Steep {
    start: usize,
    end: usize,
    /// The largest reachability between the end of the area and the current place.
    between: f64,
}

impl<'a> Plot<'a> {
    fn new(reached: &'a Reachability) -> Self {
        let ordering = &reached.ordering;
        let values = ordering.iter().map(|row| reached.reachability[*row]).chain([f64::INFINITY]).collect();
        let predecessor = ordering.iter().map(|row| reached.predecessor[*row]).collect();
        Plot { values, predecessor, ordering }
    }

    /// First and last places of clusters, smaller ones before those that hold them.
    fn clusters(&self, share: f64, samples: usize, least: usize, corrected: bool) -> Vec<(usize, usize)> {
        let n = self.ordering.len();
        let ratios: Vec<f64> = self.values.windows(2).map(|pair| pair[0] / pair[1]).collect();
        let is = |test: &dyn Fn(f64) -> bool| ratios.iter().map(|r| test(*r)).collect::<Vec<bool>>();
        let (steep_up, steep_down) = (is(&|r| r <= share), is(&|r| r >= 1.0 / share));
        let (down, up) = (is(&|r| r > 1.0), is(&|r| r < 1.0));
        let mut areas: Vec<Steep> = Vec::new();
        let mut out = Vec::new();
        let (mut place, mut between) = (0, 0.0f64);
        for at in (0..n).filter(|at| steep_up[*at] || steep_down[*at]) {
            if at < place {
                continue;
            }
            between = self.values[place..=at].iter().fold(between, |a, b| a.max(*b));
            // Areas below the highest place since then are over.
            areas.retain(|area| between.is_finite() && between <= self.values[area.start] * share);
            areas.iter_mut().for_each(|area| area.between = area.between.max(between));
            if steep_down[at] {
                let end = extended(&steep_down, &up, at, samples);
                areas.push(Steep { start: at, end, between: 0.0 });
                place = end + 1;
                between = self.values[place];
                continue;
            }
            let end = extended(&steep_up, &down, at, samples);
            place = end + 1;
            between = self.values[place];
            let found = areas.iter().filter_map(|area| self.cluster(area, (at, end), share, least, corrected));
            let found: Vec<(usize, usize)> = found.collect();
            out.extend(found.into_iter().rev());
        }
        out
    }

    /// The cluster between a steep area downwards and one upwards.
    fn cluster(
        &self,
        area: &Steep,
        (up_start, up_end): (usize, usize),
        share: f64,
        least: usize,
        corrected: bool,
    ) -> Option<(usize, usize)> {
        let values = &self.values;
        let (mut start, mut end) = (area.start, up_end);
        if values[end + 1] * share < area.between {
            return None;
        }
        let most = values[area.start];
        if most * share >= values[end + 1] {
            while values[start + 1] > values[end + 1] && start < area.end {
                start += 1;
            }
        } else if values[end + 1] * share >= most {
            while end > up_start && values[end - 1] > most {
                end -= 1;
            }
        }
        if corrected {
            (start, end) = self.corrected(start, end)?;
        }
        let fits = end + 1 >= start + least && start <= area.end && end >= up_start;
        fits.then_some((start, end))
    }

    /// A cluster without last rows that are reached from outside of it (Schubert and Gertz 2018).
    fn corrected(&self, start: usize, mut end: usize) -> Option<(usize, usize)> {
        while start < end {
            let from = self.predecessor[end];
            if self.values[start] > self.values[end] || (start..end).any(|i| from == self.ordering[i] as i64) {
                return Some((start, end));
            }
            end -= 1;
        }
        None
    }

    /// A label for each cluster that holds no other one.
    fn labels(&self, clusters: &[(usize, usize)]) -> Vec<f64> {
        let mut in_order = vec![-1.0; self.ordering.len()];
        let mut label = 0.0;
        for (start, end) in clusters {
            if in_order[*start..=*end].iter().all(|l| *l == -1.0) {
                in_order[*start..=*end].fill(label);
                label += 1.0;
            }
        }
        let mut out = vec![-1.0; in_order.len()];
        self.ordering.iter().zip(in_order).for_each(|(row, label)| out[*row] = label);
        out
    }
}

/// The end of a steep area from a start on: the last steep place before too many flat ones or a turn.
fn extended(steep: &[bool], turns: &[bool], start: usize, samples: usize) -> usize {
    let (mut flat, mut end) = (0, start);
    for at in start..steep.len() {
        if steep[at] {
            (flat, end) = (0, at);
        } else if turns[at] {
            return end;
        } else {
            flat += 1;
            if flat > samples {
                break;
            }
        }
    }
    end
}
