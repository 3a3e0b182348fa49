"""Onrush's graph algorithms as a backend of NetworkX, so that NetworkX's own tests run against them. Not shipped.

The folder above is put on `PYTHONPATH`; `ONRUSH_GRAPH_CHECK` names the binary `onrush-graph-check`.
"""


def backend_info():
    # NetworkX skips the tests of a function that only backends have if none of them lists it.
    return {"short_summary": "Onrush's graph algorithms, for tests", "functions": {"leiden_communities": {}}}
