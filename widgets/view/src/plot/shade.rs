//! The pixels of a raster as colours, by the rules of datashader. Values are scaled linearly, by their logarithm, by
//! their cube root or by their rank (`eq_hist`). Categories are mixed by their counts, and sparse pixels are widened
//! (`dynspread`).

use base64::Engine as _;
use onrush_wire::plot::{ColorMap, Pixels, Raster, Shading};
use plotters::style::RGBColor;
use resvg::tiny_skia::{ColorU8, Pixmap};

use super::scale::{Tick, number_label};
use super::theme::scale_color;

/// The part of a colour map that can be seen on light and on dark pages.
pub const MAP: (f64, f64) = (0.12, 0.95);
/// The opacity of the pixel with the lowest count of all categories.
const LEAST_OPACITY: f64 = 40.0 / 255.0;
/// Pixels are widened until more than this share of them has a neighbor, and by at most so many pixels.
const CROWDED: f64 = 0.5;
const WIDEST: usize = 3;
/// Bins of the ranks of numbers, and of counts that span more than this.
const BINS: usize = 1 << 16;

/// How values become positions on a colour map, from 0 for the lowest to 1 for the highest.
pub struct Levels {
    how: Shading,
    low: f64,
    high: f64,
    /// Values in order and the share of pixels up to each one; for [`Shading::EqHist`].
    ranks: Vec<(f64, f64)>,
    pub label: String,
}

impl Levels {
    /// The levels of all pixels of rasters that share their colours. `None` if no pixel has a value.
    pub fn of<'r>(rasters: impl Iterator<Item = &'r Raster>) -> Option<Levels> {
        let (mut values, mut how, mut label, mut is_count) = (Vec::new(), None, String::new(), true);
        for raster in rasters {
            is_count &= !matches!(raster.pixels, Pixels::Numbers(_));
            values.extend(spread(raster).into_iter().filter(|v| !v.is_nan()));
            how = how.or(raster.how);
            label.clone_from(&raster.color_label);
        }
        let how = how.unwrap_or(if is_count { Shading::EqHist } else { Shading::Linear });
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        let ranks = if how == Shading::EqHist { ranks(&values, is_count) } else { Vec::new() };
        Some(Levels { how, low, high, ranks, label })
    }

    /// The position of a value of the range.
    pub fn level(&self, value: f64) -> f64 {
        if self.high <= self.low {
            return 1.0;
        }
        let scaled = |value: f64| match self.how {
            Shading::Linear => value - self.low,
            Shading::Log => (value - self.low).ln_1p(),
            Shading::Cbrt => (value - self.low).cbrt(),
            Shading::EqHist => self.rank(value),
        };
        let (low, high) = (scaled(self.low), scaled(self.high));
        if high > low { ((scaled(value) - low) / (high - low)).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// The share of the pixels up to a value, linear between the values that are there.
    fn rank(&self, value: f64) -> f64 {
        let after = self.ranks.partition_point(|rank| rank.0 < value);
        match (after.checked_sub(1).map(|before| self.ranks[before]), self.ranks.get(after)) {
            (_, Some((at, share))) if *at == value => *share,
            (Some((x0, y0)), Some((x1, y1))) => y0 + (y1 - y0) * (value - x0) / (x1 - x0),
            (None, Some((_, share))) => *share,
            (Some((_, share)), None) => share,
            (None, None) => 1.0,
        }
    }

    /// About five round values at about equal distances of the colour bar, from its lower to its upper end.
    pub fn ticks(&self) -> Vec<Tick> {
        const COUNT: usize = 5;
        let mut ticks: Vec<Tick> = Vec::new();
        for index in 0..COUNT {
            let wanted = index as f64 / (COUNT - 1) as f64;
            // Levels rise with values.
            let (mut low, mut high) = (self.low, self.high);
            for _ in 0..60 {
                let middle = low + (high - low) / 2.0;
                if self.level(middle) < wanted { low = middle } else { high = middle }
            }
            let value = match index {
                0 => self.low,
                _ if index == COUNT - 1 => self.high,
                _ => rounded(high).clamp(self.low, self.high),
            };
            let at = self.level(value);
            let label = number_label(value, step_of(value), self.low.abs().max(self.high.abs()));
            if ticks.iter().all(|tick| tick.label != label && at - tick.at > 0.08) {
                ticks.push(Tick { at, label });
            }
            if self.high <= self.low {
                break;
            }
        }
        ticks
    }
}

/// With two digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let power = 10f64.powf(value.abs().log10().floor() - 1.0);
    (value / power).round() * power
}

/// The step that a label of two digits needs.
fn step_of(value: f64) -> f64 {
    let whole = value.fract() == 0.0;
    if whole { 1.0 } else { 10f64.powf(value.abs().max(1e-300).log10().floor() - 1.0) }
}

/// Sorted values with the share of values up to each one: of counts exactly, of numbers by the middles of bins.
fn ranks(sorted: &[f64], is_count: bool) -> Vec<(f64, f64)> {
    let all = sorted.len() as f64;
    let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
    if high <= low {
        return vec![(low, 1.0)];
    }
    let is_exact = is_count && high - low < BINS as f64;
    let width = (high - low) / BINS as f64;
    let place = |value: f64| match is_exact {
        true => value,
        false => low + (((value - low) / width).floor().min((BINS - 1) as f64) + 0.5) * width,
    };
    let mut ranks: Vec<(f64, f64)> = Vec::new();
    for (index, value) in sorted.iter().enumerate() {
        let (at, share) = (place(*value), (index + 1) as f64 / all);
        match ranks.last_mut() {
            Some(last) if last.0 == at => last.1 = share,
            _ => ranks.push((at, share)),
        }
    }
    ranks
}

/// The values of pixels, NaN for those without any, widened if they are sparse.
fn spread(raster: &Raster) -> Vec<f64> {
    let values: Vec<f64> = match &raster.pixels {
        Pixels::Counts(counts) => counts.iter().map(|c| if *c == 0 { f64::NAN } else { f64::from(*c) }).collect(),
        Pixels::Numbers(numbers) => numbers.iter().map(|v| f64::from(*v)).collect(),
        Pixels::Categories { counts, .. } => {
            let total = |pixel| counts.iter().filter_map(|one| one.get(pixel)).map(|c| f64::from(*c)).sum::<f64>();
            let pixels = raster.width as usize * raster.height as usize;
            (0..pixels).map(total).map(|sum| if sum == 0.0 { f64::NAN } else { sum }).collect()
        }
    };
    let width = raster.width as usize;
    match radius(raster, &values) {
        0 => values,
        radius => widened(&values, width, radius, |value| !value.is_nan(), f64::max),
    }
}

/// By how many pixels a raster is widened.
fn radius(raster: &Raster, values: &[f64]) -> usize {
    let width = raster.width as usize;
    match raster.spread {
        Some(pixels) => pixels as usize,
        None => {
            let crowded = |radius: &usize| neighbored(values.len(), width, 2 * radius, |at| !values[at].is_nan());
            (1..=WIDEST).take_while(|radius| crowded(radius) <= CROWDED).last().unwrap_or(0)
        }
    }
}

/// The share of the pixels with a value that have another one at most `radius` columns and rows away.
pub fn neighbored(length: usize, width: usize, radius: usize, has: impl Fn(usize) -> bool) -> f64 {
    let (mut all, mut with) = (0_u32, 0_u32);
    for at in (0..length).filter(|at| has(*at)) {
        let (row, column) = (at / width, at % width);
        let rows = row.saturating_sub(radius)..=(row + radius).min(length / width - 1);
        let mut near = rows.flat_map(|row| {
            (column.saturating_sub(radius)..=(column + radius).min(width - 1)).map(move |column| row * width + column)
        });
        all += 1;
        with += u32::from(near.any(|near| near != at && has(near)));
    }
    // Empty pixels are not widened.
    if all == 0 { 1.0 } else { f64::from(with) / f64::from(all) }
}

/// Each pixel with the largest value of a disc around it.
fn widened<T: Copy>(
    values: &[T],
    width: usize,
    radius: usize,
    has: impl Fn(T) -> bool,
    max: impl Fn(T, T) -> T,
) -> Vec<T> {
    let height = values.len() / width.max(1);
    let reach = radius as i64;
    let disc: Vec<(i64, i64)> = (-reach..=reach)
        .flat_map(|y| (-reach..=reach).map(move |x| (x, y)))
        .filter(|(x, y)| ((x * x + y * y) as f64).sqrt() <= radius as f64 + 0.5)
        .collect();
    let mut wide = values.to_vec();
    for at in (0..values.len()).filter(|at| has(values[*at])) {
        let (row, column) = ((at / width) as i64, (at % width) as i64);
        for (x, y) in &disc {
            let (row, column) = (row + y, column + x);
            if (0..height as i64).contains(&row) && (0..width as i64).contains(&column) {
                let near = row as usize * width + column as usize;
                wide[near] = if has(wide[near]) { max(wide[near], values[at]) } else { values[at] };
            }
        }
    }
    wide
}

/// The picture of a raster as PNG in base64. `colors` are those of the categories. `None` if the pixels do not fit the
/// size.
pub fn shade(raster: &Raster, levels: &Levels, map: ColorMap, colors: &[RGBColor]) -> Option<String> {
    let pixels = paint(raster, levels, map, colors)?;
    Some(base64::engine::general_purpose::STANDARD.encode(crate::png::encode(&pixels).ok()?))
}

fn paint(raster: &Raster, levels: &Levels, map: ColorMap, colors: &[RGBColor]) -> Option<Pixmap> {
    let size = (raster.width as usize).checked_mul(raster.height as usize)?;
    let values = spread(raster);
    if values.len() != size {
        return None;
    }
    let mut pixels = Pixmap::new(raster.width, raster.height)?;
    let color_of = |t: f64| scale_color(map, MAP.0 + (MAP.1 - MAP.0) * t);
    let Pixels::Categories { counts, .. } = &raster.pixels else {
        for (pixel, value) in pixels.pixels_mut().iter_mut().zip(&values).filter(|(_, value)| !value.is_nan()) {
            let RGBColor(r, g, b) = color_of(levels.level(*value));
            *pixel = ColorU8::from_rgba(r, g, b, 255).premultiply();
        }
        return Some(pixels);
    };
    let own: Vec<f64> =
        (0..size).map(|at| counts.iter().filter_map(|c| c.get(at)).map(|c| f64::from(*c)).sum()).collect();
    let own: Vec<f64> = own.into_iter().map(|sum| if sum == 0.0 { f64::NAN } else { sum }).collect();
    let (radius, width) = (radius(raster, &own), raster.width as usize);
    let counts: Vec<Vec<u32>> = match radius {
        0 => counts.clone(),
        radius => counts.iter().map(|one| widened(one, width, radius, |count| count > 0, u32::max)).collect(),
    };
    for (at, pixel) in pixels.pixels_mut().iter_mut().enumerate() {
        let (mut sum, mut total) = ([0.0; 3], 0.0);
        for (one, RGBColor(r, g, b)) in counts.iter().zip(colors) {
            let count = f64::from(one[at]);
            sum.iter_mut().zip([r, g, b]).for_each(|(sum, part)| *sum += count * f64::from(*part));
            total += count;
        }
        if total > 0.0 {
            let [r, g, b] = sum.map(|part| (part / total) as u8);
            let level = if values[at].is_nan() { 0.0 } else { levels.level(values[at]) };
            let alpha = LEAST_OPACITY + (1.0 - LEAST_OPACITY) * level;
            *pixel = ColorU8::from_rgba(r, g, b, (alpha * 255.0).round() as u8).premultiply();
        }
    }
    Some(pixels)
}

#[cfg(test)]
mod tests {
    use onrush_wire::plot::{Axis, AxisScale};
    use onrush_wire::visual::Window;

    use super::*;

    fn raster(pixels: Pixels, width: u32, how: Shading, spread: Option<u32>) -> Raster {
        let axis = Axis { label: "a".to_string(), scale: AxisScale::Number, categories: Vec::new() };
        let length = match &pixels {
            Pixels::Counts(counts) => counts.len(),
            Pixels::Numbers(numbers) => numbers.len(),
            Pixels::Categories { counts, .. } => counts[0].len(),
        };
        Raster {
            x: axis.clone(),
            y: axis,
            window: Window { x0: 0.0, y0: 0.0, x1: 1.0, y1: 1.0 },
            width,
            height: length as u32 / width,
            pixels,
            color_label: "rows".to_string(),
            how: Some(how),
            spread,
            rows: 0,
        }
    }

    fn levels(counts: &[u32], how: Shading) -> Vec<f64> {
        let raster = raster(Pixels::Counts(counts.to_vec()), counts.len() as u32, how, Some(0));
        let levels = Levels::of(std::iter::once(&raster)).unwrap();
        counts.iter().filter(|c| **c > 0).map(|c| (levels.level(f64::from(*c)) * 1e6).round() / 1e6).collect()
    }

    /// datashader 0.19.1: `shade(xarray of [0, 1, 1, 2, 4, 90], how=..)`, its scaled data between its least and its
    /// largest one.
    #[test]
    fn counts_have_the_levels_of_datashader() {
        let counts = [0, 1, 1, 2, 4, 90];
        assert_eq!(levels(&counts, Shading::EqHist), [0.0, 0.0, 0.333_333, 0.666_667, 1.0]);
        assert_eq!(levels(&counts, Shading::Linear), [0.0, 0.0, 0.011_236, 0.033_708, 1.0]);
        assert_eq!(levels(&counts, Shading::Log), [0.0, 0.0, 0.154_039, 0.308_078, 1.0]);
        assert_eq!(levels(&counts, Shading::Cbrt), [0.0, 0.0, 0.223_977, 0.323_031, 1.0]);
    }

    #[test]
    fn the_ends_of_the_colour_bar_are_the_lowest_and_the_highest_value() {
        let counts: Vec<u32> = (1..=1000).collect();
        let raster = raster(Pixels::Counts(counts), 100, Shading::EqHist, Some(0));
        let ticks = Levels::of(std::iter::once(&raster)).unwrap().ticks();
        let labels: Vec<&str> = ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["1", "250", "500", "750", "1000"]);
        assert_eq!((ticks[0].at, ticks[4].at), (0.0, 1.0));
    }

    #[test]
    fn single_pixels_become_discs_and_crowds_do_not() {
        let mut counts = vec![0; 81];
        counts[40] = 5;
        let alone = raster(Pixels::Counts(counts.clone()), 9, Shading::Linear, None);
        // A disc of radius 3 with the corners of datashader's mask.
        assert_eq!(spread(&alone).iter().filter(|value| !value.is_nan()).count(), 37);
        let one = raster(Pixels::Counts(counts), 9, Shading::Linear, Some(1));
        assert_eq!(spread(&one).iter().filter(|value| !value.is_nan()).count(), 9);
        let crowd = raster(Pixels::Counts(vec![1; 81]), 9, Shading::Linear, None);
        assert_eq!(radius(&crowd, &spread(&crowd)), 0);
    }

    #[test]
    fn categories_are_mixed_by_their_counts() {
        let counts = vec![vec![3, 0, 0], vec![1, 2, 0]];
        let pixels = Pixels::Categories { names: vec!["a".into(), "b".into()], counts };
        let raster = raster(pixels, 3, Shading::Linear, Some(0));
        let levels = Levels::of(std::iter::once(&raster)).unwrap();
        let colors = [RGBColor(200, 0, 0), RGBColor(0, 0, 100)];
        let painted = paint(&raster, &levels, ColorMap::Viridis, &colors).unwrap();
        let of = |at: usize| {
            let pixel = painted.pixels()[at].demultiply();
            (pixel.red(), pixel.green(), pixel.blue(), pixel.alpha())
        };
        // Three quarters of red and a quarter of blue; the fewest rows have an opacity of 40 of 255.
        assert_eq!(of(0), (150, 0, 25, 255));
        assert_eq!((of(1).3, of(2)), (40, (0, 0, 0, 0)));
    }
}
