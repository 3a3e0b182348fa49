"""Seconds of scikit-learn's trainings on 100,000 rows x 50 features, for `runtime/learn/examples/bench_trees.rs`.

Arguments choose estimators by a part of their name.
"""

import sys
import time

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

rng = np.random.RandomState(1)
x = rng.uniform(size=(100_000, 50))
y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
y += rng.normal(size=100_000)
classes = y > 14.4
for model in [
    DecisionTreeClassifier(),
    DecisionTreeRegressor(),
    RandomForestClassifier(n_jobs=2),
    RandomForestRegressor(n_estimators=10, n_jobs=2),
    ExtraTreesClassifier(n_jobs=2),
    HistGradientBoostingClassifier(early_stopping=False),
    HistGradientBoostingRegressor(early_stopping=False),
    GradientBoostingClassifier(n_estimators=10),
    GradientBoostingRegressor(n_estimators=10),
]:
    name = type(model).__name__
    if sys.argv[1:] and not any(w in name for w in sys.argv[1:]):
        continue
    target = y if name.endswith("Regressor") else classes
    start = time.perf_counter()
    model.fit(x, target)
    fit = time.perf_counter() - start
    start = time.perf_counter()
    model.predict(x)
    print(f"{name} {fit:.3f} predict {time.perf_counter() - start:.3f}", flush=True)
