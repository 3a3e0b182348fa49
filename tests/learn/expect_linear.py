"""Writes `linear.json`: what scikit-learn 1.9 and statsmodels find for the linear models, and NIST's certified values.

Run in an environment with scikit-learn 1.9 and statsmodels 0.15: `python tests/learn/expect_linear.py`, with the folder
of NIST's data files (https://www.itl.nist.gov/div898/strd/lls/lls.shtml, public domain) as an argument to read them
again.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import statsmodels.api as sm
from scipy.optimize import nnls
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeCV,
)
from sklearn.preprocessing import StandardScaler

warnings.simplefilter("ignore")
HERE = Path(__file__).parent


def load(name):
    table = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


def weights(rows):
    """The weights of the tests: 0.5, 1.25, 2, 2.75, 0, ..."""
    return np.array([0.0 if i % 5 == 4 else 0.5 + 0.75 * (i % 4) for i in range(rows)])


def strided(values, most=20):
    flat = np.asarray(values, dtype=float).ravel()
    return flat[:: max(1, -(-len(flat) // most))].tolist()


def listed(values):
    return np.asarray(values, dtype=float).tolist()


def linear(model, x, y, **more):
    out = {"coef": listed(model.coef_), "intercept": float(model.intercept_), "predict": strided(model.predict(x))}
    for name in ["n_iter_", "dual_gap_", "alpha_", "l1_ratio_", "best_score_"]:
        if getattr(model, name, None) is not None:
            out[name[:-1]] = float(getattr(model, name))
    return {**out, **more}


def squares(out):
    x, y = load("diabetes")
    w = weights(len(y))
    model = LinearRegression().fit(x, y)
    ols = sm.OLS(y, sm.add_constant(x)).fit()

    def summary(fit):
        interval = fit.conf_int()
        return np.column_stack([fit.params, fit.bse, fit.tvalues, fit.pvalues, interval]).tolist()

    out["ols"] = linear(model, x, y, singular=listed(model.singular_), rank=int(model.rank_), summary=summary(ols))
    out["ols_weighted"] = linear(LinearRegression().fit(x, y, w), x, y)
    # statsmodels counts rows of weight 0 as rows; they are left out.
    out["ols_weighted"]["summary"] = summary(sm.WLS(y[w > 0], sm.add_constant(x[w > 0]), w[w > 0]).fit())
    out["ols_origin"] = linear(LinearRegression(fit_intercept=False).fit(x, y), x, y)
    out["ols_origin"]["summary"] = summary(sm.OLS(y, x).fit())
    out["ols_positive"] = linear(LinearRegression(positive=True).fit(x, y), x, y)
    centred = x - np.average(x, axis=0, weights=w)
    root = np.sqrt(w)
    coef = nnls(centred * root[:, None], (y - np.average(y, weights=w)) * root)[0]
    out["ols_positive_weighted"] = {"coef": listed(coef)}
    both = np.column_stack([x[:, :3], x[:, 0] + x[:, 1], np.full(len(y), 7.0)])
    out["ols_dependent"] = linear(LinearRegression().fit(both, y), both, y)
    wide = x[:8]
    out["ols_wide"] = linear(LinearRegression().fit(wide, y[:8]), wide, y[:8])


def ridge(out):
    x, y = load("diabetes")
    w = weights(len(y))
    out["ridge"] = linear(Ridge(alpha=0.5).fit(x, y), x, y)
    out["ridge_weighted"] = linear(Ridge(alpha=2.0).fit(x, y, w), x, y)
    out["ridge_origin"] = linear(Ridge(alpha=0.01, fit_intercept=False).fit(x, y), x, y)
    # The exact minimum under the bounds: non-negative least squares with the roots of the penalty as further rows.
    rows = np.vstack([x - x.mean(axis=0), np.sqrt(0.5) * np.eye(x.shape[1])])
    out["ridge_positive"] = {"coef": listed(nnls(rows, np.concatenate([y - y.mean(), np.zeros(x.shape[1])]))[0])}
    out["ridge_wide"] = linear(Ridge(alpha=0.1).fit(x[:8], y[:8]), x[:8], y[:8])
    alphas = [0.001, 0.01, 0.1, 1.0, 10.0]
    out["ridge_cv"] = linear(RidgeCV(alphas).fit(x, y), x, y)
    out["ridge_cv_weighted"] = linear(RidgeCV(alphas).fit(x, y, np.maximum(w, 0.25)), x, y)
    out["ridge_cv_r2"] = linear(RidgeCV(alphas, scoring="r2").fit(x, y), x, y)
    out["ridge_cv_mae"] = linear(RidgeCV(alphas, scoring="neg_mean_absolute_error").fit(x, y), x, y)
    out["ridge_cv_folds"] = linear(RidgeCV(alphas, cv=4).fit(x, y), x, y)
    mse = RidgeCV(alphas, cv=4, scoring="neg_mean_squared_error").fit(x, y, np.maximum(w, 0.25))
    out["ridge_cv_folds_weighted"] = linear(mse, x, y)
    out["ridge_cv_wide"] = linear(RidgeCV(alphas).fit(x[:8], y[:8]), x[:8], y[:8])


def lasso(out):
    x, y = load("diabetes")
    w = weights(len(y))
    tight = {"tol": 1e-10, "max_iter": 100_000}
    out["lasso"] = linear(Lasso(alpha=0.1, **tight).fit(x, y), x, y)
    out["lasso_default"] = linear(Lasso(alpha=0.1).fit(x, y), x, y)
    out["lasso_random"] = linear(Lasso(alpha=0.1, selection="random", random_state=3).fit(x, y), x, y)
    out["lasso_weighted"] = linear(Lasso(alpha=0.1, **tight).fit(x, y, w), x, y)
    out["lasso_positive"] = linear(Lasso(alpha=0.05, positive=True, **tight).fit(x, y), x, y)
    out["lasso_wide"] = linear(Lasso(alpha=0.5, **tight).fit(x[:8], y[:8]), x[:8], y[:8])
    out["elastic"] = linear(ElasticNet(alpha=0.01, l1_ratio=0.3, **tight).fit(x, y), x, y)
    out["elastic_origin"] = linear(ElasticNet(alpha=0.01, fit_intercept=False, **tight).fit(x, y), x, y)
    for name, model, weight in [
        ("lasso_cv", LassoCV(alphas=30, **tight), None),
        ("lasso_cv_weighted", LassoCV(alphas=[0.01, 1.0, 0.1], cv=3, **tight), w),
        ("elastic_cv", ElasticNetCV(l1_ratio=[0.2, 0.9], alphas=20, cv=4, eps=1e-2, **tight), None),
    ]:
        model.fit(x, y, sample_weight=weight)
        mse = np.asarray(model.mse_path_).reshape(-1, model.mse_path_.shape[-1])
        out[name] = linear(model, x, y, alphas=listed(np.ravel(model.alphas_)), mse_path=strided(mse, 60))


def logistic(out):
    tight = {"tol": 1e-10, "max_iter": 10_000}

    def one(model, x, y):
        return {
            "coef": strided(model.coef_, 60),
            "intercept": listed(model.intercept_),
            "proba": strided(model.predict_proba(x), 30),
            "predict": strided(model.predict(x), 30),
        }

    for name in ["iris", "wine", "breast_cancer", "digits"]:
        x, y = load(name)
        if name != "iris":
            x = StandardScaler().fit_transform(x)
        # `newton-cholesky` gets closer to the optimum than `lbfgs` does, except for the 640 coefficients of digits.
        solver = "lbfgs" if name == "digits" else "newton-cholesky"
        model = LogisticRegression(solver=solver, **tight).fit(x, y)
        out[name] = one(model, x, y)
        own = model.predict_proba(x)[np.arange(len(y)), y.astype(int)]
        out[name]["objective"] = float(-np.log(own).mean() + (model.coef_**2).sum() / 2 / len(y))
    x, y = load("breast_cancer")
    x = StandardScaler().fit_transform(x)
    w = weights(len(y))
    exact = {"solver": "newton-cholesky", **tight}
    out["binary_weighted"] = one(LogisticRegression(C=0.3, **exact).fit(x, y, w), x, y)
    balanced = LogisticRegression(class_weight="balanced", **exact)
    out["binary_balanced"] = one(balanced.fit(x, y), x, y)
    out["binary_balanced_weighted"] = one(LogisticRegression(class_weight="balanced", **exact).fit(x, y, w), x, y)
    out["binary_classes"] = one(LogisticRegression(class_weight={0: 2.0, 1: 0.5}, **exact).fit(x, y), x, y)
    out["binary_origin"] = one(LogisticRegression(fit_intercept=False, **exact).fit(x, y), x, y)
    raw, target = load("iris")
    out["iris_origin"] = one(LogisticRegression(fit_intercept=False, C=10.0, **exact).fit(raw, target), raw, target)
    mixed = np.array([i * i % 3 + i // 100 for i in range(len(target))])
    out["iris_free"] = one(LogisticRegression(C=np.inf, **exact).fit(raw, mixed), raw, mixed)
    saga = {"solver": "saga", "tol": 1e-14, "max_iter": 1_000_000}
    flat = StandardScaler().fit_transform(raw)
    out["iris_l1"] = one(LogisticRegression(l1_ratio=1.0, C=0.5, **saga).fit(flat, target), flat, target)
    out["iris_elastic"] = one(LogisticRegression(l1_ratio=0.4, C=0.5, **saga).fit(flat, target), flat, target)
    ten = x[:, :10]
    lib = LogisticRegression(
        l1_ratio=1.0, C=0.2, solver="liblinear", tol=1e-14, max_iter=1_000_000, fit_intercept=False
    )
    out["binary_l1"] = one(lib.fit(ten, y), ten, y)
    out["binary_l1_intercept"] = one(LogisticRegression(l1_ratio=1.0, C=0.2, **saga).fit(ten, y), ten, y)
    plain = {"use_legacy_attributes": False, **exact}
    losses = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0, 10.0], cv=3, scoring="neg_log_loss", **plain)
    for name, model, (a, b) in [
        ("logistic_cv", LogisticRegressionCV(Cs=5, **plain), (ten, y)),
        ("logistic_cv_loss", losses, (flat, target)),
    ]:
        model.fit(a, b)
        # Scores of scikit-learn are folds x ratios x penalties.
        scores = listed(np.squeeze(model.scores_).T.ravel())
        out[name] = {**one(model, a, b), "c": float(model.C_), "scores": scores}


def strd(folder):
    """NIST's sets of linear least squares: rows of y and x, certified coefficients and their standard deviations."""
    out = {}
    degrees = {"Norris": 1, "Pontius": 2, "Filip": 10, **{f"Wampler{i}": 5 for i in range(1, 6)}}
    for name in ["Norris", "Pontius", "NoInt1", "NoInt2", "Filip", "Longley", *[f"Wampler{i}" for i in range(1, 6)]]:
        lines = (Path(folder) / f"{name}.dat").read_text().splitlines()
        certified = [line.split() for line in lines if line.strip()[:1] == "B" and line.split()[0][1:].isdigit()]
        certified = {parts[0]: parts[1:3] for parts in certified if len(parts) == 3}
        start = max(i for i, line in enumerate(lines) if line.lstrip().startswith("Data:"))
        rows = [[float(v) for v in line.split()] for line in lines[start + 1 :] if line.strip()]
        out[name] = {
            "degree": degrees.get(name, 0),
            "intercept": not name.startswith("NoInt"),
            "rows": rows,
            "certified": [[float(v) for v in pair] for pair in certified.values()],
        }
    return out


def main() -> None:
    path = HERE / "linear.json"
    out = {"nist": strd(sys.argv[1]) if len(sys.argv) > 1 else json.loads(path.read_text())["nist"]}
    for part in [squares, ridge, lasso, logistic]:
        part(out)
    path.write_text(json.dumps(out, separators=(",", ":")).replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
