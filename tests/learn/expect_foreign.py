"""Writes what XGBoost's Python package predicts to `foreign.json`.

Run in an environment with xgboost-cpu 3.2.0, scikit-learn 1.9 and pandas: `python tests/learn/expect_foreign.py`. Two
threads train: the sums of a histogram depend on their number in the last bits. Predictions are 20 values at a fixed
stride, and the sum of the bit patterns of all of them.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import xgboost as xgb

HERE = Path(__file__).parent
THREADS = 2


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.read_csv(HERE / "data" / f"{name}.csv")
    return frame.drop(columns="target").astype(float), frame["target"].to_numpy()


def holes(frame: pd.DataFrame) -> pd.DataFrame:
    """Missing values at places that the Rust test computes, too."""
    values = frame.to_numpy().copy()
    i, j = np.indices(values.shape)
    values[(i * 7 + j * 3) % 11 == 0] = np.nan
    return pd.DataFrame(values, columns=frame.columns)


def categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Two columns of strings: `kind` by row number and the first feature, `level` with missing values."""
    frame = frame.copy()
    i = np.arange(len(frame))
    first = frame.iloc[:, 0].to_numpy()
    kind = np.array([f"k{(n * 5 + (3 if v > 0 else 0)) % 13:02d}" for n, v in zip(i, first, strict=True)])
    level = pd.Series([None if n % 9 == 0 else f"l{n % 3}" for n in i], dtype=object)
    frame["kind"] = pd.Categorical(kind)
    frame["level"] = pd.Categorical(level)
    return frame


def bits(values: np.ndarray) -> int:
    return sum(int(v) for v in np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).ravel())


def some(values: np.ndarray) -> list[float]:
    flat = np.asarray(values, dtype=np.float64).ravel()
    return [float(v) for v in flat[:: max(1, len(flat) // 20)]]


def described(model, frame, labels: bool) -> dict:
    values = model.predict_proba(frame) if labels else model.predict(frame)
    booster = model.get_booster()
    out = {
        "values": some(values),
        "bits": bits(values),
        "rounds": booster.num_boosted_rounds(),
        "importances": [float(v) for v in model.feature_importances_] if model.booster != "gblinear" else None,
    }
    if labels:
        out["labels"] = [int(v) for v in model.predict(frame)[:: max(1, len(frame) // 20)]]
    if booster.attr("best_iteration") is not None:
        out["best_iteration"], out["best_score"] = int(model.best_iteration), float(model.best_score)
    if getattr(model, "evals_result_", None):
        out["evals"] = {s: {m: [float(v) for v in vs] for m, vs in r.items()} for s, r in model.evals_result_.items()}
    return out


# name, data, kind, parameters, changes of the data
CASES = [
    ("binary", "breast_cancer", "classifier", {"n_estimators": 20}, []),
    ("classes", "wine", "classifier",
     {"n_estimators": 8, "subsample": 0.8, "colsample_bytree": 0.7, "random_state": 7}, []),
    ("softmax", "wine", "classifier", {"n_estimators": 4, "objective": "multi:softmax"}, []),
    ("hinge", "breast_cancer", "classifier", {"n_estimators": 4, "objective": "binary:hinge"}, []),
    ("number", "diabetes", "regressor", {"n_estimators": 20, "max_depth": 4, "learning_rate": 0.1}, []),
    ("weighted", "diabetes", "regressor", {"n_estimators": 10, "max_bin": 32}, ["weight"]),
    ("weighted classes", "iris", "classifier", {"n_estimators": 6, "reg_alpha": 0.1, "gamma": 0.2}, ["weight"]),
    ("missing", "breast_cancer", "classifier", {"n_estimators": 10, "min_child_weight": 2.0}, ["holes"]),
    ("categories", "diabetes", "regressor", {"n_estimators": 10, "max_cat_to_onehot": 5}, ["categories"]),
    ("stopped", "diabetes", "regressor",
     {"n_estimators": 200, "early_stopping_rounds": 5, "eval_metric": ["mae", "rmse"]}, ["eval"]),
    ("stopped auc", "breast_cancer", "classifier",
     {"n_estimators": 60, "early_stopping_rounds": 4, "eval_metric": "auc"}, ["eval", "weight"]),
    ("watched", "wine", "classifier", {"n_estimators": 5}, ["eval"]),
    ("poisson", "diabetes", "regressor", {"n_estimators": 8, "objective": "count:poisson"}, []),
    ("logistic", "breast_cancer", "regressor", {"n_estimators": 6, "objective": "binary:logistic"}, []),
    ("exact", "diabetes", "regressor", {"n_estimators": 6, "tree_method": "exact"}, []),
    ("approx", "diabetes", "regressor", {"n_estimators": 6, "tree_method": "approx"}, []),
    ("leaves", "diabetes", "regressor",
     {"n_estimators": 6, "grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0, "num_parallel_tree": 2,
      "colsample_bynode": 0.5}, []),
    ("constrained", "diabetes", "regressor",
     {"n_estimators": 10, "monotone_constraints": (1, 0, -1, 0, 0, 0, 0, 0, 1, 0),
      "interaction_constraints": "[[0,1,2],[3,4,5,6],[7,8,9]]"}, []),
    ("dart", "diabetes", "regressor", {"n_estimators": 12, "booster": "dart", "rate_drop": 0.3}, []),
    ("linear", "diabetes", "regressor", {"n_estimators": 10, "booster": "gblinear", "updater": "coord_descent"}, []),
    ("linear classes", "wine", "classifier",
     {"n_estimators": 5, "booster": "gblinear", "updater": "coord_descent"}, []),
    ("base score", "diabetes", "regressor", {"n_estimators": 5, "base_score": 100.5, "max_delta_step": 1.0}, []),
    ("ranks", "diabetes", "ranker", {"n_estimators": 10}, ["groups"]),
    ("ranks weighted", "diabetes", "ranker",
     {"n_estimators": 6, "objective": "rank:pairwise", "early_stopping_rounds": 2}, ["groups", "weight", "eval"]),
]
MAKERS = {"classifier": xgb.XGBClassifier, "regressor": xgb.XGBRegressor, "ranker": xgb.XGBRanker}


def trained(name, data, kind, params, changes):
    frame, y = table(data)
    i = np.arange(len(frame))
    if "holes" in changes:
        frame = holes(frame)
    if "categories" in changes:
        frame = categories(frame)
    weight = (1.0 + i % 3) if "weight" in changes else None
    groups = i // 20
    if "groups" in changes:
        y = np.minimum(y // 60, 5)
    train = i % 4 != 0 if "eval" in changes and "groups" not in changes else np.ones(len(frame), bool)
    if "eval" in changes and "groups" in changes:
        train = groups % 4 != 0
    valid = ~train
    model = MAKERS[kind](**params, n_jobs=THREADS, enable_categorical="categories" in changes)
    more = {}
    if "groups" in changes:
        more["qid"] = groups[train]
    if weight is not None:
        if "groups" in changes:
            more["sample_weight"] = (1.0 + np.unique(groups[train]) % 3)
        else:
            more["sample_weight"] = weight[train]
    if "eval" in changes:
        more["eval_set"] = [(frame[train], y[train]), (frame[valid], y[valid])]
        if "groups" in changes:
            more["eval_qid"] = [groups[train], groups[valid]]
            if weight is not None:
                sets = [np.unique(groups[train]), np.unique(groups[valid])]
                more["sample_weight_eval_set"] = [1.0 + s % 3 for s in sets]
        elif weight is not None:
            more["sample_weight_eval_set"] = [weight[train], weight[valid]]
    model.fit(frame[train], y[train], verbose=False, **more)
    return model, frame


def files() -> dict:
    """Small models as their files: `json` as a string, `ubj` in hexadecimal digits."""
    out = {}
    for case in CASES:
        name, data, kind, params, changes = case
        if name not in {"binary", "classes", "softmax", "hinge", "missing", "categories", "stopped auc", "poisson",
                        "leaves", "dart", "linear", "linear classes", "ranks"}:
            continue
        small = {**params, "n_estimators": min(3, params["n_estimators"]), "max_depth": 3}
        if kind == "classifier" and data == "wine":
            small["n_estimators"] = 2
        if params.get("booster") == "gblinear":
            del small["max_depth"]
        model, frame = trained(name, data, kind, small, changes)
        booster = model.get_booster()
        values = model.predict_proba(frame) if kind == "classifier" else model.predict(frame)
        model.save_model(HERE / "model.json")
        text = (HERE / "model.json").read_text()
        (HERE / "model.json").unlink()
        out[name] = {
            "data": data, "kind": kind, "changes": changes, "values": some(values), "bits": bits(values),
            "ubj": booster.save_raw("ubj").hex(), "json": text,
            "importances": [float(v) for v in model.feature_importances_] if model.booster != "gblinear" else None,
        }
    return out


def main() -> None:
    out = {"version": xgb.__version__, "threads": THREADS, "cases": {}, "files": files()}
    for case in CASES:
        name, data, kind, params, changes = case
        model, frame = trained(*case)
        shown = {k: list(v) if isinstance(v, tuple) else v for k, v in params.items()}
        out["cases"][name] = {
            "data": data, "kind": kind, "params": shown, "changes": changes,
            **described(model, frame, kind == "classifier"),
        }
    text = json.dumps(out, indent=None, separators=(",", ":"))
    (HERE / "foreign.json").write_text(text.replace('"cases":{', '"cases":{\n').replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
