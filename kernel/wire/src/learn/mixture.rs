//! Mixtures of normal distributions, and discriminant analysis.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! mixture_estimators {
    ($then:ident) => {
        $then! {
            /// A mixture of normal distributions, by expectation maximisation. `predict` gives the column `label`, the
            /// most probable component. `predict_proba` gives the columns `proba_0` and so on, `outputs` also
            /// `log_likelihood`, the logarithm of the density of the row.
            GaussianMixture: Clusterer [] {
                /// Number of components.
                n_components: Int = 1, AtLeast(1.0);
                /// Form of the covariances: `full`, `tied` (one matrix for all components), `diag` or `spherical` (one
                /// variance for each component).
                covariance_type: Str = "full", OneOf(&["full", "tied", "diag", "spherical"]);
                /// Change of the mean log-likelihood at which a training ends.
                tol: Float = 1e-3, AtLeast(0.0);
                /// Number that is added to all variances.
                reg_covar: Float = 1e-6, AtLeast(0.0);
                /// Largest number of iterations of one training.
                max_iter: Int = 100, AtLeast(1.0);
                /// Number of initialisations; the one with the highest likelihood is kept.
                n_init: Int = 1, AtLeast(1.0);
                /// First responsibilities: clusters of `kmeans`, rows by `k-means++`, `random` numbers, or
                /// `random_from_data` (rows of the data).
                init_params: Str = "kmeans", OneOf(&["kmeans", "k-means++", "random", "random_from_data"]);
                /// First weights, one for each component. None takes the first responsibilities.
                weights_init: Floats = None, Within(0.0, 1.0);
                /// First means of the components, one component after the other.
                means_init: Floats = None, Any;
                /// Seed of the first responsibilities.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> {
                weights: Frame, means: Frame, covariances: Frame, lower_bound: Float, n_iter: Int, converged: Int,
                aic: Float, bic: Float
            }

            /// A mixture of normal distributions, by variational inference: components that the rows do not need lose
            /// their weight. `predict`, `predict_proba` and `outputs` give the columns of `GaussianMixture`.
            BayesianGaussianMixture: Clusterer [] {
                /// Largest number of components.
                n_components: Int = 1, AtLeast(1.0);
                /// Form of the covariances: `full`, `tied` (one matrix for all components), `diag` or `spherical` (one
                /// variance for each component).
                covariance_type: Str = "full", OneOf(&["full", "tied", "diag", "spherical"]);
                /// Change of the lower bound at which a training ends.
                tol: Float = 1e-3, AtLeast(0.0);
                /// Number that is added to all variances.
                reg_covar: Float = 1e-6, AtLeast(0.0);
                /// Largest number of iterations of one training.
                max_iter: Int = 100, AtLeast(1.0);
                /// Number of initialisations; the one with the highest lower bound is kept.
                n_init: Int = 1, AtLeast(1.0);
                /// First responsibilities: clusters of `kmeans`, rows by `k-means++`, `random` numbers, or
                /// `random_from_data` (rows of the data).
                init_params: Str = "kmeans", OneOf(&["kmeans", "k-means++", "random", "random_from_data"]);
                /// Prior of the weights: a Dirichlet process (stick-breaking), or a Dirichlet distribution.
                weight_concentration_prior_type: Str = "dirichlet_process", OneOf(&[
                    "dirichlet_process", "dirichlet_distribution"
                ]);
                /// Concentration of the prior: the smaller, the fewer components. None is 1 / `n_components`.
                weight_concentration_prior: Float = None, Above(0.0);
                /// Precision of the prior of the means, in units of that of a component. None is 1.
                mean_precision_prior: Float = None, Above(0.0);
                /// Mean of the prior of the means. None is the mean of the rows.
                mean_prior: Floats = None, Any;
                /// Degrees of freedom of the prior of the covariances, above the number of features minus 1. None is
                /// the number of features.
                degrees_of_freedom_prior: Float = None, Above(0.0);
                /// Prior of the covariances: a matrix row after row, variances (`diag`), or a variance (`spherical`).
                /// None is that of the rows.
                covariance_prior: Any = None, Any;
                /// Seed of the first responsibilities.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> {
                weights: Frame, means: Frame, covariances: Frame, mean_precision: Frame, degrees_of_freedom: Frame,
                weight_concentration: Frame, lower_bound: Float, n_iter: Int, converged: Int
            }

            /// Linear discriminant analysis: normal distributions with one covariance matrix. `transform` gives the
            /// columns `lda0` and so on, the directions in which the classes differ most.
            LinearDiscriminantAnalysis: Classifier [] {
                /// Solver: `svd`, `lsqr` (without directions) or `eigen`. The last two take `shrinkage`.
                solver: Str = "svd", OneOf(&["svd", "lsqr", "eigen"]);
                /// How far the covariance matrix is drawn to a multiple of the identity: None, a number between 0 and
                /// 1, or `auto` (Ledoit and Wolf).
                shrinkage: Any = None, Any;
                /// Probability of each class, in the order of the classes. None takes the shares of the rows.
                priors: Floats = None, Within(0.0, 1.0);
                /// Number of directions, at most the number of classes minus 1. None is that number.
                n_components: Int = None, AtLeast(1.0);
                /// Whether the solver `svd` stores the covariance matrix, too.
                store_covariance: Bool = false, Any;
                /// Singular values up to it count as 0.
                tol: Float = 1e-4, AtLeast(0.0);
            } -> {
                coef: Frame, intercept: Frame, means: Frame, priors: Frame, scalings: Frame, xbar: Frame,
                explained_variance_ratio: Frame, covariance: Frame
            }

            /// Quadratic discriminant analysis: a normal distribution for each class.
            QuadraticDiscriminantAnalysis: Classifier [] {
                /// Solver: `svd`, or `eigen`, which takes `shrinkage`.
                solver: Str = "svd", OneOf(&["svd", "eigen"]);
                /// How far the covariance matrices are drawn to a multiple of the identity: None, a number between 0
                /// and 1, or `auto` (Ledoit and Wolf).
                shrinkage: Any = None, Any;
                /// Probability of each class, in the order of the classes. None takes the shares of the rows.
                priors: Floats = None, Within(0.0, 1.0);
                /// How far the variances along the axes of the solver `svd` are drawn to 1.
                reg_param: Float = 0.0, Within(0.0, 1.0);
                /// Whether the covariance matrices are stored, too.
                store_covariance: Bool = false, Any;
                /// Variances up to it count as 0.
                tol: Float = 1e-4, AtLeast(0.0);
            } -> { means: Frame, priors: Frame, scalings: Frame, rotations: Frame, covariance: Frame }
        }
    };
}
