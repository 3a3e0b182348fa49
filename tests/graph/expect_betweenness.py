"""Betweenness and closeness by NetworkX 3.6.1, written to `betweenness.json`: `python tests/graph/expect_betweenness.py`."""

import random

import networkx as nx
from graphs import by_node, graphs, to_networkx, write


class Given(random.Random):
    """Samples the nodes 0, 3, 6, ..."""

    def sample(self, population, k):
        return [population[3 * i] for i in range(k)]


def positive(made):
    """Without weights of 0, over which the number of shortest paths has no meaning."""
    for *_, data in made.edges(data=True):
        data["weight"] = data.get("weight", 1) + 0.25
    return made


def rounded(values):
    return [x if x != x else float(f"{x:.10g}") for x in values]


def by_edge(values, g, made):
    """In the order of the edges. Keys of parallel edges are their order."""
    if made.is_multigraph():
        seen, out = {}, []
        for u, v in g["edges"]:
            pair = (u, v) if g["directed"] else (min(u, v), max(u, v))
            key = seen.get(pair, 0)
            seen[pair] = key + 1
            out.append(values[(u, v, key)] if (u, v, key) in values else values[(v, u, key)])
        return out
    return [values[(u, v)] if (u, v) in values else values[(v, u)] for u, v in g["edges"]]


if __name__ == "__main__":
    expected = {}
    for name, g in graphs().items():
        made = to_networkx(g)
        weighted = positive(to_networkx(g)) if "weights" in g else None
        k = g["n"] // 3
        plain = [{}, {"normalized": False}, {"endpoints": True}]
        sampled = [{"k": k}, {"k": k, "normalized": False}, {"k": k, "endpoints": True}] if k >= 2 else []
        node = [nx.betweenness_centrality(made, seed=Given(), **a) for a in plain + sampled]
        edge = [nx.edge_betweenness_centrality(made, seed=Given(), **a) for a in plain[:2] + sampled[:2]]
        entry = {
            "node": [rounded(by_node(b, g)) for b in node],
            "edge": [rounded(by_edge(b, g, made)) for b in edge],
            "closeness": [rounded(by_node(nx.closeness_centrality(made, wf_improved=w), g)) for w in (True, False)],
            "harmonic": rounded(by_node(nx.harmonic_centrality(made), g)),
        }
        if weighted is not None:
            entry["weighted_node"] = rounded(by_node(nx.betweenness_centrality(weighted, weight="weight"), g))
            found = nx.edge_betweenness_centrality(weighted, weight="weight")
            entry["weighted_edge"] = rounded(by_edge(found, g, weighted))
            # Weights of 0 have a meaning here.
            entry["weighted_closeness"] = rounded(by_node(nx.closeness_centrality(made, distance="weight"), g))
            entry["weighted_harmonic"] = rounded(by_node(nx.harmonic_centrality(made, distance="weight"), g))
        expected[name] = entry
    write("betweenness", expected)
