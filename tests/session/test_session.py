"""The session outlives cells, cell processes, kernels and its own engine; notebooks share what they publish, and nothing else."""

import os
import re
import resource
import signal
import tempfile
import time
from pathlib import Path

import pytest

import processes
from driver import Kernel
from processes import wait_until


@pytest.fixture
def start(kernelspecs, data_dir):
    """Starts kernels in the data folder."""
    kernels = []

    def start() -> Kernel:
        kernels.append(Kernel(kernelspecs, data_dir))
        return kernels[-1]

    yield start
    for kernel in kernels:
        kernel.close()


FLIGHTS = 'let flights = read_parquet("flights.parquet");'
# Seconds of work on few columns, so that it does not need much memory.
# The first of a group needs the sort: one on which no result depends is left out.
LONG = 'concat([&flights.select(["tailnum", "dest"]); 25]).sort(["dest", "tailnum"]).group_by("dest").agg(x!(n = len(), first = tailnum.first()))'
JFK = "(111279, 19)"  # DuckDB: select count(*) from flights where origin = 'JFK'


def test_one_session_for_all_notebooks(start):
    one, two = start(), start()
    one.ok(FLIGHTS)
    two.ok(FLIGHTS)
    assert processes.supervisor() and processes.engine()
    assert len(processes.named("onrush-session")) == 2


def test_published_frames_are_shared_and_names_are_not(start):
    one, two = start(), start()
    one.ok(FLIGHTS)
    one.ok('publish("jfk_flights", &flights.filter(x!(origin == "JFK")));')
    assert two.value('get("jfk_flights").shape()') == JFK
    assert "flights" in two.fails('sql("select count(*) from flights")').error_text
    ran = two.fails('get("no_such_frame")')
    assert "no_such_frame" in ran.error_text


def test_the_names_of_frames_stay_after_a_cell_that_keeps_nothing(start):
    """The frame has three rows of one column."""
    kernel = start()
    kernel.ok("let df = frame! { a: [1, 2, 3] };\n#[test]\nfn adds() { assert_eq!(1 + 1, 2); }")
    kernel.ok('let text = String::from("a");')
    # Nothing can be kept where `text` is moved before.
    kernel.ok('if text == "a" { drop(text); return; }')
    assert kernel.value('sql("select a from df").shape()') == "(3, 1)"
    kernel.ok(":test")
    assert kernel.value('sql("select a from df").shape()') == "(3, 1)"


def test_a_failed_cell_publishes_nothing(start):
    one, two = start(), start()
    one.ok(FLIGHTS)
    one.fails('publish("half_done", &flights);\nlet n: Vec<i32> = vec![]; n[1]')
    two.fails('get("half_done")')


def test_the_engine_is_killed(start):
    kernel = start()
    kernel.ok(FLIGHTS)
    kernel.ok('let jfk = flights.filter(x!(origin == "JFK")).persist(); let toy = frame! { a: [1, 2, 3] };')
    assert kernel.value("jfk.shape()") == JFK
    before = processes.engine()
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: processes.engine() != before, 10, "the engine is still there")
    assert kernel.value("jfk.shape()") == JFK
    assert kernel.value("toy.shape()") == "(3, 1)"
    assert kernel.value('toy.value::<i64>(x!(a.sum()))') == "6"
    assert processes.engine() not in (None, before)


def test_the_engine_is_killed_while_it_works(start):
    kernel = start()
    kernel.ok(FLIGHTS)
    begun = time.monotonic()
    message = kernel.client.execute(LONG)
    time.sleep(1.5)
    os.kill(processes.engine(), signal.SIGKILL)
    kernel.wait(message, begun)
    assert kernel.value('flights.filter(x!(origin == "JFK")).shape()') == JFK


def test_the_engine_runs_out_of_memory(kernelspecs, data_dir, monkeypatch):
    """The system refuses it memory, as in a container that is too small: one cell fails with a sentence, everything else goes on."""
    with tempfile.TemporaryDirectory(prefix="onrush-m") as folder:
        monkeypatch.setenv("ONRUSH_RUNTIME_DIR", folder)
        # Threads that come later reserve no more address space of their own.
        monkeypatch.setenv("MALLOC_ARENA_MAX", "2")
        kernel = Kernel(kernelspecs, data_dir)
        try:
            kernel.ok(FLIGHTS)
            kernel.ok('let jfk = flights.filter(x!(origin == "JFK")).persist(); let list = vec![1, 2, 3];')
            status = Path(f"/proc/{processes.engine()}/status").read_text()
            limit = int(re.search(r"VmSize:\s+(\d+) kB", status)[1]) * 1024 + 1_000_000_000
            # The supervisor's limit is that of the engines that it starts.
            for process in (processes.supervisor(), processes.engine()):
                resource.prlimit(process, resource.RLIMIT_AS, (limit, limit))
            # A sort by two columns holds the rows of its order, where other steps go to disk.
            ran = kernel.fails('list.len(); concat([&flights; 40]).sort(["dep_delay", "tailnum"]).persist()')
            assert "the session's engine died" in ran.error["evalue"] and "refused memory" in ran.error["evalue"], ran.error_text
            assert "all variables are as they were before it" in ran.error_text
            assert kernel.value("(jfk.shape(), list.len())") == f"({JFK}, 3)"
        finally:
            kernel.close()


def test_a_cell_process_is_killed(start):
    kernel = start()
    kernel.ok(FLIGHTS)
    kernel.ok('publish("survivor", &flights);')
    for process in processes.cell_processes(kernel.manager.provisioner.pid):
        os.kill(process, signal.SIGKILL)
    # The first cell may say that variables are lost; the next ones work, and the session has its frames.
    kernel.run("1 + 1")
    assert kernel.value("1 + 1") == "2"
    assert kernel.value('get("survivor").shape()') == "(336776, 19)"


def test_a_kernel_process_is_killed(start):
    one, two = start(), start()
    one.ok(FLIGHTS)
    one.ok('publish("orphan", &flights.filter(x!(origin == "JFK")));')
    two.ok(FLIGHTS)
    kernel = one.manager.provisioner.pid
    below = processes.cell_processes(kernel)
    os.kill(kernel, signal.SIGKILL)
    assert two.value("flights.shape()") == "(336776, 19)"
    assert two.value('get("orphan").shape()') == JFK
    # Nothing of the dead notebook keeps running.
    wait_until(lambda: not set(below) & set(processes.named("onrush-cell")), 10, "its cell process is still there")


def test_released_frames_free_their_memory(start):
    kernel = start()
    kernel.ok(FLIGHTS)
    kernel.ok("let mut big = flights.head(1);")
    before = processes.resident_bytes(processes.engine())
    for _ in range(12):
        # Each holds about 60 MB; the old one is released when the cell succeeds.
        kernel.ok("big = concat([&flights, &flights]).with_columns(x!(n = distance * 2)).persist();")
    after = processes.resident_bytes(processes.engine())
    assert after - before < 600e6, f"{(after - before) / 1e6:.0f} MB more after twelve frames of which one lives"


def test_a_long_load_is_not_paid_twice(start, tmp_path):
    """The cell that loads and computes fails in its last line. Corrected, it finds what the failed one had finished."""
    text = "".join(f"{n * 7919 % 1_000_003},{n},{n % 97}.5\n" for n in range(600_000))
    (tmp_path / "large.csv").write_text("a,b,c\n" + text)
    kernel = start()
    kernel.ok("let small = frame! { e: [1] };")
    cell = (
        f'let large = read_csv("{tmp_path}/large.csv");\n'
        'let forty = large.head(40).select(["b"]).rename([("b", "e")]);\n'
        'let pairs = large.cross_join(&forty).group_by("a").agg(x!(n = len(), e = e.max(), c = c.mean())).persist();\n'
    )
    engine = processes.engine()
    begun = processes.processor_ticks(engine)
    assert "no_such_column" in kernel.fails(cell + 'pairs.select(["no_such_column"])').error_text
    first = processes.processor_ticks(engine) - begun
    # The mistake is made twice, as people do.
    kernel.fails(cell + 'pairs.select(["nor_this_one"])')
    # By hand: the products run through different remainders, because 1 000 003 is a prime number.
    assert kernel.value(cell + "pairs.shape()") == "(600000, 4)"
    assert kernel.value("pairs.value::<i64>(x!(n.sum() + e.max()))") == str(40 * 600_000 + 39)
    later = processes.processor_ticks(engine) - begun - first
    assert first > 20 and later < first / 3, f"{first} ticks for the cell that failed, {later} for the two after it"
    assert processes.engine() == engine


def test_interrupt_stops_the_work_in_the_engine(start):
    import threading

    kernel = start()
    kernel.ok(FLIGHTS)
    timer = threading.Timer(1.5, kernel.interrupt)
    timer.start()
    ran = kernel.fails('flights.cross_join(&flights).group_by("dest").agg(x!(n = len()))')
    timer.join()
    assert "interrupt" in ran.error_text.lower()
    assert ran.seconds < 15
    assert kernel.value("flights.shape()") == "(336776, 19)"


def test_progress_is_shown_and_cleaned_up(start):
    kernel = start()
    kernel.ok(FLIGHTS)
    # Another order than in the test above, whose result is kept.
    message = kernel.client.execute(LONG.replace('"dest", "tailnum"', '"tailnum", "dest"'))
    kinds, last = [], {}
    while True:
        content = kernel.client.get_iopub_msg(timeout=120)
        if content["parent_header"].get("msg_id") != message:
            continue
        kind, body = content["msg_type"], content["content"]
        kinds.append(kind)
        if "transient" in body:
            last[body["transient"].get("display_id")] = body["data"]
        if kind == "status" and body["execution_state"] == "idle":
            break
    kernel.client.get_shell_msg(timeout=10)
    assert "update_display_data" in kinds, kinds
    assert kinds.count("execute_result") == 1


def test_the_session_ends_when_nobody_needs_it(kernelspecs, data_dir):
    """conftest.py lets a session stay idle for five seconds."""
    kernel = Kernel(kernelspecs, data_dir)
    kernel.ok(FLIGHTS)
    supervisor, engine = processes.supervisor(), processes.engine()
    assert supervisor and engine
    kernel.close()
    wait_until(lambda: not {supervisor, engine} & set(processes.named("onrush-session")), 20, "the session is still there")
