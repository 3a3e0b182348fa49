"""Tests of NetworkX that ours do not pass, with the reason."""

import pytest

from .engine import STALE

ORDER = "the same communities, in the order of size"
PATHS = "other shortest paths of the same length"
SEED = "other communities, of a modularity at least as high: a seed gives another order of nodes"

DIFFERENCES = {
    "TestBellmanFordAndGoldbergRadzik:test_zero_cycle_smoke": "Dijkstra's algorithm refuses negative weights",
    "TestDAG:test_topological_sort6": "an order is complete before it is read: changes of the graph are not seen",
    "TestMinimumCycleBasis:test_gh6787_and_edge_attribute_names": PATHS,
    "TestMinimumCycleBasis:test_petersen_graph": PATHS,
    "TestMinimumCycleBasis:test_unweighted_diamond": PATHS,
    "TestMinimumCycleBasis:test_weighted_diamond": PATHS,
    "test_louvain.py:test_directed_partition": ORDER,
    "test_louvain.py:test_karate_club_partition": SEED,
    "test_louvain.py:test_max_level": "levels are compared with those of louvain_partitions, which NetworkX runs",
    "test_louvain.py:test_multigraph": SEED,
    "test_louvain.py:test_none_weight_param": SEED,
    "test_louvain.py:test_undirected_selfloops": SEED,
}


def on_start_tests(items):
    known = set()
    for item in items:
        name = f"{item.parent.name}:{item.name}" if item.cls else f"{item.path.name}:{item.name}"
        if name in DIFFERENCES:
            known.add(name)
            item.add_marker(pytest.mark.xfail(reason=DIFFERENCES[name], strict=True))
    STALE.update(set(DIFFERENCES) - known)
