"""Writes `names.json`: the public classes and functions of scikit-learn by their modules.

Run in an environment with scikit-learn 1.9.1: `python tests/learn/expect_names.py`.
"""

import json
import warnings
from pathlib import Path

from sklearn.utils.discovery import all_displays, all_estimators, all_functions

HERE = Path(__file__).parent


def main() -> None:
    warnings.simplefilter("ignore")
    modules: dict[str, list[str]] = {}
    for name, entry in all_estimators() + all_functions() + all_displays():
        module = entry.__module__.split(".")[1]
        # Helpers of Python's classes, and parts of other packages.
        if module not in ("utils", "externals", "callback", "base", "_config", "frozen"):
            modules.setdefault(module, []).append(name)
    lines = [f"{json.dumps(module)}: {json.dumps(sorted(set(names)))}" for module, names in sorted(modules.items())]
    (HERE / "names.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
