//! One view of a dashboard: a picture, and the geometry by which a front end moves bars and marks brushes over it.

use std::fmt::Write as _;

use onrush_wire::Value;
use onrush_wire::dashboard::{
    DashboardView, Dimension, KeptSlots, Measure, Slot, SlotKind, SlotQuery, ViewData, ViewKind, ViewRequest,
};
use onrush_wire::display::TablePreview;
use onrush_wire::format_integer::thousands;
use onrush_wire::plot::{AxisScale, Plot, PlotStyle, Theme};
use plotters::style::RGBColor;
use serde_json::{Value as Json, json};

use crate::html::escape;
use crate::plot::scale::{Scale, number_label, number_ticks};
use crate::plot::shade::MAP;
use crate::plot::theme::{self, Colors, fit_text, text_width};
use crate::plot::{self, png};
use crate::table::Formats;

/// Pixels above the data: the name of the view.
const TITLE: f64 = 24.0;
/// Pixels below it: the labels of the axis.
const FOOT: f64 = 20.0;
const SMALL: f64 = 10.0;
/// Pixels between the bins and the slots next to them.
const APART: f64 = 6.0;
/// Pixels of a bar that lies, and the least.
const ROW: f64 = 17.0;
/// Colours of a heat map.
const COLORS: usize = 33;
/// Pixels of a row of a table.
const TABLE_ROW: f64 = 19.0;
/// Opacity of the bars of all rows, and of those outside of a brush.
const PALE: f64 = 0.22;
const OUTSIDE: f64 = 0.4;

/// SVG under construction.
pub struct Pen {
    pub out: String,
    colors: Colors,
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Left, top, width and height.
fn frame_of([left, top, right, bottom]: [f64; 4]) -> [f64; 4] {
    [left, top, right - left, bottom - top].map(round)
}

fn hex(RGBColor(r, g, b): RGBColor) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

impl Pen {
    pub fn new(colors: Colors) -> Self {
        Pen { out: String::new(), colors }
    }

    pub fn rect(&mut self, [x, y, width, height]: [f64; 4], color: RGBColor, opacity: f64, class: &str) {
        let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(round);
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let opacity = if opacity < 1.0 { format!(" fill-opacity=\"{opacity}\"") } else { String::new() };
        let color = hex(color);
        let _ = writeln!(
            self.out,
            "<rect{class} x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{color}\"{opacity}/>"
        );
    }

    #[allow(clippy::too_many_arguments)]
    pub fn text(&mut self, text: &str, x: f64, y: f64, size: f64, is_bold: bool, color: RGBColor, anchor: &str) {
        let weight = if is_bold { " font-weight=\"600\"" } else { "" };
        let class =
            if hex(color) == hex(self.colors.faint) && hex(color) != hex(self.colors.text) { "faint" } else { "text" };
        let _ = writeln!(
            self.out,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" font-size=\"{size}\" fill=\"{}\" text-anchor=\"{anchor}\"{weight}>{}</text>",
            round(x),
            round(y),
            hex(color),
            escape(text)
        );
    }

    fn line(&mut self, [x0, y0, x1, y1]: [f64; 4]) {
        let (color, opacity) = (hex(self.colors.grid), self.colors.grid_opacity);
        let [x0, y0, x1, y1] = [x0, y0, x1, y1].map(round);
        let _ = writeln!(
            self.out,
            "<path d=\"M{x0} {y0}L{x1} {y1}\" stroke=\"{color}\" stroke-opacity=\"{opacity}\" fill=\"none\"/>"
        );
    }

    fn path(&mut self, points: &[(f64, f64)], color: RGBColor, opacity: f64, class: &str) {
        let mut path = String::new();
        let mut is_open = false;
        for (x, y) in points {
            if y.is_nan() {
                is_open = false;
                continue;
            }
            let _ = write!(path, "{}{} {}", if is_open { "L" } else { "M" }, round(*x), round(*y));
            is_open = true;
        }
        let _ = writeln!(
            self.out,
            "<path class=\"{class}\" d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-opacity=\"{opacity}\" \
             stroke-width=\"2\" stroke-linejoin=\"round\"/>",
            hex(color)
        );
    }

    fn open(&mut self, class: &str) {
        let _ = writeln!(self.out, "<g class=\"{class}\">");
    }

    fn close(&mut self) {
        self.out.push_str("</g>\n");
    }

    /// A view at a place of the page.
    pub fn place(&mut self, tile: &Tile, left: f64, top: f64) {
        // A raster stands below the name of its view.
        let shifted = format!("{}{}\"{left} {}\" ", png::IMAGE, png::SHIFT, top + TITLE);
        let fragment = tile.fragment.replace(png::IMAGE, &shifted);
        let _ = writeln!(self.out, "<g transform=\"translate({left} {top})\">\n{fragment}</g>");
    }
}

/// A view that is drawn.
pub struct Tile {
    pub height: f64,
    width: f64,
    /// Elements, with the view's upper left corner at 0, 0.
    pub fragment: String,
    /// The data of the live form, without the picture.
    about: Json,
    title: String,
}

impl Tile {
    pub fn of(
        request: &ViewRequest,
        (width, height): (u32, u32),
        theme: Theme,
        view: &DashboardView,
        kept: Option<&KeptSlots>,
    ) -> Tile {
        let (width, height) = (f64::from(width), f64::from(height));
        let colors = theme::colors(theme);
        let mut pen = Pen::new(colors);
        let (height, about) = match &view.data {
            ViewData::Slots { x, measure } => {
                title(&mut pen, view, &measure.label, width);
                let ranges = kept.and_then(KeptSlots::marks);
                let ranges = ranges.as_deref();
                let is_list = x.scale == AxisScale::Category && !is_ordered(x);
                if is_list {
                    lying(&mut pen, (x, measure), ranges, width)
                } else {
                    let about = standing(&mut pen, request.kind, (x, measure), ranges, (width, height));
                    (height, about)
                }
            }
            ViewData::Cells { x, y, measure } => {
                title(&mut pen, view, &measure.label, width);
                (height, cells(&mut pen, (x, y), measure, kept, (width, height)))
            }
            ViewData::Raster(plot) => {
                let about = picture(&mut pen, view, plot, kept, (width, height));
                (height, about)
            }
            ViewData::Numbers(preview) => (height, cards(&mut pen, preview, (width, height))),
            ViewData::Table(preview) => table(&mut pen, view, preview, width),
            ViewData::Unchanged => (height, json!({ "kind": "unchanged" })),
        };
        Tile { height, width, fragment: pen.out, about, title: view.title.clone() }
    }

    /// The picture, and how it is laid out.
    pub fn json(&self) -> Json {
        let mut json = self.about.clone();
        json["title"] = self.title.as_str().into();
        let has_svg = !matches!(json["kind"].as_str(), Some("unchanged" | "numbers" | "table"));
        if has_svg {
            let (width, height) = (self.width, self.height);
            json["svg"] = format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
                 viewBox=\"0 0 {width} {height}\">\n{}</svg>",
                self.fragment
            )
            .into();
        }
        json
    }
}

fn title(pen: &mut Pen, view: &DashboardView, measure: &str, width: f64) {
    let colors = pen.colors;
    let room = width - text_width(measure, SMALL) - 12.0;
    pen.text(&fit_text(&view.title, 13.0, room), 2.0, 14.0, 13.0, true, colors.text, "start");
    pen.text(measure, width - 2.0, 14.0, SMALL, false, colors.faint, "end");
}

/// Numbers such as hours: a few letters each.
fn is_ordered(x: &Dimension) -> bool {
    const LETTERS: usize = 3;
    let values = x.slots.iter().filter(|slot| slot.kind == SlotKind::Value);
    x.slots.len() > 8
        && values.clone().all(|slot| slot.name.chars().count() <= LETTERS && slot.name.parse::<f64>().is_ok())
}

/// Whether a part of a slot is kept.
fn is_kept(ranges: Option<&[(f64, f64)]>, slot: usize) -> bool {
    ranges.is_none_or(|ranges| ranges.iter().any(|(from, to)| (slot + 1) as f64 > *from && (slot as f64) < *to))
}

/// The places of the ends of a range of slots, which may lie inside of slots. `None` for slots that are not there.
fn ends_of((from, to): (f64, f64), places: &[(f64, f64)]) -> Option<(f64, f64)> {
    let within = |slot: f64, at: f64| {
        let (start, end) = places.get(slot as usize)?;
        Some(start + (end - start) * (at - slot))
    };
    Some((within(from.floor(), from)?, within((to.ceil() - 1.0).max(0.0), to)?))
}

/// The range of an axis of values, with 0 for what has a length.
fn extent(measure: &Measure, is_line: bool) -> (f64, f64) {
    let finite = measure.all.iter().chain(&measure.shown).copied().filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    match (is_line, low <= high) {
        (_, false) => (0.0, 1.0),
        (true, _) if high > low => (low - (high - low) * 0.06, high + (high - low) * 0.06),
        (true, _) => (low - 1.0, high + 1.0),
        (false, _) => {
            let (low, high) = (low.min(0.0), high.max(0.0));
            (low, if high > low { high } else { low + 1.0 })
        }
    }
}

/// Bars that stand on an axis, or a line over it.
fn standing(
    pen: &mut Pen,
    kind: ViewKind,
    (x, measure): (&Dimension, &Measure),
    ranges: Option<&[(f64, f64)]>,
    (width, height): (f64, f64),
) -> Json {
    let is_line = kind == ViewKind::Line;
    let (low, high) = extent(measure, is_line);
    let ticks = number_ticks(low, high, 3);
    let margin = ticks.iter().map(|tick| text_width(&tick.label, SMALL)).fold(12.0, f64::max) + 6.0;
    let (left, right, top, bottom) = (margin, width - 4.0, TITLE + 4.0, height - FOOT);
    let at = |value: f64| (bottom - (value - low) / (high - low) * (bottom - top)).clamp(top, bottom);
    let colors = pen.colors;
    // A group, so that a front end can draw another axis.
    pen.open("axis");
    for tick in ticks.iter().filter(|tick| tick.at >= low && tick.at <= high) {
        pen.line([left, at(tick.at), right, at(tick.at)]);
        pen.text(&tick.label, left - 5.0, at(tick.at) + 3.5, SMALL, false, colors.faint, "end");
    }
    pen.close();
    let places = slot_places(&x.slots, (left, right));
    // A bar's place is its slot less a gap.
    let gap = if places.first().is_some_and(|(from, to)| to - from > 4.0) { 1.0 } else { 0.0 };
    let (accent, pale) = (theme::series_color(0, ""), colors.faint);
    let middles = |values: &[f64]| -> Vec<(f64, f64)> {
        let middle = |(from, to): &(f64, f64)| (from + to) / 2.0;
        places.iter().zip(values).map(|(place, value)| (middle(place), at(*value))).collect()
    };
    let y_of = |value: f64| if value.is_nan() { f64::NAN } else { at(value) };
    if is_line {
        let line = |values: &[f64]| -> Vec<(f64, f64)> {
            middles(values).into_iter().zip(values).map(|((x, _), value)| (x, y_of(*value))).collect()
        };
        pen.path(&line(&measure.all), pale, 0.4, "all");
        pen.path(&line(&measure.shown), accent, 1.0, "shown");
    } else {
        let zero = at(0.0);
        for (class, values, color, opacity) in
            [("all", &measure.all, pale, PALE), ("shown", &measure.shown, accent, 1.0)]
        {
            pen.open(class);
            for (slot, ((from, to), value)) in places.iter().zip(values).enumerate() {
                let end = if value.is_nan() { zero } else { at(*value) };
                let opacity = if class == "shown" && !is_kept(ranges, slot) { OUTSIDE } else { opacity };
                let bar = [*from, end.min(zero), to - from - gap, (end - zero).abs()];
                pen.rect(bar, color, opacity, "");
            }
            pen.close();
        }
    }
    slot_labels(pen, x, &places, bottom + 13.0, (left, right));
    if let Some(ranges) = ranges {
        for (from, to) in ranges.iter().filter_map(|range| ends_of(*range, &places)) {
            pen.rect([from, top, to - from, bottom - top], accent, 0.12, "brush");
        }
    }
    json!({
        "kind": "slots", "form": if is_line { "line" } else { "bars" }, "axis": "x",
        "frame": frame_of([left, top, right, bottom]),
        "low": low, "high": high,
        "places": places.iter().map(|(from, to)| [round(*from), round(*to)]).collect::<Vec<_>>(),
        "gap": gap,
        "slots": names(x), "label": measure.label, "all": measure.all, "shown": measure.shown,
        "ranges": x.scale != AxisScale::Category,
    })
}

fn names(x: &Dimension) -> Vec<&str> {
    x.slots.iter().map(|slot| slot.name.as_str()).collect()
}

/// Bars that lie, each with its name: the height, and the geometry.
fn lying(
    pen: &mut Pen,
    (x, measure): (&Dimension, &Measure),
    ranges: Option<&[(f64, f64)]>,
    width: f64,
) -> (f64, Json) {
    let (low, high) = extent(measure, false);
    let widest = x.slots.iter().map(|slot| text_width(&slot.name, 11.0)).fold(0.0, f64::max);
    let (left, right) = (widest.min(width * 0.4) + 10.0, width - 62.0);
    let (top, bottom) = (TITLE + 2.0, TITLE + 2.0 + ROW * x.slots.len() as f64);
    let at = |value: f64| (left + (value - low) / (high - low) * (right - left)).clamp(left, right);
    let (colors, accent) = (pen.colors, theme::series_color(0, ""));
    let zero = at(0.0);
    let places: Vec<(f64, f64)> =
        (0..x.slots.len()).map(|slot| (top + ROW * slot as f64, top + ROW * (slot + 1) as f64)).collect();
    for (slot, (from, _)) in x.slots.iter().zip(&places) {
        pen.text(&fit_text(&slot.name, 11.0, left - 8.0), left - 6.0, from + 12.0, 11.0, false, colors.text, "end");
    }
    for (class, values, color, opacity) in
        [("all", &measure.all, colors.faint, PALE), ("shown", &measure.shown, accent, 1.0)]
    {
        pen.open(class);
        for (slot, ((from, to), value)) in places.iter().zip(values).enumerate() {
            let end = if value.is_nan() { zero } else { at(*value) };
            let opacity = if class == "shown" && !is_kept(ranges, slot) { OUTSIDE } else { opacity };
            pen.rect([end.min(zero), from + 1.0, (end - zero).abs(), to - from - 3.0], color, opacity, "");
        }
        pen.close();
    }
    pen.open("values");
    for ((from, _), value) in places.iter().zip(&measure.shown) {
        pen.text(&short(*value), width - 2.0, from + 12.0, SMALL, false, colors.faint, "end");
    }
    pen.close();
    let about = json!({
        "kind": "slots", "form": "bars", "axis": "y",
        "frame": frame_of([left, top, right, bottom]),
        "low": low, "high": high,
        "places": places.iter().map(|(from, to)| [round(*from), round(*to)]).collect::<Vec<_>>(),
        "gap": 3.0,
        "slots": names(x), "label": measure.label, "all": measure.all, "shown": measure.shown,
        "ranges": false,
    });
    (bottom + 8.0, about)
}

/// A number at the end of a bar.
fn short(value: f64) -> String {
    match value {
        value if value.is_nan() => String::new(),
        value if value.fract() == 0.0 && value.abs() < 1e15 => {
            let digits = thousands(value.abs() as u64);
            if value < 0.0 { format!("-{digits}") } else { digits }
        }
        value => number_label(value, value.abs() / 100.0, value),
    }
}

/// The left and the right of each slot. Slots that are not bins stand apart.
fn slot_places(slots: &[Slot], (left, right): (f64, f64)) -> Vec<(f64, f64)> {
    let is_apart = |slot: &Slot| matches!(slot.kind, SlotKind::Missing | SlotKind::Below(_) | SlotKind::Above(_));
    let changes = slots.windows(2).filter(|two| is_apart(&two[0]) != is_apart(&two[1])).count();
    let step = (right - left - APART * changes as f64) / slots.len().max(1) as f64;
    let mut at = left;
    let mut before: Option<&Slot> = None;
    slots
        .iter()
        .map(|slot| {
            if before.is_some_and(|before| is_apart(before) != is_apart(slot)) {
                at += APART;
            }
            before = Some(slot);
            at += step;
            (at - step, at)
        })
        .collect()
}

/// Labels below the slots: round values for bins, names for categories, and signs for the others.
fn slot_labels(pen: &mut Pen, x: &Dimension, places: &[(f64, f64)], y: f64, (left, right): (f64, f64)) {
    let color = pen.colors.faint;
    let middle = |(from, to): &(f64, f64)| (from + to) / 2.0;
    let mut end = f64::NEG_INFINITY;
    let bins: Vec<(f64, f64, (f64, f64))> = x
        .slots
        .iter()
        .zip(places)
        .filter_map(|(slot, place)| match slot.kind {
            SlotKind::Bin { low, high } => Some((low, high, *place)),
            _ => None,
        })
        .collect();
    for (slot, place) in x.slots.iter().zip(places) {
        let sign = match slot.kind {
            SlotKind::Missing => "∅",
            SlotKind::Below(_) => "<",
            SlotKind::Above(_) => ">",
            SlotKind::Bin { .. } => continue,
            SlotKind::Value | SlotKind::Other => &slot.name,
        };
        let half = text_width(sign, SMALL) / 2.0;
        if middle(place) - half > end + 4.0 {
            pen.text(sign, middle(place), y, SMALL, false, color, "middle");
            end = middle(place) + half;
        }
    }
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else { return };
    let scale = Scale {
        kind: x.scale,
        log: false,
        low: first.0,
        high: last.1,
        categories: Vec::new(),
        all_categories: 0,
        format: None,
    };
    let count = ((right - left) / 70.0) as usize;
    let (ticks, shared) = scale.ticks(count.max(2));
    let mut end = f64::NEG_INFINITY;
    for tick in ticks {
        // Months are not all as long as their slots are wide.
        let Some((low, high, (from, to))) = bins.iter().find(|bin| tick.at >= bin.0 && tick.at <= bin.1) else {
            continue;
        };
        let at = from + (tick.at - low) / (high - low) * (to - from);
        let half = text_width(&tick.label, SMALL) / 2.0;
        let at_text = at.clamp(left + half.min(10.0), right - half);
        if at_text - half > end + 4.0 {
            pen.line([at, y - 13.0, at, y - 10.0]);
            pen.text(&tick.label, at_text, y, SMALL, false, color, "middle");
            end = at_text + half;
        }
    }
    if let Some(shared) = shared {
        let half = text_width(&shared, SMALL);
        if right - half > end + 6.0 {
            pen.text(&shared, right, y, SMALL, false, color, "end");
        }
    }
}

/// The label of a slot of a heat map.
fn edge_label(slot: &Slot) -> &str {
    match slot.kind {
        SlotKind::Missing => "∅",
        SlotKind::Below(_) => "<",
        SlotKind::Above(_) => ">",
        _ => slot.name.split(" to ").next().unwrap_or(&slot.name),
    }
}

fn cells(
    pen: &mut Pen,
    (x, y): (&Dimension, &Dimension),
    measure: &Measure,
    kept: Option<&KeptSlots>,
    (width, height): (f64, f64),
) -> Json {
    let colors = pen.colors;
    let names_y = y.slots.iter().map(|slot| text_width(edge_label(slot), SMALL)).fold(10.0, f64::max).min(width * 0.3);
    let (left, right, top, bottom) = (names_y + 8.0, width - 4.0, TITLE + 4.0, height - FOOT);
    let xs = slot_places(&x.slots, (left, right));
    // Rows from the bottom.
    let ys: Vec<(f64, f64)> =
        slot_places(&y.slots, (0.0, bottom - top)).into_iter().map(|(from, to)| (bottom - to, bottom - from)).collect();
    let map: Vec<RGBColor> = (0..COLORS)
        .map(|i| theme::scale_color(Default::default(), MAP.0 + (MAP.1 - MAP.0) * i as f64 / (COLORS - 1) as f64))
        .collect();
    let is_count = measure.label == "rows";
    let finite = || measure.shown.iter().copied().filter(|value| value.is_finite() && !(is_count && *value == 0.0));
    let (low, high) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let low = if is_count { 0.0 } else { low };
    pen.open("shown");
    for (row, (y0, y1)) in ys.iter().enumerate() {
        for (column, (x0, x1)) in xs.iter().enumerate() {
            let value = measure.shown.get(row * xs.len() + column).copied().unwrap_or(f64::NAN);
            let is_empty = !value.is_finite() || (is_count && value == 0.0);
            let level = if high > low { (value - low) / (high - low) } else { 1.0 };
            let color = map[((level * (COLORS - 1) as f64).round() as usize).min(COLORS - 1)];
            let place = [*x0, *y0, x1 - x0 - 0.5, y1 - y0 - 0.5];
            if is_empty {
                pen.rect(place, colors.faint, 0.06, "");
            } else {
                pen.rect(place, color, 1.0, "");
            }
        }
    }
    pen.close();
    let is_bins = x.slots.iter().any(|slot| matches!(slot.kind, SlotKind::Bin { .. }));
    if is_bins {
        slot_labels(pen, x, &xs, bottom + 13.0, (left, right));
    } else {
        let mut end = f64::NEG_INFINITY;
        for (slot, (from, to)) in x.slots.iter().zip(&xs) {
            let label = fit_text(edge_label(slot), SMALL, (to - from).max(30.0));
            let (middle, half) = ((from + to) / 2.0, text_width(&label, SMALL) / 2.0);
            if middle - half > end + 3.0 {
                pen.text(&label, middle, bottom + 13.0, SMALL, false, colors.faint, "middle");
                end = middle + half;
            }
        }
    }
    let mut free = f64::INFINITY;
    for (slot, (from, to)) in y.slots.iter().zip(&ys) {
        let middle = (from + to) / 2.0 + 3.5;
        if middle < free - 11.0 {
            pen.text(
                &fit_text(edge_label(slot), SMALL, names_y),
                left - 5.0,
                middle,
                SMALL,
                false,
                colors.faint,
                "end",
            );
            free = middle;
        }
    }
    if let Some(KeptSlots::Cells([x0, x1, y0, y1])) = kept
        && let (Some(a), Some(b), Some(c), Some(d)) =
            (xs.get(*x0 as usize), xs.get(*x1 as usize - 1), ys.get(*y0 as usize), ys.get(*y1 as usize - 1))
    {
        let (width, height) = (b.1 - a.0, c.1 - d.0);
        let _ = writeln!(
            pen.out,
            "<rect class=\"brush\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
            round(a.0),
            round(d.0),
            round(width),
            round(height),
            hex(colors.text)
        );
    }
    let rounded =
        |places: &[(f64, f64)]| -> Vec<[f64; 2]> { places.iter().map(|(a, b)| [round(*a), round(*b)]).collect() };
    json!({
        "kind": "cells",
        "frame": frame_of([left, top, right, bottom]),
        "places": rounded(&xs), "rows": rounded(&ys),
        "slots": names(x), "sides": names(y), "label": measure.label,
        "all": measure.all, "shown": measure.shown,
        "map": map.into_iter().map(hex).collect::<Vec<_>>(),
        "empty": hex(colors.faint),
    })
}

fn picture(
    pen: &mut Pen,
    view: &DashboardView,
    plot: &Plot,
    kept: Option<&KeptSlots>,
    (width, height): (f64, f64),
) -> Json {
    let colors = pen.colors;
    pen.text(&fit_text(&view.title, 13.0, width), 2.0, 14.0, 13.0, true, colors.text, "start");
    let style = PlotStyle {
        width: Some(width as u32),
        height: Some((height - TITLE) as u32),
        title: None,
        ..plot.style.clone()
    };
    let mut state = plot::raster_state(&Plot { style, notes: Vec::new(), ..plot.clone() });
    let frame: Vec<f64> =
        state["frame"].as_array().map_or(Vec::new(), |all| all.iter().filter_map(Json::as_f64).collect());
    let svg = state["svg"].as_str().unwrap_or("");
    // The document inside of the view's, below its title.
    let body = svg.split_once('>').map_or("", |(_, body)| body).trim_end().trim_end_matches("</svg>");
    let _ = writeln!(pen.out, "<g transform=\"translate(0 {TITLE})\">{body}</g>");
    let mut frame_below = frame.clone();
    if let Some(top) = frame_below.get_mut(1) {
        *top += TITLE;
    }
    let window: Vec<f64> =
        state["window"].as_array().map_or(Vec::new(), |all| all.iter().filter_map(Json::as_f64).collect());
    if let (Some(kept), [left, top, w, h], [x0, y0, x1, y1]) = (kept, frame_below.as_slice(), window.as_slice()) {
        let at = |x: f64, y: f64| (left + (x - x0) / (x1 - x0) * w, top + (y1 - y) / (y1 - y0) * h);
        let corners: Vec<(f64, f64)> = match kept {
            KeptSlots::Box(b) => vec![at(b.x0, b.y0), at(b.x1, b.y0), at(b.x1, b.y1), at(b.x0, b.y1)],
            KeptSlots::Lasso(corners) => corners.iter().map(|(x, y)| at(*x, *y)).collect(),
            _ => Vec::new(),
        };
        let path: Vec<String> = corners.iter().map(|(x, y)| format!("{} {}", round(*x), round(*y))).collect();
        let _ = writeln!(
            pen.out,
            "<path class=\"brush\" d=\"M{}Z\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>",
            path.join("L"),
            hex(colors.text)
        );
    }
    let names = |index: usize| {
        plot.layers.iter().find_map(|layer| match layer {
            onrush_wire::plot::Layer::Raster(raster) => {
                Some(if index == 0 { raster.x.label.clone() } else { raster.y.label.clone() })
            }
            _ => None,
        })
    };
    json!({
        "kind": "raster", "frame": frame_below, "window": state["window"].take(), "alt": state["alt"].take(),
        "x": names(0), "y": names(1), "size": state["size"].take(),
    })
}

/// The values of the only row as cards.
fn cards(pen: &mut Pen, preview: &TablePreview, (width, height): (f64, f64)) -> Json {
    let colors = pen.colors;
    let formats = Formats::of(preview);
    let count = preview.columns.len().max(1) as f64;
    let each = (width / count).min(240.0);
    let mut cells = Vec::new();
    for (at, column) in preview.columns.iter().enumerate() {
        let value = preview.head.first().and_then(|row| row.get(at));
        let text = match value {
            // Large, so that digits are grouped whatever the table does.
            Some(Value::Int(number)) if *number >= 0 => thousands(*number as u64),
            Some(Value::UInt(number)) => thousands(*number),
            Some(value) => formats.text(at, value),
            None => String::new(),
        };
        let left = each * at as f64 + 2.0;
        pen.text(&fit_text(&text, 22.0, each - 10.0), left, height - 32.0, 22.0, true, colors.text, "start");
        pen.text(&fit_text(&column.name, 12.0, each - 10.0), left, height - 12.0, 12.0, false, colors.faint, "start");
        cells.push(json!({ "name": column.name, "text": text }));
    }
    json!({ "kind": "numbers", "cells": cells })
}

fn table(pen: &mut Pen, view: &DashboardView, preview: &TablePreview, width: f64) -> (f64, Json) {
    let colors = pen.colors;
    let formats = Formats::of(preview);
    let rows: Vec<Vec<String>> = preview
        .head
        .iter()
        .map(|row| row.iter().enumerate().map(|(at, value)| formats.text(at, value)).collect())
        .collect();
    let right: Vec<bool> = preview.columns.iter().map(|column| crate::value::right_aligned(&column.dtype)).collect();
    let name = if view.title.is_empty() { "rows" } else { &view.title };
    let shown = format!("the first {} of {}", rows.len(), thousands(preview.total_rows));
    pen.text(name, 2.0, 14.0, 13.0, true, colors.text, "start");
    pen.text(&shown, width - 2.0, 14.0, SMALL, false, colors.faint, "end");
    let (mut left, top) = (2.0, TITLE + 14.0);
    for (at, column) in preview.columns.iter().enumerate() {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|text| text_width(text, 11.0));
        let room = cells.fold(text_width(&column.name, 11.0), f64::max).min(180.0);
        if left + room > width {
            break;
        }
        let (x, anchor) = if right[at] { (left + room, "end") } else { (left, "start") };
        pen.text(&fit_text(&column.name, 11.0, room), x, top, 11.0, true, colors.faint, anchor);
        for (row, cells) in rows.iter().enumerate() {
            let Some(text) = cells.get(at) else { continue };
            let y = top + TABLE_ROW * (row + 1) as f64;
            pen.text(&fit_text(text, 11.0, room), x, y, 11.0, false, colors.text, anchor);
        }
        left += room + 18.0;
    }
    let height = top + TABLE_ROW * rows.len() as f64 + 10.0;
    let names: Vec<&str> = preview.columns.iter().map(|column| column.name.as_str()).collect();
    (height, json!({ "kind": "table", "columns": names, "rows": rows, "right": right, "caption": shown }))
}

/// The kept part of a filter, in words.
pub fn kept_text(data: &ViewData, kept: &KeptSlots) -> String {
    const NAMED: usize = 5;
    match (data, kept) {
        (ViewData::Slots { x, .. }, KeptSlots::Slots(ranges)) => {
            let mut parts = Vec::new();
            for (from, to) in ranges {
                parts.extend(range_text(x, *from as usize, *to as usize));
            }
            let more = parts.len().saturating_sub(NAMED);
            parts.truncate(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", parts.join(", "))
        }
        (_, KeptSlots::Exact { wanted, .. }) => wanted_text(wanted, NAMED),
        (ViewData::Cells { x, y, .. }, KeptSlots::Cells([x0, x1, y0, y1])) => {
            let side = |of: &Dimension, from: &u32, to: &u32| range_text(of, *from as usize, *to as usize).join(", ");
            format!("{} {}, {} {}", x.label, side(x, x0, x1), y.label, side(y, y0, y1))
        }
        (_, KeptSlots::Box(b)) => {
            let short = |value: f64, other: f64| {
                number_label(value, (value - other).abs() / 100.0, value.abs().max(other.abs()))
            };
            let (x0, x1) = (short(b.x0, b.x1), short(b.x1, b.x0));
            format!("x {x0} to {x1}, y {} to {}", short(b.y0, b.y1), short(b.y1, b.y0))
        }
        (_, KeptSlots::Lasso(corners)) => format!("inside of a polygon of {} corners", corners.len()),
        _ => String::new(),
    }
}

/// Values as a cell wrote them: `18 to below 143`.
fn wanted_text(wanted: &SlotQuery, named: usize) -> String {
    let text = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        other => crate::value(other),
    };
    match wanted {
        SlotQuery::Range { low: Some(low), high: Some(high), is_closed: true } => {
            format!("{} to {}", text(low), text(high))
        }
        SlotQuery::Range { low: Some(low), high: Some(high), .. } => format!("{} to below {}", text(low), text(high)),
        SlotQuery::Range { low: Some(low), high: None, .. } => format!("from {}", text(low)),
        SlotQuery::Range { low: None, high: Some(high), is_closed: true } => format!("up to {}", text(high)),
        SlotQuery::Range { low: None, high: Some(high), .. } => format!("below {}", text(high)),
        SlotQuery::Range { low: None, high: None, .. } => "all values".to_string(),
        SlotQuery::Values(values) => {
            let mut names: Vec<String> = values.iter().take(named).map(text).collect();
            names.extend(values.len().checked_sub(named + 1).map(|more| format!("{} more", more + 1)));
            names.join(", ")
        }
    }
}

/// Neighboring bins are one range, categories are named one by one.
fn range_text(x: &Dimension, from: usize, to: usize) -> Vec<String> {
    let to = to.min(x.slots.len());
    let chosen = &x.slots[from.min(to)..to];
    let bins: Vec<&Slot> = chosen.iter().filter(|slot| matches!(slot.kind, SlotKind::Bin { .. })).collect();
    let ends = |slot: &Slot| slot.name.split_once(" to ").map(|(a, b)| (a.to_string(), b.to_string()));
    let mut parts: Vec<String> = Vec::new();
    if let (Some(first), Some(last)) = (bins.first(), bins.last()) {
        let start = ends(first).map_or_else(|| first.name.clone(), |(start, _)| start);
        let end = ends(last).map_or_else(|| last.name.clone(), |(_, end)| end);
        parts.push(if start == end { start } else { format!("{start} to {end}") });
    }
    parts.extend(chosen.iter().filter(|slot| !matches!(slot.kind, SlotKind::Bin { .. })).map(|slot| slot.name.clone()));
    parts
}
