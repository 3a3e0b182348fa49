//! Time buckets: aggregates rows by hour, day or month, if lines and bars have more timestamps than pixels.

use std::collections::{BTreeMap, HashSet};

use onrush_expr::calendar_interval::{self, CalendarInterval};
use onrush_expr::diagnostics::{place, plan_error};
use onrush_frame::TaskHandle;
use onrush_stats::{Cell, Combine, thin};
use onrush_wire::format_integer::thousands;
use onrush_wire::plot::{Axis, Series};
use onrush_wire::{Diagnostic, Expr};

use super::axis_values::{Values, each_of, grown, rank_of, ranked};
use super::bars::BARS;
use super::row_source::Rows;
use super::{SERIES, most};

/// Limit of distinct timestamps that are drawn without buckets, for lines and for bars.
const MOMENTS: usize = 1_000;
const BAR_MOMENTS: usize = 90;
/// Stretches of a plot's width, for lines and for bars.
const STRETCHES: f64 = 600.0;
const BAR_STRETCHES: f64 = 90.0;
/// Stretches that somebody may ask for.
const MOST: f64 = 20_000.0;

/// The groups of rows that are combined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grid {
    /// The rows of each moment.
    Moments,
    /// Rows of each time bucket.
    Stretches(CalendarInterval),
}

/// The grid that suits a column: `wanted`, as the user wrote it, or the shortest time buckets that can be drawn if the
/// timestamps cannot.
///
/// # Errors
/// If `wanted` is not an interval, or is too short for the column.
pub fn grid(
    (rows, x): (&Rows, &Values),
    wanted: Option<&str>,
    is_bars: bool,
    at: &Expr,
    task: &TaskHandle,
) -> Result<Grid, Diagnostic> {
    let wanted = wanted.map(|text| CalendarInterval::parse(text).ok_or_else(|| unknown(text, at))).transpose()?;
    let few = if is_bars { BAR_MOMENTS } else { MOMENTS };
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut moments = HashSet::new();
    x.each(rows, task, |moment| {
        if moment.is_finite() {
            (low, high) = (low.min(moment), high.max(moment));
            if moments.len() <= few {
                moments.insert(rank_of(moment));
            }
        }
    })?;
    let Some(every) = wanted else {
        let is_few = moments.len() <= few;
        let stretches = if is_bars { BAR_STRETCHES } else { STRETCHES };
        return Ok(if is_few { Grid::Moments } else { Grid::Stretches(fitting(high - low, stretches)) });
    };
    let count = if high >= low { (high - low) / every.seconds() } else { 0.0 };
    let most = if is_bars { BARS as f64 } else { MOST };
    if count > most {
        let what = if is_bars { "bars" } else { "points" };
        let (count, most) = (thousands(count.ceil() as u64), thousands(most as u64));
        let message = format!("{count} {what}, one for each {}, are more than {most}", every.words());
        return Err(place(plan_error("plot-size", message), at.span.as_ref(), None, "spans too much time")
            .help("take longer ones, such as `.every(\"1d\")`, or leave it out"));
    }
    Ok(Grid::Stretches(every))
}

/// The shortest round interval of which at most `most` fill a span, in seconds.
pub fn fitting(span: f64, most: f64) -> CalendarInterval {
    let round = [
        "1us", "10us", "100us", "1ms", "5ms", "10ms", "50ms", "100ms", "500ms", "1s", "5s", "15s", "30s", "1m", "5m",
        "15m", "30m", "1h", "3h", "6h", "12h", "1d", "1w", "1mo", "1q", "6mo", "1y", "2y", "5y", "10y", "50y", "100y",
    ];
    let mut round = round.into_iter().filter_map(CalendarInterval::parse);
    round.find(|every| every.seconds() >= span / most).unwrap_or(CalendarInterval::Months(12_000))
}

/// The options of [`combine`].
pub struct TimeBinRequest {
    pub combine: Combine,
    pub grid: Grid,
    /// Bars are where there are rows; a line goes through all stretches from its first to its last.
    pub is_bars: bool,
    /// Points of a line.
    pub keep: usize,
}

pub struct TimeBinSeries {
    pub x: Axis,
    pub series: Vec<Series>,
    /// Rows without a moment, a value or a colour.
    pub left_out: usize,
    /// Series that could not be shown.
    pub hidden: usize,
    /// Points of lines that were reduced, and how many of these stay.
    pub all: usize,
    pub kept: usize,
}

/// The rows of each stretch combined as Pandas' `resample` does. A stretch without a value has a sum and a count of 0,
/// and no mean, median, lowest or highest. Without a `y` rows are counted.
pub fn combine(
    rows: &Rows,
    x: &Values,
    y: Option<&Values>,
    color: Option<&Values>,
    asked: &TimeBinRequest,
    task: &TaskHandle,
) -> Result<TimeBinSeries, Diagnostic> {
    let mut cells: Vec<BTreeMap<i64, Cell>> = Vec::new();
    let mut left_out = 0;
    let index_of = |moment: f64| match asked.grid {
        Grid::Moments => Some(rank_of(moment)),
        Grid::Stretches(every) => every.index((moment * 1e6).round() as i64),
    };
    each_of(rows, [Some(x), y, color], task, |[moment, value, at]| {
        let series = if color.is_some() { at } else { 0.0 };
        let value = if y.is_some() { value } else { 1.0 };
        let index = Some(moment).filter(|m| m.is_finite() && !series.is_nan()).and_then(index_of);
        let cell = index.map(|index| grown(&mut cells, series as usize).entry(index).or_default());
        match cell {
            Some(cell) if !value.is_nan() => cell.add(value, asked.combine),
            _ => left_out += 1,
        }
    })?;
    let names = color.map_or(vec![String::new()], Values::categories);
    let mut series: Vec<(usize, Series)> = Vec::new();
    for (name, mut cells) in names.into_iter().zip(cells) {
        let (Some((first, _)), Some((last, _))) = (cells.first_key_value(), cells.last_key_value()) else { continue };
        let rows: usize = cells.values().map(|cell| cell.count() as usize).sum();
        if let (Grid::Stretches(_), false) = (asked.grid, asked.is_bars) {
            for index in *first..=*last {
                cells.entry(index).or_default();
            }
        }
        let (mut xs, mut ys) = (Vec::with_capacity(cells.len()), Vec::with_capacity(cells.len()));
        for (index, cell) in cells {
            let value = match (cell.value(asked.combine), asked.combine) {
                (Some(value), _) => value,
                (None, _) if asked.is_bars => continue,
                (None, Combine::Sum | Combine::Count) => 0.0,
                (None, _) => f64::NAN,
            };
            xs.push(match asked.grid {
                Grid::Moments => ranked(index),
                Grid::Stretches(every) => every.start(index).map_or(f64::NAN, |micros| micros as f64 / 1e6),
            });
            ys.push(value);
        }
        series.push((rows, Series { name, x: xs, y: ys }));
    }
    let sizes: Vec<usize> = series.iter().map(|s| s.0).collect();
    let hidden = sizes.len().saturating_sub(SERIES);
    let mut most = most(&sizes, SERIES).into_iter();
    series.retain(|_| most.next().unwrap_or(false));
    let (mut all, mut kept) = (0, 0);
    for (_, line) in series.iter_mut().filter(|(_, line)| !asked.is_bars && line.x.len() > asked.keep) {
        all += line.x.len();
        (line.x, line.y) = thin(&line.x, &line.y, asked.keep);
        kept += line.x.len();
    }
    let series = series.into_iter().map(|s| s.1).collect();
    Ok(TimeBinSeries { x: x.axis(), series, left_out, hidden, all, kept })
}

fn unknown(text: &str, at: &Expr) -> Diagnostic {
    let diagnostic = plan_error("plot-every", format!("`{text}` is not a time span"));
    place(diagnostic, at.span.as_ref(), None, "").help(calendar_interval::HELP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_fit() {
        const DAY: f64 = 86_400.0;
        assert_eq!(fitting(365.0 * DAY, 600.0).words(), "day");
        assert_eq!(fitting(10.0 * DAY, 600.0).words(), "30 minutes");
        assert_eq!(fitting(100.0 * 365.25 * DAY, 600.0).words(), "quarter");
        assert_eq!(fitting(365.0 * DAY, 90.0).words(), "week");
        assert_eq!(fitting(3.0, 600.0).words(), "5 milliseconds");
        assert_eq!(fitting(1e6 * 365.25 * DAY, 90.0).words(), "1000 years");
    }
}
