"""Graphs over frames: results with the ids of the data, and errors that name what is wrong.

Expected figures are NetworkX 3.6.1's on `notebooks/data/flights-airport.csv`, unless a test says otherwise.
"""

import time
from pathlib import Path

import pytest

from driver import Kernel
from test_models import until_shown

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
        (
            'f.with_columns(x!(n = a - 3)).graph("a", "b").weight("n").single_source_dijkstra(1).height()',
            ["row 0", "is -2", "takes none below 0"],
        ),
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


def test_parts_of_a_graph(kernel):
    # ego_graph, k_core and subgraph of NetworkX on the digraph and on its undirected graph.
    kernel.ok(ROUTES + "let u = g.to_undirected().simple();")
    assert kernel.value("u.number_of_edges()") == "2834"
    assert kernel.value("u.edges().columns()") == '["origin", "destination", "n", "count"]'
    ego = 'let e = g.ego_graph("DEN");'
    kernel.ok(ego)
    assert kernel.value("(e.number_of_nodes(), e.number_of_edges())") == "(128, 3732)"
    kernel.ok('let e = g.ego_graph("DEN").undirected(true).center(false);')
    assert kernel.value("(e.number_of_nodes(), e.number_of_edges())") == "(127, 3483)"
    kernel.ok("let k = u.k_core(20);")
    assert kernel.value("(k.number_of_nodes(), k.number_of_edges())") == "(68, 1407)"
    kernel.ok("let big = u.filter_nodes(x!(degree > 50));")
    assert kernel.value("(big.number_of_nodes(), big.number_of_edges())") == "(35, 553)"
    # By hand: ABE has routes from and to both hubs.
    kernel.ok('let three = g.subgraph(frame! { node: ["ATL", "ORD", "ABE"] });')
    assert kernel.value("three.number_of_nodes()") == "3"
    assert kernel.value('three.filter_edges(x!(origin == "ATL" && destination == "ORD")).number_of_edges()') == "1"


def test_options_and_results_of_all_kinds(kernel):
    # The functions of NetworkX with these names and options, on the digraph and on its undirected graph.
    kernel.ok(ROUTES + "let u = g.to_undirected().simple();")
    close(kernel.value("u.average_clustering_with().count_zeros(false).value()"), 0.7859355750533614, 1e-12)
    close(kernel.value("u.average_shortest_path_length()"), 2.3260569456427955, 1e-12)
    close(kernel.value('g.degree_assortativity_coefficient_with().x("in").y("out").value()'), -0.4305854018765057)
    close(kernel.value("g.reciprocity()"), 0.9437197167349981, 1e-12)
    passing = "u.betweenness_centrality().normalized(false).value::<f64>(x!(betweenness_centrality.max()))"
    close(kernel.value(passing), 9277.882930471065)
    pairs = 'u.resource_allocation_index().pairs(frame! { a: ["ABE"], b: ["HNL"] })'
    close(kernel.value(pairs + ".value::<f64>(x!(resource_allocation_index.max()))"), 0.012447013487475915, 1e-12)
    assert kernel.value("(u.bridges().height(), u.articulation_points().height())") == "(46, 12)"
    assert kernel.value("(u.k_truss(20).height(), u.radius(), u.center().height())") == "(1196, 3, 54)"
    assert kernel.value('g.descendants("ABE").height()') == "303"
    message = kernel.fails('g.average_neighbor_degree().source("up").height()').error_text
    assert "`source` is `up`, expected one of `in`, `out`, `in+out`" in message, message


def test_parts_keep_nodes_without_edges_and_names_that_clash_are_errors(kernel, tmp_path):
    # By hand, as NetworkX's subgraph, ego_graph and k_core: 1 - 2, 3 -> 4, and 5 alone with itself.
    kernel.ok("let f = frame! { a: [1, 3, 5], b: [2, 4, 5], n: [1, 2, 3], source: [7, 8, 9] };"
              'let g = f.digraph("a", "b");')
    kernel.ok("let s = g.subgraph(frame! { node: [1, 2, 4, 9] });")
    assert kernel.value("(s.number_of_nodes(), s.number_of_edges())") == "(3, 1)"
    assert kernel.value("g.ego_graph(4).number_of_nodes()") == "1"
    assert kernel.value("g.filter_nodes(x!(node >= 4)).number_of_nodes()") == "2"
    assert kernel.value("g.reverse().ego_graph(4).number_of_nodes()") == "2"
    kernel.ok('let p = frame! { id: [1, 2], name: ["x", "y"], degree: [7, 8] };')
    assert kernel.value('g.with_nodes(&p, "id").reverse().to_undirected().nodes().columns()') == (
        '["node", "degree", "name", "degree_right"]'
    )
    assert "column `name` already" in kernel.fails('g.with_nodes(&p, "id").with_nodes(&p, "id")').error_text
    assert "`simple_agg`" in kernel.fails('g.weight("n").simple()').error_text
    error = kernel.fails(f'g.write_graph("{tmp_path}/x.graphml")').error_text
    assert "a column `source`" in error and "rename" in error
    kernel.ok(f'f.drop(["source"]).digraph("a", "b").with_nodes(&p, "id").write_graph("{tmp_path}/x.graphml");')
    assert 'attr.name="degree"' in (tmp_path / "x.graphml").read_text()
    assert "degree_right" not in (tmp_path / "x.graphml").read_text()


def test_a_node_without_edges_is_still_a_node(kernel):
    # By hand, as remove_edges_from and subgraph_view(filter_edge=) of NetworkX: 1 - 2 - 3 - 4, 5 with itself, and a row
    # without an end.
    kernel.ok(
        "let f = frame! { a: [1, 2, 3, 5, 9], b: [Some(2), Some(3), Some(4), Some(5), None],"
        "                 toll: [true, false, false, true, true] };"
        'let g = f.graph("a", "b"); let open = g.filter_edges(x!(!toll));'
    )
    assert kernel.value("(open.number_of_nodes(), open.number_of_edges())") == "(5, 2)"
    assert kernel.value("(open.has_path(1, 4), open.has_path(2, 4))") == "(false, true)"
    assert kernel.value("open.number_connected_components()") == "3"
    assert kernel.value("open.filter_edges(x!(a == 2)).isolates().column::<i64>(\"node\").to_vec()") == "[1, 4, 5]"
    assert kernel.value("g.filter_edges(x!(a > 7)).number_of_nodes()") == "5"
    assert kernel.value("g.without_self_loops().number_of_nodes()") == "5"
    kernel.ok("let more = frame! { a: [7], b: [Some(8)], toll: [false] };")
    assert kernel.value("g.filter_edges(x!(a == 1)).add_edges(&more).number_of_nodes()") == "7"


def test_arguments_of_graphs_are_expressions_lists_and_references(kernel):
    # By hand.
    kernel.ok(
        "let f = frame! { a: [1, 2, 1], b: [2, 3, 3], km: [6.0, 3.0, 90.0], speed: [3.0, 1.0, 10.0],"
        "                 weight: [1, 1, 1] };"
        'let g = f.graph("a", "b");'
    )
    close(kernel.value("g.weight(x!(km / speed)).dijkstra_path_length(1, 3)"), 5.0)
    close(kernel.value("g.weight(x!(km = km / speed)).dijkstra_path_length(1, 3)"), 5.0)
    close(kernel.value('g.weight(col("km")).dijkstra_path_length(1, 3)'), 9.0)
    assert kernel.value("g.weight(x!(km / speed)).edges().columns()") == (
        '["a", "b", "km", "speed", "weight", "weight_2"]'
    )
    assert "no column `miles`" in kernel.fails('g.weight("miles")').error_text
    assert "so is a column of ids" in kernel.fails("g.weight(x!(a = km))").error_text
    assert kernel.value("g.subgraph([1, 2]).number_of_edges()") == "1"
    assert kernel.value("g.subgraph(vec![1, 3, 7]).number_of_nodes()") == "2"
    kernel.ok("let p = frame! { node: [3], w: [1.0] }; let r = &p; let ranks = g.pagerank().personalization(&r);")
    assert kernel.value('ranks.sort(desc("pagerank")).head(1).column::<i64>("node").to_vec()') == "[3]"
    near = "g.multi_source_dijkstra([1, 3])"
    assert kernel.value(near + ".columns()") == '["node", "distance", "predecessor", "source"]'
    assert kernel.value(near + '.column::<i64>("source").to_vec()') == "[1, 1, 3]"
    kernel.ok('let zero = frame! { a: [0.0, 1.5, 2.5], b: [1.5, -0.0, 1.5] }.graph("a", "b");')
    assert kernel.value("(zero.number_of_nodes(), zero.subgraph([-0.0, 1.5]).number_of_edges())") == "(3, 2)"
    kernel.ok('let two = frame! { a: ["x"], b: [1], c: ["y"], d: [2] }.graph(["a", "b"], ["c", "d"]);')
    assert kernel.value('two.subgraph([("x", 1), ("z", 5)]).number_of_nodes()') == "1"


def test_frames_as_parameters(kernel):
    # pagerank, modularity and jaccard_coefficient of NetworkX.
    kernel.ok(ROUTES)
    kernel.ok('let p = g.pagerank().personalization(frame! { node: ["ATL"], w: [1.0] }).sort([desc("pagerank")]);')
    close(kernel.value('p.column::<f64>("pagerank")[0]'), 0.2104673030757999, 1e-5)
    kernel.ok(
        "let u = g.to_undirected();"
        'let halves = u.nodes().select(x!(node, community = node < "M"));'
    )
    close(kernel.value("u.modularity(&halves)"), -0.002486492561192044, 1e-9)
    kernel.ok('let j = u.jaccard_coefficient().pairs(frame! { a: ["ATL", "ABE"], b: ["ORD", "HNL"] });')
    close(kernel.value('j.column::<f64>("jaccard_coefficient")[0]'), 0.6231155778894473, 1e-12)
    error = kernel.fails('g.pagerank().personalization(frame! { node: ["ATX"], w: [1.0] })').error_text
    assert "no node `ATX`" in error and "did you mean" in error


def test_ids_of_several_columns_and_nodes_without_edges(kernel):
    # By hand: (Rome, IT) - (Rome, US) - (Oslo, NO), and (Bern, CH) without an edge.
    kernel.ok(
        'let f = frame! { c: ["Rome", "Rome"], s: ["IT", "US"], to: ["Rome", "Oslo"], ts: ["US", "NO"] };'
        'let cities = frame! { city: ["Bern", "Rome"], state: ["CH", "US"], people: [130, 36] };'
        'let g = f.graph(["c", "s"], ["to", "ts"]).add_nodes(&cities, ["city", "state"]);'
    )
    assert kernel.value("g.number_of_nodes()") == "4"
    assert kernel.value("g.nodes().columns()") == '["node_1", "node_2", "degree", "people"]'
    assert kernel.value('g.nodes().column::<i64>("degree").to_vec()') == "[0, 1, 1, 2]"
    assert kernel.value('g.shortest_path_length(("Rome", "IT"), ("Oslo", "NO"))') == "2"
    assert kernel.value("g.number_connected_components()") == "2"
    error = kernel.fails('g.bfs(("Rome", "FR"))').error_text
    assert "no node `(Rome, FR)`" in error
    error = kernel.fails('g.bfs("Rome")').error_text
    assert "2 columns" in error


def test_the_card_of_a_graph(kernel):
    # Figures of NetworkX; the median of the degrees counted by hand from its degrees.
    kernel.ok(ROUTES)
    card = kernel.ok("g").result
    for part in ["digraph of origin and destination", "305", "5\u202f366", "count, 1 to", "weakly connected components"]:
        assert part in card, card


def test_graphs_in_files(kernel, tmp_path):
    # By hand; NetworkX reads what is written in tests/graph.
    kernel.ok(f'let folder = "{tmp_path}";' + ROUTES)
    kernel.ok(
        'let hubs = g.subgraph(frame! { node: ["ATL", "ORD", "DFW", "DEN"] });'
        'let g2 = hubs.with_nodes(frame! { faa: ["ATL", "ORD"], city: ["Atlanta", "Chicago"] }, "faa");'
    )
    for extension in ["graphml", "gexf", "json"]:
        kernel.ok(f'g2.write_graph(format!("{{folder}}/hubs.{extension}")); let r = read_graph(format!("{{folder}}/hubs.{extension}"));')
        assert kernel.value("(r.number_of_nodes(), r.number_of_edges(), r.is_directed())") == kernel.value(
            "(hubs.number_of_nodes(), hubs.number_of_edges(), true)"
        )
        close(kernel.value('r.dijkstra_path_length("ATL", "DEN")'), float(kernel.value('hubs.dijkstra_path_length("ATL", "DEN")')))
        assert kernel.value('r.nodes().filter(x!(node == "ATL")).column::<String>("city").to_vec()') == '["Atlanta"]'
    error = kernel.fails('g2.write_graph(format!("{folder}/hubs.mtx"))').error_text
    assert "hubs.mtx" in error
    error = kernel.fails('read_graph(format!("{folder}/hubs.xyz"))').error_text
    assert ".xyz" in error


def test_a_stopped_louvain_leaves_nothing_and_the_session_goes_on(kernel):
    kernel.ok(
        "let mixed = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;"
        "let ends = |seed: u64| (0..6_000_000u64).map(|i| mixed(2 * i + seed)).collect::<Vec<u64>>();"
        "let many = frame! { a: ends(0), b: ends(1) }.graph(\"a\", \"b\");"
        "let nodes = many.number_of_nodes();"
    )
    message = kernel.client.execute("let found = many.louvain_communities().frame();")
    until_shown(kernel, message, "louvain_communities: level")
    begun = time.monotonic()
    kernel.interrupt()
    ran = kernel.wait(message, begun)
    assert time.monotonic() - begun < 5
    assert ran.error, ran
    assert "found" in kernel.fails("found.height()").error_text
    assert kernel.value("many.number_of_nodes() == nodes") == "true"
