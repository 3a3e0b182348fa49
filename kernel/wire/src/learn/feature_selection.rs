//! Choice of features.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! feature_selection_estimators {
    ($then:ident) => {
        $then! {
            /// Keeps the features with the highest scores. Each feature is scored against the target alone.
            ///
            /// Sample weights are not used.
            SelectKBest: SupervisedTransformer [sparse] {
                /// The score. `f_classif`: F of an analysis of variance. `f_regression`: F of a linear regression.
                /// `r_regression`: Pearson's r. `chi2`: chi-squared of sums by class, for features of at least 0.
                /// `mutual_info_classif` and `mutual_info_regression`: mutual information by nearest neighbours.
                score_func: Str = "f_classif", OneOf(&[
                    "f_classif", "f_regression", "r_regression", "chi2", "mutual_info_classif",
                    "mutual_info_regression"
                ]);
                /// The number of features, or `all`. The later one of two equal scores counts.
                k: Any = 10, AtLeast(1.0);
            } -> { scores: Frame }

            /// Keeps a percentage of the features: those with the highest scores.
            ///
            /// Sample weights are not used.
            SelectPercentile: SupervisedTransformer [sparse] {
                /// The score, as in SelectKBest.
                score_func: Str = "f_classif", OneOf(&[
                    "f_classif", "f_regression", "r_regression", "chi2", "mutual_info_classif",
                    "mutual_info_regression"
                ]);
                /// The percentage of features. The earlier one of two equal scores counts.
                percentile: Float = 10.0, Within(0.0, 100.0);
            } -> { scores: Frame }

            /// Keeps the features with a p-value below `alpha`: a limit of the false positive rate.
            ///
            /// Sample weights are not used.
            SelectFpr: SupervisedTransformer [sparse] {
                /// The score, as in SelectKBest.
                score_func: Str = "f_classif", OneOf(&["f_classif", "f_regression", "chi2"]);
                /// The limit of the p-value.
                alpha: Float = 0.05, Within(0.0, 1.0);
            } -> { scores: Frame }

            /// Keeps features with small p-values by the procedure of Benjamini and Hochberg (1995): a limit of the
            /// false discovery rate.
            ///
            /// Sample weights are not used.
            SelectFdr: SupervisedTransformer [sparse] {
                /// The score, as in SelectKBest.
                score_func: Str = "f_classif", OneOf(&["f_classif", "f_regression", "chi2"]);
                /// The limit of the false discovery rate.
                alpha: Float = 0.05, Within(0.0, 1.0);
            } -> { scores: Frame }

            /// Keeps the features with a p-value below `alpha` divided by the number of features: a limit of the
            /// family-wise error rate.
            ///
            /// Sample weights are not used.
            SelectFwe: SupervisedTransformer [sparse] {
                /// The score, as in SelectKBest.
                score_func: Str = "f_classif", OneOf(&["f_classif", "f_regression", "chi2"]);
                /// The limit of the family-wise error rate.
                alpha: Float = 0.05, Within(0.0, 1.0);
            } -> { scores: Frame }

            /// Keeps features by their scores, with the rule as a parameter.
            ///
            /// Sample weights are not used.
            GenericUnivariateSelect: SupervisedTransformer [sparse] {
                /// The score, as in SelectKBest.
                score_func: Str = "f_classif", OneOf(&[
                    "f_classif", "f_regression", "r_regression", "chi2", "mutual_info_classif",
                    "mutual_info_regression"
                ]);
                /// The rule: that of SelectPercentile, SelectKBest, SelectFpr, SelectFdr or SelectFwe.
                mode: Str = "percentile", OneOf(&["percentile", "k_best", "fpr", "fdr", "fwe"]);
                /// The parameter of the rule: the percentage, the number of features or `all`, or `alpha`. It is set by
                /// `.param("param", 5)`.
                param: Any = 1e-5, AtLeast(0.0);
            } -> { scores: Frame }
        }
    };
}
