//! Plots as Vega-Lite 5, which JupyterLab and VS Code draw with tooltips, zoom and selection: the same shapes, colours, ranges
//! and notes as the picture. Draws nothing itself.
//!
//! Columns never give their names to fields: Vega-Lite reads `a.b` and `a[0]` as paths. Names, titles and values are plain
//! strings of the specification, which Vega does not read as markup or expressions.

use onrush_wire::plot::{AxisScale, Plot, Theme};
use plotters::style::RGBColor;
use serde_json::{Map, Value, json};

use super::chart;
use super::data::{Data, Shape};
use super::marks::{cell_labels, is_bright, point_look as marks_look};
use super::scale::Scale;
use super::theme::{colors, text_width};

/// What a front end draws by itself.
pub const MIME: &str = "application/vnd.vegalite.v5+json";

/// Largest specification that goes into a bundle, in bytes.
pub const LIMIT: usize = 512 * 1024;

/// Points that go into one; of more, each series keeps its share. A point takes about 40 bytes.
const POINTS: usize = 8_000;

/// Marks of one kind that follow each other.
#[derive(Default)]
struct Unit {
    rows: Vec<Value>,
    transform: Vec<Value>,
    mark: Value,
    encoding: Map<String, Value>,
    /// Whether series are told apart in it.
    is_keyed: bool,
    /// Draws the same rows as the unit before it.
    shares_rows: bool,
}

/// The specification; `None` where it would be larger than [`LIMIT`]. `alt` is what a screen reader says.
pub fn spec(plot: &Plot, alt: &str) -> Option<Value> {
    let mut data = Data::of(plot);
    if data.is_empty() {
        return None;
    }
    thin(&mut data);
    let spec = Spec { plot, data: &data }.whole(alt);
    (serde_json::to_string(&spec).map_or(usize::MAX, |text| text.len()) <= LIMIT).then_some(spec)
}

/// Fewer points where there are more than [`POINTS`], and a note about it.
fn thin(data: &mut Data) {
    let count = |shape: &Shape| match shape {
        Shape::Line { points, .. } | Shape::Points { points, .. } => points.len(),
        Shape::Area { upper, .. } => upper.len(),
        Shape::ColoredPoints { points } => points.len(),
        Shape::Box { outliers, .. } => outliers.len(),
        Shape::Bar { .. } | Shape::Cell { .. } => 1,
    };
    let all: usize = data.shapes.iter().map(count).sum();
    if all <= POINTS {
        return;
    }
    let every = all.div_ceil(POINTS);
    let mut drawn = 0;
    for shape in &mut data.shapes {
        match shape {
            Shape::Line { points, .. } => *points = extremes(points, every),
            Shape::Points { points, .. } => *points = points.iter().copied().step_by(every).collect(),
            Shape::ColoredPoints { points } => *points = points.iter().copied().step_by(every).collect(),
            Shape::Area { upper, lower, .. } => {
                *upper = upper.iter().copied().step_by(every).collect();
                *lower = lower.iter().copied().step_by(every).collect();
            }
            Shape::Box { outliers, .. } => *outliers = outliers.iter().copied().step_by(every).collect(),
            Shape::Bar { .. } | Shape::Cell { .. } => {}
        }
        drawn += count(shape);
    }
    data.notes.push(format!("{drawn} of {all} points here, all of them in the picture"));
}

/// Of each stretch the lowest and the highest point.
fn extremes(points: &[(f64, f64)], every: usize) -> Vec<(f64, f64)> {
    let stretches = points.chunks((2 * every).max(2));
    stretches
        .flat_map(|stretch| {
            let by = |a: &usize, b: &usize| stretch[*a].1.total_cmp(&stretch[*b].1);
            let low = (0..stretch.len()).min_by(by).unwrap_or(0);
            let high = (0..stretch.len()).max_by(by).unwrap_or(0);
            let mut both = vec![low.min(high), low.max(high)];
            both.dedup();
            both.into_iter().map(|i| stretch[i]).collect::<Vec<_>>()
        })
        .collect()
}

struct Spec<'a> {
    plot: &'a Plot,
    data: &'a Data,
}

/// An axis of the plot.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    X,
    Y,
}

impl Spec<'_> {
    fn whole(&self, alt: &str) -> Value {
        let (width, height) = chart::size(self.plot);
        let mut datasets = Map::new();
        let mut layers = Vec::new();
        let mut parameters = self.parameters();
        for unit in self.units() {
            if !unit.shares_rows {
                datasets.insert(format!("d{}", datasets.len()), unit.rows.into());
            }
            let mut layer = Map::new();
            layer.insert("data".into(), json!({ "name": format!("d{}", datasets.len() - 1) }));
            if !unit.transform.is_empty() {
                layer.insert("transform".into(), unit.transform.into());
            }
            layer.insert("mark".into(), unit.mark);
            layer.insert("encoding".into(), unit.encoding.into());
            let here: Vec<Value> =
                parameters.extract_if(.., |(needs_key, _)| !*needs_key || unit.is_keyed).map(|p| p.1).collect();
            if !here.is_empty() {
                layer.insert("params".into(), here.into());
            }
            layers.push(Value::from(layer));
        }
        let mut spec = json!({
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "description": alt,
            "width": width,
            "height": height,
            "autosize": { "type": "fit", "contains": "padding" },
            "datasets": datasets,
            "layer": layers,
            "config": self.config(),
        });
        if let Some(title) = self.title() {
            spec["title"] = title;
        }
        spec
    }

    /// The title, and under it the notes.
    fn title(&self) -> Option<Value> {
        let text = self.plot.style.title.as_deref().filter(|t| !t.trim().is_empty());
        match (text, self.data.notes.is_empty()) {
            (None, true) => None,
            (Some(text), true) => Some(json!({ "text": text })),
            (None, false) => Some(json!({
                "text": self.data.notes, "orient": "bottom", "anchor": "start",
                "color": hex(colors(self.plot.style.theme).faint), "fontSize": 10.5, "fontWeight": "normal",
            })),
            (Some(text), false) => Some(json!({ "text": text, "subtitle": self.data.notes })),
        }
    }

    /// Zoom where an axis is continuous, and a legend that takes clicks. The flag: only where there are series.
    fn parameters(&self) -> Vec<(bool, Value)> {
        let mut all = Vec::new();
        let continuous = |scale: &Scale| scale.kind != AxisScale::Category;
        let mut sides = Vec::new();
        if continuous(&self.data.x) {
            sides.push("x");
        }
        // What stands on a base line keeps it.
        if continuous(&self.data.y) && !self.data.from_zero {
            sides.push("y");
        }
        if !sides.is_empty() {
            // The wheel alone scrolls the notebook.
            let wheel = "wheel![event.ctrlKey || event.metaKey || event.altKey]";
            all.push((
                false,
                json!({ "name": "zoom", "bind": "scales", "select": { "type": "interval", "encodings": sides, "zoom": wheel } }),
            ));
        }
        if self.has_legend() {
            all.push((
                true,
                json!({ "name": "chosen", "bind": "legend", "select": { "type": "point", "fields": ["s"] } }),
            ));
        }
        all
    }

    fn has_legend(&self) -> bool {
        self.data.color_range.is_none() && !chart::legend_entries(self.plot, self.data).is_empty()
    }

    fn units(&self) -> Vec<Unit> {
        let mut all: Vec<Unit> = Vec::new();
        let mut rest = self.data.shapes.as_slice();
        while let Some(first) = rest.first() {
            let kind = std::mem::discriminant(first);
            let length = rest.iter().take_while(|s| std::mem::discriminant(*s) == kind).count();
            let (these, others) = rest.split_at(length);
            rest = others;
            match first {
                Shape::Bar { .. } => all.push(self.bars(these)),
                Shape::Line { .. } => all.push(self.lines(these)),
                Shape::Area { .. } => all.push(self.areas(these)),
                Shape::Points { .. } => all.push(self.points(these)),
                Shape::ColoredPoints { .. } => all.push(self.colored_points(these)),
                Shape::Box { .. } => all.extend(self.boxes(these)),
                Shape::Cell { .. } => all.extend(self.cells(these)),
            }
        }
        all
    }

    fn scale(&self, side: Side) -> &Scale {
        match side {
            Side::X => &self.data.x,
            Side::Y => &self.data.y,
        }
    }

    /// A drawn position as a value of its column.
    fn value(&self, side: Side, at: f64) -> Value {
        let scale = self.scale(side);
        let at = if at == f64::NEG_INFINITY { scale.low } else { at };
        match scale.kind {
            AxisScale::Category => {
                scale.categories.get(at.round().max(0.0) as usize).map_or(Value::Null, |c| c.as_str().into())
            }
            AxisScale::Time => number((at * 1000.0).round()),
            AxisScale::Number if scale.log => number(10f64.powf(at)),
            AxisScale::Number => number(at),
        }
    }

    /// The channel of a position: scale, axis and title are those of the picture.
    fn position(&self, side: Side, field: &str, bands: bool) -> Value {
        let scale = self.scale(side);
        let (x_label, y_label) = chart::labels(self.plot, self.data);
        let label = if side == Side::X { x_label } else { y_label };
        let title = if label.is_empty() { Value::Null } else { label.into() };
        let mut axis = Map::new();
        let mut channel = match scale.kind {
            AxisScale::Category => {
                let mut domain = scale.categories.clone();
                if side == Side::Y {
                    domain.reverse();
                }
                let padding = if bands { json!(0) } else { json!(0.2) };
                axis.insert("grid".into(), false.into());
                if side == Side::X {
                    let slot = f64::from(chart::size(self.plot).0) * 0.82 / domain.len().max(1) as f64;
                    let widest = domain.iter().map(|c| text_width(c, 11.0)).fold(0.0, f64::max);
                    let is_turned = widest + 6.0 > slot;
                    axis.insert("labelAngle".into(), if is_turned { -40 } else { 0 }.into());
                }
                // Names that fit beside each other are all written, which Vega would not do with turned ones.
                let pixels = if side == Side::X { chart::size(self.plot).0 } else { chart::size(self.plot).1 };
                let is_crowded = f64::from(pixels) * 0.8 / (domain.len().max(1) as f64) < 13.0;
                axis.insert("labelOverlap".into(), is_crowded.into());
                json!({
                    "type": "nominal",
                    "scale": { "type": "band", "domain": domain, "paddingInner": padding, "paddingOuter": if bands { 0.0 } else { 0.1 } },
                })
            }
            kind => {
                let domain = [self.value(side, scale.low), self.value(side, scale.high)];
                let mut own = json!({ "domain": domain, "nice": false });
                let mut what = "quantitative";
                match kind {
                    AxisScale::Time => {
                        own["type"] = "utc".into();
                        what = "temporal";
                    }
                    _ if scale.log => own["type"] = "log".into(),
                    _ => own["zero"] = false.into(),
                }
                if side == Side::X && self.data.histogram {
                    axis.insert("grid".into(), false.into());
                }
                if let Some(format) = self.format(side) {
                    axis.insert("format".into(), format.into());
                }
                let (width, height) = chart::size(self.plot);
                let ticks = if side == Side::X { width / 80 } else { height / 55 };
                axis.insert("tickCount".into(), ticks.max(2).into());
                json!({ "type": what, "scale": own })
            }
        };
        channel["field"] = field.into();
        channel["title"] = title;
        channel["axis"] = axis.into();
        channel
    }

    /// How numbers of an axis are written: with a unit where the picture has one.
    fn format(&self, side: Side) -> Option<String> {
        let scale = self.scale(side);
        let largest = scale.low.abs().max(scale.high.abs());
        match scale.kind {
            AxisScale::Number => Some(
                match largest {
                    _ if scale.log => "~s",
                    l if l >= 1e6 => "~s",
                    l if l >= 1e4 => ",~r",
                    l if l < 1e-4 => "~e",
                    _ => "~r",
                }
                .to_string(),
            ),
            AxisScale::Time | AxisScale::Category => None,
        }
    }

    /// A line of a tooltip. Moments are written by an expression, since tooltips know the reader's time zone only.
    fn told(&self, unit: &mut Unit, side: Side, field: &str, title: &str) -> Value {
        let title = tooltip_title(title);
        match self.scale(side).kind {
            AxisScale::Category => json!({ "field": field, "type": "nominal", "title": title }),
            AxisScale::Number => json!({ "field": field, "type": "quantitative", "title": title, "format": "," }),
            AxisScale::Time => {
                let text = format!("{field}_text");
                unit.transform
                    .push(json!({ "calculate": format!("utcFormat(datum.{field}, '%Y-%m-%d %H:%M')"), "as": text }));
                json!({ "field": text, "type": "nominal", "title": title })
            }
        }
    }

    fn title_of(&self, side: Side) -> String {
        let (x, y) = chart::labels(self.plot, self.data);
        let label = if side == Side::X { x } else { y };
        match (label.is_empty(), side) {
            (false, _) => label,
            (true, Side::X) => "x".into(),
            (true, Side::Y) => "y".into(),
        }
    }

    /// The colour of a series, the legend, and what a click on it does.
    fn keyed(&self, unit: &mut Unit, series: &str, color: RGBColor, opacity: f64) {
        if series.is_empty() {
            unit.mark["color"] = hex(color).into();
            unit.mark["opacity"] = opacity.into();
            return;
        }
        unit.is_keyed = true;
        unit.encoding.insert("color".into(), self.color_channel());
        let full = json!({ "value": opacity });
        let opacity = if self.has_legend() {
            json!({ "condition": { "param": "chosen", "value": opacity }, "value": opacity * 0.12 })
        } else {
            full
        };
        unit.encoding.insert("opacity".into(), opacity);
    }

    fn color_channel(&self) -> Value {
        let keys = &self.data.keys;
        let names: Vec<&str> = keys.iter().map(|k| k.name.as_str()).collect();
        let range: Vec<String> = keys.iter().map(|k| hex(k.color)).collect();
        let legend = if self.has_legend() {
            let title = self.plot.style.legend_title.as_deref().map_or(Value::Null, Value::from);
            json!({ "title": title, "labelLimit": 130, "symbolOpacity": 1 })
        } else {
            Value::Null
        };
        json!({ "field": "s", "type": "nominal", "scale": { "domain": names, "range": range }, "legend": legend })
    }

    fn series_tooltip(&self) -> Value {
        let title = self.plot.style.legend_title.as_deref().filter(|t| !t.is_empty()).unwrap_or("series");
        json!({ "field": "s", "type": "nominal", "title": tooltip_title(title) })
    }

    fn bars(&self, shapes: &[Shape]) -> Unit {
        let mut unit = Unit::default();
        let is_category = self.data.x.kind == AxisScale::Category;
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
        tooltip.push(self.told(&mut unit, Side::Y, value, &self.title_of(Side::Y)));
        if !names.is_empty() {
            tooltip.push(self.series_tooltip());
        }
        unit.encoding.insert("tooltip".into(), tooltip.into());
        if let Some((series, color, opacity)) = first {
            self.keyed(&mut unit, series, color, opacity);
        }
        unit
    }

    fn point_tooltip(&self, unit: &mut Unit, is_keyed: bool) -> Vec<Value> {
        let mut tooltip = vec![
            self.told(unit, Side::X, "x", &self.title_of(Side::X)),
            self.told(unit, Side::Y, "y", &self.title_of(Side::Y)),
        ];
        if is_keyed {
            tooltip.push(self.series_tooltip());
        }
        tooltip
    }

    /// Lines of several series, each in its pieces.
    fn lines(&self, shapes: &[Shape]) -> Unit {
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
        // A curve goes as its points do, not from left to right.
        if !is_forward {
            for (i, row) in unit.rows.iter_mut().enumerate() {
                row["o"] = i.into();
            }
            unit.encoding.insert("order".into(), json!({ "field": "o", "type": "quantitative" }));
        }
        let width = if longest > 500 { 1.3 } else { 2.0 };
        unit.mark = json!({ "type": "line", "clip": true, "strokeWidth": width, "strokeJoin": "round" });
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

    fn areas(&self, shapes: &[Shape]) -> Unit {
        let mut unit = Unit::default();
        let mut first = None;
        for (piece, shape) in shapes.iter().enumerate() {
            let Shape::Area { series, upper, lower, color, opacity } = shape else { continue };
            first.get_or_insert((series.as_str(), *color, *opacity));
            for (top, bottom) in upper.iter().zip(lower) {
                let mut row = Map::new();
                row.insert("x".into(), self.value(Side::X, top.0));
                row.insert("y".into(), self.value(Side::Y, top.1));
                row.insert("y2".into(), self.value(Side::Y, bottom.1));
                if !self.data.y.log && bottom.1.is_finite() {
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
        y["stack"] = Value::Null;
        unit.encoding.insert("y".into(), y);
        unit.encoding.insert("y2".into(), json!({ "field": "y2" }));
        if shapes.len() > 1 {
            unit.encoding.insert("detail".into(), json!({ "field": "p", "type": "nominal" }));
        }
        let Some((series, color, opacity)) = first else { return unit };
        self.keyed(&mut unit, series, color, opacity);
        let x = self.told(&mut unit, Side::X, "x", &self.title_of(Side::X));
        let value = if self.data.y.log { "y" } else { "v" };
        let mut tooltip = vec![x, self.told(&mut unit, Side::Y, value, &self.title_of(Side::Y))];
        if !series.is_empty() {
            tooltip.push(self.series_tooltip());
        }
        unit.encoding.insert("tooltip".into(), tooltip.into());
        unit
    }

    fn points(&self, shapes: &[Shape]) -> Unit {
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
        let (size, opacity) = point_look(unit.rows.len());
        unit.mark = json!({ "type": "circle", "clip": true, "size": size });
        unit.encoding.insert("x".into(), self.position(Side::X, "x", false));
        unit.encoding.insert("y".into(), self.position(Side::Y, "y", false));
        let Some((series, color)) = first else { return unit };
        self.keyed(&mut unit, series, color, opacity);
        let tooltip = self.point_tooltip(&mut unit, !series.is_empty());
        unit.encoding.insert("tooltip".into(), tooltip.into());
        unit
    }

    fn colored_points(&self, shapes: &[Shape]) -> Unit {
        let mut unit = Unit::default();
        for shape in shapes {
            let Shape::ColoredPoints { points } = shape else { continue };
            for (x, y, c) in points {
                let color = if c.is_finite() { number(*c) } else { Value::Null };
                unit.rows.push(json!({ "x": self.value(Side::X, *x), "y": self.value(Side::Y, *y), "c": color }));
            }
        }
        let (size, opacity) = point_look(unit.rows.len());
        unit.mark = json!({ "type": "circle", "clip": true, "size": size, "opacity": f64::max(opacity, 0.6) });
        unit.encoding.insert("x".into(), self.position(Side::X, "x", false));
        unit.encoding.insert("y".into(), self.position(Side::Y, "y", false));
        let mut color = self.color_scale("c");
        color = json!({ "condition": { "test": "datum.c === null", "value": "#999999" }, "field": "c", "type": color["type"], "scale": color["scale"], "legend": color["legend"] });
        unit.encoding.insert("color".into(), color);
        let mut tooltip = self.point_tooltip(&mut unit, false);
        tooltip.push(self.color_tooltip("c"));
        unit.encoding.insert("tooltip".into(), tooltip.into());
        unit
    }

    fn color_scale(&self, field: &str) -> Value {
        let (low, high, label) = self.data.color_range.clone().unwrap_or((0.0, 1.0, String::new()));
        let title = if label.is_empty() { Value::Null } else { label.into() };
        let (_, height) = chart::size(self.plot);
        json!({
            "field": field,
            "type": "quantitative",
            "scale": { "domain": [number(low), number(high)], "scheme": "viridis", "zero": false, "nice": false },
            "legend": { "title": title, "gradientOpacity": 1, "gradientLength": (f64::from(height) * 0.6).round() },
        })
    }

    fn color_tooltip(&self, field: &str) -> Value {
        let label = self.data.color_range.as_ref().map_or("value", |c| c.2.as_str());
        let title = if label.is_empty() { "value".to_string() } else { tooltip_title(label) };
        json!({ "field": field, "type": "quantitative", "title": title, "format": "," })
    }

    fn boxes(&self, shapes: &[Shape]) -> Vec<Unit> {
        let (mut rows, mut outside) = (Vec::new(), Vec::new());
        let mut paint = RGBColor(0, 0, 0);
        for shape in shapes {
            let Shape::Box { x, stats, outliers, color } = shape else { continue };
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
        let slot = f64::from(chart::size(self.plot).0) * 0.85 / self.data.x.categories.len().max(1) as f64;
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

    /// The picture's, in cells of about the same size.
    fn cell_labels(&self) -> Option<Vec<String>> {
        let (width, height) = chart::size(self.plot);
        let side = |pixels: u32, scale: &Scale| f64::from(pixels) * 0.72 / (scale.high - scale.low);
        cell_labels(self.data, side(width, &self.data.x), side(height, &self.data.y))
    }

    fn cells(&self, shapes: &[Shape]) -> Vec<Unit> {
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

    fn config(&self) -> Value {
        let colors = colors(self.plot.style.theme);
        let text = hex(colors.text);
        let faint = hex(colors.faint);
        let background = match self.plot.style.theme {
            Theme::Auto => "transparent".to_string(),
            Theme::Light | Theme::Dark => colors.background.map_or("transparent".to_string(), hex),
        };
        json!({
            "background": background,
            "font": "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif",
            "locale": { "number": { "decimal": ".", "thousands": "\u{202f}", "grouping": [3], "currency": ["", ""], "minus": "−" } },
            "view": { "stroke": null },
            "axis": {
                "labelColor": text, "titleColor": text, "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal",
                "grid": true, "gridColor": hex(colors.grid), "gridOpacity": colors.grid_opacity, "ticks": false, "domainColor": faint,
                "labelPadding": 5, "labelLimit": 110,
            },
            "axisY": { "domain": false, "labelLimit": 160 },
            "legend": { "labelColor": text, "titleColor": text, "labelFontSize": 11, "titleFontSize": 11 },
            "title": {
                "color": text, "subtitleColor": faint, "fontSize": 15, "fontWeight": 600, "subtitleFontSize": 10.5, "anchor": "middle",
                "offset": 8,
            },
        })
    }
}

/// Area of a point in pixels and its opacity, as in the picture.
fn point_look(count: usize) -> (f64, f64) {
    let (radius, opacity) = marks_look(count);
    ((radius * radius * std::f64::consts::PI).round(), opacity)
}

/// A tooltip's `image` would be loaded and its `title` be set apart.
fn tooltip_title(title: &str) -> String {
    match title {
        "image" | "title" => format!("{title} "),
        other => other.to_string(),
    }
}

fn numbers_of(dashes: Option<&str>) -> Vec<f64> {
    dashes.map_or(vec![1.0, 0.0], |d| d.split(' ').filter_map(|n| n.parse().ok()).collect())
}

fn hex(RGBColor(r, g, b): RGBColor) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Seven significant digits; whole numbers in full.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return (value as i64).into();
    }
    let rounded: f64 = format!("{value:.6e}").parse().unwrap_or(value);
    serde_json::Number::from_f64(rounded).map_or(Value::Null, Value::Number)
}
