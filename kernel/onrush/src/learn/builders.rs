//! A builder for each estimator of the table: parameters as methods, `fit`, and the attributes of what it fits.

use onrush_wire::learn::{Param, Spec};

use super::model::{self, FittedModel, IntoTarget};
use super::{Estimator, SupervisedEstimator, UnsupervisedEstimator};
use crate::expr::IntoExprs;
use crate::frame::Frame;
use crate::raise::here;

/// Makes the builders of a family.
macro_rules! builders {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident: $kind:ident [$($flag:ident)*] {
            $( $(#[doc = $param_doc:literal])* $param:ident: $dtype:ident = $default:tt, $check:expr; )*
        } -> { $( $attribute:ident: $attribute_type:ident ),* $(,)? }
    )*) => {$(
        builder! {
            @$kind
            [$(#[doc = $doc])*] $name
            { $( [$(#[doc = $param_doc])*] $param $dtype )* }
            { $( $attribute $attribute_type )* }
        }
    )*};
}

macro_rules! builder {
    // Made by hand.
    (@Meta $($rest:tt)*) => {};
    (
        @$kind:ident
        [$($doc:tt)*] $name:ident
        { $( [$($param_doc:tt)*] $param:ident $dtype:ident )* }
        { $( $attribute:ident $attribute_type:ident )* }
    ) => {
        $($doc)*
        #[derive(Clone)]
        #[must_use]
        pub struct $name {
            spec: Spec,
            eval: Vec<Frame>,
        }

        impl $name {
            /// The estimator with scikit-learn's defaults.
            pub fn new() -> Self {
                $name { spec: Spec::new(stringify!($name)), eval: Vec::new() }
            }

            $( setter!([$($param_doc)*] $param $dtype); )*
            common!();
            fits!($kind $name);
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
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

        /// The estimator with the parameters that were set.
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&model::shown(&self.spec))
            }
        }

        marker!($kind $name);

        impl FittedModel<$name> {
            $( attribute!($attribute $attribute_type); )*
        }
    };
}

macro_rules! setter {
    // The parameter `param` of `GenericUnivariateSelect` is set by the method that sets any parameter.
    ([$($doc:tt)*] param Any) => {};
    ([$($doc:tt)*] $param:ident Float) => {
        $($doc)*
        pub fn $param(mut self, value: impl Into<f64>) -> Self {
            self.spec.set(stringify!($param), value.into());
            self
        }
    };
    ([$($doc:tt)*] $param:ident Int) => {
        $($doc)*
        pub fn $param(mut self, value: usize) -> Self {
            self.spec.set(stringify!($param), value);
            self
        }
    };
    ([$($doc:tt)*] $param:ident Bool) => {
        $($doc)*
        pub fn $param(mut self, value: bool) -> Self {
            self.spec.set(stringify!($param), value);
            self
        }
    };
    ([$($doc:tt)*] $param:ident Str) => {
        $($doc)*
        pub fn $param(mut self, value: &str) -> Self {
            self.spec.set(stringify!($param), value);
            self
        }
    };
    ([$($doc:tt)*] $param:ident Floats) => {
        $($doc)*
        pub fn $param(mut self, values: impl IntoIterator<Item = f64>) -> Self {
            self.spec.set(stringify!($param), values.into_iter().collect::<Vec<f64>>());
            self
        }
    };
    ([$($doc:tt)*] $param:ident Strs) => {
        $($doc)*
        pub fn $param(mut self, values: impl crate::expr::IntoColumns) -> Self {
            self.spec.set(stringify!($param), values.into_columns());
            self
        }
    };
    ([$($doc:tt)*] $param:ident Any) => {
        $($doc)*
        pub fn $param(mut self, value: impl Into<Param>) -> Self {
            self.spec.set(stringify!($param), value.into());
            self
        }
    };
}

/// The methods of all estimators.
macro_rules! common {
    () => {
        /// The features: names, expressions, or `numeric().exclude("id")`. Without this call, all columns but the
        /// target. The expressions belong to the model: it computes them in any frame that has their columns.
        pub fn features(mut self, features: impl IntoExprs) -> Self {
            self.spec.features = Some(features.into_exprs());
            self
        }

        /// The column of weights of rows.
        pub fn sample_weight(mut self, column: &str) -> Self {
            self.spec.weight = Some(column.to_string());
            self
        }

        /// The column of groups: rows of one group stay together in folds, and are ranked together.
        pub fn groups(mut self, column: &str) -> Self {
            self.spec.groups = Some(column.to_string());
            self
        }

        /// A frame with the same columns, on which a boosted model is scored after each round. Without one, a model
        /// that stops early is scored on the test rows of its fold in cross-validation and in searches.
        pub fn eval_set(mut self, frame: &Frame) -> Self {
            self.eval.push(frame.clone());
            self
        }

        /// Sets a parameter by its name, as a search does.
        pub fn param(mut self, name: &str, value: impl Into<Param>) -> Self {
            self.spec.set(name, value.into());
            self
        }
    };
}

macro_rules! fits {
    (Regressor $name:ident) => { fits!(@supervised $name); };
    (Classifier $name:ident) => { fits!(@supervised $name); };
    // No `fit_transform`: the target would leak into the rows that it was learnt from, unless these were cross-fitted.
    (SupervisedTransformer $name:ident) => { fits!(@supervised $name); };
    (Transformer $name:ident) => {
        fits!(@alone $name);

        /// Trains, and gives the frame with the new columns in place of the features.
        #[track_caller]
        pub fn fit_transform(&self, frame: &Frame) -> Frame {
            let at = here("fit_transform");
            model::fit_transformed(&model::fit(self, frame, None, at.clone()), frame, at)
        }
    };
    (Clusterer $name:ident) => {
        fits!(@alone $name);

        /// Trains, and gives the frame with the column `label`: the cluster of each row, -1 for noise.
        #[track_caller]
        pub fn fit_predict(&self, frame: &Frame) -> Frame {
            let at = here("fit_predict");
            model::labelled(&model::fit(self, frame, None, at.clone()), frame, at)
        }
    };
    (Index $name:ident) => { fits!(@alone $name); };
    (@supervised $name:ident) => {
        /// Trains on the rows of `frame`. The target is a column or an expression.
        ///
        /// Raises if a parameter or a column is not what the estimator takes.
        #[track_caller]
        pub fn fit(&self, frame: &Frame, target: impl IntoTarget) -> FittedModel<$name> {
            FittedModel::new(model::fit(self, frame, Some(target.into_target()), here("fit")))
        }
    };
    (@alone $name:ident) => {
        /// Trains on the rows of `frame`.
        ///
        /// Raises if a parameter or a column is not what the estimator takes.
        #[track_caller]
        pub fn fit(&self, frame: &Frame) -> FittedModel<$name> {
            FittedModel::new(model::fit(self, frame, None, here("fit")))
        }
    };
}

macro_rules! marker {
    (Regressor $name:ident) => {
        impl SupervisedEstimator for $name {}
    };
    (Classifier $name:ident) => {
        impl SupervisedEstimator for $name {}
    };
    (SupervisedTransformer $name:ident) => {
        impl SupervisedEstimator for $name {}
    };
    ($other:ident $name:ident) => {
        impl UnsupervisedEstimator for $name {}
    };
}

macro_rules! attribute {
    ($name:ident Frame) => {
        #[doc = concat!("The attribute `", stringify!($name), "` as a frame.")]
        #[track_caller]
        pub fn $name(&self) -> Frame {
            model::attribute(self, stringify!($name), here(stringify!($name)))
        }
    };
    ($name:ident Float) => {
        #[doc = concat!("The attribute `", stringify!($name), "`.")]
        #[track_caller]
        pub fn $name(&self) -> f64 {
            model::float(self, stringify!($name), here(stringify!($name)))
        }
    };
    ($name:ident Int) => {
        #[doc = concat!("The attribute `", stringify!($name), "`.")]
        #[track_caller]
        pub fn $name(&self) -> usize {
            model::float(self, stringify!($name), here(stringify!($name))) as usize
        }
    };
    ($name:ident Strs) => {
        #[doc = concat!("The attribute `", stringify!($name), "`.")]
        #[track_caller]
        pub fn $name(&self) -> Vec<String> {
            model::strings(self, stringify!($name), here(stringify!($name)))
        }
    };
}

onrush_wire::linear_estimators!(builders);
onrush_wire::cluster_estimators!(builders);
onrush_wire::decomposition_estimators!(builders);
onrush_wire::neighbors_estimators!(builders);
onrush_wire::tree_estimators!(builders);
onrush_wire::prepare_estimators!(builders);
onrush_wire::foreign_estimators!(builders);
onrush_wire::mixture_estimators!(builders);
onrush_wire::manifold_estimators!(builders);
onrush_wire::kernel_method_estimators!(builders);
onrush_wire::sampler_estimators!(builders);
onrush_wire::svm_estimators!(builders);
onrush_wire::neural_estimators!(builders);
onrush_wire::ensemble_estimators!(builders);
onrush_wire::text_estimators!(builders);
onrush_wire::feature_selection_estimators!(builders);
