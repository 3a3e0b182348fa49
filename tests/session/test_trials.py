"""Whatever process dies, crashes or stops, whatever was under way: nothing is lost that docs/jupyter.md does not name.

ONRUSH_TRIALS and ONRUSH_TRIALS_SEED choose others; `trials.py` runs any number of them by hand.
"""

import os
import tempfile

from trials import Bench, PROCESSES

TRIALS = int(os.environ.get("ONRUSH_TRIALS", "500"))
SEED = int(os.environ.get("ONRUSH_TRIALS_SEED", "29"))


def test_random_faults_lose_nothing_that_is_not_documented(kernelspecs, tmp_path, monkeypatch):
    with tempfile.TemporaryDirectory(prefix="onrush-x") as folder:
        monkeypatch.setenv("ONRUSH_RUNTIME_DIR", folder)
        bench = Bench(kernelspecs, tmp_path, SEED)
        try:
            for _ in range(TRIALS):
                bench.trial()
        finally:
            bench.close()
    # The trials met what they are for: each process was there when it was struck.
    struck = {process: sum(n for (p, _, _), n in bench.met.items() if p == process) for process in PROCESSES}
    assert all(n >= TRIALS // 50 for n in struck.values()), struck
