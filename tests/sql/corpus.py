"""Runs another system's SQL files on an engine of Onrush, beside DuckDB, and counts right, wrong and refused answers.

    .venv/bin/python tests/sql/corpus.py FOLDER [--engine cpu] [--only PART] [--seconds LIMIT] [--list FILE]

FOLDER holds files of sqllogictest (DuckDB's `test/sql`, DataFusion's, SQLite's). Statements run in DuckDB alone. A
query runs in both, over the tables that DuckDB has then. So no answer of a file is read: DuckDB's own is the right one.
A query that DuckDB refuses is left out. `cargo xtask corpus` runs all corpora so (tests/corpus).
"""

import argparse
import collections
import datetime
import decimal
import json
import math
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute
import pyarrow.ipc

# The connection's own way to an Arrow table, whatever DuckDB says of its cost.
warnings.filterwarnings("ignore", message="Arrow output on a DB-API result")

SECONDS = 5
# Those of other schemas have no name of one word.
TABLES = "select table_name from information_schema.tables where table_schema in ('main', 'temp')"
MOST_ROWS = 20_000
# DuckDB's own statements, settings and plans: they run in DuckDB alone.
OWN = re.compile(
    r"(?is)^\s*(pragma|explain|set|reset|call|show|describe|summarize|checkpoint|attach|detach|use|export|import|load|"
    r"install|vacuum|analyze|execute|prepare|deallocate|begin|commit|rollback|insert|update|delete|merge|create|drop|"
    r"alter|copy)\b"
)
# A common table expression that changes a table.
CHANGES = re.compile(r"(?is)^\s*with\b.*\b(insert\s+into|update\s+\S+\s+set|delete\s+from|merge\s+into)\b")
# DuckDB's catalog, and answers that depend on the time, on chance or on the folder.
CATALOG = re.compile(
    r"(?i)duckdb_|pragma_|pg_catalog|information_schema|sqlite_master|current_setting|test_all_types|test_vector_types|"
    r"nextval|currval|getvariable|current_query|txid|current_schema|current_database|read_blob|__TEST_DIR__|'data/|"
    r"stats\(|'\{DATA_DIR|random\(|uuid\(|now\(\)|current_date|current_timestamp|current_time|get_current|today\(|"
    r"rowid|getenv|sniff_csv|glob\("
)

# Settings of DuckDB that change what a query means: the queries of a file run without them.
MEANING = re.compile(
    r"(?is)^\s*(set|pragma)\s+(session\s+|global\s+|local\s+)?(default_null_order|null_order|default_order|"
    r"default_collation|integer_division|ieee_floating_point_ops|old_implicit_casting|timezone|calendar|"
    r"scalar_subquery_error_on_multiple_rows|order_by_non_integer_literal|preserve_insertion_order|lambda_syntax|"
    r"regex_match_operator_semantics)\b"
)
# Estimates, samples, internal states and addresses differ from run to run or from version to version.
UNSTABLE = re.compile(
    r"(?i)approx_|tablesample|using\s+sample|export_state|reservoir_|\bhash\(|typeof\(|describe|summarize"
)
# Types of DuckDB that an Arrow file does not carry.
NOT_CARRIED = re.compile(r"ENUM|BIT\b|BIGNUM|VARINT|HUGEINT|TIME WITH TIME ZONE|TIMETZ|VARIANT|UNION|GEOMETRY|TIME_NS")


class Engine:
    """A process of `onrush-oracle queries`, started anew after it took too long."""

    def __init__(self, binary, name):
        self.command = [binary, "queries", "--engine", name]
        self.process = None

    def ask(self, **request):
        if self.process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            self.process = subprocess.Popen(self.command, bufsize=0, **pipes)
            self.rest = b""
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            return self.lost("died")
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.rest:
                if not selector.select(SECONDS):
                    return self.lost("took longer than the limit")
                piece = os.read(self.process.stdout.fileno(), 1 << 20)
                if not piece:
                    return self.lost("died")
                self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def lost(self, why):
        self.end()
        return {"error": f"the engine {why}", "code": "lost"}


def records(text):
    """(kind, argument words, SQL) of a file; loops are left out."""
    lines = iter(text.splitlines())
    depth = 0
    for line in lines:
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if words[0] in ("loop", "foreach", "concurrentloop", "concurrentforeach"):
            depth += 1
        elif words[0] == "endloop":
            depth -= 1
        elif words[0] in ("statement", "query"):
            sql = []
            for line in lines:
                if not line.strip() or line.strip() == "----":
                    break
                sql.append(line)
            if line.strip() == "----":
                for line in lines:
                    if not line.strip():
                        break
            if depth == 0:
                yield words[0], words[1:], "\n".join(sql).strip().rstrip(";")


def plain(value):
    """A value of DuckDB in the form that answers of the engine have."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return ("n", decimal.Decimal(value))
    if isinstance(value, float):
        return ("f", value)
    if isinstance(value, decimal.Decimal):
        return ("n", value)
    if isinstance(value, bytes):
        return ("b", value.hex())
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return ("p", value.isoformat())
    if isinstance(value, datetime.date):
        return ("p", value.isoformat())
    if isinstance(value, datetime.time):
        return ("t", ((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond)
    if isinstance(value, datetime.timedelta):
        return ("u", round(value.total_seconds() * 10**6))
    if isinstance(value, (list, tuple)):
        return ("l", [plain(v) for v in value])
    if isinstance(value, dict):
        return ("s", [(k if isinstance(k, str) else plain(k), plain(v)) for k, v in value.items()])
    return str(value)


UNITS = {"year": 360 * 86400, "mon": 30 * 86400, "day": 86400, "hour": 3600, "min": 60, "sec": 1}


def ours(value):
    if value is None or isinstance(value, (bool, str)):
        part = r"(-?[\d.]+) (year|mon|day|hour|min|sec)s?\s*"
        if isinstance(value, str) and re.fullmatch(f"({part})+", value):
            total = sum(decimal.Decimal(n) * UNITS[u] for n, u in re.findall(part, value))
            return ("u", int(total * 10**6))
        return value
    (kind, inner), = value.items()
    if kind in "id":
        return ("n", decimal.Decimal(inner))
    if kind == "f":
        return ("f", float(inner.replace("inf", "inf")))
    if kind == "p":
        inner = inner.rstrip("Z")
        # Python writes fractions with six digits.
        if "." in inner:
            head, part = inner.split(".")
            inner = head + "." + part[:6].ljust(6, "0")
        return ("p", inner)
    if kind == "t":
        return ("t", inner // 1000)
    if kind == "u":
        return ("u", int(inner) // 1000)
    if kind == "l":
        items = [ours(v) for v in inner]
        return ("l", items)
    if kind == "s":
        return ("s", [(k, ours(v)) for k, v in inner])
    return (kind, inner)


def number(value):
    return isinstance(value, tuple) and value[0] in ("n", "f")


def entries(value):
    """The pairs of a map in DuckDB's form: a dictionary, or lists of keys and values if a key has no hash."""
    if sorted(str(k) for k, _ in value[1]) == ["key", "value"] and all(
        isinstance(v, tuple) and v[0] == "l" for _, v in value[1]
    ):
        pairs = dict(value[1])
        return list(zip(pairs["key"][1], pairs["value"][1]))
    return value[1]


def text(value):
    """A value inside of a map as the engine writes it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, tuple):
        return str(value)
    if value[0] == "l":
        return "[" + ",".join(map(text, value[1])) + "]"
    if value[0] == "s":
        return "{" + ",".join(f"{text(k)}:{text(v)}" for k, v in entries(value)) + "}"
    return str(value[1])


def parts(written):
    """The entries of a map that is written, sorted. Quotes and blanks do not count."""
    written, depth, made = re.sub(r"[' ]", "", written), 0, [""]
    for letter in written[1:-1]:
        depth += (letter in "{[") - (letter in "}]")
        if letter == "," and depth == 0:
            made.append("")
        else:
            made[-1] += letter
    return sorted(made)


def divided(written, mark):
    """The pieces of a string between marks that stand outside of brackets."""
    depth, made = 0, [""]
    at = 0
    while at < len(written):
        depth += (written[at] in "{[") - (written[at] in "}]")
        if depth == 0 and written.startswith(mark, at):
            made.append("")
            at += len(mark)
            continue
        made[-1] += written[at]
        at += 1
    return made


def same_written(value, written):
    """Whether a value inside of a map is what the engine writes. Numbers, times and intervals are compared as such."""
    if isinstance(value, tuple) and value[0] in ("n", "f"):
        try:
            return same(value, ("f", float(written)))
        except ValueError:
            return False
    if isinstance(value, tuple) and value[0] == "u":
        return same(value, ours(written))
    if isinstance(value, tuple) and value[0] == "p":
        return same(value, ours({"p": written}))
    if isinstance(value, tuple) and value[0] == "t":
        try:
            return value == plain(datetime.time.fromisoformat(written))
        except ValueError:
            return False
    return re.sub(r"[' ]", "", written) == re.sub(r"[' ]", "", text(value))


def same_map(value, written):
    """Whether the entries of a map are those that the engine writes, in any order."""
    rest = [divided(entry, ": ") for entry in divided(written[1:-1], ", ")] if written != "{}" else []
    if any(len(entry) != 2 for entry in rest) or len(rest) != len(entries(value)):
        return False
    for k, v in entries(value):
        found = next((e for e in rest if same_written(k, e[0]) and same_written(v, e[1])), None)
        if found is None:
            return False
        rest.remove(found)
    return True


def same(a, b):
    if number(a) and number(b):
        if a[0] == b[0] == "n":
            return a[1] == b[1]
        x, y = float(a[1]), float(b[1])
        return x == y or (math.isnan(x) and math.isnan(y)) or abs(x - y) <= max(1e-12, 1e-6 * max(abs(x), abs(y)))
    if isinstance(a, tuple) and isinstance(b, tuple):
        if a[0] == b[0] == "s":
            # Fields are found by name.
            left, right = dict(a[1]), dict(b[1])
            if len(left) == len(a[1]) and set(left) == set(right):
                return all(same(left[name], right[name]) for name in left)
            return len(a[1]) == len(b[1]) and all(same(x[1], y[1]) for x, y in zip(a[1], b[1]))
        if a[0] == "s" and b[0] == "l":
            # A map is a list of entries here.
            listed = [e[1] for e in b[1] if isinstance(e, tuple) and e[0] == "s"]
            return len(listed) == len(a[1]) and all(same(v, e[1][1]) for (_, v), e in zip(a[1], listed))
        if a[0] == "l" and b[0] == "s":
            # A row without names of fields.
            return len(a[1]) == len(b[1]) and all(same(x, y[1]) for x, y in zip(a[1], b[1]))
        if a[0] != b[0]:
            return {a[0], b[0]} == {"p", "t"} and str(a[1]) == str(b[1])
        if a[0] == "l":
            return len(a[1]) == len(b[1]) and all(map(same, a[1], b[1]))
        return a[1] == b[1]
    if isinstance(a, tuple) and a[0] == "s" and isinstance(b, str):
        # A map, whose entries may come in any order.
        return parts(b) == parts(text(a)) or same_map(a, b)
    if isinstance(a, tuple) != isinstance(b, tuple):
        # Types that only one has, such as UUID and enumerations, are compared as strings.
        word = a if isinstance(a, str) else b if isinstance(b, str) else None
        other = b if word is a else a
        if word is None or other is None or other[0] not in ("p", "b", "n", "f"):
            return False
        return str(other[1]).lstrip("+").replace("T", " ") == word.replace("T", " ")
    return a == b


def midnight(value):
    """A timestamp at midnight as its date, inside of lists too."""
    if isinstance(value, tuple) and value[0] == "p":
        return ("p", value[1].removesuffix("T00:00:00"))
    if isinstance(value, tuple) and value[0] == "l":
        return ("l", [midnight(v) for v in value[1]])
    return value


def key(row):
    def flat(v):
        if isinstance(v, tuple):
            if v[0] in ("n", "f"):
                f = float(v[1])
                return "n" + ("nan" if math.isnan(f) else f"{f:.6g}")
            return v[0] + str(v[1])
        return repr(v)

    return [flat(v) for v in row]


def compare(expected, answer, change=lambda value: value):
    right = [[change(plain(v)) for v in row] for row in expected]
    got = [[change(ours(v)) for v in row] for row in answer["rows"]]
    if len(right) != len(got) or any(len(a) != len(b) for a, b in zip(right, got)):
        return False
    if all(all(map(same, a, b)) for a, b in zip(right, got)):
        return True
    return all(all(map(same, a, b)) for a, b in zip(sorted(right, key=key), sorted(got, key=key)))


def has_infinity(column):
    """Whether a column of dates or timestamps has an infinity of DuckDB: the ends of the range of its integers."""
    if not (pa.types.is_date32(column.type) or pa.types.is_timestamp(column.type)):
        return False
    bits = column.type.bit_width
    ends = pa.compute.min_max(column.cast(pa.int32() if bits == 32 else pa.int64()))
    largest = 2 ** (bits - 1) - 1
    return ends["max"].as_py() == largest or ends["min"].as_py() == -largest


def bounded(base, sql):
    """Runs a statement of DuckDB for at most SECONDS."""
    try:
        signal.alarm(SECONDS)
        return base.execute(sql).fetchmany(MOST_ROWS)
    finally:
        signal.alarm(0)


class File:
    """One file of sqllogictest. `report` gets outcomes: word, path, query, reason, start of DuckDB's answer."""

    def __init__(self, engine, report):
        self.engine, self.report = engine, report

    def run(self, path, until):
        base = duckdb.connect()
        base.execute("set threads to 1")
        base.execute("set memory_limit = '2GB'")
        base.execute("set timezone to 'UTC'")
        # A missing extension is refused at once, and not looked for on the network.
        base.execute("set autoinstall_known_extensions = false")
        self.sent, self.collated = {}, False
        for kind, words, sql in records(path.read_text(errors="replace")):
            if time.monotonic() > until:
                break
            if kind == "statement":
                self.statement(base, sql)
                if words[:1] == ["ok"] and re.match(r"(?i)\s*(select|from|with|values)\b", sql):
                    self.query(base, path, sql)
            else:
                self.query(base, path, sql)
        base.close()

    def statement(self, base, sql):
        if MEANING.match(sql):
            return
        # An Arrow file does not carry the collation of a column.
        self.collated |= re.match(r"(?is)\s*(create|alter)\b.*\bcollate\b", sql) is not None
        try:
            bounded(base, sql)
            self.sent.clear()
        except Exception:
            pass

    def query(self, base, path, sql):
        if not sql:
            return
        if OWN.match(sql) or CHANGES.match(sql) or self.collated or CATALOG.search(sql) or UNSTABLE.search(sql):
            self.statement(base, sql)
            return
        try:
            expected = bounded(base, sql)
        except Exception:
            return
        if len(expected) >= MOST_ROWS:
            return
        self.report(*self.answer(base, sql, expected, path))

    def answer(self, base, sql, expected, path):
        def outcome(word, reason):
            return word, str(path), sql, reason, expected[:5]

        names = [n for (n,) in base.execute(TABLES).fetchall()]
        for name in names:
            if not re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", sql):
                continue
            if self.engine.process is not None and self.sent.get(name):
                continue
            try:
                kinds = base.execute(f'describe "{name}"').fetchall()
                lost = next((kind for _, kind, *_ in kinds if NOT_CARRIED.search(kind)), None)
                if lost:
                    return outcome("table", f"table: an Arrow file does not carry {lost}")
                table = base.execute(f'select * from "{name}"').to_arrow_table()
                if any(map(has_infinity, table.columns)):
                    return outcome("table", "table: an Arrow file does not carry an infinite date")
            except Exception as error:
                return outcome("table", f"table: {error}")
            with tempfile.NamedTemporaryFile(suffix=".arrow") as file:
                with pa.ipc.new_file(file.name, table.schema) as writer:
                    writer.write_table(table)
                loaded = self.engine.ask(load=name, path=file.name)
            if "error" in loaded:
                return outcome("table", f"table: {loaded['error']}")
            self.sent[name] = True
        answer = self.engine.ask(query=sql)
        if "error" in answer:
            lost = answer["code"] == "lost"
            self.sent.clear() if lost else None
            return outcome("lost" if lost else "refused", f"{answer['code']}: {answer['error']}")
        try:
            if compare(expected, answer):
                return outcome("right", "")
            # docs/semantics.md: a date with an interval of days and months is a date, and DuckDB's is a timestamp.
            added = re.search(r"(?i)interval", sql) and not re.search(r"(?i)\b(range|generate_series)\(", sql)
            if added and compare(expected, answer, midnight):
                return outcome("decided", "a date instead of a timestamp")
        except Exception as error:
            return outcome("wrong", f"not compared: {error}")
        return outcome("wrong", json.dumps(answer["rows"][:5]))


def run(folder, engine, report, only="", leave_out=re.compile("$^"), seconds=float("inf")):
    """Runs the files below `folder` whose path has `only`, for at most `seconds`. Gives (files begun, files found)."""
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    until = time.monotonic() + seconds
    suffixes = ("*.test", "*.test_slow", "*.slt")
    paths = sorted(p for s in suffixes for p in folder.rglob(s) if re.search(only, str(p)))
    paths = [path for path in paths if not leave_out.search(str(path))]
    for begun, path in enumerate(paths):
        if time.monotonic() > until:
            return begun, len(paths)
        try:
            # Without the tables of the file before.
            engine.end()
            File(engine, report).run(path, until)
        except Exception as error:
            print(f"{path}: {error}", file=sys.stderr)
    return len(paths), len(paths)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--engine", default="cpu")
    arguments.add_argument("--binary", default=os.environ.get("ONRUSH_ORACLE", "target/debug/onrush-oracle"))
    arguments.add_argument("--only", default="")
    arguments.add_argument("--seconds", type=float, default=float("inf"))
    arguments.add_argument("--list", type=Path)
    given = arguments.parse_args()
    counts = collections.Counter()
    out = given.list.open("w") if given.list else None

    def report(word, path, sql, reason, expected):
        counts[word] += 1
        if out and word != "right":
            print(json.dumps([word, path, sql, reason, repr(expected)]), file=out, flush=True)

    begun, found = run(given.folder, Engine(given.binary, given.engine), report, given.only, seconds=given.seconds)
    print(f"{begun} of {found} files", dict(counts))


if __name__ == "__main__":
    main()
