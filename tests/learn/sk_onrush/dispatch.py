"""Patched methods of scikit-learn's classes: Onrush's if it has the parameters and takes the data."""

import copy
import functools
import inspect
import warnings
from collections import Counter

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from . import engine
from .engine import OnrushError, Refused

# Parameters that say how a result is reached, not what it is.
HOW = {"n_jobs", "verbose", "copy_X", "copy_X_train", "cache_size", "precompute", "warm_start", "algorithm",
       "leaf_size", "shrinking", "verbose_interval"}


class Counts:
    """What happened in a run of tests."""

    def __init__(self):
        self.test = ""
        self.fits = Counter()
        self.fallbacks = Counter()
        self.reasons = Counter()
        self.refused = Counter()
        self.calls = Counter()


counts = Counts()


class Handle:
    """The trained model of an estimator, the attributes that were set after it, and the parameters then."""

    def __init__(self, model, attributes, params, names, dtype):
        self.model = model
        self.attributes = attributes
        self.params = params
        self.names = names
        self.dtype = dtype

    def is_intact(self, estimator):
        """Whether nobody has changed attributes or parameters since."""
        state = estimator.__dict__
        return all(state.get(name) is value for name, value in self.attributes.items()) and same_params(
            self.params, estimator.get_params(deep=False)
        )

    def columns(self):
        return [{"name": name, "kind": "number"} for name in self.names]


def same_params(one, other):
    return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)


def same(one, other):
    if one is other:
        return True
    try:
        return type(one) is type(other) and bool(np.all(one == other)) and np.shape(one) == np.shape(other)
    except Exception:
        return False


class Adapter:
    """How a class of scikit-learn is trained by Onrush. Subclasses differ where an estimator does."""

    # Methods that are patched if the class has them.
    methods = ("predict", "predict_proba", "decision_function", "transform", "inverse_transform")
    # Methods that train and answer in one call.
    fit_methods = ("fit",)
    # Patched methods with more arguments than the rows.
    with_arguments = ()
    without_rows = ()
    # Parameters that do not reach Onrush, because they do not change the result.
    ignored = ()
    # Renamed parameters.
    renamed = {}
    # Attributes under other names: `None` leaves one out.
    attributes = {}
    # Attributes that are properties of the class.
    properties = ()
    # Whether scikit-learn keeps 32-bit floats.
    keeps_float32 = False
    # Whether its attributes are 32-bit, too.
    float32_attributes = True
    # Whether the seed matters.
    seeded = True
    # Least number of rows and features that scikit-learn's check takes.
    least_rows = 1
    # Whether one class is an error in scikit-learn.
    y_numeric = True

    def __init__(self, cls, entry):
        self.cls = cls
        self.name = cls.__name__
        self.kind = entry["kind"]
        self.missing = entry["missing"]
        self.table = {p["name"]: p["default"] for p in entry["params"]}
        signature = inspect.signature(cls.__init__).parameters
        self.defaults = {name: p.default for name, p in signature.items() if name != "self"}

    # What is sent.

    def params(self, estimator, classes):
        found = {}
        for name, value in estimator.get_params(deep=False).items():
            default = self.defaults.get(name)
            ours = self.renamed.get(name, name)
            ours = ours if ours in self.table else ours.lower()
            if name in ("warm_start", "verbose") and value:
                raise Refused(name)
            if name == "copy" and not value:
                # The input is overwritten.
                raise Refused("parameter", name)
            if name == "precompute" and isinstance(value, np.ndarray):
                raise Refused("precompute")
            if name == "random_state":
                if isinstance(value, int | np.integer):
                    if ours in self.table:
                        found[ours] = int(value)
                elif isinstance(value, np.random.RandomState) and ours in self.table:
                    # A generator gives the seed, so that each training has another one.
                    found[ours] = int(value.randint(2**31 - 1))
                elif value is not None and self.seeded:
                    raise Refused("random_state", type(value).__name__)
                continue
            if name == "class_weight" and isinstance(value, dict):
                found[ours] = self.class_weights(value, classes)
                continue
            if ours not in self.table:
                if name in HOW or name in self.ignored or same(value, default):
                    continue
                raise Refused("parameter", name)
            if same(value, default) and (default == self.table[ours] or default in ("deprecated", "warn")):
                continue
            # `None` is no penalty; without one there are no shares of it.
            if value is None and name == "l1_ratio":
                continue
            found[ours] = self.param(name, value)
        return found

    def param(self, name, value):
        if name == "max_iter" and value == -1:
            return None
        if name == "penalty" and value is None:
            return "none"
        if callable(value):
            raise Refused("a function as a parameter", name)
        return engine.plain(value)

    def class_weights(self, value, classes):
        if not all(key in list(classes) for key in value):
            raise Refused("class_weight", "unknown class")
        return [float(value.get(c, 1.0)) for c in classes]

    def check(self, estimator, X, y):
        """Raises `Refused` for what Onrush does not have."""

    def takes_y(self):
        return self.kind in ("Regressor", "Classifier", "SupervisedTransformer")

    def is_classifier(self):
        return self.kind == "Classifier"

    def validated(self, estimator, X, y):
        """Input as numbers, by scikit-learn's checks."""
        options = {"dtype": np.float64, "order": "F", "ensure_all_finite": not self.missing or "allow-nan"}
        if self.takes_y():
            if y is None:
                raise Refused("input", "no y")
            return validate_data(estimator, X, y, y_numeric=self.kind == "Regressor", **options)
        return validate_data(estimator, X, ensure_min_samples=self.least_rows, **options), y

    def train(self, estimator, X, y=None, sample_weight=None):
        """Trains. The handle, and the attributes for the instance."""
        if sparse.issparse(X):
            raise Refused("sparse input")
        dtype = float32_or_64(X)
        if getattr(X, "dtype", None) == np.float16:
            raise Refused("input", "float16")
        if getattr(getattr(X, "dtype", None), "kind", "") == "c":
            raise Refused("input", "complex")
        if self.takes_y() and y is not None and np.ndim(y) == 2:
            raise Refused("several targets")
        self.check(estimator, X, y)
        try:
            estimator._validate_params()
            X, y = self.validated(estimator, X, y)
            if self.takes_y():
                if np.ndim(y) != 1:
                    raise Refused("several targets")
                y, classes = self.target(estimator, y)
            else:
                y, classes = None, None
            if sample_weight is not None:
                sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
                if (sample_weight < 0).any():
                    raise Refused("negative sample weights")
        except Refused:
            raise
        except Exception as error:
            # scikit-learn says it again.
            raise Refused("input", type(error).__name__) from None
        params = self.params(estimator, classes)
        names = [f"x{j}" for j in range(X.shape[1])]
        self.sample_weight = sample_weight
        answer = self.send(estimator, params, X, names, y, classes, sample_weight)
        model = engine.Model(answer["model"], answer["outputs"], answer["notes"])
        found = {attribute["name"]: value(attribute) for attribute in answer["attributes"]}
        known = self.fitted(estimator, found, model, X, y, classes)
        if classes is not None:
            known["classes_"] = classes
        if self.keeps_float32 and self.float32_attributes and dtype == np.float32:
            known = {name: as_float32(value) for name, value in known.items()}
        return Handle(model, known, dict(estimator.get_params(deep=False)), names, dtype), answer

    def send(self, estimator, params, X, names, y, classes, sample_weight, **head):
        head = {
            "do": "fit",
            "spec": self.spec(estimator, params),
            "rows": X.shape[0],
            "columns": [{"name": name, "kind": "number"} for name in names],
            "weight": sample_weight is not None,
            **head,
        }
        arrays = [X.T]
        if y is not None:
            head["target"] = "y"
            head["classes"] = [] if classes is None else [str(c) for c in classes]
            arrays.append(y)
        if sample_weight is not None:
            arrays.append(sample_weight)
        try:
            return engine.ask(head, *arrays)
        except OnrushError as error:
            counts.refused[f"{self.name}: {error}"] += 1
            raise Refused("an error of Onrush", error.code) from None

    def spec(self, estimator, params):
        return {"estimator": self.name, "params": params}

    def target(self, estimator, y):
        """Values of the target, and classes."""
        if self.is_classifier():
            check_classification_targets(y)
            classes, codes = np.unique(y, return_inverse=True)
            if len(classes) < 2:
                raise Refused("one class")
            return codes.astype(np.float64), classes
        return np.asarray(y, dtype=np.float64), None

    # What comes back.

    def fitted(self, estimator, found, model, X, y, classes):
        """Fitted attributes with scikit-learn's names and shapes."""
        known = {}
        for name, array in found.items():
            name = self.attributes.get(name, f"{name}_")
            if name is not None and name != "classes_":
                known[name] = array
        return known

    def rows(self, estimator, handle, X):
        """New rows by scikit-learn's checks."""
        if sparse.issparse(X):
            raise Refused("sparse input")
        return validate_data(
            estimator, X, reset=False, dtype=np.float64, order="F", ensure_all_finite=not self.missing or "allow-nan"
        )

    def ask(self, handle, method, X):
        columns = handle.model.apply(method, X.shape[0], handle.columns(), [X.T])
        return matrix(columns) if columns else np.empty((X.shape[0], 0))

    def as_input(self, handle, X, found):
        if self.keeps_float32 and float32_or_64(X) == np.float32 and found.dtype == np.float64:
            return found.astype(np.float32)
        return found

    def predict(self, estimator, handle, X):
        rows = self.rows(estimator, handle, X)
        if self.kind == "Clusterer":
            return self.ask(handle, "label", rows)[:, 0].astype(np.int64)
        found = self.ask(handle, "predict", rows)[:, 0]
        if self.is_classifier():
            return estimator.classes_[found.astype(np.intp)]
        return found.astype(np.float32) if self.keeps_float32 and handle.dtype == np.float32 else found

    def predict_proba(self, estimator, handle, X):
        return self.as_input(handle, X, self.ask(handle, "predict_proba", self.rows(estimator, handle, X)))

    def decision_function(self, estimator, handle, X):
        found = self.ask(handle, "decision_function", self.rows(estimator, handle, X))
        return self.as_input(handle, X, found[:, 0] if found.shape[1] == 1 else found)

    def transform(self, estimator, handle, X):
        found = self.ask(handle, "transform", self.rows(estimator, handle, X))
        return self.as_input(handle, X, found)

    def inverse_transform(self, estimator, handle, X):
        if sparse.issparse(X):
            raise Refused("sparse input")
        rows = np.asarray(X, dtype=np.float64)
        names = [name for name, kind in handle.model.outputs if kind == "transform"]
        if rows.ndim != 2 or rows.shape[1] != len(names):
            raise Refused("input", "shape")
        columns = [{"name": name, "kind": "number"} for name in names]
        found = matrix(handle.model.apply("inverse_transform", rows.shape[0], columns, [rows.T]))
        return self.as_input(handle, X, found)


def float32_or_64(X):
    dtype = getattr(X, "dtype", None)
    if dtype is None and hasattr(X, "dtypes"):
        kinds = set(map(str, X.dtypes))
        return np.dtype(np.float32) if kinds == {"float32"} else np.dtype(np.float64)
    return np.dtype(np.float32) if dtype == np.float32 else np.dtype(np.float64)


def as_float32(value):
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return value.astype(np.float32)
    return np.float32(value) if type(value) is np.float64 else value


def matrix(columns):
    return np.column_stack([column["values"] for column in columns]) if columns else np.empty((0, 0))


def value(attribute):
    """An attribute as an array or a number: a frame is its columns of numbers, without the columns of names."""
    if "int" in attribute:
        return attribute["int"]
    if "float" in attribute:
        return attribute["float"][0]["values"][0]
    if "strs" in attribute:
        return np.array(attribute["strs"])
    return Frame(attribute["frame"])


class Frame:
    """Columns of an attribute."""

    def __init__(self, columns):
        self.columns = {column["name"]: column["values"] for column in columns}

    def numbers(self):
        """The columns of floats, or if there are none those of integers."""
        floats = [values for values in self.columns.values() if isinstance(values, np.ndarray)]
        is_integer = lambda values: all(isinstance(value, int) for value in values)
        return floats or [np.asarray(v, dtype=np.int64) for v in self.columns.values() if is_integer(v)]

    def matrix(self):
        return np.column_stack(self.numbers())

    def vector(self):
        (values,) = self.numbers()
        return values

    def array(self):
        numbers = self.numbers()
        return numbers[0] if len(numbers) == 1 else np.column_stack(numbers) if numbers else np.empty(0)


# The patches.

ADAPTERS = {}


def original(method):
    """scikit-learn's own method."""
    return getattr(method, "__wrapped__", method) if getattr(method, "of_onrush", False) else method


def patch(adapter):
    """Replaces the methods of a class."""
    cls = adapter.cls
    ADAPTERS[cls] = adapter
    for name in adapter.fit_methods:
        if callable(getattr(cls, name, None)):
            _replace(cls, name, lambda old, name=name: _fit(adapter, name, old))
    if hasattr(cls, "partial_fit"):
        _replace(cls, "partial_fit", _forget)
    for name in adapter.methods:
        if inspect.getattr_static(cls, name, None) is not None and hasattr(adapter, name):
            _replace(cls, name, lambda old, name=name: _ask(adapter, name, old))
    for name in adapter.properties:
        if isinstance(raw := inspect.getattr_static(cls, name, None), property):
            setattr(cls, name, _property(name, raw))


def _replace(cls, name, make):
    raw = inspect.getattr_static(cls, name)
    if isinstance(raw, (classmethod, staticmethod, property)):
        return
    if hasattr(raw, "check") and hasattr(raw, "fn"):
        setattr(cls, name, available_if(raw.check)(make(raw.fn)))
    else:
        setattr(cls, name, make(raw))


def _property(name, old):
    def value(self):
        handle = self.__dict__.get("_onrush")
        return handle.attributes[name] if handle and name in handle.attributes else old.fget(self)

    return property(value, doc=old.__doc__)


def _forget(old):
    @functools.wraps(old)
    def partial_fit(self, *args, **kwargs):
        self.__dict__.pop("_onrush", None)
        return old(self, *args, **kwargs)

    return partial_fit


def _fit(adapter, name, old):
    signature = inspect.signature(old)

    @functools.wraps(old)
    def fit(self, *args, **kwargs):
        if type(self) is not adapter.cls:
            return old(self, *args, **kwargs)
        before = {k: v for k, v in self.__dict__.items()}
        generator = getattr(self, "random_state", None)
        drawn = generator.get_state() if isinstance(generator, np.random.RandomState) else None
        try:
            given = _arguments(signature, self, args, kwargs)
            with warnings.catch_warnings(record=True) as seen:
                handle, answer = adapter.train(self, **given)
        except Refused as refused:
            counts.fallbacks[counts.test, adapter.name] += 1
            counts.reasons[f"{adapter.name}: {refused}"] += 1
            # What our checks have set goes.
            self.__dict__.clear()
            self.__dict__.update(before)
            self.__dict__.pop("_onrush", None)
            if drawn is not None:
                generator.set_state(drawn)
            return old(self, *args, **kwargs)
        counts.fits[counts.test, adapter.name] += 1
        for warning in seen:
            warnings.warn(warning.message, warning.category, stacklevel=2)
        for note in handle.model.notes:
            if "converge" in note or note.startswith("stopped after"):
                warnings.warn(note, ConvergenceWarning, stacklevel=2)
        self.__dict__.update(handle.attributes)
        self._onrush = handle
        if name == "fit":
            return self
        return adapter.result(self, handle, answer, name, given)

    fit.of_onrush = True
    return fit


def _arguments(signature, estimator, args, kwargs):
    try:
        bound = signature.bind(estimator, *args, **kwargs).arguments
    except TypeError:
        raise Refused("arguments") from None
    given = {}
    for name, value in list(bound.items())[1:]:
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            if value:
                raise Refused("arguments", ", ".join(value))
            continue
        if name in ("X", "y", "sample_weight", "raw_documents"):
            given["X" if name == "raw_documents" else name] = value
        elif value is not None and not same(value, signature.parameters[name].default):
            raise Refused("arguments", name)
    return given


def _ask(adapter, name, old):
    signature = inspect.signature(old)

    @functools.wraps(old)
    def method(self, *args, **kwargs):
        handle = self.__dict__.get("_onrush")
        if handle is None or type(self) is not adapter.cls or not handle.is_intact(self):
            return old(self, *args, **kwargs)
        try:
            bound = signature.bind(self, *args, **kwargs).arguments
            given = list(bound.items())[1:]
            others = dict(given)
            first = "X" if name in adapter.without_rows or not given else given[0][0]
            X = others.pop(first, None)
            if name not in adapter.without_rows and (X is None or (others and name not in adapter.with_arguments)):
                raise Refused("arguments")
            with warnings.catch_warnings(record=True) as seen:
                found = getattr(adapter, name)(self, handle, X, **others)
        except engine.Panic:
            raise
        except OnrushError as error:
            counts.refused[f"{adapter.name}.{name}: {error}"] += 1
            return old(self, *args, **kwargs)
        except Exception as error:
            # The error of scikit-learn's own check.
            counts.reasons[f"{adapter.name}.{name}: {type(error).__name__} {str(error)[:60]}"] += 1
            return old(self, *args, **kwargs)
        counts.calls[adapter.name, name] += 1
        for warning in seen:
            warnings.warn(warning.message, warning.category, stacklevel=2)
        if name == "transform":
            return _wrap_data_with_container("transform", found, X, self)
        return found

    return method
