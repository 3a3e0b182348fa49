//! The best split of a node by one feature, from its histogram (`sklearn/tree/_splitter.pyx`).

use super::bins::{BinnedData, MISSING, middle};
use super::criterion::{Criterion, Item, Target};
use super::tree::Set;

/// How rows go left.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Bins up to this one; the values up to the threshold.
    Up(u8, f64),
    /// The bins of a category, with that of missing values.
    Bins(Set),
}

/// A split of a node by a feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    pub feature: usize,
    pub rule: Rule,
    /// Missing values of the training go left. `None` if the node has none: they follow the larger child.
    pub missing_left: Option<bool>,
    /// Sum of the purities of both children.
    pub purity: f64,
    /// The value in the middle of both children, for monotonic constraints.
    pub middle: f64,
}

/// The result of a search at one feature.
pub enum BestSplit {
    /// All values are equal or missing.
    Constant,
    Nothing,
    Best(Split),
}

/// The constraints of a split.
pub struct Limits {
    pub min_leaf: usize,
    pub min_weight: f64,
    /// 1: rising, -1: falling, 0: free.
    pub monotonic: i8,
    /// Bounds of the children's values.
    pub bounds: (f64, f64),
    /// For random splits: a number in [0, 1) that chooses the threshold.
    pub random: Option<f64>,
}

impl Limits {
    /// Whether all thresholds between two values may be taken.
    fn is_free(&self) -> bool {
        self.min_leaf <= 1 && self.min_weight <= 0.0 && self.monotonic == 0 && self.random.is_none()
    }
}

/// A histogram that is empty between uses.
pub struct Histogram {
    sums: Vec<f64>,
    counts: [u32; 256],
    /// The occupied bins, rising.
    bins: Vec<u8>,
    left: Vec<f64>,
    right: Vec<f64>,
}

impl Histogram {
    pub fn new(slots: usize) -> Self {
        Histogram {
            sums: vec![0.0; 256 * slots],
            counts: [0; 256],
            bins: Vec::with_capacity(256),
            left: vec![0.0; slots],
            right: vec![0.0; slots],
        }
    }

    /// Finds the best split of the rows by this feature. `mean` is subtracted from targets, `total` holds the sums of
    /// all rows after that.
    pub fn best(
        &mut self,
        target: &Target,
        (feature, binned): (usize, &BinnedData),
        (rows, items): (&[u32], &[Item]),
        (mean, total): (f64, &[f64]),
        limits: &Limits,
    ) -> BestSplit {
        self.fill(target, &binned.codes, rows, items, mean);
        let found = self.search(target, (feature, binned), rows.len(), total, limits);
        let slots = target.slots;
        for bin in &self.bins {
            let bin = usize::from(*bin);
            self.counts[bin] = 0;
            self.sums[bin * slots..(bin + 1) * slots].fill(0.0);
        }
        found
    }

    fn fill(&mut self, target: &Target, codes: &[u8], rows: &[u32], items: &[Item], mean: f64) {
        let mut bits = [0u64; 4];
        let slots = target.slots;
        let pairs = rows.iter().zip(items);
        let counts = &mut self.counts;
        if slots == 2 {
            let (sums, _) = self.sums.as_chunks_mut::<2>();
            let Some(sums) = sums.first_chunk_mut::<256>() else { return };
            let is_class = target.is_class();
            pairs.for_each(|(row, item)| {
                let bin = usize::from(codes[*row as usize]);
                bits[bin >> 6] |= 1 << (bin & 63);
                counts[bin] += 1;
                if is_class {
                    sums[bin][item.target as usize & 1] += item.weight;
                } else {
                    sums[bin][0] += item.weight;
                    sums[bin][1] += item.weight * (item.target - mean);
                }
            });
        } else {
            pairs.for_each(|(row, item)| {
                let bin = usize::from(codes[*row as usize]);
                bits[bin >> 6] |= 1 << (bin & 63);
                counts[bin] += 1;
                self.sums[bin * slots + item.target as usize] += item.weight;
            });
        }
        self.bins.clear();
        for (word, mut left) in bits.into_iter().enumerate() {
            while left != 0 {
                self.bins.push((word as u32 * 64 + left.trailing_zeros()) as u8);
                left &= left - 1;
            }
        }
    }

    fn search(
        &mut self,
        target: &Target,
        (feature, binned): (usize, &BinnedData),
        rows: usize,
        total: &[f64],
        limits: &Limits,
    ) -> BestSplit {
        let missing = self.counts[usize::from(MISSING)] as usize;
        let values = self.bins.len() - usize::from(missing > 0);
        if self.bins.len() < 2 || values == 0 {
            return BestSplit::Constant;
        }
        let best = if binned.bins.category {
            self.by_category(target, rows, total, limits)
        } else {
            let mut best: Option<(f64, f64, usize, bool)> = None;
            for missing_left in [false, true] {
                if !missing_left || missing > 0 {
                    self.by_number(target, binned, (rows, missing), total, limits, missing_left, &mut best);
                }
            }
            best.map(|(purity, middle_value, at, missing_left)| {
                let bins = &binned.bins;
                let (bin, next) = (usize::from(self.bins[at]), self.bins.get(at + 1).filter(|_| at + 1 < values));
                let threshold = next.map_or(f64::INFINITY, |next| {
                    let (low, high) = (bins.high[bin], bins.low[usize::from(*next)]);
                    match limits.random {
                        Some(u) => {
                            let drawn = self.drawn(bins, values, u);
                            if drawn >= low && drawn < high { drawn } else { middle(low, high) }
                        }
                        None => middle(low, high),
                    }
                });
                let missing_left = (missing > 0).then_some(missing_left);
                Split { feature, rule: Rule::Up(bin as u8, threshold), missing_left, purity, middle: middle_value }
            })
        };
        match best {
            Some(split) => BestSplit::Best(Split { feature, ..split }),
            None => BestSplit::Nothing,
        }
    }

    /// A threshold between the lowest and the highest value of the node.
    fn drawn(&self, bins: &super::bins::Bins, values: usize, u: f64) -> f64 {
        let (low, high) = (bins.low[usize::from(self.bins[0])], bins.high[usize::from(self.bins[values - 1])]);
        low * (1.0 - u) + high * u
    }

    /// Scans the thresholds of a number. `best` is purity, middle value, position in the occupied bins, and whether
    /// missing values go left.
    fn by_number(
        &mut self,
        target: &Target,
        binned: &BinnedData,
        (rows, missing): (usize, usize),
        total: &[f64],
        limits: &Limits,
        missing_left: bool,
        best: &mut Option<(f64, f64, usize, bool)>,
    ) {
        let slots = target.slots;
        let values = self.bins.len() - usize::from(missing > 0);
        let (mut count, mut end) = (0, values);
        self.left.fill(0.0);
        if missing_left {
            let at = usize::from(MISSING) * slots;
            self.left.copy_from_slice(&self.sums[at..at + slots]);
            count = missing;
        }
        if missing == 0 || missing_left {
            end -= 1;
        }
        let known = best.map_or(f64::NEG_INFINITY, |b| b.0);
        let scanned = match target.criterion {
            Criterion::Gini if slots == 2 && limits.is_free() => Some(self.scan::<true>(end, total, known)),
            Criterion::SquaredError if limits.is_free() => Some(self.scan::<false>(end, total, known)),
            _ => None,
        };
        if let Some(found) = scanned {
            if let Some((purity, at)) = found {
                *best = Some((purity, 0.0, at, missing_left));
            }
            return;
        }
        let only = limits.random.map(|u| {
            let threshold = self.drawn(&binned.bins, values, u);
            let below = |bin: &u8| binned.bins.high[usize::from(*bin)] <= threshold;
            self.bins[..values].iter().filter(|bin| below(bin)).count().clamp(1, values.max(2) - 1) - 1
        });
        for at in 0..end {
            let bin = usize::from(self.bins[at]);
            count += self.counts[bin] as usize;
            let sums = &self.sums[bin * slots..(bin + 1) * slots];
            self.left.iter_mut().zip(sums).for_each(|(l, s)| *l += s);
            if only.is_some_and(|only| only != at) {
                continue;
            }
            if let Some((purity, middle)) = self.score(target, (count, rows), total, limits)
                && best.as_ref().is_none_or(|(known, ..)| purity > *known)
            {
                *best = Some((purity, middle, at, missing_left));
            }
        }
    }

    /// The scan of thresholds for two sums and without limits: Gini impurity of two classes, or squared error. Gives
    /// the best purity above `known`, and its position.
    fn scan<const GINI: bool>(&self, end: usize, total: &[f64], known: f64) -> Option<(f64, usize)> {
        let (sums, _) = self.sums.as_chunks::<2>();
        let sums = sums.first_chunk::<256>()?;
        let (mut l0, mut l1) = (self.left[0], self.left[1]);
        let mut best = (known, None);
        for (at, bin) in self.bins[..end].iter().enumerate() {
            let [s0, s1] = sums[usize::from(*bin)];
            (l0, l1) = (l0 + s0, l1 + s1);
            let (r0, r1) = (total[0] - l0, total[1] - l1);
            let purity = match GINI {
                true => (l0 * l0 + l1 * l1) / (l0 + l1) + (r0 * r0 + r1 * r1) / (r0 + r1),
                false => l1 * l1 / l0 + r1 * r1 / r0,
            };
            if purity > best.0 && purity < f64::INFINITY {
                best = (purity, Some(at));
            }
        }
        best.1.map(|at| (best.0, at))
    }

    /// The purity of a split whose left sums are in place, and its middle value. `None` if a limit forbids the split.
    fn score(
        &mut self,
        target: &Target,
        (left, rows): (usize, usize),
        total: &[f64],
        limits: &Limits,
    ) -> Option<(f64, f64)> {
        if left < limits.min_leaf || rows - left < limits.min_leaf {
            return None;
        }
        self.right.iter_mut().zip(total).zip(&self.left).for_each(|((r, t), l)| *r = t - l);
        let purity = target.purity(&self.left) + target.purity(&self.right);
        // A side of weight 0 gives NaN, which is never the best.
        if !purity.is_finite() {
            return None;
        }
        if limits.min_weight > 0.0 {
            let least = target.weight(&self.left).min(target.weight(&self.right));
            if least < limits.min_weight {
                return None;
            }
        }
        if limits.monotonic == 0 {
            return Some((purity, 0.0));
        }
        let (low, high) = (target.ratio(&self.left, 1), target.ratio(&self.right, 1));
        let inside = low.min(high) >= limits.bounds.0 && low.max(high) <= limits.bounds.1;
        (inside && (low - high) * f64::from(limits.monotonic) <= 0.0).then_some((purity, f64::midpoint(low, high)))
    }

    /// Splits a category. Its values are sorted by mean target or share of a class. A best split is then a threshold
    /// (Fisher 1958; exact for numbers and two classes). More classes are tried one after the other. Missing values are
    /// a category.
    fn by_category(&mut self, target: &Target, rows: usize, total: &[f64], limits: &Limits) -> Option<Split> {
        let slots = target.slots;
        let classes = if target.is_class() && slots > 2 { 0..slots } else { 1..2 };
        let mut best: Option<(f64, Vec<u8>)> = None;
        let mut order = self.bins.clone();
        for class in classes {
            let key = |bin: &u8| {
                let at = usize::from(*bin) * slots;
                target.ratio(&self.sums[at..at + slots], class)
            };
            order.sort_by(|a, b| key(a).total_cmp(&key(b)).then(a.cmp(b)));
            let only = limits.random.map(|u| (u * (order.len() - 1) as f64) as usize);
            self.left.fill(0.0);
            let mut count = 0;
            for (at, bin) in order[..order.len() - 1].iter().enumerate() {
                let bin = usize::from(*bin);
                count += self.counts[bin] as usize;
                let sums = &self.sums[bin * slots..(bin + 1) * slots];
                self.left.iter_mut().zip(sums).for_each(|(l, s)| *l += s);
                if only.is_some_and(|only| only != at) {
                    continue;
                }
                if let Some((purity, _)) = self.score(target, (count, rows), total, limits)
                    && best.as_ref().is_none_or(|(known, _)| purity > *known)
                {
                    best = Some((purity, order[..=at].to_vec()));
                }
            }
        }
        let (purity, left) = best?;
        let count: u32 = left.iter().map(|bin| self.counts[usize::from(*bin)]).sum();
        let missing = self.counts[usize::from(MISSING)] > 0;
        let missing_left = if missing { left.contains(&MISSING) } else { count as usize * 2 > rows };
        // Values that the node does not have follow the missing ones.
        let mut set: Set = if missing_left { [u32::MAX; 8] } else { [0; 8] };
        for bin in &self.bins {
            let (word, bit) = (usize::from(bin >> 5), 1 << (bin & 31));
            if left.contains(bin) { set[word] |= bit } else { set[word] &= !bit }
        }
        Some(Split { feature: 0, rule: Rule::Bins(set), missing_left: Some(missing_left), purity, middle: 0.0 })
    }
}
