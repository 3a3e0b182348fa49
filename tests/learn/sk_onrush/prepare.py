"""Preprocessing and the choice of features."""

import numpy as np

from .dispatch import Adapter, Frame
from .engine import Refused


class Transformer(Adapter):
    methods = ("transform", "inverse_transform")
    seeded = False

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        return {name: v.array() if isinstance(v, Frame) else v for name, v in known.items()}


class Scaler(Transformer):
    keeps_float32 = True

    def __init__(self, cls, entry):
        super().__init__(cls, entry)
        self.float32_attributes = self.name != "StandardScaler"

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        if self.name in ("MinMaxScaler", "MaxAbsScaler"):
            known["n_samples_seen_"] = len(X)
        if self.name == "StandardScaler":
            seen = known["n_samples_seen_"]
            whole = np.int64(seen[0]) if float(seen[0]).is_integer() else seen[0]
            known["n_samples_seen_"] = whole if (seen == seen[0]).all() else seen.astype(np.int64)
            for name, wanted in (("scale_", estimator.with_std), ("var_", estimator.with_std)):
                if not wanted:
                    known[name] = None
            if not estimator.with_mean and not estimator.with_std:
                known["mean_"] = None
        if self.name == "RobustScaler":
            known.setdefault("center_", None)
            known.setdefault("scale_", None)
        return known


class Rows(Transformer):
    """Transformers of single rows or values: nothing is learnt."""

    methods = ("transform",)
    keeps_float32 = True


class Imputer(Transformer):
    methods = ("transform",)
    keeps_float32 = True

    def params(self, estimator, classes):
        if not (isinstance(estimator.missing_values, float) and np.isnan(estimator.missing_values)):
            raise Refused("parameter", "missing_values")
        return super().params(estimator, classes)

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        known["indicator_"] = None
        if estimator.add_indicator:
            raise Refused("parameter", "add_indicator")
        if self.name == "SimpleImputer":
            known["_fit_dtype"] = np.dtype(np.float64)
        else:
            known |= {"_fit_X": X, "_mask_fit_X": np.isnan(X), "_valid_mask": ~np.isnan(X).all(axis=0)}
        return known


class Bins(Transformer):
    keeps_float32 = True
    float32_attributes = False

    def params(self, estimator, classes):
        if estimator.dtype not in (None, np.float64):
            raise Refused("parameter", "dtype")
        if estimator.encode == "onehot":
            raise Refused("sparse output")
        if estimator.subsample is not None and estimator.subsample != 200_000:
            raise Refused("parameter", "subsample")
        return super().params(estimator, classes)

    ignored = ("subsample", "dtype")

    def transform(self, estimator, handle, X):
        found = super().transform(estimator, handle, X)
        return found.astype(estimator.dtype or handle.dtype)

    def fitted(self, estimator, found, model, X, y, classes):
        counts = found["n_bins"].array().astype(np.int64)
        edges = np.empty(X.shape[1], dtype=object)
        for j, part in enumerate(np.split(found["bin_edges"].array(), np.cumsum(counts + 1)[:-1])):
            edges[j] = part
        known = {"n_bins_": counts, "bin_edges_": edges}
        if estimator.encode != "ordinal":
            from sklearn.preprocessing import OneHotEncoder

            known["_encoder"] = OneHotEncoder(categories=[np.arange(i) for i in counts], sparse_output=False)
            type(known["_encoder"]).fit(known["_encoder"], np.zeros((1, len(counts))))
        return known


class Polynomial(Transformer):
    methods = ("transform",)
    keeps_float32 = True

    def fitted(self, estimator, found, model, X, y, classes):
        degree = estimator.degree
        low, high = (0, degree) if np.ndim(degree) == 0 else degree
        outputs = [name for name, kind in model.outputs if kind == "transform"]
        return {"_min_degree": low, "_max_degree": high, "n_output_features_": len(outputs),
                "_n_out_full": len(outputs)}


class Power(Transformer):
    keeps_float32 = True
    fit_methods = ("fit", "fit_transform")

    def result(self, estimator, handle, answer, name, given):
        return estimator.transform(given["X"])

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        return known


class Quantiles(Transformer):
    keeps_float32 = True
    seeded = True
    ignored = ("ignore_implicit_zeros",)

    def fitted(self, estimator, found, model, X, y, classes):
        quantiles = found["quantiles"].array().reshape(X.shape[1], -1).T
        count = len(quantiles)
        return {"quantiles_": quantiles, "n_quantiles_": count, "references_": np.linspace(0, 1, count)}


class Variance(Transformer):
    methods = ("transform",)
    keeps_float32 = True


class Splines(Transformer):
    methods = ("transform",)

    def params(self, estimator, classes):
        if not isinstance(estimator.knots, str):
            raise Refused("parameter", "knots")
        return super().params(estimator, classes)

    def fitted(self, estimator, found, model, X, y, classes):
        outputs = [name for name, kind in model.outputs if kind == "transform"]
        return {"n_features_out_": len(outputs)}


class Univariate(Transformer):
    methods = ("transform",)
    keeps_float32 = True

    def is_classifier(self):
        return self.by_class

    def params(self, estimator, classes):
        name = getattr(estimator.score_func, "__name__", "")
        module = getattr(estimator.score_func, "__module__", "")
        if not module.startswith("sklearn.feature_selection"):
            raise Refused("a function as a parameter", "score_func")
        found = super().params(estimator, classes)
        return found | {"score_func": name}

    def param(self, name, value):
        return "" if name == "score_func" else super().param(name, value)

    def target(self, estimator, y):
        name = getattr(estimator.score_func, "__name__", "")
        self.by_class = name in ("f_classif", "chi2", "mutual_info_classif")
        return super().target(estimator, y)

    def fitted(self, estimator, found, model, X, y, classes):
        columns = found["scores"].columns
        values = columns["pvalue"]
        return {"scores_": columns["score"], "pvalues_": None if np.isnan(values).all() else values}


ADAPTERS = {
    "StandardScaler": Scaler,
    "MinMaxScaler": Scaler,
    "MaxAbsScaler": Scaler,
    "RobustScaler": Scaler,
    "Normalizer": Rows,
    "Binarizer": Rows,
    "SimpleImputer": Imputer,
    "KNNImputer": Imputer,
    "KBinsDiscretizer": Bins,
    "PolynomialFeatures": Polynomial,
    "PowerTransformer": Power,
    "QuantileTransformer": Quantiles,
    "VarianceThreshold": Variance,
    "SplineTransformer": Splines,
    "SelectKBest": Univariate,
    "SelectPercentile": Univariate,
    "SelectFpr": Univariate,
    "SelectFdr": Univariate,
    "SelectFwe": Univariate,
    "GenericUnivariateSelect": Univariate,
}
