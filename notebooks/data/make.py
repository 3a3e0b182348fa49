"""Makes the files of this folder from the CSV files of the R package nycflights13.

    python make.py FOLDER

FOLDER holds flights.csv (or flights.csv.zip), airlines.csv, airports.csv, planes.csv and weather.csv as that package
publishes them. Needs pyarrow. The output does not depend on the machine: same input, same bytes for the CSV files and same
values for flights.parquet.
"""

import io
import shutil
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

HERE = Path(__file__).parent

# The package's integers; NA is null.
INTEGERS = [
    "year", "month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time", "arr_delay",
    "flight", "air_time", "distance", "hour", "minute",
]
TEXTS = ["carrier", "tailnum", "origin", "dest"]


def flights(folder: Path) -> pa.Table:
    path = folder / "flights.csv"
    if path.exists():
        data = path.read_bytes()
    else:
        with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
            name = next(n for n in archive.namelist() if n.endswith("flights.csv"))
            data = archive.read(name)
    types = {name: pa.int64() for name in INTEGERS} | {name: pa.string() for name in TEXTS}
    types["time_hour"] = pa.timestamp("us", tz="UTC")
    options = pyarrow.csv.ConvertOptions(column_types=types, null_values=["NA"], strings_can_be_null=True)
    table = pyarrow.csv.read_csv(io.BytesIO(data), convert_options=options)
    assert table.num_rows == 336_776, table.num_rows
    return table


def main() -> None:
    folder = Path(sys.argv[1])
    pyarrow.parquet.write_table(
        flights(folder),
        HERE / "flights.parquet",
        compression="zstd",
        compression_level=19,
        row_group_size=1 << 17,
        write_page_index=True,
    )
    for name in ["airlines", "airports", "planes", "weather"]:
        shutil.copyfile(folder / f"{name}.csv", HERE / f"{name}.csv")
        (HERE / f"{name}.csv").chmod(0o644)
    for path in sorted(HERE.glob("*.parquet")) + sorted(HERE.glob("*.csv")):
        print(f"{path.name:20} {path.stat().st_size:>10} bytes")


if __name__ == "__main__":
    main()
