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
                /// How many trainings run at the same time, -1 for one on each thread. Without a number, as many as
                /// there are threads for up to 20,000 rows, else one. Results do not depend on it.
                n_jobs: Any = None, Any;
                /// The file of the study. Each complete trial is a line of it. A search of the same estimator, values,
                /// folds and rows continues with the trials that are there.
                study: Str = None, Any;
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
                /// How many trainings run at the same time, -1 for one on each thread. Without a number, as many as
                /// there are threads for up to 20,000 rows, else one. Results do not depend on it.
                n_jobs: Any = None, Any;
                /// The file of the study. Each complete trial is a line of it. A search of the same estimator, values,
                /// folds and rows continues with the trials that are there.
                study: Str = None, Any;
            } -> { results: Frame, best_score: Float, best_index: Int, best_params: Frame }

            /// Tries combinations that the tree-structured Parzen estimator proposes (Bergstra et al. 2011), by
            /// cross-validation, and trains the best one on all rows. Formulas and defaults are those of Optuna 5.
            TpeSearchCV: Meta [missing categories] {
                /// How many combinations are tried.
                n_iter: Int = 50, Within(1.0, 1_000_000.0);
                /// How many of them are random, at the start.
                n_startup_trials: Int = 10, AtLeast(1.0);
                /// How many draws each proposal is chosen from.
                n_ei_candidates: Int = 24, Within(1.0, 1_000_000.0);
                /// Whether the parameters are drawn together. Otherwise each one is drawn by its own densities.
                multivariate: Bool = true, Any;
                /// The seed of the proposals.
                random_state: Int = None, Within(0.0, 4294967295.0);
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
                /// How many trainings run at the same time, -1 for one on each thread. Without a number, as many as
                /// there are threads for up to 20,000 rows, else one. Results do not depend on it.
                n_jobs: Any = None, Any;
                /// The file of the study. Each complete trial is a line of it. A search of the same estimator, values,
                /// folds and rows continues with the trials that are there.
                study: Str = None, Any;
            } -> { results: Frame, best_score: Float, best_index: Int, best_params: Frame }

            /// Tries all combinations of parameters with few resources, and the best of them with more and more:
            /// successive halving (Karnin et al. 2013). The best one of the last iteration is trained on all rows.
            HalvingGridSearchCV: Meta [missing categories] {
                /// One in so many candidates stays, and its resources grow by this factor.
                factor: Float = 3.0, Above(1.0);
                /// The resource that grows: `"n_samples"`, the number of rows, or the path of a parameter.
                resource: Str = "n_samples", Any;
                /// The most resources of a candidate. `"auto"` is the number of rows.
                max_resources: Any = "auto", Any;
                /// The resources of the first iteration. `"smallest"` is twice the number of folds, times the number
                /// of classes, or 1 for a parameter. `"exhaust"` lets the last iteration have the most resources.
                min_resources: Any = "exhaust", Any;
                /// Whether the first iteration repeats until the remaining candidates fit the resources.
                aggressive_elimination: Bool = false, Any;
                /// The scorer, such as `"roc_auc"`. Without one: accuracy for classes, else r2.
                scoring: Any = None, Any;
                /// Whether the best parameters are trained on all rows. Without, the search predicts nothing.
                refit: Any = true, Any;
                /// The seed of the rows.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Whether the training rows are scored, too.
                return_train_score: Bool = true, Any;
                /// The score of a fold whose training fails: a number, or `"raise"` to end the search. Without one the
                /// trial is `failed` and has no score.
                error_score: Any = None, Any;
                /// How many trainings run at the same time, -1 for one on each thread. Without a number, as many as
                /// there are threads for up to 20,000 rows, else one. Results do not depend on it.
                n_jobs: Any = None, Any;
            } -> { results: Frame, best_score: Float, best_index: Int, best_params: Frame, iterations: Frame }

            /// Tries some combinations of parameters with few resources, and the best of them with more and more:
            /// successive halving (Karnin et al. 2013). The best one of the last iteration is trained on all rows.
            HalvingRandomSearchCV: Meta [missing categories] {
                /// How many combinations are tried first. `"exhaust"`: as many as let the last iteration have the most
                /// resources.
                n_candidates: Any = "exhaust", Any;
                /// One in so many candidates stays, and its resources grow by this factor.
                factor: Float = 3.0, Above(1.0);
                /// The resource that grows: `"n_samples"`, the number of rows, or the path of a parameter.
                resource: Str = "n_samples", Any;
                /// The most resources of a candidate. `"auto"` is the number of rows.
                max_resources: Any = "auto", Any;
                /// The resources of the first iteration. `"smallest"` is twice the number of folds, times the number
                /// of classes, or 1 for a parameter. `"exhaust"` lets the last iteration have the most resources.
                min_resources: Any = "smallest", Any;
                /// Whether the first iteration repeats until the remaining candidates fit the resources.
                aggressive_elimination: Bool = false, Any;
                /// The scorer, such as `"roc_auc"`. Without one: accuracy for classes, else r2.
                scoring: Any = None, Any;
                /// Whether the best parameters are trained on all rows. Without, the search predicts nothing.
                refit: Any = true, Any;
                /// The seed of the rows and of the combinations.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Whether the training rows are scored, too.
                return_train_score: Bool = true, Any;
                /// The score of a fold whose training fails: a number, or `"raise"` to end the search. Without one the
                /// trial is `failed` and has no score.
                error_score: Any = None, Any;
                /// How many trainings run at the same time, -1 for one on each thread. Without a number, as many as
                /// there are threads for up to 20,000 rows, else one. Results do not depend on it.
                n_jobs: Any = None, Any;
            } -> { results: Frame, best_score: Float, best_index: Int, best_params: Frame, iterations: Frame }
        }
    };
}
