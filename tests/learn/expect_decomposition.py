"""Writes `decomposition.json`: results of scikit-learn for decompositions and random projections.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_decomposition.py`. The data sets are those of
`datasets.py`.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.decomposition import NMF, FactorAnalysis, FastICA, IncrementalPCA
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

HERE = Path(__file__).parent


def load(name):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1])


def sample(values, count=60):
    """At most about `count` values at a fixed stride."""
    flat = np.asarray(values, dtype=float).ravel()
    return [float(f"{v:.13g}") for v in flat[:: max(1, len(flat) // count)]]


IRIS, WINE, DIGITS = load("iris"), load("wine"), load("digits")


def nmf():
    out = {}

    def case(name, x, **params):
        m = NMF(**{"random_state": 0, **params})
        w = m.fit_transform(x)
        out[name] = {
            "components": sample(m.components_),
            "reconstruction_err": float(m.reconstruction_err_),
            "n_iter": int(m.n_iter_),
            "fit_transform": sample(w, 80),
            "transform": sample(m.transform(x[:200]), 80),
        }

    case("iris", IRIS, n_components=2)
    case("iris_svd", IRIS, n_components=3, init="nndsvd", max_iter=500)
    case("iris_random", IRIS, n_components=2, init="random", random_state=7)
    case("wine_auto", WINE, tol=1e-3)
    case("digits", DIGITS[:400], n_components=8, max_iter=60)
    case("digits_penalty", DIGITS[:300], n_components=5, alpha_W=0.01, alpha_H=0.02, l1_ratio=0.4, max_iter=40)
    case("iris_shuffled", IRIS, n_components=3, init="nndsvdar", shuffle=True, max_iter=30)
    return out


def ica():
    out = {}

    def case(name, x, **params):
        m = FastICA(**{"random_state": 0, **params})
        s = m.fit_transform(x)
        out[name] = {
            "components": sample(m.components_),
            "mixing": sample(m.mixing_),
            "n_iter": int(m.n_iter_),
            "transform": sample(s, 80),
        }
        if params.get("whiten") is not False:
            out[name]["mean"] = sample(m.mean_)
            out[name]["whitening"] = sample(m.whitening_)

    case("iris", IRIS)
    case("wine", WINE, n_components=3, tol=1e-10, max_iter=2000)
    case("wine_eigh", WINE, n_components=4, whiten_solver="eigh", fun="cube")
    case("iris_exp", IRIS, n_components=3, fun="exp", whiten="arbitrary-variance", random_state=3)
    case("iris_deflation", IRIS, n_components=3, algorithm="deflation")
    case("digits", DIGITS[:, 10:14], max_iter=400)
    white = (IRIS - IRIS.mean(axis=0)) / IRIS.std(axis=0)
    case("plain", white, whiten=False, max_iter=5)
    return out


def factors():
    out = {}

    def case(name, x, **params):
        m = FactorAnalysis(**params)
        z = m.fit_transform(x)
        out[name] = {
            "components": sample(np.abs(m.components_)),
            "noise_variance": sample(m.noise_variance_),
            "loglike": sample(m.loglike_),
            "n_iter": int(m.n_iter_),
            "mean": sample(m.mean_),
            "transform": sample(np.abs(z), 80),
        }

    case("iris", IRIS, n_components=2)
    case("iris_lapack", IRIS, n_components=2, svd_method="lapack", tol=1e-6)
    case("wine", WINE, n_components=4, tol=1e-4)
    case("wine_varimax", WINE, n_components=3, rotation="varimax")
    case("iris_quartimax", IRIS, n_components=2, rotation="quartimax", noise_variance_init=[0.1, 0.2, 0.3, 0.4])
    return out


def incremental():
    out = {}

    def case(name, x, **params):
        m = IncrementalPCA(**params)
        z = m.fit_transform(x)
        out[name] = {
            "components": sample(m.components_),
            "explained_variance": sample(m.explained_variance_),
            "explained_variance_ratio": sample(m.explained_variance_ratio_),
            "singular_values": sample(m.singular_values_),
            "mean": sample(m.mean_),
            "var": sample(m.var_),
            "noise_variance": float(m.noise_variance_),
            "n_components": int(m.n_components_),
            "n_samples_seen": int(m.n_samples_seen_),
            "batch_size": int(m.batch_size_),
            "transform": sample(z, 80),
        }

    case("iris", IRIS)
    case("iris_2", IRIS, n_components=2, batch_size=40)
    case("wine", WINE, n_components=5, whiten=True)
    case("digits", DIGITS[:900], n_components=6, batch_size=211)
    return out


def projections():
    out = {}

    def case(name, x, m):
        z = m.fit_transform(x)
        out[name] = {
            "components": sample(m.components_.toarray() if hasattr(m.components_, "toarray") else m.components_, 120),
            "n_components": int(m.n_components_),
            "transform": sample(z.toarray() if hasattr(z, "toarray") else z, 80),
        }
        if m.compute_inverse_components:
            out[name]["inverse_components"] = sample(m.inverse_components_)

    case("gaussian", DIGITS, GaussianRandomProjection(n_components=5, random_state=0))
    case("gaussian_inverse", WINE, GaussianRandomProjection(4, compute_inverse_components=True, random_state=3))
    case("gaussian_auto", IRIS[:2] @ np.ones((4, 50)), GaussianRandomProjection(eps=0.6, random_state=1))
    case("sparse", DIGITS, SparseRandomProjection(n_components=7, random_state=0))
    case("sparse_third", DIGITS, SparseRandomProjection(6, density=1 / 3, random_state=5))
    case("sparse_full", WINE, SparseRandomProjection(3, density=1.0, compute_inverse_components=True, random_state=2))
    return out


def main() -> None:
    warnings.simplefilter("ignore")
    results = {
        "nmf": nmf(),
        "ica": ica(),
        "factors": factors(),
        "incremental": incremental(),
        "projections": projections(),
    }
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "decomposition.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
