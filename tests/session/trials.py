"""Random faults of processes while they work, and what must be there afterwards.

One trial: a cell works (it loads, queries, persists, writes, compiles, publishes; or a table's page or a control is asked for), and
meanwhile one of the processes is killed, crashes or is stopped. A stopped process goes on a moment later, or the cell is interrupted
first. Afterwards the variables and frames of the notebook, those of a second notebook and what is published are compared with what
docs/jupyter.md ("When a process dies") promises.

By hand: ONRUSH_BIN=… python tests/session/trials.py --trials 2000 --seed 7
"""

import argparse
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

import processes  # noqa: E402
from driver import Kernel, Ran  # noqa: E402

PROCESSES = ["kernel", "cell", "snapshot", "supervisor", "engine", "worker"]
FAULTS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "segfault": signal.SIGSEGV}
OPERATIONS = ["load", "query", "persist", "write", "compile", "publish", "page", "control"]

# Longer than any trial takes on a busy machine. A cell that has not ended by then is stuck.
STUCK = 60
ROWS = 20_000
# Rows are (i, i * 7 mod 13): the sum of the second column by arithmetic.
SUM = sum(i * 7 % 13 for i in range(ROWS))
HALF = sum(1 for i in range(ROWS) if i * 7 % 13 < 6)

SETUP = """let mut kept: Vec<u64> = Vec::new(); let mut shown = 0;
#[derive(Debug)] struct Mine(i32);
let rows = read_csv("rows.csv"); let held = rows.filter(x!(k < 6)).persist(); let toy = frame! {{ a: [1, 2, 3] }};
publish("shared-{name}", &held);"""
WORKER = """%%cuda
__global__ void one_more(int* data, int n) { int i = threadIdx.x; if (i < n) data[i] += 1; }"""
LAUNCH = "let mut buffer = Buffer::<i32>::zeros(3); one_more(1, 32, &mut buffer, 3);"
CONTROL = 'interact!(|n: 0..1_000_000| { println!("n is {n}") })'

CELLS = {
    "load": 'kept.push({n}); let l = read_csv("rows.csv").filter(x!(i >= {m})).persist(); println!("{{}}", l.shape().0);',
    "query": 'kept.push({n}); let q = rows.cross_join(&toy).group_by("k").agg(x!(s = (i + {m}).sum())); println!("{{}}", q.shape().0);',
    "persist": 'kept.push({n}); let p = rows.with_columns(x!(j = i + {m})).sort("k").persist(); println!("{{}}", p.shape().0);',
    "write": 'kept.push({n}); rows.with_columns(x!(j = i * 0 + {m})).write_parquet("out.parquet");',
    "compile": "kept.push({n}); fn compiled{n}(x: u64) -> u64 {{ (0..x).filter(|v| v % 3 == {m}).sum() }} let c = compiled{n}(1000);",
    "publish": 'kept.push({n}); publish("latest", &toy.with_columns(x!(b = a * 0 + {m})));',
}


@dataclass
class Trial:
    process: str
    fault: str
    operation: str
    delay: float
    # A stopped process goes on after so long.
    pause: float
    interrupt: bool

    def __str__(self):
        then = ", then an interrupt" if self.interrupt else ""
        return f"{self.fault} of the {self.process} {self.delay * 1000:.0f} ms into {self.operation}, {self.pause * 1000:.0f} ms{then}"


class Lost(AssertionError):
    """Something is not as it is promised."""


def require(true, what: str):
    if not true:
        raise Lost(what)


def draw(random_: random.Random) -> Trial:
    return Trial(
        process=random_.choice(PROCESSES),
        fault=random_.choice(list(FAULTS)),
        operation=random_.choice(OPERATIONS),
        delay=random_.choice([0.0, 0.002, 0.01, 0.05, 0.1, 0.2]) * random_.uniform(0.5, 1.5),
        pause=random_.uniform(0.05, 0.3),
        interrupt=random_.random() < 0.5,
    )


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def role_of(process: int) -> str:
    """Of a process of the session: `serve`, `engine` or `worker`."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[1].decode()
    except (OSError, IndexError):
        return ""


def strike(process: int, fault: str) -> bool:
    """A real segmentation fault comes again when its handler returns; one that is sent does not, so it is sent again."""
    hit = send(process, FAULTS[fault])
    if hit and fault == "segfault":
        until = time.monotonic() + 5
        while is_alive(process) and time.monotonic() < until:
            time.sleep(0.005)
            send(process, FAULTS[fault])
    return hit


def send(process: int, what: signal.Signals) -> bool:
    try:
        os.kill(process, what)
        return True
    except ProcessLookupError:
        return False


class Notebook:
    """A notebook under test, and what must be in it."""

    def __init__(self, kernelspecs, folder: Path, name: str):
        self.kernelspecs, self.folder, self.name = kernelspecs, folder, name
        self.start()

    def start(self):
        self.kernel = Kernel(self.kernelspecs, self.folder)
        self.pid = self.kernel.manager.provisioner.pid
        self.kept, self.control, self.table = [], None, None
        self.set_up()

    def set_up(self):
        """Variables, frames, a control. Also what is repeated when all that is lost by promise."""
        self.kept = []
        self.must(SETUP.format(name=self.name))
        ran, opened = self.run_and_see(CONTROL)
        sliders = [comm for comm, state in opened.items() if state.get("description") == "n"]
        require(ran.status == "ok" and sliders, f"no control: {ran}")
        self.control = sliders[-1]

    def close(self):
        self.kernel.close()

    def run_and_see(self, code: str) -> tuple[Ran, dict]:
        """Runs a cell. Also the comms that were opened meanwhile, with their states."""
        opened, client = {}, self.kernel.client
        begun, message = time.monotonic(), self.kernel.client.execute(code)
        real = client.get_iopub_msg

        def get(**options):
            content = real(**options)
            if content["msg_type"] == "comm_open":
                opened[content["content"]["comm_id"]] = content["content"]["data"].get("state", {})
            return content

        client.get_iopub_msg = get
        try:
            return self.kernel.wait(message, begun, STUCK), opened
        finally:
            client.get_iopub_msg = real

    def must(self, code: str) -> Ran:
        ran = self.kernel.run(code, timeout=STUCK)
        require(ran.status == "ok", f"{self.name}: {code}\n{ran.error_text if ran.error else ran.reply}")
        return ran

    def check(self, frames: bool = True):
        """Everything of the notebook is as it must be."""
        ran = self.must("println!(\"{kept:?} {:?}\", Mine(3));")
        require(ran.stdout.strip() == f"{self.kept} Mine(3)", f"{self.name}: variables are {ran.stdout!r}, not {self.kept}")
        if frames:
            ran = self.must(
                'println!("{} {} {} {}", rows.value::<i64>(x!(k.sum())), held.shape().0, toy.value::<i64>(x!(a.sum())), '
                f'get("shared-{self.name}").shape().0);'
            )
            require(ran.stdout.strip() == f"{SUM} {HALF} 6 {HALF}", f"{self.name}: frames are {ran.stdout!r}")

    def find(self, process: str) -> int | None:
        """A process of this notebook, or of the session."""
        match process:
            case "kernel":
                return self.pid
            case "supervisor" | "engine":
                role = "serve" if process == "supervisor" else "engine"
                found = [p for p in processes.named("onrush-session") if role_of(p) == role and is_alive(p)]
                # The engine of a supervisor that was killed ends a moment later.
                return max(found, default=None)
            case "worker":
                found = processes.below(self.pid, "onrush-session")
                return next((p for p in found if role_of(p) == "worker" and is_alive(p)), None)
        cells = processes.cell_processes(self.pid)
        above = processes.parents()
        wanted = [p for p in cells if (above.get(p) in cells) == (process == "snapshot") and is_alive(p)]
        return wanted[0] if wanted else None


class Bench:
    """Two notebooks of one session."""

    def __init__(self, kernelspecs, folder: Path, seed: int, verbose: bool = False):
        self.random, self.count, self.verbose = random.Random(seed), 0, verbose
        self.kernelspecs, self.folder = kernelspecs, folder
        (folder / "rows.csv").write_text("i,k\n" + "".join(f"{i},{i * 7 % 13}\n" for i in range(ROWS)))
        self.one, self.two = Notebook(kernelspecs, folder, "one"), Notebook(kernelspecs, folder, "two")
        self.latest, self.met = None, {}

    def close(self):
        self.one.close()
        self.two.close()

    def trial(self):
        trial = draw(self.random)
        self.count += 1
        if self.verbose:
            print(f"{self.count} {trial}", flush=True)
        try:
            self.attempt(trial)
        except Lost as lost:
            raise Lost(f"trial {self.count}, {trial}: {lost}") from None

    def attempt(self, trial: Trial):
        one, n, m = self.one, self.count, self.random.randrange(1, 1000)
        if trial.process == "worker" and one.find("worker") is None:
            one.must(WORKER)
            one.must(LAUNCH)
        begun, operation = time.monotonic(), trial.operation
        before = list(one.kept)
        message = self.begin(one, operation, n, m, slow=trial.process == "snapshot")
        time.sleep(trial.delay)
        target = one.find(trial.process)
        until = time.monotonic() + 0.5
        while target is None and trial.process == "snapshot" and operation != "page" and time.monotonic() < until:
            # It is there only while compiled code runs.
            target = one.find(trial.process)
        hit = target is not None and strike(target, trial.fault)
        self.met[trial.process, trial.fault, trial.operation] = self.met.get((trial.process, trial.fault, trial.operation), 0) + hit
        if hit and trial.fault == "stop":
            if trial.interrupt and trial.process != "kernel":
                one.kernel.interrupt()
            time.sleep(trial.pause)
            if trial.process in ("kernel", "snapshot") or not trial.interrupt:
                send(target, signal.SIGCONT)
        gone = hit and trial.fault != "stop"
        if gone and trial.process == "kernel":
            self.without_kernel(one)
            self.two.check()
            return
        ran = self.end(one, operation, message, begun, target if hit and trial.fault == "stop" else None)
        if hit and trial.fault == "stop":
            send(target, signal.SIGCONT)
        self.after(trial, hit, ran, before, n, m)

    def begin(self, one: Notebook, operation: str, n: int, m: int, slow: bool) -> str:
        client = one.kernel.client
        if operation == "page":
            comm = uuid.uuid4().hex
            ran = one.must("rows.sort(desc(\"i\"))")
            frame = next(b["application/vnd.onrush.table.v1+json"] for b in ran.bundles if "application/vnd.onrush.table.v1+json" in b)["frame"]
            message = client.session.msg("comm_open", {"comm_id": comm, "target_name": "onrush.data_explorer", "data": {"frame": frame}})
            client.shell_channel.send(message)
            spec = {"first_index": 100, "last_index": 150}
            data = {
                "id": 1, "method": "get_data_values",
                "params": {"columns": [{"column_index": 0, "spec": spec}], "format_options": {
                    "large_num_digits": 2, "small_num_digits": 4, "max_integral_digits": 7, "max_value_length": 100}},
            }
            message = client.session.msg("comm_msg", {"comm_id": comm, "data": data})
            client.shell_channel.send(message)
            return message["header"]["msg_id"]
        if operation == "control":
            message = client.session.msg(
                "comm_msg", {"comm_id": one.control, "data": {"method": "update", "state": {"value": n}, "buffer_paths": []}}
            )
            client.shell_channel.send(message)
            return message["header"]["msg_id"]
        # A snapshot is there only while compiled code runs: so long that it can be found.
        wait = "std::thread::sleep(std::time::Duration::from_millis(150)); " if slow else ""
        return client.execute(wait + CELLS[operation].format(n=n, m=m))

    def end(self, one: Notebook, operation: str, message: str, begun: float, stopped: int | None) -> Ran | None:
        """Waits until the work has ended. What is stopped and was interrupted has to end without going on; only if that takes longer
        than a person waits, it goes on, and the trial fails."""
        if operation not in CELLS:
            # Pages and controls are answered, or not; the cells after it say what is left.
            until = time.monotonic() + 1
            while time.monotonic() < until:
                try:
                    content = one.kernel.client.get_iopub_msg(timeout=0.1)
                except queue.Empty:
                    continue
                if content["parent_header"].get("msg_id") == message and content["content"].get("execution_state") == "idle":
                    break
            return None
        ran = one.kernel.wait(message, begun, STUCK)
        # An interrupt of something stopped is obeyed within seconds.
        require(stopped is None or ran.seconds < 15, f"the cell took {ran.seconds:.0f} s: {ran}")
        return ran

    def without_kernel(self, one: Notebook):
        """The kernel is gone, and with it its notebook; nothing that it started is left."""
        family = processes.cell_processes(one.pid)
        processes.wait_until(lambda: not is_alive(one.pid), 20, "the kernel is still there")
        processes.wait_until(lambda: not any(is_alive(p) for p in family), 20, "its cell process is still there")
        one.kernel.client.stop_channels()
        one.kernel.manager.cleanup_resources()
        self.one = Notebook(self.kernelspecs, self.folder, "one")

    def after(self, trial: Trial, hit: bool, ran: Ran | None, before: list, n: int, m: int):
        one, two, gone = self.one, self.two, hit and trial.fault != "stop"
        text = ran.error_text if ran is not None and ran.status == "error" and ran.error else ""
        # One cell sees what happened between two cells: it says so, and the next one runs.
        probe = one.kernel.run('println!("{}", kept.len());', timeout=STUCK)
        if probe.status == "error":
            text += probe.error_text
        lost = "lost" in text and "variables" in text
        # The cell had ended when the supervisor was asked to publish: the error says that what it did stays, and is published later.
        stays = "the cell has run, and its variables stay" in " ".join(text.split())
        may_lose_variables = hit and trial.process in ("cell", "snapshot")
        require(not lost or may_lose_variables, f"the variables are lost: {text}")
        if lost:
            # Only where there was no snapshot to go back to.
            require("Mine" in one.must('println!("{:?}", Mine(3));').stdout, "items are compiled and stay")
            one.set_up()
        else:
            if ran is not None and (ran.status == "ok" or stays):
                one.kept = before + [n]
            one.check(frames=False)
        if gone and trial.process == "supervisor":
            # Frames and what is published are gone with it; variables are not, and both notebooks go on.
            for notebook in (one, two):
                notebook.check(frames=False)
                notebook.set_up()
            self.latest = None
        for notebook in (one, two):
            notebook.check()
        published = ran is not None and (ran.status == "ok" or stays) and trial.operation == "publish"
        if published and not (gone and trial.process == "supervisor"):
            self.latest = m
        if self.latest is not None:
            found = two.must('println!("{}", get("latest").value::<i64>(x!(b.max())));').stdout.strip()
            require(found == str(self.latest), f"the published frame has {found}, not {self.latest}")
        if trial.operation == "write" and (self.folder / "out.parquet").exists():
            # The old file or the new one, never a part of one.
            found = two.must('println!("{}", read_parquet("out.parquet").shape().0);').stdout.strip()
            require(found == str(ROWS), f"the file has {found} rows")
            if ran is not None and ran.status == "ok":
                (self.folder / "out.parquet").unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="say each trial")
    arguments = parser.parse_args()
    os.environ.setdefault("ONRUSH_RUNTIME_DIR", tempfile.mkdtemp(prefix="onrush-s"))
    os.environ.setdefault("ONRUSH_IDLE", "5")
    prefix = tempfile.mkdtemp()
    subprocess.run([os.environ["ONRUSH_BIN"], "install", "--no-widgets", "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    import jupyter_client.kernelspec

    specs = jupyter_client.kernelspec.KernelSpecManager(kernel_dirs=[f"{prefix}/share/jupyter/kernels"], ensure_native_kernel=False)
    folder = Path(tempfile.mkdtemp(prefix="onrush-trials"))
    bench, begun, failures = Bench(specs, folder, arguments.seed, arguments.verbose), time.monotonic(), 0
    for n in range(arguments.trials):
        try:
            bench.trial()
        except BaseException as error:
            failures += 1
            print(f"{error}"[:3000], flush=True)
            if isinstance(error, KeyboardInterrupt):
                break
            met = bench.met
            bench.close()
            bench = Bench(specs, folder, arguments.seed + 1000 * failures, arguments.verbose)
            bench.met = met
        if (n + 1) % 50 == 0:
            print(f"{n + 1} trials, {failures} failures, {time.monotonic() - begun:.0f} s", flush=True)
    for process in PROCESSES:
        hits = {fault: sum(count for (p, f, _), count in bench.met.items() if (p, f) == (process, fault)) for fault in FAULTS}
        print(process, hits)
    bench.close()
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
