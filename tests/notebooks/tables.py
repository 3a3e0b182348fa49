"""Reads the text/plain form of a table back, and compares it with rows from another system."""

import datetime
import math
import re
from dataclasses import dataclass


@dataclass
class Table:
    rows: int
    columns: int
    names: list[str]
    types: list[str]
    # As text; a row of None stands where the table was cut.
    cells: list[list[str] | None]


def parse(text: str) -> Table:
    """The size is the first line; then a box with names, types and cells."""
    lines = text.strip("\n").splitlines()
    size = re.match(r"([\d_]+) rows? × ([\d_]+) columns?", lines[0])
    assert size, f"not a table: {lines[0]!r}"

    def split(line: str) -> list[str]:
        return [cell.strip() for cell in re.split("[│┆]", line.strip())[1:-1]]

    body = [line for line in lines[1:] if line.startswith("│")]
    names, types = split(body[0]), split(body[1])
    cells = [split(line) for line in body[2:]]
    cut = [None if all(cell == "…" for cell in row) else row for row in cells]
    number = [int(part.replace("_", "")) for part in size.groups()]
    return Table(number[0], number[1], names, types, cut)


def equal(shown: str, expected) -> bool:
    """Whether a shown cell is this value, as far as its digits go."""
    if expected is None:
        return shown == "null"
    if isinstance(expected, bool):
        return shown == str(expected).lower()
    if isinstance(expected, int):
        return shown == str(expected)
    if isinstance(expected, float):
        return float_equal(shown, expected)
    if isinstance(expected, datetime.datetime):
        return shown.startswith(expected.strftime("%Y-%m-%d %H:%M:%S"))
    expected = str(expected)
    return shown == expected or (shown.endswith("…") and expected.startswith(shown[:-1]))


def float_equal(shown: str, expected: float) -> bool:
    if math.isnan(expected):
        return shown == "NaN"
    try:
        value = float(shown)
    except ValueError:
        return False
    mantissa, _, exponent = shown.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(exponent or 0) - digits)
    return abs(value - expected) <= 0.5 * unit * (1 + 1e-6) + 1e-12 * abs(expected)


def assert_same(text: str, names: list[str], rows: list[tuple]) -> None:
    """The table in `text` has these columns, this many rows, and shows these values in this order."""
    table = parse(text)
    assert (table.rows, table.columns) == (len(rows), len(names)), f"{table.rows}×{table.columns}, expected {len(rows)}×{len(names)}\n{text}"
    shown = [name for name in table.names if name != "…"]
    assert shown == [name for name in names if name in shown], f"{table.names} instead of {names}"
    if None in table.cells:
        cut = table.cells.index(None)
        last = len(table.cells) - cut - 1
        expected = rows[:cut] + rows[len(rows) - last :]
        cells = table.cells[:cut] + table.cells[cut + 1 :]
    else:
        expected, cells = rows, table.cells
    assert len(cells) == len(expected), f"{len(cells)} rows are shown, expected {len(expected)}\n{text}"
    for row, wanted in zip(cells, expected):
        for name, cell in zip(table.names, row):
            if name != "…":
                value = wanted[names.index(name)]
                assert equal(cell, value), f"`{name}` is {cell}, and {value!r} in the other system\n{text}"
