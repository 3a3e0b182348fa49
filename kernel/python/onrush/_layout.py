"""Sealed memory of the session, and the Arrow arrays in it.

A frame is an Arrow IPC file in a memfd. The session says where the buffers lie, so that nothing of the file is parsed
here but its schema, which nanoarrow reads.
"""

from __future__ import annotations

import base64
import fcntl
import io
import mmap
import os
from typing import Any

from ._errors import OnrushError, optional

#: Linux' numbers, which Python does not name everywhere.
F_GET_SEALS = 1034
F_SEAL_SHRINK, F_SEAL_WRITE = 0x2, 0x8


class Unreadable(Exception):
    """A type that nanoarrow cannot read. pyarrow may."""


class Memory:
    """A sealed memfd, mapped read-only."""

    def __init__(self, descriptor: int) -> None:
        try:
            seals = fcntl.fcntl(descriptor, F_GET_SEALS)
            if seals & (F_SEAL_SHRINK | F_SEAL_WRITE) != F_SEAL_SHRINK | F_SEAL_WRITE:
                raise OnrushError(
                    "the session's memory is not sealed: it could change while it is read", code="not-sealed"
                )
            length = os.fstat(descriptor).st_size
            # The map keeps no second descriptor where Python can do without.
            try:
                self._map = mmap.mmap(descriptor, length, mmap.MAP_SHARED, mmap.PROT_READ, trackfd=False)  # type: ignore
            except TypeError:
                self._map = mmap.mmap(descriptor, length, mmap.MAP_SHARED, mmap.PROT_READ)
        finally:
            os.close(descriptor)
        self.view = memoryview(self._map)

    def __len__(self) -> int:
        return len(self.view)


def read_schema(layout: dict[str, Any]) -> Any:
    """The schema of a layout, by nanoarrow."""
    ipc = optional("nanoarrow.ipc")
    if ipc is None:
        raise Unreadable("nanoarrow is not installed")
    message = base64.b64decode(layout["schema"])
    try:
        from nanoarrow.c_array_stream import c_array_stream

        return c_array_stream(ipc.InputStream.from_readable(io.BytesIO(message))).get_schema()
    except Exception as error:
        raise Unreadable(str(error)) from error


class Assembly:
    """Puts the arrays of a batch together from its nodes and buffers, in the order of the message.

    https://arrow.apache.org/docs/format/Columnar.html#recordbatch-message
    """

    #: Buffers of an array by its type, of those that do not have two.
    BUFFERS = {
        "na": 0,
        "string": 3,
        "large_string": 3,
        "binary": 3,
        "large_binary": 3,
        "struct": 1,
        "fixed_size_list": 1,
        "sparse_union": 1,
        "dense_union": 2,
    }
    NO_VALIDITY = ("na", "sparse_union", "dense_union")

    def __init__(self, memory: Memory, batch: dict[str, Any]) -> None:
        self._memory = memory.view
        self._rows = int(batch["rows"])
        self._nodes = iter(batch["nodes"])
        self._buffers = iter(batch["buffers"])

    def batch(self, schema: Any) -> Any:
        """A batch is a struct without nulls, which has no node."""
        return self._array(schema, self._rows, [None], 0)

    def _column(self, schema: Any) -> Any:
        from nanoarrow.c_schema import c_schema_view

        if schema.dictionary is not None:
            raise Unreadable("a dictionary is another message of the file")
        kind = c_schema_view(schema).storage_type
        if kind in ("string_view", "binary_view", "list_view", "large_list_view", "run_end_encoded"):
            raise Unreadable(f"the layout does not describe {kind}")
        length, nulls = next(self._nodes)
        buffers = [self._buffer() for _ in range(self.BUFFERS.get(kind, 2))]
        if not nulls and buffers and kind not in self.NO_VALIDITY:
            buffers[0] = None
        return self._array(schema, length, buffers, 0 if kind in self.NO_VALIDITY[1:] else nulls)

    def _array(self, schema: Any, length: int, buffers: list[Any], nulls: int) -> Any:
        from nanoarrow.c_array import c_array_from_buffers

        children = [self._column(child) for child in schema.children]
        # The session wrote the file: sizes are looked at, values are not read.
        return c_array_from_buffers(schema, length, buffers, nulls, children=children)

    def _buffer(self) -> memoryview | None:
        offset, length = next(self._buffers)
        return self._memory[offset : offset + length] if length else None
