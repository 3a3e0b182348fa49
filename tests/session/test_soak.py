"""Cells in a row cost no more than what they keep: memory, descriptors, threads and processes do not grow with their number."""

import os
import tempfile

from driver import Kernel
from soak import soak, soak_failing


def test_a_hundred_cells(kernelspecs, data_dir):
    before = os.environ.get("ONRUSH_MEMORY")
    kernel = Kernel(kernelspecs, data_dir)
    try:
        first, *_, last = soak(kernel, 108, 54)
        assert (last.zombies, last.processes) == (0, 1), last
        assert last.descriptors <= first.descriptors + 4, (first, last)
        assert last.threads <= first.threads + 4, (first, last)
        assert last.kernel - first.kernel < 20, (first, last)
        # Each cell's code stays loaded.
        assert last.cell - first.cell < 60, (first, last)
        assert last.supervisor - first.supervisor < 20, (first, last)
        assert last.engine - first.engine < 400, (first, last)
    finally:
        kernel.close()
        if before is not None:
            os.environ["ONRUSH_MEMORY"] = before


def test_cells_that_all_fail(kernelspecs, data_dir, monkeypatch):
    """What the session keeps for a corrected cell goes when its time is over, and nothing else is left of the failed ones."""
    with tempfile.TemporaryDirectory(prefix="onrush-f") as folder:
        monkeypatch.setenv("ONRUSH_RUNTIME_DIR", folder)
        monkeypatch.setenv("ONRUSH_PARKED", "1")
        kernel = Kernel(kernelspecs, data_dir)
        try:
            first, *_, last = soak_failing(kernel, 40, 20, 1)
            assert (last.zombies, last.processes) == (0, 1), last
            assert last.descriptors <= first.descriptors + 4 and last.threads <= first.threads + 4, (first, last)
            assert last.kernel - first.kernel < 20 and last.supervisor - first.supervisor < 20, (first, last)
        finally:
            kernel.close()
