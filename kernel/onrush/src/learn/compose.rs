//! Estimators that are made of others: pipelines, transformers of columns, a transformed target.

use std::marker::PhantomData;

use onrush_wire::learn::{Part, Spec};

use super::model::{self, FittedModel, IntoTarget};
use super::{Estimator, SupervisedEstimator, UnsupervisedEstimator};
use crate::expr::{IntoColumns, IntoExprs};
use crate::frame::Frame;
use crate::raise::here;

/// Several estimators, or one: a tuple such as `(StandardScaler::new(), PCA::new())`.
pub trait IntoSteps {
    /// The last of them.
    type Last;

    #[doc(hidden)]
    fn into_steps(self) -> Vec<Spec>;
}

impl<E: Estimator> IntoSteps for E {
    type Last = E;

    fn into_steps(self) -> Vec<Spec> {
        vec![self.spec()]
    }
}

macro_rules! steps {
    ($($($name:ident)* => $last:ident;)*) => {$(
        #[allow(non_snake_case)]
        impl<$($name: Estimator),*> IntoSteps for ($($name,)*) {
            type Last = $last;

            fn into_steps(self) -> Vec<Spec> {
                let ($($name,)*) = self;
                vec![$($name.spec()),*]
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

/// Steps with scikit-learn's names: the estimator in lower case, numbered where it occurs twice.
fn named(steps: Vec<Spec>) -> Vec<Part> {
    let names: Vec<String> = steps.iter().map(|spec| spec.estimator.to_lowercase()).collect();
    let mut parts = Vec::new();
    for (i, spec) in steps.into_iter().enumerate() {
        let twice = names.iter().filter(|name| **name == names[i]).count() > 1;
        let number = names[..=i].iter().filter(|name| **name == names[i]).count();
        let name = if twice { format!("{}-{number}", names[i]) } else { names[i].clone() };
        parts.push(Part { name, columns: Vec::new(), spec });
    }
    parts
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
    last: PhantomData<fn() -> L>,
}

impl<L> Clone for Pipeline<L> {
    fn clone(&self) -> Self {
        Pipeline { spec: self.spec.clone(), last: PhantomData }
    }
}

/// A pipeline of steps: `make_pipeline((StandardScaler::new(), LogisticRegression::new()))`. A step gets what the step before it makes.
pub fn make_pipeline<S: IntoSteps>(steps: S) -> Pipeline<S::Last> {
    Pipeline { spec: Spec { parts: named(steps.into_steps()), ..Spec::new("Pipeline") }, last: PhantomData }
}

/// Methods that every estimator made of others has.
macro_rules! common {
    () => {
        /// The features: names, expressions, or `numeric().exclude("id")`. Without this call, all columns but the target.
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

impl<L> Pipeline<L> {
    common!();
}

impl<L> Estimator for Pipeline<L> {
    fn spec(&self) -> Spec {
        self.spec.clone()
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

    /// Trains, and gives the frame with the columns of the last step in place of the features.
    #[track_caller]
    pub fn fit_transform(&self, frame: &Frame) -> Frame {
        let at = here("fit_transform");
        model::transformed(&model::fit(self, frame, None, at.clone()), frame, at)
    }

    /// Trains, and gives the frame with the column `label` of the last step, a clustering.
    #[track_caller]
    pub fn fit_predict(&self, frame: &Frame) -> Frame {
        let at = here("fit_predict");
        model::labelled(&model::fit(self, frame, None, at.clone()), frame, at)
    }
}

/// Transforms columns by name, each group with its own transformers. Columns that are not named are dropped, as in scikit-learn, unless
/// `remainder("passthrough")` says otherwise.
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
    pub fn on(mut self, columns: impl IntoColumns, transformers: impl IntoSteps) -> Self {
        let spec = joined(transformers.into_steps());
        let name = spec.estimator.to_lowercase();
        let twice =
            self.spec.parts.iter().filter(|p| p.name == name || p.name.starts_with(&format!("{name}-"))).count();
        let name = if twice > 0 { format!("{name}-{}", twice + 1) } else { name };
        self.spec.parts.push(Part { name, columns: columns.into_columns(), spec });
        self
    }

    /// What becomes of columns that are not named: `"drop"` or `"passthrough"`.
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

    /// Trains, and gives the frame with the new columns in place of the features.
    #[track_caller]
    pub fn fit_transform(&self, frame: &Frame) -> Frame {
        let at = here("fit_transform");
        model::transformed(&model::fit(self, frame, None, at.clone()), frame, at)
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
pub fn make_union(transformers: impl IntoSteps) -> FeatureUnion {
    FeatureUnion { spec: Spec { parts: named(transformers.into_steps()), ..Spec::new("FeatureUnion") } }
}

impl FeatureUnion {
    common!();

    /// Trains, and gives the frame with the new columns in place of the features.
    #[track_caller]
    pub fn fit_transform(&self, frame: &Frame) -> Frame {
        let at = here("fit_transform");
        model::transformed(&model::fit(self, frame, None, at.clone()), frame, at)
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
}

impl TransformedTargetRegressor {
    /// `func`: `"log"`, `"log1p"` or `"sqrt"`.
    pub fn new(regressor: impl SupervisedEstimator, func: &str) -> Self {
        let part = Part { name: "regressor".to_string(), columns: Vec::new(), spec: regressor.spec() };
        let features = part.spec.features.clone();
        let spec = Spec { parts: vec![part], features, ..Spec::new("TransformedTargetRegressor") };
        TransformedTargetRegressor { spec: spec.with("func", func) }
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
}

impl SupervisedEstimator for TransformedTargetRegressor {}
