"""Live rasters of plots over the protocol: the bundle, other windows, errors. Counts are by hand: points of a lattice."""

import base64

import pytest

from test_graph_views import View
from test_tables import run_as

RASTER = "application/vnd.onrush.raster.v1+json"
# 100 columns of 40 points, at whole numbers.
LATTICE = 'let lattice = sql("select n % 100 as x, n // 100 as y, n % 3 as k from range(4000) as t(n)");'


@pytest.fixture(scope="module")
def lattice(kernel):
    kernel.ok(LATTICE)
    return kernel


def shown(ran) -> dict:
    [bundle] = [bundle for bundle in ran.bundles if RASTER in bundle]
    return bundle


def test_a_raster_is_drawn_again_for_another_window(lattice):
    bundle = shown(run_as(lattice, "raster", 'lattice.plot().raster("x", "y").size(300, 200).title("Lattice")'))
    state = bundle[RASTER]
    assert state["window"] == [0, 0, 99, 39] and state["size"] == [300, 200]
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG") and "image/svg+xml" not in bundle
    assert "4\u202f000 rows" in "".join(bundle["text/plain"])
    left, top, width, height = state["frame"]
    assert 0 < left < left + width <= 300 and 0 < top < top + height <= 200

    view = View(lattice, state["view"])
    assert view.ask("state") == {"nodes": [], "raster": True}
    # 11 columns and 5 rows of points lie in the window or on its edge.
    part = view.ask("raster", window=[9.5, 2.0, 20.5, 6.0], width=300, height=200)
    assert part["window"] == [9.5, 2.0, 20.5, 6.0] and part["alt"].endswith("\n55 rows")
    assert part["svg"].startswith("<svg") and "data:image/png;base64," in part["svg"]
    # Nothing is there: axes of the window, and no row.
    nothing = view.ask("raster", window=[200.0, 200.0, 300.0, 300.0], width=300, height=200)
    assert nothing["alt"].endswith("\n0 rows")
    assert "has no area" in view.fails("raster", window=[1.0, 0.0, 1.0, 2.0], width=300, height=200)


def test_colours_and_logarithms_stay_in_other_windows(lattice):
    state = shown(run_as(lattice, "mean", 'lattice.plot().raster("x", "y").color("k").log_x().how("linear").size(300, 200)'))[RASTER]
    # Where x is 0, there is no logarithm.
    assert "40 rows with no finite position left out" in state["alt"] and "mean(k)" in state["svg"]
    view = View(lattice, state["view"])
    part = view.ask("raster", window=[0.0, 0.0, 1.0, 39.0], width=300, height=200)
    assert part["alt"].endswith("\n400 rows") and "mean(k)" in part["svg"]


def test_wrong_input_is_told(lattice):
    def error(code: str) -> str:
        return lattice.fails(code).error["evalue"]

    assert "no shading `loud`" in error('lattice.plot().raster("x", "y").how("loud")')
    assert "`bar` does not take `how`" in error('lattice.plot().bar("x", "y").how("log")')
    assert "`x` takes one column, and there are 2" in error('lattice.plot().raster(["x", "k"], "y")')
    assert "`color` takes one column, and there are 2" in error('lattice.plot().scatter("x", "y").color(["k", "x"])')
