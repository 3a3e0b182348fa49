"""Graphs over frames: results with the ids of the data, and errors that name what is wrong.

Expected figures are NetworkX 3.6.1's on `notebooks/data/flights-airport.csv`, unless a test says otherwise.
"""

from pathlib import Path

import pytest

from driver import Kernel

DATA = Path(__file__).parents[2] / "notebooks" / "data"
ROUTES = 'let g = read_csv("flights-airport.csv").digraph("origin", "destination").weight("count");'


@pytest.fixture
def kernel(kernelspecs):
    kernel = Kernel(kernelspecs, DATA)
    yield kernel
    kernel.close()


def close(found: str, wanted: float, relative: float = 1e-9):
    assert float(found) == pytest.approx(wanted, rel=relative)


def test_ranks_paths_and_components_of_airports(kernel):
    kernel.ok(ROUTES)
    assert kernel.value("g.number_of_nodes()") == "305"
    assert kernel.value("g.number_of_edges()") == "5366"
    # pagerank(DiGraph): ATL, ORD, DFW with weights; ATL first without.
    kernel.ok('let top = g.pagerank().sort([desc("pagerank")]).head(3);')
    assert kernel.value('top.column::<String>("node").to_vec()') == '["ATL", "ORD", "DFW"]'
    close(kernel.value('top.column::<f64>("pagerank")[0]'), 0.059698598502203305, 1e-5)
    plain = 'g.unweighted().pagerank().filter(x!(node == "ATL")).value::<f64>(x!(pagerank.sum()))'
    close(kernel.value(plain), 0.03594149733463215, 1e-5)
    kernel.ok("let u = g.to_undirected();")
    close(kernel.value("u.transitivity()"), 0.3876760438048005, 1e-12)
    close(kernel.value("u.average_clustering()"), 0.6570936775036302, 1e-12)
    assert kernel.value("u.core_number().value::<i64>(x!(core_number.max()))") == "31"
    assert kernel.value("u.triangles().value::<i64>(x!(triangles.sum()))") == str(3 * 21783)
    assert kernel.value("u.number_connected_components()") == "1"
    assert kernel.value("u.is_connected()") == "true"
    assert kernel.value('g.shortest_path_length("ABE", "HNL")') == "2"
    # No route occurs twice.
    assert kernel.value('g.bfs("ABE").depth_limit(1).height()') == kernel.value(
        'g.edges().filter(x!(origin == "ABE")).height() + 1'
    )


def test_ids_of_other_types_and_rows_without_an_end(kernel):
    # By hand: 10 - 20 - 30, and 40 alone with itself.
    kernel.ok(
        "let f = frame! { a: [Some(10), Some(20), None, Some(40)], b: [20, 30, 10, 40], w: [1.5, 2.0, 9.0, 1.0] };"
        'let g = f.graph("a", "b").weight("w");'
    )
    assert kernel.value("g.number_of_nodes()") == "4"
    assert kernel.value('g.connected_components().column::<i64>("component").to_vec()') == "[0, 0, 0, 1]"
    close(kernel.value("g.dijkstra_path_length(10, 30)"), 3.5)
    assert kernel.value('g.degree().column::<i64>("degree").to_vec()') == "[1, 2, 1, 2]"
    assert kernel.value("g.has_path(10, 40)") == "false"


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ('g.bfs("JFX").height()', ["no node `JFX`", "did you mean `JAX`?"]),
        ('f.graph("a", "c")', ["no column `c`", "a, b, w, s"]),
        ('f.graph("a", "s").degree().height()', ["`s` is `str`", "both ends of an edge need one type"]),
        ('f.graph("a", "b").weight("s").pagerank().height()', ["the weight `s` is `str`", "expected numbers"]),
        ('f.graph("a", "b").weight("w").pagerank().height()', ["the weight `w` is null in row 1"]),
        ('f.graph("a", "b").shortest_path(1, 5).height()', ["no path leads from `1` to `5`"]),
        ('f.digraph("a", "b").connected_components().height()', ["directed"]),
        ('f.graph("a", "b").pagerank().alpha(2.0).height()', ["`alpha` is 2", "from 0 to 1"]),
    ],
)
def test_wrong_input_is_named(kernel, cell, said):
    kernel.ok(ROUTES)
    kernel.ok('let f = frame! { a: [1, 2, 5], b: [2, 3, 6], w: [Some(1.0), None, Some(2.0)], s: ["x", "y", "z"] };')
    message = kernel.fails(cell).error_text
    for part in said:
        assert part in message, message
