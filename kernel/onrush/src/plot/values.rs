//! Plots from arrays, slices and vectors, computed here without the session.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType as Arrow, Float64Type, TimeUnit};
use onrush_stats::{self as statistics, Density, SampleStats};
use onrush_wire::plot::{Axis, AxisScale, Bins, Layer, Mark, PlotStyle, Series};
use onrush_wire::{Class, Diagnostic, Span};

use super::{Plot, Source};
use crate::into_column::IntoColumn;
use crate::raise::{here, raise};

/// A line through points: `plot(xs, ys)`, of arrays, slices or `Vec`s of the same length. Dates and times give a time
/// axis.
#[track_caller]
pub fn plot(xs: impl IntoColumn, ys: impl IntoColumn) -> Plot {
    xy(Mark::Line, &xs.to_array(), &ys.to_array(), here("plot"))
}

/// The same as [`plot`].
#[track_caller]
pub fn line(xs: impl IntoColumn, ys: impl IntoColumn) -> Plot {
    xy(Mark::Line, &xs.to_array(), &ys.to_array(), here("line"))
}

/// A filled line: `area(xs, ys)`.
#[track_caller]
pub fn area(xs: impl IntoColumn, ys: impl IntoColumn) -> Plot {
    xy(Mark::Area, &xs.to_array(), &ys.to_array(), here("area"))
}

/// A smooth histogram whose area is 1: `density(values)`. Nulls and NaN are left out.
#[track_caller]
pub fn density(values: impl IntoColumn) -> Plot {
    smooth(&values.to_array(), here("density"))
}

/// Quartiles, whiskers and outliers of the values with each label: `box_plot(labels, values)`.
#[track_caller]
pub fn box_plot(labels: impl IntoColumn, values: impl IntoColumn) -> Plot {
    boxes(&labels.to_array(), &values.to_array(), here("box_plot"))
}

/// A coloured cell for each number of a matrix: `heatmap([[1.0, 2.0], [3.0, 4.0]])`, its first row at the top.
#[track_caller]
pub fn heatmap<R: AsRef<[f64]>>(rows: impl AsRef<[R]>) -> Plot {
    cells(rows.as_ref().iter().map(|row| row.as_ref().to_vec()).collect(), here("heatmap"))
}

/// A point for each pair: `scatter(xs, ys)`.
#[track_caller]
pub fn scatter(xs: impl IntoColumn, ys: impl IntoColumn) -> Plot {
    xy(Mark::Scatter, &xs.to_array(), &ys.to_array(), here("scatter"))
}

/// A bar for each label: `bar(["a", "b"], [3, 5])`.
#[track_caller]
pub fn bar(labels: impl IntoColumn, values: impl IntoColumn) -> Plot {
    bars(&labels.to_array(), &values.to_array(), here("bar"))
}

#[inline(never)]
fn bars(labels: &ArrayRef, values: &ArrayRef, at: Span) -> Plot {
    same_length(labels, values, &at);
    let labelled = labelled(labels, values, &at);
    // NaN without values, as a missing sum is.
    let sum = |values: &Vec<f64>| values.iter().copied().filter(|v| !v.is_nan()).reduce(|a, b| a + b);
    let y: Vec<f64> = labelled.groups.iter().map(|values| sum(values).unwrap_or(f64::NAN)).collect();
    let (values, bars): (usize, usize) = (labelled.groups.iter().map(Vec::len).sum(), y.len());
    let mut notes = labelled.notes;
    if values > bars {
        let sums = if bars == 1 { "bar: their sum" } else { "bars: their sums" };
        notes.push(format!("{values} values in {bars} {sums}"));
    }
    let series = Series { name: String::new(), x: (0..bars).map(|i| i as f64).collect(), y };
    let x = Axis { label: String::new(), scale: AxisScale::Category, categories: labelled.names };
    let mut plot = of_layer(Layer::Xy { mark: Mark::Bar, x, y: axis(AxisScale::Number), series: vec![series] }, at);
    plot.notes = notes;
    plot
}

/// The values of each label, in the order in which labels first appear.
struct LabelledGroups {
    names: Vec<String>,
    groups: Vec<Vec<f64>>,
    /// The number of values that were left out.
    notes: Vec<String>,
}

fn labelled(labels: &ArrayRef, values: &ArrayRef, at: &Span) -> LabelledGroups {
    let texts = cast(labels, &Arrow::LargeUtf8).unwrap_or_else(|_| not_numbers(labels, "labels", at));
    let values = numbers(values, "values", at).0;
    let (mut names, mut groups): (Vec<String>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut without = 0;
    for (label, value) in texts.as_string::<i64>().iter().zip(values) {
        let Some(label) = label else {
            without += 1;
            continue;
        };
        let index = *known.entry(label).or_insert_with(|| {
            names.push(label.to_string());
            groups.push(Vec::new());
            names.len() - 1
        });
        groups[index].push(value);
    }
    let s = if without == 1 { "" } else { "s" };
    let notes = (without > 0).then(|| format!("{without} value{s} with no label left out")).into_iter().collect();
    LabelledGroups { names, groups, notes }
}

/// A histogram: number of values in each bin. `hist(values)`, `hist(values).bins(30)`. Nulls and NaN are left out.
#[track_caller]
pub fn hist(values: impl IntoColumn) -> Plot {
    let at = here("hist");
    let (values, scale) = numbers(&values.to_array(), "values", &at);
    let values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
    let bins = counted(&values, None, false);
    let mut plot = of_layer(Layer::Histogram { x: axis(scale), series: vec![bins] }, at);
    plot.raw = Some((values, None));
    plot
}

fn axis(scale: AxisScale) -> Axis {
    Axis { label: String::new(), scale, categories: Vec::new() }
}

/// A plot of a computed layer.
pub fn of_layer(layer: Layer, at: Span) -> Plot {
    Plot {
        source: Source::Values(vec![layer]),
        style: PlotStyle::default(),
        facet: None,
        at,
        raw: None,
        notes: Vec::new(),
    }
}

#[inline(never)]
fn smooth(values: &ArrayRef, at: Span) -> Plot {
    let (values, scale) = numbers(values, "values", &at);
    let mut stats = SampleStats::default();
    values.iter().for_each(|v| stats.add(*v));
    let mut series = Vec::new();
    if stats.count > 0 {
        let mut density = Density::new(&stats, None);
        values.iter().for_each(|v| density.add(*v));
        let (x, y) = density.curve(400);
        series.push(Series { name: String::new(), x, y });
    }
    let y = Axis { label: "density".to_string(), ..axis(AxisScale::Number) };
    of_layer(Layer::Xy { mark: Mark::Density, x: axis(scale), y, series }, at)
}

#[inline(never)]
fn boxes(labels: &ArrayRef, values: &ArrayRef, at: Span) -> Plot {
    same_length(labels, values, &at);
    let LabelledGroups { names, groups, mut notes } = labelled(labels, values, &at);
    let most = statistics::outlier_limit(names.len());
    let boxes: Vec<_> =
        names.iter().zip(groups).filter_map(|(label, list)| statistics::box_of(label.clone(), list, most)).collect();
    notes.extend(statistics::outlier_note(&boxes));
    let x = Axis { label: String::new(), scale: AxisScale::Category, categories: names };
    let mut plot = of_layer(Layer::Box { x, y: axis(AxisScale::Number), boxes }, at);
    plot.notes = notes;
    plot
}

#[inline(never)]
fn cells(rows: Vec<Vec<f64>>, at: Span) -> Plot {
    let width = rows.first().map_or(0, Vec::len);
    if let Some((i, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != width) {
        raise(
            Diagnostic::error(
                Class::Plan,
                "lengths",
                format!("row {i} of the matrix has {} numbers, the first has {width}", row.len()),
            )
            .at(at, "")
            .help("all rows need the same length"),
        );
    }
    let numbered = |count: usize| (0..count).map(|i| i.to_string()).collect::<Vec<_>>();
    let mut up = numbered(rows.len());
    up.reverse();
    let named = |categories| Axis { label: String::new(), scale: AxisScale::Category, categories };
    let values = rows.into_iter().rev().map(|row| row.into_iter().map(|v| v.is_finite().then_some(v)).collect());
    let (x, y) = (named(numbered(width)), named(up));
    let layer = Layer::HeatMap { x, y, values: values.collect(), color_label: String::new(), range: None };
    of_layer(layer, at)
}

/// Names the series of a layer for the legend.
pub fn rename(layer: &mut Layer, name: &str) {
    match layer {
        Layer::Xy { series, .. } => series.iter_mut().for_each(|s| s.name = name.to_string()),
        Layer::Histogram { series, .. } => series.iter_mut().for_each(|s| s.name = name.to_string()),
        Layer::Points { name: own, .. } => *own = name.to_string(),
        Layer::Intervals { series, .. } => series.iter_mut().for_each(|one| one.name = name.to_string()),
        Layer::Box { .. }
        | Layer::HeatMap { .. }
        | Layer::Raster(_)
        | Layer::Violins { .. }
        | Layer::Hexagons(_)
        | Layer::Candles(_)
        | Layer::Choropleth(_) => {}
    }
}

#[inline(never)]
fn xy(mark: Mark, xs: &ArrayRef, ys: &ArrayRef, at: Span) -> Plot {
    same_length(xs, ys, &at);
    let (x, x_scale) = numbers(xs, "x values", &at);
    let (y, y_scale) = numbers(ys, "y values", &at);
    let series = vec![Series { name: String::new(), x, y }];
    of_layer(Layer::Xy { mark, x: axis(x_scale), y: axis(y_scale), series }, at)
}

fn same_length(a: &ArrayRef, b: &ArrayRef, at: &Span) {
    if a.len() != b.len() {
        raise(
            Diagnostic::error(
                Class::Plan,
                "lengths",
                format!("{} values cannot be drawn against {}", a.len(), b.len()),
            )
            .at(at.clone(), "")
            .help("both lists need the same length"),
        );
    }
}

fn not_numbers(array: &ArrayRef, what: &str, at: &Span) -> ! {
    let found = crate::arrow_conversion::wire_type(array.data_type());
    raise(
        Diagnostic::error(Class::Plan, "plot", format!("{what} of type {found} have no place on an axis of numbers"))
            .at(at.clone(), "")
            .help("bar(labels, values) takes strings as labels"),
    )
}

/// Values as positions; a null is NaN. Times are seconds since 1970.
fn numbers(array: &ArrayRef, what: &str, at: &Span) -> (Vec<f64>, AxisScale) {
    let (array, scale, per_unit) = match array.data_type() {
        Arrow::Date32 | Arrow::Date64 | Arrow::Timestamp(..) => {
            let micros = cast(array, &Arrow::Timestamp(TimeUnit::Microsecond, None))
                .and_then(|array| cast(&array, &Arrow::Int64))
                .unwrap_or_else(|_| not_numbers(array, what, at));
            (micros, AxisScale::Time, 1e6)
        }
        kind if kind.is_numeric() || matches!(kind, Arrow::Boolean | Arrow::Null) => {
            (array.clone(), AxisScale::Number, 1.0)
        }
        _ => not_numbers(array, what, at),
    };
    let floats = cast(&array, &Arrow::Float64).unwrap_or_else(|_| not_numbers(&array, what, at));
    let floats = floats.as_primitive::<Float64Type>();
    (floats.iter().map(|v| v.map_or(f64::NAN, |v| v / per_unit)).collect(), scale)
}

/// Edges of bins that hold all values. If `bins` is `None`, the number of bins is chosen from the values.
fn counted(values: &[f64], bins: Option<u32>, is_log: bool) -> Bins {
    let edges = if is_log {
        let mut stats = SampleStats::default();
        let logarithms = || values.iter().filter(|v| **v > 0.0).map(|v| v.log10());
        logarithms().for_each(|v| stats.add(v));
        stats.sample = logarithms().collect();
        statistics::log_edges(&stats, bins)
    } else {
        statistics::edges(values, bins, values.iter().all(|v| v.fract() == 0.0))
    };
    let counts = statistics::counts(values.iter().copied(), &edges);
    Bins { name: String::new(), edges, counts }
}

/// Counts the values of [`hist`] again with other bins. Returns `false` if the plot is not a histogram of values.
pub fn rebin(plot: &mut Plot, bins: u32) -> bool {
    let Some((values, wanted)) = &mut plot.raw else { return false };
    *wanted = Some(bins.max(1));
    let counted = counted(values, *wanted, false);
    if let Source::Values(layers) = &mut plot.source {
        recount(layers, counted);
    }
    true
}

/// Counts the values of [`hist`] in bins of equal width on a logarithmic axis.
pub fn with_log_bins(plot: &mut onrush_wire::plot::Plot, raw: Option<&(Vec<f64>, Option<u32>)>) {
    let Some((values, wanted)) = raw else { return };
    recount(&mut plot.layers, counted(values, *wanted, true));
    match values.iter().filter(|v| **v <= 0.0).count() {
        0 => {}
        count => plot.notes.push(format!("{count} not positive, left out of the logarithmic axis")),
    }
}

fn recount(layers: &mut [Layer], bins: Bins) {
    if let Some(Layer::Histogram { series, .. }) = layers.first_mut() {
        let name = series.first().map_or(String::new(), |s| s.name.clone());
        *series = vec![Bins { name, ..bins }];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand.
    #[test]
    fn values_of_one_label_are_together_and_null_is_none() {
        let labels = [Some("b"), None, Some("null"), Some("b"), Some("a"), None];
        let values = [1.0, 2.0, 4.0, 8.0, f64::NAN, 16.0];
        let made = bar(labels, values);
        let Source::Values(layers) = &made.source else { panic!("no values") };
        let Layer::Xy { x, series, .. } = &layers[0] else { panic!("no bars") };
        assert_eq!((x.categories.join(" ").as_str(), &series[0].y[..2]), ("b null a", &[9.0, 4.0][..]));
        assert!(series[0].y[2].is_nan());
        assert_eq!(made.notes, ["2 values with no label left out", "4 values in 3 bars: their sums"]);
        let made = box_plot(labels, values);
        assert_eq!(made.notes, ["2 values with no label left out"]);
    }

    #[test]
    fn bins_cover_all_values() {
        // By hand: edges 0, 2.5, 5, 7.5, 10.
        let bins = counted(&[0.0, 1.0, 2.5, 4.9, 5.0, 10.0, 10.0], Some(4), false);
        assert_eq!(bins.edges, [0.0, 2.5, 5.0, 7.5, 10.0]);
        assert_eq!(bins.counts, [2, 2, 1, 2]);
        assert_eq!(counted(&[3.0, 3.0], Some(5), false).counts.iter().sum::<u64>(), 2);
        assert_eq!(counted(&[], Some(5), false).counts, [0]);
        // Three decades.
        assert_eq!(counted(&[-1.0, 0.0, 1.0, 20.0, 300.0, 400.0, 1000.0], Some(3), true).counts, [1, 1, 3]);
    }
}
