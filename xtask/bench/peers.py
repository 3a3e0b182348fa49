"""What the suites `h2o`, `tpch` and `idioms` share: Onrush, Polars and DuckDB answer the same questions over the same
rows.

- Threads: `--threads N`, default all cores. The process and the session that it starts are bound to the first N
  cores; Polars and DuckDB are given N threads as well.
- Data lie in each engine's memory before the first question: a persisted frame, a DataFrame, a table.
- A time ends when the result lies in the engine's memory. Onrush: a cell runs the step and `.persist()`, timed with
  `Instant` in the cell, so that a cell's compilation is not part of the time, and the way to the session is. Polars:
  the call that gives a DataFrame. DuckDB: `create or replace temp table ... as`.
- Nothing is taken from a cache of results: each run of Onrush starts from other frames with the same rows, a query has
  another comment, and a file another modification time.
- Each question is asked 1 + ROUNDS times, of the engines in turns. The table has the first time and the best of the
  others.
- Answers are compared with DuckDB's: number of rows, and the sum of each column (lengths of strings, seconds of times).
  An answer that differs is shown as `differs`, one without a value as `empty`, and neither has a ratio.
- The ratio is Onrush's best time to the better peer's: below 1 Onrush is faster.
"""

import argparse
import json
import math
import os
import platform
import re
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

_parser = argparse.ArgumentParser(add_help=False)
_parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
THREADS = _parser.parse_known_args()[0].threads
# Before Polars is imported and the session starts: both look at it once.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
os.environ["POLARS_MAX_THREADS"] = str(THREADS)
# A session that another program started would have other cores and other rows. This one ends soon after its kernel.
os.environ["ONRUSH_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="onrush-b", dir=os.environ.get("ONRUSH_RUNTIME_DIR"))
os.environ["ONRUSH_IDLE"] = "5"

sys.path.insert(0, str(Path(__file__).resolve().parent))

import duckdb  # noqa: E402
import polars as pl  # noqa: E402
import pytest  # noqa: E402
from cells import onrush_specs  # noqa: E402
from data import cache  # noqa: E402
from driver import Kernel  # noqa: E402

ENGINES = ("onrush", "polars", "duckdb")
ROUNDS = 3
TOLERANCE = 1e-6

# In every cell's reach. `answer` prints what `compare` reads.
PRELUDE = """
/// The same rows, each time as the result of another step.
fn runs(f: &Frame, count: usize) -> Vec<Frame> {
    let rows = f.height();
    (0..count).map(|run| f.head(rows + run).persist()).collect()
}
fn answer(f: &Frame) {
    let mut sums = vec![len().alias("rows")];
    for (at, field) in f.schema().fields.iter().enumerate() {
        let c = col(&field.name);
        let value = match &field.dtype {
            DataType::String | DataType::Categorical => c.str().len_bytes(),
            DataType::Date | DataType::Timestamp(..) => c.dt().epoch("s"),
            DataType::List(_) => c.list().len(),
            DataType::Float32 | DataType::Float64 => c.fill_nan(0.0),
            DataType::Boolean => c.cast("i64"),
            _ => c,
        };
        sums.push(value.cast("f64").sum().alias(format!("sum{at}")));
    }
    let rows: Vec<Vec<f64>> = f.select(sums).rows();
    println!("{:?}", rows[0]);
}
"""


@dataclass
class Line:
    """One question. `onrush` is an expression that gives a frame (`{run}` is the number of the run), `polars` gives a
    DataFrame, and `duckdb` is a query.

    `compared` is `columns` (rows, and each column's sum) or `sorted` (the columns may have another order). `before`
    runs before each run of any engine and is not timed."""

    name: str
    onrush: str
    polars: Callable[[], pl.DataFrame] | None
    duckdb: str | None
    compared: str = "columns"
    tolerance: float = TOLERANCE
    before: Callable[[], None] = lambda: None


@dataclass
class Written:
    """One writer of files. `onrush` is a statement; each of the three writes `path`, whose rows `read` gives."""

    name: str
    path: Path
    onrush: str
    polars: Callable[[], object]
    duckdb: str
    read: Callable[[], pl.DataFrame]
    compared: str = "columns"
    tolerance: float = TOLERANCE

    def before(self) -> None:
        self.path.unlink(missing_ok=True)


@dataclass
class Times:
    """Milliseconds of each run, and the answer. `failure` is the message if there is none."""

    runs: list[float] = field(default_factory=list)
    answer: list[float] | None = None
    failure: str | None = None

    @property
    def best(self) -> float | None:
        return min(self.runs[1:] or self.runs) if self.runs and not self.failure else None


def options(doc: str, **more) -> argparse.Namespace:
    """The options of all suites, and `more`: name and default."""
    arguments = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, parents=[_parser]
    )
    arguments.add_argument("--out", type=Path, help="write the raw numbers there, one JSON object for each line")
    arguments.add_argument("--only", default="", help="only the questions whose name contains this")
    arguments.add_argument("--data", type=Path, default=cache(), help="the folder of the generated data")
    arguments.add_argument("--timeout", type=float, default=900, help="seconds after which a cell has failed")
    for name, default in more.items():
        arguments.add_argument(f"--{name}", type=type(default), default=default)
    return arguments.parse_args()


def first_line(error: BaseException | str) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return " | ".join(line.strip() for line in lines[:6])[:600]


class Failed(Exception):
    """A cell failed."""


class Bench:
    """The three engines with their data."""

    def __init__(self, arguments: argparse.Namespace):
        self.arguments = arguments
        self.scratch = tempfile.TemporaryDirectory(prefix="onrush-bench")
        self.duck = duckdb.connect(config={"threads": THREADS, "temp_directory": f"{self.scratch.name}/duckdb"})
        self.kernel = Kernel(onrush_specs(), Path(self.scratch.name))
        self.tables = []
        self.cell(PRELUDE)

    def cell(self, code: str) -> list[str]:
        """Runs a cell and gives the lines that it prints."""
        try:
            ran = self.kernel.run(code, timeout=self.arguments.timeout)
        except pytest.fail.Exception:
            self.kernel.interrupt()
            raise Failed(f"no answer after {self.arguments.timeout:g} s") from None
        if ran.status != "ok":
            raise Failed(first_line(ran.error_text if ran.error else str(ran.reply)))
        return ran.stdout.splitlines()

    def table(self, name: str, file: Path) -> pl.DataFrame:
        """Loads a Parquet file into all three engines under this name."""
        self.cell(f'let {name} = read_parquet("{file}").persist(); let {name}_runs = runs(&{name}, {ROUNDS + 1});')
        self.tables.append(name)
        self.duck.execute(f"create or replace table {name} as from read_parquet('{file}')")
        # Without dictionaries and views into the file, as a program that made the rows would have them.
        return pl.read_parquet(file).rechunk()

    def close(self) -> None:
        self.kernel.close()
        self.duck.close()
        self.scratch.cleanup()

    def onrush(self, line: Line | Written, run: int) -> tuple[float, list[float] | None]:
        if isinstance(line, Line):
            # `sql` finds the frames by their names, and has another text.
            tables = [] if "sql(" in line.onrush else self.tables
            used = [name for name in tables if re.search(rf"\b{name}\b", line.onrush)]
            before = "".join(f"let {name} = {name}_runs[{run}].clone(); " for name in used)
            ask = f"let r = {{ {line.onrush.replace('{run}', str(run))} }}.persist();"
            after = "answer(&r);" if run == 0 else ""
        else:
            before, ask, after = "", f"let written = {line.onrush};", ""
        printed = self.cell(
            f"{{ {before}let begun = std::time::Instant::now(); {ask} "
            f'println!("{{}}", begun.elapsed().as_secs_f64() * 1e3); {after} }}'
        )
        return float(printed[0]), json.loads(printed[1].replace("NaN", "null")) if after else None

    def polars(self, line: Line | Written, run: int) -> tuple[float, list[float] | None]:
        begun = time.perf_counter()
        result = line.polars()
        took = (time.perf_counter() - begun) * 1e3
        return took, of_polars(result) if run == 0 and isinstance(line, Line) else None

    def duckdb(self, line: Line | Written, run: int) -> tuple[float, list[float] | None]:
        query = f"create or replace temp table answer as {line.duckdb}" if isinstance(line, Line) else line.duckdb
        begun = time.perf_counter()
        self.duck.execute(query)
        took = (time.perf_counter() - begun) * 1e3
        return took, self.of_duckdb() if run == 0 and isinstance(line, Line) else None

    def ask(self, line: Line | Written) -> dict[str, Times]:
        """The engines in turns, so that other work on the machine disturbs all of them."""
        times = {engine: Times() for engine in ENGINES}
        for run in range(ROUNDS + 1):
            for engine, of in times.items():
                if of.failure or getattr(line, engine) is None:
                    continue
                line.before()
                try:
                    took, answer = getattr(self, engine)(line, run)
                    of.runs.append(took)
                    if run == 0:
                        of.answer = of_polars(line.read()) if isinstance(line, Written) else answer
                except (KeyboardInterrupt, SystemExit):
                    raise
                # Polars' panics are not of the class Exception.
                except BaseException as error:
                    of.failure = first_line(error)
        self.duck.execute("drop table if exists answer")
        return times

    def of_duckdb(self) -> list[float]:
        sums = ["count(*)"]
        for name, kind, *_ in self.duck.execute("describe answer").fetchall():
            quoted = '"' + name.replace('"', '""') + '"'
            if kind.endswith("[]"):
                value = f"len({quoted})"
            elif kind == "VARCHAR" or kind.startswith("ENUM"):
                value = f"strlen({quoted}::varchar)"
            elif kind == "DATE" or kind.startswith("TIMESTAMP"):
                value = f"epoch({quoted})"
            elif kind in ("DOUBLE", "FLOAT"):
                value = f"case when isnan({quoted}) then 0 else {quoted} end"
            else:
                value = quoted
            sums.append(f"coalesce(sum(({value})::double), 0)")
        return list(self.duck.execute(f"select {', '.join(sums)} from answer").fetchone())


def of_polars(frame: pl.DataFrame) -> list[float]:
    sums = [float(frame.height)]
    for column in frame.iter_columns():
        if isinstance(column.dtype, pl.List):
            column = column.list.len()
        elif column.dtype in (pl.String, pl.Categorical):
            column = column.cast(pl.String).str.len_bytes()
        elif column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
            column = column.dt.epoch("s")
        elif column.dtype.is_float():
            column = column.fill_nan(0.0)
        sums.append(float(column.cast(pl.Float64).sum() or 0))
    return sums


def difference(line: Line | Written, ours: list[float], expected: list[float]) -> str | None:
    """None if the answers agree."""
    if line.compared == "sorted":
        ours, expected = sorted(ours), sorted(expected)
    agree = len(ours) == len(expected) and all(
        a is not None and math.isclose(a, b, rel_tol=line.tolerance, abs_tol=line.tolerance)
        for a, b in zip(ours, expected)
    )
    return None if agree else f"rows and sums {ours} instead of {expected}"


def report(bench: Bench, title: str, lines: list[Line | Written]) -> None:
    """Asks all questions, prints the table and writes the raw numbers."""
    only = bench.arguments.only
    lines = [line for line in lines if only in line.name]
    width = max([len(line.name) for line in lines] + [8])
    print(f"{title}; {THREADS} threads, ms: first time, best of {ROUNDS} others; ratio to the better peer", flush=True)
    print(f"{'':{width}}" + "".join(f"{engine:>21}" for engine in ENGINES) + f"{'ratio':>9}")
    results, notes, ratios = [], [], {}
    for line in lines:
        times = bench.ask(line)
        # DuckDB's answer is the expected one, and Polars' where DuckDB has none.
        expected = next((times[e] for e in ("duckdb", "polars") if times[e].answer), None)
        shown, right = {}, {}
        for engine, of in times.items():
            differs = of.answer and expected and difference(line, of.answer, expected.answer)
            if of.failure:
                shown[engine] = "failed" if engine == "onrush" else "-"
                notes.append(f"{line.name}, {engine}: {of.failure}")
            elif not of.runs:
                shown[engine] = "-"
            elif of.answer and not any(of.answer[1:]):
                shown[engine] = "empty"
                notes.append(f"{line.name}, {engine}: the answer has no rows, or only zeros")
            elif differs:
                shown[engine] = "differs"
                notes.append(f"{line.name}, {engine}: {differs}")
            else:
                shown[engine] = f"{of.runs[0]:.1f} {of.best:>10.1f}"
                right[engine] = of.best
        peers = [right[e] for e in ENGINES[1:] if e in right]
        if "onrush" in right and peers:
            ratios[line.name] = right["onrush"] / min(peers)
        ratio = f"{ratios[line.name]:>9.2f}" if line.name in ratios else f"{'-':>9}"
        print(f"{line.name:{width}}" + "".join(f"{shown[e]:>21}" for e in ENGINES) + ratio, flush=True)
        results.append(
            {"question": line.name, "ratio": ratios.get(line.name)}
            | {f"{e}_ms": of.runs for e, of in times.items()}
            | {f"{e}_shown": shown[e] for e in times if e not in right}
        )
    for note in notes:
        print(note)
    if ratios:
        worst = max(ratios, key=ratios.get)
        mean = statistics.geometric_mean(ratios.values())
        print(f"geometric mean of {len(ratios)} ratios: {mean:.2f}; worst: {worst}, {ratios[worst]:.2f}")
    if bench.arguments.out:
        machine = {
            "suite": title, "threads": THREADS, "cpus": os.cpu_count(), "machine": platform.machine(),
            "polars": pl.__version__, "duckdb": duckdb.__version__,
        }
        with bench.arguments.out.open("w") as out:
            for result in [machine, *results, {"notes": notes}]:
                out.write(json.dumps(result) + "\n")
