"""Writes `discrete.json`: results of scikit-learn for naive Bayes of discrete features, binarizers and KNNImputer.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_discrete.py`. The data sets are those of `datasets.py`.
"""

import json
import math
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.impute import KNNImputer
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB
from sklearn.preprocessing import Binarizer, FunctionTransformer, LabelBinarizer, MultiLabelBinarizer, SplineTransformer

HERE = Path(__file__).parent


def load(name):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1]


def plain(values):
    """As JSON: NaN is null."""
    values = np.asarray(values, dtype=float).ravel()
    return [None if math.isnan(v) else float(f"{v:.13g}") for v in values]


def sample(values, count=60):
    """At most about `count` values at a fixed stride."""
    flat = np.asarray(values, dtype=float).ravel()
    return plain(flat[:: max(1, len(flat) // count)])


def weights(n):
    """Weights 0 to 4 in turn."""
    return np.arange(n) % 5.0


def bayes():
    out = []

    def case(kind, file, weighted=False, sparse=False, **params):
        x, y = load(file)
        if kind is CategoricalNB:
            x = np.floor(x)
        x = csr_array(x) if sparse else x
        model = kind(**params).fit(x, y, sample_weight=weights(len(y)) if weighted else None)
        logs = np.maximum(model.predict_log_proba(x), -600)
        got = {
            "estimator": kind.__name__,
            "data": file,
            "weighted": weighted,
            "sparse": sparse,
            "params": [[k, v] for k, v in params.items()],
            "class_count": plain(model.class_count_),
            "class_log_prior": plain(model.class_log_prior_),
            "predict": model.predict(x).tolist()[::9],
            "log_proba": sample(logs, 80),
            "log_proba_stride": max(1, logs.size // 80),
        }
        if kind is CategoricalNB:
            flat = np.concatenate([log.ravel() for log in model.feature_log_prob_])
            got |= {"feature_log_prob": sample(flat), "stride": max(1, flat.size // 60)}
            got["n_categories"] = plain(model.n_categories_)
        else:
            got |= {"feature_log_prob": sample(model.feature_log_prob_), "feature_count": sample(model.feature_count_)}
            got["stride"] = max(1, model.feature_count_.size // 60)
        out.append(got)

    for sparse in [False, True]:
        case(BernoulliNB, "iris", sparse=sparse, binarize=1.5)
        case(BernoulliNB, "digits", sparse=sparse, alpha=0.5)
        case(BernoulliNB, "wine", sparse=sparse, weighted=True, binarize=2.0, fit_prior=False)
        case(ComplementNB, "digits", sparse=sparse)
        case(ComplementNB, "wine", sparse=sparse, weighted=True, norm=True, alpha=0.1)
        case(ComplementNB, "iris", sparse=sparse, class_prior=[0.2, 0.3, 0.5])
    case(BernoulliNB, "iris", binarize=3.0, class_prior=[0.2, 0.3, 0.5], alpha=1e-12, force_alpha=False)
    case(CategoricalNB, "iris")
    case(CategoricalNB, "digits", weighted=True, alpha=0.3)
    case(CategoricalNB, "iris", min_categories=12, fit_prior=False)
    case(CategoricalNB, "iris", min_categories=[12, 2, 8, 3], class_prior=[0.2, 0.3, 0.5])
    return out


NUMBERS = [[-2.5, 0.0], [0.0, 1e-3], [0.5, 30.0], [7.25, 2.0], [1.0, 1e10], [-0.25, 0.125]]
COLORS = ["red", "green", "blue", "green", "red", "blue", "blue"]
SETS = ["b|a", "c", "", "a|c|b", "a", "dd|a"]


def binarizers():
    functions = ["abs", "cbrt", "exp", "expm1", "log", "log10", "log1p", "log2", "reciprocal", "sign", "sqrt", "square", "tanh"]
    x = np.array(NUMBERS)
    small = np.minimum(x, 100)
    finite = {}
    for name in functions:
        values = FunctionTransformer(getattr(np, name)).fit_transform(small).T
        finite[name] = [[str(v) if not math.isfinite(v) else float(v) for v in column] for column in values]

    def labels(values, test, **params):
        model = LabelBinarizer(**params).fit(values)
        return {"classes": [str(c) for c in model.classes_], "values": model.transform(test).T.tolist()}

    split = [[label for label in s.split("|") if label] for s in SETS]
    listed = MultiLabelBinarizer(classes=["c", "a"]).fit([["c", "a"]])
    return {
        "numbers": x.T.tolist(),
        "binarizer": Binarizer(threshold=0.5).fit_transform(x).T.tolist(),
        "functions": finite,
        "colors": COLORS,
        "three": labels(COLORS, [*COLORS, "black"], neg_label=-1, pos_label=2),
        "two": labels(COLORS[:2], ["green", "red", "red"]),
        "one": labels(["red", "red"], ["red"]),
        "integers": labels([3, 1, 10, 3], [10, 1, 3]),
        "sets": SETS,
        "set_labels": MultiLabelBinarizer().fit(split).classes_.tolist(),
        "set_values": MultiLabelBinarizer().fit_transform(split).T.tolist(),
        "listed": listed.transform([[v for v in s if v in "ca"] for s in split]).T.tolist(),
    }


def imputed():
    out = []
    rng = np.random.RandomState(5)
    for file, count in [("breast_cancer", 150), ("wine", 178), ("diabetes", 200)]:
        x = load(file)[0][:count].copy()
        mask = rng.uniform(size=x.shape) < 0.15
        mask[7] = True
        x[mask] = np.nan
        for params in [{}, {"n_neighbors": 3, "weights": "distance"}, {"n_neighbors": 1, "add_indicator": True}]:
            model = KNNImputer(**params).fit(x)
            test = x[::-1][:60] + 0.01
            values = model.transform(x)[:, : x.shape[1]]
            out.append(
                {
                    "data": file,
                    "rows": count,
                    "mask": [int(v) for v in np.flatnonzero(mask)],
                    "params": [[k, v] for k, v in params.items()],
                    "values": plain(values[mask]),
                    "test": plain(model.transform(test)[:, : x.shape[1]][np.isnan(test)]),
                }
            )
            if file == "diabetes":
                break
    return out


def splines():
    out = []
    x = load("iris")[0]
    test = np.concatenate([x[::7], x[:5] - 3, x[-5:] + 3])
    for params in [
        {},
        {"n_knots": 4, "degree": 2, "knots": "quantile", "include_bias": False},
        {"degree": 1, "extrapolation": "linear"},
        {"extrapolation": "linear"},
        {"extrapolation": "continue", "n_knots": 3},
        {"extrapolation": "periodic", "n_knots": 6},
    ]:
        # One feature after the other: with degree 1 and lines, scikit-learn takes other knots from the second one on.
        values = [SplineTransformer(**params).fit(x[:, [j]]).transform(test[:, [j]]) for j in range(x.shape[1])]
        values = np.hstack(values)
        out.append({"params": [[k, v] for k, v in params.items()], "width": values.shape[1], "values": sample(values.T, 400), "stride": max(1, values.size // 400)})
    return out


def main() -> None:
    warnings.simplefilter("ignore")
    results = {"bayes": bayes(), "binarizers": binarizers(), "imputed": imputed(), "splines": splines()}
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "discrete.json").write_text(text.replace('},{"', '},\n{"') + "\n")


if __name__ == "__main__":
    main()
