//! Models trained by stochastic gradients: linear ones and perceptrons of several layers.

/// Calls `$then!` with the entries of this family. Parameters that several estimators share are written once, in
/// groups, because their order is that of scikit-learn's signatures.
#[macro_export]
macro_rules! neural_estimators {
    ($then:ident) => {
        $crate::neural_estimators! {
            @with $then
            [network
                /// Units of each hidden layer: a number, or a list. An empty list: no hidden layer.
                hidden_layer_sizes: Any = [100], AtLeast(1.0);
                /// Activation of the hidden layers.
                activation: Str = "relu", OneOf(&["identity", "logistic", "tanh", "relu"]);
                /// Optimizer: stochastic gradients (`adam`, `sgd`), or L-BFGS over all rows.
                solver: Str = "adam", OneOf(&["adam", "sgd", "lbfgs"]);
                /// Strength of the l2 penalty on the weights.
                alpha: Float = 1e-4, AtLeast(0.0);
                /// Rows of a batch. `auto`: 200, or all rows if there are fewer.
                batch_size: Any = "auto", AtLeast(1.0);
                /// Schedule of the learning rate of `sgd`. `adaptive` divides it by 5 after iterations without
                /// improvement.
                learning_rate: Str = "constant", OneOf(&["constant", "invscaling", "adaptive"]);
                /// Learning rate at the start, of `adam` and `sgd`.
                learning_rate_init: Float = 1e-3, Above(0.0);
                /// Exponent of the schedule `invscaling`.
                power_t: Float = 0.5, AtLeast(0.0);
                /// Most iterations: passes over all rows, or steps of L-BFGS.
                max_iter: Int = 200, AtLeast(1.0);
                /// Whether each pass takes the rows in another order.
                shuffle: Bool = true, Any;
                /// Seed of weights, batches and the rows of early stopping. Without one: 0.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// The least improvement of the loss or the validation score; for L-BFGS the largest component of the
                /// gradient at which it stops.
                tol: Float = 1e-4, AtLeast(0.0);
                /// Momentum of `sgd`.
                momentum: Float = 0.9, Within(0.0, 1.0);
                /// Whether `sgd` takes Nesterov's momentum.
                nesterovs_momentum: Bool = true, Any;
                /// Whether rows are held out, and the training stops when their score no longer improves.
                early_stopping: Bool = false, Any;
                /// Share of the rows that early stopping holds out.
                validation_fraction: Float = 0.1, Within(0.0, 1.0);
                /// Decay of the mean gradients of `adam`.
                beta_1: Float = 0.9, Within(0.0, 1.0);
                /// Decay of the mean squared gradients of `adam`.
                beta_2: Float = 0.999, Within(0.0, 1.0);
                /// Number that keeps `adam` from dividing by 0.
                epsilon: Float = 1e-8, Above(0.0);
                /// Iterations without improvement after which the training stops.
                n_iter_no_change: Int = 10, AtLeast(1.0);
                /// Most evaluations of the loss by L-BFGS.
                max_fun: Int = 15000, AtLeast(1.0);
            ]
            [strength
                /// Strength of the penalty. The learning rate `optimal` also follows from it.
                alpha: Float = 1e-4, AtLeast(0.0);
                /// Share of the l1 penalty in `elasticnet`.
                l1_ratio: Float = 0.15, Within(0.0, 1.0);
            ]
            [passes
                /// Whether an intercept is fitted. It is not penalised.
                fit_intercept: Bool = true, Any;
                /// Most passes over the rows.
                max_iter: Int = 1000, AtLeast(1.0);
                /// The least improvement of the objective or the validation score. Minus infinity: all passes run.
                tol: Float = 1e-3, Any;
            ]
            [shuffle
                /// Whether the rows are shuffled before each pass.
                shuffle: Bool = true, Any;
            ]
            [insensitive
                /// Threshold of the losses `huber`, `epsilon_insensitive` and `squared_epsilon_insensitive`.
                epsilon: Float = 0.1, AtLeast(0.0);
            ]
            [seed
                /// Seed of the order of rows. Without one: 0.
                random_state: Int = None, Within(0.0, 4294967295.0);
            ]
            [stop
                /// Whether rows are held out, and the training stops when their score no longer improves.
                early_stopping: Bool = false, Any;
                /// Share of the rows that early stopping holds out.
                validation_fraction: Float = 0.1, Within(0.0, 1.0);
                /// Passes without improvement after which the training stops.
                n_iter_no_change: Int = 5, AtLeast(1.0);
            ]
            [class_weight
                /// `balanced`, or a list with one weight for each class.
                class_weight: Any = None, Any;
            ]
            [average
                /// Whether the coefficients are the averages of all steps, or the step from which on they are.
                average: Any = false, AtLeast(0.0);
            ]
        }
    };
    (@with $then:ident
     [network $($network:tt)*]
     [strength $($strength:tt)*]
     [passes $($passes:tt)*]
     [shuffle $($shuffle:tt)*]
     [insensitive $($insensitive:tt)*]
     [seed $($seed:tt)*]
     [stop $($stop:tt)*]
     [class_weight $($class_weight:tt)*]
     [average $($average:tt)*]) => {
        $then! {
            /// A multilayer perceptron (neural network) for classes, trained on the log loss.
            MLPClassifier: Classifier [] {
                $($network)*
            } -> {
                classes: Strs, loss: Float, best_loss: Float, best_validation_score: Float, loss_curve: Frame,
                validation_scores: Frame, n_iter: Int, t: Int, coefs: Frame, intercepts: Frame,
            }

            /// A multilayer perceptron (neural network) for numbers.
            MLPRegressor: Regressor [] {
                /// The loss: half the squared error, or half the deviance of Poisson with an exponential output.
                loss: Str = "squared_error", OneOf(&["squared_error", "poisson"]);
                $($network)*
            } -> {
                loss: Float, best_loss: Float, best_validation_score: Float, loss_curve: Frame,
                validation_scores: Frame, n_iter: Int, t: Int, coefs: Frame, intercepts: Frame,
            }

            /// Linear classifiers by stochastic gradient descent: one for two classes, else one for each class.
            SGDClassifier: Classifier [sparse] {
                /// The loss. `log_loss` and `modified_huber` give probabilities.
                loss: Str = "hinge", OneOf(&[
                    "hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error", "huber",
                    "epsilon_insensitive", "squared_epsilon_insensitive",
                ]);
                /// The penalty.
                penalty: Str = "l2", OneOf(&["l2", "l1", "elasticnet", "none"]);
                $($strength)*
                $($passes)*
                $($shuffle)*
                $($insensitive)*
                $($seed)*
                /// Schedule of the learning rate. `pa1` and `pa2` are passive-aggressive steps, for `hinge` alone.
                learning_rate: Str = "optimal",
                    OneOf(&["constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"]);
                /// Learning rate at the start. For `pa1` the largest step, for `pa2` its regularisation.
                eta0: Float = 0.01, Above(0.0);
                /// Exponent of the schedule `invscaling`.
                power_t: Float = 0.5, AtLeast(0.0);
                $($stop)*
                $($class_weight)*
                $($average)*
            } -> { classes: Strs, coef: Frame, intercept: Frame, n_iter: Int, t: Int }

            /// Linear regression by stochastic gradient descent.
            SGDRegressor: Regressor [sparse] {
                /// The loss.
                loss: Str = "squared_error",
                    OneOf(&["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]);
                /// The penalty.
                penalty: Str = "l2", OneOf(&["l2", "l1", "elasticnet", "none"]);
                $($strength)*
                $($passes)*
                $($shuffle)*
                $($insensitive)*
                $($seed)*
                /// Schedule of the learning rate. `pa1` and `pa2` are passive-aggressive steps, for
                /// `epsilon_insensitive` alone.
                learning_rate: Str = "invscaling",
                    OneOf(&["constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"]);
                /// Learning rate at the start. For `pa1` the largest step, for `pa2` its regularisation.
                eta0: Float = 0.01, Above(0.0);
                /// Exponent of the schedule `invscaling`.
                power_t: Float = 0.25, AtLeast(0.0);
                $($stop)*
                $($average)*
            } -> { coef: Frame, intercept: Float, n_iter: Int, t: Int }

            /// The perceptron: a step for each row that is on the wrong side.
            Perceptron: Classifier [sparse] {
                /// The penalty.
                penalty: Str = "none", OneOf(&["l2", "l1", "elasticnet", "none"]);
                $($strength)*
                $($passes)*
                $($shuffle)*
                /// The size of a step.
                eta0: Float = 1.0, Above(0.0);
                /// Seed of the order of rows.
                random_state: Int = 0, Within(0.0, 4294967295.0);
                $($stop)*
                $($class_weight)*
            } -> { classes: Strs, coef: Frame, intercept: Frame, n_iter: Int, t: Int }

            /// Passive-aggressive classifiers: each step moves just far enough to put a row on its side.
            PassiveAggressiveClassifier: Classifier [sparse] {
                /// The largest step (`hinge`), or its regularisation (`squared_hinge`).
                c: Float = 1.0, Above(0.0);
                $($passes)*
                $($stop)*
                $($shuffle)*
                /// `hinge` is the algorithm PA-I, `squared_hinge` is PA-II.
                loss: Str = "hinge", OneOf(&["hinge", "squared_hinge"]);
                $($seed)*
                $($class_weight)*
                $($average)*
            } -> { classes: Strs, coef: Frame, intercept: Frame, n_iter: Int, t: Int }

            /// Passive-aggressive regression: each step moves just far enough to bring a row within `epsilon`.
            PassiveAggressiveRegressor: Regressor [sparse] {
                /// The largest step (`epsilon_insensitive`), or its regularisation (`squared_epsilon_insensitive`).
                c: Float = 1.0, Above(0.0);
                $($passes)*
                $($stop)*
                $($shuffle)*
                /// `epsilon_insensitive` is the algorithm PA-I, `squared_epsilon_insensitive` is PA-II.
                loss: Str = "epsilon_insensitive", OneOf(&["epsilon_insensitive", "squared_epsilon_insensitive"]);
                /// Errors up to this size make no step.
                epsilon: Float = 0.1, AtLeast(0.0);
                $($seed)*
                $($average)*
            } -> { coef: Frame, intercept: Float, n_iter: Int, t: Int }
        }
    };
}
