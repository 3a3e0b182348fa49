//! Linear models.

/// Calls `$then!` with the entries of the linear models.
#[macro_export]
macro_rules! linear_estimators {
    ($then:ident) => {
        $then! {
            /// Ordinary least squares.
            LinearRegression: Regressor [device] {
                /// Whether an intercept is fitted.
                fit_intercept: Bool = true, Any;
                /// Whether coefficients must not be negative.
                positive: Bool = false, Any;
            } -> { coef: Frame, intercept: Float, rank: Int, singular: Frame, summary: Frame }

            /// Least squares with an l2 penalty on the coefficients.
            Ridge: Regressor [device sparse] {
                /// Strength of the penalty.
                alpha: Float = 1.0, AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Kept for scikit-learn's signature. The solver is exact.
                max_iter: Int = None, AtLeast(1.0);
                /// Kept for scikit-learn's signature. The solver is exact.
                tol: Float = 1e-4, AtLeast(0.0);
                /// Kept for scikit-learn's signature. The solver is exact.
                solver: Str = "auto", OneOf(&["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"]);
                /// Whether coefficients must not be negative.
                positive: Bool = false, Any;
                /// Kept for scikit-learn's signature. The solver takes no random numbers.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> { coef: Frame, intercept: Float }

            /// Ridge regression that chooses its penalty by cross-validation.
            RidgeCV: Regressor [] {
                /// Strengths of the penalty to try, above 0 without `cv`.
                alphas: Floats = [0.1, 1.0, 10.0], AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Score that is maximised. Without one, leave-one-out takes the negative mean squared error, folds
                /// take r2.
                scoring: Str = None, OneOf(&[
                    "r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error",
                ]);
                /// Number of folds. Without one: leave-one-out, by its closed form.
                cv: Int = None, AtLeast(2.0);
            } -> { coef: Frame, intercept: Float, alpha: Float, best_score: Float }

            /// Least squares with an l1 penalty: some coefficients are exactly 0.
            Lasso: Regressor [device] {
                /// Strength of the penalty.
                alpha: Float = 1.0, AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Maximum number of coordinate-descent passes.
                max_iter: Int = 1000, AtLeast(1.0);
                /// The duality gap at which the descent stops, as a multiple of the squared norm of the target.
                tol: Float = 1e-4, AtLeast(0.0);
                /// Whether coefficients must not be negative.
                positive: Bool = false, Any;
                /// Seed of the order of coefficients for `selection` random. Without one: 0.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Whether coefficients are taken in turn or at random.
                selection: Str = "cyclic", OneOf(&["cyclic", "random"]);
            } -> { coef: Frame, intercept: Float, n_iter: Int, dual_gap: Float }

            /// Least squares with an l1 and an l2 penalty.
            ElasticNet: Regressor [device] {
                /// Strength of the penalty.
                alpha: Float = 1.0, AtLeast(0.0);
                /// Share of the l1 penalty.
                l1_ratio: Float = 0.5, Within(0.0, 1.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Maximum number of coordinate-descent passes.
                max_iter: Int = 1000, AtLeast(1.0);
                /// The duality gap at which the descent stops, as a multiple of the squared norm of the target.
                tol: Float = 1e-4, AtLeast(0.0);
                /// Whether coefficients must not be negative.
                positive: Bool = false, Any;
                /// Seed of the order of coefficients for `selection` random. Without one: 0.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Whether coefficients are taken in turn or at random.
                selection: Str = "cyclic", OneOf(&["cyclic", "random"]);
            } -> { coef: Frame, intercept: Float, n_iter: Int, dual_gap: Float }

            /// Lasso that chooses its penalty by cross-validation.
            LassoCV: Regressor [] {
                /// The smallest penalty of the path, as a share of the largest one.
                eps: Float = 1e-3, Above(0.0);
                /// Number of penalties of the path, or a list of them.
                alphas: Any = 100, AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Maximum number of coordinate-descent passes.
                max_iter: Int = 1000, AtLeast(1.0);
                /// The duality gap at which the descent stops, as a multiple of the squared norm of the target.
                tol: Float = 1e-4, AtLeast(0.0);
                /// Number of folds of consecutive rows.
                cv: Int = 5, AtLeast(2.0);
                /// Whether coefficients must not be negative.
                positive: Bool = false, Any;
                /// Seed of the order of coefficients for `selection` random. Without one: 0.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Whether coefficients are taken in turn or at random.
                selection: Str = "cyclic", OneOf(&["cyclic", "random"]);
            } -> {
                coef: Frame, intercept: Float, n_iter: Int, dual_gap: Float, alpha: Float, alphas: Frame,
                mse_path: Frame,
            }

            /// Elastic net that chooses its penalty by cross-validation.
            ElasticNetCV: Regressor [] {
                /// Share of the l1 penalty, or a list of shares to try.
                l1_ratio: Any = 0.5, Within(0.0, 1.0);
                /// The smallest penalty of the path, as a share of the largest one.
                eps: Float = 1e-3, Above(0.0);
                /// Number of penalties of the path, or a list of them.
                alphas: Any = 100, AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Maximum number of coordinate-descent passes.
                max_iter: Int = 1000, AtLeast(1.0);
                /// The duality gap at which the descent stops, as a multiple of the squared norm of the target.
                tol: Float = 1e-4, AtLeast(0.0);
                /// Number of folds of consecutive rows.
                cv: Int = 5, AtLeast(2.0);
                /// Whether coefficients must not be negative.
                positive: Bool = false, Any;
                /// Seed of the order of coefficients for `selection` random. Without one: 0.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Whether coefficients are taken in turn or at random.
                selection: Str = "cyclic", OneOf(&["cyclic", "random"]);
            } -> {
                coef: Frame, intercept: Float, n_iter: Int, dual_gap: Float, alpha: Float, l1_ratio: Float,
                alphas: Frame, mse_path: Frame,
            }

            /// Logistic regression of two classes, or of several by softmax.
            LogisticRegression: Classifier [device sparse] {
                /// Kept for scikit-learn's signature: `l1` and `l2` set `l1_ratio` to 1 and 0, `none` sets `c` to
                /// infinity.
                penalty: Str = None, OneOf(&["l1", "l2", "elasticnet", "none"]);
                /// Inverse of the strength of the penalty. Infinity: no penalty.
                c: Float = 1.0, Above(0.0);
                /// Share of the l1 penalty.
                l1_ratio: Float = 0.0, Within(0.0, 1.0);
                /// The largest component of the gradient at which the iteration stops.
                tol: Float = 1e-4, AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// `balanced`, or a list with one weight for each class.
                class_weight: Any = None, Any;
                /// Kept for scikit-learn's signature. All of them have one optimum; the solver is chosen by the data.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Kept for scikit-learn's signature. All of them have one optimum; the solver is chosen by the data.
                solver: Str = "lbfgs", OneOf(&["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"]);
                /// Most iterations.
                max_iter: Int = 100, AtLeast(0.0);
            } -> { classes: Strs, coef: Frame, intercept: Frame, n_iter: Int }

            /// Logistic regression that chooses its penalty by cross-validation.
            LogisticRegressionCV: Classifier [] {
                /// Number of powers between 1e-4 and 1e4, or a list of inverse strengths.
                cs: Any = 10, Above(0.0);
                /// Shares of the l1 penalty to try.
                l1_ratios: Floats = [0.0], Within(0.0, 1.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Number of stratified folds.
                cv: Int = 5, AtLeast(2.0);
                /// Score that is maximised. Without one: accuracy.
                scoring: Str = None, OneOf(&["accuracy", "neg_log_loss"]);
                /// Kept for scikit-learn's signature. All of them have one optimum; the solver is chosen by the data.
                solver: Str = "lbfgs", OneOf(&["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"]);
                /// The largest component of the gradient at which the iteration stops.
                tol: Float = 1e-4, AtLeast(0.0);
                /// Most iterations.
                max_iter: Int = 100, AtLeast(0.0);
                /// `balanced`, or a list with one weight for each class.
                class_weight: Any = None, Any;
                /// Kept for scikit-learn's signature. The solver takes no random numbers.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> { classes: Strs, coef: Frame, intercept: Frame, n_iter: Int, c: Float, l1_ratio: Float, scores: Frame }

            /// Ridge regression on targets of -1 and 1: the class with the highest score.
            RidgeClassifier: Classifier [] {
                /// Strength of the penalty.
                alpha: Float = 1.0, AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Kept for scikit-learn's signature. The solver is exact.
                max_iter: Int = None, AtLeast(1.0);
                /// Kept for scikit-learn's signature. The solver is exact.
                tol: Float = 1e-4, AtLeast(0.0);
                /// `balanced`, or a list with one weight for each class.
                class_weight: Any = None, Any;
                /// Kept for scikit-learn's signature. The solver is exact.
                solver: Str = "auto", OneOf(&["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"]);
                /// Kept for scikit-learn's signature. The solver takes no random numbers.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> { classes: Strs, coef: Frame, intercept: Frame }

            /// Regression of counts: the deviance of Poisson and a logarithmic link.
            PoissonRegressor: Regressor [] {
                /// Strength of the l2 penalty.
                alpha: Float = 1.0, AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Kept for scikit-learn's signature. Both have one optimum; the solver is Newton's method.
                solver: Str = "lbfgs", OneOf(&["lbfgs", "newton-cholesky"]);
                /// Most iterations.
                max_iter: Int = 100, AtLeast(1.0);
                /// The largest component of the gradient at which the iteration stops.
                tol: Float = 1e-4, Above(0.0);
            } -> { coef: Frame, intercept: Float, n_iter: Int }

            /// Regression of positive numbers: the deviance of the gamma distribution and a logarithmic link.
            GammaRegressor: Regressor [] {
                /// Strength of the l2 penalty.
                alpha: Float = 1.0, AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Kept for scikit-learn's signature. Both have one optimum; the solver is Newton's method.
                solver: Str = "lbfgs", OneOf(&["lbfgs", "newton-cholesky"]);
                /// Most iterations.
                max_iter: Int = 100, AtLeast(1.0);
                /// The largest component of the gradient at which the iteration stops.
                tol: Float = 1e-4, Above(0.0);
            } -> { coef: Frame, intercept: Float, n_iter: Int }

            /// Generalized linear model with the deviance of a Tweedie distribution.
            TweedieRegressor: Regressor [] {
                /// Power of the mean in the variance: 0 normal, 1 Poisson, 2 gamma, 3 inverse Gaussian, between 1 and 2
                /// compound Poisson.
                power: Float = 0.0, Any;
                /// Strength of the l2 penalty.
                alpha: Float = 1.0, AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Link of the mean. `auto`: `log` for powers above 0, else `identity`.
                link: Str = "auto", OneOf(&["auto", "identity", "log"]);
                /// Kept for scikit-learn's signature. Both have one optimum; the solver is Newton's method.
                solver: Str = "lbfgs", OneOf(&["lbfgs", "newton-cholesky"]);
                /// Most iterations.
                max_iter: Int = 100, AtLeast(1.0);
                /// The largest component of the gradient at which the iteration stops.
                tol: Float = 1e-4, Above(0.0);
            } -> { coef: Frame, intercept: Float, n_iter: Int }

            /// Linear regression that outliers influence less: squared errors up to a threshold, absolute ones above
            /// it.
            HuberRegressor: Regressor [] {
                /// Threshold of outliers, in units of the scale.
                epsilon: Float = 1.35, AtLeast(1.0);
                /// Most iterations.
                max_iter: Int = 100, AtLeast(0.0);
                /// Strength of the l2 penalty.
                alpha: Float = 1e-4, AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// The largest component of the gradient at which the iteration stops.
                tol: Float = 1e-5, AtLeast(0.0);
            } -> { coef: Frame, intercept: Float, scale: Float, n_iter: Int }

            /// Ridge regression whose penalty maximises the marginal likelihood.
            BayesianRidge: Regressor [] {
                /// Most iterations.
                max_iter: Int = 300, AtLeast(1.0);
                /// The change of the coefficients at which the iteration stops.
                tol: Float = 1e-3, Above(0.0);
                /// Shape of the gamma prior of the precision of the noise.
                alpha_1: Float = 1e-6, AtLeast(0.0);
                /// Rate of the gamma prior of the precision of the noise.
                alpha_2: Float = 1e-6, AtLeast(0.0);
                /// Shape of the gamma prior of the precision of the coefficients.
                lambda_1: Float = 1e-6, AtLeast(0.0);
                /// Rate of the gamma prior of the precision of the coefficients.
                lambda_2: Float = 1e-6, AtLeast(0.0);
                /// First precision of the noise. Without one: 1 / variance of the target.
                alpha_init: Float = None, AtLeast(0.0);
                /// First precision of the coefficients. Without one: 1.
                lambda_init: Float = None, AtLeast(0.0);
                /// Whether the log marginal likelihood of each iteration is computed: the attribute `scores`.
                compute_score: Bool = false, Any;
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
            } -> {
                coef: Frame, intercept: Float, alpha: Float, lambda: Float, sigma: Frame, scores: Frame, n_iter: Int,
            }

            /// Bayesian regression with a precision for each coefficient, which leaves features out.
            ARDRegression: Regressor [] {
                /// Most iterations.
                max_iter: Int = 300, AtLeast(1.0);
                /// The change of the coefficients at which the iteration stops.
                tol: Float = 1e-3, AtLeast(0.0);
                /// Shape of the gamma prior of the precision of the noise.
                alpha_1: Float = 1e-6, AtLeast(0.0);
                /// Rate of the gamma prior of the precision of the noise.
                alpha_2: Float = 1e-6, AtLeast(0.0);
                /// Shape of the gamma prior of the precisions of the coefficients.
                lambda_1: Float = 1e-6, AtLeast(0.0);
                /// Rate of the gamma prior of the precisions of the coefficients.
                lambda_2: Float = 1e-6, AtLeast(0.0);
                /// Whether the log marginal likelihood of each iteration is computed: the attribute `scores`.
                compute_score: Bool = false, Any;
                /// Precision from which a coefficient is 0.
                threshold_lambda: Float = 1e4, AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
            } -> {
                coef: Frame, intercept: Float, alpha: Float, lambda: Frame, sigma: Frame, scores: Frame, n_iter: Int
            }

            /// Linear regression for a quantile of the target, such as the median, with an l1 penalty.
            QuantileRegressor: Regressor [] {
                /// The quantile, above 0 and below 1.
                quantile: Float = 0.5, Within(0.0, 1.0);
                /// Strength of the l1 penalty.
                alpha: Float = 1.0, AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Kept for scikit-learn's signature. The solver is a simplex method, whose steps `n_iter` counts.
                solver: Str = "highs", OneOf(&["highs", "highs-ds", "highs-ipm", "revised simplex"]);
            } -> { coef: Frame, intercept: Float, n_iter: Int }

            /// Least squares on the rows near the model of a random sample (RANSAC): far rows have no influence. The
            /// estimator inside is `LinearRegression`.
            RANSACRegressor: Regressor [] {
                /// Rows of a sample: an integer, or a share of the rows. None is the number of features plus 1.
                min_samples: Any = None, Any;
                /// Largest loss of a row near a model. None is the median absolute deviation of the target.
                residual_threshold: Float = None, AtLeast(0.0);
                /// Largest number of samples.
                max_trials: Int = 100, AtLeast(0.0);
                /// Samples with fewer near rows than the best one, after which the search ends. None: no limit.
                max_skips: Int = None, AtLeast(0.0);
                /// Near rows with which the search ends. None: no limit.
                stop_n_inliers: Int = None, AtLeast(0.0);
                /// R2 of the near rows with which the search ends. None: no limit.
                stop_score: Float = None, Any;
                /// Probability that one of the samples has no outlier, with which the search ends.
                stop_probability: Float = 0.99, Within(0.0, 1.0);
                /// Loss of a row.
                loss: Str = "absolute_error", OneOf(&["absolute_error", "squared_error"]);
                /// Seed of the samples.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> {
                coef: Frame, intercept: Float, inlier_mask: Frame, n_trials: Int, n_skips_no_inliers: Int
            }

            /// The spatial median of least squares on many subsets of the rows: up to 29 % of outliers have little
            /// influence.
            TheilSenRegressor: Regressor [] {
                /// Whether an intercept is fitted.
                fit_intercept: Bool = true, Any;
                /// Largest number of subsets. All subsets are taken if there are no more.
                max_subpopulation: Float = 1e4, AtLeast(1.0);
                /// Rows of a subset. None is the number of features plus 1 with an intercept.
                n_subsamples: Int = None, AtLeast(1.0);
                /// Most iterations of the spatial median.
                max_iter: Int = 300, AtLeast(0.0);
                /// Movement of the spatial median at which the iteration stops.
                tol: Float = 1e-3, AtLeast(0.0);
                /// Seed of the subsets.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> { coef: Frame, intercept: Float, breakdown: Float, n_subpopulation: Int, n_iter: Int }
        }
    };
}
