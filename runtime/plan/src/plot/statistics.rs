//! What charts are made of: bins, boxes, cells, and lines with fewer points. Plain numbers in and out.

use onrush_wire::plot::BoxStats;

/// Bins that are chosen from the data: by Freedman and Diaconis' rule, of a round width, from 5 to 80 of them; one for each value
/// where the values are few whole numbers. `wanted` sets their number, and they then fill the range exactly.
pub fn edges(values: &[f64], wanted: Option<u32>, is_integer: bool) -> Vec<f64> {
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let low = finite().fold(f64::INFINITY, f64::min);
    let high = finite().fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return vec![0.0, 1.0];
    }
    if let Some(bins) = wanted {
        let bins = bins.clamp(1, 10_000);
        let (low, high) = if low == high { (low - 0.5, high + 0.5) } else { (low, high) };
        return (0..=bins).map(|i| low + (high - low) * f64::from(i) / f64::from(bins)).collect();
    }
    let range = high - low;
    if is_integer && range <= 40.0 {
        return (0..=range as u64 + 1).map(|i| low - 0.5 + i as f64).collect();
    }
    if range == 0.0 {
        return vec![low - 0.5, low + 0.5];
    }
    let mut sorted: Vec<f64> = finite().collect();
    sorted.sort_by(f64::total_cmp);
    let spread = quantile(&sorted, 0.75) - quantile(&sorted, 0.25);
    let rule = 2.0 * spread / (sorted.len() as f64).cbrt();
    let step = round_step(rule.clamp(range / 80.0, range / 5.0));
    let step = if is_integer { step.max(1.0).round() } else { step };
    let first = (low / step).floor() * step;
    let bins = (((high - first) / step).floor() as usize + 1).min(1_000);
    (0..=bins).map(|i| first + step * i as f64).collect()
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

/// The bin of a value, if it has one.
pub fn bin(value: f64, edges: &[f64]) -> Option<usize> {
    let bins = edges.len().checked_sub(1).filter(|n| *n > 0)?;
    if !value.is_finite() || value < edges[0] || value > edges[bins] {
        return None;
    }
    Some((edges.partition_point(|e| *e <= value).saturating_sub(1)).min(bins - 1))
}

/// Linear between the two nearest values. `sorted` must not be empty.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let position = q * (sorted.len() - 1) as f64;
    let (below, part) = (position.floor() as usize, position.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * part
}

/// Outliers of a box that are drawn.
const OUTLIERS: usize = 200;

/// Tukey's box; `None` without values.
pub fn box_of(category: String, mut values: Vec<f64>) -> Option<BoxStats> {
    values.retain(|v| v.is_finite());
    values.sort_by(f64::total_cmp);
    let (first, last) = (*values.first()?, *values.last()?);
    let (q1, median, q3) = (quantile(&values, 0.25), quantile(&values, 0.5), quantile(&values, 0.75));
    let fence = 1.5 * (q3 - q1);
    let start = values.partition_point(|v| *v < q1 - fence);
    let end = values.partition_point(|v| *v <= q3 + fence);
    let outside: Vec<f64> = values[..start].iter().chain(&values[end..]).copied().collect();
    Some(BoxStats {
        category,
        low: values.get(start).copied().unwrap_or(first).min(q1),
        q1,
        median,
        q3,
        high: end.checked_sub(1).and_then(|i| values.get(i)).copied().unwrap_or(last).max(q3),
        outliers: spread(outside.len(), OUTLIERS).map(|i| outside[i]).collect(),
        count: values.len() as u64,
    })
}

/// At most `keep` of `count` indexes, at equal distances, with the first and the last.
pub fn spread(count: usize, keep: usize) -> impl Iterator<Item = usize> {
    let shown = count.min(keep);
    (0..shown).map(move |i| if shown == count { i } else { i * (count - 1) / (shown - 1).max(1) })
}

/// A line of at most about `keep` points that looks the same: of each stretch the lowest and the highest point stay, in order.
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

    /// `None` without values.
    pub fn value(self, values: &mut [f64]) -> Option<f64> {
        if values.is_empty() {
            return None;
        }
        let sum = values.iter().sum::<f64>();
        Some(match self {
            Combine::Count => values.len() as f64,
            Combine::Sum => sum,
            Combine::Mean => sum / values.len() as f64,
            Combine::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Combine::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Combine::Median => {
                values.sort_by(f64::total_cmp);
                quantile(values, 0.5)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let stats = box_of("a".into(), values.clone()).unwrap();
        assert_eq!([stats.low, stats.q1, stats.median, stats.q3, stats.high], [1.0, 3.0, 5.0, 7.0, 9.0]);
        let stats = box_of("a".into(), [values, vec![30.0]].concat()).unwrap();
        assert_eq!((stats.high, stats.outliers, stats.count), (9.0, vec![30.0], 10));
        assert!(box_of("a".into(), vec![f64::NAN]).is_none());
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
