//! Exact quartiles of data too large to hold in memory.
//!
//! A sample estimates each quartile, and the values near it are held. If the sample misleads, repeated passes count
//! values into ever narrower bins until a bin has one value.

use std::collections::HashSet;

use onrush_frame::TaskHandle;
use onrush_stats::{self as statistics, Extent};
use onrush_wire::Diagnostic;
use onrush_wire::plot::{Axis, AxisScale, BoxStats, Layer, LayerRequest};

use super::axis_values::{Values, each_of, rank_of, ranked};
use super::row_source::Rows;
use super::{CATEGORIES, Source, needed};

/// Rows whose values are held, because that is faster.
pub const HELD: usize = 2_000_000;
/// Bins of a walk for each wanted value.
const BINS: usize = 1024;
/// Walks whose bins are equally wide, which suits most values.
const BY_VALUE: usize = 2;
/// Values of all groups by which quartiles are looked for, and of a group at least; twice as many are held.
const SAMPLES: usize = 500_000;
const FEWEST: usize = 20_000;
/// Values around the quartiles that are held.
const HELD_BETWEEN: usize = 16_000_000;
/// Different outliers of a box that are compared with each other. A group of more rows is sampled.
const OUTLIERS: usize = 20_000;

/// A box for each category of `x` (or one), and the rows without a value or category.
pub fn boxes(
    rows: &Rows,
    y: &Values,
    x: Option<&Values>,
    categories: &[String],
    (held, task): (usize, &TaskHandle),
) -> Result<(Vec<BoxStats>, usize), Diagnostic> {
    let group_of = |at: f64| if x.is_some() { at } else { 0.0 };
    let most = statistics::outlier_limit(categories.len());
    let mut left_out = 0;
    let mut walk = |each: &mut dyn FnMut(usize, f64)| {
        left_out = 0;
        each_of(rows, [Some(y), x], task, |[value, at]| match group_of(at) {
            group if value.is_finite() && group >= 0.0 && (group as usize) < categories.len() => {
                each(group as usize, value);
            }
            _ => left_out += 1,
        })
    };
    if rows.count().is_none_or(|rows| rows <= held) {
        let (mut groups, mut count) = (vec![Vec::new(); categories.len()], 0);
        walk(&mut |group, value| {
            count += 1;
            if count <= held {
                groups[group].push(value);
            } else if count == held + 1 {
                groups.iter_mut().for_each(|group| *group = Vec::new());
            }
        })?;
        if count <= held {
            let boxes = categories.iter().zip(groups).filter_map(|(c, v)| statistics::box_of(c.clone(), v, most));
            return Ok((boxes.collect(), left_out));
        }
    }
    let sample = (SAMPLES / categories.len().max(1)).max(FEWEST);
    let (spans, wanted) = quartiles(categories.len(), sample, &mut walk)?;
    let mut boxes: Vec<BoxStats> = Vec::new();
    let mut places = vec![None; categories.len()];
    for (group, wanted) in wanted.iter().enumerate().filter(|(_, wanted)| !wanted.is_empty()) {
        let quartile = |n: usize, q: f64| {
            let part = (q * (spans[group].count - 1) as f64).fract();
            let (below, above) = (wanted[2 * n].low, wanted[2 * n + 1].low);
            below + (above - below) * part
        };
        let [q1, median, q3] = [quartile(0, 0.25), quartile(1, 0.5), quartile(2, 0.75)];
        places[group] = Some(boxes.len());
        let (category, count) = (categories[group].clone(), spans[group].count);
        let (outliers, different, outside) = (Vec::new(), 0, 0);
        boxes.push(BoxStats { category, low: q1, q1, median, q3, high: q3, outliers, different, outside, count });
    }
    let mut outside = vec![Outside::default(); boxes.len()];
    walk(&mut |group, value| {
        let Some(place) = places[group] else { return };
        let one = &mut boxes[place];
        let fence = 1.5 * (one.q3 - one.q1);
        if value < one.q1 - fence || value > one.q3 + fence {
            outside[place].add(value);
        } else {
            one.low = one.low.min(value);
            one.high = one.high.max(value);
        }
    })?;
    for (one, outside) in boxes.iter_mut().zip(outside) {
        one.outside = outside.ends.count;
        (one.outliers, one.different) = outside.shown(most);
    }
    Ok((boxes, left_out))
}

/// The rows, their values and categories, and the axis with a box for each category.
pub(super) type BoxData<'a> = (Rows<'a>, Values, Option<Values>, (Axis, Vec<BoxStats>));

impl<'a> Source<'a> {
    pub(super) fn boxes(&mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let (_, values, _, (x, boxes)) = self.box_data(layer)?;
        self.notes.extend(statistics::outlier_note(&boxes));
        Ok(Layer::Box { x, y: values.axis(), boxes })
    }

    /// The rows, values and categories of a box plot, its axis, and a box for each category.
    pub(super) fn box_data(&mut self, layer: &LayerRequest) -> Result<BoxData<'a>, Diagnostic> {
        let y = needed(layer.y.as_ref(), layer.mark, "y")?;
        let rows = self.rows([Some(y), layer.x.as_ref(), None])?;
        let values = Values::of(&rows, 0, y)?.number(&format!("the y of a {}", layer.mark.info().name), y)?;
        let mut x = self.box_categories(layer, &rows)?;
        if let Some(x) = &mut x {
            let all = x.keep_most(&rows, CATEGORIES, self.task)?;
            self.most_frequent(CATEGORIES, all, &x.label);
        }
        let axis = x.as_ref().map_or_else(
            || Axis { label: String::new(), scale: AxisScale::Category, categories: vec![String::new()] },
            Values::axis,
        );
        let (boxes, left_out) = boxes(&rows, &values, x.as_ref(), &axis.categories, (HELD, self.task))?;
        let hidden = x.as_ref().map_or(0, |c| c.hidden);
        self.left_out(usize::saturating_sub(left_out, hidden), "row", "no value");
        Ok((rows, values, x, (axis, boxes)))
    }

    /// The categories of a box plot, of the second column.
    pub(super) fn box_categories(&mut self, layer: &LayerRequest, rows: &Rows) -> Result<Option<Values>, Diagnostic> {
        let Some(expr) = &layer.x else { return Ok(None) };
        let known = self.shared.values.get(&self.index).map(Vec::as_slice);
        let x = Values::of(rows, 1, expr)?.into_categories(rows, known, self.task)?;
        if let (Some(keys), None) = (x.keys(), known) {
            self.shared.values.insert(self.index, keys.to_vec());
        }
        Ok(Some(x))
    }
}

/// A walk over the rows that have a group and a value.
type Walk<'a> = dyn FnMut(&mut dyn FnMut(usize, f64)) -> Result<(), Diagnostic> + 'a;

/// The extent of each group, and the values around its quartiles. Two walks suffice if a sample of that size brackets
/// them; at most eleven are needed, whatever the values are. Without a sample (0), in at most ten.
fn quartiles(groups: usize, keep: usize, walk: &mut Walk) -> Result<(Vec<Extent>, Vec<Vec<RankSearch>>), Diagnostic> {
    let (mut spans, mut samples) = (vec![Extent::default(); groups], vec![Sample::default(); groups]);
    walk(&mut |group, value| {
        if keep > 0 {
            samples[group].add(spans[group].count, value, keep);
        }
        spans[group].add(value);
    })?;
    let mut wanted: Vec<Vec<RankSearch>> = spans.iter().map(RankSearch::quartiles).collect();
    if keep > 0 {
        if between(&mut wanted, &spans, samples, walk)? {
            return Ok((spans, wanted));
        }
        wanted = spans.iter().map(RankSearch::quartiles).collect();
    }
    for done in 0.. {
        let mut bins: Vec<Vec<Span>> = wanted.iter().map(|all| RankSearch::spans(all)).collect();
        if bins.iter().all(Vec::is_empty) {
            break;
        }
        let bin = if done < BY_VALUE { bin } else { bin_by_rank };
        walk(&mut |group, value| {
            for (low, high, bins) in &mut bins[group] {
                if (*low..=*high).contains(&value) {
                    bins[bin(value, *low, *high)].add(value);
                }
            }
        })?;
        for (wanted, bins) in wanted.iter_mut().zip(&bins) {
            wanted.iter_mut().for_each(|one| one.narrow(bins));
        }
    }
    Ok((spans, wanted))
}

/// Values at equal distances, some for each group.
#[derive(Clone, Default)]
struct Sample {
    every: u64,
    kept: Vec<f64>,
}

impl Sample {
    #[inline]
    fn add(&mut self, row: u64, value: f64, keep: usize) {
        if !row.is_multiple_of(self.every.max(1)) {
            return;
        }
        self.kept.push(value);
        if self.kept.len() >= 2 * keep {
            every_second(&mut self.kept);
            self.every = 2 * self.every.max(1);
        }
    }
}

fn every_second(kept: &mut Vec<f64>) {
    let mut nth = 0;
    kept.retain(|_| {
        nth += 1;
        nth % 2 == 1
    });
}

/// The bracket of a quartile by its group's sample, with the values found in it.
struct Bracket {
    low: f64,
    high: f64,
    below: u64,
    inside: Vec<f64>,
}

/// Holds the values around each quartile, as the samples place it: `false` if it was not there, or if they are too
/// many.
fn between(
    wanted: &mut [Vec<RankSearch>],
    spans: &[Extent],
    mut samples: Vec<Sample>,
    walk: &mut Walk,
) -> Result<bool, Diagnostic> {
    samples.iter_mut().for_each(|sample| sample.kept.sort_unstable_by(f64::total_cmp));
    let bracket = |group: usize, rank: u64| {
        let kept = &samples[group].kept;
        let at = (rank as f64 / spans[group].count as f64 * kept.len() as f64) as usize;
        // Five standard deviations of a place in a sample, at the median.
        let reach = 2 + (2.5 * (kept.len() as f64).sqrt()) as usize;
        let (first, last) = (at.checked_sub(reach), Some(at + reach).filter(|at| *at < kept.len()));
        let low = first.map_or(spans[group].low, |at| kept[at]);
        Bracket { low, high: last.map_or(spans[group].high, |at| kept[at]), below: 0, inside: Vec::new() }
    };
    let of_group = |(group, wanted): (usize, &Vec<RankSearch>)| -> Vec<Bracket> {
        wanted.chunks(2).map(|two| bracket(group, two[0].rank)).collect()
    };
    let mut brackets: Vec<Vec<Bracket>> = wanted.iter().enumerate().map(of_group).collect();
    let mut held = 0;
    walk(&mut |group, value| {
        for bracket in &mut brackets[group] {
            if value < bracket.low {
                bracket.below += 1;
            } else if value <= bracket.high && held < HELD_BETWEEN {
                bracket.inside.push(value);
                held += 1;
            }
        }
    })?;
    if held == HELD_BETWEEN {
        return Ok(false);
    }
    for (wanted, brackets) in wanted.iter_mut().zip(&mut brackets) {
        for (wanted, bracket) in wanted.chunks_mut(2).zip(brackets) {
            bracket.inside.sort_unstable_by(f64::total_cmp);
            for one in wanted {
                let at = one.rank.checked_sub(bracket.below).and_then(|at| bracket.inside.get(at as usize));
                let Some(value) = at else { return Ok(false) };
                (one.low, one.high) = (*value, *value);
            }
        }
    }
    Ok(true)
}

/// The lowest value has the first bin and the highest the last, so that each walk tells at least two values apart.
fn bin(value: f64, low: f64, high: f64) -> usize {
    // Halves: the distance of two finite values may not be finite.
    let span = high / 2.0 - low / 2.0;
    if span > 0.0 {
        (((value / 2.0 - low / 2.0) / span * (BINS - 1) as f64) as usize).min(BINS - 1)
    } else {
        usize::from(value > low) * (BINS - 1)
    }
}

/// Bins of equally many representable numbers: one far value does not leave all others in one bin. Seven walks leave
/// one of the at most 2⁶⁴ numbers of a bin.
fn bin_by_rank(value: f64, low: f64, high: f64) -> usize {
    let from_low = |value: f64| rank_of(value).wrapping_sub(rank_of(low)) as u64;
    (from_low(value) / (from_low(high) / BINS as u64 + 1)) as usize
}

/// From where to where, and its bins.
type Span = (f64, f64, Vec<Extent>);

/// A value by its rank among those from `low` to `high`; known when these are the same.
#[derive(Clone)]
struct RankSearch {
    rank: u64,
    low: f64,
    high: f64,
}

impl RankSearch {
    /// The two values around each quartile; none of an empty group.
    fn quartiles(all: &Extent) -> Vec<Self> {
        if all.count == 0 {
            return Vec::new();
        }
        let ranks = [0.25, 0.5, 0.75].into_iter().flat_map(|q| {
            let below = (q * (all.count - 1) as f64).floor() as u64;
            [below, (below + 1).min(all.count - 1)]
        });
        ranks.map(|rank| RankSearch { rank, low: all.low, high: all.high }).collect()
    }

    /// The different spans in which values are still looked for, with empty bins.
    fn spans(all: &[Self]) -> Vec<Span> {
        let mut spans: Vec<(f64, f64)> = all.iter().filter(|w| w.low < w.high).map(|w| (w.low, w.high)).collect();
        spans.dedup();
        spans.into_iter().map(|(low, high)| (low, high, vec![Extent::default(); BINS])).collect()
    }

    fn narrow(&mut self, spans: &[Span]) {
        let Some((_, _, bins)) = spans.iter().find(|(low, high, _)| (*low, *high) == (self.low, self.high)) else {
            return;
        };
        for bin in bins {
            if self.rank < bin.count {
                (self.low, self.high) = (bin.low, bin.high);
                return;
            }
            self.rank -= bin.count;
        }
    }
}

/// Outliers: the different ones, or of too many some rows at equal distances, with the lowest and the highest.
#[derive(Clone)]
struct Outside {
    ends: Extent,
    /// `None` if there are too many.
    different: Option<HashSet<i64>>,
    every: u64,
    kept: Vec<f64>,
}

impl Default for Outside {
    fn default() -> Self {
        Outside { ends: Extent::default(), different: Some(HashSet::new()), every: 1, kept: Vec::new() }
    }
}

impl Outside {
    fn add(&mut self, value: f64) {
        if let Some(different) = &mut self.different {
            different.insert(rank_of(value));
            if different.len() > OUTLIERS {
                self.different = None;
            }
        }
        if self.ends.count.is_multiple_of(self.every) {
            self.kept.push(value);
            if self.kept.len() >= OUTLIERS {
                every_second(&mut self.kept);
                self.every *= 2;
            }
        }
        self.ends.add(value);
    }

    /// At most `most` values, and the number of different ones, or of all rows.
    fn shown(mut self, most: usize) -> (Vec<f64>, u64) {
        match self.different {
            Some(different) => {
                let (shown, all) = statistics::shown_outliers(different.into_iter().map(ranked).collect(), most);
                (shown, all as u64)
            }
            None => {
                self.kept.extend([self.ends.low, self.ends.high]);
                (statistics::shown_outliers(self.kept, most).0, self.ends.count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, RecordBatch};
    use onrush_frame::Table;
    use onrush_wire::Expr;

    use super::*;

    fn one_box(values: &[f64], held: usize) -> BoxStats {
        let array: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
        let batch = RecordBatch::try_from_iter([("v", array)]).unwrap();
        let rows = Rows::of_table(Table::new(batch.schema(), vec![batch]));
        let y = Values::of(&rows, 0, &Expr::column("v")).unwrap();
        let made = boxes(&rows, &y, None, &["all".to_string()], (held, &TaskHandle::new())).unwrap();
        made.0.into_iter().next().unwrap()
    }

    /// `numpy.quantile(v, [0.25, 0.5, 0.75])`, NumPy 2.4, and whiskers and outliers of
    /// `matplotlib.cbook.boxplot_stats(v)`.
    #[test]
    fn boxes_are_numpys_and_matplotlibs() {
        let wave: Vec<f64> = (0..1_000).map(|i| f64::from(i * 7_919 % 1_009) / 8.0).collect();
        let small = vec![3.5, -1.25, 7.0, 7.0, 8.0, 9.0, 40.0, 2.5, 6.0, -30.0];
        let far = vec![1e300, 1.0, 2.0, 3.0, 4.0, -1e300];
        for (values, quartiles, whiskers, outliers) in [
            (wave, [31.59375, 63.1875, 94.53125], [0.0, 126.0], vec![]),
            (small, [2.75, 6.5, 7.75], [-1.25, 9.0], vec![-30.0, 40.0]),
            (far, [1.25, 2.5, 3.75], [1.0, 4.0], vec![-1e300, 1e300]),
        ] {
            for held in [0, usize::MAX] {
                let made = one_box(&values, held);
                assert_eq!([made.q1, made.median, made.q3], quartiles);
                assert_eq!([made.low, made.high], whiskers);
                assert_eq!((made.count, made.outliers), (values.len() as u64, outliers.clone()));
            }
        }
    }

    #[test]
    fn walks_find_what_sorting_finds() {
        let mut random = 7_u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 11) as f64 / (1_u64 << 53) as f64
        };
        let smooth: Vec<f64> = (0..4_001).map(|_| next() * next() * 1e6 - 3.0).collect();
        let ties = (0..4_000).map(|i| f64::from(i % 7 / 3)).collect();
        let mut far: Vec<f64> = (0..4_000).map(|_| 1.0 + next() * 1e-9).collect();
        far.extend([f64::MAX, f64::MIN, 5e-324, f64::NAN, f64::INFINITY]);
        for values in [smooth, ties, far, vec![2.5; 9], vec![1.0, 2.0]] {
            assert_eq!(one_box(&values, 0), one_box(&values, usize::MAX));
        }
    }

    /// The ranks are those of the sorted values, whether a sample tells where they are or misleads.
    #[test]
    fn samples_that_mislead_change_nothing() {
        let mixed = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as f64;
        // Every second row, and so each of the sample, is far from the others.
        let periodic = |i: u64| if i.is_multiple_of(2) { mixed(i) + 1e15 } else { mixed(i) };
        for (values, walked) in
            [((0..100_000).map(mixed).collect(), 2), ((0..100_000).map(periodic).collect::<Vec<f64>>(), 3)]
        {
            let mut walks = 0;
            let mut walk = |each: &mut dyn FnMut(usize, f64)| {
                walks += 1;
                values.iter().for_each(|value| each(0, *value));
                Ok(())
            };
            let (_, wanted) = quartiles(1, 2_000, &mut walk).unwrap();
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let found: Vec<f64> = wanted[0].iter().map(|w| w.low).collect();
            assert_eq!(found, [24_999, 25_000, 49_999, 50_000, 74_999, 75_000].map(|rank| sorted[rank]));
            assert!(if walked == 2 { walks == 2 } else { walks > 2 }, "{walks} walks");
        }
    }

    /// Each value is half of the one before it. Bins of equal width would leave all but a few in the lowest bin.
    #[test]
    fn far_values_take_few_walks() {
        let values: Vec<f64> = (-1_000..1_000).flat_map(|i| [2.0_f64.powi(i), -(2.0_f64.powi(i))]).collect();
        let mut walks = 0;
        let mut walk = |each: &mut dyn FnMut(usize, f64)| {
            walks += 1;
            values.iter().for_each(|value| each(0, *value));
            Ok(())
        };
        let (_, wanted) = quartiles(1, 0, &mut walk).unwrap();
        assert!(walks > 2 && walks <= 10, "{walks} walks");
        // The values in order: the 1000th and the 1001st of 4000, the 2000th and the 2001st, the 3000th and the 3001st.
        let small = 2.0_f64.powi(-1_000);
        let found: Vec<f64> = wanted[0].iter().map(|w| w.low).collect();
        assert_eq!(found, [-1.0, -0.5, -small, small, 0.5, 1.0]);
    }
}
