"""Times XGBoost's Python package on the numbers of `runtime/learn/examples/bench_foreign.rs`: `name seconds` lines."""

import time

import numpy as np
import xgboost as xgb

ROWS, FEATURES = 100_000, 50


def main() -> None:
    i, j = np.indices((ROWS, FEATURES), dtype=np.uint64)
    n = (i * np.uint64(50) + j + np.uint64(1)) * np.uint64(0x9E37_79B9_7F4A_7C15)
    x = (n >> np.uint64(32)).astype(float) / float(1 << 32)
    y = x[:, 0] + 2.0 * x[:, 1] * x[:, 2] - x[:, 3]
    for maker, target in [(xgb.XGBRegressor, y), (xgb.XGBClassifier, (y > 0.5).astype(int))]:
        start = time.perf_counter()
        model = maker().fit(x, target)
        print(f"{maker.__name__} {time.perf_counter() - start:.3f}")
        start = time.perf_counter()
        total = model.predict(x).sum()
        print(f"{maker.__name__}_predict {time.perf_counter() - start:.3f} {total}")


if __name__ == "__main__":
    main()
