"""Similarities, spanning trees and trusses by NetworkX 3.6.1, written to `similarity.json`: `python tests/graph/expect_similarity.py`."""

import networkx as nx
from graphs import graphs, to_networkx, to_simple, write


def edges(g, pairs):
    """The first edge of each pair, ascending."""
    first = {}
    for i, (u, v) in enumerate(g["edges"]):
        first.setdefault((min(u, v), max(u, v)), i)
    return sorted(first[(min(u, v), max(u, v))] for u, v in pairs)


def scores(g):
    """Of some pairs, with and without an edge, and of all at distance 2 if they are fewer than 200."""
    made = to_simple(g)
    n = g["n"]
    some = [(u, (u * 7 + i) % n) for u in range(n) for i in (1, 2)] if n > 2 else []
    some = [(u, v) for u, v in some if u != v][:60]
    far = [(u, v) for u in range(n) for v in range(u + 1, n) if not made.has_edge(u, v) and set(made[u]) & set(made[v])]
    measures = {
        "common_neighbors": lambda pairs: [(u, v, len(nx.common_neighbors(made, u, v))) for u, v in pairs],
        "jaccard_coefficient": lambda pairs: nx.jaccard_coefficient(made, pairs),
        "adamic_adar_index": lambda pairs: nx.adamic_adar_index(made, pairs),
        "resource_allocation_index": lambda pairs: nx.resource_allocation_index(made, pairs),
        "preferential_attachment": lambda pairs: nx.preferential_attachment(made, pairs),
    }
    values = lambda measure, pairs: [float(f"{s:.14g}") for _, _, s in measure(pairs)]
    return {
        "some": some,
        "far": far if len(far) < 200 else [],
        "scores": {name: values(measure, some) for name, measure in measures.items()},
        "far_scores": {name: values(measure, far if len(far) < 200 else []) for name, measure in measures.items()},
    }


def spanning(g):
    made = to_networkx(g)
    sums = {}
    for name, function in (("minimum", nx.minimum_spanning_edges), ("maximum", nx.maximum_spanning_edges)):
        weights = [d.get("weight", 1) for *_, d in function(made, data=True)]
        sums[name] = weights
    return sums


if __name__ == "__main__":
    expected = {}
    for name, g in graphs().items():
        if g["directed"]:
            continue
        simple = to_simple(g)
        expected[name] = {
            "scores": scores(g),
            "spanning": spanning(g),
            "trusses": {str(k): edges(g, nx.k_truss(simple, k).edges()) for k in range(6)},
        }
    write("similarity", expected)
