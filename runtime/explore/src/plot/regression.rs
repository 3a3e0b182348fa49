//! Regression lines: ordinary least squares of one variable, with the confidence band of the mean.

use onrush_expr::diagnostics::{place, plan_error};
use onrush_learn::t_distribution;
use onrush_wire::Diagnostic;
use onrush_wire::plot::{AxisScale, Interval, Layer, LayerRequest};

use super::axis_values::{Values, each_of, grown};
use super::{SERIES, Source, grouped, most, needed};

/// Points of a line.
const POINTS: usize = 100;
/// Notes about single lines.
const NOTES: usize = 3;

/// Means and centred sums of pairs, updated pair by pair (Welford 1962).
#[derive(Clone, Copy)]
struct Line {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
    low: f64,
    high: f64,
}

impl Default for Line {
    fn default() -> Self {
        let (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
        Line { count: 0.0, x: 0.0, y: 0.0, xx: 0.0, xy: 0.0, yy: 0.0, low, high }
    }
}

impl Line {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        let (dx, dy) = (x - self.x, y - self.y);
        self.x += dx / self.count;
        self.y += dy / self.count;
        self.xx += dx * (x - self.x);
        self.xy += dx * (y - self.y);
        self.yy += dy * (y - self.y);
        self.low = self.low.min(x);
        self.high = self.high.max(x);
    }

    fn slope(&self) -> f64 {
        self.xy / self.xx
    }

    /// The estimate at `x`, and half of the width of the 95 % confidence interval of the mean there.
    fn at(&self, x: f64, t: f64) -> (f64, f64) {
        let residual = (self.yy - self.xy * self.xy / self.xx).max(0.0) / (self.count - 2.0);
        let reach = t * (residual * (1.0 / self.count + (x - self.x) * (x - self.x) / self.xx)).sqrt();
        (self.y + self.slope() * (x - self.x), reach)
    }
}

impl Source<'_> {
    /// A line for each value of the colour. The interval is that of `statsmodels`' `get_prediction(...).conf_int()`.
    pub(super) fn regression(&mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let x_expr = needed(layer.x.as_ref(), layer.mark, "x")?;
        let y_expr = needed(layer.y.as_ref(), layer.mark, "y")?;
        let rows = self.rows([Some(x_expr), Some(y_expr), layer.color.as_ref()])?;
        let x = Values::of(&rows, 0, x_expr)?;
        if x.scale == AxisScale::Category {
            let message = format!("a regression line needs numbers or times, and `{}` is text", x.label);
            return Err(place(plan_error("plot-type", message), x_expr.span.as_ref(), None, "not a number")
                .help("compare groups with `.point_plot(x, y)` or `.box_plot(x, y)`"));
        }
        let y = Values::of(&rows, 1, y_expr)?.number("the y of a regression line", y_expr)?;
        let color = self.color(&rows, 2, layer)?;
        let mut lines: Vec<Line> = Vec::new();
        let mut left_out = 0;
        each_of(&rows, [Some(&x), Some(&y), color.as_ref()], self.task, |[x, y, series]| {
            let series = if color.is_some() { series } else { 0.0 };
            if x.is_finite() && y.is_finite() && series >= 0.0 {
                grown(&mut lines, series as usize).add(x, y);
            } else {
                left_out += 1;
            }
        })?;
        self.left_out(left_out, "row", "no value");
        let names = color.as_ref().map_or(vec![String::new()], Values::categories);
        let sizes: Vec<usize> = lines.iter().map(|line| line.count as usize).collect();
        let shown = most(&sizes, SERIES);
        self.series_left_out(sizes.len().saturating_sub(SERIES), sizes.len().min(SERIES), layer);
        let (mut series, mut notes) = (Vec::new(), Vec::new());
        for ((name, line), _) in names.into_iter().zip(lines).zip(shown).filter(|(_, shown)| *shown) {
            let of = if name.is_empty() { String::new() } else { format!("{name}: ") };
            if line.xx <= 0.0 {
                notes.push(format!("{of}no line through {} rows with one value of {}", line.count, x.label));
                continue;
            }
            if x.scale == AxisScale::Number {
                notes.push(format!("{of}{}", equation(&line, &x.label, &y.label)));
            }
            series.push(self.band(name, &line));
        }
        let more = notes.len().saturating_sub(NOTES);
        notes.truncate(NOTES);
        if more > 0 {
            notes.push(format!("and {more} more lines"));
        }
        self.notes.extend(notes);
        Ok(Layer::Intervals { x: x.axis(), y: y.axis(), series, is_band: true })
    }

    fn band(&self, name: String, line: &Line) -> Interval {
        let t = t_distribution::quantile(0.025, line.count - 2.0);
        // Equal distances on the drawn axis.
        let drawn = |value: f64| if self.has_log_bins { value.log10() } else { value };
        let low = if self.has_log_bins { line.low.max(line.high * 1e-9) } else { line.low };
        let (from, to) = (drawn(low), drawn(line.high));
        let mut one = Interval { name, ..Interval::default() };
        for i in 0..POINTS {
            let at = from + (to - from) * i as f64 / (POINTS - 1) as f64;
            let at = if self.has_log_bins { 10f64.powf(at) } else { at };
            let (y, reach) = line.at(at, t);
            one.x.push(at);
            one.y.push(y);
            one.low.push(y - reach);
            one.high.push(y + reach);
        }
        one
    }
}

/// `mpg = 39.9 − 0.158 horsepower, R² = 0.606, 392 rows`.
fn equation(line: &Line, x: &str, y: &str) -> String {
    let slope = line.slope();
    let start = line.y - slope * line.x;
    let sign = if slope < 0.0 { "−" } else { "+" };
    let fit = if line.yy > 0.0 { line.xy * line.xy / (line.xx * line.yy) } else { f64::NAN };
    let rows = grouped(line.count as usize);
    format!("{y} = {} {sign} {} {x}, R² = {fit:.3}, {rows} rows", short(start), short(slope.abs()))
}

/// Four significant digits.
fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    let text = match rounded.abs() {
        0.0 => "0".to_string(),
        size if (1e-4..1e7).contains(&size) => rounded.to_string(),
        _ => format!("{rounded:e}"),
    };
    text.replace('-', "−")
}
