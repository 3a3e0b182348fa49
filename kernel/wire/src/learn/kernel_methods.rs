//! Kernel methods without support vectors.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! kernel_method_estimators {
    ($then:ident) => {
        $then! {
            /// Features whose products are nearly the values of a kernel, from random rows of the training. A linear
            /// model after it is nearly a kernel method.
            Nystroem: Transformer [] {
                /// Kernel of two rows.
                kernel: Str = "rbf", OneOf(&[
                    "rbf", "linear", "poly", "polynomial", "laplacian", "sigmoid", "cosine", "chi2", "additive_chi2"
                ]);
                /// Factor of the kernel. None is 1 / features, and 1 for `chi2`.
                gamma: Float = None, AtLeast(0.0);
                /// Summand of `poly` and `sigmoid`. None is 1.
                coef0: Float = None, Any;
                /// Degree of `poly`. None is 3.
                degree: Float = None, AtLeast(0.0);
                /// Number of rows of the training, which is the number of new features.
                n_components: Int = 100, AtLeast(1.0);
                /// Seed of the choice of rows.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> { components: Frame, normalization: Frame, component_indices: Frame }

            /// Features whose products are nearly the values of the kernel `rbf`: cosines in random directions.
            RBFSampler: Transformer [] {
                /// Factor of the kernel: a number, or `scale`, which is 1 / (features x variance of all values).
                gamma: Any = 1.0, Any;
                /// Number of new features.
                n_components: Int = 100, AtLeast(1.0);
                /// Seed of the directions.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> { random_weights: Frame, random_offset: Frame }

            /// Ridge regression with a kernel: the squared loss, and a factor for each row of the training.
            KernelRidge: Regressor [] {
                /// Strength of the penalty.
                alpha: Float = 1.0, AtLeast(0.0);
                /// Kernel of two rows.
                kernel: Str = "linear", OneOf(&[
                    "linear", "rbf", "poly", "polynomial", "laplacian", "sigmoid", "cosine", "chi2", "additive_chi2"
                ]);
                /// Factor of the kernel. None is 1 / features, and 1 for `chi2`.
                gamma: Float = None, AtLeast(0.0);
                /// Degree of `poly`.
                degree: Float = 3.0, AtLeast(0.0);
                /// Summand of `poly` and `sigmoid`.
                coef0: Float = 1.0, Any;
            } -> { dual_coef: Frame, x_fit: Frame }

            /// The density of the rows, as a sum of kernels around the rows of the training. `transform` gives the
            /// column `log_density`, which is `score_samples` of scikit-learn.
            KernelDensity: Transformer [] {
                /// Width of the kernel: a number, or the rule `scott` or `silverman`.
                bandwidth: Any = 1.0, Any;
                /// Kept for scikit-learn's signature. All pairs are compared.
                algorithm: Str = "auto", OneOf(&["auto", "ball_tree", "kd_tree"]);
                /// Form of the density around a row.
                kernel: Str = "gaussian", OneOf(&[
                    "gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"
                ]);
                /// Distance between rows. The density integrates to 1 with `euclidean`.
                metric: Str = "euclidean", OneOf(&[
                    "euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev"
                ]);
                /// Kept for scikit-learn's signature. The result is exact.
                atol: Float = 0.0, AtLeast(0.0);
                /// Kept for scikit-learn's signature. The result is exact.
                rtol: Float = 0.0, AtLeast(0.0);
            } -> { bandwidth: Float }
        }
    };
}
