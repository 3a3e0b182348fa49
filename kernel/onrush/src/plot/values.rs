//! Plots from arrays, slices and vectors: no session is asked.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType as Arrow, Float64Type, TimeUnit};
use onrush_wire::plot::{Axis, AxisScale, Bins, Layer, Mark, PlotStyle, Series};
use onrush_wire::{Class, Diagnostic, Span};

use super::{Plot, Source};
use crate::elements::IntoColumn;
use crate::raise::{here, raise};

/// A line through points: `plot(xs, ys)`, of arrays, slices or `Vec`s of the same length. Dates and times give a time axis.
#[track_caller]
pub fn plot(xs: impl IntoColumn, ys: impl IntoColumn) -> Plot {
    xy(Mark::Line, &xs.to_array(), &ys.to_array(), here("plot"))
}

/// A point for each pair: `scatter(xs, ys)`.
#[track_caller]
pub fn scatter(xs: impl IntoColumn, ys: impl IntoColumn) -> Plot {
    xy(Mark::Scatter, &xs.to_array(), &ys.to_array(), here("scatter"))
}

/// A bar for each label: `bar(["a", "b"], [3, 5])`.
#[track_caller]
pub fn bar(labels: impl IntoColumn, values: impl IntoColumn) -> Plot {
    let at = here("bar");
    let (labels, values) = (labels.to_array(), values.to_array());
    same_length(&labels, &values, &at);
    let texts = cast(&labels, &Arrow::LargeUtf8).unwrap_or_else(|_| not_numbers(&labels, "labels", &at));
    let categories: Vec<String> = texts.as_string::<i64>().iter().map(|t| t.unwrap_or("null").to_string()).collect();
    let series = Series {
        name: String::new(),
        x: (0..categories.len()).map(|i| i as f64).collect(),
        y: numbers(&values, "values", &at).0,
    };
    let x = Axis { label: String::new(), scale: AxisScale::Category, categories };
    finished(Layer::Xy { mark: Mark::Bar, x, y: axis(AxisScale::Number), series: vec![series] }, at)
}

/// How often values lie in each of several bins: `hist(values)`, `hist(values).bins(30)`. Nulls and NaN are left out.
#[track_caller]
pub fn hist(values: impl IntoColumn) -> Plot {
    let at = here("hist");
    let (values, scale) = numbers(&values.to_array(), "values", &at);
    let values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
    let bins = counted(&values, bin_count(&values));
    let mut plot = finished(Layer::Histogram { x: axis(scale), series: vec![bins] }, at);
    plot.raw = Some(values);
    plot
}

fn axis(scale: AxisScale) -> Axis {
    Axis { label: String::new(), scale, categories: Vec::new() }
}

fn finished(layer: Layer, at: Span) -> Plot {
    Plot { source: Source::Values(vec![layer]), style: PlotStyle::default(), at, raw: None }
}

#[inline(never)]
fn xy(mark: Mark, xs: &ArrayRef, ys: &ArrayRef, at: Span) -> Plot {
    same_length(xs, ys, &at);
    let (x, x_scale) = numbers(xs, "x values", &at);
    let (y, y_scale) = numbers(ys, "y values", &at);
    let series = vec![Series { name: String::new(), x, y }];
    finished(Layer::Xy { mark, x: axis(x_scale), y: axis(y_scale), series }, at)
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
    let found = crate::values::wire_type(array.data_type());
    raise(
        Diagnostic::error(Class::Plan, "plot", format!("{what} of type {found} have no place on an axis of numbers"))
            .at(at.clone(), "")
            .help("bar(labels, values) takes texts as labels"),
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

/// Freedman and Diaconis' rule (1981): a bin is twice the interquartile range wide, divided by the cube root of the number
/// of values; between 5 and 100 bins.
fn bin_count(values: &[f64]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else { return 5 };
    let quantile = |q: f64| sorted[((sorted.len() - 1) as f64 * q).round() as usize];
    let width = 2.0 * (quantile(0.75) - quantile(0.25)) / (sorted.len() as f64).cbrt();
    let count = if width > 0.0 { (high - low) / width } else { (sorted.len() as f64).log2() + 1.0 };
    (count.ceil() as usize).clamp(5, 100)
}

/// Bins of equal width from the smallest to the largest value, which the last one holds.
fn counted(values: &[f64], bins: usize) -> Bins {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = match (low < high, values.is_empty()) {
        (_, true) => (0.0, 1.0),
        (true, _) => (low, high),
        (false, _) => (low - 0.5, high + 0.5),
    };
    let width = (high - low) / bins as f64;
    let mut counts = vec![0u64; bins];
    for value in values {
        counts[(((value - low) / width) as usize).min(bins - 1)] += 1;
    }
    Bins { name: String::new(), edges: (0..=bins).map(|i| low + width * i as f64).collect(), counts }
}

/// Counts the values of [`hist`] again. `false` if the plot is none of these.
pub fn rebin(plot: &mut Plot, bins: u32) -> bool {
    let (Some(values), Source::Values(layers)) = (&plot.raw, &mut plot.source) else { return false };
    if let Some(Layer::Histogram { series, .. }) = layers.first_mut() {
        *series = vec![counted(values, bins.max(1) as usize)];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_all_values() {
        // By hand: edges 0, 2.5, 5, 7.5, 10.
        let bins = counted(&[0.0, 1.0, 2.5, 4.9, 5.0, 10.0, 10.0], 4);
        assert_eq!(bins.edges, [0.0, 2.5, 5.0, 7.5, 10.0]);
        assert_eq!(bins.counts, [2, 2, 1, 2]);
        assert_eq!(counted(&[3.0, 3.0], 5).counts.iter().sum::<u64>(), 2);
        assert_eq!(counted(&[], 5).counts, [0; 5]);
    }
}
