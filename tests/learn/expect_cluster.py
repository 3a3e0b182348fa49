"""Writes `cluster.json`: results of scikit-learn for clustering, decompositions, nearest neighbours and naive Bayes.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_cluster.py`. The data sets are those of `datasets.py`.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.cluster import DBSCAN, KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.metrics import pairwise_distances
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

HERE = Path(__file__).parent


def load(name):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1]


def stacked(x):
    """Eight copies in different sizes: enough rows for the path of large data."""
    return np.concatenate([x * (1 + c / 16) for c in range(8)])


def weights(n):
    """Weights 0 to 4 in turn."""
    return np.arange(n) % 5.0


def sample(values, count=20):
    """At most `count` values at a fixed stride."""
    flat = np.asarray(values, dtype=float).ravel()
    return flat[:: max(1, len(flat) // count)].tolist()


def kmeans():
    out = {}

    def case(name, x, weight=None, **params):
        m = KMeans(**{"random_state": 0, **params}).fit(x, sample_weight=weight)
        out[name] = {
            "centers": m.cluster_centers_.tolist(),
            "labels": m.labels_.tolist()[:: max(1, len(x) // 200)],
            "inertia": m.inertia_,
            "n_iter": m.n_iter_,
            "predict": m.predict(x[::7] + 0.1).tolist()[:50],
        }

    iris, wine, digits = load("iris")[0], load("wine")[0], load("digits")[0]
    case("iris_init", iris, n_clusters=3, init=iris[[0, 50, 100]])
    case("iris_weighted", iris, weights(150), n_clusters=4, init=iris[[0, 50, 100, 149]])
    far = np.concatenate([iris[[0, 50]], np.full((2, 4), 100.0)])
    case("iris_empty", iris, n_clusters=4, init=far)
    case("digits_init", digits, n_clusters=10, init=digits[:10])
    case("digits_tol", digits, n_clusters=10, init=digits[:10], tol=0, max_iter=7)
    case("wine_init", wine, n_clusters=17, init=wine[::11])
    case("iris_seed", iris, n_clusters=5)
    case("wine_seed", wine, weights(178), n_clusters=6, random_state=3)
    case("wine_random", wine, n_clusters=3, init="random", n_init=3, random_state=1)
    case("digits_best", digits, n_clusters=10, n_init=20)
    return out


def decompositions():
    out = {}

    def case(name, estimator, x):
        m = estimator.fit(x)
        z = m.transform(x)
        out[name] = {
            "shape": list(m.components_.shape),
            "components": sample(m.components_, 60),
            "stride": max(1, m.components_.size // 60),
            "explained_variance": m.explained_variance_.tolist()[:20],
            "explained_variance_ratio": m.explained_variance_ratio_.tolist()[:20],
            "singular_values": m.singular_values_.tolist()[:20],
            "first": sample(z[:, 0]),
            "last": sample(z[:, -1]) if z.shape[1] < 20 else [],
        }
        if hasattr(m, "noise_variance_"):
            out[name]["noise_variance"] = float(m.noise_variance_)
            out[name]["mean"] = m.mean_.tolist()

    iris, wine, digits = load("iris")[0], load("wine")[0], load("digits")[0]
    cancer = load("breast_cancer")[0]
    full = {"svd_solver": "full"}
    case("pca_iris", PCA(**full), iris)
    case("pca_wine_share", PCA(0.9999, **full), wine)
    case("pca_cancer_mle", PCA("mle", **full), cancer)
    case("pca_digits_whiten", PCA(10, whiten=True, **full), digits)
    case("pca_wide", PCA(12, **full), digits[:40])
    case("pca_large", PCA(9, **full), stacked(digits))
    case("svd_digits", TruncatedSVD(5, algorithm="arpack"), digits)
    case("svd_large", TruncatedSVD(3, algorithm="arpack"), stacked(digits))
    return out


def neighbors():
    out = {}

    def case(name, x, stride, k, **metric):
        """The nearest rows by all distances, the lower row on ties."""
        queries, rest = x[::stride], np.delete(x, np.s_[::stride], axis=0)
        distances = pairwise_distances(queries, rest, **metric)
        if metric["metric"] == "euclidean":
            # The differences of the values lose no digits.
            distances = np.sqrt(((queries[:, None] - rest[None]) ** 2).sum(-1))
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        found = np.take_along_axis(distances, nearest, 1)
        radius = float(np.median(found[:, -1])) * 1.0000001
        out[name] = {
            "neighbors": nearest.tolist()[:20],
            "distances": found.tolist()[:20],
            "radius": radius,
            "within": (distances <= radius).sum(axis=1).tolist(),
        }

    wine, digits = load("wine")[0], load("digits")[0]
    iris = load("iris")[0]
    case("iris_euclidean", iris, 11, 3, metric="euclidean")
    for metric in ["euclidean", "manhattan", "chebyshev", "cosine"]:
        case(f"wine_{metric}", wine, 9, 5, metric=metric)
        case(f"digits_{metric}", digits, 90, 7, metric=metric)
    case("wine_minkowski", wine, 9, 5, metric="minkowski", p=3)
    case("digits_minkowski", digits, 90, 7, metric="minkowski", p=1.5)

    def classifier(name, file, **params):
        x, y = load(file)
        train = np.arange(len(x)) % 3 != 0
        m = KNeighborsClassifier(**params).fit(x[train], y[train])
        out[name] = {"predict": m.predict(x[~train]).tolist()[:100], "proba": sample(m.predict_proba(x[~train]), 60)}

    def regressor(name, **params):
        x, y = load("diabetes")
        train = np.arange(len(x)) % 3 != 0
        m = KNeighborsRegressor(**params).fit(x[train], y[train])
        out[name] = {"predict": m.predict(x[~train]).tolist()[:60]}

    classifier("classifier_wine", "wine")
    classifier("classifier_wine_distance", "wine", weights="distance", n_neighbors=8)
    classifier("classifier_digits", "digits", n_neighbors=3, weights="distance")
    classifier("classifier_cosine", "wine", metric="cosine", n_neighbors=11)
    regressor("regressor")
    regressor("regressor_distance", weights="distance", n_neighbors=7)
    regressor("regressor_manhattan", metric="manhattan", weights="distance")
    return out


def bayes():
    out = {}

    def case(name, file, weight=None, **params):
        x, y = load(file)
        m = GaussianNB(**params).fit(x, y, sample_weight=None if weight is None else weight(len(x)))
        logs = m.predict_log_proba(x)
        out[name] = {
            "theta": sample(m.theta_, 60),
            "var": sample(m.var_, 60),
            "stride": max(1, m.theta_.size // 60),
            "class_prior": m.class_prior_.tolist(),
            "predict": m.predict(x).tolist()[::9],
            "log_proba": sample(np.maximum(logs, -600), 80),
            "log_proba_stride": max(1, logs.size // 80),
        }

    case("iris", "iris")
    case("wine_weighted", "wine", weights)
    case("digits", "digits")
    case("cancer_priors", "breast_cancer", priors=[0.2, 0.8], var_smoothing=1e-6)
    return out


def multinomial():
    out = {}

    def case(name, file, weight=None, **params):
        x, y = load(file)
        m = MultinomialNB(**params).fit(x, y, sample_weight=None if weight is None else weight(len(x)))
        logs = m.predict_log_proba(x)
        out[name] = {
            "feature_count": sample(m.feature_count_, 60),
            "feature_log_prob": sample(m.feature_log_prob_, 60),
            "stride": max(1, m.feature_count_.size // 60),
            "class_count": m.class_count_.tolist(),
            "class_log_prior": m.class_log_prior_.tolist(),
            "predict": m.predict(x).tolist()[::9],
            "log_proba": sample(np.maximum(logs, -600), 80),
            "log_proba_stride": max(1, logs.size // 80),
        }

    case("iris", "iris")
    case("wine_weighted", "wine", weights, alpha=0.25)
    case("digits", "digits", fit_prior=False)
    case("cancer_priors", "breast_cancer", class_prior=[0.2, 0.8], alpha=0, force_alpha=False)
    return out


def dbscan():
    out = {}

    def case(name, x, weight=None, **params):
        m = DBSCAN(**params).fit(x, sample_weight=weight)
        out[name] = {
            "labels": m.labels_.tolist(),
            "cores": len(m.core_sample_indices_),
            "core_sum": int(m.core_sample_indices_.sum()),
            "components": sample(m.components_),
        }

    iris, wine, digits = load("iris")[0], load("wine")[0], load("digits")[0]
    case("iris", iris)
    case("iris_weighted", iris, weights(150), eps=0.4, min_samples=12)
    case("iris_manhattan", iris, eps=0.6, min_samples=4, metric="manhattan")
    case("wine", wine, eps=25.0, min_samples=4)
    case("digits", digits, eps=21.0, min_samples=6)
    case("digits_cosine", digits[:600], eps=0.12, min_samples=4, metric="cosine")
    case("noise", wine, eps=0.001)
    return out


def main() -> None:
    results = {
        "kmeans": kmeans(),
        "decompositions": decompositions(),
        "neighbors": neighbors(),
        "bayes": bayes(),
        "multinomial": multinomial(),
        "dbscan": dbscan(),
    }
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "cluster.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
