//! SHAP values of a model on the rows of a frame, and their plots.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch, StringArray};
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType as Arrow, Field, Float64Type, Schema};
use onrush_wire::display::Content;
use onrush_wire::learn::{ModelAsk, ShapRequest};
use onrush_wire::plot::{Axis, AxisScale, Candles, ColorMap, Layer};
use onrush_wire::{Class, Diagnostic, Span};

use super::Model;
use super::model::{literal, plain, rows};
use crate::display::{Show, offer};
use crate::expr::ToExpr;
use crate::frame::Frame;
use crate::plot::{Plot, of_layer};
use crate::raise::{here, raise};
use crate::session;

/// Features of a plot.
const FEATURES: usize = 20;

/// Features of a waterfall. The others are one step.
const STEPS: usize = 9;

/// Rows of a beeswarm.
const ROWS: usize = 2000;

/// How far the points of a beeswarm are from the middle of their line at most.
const SPREAD: f64 = 0.38;

/// Bins of a line of a beeswarm, in which points are stacked.
const BINS: f64 = 100.0;

/// Options of [`Model::shap_with`]. Made by [`shap_options`].
#[derive(Clone, Default)]
#[must_use]
pub struct ShapOptions {
    request: ShapRequest,
    /// Keeps the frame of the background.
    background: Option<Frame>,
}

/// Options of SHAP values: `shap_options().class("yes").background(&train).random_state(1)`.
pub fn shap_options() -> ShapOptions {
    ShapOptions::default()
}

impl ShapOptions {
    /// The class to explain. Without: the second of two classes, else all.
    #[track_caller]
    pub fn class(mut self, class: impl ToExpr) -> Self {
        self.request.class = Some(literal(class, "class", &here("class")));
        self
    }

    /// Rows that stand for unknown features. Without: up to 100 of the explained rows, or all for a linear model. Trees
    /// have their training rows.
    pub fn background(mut self, frame: &Frame) -> Self {
        self.background = Some(frame.clone());
        self
    }

    /// Calls of the model for each row, of models that are neither trees nor linear. More are closer to the exact
    /// values. Without: 500.
    pub fn max_evals(mut self, calls: usize) -> Self {
        self.request.max_evals = Some(calls);
        self
    }

    /// The seed of permutations, and of the rows of the background.
    pub fn random_state(mut self, seed: u32) -> Self {
        self.request.random_state = seed;
        self
    }
}

impl Model {
    /// SHAP values (Lundberg and Lee 2017): how much each feature moves the output for each row away from the expected
    /// output. See [`Shap`].
    ///
    /// Forests are explained by their values or probabilities, boosted trees by their margins, both exactly (TreeSHAP
    /// with the training rows as the background). Linear models are explained by their scores, other models by
    /// permutations (`shap.PermutationExplainer`). The last step of a pipeline is explained on the columns it gets.
    ///
    /// Raises if a feature is missing, or the model predicts nothing. Raises for trees of a file that does not say how
    /// many training rows each leaf had.
    #[track_caller]
    pub fn shap(&self, frame: &Frame) -> Shap {
        explained(self, frame, ShapOptions::default(), here("shap"))
    }

    /// SHAP values with options: `m.shap_with(&test, shap_options().class("yes").background(&train))`.
    #[track_caller]
    pub fn shap_with(&self, frame: &Frame, options: ShapOptions) -> Shap {
        explained(self, frame, options, here("shap_with"))
    }
}

#[inline(never)]
fn explained(model: &Model, frame: &Frame, options: ShapOptions, at: Span) -> Shap {
    let background = options.background.as_ref().map(Frame::id);
    let options = ShapRequest { background, ..options.request };
    Shap::of(&rows(model, ModelAsk::Shap { frame: frame.id(), options }, at))
}

/// SHAP values of the rows of a frame; see [`Model::shap`]. The values of a row and the base value sum to the output of
/// the model for it. A cell that ends with them shows their [`Shap::beeswarm`].
#[derive(Clone)]
pub struct Shap {
    features: Vec<String>,
    /// `value`, `probability` or `margin`.
    scale: String,
    /// For each feature its values.
    data: Vec<ArrayRef>,
    outputs: Vec<ShapOutput>,
}

/// The values of a class, or of a regressor.
#[derive(Clone)]
struct ShapOutput {
    /// Empty for a regressor.
    class: String,
    base: f64,
    /// A column for each feature.
    values: Vec<Float64Array>,
}

/// Numbers of a column, NaN for nulls.
fn numbers(array: &ArrayRef) -> Float64Array {
    let cast = cast(array, &Arrow::Float64).ok();
    let empty = || Float64Array::from(vec![f64::NAN; array.len()]);
    cast.map_or_else(empty, |array| array.as_primitive::<Float64Type>().clone())
}

fn number(column: &Float64Array, row: usize) -> f64 {
    if column.is_valid(row) { column.value(row) } else { f64::NAN }
}

fn mean_size(column: &Float64Array) -> f64 {
    let sizes = column.iter().flatten().map(f64::abs).filter(|v| !v.is_nan());
    sizes.sum::<f64>() / (column.len() as f64).max(1.0)
}

/// A frame of columns.
fn frame(columns: Vec<(String, ArrayRef)>, at: Span) -> Frame {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    match RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays) {
        Ok(batch) => Frame::new(session::send(&batch, at)),
        Err(error) => raise(Diagnostic::error(Class::Internal, "shap", error.to_string()).at(at, "")),
    }
}

fn floats(values: impl IntoIterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values))
}

fn strings<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> ArrayRef {
    // Arrow needs the number of strings first.
    Arc::new(StringArray::from_iter_values(values.into_iter().collect::<Vec<S>>()))
}

impl Shap {
    /// From the columns of [`ModelAsk::Shap`]: `base|scale|class`, `shap|output|feature`, `value|feature`.
    fn of(batch: &RecordBatch) -> Shap {
        let mut made = Shap { features: Vec::new(), scale: String::new(), data: Vec::new(), outputs: Vec::new() };
        for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
            let mut parts = field.name().splitn(2, '|');
            let (kind, rest) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            match (kind, rest.split_once('|')) {
                ("base", Some((scale, class))) => {
                    made.scale = scale.to_string();
                    let base = if array.is_empty() { f64::NAN } else { number(&numbers(array), 0) };
                    made.outputs.push(ShapOutput { class: class.to_string(), base, values: Vec::new() });
                }
                ("shap", Some((output, _))) => {
                    let output = output.parse::<usize>().unwrap_or(usize::MAX);
                    if let Some(output) = made.outputs.get_mut(output) {
                        output.values.push(numbers(array));
                    }
                }
                _ => {
                    made.features.push(rest.to_string());
                    made.data.push(Arc::clone(array));
                }
            }
        }
        made
    }

    fn height(&self) -> usize {
        self.data.first().map_or(0, |column| column.len())
    }

    /// The only output. Raises if there are several classes.
    fn one(&self, at: &Span) -> &ShapOutput {
        if let [one] = &self.outputs[..] {
            return one;
        }
        let classes: Vec<&str> = self.outputs.iter().map(|output| output.class.as_str()).collect();
        let message = format!("there are SHAP values of {} classes: {}", classes.len(), classes.join(", "));
        let help = format!("choose one: `.class(\"{}\")`", classes.first().copied().unwrap_or_default());
        raise(Diagnostic::error(Class::Plan, "class", message).at(at.clone(), "").help(help))
    }

    /// The SHAP values: a column for each feature, rows as in the frame. Several classes have rows for each, with its
    /// name in a column `class`.
    #[track_caller]
    pub fn values(&self) -> Frame {
        let at = here("values");
        let mut columns = Vec::new();
        if self.outputs.len() > 1 {
            let rows = self.height();
            let names = self.outputs.iter().flat_map(|output| std::iter::repeat_n(&output.class, rows));
            columns.push(("class".to_string(), strings(names)));
        }
        for (j, name) in self.features.iter().enumerate() {
            let parts: Vec<&dyn Array> = self.outputs.iter().map(|output| &output.values[j] as &dyn Array).collect();
            let all = concat(&parts).unwrap_or_else(|_| floats([]));
            columns.push((name.clone(), all));
        }
        frame(columns, at)
    }

    /// The values of the features that were explained: those of the last step of a pipeline.
    #[track_caller]
    pub fn data(&self) -> Frame {
        let at = here("data");
        frame(self.features.iter().cloned().zip(self.data.iter().cloned()).collect(), at)
    }

    /// Names of the features that were explained.
    pub fn feature_names(&self) -> Vec<String> {
        self.features.clone()
    }

    /// The kind of output that is explained: `value` of a regressor, `probability` of a class, or `margin`, the sum of
    /// boosted trees or of a linear model before it becomes a probability.
    pub fn scale(&self) -> String {
        self.scale.clone()
    }

    /// The expected output of the model. Raises if there are several classes.
    #[track_caller]
    pub fn base_value(&self) -> f64 {
        self.one(&here("base_value")).base
    }

    /// The values of one class: `s.class("setosa")`.
    #[track_caller]
    pub fn class(&self, class: impl ToExpr) -> Shap {
        let at = here("class");
        let name = plain(&literal(class, "class", &at));
        let found: Vec<ShapOutput> = self.outputs.iter().filter(|output| output.class == name).cloned().collect();
        if found.is_empty() {
            let classes: Vec<&str> = self.outputs.iter().map(|output| output.class.as_str()).collect();
            let message = format!("there are no SHAP values of `{name}`, only of {}", classes.join(", "));
            raise(
                Diagnostic::error(Class::Plan, "class", message)
                    .at(at, "")
                    .help("`m.shap_with(&frame, shap_options().class(..))` explains another class"),
            );
        }
        Shap { outputs: found, ..self.clone() }
    }

    /// Mean size of the SHAP values of each feature and output, outputs side by side, the largest sum first.
    fn sizes(&self) -> Vec<(usize, Vec<f64>)> {
        let of = |j: usize| self.outputs.iter().map(|output| mean_size(&output.values[j])).collect();
        let mut all: Vec<(usize, Vec<f64>)> = (0..self.features.len()).map(|j| (j, of(j))).collect();
        let sum = |sizes: &[f64]| sizes.iter().sum::<f64>();
        all.sort_by(|a, b| sum(&b.1).total_cmp(&sum(&a.1)).then(a.0.cmp(&b.0)));
        all
    }

    /// Features and the mean size of their SHAP values, the largest first: `feature`, `importance`. Several classes
    /// have rows for each, with its name in a column `class`.
    #[track_caller]
    pub fn importance(&self) -> Frame {
        self.sized(self.features.len(), here("importance"))
    }

    fn sized(&self, most: usize, at: Span) -> Frame {
        let sizes = self.sizes();
        let sizes = &sizes[..most.min(sizes.len())];
        let several = self.outputs.len();
        let names = sizes.iter().flat_map(|(j, _)| std::iter::repeat_n(&self.features[*j], several));
        let mut columns = vec![("feature".to_string(), strings(names))];
        if several > 1 {
            let classes = sizes.iter().flat_map(|_| self.outputs.iter().map(|output| &output.class));
            columns.push(("class".to_string(), strings(classes)));
        }
        columns.push(("importance".to_string(), floats(sizes.iter().flat_map(|(_, sizes)| sizes.iter().copied()))));
        frame(columns, at)
    }

    /// The words of an axis of SHAP values.
    fn label(&self) -> String {
        match self.outputs.first().map(|output| output.class.as_str()) {
            Some(class) if self.outputs.len() == 1 && !class.is_empty() => {
                format!("SHAP value ({} of {class})", self.scale)
            }
            _ => "SHAP value".to_string(),
        }
    }

    /// Bars of [`Shap::importance`]: the 20 features that move the output most. Classes have colours.
    #[track_caller]
    pub fn bar(&self) -> Plot {
        let at = here("bar");
        let order: Vec<String> = self.sizes().iter().take(FEATURES).map(|(j, _)| self.features[*j].clone()).collect();
        let bars = self.sized(FEATURES, at).plot().bar("feature", "importance");
        let bars = if self.outputs.len() > 1 { bars.color("class").stacked() } else { bars };
        bars.horizontal().order(order).x_label("mean size of the SHAP values")
    }

    /// A point for each row and feature at its SHAP value. It has the 20 features that move the output most, the first
    /// one on top, and 2,000 rows at most. The colour is the value of the feature, from low to high; strings are grey.
    /// Raises if there are several classes.
    #[track_caller]
    pub fn beeswarm(&self) -> Plot {
        let at = here("beeswarm");
        let one = self.one(&at);
        let step = self.height().div_ceil(ROWS).max(1);
        let order: Vec<usize> = self.sizes().into_iter().take(FEATURES).map(|(j, _)| j).collect();
        let picked: Vec<usize> = (0..self.height()).step_by(step).collect();
        let of = |j: usize| picked.iter().map(|row| number(&one.values[j], *row)).collect::<Vec<f64>>();
        let columns: Vec<Vec<f64>> = order.iter().map(|j| of(*j)).collect();
        let all = || columns.iter().flatten().copied().filter(|v| v.is_finite());
        let range = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let (mut xs, mut ys, mut colors) = (Vec::new(), Vec::new(), Vec::new());
        for (line, (j, values)) in order.iter().zip(columns).enumerate() {
            xs.extend(swarm(&values, range).into_iter().map(|offset| line as f64 + offset));
            ys.extend(values);
            colors.extend(shades(&self.data[*j], &picked));
        }
        let categories = order.iter().map(|j| self.features[*j].clone()).collect();
        let layer = Layer::Points {
            x: Axis { label: String::new(), scale: AxisScale::Category, categories },
            y: Axis { label: self.label(), scale: AxisScale::Number, categories: Vec::new() },
            name: String::new(),
            xs,
            ys,
            colors,
            color_label: "feature value, low to high".to_string(),
            sizes: Vec::new(),
            size_label: String::new(),
            size_range: (0.0, 0.0),
        };
        let mut plot = of_layer(layer, at).horizontal();
        plot.set_color_map(ColorMap::BlueRed);
        if step > 1 {
            plot.add_note(format!("{} of {} rows are shown", picked.len(), self.height()));
        }
        plot
    }

    /// The way from the base value to the output of a row, feature by feature: the nine largest steps and the sum of
    /// the others. Raises if there are several classes, or no such row.
    #[track_caller]
    pub fn waterfall(&self, row: usize) -> Plot {
        let at = here("waterfall");
        let one = self.one(&at);
        self.check_row(row, &at);
        let mut steps: Vec<(String, f64)> = Vec::new();
        for (j, name) in self.features.iter().enumerate() {
            steps.push((format!("{name} = {}", shown(&self.data[j], row)), number(&one.values[j], row)));
        }
        steps.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        if steps.len() > STEPS + 1 {
            let others = steps.split_off(STEPS);
            steps.push((format!("{} other features", others.len()), others.iter().map(|(_, value)| value).sum()));
        }
        // The largest step is the last one, next to the output.
        steps.reverse();
        let mut open = Vec::new();
        let mut close = Vec::new();
        let mut now = one.base;
        for (_, value) in &steps {
            open.push(now);
            now += value;
            close.push(now);
        }
        let pair = |of: fn(f64, f64) -> f64| open.iter().zip(&close).map(|(a, b)| of(*a, *b)).collect::<Vec<f64>>();
        let (low, high) = (pair(f64::min), pair(f64::max));
        let places = (0..steps.len()).map(|i| i as f64).collect();
        let categories = steps.into_iter().map(|(name, _)| name).collect();
        let layer = Layer::Candles(Candles {
            x: Axis { label: String::new(), scale: AxisScale::Category, categories },
            y: Axis { label: self.scale.clone(), scale: AxisScale::Number, categories: Vec::new() },
            at: places,
            open,
            high,
            low,
            close,
        });
        let title = match one.class.as_str() {
            "" => format!("row {row}: {} and not {}", rounded(now), rounded(one.base)),
            class => format!("row {row}: {} of {class} {} and not {}", self.scale, rounded(now), rounded(one.base)),
        };
        of_layer(layer, at).title(title).hline(one.base, format!("base value {}", rounded(one.base)))
    }

    /// The SHAP values of a feature over its values. Raises if there are several classes, or no such feature.
    #[track_caller]
    pub fn dependence(&self, feature: &str) -> Plot {
        let at = here("dependence");
        let j = self.position(feature, &at);
        let columns = vec![(feature.to_string(), Arc::clone(&self.data[j])), (self.name(feature), self.column(j, &at))];
        frame(columns, at).plot().scatter(feature, self.name(feature)).y_label(self.label())
    }

    /// [`Shap::dependence`] with the values of another feature as the colour: `s.dependence_by("age", "sex")`.
    #[track_caller]
    pub fn dependence_by(&self, feature: &str, color: &str) -> Plot {
        let at = here("dependence_by");
        let (j, k) = (self.position(feature, &at), self.position(color, &at));
        let mut columns =
            vec![(feature.to_string(), Arc::clone(&self.data[j])), (self.name(feature), self.column(j, &at))];
        if k != j {
            columns.push((color.to_string(), Arc::clone(&self.data[k])));
        }
        frame(columns, at).plot().scatter(feature, self.name(feature)).color(color).y_label(self.label())
    }

    /// The name of the column of SHAP values, which is not that of a feature.
    fn name(&self, feature: &str) -> String {
        let mut name = format!("SHAP value of {feature}");
        while self.features.contains(&name) {
            name.push('_');
        }
        name
    }

    fn column(&self, feature: usize, at: &Span) -> ArrayRef {
        Arc::new(self.one(at).values[feature].clone())
    }

    fn check_row(&self, row: usize, at: &Span) {
        if row >= self.height() {
            let message = format!("there is no row {row} of {} explained rows", self.height());
            raise(Diagnostic::error(Class::Plan, "row", message).at(at.clone(), "").help("rows count from 0"));
        }
    }

    fn position(&self, feature: &str, at: &Span) -> usize {
        let found = self.features.iter().position(|name| name == feature);
        found.unwrap_or_else(|| {
            let message = format!("no feature `{feature}` was explained");
            let help = format!("the features are {}", self.features.join(", "));
            raise(Diagnostic::error(Class::Plan, "feature", message).at(at.clone(), "").help(help))
        })
    }
}

/// Offsets of the points of a line, so that equal values are stacked around its middle: `shap.plots.beeswarm`.
fn swarm(values: &[f64], (low, high): (f64, f64)) -> Vec<f64> {
    let width = (high - low).max(f64::MIN_POSITIVE);
    let mut taken: BTreeMap<i64, usize> = BTreeMap::new();
    let layer = |value: &f64| {
        let bin = if value.is_finite() { (BINS * (value - low) / width).round() as i64 } else { 0 };
        let count = taken.entry(bin).or_insert(0);
        *count += 1;
        *count - 1
    };
    let layers: Vec<usize> = values.iter().map(layer).collect();
    let most = layers.iter().max().copied().unwrap_or(0).div_ceil(2).max(6) as f64;
    let side = |layer: usize| if layer.is_multiple_of(2) { -1.0 } else { 1.0 };
    layers.into_iter().map(|layer| SPREAD * side(layer) * layer.div_ceil(2) as f64 / most).collect()
}

/// The values of a feature in these rows from 0 to 1, between its percentiles 5 and 95. NaN for strings and nulls.
fn shades(column: &ArrayRef, rows: &[usize]) -> Vec<f64> {
    if !column.data_type().is_numeric() {
        return vec![f64::NAN; rows.len()];
    }
    let column = numbers(column);
    let mut sorted: Vec<f64> = column.iter().flatten().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted.get((share * (sorted.len() as f64 - 1.0)).round() as usize).copied();
    let (mut low, mut high) = (at(0.05).unwrap_or(0.0), at(0.95).unwrap_or(0.0));
    if low == high {
        (low, high) = (at(0.0).unwrap_or(0.0), at(1.0).unwrap_or(0.0));
    }
    let shade = |value: f64| if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
    rows.iter().map(|row| Some(number(&column, *row)).filter(|v| !v.is_nan()).map_or(f64::NAN, shade)).collect()
}

/// Four digits that count.
fn rounded(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 1000.0 || size == 0.0 => 0,
        size => 3 - (size.log10().floor().max(-6.0) as i32),
    };
    let digits = usize::try_from(digits).unwrap_or(0);
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// A value of a feature in a label.
fn shown(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return "null".to_string();
    }
    if column.data_type().is_numeric() {
        return rounded(number(&numbers(column), row));
    }
    let text = cast(column, &Arrow::Utf8).ok();
    text.map_or_else(String::new, |text| text.as_string::<i32>().value(row).to_string())
}

impl Show for Shap {
    #[track_caller]
    fn content(&self) -> Option<Content> {
        let plot = if self.outputs.len() == 1 { self.beeswarm() } else { self.bar() };
        plot.content()
    }
}

impl std::fmt::Debug for Shap {
    #[track_caller]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if offer(self, || self.content().unwrap_or(Content::Text(String::new()))) {
            return Ok(());
        }
        write!(f, "SHAP values of {} rows x {} features", self.height(), self.features.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_stacked_around_the_middle() {
        let offsets = swarm(&[0.0, 0.0, 0.0, 1.0], (0.0, 1.0));
        assert_eq!((offsets[0], offsets[3]), (0.0, 0.0));
        assert!(offsets[1] > 0.0 && offsets[1] == -offsets[2], "{offsets:?}");
        let many = swarm(&[0.5; 500], (0.0, 1.0));
        assert!(many.iter().all(|offset| offset.abs() <= SPREAD), "{many:?}");
    }

    #[test]
    fn labels_have_four_digits() {
        let all = [(0.0, "0"), (12_345.678, "12346"), (1.5, "1.5"), (-0.012_345_6, "-0.01235"), (100.0, "100")];
        all.iter().for_each(|(value, text)| assert_eq!(rounded(*value), *text));
    }

    #[test]
    fn shades_go_from_low_to_high_values() {
        let column: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), Some(3.0), None, Some(2.0)]));
        let found = shades(&column, &[0, 1, 2, 3]);
        assert_eq!((found[0], found[1], found[3]), (0.0, 1.0, 0.5));
        assert!(found[2].is_nan());
        assert!(shades(&strings(["a"]), &[0])[0].is_nan());
    }
}
