//! Clustering.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! cluster_estimators {
    ($then:ident) => {
        $then! {
            /// Clusters with the smallest sum of squared distances to their centres.
            KMeans: Clusterer [device] {
                /// Number of clusters.
                n_clusters: Int = 8, AtLeast(1.0);
                /// First centres: `k-means++`, `random` (rows of the data), or a list with the centres one after the
                /// other.
                init: Any = "k-means++", Any;
                /// Number of initialisations; the run with the lowest inertia is kept. `auto` is 10 for `random`, else
                /// 1.
                n_init: Any = "auto", Any;
                /// Largest number of iterations of one training.
                max_iter: Int = 300, AtLeast(1.0);
                /// Squared movement of the centres at which a training ends, relative to the mean variance of the
                /// features.
                tol: Float = 1e-4, AtLeast(0.0);
                /// Seed of the first centres.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Kept for scikit-learn's signature. Both algorithms have the same result.
                algorithm: Str = "lloyd", OneOf(&["lloyd", "elkan"]);
            } -> { cluster_centers: Frame, labels: Frame, inertia: Float, n_iter: Int }

            /// Clusters of rows that lie densely, and noise.
            DBSCAN: Clusterer [] {
                /// Largest distance between neighbours.
                eps: Float = 0.5, Above(0.0);
                /// Number of neighbours, the row itself included, or their weight, that makes a row a core sample.
                min_samples: Int = 5, AtLeast(1.0);
                /// Distance between rows.
                metric: Str = "euclidean", OneOf(&[
                    "euclidean", "l2", "minkowski", "manhattan", "l1", "cityblock", "chebyshev", "cosine"
                ]);
                /// Power of the distance `minkowski`. None is 2.
                p: Float = None, AtLeast(1.0);
                /// Kept for scikit-learn's signature. All algorithms have the same result.
                algorithm: Str = "auto", OneOf(&["auto", "ball_tree", "kd_tree", "brute"]);
                /// Kept for scikit-learn's signature. The tree chooses its leaves.
                leaf_size: Int = 30, AtLeast(1.0);
            } -> { labels: Frame, core_sample_indices: Frame, components: Frame }
        }
    };
}
