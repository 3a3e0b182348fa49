"""How long common steps take on the flights data, beside Polars and DuckDB on the same machine: medians over ROUNDS, in
milliseconds, from the call to the rows in the caller's process (a RecordBatch in Rust, a DataFrame or a list in Python), all data in
memory. The raw numbers with --out."""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import duckdb
import polars as pl
from cells import onrush_specs
from driver import Kernel

ROUNDS = 9
DATA = Path(__file__).resolve().parents[2] / "notebooks/data"

# Name: (cell, Polars, SQL)
STEPS = {
    "filter, count": (
        "flights.filter(x!(dep_delay > 60 && origin == \"JFK\")).select(x!(n = len()))",
        lambda f: f.filter((pl.col("dep_delay") > 60) & (pl.col("origin") == "JFK")).select(pl.len()),
        "select count(*) from flights where dep_delay > 60 and origin = 'JFK'",
    ),
    "group by 1": (
        'flights.group_by("carrier").agg(x!(n = len(), d = arr_delay.mean()))',
        lambda f: f.group_by("carrier").agg(pl.len(), pl.col("arr_delay").mean()),
        "select carrier, count(*), avg(arr_delay) from flights group by 1",
    ),
    "group by 3": (
        'flights.group_by(["month", "origin", "dest"]).agg(x!(n = len(), d = arr_delay.mean()))',
        lambda f: f.group_by("month", "origin", "dest").agg(pl.len(), pl.col("arr_delay").mean()),
        "select month, origin, dest, count(*), avg(arr_delay) from flights group by all",
    ),
    "sort, head": (
        'flights.select(["carrier", "flight", "arr_delay"]).sort([desc("arr_delay"), asc("flight")]).head(10)',
        lambda f: f.select("carrier", "flight", "arr_delay").sort(["arr_delay", "flight"], descending=[True, False]).head(10),
        "select carrier, flight, arr_delay from flights order by arr_delay desc, flight limit 10",
    ),
    "join": (
        'flights.inner_join(&planes, "tailnum").group_by("manufacturer").agg(x!(n = len()))',
        lambda f: f.join(PLANES, on="tailnum").group_by("manufacturer").agg(pl.len()),
        "select manufacturer, count(*) from flights join planes using (tailnum) group by 1",
    ),
}

PLANES = pl.read_csv(DATA / "planes.csv", null_values="NA")


def median(run) -> tuple[float, list[float]]:
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        run()
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times), times


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--out", type=Path)
    arguments = arguments.parse_args()
    polars = pl.read_parquet(DATA / "flights.parquet")
    duck = duckdb.connect()
    duck.execute(f"create table flights as from read_parquet('{DATA / 'flights.parquet'}')")
    duck.execute(f"create table planes as from read_csv('{DATA / 'planes.csv'}', nullstr = 'NA')")
    kernel = Kernel(onrush_specs(), DATA)
    kernel.ok('let flights = read_parquet("flights.parquet").persist(); let planes = read_csv("planes.csv");')
    results = []
    print(f"{'step':14} {'onrush':>10} {'polars':>10} {'duckdb':>10}   median of {ROUNDS}, ms")
    for name, (cell, of_polars, query) in STEPS.items():
        # A threshold that is always true and different each time: no result is kept by its plan.
        fresh = cell.replace("flights.", "flights.filter(x!(flight > {below})).", 1)
        printed = kernel.ok(
            f"for n in 0..{ROUNDS + 1}i64 {{ let below = -n - 1; let begun = std::time::Instant::now(); let _ = {fresh}.collect(); "
            'println!("{}", begun.elapsed().as_secs_f64() * 1000.0); }'
        ).stdout
        our_times = [float(line) for line in printed.split()][1:]
        ours = statistics.median(our_times)
        theirs, their_times = median(lambda: of_polars(polars))
        ducks, duck_times = median(lambda: duck.execute(query).fetchall())
        print(f"{name:14} {ours:>10.1f} {theirs:>10.1f} {ducks:>10.1f}")
        results.append({"step": name, "onrush_ms": our_times, "polars_ms": their_times, "duckdb_ms": duck_times})
    kernel.close()
    if arguments.out:
        with arguments.out.open("w") as out:
            out.write(json.dumps({"cpus": os.cpu_count(), "polars": pl.__version__, "duckdb": duckdb.__version__}) + "\n")
            for result in results:
                out.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
