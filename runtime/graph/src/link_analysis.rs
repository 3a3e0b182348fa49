//! PageRank and HITS.

use rayon::prelude::*;

use crate::error::{Error, ErrorKind};
use crate::graph::{Graph, Rows};
use crate::parallel;
use crate::run::Run;
use crate::symmetric::eigenvectors;

/// The parameters of [`pagerank`] with NetworkX's defaults. Vectors have a value for each node.
#[derive(Clone, Copy, Debug)]
pub struct PageRank<'a> {
    /// The probability of following an edge.
    pub alpha: f64,
    /// The targets of a jump, up to a factor: all nodes alike if `None`.
    pub personalization: Option<&'a [f64]>,
    pub max_iter: usize,
    /// Converged if the L1 norm of the change is below this times the number of nodes.
    pub tol: f64,
    /// The ranks to start with, up to a factor.
    pub nstart: Option<&'a [f64]>,
    /// The targets of nodes without edges out, up to a factor: `personalization` if `None`.
    pub dangling: Option<&'a [f64]>,
    /// Whether ranks that have not converged after `max_iter` iterations are an error. If not, they are the result:
    /// with a `tol` of 0, the ranks after exactly `max_iter` iterations. cuGraph: `fail_on_nonconvergence`.
    pub fail_on_nonconvergence: bool,
}

impl Default for PageRank<'_> {
    fn default() -> Self {
        PageRank {
            alpha: 0.85,
            personalization: None,
            max_iter: 100,
            tol: 1e-6,
            nstart: None,
            dangling: None,
            fail_on_nonconvergence: true,
        }
    }
}

/// The probability of being at each node of a walk that follows edges by their weights. NetworkX: `pagerank`, by power
/// iteration. O(nodes + edges) for each iteration.
///
/// # Errors
/// If a parameter or a weight is negative, or a vector has another length or the sum 0. Also if the ranks do not
/// converge, or the user stops it.
pub fn pagerank(graph: &Graph, options: &PageRank, run: &Run) -> Result<Vec<f64>, Error> {
    let n = graph.nodes();
    graph.check_positive("pagerank")?;
    if !(0.0..=1.0).contains(&options.alpha) {
        return Err(Error::parameter(format!("`alpha` is {}, expected a probability from 0 to 1", options.alpha)));
    }
    let vector = |name: &str, values: Option<&[f64]>| values.map(|v| normalized(name, v, n)).transpose();
    let personalization = vector("personalization", options.personalization)?;
    let dangling = vector("dangling", options.dangling)?;
    let start = vector("nstart", options.nstart)?;
    if n == 0 {
        return Ok(Vec::new());
    }
    let uniform = 1.0 / n as f64;
    let jump = |v: usize| personalization.as_ref().map_or(uniform, |p| p[v]);
    let leave = |v: usize| dangling.as_ref().or(personalization.as_ref()).map_or(uniform, |d| d[v]);
    let scale = out_scale(graph);
    let (rows, weights) = (graph.in_rows(), graph.in_weights());
    let ranges = rows.ranges();
    let mut rank = start.unwrap_or_else(|| vec![uniform; n]);
    // The share of a node along an edge of weight 1.
    let mut gift = parallel::fill(n, |v| rank[v] * scale[v]);
    let mut lost = parallel::sum(n, |v| if scale[v] == 0.0 { rank[v] } else { 0.0 });
    let mut next_gift = vec![0.0; n];
    for iteration in 1..=options.max_iter {
        // One pass over the arcs: ranks, gifts, the change and what is lost at nodes that lead nowhere.
        let ranks = parallel::split(&mut rank, &ranges);
        let gifts = parallel::split(&mut next_gift, &ranges);
        let work: Vec<_> = ranges.iter().zip(ranks).zip(gifts).collect();
        let sums: Vec<(f64, f64)> = work
            .into_par_iter()
            .map(|((range, ranks), gifts)| {
                let (mut change, mut lost_here) = (0.0, 0.0);
                if (run.is_stopped)() {
                    return (0.0, 0.0);
                }
                for (i, v) in range.clone().enumerate() {
                    let sum = gathered(rows, weights, v as u32, &gift);
                    let rank = options.alpha * (sum + lost * leave(v)) + (1.0 - options.alpha) * jump(v);
                    change += (rank - ranks[i]).abs();
                    ranks[i] = rank;
                    gifts[i] = rank * scale[v];
                    if scale[v] == 0.0 {
                        lost_here += rank;
                    }
                }
                (change, lost_here)
            })
            .collect();
        let change: f64 = sums.iter().map(|(change, _)| change).sum();
        lost = sums.iter().map(|(_, lost)| lost).sum();
        run.check(|| format!("{iteration} of at most {} iterations of pagerank", options.max_iter))?;
        std::mem::swap(&mut gift, &mut next_gift);
        if change < n as f64 * options.tol {
            return Ok(rank);
        }
        let max = options.max_iter;
        run.stage(format!("pagerank: iteration {iteration} of at most {max}, change {change:.1e}"));
        (run.steps)(iteration as u64, max as u64);
    }
    match options.fail_on_nonconvergence {
        true => Err(not_converged("pagerank", options.max_iter, options.tol)),
        false => Ok(rank),
    }
}

/// The error of an iteration that does not come to an end.
pub(crate) fn not_converged(algorithm: &str, max_iter: usize, tol: f64) -> Error {
    let message = format!("{algorithm} has not converged to a tolerance of {tol:e} in {max_iter} iterations");
    Error::new(ErrorKind::Convergence, message).help("raise `max_iter` or `tol`")
}

/// A vector divided by its sum.
pub(crate) fn normalized(name: &str, values: &[f64], n: usize) -> Result<Vec<f64>, Error> {
    if values.len() != n {
        return Err(Error::parameter(format!("`{name}` has {} values for {n} nodes, expected one each", values.len())));
    }
    if let Some(v) = values.iter().position(|v| !v.is_finite() || *v < 0.0) {
        let message = format!("`{name}` of node {v} is {}, expected a finite number of at least 0", values[v]);
        return Err(Error::parameter(message));
    }
    let sum = parallel::sum(n, |v| values[v]);
    if sum == 0.0 && n > 0 {
        return Err(Error::parameter(format!("`{name}` is 0 at every node, expected a number above 0 at one")));
    }
    Ok(values.iter().map(|v| v / sum).collect())
}

/// 1 / sum of the weights out of each node, 0 where there are none.
fn out_scale(graph: &Graph) -> Vec<f64> {
    let rows = graph.out_rows();
    let weights = graph.out_weights();
    rows.each(|v| {
        let sum = match weights {
            Some(weights) => weights[rows.arcs(v)].iter().sum(),
            None => rows.len(v) as f64,
        };
        if sum == 0.0 { 0.0 } else { 1.0 / sum }
    })
}

/// The sum over a row of weight x value of the other end, in a fixed order: four sums side by side.
#[inline]
pub(crate) fn gathered(rows: &Rows, weights: Option<&[f64]>, node: u32, values: &[f64]) -> f64 {
    let arcs = rows.arcs(node);
    let row = &rows.targets[arcs.clone()];
    let (quads, rest) = row.as_chunks::<4>();
    let mut sums = [0.0f64; 4];
    let mut tail = 0.0;
    match weights {
        None => {
            for quad in quads {
                for k in 0..4 {
                    sums[k] += values[quad[k] as usize];
                }
            }
            rest.iter().for_each(|u| tail += values[*u as usize]);
        }
        Some(weights) => {
            let (weight_quads, weight_rest) = weights[arcs].as_chunks::<4>();
            for (quad, weight) in quads.iter().zip(weight_quads) {
                for k in 0..4 {
                    sums[k] += weight[k] * values[quad[k] as usize];
                }
            }
            rest.iter().zip(weight_rest).for_each(|(u, w)| tail += w * values[*u as usize]);
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// [`gathered`] for each node: the product of an adjacency matrix and a vector.
fn product(rows: &Rows, weights: Option<&[f64]>, values: &[f64], run: &Run) -> Result<Vec<f64>, Error> {
    rows.try_each("hits", run, |v| gathered(rows, weights, v, values))
}

/// The parameters of [`hits`] with NetworkX's defaults.
#[derive(Clone, Copy, Debug)]
pub struct Hits<'a> {
    /// Maximum number of restarts of the Lanczos iteration.
    pub max_iter: usize,
    /// Residual of the singular vector, relative to the singular value.
    pub tol: f64,
    /// Authorities to start with, by node: 1 each if `None`.
    pub nstart: Option<&'a [f64]>,
    /// Whether hubs and authorities are divided by their sums. If not, the authorities have the length 1.
    pub normalized: bool,
}

impl Default for Hits<'_> {
    fn default() -> Self {
        Hits { max_iter: 100, tol: 1e-8, nstart: None, normalized: true }
    }
}

/// Hubs and authorities (Kleinberg 1999): the singular vectors of the adjacency matrix at its largest singular value.
/// NetworkX: `hits`.
///
/// By the Lanczos iteration on A'A, restarted, with full orthogonalisation. If several singular values are largest, the
/// result is the projection of the start, and NetworkX's is an arbitrary one. All are 0 if there are no edges.
/// O(nodes + edges) for each of at most 20 steps a restart.
///
/// # Errors
/// If a weight is negative, or `nstart` has the wrong length or only zeros. Also if the vectors do not converge, or the
/// user stops the task.
pub fn hits(graph: &Graph, options: &Hits, run: &Run) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let n = graph.nodes();
    graph.check_positive("hits")?;
    let start = options.nstart.map(|v| normalized("nstart", v, n)).transpose()?;
    if n == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let (out, into) = ((graph.out_rows(), graph.out_weights()), (graph.in_rows(), graph.in_weights()));
    let mut authorities = start.unwrap_or_else(|| vec![1.0; n]);
    let square = |x: &[f64]| product(into.0, into.1, &product(out.0, out.1, x, run)?, run);
    let mut is_done = false;
    for restart in 1..=options.max_iter {
        run.check(|| format!("{restart} of at most {} restarts of hits", options.max_iter))?;
        let (vector, residual) = lanczos(authorities, options.tol, square, run)?;
        authorities = vector;
        run.stage(format!("hits: restart {restart}, residual {residual:.1e}"));
        if residual <= options.tol {
            is_done = true;
            break;
        }
    }
    if !is_done {
        return Err(not_converged("hits", options.max_iter, options.tol));
    }
    // Rounding leaves tiny negative numbers.
    authorities.iter_mut().for_each(|a| *a = a.max(0.0));
    let mut hubs = product(out.0, out.1, &authorities, run)?;
    if options.normalized {
        for values in [&mut hubs, &mut authorities] {
            let sum = parallel::sum(n, |v| values[v]);
            if sum > 0.0 {
                values.iter_mut().for_each(|v| *v /= sum);
            }
        }
    }
    Ok((hubs, authorities))
}

/// Steps of a Lanczos iteration: each keeps a vector.
pub(crate) const STEPS: usize = 20;

/// The unit vector that is nearest to the eigenvector of the largest eigenvalue of a symmetric matrix, and its residual
/// relative to the eigenvalue: Lanczos (1950), started at `start`, until the residual is at most `tol`.
fn lanczos(
    start: Vec<f64>,
    tol: f64,
    matrix: impl Fn(&[f64]) -> Result<Vec<f64>, Error>,
    run: &Run,
) -> Result<(Vec<f64>, f64), Error> {
    let n = start.len();
    let dot = |a: &[f64], b: &[f64]| parallel::sum(n, |i| a[i] * b[i]);
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let (mut value, mut vector, mut residual) = (0.0, vec![1.0], 0.0);
    let length = dot(&start, &start).sqrt();
    basis.push(parallel::fill(n, |i| start[i] / length));
    for step in 0..STEPS.min(n) {
        run.check(|| format!("{step} steps of hits"))?;
        let mut next = matrix(&basis[step])?;
        diagonal.push(dot(&next, &basis[step]));
        // Twice is enough (Parlett 1980).
        for _ in 0..2 {
            for vector in &basis {
                let part = dot(&next, vector);
                next.par_iter_mut().with_min_len(parallel::CHUNK).zip(vector).for_each(|(x, b)| *x -= part * b);
            }
        }
        let length = dot(&next, &next).sqrt();
        beside.push(length);
        (value, vector) = largest_eigenvector(&diagonal, &beside);
        residual = if value > 0.0 { length * vector[step].abs() / value } else { 0.0 };
        if residual <= tol || length <= 1e-13 * value || step + 1 == STEPS.min(n) {
            break;
        }
        basis.push(parallel::fill(n, |i| next[i] / length));
    }
    if value <= 0.0 {
        return Ok((vec![0.0; n], 0.0));
    }
    let sign = if vector[0] < 0.0 { -1.0 } else { 1.0 };
    let ritz = parallel::fill(n, |i| basis.iter().zip(&vector).map(|(basis, part)| sign * part * basis[i]).sum());
    Ok((ritz, residual))
}

/// The largest eigenvalue of a tridiagonal matrix and its eigenvector of length 1.
pub(crate) fn largest_eigenvector(diagonal: &[f64], beside: &[f64]) -> (f64, Vec<f64>) {
    let k = diagonal.len();
    let mut a = vec![vec![0.0f64; k]; k];
    for i in 0..k {
        a[i][i] = diagonal[i];
        if i + 1 < k {
            a[i][i + 1] = beside[i];
            a[i + 1][i] = beside[i];
        }
    }
    let (values, v) = eigenvectors(a);
    let best = (0..k).fold(0, |best, i| if values[i] > values[best] { i } else { best });
    (values[best], v.iter().map(|row| row[best]).collect())
}
