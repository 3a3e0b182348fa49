//! What each kind of chart draws: series, bins, boxes, cells.

use onrush_wire::Diagnostic;
use onrush_wire::plot::{Axis, AxisScale, Bins, BoxStats, Layer, Mark, Series};

use super::columns::{Values, categories, groups, number_label};
use super::{Data, MOST_CATEGORIES, MOST_POINTS, MOST_SERIES, axis};
use crate::check::plan_error;
use crate::expr::quantile::{Interpolation, of};

/// `12 345`: thousands apart.
fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// The colour of each row, at most [`MOST_SERIES`] of them. Without colours there is one series without a name.
fn series_of(data: &Data, rows: usize, notes: &mut Vec<String>) -> (Vec<String>, Vec<Option<usize>>) {
    let Some(color) = &data.color else { return (vec![String::new()], vec![Some(0); rows]) };
    let (mut names, mut ranks) = groups(color);
    let nulls = ranks.iter().filter(|r| r.is_none()).count();
    if nulls > 0 {
        names.push("null".to_string());
        let last = names.len() - 1;
        ranks.iter_mut().for_each(|r| *r = r.or(Some(last)));
    }
    if names.len() > MOST_SERIES {
        notes.push(format!("{MOST_SERIES} of {} values of {} shown", count(names.len()), data.color_label));
        names.truncate(MOST_SERIES);
        ranks.iter_mut().for_each(|r| *r = r.filter(|r| *r < MOST_SERIES));
    }
    (names, ranks)
}

/// Positions on an axis, and the axis: categories for text.
fn positions(values: &Values, label: &str, as_categories: bool, notes: &mut Vec<String>) -> (Axis, Vec<Option<f64>>) {
    if !as_categories && !matches!(values, Values::Text(_)) {
        let all = (0..values.len()).map(|row| values.number(row).filter(|v| v.is_finite())).collect();
        return (axis(label, values), all);
    }
    let (mut names, ranks) = categories(values);
    if names.len() > MOST_CATEGORIES {
        notes.push(format!("{MOST_CATEGORIES} of {} values of {label} shown", count(names.len())));
        names.truncate(MOST_CATEGORIES);
    }
    let limit = names.len();
    let axis = Axis { label: label.to_string(), scale: AxisScale::Category, categories: names };
    (axis, ranks.into_iter().map(|r| r.filter(|r| *r < limit).map(|r| r as f64)).collect())
}

pub fn xy(mark: Mark, data: Data, notes: &mut Vec<String>) -> Result<Layer, Diagnostic> {
    let rows = data.x.len();
    let (x_axis, xs) = positions(&data.x, &data.x_label, false, notes);
    let y_values = data.y.clone().unwrap_or(Values::Number(vec![None; rows]));
    let y_axis = axis(&data.y_label, &y_values);
    let (names, ranks) = series_of(&data, rows, notes);
    let mut series: Vec<Series> = names.into_iter().map(|name| Series { name, x: Vec::new(), y: Vec::new() }).collect();
    let mut nulls = 0;
    let points = rows.max(1);
    // Single points: every n-th row; lines and bars are thinned where there are far more than pixels.
    let most = if mark == Mark::Scatter { MOST_POINTS } else { 4 * MOST_POINTS };
    let step = points.div_ceil(most).max(1);
    let mut shown = 0;
    for row in 0..rows {
        let Some(rank) = ranks[row] else { continue };
        let y = y_values.number(row).filter(|v| v.is_finite());
        match (xs[row], y) {
            (Some(x), y) if y.is_some() || mark == Mark::Line => {
                if row % step == 0 {
                    series[rank].x.push(x);
                    series[rank].y.push(y.unwrap_or(f64::NAN));
                    shown += 1;
                }
            }
            _ => nulls += 1,
        }
    }
    if step > 1 {
        notes.push(format!("{} of {} points shown", count(shown), count(rows)));
    }
    if nulls > 0 {
        notes.push(format!("{} rows with nulls left out", count(nulls)));
    }
    if matches!(mark, Mark::Line | Mark::Area) {
        for s in &mut series {
            let mut order: Vec<usize> = (0..s.x.len()).collect();
            order.sort_by(|a, b| s.x[*a].total_cmp(&s.x[*b]));
            s.x = order.iter().map(|i| s.x[*i]).collect();
            s.y = order.iter().map(|i| s.y[*i]).collect();
        }
    }
    series.retain(|s| !s.x.is_empty());
    Ok(Layer::Xy { mark, x: x_axis, y: y_axis, series })
}

/// Equal widths; their number by Freedman and Diaconis (1981) unless it is given.
fn edges(values: &mut [f64], bins: Option<u32>) -> Result<Vec<f64>, Diagnostic> {
    if bins == Some(0) {
        return Err(plan_error("argument", "a histogram has at least one bin"));
    }
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.is_empty() {
        return Ok(vec![0.0, 1.0]);
    }
    if low == high {
        return Ok(vec![low - 0.5, high + 0.5]);
    }
    let number = match bins {
        Some(bins) => bins.min(1000) as usize,
        None => {
            let q = |values: &mut [f64], q| of(values, q, Interpolation::Linear).unwrap_or(0.0);
            let range = q(values, 0.75) - q(values, 0.25);
            let width = 2.0 * range / (values.len() as f64).cbrt();
            let by_width = if width > 0.0 { ((high - low) / width).ceil() } else { 30.0 };
            by_width.clamp(5.0, 100.0) as usize
        }
    };
    Ok((0..=number).map(|i| low + (high - low) * i as f64 / number as f64).collect())
}

fn bin(edges: &[f64], value: f64) -> usize {
    let last = edges.len() - 2;
    let (low, high) = (edges[0], edges[edges.len() - 1]);
    (((value - low) / (high - low) * (last + 1) as f64) as usize).min(last)
}

pub fn histogram(data: &Data, bins: Option<u32>, notes: &mut Vec<String>) -> Result<Layer, Diagnostic> {
    let rows = data.x.len();
    let mut all: Vec<f64> = (0..rows).filter_map(|r| data.x.number(r)).filter(|v| v.is_finite()).collect();
    if all.len() < rows {
        notes.push(format!("{} nulls left out", count(rows - all.len())));
    }
    let edges = edges(&mut all, bins)?;
    let (names, ranks) = series_of(data, rows, notes);
    let mut series: Vec<Bins> =
        names.into_iter().map(|name| Bins { name, edges: edges.clone(), counts: vec![0; edges.len() - 1] }).collect();
    for (row, rank) in ranks.iter().enumerate() {
        if let (Some(rank), Some(value)) = (rank, data.x.number(row).filter(|v| v.is_finite())) {
            series[*rank].counts[bin(&edges, value)] += 1;
        }
    }
    Ok(Layer::Histogram { x: axis(&data.x_label, &data.x), series })
}

pub fn boxes(data: &Data, notes: &mut Vec<String>) -> Result<Layer, Diagnostic> {
    let none = Values::Number(Vec::new());
    let y = data.y.as_ref().unwrap_or(&none);
    let (x_axis, xs) = positions(&data.x, &data.x_label, true, notes);
    let mut groups: Vec<Vec<f64>> = vec![Vec::new(); x_axis.categories.len()];
    let mut nulls = 0;
    for (row, x) in xs.iter().enumerate() {
        match (x, y.number(row).filter(|v| v.is_finite())) {
            (Some(x), Some(value)) => groups[*x as usize].push(value),
            _ => nulls += 1,
        }
    }
    if nulls > 0 {
        notes.push(format!("{} rows with nulls left out", count(nulls)));
    }
    let boxes = x_axis
        .categories
        .iter()
        .zip(groups)
        .filter(|(_, values)| !values.is_empty())
        .map(|(category, values)| tukey(category, values))
        .collect::<Vec<_>>();
    let categories = boxes.iter().map(|b| b.category.clone()).collect();
    Ok(Layer::Box { x: Axis { categories, ..x_axis }, y: axis(&data.y_label, y), boxes })
}

/// Whiskers at the last values within 1.5 interquartile ranges (Tukey 1977); at most 200 outliers, spread over their range.
fn tukey(category: &str, mut values: Vec<f64>) -> BoxStats {
    values.sort_by(f64::total_cmp);
    let mut scratch = values.clone();
    let mut q = |q| of(&mut scratch, q, Interpolation::Linear).unwrap_or(f64::NAN);
    let (q1, median, q3) = (q(0.25), q(0.5), q(0.75));
    let reach = 1.5 * (q3 - q1);
    let inside = |v: &&f64| (q1 - reach..=q3 + reach).contains(*v);
    let low = values.iter().find(inside).copied().unwrap_or(q1);
    let high = values.iter().rev().find(inside).copied().unwrap_or(q3);
    let outside: Vec<f64> = values.iter().copied().filter(|v| *v < low || *v > high).collect();
    let step = outside.len().div_ceil(200).max(1);
    let mut outliers: Vec<f64> = outside.iter().copied().step_by(step).collect();
    if let Some(last) = outside.last().filter(|l| outliers.last() != Some(l)) {
        outliers.push(*last);
    }
    BoxStats { category: category.to_string(), low, q1, median, q3, high, outliers, count: values.len() as u64 }
}

pub fn heat_map(data: &Data, bins: Option<u32>, notes: &mut Vec<String>) -> Result<Layer, Diagnostic> {
    let none = Values::Number(Vec::new());
    let y = data.y.as_ref().unwrap_or(&none);
    let color = data.color.as_ref().unwrap_or(&none);
    let (x_axis, xs) = cells(&data.x, &data.x_label, bins, notes)?;
    let (y_axis, ys) = cells(y, &data.y_label, bins, notes)?;
    let mut sums = vec![vec![(0.0, 0u32); x_axis.categories.len()]; y_axis.categories.len()];
    for row in 0..data.x.len() {
        if let (Some(x), Some(y), Some(value)) = (xs[row], ys[row], color.number(row)) {
            let cell = &mut sums[y][x];
            *cell = (cell.0 + value, cell.1 + 1);
        }
    }
    // Several values fall into one cell only where an axis is binned: counts add up, other values are averaged.
    let counts = data.color_label == "count";
    let value = |(sum, n): (f64, u32)| (n > 0).then(|| if counts { sum } else { sum / f64::from(n) });
    let values = sums.into_iter().map(|row| row.into_iter().map(value).collect()).collect();
    Ok(Layer::HeatMap { x: x_axis, y: y_axis, values, color_label: data.color_label.clone() })
}

/// Cells along one axis: values as they are if there are few, else intervals.
fn cells(
    values: &Values,
    label: &str,
    bins: Option<u32>,
    notes: &mut Vec<String>,
) -> Result<(Axis, Vec<Option<usize>>), Diagnostic> {
    const FEW: usize = 60;
    let (names, ranks) = categories(values);
    if matches!(values, Values::Text(_)) || (names.len() <= FEW && bins.is_none()) {
        let (axis, at) = positions(values, label, true, notes);
        return Ok((axis, at.into_iter().map(|p| p.map(|p| p as usize)).collect()));
    }
    drop(ranks);
    let mut all: Vec<f64> = (0..values.len()).filter_map(|r| values.number(r)).filter(|v| v.is_finite()).collect();
    let edges = edges(&mut all, Some(bins.unwrap_or(30)))?;
    let text = |v: f64| match values {
        Values::Time(_) => Values::Time(vec![Some(v)]).label(0).unwrap_or_default(),
        _ => number_label(v),
    };
    let categories = edges.windows(2).map(|w| text(w[0])).collect();
    let axis = Axis { label: label.to_string(), scale: AxisScale::Category, categories };
    let at = (0..values.len()).map(|r| values.number(r).filter(|v| v.is_finite()).map(|v| bin(&edges, v))).collect();
    Ok((axis, at))
}
