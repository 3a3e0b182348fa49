"""A table with every type of Arrow that a frame can have, written by pyarrow."""

import datetime
import decimal

import pyarrow as pa

DAY = datetime.date(2020, 1, 31)

COLUMNS = {
    "i8": pa.array([1, None, -3], pa.int8()),
    "i16": pa.array([1, None, -3], pa.int16()),
    "i32": pa.array([1, 2, 3], pa.int32()),
    "i64": pa.array([1, None, 1 << 60], pa.int64()),
    "u8": pa.array([1, None, 255], pa.uint8()),
    "u16": pa.array([1, 2, 65535], pa.uint16()),
    "u32": pa.array([1, 2, 1 << 31], pa.uint32()),
    "u64": pa.array([1, 2, 1 << 63], pa.uint64()),
    "f32": pa.array([None, 2.5, 1.0], pa.float32()),
    "f64": pa.array([1.5, 2.0, float("inf")], pa.float64()),
    "b": pa.array([True, False, True]),
    "b_null": pa.array([None, False, True]),
    "s": pa.array(["a", None, "éß🦀"]),
    "bin": pa.array([b"x", b"", None]),
    "d": pa.array([DAY, None, datetime.date(1960, 1, 1)]),
    "ts": pa.array([1, 2, -3], pa.timestamp("us")),
    "ts_ms": pa.array([1, None, 3], pa.timestamp("ms")),
    "tz": pa.array([1, None, 3], pa.timestamp("ns", "Europe/Berlin")),
    "dur": pa.array([1, 2, None], pa.duration("ms")),
    "dec": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2.25")], pa.decimal128(9, 2)),
    "list": pa.array([[1, None], None, []], pa.list_(pa.int32())),
    "struct": pa.array(
        [{"a": 1, "b": ["x", None]}, None, {"a": None, "b": []}],
        pa.struct([("a", pa.int8()), ("b", pa.list_(pa.string()))]),
    ),
}

#: What Onrush's engine has no type of, or stores as another.
RARE = {
    "f16": pa.array([1.0, 2.0, 3.0], pa.float64()).cast(pa.float16()),
    "large_s": pa.array(["a", "b", None], pa.large_string()),
    "large_bin": pa.array([b"a", b"b", None], pa.large_binary()),
    "fixed_bin": pa.array([b"ab", None, b"cd"], pa.binary(2)),
    "d64": pa.array([0, 86_400_000, None], pa.date64()),
    "t32": pa.array([1, None, 3], pa.time32("s")),
    "t64": pa.array([1, 2, None], pa.time64("ns")),
    "dec256": pa.array([decimal.Decimal("-1.50"), None, decimal.Decimal("2.25")], pa.decimal256(50, 2)),
    "large_list": pa.array([["a"], [None], []], pa.large_list(pa.string())),
    "fixed_list": pa.array([[1.0, 2.0], None, [3.0, 4.0]], pa.list_(pa.float32(), 2)),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32())),
    "null": pa.nulls(3),
}

COMMON = pa.table(COLUMNS)
EVERY = pa.table({**COLUMNS, **RARE})
