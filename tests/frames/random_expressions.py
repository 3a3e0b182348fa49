"""Random `x!` expressions over an awkward frame, in cells of a notebook and in Polars, whose answer is the right one.

    .venv/bin/python tests/frames/random_expressions.py [--seed N | --new] [--expressions N] [--onrush FILE] [--show]

The same seed gives the same expressions. `--new` takes a seed of the clock, and prints it. An expression that Polars refuses is
left out. Exit status 1 if an answer differs or an expression is refused. `test_random_expressions.py` runs the pinned seed.

The frame has nulls, NaN, infinities, both zeros, the ends of 64-bit integers and letters beyond ASCII. Expressions keep to what both
systems define alike: docs/semantics.md has the decided differences, such as the sum of `i32`.
"""

import argparse
import math
import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

SEED = 45
EXPRESSIONS = 400
# Expressions of one cell, which rustc compiles at once.
CELL = 50
BINARY = Path.home() / ".cache/onrush/target/debug/onrush"

INF, NAN = math.inf, math.nan
FRAME = pl.DataFrame(
    {
        "i": [0, 1, -1, 7, -7, 2**63 - 1, -(2**63), None, 3, 10, 100, 7],
        "k": [1, 2, None, 3, 1, 2, 5, 5, 4, None, -3, 0],
        "n": pl.Series([5, None, -2, 0, 7, 7, 100, -100, 1, 2, 3, 4], dtype=pl.Int32),
        "u": pl.Series([1, 4, None, 0, 9, 2, 2, 7, 4_000_000_000, 3, 1, 5], dtype=pl.UInt32),
        "x": [0.0, -0.0, 1.5, NAN, INF, -INF, None, 1e300, -2.5, 0.1, 3.0, NAN],
        "y": [0.0, 5.0, -0.0, 2.0, INF, 1.0, NAN, 4.0, None, 0.25, -3.5, 2.0],
        "b": [True, False, None, True, False, True, None, False, True, True, False, None],
        "s": ["", "abc", "Ünï", "ae\u0301", None, "b", "日本", " a ", "ABC", "b", None, "x y"],
        "g": ["p", "q", "p", None, "q", "r", "p", "q", None, "r", "r", "s"],
        "t": [
            datetime(2024, 2, 29, 15, 23, 45), datetime(1999, 12, 31, 23, 59, 59), None, datetime(1970, 1, 1),
            datetime(2024, 3, 31, 1, 30), datetime(2024, 10, 27, 2, 30), datetime(2023, 11, 5), datetime(2000, 1, 1),
            datetime(2024, 12, 30, 6), None, datetime(1969, 7, 20, 20, 17), datetime(2026, 6, 15, 12, 30, 1, 250000),
        ],
    }
)


@dataclass
class Pair:
    """An expression of `x!` and the same one of Polars."""

    text: str
    polars: pl.Expr


class Maker:
    """Makes expressions of a type. `depth` bounds how many stand one in the other."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, items):
        return items[self.random.randrange(len(items))]

    def make(self, kind, depth):
        return getattr(self, kind)(depth)

    # Values of rows.

    def int(self, depth):
        if depth == 0 or self.random.random() < 0.15:
            name = self.pick(["i", "k", "k", "i"])
            return Pair(name, pl.col(name))
        a = self.int(depth - 1)
        which = self.random.randrange(12)
        if which < 3:
            b = self.small() if self.random.random() < 0.4 else self.int(depth - 1)
            sign = self.pick("+-*")
            polars = {"+": a.polars + b.polars, "-": a.polars - b.polars, "*": a.polars * b.polars}[sign]
            return Pair(f"({a.text} {sign} {b.text})", polars)
        if which == 3:
            b = self.small() if self.random.random() < 0.6 else self.int(0)
            return Pair(f"({a.text} % {b.text})", a.polars % b.polars)
        if which == 4:
            b = self.small() if self.random.random() < 0.6 else self.int(0)
            return Pair(f"{a.text}.floor_div({b.text})", a.polars // b.polars)
        if which == 5:
            return Pair(f"{a.text}.fill_null({(b := self.int(0)).text})", a.polars.fill_null(b.polars))
        if which == 6:
            low, high = sorted(self.random.sample(range(-20, 20), 2))
            return Pair(f"{a.text}.clip({low}, {high})", a.polars.clip(low, high))
        if which == 7:
            name = self.pick(["n", "u"])
            return Pair(f"({a.text} + {name})", a.polars + pl.col(name).cast(pl.Int64))
        if which == 8:
            return self.branch("int", depth)
        if which == 9:
            return self.horizontal(a, self.int(depth - 1))
        if which == 10:
            s = self.str(depth - 1)
            return Pair(f"{s.text}.str.len_chars().cast(i64)", s.polars.str.len_chars().cast(pl.Int64))
        part, scale = self.pick(["hour", "minute", "second", "month", "day", "weekday", "ordinal_day", "week", "year"]), 60
        polars = getattr(pl.col("t").dt, part)().cast(pl.Int32) * scale
        return Pair(f"(t.dt.{part}() * {scale}).cast(i64)", polars.cast(pl.Int64))

    def small(self):
        value = self.random.randrange(-3, 12)
        return Pair(f"({value})" if value < 0 else str(value), pl.lit(value, dtype=pl.Int64))

    def float(self, depth):
        if depth == 0 or self.random.random() < 0.15:
            name = self.pick("xy")
            return Pair(name, pl.col(name))
        a = self.float(depth - 1)
        which = self.random.randrange(13)
        if which < 5:
            b = self.number() if self.random.random() < 0.3 else self.float(depth - 1)
            sign = self.pick("+-*/%")
            polars = {
                "+": a.polars + b.polars, "-": a.polars - b.polars, "*": a.polars * b.polars,
                "/": a.polars / b.polars, "%": a.polars % b.polars,
            }[sign]
            return Pair(f"({a.text} {sign} {b.text})", polars)
        if which == 5:
            a, b = self.int(depth - 1), self.int(depth - 1)
            return Pair(f"({a.text} / {b.text})", a.polars / b.polars)
        if which in (6, 7):
            # Without `log10`: Polars rounds that of 0.1 to a number above -1.
            function = self.pick(["abs", "sqrt", "exp", "sin", "cos", "floor", "ceil", "tanh", "cbrt"])
            return Pair(f"{a.text}.{function}()", getattr(a.polars, function)())
        if which == 8:
            decimals = self.random.randrange(3)
            return Pair(f"{a.text}.round({decimals})", a.polars.round(decimals))
        if which == 9:
            if self.random.random() < 0.5:
                return Pair(f"(-{a.text})", -a.polars)
            return Pair(f"{a.text}.fill_nan(0.5)", a.polars.fill_nan(0.5))
        if which == 10:
            return Pair(f"{a.text}.fill_null({(b := self.float(0)).text})", a.polars.fill_null(b.polars))
        if which == 11:
            return self.branch("float", depth)
        return self.horizontal(a, self.float(depth - 1))

    def number(self):
        value = self.pick([0.5, 2.0, -1.5, 10.0, 0.0])
        return Pair(f"({value})", pl.lit(value))

    def horizontal(self, a, b):
        if self.random.random() < 0.3:
            return Pair(f"sum_horizontal({a.text}, {b.text})", pl.sum_horizontal(a.polars, b.polars))
        which = self.pick(["min_horizontal", "max_horizontal", "coalesce"])
        return Pair(f"{which}({a.text}, {b.text})", getattr(pl, which)(a.polars, b.polars))

    def branch(self, kind, depth):
        when, a, b = self.bool(depth - 1), self.make(kind, depth - 1), self.make(kind, depth - 1)
        return Pair(f"(if {when.text} {{ {a.text} }} else {{ {b.text} }})", pl.when(when.polars).then(a.polars).otherwise(b.polars))

    def bool(self, depth):
        if depth <= 0 or self.random.random() < 0.1:
            return Pair("b", pl.col("b"))
        which = self.random.randrange(9)
        if which < 4:
            kind = self.pick(["int", "float", "float", "str"])
            a, b = self.make(kind, depth - 1), self.make(kind, depth - 1)
            if kind == "float" and self.random.random() < 0.4:
                b = self.number()
            sign, polars = self.pick(
                [
                    ("==", a.polars == b.polars), ("!=", a.polars != b.polars), ("<", a.polars < b.polars),
                    ("<=", a.polars <= b.polars), (">", a.polars > b.polars), (">=", a.polars >= b.polars),
                ]
            )
            return Pair(f"({a.text} {sign} {b.text})", polars)
        if which == 4:
            a, b = self.bool(depth - 1), self.bool(depth - 1)
            if self.random.random() < 0.5:
                return Pair(f"({a.text} && {b.text})", a.polars & b.polars)
            return Pair(f"({a.text} || {b.text})", a.polars | b.polars)
        if which == 5:
            a = self.bool(depth - 1)
            return Pair(f"(!{a.text})", ~a.polars)
        if which == 6:
            kind = self.pick(["int", "float", "str"])
            a = self.make(kind, depth - 1)
            test = self.pick(["is_null", "is_not_null"] + (["is_nan", "is_finite", "is_infinite"] if kind == "float" else []))
            return Pair(f"{a.text}.{test}()", getattr(a.polars, test)())
        if which == 7:
            a, closed = self.float(depth - 1), self.pick(["both", "left", "right", "none"])
            text = f'{a.text}.is_between(-1.0, 2.0, closed = "{closed}")'
            return Pair(text, a.polars.is_between(-1.0, 2.0, closed=closed))
        if self.random.random() < 0.5:
            a = self.str(depth - 1)
            text, polars = self.pick(
                [
                    ('str.contains("b", literal = true)', a.polars.str.contains("b", literal=True)),
                    ('str.starts_with("a")', a.polars.str.starts_with("a")),
                    ('str.ends_with("c")', a.polars.str.ends_with("c")),
                    ('is_in(["b", "p", ""])', a.polars.is_in(["b", "p", ""])),
                ]
            )
            return Pair(f"{a.text}.{text}", polars)
        a = self.int(depth - 1)
        values = sorted(self.random.sample(range(-3, 12), 3))
        return Pair(f"({a.text} in {values})", a.polars.is_in(values))

    def str(self, depth):
        if depth <= 0 or self.random.random() < 0.2:
            name = self.pick("sg")
            return Pair(name, pl.col(name))
        a = self.str(depth - 1)
        which = self.random.randrange(10)
        if which == 8:
            width = self.random.randrange(1, 5)
            text, polars = self.pick(
                [
                    (f'str.pad_start({width}, "*")', a.polars.str.pad_start(width, "*")),
                    (f'str.pad_end({width}, "*")', a.polars.str.pad_end(width, "*")),
                    (f"str.head({width})", a.polars.str.head(width)),
                    (f"str.tail({width})", a.polars.str.tail(width)),
                    ('str.strip_prefix("a")', a.polars.str.strip_prefix("a")),
                    ('str.strip_suffix("b")', a.polars.str.strip_suffix("b")),
                    (r'str.extract("(\\w)", 1)', a.polars.str.extract(r"(\w)", 1)),
                ]
            )
            return Pair(f"{a.text}.{text}", polars)
        if which == 9:
            text, polars = self.pick(
                [
                    (f't.dt.truncate("{every}").dt.to_string("%Y-%m-%d %H:%M")', pl.col("t").dt.truncate(every))
                    for every in ["1d", "1mo", "1h", "1w", "1q", "1d12h", "15m"]
                ]
                + [
                    (f't.dt.offset_by("{by}").dt.to_string("%Y-%m-%d %H:%M")', pl.col("t").dt.offset_by(by))
                    for by in ["1mo2d3h", "-1d12h", "1y", "-90m", "2w"]
                ]
            )
            return Pair(text, polars.dt.to_string("%Y-%m-%d %H:%M"))
        if which < 3:
            function = self.pick(["to_uppercase", "to_lowercase", "reverse", "strip_chars"])
            return Pair(f"{a.text}.str.{function}()", getattr(a.polars.str, function)())
        if which == 3:
            offset, length = self.random.randrange(-3, 3), self.random.randrange(0, 4)
            return Pair(f"{a.text}.str.slice({offset}, {length})", a.polars.str.slice(offset, length))
        if which == 4:
            b = self.str(depth - 1)
            return Pair(f"({a.text} + {b.text})", a.polars + b.polars)
        if which == 5:
            return Pair(f'{a.text}.fill_null("?")', a.polars.fill_null("?"))
        if which == 6:
            return Pair(f'{a.text}.str.replace_all("b", "é")', a.polars.str.replace_all("b", "é"))
        return self.branch("str", depth)

    # Values of several rows.

    def aggregate(self, depth):
        which = self.random.randrange(11)
        if which == 10:
            # The values are small, so that the last digits of sums do not matter.
            name, q = self.pick(["k", "n"]), self.pick([0.0, 0.25, 0.5, 0.9, 1.0])
            how = self.pick(["nearest", "lower", "higher", "midpoint", "linear"])
            text = f'{name}.quantile({q}, interpolation = "{how}")'
            return self.pick(
                [
                    Pair(text, pl.col(name).quantile(q, interpolation=how)),
                    Pair(f"{name}.skew()", pl.col(name).skew()),
                    Pair(f"{name}.kurtosis()", pl.col(name).kurtosis()),
                    # Null instead of NaN: decided so.
                    Pair("k.corr(n)", pl.corr("k", "n").fill_nan(None)),
                    Pair("k.cov(n)", pl.cov("k", "n")),
                    Pair("k.product()", pl.col("k").product()),
                ]
            )
        if which < 3:
            a = self.float(depth)
            function = self.pick(["sum", "mean", "min", "max", "first", "last", "n_unique", "count", "null_count"])
        elif which < 5:
            # Sums of these stay exact in floats.
            name = self.pick(["k", "n"])
            a = Pair(name, pl.col(name).cast(pl.Int64))
            function = self.pick(["sum", "mean", "min", "max", "first", "last", "n_unique", "median", "std", "var", "count"])
        elif which < 7:
            a = self.int(depth)
            function = self.pick(["min", "max", "first", "last", "n_unique", "count", "sum"])
        elif which < 8:
            a = self.str(depth)
            function = self.pick(["min", "max", "first", "last", "n_unique", "count"])
        else:
            a, function = self.bool(depth), self.pick(["any", "all", "sum", "n_unique"])
        chosen = self.random.random()
        text, polars = a.text, a.polars
        if chosen < 0.2:
            condition = self.bool(1)
            text, polars = f"{text}.filter({condition.text})", polars.filter(condition.polars)
        elif chosen < 0.35:
            text, polars = f"{text}.drop_nulls()", polars.drop_nulls()
        return Pair(f"{text}.{function}()", getattr(polars, function)())

    def window(self, depth):
        which = self.random.randrange(3)
        if which == 0:
            a = self.aggregate(depth)
            while ".filter(" in a.text or ".drop_nulls(" in a.text:
                a = self.aggregate(depth)
        else:
            kind = self.pick(["int", "float"])
            v = self.make(kind, depth)
            functions = [("shift(1)", v.polars.shift(1)), ("diff()", v.polars.diff()), ("rank()", v.polars.rank())]
            functions += [("forward_fill()", v.polars.forward_fill()), ("cum_max()", v.polars.cum_max())]
            functions += [("cum_sum()", v.polars.cum_sum())] if kind == "float" else [("cum_count()", v.polars.cum_count())]
            functions += [("shift(-2)", v.polars.shift(-2)), ("backward_fill()", v.polars.backward_fill())]
            functions += [("is_duplicated()", v.polars.is_duplicated()), ("is_first_distinct()", v.polars.is_first_distinct())]
            functions += [("cum_min()", v.polars.cum_min())]
            for method in ["min", "max", "dense", "ordinal"]:
                functions.append((f'rank(method = "{method}")', v.polars.rank(method)))
            text, polars = self.pick(functions)
            a = Pair(f"{v.text}.{text}", polars)
        if which < 2:
            return Pair(f'{a.text}.over("g")', a.polars.over("g"))
        return a


def joined(pair, how):
    right = FRAME.select(q=pair.polars, w=pl.col("n")).unique("q", keep="first", maintain_order=True)
    return FRAME.with_columns(q=pair.polars).join(right, on="q", how=how, maintain_order="left").select("i", "x")


@dataclass
class Case:
    """A step of a frame, and its rows."""

    text: str
    rows: pl.DataFrame


def cases(seed):
    """Steps that Polars runs, without end."""
    maker = Maker(seed)
    while True:
        form = maker.random.randrange(12)
        if form == 10:
            pair = maker.make(maker.pick(["float", "int", "str"]), 1)
            text = f'f.with_row_index("id").unique_by(x!({pair.text})).select("id")'
            step = lambda pair=pair: (  # noqa: E731
                FRAME.with_row_index("id").unique(pair.polars.alias("q"), keep="first", maintain_order=True).select("id")
            )
        elif form == 11:
            pair, how = maker.make(maker.pick(["float", "int", "str"]), 1), maker.pick(["left", "inner", "semi", "anti"])
            right = "f.select(x!(q = {key}, w = n)).unique_by(\"q\")".format(key=pair.text)
            text = f'f.with_columns(x!(q = {pair.text})).{how}_join(&{right}, "q").select(["i", "x"])'
            step = lambda pair=pair, how=how: joined(pair, how)  # noqa: E731
        elif form < 4:
            pair = maker.make(maker.pick(["int", "float", "bool", "str"]), maker.random.randrange(1, 4))
            text, step = f"f.select(x!(r = {pair.text}))", lambda pair=pair: FRAME.select(r=pair.polars)
        elif form < 5:
            pair = maker.bool(3)
            text = f"f.with_row_index(\"id\").filter(x!({pair.text})).select(\"id\")"
            step = lambda pair=pair: FRAME.with_row_index("id").filter(pair.polars).select("id")  # noqa: E731
        elif form < 6:
            pair, down = maker.make(maker.pick(["float", "int", "str"]), 2), maker.random.random() < 0.5
            key = f"desc({pair.text})" if down else pair.text
            text = f'f.with_row_index("id").sort(x!({key})).select("id")'
            step = lambda pair=pair, down=down: (  # noqa: E731
                FRAME.with_row_index("id").sort(pair.polars, descending=down, maintain_order=True).select("id")
            )
        elif form < 7:
            pair = maker.aggregate(2)
            text, step = f"f.select(x!(r = {pair.text}))", lambda pair=pair: FRAME.select(r=pair.polars)
        elif form < 9:
            key, pair = maker.make(maker.pick(["float", "int", "str", "bool"]), 1), maker.aggregate(1)
            text = f"f.group_by(x!(q = {key.text})).agg(x!(r = {pair.text}))"
            step = lambda key=key, pair=pair: (  # noqa: E731
                FRAME.group_by(key.polars.alias("q"), maintain_order=True).agg(r=pair.polars).sort("q")
            )
        else:
            pair = maker.window(2)
            text, step = f"f.select(x!(r = {pair.text}))", lambda pair=pair: FRAME.select(r=pair.polars)
        try:
            rows = step()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OverflowError):
            continue
        yield Case(text, rows)


def same(a, b):
    """Whether two values are equal: floats to twelve digits, every NaN is one, and so are both zeros."""
    if a is None or b is None:
        return a is b
    if isinstance(a, float) or isinstance(b, float):
        a, b = float(a), float(b)
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b or math.isclose(a, b, rel_tol=1e-11, abs_tol=1e-300)
    return a == b


def difference(case, rows):
    """How an answer differs; `None` if it does not."""
    expected = case.rows
    if rows.width != expected.width or rows.height != expected.height:
        return f"{rows.shape} in place of {expected.shape}"
    for name in expected.columns:
        for row, (ours, theirs) in enumerate(zip(rows[name].to_list(), expected[name].to_list())):
            if not same(ours, theirs):
                return f"row {row} of {name}: {ours!r} in place of {theirs!r}"
    return None


def answers(run, asked, folder):
    """What the notebook says to steps: frames, or messages. `run` runs a cell."""
    steps = "\n".join(
        f'if let Err(e) = attempt(|| {case.text}.write_ipc("{folder}/{n}.arrow")) {{ '
        f'std::fs::write("{folder}/{n}.error", e.message)?; }}'
        for n, case in asked
    )
    run(steps)
    for n, case in asked:
        path, error = folder / f"{n}.arrow", folder / f"{n}.error"
        if error.is_file():
            yield case, error.read_text()
        else:
            yield case, pl.read_ipc(path)


def compare(run, seed=SEED, expressions=EXPRESSIONS, seconds=None):
    """How many answers are right, and those that are not, with the reason. Stops after so many seconds."""
    start, right, wrong = time.monotonic(), 0, []
    all_cases = cases(seed)
    with tempfile.TemporaryDirectory(prefix="onrush-x") as name:
        folder = Path(name)
        FRAME.write_ipc(folder / "frame.arrow")
        run(f'let f = read_ipc("{folder}/frame.arrow");')
        for first in range(0, expressions, CELL):
            if seconds is not None and time.monotonic() - start > seconds:
                break
            asked = [(n, next(all_cases)) for n in range(first, min(first + CELL, expressions))]
            for case, answer in answers(run, asked, folder):
                reason = answer if isinstance(answer, str) else difference(case, answer)
                if reason is None:
                    right += 1
                else:
                    wrong.append((case.text, reason))
    return right, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--new", action="store_true", help="take a seed of the clock")
    parser.add_argument("--expressions", type=int, default=EXPRESSIONS)
    parser.add_argument("--onrush", type=Path, default=BINARY)
    parser.add_argument("--show", action="store_true", help="print the expressions, and run nothing")
    options = parser.parse_args()
    seed = time.time_ns() % 1_000_000 if options.new else options.seed
    if options.show:
        for _, case in zip(range(options.expressions), cases(seed)):
            print(case.text)
        return
    print(f"seed {seed}")
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import KernelManager

    os.environ.setdefault("ONRUSH_RUNTIME_DIR", tempfile.mkdtemp(prefix="onrush-t"))
    manager = KernelManager()
    manager._kernel_spec = KernelSpec(argv=[str(options.onrush), "kernel", "--connection-file", "{connection_file}"], language="rust")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=120)

    def run(cell):
        reply = client.execute_interactive(cell, timeout=300, output_hook=lambda message: None)
        if reply["content"]["status"] != "ok":
            raise SystemExit("\n".join([cell, *reply["content"].get("traceback", [])]))

    try:
        right, wrong = compare(run, seed, options.expressions)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    for text, reason in wrong:
        print(f"{text}\n    {reason}")
    print(f"{right} right, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
