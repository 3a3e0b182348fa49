"""Clusters, mixtures, neighbours, decompositions and trees."""

import numpy as np
from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky
from sklearn.neighbors import BallTree, KDTree
from sklearn.tree._tree import NODE_DTYPE, Tree
from sklearn.utils.class_weight import compute_sample_weight

from . import engine
from .dispatch import Adapter, Frame, matrix
from .engine import Refused


def arrays(known):
    return {name: v.array() if isinstance(v, Frame) else v for name, v in known.items()}


def row_major(values):
    return np.ascontiguousarray(values)


class Clusterer(Adapter):
    """Labels of the training rows, and centres."""

    methods = ("predict",)

    def fitted(self, estimator, found, model, X, y, classes):
        known = arrays(super().fitted(estimator, found, model, X, y, classes))
        for name in ("cluster_centers_", "components_"):
            if name in known:
                known[name] = row_major(known[name].reshape(-1, X.shape[1]))
        if "labels_" in known:
            known["labels_"] = known["labels_"].astype(np.int64)
        return known


class KMeans(Clusterer):
    keeps_float32 = True

    def param(self, name, value):
        if name == "init" and isinstance(value, np.ndarray):
            return engine.plain(np.asarray(value, dtype=float).ravel())
        if name == "init" and not isinstance(value, str):
            raise Refused("parameter", "init")
        return super().param(name, value)

    def validated(self, estimator, X, y):
        X, y = super().validated(estimator, X, y)
        estimator._check_params_vs_input(X)
        if isinstance(estimator.init, np.ndarray):
            estimator._validate_center_shape(X, estimator.init)
        return X, y

    def fitted(self, *args):
        known = super().fitted(*args)
        known["labels_"] = known["labels_"].astype(np.int32)
        known["_n_threads"] = 1
        known["_n_features_out"] = len(known["cluster_centers_"])
        return known

    def predict(self, estimator, handle, X):
        return super().predict(estimator, handle, X).astype(np.int32)


class MiniBatch(KMeans):
    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        return known | {"n_steps_": known["n_iter_"]}


class LabelsOnly(Clusterer):
    methods = ()


class Agglomerative(LabelsOnly):
    seeded = False

    def params(self, estimator, classes):
        if estimator.connectivity is not None:
            raise Refused("connectivity")
        found = super().params(estimator, classes)
        if found.get("n_clusters", 2) is None:
            found.pop("n_clusters")
        return found

    ignored = ("memory", "compute_full_tree", "compute_distances", "connectivity")

    def fitted(self, estimator, found, model, X, y, classes):
        merges = found.pop("merges")
        known = super().fitted(estimator, found, model, X, y, classes)
        known["children_"] = np.column_stack([merges.columns["left"], merges.columns["right"]])
        if estimator.distance_threshold is not None or estimator.compute_distances:
            known["distances_"] = merges.numbers()[0]
        return known | {"n_leaves_": len(X), "n_connected_components_": 1}


class Mixture(Clusterer):
    methods = ("predict", "predict_proba", "score_samples")
    fit_methods = ("fit", "fit_predict")
    least_rows = 2
    attributes = {"aic": None, "bic": None}
    keeps_float32 = True

    def param(self, name, value):
        if name == "means_init" and value is not None:
            return engine.plain(np.asarray(value, dtype=float).ravel())
        return super().param(name, value)

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        known["converged_"] = bool(known["converged_"])
        known["means_"] = row_major(known["means_"].reshape(-1, X.shape[1]))
        covariances, width = known["covariances_"], X.shape[1]
        shape = {"full": (-1, width, width), "tied": (width, width), "diag": (-1, width), "spherical": (-1,)}
        covariances = known["covariances_"] = row_major(covariances).reshape(shape[estimator.covariance_type])
        root = known["precisions_cholesky_"] = _compute_precision_cholesky(covariances, estimator.covariance_type)
        is_matrix = estimator.covariance_type in ("full", "tied")
        known["precisions_"] = root @ np.swapaxes(root, -1, -2) if is_matrix else root**2
        return known

    def result(self, estimator, handle, answer, name, given):
        return estimator.predict(given["X"])

    def score_samples(self, estimator, handle, X):
        return self.as_input(handle, X, self.ask(handle, "log_likelihood", self.rows(estimator, handle, X))[:, 0])


class Isolation(Adapter):
    methods = ("predict", "decision_function", "score_samples")

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        return known | {"_max_samples": known["max_samples_"]}

    def score_samples(self, estimator, handle, X):
        return self.ask(handle, "score", self.rows(estimator, handle, X))[:, 0]

    def decision_function(self, estimator, handle, X):
        return self.score_samples(estimator, handle, X) - estimator.offset_


class LocalOutliers(Clusterer):
    methods = ("predict", "decision_function", "score_samples")
    fit_methods = ("fit",)
    attributes = {"labels": None}

    def score_samples(self, estimator, handle, X):
        return self.ask(handle, "score", self.rows(estimator, handle, X))[:, 0]

    def decision_function(self, estimator, handle, X):
        return self.score_samples(estimator, handle, X) - estimator.offset_

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        return known | {"n_samples_fit_": len(X)} | neighbors(estimator, X)


def neighbors(estimator, X):
    """Attributes of scikit-learn's indexes."""
    metric, params = estimator.metric, dict(estimator.metric_params or {})
    if metric == "minkowski":
        p = params.setdefault("p", estimator.p)
        named = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
        if p in named:
            metric = named[p]
            params = {}
    # What is not dispatched, such as a graph of neighbours, is searched by scikit-learn.
    method, tree = estimator.algorithm, None
    if method == "auto":
        method = "kd_tree" if metric in KDTree.valid_metrics and X.shape[1] < 16 else "brute"
    if method != "brute":
        tree = (KDTree if method == "kd_tree" else BallTree)(X, estimator.leaf_size, metric=metric, **params)
    return {"effective_metric_": metric, "effective_metric_params_": params, "_fit_X": X, "n_samples_fit_": len(X),
            "_fit_method": method, "_tree": tree}


class Neighbors(Adapter):
    """Indexes, and classes and numbers of neighbours."""

    methods = ("predict", "predict_proba", "kneighbors", "radius_neighbors")
    seeded = False

    def params(self, estimator, classes):
        if estimator.metric_params:
            raise Refused("parameter", "metric_params")
        if getattr(estimator, "weights", "uniform") is None:
            raise Refused("parameter", "weights")
        return super().params(estimator, classes)

    def fitted(self, estimator, found, model, X, y, classes):
        known = neighbors(estimator, X)
        if y is not None:
            known |= {"_y": y.astype(np.intp) if classes is not None else y, "outputs_2d_": False}
        return known

    with_arguments = ("kneighbors", "radius_neighbors")
    # Without rows, these are about the training rows.
    without_rows = ("kneighbors", "radius_neighbors")

    def found(self, estimator, handle, X, **search):
        """For each row its neighbours and their distances."""
        rows = self.rows(estimator, handle, X)
        head = {"do": "neighbors", "model": handle.model.number, "rows": len(rows), "columns": handle.columns()}
        row, neighbor, distance = (c["values"] for c in engine.ask({**head, **search}, rows.T)["columns"])
        ends = np.searchsorted(row, np.arange(1, len(rows)))
        return np.split(neighbor.astype(np.intp), ends), np.split(distance, ends)

    def kneighbors(self, estimator, handle, X=None, n_neighbors=None, return_distance=True):
        k = estimator.n_neighbors if n_neighbors is None else n_neighbors
        own = X is None
        if not isinstance(k, int | np.integer) or not 0 < k <= len(estimator._fit_X) - own:
            raise Refused("arguments")
        neighbor, distance = self.found(estimator, handle, estimator._fit_X if own else X, k=int(k) + own)
        neighbor, distance = np.array(neighbor), np.array(distance)
        if own:
            # Without the row itself, or the first of as many equal ones.
            others = neighbor != np.arange(len(neighbor))[:, None]
            others[np.all(others, axis=1), 0] = False
            neighbor, distance = neighbor[others].reshape(-1, k), distance[others].reshape(-1, k)
        return (distance, neighbor) if return_distance else neighbor

    def radius_neighbors(self, estimator, handle, X=None, radius=None, return_distance=True, sort_results=False):
        own = X is None
        if np.ndim(radius):
            raise Refused("arguments", "radius")
        rows = estimator._fit_X if own else X
        radius = estimator.radius if radius is None else radius
        neighbor, distance = self.found(estimator, handle, rows, radius=float(radius))
        if own:
            others = [values != row for row, values in enumerate(neighbor)]
            distance = [values[kept] for values, kept in zip(distance, others)]
            neighbor = [values[kept] for values, kept in zip(neighbor, others)]
        lists = []
        for values in (distance, neighbor):
            lists.append(np.empty(len(values), dtype=object))
            lists[-1][:] = values
        return tuple(lists) if return_distance else lists[1]


class Bayes(Adapter):
    """Naive Bayes."""

    methods = ("predict", "predict_proba")
    seeded = False

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        width = X.shape[1]
        for name, array in known.items():
            if isinstance(array, Frame):
                two = name in ("theta_", "var_", "feature_count_", "feature_log_prob_")
                known[name] = row_major(array.array().reshape(-1, width)) if two else array.array()
        return known


class SmoothBayes(Bayes):
    def params(self, estimator, classes):
        # scikit-learn warns about it.
        if np.min(estimator.alpha) < 1e-10:
            raise Refused("parameter", "alpha")
        return super().params(estimator, classes)


class GaussianBayes(Bayes):
    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        return known | {"epsilon_": estimator.var_smoothing * X.var(axis=0).max()}


class CategoricalBayes(SmoothBayes):
    def fitted(self, estimator, found, model, X, y, classes):
        known = {}
        known["n_categories_"] = found["n_categories"].array().astype(np.int64)
        ends = np.cumsum(known["n_categories_"] * len(classes))
        for name in ("category_count", "feature_log_prob"):
            parts = np.split(found[name].numbers()[0], ends[:-1])
            known[f"{name}_"] = [part.reshape(len(classes), -1) for part in parts]
        for name in ("class_count", "class_log_prior"):
            known[f"{name}_"] = found[name].array()
        return known


class Pca(Adapter):
    methods = ("transform", "inverse_transform")
    fit_methods = ("fit", "fit_transform")
    keeps_float32 = True

    def params(self, estimator, classes):
        solver = getattr(estimator, "svd_solver", "auto")
        # scikit-learn's solvers refuse some numbers of components, which is no matter of the result.
        if solver == "arpack" or (estimator.n_components == "mle" and solver not in ("auto", "full")):
            raise Refused("parameter", "svd_solver")
        return super().params(estimator, classes)

    def fitted(self, estimator, found, model, X, y, classes):
        known = arrays(super().fitted(estimator, found, model, X, y, classes))
        known["components_"] = row_major(known["components_"].reshape(-1, X.shape[1]))
        if self.name == "PCA":
            known["n_samples_"] = len(X)
            known["_fit_svd_solver"] = estimator.svd_solver
        return known

    def result(self, estimator, handle, answer, name, given):
        return estimator.transform(given["X"])


class Discriminant(Adapter):
    methods = ("predict", "predict_proba", "decision_function", "transform")
    seeded = False
    keeps_float32 = True

    def params(self, estimator, classes):
        if estimator.covariance_estimator is not None:
            raise Refused("parameter", "covariance_estimator")
        return super().params(estimator, classes)

    def fitted(self, estimator, found, model, X, y, classes):
        frames = dict(found)
        if "rotations" in found:
            return self.quadratic(found, X, classes)
        known = arrays(super().fitted(estimator, frames, model, X, y, classes))
        width = X.shape[1]
        for name in ("coef_", "means_"):
            known[name] = row_major(known[name].reshape(-1, width))
        if estimator.solver == "lsqr":
            for name in ("scalings_", "xbar_", "explained_variance_ratio_"):
                known.pop(name, None)
        if "scalings_" in known:
            known["scalings_"] = known["scalings_"].reshape(width, -1)
            most = min(len(classes) - 1, width)
            known["_max_components"] = min(estimator.n_components or most, most)
            known["_n_features_out"] = known["_max_components"]
        return known

    def quadratic(self, found, X, classes):
        count, width = len(classes), X.shape[1]
        known = {"means_": row_major(found["means"].matrix().reshape(-1, width)), "priors_": found["priors"].array()}
        known["scalings_"] = list(found["scalings"].array().reshape(count, width))
        known["rotations_"] = list(found["rotations"].matrix().reshape(count, width, width))
        if "covariance" in found:
            known["covariance_"] = list(found["covariance"].matrix().reshape(count, width, width))
        return known


class Trees(Adapter):
    """Trees, forests and boosting."""

    methods = ("predict", "predict_proba", "decision_function")
    properties = ("feature_importances_",)
    attributes = {"tree": None, "depth": None, "n_leaves": None, "oob_improvement": "oob_improvement_"}

    def param(self, name, value):
        if name == "monotonic_cst" and value is not None and not isinstance(value, list | np.ndarray):
            raise Refused("parameter", name)
        if name == "categorical_features" and value is None:
            return "from_dtype"
        return super().param(name, value)

    def fitted(self, estimator, found, model, X, y, classes):
        known = arrays(super().fitted(estimator, found, model, X, y, classes))
        known["n_outputs_"] = 1
        if classes is not None:
            known["n_classes_"] = len(classes)
        return known


class SingleTree(Trees):
    """A decision tree with scikit-learn's own structure of nodes, made of our frame."""

    def weighted(self, estimator, X, y, classes):
        weights = self.sample_weight
        if classes is not None and estimator.class_weight is not None:
            of_class = compute_sample_weight(estimator.class_weight, classes[y.astype(np.intp)])
            weights = of_class if weights is None else weights * of_class
        return None if weights is None else (X.astype(np.float32), weights)

    def fitted(self, estimator, found, model, X, y, classes):
        frame = found.pop("tree").columns
        known = super().fitted(estimator, found, model, X, y, classes)
        known["tree_"] = tree(frame, X.shape[1], classes, self.weighted(estimator, X, y, classes))
        if classes is not None:
            known["n_classes_"] = np.int64(len(classes))
        share = estimator.max_features
        width = X.shape[1]
        if isinstance(share, str):
            share = max(1, int(np.sqrt(width) if share == "sqrt" else np.log2(width)))
        elif share is None:
            share = width
        elif isinstance(share, float):
            share = max(1, int(share * width))
        return known | {"max_features_": share}


def tree(frame, width, classes, weighted):
    """Nodes as scikit-learn has them. `weighted` is rows and their weights, if these are not 1."""
    values = np.column_stack([v for k, v in frame.items() if k == "value" or k.startswith("proba_")])
    count = len(values)
    nodes = np.zeros(count, dtype=NODE_DTYPE)
    leaf = np.asarray(frame["left"]) < 0
    nodes["left_child"] = frame["left"]
    nodes["right_child"] = frame["right"]
    nodes["feature"] = [int(name[1:]) if name else -2 for name in frame["feature"]]
    nodes["threshold"] = np.where(leaf, -2.0, frame["threshold"])
    nodes["impurity"] = frame["impurity"]
    nodes["n_node_samples"] = frame["samples"]
    nodes["weighted_n_node_samples"] = frame["samples"]
    nodes["missing_go_to_left"] = frame["missing_left"]
    made = Tree(width, np.array([1 if classes is None else len(classes)], dtype=np.intp), 1)
    depth = max(frame["depth"])
    state = {"max_depth": depth, "node_count": count, "nodes": nodes, "values": values[:, None, :].copy()}
    made.__setstate__(state)
    if weighted is not None:
        rows, weights = weighted
        nodes["weighted_n_node_samples"] = made.decision_path(rows).T @ weights
        made.__setstate__(state)
    return made


class Histograms(Trees):
    properties = ("n_iter_",)
    attributes = {}

    def fitted(self, estimator, found, model, X, y, classes):
        known = super().fitted(estimator, found, model, X, y, classes)
        known.pop("n_outputs_")
        known.pop("n_classes_", None)
        for name in ("train_score_", "validation_score_"):
            known.setdefault(name, np.array([]))
        known["n_trees_per_iteration_"] = 1 if classes is None or len(classes) == 2 else len(classes)
        known["do_early_stopping_"] = estimator.early_stopping is True or (
            estimator.early_stopping == "auto" and len(X) > 10_000
        )
        known["is_categorical_"] = None
        return known


ADAPTERS = {
    "KMeans": KMeans,
    "MiniBatchKMeans": MiniBatch,
    "MeanShift": Clusterer,
    "DBSCAN": LabelsOnly,
    "HDBSCAN": LabelsOnly,
    "AgglomerativeClustering": Agglomerative,
    "IsolationForest": Isolation,
    "LocalOutlierFactor": LocalOutliers,
    "GaussianMixture": Mixture,
    "NearestNeighbors": Neighbors,
    "KNeighborsClassifier": Neighbors,
    "KNeighborsRegressor": Neighbors,
    "GaussianNB": GaussianBayes,
    "MultinomialNB": SmoothBayes,
    "BernoulliNB": SmoothBayes,
    "ComplementNB": SmoothBayes,
    "CategoricalNB": CategoricalBayes,
    "PCA": Pca,
    "TruncatedSVD": Pca,
    "LinearDiscriminantAnalysis": Discriminant,
    "QuadraticDiscriminantAnalysis": Discriminant,
    "DecisionTreeClassifier": SingleTree,
    "DecisionTreeRegressor": SingleTree,
    "RandomForestClassifier": Trees,
    "RandomForestRegressor": Trees,
    "ExtraTreesClassifier": Trees,
    "ExtraTreesRegressor": Trees,
    "GradientBoostingClassifier": Trees,
    "GradientBoostingRegressor": Trees,
    "HistGradientBoostingClassifier": Histograms,
    "HistGradientBoostingRegressor": Histograms,
}
