"""Writes `kernel_methods.json`: results of scikit-learn for approximations of kernels, kernel ridge regression and
densities.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_kernel_methods.py`. The data sets are those of
`datasets.py`.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KernelDensity

HERE = Path(__file__).parent


def load(name):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1]


def sample(values, count=60):
    """At most about `count` values at a fixed stride."""
    flat = np.asarray(values, dtype=float).ravel()
    return [float(f"{v:.13g}") for v in flat[:: max(1, len(flat) // count)]]


IRIS, WINE, DIABETES = load("iris"), load("wine"), load("diabetes")


def features():
    out = {}

    def case(name, x, m):
        z = m.fit_transform(x)
        out[name] = {"transform": sample(z, 120), "width": int(z.shape[1])}
        if isinstance(m, Nystroem):
            # Products of the features do not depend on the signs of singular vectors.
            out[name]["component_indices"] = [int(i) for i in m.component_indices_]
            out[name]["normalization"] = sample(m.normalization_)
        else:
            out[name]["random_weights"] = sample(m.random_weights_.T)
            out[name]["random_offset"] = sample(m.random_offset_)

    case("nystroem", IRIS[0], Nystroem(n_components=8, random_state=0))
    case("nystroem_poly", IRIS[0], Nystroem(kernel="poly", degree=2, gamma=0.1, n_components=6, random_state=1))
    case("nystroem_laplacian", WINE[0], Nystroem(kernel="laplacian", gamma=0.001, n_components=12, random_state=2))
    case("nystroem_cosine", IRIS[0], Nystroem(kernel="cosine", n_components=3, random_state=0))
    case("nystroem_chi2", IRIS[0], Nystroem(kernel="chi2", n_components=5, random_state=0))
    case("nystroem_sigmoid", IRIS[0], Nystroem(kernel="sigmoid", gamma=0.01, coef0=0.1, n_components=3, random_state=4))
    case("rbf", IRIS[0], RBFSampler(n_components=10, random_state=0))
    case("rbf_scale", WINE[0], RBFSampler(gamma="scale", n_components=7, random_state=3))
    return out


def ridge():
    out = {}

    def case(name, data, weight=None, **params):
        x, y = data
        m = KernelRidge(**params).fit(x, y, sample_weight=weight)
        out[name] = {"dual_coef": sample(m.dual_coef_), "predict": sample(m.predict(x), 100)}

    weight = 0.5 + np.arange(len(DIABETES[1])) % 3
    case("linear", DIABETES)
    case("rbf", DIABETES, kernel="rbf", gamma=3.0, alpha=0.1)
    case("rbf_weighted", DIABETES, weight, kernel="rbf", alpha=0.5)
    case("poly", DIABETES, kernel="poly", degree=2, coef0=1.5, gamma=2)
    case("laplacian", WINE, kernel="laplacian", gamma=0.01, alpha=0.2)
    case("chi2", WINE, kernel="chi2", gamma=0.05, alpha=0.3)
    case("cosine", IRIS, kernel="cosine", alpha=0.01)
    return out


def density():
    out = {}

    def case(name, x, weight=None, **params):
        m = KernelDensity(**params).fit(x[::2], sample_weight=weight)
        logs = np.maximum(m.score_samples(x), -1e300)
        out[name] = {"bandwidth": float(m.bandwidth_), "log_density": sample(logs, 100)}

    iris = IRIS[0]
    case("gaussian", iris)
    case("scott", iris, bandwidth="scott", kernel="gaussian")
    case("silverman", WINE[0][:, :3], bandwidth="silverman", kernel="exponential")
    for kernel in ["tophat", "epanechnikov", "exponential", "linear"]:
        case(kernel, iris, kernel=kernel, bandwidth=0.7)
    # In an even number of dimensions scikit-learn's factor of this kernel is not that of its integral.
    case("cosine_3", iris[:, :3], kernel="cosine", bandwidth=1.1)
    case("weighted", iris, 1.0 + np.arange(75) % 4, bandwidth=0.4)
    case("manhattan", iris, metric="manhattan", bandwidth=0.8)
    return out


def main() -> None:
    results = {"features": features(), "ridge": ridge(), "density": density()}
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "kernel_methods.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
