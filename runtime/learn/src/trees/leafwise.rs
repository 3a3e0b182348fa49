//! Grows a tree of boosting leaf by leaf from gradients
//! (`sklearn/ensemble/_hist_gradient_boosting/{grower.py,histogram.pyx,splitting.pyx}`; Ke et al. 2017, LightGBM).
//!
//! Features are taken in groups of eight. A line of eight bins of a row is read at once, and the histograms of a group
//! stay in the cache. Groups are shared among threads; sums are integers, so that the result does not depend on the
//! number of threads.

use std::collections::BinaryHeap;
use std::ops::Range;

use rayon::prelude::*;

use crate::random::Philox;

use super::bins::{BinnedData, Bins, MISSING};
use super::tree::{CATEGORY, MISSING_LEFT, Node, Set, Tree, contains};

/// Features of a group.
const GROUP: usize = 8;
const CELLS: usize = GROUP * 256;

/// Rows whose lines are read together.
const AHEAD: usize = 64;

/// Rows times features from which groups are shared among threads.
const SHARED: usize = 20_000;

/// Bins of all rows, by group: `GROUP` bytes for each row.
pub struct Lines {
    pub rows: usize,
    groups: Vec<Vec<u8>>,
    /// The feature at each position: categories first, as scikit-learn has them.
    order: Vec<usize>,
}

impl Lines {
    pub fn new(binned: &[BinnedData], rows: usize) -> Self {
        let is_category = |feature: &usize| binned[*feature].bins.category;
        let (mut order, numbers): (Vec<usize>, Vec<usize>) = (0..binned.len()).partition(is_category);
        order.extend(numbers);
        let group = |features: &[usize]| {
            let mut lines = vec![0u8; rows * GROUP];
            for (j, feature) in features.iter().enumerate() {
                let codes = &binned[*feature].codes;
                lines.chunks_mut(GROUP).zip(codes).for_each(|(line, code)| line[j] = *code);
            }
            lines
        };
        let groups = order.par_chunks(GROUP).map(group).collect();
        Lines { rows, groups, order }
    }

    fn code(&self, position: usize, row: u32) -> u8 {
        self.groups[position / GROUP][row as usize * GROUP + position % GROUP]
    }
}

/// Parameters of a tree of boosting.
pub struct LeafwisePlan {
    pub max_leaf_nodes: usize,
    pub max_depth: usize,
    pub min_leaf: usize,
    pub l2: f64,
    pub learning_rate: f64,
    /// Features that are drawn for a split.
    pub max_features: usize,
    /// For each feature 1: rising, -1: falling, 0: free. Empty if all are free.
    pub monotonic: Vec<i8>,
}

/// The least sum of second derivatives of a child.
const MIN_HESSIAN: f64 = 1e-3;

/// Rows up to which a sum of second derivatives and a count share 64 bits.
const PACKED: usize = 1 << 22;

/// Derivatives as integers, so that sums are exact in any order. Gradients have as many bits as their sum leaves room
/// for: 45 for 100,000 rows. A second derivative shares an integer with a count of rows, which has the upper bits: 30
/// bits are left for each of 100,000 rows.
#[derive(Clone, Copy)]
struct Units {
    gradient: f64,
    hessian: f64,
    /// The position of the count. 64: it is kept elsewhere.
    shift: u32,
    /// Second derivatives are 1, and their sum is the count.
    constant: bool,
}

impl Units {
    fn new(gradient: &[f32], hessian: &[f32]) -> Self {
        let rows = gradient.len();
        let bits = usize::BITS - rows.leading_zeros();
        let unit = |values: &[f32], bits: i32| {
            let most = values.par_iter().map(|v| v.abs()).reduce(|| 0.0, f32::max);
            let exponent = if most > 0.0 && most.is_finite() { f64::from(most).log2().floor() as i32 + 1 } else { 0 };
            2f64.powi(bits - exponent)
        };
        let constant = hessian.is_empty();
        let (shift, room) = match (constant, rows <= PACKED) {
            (true, _) => (0, 0),
            (false, true) => (64 - bits, 64 - 2 * bits as i32),
            (false, false) => (64, 62 - bits as i32),
        };
        let hessian = if constant { 1.0 } else { unit(hessian, room) };
        Units { gradient: unit(gradient, 62 - bits as i32), hessian, shift, constant }
    }

    fn pack(&self, gradient: f32, hessian: f32) -> [i64; 2] {
        let gradient = (f64::from(gradient) * self.gradient) as i64;
        if self.constant {
            return [gradient, 1];
        }
        let hessian = (f64::from(hessian) * self.hessian + 0.5) as i64;
        [gradient, if self.shift < 64 { hessian.wrapping_add(1 << self.shift) } else { hessian }]
    }

    /// The sums of gradients and second derivatives.
    fn sums(&self, cell: [i64; 2]) -> (f64, f64) {
        let hessian = match (self.constant, self.shift) {
            (true, _) | (_, 64) => cell[1],
            (_, shift) => cell[1] & ((1 << shift) - 1),
        };
        (cell[0] as f64 / self.gradient, hessian as f64 / self.hessian)
    }
}

/// Sums of a group: gradient, and second derivative with count, for each bin.
struct Sums {
    cells: Box<[[i64; 2]; CELLS]>,
    /// Counts of rows, if they have no room in the cells.
    counts: Box<[u32]>,
}

impl Sums {
    fn new(units: Units) -> Self {
        let counts = if units.shift == 64 { CELLS } else { 0 };
        Sums { cells: Box::new([[0; 2]; CELLS]), counts: vec![0; counts].into_boxed_slice() }
    }

    fn fill(&mut self, lines: &[u8], rows: &[u32], derivatives: &[[i64; 2]]) {
        self.cells.fill([0; 2]);
        let (lines, _) = lines.as_chunks::<GROUP>();
        let cells = &mut *self.cells;
        // Lines are copied first, so that many of their cache misses are under way at once.
        let mut block = [[0u8; GROUP]; AHEAD];
        for (rows, derivatives) in rows.chunks(AHEAD).zip(derivatives.chunks(AHEAD)) {
            for (line, row) in block.iter_mut().zip(rows) {
                *line = lines[*row as usize];
            }
            for (line, [g, h]) in block.iter().zip(derivatives) {
                for (j, bin) in line.iter().enumerate() {
                    let cell = &mut cells[j * 256 + usize::from(*bin)];
                    *cell = [cell[0].wrapping_add(*g), cell[1].wrapping_add(*h)];
                }
            }
        }
        if !self.counts.is_empty() {
            self.counts.fill(0);
            for row in rows {
                let line = &lines[*row as usize];
                line.iter().enumerate().for_each(|(j, bin)| self.counts[j * 256 + usize::from(*bin)] += 1);
            }
        }
    }

    /// Makes the sums of a parent those of the other child.
    fn subtract(&mut self, child: &Sums) {
        let pairs = self.cells.iter_mut().zip(&*child.cells);
        pairs.for_each(|(p, c)| *p = [p[0].wrapping_sub(c[0]), p[1].wrapping_sub(c[1])]);
        self.counts.iter_mut().zip(&*child.counts).for_each(|(p, c)| *p -= c);
    }
}

/// A node while the tree grows.
struct Leaf {
    rows: Range<usize>,
    depth: usize,
    gradient: f64,
    hessian: f64,
    value: f64,
    bounds: (f64, f64),
    split: Option<Split>,
    sums: Option<Vec<Sums>>,
    children: Option<(usize, usize)>,
}

#[derive(Clone, Debug)]
struct Split {
    gain: f64,
    position: usize,
    bin: usize,
    missing_left: bool,
    left: (f64, f64),
    right: (f64, f64),
    values: (f64, f64),
    set: Option<Set>,
}

/// A node by its gain; the older one first.
struct Entry(f64, usize);

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(other.1.cmp(&self.1))
    }
}

/// A grown tree: its nodes, and the rows of each leaf.
pub struct LeafwiseTree {
    pub tree: Tree,
    /// The node of each leaf, and its rows in `rows`.
    pub leaves: Vec<(usize, Range<usize>)>,
    pub rows: Vec<u32>,
}

/// Memory that is used again by the next tree.
#[derive(Default)]
pub struct Memory {
    sums: Vec<Vec<Sums>>,
    right: Vec<u32>,
    derivatives: Vec<[i64; 2]>,
}

struct Grower<'a> {
    plan: &'a LeafwisePlan,
    lines: &'a Lines,
    binned: &'a [BinnedData],
    gradient: &'a [f32],
    /// Empty if second derivatives are 1.
    hessian: &'a [f32],
    units: Units,
    random: (Philox, u64),
    rows: Vec<u32>,
    leaves: Vec<Leaf>,
    memory: &'a mut Memory,
}

/// Grows a tree. `number` chooses the random numbers of this tree.
pub fn grow(
    plan: &LeafwisePlan,
    (lines, binned): (&Lines, &[BinnedData]),
    (gradient, hessian): (&[f32], &[f32]),
    random: (Philox, u64),
    memory: &mut Memory,
) -> LeafwiseTree {
    let rows = (0..lines.rows as u32).collect();
    let units = Units::new(gradient, hessian);
    let mut grower = Grower { plan, lines, binned, gradient, hessian, units, random, rows, leaves: Vec::new(), memory };
    grower.run();
    grower.finish()
}

impl Grower<'_> {
    fn run(&mut self) {
        let all = 0..self.rows.len();
        let plan = self.plan;
        let bounds = (f64::NEG_INFINITY, f64::INFINITY);
        let mut sums = self.take();
        self.gather(&all);
        self.fill(&mut sums, &all);
        // Each feature has all rows in its bins.
        let add = |sum: [i64; 2], cell: &[i64; 2]| [sum[0].wrapping_add(cell[0]), sum[1].wrapping_add(cell[1])];
        let (gradient, hessian) = self.units.sums(sums[0].cells[..256].iter().fold([0; 2], add));
        let root = Leaf {
            rows: all,
            depth: 0,
            gradient,
            hessian,
            value: 0.0,
            bounds,
            split: None,
            sums: None,
            children: None,
        };
        self.leaves.push(root);
        if self.rows.len() < 2 * plan.min_leaf || hessian < MIN_HESSIAN || plan.max_leaf_nodes < 2 {
            self.memory.sums.push(sums);
            return;
        }
        let allowed = self.allowed(0);
        let leaf = &self.leaves[0];
        let found = self.each_group(self.rows.len(), (0..sums.len()).map(|g| (g, &sums[g])).collect(), |(g, sums)| {
            self.best(leaf, g, sums, &allowed)
        });
        self.leaves[0].split = strongest(found);
        self.leaves[0].sums = Some(sums);
        let mut heap = BinaryHeap::new();
        let mut finished = 0;
        self.offer(0, &mut heap, &mut finished);
        while let Some(Entry(_, number)) = heap.pop() {
            let (left, right) = self.divide(number);
            let count = finished + heap.len() + 2;
            let depth = self.leaves[left].depth;
            let is_last = count >= plan.max_leaf_nodes || depth >= plan.max_depth;
            let open: Vec<usize> = [left, right]
                .into_iter()
                .filter(|child| !is_last && self.leaves[*child].rows.len() >= plan.min_leaf * 2)
                .collect();
            finished += 2 - open.len();
            if let Some(sums) = self.leaves[number].sums.take() {
                if open.is_empty() {
                    self.memory.sums.push(sums);
                } else {
                    self.search((left, right), &open, sums);
                }
            }
            if count >= plan.max_leaf_nodes {
                break;
            }
            for child in open {
                self.offer(child, &mut heap, &mut finished);
            }
        }
        for leaf in &mut self.leaves {
            self.memory.sums.extend(leaf.sums.take());
        }
    }

    /// Puts a node with a split into the heap; others are leaves.
    fn offer(&mut self, number: usize, heap: &mut BinaryHeap<Entry>, finished: &mut usize) {
        match &self.leaves[number].split {
            Some(split) if split.gain > 0.0 => heap.push(Entry(split.gain, number)),
            _ => {
                *finished += 1;
                self.memory.sums.extend(self.leaves[number].sums.take());
            }
        }
    }

    fn take(&mut self) -> Vec<Sums> {
        self.memory.sums.pop().unwrap_or_else(|| self.lines.groups.iter().map(|_| Sums::new(self.units)).collect())
    }

    /// Copies the derivatives of rows, so that all groups read them in order.
    fn gather(&mut self, rows: &Range<usize>) {
        let (gradient, hessian, units) = (self.gradient, self.hessian, self.units);
        self.memory.derivatives.clear();
        let rows = &self.rows[rows.clone()];
        match hessian.is_empty() {
            true => self.memory.derivatives.extend(rows.iter().map(|r| units.pack(gradient[*r as usize], 1.0))),
            false => {
                let one = |r: &u32| units.pack(gradient[*r as usize], hessian[*r as usize]);
                self.memory.derivatives.extend(rows.iter().map(one));
            }
        }
    }

    fn fill(&self, sums: &mut [Sums], rows: &Range<usize>) {
        let tasks: Vec<(usize, &mut Sums)> = sums.iter_mut().enumerate().collect();
        self.each_group(rows.len(), tasks, |(group, sums)| self.fill_group(group, sums, rows));
    }

    fn fill_group(&self, group: usize, sums: &mut Sums, rows: &Range<usize>) {
        sums.fill(&self.lines.groups[group], &self.rows[rows.clone()], &self.memory.derivatives);
    }

    /// Does the work of all groups, on several threads if there are many rows.
    fn each_group<T: Send, R: Send>(&self, rows: usize, tasks: Vec<T>, work: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
        match rows * self.lines.order.len() >= SHARED {
            true => tasks.into_par_iter().map(work).collect(),
            false => tasks.into_iter().map(work).collect(),
        }
    }

    /// Finds the splits of both children from the sums of their parent: the smaller child is summed, the other one is
    /// the difference.
    fn search(&mut self, (left, right): (usize, usize), open: &[usize], mut parent: Vec<Sums>) {
        let len = |number: usize| self.leaves[number].rows.len();
        let (small, large) = if len(left) < len(right) { (left, right) } else { (right, left) };
        let mut sums = self.take();
        let rows = self.leaves[small].rows.clone();
        self.gather(&rows);
        let allowed: Vec<Option<Vec<bool>>> = open.iter().map(|child| self.allowed(*child)).collect();
        let work = rows.len() + 512 * open.len();
        let tasks: Vec<_> = sums.iter_mut().zip(parent.iter_mut()).enumerate().collect();
        let found = self.each_group(work, tasks, |(group, (sums, parent))| {
            self.fill_group(group, sums, &rows);
            parent.subtract(sums);
            let one = |(child, allowed): (&usize, &Option<Vec<bool>>)| {
                let sums = if *child == small { &*sums } else { &*parent };
                self.best(&self.leaves[*child], group, sums, allowed)
            };
            open.iter().zip(&allowed).map(one).collect::<Vec<_>>()
        });
        for (k, child) in open.iter().enumerate() {
            self.leaves[*child].split = strongest(found.iter().map(|group| group[k].clone()));
        }
        self.leaves[small].sums = Some(sums);
        self.leaves[large].sums = Some(parent);
        for child in [small, large] {
            if !open.contains(&child) {
                self.memory.sums.extend(self.leaves[child].sums.take());
            }
        }
    }

    /// The features that a node may be split by. `None`: all.
    fn allowed(&self, node: usize) -> Option<Vec<bool>> {
        let (all, wanted) = (self.lines.order.len(), self.plan.max_features);
        if wanted >= all {
            return None;
        }
        let mut positions: Vec<usize> = (0..all).collect();
        let (philox, tree) = self.random;
        for k in 0..wanted {
            positions.swap(k, k + philox.below(tree << 32 | node as u64, k as u64, all - k));
        }
        let mut allowed = vec![false; all];
        positions[..wanted].iter().for_each(|p| allowed[*p] = true);
        Some(allowed)
    }

    /// The best split of a node by the features of a group.
    fn best(&self, leaf: &Leaf, group: usize, sums: &Sums, allowed: &Option<Vec<bool>>) -> Option<Split> {
        let positions = group * GROUP..self.lines.order.len().min((group + 1) * GROUP);
        let is_allowed = |position: &usize| allowed.as_ref().is_none_or(|a| a[*position]);
        strongest(positions.filter(is_allowed).map(|position| {
            let feature = self.lines.order[position];
            let at = position % GROUP * 256;
            let bins = &self.binned[feature].bins;
            let scan = Scan {
                cells: &sums.cells[at..at + 256],
                counts: sums.counts.get(at..at + 256).unwrap_or(&[]),
                units: self.units,
                bins,
                leaf,
                rows: leaf.rows.len() as u32,
                min_leaf: self.plan.min_leaf as u32,
                l2: self.plan.l2,
                monotonic: self.plan.monotonic.get(feature).copied().unwrap_or(0),
            };
            let split = if bins.category { scan.category() } else { scan.number() };
            split.map(|split| Split { position, ..split })
        }))
    }

    /// Splits the rows of a node into those of two new ones.
    fn divide(&mut self, number: usize) -> (usize, usize) {
        let leaf = &mut self.leaves[number];
        let Some(split) = leaf.split.as_mut() else { return (number, number) };
        let mut is_left = [false; 256];
        for (bin, left) in is_left.iter_mut().enumerate() {
            *left = match &split.set {
                Some(set) => contains(set, bin as u8),
                None => bin <= split.bin || (split.missing_left && bin == usize::from(MISSING)),
            };
        }
        let range = leaf.rows.clone();
        let rows = &mut self.rows[range.clone()];
        // Writes both places and advances one of them: no branch that depends on the data.
        let right = &mut self.memory.right;
        right.resize(rows.len(), 0);
        let (mut left, mut others) = (0, 0);
        for i in 0..rows.len() {
            let row = rows[i];
            let goes_left = is_left[usize::from(self.lines.code(split.position, row))];
            rows[left] = row;
            right[others] = row;
            left += usize::from(goes_left);
            others += usize::from(!goes_left);
        }
        rows[left..].copy_from_slice(&right[..others]);
        let bins = &self.binned[self.lines.order[split.position]].bins;
        if !bins.has_missing {
            split.missing_left = left > others;
        }
        let monotonic = self.plan.monotonic.get(self.lines.order[split.position]).copied().unwrap_or(0);
        let middle = f64::midpoint(split.values.0, split.values.1);
        let (low, high) = leaf.bounds;
        let bounds = match monotonic {
            0 => (leaf.bounds, leaf.bounds),
            1 => ((low, middle), (middle, high)),
            _ => ((middle, high), (low, middle)),
        };
        let depth = leaf.depth + 1;
        let child = |rows: Range<usize>, sums: (f64, f64), value: f64, bounds: (f64, f64)| Leaf {
            rows,
            depth,
            gradient: sums.0,
            hessian: sums.1,
            value,
            bounds,
            split: None,
            sums: None,
            children: None,
        };
        let middle = range.start + left;
        let left = child(range.start..middle, split.left, split.values.0, bounds.0);
        let right = child(middle..range.end, split.right, split.values.1, bounds.1);
        let at = self.leaves.len();
        self.leaves[number].children = Some((at, at + 1));
        self.leaves.extend([left, right]);
        (at, at + 1)
    }

    /// Puts the nodes into preorder, with values times the learning rate.
    fn finish(self) -> LeafwiseTree {
        let mut tree = Tree::default();
        let mut leaves = Vec::new();
        let mut stack = vec![(0usize, None::<usize>)];
        while let Some((number, parent)) = stack.pop() {
            let at = tree.nodes.len();
            if let Some(parent) = parent {
                tree.nodes[parent].right = at as u32;
            }
            let leaf = &self.leaves[number];
            let (Some((left, right)), Some(split)) = (leaf.children, &leaf.split) else {
                leaves.push((at, leaf.rows.clone()));
                tree.covers.push(leaf.rows.len() as f64);
                tree.nodes.push(Node { threshold: leaf.value * self.plan.learning_rate, feature: 0, right: 0 });
                continue;
            };
            let feature = self.lines.order[split.position];
            let bins = &self.binned[feature].bins;
            let missing = if split.missing_left { MISSING_LEFT } else { 0 };
            let (threshold, kind) = match split.set {
                None => (bins.edges.get(split.bin).copied().unwrap_or(f64::INFINITY), 0),
                Some(mut set) => {
                    // Strings that the training did not see go with the missing values.
                    for bin in bins.count..256 {
                        let bit = 1 << (bin & 31);
                        if split.missing_left { set[bin >> 5] |= bit } else { set[bin >> 5] &= !bit }
                    }
                    tree.sets.push(set);
                    ((tree.sets.len() - 1) as f64, CATEGORY)
                }
            };
            tree.nodes.push(Node { threshold, feature: feature as u32 | missing | kind, right: 0 });
            stack.push((right, Some(at)));
            stack.push((left, None));
        }
        LeafwiseTree { tree, leaves, rows: self.rows }
    }
}

/// The first split with the highest gain.
fn strongest(splits: impl IntoIterator<Item = Option<Split>>) -> Option<Split> {
    let better = |best: Option<Split>, split: Split| match best {
        Some(best) if best.gain >= split.gain => Some(best),
        _ => Some(split),
    };
    splits.into_iter().flatten().fold(None, better)
}

/// A search of one feature's histogram.
struct Scan<'a> {
    cells: &'a [[i64; 2]],
    units: Units,
    counts: &'a [u32],
    bins: &'a Bins,
    leaf: &'a Leaf,
    rows: u32,
    min_leaf: u32,
    l2: f64,
    monotonic: i8,
}

/// Categories with fewer rows than this are not put to the left. LightGBM's `cat_smooth`.
const MIN_SUPPORT: f64 = 10.0;

impl Scan<'_> {
    fn count(&self, bin: usize) -> u32 {
        match self.units.shift {
            64 => self.counts[bin],
            shift => (self.cells[bin][1] as u64 >> shift) as u32,
        }
    }

    fn sums(&self, bin: usize) -> (f64, f64) {
        self.units.sums(self.cells[bin])
    }

    fn value(&self, gradient: f64, hessian: f64) -> f64 {
        let value = -gradient / (hessian + self.l2 + 1e-15);
        let (low, high) = self.leaf.bounds;
        if value < low {
            low
        } else if value > high {
            high
        } else {
            value
        }
    }

    /// How much a split lowers the loss. -1 if it breaks the constraint.
    fn gain(&self, left: (f64, f64), right: (f64, f64)) -> f64 {
        let (low, high) = (self.value(left.0, left.1), self.value(right.0, right.1));
        if (low - high) * f64::from(self.monotonic) > 0.0 {
            return -1.0;
        }
        self.leaf.gradient * self.leaf.value - left.0 * low - right.0 * high
    }

    fn split(
        &self,
        gain: f64,
        bin: usize,
        missing_left: bool,
        left: (f64, f64),
        right: (f64, f64),
        set: Option<Set>,
    ) -> Split {
        let values = (self.value(left.0, left.1), self.value(right.0, right.1));
        Split { gain, position: 0, bin, missing_left, left, right, values, set }
    }

    /// Whether a side is too small.
    fn too_small(&self, count: u32, hessian: f64) -> bool {
        count < self.min_leaf || hessian < MIN_HESSIAN
    }

    /// Thresholds from left to right with missing values to the right, and if there are some from right to left with
    /// them to the left.
    fn number(&self) -> Option<Split> {
        let (all, leaf) = ((self.leaf.gradient, self.leaf.hessian), self.leaf);
        let has_missing = self.bins.has_missing;
        let mut best = (0.0, None::<(usize, bool, (f64, f64))>);
        let (mut sum, mut count) = ((0.0, 0.0), 0);
        for bin in 0..self.bins.count - 1 + usize::from(has_missing) {
            // A threshold after an empty bin is the one before it.
            if self.cells[bin] == [0; 2] {
                continue;
            }
            let own = self.sums(bin);
            sum = (sum.0 + own.0, sum.1 + own.1);
            count += self.count(bin);
            let right = (all.0 - sum.0, all.1 - sum.1);
            if self.too_small(count, sum.1) {
                continue;
            }
            if self.too_small(self.rows - count, right.1) {
                break;
            }
            let gain = self.gain(sum, right);
            if gain > best.0 {
                best = (gain, Some((bin, false, sum)));
            }
        }
        if has_missing {
            let (mut sum, mut count) = ((0.0, 0.0), 0);
            for bin in (0..self.bins.count - 1).rev() {
                if self.cells[bin + 1] == [0; 2] {
                    continue;
                }
                let own = self.sums(bin + 1);
                sum = (sum.0 + own.0, sum.1 + own.1);
                count += self.count(bin + 1);
                let left = (all.0 - sum.0, all.1 - sum.1);
                if self.too_small(count, sum.1) {
                    continue;
                }
                if self.too_small(self.rows - count, left.1) {
                    break;
                }
                let gain = self.gain(left, sum);
                if gain > best.0 {
                    best = (gain, Some((bin, true, left)));
                }
            }
        }
        let (gain, Some((bin, missing_left, left))) = best else { return None };
        let right = (leaf.gradient - left.0, leaf.hessian - left.1);
        Some(self.split(gain, bin, missing_left, left, right, None))
    }

    /// Sorts categories by their ratio of sums and scans from both ends to the middle (Fisher 1958). Missing values are
    /// a category. Rare categories go right.
    fn category(&self) -> Option<Split> {
        let leaf = self.leaf;
        let factor = f64::from(self.rows) / leaf.hessian;
        let missing = self.bins.has_missing.then_some(usize::from(MISSING));
        let ratio = |bin: usize| self.sums(bin).0 / (self.sums(bin).1 + MIN_SUPPORT);
        let mut sorted: Vec<usize> =
            (0..self.bins.count).chain(missing).filter(|bin| self.sums(*bin).1 * factor >= MIN_SUPPORT).collect();
        sorted.sort_by(|a, b| ratio(*a).total_cmp(&ratio(*b)));
        let used = sorted.len();
        if used < 2 {
            return None;
        }
        let mut best = (0.0, None::<(bool, usize, (f64, f64))>);
        for forward in [true, false] {
            let middle = if forward { used.div_ceil(2) } else { used.div_ceil(2) - 1 };
            let (mut sum, mut count) = ((0.0, 0.0), 0);
            for i in 0..middle {
                let bin = sorted[if forward { i } else { used - 1 - i }];
                let own = self.sums(bin);
                sum = (sum.0 + own.0, sum.1 + own.1);
                count += self.count(bin);
                let right = (leaf.gradient - sum.0, leaf.hessian - sum.1);
                if self.too_small(count, sum.1) {
                    continue;
                }
                if self.too_small(self.rows - count, right.1) {
                    break;
                }
                let gain = self.gain(sum, right);
                if gain > best.0 {
                    best = (gain, Some((forward, i, sum)));
                }
            }
        }
        let (gain, Some((forward, last, left))) = best else { return None };
        let mut set: Set = [0; 8];
        for i in 0..=last {
            let bin = sorted[if forward { i } else { used - 1 - i }];
            set[bin >> 5] |= 1 << (bin & 31);
        }
        let right = (leaf.gradient - left.0, leaf.hessian - left.1);
        Some(self.split(gain, 0, contains(&set, MISSING), left, right, Some(set)))
    }
}
