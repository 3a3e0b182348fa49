"""The graphs of the expectations, written to `graphs.json` for the tests in Rust: `python tests/graph/graphs.py`.

A graph is a dict of `directed`, `n`, `edges` (pairs of nodes `0..n`) and, if it is weighted, `weights` by edge.
The random ones come from a generator of this file, so that other versions of NumPy and NetworkX give the same.
"""

import json
from pathlib import Path

import networkx as nx

HERE = Path(__file__).parent


class Random:
    """Knuth's linear congruential generator (MMIX)."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def graph(directed, n, edges, weights=None):
    made = {"directed": directed, "n": n, "edges": [[int(u), int(v)] for u, v in edges]}
    if weights is not None:
        made["weights"] = [float(w) for w in weights]
    return made


def named(g, weight=None):
    """A graph of NetworkX, its nodes numbered in ascending order."""
    number = {node: i for i, node in enumerate(sorted(g))}
    edges = sorted((number[u], number[v], d.get(weight, 1)) for u, v, d in g.edges(data=True))
    weights = [w for _, _, w in edges] if weight else None
    return graph(g.is_directed(), len(g), [(u, v) for u, v, _ in edges], weights)


def random(seed, directed, n, m, *, simple=True, weights=None):
    """`m` random edges. `weights`: how many different ones there are, from 0."""
    r = Random(seed)
    edges, seen = [], set()
    while len(edges) < m:
        u, v = r.below(n), r.below(n)
        pair = (u, v) if directed else (min(u, v), max(u, v))
        if simple and (u == v or pair in seen):
            continue
        seen.add(pair)
        edges.append((u, v))
    return graph(directed, n, edges, [r.below(weights) / 4 for _ in edges] if weights else None)


def acyclic(seed, n, m):
    """A directed graph without cycles, whose order is not that of the numbers."""
    r = Random(seed)
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        j = r.below(i + 1)
        order[i], order[j] = order[j], order[i]
    edges = set()
    while len(edges) < m:
        a, b = sorted((r.below(n), r.below(n)))
        if a != b:
            edges.add((order[a], order[b]))
    return graph(True, n, sorted(edges), [r.below(20) / 4 for _ in edges])


def graphs():
    """By name. `multi` graphs have parallel edges and self-loops, `loops` self-loops alone."""
    return {
        "empty": graph(False, 0, []),
        "one": graph(False, 1, []),
        "isolated": graph(False, 5, []),
        "digraph_isolated": graph(True, 4, []),
        "loops": graph(False, 4, [(0, 0), (2, 2), (0, 1)]),
        "digraph_loops": graph(True, 4, [(0, 0), (2, 2), (0, 1), (1, 0)]),
        "path": graph(False, 10, [(i, i + 1) for i in range(9)]),
        "directed_path": graph(True, 10, [(i, i + 1) for i in range(9)]),
        "cycle": graph(False, 9, [(i, (i + 1) % 9) for i in range(9)]),
        "directed_cycle": graph(True, 7, [(i, (i + 1) % 7) for i in range(7)]),
        "star": graph(False, 9, [(0, i) for i in range(1, 9)]),
        "complete": graph(False, 8, [(i, j) for i in range(8) for j in range(i + 1, 8)]),
        "complete_directed": graph(True, 6, [(i, j) for i in range(6) for j in range(6) if i != j]),
        "grid": graph(
            False,
            30,
            [(6 * y + x, 6 * y + x + 1) for y in range(5) for x in range(5)]
            + [(6 * y + x, 6 * y + x + 6) for y in range(4) for x in range(6)],
        ),
        "two_cliques": graph(
            False, 10, [(i + s, j + s) for s in (0, 5) for i in range(5) for j in range(i + 1, 5)] + [(4, 5)]
        ),
        "karate": named(nx.karate_club_graph(), "weight"),
        "les_miserables": named(nx.les_miserables_graph(), "weight"),
        "florentine": named(nx.florentine_families_graph()),
        "sparse": random(1, False, 60, 50),
        "dense": random(2, False, 40, 250),
        "weighted": random(3, False, 50, 130, weights=20),
        "digraph": random(4, True, 50, 140),
        "sparse_digraph": random(5, True, 60, 70),
        "dense_digraph": random(6, True, 30, 250, weights=40),
        "weighted_digraph": random(7, True, 50, 170, weights=20),
        "acyclic": acyclic(8, 40, 90),
        "multi": random(9, False, 25, 80, simple=False),
        "multi_weighted": random(10, False, 25, 80, simple=False, weights=12),
        "multi_digraph": random(11, True, 25, 90, simple=False),
        "multi_weighted_digraph": random(12, True, 25, 90, simple=False, weights=12),
    }


def to_networkx(g, *, weighted=True):
    """A graph of NetworkX with all edges: a multigraph if there are parallel ones."""
    pairs = [tuple(e) if g["directed"] else tuple(sorted(e)) for e in g["edges"]]
    parallel = len(set(pairs)) < len(pairs)
    plain, multi = (nx.DiGraph, nx.MultiDiGraph) if g["directed"] else (nx.Graph, nx.MultiGraph)
    made = multi() if parallel else plain()
    made.add_nodes_from(range(g["n"]))
    weights = g.get("weights") if weighted else None
    for i, (u, v) in enumerate(g["edges"]):
        made.add_edge(u, v, **({"weight": weights[i]} if weights else {}))
    return made


def to_simple(g, *, weighted=True):
    """A graph of NetworkX with an edge for each pair, without self-loops. Weights of parallel edges add up."""
    made = (nx.DiGraph if g["directed"] else nx.Graph)()
    made.add_nodes_from(range(g["n"]))
    weights = g.get("weights") if weighted else None
    for i, (u, v) in enumerate(g["edges"]):
        if u == v:
            continue
        if weights is None:
            made.add_edge(u, v)
        else:
            before = made[u][v]["weight"] if made.has_edge(u, v) else 0.0
            made.add_edge(u, v, weight=before + weights[i])
    return made


def write(name, value):
    """Writes an expectation file. NaN is null; infinite numbers are not allowed."""

    def plain(x):
        if isinstance(x, dict):
            return {str(k): plain(v) for k, v in x.items()}
        if isinstance(x, (list, tuple)):
            return [plain(v) for v in x]
        if hasattr(x, "item"):
            x = x.item()
        return None if isinstance(x, float) and x != x else x

    text = json.dumps(plain(value), allow_nan=False, separators=(",", ":"))
    (HERE / f"{name}.json").write_text(text.replace('},"', '},\n"') + "\n")


def by_node(values, g):
    """A dict of NetworkX as a list in the order of nodes."""
    return [values[v] for v in range(g["n"])]


if __name__ == "__main__":
    write("graphs", graphs())
