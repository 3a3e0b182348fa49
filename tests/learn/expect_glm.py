"""Writes `glm.json`: results of scikit-learn for generalized linear models, robust and Bayesian regression.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_glm.py`. The data sets are those of
`datasets.py`. Each case holds its data set and parameters, so that the test reads both.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import (
    BayesianRidge,
    GammaRegressor,
    HuberRegressor,
    PoissonRegressor,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.linear_model._huber import _huber_loss_and_gradient

warnings.simplefilter("ignore")
HERE = Path(__file__).parent
HIDDEN = ["copy_X", "verbose", "warm_start"]


def load(name, scaled=True, rows=None):
    table = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)[:rows]
    x, y = np.ascontiguousarray(table[:, :-1]), table[:, -1]
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


def polish(model, x, y, weight):
    """Goes on to the optimum of scikit-learn's objective, which its L-BFGS leaves at a gradient of 1e-3."""
    parts = [model.coef_] + ([[model.intercept_]] if model.fit_intercept else []) + [[model.scale_]]
    place = np.concatenate(parts)
    for method, options in [("BFGS", {"gtol": 1e-9}), ("L-BFGS-B", {"gtol": 1e-12, "ftol": 1e-16})]:
        rest = (x, y, model.epsilon, model.alpha, weight)
        options["maxiter"] = 10000
        place = minimize(_huber_loss_and_gradient, place, jac=True, args=rest, method=method, options=options).x
    model.coef_, model.scale_ = place[: x.shape[1]], place[-1]
    model.intercept_ = place[-2] if model.fit_intercept else 0.0


def case(model, data, weight=False, tolerance=1e-8, counts=False):
    x, y = load(**data)
    if counts:
        # Counts with zeros.
        y = np.floor(np.maximum(y - 60, 0) / 20)
    model.fit(x, y, sample_weight=weights(len(x)) if weight else None)
    if isinstance(model, HuberRegressor):
        polish(model, x, y, weights(len(x)) if weight else np.ones(len(x)))
    params = {k: v for k, v in model.get_params().items() if k not in HIDDEN and v != type(model)().get_params()[k]}
    if isinstance(params.get("class_weight"), dict):
        params["class_weight"] = list(params["class_weight"].values())
    out = {
        "estimator": type(model).__name__,
        "params": params,
        "data": data,
        "weight": weight,
        "counts": counts,
        "tolerance": tolerance,
        "coef": strided(model.coef_, 40),
        "intercept": strided(np.broadcast_to(model.intercept_, np.atleast_2d(model.coef_).shape[0])),
        "predict": strided(model.predict(x)),
    }
    for name in ["scale_", "alpha_", "lambda_", "sigma_", "scores_"]:
        if hasattr(model, name) and len(np.atleast_1d(getattr(model, name))):
            out[name[:-1]] = strided(getattr(model, name))
    if isinstance(model, BayesianRidge):
        out["n_iter"] = [float(model.n_iter_)]
    if hasattr(model, "decision_function"):
        out["decision"] = strided(model.decision_function(x))
    return out


def main() -> None:
    diabetes, wide = {"name": "diabetes"}, {"name": "diabetes", "rows": 8}
    exact = {"solver": "newton-cholesky", "tol": 1e-10, "max_iter": 1000}
    tight = {"tol": 1e-10, "max_iter": 10000}
    p, g, t, h, b = PoissonRegressor, GammaRegressor, TweedieRegressor, HuberRegressor, BayesianRidge
    results = {
        "poisson": case(p(**exact), diabetes),
        "poisson_counts": case(p(alpha=0.01, **exact), diabetes, counts=True),
        "poisson_weighted": case(p(alpha=0, **exact), diabetes, weight=True),
        "poisson_origin": case(p(alpha=0.1, fit_intercept=False, **exact), diabetes, counts=True),
        "poisson_default": case(p(), diabetes, tolerance=1e-3),
        "poisson_wide": case(p(alpha=0.1, **exact), wide),
        "gamma": case(g(alpha=0.1, **exact), diabetes),
        "gamma_weighted": case(g(**exact), diabetes, weight=True),
        "tweedie": case(t(power=1.5, alpha=0.1, **exact), diabetes, counts=True),
        "tweedie_inverse": case(t(power=3, alpha=1e-6, **exact), diabetes, tolerance=1e-6),
        "tweedie_normal": case(t(alpha=0.3, **exact), diabetes, weight=True),
        "tweedie_normal_log": case(t(link="log", alpha=0.3, **exact), diabetes),
        "tweedie_identity": case(t(power=1, link="identity", alpha=1.0, **exact), diabetes, tolerance=1e-6),
        "huber": case(h(**tight), diabetes, tolerance=1e-7),
        "huber_weighted": case(h(epsilon=1.1, alpha=5.0, **tight), diabetes, weight=True, tolerance=1e-7),
        "huber_origin": case(h(fit_intercept=False, epsilon=2.0, **tight), diabetes, tolerance=1e-7),
        "bayes": case(b(), diabetes),
        "bayes_weighted": case(b(compute_score=True, tol=1e-8), diabetes, weight=True),
        "bayes_start": case(
            b(alpha_init=1.0, lambda_init=0.01, alpha_1=0.1, alpha_2=0.2, lambda_1=0.3, lambda_2=0.1, compute_score=True, max_iter=7, fit_intercept=False),
            diabetes,
        ),
        "bayes_wide": case(b(), wide, tolerance=1e-6),
        "ridge_classifier": case(RidgeClassifier(), {"name": "breast_cancer"}),
        "ridge_classifier_three": case(RidgeClassifier(alpha=0.1), {"name": "iris", "scaled": False}),
        "ridge_classifier_ten": case(RidgeClassifier(alpha=3.0, fit_intercept=False), {"name": "digits"}),
        "ridge_classifier_balanced": case(RidgeClassifier(class_weight="balanced"), {"name": "wine"}, weight=True),
        "ridge_classifier_wide": case(RidgeClassifier(class_weight={0: 1.0, 1: 3.0}), {"name": "breast_cancer", "rows": 25}),
    }
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "glm.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
