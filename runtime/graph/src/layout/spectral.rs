//! The spectral layout: eigenvectors of the Laplacian as coordinates.

use super::{Point, rescale};
use crate::error::Error;
use crate::graph::{Graph, Rows};
use crate::parallel;
use crate::random::Philox;
use crate::run::Run;
use crate::symmetric::eigenvectors;

/// Vectors that are iterated together: two are wanted, others quicken these.
const BLOCK: usize = 6;

/// Most rounds of inverse iteration, and steps of conjugate gradients in a round.
const MOST_ROUNDS: usize = 60;
const MOST_STEPS: usize = 400;

/// Steps of conjugate gradients between checks for cancellation.
const STEPS_BETWEEN_CHECKS: usize = 16;

/// Residual of an eigenvector, relative to twice the largest degree, at which it is good enough.
const RESIDUAL: f64 = 1e-9;

/// Shift of the Laplacian, relative to the mean degree: it makes the eigenvalues of components, which are 0,
/// invertible.
const SHIFT: f64 = 1e-6;

/// Parameters of [`spectral_layout`]. The defaults are NetworkX's.
#[derive(Clone, Debug)]
pub struct Spectral {
    /// Weights multiply the entries of the Laplacian.
    pub weighted: bool,
    /// Largest distance from `center` along an axis.
    pub scale: f64,
    pub center: Point,
}

impl Default for Spectral {
    fn default() -> Self {
        Spectral { weighted: true, scale: 1.0, center: [0.0, 0.0] }
    }
}

/// The eigenvectors of the Laplacian at its second and third smallest eigenvalues as coordinates (Hall 1970). NetworkX:
/// `spectral_layout`. The first node that is not in the middle of an axis has a negative coordinate there.
///
/// Edges of directed graphs count in both directions, parallel ones add up, self-loops do not count. By inverse
/// iteration of a block of vectors (Golub and Van Loan 2013, section 8.2) with conjugate gradients. If eigenvalues are
/// equal, as those of a cycle, the eigenvectors are one choice of several. Vectors that have not converged after 60
/// rounds, as those of a path of a million nodes, are the result as they are.
///
/// # Errors
/// If a weight is negative where weights count, or the user stops it.
pub fn spectral_layout(graph: &Graph, options: &Spectral, run: &Run) -> Result<Vec<Point>, Error> {
    let n = graph.nodes();
    if n <= 1 {
        return Ok(vec![options.center; n]);
    }
    if options.weighted {
        graph.check_positive("spectral_layout")?;
    }
    let laplacian = Laplacian::of(graph, options.weighted);
    let axes = laplacian.smallest(run)?;
    let mut positions = parallel::fill(n, |v| [axes[0][v], axes.get(1).map_or(0.0, |axis| axis[v])]);
    rescale(&mut positions, options.scale, options.center);
    Ok(positions)
}

/// The Laplacian matrix of a graph, by its rows.
struct Laplacian<'a> {
    sides: Vec<(&'a Rows, Option<&'a [f64]>)>,
    /// The diagonal.
    degrees: Vec<f64>,
    shift: f64,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    parallel::sum(a.len(), |i| a[i] * b[i])
}

/// Adds `factor * b` to `a`.
fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
}

impl<'a> Laplacian<'a> {
    fn of(graph: &'a Graph, weighted: bool) -> Self {
        let mut sides = vec![(graph.out_rows(), graph.out_weights().filter(|_| weighted))];
        if graph.is_directed() {
            sides.push((graph.in_rows(), graph.in_weights().filter(|_| weighted)));
        }
        let degrees = graph.out_rows().each(|v| {
            let of_side = |(rows, weights): &(&Rows, Option<&[f64]>)| {
                let others = rows.arcs(v).filter(|arc| rows.targets[*arc] != v);
                others.map(|arc| weights.map_or(1.0, |w| w[arc])).sum::<f64>()
            };
            sides.iter().map(of_side).sum::<f64>()
        });
        let mean = parallel::sum(degrees.len(), |v| degrees[v]) / degrees.len() as f64;
        Laplacian { sides, degrees, shift: SHIFT * if mean > 0.0 { mean } else { 1.0 } }
    }

    fn product(&self, x: &[f64]) -> Vec<f64> {
        self.sides[0].0.each(|v| {
            let of_side = |(rows, weights): &(&Rows, Option<&[f64]>)| {
                let term =
                    |arc: usize| weights.map_or(1.0, |w| w[arc]) * (x[v as usize] - x[rows.targets[arc] as usize]);
                rows.arcs(v).map(term).sum::<f64>()
            };
            self.sides.iter().map(of_side).sum()
        })
    }

    /// The eigenvectors at the smallest eigenvalues but that of the constant vector, at most two of them.
    fn smallest(&self, run: &Run) -> Result<Vec<Vec<f64>>, Error> {
        let n = self.degrees.len();
        let random = Philox::new(0);
        let column = |b: usize| parallel::fill(n, |v| random.uniform(b as u64, v as u64)[0] - 0.5);
        let mut block: Vec<Vec<f64>> = (0..BLOCK.min(n - 1)).map(column).collect();
        let limit = RESIDUAL * 2.0 * self.degrees.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        orthonormalize(&mut block);
        for round in 1..=MOST_ROUNDS {
            run.stage(format!("spectral_layout: round {round} of at most {MOST_ROUNDS}"));
            let products: Vec<Vec<f64>> = block.iter().map(|x| self.product(x)).collect();
            let matrix = block.iter().map(|x| products.iter().map(|y| dot(x, y)).collect()).collect();
            let (values, vectors) = eigenvectors(matrix);
            let mut order: Vec<usize> = (0..block.len()).collect();
            order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
            let combined = |columns: &[Vec<f64>], of: usize| {
                parallel::fill(n, |v| columns.iter().zip(&vectors).map(|(x, row)| x[v] * row[of]).sum::<f64>())
            };
            let rotated: Vec<Vec<f64>> = order.iter().map(|of| combined(&block, *of)).collect();
            let residual = |at: usize| {
                let mut product = combined(&products, order[at]);
                add(&mut product, -values[order[at]], &rotated[at]);
                dot(&product, &product).sqrt()
            };
            let is_done = (0..block.len().min(2)).all(|at| residual(at) <= limit);
            block = rotated;
            if is_done || round == MOST_ROUNDS {
                break;
            }
            for (x, of) in block.iter_mut().zip(&order) {
                *x = self.solve(x, 1.0 / (values[*of].max(0.0) + self.shift), round, run)?;
            }
            orthonormalize(&mut block);
        }
        block.truncate(2);
        block.iter_mut().for_each(|axis| {
            let largest = axis.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            if axis.iter().find(|x| x.abs() > 1e-6 * largest).is_some_and(|x| *x > 0.0) {
                axis.iter_mut().for_each(|x| *x = -*x);
            }
        });
        Ok(block)
    }

    /// The solution of (L + shift) y = `right` by conjugate gradients (Hestenes and Stiefel 1952) with the diagonal as
    /// preconditioner. They begin at `factor * right`. `round` is the one that this is a part of.
    fn solve(&self, right: &[f64], factor: f64, round: usize, run: &Run) -> Result<Vec<f64>, Error> {
        let n = right.len();
        let mut y: Vec<f64> = right.iter().map(|x| factor * x).collect();
        let product = |x: &[f64]| {
            let mut product = self.product(x);
            add(&mut product, self.shift, x);
            product
        };
        let scaled = |r: &[f64]| parallel::fill(n, |v| r[v] / (self.degrees[v] + self.shift));
        let mut residual = right.to_vec();
        add(&mut residual, -1.0, &product(&y));
        let mut direction = scaled(&residual);
        let mut rho = dot(&residual, &direction);
        let tolerance = rho * 1e-16;
        for step in 0..MOST_STEPS {
            if step % STEPS_BETWEEN_CHECKS == 0 {
                let done = || format!("{} rounds and {step} steps of the next of spectral_layout", round - 1);
                run.check(done)?;
            }
            if rho <= tolerance || rho <= f64::MIN_POSITIVE {
                break;
            }
            let product = product(&direction);
            let length = rho / dot(&direction, &product);
            add(&mut y, length, &direction);
            add(&mut residual, -length, &product);
            let preconditioned = scaled(&residual);
            let next = dot(&residual, &preconditioned);
            let factor = next / rho;
            rho = next;
            direction.iter_mut().zip(&preconditioned).for_each(|(d, z)| *d = z + factor * *d);
        }
        Ok(y)
    }
}

/// Makes vectors orthogonal to the constant one and to each other, each of length 1: Gram and Schmidt, twice.
fn orthonormalize(block: &mut [Vec<f64>]) {
    for at in 0..block.len() {
        let (before, rest) = block.split_at_mut(at);
        let vector = &mut rest[0];
        for _ in 0..2 {
            let mean = parallel::sum(vector.len(), |v| vector[v]) / vector.len() as f64;
            vector.iter_mut().for_each(|x| *x -= mean);
            for other in before.iter() {
                let part = dot(vector, other);
                add(vector, -part, other);
            }
            let length = dot(vector, vector).sqrt();
            vector.iter_mut().for_each(|x| *x /= length.max(f64::MIN_POSITIVE));
        }
    }
}
