//! Models of other libraries.

/// Calls `$then!` with the entries of this family. XGBoost's three have the parameters of its Python package; one
/// without a default here has the library's.
///
/// `foreign_estimators!(@shared $then $name)` calls `$then!` with the parameters that the three share.
#[macro_export]
macro_rules! foreign_estimators {
    ($then:ident) => {
        $crate::foreign_estimators! { @parameters @xgboost $then }
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
                /// `eval_set`.
                early_stopping_rounds: Int = None, AtLeast(1.0);
                /// Parameters of the library that have no method here: pairs of a name and a value.
                extra: Any = None, Any;
                /// Seed of random numbers.
                random_state: Int = 0, Within(0.0, 2147483647.0);
            }
        }
    };
    (@xgboost $then:ident { $($shared:tt)* }) => {
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
        }
    };
}
