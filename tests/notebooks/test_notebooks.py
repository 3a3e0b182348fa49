"""The notebooks that users read: executed by `onrush run` and by nbconvert, their figures compared with DuckDB's."""

import contextlib
import json
import os
import random
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import altair
import jsonschema
import nbformat
import pytest

import expected
import tables

TOUR = "01-tour.ipynb"
PANDAS = "02-for-pandas-users.ipynb"
LOOKING = "03-looking-at-data.ipynb"
MODELS = "04-models.ipynb"
GRAPHS = "05-graphs.ipynb"
DASHBOARDS = "06-dashboards.ipynb"
HOUSES = "08-house-prices.ipynb"
LARGE = "07-large-plots.ipynb"
PLOTS = "09-plots.ipynb"
CUDA = "10-first-cuda-kernels.ipynb"
CLUSTER = "11-cluster.ipynb"
TEXT = "13-text-and-ensembles.ipynb"
EXPLAIN = "14-explain-and-search.ipynb"
PYTHON = "16-beside-python.ipynb"
# The address in the notebook on clusters. Tests have other ports.
WORKERS = "onrush://127.0.0.1:7433,127.0.0.1:7434"
PATIENCE = 300
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


@contextlib.contextmanager
def two_workers(onrush_bin):
    """Starts the workers of a cluster on this machine, and ends them. Gives their address. The token is that of the run,
    which sessions have, too (`conftest.py`)."""
    options = ["--workers", "2", "--threads", "2", "--memory", "2GB", "--port", str(two_free_ports())]
    workers = subprocess.Popen([onrush_bin, "cluster", "up", *options], stdout=subprocess.PIPE, text=True)
    # A command that says nothing would be waited for without end.
    alarm = threading.Timer(PATIENCE, workers.kill)
    alarm.start()
    try:
        said = []
        for line in workers.stdout:
            said.append(line)
            if address := re.search(r"onrush://[\w.:,]+", line):
                break
        else:
            raise AssertionError(f"onrush cluster up ended with {workers.wait()}\n{''.join(said)}")
        alarm.cancel()
        yield address[0]
    finally:
        alarm.cancel()
        # The workers end with their standard input, which this process holds.
        workers.terminate()
        workers.wait()
        workers.stdout.close()


def two_free_ports() -> int:
    """The first of two ports, one after the other, which are free now. They have as many digits as those of the notebook:
    tables of addresses are as wide."""
    for port in random.sample(range(7435, 9998, 2), 100):
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
    raise AssertionError("there are no two free ports one after the other")


@pytest.fixture(scope="session")
def by_onrush(onrush_bin, notebooks_copy):
    """Executes a notebook without Jupyter and returns it."""

    def execute(name: str):
        if name == PYTHON:
            # The first import of matplotlib on a machine writes a warning.
            subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], check=True, timeout=PATIENCE)
        if name != CLUSTER:
            return execute_copy(name)
        with two_workers(onrush_bin) as address:
            copy = notebooks_copy / name
            text = copy.read_text()
            assert WORKERS in text
            copy.write_text(text.replace(WORKERS, address))
            return execute_copy(name)

    def execute_copy(name: str):
        out = notebooks_copy / f"onrush-{name}"
        run = subprocess.run(
            [onrush_bin, "run", name, "-o", out.name],
            cwd=notebooks_copy,
            env=os.environ | {"ONRUSH_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert run.returncode == 0, f"onrush run {name} ended with {run.returncode}\n{run.stdout}\n{run.stderr}"
        return nbformat.read(out, as_version=4)

    return remember(execute)


@pytest.fixture(scope="session")
def by_nbconvert(jupyter_prefix, notebooks_copy):
    """Executes a notebook as the Jupyter project's own tool does and returns it."""

    def execute(name: str):
        out = notebooks_copy / f"nbconvert-{name}"
        path = str(jupyter_prefix / "share/jupyter")
        run = subprocess.run(
            [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", name, "--output", out.name],
            cwd=notebooks_copy,
            env=os.environ | {"JUPYTER_PATH": path},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert run.returncode == 0, f"nbconvert {name} ended with {run.returncode}\n{run.stdout}\n{run.stderr}"
        return nbformat.read(out, as_version=4)

    return remember(execute)


def remember(execute):
    """Each notebook is executed once; a failure stays a failure."""
    results = {}

    def get(name: str):
        if name not in results:
            try:
                results[name] = execute(name)
            except BaseException as error:
                results[name] = error
        if isinstance(results[name], BaseException):
            raise results[name]
        return results[name]

    return get


@pytest.fixture
def executed(by_onrush):
    return by_onrush


@pytest.fixture(params=["onrush run", "nbconvert"])
def by_both(request, by_onrush, by_nbconvert):
    """For the notebooks that Jupyter's tool executes too: two are enough to see that it runs cells as `onrush run` does."""
    return by_onrush if request.param == "onrush run" else by_nbconvert


@pytest.fixture(scope="session")
def duck(data_dir):
    return expected.connect(data_dir)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def plain_text(notebook, cell_id: str) -> str:
    """text/plain of the only table or value that a cell shows."""
    cell = next(cell for cell in notebook.cells if cell.id == cell_id)
    texts = [o.data["text/plain"] for o in cell.outputs if o.output_type in ("execute_result", "display_data") and "text/plain" in o.data]
    assert texts, f"the cell `{cell_id}` shows nothing: {cell.outputs}"
    return texts[-1]


@pytest.mark.parametrize("name", [PANDAS, MODELS, GRAPHS, DASHBOARDS, LARGE, HOUSES, PLOTS, CUDA, CLUSTER, TEXT, EXPLAIN, PYTHON])
def test_every_cell_runs(executed, name):
    assert_every_cell_ran(executed(name))


@pytest.mark.parametrize("name", [TOUR, LOOKING])
def test_every_cell_runs_by_both(by_both, name):
    assert_every_cell_ran(by_both(name))


def assert_every_cell_ran(notebook):
    nbformat.validate(notebook)
    for cell in code_cells(notebook):
        errors = [o for o in cell.outputs if o.output_type == "error"]
        wanted = 1 if "raises-exception" in cell.metadata.get("tags", []) else 0
        assert len(errors) == wanted, f"{cell.source}\n{errors}"
        assert cell.execution_count, cell.source
        for output in cell.outputs:
            assert output.output_type != "stream" or output.name != "stderr", f"{cell.source}\n{output.text}"


@pytest.mark.parametrize(("name", "cell"), [(name, cell) for name in expected.TABLES for cell in expected.TABLES[name]])
def test_tables(executed, duck, name, cell):
    names, rows = expected.table(duck, name, cell)
    tables.assert_same(plain_text(executed(name), cell), names, rows)


@pytest.mark.parametrize("cell", expected.VALUES)
def test_values_of_the_tour(by_both, duck, cell):
    assert plain_text(by_both(TOUR), cell) == str(expected.value(duck, cell))


def test_models_have_the_scores_of_scikit_learn(executed):
    """Figures of scikit-learn 1.9.1 for the same rows, seeds and parameters (`tol=1e-8` for its logistic regression)."""
    notebook = executed(MODELS)
    assert float(plain_text(notebook, "score")) == pytest.approx(0.7957317073170732, abs=1e-12)
    assert "accuracy 0.781" in plain_text(notebook, "fit")
    names, rows = ["pclass", "sex", "n", "chance"], [
        (1, "female", 40, 0.87), (1, "male", 43, 0.39), (2, "female", 28, 0.76),
        (2, "male", 42, 0.22), (3, "female", 53, 0.61), (3, "male", 122, 0.12),
    ]
    tables.assert_same(plain_text(notebook, "submission"), names, rows)
    digits = plain_text(notebook, "digits")
    assert "0.988" in digits and "0.971" in digits
    streams = [o.text for cell in code_cells(notebook) if cell.id == "pca" for o in cell.outputs if o.output_type == "stream"]
    assert streams == ["29 of 64 components keep 95 % of the variance\n"]
    assert plain_text(notebook, "save") == "true"


def test_explanations_sum_to_predictions_and_halving_has_thirds(executed):
    """By hand: 27 candidates with 60 rows, a third of them with three times the rows, and so on to the last one."""
    notebook = executed(EXPLAIN)
    rows = re.findall(r"^│ +([\d.]+) ┆ +\d+ ┆ +([\d.]+) │$", plain_text(notebook, "c1"), re.MULTILINE)
    assert len(rows) == 4 and all(total == prediction for total, prediction in rows), rows
    names, rows = ["iter", "n_resources", "n_candidates"], [(0, 60, 27), (1, 180, 9), (2, 540, 3), (3, 1620, 1)]
    tables.assert_same(plain_text(notebook, "c8"), names, rows)
    [told] = [o.text for cell in code_cells(notebook) if cell.id == "c9" for o in cell.outputs if o.output_type == "stream"]
    assert told.startswith("12 trials, then 20: ")


def test_graphs_have_the_results_of_networkx(executed):
    """Figures of NetworkX 3.6.1: `pagerank`, `core_number` and `transitivity` of the routes, and paths."""
    notebook = executed(GRAPHS)
    ranks = plain_text(notebook, "pagerank")
    assert ranks.index("ATL") < ranks.index("ORD") < ranks.index("DFW") and "0.0596986" in ranks
    streams = {
        cell.id: "".join(o.text for o in cell.outputs if o.output_type == "stream") for cell in code_cells(notebook)
    }
    card = plain_text(notebook, "read").replace("\u202f", "")
    assert "digraph of origin and destination" in card and "305" in card and "5366" in card
    assert streams["cores"] == "transitivity 0.388, connected: true\n"
    assert streams["dijkstra"] == "2 hops, 4980 miles\n"
    written, read = re.findall(r"[0-9]+", streams["files-cell"])
    assert written == read
    assert streams["a-select"] == "0 airports are selected\n"
    for cell in ["cores", "map", "a-view"]:
        outputs = next(one.outputs for one in code_cells(notebook) if one.id == cell)
        assert any("image/svg+xml" in output.get("data", {}) for output in outputs), cell
    assert "no node `JFX`" in streams["unknown"]


def test_large_plots_count_all_rows(executed):
    notebook = executed(LARGE)
    of = lambda cell: next(one.outputs for one in code_cells(notebook) if one.id == cell)
    for cell, rows in {"large-04": "10\u202f000\u202f000 rows", "large-08": "327\u202f346 rows"}.items():
        [data] = [o.data for o in of(cell) if "image/png" in o.get("data", {})]
        assert rows in data["text/plain"] and "application/vnd.onrush.raster.v1+json" in data, cell


def test_dashboards(executed, duck):
    """The rows of a selection, by DuckDB, and the picture that every viewer shows."""
    notebook = executed(DASHBOARDS)
    of = lambda cell: next(one.outputs for one in code_cells(notebook) if one.id == cell)
    kept = "hour between 17 and 19 and carrier in ('UA', 'DL')"
    [(rows,)] = duck.sql(f"select count(*) from flights where {kept}").fetchall()
    texts = ["".join(o.get("text", "") or o.get("data", {}).get("text/plain", "")) for o in of("dash-03")]
    assert "hour in [17, 18, 19]" in texts[0] and 'carrier in ["UA", "DL"]' in texts[0] and str(rows) in texts[1].replace("_", "")
    [data] = [o.data for o in of("dash-06") if "image/png" in o.get("data", {})]
    grouped = f"{rows:,}".replace(",", "\u202f")
    assert f"{grouped} of 336\u202f776 rows" in data["text/plain"] and "application/vnd.onrush.dashboard.v1+json" in data
    [data] = [o.data for o in of("dash-13") if "image/png" in o.get("data", {})]
    assert "all 10\u202f000\u202f000 rows" in data["text/plain"]


def test_rich_outputs_have_static_forms(by_both):
    """Tables carry HTML and text, plots an image and text: what GitHub and nbviewer show."""
    notebook = by_both(TOUR)
    kinds = set()
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type not in ("execute_result", "display_data"):
                continue
            assert "text/plain" in output.data, cell.source
            kinds |= set(output.data)
            if "text/html" in output.data:
                assert "<script" not in output.data["text/html"]
    assert {"text/html", "image/svg+xml"} <= kinds


VEGA_LITE = "application/vnd.vegalite.v5+json"


def test_plots_are_valid_vega_lite(by_both):
    """By the schema of Vega-Lite 5 that Altair carries."""
    schema = jsonschema.Draft7Validator(altair.vegalite.v5.schema.core.load_schema())
    specs = [o.data[VEGA_LITE] for cell in code_cells(by_both(TOUR)) for o in cell.outputs if "image/svg+xml" in o.get("data", {})]
    assert len(specs) >= 6
    for spec in specs:
        schema.validate(spec)
        assert len(json.dumps(spec)) <= 512 * 1024
        assert all("tooltip" in layer["encoding"] for layer in spec["layer"] if layer["mark"]["type"] != "text")


def test_bars_are_what_duckdb_computes(by_both, duck):
    cell = next(cell for cell in code_cells(by_both(TOUR)) if 'bar("name", "mean_delay")' in cell.source)
    [spec] = [o.data[VEGA_LITE] for o in cell.outputs if VEGA_LITE in o.get("data", {})]
    rows = duck.sql(
        "select a.name, avg(arr_delay) from flights join airlines a using (carrier) group by a.name"
    ).fetchall()
    drawn = {row["x"]: row["y"] for row in spec["datasets"]["d0"]}
    assert drawn == pytest.approx(dict(rows), rel=1e-6)


def test_the_error_names_the_column_and_the_nearest(by_both):
    cell = next(cell for cell in by_both(TOUR).cells if cell.id == "typing-mistake")
    [error] = [o for o in cell.outputs if o.output_type == "error"]
    text = "\n".join([error.evalue, *error.traceback])
    assert "dep_dealy" in text and "dep_delay" in text and "^^^^^^^^^" in text


def test_a_second_run_says_the_same(onrush_bin, by_onrush, notebooks_copy):
    """Same cells, same outputs."""
    first = by_onrush(TOUR)
    out = notebooks_copy / "again.ipynb"
    subprocess.run([onrush_bin, "run", TOUR, "-o", out.name], cwd=notebooks_copy, check=True, capture_output=True, timeout=PATIENCE)
    second = nbformat.read(out, as_version=4)
    for a, b in zip(code_cells(first), code_cells(second)):
        if a.id not in UNSTEADY:
            assert stable(a.outputs) == stable(b.outputs), a.source


# Cells whose output holds times.
UNSTEADY = {"explain"}


def stable(outputs):
    """Without the lines of progress: what is quick in one run is slow in another."""
    lasting = (o for o in outputs if not o.get("metadata", {}).get("onrush", {}).get("progress"))
    return [{k: v for k, v in output.items() if k not in ("execution_count", "metadata")} for output in lasting]


def test_a_failing_notebook_has_exit_status_1(onrush_bin, tmp_path):
    notebook = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "onrush", "display_name": "Rust (Onrush)", "language": "rust"}},
        cells=[nbformat.v4.new_code_cell("let a = 1;"), nbformat.v4.new_code_cell("let b: i32 = a + \"x\";"), nbformat.v4.new_code_cell("a")],
    )
    nbformat.write(notebook, tmp_path / "fails.ipynb")
    run = subprocess.run([onrush_bin, "run", "fails.ipynb", "-o", "out.ipynb"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 1
    executed = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    assert [o.output_type for o in executed.cells[1].outputs] == ["error"]


def test_kernels_compute_what_they_should(executed):
    """By hand: 1 + … + 256 = 32896 and so on; a query counts the flights of each hour, and agrees."""
    notebook = executed(CUDA)
    assert plain_text(notebook, "sum-launch") == "([32896.0, 98432.0, 163968.0, 205204.0], 500500.0)"
    assert plain_text(notebook, "plane-launch") == "[[1, 2, 3, 4], [2, 4, 6, 8], [3, 6, 9, 12]]"
    assert plain_text(notebook, "compare-query") == "true"


def test_a_function_of_a_cell_computes_what_it_should(executed, duck):
    minutes = "({0} // 100 * 60 + {0} % 100)"
    late = f"{minutes.format('dep_time')} - {minutes.format('sched_dep_time')}"
    query = f"""select list(dep_delay) from (select *, {late} as late from flights where month = 1 and day <= 7)
                where dep_delay <> case when late < -720 then late + 1440 else late end"""
    assert plain_text(executed(CUDA), "function-query") == str(duck.execute(query).fetchall()[0][0])


def test_python_and_rust_have_the_same_rows(executed, duck):
    """The figures of Python cells, by DuckDB; the area under the curve is that of scikit-learn 1.9.1 without Onrush."""
    notebook = executed(PYTHON)
    of = lambda cell: next(one.outputs for one in code_cells(notebook) if one.id == cell)
    [(miles,)] = duck.sql("select sum(distance)::bigint from flights").fetchall()
    assert plain_text(notebook, "beside-14") == str(miles)
    assert plain_text(notebook, "beside-13") == f"(False, {miles})"
    joined = """flights join weather w using (origin, time_hour) where dep_delay is not null
                and w.temp is not null and wind_speed is not null and precip is not null and visib is not null"""
    [(hour, delay)] = duck.sql(
        f"select flights.hour, avg(dep_delay) from {joined} group by 1 order by 2 desc limit 1"
    ).fetchall()
    assert plain_text(notebook, "beside-5") == f"\"{delay:.1f} minutes at {int(hour)} o'clock\""
    assert any("image/png" in output.get("data", {}) for output in of("beside-3"))
    [(rows,)] = duck.sql(f"select count(*) from {joined} and flights.month <= 3").fetchall()
    assert plain_text(notebook, "beside-7") == f"({rows}, 7)"
    assert [output.text for output in of("beside-8")] == ["area under the curve: 0.67\n"]
    [error] = [output for output in of("beside-16") if output.output_type == "error"]
    assert error.ename == "KeyError" and "line 3" in "\n".join(error.traceback)


def test_queries_run_on_two_workers(executed, duck):
    """The stages of a plan and the workers by hand, a column by DuckDB."""
    notebook = executed(CLUSTER)
    of = lambda cell: next(one.outputs for one in code_cells(notebook) if one.id == cell)
    assert plain_text(notebook, "cluster-4") == "(336776, 19)"
    [stages] = [output.text for output in of("cluster-8")]
    assert "DistributedExec" in stages and re.search(r"Stage 1 ── tasks=2", stages), stages
    for cell, columns in {"cluster-2": 4, "cluster-24": 5}.items():
        table = tables.parse(plain_text(notebook, cell))
        assert (table.rows, table.names[:3]) == (2, ["address", "cores", "memory"])
        assert len(table.names) == columns and [row[1] for row in table.cells] == ["2", "2"]
    late = "select count(*), sum(dep_delay)::bigint // 60 from flights where dep_delay > 300"
    assert plain_text(notebook, "cluster-22") == str(duck.sql(late).fetchall()[0])
    assert any("image/svg+xml" in output.get("data", {}) for output in of("cluster-18"))


def said(notebook) -> list:
    """Strings of streams and displays, without times and ports; a rewritten line of progress is as quick as the machine."""
    lasting = lambda cell: (o for o in cell.outputs if not o.get("metadata", {}).get("onrush", {}).get("progress"))
    text = lambda output: output.get("text") or output.get("data", {}).get("text/plain", "")
    time, port = re.compile(r"\d[\d.]* ?(?:ns|µs|ms|s|min)\b"), re.compile(r"(?<=127\.0\.0\.1:)\d{4}")
    plain = lambda output: time.sub("TIME", port.sub("PORT", text(output)))
    return [(cell.id, [plain(output) for output in lasting(cell)]) for cell in code_cells(notebook)]


@pytest.mark.parametrize("name", [MODELS, GRAPHS, DASHBOARDS, HOUSES, PLOTS, CLUSTER, TEXT, EXPLAIN, PYTHON])
def test_stored_outputs_are_those_of_a_run(executed, name):
    stored = nbformat.read(NOTEBOOKS / name, as_version=4)
    assert said(stored) == said(executed(name))


def test_notebooks_are_committed_clean():
    for path in NOTEBOOKS.glob("*.ipynb"):
        nbformat.validate(nbformat.read(path, as_version=4))
