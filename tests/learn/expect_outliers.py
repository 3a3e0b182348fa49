"""Writes `outliers.json`: results of scikit-learn for outliers, agglomerative and density clustering, and small batches.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_outliers.py`. The data sets are those of `datasets.py`.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, MeanShift, MiniBatchKMeans
from sklearn.cluster._hdbscan import hdbscan as hdbscan_module
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

HERE = Path(__file__).parent


def load(name):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1])


def sample(values, count=80):
    """At most about `count` values at a fixed stride."""
    flat = np.asarray(values, dtype=float).ravel()
    return [float(f"{v:.13g}") for v in flat[:: max(1, len(flat) // count)]]


def local():
    out = {}

    def case(name, x, **params):
        m = LocalOutlierFactor(**params)
        labels = m.fit_predict(x)
        out[name] = {
            "factors": sample(m.negative_outlier_factor_, 200),
            "labels": sample(labels, 200),
            "offset": float(m.offset_),
        }

    def novel(name, x, **params):
        m = LocalOutlierFactor(novelty=True, **params).fit(x)
        moved = x[::3] * 1.07 + 0.013
        out[name] = {"score": sample(m.score_samples(moved), 200), "label": sample(m.predict(moved), 200)}

    wine, cancer, diabetes, digits = load("wine"), load("breast_cancer"), load("diabetes"), load("digits")
    case("wine", wine)
    case("cancer", cancer, n_neighbors=35, contamination=0.1)
    case("cancer_manhattan", cancer, metric="manhattan")
    case("digits_cosine", digits[:500], metric="cosine", contamination=0.05)
    case("wine_all", wine[:15])
    novel("novel_wine", wine)
    novel("novel_cancer", cancer, n_neighbors=5, contamination=0.2)
    novel("novel_diabetes", diabetes, metric="manhattan")
    return out


def isolation():
    """The random numbers differ: the tests compare with the mean over seeds."""
    out = {}

    def case(name, x, **params):
        many = [IsolationForest(random_state=seed, **params).fit(x) for seed in range(12)]
        scores = np.array([m.score_samples(x) for m in many])
        out[name] = {
            "mean": sample(scores.mean(axis=0), 300),
            "spread": float(scores.std(axis=0).mean()),
            "offset": float(np.mean([m.offset_ for m in many])),
            "outliers": float(np.mean([(m.predict(x) < 0).mean() for m in many])),
            "max_samples": int(many[0].max_samples_),
        }

    case("wine", load("wine"))
    case("cancer", load("breast_cancer"), contamination=0.1)
    case("digits", load("digits"), n_estimators=60, max_samples=0.1)
    case("cancer_some", load("breast_cancer"), max_features=0.2, max_samples=100)
    case("iris_bootstrap", load("iris"), bootstrap=True, max_features=2)
    return out


def agglomerative():
    out = {}

    def case(name, x, **params):
        m = AgglomerativeClustering(compute_distances=True, **params).fit(x)
        out[name] = {
            "labels": m.labels_.tolist(),
            "children": m.children_.ravel().tolist(),
            "distances": sample(m.distances_, 100),
            "n_clusters": int(m.n_clusters_),
        }

    wine, cancer, digits = load("wine"), load("breast_cancer")[:250], load("digits")[:200]
    for linkage in ["ward", "complete", "average", "single"]:
        case(f"wine_{linkage}", wine, linkage=linkage, n_clusters=5)
        case(f"digits_{linkage}", digits, linkage=linkage, n_clusters=13)
    case("cancer_threshold", cancer, n_clusters=None, distance_threshold=600.0)
    case("cancer_manhattan", cancer, n_clusters=7, metric="manhattan", linkage="average")
    case("wine_cosine", wine, n_clusters=4, metric="cosine", linkage="complete")
    case("wine_one", wine, n_clusters=1)
    return out


def stable_linkage(tree):
    """scikit-learn leaves the order of equal distances to an unstable sort, which differs between processors."""
    return hdbscan_module.make_single_linkage(tree[np.argsort(tree["distance"], kind="stable")])


def hdbscan():
    out = {}
    hdbscan_module._process_mst = stable_linkage

    def case(name, x, **params):
        m = HDBSCAN(copy=True, **params).fit(x)
        out[name] = {"labels": m.labels_.tolist(), "probabilities": sample(m.probabilities_, 200)}

    wine, cancer, diabetes, digits = load("wine"), load("breast_cancer"), load("diabetes"), load("digits")
    case("wine", wine)
    case("wine_leaf", wine, min_cluster_size=4, min_samples=3, cluster_selection_method="leaf")
    case("cancer", cancer, min_cluster_size=8, min_samples=2)
    case("cancer_single", cancer, min_cluster_size=40, allow_single_cluster=True)
    case("cancer_most", cancer, min_cluster_size=4, max_cluster_size=60)
    case("diabetes_manhattan", diabetes, min_cluster_size=4, min_samples=1, metric="manhattan")
    case("digits", digits[:900], min_cluster_size=6, alpha=1.2)
    return out


def mini_batch():
    """The batches differ: the tests compare the mean inertia over seeds."""
    out = {}

    def case(name, x, **params):
        out[name] = float(np.mean([MiniBatchKMeans(random_state=seed, **params).fit(x).inertia_ for seed in range(20)]))

    case("wine", load("wine"), n_clusters=5, batch_size=40)
    case("digits", load("digits"), n_clusters=10)
    case("digits_random", load("digits"), n_clusters=20, init="random", batch_size=200, n_init=2)
    return out


def mean_shift():
    out = {}

    def case(name, x, **params):
        m = MeanShift(**params).fit(x)
        out[name] = {
            "centers": sample(m.cluster_centers_, 100),
            "labels": m.labels_.tolist(),
            "n_iter": int(m.n_iter_),
        }

    wine, cancer, iris = load("wine"), load("breast_cancer"), load("iris")
    case("iris", iris)
    case("wine", wine, bandwidth=60.0)
    case("wine_bins", wine, bandwidth=50.0, bin_seeding=True, min_bin_freq=3)
    case("cancer_some", cancer, bandwidth=150.0, cluster_all=False)
    return out


def main() -> None:
    results = {
        "local": local(),
        "isolation": isolation(),
        "agglomerative": agglomerative(),
        "hdbscan": hdbscan(),
        "mini_batch": mini_batch(),
        "mean_shift": mean_shift(),
    }
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "outliers.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
