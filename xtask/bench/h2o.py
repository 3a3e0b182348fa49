"""The ten group-by and five join questions of db-benchmark (https://github.com/duckdblabs/db-benchmark) on Onrush,
Polars and DuckDB: 10,000,000 rows (`--rows`), K = 100, no nulls, unsorted. How the times are taken, and how the
answers are compared, is told in `peers.py`.

The data have the distributions of db-benchmark's generators `groupby-datagen.R` and `join-datagen.R`, drawn by numpy
with a fixed seed and written once as Parquet files. Strings are plain strings in all three engines, not categories.
Onrush runs steps of frames, whose groups come in the order of the keys, which Polars and DuckDB do not promise;
`--sql 1` runs DuckDB's text in Onrush instead."""

from pathlib import Path

import numpy as np
import peers
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from peers import Bench, Line

K = 100
SEED = 108

# Name: (Onrush, Polars, SQL)
GROUPS = {
    "1 sum by id1": (
        'x.group_by("id1").agg(x!(v1 = v1.sum()))',
        lambda x: x.group_by("id1").agg(pl.col("v1").sum()),
        "select id1, sum(v1) as v1 from x group by id1",
    ),
    "2 sum by id1:id2": (
        'x.group_by(["id1", "id2"]).agg(x!(v1 = v1.sum()))',
        lambda x: x.group_by("id1", "id2").agg(pl.col("v1").sum()),
        "select id1, id2, sum(v1) as v1 from x group by id1, id2",
    ),
    "3 sum mean by id3": (
        'x.group_by("id3").agg(x!(v1 = v1.sum(), v3 = v3.mean()))',
        lambda x: x.group_by("id3").agg(pl.col("v1").sum(), pl.col("v3").mean()),
        "select id3, sum(v1) as v1, mean(v3) as v3 from x group by id3",
    ),
    "4 mean v1:v3 by id4": (
        'x.group_by("id4").agg(x!(v1 = v1.mean(), v2 = v2.mean(), v3 = v3.mean()))',
        lambda x: x.group_by("id4").agg(pl.col("v1", "v2", "v3").mean()),
        "select id4, mean(v1) as v1, mean(v2) as v2, mean(v3) as v3 from x group by id4",
    ),
    "5 sum v1:v3 by id6": (
        'x.group_by("id6").agg(x!(v1 = v1.sum(), v2 = v2.sum(), v3 = v3.sum()))',
        lambda x: x.group_by("id6").agg(pl.col("v1", "v2", "v3").sum()),
        "select id6, sum(v1) as v1, sum(v2) as v2, sum(v3) as v3 from x group by id6",
    ),
    "6 median sd v3 by id4:id5": (
        'x.group_by(["id4", "id5"]).agg(x!(median_v3 = v3.median(), sd_v3 = v3.std()))',
        lambda x: x.group_by("id4", "id5").agg(
            pl.col("v3").median().alias("median_v3"), pl.col("v3").std().alias("sd_v3")
        ),
        "select id4, id5, median(v3) as median_v3, stddev(v3) as sd_v3 from x group by id4, id5",
    ),
    "7 max v1 - min v2 by id3": (
        'x.group_by("id3").agg(x!(range_v1_v2 = v1.max() - v2.min()))',
        lambda x: x.group_by("id3").agg((pl.col("v1").max() - pl.col("v2").min()).alias("range_v1_v2")),
        "select id3, max(v1) - min(v2) as range_v1_v2 from x group by id3",
    ),
    "8 largest two v3 by id6": (
        'x.filter(x!(v3.rank(method = "ordinal", descending = true).over(id6) <= 2)).select(x!(id6, largest2_v3 = v3))',
        lambda x: (
            x.drop_nulls("v3").group_by("id6").agg(pl.col("v3").top_k(2).alias("largest2_v3")).explode("largest2_v3")
        ),
        "select id6, largest2_v3 from (select id6, v3 as largest2_v3, row_number() over (partition by id6 order by v3 "
        "desc) as order_v3 from x where v3 is not null) sub where order_v3 <= 2",
    ),
    "9 r2 v1 v2 by id2:id4": (
        'x.group_by(["id2", "id4"]).agg(x!(r2 = v1.corr(v2).pow(2)))',
        lambda x: x.group_by("id2", "id4").agg((pl.corr("v1", "v2") ** 2).alias("r2")),
        "select id2, id4, pow(corr(v1, v2), 2) as r2 from x group by id2, id4",
    ),
    "10 sum count by id1:id6": (
        'x.group_by(["id1", "id2", "id3", "id4", "id5", "id6"]).agg(x!(v3 = v3.sum(), count = len()))',
        lambda x: x.group_by("id1", "id2", "id3", "id4", "id5", "id6").agg(pl.col("v3").sum(), pl.len().alias("count")),
        "select id1, id2, id3, id4, id5, id6, sum(v3) as v3, count(*) as count from x "
        "group by id1, id2, id3, id4, id5, id6",
    ),
}

# Name: (Onrush, Polars, SQL)
JOINS = {
    "join 1 small inner on int": (
        'lhs.inner_join(&small, "id1")',
        lambda t: t["lhs"].join(t["small"], on="id1"),
        "select lhs.*, small.id4 as small_id4, v2 from lhs join small using (id1)",
    ),
    "join 2 medium inner on int": (
        'lhs.inner_join(&medium, "id2")',
        lambda t: t["lhs"].join(t["medium"], on="id2"),
        "select lhs.*, medium.id1 as medium_id1, medium.id4 as medium_id4, medium.id5 as medium_id5, v2 "
        "from lhs join medium using (id2)",
    ),
    "join 3 medium outer on int": (
        'lhs.left_join(&medium, "id2")',
        lambda t: t["lhs"].join(t["medium"], on="id2", how="left"),
        "select lhs.*, medium.id1 as medium_id1, medium.id4 as medium_id4, medium.id5 as medium_id5, v2 "
        "from lhs left join medium using (id2)",
    ),
    "join 4 medium inner on string": (
        'lhs.inner_join(&medium, "id5")',
        lambda t: t["lhs"].join(t["medium"], on="id5"),
        "select lhs.*, medium.id1 as medium_id1, medium.id2 as medium_id2, medium.id4 as medium_id4, v2 "
        "from lhs join medium using (id5)",
    ),
    "join 5 big inner on int": (
        'lhs.inner_join(&big, "id3")',
        lambda t: t["lhs"].join(t["big"], on="id3"),
        "select lhs.*, big.id1 as big_id1, big.id2 as big_id2, big.id4 as big_id4, big.id5 as big_id5, "
        "big.id6 as big_id6, v2 from lhs join big using (id3)",
    ),
}


def strings(prefix: str, numbers: np.ndarray, digits: int) -> pa.Array:
    """`id007` for each number, as plain strings."""
    values, at = np.unique(numbers, return_inverse=True)
    dictionary = pa.array([f"{prefix}{value:0{digits}d}" for value in values])
    return pc.take(dictionary, pa.array(at))


def write(path: Path, columns: dict) -> None:
    table = pa.table(columns)
    unfinished = path.with_suffix(".unfinished")
    pq.write_table(table, unfinished, compression="zstd")
    unfinished.rename(path)


def groups(folder: Path, rows: int) -> Path:
    """The table of the group-by questions."""
    path = folder / f"h2o-groups-{rows}.parquet"
    if not path.is_file():
        random = np.random.default_rng(SEED)
        many = max(rows // K, 1)

        def draw(most: int) -> np.ndarray:
            return random.integers(1, most + 1, rows, dtype=np.int32)

        write(path, {
            "id1": strings("id", draw(K), 3), "id2": strings("id", draw(K), 3), "id3": strings("id", draw(many), 10),
            "id4": draw(K), "id5": draw(K), "id6": draw(many),
            "v1": draw(5), "v2": draw(15), "v3": np.round(random.uniform(0, 100, rows), 6),
        })
    return path


def joins(folder: Path, rows: int) -> dict[str, Path]:
    """The four tables of the join questions: 90 % of each key's values are on both sides."""
    paths = {name: folder / f"h2o-{name}-{rows}.parquet" for name in ("lhs", "small", "medium", "big")}
    if all(path.is_file() for path in paths.values()):
        return paths
    random = np.random.default_rng(SEED)
    sizes = {"small": max(rows // 1_000_000, 10), "medium": max(rows // 1000, 10), "big": rows}
    both, left, right = {}, {}, {}
    for key, size in zip(("id1", "id2", "id3"), sizes.values()):
        keys = random.permutation(size * 11 // 10).astype(np.int32) + 1
        both[key], left[key], right[key] = np.split(keys, [size * 9 // 10, size])

    def all_of(values: np.ndarray, size: int) -> np.ndarray:
        """Each value at least once, in random order."""
        drawn = np.concatenate([values, random.choice(values, max(0, size - len(values)))])
        return random.permutation(drawn)[:size]

    def side(other: dict, keys: int, size: int, value: str) -> dict:
        names = [f"id{n}" for n in range(1, keys + 1)]
        columns = {name: all_of(np.concatenate([both[name], other[name]]), size) for name in names}
        columns |= {f"id{n + 3}": strings("id", columns[f"id{n}"], 1) for n in range(1, keys + 1)}
        return columns | {value: np.round(random.uniform(0, 100, size), 6)}

    write(paths["lhs"], side(left, 3, rows, "v1"))
    for keys, (name, size) in enumerate(sizes.items(), 1):
        write(paths[name], side(right, keys, size, "v2"))
    return paths


def main() -> None:
    arguments = peers.options(__doc__, rows=10_000_000, sql=0)
    arguments.data.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in [*GROUPS, *JOINS] if arguments.only in name]
    bench = Bench(arguments)
    tables, lines = {}, []
    if any(name in GROUPS for name in wanted):
        tables["x"] = bench.table("x", groups(arguments.data, arguments.rows))
    if any(name in JOINS for name in wanted):
        tables |= {name: bench.table(name, path) for name, path in joins(arguments.data, arguments.rows).items()}
    for name, (cell, of_polars, query) in (GROUPS | JOINS).items():
        if arguments.sql:
            cell = f'sql(r#"{query} -- run {{run}}"#)'
        table = (lambda: tables["x"]) if name in GROUPS else (lambda: tables)
        lines.append(Line(name, cell, lambda of_polars=of_polars, table=table: of_polars(table()), query))
    peers.report(bench, f"db-benchmark, {arguments.rows} rows", lines)
    bench.close()


if __name__ == "__main__":
    main()
