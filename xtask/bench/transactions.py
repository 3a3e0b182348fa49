"""What transactions cost and how fast an interrupt is, through the real protocol. Parts: `failures` (each kind of end: the message,
its time, the time of the next cell), `interrupts` (from the request to the reply), `memory` (the snapshot's cost by resident
size, with large pages and without). Prints Markdown tables; `--parts` chooses."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/session")]
os.environ.setdefault("ONRUSH_RUNTIME_DIR", tempfile.mkdtemp(prefix="onrush-b"))
os.environ.setdefault("ONRUSH_IDLE", "5")

import jupyter_client.kernelspec  # noqa: E402
import processes  # noqa: E402
from driver import Kernel  # noqa: E402


def specs():
    prefix = tempfile.mkdtemp()
    subprocess.run([os.environ["ONRUSH_BIN"], "install", "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    folder = f"{prefix}/share/jupyter/kernels"
    return jupyter_client.kernelspec.KernelSpecManager(kernel_dirs=[folder], ensure_native_kernel=False)


def start(**environment) -> Kernel:
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        return Kernel(specs(), ROOT / "notebooks/data")
    finally:
        os.environ.clear()
        os.environ.update(before)


def failures():
    import test_transactions as cases

    kernel = start(ONRUSH_CELL_MEMORY="600M")
    kernel.ok(
        "use std::{cell::RefCell, rc::Rc};\nlet mut kept = vec![1, 2, 3]; let mut text = String::from(\"as it was\");"
        "let shared = Rc::new(RefCell::new(vec![7])); let mut table = frame! { a: [1, 2, 3] };"
    )
    kernel.value("kept.len()")
    print("| the cell ends by | message | variables | ms | next cell, ms |\n|---|---|---|---|---|")
    for name, (code, _, _) in cases.FAILURES.items():
        ran = kernel.fails(code if name == "compile error" else cases.CHANGE + code)
        begun = time.monotonic()
        kept = kernel.value("kept.len()") == "3"
        took = (time.monotonic() - begun) * 1e3
        notes = [line for line in ran.error_text.splitlines() if "all variables" in line]
        message = ran.error["evalue"] if "all variables" in ran.error["evalue"] else f"{ran.error['evalue']} … {notes[-1].strip(' =')}"
        print(f"| {name} | {message} | {'kept' if kept else 'LOST'} | {ran.seconds * 1e3:.0f} | {took:.0f} |")
    kernel.close()


QUERY = 'flights.cross_join(&flights.head({n})).group_by("origin").agg(x!(s = distance.sum()))'
INTERRUPTS = {
    "`loop {}`": "let mut n = {n}u64; loop {{ n = std::hint::black_box(n.wrapping_add(1)); }}",
    "`thread::sleep`": "std::thread::sleep(std::time::Duration::from_secs({n}));",
    "a blocking read from a pipe": (
        "use std::io::Read; let mut child = std::process::Command::new(\"sleep\").arg(\"{n}\").stdout(std::process::Stdio::piped())"
        ".spawn()?; child.stdout.take().unwrap().read(&mut [0; 8])?;"
    ),
    "`TcpListener::accept`": "let _ = {n}; std::net::TcpListener::bind(\"127.0.0.1:0\")?.accept()?;",
    "a deadlock": "let m = std::sync::Mutex::new({n}); let _a = m.lock().unwrap(); let _b = m.lock().unwrap();",
    "a query in the session": QUERY,
    "collecting a large frame": "let _ = {n}; all.column::<f64>(\"distance\").len()",
    "rustc": "",
    "`!sleep 100`": "!sleep {n}",
    "`input(…)`": "let _ = {n}; input(\"name? \")",
}


def slow_to_compile(n: int) -> str:
    functions = "\n".join(f"fn f{n}_{i}(x: &[i64]) -> String {{ x.iter().map(|v| format!(\"{{v:?}} {i}\")).collect::<Vec<_>>().join(\",\") }}" for i in range(300))
    return f"{functions}\nf{n}_1(&[1])"


def interrupts(count: int):
    kernel = start()
    kernel.ok('let flights = read_parquet("flights.parquet");')
    kernel.ok('let all = concat([&flights; 60]).with_columns(x!(distance = distance * 1.5));')
    kernel.ok("let kept = 1;")
    print("| interrupted | median, ms | worst, ms |\n|---|---|---|")
    for name, code in INTERRUPTS.items():
        times = []
        for round in range(count):
            n = 10_000 + round
            text = slow_to_compile(n) if name == "rustc" else code.format(n=n)
            message = kernel.client.execute(text, allow_stdin=name.startswith("`input"))
            # Long enough that it is compiled and runs; rustc is met in its middle.
            time.sleep(0.35 if name == "rustc" else 0.8)
            begun = time.monotonic()
            kernel.interrupt()
            while True:
                reply = kernel.client.get_shell_msg(timeout=60)
                if reply["parent_header"].get("msg_id") == message:
                    break
            times.append((time.monotonic() - begun) * 1e3)
            if reply["content"].get("ename") != "interrupted":
                print(f"({name}: {reply['content'].get('ename') or 'it had ended'})", file=sys.stderr)
            if name.startswith("a query"):
                processes.wait_until(lambda: idle(processes.engine()), 10, "the engine still computes")
        assert kernel.value("kept") == "1"
        print(f"| {name} | {statistics.median(times):.0f} | {max(times):.0f} |", flush=True)
    kernel.close()


def idle(process: int) -> bool:
    ticks = lambda: sum(int(field) for field in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13])
    before = ticks()
    time.sleep(0.2)
    return ticks() - before <= 2


def memory(sizes: list[float]):
    print("| resident | pages | a cell without work, ms | interrupt of a loop, ms | rewrite all, ms | held meanwhile |\n|---|---|---|---|---|---|")
    for pages, tunables in (("2 MB", "glibc.malloc.hugetlb=1"), ("4 kB", "glibc.malloc.hugetlb=0")):
        for gigabytes in sizes:
            kernel = start(GLIBC_TUNABLES=tunables, ONRUSH_CELL_MEMORY="none")
            kernel.ok(f"let mut big = vec![1u64; {int(gigabytes * 1e9 / 8)}];")
            kernel.ok("1 + 1")
            times = [kernel.ok("1 + 1").seconds * 1e3 for _ in range(9)]
            message = kernel.client.execute('println!("begun"); let mut n = 0u64; loop { n = std::hint::black_box(n + 1); }')
            while "begun" not in kernel.client.get_iopub_msg(timeout=60)["content"].get("text", ""):
                pass
            begun = time.monotonic()
            kernel.interrupt()
            kernel.wait(message, begun)
            stopped = (time.monotonic() - begun) * 1e3
            ran = kernel.ok("big.iter_mut().for_each(|v| *v += 1);")
            held = [line for line in ran.stderr.splitlines() if "the notebook held" in line]
            said = held[0].split("held ")[1].split(" meanwhile")[0] if held else "not said"
            print(f"| {gigabytes:g} GB | {pages} | {statistics.median(times):.0f} | {stopped:.0f} | {ran.seconds * 1e3:.0f} | {said} |", flush=True)
            kernel.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", default=["failures", "interrupts", "memory"])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.001, 1, 4, 8])
    parser.add_argument("--out", help="not used here: the tables are printed")
    arguments = parser.parse_args()
    if "failures" in arguments.parts:
        failures()
    if "interrupts" in arguments.parts:
        interrupts(arguments.rounds)
    if "memory" in arguments.parts:
        memory(arguments.sizes)


if __name__ == "__main__":
    main()
