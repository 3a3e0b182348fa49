//! Cross-validation: scores and predictions on folds, and curves of scores.

use onrush_wire::learn::{Fit, Grid, Size, Spec, Splitter};
use onrush_wire::plan::{ConcatHow, Op};
use onrush_wire::session::Request;
use onrush_wire::{Class, DataType, Diagnostic, Expr as Tree, ExprKind, Span};

use super::Estimator;
use super::model::{self, IntoTarget};
use super::select::IntoGrid;
use super::splitters::{Folds, folds_of};
use crate::expr::Expr;
use crate::frame::Frame;
use crate::raise::{here, raise};
use crate::session;

/// How [`cross_validate`] divides rows and scores. Made by [`cv`], or from a splitter.
#[derive(Clone, Debug)]
#[must_use]
pub struct Cv {
    splitter: Splitter,
    scoring: Vec<String>,
    custom: Vec<Expr>,
    train_score: bool,
    /// The method of [`cross_val_predict`].
    method: Option<String>,
}

/// Cross-validation with this many folds, or by a splitter: `cv(5).scoring("roc_auc")`.
pub fn cv(folds: impl Folds) -> Cv {
    Cv { splitter: folds.splitter(), scoring: Vec::new(), custom: Vec::new(), train_score: false, method: None }
}

/// The name of a scorer of scikit-learn, several of them, or an aggregate over the target and `prediction`.
pub trait IntoScoring {
    #[doc(hidden)]
    fn add_to(self, cv: &mut Cv);
}

impl IntoScoring for &str {
    fn add_to(self, cv: &mut Cv) {
        cv.scoring.push(self.to_string());
    }
}

impl<const N: usize> IntoScoring for [&str; N] {
    fn add_to(self, cv: &mut Cv) {
        cv.scoring.extend(self.iter().map(ToString::to_string));
    }
}

impl IntoScoring for Vec<&str> {
    fn add_to(self, cv: &mut Cv) {
        cv.scoring.extend(self.into_iter().map(str::to_string));
    }
}

impl IntoScoring for Expr {
    fn add_to(self, cv: &mut Cv) {
        cv.custom.push(self);
    }
}

impl IntoScoring for crate::Exprs {
    fn add_to(self, cv: &mut Cv) {
        cv.custom.extend(self.0);
    }
}

impl Cv {
    /// The scorer: `"roc_auc"`, several names, or an aggregate such as
    /// `x!(cost = (if late && !prediction { 300 } else { 0 }).mean())`.
    pub fn scoring(mut self, scoring: impl IntoScoring) -> Self {
        scoring.add_to(&mut self);
        self
    }

    /// The values of [`cross_val_predict`]: `"predict"`, `"predict_proba"` or `"decision_function"`.
    pub fn method(mut self, method: &str) -> Self {
        self.method = Some(method.to_string());
        self
    }

    /// Whether the training rows are scored, too.
    pub fn return_train_score(mut self, yes: bool) -> Self {
        self.train_score = yes;
        self
    }
}

/// A splitter or options: what [`cross_validate`] and its relatives take.
pub trait IntoCv {
    #[doc(hidden)]
    fn into_cv(self) -> Cv;
}

impl IntoCv for Cv {
    fn into_cv(self) -> Cv {
        self
    }
}

impl<F: Folds> IntoCv for F {
    fn into_cv(self) -> Cv {
        cv(self)
    }
}

/// Trains and scores on folds: a row for each with `model`, `fold`, `fit_time`, `score_time` and `test_score`, or
/// `test_<scorer>` of several. With aggregates the columns are `model`, `fold` and the aggregates.
///
/// A boosted model with early stopping and without an `eval_set` is scored after each round on the test rows of the
/// fold. The column `best_iteration` then has its best round.
///
/// Raises if aggregates come together with names of scorers or with the scores of the training rows.
#[track_caller]
pub fn cross_validate(
    estimator: &(impl Estimator + ?Sized),
    frame: &Frame,
    target: impl IntoTarget,
    how: impl IntoCv,
) -> Frame {
    let at = here("cross_validate");
    folds_scored(Training::of(estimator, frame, target, &at), how.into_cv(), at)
}

/// An estimator and the rows of its trainings.
struct Training {
    spec: Spec,
    frame: Frame,
    target: Tree,
    eval: Vec<Frame>,
}

impl Training {
    fn of(estimator: &(impl Estimator + ?Sized), frame: &Frame, target: impl IntoTarget, at: &Span) -> Self {
        let (spec, eval) = (model::spec_of(estimator, at), estimator.eval_frames());
        Training { spec, frame: frame.clone(), target: target.into_target(), eval }
    }

    fn fit(&self) -> Fit {
        Fit {
            spec: self.spec.clone(),
            frame: self.frame.id(),
            target: Some(self.target.clone()),
            eval: self.eval.iter().map(Frame::id).collect(),
        }
    }
}

fn refuse(what: &str, found: &str, help: &str, at: &Span) -> ! {
    let message = format!("`{what}` does not take {found}");
    raise(Diagnostic::error(Class::Plan, "argument", message).help(help).at(at.clone(), ""))
}

fn folds_scored(training: Training, how: Cv, at: Span) -> Frame {
    if how.method.is_some() {
        refuse(
            "cross_validate",
            "`method`",
            "a scorer takes the values that it needs: `cv(5).scoring(\"roc_auc\")`",
            &at,
        );
    }
    match how.custom.is_empty() {
        true => validated(training.fit(), how, at),
        false => by_aggregates(&training, &how, &at),
    }
}

#[inline(never)]
fn validated(fit: Fit, how: Cv, at: Span) -> Frame {
    let Cv { splitter, scoring, train_score, .. } = how;
    let request = Request::CrossValidate { fit, cv: splitter, scoring, train_score, at: Some(at.clone()) };
    let batch = session::rows_of(&request, at.clone());
    crate::handle::send(&batch, at)
}

/// The scores of folds: `sklearn.model_selection.cross_val_score`. An aggregate scores as in [`cross_validate`].
///
/// `let scores = cross_val_score(&Ridge::new(), &houses, "price", cv(5).scoring("r2"));`
///
/// Raises for several scorers, which [`cross_validate`] takes.
#[track_caller]
pub fn cross_val_score(
    estimator: &(impl Estimator + ?Sized),
    frame: &Frame,
    target: impl IntoTarget,
    how: impl IntoCv,
) -> Vec<f64> {
    let at = here("cross_val_score");
    let how = how.into_cv();
    if how.scoring.len() + how.custom.len() > 1 {
        let message = "`cross_val_score` takes one scorer";
        raise(
            Diagnostic::error(Class::Plan, "scoring", message)
                .help("`cross_validate` gives a column for each of several")
                .at(at, ""),
        );
    }
    let folds = folds_scored(Training::of(estimator, frame, target, &at), Cv { train_score: false, ..how }, at.clone());
    let name = match folds.columns().into_iter().find(|name| name == "test_score") {
        Some(name) => name,
        // The column of an aggregate is the last one.
        None => folds.columns().pop().unwrap_or_default(),
    };
    let scores =
        Tree::new(ExprKind::Cast { value: Box::new(Tree::column(name)), to: DataType::Float64, strict: false });
    let scores = Frame::step(Op::Select { input: folds.id(), exprs: vec![scores.alias("score")] }, at);
    scores.column::<Option<f64>>("score").to_vec().into_iter().map(|score| score.unwrap_or(f64::NAN)).collect()
}

/// The frame with a prediction of each row by a model that was not trained on it
/// (`sklearn.model_selection.cross_val_predict`). Out-of-fold predictions are for stacking, or for an honest report.
///
/// The column is `prediction`, of the type of the target. `cv(5).method("predict_proba")` gives `proba_<class>` for
/// each class instead. `"decision_function"` gives `decision_<class>`, or one column `decision` for two classes. A
/// class that the training rows of a fold do not have gets the probability 0. Columns of these names are replaced. The
/// rows keep their order.
///
/// `let f = cross_val_predict(&GaussianNB::new(), &iris, "species", cv(5).method("predict_proba"));`
///
/// Raises if the folds do not test each row once, and for scorers.
#[track_caller]
pub fn cross_val_predict(
    estimator: &(impl Estimator + ?Sized),
    frame: &Frame,
    target: impl IntoTarget,
    how: impl IntoCv,
) -> Frame {
    let at = here("cross_val_predict");
    let how = how.into_cv();
    if !how.scoring.is_empty() || !how.custom.is_empty() {
        refuse("cross_val_predict", "scorers", "`cross_validate` scores", &at);
    }
    out_of_fold(Training::of(estimator, frame, target, &at), how, frame, at)
}

#[inline(never)]
fn out_of_fold(training: Training, how: Cv, frame: &Frame, at: Span) -> Frame {
    let method = how.method.unwrap_or_else(|| "predict".to_string());
    let request = Request::CrossValPredict { fit: training.fit(), cv: how.splitter, method, at: Some(at.clone()) };
    let made = crate::handle::send(&session::rows_of(&request, at.clone()), at.clone());
    let (own, new) = (frame.columns(), made.columns());
    let replaced: Vec<String> = own.into_iter().filter(|name| new.contains(name)).collect();
    let frame = match replaced.is_empty() {
        true => frame.clone(),
        false => Frame::step(Op::Drop { input: frame.id(), columns: replaced }, at.clone()),
    };
    Frame::step(Op::Concat { inputs: vec![frame.id(), made.id()], how: ConcatHow::Horizontal }, at)
}

/// Trains and scores on folds for each value of one parameter (`sklearn.model_selection.validation_curve`).
///
/// The frame has a row for each value and fold. Its columns are the name of the parameter, `fold`, `fit_time`,
/// `score_time`, `test_score` and `train_score`; several scorers give `test_<scorer>` and `train_<scorer>`. The path of
/// a parameter goes through the steps of a pipeline: `"ridge__alpha"`.
///
/// `validation_curve(&Ridge::new(), &houses, "price", "alpha", [0.1, 1.0, 10.0], cv(5))`
///
/// Raises if the estimator does not have the parameter or does not take a value, for a distribution of values, and for
/// aggregates as scorers.
#[track_caller]
pub fn validation_curve(
    estimator: &(impl Estimator + ?Sized),
    frame: &Frame,
    target: impl IntoTarget,
    param: &str,
    values: impl IntoGrid,
    how: impl IntoCv,
) -> Frame {
    let at = here("validation_curve");
    let training = Training::of(estimator, frame, target, &at);
    curve(training, (param, values.into_grid()), how.into_cv(), at)
}

/// Names of scorers alone: curves take no aggregates.
fn scorers_only(what: &str, how: &Cv, at: &Span) {
    if !how.custom.is_empty() {
        refuse(what, "aggregates", "name scorers: `cv(5).scoring(\"r2\")`", at);
    }
    if how.method.is_some() {
        refuse(what, "`method`", "`cross_val_predict` takes it", at);
    }
}

#[inline(never)]
fn curve(training: Training, (param, values): (&str, Grid), how: Cv, at: Span) -> Frame {
    scorers_only("validation_curve", &how, &at);
    if let Grid::Uniform(..) | Grid::LogUniform(..) = values {
        refuse("validation_curve", "a distribution", "name the values: `[0.1, 1.0, 10.0]`", &at);
    }
    let (fit, param) = (training.fit(), param.to_string());
    let Cv { splitter, scoring, .. } = how;
    let request = Request::ValidationCurve { fit, cv: splitter, scoring, param, values, at: Some(at.clone()) };
    let batch = session::rows_of(&request, at.clone());
    crate::handle::send(&batch, at)
}

/// The numbers of training rows of a [`learning_curve`]. Made by [`train_sizes`], or from a list.
#[derive(Clone, Debug)]
#[must_use]
pub struct TrainSizes {
    wire: onrush_wire::learn::TrainSizes,
}

/// Numbers of training rows, or shares of them: `train_sizes([0.1, 0.5, 1.0]).shuffle(true)`.
#[track_caller]
pub fn train_sizes<T: IntoTrainSize>(sizes: impl IntoIterator<Item = T>) -> TrainSizes {
    let sizes = sizes.into_iter().map(IntoTrainSize::into_train_size).collect();
    TrainSizes { wire: onrush_wire::learn::TrainSizes { sizes, shuffle: false, random_state: 0 } }
}

impl TrainSizes {
    /// Whether the training rows of each fold are shuffled before the first ones are taken.
    pub fn shuffle(mut self, shuffle: bool) -> Self {
        self.wire.shuffle = shuffle;
        self
    }

    /// The seed of the shuffling. The rows are those of scikit-learn for the same seed.
    pub fn random_state(mut self, seed: u32) -> Self {
        self.wire.random_state = seed;
        self
    }
}

/// A number of rows, or a share of them from 0 to 1.
pub trait IntoTrainSize {
    #[doc(hidden)]
    fn into_train_size(self) -> Size;
}

impl IntoTrainSize for f64 {
    fn into_train_size(self) -> Size {
        Size::Share(self)
    }
}

impl IntoTrainSize for usize {
    fn into_train_size(self) -> Size {
        Size::Rows(self)
    }
}

impl IntoTrainSize for i32 {
    fn into_train_size(self) -> Size {
        Size::Rows(usize::try_from(self).unwrap_or(0))
    }
}

/// Sizes or options: the numbers that [`learning_curve`] takes.
pub trait IntoTrainSizes {
    #[doc(hidden)]
    fn into_train_sizes(self) -> TrainSizes;
}

impl IntoTrainSizes for TrainSizes {
    fn into_train_sizes(self) -> TrainSizes {
        self
    }
}

impl<T: IntoTrainSize, const N: usize> IntoTrainSizes for [T; N] {
    fn into_train_sizes(self) -> TrainSizes {
        train_sizes(self)
    }
}

impl<T: IntoTrainSize> IntoTrainSizes for Vec<T> {
    fn into_train_sizes(self) -> TrainSizes {
        train_sizes(self)
    }
}

/// Trains on the first rows of each training set, and scores (`sklearn.model_selection.learning_curve`): whether more
/// rows would help.
///
/// The frame has a row for each number of rows and fold. Its columns are `train_size`, `fold`, `fit_time`,
/// `score_time`, `test_score` and `train_score`; several scorers give `test_<scorer>` and `train_<scorer>`. Sizes are
/// numbers of rows, or shares of the training rows of the first fold.
///
/// ```text
/// let curve = learning_curve(&Ridge::new(), &houses, "price", [0.1, 0.33, 1.0], cv(5));
/// curve.group_by("train_size").agg(x!(train = train_score.mean(), test = test_score.mean()))
///     .plot().line("train_size", ["train", "test"]);
/// ```
///
/// Rows that are sorted by their target are shuffled first: `train_sizes([0.1, 1.0]).shuffle(true).random_state(3)`.
///
/// Raises if a size does not fit the rows, and for aggregates as scorers.
#[track_caller]
pub fn learning_curve(
    estimator: &(impl Estimator + ?Sized),
    frame: &Frame,
    target: impl IntoTarget,
    train_sizes: impl IntoTrainSizes,
    how: impl IntoCv,
) -> Frame {
    let at = here("learning_curve");
    let (how, sizes) = (how.into_cv(), train_sizes.into_train_sizes());
    scorers_only("learning_curve", &how, &at);
    by_size(Training::of(estimator, frame, target, &at), sizes, how, at)
}

#[inline(never)]
fn by_size(training: Training, sizes: TrainSizes, how: Cv, at: Span) -> Frame {
    let Cv { splitter, scoring, .. } = how;
    let (fit, sizes) = (training.fit(), sizes.wire);
    let request = Request::LearningCurve { fit, cv: splitter, scoring, sizes, at: Some(at.clone()) };
    let batch = session::rows_of(&request, at.clone());
    crate::handle::send(&batch, at)
}

/// A column of ours with the classes of a target that is an expression or holds floats.
const CLASSES: &str = "__onrush_classes";

/// The folds on which an estimator is scored. The estimator decides whether [`Splitter::Auto`] stratifies, and the
/// target may be an expression.
fn folds_for(
    spec: &Spec,
    frame: &Frame,
    target: &Tree,
    splitter: &Splitter,
    at: &Span,
) -> Box<dyn Iterator<Item = (Frame, Frame)>> {
    let groups = spec.groups.as_deref();
    let is_classifier = spec.is_classifier();
    let splitter = match (splitter.clone(), is_classifier) {
        (Splitter::Auto { n_splits }, true) => Splitter::StratifiedKFold { n_splits, shuffle: false, random_state: 0 },
        (Splitter::Auto { n_splits }, false) => Splitter::KFold { n_splits, shuffle: false, random_state: 0 },
        (other, _) => other,
    };
    if !is_classifier {
        return Box::new(folds_of(frame, splitter, None, groups, at));
    }
    let is_float = |frame: &Frame, name: &str| {
        let field = frame.schema().fields.into_iter().find(|field| field.name == name);
        field.is_some_and(|field| matches!(field.dtype, DataType::Float32 | DataType::Float64))
    };
    if let ExprKind::Column(name) = &target.kind
        && !is_float(frame, name)
    {
        return Box::new(folds_of(frame, splitter, Some(name), groups, at));
    }
    let with = |frame: &Frame, expr: Tree| {
        Frame::step(Op::WithColumns { input: frame.id(), exprs: vec![expr.alias(CLASSES)] }, at.clone())
    };
    let mut whole = with(frame, model::without_alias(target.clone()));
    if is_float(&whole, CLASSES) {
        let value = Box::new(Tree::column(CLASSES));
        whole = with(&whole, Tree::new(ExprKind::Cast { value, to: DataType::Int64, strict: false }));
    }
    let folds = folds_of(&whole, splitter, Some(CLASSES), groups, at);
    let at = at.clone();
    let without =
        move |side: Frame| Frame::step(Op::Drop { input: side.id(), columns: vec![CLASSES.to_string()] }, at.clone());
    Box::new(folds.map(move |(train, test)| (without(train), without(test))))
}

/// Scores that are aggregates: each fold is a frame, and the aggregate runs on its predictions.
#[inline(never)]
fn by_aggregates(training: &Training, how: &Cv, at: &Span) -> Frame {
    let Training { spec, frame, target, eval } = training;
    let refuse = |message: &str, help: &str| -> ! {
        raise(Diagnostic::error(Class::Plan, "scoring", message).at(at.clone(), "").help(help))
    };
    if !how.scoring.is_empty() {
        refuse("aggregates and names of scorers are in one `scoring`", "call `cross_validate` for each of the two");
    }
    if how.train_score {
        refuse("aggregates score the test rows alone", "leave out `.return_train_score(true)`");
    }
    // An aggregate names the target: a column of the frame, or the name of the expression.
    let named = matches!(target.kind, ExprKind::Alias(..)).then(|| target.clone());
    let mut rows = Vec::new();
    for (fold, (train, test)) in folds_for(spec, frame, target, &how.splitter, at).enumerate() {
        // As in the session: without evaluation sets, a model that stops early is scored on the test rows.
        let eval = match eval.is_empty() && spec.stops_on_eval() {
            true => std::slice::from_ref(&test),
            false => eval.as_slice(),
        };
        let fitted = model::fit_with(spec.clone(), eval, &train, Some(target.clone()), at.clone());
        let scored = fitted.predict_with(&test, named.clone(), at.clone()).select(how.custom.clone());
        let fold = Tree::literal(fold as i64).alias("fold");
        let estimator = Tree::literal(spec.estimator.clone()).alias("model");
        let names = scored.columns().into_iter().map(Tree::column);
        let exprs = [estimator, fold].into_iter().chain(names).collect();
        rows.push(Frame::step(Op::Select { input: scored.id(), exprs }, at.clone()));
    }
    crate::frame::concat(&rows)
}
