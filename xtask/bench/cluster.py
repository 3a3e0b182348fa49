"""Queries on a cluster of workers on this machine: `--workers N` of one thread each (2 if not given). They are compared
with a session of as many threads over the same Parquet files, and with Dask with as many workers, if pip has it.

- The 22 queries of TPC-H at `--scale` (1), group-bys of a million rows, and a join of ten million rows by a key of
  high cardinality, which sends most of its rows from worker to worker.
- Each question is asked 1 + ROUNDS times. The table has the first time and the best of the others, of the whole call
  inside of a cell: from the step to the rows in the session.
- The session holds the tables in memory, as notebooks have them. Dask and the cluster are asked over files.
- The ratio is the cluster's best time to the session's.
- Answers are compared: number of rows, and the sum of each column.
- `map`: 10,000 calls of a millisecond, and Dask's `map` and `gather` of the same.
"""

import os
import secrets
import subprocess
import time
from datetime import date
from pathlib import Path

os.environ["ONRUSH_TOKEN"] = secrets.token_hex(32)

import peers  # noqa: E402
from data import TABLES, queries, tables  # noqa: E402
from peers import Bench, Failed  # noqa: E402

ROUNDS = 3
PLACES = ("session", "cluster")


class Workers:
    def __init__(self, count: int):
        program = Path(os.environ["ONRUSH_BIN"]).with_name("onrush-session")
        self.started = []
        for _ in range(count):
            process = subprocess.Popen(
                [program, "worker-node", "--listen", "127.0.0.1:0", "--threads", "1", "--stdin"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            process.stdin.write(os.environ["ONRUSH_TOKEN"] + "\n")
            process.stdin.flush()
            self.started.append((process, process.stdout.readline().split()[2].rstrip(":")))

    @property
    def address(self) -> str:
        return "onrush://" + ",".join(address for _, address in self.started)

    def close(self):
        for process, _ in self.started:
            process.stdin.close()
            process.wait(10)


def made(folder: Path) -> dict[str, Path]:
    """Tables of numbers, made once by DuckDB: a million rows of a few groups, and two tables of ten million keys."""
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    rows = {
        "small": "select i % 7 as g, i % 1000 as h, (i * 7919) % 100003 / 100.0 as x from range(1000000) t(i)",
        "wide": "select (i * 7919) % 10000000 as k, i as a from range(10000000) t(i)",
        "other": "select (i * 104729) % 10000000 as k, i as b from range(10000000) t(i)",
    }
    files = {}
    for name, query in rows.items():
        files[name] = folder / f"{name}.parquet"
        if not files[name].is_file():
            duckdb.sql(f"copy ({query}) to '{files[name]}.tmp' (format parquet, row_group_size 200000)")
            Path(f"{files[name]}.tmp").rename(files[name])
    return files


def dask_lines(workers: int, folder: Path, files: dict[str, Path]):
    """What Dask can be asked in a line: name and call."""
    import dask.dataframe as dd
    from dask.distributed import Client, LocalCluster

    day = date.fromisoformat
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
    client = Client(cluster)

    def read(name: str):
        return dd.read_parquet(files.get(name, folder / f"{name}.parquet"))

    def query_1():
        rows = read("lineitem")
        rows = rows[rows.l_shipdate <= day("1998-09-02")]
        rows["net"] = rows.l_extendedprice.astype(float) * (1 - rows.l_discount.astype(float))
        rows["gross"] = rows.net * (1 + rows.l_tax.astype(float))
        groups = rows.assign(q=rows.l_quantity.astype(float)).groupby(["l_returnflag", "l_linestatus"])
        return groups.agg({"q": ["sum", "mean"], "net": "sum", "gross": "sum"}).compute()

    def query_6():
        rows = read("lineitem")
        discount = rows.l_discount.astype(float)
        kept = (rows.l_shipdate >= day("1994-01-01")) & (rows.l_shipdate < day("1995-01-01")) & (discount >= 0.05)
        kept &= (discount <= 0.07) & (rows.l_quantity.astype(float) < 24)
        return (rows.l_extendedprice.astype(float) * discount)[kept].sum().compute()

    def query_3():
        customer, orders, lineitem = read("customer"), read("orders"), read("lineitem")
        orders = orders[orders.o_orderdate < day("1995-03-15")]
        customer = customer[customer.c_mktsegment == "BUILDING"]
        lineitem = lineitem[lineitem.l_shipdate > day("1995-03-15")]
        rows = customer.merge(orders, left_on="c_custkey", right_on="o_custkey")
        rows = rows.merge(lineitem, left_on="o_orderkey", right_on="l_orderkey")
        rows["net"] = rows.l_extendedprice.astype(float) * (1 - rows.l_discount.astype(float))
        return rows.groupby(["l_orderkey", "o_orderdate", "o_shippriority"]).net.sum().nlargest(10).compute()

    calls = {
        "query 1": query_1,
        "query 3": query_3,
        "query 6": query_6,
        "group by 7": lambda: read("small").groupby("g").agg({"x": ["mean", "count"]}).compute(),
        "group by 1000": lambda: read("small").groupby("h").agg({"x": ["mean", "max"]}).compute(),
        "shuffle join": lambda: len(read("wide").merge(read("other"), on="k")),
    }
    return client, cluster, calls


CALLS = 10_000


def a_millisecond(n: int) -> int:
    until = time.perf_counter() + 1e-3
    while time.perf_counter() < until:
        pass
    return n * n


def calls_of_a_millisecond(bench: Bench, workers: int, client) -> None:
    """10,000 calls that compute for a millisecond, and what each costs above that."""
    bench.cell(
        "fn a_millisecond(n: u64) -> u64 { let begun = std::time::Instant::now(); "
        "while begun.elapsed().as_micros() < 1000 {} n * n }"
    )
    call = f"let begun = std::time::Instant::now(); let s: Vec<u64> = c.map(a_millisecond, 0..{CALLS}); "
    check = f"assert!(s.iter().enumerate().all(|(n, s)| *s == (n * n) as u64)); "
    times = {"onrush": [float(bench.cell(call + check + 'println!("{}", begun.elapsed().as_secs_f64());')[0]) for _ in range(ROUNDS)]}
    if client:
        times["dask"] = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            assert client.gather(client.map(a_millisecond, range(CALLS), pure=False)) == [n * n for n in range(CALLS)]
            times["dask"].append(time.perf_counter() - begun)
    for peer, of in times.items():
        above = [time * workers / CALLS * 1e3 - 1 for time in of]
        print(f"map, {CALLS} calls of 1 ms, {peer}: {of[0]:.2f} s, best {min(of):.2f} s; above the work {above[0]:.3f} ms a call, best {min(above):.3f}")


def milliseconds(call) -> float:
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1e3


def main() -> None:
    arguments = peers.options(__doc__, scale=1.0, workers=2, dask=1)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.workers])
    folder = tables(arguments.data, arguments.scale)
    files = made(arguments.data / "cluster")
    workers = Workers(arguments.workers)
    bench = Bench(arguments)
    begun = time.perf_counter()
    bench.cell(f'let c = connect("{workers.address}");')
    first = (time.perf_counter() - begun) * 1e3
    [again] = bench.cell(
        "let begun = std::time::Instant::now(); "
        f'let again = connect("{workers.address}"); println!("{{}}", begun.elapsed().as_secs_f64() * 1e3);'
    )
    print(f"connect to {arguments.workers} workers, a whole first cell: {first:.0f} ms; again, the call: {float(again):.1f} ms")
    for name in TABLES + list(files):
        file = files.get(name, folder / f"{name}.parquet")
        bench.cell(f'let session_{name} = read_parquet("{file}").persist();')
        bench.cell(f'let cluster_{name} = c.read_parquet("{file}");')
    lines = [(name, query) for name, query in queries()]
    lines += [
        ("group by 7", "select g, avg(x) a, count(*) n from small group by g"),
        ("group by 1000", "select h, avg(x) a, max(x) m from small group by h"),
        ("shuffle join", "select count(*) n, sum(a + b) s from wide join other on wide.k = other.k"),
    ]
    client = cluster = None
    calls = {}
    if arguments.dask:
        try:
            client, cluster, calls = dask_lines(arguments.workers, folder, files)
        except ImportError:
            print("Dask is not installed: pip install 'dask[dataframe,distributed]'")
    print(f"{arguments.workers} workers of one thread, TPC-H at scale {arguments.scale:g}; ms: first, best of {ROUNDS} others")
    print(f"{'':14}" + "".join(f"{place:>20}" for place in (*PLACES, "dask")) + f"{'ratio':>8}{'dask/cluster':>14}")
    ratios = []
    for name, query in lines:
        if arguments.only not in name:
            continue
        times, answers = {place: [] for place in PLACES}, {}
        for run in range(ROUNDS + 1):
            for place in PLACES:
                used = [t for t in TABLES + list(files) if t in query.replace(",", " ").replace("(", " ").split()]
                # `sql` finds frames by the names of the notebook's variables.
                bench.cell("".join(f"let {t} = {place}_{t}.clone(); " for t in used))
                after = "answer(&r);" if run == 0 else ""
                try:
                    printed = bench.cell(
                        f'{{ let begun = std::time::Instant::now(); let r = sql(r#"{query} -- {place} {run}"#).persist(); '
                        f'println!("{{}}", begun.elapsed().as_secs_f64() * 1e3); {after} }}'
                    )
                except Failed as failure:
                    print(f"{name}, {place}: {failure}")
                    continue
                times[place].append(float(printed[0]))
                if run == 0:
                    answers[place] = [float(v) for v in printed[1].replace("NaN", "0").strip("[]").split(",")]
        dask = [milliseconds(calls[name]) for _ in range(ROUNDS)] if name in calls else []
        best = {place: min(of[1:] or of) for place, of in times.items() if of}
        shown = [f"{of[0]:.0f} {best[place]:>8.0f}" if of else "-" for place, of in times.items()]
        shown.append(f"{dask[0]:.0f} {min(dask):>8.0f}" if dask else "-")
        ratio = best["cluster"] / best["session"] if {"cluster", "session"} <= best.keys() else float("nan")
        ratios.append(ratio)
        a, b = answers.get("session", []), answers.get("cluster", [])
        close = len(a) == len(b) and all(abs(x - y) <= 1e-6 * max(1, abs(x)) for x, y in zip(a, b))
        of_dask = f"{min(dask) / best['cluster']:>14.1f}" if dask and "cluster" in best else ""
        print(f"{name:14}" + "".join(f"{s:>20}" for s in shown) + f"{ratio:>8.2f}{of_dask}" + ("" if close else "  DIFFERS"), flush=True)
    if arguments.only in "map":
        calls_of_a_millisecond(bench, arguments.workers, client)
    if not ratios:
        ratios = [float("nan")]
    ratios = sorted(ratios)
    print(f"median ratio {ratios[len(ratios) // 2]:.2f}, worst {ratios[-1]:.2f}")
    if client:
        client.close()
        cluster.close()
    bench.close()
    workers.close()


if __name__ == "__main__":
    main()
