"""`%%onrush` and `%%onsql` in Python notebooks, by Jupyter's protocol: ipykernel, and a kernel of Onrush behind it."""

import base64
import os
import time
from pathlib import Path

import jupyter_client
import processes
import pytest
from driver import PATIENCE, Kernel
from processes import wait_until

PACKAGE = Path(__file__).resolve().parents[2] / "kernel/python"


class PythonKernel(Kernel):
    """ipykernel, with the package on its path."""

    def __init__(self, folder: Path, programs: Path):
        self.manager = jupyter_client.KernelManager(kernel_name="python3")
        environment = os.environ | {"PYTHONPATH": str(PACKAGE), "ONRUSH_PROGRAMS": str(programs)}
        environment.pop("ONRUSH_SESSION", None)
        self.manager.start_kernel(cwd=str(folder), env=environment)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)
        self.folder = folder

    def answer(self, code: str, value: str):
        """Runs a cell that asks, and answers it."""
        begun, message = time.monotonic(), self.client.execute(code, allow_stdin=True)
        request = self.client.get_stdin_msg(timeout=PATIENCE)
        assert request["msg_type"] == "input_request"
        self.client.input(value)
        return request["content"], self.wait(message, begun)


@pytest.fixture(scope="module")
def python(onrush_bin, runtime_dir, data_dir):
    kernel = PythonKernel(data_dir, onrush_bin.parent)
    kernel.ok("%load_ext onrush\nimport onrush")
    yield kernel
    kernel.close()


def test_literals_of_numpy():
    import numpy as np
    from onrush._magic import literal

    values = {
        np.bool_(True): "true",
        np.int64(-3): "-3i64",
        np.uint8(200): "200i64",
        np.float64(2.5): "2.5f64",
        np.float32(0.5): "0.5f64",
        np.float64("nan"): "f64::NAN",
        np.float64("-inf"): "f64::NEG_INFINITY",
        np.str_("a"): 'String::from("a")',
    }
    for value, expected in values.items():
        assert literal(value) == expected
    assert literal(np.uint64(1 << 63)) is None and literal(np.datetime64("2020-01-01")) is None
    assert literal(np.array([1])) is None


def rust_kernels() -> list[int]:
    found = []
    for pid in processes.named("onrush"):
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"kernel" in command:
            found.append(pid)
    return found


def test_forty_cells(python):
    """A notebook of forty cells, each with what it must show or give. Figures of the flights are DuckDB's."""
    ok, value = python.ok, python.value
    # Rust as it stands.
    assert ok('%%onrush\nprintln!("hello");').stdout == "hello\n"
    assert ok('%%onrush\neprintln!("careful");').stderr.endswith("careful\n")
    assert text(ok("%%onrush\n6 * 7")) == "42"
    ok("%%onrush\nlet numbers = vec![1, 2, 3];")
    assert text(ok("%%onrush\nnumbers.iter().sum::<i32>()")) == "6"
    assert not ok("%%onrush\nfn half(x: f64) -> f64 { x / 2.0 }").bundles
    # Variables of Python.
    ok("import polars as pl, pandas as pd, pyarrow as pa, numpy as np")
    ok("df = pl.DataFrame({'a': [1, 2, 3], 's': ['x', None, 'z']})")
    assert text(ok("%%onrush -i df\ndf.shape()")) == "(3, 2)"
    ok("n, x, who, yes = 7, 2.5, 'Zo\u00eb \"quoted\" \\\\ \\n\U0001f980', True")
    assert text(ok("%%onrush -i n,x,who -i yes\n(n + 1, half(x), yes)")) == "(8, 1.25, true)"
    ok("mean, count, no = np.array([1, 2]).mean(), np.int64(4), np.bool_(False)")
    assert text(ok("%%onrush -i mean,count,no\n(half(mean), count + 1, !no)")) == "(0.75, 5, true)"
    ok('%%onrush\nassert_eq!(who, "Zo\u00eb \\"quoted\\" \\\\ \\n\U0001f980");')
    ok("columns = {'u': np.arange(4), 'v': ['a', 'b', 'c', 'd']}")
    assert text(ok("%%onrush -i columns\ncolumns.shape()")) == "(4, 2)"
    # Other tests may have published in this session.
    ok("others = set(onrush.names())")
    assert value("others & {'df', 'columns'}") == "set()"
    # Variables of Rust.
    ok("%%onrush -o big\nlet big = df.filter(x!(a > 1));")
    assert value("type(big).__module__.split('.')[0], big['a'].to_list()") == "('polars', [2, 3])"
    ok("pandas_frame = pd.DataFrame({'k': ['u', 'v', 'u'], 'n': [1, 2, 3]})")
    sums = 'let sums = pandas_frame.group_by("k").agg(x!(n = n.sum())).sort("k");'
    ok(f"%%onrush -i pandas_frame -o sums,all\n{sums}\nlet all = pandas_frame.clone();")
    assert value("type(sums).__module__.split('.')[0], sums['n'].tolist(), len(all)") == "('pandas', [4, 2], 3)"
    ok("%%onrush -o table --as pyarrow\nlet table = big.clone();")
    assert value("isinstance(table, pa.Table) and table.num_rows") == "2"
    ok("%%onrush -o frame --as onrush\nlet frame = big.clone();")
    assert value("type(frame).__name__, frame['a'].to_pylist()") == "('Frame', [2, 3])"
    # What is shown.
    shown = ok("%%onrush\ndf").bundles[-1]
    assert "text/html" in shown and "text/plain" in shown
    assert not any(kind.startswith("application/vnd.onrush") for kind in shown)
    plot = ok('%%onrush\ndf.plot().bar("s", "a")').bundles[-1]
    assert "image/svg+xml" in plot and "text/plain" in plot
    ok('%%onrush\nlet flights = read_parquet("flights.parquet");')
    months = 'let per_month = flights.group_by("month").agg(x!(n = len())).sort("month");'
    assert "text/html" in ok(f"%%onrush -o per_month\n{months}\nper_month").bundles[-1]
    assert value("per_month.shape, int(per_month['n'].sum())") == "((12, 2), 336776)"
    # Queries.
    ok("onrush.publish(per_month, 'months')")
    answer = ok("%%onsql\nselect max(n) as most from months").bundles[-1]
    assert "29425" in answer["text/plain"] and "<table>" in answer["text/html"]
    ok("%%onsql -o top --as pandas\nselect month from months order by n desc limit 2")
    assert value("top['month'].tolist()") == "[7, 8]"
    # Errors, after which cells go on.
    error = python.fails('%%onrush\nlet wrong: i32 = "text";').error_text
    assert "mismatched types" in error and "Traceback" not in error and "_magic" not in error
    error = python.fails("%%onrush\nlet list: Vec<i32> = vec![];\nlist[1]").error_text
    assert "index out of bounds" in error
    assert "there is no variable `absent`" in python.fails("%%onrush -i absent\n1").error_text
    assert "`-i pl` takes a table, a number" in python.fails("%%onrush -i pl\n1").error_text
    error = python.fails("%%onsql\nselect nothing from months").error_text
    assert "nothing" in error and "Traceback" not in error
    assert text(ok("%%onrush\nnumbers.len()")) == "3"
    error = python.fails("%%onrush -o absent\nlet present = 1;").error_text
    assert "`-o absent`" in error and "%cell" not in error
    assert text(ok("%%onrush\npresent")) == "1"
    assert value("set(onrush.names()) - others") == "{'months'}"
    ok("onrush.unpublish('months')")


ENDLESS = """%%onrush
println!("runs");
loop { std::thread::sleep(std::time::Duration::from_millis(50)); }"""


def text(ran) -> str:
    """text/plain of the last thing that a cell shows."""
    return ran.bundles[-1]["text/plain"].strip()


def test_the_lines_of_an_error_are_those_of_the_cell(python):
    """Lines count from the magic, cells are those of the Python notebook, and hand-overs are not seen."""
    python.ok("import polars as pl\ndf = pl.DataFrame({'a': [1]})")
    ran = python.fails('%%onrush -i df\nlet a = 1;\nlet b: i32 = a + "x";')
    assert f"In [{ran.reply['execution_count']}], line 3" in ran.error_text and "get(" not in ran.error_text
    defines = python.ok("%%onrush\nfn third(list: &[i32]) -> i32 {\n    list[2]\n}").reply["execution_count"]
    ran = python.fails("%%onrush\nthird(&[1])")
    assert f"In [{defines}], line 3" in ran.error_text and f"In [{ran.reply['execution_count']}]" in ran.error_text
    assert ran.reply["ename"] == ran.error["ename"] == "panic"
    assert "df" in text(python.ok("%%onrush\n:vars"))


def test_updates_of_a_display(python):
    ran = python.ok('%%onrush\nfor i in 0..3 { print!("{i} "); }\nshow(&5);')
    assert ran.stdout == "0 1 2 " and text(ran) == "5"


def test_input_asks_python(python):
    asked, ran = python.answer('%%onrush\nlet name = input("name? ");\nprintln!("hi {name}");', "Ada")
    assert asked["prompt"] == "name? " and "hi Ada" in ran.stdout


def test_interrupts(python):
    python.ok("%%onrush\nlet kept = 5;")
    begun, message = (
        time.monotonic(),
        python.client.execute(
            '%%onrush\nprintln!("runs");\nloop { std::thread::sleep(std::time::Duration::from_millis(50)); }'
        ),
    )
    wait_for_text(python, message, "runs")
    python.interrupt()
    ran = python.wait(message, begun)
    assert ran.status == "error" and "nterrupt" in ran.error_text and "Traceback" not in ran.error_text
    assert text(python.ok("%%onrush\nkept")) == "5"


def test_a_time_limit(python):
    begun = time.monotonic()
    ran = python.fails("%%onrush --timeout 2\nloop { std::thread::sleep(std::time::Duration::from_millis(50)); }")
    assert "nterrupt" in ran.error_text and time.monotonic() - begun < 30


def wait_for_text(kernel, message, wanted):
    seen = ""
    while wanted not in seen:
        content = kernel.client.get_iopub_msg(timeout=PATIENCE)
        if content["msg_type"] == "stream" and content["parent_header"].get("msg_id") == message:
            seen += content["content"]["text"]


def test_a_dead_kernel_is_started_again(python):
    python.ok("%%onrush\nlet gone = 1;")
    [before] = rust_kernels()
    os.kill(before, 9)
    wait_until(lambda: not rust_kernels(), 10, "the kernel is still there")
    ran = python.ok("%%onrush\n1 + 1")
    assert text(ran) == "2" and "variables of Rust cells are gone" in ran.stderr
    assert "gone" in python.fails("%%onrush\ngone").error_text


def test_a_kernel_that_dies_in_a_cell(python):
    begun, message = (
        time.monotonic(),
        python.client.execute(
            '%%onrush\nprintln!("runs");\nloop { std::thread::sleep(std::time::Duration::from_millis(50)); }'
        ),
    )
    wait_for_text(python, message, "runs")
    [kernel] = rust_kernels()
    os.kill(kernel, 9)
    ran = python.wait(message, begun)
    assert ran.status == "error" and "the Rust kernel died" in ran.error_text
    assert text(python.ok("%%onrush\n2 + 2")) == "4"


def test_restart(python):
    python.ok("%%onrush\nlet old = 1;")
    assert "old" in python.fails("%%onrush --restart\nold").error_text
    python.ok("%%onrush\nlet old = 2;")
    python.ok("%onrush_restart")
    assert not rust_kernels()
    assert "old" in python.fails("%%onrush\nold").error_text


def test_wrong_options(python):
    assert "usage: %%onrush" in python.fails("%%onrush --nonsense\n1").error_text
    assert "not the name of a variable" in python.fails("%%onrush -i a-b\n1").error_text


def test_the_kernel_ends_with_python(onrush_bin, runtime_dir, tmp_path):
    before = set(rust_kernels())
    python = PythonKernel(tmp_path, onrush_bin.parent)
    python.ok("%load_ext onrush")
    python.ok("%%onrush\n1")
    assert set(rust_kernels()) - before
    python.close()
    wait_until(lambda: set(rust_kernels()) <= before, 15, "the Rust kernel outlives Python")
    python = PythonKernel(tmp_path, onrush_bin.parent)
    python.ok("%load_ext onrush")
    python.ok("%%onrush\n1")
    python.manager.signal_kernel(9)
    # A process that nobody waits for is still there.
    wait_until(lambda: not python.is_alive(), 10, "Python is still there")
    wait_until(lambda: set(rust_kernels()) <= before, 15, "the Rust kernel outlives a Python that was killed")
    python.close()


def test_a_figure_of_rust_is_a_picture(python):
    ran = python.ok('%%onrush\nframe! { a: [1, 2, 3] }.plot().hist("a")')
    data = ran.bundles[-1]
    assert data["image/svg+xml"].startswith("<svg") or base64.b64decode(data["image/png"])
