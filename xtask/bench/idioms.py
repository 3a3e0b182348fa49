"""Everyday steps of a frame on Onrush, Polars and DuckDB, over 1,000,000 rows (`--rows`): summaries, counts,
reshaping, windows, strings, as-of joins, and each file format. How the times are taken, and how the answers are
compared, is told in `peers.py`.

Reading: the file lies in the page cache, and its rows end in the engine's memory. Onrush keeps files by their
modification time, so that the file gets another one before each run. Writing: the engine's default options, and the
file is read back by Polars afterwards and compared; the time ends when the call returns, without a flush to the disk.
Here are CSV, Parquet and JSON lines; the suite `files` has all formats.

Quartiles of `describe` are the nearest value in Onrush and Polars, and `quantile_disc` in DuckDB, which may be its
neighbour: the tolerance is larger there. Rolling windows and shifts go by the order of the rows in Onrush and Polars,
and by `order by time` in DuckDB, whose tables have no order."""

import itertools
import os
import time
from pathlib import Path

import numpy as np
import peers
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from h2o import strings
from peers import Bench, Line, Written

SEED = 108
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"]


def data(folder: Path, rows: int) -> dict[str, Path]:
    """`t`: the rows of most questions. `quotes`: the right side of the as-of joins."""
    paths = {name: folder / f"idioms-{name}-{rows}.parquet" for name in ("t", "quotes")}
    if all(path.is_file() for path in paths.values()):
        return paths
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(SEED)

    def times() -> pa.Array:
        """Sorted timestamps of one day, to the microsecond."""
        start = np.datetime64("2024-01-01T00:00:00", "us").astype(np.int64)
        return pa.array(start + np.sort(random.integers(0, 86_400_000_000, rows)), pa.timestamp("us"))

    x = np.round(random.uniform(0, 1000, rows), 4)
    y = np.round(random.lognormal(3, 1, rows), 4)
    first, second = random.integers(0, len(WORDS), (2, rows))
    tail = random.integers(0, rows, rows)
    pq.write_table(
        pa.table({
            "time": times(),
            "k": random.integers(0, 10, rows, dtype=np.int32),
            "g": strings("g", random.integers(0, 1000, rows), 4),
            "n": random.integers(0, max(rows // 10, 1), rows),
            "x": x,
            # A twentieth are null.
            "y": pa.array(y, mask=random.uniform(size=rows) < 0.05),
            "s": pa.array([f"{WORDS[a]} {WORDS[b]}-{c:07d}" for a, b, c in zip(first, second, tail)]),
        }),
        paths["t"], compression="zstd",
    )
    quotes = pa.table({
        "time": times(),
        "g": strings("g", random.integers(0, 1000, rows), 4),
        "bid": np.round(random.uniform(0, 100, rows), 4),
    })
    pq.write_table(quotes, paths["quotes"], compression="zstd")
    return paths


def steps(t: pl.DataFrame, quotes: pl.DataFrame) -> list[Line]:
    c = pl.col
    numbers = ["k", "n", "x", "y"]
    statistics = ["avg", "stddev", "min", "quantile_disc 0.25", "quantile_disc 0.5", "quantile_disc 0.75", "max"]

    def statistic(name: str, column: str) -> str:
        function, *parameter = name.split()
        return f"{function}({', '.join([column, *parameter])})::double"

    # DuckDB has no step that gives the table of Polars, and `summarize` has estimates in it. All in one pass.
    cells = [f"{statistic(name, column)} as {column}{i}" for i, name in enumerate(statistics) for column in numbers]
    rows = [
        f"select {', '.join(f'{column}{i} as {column}' for column in numbers)} from s" for i in range(len(statistics))
    ]
    described = f"with s as materialized (select {', '.join(cells)} from t) {' union all '.join(rows)}"
    names = ", ".join(f'"{name}"' for name in numbers)

    def window(name: str, cell: str, of_polars, query: str) -> Line:
        return Line(
            name, f"t.select(x!(r = {cell}))", lambda: t.select(of_polars.alias("r")), f"select {query} as r from t"
        )

    rows_7 = "over (order by time rows between 6 preceding and current row)"
    full = f"case when count(x) {rows_7} >= 7 then"
    in_group = "over (partition by g order by time rows between 6 preceding and current row)"
    rows_100 = "over (order by time rows between 99 preceding and current row)"
    return [
        # Without the rows of counts, which would outweigh the others in the comparison.
        Line("describe", f't.select([{names}]).describe().tail(7).drop("statistic")',
             lambda: t.select(numbers).describe().tail(7).drop("statistic"), described, tolerance=1e-5),
        Line("value_counts of 1,000", 't.value_counts("g")', lambda: t["g"].value_counts(sort=True),
             'select g, count(*) as "count" from t group by g order by 2 desc'),
        Line("value_counts of many", 't.value_counts("n")', lambda: t["n"].value_counts(sort=True),
             'select n, count(*) as "count" from t group by n order by 2 desc'),
        Line("unique by 2", 't.select(["g", "n"]).unique()', lambda: t.select("g", "n").unique(maintain_order=True),
             "select distinct g, n from t"),
        Line("n_unique of strings", "t.select(x!(r = s.n_unique()))", lambda: t.select(r=c("s").n_unique()),
             "select count(distinct s) as r from t"),
        Line("pivot", 't.pivot("k", "g", "x", "sum")',
             lambda: t.pivot("k", index="g", values="x", aggregate_function="sum"),
             "from (pivot (select k, g, x from t) on k using sum(x) group by g)", "sorted"),
        Line("unpivot", 't.unpivot(["x", "y"], "n")', lambda: t.unpivot(["x", "y"], index="n"),
             'from (select n, x, y from t) unpivot include nulls ("value" for variable in (x, y))'),
        Line("sort by number", 't.select(["x", "n", "k"]).sort("x")', lambda: t.select("x", "n", "k").sort("x"),
             "select x, n, k from t order by x"),
        Line("sort by string", 't.select(["s", "n"]).sort("s")', lambda: t.select("s", "n").sort("s"),
             "select s, n from t order by s"),
        Line("filter", 't.filter(x!(x > 500.0 && k == 3))', lambda: t.filter((c("x") > 500) & (c("k") == 3)),
             "select * from t where x > 500 and k = 3"),
        window("cum_sum", "x.cum_sum()", c("x").cum_sum(), "sum(x) over (order by time rows unbounded preceding)"),
        window("rolling mean 7", "x.rolling_mean(7)", c("x").rolling_mean(7), f"{full} avg(x) {rows_7} end"),
        window("rolling max 100", "x.rolling_max(100)", c("x").rolling_max(100),
               f"case when count(x) {rows_100} >= 100 then max(x) {rows_100} end"),
        window("rolling median 7", "x.rolling_median(7)", c("x").rolling_median(7), f"{full} median(x) {rows_7} end"),
        window("rolling mean 7 over g", "x.rolling_mean(7).over(g)", c("x").rolling_mean(7).over("g"),
               f"case when count(x) {in_group} >= 7 then avg(x) {in_group} end"),
        window("mean over g", "x.mean().over(g)", c("x").mean().over("g"), "avg(x) over (partition by g)"),
        window("shift over g", "x.shift(1).over(g)", c("x").shift(1).over("g"),
               "lag(x) over (partition by g order by time)"),
        window("rank", "x.rank()", c("x").rank(),
               "rank() over (order by x) + (count(*) over (partition by x) - 1) / 2.0"),
        window("rank over g", 'x.rank(method = "min").over(g)', c("x").rank("min").over("g"),
               "rank() over (partition by g order by x)"),
        Line("median by g", 't.group_by("g").agg(x!(r = x.median()))', lambda: t.group_by("g").agg(c("x").median()),
             "select g, median(x) from t group by g"),
        Line("3 quantiles by g",
             't.group_by("g").agg(x!(a = x.quantile(0.1, interpolation = "linear"), '
             'b = x.quantile(0.5, interpolation = "linear"), c = x.quantile(0.9, interpolation = "linear")))',
             lambda: t.group_by("g").agg(*(c("x").quantile(q, "linear").alias(f"q{q}") for q in (0.1, 0.5, 0.9))),
             "select g, quantile_cont(x, 0.1), quantile_cont(x, 0.5), quantile_cont(x, 0.9) from t group by g"),
        window("contains", 's.str.contains("gamma", literal = true)', c("s").str.contains("gamma", literal=True),
               "contains(s, 'gamma')"),
        window("contains a pattern", 's.str.contains("eta-0+[1-5]")', c("s").str.contains("eta-0+[1-5]"),
               "regexp_matches(s, 'eta-0+[1-5]')"),
        window("replace", 's.str.replace_all("eta", "ETA", literal = true)',
               c("s").str.replace_all("eta", "ETA", literal=True),
               "replace(s, 'eta', 'ETA')"),
        window("replace a pattern", 's.str.replace_all("[0-9]+", "#")', c("s").str.replace_all("[0-9]+", "#"),
               "regexp_replace(s, '[0-9]+', '#', 'g')"),
        window("split", 's.str.split("-")', c("s").str.split("-"), "string_split(s, '-')"),
        window("upper", "s.str.to_uppercase()", c("s").str.to_uppercase(), "upper(s)"),
        window("length", "s.str.len_chars()", c("s").str.len_chars(), "length(s)"),
        window("slice", "s.str.slice(2, 5)", c("s").str.slice(2, 5), "substring(s, 3, 5)"),
        window("parse a number", 's.str.tail(7).cast("i64")', c("s").str.tail(7).cast(pl.Int64), "right(s, 7)::bigint"),
        window("hour, minute", 'time.dt.hour() + time.dt.minute()',
               c("time").dt.hour().cast(pl.Int32) + c("time").dt.minute(),
               "hour(time) + minute(time)"),
        Line("as-of join", 't.select(["time", "x"]).join_asof(&quotes.select(["time", "bid"]), "time")',
             lambda: t.select("time", "x").join_asof(quotes.select("time", "bid"), on="time"),
             "select t.time, t.x, q.bid from t asof left join quotes q on t.time >= q.time"),
        Line("as-of join by g", 't.select(["time", "g", "x"]).join_asof(&quotes, asof("time").by("g"))',
             lambda: t.select("time", "g", "x").join_asof(quotes, on="time", by="g", check_sortedness=False),
             "select t.time, t.g, t.x, q.bid from t asof left join quotes q on t.g = q.g and t.time >= q.time"),
    ]


def files(t: pl.DataFrame, folder: Path) -> list[Line | Written]:
    """Files that Polars wrote are read, and each engine writes one."""
    # Seconds that no run had before.
    clock = itertools.count(int(time.time()) - 1_000_000)

    def touched(path: Path):
        return lambda: os.utime(path, (now := next(clock), now))

    # JSON has no timestamps, and DuckDB guesses them.
    plain = t.drop("time")
    source = {kind: folder / f"read.{kind}" for kind in ("csv", "parquet", "ndjson")}
    t.write_csv(source["csv"], datetime_format="%Y-%m-%dT%H:%M:%S%.6f")
    t.write_parquet(source["parquet"])
    plain.write_ndjson(source["ndjson"])
    target = {kind: folder / f"write.{kind}" for kind in source}

    def read(kind: str, name: str, cell: str, of_polars, of_duckdb: str, compared: str = "columns") -> Line:
        path = source[kind]
        return Line(f"read {name}", f'{cell}("{path}")', lambda: of_polars(path), f"from {of_duckdb}('{path}')",
                    compared, before=touched(path))

    def write(
        kind: str, name: str, cell: str, of_polars, of_duckdb: str, of_file, compared: str = "columns"
    ) -> Written:
        path = target[kind]
        return Written(f"write {name}", path, f'{cell}("{path}")', lambda: of_polars(path),
                       of_duckdb.format(path=path), lambda: of_file(path), compared)

    return [
        read("csv", "CSV", "read_csv", lambda path: pl.read_csv(path, try_parse_dates=True), "read_csv"),
        read("parquet", "Parquet", "read_parquet", pl.read_parquet, "read_parquet"),
        # Onrush gives the columns in the order of their names.
        read("ndjson", "JSON lines", "read_ndjson", pl.read_ndjson, "read_ndjson", "sorted"),
        write("csv", "CSV", "t.write_csv", t.write_csv, "copy t to '{path}' (format csv, header)",
              lambda path: pl.read_csv(path, try_parse_dates=True)),
        write("parquet", "Parquet, zstd", "t.write_parquet", t.write_parquet,
              "copy t to '{path}' (format parquet, compression zstd)", pl.read_parquet),
        write("ndjson", "JSON lines", "plain.write_json", plain.write_ndjson,
              "copy (select * exclude (time) from t) to '{path}' (format json)", pl.read_ndjson, "sorted"),
    ]


def main() -> None:
    arguments = peers.options(__doc__, rows=1_000_000)
    paths = data(arguments.data, arguments.rows)
    bench = Bench(arguments)
    t, quotes = (bench.table(name, paths[name]) for name in ("t", "quotes"))
    bench.cell('let plain = t.drop("time").persist();')
    lines = steps(t, quotes) + files(t, Path(bench.scratch.name))
    peers.report(bench, f"idioms, {arguments.rows} rows", lines)
    bench.close()


if __name__ == "__main__":
    main()
