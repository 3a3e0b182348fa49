"""Maps from cells: base maps under rasters and points, other windows of a live map, choropleths. Positions are those of d3-geo 3.1.2."""

import math
import re

import pytest

from test_graph_views import View
from test_rasters import RASTER, shown
from test_tables import run_as

PLACES = """let places = frame! {
    lon: vec![-73.7789, -87.9048, -118.4081, 2.55],
    lat: vec![40.6397, 41.9786, 33.9425, 49.01],
    state: vec!["NY", "IL", "CA", "Atlantis"],
    delay: vec![12.5, 9.0, 4.0, 1.0],
};"""


@pytest.fixture(scope="module")
def places(kernel):
    kernel.ok(PLACES)
    return kernel


def drawn(ran) -> dict:
    [bundle] = [bundle for bundle in ran.bundles if "image/svg+xml" in bundle]
    return bundle


def test_a_raster_has_a_base_map_in_every_window(places):
    bundle = shown(run_as(places, "map", 'places.plot().raster("lon", "lat").map().size(400, 300)'))
    state = bundle[RASTER]
    assert "map = web_mercator" in bundle["text/plain"] and "4 rows" in bundle["text/plain"]
    svg = state["svg"]
    assert svg.index('class="base-map"') < svg.index("<image ") and "Natural Earth" in svg
    x0, y0, x1, y1 = state["window"]
    left, top, width, height = state["frame"]
    # A pixel is as wide as it is high, and the frame has the aspect of the window.
    assert math.isclose((x1 - x0) / 400, (y1 - y0) / 300, rel_tol=1e-9)
    assert math.isclose((x1 - x0) / width, (y1 - y0) / height, rel_tol=0.01)

    view = View(places, state["view"])
    assert view.ask("state") == {"nodes": [], "raster": True}
    # Around New York: Web Mercator of (-73.7789, 40.6397) is (-1.287685, 0.777554).
    part = view.ask("raster", window=[-1.35, 0.75, -1.25, 0.78], width=400, height=300)
    assert part["alt"].endswith("\n1 row") or part["alt"].endswith("\n1 rows")
    px0, py0, px1, py1 = part["window"]
    assert math.isclose((px1 - px0) / 400, (py1 - py0) / 300, rel_tol=1e-9)
    assert "US Census Bureau" in part["svg"]


def test_points_and_values_are_on_maps(places):
    bundle = drawn(places.ok('places.plot().scatter("lon", "lat").color("delay").projection("albers_usa")'))
    svg = bundle["image/svg+xml"]
    assert "1 point with no position on the map left out" in svg and 'class="base-map"' in svg
    assert "application/vnd.vegalite.v5+json" not in bundle
    values = drawn(places.ok("scatter([13.4, 2.35], [52.5, 48.86]).map()"))
    assert "map = web_mercator" in values["text/plain"] and 'class="base-map"' in values["image/svg+xml"]


def test_a_choropleth_names_what_it_did_not_know(places):
    bundle = drawn(places.ok('places.plot().choropleth("state", x!(delay.mean())).title("Delays")'))
    text = bundle["text/plain"]
    assert "choropleth: 3 states, colour = mean(delay)" in text and "1 value is not known: 'Atlantis'" in text
    assert "New York 12.5, Illinois 9.0, California 4.0" in text
    titles = re.findall(r"<title>([^<]*)</title>", bundle["image/svg+xml"])
    assert any(title.startswith("New York: 12.5") for title in titles)
    assert 'class="color-bar"' in bundle["image/svg+xml"]


def test_wrong_input_is_told(places):
    def error(code: str) -> str:
        return places.fails(code).error["evalue"]

    assert "no projection `mollweide`" in error('places.plot().scatter("lon", "lat").projection("mollweide")')
    assert "cannot be drawn on a map" in error('places.plot().line("lon", "lat").map()')
    assert "`scatter` does not take `shapes`" in error('places.plot().scatter("lon", "lat").shapes("states")')
    assert "no shapes `towns`" in error('places.plot().choropleth("state", "delay").shapes("towns")')
    assert "is not a number" in error('places.plot().scatter("state", "lat").map()')
    assert "names no country and no state" in error('places.filter(x!(delay < 2)).plot().choropleth("state", "delay")')
