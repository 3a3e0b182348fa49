"""How long completion takes, from complete_request to its reply, at each place of tests/jupyter/sites.py: the first time that a
place is asked about, and again. Medians and the 95th percentile for each kind, in milliseconds; the raw numbers with --out."""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/jupyter"), str(Path(__file__).resolve().parent)]
os.environ.setdefault("ONRUSH_RUNTIME_DIR", tempfile.mkdtemp(prefix="onrush-b"))

from cells import onrush_specs  # noqa: E402
from driver import Kernel  # noqa: E402
from sites import SETUP, SITES, split  # noqa: E402


def ask(kernel: Kernel, code: str, at: int) -> tuple[float, int]:
    begun = time.perf_counter()
    message = kernel.client.complete(code, at)
    while (reply := kernel.client.get_shell_msg(timeout=60))["parent_header"].get("msg_id") != message:
        pass
    return (time.perf_counter() - begun) * 1000, len(reply["content"]["matches"])


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--out", type=Path)
    arguments = arguments.parse_args()
    kernel = Kernel(onrush_specs(), Path(tempfile.mkdtemp(prefix="onrush-notebook")))
    for cell in SETUP:
        kernel.ok(cell)
    # Warm: an index is read on first use, and a compiler waits from then on.
    ask(kernel, "let warm = vec![1.5]; warm[0].", 30)
    time.sleep(0.5)
    results = []
    for kind, place, _, _ in SITES:
        code, at = split(place)
        first, found = ask(kernel, code, at)
        again, _ = ask(kernel, code, at)
        results.append({"kind": kind, "place": place, "first_ms": first, "again_ms": again, "found": found})
        # A person types slower than this.
        time.sleep(0.1)
    kernel.close()

    def row(name: str, chosen: list[dict]) -> None:
        cells = []
        for key in ["first_ms", "again_ms"]:
            times = sorted(r[key] for r in chosen)
            cells += [statistics.median(times), times[min(len(times) - 1, int(len(times) * 0.95))]]
        print(f"{name:10} {len(chosen):>4} {cells[0]:>10.1f} {cells[1]:>10.1f} {cells[2]:>10.1f} {cells[3]:>10.1f}")

    print(f"{'kind':10} {'n':>4} {'first p50':>10} {'p95':>10} {'again p50':>10} {'p95':>10}   ms")
    for kind in dict.fromkeys(r["kind"] for r in results):
        row(kind, [r for r in results if r["kind"] == kind])
    row("all", results)
    if arguments.out:
        machine = {"cpus": os.cpu_count(), "machine": platform.machine(), "kernel": platform.release(), "load": os.getloadavg()}
        with arguments.out.open("w") as out:
            for result in [machine, *results]:
                out.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
