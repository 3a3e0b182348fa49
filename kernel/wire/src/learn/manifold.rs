//! Manifolds: maps of rows in two or three dimensions.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! manifold_estimators {
    ($then:ident) => {
        $then! {
            /// t-SNE: places rows in two dimensions so that near rows stay near. It places its training rows alone:
            /// `fit_transform` gives them, and new rows have no place.
            TSNE: Transformer [] {
                /// Number of columns of the result: 1, 2 or 3.
                n_components: Int = 2, Within(1.0, 3.0);
                /// About the number of neighbours that each row has. Below the number of rows.
                perplexity: Float = 30.0, Above(0.0);
                /// Factor of the attraction in the first 250 iterations.
                early_exaggeration: Float = 12.0, AtLeast(1.0);
                /// Length of the steps: a number, or `auto`, which is rows / `early_exaggeration` / 4 and at least 50.
                learning_rate: Any = "auto", Any;
                /// Largest number of iterations.
                max_iter: Int = 1000, AtLeast(250.0);
                /// Iterations without a smaller divergence after which the training ends.
                n_iter_without_progress: Int = 300, AtLeast(0.0);
                /// Length of the gradient at which the training ends.
                min_grad_norm: Float = 1e-7, AtLeast(0.0);
                /// Distance between rows.
                metric: Str = "euclidean", OneOf(&[
                    "euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "cosine"
                ]);
                /// First places: `pca`, `random`, or a list with the places of the rows one after the other.
                init: Any = "pca", Any;
                /// Seed of the first places.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// `barnes_hut` takes the nearest rows and a tree, `exact` all pairs of rows. Below 500 rows the forces
                /// of `barnes_hut` are exact, too, and the best of 4 starts is kept.
                method: Str = "barnes_hut", OneOf(&["barnes_hut", "exact"]);
                /// Width of a cell of the tree, relative to its distance, below which it stands for its rows.
                angle: Float = 0.5, Within(0.0, 1.0);
            } -> { embedding: Frame, kl_divergence: Float, n_iter: Int }

            /// Isomap: places rows so that distances are the lengths of the shortest paths along near rows.
            Isomap: Transformer [] {
                /// Number of near rows of each row. Not used with `radius`.
                n_neighbors: Any = 5, Any;
                /// Distance up to which rows are near. None takes `n_neighbors`.
                radius: Float = None, Above(0.0);
                /// Number of columns of the result.
                n_components: Int = 2, AtLeast(1.0);
                /// Kept for scikit-learn's signature. The solver is exact.
                eigen_solver: Str = "auto", OneOf(&["auto", "arpack", "dense"]);
                /// Kept for scikit-learn's signature. The solver is exact.
                tol: Float = 0.0, AtLeast(0.0);
                /// Kept for scikit-learn's signature. Paths are those of Dijkstra's algorithm.
                path_method: Str = "auto", OneOf(&["auto", "FW", "D"]);
                /// Kept for scikit-learn's signature. The search is exact.
                neighbors_algorithm: Str = "auto", OneOf(&["auto", "brute", "kd_tree", "ball_tree"]);
                /// Distance between rows.
                metric: Str = "minkowski", OneOf(&[
                    "minkowski", "euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev"
                ]);
                /// Power of `minkowski`.
                p: Float = 2.0, AtLeast(1.0);
            } -> { embedding: Frame, eigenvalues: Frame, reconstruction_error: Float }

            /// Locally linear embedding: places rows so that each is the same sum of its near rows as in the features.
            LocallyLinearEmbedding: Transformer [] {
                /// Number of near rows of each row.
                n_neighbors: Int = 5, AtLeast(1.0);
                /// Number of columns of the result.
                n_components: Int = 2, AtLeast(1.0);
                /// Number that is added to the variances of near rows, relative to their sum.
                reg: Float = 1e-3, AtLeast(0.0);
                /// Kept for scikit-learn's signature. The solver is exact.
                eigen_solver: Str = "auto", OneOf(&["auto", "arpack", "dense"]);
                /// Kept for scikit-learn's signature. The solver is exact.
                tol: Float = 1e-6, AtLeast(0.0);
                /// Kept for scikit-learn's signature. The solver is exact.
                max_iter: Int = 100, AtLeast(1.0);
                /// Method. `hessian`, `modified` and `ltsa` are not there.
                method: Str = "standard", OneOf(&["standard"]);
                /// Kept for scikit-learn's signature. The search is exact.
                neighbors_algorithm: Str = "auto", OneOf(&["auto", "brute", "kd_tree", "ball_tree"]);
                /// Kept for scikit-learn's signature. The result needs no seed.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> { embedding: Frame, reconstruction_error: Float }

            /// Multidimensional scaling: places rows so that their distances are those of the features. It places its
            /// training rows alone: `fit_transform` gives them.
            MDS: Transformer [] {
                /// Number of columns of the result.
                n_components: Int = 2, AtLeast(1.0);
                /// Whether the distances themselves are kept. `false`, their order alone, is not there.
                metric_mds: Bool = true, Any;
                /// Number of random starts; the one with the least stress is kept.
                n_init: Int = 1, AtLeast(1.0);
                /// First places: `random`, or `classical_mds`, which has one start.
                init: Str = "random", OneOf(&["random", "classical_mds"]);
                /// Largest number of iterations.
                max_iter: Int = 300, AtLeast(1.0);
                /// Fall of the stress at which the iteration ends, relative to the sum of the squared distances.
                eps: Float = 1e-6, AtLeast(0.0);
                /// Seed of the starts.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Distance between rows.
                metric: Str = "euclidean", OneOf(&["euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev"]);
                /// Whether the stress is divided by the sum of the squared distances (Stress-1). `auto` is `false`.
                normalized_stress: Any = "auto", Any;
            } -> { embedding: Frame, stress: Float, n_iter: Int }

            /// Classical multidimensional scaling: eigenvectors of the squared distances. It places its training rows
            /// alone: `fit_transform` gives them.
            ClassicalMDS: Transformer [] {
                /// Number of columns of the result.
                n_components: Int = 2, AtLeast(1.0);
                /// Distance between rows.
                metric: Str = "euclidean", OneOf(&["euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev"]);
            } -> { embedding: Frame, eigenvalues: Frame }

            /// Spectral embedding (Laplacian eigenmaps): eigenvectors of a graph of similar rows. It places its
            /// training rows alone: `fit_transform` gives them.
            SpectralEmbedding: Transformer [] {
                /// Number of columns of the result.
                n_components: Int = 2, AtLeast(1.0);
                /// Similarity of rows: whether they are near, or the kernel `rbf`.
                affinity: Str = "nearest_neighbors", OneOf(&["nearest_neighbors", "rbf"]);
                /// Factor of the kernel. None is 1 / features.
                gamma: Float = None, AtLeast(0.0);
                /// Kept for scikit-learn's signature. The result is exact.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Kept for scikit-learn's signature. The solver is exact.
                eigen_solver: Str = None, OneOf(&["arpack", "lobpcg", "amg"]);
                /// Number of near rows of each row, itself included. None is a tenth of the rows.
                n_neighbors: Int = None, AtLeast(1.0);
            } -> { embedding: Frame, n_neighbors: Int, gamma: Float }
        }
    };
}
