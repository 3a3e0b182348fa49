"""Seconds of SHAP values of the Python package shap, for `runtime/learn/examples/bench_shap.rs`.

Arguments choose cases by a part of their name. TreeExplainer has one thread for scikit-learn's models.
"""

import sys
import time

import numpy as np
import shap
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor


def data(rows, width, is_class):
    rng = np.random.RandomState(1)
    x = rng.uniform(size=(rows, width))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    y += rng.normal(size=rows)
    return x, y > 14.4 if is_class else y


def trees(model, x, some):
    return shap.TreeExplainer(model, feature_perturbation="tree_path_dependent").shap_values(some)


def linear(model, x, some):
    return shap.LinearExplainer(model, shap.maskers.Independent(x[:100], max_samples=1000)).shap_values(some)


def permutation(model, x, some):
    background = shap.maskers.Independent(x[:100], max_samples=1000)
    return shap.PermutationExplainer(model.predict, background, seed=0)(some, silent=True)


for name, model, explain, rows, explained, width in [
    ("forest", RandomForestRegressor(max_depth=8, n_jobs=2), trees, 20_000, 1_000, 20),
    ("deep_forest", RandomForestClassifier(n_jobs=2), trees, 20_000, 200, 20),
    ("boosted", GradientBoostingRegressor(max_depth=6), trees, 20_000, 10_000, 20),
    ("hist", HistGradientBoostingClassifier(early_stopping=False), trees, 100_000, 10_000, 50),
    ("linear", LinearRegression(), linear, 100_000, 100_000, 50),
    ("permutation", KNeighborsRegressor(), permutation, 2_000, 20, 10),
]:
    if sys.argv[1:] and not any(w in name for w in sys.argv[1:]):
        continue
    x, y = data(rows, width, "Classifier" in type(model).__name__)
    model.fit(x, y)
    start = time.perf_counter()
    explain(model, x, x[:explained])
    print(f"{name} {time.perf_counter() - start:.3f} for {explained} rows", flush=True)
