//! Fruchterman and Reingold's layout.

use super::repulsion::repulsion;
use super::{Point, check_positive, rescale, start};
use crate::error::Error;
use crate::graph::Graph;
use crate::parallel;
use crate::run::Run;

/// Distances below this count as this.
const LEAST_DISTANCE: f64 = 0.01;

/// Parameters of [`spring_layout`]. The defaults are NetworkX's.
#[derive(Clone, Debug)]
pub struct Spring {
    /// The distance of nodes that the forces aim at. `None`: 1 / sqrt(nodes), times the largest coordinate if nodes are
    /// fixed.
    pub k: Option<f64>,
    pub iterations: usize,
    /// Ends when the steps of an iteration are shorter: their Euclidean norm over the number of nodes.
    pub threshold: f64,
    /// Weights multiply attraction.
    pub weighted: bool,
    /// Largest distance from `center` along an axis. `None`: positions stay as they come out. Has no meaning if nodes
    /// are fixed.
    pub scale: Option<f64>,
    pub center: Point,
    /// Nodes that keep their positions.
    pub fixed: Vec<u32>,
    /// Seed of the positions to begin with, if none are given.
    pub seed: u64,
}

impl Default for Spring {
    fn default() -> Self {
        Spring {
            k: None,
            iterations: 50,
            threshold: 1e-4,
            weighted: true,
            scale: Some(1.0),
            center: [0.0, 0.0],
            fixed: Vec::new(),
            seed: 0,
        }
    }
}

/// Positions by springs along edges and repulsion of all pairs, with steps that get shorter (Fruchterman and Reingold
/// 1991). NetworkX: `spring_layout` with `method="force"`, which is its default below 500 nodes; above it minimises an
/// energy instead.
///
/// In digraphs an edge attracts its source. Forces between more than 2,048 nodes are approximate, and an iteration
/// takes O(n log n + edges) time.
///
/// # Errors
/// If a parameter is out of range, nodes are fixed without positions, or the user stops it. Also if there is not one
/// finite position for each node.
pub fn spring_layout(graph: &Graph, options: &Spring, pos: Option<&[Point]>, run: &Run) -> Result<Vec<Point>, Error> {
    let n = graph.nodes();
    let mut positions = start(n, pos, options.seed)?;
    if let Some(k) = options.k {
        check_positive("k", k)?;
    }
    if !options.fixed.is_empty() && pos.is_none() {
        let message = format!("{} nodes are fixed, and there are no positions", options.fixed.len());
        return Err(Error::parameter(message).help("give a position for each node"));
    }
    let mut is_fixed = vec![false; n];
    for node in &options.fixed {
        graph.check_node(*node)?;
        is_fixed[*node as usize] = true;
    }
    if n <= 1 {
        return Ok(vec![options.center; n]);
    }
    let domain = match pos.map(|pos| pos.iter().flatten().fold(f64::NEG_INFINITY, |a, b| a.max(*b))) {
        Some(most) if !options.fixed.is_empty() && most != 0.0 => most,
        _ => 1.0,
    };
    let k = options.k.unwrap_or(domain / (n as f64).sqrt());
    let extent = |axis: usize| {
        let (low, high) = positions
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p[axis]), high.max(p[axis])));
        high - low
    };
    let mut temperature = 0.1 * extent(0).max(extent(1));
    let cooling = temperature / (options.iterations as f64 + 1.0);
    let mass = vec![1.0; n];
    for iteration in 0..options.iterations {
        run.stage(format!("spring_layout: iteration {} of at most {}", iteration + 1, options.iterations));
        (run.steps)(iteration as u64, options.iterations as u64);
        let repulsion = repulsion(&positions, &mass, LEAST_DISTANCE, run)?;
        let step = graph.out_rows().each(|v| {
            if is_fixed[v as usize] {
                return [0.0, 0.0];
            }
            let attraction = attraction(graph, options.weighted, v, &positions);
            let force = [0, 1].map(|axis| k * k * repulsion[v as usize][axis] + attraction[axis] / k);
            let length = force[0].hypot(force[1]).max(LEAST_DISTANCE);
            force.map(|f| f * temperature / length)
        });
        positions.iter_mut().zip(&step).for_each(|(p, step)| *p = [p[0] + step[0], p[1] + step[1]]);
        temperature -= cooling;
        let moved = parallel::sum(n, |v| step[v][0] * step[v][0] + step[v][1] * step[v][1]).sqrt();
        if moved / (n as f64) < options.threshold {
            break;
        }
    }
    if let (Some(scale), true) = (options.scale, options.fixed.is_empty()) {
        rescale(&mut positions, scale, options.center);
    }
    Ok(positions)
}

/// The sum of weight * distance along the edges of a node.
fn attraction(graph: &Graph, weighted: bool, node: u32, positions: &[Point]) -> Point {
    let rows = graph.out_rows();
    let weights = if weighted { graph.out_weights() } else { None };
    let point = positions[node as usize];
    let mut force = [0.0, 0.0];
    for arc in rows.arcs(node) {
        let at = positions[rows.targets[arc] as usize];
        let (x, y) = (at[0] - point[0], at[1] - point[1]);
        let factor = weights.map_or(1.0, |w| w[arc]) * x.hypot(y).max(LEAST_DISTANCE);
        force = [force[0] + factor * x, force[1] + factor * y];
    }
    force
}
