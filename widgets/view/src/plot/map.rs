//! Maps: the base map under the data, the regions of a choropleth, and frames with equal scales along x and y.
//! Projections and shapes are those of `onrush_map`.

use std::rc::Rc;

use onrush_map::{Lens, Point, Projector, degrees_window, find};
use onrush_wire::format_integer::thousands;
use onrush_wire::map::{Choropleth, Projection, RegionValue, ShapeSet};
use onrush_wire::plot::{Axis, AxisScale, ColorMap, Layer, PlotStyle, Theme};
use onrush_wire::visual::Window;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{Cartesian2d, DrawingArea};
use plotters::style::RGBColor;

use super::canvas::{Anchor, Canvas, TextLook};
use super::chart::{Area, Chart, DrawError, pixel, units};
use super::data::{Data, color_at};
use super::marks;
use super::scale::{Scale, number_label};
use super::shapes::Shape;

/// A choropleth has no axes.
pub static NO_AXIS: Axis = Axis { label: String::new(), scale: AxisScale::Number, categories: Vec::new() };

/// Widest window, in radians, that shows the borders of US states.
const STATES: f64 = 1.5;
/// Latitudes of a map of countries: without Antarctica, where nobody lives.
const INHABITED: (f64, f64) = (-58.0, 84.0);
/// Regions in the text of a choropleth.
const LISTED: usize = 5;
const SMALL: f64 = 9.0;

/// Puts longitudes and latitudes on the map, if there is one.
#[derive(Clone)]
pub struct Placer {
    projector: Option<Rc<Projector>>,
    projection: Projection,
    outside: u64,
}

impl Placer {
    pub fn new(projection: Option<Projection>) -> Placer {
        let projector = projection.map(|projection| Rc::new(Projector::new(projection)));
        Placer { projector, projection: projection.unwrap_or_default(), outside: 0 }
    }

    /// The position of a point. `None` outside of the map.
    pub fn place(&mut self, at: Point) -> Option<Point> {
        let Some(projector) = &self.projector else { return Some(at) };
        let place = projector.forward(at);
        self.outside += u64::from(place.is_none());
        place
    }

    pub fn note(&self) -> Option<String> {
        let s = if self.outside == 1 { "" } else { "s" };
        (self.outside > 0).then(|| format!("{} point{s} with no position on the map left out", thousands(self.outside)))
    }
}

/// The regions of a choropleth with their colours.
pub fn regions(choropleth: &Choropleth, placer: &Placer, (map, (low, high)): (ColorMap, (f64, f64))) -> Shape {
    let is_whole = choropleth.regions.iter().all(|region| region.value.fract() == 0.0);
    let power = if is_whole { 1.0 } else { step_of((high - low) / 100.0) };
    let fills = choropleth.regions.iter().filter_map(|region| {
        let known = [&region.code, &region.name].into_iter().find_map(|name| find(choropleth.shapes, name))?;
        let label = number_label(region.value, power, low.abs().max(high.abs()));
        Some((known, color_at(map, region.value, low, high), format!("{}: {label}", region.name)))
    });
    let window = window(placer.projection, choropleth.shapes);
    Shape::Regions {
        set: choropleth.shapes,
        fills: fills.collect(),
        x: (window.x0, window.x1),
        y: (window.y0, window.y1),
    }
}

/// The window of a map of all regions.
fn window(projection: Projection, set: ShapeSet) -> Window {
    let whole = Projector::new(projection).bounds();
    let (lon, lat) = match (set, projection) {
        (_, Projection::AlbersUsa) => return whole,
        (ShapeSet::Countries, _) => ((-180.0, 180.0), INHABITED),
        // From the Aleutians to Maine, and from Hawaii to Alaska.
        (ShapeSet::States, _) => ((-179.0, -65.0), (17.0, 72.0)),
    };
    degrees_window(projection, Some(lon), Some(lat)).unwrap_or(whole)
}

/// The user's limits in degrees become those of the scales; true if there are any.
pub fn limit(
    projection: Projection,
    style: &PlotStyle,
    (x, y): (&mut Scale, &mut Scale),
    notes: &mut Vec<String>,
) -> bool {
    if style.x_limits.is_none() && style.y_limits.is_none() {
        return false;
    }
    let Some(window) = degrees_window(projection, style.x_limits, style.y_limits) else {
        notes.push("the map shows nothing between the limits".to_string());
        return false;
    };
    if style.x_limits.is_some() {
        (x.low, x.high) = (window.x0, window.x1);
    }
    if style.y_limits.is_some() {
        (y.low, y.high) = (window.y0, window.y1);
    }
    true
}

/// A frame and the positions that it shows, with square units. A raster fills its frame, which gets smaller; other maps
/// show more.
fn fit([left, top, right, bottom]: [f64; 4], data: &Data, projection: Projection) -> ([f64; 4], Window) {
    let mut window = Window { x0: data.x.low, y0: data.y.low, x1: data.x.high, y1: data.y.high };
    let (width, height) = (right - left, bottom - top);
    let is_raster = data.shapes.iter().any(|shape| matches!(shape, Shape::Image { .. }));
    if !is_raster {
        let projector = Projector::new(projection);
        let whole = projector.bounds();
        // The user's limits are kept.
        if !data.is_cut {
            window = projector.shown(window);
        }
        // A few points close to each other still show where they are.
        const LEAST: f64 = 0.02;
        let unit = ((window.x1 - window.x0) / width).max((window.y1 - window.y0) / height).max(LEAST / width);
        (window.x0, window.x1) = widened((window.x0, window.x1), unit * width, (whole.x0, whole.x1));
        (window.y0, window.y1) = widened((window.y0, window.y1), unit * height, (whole.y0, whole.y1));
    }
    let unit = ((window.x1 - window.x0) / width).max((window.y1 - window.y0) / height);
    let (inner, outer) = ((window.x1 - window.x0) / unit, (window.y1 - window.y0) / unit);
    let (x, y) = (left + (width - inner) / 2.0, top + (height - outer) / 2.0);
    ([x, y, x + inner, y + outer], window)
}

/// A range of a length, or less where the map ends.
fn widened((low, high): (f64, f64), length: f64, (first, last): (f64, f64)) -> (f64, f64) {
    let length = length.min((last - first).max(high - low));
    let middle = (low + high) / 2.0;
    let start = (middle - length / 2.0).clamp(first.min(low), (last.max(high) - length).max(first.min(low)));
    (start, start + length)
}

struct MapColors {
    land: (RGBColor, f64),
    border: (RGBColor, f64),
    edge: (RGBColor, f64),
    /// Between the regions of a choropleth.
    between: (RGBColor, f64),
    text: RGBColor,
}

fn map_colors(theme: Theme) -> MapColors {
    const GREY: RGBColor = RGBColor(0x80, 0x80, 0x80);
    match theme {
        Theme::Auto => MapColors {
            land: (GREY, 0.2),
            border: (GREY, 0.6),
            edge: (GREY, 0.45),
            between: (RGBColor(0xff, 0xff, 0xff), 0.7),
            text: GREY,
        },
        Theme::Light => MapColors {
            land: (RGBColor(0xec, 0xec, 0xea), 1.0),
            border: (RGBColor(0xb4, 0xb4, 0xb0), 1.0),
            edge: (RGBColor(0xc8, 0xc8, 0xc4), 1.0),
            between: (RGBColor(0xff, 0xff, 0xff), 0.8),
            text: RGBColor(0x66, 0x66, 0x66),
        },
        Theme::Dark => MapColors {
            land: (RGBColor(0x2b, 0x2e, 0x33), 1.0),
            border: (RGBColor(0x55, 0x5a, 0x62), 1.0),
            edge: (RGBColor(0x44, 0x48, 0x4f), 1.0),
            between: (RGBColor(0x17, 0x19, 0x1c), 0.8),
            text: RGBColor(0xa8, 0xa8, 0xa8),
        },
    }
}

/// A panel with a map in place of axes and grid.
pub fn draw_panel(
    root: &DrawingArea<Canvas, Shift>,
    chart: &Chart,
    data: &Data,
    projection: Projection,
) -> Result<(), DrawError> {
    let (frame, window) = fit(chart.frame, data, projection);
    let [left, top, right, bottom] = frame;
    let area: Area = root.clone().apply_coord_spec(Cartesian2d::<RangedCoordf64, RangedCoordf64>::new(
        window.x0..window.x1,
        window.y0..window.y1,
        (units(left)..units(right), units(bottom)..units(top)),
    ));
    let colors = map_colors(chart.theme);
    let unit = (window.x1 - window.x0) / (right - left);
    let is_of_regions = data.shapes.iter().find_map(|shape| match shape {
        Shape::Regions { set, .. } => Some(*set),
        _ => None,
    });
    let is_us = projection == Projection::AlbersUsa;
    let set = is_of_regions.unwrap_or(if is_us { ShapeSet::States } else { ShapeSet::Countries });
    let lens = Lens::new(projection, set, window, unit);
    let seen =
        |paths: Vec<Vec<Point>>| paths.into_iter().map(|path| in_pixels(&path, frame, window)).collect::<Vec<_>>();
    let canvas = &chart.canvas;
    canvas.borrow_mut().open_clipped("base-map", frame);
    canvas.borrow_mut().rings(&seen(lens.outline()), colors.land.0, colors.land.1, None);
    if is_of_regions.is_none() {
        canvas.borrow_mut().paths(&seen(lens.borders()), colors.border.0, colors.border.1, 0.7);
    }
    let mut states = Vec::new();
    if is_of_regions.is_none() && !is_us && window.x1 - window.x0 < STATES {
        states = seen(Lens::new(projection, ShapeSet::States, window, unit).borders());
    }
    let has_states = !states.is_empty();
    if has_states {
        canvas.borrow_mut().paths(&states, colors.border.0, colors.border.1 * 0.7, 0.5);
    }
    if let Some(sphere) = lens.sphere() {
        canvas.borrow_mut().paths(&seen(vec![sphere]), colors.edge.0, colors.edge.1, 1.0);
    }
    canvas.borrow_mut().close();

    let inner = Chart { canvas: Rc::clone(canvas), frame, text: chart.text, theme: chart.theme };
    marks::draw(&area, &inner, data, false)?;

    let mut canvas = canvas.borrow_mut();
    canvas.open("axes");
    if projection != Projection::NaturalEarth && !is_us {
        let edge = vec![(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        canvas.paths(&[edge], colors.edge.0, colors.edge.1, 1.0);
    }
    let sources = match (set, has_states) {
        (ShapeSet::States, _) => "US Census Bureau",
        (ShapeSet::Countries, true) => "Natural Earth, US Census Bureau",
        (ShapeSet::Countries, false) => "Natural Earth",
    };
    let look = TextLook { size: SMALL, color: colors.text, anchor: Anchor::End, angle: 0.0, bold: false };
    canvas.text(sources, right, bottom + SMALL + 3.0, look);
    canvas.close();
    Ok(())
}

/// Fills the regions of a choropleth.
pub fn draw_regions(area: &Area, chart: &Chart, data: &Data, (set, fills): (ShapeSet, &[(usize, RGBColor, String)])) {
    let Some(projection) = data.map else { return };
    let (range_x, range_y) = (area.get_x_range(), area.get_y_range());
    let window = Window { x0: range_x.start, y0: range_y.start, x1: range_x.end, y1: range_y.end };
    let (from, to) = (pixel(area, (window.x0, window.y1)), pixel(area, (window.x1, window.y0)));
    let frame = [from.0, from.1, to.0, to.1];
    let lens = Lens::new(projection, set, window, (window.x1 - window.x0) / (to.0 - from.0));
    let seen =
        |paths: Vec<Vec<Point>>| paths.into_iter().map(|path| in_pixels(&path, frame, window)).collect::<Vec<_>>();
    let colors = map_colors(chart.theme);
    let mut canvas = chart.canvas.borrow_mut();
    for (index, color, title) in fills {
        let rings = seen(lens.region(*index));
        if !rings.is_empty() {
            canvas.rings(&rings, *color, 1.0, Some(title));
        }
    }
    canvas.paths(&seen(lens.borders()), colors.between.0, colors.between.1, 0.6);
}

fn in_pixels(path: &[Point], [left, top, right, bottom]: [f64; 4], window: Window) -> Vec<Point> {
    let (across, down) = ((right - left) / (window.x1 - window.x0), (bottom - top) / (window.y1 - window.y0));
    path.iter().map(|(x, y)| (left + (x - window.x0) * across, top + (window.y1 - y) * down)).collect()
}

/// The power of ten below a difference that can be seen in a label.
fn step_of(difference: f64) -> f64 {
    if difference > 0.0 && difference.is_finite() { 10f64.powf(difference.log10().floor()) } else { 1.0 }
}

/// `50 states`.
pub fn counted(choropleth: &Choropleth) -> String {
    let count = choropleth.regions.len();
    let what = match (choropleth.shapes, count) {
        (ShapeSet::Countries, 1) => "country",
        (ShapeSet::Countries, _) => "countries",
        (ShapeSet::States, 1) => "state",
        (ShapeSet::States, _) => "states",
    };
    format!("{count} {what}")
}

/// The regions of a choropleth with the highest and the lowest values, as text.
pub fn ranking(layer: &Layer) -> Vec<String> {
    let Layer::Choropleth(choropleth) = layer else { return Vec::new() };
    let mut regions: Vec<_> = choropleth.regions.iter().collect();
    regions.sort_by(|a, b| b.value.total_cmp(&a.value).then_with(|| a.name.cmp(&b.name)));
    let most = regions.iter().map(|region| region.value.abs()).fold(0.0, f64::max);
    let is_whole = regions.iter().all(|region| region.value.fract() == 0.0);
    let step = if is_whole { 1.0 } else { step_of(most / 100.0) };
    let said = |region: &&RegionValue| format!("{} {}", region.name, number_label(region.value, step, most));
    if regions.len() <= 2 * LISTED {
        return if regions.is_empty() {
            Vec::new()
        } else {
            vec![regions.iter().map(said).collect::<Vec<_>>().join(", ")]
        };
    }
    let highest: Vec<String> = regions.iter().take(LISTED).map(said).collect();
    let lowest: Vec<String> = regions.iter().rev().take(LISTED).map(said).collect();
    vec![format!("highest: {}", highest.join(", ")), format!("lowest: {}", lowest.join(", "))]
}
