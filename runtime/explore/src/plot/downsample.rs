//! Downsamples lines in two passes over the rows, without holding a column.

use onrush_frame::TaskHandle;
use onrush_stats::{Envelope, Extent};
use onrush_wire::Diagnostic;
use onrush_wire::plot::{Axis, Series};

use super::SERIES;
use super::axis_values::{Values, each_of, grown};
use super::row_source::Rows;

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

enum Line {
    /// Few enough to be drawn as they are.
    Points(Vec<(f64, f64)>),
    Envelope(Envelope),
    Hidden,
}

/// `x` and perhaps a colour are columns of `rows`, and `y` is the second. A line has at most about `keep` points.
pub fn lines(
    rows: &Rows,
    (x, y): (&Values, &Values),
    color: Option<&Values>,
    keep: usize,
    task: &TaskHandle,
) -> Result<Lines, Diagnostic> {
    let series_of = |at: f64| if color.is_some() { at } else { 0.0 };
    let mut extents: Vec<Extent> = Vec::new();
    let (mut without_x, mut without_color) = (0, 0);
    each_of(rows, [Some(x), color], task, |[x, at]| {
        let series = series_of(at);
        if !x.is_finite() {
            without_x += 1;
        } else if series.is_nan() {
            without_color += 1;
        } else {
            grown(&mut extents, series as usize).add(x);
        }
    })?;
    let names = if let Some(color) = color { color.categories() } else { vec![String::new()] };
    extents.resize(names.len(), Extent::default());

    let mut order: Vec<usize> = (0..names.len()).filter(|i| extents[*i].count > 0).collect();
    order.sort_by_key(|i| std::cmp::Reverse(extents[*i].count));
    let hidden = order.len().saturating_sub(SERIES);
    let shown = &order[..order.len() - hidden];
    let mut made: Vec<Line> = Vec::new();
    for (index, extent) in extents.iter().enumerate() {
        made.push(match extent.count as usize {
            _ if !shown.contains(&index) => Line::Hidden,
            rows if rows <= keep => Line::Points(Vec::with_capacity(rows)),
            _ => Line::Envelope(Envelope::new(extent.low, extent.high, keep)),
        });
    }
    each_of(rows, [Some(x), Some(y), color], task, |[x, y, at]| {
        let series = series_of(at);
        if !x.is_finite() || series.is_nan() {
            return;
        }
        match made.get_mut(series as usize) {
            Some(Line::Points(points)) => points.push((x, y)),
            Some(Line::Envelope(envelope)) => envelope.add((x, y)),
            Some(Line::Hidden) | None => {}
        }
    })?;

    let (mut series, mut all, mut kept) = (Vec::new(), 0, 0);
    for ((name, line), extent) in names.into_iter().zip(made).zip(&extents) {
        let (x, y) = match line {
            Line::Hidden => continue,
            Line::Points(mut points) => {
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                points.into_iter().unzip()
            }
            Line::Envelope(envelope) => {
                let (x, y) = envelope.points();
                all += extent.count as usize;
                kept += x.len();
                (x, y)
            }
        };
        series.push(Series { name, x, y });
    }
    Ok(Lines { x: x.axis(), y: y.axis(), series, without_x, without_color, all, kept, hidden })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    use onrush_frame::Table;
    use onrush_wire::Expr;

    use super::*;

    fn made(x: Vec<Option<f64>>, y: Vec<Option<f64>>, color: Option<Vec<Option<&str>>>, keep: usize) -> Lines {
        let mut columns: Vec<(&str, ArrayRef)> =
            vec![("x", Arc::new(Float64Array::from(x))), ("y", Arc::new(Float64Array::from(y)))];
        columns.extend(color.map(|c| ("color", Arc::new(StringArray::from(c)) as ArrayRef)));
        let has_color = columns.len() > 2;
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let rows = Rows::of_table(Table::new(batch.schema(), vec![batch]));
        let column = |index, name| Values::of(&rows, index, &Expr::column(name)).unwrap();
        let (x, y, color) = (column(0, "x"), column(1, "y"), has_color.then(|| column(2, "color")));
        lines(&rows, (&x, &y), color.as_ref(), keep, &TaskHandle::new()).unwrap()
    }

    /// By hand: of 0..=99 in two stretches, 0..=49 and 50..=99, the first, lowest, highest and last points.
    #[test]
    fn ends_and_extremes_of_each_stretch_stay() {
        let order = (0..100).map(|i| f64::from(i * 37 % 100));
        let height = |x: f64| {
            if x == 20.0 {
                -5.0
            } else if x == 70.0 {
                9.0
            } else {
                1.0 + x / 1e3
            }
        };
        let made = made(order.clone().map(Some).collect(), order.map(|x| Some(height(x))).collect(), None, 8);
        assert_eq!(made.series[0].x, [0.0, 20.0, 49.0, 50.0, 70.0, 99.0]);
        assert_eq!(made.series[0].y, [1.0, -5.0, 1.049, 1.05, 9.0, 1.099]);
        assert_eq!((made.all, made.kept, made.without_x, made.hidden), (100, 6, 0, 0));
    }

    /// By hand: a series that is short enough keeps its points, in the order of `x`, and its gaps.
    #[test]
    fn short_series_keep_all_points_and_rows_without_a_place_are_counted() {
        let made = made(
            vec![Some(3.0), Some(1.0), None, Some(2.0), Some(f64::NAN), Some(4.0)],
            vec![Some(30.0), Some(10.0), Some(7.0), None, Some(7.0), Some(40.0)],
            Some(vec![Some("a"), Some("a"), Some("a"), Some("a"), Some("b"), None]),
            8,
        );
        assert_eq!((made.series.len(), made.series[0].name.as_str()), (1, "a"));
        assert_eq!(made.series[0].x, [1.0, 2.0, 3.0]);
        assert_eq!((made.series[0].y[0], made.series[0].y[1].is_nan(), made.series[0].y[2]), (10.0, true, 30.0));
        assert_eq!((made.without_x, made.without_color, made.all), (2, 1, 0));
    }

    #[test]
    fn the_series_with_most_rows_are_shown() {
        // Series 0 has one row, series 1 two, ... series 21 twenty-two.
        let names: Vec<String> = (0..22).flat_map(|s| vec![format!("s{s}"); s + 1]).collect();
        let x: Vec<Option<f64>> = (0..names.len()).map(|i| Some(i as f64)).collect();
        let made = made(x.clone(), x, Some(names.iter().map(|n| Some(n.as_str())).collect()), 8);
        assert_eq!((made.series.len(), made.hidden), (20, 2));
        assert!(made.series.iter().all(|s| s.name != "s0" && s.name != "s1"));
    }
}
