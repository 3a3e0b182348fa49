"""Random graphs, and calls with two frames each, against NetworkX 3.6.1: the second answer is that of the second frame.

The seed is pinned. New ones: `ONRUSH_SEED=7 python -m pytest tests/graph/test_two_frames.py`.
"""

import os
import random

import networkx as nx
import pytest
from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python

from driver import Kernel

ROUNDS = 8


def frame(**columns):
    return "frame! { " + ", ".join(f"{name}: {list(values)!r}" for name, values in columns.items()) + " }"


def sets(parts):
    found = {}
    for node, part in parts.items():
        found.setdefault(part, set()).add(node)
    return [found[part] for part in sorted(found)]


def asked(graph, directed, dice):
    """Pairs of a call with two frames and what NetworkX gives for each."""
    nodes = sorted(graph)

    def partition():
        # Every node of the first three has a community of its own, so that none is empty.
        parts = {node: i if i < 3 else dice.randrange(3) for i, node in enumerate(nodes)}
        return frame(node=parts, community=parts.values()), sets(parts)

    def pair():
        u, v = dice.sample(nodes, 2)
        return frame(u=[u], v=[v]), (u, v)

    def some():
        chosen = dice.sample(nodes, 2)
        return frame(node=chosen), chosen

    def isolated():
        more = range(1000, 1001 + dice.randrange(5))
        bigger = graph.copy()
        bigger.add_nodes_from(more)
        return frame(id=more), bigger

    def ranks(one):
        # Ours ends as NetworkX's does, with a tolerance for each node.
        return _pagerank_python(directed, personalization={one: 1.0}, weight=None)

    def column(call, name):
        return f"{call}.column::<f64>(\"{name}\").iter().sum::<f64>()"

    for _ in range(3):
        text, found = partition()
        yield f"g.modularity({text})", nx.community.modularity(graph, found, weight=None)
        yield f"g.coverage({text})", nx.community.partition_quality(graph, found)[0]
        yield f"g.performance({text})", nx.community.partition_quality(graph, found)[1]
        text, (u, v) = pair()
        jaccard = next(nx.jaccard_coefficient(graph, [(u, v)]))[2]
        yield column(f"g.jaccard_coefficient().pairs({text})", "jaccard_coefficient"), jaccard
        text, chosen = some()
        near = nx.multi_source_dijkstra_path_length(graph, set(chosen), weight=None)
        yield column(f"g.multi_source_dijkstra({text})", "distance"), sum(near.values())
        text, bigger = isolated()
        yield f"g.add_nodes({text}, \"id\").density()", nx.density(bigger)
        yield f"g.add_nodes({text}, \"id\").number_connected_components() as f64", nx.number_connected_components(bigger)
        one = dice.choice(nodes)
        rank = f"d.pagerank().personalization({frame(node=[one], w=[1.0])}).filter(x!(node == {one}))"
        yield column(rank, "pagerank"), ranks(one)[one]


@pytest.fixture
def kernel(kernelspecs, tmp_path):
    kernel = Kernel(kernelspecs, tmp_path)
    yield kernel
    kernel.close()


def test_second_frames_have_the_answers_of_networkx(kernel):
    dice = random.Random(int(os.environ.get("ONRUSH_SEED", "20261128")))
    for _ in range(ROUNDS):
        graph = nx.gnm_random_graph(dice.randrange(8, 20), dice.randrange(12, 40), seed=dice.randrange(10**6))
        graph.remove_nodes_from(list(nx.isolates(graph)))
        edges = list(graph.edges())
        directed = nx.DiGraph(edges)
        calls = list(asked(graph, directed, dice))
        ends = frame(a=[u for u, _ in edges], b=[v for _, v in edges])
        lines = [f'let f = {ends}; let g = f.graph("a", "b"); let d = f.digraph("a", "b");']
        lines += [f'println!("{{:.9}}", {call});' for call, _ in calls]
        found = kernel.ok("\n".join(lines)).stdout.split()
        for (call, wanted), value in zip(calls, found, strict=True):
            assert float(value) == pytest.approx(wanted, rel=1e-4, abs=1e-6), f"{edges}: {call}"
