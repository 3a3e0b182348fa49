//! k-means by Lloyd's iterations, with the bounds of Hamerly (SDM 2010). A row is compared with the centres only if the
//! triangle inequality leaves its cluster open. The iterations, the first centres and the relocation of empty clusters
//! are scikit-learn's (`sklearn/cluster/_kmeans.py`).

use onrush_wire::learn::Param;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{kmeans_device, labels};
use crate::data::Data;
use crate::device;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::neighbors::tile::{self, BLOCK, LANES, Panels};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::sums;
use crate::tensor::Tensor;

/// Centres of clusters.
#[derive(Serialize, Deserialize)]
pub struct KMeans {
    /// clusters x features.
    pub centers: Tensor,
    /// The cluster of each row of the training.
    pub labels: Tensor,
    #[serde(with = "crate::tensor::scalar")]
    pub inertia: f64,
    pub n_iter: u64,
    pub notes: Vec<String>,
}

/// The rows of a training, minus the mean of each feature.
pub(super) struct Rows {
    width: usize,
    /// Row after row.
    points: Vec<f64>,
    /// The sum of squares of each row.
    squares: Vec<f64>,
    weight: Option<Vec<f64>>,
}

impl Rows {
    pub(super) fn new(data: &Data, mean: &[f64], weight: Option<Vec<f64>>) -> Self {
        let width = data.width();
        let points = data.shifted(mean);
        let squares = points.par_chunks(width).map(tile::square).collect();
        Rows { width, points, squares, weight }
    }

    fn count(&self) -> usize {
        self.squares.len()
    }

    #[inline]
    fn row(&self, row: usize) -> &[f64] {
        &self.points[row * self.width..(row + 1) * self.width]
    }

    /// The rows `first + block`. The last one stands in for those that a short block lacks.
    #[inline(always)]
    fn block(&self, first: usize, block: &[u32]) -> [&[f64]; BLOCK] {
        std::array::from_fn(|r| self.row(first + block[r.min(block.len() - 1)] as usize))
    }

    #[inline]
    fn weight(&self, row: usize) -> f64 {
        self.weight.as_ref().map_or(1.0, |w| w[row])
    }
}

/// Trains `KMeans`.
///
/// # Errors
/// If there are fewer rows than clusters, or the first centres do not fit.
pub fn fit(params: &params::KMeans, data: &Data, run: &Run<'_>) -> Result<KMeans, Error> {
    fit_from(params, data, Mt19937::new(params::seed(params.random_state)), run)
}

/// [`fit`] with random numbers of which some were drawn before.
pub(crate) fn fit_from(
    params: &params::KMeans,
    data: &Data,
    mut random: Mt19937,
    run: &Run<'_>,
) -> Result<KMeans, Error> {
    let (clusters, max_iter) = (params.n_clusters, params.max_iter as u64);
    if data.rows < clusters {
        let message =
            format!("`n_clusters` is {clusters}, and there are {} rows: at least as many rows as clusters", data.rows);
        return Err(
            Error::new(ErrorKind::Parameter, message).help(format!("set `n_clusters` to at most {}", data.rows))
        );
    }
    if data.weight.as_ref().is_some_and(|w| w.iter().sum::<f64>() <= 0.0) {
        return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: at least one must be above 0"));
    }
    let init = Init::of(&params.init, clusters, data.width())?;
    let trainings = init.trainings(&params.n_init)?;
    run.stage("first centres");
    let mean = match &data.device {
        Some(device) => device::statistics(device)?.iter().map(|column| device::mean(column, data.rows)).collect(),
        None => data.means(),
    };
    let mut train: Box<dyn FnMut() -> Result<Training, Error>> = match &data.device {
        Some(device) => {
            let rows = kmeans_device::ClusterRows::new(device, data.rows, &mean)?;
            let tol = params.tol * rows.mean_square()?;
            let (init, mut random) = (&init, random);
            Box::new(move || {
                let first = rows.centers(init, clusters, &mut random, run)?;
                rows.training(first, max_iter, tol, run)
            })
        }
        None => {
            let rows = Rows::new(data, &mean, data.weight.clone());
            let tol = params.tol * mean_square(&rows);
            let (init, mean) = (&init, &mean);
            Box::new(move || {
                let first = init.centers(&rows, clusters, mean, &mut random, run)?;
                Training::run(&rows, first, max_iter, tol, run)
            })
        }
    };
    let mut best: Option<Training> = None;
    for number in 0..trainings {
        let training = train()?;
        (run.steps)(number as u64 + 1, trainings as u64);
        let better = best.as_ref().is_none_or(|best| {
            training.inertia < best.inertia && !same_clusters(&training.labels, &best.labels, clusters)
        });
        if better {
            best = Some(training);
        }
    }
    let Some(best) = best else { return Err(Error::new(ErrorKind::Parameter, "`n_init` is 0: at least 1")) };
    let mut centers = best.centers;
    let width = data.width();
    centers.chunks_exact_mut(width).for_each(|c| c.iter_mut().zip(&mean).for_each(|(c, m)| *c += m));
    if centers.iter().any(|c| !c.is_finite()) {
        let message = "the centres are not finite numbers: the values are too large";
        return Err(
            Error::new(ErrorKind::Overflow, message).help("scale the features, for example with `StandardScaler`")
        );
    }
    let mut notes = Vec::new();
    let mut used = vec![false; clusters];
    best.labels.iter().for_each(|l| used[*l as usize] = true);
    let distinct = used.iter().filter(|u| **u).count();
    if distinct < clusters {
        notes.push(format!(
            "{distinct} of {clusters} clusters have rows: there may be fewer distinct rows than clusters"
        ));
    }
    if !best.converged {
        notes.push(format!(
            "stopped after `max_iter` = {max_iter} iterations; the centres still moved by more than `tol`"
        ));
    }
    Ok(KMeans {
        centers: Tensor::new(vec![clusters, width], centers),
        labels: Tensor::vector(best.labels.iter().map(|l| f64::from(*l)).collect()),
        inertia: best.inertia,
        n_iter: best.n_iter,
        notes,
    })
}

/// The mean of the squared values: the mean variance of the features, because their means are 0.
fn mean_square(rows: &Rows) -> f64 {
    let total = sums::over_rows(rows.count(), |r| rows.squares[r].iter().sum::<f64>(), |a, b| a + b);
    total.unwrap_or(0.0) / (rows.count() * rows.width) as f64
}

fn same_clusters(a: &[u32], b: &[u32], clusters: usize) -> bool {
    let mut mapping = vec![u32::MAX; clusters];
    a.iter().zip(b).all(|(a, b)| {
        let to = &mut mapping[*a as usize];
        if *to == u32::MAX {
            *to = *b;
        }
        *to == *b
    })
}

/// How the first centres are found.
pub enum Init {
    PlusPlus,
    Random,
    Centers(Vec<f64>),
}

impl Init {
    fn of(init: &Param, clusters: usize, width: usize) -> Result<Self, Error> {
        match init {
            Param::Str(word) if word == "k-means++" => Ok(Init::PlusPlus),
            Param::Str(word) if word == "random" => Ok(Init::Random),
            Param::List(_) => {
                let values = params::floats(init).unwrap_or_default();
                let wanted = clusters * width;
                if values.len() != wanted || values.iter().any(|v| !v.is_finite()) {
                    let finite = values.iter().filter(|v| v.is_finite()).count();
                    let expected = format!("{wanted}, the {clusters} centres of {width} features one after the other");
                    let message = format!("`init` has {finite} finite numbers: expected {expected}");
                    return Err(Error::new(ErrorKind::Parameter, message));
                }
                Ok(Init::Centers(values))
            }
            other => {
                let message = format!("`init` is {other}: \"k-means++\", \"random\" or a list of centres");
                Err(Error::new(ErrorKind::Parameter, message))
            }
        }
    }

    fn trainings(&self, n_init: &Param) -> Result<usize, Error> {
        match (n_init, self) {
            (Param::Str(word), _) if word != "auto" => {
                Err(Error::new(ErrorKind::Parameter, format!("`n_init` is {word:?}: \"auto\" or an integer")))
            }
            (Param::Int(count), _) if *count < 1 => {
                Err(Error::new(ErrorKind::Parameter, format!("`n_init` is {count}: at least 1")))
            }
            (_, Init::Centers(_)) => Ok(1),
            (Param::Int(count), _) => Ok(*count as usize),
            (Param::Str(_), Init::Random) => Ok(10),
            (Param::Str(_), Init::PlusPlus) => Ok(1),
            (other, _) => Err(Error::new(ErrorKind::Parameter, format!("`n_init` is {other}: \"auto\" or an integer"))),
        }
    }

    pub(super) fn centers(
        &self,
        rows: &Rows,
        clusters: usize,
        mean: &[f64],
        random: &mut Mt19937,
        run: &Run<'_>,
    ) -> Result<Vec<f64>, Error> {
        let picked = match self {
            Init::Centers(values) => {
                return Ok(values.iter().enumerate().map(|(i, v)| v - mean[i % mean.len()]).collect());
            }
            Init::PlusPlus => plus_plus(rows, clusters, random, run)?,
            Init::Random => distinct_rows((0..rows.count()).map(|r| rows.weight(r)).collect(), clusters, random)?,
        };
        Ok(picked.iter().flat_map(|row| rows.row(*row).iter().copied()).collect())
    }
}

/// Cumulative sums of the weights, divided by their total: what `RandomState.choice` searches in.
fn cumulative(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut total = 0.0;
    let mut sums: Vec<f64> = weights
        .map(|w| {
            total += w;
            total
        })
        .collect();
    sums.iter_mut().for_each(|s| *s /= total);
    sums
}

/// `RandomState.choice(n, size, replace=False, p=weights)` of NumPy.
pub fn distinct_rows(mut p: Vec<f64>, size: usize, random: &mut Mt19937) -> Result<Vec<usize>, Error> {
    let count = p.len();
    let positive = p.iter().filter(|p| **p > 0.0).count();
    if positive < size {
        let message = format!("`n_clusters` is {size}, and {positive} rows have a weight above 0");
        return Err(Error::new(ErrorKind::Weight, message));
    }
    let mut found: Vec<usize> = Vec::new();
    while found.len() < size {
        let draws: Vec<f64> = (found.len()..size).map(|_| random.uniform()).collect();
        found.iter().for_each(|row| p[*row] = 0.0);
        let sums = cumulative(p.iter().copied());
        let before = found.len();
        for draw in draws {
            let row = sums.partition_point(|s| *s <= draw).min(count - 1);
            if !found.contains(&row) {
                found.push(row);
            }
        }
        if found.len() == before {
            // The remaining weights vanish beside the largest ones, so that no draw hits them.
            let rest: Vec<usize> =
                (0..count).filter(|r| p[*r] > 0.0 && !found.contains(r)).take(size - before).collect();
            found.extend(rest);
        }
    }
    Ok(found)
}

/// Greedy k-means++ (Arthur and Vassilvitskii 2007): of `2 + ln k` candidates the one that lowers the sum of squared
/// distances most.
fn plus_plus(rows: &Rows, clusters: usize, random: &mut Mt19937, run: &Run<'_>) -> Result<Vec<usize>, Error> {
    let trials = 2 + (clusters as f64).ln() as usize;
    let count = rows.count();
    let sums = cumulative((0..count).map(|r| rows.weight(r)));
    let draw = random.uniform();
    let mut picked = vec![sums.partition_point(|s| *s <= draw).min(count - 1)];
    let mut closest = vec![f64::INFINITY; count];
    let mut potential = nearer(rows, &picked, &closest);
    closest = column(&potential.1, rows.count(), 0);
    let mut cumulated = vec![0.0; count];
    while picked.len() < clusters {
        run.check(|| format!("{} of {clusters} first centres", picked.len()))?;
        let mut total = 0.0;
        for (row, out) in cumulated.iter_mut().enumerate() {
            total += rows.weight(row) * closest[row];
            *out = total;
        }
        let best = potential.0.iter().copied().fold(f64::INFINITY, f64::min);
        let draws = (0..trials).map(|_| random.uniform() * best).collect::<Vec<f64>>();
        let candidates: Vec<usize> =
            draws.iter().map(|d| cumulated.partition_point(|c| c < d).min(count - 1)).collect();
        potential = nearer(rows, &candidates, &closest);
        let winner = (0..trials).fold(0, |a, b| if potential.0[b] < potential.0[a] { b } else { a });
        picked.push(candidates[winner]);
        closest = column(&potential.1, rows.count(), winner);
    }
    Ok(picked)
}

/// The rows that k-means++ picks as first centres.
pub(crate) fn first_rows(
    data: &Data,
    clusters: usize,
    random: &mut Mt19937,
    run: &Run<'_>,
) -> Result<Vec<usize>, Error> {
    plus_plus(&Rows::new(data, &data.means(), None), clusters, random, run)
}

fn column(matrix: &[f64], rows: usize, column: usize) -> Vec<f64> {
    matrix.par_chunks(matrix.len() / rows).map(|row| row[column]).collect()
}

/// For each candidate the weighted sum of the squared distances if it were a centre, and for each row the squared
/// distances.
fn nearer(rows: &Rows, candidates: &[usize], closest: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let points: Vec<f64> = candidates.iter().flat_map(|c| rows.row(*c).iter().copied()).collect();
    let mut squares: Vec<f64> = candidates.iter().map(|c| rows.squares[*c]).collect();
    let panels = Panels::new(&points, rows.width);
    let stride = panels.count() * LANES;
    squares.resize(stride, 0.0);
    let mut distances = vec![0.0; rows.count() * stride];
    let parts: Vec<Vec<f64>> = distances
        .par_chunks_mut(sums::CHUNK * stride)
        .enumerate()
        .map(|(chunk, out)| {
            let first = chunk * sums::CHUNK;
            pulp::Arch::new().dispatch(Nearer { rows, first, squares: &squares, panels: &panels, closest, out })
        })
        .collect();
    let mut potential = vec![0.0; candidates.len()];
    parts.iter().for_each(|part| potential.iter_mut().zip(part).for_each(|(p, v)| *p += v));
    (potential, distances)
}

/// The distances of a chunk of rows to the candidates, and their sums.
struct Nearer<'a> {
    rows: &'a Rows,
    first: usize,
    squares: &'a [f64],
    panels: &'a Panels,
    closest: &'a [f64],
    out: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Nearer<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn call(self) -> Vec<f64> {
        let stride = self.panels.count() * LANES;
        let mut potential = vec![0.0; stride];
        let wanted: Vec<u32> = (0..(self.out.len() / stride) as u32).collect();
        for block in wanted.chunks(BLOCK) {
            let points = self.rows.block(self.first, block);
            for panel in 0..self.panels.count() {
                let products = tile::products(&points, self.panels.panel(panel));
                let (squares, _) = self.squares[panel * LANES..].as_chunks::<LANES>();
                let (sums, _) = potential[panel * LANES..].as_chunks_mut::<LANES>();
                for (local, products) in block.iter().zip(&products) {
                    let row = self.first + *local as usize;
                    let (square, closest, weight) = (self.rows.squares[row], self.closest[row], self.rows.weight(row));
                    let (out, _) = self.out[*local as usize * stride + panel * LANES..].as_chunks_mut::<LANES>();
                    for lane in 0..LANES {
                        let distance = square + squares[0][lane] - 2.0 * products[lane];
                        let distance = if distance < closest { distance } else { closest };
                        let distance = if distance > 0.0 { distance } else { 0.0 };
                        out[0][lane] = distance;
                        sums[0][lane] += weight * distance;
                    }
                }
            }
        }
        potential
    }
}

/// One training from given first centres.
pub struct Training {
    pub centers: Vec<f64>,
    pub labels: Vec<u32>,
    pub inertia: f64,
    pub n_iter: u64,
    pub converged: bool,
}

/// Bounds of a row: its distance to its centre is at most `upper`, to all others at least `lower`.
#[derive(Clone, Copy)]
struct Bounds {
    upper: f64,
    lower: f64,
    label: u32,
}

/// Sums over the rows of each cluster.
#[derive(Clone)]
struct Clusters {
    /// clusters x features: weighted sums of the features.
    sums: Vec<f64>,
    weights: Vec<f64>,
    /// Rows with a weight above 0.
    counts: Vec<i64>,
    changed: u64,
}

impl Clusters {
    fn zeros(clusters: usize, width: usize) -> Self {
        Clusters {
            sums: vec![0.0; clusters * width],
            weights: vec![0.0; clusters],
            counts: vec![0; clusters],
            changed: 0,
        }
    }

    fn merge(mut self, other: &Clusters) -> Self {
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
        self.weights.iter_mut().zip(&other.weights).for_each(|(a, b)| *a += b);
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
        self.changed += other.changed;
        self
    }

    /// Adds a row, or with `sign` -1 takes it away.
    #[inline(always)]
    fn add(&mut self, cluster: usize, row: &[f64], weight: f64, sign: f64) {
        let factor = weight * sign;
        let sums = &mut self.sums[cluster * row.len()..(cluster + 1) * row.len()];
        sums.iter_mut().zip(row).for_each(|(s, x)| *s += x * factor);
        self.weights[cluster] += factor;
        self.counts[cluster] += if weight > 0.0 { sign as i64 } else { 0 };
    }
}

/// The centres of an iteration, and what the bounds need of them.
struct Centers {
    values: Vec<f64>,
    panels: Panels,
    /// The sum of squares of each centre; infinite for the rows that fill up the last panel.
    squares: Vec<f64>,
    count: usize,
    /// Half the distance of each centre to the nearest other one. Empty without [`Centers::apart`].
    half: Vec<f64>,
    /// A bound of the error of a squared distance, to be multiplied with the row's sum of squares plus `largest`.
    error: f64,
    largest: f64,
}

impl Centers {
    fn new(values: Vec<f64>, width: usize) -> Self {
        let count = values.len() / width;
        let mut squares: Vec<f64> = values.chunks_exact(width).map(tile::square).collect();
        let panels = Panels::new(&values, width);
        let largest = squares.iter().copied().fold(0.0, f64::max);
        squares.resize(panels.count() * LANES, f64::INFINITY);
        Centers { values, panels, squares, count, half: Vec::new(), error: tile::relative_error(width), largest }
    }

    /// Computes the distances between the centres, which the bounds of a training need.
    fn apart(mut self) -> Self {
        let (count, width) = (self.count, self.panels.width);
        let of = |c: usize| &self.values[c * width..(c + 1) * width];
        let nearest = |a: usize| {
            let others = (0..count).filter(|b| *b != a).map(|b| tile::distance(of(a), of(b)));
            others.fold(f64::INFINITY, f64::min).sqrt() * (0.5 - 4.0 * f64::EPSILON)
        };
        self.half = (0..count).into_par_iter().map(nearest).collect();
        self
    }

    /// The nearest centres of the rows of a block.
    #[inline(always)]
    fn nearest(&self, points: &[&[f64]; BLOCK]) -> [Lanes; BLOCK] {
        let mut nearest = [Lanes::EMPTY; BLOCK];
        for panel in 0..self.panels.count() {
            let products = tile::products(points, self.panels.panel(panel));
            let (squares, _) = self.squares[panel * LANES..].as_chunks::<LANES>();
            for (near, products) in nearest.iter_mut().zip(&products) {
                near.see(panel as f64, &squares[0], products);
            }
        }
        nearest
    }
}

impl Training {
    pub(super) fn run(rows: &Rows, first: Vec<f64>, max_iter: u64, tol: f64, run: &Run<'_>) -> Result<Self, Error> {
        let width = rows.width;
        let count = first.len() / width;
        let mut centers = Centers::new(first, width).apart();
        let mut bounds = vec![Bounds { upper: f64::INFINITY, lower: 0.0, label: u32::MAX }; rows.count()];
        let mut total = Clusters::zeros(count, width);
        let mut moved = vec![0.0; count];
        let (mut n_iter, mut strict, mut converged) = (0, false, false);
        while n_iter < max_iter {
            run.check(|| format!("{n_iter} of at most {max_iter} iterations"))?;
            n_iter += 1;
            total = assign(rows, &centers, &moved, &mut bounds, total);
            let changed = std::mem::take(&mut total.changed);
            run.stage(format!("iteration {n_iter}, {changed} rows changed their cluster"));
            let new = updated(rows, &centers, &bounds, &mut total);
            let shifts = centers.values.chunks_exact(width).zip(new.chunks_exact(width));
            let squared: Vec<f64> = shifts.map(|(a, b)| tile::distance(a, b)).collect();
            moved = squared.iter().map(|s| s.sqrt()).collect();
            centers = Centers::new(new, width).apart();
            strict = changed == 0;
            converged = strict || squared.iter().sum::<f64>() <= tol;
            if converged {
                break;
            }
        }
        if !strict {
            assign(rows, &centers, &moved, &mut bounds, total);
        }
        let labels: Vec<u32> = bounds.iter().map(|b| b.label).collect();
        let inertia = sums::over_rows(
            rows.count(),
            |range| {
                let of = |row: usize| &centers.values[labels[row] as usize * width..][..width];
                range.map(|row| tile::distance(rows.row(row), of(row)) * rows.weight(row)).sum::<f64>()
            },
            |a, b| a + b,
        );
        Ok(Training { centers: centers.values, labels, inertia: inertia.unwrap_or(0.0), n_iter, converged })
    }
}

/// Finds the nearest centre of each row, the lower one on ties, and moves rows that changed between the sums. `moved`
/// is how far the centres went since the bounds were made.
fn assign(rows: &Rows, centers: &Centers, moved: &[f64], bounds: &mut [Bounds], total: Clusters) -> Clusters {
    let clusters = centers.count;
    // Large enough that the sums of all chunks are small beside the data.
    let chunk = 1024usize.max(16 * clusters);
    let far = (0..clusters).fold(0, |a, b| if moved[b] > moved[a] { b } else { a });
    let second = (0..clusters).filter(|c| *c != far).map(|c| moved[c]).fold(0.0, f64::max);
    let parts: Vec<Clusters> = bounds
        .par_chunks_mut(chunk)
        .enumerate()
        .map(|(number, bounds)| {
            let mut open = Vec::with_capacity(bounds.len());
            for (local, b) in bounds.iter_mut().enumerate() {
                if b.label != u32::MAX {
                    let label = b.label as usize;
                    b.upper = (b.upper + moved[label]) * (1.0 + 4.0 * f64::EPSILON);
                    let other = if label == far { second } else { moved[far] };
                    b.lower = (b.lower - other) * (1.0 - 4.0 * f64::EPSILON);
                    if b.upper < b.lower.max(centers.half[label]) {
                        continue;
                    }
                }
                open.push(local as u32);
            }
            pulp::Arch::new().dispatch(Compare { rows, first: number * chunk, centers, open: &open, bounds })
        })
        .collect();
    parts.iter().fold(total, Clusters::merge)
}

/// Compares the rows `first + open` with all centres.
struct Compare<'a> {
    rows: &'a Rows,
    first: usize,
    centers: &'a Centers,
    open: &'a [u32],
    bounds: &'a mut [Bounds],
}

impl pulp::NullaryFnOnce for Compare<'_> {
    type Output = Clusters;

    // Inlined into the code for each set of instructions: a call would leave it.
    #[inline(always)]
    fn call(self) -> Clusters {
        let Compare { rows, first, centers, open, bounds } = self;
        let mut sums = Clusters::zeros(centers.count, rows.width);
        for block in open.chunks(BLOCK) {
            let points = rows.block(first, block);
            for (local, near) in block.iter().zip(&centers.nearest(&points)) {
                let (best, second, label) = near.nearest();
                let row = first + *local as usize;
                let square = rows.squares[row];
                let error = centers.error * (square + centers.largest);
                let b = &mut bounds[*local as usize];
                if b.label != label {
                    let (point, weight) = (rows.row(row), rows.weight(row));
                    if b.label != u32::MAX {
                        sums.add(b.label as usize, point, weight, -1.0);
                    }
                    sums.add(label as usize, point, weight, 1.0);
                    sums.changed += 1;
                }
                let upper = (square + best + error).max(0.0).sqrt();
                let lower = (square + second - error).max(0.0).sqrt();
                *b = Bounds { upper, lower, label };
            }
        }
        sums
    }
}

/// Finds the nearest centres of the rows from `first` on.
struct Label<'a> {
    rows: &'a Rows,
    first: usize,
    centers: &'a Centers,
    labels: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Label<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (block, labels) in self.labels.chunks_mut(BLOCK).enumerate() {
            let wanted: [u32; BLOCK] = std::array::from_fn(|r| r as u32);
            let points = self.rows.block(self.first + block * BLOCK, &wanted[..labels.len()]);
            let nearest = self.centers.nearest(&points);
            labels.iter_mut().zip(&nearest).for_each(|(label, near)| *label = f64::from(near.nearest().2));
        }
    }
}

/// The nearest and the second nearest centre of a row, apart for each lane of the panels. Distances lack the row's own
/// sum of squares.
#[derive(Clone, Copy)]
struct Lanes {
    best: [f64; LANES],
    second: [f64; LANES],
    /// The panel of the nearest centre. A float, so that it is chosen by the same instructions.
    panel: [f64; LANES],
}

impl Lanes {
    const EMPTY: Lanes = Lanes { best: [f64::INFINITY; LANES], second: [f64::INFINITY; LANES], panel: [0.0; LANES] };

    #[inline(always)]
    fn see(&mut self, panel: f64, squares: &[f64; LANES], products: &[f64; LANES]) {
        for lane in 0..LANES {
            let distance = squares[lane] - 2.0 * products[lane];
            let (best, second) = (self.best[lane], self.second[lane]);
            let nearer = distance < best;
            self.second[lane] = if nearer {
                best
            } else if distance < second {
                distance
            } else {
                second
            };
            self.panel[lane] = if nearer { panel } else { self.panel[lane] };
            self.best[lane] = if nearer { distance } else { best };
        }
    }

    /// The smallest distance, the second smallest, and the centre of the first. The lower centre on ties.
    #[inline(always)]
    fn nearest(&self) -> (f64, f64, u32) {
        let (mut best, mut second, mut label) = (f64::INFINITY, f64::INFINITY, 0);
        for lane in 0..LANES {
            let center = self.panel[lane] as u32 * LANES as u32 + lane as u32;
            let distance = self.best[lane];
            if distance < best || distance == best && center < label {
                second = best;
                (best, label) = (distance, center);
            } else {
                second = second.min(distance);
            }
            second = second.min(self.second[lane]);
        }
        (best, second, label)
    }
}

/// The new centres. An empty cluster takes the row that is farthest from its centre.
fn updated(rows: &Rows, centers: &Centers, bounds: &[Bounds], total: &mut Clusters) -> Vec<f64> {
    let width = rows.width;
    let empty: Vec<usize> = (0..total.counts.len()).filter(|c| total.counts[*c] == 0).collect();
    for cluster in &empty {
        // Sums of rows that came and went leave rounding errors behind.
        total.weights[*cluster] = 0.0;
        total.sums[cluster * width..(cluster + 1) * width].fill(0.0);
    }
    let mut new = total.clone();
    if !empty.is_empty() {
        relocate(rows, centers, bounds, &empty, &mut new);
    }
    let largest = (0..new.weights.len()).fold(0, |a, b| if new.weights[b] > new.weights[a] { b } else { a });
    // Not by the weight alone: rows that left may leave a rounding error behind.
    let has_rows: Vec<bool> = new.counts.iter().zip(&new.weights).map(|(n, w)| *n > 0 && *w > 0.0).collect();
    for (cluster, center) in new.sums.chunks_exact_mut(width).enumerate().filter(|(c, _)| has_rows[*c]) {
        center.iter_mut().for_each(|c| *c *= 1.0 / new.weights[cluster]);
    }
    let of_largest = new.sums[largest * width..(largest + 1) * width].to_vec();
    for (_, center) in new.sums.chunks_exact_mut(width).enumerate().filter(|(c, _)| !has_rows[*c]) {
        center.copy_from_slice(&of_largest);
    }
    new.sums
}

fn relocate(rows: &Rows, centers: &Centers, bounds: &[Bounds], empty: &[usize], new: &mut Clusters) {
    let width = rows.width;
    let of = |row: usize| &centers.values[bounds[row].label as usize * width..][..width];
    let mut far: Vec<(f64, usize)> =
        (0..rows.count()).into_par_iter().map(|row| (tile::distance(rows.row(row), of(row)), row)).collect();
    far.par_sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    if far[0].0 == 0.0 {
        return;
    }
    for (cluster, (_, row)) in empty.iter().zip(far) {
        let (old, weight) = (bounds[row].label as usize, rows.weight(row));
        new.add(old, rows.row(row), weight, -1.0);
        new.weights[*cluster] = weight;
        new.counts[*cluster] = i64::from(weight > 0.0);
        let sums = &mut new.sums[cluster * width..(cluster + 1) * width];
        sums.iter_mut().zip(rows.row(row)).for_each(|(s, x)| *s = x * weight);
    }
}

impl Model for KMeans {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        vec![Role::Label]
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let width = data.width();
        let count = self.centers.data.len() / width;
        // Near the centres the products lose fewer digits.
        let mean: Vec<f64> = (0..width)
            .map(|j| (0..count).map(|c| self.centers.data[c * width + j]).sum::<f64>() / count as f64)
            .collect();
        let shifted = self.centers.data.iter().enumerate().map(|(i, v)| v - mean[i % width]).collect();
        let centers = Centers::new(shifted, width);
        let rows = Rows::new(data, &mean, None);
        let mut found = vec![0.0; data.rows];
        found.par_chunks_mut(sums::CHUNK).enumerate().for_each(|(number, labels)| {
            let first = number * sums::CHUNK;
            pulp::Arch::new().dispatch(Label { rows: &rows, first, centers: &centers, labels });
        });
        Ok(wanted.iter().map(|_| found.clone()).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "cluster_centers" => Some(Attribute::by_row(None, features, &self.centers.data)),
            "labels" => Some(labels(&self.labels.data)),
            "inertia" => Some(Attribute::Float(self.inertia)),
            "n_iter" => Some(Attribute::Int(self.n_iter as i64)),
            _ => None,
        }
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn rows(&self) -> Option<Vec<f64>> {
        Some(self.labels.data.clone())
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let shape = &self.centers.shape;
        if features > 0 && shape.len() == 2 && shape[1] == features && shape[0] > 0 && shape[0] < u32::MAX as usize {
            return Ok(());
        }
        Err(Error::new(ErrorKind::ModelFile, format!("centres of the shape {shape:?} for {features} features")))
    }

    fn bytes(&self) -> u64 {
        self.centers.bytes() + self.labels.bytes()
    }
}
