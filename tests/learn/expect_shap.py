"""Writes `shap.json`: SHAP values of the Python package shap, and of a sum over all subsets of features.

Run in an environment with shap 0.51, scikit-learn 1.9.1, xgboost-cpu, lightgbm and pandas: `python
tests/learn/expect_shap.py`. `foreign.json` and `lightgbm.json` must be there: the models of their files are explained.
"""

import itertools
import json
import math

import lightgbm as lgb
import numpy as np
import shap
import xgboost as xgb
from expect_foreign import HERE, categories, holes, table
from expect_trees import digits
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

ROWS, WIDTH, STEP = 160, 5, 13
STEP_OF_LIBRARIES = 37


def generated():
    """Multiples of 1/128, so that bins, single precision and thresholds between values are exact."""
    rng = np.random.RandomState(3)
    x = np.round(128 * rng.uniform(size=(ROWS, WIDTH))) / 128
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    y = np.round(y + rng.normal(size=ROWS), 3)
    classes = np.digitize(y + rng.normal(size=ROWS), np.quantile(y, [0.3, 0.7])).astype(float)
    missing = x.copy()
    missing[rng.uniform(size=x.shape) < 0.15] = np.nan
    weight = np.round(rng.uniform(0.1, 3, size=ROWS), 2)
    return x, missing, y, classes, weight


def known_value(tree, row, known, node=0):
    """The value of a tree if the features `known` are known: others go both ways, weighed by training rows."""
    left, right = tree.children_left[node], tree.children_right[node]
    if left < 0:
        value = tree.value[node, 0]
        return value / value.sum() if len(value) > 1 else value
    feature = tree.feature[node]
    if feature in known:
        return known_value(tree, row, known, left if row[feature] <= tree.threshold[node] else right)
    cover = tree.weighted_n_node_samples
    both = [cover[child] * known_value(tree, row, known, child) for child in (left, right)]
    return (both[0] + both[1]) / cover[node]


def brute(tree, rows):
    """Shapley values by their definition: rows x features x values."""
    out = []
    for row in rows:
        value = {s: known_value(tree, row, s) for n in range(WIDTH + 1) for s in itertools.combinations(range(WIDTH), n)}
        phi = []
        for i in range(WIDTH):
            others = [j for j in range(WIDTH) if j != i]
            total = 0.0
            for n in range(WIDTH):
                share = math.factorial(n) * math.factorial(WIDTH - n - 1) / math.factorial(WIDTH)
                for s in itertools.combinations(others, n):
                    total = total + share * (value[tuple(sorted((*s, i)))] - value[s])
            phi.append(total)
        out.append(phi)
    return np.array(out)


def named(model):
    params = {k: v for k, v in model.get_params(deep=False).items() if v != type(model)().get_params()[k]}
    return {"estimator": type(model).__name__, "params": params}


def case(model, values, base, **more):
    """Values are rows x features, or rows x features x outputs."""
    values = np.asarray(values)
    values = values[:, :, None] if values.ndim == 2 else values
    return {**named(model), "values": digits(values.transpose(2, 1, 0)), "base": digits(np.atleast_1d(base)), **more}


def trees(x, missing, y, classes, weight):
    binary = np.minimum(classes, 1)
    all_features = {"bootstrap": False, "max_features": None, "n_estimators": 3}
    small = {"max_depth": 4, "min_samples_leaf": 4}
    cases = []
    for model, target, weighted, rows in [
        (DecisionTreeRegressor(max_depth=4, min_samples_leaf=4), "y", False, "x"),
        (DecisionTreeRegressor(max_depth=6, min_samples_leaf=3), "y", True, "x"),
        (DecisionTreeClassifier(max_depth=4, min_samples_leaf=10), "binary", True, "x"),
        (DecisionTreeClassifier(**small), "classes", True, "x"),
        (RandomForestRegressor(**all_features, **small), "y", True, "x"),
        (RandomForestClassifier(**all_features, **small), "classes", True, "x"),
        (GradientBoostingRegressor(n_estimators=5), "y", True, "x"),
        (GradientBoostingClassifier(n_estimators=3), "binary", False, "x"),
        (HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=8), "y", False, "missing"),
        (HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=8), "binary", False, "missing"),
        (HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=8), "classes", False, "x"),
    ]:
        data = missing if rows == "missing" else x
        goal = {"y": y, "binary": binary, "classes": classes}[target]
        own = weight if weighted else None
        # No two splits are equally good: features in another order give the same trees.
        again = [clone(model).set_params(random_state=n).fit(data, goal, own).predict(data) for n in range(8)]
        assert all(np.allclose(one, again[0], rtol=1e-9) for one in again), model
        model.fit(data, goal, sample_weight=own)
        some = data[::STEP]
        explainer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
        values, base = explainer.shap_values(some, check_additivity=True), explainer.expected_value
        more = {"target": target, "weighted": weighted, "rows": rows}
        if type(model).__name__.startswith("DecisionTree"):
            exact = brute(model.tree_, some)
            assert np.allclose(np.squeeze(exact), np.squeeze(values), rtol=1e-5, atol=1e-6)
            more["brute"] = digits(exact.reshape(len(some), WIDTH, -1).transpose(2, 1, 0))
        cases.append(case(model, values, base, **more))
    return cases


def linear(x, y, classes):
    binary = np.minimum(classes, 1)
    cases = []
    for model, target in [
        (LinearRegression(), "y"),
        (Ridge(alpha=0.5), "y"),
        (Lasso(alpha=0.05), "y"),
        (ElasticNet(alpha=0.05), "y"),
        (LogisticRegression(tol=1e-8), "binary"),
        (LogisticRegression(tol=1e-8), "classes"),
    ]:
        model.fit(x, {"y": y, "binary": binary, "classes": classes}[target])
        explainer = shap.LinearExplainer(model, shap.maskers.Independent(x[:50], max_samples=1000))
        cases.append(case(model, explainer.shap_values(x[::STEP]), explainer.expected_value, target=target))
    pipe = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)).fit(x, binary)
    scaled = pipe[:-1].transform(x)
    explainer = shap.LinearExplainer(pipe[-1], shap.maskers.Independent(scaled[:50], max_samples=1000))
    values = explainer.shap_values(scaled[::STEP])
    return cases, case(pipe[-1], values, explainer.expected_value, data=digits(scaled[::STEP].T))


def permutation(x, y, classes):
    cases = []
    for model, predict, target in [
        (SVR(C=10.0, tol=1e-9), "predict", "y"),
        (GaussianNB(), "predict_proba", "classes"),
    ]:
        model.fit(x, {"y": y, "classes": classes}[target])
        background = shap.maskers.Independent(x[:30], max_samples=1000)
        explainer = shap.PermutationExplainer(getattr(model, predict), background, seed=5)
        made = explainer(x[::STEP], max_evals=60, silent=True)
        cases.append(case(model, made.values, made.base_values[0], target=target, evaluations=60))
    return cases


def libraries():
    """The libraries' own contributions of the models in `foreign.json` and `lightgbm.json`."""
    made = {"xgboost": {}, "lightgbm": {}}
    files = json.loads((HERE / "foreign.json").read_text())["files"]
    for name, one in files.items():
        frame, _ = table(one["data"])
        for change, of in [("holes", holes), ("categories", categories)]:
            frame = of(frame) if change in one["changes"] else frame
        booster = xgb.Booster()
        booster.load_model(bytearray(one["json"].encode()))
        if json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gblinear":
            continue
        rows = xgb.DMatrix(frame.iloc[::STEP_OF_LIBRARIES], enable_categorical=True)
        best = booster.attr("best_iteration")
        rounds = (0, int(best) + 1) if best is not None else (0, 0)
        values = booster.predict(rows, pred_contribs=True, iteration_range=rounds)
        values = values[:, None, :] if values.ndim == 2 else values
        made["xgboost"][name] = {
            "values": digits(values[:, :, :-1].transpose(1, 2, 0), 9), "base": digits(values[0, :, -1], 9)
        }
    files = json.loads((HERE / "lightgbm.json").read_text())["files"]
    for name, one in files.items():
        frame, _ = table(one["data"])
        frame = holes(frame) if "holes" in one["changes"] else frame
        if "zeros" in one["changes"]:
            frame = frame.mask(frame.abs() < 0.02, 0.0)
        frame = categories(frame) if "categories" in one["changes"] else frame
        booster = lgb.Booster(model_str=one["text"])
        outputs = booster.num_model_per_iteration()
        values = booster.predict(frame.iloc[::STEP_OF_LIBRARIES], pred_contrib=True)
        values = np.asarray(values).reshape(len(values), outputs, -1)
        if "\naverage_output\n" in one["text"]:
            # The library adds the contributions of trees whose mean it predicts.
            values = values / booster.current_iteration()
        made["lightgbm"][name] = {
            "values": digits(values[:, :, :-1].transpose(1, 2, 0), 9), "base": digits(values[0, :, -1], 9)
        }
    return made


def main():
    x, missing, y, classes, weight = generated()
    alone, pipeline = linear(x, y, classes)
    out = {
        "generated": {
            "x": digits(x.T), "missing": digits(missing.T), "y": digits(y), "classes": digits(classes),
            "weight": digits(weight), "step": STEP, "step_of_libraries": STEP_OF_LIBRARIES,
        },
        "trees": trees(x, missing, y, classes, weight),
        "linear": alone,
        "pipeline": pipeline,
        "permutation": permutation(x, y, classes),
        **libraries(),
    }
    (HERE / "shap.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
