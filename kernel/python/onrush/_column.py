"""A column of a frame, as NumPy, DLPack and CUDA libraries take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _values
from ._device import DeviceColumn, device_column_again
from ._errors import OnrushError, needed
from ._layout import Unreadable

if TYPE_CHECKING:
    from ._frame import Frame

#: Rows that a frame or a column shows of itself.
SHOWN = 10


class Column:
    """A column of a frame.

    `numpy.asarray(column)` shares memory, read-only, if the column has numbers, timestamps or durations and no nulls.
    Otherwise it is a copy: Arrow packs booleans in bits, counts dates in 32 bits, and has no strings that NumPy could
    read in place. Nulls become NaN (integers then become `float64`), NaT, or None.

    DLPack exports numbers without nulls, read-only. `__cuda_array_interface__` is there if the session has the column
    on a GPU, and if the frame's name still stands for this frame.
    """

    def __init__(self, frame: Frame, position: int) -> None:
        self._frame = frame
        self._position = position
        self._on_device: DeviceColumn | None = None

    @property
    def name(self) -> str:
        return self._frame.columns[self._position]

    @property
    def type(self) -> str:
        """The Arrow type."""
        return list(self._frame.schema.values())[self._position]

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def null_count(self) -> int:
        try:
            return sum(chunk.null_count for chunk in self._chunks())
        except Unreadable:
            return self._pyarrow().null_count

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        try:
            schema, chunks = self._frame._chunks()[0].child(self._position), self._chunks()
        except Unreadable:
            return self._pyarrow().__arrow_c_stream__()
        from nanoarrow.c_array_stream import CArrayStream

        return CArrayStream.from_c_arrays(chunks, schema, move=False, validate=False).__arrow_c_stream__()

    def __arrow_c_schema__(self) -> Any:
        try:
            return self._frame._chunks()[0].child(self._position).__arrow_c_schema__()
        except Unreadable:
            return self._pyarrow().type.__arrow_c_schema__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        numpy = needed("numpy", "an array")
        array = self._view()
        if array is None:
            if copy is False:
                raise ValueError(f"the column {self.name!r} of type {self.type} cannot be a NumPy array without a copy")
            array = self._copied(numpy)
        elif copy:
            array = array.copy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"{array.dtype} cannot be {dtype} without a copy")
            array = array.astype(dtype)
        return array

    def to_numpy(self) -> Any:
        """`numpy.asarray` of it."""
        return needed("numpy", "to_numpy").asarray(self)

    def to_pylist(self) -> list[Any]:
        """The values as Python objects, with None for null.

        Timestamps and durations with nanoseconds are those of pandas. Times of day are cut to microseconds.

        # Errors
        `OnrushError` if the values need a package that is not installed, or if Python has no objects for them.
        """
        return self.head(len(self))

    @property
    def __array_interface__(self) -> dict[str, Any]:
        array = self._view()
        if array is None:
            raise AttributeError(
                f"the column {self.name!r} of type {self.type} has no memory that NumPy can read in place"
            )
        return dict(array.__array_interface__)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of DLPack 1.x, marked read-only.

        # Errors
        `BufferError` if a value is null, if the type is not a number, and for consumers that know no read-only memory.
        """
        if stream is not None:
            raise BufferError("a column on the host has no stream")
        if dl_device not in (None, (1, 0)):
            raise BufferError("the column is on the host: `onrush.get_device` gives columns on a GPU")
        array = self._view() if self._kind() in _values.PLAIN else None
        if array is None:
            why = "has nulls" if self.null_count else f"has the type {self.type}"
            raise BufferError(
                f"the column {self.name!r} {why}, which DLPack cannot describe: `numpy.asarray` makes a copy"
            )
        if copy:
            array = array.copy()
        options = {} if max_version is None else {"max_version": max_version}
        if array.flags.writeable or (max_version is not None and max_version[0] >= 1):
            try:
                return array.__dlpack__(**options)
            except TypeError:
                if array.flags.writeable:
                    return array.__dlpack__()
        raise BufferError("the memory is read-only, which needs DLPack 1 on both sides (NumPy 2.1): ask for a copy")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        # `hasattr` passes every other exception on.
        try:
            column = self._device()
        except OnrushError as error:
            raise AttributeError(f"the column cannot be read on a GPU: {error.message}") from error
        if column is None:
            raise AttributeError("the column is on the host")
        return column.__cuda_array_interface__

    def __repr__(self) -> str:
        shown = ", ".join(fitted(text(value), 40) for value in self._shown(min(SHOWN, len(self))))
        more = ", …" if len(self) > SHOWN else ""
        return f"{self.name}: {self.type} [{shown}{more}] ({len(self):,} rows)"

    def head(self, rows: int) -> list[Any]:
        """The first values as Python objects, as of `to_pylist`."""
        return self._head(rows, shown=False)

    def _shown(self, rows: int) -> list[Any]:
        """The first values, as objects or as strings that stand for them."""
        return self._head(rows, shown=True)

    def _head(self, rows: int, shown: bool) -> list[Any]:
        try:
            chunks = self._chunks()
        except Unreadable:
            return _values.by_pyarrow(self._pyarrow().slice(0, rows), shown)
        values: list[Any] = []
        for chunk in chunks:
            values += _values.python(chunk[0 : max(0, min(chunk.length, rows - len(values)))], shown)
        return values

    def _device(self) -> DeviceColumn | None:
        """The column on the device, if the session has it there and the frame's name still stands for the frame."""
        if self._on_device is None:
            name, origin = self._frame.name, self._frame._origin
            if name is None or origin is None or name.startswith("%"):
                return None
            if self._kind() not in _values.PLAIN or self.null_count:
                return None
            self._on_device = device_column_again(name, self.name, *origin)
        return self._on_device

    def _chunks(self) -> list[Any]:
        return [array.child(self._position) for array in self._frame._chunks()[1]]

    def _pyarrow(self) -> Any:
        return self._frame._pyarrow().column(self._position)

    def _kind(self) -> str:
        try:
            return _values.kind_of(self._frame._chunks()[0].child(self._position))[0]
        except Unreadable:
            return ""

    def _view(self) -> Any:
        """A read-only NumPy array over the same memory, or None if there cannot be one."""
        try:
            chunks = self._chunks()
            kind, numpy_type = _values.kind_of(self._frame._chunks()[0].child(self._position))
        except Unreadable:
            return None
        if numpy_type is None or kind in ("bool", "date32") or len(chunks) > 1 or self.null_count:
            return None
        numpy = needed("numpy", "an array")
        array = numpy.empty(0, numpy_type) if not len(self) else _values.plain(numpy, chunks[0], numpy_type)
        array.flags.writeable = False
        return array

    def _copied(self, numpy: Any) -> Any:
        """A new NumPy array, where memory cannot be shared."""
        try:
            chunks = self._chunks()
            kind, numpy_type = _values.kind_of(self._frame._chunks()[0].child(self._position))
        except Unreadable:
            return self._pyarrow().to_numpy(zero_copy_only=False) if len(self) else numpy.empty(0, object)
        if numpy_type is None:
            values = numpy.empty(len(self), dtype=object)
            values[:] = self.to_pylist()
            return values
        parts = [_values.filled(numpy, chunk, kind, numpy_type) for chunk in chunks if chunk.length]
        if not parts:
            return numpy.empty(0, bool if kind == "bool" else numpy_type)
        return numpy.concatenate(parts) if len(parts) > 1 else parts[0]


def text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:.6g}" if value == value and abs(value) != float("inf") else str(value)
    return str(value)


def fitted(line: str, width: int) -> str:
    line = line.replace("\n", " ")
    return line if len(line) <= width else line[: width - 1] + "…"
