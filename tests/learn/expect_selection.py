"""Writes `selection.json`: results of scikit-learn for the choice of features.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_selection.py`. The data sets are those of `datasets.py`.
"""

import json
import math
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn import feature_selection as selection
from sklearn.base import is_classifier
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeRegressor

HERE = Path(__file__).parent
SCORES = {
    "f_classif": selection.f_classif,
    "f_regression": selection.f_regression,
    "r_regression": selection.r_regression,
    "chi2": selection.chi2,
    "mutual_info_classif": partial(selection.mutual_info_classif, random_state=0),
    "mutual_info_regression": partial(selection.mutual_info_regression, random_state=0),
}


def load(name):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1]


def plain(values):
    """As JSON: NaN is null."""
    return [None if math.isnan(v) else float(f"{v:.13g}") for v in np.asarray(values, dtype=float)]


def univariate():
    out = []

    def case(name, file, score="f_classif", sparse=False, **params):
        x, y = load(file)
        model = getattr(selection, name)(SCORES[score], **params).fit(csr_array(x) if sparse else x, y)
        pvalues = model.pvalues_
        out.append(
            {
                "estimator": name,
                "data": file,
                "sparse": sparse,
                "params": [["score_func", score], *params.items()],
                "scores": plain(model.scores_),
                "pvalues": None if pvalues is None else plain(pvalues),
                "support": model.get_support(indices=True).tolist(),
            }
        )

    for sparse in [False, True]:
        case("SelectKBest", "iris", k=2, sparse=sparse)
        case("SelectKBest", "digits", k=20, sparse=sparse)
        case("SelectKBest", "digits", "chi2", k=62, sparse=sparse)
        case("SelectKBest", "diabetes", "f_regression", k=4, sparse=sparse)
        case("SelectKBest", "digits", "r_regression", k=63, sparse=sparse)
        case("SelectKBest", "digits", "mutual_info_classif", k=9, sparse=sparse)
    case("SelectKBest", "digits", k="all")
    case("SelectKBest", "breast_cancer", "f_regression", k=7)
    case("SelectKBest", "iris", "mutual_info_classif", k=1)
    case("SelectKBest", "wine", "mutual_info_classif", k=3)
    case("SelectKBest", "diabetes", "mutual_info_regression", k=3)
    case("SelectPercentile", "breast_cancer")
    case("SelectPercentile", "digits", percentile=96)
    case("SelectPercentile", "digits", "chi2", percentile=33.3)
    case("SelectPercentile", "wine", "chi2", percentile=100)
    case("SelectFpr", "breast_cancer", alpha=0.01)
    case("SelectFpr", "diabetes", "f_regression", alpha=1e-9)
    case("SelectFdr", "breast_cancer", "chi2", alpha=0.01)
    case("SelectFdr", "digits", alpha=1e-30)
    case("SelectFwe", "wine", "chi2", alpha=1e-4)
    for mode, param in [("percentile", 40), ("k_best", 5), ("k_best", "all"), ("fpr", 1e-3), ("fdr", 1e-3), ("fwe", 1e-3)]:
        case("GenericUnivariateSelect", "wine", mode=mode, param=param)
    return out


def selectors():
    out = []

    def case(name, file, inner, scaled=False, **params):
        x, y = load(file)
        if scaled:
            x = (x - x.mean(axis=0)) / x.std(axis=0)
        model = getattr(selection, name)(inner, **params).fit(x, y)
        default = type(inner)().get_params()
        got = {
            "estimator": name,
            "data": file,
            "scaled": scaled,
            "classes": is_classifier(inner),
            "params": [[k, v] for k, v in params.items() if k != "cv"],
            "cv": params.get("cv"),
            "inner": type(inner).__name__,
            "inner_params": [[k.lower(), v] for k, v in inner.get_params().items() if v != default[k] and k != "solver"],
            "support": model.get_support(indices=True).tolist(),
        }
        if name == "SelectFromModel":
            coef = getattr(model.estimator_, "coef_", None)
            if coef is None:
                coef = model.estimator_.feature_importances_
            order = params.get("norm_order", 1)
            coef = np.abs(coef) if coef.ndim == 1 else np.linalg.norm(coef, axis=0, ord=order)
            got |= {"importances": plain(coef), "threshold": plain([max(model.threshold_, -1e300)])[0]}
        if name in ["RFE", "RFECV"]:
            got["ranking"] = model.ranking_.tolist()
        if name == "RFECV":
            keys = [k for k in model.cv_results_ if k.endswith("test_score")]
            got["cv_results"] = {k: plain(model.cv_results_[k]) for k in keys}
            got["n_features"] = model.cv_results_["n_features"].tolist()
        for pair in got["params"]:
            if isinstance(pair[1], float) and math.isinf(pair[1]):
                pair[1] = str(pair[1])
        out.append(got)

    def logistic(**params):
        return LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000, **params)

    ridge = Ridge(alpha=0.01)
    case("SelectFromModel", "iris", logistic())
    case("SelectFromModel", "iris", logistic(), norm_order=2, threshold="0.6 * mean")
    case("SelectFromModel", "wine", logistic(), scaled=True, norm_order=3, max_features=4)
    case("SelectFromModel", "iris", logistic(), norm_order=float("inf"), threshold="median")
    case("SelectFromModel", "breast_cancer", logistic(C=0.1), scaled=True, threshold="1.25*mean")
    case("SelectFromModel", "diabetes", Lasso(alpha=0.5, tol=1e-12, max_iter=100000))
    case("SelectFromModel", "diabetes", ElasticNet(alpha=0.3, l1_ratio=1.0, tol=1e-12, max_iter=100000))
    case("SelectFromModel", "diabetes", ElasticNet(alpha=0.3, l1_ratio=0.9, tol=1e-12, max_iter=100000))
    case("SelectFromModel", "diabetes", ridge, threshold=300.0)
    case("SelectFromModel", "diabetes", ridge, threshold=float("-inf"), max_features=3)
    case("SelectFromModel", "diabetes", DecisionTreeRegressor(random_state=0, max_depth=3))
    case("RFE", "diabetes", ridge)
    case("RFE", "diabetes", ridge, n_features_to_select=3, step=4)
    case("RFE", "diabetes", ridge, n_features_to_select=0.4, step=0.25)
    case("RFE", "iris", logistic(), n_features_to_select=1)
    case("RFE", "wine", logistic(), scaled=True, n_features_to_select=5, step=2)
    case("RFE", "diabetes", ridge, n_features_to_select=99)
    case("RFECV", "diabetes", ridge)
    case("RFECV", "diabetes", ridge, cv=3, scoring="neg_mean_absolute_error", step=3)
    case("RFECV", "wine", logistic(), scaled=True, cv=4, step=2, min_features_to_select=4)
    case("RFECV", "iris", logistic(), cv=3, min_features_to_select=9)
    case("SequentialFeatureSelector", "diabetes", ridge)
    case("SequentialFeatureSelector", "diabetes", ridge, direction="backward", n_features_to_select=3, cv=4)
    case("SequentialFeatureSelector", "diabetes", ridge, tol=0.005)
    case("SequentialFeatureSelector", "diabetes", ridge, tol=-0.003, direction="backward")
    case("SequentialFeatureSelector", "diabetes", ridge, n_features_to_select=0.35, scoring="neg_mean_absolute_error")
    case("SequentialFeatureSelector", "iris", KNeighborsClassifier(n_neighbors=3), n_features_to_select=2)
    case("SequentialFeatureSelector", "wine", KNeighborsClassifier(), direction="backward", cv=3, n_features_to_select=9)
    return out


def main() -> None:
    warnings.simplefilter("ignore")
    results = {"univariate": univariate(), "selectors": selectors()}
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "selection.json").write_text(text.replace('},{"', '},\n{"') + "\n")


if __name__ == "__main__":
    main()
