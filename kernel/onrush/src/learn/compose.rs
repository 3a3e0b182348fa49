//! Estimators that are made of others: pipelines, transformers of columns, a transformed target.

use std::marker::PhantomData;

use onrush_wire::learn::{Part, Spec};
use onrush_wire::{Class, Diagnostic, Span};

use super::model::{self, FittedModel, IntoTarget};
use super::{Estimator, SupervisedEstimator, UnsupervisedEstimator};
use crate::expr::{IntoColumns, IntoExprs};
use crate::frame::Frame;
use crate::raise::{here, raise};

/// Several estimators, or one: a tuple such as `(StandardScaler::new(), PCA::new())`.
pub trait IntoSteps {
    /// The last of them.
    type Last;

    #[doc(hidden)]
    fn into_steps(self, at: &Span) -> Vec<Spec>;
}

impl<E: Estimator> IntoSteps for E {
    type Last = E;

    fn into_steps(self, at: &Span) -> Vec<Spec> {
        vec![step(&self, at)]
    }
}

/// The specification of an estimator inside of another one. Raises if it has evaluation sets, which would be lost.
fn step(estimator: &impl Estimator, at: &Span) -> Spec {
    let spec = estimator.spec();
    if !estimator.eval_frames().is_empty() {
        let message = format!("`eval_set` of a step: `{}` sees only what the step before it makes", spec.estimator);
        raise(
            Diagnostic::error(Class::Plan, "eval-set", message)
                .at(at.clone(), "")
                .help("give it to the pipeline, whose steps transform it, too: `make_pipeline((..)).eval_set(&frame)`"),
        );
    }
    spec
}

macro_rules! steps {
    ($($($name:ident)* => $last:ident;)*) => {$(
        #[allow(non_snake_case)]
        impl<$($name: Estimator),*> IntoSteps for ($($name,)*) {
            type Last = $last;

            fn into_steps(self, at: &Span) -> Vec<Spec> {
                let ($($name,)*) = self;
                vec![$(step(&$name, at)),*]
            }
        }
    )*};
}
steps! {
    A => A;
    A B => B;
    A B C => C;
    A B C D => D;
    A B C D E => E;
    A B C D E F => F;
}

/// Steps with scikit-learn's names.
fn named(steps: Vec<Spec>) -> Vec<Part> {
    let part = |spec| Part { name: String::new(), columns: Vec::new(), spec };
    let mut parts: Vec<Part> = steps.into_iter().map(part).collect();
    name(&mut parts);
    parts
}

/// Gives parts scikit-learn's names: the estimator in lower case, numbered where it occurs twice.
pub(super) fn name(parts: &mut [Part]) {
    let names: Vec<String> = parts.iter().map(|part| part.spec.estimator.to_lowercase()).collect();
    for (i, part) in parts.iter_mut().enumerate() {
        let of_name = |names: &[String]| names.iter().filter(|name| **name == names[i]).count();
        part.name = match of_name(&names) {
            1 => names[i].clone(),
            _ => format!("{}-{}", names[i], of_name(&names[..=i])),
        };
    }
}

/// One specification of one step or several.
fn joined(mut steps: Vec<Spec>) -> Spec {
    match steps.len() {
        1 => steps.remove(0),
        _ => Spec { parts: named(steps), ..Spec::new("Pipeline") },
    }
}

/// Transformers one after the other, and an estimator at the end. Made by [`make_pipeline`].
#[must_use]
pub struct Pipeline<L> {
    spec: Spec,
    eval: Vec<Frame>,
    last: PhantomData<fn() -> L>,
}

impl<L> Clone for Pipeline<L> {
    fn clone(&self) -> Self {
        Pipeline { spec: self.spec.clone(), eval: self.eval.clone(), last: PhantomData }
    }
}

/// A pipeline of steps: `make_pipeline((StandardScaler::new(), LogisticRegression::new()))`. A step gets what the step
/// before it makes.
///
/// Raises if a step has an `eval_set`: [`Pipeline::eval_set`] takes it.
#[track_caller]
pub fn make_pipeline<S: IntoSteps>(steps: S) -> Pipeline<S::Last> {
    let parts = named(steps.into_steps(&here("make_pipeline")));
    Pipeline { spec: Spec { parts, ..Spec::new("Pipeline") }, eval: Vec::new(), last: PhantomData }
}

/// Methods that every estimator made of others has.
macro_rules! common {
    () => {
        /// The features: names, expressions, or `numeric().exclude("id")`. Without this call, all columns but the
        /// target.
        pub fn features(mut self, features: impl IntoExprs) -> Self {
            self.spec.features = Some(features.into_exprs());
            self
        }

        /// The column of weights of rows.
        pub fn sample_weight(mut self, column: &str) -> Self {
            self.spec.weight = Some(column.to_string());
            self
        }

        /// The column of groups, for folds by group.
        pub fn groups(mut self, column: &str) -> Self {
            self.spec.groups = Some(column.to_string());
            self
        }
    };
}

/// The training of transformers of which one learns from a target.
macro_rules! fit_supervised {
    () => {
        /// Trains on the rows of `frame`, if a transformer inside learns from a target, as
        /// [`TargetEncoder`](super::TargetEncoder) does. The target is a column or an expression.
        #[track_caller]
        pub fn fit_supervised(&self, frame: &Frame, target: impl IntoTarget) -> FittedModel<Self> {
            FittedModel::new(model::fit(self, frame, Some(target.into_target()), here("fit_supervised")))
        }
    };
}

impl<L> Pipeline<L> {
    common!();

    /// A frame with the same columns, on which a boosted model at the end is scored after each round. The other steps
    /// transform its rows.
    pub fn eval_set(mut self, frame: &Frame) -> Self {
        self.eval.push(frame.clone());
        self
    }
}

impl<L> Estimator for Pipeline<L> {
    fn spec(&self) -> Spec {
        self.spec.clone()
    }

    fn eval_frames(&self) -> Vec<Frame> {
        self.eval.clone()
    }
}

impl<L: SupervisedEstimator> SupervisedEstimator for Pipeline<L> {}
impl<L: UnsupervisedEstimator> UnsupervisedEstimator for Pipeline<L> {}

impl<L: SupervisedEstimator + 'static> Pipeline<L> {
    /// Trains on the rows of `frame`. The target is a column or an expression.
    #[track_caller]
    pub fn fit(&self, frame: &Frame, target: impl IntoTarget) -> FittedModel<Pipeline<L>> {
        FittedModel::new(model::fit(self, frame, Some(target.into_target()), here("fit")))
    }
}

impl<L: UnsupervisedEstimator + 'static> Pipeline<L> {
    /// Trains on the rows of `frame`, which need no target.
    #[track_caller]
    pub fn fit_unsupervised(&self, frame: &Frame) -> FittedModel<Pipeline<L>> {
        FittedModel::new(model::fit(self, frame, None, here("fit_unsupervised")))
    }

    fit_supervised!();

    /// Trains, and gives the frame with the columns of the last step in place of the features.
    #[track_caller]
    pub fn fit_transform(&self, frame: &Frame) -> Frame {
        let at = here("fit_transform");
        model::fit_transformed(&model::fit(self, frame, None, at.clone()), frame, at)
    }

    /// Trains, and gives the frame with the column `label` of the last step, a clustering.
    #[track_caller]
    pub fn fit_predict(&self, frame: &Frame) -> Frame {
        let at = here("fit_predict");
        model::labelled(&model::fit(self, frame, None, at.clone()), frame, at)
    }
}

/// Transforms columns by name, each group with its own transformers. Unnamed columns do not reach later steps of a
/// pipeline. `transform` leaves them in the frame unchanged.
#[derive(Clone)]
#[must_use]
pub struct ColumnTransformer {
    spec: Spec,
}

impl Default for ColumnTransformer {
    fn default() -> Self {
        Self::new()
    }
}

impl ColumnTransformer {
    /// Without columns yet.
    pub fn new() -> Self {
        ColumnTransformer { spec: Spec::new("ColumnTransformer") }
    }

    /// Transforms these columns: with one estimator, or with several one after the other in a tuple.
    #[track_caller]
    pub fn on(mut self, columns: impl IntoColumns, transformers: impl IntoSteps) -> Self {
        let spec = joined(transformers.into_steps(&here("on")));
        self.spec.parts.push(Part { name: String::new(), columns: columns.into_columns(), spec });
        name(&mut self.spec.parts);
        self
    }

    /// Whether unnamed columns are left out (`"drop"`), or reach later steps as they are (`"passthrough"`).
    pub fn remainder(mut self, what: &str) -> Self {
        self.spec.set("remainder", what);
        self
    }

    common!();

    /// Trains on the rows of `frame`.
    #[track_caller]
    pub fn fit(&self, frame: &Frame) -> FittedModel<ColumnTransformer> {
        FittedModel::new(model::fit(self, frame, None, here("fit")))
    }

    fit_supervised!();

    /// Trains, and gives the frame with the new columns in place of the features.
    #[track_caller]
    pub fn fit_transform(&self, frame: &Frame) -> Frame {
        let at = here("fit_transform");
        model::fit_transformed(&model::fit(self, frame, None, at.clone()), frame, at)
    }
}

impl Estimator for ColumnTransformer {
    fn spec(&self) -> Spec {
        self.spec.clone()
    }
}

impl UnsupervisedEstimator for ColumnTransformer {}

/// Transformers side by side on the same features. Made by [`make_union`].
#[derive(Clone)]
#[must_use]
pub struct FeatureUnion {
    spec: Spec,
}

/// The columns of several transformers side by side: `make_union((PCA::new(), StandardScaler::new()))`.
#[track_caller]
pub fn make_union(transformers: impl IntoSteps) -> FeatureUnion {
    let parts = named(transformers.into_steps(&here("make_union")));
    FeatureUnion { spec: Spec { parts, ..Spec::new("FeatureUnion") } }
}

impl FeatureUnion {
    common!();

    /// Trains on the rows of `frame`.
    #[track_caller]
    pub fn fit(&self, frame: &Frame) -> FittedModel<FeatureUnion> {
        FittedModel::new(model::fit(self, frame, None, here("fit")))
    }

    fit_supervised!();

    /// Trains, and gives the frame with the new columns in place of the features.
    #[track_caller]
    pub fn fit_transform(&self, frame: &Frame) -> Frame {
        let at = here("fit_transform");
        model::fit_transformed(&model::fit(self, frame, None, at.clone()), frame, at)
    }
}

impl Estimator for FeatureUnion {
    fn spec(&self) -> Spec {
        self.spec.clone()
    }
}

impl UnsupervisedEstimator for FeatureUnion {}

/// A regressor that is trained on a function of the target. Predictions and scores are in the target's own unit.
#[derive(Clone)]
#[must_use]
pub struct TransformedTargetRegressor {
    spec: Spec,
    eval: Vec<Frame>,
}

impl TransformedTargetRegressor {
    /// `func`: `"log"`, `"log1p"` or `"sqrt"`.
    pub fn new(regressor: impl SupervisedEstimator, func: &str) -> Self {
        let (mut inner, eval) = (regressor.spec(), regressor.eval_frames());
        let (features, weight, groups) = (inner.features.take(), inner.weight.take(), inner.groups.take());
        let part = Part { name: "regressor".to_string(), columns: Vec::new(), spec: inner };
        let spec = Spec { parts: vec![part], features, weight, groups, ..Spec::new("TransformedTargetRegressor") };
        TransformedTargetRegressor { spec: spec.with("func", func), eval }
    }

    common!();

    /// Trains on the rows of `frame`.
    #[track_caller]
    pub fn fit(&self, frame: &Frame, target: impl IntoTarget) -> FittedModel<TransformedTargetRegressor> {
        FittedModel::new(model::fit(self, frame, Some(target.into_target()), here("fit")))
    }
}

impl Estimator for TransformedTargetRegressor {
    fn spec(&self) -> Spec {
        self.spec.clone()
    }

    fn eval_frames(&self) -> Vec<Frame> {
        self.eval.clone()
    }
}

impl SupervisedEstimator for TransformedTargetRegressor {}
