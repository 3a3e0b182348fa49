"""Writes `cluster.json`: triangles, clustering and squares of NetworkX 3.6.1.

Run in an environment with NetworkX 3.6.1: `python tests/graph/expect_cluster.py`.
The graphs are those of `graphs.py`, on distinct pairs.
"""

import networkx as nx

from graphs import by_node, graphs, to_simple, write


def main():
    out = {}
    for name, g in graphs().items():
        s, case = to_simple(g), {}
        case["clustering"] = by_node(nx.clustering(s), g)
        if "weights" in g and not any(u == v for u, v in g["edges"]):
            case["weighted"] = by_node(nx.clustering(s, weight="weight"), g)
        if g["n"]:
            case["average_clustering"] = nx.average_clustering(s)
        if any(case["clustering"]):
            case["without_zeros"] = nx.average_clustering(s, count_zeros=False)
        if not g["directed"]:
            case["triangles"] = by_node(nx.triangles(s), g)
        case["transitivity"] = nx.transitivity(s)
        case["square_clustering"] = by_node(nx.square_clustering(s), g)
        out[name] = case
    write("cluster", out)


if __name__ == "__main__":
    main()
