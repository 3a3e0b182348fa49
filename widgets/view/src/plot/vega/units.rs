//! Shapes of one kind as rows of data, a mark and its channels.

use onrush_wire::plot::marks::StepPosition;
use onrush_wire::plot::{AxisScale, Mark};
use plotters::style::RGBColor;
use serde_json::{Map, Value, json};

use super::super::marks::{self, cell_labels, is_bright};
use super::super::scale::Scale;
use super::super::shapes::Shape;
use super::super::theme::colors;
use super::{Side, Spec, Unit, hex, number, tooltip_title};

impl Spec<'_> {
    pub fn bars(&self, shapes: &[Shape]) -> Unit {
        let mut unit = Unit::default();
        let is_category = self.data.x.kind == AxisScale::Category && !self.data.is_spread;
        let mut is_raised = self.data.y.log;
        for shape in shapes {
            if let Shape::Bar { y, .. } = shape {
                is_raised |= y.0 != 0.0;
            }
        }
        let (mut is_bin, mut names) = (false, std::collections::BTreeSet::new());
        let mut first = None;
        for shape in shapes {
            let Shape::Bar { series, at, x, y, color, opacity } = shape else { continue };
            first.get_or_insert((series.as_str(), *color, *opacity));
            let mut row = Map::new();
            match at {
                Some(at) if is_category => {
                    row.insert("x".into(), self.value(Side::X, *at));
                }
                _ => {
                    row.insert("x".into(), self.value(Side::X, x.0));
                    row.insert("x2".into(), self.value(Side::X, x.1));
                    if let Some(at) = at {
                        row.insert("at".into(), self.value(Side::X, *at));
                    }
                }
            }
            is_bin |= at.is_none();
            row.insert("y".into(), self.value(Side::Y, y.1));
            if is_raised {
                row.insert("y2".into(), self.value(Side::Y, y.0));
                if !self.data.y.log {
                    row.insert("v".into(), number(y.1 - y.0));
                }
            }
            if !series.is_empty() {
                row.insert("s".into(), series.as_str().into());
                names.insert(series.clone());
            }
            unit.rows.push(row.into());
        }
        unit.mark = json!({ "type": "bar", "clip": !is_category });
        unit.encoding.insert("x".into(), self.position(Side::X, "x", false));
        let mut y = self.position(Side::Y, "y", false);
        y["stack"] = Value::Null;
        unit.encoding.insert("y".into(), y);
        if !is_category {
            unit.mark["binSpacing"] = 0.into();
            unit.encoding.insert("x2".into(), json!({ "field": "x2" }));
        } else if names.len() > 1 && !self.plot.style.stacked {
            let keys: Vec<&str> =
                self.data.keys.iter().map(|k| k.name.as_str()).filter(|k| names.contains(*k)).collect();
            unit.encoding.insert(
                "xOffset".into(),
                json!({ "field": "s", "type": "nominal", "scale": { "domain": keys, "paddingInner": 0.05 } }),
            );
        }
        unit.encoding.insert("y2".into(), if is_raised { json!({ "field": "y2" }) } else { json!({ "datum": 0 }) });
        let x_title = self.title_of(Side::X);
        let mut tooltip = if is_bin {
            let from = self.told(&mut unit, Side::X, "x", &format!("{x_title} from"));
            vec![from, self.told(&mut unit, Side::X, "x2", "to")]
        } else {
            vec![self.told(&mut unit, Side::X, if is_category { "x" } else { "at" }, &x_title)]
        };
        let value = if is_raised && !self.data.y.log { "v" } else { "y" };
        if !self.data.is_scaled {
            tooltip.push(self.told(&mut unit, Side::Y, value, &self.title_of(Side::Y)));
        }
        if !names.is_empty() {
            tooltip.push(self.series_tooltip());
        }
        unit.encoding.insert("tooltip".into(), tooltip.into());
        if let Some((series, color, opacity)) = first {
            self.keyed(&mut unit, series, color, opacity);
        }
        unit
    }

    pub(super) fn point_tooltip(&self, unit: &mut Unit, is_keyed: bool) -> Vec<Value> {
        let mut tooltip = vec![
            self.told(unit, Side::X, "x", &self.title_of(Side::X)),
            self.told(unit, Side::Y, "y", &self.title_of(Side::Y)),
        ];
        if is_keyed {
            tooltip.push(self.series_tooltip());
        }
        tooltip
    }

    /// Lines of several series, each in its segments.
    pub fn lines(&self, shapes: &[Shape]) -> Unit {
        let mut unit = Unit::default();
        let (mut first, mut longest, mut is_forward) = (None, 0, true);
        for (piece, shape) in shapes.iter().enumerate() {
            let Shape::Line { series, points, color, .. } = shape else { continue };
            first.get_or_insert((series.as_str(), *color));
            longest = longest.max(points.len());
            is_forward &= points.is_sorted_by(|a, b| a.0 <= b.0);
            for (x, y) in points {
                let mut row = Map::new();
                row.insert("x".into(), self.value(Side::X, *x));
                row.insert("y".into(), self.value(Side::Y, *y));
                if !series.is_empty() {
                    row.insert("s".into(), series.as_str().into());
                }
                if shapes.len() > 1 {
                    row.insert("p".into(), piece.into());
                }
                unit.rows.push(row.into());
            }
        }
        // A curve follows the order of its points, not from left to right.
        if !is_forward {
            for (i, row) in unit.rows.iter_mut().enumerate() {
                row["o"] = i.into();
            }
            unit.encoding.insert("order".into(), json!({ "field": "o", "type": "quantitative" }));
        }
        let width = if longest > 500 { 1.3 } else { 2.0 };
        unit.mark = json!({ "type": "line", "clip": true, "strokeWidth": width, "strokeJoin": "round" });
        if let Some(Shape::Line { mark: Mark::Step(position), .. }) = shapes.first() {
            let name = match position {
                StepPosition::Pre => "step-before",
                StepPosition::Post => "step-after",
                StepPosition::Mid => "step",
            };
            unit.mark["interpolate"] = name.into();
        }
        unit.encoding.insert("x".into(), self.position(Side::X, "x", false));
        unit.encoding.insert("y".into(), self.position(Side::Y, "y", false));
        if shapes.len() > 1 {
            unit.encoding.insert("detail".into(), json!({ "field": "p", "type": "nominal" }));
        }
        let Some((series, color)) = first else { return unit };
        self.keyed(&mut unit, series, color, 1.0);
        if !series.is_empty() && self.data.keys.iter().any(|k| k.dashes.is_some()) {
            let names: Vec<&str> = self.data.keys.iter().map(|k| k.name.as_str()).collect();
            let dashes: Vec<Vec<f64>> = self.data.keys.iter().map(|k| numbers_of(k.dashes)).collect();
            unit.encoding.insert(
                "strokeDash".into(),
                json!({ "field": "s", "type": "nominal", "legend": null, "scale": { "domain": names, "range": dashes } }),
            );
        }
        let tooltip = self.point_tooltip(&mut unit, !series.is_empty());
        unit.encoding.insert("tooltip".into(), tooltip.into());
        // The mouse seldom hits a line of two pixels.
        if longest <= 60 {
            unit.mark["point"] = json!({ "size": 16, "filled": true });
        }
        unit
    }

    pub fn areas(&self, shapes: &[Shape]) -> Unit {
        let mut unit = Unit::default();
        let pairs = |shape: &Shape, differ: fn((f64, f64), (f64, f64)) -> bool| match shape {
            Shape::Area { upper, lower, .. } => upper.iter().zip(lower).any(|(top, bottom)| differ(*top, *bottom)),
            _ => false,
        };
        // A violin reaches to both sides of its category.
        let is_sideways = shapes.iter().any(|shape| pairs(shape, |top, bottom| top.0 != bottom.0));
        let is_raised = shapes.iter().any(|shape| pairs(shape, |_, bottom| bottom.1.is_finite() && bottom.1 != 0.0));
        let is_band = is_raised && !is_sideways && !self.plot.style.stacked;
        let mut first = None;
        for (piece, shape) in shapes.iter().enumerate() {
            let Shape::Area { series, upper, lower, color, opacity } = shape else { continue };
            first.get_or_insert((series.as_str(), *color, *opacity));
            for (top, bottom) in upper.iter().zip(lower) {
                let mut row = Map::new();
                row.insert("x".into(), self.value(Side::X, top.0));
                row.insert("y".into(), self.value(Side::Y, top.1));
                if is_sideways {
                    row.insert("x2".into(), self.value(Side::X, bottom.0));
                } else {
                    row.insert("y2".into(), self.value(Side::Y, bottom.1));
                }
                if !is_sideways && !is_band && !self.data.y.log && bottom.1.is_finite() {
                    row.insert("v".into(), number(top.1 - bottom.1));
                }
                if !series.is_empty() {
                    row.insert("s".into(), series.as_str().into());
                }
                if shapes.len() > 1 {
                    row.insert("p".into(), piece.into());
                }
                unit.rows.push(row.into());
            }
        }
        unit.mark = json!({ "type": "area", "clip": true });
        unit.encoding.insert("x".into(), self.position(Side::X, "x", false));
        let mut y = self.position(Side::Y, "y", false);
        if is_sideways {
            unit.mark["orient"] = if self.plot.style.is_horizontal { "vertical" } else { "horizontal" }.into();
            unit.encoding.insert("x2".into(), json!({ "field": "x2" }));
            unit.encoding["x"]["stack"] = Value::Null;
        } else {
            y["stack"] = Value::Null;
            unit.encoding.insert("y2".into(), json!({ "field": "y2" }));
        }
        unit.encoding.insert("y".into(), y);
        if shapes.len() > 1 {
            unit.encoding.insert("detail".into(), json!({ "field": "p", "type": "nominal" }));
        }
        let Some((series, color, opacity)) = first else { return unit };
        self.keyed(&mut unit, series, color, opacity);
        let mut tooltip = vec![self.told(&mut unit, Side::X, "x", &self.title_of(Side::X))];
        if is_band {
            tooltip.push(self.told(&mut unit, Side::Y, "y2", "from"));
            tooltip.push(self.told(&mut unit, Side::Y, "y", "to"));
        } else {
            let value = if self.data.y.log || is_sideways { "y" } else { "v" };
            tooltip.push(self.told(&mut unit, Side::Y, value, &self.title_of(Side::Y)));
        }
        if !series.is_empty() {
            tooltip.push(self.series_tooltip());
        }
        unit.encoding.insert("tooltip".into(), tooltip.into());
        unit
    }

    /// Area of a point in pixels and its opacity, as in the picture.
    fn point_look(&self, count: usize) -> (f64, f64) {
        let (radius, opacity) = marks::point_look(count);
        ((radius * radius * std::f64::consts::PI).round(), self.data.opacity.unwrap_or(opacity))
    }

    pub fn points(&self, shapes: &[Shape]) -> Unit {
        let mut unit = Unit::default();
        let mut first = None;
        for shape in shapes {
            let Shape::Points { series, points, color } = shape else { continue };
            first.get_or_insert((series.as_str(), *color));
            for (x, y) in points {
                let mut row = Map::new();
                row.insert("x".into(), self.value(Side::X, *x));
                row.insert("y".into(), self.value(Side::Y, *y));
                if !series.is_empty() {
                    row.insert("s".into(), series.as_str().into());
                }
                unit.rows.push(row.into());
            }
        }
        let (size, opacity) = self.point_look(unit.rows.len());
        unit.mark = json!({ "type": "circle", "clip": true, "size": size });
        unit.encoding.insert("x".into(), self.position(Side::X, "x", false));
        unit.encoding.insert("y".into(), self.position(Side::Y, "y", false));
        let Some((series, color)) = first else { return unit };
        self.keyed(&mut unit, series, color, opacity);
        let tooltip = self.point_tooltip(&mut unit, !series.is_empty());
        unit.encoding.insert("tooltip".into(), tooltip.into());
        unit
    }

    pub fn colored_points(&self, shapes: &[Shape]) -> Unit {
        let mut unit = Unit::default();
        let (mut first, mut has_sizes) = (None, false);
        let mut largest = 0.0;
        for shape in shapes {
            let Shape::ColoredPoints { series, color, points } = shape else { continue };
            first.get_or_insert((series.as_str(), *color));
            for point in points {
                let mut row = Map::new();
                row.insert("x".into(), self.value(Side::X, point.x));
                row.insert("y".into(), self.value(Side::Y, point.y));
                if color.is_none() {
                    row.insert("c".into(), if point.value.is_finite() { number(point.value) } else { Value::Null });
                }
                if let Some(radius) = point.radius {
                    has_sizes = true;
                    row.insert("v".into(), number(point.size));
                    if radius > 1.2 {
                        largest = f64::max(largest, point.size / (radius * radius));
                    }
                }
                if !series.is_empty() {
                    row.insert("s".into(), series.as_str().into());
                }
                unit.rows.push(row.into());
            }
        }
        let (size, opacity) = self.point_look(unit.rows.len());
        unit.mark = json!({ "type": "circle", "clip": true, "size": size });
        unit.encoding.insert("x".into(), self.position(Side::X, "x", false));
        unit.encoding.insert("y".into(), self.position(Side::Y, "y", false));
        let (series, color) = first.unwrap_or(("", None));
        let mut tooltip = self.point_tooltip(&mut unit, !series.is_empty());
        match color {
            Some(color) => self.keyed(&mut unit, series, color, if has_sizes { 0.55 } else { opacity }),
            None => {
                unit.mark["opacity"] = if has_sizes { 0.55 } else { f64::max(opacity, 0.6) }.into();
                let mut scale = self.color_scale("c");
                scale["condition"] = json!({ "test": "datum.c === null", "value": "#999999" });
                unit.encoding.insert("color".into(), scale);
                tooltip.push(self.color_tooltip("c"));
            }
        }
        if has_sizes {
            // The area of a point is proportional, as in the picture.
            let top = 26.0 * 26.0 * std::f64::consts::PI / 4.0;
            let text = hex(colors(self.plot.style.theme).text);
            let most = if largest > 0.0 { largest * 13.0 * 13.0 } else { 1.0 };
            unit.encoding.insert(
                "size".into(),
                json!({
                    "field": "v", "type": "quantitative", "scale": { "domain": [0, number(most)], "range": [0, top.round()] },
                    "legend": { "title": self.data.size_label, "symbolOpacity": 0.55, "symbolFillColor": text, "tickCount": 3 },
                }),
            );
            let title = tooltip_title(&self.data.size_label);
            tooltip.push(json!({ "field": "v", "type": "quantitative", "title": title, "format": "," }));
        }
        unit.encoding.insert("tooltip".into(), tooltip.into());
        unit
    }

    pub fn rules(&self, shapes: &[Shape]) -> Vec<Unit> {
        let mut units = Vec::new();
        let text = hex(colors(self.plot.style.theme).text);
        for shape in shapes {
            let Shape::Rule { at, is_vertical, label } = shape else { continue };
            let side = if *is_vertical { Side::X } else { Side::Y };
            let field = if *is_vertical { "x" } else { "y" };
            let row = json!({ field: self.value(side, *at), "l": label });
            let mut line = Unit { rows: vec![row], ..Unit::default() };
            line.mark =
                json!({ "type": "rule", "color": text, "strokeWidth": 1.4, "strokeDash": [5, 3], "clip": true });
            line.encoding.insert(field.into(), self.position(side, field, false));
            let mut tooltip = vec![self.told(&mut line, side, field, &self.title_of(side))];
            tooltip.push(json!({ "field": "l", "type": "nominal", "title": "line" }));
            line.encoding.insert("tooltip".into(), tooltip.into());
            units.push(line);
            if !label.is_empty() {
                let mut words = Unit { shares_rows: true, ..Unit::default() };
                words.mark = match *is_vertical != self.plot.style.is_horizontal {
                    true => {
                        json!({ "type": "text", "color": text, "fontSize": 10.5, "align": "right", "dx": -4, "baseline": "top", "y": 2, "clip": true })
                    }
                    false => {
                        json!({ "type": "text", "color": text, "fontSize": 10.5, "align": "right", "dx": -4, "dy": -4, "baseline": "bottom", "x": "width", "clip": true })
                    }
                };
                words.encoding.insert(field.into(), self.position(side, field, false));
                words.encoding.insert("text".into(), json!({ "field": "l", "type": "nominal" }));
                units.push(words);
            }
        }
        units
    }

    pub fn boxes(&self, shapes: &[Shape]) -> Vec<Unit> {
        let (mut rows, mut outside) = (Vec::new(), Vec::new());
        let mut paint = RGBColor(0, 0, 0);
        for shape in shapes {
            let Shape::Box { x, stats, outliers, color, .. } = shape else { continue };
            paint = *color;
            let at = self.value(Side::X, *x);
            let [low, q1, median, q3, high] = stats.map(|v| self.value(Side::Y, v));
            rows.push(json!({ "x": at, "low": low, "q1": q1, "median": median, "q3": q3, "high": high }));
            outside.extend(outliers.iter().map(|v| json!({ "x": at, "y": self.value(Side::Y, *v) })));
        }
        let paint = hex(paint);
        let words = [
            ("high", "upper whisker"),
            ("q3", "upper quartile"),
            ("median", "median"),
            ("q1", "lower quartile"),
            ("low", "lower whisker"),
        ];
        let make = |mark: Value, low: &str, high: Option<&str>| {
            let mut unit = Unit { mark, shares_rows: true, ..Unit::default() };
            unit.encoding.insert("x".into(), self.position(Side::X, "x", false));
            unit.encoding.insert("y".into(), self.position(Side::Y, low, false));
            if let Some(high) = high {
                unit.encoding.insert("y2".into(), json!({ "field": high }));
            }
            let mut tooltip = vec![self.told(&mut unit, Side::X, "x", &self.title_of(Side::X))];
            tooltip.extend(words.map(|(field, title)| self.told(&mut unit, Side::Y, field, title)));
            unit.encoding.insert("tooltip".into(), tooltip.into());
            unit
        };
        let slot = self.pixels(Side::X) * 0.85 / self.data.x.categories.len().max(1) as f64;
        let rule = json!({ "type": "rule", "color": paint, "strokeWidth": 1.5, "clip": true });
        let cap = json!({ "type": "tick", "color": paint, "thickness": 1.5, "size": slot * 0.28, "clip": true });
        let body = json!({
            "type": "bar", "fill": paint, "fillOpacity": 0.35, "stroke": paint, "strokeWidth": 1.5, "size": slot * 0.56, "clip": true,
        });
        let middle = json!({ "type": "tick", "color": paint, "thickness": 2.5, "size": slot * 0.56, "clip": true });
        let mut units = vec![
            make(rule.clone(), "low", Some("q1")),
            make(rule, "q3", Some("high")),
            make(cap.clone(), "low", None),
            make(cap, "high", None),
            make(body, "q1", Some("q3")),
            make(middle, "median", None),
        ];
        units[0].shares_rows = false;
        units[0].rows = rows;
        if !outside.is_empty() {
            let mut unit = Unit { rows: outside, ..Unit::default() };
            unit.mark = json!({ "type": "circle", "size": 12, "opacity": 0.5, "color": paint, "clip": true });
            unit.encoding.insert("x".into(), self.position(Side::X, "x", false));
            unit.encoding.insert("y".into(), self.position(Side::Y, "y", false));
            let tooltip = self.point_tooltip(&mut unit, false);
            unit.encoding.insert("tooltip".into(), tooltip.into());
            units.push(unit);
        }
        units
    }

    /// As in the picture, in cells of about the same size.
    fn cell_labels(&self) -> Option<Vec<String>> {
        let side = |pixels: f64, scale: &Scale| pixels * 0.72 / (scale.high - scale.low);
        cell_labels(self.data, side(self.size.0, &self.data.x), side(self.size.1, &self.data.y))
    }

    pub fn cells(&self, shapes: &[Shape]) -> Vec<Unit> {
        let labels = self.cell_labels();
        let mut unit = Unit::default();
        for (i, shape) in shapes.iter().enumerate() {
            let Shape::Cell { column, row, value, color } = shape else { continue };
            let mut cell = Map::new();
            cell.insert("x".into(), self.value(Side::X, *column as f64));
            cell.insert("y".into(), self.value(Side::Y, *row as f64));
            cell.insert("c".into(), number(*value));
            if let Some(labels) = &labels {
                cell.insert("l".into(), labels.get(i).map_or("", String::as_str).into());
                cell.insert("b".into(), u8::from(is_bright(*color)).into());
            }
            unit.rows.push(cell.into());
        }
        unit.mark = json!({ "type": "rect" });
        unit.encoding.insert("x".into(), self.position(Side::X, "x", true));
        unit.encoding.insert("y".into(), self.position(Side::Y, "y", true));
        unit.encoding.insert("color".into(), self.color_scale("c"));
        let mut tooltip = self.point_tooltip(&mut unit, false);
        tooltip.push(self.color_tooltip("c"));
        unit.encoding.insert("tooltip".into(), tooltip.into());
        let mut units = vec![unit];
        if labels.is_some() {
            let mut text = Unit { shares_rows: true, ..Unit::default() };
            text.mark = json!({ "type": "text", "fontSize": 10, "tooltip": null });
            text.encoding.insert("x".into(), self.position(Side::X, "x", true));
            text.encoding.insert("y".into(), self.position(Side::Y, "y", true));
            text.encoding.insert("text".into(), json!({ "field": "l", "type": "nominal" }));
            text.encoding.insert(
                "color".into(),
                json!({ "condition": { "test": "datum.b === 1", "value": "#000000" }, "value": "#ffffff" }),
            );
            units.push(text);
        }
        units
    }
}

fn numbers_of(dashes: Option<&str>) -> Vec<f64> {
    dashes.map_or(vec![1.0, 0.0], |d| d.split(' ').filter_map(|n| n.parse().ok()).collect())
}
