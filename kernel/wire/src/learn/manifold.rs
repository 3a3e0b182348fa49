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
        }
    };
}
