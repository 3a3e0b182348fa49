//! Linear models.

/// Calls `$then!` with the entries of the linear models.
#[macro_export]
macro_rules! linear_estimators {
    ($then:ident) => {
        $then! {
            /// Ordinary least squares.
            LinearRegression: Regressor [] {
                /// Whether an intercept is fitted.
                fit_intercept: Bool = true, Any;
                /// Whether coefficients must not be negative.
                positive: Bool = false, Any;
            } -> { coef: Frame, intercept: Float, rank: Int, singular: Frame, summary: Frame }

            /// Least squares with an l2 penalty on the coefficients.
            Ridge: Regressor [] {
                /// Strength of the penalty.
                alpha: Float = 1.0, AtLeast(0.0);
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Kept for scikit-learn's signature. The solver is always the exact one.
                solver: Str = "auto", OneOf(&["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"]);
                /// Tolerance of iterative solvers.
                tol: Float = 1e-4, AtLeast(0.0);
            } -> { coef: Frame, intercept: Float }
        }
    };
}
