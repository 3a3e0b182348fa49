"""Writes `robust.json`: results of scikit-learn for robust, quantile and relevance regression.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_robust.py`. The data sets are those of
`datasets.py`.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import ARDRegression, QuantileRegressor, RANSACRegressor, TheilSenRegressor
from sklearn.metrics import mean_pinball_loss

HERE = Path(__file__).parent


def load(name):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1]


def numbers(values):
    return [float(f"{v:.13g}") for v in np.asarray(values, dtype=float).ravel()]


def outliers(x, y):
    """Every seventh target is far away."""
    return x, np.where(np.arange(len(y)) % 7 == 0, y * 3 + 500, y)


DIABETES, WINE = load("diabetes"), load("wine")
FAR = outliers(*DIABETES)


def ard():
    out = {}

    def case(name, data, **params):
        m = ARDRegression(**params).fit(*data)
        out[name] = {
            "coef": numbers(m.coef_),
            "intercept": float(m.intercept_),
            "alpha": float(m.alpha_),
            "lambda": numbers(m.lambda_),
            "sigma": numbers(m.sigma_),
            "scores": numbers(m.scores_),
            "n_iter": int(m.n_iter_),
        }

    case("diabetes", DIABETES)
    case("diabetes_scores", DIABETES, compute_score=True, tol=1e-5, threshold_lambda=1e3)
    case("wine", WINE, fit_intercept=False, max_iter=20, compute_score=True)
    case("few", (DIABETES[0][:8], DIABETES[1][:8]), threshold_lambda=1e6)
    return out


def quantile():
    out = {}

    def case(name, data, weight=None, **params):
        x, y = data
        m = QuantileRegressor(**params).fit(x, y, sample_weight=weight)
        loss = mean_pinball_loss(y, m.predict(x), alpha=m.quantile, sample_weight=weight)
        out[name] = {
            "coef": numbers(m.coef_),
            "intercept": float(m.intercept_),
            "objective": float(loss + m.alpha * np.abs(m.coef_).sum()),
        }

    weight = 0.5 + np.arange(len(DIABETES[1])) % 3
    case("median", DIABETES, alpha=0.0)
    case("low", DIABETES, quantile=0.13, alpha=0.0)
    case("high_penalty", DIABETES, quantile=0.8, alpha=0.02)
    case("penalty", DIABETES)
    case("weighted", DIABETES, weight, quantile=0.3, alpha=0.001)
    case("no_intercept", DIABETES, quantile=0.6, alpha=0.01, fit_intercept=False)
    case("wine", WINE, quantile=0.37, alpha=0.001)
    case("far", FAR, quantile=0.5, alpha=0.0)
    return out


def ransac():
    out = {}

    def case(name, data, **params):
        m = RANSACRegressor(**{"random_state": 0, **params}).fit(*data)
        out[name] = {
            "coef": numbers(m.estimator_.coef_),
            "intercept": float(m.estimator_.intercept_),
            "inlier_mask": [int(v) for v in m.inlier_mask_],
            "n_trials": int(m.n_trials_),
            "n_skips_no_inliers": int(m.n_skips_no_inliers_),
        }

    case("far", FAR)
    case("share", FAR, min_samples=0.3, random_state=3)
    case("count", FAR, min_samples=50, loss="squared_error", residual_threshold=4000.0, max_trials=30)
    case("enough", FAR, min_samples=40, stop_n_inliers=200, random_state=1)
    case("near", FAR, residual_threshold=30.0, min_samples=20, random_state=5)
    return out


def theil_sen():
    out = {}

    def case(name, data, **params):
        m = TheilSenRegressor(**{"random_state": 0, **params}).fit(*data)
        out[name] = {
            "coef": numbers(m.coef_),
            "intercept": float(m.intercept_),
            "breakdown": float(m.breakdown_),
            "n_subpopulation": int(m.n_subpopulation_),
            "n_iter": int(m.n_iter_),
        }

    x, y = FAR
    case("one", (x[:60, 2:3], y[:60]), tol=1e-9)
    case("one_no_intercept", (x[:60, 2:3], y[:60]), fit_intercept=False)
    case("three", (x[:, [2, 3, 8]], y), max_subpopulation=600, random_state=2)
    case("all", FAR, max_subpopulation=300, n_subsamples=60, tol=1e-6)
    return out


def main() -> None:
    warnings.simplefilter("ignore")
    results = {"ard": ard(), "quantile": quantile(), "ransac": ransac(), "theil_sen": theil_sen()}
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "robust.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
