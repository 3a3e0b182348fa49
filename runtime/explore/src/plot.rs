//! Computes the data of plots: bins, boxes, heat map cells and means, so that rows do not leave the engine.
//!
//! Drawing is the task of `widgets/view`.

mod axis_values;
mod bars;
mod box_plot;
mod candles;
mod choropleth;
mod correlation;
mod downsample;
mod ecdf;
mod facets;
mod heatmap;
mod hexbin;
mod intervals;
mod map;
mod materialized_input;
mod pair;
mod raster;
mod regression;
mod row_source;
mod scores;
mod several;
mod time_bins;
mod violin;

use std::collections::{HashMap, HashSet};

use onrush_engine::{Engine, KEPT};
use onrush_expr::diagnostics::{place, plan_error};
use onrush_frame::TaskHandle;
use onrush_stats::{self as statistics, Cell, Combine, Density, SampleStats};
use onrush_wire::map::ShapeSet;
use onrush_wire::plot::{Axis, AxisScale, Bins, Layer, LayerRequest, Mark, Plot, PlotRequest, PlotStyle, Series};
use onrush_wire::{Diagnostic, Expr, ExprKind, FrameId};

use axis_values::{Column, Values, grown};
pub(crate) use axis_values::{label, names, visible, without_alias};
pub(crate) use materialized_input::MaterializedInput;
pub(crate) use raster::{PositionedRows, positioned};
pub use raster::{Rasters, clipped};
pub(crate) use row_source::Rows;
pub(crate) use time_bins::fitting;

/// Points of a scatter plot that are drawn.
const POINTS: usize = 5_000;
/// Points of a line.
const LINE: usize = 4_000;
/// Points of a line over time buckets, however many panels there are.
const OVER_TIME: usize = 1_500;
/// Series that have a separate colour.
const SERIES: usize = 20;
/// Categories of a box plot or of a heat map's side, and bars that were combined by category.
const CATEGORIES: usize = 40;
/// Points of a density's curve.
const CURVE: usize = 400;
/// Categories of a side that are drawn; see `widgets/view`.
const DRAWN: usize = 50;
/// Rows that a scatter plot looks at, up to twice as many; of more, it takes some at equal distances.
const LOOKED_AT: usize = 400_000;
/// Values that quartiles are taken from when bins are chosen.
const SAMPLE: usize = 200_000;

/// Computes a plot. Its notes say what was left out.
///
/// # Errors
/// A layer that lacks what its mark needs, a column of the wrong type, and everything that the frame's plan can fail
/// with.
pub fn plot(engine: &Engine, request: &PlotRequest, task: &TaskHandle) -> Result<Plot, Diagnostic> {
    let mut plot = Plot {
        layers: Vec::new(),
        style: request.style.clone(),
        notes: Vec::new(),
        facets: Vec::new(),
        facet_label: String::new(),
    };
    let held = materialized_input::MaterializedInput::columns(engine, request, task)?;
    let request = &PlotRequest { frame: held.as_ref().map_or(request.frame, |held| held.id), ..request.clone() };
    let mut shared = SharedScales::default();
    match &request.facet {
        _ if request.layers.iter().any(|layer| layer.mark == Mark::Pair) => {
            pair::panels(engine, request, request.frame, task, &mut plot)?;
        }
        None => plot.layers = layers(engine, request, request.frame, &mut shared, task, (1, &mut plot.notes))?,
        Some(by) => facets::panels(engine, request, by, &mut shared, task, &mut plot)?,
    }
    plot.notes.dedup();
    map::choose_projection(&mut plot);
    Ok(plot)
}

/// The scales that all panels share, by layer, so that they can be compared.
#[derive(Default)]
struct SharedScales {
    /// Edges of a histogram's bins.
    edges: HashMap<usize, Vec<f64>>,
    /// Cells of a heat map, along x and along y.
    cells: HashMap<(usize, char), heatmap::Cells>,
    /// Numbers and times that are a box plot's categories.
    values: HashMap<usize, Vec<i64>>,
    /// Time buckets.
    grids: HashMap<usize, time_bins::Grid>,
    /// The regions of a choropleth.
    shapes: HashMap<usize, ShapeSet>,
}

fn layers(
    engine: &Engine,
    request: &PlotRequest,
    frame: FrameId,
    shared: &mut SharedScales,
    task: &TaskHandle,
    (panels, notes): (usize, &mut Vec<String>),
) -> Result<Vec<Layer>, Diagnostic> {
    let mut layers = Vec::new();
    let share = |all: usize| (all / panels).max(200);
    let (points, line) = (share(POINTS), share(LINE));
    for (index, layer) in request.layers.iter().enumerate() {
        task.check()?;
        let has_log_bins = has_log_bins(&request.style);
        let (shared, notes) = (&mut *shared, &mut *notes);
        let mut source = Source { engine, frame, index, points, line, has_log_bins, shared, task, notes };
        match layer.mark {
            Mark::ErrorBars | Mark::Band => layers.push(source.intervals(layer)?),
            Mark::Candlestick => layers.push(source.candles(layer)?),
            Mark::Roc | Mark::PrecisionRecall => layers.push(source.curves(layer)?),
            _ if !layer.more_y.is_empty() => layers.extend(source.several(layer)?),
            Mark::Scatter | Mark::Strip => {
                source.scatter(layer, &mut layers)?;
                map::check_layers(&request.style, layer, &layers)?;
            }
            Mark::Bar | Mark::Line | Mark::Area | Mark::Step(_) => layers.push(source.xy(layer)?),
            Mark::Histogram => layers.push(source.histogram(layer)?),
            Mark::Density => layers.push(source.density(layer)?),
            Mark::Box => layers.push(source.boxes(layer)?),
            Mark::HeatMap => layers.push(source.heat_map(layer)?),
            Mark::Correlation => layers.push(correlation::layer(engine, frame, task)?),
            Mark::Raster | Mark::RasterLines => layers.push(source.raster(layer, &request.style)?),
            Mark::Ecdf => layers.push(source.ecdf(layer)?),
            Mark::Violin => layers.push(source.violins(layer)?),
            Mark::PointPlot => layers.push(source.means(layer)?),
            Mark::Regression => layers.push(source.regression(layer)?),
            Mark::Hexbin => layers.push(source.hexbin(layer, &request.style)?),
            Mark::ConfusionMatrix => layers.push(source.confusion(layer)?),
            // Its panels are made instead of layers.
            Mark::Pair => {}
            Mark::Choropleth => layers.push(source.choropleth(layer, request.style.map)?),
        }
    }
    several::counted(&mut layers);
    if request.layers.len() > 1 {
        several::named(&mut layers);
    }
    Ok(layers)
}

/// Whether the axis of a histogram's bins is logarithmic. Options of an axis apply to the axis as it is drawn.
fn has_log_bins(style: &PlotStyle) -> bool {
    if style.is_horizontal { style.log_y } else { style.log_x }
}

struct Source<'a> {
    engine: &'a Engine,
    frame: FrameId,
    /// The place of the layer among the layers.
    index: usize,
    /// Points of a scatter plot, and of a line, that are drawn.
    points: usize,
    line: usize,
    /// Whether the axis of a histogram's bins is logarithmic.
    has_log_bins: bool,
    shared: &'a mut SharedScales,
    task: &'a TaskHandle,
    notes: &'a mut Vec<String>,
}

impl<'a> Source<'a> {
    fn xy(&mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let x = needed(layer.x.as_ref(), layer.mark, "x")?;
        if (layer.aggregate.is_some() || layer.every.is_some())
            && let Some(layer) = self.over_time(layer, x)?
        {
            return Ok(layer);
        }
        let Some(function) = &layer.aggregate else {
            let y = needed(layer.y.as_ref(), layer.mark, "y")?;
            let rows = self.rows([Some(x), Some(y), layer.color.as_ref()])?;
            let x_values = Values::of(&rows, 0, x)?;
            let what = format!("the y of a {}", layer.mark.info().name);
            let y_values = Values::of(&rows, 1, y)?.number(&what, y)?;
            return match layer.mark {
                Mark::Bar => self.bars(layer, &rows, (&x_values, &y_values), x),
                _ => self.line(layer, &rows, (x_values, &y_values)),
            };
        };
        let value = aggregate(function, layer)?;
        let y_label = label(&value);
        let mut keys = vec![x.clone().alias("x")];
        keys.extend(layer.color.clone().map(|c| c.alias("color")));
        let values = [value.alias("y"), Expr::call("len", []).alias("rows")];
        let table = self.engine.run_aggregate(self.frame, &keys, &values, self.task)?;
        // The colour is a key and comes before the value: the order of `columns` below.
        let order: &[usize] = if layer.color.is_some() { &[0, 2, 1, 3] } else { &[0, 1, 2] };
        let table = table.project(order).map_err(|e| onrush_expr::error::internal(&e.to_string()))?;
        let mut x_column = Column::of(&table, 0, x)?;
        let y_expr = layer.y.as_ref().unwrap_or(x);
        let mut y_column =
            Column::of(&table, 1, y_expr)?.number(&format!("the y of a {}", layer.mark.info().name), y_expr)?;
        y_column.label = y_label;
        let color = layer.color.as_ref().map(|expr| Column::of(&table, 2, expr)).transpose()?;
        // The rows behind each group.
        let behind = Column::of(&table, order.len() - 1, x)?.positions;

        let gaps = layer.mark != Mark::Bar;
        let mut rows: Vec<usize> = (0..table.rows())
            .filter(|i| !x_column.positions[*i].is_nan() && (gaps || !y_column.positions[*i].is_nan()))
            .collect();
        self.left_out(table.rows() - rows.len(), "point", "no value");
        if layer.mark == Mark::Bar {
            if x_column.scale == AxisScale::Category && x_column.categories.len() > CATEGORIES {
                self.largest(&mut x_column, &mut y_column, &mut rows, layer, color.is_some());
            }
            if rows.len() > bars::BARS {
                return Err(bars::too_many_bars(&grouped(rows.len()), x_column.scale, x));
            }
        }
        if gaps {
            self.fewer(&mut x_column, &mut rows, Of::Groups(&behind));
        }
        let mut series = Vec::new();
        let (mut kept, mut all) = (0, 0);
        for (name, mut rows) in self.split(rows, color, Of::Groups(&behind)) {
            let at = |rows: &[usize], positions: &[f64]| rows.iter().map(|i| positions[*i]).collect::<Vec<f64>>();
            let (x, y) = if !gaps {
                (at(&rows, &x_column.positions), at(&rows, &y_column.positions))
            } else if rows.len() > self.line {
                let points = rows.iter().map(|i| (x_column.positions[*i], y_column.positions[*i]));
                all += rows.len();
                let (x, y) = statistics::envelope(points, self.line);
                kept += x.len();
                (x, y)
            } else {
                rows.sort_by(|a, b| x_column.positions[*a].total_cmp(&x_column.positions[*b]));
                (at(&rows, &x_column.positions), at(&rows, &y_column.positions))
            };
            series.push(Series { name, x, y });
        }
        self.stretches(kept, all);
        Ok(Layer::Xy { mark: layer.mark, x: x_column.axis(), y: y_column.axis(), series })
    }

    /// A line through rows in the order of `x`; strings are in the order of their first rows.
    fn line(&mut self, layer: &LayerRequest, rows: &Rows, (mut x, y): (Values, &Values)) -> Result<Layer, Diagnostic> {
        let texts = if x.scale == AxisScale::Category { x.keep_most(rows, DRAWN, self.task)? } else { 0 };
        let color = self.color(rows, 2, layer)?;
        let made = downsample::lines(rows, (&x, y), color.as_ref(), self.line, self.task)?;
        self.left_out(made.without_x - x.hidden, "point", "no value");
        self.most_frequent(DRAWN, texts, &x.label);
        self.left_out(made.without_color, "row", "no colour");
        self.series_left_out(made.hidden, made.series.len(), layer);
        self.stretches(made.kept, made.all);
        Ok(Layer::Xy { mark: layer.mark, x: made.x, y: made.y, series: made.series })
    }

    /// The column of the colour as categories.
    fn color(&self, rows: &Rows, index: usize, layer: &LayerRequest) -> Result<Option<Values>, Diagnostic> {
        let of = |expr| Values::of(rows, index, expr)?.into_categories(rows, None, self.task);
        layer.color.as_ref().map(of).transpose()
    }

    /// Aggregates rows by timestamp, hour, day or month. `None` if `x` is not a time.
    fn over_time(&mut self, layer: &LayerRequest, x: &Expr) -> Result<Option<Layer>, Diagnostic> {
        let function = layer.aggregate.as_deref().unwrap_or("mean");
        let combine = Combine::of(function).ok_or_else(|| unknown_aggregate(function, layer))?;
        let y = match combine {
            Combine::Count => None,
            _ => Some(needed(layer.y.as_ref(), layer.mark, "y")?),
        };
        if !self.is_over_time(layer)? {
            return Ok(None);
        }
        let rows = self.rows([Some(x), y, layer.color.as_ref()])?;
        let x_values = Values::of(&rows, 0, x)?;
        let what = format!("the y of a {}", layer.mark.info().name);
        let y_values = y.map(|y| Values::of(&rows, 1, y)?.number(&what, y)).transpose()?;
        let color = self.color(&rows, 1 + usize::from(y.is_some()), layer)?;
        let grid = self.grid(layer, (&rows, &x_values), x)?;
        let asked = time_bins::TimeBinRequest {
            combine,
            grid,
            is_bars: layer.mark == Mark::Bar,
            keep: self.line.max(OVER_TIME),
        };
        let made = time_bins::combine(&rows, &x_values, y_values.as_ref(), color.as_ref(), &asked, self.task)?;
        self.left_out(made.left_out, "row", "no value");
        self.series_left_out(made.hidden, made.series.len(), layer);
        let label = if y.is_some() { label(&aggregate(function, layer)?) } else { "rows".to_string() };
        if let time_bins::Grid::Stretches(every) = grid {
            let what = if y.is_some() { function } else { "rows" };
            self.notes.push(format!("{what} of each {}", every.words()));
        }
        if made.kept < made.all {
            let (kept, all) = (grouped(made.kept), grouped(made.all));
            self.notes.push(format!("{kept} of {all} points shown: the lowest and highest of adjacent points"));
        }
        let y = Axis { label, scale: AxisScale::Number, categories: Vec::new() };
        Ok(Some(Layer::Xy { mark: layer.mark, x: made.x, y, series: made.series }))
    }

    /// Whether rows are combined by the times of `x`.
    fn is_over_time(&self, layer: &LayerRequest) -> Result<bool, Diagnostic> {
        let Some(x) = layer.x.as_ref().filter(|_| layer.aggregate.is_some() || layer.every.is_some()) else {
            return Ok(false);
        };
        let is_time = axis_values::scale(&self.engine.type_of(self.frame, x, self.task)?) == Some(AxisScale::Time);
        if !is_time && layer.every.is_some() {
            let message = format!("`every` needs dates or times, and `{}` has none", label(x));
            return Err(place(plan_error("plot-type", message), x.span.as_ref(), None, "not a time"));
        }
        Ok(is_time)
    }

    fn grid(&mut self, layer: &LayerRequest, x: (&Rows, &Values), at: &Expr) -> Result<time_bins::Grid, Diagnostic> {
        if let Some(known) = self.shared.grids.get(&self.index) {
            return Ok(*known);
        }
        let grid = time_bins::grid(x, layer.every.as_deref(), layer.mark == Mark::Bar, at, self.task)?;
        self.shared.grids.insert(self.index, grid);
        Ok(grid)
    }

    /// Decides what the panels of these rows share.
    fn share(&mut self, layer: &LayerRequest) -> Result<(), Diagnostic> {
        match layer.mark {
            Mark::Histogram => {
                let (rows, values, _) = self.values(&LayerRequest { color: None, ..layer.clone() })?;
                self.edges(layer, &rows, &values)?;
            }
            Mark::HeatMap => {
                self.sides(layer)?;
            }
            Mark::Box | Mark::Violin if layer.y.is_some() => {
                let rows = self.rows([layer.y.as_ref(), layer.x.as_ref(), None])?;
                self.box_categories(layer, &rows)?;
            }
            mark if mark.takes("every") && self.is_over_time(layer)? => {
                let x = needed(layer.x.as_ref(), layer.mark, "x")?;
                let rows = self.rows([Some(x), None, None])?;
                self.grid(layer, (&rows, &Values::of(&rows, 0, x)?), x)?;
            }
            Mark::Choropleth => self.share_shapes(layer)?,
            _ => {}
        }
        Ok(())
    }

    fn stretches(&mut self, kept: usize, all: usize) {
        if kept < all {
            self.notes.push(format!(
                "{} of {} points shown: the first, lowest, highest and last of each stretch",
                grouped(kept),
                grouped(all)
            ));
        }
    }

    fn series_left_out(&mut self, hidden: usize, shown: usize, layer: &LayerRequest) {
        if let (1.., Some(color)) = (hidden, &layer.color) {
            let label = label(color);
            self.notes
                .push(format!("{shown} of {} values of {label} shown: those with most rows", grouped(hidden + shown)));
        }
    }

    /// Leaves the categories with most rows, if there are more than are drawn.
    fn fewer(&mut self, column: &mut Column, rows: &mut Vec<usize>, of: Of<'_>) {
        if column.scale != AxisScale::Category || column.categories.len() <= DRAWN {
            return;
        }
        let mut sizes = vec![0; column.categories.len()];
        rows.iter().for_each(|row| sizes[column.positions[*row] as usize] += of.rows(*row));
        let all = sizes.iter().filter(|size| **size > 0).count();
        let kept = most(&sizes, DRAWN);
        let mut categories = Vec::new();
        let mut place = vec![0.0; sizes.len()];
        for (index, name) in column.categories.iter().enumerate().filter(|(index, _)| kept[*index]) {
            place[index] = categories.len() as f64;
            categories.push(name.clone());
        }
        rows.retain(|row| kept[column.positions[*row] as usize]);
        rows.iter().for_each(|row| column.positions[*row] = place[column.positions[*row] as usize]);
        column.categories = categories;
        self.with_most_rows(DRAWN, all, &column.label, of);
    }

    fn scatter(&mut self, layer: &LayerRequest, layers: &mut Vec<Layer>) -> Result<(), Diagnostic> {
        let x = needed(layer.x.as_ref(), layer.mark, "x")?;
        let y = needed(layer.y.as_ref(), layer.mark, "y")?;
        let mut exprs = vec![x.clone().alias("x"), y.clone().alias("y")];
        exprs.extend(layer.color.clone().map(|c| c.alias("color")));
        exprs.extend(layer.size.clone().map(|c| c.alias("size")));
        let (table, total) = Rows::select(self.engine, self.frame, &exprs, 0)?.some(LOOKED_AT, self.task)?;
        let (mut x_column, mut y_column) = (Column::of(&table, 0, x)?, Column::of(&table, 1, y)?);
        let is_strip = layer.mark == Mark::Strip;
        if is_strip {
            x_column = x_column.into_categories();
            y_column = y_column.number("the y of a strip plot", y)?;
        }
        let color = layer.color.as_ref().map(|expr| Column::of(&table, 2, expr)).transpose()?;
        let size_at = 2 + usize::from(layer.color.is_some());
        let size =
            layer.size.as_ref().map(|expr| Column::of(&table, size_at, expr)?.number("the size of points", expr));
        let size = size.transpose()?;
        let has = |i: &usize| {
            let sized = size.as_ref().is_none_or(|s| s.positions[*i].is_finite() && s.positions[*i] >= 0.0);
            !x_column.positions[*i].is_nan() && !y_column.positions[*i].is_nan() && sized
        };
        let mut rows: Vec<usize> = (0..table.rows()).filter(has).collect();
        if total == table.rows() {
            self.left_out(total - rows.len(), "point", "no value");
        }
        // All that could be shown: of a sample, in its proportion.
        let (all, of) = if total == table.rows() { (rows.len(), Of::All) } else { (total, Of::Sample) };
        self.fewer(&mut x_column, &mut rows, of);
        self.fewer(&mut y_column, &mut rows, of);
        let at = |rows: &[usize], positions: &[f64]| rows.iter().map(|i| positions[*i]).collect::<Vec<f64>>();
        let is_numeric = color.as_ref().is_some_and(|c| c.scale != AxisScale::Category && !is_strip);
        let size_range = size.as_ref().map_or((0.0, 0.0), |s| {
            let sizes = || rows.iter().map(|i| s.positions[*i]);
            (sizes().fold(f64::INFINITY, f64::min), sizes().fold(f64::NEG_INFINITY, f64::max))
        });
        let groups = match (is_numeric, &color) {
            (false, Some(_)) => self.split(rows, color.clone(), of),
            _ => vec![(String::new(), rows)],
        };
        let keep = (self.points / groups.len().max(1)).max(200);
        let (mut drawn, mut series) = (0, Vec::new());
        for (name, rows) in groups {
            let shown: Vec<usize> = statistics::spread(rows.len(), keep).map(|i| rows[i]).collect();
            drawn += shown.len();
            let (xs, ys) = (at(&shown, &x_column.positions), at(&shown, &y_column.positions));
            if !is_numeric && size.is_none() {
                series.push(Series { name, x: xs, y: ys });
                continue;
            }
            let numeric = color.as_ref().filter(|_| is_numeric);
            layers.push(Layer::Points {
                x: x_column.axis(),
                y: y_column.axis(),
                name,
                xs,
                ys,
                colors: numeric.map_or(Vec::new(), |c| at(&shown, &c.positions)),
                color_label: numeric.map_or(String::new(), |c| c.label.clone()),
                sizes: size.as_ref().map_or(Vec::new(), |s| at(&shown, &s.positions)),
                size_label: size.as_ref().map_or(String::new(), |s| s.label.clone()),
                size_range,
            });
        }
        if !series.is_empty() || (!is_numeric && size.is_none()) {
            layers.push(Layer::Xy { mark: layer.mark, x: x_column.axis(), y: y_column.axis(), series });
        }
        self.shown(drawn, all);
        Ok(())
    }

    /// The values of `x`, and the series that each row belongs to.
    fn values(&self, layer: &LayerRequest) -> Result<(Rows<'a>, Values, Option<Values>), Diagnostic> {
        let x = needed(layer.x.as_ref(), layer.mark, "x")?;
        let rows = self.rows([Some(x), layer.color.as_ref(), None])?;
        let values = Values::of(&rows, 0, x)?;
        if values.scale == AxisScale::Category {
            let message =
                format!("a {} needs numbers or times, and `{}` is text", layer.mark.info().name, values.label);
            return Err(place(plan_error("plot-type", message), x.span.as_ref(), None, "not a number")
                .help("count the rows of each value: `.bar(x, len())`"));
        }
        let color = self.color(&rows, 1, layer)?;
        Ok((rows, values, color))
    }

    /// One thing for each series, made of its values.
    fn by_series<T>(
        &mut self,
        (rows, values): (&Rows, &Values),
        color: Option<&Values>,
        new: impl Fn(usize) -> T,
        mut add: impl FnMut(&mut T, f64) -> bool,
    ) -> Result<Vec<(String, T)>, Diagnostic> {
        let (mut made, mut sizes) = (Vec::new(), Vec::new());
        let (mut nulls, mut missing) = (0, 0);
        axis_values::each_of(rows, [Some(values), color], self.task, |[value, at]| {
            if !value.is_finite() {
                missing += 1;
                return;
            }
            let series = if color.is_some() { at } else { 0.0 };
            if series.is_nan() {
                nulls += 1;
                return;
            }
            while made.len() <= series as usize {
                made.push(new(made.len()));
            }
            *grown(&mut sizes, series as usize) += usize::from(add(&mut made[series as usize], value));
        })?;
        let nulls = nulls - color.map_or(0, |c| c.hidden).min(nulls);
        self.left_out(missing, "row", "no finite value");
        self.left_out(nulls, "row", "no colour");
        let names = color.map_or(vec![String::new()], Values::categories);
        let all = names.len();
        sizes.resize(all, 0);
        (made.len()..all).for_each(|series| made.push(new(series)));
        let mut order: Vec<usize> = (0..all).collect();
        order.sort_by_key(|i| std::cmp::Reverse(sizes[*i]));
        let kept: HashSet<usize> = order.into_iter().take(SERIES).collect();
        if all > SERIES {
            let label = color.map_or("", |c| c.label.as_str());
            self.notes.push(format!("{SERIES} of {} values of {label} shown: those with most rows", grouped(all)));
        }
        let named = names.into_iter().zip(made).enumerate();
        Ok(named.filter(|(i, _)| kept.contains(i) && (sizes[*i] > 0 || all == 1)).map(|(_, made)| made).collect())
    }

    fn histogram(&mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let (rows, values, mut color) = self.values(layer)?;
        let edges = self.edges(layer, &rows, &values)?;
        if let Some(color) = &mut color {
            let all = color.keep_most(&rows, SERIES, self.task)?;
            self.most_frequent(SERIES, all, &color.label);
        }
        let empty = |_| vec![0u64; edges.len() - 1];
        let (has_log_bins, mut not_positive) = (self.has_log_bins, 0);
        let made = self.by_series((&rows, &values), color.as_ref(), empty, |counts, value| {
            not_positive += usize::from(has_log_bins && value <= 0.0);
            let bin = statistics::bin(value, &edges);
            bin.inspect(|bin| counts[*bin] += 1).is_some()
        })?;
        if not_positive > 0 {
            self.notes.push(format!("{} not positive, left out of the logarithmic axis", grouped(not_positive)));
        }
        let series = made.into_iter().map(|(name, counts)| Bins { name, edges: edges.clone(), counts }).collect();
        Ok(Layer::Histogram { x: values.axis(), series })
    }

    fn edges(&mut self, layer: &LayerRequest, rows: &Rows, values: &Values) -> Result<Vec<f64>, Diagnostic> {
        if let Some(known) = self.shared.edges.get(&self.index) {
            return Ok(known.clone());
        }
        let edges = if self.has_log_bins {
            let logarithm = |value: f64| if value > 0.0 { value.log10() } else { f64::NAN };
            statistics::log_edges(&values.sample_stats(rows, self.task, SAMPLE, logarithm)?, layer.bins)
        } else {
            values.sample_stats(rows, self.task, SAMPLE, |value| value)?.edges(layer.bins, values.is_integer)
        };
        self.shared.edges.insert(self.index, edges.clone());
        Ok(edges)
    }

    fn density(&mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let (rows, values, mut color) = self.values(layer)?;
        if let Some(color) = &mut color {
            let all = color.keep_most(&rows, SERIES, self.task)?;
            self.most_frequent(SERIES, all, &color.label);
        }
        let mut group_stats: Vec<SampleStats> = Vec::new();
        axis_values::each_of(&rows, [Some(&values), color.as_ref()], self.task, |[value, at]| {
            let series = if color.is_some() { at } else { 0.0 };
            if series >= 0.0 {
                grown(&mut group_stats, series as usize).add(value);
            }
        })?;
        let new =
            |series: usize| Density::new(group_stats.get(series).unwrap_or(&SampleStats::default()), layer.bandwidth);
        let made = self.by_series((&rows, &values), color.as_ref(), new, |density: &mut Density, value| {
            density.add(value);
            true
        })?;
        let curve = |(name, density): (String, Density)| {
            let (x, y) = density.curve(CURVE);
            Series { name, x, y }
        };
        let series: Vec<Series> = match group_stats.iter().all(|s| s.count == 0) {
            true => Vec::new(),
            false => made.into_iter().map(curve).collect(),
        };
        let y = Axis { label: "density".to_string(), scale: AxisScale::Number, categories: Vec::new() };
        Ok(Layer::Xy { mark: Mark::Density, x: values.axis(), y, series })
    }

    fn heat_map(&mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let (rows, mut sides) = self.sides(layer)?;
        let mut hidden = 0;
        for side in &mut sides {
            if side.is_text() {
                let all = side.values.keep_most(&rows, CATEGORIES, self.task)?;
                hidden += side.values.hidden;
                self.most_frequent(CATEGORIES, all, &side.values.label);
            }
        }
        let [x_side, y_side] = &sides;
        let color =
            layer.color.as_ref().map(|expr| Values::of(&rows, 2, expr)?.number("the colour of a heat map", expr));
        let color = color.transpose()?;
        let default = if color.is_some() { "mean" } else { "count" };
        let function = layer.aggregate.as_deref().unwrap_or(default);
        let combine = Combine::of(function).ok_or_else(|| unknown_aggregate(function, layer))?;
        let (x_axis, y_axis) = (x_side.axis(), y_side.axis());
        let mut values = vec![vec![Cell::default(); x_axis.categories.len()]; y_axis.categories.len()];
        let mut left_out = 0;
        let walked = [Some(&x_side.values), Some(&y_side.values), color.as_ref()];
        axis_values::each_of(&rows, walked, self.task, |[x, y, value]| {
            let value = if color.is_some() { value } else { 1.0 };
            let (column, line) = (x_side.cell(x), y_side.cell(y));
            match line.and_then(|line| values.get_mut(line)?.get_mut(column?)) {
                Some(cell) if !value.is_nan() => cell.add(value, combine),
                _ => left_out += 1,
            }
        })?;
        if hidden == 0 {
            self.left_out(left_out, "row", "no value");
        }
        let values =
            values.into_iter().map(|line| line.into_iter().map(|cell| cell.value(combine)).collect()).collect();
        let color_label = match (&color, combine) {
            (Some(color), combine) if combine != Combine::Count => format!("{function}({})", color.label),
            _ => "rows".to_string(),
        };
        Ok(Layer::HeatMap { x: x_axis, y: y_axis, values, color_label, range: None })
    }

    /// The rows of a heat map, and its sides.
    fn sides(&mut self, layer: &LayerRequest) -> Result<(Rows<'a>, [heatmap::Side; 2]), Diagnostic> {
        let x = needed(layer.x.as_ref(), layer.mark, "x")?;
        let y = needed(layer.y.as_ref(), layer.mark, "y")?;
        let rows = self.rows([Some(x), Some(y), layer.color.as_ref()])?;
        let mut side = |index: usize, expr: &Expr, name: char| {
            let known = (&mut self.shared.cells, (self.index, name));
            heatmap::Side::of(&rows, index, expr, layer.bins, known, self.task)
        };
        let sides = [side(0, x, 'x')?, side(1, y, 'y')?];
        Ok((rows, sides))
    }

    /// Says that of `all` categories `shown` were kept.
    fn most_frequent(&mut self, shown: usize, all: usize, label: &str) {
        self.with_most_rows(shown, all, label, Of::All);
    }

    fn with_most_rows(&mut self, shown: usize, all: usize, label: &str, of: Of<'_>) {
        if all > shown {
            let least = if of == Of::Sample { "at least " } else { "" };
            let all = grouped(all);
            self.notes.push(format!("{shown} of {least}{all} values of {label} shown: those with most rows"));
        }
    }

    /// The expressions that are there, as columns in this order, to be walked over.
    fn rows<'e>(&self, exprs: impl IntoIterator<Item = Option<&'e Expr>>) -> Result<Rows<'a>, Diagnostic> {
        let named = exprs.into_iter().flatten().enumerate();
        let exprs: Vec<Expr> = named.map(|(i, expr)| expr.clone().alias(format!("p{i}"))).collect();
        Rows::select(self.engine, self.frame, &exprs, self.engine.memory_limit() / KEPT)
    }

    /// Rows by the value of the colour, in the order of the values' first rows. The rarest beyond [`SERIES`] are left
    /// out.
    fn split(&mut self, rows: Vec<usize>, color: Option<Column>, of: Of<'_>) -> Vec<(String, Vec<usize>)> {
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
            let all = groups.len();
            let sizes: Vec<usize> = groups.iter().map(|(_, rows)| rows.iter().map(|row| of.rows(*row)).sum()).collect();
            let mut most = most(&sizes, SERIES).into_iter();
            groups.retain(|_| most.next().unwrap_or(false));
            self.with_most_rows(SERIES, all, &color.label, of);
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

/// The rows that a plot has looked at.
#[derive(Clone, Copy, PartialEq)]
enum Of<'a> {
    All,
    Sample,
    /// Groups of all rows, with the number of rows in each.
    Groups(&'a [f64]),
}

impl Of<'_> {
    /// The rows of the frame that a row of the table stands for.
    fn rows(self, row: usize) -> usize {
        match self {
            Of::All | Of::Sample => 1,
            Of::Groups(rows) => rows.get(row).map_or(1, |rows| *rows as usize),
        }
    }
}

/// Marks the largest, the earlier of equal ones.
fn most(sizes: &[usize], keep: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(sizes[*index]));
    let mut most = vec![false; sizes.len()];
    order.iter().take(keep).for_each(|index| most[*index] = true);
    most
}

fn needed<'a>(expr: Option<&'a Expr>, mark: Mark, what: &str) -> Result<&'a Expr, Diagnostic> {
    expr.ok_or_else(|| plan_error("plot", format!("a {} needs `{what}`, a column or an expression", mark.info().name)))
}

/// `mean` and `y` as an expression; `count` counts rows.
pub(crate) fn aggregate(function: &str, layer: &LayerRequest) -> Result<Expr, Diagnostic> {
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
        plan_error("plot-aggregate", format!("a {} cannot combine rows by `{function}`", layer.mark.info().name));
    place(diagnostic, span, None, "").help("write `sum`, `mean`, `median`, `min`, `max` or `count`")
}

fn grouped(number: usize) -> String {
    onrush_wire::format_integer::thousands(number as u64)
}
