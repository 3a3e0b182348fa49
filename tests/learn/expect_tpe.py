"""Writes the expectations of the tree-structured Parzen estimator to `tpe.json`, from Optuna.

For each function the median over 100 seeds of the best of 60 trials: of Optuna's `TPESampler` with independent and with
joint sampling, and of its `RandomSampler`. Run in an environment with Optuna 5: `python tests/learn/expect_tpe.py`.
"""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import optuna

HERE = Path(__file__).parent
SEEDS, TRIALS = 100, 60
optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore")


def sphere(trial):
    return sum((trial.suggest_float(f"x{i}", -5, 5) - i) ** 2 for i in range(3))


def branin(trial):
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    b, c, t = 5.1 / (4 * math.pi**2), 5 / math.pi, 1 / (8 * math.pi)
    return (y - b * x**2 + c * x - 6) ** 2 + 10 * (1 - t) * math.cos(x) + 10


def mixed(trial):
    """A regularization, a depth and a word, as in a search of parameters."""
    alpha = trial.suggest_float("alpha", 1e-6, 1e2, log=True)
    depth = trial.suggest_int("depth", 1, 30)
    kind = trial.suggest_categorical("kind", ["a", "b", "c", "d", "e"])
    penalty = {"a": 2.0, "b": 1.0, "c": 0.0, "d": 3.0, "e": 1.5}[kind]
    return (math.log10(alpha) + 3) ** 2 + 0.05 * (depth - 11) ** 2 + penalty


def steps(trial):
    """Integers and words alone."""
    words = [trial.suggest_categorical(f"w{i}", list(range(6))) for i in range(3)]
    return abs(trial.suggest_int("n", -50, 50) - 17) + sum(4 * (word != 4) for word in words)


# The lowest values: those of Branin are known.
FUNCTIONS = {"sphere": (sphere, 0.0), "branin": (branin, 0.39788735772973816), "mixed": (mixed, 0.0), "steps": (steps, 0.0)}
SAMPLERS = {
    "independent": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=False),
    "joint": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True),
    "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}


def best(function, sampler):
    study = optuna.create_study(sampler=sampler)
    study.optimize(function, n_trials=TRIALS)
    return study.best_value


out = {"optuna": optuna.__version__, "seeds": SEEDS, "trials": TRIALS}
for name, (function, lowest) in FUNCTIONS.items():
    regrets = {kind: [best(function, make(seed)) - lowest for seed in range(SEEDS)] for kind, make in SAMPLERS.items()}
    out[name] = {"lowest": lowest} | {kind: float(np.median(values)) for kind, values in regrets.items()}
    print(name, out[name], {k: np.round(np.percentile(v, [25, 75]), 3) for k, v in regrets.items()})
(HERE / "tpe.json").write_text(json.dumps(out, indent=1) + "\n")
