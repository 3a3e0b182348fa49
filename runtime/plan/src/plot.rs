//! Plots: from a frame's rows to what a chart draws. Rows stay here; the chart gets points, bins and boxes.
//!
//! Draws nothing (`widgets/view`).

mod columns;
mod marks;

use onrush_frame::TaskHandle;
use onrush_wire::plan::Op;
use onrush_wire::plot::{Axis, AxisScale, Layer, LayerRequest, Mark, Plot, PlotRequest};
use onrush_wire::{Diagnostic, Expr, FrameId, Span};

use crate::check::{self, plan_error};
use crate::engine::Engine;
use columns::Values;

/// Points that a chart of single points shows.
pub const MOST_POINTS: usize = 5_000;
/// Series that one chart shows; the rest is left out.
pub const MOST_SERIES: usize = 20;
/// Categories on an axis.
pub const MOST_CATEGORIES: usize = 200;

/// The columns of one layer, as long as each other.
pub struct Data {
    pub x: Values,
    pub y: Option<Values>,
    pub color: Option<Values>,
    pub x_label: String,
    pub y_label: String,
    pub color_label: String,
}

impl Engine {
    /// Computes what a chart needs.
    ///
    /// # Errors
    /// Unknown columns, text where a chart needs numbers, missing axes.
    pub fn plot(&self, request: &PlotRequest, task: &TaskHandle) -> Result<Plot, Diagnostic> {
        let mut notes = Vec::new();
        let mut layers = Vec::new();
        for layer in &request.layers {
            layers.push(self.layer(request.frame, layer, &mut notes, task)?);
        }
        Ok(Plot { layers, style: request.style.clone(), notes })
    }

    fn layer(
        &self,
        frame: FrameId,
        request: &LayerRequest,
        notes: &mut Vec<String>,
        task: &TaskHandle,
    ) -> Result<Layer, Diagnostic> {
        let name = mark_name(request.mark);
        let missing = |axis: &str| plan_error("argument", format!("a {name} plot needs `{axis}`"));
        let x = match (&request.x, request.mark) {
            (Some(x), _) => x.clone(),
            // A box of the whole column.
            (None, Mark::Box) => Expr::literal("").alias(""),
            (None, _) => return Err(missing("x")),
        };
        let needs_y = !matches!(request.mark, Mark::Histogram) && !(request.mark == Mark::Bar && counts(request));
        if needs_y && request.y.is_none() {
            return Err(missing("y"));
        }
        let data = self.data(frame, &x, request, task)?;
        let numbers = |values: &Values, expr: Option<&Expr>, axis: &str| match values {
            Values::Text(_) => {
                let diagnostic = plan_error("type-mismatch", format!("a {name} plot needs numbers as `{axis}`, not text"));
                Err(check::place(diagnostic, expr.and_then(|e| e.span.as_ref()), None, "this is text"))
            }
            _ => Ok(()),
        };
        match request.mark {
            Mark::Histogram => {
                numbers(&data.x, Some(&x), "x")?;
                marks::histogram(&data, request.bins, notes)
            }
            Mark::Box => {
                if let Some(y) = &data.y {
                    numbers(y, request.y.as_ref(), "y")?;
                }
                marks::boxes(&data, notes)
            }
            Mark::HeatMap => {
                if let Some(color) = &data.color {
                    numbers(color, request.color.as_ref(), "color")?;
                }
                marks::heat_map(&data, request.bins, notes)
            }
            mark => {
                if let Some(y) = &data.y {
                    numbers(y, request.y.as_ref(), "y")?;
                }
                marks::xy(mark, data, notes)
            }
        }
    }

    /// The columns of a layer; aggregated by x, y and colour where the request says so.
    fn data(&self, frame: FrameId, x: &Expr, request: &LayerRequest, task: &TaskHandle) -> Result<Data, Diagnostic> {
        let label = |expr: &Option<Expr>| match expr {
            Some(expr) => self.output_name(frame, expr),
            None => Ok(String::new()),
        };
        let x_label = self.output_name(frame, x)?;
        let mut y_label = label(&request.y)?;
        let mut color_label = label(&request.color)?;
        let aggregate = |name: &str, value: &Option<Expr>| match (name, value) {
            ("count" | "len", None) | ("len", _) => Expr::call("len", []),
            (name, Some(value)) => call_at(name, value),
            (_, None) => Expr::call("len", []),
        };
        let named = |expr: &Expr, name: &str| Expr { span: expr.span.clone(), ..expr.clone() }.alias(name);
        let heat = request.mark == Mark::HeatMap;
        let table = if heat {
            let how = request.aggregate.as_deref().unwrap_or(if request.color.is_some() { "mean" } else { "len" });
            color_label = value_label(how, &color_label);
            let y = request.y.clone().unwrap_or_else(|| Expr::literal(""));
            let keys = [named(x, "x"), named(&y, "y")];
            self.run_aggregate(frame, &keys, &[aggregate(how, &request.color).alias("color")], task)?
        } else if request.aggregate.is_some() || (request.mark == Mark::Bar && request.y.is_none()) {
            let how = request.aggregate.as_deref().unwrap_or("len");
            y_label = value_label(how, &y_label);
            let mut keys = vec![named(x, "x")];
            keys.extend(request.color.as_ref().map(|c| named(c, "color")));
            self.run_aggregate(frame, &keys, &[aggregate(how, &request.y).alias("y")], task)?
        } else {
            let mut exprs = vec![named(x, "x")];
            exprs.extend(request.y.as_ref().map(|y| named(y, "y")));
            exprs.extend(request.color.as_ref().map(|c| named(c, "color")));
            self.run_select(frame, &exprs, task)?
        };
        let column = |name: &str| match table.schema().index_of(name) {
            Ok(index) => Values::of(&table, index).map(Some),
            Err(_) => Ok(None),
        };
        let x = column("x")?.unwrap_or(Values::Number(Vec::new()));
        Ok(Data { x, y: column("y")?, color: column("color")?, x_label, y_label, color_label })
    }

    fn output_name(&self, frame: FrameId, expr: &Expr) -> Result<String, Diagnostic> {
        self.output_names(&Op::Select { input: frame, exprs: vec![expr.clone()] }).map(|mut names| names.remove(0))
    }
}

fn counts(request: &LayerRequest) -> bool {
    request.y.is_none()
}

fn call_at(name: &str, value: &Expr) -> Expr {
    let span: Option<Span> = value.span.clone();
    let call = Expr::call(name, [value.clone()]);
    match span {
        Some(span) => call.at(span),
        None => call,
    }
}

/// `mean of dep_delay`, `count`.
fn value_label(how: &str, column: &str) -> String {
    match (how, column) {
        ("len" | "count", _) | (_, "") => "count".to_string(),
        (how, column) => format!("{how} of {column}"),
    }
}

fn mark_name(mark: Mark) -> &'static str {
    match mark {
        Mark::Bar => "bar",
        Mark::Line => "line",
        Mark::Scatter => "scatter",
        Mark::Area => "area",
        Mark::Histogram => "histogram",
        Mark::Box => "box",
        Mark::HeatMap => "heat map",
    }
}

/// An axis without categories.
pub fn axis(label: &str, values: &Values) -> Axis {
    let scale = match values {
        Values::Number(_) => AxisScale::Number,
        Values::Time(_) => AxisScale::Time,
        Values::Text(_) => AxisScale::Category,
    };
    Axis { label: label.to_string(), scale, categories: Vec::new() }
}
