//! Statistics of plots: bins, boxes, cells, densities, and downsampled lines. Plain numbers in and out; the session
//! uses them for frames, the prelude for Rust values. Nothing is drawn or sent here.

use onrush_wire::format_integer::thousands;
use onrush_wire::plot::BoxStats;

/// Bins that are chosen from the data: by Freedman and Diaconis' rule, of a round width, from 5 to 80 of them. Few
/// integers have a bin for each value. `wanted` sets their number, and they then fill the range exactly.
pub fn edges(values: &[f64], wanted: Option<u32>, is_integer: bool) -> Vec<f64> {
    let mut stats = SampleStats::default();
    values.iter().for_each(|v| stats.add(*v));
    stats.sample = values.iter().copied().filter(|v| v.is_finite()).collect();
    stats.edges(wanted, is_integer)
}

/// How many values there are, and from where to where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    pub count: u64,
    pub low: f64,
    pub high: f64,
}

impl Default for Extent {
    fn default() -> Self {
        Extent { count: 0, low: f64::INFINITY, high: f64::NEG_INFINITY }
    }
}

impl Extent {
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.low = self.low.min(value);
        self.high = self.high.max(value);
    }
}

/// Statistics of one walk over values, for bins and densities.
#[derive(Clone, Debug, Default)]
pub struct SampleStats {
    /// Finite values.
    pub count: u64,
    pub low: f64,
    pub high: f64,
    pivot: f64,
    sum: f64,
    squares: f64,
    /// Some of the values, for quartiles.
    pub sample: Vec<f64>,
}

impl SampleStats {
    #[inline]
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        if self.count == 0 {
            (self.low, self.high, self.pivot) = (value, value, value);
        }
        self.count += 1;
        self.low = self.low.min(value);
        self.high = self.high.max(value);
        // Distances from a value of the column stay small where the values are large.
        self.sum += value - self.pivot;
        self.squares += (value - self.pivot) * (value - self.pivot);
    }

    /// The deviation of the sample: one less in the divisor.
    pub fn deviation(&self) -> f64 {
        let n = self.count as f64;
        if self.count < 2 { 0.0 } else { ((self.squares - self.sum * self.sum / n) / (n - 1.0)).max(0.0).sqrt() }
    }

    /// See [`edges`].
    pub fn edges(&self, wanted: Option<u32>, is_integer: bool) -> Vec<f64> {
        if self.count == 0 {
            return vec![0.0, 1.0];
        }
        let (low, high) = (self.low, self.high);
        if !(high - low).is_finite() {
            let sample = self.sample.iter().map(|v| v / 4.0).collect();
            let quarters =
                SampleStats { count: self.count, low: low / 4.0, high: high / 4.0, sample, ..SampleStats::default() };
            return times_four(quarters.edges(wanted, is_integer));
        }
        if let Some(bins) = wanted {
            let bins = bins.clamp(1, 10_000);
            let [low, high] = if low == high { around(low) } else { [low, high] };
            return (0..=bins).map(|i| low + (high - low) * f64::from(i) / f64::from(bins)).collect();
        }
        let range = high - low;
        if is_integer && range <= 40.0 {
            return (0..=range as u64 + 1).map(|i| low - 0.5 + i as f64).collect();
        }
        if range == 0.0 {
            return around(low).into();
        }
        let mut sorted = self.sample.clone();
        sorted.sort_by(f64::total_cmp);
        let spread = if sorted.is_empty() { 0.0 } else { quantile(&sorted, 0.75) - quantile(&sorted, 0.25) };
        let rule = 2.0 * spread / (self.count as f64).cbrt();
        let step = round_step(rule.clamp(range / 80.0, range / 5.0));
        let step = if is_integer { step.max(1.0).round() } else { step };
        let first = (low / step).floor() * step;
        let bins = (((high - first) / step).floor() as usize + 1).min(1_000);
        (0..=bins).map(|i| first + step * i as f64).collect()
    }
}

/// A kernel density estimate with Gaussian kernels. Values are shared between the two nearest nodes of a grid (linear
/// binning), and the grid is smoothed (Silverman 1982, Wand 1994). One step for each value, whatever their number.
pub struct Density {
    low: f64,
    step: f64,
    bandwidth: f64,
    weights: Vec<f64>,
    count: u64,
}

impl Density {
    /// `bandwidth` is the kernels' standard deviation; by Scott's rule (1992), `n^(-1/5)` standard deviations, if
    /// `None`. The grid ends three of them beyond the values.
    pub fn new(stats: &SampleStats, bandwidth: Option<f64>) -> Self {
        let rule = stats.deviation() * (stats.count.max(1) as f64).powf(-0.2);
        let bandwidth = bandwidth.filter(|b| *b > 0.0 && b.is_finite()).unwrap_or(rule);
        // Equal values have no deviation; their density is a peak.
        let bandwidth = if bandwidth > 0.0 { bandwidth } else { (stats.low.abs() * 1e-3).max(1e-3) };
        let low = stats.low - 3.0 * bandwidth;
        let span = stats.high - stats.low + 6.0 * bandwidth;
        let nodes = (span / bandwidth * 16.0).clamp(512.0, 65_536.0) as usize;
        Density { low, step: span / (nodes - 1) as f64, bandwidth, weights: vec![0.0; nodes], count: 0 }
    }

    #[inline]
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        let at = ((value - self.low) / self.step).clamp(0.0, (self.weights.len() - 2) as f64);
        let node = at as usize;
        let part = (at - node as f64).min(1.0);
        self.weights[node] += 1.0 - part;
        self.weights[node + 1] += part;
        self.count += 1;
    }

    /// About `points` points of the curve, whose area is 1.
    pub fn curve(&self, points: usize) -> (Vec<f64>, Vec<f64>) {
        let nodes = self.weights.len();
        let reach = ((5.0 * self.bandwidth / self.step).ceil() as usize).min(nodes);
        let kernel: Vec<f64> = (0..=reach)
            .map(|i| {
                let z = i as f64 * self.step / self.bandwidth;
                (-0.5 * z * z).exp() / (self.bandwidth * std::f64::consts::TAU.sqrt() * self.count.max(1) as f64)
            })
            .collect();
        let mut y = vec![0.0; nodes];
        for (node, weight) in self.weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let (from, to) = (node.saturating_sub(reach), (node + reach).min(nodes - 1));
            for (at, value) in y.iter_mut().enumerate().take(to + 1).skip(from) {
                *value += weight * kernel[at.abs_diff(node)];
            }
        }
        let x: Vec<f64> = (0..nodes).map(|i| self.low + self.step * i as f64).collect();
        if nodes <= 2 * points {
            let every = nodes.div_ceil(points);
            let pick = |list: &[f64]| list.iter().copied().step_by(every).chain(list.last().copied()).collect();
            return (pick(&x), pick(&y));
        }
        thin(&x, &y, points)
    }
}

/// Bins of equal width on a logarithmic axis, of sample statistics of logarithms to base 10.
pub fn log_edges(logarithms: &SampleStats, wanted: Option<u32>) -> Vec<f64> {
    let mut edges: Vec<f64> = logarithms.edges(wanted, false).into_iter().map(|edge| 10f64.powf(edge)).collect();
    // The smallest and the largest value are inside, however the powers were rounded.
    if let [first, .., last] = edges.as_mut_slice() {
        (*first, *last) = (*first * (1.0 - 1e-12), *last * (1.0 + 1e-12));
    }
    edges
}

/// At most about `most` bins of a round width that hold all from `low` to `high`.
pub fn round_edges(low: f64, high: f64, most: u32) -> Vec<f64> {
    let range = high - low;
    if range <= 0.0 {
        return around(low).into();
    }
    if !range.is_finite() {
        return times_four(round_edges(low / 4.0, high / 4.0, most));
    }
    let step = round_step(range / f64::from(most.max(1)));
    let first = (low / step).floor();
    let bins = ((high / step - first).floor() as usize + 1).min(1_000);
    (0..=bins).map(|i| (first + i as f64) * step).collect()
}

/// A bin for one value. Next to a large one, 0.5 would not be a different number.
fn around(value: f64) -> [f64; 2] {
    let half = if value.abs() < 1e12 { 0.5 } else { value.abs() * 1e-3 };
    [(value - half).max(f64::MIN), (value + half).min(f64::MAX)]
}

/// Edges of the quarters of values whose distance is not a finite number.
fn times_four(quarters: Vec<f64>) -> Vec<f64> {
    let mut edges: Vec<f64> = quarters.into_iter().map(|edge| (edge * 4.0).clamp(f64::MIN, f64::MAX)).collect();
    edges.dedup();
    edges
}

/// The next larger 1, 2 or 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= step * 0.999_999).unwrap_or(step)
}

/// How many values lie in each bin: from its lower edge (in) to its upper (out; of the last bin in).
pub fn counts(values: impl Iterator<Item = f64>, edges: &[f64]) -> Vec<u64> {
    let mut counts = vec![0; edges.len().saturating_sub(1)];
    for value in values {
        if let Some(bin) = bin(value, edges) {
            counts[bin] += 1;
        }
    }
    counts
}

/// The bin of a value, if it has one. Bins of equal width are found by calculation.
#[inline]
pub fn bin(value: f64, edges: &[f64]) -> Option<usize> {
    let bins = edges.len().checked_sub(1).filter(|n| *n > 0)?;
    let (low, high) = (edges[0], edges[bins]);
    if !(value >= low && value <= high) {
        return None;
    }
    let mut bin = (((value - low) / (high - low) * bins as f64) as usize).min(bins - 1);
    while bin > 0 && value < edges[bin] {
        bin -= 1;
    }
    while bin + 1 < bins && value >= edges[bin + 1] {
        bin += 1;
    }
    Some(bin)
}

/// Linear between the two nearest values. `sorted` must not be empty.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let position = q * (sorted.len() - 1) as f64;
    let (below, part) = (position.floor() as usize, position.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * part
}

/// Outliers of a plot that are drawn, and of a box at least and at most.
const OUTLIERS: usize = 6_000;
const OUTLIERS_OF_BOX: (usize, usize) = (100, 500);

/// The most outliers of a box that are drawn if a plot has so many boxes.
pub fn outlier_limit(boxes: usize) -> usize {
    (OUTLIERS / boxes.max(1)).clamp(OUTLIERS_OF_BOX.0, OUTLIERS_OF_BOX.1)
}

/// Tukey's box; `None` without values. Quartiles are selected, not sorted for. `most`: see [`outlier_limit`].
pub fn box_of(category: String, mut values: Vec<f64>, most: usize) -> Option<BoxStats> {
    values.retain(|v| v.is_finite());
    if values.is_empty() {
        return None;
    }
    let (q1, median, q3) = (select(&mut values, 0.25), select(&mut values, 0.5), select(&mut values, 0.75));
    let fence = 1.5 * (q3 - q1);
    let (lower, upper) = (q1 - fence, q3 + fence);
    let (mut low, mut high, mut outside) = (q1, q3, Vec::new());
    for value in &values {
        if *value < lower || *value > upper {
            outside.push(*value);
        } else {
            low = low.min(*value);
            high = high.max(*value);
        }
    }
    let (rows, count) = (outside.len() as u64, values.len() as u64);
    let (outliers, different) = shown_outliers(outside, most);
    Some(BoxStats { category, low, q1, median, q3, high, outliers, different: different as u64, outside: rows, count })
}

/// The different ones, of more than `most` some that are spread over them, and the number of different ones.
pub fn shown_outliers(mut outside: Vec<f64>, most: usize) -> (Vec<f64>, usize) {
    outside.sort_by(f64::total_cmp);
    outside.dedup();
    (spread(outside.len(), most).map(|i| outside[i]).collect(), outside.len())
}

/// Says which outliers are not drawn. `None` if each has a point.
pub fn outlier_note(boxes: &[BoxStats]) -> Option<String> {
    let sum = |of: &dyn Fn(&BoxStats) -> u64| boxes.iter().map(of).sum::<u64>();
    let (shown, different) = (sum(&|one| one.outliers.len() as u64), sum(&|one| one.different));
    let rows = sum(&|one| one.outside);
    match () {
        () if shown < different => {
            Some(format!("{} of {} outliers shown, spread over their values", thousands(shown), thousands(rows)))
        }
        () if shown < rows => {
            let points = if shown == 1 { "point" } else { "points" };
            Some(format!("{} outliers at {} {points}: equal ones are drawn once", thousands(rows), thousands(shown)))
        }
        () => None,
    }
}

/// [`quantile`] of values in any order, which it changes.
fn select(values: &mut [f64], q: f64) -> f64 {
    let position = q * (values.len() - 1) as f64;
    let (_, below, above) = values.select_nth_unstable_by(position.floor() as usize, f64::total_cmp);
    let below = *below;
    let above = above.iter().copied().fold(f64::INFINITY, f64::min);
    if above.is_finite() { below + (above - below) * position.fract() } else { below }
}

/// At most `keep` of `count` indexes, at equal distances, with the first and the last.
pub fn spread(count: usize, keep: usize) -> impl Iterator<Item = usize> {
    let shown = count.min(keep);
    (0..shown).map(move |i| if shown == count { i } else { i * (count - 1) / (shown - 1).max(1) })
}

/// A line of at most about `keep` points that looks the same: of each stretch the lowest and the highest point stay, in
/// order.
pub fn thin(x: &[f64], y: &[f64], keep: usize) -> (Vec<f64>, Vec<f64>) {
    if x.len() <= keep {
        return (x.to_vec(), y.to_vec());
    }
    let stretch = x.len().div_ceil(keep / 2);
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for start in (0..x.len()).step_by(stretch) {
        let range = start..(start + stretch).min(x.len());
        let low = range.clone().filter(|i| !y[*i].is_nan()).min_by(|a, b| y[*a].total_cmp(&y[*b]));
        let high = range.clone().filter(|i| !y[*i].is_nan()).max_by(|a, b| y[*a].total_cmp(&y[*b]));
        let mut both = match (low, high) {
            (Some(low), Some(high)) => vec![low, high],
            // A gap stays a gap.
            _ => vec![start],
        };
        both.sort_unstable();
        both.dedup();
        xs.extend(both.iter().map(|i| x[*i]));
        ys.extend(both.iter().map(|i| y[*i]));
    }
    (xs, ys)
}

/// A line through the values in the order of `x`, drawn with at most about `keep` points. Equal stretches of the x axis
/// keep the first, the lowest, the highest and the last point each (M4; Jugel, Jerzak, Hackenbroich and Markl 2014).
/// Nothing is sorted but what stays, and points can come one after another.
pub struct Envelope {
    low: f64,
    per: f64,
    kept: Vec<Option<[(f64, f64); 4]>>,
}

impl Envelope {
    /// The envelope of points whose x lies from `low` to `high`.
    pub fn new(low: f64, high: f64, keep: usize) -> Self {
        let stretches = (keep / 4).max(1);
        Envelope {
            low,
            per: if high > low { stretches as f64 / (high - low) } else { 0.0 },
            kept: vec![None; stretches],
        }
    }

    /// Points without an `x` or `y` are left out.
    pub fn add(&mut self, point: (f64, f64)) {
        if !point.0.is_finite() || point.1.is_nan() {
            return;
        }
        let at = (((point.0 - self.low) * self.per) as usize).min(self.kept.len() - 1);
        match &mut self.kept[at] {
            empty @ None => *empty = Some([point; 4]),
            Some([first, lowest, highest, last]) => {
                if point.0 < first.0 {
                    *first = point;
                }
                if point.1 < lowest.1 {
                    *lowest = point;
                }
                if point.1 > highest.1 {
                    *highest = point;
                }
                if point.0 >= last.0 {
                    *last = point;
                }
            }
        }
    }

    pub fn points(self) -> (Vec<f64>, Vec<f64>) {
        let mut out = Vec::new();
        for mut four in self.kept.into_iter().flatten() {
            four.sort_by(|a, b| a.0.total_cmp(&b.0));
            for point in four {
                if out.last() != Some(&point) {
                    out.push(point);
                }
            }
        }
        out.into_iter().unzip()
    }
}

/// [`Envelope`] of points that are all there.
pub fn envelope(points: impl Iterator<Item = (f64, f64)> + Clone, keep: usize) -> (Vec<f64>, Vec<f64>) {
    let valid = || points.clone().filter(|(x, y)| x.is_finite() && !y.is_nan());
    let low = valid().map(|p| p.0).fold(f64::INFINITY, f64::min);
    let high = valid().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
    let mut envelope = Envelope::new(low, high, keep);
    points.for_each(|point| envelope.add(point));
    envelope.points()
}

/// How the values of a heat map's cell combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    Count,
    Sum,
    Mean,
    Min,
    Max,
    Median,
}

impl Combine {
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "count" | "len" => Combine::Count,
            "sum" => Combine::Sum,
            "mean" => Combine::Mean,
            "min" => Combine::Min,
            "max" => Combine::Max,
            "median" => Combine::Median,
            _ => return None,
        })
    }
}

/// The values of a heat map's cell, combined as they come.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    count: u64,
    sum: f64,
    low: f64,
    high: f64,
    /// For the median alone.
    values: Vec<f64>,
}

impl Cell {
    pub fn add(&mut self, value: f64, combine: Combine) {
        (self.low, self.high) =
            if self.count == 0 { (value, value) } else { (self.low.min(value), self.high.max(value)) };
        self.count += 1;
        self.sum += value;
        if combine == Combine::Median {
            self.values.push(value);
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// `None` without values.
    pub fn value(mut self, combine: Combine) -> Option<f64> {
        (self.count > 0).then(|| match combine {
            Combine::Count => self.count as f64,
            Combine::Sum => self.sum,
            Combine::Mean => self.sum / self.count as f64,
            Combine::Min => self.low,
            Combine::Max => self.high,
            Combine::Median => select(&mut self.values, 0.5),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_round_widths() {
        assert_eq!(round_edges(17.0, 95.0, 5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(round_edges(-1.0, 1.0, 4), [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5]);
        assert_eq!(round_edges(3.0, 3.0, 4), [2.5, 3.5]);
    }

    #[test]
    fn bins_of_a_range_that_is_no_number_hold_every_value() {
        let values = [f64::MIN, -1e307, 0.0, 1e307, 1e308, f64::MAX];
        let far = round_edges(f64::MIN, f64::MAX, 4);
        // Steps of 0.5e308 of the quarters, which have a range of 0.9e308: of 2e308, which is no number.
        assert_eq!(far, [f64::MIN, 0.0, f64::MAX]);
        for edges in [far, edges(&values, None, false), edges(&values, Some(4), false), edges(&[1e300], None, false)] {
            assert!(edges.is_sorted_by(|a, b| a < b) && edges.iter().all(|e| e.is_finite()), "{edges:?}");
            let held = values.into_iter().filter(|v| *v >= edges[0] && *v <= edges[edges.len() - 1]).count() as u64;
            assert_eq!(counts(values.into_iter(), &edges).iter().sum::<u64>(), held);
        }
        assert_eq!(counts(values.into_iter(), &edges(&values, Some(2), false)), [2, 4]);
    }

    const SCIPY: [(f64, f64); 8] = [
        (-2.0, 0.014994343),
        (0.0, 0.059395596),
        (1.5, 0.095658788),
        (3.0, 0.103306279),
        (5.0, 0.090239372),
        (7.25, 0.094581685),
        (10.0, 0.039477952),
        (12.0, 0.006842073),
    ];

    #[test]
    fn bins_hold_every_value_once() {
        let values = [1.0, 2.0, 2.5, 9.99, 10.0, f64::NAN];
        let edges = edges(&values, Some(3), false);
        assert_eq!(edges, [1.0, 4.0, 7.0, 10.0]);
        assert_eq!(counts(values.into_iter(), &edges), [3, 0, 2]);
        assert_eq!(super::edges(&[3.0, 5.0, 3.0], None, true), [2.5, 3.5, 4.5, 5.5]);
        assert_eq!(super::edges(&[], None, false), [0.0, 1.0]);
        let many: Vec<f64> = (0..1000).map(f64::from).collect();
        let edges = super::edges(&many, None, false);
        assert_eq!(counts(many.iter().copied(), &edges).iter().sum::<u64>(), 1000);
        assert_eq!(edges[1] - edges[0], 100.0);
    }

    #[test]
    fn a_box_is_tukeys() {
        // By hand: quartiles of 1..=9 are 3, 5, 7; the fences are -3 and 13; 30 lies outside.
        let values = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        let stats = box_of("a".into(), values.clone(), 9).unwrap();
        assert_eq!([stats.low, stats.q1, stats.median, stats.q3, stats.high], [1.0, 3.0, 5.0, 7.0, 9.0]);
        let stats = box_of("a".into(), [values, vec![30.0]].concat(), 9).unwrap();
        assert_eq!((stats.high, stats.outliers, stats.count), (9.0, vec![30.0], 10));
        assert!(box_of("a".into(), vec![f64::NAN], 9).is_none());
    }

    #[test]
    fn equal_outliers_are_one_and_the_rest_is_said() {
        // By hand: the quartiles of eight 0 and eight 1 lie within 0 and 1, so that 50, 50, 60 and -9 are outside.
        let inside = [0.0, 1.0].repeat(8);
        let of = |more: &[f64], most| box_of("a".into(), [inside.as_slice(), more].concat(), most).unwrap();
        let one = of(&[50.0, 50.0, 60.0, -9.0], 9);
        assert_eq!((one.outliers.as_slice(), one.different, one.outside), ([-9.0, 50.0, 60.0].as_slice(), 3, 4));
        let note = |one: BoxStats| outlier_note(&[one]);
        assert_eq!(note(one), Some("4 outliers at 3 points: equal ones are drawn once".to_string()));
        assert_eq!(note(of(&[50.0, 60.0], 9)), None);
        let few = of(&[50.0, 50.0, 60.0, -9.0], 2);
        assert_eq!(few.outliers, [-9.0, 60.0]);
        assert_eq!(note(few), Some("2 of 4 outliers shown, spread over their values".to_string()));
    }

    #[test]
    fn a_density_is_scipys() {
        // scipy.stats.gaussian_kde([1, 2, 2.5, 4, 7, 7.5, 8]).evaluate([...]), Scott's rule: factor 0.6776, deviation
        // 2.8929.
        let values = [1.0, 2.0, 2.5, 4.0, 7.0, 7.5, 8.0];
        let mut stats = SampleStats::default();
        values.iter().for_each(|v| stats.add(*v));
        let mut density = Density::new(&stats, None);
        values.iter().for_each(|v| density.add(*v));
        let (x, y) = density.curve(100_000);
        let at = |wanted: f64| {
            let i = x.partition_point(|x| *x < wanted);
            y[i - 1] + (y[i] - y[i - 1]) * (wanted - x[i - 1]) / (x[i] - x[i - 1])
        };
        for (x, expected) in SCIPY {
            assert!((at(x) - expected).abs() < 2e-4 * 0.12, "{x}: {} and not {expected}", at(x));
        }
        let area: f64 = y.windows(2).zip(x.windows(2)).map(|(y, x)| (y[0] + y[1]) / 2.0 * (x[1] - x[0])).sum();
        assert!((area - 1.0).abs() < 2e-3, "{area}");
    }

    #[test]
    fn an_envelope_keeps_ends_and_peaks_of_unsorted_points() {
        let points = |i: u32| {
            let x = f64::from(i * 7_919 % 10_007);
            (x, if x == 5_003.0 { 99.0 } else { (x / 500.0).sin() })
        };
        let (xs, ys) = envelope((0..10_007).map(points), 400);
        assert!(xs.len() <= 400 && xs.is_sorted() && ys.contains(&99.0));
        assert_eq!((xs[0], xs[xs.len() - 1]), (0.0, 10_006.0));
    }

    #[test]
    fn a_thinned_line_keeps_its_peaks() {
        let x: Vec<f64> = (0..10_000).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| if *x == 7_777.0 { 99.0 } else { x % 3.0 }).collect();
        let (xs, ys) = thin(&x, &y, 1_000);
        assert!(xs.len() <= 1_000 && ys.contains(&99.0) && xs.is_sorted());
        assert_eq!(spread(5, 10).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(spread(11, 3).collect::<Vec<_>>(), [0, 5, 10]);
    }
}
