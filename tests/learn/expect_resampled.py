"""Writes `resampled.json`: results of imbalanced-learn for samplers, and of scikit-learn for the iterative imputer.

Run in an environment with scikit-learn 1.9.1 and imbalanced-learn: `python tests/learn/expect_resampled.py`. The data
sets are those of `datasets.py`.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.pipeline import make_pipeline
from imblearn.under_sampling import RandomUnderSampler
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.naive_bayes import GaussianNB

HERE = Path(__file__).parent


def load(name):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1]


def sample(values, count=60):
    """At most about `count` values at a fixed stride."""
    flat = np.asarray(values, dtype=float).ravel()
    return [float(f"{v:.13g}") for v in flat[:: max(1, len(flat) // count)]]


def samplers():
    """A naive Bayes model has the means, variances and counts of the rows that it is trained on."""
    out = {}

    def case(name, file, sampler):
        x, y = load(file)
        pipe = make_pipeline(sampler, GaussianNB(var_smoothing=0.0)).fit(x, y)
        bayes = pipe[-1]
        out[name] = {
            "class_count": [int(v) for v in bayes.class_count_],
            "theta": sample(bayes.theta_),
            "var": sample(bayes.var_),
            "predict": [int(v) for v in pipe.predict(x)[::5]],
        }

    case("over", "wine", RandomOverSampler(random_state=0))
    case("over_minority", "wine", RandomOverSampler(sampling_strategy="minority", random_state=3))
    case("over_ratio", "breast_cancer", RandomOverSampler(sampling_strategy=0.9, random_state=1))
    case("over_shrinkage", "wine", RandomOverSampler(shrinkage=0.7, random_state=2))
    case("under", "wine", RandomUnderSampler(random_state=0))
    case("under_majority", "wine", RandomUnderSampler(sampling_strategy="majority", random_state=3))
    case("under_ratio", "breast_cancer", RandomUnderSampler(sampling_strategy=0.8, random_state=1))
    case("under_replacement", "wine", RandomUnderSampler(replacement=True, random_state=2))
    case("smote", "wine", SMOTE(random_state=0))
    case("smote_near", "wine", SMOTE(k_neighbors=2, sampling_strategy="not minority", random_state=5))
    case("smote_ratio", "breast_cancer", SMOTE(sampling_strategy=0.8, random_state=1))
    return out


def holes(x, every, shift=0):
    """Missing values at fixed places: the row times 7 plus the feature times 11 is a multiple of `every`."""
    x = x.copy()
    rows, columns = np.indices(x.shape)
    x[(rows * 7 + columns * 11 + shift) % every < 1 + columns % 3] = np.nan
    return x


def imputer():
    out = {}

    def case(name, x, test, **params):
        m = IterativeImputer(**{"random_state": 0, **params}).fit(x)
        out[name] = {"n_iter": int(m.n_iter_), "transform": sample(m.transform(test), 150)}

    iris, wine, diabetes = (load(name)[0] for name in ["iris", "wine", "diabetes"])
    case("iris", holes(iris, 13), holes(iris, 9, 3))
    case("iris_median", holes(iris, 13), holes(iris, 13), initial_strategy="median", imputation_order="descending")
    case("wine", holes(wine, 17), holes(wine, 17), max_iter=3, imputation_order="roman")
    case("wine_range", holes(wine, 17), holes(wine, 23, 1), min_value=1.0, max_value=100.0, imputation_order="arabic")
    case("diabetes", holes(diabetes, 19), holes(diabetes, 19), tol=1e-6, max_iter=25, skip_complete=True)
    case("iris_random", holes(iris, 13), holes(iris, 13), imputation_order="random", tol=0.01, random_state=4)
    return out


def main() -> None:
    warnings.simplefilter("ignore")
    results = {"samplers": samplers(), "imputer": imputer()}
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "resampled.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
