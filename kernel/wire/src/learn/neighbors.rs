//! Nearest neighbours and naive Bayes.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! neighbors_estimators {
    ($then:ident) => {
        $then! {
            /// An index of rows that finds the nearest ones.
            NearestNeighbors: Index [] {
                /// Number of neighbours.
                n_neighbors: Int = 5, AtLeast(1.0);
                /// Largest distance of neighbours that are searched by radius.
                radius: Float = 1.0, AtLeast(0.0);
                /// Kept for scikit-learn's signature. All algorithms have the same result.
                algorithm: Str = "auto", OneOf(&["auto", "ball_tree", "kd_tree", "brute"]);
                /// Kept for scikit-learn's signature. The tree chooses its leaves.
                leaf_size: Int = 30, AtLeast(1.0);
                /// Distance between rows.
                metric: Str = "minkowski", OneOf(&[
                    "minkowski", "euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "cosine"
                ]);
                /// Power of the distance `minkowski`.
                p: Float = 2.0, AtLeast(1.0);
            } -> {}

            /// The class of most of the nearest rows.
            KNeighborsClassifier: Classifier [] {
                /// Number of neighbours.
                n_neighbors: Int = 5, AtLeast(1.0);
                /// Votes of the neighbours: `uniform`, or `distance` (1 / distance).
                weights: Str = "uniform", OneOf(&["uniform", "distance"]);
                /// Kept for scikit-learn's signature. All algorithms have the same result.
                algorithm: Str = "auto", OneOf(&["auto", "ball_tree", "kd_tree", "brute"]);
                /// Kept for scikit-learn's signature. The tree chooses its leaves.
                leaf_size: Int = 30, AtLeast(1.0);
                /// Power of the distance `minkowski`.
                p: Float = 2.0, AtLeast(1.0);
                /// Distance between rows.
                metric: Str = "minkowski", OneOf(&[
                    "minkowski", "euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "cosine"
                ]);
            } -> {}

            /// The mean of the nearest rows.
            KNeighborsRegressor: Regressor [] {
                /// Number of neighbours.
                n_neighbors: Int = 5, AtLeast(1.0);
                /// Weights of the neighbours: `uniform`, or `distance` (1 / distance).
                weights: Str = "uniform", OneOf(&["uniform", "distance"]);
                /// Kept for scikit-learn's signature. All algorithms have the same result.
                algorithm: Str = "auto", OneOf(&["auto", "ball_tree", "kd_tree", "brute"]);
                /// Kept for scikit-learn's signature. The tree chooses its leaves.
                leaf_size: Int = 30, AtLeast(1.0);
                /// Power of the distance `minkowski`.
                p: Float = 2.0, AtLeast(1.0);
                /// Distance between rows.
                metric: Str = "minkowski", OneOf(&[
                    "minkowski", "euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "cosine"
                ]);
            } -> {}

            /// Naive Bayes with normally distributed features.
            GaussianNB: Classifier [] {
                /// Probability of each class, in the order of the classes. None takes the shares of the rows.
                priors: Floats = None, Within(0.0, 1.0);
                /// Share of the largest variance of a feature that is added to all variances.
                var_smoothing: Float = 1e-9, AtLeast(0.0);
            } -> { theta: Frame, var: Frame, class_prior: Frame, class_count: Frame }

            /// Naive Bayes for counts, such as those of words. Features must not be negative.
            MultinomialNB: Classifier [sparse] {
                /// Count that is added to each feature in each class (Laplace smoothing).
                alpha: Float = 1.0, AtLeast(0.0);
                /// Whether an `alpha` below 1e-10 stays as it is. Otherwise 1e-10 is taken instead.
                force_alpha: Bool = true, Any;
                /// Whether the probabilities of the classes are the shares of their rows. Otherwise all are equal.
                fit_prior: Bool = true, Any;
                /// Probability of each class, in the order of the classes. With it, `fit_prior` has no effect.
                class_prior: Floats = None, Within(0.0, 1.0);
            } -> { feature_count: Frame, feature_log_prob: Frame, class_count: Frame, class_log_prior: Frame }

            /// Naive Bayes for features of 0 and 1. A feature that is absent counts, too.
            BernoulliNB: Classifier [sparse] {
                /// Count that is added to each feature in each class (Laplace smoothing).
                alpha: Float = 1.0, AtLeast(0.0);
                /// Whether an `alpha` below 1e-10 stays as it is. Otherwise 1e-10 is taken instead.
                force_alpha: Bool = true, Any;
                /// Values above it count as 1, others as 0. None: the values are 0 and 1 already.
                binarize: Any = 0.0, AtLeast(0.0);
                /// Whether the probabilities of the classes are the shares of their rows. Otherwise all are equal.
                fit_prior: Bool = true, Any;
                /// Probability of each class, in the order of the classes. With it, `fit_prior` has no effect.
                class_prior: Floats = None, Within(0.0, 1.0);
            } -> { feature_count: Frame, feature_log_prob: Frame, class_count: Frame, class_log_prior: Frame }

            /// Naive Bayes for counts by the features of all other classes, for classes of different sizes (Rennie,
            /// Shih, Teevan and Karger 2003). Features must not be negative.
            ComplementNB: Classifier [sparse] {
                /// Count that is added to each feature in each class (Laplace smoothing).
                alpha: Float = 1.0, AtLeast(0.0);
                /// Whether an `alpha` below 1e-10 stays as it is. Otherwise 1e-10 is taken instead.
                force_alpha: Bool = true, Any;
                /// Kept for scikit-learn's signature. It only sets `class_log_prior`: the classes are compared without.
                fit_prior: Bool = true, Any;
                /// Kept for scikit-learn's signature. It only sets `class_log_prior`: the classes are compared without.
                class_prior: Floats = None, Within(0.0, 1.0);
                /// Whether the weights of each class are divided by their sum.
                norm: Bool = false, Any;
            } -> {
                feature_count: Frame, feature_log_prob: Frame, class_count: Frame, class_log_prior: Frame,
                feature_all: Frame,
            }

            /// Naive Bayes for categories: strings, or numbers 0, 1, 2 as OrdinalEncoder makes them.
            CategoricalNB: Classifier [categories] {
                /// Count that is added to each feature in each class (Laplace smoothing).
                alpha: Float = 1.0, AtLeast(0.0);
                /// Whether an `alpha` below 1e-10 stays as it is. Otherwise 1e-10 is taken instead.
                force_alpha: Bool = true, Any;
                /// Whether the probabilities of the classes are the shares of their rows. Otherwise all are equal.
                fit_prior: Bool = true, Any;
                /// Probability of each class, in the order of the classes. With it, `fit_prior` has no effect.
                class_prior: Floats = None, Within(0.0, 1.0);
                /// The least number of categories of each feature, or a list with one for each. None: those of the
                /// training.
                min_categories: Any = None, AtLeast(1.0);
            } -> {
                category_count: Frame, feature_log_prob: Frame, class_count: Frame, class_log_prior: Frame,
                n_categories: Frame,
            }
        }
    };
}
