"""Writes `ensemble.json`: what scikit-learn 1.9.1 gives for votes, stacks, bagging, calibration and boosting.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_ensemble.py`. The data sets are those of
`datasets.py`, and a generated one.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import sklearn.calibration
from scipy.optimize import minimize
from sklearn import ensemble, linear_model, multiclass, naive_bayes, neighbors, preprocessing, svm, tree
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline

warnings.simplefilter("ignore")
HERE = Path(__file__).parent
MODULES = [ensemble, linear_model, multiclass, naive_bayes, neighbors, preprocessing, svm, tree]
TIGHT = {"tol": 1e-12, "max_iter": 10000, "solver": "newton-cholesky"}


def tight(function, start, **given):
    """The minimiser of sigmoid calibration until it no longer gets better."""
    options = {"gtol": 1e-12, "ftol": 1e-16, "maxiter": 1000, "maxls": 100}
    return minimize(function, start, **{**given, "options": options})


sklearn.calibration.minimize = tight


def digits(values, places=12):
    """Numbers as JSON takes them: `None` for missing."""
    return [None if np.isnan(v) else float(f"{v:.{places}g}") for v in np.ravel(np.asarray(values, dtype=float))]


def part(name, estimator, params=None, parts=()):
    return {"name": name, "estimator": estimator, "params": params or {}, "parts": list(parts)}


def whole(estimator, parts=(), **params):
    return part("", estimator, params, parts)


def logistic(name="lr", **params):
    return part(name, "LogisticRegression", {**TIGHT, **params})


def scaled(name, last):
    return part(name, "Pipeline", parts=[part("scale", "StandardScaler"), last])


NB = part("nb", "GaussianNB")


def made(spec):
    """The estimator of scikit-learn."""
    name, params = spec["estimator"], {("C" if k == "c" else k): v for k, v in spec["params"].items()}
    parts = [(p["name"], made(p)) for p in spec["parts"]]
    if name == "Pipeline":
        return Pipeline(parts)
    if name.startswith(("Voting", "Stacking")):
        final = dict(parts).get("final_estimator")
        parts = [p for p in parts if p[0] != "final_estimator"]
        extra = {"final_estimator": final} if name.startswith("Stacking") else {}
        return getattr(ensemble, name)(parts, **extra, **params)
    inside = {"estimator": parts[0][1]} if parts else {}
    if name == "CalibratedClassifierCV":
        return CalibratedClassifierCV(**inside, **params)
    return next(getattr(m, name) for m in MODULES if hasattr(m, name))(**inside, **params)


def load(name):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1]


def generated():
    """Multiples of 1/64, so that bins and 32 bits are exact: a number, three classes, and weights."""
    rng = np.random.RandomState(11)
    x = np.round(rng.uniform(size=(240, 5)) * 64) / 64
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    y = np.round(y + rng.normal(size=240), 3)
    score = y + 2 * rng.normal(size=240)
    classes = np.digitize(score, np.quantile(score, [0.4, 0.7])).astype(float)
    weight = np.round(rng.uniform(0.1, 3, size=240), 2)
    weight[::17] = 0.0
    return x, y, classes, weight


GENERATED = generated()


def rows_of(case):
    """Features and target of a case."""
    if case["data"] != "generated":
        return load(case["data"])
    x, y, classes, _ = GENERATED
    return x, {"y": y, "classes": classes, "binary": np.minimum(classes, 1)}[case["target"]]


def weights_of(case, n):
    if not case["weighted"]:
        return None
    return GENERATED[3] if case["data"] == "generated" else np.arange(n) % 4 + 0.5


def case_of(spec, data, target=None, weighted=False):
    return {"spec": spec, "data": data, "target": target, "weighted": weighted}


ORDERS = [np.random.RandomState(seed).permutation(5) for seed in range(8)]


def same(others, one):
    return all(len(o) == len(one) and np.allclose(o, one, rtol=1e-9, atol=1e-12) for o in others)


def fitted(case, order=None, **params):
    x, y = rows_of(case)
    x = x if order is None else x[:, order]
    spec = {**case["spec"], "params": {**case["spec"]["params"], **params}}
    weight = weights_of(case, len(y))
    return made(spec).fit(x, y, **({} if weight is None else {"sample_weight": weight})), x


def predicted(m, x):
    """Predictions, or probabilities if there are some, at a few rows."""
    x = x[:: max(1, len(x) // 20)][:20]
    has_proba = hasattr(m, "predict_proba")
    return digits(m.predict_proba(x) if has_proba else m.predict(x))


def votes():
    three = [scaled("lr", logistic("lr")), NB, scaled("knn", part("knn", "KNeighborsClassifier"))]
    two = [part("ridge", "Ridge", {"alpha": 0.1}), part("ols", "LinearRegression")]
    cases = [
        case_of(part("", "VotingClassifier", {"voting": "hard"}, three), "wine"),
        case_of(part("", "VotingClassifier", {"voting": "hard", "weights": [1.0, 0.5, 2.0]}, three), "iris"),
        case_of(part("", "VotingClassifier", {"voting": "soft"}, three), "wine"),
        case_of(part("", "VotingClassifier", {"voting": "soft", "weights": [1.0, 0.5, 2.0]}, three), "iris"),
        case_of(part("", "VotingClassifier", {"voting": "soft"}, [logistic(), NB]), "iris", weighted=True),
        case_of(part("", "VotingRegressor", {}, two), "diabetes"),
        case_of(part("", "VotingRegressor", {"weights": [2.0, 1.0]}, two), "diabetes", weighted=True),
    ]
    for case in cases:
        m, x = fitted(case)
        case["predict"] = predicted(m, x)
    return cases


def stacks():
    two = [scaled("lr", logistic("lr")), NB]
    last = logistic("final_estimator")
    numbers = [part("ridge", "Ridge", {"alpha": 0.1}), part("ols", "LinearRegression")]
    ridge = part("final_estimator", "Ridge")
    scores = {"stack_method": "decision_function"}
    cases = [
        case_of(whole("StackingClassifier", [*two, last]), "iris"),
        case_of(whole("StackingClassifier", [*two, last], passthrough=True), "iris"),
        case_of(whole("StackingClassifier", [*two, last]), "breast_cancer"),
        case_of(whole("StackingClassifier", [*two, last], stack_method="predict"), "breast_cancer"),
        case_of(whole("StackingClassifier", [two[0], last], **scores), "breast_cancer"),
        case_of(whole("StackingClassifier", [logistic(), NB, last]), "iris", weighted=True),
        case_of(whole("StackingRegressor", numbers), "diabetes"),
        case_of(whole("StackingRegressor", [*numbers, ridge], passthrough=True), "diabetes"),
    ]
    for case in cases:
        m, x = fitted(case)
        # Features first, as attributes of several classes are written.
        case["coef"] = digits(m.final_estimator_.coef_)
        case["predict"] = predicted(m, x)
    return cases


def bags():
    ridge = part("estimator", "Ridge", {"alpha": 0.1})
    lr, nb, knn = logistic("estimator"), {**NB, "name": "estimator"}, part("estimator", "KNeighborsClassifier")
    cases = []

    def regressor(**params):
        return whole("BaggingRegressor", [ridge], **params)

    def classifier(inner, **params):
        return whole("BaggingClassifier", [inner], **params)

    for spec, data, weighted in [
        (regressor(oob_score=True), "diabetes", False),
        (regressor(max_samples=0.4, max_features=0.6, random_state=3), "diabetes", False),
        (regressor(max_features=4, bootstrap_features=True), "diabetes", False),
        (regressor(max_samples=100, bootstrap=False, n_estimators=4), "diabetes", True),
        (regressor(max_samples=0.3), "diabetes", True),
        (classifier(nb, oob_score=True, n_estimators=25), "wine", False),
        (classifier(lr, max_samples=0.5, n_estimators=5, random_state=7), "iris", False),
        (classifier(knn, oob_score=True, n_estimators=25, max_features=3), "iris", False),
        (classifier(knn, max_samples=12, n_estimators=12), "iris", False),
    ]:
        case = case_of(spec, data, weighted=weighted)
        m, x = fitted(case, random_state=spec["params"].get("random_state", 0))
        case["predict"] = predicted(m, x)
        case["features"] = [int(j) for f in m.estimators_features_ for j in f]
        if spec["params"].get("oob_score"):
            oob = m.oob_decision_function_ if hasattr(m, "oob_decision_function_") else m.oob_prediction_
            case["oob_score"] = m.oob_score_
            case["oob"] = digits(oob[:15])
        cases.append(case)
    return cases


def calibrations():
    lr = scaled("estimator", logistic("lr"))
    nb = {**NB, "name": "estimator"}
    cases = []
    sets = [(lr, "breast_cancer", False), (nb, "breast_cancer", True), (nb, "iris", False), (lr, "wine", False)]
    for inner, data, weighted in sets:
        for method in ["sigmoid", "isotonic"]:
            for by_fold in [True, False]:
                spec = whole("CalibratedClassifierCV", [inner], method=method, ensemble=by_fold)
                case = case_of(spec, data, weighted=weighted)
                m, x = fitted(case)
                all_ = [c for fold in m.calibrated_classifiers_ for c in fold.calibrators]
                names = ("a_", "b_") if method == "sigmoid" else ("X_thresholds_", "y_thresholds_")
                case["first"] = digits(np.concatenate([np.atleast_1d(getattr(c, names[0])) for c in all_]))
                case["second"] = digits(np.concatenate([np.atleast_1d(getattr(c, names[1])) for c in all_]))
                case["predict"] = predicted(m, x)
                cases.append(case)
    return cases


def several_classes():
    lr, nb, knn = logistic("estimator"), {**NB, "name": "estimator"}, part("estimator", "KNeighborsClassifier")
    scaled_lr = scaled("estimator", logistic("lr"))
    cases = []
    for name in ["OneVsRestClassifier", "OneVsOneClassifier"]:
        two = [(scaled_lr, "breast_cancer"), (nb, "breast_cancer")]
        for inner, data in [(lr, "iris"), (nb, "wine"), (knn, "wine"), *two]:
            case = case_of(whole(name, [inner]), data)
            m, x = fitted(case)
            case["predict"] = predicted(m, x)
            case["classes"] = digits(m.predict(x))
            if hasattr(m, "decision_function"):
                case["decision"] = digits(np.atleast_2d(m.decision_function(x[::9]).T))
            cases.append(case)
    return cases


def boosted_by_weights():
    lr, nb = logistic("estimator"), {**NB, "name": "estimator"}
    deep = part("estimator", "DecisionTreeClassifier", {"max_depth": 2, "min_samples_leaf": 10})
    ridge = part("estimator", "Ridge", {"alpha": 0.1})
    cases = []

    def classifier(n, *inner, **params):
        return whole("AdaBoostClassifier", inner, n_estimators=n, **params)

    def regressor(n, *inner, **params):
        return whole("AdaBoostRegressor", inner, n_estimators=n, **params)

    for spec, data, target, weighted in [
        (classifier(12), "generated", "binary", False),
        (classifier(12, learning_rate=0.5), "generated", "classes", True),
        (classifier(8, deep), "generated", "classes", False),
        (classifier(8, lr), "iris", None, False),
        (classifier(6, nb), "wine", None, False),
        (regressor(10, ridge), "diabetes", None, False),
        (regressor(10, ridge, loss="square", learning_rate=0.5), "diabetes", None, True),
        (regressor(10, ridge, loss="exponential", random_state=5), "diabetes", None, False),
        (regressor(6), "generated", "y", False),
    ]:
        case = case_of(spec, data, target, weighted)
        m, x = fitted(case, random_state=spec["params"].get("random_state", 0))
        n = len(m.estimators_)
        case["weights"] = digits(m.estimator_weights_[:n])
        case["errors"] = digits(m.estimator_errors_[:n])
        if spec["parts"] == [] or spec["parts"][0]["estimator"].startswith("Decision"):
            case["importances"] = digits(m.feature_importances_)
        case["predict"] = predicted(m, x)
        cases.append(case)
    return cases


def boosted_by_gradients():
    out = []
    twenty = {"n_estimators": 20}
    leaf = {"min_samples_leaf": 5, **twenty}
    shares = {"min_samples_split": 0.1, "min_samples_leaf": 0.05}
    early = {"n_estimators": 200, "n_iter_no_change": 3, "tol": 1e-3, "random_state": 1}
    for kind, target, params, weighted in [
        ("Regressor", "y", {"n_estimators": 30}, False),
        ("Regressor", "y", {**leaf, "max_depth": 4, "learning_rate": 0.3}, True),
        ("Regressor", "y", {**leaf, "loss": "absolute_error"}, False),
        ("Regressor", "y", {**leaf, "loss": "absolute_error"}, True),
        ("Regressor", "y", {**leaf, "loss": "huber"}, False),
        ("Regressor", "y", {**leaf, "loss": "huber", "alpha": 0.6}, True),
        ("Regressor", "y", {**leaf, "loss": "quantile", "alpha": 0.8}, False),
        ("Regressor", "y", {**leaf, "subsample": 0.5, "random_state": 3}, False),
        ("Regressor", "y", {"n_estimators": 20, "max_leaf_nodes": 6, "max_depth": None}, False),
        ("Regressor", "y", {**twenty, **shares, "init": "zero"}, False),
        ("Regressor", "y", {"n_estimators": 20, "ccp_alpha": 0.05, "min_impurity_decrease": 0.01}, False),
        ("Regressor", "y", {**early, "min_samples_leaf": 8}, False),
        ("Classifier", "binary", leaf, False),
        ("Classifier", "binary", {**leaf, "min_weight_fraction_leaf": 0.05}, True),
        ("Classifier", "binary", {**leaf, "loss": "exponential"}, False),
        ("Classifier", "binary", {**leaf, "subsample": 0.7, "random_state": 2}, True),
        ("Classifier", "binary", {**early, "min_samples_leaf": 5}, False),
        ("Classifier", "classes", {**leaf, "min_samples_leaf": 9}, True),
        ("Classifier", "classes", leaf, False),
        ("Classifier", "classes", {**leaf, "init": "zero"}, True),
        ("Classifier", "classes", {**leaf, "subsample": 0.6, "random_state": 4}, False),
    ]:
        case = case_of(part("", f"GradientBoosting{kind}", params), "generated", target, weighted)
        m, x = fitted(case, random_state=params.get("random_state", 0))
        case["train_score"] = digits(m.train_score_)
        case["importances"] = digits(m.feature_importances_)
        case["predict"] = predicted(m, x)
        case["n_estimators"] = m.n_estimators_
        # Features in another order break ties of equally good splits in another way, with the same rows.
        losses, importances = [], []
        for order in ORDERS:
            other, _ = fitted(case, order, random_state=params.get("random_state", 0))
            losses.append(other.train_score_)
            importances.append(other.feature_importances_[np.argsort(order)])
        case["ties"] = not same(losses, m.train_score_)
        case["feature_ties"] = not same(importances, m.feature_importances_)
        if kind == "Classifier":
            case["decision"] = digits(np.atleast_2d(m.decision_function(x[:10]).T))
        if "subsample" in params:
            case["oob_improvement"] = digits(m.oob_improvement_)
            case["oob_score"] = m.oob_score_
        out.append(case)
    return out


def main():
    x, y, classes, weight = GENERATED
    arrays = {"x": x, "y": y, "classes": classes, "weight": weight}
    out = {
        "generated": {"width": x.shape[1], **{name: digits(values) for name, values in arrays.items()}},
        "votes": votes(),
        "stacks": stacks(),
        "bags": bags(),
        "calibrations": calibrations(),
        "several_classes": several_classes(),
        "boosted_by_weights": boosted_by_weights(),
        "boosted_by_gradients": boosted_by_gradients(),
    }
    print([(c["ties"], c["feature_ties"]) for c in out["boosted_by_gradients"]])
    (HERE / "ensemble.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
