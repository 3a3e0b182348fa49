//! Error bars and bands: the mean of each group with an interval, and intervals from two columns.

use std::collections::HashMap;

use onrush_expr::diagnostics::{place, plan_error};
use onrush_learn::t_distribution;
use onrush_wire::plot::{AxisScale, ErrorBar, Interval, Layer, LayerRequest, Mark};
use onrush_wire::{Diagnostic, Expr};

use super::axis_values::{Values, each_of, grown, label, rank_of, ranked};
use super::{CATEGORIES, SERIES, Source, grouped, most, needed};

/// Error bars that can be told apart, and points of a band.
const BARS: usize = 1_000;
const BAND: usize = 4_000;

/// Count, mean and sum of squared deviations of values (Welford 1962).
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.squares += before * (value - self.mean);
    }

    /// Half of the length of an error bar. NaN of a single value.
    fn reach(&self, error: ErrorBar) -> f64 {
        if self.count < 2.0 {
            return f64::NAN;
        }
        let deviation = (self.squares / (self.count - 1.0)).sqrt();
        match error {
            ErrorBar::Deviation => deviation,
            ErrorBar::StandardError => deviation / self.count.sqrt(),
            ErrorBar::Confidence => t_distribution::quantile(0.025, self.count - 1.0) * deviation / self.count.sqrt(),
        }
    }
}

impl Source<'_> {
    /// The mean of `y` at each `x` with its error bar.
    pub(super) fn means(&mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let x_expr = needed(layer.x.as_ref(), layer.mark, "x")?;
        let y_expr = needed(layer.y.as_ref(), layer.mark, "y")?;
        let rows = self.rows([Some(x_expr), Some(y_expr), layer.color.as_ref()])?;
        let mut x = Values::of(&rows, 0, x_expr)?;
        let y = Values::of(&rows, 1, y_expr)?.number("the y of a point plot", y_expr)?;
        if x.scale == AxisScale::Category {
            let all = x.keep_most(&rows, CATEGORIES, self.task)?;
            self.most_frequent(CATEGORIES, all, &x.label);
        }
        let color = self.color(&rows, 2, layer)?;
        let mut groups: Vec<HashMap<i64, Moments>> = Vec::new();
        let (mut left_out, mut places) = (0, 0);
        each_of(&rows, [Some(&x), Some(&y), color.as_ref()], self.task, |[at, value, series]| {
            let series = if color.is_some() { series } else { 0.0 };
            if at.is_finite() && value.is_finite() && series >= 0.0 {
                let group = grown(&mut groups, series as usize);
                if places <= BARS || group.contains_key(&rank_of(at)) {
                    let before = group.len();
                    group.entry(rank_of(at)).or_default().add(value);
                    places += group.len() - before;
                }
            } else {
                left_out += 1;
            }
        })?;
        if places > BARS {
            return Err(too_many("error bars", &format!("more than {}", grouped(BARS)), x_expr)
                .help("take an `x` with fewer values, such as a category, an hour or a month"));
        }
        self.left_out(left_out - x.hidden.min(left_out), "row", "no value");
        let error = layer.error.unwrap_or_default();
        let names = color.as_ref().map_or(vec![String::new()], Values::categories);
        let rows = |group: &HashMap<i64, Moments>| group.values().map(|moments| moments.count as usize).sum();
        let sizes: Vec<usize> = groups.iter().map(rows).collect();
        let shown = most(&sizes, SERIES);
        self.series_left_out(sizes.len().saturating_sub(SERIES), sizes.len().min(SERIES), layer);
        let mut series = Vec::new();
        for ((name, group), _) in names.into_iter().zip(groups).zip(shown).filter(|(_, shown)| *shown) {
            let mut group: Vec<(i64, Moments)> = group.into_iter().collect();
            group.sort_unstable_by_key(|(rank, _)| *rank);
            let mut one = Interval { name, ..Interval::default() };
            for (rank, moments) in group {
                let reach = moments.reach(error);
                one.x.push(ranked(rank));
                one.y.push(moments.mean);
                one.low.push(moments.mean - reach);
                one.high.push(moments.mean + reach);
            }
            series.push(one);
        }
        self.notes.push(format!("bars: {}", words(error)));
        let mut y_axis = y.axis();
        y_axis.label = format!("mean({})", y_axis.label);
        Ok(Layer::Intervals { x: x.axis(), y: y_axis, series, is_band: false })
    }

    /// Intervals from `y` to the first of `more_y`, row by row.
    pub(super) fn intervals(&mut self, layer: &LayerRequest) -> Result<Layer, Diagnostic> {
        let x_expr = needed(layer.x.as_ref(), layer.mark, "x")?;
        let low_expr = needed(layer.y.as_ref(), layer.mark, "low")?;
        let high_expr = needed(layer.more_y.first(), layer.mark, "high")?;
        let rows = self.rows([Some(x_expr), Some(low_expr), Some(high_expr), layer.color.as_ref()])?;
        let x = Values::of(&rows, 0, x_expr)?;
        let what = |side: &str| format!("the {side} end of a {}", layer.mark.info().name);
        let low = Values::of(&rows, 1, low_expr)?.number(&what("low"), low_expr)?;
        let high = Values::of(&rows, 2, high_expr)?.number(&what("high"), high_expr)?;
        let color = self.color(&rows, 3, layer)?;
        let is_band = layer.mark == Mark::Band;
        let limit = if is_band { BAND } else { BARS };
        let mut series: Vec<Vec<[f64; 3]>> = Vec::new();
        let (mut left_out, mut count) = (0, 0);
        let columns = [Some(&x), Some(&low), Some(&high), color.as_ref()];
        each_of(&rows, columns, self.task, |[at, low, high, group]| {
            let group = if color.is_some() { group } else { 0.0 };
            if !at.is_finite() || !low.is_finite() || !high.is_finite() || group.is_nan() {
                left_out += 1;
                return;
            }
            count += 1;
            if count <= limit {
                grown(&mut series, group as usize).push([at, low, high]);
            }
        })?;
        if count > limit {
            let what = if is_band { "points of a band" } else { "error bars" };
            return Err(too_many(what, &grouped(count), x_expr).help(
                "combine rows first: `f.group_by(\"x\").agg(x!(low = v.quantile(0.1), high = v.quantile(0.9)))`",
            ));
        }
        self.left_out(left_out, "row", "no value");
        let names = color.as_ref().map_or(vec![String::new()], Values::categories);
        let made = names.into_iter().zip(series).filter(|(_, points)| !points.is_empty());
        let series: Vec<Interval> = made
            .map(|(name, mut points)| {
                points.sort_by(|a, b| a[0].total_cmp(&b[0]));
                let list = |n: usize| points.iter().map(|point| point[n]).collect::<Vec<f64>>();
                Interval { name, x: list(0), y: Vec::new(), low: list(1), high: list(2) }
            })
            .collect();
        if series.len() > SERIES {
            let color = layer.color.as_ref().map_or(String::new(), label);
            let message = format!("{} values of {color} cannot be told apart", grouped(series.len()));
            return Err(plan_error("plot-size", message).help(format!("filter the frame to at most {SERIES} of them")));
        }
        let mut y_axis = low.axis();
        y_axis.label = format!("{} to {}", low.label, high.label);
        Ok(Layer::Intervals { x: x.axis(), y: y_axis, series, is_band })
    }
}

fn words(error: ErrorBar) -> &'static str {
    match error {
        ErrorBar::Confidence => "95 % confidence interval of the mean",
        ErrorBar::Deviation => "one standard deviation",
        ErrorBar::StandardError => "one standard error of the mean",
    }
}

fn too_many(what: &str, count: &str, x: &Expr) -> Diagnostic {
    let message = format!("{count} {what} cannot be told apart");
    place(plan_error("plot-size", message), x.span.as_ref(), None, "too many values")
}
