"""The plugin of pytest: patches scikit-learn, marks known differences, and prints what ran.

`ONRUSH_LEARN_COUNTS` names a file for the numbers. `ONRUSH_LEARN_ONLY` patches only these estimators.
"""

import json
import os
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.discovery import all_estimators

from . import encoders, engine, linear, others, prepare
from .dispatch import counts, patch

ROOT = Path(sklearn.__file__).parent
XFAIL = Path(__file__).with_name("xfail.txt")


def pytest_configure(config):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classes = dict(all_estimators())
    table = engine.table()
    only = os.environ.get("ONRUSH_LEARN_ONLY", "").split()
    for name, adapter in {**linear.ADAPTERS, **others.ADAPTERS, **prepare.ADAPTERS, **encoders.ADAPTERS}.items():
        if not only or name in only:
            patch(adapter(classes[name], table[name]))


def differences():
    """The reason of each test that differs."""
    found = {}
    for line in XFAIL.read_text().splitlines():
        if line and not line.startswith("#"):
            test, _, reason = line.partition("  # ")
            found[test.strip()] = reason.strip()
    return found


def name_of(item):
    """`linear_model/tests/test_ridge.py::test_ridge[svd]`."""
    try:
        path = Path(item.path).relative_to(ROOT)
    except ValueError:
        return item.nodeid
    return f"{path}::{item.nodeid.partition('::')[2]}"


def pytest_collection_modifyitems(items):
    known = differences()
    collected = set()
    for item in items:
        name = name_of(item)
        # A name without parameters is that of all of them.
        for key in (name, name.partition("[")[0]):
            collected.add(key)
            if key in known:
                _run.listed.add(name)
                item.add_marker(pytest.mark.xfail(reason=known[key]))
    files = {key.partition("::")[0] for key in collected}
    _run.stale = [key for key in known if key.partition("::")[0] in files and key not in collected]


class Run:
    def __init__(self):
        self.outcomes = {}
        self.listed = set()
        self.stale = []
        self.messages = {}


_run = Run()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    counts.test = name_of(item)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    name = name_of(item)
    if report.when == "call" or report.outcome != "passed":
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
            # Tests that scikit-learn expects to fail are not ours.
            if name not in _run.listed:
                outcome = "skipped"
        _run.outcomes[name] = outcome
        if outcome == "failed":
            crash = getattr(report.longrepr, "reprcrash", None)
            _run.messages[name] = str(crash.message if crash else report.longrepr)[:400]
    return report


def numbers():
    """For each module: tests, those with a training of ours, and how they ended."""
    ours = defaultdict(int)
    fallbacks = defaultdict(int)
    for (test, _), count in counts.fits.items():
        ours[test] += count
    for (test, _), count in counts.fallbacks.items():
        fallbacks[test] += count
    modules = defaultdict(Counter)
    for test, outcome in _run.outcomes.items():
        # Tests of estimators that are no package, such as `tests/test_naive_bayes.py`.
        module, _, file = test.partition("::")[0].partition("/")
        row = modules[f"{module}/{file}" if module == "tests" else module]
        row["tests"] += 1
        row[f"all {outcome}"] += 1
        row["fits"] += ours[test]
        row["fallbacks"] += fallbacks[test]
        if ours[test]:
            row["reached"] += 1
            row[outcome] += 1
    return modules


def pytest_terminal_summary(terminalreporter):
    modules = numbers()
    total = Counter()
    columns = ["tests", "all passed", "reached", "passed", "xfailed", "xpassed", "failed", "fits", "fallbacks"]
    line = lambda name, row: f"{name:<34}" + "".join(f"{row[c]:>11}" for c in columns)
    write = terminalreporter.write_line
    write("")
    write(f"{'module':<34}" + "".join(f"{c:>11}" for c in columns))
    for name in sorted(modules):
        write(line(name, modules[name]))
        total.update(modules[name])
    write(line("all", total))
    write("`reached` tests had a training by Onrush. The columns from `passed` on count these alone.")
    if path := os.environ.get("ONRUSH_LEARN_COUNTS"):
        by_estimator = Counter()
        for (_, name), count in counts.fits.items():
            by_estimator[name] += count
        fell = Counter()
        for (_, name), count in counts.fallbacks.items():
            fell[name] += count
        found = {
            "total": total,
            "modules": modules,
            "fits": by_estimator,
            "fallbacks": fell,
            "calls": {".".join(key): count for key, count in counts.calls.items()},
            "reasons": counts.reasons,
            "refused": counts.refused,
            "stale": _run.stale,
            "xpassed": sorted(t for t, o in _run.outcomes.items() if o == "xpassed"),
            "failed": _run.messages,
            "reached": sorted({test for test, _ in counts.fits}),
        }
        Path(path).write_text(json.dumps(found, indent=1))
