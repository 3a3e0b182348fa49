"""Pictures of graphs over the protocol: the bundle, the selection in later cells, rasters with buffers. The graphs are NetworkX's
karate club and paths of known shape."""

import base64
import json
import struct
import uuid

import pytest

from test_tables import Table, run_as

GRAPH = "application/vnd.onrush.graph.v1+json"
KARATE = (
    "0 1 0 2 0 3 0 4 0 5 0 6 0 7 0 8 0 10 0 11 0 12 0 13 0 17 0 19 0 21 0 31 1 2 1 3 1 7 1 13 1 17 1 19 1 21 1 30 2 3 2 7 2 8 2 9 2 13"
    " 2 27 2 28 2 32 3 7 3 12 3 13 4 6 4 10 5 6 5 10 5 16 6 16 8 30 8 32 8 33 9 33 13 33 14 32 14 33 15 32 15 33 18 32 18 33 19 33 20 32"
    " 20 33 22 32 22 33 23 25 23 27 23 29 23 32 23 33 24 25 24 27 24 31 25 31 26 29 26 33 27 33 28 31 28 33 29 32 29 33 30 32 30 33 31 32"
    " 31 33 32 33"
)


class View(Table):
    """A front end's end of a picture's comm."""

    def __init__(self, kernel, view: str):
        self.client, self.comm = kernel.client, uuid.uuid4().hex
        self.events, self.count, self.closed = [], 0, False
        self.buffers = []
        self.send("comm_open", {"target_name": "onrush.visual", "data": {"view": view}})

    def picture(self, **params) -> tuple[dict, bytes]:
        """A raster: the answer and its buffer."""
        result, [png] = self.ask_with_buffers("raster", **params)
        return result, bytes(png)

    def ask_with_buffers(self, method: str, **params) -> tuple[dict, list]:
        number, found = self.start(method, **params), None
        while found is None:
            message = self.client.get_iopub_msg(timeout=60)
            data = message["content"].get("data", {})
            if message["msg_type"] == "comm_msg" and data.get("id") == number:
                found = data
        assert "error" not in found, found
        return found["result"], message["buffers"]


def shown(ran) -> dict:
    [saved] = [bundle for bundle in ran.bundles if GRAPH in bundle]
    return saved


@pytest.fixture(scope="module")
def karate(kernel):
    ends = KARATE.split()
    source, target = ", ".join(ends[0::2]), ", ".join(ends[1::2])
    kernel.ok(f"let karate = frame! {{ a: [{source}], b: [{target}] }}; let g = karate.graph(\"a\", \"b\");")
    return kernel


def test_the_bundle_of_a_picture(karate):
    bundle = shown(run_as(karate, "plot", 'g.plot().layout("circular").size("degree").title("Karate")'))
    data = bundle[GRAPH]
    assert (data["nodes"], data["edges"], data["directed"], data["title"], data["view"]) == (34, 78, False, "Karate", None)
    points = data["points"]
    assert points["ids"] == [str(i) for i in range(34)]
    links = struct.unpack(f"<{2 * 78}H", base64.b64decode(points["links"]))
    pairs = {tuple(sorted(map(int, (points["ids"][a], points["ids"][b])))) for a, b in zip(links[::2], links[1::2])}
    numbers = list(map(int, KARATE.split()))
    assert pairs == {tuple(sorted(pair)) for pair in zip(numbers[::2], numbers[1::2])}
    degrees = struct.unpack("<34I", base64.b64decode(points["degrees"]))
    assert degrees == tuple(numbers.count(i) for i in range(34))
    assert "<svg" in bundle["image/svg+xml"] and "Karate" in bundle["image/svg+xml"]
    assert bundle["text/plain"].splitlines()[1].startswith("graph of 34 nodes and 78 edges: circular_layout, size = degree")
    assert len(json.dumps(data)) < 20_000


def test_a_selection_is_a_frame_in_a_later_cell(karate):
    ran = run_as(karate, "view", "let v = g.view(); v")
    view = View(karate, shown(ran)[GRAPH]["view"])
    assert view.ask("state") == {"nodes": [], "raster": False}
    assert karate.value("v.selection().height()") == "0"
    assert view.ask("select", nodes=["33", "0", "7"]) == {"count": 3}
    assert karate.value('v.selection().column::<i64>("node").to_vec()') == "[0, 7, 33]"
    assert karate.value('v.selection().column::<u64>("degree").iter().map(|d| *d as i64).collect::<Vec<_>>()') == "[16, 4, 17]"
    # 0 and 7 are linked; 33 is with neither.
    assert karate.value("v.selected_graph().number_of_edges()") == "1"
    # Another output of the same view hears of it.
    other = View(karate, shown(run_as(karate, "again", "v.clone()"))[GRAPH]["view"])
    assert other.ask("state")["nodes"] == ["33", "0", "7"]
    view.start("select", nodes=["1"])
    other.read(lambda kind, data: data if data.get("method") == "selected" and data["params"] == {"nodes": ["1"]} else None)
    assert "has no method" in view.fails("destroy")
    assert "parameters are wrong" in view.fails("select", nodes=[1])
    assert "is not a raster" in view.fails("raster", window=[0, 0, 1, 1], width=10, height=10)


def test_a_view_that_nobody_shows_is_refused(karate):
    view = View(karate, "graph-of-nobody")
    view.read(lambda kind, _: True if kind == "comm_close" else None)
    # The cell runs again: what it had shown is gone, and the last selection is kept for the variable.
    ran = run_as(karate, "once", "let w = g.view(); w")
    first = View(karate, shown(ran)[GRAPH]["view"])
    first.ask("select", nodes=["5"])
    run_as(karate, "once", "1 + 1")
    assert karate.value("w.selection().height()") == "1"
    gone = View(karate, shown(ran)[GRAPH]["view"])
    gone.read(lambda kind, _: True if kind == "comm_close" else None)


def test_a_comm_lives_as_long_as_an_output_of_its_picture(karate):
    first = shown(run_as(karate, "first", "let shared = g.view(); shared.clone()"))[GRAPH]["view"]
    assert shown(run_as(karate, "second", "shared.clone()"))[GRAPH]["view"] == first
    # Opened by the renderers of both outputs.
    views = [View(karate, first), View(karate, first)]
    assert views[1].ask("select", nodes=["2"]) == {"count": 1}
    # The first cell runs again and shows nothing: the second one still shows the picture.
    run_as(karate, "first", "1 + 1")
    for view in views:
        assert view.ask("state") == {"nodes": ["2"], "raster": False}
    assert View(karate, first).ask("state")["nodes"] == ["2"]
    # The last output is gone.
    late = View(karate, first)
    assert late.ask("state")["nodes"] == ["2"]
    open_comms = lambda: set(karate.client.comm_info("onrush.visual", reply=True, timeout=60)["content"]["comms"])
    mine = {view.comm for view in [*views, late]}
    assert mine <= open_comms()
    run_as(karate, "second", "1 + 1")
    assert not mine & open_comms()


def test_a_large_graph_is_a_raster_that_zooms(karate):
    karate.ok(
        "let path = sql(\"select n as a, n + 1 as b, n::double as x, 0.0 as y from range(20000) as t(n)\");"
        ' let nodes = sql("select n as id, n::double as x, 10.0 * (n % 2) as y from range(20001) as t(n)");'
        ' let long = path.graph("a", "b").with_nodes(nodes, "id");'
    )
    data = shown(run_as(karate, "raster", 'long.view().positions("x", "y")'))[GRAPH]
    assert data["nodes"] == 20001 and "points" not in data
    assert base64.b64decode(data["raster"]["png"]).startswith(b"\x89PNG")
    view = View(karate, data["view"])
    assert view.ask("state") == {"nodes": [], "raster": True}
    # Nodes 100 to 110 are inside, and half of them below the window.
    result, png = view.picture(window=[99.5, 5.0, 110.5, 15.0], width=64, height=32)
    assert (result["nodes"], result["window"]) == (5, [99.5, 5.0, 110.5, 15.0])
    assert png.startswith(b"\x89PNG") and struct.unpack(">2I", png[16:24]) == (64, 32)
    assert "has no area" in view.fails("raster", window=[1, 0, 1, 1], width=10, height=10)
