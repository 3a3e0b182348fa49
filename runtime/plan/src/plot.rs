//! Plots of frames: what is asked for becomes what can be drawn. Bins, boxes, cells and means are computed here, so that rows
//! do not leave the engine; drawing is `widgets/view`'s.

mod columns;
mod statistics;

use onrush_frame::{Table, TaskHandle};
use onrush_wire::plot::{Axis, AxisScale, Bins, Layer, LayerRequest, Mark, Plot, PlotRequest, Series};
use onrush_wire::{Diagnostic, Expr, ExprKind, FrameId};

use crate::Engine;
use crate::check::{place, plan_error};
use columns::{Column, label};
use statistics::Combine;

/// Points of a scatter plot that are drawn.
const POINTS: usize = 5_000;
/// Points of a line.
const LINE: usize = 4_000;
/// Bars that can be told apart.
const BARS: usize = 1_000;
/// Series that have a colour of their own.
const SERIES: usize = 20;
/// Categories of a box plot or of a heat map's side.
const CATEGORIES: usize = 100;
/// Bins of a heat map's side with more values than can be told apart.
const CELLS: u32 = 30;

/// Computes a plot. Its notes say what was left out.
///
/// # Errors
/// A layer that lacks what its mark needs, a column of the wrong type, and everything that the frame's plan can fail with.
pub fn plot(engine: &Engine, request: &PlotRequest, task: &TaskHandle) -> Result<Plot, Diagnostic> {
    let mut notes = Vec::new();
    let mut layers = Vec::new();
    for layer in &request.layers {
        task.check()?;
        let source = Source { engine, frame: request.frame, task, notes: &mut notes };
        layers.push(match layer.mark {
            Mark::Bar | Mark::Line | Mark::Scatter | Mark::Area => source.xy(layer)?,
            Mark::Histogram => source.histogram(layer)?,
            Mark::Box => source.boxes(layer)?,
            Mark::HeatMap => source.heat_map(layer)?,
        });
    }
    notes.dedup();
    Ok(Plot { layers, style: request.style.clone(), notes })
}

struct Source<'a> {
    engine: &'a Engine,
    frame: FrameId,
    task: &'a TaskHandle,
    notes: &'a mut Vec<String>,
}

impl Source<'_> {
    fn xy(mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let x = needed(layer.x.as_ref(), layer.mark, "x")?;
        let (table, y_label) = match &layer.aggregate {
            Some(function) => {
                let value = aggregate(function, layer)?;
                let label = label(&value);
                let mut keys = vec![x.clone().alias("x")];
                keys.extend(layer.color.clone().map(|c| c.alias("color")));
                let table = self.engine.run_aggregate(self.frame, &keys, &[value.alias("y")], self.task)?;
                // The colour is a key and comes before the value: the order of `columns` below.
                let order: &[usize] = if layer.color.is_some() { &[0, 2, 1] } else { &[0, 1] };
                (table.project(order).map_err(|e| crate::error::internal(&e.to_string()))?, label)
            }
            None => {
                let y = needed(layer.y.as_ref(), layer.mark, "y")?;
                let mut exprs = vec![x.clone().alias("x"), y.clone().alias("y")];
                exprs.extend(layer.color.clone().map(|c| c.alias("color")));
                let table = self.engine.run_select(self.frame, &exprs, self.task)?;
                ((*table).clone(), label(y))
            }
        };
        let x_column = Column::of(&table, 0, x)?;
        let y_expr = layer.y.as_ref().unwrap_or(x);
        let y_column = Column::of(&table, 1, y_expr)?;
        // A scatter plot may have categories or times upwards; what has a height has a number.
        let mut y_column = match layer.mark {
            Mark::Scatter => y_column,
            mark => y_column.number(&format!("the y of a {}", name(mark)), y_expr)?,
        };
        y_column.label = y_label;
        let color = layer.color.as_ref().map(|expr| Column::of(&table, 2, expr)).transpose()?;

        let gaps = matches!(layer.mark, Mark::Line | Mark::Area);
        let rows: Vec<usize> = (0..table.rows())
            .filter(|i| !x_column.positions[*i].is_nan() && (gaps || !y_column.positions[*i].is_nan()))
            .collect();
        self.left_out(table.rows() - rows.len(), "point", "no value");
        if layer.mark == Mark::Bar && rows.len() > BARS {
            let message = format!("{} bars cannot be told apart", rows.len());
            let expr = place(plan_error("plot-size", message), x.span.as_ref(), None, "too many values");
            return Err(expr.help("combine rows with `.aggregate(\"mean\")`, or draw `.hist(x)` or `.line(x, y)`"));
        }
        if let (Mark::Scatter, Some(color)) = (layer.mark, color.as_ref().filter(|c| c.scale != AxisScale::Category)) {
            let shown: Vec<usize> = statistics::spread(rows.len(), POINTS).map(|i| rows[i]).collect();
            self.shown(shown.len(), rows.len());
            let at = |positions: &[f64]| shown.iter().map(|i| positions[*i]).collect();
            return Ok(Layer::Points {
                x: x_column.axis(),
                y: y_column.axis(),
                xs: at(&x_column.positions),
                ys: at(&y_column.positions),
                colors: at(&color.positions),
                color_label: color.label.clone(),
            });
        }
        let mut series = Vec::new();
        let (mut drawn, mut all) = (0, 0);
        for (name, rows) in self.split(rows, color) {
            let at = |rows: &[usize], positions: &[f64]| rows.iter().map(|i| positions[*i]).collect::<Vec<f64>>();
            series.push(match layer.mark {
                Mark::Scatter => {
                    let keep = POINTS / series_of(layer, &table);
                    let shown: Vec<usize> = statistics::spread(rows.len(), keep.max(200)).map(|i| rows[i]).collect();
                    drawn += shown.len();
                    all += rows.len();
                    Series { name, x: at(&shown, &x_column.positions), y: at(&shown, &y_column.positions) }
                }
                Mark::Line | Mark::Area => {
                    let mut rows = rows;
                    rows.sort_by(|a, b| x_column.positions[*a].total_cmp(&x_column.positions[*b]));
                    let (x, y) = (at(&rows, &x_column.positions), at(&rows, &y_column.positions));
                    let (x, y) = statistics::thin(&x, &y, LINE);
                    Series { name, x, y }
                }
                _ => Series { name, x: at(&rows, &x_column.positions), y: at(&rows, &y_column.positions) },
            });
        }
        self.shown(drawn, all);
        Ok(Layer::Xy { mark: layer.mark, x: x_column.axis(), y: y_column.axis(), series })
    }

    fn histogram(mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let x = needed(layer.x.as_ref(), layer.mark, "x")?;
        let table = self.select([Some(x), layer.color.as_ref(), None])?;
        let column = Column::of(&table, 0, x)?;
        if column.scale == AxisScale::Category {
            let diagnostic =
                plan_error("plot-type", format!("a histogram needs numbers or times, and `{}` is text", column.label));
            return Err(place(diagnostic, x.span.as_ref(), None, "not a number")
                .help("count the rows of each value: `.bar(x, len())`"));
        }
        let color = layer.color.as_ref().map(|expr| Column::of(&table, 1, expr)).transpose()?;
        let rows: Vec<usize> = (0..table.rows()).filter(|i| column.positions[*i].is_finite()).collect();
        self.left_out(table.rows() - rows.len(), "row", "no finite value");
        let edges = statistics::edges(&column.positions, layer.bins, column.is_integer);
        let series = self
            .split(rows, color)
            .into_iter()
            .map(|(name, rows)| {
                let counts = statistics::counts(rows.iter().map(|i| column.positions[*i]), &edges);
                Bins { name, edges: edges.clone(), counts }
            })
            .collect();
        Ok(Layer::Histogram { x: column.axis(), series })
    }

    fn boxes(mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let y = needed(layer.y.as_ref(), layer.mark, "y")?;
        let table = self.select([Some(y), layer.x.as_ref(), None])?;
        let y_column = Column::of(&table, 0, y)?.number("the y of a box plot", y)?;
        let x_column =
            layer.x.as_ref().map(|expr| Column::of(&table, 1, expr)).transpose()?.map(Column::into_categories);
        let axis = x_column.as_ref().map_or_else(
            || Axis { label: String::new(), scale: AxisScale::Category, categories: vec![String::new()] },
            Column::axis,
        );
        if let Some(x) = layer.x.as_ref().filter(|_| axis.categories.len() > CATEGORIES) {
            return Err(too_many(&axis, x));
        }
        let mut groups = vec![Vec::new(); axis.categories.len()];
        let mut left_out = 0;
        for (row, value) in y_column.positions.iter().enumerate() {
            let group = x_column.as_ref().map_or(0.0, |c| c.positions[row]);
            if value.is_finite() && group >= 0.0 {
                groups[group as usize].push(*value);
            } else {
                left_out += 1;
            }
        }
        self.left_out(left_out, "row", "no value");
        let boxes = axis.categories.iter().zip(groups).filter_map(|(c, v)| statistics::box_of(c.clone(), v)).collect();
        Ok(Layer::Box { x: axis, y: y_column.axis(), boxes })
    }

    fn heat_map(mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let x = needed(layer.x.as_ref(), layer.mark, "x")?;
        let y = needed(layer.y.as_ref(), layer.mark, "y")?;
        let table = self.select([Some(x), Some(y), layer.color.as_ref()])?;
        let side = |index: usize, expr: &Expr| cells(Column::of(&table, index, expr)?, layer.bins, expr);
        let (x_column, y_column) = (side(0, x)?, side(1, y)?);
        let color =
            layer.color.as_ref().map(|expr| Column::of(&table, 2, expr)?.number("the colour of a heat map", expr));
        let color = color.transpose()?;
        let default = if color.is_some() { "mean" } else { "count" };
        let function = layer.aggregate.as_deref().unwrap_or(default);
        let combine = Combine::of(function).ok_or_else(|| unknown_aggregate(function, layer))?;
        let mut values = vec![vec![Vec::new(); x_column.categories.len()]; y_column.categories.len()];
        let mut left_out = 0;
        for row in 0..table.rows() {
            let (column, line) = (x_column.positions[row], y_column.positions[row]);
            let value = color.as_ref().map_or(1.0, |c| c.positions[row]);
            if column.is_nan() || line.is_nan() || value.is_nan() {
                left_out += 1;
            } else {
                values[line as usize][column as usize].push(value);
            }
        }
        self.left_out(left_out, "row", "no value");
        let values =
            values.into_iter().map(|line| line.into_iter().map(|mut v| combine.value(&mut v)).collect()).collect();
        let color_label = match (&color, combine) {
            (Some(color), combine) if combine != Combine::Count => format!("{function}({})", color.label),
            _ => "rows".to_string(),
        };
        Ok(Layer::HeatMap { x: x_column.axis(), y: y_column.axis(), values, color_label })
    }

    /// The expressions that are there, as columns in this order.
    fn select(&self, exprs: [Option<&Expr>; 3]) -> Result<Table, Diagnostic> {
        let named = exprs.into_iter().flatten().enumerate();
        let exprs: Vec<Expr> = named.map(|(i, expr)| expr.clone().alias(format!("p{i}"))).collect();
        self.engine.run_select(self.frame, &exprs, self.task).map(|table| (*table).clone())
    }

    /// Rows by the value of the colour, in the order of the values' first rows. The rarest beyond [`SERIES`] are left out.
    fn split(&mut self, rows: Vec<usize>, color: Option<Column>) -> Vec<(String, Vec<usize>)> {
        let Some(color) = color.map(Column::into_categories) else { return vec![(String::new(), rows)] };
        let mut groups: Vec<(String, Vec<usize>)> = color.categories.iter().map(|c| (c.clone(), Vec::new())).collect();
        let mut nulls = 0;
        for row in rows {
            let position = color.positions[row];
            if position.is_nan() { nulls += 1 } else { groups[position as usize].1.push(row) }
        }
        self.left_out(nulls, "row", "no colour");
        groups.retain(|(_, rows)| !rows.is_empty());
        if groups.len() > SERIES {
            let mut sizes: Vec<usize> = groups.iter().map(|(_, rows)| rows.len()).collect();
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            let least = sizes[SERIES - 1];
            let all = groups.len();
            let mut room = SERIES;
            groups.retain(|(_, rows)| {
                let keep = rows.len() >= least && room > 0;
                room -= usize::from(keep);
                keep
            });
            self.notes.push(format!("{SERIES} of {all} values of {} shown: those with most rows", color.label));
        }
        groups
    }

    fn left_out(&mut self, count: usize, what: &str, why: &str) {
        if count > 0 {
            let s = if count == 1 { "" } else { "s" };
            self.notes.push(format!("{} {what}{s} with {why} left out", grouped(count)));
        }
    }

    fn shown(&mut self, shown: usize, all: usize) {
        if shown < all {
            self.notes.push(format!("{} of {} points shown", grouped(shown), grouped(all)));
        }
    }
}

/// How many series share the points of a scatter plot.
fn series_of(layer: &LayerRequest, table: &Table) -> usize {
    match &layer.color {
        Some(expr) => Column::of(table, 2, expr).map_or(1, |c| c.into_categories().categories.len().clamp(1, SERIES)),
        None => 1,
    }
}

/// A side of a heat map: its values, or bins where there are more than can be told apart.
fn cells(column: Column, bins: Option<u32>, expr: &Expr) -> Result<Column, Diagnostic> {
    if column.scale == AxisScale::Category {
        return if column.categories.len() > CATEGORIES { Err(too_many(&column.axis(), expr)) } else { Ok(column) };
    }
    let mut distinct: Vec<f64> = column.positions.iter().copied().filter(|p| p.is_finite()).collect();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    if bins.is_none() && distinct.len() <= 60 {
        return Ok(column.into_categories());
    }
    let edges = statistics::edges(&distinct, Some(bins.unwrap_or(CELLS)), false);
    let categories = edges[..edges.len() - 1].iter().map(|edge| column.text(*edge)).collect();
    let position = |p: &f64| statistics::bin(*p, &edges).map_or(f64::NAN, |bin| bin as f64);
    Ok(Column {
        positions: column.positions.iter().map(position).collect(),
        categories,
        scale: AxisScale::Category,
        ..column
    })
}

fn needed<'a>(expr: Option<&'a Expr>, mark: Mark, what: &str) -> Result<&'a Expr, Diagnostic> {
    expr.ok_or_else(|| plan_error("plot", format!("a {} needs `{what}`, a column or an expression", name(mark))))
}

/// `mean` and `y` as an expression; `count` counts rows.
fn aggregate(function: &str, layer: &LayerRequest) -> Result<Expr, Diagnostic> {
    match Combine::of(function).ok_or_else(|| unknown_aggregate(function, layer))? {
        Combine::Count => Ok(Expr::new(ExprKind::Alias(Box::new(Expr::call("len", [])), "rows".to_string()))),
        _ => {
            let y = needed(layer.y.as_ref(), layer.mark, "y")?;
            let mut call = Expr::call(function, [y.clone()]);
            call.span = y.span.clone();
            Ok(call)
        }
    }
}

fn unknown_aggregate(function: &str, layer: &LayerRequest) -> Diagnostic {
    let span = layer.y.as_ref().or(layer.x.as_ref()).and_then(|e| e.span.as_ref());
    let diagnostic =
        plan_error("plot-aggregate", format!("a {} cannot combine rows by `{function}`", name(layer.mark)));
    place(diagnostic, span, None, "").help("write `sum`, `mean`, `median`, `min`, `max` or `count`")
}

fn too_many(axis: &Axis, expr: &Expr) -> Diagnostic {
    let message = format!(
        "`{}` has {} different values, more than can be drawn beside each other",
        axis.label,
        axis.categories.len()
    );
    place(plan_error("plot-size", message), expr.span.as_ref(), None, "too many values")
        .help("filter the frame, or take a column with fewer values")
}

fn name(mark: Mark) -> &'static str {
    match mark {
        Mark::Bar => "bar chart",
        Mark::Line => "line chart",
        Mark::Scatter => "scatter plot",
        Mark::Area => "area chart",
        Mark::Histogram => "histogram",
        Mark::Box => "box plot",
        Mark::HeatMap => "heat map",
    }
}

/// `336 776`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}
