//! Clustering, and the search for outliers.

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

            /// k-means whose centres move to small batches of random rows: faster than `KMeans` on many rows, and less
            /// exact.
            MiniBatchKMeans: Clusterer [] {
                /// Number of clusters.
                n_clusters: Int = 8, AtLeast(1.0);
                /// First centres: `k-means++`, `random` (rows of the data), or a list with the centres one after the
                /// other.
                init: Any = "k-means++", Any;
                /// Largest number of passes over as many rows as there are.
                max_iter: Int = 100, AtLeast(1.0);
                /// Rows of a batch.
                batch_size: Int = 1024, AtLeast(1.0);
                /// Squared movement of the centres at which a training ends, relative to the mean variance of the
                /// features.
                tol: Float = 0.0, AtLeast(0.0);
                /// Batches without a smaller inertia after which a training ends.
                max_no_improvement: Int = 10, AtLeast(1.0);
                /// Rows of the sample in which the first centres are searched. None is 3 batches.
                init_size: Int = None, AtLeast(1.0);
                /// Number of samples for the first centres. `auto` is 3 for `random`, else 1.
                n_init: Any = "auto", Any;
                /// Share of the largest cluster below which a centre moves to a random row.
                reassignment_ratio: Float = 0.01, AtLeast(0.0);
                /// Seed of the batches.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> { cluster_centers: Frame, labels: Frame, inertia: Float, n_iter: Int }

            /// Clusters around the places with the most rows near them.
            MeanShift: Clusterer [] {
                /// Radius in which rows are near. None is the mean distance to the nearest 30 % of the rows.
                bandwidth: Float = None, Above(0.0);
                /// Whether the seeds are cells of a grid. Otherwise all rows are seeds.
                bin_seeding: Bool = false, Any;
                /// Rows of a cell that make it a seed.
                min_bin_freq: Int = 1, AtLeast(1.0);
                /// Whether all rows belong to a cluster. Otherwise rows that are not near a centre have the label -1.
                cluster_all: Bool = true, Any;
                /// Largest number of moves of a seed.
                max_iter: Int = 300, AtLeast(1.0);
            } -> { cluster_centers: Frame, labels: Frame, n_iter: Int }

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

            /// Clusters of any density and noise, by the stability of clusters over all distances. `fit_predict` gives
            /// the clusters of the training rows; new rows have none. The time grows with the square of the rows.
            HDBSCAN: Clusterer [] {
                /// Rows that make a cluster.
                min_cluster_size: Int = 5, AtLeast(2.0);
                /// Number of neighbours, the row itself included, whose distance is the density of a row. None is
                /// `min_cluster_size`.
                min_samples: Int = None, AtLeast(1.0);
                /// Distance below which clusters are not split.
                cluster_selection_epsilon: Float = 0.0, AtLeast(0.0);
                /// Largest number of rows of a cluster.
                max_cluster_size: Int = None, AtLeast(1.0);
                /// Distance between rows.
                metric: Str = "euclidean", OneOf(&[
                    "euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "cosine"
                ]);
                /// Divisor of the distances.
                alpha: Float = 1.0, Above(0.0);
                /// Kept for scikit-learn's signature. All algorithms have the same result.
                algorithm: Str = "auto", OneOf(&["auto", "ball_tree", "kd_tree", "brute"]);
                /// Kept for scikit-learn's signature. The tree chooses its leaves.
                leaf_size: Int = 40, AtLeast(1.0);
                /// Clusters that are chosen: `eom`, the stable ones (excess of mass), or `leaf`, the smallest ones.
                cluster_selection_method: Str = "eom", OneOf(&["eom", "leaf"]);
                /// Whether all rows may be one cluster.
                allow_single_cluster: Bool = false, Any;
            } -> { labels: Frame, probabilities: Frame }

            /// Clusters by merges of the nearest ones. `fit_predict` gives the clusters of the training rows; new rows
            /// have none. Takes at most 20,000 rows.
            AgglomerativeClustering: Clusterer [] {
                /// Number of clusters. Without effect if `distance_threshold` is set.
                n_clusters: Int = 2, AtLeast(1.0);
                /// Distance between rows. `ward` takes `euclidean` alone.
                metric: Str = "euclidean", OneOf(&[
                    "euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "cosine"
                ]);
                /// Distance between clusters: `ward` (growth of the variance), or the `complete` (largest), `average`
                /// or `single` (smallest) distance of their rows.
                linkage: Str = "ward", OneOf(&["ward", "complete", "average", "single"]);
                /// Distance from which clusters are not merged.
                distance_threshold: Float = None, AtLeast(0.0);
            } -> { labels: Frame, merges: Frame, n_clusters: Int }

            /// Outliers by random trees: few splits separate them from the other rows. `predict` gives the column
            /// `label`, -1 for outliers and else 1. `outputs` also gives `score`, which is lower for outliers.
            IsolationForest: Clusterer [] {
                /// Number of trees.
                n_estimators: Int = 100, AtLeast(1.0);
                /// Rows of a tree: a number, a share, or `auto` (256).
                max_samples: Any = "auto", Any;
                /// Share of outliers (at most 0.5) that sets the threshold. `auto` is the threshold -0.5 of the score.
                contamination: Any = "auto", Any;
                /// Features of a tree: a number, or a share.
                max_features: Any = 1.0, Any;
                /// Whether the rows of a tree are drawn with replacement.
                bootstrap: Bool = false, Any;
                /// Seed of the trees.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> { offset: Float, max_samples: Int }

            /// Outliers by density: they lie less densely than their neighbours. `fit_predict` gives the column `label`
            /// of the training rows, -1 for outliers and else 1. With `novelty`, `predict` gives that of new rows, and
            /// `outputs` also `score`, which is lower for outliers.
            LocalOutlierFactor: Clusterer [] {
                /// Number of neighbours.
                n_neighbors: Int = 20, AtLeast(1.0);
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
                /// Share of outliers (at most 0.5) that sets the threshold. `auto` is the threshold -1.5 of the factor.
                contamination: Any = "auto", Any;
                /// Whether new rows are predicted, and not the training rows.
                novelty: Bool = false, Any;
            } -> { labels: Frame, negative_outlier_factor: Frame, offset: Float, n_neighbors: Int }

            /// Clusters of k-means on the eigenvectors of a graph of similar rows.
            SpectralClustering: Clusterer [] {
                /// Number of clusters.
                n_clusters: Int = 8, AtLeast(1.0);
                /// Kept for scikit-learn's signature. The solver is exact.
                eigen_solver: Str = None, OneOf(&["arpack", "lobpcg", "amg"]);
                /// Number of eigenvectors. None is `n_clusters`.
                n_components: Int = None, AtLeast(1.0);
                /// Seed of k-means.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Number of initialisations of k-means.
                n_init: Int = 10, AtLeast(1.0);
                /// Factor of the kernel.
                gamma: Float = 1.0, AtLeast(0.0);
                /// Similarity of rows: a kernel, or whether they are near.
                affinity: Str = "rbf", OneOf(&[
                    "rbf", "nearest_neighbors", "linear", "poly", "polynomial", "laplacian", "sigmoid", "cosine", "chi2"
                ]);
                /// Number of near rows of each row, itself included.
                n_neighbors: Int = 10, AtLeast(1.0);
                /// How clusters follow from eigenvectors: `kmeans`, or `cluster_qr`, which needs no seed.
                assign_labels: Str = "kmeans", OneOf(&["kmeans", "cluster_qr"]);
                /// Degree of `poly`.
                degree: Float = 3.0, AtLeast(0.0);
                /// Summand of `poly` and `sigmoid`.
                coef0: Float = 1.0, Any;
            } -> { labels: Frame, n_clusters: Int }

            /// k-means that splits one cluster after the other in two.
            BisectingKMeans: Clusterer [] {
                /// Number of clusters.
                n_clusters: Int = 8, AtLeast(1.0);
                /// First centres of a split: `random` rows, or `k-means++`.
                init: Str = "random", OneOf(&["random", "k-means++"]);
                /// Number of initialisations of a split; the one with the lowest inertia is kept.
                n_init: Int = 1, AtLeast(1.0);
                /// Seed of the first centres.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Largest number of iterations of a split.
                max_iter: Int = 300, AtLeast(1.0);
                /// Squared movement of the centres at which a split ends.
                tol: Float = 1e-4, AtLeast(0.0);
                /// Kept for scikit-learn's signature. Both algorithms have the same result.
                algorithm: Str = "lloyd", OneOf(&["lloyd", "elkan"]);
                /// The cluster that is split next: that of the largest inertia, or that of the most rows.
                bisecting_strategy: Str = "biggest_inertia", OneOf(&["biggest_inertia", "largest_cluster"]);
            } -> { cluster_centers: Frame, labels: Frame, inertia: Float }

            /// Small clusters from one pass over the rows, which are then clustered by Ward's linkage. `transform`
            /// gives the columns `birch0` and so on, the distances to the small clusters.
            Birch: Clusterer [] {
                /// Largest radius of a small cluster.
                threshold: Float = 0.5, AtLeast(0.0);
                /// Largest number of clusters of a node of the tree.
                branching_factor: Int = 50, AtLeast(2.0);
                /// Number of clusters. None: the small clusters.
                n_clusters: Any = 3, Any;
                /// Whether the labels of the training rows are computed.
                compute_labels: Bool = true, Any;
            } -> { subcluster_centers: Frame, subcluster_labels: Frame, labels: Frame }

            /// Clusters around exemplars, which are rows, by messages between all pairs of rows.
            AffinityPropagation: Clusterer [] {
                /// Share of the last messages that is kept.
                damping: Float = 0.5, Within(0.5, 1.0);
                /// Largest number of iterations.
                max_iter: Int = 200, AtLeast(1.0);
                /// Iterations without new exemplars after which the training ends.
                convergence_iter: Int = 15, AtLeast(1.0);
                /// Similarity of a row with itself: the larger, the more clusters. None is the median similarity.
                preference: Float = None, Any;
                /// Similarity of rows: minus their squared distance.
                affinity: Str = "euclidean", OneOf(&["euclidean"]);
                /// Seed of the numbers that break ties.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> { cluster_centers: Frame, labels: Frame, inertia: Float, n_iter: Int }

            /// Clusters of different densities, and noise: rows in the order of their reachability.
            OPTICS: Clusterer [] {
                /// Number of near rows of a core sample, itself included: an integer, or a share of the rows.
                min_samples: Any = 5, Any;
                /// Largest distance between neighbours. None: no limit.
                max_eps: Float = None, AtLeast(0.0);
                /// Distance between rows.
                metric: Str = "minkowski", OneOf(&[
                    "minkowski", "euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev"
                ]);
                /// Power of `minkowski`.
                p: Float = 2.0, AtLeast(1.0);
                /// Whether clusters are the steep places of the reachability (`xi`), or those of DBSCAN with `eps`.
                cluster_method: Str = "xi", OneOf(&["xi", "dbscan"]);
                /// Radius of `dbscan`. None is `max_eps`.
                eps: Float = None, AtLeast(0.0);
                /// Least steepness of `xi`.
                xi: Float = 0.05, Within(0.0, 1.0);
                /// Whether clusters of `xi` end with rows that are reached from inside.
                predecessor_correction: Bool = true, Any;
                /// Least number of rows of a cluster of `xi`: an integer, or a share of the rows. None is
                /// `min_samples`.
                min_cluster_size: Any = None, Any;
                /// Kept for scikit-learn's signature. The search is exact.
                algorithm: Str = "auto", OneOf(&["auto", "ball_tree", "kd_tree", "brute"]);
            } -> {
                labels: Frame, reachability: Frame, ordering: Frame, core_distances: Frame, predecessor: Frame,
                cluster_hierarchy: Frame
            }
        }
    };
}
