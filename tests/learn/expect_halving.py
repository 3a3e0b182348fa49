"""Writes the expectations of successive halving to `halving.json`, from scikit-learn.

Run in an environment with scikit-learn 1.9: `python tests/learn/expect_halving.py`.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn import linear_model, naive_bayes, neighbors
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingGridSearchCV, HalvingRandomSearchCV, KFold

HERE = Path(__file__).parent
warnings.simplefilter("ignore")


def listed(values):
    return [None if isinstance(v, float) and np.isnan(v) else v for v in np.asarray(values).tolist()]


def results(search, params):
    r = search.cv_results_
    return {
        "n_resources": search.n_resources_,
        "n_candidates": search.n_candidates_,
        "iter": listed(r["iter"]),
        "resources": listed(r["n_resources"]),
        "params": {name: listed(r[f"param_{name}"].data.astype(float)) for name in params},
        "mean": listed(r["mean_test_score"]),
        "std": listed(r["std_test_score"]),
        "rank": listed(r["rank_test_score"]),
        "train": listed(r["mean_train_score"]) if "mean_train_score" in r else [],
        "best_index": int(search.best_index_),
        "best_score": float(search.best_score_),
    }


def rows(name):
    data = np.genfromtxt(HERE / f"data/{name}.csv", delimiter=",", skip_header=1)
    return data[:, :-1], data[:, -1]


x, y = rows("diabetes")
ridge, alphas = linear_model.Ridge(), {"alpha": list(np.geomspace(1e-4, 1e3, 15))}
# Two classes, and scores without ties.
tissue, kinds = rows("breast_cancer")
bayes, smoothing = naive_bayes.GaussianNB(), {"var_smoothing": list(np.geomspace(1e-4, 1e2, 11))}

out = {}
out["grid"] = results(HalvingGridSearchCV(ridge, alphas, random_state=0).fit(x, y), alphas)
out["factor"] = results(
    HalvingGridSearchCV(ridge, alphas, factor=2, cv=KFold(4), min_resources=20, max_resources=300, random_state=5).fit(x, y), alphas
)
out["aggressive"] = results(
    HalvingGridSearchCV(ridge, alphas, min_resources=100, aggressive_elimination=True, random_state=1).fit(x, y), alphas
)
out["classes"] = results(
    HalvingGridSearchCV(
        bayes, smoothing, cv=3, min_resources="smallest", scoring="neg_brier_score", return_train_score=False, random_state=2
    ).fit(tissue, kinds.astype(int)),
    smoothing,
)
uniform = {"alpha": stats.loguniform(1e-4, 1e3)}
out["random"] = results(
    HalvingRandomSearchCV(ridge, uniform, random_state=3, scoring="neg_mean_absolute_error").fit(x, y), alphas
)
# r2 of one row is not defined: no candidate of the first iteration has a score.
out["undefined"] = results(HalvingRandomSearchCV(ridge, uniform, n_candidates=12, random_state=3).fit(x, y), alphas)
out["random_exhaust"] = results(
    HalvingRandomSearchCV(ridge, alphas, n_candidates=9, min_resources="exhaust", random_state=4, scoring="neg_mean_absolute_error").fit(x, y),
    alphas,
)
# The resource is a parameter.
powers = {"p": [1, 2, 3, 4, 5]}
out["parameter"] = results(
    HalvingGridSearchCV(neighbors.KNeighborsRegressor(), powers, resource="n_neighbors", max_resources=30).fit(x, y),
    ["p", "n_neighbors"],
)
(HERE / "halving.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")
