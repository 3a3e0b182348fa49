"""Writes `manifold.json`: results of scikit-learn for embeddings.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_manifold.py`. The data sets are those of `datasets.py`.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.manifold import (
    MDS,
    TSNE,
    ClassicalMDS,
    Isomap,
    LocallyLinearEmbedding,
    SpectralEmbedding,
    trustworthiness,
)

HERE = Path(__file__).parent


def load(name):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1])


def tsne():
    """The divergence depends on the rounding of each step: the tests take it as a bound."""
    out = {}

    def case(name, x, **params):
        m = TSNE(**{"random_state": 0, **params})
        z = m.fit_transform(x)
        out[name] = {
            "kl_divergence": float(m.kl_divergence_),
            "n_iter": int(m.n_iter_),
            "trustworthiness": float(trustworthiness(x, z, n_neighbors=12)),
        }

    iris, wine, digits = load("iris"), load("wine"), load("digits")
    case("iris", iris)
    case("iris_exact", iris, method="exact", perplexity=15)
    case("iris_exact_3", iris, method="exact", n_components=3)
    case("wine_manhattan", wine, metric="manhattan", perplexity=20, learning_rate=100)
    case("digits", digits)
    case("digits_random", digits[:700], init="random", max_iter=500, perplexity=20)
    case("digits_3", digits[:800], n_components=3, max_iter=400)
    case("digits_cosine", digits[:600], metric="cosine", early_exaggeration=20)
    return out


def sample(values, count=60):
    """At most about `count` values at a fixed stride."""
    flat = np.asarray(values, dtype=float).ravel()
    return [float(f"{v:.13g}") for v in flat[:: max(1, len(flat) // count)]]


def skewed(x):
    """Features in different sizes, so that few distances are equal."""
    j = np.arange(x.shape[1])
    return x * (1 + 0.0137 * j + 0.00031 * j * j)


def others():
    out = {}
    iris, wine, digits = load("iris"), load("wine"), load("digits")
    # Copies of a row have eigenvectors of one eigenvalue.
    iris = iris[np.sort(np.unique(iris, axis=0, return_index=True)[1])]

    def isomap(name, x, test, **params):
        m = Isomap(**params).fit(x)
        out[name] = {
            "embedding": sample(m.embedding_, 120),
            "transform": sample(m.transform(test), 80),
            "reconstruction_error": float(m.reconstruction_error()),
            "eigenvalues": sample(m.kernel_pca_.eigenvalues_),
        }

    def mds(name, x, **params):
        m = MDS(**{"random_state": 0, "init": "random", **params}).fit(x)
        out[name] = {"embedding": sample(m.embedding_, 120), "stress": float(m.stress_), "n_iter": int(m.n_iter_)}

    def classical(name, x, **params):
        m = ClassicalMDS(**params).fit(x)
        out[name] = {"embedding": sample(m.embedding_, 120), "eigenvalues": sample(m.eigenvalues_)}

    def spectral(name, x, **params):
        out[name] = {"embedding": sample(SpectralEmbedding(**{"random_state": 0, **params}).fit_transform(x), 120)}

    def linear(name, x, test, **params):
        m = LocallyLinearEmbedding(**{"eigen_solver": "dense", **params}).fit(x)
        # The signs of the eigenvectors are those of the library.
        out[name] = {
            "embedding": sample(np.abs(m.embedding_), 120),
            "transform": sample(np.abs(m.transform(test)), 80),
            "reconstruction_error": float(m.reconstruction_error_),
        }

    linear("linear_digits", skewed(digits[:200]), skewed(digits[200:260]), n_neighbors=10)
    linear("linear_wine", wine, wine * 1.01, n_neighbors=12, n_components=3, reg=0.01)
    isomap("isomap_digits", digits[:300], digits[300:400])
    isomap("isomap_iris", iris, iris * 1.05, n_neighbors=60, n_components=3)
    isomap("isomap_parts", skewed(iris), skewed(iris) * 1.01, n_neighbors=5, metric="manhattan")
    isomap("isomap_radius", wine[:, :3], wine[:, :3] * 1.01, radius=1.5, n_neighbors=None)
    mds("mds_iris", iris)
    mds("mds_wine", wine, n_init=3, max_iter=60, n_components=3, normalized_stress=True, random_state=4)
    mds("mds_classical", iris, init="classical_mds", metric="manhattan", eps=1e-9)
    classical("classical_iris", iris)
    classical("classical_wine", wine, n_components=3, metric="manhattan")
    spectral("spectral_digits", skewed(digits[:300]))
    spectral("spectral_iris", iris, affinity="rbf", gamma=0.5, n_components=3)
    spectral("spectral_near", iris, n_neighbors=60)
    return out


def main() -> None:
    warnings.simplefilter("ignore")
    results = {"tsne": tsne(), "others": others()}
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "manifold.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
