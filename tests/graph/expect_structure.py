"""Writes `structure.json`: degrees, searches, components, cores, orders and distances of NetworkX 3.6.1.

Run in an environment with NetworkX 3.6.1: `python tests/graph/expect_structure.py`.
The graphs are those of `graphs.py`.
"""

import networkx as nx

from graphs import by_node, graphs, to_networkx, to_simple, write


def components(sets):
    """By size, then by smallest node."""
    return [sorted(c) for c in sorted(sets, key=lambda c: (-len(c), min(c)))]


def distances(g, lengths):
    """-1 if a node is not reached."""
    return [lengths.get(v, -1) for v in range(g["n"])]


def degrees(g, x):
    centrality = by_node(nx.degree_centrality(x), g)
    out = {"degree": [d for _, d in x.degree()], "density": nx.density(x), "degree_centrality": centrality}
    if g["directed"]:
        out["in_degree"] = [d for _, d in x.in_degree()]
        out["out_degree"] = [d for _, d in x.out_degree()]
        out["in_degree_centrality"] = by_node(nx.in_degree_centrality(x), g)
    return out


def searches(g, x):
    out = []
    for source in sorted({0, g["n"] // 2, g["n"] - 1} & set(range(g["n"]))):
        lengths = dict(nx.single_source_shortest_path_length(x, source))
        # The lowest neighbour that is one hop nearer.
        neighbours = x.pred if g["directed"] else x.adj
        before = [
            min(u for u in neighbours[v] if lengths.get(u, -9) == lengths[v] - 1) if lengths.get(v) else -1
            for v in range(g["n"])
        ]
        out.append({
            "source": source,
            "distance": distances(g, lengths),
            "predecessor": before,
            "limited": distances(g, dict(nx.single_source_shortest_path_length(x, source, cutoff=2))),
            "layers": [sorted(layer) for layer in nx.bfs_layers(x, source)],
            "two_away": sorted(nx.descendants_at_distance(x, source, 2)),
        })
    return out


def connected(g, x):
    if g["directed"]:
        return {
            "weak": components(nx.weakly_connected_components(x)),
            "strong": components(nx.strongly_connected_components(x)),
        }
    return {"connected": components(nx.connected_components(x))}


def cores(g, x):
    if any(u == v for u, v in g["edges"]):
        return None
    s = to_simple(g)
    core = nx.core_number(s)
    out = {"core_number": by_node(core, g)}
    if g["n"]:
        out |= {"k_core": sorted(nx.k_core(s)), "k_shell": sorted(nx.k_shell(s)), "two_core": sorted(nx.k_core(s, 2))}
        out["one_shell"] = sorted(nx.k_shell(s, 1))
    return out


def orders(g, x):
    if not g["directed"]:
        return None
    if not nx.is_directed_acyclic_graph(x):
        return {"acyclic": False}
    return {"acyclic": True, "generations": [sorted(level) for level in nx.topological_generations(x)]}


def eccentricities(g, x):
    if not g["n"] or not (nx.is_strongly_connected(x) if g["directed"] else nx.is_connected(x)):
        return None
    return {
        "eccentricity": by_node(nx.eccentricity(x), g),
        "diameter": nx.diameter(x),
        "radius": nx.radius(x),
        "center": nx.center(x),
        "periphery": nx.periphery(x),
    }


def main():
    out = {}
    for name, g in graphs().items():
        x = to_networkx(g, weighted=False)
        out[name] = {
            "degrees": degrees(g, x),
            "searches": searches(g, x),
            "components": connected(g, x),
            "cores": cores(g, x),
            "orders": orders(g, x),
            "eccentricities": eccentricities(g, x),
        }
    write("structure", out)


if __name__ == "__main__":
    main()
