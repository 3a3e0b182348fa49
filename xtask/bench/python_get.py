"""Frames in Python: `onrush.get` next to a mapped file, and a device column next to a copy of CuPy.

python xtask/bench/python_get.py [--device BYTES]: needs the package `onrush` (kernel/python) and the program
`onrush-session` on PATH or in ONRUSH_PROGRAMS. With --device also CuPy and PyTorch.
"""

import argparse
import gc
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onrush
import pyarrow as pa

ROWS = 62_500_000


def once(what: str, work: Callable[[], object]) -> None:
    begun = time.perf_counter()
    work()
    print(f"{what}: {(time.perf_counter() - begun) * 1e3:.0f} ms")


def often(what: str, work: Callable[[], object], runs: int = 15) -> None:
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        kept = work()
        times.append((time.perf_counter() - begun) * 1e3)
        del kept
    print(f"{what}: best {min(times):.2f} ms, median {sorted(times)[runs // 2]:.2f} ms")


def host() -> None:
    table = pa.table({"a": np.arange(ROWS, dtype="f8"), "b": np.arange(ROWS, dtype="i8")})
    once("publish, 1e9 bytes", lambda: onrush.publish(table, "host"))
    once("first get", lambda: onrush.get("host"))
    often("get", lambda: onrush.get("host"))
    often("get and pyarrow.table", lambda: pa.table(onrush.get("host")))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "table.arrow"

        def write() -> None:
            with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
                writer.write_table(table)

        once("peer: write an Arrow IPC file in /dev/shm", write)
        often("peer: map that file and read_all", lambda: pa.ipc.open_file(pa.memory_map(str(path))).read_all())


def device(size: int) -> None:
    import cupy
    import torch

    rows = size // 8
    values = np.arange(rows, dtype="f8")
    onrush.publish({"x": values}, "large")
    once(f"first device column, {rows * 8:.1e} bytes", lambda: onrush.get_device("large", "x"))
    often("device column", lambda: onrush.get_device("large", "x"))
    column = onrush.get_device("large", "x")
    array, tensor = cupy.asarray(column), torch.from_dlpack(column)
    assert array.data.ptr == tensor.data_ptr()
    assert abs(float(array.sum()) / float(values.sum()) - 1) < 1e-12

    def copied(make: Callable[[], object]) -> object:
        made = make()
        cupy.cuda.Device().synchronize()
        return made

    copied(array.copy)
    often("peer: copy by CuPy on the device", lambda: copied(array.copy))
    often("peer: cupy.asarray of a NumPy array", lambda: copied(lambda: cupy.asarray(values)), 3)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", type=float, metavar="BYTES", help="measure a device column of so many bytes too")
    chosen = options.parse_args()
    print(f"process {os.getpid()}, pyarrow {pa.__version__}")
    host()
    gc.collect()
    if chosen.device:
        device(int(chosen.device))
