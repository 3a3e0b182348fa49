"""Compares two Arrow tables by value: encodings, widths of offsets and dictionaries make no difference."""

import datetime
import decimal
import math

import pyarrow as pa

UNIT = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def values(array):
    """The values of an array as Python objects. Times are nanoseconds, maps are lists of entries."""
    if isinstance(array, pa.ChunkedArray):
        return [v for chunk in array.chunks for v in values(chunk)]
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return values(array.storage)
    if pa.types.is_dictionary(kind):
        inside = values(array.dictionary)
        return [None if i is None else inside[i] for i in array.indices.to_pylist()]
    if pa.types.is_run_end_encoded(kind):
        inside, ends = values(array.values), array.run_ends.to_pylist()
        made, at = [], 0
        for position in range(array.offset, array.offset + len(array)):
            while position >= ends[at]:
                at += 1
            made.append(inside[at])
        return made
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind):
        wide = pa.int32() if pa.types.is_time32(kind) else pa.int64()
        return [None if v is None else v * UNIT[kind.unit] for v in array.view(wide).to_pylist()]
    if pa.types.is_date(kind):
        wide, of_day = (pa.int32(), 1) if pa.types.is_date32(kind) else (pa.int64(), 86_400_000)
        return [None if v is None else v // of_day for v in array.view(wide).to_pylist()]
    if pa.types.is_map(kind):
        return entries_of(array)
    if pa.types.is_fixed_size_list(kind):
        inside = values(array.flatten())
        made, at = [], 0
        for valid in array.is_valid().to_pylist():
            made.append(inside[at:at + kind.list_size] if valid else None)
            at += kind.list_size if valid else 0
        return made
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inside, offsets = values(array.values), array.offsets.to_pylist()
        spans = zip(offsets, offsets[1:], array.is_valid().to_pylist())
        return [inside[a:b] if valid else None for a, b, valid in spans]
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        inside = values(array.values)
        spans = zip(array.offsets.to_pylist(), array.sizes.to_pylist(), array.is_valid().to_pylist())
        return [inside[a:a + n] if valid else None for a, n, valid in spans]
    if pa.types.is_struct(kind):
        columns = [values(column) for column in array.flatten()]
        names = [field.name for field in kind]
        rows = zip(*columns) if columns else ([] for _ in range(len(array)))
        return [
            dict(zip(names, row)) if valid else None for row, valid in zip(rows, array.is_valid().to_pylist())
        ]
    if pa.types.is_interval(kind):
        return intervals(array)
    return array.to_pylist()


def intervals(array):
    """(months, days, nanoseconds) of each interval; pyarrow has no Python value for the older two kinds."""
    if str(array.type) == "month_day_nano_interval":
        return [None if v is None else tuple(v) for v in array.to_pylist()]
    if str(array.type) == "month_interval":
        return [None if v is None else (v, 0, 0) for v in array.view(pa.int32()).to_pylist()]
    pairs = array.view(pa.int64()).to_pylist()
    # Days are the lower half, milliseconds the upper one.
    low = [None if v is None else (v & 0xFFFF_FFFF ^ 0x8000_0000) - 0x8000_0000 for v in pairs]
    return [None if v is None else (0, days, (v >> 32) * 10**6) for v, days in zip(pairs, low)]


def entries_of(array):
    """The entries of an array of maps."""
    keys, items, offsets = values(array.keys), values(array.items), array.offsets.to_pylist()
    entries = [{"key": k, "value": v} for k, v in zip(keys, items)]
    first = offsets[0] if offsets else 0
    spans = zip(offsets, offsets[1:], array.is_valid().to_pylist())
    # `keys` and `items` start at the first offset of a slice.
    shift = first if len(entries) < (offsets[-1] if offsets else 0) else 0
    return [entries[a - shift:b - shift] if valid else None for a, b, valid in spans]


def same(a, b):
    if a is None or b is None:
        return a is b
    if isinstance(a, float) or isinstance(b, float):
        try:
            x, y = float(a), float(b)
        except (TypeError, ValueError):
            return False
        return x == y or (math.isnan(x) and math.isnan(y))
    if isinstance(a, dict) and isinstance(b, dict):
        a_keys, b_keys = list(a), list(b)
        if len(a_keys) == len(b_keys) == 2 and a_keys[0] in ("key", "keys") and b_keys[0] in ("key", "keys"):
            return all(same(x, y) for x, y in zip(a.values(), b.values()))
        return a_keys == b_keys and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, str) != isinstance(b, str):
        text, other = (a, b) if isinstance(a, str) else (b, a)
        return isinstance(other, bytes) and text.encode() == other
    if isinstance(a, (datetime.date, datetime.timedelta)) or isinstance(a, bool) or isinstance(b, bool):
        return a == b and type(a) is type(b)
    if isinstance(a, (int, decimal.Decimal)) and isinstance(b, (int, decimal.Decimal)):
        return decimal.Decimal(a) == decimal.Decimal(b)
    return a == b


def difference(ours, theirs):
    """The first cell that differs, in words; the empty string if none does."""
    if len(ours.schema) != len(theirs.schema):
        return f"columns {ours.schema.names}, expected {theirs.schema.names}"
    if ours.schema.names != theirs.schema.names:
        return f"names {ours.schema.names}, expected {theirs.schema.names}"
    if ours.num_rows != theirs.num_rows:
        return f"{ours.num_rows} rows, expected {theirs.num_rows}"
    for index, name in enumerate(ours.schema.names):
        left, right = ours.column(index), theirs.column(index)
        for row, (a, b) in enumerate(zip(values(left), values(right))):
            if not same(a, b):
                types = f"{left.type}, expected {right.type}"
                return f"column {name} ({types}), row {row}: {str(a)[:80]}, expected {str(b)[:80]}"
    return ""
