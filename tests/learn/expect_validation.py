"""Writes the expectations of predictions on folds, learning curves and searches with several scorers to `validation.json`.

Run in an environment with scikit-learn 1.9 and xgboost-cpu 3.2.0: `python tests/learn/expect_validation.py`.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn import inspection, linear_model, metrics, naive_bayes, pipeline, preprocessing
from sklearn import model_selection as ms

HERE = Path(__file__).parent
warnings.simplefilter("ignore")


def table(name):
    frame = pd.read_csv(HERE / "data" / f"{name}.csv")
    return frame.drop(columns="target").to_numpy(dtype=float), frame["target"].to_numpy()


def listed(value):
    """Plain lists and numbers of 13 digits, with null for NaN."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [listed(v) for v in value]
    if isinstance(value, dict):
        return {k: listed(v) for k, v in value.items()}
    if isinstance(value, (int, np.integer)):
        return int(value)
    value = float(value)
    return None if np.isnan(value) else float(f"{value:.13g}")


DIABETES = table("diabetes")
IRIS = table("iris")
CANCER = table("breast_cancer")
RIDGE = linear_model.Ridge(alpha=0.5)
SCALED = pipeline.make_pipeline(
    preprocessing.StandardScaler(), linear_model.LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000)
)


def predictions():
    """Each 7th row."""
    folds = ms.KFold(4, shuffle=True, random_state=3)
    bayes = naive_bayes.GaussianNB()
    stratified = ms.StratifiedKFold(3, shuffle=True, random_state=1)
    out = {
        "ridge": ms.cross_val_predict(RIDGE, *DIABETES, cv=folds),
        "classes": ms.cross_val_predict(bayes, *IRIS, cv=5),
        "proba": ms.cross_val_predict(bayes, *IRIS, cv=stratified, method="predict_proba"),
        # Each training set lacks a class.
        "proba_missing": ms.cross_val_predict(bayes, *IRIS, cv=ms.KFold(3), method="predict_proba"),
        "decision": ms.cross_val_predict(SCALED, *IRIS, cv=stratified, method="decision_function"),
        "decision_two": ms.cross_val_predict(SCALED, *CANCER, cv=3, method="decision_function"),
    }
    return {name: listed(values[::7]) for name, values in out.items()}


def curves():
    out = {}
    for name, sizes, shuffle in [("shares", [0.1, 0.33, 1.0], False), ("rows", [200, 50], True), ("shuffled", [0.05, 1.0], True)]:
        numbers, train, test = ms.learning_curve(
            RIDGE, *DIABETES, train_sizes=sizes, cv=ms.KFold(4), shuffle=shuffle, random_state=8,
        )
        out[name] = {"sizes": numbers, "train": train, "test": test}
    return listed(out)


def searches():
    scoring = ["r2", "neg_max_error", "neg_mean_absolute_error"]
    grid = {"alpha": [0.001, 0.1, 10.0, 1.0]}
    search = ms.GridSearchCV(
        linear_model.Ridge(), grid, cv=4, scoring=scoring, refit="neg_max_error", return_train_score=True
    ).fit(*DIABETES)
    keys = [k for k in search.cv_results_ if "score" not in k and any(s in k for s in scoring)]
    out = {k: search.cv_results_[k] for k in keys}
    out["best"] = [search.best_index_, search.best_score_]
    return listed(out)


def importances():
    x, y = CANCER
    model = naive_bayes.GaussianNB().fit(x[:, :6], y)
    out = {}
    for scorer in ["roc_auc", "neg_log_loss"]:
        found = inspection.permutation_importance(model, x[:, :6], y, scoring=scorer, n_repeats=7, random_state=4)
        out[scorer] = [found.importances_mean, found.importances_std]
    x, y = IRIS
    proba = naive_bayes.GaussianNB().fit(x, y).predict_proba(x)
    fpr, tpr, _ = metrics.roc_curve(y == 1, proba[:, 1])
    out["roc_1"] = [fpr, tpr]
    return listed(out)


def boosted():
    """XGBoost on folds, with the test rows of each as evaluation set."""
    x, y = DIABETES
    rounds, scores, predicted = [], [], np.zeros(len(y))
    for train, test in ms.KFold(3).split(x):
        model = xgb.XGBRegressor(n_estimators=60, max_depth=3, early_stopping_rounds=4, n_jobs=2)
        model.fit(x[train], y[train], eval_set=[(x[test], y[test])], verbose=False)
        rounds.append(model.best_iteration)
        predicted[test] = model.predict(x[test])
        scores.append(metrics.r2_score(y[test], predicted[test]))
    # The number of rounds on all rows.
    most = round(np.mean(rounds)) + 1
    model = xgb.XGBRegressor(n_estimators=most, max_depth=3, n_jobs=2).fit(x, y)
    whole = model.predict(x)
    return listed({"rounds": rounds, "scores": scores, "predicted": predicted[::7], "all": [most, metrics.r2_score(y, whole)]})


if __name__ == "__main__":
    sections = {"predictions": predictions(), "curves": curves(), "searches": searches()}
    sections |= {"importances": importances(), "boosted": boosted()}
    text = ",\n".join(f'"{name}": {json.dumps(section, separators=(",", ":"))}' for name, section in sections.items())
    (HERE / "validation.json").write_text("{\n" + text + "\n}\n")
