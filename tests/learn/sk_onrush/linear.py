"""Linear models, support vector machines and networks."""

import numpy as np
from sklearn.preprocessing import LabelBinarizer

from .dispatch import Adapter, Frame, float32_or_64
from .engine import Refused


def rows_of(frame, width):
    """Coefficients as outputs x features, from a matrix or from a long frame."""
    array = frame.array()
    return np.ascontiguousarray(array.reshape(-1, width) if array.ndim == 1 else array)


class Linear(Adapter):
    """Regressors with `coef` and `intercept`."""

    methods = ("predict",)
    keeps_float32 = True
    seeded = False
    attributes = {"summary": None}

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        known = {name: v.array() if isinstance(v, Frame) else v for name, v in known.items()}
        if not estimator.fit_intercept:
            known["intercept_"] = 0.0
        return known


class Ridge(Linear):
    def params(self, estimator, classes):
        # scikit-learn refuses a solver that has no such constraint.
        if estimator.positive and estimator.solver not in ("auto", "lbfgs"):
            raise Refused("parameter", "solver")
        if estimator.solver == "lbfgs" and not estimator.positive:
            raise Refused("parameter", "solver")
        return super().params(estimator, classes)

    def fitted(self, estimator, *args):
        return super().fitted(estimator, *args) | {"n_iter_": None, "solver_": solver(estimator)}


def solver(estimator):
    """The attribute names a solver; ours is another one."""
    return "cholesky" if estimator.solver == "auto" else estimator.solver


class RandomOrder(Linear):
    """Coordinate descent: the seed is that of the order."""

    ignored = ("alphas",)

    def params(self, estimator, classes):
        # scikit-learn takes features in random order by numbers that we do not have.
        found = super().params(estimator, classes)
        if found.get("alpha") == 0.0:
            raise Refused("parameter", "alpha=0")
        return found


class Path(Linear):
    """LassoCV and ElasticNetCV."""

    ignored = ()

    def params(self, estimator, classes):
        if estimator.cv is not None and not isinstance(estimator.cv, int | np.integer):
            raise Refused("cv", type(estimator.cv).__name__)
        found = super().params(estimator, classes)
        if found.get("cv", 5) is None:
            found.pop("cv")
        return found

    def fitted(self, estimator, found, model, X, y, classes):
        table, alphas = found.pop("mse_path"), found.pop("alphas")
        known = super().fitted(estimator, found, model, X, y, classes)
        columns = table.columns
        folds = len(set(columns["fold"]))
        path = np.asarray(columns["mse"]).reshape(-1, folds)
        alphas = np.asarray(alphas.columns["alpha"])
        ratios = np.ndim(getattr(estimator, "l1_ratio", 0.0)) and len(estimator.l1_ratio)
        if ratios:
            path, alphas = path.reshape(ratios, -1, folds), alphas.reshape(ratios, -1)
            alphas = alphas[0] if np.ndim(estimator.alphas) else alphas
        return known | {"mse_path_": path, "alphas_": alphas}


class Huber(Linear):
    keeps_float32 = False

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        residual = np.abs(y - X @ known["coef_"] - known["intercept_"])
        return known | {"outliers_": residual > known["scale_"] * estimator.epsilon}


class Glm(Linear):
    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        return known | {"_base_loss": estimator._get_loss()}


class Bayesian(Linear):
    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        return known | {"X_offset_": X.mean(axis=0), "X_scale_": np.ones(X.shape[1])}


class LinearClassifier(Adapter):
    """Classifiers with `coef` and `intercept` of each output."""

    methods = ("predict", "predict_proba", "decision_function")
    keeps_float32 = True
    seeded = False

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        for name, array in known.items():
            if name == "coef_":
                known[name] = rows_of(array, X.shape[1])
            elif isinstance(array, Frame):
                known[name] = array.array()
        known["intercept_"] = np.atleast_1d(known["intercept_"])
        return known


class Logistic(LinearClassifier):
    def check(self, estimator, X, y):
        # That solver of scikit-learn takes 64-bit floats alone.
        if estimator.solver == "liblinear" and float32_or_64(X) == np.float32:
            raise Refused("input", "float32")

    def params(self, estimator, classes):
        # scikit-learn warns about it.
        if estimator.penalty != "deprecated":
            raise Refused("parameter", "penalty")
        if estimator.C == np.inf and estimator.l1_ratio:
            raise Refused("parameter", "l1_ratio")
        return super().params(estimator, classes)

    def fitted(self, *args):
        known = super().fitted(*args)
        return known | {"n_iter_": np.array([known["n_iter_"]], dtype=np.int32)}


class LogisticCv(LinearClassifier):
    attributes = {"scores": None, "c": "C_"}

    def params(self, estimator, classes):
        if estimator.cv is not None and not isinstance(estimator.cv, int | np.integer):
            raise Refused("cv", type(estimator.cv).__name__)
        if not estimator.refit:
            raise Refused("parameter", "refit")
        found = super().params(estimator, classes)
        if found.get("cv", 5) is None:
            found.pop("cv")
        return found


class RidgeClassifier(LinearClassifier):
    def target(self, estimator, y):
        codes, classes = super().target(estimator, y)
        if classes.dtype.kind not in "iufUbO":
            raise Refused("input", "y")
        self.binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(y)
        return codes, classes

    def fitted(self, *args):
        own = {"_label_binarizer": self.binarizer, "n_iter_": None, "solver_": solver(args[0])}
        return super().fitted(*args) | own


class Stochastic(LinearClassifier):
    """SGD and relatives: the seed matters, and the stream is scikit-learn's."""

    seeded = True
    attributes = {"t": "t_"}

    def param(self, name, value):
        if name == "tol" and value is None:
            return {"float": "-inf"}
        return super().param(name, value)

    def fitted(self, *args):
        known = super().fitted(*args)
        known["t_"] = float(known["t_"])
        return known


class StochasticRegressor(Stochastic):
    methods = ("predict",)

    def is_classifier(self):
        return False

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        return known | {"coef_": known["coef_"].ravel(), "intercept_": np.atleast_1d(known["intercept_"])}


class LinearSvm(LinearClassifier):
    keeps_float32 = False


class LinearSvr(Linear):
    keeps_float32 = False

    def fitted(self, *args):
        known = super().fitted(*args)
        known["intercept_"] = np.atleast_1d(known["intercept_"])
        return known


class Machine(Adapter):
    """Support vector machines with kernels."""

    methods = ("predict", "predict_proba", "decision_function")
    seeded = True
    attributes = {"coef": None, "offset": None}

    def params(self, estimator, classes):
        # Only Platt's scaling draws numbers.
        self.seeded = bool(getattr(estimator, "probability", False) is True)
        return super().params(estimator, classes)

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        for name, array in known.items():
            if isinstance(array, Frame):
                known[name] = array.array()
        known["support_"] = np.asarray(known["support_"], dtype=np.int32)
        known["support_vectors_"] = known["support_vectors_"].reshape(len(known["support_"]), X.shape[1])
        dual = known["dual_coef_"]
        known["dual_coef_"] = dual.reshape(1, -1) if dual.ndim == 1 else dual.T
        known["intercept_"] = np.atleast_1d(known["intercept_"])
        known["n_iter_"] = known["n_iter_"] if np.ndim(known["n_iter_"]) == 0 else np.asarray(known["n_iter_"], np.int32)
        counts = known.pop("n_support_", [len(known["support_"])])
        known["_n_support"] = np.asarray(counts, dtype=np.int32)
        known["fit_status_"] = 0
        known["shape_fit_"] = X.shape
        known["class_weight_"] = np.empty(0) if classes is None else np.ones(len(classes))
        known["_sparse"] = False
        if estimator.gamma == "scale":
            variance = X.var()
            known["_gamma"] = 1.0 / (X.shape[1] * variance) if variance else 1.0
        else:
            known["_gamma"] = 1.0 / X.shape[1] if estimator.gamma == "auto" else estimator.gamma
        # The sums of our own `decision` and `coef_` come from these.
        binary = classes is not None and len(classes) == 2
        known["_intercept_"] = -known["intercept_"] if binary else known["intercept_"]
        known["_dual_coef_"] = -known["dual_coef_"] if binary else known["dual_coef_"]
        known["_probA"] = known["_probB"] = np.empty(0)
        return known


class OneClass(Machine):
    def predict(self, estimator, handle, X):
        return self.ask(handle, "label", self.rows(estimator, handle, X))[:, 0].astype(np.int64)

    def fitted(self, *args):
        known = super().fitted(*args)
        return known | {"offset_": -known["intercept_"]}


class Network(Adapter):
    """Perceptrons of several layers."""

    methods = ("predict", "predict_proba")
    keeps_float32 = True
    attributes = {"coefs": None, "intercepts": None, "loss_curve": None, "validation_scores": None, "t": "t_"}

    def target(self, estimator, y):
        codes, classes = super().target(estimator, y)
        self.binarizer = LabelBinarizer().fit(y) if self.is_classifier() else None
        return codes, classes

    def params(self, estimator, classes):
        found = super().params(estimator, classes)
        if isinstance(found.get("hidden_layer_sizes"), int):
            found["hidden_layer_sizes"] = [found["hidden_layer_sizes"]]
        return found

    def fitted(self, estimator, found, model, X, y, classes):
        weights, biases = found.pop("coefs"), found.pop("intercepts")
        curve, scores = found.pop("loss_curve", None), found.pop("validation_scores", None)
        known = super().fitted(estimator, found, model, X, y, classes)
        layers = np.asarray(weights.columns["layer"])
        known["coefs_"], known["intercepts_"] = [], []
        for layer in range(layers.max() + 1):
            of = layers == layer
            shape = np.max(weights.columns["from"], where=of, initial=0) + 1, 0
            values = np.asarray(weights.columns["weight"])[of]
            known["coefs_"].append(values.reshape(shape[0], -1))
            of = np.asarray(biases.columns["layer"]) == layer
            known["intercepts_"].append(biases.numbers()[-1][of])
        if curve is not None:
            known["loss_curve_"] = curve.numbers()[-1].tolist()
        if scores is not None:
            known["validation_scores_"] = scores.numbers()[-1].tolist()
        known["n_layers_"] = len(known["coefs_"]) + 1
        known["n_outputs_"] = known["coefs_"][-1].shape[1]
        known["out_activation_"] = "identity"
        if classes is not None:
            known["out_activation_"] = "logistic" if len(classes) == 2 else "softmax"
            known["_label_binarizer"] = self.binarizer
        return known


ADAPTERS = {
    "LinearRegression": Linear,
    "Ridge": Ridge,
    "RidgeCV": Linear,
    "Lasso": RandomOrder,
    "ElasticNet": RandomOrder,
    "LassoCV": Path,
    "ElasticNetCV": Path,
    "LogisticRegression": Logistic,
    "LogisticRegressionCV": LogisticCv,
    "RidgeClassifier": RidgeClassifier,
    "PoissonRegressor": Glm,
    "GammaRegressor": Glm,
    "TweedieRegressor": Glm,
    "HuberRegressor": Huber,
    "BayesianRidge": Bayesian,
    "SGDClassifier": Stochastic,
    "SGDRegressor": StochasticRegressor,
    "Perceptron": Stochastic,
    "PassiveAggressiveClassifier": Stochastic,
    "PassiveAggressiveRegressor": StochasticRegressor,
    "LinearSVC": LinearSvm,
    "LinearSVR": LinearSvr,
    "SVC": Machine,
    "NuSVC": Machine,
    "SVR": Machine,
    "NuSVR": Machine,
    "OneClassSVM": OneClass,
    "MLPClassifier": Network,
    "MLPRegressor": Network,
}
