"""Writes `mixture.json`: results of scikit-learn for mixtures and discriminant analysis.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_mixture.py`. The data sets are those of `datasets.py`.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

HERE = Path(__file__).parent


def load(name):
    rows = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1]


def sample(values, count=60):
    """At most about `count` values at a fixed stride."""
    flat = np.asarray(values, dtype=float).ravel()
    return [float(f"{v:.13g}") for v in flat[:: max(1, len(flat) // count)]]


def linear():
    out = {}

    def case(name, file, **params):
        x, y = load(file)
        m = LinearDiscriminantAnalysis(**params).fit(x, y)
        logs = np.log(np.maximum(m.predict_proba(x), 1e-200))
        out[name] = {
            "coef": sample(m.coef_),
            "intercept": sample(m.intercept_),
            "means": sample(m.means_),
            "priors": sample(m.priors_),
            "predict": m.predict(x).tolist()[::9],
            "proba": sample(m.predict_proba(x), 80),
            "log_proba": sample(logs, 80),
            "decision": sample(m.decision_function(x), 80),
        }
        if hasattr(m, "covariance_"):
            out[name]["covariance"] = sample(m.covariance_)
        if params.get("solver") != "lsqr":
            out[name]["ratio"] = sample(m.explained_variance_ratio_)
            out[name]["transform"] = [sample(np.abs(c), 40) for c in m.transform(x).T]

    case("iris", "iris")
    case("wine", "wine", store_covariance=True)
    case("digits", "digits", n_components=3)
    case("cancer_priors", "breast_cancer", priors=[0.3, 0.7])
    case("wine_lsqr", "wine", solver="lsqr")
    case("iris_lsqr_auto", "iris", solver="lsqr", shrinkage="auto")
    case("digits_lsqr_share", "digits", solver="lsqr", shrinkage=0.3)
    case("wine_eigen", "wine", solver="eigen")
    case("cancer_eigen_auto", "breast_cancer", solver="eigen", shrinkage="auto")
    return out


def quadratic():
    out = {}

    def case(name, file, **params):
        x, y = load(file)
        m = QuadraticDiscriminantAnalysis(**params).fit(x, y)
        out[name] = {
            "means": sample(m.means_),
            "scalings": sample(np.concatenate(m.scalings_)),
            "predict": m.predict(x).tolist()[::9],
            "proba": sample(m.predict_proba(x), 80),
            "decision": sample(m.decision_function(x), 80),
        }
        if params.get("store_covariance"):
            out[name]["covariance"] = sample(m.covariance_)

    case("iris", "iris", store_covariance=True)
    case("wine_priors", "wine", priors=[0.2, 0.5, 0.3], tol=1e-7)
    case("digits_reg", "digits", reg_param=0.1)
    case("cancer_eigen", "breast_cancer", solver="eigen", shrinkage="auto", tol=0.0)
    case("wine_eigen_share", "wine", solver="eigen", shrinkage=0.2, store_covariance=True)
    return out


def gaussian():
    out = {}

    def case(name, x, **params):
        m = GaussianMixture(**{"random_state": 0, **params}).fit(x)
        out[name] = {
            "weights": sample(m.weights_),
            "means": sample(m.means_),
            "covariances": sample(m.covariances_),
            "lower_bound": float(m.lower_bound_),
            "n_iter": int(m.n_iter_),
            "converged": int(m.converged_),
            "aic": float(m.aic(x)),
            "bic": float(m.bic(x)),
            "predict": m.predict(x).tolist()[:: max(1, len(x) // 100)],
            "proba": sample(m.predict_proba(x), 80),
            "score_samples": sample(m.score_samples(x), 80),
        }

    iris, wine, digits = load("iris")[0], load("wine")[0], load("digits")[0]
    for form in ["full", "tied", "diag", "spherical"]:
        means = iris[[0, 50, 100]]
        case(f"iris_{form}", iris, n_components=3, covariance_type=form, means_init=means, weights_init=[0.2, 0.3, 0.5])
        case(f"wine_{form}", wine, n_components=3, covariance_type=form, tol=1e-8, max_iter=40)
    case("digits_diag", digits, n_components=10, covariance_type="diag", means_init=digits[:10], reg_covar=0.01)
    case("digits_tied", digits, n_components=5, covariance_type="tied", reg_covar=0.1)
    case("iris_plus", iris, n_components=4, init_params="k-means++", reg_covar=1e-3)
    case("iris_random", iris, n_components=2, init_params="random", tol=1e-6)
    case("iris_from_data", iris, n_components=3, init_params="random_from_data", reg_covar=1e-2)
    case("wine_one", wine)
    return out


def bayesian():
    out = {}

    def case(name, x, **params):
        m = BayesianGaussianMixture(**{"random_state": 0, **params}).fit(x)
        concentration = m.weight_concentration_
        if isinstance(concentration, tuple):
            concentration = np.column_stack(concentration)
        out[name] = {
            "weights": sample(m.weights_),
            "means": sample(m.means_),
            "covariances": sample(m.covariances_),
            "mean_precision": sample(m.mean_precision_),
            "degrees_of_freedom": sample(np.broadcast_to(m.degrees_of_freedom_, len(m.weights_))),
            "weight_concentration": sample(concentration),
            "lower_bound": float(np.squeeze(m.lower_bound_)),
            "n_iter": int(m.n_iter_),
            "converged": int(m.converged_),
            "predict": m.predict(x).tolist()[:: max(1, len(x) // 100)],
            "proba": sample(m.predict_proba(x), 60),
            "score_samples": sample(m.score_samples(x), 60),
        }

    iris, wine = load("iris")[0], load("wine")[0]
    for form in ["full", "tied", "diag", "spherical"]:
        case(f"iris_{form}", iris, n_components=4, covariance_type=form, max_iter=300)
    distribution = "dirichlet_distribution"
    case("wine", wine, n_components=3, weight_concentration_prior_type=distribution, weight_concentration_prior=0.01)
    case("wine_diag", wine, n_components=5, covariance_type="diag", mean_precision_prior=0.1, degrees_of_freedom_prior=20)
    case("iris_prior", iris, n_components=3, covariance_type="spherical", covariance_prior=0.5, mean_prior=[5, 3, 4, 1])
    return out


def main() -> None:
    warnings.simplefilter("ignore")
    results = {"linear": linear(), "quadratic": quadratic(), "gaussian": gaussian(), "bayesian": bayesian()}
    text = json.dumps(results, separators=(",", ":"))
    (HERE / "mixture.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
