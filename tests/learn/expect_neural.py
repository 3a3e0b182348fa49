"""Writes `neural.json`: results of scikit-learn for perceptrons of several layers and stochastic gradient descent.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_neural.py`. The data sets are those of
`datasets.py`. Each case holds its data set and parameters, so that the test reads both.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import (
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    Perceptron,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor

warnings.simplefilter("ignore")
HERE = Path(__file__).parent


def load(name, step=1, scaled=True, classes=None):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)[::step]
    if classes is not None:
        rows = rows[rows[:, -1] < classes]
    x, y = np.ascontiguousarray(rows[:, :-1]), rows[:, -1]
    if scaled:
        spread = x.std(axis=0)
        x = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return x, y


def weights(rows):
    """The weights of the tests: 0.5, 1.25, 2, 2.75, 0, ..."""
    return np.array([0.0 if i % 5 == 4 else 0.5 + 0.75 * (i % 4) for i in range(rows)])


def strided(values, most=30):
    flat = np.asarray(values, dtype=float).ravel()
    return [float(f"{v:.13g}") for v in flat[:: max(1, -(-len(flat) // most))]]


def case(model, data, weight=False, sparse=False, tolerance=1e-8, target_scale=1.0):
    """Trains and says all that the test needs to do the same."""
    x, y = load(**data)
    y = y * target_scale
    sample_weight = weights(len(x)) if weight else None
    rows = csr_matrix(x) if sparse else x
    if sample_weight is None:
        model.fit(rows, y)
    else:
        model.fit(rows, y, sample_weight=sample_weight)
    params = {k: v for k, v in model.get_params().items() if k not in HIDDEN and v != type(model)().get_params()[k]}
    if "penalty" in params and params["penalty"] is None:
        params["penalty"] = "none"
    if "tol" in params and params["tol"] is None:
        params["tol"] = "-inf"
    if isinstance(params.get("class_weight"), dict):
        params["class_weight"] = list(params["class_weight"].values())
    out = {
        "estimator": type(model).__name__,
        "params": {k.replace("C", "c"): v for k, v in params.items()},
        "data": data,
        "weight": weight,
        "sparse": sparse,
        "target_scale": target_scale,
        "tolerance": tolerance,
        "n_iter": int(model.n_iter_),
        "predict": strided(model.predict(rows)),
        "score": float(model.score(rows, y)),
    }
    if hasattr(model, "coefs_"):
        out["coefs"] = strided(np.concatenate([c.ravel() for c in model.coefs_]), 40)
        out["intercepts"] = strided(np.concatenate(model.intercepts_), 20)
        out["loss"] = float(model.loss_)
        for name in ["loss_curve_", "validation_scores_", "best_loss_", "best_validation_score_", "t_"]:
            if getattr(model, name, None) is not None and len(np.atleast_1d(getattr(model, name))):
                out[name[:-1]] = strided(getattr(model, name), 20)
    else:
        out["coef"] = strided(model.coef_, 40)
        out["intercept"] = strided(model.intercept_)
        out["t"] = strided(model.t_)
        if hasattr(model, "decision_function"):
            out["decision"] = strided(model.decision_function(rows))
    if hasattr(model, "predict_proba"):
        out["proba"] = strided(model.predict_proba(rows))
    return out


HIDDEN = ["n_jobs", "verbose", "warm_start"]
IRIS = {"name": "iris"}
CANCER = {"name": "breast_cancer"}
DIGITS = {"name": "digits", "step": 4}
DIABETES = {"name": "diabetes"}
WINE = {"name": "wine"}


def mlp():
    """Networks. Some stop early, so that rounding does not grow; others run to the end."""
    few = {"max_iter": 12, "random_state": 3}
    c, r = MLPClassifier, MLPRegressor
    whole = {"name": "digits", "scaled": False}
    return {
        "iris": case(c(hidden_layer_sizes=[8], max_iter=40, random_state=0), IRIS),
        "iris_layers": case(c(hidden_layer_sizes=[7, 5, 3], activation="tanh", **few), IRIS),
        "iris_no_layer": case(c(hidden_layer_sizes=[], alpha=0.01, **few), IRIS),
        "cancer": case(c(hidden_layer_sizes=20, activation="logistic", alpha=0.1, **few), CANCER),
        "cancer_weighted": case(c(hidden_layer_sizes=[6], batch_size=50, **few), CANCER, weight=True),
        "cancer_identity": case(c(hidden_layer_sizes=[4], activation="identity", shuffle=False, **few), CANCER),
        "cancer_early": case(c(hidden_layer_sizes=[6], early_stopping=True, max_iter=60, random_state=1), CANCER),
        "digits": case(c(**few), DIGITS),
        "digits_early": case(
            c(hidden_layer_sizes=[16], early_stopping=True, validation_fraction=0.2, max_iter=30, random_state=5), DIGITS
        ),
        "digits_end": case(c(random_state=0), whole, tolerance=1e-5),
        "sgd": case(c(hidden_layer_sizes=[10], solver="sgd", learning_rate_init=0.05, **few), WINE),
        "sgd_plain": case(
            c(
                hidden_layer_sizes=[10],
                solver="sgd",
                momentum=0.5,
                nesterovs_momentum=False,
                learning_rate="invscaling",
                learning_rate_init=0.2,
                power_t=0.3,
                **few,
            ),
            WINE,
        ),
        "sgd_adaptive": case(
            c(
                hidden_layer_sizes=[10],
                solver="sgd",
                learning_rate="adaptive",
                learning_rate_init=0.5,
                tol=1e-2,
                n_iter_no_change=2,
                max_iter=200,
                random_state=2,
            ),
            WINE,
        ),
        "lbfgs": case(c(hidden_layer_sizes=[5], solver="lbfgs", max_iter=30, random_state=0), WINE, tolerance=1e-5),
        "lbfgs_end": case(
            c(hidden_layer_sizes=[5], solver="lbfgs", activation="tanh", alpha=0.5, max_iter=300, random_state=0),
            IRIS,
            tolerance=1e-3,
        ),
        "diabetes": case(
            r(hidden_layer_sizes=[15], random_state=4, max_iter=50, learning_rate_init=0.01),
            DIABETES,
            target_scale=0.01,
        ),
        "diabetes_weighted": case(
            r(hidden_layer_sizes=[15], random_state=4, max_iter=20, activation="tanh", beta_1=0.8, beta_2=0.99, epsilon=1e-6),
            DIABETES,
            weight=True,
            target_scale=0.01,
        ),
        "diabetes_poisson": case(
            r(loss="poisson", hidden_layer_sizes=[6], random_state=4, max_iter=30), DIABETES, target_scale=0.01
        ),
        "diabetes_early": case(
            r(hidden_layer_sizes=[9], early_stopping=True, random_state=7, max_iter=40, learning_rate_init=0.02),
            DIABETES,
            target_scale=0.01,
        ),
        "diabetes_lbfgs": case(
            r(hidden_layer_sizes=[4], solver="lbfgs", random_state=1, max_iter=25, activation="logistic"),
            DIABETES,
            target_scale=0.01,
            tolerance=1e-5,
        ),
    }


def sgd():
    out = {}
    c, r = SGDClassifier, SGDRegressor
    losses = [
        "hinge",
        "log_loss",
        "modified_huber",
        "squared_hinge",
        "perceptron",
        "squared_error",
        "huber",
        "epsilon_insensitive",
        "squared_epsilon_insensitive",
    ]
    for loss in losses:
        rate = {"learning_rate": "invscaling", "eta0": 0.01} if loss in losses[5:] else {}
        out[f"cancer_{loss}"] = case(c(loss=loss, random_state=1, **rate), CANCER)
    for loss in ["hinge", "log_loss", "modified_huber"]:
        out[f"iris_{loss}"] = case(c(loss=loss, random_state=0), IRIS)
        out[f"digits_{loss}"] = case(c(loss=loss, random_state=7, max_iter=20), DIGITS)
    out |= {
        "l1": case(c(penalty="l1", alpha=0.001, random_state=2), CANCER),
        "elasticnet": case(c(penalty="elasticnet", alpha=0.002, l1_ratio=0.4, loss="log_loss", random_state=2), CANCER),
        "none": case(c(penalty=None, learning_rate="constant", eta0=0.1, random_state=3, fit_intercept=False), CANCER),
        "adaptive": case(c(learning_rate="adaptive", eta0=0.5, loss="log_loss", random_state=3), CANCER),
        "strong": case(c(alpha=2.0, learning_rate="constant", eta0=0.9, max_iter=9, tol=None, random_state=3), CANCER),
        "average": case(c(average=True, random_state=4), CANCER),
        "average_late": case(c(average=2000, loss="log_loss", random_state=4), IRIS),
        "average_never": case(c(average=10**6, random_state=4), CANCER),
        "pa1": case(c(learning_rate="pa1", penalty=None, eta0=0.3, random_state=5), CANCER),
        "pa2": case(c(learning_rate="pa2", alpha=1e-5, eta0=0.3, random_state=5), IRIS),
        "balanced": case(c(class_weight="balanced", random_state=6), WINE),
        "classes": case(c(class_weight={0: 2.0, 1: 0.5}, loss="log_loss", random_state=6), CANCER),
        "weighted": case(c(random_state=6, shuffle=False), CANCER, weight=True),
        "early": case(c(early_stopping=True, random_state=8, validation_fraction=0.2), CANCER),
        "early_log": case(c(early_stopping=True, loss="log_loss", random_state=8, n_iter_no_change=3), CANCER),
        "early_classes": case(c(early_stopping=True, random_state=9), DIGITS, weight=True),
        "sparse": case(c(random_state=3), {**DIGITS, "scaled": False}, sparse=True),
        "sparse_l1": case(
            c(random_state=3, penalty="l1", loss="log_loss", average=True), {**DIGITS, "scaled": False, "classes": 2}, sparse=True
        ),
        "passes": case(c(random_state=0, max_iter=4), DIGITS),
        "diabetes": case(r(random_state=0), DIABETES),
        "diabetes_huber": case(r(random_state=1, loss="huber", epsilon=20.0, penalty="l1", alpha=0.1), DIABETES),
        "diabetes_insensitive": case(r(random_state=1, loss="epsilon_insensitive", eta0=0.5), DIABETES, weight=True),
        "diabetes_squared": case(
            r(random_state=1, loss="squared_epsilon_insensitive", learning_rate="adaptive", eta0=0.001), DIABETES
        ),
        "diabetes_average": case(r(random_state=2, average=10, penalty="elasticnet", power_t=0.1), DIABETES),
        "diabetes_early": case(r(random_state=3, early_stopping=True), DIABETES, weight=True),
        "diabetes_optimal": case(r(random_state=3, learning_rate="optimal", alpha=0.5), DIABETES, target_scale=0.01),
        "diabetes_pa1": case(
            r(random_state=3, learning_rate="pa1", loss="epsilon_insensitive", penalty=None), DIABETES, target_scale=0.01
        ),
        "diabetes_sparse": case(r(random_state=3), DIABETES, sparse=True),
        "perceptron": case(Perceptron(), CANCER),
        "perceptron_digits": case(Perceptron(penalty="l2", alpha=1e-5, random_state=2), {**DIGITS, "scaled": False}),
        "passive": case(PassiveAggressiveClassifier(C=0.2, random_state=1), CANCER),
        "passive_squared": case(PassiveAggressiveClassifier(loss="squared_hinge", average=True, random_state=1), IRIS),
        "passive_regressor": case(PassiveAggressiveRegressor(C=0.1, random_state=1), DIABETES),
        "passive_regressor_squared": case(
            PassiveAggressiveRegressor(C=0.1, loss="squared_epsilon_insensitive", epsilon=1.0, random_state=1), DIABETES
        ),
    }
    return out


def main() -> None:
    text = json.dumps({"mlp": mlp(), "sgd": sgd()}, separators=(",", ":"))
    (HERE / "neural.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
