"""Graphs on the CPU: Onrush, NetworKit, igraph and Ursa build the same graphs and run the same algorithms on the same
cores. Threads, the session and the first cores are as told in `peers.py`; igraph has one thread.

- Graphs: R-MAT with 2^SCALE nodes (`--scale`, default 17) and 16 edges for each, with the parameters of Graph500, each
  pair once, no self-loops; and an LFR graph of `--nodes` nodes with planted communities and mixing 0.3. Ids are 0 to
  n - 1, or strings. Both are made once and stored as Parquet files.
- `build` starts from columns of ids in memory and ends with the degrees. From strings, peers that take numbers only
  get them from PyArrow's dictionary encoding.
- All other questions run on graphs that are built, and end with the result in the engine's memory. Onrush: a cell runs
  the step and `.persist()`, timed with `Instant` in the cell; each run has another frame with the same rows, whose
  index a call of `degree` has made before. Ursa: `collect()`.
- Each question is asked 1 + ROUNDS times, of the engines in turns. The table has the first time and the best of the
  others.
- Answers are compared with the first peer's: degrees, sums and maxima of ranks, reached nodes and sums of distances,
  components and the largest of them, sums of core numbers, triangles. Communities are compared by modularity, which
  NetworKit computes for all: at most 0.005 less than the best peer's is asked for. Their modularity, and with planted communities
  the normalised mutual information, stand below the table. Sources of betweenness differ between engines: its scores
  are not compared.
- PageRank runs until the L1 norm of the change is below 1e-8, igraph's until its solver is exact.
- The ratio is Onrush's best time to the best peer's: below 1 Onrush is faster.
"""

import json
import math
import os
import platform
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import peers
from peers import ROUNDS, THREADS, Failed, Times, first_line

os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(THREADS)

import igraph  # noqa: E402
import networkit as nk  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import ursa as ur  # noqa: E402

ENGINES = ("onrush", "networkit", "igraph", "ursa")
SEED = 7
TOLERANCE = 1e-4
QUALITY = 0.005
CHANGE = 1e-8

PRELUDE = """
/// Aggregates of a result as a JSON array.
fn summary(f: &Frame, values: Vec<Expr>) {
    let named = values.into_iter().enumerate().map(|(i, v)| v.cast("f64").alias(format!("v{i}")));
    let rows: Vec<Vec<f64>> = f.select(named.collect::<Vec<_>>()).rows();
    println!("{:?}", rows[0]);
}
"""


def rmat(folder: Path, scale: int) -> Path:
    """R-MAT (Chakrabarti, Zhan and Faloutsos 2004): each pair of nodes once, nodes without edges left out."""
    path = folder / f"graph-rmat-{scale}.parquet"
    if not path.is_file():
        random = np.random.default_rng(SEED)
        edges = (1 << scale) * 16
        s, t = np.zeros(edges, dtype=np.int64), np.zeros(edges, dtype=np.int64)
        for bit in range(scale):
            r = random.random(edges, dtype=np.float32)
            s |= (r >= 0.76).astype(np.int64) << bit
            t |= (((r >= 0.57) & (r < 0.76)) | (r >= 0.95)).astype(np.int64) << bit
        write(path, s, t)
    return path


def planted(folder: Path, nodes: int) -> Path:
    """LFR (Lancichinetti, Fortunato and Radicchi 2008) with mixing 0.3. The communities stand in a second file."""
    path = folder / f"graph-lfr-{nodes}.parquet"
    if not path.is_file():
        nk.setSeed(SEED, False)
        nk.setNumberOfThreads(1)
        generator = nk.generators.LFRGenerator(nodes)
        generator.generatePowerlawDegreeSequence(20, 200, -2)
        generator.generatePowerlawCommunitySizeSequence(20, 1000, -1)
        generator.setMu(0.3)
        generator.run()
        graph = generator.getGraph()
        edges = np.array([(u, v) for u, v in graph.iterEdges()], dtype=np.int64)
        communities = np.array(generator.getPartition().getVector(), dtype=np.int64)
        kept = write(path, edges[:, 0], edges[:, 1])
        pq.write_table(pa.table({"community": communities[kept]}), path.with_suffix(".communities"))
    return path


def write(path: Path, s: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Stores distinct pairs with weights, and ids as strings in random order. Gives the nodes that have an edge."""
    apart = s != t
    s, t = s[apart], t[apart]
    pairs = np.unique(np.minimum(s, t) << 32 | np.maximum(s, t))
    kept, ends = np.unique(np.concatenate([pairs >> 32, pairs & 0xFFFFFFFF]), return_inverse=True)
    random = np.random.default_rng(SEED)
    s, t = np.split(ends.astype(np.int64), 2)
    order = random.permutation(len(s))
    s, t = s[order], t[order]
    weights = ((s * 2654435761 + t * 40503) % 1000003) / 1000003 + 1e-6
    names = pa.array([f"user-{i:08d}" for i in random.permutation(len(kept)) * 37])
    table = pa.table({
        "source": s, "target": t, "weight": weights,
        "from": pc.take(names, pa.array(s)), "to": pc.take(names, pa.array(t)),
    })
    unfinished = path.with_suffix(".unfinished")
    pq.write_table(table, unfinished, compression="zstd")
    unfinished.rename(path)
    return kept


class Data:
    """A graph as the peers have it."""

    def __init__(self, path: Path):
        self.table = pq.read_table(path).combine_chunks()
        self.s, self.t, self.weights = (self.table[name].to_numpy() for name in ("source", "target", "weight"))
        self.n = int(max(self.s.max(), self.t.max())) + 1
        degrees = np.bincount(np.concatenate([self.s, self.t]), minlength=self.n)
        # Of the second node the distances are asked to make what the first question would have to make.
        self.source, self.other = (int(v) for v in np.argsort(-degrees, kind="stable")[:2])
        communities = path.with_suffix(".communities")
        self.communities = pq.read_table(communities)["community"].to_numpy() if communities.is_file() else None
        self.nk = self.nk_graph(self.s, self.t)
        self.nk_weighted = nk.Graph(self.n, weighted=True)
        self.nk_weighted.addEdges((self.weights, (self.s, self.t)))
        self.nk.indexEdges()
        self.igraph = self.igraph_graph(self.s, self.t)
        self.ursa = ur.from_arrow(self.table.select(["source", "target"]), src="source", dst="target")
        self.of_ursa(degree=ur.degree(self.ursa, direction="both"))

    def nk_graph(self, s: np.ndarray, t: np.ndarray) -> nk.Graph:
        graph = nk.Graph(self.n)
        graph.addEdges((s, t))
        return graph

    def igraph_graph(self, s: np.ndarray, t: np.ndarray) -> igraph.Graph:
        return igraph.Graph(n=self.n, edges=np.column_stack([s, t]))

    def of_ursa(self, **columns) -> pa.Table:
        """The ids, and a result by node, in any order."""
        return self.ursa.nodes().with_columns(**columns).collect().to_arrow()

    def numbered(self) -> tuple[np.ndarray, np.ndarray]:
        """The ends that are strings, as numbers."""
        ends = pa.chunked_array([self.table["from"].chunk(0), self.table["to"].chunk(0)]).combine_chunks()
        indices = pc.dictionary_encode(ends).indices.to_numpy().astype(np.int64)
        return np.split(indices, 2)


def by_node(values) -> np.ndarray:
    """A result in the order of ids."""
    if not isinstance(values, pa.Table):
        return np.asarray(values)
    ids, result = values.columns
    return result.to_numpy()[np.argsort(ids.to_numpy(), kind="stable")]


def degrees(values) -> list[float]:
    values = by_node(values)
    return [float(values.sum()), float(values.max())]


def distances(values) -> list[float]:
    values = np.asarray(values, dtype=np.float64)
    # NetworKit has the largest number in place of infinity.
    reached = values[np.isfinite(values) & (values < 1e300) & (values >= 0)]
    return [float(len(reached)), float(reached.sum())]


def sizes(values) -> list[float]:
    counts = np.unique(by_node(values), return_counts=True)[1]
    return [float(len(counts)), float(counts.max())]


@dataclass
class Question:
    """Each peer is a call whose result `answer` sums up. `onrush` is an expression over `g`, the graph, and `f`, its
    frame; `ours` has the aggregates of its result for the comparison. `warm` runs before and is not timed."""

    name: str
    onrush: str
    ours: str
    answer: Callable | None
    networkit: Callable | None = None
    igraph: Callable | None = None
    ursa: Callable | None = None
    graph: str = 'f.graph("source", "target")'
    warm: str = "g.degree()"
    # `answer` gives a community for each node.
    is_partition: bool = False
    tolerance: float = TOLERANCE


def run(algorithm):
    algorithm.run()
    return algorithm


def nk_pagerank(data: Data) -> list[float]:
    algorithm = nk.centrality.PageRank(data.nk, damp=0.85, tol=CHANGE)
    algorithm.norm = nk.centrality.Norm.L1_NORM
    return run(algorithm).scores()


def questions(data: Data) -> list[Question]:
    ids = pa.table({"source": data.table["from"], "target": data.table["to"]})

    def ursa_degrees(table: pa.Table) -> pa.Table:
        edges = ur.from_arrow(table, src="source", dst="target")
        return edges.nodes().with_columns(degree=ur.degree(edges, direction="both")).collect().to_arrow()

    def triangles(values) -> list[float]:
        """Of counts by node or by edge. igraph has the clustering coefficients instead."""
        values = by_node(values).astype(float)
        if len(values) == data.n and values.max() <= 1:
            degree = np.bincount(np.concatenate([data.s, data.t]), minlength=data.n)
            values = values * degree * (degree - 1) / 2
        return [float(values.sum()) / 3]

    degree = 'col("degree").sum(), col("degree").max()'
    distance = 'len(), col("distance").sum()'
    partition = f"nodes as rows {data.n}"
    source, other = data.source, data.other
    return [
        Question(
            "build from integers", "g.degree()", degree, degrees,
            lambda: run(nk.centrality.DegreeCentrality(data.nk_graph(data.s, data.t))).scores(),
            lambda: data.igraph_graph(data.s, data.t).degree(),
            lambda: ursa_degrees(data.table.select(["source", "target"])),
            warm="f.head(1)",
        ),
        Question(
            "build from strings", "g.degree()", degree, degrees,
            lambda: run(nk.centrality.DegreeCentrality(data.nk_graph(*data.numbered()))).scores(),
            lambda: data.igraph_graph(*data.numbered()).degree(),
            lambda: ursa_degrees(ids),
            graph='f.graph("from", "to")', warm="f.head(1)",
        ),
        Question(
            "pagerank", f"g.pagerank().tol({CHANGE / data.n:e}).max_iter(500)",
            'col("pagerank").sum(), col("pagerank").max()', degrees,
            lambda: nk_pagerank(data),
            lambda: data.igraph.pagerank(),
            lambda: data.of_ursa(p=ur.pagerank(data.ursa, direction="both", tol=CHANGE / data.n, max_iter=500)),
        ),
        Question(
            "bfs", f"g.bfs({source})", distance, distances,
            lambda: run(nk.distance.BFS(data.nk, source, storePaths=False)).getDistances(),
            lambda: data.igraph.distances(source)[0],
        ),
        Question(
            "sssp", f'g.single_source_dijkstra({source})', distance, distances,
            lambda: run(nk.distance.Dijkstra(data.nk_weighted, source, storePaths=False)).getDistances(),
            lambda: data.igraph.distances(source, weights=data.weights)[0],
            graph='f.graph("source", "target").weight("weight")', warm=f"g.single_source_dijkstra({other})",
        ),
        Question(
            "components", "g.connected_components()", 'col("component").max() + 1, col("component").eq(0).sum()', sizes,
            lambda: run(nk.components.ParallelConnectedComponents(data.nk)).getPartition().getVector(),
            lambda: data.igraph.connected_components().membership,
            lambda: data.of_ursa(c=ur.connected_components(data.ursa)),
        ),
        Question(
            "louvain", "g.louvain_communities()", partition, None,
            lambda: run(nk.community.PLM(data.nk)).getPartition().getVector(),
            lambda: data.igraph.community_multilevel().membership,
            lambda: data.of_ursa(c=ur.louvain(data.ursa, seed=1)),
            is_partition=True,
        ),
        Question(
            "leiden", "g.leiden_communities()", partition, None,
            lambda: run(nk.community.ParallelLeiden(data.nk)).getPartition().getVector(),
            lambda: data.igraph.community_leiden(objective_function="modularity").membership,
            is_partition=True,
        ),
        Question(
            "core number", "g.core_number()", 'col("core_number").sum(), col("core_number").max()', degrees,
            lambda: run(nk.centrality.CoreDecomposition(data.nk)).scores(),
            lambda: data.igraph.coreness(),
        ),
        Question(
            "triangles", "g.triangles()", 'col("triangles").sum() / 3.0', triangles,
            lambda: run(nk.sparsification.TriangleEdgeScore(data.nk)).scores(),
            lambda: data.igraph.transitivity_local_undirected(mode="zero"),
            lambda: data.of_ursa(triangles=ur.triangle_count(data.ursa)),
        ),
        Question(
            "betweenness, 10 sources", "g.betweenness_centrality().k(10)", "len()", None,
            lambda: run(nk.centrality.EstimateBetweenness(data.nk, 10, normalized=True, parallel=True)).scores(),
            lambda: data.igraph.betweenness(sources=list(range(0, data.n, data.n // 10))[:10]),
            lambda: data.of_ursa(b=ur.betweenness(data.ursa, sample=10 / data.n, seed=1, direction="both")),
        ),
    ]


class Bench(peers.Bench):
    """The four engines with one graph."""

    def __init__(self, arguments):
        super().__init__(arguments)
        self.cell(PRELUDE)

    def load(self, path: Path) -> None:
        self.data = Data(path)
        self.cell(f'let edges = read_parquet("{path}").persist(); let edges_runs = runs(&edges, {ROUNDS + 1});')

    def onrush(self, question: Question, round: int) -> tuple[float, object]:
        labels = Path(self.scratch.name) / "labels.parquet"
        labels.unlink(missing_ok=True)
        after = ""
        if question.is_partition:
            after = f'r.sort("node").write_parquet("{labels}");'
        elif round == 0:
            after = f"summary(&r, vec![{question.ours}]);"
        printed = self.cell(
            f"{{ let f = edges_runs[{round}].clone(); let g = {question.graph}; "
            f"let warm = {question.warm}.persist(); let begun = std::time::Instant::now(); "
            f"let r = {question.onrush}.persist(); "
            f'println!("{{}}", begun.elapsed().as_secs_f64() * 1e3); {after} drop(warm); }}'
        )
        if question.is_partition:
            return float(printed[0]), self.quality(pq.read_table(labels)["community"].to_numpy())
        return float(printed[0]), json.loads(printed[1].replace("NaN", "null")) if round == 0 else None

    def peer(self, engine: str, question: Question, round: int) -> tuple[float, object]:
        begun = time.perf_counter()
        result = getattr(question, engine)()
        took = (time.perf_counter() - begun) * 1e3
        if question.is_partition:
            return took, self.quality(result)
        return took, question.answer(result) if round == 0 and question.answer else None

    def quality(self, membership) -> list[float]:
        """Modularity, and the normalised mutual information with the planted communities."""
        partition = nk.Partition(self.data.n)
        labels = np.unique(by_node(membership), return_inverse=True)[1]
        partition.setUpperBound(int(labels.max()) + 1)
        for v, community in enumerate(labels.tolist()):
            partition[v] = community
        found = [nk.community.Modularity().getQuality(partition, self.data.nk)]
        if self.data.communities is not None:
            found.append(mutual_information(labels, self.data.communities))
        return found

    def ask(self, question: Question) -> dict[str, Times]:
        """The engines in turns, so that other work on the machine disturbs all of them."""
        times = {engine: Times() for engine in ENGINES}
        for round in range(ROUNDS + 1):
            for engine, of in times.items():
                if of.failure or getattr(question, engine) is None:
                    continue
                try:
                    of_engine = self.onrush if engine == "onrush" else lambda q, r: self.peer(engine, q, r)
                    took, answer = of_engine(question, round)
                    of.runs.append(took)
                    if round == 0:
                        of.answer = answer
                    elif question.is_partition:
                        # The worst of the runs: peers draw other random numbers in each.
                        of.answer = min(of.answer, answer)
                except (KeyboardInterrupt, SystemExit):
                    raise
                except BaseException as error:
                    of.failure = first_line(error)
        return times


def mutual_information(a: np.ndarray, b: np.ndarray) -> float:
    """2 I(a, b) / (H(a) + H(b))."""
    def entropy(counts: np.ndarray) -> float:
        p = counts / counts.sum()
        return float(-(p * np.log(p)).sum())

    b = np.unique(b, return_inverse=True)[1]
    joint = np.unique(a.astype(np.int64) * (int(b.max()) + 1) + b, return_counts=True)[1]
    h = entropy(np.bincount(a)[np.bincount(a) > 0]), entropy(np.bincount(b)), entropy(joint)
    return 2 * (h[0] + h[1] - h[2]) / (h[0] + h[1]) if h[0] + h[1] else 1.0


def wrong(question: Question, engine: str, times: dict[str, Times]) -> str | None:
    """How the answer of an engine differs. None if it agrees, or if there is nothing to compare."""
    answer = times[engine].answer
    others = [of.answer for name, of in times.items() if name not in ("onrush", engine) and of.answer]
    if not answer or not others:
        return None
    if question.is_partition:
        best = max(other[0] for other in others)
        lower = engine == "onrush" and answer[0] < best - QUALITY
        return f"modularity {answer[0]:.5f}, the best peer's is {best:.5f}" if lower else None
    expected = others[0]
    agree = len(answer) == len(expected) and all(
        a is not None and math.isclose(a, b, rel_tol=question.tolerance) for a, b in zip(answer, expected)
    )
    return None if agree else f"{answer} instead of {expected}"


def report(bench: Bench, title: str, only: str, ratios: dict[str, float]) -> list[dict]:
    """Asks all questions about one graph and prints the table."""
    lines = [line for line in questions(bench.data) if only in line.name]
    width = max([len(line.name) for line in lines] + [8])
    print(
        f"\n{title}: {bench.data.n} nodes, {len(bench.data.s)} edges; {THREADS} threads, ms: first time, best of {ROUNDS} "
        f"others; ratio to the best peer",
        flush=True,
    )
    print(f"{'':{width}}" + "".join(f"{engine:>21}" for engine in ENGINES) + f"{'ratio':>9}")
    results, notes = [], []
    for line in lines:
        times = bench.ask(line)
        shown, right = {}, {}
        for engine, of in times.items():
            difference = None if of.failure else wrong(line, engine, times)
            if of.failure:
                shown[engine] = "failed" if engine == "onrush" else "-"
                notes.append(f"{line.name}, {engine}: {of.failure}")
            elif not of.runs:
                shown[engine] = "-"
            elif difference:
                shown[engine] = "differs"
                notes.append(f"{line.name}, {engine}: {difference}")
            else:
                shown[engine] = f"{of.runs[0]:.1f} {of.best:>10.1f}"
                right[engine] = of.best
        best = [right[engine] for engine in ENGINES[1:] if engine in right]
        ratio = right["onrush"] / min(best) if "onrush" in right and best else None
        if ratio is not None:
            ratios[f"{line.name}, {title}"] = ratio
        last = f"{ratio:>9.2f}" if ratio is not None else f"{'-':>9}"
        print(f"{line.name:{width}}" + "".join(f"{shown[engine]:>21}" for engine in ENGINES) + last, flush=True)
        if line.is_partition:
            said = {e: ", ".join(f"{value:.4f}" for value in of.answer) for e, of in times.items() if of.answer}
            what = "modularity" if bench.data.communities is None else "modularity and mutual information"
            notes.append(f"{line.name}, {what}, worst run: " + "; ".join(f"{e} {value}" for e, value in said.items()))
        results.append(
            {"graph": title, "question": line.name, "ratio": ratio, "shown": shown}
            | {f"{engine}_ms": of.runs for engine, of in times.items()}
            | {f"{engine}_answer": of.answer for engine, of in times.items()}
        )
    for note in notes:
        print(note)
    return [*results, {"graph": title, "notes": notes}]


def main() -> None:
    arguments = peers.options(__doc__, scale=17, nodes=100_000, graph="")
    arguments.data.mkdir(parents=True, exist_ok=True)
    graphs = {
        f"R-MAT {arguments.scale}": lambda: rmat(arguments.data, arguments.scale),
        "planted communities": lambda: planted(arguments.data, arguments.nodes),
    }
    bench, ratios, results = Bench(arguments), {}, []
    for title, make in graphs.items():
        if arguments.graph in title:
            path = make()
            nk.setNumberOfThreads(THREADS)
            bench.load(path)
            results += report(bench, title, arguments.only, ratios)
    bench.close()
    if ratios:
        worst = max(ratios, key=ratios.get)
        mean = statistics.geometric_mean(ratios.values())
        print(f"\ngeometric mean of {len(ratios)} ratios: {mean:.2f}; worst: {worst}, {ratios[worst]:.2f}")
    if arguments.out:
        machine = {
            "suite": "graph", "threads": THREADS, "cpus": os.cpu_count(), "machine": platform.machine(),
            "networkit": nk.__version__, "igraph": igraph.__version__, "ursa": ur.__version__,
        }
        with arguments.out.open("w") as out:
            for result in [machine, *results]:
                out.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
