"""Times scikit-learn beside `runtime/learn/examples/bench_cluster.rs` on the same rows.

`python tests/learn/bench_cluster.py BINARY [rounds]`: BINARY is the built example. Prints the smallest processor time of
each side, with one thread each: threads that wait for work in a loop would count, too.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ONE = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
if os.environ.get("OMP_NUM_THREADS") != "1":
    os.execve(sys.executable, [sys.executable, *sys.argv], ONE)

import numpy as np
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier


def main() -> None:
    x, y = make_blobs(100_000, 50, centers=10, cluster_std=6.0, random_state=0)
    best: dict[str, list[float]] = {}

    def note(side, name, seconds):
        best.setdefault(name, [float("inf"), float("inf")])[side] = min(best.get(name, [9e9, 9e9])[side], seconds)

    def run(name, work):
        for _ in range(2):
            start = time.process_time()
            work()
            note(1, name, time.process_time() - start)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        np.column_stack([x, y]).tofile(path)
        for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 2):
            out = subprocess.run([sys.argv[1], path, "51"], capture_output=True, text=True, check=True, env=ONE).stdout
            for line in out.splitlines():
                name, seconds = line.split()
                note(0, name, float(seconds))
            run("kmeans8", lambda: KMeans(8, n_init=1, random_state=0).fit(x))
            run("kmeans20", lambda: KMeans(20, random_state=0).fit(x))
            run("kmeans100", lambda: KMeans(100, max_iter=10, random_state=0).fit(x))
            run("pca", lambda: PCA().fit(x))
            run("pca10", lambda: PCA(10).fit(x))
            run("truncatedsvd", lambda: TruncatedSVD(random_state=0).fit(x))
            run("gaussiannb", lambda: GaussianNB().fit(x, y))
            wide = KNeighborsClassifier().fit(x, y)
            run("knn50", lambda: wide.predict(x[:2000]))
            low = np.ascontiguousarray(x[:, :8])
            narrow = KNeighborsClassifier().fit(low, y)
            run("knn8", lambda: narrow.predict(low[:2000]))
            run("dbscan50", lambda: DBSCAN(eps=45.0).fit(x[:20_000]))
            run("dbscan8", lambda: DBSCAN(eps=3.0).fit(low))
    for name, (ours, theirs) in best.items():
        print(f"{name:14} {ours:8.4f} s, scikit-learn {theirs:8.4f} s, {ours / theirs:5.2f}")


if __name__ == "__main__":
    main()
