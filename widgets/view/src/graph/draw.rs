//! A picture of a graph as SVG: links, arrows, nodes, labels, legend; or a raster.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use onrush_wire::plot::Theme;
use onrush_wire::visual::{Drawing, GraphPlot, NodeColor, NodeLink};
use onrush_wire::{Class, Diagnostic};
use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::DrawingArea;
use plotters::style::RGBColor;

use super::labels::{Candidate, place};
use super::raster::ShadedRaster;
use super::scene::{importance, label, looks, positions, short};
use crate::plot::canvas::{Anchor, Canvas, TextLook};
use crate::plot::data::Key;
use crate::plot::legend::{ColorScale, color_bar, draw_legend, draw_title_and_notes};
use crate::plot::theme::{Colors, colors, fit_text, series_color, text_width};

const WIDTH: u32 = 640;
const HEIGHT: u32 = 480;
const LABEL: f64 = 11.0;
/// Height of the box of a label.
const LABEL_HEIGHT: f64 = 13.0;
/// Widest label.
const LABEL_WIDTH: f64 = 140.0;
/// Nodes that are told apart by a text at the pointer.
const TITLES: usize = 1_000;
/// Links of one path, whose opacity does not add up where they cross.
const TOGETHER: usize = 64;

/// Width and height in pixels: those of the user, or the usual ones.
pub fn size(plot: &GraphPlot) -> (u32, u32) {
    let style = &plot.style;
    (style.width.unwrap_or(WIDTH).clamp(120, 4000), style.height.unwrap_or(HEIGHT).clamp(90, 4000))
}

/// The whole picture, with the title and the text alternative of its document.
pub fn svg(
    plot: &GraphPlot,
    shaded: Option<&ShadedRaster>,
    notes: &[String],
    names: (&str, &str),
) -> Result<String, Diagnostic> {
    #[cfg(test)]
    super::tests::DRAWN.set(super::tests::DRAWN.get() + 1);
    draw(plot, shaded, notes, names)
        .map_err(|e| Diagnostic::error(Class::Internal, "plot", format!("the graph could not be drawn: {e}")))
}

fn draw(
    plot: &GraphPlot,
    shaded: Option<&ShadedRaster>,
    notes: &[String],
    (title, label): (&str, &str),
) -> Result<String, DrawingAreaErrorKind<Infallible>> {
    let (width, height) = size(plot);
    let canvas = Rc::new(RefCell::new(Canvas::new(width, height)));
    let root: DrawingArea<Canvas, Shift> = DrawingArea::from(&canvas);
    let colors = colors(plot.style.theme);
    if let Some(background) = colors.background {
        root.fill(&background)?;
    }
    let (w, h) = (f64::from(width), f64::from(height));
    let notes = all_notes(plot, notes);
    let (top, bottom) = draw_title_and_notes(&canvas, &colors, plot.style.title.as_deref(), &notes, (w, h));
    match &plot.drawing {
        Drawing::Points(points) if points.ids.is_empty() => {
            let look = TextLook { size: 14.0, color: colors.faint, anchor: Anchor::Middle, angle: 0.0, bold: false };
            canvas.borrow_mut().text("no nodes to draw", w / 2.0, (top + bottom) / 2.0, look);
        }
        Drawing::Points(points) => {
            let right = draw_keys(&root, &canvas, &colors, (plot, points), (w - 14.0, top, bottom))?;
            draw_points(&mut canvas.borrow_mut(), &colors, (plot, points), [10.0, top, right, bottom]);
        }
        Drawing::Raster(raster) => {
            if let Some(shaded) = shaded {
                let room = [10.0, top, w - 10.0, bottom];
                let [left, top, width, height] = fitted((raster.width, raster.height), room);
                canvas.borrow_mut().image(&shaded.png, (left, top), (width, height));
            }
        }
    }
    let made = canvas.borrow_mut().finish(title, label);
    Ok(made)
}

/// The notes, with the column of the sizes first, as in plots.
fn all_notes(plot: &GraphPlot, notes: &[String]) -> Vec<String> {
    let size = match &plot.drawing {
        Drawing::Points(points) => points.size.as_ref().map(|size| format!("area of nodes: {}", size.column)),
        Drawing::Raster(_) => None,
    };
    size.into_iter().chain(notes.iter().cloned()).collect()
}

/// The place of a raster, in its proportions: left, top, width and height.
fn fitted((width, height): (u32, u32), [left, top, right, bottom]: [f64; 4]) -> [f64; 4] {
    let (width, height) = (f64::from(width), f64::from(height));
    let scale = ((right - left) / width).min((bottom - top) / height).max(0.0);
    let (width, height) = (width * scale, height * scale);
    [(left + right - width) / 2.0, (top + bottom - height) / 2.0, width, height]
}

/// The legend or the colour bar; returns the right end of the remaining space.
fn draw_keys(
    root: &DrawingArea<Canvas, Shift>,
    canvas: &RefCell<Canvas>,
    colors: &Colors,
    (plot, points): (&GraphPlot, &NodeLink),
    (right, top, bottom): (f64, f64, f64),
) -> Result<f64, DrawingAreaErrorKind<Infallible>> {
    if plot.style.legend == Some(false) {
        return Ok(right);
    }
    let title = |column: &str| plot.style.legend_title.clone().unwrap_or_else(|| column.to_string());
    match &points.color {
        None => Ok(right),
        Some(NodeColor::Numbers { column, .. }) => {
            let (low, high) = looks(plot, points).range.unwrap_or((0.0, 1.0));
            let label = title(column);
            let map = plot.style.color_map.unwrap_or_default();
            let scale = ColorScale { low, high, label: &label, map, ticks: None, part: (0.0, 1.0) };
            color_bar(root, canvas, colors, &scale, (right, top + 4.0, bottom - 4.0))
        }
        Some(NodeColor::Categories { column, names, codes }) => {
            let key = |(i, name): (usize, &String)| Key {
                name: name.clone(),
                color: series_color(i, name),
                dashes: None,
                is_line: false,
            };
            let mut keys: Vec<Key> = names.iter().enumerate().map(key).collect();
            if codes.iter().any(Option::is_none) {
                keys.push(Key { color: series_color(0, "null"), name: "null".into(), dashes: None, is_line: false });
            }
            draw_legend(root, canvas, colors, &keys, Some(&title(column)), (right, top, bottom))
        }
    }
}

fn draw_points(canvas: &mut Canvas, colors: &Colors, (plot, points): (&GraphPlot, &NodeLink), area: [f64; 4]) {
    let looks = looks(plot, points);
    let count = points.ids.len();
    let widest = looks.radii.iter().copied().fold(0.0, f64::max);
    let [left, top, right, bottom] = area;
    // A label of the outermost nodes needs some room, too.
    let (around, beside) = (widest + 6.0, widest + if count <= 200 { 24.0 } else { 6.0 });
    let inner = [left + beside, top + around, right - beside, bottom - around];
    let at = positions(points, inner);

    let opacity = match looks.links.len() {
        0..=150 => 0.6,
        151..=1000 => 0.4,
        1001..=5000 => 0.25,
        _ => 0.15,
    };
    let line = RGBColor(0x80, 0x80, 0x80);
    // Links of one width are drawn together.
    let mut links = looks.links.clone();
    links.sort_by(|a, b| a.2.total_cmp(&b.2));
    canvas.open("links");
    for equal in links.chunk_by(|a, b| (a.2 * 4.0).round() == (b.2 * 4.0).round()) {
        for some in equal.chunks(TOGETHER) {
            let (mut ends, mut heads) = (Vec::new(), Vec::new());
            for (a, b, width) in some {
                let (a, b) = (*a as usize, *b as usize);
                if a == b {
                    let radius = looks.radii[a].max(4.0);
                    let away = looks.radii[a] * 0.7 + radius * 0.5;
                    canvas.ring((at[a].0 + away, at[a].1 - away), radius, line, opacity, *width);
                } else if plot.directed {
                    if let Some((end, head)) = arrow(at[a], at[b], looks.radii[b], *width) {
                        ends.push([at[a].0, at[a].1, end.0, end.1]);
                        heads.push(head);
                    }
                } else {
                    ends.push([at[a].0, at[a].1, at[b].0, at[b].1]);
                }
            }
            let width = some.first().map_or(1.0, |link| link.2);
            if !ends.is_empty() {
                canvas.lines(&ends, line, opacity, width);
            }
            if !heads.is_empty() {
                canvas.triangles(&heads, line, (opacity * 1.6).min(0.9));
            }
        }
    }
    canvas.close();

    canvas.open("nodes");
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| looks.radii[*b].total_cmp(&looks.radii[*a]).then(a.cmp(b)));
    for i in order {
        let fill = looks.palette[usize::from(looks.colors[i])];
        let outline = match plot.style.theme {
            Theme::Auto => RGBColor(shaded(fill.0), shaded(fill.1), shaded(fill.2)),
            Theme::Light | Theme::Dark => colors.background.unwrap_or(fill),
        };
        let title = (count <= TITLES).then(|| hover(points, i));
        canvas.disc(at[i], looks.radii[i], fill, outline, title.as_deref());
    }
    canvas.close();

    canvas.open("labels");
    let texts: Vec<String> = (0..count).map(|i| fit_text(&label(points, i), LABEL, LABEL_WIDTH)).collect();
    let candidate = |i: usize| Candidate {
        x: at[i].0,
        y: at[i].1,
        radius: looks.radii[i],
        width: text_width(texts[i].trim(), LABEL),
        importance: importance(points, i),
    };
    let candidates: Vec<Candidate> = (0..count).map(candidate).collect();
    let look = TextLook { size: LABEL, color: colors.text, anchor: Anchor::Middle, angle: 0.0, bold: false };
    for (i, rect) in place(&candidates, LABEL_HEIGHT, area) {
        let (text, x, y) = (texts[i].trim(), (rect[0] + rect[2]) / 2.0, rect[3] - 3.0);
        match colors.background {
            Some(background) => canvas.outlined_text(text, x, y, look, background),
            // Dark with a light outline: read on pages of any colour, and over nodes and links.
            None => {
                let (light, dark) = (RGBColor(255, 255, 255), RGBColor(0x20, 0x20, 0x20));
                canvas.outlined_text(text, x, y, TextLook { color: dark, ..look }, light);
            }
        }
    }
    canvas.close();
}

fn shaded(color: u8) -> u8 {
    (f64::from(color) * 0.7) as u8
}

/// The tooltip of a node: its label, its id, its degree and columns.
fn hover(points: &NodeLink, node: usize) -> String {
    let id = points.ids.get(node).map(|id| short(id)).unwrap_or_default();
    let mut lines = vec![label(points, node)];
    if lines[0] != id {
        lines.push(id);
    }
    if points.columns.iter().all(|column| column.name != "degree") {
        lines.extend(points.degrees.get(node).map(|degree| format!("degree: {degree}")));
    }
    for column in &points.columns {
        lines.extend(column.values.get(node).map(|value| format!("{}: {value}", column.name)));
    }
    lines.join("\n")
}

/// The end of a link in front of a node, and the corners of its head. `None` if the nodes overlap.
fn arrow(from: (f64, f64), to: (f64, f64), radius: f64, width: f64) -> Option<((f64, f64), [(f64, f64); 3])> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let distance = dx.hypot(dy);
    let tip = distance - radius - 0.5;
    if tip <= 1.0 {
        return None;
    }
    let length = (4.5 + 1.8 * width).min(tip);
    let half = length * 0.4;
    let (ux, uy) = (dx / distance, dy / distance);
    let along = |d: f64, side: f64| (from.0 + ux * d - uy * side, from.1 + uy * d + ux * side);
    Some((along(tip - length, 0.0), [along(tip, 0.0), along(tip - length, half), along(tip - length, -half)]))
}
