"""Writes `paths.json`: shortest paths of NetworkX 3.6.1.

Run in an environment with NetworkX 3.6.1: `python tests/graph/expect_paths.py`.
The graphs are those of `graphs.py`, and some with negative weights.
"""

import networkx as nx

from graphs import Random, graph, graphs, to_networkx, write


def distances(g, lengths):
    """-1 if a node is not reached: no distance here is negative."""
    return [lengths.get(v, -1) for v in range(g["n"])]


def negative():
    """Directed graphs with negative weights: weights of the form w + p(u) - p(v) have no negative cycle."""
    r = Random(20)
    out = {}
    kinds = [("potential", 30, 100, 0), ("zero_cycles", 12, 60, 0), ("cycle", 20, 60, -3), ("chance", 25, 45, -1)]
    for name, n, m, least in kinds:
        potential = [r.below(21) - 10 for _ in range(n)]
        edges = [(r.below(n), r.below(n)) for _ in range(m)]
        spread = 1 if name == "zero_cycles" else 12
        weights = [(least + r.below(spread) + potential[u] - potential[v]) / 2 for u, v in edges]
        out[name] = graph(True, n, edges, weights)
    out["undirected"] = graph(False, 4, [(0, 1), (1, 2), (2, 3)], [1, -1, 2])
    out["loop"] = graph(True, 3, [(0, 1), (1, 1), (1, 2)], [1, -1, 2])
    out["unreached"] = graph(True, 5, [(0, 1), (2, 3), (3, 2)], [1, -1, -2])
    return out


def main():
    out = {"dijkstra": {}, "negative": {}}
    for name, g in graphs().items():
        x = to_networkx(g)
        cases = []
        for source in sorted({0, g["n"] // 2} & set(range(g["n"]))):
            lengths = nx.single_source_dijkstra_path_length(x, source)
            cutoff = sorted(lengths.values())[len(lengths) // 2]
            cases.append({
                "source": source,
                "distance": distances(g, lengths),
                "cutoff": cutoff,
                "limited": distances(g, nx.single_source_dijkstra_path_length(x, source, cutoff=cutoff)),
            })
        if g["n"] > 2:
            lengths = nx.multi_source_dijkstra_path_length(x, {1, g["n"] - 1})
            cases.append({"sources": [1, g["n"] - 1], "distance": distances(g, lengths)})
        out["dijkstra"][name] = cases
    for name, g in negative().items():
        x = to_networkx(g)
        case = {"graph": g, "negative_edge_cycle": nx.negative_edge_cycle(x), "distance": None}
        try:
            lengths = nx.single_source_bellman_ford_path_length(x, 0)
            case["distance"] = [lengths.get(v) for v in range(g["n"])]
        except nx.NetworkXUnbounded:
            pass
        out["negative"][name] = case
    write("paths", out)


if __name__ == "__main__":
    main()
