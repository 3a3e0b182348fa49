//! Model selection.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! select_estimators {
    ($then:ident) => {
        $then! {
            /// Tries all combinations of parameters by cross-validation, and trains the best one on all rows.
            GridSearchCV: Meta [missing categories] {
                /// The scorer, such as `"roc_auc"`, or a list of scorers. Without one: accuracy for classes, else r2.
                scoring: Any = None, Any;
                /// Whether the best parameters are trained on all rows. Without, the search predicts nothing. With
                /// several scorers the name of the one that decides, which else is the first one.
                refit: Any = true, Any;
                /// Whether unpromising trials end before their last fold (racing, Maron and Moore 1994).
                prune: Bool = false, Any;
                /// Whether the training rows are scored, too.
                return_train_score: Bool = false, Any;
                /// The score of a fold whose training fails: a number, or `"raise"` to end the search. Without one the
                /// trial is `failed` and has no score.
                error_score: Any = None, Any;
            } -> { results: Frame, best_score: Float, best_index: Int, best_params: Frame }

            /// Tries some combinations of parameters by cross-validation, and trains the best one on all rows.
            RandomizedSearchCV: Meta [missing categories] {
                /// How many combinations are tried.
                n_iter: Int = 10, Within(1.0, 1_000_000.0);
                /// The scorer, such as `"roc_auc"`, or a list of scorers. Without one: accuracy for classes, else r2.
                scoring: Any = None, Any;
                /// Whether the best parameters are trained on all rows. Without, the search predicts nothing. With
                /// several scorers the name of the one that decides, which else is the first one.
                refit: Any = true, Any;
                /// The seed of the combinations.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Whether unpromising trials end before their last fold (racing, Maron and Moore 1994).
                prune: Bool = false, Any;
                /// Whether the training rows are scored, too.
                return_train_score: Bool = false, Any;
                /// The score of a fold whose training fails: a number, or `"raise"` to end the search. Without one the
                /// trial is `failed` and has no score.
                error_score: Any = None, Any;
            } -> { results: Frame, best_score: Float, best_index: Int, best_params: Frame }
        }
    };
}
