"""Frames of the session in this process: sealed memory, mapped read-only, by the Arrow C interface.

The capsules of the Arrow C interface are made by nanoarrow. Types that nanoarrow cannot read go through pyarrow.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Any

from ._column import SHOWN, Column, fitted, text
from ._errors import OnrushError, needed, optional
from ._layout import Assembly, Memory, Unreadable, read_schema


class Frame:
    """An immutable table of the session.

    Its memory is the session's, mapped read-only: whoever takes it by the Arrow PyCapsule interface (Polars, pyarrow,
    pandas, DuckDB) sees the same addresses. The memory is freed when the last one who uses it is gone, and stays
    readable after the session has ended.
    """

    def __init__(
        self,
        memory: Memory,
        layout: dict[str, Any],
        rows: int,
        name: str | None = None,
        origin: tuple[int, int] | None = None,
    ) -> None:
        self._memory = memory
        self._layout = layout
        self._rows = rows
        self._arrays: tuple[Any, list[Any]] | None = None
        self._table: Any = None
        #: The name it was asked for, or None if it is the answer of a query.
        self.name = name
        #: The number that the session gave to the object, and the process number of the session.
        self._origin = origin

    def __len__(self) -> int:
        return self._rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._rows, len(self.columns)

    @property
    def nbytes(self) -> int:
        """Bytes of the memory that is shared with the session."""
        return len(self._memory)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema)

    @property
    def schema(self) -> dict[str, str]:
        """Names and Arrow types of the columns, in order."""
        try:
            schema = self._chunks()[0]
        except Unreadable:
            return {field.name: str(field.type) for field in self._pyarrow().schema}
        return {field.name: field._to_string(recursive=True) for field in schema.children}

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows by the Arrow C stream interface, without a copy. No other schema than the own is given."""
        return self._stream().__arrow_c_stream__()

    def __arrow_c_schema__(self) -> Any:
        try:
            return self._chunks()[0].__arrow_c_schema__()
        except Unreadable:
            return self._pyarrow().schema.__arrow_c_schema__()

    def to_pyarrow(self) -> Any:
        """A `pyarrow.Table` over the same memory."""
        return needed("pyarrow", "to_pyarrow").table(self)

    def to_polars(self) -> Any:
        """A `polars.DataFrame`. Numbers share memory with the session; strings get Polars' layout."""
        polars = needed("polars", "to_polars")
        try:
            return polars.DataFrame(self)
        except BaseException as error:
            # Polars panics at types that it does not know, such as decimals of 256 bits.
            if type(error).__name__ != "PanicException":
                raise
            raise OnrushError(
                "Polars cannot take a column of this frame", notes=[str(error)], code="not-polars"
            ) from None

    def to_pandas(self, **options: Any) -> Any:
        """A `pandas.DataFrame`, by `pyarrow.Table.to_pandas(**options)`. pandas copies what it can write to.

        Without pyarrow every column is made from its NumPy array.
        """
        pandas = needed("pandas", "to_pandas")
        if optional("pyarrow") is not None:
            return self.to_pyarrow().to_pandas(**options)
        numpy = needed("numpy", "to_pandas")
        data = {i: numpy.array(self._column(i)) for i in range(len(self.columns))}
        frame = pandas.DataFrame(data, **options)
        frame.columns = self.columns
        return frame

    def __getitem__(self, name: str) -> Column:
        columns = self.columns
        if not isinstance(name, str):
            raise TypeError(f"a column is named by a string, not by {type(name).__name__}")
        if name not in columns:
            raise KeyError(f"there is no column {name!r}; the columns are {', '.join(columns)}")
        return self._column(columns.index(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __repr__(self) -> str:
        rows, names = self._head(), self.columns
        table = [names, list(self.schema.values())] + [[text(value) for value in row] for row in rows]
        widths = [min(32, max(len(line[i]) for line in table)) for i in range(len(names))]
        lines = [
            "  ".join(fitted(line[i], widths[i]).ljust(widths[i]) for i in range(len(names))).rstrip() for line in table
        ]
        return "\n".join([*lines, self._size()])

    def _repr_html_(self) -> str:
        head = "".join(
            f"<th>{html.escape(name)}<br><small>{html.escape(kind)}</small></th>" for name, kind in self.schema.items()
        )
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(fitted(text(value), 200))}</td>" for value in row) + "</tr>"
            for row in self._head()
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<small>{html.escape(self._size())}</small>"

    def _size(self) -> str:
        rows, columns = self.shape
        of = f" of `{self.name}`" if self.name else ""
        return f"{rows:,} row{'s' * (rows != 1)}{of}, {columns} column{'s' * (columns != 1)}"

    def _head(self) -> list[Sequence[Any]]:
        """The first rows, as Python values."""
        wanted = min(SHOWN, self._rows)
        columns = [self._column(i)._shown(wanted) for i in range(len(self.columns))]
        return [[column[row] for column in columns] for row in range(wanted)]

    def _column(self, position: int) -> Column:
        return Column(self, position)

    def _stream(self) -> Any:
        try:
            schema, arrays = self._chunks()
        except Unreadable:
            return self._pyarrow()
        from nanoarrow.c_array_stream import CArrayStream

        return CArrayStream.from_c_arrays(arrays, schema, move=False, validate=False)

    def _chunks(self) -> tuple[Any, list[Any]]:
        """The schema and the batches as nanoarrow has them."""
        if self._arrays is None:
            schema = read_schema(self._layout)
            if self._layout.get("dictionaries"):
                raise Unreadable("a dictionary is another message of the file")
            batches = self._layout["batches"]
            self._arrays = schema, [Assembly(self._memory, batch).batch(schema) for batch in batches]
        return self._arrays

    def _pyarrow(self) -> Any:
        """The table as pyarrow reads it, for types that nanoarrow cannot read."""
        if self._table is None:
            pyarrow = needed("pyarrow", "this type of column")
            reader = pyarrow.ipc.open_file(pyarrow.py_buffer(self._memory.view))
            table = reader.read_all()
            wanted = self._layout.get("columns")
            self._table = table if wanted is None else table.select(wanted)
        return self._table
