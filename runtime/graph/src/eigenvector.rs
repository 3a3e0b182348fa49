//! Eigenvector and Katz centrality: power iterations along edges.

use crate::error::{Error, ErrorKind};
use crate::graph::Graph;
use crate::link_analysis::{gathered, not_converged};
use crate::parallel;
use crate::run::Run;

/// The parameters of [`eigenvector_centrality`] with NetworkX's defaults.
#[derive(Clone, Copy, Debug)]
pub struct Eigenvector<'a> {
    pub max_iter: usize,
    /// Converged if the L1 norm of the change is below this times the number of nodes.
    pub tol: f64,
    /// The vector to start with, by node: 1 each if `None`.
    pub nstart: Option<&'a [f64]>,
}

impl Default for Eigenvector<'_> {
    fn default() -> Self {
        Eigenvector { max_iter: 100, tol: 1e-6, nstart: None }
    }
}

/// The left eigenvector of the adjacency matrix at its largest eigenvalue, of length 1: a node counts as much as those
/// that lead to it. NetworkX: `eigenvector_centrality`, by power iteration on A + I. O(nodes + edges) for each
/// iteration.
///
/// # Errors
/// If the graph has no nodes, a weight is negative, or `nstart` has the wrong length or only zeros. Also if the
/// iteration does not converge, or the user stops it.
pub fn eigenvector_centrality(graph: &Graph, options: &Eigenvector, run: &Run) -> Result<Vec<f64>, Error> {
    let n = graph.nodes();
    if n == 0 {
        return Err(Error::new(ErrorKind::Empty, "eigenvector_centrality is not defined for a graph without nodes"));
    }
    graph.check_positive("eigenvector_centrality")?;
    let mut x = match options.nstart {
        Some(start) => {
            check_length("nstart", start, n)?;
            let sum = parallel::sum(n, |v| start[v]);
            if sum == 0.0 {
                return Err(Error::parameter("`nstart` adds up to 0, expected a sum that is not 0"));
            }
            start.iter().map(|v| v / sum).collect()
        }
        None => vec![1.0 / n as f64; n],
    };
    let (rows, weights) = (graph.in_rows(), graph.in_weights());
    for iteration in 1..=options.max_iter {
        run.check(|| format!("{iteration} of at most {} iterations of eigenvector_centrality", options.max_iter))?;
        let sum = |v: u32| x[v as usize] + gathered(rows, weights, v, &x);
        let mut next = rows.try_each("eigenvector_centrality", run, sum)?;
        let length = parallel::sum(n, |v| next[v] * next[v]).sqrt();
        if length > 0.0 {
            next.iter_mut().for_each(|v| *v /= length);
        }
        let change = parallel::sum(n, |v| (next[v] - x[v]).abs());
        x = next;
        if change < n as f64 * options.tol {
            return Ok(x);
        }
        run.stage(format!("eigenvector_centrality: iteration {iteration}, change {change:.1e}"));
    }
    Err(not_converged("eigenvector_centrality", options.max_iter, options.tol))
}

/// The parameters of [`katz_centrality`] with NetworkX's defaults.
#[derive(Clone, Copy, Debug)]
pub struct Katz<'a> {
    /// Attenuation factor for each edge of a walk; below 1 / largest eigenvalue.
    pub alpha: f64,
    /// Weight of each node's initial centrality.
    pub beta: f64,
    /// In place of `beta`, by node.
    pub betas: Option<&'a [f64]>,
    pub max_iter: usize,
    /// Converged if the L1 norm of the change is below this times the number of nodes.
    pub tol: f64,
    /// The vector to start with, by node: 0 each if `None`.
    pub nstart: Option<&'a [f64]>,
    /// Whether the result has the length 1.
    pub normalized: bool,
}

impl Default for Katz<'_> {
    fn default() -> Self {
        Katz { alpha: 0.1, beta: 1.0, betas: None, max_iter: 1000, tol: 1e-6, nstart: None, normalized: true }
    }
}

/// The sum over all walks into each node, `alpha` times less for each edge. NetworkX: `katz_centrality`. O(nodes +
/// edges) for each iteration.
///
/// # Errors
/// If a vector has another length, it does not converge, or the user stops it.
pub fn katz_centrality(graph: &Graph, options: &Katz, run: &Run) -> Result<Vec<f64>, Error> {
    let n = graph.nodes();
    if let Some(betas) = options.betas {
        check_length("beta", betas, n)?;
    }
    let mut x = match options.nstart {
        Some(start) => {
            check_length("nstart", start, n)?;
            start.to_vec()
        }
        None => vec![0.0; n],
    };
    if n == 0 {
        return Ok(x);
    }
    let beta = |v: u32| options.betas.map_or(options.beta, |b| b[v as usize]);
    let (rows, weights) = (graph.in_rows(), graph.in_weights());
    for iteration in 1..=options.max_iter {
        run.check(|| format!("{iteration} of at most {} iterations of katz_centrality", options.max_iter))?;
        let sum = |v: u32| options.alpha * gathered(rows, weights, v, &x) + beta(v);
        let next = rows.try_each("katz_centrality", run, sum)?;
        let change = parallel::sum(n, |v| (next[v] - x[v]).abs());
        x = next;
        if change < n as f64 * options.tol {
            let length = parallel::sum(n, |v| x[v] * x[v]).sqrt();
            if options.normalized && length > 0.0 {
                x.iter_mut().for_each(|v| *v /= length);
            }
            return Ok(x);
        }
        if !change.is_finite() {
            break;
        }
        run.stage(format!("katz_centrality: iteration {iteration}, change {change:.1e}"));
    }
    let error = not_converged("katz_centrality", options.max_iter, options.tol);
    Err(error.help(format!("`alpha` is {}: the sum is finite below 1 / largest eigenvalue only", options.alpha)))
}

fn check_length(name: &str, values: &[f64], n: usize) -> Result<(), Error> {
    match values.len() == n {
        true => Ok(()),
        false => {
            Err(Error::parameter(format!("`{name}` has {} values for {n} nodes, expected one each", values.len())))
        }
    }
}
