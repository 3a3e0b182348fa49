//! Splitting rows, cross-validation and searches.

use onrush_wire::learn::{Fit, Grid, Param, Part, Size, Spec, Splitter};
use onrush_wire::plan::{Op, Split, SplitPart};
use onrush_wire::session::{Reply, Request};
use onrush_wire::{Class, DataType, Diagnostic, Expr as Tree, ExprKind, Span};

use super::model::{self, FittedModel, IntoTarget, Model};
use super::{Estimator, SupervisedEstimator};
use crate::expr::Expr;
use crate::frame::{Frame, IntoSampleSize};
use crate::raise::{here, raise};
use crate::session;

/// How [`train_test_split`] divides rows. Made by [`split`].
#[derive(Clone, Debug)]
#[must_use]
pub struct SplitOptions {
    test: Option<Size>,
    train: Option<Size>,
    shuffle: bool,
    stratify: Option<String>,
    random_state: u32,
}

#[track_caller]
fn size(value: impl IntoSampleSize, what: &str) -> Size {
    match value.into_sample_size() {
        Ok(onrush_wire::plan::SampleSize::Rows(rows)) => Size::Rows(rows as usize),
        Ok(onrush_wire::plan::SampleSize::Fraction(share)) => Size::Share(share),
        Err(message) => raise(Diagnostic::error(Class::Plan, "argument", message).at(here(what), "")),
    }
}

/// A split with this share or number of test rows: `split(0.25)`, `split(100)`.
#[track_caller]
pub fn split(test_size: impl IntoSampleSize) -> SplitOptions {
    SplitOptions { test: Some(size(test_size, "split")), train: None, shuffle: true, stratify: None, random_state: 0 }
}

impl SplitOptions {
    /// The share or number of training rows. Without it, all other rows.
    #[track_caller]
    pub fn train_size(mut self, value: impl IntoSampleSize) -> Self {
        self.train = Some(size(value, "train_size"));
        self
    }

    /// Whether rows are shuffled first.
    pub fn shuffle(mut self, shuffle: bool) -> Self {
        self.shuffle = shuffle;
        self
    }

    /// The column whose shares both sides keep.
    pub fn stratify(mut self, column: &str) -> Self {
        self.stratify = Some(column.to_string());
        self
    }

    /// The seed. The rows are those of scikit-learn for the same seed.
    pub fn random_state(mut self, seed: u32) -> Self {
        self.random_state = seed;
        self
    }
}

/// Training and test rows: `let (train, test) = train_test_split(&f, split(0.25).stratify("y"));`
#[track_caller]
pub fn train_test_split(frame: &Frame, options: SplitOptions) -> (Frame, Frame) {
    let at = here("train_test_split");
    let SplitOptions { test, train, shuffle, stratify, random_state } = options;
    let split = Split::TrainTest { test_size: test, train_size: train, shuffle, stratify, random_state };
    both(frame, &split, &at)
}

fn both(frame: &Frame, split: &Split, at: &Span) -> (Frame, Frame) {
    let side = |part| Frame::step(Op::Split { input: frame.id(), split: split.clone(), part }, at.clone());
    (side(SplitPart::Train), side(SplitPart::Test))
}

/// Something that divides rows into folds.
pub trait Folds {
    #[doc(hidden)]
    fn splitter(&self) -> Splitter;
}

impl Folds for Splitter {
    fn splitter(&self) -> Splitter {
        self.clone()
    }
}

impl<F: Folds> Folds for &F {
    fn splitter(&self) -> Splitter {
        (**self).splitter()
    }
}

/// A number of folds.
impl Folds for usize {
    fn splitter(&self) -> Splitter {
        Splitter::Auto { n_splits: *self }
    }
}

impl Folds for i32 {
    fn splitter(&self) -> Splitter {
        Splitter::Auto { n_splits: usize::try_from(*self).unwrap_or(0) }
    }
}

macro_rules! splitters {
    ($(
        $(#[$doc:meta])*
        $name:ident { $($(#[$about:meta])* $field:ident: $t:ty = $default:expr),* };
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[must_use]
        pub struct $name { $($field: $t),* }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default),* }
            }
        }

        impl Folds for $name {
            fn splitter(&self) -> Splitter {
                let $name { $($field),* } = self.clone();
                Splitter::$name { $($field: $field.into()),* }
            }
        }

        impl $name {
            $(
                $(#[$about])*
                pub fn $field(mut self, value: $t) -> Self {
                    self.$field = value;
                    self
                }
            )*
        }
    )*};
}

splitters! {
    /// Consecutive folds, or shuffled ones.
    KFold {
        /// Number of folds.
        n_splits: usize = 5,
        /// Whether the rows are shuffled before they are divided.
        shuffle: bool = false,
        /// The seed of the shuffling. The folds are those of scikit-learn for the same seed.
        random_state: u32 = 0
    };
    /// Folds with the same shares of classes.
    StratifiedKFold {
        /// Number of folds.
        n_splits: usize = 5,
        /// Whether the rows are shuffled before they are divided.
        shuffle: bool = false,
        /// The seed of the shuffling. The folds are those of scikit-learn for the same seed.
        random_state: u32 = 0
    };
    /// Folds in which the rows of a group stay together.
    GroupKFold {
        /// Number of folds.
        n_splits: usize = 5
    };
    /// Several times [`KFold`], each shuffled anew.
    RepeatedKFold {
        /// Number of folds.
        n_splits: usize = 5,
        /// Number of repetitions.
        n_repeats: usize = 10,
        /// The seed of the shuffling. The folds are those of scikit-learn for the same seed.
        random_state: u32 = 0
    };
    /// Several times [`StratifiedKFold`], each shuffled anew.
    RepeatedStratifiedKFold {
        /// Number of folds.
        n_splits: usize = 5,
        /// Number of repetitions.
        n_repeats: usize = 10,
        /// The seed of the shuffling. The folds are those of scikit-learn for the same seed.
        random_state: u32 = 0
    };
}

macro_rules! counted {
    ($($name:ident),*) => {$(
        impl $name {
            /// With this many folds.
            pub fn new(n_splits: usize) -> Self {
                Self::default().n_splits(n_splits)
            }
        }
    )*};
}
counted!(KFold, StratifiedKFold, GroupKFold, RepeatedKFold, RepeatedStratifiedKFold);

/// Each test set is predicted by a model trained on the rows before it.
#[derive(Clone, Debug)]
#[must_use]
pub struct TimeSeriesSplit {
    n_splits: usize,
    gap: usize,
    test_size: Option<usize>,
    max_train_size: Option<usize>,
}

impl TimeSeriesSplit {
    /// With this many folds.
    pub fn new(n_splits: usize) -> Self {
        TimeSeriesSplit { n_splits, gap: 0, test_size: None, max_train_size: None }
    }

    /// Rows that are left out before each test set.
    pub fn gap(mut self, rows: usize) -> Self {
        self.gap = rows;
        self
    }

    /// Rows of each test set.
    pub fn test_size(mut self, rows: usize) -> Self {
        self.test_size = Some(rows);
        self
    }

    /// Rows of each training set at most.
    pub fn max_train_size(mut self, rows: usize) -> Self {
        self.max_train_size = Some(rows);
        self
    }
}

impl Folds for TimeSeriesSplit {
    fn splitter(&self) -> Splitter {
        let TimeSeriesSplit { n_splits, gap, test_size, max_train_size } = self.clone();
        Splitter::TimeSeriesSplit { n_splits, gap, test_size, max_train_size }
    }
}

/// Each row is a test set.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeaveOneOut;

impl Folds for LeaveOneOut {
    fn splitter(&self) -> Splitter {
        Splitter::LeaveOneOut
    }
}

macro_rules! shuffled {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[must_use]
        pub struct $name {
            n_splits: usize,
            test_size: Size,
            train_size: Option<Size>,
            random_state: u32,
        }

        impl $name {
            /// With this many splits, each with a tenth of the rows as test rows.
            pub fn new(n_splits: usize) -> Self {
                $name { n_splits, test_size: Size::Share(0.1), train_size: None, random_state: 0 }
            }

            /// The share or number of test rows.
            #[track_caller]
            pub fn test_size(mut self, value: impl IntoSampleSize) -> Self {
                self.test_size = size(value, "test_size");
                self
            }

            /// The share or number of training rows. Without it, all other rows.
            #[track_caller]
            pub fn train_size(mut self, value: impl IntoSampleSize) -> Self {
                self.train_size = Some(size(value, "train_size"));
                self
            }

            /// The seed. The rows are those of scikit-learn for the same seed.
            pub fn random_state(mut self, seed: u32) -> Self {
                self.random_state = seed;
                self
            }
        }

        impl Folds for $name {
            fn splitter(&self) -> Splitter {
                let $name { n_splits, test_size, train_size, random_state } = self.clone();
                Splitter::$name { n_splits, test_size, train_size, random_state }
            }
        }
    )*};
}
shuffled! {
    /// Random splits, each independent of the others.
    ShuffleSplit,
    /// Random splits that keep the shares of classes.
    StratifiedShuffleSplit
}

/// How [`cross_validate`] divides rows and scores. Made by [`cv`], or from a splitter.
#[derive(Clone, Debug)]
#[must_use]
pub struct Cv {
    splitter: Splitter,
    scoring: Vec<String>,
    custom: Vec<Expr>,
    train_score: bool,
}

/// Cross-validation with this many folds, or by a splitter: `cv(5).scoring("roc_auc")`.
pub fn cv(folds: impl Folds) -> Cv {
    Cv { splitter: folds.splitter(), scoring: Vec::new(), custom: Vec::new(), train_score: false }
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

    /// Whether the training rows are scored, too.
    pub fn return_train_score(mut self, yes: bool) -> Self {
        self.train_score = yes;
        self
    }
}

/// A splitter or options: what [`cross_validate`] takes.
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
/// Raises if aggregates come together with names of scorers or with the scores of the training rows.
#[track_caller]
pub fn cross_validate(
    estimator: &(impl Estimator + ?Sized),
    frame: &Frame,
    target: impl IntoTarget,
    how: impl IntoCv,
) -> Frame {
    let at = here("cross_validate");
    let (spec, target, how) = (model::spec_of(estimator, &at), target.into_target(), how.into_cv());
    match how.custom.is_empty() {
        true => validated(spec, frame, target, how, at),
        false => by_aggregates(&spec, frame, &target, &how, &at),
    }
}

#[inline(never)]
fn validated(spec: Spec, frame: &Frame, target: Tree, how: Cv, at: Span) -> Frame {
    let fit = Fit { spec, frame: frame.id(), target: Some(target), eval: Vec::new() };
    let Cv { splitter, scoring, train_score, .. } = how;
    let request = Request::CrossValidate { fit, cv: splitter, scoring, train_score, at: Some(at.clone()) };
    let batch = session::rows_of(&request, at.clone());
    crate::handle::send(&batch, at)
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
    let (spec, target, values) = (model::spec_of(estimator, &at), target.into_target(), values.into_grid());
    curve(spec, frame, target, (param, values), how.into_cv(), at)
}

#[inline(never)]
fn curve(spec: Spec, frame: &Frame, target: Tree, (param, values): (&str, Grid), how: Cv, at: Span) -> Frame {
    let refused = |found: &str, help: &str| -> ! {
        let message = format!("`validation_curve` does not take {found}");
        raise(Diagnostic::error(Class::Plan, "argument", message).help(help).at(at.clone(), ""))
    };
    if !how.custom.is_empty() {
        refused("aggregates", "name scorers: `cv(5).scoring(\"r2\")`");
    }
    if let Grid::Uniform(..) | Grid::LogUniform(..) = values {
        refused("a distribution", "name the values: `[0.1, 1.0, 10.0]`");
    }
    let fit = Fit { spec, frame: frame.id(), target: Some(target), eval: Vec::new() };
    let param = param.to_string();
    let Cv { splitter, scoring, .. } = how;
    let request = Request::ValidationCurve { fit, cv: splitter, scoring, param, values, at: Some(at.clone()) };
    let batch = session::rows_of(&request, at.clone());
    crate::handle::send(&batch, at)
}

/// Training and test rows of each fold, made one after the other. Rows are counted only for a splitter that makes a
/// fold for each.
fn folds_of(
    frame: &Frame,
    splitter: Splitter,
    target: Option<&str>,
    groups: Option<&str>,
    at: &Span,
) -> impl Iterator<Item = (Frame, Frame)> + use<> {
    let rows = if splitter == Splitter::LeaveOneOut { frame.height() } else { 0 };
    let folds = splitter.n_splits(rows);
    if folds == 0 {
        raise(Diagnostic::error(Class::Plan, "split", "the splitter makes 0 folds: at least 1").at(at.clone(), ""));
    }
    let (target, groups) = (target.map(str::to_string), groups.map(str::to_string));
    let (frame, at) = (frame.clone(), at.clone());
    (0..folds).map(move |fold| {
        let (splitter, target, groups) = (splitter.clone(), target.clone(), groups.clone());
        both(&frame, &Split::Fold { splitter, fold, target, groups }, &at)
    })
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
fn by_aggregates(spec: &Spec, frame: &Frame, target: &Tree, how: &Cv, at: &Span) -> Frame {
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
        let fitted = model::fit(spec, &train, Some(target.clone()), at.clone());
        let scored = fitted.predict_with(&test, named.clone(), at.clone()).select(how.custom.clone());
        let fold = Tree::literal(fold as i64).alias("fold");
        let estimator = Tree::literal(spec.estimator.clone()).alias("model");
        let names = scored.columns().into_iter().map(Tree::column);
        let exprs = [estimator, fold].into_iter().chain(names).collect();
        rows.push(Frame::step(Op::Select { input: scored.id(), exprs }, at.clone()));
    }
    crate::frame::concat(&rows)
}

/// The values of a parameter that a search tries: a list, a range of integers, [`uniform`] or [`log_uniform`].
pub trait IntoGrid {
    #[doc(hidden)]
    fn into_grid(self) -> Grid;
}

impl IntoGrid for Grid {
    fn into_grid(self) -> Grid {
        self
    }
}

impl<T: Into<Param>, const N: usize> IntoGrid for [T; N] {
    fn into_grid(self) -> Grid {
        Grid::List(self.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Param>> IntoGrid for Vec<T> {
    fn into_grid(self) -> Grid {
        Grid::List(self.into_iter().map(Into::into).collect())
    }
}

macro_rules! ranges {
    ($($t:ty),*) => {$(
        impl IntoGrid for std::ops::RangeInclusive<$t> {
            fn into_grid(self) -> Grid {
                Grid::Integers(*self.start() as i64, *self.end() as i64)
            }
        }

        impl IntoGrid for std::ops::Range<$t> {
            fn into_grid(self) -> Grid {
                Grid::Integers(self.start as i64, self.end as i64 - 1)
            }
        }
    )*};
}
ranges!(i32, i64, usize);

/// Numbers from `low` to `high`, all as likely.
pub fn uniform(low: impl Into<f64>, high: impl Into<f64>) -> Grid {
    Grid::Uniform(low.into(), high.into())
}

/// Numbers from `low` to `high`, uniform in their logarithm.
pub fn log_uniform(low: impl Into<f64>, high: impl Into<f64>) -> Grid {
    Grid::LogUniform(low.into(), high.into())
}

macro_rules! searches {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        #[must_use]
        pub struct $name {
            spec: Spec,
            eval: Vec<Frame>,
        }

        impl $name {
            /// A search over parameters of this estimator.
            pub fn new(estimator: impl SupervisedEstimator) -> Self {
                let (mut inner, eval) = (estimator.spec(), estimator.eval_frames());
                let (features, weight, groups) = (inner.features.take(), inner.weight.take(), inner.groups.take());
                let part = Part { name: "estimator".to_string(), columns: Vec::new(), spec: inner };
                let spec = Spec { parts: vec![part], features, weight, groups, ..Spec::new(stringify!($name)) };
                $name { spec, eval }
            }

            /// The values of a parameter. The path goes through the steps of a pipeline: `"ridge__alpha"` or
            /// `"ridge.alpha"`.
            pub fn param(mut self, path: &str, values: impl IntoGrid) -> Self {
                self.spec.grid.push((path.to_string(), values.into_grid()));
                self
            }

            /// Folds: a number, or a splitter.
            pub fn cv(mut self, folds: impl Folds) -> Self {
                self.spec.cv = Some(folds.splitter());
                self
            }

            /// The scorer by its name in scikit-learn: `"roc_auc"`, `"neg_mean_squared_error"`.
            pub fn scoring(mut self, scoring: &str) -> Self {
                self.spec.set("scoring", scoring);
                self
            }

            /// Whether the best parameters are trained on all rows. Without, the search predicts nothing.
            pub fn refit(mut self, yes: bool) -> Self {
                self.spec.set("refit", yes);
                self
            }

            /// Whether unpromising trials end before their last fold (racing, Maron and Moore 1994).
            pub fn prune(mut self, yes: bool) -> Self {
                self.spec.set("prune", yes);
                self
            }

            /// The column of groups, for folds by group.
            pub fn groups(mut self, column: &str) -> Self {
                self.spec.groups = Some(column.to_string());
                self
            }

            /// Tries the parameters, and trains the best on all rows. Stopped in the middle, it keeps the best so far.
            #[track_caller]
            pub fn fit(&self, frame: &Frame, target: impl IntoTarget) -> FittedModel<$name> {
                FittedModel::new(model::fit(self, frame, Some(target.into_target()), here("fit")))
            }
        }

        impl Estimator for $name {
            fn spec(&self) -> Spec {
                self.spec.clone()
            }

            fn eval_frames(&self) -> Vec<Frame> {
                self.eval.clone()
            }
        }

        impl SupervisedEstimator for $name {}

        impl FittedModel<$name> {
            /// A row for each trial: its parameters, scores by fold, mean, standard deviation and rank.
            #[track_caller]
            pub fn results(&self) -> Frame {
                model::attribute(self, "results", here("results"))
            }

            /// The parameters of the best trial: `name`, `value`.
            #[track_caller]
            pub fn best_params(&self) -> Frame {
                model::attribute(self, "best_params", here("best_params"))
            }

            /// The mean score of the best trial.
            #[track_caller]
            pub fn best_score(&self) -> f64 {
                model::float(self, "best_score", here("best_score"))
            }

            /// The row of the best trial in [`Self::results`].
            #[track_caller]
            pub fn best_index(&self) -> usize {
                model::float(self, "best_index", here("best_index")) as usize
            }

            /// The model with the best parameters, trained on all rows.
            pub fn best_model(&self) -> Model {
                (**self).clone()
            }
        }
    )*};
}
searches! {
    /// Tries all combinations of the values.
    GridSearchCV,
    /// Tries combinations at random: [`RandomizedSearchCV::n_iter`] of them.
    RandomizedSearchCV
}

impl RandomizedSearchCV {
    /// The number of trials.
    pub fn n_iter(mut self, trials: usize) -> Self {
        self.spec.set("n_iter", trials);
        self
    }

    /// The seed.
    pub fn random_state(mut self, seed: u32) -> Self {
        self.spec.set("random_state", seed);
        self
    }
}

/// Mean silhouette coefficient of all rows, from -1 to 1. `label` is the column of clusters; all other columns of
/// numbers are the features.
#[track_caller]
pub fn silhouette_score(frame: &Frame, label: &str) -> f64 {
    let at = here("silhouette_score");
    let request =
        Request::ClusterScore { frame: frame.id(), label: label.to_string(), score: "silhouette".to_string() };
    match session::expect(&request, at.clone()) {
        Reply::Value { value: onrush_wire::Value::Float(value), .. } => value,
        other => session::unexpected(&other, at),
    }
}

/// A frame's folds: training and test rows of each.
pub trait SplitFrame: Folds {
    /// Training and test rows of each fold. `target` is needed by splitters that stratify.
    #[track_caller]
    fn split(&self, frame: &Frame, target: Option<&str>) -> Vec<(Frame, Frame)> {
        folds_of(frame, self.splitter(), target, None, &here("split")).collect()
    }

    /// Training and test rows of each fold, for splitters by group. `groups` is the column of groups.
    #[track_caller]
    fn split_groups(&self, frame: &Frame, groups: &str) -> Vec<(Frame, Frame)> {
        folds_of(frame, self.splitter(), None, Some(groups), &here("split_groups")).collect()
    }
}

impl<F: Folds> SplitFrame for F {}
