//! Handles of fitted models.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType as Arrow, Float64Type};
use onrush_wire::display::Content;
use onrush_wire::learn::{Evaluation, Fit, ModelAsk, ModelInfo, Param, Spec, info};
use onrush_wire::plan::{ConcatHow, Op};
use onrush_wire::session::{Reply, Request};
use onrush_wire::{Class, Diagnostic, ExprKind, ModelId, ModelOutput, ObjectId, Span, Value};

use super::report::Report;
use super::{Estimator, SupervisedEstimator};
use crate::display::{Show, offer};
use crate::expr::{Expr, Exprs, IntoExprs, ToExpr};
use crate::frame::Frame;
use crate::raise::{here, raise};
use crate::{process, session};

/// A fitted model in the session. Immutable; the handle is small and cheap to clone.
///
/// Models of different estimators have this one type, so a `Vec<Model>` holds them. [`FittedModel`] adds the attributes
/// of its estimator.
#[derive(Clone)]
pub struct Model {
    handle: Arc<Handle>,
}

/// Released when its last clone is dropped.
struct Handle {
    id: ModelId,
    info: ModelInfo,
    /// The id of the session that holds the model.
    epoch: u64,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.epoch == session::epoch() {
            process::release(self.id);
        }
    }
}

/// A fitted model of an estimator: its attributes are methods.
pub struct FittedModel<E> {
    model: Model,
    estimator: PhantomData<fn() -> E>,
}

impl<E> Clone for FittedModel<E> {
    fn clone(&self) -> Self {
        FittedModel { model: self.model.clone(), estimator: PhantomData }
    }
}

impl<E> std::ops::Deref for FittedModel<E> {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.model
    }
}

impl<E> From<FittedModel<E>> for Model {
    fn from(fitted: FittedModel<E>) -> Model {
        fitted.model
    }
}

type Probe = fn(&dyn Any) -> Option<ObjectId>;

/// How variables of each type of fitted model are looked into: the type is generic, and a variable is known only as
/// `Any`.
static PROBES: Mutex<Vec<Probe>> = Mutex::new(Vec::new());

/// The model that a variable holds.
pub(crate) fn object_of(value: &dyn Any) -> Option<ObjectId> {
    let probes = PROBES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    of_model(value).or_else(|| probes.iter().find_map(|probe| probe(value)))
}

fn of_model(value: &dyn Any) -> Option<ObjectId> {
    value.downcast_ref::<Model>().and_then(Model::known_id)
}

impl<E: 'static> FittedModel<E> {
    pub(super) fn new(model: Model) -> Self {
        let probe: Probe = |value| value.downcast_ref::<FittedModel<E>>().and_then(|fitted| fitted.model.known_id());
        let mut probes = PROBES.lock().unwrap_or_else(PoisonError::into_inner);
        if !probes.iter().any(|known| std::ptr::fn_addr_eq(*known, probe)) {
            probes.push(probe);
        }
        FittedModel { model, estimator: PhantomData }
    }
}

/// A target: the name of a column, or an expression.
pub trait IntoTarget {
    #[doc(hidden)]
    fn into_target(self) -> onrush_wire::Expr;
}

impl<T: IntoExprs> IntoTarget for T {
    fn into_target(self) -> onrush_wire::Expr {
        let mut exprs = self.into_exprs();
        match exprs.len() {
            1 => exprs.remove(0),
            n => raise(Diagnostic::error(Class::Plan, "target", format!("a target is one column, and {n} are given"))),
        }
    }
}

/// Estimators inside of each other at most. A specification is walked by recursion.
const DEEPEST: usize = 64;

/// The specification of an estimator. Raises if estimators are nested too deeply.
pub(super) fn spec_of(estimator: &(impl Estimator + ?Sized), at: &Span) -> Spec {
    let spec = estimator.spec();
    let mut level = vec![&spec];
    for _ in 0..DEEPEST {
        level = level.into_iter().flat_map(|spec| &spec.parts).map(|part| &part.spec).collect();
    }
    if !level.is_empty() {
        let message = format!("`{}` holds estimators nested more than {DEEPEST} deep", spec.estimator);
        raise(
            Diagnostic::error(Class::Plan, "estimator", message)
                .at(at.clone(), "")
                .help("put all steps into one pipeline: `make_pipeline((a, b, c))`"),
        );
    }
    spec
}

/// Trains a model.
#[inline(never)]
pub(super) fn fit(estimator: &dyn Estimator, frame: &Frame, target: Option<onrush_wire::Expr>, at: Span) -> Model {
    fit_with(spec_of(estimator, &at), &estimator.eval_frames(), frame, target, at)
}

/// Trains a model of a specification, with evaluation sets.
pub(super) fn fit_with(
    spec: Spec,
    eval: &[Frame],
    frame: &Frame,
    target: Option<onrush_wire::Expr>,
    at: Span,
) -> Model {
    let fit = Fit { spec, frame: frame.id(), target, eval: eval.iter().map(Frame::id).collect() };
    let reply = session::expect(&Request::Fit { fit, at: Some(at.clone()) }, at.clone());
    Model::of(reply, at)
}

/// The frame with the new columns of a transformer in place of its features. Raises for an estimator that predicts, and
/// if it transforms its training rows alone.
#[inline(never)]
pub(super) fn transformed(model: &Model, frame: &Frame, at: Span) -> Frame {
    let info = model.info();
    // Some of the estimators that keep places find those of other rows, too.
    if info.outputs.is_empty() && has_places(&info.spec) {
        let message = format!("`{}` transforms its training rows alone", info.spec.estimator);
        raise(
            Diagnostic::error(Class::Plan, "transform", message)
                .at(at, "")
                .help("`.fit_transform(&frame)` of the estimator gives them"),
        );
    }
    // A classifier that transforms, too, has its predictions first.
    let is_new = |name: &str| name != "prediction" && name != "label" && !name.starts_with("proba_");
    let only_new = info.outputs.first().is_some_and(|field| !is_new(&field.name));
    if only_new && !info.outputs.iter().any(|field| is_new(&field.name)) {
        let message = format!("`{}` does not transform: it predicts", info.spec.estimator);
        let name = &info.outputs[0].name;
        raise(
            Diagnostic::error(Class::Plan, "transform", message)
                .at(at, "")
                .help(format!("`.predict(&frame)` gives the column `{name}`")),
        );
    }
    let made = info.outputs.iter().map(|field| field.name.clone()).filter(|name| !only_new || is_new(name));
    let made: Vec<String> = made.collect();
    let exprs = made.iter().map(|name| model.expr(name, None).alias(name.clone())).collect();
    let with = Frame::step(Op::WithColumns { input: frame.id(), exprs }, at.clone());
    without_features(model, with, &made, at)
}

/// The training rows with the new columns of a transformer in place of its features.
#[inline(never)]
pub(super) fn fit_transformed(model: &Model, frame: &Frame, at: Span) -> Frame {
    match has_places(&model.info().spec) {
        true => without_features(model, with_rows(model, frame, at.clone()), &[], at),
        false => transformed(model, frame, at),
    }
}

/// The frame without the features of a model, except for the columns that it `made`.
fn without_features(model: &Model, frame: Frame, made: &[String], at: Span) -> Frame {
    let columns = frame.columns();
    let gone = model.info().features.iter().map(|field| field.name.clone());
    let gone: Vec<String> = gone.filter(|name| !made.contains(name) && columns.contains(name)).collect();
    match gone.is_empty() {
        true => frame,
        false => Frame::step(Op::Drop { input: frame.id(), columns: gone }, at),
    }
}

/// Whether the estimator, or the last step of a pipeline, keeps the places of its training rows.
fn has_places(spec: &Spec) -> bool {
    match spec.parts.last() {
        Some(part) => has_places(&part.spec),
        None => info(&spec.estimator).is_some_and(|e| e.attributes.iter().any(|(name, _)| *name == "embedding")),
    }
}

/// A frame and the columns of another one with the same rows. Columns of `gone` are left out of the first one.
fn joined(frame: &Frame, gone: &[String], with: &Frame, at: Span) -> Frame {
    let columns = frame.columns();
    let gone: Vec<String> = gone.iter().filter(|name| columns.contains(name)).cloned().collect();
    if gone.len() == columns.len() {
        return with.clone();
    }
    let kept = match gone.is_empty() {
        true => frame.clone(),
        false => Frame::step(Op::Drop { input: frame.id(), columns: gone }, at.clone()),
    };
    Frame::step(Op::Concat { inputs: vec![kept.id(), with.id()], how: ConcatHow::Horizontal }, at)
}

/// The frame with the cluster of each row.
#[inline(never)]
pub(super) fn labelled(model: &Model, frame: &Frame, at: Span) -> Frame {
    match model.info().outputs.is_empty() {
        true => with_rows(model, frame, at),
        false => model.predict_with(frame, None, at),
    }
}

/// The training rows with the results that the model keeps of them.
fn with_rows(model: &Model, frame: &Frame, at: Span) -> Frame {
    let results = rows(model, ModelAsk::Rows, at.clone());
    let results = Frame::new(session::send(&results, at.clone()));
    joined(frame, &[], &results, at)
}

pub(super) fn rows(model: &Model, what: ModelAsk, at: Span) -> RecordBatch {
    session::rows_of(&Request::Model { model: model.id(), what }, at)
}

/// An attribute as a frame.
#[inline(never)]
pub(super) fn attribute(model: &Model, name: &str, at: Span) -> Frame {
    let batch = rows(model, ModelAsk::Attribute(name.to_string()), at.clone());
    Frame::new(session::send(&batch, at))
}

/// An attribute that is one number. NaN for one that is not there.
#[inline(never)]
pub(super) fn float(model: &Model, name: &str, at: Span) -> f64 {
    only_number(&rows(model, ModelAsk::Attribute(name.to_string()), at))
}

fn only_number(batch: &RecordBatch) -> f64 {
    let column = batch.columns().last().and_then(|column| arrow::compute::cast(column, &Arrow::Float64).ok());
    let column = column.filter(|column| column.len() == 1 && column.is_valid(0));
    column.map_or(f64::NAN, |column| column.as_primitive::<Float64Type>().value(0))
}

/// An attribute that is a list of strings.
#[inline(never)]
pub(super) fn strings(model: &Model, name: &str, at: Span) -> Vec<String> {
    let batch = rows(model, ModelAsk::Attribute(name.to_string()), at);
    let Ok(column) = arrow::compute::cast(batch.column(0), &Arrow::Utf8) else { return Vec::new() };
    column.as_string::<i32>().iter().map(|s| s.unwrap_or_default().to_string()).collect()
}

/// An estimator with the parameters that were set: `Ridge::new().alpha(0.5)`.
pub(super) fn shown(spec: &Spec) -> String {
    let value = |param: &Param| match param {
        Param::Str(text) => format!("{text:?}"),
        other => other.to_string(),
    };
    let set: Vec<String> = spec.params.iter().map(|(name, param)| format!(".{name}({})", value(param))).collect();
    format!("{}::new(){}", spec.estimator, set.concat())
}

impl Model {
    #[inline(never)]
    fn of(reply: Reply, at: Span) -> Model {
        match reply {
            Reply::Model { id, info } => {
                Model { handle: Arc::new(Handle { id, info: *info, epoch: session::epoch() }) }
            }
            other => session::unexpected(&other, at),
        }
    }

    fn known_id(&self) -> Option<ObjectId> {
        (self.handle.epoch == session::epoch()).then_some(self.handle.id.into())
    }

    /// The session's id of the model. Raises if that session has ended.
    #[doc(hidden)]
    pub fn id(&self) -> ModelId {
        match self.known_id() {
            Some(_) => self.handle.id,
            None => raise(session::restarted()),
        }
    }

    fn info(&self) -> &ModelInfo {
        &self.handle.info
    }

    /// Names of the columns that the model was trained on.
    pub fn feature_names(&self) -> Vec<String> {
        self.info().features.iter().map(|field| field.name.clone()).collect()
    }

    /// The classes of a classifier, in the order of its probabilities.
    pub fn classes(&self) -> Vec<Value> {
        self.info().classes.clone()
    }

    /// Names of the columns that the model makes.
    pub fn output_names(&self) -> Vec<String> {
        self.info().outputs.iter().map(|field| field.name.clone()).collect()
    }

    /// The estimator with its parameters, without what it has learnt.
    pub fn spec(&self) -> Spec {
        self.info().spec.clone()
    }

    fn expr(&self, output: &str, at: Option<Span>) -> onrush_wire::Expr {
        let output = ModelOutput { model: self.id(), key: self.info().key, output: output.to_string() };
        onrush_wire::Expr { kind: ExprKind::Model(output), span: at }
    }

    fn exprs(&self) -> Vec<onrush_wire::Expr> {
        self.info().outputs.iter().map(|field| self.expr(&field.name, None).alias(field.name.clone())).collect()
    }

    /// The name of the column of predictions: `prediction`, or `label` for clusters. Raises if the model predicts
    /// nothing. `other` is the method that gives the columns of a transformer.
    fn predicted(&self, other: &str, at: &Span) -> &str {
        let info = self.info();
        let help = match info.outputs.first().map(|field| field.name.as_str()) {
            Some(name @ ("prediction" | "label")) => return name,
            Some(_) if other == "outputs" => "`.outputs()` gives its columns as expressions".to_string(),
            Some(_) => format!("`.{other}(&frame)` gives its columns"),
            None if info.spec.is_search() => "set `.refit(true)`: the search then trains the best model".to_string(),
            None if info.spec.estimator == "NearestNeighbors" => "`.kneighbors(&frame, 5)` gives neighbors".to_string(),
            None => "`.fit_predict(&frame)` of the estimator gives the clusters of its training rows".to_string(),
        };
        let message = format!("`{}` predicts nothing", info.spec.estimator);
        raise(Diagnostic::error(Class::Plan, "prediction", message).at(at.clone(), "").help(help))
    }

    /// The prediction as an expression: `f.with_columns(x!(p = {m.prediction()}))`. It finds its features by name.
    ///
    /// Raises if the model predicts nothing, such as a transformer.
    #[track_caller]
    pub fn prediction(&self) -> Expr {
        let at = here("prediction");
        let name = self.predicted("outputs", &at);
        Expr(self.expr(name, Some(at.clone())))
    }

    /// The probability of a class as an expression: `m.proba("yes")`, `m.proba(1)`.
    #[track_caller]
    pub fn proba(&self, class: impl ToExpr) -> Expr {
        let at = here("proba");
        let class = match class.into_expr().0.into_kind() {
            ExprKind::Literal(value) => value,
            _ => Value::Null,
        };
        Expr(self.expr(&format!("proba_{}", plain(&class)), Some(at)))
    }

    /// All columns that the model makes, as expressions.
    pub fn outputs(&self) -> Exprs {
        Exprs(self.exprs().into_iter().map(Expr).collect())
    }

    /// The frame with the column `prediction`: of the target's type for a classifier, a number for a regressor, `label`
    /// for clusters.
    ///
    /// Raises if a feature is missing, or if the model predicts nothing, such as a transformer. A null in a feature
    /// ends the query with an error, unless the estimator takes missing values.
    #[track_caller]
    pub fn predict(&self, frame: &Frame) -> Frame {
        self.predict_with(frame, None, here("predict"))
    }

    /// The frame with the prediction and one more column, which does not see the prediction.
    #[inline(never)]
    pub(super) fn predict_with(&self, frame: &Frame, other: Option<onrush_wire::Expr>, at: Span) -> Frame {
        let name = self.predicted("transform", &at);
        let prediction = self.expr(name, Some(at.clone())).alias(name);
        let exprs = std::iter::once(prediction).chain(other).collect();
        Frame::step(Op::WithColumns { input: frame.id(), exprs }, at)
    }

    /// The frame with a column `proba_<class>` for each class.
    #[track_caller]
    pub fn predict_proba(&self, frame: &Frame) -> Frame {
        let at = here("predict_proba");
        let names = self.info().outputs.iter().map(|field| field.name.as_str()).filter(|n| n.starts_with("proba_"));
        let exprs: Vec<_> = names.map(|name| self.expr(name, Some(at.clone())).alias(name)).collect();
        if exprs.is_empty() {
            let message = format!("`{}` gives no probabilities", self.info().spec.estimator);
            raise(
                Diagnostic::error(Class::Plan, "probabilities", message).at(at, "").help("`predict` gives its values"),
            );
        }
        Frame::step(Op::WithColumns { input: frame.id(), exprs }, at)
    }

    /// The frame with the columns of a transformer in place of its features. Other columns stay.
    ///
    /// Raises for an estimator that predicts.
    #[track_caller]
    pub fn transform(&self, frame: &Frame) -> Frame {
        transformed(self, frame, here("transform"))
    }

    /// The frame with the features of a transformer in place of its columns: what `transform` made is undone. Scalers,
    /// encoders, `PCA`, `TruncatedSVD`, and pipelines of these have it. Other columns stay.
    ///
    /// Raises if the estimator cannot be undone, or one of its columns is missing. Raises for a value that it never
    /// makes, such as a row of zeros of an encoder.
    #[track_caller]
    pub fn inverse_transform(&self, frame: &Frame) -> Frame {
        let at = here("inverse_transform");
        let features = self.evaluated(frame, Evaluation::Inverse, at.clone());
        let mut gone = self.output_names();
        gone.extend(self.feature_names().into_iter().filter(|name| !gone.contains(name)).collect::<Vec<_>>());
        joined(frame, &gone, &features, at)
    }

    /// The frame with the scores that a classifier decides by: `decision` for two classes (above 0 is the second one),
    /// else `decision_<class>` for each class.
    ///
    /// Raises if the estimator decides by probabilities alone.
    #[track_caller]
    pub fn decision_function(&self, frame: &Frame) -> Frame {
        let at = here("decision_function");
        let scores = self.evaluated(frame, Evaluation::Decision, at.clone());
        joined(frame, &scores.columns(), &scores, at)
    }

    /// Accuracy of a classifier, or R² of a regressor, on the rows of a frame.
    #[track_caller]
    pub fn score(&self, frame: &Frame) -> f64 {
        only_number(&self.evaluate(frame, Evaluation::Score(None), here("score")))
    }

    /// A score by the name of scikit-learn's scorer: `m.score_by(&test, "roc_auc")`.
    #[track_caller]
    pub fn score_by(&self, frame: &Frame, scoring: &str) -> f64 {
        only_number(&self.evaluate(frame, Evaluation::Score(Some(scoring.to_string())), here("score_by")))
    }

    fn evaluate(&self, frame: &Frame, what: Evaluation, at: Span) -> RecordBatch {
        rows(self, ModelAsk::Evaluate { frame: frame.id(), what }, at)
    }

    #[inline(never)]
    fn evaluated(&self, frame: &Frame, what: Evaluation, at: Span) -> Frame {
        Frame::new(session::send(&self.evaluate(frame, what, at.clone()), at))
    }

    /// The quality of the model on the rows of a frame. For a classifier: precision, recall and F1 of each class, with
    /// plots of the confusion matrix, ROC, precision and recall, and calibration. For a regressor: its errors, with
    /// predictions over true values.
    #[track_caller]
    pub fn report(&self, frame: &Frame) -> Report {
        let at = here("report");
        let table = self.evaluated(frame, Evaluation::Report, at.clone());
        let plot = match self.info().classes.len() {
            0 => {
                let (name, actual) = match &self.info().target_expr {
                    Some(onrush_wire::Expr { kind: ExprKind::Column(name), .. }) => (name.as_str(), None),
                    target => ("actual", target.clone().map(|expr| without_alias(expr).alias("actual"))),
                };
                let predicted = self.predict_with(frame, actual, at);
                predicted.plot().scatter(name, "prediction").title("predictions over true values")
            }
            classes => {
                let matrix = self.evaluated(frame, Evaluation::ConfusionMatrix, at.clone());
                let mut panels = vec![("confusion matrix", matrix.plot().bar("actual", "count").color("predicted"))];
                if classes == 2 && self.output_names().len() > 1 {
                    let roc = self.evaluated(frame, Evaluation::Roc { class: None }, at.clone());
                    let pr = self.evaluated(frame, Evaluation::PrecisionRecall { class: None }, at.clone());
                    let bins = Evaluation::Calibration { class: None, bins: 10 };
                    let calibration = self.evaluated(frame, bins, at);
                    panels.push(("ROC", roc.plot().line("fpr", "tpr")));
                    panels.push(("precision and recall", pr.plot().line("recall", "precision")));
                    panels.push(("calibration", calibration.plot().line("prob_pred", "prob_true")));
                }
                crate::plot::panels(panels).free_x().free_y()
            }
        };
        Report { table, plot }
    }

    /// Rows, true and predicted class, and how many there are.
    #[track_caller]
    pub fn confusion_matrix(&self, frame: &Frame) -> Frame {
        self.evaluated(frame, Evaluation::ConfusionMatrix, here("confusion_matrix"))
    }

    /// The ROC curve: false and true positive rate by threshold. The second of two classes is positive. More classes
    /// have a curve each, with the name in a column `class`.
    #[track_caller]
    pub fn roc_curve(&self, frame: &Frame) -> Frame {
        self.evaluated(frame, Evaluation::Roc { class: None }, here("roc_curve"))
    }

    /// The ROC curve with this class as the positive one: `m.roc_curve_of(&test, "yes")`.
    #[track_caller]
    pub fn roc_curve_of(&self, frame: &Frame, class: impl ToExpr) -> Frame {
        let at = here("roc_curve_of");
        self.evaluated(frame, Evaluation::Roc { class: Some(literal(class, "roc_curve_of", &at)) }, at)
    }

    /// Precision and recall by threshold. Classes are as in [`Model::roc_curve`].
    #[track_caller]
    pub fn precision_recall_curve(&self, frame: &Frame) -> Frame {
        self.evaluated(frame, Evaluation::PrecisionRecall { class: None }, here("precision_recall_curve"))
    }

    /// Precision and recall by threshold with this class as the positive one.
    #[track_caller]
    pub fn precision_recall_curve_of(&self, frame: &Frame, class: impl ToExpr) -> Frame {
        let at = here("precision_recall_curve_of");
        let class = Some(literal(class, "precision_recall_curve_of", &at));
        self.evaluated(frame, Evaluation::PrecisionRecall { class }, at)
    }

    /// Mean probability and share of positives in bins of the probability. Classes are as in [`Model::roc_curve`].
    #[track_caller]
    pub fn calibration_curve(&self, frame: &Frame, bins: usize) -> Frame {
        self.evaluated(frame, Evaluation::Calibration { class: None, bins }, here("calibration_curve"))
    }

    /// Mean probability and share of positives in bins, with this class as the positive one.
    #[track_caller]
    pub fn calibration_curve_of(&self, frame: &Frame, class: impl ToExpr, bins: usize) -> Frame {
        let at = here("calibration_curve_of");
        let class = Some(literal(class, "calibration_curve_of", &at));
        self.evaluated(frame, Evaluation::Calibration { class, bins }, at)
    }

    /// How much the score drops when the values of a feature are shuffled: mean and standard deviation of five
    /// shuffles. [`Model::permutation_importance_with`] takes the number of shuffles, scorers and a seed.
    #[track_caller]
    pub fn permutation_importance(&self, frame: &Frame) -> Frame {
        self.permuted(frame, n_repeats(5), here("permutation_importance"))
    }

    /// The same by the name of a scorer and a number of shuffles: `m.permutation_importance_by(&test, "roc_auc", 30)`.
    #[track_caller]
    pub fn permutation_importance_by(&self, frame: &Frame, scoring: &str, repeats: usize) -> Frame {
        self.permuted(frame, n_repeats(repeats).scoring(scoring), here("permutation_importance_by"))
    }

    /// The same with options: `m.permutation_importance_with(&test, n_repeats(30).scoring("roc_auc").random_state(1))`.
    /// Several scorers give rows for each, with its name in a column `scorer`.
    #[track_caller]
    pub fn permutation_importance_with(&self, frame: &Frame, options: Permutations) -> Frame {
        self.permuted(frame, options, here("permutation_importance_with"))
    }

    #[inline(never)]
    fn permuted(&self, frame: &Frame, options: Permutations, at: Span) -> Frame {
        let Permutations { n_repeats, scoring, random_state } = options;
        let by = |scoring: Option<String>| {
            let what = Evaluation::PermutationImportance { n_repeats, scoring, random_state };
            self.evaluated(frame, what, at.clone())
        };
        if scoring.len() < 2 {
            return by(scoring.into_iter().next());
        }
        let named = |scorer: String| {
            let made = by(Some(scorer.clone()));
            let names = made.columns().into_iter().map(onrush_wire::Expr::column);
            let exprs = std::iter::once(onrush_wire::Expr::literal(scorer).alias("scorer")).chain(names).collect();
            Frame::step(Op::Select { input: made.id(), exprs }, at.clone())
        };
        crate::frame::concat(scoring.into_iter().map(named).collect::<Vec<Frame>>())
    }

    /// The mean prediction over the rows of `frame` as a feature takes each of up to 100 values.
    #[track_caller]
    pub fn partial_dependence(&self, frame: &Frame, feature: &str) -> Frame {
        let what = Evaluation::PartialDependence { feature: feature.to_string(), grid: 100 };
        self.evaluated(frame, what, here("partial_dependence"))
    }

    /// The nearest rows of the training data for each row of `frame`: `row`, `neighbor`, `distance`.
    #[track_caller]
    pub fn kneighbors(&self, frame: &Frame, n_neighbors: usize) -> Frame {
        let what = Evaluation::Kneighbors { n_neighbors: Some(n_neighbors), radius: None };
        self.evaluated(frame, what, here("kneighbors"))
    }

    /// The rows of the training data within `radius` of each row of `frame`: `row`, `neighbor`, `distance`.
    #[track_caller]
    pub fn radius_neighbors(&self, frame: &Frame, radius: f64) -> Frame {
        let what = Evaluation::Kneighbors { n_neighbors: None, radius: Some(radius) };
        self.evaluated(frame, what, here("radius_neighbors"))
    }

    /// An attribute by its name, as a frame.
    #[track_caller]
    pub fn attribute(&self, name: &str) -> Frame {
        attribute(self, name, here("attribute"))
    }

    /// Writes the model to a file: `.safetensors`, `.ubj` and `.json` for a model of XGBoost, `.txt` for one of
    /// LightGBM, `.json` for one of CatBoost.
    #[track_caller]
    pub fn save(&self, path: impl AsRef<std::path::Path>) {
        let at = here("save");
        let what = ModelAsk::Save { path: crate::frame::path_text(path), folder: crate::frame::folder() };
        match session::expect(&Request::Model { model: self.id(), what }, at.clone()) {
            Reply::Written { .. } => {}
            other => session::unexpected(&other, at),
        }
    }

    /// Publishes the model to all notebooks under `name`, after the cell has succeeded. Notebooks take it with
    /// [`get_model`].
    pub fn publish(&self, name: &str) {
        process::publish(name, self.id());
    }
}

/// A class that was given as a value.
pub(super) fn literal(class: impl ToExpr, what: &str, at: &Span) -> Value {
    match class.into_expr().0.into_kind() {
        ExprKind::Literal(value) => value,
        _ => raise(
            Diagnostic::error(Class::Plan, "argument", format!("`{what}` takes a class, not an expression"))
                .help("name the class as the target has it: `\"yes\"`, `1` or `true`")
                .at(at.clone(), ""),
        ),
    }
}

/// How [`Model::permutation_importance_with`] shuffles and scores. Made by [`n_repeats`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Permutations {
    n_repeats: usize,
    scoring: Vec<String>,
    random_state: u32,
}

/// So many shuffles of each feature: `n_repeats(30).scoring("roc_auc").random_state(1)`.
pub fn n_repeats(n_repeats: usize) -> Permutations {
    Permutations { n_repeats, scoring: Vec::new(), random_state: 0 }
}

impl Permutations {
    /// The name of a scorer, or several: `["roc_auc", "accuracy"]`. Without: accuracy for classes, else r2.
    pub fn scoring(mut self, scoring: impl crate::expr::IntoColumns) -> Self {
        self.scoring = scoring.into_columns();
        self
    }

    /// The seed. The shuffles are those of scikit-learn for the same seed.
    pub fn random_state(mut self, seed: u32) -> Self {
        self.random_state = seed;
        self
    }
}

/// An expression without the name that it was given.
pub(super) fn without_alias(expr: onrush_wire::Expr) -> onrush_wire::Expr {
    match expr.into_parts() {
        (ExprKind::Alias(inner, _), _) => *inner,
        (kind, span) => onrush_wire::Expr { kind, span },
    }
}

/// A class as the name of its column has it.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Boolean(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::UInt(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        other => format!("{other:?}"),
    }
}

/// A model of a file: one that [`Model::save`] has written, or a model of XGBoost (`.ubj`, `.json`), LightGBM (`.txt`)
/// or CatBoost (`.json`).
#[track_caller]
pub fn load_model(path: impl AsRef<std::path::Path>) -> Model {
    let at = here("load_model");
    let request = Request::LoadModel { path: crate::frame::path_text(path), folder: crate::frame::folder() };
    Model::of(session::expect(&request, at.clone()), at)
}

/// The model that a notebook published under `name`.
#[track_caller]
pub fn get_model(name: &str) -> Model {
    let at = here("get_model");
    match session::expect(&Request::Get { name: name.to_string() }, at.clone()) {
        Reply::Frame { .. } => raise(
            Diagnostic::error(Class::Plan, "kind", format!("`{name}` is a frame, not a model"))
                .at(at, "")
                .help("`get` gives frames"),
        ),
        reply => Model::of(reply, at),
    }
}

impl Show for Model {
    fn content(&self) -> Option<Content> {
        Some(Content::Model(self.info().card.clone()))
    }
}

impl<E> Show for FittedModel<E> {
    fn content(&self) -> Option<Content> {
        self.model.content()
    }
}

/// One line: `Ridge(alpha=0.5) on 442 x 10, r2 0.512`.
impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if offer(self, || Content::Model(self.info().card.clone())) {
            return Ok(());
        }
        f.write_str(&self.info().card.title)
    }
}

impl<E> std::fmt::Debug for FittedModel<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if offer(self, || Content::Model(self.info().card.clone())) {
            return Ok(());
        }
        f.write_str(&self.info().card.title)
    }
}

/// A model is an estimator again: the same specification, to be trained on other rows.
impl Estimator for Model {
    fn spec(&self) -> Spec {
        self.info().spec.clone()
    }
}

impl<E> Estimator for FittedModel<E> {
    fn spec(&self) -> Spec {
        self.info().spec.clone()
    }
}

impl<E: SupervisedEstimator> SupervisedEstimator for FittedModel<E> {}
