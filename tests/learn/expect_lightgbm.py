"""Writes what LightGBM's Python package predicts to `lightgbm.json`.

Run in an environment with lightgbm 4.7.0, scikit-learn 1.9, pandas and xgboost-cpu: `python
tests/learn/expect_lightgbm.py`. Predictions are 20 values at a fixed stride, and the sum of the bit patterns of all of
them.
"""

import json

import lightgbm as lgb
import numpy as np
from expect_foreign import HERE, categories, holes, some, table

THREADS = 2


def bits(values: np.ndarray) -> int:
    flat = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64).ravel()
    return sum(int(v) for v in flat) % 2**53


# name, data, kind, parameters, changes of the data, the kind of the file with its text
CASES = [
    ("binary", "breast_cancer", "classifier", {"n_estimators": 20}, []),
    ("classes", "wine", "classifier",
     {"n_estimators": 6, "subsample": 0.8, "subsample_freq": 1, "colsample_bytree": 0.7, "random_state": 7}, []),
    ("one versus all", "wine", "classifier", {"n_estimators": 4, "objective": "multiclassova"}, []),
    ("cross entropy", "breast_cancer", "regressor", {"n_estimators": 4, "objective": "cross_entropy"}, []),
    ("number", "diabetes", "regressor", {"n_estimators": 20, "num_leaves": 8, "learning_rate": 0.2}, []),
    ("weighted", "diabetes", "regressor", {"n_estimators": 8, "max_bin": 32, "max_depth": 3}, ["weight"]),
    ("balanced", "iris", "classifier", {"n_estimators": 5, "class_weight": "balanced", "reg_alpha": 0.1}, ["weight"]),
    ("missing", "breast_cancer", "classifier", {"n_estimators": 8, "min_child_weight": 2.0}, ["holes"]),
    ("zero is missing", "diabetes", "regressor", {"n_estimators": 6, "zero_as_missing": True}, ["holes", "zeros"]),
    ("categories", "diabetes", "regressor",
     {"n_estimators": 10, "min_data_per_group": 5, "cat_smooth": 1.0, "max_cat_to_onehot": 2}, ["categories"]),
    ("one hot", "diabetes", "regressor", {"n_estimators": 5, "max_cat_to_onehot": 20}, ["categories"]),
    ("stopped", "diabetes", "regressor",
     {"n_estimators": 200, "early_stopping_rounds": 5, "eval_metric": ["l1", "l2"]}, ["eval"]),
    ("stopped auc", "breast_cancer", "classifier",
     {"n_estimators": 60, "early_stopping_rounds": 4, "eval_metric": "auc"}, ["eval", "weight"]),
    ("watched", "wine", "classifier", {"n_estimators": 5}, ["eval"]),
    ("poisson", "diabetes", "regressor", {"n_estimators": 8, "objective": "poisson"}, []),
    ("absolute", "diabetes", "regressor", {"n_estimators": 8, "objective": "regression_l1"}, []),
    ("root", "diabetes", "regressor", {"n_estimators": 8, "reg_sqrt": True}, []),
    ("quantile", "diabetes", "regressor", {"n_estimators": 8, "objective": "quantile", "alpha": 0.8}, []),
    ("forest", "diabetes", "regressor",
     {"n_estimators": 7, "boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}, []),
    ("dart", "diabetes", "regressor",
     {"n_estimators": 10, "boosting_type": "dart", "drop_rate": 0.4, "importance_type": "gain"}, []),
    ("gradients", "diabetes", "regressor", {"n_estimators": 12, "data_sample_strategy": "goss"}, []),
    ("constrained", "diabetes", "regressor",
     {"n_estimators": 8, "monotone_constraints": [1, 0, -1, 0, 0, 0, 0, 0, 1, 0]}, []),
    ("no split", "iris", "classifier", {"n_estimators": 2, "min_child_samples": 200}, []),
    ("ranks", "diabetes", "ranker", {"n_estimators": 8}, ["groups"]),
    ("ranks stopped", "diabetes", "ranker",
     {"n_estimators": 30, "objective": "rank_xendcg", "early_stopping_rounds": 4, "eval_at": [2, 5]},
     ["groups", "eval"]),
]
FILES = ["binary", "classes", "one versus all", "cross entropy", "missing", "zero is missing", "categories", "poisson",
         "root", "forest", "dart", "no split", "ranks"]
MAKERS = {"classifier": lgb.LGBMClassifier, "regressor": lgb.LGBMRegressor, "ranker": lgb.LGBMRanker}


def trained(data, kind, params, changes):
    frame, y = table(data)
    i = np.arange(len(frame))
    if "holes" in changes:
        frame = holes(frame)
    if "zeros" in changes:
        values = frame.to_numpy().copy()
        values[np.abs(values) < 0.02] = 0.0
        frame[:] = values
    if "categories" in changes:
        frame = categories(frame)
    weight = (1.0 + i % 3) if "weight" in changes else None
    groups = i // 20
    if "groups" in changes:
        y = np.minimum(y // 60, 5).astype(int)
    train = np.ones(len(frame), bool)
    if "eval" in changes:
        train = (groups if "groups" in changes else i) % 4 != 0
    valid = ~train
    params = dict(params)
    fit = {}
    if "eval_metric" in params:
        fit["eval_metric"] = params.pop("eval_metric")
    if "eval_at" in params:
        fit["eval_at"] = params.pop("eval_at")
    if "early_stopping_rounds" in params:
        fit["callbacks"] = [lgb.early_stopping(params.pop("early_stopping_rounds"), verbose=False)]

    def sizes(rows):
        return np.unique(groups[rows], return_counts=True)[1]

    if "groups" in changes:
        fit["group"] = sizes(train)
    if weight is not None:
        fit["sample_weight"] = weight[train]
    if "eval" in changes:
        fit["eval_set"] = [(frame[train], y[train]), (frame[valid], y[valid])]
        if "groups" in changes:
            fit["eval_group"] = [sizes(train), sizes(valid)]
        if weight is not None:
            fit["eval_sample_weight"] = [weight[train], weight[valid]]
    model = MAKERS[kind](**params, n_jobs=THREADS, deterministic=True, force_row_wise=True, verbosity=-1)
    model.fit(frame[train], y[train], **fit)
    return model, frame


def described(model, frame, is_classifier) -> dict:
    values = model.predict_proba(frame) if is_classifier else model.predict(frame)
    out = {"values": some(values), "bits": bits(values), "importances": [float(v) for v in model.feature_importances_]}
    if is_classifier:
        out["labels"] = [int(v) for v in model.predict(frame)[:: max(1, len(frame) // 20)]]
    return out


def main() -> None:
    out = {"version": lgb.__version__, "threads": THREADS, "cases": {}, "files": {}}
    for name, data, kind, params, changes in CASES:
        model, frame = trained(data, kind, params, changes)
        case = {"data": data, "kind": kind, "params": params, "changes": changes,
                **described(model, frame, kind == "classifier")}
        if model.evals_result_:
            case["evals"] = {s: {m: [float(v) for v in vs] for m, vs in r.items()}
                             for s, r in model.evals_result_.items()}
        if "early_stopping_rounds" in params:
            case["best_iteration"] = int(model.best_iteration_)
            case["best_score"] = {s: {m: float(v) for m, v in r.items()} for s, r in model.best_score_.items()}
        out["cases"][name] = case
        if name in FILES:
            small = {**params, "n_estimators": 2 if data == "wine" else 3, "num_leaves": 6, "importance_type": "split"}
            model, frame = trained(data, kind, small, [c for c in changes if c != "eval"])
            text = model.booster_.model_to_string()
            out["files"][name] = {"data": data, "kind": kind, "changes": changes, "text": text,
                                  **described(model, frame, kind == "classifier")}
    text = json.dumps(out, indent=None, separators=(",", ":"))
    (HERE / "lightgbm.json").write_text(text.replace('"cases":{', '"cases":{\n').replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
