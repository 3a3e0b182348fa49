"""Writes `prepare.json`: results of scikit-learn's preprocessing and composition.

Run in an environment with scikit-learn 1.9.1 and pandas: `python tests/learn/expect_prepare.py`.
"""

import json
import math
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

HERE = Path(__file__).parent
STRIDE = 11


def numbers() -> pd.DataFrame:
    rng = np.random.RandomState(1)
    frame = pd.DataFrame(
        {
            "a": rng.normal(3, 2, 97),
            "b": rng.exponential(1e6, 97),
            "c": np.round(rng.uniform(-4, 4, 97)),
            "constant": np.full(97, 0.1),
            "big": 100 + rng.normal(0, 1, 97),
        }
    )
    return frame


def holes() -> pd.DataFrame:
    frame = numbers()
    frame.loc[::5, "a"] = np.nan
    frame.loc[3:40, "c"] = np.nan
    return frame


def mixed() -> pd.DataFrame:
    rng = np.random.RandomState(2)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["male", "female"], 97),
            "class": rng.choice([1.0, 2.0, 3.0, 10.0], 97, p=[0.4, 0.3, 0.2, 0.1]),
            "port": rng.choice(["S", "C", "Q", "Zürich", "b", None], 97, p=[0.5, 0.2, 0.1, 0.05, 0.05, 0.1]),
            "age": np.round(rng.normal(30, 10, 97), 1),
        }
    )
    frame["port"] = frame["port"].astype(object).where(frame["port"].notna(), np.nan)
    frame.loc[::6, "age"] = np.nan
    frame.loc[::9, "class"] = np.nan
    return frame


def unseen() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sex": ["male", "other", "female"],
            "class": [3.0, 4.0, np.nan],
            "port": ["S", "new", np.nan],
            "age": [1, np.nan, 2.5],
        }
    )


DATA = {"numbers": numbers(), "holes": holes(), "mixed": mixed(), "unseen": unseen()}
WEIGHT = np.array([0.0 if i % 7 == 0 else 0.5 + i % 5 for i in range(97)])
rng = np.random.RandomState(3)
TARGETS = {
    "number": np.round(rng.normal(10, 3, 97), 3),
    "positive": np.round(np.exp(rng.normal(1, 0.5, 97)), 3),
    "binary": (rng.uniform(0, 1, 97) < 0.4).astype(int),
    "classes": rng.choice(["x", "y", "z"], 97, p=[0.5, 0.3, 0.2]),
}


def plain(value):
    """As JSON: NaN is null."""
    if isinstance(value, str):
        return value
    value = float(value)
    return None if math.isnan(value) else value


def columns_of(frame: pd.DataFrame) -> list:
    return [{"name": n, "values": [plain(v) for v in frame[n]]} for n in frame.columns]


def name_of(name: str) -> str:
    """Numbers that are categories have no `.0` here."""
    return re.sub(r"\.0$", "", name)


CASES = []


def case(
    model,
    data,
    *,
    columns=None,
    test=None,
    weight=None,
    target=None,
    cross=False,
    attributes=(),
    params=None,
    attribute_values=None,
):
    frame = DATA[data]
    if columns:
        frame = frame[columns]
    rows = DATA[test or data][list(frame.columns)]
    y = None if target is None else TARGETS[target]
    extra = {} if weight is None else {"sample_weight": WEIGHT}
    fitted = model.fit(frame, y, **extra)
    out = model.fit_transform(frame, y) if cross else fitted.transform(rows)
    out = np.asarray(out.toarray() if hasattr(out, "toarray") else out)
    try:
        names = [name_of(n) for n in fitted.get_feature_names_out()]
    except AttributeError:
        names = list(frame.columns)
    given = params if params is not None else model.get_params()
    default = type(model)().get_params() if params is None else {}
    shown = {k: v for k, v in given.items() if params is not None or repr(v) != repr(default[k])}
    is_splitter = {k: hasattr(v, "split") and not isinstance(v, str) for k, v in shown.items()}
    shown = {k: v for k, v in shown.items() if k != "sparse_output" and not is_splitter[k]}
    values = {n: [plain(v) for v in np.ravel(getattr(fitted, n + "_"))] for n in attributes}
    values.update(attribute_values(fitted) if attribute_values else {})
    stride = STRIDE if len(out) > 20 else 1
    back = {}
    if hasattr(model, "inverse_transform") and not cross and not isinstance(model, (SimpleImputer, VarianceThreshold)):
        undone = np.asarray(fitted.inverse_transform(out.copy()), dtype=object)
        back["inverse"] = [
            [None if v is None or v != v else plain(v) for v in undone[::stride, k]] for k in range(undone.shape[1])
        ]
    CASES.append(
        back
        | {
            "estimator": type(model).__name__,
            "params": [[k, list(v) if isinstance(v, tuple) else v] for k, v in shown.items()],
            "data": data,
            "columns": list(frame.columns),
            "test": test or data,
            "weighted": weight is not None,
            "target": target,
            "cross": cross,
            "names": names,
            "stride": stride,
            "values": [[plain(v) for v in out[::stride, k]] for k in range(out.shape[1])],
            "attributes": values,
        }
    )


def scalers() -> None:
    all_of = ["mean", "var", "scale"]
    for data in ["numbers", "holes"]:
        case(StandardScaler(), data, attributes=all_of)
        case(StandardScaler(), data, weight=True, attributes=all_of)
        case(StandardScaler(with_mean=False), data)
        case(StandardScaler(with_std=False), data, attributes=["mean"])
        case(MinMaxScaler(), data, attributes=["data_min", "data_max", "data_range", "scale", "min"])
        case(MinMaxScaler(feature_range=(-2, 5), clip=True), data)
        case(MaxAbsScaler(), data, attributes=["max_abs", "scale"])
        case(RobustScaler(), data, attributes=["center", "scale"])
        case(RobustScaler(quantile_range=(5.0, 90.0), unit_variance=True), data, attributes=["scale"])
        case(RobustScaler(with_centering=False), data)
    for norm in ["l1", "l2", "max"]:
        case(Normalizer(norm=norm), "numbers", columns=["a", "b", "c"])


def imputers() -> None:
    for strategy in ["mean", "median", "most_frequent"]:
        case(SimpleImputer(strategy=strategy), "holes", attributes=["statistics"])
    model = SimpleImputer(strategy="median", add_indicator=True)
    case(model, "mixed", columns=["class", "age"], attributes=["statistics"])
    case(SimpleImputer(strategy="constant", fill_value=-1.5), "holes")
    case(SimpleImputer(strategy="most_frequent"), "mixed", columns=["sex", "port"])
    case(SimpleImputer(strategy="constant", fill_value="none"), "mixed", columns=["sex", "port"])
    case(SimpleImputer(strategy="constant"), "mixed", columns=["port"], params={"strategy": "constant"})


def encoders() -> None:
    dense = {"sparse_output": False}
    both = ["sex", "class", "port"]
    case(OneHotEncoder(**dense), "mixed", columns=both)
    case(OneHotEncoder(**dense), "mixed", columns=["port", "age"])
    case(OneHotEncoder(drop="first", **dense), "mixed", columns=both)
    case(OneHotEncoder(drop="if_binary", **dense), "mixed", columns=both)
    case(OneHotEncoder(handle_unknown="ignore", **dense), "mixed", columns=both, test="unseen")
    rare = {"handle_unknown": "infrequent_if_exist", **dense}
    case(OneHotEncoder(min_frequency=12, **rare), "mixed", columns=both, test="unseen")
    case(OneHotEncoder(min_frequency=0.2, **rare), "mixed", columns=both, test="unseen")
    case(OneHotEncoder(max_categories=3, **rare), "mixed", columns=both, test="unseen")
    case(OneHotEncoder(max_categories=3, drop="first", **dense), "mixed", columns=both)
    case(OneHotEncoder(max_categories=2, drop="if_binary", **rare), "mixed", columns=both, test="unseen")
    case(OneHotEncoder(max_categories=1, **dense), "mixed", columns=both)
    case(OrdinalEncoder(), "mixed", columns=both)
    case(OrdinalEncoder(encoded_missing_value=-9), "mixed", columns=both)
    case(OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), "mixed", columns=both, test="unseen")
    given = OrdinalEncoder(categories=[["male", "female"], np.array([1.0, 2.0, 3.0, 10.0, np.nan])])
    params = {"categories": [["male", "female"], [1.0, 2.0, 3.0, 10.0, None]]}
    case(given, "mixed", columns=["sex", "class"], params=params)
    seeded = {"shuffle": True, "random_state": 0}
    folds = {"classes": StratifiedKFold(5, **seeded), "number": KFold(5, **seeded)}
    folds["binary"] = folds["classes"]
    for target in ["number", "binary", "classes"]:
        for params in [{}, {"smooth": 3.0}, {"smooth": 0.0}]:
            model = TargetEncoder(cv=folds[target], **params)
            case(model, "mixed", columns=both, target=target, params=params, test="unseen")
            case(model, "mixed", columns=both, target=target, params=params, cross=True)


def bins() -> None:
    def edges(fitted):
        return {"bin_edges": [plain(v) for e in fitted.bin_edges_ for v in e if np.isfinite(v)]}

    for strategy in ["uniform", "quantile", "kmeans"]:
        for weight in [None, True]:
            for n_bins in [5, [2, 7, 3, 9]]:
                model = KBinsDiscretizer(n_bins=n_bins, strategy=strategy, encode="ordinal")
                case(model, "numbers", columns=["a", "b", "c", "constant"], weight=weight, attribute_values=edges)
    for method in ["linear", "inverted_cdf"]:
        model = KBinsDiscretizer(n_bins=6, quantile_method=method, encode="ordinal")
        case(model, "numbers", columns=["a", "b", "c"], attribute_values=edges)
    case(KBinsDiscretizer(n_bins=3, encode="onehot-dense"), "numbers", columns=["a", "c"])


def products() -> None:
    three = ["a", "c", "constant"]
    case(PolynomialFeatures(), "numbers", columns=three)
    case(PolynomialFeatures(degree=3, include_bias=False), "numbers", columns=three)
    case(PolynomialFeatures(degree=3, interaction_only=True), "numbers", columns=three)
    case(PolynomialFeatures(degree=(2, 3)), "numbers", columns=three)
    case(PolynomialFeatures(degree=0), "numbers", columns=three)


def distributions() -> None:
    for data in ["numbers", "holes"]:
        case(PowerTransformer(), data, columns=["a", "c", "constant"], attributes=["lambdas"])
        case(PowerTransformer(standardize=False), data, columns=["a", "c"], attributes=["lambdas"])
        case(PowerTransformer(method="box-cox"), data, columns=["b"], attributes=["lambdas"])
        for distribution in ["uniform", "normal"]:
            case(QuantileTransformer(output_distribution=distribution), data)
            case(QuantileTransformer(n_quantiles=10, output_distribution=distribution), data)
        case(QuantileTransformer(n_quantiles=10, subsample=40, random_state=3), data)
        case(VarianceThreshold(), data, attributes=["variances"])
        case(VarianceThreshold(threshold=4.5), data, attributes=["variances"])


def spec(model, name="", columns=()) -> dict:
    """A specification as the test reads it: estimator, parameters, estimators inside."""
    if isinstance(model, str):
        return {"estimator": model, "name": name, "columns": list(columns), "params": [], "parts": []}
    parts = []
    if isinstance(model, Pipeline):
        parts = [spec(m, n) for n, m in model.steps]
    elif isinstance(model, ColumnTransformer):
        parts = [spec(m, n, c) for n, m, c in model.transformers]
    elif isinstance(model, FeatureUnion):
        parts = [spec(m, n) for n, m in model.transformer_list]
    lists = {Pipeline: "steps", ColumnTransformer: "transformers", FeatureUnion: "transformer_list"}
    required = {lists[type(model)]: []} if type(model) in lists else {}
    default = type(model)(**required).get_params(deep=False)
    hidden = [*lists.values(), "sparse_output", "sparse_threshold", "verbose_feature_names_out", "cv"]
    given = model.get_params(deep=False).items()
    params = [[k, v] for k, v in given if k not in hidden and repr(v) != repr(default[k])]
    return {"estimator": type(model).__name__, "name": name, "columns": list(columns), "params": params, "parts": parts}


COMPOSED = []


def composed(model, data, *, columns, test=None, target=None, cross=False) -> None:
    frame = DATA[data][columns]
    y = None if target is None else TARGETS[target]
    transformed = model.fit_transform(frame, y)
    out = np.asarray(transformed if cross else model.transform(DATA[test or data][columns]), dtype=float)
    stride = STRIDE if len(out) > 20 else 1
    COMPOSED.append(
        {
            "spec": spec(model),
            "data": data,
            "columns": columns,
            "test": test or data,
            "target": target,
            "cross": cross,
            "names": [name_of(n) for n in model.get_feature_names_out()],
            "stride": stride,
            "values": [[plain(v) for v in out[::stride, k]] for k in range(out.shape[1])],
        }
    )


def composition() -> None:
    three = ["a", "c", "constant"]
    composed(make_pipeline(SimpleImputer(), StandardScaler(), PolynomialFeatures()), "holes", columns=three)
    model = make_pipeline(SimpleImputer(strategy="median"), "passthrough", SimpleImputer(), MinMaxScaler())
    composed(model, "holes", columns=three)
    one_hot = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), one_hot)
    numeric = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), RobustScaler())
    for remainder in ["drop", "passthrough"]:
        model = ColumnTransformer(
            [("categories", filled, ["sex", "port"]), ("numbers", numeric, ["age"])],
            remainder=remainder,
            verbose_feature_names_out=False,
        )
        composed(model, "mixed", columns=["class", "sex", "port", "age"])
        composed(model, "mixed", columns=["class", "sex", "port", "age"], test="unseen")
    model = ColumnTransformer(
        [("kept", "passthrough", ["age"]), ("left_out", "drop", ["class"]), ("codes", OrdinalEncoder(), ["sex"])],
        verbose_feature_names_out=False,
        remainder="passthrough",
    )
    composed(model, "mixed", columns=["class", "sex", "age"])
    union = FeatureUnion(
        [
            ("poly", PolynomialFeatures(include_bias=False, interaction_only=True)),
            ("bins", KBinsDiscretizer(3, encode="onehot-dense")),
        ],
        verbose_feature_names_out=False,
    )
    composed(make_pipeline(StandardScaler(), union), "numbers", columns=["a", "c"])
    for target, folds in [("number", KFold), ("binary", StratifiedKFold)]:
        encoder = TargetEncoder(cv=folds(5, shuffle=True, random_state=0))
        options = {"remainder": "passthrough", "verbose_feature_names_out": False}
        model = ColumnTransformer([("mean", encoder, ["sex", "port"])], **options)
        model = make_pipeline(model, SimpleImputer(), StandardScaler())
        columns = ["sex", "port", "age"]
        composed(model, "mixed", columns=columns, target=target, cross=True)
        composed(model, "mixed", columns=columns, target=target, test="unseen")


def main() -> None:
    warnings.simplefilter("ignore")
    scalers()
    imputers()
    encoders()
    bins()
    products()
    distributions()
    composition()
    out = {
        "data": {name: columns_of(frame) for name, frame in DATA.items()},
        "weight": WEIGHT.tolist(),
        "targets": {name: [plain(v) for v in values] for name, values in TARGETS.items()},
        "cases": CASES,
        "composed": COMPOSED,
    }
    text = json.dumps(out, ensure_ascii=False, separators=(",", ":"))
    # A case a line, so that differences can be read.
    text = text.replace(',{"estimator":', ',\n{"estimator":').replace(',{"spec":', ',\n{"spec":')
    (HERE / "prepare.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
