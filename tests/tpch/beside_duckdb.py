"""Times DuckDB over tables that `onrush-oracle tpch --write` wrote, and compares its answers with those of `tpch --time yes --answers`.

usage: beside_duckdb.py TABLES ANSWERS, beside a copy of scale-0.01.slt, whose queries it runs. Needs the package duckdb alone.
"""

import pathlib
import re
import sys
import time
from decimal import Decimal

import duckdb

HERE = pathlib.Path(__file__).parent
QUERIES = [1, 3, 5, 6, 9, 13, 18, 21]


def queries():
    text = (HERE / "scale-0.01.slt").read_text()
    return re.findall(r"^query \w+\n(.*?)\n----", text, flags=re.S | re.M)


def close(found: str, expected) -> bool:
    if expected is None:
        return found == "NULL"
    if isinstance(expected, (int, float, Decimal)):
        found, expected = float(found), float(expected)
        return abs(found - expected) <= 1e-6 * max(abs(found), abs(expected), 1e-2)
    return found.replace("\\s", " ") == str(expected)


def main():
    tables, answers = map(pathlib.Path, sys.argv[1:])
    connection = duckdb.connect()
    for file in sorted(tables.glob("*.parquet")):
        connection.execute(f"create table {file.stem} as select * from '{file}'")
    differ = 0
    for number, query in zip(QUERIES, queries(), strict=True):
        times = []
        for _ in range(4):
            begun = time.perf_counter()
            rows = connection.execute(query).fetchall()
            times.append((time.perf_counter() - begun) * 1e3)
        found = [line.split("\t") for line in (answers / f"query-{number}.tsv").read_text().splitlines()]
        same = len(found) == len(rows) and all(
            len(a) == len(b) and all(map(close, a, b)) for a, b in zip(found, rows, strict=True)
        )
        differ += not same
        print(f"query {number}: DuckDB {min(times[1:]):.1f} ms, {len(rows)} rows, {'the same' if same else 'DIFFERENT'}")
        if not same:
            print(found[:2], rows[:2])
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
