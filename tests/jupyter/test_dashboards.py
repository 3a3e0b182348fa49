"""Live dashboards over the protocol: the bundle, filters from the front end and from cells, sums of a brush, a page.

Counts are DuckDB's, of the same rows by SQL."""

import base64
import gzip
import json
import random
import re
import struct

import duckdb
import pytest

from test_graph_views import View
from test_tables import run_as

DASHBOARD = "application/vnd.onrush.dashboard.v1+json"
ROWS = """select n, n * 7919 % 500 as fare, case n % 5 when 0 then 'card' when 1 then 'cash' when 2 then null else 'card' end as payment,
    n % 24 as hour, (n * 31 % 1000) / 100.0 as x, (n * 17 % 700) / 100.0 as y from range(5000) as t(n)"""
CELL = """let d = dashboard(&trips)
    .number(x!(trips = len(), mean = fare.mean()))
    .histogram("fare").bar("payment").bar("hour").heatmap("hour", "fare").raster("x", "y")
    .table(["n", "fare"]).title("Trips");
d"""


@pytest.fixture(scope="module")
def trips(kernel):
    kernel.ok(f'let trips = sql("{" ".join(ROWS.split())}");')
    return kernel


@pytest.fixture(scope="module")
def duck():
    connection = duckdb.connect()
    connection.execute(f"create table trips as {ROWS}")
    return connection


def shown(ran) -> dict:
    [bundle] = [bundle for bundle in ran.bundles if DASHBOARD in bundle]
    return bundle


def rows_of(state: dict, duck, filters: list[dict]) -> int:
    """The rows that pass, by DuckDB."""
    conditions = ["true"]
    for one in filters:
        view = state["views"][one["view"]]
        if "box" in one:
            x0, y0, x1, y1 = one["box"]
            conditions.append(f"x between {x0!r} and {x1!r} and y between {y0!r} and {y1!r}")
            continue
        parts = []
        for low, high in one["slots"]:
            for slot in range(low, high):
                name = view["slots"][slot]
                if view["title"] == "payment":
                    parts.append("payment is null" if name == "missing" else f"payment = '{name}'")
                elif view["title"] == "hour":
                    parts.append(f"hour = {name}")
                else:
                    first, _, last = name.partition(" to ")
                    parts.append(f"fare between {first} and {last or first}")
        conditions.append("(" + " or ".join(parts) + ")")
    return duck.execute("select count(*) from trips where " + " and ".join(conditions)).fetchone()[0]


def test_a_dashboard_is_shown(trips):
    bundle = shown(run_as(trips, "dashboard", CELL))
    state = bundle[DASHBOARD]
    assert [view["kind"] for view in state["views"]] == ["numbers", "slots", "slots", "slots", "cells", "raster", "table"]
    assert state["summary"] == "all 5\u202f000 rows" and state["filters"] == []
    assert state["views"][0]["cells"][0] == {"name": "trips", "text": "5\u202f000"}
    payment = state["views"][2]
    # 3 of 5 rows are card, one cash, one null.
    assert payment["slots"] == ["card", "cash", "missing"] and payment["all"] == [3000, 1000, 1000]
    assert bundle["text/plain"].startswith("Trips: all 5\u202f000 rows")
    assert "image/png" in bundle


def test_counts_are_those_of_duckdb_for_random_filters(trips, duck):
    state = shown(run_as(trips, "dashboard", CELL))[DASHBOARD]
    view = View(trips, state["view"])
    assert view.ask("state") == {"filters": []}
    dice = random.Random(3)
    for _ in range(12):
        filters = []
        for at in (1, 2, 3):
            count = len(state["views"][at]["slots"])
            if dice.random() < 0.6:
                low = dice.randrange(count)
                filters.append({"view": at, "slots": [[low, dice.randrange(low + 1, count + 1)]]})
        if dice.random() < 0.5:
            filters.append({"view": 5, "box": [dice.uniform(0, 4), 0.5, dice.uniform(5, 9), 6.0]})
        drawn = view.ask("dashboard", filters=filters, moving=False)
        assert drawn["selected"] == rows_of(state, duck, filters), filters
        # The same rows as a frame.
        assert trips.ok("println!(\"{}\", d.selection().len());").stdout.strip() == str(drawn["selected"])
        for at in (1, 2, 3):
            others = [one for one in filters if one["view"] != at]
            assert sum(drawn["views"][at]["shown"]) == rows_of(state, duck, others)
        # And the number on the card.
        assert drawn["views"][0]["cells"][0]["text"].replace("\u202f", "") == str(drawn["selected"])


def test_the_sums_of_a_brush(trips, duck):
    state = shown(run_as(trips, "dashboard", CELL))[DASHBOARD]
    view = View(trips, state["view"])
    filters = [{"view": 3, "slots": [[6, 12]]}]
    answer, buffers = view.ask_with_buffers("cubes", slots=1, filters=filters)
    [section] = [one for one in answer["sections"] if one["name"] == "counts_2"]
    start = section["offset"]
    sums = struct.unpack(f"<{section['length'] // 4}I", bytes(buffers[0])[start : start + section["length"]])
    brushed = [sums[5 * 3 + slot] - sums[2 * 3 + slot] for slot in range(3)]
    drawn = view.ask("dashboard", filters=[{"view": 1, "slots": [[2, 5]]}, *filters], moving=True)
    assert drawn["views"][2]["shown"] == brushed
    assert drawn["views"][6]["kind"] == "unchanged"


def test_cells_set_and_read_filters(trips):
    state = shown(run_as(trips, "dashboard", CELL))[DASHBOARD]
    view = View(trips, state["view"])
    trips.ok('d.set("hour", 7..=9); d.set("payment", ["card"]);')
    assert view.ask("state")["filters"] == [{"view": 2, "slots": [[0, 1]]}, {"view": 3, "slots": [[7, 10]]}]
    assert trips.ok("println!(\"{}\", d.code());").stdout.strip() == 'f.filter(x!(payment == "card" && hour in [7, 8, 9]))'
    # What is written runs.
    same = 'println!("{}", trips.filter(x!(payment == "card" && hour in [7, 8, 9])).len() == d.selection().len());'
    assert trips.ok(same).stdout.strip() == "true"
    # Shown again, it has the filters.
    again = shown(run_as(trips, "again", "d"))
    assert again[DASHBOARD]["sentences"] == ["payment: card", "hour: 7, 8, 9"]
    trips.ok("d.clear();")
    assert view.ask("state")["filters"] == []


def test_wrong_input_is_told(trips):
    def error(code: str) -> str:
        return trips.fails(code).error["evalue"]

    assert "without a view" in error("dashboard(&trips)")
    assert "`bar` does not take `every`" in error('dashboard(&trips).bar("hour").every("1d")')
    assert "`range` has nothing to work on" in error("dashboard(&trips).range(0, 1)")
    assert "fares" in error('dashboard(&trips).histogram("fares")')
    assert "a histogram needs numbers or times" in error('dashboard(&trips).histogram("payment")')
    trips.ok('let e = dashboard(&trips).bar("payment").histogram("fare");')
    assert "no histogram, bar view or line is called `hour`" in error('e.set("hour", 3);')
    assert "`payment` has no bar for \"gold\"" in error('e.set("payment", "gold");')
    assert "cannot be selected in a dashboard" in error('e.set("payment", ());')


def test_a_page_and_a_picture(trips, tmp_path):
    page, picture = tmp_path / "d.html", tmp_path / "d.svg"
    trips.ok(f'd.set("hour", 3); let d = d.save("{page}").save("{picture}");')
    text = page.read_text()
    assert "default-src 'none'" in text and "https://" not in text
    assert picture.read_text().startswith("<svg")
    trips.ok("d.clear();")


@pytest.mark.parametrize(
    ("wanted", "condition"),
    [
        ("18..143", "fare >= 18 and fare < 143"),
        ("100..=163", "fare between 100 and 163"),
        ("7.5..33.25", "fare >= 7.5 and fare < 33.25"),
        ("481..", "fare >= 481"),
        ("..=2", "fare <= 2"),
        ("[3, 77, 480]", "fare in (3, 77, 480)"),
    ],
)
def test_bounds_in_code_are_exact(trips, duck, wanted, condition):
    state = shown(run_as(trips, "dashboard", CELL))[DASHBOARD]
    view = View(trips, state["view"])
    expected = duck.execute(f"select count(*) from trips where {condition}").fetchone()[0]
    assert trips.ok(f'd.set("fare", {wanted}); println!("{{}}", d.selection().len());').stdout.strip() == str(expected)
    # What a front end gets, it gives back.
    filters = view.ask("state")["filters"]
    drawn = view.ask("dashboard", filters=filters, moving=False)
    assert drawn["selected"] == expected
    hours = duck.execute(f"select hour, count(*) from trips where {condition} group by hour").fetchall()
    of_hours = dict(zip(drawn["views"][3]["slots"], drawn["views"][3]["shown"]))
    assert {str(hour): count for hour, count in hours} == {name: count for name, count in of_hours.items() if count}
    code = trips.ok('println!("{}", d.code());').stdout.strip().replace("f.filter", "trips.filter")
    assert trips.ok(f'println!("{{}}", {code}.len());').stdout.strip() == str(expected)
    trips.ok("d.clear();")


def test_a_page_has_the_rows_of_exact_bounds(trips, duck, tmp_path):
    page = tmp_path / "exact.html"
    trips.ok(f'd.set("fare", 18..143); let d = d.save("{page}"); d.clear();')
    text = page.read_text()
    about = json.loads(re.search(r'id="about">(.*?)</script>', text, re.S)[1])
    sections = {one["name"]: one for one in about["sections"]}
    rows = gzip.decompress(base64.b64decode(re.search(r'id="rows">(.*?)</script>', text, re.S)[1]))
    kept = sections["kept_1"]
    passing = sum(rows[kept["offset"] : kept["offset"] + kept["length"]])
    assert passing == duck.execute("select count(*) from trips where fare >= 18 and fare < 143").fetchone()[0]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"view": 1, "lasso": [[3.5, 1.0]]}, "a histogram is not filtered by a polygon"),
        ({"view": 1, "slots": [[5, 2]]}, "in order and without overlaps"),
        ({"view": 1, "slots": [[0, 1_000_000_000]]}, "in order and without overlaps"),
        ({"view": 9, "slots": [[0, 1]]}, "there is no view 9"),
        ({"view": 5, "box": [3, 1, 2, 0]}, "finite edges, the lower ones first"),
        ({"view": 5, "lasso": [[3.5, 1.0]]}, "a polygon needs 3 to 64 corners"),
    ],
)
def test_a_refused_filter_changes_nothing(trips, wrong, told):
    state = shown(run_as(trips, "dashboard", CELL))[DASHBOARD]
    view = View(trips, state["view"])
    before = [{"view": 3, "slots": [[7, 10]]}]
    selected = view.ask("dashboard", filters=before, moving=False)["selected"]
    message = view.fails("dashboard", filters=[wrong], moving=False)
    assert told in message and "Slots" not in message and "Lasso" not in message
    assert view.ask("state")["filters"] == before
    assert trips.ok('println!("{}", d.selection().len());').stdout.strip() == str(selected)
    trips.ok("d.clear();")
