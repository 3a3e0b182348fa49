//! Triangles of a simple undirected graph, each found once.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::Error;
use crate::graph::{Graph, Rows};
use crate::parallel;
use crate::run::Run;

/// Memory for the counts of all threads, in bytes.
const COUNT_BYTES: usize = 4 << 30;

/// A graph whose nodes are numbered by falling degree. Each node has two lists: neighbours of lower number, which have
/// at least its degree, and the others.
///
/// Lists of lower numbers are short (sqrt(2 edges) at most), and the numbers in them are small: marks of them stay in
/// the cache.
pub struct OrientedGraph {
    /// The number of each node.
    rank: Vec<u32>,
    /// Neighbours of lower number, and the edges to them, in the order of nodes.
    lower: Rows,
    /// The other neighbours.
    higher: Rows,
}

impl OrientedGraph {
    pub fn of(simple: &Graph) -> OrientedGraph {
        let rows = simple.out_rows();
        let n = rows.nodes();
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.par_sort_by_key(|v| (u32::MAX - rows.len(*v) as u32, *v));
        let mut rank = vec![0u32; n];
        (0..).zip(&order).for_each(|(r, v)| rank[*v as usize] = r);
        let is_lower = |v: u32, u: u32| rank[u as usize] < rank[v as usize];
        let counts = parallel::fill(n, |i| {
            let v = order[i];
            rows.row(v).iter().filter(|u| is_lower(v, **u)).count()
        });
        let lower = side(rows, &order, &rank, |i| counts[i], is_lower);
        let higher = side(rows, &order, &rank, |i| rows.len(order[i]) - counts[i], |v, u| !is_lower(v, u));
        OrientedGraph { rank, lower, higher }
    }

    /// The neighbours of `x` whose list of lower numbers is shorter than that of `x`, or as long and of a lower node.
    /// The shorter list of each arc is read, against marks of the longer one. With the edges to them.
    fn shorter(&self, x: u32) -> impl Iterator<Item = (u32, u32)> {
        let length = self.lower.len(x);
        let neighbours = [&self.lower, &self.higher].into_iter().flat_map(move |rows| {
            let arcs = rows.arcs(x);
            rows.targets[arcs.clone()].iter().copied().zip(rows.edges[arcs].iter().copied())
        });
        neighbours.filter(move |(y, _)| {
            let other = self.lower.len(*y);
            other != 0 && (other < length || (other == length && *y < x))
        })
    }

    /// Ranges of nodes with about as much work.
    fn tasks(&self) -> Vec<Range<usize>> {
        self.lower.ranges_of(1 << 10)
    }

    /// Triangles by node.
    pub fn triangles(&self, run: &Run) -> Result<Vec<u64>, Error> {
        let n = self.rank.len();
        let tasks = self.tasks();
        let work = |(marks, counts): &mut (Vec<u64>, Vec<u64>), task: usize| {
            if (run.is_stopped)() {
                return;
            }
            for x in tasks[task].clone().map(|x| x as u32).filter(|x| self.lower.len(*x) > 0) {
                let list = self.lower.row(x);
                list.iter().for_each(|k| marks[*k as usize >> 6] |= 1 << (k & 63));
                let mut all = 0;
                for (y, _) in self.shorter(x) {
                    let mut found = 0;
                    for k in self.lower.row(y) {
                        let hit = marks[*k as usize >> 6] >> (k & 63) & 1;
                        found += hit;
                        counts[*k as usize] += hit;
                    }
                    counts[y as usize] += found;
                    all += found;
                }
                counts[x as usize] += all;
                list.iter().for_each(|k| marks[*k as usize >> 6] = 0);
            }
        };
        let make = || (vec![0u64; n.div_ceil(64)], vec![0u64; n]);
        let (_, scratches) = parallel::with_scratch(tasks.len(), workers(8 * n), make, work);
        run.check(|| "part of the triangles".to_string())?;
        Ok(parallel::fill(n, |v| scratches.iter().map(|(_, counts)| counts[self.rank[v] as usize]).sum()))
    }

    /// By node, the sum over triangles of the number of arcs between the two other corners, which `arcs` has by edge: 1
    /// or 2.
    pub fn opposite_arcs(&self, arcs: &[f64], run: &Run) -> Result<Vec<u64>, Error> {
        let n = self.rank.len();
        let tasks = self.tasks();
        let lower = parallel::fill(self.lower.edges.len(), |arc| arcs[self.lower.edges[arc] as usize] as u8);
        let work = |(marks, counts): &mut (Vec<u8>, Vec<u64>), task: usize| {
            if (run.is_stopped)() {
                return;
            }
            for x in tasks[task].clone().map(|x| x as u32).filter(|x| self.lower.len(*x) > 0) {
                self.lower.arcs(x).for_each(|arc| marks[self.lower.targets[arc] as usize] = lower[arc]);
                for (y, edge) in self.shorter(x) {
                    let between = arcs[edge as usize] as u64;
                    let row = self.lower.arcs(y);
                    for (k, value) in self.lower.targets[row.clone()].iter().zip(&lower[row]) {
                        let mark = marks[*k as usize];
                        if mark != 0 {
                            counts[*k as usize] += between;
                            counts[y as usize] += u64::from(mark);
                            counts[x as usize] += u64::from(*value);
                        }
                    }
                }
                self.lower.row(x).iter().for_each(|k| marks[*k as usize] = 0);
            }
        };
        let make = || (vec![0u8; n], vec![0u64; n]);
        let (_, scratches) = parallel::with_scratch(tasks.len(), workers(9 * n), make, work);
        run.check(|| "part of the triangles".to_string())?;
        Ok(parallel::fill(n, |v| scratches.iter().map(|(_, counts)| counts[self.rank[v] as usize]).sum()))
    }

    /// By node, the sum over triangles of the product of the values of their edges.
    ///
    /// In fixed point: the same in any order, exact to 2^-62 of the largest product of three values.
    pub fn sums(&self, values: &[f64], run: &Run) -> Result<Vec<f64>, Error> {
        let n = self.rank.len();
        let tasks = self.tasks();
        let largest = values.iter().fold(0.0f64, |a, b| a.max(b.abs())).powi(3);
        if largest == 0.0 {
            return Ok(vec![0.0; n]);
        }
        let scale = 2f64.powi((62.0 - largest.log2().ceil()).clamp(-1000.0, 1000.0) as i32);
        let lower = parallel::fill(self.lower.edges.len(), |arc| values[self.lower.edges[arc] as usize]);
        let work = |(marks, counts): &mut (Vec<f64>, Vec<i128>), task: usize| {
            if (run.is_stopped)() {
                return;
            }
            for x in tasks[task].clone().map(|x| x as u32).filter(|x| self.lower.len(*x) > 0) {
                self.lower.arcs(x).for_each(|arc| marks[self.lower.targets[arc] as usize] = lower[arc]);
                let mut all = 0;
                for (y, edge) in self.shorter(x) {
                    let between = values[edge as usize] * scale;
                    let mut found = 0;
                    let arcs = self.lower.arcs(y);
                    for (k, value) in self.lower.targets[arcs.clone()].iter().zip(&lower[arcs]) {
                        let mark = marks[*k as usize];
                        if mark != 0.0 {
                            let product = i128::from((mark * value * between) as i64);
                            counts[*k as usize] += product;
                            found += product;
                        }
                    }
                    counts[y as usize] += found;
                    all += found;
                }
                counts[x as usize] += all;
                self.lower.row(x).iter().for_each(|k| marks[*k as usize] = 0.0);
            }
        };
        let make = || (vec![0.0f64; n], vec![0i128; n]);
        let (_, scratches) = parallel::with_scratch(tasks.len(), workers(24 * n), make, work);
        run.check(|| "part of the triangles".to_string())?;
        Ok(parallel::fill(n, |v| {
            let sum: i128 = scratches.iter().map(|(_, counts)| counts[self.rank[v] as usize]).sum();
            sum as f64 / scale
        }))
    }
}

fn workers(bytes: usize) -> usize {
    (COUNT_BYTES / bytes.max(1)).max(1)
}

/// The neighbours of each node that `is_in` takes, `count` of them, with numbers in place of nodes.
fn side(
    rows: &Rows,
    order: &[u32],
    rank: &[u32],
    count: impl Fn(usize) -> usize,
    is_in: impl Fn(u32, u32) -> bool + Sync,
) -> Rows {
    let n = order.len();
    let mut side = Rows { offsets: vec![0; n + 1], ..Rows::default() };
    (0..n).for_each(|i| side.offsets[i + 1] = side.offsets[i] + count(i));
    (side.targets, side.edges) = (vec![0; side.offsets[n]], vec![0; side.offsets[n]]);
    let ranges = side.ranges();
    let spans: Vec<Range<usize>> = ranges.iter().map(|r| side.offsets[r.start]..side.offsets[r.end]).collect();
    let targets = parallel::split(&mut side.targets, &spans);
    let edges = parallel::split(&mut side.edges, &spans);
    let work: Vec<_> = ranges.into_iter().zip(targets).zip(edges).collect();
    work.into_par_iter().for_each(|((range, targets), edges)| {
        let mut place = 0;
        for v in range.map(|i| order[i]) {
            for arc in rows.arcs(v).filter(|arc| is_in(v, rows.targets[*arc])) {
                (targets[place], edges[place]) = (rank[rows.targets[arc] as usize], rows.edges[arc]);
                place += 1;
            }
        }
    });
    side
}
