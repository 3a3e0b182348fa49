//! From a trained model to the columns, attributes and card that a notebook sees.

use std::sync::{Arc, OnceLock};

use arrow::array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, StringViewArray, UInt64Array,
};
use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Schema};
use datafusion::common::ScalarValue;
use onrush_expr::diagnostics;
use onrush_expr::error::internal;
use onrush_expr::model::{Input, LinearForm, LinearLink, Predictor};
use onrush_frame::Table;
use onrush_learn::{Attribute, Data, FittedModel, Kind, LinearScores, Link, Output, Role, Values};
use onrush_wire::learn::{Card, Fit, ModelInfo, Param, Spec, info as estimator};
use onrush_wire::{Diagnostic, Expr, Field, Value};
use serde::{Deserialize, Serialize};

use super::data::{self, Training};
use super::diagnose;
use crate::memory_pool::HeldMemory;

/// What the session keeps of a model in its file, in addition to what the estimator keeps.
#[derive(Serialize, Deserialize)]
struct SessionPart {
    key: u128,
    features: Vec<(Field, Expr)>,
    target: Option<Field>,
    target_expr: Option<Expr>,
    classes: Vec<Value>,
    card: Card,
}

/// A trained model of the session.
pub(crate) struct TrainedModel {
    pub fitted: FittedModel,
    pub info: ModelInfo,
    /// The features: as they were in the frame, and how they are computed.
    pub features: Vec<(Field, Expr)>,
    pub target_expr: Option<Expr>,
    /// The classes, of the target's type.
    pub classes: Option<ArrayRef>,
    inputs: Vec<Input>,
    outputs: Vec<FieldRef>,
    roles: Vec<Role>,
    /// What the session counts for the model, once it is kept.
    pub memory: OnceLock<HeldMemory>,
}

impl std::fmt::Debug for TrainedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.info.card.title)
    }
}

impl TrainedModel {
    /// Of a training that has just ended.
    pub fn new(key: u128, fit: &Fit, mut fitted: FittedModel, training: &Training, seconds: f64) -> Self {
        let values = |array: &ArrayRef| (0..array.len()).map(|i| onrush_frame::value_at(array, i)).collect();
        let card = card(&fitted, &training.data, training.sample.as_ref(), training.place, seconds);
        let kept = SessionPart {
            key,
            features: training.features.clone(),
            target: training.target.clone(),
            target_expr: fit.target.clone(),
            classes: training.classes.as_ref().map(values).unwrap_or_default(),
            card,
        };
        fitted.session = serde_json::to_string(&kept).unwrap_or_default();
        Self::build(fitted, kept, training.classes.clone())
    }

    /// Restores a model of a file that Onrush has written, under another key than that of its training.
    ///
    /// # Errors
    /// As [`TrainedModel::restored`].
    pub fn of_file(mut fitted: FittedModel, key: u128) -> Result<Self, Diagnostic> {
        let kept = SessionPart { key, ..kept_of(&fitted)? };
        fitted.session = serde_json::to_string(&kept).unwrap_or_default();
        Self::restored(fitted, || key)
    }

    /// Of a file. `other_key` is the key of a model that another program has written.
    ///
    /// # Errors
    /// If the file says other things of its target than of its classes.
    pub fn restored(mut fitted: FittedModel, other_key: impl FnOnce() -> u128) -> Result<Self, Diagnostic> {
        let kept: SessionPart = match fitted.session.is_empty() {
            false => kept_of(&fitted)?,
            true => {
                let kept = SessionPart {
                    key: other_key(),
                    features: fitted.features.iter().map(foreign).collect(),
                    target: None,
                    target_expr: None,
                    classes: fitted.classes.iter().map(|name| Value::Text(name.clone())).collect(),
                    card: card(&fitted, &Data::default(), None, "cpu", 0.0),
                };
                fitted.session = serde_json::to_string(&kept).unwrap_or_default();
                kept
            }
        };
        if kept.features.len() != fitted.features.len() || kept.classes.len() != fitted.classes.len() {
            return Err(diagnostics::plan_error("model-file", "the model file contradicts itself"));
        }
        let classes = match kept.classes.is_empty() {
            true => None,
            false => {
                let arrays = kept.classes.iter().map(onrush_frame::array_from_value).collect::<Result<Vec<_>, _>>()?;
                let parts: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
                let classes = arrow::compute::concat(&parts).map_err(|e| internal(&e.to_string()))?;
                let dtype =
                    kept.target.as_ref().map(|field| onrush_frame::dtype_from_wire(&field.dtype)).transpose()?;
                Some(match dtype {
                    Some(dtype) => arrow::compute::cast(&classes, &dtype).map_err(|e| internal(&e.to_string()))?,
                    None => classes,
                })
            }
        };
        Ok(Self::build(fitted, kept, classes))
    }

    fn build(fitted: FittedModel, kept: SessionPart, classes: Option<ArrayRef>) -> Self {
        let inputs = kept.features.iter().enumerate().map(|(position, (field, expr))| Input {
            name: field.name.clone(),
            expr: expr.clone(),
            is_string: fitted.takes_strings(position),
        });
        let dtype = |role: &Role| match role {
            Role::Prediction => classes.as_ref().map_or(DataType::Float64, |c| plain(c.data_type())),
            Role::Label => DataType::Int64,
            Role::Proba(_) | Role::Feature(_, Kind::Number) => DataType::Float64,
            Role::Feature(_, Kind::Category(_) | Kind::Text) => DataType::Utf8View,
        };
        let made = fitted.outputs();
        let outputs: Vec<FieldRef> =
            made.iter().map(|(name, role)| Arc::new(ArrowField::new(name, dtype(role), true))).collect();
        let info = ModelInfo {
            spec: fitted.spec.clone(),
            key: kept.key,
            features: kept.features.iter().map(|(field, _)| field.clone()).collect(),
            target: kept.target,
            target_expr: kept.target_expr.clone(),
            classes: kept.classes,
            outputs: outputs
                .iter()
                .map(|field| onrush_frame::schema_to_wire(&Schema::new(vec![Arc::clone(field)])).fields.remove(0))
                .collect(),
            card: kept.card,
        };
        let roles = made.into_iter().map(|(_, role)| role).collect();
        TrainedModel {
            inputs: inputs.collect(),
            features: kept.features,
            target_expr: kept.target_expr,
            fitted,
            info,
            classes,
            outputs,
            roles,
            memory: OnceLock::new(),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.fitted.model().bytes()
    }

    /// An attribute as rows: a single value is a table of one row and one column.
    ///
    /// # Errors
    /// If there is no such attribute.
    pub fn attribute(&self, name: &str) -> Result<Table, Diagnostic> {
        match self.fitted.attribute(name) {
            Some(attribute) => table(attribute),
            None => {
                let estimator = &self.fitted.spec.estimator;
                let message = format!("this `{estimator}` has no attribute `{name}`");
                let known = estimator_attributes(&self.fitted.spec);
                Err(diagnostics::plan_error("attribute", message).note(format!("its attributes: {}", known.join(", "))))
            }
        }
    }

    /// Results of single rows of the training data.
    ///
    /// # Errors
    /// If the estimator keeps none.
    pub fn rows(&self) -> Result<Table, Diagnostic> {
        if let Some(columns) = self.fitted.model().embedding() {
            let array = |values: Vec<f64>| Arc::new(Float64Array::from(values)) as ArrayRef;
            return of_columns(columns.into_iter().map(|(name, values)| (name, array(values))).collect());
        }
        match self.fitted.model().rows() {
            Some(labels) => {
                let labels: ArrayRef = Arc::new(Int64Array::from_iter_values(labels.iter().map(|l| *l as i64)));
                of_columns(vec![("label".to_string(), labels)])
            }
            None => {
                let message = format!("`{}` keeps no results of single rows", self.fitted.spec.estimator);
                Err(diagnostics::plan_error("attribute", message).help("`predict` gives them for any frame"))
            }
        }
    }
}

/// A column that a model made, with the type that the user sees. `classes` are those of a classifier.
fn typed(role: &Role, values: Vec<f64>, classes: Option<&ArrayRef>) -> Result<ArrayRef, Diagnostic> {
    Ok(match (role, classes) {
        (Role::Prediction, Some(classes)) => {
            let positions = UInt64Array::from_iter_values(values.iter().map(|v| *v as u64));
            let taken = arrow::compute::take(classes, &positions, None).map_err(|e| internal(&e.to_string()))?;
            let dtype = plain(classes.data_type());
            arrow::compute::cast(&taken, &dtype).map_err(|e| internal(&e.to_string()))?
        }
        (Role::Label, _) => Arc::new(Int64Array::from_iter_values(values.iter().map(|v| *v as i64))),
        (Role::Feature(_, Kind::Category(names)), _) => Arc::new(StringViewArray::from_iter(
            values.iter().map(|v| if v.is_nan() { None } else { names.get(*v as usize) }),
        )),
        // No output has this kind: it is that of a feature alone.
        (Role::Feature(_, Kind::Text), _) => Arc::new(StringViewArray::new_null(values.len())),
        (Role::Feature(_, Kind::Number), _) => {
            Arc::new(Float64Array::from_iter(values.into_iter().map(|v| if v.is_nan() { None } else { Some(v) })))
        }
        _ => Arc::new(Float64Array::from(values)),
    })
}

/// Predictions of rows as a table. `classes` are those of the training.
pub fn predictions(made: Vec<Output>, classes: Option<&ArrayRef>) -> Result<Table, Diagnostic> {
    let column = |output: Output| -> Result<(String, ArrayRef), Diagnostic> {
        Ok((output.name, typed(&output.role, output.values, classes)?))
    };
    of_columns(made.into_iter().map(column).collect::<Result<Vec<_>, Diagnostic>>()?)
}

impl Predictor for TrainedModel {
    fn key(&self) -> u128 {
        self.info.key
    }

    fn file(&self) -> Result<Vec<u8>, Diagnostic> {
        onrush_learn::save::to_bytes(&self.fitted).map_err(super::diagnose)
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn outputs(&self) -> &[FieldRef] {
        &self.outputs
    }

    fn linear(&self) -> Option<LinearForm> {
        let LinearScores { coef, intercept, shift, link } = self.fitted.model().linear()?;
        if self.fitted.features.iter().any(|feature| feature.kind != Kind::Number) {
            return None;
        }
        let values = || {
            let classes = arrow::compute::cast(self.classes.as_ref()?, self.outputs.first()?.data_type()).ok()?;
            (0..classes.len()).map(|i| ScalarValue::try_from_array(&classes, i).ok()).collect::<Option<Vec<_>>>()
        };
        let link = match link {
            Link::Identity => LinearLink::Identity,
            Link::Logistic => LinearLink::Logistic(values()?),
            Link::Softmax => LinearLink::Softmax(values()?),
        };
        Some(LinearForm { coef, intercept, shift, link })
    }

    fn predict(&self, columns: &[ArrayRef], rows: usize) -> Result<Vec<ArrayRef>, Diagnostic> {
        let features = self.inputs.iter().zip(columns).map(|(input, array)| data::column(&input.name, array));
        let data = Data { rows, ..Data::new(features.collect::<Result<Vec<_>, _>>()?) };
        let wanted: Vec<usize> = (0..self.outputs.len()).collect();
        let made = self.fitted.apply(&data, &wanted).map_err(diagnose)?;
        self.roles.iter().zip(made).map(|(role, values)| typed(role, values, self.classes.as_ref())).collect()
    }
}

/// What the session has put into a model's file.
fn kept_of(fitted: &FittedModel) -> Result<SessionPart, Diagnostic> {
    serde_json::from_str(&fitted.session)
        .map_err(|e| diagnostics::plan_error("model-file", format!("the model file cannot be used: {e}")))
}

/// Predictions of strings come as views, as other string columns do.
fn plain(dtype: &DataType) -> DataType {
    match dtype {
        DataType::Dictionary(_, value) => plain(value),
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        dtype => dtype.clone(),
    }
}

/// A feature of a model that another program has written.
fn foreign(field: &onrush_learn::Field) -> (Field, Expr) {
    let dtype = match field.kind {
        Kind::Number => onrush_wire::DataType::Float64,
        Kind::Category(_) | Kind::Text => onrush_wire::DataType::String,
    };
    (Field { name: field.name.clone(), dtype, nullable: true }, Expr::column(field.name.as_str()))
}

fn estimator_attributes(spec: &Spec) -> Vec<String> {
    let own = estimator(&spec.estimator).map(|e| e.attributes.iter().map(|(name, _)| name.to_string()).collect());
    let mut all: Vec<String> = own.unwrap_or_default();
    if let Some(last) = spec.parts.last() {
        all.extend(estimator_attributes(&last.spec));
    }
    all
}

/// An attribute as rows.
pub fn table(attribute: Attribute) -> Result<Table, Diagnostic> {
    let array = |values: Values| -> ArrayRef {
        match values {
            Values::Floats(v) => {
                Arc::new(Float64Array::from_iter(v.into_iter().map(|v| if v.is_nan() { None } else { Some(v) })))
            }
            Values::Ints(v) => Arc::new(Int64Array::from(v)),
            Values::Strs(v) => Arc::new(StringArray::from(v)),
            Values::Bools(v) => Arc::new(BooleanArray::from(v)),
            Values::Nullable(v) => Arc::new(StringArray::from(v)),
        }
    };
    of_columns(match attribute {
        Attribute::Frame(columns) => columns.into_iter().map(|(name, values)| (name, array(values))).collect(),
        Attribute::Float(v) => vec![("value".to_string(), array(Values::Floats(vec![v])))],
        Attribute::Int(v) => vec![("value".to_string(), array(Values::Ints(vec![v])))],
        Attribute::Strs(v) => vec![("value".to_string(), array(Values::Strs(v)))],
    })
}

fn of_columns(columns: Vec<(String, ArrayRef)>) -> Result<Table, Diagnostic> {
    let fields: Vec<ArrowField> =
        columns.iter().map(|(name, array)| ArrowField::new(name, array.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(|e| internal(&e.to_string()))?;
    Ok(Table::new(schema, vec![batch]))
}

/// Rows on which the training score of a card is computed at most. More would take as long as some trainings.
pub const SCORED: usize = 20_000;

/// Whether a prediction searches the rows of the training.
fn is_lookup(spec: &Spec) -> bool {
    spec.estimator.starts_with("KNeighbors") || spec.parts.last().is_some_and(|part| is_lookup(&part.spec))
}

/// The score of a card with its rows, which are one of `step` of the training: accuracy of a classifier, R² of a
/// regressor. `None` of an estimator that does not predict.
fn training_score(fitted: &FittedModel, data: &Data, step: usize) -> Option<(String, String, f64)> {
    // Each row would be looked up among all rows of the training.
    if is_lookup(&fitted.spec) || !fitted.outputs().iter().any(|(_, role)| *role == Role::Prediction) {
        return None;
    }
    let name = onrush_learn::select::score::default_scorer(!fitted.classes.is_empty());
    let of = if step > 1 { format!("training, 1 row of {step}") } else { "training".to_string() };
    // A card without a score is no reason to lose the model.
    let score = onrush_learn::select::score(name, fitted, data);
    score.ok().filter(|value| value.is_finite()).map(|value| (name.to_string(), of, value))
}

/// A row for each fold of a cross-validation. `first` is the first column.
pub fn folds(first: (String, Values), folds: Vec<onrush_learn::select::Fold>) -> Result<Table, Diagnostic> {
    let floats = |value: &dyn Fn(&onrush_learn::select::Fold) -> f64| Values::Floats(folds.iter().map(value).collect());
    let mut columns = vec![
        first,
        ("fold".to_string(), Values::Ints(folds.iter().map(|f| f.fold as i64).collect())),
        ("fit_time".to_string(), floats(&|f| f.fit_time)),
        ("score_time".to_string(), floats(&|f| f.score_time)),
    ];
    let (tests, trains) = folds.first().map_or((0, 0), |f| (f.test.len(), f.train.len()));
    let name = |prefix: &str, scorer: &str, only: bool| match only {
        true => format!("{prefix}_score"),
        false => format!("{prefix}_{scorer}"),
    };
    for k in 0..tests {
        columns.push((name("test", &folds[0].test[k].0, tests == 1), floats(&|f| f.test[k].1)));
    }
    for k in 0..trains {
        columns.push((name("train", &folds[0].train[k].0, trains == 1), floats(&|f| f.train[k].1)));
    }
    if folds.iter().any(|f| f.best_iteration.is_some()) {
        columns
            .push(("best_iteration".to_string(), floats(&|f| f.best_iteration.map_or(f64::NAN, |round| round as f64))));
    }
    table(Attribute::Frame(columns))
}

/// How many bars a card has at most.
const BARS: usize = 200;

/// The card of a model that was trained on `data`.
fn card(fitted: &FittedModel, data: &Data, sample: Option<&(usize, Data)>, place: &str, seconds: f64) -> Card {
    let model = fitted.model();
    let (bars_title, bars) = bars(fitted);
    let score = match sample {
        Some((step, rows)) => training_score(fitted, rows, *step),
        None if data.y.is_empty() => None,
        None => match data.rows.div_ceil(SCORED) {
            0 | 1 => training_score(fitted, data, 1),
            step => training_score(fitted, &data.every(step), step),
        },
    };
    let mut card = Card {
        estimator: fitted.spec.estimator.clone(),
        rows: fitted.rows,
        features: fitted.features.len() as u64,
        place: place.to_string(),
        seconds,
        params: params(&fitted.spec),
        scores: score.into_iter().collect(),
        bars_title,
        bars,
        curve_title: ("iteration".to_string(), "loss".to_string()),
        curves: finite(model.curves()),
        notes: model.notes(),
        parts: parts(&fitted.spec),
        ..Card::default()
    };
    card.title = title(&card);
    card
}

/// Curves without points that are not numbers, which JSON has no word for.
fn finite(mut curves: Vec<(String, Vec<(f64, f64)>)>) -> Vec<(String, Vec<(f64, f64)>)> {
    curves.iter_mut().for_each(|(_, points)| points.retain(|(x, y)| x.is_finite() && y.is_finite()));
    curves
}

fn bars(fitted: &FittedModel) -> (String, Vec<(String, f64)>) {
    let Some((title, mut bars)) = fitted.bars() else { return Default::default() };
    bars.retain(|(_, value)| value.is_finite());
    bars.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    bars.truncate(BARS);
    // A coefficient of two classes speaks for the second one.
    let title = match (title, fitted.classes.as_slice()) {
        ("coefficient", [_, positive]) => format!("coefficient towards `{positive}`"),
        _ => title.to_string(),
    };
    (title, bars)
}

fn params(spec: &Spec) -> Vec<(String, String, bool)> {
    let Some(info) = estimator(&spec.estimator) else { return Vec::new() };
    let shown = |name: &str, value: &Param| match (name, value) {
        ("random_state", Param::None) => "0".to_string(),
        _ => value.to_string(),
    };
    let mut all: Vec<(String, String, bool)> = info
        .params
        .iter()
        .map(|p| {
            let value = spec.param(p.name);
            (p.name.to_string(), shown(p.name, &value), value == p.default)
        })
        .collect();
    // What was chosen comes first.
    all.sort_by_key(|(_, _, is_default)| *is_default);
    all
}

/// The estimators inside of a specification.
fn parts(spec: &Spec) -> Vec<(String, Card)> {
    let inner = spec.parts.iter().map(|part| {
        let name = match part.columns.is_empty() {
            true => part.name.clone(),
            false => part.columns.join(", "),
        };
        let card = Card {
            title: short(&part.spec),
            estimator: part.spec.estimator.clone(),
            params: params(&part.spec),
            parts: parts(&part.spec),
            ..Card::default()
        };
        (name, card)
    });
    inner.collect()
}

/// `RidgeCV(alpha=10)`: the estimator with the parameters that were set.
fn short(spec: &Spec) -> String {
    let set = params(spec).into_iter().filter(|(_, _, is_default)| !is_default);
    let list: Vec<String> = set.map(|(name, value, _)| format!("{name}={value}")).collect();
    match (spec.estimator.as_str(), spec.parts.is_empty()) {
        ("Pipeline", false) => spec.parts.iter().map(|part| short(&part.spec)).collect::<Vec<_>>().join(" → "),
        (_, false) if spec.is_search() => {
            format!("{} of {}", spec.estimator, short(&spec.parts[0].spec))
        }
        (name, _) => format!("{name}({})", list.join(", ")),
    }
}

fn title(card: &Card) -> String {
    let set = card.params.iter().filter(|(_, _, is_default)| !is_default);
    let list: Vec<String> = set.map(|(name, value, _)| format!("{name}={value}")).collect();
    let name = match card.parts.as_slice() {
        [] => format!("{}({})", card.estimator, list.join(", ")),
        parts if card.estimator == "Pipeline" => {
            parts.iter().map(|(_, part)| part.title.as_str()).collect::<Vec<_>>().join(" → ")
        }
        [(_, part)] => format!("{} of {}", card.estimator, part.title),
        parts => format!("{} of {} parts", card.estimator, parts.len()),
    };
    let score = card.scores.first().map(|(name, _, value)| format!(", {name} {value:.3}")).unwrap_or_default();
    format!("{name} on {} x {}{score}", card.rows, card.features)
}
