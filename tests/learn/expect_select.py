"""Writes the expectations of model selection and metrics to `select.json`, from scikit-learn.

Run in an environment with scikit-learn 1.9: `python tests/learn/expect_select.py`.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from scipy import special, stats
from sklearn import calibration, datasets, inspection, linear_model, metrics
from sklearn import model_selection as ms
from sklearn.utils.random import sample_without_replacement

HERE = Path(__file__).parent
warnings.simplefilter("ignore")


def listed(value):
    """Plain lists and numbers, with null for NaN."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [listed(v) for v in value]
    if isinstance(value, dict):
        return {k: listed(v) for k, v in value.items()}
    if isinstance(value, (int, np.integer, str)):
        return value if isinstance(value, str) else int(value)
    value = float(value)
    return None if np.isnan(value) else value


def splitters():
    y = np.array([2, 0, 1, 0, 0, 2, 1, 1, 0, 2, 0, 0, 1, 2, 0, 1, 0, 2, 0, 1, 1, 0, 0])
    groups = np.array([5, 5, 1, 1, 1, 2, 2, 9, 9, 9, 9, 3, 3, 4, 4, 4, 7, 7, 8, 8, 8, 8, 5])
    x = np.zeros((len(y), 1))
    cases = {
        "kfold": ms.KFold(4),
        "kfold_shuffled": ms.KFold(5, shuffle=True, random_state=42),
        "stratified": ms.StratifiedKFold(3),
        "stratified_shuffled": ms.StratifiedKFold(4, shuffle=True, random_state=7),
        "group": ms.GroupKFold(3),
        "time": ms.TimeSeriesSplit(4),
        "time_gap": ms.TimeSeriesSplit(3, gap=2, test_size=4, max_train_size=6),
        "shuffle": ms.ShuffleSplit(3, test_size=0.3, random_state=1),
        "shuffle_train": ms.ShuffleSplit(2, test_size=5, train_size=0.5, random_state=3),
        "stratified_shuffle": ms.StratifiedShuffleSplit(3, test_size=0.35, random_state=11),
        "stratified_shuffle_train": ms.StratifiedShuffleSplit(2, test_size=4, train_size=9, random_state=5),
        "repeated": ms.RepeatedKFold(n_splits=3, n_repeats=2, random_state=9),
        "repeated_stratified": ms.RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=9),
        "leave_one_out": ms.LeaveOneOut(),
        "group_shuffle": ms.GroupShuffleSplit(3, test_size=0.4, random_state=2),
        "group_shuffle_train": ms.GroupShuffleSplit(2, test_size=3, train_size=0.5, random_state=6),
        "stratified_group": ms.StratifiedGroupKFold(3),
        "stratified_group_shuffled": ms.StratifiedGroupKFold(3, shuffle=True, random_state=5),
        "leave_group": ms.LeaveOneGroupOut(),
        "leave_groups": ms.LeavePGroupsOut(2),
    }
    out = {name: listed([list(pair) for pair in cv.split(x, y, groups)]) for name, cv in cases.items()}
    out["leave_rows"] = listed([list(pair) for pair in ms.LeavePOut(2).split(x[:7])])
    random = np.random.RandomState(3)
    many = {"y": random.choice(9, 400, p=np.arange(1, 10) / 45), "groups": random.choice(60, 400) * 3 - 20}
    for name, cv in [("plain", ms.StratifiedGroupKFold(5)), ("shuffled", ms.StratifiedGroupKFold(5, shuffle=True, random_state=1))]:
        many[name] = np.zeros(400, dtype=int)
        for fold, (_, test) in enumerate(cv.split(many["y"], many["y"], many["groups"])):
            many[name][test] = fold
    out["many"] = listed(many)
    rows = np.arange(1003)
    out["train_test"] = listed([v[::37] for v in ms.train_test_split(rows, random_state=42)])
    sizes = {"test_size": 101, "train_size": 0.6}
    out["train_test_sizes"] = listed([v[::37] for v in ms.train_test_split(rows, random_state=1, **sizes)])
    out["train_test_plain"] = listed([v[::37] for v in ms.train_test_split(rows, shuffle=False)])
    stratified = ms.train_test_split(rows, stratify=rows**2 % 7, random_state=8)
    out["train_test_stratified"] = listed([v[::37] for v in stratified])
    out["sample"] = listed([sample_without_replacement(*a, random_state=4) for a in [(50, 20), (100000, 5), (6, 6)]])
    return {"y": listed(y), "groups": listed(groups), "splits": out}


def classes():
    random = np.random.RandomState(0)
    n = 157
    y = random.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])
    score = random.normal(size=(n, 4)) + 1.2 * np.eye(4)[y]
    proba = np.round(np.exp(score) / np.exp(score).sum(axis=1, keepdims=True), 3)
    proba[:, 0] += 1 - proba.sum(axis=1)
    predicted = proba.argmax(axis=1)
    predicted[predicted == 3] = 2
    binary, p = (y > 0).astype(int), np.round(1 - proba[:, 0], 2)
    weight = np.round(random.uniform(0, 2, n), 3)
    weight[::10] = 0
    out = {"y": y, "predicted": predicted, "proba": proba, "weight": weight}
    out = listed(out) | {"cases": []}
    for w in [None, weight]:
        nan = {"zero_division": np.nan, "sample_weight": w}
        one = {"sample_weight": w}
        case = {}
        for name, t, q in [("multi", y, predicted), ("binary", binary, (p > 0.5).astype(int))]:
            averages = ["macro", "micro", "weighted", None] + (["binary"] if name == "binary" else [])
            scores = {}
            for average in averages:
                key = average or "each"
                scores[f"precision_{key}"] = metrics.precision_score(t, q, average=average, **nan)
                scores[f"recall_{key}"] = metrics.recall_score(t, q, average=average, **nan)
                scores[f"f1_{key}"] = metrics.f1_score(t, q, average=average, **nan)
                scores[f"fbeta_{key}"] = metrics.fbeta_score(t, q, beta=0.5, average=average, **nan)
                scores[f"jaccard_{key}"] = metrics.jaccard_score(t, q, average=average, **one)
            scores["accuracy"] = metrics.accuracy_score(t, q, **one)
            scores["balanced"] = metrics.balanced_accuracy_score(t, q, **one)
            scores["matthews"] = metrics.matthews_corrcoef(t, q, **one)
            scores["kappa"] = metrics.cohen_kappa_score(t, q, **one)
            scores["kappa_linear"] = metrics.cohen_kappa_score(t, q, weights="linear", **one)
            scores["kappa_quadratic"] = metrics.cohen_kappa_score(t, q, weights="quadratic", **one)
            scores["hamming"] = metrics.hamming_loss(t, q, **one)
            scores["zero_one"] = metrics.zero_one_loss(t, q, **one)
            scores["confusion"] = metrics.confusion_matrix(t, q, **one)
            if name == "binary":
                scores["ratios"] = metrics.class_likelihood_ratios(t, q, **one)
            case[name] = listed(scores)
        scores = {"roc_auc": metrics.roc_auc_score(binary, p, **one)}
        for average in ["macro", "weighted"]:
            scores[f"ovr_{average}"] = metrics.roc_auc_score(y, proba, multi_class="ovr", average=average, **one)
            if w is None:
                scores[f"ovo_{average}"] = metrics.roc_auc_score(y, proba, multi_class="ovo", average=average)
        scores["average_precision"] = metrics.average_precision_score(binary, p, **one)
        scores["average_precision_macro"] = metrics.average_precision_score(y, proba, **one)
        scores["log_loss"] = metrics.log_loss(y, proba, **one)
        scores["log_loss_binary"] = metrics.log_loss(binary, p, **one)
        scores["brier"] = metrics.brier_score_loss(y, proba, **one)
        scores["brier_binary"] = metrics.brier_score_loss(binary, p, **one)
        scores["d2_log_loss"] = metrics.d2_log_loss_score(y, proba, **one)
        scores["d2_brier"] = metrics.d2_brier_score(y, proba, **one)
        scores["top_2"] = metrics.top_k_accuracy_score(y, proba, k=2, **one)
        fpr, tpr, thresholds = metrics.roc_curve(binary, p, **one)
        scores["roc"] = [fpr[::5], tpr[::5], thresholds[1::5], [len(fpr)]]
        precision, recall, thresholds = metrics.precision_recall_curve(binary, p, **one)
        scores["pr"] = [precision[::7], recall[::7], thresholds[::7], [len(precision)]]
        if w is None:
            scores["calibration"] = calibration.calibration_curve(binary, p, n_bins=7)
        case["scores"] = listed(scores)
        out["cases"].append(case)
    return out


def numbers():
    random = np.random.RandomState(1)
    n = 113
    y = np.round(random.gamma(2, 3, n), 3) + 0.001
    predicted = np.round(y * random.uniform(0.5, 1.6, n), 3) + 0.01
    weight = np.round(random.uniform(0, 2, n), 3)
    weight[::9] = 0
    out = {"y": listed(y), "predicted": listed(predicted), "weight": listed(weight), "cases": []}
    for w in [None, weight]:
        one = {"sample_weight": w}
        scores = {
            name: getattr(metrics, name)(y, predicted, **one)
            for name in [
                "r2_score", "explained_variance_score", "mean_squared_error", "root_mean_squared_error",
                "mean_absolute_error", "median_absolute_error", "mean_absolute_percentage_error",
                "mean_squared_log_error", "mean_poisson_deviance", "mean_gamma_deviance", "d2_absolute_error_score",
            ]
        }
        scores["max_error"] = metrics.max_error(y, predicted)
        for power in [-0.5, 0, 1, 1.5, 2, 3]:
            scores[f"tweedie_{power}"] = metrics.mean_tweedie_deviance(y, predicted, power=power, **one)
            scores[f"d2_tweedie_{power}"] = metrics.d2_tweedie_score(y, predicted, power=power, **one)
        for alpha in [0.1, 0.5, 0.9]:
            scores[f"pinball_{alpha}"] = metrics.mean_pinball_loss(y, predicted, alpha=alpha, **one)
            scores[f"d2_pinball_{alpha}"] = metrics.d2_pinball_score(y, predicted, alpha=alpha, **one)
        out["cases"].append(listed(scores))
    return out


def clusters():
    random = np.random.RandomState(2)
    truth = random.choice(5, 200)
    labels = np.where(random.uniform(size=200) < 0.6, truth, random.choice(7, 200)) - 1
    x = datasets.load_iris().data
    y = datasets.load_iris().target
    names = [
        "rand_score", "adjusted_rand_score", "mutual_info_score", "normalized_mutual_info_score",
        "adjusted_mutual_info_score", "homogeneity_score", "completeness_score", "v_measure_score",
        "fowlkes_mallows_score",
    ]
    scores = {name: [getattr(metrics, name)(truth, labels), getattr(metrics, name)(truth, truth)] for name in names}
    large = random.choice(3, 2000), random.choice(4, 2000)
    scores["adjusted_mutual_info_large"] = metrics.adjusted_mutual_info_score(*large)
    of_points = ["silhouette_score", "calinski_harabasz_score", "davies_bouldin_score"]
    points = {name: getattr(metrics, name)(x, y) for name in of_points}
    return listed({"truth": truth, "labels": labels, "large": large, "scores": scores, "iris": points})


def searches():
    x, y = datasets.load_diabetes(return_X_y=True, scaled=True)
    names = datasets.load_diabetes().feature_names
    x, names = x[:, 2:6], names[2:6]
    alphas = [0.001, 0.1, 10.0, 0.01, 0.1]
    out = {"features": names}

    def results(search):
        r = search.cv_results_
        folds = [r[f"split{k}_test_score"] for k in range(search.n_splits_)]
        return {
            "alpha": r["param_alpha"].data.astype(float),
            "mean": r["mean_test_score"],
            "std": r["std_test_score"],
            "rank": r["rank_test_score"],
            "folds": np.array(folds).T,
            "best": [search.best_index_, search.best_score_],
            "coef": search.best_estimator_.coef_,
        }

    ridge = linear_model.Ridge(fit_intercept=False)
    grid = {"alpha": alphas, "tol": [0.1, 0.2]}
    out["grid"] = results(ms.GridSearchCV(ridge, grid, cv=ms.KFold(4)).fit(x, y))
    out["grid_mae"] = results(ms.GridSearchCV(ridge, grid, cv=5, scoring="neg_mean_absolute_error").fit(x, y))
    lists = {"alpha": list(np.geomspace(1e-3, 10, 9)), "tol": [0.1, 0.2, 0.3]}
    out["random_lists"] = results(ms.RandomizedSearchCV(ridge, lists, n_iter=7, random_state=3).fit(x, y))
    out["random"] = results(
        ms.RandomizedSearchCV(ridge, {"alpha": stats.loguniform(1e-3, 10)}, n_iter=6, random_state=3).fit(x, y)
    )
    scores = ms.cross_validate(ridge, x, y, cv=3, scoring=["r2", "neg_max_error"], return_train_score=True)
    out["cross_validate"] = {k: v for k, v in scores.items() if "time" not in k}
    model = ridge.fit(x, y)
    importance = inspection.permutation_importance(model, x, y, n_repeats=5, random_state=7)
    out["importance"] = [importance.importances_mean, importance.importances_std]
    dependence = inspection.partial_dependence(model, x, [1], grid_resolution=9, kind="average")
    out["dependence"] = [dependence["grid_values"][0], dependence["average"][0]]
    return listed(out)


def scorers():
    names = [n for n in metrics.get_scorer_names() if not n.endswith("_samples")]
    out = {"names": names}
    x, y = datasets.load_iris(return_X_y=True)
    for name, rows in [("three", np.arange(len(y))), ("two", np.where(y > 0)[0])]:
        target = y[rows] - y[rows].min()
        model = linear_model.RidgeClassifier(fit_intercept=False).fit(x[rows], target)
        score = model.decision_function(x[rows])
        if name == "three":
            proba = special.softmax(score, axis=1)
        else:
            proba = np.stack([special.expit(-score), special.expit(score)], axis=1)

        class Fixed(linear_model.RidgeClassifier):
            def predict_proba(self, _):
                return proba

            def predict(self, _):
                return proba.argmax(axis=1)

            decision_function = property()

        model.__class__ = Fixed
        scores = {}
        for scorer in names:
            try:
                scores[scorer] = metrics.get_scorer(scorer)(model, x[rows], target)
            except Exception:
                continue
        out[name] = scores
        report = metrics.classification_report(target, proba.argmax(axis=1), output_dict=True, zero_division=np.nan)
        keys = ["precision", "recall", "f1-score", "support"]
        out[f"{name}_report"] = [
            [row[k] for k in keys] if isinstance(row, dict) else [row] * 3 + [len(rows)] for row in report.values()
        ]
    x, y = datasets.load_diabetes(return_X_y=True)
    x = x[:, 2:6]
    model = linear_model.Ridge(fit_intercept=False, alpha=1.0).fit(x, y)
    scores = {}
    for scorer in names:
        try:
            scores[scorer] = metrics.get_scorer(scorer)(model, x, y)
        except Exception:
            continue
    out["numbers"] = {k: v for k, v in scores.items() if "rand" not in k and "info" not in k and "mallows" not in k}
    return listed(out)


if __name__ == "__main__":
    sections = {"splitters": splitters(), "classes": classes(), "numbers": numbers(), "clusters": clusters()}
    sections |= {"searches": searches(), "scorers": scorers()}
    text = ",\n".join(f'"{name}": {json.dumps(section, separators=(",", ":"))}' for name, section in sections.items())
    (HERE / "select.json").write_text("{\n" + text + "\n}\n")
