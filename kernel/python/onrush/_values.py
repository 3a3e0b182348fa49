"""Values of Arrow arrays as NumPy arrays and as Python objects. The arrays are nanoarrow's."""

from __future__ import annotations

import datetime
import decimal
import sys
import warnings
from typing import Any

from ._errors import OnrushError, optional

#: NumPy's types of Arrow's, where both have the same values in memory.
PLAIN = {
    "int8": "i1",
    "int16": "i2",
    "int32": "i4",
    "int64": "i8",
    "uint8": "u1",
    "uint16": "u2",
    "uint32": "u4",
    "uint64": "u8",
    "half_float": "f2",
    "float": "f4",
    "double": "f8",
}


def kind_of(schema: Any) -> tuple[str, str | None]:
    """Arrow's type without parameters, and the type of a NumPy array with its values, if there is one."""
    from nanoarrow.c_schema import c_schema_view

    view = c_schema_view(schema)
    kind = view.type
    if kind in PLAIN:
        return kind, PLAIN[kind]
    if kind in ("timestamp", "duration"):
        return kind, ("M8" if kind == "timestamp" else "m8") + f"[{view.time_unit}]"
    return kind, {"bool": "b1", "date32": "M8[D]", "date64": "M8[ms]"}.get(kind)


def plain(numpy: Any, chunk: Any, numpy_type: str) -> Any:
    """The values of an array with at least one row, nulls included, without a copy."""
    from nanoarrow.c_array import c_array_view

    data = memoryview(c_array_view(chunk).buffer(1)).cast("B")
    return numpy.frombuffer(
        data, dtype=numpy_type, count=chunk.length, offset=chunk.offset * numpy.dtype(numpy_type).itemsize
    )


def _bits(numpy: Any, chunk: Any, buffer: int) -> Any:
    """Booleans of a bitmap with at least one row."""
    from nanoarrow.c_array import c_array_view

    packed = numpy.frombuffer(memoryview(c_array_view(chunk).buffer(buffer)).cast("B"), dtype="u1")
    return numpy.unpackbits(packed, bitorder="little", count=chunk.offset + chunk.length)[chunk.offset :].astype(bool)


def filled(numpy: Any, chunk: Any, kind: str, numpy_type: str) -> Any:
    """A copy with NaN, NaT or None for null."""
    if kind == "bool":
        values = _bits(numpy, chunk, 1)
    elif kind == "date32":
        values = plain(numpy, chunk, "i4").astype("i8").view("M8[D]")
    else:
        values = plain(numpy, chunk, numpy_type)
    if not chunk.null_count:
        return values.copy()
    nulls = ~_bits(numpy, chunk, 0)
    if values.dtype.kind in "iu":
        values = values.astype("f8")
    elif kind == "bool":
        values = values.astype(object)
    else:
        values = values.copy()
    values[nulls] = (
        numpy.array("NaT", values.dtype) if values.dtype.kind in "mM" else None if kind == "bool" else numpy.nan
    )
    return values


#: The string of a value that cannot be shown.
UNSHOWN = "…"


def python(chunk: Any, shown: bool = False) -> list[Any]:
    """The values of an array as Python objects, with None for null.

    With `shown` a value that Python has no object for is a string.

    # Errors
    Without `shown`, `OnrushError` if the values need a package that is not installed, or if Python has no objects for
    them.
    """
    if not chunk.length:
        return []
    kind = kind_of(chunk.schema)[0]
    if kind == "struct":
        names = [child.name for child in chunk.schema.children]
        fields = [python(_part(child, chunk.offset, chunk.length), shown) for child in chunk.children]
        return _with_nulls(chunk, [dict(zip(names, row)) for row in zip(*fields)] if fields else [{}] * chunk.length)
    if kind in ("list", "large_list", "map"):
        offsets = _buffer(chunk, 1, "q" if kind == "large_list" else "i")[
            chunk.offset : chunk.offset + chunk.length + 1
        ]
        items = python(_part(chunk.child(0), offsets[0], offsets[-1] - offsets[0]), shown)
        if kind == "map":
            items = [tuple(entry.values()) for entry in items]
        return _with_nulls(chunk, [items[a - offsets[0] : b - offsets[0]] for a, b in zip(offsets, offsets[1:])])
    if kind == "fixed_size_list":
        from nanoarrow.c_schema import c_schema_view

        width = c_schema_view(chunk.schema).fixed_size
        items = python(_part(chunk.child(0), chunk.offset * width, chunk.length * width), shown)
        return _with_nulls(chunk, [items[i * width : (i + 1) * width] for i in range(chunk.length)])
    if kind.startswith("decimal"):
        return _decimals(chunk)
    if kind in ("timestamp", "duration"):
        from nanoarrow.c_schema import c_schema_view

        view = c_schema_view(chunk.schema)
        if view.time_unit == "ns":
            return _nanoseconds(chunk, view, shown)
    return _by_nanoarrow(chunk, shown)


def _nanoseconds(chunk: Any, view: Any, shown: bool) -> list[Any]:
    """Timestamps and durations as those of pandas, if it is imported or if Python's would lose digits."""
    numbers = _buffer(chunk, 1, "q")[chunk.offset : chunk.offset + chunk.length]
    is_valid = _with_nulls(chunk, [True] * chunk.length)
    is_exact = all(number % 1000 == 0 for number, valid in zip(numbers, is_valid) if valid)
    if shown:
        values = _by_nanoarrow(chunk, shown)
        return values if is_exact else [_nine_digits(value, number) for value, number in zip(values, numbers)]
    pandas = sys.modules.get("pandas") if is_exact else optional("pandas")
    if pandas is not None:
        import numpy

        plain_numbers = numpy.frombuffer(numbers, "i8")
        if view.type == "duration":
            return _with_nulls(chunk, pandas.TimedeltaIndex(plain_numbers.view("m8[ns]")).tolist())
        index = pandas.DatetimeIndex(plain_numbers.view("M8[ns]"))
        if view.timezone:
            index = index.tz_localize("UTC").tz_convert(view.timezone)
        return _with_nulls(chunk, index.tolist())
    if is_exact:
        return _by_nanoarrow(chunk, shown)
    raise OnrushError(
        "the column has nanoseconds, and times of Python have microseconds: this needs the package `pandas`",
        ["pip install pandas", "or `numpy.asarray(column)`, which keeps the digits"],
        code="missing-package",
    )


def _nine_digits(value: Any, number: int) -> Any:
    """The text of a time that Python has cut to microseconds."""
    if isinstance(value, datetime.datetime):
        said = value.isoformat(" ", "microseconds")
        return f"{said[:26]}{number % 1000:03}{said[26:]}"
    return f"{number} ns" if isinstance(value, datetime.timedelta) else value


def _part(array: Any, offset: int, length: int) -> Any:
    """Rows of a child: its own offset counts too, which nanoarrow adds."""
    return array[offset : offset + length] if length else array[0:0]


def _buffer(chunk: Any, number: int, form: str) -> Any:
    from nanoarrow.c_array import c_array_view

    return memoryview(c_array_view(chunk).buffer(number)).cast("B").cast(form)


def _with_nulls(chunk: Any, values: list[Any]) -> list[Any]:
    if chunk.null_count:
        bits = _buffer(chunk, 0, "B")
        for i in range(chunk.length):
            at = chunk.offset + i
            if not bits[at >> 3] >> (at & 7) & 1:
                values[i] = None
    return values


def _decimals(chunk: Any) -> list[Any]:
    """Decimals: nanoarrow 0.9 reads negative ones as positive."""
    from nanoarrow.c_schema import c_schema_view

    view = c_schema_view(chunk.schema)
    width, scale = view.decimal_bitwidth // 8, view.decimal_scale
    data = _buffer(chunk, 1, "B")
    exact = decimal.Context(prec=100)
    numbers = (
        int.from_bytes(data[i * width : (i + 1) * width], "little", signed=True)
        for i in range(chunk.offset, chunk.offset + chunk.length)
    )
    return _with_nulls(chunk, [decimal.Decimal(number).scaleb(-scale, exact) for number in numbers])


def _by_nanoarrow(chunk: Any, shown: bool) -> list[Any]:
    """By nanoarrow, or else by pyarrow. Python's times of day have no nanoseconds."""
    from nanoarrow.iterator import iter_py

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(iter_py(chunk))
    except (KeyError, NotImplementedError, ValueError, OverflowError) as error:
        pyarrow, failure = optional("pyarrow"), error
    if pyarrow is not None:
        return by_pyarrow(pyarrow.array(chunk), shown)
    if shown:
        return [UNSHOWN] * chunk.length
    kind = chunk.schema._to_string()
    if isinstance(failure, (ValueError, OverflowError)):
        raise _no_values(kind, failure) from failure
    raise OnrushError(
        f"values of the type {kind} need the package `pyarrow`, which cannot be imported here",
        ["pip install pyarrow"],
        [str(failure)],
        code="missing-package",
    ) from failure


def by_pyarrow(array: Any, shown: bool) -> list[Any]:
    """The values of an array of pyarrow."""
    try:
        return array.to_pylist()
    except (ValueError, OverflowError) as error:
        if shown:
            return [UNSHOWN] * len(array)
        raise _no_values(array.type, error) from error


def _no_values(kind: Any, error: Exception) -> OnrushError:
    return OnrushError(
        f"a value of the type {kind} cannot be an object of Python, whose times end with the year 9999",
        ["`numpy.asarray` and `to_pyarrow` give the column as it is"],
        [str(error)],
        code="no-python-value",
    )
