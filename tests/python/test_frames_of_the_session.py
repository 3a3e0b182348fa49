"""The Python package against the real session. Expected values are those of pyarrow, Polars, pandas and DuckDB."""

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import onrush
import onrush._client as client
import pandas as pd
import polars as pl
import processes
import pytest
import tables
from driver import Kernel
from onrush import OnrushError
from processes import wait_until


@pytest.fixture(autouse=True)
def session(runtime_dir, onrush_bin, monkeypatch):
    """The session of this run, which the first call starts."""
    monkeypatch.setenv("ONRUSH_PROGRAMS", str(onrush_bin.parent))
    monkeypatch.delenv("ONRUSH_SESSION", raising=False)
    client.SESSION.close()
    yield
    client.SESSION.close()


@pytest.fixture
def python(onrush_bin, runtime_dir):
    """Runs Python in another process, with the package."""

    def run(code: str, **options) -> subprocess.Popen:
        environment = os.environ | {"PYTHONPATH": str(Path(onrush.__file__).parents[1])}
        return subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return run


def test_a_session_is_started():
    assert isinstance(onrush.names(), dict)
    assert client.SESSION.hello["pid"] == processes.supervisor() and client.SESSION.hello["engine"]


@pytest.mark.parametrize("name", tables.COMMON.column_names)
def test_columns_come_back_as_they_went(name):
    """The session has them as views, or in other units, and gives the same values."""
    table = tables.COMMON.select([name])
    onrush.publish(table, "round")
    back = onrush.get("round").to_pyarrow()
    assert back[name].to_pylist() == table[name].to_pylist()
    empty = table.slice(0, 0)
    onrush.publish(empty, "round")
    assert onrush.get("round").shape == (0, 1)
    expected = back[name].cast(table.schema.field(name).type)
    assert expected.to_pylist() == table[name].to_pylist()


@pytest.mark.parametrize("name", tables.RARE)
def test_rare_types_come_back_or_are_refused(name):
    table = tables.EVERY.select([name])
    try:
        onrush.publish(table, "rare")
    except OnrushError as error:
        assert name in str(error) or "type" in str(error), error
        return
    values = onrush.get("rare")[name].to_pylist()
    expected = table[name].to_pylist()
    assert [str(v) for v in values] == [str(v) for v in expected] or values == expected


def test_polars_and_pandas_come_back():
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 1, 4), eager=True)
    frame = pl.DataFrame(
        {
            "n": [1, 2, None, 4],
            "s": ["a", "b", None, "a"],
            "c": pl.Series(["u", "v", None, "u"], dtype=pl.Categorical),
            "l": [[1], [], None, [2, 3]],
            "d": days,
            "b": [True, None, False, True],
        }
    )
    onrush.publish(frame, "p")
    back = onrush.get("p").to_polars()
    assert back.with_columns(pl.col("c").cast(pl.Categorical)).equals(frame)
    other = frame.drop("l").to_pandas()
    onrush.publish(other, "p")
    back = onrush.get("p").to_pandas()
    assert back["s"].isna().tolist() == [False, False, True, False] and back["n"].tolist()[:2] == [1.0, 2.0]
    assert back["c"].astype(str).tolist()[:2] == ["u", "v"]
    stamps = pd.DataFrame({"t": pd.date_range("2020-03-29", periods=3, freq="h", tz="Europe/Berlin")})
    onrush.publish(stamps, "p")
    back = onrush.get("p").to_pandas()
    assert back["t"].tolist() == stamps["t"].tolist() and "Berlin" in str(back["t"].dtype)


def test_sql_agrees_with_duckdb(data_dir):
    flights = pl.read_parquet(data_dir / "flights.parquet").select("carrier", "origin", "dep_delay", "distance")
    onrush.publish(flights, "flights")
    query = """
        select carrier, count(*) as n, avg(dep_delay) as delay, max(distance) as far
        from flights where origin = 'JFK' group by carrier order by carrier
    """
    answer = onrush.sql(query).to_polars()
    expected = duckdb.sql(query).pl()
    assert answer["carrier"].to_list() == expected["carrier"].to_list()
    assert answer["n"].to_list() == expected["n"].to_list() and answer["far"].to_list() == expected["far"].to_list()
    np.testing.assert_allclose(answer["delay"], expected["delay"], rtol=1e-12)
    frame = onrush.sql("select count(*) as n from flights", name="counted")
    assert frame["n"].to_pylist() == [flights.height] and onrush.get("counted").to_polars().item() == flights.height
    assert onrush.names()["counted"].columns[0].name == "n"
    with pytest.raises(OnrushError) as caught:
        onrush.sql("select carier from flights")
    assert "carier" in str(caught.value) and caught.value.error_class == "plan"
    # The connection goes on.
    assert len(onrush.sql("select 1 as one")) == 1


def test_names_come_and_go():
    onrush.publish({"a": [1, 2, 3]}, "mine")
    onrush.publish({"a": [1]}, "%private")
    names = onrush.names()
    assert names["mine"].rows == 3 and names["mine"].columns == [("a", "i64")] and "%private" not in names
    assert len(onrush.get("%private")) == 1
    onrush.publish({"b": ["x"]}, "mine")
    assert onrush.get("mine").columns == ["b"]
    onrush.unpublish("mine")
    onrush.unpublish("%private")
    with pytest.raises(OnrushError, match="mine"):
        onrush.get("mine")
    with pytest.raises(OnrushError, match="no column `z`"):
        onrush.publish({"b": ["x"]}, "mine")
        onrush.get("mine", ["z"])


def test_frames_of_a_rust_notebook(kernelspecs, data_dir):
    kernel = Kernel(kernelspecs, data_dir)
    try:
        kernel.ok('let flights = read_parquet("flights.parquet");')
        kernel.ok('publish("late", &flights.filter(x!(dep_delay > 60)).select(["carrier", "flight", "dep_delay"]));')
        late = onrush.get("late").to_polars()
        expected = pl.read_parquet(data_dir / "flights.parquet").filter(pl.col("dep_delay") > 60)
        assert late.equals(expected.select("carrier", "flight", "dep_delay").cast(late.schema))
        onrush.publish(late.group_by("carrier").len("n").sort("n", descending=True), "counts")
        assert kernel.value('get("counts").value::<i64>(x!(n.sum()))') == str(late.height)
    finally:
        kernel.close()


def test_one_memory_for_everybody(python):
    """Two gets map the same pages: the second process adds none."""
    onrush.publish({"x": np.arange(4_000_000)}, "big")
    first, second = onrush.get("big"), onrush.get("big")
    addresses = {
        first.to_pyarrow()["x"].chunk(0).buffers()[1].address,
        first.to_polars()["x"].to_numpy(allow_copy=False).ctypes.data,
        np.asarray(first["x"]).ctypes.data,
    }
    assert len(addresses) == 1
    inodes = {line.split()[4] for line in Path("/proc/self/maps").read_text().splitlines() if "memfd:onrush" in line}
    assert len(inodes) == 1, "each get has its own copy"
    assert np.array_equal(np.asarray(second["x"]), np.arange(4_000_000))
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(first["x"])[0] = 1


def test_some_columns():
    onrush.publish({"a": [1, 2], "b": ["x", "y"], "c": [0.5, 1.5]}, "three")
    assert onrush.get("three", ["c", "a"]).to_pyarrow().to_pydict() == {"c": [0.5, 1.5], "a": [1, 2]}
    assert onrush.get("three", []).columns == []


def test_a_thousand_gets_leak_nothing():
    onrush.publish({"x": np.arange(500_000), "s": ["text"] * 500_000}, "big")
    supervisor, engine = processes.supervisor(), processes.engine()

    def once():
        frame = onrush.get("big")
        assert int(np.asarray(frame["x"])[-1]) == 499_999
        frame.to_pyarrow()

    def held():
        descriptors = [len(os.listdir(f"/proc/{pid}/fd")) for pid in (os.getpid(), supervisor, engine)]
        return descriptors, [processes.resident_bytes(pid) for pid in (os.getpid(), supervisor, engine)]

    for _ in range(100):
        once()
    descriptors, memory = held()
    for _ in range(1000):
        once()
    descriptors_after, memory_after = held()
    assert all(after <= before + 2 for before, after in zip(descriptors, descriptors_after)), descriptors_after
    # A copy of the frame for each get would be 10 GB.
    assert all(after - before < 60_000_000 for before, after in zip(memory, memory_after)), (memory, memory_after)


def test_published_frames_are_freed():
    engine, supervisor = processes.engine(), processes.supervisor()
    before = shared_bytes(engine) + shared_bytes(supervisor)
    for _ in range(30):
        onrush.publish({"x": np.arange(5_000_000)}, "again")
    onrush.unpublish("again")
    wait_until(
        lambda: shared_bytes(engine) + shared_bytes(supervisor) - before < 100_000_000,
        20,
        "memory of old frames is kept",
    )


def shared_bytes(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssShmem"))


def test_the_engine_is_killed():
    onrush.publish({"x": np.arange(100_000)}, "kept")
    frame = onrush.get("kept")
    before = processes.engine()
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: processes.engine() != before, 10, "the engine is still there")
    assert int(np.asarray(frame["x"]).sum()) == 4999950000
    assert int(np.asarray(onrush.get("kept")["x"]).sum()) == 4999950000


def test_the_session_is_killed():
    onrush.publish({"x": np.arange(100_000)}, "lost")
    frame = onrush.get("lost")
    before, engine = processes.supervisor(), processes.engine()
    os.kill(before, signal.SIGKILL)
    # The engine outlives its parent by a moment.
    wait_until(lambda: not {before, engine} & set(processes.named("onrush-session")), 20, "the session is still there")
    assert int(frame.to_polars()["x"].sum()) == 4999950000
    with pytest.raises(OnrushError, match="lost"):
        onrush.get("lost")
    assert processes.supervisor() not in (None, before)


def test_python_is_killed(python):
    onrush.publish({"x": np.arange(10)}, "before")
    started = processes.supervisor()
    child = python(
        'import onrush, numpy\nonrush.publish({"x": numpy.arange(5_000_000)}, "orphan")\n'
        'kept = [onrush.get("orphan") for _ in range(50)]\nprint("ready", flush=True)\nimport time; time.sleep(100)'
    )
    assert child.stdout.readline() == "ready\n", child.stderr.read()
    descriptors = len(os.listdir(f"/proc/{started}/fd"))
    child.kill()
    child.wait()
    # Its connection goes, its frame stays.
    wait_until(lambda: len(os.listdir(f"/proc/{started}/fd")) < descriptors, 10, "the connection is kept")
    assert processes.supervisor() == started and len(onrush.get("orphan")) == 5_000_000
    onrush.unpublish("orphan")


def test_python_ends_cleanly_with_live_frames(python):
    onrush.publish(tables.COMMON, "all")
    child = python(
        "import sys, onrush, polars, pyarrow, numpy\nframe = onrush.get('all')\n"
        "sys.kept = [frame, frame.to_polars(), frame.to_pyarrow(), numpy.asarray(frame['i32']), frame]"
    )
    _, said = child.communicate(timeout=60)
    assert (child.returncode, said) == (0, "")


LONG = "select count(*) as n from range(40000) a(x), range(40000) b(y), range(40000) c(z) where x + y <> z"
ASKS = f"""
import onrush
onrush.names()
print("asks", flush=True)
try:
    onrush.sql("{LONG}")
except KeyboardInterrupt:
    print("stopped", len(onrush.sql("select 1 as one")))
"""


def test_an_interrupt_stops_a_query(python):
    child = python(ASKS)
    assert child.stdout.readline() == "asks\n", child.stderr.read()
    engine = processes.engine()
    ticks = processes.processor_ticks(engine)
    wait_until(lambda: processes.processor_ticks(engine) > ticks + 20, 20, "the engine does not work")
    child.send_signal(signal.SIGINT)
    said, errors = child.communicate(timeout=60)
    assert said == "stopped 1\n", errors


def test_the_variables_of_a_notebook(kernelspecs, data_dir, python):
    """A Python with the notebook's id sees its variables, others do not."""
    kernel = Kernel(kernelspecs, data_dir)
    try:
        kernel.ok("let toy = frame! { a: [1, 2, 3] };")
        with pytest.raises(OnrushError):
            onrush.get("toy")
    finally:
        kernel.close()


@pytest.fixture(autouse=True)
def names_are_left_as_found():
    yield
    with contextlib.suppress(OnrushError):
        for name in list(onrush.names()):
            onrush.unpublish(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_gets_nothing():
    onrush.publish({"x": [1]}, "secret")
    path = client.session_socket()
    outer = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    before = stat.S_IMODE(path.parent.stat().st_mode), stat.S_IMODE(path.stat().st_mode)
    assert before[0] == 0o700

    def as_nobody() -> str:
        """What another user gets by the socket's own path: an error, or the bytes of an answer."""
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
                with socket.socket(socket.AF_UNIX) as opened:
                    opened.settimeout(10)
                    opened.connect(f"/proc/self/fd/{outer}/{path.name}")
                    opened.sendall(client.MAGIC)
                    client.send(opened, {"op": "hello", "pid": os.getpid()})
                    found = opened.recv(100)
            except OSError as error:
                found = type(error).__name__.encode()
            finally:
                os.write(theirs, found or b"closed")
                os._exit(0)
        os.close(theirs)
        os.waitpid(child, 0)
        with os.fdopen(ours, "rb") as answer:
            return answer.read().decode()

    try:
        assert as_nobody() == "PermissionError"
        # Where the folder is open to all, the session looks at the user.
        path.parent.chmod(0o711)
        path.chmod(0o666)
        assert as_nobody() in ("closed", "BrokenPipeError", "ConnectionResetError")
    finally:
        path.parent.chmod(before[0])
        path.chmod(before[1])
        os.close(outer)
    assert len(onrush.get("secret")) == 1
