//! Model selection.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! select_estimators {
    ($then:ident) => {
        $then! {
            /// Tries all combinations of parameters by cross-validation, and trains the best one on all rows.
            GridSearchCV: Meta [missing categories] {
                /// The scorer, such as `"roc_auc"`. Without one: accuracy for classes, else r2.
                scoring: Str = None, Any;
                /// Whether the best parameters are trained on all rows. Without, the search predicts nothing.
                refit: Bool = true, Any;
                /// Whether unpromising trials end before their last fold (racing, Maron and Moore 1994).
                prune: Bool = false, Any;
            } -> { results: Frame, best_score: Float, best_index: Int, best_params: Frame }

            /// Tries some combinations of parameters by cross-validation, and trains the best one on all rows.
            RandomizedSearchCV: Meta [missing categories] {
                /// How many combinations are tried.
                n_iter: Int = 10, Within(1.0, 1_000_000.0);
                /// The scorer, such as `"roc_auc"`. Without one: accuracy for classes, else r2.
                scoring: Str = None, Any;
                /// Whether the best parameters are trained on all rows. Without, the search predicts nothing.
                refit: Bool = true, Any;
                /// The seed of the combinations.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Whether unpromising trials end before their last fold (racing, Maron and Moore 1994).
                prune: Bool = false, Any;
            } -> { results: Frame, best_score: Float, best_index: Int, best_params: Frame }
        }
    };
}
