"""The client against a fake session: frames of every type, conversions, errors, and the life of the connection.

The fake session writes with pyarrow, and expected values are pyarrow's, Polars' and NumPy's.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import onrush
import onrush._client as client
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tables
from onrush import OnrushError


def test_every_type_goes_both_ways(fake):
    fake.frames["all"] = tables.EVERY
    frame = onrush.get("all")
    table = frame.to_pyarrow()
    assert table.equals(tables.EVERY) and table.schema.equals(tables.EVERY.schema)
    table.validate(full=True)
    assert frame.shape == (3, tables.EVERY.num_columns) and frame.columns == tables.EVERY.column_names
    onrush.publish(frame, "again")
    assert fake.frames["again"].equals(tables.EVERY)
    onrush.publish(table, "table")
    assert fake.frames["table"].equals(tables.EVERY)


@pytest.mark.parametrize("name", tables.EVERY.column_names)
def test_values_of_every_type(fake, name):
    fake.frames["all"] = tables.EVERY
    column = onrush.get("all", [name])[name]
    expected = tables.EVERY[name]
    if expected.type == pa.time64("ns"):
        # Python's times of day have no nanoseconds.
        expected = expected.cast(pa.time64("us"), safe=False)
    assert column.to_pylist() == expected.to_pylist()
    assert column.null_count == expected.null_count and len(column) == 3


def test_frames_without_rows(fake):
    fake.frames["none"] = tables.EVERY.slice(0, 0)
    frame = onrush.get("none")
    assert frame.to_pyarrow().equals(tables.EVERY.slice(0, 0))
    assert len(frame.to_pandas()) == 0 and "0 rows" in repr(frame)
    for name in frame:
        assert len(np.asarray(frame[name])) == 0


def test_several_batches(fake):
    fake.frames["two"] = pa.concat_tables([pa.table({"a": [1, 2], "s": ["x", "y"]}), pa.table({"a": [3], "s": ["z"]})])
    frame = onrush.get("two")
    assert frame.to_pyarrow().num_rows == 3 and frame["a"].to_pylist() == [1, 2, 3]
    assert np.asarray(frame["a"]).tolist() == [1, 2, 3] and frame.to_polars()["s"].to_list() == ["x", "y", "z"]


def test_dictionaries_and_views_go_by_pyarrow(fake):
    table = pa.table(
        {
            "c": pa.array(["a", "b", "a"]).dictionary_encode(),
            "v": pa.array(["x", None, "long enough to be outside"], pa.string_view()),
        }
    )
    fake.frames["dict"] = table
    frame = onrush.get("dict")
    assert frame.to_pyarrow().equals(table) and frame["c"].to_pylist() == ["a", "b", "a"]
    assert frame.to_polars()["v"].to_list() == table["v"].to_pylist()
    assert onrush.get("dict", ["v"]).columns == ["v"]
    assert "a" in repr(frame) and np.asarray(frame["v"]).tolist() == table["v"].to_pylist()


def test_addresses_are_the_same_everywhere(fake):
    fake.frames["n"] = pa.table({"x": np.arange(1000), "y": np.arange(1000) / 7})
    frame = onrush.get("n")
    addresses = {
        frame.to_pyarrow()["y"].chunk(0).buffers()[1].address,
        frame.to_polars()["y"].to_numpy(allow_copy=False).ctypes.data,
        np.asarray(frame["y"]).ctypes.data,
        np.from_dlpack(frame["y"]).ctypes.data,
        frame["y"].__array_interface__["data"][0],
    }
    assert len(addresses) == 1
    assert np.array_equal(np.asarray(frame["y"]), np.arange(1000) / 7)


def test_frames_are_read_only(fake):
    fake.frames["n"] = pa.table({"x": np.arange(10)})
    frame = onrush.get("n")
    array = np.asarray(frame["x"])
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    with pytest.raises(ValueError):
        array.flags.writeable = True
    with pytest.raises(ValueError, match="read-only"):
        np.from_dlpack(frame["x"])[0] = 1
    with pytest.raises(TypeError):
        frame._memory.view[0] = 1
    assert frame["x"].__array_interface__["data"][1] is True
    copied = np.array(frame["x"])
    copied[0] = 5
    assert frame["x"].head(1) == [0]


def test_numpy_copies_what_it_cannot_share(fake):
    fake.frames["all"] = tables.EVERY
    frame = onrush.get("all")
    assert np.asarray(frame["b"]).tolist() == [True, False, True] and np.asarray(frame["b"]).dtype == bool
    assert np.asarray(frame["b_null"]).tolist() == [None, False, True]
    np.testing.assert_array_equal(np.asarray(frame["i8"]), [1.0, np.nan, -3.0])
    assert np.asarray(frame["f32"]).dtype == np.float32 and np.isnan(np.asarray(frame["f32"])[0])
    assert np.asarray(frame["d"]).dtype == "M8[D]" and np.isnat(np.asarray(frame["d"])[1])
    assert np.asarray(frame["ts"]).dtype == "M8[us]" and np.asarray(frame["ts"]).tolist()[2].microsecond == 999997
    assert np.asarray(frame["s"]).tolist() == ["a", None, "éß🦀"]
    assert np.asarray(frame["i32"], dtype="f8").tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(frame["b"], copy=False)
    assert not hasattr(frame["s"], "__array_interface__") and not hasattr(frame["i32"], "__cuda_array_interface__")


def test_dlpack_refuses_what_it_cannot_describe(fake):
    fake.frames["all"] = tables.EVERY
    frame = onrush.get("all")
    assert frame["i32"].__dlpack_device__() == (1, 0)
    for name, why in [("i64", "nulls"), ("b", "bool"), ("s", "nulls"), ("ts", "timestamp")]:
        with pytest.raises(BufferError, match=why):
            np.from_dlpack(frame[name])
    with pytest.raises(BufferError, match="read-only"):
        frame["i32"].__dlpack__()
    assert np.from_dlpack(frame["i32"], copy=True).flags.writeable
    with pytest.raises(BufferError, match="host"):
        frame["i32"].__dlpack__(dl_device=(2, 0))


NANOSECONDS = pa.table(
    {
        "t": pa.array([1, None, -1_000_000_001], pa.timestamp("ns")),
        "tz": pa.array([1, None, 1_600_000_000_123_456_789], pa.timestamp("ns", "Europe/Berlin")),
        "d": pa.array([1, None, -1], pa.duration("ns")),
        "whole": pa.array([1000, None, -1000], pa.timestamp("ns")),
        "list": pa.array([[1], None, [2, None]], pa.list_(pa.timestamp("ns"))),
    }
)


def test_nanoseconds_are_kept(fake):
    fake.frames["ns"] = NANOSECONDS
    frame = onrush.get("ns")
    for name in frame:
        assert frame[name].to_pylist() == NANOSECONDS[name].to_pylist(), name
    assert frame["t"].to_pylist()[0].nanosecond == 1 and frame["d"].to_pylist()[0].nanoseconds == 1
    assert np.asarray(frame["t"]).dtype == "M8[ns]" and np.asarray(frame["d"]).dtype == "m8[ns]"
    assert np.asarray(frame["t"]).view("i8")[[0, 2]].tolist() == [1, -1_000_000_001]
    # A column of a dictionary is read by pyarrow, and so are the others then.
    fake.frames["ns"] = NANOSECONDS.append_column("c", pa.array(["a", "b", "a"]).dictionary_encode())
    frame = onrush.get("ns")
    assert frame["t"].to_pylist()[0].nanosecond == 1 and np.asarray(frame["t"]).dtype == "M8[ns]"


def test_times_that_python_has_not(fake):
    fake.frames["far"] = pa.table({"t": pa.array([1 << 62, 0], pa.timestamp("us"))})
    frame = onrush.get("far")
    assert "…" in repr(frame) and "…" in repr(frame["t"])
    with pytest.raises(OnrushError, match="9999") as caught:
        frame["t"].to_pylist()
    assert caught.value.code == "no-python-value"
    assert np.asarray(frame["t"]).view("i8").tolist() == [1 << 62, 0]


def test_values_without_their_package_are_an_error(fake, monkeypatch):
    """Nobody computes with what a repr shows instead."""
    import nanoarrow.iterator

    def unknown(_):
        raise NotImplementedError("nanoarrow does not know it")

    fake.frames["ns"] = NANOSECONDS
    frame = onrush.get("ns")
    for name in ("pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("t", "tz", "d", "list"):
        with pytest.raises(OnrushError, match="pip install pandas") as caught:
            frame[name].to_pylist()
        assert caught.value.code == "missing-package"
    assert frame["whole"].to_pylist()[0].microsecond == 1
    assert "00:00:00.000000001, null, 1969-12-31 23:59:58.999999999" in repr(frame["t"])
    assert np.asarray(frame["t"]).view("i8")[0] == 1
    monkeypatch.setattr(nanoarrow.iterator, "iter_py", unknown)
    assert "…" in repr(frame["whole"])
    for call in (frame["whole"].to_pylist, lambda: frame["whole"].head(2)):
        with pytest.raises(OnrushError, match="pip install pyarrow") as caught:
            call()
        assert caught.value.code == "missing-package"


class FakeDriver:
    """Maps every descriptor at one address."""

    ordinal = 0

    def map(self, descriptor, size):
        return 1 << 21, size

    def unmap(self, address, length):
        pass


def is_on_device(column) -> bool:
    return hasattr(column, "__cuda_array_interface__")


def test_a_column_on_a_gpu_is_that_of_the_frame(fake, monkeypatch):
    """By the number of the object: the name may stand for another frame by now. Nothing is started to look."""
    import onrush._device as device

    monkeypatch.setattr(device, "driver", lambda ordinal: FakeDriver())
    fake.has_device = True
    first = fake.frames["x"] = pa.table({"x": [1, 2, 3]})
    frame = onrush.get("x")
    assert frame["x"].__cuda_array_interface__["shape"] == (3,)
    [asked] = [r for r in fake.requests if r["op"] == "get_device"]
    assert asked == {"op": "get_device", "name": "x", "column": "x", "id": id(first)}
    fake.frames["x"] = pa.table({"x": [7, 8, 9]})
    assert not is_on_device(frame["x"]) and is_on_device(onrush.get("x")["x"])
    assert len(onrush.get_device("x", "x")) == 3
    # An unknown name is an error of the session.
    del fake.frames["x"]
    assert not is_on_device(frame["x"])
    fake.frames["x"] = first
    assert is_on_device(frame["x"])
    # Answers of queries and private frames have no name that others know.
    fake.frames["%x"] = first
    before = len(fake.requests)
    assert not is_on_device(onrush.sql("select * from x")["x"]) and not is_on_device(onrush.get("%x")["x"])
    assert [r["op"] for r in fake.requests[before:]] == ["sql", "get"]
    # Another session, and none.
    monkeypatch.setitem(client.SESSION.hello, "pid", 1)
    assert not is_on_device(frame["x"])
    monkeypatch.setitem(client.SESSION.hello, "pid", os.getpid())
    assert is_on_device(frame["x"])
    fake.hang_up()
    assert not is_on_device(frame["x"])
    opened = sum(r["op"] == "hello" for r in fake.requests)
    assert not is_on_device(frame["x"]) and opened == sum(r["op"] == "hello" for r in fake.requests) == 1


def test_a_driver_that_fails_is_no_error_of_a_look(fake, monkeypatch):
    import onrush._device as device

    def driver(ordinal):
        raise OnrushError("the CUDA driver cannot be loaded in this process", code="no-driver")

    monkeypatch.setattr(device, "driver", driver)
    fake.has_device = True
    fake.frames["x"] = pa.table({"x": [1, 2, 3]})
    assert not is_on_device(onrush.get("x")["x"])
    with pytest.raises(OnrushError, match="cannot be loaded"):
        onrush.get_device("x", "x")


def test_conversions(fake):
    fake.frames["c"] = tables.COMMON
    frame = onrush.get("c")
    assert frame.to_polars().equals(pl.DataFrame(tables.COMMON))
    pd.testing.assert_frame_equal(frame.to_pandas(), tables.COMMON.to_pandas())
    pd.testing.assert_frame_equal(pd.DataFrame.from_arrow(frame), pd.DataFrame.from_arrow(tables.COMMON))
    assert pl.Series(frame["i32"]).to_list() == [1, 2, 3] and pa.chunked_array(frame["s"]).to_pylist() == [
        "a",
        None,
        "éß🦀",
    ]
    with pytest.raises(KeyError, match="i8"):
        frame["missing"]
    assert list(frame) == frame.columns and "i8" in frame and "x" not in frame


def test_what_a_frame_shows_of_itself(fake):
    fake.frames["late"] = pa.table({"carrier": ["UA", None, "<b>"] * 5, "minutes": range(15)})
    frame = onrush.get("late")
    lines = repr(frame).splitlines()
    assert lines[0].split() == ["carrier", "minutes"] and lines[1].split() == ["string", "int64"] and len(lines) == 13
    assert lines[-1] == "15 rows of `late`, 2 columns"
    shown = frame._repr_html_()
    assert "&lt;b&gt;" in shown and "<b>" not in shown and shown.count("<tr>") == 11
    assert repr(frame["minutes"]) == "minutes: int64 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …] (15 rows)"


PUBLISHED = {
    "polars": lambda: pl.DataFrame({"a": [1, 2], "s": ["x", None]}),
    "pandas": lambda: pd.DataFrame({"a": [1, 2], "s": ["x", None]}),
    "pandas, filtered": lambda: pd.DataFrame({"a": [0, 1, 2], "s": ["", "x", None]})[1:],
    "pyarrow table": lambda: pa.table({"a": [1, 2], "s": ["x", None]}),
    "pyarrow batch": lambda: pa.record_batch({"a": [1, 2], "s": ["x", None]}),
    "pyarrow reader": lambda: pa.table({"a": [1, 2], "s": ["x", None]}).to_reader(),
    "dict of lists": lambda: {"a": [1, 2], "s": ["x", None]},
    "dict of arrays": lambda: {"a": np.array([1, 2]), "s": np.array(["x", None], object)},
    "dict of series": lambda: {"a": pl.Series([1, 2]), "s": pd.Series(["x", None])},
    "capsules": lambda: Capsules(pa.table({"a": [1, 2], "s": ["x", None]})),
}


class Capsules:
    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", PUBLISHED)
def test_publish_takes_tables(fake, kind):
    onrush.publish(PUBLISHED[kind](), "p")
    assert fake.frames["p"].to_pydict() == {"a": [1, 2], "s": ["x", None]}


def test_publish_of_pandas(fake):
    frame = pd.DataFrame({"x": [1.5, 2.5]}, index=pd.Index(["a", "b"], name="key"))
    onrush.publish(frame, "p")
    assert fake.frames["p"].to_pydict() == {"key": ["a", "b"], "x": [1.5, 2.5]}
    assert fake.frames["p"].schema.metadata is None
    onrush.publish(pd.DataFrame({0: [1], 1: [2]}), "p")
    assert fake.frames["p"].column_names == ["0", "1"]
    onrush.publish(
        pd.DataFrame({"c": pd.Categorical(["u", "v", "u"]), "t": pd.date_range("2020", periods=3, tz="Europe/Berlin")}),
        "p",
    )
    assert fake.frames["p"]["c"].to_pylist() == ["u", "v", "u"] and "Berlin" in str(
        fake.frames["p"].schema.field("t").type
    )
    doubled = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(OnrushError, match="two columns have the name 'a'"):
        onrush.publish(doubled, "p")


def test_publish_of_an_index_with_the_name_of_a_column(fake):
    frame = pd.DataFrame({"x": [1], "y": [2]}, index=pd.Index([7], name="x"))
    for table in (frame, frame.set_index(pd.MultiIndex.from_tuples([(1, 2)], names=["k", "k"]))):
        with pytest.raises(OnrushError, match="level of the index") as caught:
            onrush.publish(table, "p")
        assert caught.value.code == "duplicate-column" and "reset_index(drop=True)" in str(caught.value)
    onrush.publish(frame.reset_index(drop=True), "p")
    assert fake.frames["p"].column_names == ["x", "y"]


def test_publish_of_a_choice_of_columns(fake):
    """The memory of the frame has all columns."""
    fake.frames |= {"all": tables.EVERY, "dict": pa.table({"a": [1], "c": pa.array(["u"]).dictionary_encode()})}
    onrush.publish(onrush.get("all", ["s", "i32"]), "slim")
    assert fake.frames["slim"].equals(tables.EVERY.select(["s", "i32"]))
    onrush.publish(onrush.get("dict", ["c"]), "slim")
    assert fake.frames["slim"].equals(fake.frames["dict"].select(["c"]))
    onrush.publish(onrush.get("all"), "whole")
    assert fake.frames["whole"].equals(tables.EVERY)


def test_publish_of_numpy(fake):
    onrush.publish(np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]), "p")
    assert fake.frames["p"].to_pydict() == {"a": [1], "b": [2.5]}
    onrush.publish({"a": np.arange(3, dtype="u1"), "b": range(3), "c": np.array(["2020-01-01"] * 3, "M8[D]")}, "p")
    assert fake.frames["p"].schema.types == [pa.uint8(), pa.int64(), pa.date32()]


REFUSED = {
    "a number": (lambda: 3, "a value of type int"),
    "a list": (lambda: [1], "a value of type list"),
    "a series of Polars": (lambda: pl.Series([1]), "to_frame"),
    "a series of pandas": (lambda: pd.Series([1]), "to_frame"),
    "an array of pyarrow": (lambda: pa.array([1]), "pyarrow.Int64Array"),
    "a matrix": (lambda: np.zeros((2, 2)), "name the columns"),
    "a lazy frame": (lambda: pl.LazyFrame({"a": [1]}), "collect"),
    "columns of two lengths": (lambda: {"a": [1], "b": [1, 2]}, "a: 1, b: 2"),
    "a string as column": (lambda: {"a": "xyz"}, "'a' is a value of type str"),
    "a matrix as column": (lambda: {"a": np.zeros((2, 2))}, "2 dimensions"),
    "mixed values": (lambda: {"a": [1, "x"]}, "'a' cannot be Arrow"),
    "mixed values of pandas": (lambda: pd.DataFrame({"a": [1, "x"]}), "column a"),
    "large integers": (lambda: {"a": [1 << 70]}, "at most 64 bits"),
    "large integers of NumPy": (lambda: {"a": np.array([1 << 70, 1])}, "at most 64 bits"),
    "large integers of pandas": (lambda: pd.DataFrame({"a": [1 << 70, 1]}), "at most 64 bits"),
    "large integers of Polars": (lambda: pl.DataFrame({"a": [1 << 70]}), "at most 64 bits"),
    "half a surrogate pair": (lambda: {"a": ["\ud800"]}, "leave halves of surrogate pairs out"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_publish_refuses_what_is_no_table(fake, kind):
    make, says = REFUSED[kind]
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OnrushError) as caught:
        onrush.publish(make(), "p")
    assert says in str(caught.value) and "p" not in fake.frames
    del caught
    assert len(os.listdir("/proc/self/fd")) <= before


def test_names_sql_and_unpublish(fake):
    fake.frames |= {"late": pa.table({"a": [1, 2]}), "%private": pa.table({"a": [1]})}
    assert list(onrush.names()) == ["late"]
    assert onrush.names()["late"].rows == 2 and onrush.names()["late"].columns == [("a", "int64")]
    assert onrush.sql("select * from late").to_pyarrow().to_pydict() == {"a": [1, 2]}
    assert onrush.sql("select * from late", name="copy").name == "copy" and "copy" in fake.frames
    onrush.unpublish("late")
    with pytest.raises(OnrushError) as caught:
        onrush.get("late")
    error = caught.value
    assert (error.message, error.code, error.error_class) == ("no frame has the name `late`", "unknown-name", "plan")
    assert error.help == ["the names are `late`"] and error.notes == ["a note"]
    assert str(error).splitlines() == [error.message, "note: a note", "help: the names are `late`"]
    for call in (lambda: onrush.get(3), lambda: onrush.get("copy", "a"), lambda: onrush.publish({}, 3)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(OnrushError, match="is on the host"):
        onrush.get_device("copy", "a")


def test_a_lost_connection_is_opened_again(fake):
    fake.frames["late"] = pa.table({"a": [1]})
    onrush.get("late")
    fake.hang_up()
    assert len(onrush.get("late")) == 1
    hello = [r for r in fake.requests if r["op"] == "hello"]
    assert len(hello) == 2 and hello[0]["pid"] == os.getpid() and hello[0]["client"].startswith("python 3")


def test_a_forked_child_has_its_own_connection(fake):
    fake.frames["late"] = pa.table({"a": [1, 2]})
    frame = onrush.get("late")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.write(write, str((len(onrush.get("late")), frame["a"].to_pylist())).encode())
        os._exit(0)
    os.close(write)
    assert os.read(read, 100) == b"(2, [1, 2])"
    os.close(read)
    os.waitpid(child, 0)
    assert len(onrush.get("late")) == 2
    assert len({r["pid"] for r in fake.requests if r["op"] == "hello"}) == 2


def test_threads_take_turns(fake):
    fake.frames |= {f"t{i}": pa.table({"a": [i] * (i + 1)}) for i in range(8)}
    wrong = []

    def ask(i):
        for _ in range(20):
            if onrush.get(f"t{i}")["a"].to_pylist() != [i] * (i + 1):
                wrong.append(i)

    threads = [threading.Thread(target=ask, args=[i]) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len([r for r in fake.requests if r["op"] == "hello"]) == 1


def test_keyboard_interrupt_stops_the_session(fake):
    fake.frames["late"] = pa.table({"a": [1]})
    onrush.get("late")
    fake.slow = True
    threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        onrush.sql("select * from late")
    assert time.monotonic() - begun < 5 and fake.interrupted.is_set()
    # The second connection has taken the place of the first.
    assert len(onrush.get("late")) == 1 and len([r for r in fake.requests if r["op"] == "hello"]) == 2


def test_received_descriptors_are_not_inherited():
    ours, theirs = socket.socketpair()
    memory = os.memfd_create("x")
    client.send(theirs, {"ok": True}, memory)
    reply, descriptor = client.receive(ours)
    assert reply == {"ok": True} and not os.get_inheritable(descriptor)
    for one in (memory, descriptor):
        os.close(one)
    ours.close()
    theirs.close()


def test_the_folder_and_the_user_are_checked(fake, monkeypatch):
    folder = Path(os.environ["ONRUSH_SESSION"]).parent
    folder.chmod(0o777)
    with pytest.raises(OnrushError, match="not private") as caught:
        onrush.names()
    assert "chmod 700" in str(caught.value)
    folder.chmod(0o700)
    assert onrush.names() == {}
    client.SESSION.close()
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    with pytest.raises(OnrushError, match=r"not private|another user"):
        onrush.names()


def test_memory_that_could_change_is_refused(fake, monkeypatch):
    import fake_session

    fake.frames["late"] = pa.table({"a": [1]})

    def unsealed(table):
        sealed = seal(table)
        copy = os.memfd_create("x", os.MFD_ALLOW_SEALING)
        os.write(copy, os.pread(sealed, os.fstat(sealed).st_size, 0))
        os.close(sealed)
        return copy

    seal = fake_session.seal
    monkeypatch.setattr(fake_session, "seal", unsealed)
    with pytest.raises(OnrushError, match="not sealed"):
        onrush.get("late")


def test_the_path_of_the_socket(monkeypatch):
    monkeypatch.delenv("ONRUSH_SESSION", raising=False)
    monkeypatch.setenv("ONRUSH_RUNTIME_DIR", "/a")
    assert client.session_socket() == Path("/a/session.sock")
    monkeypatch.delenv("ONRUSH_RUNTIME_DIR")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert client.session_socket() == Path("/run/user/7/onrush/session.sock")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.delenv("TMPDIR", raising=False)
    assert client.session_socket() == Path(f"/tmp/onrush-{os.geteuid()}/session.sock")
    monkeypatch.setenv("ONRUSH_SESSION", "/b/c.sock")
    assert client.session_socket() == Path("/b/c.sock")


def test_a_session_that_cannot_be_started(tmp_path, monkeypatch):
    client.SESSION.close()
    monkeypatch.setenv("ONRUSH_SESSION", str(tmp_path / "s.sock"))
    monkeypatch.setenv("ONRUSH_PROGRAMS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(OnrushError, match="`onrush-session` was not found"):
        onrush.names()
    program = tmp_path / "onrush-session"
    program.write_text("#!/bin/sh\necho 'no memory left' >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(OnrushError, match="status 3") as caught:
        onrush.names()
    assert "no memory left" in str(caught.value)


def test_something_else_listens(tmp_path, monkeypatch):
    client.SESSION.close()
    monkeypatch.setenv("ONRUSH_SESSION", str(tmp_path / "s.sock"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s.sock"))
    listener.listen()
    threading.Thread(target=lambda: listener.accept()[0].close()).start()
    with pytest.raises(OnrushError, match="does not speak the protocol"):
        onrush.names()
    listener.close()


def test_nothing_leaks(fake):
    fake.frames["late"] = pa.table({"a": np.arange(1_000_000)})
    onrush.get("late").to_polars()
    # Before its next answer the fake session closes its descriptors of the answer before.
    onrush.names()
    descriptors, memory = len(os.listdir("/proc/self/fd")), resident()
    for _ in range(300):
        frame = onrush.get("late")
        np.asarray(frame["a"]).sum()
        frame.to_pyarrow()
        del frame
    onrush.names()
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    # The fake session lives in this process too, and its threads have heaps.
    assert resident() - memory < 100 << 20


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


ALIVE = """
import sys, onrush, numpy, polars, pyarrow
frame = onrush.get("late")
arrays = numpy.asarray(frame["a"]), numpy.from_dlpack(frame["a"]), frame["a"]
kept = [frame, frame.to_polars(), frame.to_pyarrow(), arrays]
sys.kept = kept
frame.itself = kept
"""


def test_python_ends_cleanly_with_live_frames(fake):
    fake.frames["late"] = pa.table({"a": np.arange(1000), "s": ["x"] * 1000})
    environment = os.environ | {"PYTHONPATH": str(Path(onrush.__file__).parents[1])}
    ended = subprocess.run([sys.executable, "-c", ALIVE], env=environment, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, b"")


WITHOUT_PYARROW = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
import onrush, onrush._publish
onrush.publish({"a": [1, None], "f": [1.5, 2], "s": ["x", None], "b": [True, False], "e": [b"z", None]}, "lists")
import numpy
days = numpy.array(["2020-01-01", "NaT", "2021-01-01"], "M8[D]")
strings = numpy.array(["x", "y", None], object)
onrush.publish({"a": numpy.arange(3, dtype="u2"), "t": days, "s": strings}, "arrays")
onrush.publish(onrush.get("arrays"), "again")
import nanoarrow
onrush.publish(nanoarrow.c_array_stream(onrush.get("lists")), "stream")
frame = onrush.get("lists")
print(frame)
print(numpy.asarray(frame["a"]), frame["s"].to_pylist())
if "pandas" not in sys.argv[1]:
    pandas = frame.to_pandas()
    print(pandas.dtypes.tolist(), pandas["s"].isna().tolist())
    onrush.publish(pandas, "pandas")
onrush.publish(onrush.get("lists", ["s"]), "slim")
try:
    onrush.publish({"large": [1 << 70]}, "p")
except onrush.OnrushError as error:
    print(error)
try:
    frame.to_pyarrow()
except onrush.OnrushError as error:
    print(error.code)
try:
    onrush.publish({"x": [1, "a"]}, "mixed")
except onrush.OnrushError as error:
    print(error)
"""


@pytest.mark.parametrize("absent", ["pyarrow", "pyarrow,polars", "pyarrow,polars,pandas"])
def test_nanoarrow_is_enough(fake, absent):
    environment = os.environ | {"PYTHONPATH": str(Path(onrush.__file__).parents[1])}
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYARROW, absent], env=environment, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    lists = {"a": [1, None], "f": [1.5, 2.0], "s": ["x", None], "b": [True, False], "e": [b"z", None]}
    assert fake.frames["lists"].to_pydict() == lists and fake.frames["stream"].to_pydict() == lists
    assert fake.frames["arrays"]["a"].type == pa.uint16() and fake.frames["arrays"]["t"].null_count == 1
    assert fake.frames["slim"].to_pydict() == {"s": lists["s"]} and "at most 64 bits" in ran.stdout
    assert fake.frames["again"].equals(fake.frames["arrays"])
    assert (
        "missing-package" in ran.stdout
        and "[ 1. nan] ['x', None]" in ran.stdout
        and "'x' cannot be Arrow" in ran.stdout
    )
    if "pandas" not in absent:
        assert fake.frames["pandas"]["s"].to_pylist() == ["x", None]
