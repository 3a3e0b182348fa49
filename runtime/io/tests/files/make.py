"""Makes the files of tests/it/formats.rs with the libraries that users have, and expected.json: what each file holds, as these
libraries read it back. Run it in this folder: python make.py

Written with pandas 3.1, pyarrow 26.0, Polars 2.1, openpyxl 3.1, xlwt 1.3, odfpy 1.4, fastavro 1.13.
"""

import datetime as dt
import decimal
import json
import os

import fastavro
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import xlwt

EPOCH = dt.datetime(1970, 1, 1)
expected = {}


def plain(value):
    """A value as the test compares it: dates as days, times and spans as microseconds."""
    if value is None or value is pd.NaT:
        return None
    if isinstance(value, dt.datetime):
        if value.tzinfo:
            value = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
        return {"micros": (value - EPOCH) // dt.timedelta(microseconds=1)}
    if isinstance(value, dt.date):
        return {"day": (value - EPOCH.date()).days}
    if isinstance(value, dt.time):
        return {"time": ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond}
    if isinstance(value, dt.timedelta):
        return {"span": value // dt.timedelta(microseconds=1)}
    if isinstance(value, decimal.Decimal):
        return {"decimal": str(value)}
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {"struct": [[k, plain(v)] for k, v in value.items()]}
    return value


def expect(name, reader, columns, types):
    expected[name] = {
        "reader": reader,
        "columns": [[key, types[i], [plain(v) for v in values]] for i, (key, values) in enumerate(columns.items())],
    }


MOMENT = dt.datetime(2013, 1, 2, 3, 4, 5, 678901)
COLUMNS = {
    "i": [1, None, -3],
    "u": [255, 0, None],
    "f": [0.5, float(2**60), None],
    "s": ["a", "", None],
    "long": ["a text of more than twelve bytes", "é", "x"],
    "b": [True, False, None],
    "d": [dt.date(2013, 1, 2), None, dt.date(1969, 12, 31)],
    "t": [MOMENT, None, dt.datetime(1960, 5, 6)],
    "z": [MOMENT.replace(tzinfo=dt.timezone.utc), None, None],
    "m": [decimal.Decimal("1.50"), None, decimal.Decimal("-12345.67")],
    "c": ["x", "y", "x"],
    "l": [[1, 2], [], None],
    "st": [{"k": 1, "v": "p"}, {"k": None, "v": "q"}, None],
    "by": [b"\x00\xff", b"", None],
}
TYPES = {
    "i": pa.int64(), "u": pa.uint8(), "f": pa.float64(), "s": pa.string(), "long": pa.large_string(), "b": pa.bool_(),
    "d": pa.date32(), "t": pa.timestamp("us"), "z": pa.timestamp("us", "UTC"), "m": pa.decimal128(9, 2),
    "c": pa.dictionary(pa.int8(), pa.string()), "l": pa.list_(pa.int64()),
    "st": pa.struct([("k", pa.int64()), ("v", pa.string())]), "by": pa.binary(),
}
NAMES = ["i64", "u8", "f64", "str", "str", "bool", "date", "datetime[μs]", "datetime[μs, UTC]", "decimal[9,2]", "str",
         "list[i64]", "struct", "binary"]


def table(names):
    return pa.table({name: pa.array(COLUMNS[name], TYPES[name]) for name in names})


def some(names):
    return {n: COLUMNS[n] for n in names}, [NAMES[list(COLUMNS).index(n)] for n in names]


ALL = list(COLUMNS)

# Arrow IPC
for name, options in [("lz4.feather", {"compression": "lz4"}), ("zstd.feather", {"compression": "zstd"}),
                      ("plain.feather", {"compression": "uncompressed", "chunksize": 2})]:
    pyarrow.feather.write_feather(table(ALL), name, **options)
    expect(name, "ipc", *some(ALL))
with pa.ipc.new_stream("stream.arrows", table(ALL).schema) as writer:
    for batch in table(ALL).to_batches(max_chunksize=2):
        writer.write_batch(batch)
expect("stream.arrows", "ipc", *some(ALL))
flat = ["i", "u", "f", "s", "long", "b", "d", "t", "z", "c"]
frame = pl.DataFrame({n: COLUMNS[n] for n in flat}, schema_overrides={"u": pl.UInt8, "c": pl.Categorical})
frame.write_ipc("polars.arrow")
expect("polars.arrow", "ipc", *some(flat))
pyarrow.feather.write_feather(table(["i", "s"]), "one.feather", version=1)

# ORC: no unsigned integers, times in nanoseconds
names = ["i", "f", "s", "long", "b", "d", "t", "m", "l", "st", "by"]
for codec in ["zlib", "zstd", "snappy", "uncompressed"]:
    pyarrow.orc.write_table(table(names), f"{codec}.orc", compression=codec)
    columns, types = some(names)
    types[names.index("t")] = "datetime[ns]"
    expect(f"{codec}.orc", "orc", columns, types)

# Avro
schema = {"type": "record", "name": "row", "fields": [
    {"name": "i", "type": ["null", "long"]},
    {"name": "f", "type": ["null", "double"]},
    {"name": "s", "type": ["null", "string"]},
    {"name": "b", "type": ["null", "boolean"]},
    {"name": "d", "type": ["null", {"type": "int", "logicalType": "date"}]},
    {"name": "z", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
    {"name": "m", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}]},
    {"name": "c", "type": {"type": "enum", "name": "letters", "symbols": ["x", "y"]}},
    {"name": "l", "type": ["null", {"type": "array", "items": "long"}]},
    {"name": "by", "type": ["null", "bytes"]},
]}
names = [f["name"] for f in schema["fields"]]
records = [{n: COLUMNS[n][i] for n in names} for i in range(3)]
for codec in ["null", "deflate", "bzip2"]:
    with open(f"{codec}.avro", "wb") as out:
        fastavro.writer(out, schema, records, codec=codec, sync_interval=30, sync_marker=b"0123456789abcdef")
    expect(f"{codec}.avro", "avro", *some(names))
frame = pl.DataFrame({n: COLUMNS[n] for n in ["i", "f", "s", "b", "d"]})
frame.write_avro("polars.avro", compression="snappy")
expect("polars.avro", "avro", *some(["i", "f", "s", "b", "d"]))

# Workbooks
when = dt.datetime(2013, 1, 2, 3, 4, 5)
sheet = {
    "whole": [1, None, 3],
    "number": [0.5, 2, None],
    "text": ["a", "é", None],
    "mixed": ["x", 2, True],
    "yes": [True, False, None],
    "day": [dt.date(2013, 1, 2), None, dt.date(1999, 12, 31)],
    "moment": [when, dt.datetime(2014, 1, 1), None],
    "clock": [dt.time(3, 4, 5), None, dt.time(23, 59, 59)],
    "span": [dt.timedelta(hours=30), None, dt.timedelta(minutes=5)],
    "error": [None, 7, None],
}
kinds = ["i64", "f64", "str", "str", "bool", "date", "datetime[μs]", "time", "duration[μs]", "i64"]
shown = dict(sheet, mixed=["x", "2", "true"])


def fill(write, header=True):
    for column, (name, values) in enumerate(sheet.items()):
        write(0, column, name)
        for row, value in enumerate(values):
            if value is not None:
                write(row + 1, column, value)


book = openpyxl.Workbook()
first = book.active
first.title = "Data"


def cell(row, column, value):
    at = first.cell(row + 1, column + 1, value)
    if isinstance(value, dt.timedelta):
        at.number_format = "[h]:mm:ss"


fill(cell)
first["J2"] = "#DIV/0!"
other = book.create_sheet("More here")
other["B3"], other["C3"], other["B4"], other["C4"], other["B6"], other["C6"] = "a", "a", 1, "x", 2, "y"
other["E9"] = "aside"
book.create_sheet("Empty")
hidden = book.create_sheet("Hidden")
hidden["A1"] = "only a header"
hidden.sheet_state = "hidden"
book.save("book.xlsx")
expect("book.xlsx", "excel", shown, kinds)
assert list(pd.read_excel("book.xlsx")["whole"].dropna()) == [1, 3]

old = xlwt.Workbook()
page = old.add_sheet("Data")
styles = {dt.date: "yyyy-mm-dd", dt.datetime: "yyyy-mm-dd hh:mm:ss", dt.time: "hh:mm:ss", dt.timedelta: "[h]:mm:ss"}


def old_cell(row, column, value):
    if isinstance(value, dt.timedelta):
        page.write(row, column, value / dt.timedelta(days=1), xlwt.easyxf(num_format_str=styles[dt.timedelta]))
    elif type(value) in styles:
        page.write(row, column, value, xlwt.easyxf(num_format_str=styles[type(value)]))
    else:
        page.write(row, column, value)


fill(old_cell)
old.save("book.xls")
expect("book.xls", "excel", shown, kinds)

ods = {k: v for k, v in sheet.items() if k in ["whole", "number", "text", "yes", "day", "moment"]}
pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in ods.items()}).to_excel("book.ods", index=False, engine="odf")
expect("book.ods", "excel", ods, [kinds[list(sheet).index(k)] for k in ods])

# Parquet: folders, other orders of columns, added columns
frame = pl.DataFrame({"v": [1, 2, 3, 4], "year": [2023, 2023, 2024, None], "day": ["2023-01-02"] * 4,
                      "name": ["a b", "c/d", "a b", "é"]})
for year, name, v in [("2023", "a%20b", 1), ("2023", "c%2Fd", 2), ("2024", "a%20b", 3),
                      ("__HIVE_DEFAULT_PARTITION__", "é", 4)]:
    folder = f"hive/year={year}/day=2023-01-02/name={name}"
    os.makedirs(folder, exist_ok=True)
    pq.write_table(pa.table({"v": [v]}), f"{folder}/0.parquet")
pq.write_table(pa.table({"a": [1], "b": ["x"]}), "order-1.parquet")
pq.write_table(pa.table({"b": ["y"], "a": [2]}), "order-2.parquet")
pq.write_table(pa.table({"b": ["z"], "a": [3], "more": [0.5]}), "order-3.parquet")

# Parquet: categories with an order
values, order = ["hi", "lo", "mid", "lo", None], ["lo", "mid", "hi", "none"]
pl.DataFrame({"c": values, "n": [1, 2, 3, 4, 5]}, schema={"c": pl.Enum(order), "n": pl.Int64}).write_parquet("enum.parquet")
categories = pd.Categorical(values, categories=order, ordered=True)
pd.DataFrame({"c": categories, "n": [1, 2, 3, 4, 5]}).to_parquet("ordered.parquet")

with open("expected.json", "w") as out:
    json.dump(expected, out, indent=1, ensure_ascii=False, default=str)
    out.write("\n")
