"""NetworkX's own tests against our algorithms, by the backend in `nx_onrush`.

Functions that the backend lacks, and arguments that it refuses, are run by NetworkX. Known differences are listed with
their reasons in `nx_onrush/nx_onrush/differences.py`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import networkx

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

# Files of NetworkX's tests that call algorithms of the table, by package.
FILES = {
    "algorithms": """
        asteroidal bridges broadcasting chains chordal clique cluster core covering cuts cycles d_separation dag
        distance_measures distance_regular dominating efficiency euler hierarchy hybrid isolate link_prediction
        lowest_common_ancestors non_randomness reciprocity richclub similarity smetric sparsifiers structuralholes swap
        threshold tournament vitality voronoi wiener""",
    "algorithms.assortativity": "correlation neighbor_degree",
    "algorithms.bipartite": "basic centrality cluster covering edgelist extendability generators matching",
    "algorithms.centrality": """
        betweenness_centrality betweenness_centrality_subset closeness_centrality current_flow_betweenness_centrality
        current_flow_betweenness_centrality_subset current_flow_closeness degree_centrality eigenvector_centrality
        harmonic_centrality katz_centrality laplacian_centrality percolation_centrality reaching
        second_order_centrality trophic""",
    "algorithms.coloring": "coloring",
    "algorithms.community": """
        asyn_fluid bipartitions centrality divisive kclique label_propagation leiden louvain lukes quality""",
    "algorithms.components": "attracting biconnected connected semiconnected strongly_connected weakly_connected",
    "algorithms.link_analysis": "hits pagerank",
    "algorithms.minors": "contraction",
    "algorithms.shortest_paths": "astar generic unweighted weighted",
    "algorithms.traversal": "bfs",
    "algorithms.tree": "coding decomposition distance_measures mst recognition",
    "classes": "function",
    "linalg": "algebraic_connectivity laplacian",
}
LAYOUTS = ["TestLayout::test_smoke_initial_pos_forceatlas2", "TestLayout::test_smoke_string"]

# One test has 500 random graphs and takes three quarters of the time: a tenth of them are as good.
SOME = "not test_use_bounds_on_off_consistency or -11-"

# Tests that call at least one of our algorithms.
REACHED = 1000


def test_the_tests_of_networkx_pass(tmp_path):
    check = os.environ.get("ONRUSH_GRAPH_CHECK", ROOT / "target" / "debug" / "onrush-graph-check")
    assert Path(check).is_file(), f"{check} is missing: cargo build -p onrush-graph-arrow --bins"
    counts = tmp_path / "counts.json"
    selected = [f"networkx.{package}.tests.test_{file}" for package, files in FILES.items() for file in files.split()]
    selected += [f"networkx.drawing.tests.test_layout::{test}" for test in LAYOUTS]
    root = Path(networkx.__file__).parent.parent
    options = ["-q", "-p", "no:cacheprovider", "--tb=short", "-rfE", f"--rootdir={root}", "-k", SOME, "--pyargs"]
    command = [sys.executable, "-m", "pytest", *options, *selected]
    environment = {
        **os.environ,
        "NETWORKX_TEST_BACKEND": "onrush",
        "NETWORKX_FALLBACK_TO_NX": "True",
        "ONRUSH_GRAPH_CHECK": str(check),
        "ONRUSH_GRAPH_COUNTS": str(counts),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE / "nx_onrush"), os.environ.get("PYTHONPATH")])),
    }
    # In another folder, because the settings of our tests are not those of NetworkX's.
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    print(ran.stdout[-8000:], ran.stderr[-2000:])
    assert ran.returncode == 0, ran.stdout.splitlines()[-1:]
    found = json.loads(counts.read_text())
    assert not found["stale"], f"differences that are no tests: {found['stale']}"
    tests, calls = len(found["tests"]), found["calls"]
    print(f"{tests} tests called {len(calls)} algorithms, {sum(calls.values())} times: {ran.stdout.splitlines()[-1]}")
    assert tests >= REACHED
