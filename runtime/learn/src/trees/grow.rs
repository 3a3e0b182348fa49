//! Grows a classification or regression tree on binned features (`sklearn/tree/_tree.pyx`): depth first, or best first
//! if the number of leaves is limited. Rows of a node are contiguous; a split is a stable partition of them.

use std::collections::BinaryHeap;

use rayon::prelude::*;

use crate::error::Error;
use crate::random::Philox;
use crate::run::Run;

use super::bins::{BinnedData, MISSING};
use super::criterion::{Item, Target};
use super::split::{BestSplit, Histogram, Limits, Rule, Split};
use super::tree::{CATEGORY, MISSING_LEFT, Node, Tree, contains};

/// Parameters of a tree.
pub struct Plan {
    pub target: Target,
    pub max_depth: usize,
    pub min_split: usize,
    pub min_leaf: usize,
    pub min_weight: f64,
    /// Features that are drawn for a node.
    pub max_features: usize,
    pub max_leaf_nodes: Option<usize>,
    pub min_decrease: f64,
    pub ccp_alpha: f64,
    /// For each feature 1: rising, -1: falling, 0: free. Empty if all are free.
    pub monotonic: Vec<i8>,
    /// Features of a node are looked at in random order, which breaks ties.
    pub shuffle: bool,
    /// Thresholds are drawn at random instead of the best being taken.
    pub random: bool,
}

/// The rows of a tree, and where its random numbers come from.
pub struct TreeRows<'a> {
    pub rows: Vec<u32>,
    pub items: Vec<Item>,
    /// The target of all rows, by number of the row.
    pub y: &'a [f64],
    /// The shift of `y` in `items`.
    pub centre: f64,
    pub random: Philox,
    pub number: u64,
    /// Whether features of a node are looked at on several threads.
    pub parallel: bool,
}

/// A grown tree.
pub struct GrownTree {
    pub tree: Tree,
    /// Share of the total decrease of impurity for each feature.
    pub importances: Vec<f64>,
    /// The total decrease of impurity, weighted by the rows of the nodes.
    pub decrease: f64,
    pub details: Details,
}

/// Nodes in the order of the tree.
#[derive(Default)]
pub struct Details {
    pub samples: Vec<f64>,
    pub impurity: Vec<f64>,
    /// Mean, or the share of each class, node after node.
    pub value: Vec<f64>,
}

/// A node while the tree grows.
struct GrowingNode {
    split: Option<Split>,
    missing_left: bool,
    left: usize,
    right: usize,
    samples: usize,
    weight: f64,
    impurity: f64,
}

/// Rows that become a node.
#[derive(Clone, Copy)]
struct PendingNode {
    parent: usize,
    is_left: bool,
    start: usize,
    end: usize,
    depth: usize,
    bounds: (f64, f64),
}

/// A node that can be split. Ordered by improvement, then the older one first.
struct Candidate {
    improvement: f64,
    node: usize,
    pending: PendingNode,
    split: Split,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Candidate {}
impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.improvement.total_cmp(&other.improvement).then(other.node.cmp(&self.node))
    }
}

/// The random numbers of a node: SplitMix64 (Steele, Lea and Flood 2014) from a seed of Philox.
struct Draws(u64);

impl Draws {
    fn new(random: &Philox, tree: u64, node: usize) -> Self {
        let [a, b, ..] = random.at([node as u32, (node as u64 >> 32) as u32, tree as u32, 1]);
        Draws(u64::from(a) << 32 | u64::from(b))
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The bias of the product is below n / 2^32.
        ((((z ^ (z >> 31)) >> 32) * n as u64) >> 32) as usize
    }
}

const ROOT: usize = usize::MAX;

/// Rows times features after which a user's stop is looked for, and from which a node's features are shared among
/// threads.
const WORK: usize = 4_000_000;
const SHARED: usize = 32_768;

struct Grower<'a> {
    plan: &'a Plan,
    binned: &'a [BinnedData],
    data: TreeRows<'a>,
    run: &'a Run<'a>,
    nodes: Vec<GrowingNode>,
    values: Vec<f64>,
    /// Weight of all rows.
    weight: f64,
    features: Vec<usize>,
    histogram: Histogram,
    right: (Vec<u32>, Vec<Item>),
    work: usize,
}

/// Grows a tree.
///
/// # Errors
/// If the user stops the training.
pub fn grow(plan: &Plan, binned: &[BinnedData], data: TreeRows<'_>, run: &Run<'_>) -> Result<GrownTree, Error> {
    let weight = data.items.iter().map(|i| i.weight).sum();
    let mut grower = Grower {
        plan,
        binned,
        run,
        nodes: Vec::new(),
        values: Vec::new(),
        weight,
        features: (0..binned.len()).collect(),
        histogram: Histogram::new(plan.target.slots),
        right: (Vec::with_capacity(data.rows.len()), Vec::with_capacity(data.rows.len())),
        work: 0,
        data,
    };
    let bounds = (f64::NEG_INFINITY, f64::INFINITY);
    let root = PendingNode { parent: ROOT, is_left: false, start: 0, end: grower.data.rows.len(), depth: 0, bounds };
    match plan.max_leaf_nodes {
        None => grower.depth_first(root)?,
        Some(leaves) => grower.best_first(root, leaves)?,
    }
    if plan.ccp_alpha > 0.0 {
        grower.prune()?;
    }
    Ok(grower.finish())
}

impl Grower<'_> {
    fn depth_first(&mut self, root: PendingNode) -> Result<(), Error> {
        let mut stack = vec![root];
        while let Some(pending) = stack.pop() {
            if let Some(candidate) = self.open(pending)? {
                let (left, right) = self.divide(candidate);
                stack.push(right);
                stack.push(left);
            }
        }
        Ok(())
    }

    fn best_first(&mut self, root: PendingNode, leaves: usize) -> Result<(), Error> {
        let mut frontier = BinaryHeap::new();
        frontier.extend(self.open(root)?);
        for _ in 1..leaves {
            let Some(candidate) = frontier.pop() else { break };
            let (left, right) = self.divide(candidate);
            frontier.extend(self.open(left)?);
            frontier.extend(self.open(right)?);
        }
        Ok(())
    }

    /// Adds a node, and finds how it is split. `None` if it is a leaf.
    fn open(&mut self, pending: PendingNode) -> Result<Option<Candidate>, Error> {
        let PendingNode { start, end, depth, bounds, .. } = pending;
        let plan = self.plan;
        let target = &plan.target;
        let items = &self.data.items[start..end];
        let mut total = vec![0.0; target.slots];
        if target.is_class() {
            items.iter().for_each(|i| total[i.target as usize] += i.weight);
        } else {
            items.iter().for_each(|i| {
                total[0] += i.weight;
                total[1] += i.weight * i.target;
            });
        }
        let weight = target.weight(&total);
        let is_pure = items.iter().all(|i| i.target == items[0].target);
        let impurity = if is_pure { 0.0 } else { target.impurity(items, &total) };
        let node = self.nodes.len();
        let growing =
            GrowingNode { split: None, missing_left: false, left: 0, right: 0, samples: end - start, weight, impurity };
        self.nodes.push(growing);
        if pending.parent != ROOT {
            let parent = &mut self.nodes[pending.parent];
            if pending.is_left { parent.left = node } else { parent.right = node }
        }
        self.value(&total, pending, is_pure);
        let rows = end - start;
        let is_leaf = is_pure
            || depth >= plan.max_depth
            || rows < plan.min_split
            || rows < 2 * plan.min_leaf
            || weight < 2.0 * plan.min_weight;
        if is_leaf {
            return Ok(None);
        }
        self.work += rows * plan.max_features;
        if self.work >= WORK {
            self.work = 0;
            self.run.check(|| format!("{node} nodes of a tree"))?;
        }
        // Targets relative to the mean of the node keep the digits of small differences.
        let mean = match target.criterion {
            super::criterion::Criterion::SquaredError => total[1] / total[0],
            _ => 0.0,
        };
        if mean != 0.0 {
            total[1] = self.data.items[start..end].iter().map(|i| i.weight * (i.target - mean)).sum();
        }
        let offset = if target.is_class() { 0.0 } else { self.data.centre + mean };
        let bounds = (bounds.0 - offset, bounds.1 - offset);
        let Some(mut split) = self.best(start..end, node, mean, &total, bounds) else { return Ok(None) };
        split.middle += offset;
        let improvement = (split.purity - target.purity(&total)) / self.weight;
        // An improvement that is 0 up to rounding is one, as in scikit-learn.
        if improvement + 10.0 * f64::EPSILON < plan.min_decrease {
            return Ok(None);
        }
        Ok(Some(Candidate { improvement, node, pending, split }))
    }

    /// Appends the value of a node.
    fn value(&mut self, total: &[f64], pending: PendingNode, is_pure: bool) {
        let (low, high) = pending.bounds;
        let is_bounded = !self.plan.monotonic.is_empty();
        if self.plan.target.is_class() {
            let weight: f64 = total.iter().sum();
            let at = self.values.len();
            self.values.extend(total.iter().map(|t| t / weight));
            if is_bounded {
                self.values[at + 1] = self.values[at + 1].max(low).min(high);
                self.values[at] = 1.0 - self.values[at + 1];
            }
        } else {
            let value = match is_pure {
                true => self.data.y[self.data.rows[pending.start] as usize],
                false => self.data.centre + total[1] / total[0],
            };
            self.values.push(if is_bounded { value.max(low).min(high) } else { value });
        }
    }

    /// The best split over features that are drawn until one of them varies.
    fn best(
        &mut self,
        rows: std::ops::Range<usize>,
        node: usize,
        mean: f64,
        total: &[f64],
        bounds: (f64, f64),
    ) -> Option<Split> {
        let plan = self.plan;
        let all = self.features.len();
        let (mut tried, mut varies, mut best) = (0, false, None::<Split>);
        let mut draws = Draws::new(&self.data.random, self.data.number, node);
        while tried < all && !(varies && tried >= plan.max_features) {
            let batch = if tried < plan.max_features { tried..plan.max_features } else { tried..tried + 1 };
            if plan.shuffle {
                for k in batch.clone() {
                    self.features.swap(k, k + draws.below(all - k));
                }
            }
            tried = batch.end;
            let binned = self.binned;
            let data = (&self.data.rows[rows.clone()], &self.data.items[rows.clone()]);
            let random = &self.data.random;
            let number = self.data.number << 32 | node as u64;
            let one = |histogram: &mut Histogram, feature: usize| {
                let limits = Limits {
                    min_leaf: plan.min_leaf,
                    min_weight: plan.min_weight,
                    monotonic: plan.monotonic.get(feature).copied().unwrap_or(0),
                    bounds,
                    random: plan.random.then(|| random.uniform(number, (1 << 32) + feature as u64)),
                };
                histogram.best(&plan.target, (feature, &binned[feature]), data, (mean, total), &limits)
            };
            let features = &self.features[batch];
            let found: Vec<BestSplit> = if self.data.parallel && rows.len() * features.len() >= SHARED {
                let slots = plan.target.slots;
                features.par_iter().map_init(|| Histogram::new(slots), |h, f| one(h, *f)).collect()
            } else {
                features.iter().map(|f| one(&mut self.histogram, *f)).collect()
            };
            for found in found {
                varies |= !matches!(found, BestSplit::Constant);
                if let BestSplit::Best(split) = found
                    && best.as_ref().is_none_or(|b| split.purity > b.purity)
                {
                    best = Some(split);
                }
            }
        }
        best
    }

    /// Splits the rows of a node; the rows of both children are pending.
    fn divide(&mut self, candidate: Candidate) -> (PendingNode, PendingNode) {
        let Candidate { node, pending, split, .. } = candidate;
        let PendingNode { start, end, depth, bounds, .. } = pending;
        let codes = &self.binned[split.feature].codes;
        let missing_left = split.missing_left.unwrap_or(false);
        let mut left_bins = [false; 256];
        for (bin, left) in left_bins.iter_mut().enumerate() {
            *left = match &split.rule {
                Rule::Up(last, _) => bin <= usize::from(*last) || (missing_left && bin == usize::from(MISSING)),
                Rule::Bins(set) => contains(set, bin as u8),
            };
        }
        let (rows, items) = (&mut self.data.rows[start..end], &mut self.data.items[start..end]);
        self.right.0.clear();
        self.right.1.clear();
        let mut left = 0;
        for i in 0..rows.len() {
            let (row, item) = (rows[i], items[i]);
            if left_bins[usize::from(codes[row as usize])] {
                (rows[left], items[left]) = (row, item);
                left += 1;
            } else {
                self.right.0.push(row);
                self.right.1.push(item);
            }
        }
        rows[left..].copy_from_slice(&self.right.0);
        items[left..].copy_from_slice(&self.right.1);
        let (low, high) = match self.plan.monotonic.get(split.feature).copied().unwrap_or(0) {
            0 => (bounds, bounds),
            1 => ((bounds.0, split.middle), (split.middle, bounds.1)),
            _ => ((split.middle, bounds.1), (bounds.0, split.middle)),
        };
        let child =
            |is_left, start, end, bounds| PendingNode { parent: node, is_left, start, end, depth: depth + 1, bounds };
        let children = (child(true, start, start + left, low), child(false, start + left, end, high));
        let growing = &mut self.nodes[node];
        growing.missing_left = split.missing_left.unwrap_or(left * 2 > end - start);
        growing.split = Some(split);
        children
    }

    /// Minimal cost-complexity pruning: makes leaves of the nodes whose subtree gains least for each leaf, up to
    /// `ccp_alpha`.
    fn prune(&mut self) -> Result<(), Error> {
        loop {
            self.run.check(|| "a round of pruning".to_string())?;
            let count = self.nodes.len();
            let cost = |n: &GrowingNode| n.weight * n.impurity / self.weight;
            // Cost and leaves of each subtree. Children come after their parents.
            let mut below = vec![(0.0, 0usize); count];
            let mut reachable = vec![false; count];
            reachable[0] = true;
            for i in 0..count {
                if reachable[i] && self.nodes[i].split.is_some() {
                    reachable[self.nodes[i].left] = true;
                    reachable[self.nodes[i].right] = true;
                }
            }
            let mut weakest: Option<(f64, usize)> = None;
            for i in (0..count).rev().filter(|i| reachable[*i]) {
                let node = &self.nodes[i];
                if node.split.is_none() {
                    below[i] = (cost(node), 1);
                    continue;
                }
                let (left, right) = (below[node.left], below[node.right]);
                below[i] = (left.0 + right.0, left.1 + right.1);
                let alpha = (cost(node) - below[i].0) / (below[i].1 - 1) as f64;
                // The first of equal nodes is taken, as in scikit-learn.
                if weakest.is_none_or(|(known, _)| alpha <= known) {
                    weakest = Some((alpha, i));
                }
            }
            match weakest {
                Some((alpha, node)) if alpha <= self.plan.ccp_alpha => self.nodes[node].split = None,
                _ => return Ok(()),
            }
        }
    }

    /// Puts the nodes into preorder.
    fn finish(self) -> GrownTree {
        let width = if self.plan.target.is_class() { self.plan.target.slots } else { 1 };
        let mut tree = Tree::default();
        let mut details = Details::default();
        let mut importances = vec![0.0; self.binned.len()];
        // Nodes of the growing tree, and the parent whose right child they are.
        let mut stack = vec![(0usize, ROOT)];
        while let Some((number, parent)) = stack.pop() {
            let at = tree.nodes.len();
            if parent != ROOT {
                let parent: &mut Node = &mut tree.nodes[parent];
                parent.right = at as u32;
            }
            let node = &self.nodes[number];
            let value = &self.values[number * width..(number + 1) * width];
            details.samples.push(node.samples as f64);
            details.impurity.push(node.impurity);
            details.value.extend_from_slice(value);
            let Some(split) = &node.split else {
                let leaf = (tree.values.len() / width) as u32;
                let (threshold, feature) = if width == 1 { (value[0], 0) } else { (0.0, leaf) };
                tree.nodes.push(Node { threshold, feature, right: 0 });
                tree.covers.push(node.weight);
                if width > 1 {
                    tree.values.extend_from_slice(value);
                }
                continue;
            };
            let missing = if node.missing_left { MISSING_LEFT } else { 0 };
            let (threshold, kind) = match &split.rule {
                Rule::Up(_, threshold) => (*threshold, 0),
                Rule::Bins(set) => {
                    tree.sets.push(*set);
                    ((tree.sets.len() - 1) as f64, CATEGORY)
                }
            };
            tree.nodes.push(Node { threshold, feature: split.feature as u32 | missing | kind, right: 0 });
            let (left, right) = (&self.nodes[node.left], &self.nodes[node.right]);
            importances[split.feature] +=
                node.weight * node.impurity - left.weight * left.impurity - right.weight * right.impurity;
            stack.push((node.right, at));
            stack.push((node.left, ROOT));
        }
        let sum: f64 = importances.iter().sum();
        if sum > 0.0 {
            importances.iter_mut().for_each(|i| *i /= sum);
        }
        GrownTree { tree, importances, decrease: sum / self.weight, details }
    }
}
