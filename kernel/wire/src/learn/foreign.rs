//! Models of other libraries.

/// Calls `$then!` with the entries of this family. They have the parameters of the libraries' Python packages; one
/// without a default here has the library's.
///
/// `foreign_estimators!(@shared $then $name)` calls `$then!` with the parameters that XGBoost's three share.
#[macro_export]
macro_rules! foreign_estimators {
    ($then:ident) => {
        $crate::foreign_estimators! { @parameters @lightgbm_parameters @catboost_parameters @all $then }
    };
    (@shared $then:ident $name:ident) => {
        $crate::foreign_estimators! { @parameters @struct $then $name }
    };
    (@struct $then:ident $name:ident { $($shared:tt)* }) => {
        $then! { $name { $($shared)* } }
    };
    (@parameters $($next:tt)*) => {
        $crate::foreign_estimators! {
            $($next)* {
                /// Rounds of boosting.
                n_estimators: Int = 100, Within(0.0, 10_000_000.0);
                /// Depth of a tree at most. 0 means no limit. The library's default is 6.
                max_depth: Int = None, AtLeast(0.0);
                /// Leaves of a tree at most. 0 means no limit.
                max_leaves: Int = None, AtLeast(0.0);
                /// Bins of a feature for `hist` and `approx`. The library's default is 256.
                max_bin: Int = None, AtLeast(2.0);
                /// `depthwise`: split the node nearest to the root first. `lossguide`: split the node with the
                /// largest gain first.
                grow_policy: Str = None, OneOf(&["depthwise", "lossguide"]);
                /// Factor of each tree's values. The library's default is 0.3.
                learning_rate: Float = None, AtLeast(0.0);
                /// Base learner. The library's default is `gbtree`. `gblinear` trains by coordinate descent, which
                /// repeats.
                booster: Str = None, OneOf(&["gbtree", "gblinear", "dart"]);
                /// How splits are found. The library's default is `hist`.
                tree_method: Str = None, OneOf(&["auto", "exact", "approx", "hist"]);
                /// Gain that a split needs at least.
                gamma: Float = None, AtLeast(0.0);
                /// Sum of second derivatives in a child at least. The library's default is 1.
                min_child_weight: Float = None, AtLeast(0.0);
                /// The largest step of a leaf. 0 means no limit.
                max_delta_step: Float = None, AtLeast(0.0);
                /// Share of the rows that a tree sees.
                subsample: Float = None, Within(0.0, 1.0);
                /// Share of the features that a tree sees.
                colsample_bytree: Float = None, Within(0.0, 1.0);
                /// Share of a tree's features that a level sees.
                colsample_bylevel: Float = None, Within(0.0, 1.0);
                /// Share of a level's features that a split sees.
                colsample_bynode: Float = None, Within(0.0, 1.0);
                /// Strength of the l1 penalty on the values of leaves.
                reg_alpha: Float = None, AtLeast(0.0);
                /// Strength of the l2 penalty on the values of leaves. The library's default is 1.
                reg_lambda: Float = None, AtLeast(0.0);
                /// Weight of the second class.
                scale_pos_weight: Float = None, AtLeast(0.0);
                /// Prediction before the first tree, on the target's scale. The library's default comes from the
                /// target.
                base_score: Float = None, Any;
                /// Trees of a round.
                num_parallel_tree: Int = None, AtLeast(1.0);
                /// Whether predictions rise (1), fall (-1) or may do both (0) with each feature: a list, or pairs of a
                /// feature and a sign.
                monotone_constraints: Any = None, Any;
                /// Lists of features that may stand in a branch together.
                interaction_constraints: Any = None, Any;
                /// Whether columns of strings are taken, and split as categories.
                enable_categorical: Bool = true, Any;
                /// Categories below which each one is split from the others alone. The library's default is 4.
                max_cat_to_onehot: Int = None, AtLeast(1.0);
                /// A metric, or a list of metrics, for `eval_set`. The library's default comes from the objective.
                eval_metric: Any = None, Any;
                /// Rounds without a better score after which training stops: by the last metric on the last frame of
                /// `eval_set`. Without one, folds of a cross-validation or of a search score their test rows.
                early_stopping_rounds: Int = None, AtLeast(1.0);
                /// Parameters of the library that have no method here: pairs of a name and a value.
                extra: Any = None, Any;
                /// Seed of random numbers.
                random_state: Int = 0, Within(0.0, 2147483647.0);
            }
        }
    };
    (@lightgbm_parameters $($next:tt)*) => {
        $crate::foreign_estimators! {
            $($next)* {
                /// Columns of numbers that are categories, by name. Strings are categories in any case.
                categorical_feature: Any = "auto", Any;
                /// `gbdt`, `dart`, or `rf`: a random forest, which needs `subsample` and `subsample_freq`.
                boosting_type: Str = "gbdt", OneOf(&["gbdt", "dart", "rf"]);
                /// Leaves of a tree at most.
                num_leaves: Int = 31, Within(2.0, 131072.0);
                /// Depth of a tree at most. 0 and `None` mean no limit.
                max_depth: Int = None, AtLeast(0.0);
                /// Factor of each tree's values.
                learning_rate: Float = 0.1, Above(0.0);
                /// Rounds of boosting.
                n_estimators: Int = 100, AtLeast(1.0);
                /// Rows from which the bins of the features are made.
                subsample_for_bin: Int = 200000, AtLeast(1.0);
                /// Gain that a split needs at least.
                min_split_gain: Float = 0.0, AtLeast(0.0);
                /// Sum of second derivatives in a child at least.
                min_child_weight: Float = 0.001, AtLeast(0.0);
                /// Rows in a child at least.
                min_child_samples: Int = 20, AtLeast(0.0);
                /// Share of the rows that a tree sees, if `subsample_freq` is not 0.
                subsample: Float = 1.0, Within(0.0, 1.0);
                /// Rounds after which the rows are drawn again. 0: all rows are seen.
                subsample_freq: Int = 0, AtLeast(0.0);
                /// Share of the features that a tree sees.
                colsample_bytree: Float = 1.0, Within(0.0, 1.0);
                /// Strength of the l1 penalty on the values of leaves.
                reg_alpha: Float = 0.0, AtLeast(0.0);
                /// Strength of the l2 penalty on the values of leaves.
                reg_lambda: Float = 0.0, AtLeast(0.0);
                /// `feature_importances`: how often a feature splits, or the sum of its gains.
                importance_type: Str = "split", OneOf(&["split", "gain"]);
                /// A metric, or a list of metrics, for `eval_set`, which come before the objective's.
                eval_metric: Any = None, Any;
                /// Rounds without a better score after which training stops: by any metric on any frame of
                /// `eval_set`.
                early_stopping_rounds: Int = None, AtLeast(1.0);
                /// Parameters of the library that have no method here: pairs of a name and a value.
                extra: Any = None, Any;
                /// Seed of random numbers. `None`: the library's seeds.
                random_state: Int = None, Within(0.0, 2147483647.0);
            }
        }
    };
    (@catboost_parameters $($next:tt)*) => {
        $crate::foreign_estimators! {
            $($next)* {
                /// Columns of numbers that are categories, by name. Strings are categories in any case.
                cat_features: Any = None, Any;
                /// Trees at most.
                iterations: Int = 1000, AtLeast(1.0);
                /// Factor of each tree's values. The library's default depends on the rows and the trees.
                learning_rate: Float = None, Above(0.0);
                /// Depth of a tree. The library's default is 6.
                depth: Int = None, Within(1.0, 16.0);
                /// Strength of the l2 penalty on the values of leaves. The library's default is 3.
                l2_leaf_reg: Float = None, AtLeast(0.0);
                /// Loss, such as `MAE` or `Quantile:alpha=0.9`. The library's default comes from the target.
                loss_function: Str = None, Any;
                /// The metric for `eval_set`. The library's default comes from the loss.
                eval_metric: Str = None, Any;
                /// Rounds without a better score after which training stops.
                early_stopping_rounds: Int = None, AtLeast(1.0);
                /// Whether the trees after the best round are left out. The library's default is to do so if there
                /// is an `eval_set`.
                use_best_model: Any = None, Any;
                /// Borders of a feature at most. The library's default is 254.
                border_count: Int = None, Within(1.0, 65535.0);
                /// `SymmetricTree`: all nodes of a level have one split. `Depthwise` and `Lossguide`: each has its own.
                grow_policy: Str = None, OneOf(&["SymmetricTree", "Depthwise", "Lossguide"]);
                /// Rows in a leaf at least, for trees that are not symmetric.
                min_data_in_leaf: Int = None, AtLeast(1.0);
                /// Leaves of a tree at most, for `Lossguide`.
                max_leaves: Int = None, AtLeast(2.0);
                /// `Plain`, or `Ordered` against leaks of the target. The library's default depends on the rows.
                boosting_type: Str = None, OneOf(&["Plain", "Ordered"]);
                /// How the rows of a tree are drawn.
                bootstrap_type: Str = None, OneOf(&["Bayesian", "Bernoulli", "MVS", "No"]);
                /// Share of the rows that a tree sees, for `Bernoulli` and `MVS`.
                subsample: Float = None, Within(0.0, 1.0);
                /// Spread of the weights of `Bayesian`. The library's default is 1.
                bagging_temperature: Float = None, AtLeast(0.0);
                /// Share of the features that a split sees.
                rsm: Float = None, Within(0.0, 1.0);
                /// Noise of the scores of splits. The library's default is 1.
                random_strength: Float = None, AtLeast(0.0);
                /// Categories up to which each one is split from the others alone. The library's default is 2 for
                /// most data.
                one_hot_max_size: Int = None, AtLeast(0.0);
                /// Whether missing values are below or above all others, or refused. The library's default is `Min`.
                nan_mode: Str = None, OneOf(&["Min", "Max", "Forbidden"]);
                /// Steps that find the values of leaves.
                leaf_estimation_iterations: Int = None, AtLeast(1.0);
                /// Parameters of the library that have no method here: pairs of a name and a value.
                extra: Any = None, Any;
                /// Seed of random numbers.
                random_seed: Int = 0, Within(0.0, 2147483647.0);
            }
        }
    };
    (@all $then:ident { $($shared:tt)* } { $($lightgbm:tt)* } { $($catboost:tt)* }) => {
        $then! {
            /// Boosted trees by XGBoost's own library, for classes.
            XGBClassifier: Classifier [missing categories] {
                /// Loss: `binary:logistic` or `binary:hinge` for two classes, `multi:softprob` for more.
                objective: Str = "binary:logistic", Any;
                $($shared)*
            } -> {
                best_iteration: Int, best_score: Float, n_iter: Int,
                feature_importances: Frame, evals_result: Frame,
            }

            /// Boosted trees by XGBoost's own library, for numbers.
            XGBRegressor: Regressor [missing categories] {
                /// Loss, such as `reg:absoluteerror` or `count:poisson`.
                objective: Str = "reg:squarederror", Any;
                $($shared)*
            } -> {
                best_iteration: Int, best_score: Float, n_iter: Int,
                feature_importances: Frame, evals_result: Frame,
            }

            /// Boosted trees by XGBoost's own library that rank the rows of a group. Predictions are scores; the
            /// highest row is the first.
            XGBRanker: Regressor [missing categories] {
                /// Loss: `rank:ndcg`, `rank:pairwise` or `rank:map`.
                objective: Str = "rank:ndcg", Any;
                $($shared)*
            } -> {
                best_iteration: Int, best_score: Float, n_iter: Int,
                feature_importances: Frame, evals_result: Frame,
            }

            /// Boosted trees by LightGBM's own library, in a process of the active Python, for classes.
            LGBMClassifier: Classifier [missing categories] {
                /// Loss: `binary` for two classes, `multiclass` or `multiclassova` for more.
                objective: Str = None, Any;
                /// Weights of classes: `balanced`, or a list in their order.
                class_weight: Any = None, Any;
                $($lightgbm)*
            } -> {
                best_iteration: Int, best_score: Frame, n_iter: Int,
                feature_importances: Frame, evals_result: Frame,
            }

            /// Boosted trees by LightGBM's own library, in a process of the active Python, for numbers.
            LGBMRegressor: Regressor [missing categories] {
                /// Loss, such as `regression_l1` or `poisson`. The default is `regression`, squared errors.
                objective: Str = None, Any;
                $($lightgbm)*
            } -> {
                best_iteration: Int, best_score: Frame, n_iter: Int,
                feature_importances: Frame, evals_result: Frame,
            }

            /// Boosted trees by LightGBM's own library that rank the rows of a group. Predictions are scores; the
            /// highest row is the first.
            LGBMRanker: Regressor [missing categories] {
                /// Loss: `lambdarank` or `rank_xendcg`.
                objective: Str = "lambdarank", OneOf(&["lambdarank", "rank_xendcg"]);
                /// Places of a group up to which `ndcg` and `map` look. The default is 1 to 5.
                eval_at: Any = None, Any;
                $($lightgbm)*
            } -> {
                best_iteration: Int, best_score: Frame, n_iter: Int,
                feature_importances: Frame, evals_result: Frame,
            }

            /// Boosted trees by CatBoost's own library, in a process of the active Python, for classes.
            CatBoostClassifier: Classifier [missing categories] {
                /// Weights of classes: a list in their order.
                class_weights: Any = None, Any;
                /// Weights of classes by their counts.
                auto_class_weights: Str = None, OneOf(&["Balanced", "SqrtBalanced"]);
                $($catboost)*
            } -> {
                best_iteration: Int, best_score: Frame, n_iter: Int,
                feature_importances: Frame, evals_result: Frame,
            }

            /// Boosted trees by CatBoost's own library, in a process of the active Python, for numbers.
            CatBoostRegressor: Regressor [missing categories] {
                $($catboost)*
            } -> {
                best_iteration: Int, best_score: Frame, n_iter: Int,
                feature_importances: Frame, evals_result: Frame,
            }
        }
    };
}
