//! Rows and marks of intervals, candles, hexagons, spans and text.

use plotters::style::RGBColor;
use serde_json::{Map, Value, json};

use super::super::shapes::Shape;
use super::super::theme::colors;
use super::{Side, Spec, Unit, hex, number};

impl Spec<'_> {
    /// Bars from one value to another with short lines at their ends.
    pub fn intervals(&self, shapes: &[Shape]) -> Vec<Unit> {
        let mut line = Unit::default();
        let (mut first, mut has_caps) = (None, 0.0);
        for shape in shapes {
            let Shape::Interval { series, at, ends, color, width, cap } = shape else { continue };
            first.get_or_insert((series.as_str(), *color, *width));
            has_caps = f64::max(has_caps, *cap);
            let mut row = Map::new();
            row.insert("x".into(), self.value(Side::X, *at));
            row.insert("low".into(), self.value(Side::Y, ends.0));
            row.insert("high".into(), self.value(Side::Y, ends.1));
            if !series.is_empty() {
                row.insert("s".into(), series.as_str().into());
            }
            line.rows.push(row.into());
        }
        let Some((series, color, width)) = first else { return Vec::new() };
        let mark = json!({ "type": "rule", "strokeWidth": width, "clip": true });
        let rows = std::mem::take(&mut line.rows);
        let make = |mark: Value, y: &str, y2: Option<&str>| {
            let mut unit = Unit { mark, shares_rows: y2.is_none(), ..Unit::default() };
            unit.encoding.insert("x".into(), self.position(Side::X, "x", false));
            unit.encoding.insert("y".into(), self.position(Side::Y, y, false));
            if let Some(y2) = y2 {
                unit.encoding.insert("y2".into(), json!({ "field": y2 }));
            }
            self.keyed(&mut unit, series, color, 1.0);
            let mut tooltip = vec![self.told(&mut unit, Side::X, "x", &self.title_of(Side::X))];
            tooltip.push(self.told(&mut unit, Side::Y, "low", "from"));
            tooltip.push(self.told(&mut unit, Side::Y, "high", "to"));
            if !series.is_empty() {
                tooltip.push(self.series_tooltip());
            }
            unit.encoding.insert("tooltip".into(), tooltip.into());
            unit
        };
        let mut units = vec![make(mark, "low", Some("high"))];
        units[0].rows = rows;
        if has_caps > 0.0 {
            let orient = if self.plot.style.is_horizontal { "vertical" } else { "horizontal" };
            let cap = json!({ "type": "tick", "orient": orient, "thickness": width, "size": has_caps, "clip": true });
            units.push(make(cap.clone(), "low", None));
            units.push(make(cap, "high", None));
        }
        units
    }

    pub fn candles(&self, shapes: &[Shape]) -> Vec<Unit> {
        let mut rows = Vec::new();
        let mut first = None;
        for shape in shapes {
            let Shape::Candle { series, at, half, prices, color } = shape else { continue };
            first.get_or_insert((series.as_str(), *color));
            let [open, high, low, close] = prices.map(|price| self.value(Side::Y, price));
            rows.push(json!({
                "x": self.value(Side::X, *at), "x1": self.value(Side::X, at - half), "x2": self.value(Side::X, at + half),
                "open": open, "high": high, "low": low, "close": close, "s": series,
            }));
        }
        let Some((series, color)) = first else { return Vec::new() };
        let make = |mark: Value, x: (&str, Option<&str>), y: (&str, &str)| {
            let mut unit = Unit { mark, shares_rows: x.1.is_some(), ..Unit::default() };
            unit.encoding.insert("x".into(), self.position(Side::X, x.0, false));
            if let Some(x2) = x.1 {
                unit.encoding.insert("x2".into(), json!({ "field": x2 }));
            }
            unit.encoding.insert("y".into(), self.position(Side::Y, y.0, false));
            unit.encoding.insert("y2".into(), json!({ "field": y.1 }));
            self.keyed(&mut unit, series, color, 1.0);
            let mut tooltip = vec![self.told(&mut unit, Side::X, "x", &self.title_of(Side::X))];
            let prices = ["open", "high", "low", "close"].map(|price| self.told(&mut unit, Side::Y, price, price));
            tooltip.extend(prices);
            unit.encoding.insert("tooltip".into(), tooltip.into());
            unit
        };
        let wick = json!({ "type": "rule", "strokeWidth": 1.2, "clip": true });
        let body = json!({ "type": "rect", "clip": true });
        let mut units =
            vec![make(wick, ("x", None), ("low", "high")), make(body, ("x1", Some("x2")), ("open", "close"))];
        units[0].rows = rows;
        units
    }

    /// Symbols of the size of the hexagons, in pixels of a plot that is not zoomed.
    pub fn hexagons(&self, shapes: &[Shape]) -> Unit {
        let mut unit = Unit::default();
        let mut size = (1.0, 1.0);
        for shape in shapes {
            let Shape::Hexagons { size: own, points } = shape else { continue };
            size = *own;
            for (point, _) in points {
                unit.rows.push(json!({
                    "x": self.value(Side::X, point.x), "y": self.value(Side::Y, point.y), "c": number(point.value),
                }));
            }
        }
        let share = |size: f64, side: Side| size / (self.scale(side).high - self.scale(side).low);
        let (half, third) = (share(size.0, Side::X) / 2.0, share(size.1, Side::Y) / 3.0);
        // Corners of the hexagon in parts of the plot: half of a column to each side, up to a third of two rows.
        let corners = [(0.0, -1.0), (1.0, -0.5), (1.0, 0.5), (0.0, 1.0), (-1.0, 0.5), (-1.0, -0.5)];
        let corners = corners.map(|(x, y)| (x * half * 1.01, y * third * 1.01));
        let shape = if self.place.is_faceted {
            let (width, height) = self.size;
            let points = corners.map(|(x, y)| format!("{:.3},{:.3}", x * width, y * height));
            json!(format!("M{}Z", points.join("L")))
        } else {
            // Axes and labels take a part of the width that only the front end knows.
            let points = corners.map(|(x, y)| format!("({x:.6} * width) + ',' + ({y:.6} * height)"));
            json!({ "expr": format!("'M' + {} + 'Z'", points.join(" + 'L' + ")) })
        };
        // Paths of symbols are scaled by half of the root of their area.
        unit.mark = json!({ "type": "point", "filled": true, "size": 4, "shape": shape, "opacity": 1, "clip": true });
        unit.encoding.insert("x".into(), self.position(Side::X, "x", false));
        unit.encoding.insert("y".into(), self.position(Side::Y, "y", false));
        unit.encoding.insert("color".into(), self.color_scale("c"));
        let mut tooltip = self.point_tooltip(&mut unit, false);
        tooltip.push(self.color_tooltip("c"));
        unit.encoding.insert("tooltip".into(), tooltip.into());
        unit
    }

    pub fn spans(&self, shapes: &[Shape]) -> Vec<Unit> {
        let mut units = Vec::new();
        let colors = colors(self.plot.style.theme);
        for shape in shapes {
            let Shape::Span { ends, is_vertical, label } = shape else { continue };
            let side = if *is_vertical { Side::X } else { Side::Y };
            let (from, to) = if *is_vertical { ("x", "x2") } else { ("y", "y2") };
            let row = json!({ from: self.value(side, ends.0), to: self.value(side, ends.1), "l": label });
            let mut unit = Unit { rows: vec![row], ..Unit::default() };
            let opacity = super::super::marks::SPAN;
            unit.mark = json!({ "type": "rect", "color": hex(colors.faint), "opacity": opacity, "clip": true });
            unit.encoding.insert(from.into(), self.position(side, from, false));
            unit.encoding.insert(to.into(), json!({ "field": to }));
            let tooltip = vec![self.told(&mut unit, side, from, "from"), self.told(&mut unit, side, to, "to")];
            unit.encoding.insert("tooltip".into(), tooltip.into());
            units.push(unit);
            if !label.is_empty() {
                let mut words = Unit { shares_rows: true, ..Unit::default() };
                words.mark = json!({
                    "type": "text", "color": hex(colors.text), "fontSize": 10.5, "align": "left", "dx": 4, "dy": 4,
                    "baseline": "top", "clip": true,
                });
                let is_across = *is_vertical != self.plot.style.is_horizontal;
                let (place, at) = if is_across { ("y", 0) } else { ("x", 0) };
                words.mark[place] = at.into();
                let field = if *is_vertical { from } else { to };
                words.encoding.insert(from.into(), self.position(side, field, false));
                words.encoding.insert("text".into(), json!({ "field": "l", "type": "nominal" }));
                units.push(words);
            }
        }
        units
    }

    pub fn texts(&self, shapes: &[Shape]) -> Vec<Unit> {
        let color: RGBColor = colors(self.plot.style.theme).text;
        let mut units = Vec::new();
        for shape in shapes {
            let Shape::Text { x, y, text } = shape else { continue };
            let row = json!({ "x": self.value(Side::X, *x), "y": self.value(Side::Y, *y), "l": text });
            let mut unit = Unit { rows: vec![row], ..Unit::default() };
            let is_left = shape.is_left_of(*x, (self.data.x.low, self.data.x.high));
            let (align, dx) = if is_left { ("right", -6) } else { ("left", 6) };
            unit.mark = json!({
                "type": "text", "color": hex(color), "fontSize": 11, "align": align, "dx": dx, "baseline": "middle",
                "tooltip": null,
            });
            unit.encoding.insert("x".into(), self.position(Side::X, "x", false));
            unit.encoding.insert("y".into(), self.position(Side::Y, "y", false));
            unit.encoding.insert("text".into(), json!({ "field": "l", "type": "nominal" }));
            units.push(unit);
        }
        units
    }
}
