"""Writes DuckDB's answers into the SQL files beside this one, or checks them with --check.

    .venv/bin/python tests/sql/expect.py [--check] [FILE ...]
    .venv/bin/python tests/sql/expect.py --tables FOLDER tests/tpch/scale-1.slt
    .venv/bin/python tests/sql/expect.py --sql tests/tpcds/tables.sql tests/tpcds/queries.slt

TPC-H's tables come from `onrush-oracle tpch --scale 1 --write FOLDER`.

A query is written with nothing but `query` or `query rowsort` above it; its classes and its rows come from DuckDB. A query under a line
`# differs: REASON` is left as it is: there Onrush departs from DuckDB on purpose (docs/semantics.md). A `query error CODE` must fail in DuckDB,
too; the code is ours. Under a line `# session: UTC` DuckDB's session has that zone, as Onrush's has.
"""

import argparse
import math
import sys
from pathlib import Path

import duckdb
import pyarrow as pa

FOLDER = Path(__file__).resolve().parent
# The zone of all zoned columns: DuckDB takes the parts of a zoned time in the session's zone, Onrush in the column's.
ZONE = "America/New_York"


def unescaped(word: str) -> str:
    if word == "(empty)":
        return ""
    out, rest = [], iter(word)
    for c in rest:
        if c != "\\":
            out.append(c)
            continue
        following = next(rest)
        out.append({"s": " ", "t": "\t", "n": "\n", "\\": "\\"}.get(following, following))
    return "".join(out)


def escaped(text: str) -> str:
    if text in ("", "NULL"):
        return "(empty)" if text == "" else "\\NULL"
    return text.replace("\\", "\\\\").replace(" ", "\\s").replace("\t", "\\t").replace("\n", "\\n")


def sql_type(name: str) -> str:
    if name.startswith("timestamptz"):
        return "timestamptz"
    if name.endswith("]"):
        return sql_type(name[: name.rindex("[")]) + "[]"
    if name.startswith("struct("):
        of = [field.split(":", 1) for field in items(name[6:])]
        return f"struct({', '.join(f'{f} {sql_type(t)}' for f, t in of)})"
    return {"category": "varchar", "duration": "interval"}.get(name, name)


def items(word: str) -> list[str]:
    """Those of `[1,NULL,[2]]`."""
    out, depth = [""], 0
    for c in word[1:-1]:
        depth += (c in "[{(") - (c in "]})")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return out if len(word) > 2 else []


def literal(word: str, name: str) -> str:
    if word == "NULL":
        return f"cast(null as {sql_type(name)})"
    if name.endswith("]") and not name.startswith("timestamptz"):
        of = name[: name.rindex("[")]
        return f"cast([{', '.join(literal(item, of) for item in items(word))}] as {sql_type(name)})"
    if name.startswith("struct("):
        of = [field.split(":", 1) for field in items(name[6:])]
        fields = (f"'{f}': {literal(item, t)}" for (f, t), item in zip(of, items(word), strict=True))
        return f"cast({{{', '.join(fields)}}} as {sql_type(name)})"
    text = unescaped(word).replace("'", "''")
    if name == "duration":
        return f"to_microseconds({text})"
    if name.startswith("timestamptz"):
        return f"timestamptz '{text}+00'"
    return f"cast('{text}' as {sql_type(name)})"


def load(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(f"set timezone = '{ZONE}'")
    name, columns = None, []
    for line in (FOLDER / "tables.txt").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("table "):
            name, columns = line.removeprefix("table ").strip(), []
        elif not columns:
            columns = [word.split(":", 1) for word in line.split()]
            declared = ", ".join(f'"{c}" {sql_type(t)}' for c, t in columns)
            connection.execute(f"create table {name} ({declared})")
        else:
            row = ", ".join(literal(word, t) for word, (_, t) in zip(line.split(), columns, strict=True))
            connection.execute(f"insert into {name} values ({row})")


def letter(name: str) -> str:
    if name.endswith("]") or name.startswith("STRUCT"):
        return "T"
    if name == "BOOLEAN":
        return "B"
    if name in ("FLOAT", "DOUBLE"):
        return "R"
    if name.startswith("DECIMAL"):
        return "D"
    if "INT" in name and name != "INTERVAL":
        return "I"
    if name.startswith(("DATE", "TIME", "INTERVAL")):
        return "P"
    return "?" if name == '"NULL"' else "T"


def time(micros: int) -> str:
    seconds, part = divmod(micros, 1_000_000)
    days, seconds = divmod(seconds, 86_400)
    fraction = f".{part:06}" if part % 1000 else f".{part // 1000:03}" if part else ""
    return f"{day(days)}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


def day(days: int) -> str:
    # Howard Hinnant's civil_from_days: Python's dates end before year 1.
    z = days + 719_468
    era, doe = divmod(z, 146_097)
    yoe = (doe - doe // 1460 + doe // 36_524 - doe // 146_096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = mp + 3 if mp < 10 else mp - 9
    return f"{yoe + era * 400 + (month <= 2):04}-{month:02}-{doy - (153 * mp + 2) // 5 + 1:02}"


def kind_of(t: pa.DataType) -> str:
    name = str(t)
    if "<" in name and not name.startswith("decimal"):
        return "T"
    return "R" if name in ("float", "double") else "D" if name.startswith("decimal") else "I" if "int" in name else "T"


def word(scalar: pa.Scalar, kind: str) -> str:
    if not scalar.is_valid:
        return "NULL"
    t = scalar.type
    if pa.types.is_timestamp(t):
        per_micro = {"s": 1_000_000, "ms": 1_000, "us": 1}.get(t.unit)
        micros = scalar.value * per_micro if per_micro else scalar.value // 1000
        return time(micros) + ("Z" if t.tz else "")
    if pa.types.is_date32(t):
        return day(scalar.value)
    if pa.types.is_duration(t):
        return f"{scalar.value}us"
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return "[" + ",".join(word(item, kind_of(t.value_type)) for item in scalar) + "]"
    if pa.types.is_struct(t):
        fields = (f"{field.name}:{word(scalar[i], kind_of(field.type))}" for i, field in enumerate(t))
        return "{" + ",".join(fields) + "}"
    value = scalar.as_py()
    if pa.types.is_interval(t):
        assert value.months == 0, "months have no length"
        return f"{value.days * 86_400_000_000 + value.nanoseconds // 1000}us"
    if isinstance(value, bool):
        return str(value).lower()
    if kind == "R":
        return "NaN" if math.isnan(value) else repr(float(value))
    if kind in "ID":
        text = f"{value:f}" if kind == "D" or not isinstance(value, int) else str(value)
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text == "-0" else text
    return escaped(str(value))


def answer(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[str, list[str]]:
    relation = connection.sql(query)
    kinds = "".join(letter(str(column[1])) for column in relation.description)
    table = relation.to_arrow_table()
    rows = []
    for index in range(table.num_rows):
        rows.append(" ".join(word(table.column(c)[index], kinds[c]) for c in range(table.num_columns)))
    return kinds, rows


def rewrite(connection: duckdb.DuckDBPyConnection, file: Path) -> tuple[str, list[str]]:
    """The file with DuckDB's answers, and what is wrong with it."""
    out, problems = [], []
    differs = False
    lines = file.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.startswith("query"):
            differs = differs or line.startswith("# differs:")
            if line.startswith("# session:"):
                connection.execute(f"set timezone = '{line.removeprefix('# session:').strip()}'")
            out.append(line)
            continue
        number, query = at, []
        while at < len(lines) and lines[at].strip() not in ("", "----"):
            query.append(lines[at])
            at += 1
        given = []
        if at < len(lines) and lines[at] == "----":
            given.append(lines[at])
            at += 1
            while at < len(lines) and lines[at].strip():
                given.append(lines[at])
                at += 1
        text = "\n".join(query)
        words = line.split()
        if differs:
            out += [line, *query, *given]
        elif words[1:2] == ["error"]:
            try:
                answer(connection, text)
                problems.append(f"{file.name}:{number}: DuckDB answers this\n{text}")
            except duckdb.Error:
                pass
            out += [line, *query]
        else:
            try:
                kinds, rows = answer(connection, text)
            except duckdb.Error as error:
                problems.append(f"{file.name}:{number}: {error}\n{text}")
                kinds, rows = "?", []
            sort = " rowsort" if "rowsort" in words else ""
            # In one order, so that the files do not change from run to run.
            out += [f"query {kinds}{sort}", *query, "----", *(sorted(rows) if sort else rows)]
        differs = False
        connection.execute(f"set timezone = '{ZONE}'")
    return "\n".join(out).rstrip() + "\n", problems


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--tables", type=Path)
    arguments.add_argument("--sql", type=Path)
    arguments.add_argument("files", nargs="*", type=Path)
    arguments = arguments.parse_args()
    connection = duckdb.connect()
    if arguments.sql:
        connection.execute(arguments.sql.read_text(encoding="utf-8"))
    else:
        load(connection)
    for file in sorted(arguments.tables.glob("*.parquet")) if arguments.tables else []:
        connection.execute(f"create view {file.stem} as from read_parquet('{file}')")
    bad = []
    for file in arguments.files or sorted(FOLDER.glob("*.slt")):
        text, problems = rewrite(connection, file)
        bad += problems
        if text != file.read_text(encoding="utf-8"):
            if arguments.check:
                bad.append(f"{file.name}: the answers are not DuckDB's: run tests/sql/expect.py")
            else:
                file.write_text(text, encoding="utf-8")
    print("\n".join(bad), file=sys.stderr)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
