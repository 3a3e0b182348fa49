"""The 22 queries of TPC-H on Onrush, Polars and DuckDB, as SQL, at scale 1 (`--scale`). How the times are taken, and
how the answers are compared, is told in `peers.py`.

Onrush runs a query as `sql("...")`, Polars in a `SQLContext` over DataFrames; a query that it cannot run is an empty
cell with its message below the table. The tables are those of TPC's own generator, all columns included.
`tpchgen-cli` of `xtask/requirements-tpch.txt` writes them once, as Parquet files."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import peers
import polars as pl
from peers import Bench, Line

TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
QUERIES = Path(__file__).resolve().parent / "tpch.sql"


def tables(folder: Path, scale: float) -> Path:
    """The folder with the tables, which are made if they are not there."""
    folder = folder / f"tpch-{scale:g}"
    if not all((folder / f"{name}.parquet").is_file() for name in TABLES):
        program = shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent)) or shutil.which("tpchgen-cli")
        if program is None:
            sys.exit(f"tpchgen-cli makes the tables: {sys.executable} -m pip install -r xtask/requirements-tpch.txt")
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        subprocess.run([program, "parquet", "-s", f"{scale:g}", "-o", str(unfinished), "-q"], check=True)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)
    return folder


def queries() -> list[tuple[str, str]]:
    """Name and text of each query of the file."""
    parts = re.split(r"^-- query (\d+)$", QUERIES.read_text(), flags=re.MULTILINE)[1:]
    return [(f"query {name}", text.strip()) for name, text in zip(parts[::2], parts[1::2])]


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
