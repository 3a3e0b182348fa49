//! Forces between all pairs of points: exact for few, by a tree of cells for many (Barnes and Hut 1986).
//!
//! In the plane, the sum of m / distance is a complex function. A cell far away is then its mass and one more number
//! (Greengard and Rokhlin 1987).

use rayon::prelude::*;

use super::Point;
use crate::error::Error;
use crate::generate::hash;
use crate::run::Run;

/// Up to so many points all pairs are added up.
pub const EXACT: usize = 2048;

/// A cell is far if its side is less than this times its distance.
pub(crate) const THETA: f64 = 0.9;

/// Points of a leaf.
const LEAF: usize = 12;

/// Halvings of the square, at most.
const MOST_HALVINGS: u32 = 21;

/// Points of a chunk of work.
const CHUNK_POINTS: usize = 128;

/// For each point the sum over all others of mass * difference / distance^2, where a distance is at least `least`.
///
/// Points that are equal push each other in a direction that a hash gives. The error of sums over more than [`EXACT`]
/// points is below 1 % of the force, on average. Takes O(n^2), then O(n log n) time.
pub fn repulsion(points: &[Point], mass: &[f64], least: f64, run: &Run) -> Result<Vec<Point>, Error> {
    if points.len() > EXACT {
        return Tree::new(points, mass, least).forces(run);
    }
    let all: Vec<u32> = (0..points.len() as u32).collect();
    let chunk = |nodes: &[u32]| {
        run.check(|| "some forces of a layout".into())?;
        Ok(nodes.iter().map(|v| direct(*v, points[*v as usize], &all, points, mass, least)).collect())
    };
    let parts = all.par_chunks(CHUNK_POINTS).map(chunk).collect::<Result<Vec<Vec<Point>>, Error>>()?;
    Ok(parts.concat())
}

/// The force on `node` of some others; `points` and `mass` are theirs.
pub fn direct(node: u32, point: Point, others: &[u32], points: &[Point], mass: &[f64], least: f64) -> Point {
    let mut force = [0.0, 0.0];
    for ((other, at), mass) in others.iter().zip(points).zip(mass) {
        let (x, y) = (point[0] - at[0], point[1] - at[1]);
        let square = x * x + y * y;
        if square > 0.0 {
            let factor = mass / square.max(least * least);
            force[0] += factor * x;
            force[1] += factor * y;
        } else if *other != node {
            let push = apart(node, *other);
            force[0] += mass * push[0];
            force[1] += mass * push[1];
        }
    }
    force
}

/// The force between two points at one place, as if their distance were 0.01.
fn apart(node: u32, other: u32) -> Point {
    let (low, high) = (node.min(other), node.max(other));
    let angle = (hash(u64::from(low), u64::from(high)) >> 11) as f64 / (1u64 << 53) as f64 * std::f64::consts::TAU;
    let sign = if node == low { 100.0 } else { -100.0 };
    [sign * angle.cos(), sign * angle.sin()]
}

/// A square with points.
struct Cell {
    mass: f64,
    center: Point,
    /// The sum of mass * (point - centre)^2, as a complex number.
    second: Point,
    /// The squared side over the square of [`THETA`].
    near: f64,
    /// Points in their order along the curve.
    begin: u32,
    end: u32,
    /// Cells in it, itself among them: the next cell that is not in it comes after so many.
    size: u32,
}

/// Cells in depth-first order, and points along Morton's curve, on which those of a cell follow one another.
struct Tree {
    cells: Vec<Cell>,
    order: Vec<u32>,
    codes: Vec<u64>,
    points: Vec<Point>,
    mass: Vec<f64>,
    side: f64,
    least: f64,
}

impl Tree {
    fn new(points: &[Point], mass: &[f64], least: f64) -> Tree {
        let bound = |start: f64, choose: fn(f64, f64) -> f64| {
            points.iter().fold([start; 2], |a, b| [choose(a[0], b[0]), choose(a[1], b[1])])
        };
        let (low, high) = (bound(f64::INFINITY, f64::min), bound(f64::NEG_INFINITY, f64::max));
        let side = (high[0] - low[0]).max(high[1] - low[1]).max(f64::MIN_POSITIVE);
        let cells = (1u64 << MOST_HALVINGS) as f64;
        let place = |x: f64, low: f64| ((x - low) / side * cells).min(cells - 1.0) as u64;
        let code = |(v, p): (usize, &Point)| (spread(place(p[0], low[0])) | spread(place(p[1], low[1])) << 1, v as u32);
        let mut sorted: Vec<(u64, u32)> = points.par_iter().enumerate().with_min_len(4096).map(code).collect();
        sorted.par_sort_unstable();
        let order: Vec<u32> = sorted.iter().map(|(_, v)| *v).collect();
        let mut tree = Tree {
            cells: Vec::new(),
            codes: sorted.into_iter().map(|(code, _)| code).collect(),
            points: order.iter().map(|v| points[*v as usize]).collect(),
            mass: order.iter().map(|v| mass[*v as usize]).collect(),
            order,
            side,
            least,
        };
        tree.cells = tree.build(0, points.len(), 0);
        tree
    }

    /// The cell of the points `begin..end`, and all cells in it.
    fn build(&self, begin: usize, end: usize, level: u32) -> Vec<Cell> {
        let side = self.side / f64::from(1u32 << level) / THETA;
        let (mut mass, mut center) = (0.0, [0.0, 0.0]);
        let mut cell = Cell {
            mass: 0.0,
            center,
            second: [0.0, 0.0],
            near: side * side,
            begin: begin as u32,
            end: end as u32,
            size: 1,
        };
        // Masses, places and second moments of points, or of smaller cells.
        let mut sum = |parts: &[(f64, Point, Point)]| {
            for (m, at, _) in parts {
                mass += m;
                center = [center[0] + m * at[0], center[1] + m * at[1]];
            }
            center = [center[0] / mass, center[1] / mass];
            for (m, at, second) in parts {
                let (x, y) = (at[0] - center[0], at[1] - center[1]);
                cell.second[0] += second[0] + m * (x * x - y * y);
                cell.second[1] += second[1] + m * 2.0 * x * y;
            }
            (cell.mass, cell.center) = (mass, center);
        };
        if end - begin <= LEAF || level == MOST_HALVINGS {
            let parts: Vec<(f64, Point, Point)> =
                (begin..end).map(|i| (self.mass[i], self.points[i], [0.0, 0.0])).collect();
            sum(&parts);
            return vec![cell];
        }
        let shift = 2 * (MOST_HALVINGS - 1 - level);
        let mut bounds = [begin; 5];
        for quarter in 0..4 {
            let rest = &self.codes[bounds[quarter]..end];
            bounds[quarter + 1] = bounds[quarter] + rest.partition_point(|code| code >> shift & 3 <= quarter as u64);
        }
        let quarters = (0..4).filter(|q| bounds[*q] < bounds[q + 1]);
        let inner = |q: usize| self.build(bounds[q], bounds[q + 1], level + 1);
        let parts: Vec<Vec<Cell>> = match end - begin > 1 << 14 {
            true => quarters.collect::<Vec<usize>>().into_par_iter().map(inner).collect(),
            false => quarters.map(inner).collect(),
        };
        let moments: Vec<(f64, Point, Point)> =
            parts.iter().map(|part| (part[0].mass, part[0].center, part[0].second)).collect();
        sum(&moments);
        cell.size = 1 + parts.iter().map(|part| part.len() as u32).sum::<u32>();
        let mut cells = Vec::with_capacity(cell.size as usize);
        cells.push(cell);
        parts.into_iter().for_each(|part| cells.extend(part));
        cells
    }

    fn forces(&self, run: &Run) -> Result<Vec<Point>, Error> {
        let n = self.order.len();
        let chunk = |c: usize| {
            run.check(|| "some forces of a layout".into())?;
            Ok((c * CHUNK_POINTS..n.min((c + 1) * CHUNK_POINTS)).map(|i| self.force(i)).collect())
        };
        let parts =
            (0..n.div_ceil(CHUNK_POINTS)).into_par_iter().map(chunk).collect::<Result<Vec<Vec<Point>>, Error>>()?;
        let mut forces = vec![[0.0, 0.0]; n];
        parts.into_iter().flatten().zip(&self.order).for_each(|(force, v)| forces[*v as usize] = force);
        Ok(forces)
    }

    /// The force on the point at place `i` of the order.
    fn force(&self, i: usize) -> Point {
        let point = self.points[i];
        let mut force = [0.0, 0.0];
        let mut at = 0;
        while let Some(cell) = self.cells.get(at) {
            let (x, y) = (point[0] - cell.center[0], point[1] - cell.center[1]);
            let square = x * x + y * y;
            let is_in = (cell.begin as usize..cell.end as usize).contains(&i);
            if square > cell.near && !is_in {
                // M / w + Q / w^3 for the complex w = x + iy, of which the force is the conjugate.
                let (re, im) = (x / square, -y / square);
                let (re2, im2) = (re * re - im * im, 2.0 * re * im);
                let (a, b) = (
                    cell.mass + cell.second[0] * re2 - cell.second[1] * im2,
                    cell.second[0] * im2 + cell.second[1] * re2,
                );
                force[0] += a * re - b * im;
                force[1] -= a * im + b * re;
                at += cell.size as usize;
            } else {
                if cell.size == 1 {
                    let range = cell.begin as usize..cell.end as usize;
                    let (others, points) = (&self.order[range.clone()], &self.points[range.clone()]);
                    let add = direct(self.order[i], point, others, points, &self.mass[range], self.least);
                    force = [force[0] + add[0], force[1] + add[1]];
                }
                at += 1;
            }
        }
        force
    }
}

/// A zero before each of the low 32 bits.
fn spread(x: u64) -> u64 {
    let mut x = x & 0xffff_ffff;
    for (shift, mask) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555u64),
    ] {
        x = (x | x << shift) & mask;
    }
    x
}
