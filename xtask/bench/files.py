"""Each reader and each writer of files beside Polars, DuckDB, pyarrow and pandas, over 1,000,000 rows of nine columns
(`--rows`) and workbooks of 100,000 (`--cells`). The aim is at most twice the time of the fastest peer.

- Threads, and where the rows lie before a write: see `peers.py`. pyarrow has the same number of threads.
- Reading: the file lies in the page cache, and its rows end in the engine's memory: a persisted frame, a DataFrame, a
  table. Onrush keeps files by their modification time, so that the file gets another one before each run. Each engine
  keeps the rows of all runs of a step: memory that a process has for the first time is the larger part of a fast read.
- Writing: the file is new, the codec is named, and the level is each engine's default. The time ends when the call
  returns. Onrush flushes the file to the disk (`fsync`) before it gives the file its name. The peers do not flush, and
  `--flush` makes them do it, as part of their time.
- Polars and pyarrow map an uncompressed Arrow file and read nothing. Polars gets its bytes, and pyarrow does not map.
- The engines run in turns, ROUNDS times (`--rounds`) after a first one. The table has the least time of each, and the
  ratio of Onrush's to the fastest peer's. A peer whose first run took SLOW times the least is not run again.
- Number of rows and sums of columns are compared with the source's, also of each written file, which pyarrow or Polars
  reads. A wrong answer is shown as `differs` and has no ratio.
- DuckDB has its readers of Avro and Excel in extensions that are fetched, and no ORC. pandas reads workbooks by
  calamine, and writes them by XlsxWriter.
"""

import io
import itertools
import json
import math
import os
import platform
import re
import shutil
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import numpy as np
import pandas as pd
import peers
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
from peers import THREADS, Bench, Failed, first_line, of_polars

SEED = 211
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
# Seconds that no run had before.
CLOCK = itertools.count(int(time.time()) - 1_000_000)
READ, WRITE = "read", "write"
SLOW = 3


def rows(count: int) -> pa.Table:
    """Integers, floats, strings of few and of many values, dates, timestamps of seconds, nulls."""
    random = np.random.default_rng(SEED)
    start = np.datetime64("2024-01-01T00:00:00", "us").astype(np.int64)
    seconds = np.sort(random.integers(0, 31_536_000, count))
    return pa.table({
        "id": np.arange(count),
        "group": random.integers(0, 1000, count, dtype=np.int32),
        "price": np.round(random.uniform(0, 1000, count), 2),
        "rate": pa.array(random.normal(size=count), mask=random.uniform(size=count) < 0.05),
        "word": pa.array(WORDS).take(pa.array(random.integers(0, len(WORDS), count))),
        "name": pa.array([f"{WORDS[n % len(WORDS)]} no {n}" for n in random.integers(0, count, count).tolist()]),
        "valid": random.uniform(size=count) < 0.7,
        "day": pa.array((19_723 + seconds // 86_400).astype(np.int32)).cast(pa.date32()),
        "time": pa.array(start + seconds * 1_000_000).cast(pa.timestamp("us")),
    })


@dataclass
class Step:
    """A reader or a writer. `cell` is an expression that gives a frame, or a number of rows; `peers` give a DataFrame,
    an Arrow table, a pandas frame or nothing; a string is a query of DuckDB. `written` reads what a writer wrote."""

    name: str
    way: str
    path: Path
    cell: str
    peers: dict[str, Callable[[], object] | str]
    expected: list[float]
    written: Callable[[Path], pl.DataFrame] | None = None

    def before(self) -> None:
        if self.way == WRITE:
            shutil.rmtree(self.path) if self.path.is_dir() else self.path.unlink(missing_ok=True)
            return
        for path in [self.path, *self.path.rglob("*.parquet")]:
            os.utime(path, (now := next(CLOCK), now))


@dataclass
class Result:
    """The time of each run after the first, in milliseconds. `failure` is the error of a step that was not timed."""

    first: float = 0.0
    runs: list[float] = field(default_factory=list)
    failure: str | None = None


def as_polars(answer) -> pl.DataFrame:
    if isinstance(answer, pl.DataFrame):
        return answer
    return pl.from_pandas(answer) if isinstance(answer, pd.DataFrame) else pl.DataFrame(pl.from_arrow(answer))


def flushed(path: Path) -> None:
    for file in [path] if path.is_file() else path.rglob("*.parquet"):
        with file.open("rb") as handle:
            os.fsync(handle.fileno())


def agree(answer: list[float], expected: list[float]) -> bool:
    """Sums of sorted columns: formats differ in the order of columns, and in the place of folder columns."""
    pairs = zip(sorted(answer), sorted(expected))
    return len(answer) == len(expected) and all(a is not None and math.isclose(a, b, rel_tol=1e-6) for a, b in pairs)


class Files:
    """The steps over the files of one folder."""

    def __init__(self, bench: Bench, arguments):
        self.bench, self.folder = bench, Path(bench.scratch.name)
        # What the peers read, and how many tables DuckDB has of it.
        self.kept, self.answers = [], 0
        pa.set_cpu_count(THREADS)
        table = rows(arguments.rows)
        source = self.folder / "source.parquet"
        self.tables = {"t": table, "plain": table.drop(["day", "time"]), "cells": table.slice(0, arguments.cells)}
        self.frames = {}
        for name, table in self.tables.items():
            pq.write_table(table, source)
            bench.cell(f'let {name} = read_parquet("{source}").persist();')
            bench.duck.execute(f"create or replace table {name} as from read_parquet('{source}')")
            self.frames[name] = pl.read_parquet(source).rechunk()
        self.sums = {name: of_polars(frame) for name, frame in self.frames.items()}

    def read(self, name: str, file: str, cell: str, peers: dict, data: str = "t") -> Step:
        path = self.folder / f"read.{file}"
        return Step(name, READ, path, f'{cell}("{path}")', peers, self.sums[data])

    def write(self, name: str, file: str, cell: str, peers: dict, written, data: str = "t") -> Step:
        path = self.folder / f"write.{file}"
        return Step(name, WRITE, path, f'{cell}("{path}")', peers, self.sums[data], written)

    def steps(self) -> list[Step]:
        return [*self.text(), *self.parquet(), *self.arrow(), *self.others()]

    def text(self) -> list[Step]:
        t, plain, steps = self.frames["t"], self.frames["plain"], []
        columns = pa.csv.ConvertOptions(strings_can_be_null=True)
        stamp = "%Y-%m-%dT%H:%M:%S"
        codecs = (("CSV", "csv", None), ("CSV, gzip", "csv.gz", "gzip"), ("CSV, zstd", "csv.zst", "zstd"))
        for name, suffix, codec in codecs:
            source, target = self.folder / f"read.{suffix}", self.folder / f"write.{suffix}"
            packed = {"compression": codec} if codec else {}
            t.write_csv(source, datetime_format=stamp, check_extension=False, **packed)

            def by_pyarrow(target=target, codec=codec):
                with pa.output_stream(str(target), compression=codec) as out:
                    pa.csv.write_csv(self.tables["t"], out)

            steps.append(self.read(name, suffix, "read_csv", {
                "polars": lambda source=source: pl.read_csv(source, try_parse_dates=True),
                "duckdb": f"from read_csv('{source}')",
                "pyarrow": lambda source=source: pa.csv.read_csv(source, convert_options=columns),
            }))
            steps.append(self.write(name, suffix, "t.write_csv", {
                "polars": lambda target=target, packed=packed: t.write_csv(target, check_extension=False, **packed),
                "duckdb": f"copy t to '{target}' (format csv, header{f', compression {codec}' if codec else ''})",
                "pyarrow": by_pyarrow,
            }, lambda path: pl.read_csv(path, try_parse_dates=True)))
        for name, suffix, cells, form in (
            ("JSON lines", "ndjson", ("read_ndjson", "plain.write_ndjson"), "newline_delimited"),
            ("JSON array", "json", ("read_json", "plain.write_json_array"), "array"),
        ):
            source, target = self.folder / f"read.{suffix}", self.folder / f"write.{suffix}"
            lines = form == "newline_delimited"
            (plain.write_ndjson if lines else plain.write_json)(source)
            reader = pl.read_ndjson if lines else pl.read_json
            writer = plain.write_ndjson if lines else plain.write_json
            steps.append(self.read(name, suffix, cells[0], {
                "polars": lambda source=source, reader=reader: reader(source),
                "duckdb": f"from read_json('{source}', format='{form}')",
            }, "plain"))
            steps.append(self.write(name, suffix, cells[1], {
                "polars": lambda target=target, writer=writer: writer(target),
                "duckdb": f"copy plain to '{target}' (format json{'' if lines else ', array true'})",
            }, reader, "plain"))
        return steps

    def parquet(self) -> list[Step]:
        t, table, steps = self.frames["t"], self.tables["t"], []
        for codec in ("zstd", "snappy"):
            source, target = self.folder / f"read.{codec}.parquet", self.folder / f"write.{codec}.parquet"
            pq.write_table(table, source, compression=codec)
            steps.append(self.read(f"Parquet, {codec}", f"{codec}.parquet", "read_parquet", {
                "polars": lambda source=source: pl.read_parquet(source),
                "duckdb": f"from read_parquet('{source}')",
                "pyarrow": lambda source=source: pq.read_table(source),
            }))
            writer = f't.parquet_writer().compression("{codec}").write'
            steps.append(self.write(f"Parquet, {codec}", f"{codec}.parquet", writer, {
                "polars": lambda target=target, codec=codec: t.write_parquet(target, compression=codec),
                "duckdb": f"copy t to '{target}' (format parquet, compression {codec})",
                "pyarrow": lambda target=target, codec=codec: pq.write_table(table, target, compression=codec),
            }, pl.read_parquet))
        source, target = self.folder / "read.hive", self.folder / "write.hive"
        by = {"partitioning": ["word"], "partitioning_flavor": "hive"}
        pa.dataset.write_dataset(table, source, format="parquet", **by)
        hive = pa.dataset.partitioning(flavor="hive")
        steps.append(self.read("Parquet, folders", "hive", "read_parquet", {
            "polars": lambda: pl.read_parquet(source, hive_partitioning=True),
            "duckdb": f"from read_parquet('{source}/**/*.parquet', hive_partitioning=true)",
            "pyarrow": lambda: pa.dataset.dataset(source, partitioning=hive).to_table(),
        }))
        options = pa.dataset.ParquetFileFormat().make_write_options(compression="zstd")
        steps.append(self.write("Parquet, folders", "hive", 't.parquet_writer().partition_by("word").write', {
            "polars": lambda: t.write_parquet(target, partition_by="word", mkdir=True),
            "duckdb": f"copy t to '{target}' (format parquet, compression zstd, partition_by word)",
            "pyarrow": lambda: pa.dataset.write_dataset(table, target, format="parquet", file_options=options, **by),
        }, lambda path: pl.read_parquet(path, hive_partitioning=True)))
        return steps

    def arrow(self) -> list[Step]:
        t, table, steps = self.frames["t"], self.tables["t"], []
        for codec, cells in (("none", ("read_ipc", "t.write_ipc")), ("lz4", ("read_feather", "t.write_feather"))):
            source, target = self.folder / f"read.{codec}.arrow", self.folder / f"write.{codec}.arrow"
            of_pyarrow = "uncompressed" if codec == "none" else codec
            pa.feather.write_feather(table, str(source), compression=of_pyarrow)
            of_polars = "uncompressed" if codec == "none" else codec
            steps.append(self.read(f"Arrow, {codec}", f"{codec}.arrow", cells[0], {
                "polars": lambda source=source: pl.read_ipc(io.BytesIO(source.read_bytes())),
                "pyarrow": lambda source=source: pa.feather.read_table(source, memory_map=False),
            }))
            steps.append(self.write(f"Arrow, {codec}", f"{codec}.arrow", cells[1], {
                "polars": lambda target=target, codec=of_polars: t.write_ipc(target, compression=codec),
                "pyarrow": lambda target=target, codec=of_pyarrow: pa.feather.write_feather(
                    table, str(target), compression=codec),
            }, pl.read_ipc))
        return steps

    def others(self) -> list[Step]:
        t, table, cells = self.frames["t"], self.tables["t"], self.frames["cells"]
        avro, orc, excel = (self.folder / f"read.{kind}" for kind in ("avro", "orc", "xlsx"))
        to_avro, to_orc, to_excel = (self.folder / f"write.{kind}" for kind in ("avro", "orc", "xlsx"))
        t.write_avro(avro, compression="snappy")
        pa.orc.write_table(table, str(orc), compression="zstd")
        cells.write_excel(excel)
        of_pandas = cells.to_pandas()
        return [
            self.read("Avro, snappy", "avro", "read_avro", {"polars": lambda: pl.read_avro(avro)}),
            self.write("Avro, snappy", "avro", "t.write_avro",
                       {"polars": lambda: t.write_avro(to_avro, compression="snappy")}, pl.read_avro),
            self.read("ORC, zstd", "orc", "read_orc", {"pyarrow": lambda: pa.orc.read_table(orc)}),
            self.write("ORC, zstd", "orc", "t.write_orc",
                       {"pyarrow": lambda: pa.orc.write_table(table, str(to_orc), compression="zstd")},
                       lambda path: as_polars(pa.orc.read_table(path))),
            self.read("Excel", "xlsx", "read_excel", {
                "polars": lambda: pl.read_excel(excel),
                "pandas": lambda: pd.read_excel(excel, engine="calamine"),
            }, "cells"),
            self.write("Excel", "xlsx", "cells.write_excel", {
                "polars": lambda: cells.write_excel(to_excel),
                "pandas": lambda: of_pandas.to_excel(to_excel, engine="xlsxwriter", index=False),
            }, pl.read_excel, "cells"),
        ]

    def onrush(self, step: Step, check: bool) -> tuple[float, list[float] | None]:
        end = ".persist()" if step.way == READ else ""
        after = "answer(&r);" if check and step.way == READ else ""
        printed = self.bench.cell(
            f"{{ let begun = std::time::Instant::now(); let r = {step.cell}{end}; "
            f'println!("{{}}", begun.elapsed().as_secs_f64() * 1e3); {after} }}'
        )
        return float(printed[0]), json.loads(printed[1].replace("NaN", "null")) if after else None

    def peer(self, step: Step, work, check: bool) -> tuple[float, list[float] | None]:
        query = f"create temp table answer{self.answers} as {work}" if step.way == READ else work
        begun = time.perf_counter()
        answer = self.bench.duck.execute(query) if isinstance(work, str) else work()
        if step.way == WRITE and self.bench.arguments.flush:
            flushed(step.path)
        took = (time.perf_counter() - begun) * 1e3
        if step.way == WRITE:
            return took, None
        if not isinstance(work, str):
            self.kept.append(answer)
            return took, of_polars(as_polars(answer)) if check else None
        self.answers += 1
        if not check:
            return took, None
        self.bench.duck.execute(f"create or replace temp view answer as from answer{self.answers - 1}")
        return took, self.bench.of_duckdb()

    def run(self, step: Step) -> dict[str, Result]:
        """The engines in turns, so that other work on the machine disturbs all of them."""
        results = {engine: Result() for engine in ("onrush", *step.peers)}
        for turn in range(self.bench.arguments.rounds + 1):
            for engine, result in results.items():
                least = min((one.first for one in results.values() if one.first), default=0)
                if result.failure or turn > 0 and engine != "onrush" and result.first > SLOW * least:
                    continue
                step.before()
                try:
                    first = turn == 0
                    work = step.peers.get(engine)
                    took, sums = self.onrush(step, first) if work is None else self.peer(step, work, first)
                    if first and step.written is not None:
                        sums = of_polars(step.written(step.path))
                    if first and not agree(sums, step.expected):
                        result.failure = f"differs: rows and sums {sums} instead of {step.expected}"
                    if first:
                        result.first = took
                    else:
                        result.runs.append(took)
                except (KeyboardInterrupt, SystemExit):
                    raise
                # Polars' panics are not of the class Exception.
                except BaseException as error:
                    result.failure = f"failed: {error if isinstance(error, Failed) else first_line(error)}"
        self.kept.clear()
        pa.default_memory_pool().release_unused()
        self.bench.duck.execute("drop view if exists answer")
        for answer in range(self.answers):
            self.bench.duck.execute(f"drop table if exists answer{answer}")
        step.before()
        return results


def main() -> None:
    arguments = peers.options(__doc__, rows=1_000_000, cells=100_000, rounds=5, flush=0)
    bench = Bench(arguments)
    files = Files(bench, arguments)
    steps = [step for step in files.steps() if re.search(arguments.only, f"{step.way} {step.name}")]
    versions = {"polars": pl.__version__, "duckdb": peers.duckdb.__version__, "pyarrow": pa.__version__,
                "pandas": pd.__version__}
    print(f"{arguments.rows:,} rows, workbooks of {arguments.cells:,}; {THREADS} threads; ms, least (median) of "
          f"{arguments.rounds}; {versions}", flush=True)
    print(f"{'':26}{'onrush':>16}{'best peer':>25}{'ratio':>8}", flush=True)
    lines, notes = [], []
    for step in steps:
        results = files.run(step)
        name = f"{step.way} {step.name}"
        notes += [f"{name}, {engine}: {r.failure}" for engine, r in results.items() if r.failure]
        times = {engine: r.runs or [r.first] for engine, r in results.items() if not r.failure}
        best = min((engine for engine in times if engine != "onrush"), key=lambda e: min(times[e]), default=None)
        ratio = min(times["onrush"]) / min(times[best]) if best and "onrush" in times else None
        shown = {e: f"{min(runs):.0f} ({statistics.median(runs):.0f})" for e, runs in times.items()}
        others = ", ".join(f"{e} {min(runs):.0f}" for e, runs in times.items() if e not in ("onrush", best))
        verdict = "" if ratio is None else "ok" if ratio <= 2 else "SLOW"
        ours, theirs = shown.get("onrush", "-"), f"{shown[best]} {best}" if best else "-"
        print(f"{name:26}{ours:>16}{theirs:>25}{'-' if ratio is None else f'{ratio:.2f}':>8} {verdict:5}{others}",
              flush=True)
        lines.append({"step": name, "ratio": ratio, "ms": {e: r.runs for e, r in results.items()}})
    for note in notes:
        print(note)
    if arguments.out:
        machine = {"rows": arguments.rows, "threads": THREADS, "cpus": os.cpu_count(), "machine": platform.machine(),
                   "load": os.getloadavg(), **versions}
        with arguments.out.open("w") as out:
            for line in [machine, *lines, {"notes": notes}]:
                out.write(json.dumps(line) + "\n")
    bench.close()


if __name__ == "__main__":
    main()
