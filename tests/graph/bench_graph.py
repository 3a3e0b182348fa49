"""Times of igraph, NetworKit and NetworkX on the edges of `runtime/graph/examples/bench_graph.rs`, in milliseconds.

`python tests/graph/bench_graph.py FILE [networkx]`. The best of three; NetworkX once.
"""

import sys
import time

import igraph
import networkit as nk
import networkx as nx
import numpy as np


def best(name, work, times=3):
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        took.append(time.perf_counter() - begin)
    print(f"{name:<40} {min(took) * 1e3:9.1f}", flush=True)


def main():
    edges = np.fromfile(sys.argv[1], dtype=np.uint32).reshape(-1, 2).astype(np.int64)
    n = 1 << int(edges.max()).bit_length()
    weights = np.random.default_rng(0).random(len(edges))
    source = int(np.bincount(edges.ravel(), minlength=n).argmax())
    print(n, "nodes,", len(edges), "edges,", nk.getMaxNumberOfThreads(), "threads")
    if "networkx" in sys.argv:
        networkx(edges, source)
        return
    best("igraph build", lambda: igraph.Graph(n=n, edges=edges), 1)
    g, d = igraph.Graph(n=n, edges=edges), igraph.Graph(n=n, edges=edges, directed=True)
    best("igraph pagerank directed", d.pagerank)
    best("igraph pagerank", g.pagerank)
    best("igraph hub_score directed", d.hub_score)
    best("igraph bfs (distances)", lambda: g.distances(source))
    best("igraph dijkstra", lambda: g.distances(source, weights=weights))
    best("igraph components", lambda: g.connected_components())
    best("igraph strong components", lambda: d.connected_components(mode="strong"))
    s = g.copy().simplify()
    best("igraph coreness", s.coreness)
    best("igraph clustering", lambda: s.transitivity_local_undirected())

    def build(directed, weighted):
        made = nk.Graph(n, directed=directed, weighted=weighted)
        made.addEdges((weights, (edges[:, 0], edges[:, 1])) if weighted else (edges[:, 0], edges[:, 1]))
        return made

    best("networkit build", lambda: build(False, False), 1)
    g, d, w = build(False, False), build(True, False), build(False, True)
    best("networkit pagerank directed", lambda: nk.centrality.PageRank(d, tol=1e-8).run())
    best("networkit pagerank", lambda: nk.centrality.PageRank(g, tol=1e-8).run())
    best("networkit bfs", lambda: nk.distance.BFS(g, source, storePaths=False).run())
    best("networkit dijkstra", lambda: nk.distance.Dijkstra(w, source, storePaths=False).run())
    best("networkit components", lambda: nk.components.ParallelConnectedComponents(g).run())
    best("networkit strong components", lambda: nk.components.StronglyConnectedComponents(d).run())
    g.removeMultiEdges()
    g.removeSelfLoops()
    g.indexEdges()
    best("networkit core", lambda: nk.centrality.CoreDecomposition(g).run())
    best("networkit clustering", lambda: nk.centrality.LocalClusteringCoefficient(g).run())
    best("networkit diameter", lambda: nk.distance.Diameter(g, algo=nk.distance.DiameterAlgo.Exact).run(), 1)


def networkx(edges, source):
    pairs = edges.tolist()
    made = []
    best("networkx build (simple)", lambda: made.append(nx.Graph(pairs)), 1)
    g = made[0]
    best("networkx pagerank", lambda: nx.pagerank(g), 1)
    best("networkx bfs", lambda: nx.single_source_shortest_path_length(g, source), 1)
    best("networkx components", lambda: list(nx.connected_components(g)), 1)
    best("networkx dijkstra (weight 1)", lambda: nx.single_source_dijkstra_path_length(g, source), 1)
    g.remove_edges_from(list(nx.selfloop_edges(g)))
    best("networkx core_number", lambda: nx.core_number(g), 1)


if __name__ == "__main__":
    main()
