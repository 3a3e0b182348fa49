"""How long trainings take on 100,000 rows x 50 features, compared with scikit-learn on the same cores: seconds from the call in a cell to the
fitted model, and from the call of `fit` in Python. All data are in memory. The best of ROUNDS, alternating. The last rows are small data.
The raw numbers with --out."""

import argparse
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from cells import onrush_specs
from driver import Kernel
from sklearn import cluster, decomposition, discriminant_analysis, ensemble, linear_model, mixture, naive_bayes, neighbors
from sklearn import preprocessing, svm, tree

ROUNDS = 3
ROWS, WIDTH = 100_000, 50

# Name: (cell, target, scikit-learn). `{seed}` differs in each round, so that no model is found by its key. An estimator
# without a parameter for that has another column of weights in each round, all 1, and so has its peer.
FITS = {
    "LinearRegression": ('LinearRegression::new().sample_weight("w{seed}")', "y", lambda: linear_model.LinearRegression()),
    "Ridge": ("Ridge::new().alpha(1.0 + {seed} as f64 * 1e-9)", "y", lambda: linear_model.Ridge()),
    "Lasso": ("Lasso::new().alpha(0.01 + {seed} as f64 * 1e-9)", "y", lambda: linear_model.Lasso(alpha=0.01)),
    "ElasticNet": ("ElasticNet::new().alpha(0.01 + {seed} as f64 * 1e-9)", "y", lambda: linear_model.ElasticNet(alpha=0.01)),
    "LassoCV": ("LassoCV::new().tol(1e-4 + {seed} as f64 * 1e-9)", "y", lambda: linear_model.LassoCV(n_jobs=2)),
    "LogisticRegression": ("LogisticRegression::new().c(1.0 + {seed} as f64 * 1e-9)", "c", lambda: linear_model.LogisticRegression()),
    "GaussianNB": ("GaussianNB::new().var_smoothing(1e-9 + {seed} as f64 * 1e-15)", "c", lambda: naive_bayes.GaussianNB()),
    "KMeans": ("KMeans::new().n_clusters(20).random_state({seed})", None, lambda: cluster.KMeans(20, random_state=0)),
    "PCA": ("PCA::new().n_components(10).random_state({seed})", None, lambda: decomposition.PCA(10)),
    "TruncatedSVD": ("TruncatedSVD::new().n_components(10).random_state({seed})", None, lambda: decomposition.TruncatedSVD(10)),
    "DecisionTreeClassifier": ("DecisionTreeClassifier::new().random_state({seed})", "c", lambda: tree.DecisionTreeClassifier()),
    # Before the forest, whose idle threads would disturb scikit-learn's OpenMP threads.
    "HistGradientBoostingClassifier": (
        "HistGradientBoostingClassifier::new().early_stopping(false).random_state({seed})", "c",
        lambda: ensemble.HistGradientBoostingClassifier(early_stopping=False),
    ),
    "HistGradientBoostingRegressor": (
        "HistGradientBoostingRegressor::new().early_stopping(false).random_state({seed})", "y",
        lambda: ensemble.HistGradientBoostingRegressor(early_stopping=False),
    ),
    "RandomForestClassifier": (
        "RandomForestClassifier::new().n_estimators(20).random_state({seed})", "c",
        lambda: ensemble.RandomForestClassifier(20, n_jobs=-1),
    ),
    "KNeighborsClassifier": ("KNeighborsClassifier::new().leaf_size(30 + {seed} as usize)", "c", lambda: neighbors.KNeighborsClassifier()),
    "BernoulliNB": ("BernoulliNB::new().alpha(1.0 + {seed} as f64 * 1e-9)", "c", lambda: naive_bayes.BernoulliNB()),
    "BayesianRidge": ("BayesianRidge::new().tol(1e-3 + {seed} as f64 * 1e-9)", "y", lambda: linear_model.BayesianRidge()),
    "HuberRegressor": ("HuberRegressor::new().alpha(1e-4 + {seed} as f64 * 1e-12)", "y", lambda: linear_model.HuberRegressor()),
    "SGDClassifier": ("SGDClassifier::new().random_state({seed})", "c", lambda: linear_model.SGDClassifier(random_state=0)),
    "Perceptron": ("Perceptron::new().random_state({seed})", "c", lambda: linear_model.Perceptron(random_state=0)),
    "LinearSVC": ("LinearSVC::new().random_state({seed})", "c", lambda: svm.LinearSVC(random_state=0)),
    "LinearDiscriminantAnalysis": (
        "LinearDiscriminantAnalysis::new().tol(1e-4 + {seed} as f64 * 1e-12)", "c",
        lambda: discriminant_analysis.LinearDiscriminantAnalysis(),
    ),
    "QuadraticDiscriminantAnalysis": (
        "QuadraticDiscriminantAnalysis::new().tol(1e-4 + {seed} as f64 * 1e-12)", "c",
        lambda: discriminant_analysis.QuadraticDiscriminantAnalysis(),
    ),
    "MiniBatchKMeans": (
        "MiniBatchKMeans::new().n_clusters(20).random_state({seed})", None,
        lambda: cluster.MiniBatchKMeans(20, random_state=0),
    ),
    "GaussianMixture": (
        "GaussianMixture::new().n_components(5).random_state({seed})", None,
        lambda: mixture.GaussianMixture(5, random_state=0),
    ),
    "IncrementalPCA": (
        "IncrementalPCA::new().n_components(10).batch_size(1000 + {seed})", None,
        lambda: decomposition.IncrementalPCA(10, batch_size=1000),
    ),
    "FactorAnalysis": (
        "FactorAnalysis::new().n_components(10).random_state({seed})", None,
        lambda: decomposition.FactorAnalysis(10, random_state=0),
    ),
    "FastICA": ("FastICA::new().n_components(10).random_state({seed})", None, lambda: decomposition.FastICA(10, random_state=0)),
    "IsolationForest": ("IsolationForest::new().random_state({seed})", None, lambda: ensemble.IsolationForest(random_state=0)),
    "AdaBoostClassifier, 10": (
        "AdaBoostClassifier::new().n_estimators(10).random_state({seed})", "c",
        lambda: ensemble.AdaBoostClassifier(n_estimators=10, random_state=0),
    ),
    "GradientBoostingClassifier, 5": (
        "GradientBoostingClassifier::new().n_estimators(5).random_state({seed})", "c",
        lambda: ensemble.GradientBoostingClassifier(n_estimators=5, random_state=0),
    ),
    "BaggingClassifier, 4": (
        "BaggingClassifier::new(DecisionTreeClassifier::new()).n_estimators(4).random_state({seed})", "c",
        lambda: ensemble.BaggingClassifier(n_estimators=4, random_state=0, n_jobs=-1),
    ),
    "StandardScaler": ("StandardScaler::new().sample_weight(\"w{seed}\")", None, lambda: preprocessing.StandardScaler()),
}


def seconds(run) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def main() -> None:
    warnings.filterwarnings("ignore")
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--out", type=Path)
    arguments.add_argument("--only", default="", help="only the estimators whose name contains this")
    arguments = arguments.parse_args()
    random = np.random.RandomState(0)
    x = random.normal(size=(ROWS, WIDTH))
    y = x @ random.normal(size=WIDTH) + random.normal(size=ROWS)
    c = (y + 3 * random.normal(size=ROWS) > 0).astype(np.int64)
    columns = {f"x{j}": x[:, j] for j in range(WIDTH)} | {"y": y, "c": c}
    columns |= {f"w{seed}": np.ones(ROWS) for seed in range(ROUNDS + 1)}
    temporary = tempfile.TemporaryDirectory()
    folder = Path(temporary.name)
    pq.write_table(pa.table(columns), folder / "rows.parquet")
    kernel = Kernel(onrush_specs(), folder)
    kernel.ok('let f = read_parquet("rows.parquet").persist();')
    kernel.ok(f"let features: Vec<String> = (0..{WIDTH}).map(|j| format!(\"x{{j}}\")).collect();")
    results = []
    print(f"{'fit':32} {'onrush':>9} {'sklearn':>9} {'ratio':>6}   best of {ROUNDS}, s")
    for name, (cell, target, peer) in FITS.items():
        if arguments.only not in name:
            continue
        ours, theirs = [], []
        for seed in range(ROUNDS):
            spec = cell.replace("{seed}", str(seed))
            data = "&f" if target is None else f'&f, "{target}"'
            printed = kernel.ok(
                f"let begun = std::time::Instant::now(); let m = {spec}.features(features.clone()).fit({data}); "
                'println!("{}", begun.elapsed().as_secs_f64()); drop(m);'
            ).stdout
            ours.append(float(printed.strip().splitlines()[-1]))
            goal = {"y": y, "c": c}.get(target)
            weights = {"sample_weight": np.ones(ROWS)} if "sample_weight" in cell else {}
            theirs.append(seconds(lambda: peer().fit(x, goal, **weights)))
        print(f"{name:32} {min(ours):>9.4f} {min(theirs):>9.4f} {min(ours) / min(theirs):>6.2f}", flush=True)
        results.append({"fit": name, "onrush_s": ours, "sklearn_s": theirs})
    kernel.ok("let small = f.head(150);")
    printed = kernel.ok(
        'let mut times = vec![]; for i in 0..20 { let begun = std::time::Instant::now(); let _ = '
        'LogisticRegression::new().c(1.0 + f64::from(i)).features(["x0", "x1", "x2", "x3"]).fit(&small, "c"); '
        'times.push(begun.elapsed().as_secs_f64() * 1e3); } times.sort_by(f64::total_cmp); println!("{}", times[10]);'
    ).stdout
    print(f"150 rows x 4 features, LogisticRegression, whole call: {float(printed):.2f} ms (median of 20)")
    kernel.close()
    temporary.cleanup()
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
