//! The layout of a plot: axes, grid, title, legend, colour bar and notes. `marks.rs` draws the data.

mod layout;

use std::cell::RefCell;
use std::rc::Rc;

use onrush_wire::plot::{AxisScale, Plot};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{Cartesian2d, Color, DrawingArea, PathElement, Rectangle};
use plotters::style::RGBColor;

use super::canvas::{Anchor, Canvas, TextLook, UNIT};
use super::data::{self, Data, Key, Panel};
use super::marks;
use super::scale::{Scale, Tick, number_ticks};
use super::theme::{Colors, colors, fit_names, fit_text, scale_color, text_width, wrap_text};
use layout::Layout;

/// Draws in data coordinates.
pub type Area = DrawingArea<Canvas, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
pub type DrawError = plotters::drawing::DrawingAreaErrorKind<std::convert::Infallible>;

const WIDTH: u32 = 640;
const HEIGHT: u32 = 400;
const TICK: f64 = 11.0;
const LABEL: f64 = 12.0;
const TITLE: f64 = 15.0;
const NOTE: f64 = 10.5;
const LINE: f64 = 1.35;
/// Widest text of a legend entry.
const LEGEND: f64 = 130.0;
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
    // Of the axes that are drawn.
    let (mut free_x, mut free_y) = data::free(plot);
    if is_lying {
        panels = panels.into_iter().map(|p| Panel { name: p.name, data: p.data.lying() }).collect();
        std::mem::swap(&mut free_x, &mut free_y);
    }
    let Some(Panel { data, .. }) = panels.first() else { return Ok(canvas.borrow_mut().finish(title, label)) };
    let (top, bottom) = draw_title_and_notes(&canvas, &colors, plot, &data.notes, (w, h));

    if panels.iter().all(|p| p.data.is_empty()) {
        let look = TextLook { size: 14.0, color: colors.faint, anchor: Anchor::Middle, angle: 0.0, bold: false };
        canvas.borrow_mut().text("no data to draw", w / 2.0, (top + bottom) / 2.0, look);
        return Ok(canvas.borrow_mut().finish(title, label));
    }

    // The right side first: it is independent of the axes.
    let mut right = w - 14.0;
    let legend = legend_entries(plot, data);
    if data.color_range.is_some() {
        right = color_bar(&root, &canvas, &colors, data, (right, top, bottom - 24.0))?;
    } else if !legend.is_empty() {
        right =
            draw_legend(&root, &canvas, &colors, &legend, plot.style.legend_title.as_deref(), (right, top, bottom))?;
    }

    let layout = Layout::new(plot, &panels, (free_x, free_y), w, (top, right, bottom));
    draw_shared_labels(&canvas, &colors, &layout);
    for (i, panel) in panels.iter().enumerate() {
        draw_panel_labels(&canvas, &colors, &layout, (i, panel));
        let chart = Chart { canvas: Rc::clone(&canvas), frame: layout.frame(i), text: colors.text };
        draw_panel(&root, &chart, &colors, &panel.data, &layout.sides(i))?;
    }
    Ok(canvas.borrow_mut().finish(title, label))
}

/// Draws the title at the top and the notes at the bottom; returns the ends of the space between them.
fn draw_title_and_notes(
    canvas: &RefCell<Canvas>,
    colors: &Colors,
    plot: &Plot,
    notes: &[String],
    (w, h): (f64, f64),
) -> (f64, f64) {
    let mut top = 10.0;
    let mut bottom = h - 8.0;
    if let Some(text) = plot.style.title.as_deref().filter(|t| !t.trim().is_empty()) {
        for line in wrap_text(text, TITLE, w - 24.0).into_iter().take(3) {
            top += TITLE;
            let look = TextLook { size: TITLE, color: colors.text, anchor: Anchor::Middle, angle: 0.0, bold: true };
            canvas.borrow_mut().text(&line, w / 2.0, top, look);
            top += TITLE * (LINE - 1.0);
        }
        top += 6.0;
    }
    let notes: Vec<String> = notes.iter().flat_map(|n| wrap_text(n, NOTE, w - 24.0)).take(4).collect();
    let small = TextLook { size: NOTE, color: colors.faint, anchor: Anchor::Start, angle: 0.0, bold: false };
    for line in notes.iter().rev() {
        canvas.borrow_mut().text(line, 12.0, bottom, small);
        bottom -= NOTE * LINE;
    }
    if !notes.is_empty() {
        bottom -= 4.0;
    }
    (top, bottom)
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
    if layout.has_own_x {
        let text = fit_text(&layout.x_labels[i], LABEL, layout.panel_width() + layout.gap * 0.8);
        let under = if layout.has_x_ticks(i) { layout.tick_space + 5.0 } else { 0.0 };
        let at = ((frame[0] + frame[2]) / 2.0, frame[3] + under + layout.x_label_space);
        canvas.borrow_mut().text(&text, at.0, at.1, look);
    }
    if layout.has_own_y {
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

fn units(pixels: f64) -> i32 {
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

/// The legend at the right edge; returns the right end of the remaining space.
fn draw_legend(
    root: &DrawingArea<Canvas, Shift>,
    canvas: &RefCell<Canvas>,
    colors: &Colors,
    keys: &[Key],
    title: Option<&str>,
    (right, top, bottom): (f64, f64, f64),
) -> Result<f64, DrawError> {
    let row = TICK * 1.6;
    let title = title.filter(|t| !t.is_empty()).map(|t| fit_text(t, TICK, LEGEND + 18.0));
    let room = (((bottom - top) / row) as usize).saturating_sub(usize::from(title.is_some())).max(1);
    let shown = if keys.len() > room { room - 1 } else { keys.len() };
    let names = fit_names(keys[..shown].iter().map(|key| key.name.as_str()), TICK, LEGEND);
    let widest = names.iter().map(|n| text_width(n, TICK) + 18.0).fold(0.0, f64::max);
    let widest = widest.max(title.as_ref().map_or(0.0, |t| text_width(t, TICK))).max(40.0);
    let left = right - widest;
    let look = TextLook { size: TICK, color: colors.text, anchor: Anchor::Start, angle: 0.0, bold: false };
    let mut y = top + TICK;
    canvas.borrow_mut().open("legend");
    if let Some(title) = &title {
        canvas.borrow_mut().text(title, left, y, TextLook { bold: true, ..look });
        y += row;
    }
    for (key, name) in keys.iter().zip(&names) {
        let middle = y - TICK * 0.36;
        if key.is_line {
            canvas.borrow_mut().dash(key.dashes);
            let line = key.color.stroke_width((2.5 * UNIT) as u32);
            root.draw(&PathElement::new(
                vec![(units(left), units(middle)), (units(left + 12.0), units(middle))],
                line,
            ))?;
            canvas.borrow_mut().dash(None);
        } else {
            let corners = [(units(left), units(middle - 5.0)), (units(left + 10.0), units(middle + 5.0))];
            root.draw(&Rectangle::new(corners, key.color.filled()))?;
        }
        canvas.borrow_mut().text(name, left + 18.0, y, look);
        y += row;
    }
    if shown < keys.len() {
        canvas.borrow_mut().text(
            &format!("… {} more", keys.len() - shown),
            left,
            y,
            TextLook { color: colors.faint, ..look },
        );
    }
    canvas.borrow_mut().close();
    Ok(left - 16.0)
}

/// The colour bar at the right edge; returns the right end of the remaining space.
fn color_bar(
    root: &DrawingArea<Canvas, Shift>,
    canvas: &RefCell<Canvas>,
    colors: &Colors,
    data: &Data,
    (right, top, bottom): (f64, f64, f64),
) -> Result<f64, DrawError> {
    let (low, high, label) = data.color_range.as_ref().map_or((0.0, 1.0, ""), |(a, b, l)| (*a, *b, l.as_str()));
    const SLICES: usize = 48;
    const BAR: f64 = 12.0;
    let mut ticks = number_ticks(low, high, (((bottom - top) / 40.0) as usize).clamp(2, 8));
    ticks.retain(|t| t.at >= low - (high - low) * 1e-9 && t.at <= high + (high - low) * 1e-9);
    let tick_width = ticks.iter().map(|t| text_width(&t.label, TICK)).fold(0.0, f64::max);
    let label_width = if label.is_empty() { 0.0 } else { LABEL * LINE };
    let left = right - label_width - tick_width - 5.0 - BAR;
    let height = bottom - top;
    canvas.borrow_mut().open("color-bar");
    for i in 0..SLICES {
        let from = bottom - height * i as f64 / SLICES as f64;
        // Half a pixel more, so that no seam shows between slices.
        let to = (bottom - height * (i + 1) as f64 / SLICES as f64 - 0.5).max(top);
        let color: RGBColor = scale_color(data.color_map, (i as f64 + 0.5) / SLICES as f64);
        root.draw(&Rectangle::new([(units(left), units(to)), (units(left + BAR), units(from))], color.filled()))?;
    }
    let look = TextLook { size: TICK, color: colors.text, anchor: Anchor::Start, angle: 0.0, bold: false };
    for tick in &ticks {
        let part = if high > low { (tick.at - low) / (high - low) } else { 0.5 };
        canvas.borrow_mut().text(&tick.label, left + BAR + 5.0, bottom - part * height + TICK * 0.36, look);
    }
    if !label.is_empty() {
        let look = TextLook { size: LABEL, anchor: Anchor::Middle, angle: 90.0, ..look };
        let text = fit_text(label, LABEL, height + 20.0);
        canvas.borrow_mut().text(&text, right - 8.0, (top + bottom) / 2.0, look);
    }
    canvas.borrow_mut().close();
    Ok(left - 12.0)
}
