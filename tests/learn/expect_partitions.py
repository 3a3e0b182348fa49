"""Writes `partitions.json`: results of scikit-learn for spectral, bisecting, BIRCH and affinity clustering.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_partitions.py`. The data sets are those of
`datasets.py`.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import OPTICS, AffinityPropagation, Birch, BisectingKMeans, SpectralClustering

HERE = Path(__file__).parent


def load(name):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1])


def sample(values, count=60):
    """At most about `count` values at a fixed stride."""
    flat = np.asarray(values, dtype=float).ravel()
    return [float(f"{v:.13g}") for v in flat[:: max(1, len(flat) // count)]]


IRIS, WINE, DIGITS = load("iris"), load("wine"), load("digits")
SCALED = (WINE - WINE.mean(axis=0)) / WINE.std(axis=0)


def labels(values):
    return "".join(chr(48 + int(v)) for v in values)


def spectral():
    out = {}

    def case(name, x, **params):
        m = SpectralClustering(**{"random_state": 0, **params}).fit(x)
        out[name] = {"labels": labels(m.labels_)}

    case("iris", IRIS, n_clusters=3)
    case("iris_near", IRIS, n_clusters=3, affinity="nearest_neighbors", n_neighbors=60)
    case("wine", SCALED, n_clusters=3, gamma=0.05, random_state=7)
    case("wine_qr", SCALED, n_clusters=3, gamma=0.05, assign_labels="cluster_qr")
    case("wine_near", SCALED, n_clusters=5, affinity="nearest_neighbors", n_neighbors=20, assign_labels="cluster_qr")
    return out


def bisecting():
    out = {}

    def case(name, x, weight=None, **params):
        m = BisectingKMeans(**{"random_state": 0, **params}).fit(x, sample_weight=weight)
        out[name] = {
            "labels": labels(m.labels_),
            "cluster_centers": sample(m.cluster_centers_, 80),
            "inertia": float(m.inertia_),
            "predict": labels(m.predict(x * 1.1)),
        }

    case("iris", IRIS, n_clusters=4)
    case("wine", SCALED, n_clusters=6, n_init=3, random_state=2)
    case("digits", DIGITS[:500], n_clusters=8, init="k-means++", bisecting_strategy="largest_cluster")
    case("weighted", IRIS, 1.0 + np.arange(150) % 3, n_clusters=5)
    return out


def birch():
    out = {}

    def case(name, x, **params):
        m = Birch(**params).fit(x)
        out[name] = {
            "labels": labels(m.labels_),
            "subcluster_centers": sample(m.subcluster_centers_, 100),
            "subcluster_labels": [int(v) for v in m.subcluster_labels_],
            "transform": sample(m.transform(x), 100),
        }

    case("iris", IRIS)
    case("iris_small", IRIS, threshold=0.23, branching_factor=4, n_clusters=5)
    case("wine", SCALED, threshold=1.2, branching_factor=10)
    case("wine_none", SCALED, threshold=2.6, n_clusters=None)
    case("digits", DIGITS, threshold=20, n_clusters=10, branching_factor=20)
    return out


def affinity():
    out = {}

    def case(name, x, **params):
        m = AffinityPropagation(**{"random_state": 0, **params}).fit(x)
        out[name] = {
            "labels": labels(m.labels_),
            "cluster_centers": sample(m.cluster_centers_, 80),
            "n_iter": int(m.n_iter_),
            "predict": labels(m.predict(x * 1.1)),
        }

    case("iris", IRIS)
    case("wine_few", SCALED, preference=-90, damping=0.8)
    case("wine", SCALED, preference=-200, random_state=3)
    return out


def optics():
    out = {}

    def case(name, x, **params):
        m = OPTICS(**params).fit(x)
        out[name] = {
            "labels": labels(m.labels_ + 1),
            "ordering": [int(v) for v in m.ordering_],
            "predecessor": [int(v) for v in m.predecessor_],
            "core_distances": sample(np.minimum(m.core_distances_, 1e300)),
            "reachability": sample(np.minimum(m.reachability_, 1e300)),
        }
        if hasattr(m, "cluster_hierarchy_"):
            out[name]["cluster_hierarchy"] = [int(v) for v in m.cluster_hierarchy_.ravel()]

    case("iris", IRIS)
    case("iris_large", IRIS, min_samples=10, min_cluster_size=0.1, xi=0.1)
    case("wine", SCALED, min_samples=0.03, metric="manhattan", predecessor_correction=False)
    case("wine_dbscan", SCALED, cluster_method="dbscan", eps=2.3, max_eps=4.0)
    return out


def main() -> None:
    warnings.simplefilter("ignore")
    results = {"spectral": spectral(), "bisecting": bisecting(), "birch": birch(), "affinity": affinity()}
    results["optics"] = optics()
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "partitions.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
