"""Calls of `onrush-graph-check`: a graph of NetworkX becomes numbers, its answers become nodes again."""

import atexit
import json
import math
import numbers
import os
import subprocess

import networkx as nx

_process = None


def _engine():
    global _process
    if _process is None or _process.poll() is not None:
        command = os.environ["ONRUSH_GRAPH_CHECK"]
        # The graphs are small: threads would only wait for one another.
        environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
        pipe = subprocess.PIPE
        _process = subprocess.Popen([command], env=environment, stdin=pipe, stdout=pipe, text=True)
        atexit.register(_process.kill)
    return _process


class Unknown(Exception):
    """The graph has no such node."""


class OnrushGraph:
    """A graph as algorithms of the backend get it. Nodes are numbered in the order of NetworkX."""

    __networkx_backend__ = "onrush"

    def __init__(self, graph):
        self.nx = graph
        self.nodes = list(graph)
        self.number = {node: i for i, node in enumerate(self.nodes)}

    def __contains__(self, node):
        return node in self.nx

    def __iter__(self):
        return iter(self.nodes)

    def __len__(self):
        return len(self.nodes)

    def is_directed(self):
        return self.nx.is_directed()

    def is_multigraph(self):
        return self.nx.is_multigraph()

    def number_of(self, node):
        try:
            return self.number[node]
        except (KeyError, TypeError):
            raise Unknown(node) from None

    def edges(self, weight):
        """Ends and weights. Without an attribute `weight`, an edge weighs 1."""
        if callable(weight):
            raise NotImplementedError("weights by a function")
        sources, targets, weights = [], [], []
        for u, v, data in self.nx.edges(data=True):
            sources.append(self.number[u])
            targets.append(self.number[v])
            value = 1 if weight is None else data.get(weight, 1)
            if not isinstance(value, numbers.Real) or not math.isfinite(value):
                raise NotImplementedError(f"the weight {value!r}")
            weights.append(float(value))
        return sources, targets, weights if weight is not None else None

    def call(self, algorithm, *, weight=None, frames=None, reverse=False, **params):
        """The columns of the result. Parameters that are `None` are left out."""
        sources, targets, weights = self.edges(weight)
        if reverse:
            sources, targets = targets, sources
        request = {
            "directed": self.is_directed(),
            "nodes": len(self.nodes),
            "sources": sources,
            "targets": targets,
            "weights": weights,
            "algorithm": algorithm,
            "params": {name: plain(value) for name, value in params.items() if value is not None},
            "frames": {name: frame for name, frame in (frames or {}).items() if frame is not None},
        }
        process = _engine()
        process.stdin.write(json.dumps(request, allow_nan=False) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        if "error" in answer:
            raise exception(answer["error"], algorithm, params, self)
        CALLS[algorithm] = CALLS.get(algorithm, 0) + 1
        TESTS.add(os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0])
        return {name: [number(v) for v in column] for name, column in answer["columns"].items()}

    def value(self, algorithm, **options):
        return self.call(algorithm, **options)[algorithm][0]

    def by_node(self, column):
        return {node: value for node, value in zip(self.nodes, column)}

    def named(self, column):
        return [self.nodes[i] for i in column]

    def values(self, values):
        """A frame of numbers by node."""
        if values is None:
            return None
        known = {node: value for node, value in values.items() if node in self.number}
        return {"node": [self.number[node] for node in known], "value": [float(value) for value in known.values()]}

    def some(self, nodes):
        return {"node": [self.number_of(node) for node in nodes]}


# How often each algorithm was answered, the tests that called one, and listed differences that are no tests.
CALLS, TESTS, STALE = {}, set(), set()


@atexit.register
def _write_counts():
    if path := os.environ.get("ONRUSH_GRAPH_COUNTS"):
        with open(path, "w") as file:
            json.dump({"tests": sorted(TESTS), "calls": CALLS, "stale": sorted(STALE)}, file)


def plain(value):
    """A parameter as JSON has it."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return float(value)
    raise NotImplementedError(f"the parameter {value!r}")


def number(value):
    """A float that JSON lacks is a string."""
    return float(value) if isinstance(value, str) else value


def exception(error, algorithm, params, graph):
    """The exception of NetworkX for an error of ours."""
    code, message = error["code"], error["message"]
    match code:
        case "directed" | "undirected":
            return nx.NetworkXNotImplemented(message)
        case "loops":
            return nx.NetworkXNotImplemented("Input graph has self loops")
        case "no_path":
            return nx.NetworkXNoPath(message)
        case "cycle":
            return nx.NetworkXUnfeasible(message)
        case "negative_cycle":
            return nx.NetworkXUnbounded(message)
        case "convergence":
            return nx.PowerIterationFailedConvergence(params.get("max_iter"))
        case "empty" if algorithm.startswith("is_"):
            return nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
        case "empty":
            return nx.NetworkXPointlessConcept(message)
        case "not_connected" if algorithm == "average_shortest_path_length":
            return nx.NetworkXError(f"Graph is not {'strongly ' if graph.is_directed() else ''}connected.")
        case "not_connected":
            return nx.NetworkXError(message)
        case "weight" | "parameter" | "argument":
            return ValueError(message)
        case _:
            return RuntimeError(f"{code}: {message}")
