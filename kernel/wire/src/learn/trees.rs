//! Trees, forests and boosting.

/// Calls `$then!` with the entries of this family. Parameters that several estimators share are written once, in
/// groups, because their order is that of scikit-learn's signatures.
#[macro_export]
macro_rules! tree_estimators {
    ($then:ident) => {
        $crate::tree_estimators! {
            @with $then
            [node
                /// The largest depth. `None`: no limit.
                max_depth: Int = None, AtLeast(1.0);
                /// Rows that a node must have to be split: a number, or a share below 1.
                min_samples_split: Any = 2, Any;
                /// Rows that each leaf must have: a number, or a share below 1.
                min_samples_leaf: Any = 1, Any;
                /// Share of all weights that each leaf must have.
                min_weight_fraction_leaf: Float = 0.0, Within(0.0, 0.5);
            ]
            [leaf
                /// The largest number of leaves; the best split of all is taken first. `None`: no limit.
                max_leaf_nodes: Int = None, AtLeast(2.0);
                /// The least weighted decrease of impurity of a split.
                min_impurity_decrease: Float = 0.0, AtLeast(0.0);
            ]
            [seed
                /// The seed.
                random_state: Int = 0, Within(0.0, 4294967295.0);
            ]
            [prune
                /// Cost-complexity pruning: subtrees that gain less for each leaf become leaves.
                ccp_alpha: Float = 0.0, AtLeast(0.0);
            ]
            [class_signs
                /// For each feature 1 (the probability of the second class rises with it), -1 (falls) or 0.
                monotonic_cst: Floats = None, Any;
                /// The largest number of bins of a feature. Not in scikit-learn.
                max_bins: Int = 255, Within(2.0, 255.0);
            ]
            [signs
                /// For each feature 1 (the prediction rises with it), -1 (falls) or 0.
                monotonic_cst: Floats = None, Any;
                /// The largest number of bins of a feature. Not in scikit-learn.
                max_bins: Int = 255, Within(2.0, 255.0);
            ]
            [class_criterion
                /// The measure of a split: `gini`, or `entropy`, which is also called `log_loss`.
                criterion: Str = "gini", OneOf(&["gini", "entropy", "log_loss"]);
            ]
            [criterion
                /// The measure of a split: `squared_error` or `poisson`. `friedman_mse` is `squared_error`.
                criterion: Str = "squared_error",
                    OneOf(&["squared_error", "friedman_mse", "poisson"]);
            ]
            [rows
                /// Rows of a bootstrap sample: a number, or a share. `None`: as many as there are rows.
                max_samples: Any = None, Any;
            ]
            [rounds
                /// Learning rate (shrinkage) applied to each tree.
                learning_rate: Float = 0.1, Above(0.0);
                /// The largest number of rounds. Each one adds a tree, or for more than two classes one for each class.
                max_iter: Int = 100, Within(1.0, 1_000_000.0);
                /// The largest number of leaves of a tree. `None`: no limit.
                max_leaf_nodes: Any = 31, AtLeast(2.0);
                /// The largest depth of a tree. `None`: no limit.
                max_depth: Int = None, AtLeast(1.0);
                /// Rows that each leaf must have.
                min_samples_leaf: Int = 20, AtLeast(1.0);
                /// Penalty on the values of leaves.
                l2_regularization: Float = 0.0, AtLeast(0.0);
                /// Share of the features that are drawn for each split.
                max_features: Float = 1.0, Within(0.0, 1.0);
                /// The largest number of bins of a feature.
                max_bins: Int = 255, Within(2.0, 255.0);
                /// Columns of numbers that are categories, by name. Strings are categories in any case.
                categorical_features: Any = "from_dtype", Any;
            ]
            [stop
                /// Constraints on interactions are not supported: only `None`.
                interaction_cst: Any = None, Any;
                /// Whether rounds end if the loss no longer improves: `true`, `false`, or `auto` for more than 10,000
                /// rows.
                early_stopping: Any = "auto", Any;
                /// The measure of early stopping. Only the loss.
                scoring: Str = "loss", OneOf(&["loss"]);
                /// Rows for early stopping that are not trained on: a share, a number, or `None` to use the training
                /// rows. An evaluation set replaces them.
                validation_fraction: Any = 0.1, Any;
                /// Rounds without improvement after which early stopping ends the training.
                n_iter_no_change: Int = 10, AtLeast(1.0);
                /// The least improvement of the loss.
                tol: Float = 1e-7, AtLeast(0.0);
                /// The seed.
                random_state: Int = 0, Within(0.0, 4294967295.0);
            ]
        }
    };
    (@with $then:ident
     [node $($node:tt)*]
     [leaf $($leaf:tt)*]
     [seed $($seed:tt)*]
     [prune $($prune:tt)*]
     [class_signs $($class_signs:tt)*]
     [signs $($signs:tt)*]
     [class_criterion $($class_criterion:tt)*]
     [criterion $($criterion:tt)*]
     [rows $($rows:tt)*]
     [rounds $($rounds:tt)*]
     [stop $($stop:tt)*]) => {
        $then! {
            /// A decision tree for classes. Features are binned to at most `max_bins` values, exactly if they have no
            /// more.
            DecisionTreeClassifier: Classifier [missing categories] {
                $($class_criterion)*
                /// `best` takes the best threshold of a feature, `random` draws one.
                splitter: Str = "best", OneOf(&["best", "random"]);
                $($node)*
                /// Features that are drawn for each split: a number, a share up to 1.0, `sqrt`, `log2`, or `None` for
                /// all.
                max_features: Any = None, Any;
                $($seed)*
                $($leaf)*
                /// `balanced`, or a weight for each class.
                class_weight: Any = None, Any;
                $($prune)*
                $($class_signs)*
            } -> { feature_importances: Frame, tree: Frame, n_leaves: Int, depth: Int }

            /// A decision tree for numbers. Features are binned to at most `max_bins` values, exactly if they have no
            /// more.
            DecisionTreeRegressor: Regressor [missing categories] {
                $($criterion)*
                /// `best` takes the best threshold of a feature, `random` draws one.
                splitter: Str = "best", OneOf(&["best", "random"]);
                $($node)*
                /// Features that are drawn for each split: a number, a share up to 1.0, `sqrt`, `log2`, or `None` for
                /// all.
                max_features: Any = None, Any;
                $($seed)*
                $($leaf)*
                $($prune)*
                $($signs)*
            } -> { feature_importances: Frame, tree: Frame, n_leaves: Int, depth: Int }

            /// The mean of many decision trees for classes, each on a bootstrap sample and with few features for each
            /// split.
            RandomForestClassifier: Classifier [missing categories] {
                /// Number of trees.
                n_estimators: Int = 100, Within(1.0, 1_000_000.0);
                $($class_criterion)*
                $($node)*
                /// Features that are drawn for each split: a number, a share up to 1.0, `sqrt`, `log2`, or `None` for
                /// all.
                max_features: Any = "sqrt", Any;
                $($leaf)*
                /// Whether each tree has a bootstrap sample of the rows, else all rows.
                bootstrap: Bool = true, Any;
                /// Whether each row is scored by the trees that did not see it.
                oob_score: Bool = false, Any;
                $($seed)*
                /// `balanced`, `balanced_subsample` (in each bootstrap sample), or a weight for each class.
                class_weight: Any = None, Any;
                $($prune)*
                $($rows)*
                $($class_signs)*
            } -> { feature_importances: Frame, oob_score: Float, oob_decision_function: Frame }

            /// The mean of many decision trees for numbers, each on a bootstrap sample.
            RandomForestRegressor: Regressor [missing categories] {
                /// Number of trees.
                n_estimators: Int = 100, Within(1.0, 1_000_000.0);
                $($criterion)*
                $($node)*
                /// Features that are drawn for each split: a number, a share up to 1.0, `sqrt`, `log2`, or `None` for
                /// all.
                max_features: Any = 1.0, Any;
                $($leaf)*
                /// Whether each tree has a bootstrap sample of the rows, else all rows.
                bootstrap: Bool = true, Any;
                /// Whether each row is scored by the trees that did not see it.
                oob_score: Bool = false, Any;
                $($seed)*
                $($prune)*
                $($rows)*
                $($signs)*
            } -> { feature_importances: Frame, oob_score: Float, oob_prediction: Frame }

            /// The mean of many decision trees for classes, each with random thresholds and few features for each
            /// split.
            ExtraTreesClassifier: Classifier [missing categories] {
                /// Number of trees.
                n_estimators: Int = 100, Within(1.0, 1_000_000.0);
                $($class_criterion)*
                $($node)*
                /// Features that are drawn for each split: a number, a share up to 1.0, `sqrt`, `log2`, or `None` for
                /// all.
                max_features: Any = "sqrt", Any;
                $($leaf)*
                /// Whether each tree has a bootstrap sample of the rows, else all rows.
                bootstrap: Bool = false, Any;
                /// Whether each row is scored by the trees that did not see it.
                oob_score: Bool = false, Any;
                $($seed)*
                /// `balanced`, `balanced_subsample` (in each bootstrap sample), or a weight for each class.
                class_weight: Any = None, Any;
                $($prune)*
                $($rows)*
                $($class_signs)*
            } -> { feature_importances: Frame, oob_score: Float, oob_decision_function: Frame }

            /// The mean of many decision trees for numbers, each with random thresholds.
            ExtraTreesRegressor: Regressor [missing categories] {
                /// Number of trees.
                n_estimators: Int = 100, Within(1.0, 1_000_000.0);
                $($criterion)*
                $($node)*
                /// Features that are drawn for each split: a number, a share up to 1.0, `sqrt`, `log2`, or `None` for
                /// all.
                max_features: Any = 1.0, Any;
                $($leaf)*
                /// Whether each tree has a bootstrap sample of the rows, else all rows.
                bootstrap: Bool = false, Any;
                /// Whether each row is scored by the trees that did not see it.
                oob_score: Bool = false, Any;
                $($seed)*
                $($prune)*
                $($rows)*
                $($signs)*
            } -> { feature_importances: Frame, oob_score: Float, oob_prediction: Frame }

            /// Gradient boosting of trees on binned features for classes: one tree for two classes, else one for each
            /// class.
            HistGradientBoostingClassifier: Classifier [missing categories] {
                /// The loss.
                loss: Str = "log_loss", OneOf(&["log_loss"]);
                $($rounds)*
                /// For each feature 1 (the probability of the second class rises with it), -1 (falls) or 0.
                monotonic_cst: Floats = None, Any;
                $($stop)*
                /// `balanced`, or a weight for each class.
                class_weight: Any = None, Any;
            } -> { n_iter: Int, train_score: Frame, validation_score: Frame }

            /// Gradient boosting of trees on binned features for numbers.
            HistGradientBoostingRegressor: Regressor [missing categories] {
                /// The loss.
                loss: Str = "squared_error",
                    OneOf(&["squared_error", "absolute_error", "poisson", "gamma", "quantile"]);
                /// The quantile of the loss `quantile`.
                quantile: Float = None, Within(0.0, 1.0);
                $($rounds)*
                /// For each feature 1 (the prediction rises with it), -1 (falls) or 0.
                monotonic_cst: Floats = None, Any;
                $($stop)*
            } -> { n_iter: Int, train_score: Frame, validation_score: Frame }
        }
    };
}
