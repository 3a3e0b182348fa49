//! Plots as Vega-Lite 5, which JupyterLab and VS Code draw with tooltips, zoom and selection: the same shapes, colours,
//! ranges and notes as the picture. Draws nothing itself.
//!
//! Columns never give their names to fields: Vega-Lite reads `a.b` and `a[0]` as paths. Names, titles and values are
//! plain strings of the specification, which Vega does not read as markup or expressions.

mod intervals;
mod units;

use std::collections::HashSet;

use onrush_wire::format_integer::thousands;
use onrush_wire::plot::{AxisScale, Plot, Theme};
use plotters::style::RGBColor;
use serde_json::{Map, Value, json};

use super::chart;
use super::data::{Data, Panel};
use super::format;
use super::scale::Scale;
use super::shapes::Shape;
use super::theme::{anchors, colors, text_width};

/// The MIME type that front ends draw themselves.
pub const MIME: &str = "application/vnd.vegalite.v5+json";

/// Largest specification that goes into a bundle, in bytes.
pub const LIMIT: usize = 512 * 1024;

/// Maximum number of points; above, each series keeps its share. A point takes about 40 bytes.
const POINTS: usize = 8_000;
/// Maximum width of names on an axis and in the legend, in pixels; longer names are truncated.
const X_LABEL: f64 = 110.0;
const Y_LABEL: f64 = 160.0;
const LEGEND_LABEL: f64 = 130.0;

/// Consecutive marks of one kind.
#[derive(Default)]
struct Unit {
    rows: Vec<Value>,
    transform: Vec<Value>,
    mark: Value,
    encoding: Map<String, Value>,
    /// Whether it distinguishes series.
    is_keyed: bool,
    /// Draws the same rows as the unit before it.
    shares_rows: bool,
}

/// The reasons for no specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    Empty,
    /// It would be larger than [`LIMIT`].
    TooLarge,
    /// It has a raster, which is a picture of pixels, or a map.
    Raster,
}

/// The specification. `alt` is the text for screen readers.
pub fn spec(plot: &Plot, alt: &str) -> Result<Value, Absent> {
    let layers = plot.layers.iter().chain(plot.facets.iter().flat_map(|facet| &facet.layers));
    if plot.style.map.is_some() || layers.into_iter().any(|layer| layer.mark().info().is_raster) {
        return Err(Absent::Raster);
    }
    let mut panels = Data::panels(plot);
    if panels.iter().all(|p| p.data.is_empty()) {
        return Err(Absent::Empty);
    }
    thin(&mut panels);
    let (width, height) = chart::size(plot);
    let (columns, rows) = chart::grid(plot);
    let is_faceted = !plot.facets.is_empty();
    // Axes and the legend are outside the panels.
    let size = match is_faceted {
        true => (
            (f64::from(width) - 110.0) / columns as f64 - 12.0,
            ((f64::from(height) - 60.0) / rows as f64 - 34.0).max(30.0),
        ),
        false => (f64::from(width), f64::from(height)),
    };
    // Properties that all panels share are set once.
    let differ = |of: fn(&Data) -> &String| panels.windows(2).any(|two| of(&two[0].data) != of(&two[1].data));
    let (own_x, own_y) = (differ(|d| &d.labels.0), differ(|d| &d.labels.1));
    let (own_x, own_y) = if plot.style.is_horizontal { (own_y, own_x) } else { (own_x, own_y) };
    let mut datasets = Map::new();
    let mut views = Vec::new();
    for (index, panel) in panels.iter().enumerate() {
        let place = Place {
            index,
            is_faceted,
            has_x_title: (own_x && !plot.style.is_grid) || index + columns >= panels.len(),
            has_y_title: (own_y && !plot.style.is_grid) || index % columns == 0,
        };
        views.push(Spec { plot, data: &panel.data, size, place }.view(&mut datasets, &panel.name));
    }
    let first = Spec {
        plot,
        data: &panels[0].data,
        size,
        place: Place { has_x_title: true, has_y_title: true, ..Place::default() },
    };
    let mut spec = Map::new();
    spec.insert("$schema".into(), "https://vega.github.io/schema/vega-lite/v5.json".into());
    spec.insert("description".into(), alt.into());
    spec.insert("datasets".into(), datasets.into());
    spec.insert("config".into(), first.config());
    if let Some(title) = first.title() {
        spec.insert("title".into(), title);
    }
    if is_faceted {
        spec.insert("concat".into(), views.into());
        spec.insert("columns".into(), columns.into());
        spec.insert("spacing".into(), 12.into());
        spec.insert(
            "resolve".into(),
            json!({ "scale": { "color": "shared", "size": "shared", "strokeDash": "shared" } }),
        );
    } else if let Some(Value::Object(view)) = views.pop() {
        spec.extend(view);
        spec.insert("autosize".into(), json!({ "type": "fit", "contains": "padding" }));
    }
    let spec = Value::from(spec);
    let length = serde_json::to_string(&spec).map_or(usize::MAX, |text| text.len());
    if length <= LIMIT { Ok(spec) } else { Err(Absent::TooLarge) }
}

/// Downsamples to [`POINTS`], and adds a note.
fn thin(panels: &mut [Panel]) {
    let count = |shape: &Shape| match shape {
        Shape::Line { points, .. } | Shape::Points { points, .. } => points.len(),
        Shape::Area { upper, .. } => upper.len(),
        Shape::ColoredPoints { points, .. } => points.len(),
        Shape::Box { outliers, .. } => outliers.len(),
        Shape::Hexagons { points, .. } => points.len(),
        _ => 1,
    };
    let all: usize = panels.iter().flat_map(|p| &p.data.shapes).map(count).sum();
    if all <= POINTS {
        return;
    }
    let every = all.div_ceil(POINTS);
    let mut drawn = 0;
    for shape in panels.iter_mut().flat_map(|p| &mut p.data.shapes) {
        match shape {
            Shape::Line { points, .. } => *points = extremes(points, every),
            Shape::Points { points, .. } => *points = points.iter().copied().step_by(every).collect(),
            Shape::ColoredPoints { points, .. } => *points = points.iter().copied().step_by(every).collect(),
            Shape::Area { upper, lower, .. } => {
                *upper = upper.iter().copied().step_by(every).collect();
                *lower = lower.iter().copied().step_by(every).collect();
            }
            Shape::Box { outliers, .. } => *outliers = outliers.iter().copied().step_by(every).collect(),
            // Everything else is kept.
            _ => {}
        }
        drawn += count(shape);
    }
    // Cells and bars are kept.
    if let Some(first) = panels.first_mut().filter(|_| drawn < all) {
        first.data.notes.push(format!(
            "{} of {} points here, all of them in the picture",
            thousands(drawn as u64),
            thousands(all as u64)
        ));
    }
}

/// The lowest and the highest point of each pixel bucket.
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

/// A view: the whole plot, or a panel of it.
struct Spec<'a> {
    plot: &'a Plot,
    data: &'a Data,
    /// In pixels; for a panel without axes and labels.
    size: (f64, f64),
    place: Place,
}

#[derive(Clone, Copy, Default)]
struct Place {
    index: usize,
    is_faceted: bool,
    has_x_title: bool,
    has_y_title: bool,
}

/// An axis of the plot.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    X,
    Y,
}

impl Spec<'_> {
    fn view(&self, datasets: &mut Map<String, Value>, name: &str) -> Value {
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
            let has_position = unit.encoding.contains_key("x") && unit.encoding.contains_key("y");
            let mut mark = unit.mark;
            if breaks_expressions(&unit.encoding) {
                mark["aria"] = false.into();
            }
            layer.insert("mark".into(), mark);
            layer.insert("encoding".into(), self.as_drawn(unit.encoding).into());
            let is_placed = has_position;
            let here: Vec<Value> = parameters
                .extract_if(.., |(needs_key, _)| if *needs_key { unit.is_keyed } else { is_placed })
                .map(|p| p.1)
                .collect();
            if !here.is_empty() {
                layer.insert("params".into(), here.into());
            }
            layers.push(Value::from(layer));
        }
        if layers.is_empty() {
            // Vega accepts no view without layers; an empty panel keeps its place.
            let words = json!({ "type": "text", "text": "no data to draw", "fontSize": 12, "color": hex(colors(self.plot.style.theme).faint) });
            layers.push(json!({ "data": { "values": [{}] }, "mark": words }));
        }
        let mut view = json!({ "width": self.size.0.round(), "height": self.size.1.round(), "layer": layers });
        if self.place.is_faceted {
            let limit = self.size.0.round();
            view["title"] = json!({ "text": name, "fontSize": 11, "fontWeight": "bold", "offset": 4, "limit": limit });
        }
        view
    }

    /// Maps channels of the data axes to channels of the drawn axes.
    fn as_drawn(&self, encoding: Map<String, Value>) -> Map<String, Value> {
        if !self.plot.style.is_horizontal {
            return encoding;
        }
        let exchanged = |name: String| match name.strip_prefix('x') {
            Some(rest) => format!("y{rest}"),
            None => name.strip_prefix('y').map(|rest| format!("x{rest}")).unwrap_or(name),
        };
        encoding.into_iter().map(|(name, channel)| (exchanged(name), channel)).collect()
    }

    /// The drawn axis of a data axis.
    fn drawn(&self, side: Side) -> Side {
        match (self.plot.style.is_horizontal, side) {
            (false, side) => side,
            (true, Side::X) => Side::Y,
            (true, Side::Y) => Side::X,
        }
    }

    /// Length in pixels of the drawn axis of a data axis.
    fn pixels(&self, side: Side) -> f64 {
        if self.drawn(side) == Side::X { self.size.0 } else { self.size.1 }
    }

    /// The title, and the notes as its subtitle.
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

    /// Zoom if an axis is continuous, and a clickable legend. The flag: only if there are series.
    fn parameters(&self) -> Vec<(bool, Value)> {
        let mut all = Vec::new();
        // Hexagons have the size of a plot that is not zoomed.
        let is_fixed = self.data.shapes.iter().any(|shape| matches!(shape, Shape::Hexagons { .. }));
        let continuous = |scale: &Scale| scale.kind != AxisScale::Category && !is_fixed;
        let mut sides = Vec::new();
        let name = |side| if self.drawn(side) == Side::X { "x" } else { "y" };
        if continuous(&self.data.x) {
            sides.push(name(Side::X));
        }
        // Marks on a base line keep it.
        if continuous(&self.data.y) && !self.data.from_zero {
            sides.push(name(Side::Y));
        }
        if !sides.is_empty() {
            // The wheel alone scrolls the notebook.
            let wheel = "wheel![event.ctrlKey || event.metaKey || event.altKey]";
            all.push((
                false,
                json!({ "name": format!("zoom{}", self.place.index), "bind": "scales", "select": { "type": "interval", "encodings": sides, "zoom": wheel } }),
            ));
        }
        // The legend of the first panel is shared.
        if self.has_legend() && self.place.index == 0 {
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
            let length = rest.iter().take_while(|shape| shape.shares_mark(first)).count();
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
                Shape::Rule { .. } => all.extend(self.rules(these)),
                Shape::Interval { .. } => all.extend(self.intervals(these)),
                Shape::Candle { .. } => all.extend(self.candles(these)),
                Shape::Hexagons { .. } => all.push(self.hexagons(these)),
                Shape::Span { .. } => all.extend(self.spans(these)),
                Shape::Text { .. } => all.extend(self.texts(these)),
                Shape::Image { .. } | Shape::Regions { .. } => {}
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

    fn label(&self, side: Side) -> &String {
        match side {
            Side::X => &self.data.labels.0,
            Side::Y => &self.data.labels.1,
        }
    }

    /// A drawn position as a value of its column.
    fn value(&self, side: Side, at: f64) -> Value {
        let scale = self.scale(side);
        let at = if at == f64::NEG_INFINITY { scale.low } else { at };
        match scale.kind {
            AxisScale::Category if self.is_spread(side) => number(at),
            AxisScale::Category => {
                scale.categories.get(at.round().max(0.0) as usize).map_or(Value::Null, |c| c.as_str().into())
            }
            AxisScale::Time => number((at * 1000.0).round()),
            AxisScale::Number if scale.log => number(10f64.powf(at)),
            AxisScale::Number => number(at),
        }
    }

    /// The channel of a position: scale, axis and title as in the picture.
    fn position(&self, side: Side, field: &str, bands: bool) -> Value {
        let scale = self.scale(side);
        let label = self.label(side);
        let (drawn, pixels) = (self.drawn(side), self.pixels(side));
        let is_titled = if drawn == Side::X { self.place.has_x_title } else { self.place.has_y_title };
        let title = if label.is_empty() || !is_titled { Value::Null } else { label.as_str().into() };
        let mut axis = Map::new();
        let mut channel = match scale.kind {
            AxisScale::Category if self.is_spread(side) => self.spread_position(side, &mut axis),
            AxisScale::Category => {
                let mut domain = scale.categories.clone();
                if side == Side::Y {
                    domain.reverse();
                }
                let padding = if bands { json!(0) } else { json!(0.2) };
                axis.insert("grid".into(), false.into());
                if drawn == Side::X {
                    let slot = pixels * 0.82 / domain.len().max(1) as f64;
                    let widest = domain.iter().map(|c| text_width(c, 11.0)).fold(0.0, f64::max);
                    // Numbers may be skipped, names are rotated.
                    let is_turned = widest + 6.0 > slot && !chart::are_numbers(&domain);
                    axis.insert("labelAngle".into(), if is_turned { -40 } else { 0 }.into());
                }
                // Names that fit next to each other are all shown; Vega would skip some if they were rotated.
                let slot = pixels * 0.8 / domain.len().max(1) as f64;
                let is_crowded = slot < 13.0 || (drawn == Side::X && chart::are_numbers(&domain));
                let is_lying = self.plot.style.is_horizontal && drawn == Side::Y;
                let limit = match drawn {
                    Side::X => X_LABEL,
                    Side::Y if is_lying => (self.size.0 * 0.35).round(),
                    Side::Y => Y_LABEL,
                };
                if is_lying {
                    axis.insert("labelLimit".into(), limit.into());
                }
                axis.extend(without_middle(&domain, limit).map(|written| ("labelExpr".to_string(), written)));
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
                let ticks = pixels / if drawn == Side::X { 80.0 } else { 55.0 };
                axis.insert("tickCount".into(), (ticks as u32).max(2).into());
                json!({ "type": what, "scale": own })
            }
        };
        axis.insert("titleLimit".into(), (pixels * 0.85).round().into());
        channel["field"] = field.into();
        channel["title"] = title;
        channel["axis"] = axis.into();
        channel
    }

    /// Whether positions of an axis of categories are numbers, because marks lie between them.
    fn is_spread(&self, side: Side) -> bool {
        side == Side::X && self.data.is_spread && self.scale(side).kind == AxisScale::Category
    }

    /// The channel of an axis whose categories are numbers from 0: labels are looked up.
    fn spread_position(&self, side: Side, axis: &mut Map<String, Value>) -> Value {
        let scale = self.scale(side);
        let drawn = self.drawn(side);
        let names = &scale.categories;
        let domain = [number(scale.low), number(scale.high)];
        let mut own = json!({ "domain": domain, "nice": false, "zero": false });
        axis.insert("grid".into(), false.into());
        axis.insert("values".into(), (0..names.len()).collect::<Vec<_>>().into());
        axis.insert("labelExpr".into(), format!("{}[datum.value]", Value::from(names.clone())).into());
        if drawn == Side::Y {
            // The first category is at the top.
            own["reverse"] = true.into();
        } else {
            let slot = self.pixels(side) * 0.82 / names.len().max(1) as f64;
            let widest = names.iter().map(|name| text_width(name, 11.0)).fold(0.0, f64::max);
            let is_turned = widest + 6.0 > slot && !chart::are_numbers(names);
            axis.insert("labelAngle".into(), if is_turned { -40 } else { 0 }.into());
        }
        json!({ "type": "quantitative", "scale": own })
    }

    /// Number format of an axis: with a unit if the picture has one.
    fn format(&self, side: Side) -> Option<String> {
        let scale = self.scale(side);
        if let Some(format) = scale.format.as_ref().filter(|f| format::is_valid(f, scale.kind)) {
            return Some(format.clone());
        }
        let largest = scale.low.abs().max(scale.high.abs());
        match scale.kind {
            AxisScale::Number => Some(
                match largest {
                    _ if scale.log => "~s",
                    // Beyond the SI prefixes.
                    l if l >= 1e24 => ".3~e",
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

    /// A line of a tooltip. An expression formats timestamps, because tooltips know only the time zone of the reader.
    fn told(&self, unit: &mut Unit, side: Side, field: &str, title: &str) -> Value {
        let title = tooltip_title(title);
        match self.scale(side).kind {
            AxisScale::Category if self.is_spread(side) => {
                let text = format!("{field}_text");
                let names = Value::from(self.scale(side).categories.clone());
                unit.transform.push(json!({ "calculate": format!("{names}[round(datum.{field})]"), "as": text }));
                json!({ "field": text, "type": "nominal", "title": title })
            }
            AxisScale::Category => json!({ "field": field, "type": "nominal", "title": title }),
            AxisScale::Number => {
                let own = self.scale(side).format.as_deref().filter(|f| format::is_valid(f, AxisScale::Number));
                json!({ "field": field, "type": "quantitative", "title": title, "format": own.unwrap_or(",") })
            }
            AxisScale::Time => {
                let text = format!("{field}_text");
                unit.transform
                    .push(json!({ "calculate": format!("utcFormat(datum.{field}, '%Y-%m-%d %H:%M')"), "as": text }));
                json!({ "field": text, "type": "nominal", "title": title })
            }
        }
    }

    fn title_of(&self, side: Side) -> String {
        let label = self.label(side);
        match (label.is_empty(), side) {
            (false, _) => label.clone(),
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
            let mut legend = json!({ "title": title, "labelLimit": LEGEND_LABEL, "symbolOpacity": 1 });
            if let Some(written) = without_middle(&names, LEGEND_LABEL) {
                legend["labelExpr"] = written;
            }
            legend
        } else {
            Value::Null
        };
        json!({ "field": "s", "type": "nominal", "scale": { "domain": names, "range": range }, "legend": legend })
    }

    fn series_tooltip(&self) -> Value {
        let title = self.plot.style.legend_title.as_deref().filter(|t| !t.is_empty()).unwrap_or("series");
        json!({ "field": "s", "type": "nominal", "title": tooltip_title(title) })
    }

    fn color_scale(&self, field: &str) -> Value {
        let (low, high, label) = self.data.color_range.clone().unwrap_or((0.0, 1.0, String::new()));
        let title = if label.is_empty() { Value::Null } else { label.into() };
        let height = if self.place.is_faceted { 300.0 } else { self.size.1 };
        let mut scale = json!({ "domain": [number(low), number(high)], "zero": false, "nice": false });
        match anchors(self.data.color_map) {
            Some(anchors) => scale["range"] = anchors.iter().map(|c| hex(*c)).collect::<Vec<_>>().into(),
            None => scale["scheme"] = "viridis".into(),
        }
        json!({
            "field": field,
            "type": "quantitative",
            "scale": scale,
            "legend": { "title": title, "gradientOpacity": 1, "gradientLength": (height * 0.6).round() },
        })
    }

    fn color_tooltip(&self, field: &str) -> Value {
        let label = self.data.color_range.as_ref().map_or("value", |c| c.2.as_str());
        let title = if label.is_empty() { "value".to_string() } else { tooltip_title(label) };
        json!({ "field": field, "type": "quantitative", "title": title, "format": "," })
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
                "labelPadding": 5, "labelLimit": X_LABEL,
            },
            "axisY": { "domain": false, "labelLimit": Y_LABEL },
            "legend": { "labelColor": text, "titleColor": text, "labelFontSize": 11, "titleFontSize": 11, "titleLimit": 130 },
            "title": {
                "color": text, "subtitleColor": faint, "fontSize": 15, "fontWeight": 600, "subtitleFontSize": 10.5, "anchor": "middle",
                "offset": 8, "limit": f64::from(chart::size(self.plot).0) - 20.0,
            },
        })
    }
}

/// Escapes titles: an `image` in a tooltip would be loaded and a `title` be set apart. Vega-Lite writes titles between
/// the quotes of an expression without escaping: characters that would end or break that text are replaced by similar
/// ones.
fn tooltip_title(title: &str) -> String {
    match title {
        "image" | "title" => format!("{title} "),
        other => other.chars().map(|c| if c == '"' { '”' } else { unbroken(c) }).collect(),
    }
}

fn unbroken(c: char) -> char {
    match c {
        '\\' => '＼',
        c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => ' ',
        c => c,
    }
}

/// Whether the title of a channel breaks the expression that Vega-Lite makes of it for screen readers. A replacement in
/// that expression would change the axis.
fn breaks_expressions(encoding: &Map<String, Value>) -> bool {
    let titles = encoding.values().flat_map(|channel| [channel.get("title"), channel["legend"].get("title")]);
    titles.flatten().filter_map(Value::as_str).any(|title| title.chars().any(|c| c == '"' || unbroken(c) != c))
}

fn hex(RGBColor(r, g, b): RGBColor) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Seven significant digits; integers in full.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return (value as i64).into();
    }
    let rounded: f64 = format!("{value:.6e}").parse().unwrap_or(value);
    serde_json::Number::from_f64(rounded).map_or(Value::Null, Value::Number)
}

/// A Vega expression that shortens names in the middle, if they would be equal without their ends. `None` if they
/// differ, or have letters that JavaScript counts as two.
fn without_middle(names: &[impl AsRef<str>], limit: f64) -> Option<Value> {
    /// Estimated width of a letter in pixels.
    const LETTER: f64 = 6.6;
    let half = ((limit / LETTER - 1.0) / 2.0) as usize;
    let long = || names.iter().map(AsRef::as_ref).filter(|name| name.chars().count() > 2 * half + 1);
    let begins: HashSet<String> = long().map(|name| name.chars().take(2 * half).collect()).collect();
    if begins.len() == long().count() || long().any(|name| name.chars().any(|c| c as u32 > 0xffff)) {
        return None;
    }
    let (most, name) = (2 * half + 1, "datum.label");
    let cut = format!("slice({name}, 0, {half}) + '…' + slice({name}, -{half})");
    Some(format!("length({name}) > {most} ? {cut} : {name}").into())
}
