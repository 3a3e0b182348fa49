//! The layout of a plot: axes, grid, and the places of title, legend and notes. `marks.rs` draws the data.

mod layout;

use std::cell::RefCell;
use std::rc::Rc;

use onrush_wire::plot::{AxisScale, Plot, Theme};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{Cartesian2d, Color, DrawingArea, PathElement};
use plotters::style::RGBColor;

use super::canvas::{Anchor, Canvas, TextLook, UNIT};
use super::data::{self, Data, Key, Panel};
use super::legend::{ColorScale, LABEL, LINE, TICK, color_bar, draw_legend, draw_title_and_notes};
use super::map;
use super::marks;
use super::scale::{Scale, Tick};
use super::shade::MAP;
use super::theme::{Colors, colors, fit_names, fit_text};
use layout::Layout;

/// Draws in data coordinates.
pub type Area = DrawingArea<Canvas, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
pub type DrawError = plotters::drawing::DrawingAreaErrorKind<std::convert::Infallible>;

const WIDTH: u32 = 640;
const HEIGHT: u32 = 400;
/// Widest category label if it is rotated, and the angle.
const TURNED: f64 = 110.0;
const ANGLE: f64 = 40.0;
/// Between panels.
const GAP: f64 = 16.0;

/// Context of drawing a plot.
pub struct Chart {
    pub canvas: Rc<RefCell<Canvas>>,
    /// The data area in pixels: left, top, right, bottom.
    pub frame: [f64; 4],
    pub text: RGBColor,
    pub theme: Theme,
}

/// Width and height in pixels: those of the user, or as the panels need.
pub fn size(plot: &Plot) -> (u32, u32) {
    let (columns, rows) = grid(plot);
    let (width, height) = match plot.facets.len() {
        0 | 1 => (WIDTH, HEIGHT),
        _ => (WIDTH.max(90 + 200 * columns as u32), 110 + 170 * rows as u32),
    };
    (plot.style.width.unwrap_or(width).clamp(120, 4000), plot.style.height.unwrap_or(height).clamp(90, 8000))
}

/// Panels in rows and columns.
pub fn grid(plot: &Plot) -> (usize, usize) {
    let panels = plot.facets.len().max(1);
    let columns = match (plot.style.facet_columns, panels) {
        (Some(columns), _) => (columns as usize).clamp(1, panels),
        (None, 1..=3) => panels,
        (None, 4) => 2,
        (None, 5..=9) => 3,
        _ => 4,
    };
    (columns, panels.div_ceil(columns))
}

/// The whole picture.
pub fn draw(plot: &Plot, title: &str, label: &str) -> Result<String, DrawError> {
    let (width, height) = size(plot);
    let canvas = Rc::new(RefCell::new(Canvas::new(width, height)));
    let root: DrawingArea<Canvas, Shift> = DrawingArea::from(&canvas);
    let colors = colors(plot.style.theme);
    if let Some(background) = colors.background {
        root.fill(&background)?;
    }
    let (w, h) = (f64::from(width), f64::from(height));
    let is_lying = plot.style.is_horizontal;
    let mut panels = Data::panels(plot);
    // Sides are those of the axes as they are drawn.
    let (mut free_x, mut free_y) = data::free(plot);
    if is_lying {
        panels = panels.into_iter().map(|p| Panel { name: p.name, data: p.data.lying() }).collect();
        std::mem::swap(&mut free_x, &mut free_y);
    }
    let Some(Panel { data, .. }) = panels.first() else { return Ok(canvas.borrow_mut().finish(title, label)) };
    let (top, bottom) = draw_title_and_notes(&canvas, &colors, plot.style.title.as_deref(), &data.notes, (w, h));

    if panels.iter().all(|p| p.data.is_empty()) {
        let look = TextLook { size: 14.0, color: colors.faint, anchor: Anchor::Middle, angle: 0.0, bold: false };
        canvas.borrow_mut().text("no data to draw", w / 2.0, (top + bottom) / 2.0, look);
        return Ok(canvas.borrow_mut().finish(title, label));
    }

    // The right side first: it is independent of the axes.
    let mut right = w - 14.0;
    let legend = legend_entries(plot, data);
    if data.color_range.is_some() {
        let (low, high, label) = data.color_range.as_ref().map_or((0.0, 1.0, ""), |(a, b, l)| (*a, *b, l.as_str()));
        let scale = ColorScale { low, high, label, map: data.color_map, ticks: None, part: (0.0, 1.0) };
        right = color_bar(&root, &canvas, &colors, &scale, (right, top, bottom - 24.0))?;
    } else if let Some(levels) = data.levels.as_ref().filter(|_| plot.style.legend != Some(false)) {
        let label = plot.style.legend_title.as_deref().unwrap_or(&levels.label);
        let (ticks, map) = (Some(levels.ticks()), data.color_map);
        let scale = ColorScale { low: 0.0, high: 1.0, label, map, ticks, part: MAP };
        right = color_bar(&root, &canvas, &colors, &scale, (right, top, bottom - 24.0))?;
    } else if !legend.is_empty() {
        right =
            draw_legend(&root, &canvas, &colors, &legend, plot.style.legend_title.as_deref(), (right, top, bottom))?;
    }

    let layout = Layout::new(plot, &panels, (free_x, free_y), w, (top, right, bottom));
    draw_shared_labels(&canvas, &colors, &layout);
    for (i, panel) in panels.iter().enumerate() {
        draw_panel_labels(&canvas, &colors, &layout, (i, panel));
        let (canvas, theme) = (Rc::clone(&canvas), plot.style.theme);
        let chart = Chart { canvas, frame: layout.frame(i), text: colors.text, theme };
        draw_panel(&root, &chart, &colors, &panel.data, &layout.sides(i))?;
    }
    Ok(canvas.borrow_mut().finish(title, label))
}

/// Draws the labels of axes that all panels have in common.
fn draw_shared_labels(canvas: &RefCell<Canvas>, colors: &Colors, layout: &Layout<'_>) {
    let Layout { left, top, right, bottom, .. } = *layout;
    let look = label_look(colors);
    if !layout.has_own_x && layout.x_label_space > 0.0 {
        let text = fit_text(&layout.x_labels[0], LABEL, right - left + 40.0);
        canvas.borrow_mut().text(&text, (left + right) / 2.0, layout.floor, look);
    }
    if !layout.has_own_y && layout.y_label_width > 0.0 {
        let text = fit_text(&layout.y_labels[0], LABEL, bottom - top + 16.0);
        let look = TextLook { angle: -90.0, ..look };
        canvas.borrow_mut().text(&text, 10.0 + LABEL, (top + bottom) / 2.0, look);
    }
}

/// Draws the name of a panel, and the labels of its axes if the panels have different ones.
fn draw_panel_labels(canvas: &RefCell<Canvas>, colors: &Colors, layout: &Layout<'_>, (i, panel): (usize, &Panel)) {
    let frame = layout.frame(i);
    if layout.is_faceted {
        let look = TextLook { size: TICK, color: colors.text, anchor: Anchor::Middle, angle: 0.0, bold: true };
        let text = fit_text(&panel.name, TICK, layout.panel_width());
        canvas.borrow_mut().text(&text, (frame[0] + frame[2]) / 2.0, frame[1] - 5.0, look);
    }
    let look = label_look(colors);
    if layout.has_own_x && layout.has_x_label(i) {
        let text = fit_text(&layout.x_labels[i], LABEL, layout.panel_width() + layout.gap * 0.8);
        let under = if layout.has_x_ticks(i) { layout.tick_space + 5.0 } else { 0.0 };
        let at = ((frame[0] + frame[2]) / 2.0, frame[3] + under + layout.x_label_space);
        canvas.borrow_mut().text(&text, at.0, at.1, look);
    }
    if layout.has_own_y && layout.has_y_label(i) {
        let text = fit_text(&layout.y_labels[i], LABEL, frame[3] - frame[1] + 20.0);
        let beside = layout.y_label_width + 8.0 + if layout.has_y_ticks(i) { layout.y_tick_width } else { 0.0 };
        let look = TextLook { angle: -90.0, ..look };
        canvas.borrow_mut().text(&text, frame[0] - beside + LABEL, (frame[1] + frame[3]) / 2.0, look);
    }
}

fn label_look(colors: &Colors) -> TextLook {
    TextLook { size: LABEL, color: colors.text, anchor: Anchor::Middle, angle: 0.0, bold: false }
}

/// The labels of a panel's axes, and where its grid lines are.
struct Sides<'a> {
    x: &'a [Tick],
    y: &'a [Tick],
    grid: (&'a [Tick], &'a [Tick]),
    turned: bool,
    y_tick_width: f64,
    is_lying: bool,
}

fn draw_panel(
    root: &DrawingArea<Canvas, Shift>,
    chart: &Chart,
    colors: &Colors,
    data: &Data,
    sides: &Sides,
) -> Result<(), DrawError> {
    if let Some(projection) = data.map {
        return map::draw_panel(root, chart, data, projection);
    }
    let canvas = &chart.canvas;
    let [left, top, right, bottom] = chart.frame;
    let area = root.clone().apply_coord_spec(Cartesian2d::<RangedCoordf64, RangedCoordf64>::new(
        data.x.low..data.x.high,
        data.y.low..data.y.high,
        (units(left)..units(right), units(bottom)..units(top)),
    ));

    let grid = colors.grid.mix(colors.grid_opacity).stroke_width(UNIT as u32);
    canvas.borrow_mut().open("grid");
    // The axis of the bins has no grid lines.
    let (bins_x, bins_y) = (data.histogram && !sides.is_lying, data.histogram && sides.is_lying);
    if data.y.kind != AxisScale::Category && !bins_y {
        for tick in sides.grid.1 {
            area.draw(&PathElement::new(vec![(data.x.low, tick.at), (data.x.high, tick.at)], grid))?;
        }
    }
    if data.x.kind != AxisScale::Category && !bins_x {
        for tick in sides.grid.0 {
            area.draw(&PathElement::new(vec![(tick.at, data.y.low), (tick.at, data.y.high)], grid))?;
        }
    }
    canvas.borrow_mut().close();

    marks::draw(&area, chart, data, sides.is_lying)?;

    let line = colors.faint.stroke_width(UNIT as u32);
    canvas.borrow_mut().open("axes");
    // Zero is the line that negative bars hang from.
    let (across, along) = if sides.is_lying { (&data.x, &data.y) } else { (&data.y, &data.x) };
    let crosses = across.kind == AxisScale::Number && !across.log && across.low < 0.0 && across.high > 0.0;
    let base = if crosses { 0.0 } else { across.low };
    let ends = [(along.low, base), (along.high, base)];
    let ends = if sides.is_lying { ends.map(|(x, y)| (y, x)) } else { ends };
    area.draw(&PathElement::new(ends.to_vec(), line))?;
    let tick_look = TextLook { size: TICK, color: colors.text, anchor: Anchor::End, angle: 0.0, bold: false };
    let every = thin(&data.y, sides.y.len(), bottom - top);
    let labels = |ticks: &[Tick], room: f64| fit_names(ticks.iter().map(|tick| tick.label.as_str()), TICK, room);
    for (tick, label) in sides.y.iter().zip(labels(sides.y, sides.y_tick_width + 1.0)).step_by(every) {
        let y = pixel(&area, (data.x.low, tick.at)).1;
        canvas.borrow_mut().text(&label, left - 6.0, y + TICK * 0.36, tick_look);
    }
    for (tick, label) in sides.x.iter().zip(labels(sides.x, TURNED)) {
        let x = pixel(&area, (tick.at, data.y.low)).0;
        let mut canvas = canvas.borrow_mut();
        if sides.turned {
            canvas.text(&label, x + 3.0, bottom + TICK + 2.0, TextLook { angle: -ANGLE, ..tick_look });
        } else {
            canvas.text(&tick.label, x, bottom + TICK + 4.0, TextLook { anchor: Anchor::Middle, ..tick_look });
        }
    }
    canvas.borrow_mut().close();
    Ok(())
}

/// Pixels of a data coordinate.
pub fn pixel(area: &Area, at: (f64, f64)) -> (f64, f64) {
    let (x, y) = area.map_coordinate(&at);
    (f64::from(x) / UNIT, f64::from(y) / UNIT)
}

pub fn units(pixels: f64) -> i32 {
    (pixels * UNIT).round() as i32
}

/// Every n-th category gets a label, if labels would overlap.
fn thin(scale: &Scale, count: usize, height: f64) -> usize {
    if scale.kind != AxisScale::Category || count == 0 {
        return 1;
    }
    ((TICK * 1.2) / (height / count as f64)).ceil().max(1.0) as usize
}

/// Whether all labels are numbers, perhaps with a thousands separator.
pub fn are_numbers(labels: &[String]) -> bool {
    let is_number = |label: &String| {
        label.trim_end_matches(char::is_alphabetic).replace(['−', '\u{202f}'], "").parse::<f64>().is_ok()
    };
    labels.iter().all(is_number)
}

/// The entries of the legend; empty if there is no legend.
pub fn legend_entries(plot: &Plot, data: &Data) -> Vec<Key> {
    match plot.style.legend {
        Some(false) => Vec::new(),
        Some(true) => data.keys.clone(),
        None if data.keys.len() > 1 || plot.style.legend_title.is_some() => data.keys.clone(),
        None => Vec::new(),
    }
}
