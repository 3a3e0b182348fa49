//! Decompositions and random projections.

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

            /// Non-negative matrix factorization: rows are sums of components with weights of at least 0, by
            /// coordinate descent. `transform` iterates for all rows of the frame at once.
            NMF: Transformer [] {
                /// Number of components. `auto` is the number of features.
                n_components: Any = "auto", Any;
                /// First weights and components: singular vectors (`nndsvd`; `nndsvda` and `nndsvdar` replace zeros by
                /// the mean and by small random numbers), or `random`. None is `nndsvda` if there are enough rows and
                /// features, else `random`.
                init: Str = None, OneOf(&["random", "nndsvd", "nndsvda", "nndsvdar"]);
                /// Solver: coordinate descent. Multiplicative updates (`mu`) are not there.
                solver: Str = "cd", OneOf(&["cd"]);
                /// Distance from the data that is minimised. The coordinate descent takes this one.
                beta_loss: Str = "frobenius", OneOf(&["frobenius"]);
                /// Gradient at which the training ends, relative to that of the first iteration.
                tol: Float = 1e-4, AtLeast(0.0);
                /// Largest number of iterations.
                max_iter: Int = 200, AtLeast(1.0);
                /// Seed of the first components, and of the order of the coordinates.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Strength of the penalty on the weights.
                alpha_w: Float = 0.0, AtLeast(0.0);
                /// Strength of the penalty on the components. `same` is `alpha_W`.
                alpha_h: Any = "same", Any;
                /// Share of l1 in the penalties. The rest is l2.
                l1_ratio: Float = 0.0, Within(0.0, 1.0);
                /// Whether the coordinates are updated in random order.
                shuffle: Bool = false, Any;
            } -> { components: Frame, n_components: Int, reconstruction_err: Float, n_iter: Int }

            /// Independent component analysis: directions in which the features are least normal.
            FastICA: Transformer [] {
                /// Number of components. None is the smaller of the numbers of rows and features.
                n_components: Int = None, AtLeast(1.0);
                /// Whether all components are searched at once (`parallel`) or one after the other (`deflation`).
                algorithm: Str = "parallel", OneOf(&["parallel", "deflation"]);
                /// Whether features are made uncorrelated first: components have the variance 1 (`unit-variance`) or
                /// 1 / rows (`arbitrary-variance`). `false` takes the features as they are.
                whiten: Any = "unit-variance", Any;
                /// Contrast function that approximates the entropy.
                fun: Str = "logcosh", OneOf(&["logcosh", "exp", "cube"]);
                /// Largest number of iterations.
                max_iter: Int = 200, AtLeast(1.0);
                /// Turn of a component at which the training ends.
                tol: Float = 1e-4, AtLeast(0.0);
                /// First unmixing matrix, components x components, row after row. None takes random numbers.
                w_init: Floats = None, Any;
                /// Whitening by singular values (`svd`) or by eigenvalues (`eigh`).
                whiten_solver: Str = "svd", OneOf(&["svd", "eigh"]);
                /// Seed of the first unmixing matrix.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> { components: Frame, mixing: Frame, mean: Frame, whitening: Frame, n_iter: Int }

            /// Factor analysis: features are sums of normal factors and noise with a separate variance for each
            /// feature.
            FactorAnalysis: Transformer [] {
                /// Number of factors. None is the number of features.
                n_components: Int = None, AtLeast(1.0);
                /// Growth of the log-likelihood at which the training ends.
                tol: Float = 1e-2, AtLeast(0.0);
                /// Largest number of iterations.
                max_iter: Int = 1000, AtLeast(1.0);
                /// First noise variance of each feature. None is 1.
                noise_variance_init: Floats = None, Above(0.0);
                /// Exact singular values (`lapack`), or those of random directions.
                svd_method: Str = "randomized", OneOf(&["lapack", "randomized"]);
                /// Power iterations of `randomized`.
                iterated_power: Int = 3, AtLeast(0.0);
                /// Rotation of the factors. None keeps the directions of the largest variance.
                rotation: Str = None, OneOf(&["varimax", "quartimax"]);
                /// Seed of the random directions.
                random_state: Int = 0, Within(0.0, 4294967295.0);
            } -> { components: Frame, loglike: Frame, noise_variance: Frame, mean: Frame, n_iter: Int }

            /// Principal components by batches of rows: for more rows than `PCA` can decompose at once.
            IncrementalPCA: Transformer [] {
                /// Number of components. None is the smaller of the numbers of features and of rows of the first batch.
                n_components: Int = None, AtLeast(1.0);
                /// Whether components are scaled to variance 1.
                whiten: Bool = false, Any;
                /// Rows of a batch. None is 5 times the number of features.
                batch_size: Int = None, AtLeast(1.0);
            } -> {
                components: Frame, explained_variance: Frame, explained_variance_ratio: Frame, singular_values: Frame,
                mean: Frame, var: Frame, noise_variance: Float, n_components: Int, n_samples_seen: Int, batch_size: Int
            }

            /// A random projection with normal numbers, which keeps distances nearly as they are.
            GaussianRandomProjection: Transformer [sparse] {
                /// Number of components. `auto`: so many that distances change by at most `eps` (Johnson and
                /// Lindenstrauss).
                n_components: Any = "auto", Any;
                /// Relative change of distances, for `auto`. Below 1.
                eps: Float = 0.1, Above(0.0);
                /// Whether the way back, `inverse_transform`, is computed.
                compute_inverse_components: Bool = false, Any;
                /// Seed of the numbers.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> { components: Frame, n_components: Int, inverse_components: Frame }

            /// A random projection with few numbers other than 0.
            SparseRandomProjection: Transformer [sparse] {
                /// Number of components. `auto`: so many that distances change by at most `eps` (Johnson and
                /// Lindenstrauss).
                n_components: Any = "auto", Any;
                /// Share of the numbers that are not 0. `auto` is 1 / the root of the number of features.
                density: Any = "auto", Any;
                /// Relative change of distances, for `auto`. Below 1.
                eps: Float = 0.1, Above(0.0);
                /// Kept for scikit-learn's signature. The new features are dense.
                dense_output: Bool = false, Any;
                /// Whether the way back, `inverse_transform`, is computed.
                compute_inverse_components: Bool = false, Any;
                /// Seed of the numbers.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> { components: Frame, n_components: Int, density: Float, inverse_components: Frame }
        }
    };
}
