//! Decompositions.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! decomposition_estimators {
    ($then:ident) => {
        $then! {
            /// Principal component analysis: the directions of the largest variance.
            PCA: Transformer [device] {
                /// Number of components, the share of the variance that they explain (between 0 and 1), or `mle`
                /// (Minka's estimate). None is the smaller of the numbers of rows and features.
                n_components: Any = None, Any;
                /// Whether components are scaled to variance 1.
                whiten: Bool = false, Any;
                /// Kept for scikit-learn's signature. The result is the exact one unless there are more than 4096 rows
                /// and features and `n_components` is below 80 % of the smaller number.
                svd_solver: Str = "auto", OneOf(&["auto", "full", "covariance_eigh", "arpack", "randomized"]);
                /// Tolerance of the solver `arpack`. The exact result needs none.
                tol: Float = 0.0, AtLeast(0.0);
                /// Power iterations if the result is not the exact one: a number, or `auto`.
                iterated_power: Any = "auto", Any;
                /// Additional random directions if the result is not the exact one.
                n_oversamples: Int = 10, AtLeast(1.0);
                /// Kept for scikit-learn's signature. Power iterations are normalised by QR.
                power_iteration_normalizer: Str = "auto", OneOf(&["auto", "QR", "LU", "none"]);
                /// Seed of the random directions.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> {
                components: Frame, explained_variance: Frame, explained_variance_ratio: Frame, singular_values: Frame,
                mean: Frame, noise_variance: Float, n_components: Int
            }

            /// Truncated singular value decomposition: principal components of features that are not centred.
            TruncatedSVD: Transformer [sparse] {
                /// Number of components.
                n_components: Int = 2, AtLeast(1.0);
                /// Dense features have the exact result, unless there are more than 4096 rows and features. For sparse
                /// features, `arpack` takes at least 50 power iterations.
                algorithm: Str = "randomized", OneOf(&["arpack", "randomized"]);
                /// Power iterations if the result is not the exact one.
                n_iter: Int = 5, AtLeast(0.0);
                /// Additional random directions if the result is not the exact one.
                n_oversamples: Int = 10, AtLeast(1.0);
                /// Kept for scikit-learn's signature. Power iterations are normalised by QR.
                power_iteration_normalizer: Str = "auto", OneOf(&["auto", "QR", "LU", "none"]);
                /// Seed of the random directions.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Tolerance of the solver `arpack`. The exact result needs none.
                tol: Float = 0.0, AtLeast(0.0);
            } -> {
                components: Frame, explained_variance: Frame, explained_variance_ratio: Frame, singular_values: Frame
            }
        }
    };
}
