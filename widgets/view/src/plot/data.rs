//! A plot's layers as shapes in drawn positions: bars placed and stacked, lines broken at gaps, categories numbered,
//! and the range of each axis. Draws nothing.

mod annotations;
mod areas;
mod grid;
mod intervals;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use onrush_wire::format_integer::thousands;
use onrush_wire::map::Projection;
use onrush_wire::plot::{
    Axis, AxisScale, BoxStats, Candles, ColorMap, Facet, Hexagons, Layer, Mark, Pixels, Plot, Raster, Series,
    SeriesShape,
};
use plotters::style::RGBColor;

use super::chart;
use super::format;
use super::heatmap_blocks;
use super::map::{self, Placer};
use super::scale::Scale;
use super::shade::{self, Levels};
use super::shapes::{Point, Shape};
use super::theme::{scale_color, series_color, series_dashes};

/// Categories that an axis shows at most.
const CATEGORIES: usize = 50;
/// The share of its slot that a bar or a group of bars fills.
const BAR: f64 = 0.8;
const DAY: f64 = 86_400.0;

/// A series in the legend.
#[derive(Clone)]
pub struct Key {
    pub name: String,
    pub color: RGBColor,
    pub dashes: Option<&'static str>,
    pub is_line: bool,
}

pub struct Data {
    pub x: Scale,
    pub y: Scale,
    pub shapes: Vec<Shape>,
    pub keys: Vec<Key>,
    /// Notes of the plot, and what could not be drawn.
    pub notes: Vec<String>,
    /// Whether all layers are histograms: the y axis counts.
    pub histogram: bool,
    /// Whether the user has set the limits of an axis: what lies outside is not drawn.
    pub is_cut: bool,
    /// Whether marks begin at a base line.
    pub from_zero: bool,
    /// Range and label of the colour bar.
    pub color_range: Option<(f64, f64, String)>,
    /// The colours of rasters, which have a colour bar if they have no categories.
    pub levels: Option<Rc<Levels>>,
    pub color_map: ColorMap,
    /// The column of the area of points.
    pub size_label: String,
    /// The labels of the axes.
    pub labels: (String, String),
    /// Opacity of points; from their number if `None`.
    pub opacity: Option<f64>,
    /// Whether marks lie between the categories of x.
    pub is_spread: bool,
    /// Whether the bars of a histogram are scaled to the y axis of other panels.
    pub is_scaled: bool,
    /// The map under the data, in whose positions the shapes are.
    pub map: Option<Projection>,
}

/// Radius of the largest point with a numeric size; areas are proportional.
const LARGEST: f64 = 13.0;

/// A part of the plot with separate axes.
pub struct Panel {
    pub name: String,
    pub data: Data,
}

impl Data {
    /// The panels, one without a name if there are no facets. They share scales (but see [`free`]), colours and the
    /// legend; the notes are those of the first panel.
    pub fn panels(plot: &Plot) -> Vec<Panel> {
        let whole = [Facet { layers: plot.layers.clone(), ..Facet::default() }];
        let parts: &[Facet] = if plot.facets.is_empty() { &whole } else { &plot.facets };
        let all: Vec<&Layer> = parts.iter().flat_map(|p| &p.layers).collect();
        let (free_x, free_y) = free(plot);
        let mut panels: Vec<Panel> = Vec::new();
        let mut builder = Builder::of(plot, &all);
        let rasters = all.iter().filter_map(|layer| match layer {
            Layer::Raster(raster) => Some(raster),
            _ => None,
        });
        builder.levels = Levels::of(rasters).map(Rc::new);
        for part in parts {
            let mut own = builder.next();
            let layers: Vec<&Layer> = part.layers.iter().collect();
            let free = Builder::of(plot, if free_x || free_y { &layers } else { &[] });
            if free_x {
                own.x = free.x;
            }
            if free_y {
                own.y = free.y;
            }
            for (index, layer) in part.layers.iter().enumerate() {
                // Bars are as wide as those of the panel whose bars are closest to each other.
                let same = if free_x { std::slice::from_ref(part) } else { parts };
                own.slot = own.slot(same.iter().filter_map(|p| p.layers.get(index)));
                own.layer(layer);
            }
            own.rules(&plot.style.rules);
            own.rules(&part.rules);
            own.annotations(&plot.style.annotations);
            own.annotations(&part.annotations);
            builder.keys = own.keys.clone();
            builder.colors = own.colors.clone();
            panels.push(Panel { name: part.name.clone(), data: own.finish(plot, part) });
        }
        // A panel of nothing has no range.
        let all_empty = panels.iter().all(|p| p.data.is_empty());
        let ranged = || panels.iter().map(|p| &p.data).filter(|data| all_empty || !data.is_empty());
        let low = |get: fn(&Data) -> f64| ranged().map(get).fold(f64::INFINITY, f64::min);
        let high = |get: fn(&Data) -> f64| ranged().map(get).fold(f64::NEG_INFINITY, f64::max);
        let (x, y) = ((low(|d| d.x.low), high(|d| d.x.high)), (low(|d| d.y.low), high(|d| d.y.high)));
        let mut notes: Vec<String> = plot.notes.clone();
        for panel in &mut panels {
            for note in panel.data.notes.drain(..) {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            if !free_x {
                (panel.data.x.low, panel.data.x.high) = x;
            }
            if !free_y {
                (panel.data.y.low, panel.data.y.high) = y;
            }
            panel.data.keys.clone_from(&builder.keys);
        }
        if let Some(first) = panels.first_mut() {
            first.data.notes = notes;
        }
        if plot.style.is_grid {
            grid::share(&mut panels, chart::grid(plot).0);
        }
        panels
    }
}

/// Whether each panel has a separate range, along x and along y. The user says so, or the axes of the panels have
/// different labels or different kinds of values.
pub fn free(plot: &Plot) -> (bool, bool) {
    let kinds = |facet: &Facet| {
        let own = Builder::of(plot, &facet.layers.iter().collect::<Vec<_>>());
        (own.x.kind, own.y.kind)
    };
    let scales: Vec<(AxisScale, AxisScale)> = plot.facets.iter().map(kinds).collect();
    let said: Vec<(String, String)> = plot.facets.iter().map(|facet| labels(plot, facet)).collect();
    let differ = |scale: fn(&(AxisScale, AxisScale)) -> AxisScale, label: fn(&(String, String)) -> &String| {
        let labels: Vec<&String> = said.iter().map(label).filter(|label| !label.is_empty()).collect();
        scales.windows(2).any(|two| scale(&two[0]) != scale(&two[1])) || labels.windows(2).any(|two| two[0] != two[1])
    };
    // Counts are not values whose name is missing.
    let counts = plot.facets.iter().filter(|facet| all_histograms(&facet.layers)).count();
    let is_mixed = counts > 0 && counts < plot.facets.len() && plot.style.y_label.is_none();
    let is_grid = plot.style.is_grid;
    let (free_x, free_y) = (is_grid || plot.style.free_x, is_grid || plot.style.free_y || is_mixed);
    (free_x || differ(|s| s.0, |l| &l.0), free_y || differ(|s| s.1, |l| &l.1))
}

/// The axis labels of a panel: those of the user, or the columns of the first layer.
fn labels(plot: &Plot, part: &Facet) -> (String, String) {
    let first = |of: fn(&Layer) -> Option<&Axis>| {
        part.layers.iter().filter_map(of).map(|axis| axis.label.clone()).find(|label| !label.is_empty())
    };
    let counted = || all_histograms(&part.layers).then(|| "count".to_string());
    let said = |whole: &Option<String>, own: &Option<String>| whole.clone().or_else(|| own.clone());
    let x = said(&plot.style.x_label, &part.x_label).or_else(|| first(|layer| Some(axes(layer).0)));
    let y = said(&plot.style.y_label, &part.y_label).or_else(counted).or_else(|| first(|layer| axes(layer).1));
    (x.unwrap_or_default(), y.unwrap_or_default())
}

fn all_histograms(layers: &[Layer]) -> bool {
    !layers.is_empty() && layers.iter().all(|layer| matches!(layer, Layer::Histogram { .. }))
}

/// The axes of a layer; the counts of a histogram have no name.
fn axes(layer: &Layer) -> (&Axis, Option<&Axis>) {
    match layer {
        Layer::Xy { x, y, .. } | Layer::Points { x, y, .. } | Layer::Box { x, y, .. } | Layer::HeatMap { x, y, .. } => {
            (x, Some(y))
        }
        Layer::Intervals { x, y, .. } | Layer::Violins { x, y, .. } => (x, Some(y)),
        Layer::Hexagons(Hexagons { x, y, .. }) | Layer::Candles(Candles { x, y, .. }) => (x, Some(y)),
        Layer::Raster(Raster { x, y, .. }) => (x, Some(y)),
        Layer::Histogram { x, .. } => (x, None),
        Layer::Choropleth(_) => (&map::NO_AXIS, Some(&map::NO_AXIS)),
    }
}

impl Builder {
    fn of(plot: &Plot, layers: &[&Layer]) -> Self {
        let x_axes: Vec<&Axis> = layers.iter().map(|layer| axes(layer).0).collect();
        let y_axes: Vec<&Axis> = layers.iter().filter_map(|layer| axes(layer).1).collect();
        let heat = layers.iter().find_map(|l| match l {
            Layer::HeatMap { values, .. } => Some((values.iter().map(Vec::len).max().unwrap_or(0), values.len())),
            _ => None,
        });
        let numbers = |layer: &&Layer| match layer {
            Layer::HeatMap { range: Some((low, high)), .. } => Some((*low, *high)),
            Layer::HeatMap { values, .. } => range(values.iter().flatten().filter_map(|v| *v)),
            Layer::Points { colors, .. } => range(colors.iter().copied()),
            Layer::Choropleth(choropleth) => range(choropleth.regions.iter().map(|region| region.value)),
            other => intervals::counts(other),
        };
        let label = layers.iter().find_map(|layer| match layer {
            Layer::HeatMap { color_label, .. } => Some(color_label.clone()),
            Layer::Points { color_label, colors, .. } if !colors.is_empty() => Some(color_label.clone()),
            Layer::Hexagons(_) => Some("rows".to_string()),
            Layer::Choropleth(choropleth) => Some(choropleth.color_label.clone()),
            _ => None,
        });
        let color_range = range(layers.iter().filter_map(numbers).flat_map(|(a, b)| [a, b]));
        let is_centred = layers.iter().any(|l| matches!(l, Layer::HeatMap { range: Some(_), .. }));
        let default = if is_centred { ColorMap::BlueRed } else { ColorMap::Viridis };
        let size_label = layers.iter().find_map(|layer| match layer {
            Layer::Points { size_label, sizes, .. } if !sizes.is_empty() => Some(size_label.clone()),
            _ => None,
        });
        let mut builder = Builder {
            x: empty_scale(&x_axes, plot.style.log_x && plot.style.map.is_none(), heat.map(|h| h.0)),
            y: empty_scale(&y_axes, plot.style.log_y && plot.style.map.is_none(), heat.map(|h| h.1)),
            stacked: plot.style.stacked,
            shapes: Vec::new(),
            keys: Vec::new(),
            colors: HashMap::new(),
            not_finite: 0,
            not_positive: 0,
            from_zero: false,
            tight: true,
            is_filled: false,
            levels: None,
            color_range: color_range.or(label.as_ref().map(|_| (0.0, 1.0))).zip(label).map(|((a, b), l)| (a, b, l)),
            color_map: plot.style.color_map.unwrap_or(default),
            size_label: size_label.unwrap_or_default(),
            unnamed: 0,
            slot: 1.0,
            opacity: plot.style.opacity.map(|opacity| opacity.clamp(0.0, 1.0)),
            is_ordered: !plot.style.order.is_empty() && x_axes.iter().any(|axis| axis.scale == AxisScale::Category),
            is_spread: false,
            missing: Vec::new(),
            placer: Placer::new(plot.style.map),
        };
        for scale in [&mut builder.x, &mut builder.y] {
            annotations::ordered(&mut scale.categories, &plot.style.order);
        }
        builder.x.format.clone_from(&plot.style.x_format);
        builder.y.format.clone_from(&plot.style.y_format);
        builder
    }

    /// A copy for another panel: with the same scales and the colours assigned so far.
    fn next(&self) -> Self {
        Builder {
            x: self.x.clone(),
            y: self.y.clone(),
            shapes: Vec::new(),
            keys: self.keys.clone(),
            colors: self.colors.clone(),
            color_range: self.color_range.clone(),
            levels: self.levels.clone(),
            size_label: self.size_label.clone(),
            missing: Vec::new(),
            placer: self.placer.clone(),
            ..*self
        }
    }
}

impl Data {
    /// The same with swapped axes; categories go from top to bottom.
    pub fn lying(mut self) -> Self {
        std::mem::swap(&mut self.x, &mut self.y);
        std::mem::swap(&mut self.labels.0, &mut self.labels.1);
        let last = (self.y.kind == AxisScale::Category).then_some(self.y.categories.len() as f64 - 1.0);
        self.y.categories.reverse();
        let turned = |at: f64| last.map_or(at, |last| last - at);
        let pair = |(a, b): (f64, f64)| if last.is_some() { (turned(b), turned(a)) } else { (a, b) };
        for shape in &mut self.shapes {
            match shape {
                Shape::Bar { x, y, .. } => (*x, *y) = (*y, pair(*x)),
                Shape::Box { x, is_lying, .. } => (*x, *is_lying) = (turned(*x), true),
                Shape::Rule { is_vertical, .. } => *is_vertical = !*is_vertical,
                Shape::Span { is_vertical, .. } => *is_vertical = !*is_vertical,
                Shape::Points { points, .. } => points.iter_mut().for_each(|p| *p = (p.1, turned(p.0))),
                Shape::ColoredPoints { points, .. } => points.iter_mut().for_each(|p| (p.x, p.y) = (p.y, turned(p.x))),
                Shape::Area { upper, lower, .. } => {
                    upper.iter_mut().chain(lower).for_each(|p| *p = (p.1, turned(p.0)));
                }
                Shape::Text { x, y, .. } => (*x, *y) = (*y, turned(*x)),
                Shape::Interval { at, .. } => *at = turned(*at),
                // Other shapes cannot be horizontal.
                Shape::Line { .. }
                | Shape::Candle { .. }
                | Shape::Hexagons { .. }
                | Shape::Cell { .. }
                | Shape::Image { .. }
                | Shape::Regions { .. } => {}
            }
        }
        self
    }

    pub fn is_empty(&self) -> bool {
        self.shapes.iter().all(|s| matches!(s, Shape::Rule { .. } | Shape::Span { .. } | Shape::Text { .. }))
    }
}

/// A scale without a range: numbers unless a layer says otherwise.
fn empty_scale(axes: &[&Axis], log: bool, cells: Option<usize>) -> Scale {
    let mut kind = axes.iter().map(|a| a.scale).next().unwrap_or(AxisScale::Number);
    let mut categories: Vec<String> = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    let most = if cells.is_some() { heatmap_blocks::CELLS } else { CATEGORIES };
    for axis in axes.iter().filter(|a| a.scale == AxisScale::Category) {
        kind = AxisScale::Category;
        for category in &axis.categories {
            if known.insert(category) && known.len() <= most {
                categories.push(category.clone());
            }
        }
    }
    if let Some(cells) = cells {
        // The rows and columns of a matrix without names are numbered.
        kind = AxisScale::Category;
        categories.extend((categories.len()..cells.min(most)).map(|i| i.to_string()));
    }
    let all_categories = known.len().max(cells.unwrap_or(0));
    let log = log && kind == AxisScale::Number;
    Scale { kind, log, low: 0.0, high: 1.0, categories, all_categories, format: None }
}

struct Builder {
    x: Scale,
    y: Scale,
    stacked: bool,
    shapes: Vec<Shape>,
    keys: Vec<Key>,
    /// Colour numbers of series: the same name has the same colour in every layer.
    colors: HashMap<String, usize>,
    not_finite: u64,
    not_positive: u64,
    from_zero: bool,
    /// The x axis ends where the data does.
    tight: bool,
    /// The y axis ends where the data does, too.
    is_filled: bool,
    levels: Option<Rc<Levels>>,
    color_range: Option<(f64, f64, String)>,
    color_map: ColorMap,
    size_label: String,
    /// Unnamed series so far: equal ones have the same colour in each panel.
    unnamed: usize,
    /// The slot of each bar, or of grouped bars.
    slot: f64,
    opacity: Option<f64>,
    /// Whether the user has ordered the categories of x.
    is_ordered: bool,
    is_spread: bool,
    /// Annotations that have no place.
    missing: Vec<String>,
    placer: Placer,
}

impl Builder {
    fn layer(&mut self, layer: &Layer) {
        match layer {
            Layer::Xy { mark, x, y, series } => match mark.info().shape {
                SeriesShape::Bars => self.bars(x, y, series),
                SeriesShape::Areas => self.areas(x, y, series),
                SeriesShape::Lines => self.lines(*mark, x, y, series),
                SeriesShape::LinesFromZero => {
                    self.from_zero = true;
                    self.lines(Mark::Line, x, y, series);
                }
                SeriesShape::Strip => self.strip(x, y, series),
                SeriesShape::Points => self.scatter(x, y, series),
            },
            Layer::Points { x, y, .. } => self.colored(x, y, layer),
            Layer::Histogram { series, .. } => self.histogram(series),
            Layer::Box { x, boxes, .. } => self.boxes(x, boxes),
            Layer::HeatMap { x, y, values, .. } => self.heat_map(x, y, values),
            Layer::Raster(raster) => self.raster(raster),
            Layer::Intervals { x, y, series, is_band } => self.intervals(x, y, series, *is_band),
            Layer::Violins { x, violins, .. } => self.violins(x, violins),
            Layer::Hexagons(hexagons) => self.hexagons(hexagons),
            Layer::Candles(candles) => self.candles(candles),
            Layer::Choropleth(choropleth) => {
                self.is_filled = true;
                let colors = (self.color_map, self.color_range.as_ref().map_or((0.0, 1.0), |c| (c.0, c.1)));
                self.shapes.push(map::regions(choropleth, &self.placer, colors));
            }
        }
    }

    fn key(&mut self, name: &str, is_line: bool) -> Key {
        let next = self.colors.len();
        // Series without a name differ by their layer.
        let id = if name.is_empty() { format!("\0{}", self.unnamed) } else { name.to_string() };
        self.unnamed += usize::from(name.is_empty());
        let index = *self.colors.entry(id).or_insert(next);
        let key =
            Key { name: name.to_string(), color: series_color(index, name), dashes: series_dashes(index), is_line };
        if !name.is_empty() && !self.keys.iter().any(|k| k.name == name) {
            self.keys.push(key.clone());
        }
        key
    }

    /// The position of a category of a layer on the common axis; numbers are unchanged. All categories that are not
    /// drawn have positions after the last drawn one.
    fn place(scale: &Scale, axis: &Axis, value: f64) -> f64 {
        let both = scale.kind == AxisScale::Category && axis.scale == AxisScale::Category;
        let is_place = both && value.is_finite() && value > -0.5;
        // Points may lie between categories.
        let name = axis.categories.get(value.round() as usize).filter(|_| is_place);
        let Some(name) = name else { return value };
        let place = scale.categories.iter().position(|c| c == name).unwrap_or(scale.categories.len() + 1);
        place as f64 + (value - value.round())
    }

    fn x(&mut self, axis: &Axis, value: f64) -> Option<f64> {
        let value = Self::place(&self.x, axis, value);
        let position = self.x.position(value);
        self.count(value, position)
    }

    fn y(&mut self, axis: &Axis, value: f64) -> Option<f64> {
        let value = Self::place(&self.y, axis, value);
        let position = self.y.position(value);
        self.count(value, position)
    }

    fn count(&mut self, value: f64, position: Option<f64>) -> Option<f64> {
        if position.is_none() {
            if value.is_finite() {
                self.not_positive += 1;
            } else {
                self.not_finite += 1;
            }
        }
        position
    }

    fn points(&mut self, x_axis: &Axis, y_axis: &Axis, series: &Series) -> Vec<(f64, f64)> {
        let mut points = Vec::with_capacity(series.x.len());
        for (x, y) in series.x.iter().zip(&series.y) {
            if let (Some(x), Some(y)) = (self.x(x_axis, *x), self.y(y_axis, *y)) {
                points.extend(self.placer.place((x, y)));
            }
        }
        points
    }

    fn scatter(&mut self, x: &Axis, y: &Axis, series: &[Series]) {
        self.tight = false;
        for s in series {
            let points = self.points(x, y, s);
            let color = self.key(&s.name, false).color;
            if !points.is_empty() {
                self.shapes.push(Shape::Points { series: s.name.clone(), points, color });
            }
        }
    }

    fn colored(&mut self, x: &Axis, y: &Axis, layer: &Layer) {
        let Layer::Points { name, xs, ys, colors, sizes, size_range, .. } = layer else { return };
        self.tight = false;
        self.is_spread |= layer.is_spread();
        let mut points = Vec::with_capacity(xs.len());
        for (i, (px, py)) in xs.iter().zip(ys).enumerate() {
            if let (Some(px), Some(py)) = (self.x(x, *px), self.y(y, *py))
                && let Some((px, py)) = self.placer.place((px, py))
            {
                let size = sizes.get(i).copied().unwrap_or(f64::NAN);
                let share = if size_range.1 > 0.0 { (size / size_range.1).max(0.0) } else { 1.0 };
                let radius = (!sizes.is_empty()).then(|| (share.sqrt() * LARGEST).max(1.2));
                points.push(Point { x: px, y: py, value: colors.get(i).copied().unwrap_or(f64::NAN), size, radius });
            }
        }
        // Small ones over large ones.
        if !sizes.is_empty() {
            points.sort_by(|a, b| b.size.total_cmp(&a.size));
        }
        let color = colors.is_empty().then(|| self.key(name, false).color);
        if !points.is_empty() {
            self.shapes.push(Shape::ColoredPoints { series: name.clone(), color, points });
        }
    }

    /// Runs of points without a gap. NaN is a gap and not reported as dropped.
    fn segments(&mut self, x_axis: &Axis, y_axis: &Axis, series: &Series) -> Vec<Vec<(f64, f64)>> {
        let mut segments: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
        for (x, y) in series.x.iter().zip(&series.y) {
            let point = if x.is_nan() || y.is_nan() { None } else { self.x(x_axis, *x).zip(self.y(y_axis, *y)) };
            match (point, segments.last_mut()) {
                (Some(point), Some(segment)) => segment.push(point),
                _ => segments.push(Vec::new()),
            }
        }
        segments.retain(|s| !s.is_empty());
        segments
    }

    fn lines(&mut self, mark: Mark, x: &Axis, y: &Axis, series: &[Series]) {
        for s in series {
            let key = self.key(&s.name, true);
            for mut points in self.segments(x, y, s) {
                if self.is_ordered {
                    points.sort_by(|a, b| a.0.total_cmp(&b.0));
                }
                self.push_line(mark, points, &key);
            }
        }
    }

    fn push_line(&mut self, mark: Mark, points: Vec<(f64, f64)>, key: &Key) {
        let series = key.name.clone();
        self.shapes.push(if points.len() == 1 {
            Shape::Points { series, points, color: key.color }
        } else {
            Shape::Line { series, mark, points, color: key.color, dashes: key.dashes }
        });
    }

    fn bars(&mut self, x: &Axis, y: &Axis, series: &[Series]) {
        self.from_zero = true;
        self.tight = false;
        let base = if self.y.log { f64::NEG_INFINITY } else { 0.0 };
        let stacked = self.stacked;
        let count = if stacked { 1 } else { series.len().max(1) };
        let width = self.slot * BAR;
        let mut sums: HashMap<u64, (f64, f64)> = HashMap::new();
        for (i, s) in series.iter().enumerate() {
            let color = self.key(&s.name, false).color;
            for (px, py) in s.x.iter().zip(&s.y) {
                let (Some(center), Some(top)) = (self.x(x, *px), self.y(y, *py)) else { continue };
                let (left, right, bottom, top) = if stacked {
                    let sum = sums.entry((center + 0.0).to_bits()).or_default();
                    let side = if *py < 0.0 { &mut sum.1 } else { &mut sum.0 };
                    let before = *side;
                    *side += py;
                    let at = |v: f64| self.y.position(v).unwrap_or(base);
                    (center - width / 2.0, center + width / 2.0, at(before), at(*side))
                } else {
                    let left = center - width / 2.0 + width * i as f64 / count as f64;
                    (left, left + width / count as f64, base, top)
                };
                self.shapes.push(Shape::Bar {
                    series: s.name.clone(),
                    at: Some(center),
                    x: (left, right),
                    y: (bottom, top),
                    color,
                    opacity: self.opacity.unwrap_or(1.0),
                });
            }
        }
    }

    /// The slot of each x position of bars: the smallest distance between two of them.
    fn slot<'a>(&self, layers: impl Iterator<Item = &'a Layer>) -> f64 {
        if self.x.kind == AxisScale::Category {
            return 1.0;
        }
        let mut closest = f64::INFINITY;
        for layer in layers {
            let Layer::Xy { x, series, .. } = layer else { continue };
            if layer.mark().info().shape != SeriesShape::Bars {
                continue;
            }
            let place = |v: &f64| self.x.position(Self::place(&self.x, x, *v));
            let mut positions: Vec<f64> = series.iter().flat_map(|s| s.x.iter().filter_map(place)).collect();
            positions.sort_by(f64::total_cmp);
            let here = positions.windows(2).map(|p| p[1] - p[0]).filter(|d| *d > 0.0);
            closest = here.fold(closest, f64::min);
        }
        match closest {
            d if d.is_finite() => d,
            _ if self.x.kind == AxisScale::Time => DAY,
            _ => 1.0,
        }
    }

    fn histogram(&mut self, series: &[onrush_wire::plot::Bins]) {
        self.from_zero = true;
        let base = if self.y.log { f64::NEG_INFINITY } else { 0.0 };
        let overlaid = series.len() > 1 && !self.stacked;
        let mut sums: HashMap<usize, f64> = HashMap::new();
        for bins in series {
            let color = self.key(&bins.name, false).color;
            for (i, (edges, count)) in bins.edges.windows(2).zip(&bins.counts).enumerate() {
                let (Some(left), Some(right)) = (self.x.position(edges[0]), self.x.position(edges[1])) else {
                    self.not_positive += count;
                    continue;
                };
                let before = if self.stacked { *sums.get(&i).unwrap_or(&0.0) } else { 0.0 };
                let top = before + *count as f64;
                sums.insert(i, top);
                if *count == 0 {
                    continue;
                }
                let at = |v: f64| self.y.position(v).unwrap_or(base);
                let y = (if before > 0.0 { at(before) } else { base }, at(top));
                let opacity = self.opacity.unwrap_or(if overlaid { 0.5 } else { 1.0 });
                let series = bins.name.clone();
                self.shapes.push(Shape::Bar { series, at: None, x: (left, right), y, color, opacity });
            }
        }
    }

    fn boxes(&mut self, x: &Axis, boxes: &[BoxStats]) {
        self.tight = false;
        let color = self.key("", false).color;
        for (i, b) in boxes.iter().enumerate() {
            let center = match self.x.categories.iter().position(|c| *c == b.category) {
                Some(i) => i as f64,
                None => Self::place(&self.x, x, i as f64),
            };
            let stats = [b.low, b.q1, b.median, b.q3, b.high].map(|v| self.y.position(v));
            if let [Some(low), Some(q1), Some(median), Some(q3), Some(high)] = stats {
                let outliers = b.outliers.iter().filter_map(|v| self.y.position(*v)).collect();
                self.shapes.push(Shape::Box {
                    x: center,
                    is_lying: false,
                    stats: [low, q1, median, q3, high],
                    outliers,
                    color,
                });
            } else if b.count > 0 {
                self.not_positive += 1;
            }
        }
    }

    fn heat_map(&mut self, x: &Axis, y: &Axis, values: &[Vec<Option<f64>>]) {
        let Some((low, high, _)) = self.color_range.clone() else { return };
        for (row, cells) in values.iter().enumerate() {
            for (column, value) in cells.iter().enumerate() {
                if let Some(value) = value.filter(|v| v.is_finite()) {
                    let color = color_at(self.color_map, value, low, high);
                    let column = Self::place(&self.x, x, column as f64) as usize;
                    let row = Self::place(&self.y, y, row as f64) as usize;
                    self.shapes.push(Shape::Cell { column, row, value, color });
                }
            }
        }
    }

    fn raster(&mut self, raster: &Raster) {
        self.is_filled = true;
        let Some(levels) = self.levels.clone() else { return };
        let colors: Vec<RGBColor> = match &raster.pixels {
            Pixels::Categories { names, .. } => names.iter().map(|name| self.key(name, false).color).collect(),
            _ => Vec::new(),
        };
        let window = raster.window;
        if let Some(png) = shade::shade(raster, &levels, self.color_map, &colors) {
            self.shapes.push(Shape::Image { png, x: (window.x0, window.x1), y: (window.y0, window.y1) });
        }
    }

    fn finish(mut self, plot: &Plot, part: &Facet) -> Data {
        let mut notes = Vec::new();
        if !self.size_label.is_empty() {
            notes.push(format!("area of points: {}", self.size_label));
        }
        for (format, scale) in [(&plot.style.x_format, &self.x), (&plot.style.y_format, &self.y)] {
            if let Some(format) = format.as_ref().filter(|f| !format::is_valid(f, scale.kind)) {
                notes.push(format!("the format {format:?} is not one for this axis"));
            }
        }
        for (scale, is_x) in [(&mut self.x, true), (&mut self.y, false)] {
            let shown = scale.categories.len();
            if scale.kind == AxisScale::Category && scale.all_categories > shown {
                notes.push(format!(
                    "the first {shown} of {} categories are shown",
                    thousands(scale.all_categories as u64)
                ));
                self.shapes.retain_mut(|s| s.keep_below(is_x, shown as f64 - 0.5));
            }
        }
        if self.not_finite > 0 {
            notes.push(format!("{} NaN or infinite left out", thousands(self.not_finite)));
        }
        if self.not_positive > 0 {
            notes.push(format!("{} not positive, left out of the logarithmic axis", thousands(self.not_positive)));
        }
        notes.append(&mut self.missing);
        let histogram = all_histograms(&part.layers);
        let x_range = range(self.shapes.iter().flat_map(|s| s.extent(true)));
        let y_range = range(self.shapes.iter().flat_map(|s| s.extent(false)));
        set_range(&mut self.x, x_range, if self.tight { (0.0, 0.0) } else { (0.03, 0.03) });
        match y_range {
            Some((low, high)) if self.from_zero && !self.y.log => {
                let (low, high) = (low.min(0.0), high.max(0.0));
                // An empty side needs no room.
                set_range(
                    &mut self.y,
                    Some((low, high)),
                    (if low < 0.0 { 0.05 } else { 0.0 }, if high > 0.0 { 0.05 } else { 0.0 }),
                );
            }
            Some((low, high)) if self.from_zero => {
                set_range(&mut self.y, Some(((low - 0.05).floor(), high)), (0.0, 0.05))
            }
            other => set_range(&mut self.y, other, if self.is_filled { (0.0, 0.0) } else { (0.05, 0.05) }),
        }
        let mut is_cut = false;
        notes.extend(self.placer.note());
        if let Some(projection) = plot.style.map {
            is_cut = map::limit(projection, &plot.style, (&mut self.x, &mut self.y), &mut notes);
        }
        let limited = if plot.style.map.is_some() { (None, None) } else { (plot.style.x_limits, plot.style.y_limits) };
        for (limits, scale) in [(limited.0, &mut self.x), (limited.1, &mut self.y)] {
            let Some(limits) = limits.filter(|_| scale.kind != AxisScale::Category) else { continue };
            match (scale.position(limits.0), scale.position(limits.1)) {
                (Some(low), Some(high)) if low < high => {
                    (scale.low, scale.high) = (low, high);
                    is_cut = true;
                }
                _ => notes.push(format!("an axis cannot go from {} to {}", limits.0, limits.1)),
            }
        }
        Data {
            is_cut,
            x: self.x,
            y: self.y,
            shapes: self.shapes,
            levels: self.levels.filter(|_| self.keys.is_empty()),
            keys: self.keys,
            notes,
            histogram,
            from_zero: self.from_zero,
            color_range: self.color_range,
            color_map: self.color_map,
            size_label: self.size_label,
            opacity: self.opacity,
            is_spread: self.is_spread,
            is_scaled: false,
            labels: if plot.style.map.is_some() { Default::default() } else { labels(plot, part) },
            map: plot.style.map,
        }
    }
}

/// Sets the drawn range of an axis: with a margin at both ends, or a small range around a single value.
fn set_range(scale: &mut Scale, range: Option<(f64, f64)>, (before, after): (f64, f64)) {
    if scale.kind == AxisScale::Category {
        scale.low = -0.5;
        scale.high = scale.categories.len().max(1) as f64 - 0.5;
        return;
    }
    let Some((low, high)) = range else { return };
    let span = high - low;
    if span > 0.0 && span.is_finite() {
        scale.low = low - span * before;
        scale.high = high + span * after;
    } else {
        let around = match scale.kind {
            AxisScale::Time => DAY / 2.0,
            _ if scale.log => 0.5,
            // Next to a large value, 0.5 would not be a different number.
            _ => (low.abs() * 0.1).max(0.5),
        };
        scale.low = low - around;
        scale.high = low + around;
    }
}

/// Smallest and largest finite value.
fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|v| v.is_finite()).fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((low, high)) => Some((v.min(low), v.max(high))),
    })
}

/// The colour of a number on a scale; grey if it is NaN.
pub fn color_at(map: ColorMap, value: f64, low: f64, high: f64) -> RGBColor {
    if !value.is_finite() {
        return RGBColor(0x99, 0x99, 0x99);
    }
    scale_color(map, if high > low { (value - low) / (high - low) } else { 0.5 })
}
