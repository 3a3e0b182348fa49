"""The process of `%%python` cells, driven over its socket. Expected values are what Python and IPython show."""

import base64
import os
import time

import pytest
from worker_process import WorkerProcess

ONE_PIXEL = b"\x89PNG\r\n\x1a\n"


def test_the_last_expression_is_displayed(worker):
    assert worker.ok("x = 6\nx * 7").value == "42"
    assert not worker.ok("x * 7;").displays
    assert not worker.ok("x * 7;  # a comment\n\n").displays
    assert not worker.ok("None").displays
    assert not worker.ok("y = 1").displays
    assert worker.ok("'a;'").value == "'a;'"


def test_variables_live_from_cell_to_cell(worker):
    worker.ok("import math\ndef area(r): return math.pi * r * r\nclass Point: pass")
    assert worker.ok("round(area(2), 3)").value == "12.566"
    assert worker.ok("_ + 1").value == "13.566"
    assert worker.ok("__name__, Point.__module__").value == "('__main__', '__main__')"
    assert worker.ok("import pickle; type(pickle.loads(pickle.dumps(Point()))) is Point").value == "True"


def test_streams_keep_their_order(worker):
    ran = worker.ok("import sys\nprint('a'); sys.stderr.write('b\\n'); print('c', flush=True); display(1); print('d')")
    kinds = [(m.get("name"), m.get("text")) for m in ran.messages if m["type"] in ("stream", "display")]
    assert kinds == [("stdout", "a\n"), ("stderr", "b\n"), ("stdout", "c\n"), (None, None), ("stdout", "d\n")]


def test_text_arrives_while_the_cell_runs(worker):
    worker.start("import time\nprint('now', flush=False)\ntime.sleep(30)")
    worker.until_text("now")
    worker.interrupt()
    assert worker.finish().error["ename"] == "KeyboardInterrupt"


def test_bytes_and_file_descriptors(worker):
    ran = worker.ok(
        "sys.stdout.buffer.write('é\\n'.encode()); import os, subprocess; os.write(1, b'raw\\n')\n"
        "subprocess.run(['echo', 'child'], stdout=sys.stdout, check=True); sys.stdout.isatty(), sys.stdout.encoding"
    )
    assert ran.text() == "é\n" and ran.value == "(False, 'utf-8')"
    until = time.monotonic() + 10
    while worker.pipes["stdout"] != b"raw\nchild\n" and time.monotonic() < until:
        time.sleep(0.01)
    assert worker.pipes["stdout"] == b"raw\nchild\n"


def test_a_million_lines(worker):
    ran = worker.ok("for i in range(1_000_000): print(i)")
    assert ran.text() == "".join(f"{i}\n" for i in range(1_000_000))
    assert max(len(m.get("text", "")) for m in ran.messages) <= 1 << 15
    assert ran.seconds < 30


def test_errors_show_the_lines_of_cells(worker):
    worker.ok("def half(x):\n    return x / 0")
    name = f"In [{worker.number}]"
    error = worker.run("a = 1\nhalf(a)").error
    assert (error["ename"], error["evalue"], error["line"]) == ("ZeroDivisionError", "division by zero", 2)
    text = plain(error)
    assert f"In [{worker.number}], line 2" in text and f"{name}, line 2 in half" in text
    assert "-->    2 |     return x / 0" in text and "worker.py" not in text
    assert text.endswith("ZeroDivisionError: division by zero")


def test_errors_of_packages_name_the_place(worker):
    error = worker.run("import json\njson.loads('{')").error
    assert error["ename"] == "JSONDecodeError" and error["line"] == 2
    assert "decoder.py" in plain(error) and "frames of packages" in plain(error)


UNSAYABLE = """
class Unsayable(Exception):
    def __str__(self): raise ValueError("no text")
    __repr__ = __str__
class Odd(Exception):
    exceptions = property(lambda self: 1 / 0)
"""


def test_errors_that_cannot_be_shown(worker):
    worker.ok(UNSAYABLE)
    error = worker.run("x = 1\nraise Unsayable()").error
    assert (error["ename"], error["evalue"], error["line"]) == ("Unsayable", "<the message cannot be made>", 2)
    assert "-->    2 | raise Unsayable()" in plain(error)
    error = worker.run("raise KeyError(Unsayable())").error
    assert (error["ename"], error["evalue"]) == ("KeyError", "<the message cannot be made>")
    error = worker.run("raise Odd('odd')").error
    assert (error["ename"], error["evalue"], plain(error)) == ("Odd", "odd", "Odd: odd")
    error = worker.run("import sys; sys.exit(Unsayable())").error
    assert (error["ename"], error["evalue"]) == ("SystemExit", "<the message cannot be made>")
    assert worker.ok("x + 1").value == "2"


def test_causes_are_shown(worker):
    error = worker.run("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('bad') from e").error
    text = plain(error)
    assert error["line"] == 4 and text.index("ZeroDivisionError") < text.index("cause of") < text.index(
        "ValueError: bad"
    )


def test_syntax_errors(worker):
    error = worker.run("a = 1\nb = = 2").error
    assert (error["ename"], error["line"]) == ("SyntaxError", 2)
    assert "b = = 2" in plain(error) and "^" in plain(error)
    assert "magics" in plain(worker.run("%timeit 1").error)
    # A cell that does not parse does nothing.
    assert worker.run("before = 1\nx = (").error["ename"] == "SyntaxError"
    assert worker.run("before").error["ename"] == "NameError"


def test_exit_ends_the_cell_only(worker):
    worker.ok("kept = 5\nimport sys\nsys.exit()")
    assert worker.run("sys.exit(3)").error["ename"] == "SystemExit"
    assert worker.ok("kept").value == "5"


def test_input_asks_the_front_end(worker):
    worker.start("input('name? ') + '!'")
    assert worker.receive() == {"type": "input", "prompt": "name? ", "password": False}
    worker.send(type="input", text="ada")
    assert worker.finish().value == "'ada!'"
    worker.start("import getpass\ngetpass.getpass('key: ')")
    assert worker.receive() == {"type": "input", "prompt": "key: ", "password": True}
    worker.send(type="input", text=None)
    assert worker.finish().error["ename"] == "EOFError"
    # An interrupt ends the question. An answer that comes too late is nobody's.
    worker.start("input()")
    assert worker.receive()["type"] == "input"
    worker.interrupt()
    assert worker.finish().error["ename"] == "KeyboardInterrupt"
    worker.send(type="input", text="late")
    assert worker.ok("1").value == "1"


def test_interrupts(worker):
    worker.ok("log = []")
    worker.start("import time\nprint('runs')\ntry:\n    time.sleep(60)\nfinally:\n    log.append('left')")
    worker.until_text("runs")
    begun = time.monotonic()
    worker.interrupt()
    error = worker.finish().error
    assert (error["ename"], error["line"]) == ("KeyboardInterrupt", 4) and time.monotonic() - begun < 5
    assert worker.ok("log").value == "['left']"
    # Between cells it is nothing.
    worker.interrupt()
    assert worker.ok("1 + 1").value == "2"


def test_interrupts_do_not_spoil_messages(worker):
    """The loop is interrupted while it writes, again and again: every line that arrives is whole."""
    for _ in range(20):
        worker.start("print('go', flush=True)\nwhile True: print('x' * 1000)")
        worker.until_text("go")
        worker.interrupt()
        assert worker.finish().error["ename"] == "KeyboardInterrupt"
    assert worker.ok("'fine'").value == "'fine'"


def test_displays(worker):
    worker.ok(
        "class Rich:\n    def _repr_html_(self): return '<b>x</b>'\n"
        "    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n'\n"
        "    def __repr__(self): return 'rich'"
    )
    [shown] = worker.ok("Rich()").displays
    assert shown["data"] == {
        "text/html": "<b>x</b>",
        "image/png": base64.b64encode(ONE_PIXEL).decode(),
        "text/plain": "rich",
    }
    ran = worker.ok("h = display('a', display_id='one')\nh.update('b')\ndisplay(1, 2)")
    assert [(m["display_id"], m["update"], m["data"]["text/plain"]) for m in ran.displays] == [
        ("one", False, "'a'"),
        ("one", True, "'b'"),
        (None, False, "1"),
        (None, False, "2"),
    ]
    method = "def _repr_mimebundle_(self, include=None, exclude=None): return {'a/b': {'c': 1}}, {'a/b': {'m': 2}}"
    bundle = f"class Bundle:\n    {method}\nBundle()"
    [shown] = worker.ok(bundle).displays
    assert shown["data"]["a/b"] == {"c": 1} and shown["metadata"] == {"a/b": {"m": 2}}
    ran = worker.ok(
        "class Broken:\n    def _repr_html_(self): raise ValueError('no')\n"
        "    def __repr__(self): return 'still'\nBroken()"
    )
    assert ran.value == "still" and "_repr_html_ failed" in ran.text("stderr")


def test_figures_are_shown_at_the_end(worker):
    pytest.importorskip("matplotlib")
    ran = worker.ok(
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint('last')\nplt.figure(); plt.bar([1], [2]);"
    )
    figures = [m for m in ran.displays if "image/png" in m["data"]]
    assert len(figures) == 2 and ran.messages[-2] is figures[-1]
    assert all(base64.b64decode(m["data"]["image/png"]).startswith(ONE_PIXEL) for m in figures)
    assert not worker.ok("plt.get_fignums(), 1;").displays
    ran = worker.ok("fig, ax = plt.subplots(); ax.plot([3, 4]); plt.show(); print('after')")
    assert [m["type"] for m in ran.messages] == ["display", "stream", "done"]
    # A figure that the cell ends with is shown once.
    assert len(worker.ok("fig, ax = plt.subplots(); ax.plot([3, 4]); fig").displays) == 1
    # And also if the cell fails.
    ran = worker.run("plt.plot([1]); 1 / 0")
    assert ran.error["ename"] == "ZeroDivisionError" and len(ran.displays) == 1


def test_completion(worker):
    worker.ok("import math\ntable = {'alpha': 1, 'beta': 2}")
    assert worker.complete("math.sq")["matches"] == ["sqrt"]
    found = worker.complete("x = tab")
    assert found["matches"] == ["table"] and (found["start"], found["end"]) == (4, 7)
    assert worker.complete("table['al")["matches"] == ["alpha"]
    assert "print" in worker.complete("pri")["matches"] and worker.complete("nothing.x")["matches"] == []


def test_top_level_await(worker):
    assert worker.ok("import asyncio\nawait asyncio.sleep(0, 'awaited')").value == "'awaited'"


def test_future_imports_hold(worker):
    worker.ok("from __future__ import annotations")
    assert worker.ok("def f(x: Undefined): pass\nf.__annotations__").value == "{'x': 'Undefined'}"


def test_forked_children_write_to_the_pipe(worker):
    before = len(worker.pipes["stdout"])
    ran = worker.ok(
        "import os\npid = os.fork()\nif pid == 0:\n    print('child'); os._exit(0)\nos.waitpid(pid, 0); print('parent')"
    )
    assert ran.text() == "parent\n"
    until = time.monotonic() + 10
    while len(worker.pipes["stdout"]) == before and time.monotonic() < until:
        time.sleep(0.01)
    assert worker.pipes["stdout"][before:] == b"child\n"


def test_ipython_shows_by_the_same_way():
    pytest.importorskip("IPython")
    worker = WorkerProcess()
    ran = worker.ok(
        "from IPython.display import HTML, display, clear_output\nx = display(HTML('<i>a</i>'), display_id=True)\n"
        "clear_output(wait=True)\nx.update(HTML('<i>b</i>'))\nprint('text')\nHTML('<u>c</u>')"
    )
    assert [m["data"].get("text/html") for m in ran.displays] == ["<i>a</i>", "<i>b</i>", "<u>c</u>"]
    assert ran.displays[0]["display_id"] == ran.displays[1]["display_id"] is not None and ran.displays[1]["update"]
    assert {"type": "clear", "wait": True} in ran.messages and ran.text() == "text\n"
    assert worker.run("1 / 0").error["line"] == 1
    pytest.importorskip("matplotlib")
    assert len(worker.ok("import matplotlib.pyplot as plt\nfig, ax = plt.subplots(); ax.plot([1]); fig").displays) == 1
    assert worker.close() == 0


def test_a_worker_ends_with_its_kernel():
    worker = WorkerProcess()
    worker.ok("1")
    assert worker.close() == 0
    busy = WorkerProcess()
    busy.start("print('runs', flush=True)\nwhile True: pass")
    busy.until_text("runs")
    begun = time.monotonic()
    busy.close()
    assert time.monotonic() - begun < 10


def test_without_packages():
    """`-S` leaves out every installed package: the worker needs none."""
    worker = WorkerProcess(options=("-S",))
    assert worker.ok("import sys\n[m for m in ('numpy', 'IPython', 'pandas') if m in sys.modules]").value == "[]"
    assert worker.close() == 0


def test_inputs_and_outputs(fake):
    import pyarrow as pa

    fake.frames["late"] = pa.table({"a": [1, 2, 3], "s": ["x", None, "z"]})
    worker = WorkerProcess(ONRUSH_SESSION=os.environ["ONRUSH_SESSION"])
    for form, module in [
        (None, "polars"),
        ("polars", "polars"),
        ("pandas", "pandas"),
        ("pyarrow", "pyarrow"),
        ("onrush", "onrush"),
    ]:
        ran = worker.ok("type(late).__module__.partition('.')[0], len(late)", inputs=["late"], **{"as": form})
        assert ran.value == f"('{module}', 3)"
    ran = worker.ok("out = late.to_polars().select('a')", outputs=["out", "late"])
    assert ran.done["outputs"] == [["out", "%python:note-1:out"], ["late", "%python:note-1:late"]]
    assert fake.frames["%python:note-1:out"].to_pydict() == {"a": [1, 2, 3]}
    assert fake.frames["%python:note-1:late"].equals(fake.frames["late"])
    worker.send(type="release", names=["%python:note-1:out"])
    worker.ok("1")
    assert "%python:note-1:out" not in fake.frames
    error = worker.run("1", outputs=["nothing"]).error
    assert error["ename"] == "OnrushError" and "no variable `nothing`" in error["evalue"]
    error = worker.run("n = 5", outputs=["n"]).error
    assert "`-o n` takes a table" in error["evalue"]
    # All outputs or none.
    del fake.frames["%python:note-1:late"]
    ran = worker.run("n = 5", outputs=["out", "n"])
    assert "`-o n` takes a table" in ran.error["evalue"] and ran.done["outputs"] == []
    assert list(fake.frames) == ["late"]
    error = worker.run("pass", inputs=["absent"]).error
    assert "absent" in error["evalue"] and error["line"] is None
    assert [r["notebook"] for r in fake.requests if r["op"] == "hello"] == ["note-1"]
    worker.close()


def plain(error: dict) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error["traceback"]))
