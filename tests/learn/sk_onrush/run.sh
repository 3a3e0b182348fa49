#!/usr/bin/env bash
# run.sh [MODULE ...] [-- PYTEST-ARGS]: scikit-learn's own tests with Onrush's algorithms, by default those of all modules
# with estimators. PYTHON names the Python, ONRUSH_LEARN_CHECK the binary.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
export ONRUSH_LEARN_CHECK=${ONRUSH_LEARN_CHECK:-$HOME/.cache/onrush/target/debug/onrush-learn-check}
export PYTHONPATH=$here/..${PYTHONPATH:+:$PYTHONPATH}
# The data are small: threads of BLAS would only wait for one another.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}
# Some tests of scikit-learn draw from NumPy's generator.
export SKLEARN_SEED=${SKLEARN_SEED:-0}
modules=() rest=()
while (($#)); do
  case $1 in
    --) shift; rest=("$@"); break ;;
    *) modules+=("sklearn.$1") ;;
  esac
  shift
done
if ((${#modules[@]} == 0)); then
  for name in cluster compose decomposition ensemble feature_selection impute inspection linear_model manifold mixture \
    model_selection neighbors neural_network preprocessing svm tests tree; do
    modules+=("sklearn.$name")
  done
fi
# In another folder, because the settings of our tests are not those of scikit-learn's.
cd "$(mktemp -d)"
exec "${PYTHON:-$root/.venv/bin/python}" -m pytest -p sk_onrush.plugin -p no:cacheprovider -q --tb=short \
  "${rest[@]}" --pyargs "${modules[@]}"
