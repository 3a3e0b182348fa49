"""Tables of Python as Arrow IPC in sealed memory, which the session keeps without a copy."""

from __future__ import annotations

import fcntl
import io
import os
import struct
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any, Callable

from ._errors import OnrushError, optional
from ._frame import Frame

F_ADD_SEALS = 1033
#: Of `F_SEAL_SEAL`, `SHRINK`, `GROW` and `WRITE`.
ALL_SEALS = 0x1 | 0x2 | 0x4 | 0x8
#: Exceptions of pyarrow, Polars and nanoarrow at values that they cannot convert.
UNCONVERTED = (TypeError, ValueError, KeyError, OverflowError, NotImplementedError, struct.error)


def sealed(table: Any) -> int:
    """A sealed memfd with a table as an Arrow IPC stream, or as a file for a frame of the session.

    The caller closes the descriptor.
    """
    write = writer(table)
    descriptor = os.memfd_create("onrush-publish", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        write(descriptor)
        fcntl.fcntl(descriptor, F_ADD_SEALS, ALL_SEALS)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, OSError):
            raise OnrushError(
                "the table does not fit into shared memory",
                notes=[str(error)],
                error_class="environment",
                code="memory",
            ) from error
        raise
    return descriptor


Writer = Callable[[int], None]


def writer(table: Any) -> Writer:
    """Chooses how a table is written. Packages that are not loaded yet are loaded only where nothing else can do it."""
    if isinstance(table, Frame):
        if table._layout.get("columns") is None:
            return lambda descriptor: _write_all(descriptor, table._memory.view)
        # The memory has more columns than the frame.
        return _capsules(table)
    polars, pandas, pyarrow = (sys.modules.get(name) for name in ("polars", "pandas", "pyarrow"))
    if polars is not None:
        if isinstance(table, polars.DataFrame):
            return _polars(polars, table)
        if isinstance(table, polars.LazyFrame):
            raise _no_table(table, "call `.collect()` first")
        if isinstance(table, polars.Series):
            raise _no_table(table, "a Series is a table after `.to_frame()`")
    if pandas is not None:
        if isinstance(table, pandas.DataFrame):
            return _pandas(pandas, table)
        if isinstance(table, pandas.Series):
            raise _no_table(table, "a Series is a table after `.to_frame()`")
    if pyarrow is not None:
        if isinstance(table, (pyarrow.Table, pyarrow.RecordBatch, pyarrow.RecordBatchReader)):
            return _pyarrow(pyarrow, table)
        if isinstance(table, (pyarrow.Array, pyarrow.ChunkedArray)):
            raise _no_table(table, 'give it a name, as in `publish({"x": array}, name)`')
    if isinstance(table, Mapping):
        return _columns(dict(table))
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        return _capsules(table)
    names = getattr(getattr(table, "dtype", None), "names", None)
    if names:
        return _columns({name: table[name] for name in names})
    if hasattr(table, "__array__"):
        raise _no_table(table, 'name the columns, as in `publish({"x": array[:, 0], "y": array[:, 1]}, name)`')
    raise _no_table(table, "a table is a DataFrame, a dict of columns, or has `__arrow_c_stream__`")


def _no_table(found: Any, help: str) -> OnrushError:
    kind = type(found)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    return OnrushError(f"`publish` takes a table, and this is a value of type {name}", [help], code="not-a-table")


def _write_all(descriptor: int, data: Any) -> None:
    view = memoryview(data).cast("B")
    at = 0
    while at < len(view):
        at += os.write(descriptor, view[at : at + (1 << 30)])


def _file(descriptor: int) -> io.FileIO:
    return io.FileIO(descriptor, "wb", closefd=False)


def _polars(polars: Any, table: Any) -> Writer:
    for name, kind in table.schema.items():
        if str(kind) in ("Int128", "UInt128"):
            raise OnrushError(f"the column {name!r} has integers of 128 bits", [LARGE], code="not-arrow")
    level = getattr(polars, "CompatLevel", None)
    options: dict[str, Any] = {} if level is None else {"compat_level": level.oldest()}

    def write(descriptor: int) -> None:
        with io.BufferedWriter(_file(descriptor), 1 << 20) as file:
            table.write_ipc_stream(file, **options)

    return write


def _pyarrow(pyarrow: Any, table: Any) -> Writer:
    if isinstance(table, pyarrow.RecordBatch):
        table = pyarrow.Table.from_batches([table])

    def write(descriptor: int) -> None:
        with pyarrow.OSFile(f"/proc/self/fd/{descriptor}", "wb") as file:
            with pyarrow.ipc.new_stream(file, table.schema) as stream:
                if isinstance(table, pyarrow.Table):
                    stream.write_table(table)
                else:
                    for batch in table:
                        stream.write_batch(batch)

    return write


def _pandas(pandas: Any, table: Any) -> Writer:
    """Levels of an index that have names become columns, as `reset_index` makes them. Other indices are left out."""
    levels = {i: str(name) for i, name in enumerate(table.index.names) if name is not None}
    repeated = _repeated([*levels.values(), *map(str, table.columns)])
    if repeated is not None:
        if repeated not in levels.values():
            raise OnrushError(f"two columns have the name {repeated!r}", ["rename one"], code="duplicate-column")
        raise OnrushError(
            f"a level of the index has the name of another column, {repeated!r}",
            ["`.reset_index(drop=True)` leaves the index out, and `.rename_axis(...)` gives it another name"],
            code="duplicate-column",
        )
    if levels:
        try:
            table = table.reset_index(level=list(levels))
        except UNCONVERTED as error:
            raise _not_arrow(error, help="`.reset_index(drop=True)` leaves the index out") from error
    labels = [str(label) for label in table.columns]
    if (repeated := _repeated(labels)) is not None:
        raise OnrushError(f"two columns have the name {repeated!r}", ["rename one"], code="duplicate-column")
    pyarrow = optional("pyarrow")
    if pyarrow is None:
        return _columns({label: table.iloc[:, i] for i, label in enumerate(labels)})
    try:
        return _pyarrow(pyarrow, pyarrow.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None))
    except UNCONVERTED as error:
        raise _not_arrow(error) from error


def _repeated(labels: list[str]) -> str | None:
    """The first label that is there twice."""
    return next((label for label, count in Counter(labels).items() if count > 1), None)


def _not_arrow(error: BaseException, column: str | None = None, help: str | None = None) -> OnrushError:
    said = "; ".join(str(part) for part in error.args) or type(error).__name__
    if isinstance(error, UnicodeError):
        said, help = str(error), "leave halves of surrogate pairs out: they are not text"
    message = "a column cannot be Arrow" if column is None else f"the column {column!r} cannot be Arrow"
    if help is None:
        is_large = isinstance(error, OverflowError) or "too large" in said or "too big" in said
        help = LARGE if is_large else "give each column values of one type"
    return OnrushError(message, [help], [said], code="not-arrow")


LARGE = "integers have at most 64 bits: convert larger ones to `float` or `str`"


def _capsules(table: Any) -> Writer:
    """Anything with the Arrow PyCapsule interface: by nanoarrow, which is there, or else by pyarrow."""
    ipc = optional("nanoarrow.ipc")
    pyarrow = sys.modules.get("pyarrow")
    if ipc is None or pyarrow is not None or not _is_simple(table):
        pyarrow = pyarrow or optional("pyarrow")
    if pyarrow is not None:
        try:
            stream = pyarrow.table(table)
        except UNCONVERTED as error:
            raise _not_arrow(error) from error
        return _pyarrow(pyarrow, stream)
    if ipc is None:
        raise OnrushError(
            "writing Arrow needs the package `nanoarrow` or `pyarrow`",
            ["pip install nanoarrow"],
            code="missing-package",
        )

    def write(descriptor: int) -> None:
        # Through memory: the writer of nanoarrow hands over small pieces.
        with io.BufferedWriter(_file(descriptor), 1 << 20) as file, ipc.StreamWriter.from_writable(file) as stream:
            try:
                stream.write_stream(table)
            except Exception as error:
                raise OnrushError(
                    "nanoarrow cannot write a type of this table",
                    ["pip install pyarrow"],
                    [str(error)],
                    code="not-arrow",
                ) from error

    return write


def _is_simple(table: Any) -> bool:
    """Whether nanoarrow can write every type of a table."""
    from nanoarrow.c_schema import c_schema

    def is_simple(schema: Any) -> bool:
        form = schema.format
        if schema.dictionary is not None or form.startswith(("v", "+u", "+v", "+r")):
            return False
        return all(is_simple(child) for child in schema.children)

    try:
        return is_simple(c_schema(table))
    except (TypeError, ValueError, NotImplementedError):
        return False


def _columns(columns: dict[Any, Any]) -> Writer:
    """Columns by name, of lists, NumPy arrays, Series or Arrow arrays: by pyarrow, by Polars, or by nanoarrow."""
    if not all(isinstance(name, str) for name in columns):
        columns = {str(name): values for name, values in columns.items()}
    lengths = {name: len(values) for name, values in columns.items() if hasattr(values, "__len__")}
    for name, values in columns.items():
        if name not in lengths or isinstance(values, (str, bytes)):
            raise OnrushError(
                f"the column {name!r} is a value of type {type(values).__name__}, not a list or an array",
                code="not-a-table",
            )
        if getattr(values, "ndim", 1) != 1:
            raise OnrushError(
                f"the column {name!r} is an array of {values.ndim} dimensions, and a column has one", code="not-a-table"
            )
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise OnrushError(f"the columns have different lengths ({said})", code="not-a-table")
    columns = {name: _at_hand(values) for name, values in columns.items()}
    pyarrow = optional("pyarrow")
    if pyarrow is not None:
        try:
            arrays = {}
            for name, values in columns.items():
                arrays[name] = _arrow_array(pyarrow, values)
            return _pyarrow(pyarrow, pyarrow.table(arrays))
        except UNCONVERTED as error:
            raise _not_arrow(error, name) from error
    pandas = sys.modules.get("pandas")
    # Polars takes a Series of pandas by pyarrow.
    is_of_pandas = pandas is not None and any(isinstance(v, (pandas.Series, pandas.Index)) for v in columns.values())
    polars = None if is_of_pandas else optional("polars")
    if polars is not None:
        try:
            series = []
            for name, values in columns.items():
                series.append(polars.Series(name, values))
            return _polars(polars, polars.DataFrame(series))
        except (*UNCONVERTED, polars.exceptions.PolarsError) as error:
            raise _not_arrow(error, name) from error
    return _capsules(_by_nanoarrow(columns))


def _at_hand(values: Any) -> Any:
    """A column of a frame as NumPy sees it only where Arrow cannot take it; a range and the like as a list."""
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__") or hasattr(values, "__array__"):
        return values
    return list(values)


def _arrow_array(pyarrow: Any, values: Any) -> Any:
    if isinstance(values, (pyarrow.Array, pyarrow.ChunkedArray)):
        return values
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(values, (pandas.Series, pandas.Index)):
        return pyarrow.array(values, from_pandas=True)
    if hasattr(values, "__arrow_c_stream__"):
        return pyarrow.chunked_array(values)
    if hasattr(values, "__arrow_c_array__"):
        return pyarrow.array(values)
    if hasattr(values, "__array__"):
        numpy = sys.modules["numpy"] if "numpy" in sys.modules else optional("numpy")
        return pyarrow.array(numpy.asarray(values)) if numpy is not None else pyarrow.array(list(values))
    return pyarrow.array(values)


def _by_nanoarrow(columns: dict[str, Any]) -> Any:
    """A struct array of columns of numbers, strings, booleans, timestamps and dates."""
    import nanoarrow
    from nanoarrow.c_array import c_array, c_array_from_buffers

    arrays: list[Any] = []
    length = 0
    for name, values in columns.items():
        try:
            array = _nanoarrow_array(nanoarrow, c_array, values)
        except UNCONVERTED as error:
            raise _not_arrow(error, name) from error
        length = array.length
        arrays.append(array)
    schema = nanoarrow.struct({name: array.schema for name, array in zip(columns, arrays)})
    return c_array_from_buffers(schema, length, [None], 0, children=arrays)


def _nanoarrow_array(nanoarrow: Any, c_array: Any, values: Any) -> Any:
    if hasattr(values, "__arrow_c_array__"):
        return c_array(values)
    numpy = optional("numpy")
    if numpy is not None and hasattr(values, "__array__"):
        array = numpy.ascontiguousarray(numpy.asarray(values))
        if array.dtype.kind in "mM":
            unit = numpy.datetime_data(array.dtype)[0]
            if unit not in ("s", "ms", "us", "ns"):
                array, unit = array.astype(f"{array.dtype.kind}8[us]"), "us"
            kind = nanoarrow.timestamp(unit) if array.dtype.kind == "M" else nanoarrow.duration(unit)
            missing = numpy.isnat(array)
            numbers = array.view("i8")
            if missing.any():
                return c_array([None if m else int(n) for m, n in zip(missing, numbers)], kind)
            return c_array(numbers.tolist(), kind)
        if array.dtype.kind in "iuf" and array.dtype.isnative:
            return c_array(array)
        values = array.tolist()
    values = [None if value != value else value for value in values]
    found = {type(value) for value in values if value is not None}
    if not found:
        return c_array(values, nanoarrow.null()) if not values else c_array([None] * len(values), nanoarrow.string())
    if found == {bool}:
        return c_array(values, nanoarrow.bool_())
    if found == {int}:
        return c_array(values, nanoarrow.int64())
    if found <= {int, float}:
        return c_array([None if v is None else float(v) for v in values], nanoarrow.float64())
    if found == {str}:
        return c_array(values, nanoarrow.string())
    if found == {bytes}:
        return c_array(values, nanoarrow.binary())
    raise TypeError(f"values of type {', '.join(sorted(t.__name__ for t in found))} need pyarrow or Polars")
