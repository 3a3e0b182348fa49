//! Draws the data's shapes into a chart's frame.

use onrush_wire::plot::Mark;
use onrush_wire::plot::marks::StepPosition;
use plotters::prelude::{Circle, Color, PathElement, Polygon, Rectangle};
use plotters::style::{RGBColor, ShapeStyle};
use plotters_backend::DrawingBackend;

use super::canvas::{Anchor, TextLook, UNIT};
use super::chart::{Area, Chart, DrawError, pixel};
use super::data::{Data, color_at};
use super::map;
use super::scale::number_label;
use super::shapes::{Point, Shape};
use super::theme::text_width;

/// Translucent points are drawn in this many batches: a batch forms one path, whose overlaps do not add up.
const TURNS: usize = 8;
/// Maximum number of heat map cells with their value as text.
const CELL_LABELS: usize = 200;

/// Radius and opacity of points: the more, the smaller.
pub fn point_look(count: usize) -> (f64, f64) {
    match count {
        0..=300 => (3.2, 0.85),
        301..=1500 => (2.6, 0.6),
        _ => (2.0, 0.4),
    }
}

/// Whether text on the colour is dark.
pub fn is_bright(color: RGBColor) -> bool {
    0.3 * f64::from(color.0) + 0.59 * f64::from(color.1) + 0.11 * f64::from(color.2) > 135.0
}

/// The labels of the cells of a heat map, if all of them fit into cells of this size.
pub fn cell_labels(data: &Data, width: f64, height: f64) -> Option<Vec<String>> {
    let cells = || {
        data.shapes.iter().filter_map(|s| match s {
            Shape::Cell { value, .. } => Some(*value),
            _ => None,
        })
    };
    let count = cells().count();
    if count == 0 || count > CELL_LABELS || height < 15.0 {
        return None;
    }
    let (low, high) = data.color_range.as_ref().map_or((0.0, 1.0), |c| (c.0, c.1));
    let step = if cells().all(|v| v.fract() == 0.0) { 1.0 } else { ((high - low) / 50.0).max(f64::MIN_POSITIVE) };
    let power = 10f64.powf(step.log10().floor());
    let labels: Vec<String> = cells().map(|v| number_label(v, power, low.abs().max(high.abs()))).collect();
    labels.iter().all(|label| width >= text_width(label, 10.0) + 4.0).then_some(labels)
}

/// Opacity of a shaded span.
pub const SPAN: f64 = 0.18;

pub fn draw(area: &Area, chart: &Chart, data: &Data, is_lying: bool) -> Result<(), DrawError> {
    let floor = |y: f64| if y == f64::NEG_INFINITY { data.y.low } else { y };
    let from_left = |x: f64| if x == f64::NEG_INFINITY { data.x.low } else { x };
    let floored = |points: &[(f64, f64)]| points.iter().map(|p| (p.0, floor(p.1))).collect::<Vec<_>>();
    let [left, top, right, bottom] = chart.frame;
    let point_count: usize = data
        .shapes
        .iter()
        .map(|s| match s {
            Shape::Points { points, .. } => points.len(),
            Shape::ColoredPoints { points, .. } => points.len(),
            _ => 0,
        })
        .sum();
    let (radius, opacity) = point_look(point_count);
    let opacity = data.opacity.unwrap_or(opacity);
    let radius = (radius * UNIT) as u32;
    let width = (right - left) / (data.x.high - data.x.low);
    let mut labels = cell_labels(data, width, (bottom - top) / (data.y.high - data.y.low)).map(Vec::into_iter);
    match data.is_cut {
        true => chart.canvas.borrow_mut().open_clipped("marks", chart.frame),
        false => chart.canvas.borrow_mut().open("marks"),
    }
    for shape in &data.shapes {
        match shape {
            Shape::Bar { x, y, color, opacity, .. } => {
                let [mut x, mut y] = [(from_left(x.0), from_left(x.1)), (floor(y.0), floor(y.1))];
                // A gap of half a pixel at each side separates neighbours, if bars are wide enough.
                let (side, pixels) = if is_lying {
                    let pixels = pixel(area, (x.0, y.0)).1 - pixel(area, (x.0, y.1)).1;
                    (&mut y, pixels)
                } else {
                    let pixels = pixel(area, (x.1, y.0)).0 - pixel(area, (x.0, y.0)).0;
                    (&mut x, pixels)
                };
                let gap = if pixels > 4.0 { 0.5 * (side.1 - side.0) / pixels } else { 0.0 };
                *side = (side.0 + gap, side.1 - gap);
                let corners = [(x.0, y.0), (x.1, y.1)];
                area.draw(&Rectangle::new(corners, color.mix(*opacity).filled()))?;
            }
            Shape::Line { mark, points, color, dashes, .. } => {
                chart.canvas.borrow_mut().dash(*dashes);
                let width = if points.len() > 500 { 1.3 } else { 2.0 };
                area.draw(&PathElement::new(connected(points, *mark), color.stroke_width((width * UNIT) as u32)))?;
                chart.canvas.borrow_mut().dash(None);
            }
            Shape::Area { upper, lower, color, opacity, .. } => {
                let mut outline = floored(upper);
                outline.extend(floored(lower).into_iter().rev());
                area.draw(&Polygon::new(outline, color.mix(*opacity)))?;
            }
            Shape::Points { points, color, .. } => {
                let style = color.mix(opacity).filled();
                for turn in 0..TURNS {
                    for point in points.iter().skip(turn).step_by(TURNS) {
                        area.draw(&Circle::new(*point, radius, style))?;
                    }
                    let _ = chart.canvas.borrow_mut().present();
                }
            }
            Shape::ColoredPoints { points, color, .. } => {
                // Colours are quantised, so that points of one colour form a path; 64 look like a continuous scale.
                let (low, high) = data.color_range.as_ref().map_or((0.0, 1.0), |c| (c.0, c.1));
                let few = |value: f64| {
                    let RGBColor(r, g, b) = color.unwrap_or_else(|| color_at(data.color_map, value, low, high));
                    RGBColor(r & 0xfc, g & 0xfc, b & 0xfc)
                };
                let mut sorted: Vec<(RGBColor, Point)> = points.iter().map(|p| (few(p.value), *p)).collect();
                // Large points are drawn below small ones.
                if points.iter().all(|p| p.radius.is_none()) {
                    sorted.sort_by_key(|(c, _)| (c.0, c.1, c.2));
                }
                for (color, point) in sorted {
                    let own = point.radius.map_or(radius, |r| (r * UNIT) as u32);
                    let opacity = if point.radius.is_some() { 0.55 } else { opacity.max(0.6) };
                    area.draw(&Circle::new((point.x, point.y), own, color.mix(opacity).filled()))?;
                }
            }
            Shape::Rule { at, is_vertical, label } => {
                let line = if *is_vertical {
                    vec![(*at, data.y.low), (*at, data.y.high)]
                } else {
                    vec![(data.x.low, *at), (data.x.high, *at)]
                };
                chart.canvas.borrow_mut().dash(Some("5 3"));
                area.draw(&PathElement::new(line, chart.text.stroke_width((1.4 * UNIT) as u32)))?;
                chart.canvas.borrow_mut().dash(None);
                let (x, y) = if *is_vertical {
                    (pixel(area, (*at, data.y.high)).0 - 4.0, top + 10.0)
                } else {
                    (right - 4.0, pixel(area, (data.x.low, *at)).1 - 4.0)
                };
                let look = TextLook { size: 10.5, color: chart.text, anchor: Anchor::End, angle: 0.0, bold: false };
                chart.canvas.borrow_mut().text(label, x, y, look);
            }
            Shape::Box { x, is_lying, stats, outliers, color } => {
                draw_box(area, (*x, *is_lying), *stats, outliers, *color)?
            }
            Shape::Image { png, x, y } => {
                let ((left, top), (right, bottom)) = (pixel(area, (x.0, y.1)), pixel(area, (x.1, y.0)));
                chart.canvas.borrow_mut().image(png, (left, top), (right - left, bottom - top));
            }
            Shape::Interval { at, ends, color, width, cap, .. } => {
                draw_interval(area, (*at, is_lying), *ends, color.stroke_width((width * UNIT) as u32), *cap)?;
            }
            Shape::Candle { at, half, prices: [open, high, low, close], color, .. } => {
                let line = color.stroke_width((1.2 * UNIT) as u32);
                area.draw(&PathElement::new(vec![(*at, *low), (*at, *high)], line))?;
                let corners = [(at - half, open.min(*close)), (at + half, open.max(*close))];
                area.draw(&Rectangle::new(corners, color.filled()))?;
                // A body without height is a line.
                area.draw(&PathElement::new(vec![(at - half, *close), (at + half, *close)], line))?;
            }
            Shape::Hexagons { size, points } => {
                let corners = [(0.0, -2.0), (1.0, -1.0), (1.0, 1.0), (0.0, 2.0), (-1.0, 1.0), (-1.0, -1.0)];
                for (point, color) in points {
                    let corner = |(x, y): (f64, f64)| (point.x + x * size.0 / 2.0, point.y + y * size.1 / 6.0);
                    area.draw(&Polygon::new(corners.map(corner).to_vec(), color.mix(1.0)))?;
                }
            }
            Shape::Span { ends, is_vertical, label } => {
                let (from, to) = match is_vertical {
                    true => ((ends.0, data.y.low), (ends.1, data.y.high)),
                    false => ((data.x.low, ends.0), (data.x.high, ends.1)),
                };
                area.draw(&Rectangle::new([from, to], chart.text.mix(SPAN).filled()))?;
                let (x, y) = pixel(area, (from.0, to.1));
                let look = TextLook { size: 10.5, color: chart.text, anchor: Anchor::Start, angle: 0.0, bold: false };
                chart.canvas.borrow_mut().text(label, x + 4.0, y + 12.0, look);
            }
            Shape::Text { x, y, text } => {
                let is_left = shape.is_left_of(*x, (data.x.low, data.x.high));
                let (anchor, moved) = if is_left { (Anchor::End, -6.0) } else { (Anchor::Start, 6.0) };
                let look = TextLook { size: 11.0, color: chart.text, anchor, angle: 0.0, bold: false };
                let (x, y) = pixel(area, (*x, *y));
                chart.canvas.borrow_mut().text(text, x + moved, y + 4.0, look);
            }
            Shape::Regions { set, fills, .. } => map::draw_regions(area, chart, data, (*set, fills)),
            Shape::Cell { column, row, color, .. } => {
                let (c, r) = (*column as f64, *row as f64);
                area.draw(&Rectangle::new([(c - 0.5, r - 0.5), (c + 0.5, r + 0.5)], color.filled()))?;
                if let Some(label) = labels.as_mut().and_then(Iterator::next) {
                    let (px, py) = pixel(area, (c, r));
                    let text = if is_bright(*color) { RGBColor(0, 0, 0) } else { RGBColor(255, 255, 255) };
                    let look = TextLook { size: 10.0, color: text, anchor: Anchor::Middle, angle: 0.0, bold: false };
                    chart.canvas.borrow_mut().text(&label, px, py + 3.5, look);
                }
            }
        }
    }
    chart.canvas.borrow_mut().close();
    Ok(())
}

/// The path through the points of a line. A step line has corners between its points.
fn connected(points: &[(f64, f64)], mark: Mark) -> Vec<(f64, f64)> {
    let Mark::Step(position) = mark else { return points.to_vec() };
    let corners = points.windows(2).flat_map(|pair| {
        let (from, to) = (pair[0], pair[1]);
        let x = match position {
            StepPosition::Pre => from.0,
            StepPosition::Post => to.0,
            StepPosition::Mid => from.0.midpoint(to.0),
        };
        [(x, from.1), (x, to.1), to]
    });
    let mut path: Vec<(f64, f64)> = points.first().copied().into_iter().chain(corners).collect();
    path.dedup();
    path
}

/// A line between two values, with caps of a length in pixels.
fn draw_interval(
    area: &Area,
    (at, is_lying): (f64, bool),
    (low, high): (f64, f64),
    line: ShapeStyle,
    cap: f64,
) -> Result<(), DrawError> {
    let place = |across: f64, value: f64| if is_lying { (value, across) } else { (across, value) };
    area.draw(&PathElement::new(vec![place(at, low), place(at, high)], line))?;
    if cap > 0.0 {
        let (one, other) = (pixel(area, place(at, low)), pixel(area, place(at + 1.0, low)));
        let unit = if is_lying { (other.1 - one.1).abs() } else { (other.0 - one.0).abs() };
        let half = cap / 2.0 / unit.max(f64::MIN_POSITIVE);
        for end in [low, high] {
            area.draw(&PathElement::new(vec![place(at - half, end), place(at + half, end)], line))?;
        }
    }
    Ok(())
}

fn draw_box(
    area: &Area,
    (x, is_lying): (f64, bool),
    [low, q1, median, q3, high]: [f64; 5],
    outliers: &[f64],
    color: RGBColor,
) -> Result<(), DrawError> {
    let half = 0.28;
    let at = |x: f64, y: f64| if is_lying { (y, x) } else { (x, y) };
    let line = color.stroke_width((1.5 * UNIT) as u32);
    for path in [
        vec![at(x, low), at(x, q1)],
        vec![at(x, q3), at(x, high)],
        vec![at(x - half / 2.0, low), at(x + half / 2.0, low)],
        vec![at(x - half / 2.0, high), at(x + half / 2.0, high)],
    ] {
        area.draw(&PathElement::new(path, line))?;
    }
    area.draw(&Rectangle::new([at(x - half, q1), at(x + half, q3)], color.mix(0.35).filled()))?;
    area.draw(&Rectangle::new([at(x - half, q1), at(x + half, q3)], line))?;
    area.draw(&PathElement::new(
        vec![at(x - half, median), at(x + half, median)],
        color.stroke_width((2.5 * UNIT) as u32),
    ))?;
    for outlier in outliers {
        area.draw(&Circle::new(at(x, *outlier), (1.8 * UNIT) as u32, color.mix(0.5).filled()))?;
    }
    Ok(())
}
