"""Communities by NetworkX 3.6.1 and igraph, written to `community.json`: `python tests/graph/expect_community.py`."""

import random as python_random

import igraph
import networkx as nx
from graphs import Random, graph, graphs, to_networkx, write


def by_size(n, communities):
    """Numbers as the crate gives them: by falling size, then by lowest node."""
    order = sorted(communities, key=lambda c: (-len(c), min(c)))
    number = {v: i for i, c in enumerate(order) for v in c}
    return [number[v] for v in range(n)]


def planted(seed, groups, size, inside, outside):
    """`inside` edges within each group, and `outside` between random nodes."""
    r = Random(seed)
    n = groups * size
    edges = set()
    for group in range(groups):
        found = 0
        while found < inside:
            u, v = (group + groups * r.below(size) for _ in range(2))
            if u < v and (u, v) not in edges:
                edges.add((u, v))
                found += 1
    for _ in range(outside):
        u, v = sorted((r.below(n), r.below(n)))
        if u != v:
            edges.add((u, v))
    return graph(False, n, sorted(edges))


def mean(g):
    """The mean modularity of igraph over ten seeds."""
    made = igraph.Graph(n=g["n"], edges=g["edges"])
    weights = g.get("weights")
    louvain, leiden = [], []
    for seed in range(10):
        python_random.seed(seed)
        found = made.community_multilevel(weights=weights)
        louvain.append(made.modularity(found.membership, weights=weights))
        found = made.community_leiden("modularity", weights=weights, n_iterations=2)
        leiden.append(made.modularity(found.membership, weights=weights))
    return {"louvain": sum(louvain) / 10, "leiden": sum(leiden) / 10}


if __name__ == "__main__":
    everything = graphs()
    modularity, propagation = {}, {}
    for name, g in everything.items():
        made = to_networkx(g)
        if g["edges"]:
            thirds = [{v for v in range(g["n"]) if v % 3 == i} for i in range(3)]
            modularity[name] = [
                nx.community.modularity(made, [c for c in thirds if c], resolution=r) for r in (1, 0.7)
            ]
        if not g["directed"]:
            propagation[name] = by_size(g["n"], nx.community.label_propagation_communities(made))
    # Edges inside and outside: clear communities, and ones that are hard to find.
    several = {"clear": planted(21, 8, 40, 200, 500), "blurred": planted(22, 10, 50, 250, 2500)}
    for name in ("karate", "les_miserables", "florentine", "two_cliques", "grid", "sparse", "dense", "weighted"):
        several[name] = everything[name]
    quality = {name: mean(g) for name, g in several.items()}
    planted_graphs = {name: several[name] for name in ("clear", "blurred")}
    write(
        "community",
        {"modularity": modularity, "propagation": propagation, "quality": quality, "planted": planted_graphs},
    )
