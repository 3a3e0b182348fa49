//! ForceAtlas2.

use super::repulsion::repulsion;
use super::{Point, check_positive, mean, start};
use crate::error::Error;
use crate::graph::{Graph, loops_of};
use crate::parallel;
use crate::run::Run;

/// Parameters of [`forceatlas2_layout`]. The defaults are NetworkX's.
#[derive(Clone, Debug)]
pub struct ForceAtlas2 {
    pub max_iter: usize,
    /// Above 1, nodes may swing more. Positive.
    pub jitter_tolerance: f64,
    /// Factor of the forces that push nodes apart. Positive.
    pub scaling_ratio: f64,
    /// Factor of the forces to the middle.
    pub gravity: f64,
    /// Divides attraction by the mass of a node, so that hubs go to the border.
    pub distributed_action: bool,
    /// Gravity grows with the distance.
    pub strong_gravity: bool,
    /// Attraction grows with the logarithm of the distance: tighter clusters.
    pub linlog: bool,
    /// Weights multiply attraction.
    pub weighted: bool,
    /// Seed of the positions to begin with, if none are given.
    pub seed: u64,
}

impl Default for ForceAtlas2 {
    fn default() -> Self {
        ForceAtlas2 {
            max_iter: 100,
            jitter_tolerance: 1.0,
            scaling_ratio: 2.0,
            gravity: 1.0,
            distributed_action: false,
            strong_gravity: false,
            linlog: false,
            weighted: false,
            seed: 0,
        }
    }
}

impl ForceAtlas2 {
    /// The error if a parameter is out of range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        check_positive("jitter_tolerance", self.jitter_tolerance)?;
        check_positive("scaling_ratio", self.scaling_ratio)?;
        match self.gravity.is_finite() {
            true => Ok(()),
            false => Err(Error::parameter(format!("the gravity is {}, expected a finite number", self.gravity))),
        }
    }
}

/// ForceAtlas2 (Jacomy, Venturini, Heymann and Bastian 2014): positions by attraction along edges, repulsion of all
/// pairs and gravity. The steps are those of `forceatlas2_layout` of NetworkX: mass is the degree + 1, and swing and
/// traction compare positions with forces.
///
/// In digraphs an edge attracts its source. Forces between more than 2,048 nodes are approximate, and an iteration
/// takes O(n log n + edges) time.
///
/// # Errors
/// If a parameter is out of range, there is not one finite position for each node, or the user stops it.
pub fn forceatlas2_layout(
    graph: &Graph,
    options: &ForceAtlas2,
    pos: Option<&[Point]>,
    run: &Run,
) -> Result<Vec<Point>, Error> {
    options.check()?;
    let n = graph.nodes();
    let mut positions = start(n, pos, options.seed)?;
    let (out, into) = (graph.out_rows(), graph.in_rows());
    let mass = out.each(|v| match graph.is_directed() {
        true => out.len(v) + into.len(v) + 1,
        false => out.len(v) + loops_of(out, v) + 1,
    });
    let mass: Vec<f64> = mass.into_iter().map(|m| m as f64).collect();
    let mut speed = Speed::default();
    for iteration in 0..if n == 0 { 0 } else { options.max_iter } {
        run.stage(format!("forceatlas2_layout: iteration {} of at most {}", iteration + 1, options.max_iter));
        (run.steps)(iteration as u64, options.max_iter as u64);
        let repulsion = repulsion(&positions, &mass, 0.0, run)?;
        let middle = mean(&positions);
        let update = out.each(|v| {
            let (point, mass) = (positions[v as usize], mass[v as usize]);
            let mut force = attraction(graph, options, v, &positions);
            if options.distributed_action {
                force = force.map(|f| f / mass);
            }
            let from_middle = [point[0] - middle[0], point[1] - middle[1]];
            let distance = from_middle[0].hypot(from_middle[1]);
            let unit = if options.strong_gravity { 1.0 } else { distance };
            let gravity = if unit > 0.0 { -options.gravity * mass / unit } else { 0.0 };
            let repulsion = repulsion[v as usize].map(|f| f * mass * options.scaling_ratio);
            [0, 1].map(|axis| force[axis] + repulsion[axis] + gravity * from_middle[axis])
        });
        let length = |v: usize, sign: f64| {
            let (p, u) = (positions[v], update[v]);
            mass[v] * (p[0] + sign * u[0]).hypot(p[1] + sign * u[1])
        };
        speed.add(parallel::sum(n, |v| length(v, -1.0)), 0.5 * parallel::sum(n, |v| length(v, 1.0)));
        speed.change(n as f64, options.jitter_tolerance);
        let step = parallel::fill(n, |v| {
            let swinging = mass[v] * update[v][0].hypot(update[v][1]);
            let factor = speed.speed / (1.0 + (speed.speed * swinging).sqrt());
            update[v].map(|u| u * factor)
        });
        positions.iter_mut().zip(&step).for_each(|(p, step)| *p = [p[0] + step[0], p[1] + step[1]]);
        if parallel::sum(n, |v| step[v][0].abs() + step[v][1].abs()) < 1e-10 {
            break;
        }
    }
    Ok(positions)
}

/// The force along the edges of a node.
fn attraction(graph: &Graph, options: &ForceAtlas2, node: u32, positions: &[Point]) -> Point {
    let rows = graph.out_rows();
    let weights = if options.weighted { graph.out_weights() } else { None };
    let point = positions[node as usize];
    let mut force = [0.0, 0.0];
    for arc in rows.arcs(node) {
        let at = positions[rows.targets[arc] as usize];
        let (x, y) = (at[0] - point[0], at[1] - point[1]);
        let mut factor = weights.map_or(1.0, |w| w[arc]);
        if options.linlog {
            let distance = x.hypot(y);
            factor *= if distance > 0.0 { distance.ln_1p() / distance } else { 0.0 };
        }
        force = [force[0] + factor * x, force[1] + factor * y];
    }
    force
}

/// How far nodes may go.
pub(crate) struct Speed {
    speed: f64,
    efficiency: f64,
    swing: f64,
    traction: f64,
}

impl Default for Speed {
    fn default() -> Self {
        Speed { speed: 1.0, efficiency: 1.0, swing: 1.0, traction: 1.0 }
    }
}

impl Speed {
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Adds the sums over all nodes of an iteration.
    pub fn add(&mut self, swing: f64, traction: f64) {
        self.swing += swing;
        self.traction += traction;
    }

    /// `estimate_factor` of NetworkX, which is Gephi's rule with sums over all iterations so far.
    pub fn change(&mut self, n: f64, tolerance: f64) {
        let best = 0.05 * n.sqrt();
        let other = (best * self.traction / (n * n)).min(10.0);
        let mut jitter = tolerance * best.sqrt().max(other);
        if self.swing / self.traction > 2.0 {
            if self.efficiency > 0.05 {
                self.efficiency *= 0.5;
            }
            jitter = jitter.max(tolerance);
        }
        let target =
            if self.swing == 0.0 { f64::INFINITY } else { jitter * self.efficiency * self.traction / self.swing };
        if self.swing > jitter * self.traction {
            if self.efficiency > 0.05 {
                self.efficiency *= 0.7;
            }
        } else if self.speed < 1000.0 {
            self.efficiency *= 1.3;
        }
        self.speed += (target - self.speed).min(0.5 * self.speed);
    }
}
