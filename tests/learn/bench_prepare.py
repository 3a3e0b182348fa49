"""Times of scikit-learn's preprocessing at 100,000 rows x 50 features.

The peer of `runtime/learn/examples/bench_prepare.rs`.
"""

import time
import warnings

import numpy as np
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

RUNS = 5


def main() -> None:
    warnings.simplefilter("ignore")
    u = np.random.RandomState(1).uniform(size=(100_000, 50))
    numbers = np.ascontiguousarray((u - 0.5) * 7 + u * u)
    categories = np.floor(u * 10)
    holes = np.where(u < 0.1, np.nan, u)
    y = numbers[:, 0] + 1
    cases = [
        ("StandardScaler", numbers, StandardScaler()),
        ("MinMaxScaler", numbers, MinMaxScaler()),
        ("MaxAbsScaler", numbers, MaxAbsScaler()),
        ("RobustScaler", numbers, RobustScaler()),
        ("SimpleImputer", holes, SimpleImputer()),
        ("SimpleImputer_median", holes, SimpleImputer(strategy="median")),
        ("OneHotEncoder", categories, OneHotEncoder()),
        ("OrdinalEncoder", categories, OrdinalEncoder()),
        ("TargetEncoder", categories, TargetEncoder()),
        ("KBinsDiscretizer", numbers, KBinsDiscretizer()),
        ("KBinsDiscretizer_kmeans", numbers, KBinsDiscretizer(strategy="kmeans")),
        ("PowerTransformer", numbers, PowerTransformer()),
        ("QuantileTransformer", numbers, QuantileTransformer()),
        ("VarianceThreshold", numbers, VarianceThreshold()),
        ("PolynomialFeatures", numbers, PolynomialFeatures()),
    ]
    for name, x, model in cases:
        least = 1e9
        for _ in range(RUNS if name not in ("KBinsDiscretizer_kmeans", "PowerTransformer") else 1):
            start = time.perf_counter()
            model.fit(x, y)
            least = min(least, time.perf_counter() - start)
        print(f"{name} {least:.4f}")
    for model in [StandardScaler(), Normalizer(), TargetEncoder(), OrdinalEncoder()]:
        x = categories if type(model).__name__.endswith("Encoder") else numbers
        least = 1e9
        for _ in range(RUNS):
            start = time.perf_counter()
            model.fit_transform(x, y)
            least = min(least, time.perf_counter() - start)
        print(f"{type(model).__name__}_fit_transform {least:.4f}")


if __name__ == "__main__":
    main()
