"""Onrush's frames in Python: `onrush.get("late_flights")` in any Python of the user who runs Onrush.

`get`, `sql` and `publish` exchange frames with Rust notebooks through the session, in memory that both share.
`%load_ext onrush` adds the cell magics `%%onrush` and `%%onsql` to a Python notebook. The packages nanoarrow, pyarrow,
Polars, pandas, CuPy and PyTorch are imported when a call needs them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._client import SESSION, FrameInfo
from ._client import Column as ColumnInfo
from ._column import Column
from ._errors import OnrushError
from ._frame import Frame
from ._layout import Memory

if TYPE_CHECKING:
    from ._device import DeviceColumn

__all__ = [
    "Column",
    "Frame",
    "FrameInfo",
    "OnrushError",
    "get",
    "get_device",
    "names",
    "publish",
    "sql",
    "unpublish",
]


def get(name: str, columns: Sequence[str] | None = None) -> Frame:
    """A frame by the name under which it was published, or some of its columns.

    Rows are not copied: the frame is the session's memory, mapped read-only. A plan that has not run yet runs first.

    # Errors
    `OnrushError` if there is no such frame or column, or if its plan fails.
    """
    if isinstance(columns, str):
        raise TypeError("`columns` is a list of names, not a string")
    wanted = None if columns is None else list(columns)
    return _frame({"op": "get", "name": _name(name), "columns": wanted}, name, wanted)


def get_device(name: str, column: str) -> DeviceColumn:
    """A column of numbers in the memory of the GPU where the session has it, for CuPy, PyTorch and Numba.

    # Errors
    `OnrushError` if the session has the column on the host: it has no GPU, or the column is small or has nulls.
    """
    from ._device import device_column

    found = device_column(_name(name), column)
    if found is None:
        raise OnrushError(
            f"the column {column!r} of {name!r} is on the host",
            [f'onrush.get("{name}", ["{column}"])'],
            error_class="plan",
            code="on-host",
        )
    return found


def sql(query: str, name: str | None = None) -> Frame:
    """The answer of a query over published frames, with DuckDB's meaning of SQL.

    With `name` the answer is published under this name too.

    # Errors
    `OnrushError` if the query is wrong or fails.
    """
    if name is not None:
        SESSION.request({"op": "sql", "query": query, "name": _name(name)})
        return get(name)
    return _frame({"op": "sql", "query": query, "name": None}, None, None)


def publish(table: Any, name: str) -> None:
    """Publishes a table under a name: `get("name")` in a Rust notebook is the same rows.

    `table` is a DataFrame of Polars or pandas, a table of pyarrow, a `Frame`, a dict of columns (lists, NumPy arrays,
    Series), or anything with `__arrow_c_stream__`. Its rows are copied once, into sealed memory: a later change of the
    DataFrame does not change the frame. Of a pandas index, named levels become columns.

    # Errors
    `OnrushError` if it is not a table, or if a column has values of several types.
    """
    from ._publish import sealed

    _name(name)
    memory = sealed(table)
    try:
        SESSION.request({"op": "publish", "name": name}, memory)
    finally:
        os.close(memory)


def unpublish(name: str) -> None:
    """Takes a name away. Frames that were got by it stay readable."""
    SESSION.request({"op": "unpublish", "name": _name(name)})


def names() -> dict[str, FrameInfo]:
    """The frames that can be got, by name, with columns and rows."""
    reply, _ = SESSION.request({"op": "names"})
    return {
        entry["name"]: FrameInfo(
            entry["name"],
            [ColumnInfo(column["name"], column["type"]) for column in entry.get("columns") or []],
            entry.get("rows"),
            bool(entry.get("published", True)),
        )
        for entry in reply.get("names") or []
    }


def _name(name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"a frame is named by a string, not by {type(name).__name__}")
    return name


def _frame(request: dict[str, Any], name: str | None, columns: Sequence[str] | None) -> Frame:
    with SESSION.lock:
        reply, descriptor = SESSION.request(request)
        session = SESSION.hello.get("pid")
    if descriptor is None:
        raise OnrushError("the session sent no memory with its answer", error_class="internal", code="reply")
    layout = dict(reply["layout"], columns=columns)
    number = reply.get("id")
    origin = (number, session) if isinstance(number, int) and isinstance(session, int) else None
    return Frame(Memory(descriptor), layout, int(reply["rows"]), name, origin)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        try:
            return metadata.version("onrush-kernel")
        except metadata.PackageNotFoundError:
            return "0"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext onrush`: the magics `%%onrush`, `%%onsql` and `%onrush_restart`."""
    from ._magic import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    from ._magic import unload

    unload(shell)
