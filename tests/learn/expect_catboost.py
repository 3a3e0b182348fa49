"""Writes what CatBoost's Python package predicts to `catboost.json`.

Run in an environment with catboost 1.2.10, pandas and xgboost-cpu: `python tests/learn/expect_catboost.py`. Predictions
are 20 values at a fixed stride, and the sum of the bit patterns of all of them.
"""

import json

import catboost
import numpy as np
from expect_foreign import HERE, categories, holes, some, table
from expect_lightgbm import bits

THREADS = 2
# name, data, kind, parameters, changes of the data
CASES = [
    ("binary", "breast_cancer", "classifier", {"iterations": 20}, []),
    ("classes", "wine", "classifier", {"iterations": 6, "depth": 3, "random_seed": 7}, []),
    ("one versus all", "wine", "classifier", {"iterations": 4, "depth": 3, "loss_function": "MultiClassOneVsAll"}, []),
    ("number", "diabetes", "regressor", {"iterations": 20, "depth": 4, "learning_rate": 0.2}, []),
    ("weighted", "diabetes", "regressor", {"iterations": 8, "border_count": 32, "depth": 3}, ["weight"]),
    ("balanced", "iris", "classifier", {"iterations": 5, "depth": 2, "auto_class_weights": "Balanced"}, []),
    ("missing", "breast_cancer", "classifier", {"iterations": 8, "depth": 4}, ["holes"]),
    ("missing above", "diabetes", "regressor", {"iterations": 8, "depth": 4, "nan_mode": "Max"}, ["holes"]),
    ("one hot", "diabetes", "regressor", {"iterations": 8, "depth": 4, "one_hot_max_size": 20}, ["categories"]),
    ("categories", "diabetes", "regressor", {"iterations": 20, "depth": 4, "learning_rate": 0.3}, ["categories"]),
    ("categories of classes", "wine", "classifier", {"iterations": 10, "depth": 4}, ["categories"]),
    ("statistics", "breast_cancer", "classifier",
     {"iterations": 12, "depth": 4, "max_ctr_complexity": 3, "simple_ctr": ["Buckets", "Counter"],
      "combinations_ctr": ["Borders", "BinarizedTargetMeanValue"]}, ["categories", "only categories", "mixed target"]),
    ("stopped", "diabetes", "regressor",
     {"iterations": 200, "learning_rate": 0.3, "early_stopping_rounds": 5, "eval_metric": "MAE"}, ["eval"]),
    ("watched", "breast_cancer", "classifier", {"iterations": 8, "eval_metric": "AUC", "depth": 3}, ["eval"]),
    ("poisson", "diabetes", "regressor", {"iterations": 8, "loss_function": "Poisson", "depth": 3}, []),
    ("quantile", "diabetes", "regressor", {"iterations": 8, "loss_function": "Quantile:alpha=0.8", "depth": 3}, []),
    ("depthwise", "diabetes", "regressor", {"iterations": 6, "grow_policy": "Depthwise", "depth": 4}, ["categories"]),
    ("lossguide", "wine", "classifier", {"iterations": 4, "grow_policy": "Lossguide", "max_leaves": 7}, []),
]
FILES = ["binary", "classes", "one versus all", "missing", "missing above", "one hot", "categories", "statistics",
         "poisson", "depthwise", "lossguide"]
MAKERS = {"classifier": catboost.CatBoostClassifier, "regressor": catboost.CatBoostRegressor}


def trained(data, kind, params, changes):
    frame, y = table(data)
    i = np.arange(len(frame))
    if "holes" in changes:
        frame = holes(frame)
    texts = []
    if "categories" in changes:
        frame = categories(frame)
        texts = ["kind", "level"]
        frame[texts] = frame[texts].astype(object)
        frame["level"] = frame["level"].where(frame["level"].notna(), "nan")
    if "mixed target" in changes:
        level = np.where(i % 9 == 0, 1, i % 3)
        y = frame["kind"].str[1:].astype(int).to_numpy() % 3 == level
    if "only categories" in changes:
        frame = frame[[frame.columns[0], *texts]]
    if kind == "classifier":
        y = y.astype(int)
    weight = (1.0 + i % 3) if "weight" in changes else None
    train = i % 4 != 0 if "eval" in changes else np.ones(len(frame), bool)
    model = MAKERS[kind](**params, thread_count=THREADS, logging_level="Silent", allow_writing_files=False)
    pool = catboost.Pool(frame[train], y[train], weight=None if weight is None else weight[train], cat_features=texts)
    parts = [train, ~train] if "eval" in changes else []
    model.fit(pool, eval_set=[catboost.Pool(frame[rows], y[rows], cat_features=texts) for rows in parts] or None)
    return model, frame, pool


def described(model, frame, is_classifier) -> dict:
    values = model.predict_proba(frame) if is_classifier else model.predict(frame)
    raw = model.predict(frame, prediction_type="RawFormulaVal")
    out = {"values": some(values), "raw_bits": bits(raw), "bits": bits(values),
           "importances": [float(v) for v in model.feature_importances_]}
    if is_classifier:
        out["labels"] = [int(v) for v in model.predict(frame).ravel()[:: max(1, len(frame) // 20)]]
    return out


def main() -> None:
    out = {"version": catboost.__version__, "threads": THREADS, "cases": {}, "files": {}}
    for name, data, kind, params, changes in CASES:
        model, frame, _ = trained(data, kind, params, changes)
        case = {"data": data, "kind": kind, "params": params, "changes": changes,
                **described(model, frame, kind == "classifier")}
        if "eval" in changes:
            case["evals"] = {s: {m: [float(v) for v in vs] for m, vs in r.items()}
                             for s, r in model.evals_result_.items() if s != "learn"}
            case["best_iteration"] = int(model.best_iteration_)
        out["cases"][name] = case
        if name in FILES:
            model, frame, pool = trained(data, kind, {**params, "iterations": 5, "border_count": 8}, changes)
            model.save_model(str(HERE / "model.json"), format="json", pool=pool)
            file = json.loads((HERE / "model.json").read_text())
            (HERE / "model.json").unlink()
            # The loss is all that is read of it.
            file["model_info"] = {"params": {"loss_function": file["model_info"]["params"]["loss_function"]}}
            out["files"][name] = {"data": data, "kind": kind, "changes": changes,
                                  "text": json.dumps(file, separators=(",", ":")),
                                  **described(model, frame, kind == "classifier")}
    text = json.dumps(out, indent=None, separators=(",", ":"))
    (HERE / "catboost.json").write_text(text.replace('"cases":{', '"cases":{\n').replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
