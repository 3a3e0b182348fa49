"""Queries on the workers of a cluster: right answers, workers that die or hang, and workers that are not ours.

Expected rows are DuckDB's over the same file, unless a test says otherwise.
"""

import contextlib
import os
import random
import re
import secrets
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import duckdb
import pytest

import processes
from driver import Kernel
from processes import wait_until

FLIGHTS = Path(__file__).parents[2] / "notebooks" / "data" / "flights.parquet"
# Some seconds on two threads: pairs of flights of a carrier on the same day.
LONG = """
let long = sql("select a.carrier, count(*) n, sum(sin(a.distance + b.distance)) s
    from flights a join flights b on a.month = b.month and a.day = b.day and a.carrier = b.carrier
    group by a.carrier order by a.carrier");
"""


class Worker:
    """A worker process, which ends with its standard input."""

    def __init__(self, onrush_bin: Path, token: str, *options: str, listen: str = "127.0.0.1:0"):
        program = onrush_bin.with_name("onrush-session")
        self.process = subprocess.Popen(
            [program, "worker-node", "--listen", listen, "--threads", "1", "--stdin", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.process.stdin.write(f"{token}\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        assert said.startswith("listening on 127.0.0.1:"), said
        self.address = said.split()[2].rstrip(":")

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        assert self.process.wait(10) in (0, -signal.SIGKILL)


@pytest.fixture
def workers(onrush_bin):
    started = []

    def start(token: str = os.environ["ONRUSH_TOKEN"], *options: str, **more: str) -> Worker:
        started.append(Worker(onrush_bin, token, *options, **more))
        return started[-1]

    yield start
    for worker in started:
        worker.close()


@pytest.fixture
def kernel(kernelspecs, tmp_path):
    kernel = Kernel(kernelspecs, tmp_path)
    yield kernel
    kernel.close()


def address(*workers: Worker) -> str:
    return "onrush://" + ",".join(worker.address for worker in workers)


def connect(kernel, *workers: Worker):
    kernel.ok(f'let c = connect("{address(*workers)}");')
    kernel.ok(f'let flights = c.read_parquet("{FLIGHTS}");')


def rows(kernel, frame: str, path: Path) -> list[tuple]:
    """The rows of a frame, through a file that DuckDB reads."""
    kernel.ok(f'{frame}.write_parquet("{path}");')
    return duckdb.sql(f"from '{path}'").fetchall()


def expected(query: str) -> list[tuple]:
    flights = duckdb.read_parquet(str(FLIGHTS))  # noqa: F841: the query names it.
    return duckdb.sql(query).fetchall()


def same(found: list[tuple], wanted: list[tuple]):
    assert len(found) == len(wanted)
    for left, right in zip(found, wanted, strict=True):
        for a, b in zip(left, right, strict=True):
            assert a == pytest.approx(b, rel=1e-9) if isinstance(b, float) else a == b


QUERIES = [
    "select carrier, count(*) n, avg(dep_delay) d, max(distance) m from flights group by carrier order by carrier",
    "select carrier, dest, count(*) n from flights where distance > 500 group by all order by n desc, carrier, dest limit 20",
    "select month, median(air_time) a, stddev(arr_delay) s from flights group by month order by month",
    "select carrier, month, rank() over (partition by carrier order by n desc) r from "
    "(select carrier, month, count(*) n from flights group by carrier, month) order by carrier, r, month",
    "select a.dest, count(*) n from flights a join (select dest, avg(air_time) t from flights group by dest) b "
    "on a.dest = b.dest where a.air_time > 1.2 * b.t group by a.dest order by n desc, a.dest limit 10",
    "select count(*) n from flights where dest in (select dest from flights group by dest having count(*) < 300)",
]


def test_queries_have_the_answers_of_duckdb(kernel, workers, tmp_path):
    connect(kernel, workers(), workers())
    for number, query in enumerate(QUERIES):
        kernel.ok(f'let q = sql("{query}");')
        assert "Stage 1" in kernel.value("q.explain()"), query
        same(rows(kernel, "q", tmp_path / f"{number}.parquet"), expected(query))


def test_one_worker_is_a_cluster(kernel, workers, tmp_path):
    connect(kernel, workers())
    kernel.ok(f'let q = sql("{QUERIES[0]}");')
    assert "Stage 1" in kernel.value("q.explain()")
    same(rows(kernel, "q", tmp_path / "q.parquet"), expected(QUERIES[0]))


def test_rows_of_the_session_go_to_the_workers(kernel, workers, tmp_path):
    connect(kernel, workers(), workers())
    kernel.ok('let names = frame! { carrier: ["UA", "B6", "EV"], name: ["United", "JetBlue", "ExpressJet"] };')
    kernel.ok('let q = sql("select name, count(*) n from flights join names using (carrier) group by name order by name");')
    # By DuckDB, with the names written out.
    wanted = expected(
        "select name, count(*) n from flights join (values ('UA', 'United'), ('B6', 'JetBlue'), ('EV', 'ExpressJet')) "
        "names(carrier, name) using (carrier) group by name order by name"
    )
    same(rows(kernel, "q", tmp_path / "q.parquet"), wanted)


def test_files_may_have_any_name_and_new_content(kernel, workers, tmp_path):
    path = tmp_path / "50% of [flights]?.parquet"
    kernel.ok(f'let c = connect("{address(workers(), workers())}");')
    for select in ["*", "* replace (distance + 1 as distance)"]:
        duckdb.sql(f"copy (select {select} from '{FLIGHTS}') to '{path}' (format parquet)")
        kernel.ok(f'let q = c.read_parquet("{path}").group_by("carrier").agg(x!(km = distance.sum())).sort("carrier");')
        assert "Stage 1" in kernel.value("q.explain()")
        # The first run decodes the columns, and the second finds them in the cache.
        for run in range(2):
            found = rows(kernel, f'q.with_columns(x!(run = {run}))', tmp_path / "q.parquet")
            wanted = f"select carrier, sum(distance + {int(select != '*')}), {run} from flights group by all order by 1"
            same(found, expected(wanted))


def test_a_worker_that_cannot_be_had_is_named(kernel, workers):
    worker, stranger = workers(), workers(secrets.token_hex(32))
    gone = workers()
    gone.process.kill()
    gone.process.wait(10)
    for other, word in [(stranger, "another token"), (gone, "cannot be reached")]:
        error = kernel.fails(f'connect("{address(worker, other)}");').error_text
        assert word in error and other.address in error, error
    for wrong in ["onrush://here", "http://127.0.0.1:1", "onrush://127.0.0.1:1,127.0.0.1:1"]:
        assert "onrush://gpu1:7433" in kernel.fails(f'connect("{wrong}");').error_text


def test_a_stranger_gets_nothing(kernel, workers):
    """Who has no token: plain text, TLS without a certificate, TLS with another certificate (`stranger` above), and 10,000 first
    messages of TLS with changed, missing or more bytes. The worker answers none of them, and serves its session afterwards."""
    worker, chance = workers(), random.Random(50)
    host, port = worker.address.split(":")

    def answer(message: bytes) -> bytes:
        with socket.create_connection((host, int(port)), 10) as to:
            to.settimeout(10)
            try:
                to.sendall(message)
                to.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: to.recv(65536), b""))
            except ConnectionError:
                return b""

    for plain in [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\0" * 1000]:
        # An alert of TLS at most.
        assert len(answer(plain)) <= 7
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with pytest.raises(OSError), socket.create_connection((host, int(port)), 10) as to, context.wrap_socket(to) as tls:
        # The refusal comes after the client's half of the handshake.
        tls.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert tls.recv(1) == b""
        raise OSError
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(into, out).do_handshake()
    hello = out.read()
    for _ in range(10_000):
        message = bytearray(hello)
        for _ in range(chance.randint(1, 5)):
            at = chance.randrange(len(message))
            match chance.randrange(3):
                case 0:
                    message[at] = chance.randrange(256)
                case 1:
                    del message[at : at + chance.randint(1, 20)]
                case 2:
                    message[at:at] = chance.randbytes(chance.randint(1, 20))
            message = message or bytearray(b"\0")
        answer(bytes(message))
    connect(kernel, worker)
    assert kernel.value("flights.value::<u64>(x!(len()))") == str(expected("select count(*) from flights")[0][0])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_that_dies_or_hangs_costs_one_retry(kernel, workers, tmp_path, how):
    first, second = workers(), workers()
    connect(kernel, first, second)
    kernel.ok(LONG)
    wanted = rows(kernel, "long", tmp_path / "wanted.parquet")
    kernel.ok(LONG.replace("sin(", "1 * sin("))
    threading.Timer(1.0, lambda: second.process.send_signal(how)).start()
    same(rows(kernel, "long", tmp_path / "again.parquet"), wanted)
    # The next query waits 3 s for its answer, and those after it do not.
    took = [kernel.ok(f'show(&sql("select count(*) n from flights where month > {month}"));').seconds for month in range(2, 6)]
    assert min(took[1:]) < 2.5, took


TRIALS = int(os.environ.get("ONRUSH_TRIALS", "50"))


def test_workers_that_fail_at_any_moment_cost_no_row(kernel, workers, tmp_path):
    """A join with groups and a sort, while a worker dies, stops, or stops for a while. One lost worker: the rows of DuckDB. Both: these
    rows, or an error that names one of them. Afterwards no task runs, and nothing is left on disk."""
    query = (
        "select a.carrier, b.dest, count(*) n, sum(a.distance + b.air_time) s from flights a join flights b "
        "on a.month = b.month and a.day = b.day and a.carrier = b.carrier where a.flight > {} group by all order by n desc, 1, 2"
    )
    spill, token, chance = tmp_path / "spill", os.environ["ONRUSH_TOKEN"], random.Random(50)
    small = ["--memory", "64MB", "--spill", str(spill)]
    both = [workers(token, *small), workers(token, *small)]
    connect(kernel, *both)
    wanted = expected(query.format(0))
    # A query is new if its text is: results of the session are kept.
    begun = time.monotonic()
    same(rows(kernel, f'sql("{query.format(-1)}")', tmp_path / "first.parquet"), wanted)
    usual, met = time.monotonic() - begun, Counter()
    for trial in range(2, TRIALS + 2):
        # A worker that does not come back is found after 13 s, so that there are few of these.
        how = chance.choices(["kill", "delay", "kill both", "stop"], [22, 18, 8, 2])[0]
        struck = chance.sample(both, 2 if how == "kill both" else 1)
        timers = []
        for worker in struck:
            at = chance.uniform(0, 1.2 * usual)
            timers.append(threading.Timer(at, worker.process.send_signal, [signal.SIGKILL if "kill" in how else signal.SIGSTOP]))
            if how == "delay":
                timers.append(threading.Timer(at + chance.uniform(0.05, 3), worker.process.send_signal, [signal.SIGCONT]))
        [timer.start() for timer in timers]
        ran = kernel.run(f'sql("{query.format(-trial)}").write_parquet("{tmp_path}/{trial}.parquet");')
        [timer.join() for timer in timers]
        if ran.status == "ok":
            same(duckdb.sql(f"from '{tmp_path}/{trial}.parquet'").fetchall(), wanted)
        else:
            assert how == "kill both" and any(worker.address in ran.error_text for worker in both), (trial, how, ran.error_text)
        met[how, ran.status == "ok"] += 1
        for worker in struck:
            if how in ("stop", "delay"):
                worker.process.send_signal(signal.SIGCONT)
            else:
                worker.process.wait(10)
                both[both.index(worker)] = workers(token, *small, listen=worker.address)
        wait_until(lambda: kernel.value('c.workers().filter(x!(device == "cpu" && tasks == 0)).height()') == "2", 30, f"trial {trial}: {how}")
    assert not list(spill.iterdir())
    # The trials met what they are for.
    assert all(met[case] for case in [("kill", True), ("delay", True), ("stop", True), ("kill both", False)]), met


def test_a_second_death_is_an_error_that_names_the_worker(kernel, workers):
    first, second = workers(), workers()
    connect(kernel, first, second)
    kernel.ok(LONG)
    threading.Timer(0.7, first.process.kill).start()
    threading.Timer(1.5, second.process.kill).start()
    error = kernel.fails("show(&long);").error_text
    assert first.address in error or second.address in error, error
    assert kernel.value("1 + 1") == "2"


def test_an_interrupt_ends_the_tasks_of_the_workers(kernel, workers):
    connect(kernel, workers(), workers())
    kernel.ok(LONG)
    threading.Timer(1.0, kernel.interrupt).start()
    assert "interrupted" in kernel.fails("show(&long);").error_text
    running = "c.workers().value::<u64>(x!(tasks.sum()))"
    wait_until(lambda: kernel.value(running) == "0", 10, "tasks still run")


def test_progress_has_the_rows_of_each_stage(kernel, workers):
    connect(kernel, workers(), workers())
    kernel.ok(LONG)
    message, rows = kernel.client.execute("show(&long);"), set()
    while True:
        said = kernel.client.get_iopub_msg(timeout=60)
        if said["parent_header"].get("msg_id") == message:
            if said["content"].get("execution_state") == "idle":
                break
            text = said["content"].get("data", {}).get("text/plain", "")
            rows |= {int(n.replace("_", "")) for n in re.findall(r"stage 1 on 2 workers: ([0-9_]+) rows", text)}
    # The first stage reads the flights, on both sides of the join.
    assert max(rows) >= expected("select count(*) from flights")[0][0]


def test_a_new_engine_connects_again(kernel, workers):
    connect(kernel, workers(), workers())
    count = 'flights.value::<u64>(x!(len()))'
    before = kernel.value(count)
    engine = processes.engine()
    os.kill(engine, signal.SIGKILL)
    wait_until(lambda: processes.engine() != engine, 10, "the engine is still there")
    assert kernel.value(count) == before


def test_steps_above_a_sort_keep_its_order(kernel, workers):
    connect(kernel, workers(), workers())
    kernel.ok("let km: Vec<f64> = flights.sort(\"distance\").select(x!(km = distance * 1.609)).column(\"km\").to_vec();")
    assert kernel.value("km.windows(2).all(|w| w[0] <= w[1])") == "true"
    kernel.ok(f'let held = read_parquet("{FLIGHTS}");')
    running = '.sort(["month", "day", "sched_dep_time", "carrier", "flight", "origin"]).select(x!(s = distance.cum_sum())).tail(1)'
    assert kernel.value(f'flights{running}.value::<i64>(x!(s.max()))') == kernel.value(f'held{running}.value::<i64>(x!(s.max()))')


def test_what_needs_one_order_runs_in_the_session(kernel, workers):
    connect(kernel, workers(), workers())
    # By definition: a frame has the rows of itself, and each time is the latest up to itself.
    twice = 'let h = flights.head(1000).select(["flight", "time_hour", "carrier"]);'
    assert kernel.value(f'{{ {twice} h.anti_join(&h, ["flight", "time_hour", "carrier"]).height() }}') == "0"
    kernel.ok('let latest = sql("select count(*) n from flights a asof join flights b on a.time_hour >= b.time_hour '
              'where a.time_hour <> b.time_hour");')
    assert kernel.value("latest.value::<i64>(x!(n.max()))") == "0"
    assert kernel.value("latest.explain().lines().next().unwrap().to_string()").count("The session runs this query") == 1
    several = 'sql("select count(*) n from flights where distance = (select distance from flights where flight = 1)")'
    assert "more than one row" in kernel.fails(f"show(&{several});").error_text


def calling() -> list[int]:
    """Processes that call functions for workers."""
    found = []
    for process in processes.named("onrush-cell"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if b"--calls" in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0"):
                found.append(process)
    return found


def once_calls_run(act):
    """Does something half a second after the first call process is there."""

    def wait():
        wait_until(calling, 60, "no call runs")
        time.sleep(0.5)
        act()

    threading.Thread(target=wait).start()


def test_functions_of_cells_are_called_on_the_workers(kernel, workers):
    connect(kernel, workers(), workers())
    kernel.ok("""fn collatz(start: u64) -> u64 {
        let (mut n, mut steps) = (start, 0);
        while n != 1 { n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 }; steps += 1; }
        steps
    }""")
    # The value is what the same function gives in the cell.
    assert kernel.value("c.map(collatz, 1..=3000u64) == (1..=3000u64).map(collatz).collect::<Vec<_>>()") == "true"
    pairs = 'c.map(|(name, times): (String, usize)| name.repeat(times), vec![("ab".to_string(), 2), ("é".to_string(), 3), (String::new(), 9)])'
    assert kernel.value(pairs) == '["abab", "ééé", ""]'
    assert kernel.value("c.map(|x: f64| x.sqrt(), Vec::<f64>::new()).len()") == "0"
    # Another process than the cell's, and not more of them than threads.
    assert kernel.value("{ let own = std::process::id(); let mut p = c.map(|_: u8| std::process::id(), [0; 100]); p.sort(); p.dedup(); "
                        "(p.contains(&own), p.len() <= 2) }") == "(false, true)"
    kernel.ok("fn picky(n: i32) -> i32 { if n == 3 { panic!(\"three is too many\") } if n == 5 { std::process::abort() } n * n }")
    error = kernel.fails("c.map(picky, 0..5)").error_text
    assert "call 3 of `picky` failed: three is too many" in error and "try_map" in error
    assert kernel.value("c.try_map(picky, 0..8).into_iter().filter_map(Result::ok).collect::<Vec<_>>()") == "[0, 1, 4, 16, 36, 49]"
    assert "SIGABRT" in kernel.value("c.try_map(picky, [5])[0].as_ref().unwrap_err().message.clone()")
    assert "captures variables" in kernel.fails("let factor = 2; c.map(move |n: i32| n * factor, 0..3)").error_text


def test_an_interrupt_ends_calls(kernel, workers):
    connect(kernel, workers(), workers())
    kernel.ok("fn slow(n: u64) -> u64 { std::thread::sleep(std::time::Duration::from_secs(600)); n }")
    once_calls_run(kernel.interrupt)
    assert "interrupted" in kernel.fails("c.map(slow, 0..4u64)").error_text
    wait_until(lambda: not calling(), 10, "calls still run")
    assert kernel.value("c.map(|n: u64| n + 1, [1])") == "[2]"


def test_calls_are_made_again_if_a_worker_dies(kernel, workers):
    first, second = workers(), workers()
    connect(kernel, first, second)
    kernel.ok("fn later(n: u64) -> u64 { std::thread::sleep(std::time::Duration::from_millis(40)); n * n }")
    once_calls_run(second.process.kill)
    assert kernel.value("c.map(later, 0..100u64) == (0..100u64).map(|n| n * n).collect::<Vec<_>>()") == "true"


def test_a_busy_worker_is_stopped_and_answers(kernel, workers):
    connect(kernel, workers(), workers())
    kernel.ok('let busy = sql("select count(*) n, sum(sin(a.distance + b.distance)) s from flights a join flights b '
              'on a.origin = b.origin and a.dep_delay < b.dep_delay");')
    threading.Timer(2.0, kernel.interrupt).start()
    assert "interrupted" in kernel.fails("show(&busy);").error_text
    running = "c.workers().value::<u64>(x!(tasks.sum()))"
    wait_until(lambda: kernel.value(running) == "0", 10, "tasks still run")
    assert kernel.value('c.workers().filter(x!(device == "cpu")).height()') == "2"
