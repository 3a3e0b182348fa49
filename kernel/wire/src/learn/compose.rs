//! Estimators made of estimators.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! compose_estimators {
    ($then:ident) => {
        $then! {
            /// Steps in a row: each is trained on the outputs of the step before. All but the last one transform. The
            /// attributes, bars and curves are those of the last step.
            ///
            /// Sample weights go to every step that takes them.
            Pipeline: Meta [missing categories] {} -> {}

            /// Transformers for different columns, side by side. Two outputs of one name are an error.
            ColumnTransformer: Meta [missing categories] {
                /// Treatment of columns that no transformer takes: they are left out, or come last as they are.
                remainder: Str = "drop", OneOf(&["drop", "passthrough"]);
            } -> {}

            /// Transformers of the same columns, side by side. Two outputs of one name are an error.
            FeatureUnion: Meta [missing categories] {} -> {}

            /// A regressor of a function of the target. Predictions are transformed back.
            TransformedTargetRegressor: Regressor [missing categories] {
                /// The function: the natural logarithm, the logarithm of 1 + y, or the square root. None: the target as
                /// it is.
                func: Str = None, OneOf(&["log", "log1p", "sqrt"]);
            } -> {}
        }
    };
}
