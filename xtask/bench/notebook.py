"""How long the cells of a notebook take from the call to the result: loading files, everyday steps and the 22 queries
of TPC-H, at scale 1 (`--scale`), on the engine that `--engine` names.

- The notebook is generated and run by `onrush run`, with a session for it alone. Each measurement is a cell. Its time
  is taken inside the cell with `Instant`, around the call that collects or persists the result. The compilation of the
  cell is reported separately, as `:timing` prints it. Cells of an earlier run are found in the cache.
- `first` is the first time that a step runs. It includes what later runs find prepared: uploads, dictionaries,
  statistics, compiled CUDA kernels. CUDA kernels that an earlier run compiled are in the cache on disk.
- `new` is the median of `--repeats` runs, each with another literal, so that no result is in a cache. `same` repeats
  the last of them without a change.
- `build` is the part of `new` before the call that runs the plan: each step of a frame is a request.
- `plan`, `run` and `where` are those of `explain_analyze`, with another literal once more: `cpu`, `gpu` or both.
- Where the engine's time went is read from `:top` between the cells: the phases of the first run and, as a median, of
  the runs with new literals. `other` is the rest of the time of the cell: the CPU's operators, requests, waits. Work
  that the engine does ahead counts where it happens.
- DuckDB runs the same questions with the same literals after Onrush, in memory, with its default number of threads. Its
  number is the median of the runs with new literals. A result that is collected is fetched as Python rows, and one
  that is persisted becomes a temporary table.
- Answers of the last run are compared with DuckDB's: number of rows, and the sum of each column (lengths of strings,
  seconds of times). An answer that differs is named below the table.

Only Python's standard library is needed, so that the program runs on a machine without packages or a network:
`notebook.py --pack DIR` collects itself, the queries, the generator of the tables and DuckDB's wheel. There,
`python3 DIR/notebook.py` runs with `onrush` on the path (or in `ONRUSH_BIN`)."""

import argparse
import datetime
import json
import math
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import data

TOLERANCE = 1e-6
START, LOAD = "start of the engine", "load 8 tables"
# In the order of `runtime/device/src/phases.rs`.
PHASES = ["read", "plan", "encode", "upload", "statistics", "compile", "device", "read back"]
# Of `read_csv`, for each unit of scale.
CSV_ROWS = 1_000_000
CSV_COLUMNS = ["l_orderkey", "l_partkey", "l_quantity", "l_extendedprice", "l_shipdate", "l_returnflag"]

# In reach of every cell: prints the line that `measured` reads.
PRELUDE = """
fn answer(f: &Frame) -> String {
    let mut sums = vec![len().alias("rows")];
    for (at, field) in f.schema().fields.iter().enumerate() {
        let c = col(&field.name);
        let value = match &field.dtype {
            DataType::String | DataType::Categorical => c.str().len_bytes(),
            DataType::Date | DataType::Timestamp(..) => c.dt().epoch("s"),
            DataType::Float32 | DataType::Float64 => c.fill_nan(0.0),
            _ => c,
        };
        sums.push(value.cast("f64").sum().alias(format!("sum{at}")));
    }
    let rows: Vec<Vec<f64>> = f.select(sums).rows();
    format!("{:?}", rows[0])
}
fn ms(since: std::time::Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
fn measured(build: f64, all: f64, answer: &str) {
    println!("{{\\"build\\": {build}, \\"ms\\": {all}, \\"answer\\": {}}}", answer.replace("inf", "null"));
}
"""


@dataclass
class Step:
    """A question. `{x}` in both texts is the literal of a run, `onrush` is an expression that gives a frame, and
    `end` is the call that gives the result: `collect` or `persist`."""

    name: str
    onrush: str
    duckdb: str
    literals: list
    end: str = "collect"
    # Rust statements that run before the time is taken.
    before: str = ""
    compared: bool = True

    def literal(self, run: int) -> str:
        return str(self.literals[run % len(self.literals)])


@dataclass
class Result:
    """Times of one step in ms, in the order of the runs: the first, those with new literals, the same once more, which
    DuckDB does not run."""

    name: str
    onrush: list[float] = field(default_factory=list)
    # Until the frame was there, before the call that runs it, ms.
    build: list[float] = field(default_factory=list)
    duckdb: list[float] = field(default_factory=list)
    # Time of the engine in each of these runs by phase, ms.
    phases: list[dict[str, float]] = field(default_factory=list)
    # Compilation of the cells, ms.
    compiled: list[float] = field(default_factory=list)
    explained: str = ""
    answer: list | None = None
    failure: str | None = None
    differs: str | None = None


def steps(csv: Path) -> list[Step]:
    words = ["furiously", "carefully", "slyly", "quickly", "blithely", "ironic", "pending", "express"]
    quantities = [24, 25, 26, 23, 22, 27, 21, 28]
    low = [2, 3, 4, 5, 6, 7, 8, 9]
    kept = "l_orderkey, l_partkey, l_quantity, l_extendedprice"
    described = ["l_quantity", "l_extendedprice", "l_discount"]
    quoted = ", ".join(f'"{name}"' for name in described)
    summary = ", ".join(
        f"count({c}), avg({c}), stddev({c}), min({c}), quantile_cont({c}, [0.25, 0.5, 0.75]), max({c})"
        for c in described
    )
    return [
        Step(
            "read_csv",
            f'read_csv("{csv}")',
            f"select * from read_csv('{csv}')",
            [""],
            "persist",
            # Another modification time, so that nothing is known of the file.
            f'std::fs::File::options().write(true).open("{csv}").unwrap()'
            ".set_modified(std::time::SystemTime::now()).unwrap();",
        ),
        Step(
            "filter, sum",
            "lineitem.filter(x!(l_quantity < {x})).select(x!(s = l_extendedprice.sum()))",
            "select sum(l_extendedprice) from lineitem where l_quantity < {x}",
            quantities,
        ),
        Step(
            "group by l_returnflag",
            'lineitem.filter(x!(l_quantity >= {x})).group_by("l_returnflag")'
            ".agg(x!(q = l_quantity.mean(), n = len()))",
            "select l_returnflag, avg(l_quantity), count(*) from lineitem where l_quantity >= {x} group by 1",
            low,
        ),
        Step(
            "TPC-H 6",
            'lineitem.filter(x!(l_shipdate >= "1994-01-01" && l_shipdate < "1995-01-01" && l_discount >= 0.05 '
            "&& l_discount <= 0.07 && l_quantity < {x})).select(x!(revenue = (l_extendedprice * l_discount).sum()))",
            "select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date '1994-01-01' and "
            "l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < {x}",
            quantities,
        ),
        Step(
            "group by l_suppkey",
            'lineitem.filter(x!(l_quantity >= {x})).group_by("l_suppkey")'
            ".agg(x!(s = l_extendedprice.sum(), n = len()))",
            "select l_suppkey, sum(l_extendedprice), count(*) from lineitem where l_quantity >= {x} group by 1",
            low,
            "persist",
        ),
        Step(
            "join orders, group by",
            'lineitem.filter(x!(l_quantity < {x})).inner_join(&orders, on("l_orderkey", "o_orderkey"))'
            '.group_by("o_orderpriority").agg(x!(s = l_extendedprice.sum(), n = len()))',
            "select o_orderpriority, sum(l_extendedprice), count(*) from lineitem join orders "
            "on l_orderkey = o_orderkey where l_quantity < {x} group by 1",
            quantities,
        ),
        Step(
            "str.contains",
            'lineitem.filter(x!(l_comment.str.contains("{x}"))).select(x!(n = len()))',
            "select count(*) from lineitem where contains(l_comment, '{x}')",
            words,
        ),
        Step(
            "sort, first 10",
            'lineitem.sort([desc("l_extendedprice"), asc("l_orderkey"), asc("l_linenumber")]).head({x})',
            "select * from lineitem order by l_extendedprice desc, l_orderkey, l_linenumber limit {x}",
            [10, 11, 12, 13, 14, 15, 16, 17],
        ),
        Step(
            "describe 3 columns",
            f"lineitem.filter(x!(l_quantity >= {{x}})).select([{quoted}]).describe()",
            f"select {summary} from lineitem where l_quantity >= {{x}}",
            low,
            # Statistics are rows in one and columns in the other.
            compared=False,
        ),
        Step(
            "rank over l_suppkey",
            "lineitem.filter(x!(l_quantity >= {x})).select(x!(l_orderkey, "
            'r = l_extendedprice.rank(method = "min").over(l_suppkey)))',
            "select l_orderkey, rank() over (partition by l_suppkey order by l_extendedprice) from lineitem "
            "where l_quantity >= {x}",
            low,
            "persist",
        ),
        Step(
            "persist half, 4 columns",
            f"lineitem.filter(x!(l_quantity > {{x}})).select(x!({kept}))",
            f"select {kept} from lineitem where l_quantity > {{x}}",
            quantities,
            "persist",
        ),
    ]


# Of queries without a date: a piece of the text, and what takes its place in each run.
COLOURS = ["green", "blue", "red", "ivory", "khaki", "linen", "navy", "olive"]
NATIONS = ["SAUDI ARABIA", "FRANCE", "PERU", "CHINA", "KENYA", "INDIA", "BRAZIL", "JAPAN"]
BRANDS = [45, 44, 43, 42, 41, 35, 34, 33]
REQUESTS = [f"{a}%{b}" for b in ("requests", "packages") for a in ("special", "pending", "unusual", "express")]
OTHER_LITERALS = {
    "2": ("p_size = 15", [f"p_size = {15 + n}" for n in range(8)]),
    "9": ("%green%", [f"%{colour}%" for colour in COLOURS]),
    "11": ("0.0001", [f"{0.0001 + n * 1e-6:.6f}" for n in range(8)]),
    "13": ("special%requests", REQUESTS),
    "16": ("Brand#45", [f"Brand#{brand}" for brand in BRANDS]),
    "17": ("Brand#23", ["Brand#23", *(f"Brand#{brand}" for brand in BRANDS[:7])]),
    "18": ("> 300", [f"> {300 + n}" for n in range(8)]),
    "19": (
        "l_quantity >= 1 and l_quantity <= 1 + 10",
        [f"l_quantity >= {n} and l_quantity <= {n} + 10" for n in range(1, 9)],
    ),
    "21": ("SAUDI ARABIA", NATIONS),
    "22": ("c_acctbal > 0.00", [f"c_acctbal > {n}.00" for n in range(8)]),
}


def varied(number: str, text: str, run: int) -> str:
    """The query with other literals: a later day, or what the table above says, and another limit."""
    if number in OTHER_LITERALS:
        piece, others = OTHER_LITERALS[number]
        assert piece in text, f"query {number} has no {piece!r}"
        text = text.replace(piece, others[run % len(others)])
    else:
        later = datetime.timedelta(days=run)
        text, dates = re.subn(
            r"'(\d{4}-\d\d-\d\d)'", lambda m: f"'{datetime.date.fromisoformat(m[1]) + later}'", text
        )
        assert dates, f"query {number} has no date"
    return f"{text}\nlimit {1000 + run}"


def tpch(only: str, runs: int) -> list[Step]:
    """The queries of TPC-H with these numbers: `all`, `none` or `1,6,17`."""
    wanted = None if only == "all" else [] if only == "none" else only.split(",")
    found = [(name.split()[-1], name, text) for name, text in data.queries()]
    if unknown := set(wanted or []) - {number for number, _, _ in found}:
        sys.exit(f"--queries {only}: {', '.join(sorted(unknown))} is not the number of a query")
    return [
        Step(name, 'sql(r#"{x}"#)', "{x}", [varied(number, text, run) for run in range(runs)])
        for number, name, text in found
        if wanted is None or number in wanted
    ]


@dataclass
class Cell:
    step: str
    # `first`, `new`, `same` or `explain`; `load`, for what runs once, and `prelude`. `top` after each that is timed,
    # `passed` after another one.
    kind: str
    code: str


def cells(folder: Path, asked: list[Step], repeats: int, explains: bool) -> list[Cell]:
    load = ["let (begun, mut build) = (std::time::Instant::now(), 0.0);"]
    for name in data.TABLES:
        load.append(f'let read = std::time::Instant::now(); let {name} = read_parquet("{folder / name}.parquet");')
        load.append(f"build += ms(read); let {name} = {name}.persist();")
    load.append('measured(build, ms(begun), "null");')
    start = "let begun = std::time::Instant::now(); frame! { a: [1] }.height(); "
    start += 'measured(0.0, ms(begun), "null");'
    found = [Cell("", "prelude", ":timing"), Cell("", "prelude", PRELUDE)]
    for name, code in ((START, start), (LOAD, "\n".join(load))):
        found += [Cell(name, "load", code), Cell(name, "top", ":top")]
    for step in asked:
        kinds = ["first", *["new"] * repeats, "same", *["explain"] * explains]
        # The same literal as in the run before.
        runs = [*range(repeats + 1), repeats, repeats + 1]
        for kind, run in zip(kinds, runs):
            frame = step.onrush.replace("{x}", step.literal(run))
            if kind == "explain":
                code = f"{step.before}\nprintln!(\"{{}}\", ({frame}).explain_analyze());"
            else:
                result = "&r" if step.end == "persist" else "&from_batch(&r)"
                answer = f"&answer({result})" if kind == "same" and step.compared else '"null"'
                code = (
                    f"{{\n{step.before}\nlet begun = std::time::Instant::now();\nlet f = {frame};\n"
                    f"let build = ms(begun);\nlet r = f.{step.end}();\nlet all = ms(begun);\n"
                    f"measured(build, all, {answer});\n}}"
                )
            found.append(Cell(step.name, kind, code))
            found.append(Cell(step.name, "top" if kind != "explain" else "passed", ":top"))
    return found


def run_notebook(codes: list[str], arguments: argparse.Namespace, engine: str) -> list[list[dict]]:
    """Runs the cells as a notebook with a session for it alone, and gives the outputs of each."""
    kernel = {"display_name": "Rust (Onrush)", "language": "rust", "name": "onrush"}
    empty = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    notebook = {
        "cells": [{**empty, "id": f"cell-{n}", "source": code} for n, code in enumerate(codes)],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    program = os.environ.get("ONRUSH_BIN") or shutil.which("onrush")
    if program is None:
        sys.exit("there is no `onrush` on the path: set ONRUSH_BIN to the program")
    # The path of a socket is short: not below a folder of the data.
    runtime = Path(tempfile.mkdtemp(prefix="onrush-n"))
    given, made = runtime / "bench.ipynb", runtime / "out.ipynb"
    given.write_text(json.dumps(notebook))
    command = [program, "run", given, "-o", made, "--allow-errors", "--timeout", f"{arguments.timeout}s"]
    command += ["--engine", engine]
    if arguments.device_memory and engine != "cpu":
        command += ["--device-memory", arguments.device_memory]
    # A session that another program started would have other frames. This one ends soon after the notebook.
    ran = subprocess.run(
        command,
        env={**os.environ, "ONRUSH_RUNTIME_DIR": str(runtime), "ONRUSH_IDLE": "5"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if not made.is_file():
        sys.exit(f"`onrush run` ended with status {ran.returncode}:\n{ran.stdout}")
    outputs = [cell["outputs"] for cell in json.loads(made.read_text())["cells"]]
    shutil.rmtree(runtime, ignore_errors=True)
    return outputs


def stdout_of(outputs: list[dict]) -> str:
    return "".join("".join(o["text"]) for o in outputs if o["output_type"] == "stream" and o["name"] == "stdout")


def failure_of(outputs: list[dict]) -> str | None:
    return next((f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error"), None)


def make_csv(folder: Path, arguments: argparse.Namespace) -> Path:
    """Some columns of the first rows of `lineitem`, written once."""
    csv = folder / "lineitem.csv"
    if not csv.is_file():
        rows, unfinished = max(int(CSV_ROWS * arguments.scale), 1), folder / "lineitem.csv.unfinished"
        columns = ", ".join(f'"{name}"' for name in CSV_COLUMNS)
        code = (
            f'read_parquet("{folder}/lineitem.parquet").select([{columns}]).head({rows}).write_csv("{unfinished}");'
        )
        if failure := failure_of(run_notebook([code], arguments, "cpu")[0]):
            sys.exit(f"{csv} could not be written: {failure}")
        unfinished.rename(csv)
    return csv


def duckdb_module():
    """DuckDB of this Python, or of the wheel that is packed with this file; `None` if there is neither."""
    wheel = next(iter(sorted((data.HERE / "wheels").glob("duckdb-*.whl"))), None)
    if wheel is not None:
        unpacked = wheel.parent / "unpacked"
        zipfile.ZipFile(wheel).extractall(unpacked)
        sys.path.insert(0, str(unpacked))
    try:
        import duckdb
    except ImportError as error:
        print(f"DuckDB is not compared: {error}")
        return None
    return duckdb


def duckdb_answer(duck) -> list[float]:
    sums = ["count(*)"]
    for name, kind, *_ in duck.execute("describe answer").fetchall():
        quoted = '"' + name.replace('"', '""') + '"'
        value = quoted
        if kind == "VARCHAR":
            value = f"strlen({quoted})"
        elif kind == "DATE" or kind.startswith("TIMESTAMP"):
            value = f"epoch({quoted})"
        elif kind in ("DOUBLE", "FLOAT"):
            value = f"case when isnan({quoted}) then 0 else {quoted} end"
        sums.append(f"coalesce(sum(({value})::double), 0)")
    return list(duck.execute(f"select {', '.join(sums)} from answer").fetchone())


def ask_duckdb(duck, folder: Path, asked: list[Step], results: dict[str, Result], repeats: int) -> None:
    """Adds DuckDB's times, and compares the first answers."""

    def timed(run) -> float:
        begun = time.perf_counter()
        run()
        return (time.perf_counter() - begun) * 1e3

    def load() -> None:
        for name in data.TABLES:
            duck.execute(f"create table {name} as from read_parquet('{folder / name}.parquet')")

    results[LOAD].duckdb.append(timed(load))
    for step in asked:
        result = results[step.name]
        for run in range(repeats + 1):
            query = step.duckdb.replace("{x}", step.literal(run))
            table = f"create or replace temp table answer as {query}"
            if step.end == "persist":
                result.duckdb.append(timed(lambda: duck.execute(table)))
            else:
                result.duckdb.append(timed(lambda: duck.execute(query).fetchall()))
        # The literal of the last run.
        if result.answer is not None:
            if step.end != "persist":
                duck.execute(table)
            expected = duckdb_answer(duck)
            if not agree(result.answer, expected):
                result.differs = f"rows and sums {result.answer} instead of {expected}"
        duck.execute("drop table if exists answer")


def agree(ours: list, expected: list[float]) -> bool:
    return len(ours) == len(expected) and all(
        a is not None and math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE) for a, b in zip(ours, expected)
    )


def read(asked: list[Cell], outputs: list[list[dict]]) -> dict[str, Result]:
    """The results of the cells by step."""
    results: dict[str, Result] = {}
    spent: dict[str, float] = {}
    for cell, output in zip(asked, outputs):
        text, failure = stdout_of(output), failure_of(output)
        if cell.kind == "prelude":
            if failure:
                sys.exit(f"the first cells failed: {failure}")
            continue
        result = results.setdefault(cell.step, Result(cell.step))
        result.failure = result.failure or failure
        if cell.kind in ("top", "passed"):
            now = phases(text)
            if cell.kind == "top":
                result.phases.append({name: round(time - spent.get(name, 0.0), 1) for name, time in now.items()})
            spent = now
            continue
        if compiled := re.search(r"^(?:found )?compiled in ([0-9.]+) ms", text, re.MULTILINE):
            result.compiled.append(float(compiled[1]))
            text = text[: compiled.start()]
        if failure:
            continue
        if cell.kind == "explain":
            result.explained = text
            continue
        line = json.loads(text.replace("NaN", "null"))
        result.onrush.append(line["ms"])
        result.build.append(line["build"])
        result.answer = line["answer"] or result.answer
    return results


def milliseconds(text: str) -> float:
    """`933 μs`, `4.1 ms`, `1.20 s` as `explain_analyze` prints them."""
    number, unit = text.split()
    return float(number) * {"μs": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def phases(top: str) -> dict[str, float]:
    """What `:top` says of the engine's time since it began, ms."""
    line = re.search(r"^time +(.*)$", top, re.MULTILINE)
    found = re.findall(r"([a-z ]+) ([0-9.]+) ms", line[1]) if line else []
    return {name.strip(): float(time) for name, time in found}


def placed(explained: str) -> str:
    """Where the nodes of a plan run: `cpu`, `gpu`, or how many on each."""
    places = re.findall(r"\[([a-z]+)[^\]]*\](?:$|  (?:rows|time|parts)=)", explained, re.MULTILINE)
    cpu = places.count("cpu")
    if not places or cpu in (0, len(places)):
        return "" if not places else "cpu" if cpu else "gpu"
    return f"gpu {len(places) - cpu}, cpu {cpu}"


def show(results: dict[str, Result], repeats: int) -> None:
    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:,.0f}"

    def new(times: list[float]) -> float | None:
        return statistics.median(times[1 : repeats + 1]) if len(times) > repeats else None

    columns = ["first", "new", "same", "DuckDB", "build", "plan", "run", "compiled"]
    width = max(len(name) for name in results) + 1
    print(f"{'ms':{width}}" + "".join(f"{name:>10}" for name in columns) + "  where")
    totals = {name: 0.0 for name in columns[:4]}
    notes = []
    for name, result in results.items():
        times = result.onrush
        duck = new(result.duckdb) if len(result.duckdb) > 1 else next(iter(result.duckdb), None)
        planned = re.search(r"planned in (.*), ran in (.*)", result.explained)
        values = [times[0] if times else None, new(times), times[-1] if len(times) > repeats + 1 else None, duck]
        values.append(new(result.build) if len(times) > 1 else next(iter(result.build), None))
        values += [milliseconds(text) for text in planned.groups()] if planned else [None, None]
        values.append(statistics.median(result.compiled) if result.compiled else None)
        shown = [number(value) for value in values]
        print(f"{name:{width}}" + "".join(f"{text:>10}" for text in shown) + f"  {placed(result.explained)}")
        if name.startswith("query"):
            for column, value in zip(totals, values):
                totals[column] += value or 0.0
        notes += [f"{name}: {note}" for note in (result.failure, result.differs) if note]
    asked = sum(name.startswith("query") for name in results)
    if asked > 1:
        label = f"{asked} queries"
        print(f"{label:{width}}" + "".join(f"{number(value or None):>10}" for value in totals.values()))
    show_phases("first", {name: (result.onrush[:1], result.phases[:1]) for name, result in results.items()})
    new_runs = slice(1, repeats + 1)
    show_phases("new", {name: (result.onrush[new_runs], result.phases[new_runs]) for name, result in results.items()})
    for note in notes:
        print(note)


def show_phases(title: str, runs: dict[str, tuple[list[float], list[dict[str, float]]]]) -> None:
    """Medians of the phases of some runs of each step."""
    taken = {name for _, spent in runs.values() for one in spent for name in one}
    names = [name for name in PHASES if name in taken]
    if not names:
        return
    width = max(len(name) for name in runs) + 1
    print(f"\n{title + ', ms':{width}}" + "".join(f"{name:>12}" for name in [*names, "other"]))
    for step, (times, spent) in runs.items():
        if not times or len(times) != len(spent):
            continue
        values = [statistics.median(one.get(name, 0.0) for one in spent) for name in names]
        other = max(statistics.median(times) - sum(values), 0.0)
        print(f"{step:{width}}" + "".join(f"{value:>12,.1f}" for value in [*values, other]))


def pack(folder: Path, python: str) -> None:
    """Collects what a machine without packages or a network needs, but for Onrush itself."""
    (folder / "wheels").mkdir(parents=True, exist_ok=True)
    for file in (Path(__file__).resolve(), data.HERE / "data.py", data.QUERIES):
        shutil.copy2(file, folder)
    program = data.generator()
    if program is None:
        sys.exit(f"tpchgen-cli makes the tables: {sys.executable} -m pip install -r xtask/requirements-tpch.txt")
    shutil.copy2(program, folder / "tpchgen-cli")
    listed = (data.HERE.parent / "requirements-test.txt").read_text()
    wheel = re.search(r"^duckdb==.*$", listed, re.MULTILINE)[0]
    platforms = [f"manylinux_2_{n}_{platform.machine()}" for n in (17, 24, 26, 27, 28)]
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    download += ["--python-version", python, "--implementation", "cp", "--dest", str(folder / "wheels")]
    for name in platforms:
        download += ["--platform", name]
    subprocess.run([*download, wheel], check=True)
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            print(f"{file.stat().st_size / 1e6:8.2f} MB  {file}")
    print(f"there: python3 {folder.name}/notebook.py --scale 10 --engine cuda --data /tmp/bench")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scale", type=float, default=1.0, help="scale of TPC-H: 6,000,000 rows of lineitem each")
    options.add_argument("--repeats", type=int, default=3, help="runs of each step with another literal")
    options.add_argument("--steps", default="", help="only the steps whose names contain one of these, `a,b`, or none")
    options.add_argument("--queries", default="all", help="numbers of TPC-H's queries, `1,6,17`, or none")
    options.add_argument("--engine", default=os.environ.get("ONRUSH_ENGINE") or "auto", help="as of `onrush run`")
    options.add_argument("--device-memory", help="as of `onrush run`")
    options.add_argument("--timeout", type=int, default=900, help="seconds after which a cell has failed")
    options.add_argument("--no-duckdb", action="store_true", help="measure Onrush alone")
    options.add_argument("--no-explain", action="store_true", help="leave `plan`, `run` and `where` out")
    options.add_argument("--data", type=Path, default=data.cache(), help="the folder of the generated data")
    options.add_argument("--out", type=Path, help="write the raw numbers there, as JSON")
    options.add_argument("--pack", type=Path, metavar="DIR", help="collect what another machine needs, and end")
    options.add_argument("--python", default="3.12", help="the Python of that machine (--pack)")
    arguments = options.parse_args()
    if arguments.pack:
        return pack(arguments.pack, arguments.python)

    folder = data.tables(arguments.data.absolute(), arguments.scale)
    parts = [] if arguments.steps == "none" else arguments.steps.split(",")
    asked = [step for step in steps(folder / "lineitem.csv") if any(part in step.name for part in parts)]
    if any(step.name == "read_csv" for step in asked):
        make_csv(folder, arguments)
    asked += tpch(arguments.queries, arguments.repeats + 2)
    notebook = cells(folder, asked, arguments.repeats, not arguments.no_explain)
    begun = time.perf_counter()
    results = read(notebook, run_notebook([cell.code for cell in notebook], arguments, arguments.engine))
    took = time.perf_counter() - begun
    duckdb = None if arguments.no_duckdb else duckdb_module()
    if duckdb:
        with tempfile.TemporaryDirectory(prefix="onrush-bench") as scratch:
            duck = duckdb.connect(config={"temp_directory": f"{scratch}/duckdb"})
            ask_duckdb(duck, folder, asked, results, arguments.repeats)
            duck.close()
    cpus = len(os.sched_getaffinity(0))
    of = f"TPC-H scale {arguments.scale:g}, engine {arguments.engine}, {cpus} cores"
    print(f"A notebook of {len(notebook)} cells, {of}")
    show(results, arguments.repeats)
    compiling = sum(sum(result.compiled) for result in results.values()) / 1e3
    print(f"the notebook took {took:.1f} s, of which {compiling:.1f} s to compile cells")
    if arguments.out:
        machine = {
            "scale": arguments.scale,
            "engine": arguments.engine,
            "repeats": arguments.repeats,
            "cpus": cpus,
            "machine": platform.machine(),
            "duckdb": duckdb.__version__ if duckdb else None,
            "seconds": took,
        }
        everything = {"machine": machine, "results": [vars(result) for result in results.values()]}
        arguments.out.write_text(json.dumps(everything, indent=1) + "\n")
    if any(result.failure or result.differs for result in results.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
