"""How long a dashboard of ten million rows takes to open, to brush and to filter, and a raster to be drawn in another window, from
the front end's question to the kernel's answer. Beside it what DuckDB takes for the same counts and datashader for the same
picture. Medians in milliseconds."""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/jupyter"), str(Path(__file__).resolve().parent)]
os.environ.setdefault("ONRUSH_RUNTIME_DIR", tempfile.mkdtemp(prefix="onrush-b"))

from cells import onrush_specs  # noqa: E402
from driver import Kernel  # noqa: E402
from test_graph_views import View  # noqa: E402

DASHBOARD = "application/vnd.onrush.dashboard.v1+json"
RASTER = "application/vnd.onrush.raster.v1+json"
ROWS = """select n, sqrt(-2 * ln(1 - random_a)) * 12 + 3 as fare, sqrt(-2 * ln(1 - random_b)) * 3 as tip, n * 7919 % 24 as hour,
    n * 104729 % 366 as day, n * 15485863 % 7 as kind, sqrt(-2 * ln(1 - random_a)) * cos(6.283 * random_b) as x,
    sqrt(-2 * ln(1 - random_a)) * sin(6.283 * random_b) as y
    from (select n, (n * 48271 % 2147483647) / 2147483648.0 as random_a, (n * 69621 % 2147483629) / 2147483648.0 as random_b
          from range({rows}) as t(n))"""
VIEWS = '.histogram("fare").histogram("tip").bar("hour").histogram("day").bar("kind").histogram("n")'


def timed(work, rounds: int) -> list[float]:
    times = []
    for turn in range(rounds):
        begun = time.perf_counter()
        work(turn)
        times.append((time.perf_counter() - begun) * 1000)
    return times


def ours(rows: int, rounds: int, folder: Path) -> dict[str, list[float]]:
    kernel = Kernel(onrush_specs(), folder)
    kernel.ok(f'let f = read_parquet("{folder}/rows.parquet").persist();')
    found = {}

    def opened(views: str, name: str) -> dict:
        begun = time.perf_counter()
        ran = kernel.ok(f"let {name} = dashboard(&f){views}; {name}")
        found[f"open {name}"] = [(time.perf_counter() - begun) * 1000]
        [bundle] = [bundle for bundle in ran.bundles if DASHBOARD in bundle]
        return bundle[DASHBOARD]

    state = opened(VIEWS, "bars")
    view = View(kernel, state["view"])
    view.ask("state")
    # The first answer goes to a session that another connection has warmed.
    view.ask("dashboard", filters=[], moving=False)

    def filters(turn: int) -> list[dict]:
        return [{"view": 0, "slots": [[5 + turn % 7, 15 + turn % 11]]}, {"view": 2, "slots": [[turn % 12, 12 + turn % 11]]}]

    found["sums for a brush over five other views"] = timed(lambda turn: view.ask_with_buffers("cubes", slots=turn % 6, filters=filters(turn)), rounds)
    found["filter of six views, two filters"] = timed(lambda turn: view.ask("dashboard", filters=filters(turn), moving=False), rounds)
    state = opened(VIEWS + '.raster("x", "y")', "with_raster")
    view = View(kernel, state["view"])
    view.ask("state")
    view.ask("dashboard", filters=[], moving=True)
    found["the same with a raster"] = timed(lambda turn: view.ask("dashboard", filters=filters(turn), moving=True), rounds)
    [bundle] = [bundle for bundle in kernel.ok('f.plot().raster("x", "y").size(600, 400)').bundles if RASTER in bundle]
    view = View(kernel, bundle[RASTER]["view"])
    view.ask("state")
    view.ask("raster", window=[-3, -3, 3, 3], width=500, height=340)
    found["a raster in another window"] = timed(
        lambda turn: view.ask("raster", window=[-3 + turn / 50, -3, 3, 3 - turn / 50], width=500, height=340), rounds
    )
    kernel.close()
    return found


def of_duckdb(rounds: int, folder: Path) -> dict[str, list[float]]:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"create table f as select * from '{folder}/rows.parquet'")
    bins = {"fare": "fare // 1.25", "tip": "tip // 0.3", "hour": "hour", "day": "day // 10", "kind": "kind", "n": "n // 250000"}

    def counts(turn: int):
        where = {"fare": f"fare between {6 + turn % 7} and {19 + turn % 11}", "hour": f"hour between {turn % 12} and {11 + turn % 11}"}
        for name, expr in bins.items():
            others = " and ".join(text for other, text in where.items() if other != name)
            connection.execute(f"select {expr} as bin, count(*) from f where {others} group by bin").fetchall()

    def cube(turn: int):
        for name, expr in bins.items():
            if name != "fare":
                connection.execute(f"select fare // 1.25 as step, {expr} as bin, count(*) from f where hour between {turn % 12} and 20 group by all").fetchall()

    counts(0)
    return {"sums for a brush over five other views": timed(cube, rounds), "filter of six views, two filters": timed(counts, rounds)}


def of_datashader(rounds: int, folder: Path) -> dict[str, list[float]]:
    import datashader
    import pandas

    frame = pandas.read_parquet(folder / "rows.parquet", columns=["x", "y"])

    def drawn(turn: int):
        canvas = datashader.Canvas(500, 340, x_range=(-3 + turn / 50, 3), y_range=(-3, 3 - turn / 50))
        datashader.transfer_functions.shade(canvas.points(frame, "x", "y", datashader.count()), how="eq_hist").to_bytesio()

    drawn(0)
    return {"a raster in another window": timed(drawn, rounds)}


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--out", type=Path)
    arguments.add_argument("--rows", type=int, default=10_000_000)
    arguments.add_argument("--rounds", type=int, default=9)
    arguments = arguments.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="onrush-notebook"))
    import duckdb

    duckdb.sql(f"copy ({ROWS.format(rows=arguments.rows)}) to '{folder}/rows.parquet'")
    results = [
        ("onrush", ours(arguments.rows, arguments.rounds, folder)),
        ("duckdb", of_duckdb(arguments.rounds, folder)),
        ("datashader", of_datashader(arguments.rounds, folder)),
    ]
    print(f"{'what':42} {'system':10} {'median':>8} {'least':>8}   ms, {arguments.rows:,} rows")
    for system, found in results:
        for what, times in found.items():
            print(f"{what:42} {system:10} {statistics.median(times):8.0f} {min(times):8.0f}")
    if arguments.out:
        machine = {"cpus": os.cpu_count(), "machine": platform.machine(), "kernel": platform.release(), "load": os.getloadavg()}
        with arguments.out.open("w") as out:
            out.write(json.dumps(machine) + "\n")
            for system, found in results:
                out.write(json.dumps({"system": system, "rows": arguments.rows, "ms": found}) + "\n")


if __name__ == "__main__":
    main()
