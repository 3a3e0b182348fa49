//! Boosting by gradients.

/// Calls `$then!` with the entries of this family. Parameters that both estimators share are written once.
#[macro_export]
macro_rules! ensemble_estimators {
    ($then:ident) => {
        $crate::ensemble_estimators! {
            @with $then
            [rounds
                /// Learning rate (shrinkage) applied to each tree.
                learning_rate: Float = 0.1, AtLeast(0.0);
                /// The largest number of rounds. Each one adds a tree, or for more than two classes one for each class.
                n_estimators: Int = 100, AtLeast(1.0);
                /// Share of the rows that are drawn for each round, without replacement.
                subsample: Float = 1.0, Within(0.0, 1.0);
                /// The measure of a split. Kept for scikit-learn's signature.
                criterion: Str = "squared_error", OneOf(&["squared_error", "friedman_mse"]);
                /// Rows that a node must have to be split: a number, or a share below 1.
                min_samples_split: Any = 2, Any;
                /// Rows that each leaf must have: a number, or a share below 1.
                min_samples_leaf: Any = 1, Any;
                /// Share of all weights that each leaf must have.
                min_weight_fraction_leaf: Float = 0.0, Within(0.0, 0.5);
                /// The largest depth of a tree. `None`: no limit.
                max_depth: Any = 3, AtLeast(1.0);
                /// The least weighted decrease of impurity of a split.
                min_impurity_decrease: Float = 0.0, AtLeast(0.0);
                /// The prediction before the first round. `None`: the best constant. `zero`: 0.
                init: Str = None, OneOf(&["zero"]);
                /// The seed. The drawn rows are those of scikit-learn.
                random_state: Int = 0, Within(0.0, 4294967295.0);
                /// Features that are drawn for each split: a number, a share up to 1.0, `sqrt`, `log2`, or `None` for
                /// all.
                max_features: Any = None, Any;
            ]
            [stop
                /// The largest number of leaves; the best split of all is taken first. `None`: no limit.
                max_leaf_nodes: Int = None, AtLeast(2.0);
                /// Share of the rows that early stopping does not train on.
                validation_fraction: Float = 0.1, Within(0.0, 1.0);
                /// Rounds after which a loss that no longer improves ends the training. `None`: all rounds.
                n_iter_no_change: Int = None, AtLeast(1.0);
                /// The least improvement of the loss.
                tol: Float = 1e-4, AtLeast(0.0);
                /// Cost-complexity pruning: subtrees that gain less for each leaf become leaves.
                ccp_alpha: Float = 0.0, AtLeast(0.0);
                /// The largest number of bins of a feature. Not in scikit-learn.
                max_bins: Int = 255, Within(2.0, 255.0);
            ]
        }
    };
    (@with $then:ident
     [rounds $($rounds:tt)*]
     [stop $($stop:tt)*]) => {
        $then! {
            /// Gradient boosting of regression trees for classes (Friedman 2001): one tree a round for two classes,
            /// else one for each class. Features are binned to at most `max_bins` values, exactly if they have no more.
            GradientBoostingClassifier: Classifier [] {
                /// The loss: `log_loss`, or `exponential` for two classes, as AdaBoost.
                loss: Str = "log_loss", OneOf(&["log_loss", "exponential"]);
                $($rounds)*
                $($stop)*
            } -> {
                feature_importances: Frame, train_score: Frame, oob_improvement: Frame, oob_score: Float,
                n_estimators: Int
            }

            /// Gradient boosting of regression trees for numbers (Friedman 2001). Features are binned to at most
            /// `max_bins` values, exactly if they have no more.
            GradientBoostingRegressor: Regressor [] {
                /// The loss.
                loss: Str = "squared_error", OneOf(&["squared_error", "absolute_error", "huber", "quantile"]);
                $($rounds)*
                /// The quantile of the losses `huber` and `quantile`.
                alpha: Float = 0.9, Within(0.0, 1.0);
                $($stop)*
            } -> {
                feature_importances: Frame, train_score: Frame, oob_improvement: Frame, oob_score: Float,
                n_estimators: Int
            }
        }
    };
}
