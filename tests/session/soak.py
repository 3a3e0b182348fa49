"""Many cells in a row, some of them failing, some with frames, and what the four processes hold meanwhile.

By hand: ONRUSH_BIN=… python tests/session/soak.py --cells 1000, and with --failing for cells that all fail.
`test_soak.py` runs a short version of both.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, fields
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

import processes  # noqa: E402
from driver import Kernel  # noqa: E402

FIRST = [
    'let flights = read_parquet("flights.parquet");',
    "let mut total = 0i64; let mut list: Vec<i64> = Vec::new(); let mut shown = flights.head(1);",
]
# What it runs, and whether it must succeed. {n} makes each text new.
CELLS = [
    ("let a = {n};", True),
    ("total += {n}; total", True),
    ("fn helper(x: i64) -> i64 {{ x + {n} }}\nhelper(1)", True),
    ("list.push({n}); list.len()", True),
    ('panic!("number {n}")', False),
    ("shown = flights.filter(x!(distance > {n} % 2000)).persist(); shown", True),
    ("let wrong: i32 = {n}.5;", False),
    ('flights.group_by("origin").agg(x!(m = distance.mean() + {n}))', True),
    ("unsafe {{ std::ptr::null_mut::<i32>().write_volatile({n}) }}", False),
    ("let text = \"x\".repeat({n} % 1000 + 1_000_000); println!(\"{{}}\", text.len());", True),
    ("let f = flights.head({n} % 1000).persist(); f.select([\"nothing\"])", False),
    ("std::thread::spawn(|| {n}).join().unwrap()", True),
    ("std::process::abort(); // {n}", False),
    (':vars\nlet b = "{n}".to_string();', True),
    ("#[derive(Debug, Clone)]\nstruct Point{n} {{ x: i64 }}\nlet p = Point{n} {{ x: {n} }}; p", True),
    ("for i in 0..200 {{ println!(\"line {{i}} of {n}\"); }}", True),
    ("let column = flights.column::<i64>(\"distance\"); column.len() + {n}", True),
    ('std::process::Command::new("true").status()?; let c = {n};', True),
]
# All of these fail after the session has done something for them.
FAILING = [
    'let f = flights.filter(x!(distance > {n})).persist(); f.select(["nothing"])',
    'let all = read_parquet("flights.parquet"); let g = all.group_by("dest").agg(x!(m = distance.max() + {n})); g.rows(); panic!()',
    'publish("never", &flights.head({n})); let n: Option<i32> = None; n.unwrap()',
    'let toy = frame! {{ a: [{n}, 2] }}; drop(flights); std::process::abort();',
    'let c = flights.column::<i64>("distance"); unsafe {{ std::ptr::null_mut::<i64>().write_volatile(c.len() as i64 + {n}) }}',
]


@dataclass
class Held:
    """What the processes hold. Sizes are in MB."""

    cells: int
    seconds: float
    kernel: float
    cell: float
    supervisor: float
    engine: float
    descriptors: int
    threads: int
    zombies: int
    processes: int
    frames: str


def megabytes(process: int | None) -> float:
    return processes.resident_bytes(process) / 1e6 if process else 0.0


def count(process: int, what: str) -> int:
    return len(os.listdir(f"/proc/{process}/{what}"))


def held(kernel: Kernel, cells: int, begun: float) -> Held:
    own = kernel.manager.provisioner.pid
    supervisor, engine = processes.supervisor(), processes.engine()
    below = processes.cell_processes(own)
    children = [p for p, parent in processes.parents().items() if parent == own]
    zombies = [p for p in children if " Z " in Path(f"/proc/{p}/stat").read_text().rpartition(")")[2][:3]]
    every = [p for p in (own, *below, supervisor, engine) if p]
    doctor = subprocess.run([os.environ["ONRUSH_BIN"], "doctor"], capture_output=True, text=True, timeout=60).stdout
    # "…, 2 frames, 12 MB of 2.0 GB held"
    running = next(line for line in doctor.splitlines() if line.startswith("ok  running"))
    frames = ", ".join(part.strip().split(" of ")[0] for part in running.split(",")[-2:])
    return Held(
        cells, time.monotonic() - begun, megabytes(own), max((megabytes(p) for p in below), default=0.0), megabytes(supervisor),
        megabytes(engine), sum(count(p, "fd") for p in every), sum(count(p, "task") for p in every), len(zombies), len(below), frames,
    )


def soak(kernel: Kernel, cells: int, every: int):
    """Runs cells, and yields what is held after each `every` of them."""
    begun = time.monotonic()
    for text in FIRST:
        kernel.ok(text)
    for n in range(1, cells + 1):
        text, succeeds = CELLS[n % len(CELLS)]
        ran = kernel.run(text.format(n=n))
        assert (ran.status == "ok") == succeeds, f"cell {n}: {text.format(n=n)}\n{ran}"
        assert succeeds or "lost" not in ran.error_text, f"cell {n}: {text.format(n=n)}\n{ran.error_text}"
        if n % every == 0:
            assert kernel.value("list.len() as i64 * 0 + total * 0") == "0"
            yield held(kernel, n, begun)


def soak_failing(kernel: Kernel, cells: int, every: int, parked: float):
    """Runs cells that all fail. Yields what is held after the first few, after each `every`, and when the time of parking is over."""
    begun = time.monotonic()
    kernel.ok(FIRST[0])

    def settled(n: int) -> Held:
        """When nothing is kept for a corrected cell any more: the one frame of the first cell is left."""

        def alone() -> Held | None:
            row = held(kernel, n, begun)
            return row if row.frames.startswith("1 frames,") else None

        return processes.wait_until(alone, parked + 60, "frames of failed cells are still there")

    for n in range(1, cells + 1):
        text = FAILING[n % len(FAILING)].format(n=n)
        ran = kernel.run(text)
        assert ran.error and ran.error["ename"] not in ("E0308", "E0425", "E0599"), f"cell {n}: {text}\n{ran}"
        assert "lost" not in ran.error_text, f"cell {n}: {text}\n{ran.error_text}"
        if n == len(FAILING):
            yield settled(n)
        elif n % every == 0:
            yield held(kernel, n, begun)
    yield settled(cells)
    assert kernel.value("flights.shape()") == "(336776, 19)"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--failing", action="store_true", help="cells that all fail")
    arguments = parser.parse_args()
    os.environ.setdefault("ONRUSH_RUNTIME_DIR", tempfile.mkdtemp(prefix="onrush-s"))
    os.environ.setdefault("ONRUSH_IDLE", "5")
    os.environ.setdefault("ONRUSH_MEMORY", "2G")
    os.environ.setdefault("ONRUSH_PARKED", "20")
    prefix = tempfile.mkdtemp()
    subprocess.run([os.environ["ONRUSH_BIN"], "install", "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    import jupyter_client.kernelspec

    specs = jupyter_client.kernelspec.KernelSpecManager(
        kernel_dirs=[f"{prefix}/share/jupyter/kernels"], ensure_native_kernel=False
    )
    kernel = Kernel(specs, Path(__file__).resolve().parents[2] / "notebooks/data")
    names = [field.name for field in fields(Held)]
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|")
    if arguments.failing:
        rows = soak_failing(kernel, arguments.cells, arguments.every, float(os.environ["ONRUSH_PARKED"]))
    else:
        rows = soak(kernel, arguments.cells, arguments.every)
    for row in rows:
        values = [getattr(row, name) for name in names]
        print("| " + " | ".join(f"{v:.0f}" if isinstance(v, float) else str(v) for v in values) + " |", flush=True)
    kernel.close()


if __name__ == "__main__":
    main()
