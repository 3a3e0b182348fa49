"""Writes `svm.json`: results of scikit-learn for support vector machines.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_svm.py`. The data sets are those of `datasets.py`.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

HERE = Path(__file__).parent


def load(name):
    """A data set with features in units of their deviations."""
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    x = rows[:, :-1]
    x = x - x.mean(axis=0)
    deviation = x.std(axis=0)
    return np.ascontiguousarray(x / np.where(deviation > 0, deviation, 1)), rows[:, -1]


def weights(n):
    """Weights 0 to 4 in turn."""
    return np.arange(n) % 5.0


def rounded(values):
    return [float(f"{v:.12g}") for v in np.asarray(values, dtype=float).ravel()]


def sample(values, count=40):
    """At most about `count` values at a fixed stride."""
    flat = np.asarray(values, dtype=float).ravel()
    return rounded(flat[:: max(1, len(flat) // count)])


def small(name):
    """Sets with odd shapes."""
    t = np.arange(24.0)
    if name == "one":
        return (t % 7)[:, None] / 3 - 1, (t % 7 > 2).astype(float)
    if name == "constant":
        return np.column_stack([np.full(24, 2.0), t % 5, t % 3]), (t % 4 < 2).astype(float)
    if name == "duplicates":
        x = np.column_stack([t % 4, t % 3])
        return np.concatenate([x, x]), np.concatenate([t % 3, (t + (t % 8 == 0)) % 3])
    return np.array([[0.0, 1.0], [3.0, -1.0]]), np.array([0.0, 1.0])


def data(name):
    if name.startswith("small_"):
        return small(name.removeprefix("small_"))
    x, y = load(name)
    return (x[:400], y[:400]) if name == "digits" else (x, y)


def linear():
    out = {}

    def case(name, file, weight=None, **params):
        x, y = data(file)
        estimator = LinearSVR if params.get("loss", "").endswith("insensitive") or "epsilon" in params else LinearSVC
        base = {"tol": 1e-10, "max_iter": 3_000_000}
        m = estimator(**{**base, **params}).fit(x, y, sample_weight=None if weight is None else weight(len(x)))
        w, b = np.atleast_2d(m.coef_), np.atleast_1d(m.intercept_)
        scores = x @ w.T + b
        out[name] = {"coef": rounded(m.coef_), "intercept": rounded(m.intercept_), "predict": sample(m.predict(x))}
        out[name]["decision"] = sample(scores.T)

    case("iris", "iris")
    case("wine_hinge", "wine", loss="hinge", C=0.5)
    case("wine_weighted", "wine", weights, class_weight="balanced")
    case("cancer", "breast_cancer", C=0.3)
    case("cancer_hinge", "breast_cancer", loss="hinge", C=0.01)
    case("cancer_l1", "breast_cancer", penalty="l1", dual=False, C=0.05)
    case("wine_l1", "wine", penalty="l1", dual=False, C=0.2, class_weight={0: 1, 1: 3, 2: 0.5})
    case("cancer_plain", "breast_cancer", weights, fit_intercept=False, C=0.1, class_weight={0: 2, 1: 0.25})
    case("cancer_scaling", "breast_cancer", intercept_scaling=10.0, C=0.1)
    case("digits", "digits", C=0.01)
    case("one", "small_one")
    case("one_hinge", "small_one", loss="hinge")
    case("constant", "small_constant")
    case("duplicates", "small_duplicates")
    case("two", "small_two")
    case("two_hinge", "small_two", loss="hinge")
    case("svr", "diabetes", epsilon=0.0, C=0.1)
    case("svr_epsilon", "diabetes", weights, epsilon=20.0, C=0.3)
    case("svr_squared", "diabetes", loss="squared_epsilon_insensitive", epsilon=5.0, C=0.01)
    case("svr_plain", "diabetes", loss="squared_epsilon_insensitive", fit_intercept=False)
    return out


def kernels():
    out = {}

    def case(name, kind, file, weight=None, **params):
        x, y = data(file)
        m = kind(**{"tol": 1e-9, **params})
        m.fit(x, y, sample_weight=None if weight is None else weight(len(x)))
        x2 = x + 0.1
        out[name] = {"predict": sample(m.predict(x2), 100), "intercept": rounded(m.intercept_)}
        out[name]["support"] = len(m.support_)
        out[name]["support_sum"] = int(m.support_.sum())
        out[name]["dual_norm"] = float(np.abs(m.dual_coef_).sum())
        if kind in (SVC, NuSVC):
            out[name]["n_support"] = m.n_support_.tolist()
        if hasattr(m, "decision_function"):
            out[name]["decision"] = sample(np.atleast_2d(m.decision_function(x2).T), 60)
        if params.get("kernel") == "linear":
            out[name]["coef"] = sample(m.coef_, 60)

    case("iris", SVC, "iris")
    case("iris_ovo", SVC, "iris", decision_function_shape="ovo", kernel="poly", coef0=1.0, C=2.0)
    case("iris_ties", SVC, "iris", break_ties=True, gamma=0.05, C=0.1)
    case("wine_linear", SVC, "wine", kernel="linear", C=0.5)
    case("wine_weighted", SVC, "wine", weights, class_weight="balanced", gamma="auto")
    case("wine_sigmoid", SVC, "wine", kernel="sigmoid", coef0=-0.2, gamma=0.02)
    case("cancer", SVC, "breast_cancer", C=3.0)
    case("cancer_linear", SVC, "breast_cancer", kernel="linear", C=0.1, class_weight={0: 2, 1: 0.5})
    case("digits", SVC, "digits")
    case("digits_poly", SVC, "digits", kernel="poly", degree=2, C=0.2)
    case("one", SVC, "small_one")
    case("constant", SVC, "small_constant", C=10.0)
    case("duplicates", SVC, "small_duplicates")
    case("two", SVC, "small_two")
    case("two_linear", SVC, "small_two", kernel="linear")
    case("nu_iris", NuSVC, "iris", nu=0.3)
    case("nu_wine", NuSVC, "wine", weights, nu=0.4, kernel="poly", coef0=1.0)
    case("nu_cancer", NuSVC, "breast_cancer", nu=0.2)
    case("svr", SVR, "diabetes", C=10.0)
    case("svr_weighted", SVR, "diabetes", weights, C=2.0, epsilon=10.0, kernel="linear")
    case("svr_poly", SVR, "diabetes", C=1.0, epsilon=5.0, kernel="poly", degree=2, gamma=0.1)
    case("nu_svr", NuSVR, "diabetes", C=10.0, nu=0.3)
    case("nu_svr_weighted", NuSVR, "diabetes", weights, C=5.0, nu=0.6, kernel="linear")

    def one_class(name, file, weight=None, **params):
        x = data(file)[0]
        m = OneClassSVM(**{"tol": 1e-9, **params}).fit(x, sample_weight=None if weight is None else weight(len(x)))
        out[name] = {
            "predict": sample(m.predict(x + 0.1), 100),
            "decision": sample(m.decision_function(x + 0.1), 60),
            "intercept": rounded(m.intercept_),
            "support": len(m.support_),
            "support_sum": int(m.support_.sum()),
            "dual_norm": float(np.abs(m.dual_coef_).sum()),
        }

    one_class("one_class", "iris", nu=0.1)
    one_class("one_class_weighted", "wine", weights, nu=0.3, gamma=0.05)
    return out


def probabilities():
    """Probabilities depend on folds. Their sums over rows of a class are compared."""
    out = {}
    for name in ["iris", "breast_cancer", "wine"]:
        x, y = data(name)
        m = SVC(probability=True, random_state=0).fit(x, y)
        proba = m.predict_proba(x)
        out[name] = rounded([[proba[y == c, k].mean() for k in range(proba.shape[1])] for c in np.unique(y)])
    return out


def scores():
    x, y = data("breast_cancer")
    machine, linear_machine = SVC(tol=1e-9).fit(x[::2], y[::2]), LinearSVC(tol=1e-10).fit(x[::2], y[::2])
    wine, classes = data("wine")
    several = LinearSVC(tol=1e-10).fit(wine[::2], classes[::2])
    return {
        "roc_auc": get_scorer("roc_auc")(machine, x[1::2], y[1::2]),
        "average_precision": get_scorer("average_precision")(machine, x[1::2], y[1::2]),
        "linear_roc_auc": get_scorer("roc_auc")(linear_machine, x[1::2], y[1::2]),
        "several": get_scorer("average_precision")(several, wine[1::2], classes[1::2]),
    }


def main() -> None:
    warnings.simplefilter("ignore", FutureWarning)
    results = {"linear": linear(), "kernels": kernels(), "probabilities": probabilities(), "scores": scores()}
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "svm.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
