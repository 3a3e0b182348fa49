//! The repulsive forces of t-SNE by a quadtree, in three dimensions an octree (van der Maaten, JMLR 2014; Barnes and
//! Hut, Nature 1986).
//!
//! The points are sorted by their Morton code, so that each cell is a range of points. The points of a small cell share
//! a walk through the tree. A cell stands for its points if it is small for all of them. Forces are sums in the order
//! of the tree, the same on any number of threads.

use rayon::prelude::*;

/// Bits of each coordinate in a Morton code: the depth of the tree.
const BITS: u32 = 20;

/// Points of a leaf at most, unless it is at the bottom.
const LEAF: usize = 4;

/// Points that walk together at most.
const TOGETHER: usize = 24;

/// Groups of points that a thread takes at once.
const CHUNK: usize = 16;

/// Points whose codes a thread computes at once.
const CODES: usize = 2048;

/// Interactions that are added side by side.
const LANES: usize = 8;

/// A cell of the tree. Its children follow it.
struct Cell<const D: usize> {
    /// The mean of its points.
    center: [f64; D],
    /// Number of points.
    mass: f64,
    /// The square of its width.
    square: f64,
    /// The cell after its last descendant.
    next: u32,
    /// The first of its points.
    first: u32,
    is_leaf: bool,
    /// At the bottom of the tree: its points are almost equal.
    is_bottom: bool,
}

/// Points in cells.
pub(super) struct Quadtree<const D: usize> {
    /// The numbers of the points in the order of the tree.
    order: Vec<u32>,
    /// The points in this order.
    points: Vec<[f64; D]>,
    codes: Vec<u64>,
    cells: Vec<Cell<D>>,
    /// First point and end of each group.
    groups: Vec<(usize, usize)>,
    /// The square of the root's width.
    square: f64,
}

/// The repulsive force on each point without its divisor, which is the sum over all pairs.
pub(super) struct Repulsion<const D: usize> {
    pub forces: Vec<[f64; D]>,
    pub sum: f64,
}

impl<const D: usize> Quadtree<D> {
    pub fn new(points: &[[f64; D]]) -> Self {
        let (mut low, mut high) = ([f64::INFINITY; D], [f64::NEG_INFINITY; D]);
        for point in points {
            for d in 0..D {
                low[d] = low[d].min(point[d]);
                high[d] = high[d].max(point[d]);
            }
        }
        let width = (0..D).map(|d| high[d] - low[d]).fold(0.0, f64::max);
        let scale = if width > 0.0 { f64::from((1u32 << BITS) - 1) / width } else { 0.0 };
        let code = |point: &[f64; D]| {
            let mut code = 0u64;
            let places: [u64; D] = std::array::from_fn(|d| ((point[d] - low[d]) * scale) as u64);
            for bit in (0..BITS).rev() {
                for place in places {
                    code = code << 1 | (place >> bit & 1);
                }
            }
            code
        };
        let coded = points.par_iter().with_min_len(CODES).enumerate().map(|(row, point)| (code(point), row as u32));
        let mut sorted: Vec<(u64, u32)> = coded.collect();
        sorted.par_sort_unstable();
        let order: Vec<u32> = sorted.iter().map(|(_, row)| *row).collect();
        let mut tree = Quadtree {
            points: order.iter().map(|row| points[*row as usize]).collect(),
            order,
            codes: sorted.into_iter().map(|(code, _)| code).collect(),
            cells: Vec::new(),
            groups: Vec::new(),
            square: width * width,
        };
        tree.cell(0, points.len(), 0, false);
        tree
    }

    /// Makes the cell of some points with its descendants. `grouped`: a cell above it is a group already.
    fn cell(&mut self, first: usize, end: usize, level: u32, grouped: bool) {
        let grouped = grouped || {
            let small = end - first <= TOGETHER || level == BITS;
            if small {
                self.groups.push((first, end));
            }
            small
        };
        let number = self.cells.len();
        let is_bottom = level == BITS;
        let is_leaf = is_bottom || end - first <= LEAF;
        let mut center = [0.0; D];
        for point in &self.points[first..end] {
            center.iter_mut().zip(point).for_each(|(c, p)| *c += p);
        }
        let mass = (end - first) as f64;
        center.iter_mut().for_each(|c| *c /= mass);
        let square = self.square / f64::from(level).exp2().powi(2);
        self.cells.push(Cell { center, mass, square, next: 0, first: first as u32, is_leaf, is_bottom });
        if !is_leaf {
            let shift = (BITS - level - 1) * D as u32;
            let mut start = first;
            while start < end {
                let child = self.codes[start] >> shift;
                let stop = start + self.codes[start..end].partition_point(|code| code >> shift == child);
                self.cell(start, stop, level + 1, grouped);
                start = stop;
            }
        }
        self.cells[number].next = self.cells.len() as u32;
    }

    /// The repulsive forces. A cell stands for its points if its width is below `angle` times its distance. With the
    /// angle 0 all pairs are computed.
    pub fn repulsion(&self, angle: f64) -> Repulsion<D> {
        let parts: Vec<(Vec<[f64; D]>, f64)> = self
            .groups
            .par_chunks(CHUNK)
            .map_init(Interactions::default, |list, groups| {
                let (mut forces, mut sum) = (Vec::new(), 0.0);
                for (first, end) in groups {
                    let group = &self.points[*first..*end];
                    list.collect(self, group, angle * angle);
                    sum += pulp::Arch::new().dispatch(Forces { list, group, out: &mut forces });
                }
                (forces, sum)
            })
            .collect();
        let mut forces = vec![[0.0; D]; self.points.len()];
        let mut sum = 0.0;
        let mut rows = self.order.iter();
        for (part, of_part) in parts {
            sum += of_part;
            rows.by_ref().zip(part).for_each(|(row, force)| forces[*row as usize] = force);
        }
        // Each point has met itself.
        Repulsion { forces, sum: (sum - self.points.len() as f64).max(f64::EPSILON) }
    }
}

/// Points and cells that act on the points of a group.
struct Interactions<const D: usize> {
    places: [Vec<f64>; D],
    masses: Vec<f64>,
}

impl<const D: usize> Default for Interactions<D> {
    fn default() -> Self {
        Interactions { places: std::array::from_fn(|_| Vec::new()), masses: Vec::new() }
    }
}

impl<const D: usize> Interactions<D> {
    fn push(&mut self, place: &[f64; D], mass: f64) {
        self.places.iter_mut().zip(place).for_each(|(places, p)| places.push(*p));
        self.masses.push(mass);
    }

    /// Walks through the tree, and fills the last lanes up with masses of 0.
    fn collect(&mut self, tree: &Quadtree<D>, group: &[[f64; D]], square: f64) {
        self.places.iter_mut().for_each(Vec::clear);
        self.masses.clear();
        let (mut low, mut high) = (group[0], group[0]);
        for point in group {
            for d in 0..D {
                low[d] = low[d].min(point[d]);
                high[d] = high[d].max(point[d]);
            }
        }
        let mut at = 0;
        while let Some(cell) = tree.cells.get(at) {
            at += 1;
            let mut distance = 0.0;
            for d in 0..D {
                let off = (low[d] - cell.center[d]).max(cell.center[d] - high[d]).max(0.0);
                distance += off * off;
            }
            if cell.is_bottom || cell.square < square * distance {
                self.push(&cell.center, cell.mass);
                at = cell.next as usize;
            } else if cell.is_leaf {
                let first = cell.first as usize;
                tree.points[first..first + cell.mass as usize].iter().for_each(|point| self.push(point, 1.0));
            }
        }
        while !self.masses.len().is_multiple_of(LANES) {
            self.push(&group[0], 0.0);
        }
    }
}

/// Adds up the forces on the points of a group.
struct Forces<'a, const D: usize> {
    list: &'a Interactions<D>,
    group: &'a [[f64; D]],
    out: &'a mut Vec<[f64; D]>,
}

impl<const D: usize> pulp::NullaryFnOnce for Forces<'_, D> {
    type Output = f64;

    // Inlined into the code for each set of instructions: a call would leave it.
    #[inline(always)]
    fn call(self) -> f64 {
        let Forces { list, group, out } = self;
        let places: [&[[f64; LANES]]; D] = std::array::from_fn(|d| list.places[d].as_chunks::<LANES>().0);
        let (masses, _) = list.masses.as_chunks::<LANES>();
        let mut total = 0.0;
        for point in group {
            let mut forces = [[0.0; LANES]; D];
            let mut sums = [0.0; LANES];
            for (chunk, masses) in masses.iter().enumerate() {
                let mut offs = [[0.0; LANES]; D];
                let mut squares = [0.0; LANES];
                for d in 0..D {
                    let places = &places[d][chunk];
                    for lane in 0..LANES {
                        offs[d][lane] = point[d] - places[lane];
                        squares[lane] += offs[d][lane] * offs[d][lane];
                    }
                }
                for lane in 0..LANES {
                    let weight = kernel::<D>(squares[lane]);
                    let share = masses[lane] * weight;
                    sums[lane] += share;
                    squares[lane] = share * weight;
                }
                for d in 0..D {
                    for lane in 0..LANES {
                        forces[d][lane] += squares[lane] * offs[d][lane];
                    }
                }
            }
            total += sums.iter().sum::<f64>();
            out.push(forces.map(|lanes| lanes.iter().sum()));
        }
        total
    }
}

/// Student's t-distribution without its divisor, of a squared distance. It has `max(D - 1, 1)` degrees of freedom.
#[inline(always)]
pub(super) fn kernel<const D: usize>(square: f64) -> f64 {
    if D <= 2 {
        return 1.0 / (1.0 + square);
    }
    let base = 2.0 / (2.0 + square);
    base * base.sqrt()
}
