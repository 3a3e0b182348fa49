"""How long a cell takes, from its execute_request to its last output: each kind of cell compiled (new text) and from the cache
(text that was run before, in a new kernel). Medians over ROUNDS, in milliseconds; the raw numbers with --out."""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
os.environ.setdefault("ONRUSH_RUNTIME_DIR", tempfile.mkdtemp(prefix="onrush-b"))

import subprocess  # noqa: E402

import jupyter_client.kernelspec  # noqa: E402
from driver import Kernel  # noqa: E402

ROUNDS = 15
DATA = Path(__file__).resolve().parents[2] / "notebooks/data"

# {n} makes the text new in every round.
CELLS = {
    "expression": "1 + {n}",
    "let": "let x{n} = {n};",
    "println": 'println!("{n}");',
    "function": "fn f{n}(a: i64) -> i64 {{ a * {n} }}\nf{n}(2)",
    "struct": "#[derive(Debug, Clone)] struct S{n} {{ a: i64, b: String }}\nS{n} {{ a: {n}, b: String::new() }}",
    "iterator": "(0..{n}u64 % 1000).filter(|i| i % 3 == 0).map(|i| i * i).sum::<u64>()",
    "frame step": "let g{n} = flights.filter(x!(distance > {n}));",
    "frame shown": "flights.filter(x!(distance > {n})).head(3)",
    "group shown": "flights.filter(x!(distance > {n})).group_by(\"carrier\").agg(x!(n = len(), d = dep_delay.mean()))",
}


def specs() -> jupyter_client.kernelspec.KernelSpecManager:
    prefix = tempfile.mkdtemp(prefix="onrush-prefix")
    subprocess.run([os.environ["ONRUSH_BIN"], "install", "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    return jupyter_client.kernelspec.KernelSpecManager(kernel_dirs=[f"{prefix}/share/jupyter/kernels"], ensure_native_kernel=False)


def measure(kernel: Kernel, template: str, first: int) -> list[float]:
    times = []
    for n in range(first, first + ROUNDS):
        begun = time.perf_counter()
        kernel.ok(template.format(n=n))
        times.append((time.perf_counter() - begun) * 1000)
    return times


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--out", type=Path)
    arguments = arguments.parse_args()
    first = 1_000_000 + int(time.time()) % 900_000 * 20
    manager, results, starts = specs(), [], []
    for pass_name in ["compiled", "cached"]:
        begun = time.perf_counter()
        kernel = Kernel(manager, DATA)
        kernel.ok("1")
        starts.append((time.perf_counter() - begun) * 1000)
        kernel.ok('let flights = read_parquet("flights.parquet");')
        for index, (name, template) in enumerate(CELLS.items()):
            times = measure(kernel, template, first + index * ROUNDS)
            results.append({"cell": name, "pass": pass_name, "median_ms": statistics.median(times), "ms": times})
        kernel.close()
    print(f"{'cell':14} {'compiled':>10} {'cached':>10}   median of {ROUNDS}, ms")
    for name in CELLS:
        medians = {r["pass"]: r["median_ms"] for r in results if r["cell"] == name}
        print(f"{name:14} {medians['compiled']:>10.1f} {medians['cached']:>10.1f}")
    print(f"start of a kernel and first cell: {min(starts):.0f} ms")
    if arguments.out:
        machine = {"cpus": os.cpu_count(), "machine": platform.machine(), "kernel": platform.release(), "start_ms": starts}
        with arguments.out.open("w") as out:
            for result in [machine, *results]:
                out.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
