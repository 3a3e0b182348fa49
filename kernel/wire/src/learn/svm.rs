//! Support vector machines.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! svm_estimators {
    ($then:ident) => {
        $then! {
            /// Linear support vector machine of two classes, or of each class against the others.
            LinearSVC: Classifier [sparse] {
                /// Penalty of the coefficients: `l1` or `l2`.
                penalty: Str = "l2", OneOf(&["l1", "l2"]);
                /// Loss of a row inside of the margin, or on the wrong side.
                loss: Str = "squared_hinge", OneOf(&["hinge", "squared_hinge"]);
                /// Kept for scikit-learn's signature. Both problems have one optimum, and the loss decides the solver.
                dual: Any = "auto", Any;
                /// Tolerance of the solver, as in LIBLINEAR.
                tol: Float = 1e-4, Above(0.0);
                /// Factor of the losses: the inverse of the strength of the penalty.
                c: Float = 1.0, Above(0.0);
                /// `ovr`: each class against the others.
                multi_class: Str = "ovr", OneOf(&["ovr", "crammer_singer"]);
                /// Whether an intercept is fitted. It is penalised as the coefficient of a constant feature.
                fit_intercept: Bool = true, Any;
                /// Value of the constant feature of the intercept. Large values weaken the penalty of the intercept.
                intercept_scaling: Float = 1.0, Above(0.0);
                /// `balanced`, or a list with one weight for each class.
                class_weight: Any = None, Any;
                /// Seed of the order of rows or columns in coordinate descent. Without one: 0.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Most passes of the solver.
                max_iter: Int = 1000, AtLeast(0.0);
            } -> { classes: Strs, coef: Frame, intercept: Frame, n_iter: Int }

            /// Linear support vector regression: errors up to `epsilon` cost nothing.
            LinearSVR: Regressor [sparse] {
                /// Largest error without a loss.
                epsilon: Float = 0.0, AtLeast(0.0);
                /// Tolerance of the solver, as in LIBLINEAR.
                tol: Float = 1e-4, Above(0.0);
                /// Factor of the losses: the inverse of the strength of the penalty.
                c: Float = 1.0, Above(0.0);
                /// Loss of an error above `epsilon`.
                loss: Str = "epsilon_insensitive", OneOf(&["epsilon_insensitive", "squared_epsilon_insensitive"]);
                /// Whether an intercept is fitted. It is penalised as the coefficient of a constant feature.
                fit_intercept: Bool = true, Any;
                /// Value of the constant feature of the intercept. Large values weaken the penalty of the intercept.
                intercept_scaling: Float = 1.0, Above(0.0);
                /// Kept for scikit-learn's signature. Both problems have one optimum, and the loss decides the solver.
                dual: Any = "auto", Any;
                /// Seed of the order of rows in coordinate descent. Without one: 0.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Most passes of the solver.
                max_iter: Int = 1000, AtLeast(0.0);
            } -> { coef: Frame, intercept: Float, n_iter: Int }

            /// Support vector machine with a kernel, by a machine for each pair of classes.
            SVC: Classifier [] {
                /// Factor of the losses: the inverse of the strength of the penalty.
                c: Float = 1.0, Above(0.0);
                /// Kernel of two rows.
                kernel: Str = "rbf", OneOf(&["linear", "poly", "rbf", "sigmoid"]);
                /// Degree of the kernel `poly`.
                degree: Int = 3, AtLeast(0.0);
                /// Factor in the kernels `rbf`, `poly` and `sigmoid`. `auto` is 1 / features, `scale` is that divided
                /// by the variance of all values.
                gamma: Any = "scale", Any;
                /// Constant in the kernels `poly` and `sigmoid`.
                coef0: Float = 0.0, Any;
                /// Kept for scikit-learn's signature. All rows stay in the problem.
                shrinking: Bool = true, Any;
                /// Whether there are probabilities, by Platt's scaling with five folds. They can differ from the votes.
                probability: Bool = false, Any;
                /// Largest violation of the optimality conditions.
                tol: Float = 1e-3, Above(0.0);
                /// `balanced`, or a list with one weight for each class.
                class_weight: Any = None, Any;
                /// Most steps of the solver. None: no limit.
                max_iter: Int = None, AtLeast(1.0);
                /// Scores of several classes: for each class (`ovr`) or for each pair (`ovo`).
                decision_function_shape: Str = "ovr", OneOf(&["ovr", "ovo"]);
                /// Whether the score decides between classes with as many votes. Otherwise the first one is taken.
                break_ties: Bool = false, Any;
                /// Seed of the folds of `probability`. Without one: 0.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> {
                classes: Strs, support: Frame, support_vectors: Frame, n_support: Frame, dual_coef: Frame,
                intercept: Frame, coef: Frame, n_iter: Frame,
            }

            /// Support vector machine with a kernel, by the share of support vectors.
            NuSVC: Classifier [] {
                /// Largest share of rows inside of the margin, and smallest share of support vectors.
                nu: Float = 0.5, Within(0.0, 1.0);
                /// Kernel of two rows.
                kernel: Str = "rbf", OneOf(&["linear", "poly", "rbf", "sigmoid"]);
                /// Degree of the kernel `poly`.
                degree: Int = 3, AtLeast(0.0);
                /// Factor in the kernels `rbf`, `poly` and `sigmoid`. `auto` is 1 / features, `scale` is that divided
                /// by the variance of all values.
                gamma: Any = "scale", Any;
                /// Constant in the kernels `poly` and `sigmoid`.
                coef0: Float = 0.0, Any;
                /// Kept for scikit-learn's signature. All rows stay in the problem.
                shrinking: Bool = true, Any;
                /// Whether there are probabilities, by Platt's scaling with five folds. They can differ from the votes.
                probability: Bool = false, Any;
                /// Largest violation of the optimality conditions.
                tol: Float = 1e-3, Above(0.0);
                /// Kept for scikit-learn's signature. Weights of classes have no effect here.
                class_weight: Any = None, Any;
                /// Most steps of the solver. None: no limit.
                max_iter: Int = None, AtLeast(1.0);
                /// Scores of several classes: for each class (`ovr`) or for each pair (`ovo`).
                decision_function_shape: Str = "ovr", OneOf(&["ovr", "ovo"]);
                /// Whether the score decides between classes with as many votes. Otherwise the first one is taken.
                break_ties: Bool = false, Any;
                /// Seed of the folds of `probability`. Without one: 0.
                random_state: Int = None, Within(0.0, 4294967295.0);
            } -> {
                classes: Strs, support: Frame, support_vectors: Frame, n_support: Frame, dual_coef: Frame,
                intercept: Frame, coef: Frame, n_iter: Frame,
            }

            /// Support vector regression with a kernel: errors up to `epsilon` cost nothing.
            SVR: Regressor [] {
                /// Kernel of two rows.
                kernel: Str = "rbf", OneOf(&["linear", "poly", "rbf", "sigmoid"]);
                /// Degree of the kernel `poly`.
                degree: Int = 3, AtLeast(0.0);
                /// Factor in the kernels `rbf`, `poly` and `sigmoid`. `auto` is 1 / features, `scale` is that divided
                /// by the variance of all values.
                gamma: Any = "scale", Any;
                /// Constant in the kernels `poly` and `sigmoid`.
                coef0: Float = 0.0, Any;
                /// Largest violation of the optimality conditions.
                tol: Float = 1e-3, Above(0.0);
                /// Factor of the losses: the inverse of the strength of the penalty.
                c: Float = 1.0, Above(0.0);
                /// Largest error without a loss.
                epsilon: Float = 0.1, AtLeast(0.0);
                /// Kept for scikit-learn's signature. All rows stay in the problem.
                shrinking: Bool = true, Any;
                /// Most steps of the solver. None: no limit.
                max_iter: Int = None, AtLeast(1.0);
            } -> {
                support: Frame, support_vectors: Frame, dual_coef: Frame, intercept: Float, coef: Frame, n_iter: Int,
            }

            /// Support vector regression with a kernel, by the share of support vectors.
            NuSVR: Regressor [] {
                /// Largest share of rows with a loss, and smallest share of support vectors.
                nu: Float = 0.5, Within(0.0, 1.0);
                /// Factor of the losses: the inverse of the strength of the penalty.
                c: Float = 1.0, Above(0.0);
                /// Kernel of two rows.
                kernel: Str = "rbf", OneOf(&["linear", "poly", "rbf", "sigmoid"]);
                /// Degree of the kernel `poly`.
                degree: Int = 3, AtLeast(0.0);
                /// Factor in the kernels `rbf`, `poly` and `sigmoid`. `auto` is 1 / features, `scale` is that divided
                /// by the variance of all values.
                gamma: Any = "scale", Any;
                /// Constant in the kernels `poly` and `sigmoid`.
                coef0: Float = 0.0, Any;
                /// Kept for scikit-learn's signature. All rows stay in the problem.
                shrinking: Bool = true, Any;
                /// Largest violation of the optimality conditions.
                tol: Float = 1e-3, Above(0.0);
                /// Most steps of the solver. None: no limit.
                max_iter: Int = None, AtLeast(1.0);
            } -> {
                support: Frame, support_vectors: Frame, dual_coef: Frame, intercept: Float, coef: Frame, n_iter: Int,
            }

            /// The region of most rows, by a kernel: 1 for rows inside, -1 for outliers.
            OneClassSVM: Clusterer [] {
                /// Kernel of two rows.
                kernel: Str = "rbf", OneOf(&["linear", "poly", "rbf", "sigmoid"]);
                /// Degree of the kernel `poly`.
                degree: Int = 3, AtLeast(0.0);
                /// Factor in the kernels `rbf`, `poly` and `sigmoid`. `auto` is 1 / features, `scale` is that divided
                /// by the variance of all values.
                gamma: Any = "scale", Any;
                /// Constant in the kernels `poly` and `sigmoid`.
                coef0: Float = 0.0, Any;
                /// Largest violation of the optimality conditions.
                tol: Float = 1e-3, Above(0.0);
                /// Largest share of training rows that are outliers, and smallest share of support vectors.
                nu: Float = 0.5, Within(0.0, 1.0);
                /// Kept for scikit-learn's signature. All rows stay in the problem.
                shrinking: Bool = true, Any;
                /// Most steps of the solver. None: no limit.
                max_iter: Int = None, AtLeast(1.0);
            } -> {
                support: Frame, support_vectors: Frame, dual_coef: Frame, intercept: Float, offset: Float,
                coef: Frame, n_iter: Int,
            }
        }
    };
}
