"""Columns in the memory of a GPU, mapped from exported memory.

Another process plays the session: it makes the memory as the session's device does (`cuMemCreate`, exportable as a
descriptor), and is then killed. Without a GPU the tests are skipped. `python tests/python/test_device.py` runs them
where there is no pytest, and measures.
"""

import array
import ctypes
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "kernel/python"))

import onrush._device as device  # noqa: E402
from onrush import OnrushError  # noqa: E402

try:
    import pytest

    try:
        device.driver(0)
        reason = ""
    except OnrushError as error:
        reason = str(error)
    pytestmark = pytest.mark.skipif(bool(reason), reason=reason or "there is a GPU")
except ImportError:
    pytest = None

EXPORTER = """
import ctypes, os, socket, sys
sys.path.insert(0, sys.argv[1])
import onrush._device as device
count, size = int(sys.argv[3]), int(sys.argv[3]) * 8
cuda = device.driver(0)
cuda.bind()
length = cuda.pages(size)
memory, address, exported = ctypes.c_ulonglong(), ctypes.c_ulonglong(), ctypes.c_int()
properties = cuda.properties()
cuda.call("cuMemCreate", ctypes.byref(memory), ctypes.c_size_t(length), ctypes.byref(properties), ctypes.c_ulonglong(0))
cuda.call("cuMemExportToShareableHandle", ctypes.byref(exported), memory, ctypes.c_int(1), ctypes.c_ulonglong(0))
nothing = ctypes.c_size_t(0), ctypes.c_ulonglong(0), ctypes.c_ulonglong(0)
cuda.call("cuMemAddressReserve", ctypes.byref(address), ctypes.c_size_t(length), *nothing)
cuda.call("cuMemMap", address, ctypes.c_size_t(length), ctypes.c_size_t(0), memory, ctypes.c_ulonglong(0))
access = device._Access(device._Location(1, 0), 3)
cuda.call("cuMemSetAccess", address, ctypes.c_size_t(length), ctypes.byref(access), ctypes.c_size_t(1))
values = (ctypes.c_double * min(count, 1000))(*[i / 2 for i in range(min(count, 1000))])
cuda.call("cuMemcpyHtoD_v2", address, values, ctypes.c_size_t(ctypes.sizeof(values)))
cuda.call("cuCtxSynchronize")
socket.send_fds(socket.socket(fileno=int(sys.argv[2])), [b"x"], [exported.value])
sys.stdin.read()
"""


class Exporter:
    """A process that exports a column of `count` doubles: half of each of the first thousand positions."""

    def __init__(self, count: int) -> None:
        ours, theirs = socket.socketpair()
        path = str(ROOT / "kernel/python")
        self.process = subprocess.Popen(
            [sys.executable, "-c", EXPORTER, path, str(theirs.fileno()), str(count)],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.PIPE,
        )
        theirs.close()
        _, [self.descriptor], _, _ = socket.recv_fds(ours, 1, 1)
        self.count = count

    def column(self) -> device.DeviceColumn:
        """A mapping. It closes its copy of the descriptor."""
        return device.DeviceColumn(os.dup(self.descriptor), self.count, self.count * 8, "f64", "GPU")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        os.close(self.descriptor)
        self.kill()


def read(column: device.DeviceColumn, count: int) -> list[float]:
    cuda = device.driver(0)
    cuda.bind()
    values = array.array("d", bytes(count * 8))
    address = ctypes.c_ulonglong(column.__cuda_array_interface__["data"][0])
    where = (ctypes.c_char * (count * 8)).from_buffer(values)
    try:
        cuda.call("cuMemcpyDtoH_v2", where, address, ctypes.c_size_t(count * 8))
    finally:
        cuda.unbind()
    return values.tolist()


def free_memory() -> int:
    cuda = device.driver(0)
    cuda.bind()
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    cuda.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    cuda.unbind()
    return free.value


def test_values_outlive_the_process_that_made_them():
    exporter = Exporter(1_000_000)
    column = exporter.column()
    expected = [i / 2 for i in range(1000)]
    assert read(column, 1000) == expected
    exporter.kill()
    assert read(column, 1000) == expected and len(column) == 1_000_000
    about = column.__cuda_array_interface__
    assert (
        about["shape"] == (1_000_000,)
        and about["typestr"] == "<f8"
        and about["data"][1] is True
        and about["version"] == 3
    )
    assert column.__dlpack_device__() == (2, 0)
    exporter.close()


def test_memory_is_read_only():
    """A copy to it is refused, in a process of its own: an error of this kind can end a context."""
    exporter = Exporter(1000)
    os.set_inheritable(exporter.descriptor, True)
    code = f"""
import sys, ctypes
sys.path.insert(0, {str(ROOT / "kernel/python")!r})
import onrush._device as device
column = device.DeviceColumn({exporter.descriptor}, 1000, 8000, "f64", "GPU")
cuda = device.driver(0)
cuda.bind()
try:
    cuda.call("cuMemsetD8_v2", ctypes.c_ulonglong(column._address), ctypes.c_ubyte(1), ctypes.c_size_t(8))
    cuda.call("cuCtxSynchronize")
    print("written")
except device.OnrushError as error:
    print("refused")
"""
    ran = subprocess.run([sys.executable, "-c", code], pass_fds=[exporter.descriptor], capture_output=True, text=True)
    assert ran.stdout == "refused\n", ran.stdout + ran.stderr
    assert read(exporter.column(), 3) == [0.0, 0.5, 1.0]
    exporter.close()


def test_a_thousand_mappings_leak_nothing():
    exporter = Exporter(4_000_000)
    exporter.column()
    descriptors, free = len(os.listdir("/proc/self/fd")), free_memory()
    for _ in range(1000):
        assert len(exporter.column()) == 4_000_000
    assert len(os.listdir("/proc/self/fd")) == descriptors and abs(free_memory() - free) < 1 << 22
    exporter.kill()
    os.close(exporter.descriptor)


def test_memory_is_freed_with_the_last_mapping():
    exporter = Exporter(64_000_000)
    column = exporter.column()
    exporter.close()
    held = free_memory()
    del column
    assert free_memory() - held >= 512_000_000


def measure(count: int) -> None:
    exporter = Exporter(count)
    exporter.column()
    seconds = []
    for _ in range(9):
        begun = time.perf_counter()
        column = exporter.column()
        column.__cuda_array_interface__["data"]
        seconds.append(time.perf_counter() - begun)
        del column
    seconds.sort()
    print(f"mapping {count * 8 / 1e9:.0f} GB: median {seconds[4] * 1e3:.2f} ms, least {seconds[0] * 1e3:.2f} ms")
    exporter.close()


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name}: ok", flush=True)
    for size in (1_000_000, 125_000_000, 1_250_000_000):
        measure(size)
