"""The interface that NetworkX looks for: conversions, functions, and known differences."""

import networkx as nx

from .algorithms import FUNCTIONS
from .differences import on_start_tests  # noqa: F401
from .engine import OnrushGraph

globals().update(FUNCTIONS)


def convert_from_nx(graph, *_, name=None, **__):
    # Subclasses may have other edges than those that they store.
    if type(graph) in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph):
        return OnrushGraph(graph)
    raise NotImplementedError(f"{name} of {type(graph)}")


def convert_to_nx(result, *_, **__):
    return result.nx if isinstance(result, OnrushGraph) else result


def can_run(name, args, kwargs):
    # Weights by a function are NetworkX's.
    return name in FUNCTIONS and not any(callable(value) for value in (*args, *kwargs.values()))
