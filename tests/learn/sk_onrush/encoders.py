"""Encoders: columns of numbers or strings, and labels."""

import numpy as np
from scipy import sparse
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import validate_data

from . import engine
from .dispatch import Adapter, Handle, counts, matrix, original
from .engine import OnrushError, Refused


def is_missing(value):
    return value is None or (isinstance(value, float | np.floating) and np.isnan(value))


class Values:
    """A column as it is sent: numbers, or strings with `None` as missing."""

    def __init__(self, values):
        self.missing = None
        self.has_missing = False
        self.given = {}
        if values.dtype.kind in "iufb":
            self.kind, self.values = "number", values.astype(np.float64)
            if np.isinf(self.values).any():
                raise Refused("input", "infinite")
            if np.isnan(self.values).any():
                self.missing, self.has_missing = np.nan, True
            return
        if values.dtype.kind not in "OU":
            raise Refused("input", str(values.dtype))
        gone = [value for value in values if is_missing(value)]
        if any(value is None for value in gone) and any(value is not None for value in gone):
            raise Refused("input", "None and NaN")
        if gone:
            self.missing, self.has_missing = gone[0], True
        if gone and "nan" in values:
            raise Refused("input", "the string nan and a missing value")
        there = [value for value in values if not is_missing(value)]
        if all(isinstance(value, str) for value in there) and there:
            self.kind = "string"
            self.values = [None if is_missing(value) else str(value) for value in values]
        elif all(isinstance(value, int | float | np.number) for value in there):
            self.kind = "number"
            self.values = np.array([np.nan if is_missing(v) else float(v) for v in values])
            if any(isinstance(v, int) and int(float(v)) != v for v in there):
                raise Refused("input", "large integers")
            self.given = {float(v): v for v in there}
        else:
            raise Refused("input", "mixed types")

    def head(self, name):
        if self.kind == "number":
            return {"name": name, "kind": "number"}
        return {"name": name, "kind": "string", "values": self.values}


def arrays_of(columns):
    return [column.values for column in columns if column.kind == "number"]


class Encoder(Adapter):
    """Encoders of columns."""

    methods = ("transform", "inverse_transform")
    fit_methods = ("fit", "fit_transform")
    seeded = False
    ignored = ("sparse_output", "dtype", "feature_name_combiner", "categories")

    def columns(self, estimator, X):
        parts, _, _ = estimator._check_X(X, ensure_all_finite="allow-nan")
        return [Values(np.asarray(part)) for part in parts]

    def params(self, estimator, classes):
        if not isinstance(estimator.categories, str):
            raise Refused("parameter", "categories")
        if not isinstance(getattr(estimator, "drop", None), str | None):
            raise Refused("parameter", "drop")
        return super().params(estimator, classes)

    def prepare(self, estimator, X, y):
        """scikit-learn's checks and its names of columns."""
        old = original(type(estimator).fit)
        old(estimator, X) if y is None else old(estimator, X, y)

    def train(self, estimator, X, y=None, sample_weight=None, transform=False):
        if sparse.issparse(X):
            raise Refused("sparse input")
        if sample_weight is not None:
            raise Refused("arguments", "sample_weight")
        params = self.params(estimator, None)
        try:
            self.prepare(estimator, X, y)
            columns = self.columns(estimator, X)
            target, classes = self.target(estimator, y)
        except Refused:
            raise
        except Exception as error:
            raise Refused("input", type(error).__name__) from None
        names = [f"x{j}" for j in range(len(columns))]
        head = {
            "do": "fit",
            "spec": self.spec(estimator, params),
            "rows": len(columns[0].values),
            "columns": [column.head(name) for column, name in zip(columns, names)],
            "transform": transform,
        }
        arrays = arrays_of(columns)
        if target is not None:
            head |= {"target": "y", "classes": [] if classes is None else [str(c) for c in classes]}
            arrays.append(target)
        try:
            answer = engine.ask(head, *arrays)
        except OnrushError as error:
            counts.refused[f"{self.name}: {error}"] += 1
            raise Refused("an error of Onrush", error.code) from None
        model = engine.Model(answer["model"], answer["outputs"], answer["notes"])
        found = {attribute["name"]: attribute for attribute in answer["attributes"]}
        known = self.encoded(estimator, found, columns, names)
        handle = Handle(model, known, dict(estimator.get_params(deep=False)), names, None)
        handle.kinds = [column.kind for column in columns]
        return handle, answer

    def target(self, estimator, y):
        return None, None

    def encoded(self, estimator, found, columns, names):
        return {"categories_": self.categories(estimator, found["categories"]["frame"], columns, names)}

    def categories(self, estimator, frame, columns, names):
        """Our categories with scikit-learn's types."""
        feature, category = (np.asarray(column["values"]) for column in frame[:2])
        found = []
        for column, name, theirs in zip(columns, names, estimator.categories_):
            ours = category[feature == name]
            values = []
            for value in ours:
                if value == "nan" and column.has_missing:
                    values.append(column.missing)
                elif column.kind == "number":
                    values.append(column.given.get(float(value), float(value)))
                else:
                    values.append(str(value))
            made = np.empty(len(values), dtype=theirs.dtype)
            made[:] = values
            found.append(made)
        return found

    def sent(self, estimator, handle, X):
        columns = self.columns(estimator, X)
        if [column.kind for column in columns] != handle.kinds:
            raise Refused("input", "another type")
        return [column.head(name) for column, name in zip(columns, handle.names)], arrays_of(columns)

    def result(self, estimator, handle, answer, name, given):
        return estimator.transform(given["X"])

    def transform(self, estimator, handle, X):
        if sparse.issparse(X):
            raise Refused("sparse input")
        validate_data(estimator, X=X, reset=False, skip_check_array=True)
        head, arrays = self.sent(estimator, handle, X)
        rows = len(X)
        found = matrix(handle.model.apply("transform", rows, head, arrays)).reshape(rows, -1)
        return self.output(estimator, found)

    def output(self, estimator, found):
        is_sparse = getattr(estimator, "sparse_output", False)
        if is_sparse and _get_output_config("transform", estimator)["dense"] != "default":
            raise Refused("sparse output")
        found = found.astype(estimator.dtype)
        return sparse.csr_matrix(found) if getattr(estimator, "sparse_output", False) else found

    def inverse_transform(self, estimator, handle, X):
        rows = X.toarray() if sparse.issparse(X) else np.asarray(X)
        names = [name for name, kind in handle.model.outputs if kind == "transform"]
        if rows.ndim != 2 or rows.shape[1] != len(names):
            raise Refused("input", "shape")
        columns = [{"name": name, "kind": "number"} for name in names]
        found = handle.model.apply("inverse_transform", len(rows), columns, [rows.T.astype(np.float64)])
        dtype = np.result_type(*(c.dtype for c in estimator.categories_))
        made = np.empty((len(rows), len(found)), dtype=dtype)
        for j, column in enumerate(found):
            values = column["values"]
            if any(is_missing(value) for value in values):
                raise Refused("input", "missing values")
            made[:, j] = values
        return made


class OneHot(Encoder):
    def params(self, estimator, classes):
        if estimator.min_frequency is not None or estimator.max_categories is not None:
            raise Refused("parameter", "infrequent categories")
        found = super().params(estimator, classes)
        if found.get("handle_unknown") == "warn":
            raise Refused("parameter", "handle_unknown")
        return found


class Ordinal(Encoder):
    def inverse_transform(self, estimator, handle, X):
        if sparse.issparse(X):
            raise Refused("sparse input")
        return super().inverse_transform(estimator, handle, X)

    def params(self, estimator, classes):
        if estimator.min_frequency is not None or estimator.max_categories is not None:
            raise Refused("parameter", "infrequent categories")
        return super().params(estimator, classes)


class Target(Encoder):
    methods = ("transform",)
    fit_methods = ("fit",)
    seeded = True
    ignored = ("categories", "shuffle")

    def params(self, estimator, classes):
        if not isinstance(estimator.cv, int):
            raise Refused("parameter", "cv")
        return super().params(estimator, classes)

    def target(self, estimator, y):
        if estimator.target_type_ == "continuous":
            return np.asarray(y, dtype=np.float64).ravel(), None
        classes, codes = np.unique(np.asarray(y).ravel(), return_inverse=True)
        return codes.astype(np.float64), classes

    def encoded(self, estimator, found, columns, names):
        known = super().encoded(estimator, found, columns, names)
        frame = found["encodings"]["frame"]
        feature = np.asarray(frame[0]["values"])
        known["encodings_"] = [
            column["values"][feature == name]
            for name in names
            for column in frame[2:]
        ]
        mean = found["target_mean"]["frame"][-1]["values"]
        known["target_mean_"] = mean[0] if len(mean) == 1 else mean
        return known

    def output(self, estimator, found):
        return found


ADAPTERS = {"OneHotEncoder": OneHot, "OrdinalEncoder": Ordinal, "TargetEncoder": Target}
