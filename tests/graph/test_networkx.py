"""NetworkX's own tests against our algorithms, by the backend in `nx_onrush`.

Functions that the backend lacks, and arguments that it refuses, are run by NetworkX. Known differences are listed with
their reasons in `nx_onrush/nx_onrush/differences.py`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

# Modules of NetworkX with the tests of functions that the table of algorithms has.
MODULES = """
assortativity.tests.test_correlation
assortativity.tests.test_neighbor_degree
centrality.tests.test_betweenness_centrality
centrality.tests.test_closeness_centrality
centrality.tests.test_degree_centrality
centrality.tests.test_eigenvector_centrality
centrality.tests.test_harmonic_centrality
centrality.tests.test_katz_centrality
community.tests.test_label_propagation
community.tests.test_leiden
community.tests.test_louvain
community.tests.test_quality
components.tests.test_biconnected
components.tests.test_connected
components.tests.test_strongly_connected
components.tests.test_weakly_connected
link_analysis.tests.test_hits
link_analysis.tests.test_pagerank
shortest_paths.tests.test_generic
shortest_paths.tests.test_unweighted
shortest_paths.tests.test_weighted
tests.test_bridges
tests.test_cluster
tests.test_core
tests.test_cuts
tests.test_dag
tests.test_distance_measures
tests.test_isolate
tests.test_link_prediction
tests.test_reciprocity
tests.test_smetric
traversal.tests.test_bfs
tree.tests.test_mst
""".split()
OTHERS = ["networkx.classes.tests.test_function", "networkx.drawing.tests.test_layout"]

# Tests that call at least one of our algorithms.
REACHED = 500


def test_the_tests_of_networkx_pass(tmp_path):
    check = os.environ.get("ONRUSH_GRAPH_CHECK", ROOT / "target" / "debug" / "onrush-graph-check")
    assert Path(check).is_file(), f"{check} is missing: cargo build -p onrush-graph-calls --bins"
    counts = tmp_path / "counts.json"
    modules = [f"networkx.algorithms.{module}" for module in MODULES] + OTHERS
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "-rfE", "--pyargs", *modules]
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
    print(f"{found['tests']} tests called {len(found['calls'])} algorithms, {sum(found['calls'].values())} times")
    assert found["tests"] >= REACHED
