"""Part of scikit-learn's own tests against our estimators, by the plugin in `sk_onrush`.

Parameters and data that Onrush does not have are trained by scikit-learn; only tests with a training by Onrush count.
Known differences are listed with their reasons in `sk_onrush/xfail.txt`. `sk_onrush/run.sh` runs all modules.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

# Files of fast tests that train many models of ours.
FILES = """
    cluster.tests.test_mean_shift decomposition.tests.test_truncated_svd feature_selection.tests.test_rfe
    feature_selection.tests.test_variance_threshold impute.tests.test_impute linear_model.tests.test_base
    linear_model.tests.test_bayes mixture.tests.test_bayesian_mixture tests.test_discriminant_analysis
    tests.test_naive_bayes"""

# Tests that pass with at least one training by Onrush.
PASSED = 320


def test_the_tests_of_scikit_learn_pass(tmp_path):
    check = os.environ.get("ONRUSH_LEARN_CHECK", ROOT / "target" / "debug" / "onrush-learn-check")
    assert Path(check).is_file(), f"{check} is missing: cargo build -p onrush-learn-check"
    counts = tmp_path / "counts.json"
    options = ["-q", "-p", "sk_onrush.plugin", "-p", "no:cacheprovider", "--tb=short", "-rfE", "--pyargs"]
    command = [sys.executable, "-m", "pytest", *options, *(f"sklearn.{name}" for name in FILES.split())]
    environment = {
        **os.environ,
        "ONRUSH_LEARN_CHECK": str(check),
        "ONRUSH_LEARN_COUNTS": str(counts),
        # Some tests draw from NumPy's generator. The data are small, so that threads would wait for one another.
        "SKLEARN_SEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")])),
    }
    # In another folder, because the settings of our tests are not those of scikit-learn's.
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    print(ran.stdout[-8000:], ran.stderr[-2000:])
    assert ran.returncode == 0, ran.stdout.splitlines()[-1:]
    found = json.loads(counts.read_text())
    assert not found["stale"], f"differences that are no tests: {found['stale']}"
    total = found["total"]
    print(f"{total['passed']} of {total['reached']} tests with a training by Onrush passed: {total['fits']} trainings")
    assert total["passed"] >= PASSED
