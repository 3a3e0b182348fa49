"""`%%python` cells of Rust notebooks: state, outputs, errors, interrupts, frames by name, and what a lost Python leaves.

Expected values are by hand.
"""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from driver import PATIENCE, Kernel, plain
from test_stale import Cells

LATE = 'let late = frame! { day: [1, 2, 3, 4], delay: [10.5, 20.0, 0.25, 4.0], carrier: ["AA", "UA", "AA", "ÖB"] };'


@pytest.fixture(scope="module")
def python(kernelspecs, tmp_path_factory):
    """A kernel whose Python is that of the tests. Each test leaves it usable."""
    with environment(ONRUSH_PYTHON=sys.executable):
        kernel = Kernel(kernelspecs, tmp_path_factory.mktemp("python"))
    kernel.ok("let kept = 41;")
    kernel.ok(LATE)
    yield kernel
    kernel.close()


@contextmanager
def environment(**variables):
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def lives(pid: int) -> bool:
    """Whether a process is there and not only waits to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def names_of_group(group: str) -> list[str]:
    """The names of the processes of a group."""
    names = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            before, _, after = stat.read_text().rpartition(")")
        except OSError:
            continue
        if after.split()[2] == group:
            names.append(before.partition("(")[2])
    return names


def eventually(check, seconds=20.0):
    until = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < until, "it did not come true"
        time.sleep(0.05)


def said(text: str) -> str:
    """Text without colours and without the lines that only a terminal's width made."""
    return " ".join(plain(text).split())


def shown(ran) -> str:
    """text/plain of the last display."""
    return ran.bundles[-1]["text/plain"]


def rows(kernel, frame) -> str:
    return kernel.value(f"{frame}.value::<i64>(x!(len()))")


def start(kernel, code):
    """Sends a cell and waits until it has printed `begun`."""
    begun = time.monotonic()
    message = kernel.client.execute(code)
    while True:
        content = kernel.client.get_iopub_msg(timeout=PATIENCE)
        if content["parent_header"].get("msg_id") == message and "begun" in str(content["content"].get("text")):
            return message, begun


def interrupted(kernel, code):
    message, begun = start(kernel, code)
    kernel.interrupt()
    return kernel.wait(message, begun)


# State and outputs


def test_variables_functions_and_imports_stay(python):
    python.ok("%%python\nimport math\nx = 2\ndef area(r):\n    return round(math.pi * r * r, 3)")
    assert shown(python.ok("%%python\narea(x)")) == "12.566"
    assert python.value("kept") == "41"
    python.ok("%%python\nx += 1")
    assert python.ok("// a title\n\n%%python\nprint(x)").stdout == "3\n"


def test_the_last_expression_is_shown(python):
    assert shown(python.ok("%%python\n{'a': [1, 2]}")) == "{'a': [1, 2]}"
    assert python.ok("%%python\n1 + 1;").outputs == []
    assert python.ok("%%python\nNone").outputs == []
    assert python.ok("%%python\ny = 5").outputs == []


def test_streams_come_in_the_order_in_which_they_were_written(python):
    code = "%%python\nimport sys\nfor i in range(3):\n    print('out', i)\n    print('err', i, file=sys.stderr)"
    streams = [(o["name"], o["text"]) for o in python.ok(code).outputs]
    text = "".join(text for _, text in streams)
    assert text == "".join(f"out {i}\nerr {i}\n" for i in range(3))
    assert {name for name, _ in streams} == {"stdout", "stderr"}


def test_output_comes_while_the_cell_runs(python):
    message, begun = start(python, "%%python\nimport time\nprint('begun')\ntime.sleep(1.5)\nprint('ended')")
    first = time.monotonic() - begun
    ran = python.wait(message, begun)
    assert first < 1.2 and ran.seconds > 1.5 and ran.stdout == "ended\n", (first, ran.seconds)


def test_html_and_bundles_of_objects(python):
    python.ok("%%python\nclass Bold:\n    def _repr_html_(self):\n        return '<b>ü</b>'")
    bundle = python.ok("%%python\nBold()").bundles[0]
    assert bundle["text/html"] == "<b>ü</b>" and "Bold" in bundle["text/plain"]
    ran = python.ok("%%python\ndisplay(Bold(), 2)\nprint('x')\n3")
    assert [bundle["text/plain"] for bundle in ran.bundles][1:] == ["2", "3"]
    kinds = [output["output_type"] for output in ran.outputs]
    assert kinds[:3] == ["display_data", "display_data", "stream"]


def test_displays_can_be_updated(python):
    code = "%%python\nhandle = display('first', display_id=True)\nhandle.update('second')"
    assert [bundle["text/plain"] for bundle in python.ok(code).bundles] == ["'second'"]


def test_ipython_display_is_shown_and_cleared(python):
    pytest.importorskip("IPython")
    code = "%%python\nfrom IPython.display import HTML, clear_output, display\ndisplay(HTML('<i>a</i>'))\n"
    assert python.ok(code).bundles[0]["text/html"] == "<i>a</i>"
    assert [o["output_type"] for o in python.ok(code + "clear_output()\nprint('after')").outputs] == ["stream"]


def test_figures_of_matplotlib_are_png(python):
    pytest.importorskip("matplotlib")
    python.ok("%%python\nimport matplotlib.pyplot as plt")
    bundles = python.ok("%%python\nfigure, axes = plt.subplots(figsize=(2, 1))\naxes.plot([1, 2]);").bundles
    assert len(bundles) == 1
    assert base64.b64decode(bundles[0]["image/png"]).startswith(b"\x89PNG")
    # The next cell has none.
    assert python.ok("%%python\n1;").outputs == []


def test_figures_of_plotly_are_data(python):
    pytest.importorskip("plotly")
    bundle = python.ok("%%python\nimport plotly.graph_objects as go\ngo.Figure(go.Scatter(y=[1, 3]))").bundles[0]
    assert bundle["application/vnd.plotly.v1+json"]["data"][0]["type"] == "scatter"


def test_text_of_any_kind(python):
    assert python.ok("%%python\nprint('Grüße, 世界 🎉')").stdout == "Grüße, 世界 🎉\n"
    assert shown(python.ok("%%python\nwörter = {'ß': '\\u2028'}\nwörter['ß']")) == "'\\u2028'"
    # Half of a pair of surrogates is not UTF-8.
    assert "udc80" in python.ok("%%python\nprint('\\udc80')").stdout
    assert python.ok("%%python\nimport os\nos.write(1, b'a\\xffb\\n');").stdout == "a\\xFFb\n"


def test_a_hundred_thousand_lines(python):
    ran = python.ok("%%python\nfor i in range(100_000):\n    print(i)")
    assert ran.stdout == "".join(f"{i}\n" for i in range(100_000))


def test_output_over_the_limit_goes_to_a_file(python):
    ran = python.ok("%%python\nprint('a' * 3_000_000)")
    assert len(ran.stdout) == 2 << 20
    assert "the cell printed 0.9 MB more" in ran.stderr, ran.stderr


def test_subprocesses_print(python):
    code = "%%python\nimport subprocess\nsubprocess.run('echo out; echo err >&2', shell=True, check=True).returncode"
    ran = python.ok(code)
    assert (ran.stdout, ran.stderr, shown(ran)) == ("out\n", "err\n", "0")


def test_threads_print_after_their_cell(python):
    code = "%%python\nimport threading, time\ndef late():\n    time.sleep(0.5)\n    print('from a thread')\n"
    begun = time.monotonic()
    message = python.client.execute(code + "threading.Thread(target=late).start()")
    python.wait(message, begun)
    until = time.monotonic() + PATIENCE
    while True:
        content = python.client.get_iopub_msg(timeout=max(0.1, until - time.monotonic()))
        if content["msg_type"] == "stream":
            assert content["content"]["text"] == "from a thread\n"
            assert content["parent_header"]["msg_id"] == message
            break


def test_await_at_the_top(python):
    assert shown(python.ok("%%python\nimport asyncio\nawait asyncio.sleep(0, 'waited')")) == "'waited'"


# Errors


def test_errors_name_the_line_of_the_cell(python):
    ran = python.fails("%%python\na = 1\nb = a / 0\nc = 3")
    error = ran.error
    assert (error["ename"], error["evalue"]) == ("ZeroDivisionError", "division by zero")
    assert re.search(r"In \[\d+\].*line 3", ran.error_text), ran.error_text
    assert "b = a / 0" in ran.error_text
    # The lines before the error have run.
    assert shown(python.ok("%%python\na")) == "1"


def test_errors_in_functions_name_the_cell_of_the_function(python):
    python.ok("%%python\ndef fails(n):\n    return [1, 2][n]")
    ran = python.fails("%%python\n\nfails(7)")
    places = re.findall(r"In \[(\d+)\], line (\d+)", ran.error_text)
    assert [line for _, line in places] == ["3", "3"] and int(places[0][0]) == int(places[1][0]) + 1, ran.error_text


def test_syntax_errors_name_their_line(python):
    ran = python.fails("%%python\nx = 1\nif x\n    y = 2")
    assert ran.error["ename"] == "SyntaxError" and "line 3" in ran.error_text


def test_an_error_aborts_the_cells_that_wait(python):
    begun = time.monotonic()
    first = python.client.execute("%%python\nraise KeyError('a')")
    second = python.client.execute("%%python\nafter_error = 1")
    assert python.wait(first, begun).reply["ename"] == "KeyError"
    while True:
        reply = python.client.get_shell_msg(timeout=PATIENCE)
        if reply["parent_header"]["msg_id"] == second:
            break
    assert reply["content"]["status"] == "aborted"
    assert "not defined" in python.fails("%%python\nafter_error").error["evalue"]


@pytest.mark.parametrize(
    "line, message, found",
    [
        ("-i", "`-i` is followed by no name", "-i"),
        ("--into late", "`%%python` has no option `--into`", "--into"),
        ("-i 2nd", "`2nd` is not the name of a variable", "2nd"),
        ("-o class", "`class` is a keyword of Python", "class"),
        ("--as numpy", "`--as` takes polars, pandas or pyarrow, not `numpy`", "numpy"),
        ("-i lat", "there is no variable `lat`", "lat"),
        ("-i kept", "`kept` is of the type i32, expected a frame", "kept"),
    ],
)
def test_mistakes_in_the_line_of_the_magic(python, line, message, found):
    ran = python.fails(f"%%python {line}\nprint('not run')")
    assert ran.error["evalue"] == message and ran.stdout == ""
    assert f"%%python {line}" in ran.error_text and "^" * len(found) in ran.error_text, ran.error_text


def test_a_cell_without_code(python):
    assert "no code" in python.fails("%%python -i late\n").error["evalue"]
    assert "cannot share" in python.fails("%%time\n%%python\n1").error["evalue"]


def test_input_asks(python):
    begun = time.monotonic()
    message = python.client.execute("%%python\nname = input('name: ')\nname.upper()", allow_stdin=True)
    content = python.client.get_stdin_msg(timeout=PATIENCE)["content"]
    assert (content["prompt"], content["password"]) == ("name: ", False)
    python.client.input("ada")
    assert shown(python.wait(message, begun)) == "'ADA'"
    message = python.client.execute("%%python\nimport getpass\ngetpass.getpass('key: ')", allow_stdin=True)
    content = python.client.get_stdin_msg(timeout=PATIENCE)["content"]
    assert (content["prompt"], content["password"]) == ("key: ", True)
    python.client.input("s3cret")
    assert shown(python.wait(message, begun)) == "'s3cret'"


def test_input_without_a_front_end_is_an_error(python):
    ran = python.fails("%%python\ninput('name: ')", allow_stdin=False)
    assert "asks for input" in ran.error["evalue"]


def test_exit(python):
    python.ok("%%python\nbefore_exit = 1\nimport sys\nsys.exit()")
    assert python.fails("%%python\nsys.exit('enough')").error["evalue"] == "enough"
    assert shown(python.ok("%%python\nbefore_exit")) == "1"


# Interrupts and lost processes


@pytest.mark.parametrize(
    "work", ["while True: pass", "import time; time.sleep(1000)", "import subprocess; subprocess.run(['sleep', '1000'])"]
)
def test_interrupts_end_the_cell_and_keep_variables(python, work):
    python.ok("%%python\nmarked = 'here'")
    ran = interrupted(python, f"%%python\nprint('begun', flush=True)\n{work}")
    assert ran.status == "error" and ran.error["ename"] == "KeyboardInterrupt", ran.outputs
    assert ran.seconds < 10
    assert shown(python.ok("%%python\nmarked")) == "'here'"


def test_interrupts_reach_processes_that_python_waits_for(python):
    pid = shown(python.ok("%%python\nimport os\nos.getpid()"))
    message, begun = start(python, "%%python\nprint('begun', flush=True)\nos.system('sleep 1000')")
    # C's `system` ignores SIGINT while it waits, so the process that it waits for must get it.
    eventually(lambda: "sleep" in names_of_group(pid))
    python.interrupt()
    ran = python.wait(message, begun)
    assert ran.status == "ok" and ran.seconds < 10, ran.outputs
    assert shown(ran) == str(signal.SIGINT.value)
    assert shown(python.ok("%%python\nos.getpid()")) == pid


def test_a_cell_may_handle_an_interrupt(python):
    code = "%%python\nimport time\ntry:\n    print('begun')\n    time.sleep(1000)\nexcept KeyboardInterrupt:\n    print('saved')"
    ran = interrupted(python, code)
    assert ran.status == "ok" and "saved" in ran.stdout


def test_python_that_does_not_stop_is_ended(python):
    python.ok("%%python\nlost_with_python = 1")
    code = "%%python\nimport signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('begun')\nwhile True: pass"
    ran = interrupted(python, code)
    assert ran.error["ename"] == "interrupted" and "did not stop within 3 s" in ran.error["evalue"]
    assert 3 < ran.seconds < 10
    assert python.value("kept") == "41"
    ran = python.ok("%%python\n'lost_with_python' in globals()")
    assert shown(ran) == "False"
    assert "variables of `%%python` cells are gone, because the last Python did not stop within 3 s" in said(ran.stderr)
    assert python.ok("%%python\n1").stderr == ""


def test_a_killed_python_is_said_and_rust_goes_on(python):
    python.ok("%%python\nlost_with_python = 1")
    ran = python.fails("%%python\nimport os\nprint('last words', flush=True)\nos.kill(os.getpid(), 9)")
    assert ran.error["evalue"] == "Python was ended by signal 9 (SIGKILL)" and ran.stdout == "last words\n"
    assert "those of Rust cells are as they were" in ran.error_text
    assert python.value("kept") == "41"
    ran = python.ok("%%python\n'lost_with_python' in globals()")
    assert shown(ran) == "False" and "was ended by signal 9 (SIGKILL)" in said(ran.stderr)


def test_a_python_that_is_killed_between_two_cells(python):
    pid = int(shown(python.ok("%%python\nimport os\nos.getpid()")))
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not Path(f"/proc/{pid}").exists())
    ran = python.ok("%%python\nimport os\nos.getpid()")
    assert int(shown(ran)) != pid
    assert "because the last Python was ended by signal 9 (SIGKILL)" in said(ran.stderr)


def test_a_crash_of_native_code(python):
    ran = python.fails("%%python\nimport ctypes\nctypes.string_at(0)")
    assert "signal 11 (SIGSEGV)" in ran.error["evalue"]
    assert python.fails("%%python\nimport os\nos._exit(3)").error["evalue"] == "Python ended with exit code 3"
    python.ok("%%python\n1")


def test_restart_ends_python(python):
    pid = int(shown(python.ok("%%python\nimport os, subprocess\nchild = subprocess.Popen(['sleep', '1000'])\nos.getpid()")))
    child = int(shown(python.ok("%%python\nchild.pid")))
    assert "the variables of `%%python` cells went" in python.ok(":restart-cells").stdout
    assert not lives(pid) and not lives(child)
    ran = python.ok("%%python\n'child' in globals()")
    assert (shown(ran), ran.stderr) == ("False", "")
    python.ok("let kept = 41;")
    python.ok(LATE)


@pytest.mark.parametrize("way", ["shutdown", "kill"])
def test_python_ends_with_the_kernel(kernelspecs, tmp_path, way):
    with environment(ONRUSH_PYTHON=sys.executable):
        kernel = Kernel(kernelspecs, tmp_path)
    code = "%%python\nimport os, subprocess\nchild = subprocess.Popen(['sleep', '1000'])\nos.getpid(), child.pid"
    pids = json.loads(shown(kernel.ok(code)).replace("(", "[").replace(")", "]"))
    if way == "kill":
        os.kill(kernel.manager.provisioner.pid, signal.SIGKILL)
        kernel.client.stop_channels()
        kernel.manager.cleanup_resources()
    else:
        kernel.close()
    eventually(lambda: not any(map(lives, pids)))


# Frames


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_frames_go_in(python, library):
    pytest.importorskip(library)
    python.ok(f"%%python -i late --as {library}\nkind = type(late).__module__.partition('.')[0]\nshape = late.shape")
    assert shown(python.ok("%%python\nkind, tuple(shape)")) == f"('{library}', (4, 3))"
    lists = {
        "polars": "late.to_dict(as_series=False)",
        "pandas": "late.to_dict('list')",
        "pyarrow": "late.to_pydict()",
    }
    expected = {"day": [1, 2, 3, 4], "delay": [10.5, 20.0, 0.25, 4.0], "carrier": ["AA", "UA", "AA", "ÖB"]}
    assert shown(python.ok(f"%%python\nstr({lists[library]})")) == repr(str(expected))


@pytest.mark.parametrize(
    "library, code",
    [
        ("polars", "import polars as pl\nout = pl.DataFrame({'a': [1, 2, None], 'b': ['x', 'ü', None]})"),
        ("pandas", "import pandas as pd\nout = pd.DataFrame({'a': pd.array([1, 2, None], dtype='Int64'), 'b': ['x', 'ü', None]})"),
        ("pyarrow", "import pyarrow as pa\nout = pa.table({'a': [1, 2, None], 'b': ['x', 'ü', None]})"),
    ],
)
def test_tables_come_out(python, library, code):
    pytest.importorskip(library)
    python.ok(f"%%python -o out\n{code}")
    assert python.value("out.value::<i64>(x!(a.sum()))") == "3" and rows(python, "out") == "3"
    assert rows(python, "out.filter(x!(b == \"ü\"))") == "1"
    text = python.ok(":vars").bundles[0]["text/plain"]
    assert re.search(r"out\s*[┆│]\s*Frame", plain(text)), text


def test_frames_go_through_python_and_back(python):
    pytest.importorskip("polars")
    python.ok("let rates = frame! { carrier: [\"AA\", \"UA\"], rate: [2.0, 3.0] };")
    code = "import polars as pl\nboth = late.join(rates, on='carrier')\nslow = both.filter(pl.col('delay') > 10)"
    python.ok(f"%%python -i late,rates -o both, slow --as polars\n{code}")
    assert rows(python, "both") == "3" and rows(python, "slow") == "2"
    total = python.value("both.value::<f64>(x!((delay * rate).sum()))")
    # 10.5 * 2 + 20 * 3 + 0.25 * 2
    assert float(total) == 81.5
    # The same cell again, with another value.
    code = code.replace("> 10", "> 15")
    python.ok(f"%%python -i late,rates -o both, slow --as polars\n{code}")
    assert rows(python, "slow") == "1"
    python.ok("%%sql fast\nselect count(*) as n from slow")


def test_every_frame_of_the_notebook_can_be_asked_for(python):
    code = "%%python\nimport onrush\nframe = onrush.get('late', columns=['day'])\nframe.to_pyarrow()['day'].to_pylist()"
    pytest.importorskip("pyarrow")
    assert shown(python.ok(code)) == "[1, 2, 3, 4]"
    ran = python.fails("%%python\nonrush.get('no_such_frame')")
    assert ran.error["ename"] == "OnrushError" and "no_such_frame" in ran.error["evalue"]
    # Nothing that a cell gave out stays published.
    assert "%python" not in shown(python.ok("%%python\nstr(onrush.names())"))


def test_outputs_that_are_not_there_or_no_tables(python):
    ran = python.fails("%%python -o nowhere\nx = 1")
    assert "`nowhere`" in ran.error["evalue"]
    ran = python.fails("%%python -o number\nnumber = 3")
    assert "`-o number` takes" in ran.error["evalue"], ran.error
    ran = python.fails("number")
    assert "number" in ran.error_text


def test_a_changed_frame_makes_the_python_cell_stale(python):
    pytest.importorskip("pyarrow")
    cells = Cells(python)
    cells.run("a", "let source = frame! { x: [1, 2] };")
    code = "%%python -i source -o derived\nimport pyarrow as pa\nderived = pa.table({'y': [len(source)]})"
    ran = cells.run("b", code)
    assert (list(ran.flow["reads"]), ran.flow["writes"]) == (["source"], ["derived"])
    ran = cells.run("c", "derived.value::<i64>(x!(y.sum()))")
    assert cells.stale(ran) == []
    assert cells.stale(cells.run("a", "let source = frame! { x: [1, 2, 3] };")) == ["b", "c"]
    assert cells.stale(cells.run("b", code)) == ["c"]
    ran = cells.run("c", "derived.value::<i64>(x!(y.sum()))")
    assert cells.stale(ran) == [] and ran.result == "3"
    python.ok("let kept = 41;")
    python.ok(LATE)


# Help and completion


def complete(kernel, marked):
    at = marked.index("|")
    kernel.client.complete(marked.replace("|", "", 1), at)
    while True:
        reply = kernel.client.get_shell_msg(timeout=PATIENCE)
        if reply["msg_type"] == "complete_reply":
            break
    content = reply["content"]
    text = marked.replace("|", "", 1)
    return content["matches"], text[content["cursor_start"] : content["cursor_end"]]


def test_completion_asks_python(python):
    python.ok("%%python\nimport math\nlong_name = {'a': 1}")
    assert complete(python, "%%python\nlong_n|") == (["long_name"], "long_n")
    matches, replaced = complete(python, "// ü\n%%python -i late\ny = 1\nmath.sq|")
    assert [match.rpartition(".")[2] for match in matches] == ["sqrt"] and replaced in ("sq", "math.sq")
    assert "keys" in [match.rpartition(".")[2] for match in complete(python, "%%python\nlong_name.ke|")[0]]
    # Rust's names are not Python's.
    assert complete(python, "%%python\nlet_us|")[0] == []


def test_completion_of_the_line_of_the_magic(python):
    assert complete(python, "%%py|")[0] == ["%%python"]
    assert complete(python, "%%python -|")[0] == ["--as", "-i", "-o"]
    assert complete(python, "%%python -i la|")[0] == ["late"]
    assert complete(python, "%%python --as pa|")[0] == ["pandas"]


def test_help_and_advice(python):
    text = python.ok(":help").stdout
    assert "%%python" in text and max(map(len, text.splitlines())) <= 80
    assert "-o c" in python.ok(":help %%python").stdout
    assert "subprocess" in python.fails("!pip install polars").error_text
    assert "`%%python`" in python.fails("%%pyton\n1").error_text


# Which Python


def test_the_error_without_a_python_says_what_was_tried(kernelspecs, tmp_path):
    with environment(ONRUSH_PYTHON="/nowhere/python"):
        kernel = Kernel(kernelspecs, tmp_path)
    try:
        ran = kernel.fails("%%python\n1")
        assert ran.error["evalue"] == "ONRUSH_PYTHON is /nowhere/python, expected an executable file"
        assert kernel.value("1 + 1") == "2"
    finally:
        kernel.close()


def test_a_program_that_is_no_python(kernelspecs, tmp_path):
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho too old >&2\nexit 2\n")
    program.chmod(0o755)
    with environment(ONRUSH_PYTHON=str(program)):
        kernel = Kernel(kernelspecs, tmp_path)
    try:
        ran = kernel.fails("%%python\n1")
        assert ran.error["evalue"] == "Python ended with exit code 2" and ran.stderr == "too old\n"
        assert f"{program} -m onrush.worker" in ran.error_text and "3.9" in ran.error_text
    finally:
        kernel.close()


# onrush run


def notebook(path, *cells):
    code = [
        {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": cell} for cell in cells
    ]
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": code}))
    return path


def test_onrush_run_executes_and_checks(onrush_bin, tmp_path):
    pytest.importorskip("pyarrow")
    path = notebook(
        tmp_path / "both.ipynb",
        LATE,
        "%%python -i late -o top --as pyarrow\ntop = late.slice(0, 2)\nprint('in Python')\ntop.num_rows",
        "top.value::<i64>(x!(day.sum()))",
    )
    env = os.environ | {"ONRUSH_PYTHON": sys.executable}
    out = tmp_path / "out.ipynb"
    subprocess.run([onrush_bin, "run", path, "-o", out], check=True, env=env, timeout=PATIENCE)
    cells = json.loads(out.read_text())["cells"]
    assert "".join(cells[1]["outputs"][0]["text"]) == "in Python\n"
    assert "".join(cells[1]["outputs"][1]["data"]["text/plain"]) == "2"
    # 1 + 2
    assert "".join(cells[2]["outputs"][0]["data"]["text/plain"]) == "3"
    check = subprocess.run([onrush_bin, "run", "--check", out], env=env, timeout=PATIENCE, capture_output=True, text=True)
    assert check.returncode == 0 and "the outputs of 3 cells follow" in check.stdout, check.stdout
    cells[1]["outputs"][0]["text"] = ["in another Python\n"]
    out.write_text(json.dumps(json.loads(out.read_text()) | {"cells": cells}))
    check = subprocess.run([onrush_bin, "run", "--check", out], env=env, timeout=PATIENCE, capture_output=True, text=True)
    assert check.returncode == 1 and "- in another Python" in check.stdout, check.stdout


def test_onrush_run_reports_an_error_and_keeps_to_a_timeout(onrush_bin, tmp_path):
    env = os.environ | {"ONRUSH_PYTHON": sys.executable}
    path = notebook(tmp_path / "fails.ipynb", "%%python\nx = 1\nx.nothing")
    ran = subprocess.run([onrush_bin, "run", path], env=env, timeout=PATIENCE, capture_output=True, text=True)
    assert ran.returncode == 1 and "'int' object has no attribute 'nothing'" in ran.stdout + ran.stderr
    path = notebook(tmp_path / "endless.ipynb", "%%python\nwhile True: pass")
    begun = time.monotonic()
    command = [onrush_bin, "run", path, "--timeout", "2s"]
    ran = subprocess.run(command, env=env, timeout=PATIENCE, capture_output=True, text=True)
    assert ran.returncode == 1 and "longer than the limit of 2 s" in ran.stdout + ran.stderr
    assert time.monotonic() - begun < PATIENCE / 2
