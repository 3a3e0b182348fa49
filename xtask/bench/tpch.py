"""The 22 queries of TPC-H on Onrush, Polars and DuckDB, as SQL, at scale 1 (`--scale`). How the times are taken, and
how the answers are compared, is told in `peers.py`.

Onrush runs a query as `sql("...")`, Polars in a `SQLContext` over DataFrames; a query that it cannot run is an empty
cell with its message below the table. The tables are those of TPC's own generator, all columns included.
`tpchgen-cli` of `xtask/requirements-tpch.txt` writes them once, as Parquet files."""

import peers
import polars as pl
from data import TABLES, queries, tables
from peers import Bench, Line


def main() -> None:
    arguments = peers.options(__doc__, scale=1.0)
    folder = tables(arguments.data, arguments.scale)
    bench = Bench(arguments)
    frames = {name: bench.table(name, folder / f"{name}.parquet") for name in TABLES}
    context = pl.SQLContext(frames)
    lines = [
        Line(
            name,
            # A query is known by its text.
            f'sql(r#"{query} -- run {{run}}"#)',
            lambda query=query: context.execute(query, eager=True),
            query,
        )
        for name, query in queries()
    ]
    peers.report(bench, f"TPC-H, scale {arguments.scale:g}", lines)
    bench.close()


if __name__ == "__main__":
    main()
