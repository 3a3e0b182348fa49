//! Bar charts: bars of one category are summed, and the largest categories are kept.

use std::collections::{HashMap, HashSet};

use onrush_expr::diagnostics::{place, plan_error};
use onrush_stats::Combine;
use onrush_wire::plot::{Axis, AxisScale, Layer, LayerRequest, Mark, Series};
use onrush_wire::{Diagnostic, Expr};

use super::axis_values::{self, Column, Values, grown, rank_of};
use super::row_source::Rows;
use super::{CATEGORIES, SERIES, Source, grouped, most};

/// Bars that can be told apart.
pub(super) const BARS: usize = 1_000;
/// Different bars of numbers and times that are counted, to say how many there are.
const COUNTED: usize = 1_000_000;

impl Source<'_> {
    /// Bars of rows that are not combined: where several are at one place, their sum is what stacked bars would reach.
    pub(super) fn bars(
        &mut self,
        layer: &LayerRequest,
        rows: &Rows,
        (x, y): (&Values, &Values),
        x_expr: &Expr,
    ) -> Result<Layer, Diagnostic> {
        let color = self.color(rows, 2, layer)?;
        let x_scale = x.scale;
        let mut at: HashMap<(i64, usize), usize> = HashMap::new();
        let mut bars: Vec<Vec<(f64, f64)>> = Vec::new();
        // The rows of each series.
        let mut sizes: Vec<usize> = Vec::new();
        let (mut without_value, mut without_color, mut count) = (0, 0, 0usize);
        axis_values::each_of(rows, [Some(x), Some(y), color.as_ref()], self.task, |[x, y, series]| {
            let series = if color.is_some() { series } else { 0.0 };
            if x.is_nan() || y.is_nan() {
                without_value += 1;
            } else if series.is_nan() {
                without_color += 1;
            } else if let Some(bar) = at.get(&(rank_of(x), series as usize)) {
                bars[series as usize][*bar].1 += y;
                *grown(&mut sizes, series as usize) += 1;
                count += 1;
            } else if at.len() <= COUNTED || x_scale == AxisScale::Category {
                let bars = grown(&mut bars, series as usize);
                at.insert((rank_of(x), series as usize), bars.len());
                bars.push((x, y));
                *grown(&mut sizes, series as usize) += 1;
                count += 1;
            }
        })?;
        self.left_out(without_value, "point", "no value");
        self.left_out(without_color, "row", "no colour");
        let mut axis = x.axis();
        let is_reduced = at.len() > BARS && axis.categories.len() > CATEGORIES;
        if at.len() > BARS && !is_reduced {
            let more = if at.len() > COUNTED { "more than " } else { "" };
            return Err(too_many_bars(&format!("{more}{}", grouped(at.len().min(COUNTED))), axis.scale, x_expr));
        }
        if is_reduced {
            self.largest_bars(&mut axis, &mut bars);
        }
        if count > at.len() {
            let bars = if at.len() == 1 { "bar: their sum" } else { "bars: their sums" };
            let (count, at) = (grouped(count), grouped(at.len()));
            self.notes.push(format!("{count} rows in {at} {bars}; choose with `.aggregate(\"mean\")`"));
        }
        let names = color.as_ref().map_or(vec![String::new()], Values::categories);
        bars.resize_with(names.len(), Vec::new);
        sizes.resize(names.len(), 0);
        sizes.iter_mut().zip(&bars).filter(|(_, bars)| bars.is_empty()).for_each(|(size, _)| *size = 0);
        let hidden = sizes.iter().filter(|size| **size > 0).count().saturating_sub(SERIES);
        let shown = most(&sizes, SERIES);
        let made = names.into_iter().zip(bars).zip(shown);
        let series = made.filter(|((_, bars), shown)| *shown && (color.is_none() || !bars.is_empty()));
        let series: Vec<Series> = series
            .map(|((name, bars), _)| {
                let (x, y) = bars.into_iter().unzip();
                Series { name, x, y }
            })
            .collect();
        self.series_left_out(hidden, series.len(), layer);
        Ok(Layer::Xy { mark: Mark::Bar, x: axis, y: y.axis(), series })
    }

    /// Leaves the categories with the largest values; the rest of sums and counts is one bar, `other`.
    pub(super) fn largest(
        &mut self,
        x: &mut Column,
        y: &mut Column,
        rows: &mut Vec<usize>,
        layer: &LayerRequest,
        is_colored: bool,
    ) {
        let all = x.categories.len();
        let mut totals = vec![0.0; all];
        rows.iter().for_each(|i| totals[x.positions[*i] as usize] += y.positions[*i].abs());
        let order = by_size(&totals);
        let kept: HashSet<usize> = order[..CATEGORIES].iter().copied().collect();
        let adds_up = matches!(layer.aggregate.as_deref().and_then(Combine::of), Some(Combine::Sum | Combine::Count));
        let rest: f64 =
            rows.iter().filter(|i| !kept.contains(&(x.positions[**i] as usize))).map(|i| y.positions[*i]).sum();
        rows.retain(|i| kept.contains(&(x.positions[*i] as usize)));
        // The order of categories is that of their first rows; here the largest come first.
        let place: HashMap<usize, usize> = order[..CATEGORIES].iter().enumerate().map(|(at, c)| (*c, at)).collect();
        rows.sort_by_key(|i| place[&(x.positions[*i] as usize)]);
        rows.iter().for_each(|i| x.positions[*i] = place[&(x.positions[*i] as usize)] as f64);
        x.categories = order[..CATEGORIES].iter().map(|c| x.categories[*c].clone()).collect();
        let mut note = format!("{CATEGORIES} of {} values of {} shown: the largest", grouped(all), x.label);
        let largest = totals[order[0]];
        if adds_up && !is_colored && rest > 2.0 * largest {
            // A bar for the rest would be so large that the other bars could not be seen.
            note.push_str(&format!("; the others add up to {}", grouped(rest.round() as usize)));
        } else if adds_up && !is_colored {
            rows.push(x.positions.len());
            x.positions.push(x.categories.len() as f64);
            y.positions.push(rest);
            x.categories.push("other".to_string());
            axis_values::different(&mut x.categories);
            note.push_str(&format!("; the rest is `{}`", x.categories.last().map_or("other", |c| c.as_str())));
        }
        self.notes.push(note);
    }

    /// Leaves the bars of the categories with the largest ones.
    fn largest_bars(&mut self, x: &mut Axis, bars: &mut [Vec<(f64, f64)>]) {
        let all = x.categories.len();
        let mut totals = vec![0.0; all];
        bars.iter().flatten().for_each(|(x, y)| totals[*x as usize] += y.abs());
        let order = by_size(&totals);
        let mut place = vec![None; all];
        order[..CATEGORIES].iter().enumerate().for_each(|(at, category)| place[*category] = Some(at as f64));
        for bars in bars {
            bars.retain_mut(|(x, _)| place[*x as usize].inspect(|at| *x = *at).is_some());
            bars.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        x.categories = order[..CATEGORIES].iter().map(|category| x.categories[*category].clone()).collect();
        self.notes.push(format!("{CATEGORIES} of {} values of {} shown: the largest", grouped(all), x.label));
    }
}

pub(super) fn too_many_bars(count: &str, scale: AxisScale, x: &Expr) -> Diagnostic {
    let message = format!("{count} bars cannot be told apart");
    let help = match scale {
        AxisScale::Number => "draw `.line(x, y)`, or count rows in bins with `.hist(x)`",
        AxisScale::Time => "combine those of a day, week or month with `.aggregate(\"mean\")`, or draw `.line(x, y)`",
        AxisScale::Category => "take a column with fewer values for the colour, or filter the frame",
    };
    place(plan_error("plot-size", message), x.span.as_ref(), None, "too many values").help(help)
}

/// Indexes, those of the largest first, the earlier of equal ones.
fn by_size(totals: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..totals.len()).collect();
    order.sort_by(|a, b| totals[*b].total_cmp(&totals[*a]).then(a.cmp(b)));
    order
}
