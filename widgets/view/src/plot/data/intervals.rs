//! Shapes of error bars, bands, violins, strips, hexagons and candles.

use onrush_wire::plot::{Axis, Candles, Hexagons, Interval, Mark, Series, Violin};
use plotters::style::RGBColor;

use super::super::shapes::{Point, Shape};
use super::{AxisScale, Builder, Key, Layer, color_at, range};

/// The share of a category's slot that its series fill next to each other.
const DODGED: f64 = 0.5;
/// The share of a slot that a violin fills at its widest, and by which points of a strip are moved at most.
const VIOLIN: f64 = 0.85;
const JITTER: f64 = 0.16;
const CANDLE: f64 = 0.7;
/// Length of the ends of an error bar, and widths of the lines inside a violin, in pixels.
const CAP: f64 = 8.0;
const WHISKER: f64 = 1.4;
const QUARTILES: f64 = 6.0;
/// Colours inside a violin, which is neither bright nor dark.
const INNER: RGBColor = RGBColor(0x22, 0x22, 0x22);
const MEDIAN: RGBColor = RGBColor(0xff, 0xff, 0xff);

impl Builder {
    pub(super) fn intervals(&mut self, x: &Axis, y: &Axis, series: &[Interval], is_band: bool) {
        self.tight &= is_band;
        let is_dodged = !is_band && series.len() > 1 && self.x.kind == AxisScale::Category;
        self.is_spread |= is_dodged;
        for (index, one) in series.iter().enumerate() {
            let part = (index as f64 + 0.5) / series.len() as f64 - 0.5;
            let moved = if is_dodged { DODGED * part } else { 0.0 };
            if is_band { self.band(x, y, one) } else { self.error_bars(x, y, one, moved) }
        }
    }

    /// The colour of a series. Intervals alone belong to the layer before them.
    fn color_of(&mut self, one: &Interval) -> RGBColor {
        match self.keys.last().filter(|_| one.name.is_empty() && one.y.is_empty()) {
            Some(key) => key.color,
            None => self.key(&one.name, !one.y.is_empty()).color,
        }
    }

    fn error_bars(&mut self, x: &Axis, y: &Axis, one: &Interval, moved: f64) {
        let color = self.color_of(one);
        let mut means = Vec::new();
        for (row, at) in one.x.iter().enumerate() {
            let Some(at) = self.x(x, *at).map(|at| at + moved) else { continue };
            if let Some(mean) = one.y.get(row).and_then(|mean| self.y(y, *mean)) {
                means.push((at, mean));
            }
            // The mean of a single value has no interval.
            let ends = [one.low[row], one.high[row]].map(|end| self.y.position(end));
            if let [Some(low), Some(high)] = ends {
                let series = one.name.clone();
                self.shapes.push(Shape::Interval { series, at, ends: (low, high), color, width: 1.6, cap: CAP });
            }
        }
        if !means.is_empty() {
            self.shapes.push(Shape::Points { series: one.name.clone(), points: means, color });
        }
    }

    fn band(&mut self, x: &Axis, y: &Axis, one: &Interval) {
        let color = self.color_of(one);
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        for ((at, low), high) in one.x.iter().zip(&one.low).zip(&one.high) {
            let ends = [*low, *high].map(|end| self.y.position(end));
            if let (Some(at), [Some(low), Some(high)]) = (self.x(x, *at), ends) {
                upper.push((at, high));
                lower.push((at, low));
            }
        }
        if !upper.is_empty() {
            let series = one.name.clone();
            self.shapes.push(Shape::Area { series, upper, lower, color, opacity: 0.2 });
        }
        if !one.y.is_empty() {
            let line = Series { name: one.name.clone(), x: one.x.clone(), y: one.y.clone() };
            let key = Key { color, ..self.key(&one.name, true) };
            for points in self.segments(x, y, &line) {
                self.push_line(Mark::Line, points, &key);
            }
        }
    }

    pub(super) fn violins(&mut self, x: &Axis, violins: &[Violin]) {
        self.tight = false;
        self.is_spread = true;
        let color = self.key("", false).color;
        let densities = || violins.iter().flat_map(|violin| &violin.density).copied();
        let widest = range(densities()).map_or(1.0, |(_, high)| high).max(f64::MIN_POSITIVE);
        let (mut whiskers, mut quartiles, mut medians) = (Vec::new(), Vec::new(), Vec::new());
        for (index, violin) in violins.iter().enumerate() {
            let stats = &violin.stats;
            let place = x.categories.iter().position(|name| *name == stats.category).unwrap_or(index);
            let Some(at) = self.x(x, place as f64) else { continue };
            let outline = violin.at.iter().zip(&violin.density);
            let points: Vec<(f64, f64)> = outline
                .filter_map(|(value, density)| Some((VIOLIN / 2.0 * density / widest, self.y.position(*value)?)))
                .collect();
            if !points.is_empty() {
                let side = |sign: f64| points.iter().map(|(half, value)| (at + sign * half, *value)).collect();
                let (upper, lower) = (side(1.0), side(-1.0));
                let opacity = self.opacity.unwrap_or(0.8);
                self.shapes.push(Shape::Area { series: String::new(), upper, lower, color, opacity });
            }
            let ends = [stats.low, stats.q1, stats.median, stats.q3, stats.high].map(|value| self.y.position(value));
            if let [Some(low), Some(q1), Some(median), Some(q3), Some(high)] = ends {
                let line = |ends: (f64, f64), width: f64| Shape::Interval {
                    series: String::new(),
                    at,
                    ends,
                    color: INNER,
                    width,
                    cap: 0.0,
                };
                whiskers.push(line((low, high), WHISKER));
                quartiles.push(line((q1, q3), QUARTILES));
                medians.push((at, median));
            }
        }
        self.shapes.extend(whiskers);
        self.shapes.extend(quartiles);
        if !medians.is_empty() {
            self.shapes.push(Shape::Points { series: String::new(), points: medians, color: MEDIAN });
        }
    }

    /// Points moved at random inside their category, the same way each time.
    pub(super) fn strip(&mut self, x: &Axis, y: &Axis, series: &[Series]) {
        self.tight = false;
        self.is_spread = true;
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for one in series {
            let color = self.key(&one.name, false).color;
            let mut points = self.points(x, y, one);
            for point in &mut points {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                point.0 += JITTER * ((state >> 33) as f64 / f64::from(1u32 << 30) - 1.0);
            }
            if !points.is_empty() {
                self.shapes.push(Shape::Points { series: one.name.clone(), points, color });
            }
        }
    }

    pub(super) fn hexagons(&mut self, hexagons: &Hexagons) {
        self.tight = false;
        let Some((low, high, _)) = self.color_range.clone() else { return };
        let centers = hexagons.xs.iter().zip(&hexagons.ys).zip(&hexagons.counts);
        let points: Vec<(Point, RGBColor)> = centers
            .map(|((x, y), count)| {
                let value = *count as f64;
                let point = Point { x: *x, y: *y, value, size: f64::NAN, radius: None };
                (point, color_at(self.color_map, value, low, high))
            })
            .collect();
        if !points.is_empty() {
            self.shapes.push(Shape::Hexagons { size: hexagons.size, points });
        }
    }

    pub(super) fn candles(&mut self, candles: &Candles) {
        self.tight = false;
        self.is_spread |= candles.x.scale == AxisScale::Category;
        let mut places: Vec<f64> = candles.at.iter().filter_map(|at| self.x.position(*at)).collect();
        places.sort_by(f64::total_cmp);
        let closest = places.windows(2).map(|two| two[1] - two[0]).filter(|d| *d > 0.0).fold(f64::INFINITY, f64::min);
        let slot = if closest.is_finite() { closest } else { self.slot };
        for (index, at) in candles.at.iter().enumerate() {
            let prices = [&candles.open, &candles.high, &candles.low, &candles.close];
            let prices = prices.map(|list| self.y.position(list[index]));
            if let (Some(at), [Some(open), Some(high), Some(low), Some(close)]) = (self.x(&candles.x, *at), prices) {
                let name = if close >= open { "rising" } else { "falling" };
                let color = self.key(name, false).color;
                let prices = [open, high, low, close];
                let half = slot * CANDLE / 2.0;
                self.shapes.push(Shape::Candle { series: name.to_string(), at, half, prices, color });
            }
        }
    }
}

/// The range of the counts of hexagons.
pub(super) fn counts(layer: &Layer) -> Option<(f64, f64)> {
    match layer {
        Layer::Hexagons(hexagons) => range(hexagons.counts.iter().map(|count| *count as f64)),
        _ => None,
    }
}
