//! Lines through more rows than can be drawn: what stays of them is found while walking over the rows, twice, and no column is held.

use onrush_frame::{Table, TaskHandle};
use onrush_wire::plot::statistics::Envelope;
use onrush_wire::plot::{Axis, Series};
use onrush_wire::{Diagnostic, Expr};

use super::SERIES;
use super::columns::{Column, Values, each_of};

pub struct Lines {
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    /// Rows without an `x`, and without a colour.
    pub without_x: usize,
    pub without_color: usize,
    /// Points of series that were reduced, and how many of these stay.
    pub all: usize,
    pub kept: usize,
    /// Series that could not be shown.
    pub hidden: usize,
}

/// What a walk tells of a series.
#[derive(Clone)]
struct Facts {
    rows: usize,
    low: f64,
    high: f64,
}

enum Line {
    /// Few enough to be drawn as they are.
    Points(Vec<(f64, f64)>),
    Envelope(Envelope),
    Hidden,
}

/// `x`, `y` and perhaps a colour are the table's columns. A line has at most about `keep` points.
pub fn lines(
    table: &Table,
    (x, y_expr): (Values, &Expr),
    color: Option<Column>,
    keep: usize,
    what: &str,
    task: &TaskHandle,
) -> Result<Lines, Diagnostic> {
    let y = Values::of(table, 1, y_expr)?.number(what, y_expr)?;
    let color = color.map(Column::into_categories);
    let series_of = |row: usize| color.as_ref().map_or(0.0, |c| c.positions[row]);
    let names = color.as_ref().map_or(vec![String::new()], |c| c.categories.clone());

    let mut facts = vec![Facts { rows: 0, low: f64::INFINITY, high: f64::NEG_INFINITY }; names.len()];
    let (mut without_x, mut without_color) = (0, 0);
    each_of([Some(&x)], table.rows(), task, |row, [x]| {
        let series = series_of(row);
        if !x.is_finite() {
            without_x += 1;
        } else if series.is_nan() {
            without_color += 1;
        } else {
            let facts = &mut facts[series as usize];
            facts.rows += 1;
            facts.low = facts.low.min(x);
            facts.high = facts.high.max(x);
        }
    })?;

    let mut order: Vec<usize> = (0..names.len()).filter(|i| facts[*i].rows > 0).collect();
    order.sort_by_key(|i| std::cmp::Reverse(facts[*i].rows));
    let hidden = order.len().saturating_sub(SERIES);
    let shown = &order[..order.len() - hidden];
    let mut made: Vec<Line> = Vec::new();
    for (index, facts) in facts.iter().enumerate() {
        made.push(match facts.rows {
            _ if !shown.contains(&index) => Line::Hidden,
            rows if rows <= keep => Line::Points(Vec::with_capacity(rows)),
            _ => Line::Envelope(Envelope::new(facts.low, facts.high, keep)),
        });
    }
    each_of([Some(&x), Some(&y)], table.rows(), task, |row, [x, y]| {
        let series = series_of(row);
        if !x.is_finite() || series.is_nan() {
            return;
        }
        match &mut made[series as usize] {
            Line::Points(points) => points.push((x, y)),
            Line::Envelope(envelope) => envelope.add((x, y)),
            Line::Hidden => {}
        }
    })?;

    let (mut series, mut all, mut kept) = (Vec::new(), 0, 0);
    for ((name, line), facts) in names.into_iter().zip(made).zip(&facts) {
        let (x, y) = match line {
            Line::Hidden => continue,
            Line::Points(mut points) => {
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                points.into_iter().unzip()
            }
            Line::Envelope(envelope) => {
                let (x, y) = envelope.points();
                all += facts.rows;
                kept += x.len();
                (x, y)
            }
        };
        series.push(Series { name, x, y });
    }
    Ok(Lines { x: x.axis(), y: y.axis(), series, without_x, without_color, all, kept, hidden })
}
