//! The surroundings of the data in any picture: title, notes, legend and colour bar.

use std::cell::RefCell;

use onrush_wire::plot::ColorMap;
use plotters::coord::Shift;
use plotters::prelude::{Color, DrawingArea, PathElement, Rectangle};
use plotters::style::RGBColor;

use super::canvas::{Anchor, Canvas, TextLook, UNIT};
use super::chart::{DrawError, units};
use super::data::Key;
use super::scale::{Tick, number_ticks};
use super::theme::{Colors, fit_names, fit_text, scale_color, text_width, wrap_text};

/// Sizes of text in pixels.
pub const TICK: f64 = 11.0;
pub const LABEL: f64 = 12.0;
pub const TITLE: f64 = 15.0;
pub const NOTE: f64 = 10.5;
/// Height of a line, in sizes of its text.
pub const LINE: f64 = 1.35;
/// Widest text of a legend entry.
const LEGEND: f64 = 130.0;

/// Numbers as colours.
pub struct ColorScale<'a> {
    pub low: f64,
    pub high: f64,
    pub label: &'a str,
    pub map: ColorMap,
    /// Values at parts of the bar, from 0 to 1, instead of round numbers at equal distances.
    pub ticks: Option<Vec<Tick>>,
    /// The part of the map that is used.
    pub part: (f64, f64),
}

/// Draws the title at the top and the notes at the bottom; returns the ends of the space between them.
pub fn draw_title_and_notes(
    canvas: &RefCell<Canvas>,
    colors: &Colors,
    title: Option<&str>,
    notes: &[String],
    (w, h): (f64, f64),
) -> (f64, f64) {
    let mut top = 10.0;
    let mut bottom = h - 8.0;
    if let Some(text) = title.filter(|t| !t.trim().is_empty()) {
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

/// The legend at the right edge; returns the right end of the remaining space.
pub fn draw_legend(
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
pub fn color_bar(
    root: &DrawingArea<Canvas, Shift>,
    canvas: &RefCell<Canvas>,
    colors: &Colors,
    scale: &ColorScale<'_>,
    (right, top, bottom): (f64, f64, f64),
) -> Result<f64, DrawError> {
    let ColorScale { low, high, label, map, ref ticks, part } = *scale;
    const SLICES: usize = 48;
    const BAR: f64 = 12.0;
    let mut ticks =
        ticks.clone().unwrap_or_else(|| number_ticks(low, high, (((bottom - top) / 40.0) as usize).clamp(2, 8)));
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
        let color: RGBColor = scale_color(map, part.0 + (part.1 - part.0) * (i as f64 + 0.5) / SLICES as f64);
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
