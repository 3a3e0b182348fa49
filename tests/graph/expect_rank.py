"""Writes `rank.json`: PageRank, HITS, eigenvector and Katz centrality of NetworkX 3.6.1.

Run in an environment with NetworkX 3.6.1 and SciPy: `python tests/graph/expect_rank.py`.
The graphs are those of `graphs.py`.
"""

import networkx as nx
import numpy as np

from graphs import Random, by_node, graphs, to_networkx, write


def vector(seed, n):
    """Values 0 to 4, not all 0."""
    r = Random(seed)
    return [1.0 + r.below(4) if i == 0 else float(r.below(5)) for i in range(n)]


def tight(call):
    """None if it does not converge."""
    try:
        return call()
    except nx.PowerIterationFailedConvergence:
        return None


def pagerank(g, x):
    n = g["n"]
    named = lambda values: dict(enumerate(values))
    if not n:
        return []
    personalization, start, dangling = vector(1, n), vector(2, n), vector(3, n)
    cases = [
        {},
        {"alpha": 0.5, "tol": 1e-10},
        {"personalization": personalization, "tol": 1e-10},
        {"personalization": personalization, "dangling": dangling, "nstart": start, "tol": 1e-10},
        {"tol": 1e-10, "weight": None},
        {"max_iter": 1, "tol": 1e-12},
    ]
    out = []
    for case in cases:
        params = {k: named(v) if isinstance(v, list) else v for k, v in case.items()}
        if case.get("tol", 1) < 1e-9 and "max_iter" not in case:
            params["max_iter"] = case["max_iter"] = 1000
        ranks = tight(lambda: nx.pagerank(x, **params))
        out.append({"params": {k: v for k, v in case.items() if k != "weight"}, "unweighted": "weight" in case,
                    "ranks": ranks and by_node(ranks, g)})
    return out


def hits(g, x):
    """None where the largest singular value is not alone."""
    if g["n"] < 3:
        return None
    a = nx.to_numpy_array(x)
    values = np.linalg.svd(a, compute_uv=False)
    if values[0] == 0 or values[1] > 0.999 * values[0]:
        return None
    # A start of NetworkX's own choice is random, and so are the last digits.
    hubs, authorities = nx.hits(x, tol=1e-12, nstart={v: 1.0 for v in x})
    return {"hubs": by_node(hubs, g), "authorities": by_node(authorities, g)}


def simple_weights(g):
    """For functions without multigraphs: parallel edges added up, self-loops kept."""
    made = (nx.DiGraph if g["directed"] else nx.Graph)()
    made.add_nodes_from(range(g["n"]))
    weights = g.get("weights", [1.0] * len(g["edges"]))
    for (u, v), w in zip(g["edges"], weights):
        before = made[u][v]["weight"] if made.has_edge(u, v) else 0.0
        made.add_edge(u, v, weight=before + w)
    return made


def main():
    out = {}
    for name, g in graphs().items():
        x, s = to_networkx(g), simple_weights(g)
        out[name] = {
            "pagerank": pagerank(g, x),
            "hits": hits(g, s),
            "eigenvector": None,
            "katz": None,
        }
        if g["n"]:
            eigenvector = tight(lambda: nx.eigenvector_centrality(s, max_iter=1000, weight="weight"))
            out[name]["eigenvector"] = eigenvector and by_node(eigenvector, g)
            katz = tight(lambda: nx.katz_centrality(s, alpha=0.01, beta=0.5, weight="weight"))
            out[name]["katz"] = katz and by_node(katz, g)
    write("rank", out)


if __name__ == "__main__":
    main()
