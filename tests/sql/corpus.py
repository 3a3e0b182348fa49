"""Runs another system's SQL files on an engine of Onrush, beside DuckDB, and counts right, wrong and refused answers.

    .venv/bin/python tests/sql/corpus.py FOLDER [--engine cpu] [--only PART] [--show wrong|refused] [--list FILE]

FOLDER holds files of sqllogictest (DuckDB's `test/sql`, DataFusion's, SQLite's). Statements run in DuckDB alone; a query runs in both, over the
tables that DuckDB has then. So no answer of a file is read: DuckDB's own is the right one. A query that DuckDB refuses is left out.
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
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.ipc

SECONDS = 5
# What changes no table and is no query of the language: DuckDB's own settings, catalog and plans.
OWN = re.compile(r"(?is)^\s*(pragma|explain|set|reset|call|show|describe|summarize|checkpoint|attach|detach|use|export|import|load|"
                 r"install|vacuum|analyze|execute|prepare|deallocate|begin|commit|rollback|insert|update|delete|merge|create|drop|alter|copy)\b")
CATALOG = re.compile(r"(?i)duckdb_|pragma_|pg_catalog|information_schema|sqlite_master|current_setting|test_all_types|test_vector_types|"
                     r"nextval|currval|getvariable|current_query|txid|current_schema|current_database|read_blob|__TEST_DIR__|'data/|stats\(|"
                     r"'\{DATA_DIR|random\(|uuid\(|now\(\)|current_date|current_timestamp|get_current|today\(|rowid|getenv|sniff_csv|glob\(")


class Engine:
    """A process of `onrush-oracle queries`, started anew after it took too long."""

    def __init__(self, binary, name):
        self.command = [binary, "queries", "--engine", name]
        self.process = None

    def ask(self, **request):
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
            self.fresh = True
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

    def lost(self, why):
        self.process.kill()
        self.process.wait()
        self.process = None
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
        return ("s", [(str(k), plain(v)) for k, v in value.items()])
    return str(value)


UNITS = {"year": 360 * 86400, "mon": 30 * 86400, "day": 86400, "hour": 3600, "min": 60, "sec": 1}


def ours(value):
    if value is None or isinstance(value, (bool, str)):
        if isinstance(value, str) and re.fullmatch(r"(-?[\d.]+ (year|mon|day|hour|min|sec)s?\s*)+", value):
            total = sum(decimal.Decimal(n) * UNITS[u] for n, u in re.findall(r"(-?[\d.]+) (year|mon|day|hour|min|sec)s?", value))
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


def same(a, b):
    if number(a) and number(b):
        if a[0] == b[0] == "n":
            return a[1] == b[1]
        x, y = float(a[1]), float(b[1])
        return x == y or (math.isnan(x) and math.isnan(y)) or abs(x - y) <= max(1e-12, 1e-6 * max(abs(x), abs(y)))
    if isinstance(a, tuple) and isinstance(b, tuple):
        if a[0] != b[0]:
            # A map is a list of entries here.
            if a[0] == "s" and b[0] == "l":
                entries = [e[1] for e in b[1] if isinstance(e, tuple) and e[0] == "s"]
                return len(entries) == len(a[1]) and all(same(v, e[1][1]) for (_, v), e in zip(a[1], entries))
            return {a[0], b[0]} == {"p", "t"} and str(a[1]) == str(b[1])
        if a[0] == "l":
            return len(a[1]) == len(b[1]) and all(map(same, a[1], b[1]))
        if a[0] == "s":
            return len(a[1]) == len(b[1]) and all(same(x[1], y[1]) for x, y in zip(a[1], b[1]))
        return a[1] == b[1]
    if isinstance(a, tuple) and a[0] == "s" and isinstance(b, str):
        # A map.
        return re.sub(r"[' ]", "", b) == re.sub(r"[' ]", "", "{" + ", ".join(f"{k}: {v[1] if isinstance(v, tuple) else v}" for k, v in a[1]) + "}")
    if isinstance(a, tuple) != isinstance(b, tuple):
        # Types that only one has, such as UUID and enumerations, are compared as strings.
        text = a if isinstance(a, str) else b if isinstance(b, str) else None
        other = b if text is a else a
        return text is not None and other is not None and other[0] in ("p", "b", "n", "f") and str(other[1]).replace("T", " ") == text.replace("T", " ")
    return a == b


def key(row):
    def flat(v):
        if isinstance(v, tuple):
            if v[0] in ("n", "f"):
                f = float(v[1])
                return "n" + ("nan" if math.isnan(f) else f"{f:.6g}")
            return v[0] + str(v[1])
        return repr(v)

    return [flat(v) for v in row]


def compare(expected, answer):
    right = [[plain(v) for v in row] for row in expected]
    got = [[ours(v) for v in row] for row in answer["rows"]]
    if len(right) != len(got) or any(len(a) != len(b) for a, b in zip(right, got)):
        return False
    if all(all(map(same, a, b)) for a, b in zip(right, got)):
        return True
    return all(all(map(same, a, b)) for a, b in zip(sorted(right, key=key), sorted(got, key=key)))


class File:
    def __init__(self, engine, counts, shown):
        self.engine, self.counts, self.shown = engine, counts, shown

    def run(self, path):
        base = duckdb.connect()
        base.execute("set threads to 1")
        base.execute("set timezone to 'UTC'")
        self.sent = {}
        for kind, words, sql in records(path.read_text(errors="replace")):
            if kind == "statement":
                try:
                    base.execute(sql)
                    self.sent.clear()
                except Exception:
                    pass
                if words[:1] == ["ok"] and re.match(r"(?i)\s*(select|from|with|values)\b", sql):
                    self.query(base, path, sql)
            else:
                self.query(base, path, sql)
        base.close()

    def query(self, base, path, sql):
        if not sql:
            return
        if OWN.match(sql) or CATALOG.search(sql):
            try:
                base.execute(sql)
                self.sent.clear()
            except Exception:
                pass
            return
        try:
            signal.alarm(SECONDS)
            expected = base.execute(sql).fetchmany(20_000)
        except Exception:
            return
        finally:
            signal.alarm(0)
        if len(expected) >= 20_000:
            return
        outcome, why = self.answer(base, sql, expected)
        self.counts[outcome] += 1
        self.shown.append((outcome, str(path), sql, why, expected[:5]))

    def answer(self, base, sql, expected):
        names = [n for (n,) in base.execute("select table_name from information_schema.tables").fetchall()]
        for name in names:
            if not re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", sql):
                continue
            if self.engine.process is not None and self.sent.get(name):
                continue
            try:
                table = base.execute(f'select * from "{name}"').to_arrow_table()
            except Exception as error:
                return "table", str(error)
            with tempfile.NamedTemporaryFile(suffix=".arrow") as file:
                with pa.ipc.new_file(file.name, table.schema) as writer:
                    writer.write_table(table)
                loaded = self.engine.ask(load=name, path=file.name)
            if "error" in loaded:
                return "table", loaded["error"]
            self.sent[name] = True
        answer = self.engine.ask(query=sql)
        if "error" in answer:
            self.sent.clear() if answer["code"] == "lost" else None
            return ("lost" if answer["code"] == "lost" else "refused"), f"{answer['code']}: {answer['error']}"
        try:
            if compare(expected, answer):
                return "right", ""
        except Exception as error:
            return "wrong", f"not compared: {error}"
        return "wrong", json.dumps(answer["rows"][:5])


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--engine", default="cpu")
    arguments.add_argument("--binary", default=os.environ.get("ONRUSH_ORACLE", "target/debug/onrush-oracle"))
    arguments.add_argument("--only", default="")
    arguments.add_argument("--list", type=Path)
    given = arguments.parse_args()
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    engine = Engine(given.binary, given.engine)
    counts, shown = collections.Counter(), []
    paths = sorted(p for s in ("*.test", "*.test_slow", "*.slt") for p in given.folder.rglob(s) if re.search(given.only, str(p)))
    out = given.list.open("w") if given.list else None
    for path in paths:
        try:
            File(engine, counts, shown).run(path)
        except Exception as error:
            print(f"{path}: {error}", file=sys.stderr)
        for line in shown:
            if out and line[0] != "right":
                print(json.dumps([*line[:4], repr(line[4])]), file=out, flush=True)
        shown.clear()
    print(dict(counts))


if __name__ == "__main__":
    main()
