"""Runs public corpora on Onrush and counts right, decided, wrong and refused answers: `cargo xtask corpus`.

    .venv/bin/python tests/corpus/run.py --data FOLDER [--only NAME] [--seconds LIMIT] [--list FILE]

FOLDER holds clones of the corpora, each under the name of its repository. Exit status 1 if an answer is wrong.
"""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "sql"))

import corpus as sql
import files

# The words of `tests/sql/corpus.py` in the table's: a table that cannot be loaded is refused, a lost engine is wrong.
WORDS = {"table": "refused", "lost": "wrong"}
COLUMNS = ("right", "decided", "wrong", "refused", "unchecked")
# (repository, folder of the files, public address)
QUERIES = {
    "duckdb": ("test/sql", "https://github.com/duckdb/duckdb"),
    "datafusion": ("", "https://github.com/apache/datafusion"),
    "sqllogictest": ("test", "https://github.com/gregrahn/sqllogictest"),
}
# What DuckDB's files test there is DuckDB's own: storage, transactions, settings, and the shell's completion.
LEFT_OUT = re.compile(
    r"/test/sql/(storage|transactions|attach|pg_catalog|settings|pragma|secrets|logging|constraints|export|copy|"
    r"trigger|copy_database|extensions|outofcore|parallelism|explain|show_select|detailed_profiler|"
    r"function/autocomplete)/"
)


def decided():
    return tomllib.loads((HERE / "decided.toml").read_text())


def of_file(corpus, file, rules):
    return any(rule["corpus"] == corpus and rule["file"] == file for rule in rules.get("file", []))


def of_query(query, ours, expected, rules):
    def matches(rule):
        found = re.search(rule.get("sql", ""), query, re.I | re.S) and re.search(rule.get("ours", ""), ours)
        return found and re.search(rule.get("expected", ""), expected)

    return any(map(matches, rules.get("query", [])))


def feature(message):
    """The class of a refusal: its code, and the message without the names and numbers of one query."""
    code, _, text = message.partition(": ")
    if code == "unknown-function":
        return f"{code}: {text.lower()}"
    text = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "…", text)
    text = re.sub(r"(?<![A-Za-z])-?\d[\d.]*", "n", ": ".join(text.split(": ")[:2]).split("\n")[0])
    return f"{code}: {text}"[:110]


class Tally:
    """The counts of one corpus, its refusals by feature, and the list of answers that are not right."""

    def __init__(self, name, out):
        self.name, self.out = name, out
        self.counts, self.refusals, self.note = Counter(), Counter(), ""

    def add(self, word, what, detail, query=""):
        self.counts[word] += 1
        if word == "refused":
            self.refusals[feature(detail)] += 1
        if word == "wrong":
            print(f"wrong: {self.name}: {what}: {' '.join(query.split())[:300]}\n    {detail[:300]}", flush=True)
        if self.out and word != "right":
            print(json.dumps([self.name, word, what, query, detail]), file=self.out, flush=True)


def run_files(name, folder, binary, tally, rules):
    with tempfile.TemporaryDirectory(prefix="onrush-corpus-") as work:
        for word, detail, file in files.CORPORA[name][2](binary, folder, Path(work)):
            if word == "wrong" and of_file(name, file, rules):
                word = "decided"
            tally.add(word, file, detail)


def run_queries(name, folder, part, oracle, engine, seconds, tally, rules):
    def report(word, path, query, detail, expected):
        word = WORDS.get(word, word)
        if word == "refused" and detail.startswith("internal: "):
            word = "wrong"
        if word == "wrong":
            word = "decided" if of_query(query, detail, repr(expected), rules) else word
            detail = f"{detail}, expected {expected!r}"
        tally.add(word, os.path.relpath(path, folder), detail, query)

    below = folder / (part or QUERIES[name][0])
    # DuckDB writes files of some statements to the current folder.
    home = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="onrush-corpus-") as work:
        os.chdir(work)
        try:
            asked = sql.Engine(oracle, engine)
            begun, found = sql.run(below, asked, report, seconds=seconds, leave_out=LEFT_OUT)
        finally:
            os.chdir(home)
    if begun < found:
        tally.note = f"{begun} of {found} files in {seconds:.0f} s"


def table(tallies):
    print(f"\n{'corpus':<18}{'total':>8}" + "".join(f"{word:>11}" for word in COLUMNS))
    for tally in tallies:
        counts = "".join(f"{tally.counts[word]:>11,}" for word in COLUMNS)
        print(f"{tally.name:<18}{tally.counts.total():>8,}{counts}  {tally.note}".rstrip())
    for tally in tallies:
        if tally.refusals:
            print(f"\nrefused of {tally.name}, by feature:")
        for what, count in tally.refusals.most_common(40):
            print(f"{count:>7}  {what}")
        rest = list(tally.refusals.values())
        if len(rest) > 40:
            print(f"{tally.counts['refused'] - sum(sorted(rest)[-40:]):>7}  {len(rest) - 40} rarer features")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--data", type=Path, default=os.environ.get("ONRUSH_CORPORA"))
    arguments.add_argument("--only", help="one corpus, or a part of one: duckdb/test/sql/window")
    arguments.add_argument("--seconds", type=float, default=600, help="limit for each corpus of queries")
    arguments.add_argument("--engine", default="cpu")
    arguments.add_argument("--list", type=Path, help="each answer that is not right, a JSON list for each line")
    arguments.add_argument("--onrush", default=os.environ.get("ONRUSH_BIN") or shutil.which("onrush"))
    arguments.add_argument("--oracle", default=os.environ.get("ONRUSH_ORACLE") or shutil.which("onrush-oracle"))
    given = arguments.parse_args()
    if given.data is None:
        arguments.error("name the folder of the corpora with --data or ONRUSH_CORPORA")
    data, rules = Path(given.data).absolute(), decided()
    out = given.list.open("w") if given.list else None
    addresses = {name: entry[0] for name, entry in files.CORPORA.items()} | {n: e[1] for n, e in QUERIES.items()}
    only, _, part = (given.only or "").partition("/")
    if only and only not in addresses:
        arguments.error(f"unknown corpus {only}: expected one of {', '.join(addresses)}")
    tallies = []
    for name, address in addresses.items():
        if only and name != only:
            continue
        folder = data / name
        if not folder.is_dir():
            print(f"{name} is not below {data}: git clone --depth 1 {address} {folder}")
            continue
        tallies.append(Tally(name, out))
        print(f"{name} ...", flush=True)
        if name in files.CORPORA:
            run_files(name, folder, given.onrush, tallies[-1], rules)
        else:
            run_queries(name, folder, part, given.oracle, given.engine, given.seconds, tallies[-1], rules)
    table(tallies)
    sys.exit(1 if not tallies or any(tally.counts["wrong"] for tally in tallies) else 0)


if __name__ == "__main__":
    main()
