"""Writes `trees.json`: what scikit-learn 1.9.1 gives for trees, forests and boosting.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_trees.py`.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

HERE = Path(__file__).parent
SEEDS = 20


def digits(values, places=17):
    """Numbers as JSON takes them: all digits, `None` for missing."""
    return [None if np.isnan(v) else float(f"{v:.{places}g}") for v in np.ravel(np.asarray(values, dtype=float))]


def stride(values, count=20):
    values = np.asarray(values)
    return values[:: max(1, len(values) // count)][:count]


def generated():
    """A set with values of two decimals, so that bins are exact; with missing values; and with a category."""
    rng = np.random.RandomState(7)
    x = np.round(rng.uniform(size=(300, 5)), 2)
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    y = np.round(y + rng.normal(size=300), 3)
    score = y + 2 * rng.normal(size=300)
    classes = np.digitize(score, np.quantile(score, [0.3, 0.7])).astype(float)
    weight = np.round(rng.uniform(0.1, 3, size=300), 2)
    weight[::17] = 0.0
    missing = x.copy()
    missing[rng.uniform(size=x.shape) < 0.15] = np.nan
    category = x.copy()
    category[:, 3] = np.minimum(np.floor(x[:, 3] * 8), 7)
    category[:, 3] = np.array([3, 7, 0, 5, 1, 6, 2, 4])[category[:, 3].astype(int)]
    sets = {"plain": x, "missing": missing, "category": category}
    return sets, y, classes, weight


def trees(sets, y, classes, weight):
    """Cases without ties: several seeds, which shuffle the features, give the same predictions."""
    base = {"max_depth": 5, "min_samples_leaf": 8}
    regressors = [
        ("plain", base, False),
        ("plain", base, True),
        ("missing", base, False),
        ("plain", {"criterion": "poisson", **base}, False),
        ("plain", {"max_leaf_nodes": 9, "min_samples_leaf": 6}, False),
        ("plain", {"min_impurity_decrease": 0.2, "min_samples_leaf": 4}, False),
        ("plain", {"ccp_alpha": 0.15, "min_samples_leaf": 7}, False),
        ("plain", {"min_weight_fraction_leaf": 0.05}, True),
        ("plain", {"monotonic_cst": [0, 0, 0, 1, -1], **base}, False),
        ("plain", {"min_samples_split": 0.2, "min_samples_leaf": 0.03}, False),
    ]
    # Counts of classes tie often, sums of weights do not.
    classifiers = [
        ("plain", {"max_depth": 3, "min_samples_leaf": 8}, False),
        ("plain", {"criterion": "entropy", **base}, True),
        ("plain", base, True),
        ("missing", base, True),
        ("plain", {"class_weight": "balanced", **base}, True),
        ("plain", {"max_leaf_nodes": 7, "min_samples_leaf": 6}, True),
        ("plain", {"ccp_alpha": 0.01, "min_samples_leaf": 9}, True),
        # The least decrease keeps scikit-learn from splitting a pure node, whose impurity is 0 only up to rounding.
        ("plain", {"monotonic_cst": [0, 0, 0, 1, 1], "min_impurity_decrease": 1e-9, **base}, True),
    ]
    out = []
    for cls, cases in [(DecisionTreeRegressor, regressors), (DecisionTreeClassifier, classifiers)]:
        for data, params, weighted in cases:
            is_class = cls is DecisionTreeClassifier
            binary = is_class and "monotonic_cst" in params
            target = (classes > 0).astype(float) if binary else classes if is_class else y
            fitted = []
            for seed in range(6):
                model = cls(random_state=seed, **params)
                model.fit(sets[data], target, sample_weight=weight if weighted else None)
                fitted.append(model)
            model = fitted[0]
            predict = [m.predict_proba(sets[data]) if is_class else m.predict(sets[data]) for m in fitted]
            ties = max(np.abs(p - predict[0]).max() for p in predict)
            print(cls.__name__, data, params, "leaves", model.get_n_leaves(), "differ by", ties)
            assert ties < 1e-12, "this case has ties"
            out.append({
                "estimator": cls.__name__,
                "data": data,
                "params": params,
                "weighted": weighted,
                "binary": binary,
                "predict": digits(stride(predict[0])),
                "importances": digits(model.feature_importances_),
                "leaves": int(model.get_n_leaves()),
                "depth": int(model.get_depth()),
            })
    return out


def bundled():
    """Trees that are grown to the end on the bundled sets: score on the training rows."""
    out = {}
    for name in ["iris", "wine", "digits"]:
        x, target = getattr(datasets, f"load_{name}")(return_X_y=True)
        leaves = [DecisionTreeClassifier(random_state=s).fit(x, target).get_n_leaves() for s in range(10)]
        out[name] = {"fewest": int(min(leaves)), "most": int(max(leaves))}
    return out


def friedman():
    x, y = datasets.make_friedman1(n_samples=400, n_features=8, noise=1.0, random_state=3)
    return np.round(x, 3), np.round(y, 3)


def folds(model, x, y):
    """Mean score of three folds: rows 0, 3, 6, ... and so on are tested."""
    rows = np.arange(len(y))
    parts = [(rows % 3 != k, rows % 3 == k) for k in range(3)]
    return np.mean([model.fit(x[train], y[train]).score(x[test], y[test]) for train, test in parts])


def forests():
    out = []
    names = ["iris", "wine", "breast_cancer", "digits", "diabetes"]
    sets = {n: getattr(datasets, f"load_{n}")(return_X_y=True) for n in names}
    sets["friedman1"] = friedman()
    for kinds in [(RandomForestClassifier, RandomForestRegressor), (ExtraTreesClassifier, ExtraTreesRegressor)]:
        for name, (x, y) in sets.items():
            cls = kinds[name in ("diabetes", "friedman1")]
            trees = 15 if name == "digits" else 25
            scores = [folds(cls(n_estimators=trees, random_state=s, n_jobs=2), x, y) for s in range(SEEDS)]
            print(cls.__name__, name, np.mean(scores), np.std(scores, ddof=1))
            out.append({
                "estimator": cls.__name__,
                "data": name,
                "n_estimators": trees,
                "mean": float(np.mean(scores)),
                "std": float(np.std(scores, ddof=1)),
            })
    return out


def boosted(sets, y, classes, weight):
    """Predictions after one round, and after many ones."""
    first = {"max_iter": 1, "min_samples_leaf": 5, "learning_rate": 0.5}
    many = {"max_iter": 40, "min_samples_leaf": 5}
    cases = []
    for loss in ["squared_error", "absolute_error", "poisson", "gamma", "quantile"]:
        extra = {"quantile": 0.8} if loss == "quantile" else {}
        for params in [first, many]:
            cases.append(("plain", {"loss": loss, **extra, **params}, False, "y"))
        # Few leaves, because the last splits of a quantile gain nothing but rounding errors.
        cases.append(("plain", {"loss": loss, **extra, **first, "max_leaf_nodes": 8}, True, "y"))
    for target in ["binary", "classes"]:
        for params in [first, many]:
            cases += [("plain", params, False, target), ("plain", params, True, target)]
    cases += [
        ("missing", {**many}, False, "y"),
        ("missing", {**first}, False, "binary"),
        ("category", {**many}, False, "y"),
        ("category", {**first}, False, "binary"),
        ("plain", {**many, "max_bins": 20}, False, "y"),
        ("plain", {**many, "max_bins": 20}, True, "y"),
        ("plain", {**many, "max_depth": 3, "l2_regularization": 2.0}, False, "y"),
        ("plain", {**many, "max_leaf_nodes": None, "min_samples_leaf": 20}, False, "y"),
        ("plain", {**many, "monotonic_cst": [0, 0, 0, 1, -1]}, False, "y"),
        ("plain", {**many, "class_weight": "balanced"}, False, "classes"),
        ("plain", {**many, "early_stopping": True, "n_iter_no_change": 3, "max_iter": 200}, False, "y"),
        ("plain", {**many, "early_stopping": True, "n_iter_no_change": 3, "max_iter": 200}, False, "classes"),
        ("plain", {**many, "early_stopping": True, "validation_fraction": None, "tol": 1e-2}, False, "binary"),
    ]
    out = []
    for data, params, weighted, target in cases:
        t = {"y": np.abs(y) + 0.01, "binary": (classes > 0).astype(float), "classes": classes}[target]
        cls = HistGradientBoostingRegressor if target == "y" else HistGradientBoostingClassifier
        settings = dict(params)
        settings["categorical_features"] = [3] if data == "category" else None
        model = cls(random_state=0, **settings).fit(sets[data], t, sample_weight=weight if weighted else None)
        predict = model.predict(sets[data]) if target == "y" else model.predict_proba(sets[data])
        loss = model._loss(
            y_true=t,
            raw_prediction=model._raw_predict(sets[data]),
            sample_weight=weight if weighted else None,
        )
        print(cls.__name__, data, params, weighted, "rounds", model.n_iter_, "loss", loss)
        out.append({
            "estimator": cls.__name__,
            "data": data,
            "params": params,
            "weighted": weighted,
            "target": target,
            "predict": digits(stride(predict)),
            "loss": float(loss),
            "rounds": int(model.n_iter_),
            "train_score": digits(model.train_score_[:3]),
            "validation_score": digits(model.validation_score_[:3]),
        })
    return out


def main() -> None:
    sets, y, classes, weight = generated()
    x, target = friedman()
    # The scores of forests take minutes: `--keep-forests` takes them from the last run.
    known = json.loads((HERE / "trees.json").read_text()) if "--keep-forests" in sys.argv else None
    result = {
        "sets": {name: digits(x) for name, x in sets.items()},
        "y": digits(y),
        "classes": digits(classes),
        "weight": digits(weight),
        "friedman1": {"x": digits(x), "y": digits(target)},
        "trees": trees(sets, y, classes, weight),
        "bundled": bundled(),
        "forests": known["forests"] if known else forests(),
        "boosted": boosted(sets, y, classes, weight),
    }
    (HERE / "trees.json").write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
