"""Seconds of scikit-learn's trainings of support vector machines, for `runtime/learn/examples/bench_svm.rs`.

Arguments choose cases by a part of their name.
"""

import sys
import time

import numpy as np
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR


def data(rows, width, is_class):
    rng = np.random.RandomState(1)
    x = rng.normal(size=(rows, width))
    y = x[:, 0] + 0.8 * x[:, 1] - 0.6 * x[:, 2] + 0.7 * x[:, 3] * x[:, 4] + 0.5 * rng.normal(size=rows)
    return x, y > 0 if is_class else y


for name, model, rows, width in [
    ("svc", SVC(), 10_000, 20),
    ("svr", SVR(), 10_000, 20),
    ("linear_svc", LinearSVC(), 100_000, 50),
    ("linear_hinge", LinearSVC(loss="hinge"), 100_000, 50),
    ("linear_l1", LinearSVC(penalty="l1", dual=False), 100_000, 50),
    ("linear_svr", LinearSVR(), 100_000, 50),
]:
    if sys.argv[1:] and not any(w in name for w in sys.argv[1:]):
        continue
    x, y = data(rows, width, not name.endswith("svr"))
    start = time.perf_counter()
    model.fit(x, y)
    fit = time.perf_counter() - start
    start = time.perf_counter()
    model.predict(x)
    print(f"{name} {fit:.3f} predict {time.perf_counter() - start:.3f}", flush=True)
