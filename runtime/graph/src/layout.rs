//! Positions of nodes in the plane.

mod force_atlas;
pub(crate) mod repulsion;
mod spectral;
mod spring;

use rayon::prelude::*;

use crate::error::Error;
use crate::parallel;
use crate::random::Philox;

pub(crate) use force_atlas::Speed;
pub use force_atlas::{ForceAtlas2, forceatlas2_layout};
#[doc(hidden)]
pub use repulsion::{EXACT, direct, repulsion};
pub use spectral::{Spectral, spectral_layout};
pub use spring::{Spring, spring_layout};

/// x and y of a node.
pub type Point = [f64; 2];

/// Nodes on a circle, counter-clockwise from the right, as far from its centre as `scale` says. NetworkX:
/// `circular_layout`, which computes with 32 bits.
pub fn circular_layout(nodes: usize, scale: f64, center: Point) -> Vec<Point> {
    if nodes == 1 {
        return vec![center];
    }
    let mut positions = parallel::fill(nodes, |v| {
        let (sin, cos) = (std::f64::consts::TAU * v as f64 / nodes as f64).sin_cos();
        [cos, sin]
    });
    rescale(&mut positions, scale, center);
    positions
}

/// Moves the mean to `center`, and makes `scale` the largest distance from it along an axis. NetworkX:
/// `rescale_layout`.
fn rescale(positions: &mut [Point], scale: f64, center: Point) {
    let n = positions.len();
    let mean = mean(positions);
    let from_mean = |v: usize| [positions[v][0] - mean[0], positions[v][1] - mean[1]];
    let limit = (0..n).into_par_iter().with_min_len(parallel::CHUNK).map(|v| {
        let [x, y] = from_mean(v);
        x.abs().max(y.abs())
    });
    let limit = limit.reduce(|| 0.0, f64::max);
    let factor = if limit > 0.0 { scale / limit } else { 1.0 };
    positions.par_iter_mut().with_min_len(parallel::CHUNK).for_each(|point| {
        *point = [(point[0] - mean[0]) * factor + center[0], (point[1] - mean[1]) * factor + center[1]];
    });
}

fn mean(positions: &[Point]) -> Point {
    let n = positions.len().max(1) as f64;
    [0, 1].map(|axis| parallel::sum(positions.len(), |v| positions[v][axis]) / n)
}

/// Positions to begin with: the given ones, or random ones in the unit square (Philox).
pub(crate) fn start(n: usize, given: Option<&[Point]>, seed: u64) -> Result<Vec<Point>, Error> {
    let Some(given) = given else {
        let random = Philox::new(seed);
        return Ok(parallel::fill(n, |v| random.uniform(0, v as u64)));
    };
    if given.len() != n {
        let message = format!("{} positions for {n} nodes: a node has one", given.len());
        return Err(Error::parameter(message));
    }
    if let Some(node) = given.iter().position(|[x, y]| !x.is_finite() || !y.is_finite()) {
        let message = format!("the position of node {node} is {:?}, expected finite numbers", given[node]);
        return Err(Error::parameter(message));
    }
    Ok(given.to_vec())
}

fn check_positive(name: &str, value: f64) -> Result<(), Error> {
    match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => Err(Error::parameter(format!("{name} is {value}, expected a finite number above 0"))),
    }
}
