"""Random queries over small awkward tables, on an engine of Onrush and in DuckDB, whose answer is the right one.

    .venv/bin/python tests/sql/random_queries.py [--seed N | --new] [--queries N] [--engine cpu] [--oracle FILE]

The same seed gives the same queries. `--new` takes a seed of the clock, and prints it. A query that DuckDB refuses (an
overflow, say) is left out. Exit status 1 if an answer differs or a query is refused. `test_random_queries.py` runs the
pinned seed.

The tables have nulls, NaN, infinities, both zeros, the ends of 64-bit integers, letters beyond ASCII, no row and one row.
Expressions keep to what both systems define alike: docs/semantics.md has the decided differences.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.ipc

sys.path.insert(0, str(Path(__file__).resolve().parent))
from corpus import Engine, compare  # noqa: E402

SEED = 45
QUERIES = 1500
ORACLE = Path.home() / ".cache/onrush/target/debug/onrush-oracle"

COLUMNS = "id integer, g varchar, s varchar, k integer, j bigint, u uinteger, x double, y double, b boolean, d date"
# Which of them have which kind of values.
KINDS = {
    "int": ["id", "k", "j", "u"],
    "float": ["x", "y"],
    "text": ["g", "s"],
    "bool": ["b"],
    "date": ["d"],
}
ROWS = """
(1, 'a', 'xxaxx', 1, 10, 4, 0.0, 1.5, true, '2024-02-29'),
(2, 'b', '', 2, -9223372036854775807, 0, -0.0, 'nan', false, '1999-12-31'),
(3, 'a', 'Ünï', 1, 9223372036854775807, 4294967295, 'inf', 2.5, null, '2024-02-29'),
(4, null, 'a%b_c', null, 0, 7, '-inf', -2.5, true, null),
(5, 'ä', null, 2, -1, null, 'nan', null, false, '1970-01-01'),
(6, 'b', 'b', 3, 7, 1, 1.5, 0.25, true, '2024-03-31'),
(7, 'a', 'A', 3, 7, 1, null, -0.0, false, '2023-11-05'),
(8, null, '日本', 1, null, 2, -1.5, 1e300, null, '2024-03-31'),
(9, 'c', ' a ', null, 1000000007, 3, 2.5, 'inf', true, '2000-01-01'),
(10, 'b', 'b', 2, 3, 9, 2.5, 2.5, null, null)
"""
TABLES = {
    "a": f"create table a({COLUMNS}); insert into a values {ROWS}",
    "c": "create table c as select id + 4 as id, g, s, k, j % 100 as j, u % 10 as u, y as x, x as y, not b as b, d from a "
    "where id <> 6",
    "one": "create table one as select * from a where id = 6",
    "none": "create table none as select * from a where false",
}


class Random(random.Random):
    """What queries are made of. An expression is a string that stands in brackets where it has an operator."""

    def __init__(self, seed):
        super().__init__(seed)
        self.tables = []

    def one(self, *choices):
        return self.choice(choices)

    def column(self, kind):
        return f"{self.choice(self.tables)}.{self.choice(KINDS[kind])}"

    def literal(self, kind):
        return {
            "int": lambda: str(self.one(0, 1, 2, 3, 7, 10, 100)),
            "float": lambda: self.one("0.0::double", "1.5::double", "'nan'::double", "'inf'::double", "2.5::double"),
            "text": lambda: self.one("'a'", "'b'", "''", "'ä'", "'x'", "'A'"),
            "bool": lambda: self.one("true", "false", "null::boolean"),
            "date": lambda: self.one("date '2024-02-29'", "date '1999-12-31'"),
        }[kind]()

    def expr(self, kind, depth):
        """An expression of a kind of values."""
        if depth <= 0 or self.random() < 0.25:
            return self.column(kind) if self.random() < 0.8 else self.literal(kind)
        any_kind = self.one("int", "float", "text", "bool", "date")
        e = lambda of: self.expr(of, depth - 1)  # noqa: E731
        common = [
            lambda: f"(case when {e('bool')} then {e(kind)} else {e(kind)} end)",
            lambda: f"(case when {e('bool')} then {e(kind)} end)",
            lambda: f"coalesce({e(kind)}, {e(kind)})",
            lambda: f"nullif({e(kind)}, {e(kind)})",
            lambda: f"if({e('bool')}, {e(kind)}, {e(kind)})",
        ]
        own = {
            "int": [
                lambda: f"({self.small(depth)} {self.one('+', '-', '*')} {self.small(depth)})",
                lambda: f"({e('int')} % {self.one(2, 3, 7)})",
                lambda: f"length({e('text')})",
                lambda: f"strpos({e('text')}, {e('text')})",
                lambda: f"abs({self.small(depth)})",
                lambda: f"{self.one('year', 'month', 'day', 'dayofweek')}({e('date')})",
                lambda: f"({e('bool')})::integer",
            ],
            "float": [
                lambda: f"({e('float')} {self.one('+', '-', '*')} {e('float')})",
                lambda: f"({self.small(depth)} / {self.small(depth)})",
                lambda: f"abs({e('float')})",
                lambda: f"floor({e('float')})",
                lambda: f"greatest({e('float')}, {e('float')})",
                lambda: f"least({e('float')}, {e('float')})",
                lambda: f"({self.small(depth)} * 0.5::double)",
            ],
            "text": [
                lambda: f"({e('text')} || {e('text')})",
                lambda: f"{self.one('lower', 'upper', 'reverse', 'trim')}({e('text')})",
                lambda: f"trim({self.one('both', 'leading', 'trailing')} {self.literal('text')} from {e('text')})",
                lambda: f"substr({e('text')}, {self.one(1, 2, 3)}, {self.one(1, 2)})",
                lambda: f"replace({e('text')}, 'a', 'bc')",
            ],
            "bool": [
                lambda: f"({e(any_kind)} {self.one('=', '<>', '<', '<=', '>', '>=')} {e(any_kind)})",
                lambda: f"({e(any_kind)} is {self.one('', 'not ')}distinct from {e(any_kind)})",
                lambda: f"({e('bool')} {self.one('and', 'or')} {e('bool')})",
                lambda: f"(not {e('bool')})",
                lambda: f"({e(any_kind)} is {self.one('', 'not ')}null)",
                lambda: f"({e('int')} between {e('int')} and {e('int')})",
                lambda: f"({e(any_kind)} {self.one('', 'not ')}in ({self.literal(any_kind)}, {self.literal(any_kind)}))",
                lambda: f"({e('text')} like {self.one(chr(39) + '%a%' + chr(39), chr(39) + '_' + chr(39))})",
            ],
            "date": [lambda: f"greatest({e('date')}, {e('date')})", lambda: f"least({e('date')}, {e('date')})"],
        }[kind]
        return self.choice(own + common)()

    def small(self, depth):
        """An integer whose products stay within 64 bits, of a column of any width."""
        return self.one(
            self.one("1", "2", "7"),
            f"{self.choice(self.tables)}.{self.one('id', 'k')}",
            f"({self.expr('int', depth - 2)} % 100)",
            f"(case when {self.expr('bool', depth - 2)} then {self.choice(self.tables)}.{self.one('id', 'u')} % 10 "
            f"else {self.choice(self.tables)}.j % 100 end)",
        )

    def kind(self):
        return self.choice(["int", "int", "float", "float", "text", "bool", "date"])

    def aggregate(self):
        """One whose value does not depend on the order of the rows."""
        kind = self.kind()
        # The condition of an argument is a comparison, not the name of an argument.
        test = f"{self.column('int')} = {self.literal('int')}"
        call = self.one(
            "count(*)",
            f"count({self.expr(kind, 1)})",
            f"count(distinct {self.expr(kind, 1)})",
            f"count({test})",
            f"min({self.expr(kind, 2)})",
            f"max({self.expr(kind, 2)})",
            f"sum({self.small(2)})",
            f"avg({self.small(2)})",
            f"sum({self.expr('float', 1)})",
            f"bool_or({test})",
            f"bool_and({self.expr('bool', 2)})",
            f"max({test})",
            f"count_if({self.expr('bool', 1)})",
            f"median({self.column('int')} % 1000)",
            f"mode() within group (order by {self.column(kind)})",
            f"percentile_cont(0.25) within group (order by {self.small(1)})",
            f"list({self.expr(kind, 1)} order by {self.choice(self.tables)}.id, {self.column(kind)})",
        )
        filters = "within" not in call and "median" not in call and self.random() < 0.2
        return f"{call} filter (where {self.expr('bool', 1)})" if filters else call

    def window(self, order):
        """One whose value the order `order`, of all rows, or that of the table decides."""
        kind = self.kind()
        frame = self.one("", "", f" rows between {self.one(0, 1, 2)} preceding and {self.one(0, 1)} following",
                         " rows between unbounded preceding and current row")
        key = self.kind()
        part = f"partition by {self.column(key) if key in ('int', 'float') else self.expr(key, 1)}"
        part = part if self.random() < 0.6 else ""
        value = self.expr(kind, 1)
        call = self.one(
            "row_number()", "count(*)", f"count({value})", f"sum({self.small(1)})", f"min({value})", f"max({value})",
            f"first_value({value})", f"lag({value})", f"lead({value}, 2)", f"ntile({self.one(2, 3)})",
            f"first_value({self.column('int')} = {self.literal('int')})",
        )
        ranks = self.random() < 0.15
        if ranks:
            return f"{self.one('rank', 'dense_rank')}() over ({part} order by {self.expr(kind, 1)})"
        if any(word in call for word in ("lag", "lead", "ntile", "row_number")):
            frame = ""
        # Without a partition and an order the table's order holds. DuckDB has it so for running values alone.
        if self.random() < 0.25 and "ntile" not in call:
            running = frame if "unbounded" in frame else ""
            return f"{call} over ({running.strip()})"
        return f"{call} over ({part} order by {order}{frame})"

    def source(self, joins=True):
        """FROM with its tables, an order of all their rows, and whether the rows come in that order."""
        first = self.one("a", "a", "a", "c", "one", "none")
        self.tables = ["t"]
        if not joins or self.random() < 0.6:
            return f"from {first} t", "t.id", True
        second = self.one("a", "c", "c", "one", "none")
        self.tables = ["t", "r"]
        how = self.one("join", "left join", "right join", "full join", "cross join")
        on = "" if how == "cross join" else " on " + self.one(
            "t.k = r.k", "t.g = r.g", "t.id = r.id", "t.k = r.k and t.id < r.id", "t.x = r.x", "t.g is not distinct from r.g"
        )
        return f"from {first} t {how} {second} r{on}", "t.id nulls first, r.id nulls first", False

    def where(self):
        if self.random() < 0.5:
            return ""
        if self.random() < 0.3:
            return " where " + self.subquery()
        return " where " + self.expr("bool", 2)

    def subquery(self):
        outer = self.tables[0]
        inner = self.one("a", "c", "none")
        kind = self.one("id", "k", "g")
        return self.one(
            f"{outer}.{kind} {self.one('', 'not ')}in (select q.{kind} from {inner} q where q.id > {self.one(1, 3, 8)})",
            f"{self.one('', 'not ')}exists (select 1 from {inner} q where q.{kind} = {outer}.{kind} and q.id <> {outer}.id)",
            f"{outer}.id > (select avg(q.k) from {inner} q where q.g = {outer}.g)",
            f"{outer}.k = (select max(q.k) from {inner} q)",
        )

    def query(self):
        return self.choice([self.plain, self.plain, self.grouped, self.grouped, self.windows, self.windows, self.sets,
                            self.nested])()

    def plain(self):
        source, order, _ = self.source()
        items = [f"{self.expr(self.kind(), 3)} as c{i}" for i in range(self.randint(1, 3))]
        if self.random() < 0.2:
            tables = self.tables[0]
            items.append(f"(select {self.one('count(*)', 'max(q.id)', 'min(q.s)')} from a q where q.k = {tables}.k) as q")
        distinct = "distinct " if self.random() < 0.15 else ""
        tail = "" if distinct else f" order by {order} limit {self.one(1, 5, 100)}" if self.random() < 0.3 else ""
        return f"select {distinct}{', '.join(items)} {source}{self.where()}{tail}"

    def grouped(self):
        source, _, _ = self.source()
        keys = [self.expr(self.kind(), 1) for _ in range(self.randint(0, 2))]
        items = [f"{key} as k{i}" for i, key in enumerate(keys)]
        items += [f"{self.aggregate()} as a{i}" for i in range(self.randint(1, 3))]
        group = f" group by {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
        having = f" having count(*) > {self.one(0, 1)}" if keys and self.random() < 0.2 else ""
        return f"select {', '.join(items)} {source}{self.where()}{group}{having}"

    def windows(self):
        source, order, ordered = self.source()
        if not ordered:
            # The order of joined rows is not defined: they are sorted below the windows.
            columns = ", ".join(f"t.{c} as {c}" for kind in KINDS.values() for c in kind)
            source = f"from (select {columns} {source}{self.where()}) t"
            self.tables = ["t"]
            order = ", ".join(f"t.{c}" for kind in KINDS.values() for c in kind)
            items = [f"{self.one('rank', 'count', 'min', 'max', 'sum')}" for _ in range(2)]
            calls = {"rank": "rank()", "count": "count(*)", "min": "min(t.s)", "max": "max(t.x)", "sum": "sum(t.id)"}
            items = [f"{calls[item]} over (partition by t.k order by {order}) as w{i}" for i, item in enumerate(items)]
            return f"select t.id, {', '.join(items)} {source}"
        items = [f"{self.window(order)} as w{i}" for i in range(self.randint(1, 3))]
        if self.random() < 0.3:
            source = f"from (select * {source} order by t.{self.one('id desc', 'k, t.id', 'g desc, t.id')}) t"
        qualify = " qualify row_number() over (partition by t.k order by t.id) = 1" if self.random() < 0.15 else ""
        return f"select t.id, {', '.join(items)} {source}{qualify}"

    def sets(self):
        kinds = [self.kind() for _ in range(self.randint(1, 2))]

        def one():
            source, _, _ = self.source(joins=False)
            items = ", ".join(f"{self.expr(kind, 1)} as c{i}" for i, kind in enumerate(kinds))
            return f"select {items} {source}{self.where()}"

        words = [self.one("union", "union all", "except", "intersect", "except all", "intersect all")]
        return f"({one()}) {words[0]} ({one()})"

    def nested(self):
        inner = self.grouped() if self.random() < 0.5 else self.plain()
        return f"with q as ({inner}) from q where {self.one('true', '1 = 1', 'not false')}"


def load(base, engine):
    for name, statements in TABLES.items():
        base.execute(statements)
        table = base.execute(f"select * from {name}").to_arrow_table()
        with tempfile.NamedTemporaryFile(suffix=".arrow") as file:
            with pa.ipc.new_file(file.name, table.schema) as writer:
                writer.write_table(table)
            loaded = engine.ask(load=name, path=file.name)
        if "error" in loaded:
            raise SystemExit(f"error: {name}: {loaded['error']}")


def run(oracle, seed=SEED, queries=QUERIES, engine="cpu", seconds=float("inf")):
    """The outcomes: `right`, and lists of the queries whose answers are `wrong` and that are `refused`, with the reason."""
    base = duckdb.connect()
    base.execute("set threads to 1")
    base.execute("set timezone to 'UTC'")
    engine = Engine(str(oracle), engine)
    load(base, engine)
    until = time.monotonic() + seconds
    made, right, wrong, refused = Random(seed), 0, [], []
    for _ in range(queries):
        if time.monotonic() > until:
            break
        sql = made.query()
        try:
            expected = base.execute(sql).fetchall()
        except duckdb.Error:
            continue
        answer = engine.ask(query=sql)
        if "error" in answer:
            refused.append((sql, f"{answer['code']}: {answer['error']}"))
            if answer["code"] == "lost":
                load(duckdb.connect(), engine)
        elif compare(expected, answer):
            right += 1
        else:
            wrong.append((sql, f"DuckDB: {expected[:10]}\n    Onrush: {answer['rows'][:10]}"))
    engine.end()
    return right, wrong, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--new", action="store_true", help="a seed of the clock")
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--oracle", type=Path, default=ORACLE)
    options = parser.parse_args()
    seed = time.time_ns() % 1_000_000_000 if options.new else options.seed
    right, wrong, refused = run(options.oracle, seed, options.queries, options.engine)
    for word, found in (("wrong", wrong), ("refused", refused)):
        for sql, reason in found:
            print(f"{word}: {sql}\n    {reason}")
    print(f"seed {seed}: {right} right, {len(wrong)} wrong, {len(refused)} refused")
    sys.exit(1 if wrong or refused else 0)


if __name__ == "__main__":
    main()
