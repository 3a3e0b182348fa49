"""NetworkX's functions by calls of the table of algorithms. Arguments that it has no options for raise
`NotImplementedError`: NetworkX runs them."""

import random
from functools import wraps

import networkx as nx

from .engine import Unknown

FUNCTIONS = {}


def function(*refused):
    """A function of NetworkX. `refused` are kinds of graphs for which it raises."""

    def register(f):
        @wraps(f)
        def call(G, *args, **kwargs):
            kinds = {
                "directed": G.is_directed(),
                "undirected": not G.is_directed(),
                "multigraph": G.is_multigraph(),
            }
            found = [kind for kind in refused if kinds[kind]]
            if found:
                raise nx.NetworkXNotImplemented(f"not implemented for {found[0]} type")
            return f(G, *args, **kwargs)

        FUNCTIONS[f.__name__] = call
        return call

    return register


def unsupported(is_so, what):
    if is_so:
        raise NotImplementedError(what)


def chosen(G, found, nodes):
    """Of a dict by node, the value of a node or those of some nodes."""
    if nodes is None:
        return found
    if nodes in G.nx:
        return found[nodes]
    return {node: found[node] for node in G.nx.nbunch_iter(nodes)}


def groups(G, labels):
    """Sets of nodes with one label, in the order of labels."""
    found = {}
    for node, label in zip(G.nodes, labels):
        found.setdefault(label, set()).add(node)
    return [found[label] for label in sorted(found)]


# Ranks and centralities.


@function()
def pagerank(
    G, alpha=0.85, personalization=None, max_iter=100, tol=1.0e-6, nstart=None, weight="weight", dangling=None
):
    if len(G) == 0:
        return {}
    unsupported(max_iter < 1, "no iterations")
    frames = {"personalization": personalization, "nstart": nstart, "dangling": dangling}
    for name, values in frames.items():
        if values is not None and not sum(v for node, v in values.items() if node in G):
            raise ZeroDivisionError(name)
    frames = {name: G.values(values) for name, values in frames.items()}
    found = G.call("pagerank", weight=weight, frames=frames, alpha=alpha, max_iter=max_iter, tol=tol)
    return G.by_node(found["pagerank"])


@function()
def hits(G, max_iter=100, tol=1.0e-8, nstart=None, normalized=True):
    if len(G) == 0:
        return {}, {}
    unsupported(max_iter < 1, "no iterations")
    options = {"max_iter": max_iter, "tol": tol, "normalized": normalized}
    found = G.call("hits", weight="weight", frames={"nstart": G.values(nstart)}, **options)
    return G.by_node(found["hubs"]), G.by_node(found["authorities"])


@function("multigraph")
def eigenvector_centrality(G, max_iter=100, tol=1.0e-6, nstart=None, weight=None):
    if nstart is not None and not any(nstart.values()):
        raise nx.NetworkXError("initial vector cannot have all zero values")
    frames = {"nstart": G.values(nstart)}
    options = {"max_iter": max_iter, "tol": tol, "weighted": weight is not None}
    found = G.call("eigenvector_centrality", weight=weight, frames=frames, **options)
    return G.by_node(found["eigenvector_centrality"])


@function("multigraph")
def katz_centrality(G, alpha=0.1, beta=1.0, max_iter=1000, tol=1.0e-6, nstart=None, normalized=True, weight=None):
    if len(G) == 0:
        return {}
    unsupported(not isinstance(beta, int | float), "beta by node")
    options = {"alpha": alpha, "beta": beta, "max_iter": max_iter, "tol": tol, "normalized": normalized}
    frames = {"nstart": G.values(nstart)}
    found = G.call("katz_centrality", weight=weight, frames=frames, weighted=weight is not None, **options)
    return G.by_node(found["katz_centrality"])


@function()
def betweenness_centrality(G, k=None, normalized=True, weight=None, endpoints=False, seed=None):
    unsupported(k is not None and k != len(G), "a sample of other nodes")
    options = {"normalized": normalized, "endpoints": endpoints, "weighted": weight is not None}
    return G.by_node(G.call("betweenness_centrality", weight=weight, **options)["betweenness_centrality"])


@function()
def edge_betweenness_centrality(G, k=None, normalized=True, weight=None, seed=None):
    unsupported(k is not None and k != len(G), "a sample of other nodes")
    options = {"normalized": normalized, "weighted": weight is not None}
    found = G.call("edge_betweenness_centrality", weight=weight, **options)
    return dict(zip(G.nx.edges, found["edge_betweenness_centrality"]))


@function()
def closeness_centrality(G, u=None, distance=None, wf_improved=True):
    options = {"weighted": distance is not None, "wf_improved": wf_improved}
    found = G.by_node(G.call("closeness_centrality", weight=distance, **options)["closeness_centrality"])
    if u is None:
        return found
    return found[u]


@function()
def harmonic_centrality(G, nbunch=None, distance=None, sources=None):
    unsupported(sources is not None, "distances from some nodes")
    found = G.call("harmonic_centrality", weight=distance, weighted=distance is not None)
    found = G.by_node(found["harmonic_centrality"])
    return found if nbunch is None else {node: found[node] for node in G.nx.nbunch_iter(nbunch)}


@function()
def degree_centrality(G):
    return G.by_node(G.call("degree_centrality")["degree_centrality"])


@function("undirected")
def in_degree_centrality(G):
    return G.by_node(G.call("in_degree_centrality")["in_degree_centrality"])


@function("undirected")
def out_degree_centrality(G):
    return G.by_node(G.call("out_degree_centrality")["out_degree_centrality"])


# Searches and shortest paths.


def numbered(G, node, role="Source"):
    try:
        return G.number_of(node)
    except Unknown:
        raise nx.NodeNotFound(f"{role} {node} is not in G") from None


def reachable(G, node):
    """The number of a target. NetworkX does not tell unknown ones from those that are not reached."""
    try:
        return G.number_of(node)
    except Unknown:
        raise nx.NetworkXNoPath(f"Node {node} not reachable") from None


def hops_limit(cutoff):
    """NetworkX takes floats for a number of hops."""
    if cutoff is None or cutoff == float("inf"):
        return None
    unsupported(cutoff < 0, "a negative number of hops")
    return int(cutoff)


def lengths(G, algorithm, source, role="Source", **options):
    found = G.call(algorithm, source=numbered(G, source, role), **options)
    return dict(zip(G.named(found["node"]), found["distance"]))


def search(G, algorithm, source=None, *, sources=None, **options):
    """Distances and paths by predecessors."""
    if sources is not None:
        found = G.call(algorithm, frames={"sources": {"node": [numbered(G, s) for s in sources]}}, **options)
    else:
        found = G.call(algorithm, source=numbered(G, source), **options)
    nodes, distances = G.named(found["node"]), found["distance"]
    before = dict(zip(nodes, found["predecessor"]))
    paths = {}

    def path(node):
        if node not in paths:
            last = before[node]
            paths[node] = [node] if last is None else path(G.nodes[last]) + [node]
        return paths[node]

    order = sorted(range(len(nodes)), key=lambda i: distances[i])
    return {nodes[i]: distances[i] for i in order}, {nodes[i]: path(nodes[i]) for i in order}


def within(cutoff):
    """Infinite cutoffs are none."""
    return None if cutoff == float("inf") else cutoff


def hop_paths(G, source, cutoff, reverse=False):
    found = G.call("bfs", source=numbered(G, source), reverse=reverse, depth_limit=hops_limit(cutoff))
    nodes = G.named(found["node"])
    before = {node: last for node, last in zip(nodes, found["predecessor"])}
    paths = {}
    for _, node in sorted(zip(found["distance"], range(len(nodes)))):
        node = nodes[node]
        last = before[node]
        paths[node] = [node] if last is None else paths[G.nodes[last]] + [node]
    return paths


@function()
def single_source_shortest_path_length(G, source, cutoff=None):
    return lengths(G, "single_source_shortest_path_length", source, cutoff=hops_limit(cutoff))


@function()
def single_target_shortest_path_length(G, target, cutoff=None):
    options = {"cutoff": hops_limit(cutoff), "reverse": True}
    return lengths(G, "single_source_shortest_path_length", target, "Target", **options)


@function()
def all_pairs_shortest_path_length(G, cutoff=None):
    for node in G:
        yield node, lengths(G, "single_source_shortest_path_length", node, cutoff=hops_limit(cutoff))


@function()
def single_source_shortest_path(G, source, cutoff=None):
    return hop_paths(G, source, cutoff)


@function()
def single_target_shortest_path(G, target, cutoff=None):
    if target not in G:
        raise nx.NodeNotFound(f"Target {target} not in G")
    return {node: path[::-1] for node, path in hop_paths(G, target, cutoff, reverse=True).items()}


@function()
def all_pairs_shortest_path(G, cutoff=None):
    for node in G:
        yield node, hop_paths(G, node, cutoff)


def path_of(G, algorithm, source, target, **options):
    found = G.call(algorithm, source=numbered(G, source), target=reachable(G, target), **options)
    return G.named(found["node"])


@function()
def bidirectional_shortest_path(G, source, target):
    numbered(G, target, "Target")
    return path_of(G, "shortest_path", source, target)


@function()
def has_path(G, source, target):
    return G.value("has_path", source=numbered(G, source), target=numbered(G, target, "Target"))


@function()
def average_shortest_path_length(G, weight=None, method=None):
    if method not in (None, "unweighted", "dijkstra", "bellman-ford", "floyd-warshall", "floyd-warshall-numpy"):
        raise ValueError(f"method not supported: {method}")
    weight = None if method == "unweighted" else weight
    return G.value("average_shortest_path_length", weight=weight, weighted=weight is not None)


@function()
def dijkstra_path(G, source, target, weight="weight"):
    return path_of(G, "dijkstra_path", source, target, weight=weight)


@function()
def dijkstra_path_length(G, source, target, weight="weight"):
    return G.value("dijkstra_path_length", source=numbered(G, source), target=reachable(G, target), weight=weight)


@function()
def bidirectional_dijkstra(G, source, target, weight="weight"):
    source, target = numbered(G, source), numbered(G, target, "Target")
    found = G.call("dijkstra_path", source=source, target=target, weight=weight)
    return found["distance"][-1], G.named(found["node"])


def to_target(found, target):
    """Distance and path to a node."""
    if target is None:
        return found
    distances, paths = found
    if target not in distances:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return distances[target], paths[target]


@function()
def single_source_dijkstra(G, source, target=None, cutoff=None, weight="weight"):
    return to_target(search(G, "single_source_dijkstra", source, cutoff=within(cutoff), weight=weight), target)


@function()
def single_source_dijkstra_path(G, source, cutoff=None, weight="weight"):
    return search(G, "single_source_dijkstra", source, cutoff=within(cutoff), weight=weight)[1]


@function()
def single_source_dijkstra_path_length(G, source, cutoff=None, weight="weight"):
    return search(G, "single_source_dijkstra", source, cutoff=within(cutoff), weight=weight)[0]


@function()
def multi_source_dijkstra(G, sources, target=None, cutoff=None, weight="weight"):
    sources = list(sources)
    if not sources:
        raise ValueError("sources must not be empty")
    found = search(G, "multi_source_dijkstra", sources=sources, cutoff=within(cutoff), weight=weight)
    return to_target(found, target)


@function()
def multi_source_dijkstra_path(G, sources, cutoff=None, weight="weight"):
    return FUNCTIONS["multi_source_dijkstra"](G, sources, cutoff=cutoff, weight=weight)[1]


@function()
def multi_source_dijkstra_path_length(G, sources, cutoff=None, weight="weight"):
    return FUNCTIONS["multi_source_dijkstra"](G, sources, cutoff=cutoff, weight=weight)[0]


@function()
def all_pairs_dijkstra(G, cutoff=None, weight="weight"):
    for node in G:
        yield node, search(G, "single_source_dijkstra", node, cutoff=within(cutoff), weight=weight)


@function()
def all_pairs_dijkstra_path(G, cutoff=None, weight="weight"):
    for node in G:
        yield node, search(G, "single_source_dijkstra", node, cutoff=within(cutoff), weight=weight)[1]


@function()
def all_pairs_dijkstra_path_length(G, cutoff=None, weight="weight"):
    for node in G:
        yield node, search(G, "single_source_dijkstra", node, cutoff=within(cutoff), weight=weight)[0]


@function()
def bellman_ford_path(G, source, target, weight="weight"):
    return path_of(G, "bellman_ford_path", source, target, weight=weight)


@function()
def bellman_ford_path_length(G, source, target, weight="weight"):
    return G.value("bellman_ford_path_length", source=numbered(G, source), target=reachable(G, target), weight=weight)


@function()
def single_source_bellman_ford(G, source, target=None, weight="weight"):
    return to_target(search(G, "single_source_bellman_ford", source, weight=weight), target)


@function()
def single_source_bellman_ford_path(G, source, weight="weight"):
    return search(G, "single_source_bellman_ford", source, weight=weight)[1]


@function()
def single_source_bellman_ford_path_length(G, source, weight="weight"):
    return search(G, "single_source_bellman_ford", source, weight=weight)[0]


@function()
def negative_edge_cycle(G, weight="weight", heuristic=True):
    return G.value("negative_edge_cycle", weight=weight)


@function()
def bfs_layers(G, sources):
    sources = [sources] if sources in G else list(sources)
    for node in sources:
        if node not in G:
            raise nx.NetworkXError(f"The node {node} is not in the graph.")
    unsupported(len(sources) != 1, "several sources")
    found = G.call("bfs_layers", source=G.number_of(sources[0]))
    layers = {}
    for layer, node in zip(found["layer"], G.named(found["node"])):
        layers.setdefault(layer, []).append(node)
    return iter(layers.values())


@function()
def descendants_at_distance(G, source, distance):
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    unsupported(distance < 0, "a negative distance")
    return set(G.named(G.call("descendants_at_distance", source=G.number_of(source), distance=distance)["node"]))


@function()
def eccentricity(G, v=None, sp=None, weight=None):
    unsupported(sp is not None or weight is not None, "given distances")
    return chosen(G, G.by_node(G.call("eccentricity")["eccentricity"]), v)


def measure(name):
    def call(G, e=None, usebounds=False, weight=None):
        unsupported(e is not None or weight is not None, "given distances")
        if name in ("diameter", "radius"):
            return G.value(name)
        return G.named(G.call(name)["node"])

    call.__name__ = name
    function()(call)


for name in ("diameter", "radius", "center", "periphery"):
    measure(name)


# Components, cuts, orders and trees.


def components(name, refused):
    """Functions of one kind of component."""

    def sets(G):
        yield from groups(G, G.call(name)["component"])

    def number(G):
        return G.value(f"number_{name}")

    def is_one(G):
        return G.value(f"is_{name.removesuffix('_components')}")

    sets.__name__ = name
    number.__name__ = f"number_{name}"
    is_one.__name__ = f"is_{name.removesuffix('_components')}"
    for f in (sets, number, is_one):
        function(refused)(f)


components("connected_components", "directed")
components("weakly_connected_components", "undirected")
components("strongly_connected_components", "undirected")


@function("directed")
def node_connected_component(G, n):
    return next(nodes for nodes in groups(G, G.call("connected_components")["component"]) if n in nodes)


@function("directed")
def articulation_points(G):
    yield from G.named(G.call("articulation_points")["node"])


@function("directed")
def bridges(G, root=None):
    found = G.call("bridges")
    edges = zip(G.named(found["source"]), G.named(found["target"]))
    if root is not None:
        if root not in G:
            raise nx.NodeNotFound(f"Root node {root} is not in graph")
        nodes = FUNCTIONS["node_connected_component"](G, root)
        edges = ((u, v) for u, v in edges if u in nodes)
    return iter(list(edges))


@function("directed")
def has_bridges(G, root=None):
    return any(True for _ in FUNCTIONS["bridges"](G, root))


def in_order(G, name):
    if not G.is_directed():
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    return G.call(name)


@function()
def topological_sort(G):
    yield from G.named(in_order(G, "topological_sort")["node"])


@function()
def topological_generations(G):
    yield from map(list, groups(G, in_order(G, "topological_generations")["generation"]))


@function()
def is_directed_acyclic_graph(G):
    return G.value("is_directed_acyclic_graph")


def relatives(name):
    def call(G, source):
        if source not in G:
            raise nx.NetworkXError(f"The node {source} is not in the graph.")
        return set(G.named(G.call(name, source=G.number_of(source))["node"]))

    call.__name__ = name
    function()(call)


relatives("ancestors")
relatives("descendants")


def spanning(name):
    def call(G, algorithm="kruskal", weight="weight", keys=True, data=True, ignore_nan=False):
        if algorithm not in ("kruskal", "prim", "boruvka", "borůvka"):
            raise ValueError(f"{algorithm} is not a valid choice for an algorithm.")
        if G.is_multigraph() and algorithm.startswith("bor"):
            raise nx.NetworkXNotImplemented("not implemented for multigraph type")
        found = G.call(name, weight=weight)["edge"]
        edges = list(G.nx.edges(keys=True, data=True) if G.is_multigraph() else G.nx.edges(data=True))

        def parts():
            for edge in found:
                *ends, attributes = edges[edge]
                if G.is_multigraph() and not keys:
                    ends.pop()
                yield (*ends, attributes) if data else tuple(ends)

        return parts()

    call.__name__ = name
    function("directed")(call)


spanning("minimum_spanning_edges")
spanning("maximum_spanning_edges")


# Triangles, cores and communities.


@function("directed", "multigraph")
def triangles(G, nodes=None):
    return chosen(G, G.by_node(G.call("triangles")["triangles"]), nodes)


@function("multigraph")
def clustering(G, nodes=None, weight=None):
    found = G.call("clustering", weight=weight, weighted=weight is not None)["clustering"]
    return chosen(G, G.by_node(found), nodes)


@function("multigraph")
def average_clustering(G, nodes=None, weight=None, count_zeros=True):
    unsupported(nodes is not None, "the mean of some nodes")
    if len(G) == 0:
        raise ZeroDivisionError
    options = {"weight": weight, "weighted": weight is not None, "count_zeros": count_zeros}
    return G.value("average_clustering", **options)


@function("multigraph")
def transitivity(G):
    return G.value("transitivity")


@function("multigraph")
def square_clustering(G, nodes=None):
    return chosen(G, G.by_node(G.call("square_clustering")["square_clustering"]), nodes)


@function("multigraph")
def core_number(G):
    return G.by_node(G.call("core_number")["core_number"])


@function("directed", "multigraph")
def k_truss(G, k):
    if nx.number_of_selfloops.orig_func(G.nx) > 0:
        raise nx.NetworkXNotImplemented("Input graph has self loops which is not permitted")
    found = G.call("k_truss", k=max(0, k))
    edges = zip(G.named(found["source"]), G.named(found["target"]))
    return G.nx.edge_subgraph(list(edges)).copy()


def seed_of(seed):
    """NetworkX gives generators of random numbers; without a seed, the one of the module `random`."""
    if seed is None or isinstance(seed, int):
        return seed
    return 0 if seed is random._inst else seed.getrandbits(30)


def communities(name):
    def call(G, weight="weight", resolution=1, threshold=1e-7, max_level=None, seed=None):
        if max_level is not None and max_level <= 0:
            raise ValueError("max_level argument must be a positive integer or None")
        options = {"resolution": resolution, "max_level": max_level, "seed": seed_of(seed)}
        if name == "louvain_communities":
            options["threshold"] = threshold
        return groups(G, G.call(name, weight=weight, **options)["community"])

    call.__name__ = name
    function()(call)


communities("louvain_communities")


@function()
def leiden_communities(G, weight="weight", resolution=1, max_level=None, seed=None):
    if max_level is not None and max_level <= 0:
        raise ValueError("max_level argument must be a positive integer or None")
    options = {"resolution": resolution, "max_level": max_level, "seed": seed_of(seed)}
    return groups(G, G.call("leiden_communities", weight=weight, **options)["community"])


@function("directed")
def label_propagation_communities(G):
    return dict(enumerate(groups(G, G.call("label_propagation_communities")["community"]))).values()


def community_frame(G, sets):
    """A frame of communities."""
    sets = [set(nodes) for nodes in sets]
    counted = [node for nodes in sets for node in nodes]
    if len(counted) != len(set(counted)) or set(counted) != set(G.nodes):
        raise nx.community.NotAPartition(G.nx, sets)
    community = {node: i for i, nodes in enumerate(sets) for node in nodes}
    return {"communities": {"node": list(range(len(G))), "community": [community[node] for node in G.nodes]}}


@function()
def modularity(G, communities, weight="weight", resolution=1):
    frames = community_frame(G, communities)
    if not G.nx.size(weight=weight):
        raise ZeroDivisionError("no weight of edges")
    return G.value("modularity", weight=weight, frames=frames, resolution=resolution)


@function()
def partition_quality(G, partition):
    frames = community_frame(G, partition)
    if not G.nx.number_of_edges():
        raise ZeroDivisionError("no edges")
    performance = -1.0 if G.is_multigraph() else G.value("performance", frames=frames)
    return G.value("coverage", frames=frames), performance


@function()
def conductance(G, S, T=None, weight=None):
    S = set(S)
    unsupported(T is not None and set(T) | S != set(G.nodes) or not S or len(S) == len(G), "two parts of the nodes")
    frames = {"communities": {"node": list(range(len(G))), "community": [int(node in S) for node in G.nodes]}}
    return G.call("conductance", weight=weight, weighted=weight is not None, frames=frames)["conductance"][1]


# Pairs of nodes.


def scores(name):
    def call(G, ebunch=None):
        pairs = list(nx.non_edges(G.nx)) if ebunch is None else list(ebunch)
        for u, v in pairs:
            for node in (u, v):
                if node not in G:
                    raise nx.NodeNotFound(f"Node {node} not in G.")
        ends = {"u": [G.number[u] for u, _ in pairs], "v": [G.number[v] for _, v in pairs]}
        return ((u, v, score) for (u, v), score in zip(pairs, G.call(name, frames={"pairs": ends})[name]))

    call.__name__ = name
    function("directed", "multigraph")(call)


for name in ("jaccard_coefficient", "resource_allocation_index", "adamic_adar_index", "preferential_attachment"):
    scores(name)


# Degrees and layouts.


@function("undirected", "multigraph")
def overall_reciprocity(G):
    if not G.nx.number_of_edges():
        raise nx.NetworkXError("Not defined for empty graphs")
    return G.value("reciprocity")


@function("undirected", "multigraph")
def reciprocity(G, nodes=None):
    unsupported(nodes is not None, "reciprocity by node")
    return FUNCTIONS["overall_reciprocity"](G)


@function()
def degree_assortativity_coefficient(G, x="out", y="in", weight=None, nodes=None):
    unsupported(nodes is not None, "some nodes")
    options = {"weight": weight, "weighted": weight is not None}
    return G.value("degree_assortativity_coefficient", x=x, y=y, **options)


@function()
def average_neighbor_degree(G, source="out", target="out", nodes=None, weight=None):
    kinds = ("in", "out", "in+out") if G.is_directed() else ("out",)
    if source not in kinds or target not in kinds:
        raise nx.NetworkXError(f"source and target are {source} and {target}, expected one of {kinds}")
    options = {"source": source, "target": target, "weight": weight, "weighted": weight is not None}
    found = G.by_node(G.call("average_neighbor_degree", **options)["average_neighbor_degree"])
    return found if nodes is None else {node: found[node] for node in G.nx.nbunch_iter(nodes)}


@function()
def isolates(G):
    yield from G.named(G.call("isolates")["node"])


@function()
def number_of_isolates(G):
    return len(G.call("isolates")["node"])


@function()
def is_isolate(G, n):
    return n in G.named(G.call("isolates")["node"])


@function()
def number_of_selfloops(G):
    return G.value("number_of_selfloops")


@function()
def forceatlas2_layout(
    G, pos=None, *, dim=2, node_mass=None, node_size=None, weight=None, seed=None, store_pos_as=None, **options
):
    import numpy as np

    if len(G) == 0:
        return {}
    unsupported(dim != 2 or node_mass or node_size or store_pos_as, "masses, sizes and three dimensions")
    unsupported(pos is None or set(pos) != set(G.nodes), "random positions")
    points = [pos[node] for node in G.nodes]
    frame = {
        "node": list(range(len(G))),
        "x": [float(p[0]) for p in points],
        "y": [float(p[1]) for p in points],
    }
    found = G.call("forceatlas2_layout", weight=weight, weighted=weight is not None, frames={"pos": frame}, **options)
    return {node: np.array([x, y]) for node, x, y in zip(G.nodes, found["x"], found["y"])}

