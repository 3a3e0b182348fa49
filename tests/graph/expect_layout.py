"""Layouts by NetworkX 3.6.1 from given positions, written to `layout.json`: `python tests/graph/expect_layout.py`."""

import networkx as nx
import numpy as np
from graphs import Random, graphs, to_networkx, write

NAMES = (
    "two_cliques karate les_miserables grid star weighted weighted_digraph multi multi_weighted_digraph loops isolated"
).split()


def spectral(g):
    """None if the second to fourth eigenvalues of the Laplacian are not different: then NetworkX's are any vectors."""
    made = to_networkx(g)
    if len(made) < 4:
        return None
    a = nx.to_numpy_array(made)
    a = a + a.T if g["directed"] else a
    values = np.linalg.eigvalsh(np.diag(a.sum(axis=1)) - a)[:4]
    return points(nx.spectral_layout(made, scale=2), g) if min(np.diff(values)) > 1e-3 else None


def points(positions, g):
    return [[float(f"{x:.12g}") for x in positions[v]] for v in range(g["n"])]


if __name__ == "__main__":
    expected = {}
    for name in NAMES:
        g = graphs()[name]
        made = to_networkx(g)
        r = Random(17)
        start = [[r.below(100000) / 100000 for _ in range(2)] for _ in range(g["n"])]

        def pos():
            return {v: np.array(p) for v, p in enumerate(start)}

        def force_atlas(**options):
            return points(nx.forceatlas2_layout(made, pos(), **options), g)

        def spring(**options):
            return points(nx.spring_layout(made, pos=pos(), method="force", **options), g)

        expected[name] = {
            "start": start,
            "forceatlas2": [
                force_atlas(max_iter=1),
                force_atlas(max_iter=8),
                force_atlas(max_iter=4, linlog=True, strong_gravity=True),
                force_atlas(max_iter=4, distributed_action=True, scaling_ratio=5.0, gravity=0.3, jitter_tolerance=2.0),
                force_atlas(max_iter=4, weight="weight"),
            ],
            "spring": [
                spring(iterations=1),
                spring(iterations=10),
                spring(iterations=5, k=0.5, scale=3, center=[2, -1], weight=None),
                spring(iterations=5, fixed=[0, 1]),
            ],
        }
    circular = [points(nx.circular_layout(range(n), scale=2, center=[1, 3]), {"n": n}) for n in (0, 1, 2, 3, 8, 31)]
    of_spectra = {name: spectral(g) for name, g in graphs().items()}
    of_spectra = {name: found for name, found in of_spectra.items() if found}
    write("layout", {"graphs": expected, "circular": circular, "spectral": of_spectra})
