"""Times scikit-learn's embeddings, mixtures and searches for outliers on the rows of `runtime/learn/examples/bench_manifold.rs`.

`python tests/learn/bench_manifold.py BINARY`: BINARY is the built example. Prints the seconds that pass on each side.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_blobs
from sklearn.ensemble import IsolationForest
from sklearn.manifold import TSNE
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor

DIGITS = Path(__file__).parent / "data" / "digits.csv"


def main() -> None:
    digits = np.ascontiguousarray(np.loadtxt(DIGITS, delimiter=",", skiprows=1)[:, :-1])
    blobs = make_blobs(10_000, 50, centers=10, cluster_std=6.0, random_state=0)[0]
    large = make_blobs(100_000, 50, centers=10, cluster_std=6.0, random_state=0)[0]
    cases = [
        (digits, TSNE(random_state=0), []),
        (blobs, TSNE(random_state=0), []),
        (large, GaussianMixture(5, random_state=0, max_iter=20), ["n_components=5", "max_iter=20"]),
        (large, IsolationForest(random_state=0), []),
        (blobs, LocalOutlierFactor(), []),
        (blobs, AgglomerativeClustering(10), ["n_clusters=10"]),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        for x, estimator, params in cases:
            np.ascontiguousarray(x).tofile(path)
            name = type(estimator).__name__
            command = [sys.argv[1], path, str(x.shape[1]), name, *params]
            print(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
            start = time.perf_counter()
            estimator.fit(x)
            seconds = time.perf_counter() - start
            print(f"  scikit-learn {seconds:.3f} s", getattr(estimator, "kl_divergence_", ""), flush=True)


if __name__ == "__main__":
    main()
