"""Times of scikit-learn for the cases of `runtime/learn/examples/bench_neural.rs`: `python tests/learn/bench_neural.py`.

Prints a line `name seconds` with the best of three runs for each.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import (
    BayesianRidge,
    HuberRegressor,
    Perceptron,
    PoissonRegressor,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.neural_network import MLPClassifier

warnings.simplefilter("ignore")
table = np.loadtxt(Path(__file__).parent / "data" / "digits.csv", delimiter=",", skiprows=1)
digits = np.ascontiguousarray(table[:, :-1]) / 16, table[:, -1]
rows, width = 100_000, 50
random = np.random.RandomState(0)
x = np.ascontiguousarray(random.standard_normal((width, rows)).T)
score = x @ np.sin(np.arange(width) * 0.7)
noise = random.standard_normal(rows)
numbers = x, score + noise
counts = x, np.floor(np.exp(score / 5))


def classes(count):
    return x, np.floor(np.clip((score + 3 * noise) / 4 + 0.5 * count, 0, count - 0.5))


mlp = {"max_iter": 60, "tol": 0.0, "n_iter_no_change": 1000, "random_state": 0}
two, ten = classes(2), classes(10)
jobs = {
    "mlp_digits": (MLPClassifier(**mlp), digits),
    "mlp_digits_tanh": (MLPClassifier(activation="tanh", **mlp), digits),
    "mlp_digits_lbfgs": (MLPClassifier(solver="lbfgs", **{**mlp, "tol": 1e-9}), digits),
    "mlp_100000": (MLPClassifier(**{**mlp, "max_iter": 3}), two),
    "sgd_hinge": (SGDClassifier(random_state=0), two),
    "sgd_log_loss": (SGDClassifier(loss="log_loss", random_state=0), two),
    "sgd_ten": (SGDClassifier(random_state=0, n_jobs=2), ten),
    "sgd_elasticnet": (SGDClassifier(penalty="elasticnet", random_state=0), two),
    "sgd_regressor": (SGDRegressor(random_state=0), numbers),
    "perceptron": (Perceptron(), two),
    "poisson": (PoissonRegressor(alpha=1e-3), counts),
    "huber": (HuberRegressor(), numbers),
    "bayes": (BayesianRidge(), numbers),
    "ridge_classifier": (RidgeClassifier(), ten),
}
for name, (model, (features, target)) in jobs.items():
    if len(sys.argv) > 1 and sys.argv[1] != name:
        continue
    times = []
    for _ in range(3):
        start = time.perf_counter()
        model.fit(features, target)
        times.append(time.perf_counter() - start)
    print(f"{name} {min(times):.4f}", flush=True)
