"""Mixing of degrees, cuts, partitions and mean distances by NetworkX 3.6.1, written to `mixing.json`:
`python tests/graph/expect_mixing.py`.

Reciprocity, performance and overlaps are those of the distinct pairs, as NetworkX refuses multigraphs there.
"""

import math
from itertools import product

import networkx as nx
from graphs import by_node, graphs, to_networkx, to_simple, write

KINDS = ("in", "out", "in+out")


def neighbor_degrees(g):
    """Each edge counts, also a parallel one: by weights that are numbers of edges."""
    out = {}
    for weighted in (False, True):
        made = to_networkx(g, weighted=weighted)
        if made.is_multigraph():
            continue
        for source, target in product(KINDS, KINDS) if g["directed"] else [("out", "out")]:
            options = {"source": source, "target": target, "weight": "weight" if weighted else None}
            out[f"{source} {target} {weighted}"] = by_node(nx.average_neighbor_degree(made, **options), g)
    return out


def assortativities(g):
    out = {}
    for weighted in (False, True):
        made = to_networkx(g, weighted=weighted)
        for x, y in product(("in", "out"), repeat=2) if g["directed"] else [("out", "in")]:
            try:
                found = nx.degree_pearson_correlation_coefficient(made, x, y, weight="weight" if weighted else None)
            except ValueError:  # fewer than two edges
                continue
            key = f"{x} {y} {weighted}"
            exact = nx.degree_assortativity_coefficient(made, x, y, weight="weight" if weighted else None)
            assert math.isnan(found) or abs(found - exact) < 1e-9, (found, exact)
            out[key] = float(found)
    return out


def reciprocity(g):
    if not g["directed"] or not g["edges"]:
        return None
    made = nx.DiGraph(g["edges"])
    return nx.overall_reciprocity(made)


def partitions(g):
    """Of the nodes by their remainders."""
    made, simple = to_networkx(g), to_simple(g)
    blocks = [[v for v in range(g["n"]) if v % 3 == k] for k in range(3)]
    if not all(blocks) or not g["edges"]:
        return None

    def conductance(block, weight):
        try:
            return float(nx.conductance(made, block, weight=weight))
        except ZeroDivisionError:
            return math.nan

    return {
        "coverage": nx.community.partition_quality(made, blocks)[0],
        "performance": nx.community.partition_quality(simple, blocks)[1] if simple.edges else None,
        "conductance": [conductance(block, None) for block in blocks],
        "weighted_conductance": [conductance(block, "weight") for block in blocks],
    }


def mean_distance(g):
    if not g["n"]:
        return None
    made = to_networkx(g)
    reach = nx.is_strongly_connected if g["directed"] else nx.is_connected
    if not reach(made):
        return None
    return [nx.average_shortest_path_length(made), nx.average_shortest_path_length(made, weight="weight")]


def cuts(g):
    if g["directed"]:
        return None
    made = to_networkx(g)
    first = {}
    for i, (u, v) in enumerate(g["edges"]):
        first.setdefault((min(u, v), max(u, v)), i)
    return {
        "bridges": sorted(first[(min(u, v), max(u, v))] for u, v in nx.bridges(made)),
        "articulation_points": sorted(nx.articulation_points(nx.Graph(made))),
    }


def relatives(g):
    made = to_networkx(g)
    return [{"ancestors": sorted(nx.ancestors(made, v)), "descendants": sorted(nx.descendants(made, v))}
            for v in range(min(g["n"], 5))]


def overlaps(g):
    """Of pairs of different nodes, from sets of neighbours."""
    if g["directed"]:
        return None
    made = to_simple(g)
    n = g["n"]
    pairs = [(u, (u * 7 + i) % n) for u in range(n) for i in (1, 2)] if n > 2 else []
    pairs = [(u, v) for u, v in pairs if u != v][:60]
    common = {(u, v): len(set(made[u]) & set(made[v])) for u, v in pairs}
    over = lambda below: [common[p] / below(*map(made.degree, p)) if common[p] else 0.0 for p in pairs]
    return {
        "pairs": pairs,
        "overlap": over(min),
        "sorensen": over(lambda a, b: (a + b) / 2),
        "cosine": over(lambda a, b: math.sqrt(a * b)),
    }


if __name__ == "__main__":
    write("mixing", {
        name: {
            "neighbor_degrees": neighbor_degrees(g),
            "assortativities": assortativities(g),
            "reciprocity": reciprocity(g),
            "partitions": partitions(g),
            "mean_distance": mean_distance(g),
            "cuts": cuts(g),
            "relatives": relatives(g),
            "overlaps": overlaps(g),
            "isolates": sorted(nx.isolates(to_networkx(g))),
        }
        for name, g in graphs().items()
    })
