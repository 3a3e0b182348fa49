"""Distributions, intervals, fits, pairs, prices, scores and annotations of plots from cells: bundles and errors."""

import base64

import pytest

from test_tables import run_as

VEGA_LITE = "application/vnd.vegalite.v5+json"
ROWS = """let rows = sql("select n % 3 as g, n % 10 as x, n * 7 % 13 as y, n % 2 = 0 as even, ['p', 'q', 'r'][1 + n % 3] as k,
    date '2013-01-01' + (n % 10)::int as day from range(200) as t(n)");"""
# What is drawn, and what its text begins with.
KINDS = {
    'step("x", "y").aggregate("mean").color("k").step_where("post")': "step line: 3 series",
    'ecdf("y").by("k")': "cumulative distribution: 3 series (p, q, r), x = y, y = proportion",
    'violin("k", "y").order(["r"])': "violin plot: 3 violins",
    'violin("k", "y").horizontal()': "violin plot: 3 violins",
    'strip("k", "y").color("even")': "strip plot: 2 series",
    'point_plot("k", "y").color("even").error("sd")': "point plot: 2 series",
    'scatter("x", "y").error_bars("x", "y", x!(y + 1))': "scatter plot: ",
    'band("x", "y", x!(y + 1))': "band: ",
    'scatter("x", "y").regression("x", "y")': "scatter plot: ",
    'hexbin("x", "y").bins(8)': "hexbin plot: ",
    'pair(["x", "y"]).color("k")': "4 panels",
    'roc("even", "y")': "ROC curve: 2 series",
    'precision_recall("even", ["x", "y"])': "precision-recall curve: 2 series",
    'confusion_matrix("g", x!(y % 3))': "heat map: 3 × 3 cells",
    'area("x", len()).color("k").stacked()': "area chart: 3 series",
    'line("day", "y").aggregate("mean").vline("2013-01-04", "new").vspan("2013-01-05", "2013-01-07", "span").text("2013-01-08", 6, "said")': "line chart",
}


@pytest.fixture(scope="module")
def rows(kernel):
    kernel.ok(ROWS)
    return kernel


@pytest.mark.parametrize("call", KINDS)
def test_kinds_have_all_forms(rows, call):
    ran = run_as(rows, "kind", f"rows.plot().{call}")
    [bundle] = [bundle for bundle in ran.bundles if "image/svg+xml" in bundle]
    text = "".join(bundle["text/plain"])
    assert text.startswith(KINDS[call]), text
    assert "no data to draw" not in bundle["image/svg+xml"]
    assert bundle[VEGA_LITE]["$schema"].endswith("v5.json")
    png = bundle.get("image/png")
    assert png is None or base64.b64decode(png).startswith(b"\x89PNG")


def test_candles_and_files(rows, tmp_path):
    candles = 'rows.group_by("day").agg(x!(open = y.first(), high = y.max(), low = y.min(), close = y.last()))'
    rows.ok(f'let candles = {candles}.plot().candlestick("day", "open", "high", "low", "close");')
    for extension, begin in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        path = tmp_path / f"candles.{extension}"
        rows.ok(f'let _ = candles.clone().save("{path}");')
        assert path.read_bytes().startswith(begin)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ('ecdf("k")', "a cumulative distribution needs numbers or times, and `k` is text"),
        ('regression("k", "y")', "a regression line needs numbers or times, and `k` is text"),
        ('pair(["x"])', "a pair plot takes 2 to 8 columns, and there are 1"),
        ('roc("k", "y")', 'a ROC curve needs a truth of two classes, and `k` has "p", "q", "r"'),
        ('violin("k", "y").bins(3)', "`violin` does not take `bins`"),
        ('point_plot("k", "y").error("95")', "no error bar `95`"),
        ('step("x", "y").step_where("hv")', "no place of steps `hv`"),
        ('line("x", "y").step_where("post")', "`line` does not take `step_where`"),
        ('line("x", "y").vline("soon", "")', '`vline` takes a number or a date, and "soon" is neither'),
        ('ecdf("x").horizontal()', "only bars, histograms, box plots, violins and strips can be horizontal"),
    ],
)
def test_wrong_input_is_told(rows, call, said):
    assert said in rows.fails(f"rows.plot().{call}").error["evalue"]
