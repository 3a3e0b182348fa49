//! Preprocessing.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! prepare_estimators {
    ($then:ident) => {
        $then! {
            /// Subtracts the mean of each feature and divides by its standard deviation. Missing values stay missing.
            /// Mean and variance are weighted by the sample weights.
            StandardScaler: Transformer [missing sparse] {
                /// Whether the mean is subtracted.
                with_mean: Bool = true, Any;
                /// Whether features are divided by their standard deviation. A constant feature is not divided.
                with_std: Bool = true, Any;
            } -> { mean: Frame, scale: Frame, var: Frame, n_samples_seen: Frame }

            /// Maps the smallest and the largest value of each feature to the ends of a range. Missing values stay
            /// missing.
            MinMaxScaler: Transformer [missing] {
                /// The ends of the range.
                feature_range: Floats = [0.0, 1.0], Any;
                /// Whether values outside of the training's range are set to the ends of `feature_range`.
                clip: Bool = false, Any;
            } -> { data_min: Frame, data_max: Frame, data_range: Frame, scale: Frame, min: Frame }

            /// Divides each feature by its largest absolute value. Missing values stay missing.
            MaxAbsScaler: Transformer [missing sparse] {
                /// Whether results are limited to the range from -1 to 1.
                clip: Bool = false, Any;
            } -> { max_abs: Frame, scale: Frame }

            /// Subtracts the median of each feature and divides by the range between two quantiles. Missing values stay
            /// missing.
            RobustScaler: Transformer [missing] {
                /// Whether the median is subtracted.
                with_centering: Bool = true, Any;
                /// Whether features are divided by the range between the quantiles.
                with_scaling: Bool = true, Any;
                /// The lower and the upper quantile in percent.
                quantile_range: Floats = [25.0, 75.0], Within(0.0, 100.0);
                /// Whether the range is divided by that of the normal distribution, so that normal features get
                /// variance 1.
                unit_variance: Bool = false, Any;
            } -> { center: Frame, scale: Frame }

            /// Divides each row by its norm. A row of zeros stays as it is.
            Normalizer: Transformer [sparse] {
                /// The norm: the sum of absolute values, the Euclidean length, or the largest absolute value.
                norm: Str = "l2", OneOf(&["l1", "l2", "max"]);
            } -> {}

            /// Replaces missing values: by the mean, the median or the most frequent value of their feature, or by a
            /// constant.
            SimpleImputer: Transformer [missing categories] {
                /// Strings take `most_frequent` and `constant`. The smallest of several most frequent values counts.
                strategy: Str = "mean", OneOf(&["mean", "median", "most_frequent", "constant"]);
                /// The constant. None: 0 for numbers, `missing_value` for strings.
                fill_value: Any = None, Any;
                /// Whether a column `missingindicator_<name>` of 0 and 1 is added for each feature with missing values
                /// in training.
                add_indicator: Bool = false, Any;
                /// Whether features without any value in training are kept and filled with 0. Otherwise they are left
                /// out.
                keep_empty_features: Bool = false, Any;
            } -> { statistics: Frame }

            /// Makes a column of 0 and 1 for each category of each feature: `sex_male`. Missing values are the category
            /// `nan`.
            OneHotEncoder: Transformer [missing categories] {
                /// `auto`: the values of the training, sorted. Otherwise a list with the list of categories of each
                /// feature.
                categories: Any = "auto", Any;
                /// The category without a column: the first of each feature, or the first of features with two
                /// categories. None: all have columns.
                drop: Str = None, OneOf(&["first", "if_binary"]);
                /// Treatment of a category that the training did not see: an error, zeros in all columns, or the column
                /// of infrequent categories.
                handle_unknown: Str = "error", OneOf(&["error", "ignore", "infrequent_if_exist"]);
                /// Rarer categories share the column `infrequent_sklearn`: a number of rows, or a share of them.
                min_frequency: Float = None, Above(0.0);
                /// The largest number of columns of a feature; the rarest categories share one.
                max_categories: Int = None, AtLeast(1.0);
            } -> { categories: Frame, infrequent_categories: Frame }

            /// Replaces categories by their positions in sorted order: 0, 1, 2.
            OrdinalEncoder: Transformer [missing categories] {
                /// `auto`: the values of the training, sorted. Otherwise a list with the list of categories of each
                /// feature, in their order.
                categories: Any = "auto", Any;
                /// Treatment of a category that the training did not see: an error, or `unknown_value`.
                handle_unknown: Str = "error", OneOf(&["error", "use_encoded_value"]);
                /// The value of unknown categories. It must not be the position of a category.
                unknown_value: Any = None, Any;
                /// The value of missing values.
                encoded_missing_value: Any = (f64::NAN), Any;
            } -> { categories: Frame }

            /// `OrdinalEncoder` for one column. A missing value is the last category.
            LabelEncoder: Transformer [missing categories] {} -> { classes: Strs }

            /// Replaces each category by the mean of the target in its rows, shrunk towards the mean of all rows
            /// (Micci-Barreca 2001).
            ///
            /// In a pipeline the training rows get values by cross fitting: those of other folds. `transform` uses the
            /// values of all training rows. Unseen categories get the mean of the target.
            TargetEncoder: SupervisedTransformer [missing categories] {
                /// `auto`: the values of the training, sorted. Otherwise a list with the list of categories of each
                /// feature.
                categories: Any = "auto", Any;
                /// The kind of the target. A target with several classes makes a column for each class.
                target_type: Str = "auto", OneOf(&["auto", "binary", "multiclass", "continuous"]);
                /// The number of rows that the mean of the target counts for. `auto`: the empirical Bayes estimate.
                smooth: Any = "auto", AtLeast(0.0);
                /// The number of folds of the cross fitting.
                cv: Int = 5, AtLeast(2.0);
                /// The seed of the shuffled folds.
                random_state: Int = 0, Within(0.0, 4294967295.0);
            } -> { categories: Frame, encodings: Frame, target_mean: Frame }

            /// Cuts each feature into bins.
            KBinsDiscretizer: Transformer [] {
                /// The number of bins of each feature, or a list with one for each.
                n_bins: Any = 5, AtLeast(2.0);
                /// A column of 0 and 1 for each bin, or one column with the number of the bin.
                encode: Str = "onehot", OneOf(&["onehot", "onehot-dense", "ordinal"]);
                /// Bins of equal width, of equal numbers of rows, or around the centres of a k-means clustering.
                strategy: Str = "quantile", OneOf(&["uniform", "quantile", "kmeans"]);
                /// How quantiles are interpolated.
                quantile_method: Str = "averaged_inverted_cdf",
                    OneOf(&["averaged_inverted_cdf", "inverted_cdf", "linear"]);
            } -> { bin_edges: Frame, n_bins: Frame }

            /// All products of features up to a degree: `a`, `b`, `a^2`, `a b`, `b^2`.
            PolynomialFeatures: Transformer [] {
                /// The largest degree, or a list with the smallest and the largest.
                degree: Any = 2, AtLeast(0.0);
                /// Whether only products of different features are made.
                interaction_only: Bool = false, Any;
                /// Whether there is a column `1` of ones.
                include_bias: Bool = true, Any;
            } -> { powers: Frame }

            /// Makes features look normal by a power of them (Yeo and Johnson 2000, Box and Cox 1964). Missing values
            /// stay missing.
            PowerTransformer: Transformer [missing] {
                /// `yeo-johnson` takes all numbers, `box-cox` positive ones.
                method: Str = "yeo-johnson", OneOf(&["yeo-johnson", "box-cox"]);
                /// Whether the results get mean 0 and variance 1.
                standardize: Bool = true, Any;
            } -> { lambdas: Frame }

            /// Spreads each feature evenly from 0 to 1, or normally, by its quantiles. Missing values stay missing.
            QuantileTransformer: Transformer [missing] {
                /// The number of quantiles, at most that of the rows.
                n_quantiles: Int = 1000, AtLeast(1.0);
                /// The distribution of the results.
                output_distribution: Str = "uniform", OneOf(&["uniform", "normal"]);
                /// Rows above which a random sample of this size is used.
                subsample: Int = 10_000, AtLeast(1.0);
                /// The seed of the sample.
                random_state: Int = 0, Within(0.0, 4294967295.0);
            } -> { quantiles: Frame }

            /// Leaves out features with little variance. Missing values stay missing.
            VarianceThreshold: Transformer [missing] {
                /// Features with this variance or less are left out.
                threshold: Float = 0.0, AtLeast(0.0);
            } -> { variances: Frame }

            /// Replaces missing values by the mean of their feature in the nearest rows that have it.
            ///
            /// The distance of two rows is Euclidean over the features that both have. Without a row that has one in
            /// common, the mean of the feature is taken.
            KNNImputer: Transformer [missing] {
                /// Number of neighbours.
                n_neighbors: Int = 5, AtLeast(1.0);
                /// Weights of the neighbours: `uniform`, or `distance` (1 / distance).
                weights: Str = "uniform", OneOf(&["uniform", "distance"]);
                /// Kept for scikit-learn's signature. There is one distance.
                metric: Str = "nan_euclidean", OneOf(&["nan_euclidean"]);
                /// Whether a column `missingindicator_<name>` of 0 and 1 is added for each feature with missing values
                /// in training.
                add_indicator: Bool = false, Any;
                /// Whether features without any value in training are kept and filled with 0. Otherwise they are left
                /// out.
                keep_empty_features: Bool = false, Any;
            } -> {}

            /// Fills missing values by regressions on the other features (`BayesianRidge`), in rounds.
            IterativeImputer: Transformer [missing] {
                /// Whether values are drawn from the predicted distribution. Only `false` is there.
                sample_posterior: Bool = false, Any;
                /// Largest number of rounds.
                max_iter: Int = 10, AtLeast(0.0);
                /// Change of the values at which the rounds end, relative to the largest value.
                tol: Float = 1e-3, AtLeast(0.0);
                /// Number of features in a regression. Only None, all of them, is there.
                n_nearest_features: Int = None, AtLeast(1.0);
                /// First values.
                initial_strategy: Str = "mean", OneOf(&["mean", "median", "most_frequent", "constant"]);
                /// The constant of the first values. None is 0.
                fill_value: Any = None, Any;
                /// Order of the features in a round: by their number of missing values, by position from left or from
                /// right, or at random.
                imputation_order: Str = "ascending", OneOf(&["ascending", "descending", "roman", "arabic", "random"]);
                /// Whether features without missing values in training get no regression.
                skip_complete: Bool = false, Any;
                /// Least value that is filled in. None: no limit.
                min_value: Float = None, Any;
                /// Largest value that is filled in. None: no limit.
                max_value: Float = None, Any;
                /// Seed of the order `random`.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Whether a column `missingindicator_<name>` of 0 and 1 is added for each feature with missing values
                /// in training.
                add_indicator: Bool = false, Any;
                /// Whether features without any value in training are kept and filled with 0. Otherwise they are left
                /// out.
                keep_empty_features: Bool = false, Any;
            } -> { initial_statistics: Frame, n_iter: Int }

            /// Makes B-splines of each feature, `<feature>_sp_0` and so on: smooth functions that a linear model can
            /// add. Sample weights are not used.
            SplineTransformer: Transformer [] {
                /// The number of knots in the range of the feature.
                n_knots: Int = 5, AtLeast(2.0);
                /// The degree of the polynomials between knots.
                degree: Int = 3, Within(0.0, 64.0);
                /// Knots at equal distances, or with equal numbers of rows between them.
                knots: Str = "uniform", OneOf(&["uniform", "quantile"]);
                /// Values outside of the training's range: an error, those at the ends, lines, the polynomials at the
                /// ends, or the range again and again.
                extrapolation: Str = "constant",
                    OneOf(&["error", "constant", "linear", "continue", "periodic"]);
                /// Whether the last spline of each feature is kept. All of them add up to 1.
                include_bias: Bool = true, Any;
            } -> { knots: Frame }

            /// 1 for values above a threshold, else 0.
            Binarizer: Transformer [] {
                /// The threshold.
                threshold: Float = 0.0, Any;
            } -> {}

            /// A function of NumPy for each value. A missing value, and one that the function does not take, is
            /// missing.
            FunctionTransformer: Transformer [missing] {
                /// The function. None: values stay as they are.
                func: Str = None, OneOf(&[
                    "abs", "cbrt", "exp", "expm1", "log", "log10", "log1p", "log2", "reciprocal", "sign", "sqrt",
                    "square", "tanh"
                ]);
            } -> {}

            /// Makes a column for each label of one column, `<column>_<label>`, or for two labels one column for the
            /// second of them. A label that the training did not see is 0 in all columns.
            LabelBinarizer: Transformer [categories] {
                /// The value for other labels: an integer.
                neg_label: Any = 0, Any;
                /// The value for the column's label: an integer above `neg_label`.
                pos_label: Any = 1, Any;
            } -> { classes: Strs }

            /// Makes a column of 0 and 1 for each label, `<column>_<label>`, of a column of strings with several labels
            /// such as `red|round`. A label that the training did not see has no column, and a missing value has no
            /// labels.
            MultiLabelBinarizer: Transformer [missing categories text] {
                /// The labels in the order of the columns, as a list. None: those of the training, sorted.
                classes: Any = None, Any;
                /// The separator of labels. scikit-learn takes lists of labels instead.
                sep: Str = "|", Any;
            } -> { classes: Strs }
        }
    };
}
