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
        }
    };
}
