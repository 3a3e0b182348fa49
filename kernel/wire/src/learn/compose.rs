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

            /// A vote of several classifiers: the class that most of them predict, or that of the highest mean
            /// probability. Probabilities are the means of soft voting.
            VotingClassifier: Classifier [missing categories] {
                /// `hard` counts predicted classes, `soft` takes the mean of the probabilities.
                voting: Str = "hard", OneOf(&["hard", "soft"]);
                /// The weight of each estimator. `None`: all weigh the same.
                weights: Floats = None, AtLeast(0.0);
            } -> {}

            /// The mean of the predictions of several regressors.
            VotingRegressor: Regressor [missing categories] {
                /// The weight of each estimator. `None`: all weigh the same.
                weights: Floats = None, AtLeast(0.0);
            } -> {}

            /// A classifier of the outputs of other classifiers, which it sees for rows that they were not trained on.
            /// The attributes are those of the final estimator.
            StackingClassifier: Classifier [missing categories] {
                /// The outputs that the final estimator sees. `auto` takes probabilities, else scores, else classes.
                stack_method: Str = "auto", OneOf(&["auto", "predict_proba", "decision_function", "predict"]);
                /// Whether the final estimator also sees the features.
                passthrough: Bool = false, Any;
            } -> {}

            /// A regressor of the predictions of other regressors, which it sees for rows that they were not trained
            /// on. The attributes are those of the final estimator.
            StackingRegressor: Regressor [missing categories] {
                /// Whether the final estimator also sees the features.
                passthrough: Bool = false, Any;
            } -> {}

            /// The mean of classifiers of one kind, each trained on a random sample of the rows and features.
            BaggingClassifier: Classifier [missing categories] {
                /// Number of classifiers.
                n_estimators: Int = 10, AtLeast(1.0);
                /// Rows of a sample: a number, or a share. `None`: as many as there are rows.
                max_samples: Any = None, Any;
                /// Features of a sample: a number, or a share.
                max_features: Any = 1.0, Any;
                /// Whether rows are drawn with replacement.
                bootstrap: Bool = true, Any;
                /// Whether features are drawn with replacement.
                bootstrap_features: Bool = false, Any;
                /// Whether each row is scored by the classifiers that did not see it.
                oob_score: Bool = false, Any;
                /// The seed. The samples are those of scikit-learn.
                random_state: Int = 0, Within(0.0, 4294967295.0);
            } -> { oob_score: Float, oob_decision_function: Frame, estimators_features: Frame }

            /// The mean of regressors of one kind, each trained on a random sample of the rows and features.
            BaggingRegressor: Regressor [missing categories] {
                /// Number of regressors.
                n_estimators: Int = 10, AtLeast(1.0);
                /// Rows of a sample: a number, or a share. `None`: as many as there are rows.
                max_samples: Any = None, Any;
                /// Features of a sample: a number, or a share.
                max_features: Any = 1.0, Any;
                /// Whether rows are drawn with replacement.
                bootstrap: Bool = true, Any;
                /// Whether features are drawn with replacement.
                bootstrap_features: Bool = false, Any;
                /// Whether each row is scored by the regressors that did not see it.
                oob_score: Bool = false, Any;
                /// The seed. The samples are those of scikit-learn.
                random_state: Int = 0, Within(0.0, 4294967295.0);
            } -> { oob_score: Float, oob_prediction: Frame, estimators_features: Frame }

            /// A classifier whose scores are turned into probabilities by calibration on rows that it was not trained
            /// on.
            CalibratedClassifierCV: Classifier [missing categories] {
                /// `sigmoid` fits a logistic function (Platt 1999), `isotonic` a rising step function.
                method: Str = "sigmoid", OneOf(&["sigmoid", "isotonic"]);
                /// Whether the mean of a calibrated classifier for each fold is taken (`true`, `auto`), else one
                /// classifier of all rows.
                ensemble: Any = "auto", Any;
            } -> { calibrators: Frame }

            /// Several classes by a classifier of each class and the other ones. The class of the highest score wins.
            OneVsRestClassifier: Classifier [missing categories] {} -> {}

            /// Several classes by a classifier of each pair of classes. The class with the most votes wins.
            OneVsOneClassifier: Classifier [missing categories] {} -> {}

            /// Boosting of a classifier by weights of rows (SAMME, Zhu et al. 2009). Without an estimator, decision
            /// trees of depth 1.
            AdaBoostClassifier: Classifier [missing categories] {
                /// The largest number of classifiers. A classifier without errors ends the training.
                n_estimators: Int = 50, AtLeast(1.0);
                /// The factor of the weights of classifiers.
                learning_rate: Float = 1.0, Above(0.0);
                /// The seed.
                random_state: Int = 0, Within(0.0, 4294967295.0);
            } -> { estimator_weights: Frame, estimator_errors: Frame, feature_importances: Frame }

            /// Boosting of a regressor by samples of rows with weights (AdaBoost.R2, Drucker 1997). Predicts the
            /// weighted median. Without an estimator, decision trees of depth 3.
            AdaBoostRegressor: Regressor [missing categories] {
                /// The largest number of regressors. A regressor without errors ends the training.
                n_estimators: Int = 50, AtLeast(1.0);
                /// The factor of the weights of regressors.
                learning_rate: Float = 1.0, Above(0.0);
                /// The loss of a row, by which its weight changes.
                loss: Str = "linear", OneOf(&["linear", "square", "exponential"]);
                /// The seed. The samples are those of scikit-learn.
                random_state: Int = 0, Within(0.0, 4294967295.0);
            } -> { estimator_weights: Frame, estimator_errors: Frame, feature_importances: Frame }

            /// Keeps the features with large coefficients or importances in a model of all features.
            ///
            /// A model with several rows of coefficients counts with the norm of each feature's column.
            SelectFromModel: SupervisedTransformer [missing categories] {
                /// The least importance: a number, `mean`, `median`, or a multiple such as `1.25*mean`. None: 1e-5 for
                /// a model with an l1 penalty, else `mean`.
                threshold: Any = None, Any;
                /// The order of the norm over several rows of coefficients: an integer, or an infinity.
                norm_order: Any = 1, Any;
                /// The largest number of features.
                max_features: Int = None, AtLeast(1.0);
            } -> { support: Frame, threshold: Float }

            /// Leaves out the least important features round by round, and trains the estimator again in each round
            /// (recursive feature elimination; Guyon, Weston, Barnhill and Vapnik 2002).
            RFE: SupervisedTransformer [missing categories] {
                /// The number of features, or a share of them. None: half of them.
                n_features_to_select: Any = None, Above(0.0);
                /// How many features leave in a round: a number, or a share of all features.
                step: Any = 1, Above(0.0);
            } -> { ranking: Frame, support: Frame, n_features: Int }

            /// RFE with the number of features that has the best score in a cross-validation.
            RFECV: SupervisedTransformer [missing categories] {
                /// How many features leave in a round: a number, or a share of all features.
                step: Any = 1, Above(0.0);
                /// The least number of features.
                min_features_to_select: Int = 1, AtLeast(1.0);
                /// The scorer, such as `"roc_auc"`. Without one: accuracy for classes, else r2.
                scoring: Str = None, Any;
            } -> { cv_results: Frame, ranking: Frame, support: Frame, n_features: Int }

            /// Adds or leaves out one feature after the other: the one with the best score in a cross-validation.
            SequentialFeatureSelector: SupervisedTransformer [missing categories] {
                /// The number of features, or a share of them. `auto`: half of them, or with `tol` as many as change
                /// the score by `tol`.
                n_features_to_select: Any = "auto", Above(0.0);
                /// The least change of the score by a feature, for `auto`. Negative for `backward`: a loss.
                tol: Float = None, Any;
                /// Whether features are added to none, or left out of all.
                direction: Str = "forward", OneOf(&["forward", "backward"]);
                /// The scorer, such as `"roc_auc"`. Without one: accuracy for classes, else r2.
                scoring: Str = None, Any;
            } -> { support: Frame, n_features_to_select: Int }
        }
    };
}
