"""How long cells take, from execute_request to the last output, side by side with evcxr_jupyter over the same protocol: 20 kinds
of cells, the two kernels in turns, medians. Then what only Onrush promises: a cell of 30 lines, cells from the cache, a notebook
run again, the 200th cell, and where the time goes. Raw numbers with --out."""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
os.environ.setdefault("ONRUSH_RUNTIME_DIR", tempfile.mkdtemp(prefix="onrush-b"))

import jupyter_client.kernelspec  # noqa: E402
from driver import Kernel, Ran  # noqa: E402

ROUNDS = 7
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"

# Run once, so that the cells below have something to work with. Both kernels take the same text.
SETUP = [
    "let base: i64 = 40;",
    "let mut counter: i64 = 0;",
    "let mut items: Vec<i64> = Vec::new();",
    'let words: Vec<String> = "the quick brown fox jumps over the lazy dog".split(\' \').map(String::from).collect();',
    "#[derive(Debug, Clone, PartialEq)] pub struct Point { pub x: i64, pub y: i64 }",
    "let point = Point { x: 1, y: 2 };",
]

# {n} makes each text new. One line each, but for the last five.
CELLS = {
    "expression": "1 + {n}",
    "let": "let x{n} = {n};",
    "let vec": "let v{n} = vec![{n}, 2, 3];",
    "let tuple": 'let (a{n}, b{n}) = ({n}, "text".to_string());',
    "format": 'format!("{{}} and {{:>8.2}}", {n}, 2.5)',
    "println": 'println!("{n}");',
    "use a variable": "base + {n}",
    "change a variable": "counter += {n};",
    "push": "items.push({n});",
    "iterator": "(0..{n}u64 % 1000).filter(|i| i % 3 == 0).map(|i| i * i).sum::<u64>()",
    "sort": "{{ let mut w = words.clone(); w.sort(); w.push({n}.to_string()); w.len() }}",
    "hash map": "words.iter().fold(std::collections::HashMap::new(), |mut m, w| {{ *m.entry(w.len() + {n}).or_insert(0) += 1; m }}).len()",
    "struct value": "Point {{ x: {n}, ..point.clone() }}",
    "if": 'if base > {n} {{ "more" }} else {{ "less" }}',
    "closure": "[1i64, 2, 3].map(|i| i * {n})",
    "function": "fn f{n}(a: i64) -> i64 {{\n    a * {n}\n}}\nf{n}(2)",
    "struct": "#[derive(Debug, Clone)]\npub struct S{n} {{ pub a: i64, pub b: String }}\nS{n} {{ a: {n}, b: String::new() }}",
    "enum": "#[derive(Debug)]\npub enum E{n} {{ A, B(i64) }}\nmatch E{n}::B({n}) {{ E{n}::A => 0, E{n}::B(b) => b }}",
    "generic": "fn largest{n}<T: PartialOrd + Copy>(of: &[T]) -> T {{\n    let mut m = of[0];\n    for &i in of {{ if i > m {{ m = i }} }}\n    m\n}}\nlargest{n}(&[1, {n}, 2])",
    "loop": "let mut total = 0u64;\nfor i in 0..{n}u64 % 1000 {{\n    if i % 7 == 0 {{ continue; }}\n    total += i;\n}}\ntotal",
}
ONE_LINE = [name for name, text in CELLS.items() if "\n" not in text]

THIRTY_LINES = """
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub struct Account{n} {{
    pub owner: String,
    pub cents: i64,
    pub moves: Vec<i64>,
}}

impl Account{n} {{
    pub fn new(owner: &str) -> Self {{
        Account{n} {{ owner: owner.to_string(), cents: {n}, moves: Vec::new() }}
    }}
    pub fn deposit(&mut self, cents: i64) -> &mut Self {{
        self.cents += cents;
        self.moves.push(cents);
        self
    }}
    pub fn largest(&self) -> Option<i64> {{
        self.moves.iter().copied().max()
    }}
}}

let mut accounts: Vec<Account{n}> = ["ann", "bob", "cem"].iter().map(|name| Account{n}::new(name)).collect();
for (index, account) in accounts.iter_mut().enumerate() {{
    account.deposit(100 * index as i64).deposit(7);
}}
let by_owner: BTreeMap<String, i64> = accounts.iter().map(|a| (a.owner.clone(), a.cents)).collect();
let rich: Vec<String> = by_owner.iter().filter(|(_, cents)| **cents > 100).map(|(owner, _)| owner.clone()).collect();
println!("{{}} accounts, {{:?}}, {{:?}}", accounts.len(), rich, accounts[2].largest());
""".strip()


def onrush_specs() -> jupyter_client.kernelspec.KernelSpecManager:
    prefix = tempfile.mkdtemp(prefix="onrush-prefix")
    subprocess.run([os.environ["ONRUSH_BIN"], "install", "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    return jupyter_client.kernelspec.KernelSpecManager(kernel_dirs=[f"{prefix}/share/jupyter/kernels"], ensure_native_kernel=False)


def evcxr_specs(binary: str) -> jupyter_client.kernelspec.KernelSpecManager:
    folder = Path(tempfile.mkdtemp(prefix="evcxr-kernels"))
    # Under the name that the driver asks for.
    (folder / "onrush").mkdir()
    spec = {"argv": [binary, "--control_file", "{connection_file}"], "display_name": "Rust", "language": "rust", "interrupt_mode": "message"}
    (folder / "onrush/kernel.json").write_text(json.dumps(spec))
    return jupyter_client.kernelspec.KernelSpecManager(kernel_dirs=[str(folder)], ensure_native_kernel=False)


def milliseconds(kernel: Kernel, text: str) -> float:
    begun = time.perf_counter()
    kernel.ok(text)
    return (time.perf_counter() - begun) * 1000


def start(specs, folder: Path) -> tuple[Kernel, float, float]:
    """A kernel, how long it took to answer, and its first cell."""
    begun = time.perf_counter()
    kernel = Kernel(specs, folder)
    ready = (time.perf_counter() - begun) * 1000
    return kernel, ready, milliseconds(kernel, f"1 + {time.time_ns() % 1_000_000_000}")


def median(times: list[float]) -> float:
    return statistics.median(times)


class Numbers:
    """New ones in each run, so that no cell is in a cache."""

    def __init__(self):
        self.next = 1_000_000 + int(time.time()) % 900_000 * 1000

    def take(self) -> int:
        self.next += 1
        return self.next


def side_by_side(specs: dict, folder: Path, numbers: Numbers) -> tuple[dict, dict]:
    """{kernel: {kind: [ms]}} of new cells, and what starting cost."""
    kernels, starts = {}, {}
    times = {name: {kind: [] for kind in [*CELLS, "30 lines", "the same again"]} for name in specs}
    try:
        for name, spec in specs.items():
            kernels[name], ready, first = start(spec, folder)
            starts[name] = {"ready": ready, "first": first}
            for text in SETUP:
                kernels[name].ok(text)
        for _ in range(ROUNDS):
            for kind, template in [*CELLS.items(), ("30 lines", THIRTY_LINES)]:
                text = template.format(n=numbers.take())
                for name, kernel in kernels.items():
                    times[name][kind].append(milliseconds(kernel, text))
                    if kind == "use a variable":
                        times[name]["the same again"].append(milliseconds(kernel, text))
    finally:
        # A kernel that is left behind would hold the terminal.
        for kernel in kernels.values():
            kernel.close()
    return times, starts


def from_the_cache(specs, folder: Path, numbers: Numbers) -> dict:
    """Cells that another kernel process compiled before."""
    texts = [*SETUP, *(template.format(n=numbers.take()) for template in [*CELLS.values(), THIRTY_LINES])]
    for _ in range(2):
        kernel, ready, first = start(specs, folder)
        times = [milliseconds(kernel, text) for text in texts]
        kernel.close()
    return {"times": times, "ready": ready, "first": first}


def growth(specs, folder: Path, numbers: Numbers) -> dict:
    """All kinds at the 20th and at the 200th cell of a notebook."""
    kernel, _, _ = start(specs, folder)
    for text in SETUP:
        kernel.ok(text)
    rounds = []
    for _ in range(11):
        rounds.append([milliseconds(kernel, template.format(n=numbers.take())) for template in CELLS.values()])
    kernel.close()
    # Cells 8 to 47, and 168 to 227: of each kind 2 and 3.
    early = [median([r[kind] for r in rounds[:2]]) for kind in range(len(CELLS))]
    late = [median([r[kind] for r in rounds[8:]]) for kind in range(len(CELLS))]
    return {"early": median(early), "late": median(late), "rounds": rounds}


def tour(specs) -> dict:
    """How many cells of the tour are compiled in a new kernel, after it was run once."""
    notebook = json.loads((NOTEBOOKS / "01-tour.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for _ in range(2):
        kernel, _, _ = start(specs, NOTEBOOKS)
        kernel.ok(":timing")
        compiled, found, begun = 0, 0, time.perf_counter()
        for text in cells:
            ran: Ran = kernel.run(text)
            compiled += len(re.findall(r"^compiled in", ran.stdout, re.M))
            found += len(re.findall(r"^found compiled", ran.stdout, re.M))
        took = time.perf_counter() - begun
        kernel.close()
    return {"compiled": compiled, "found": found, "seconds": took}


PHASES = ["parse", "check", "codegen", "link", "load", "run"]


def phases(specs, folder: Path, numbers: Numbers) -> dict:
    """Where `:timing` says that the time of new one-line cells goes, in ms."""
    kernel, _, _ = start(specs, folder)
    for text in [*SETUP, ":timing"]:
        kernel.ok(text)
    found = {phase: [] for phase in [*PHASES, "in all"]}
    for _ in range(3):
        for kind in ONE_LINE:
            told = kernel.ok(CELLS[kind].format(n=numbers.take())).stdout
            for phase, values in found.items():
                number = re.search(rf"{phase} ([0-9.]+) ms", told)
                if number:
                    values.append(float(number.group(1)))
    kernel.close()
    return {phase: median(values) for phase, values in found.items() if values}


# Beside what rustc takes for the same line in a function, with its link. How many times as long a cell may take.
BESIDE = {
    "let": ("let x{n} = {n};", 1.25),
    "collect": ("let v{n}: Vec<f64> = (0..{n}u64 % 1000).map(|i| i as f64 * 0.5).collect();", 1.6),
}


def beside_rustc(specs, folder: Path, numbers: Numbers) -> dict:
    """{kind: [[ms of a cell, ms of rustc]]}, in turns: a shared object at the level of optimisation that cells have."""
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip()
    command = [f"{sysroot}/bin/rustc", "bare.rs", "--crate-type=dylib", "--edition=2024", "-Cprefer-dynamic", "-Copt-level=1", "-Coverflow-checks=on"]
    kernel, _, _ = start(specs, folder)
    times = {kind: [] for kind in BESIDE}
    for _ in range(3 * ROUNDS):
        for kind, (template, _) in BESIDE.items():
            line = template.format(n=numbers.take())
            (folder / "bare.rs").write_text(f"#![allow(unused)] pub fn run() {{ {line} }}")
            begun = time.perf_counter()
            subprocess.run(command, cwd=folder, check=True)
            bare = (time.perf_counter() - begun) * 1000
            times[kind].append((milliseconds(kernel, line), bare))
    kernel.close()
    return times


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--out", type=Path)
    arguments.add_argument("--only-beside-rustc", action="store_true", help="only two kinds of cells beside a bare rustc")
    arguments = arguments.parse_args()
    numbers, folder = Numbers(), Path(tempfile.mkdtemp(prefix="onrush-bench"))
    ours = onrush_specs()
    specs = {"onrush": ours}
    if peer := os.environ.get("EVCXR_BIN"):
        specs["evcxr"] = evcxr_specs(peer)
    # The prelude is built, and everything that is read from disk is in memory.
    for spec in specs.values():
        kernel, _, _ = start(spec, folder)
        kernel.close()

    beside = beside_rustc(ours, folder, numbers)
    print(f"\n{'new cell, ms':22}{'onrush':>10}{'rustc':>10}{'ratio':>10}{'at most':>10}")
    for kind, pairs in beside.items():
        cell, bare = (median(list(column)) for column in zip(*pairs))
        print(f"{kind:22}{cell:>10.0f}{bare:>10.0f}{median([c / b for c, b in pairs]):>10.2f}{BESIDE[kind][1]:>10.2f}")
    if arguments.only_beside_rustc:
        return

    times, starts = side_by_side(specs, folder, numbers)
    cached = from_the_cache(ours, folder, numbers)
    grown = growth(ours, folder, numbers)
    again = tour(ours)
    where = phases(ours, folder, numbers)

    names = list(specs)
    print(f"\n{'new cell, ms':22}" + "".join(f"{name:>10}" for name in names) + ("     ratio" if len(names) == 2 else ""))

    def row(label: str, values: list[float]) -> None:
        ratio = f"{values[0] / values[1]:>10.2f}" if len(values) == 2 else ""
        print(f"{label:22}" + "".join(f"{value:>10.0f}" for value in values) + ratio)

    row("kernel ready", [starts[name]["ready"] for name in names])
    row("first cell", [starts[name]["first"] for name in names])
    for kind in [*CELLS, "30 lines", "the same again"]:
        row(kind, [median(times[name][kind]) for name in names])
    row("median, one line", [median([median(times[name][kind]) for kind in ONE_LINE]) for name in names])
    row("median of 20 kinds", [median([median(times[name][kind]) for kind in CELLS]) for name in names])
    print(f"\nfrom the cache, in a new kernel: median {median(cached['times']):.1f} ms, slowest {max(cached['times']):.1f} ms")
    print(f"cell 200 against cell 20: {grown['late']:.0f} ms against {grown['early']:.0f} ms ({grown['late'] / grown['early']:.2f})")
    print(f"the tour run again in a new kernel: {again['compiled']} cells compiled, {again['found']} found compiled, {again['seconds']:.2f} s")
    print("where a new one-line cell spends its time: " + ", ".join(f"{phase} {value:.1f} ms" for phase, value in where.items()))
    if arguments.out:
        machine = {"cpus": os.cpu_count(), "machine": platform.machine(), "kernel": platform.release()}
        everything = {"machine": machine, "starts": starts, "beside": beside, "times": times, "cached": cached, "growth": grown, "tour": again, "phases": where}
        arguments.out.write_text(json.dumps(everything) + "\n")


if __name__ == "__main__":
    main()
