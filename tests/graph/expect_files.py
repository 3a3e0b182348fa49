"""Writes the files of `files/` and `files.json`, what NetworkX 3.6.1 reads from them.

Run in an environment with NetworkX 3.6.1 and SciPy: `python tests/graph/expect_files.py`.

- Files named `nx_*` are written by NetworkX, `scipy_*` by SciPy, and `hand_*` by hand in this script, where no writer
  at hand makes what the format allows.
- Files named `onrush_*` are written by Onrush: `cargo run -p onrush-graph-io --example written tests/graph/files`. A
  test checks that the writers still write these bytes, so that NetworkX has read what they write.
"""

import json
from pathlib import Path

import networkx as nx
import scipy.io
import scipy.sparse as sp

from graphs import Random, write

HERE = Path(__file__).resolve().parent / "files"


def typed(kind):
    """Attributes of each type, each missing somewhere, and strings that formats have to escape."""
    g = kind()
    g.add_node("a", name="Ada <1> & \"co\"", age=36, score=0.5, alive=False)
    g.add_node("b", name="Grüße, 'x'", age=-7, alive=True)
    g.add_node("c", score=1e-300, name="two\nlines")
    g.add_node("lonely", age=2**40)
    g.add_edge("a", "b", weight=2.5, kind="knows")
    g.add_edge("b", "c", weight=1.0, since=1999)
    g.add_edge("c", "c", kind="self")
    g.add_edge("c", "a")
    return g


def parallel(kind):
    g = kind()
    for u, v, w in [(1, 2, 1.5), (1, 2, 2.5), (2, 3, 0.25), (3, 3, 4.0)]:
        g.add_edge(u, v, weight=w)
    return g


def integers(kind, seed, weights=None):
    r = Random(seed)
    g = kind()
    for _ in range(40):
        u, v = r.below(20) + 1, r.below(20) + 1
        g.add_edge(u, v, **({"weight": weights(r.below(100))} if weights else {}))
    return g


HAND = {
    "hand_defaults.graphml": """<?xml version="1.0" encoding="UTF-8"?>
<!-- The example of the GraphML primer, with a default and a directed edge more. -->
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="color" attr.type="string"><default>yellow</default></key>
  <key id="d1" for="edge" attr.name="weight" attr.type="double"/>
  <key id="d2" for="all" attr.name="big" attr.type="long"/>
  <graph id="G" edgedefault="undirected">
    <node id="n0"><data key="d0">green</data><port name="North"/></node>
    <node id="n1"/>
    <node id="n2"><data key="d0">a &lt; b &#228;<![CDATA[ & c]]></data><data key="d2"> 9007199254740993 </data></node>
    <edge id="e0" source="n0" target="n2"><data key="d1">1.0</data></edge>
    <edge id="e1" directed="false" source="n1" target="n2"><data key="d1">-INF</data><desc>no attribute</desc></edge>
    <edge source="n1" target="n3"/>
  </graph>
</graphml>
""",
    "hand_gephi.gexf": """<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://gexf.net/1.3" version="1.3" xmlns:viz="http://gexf.net/1.3/viz">
  <meta lastmodifieddate="2026-01-01"><creator>by hand</creator></meta>
  <graph defaultedgetype="directed" mode="static">
    <attributes class="node" mode="static">
      <attribute id="0" title="url" type="string"/>
      <attribute id="1" title="indegree" type="float"/>
      <attribute id="2" title="frog" type="boolean"><default>true</default></attribute>
    </attributes>
    <attributes class="edge"><attribute id="0" title="count" type="integer"/></attributes>
    <nodes>
      <node id="0" label="Gephi"><attvalues><attvalue for="0" value="https://gephi.org"/>
        <attvalue for="1" value="1"/></attvalues><viz:color r="239" g="173" b="66"/><viz:size value="2.0"/></node>
      <node id="1" label="Webatlas"><attvalues><attvalue for="1" value="2.5"/></attvalues></node>
      <node id="2" label="RTGI"><attvalues><attvalue for="2" value="false"/></attvalues></node>
    </nodes>
    <edges>
      <edge id="0" source="0" target="1" weight="2.4" label="x &amp; y"><attvalues><attvalue for="0" value="7"/>
        </attvalues></edge>
      <edge id="1" source="2" target="0" type="directed"/>
      <edge id="2" source="1" target="2" type="mutual" weight="3"/>
    </edges>
  </graph>
</gexf>
""",
    "hand_weights.csv": "1,2,0.5\n# a comment\n2,3,1\n7,1,2.25\n",
    "hand_names.tsv": "Ada Lovelace\tCharles Babbage\t3\nCharles Babbage\tJohn Herschel\t5\n",
    "hand_gap.wel": "0 1 7\n1 2 3\n2 0 1\n2 3 255\n",
    "hand_list.edgelist": "# made by hand\n1 2\n\n2\t3 \n 3 10\n10 1 # not a weight\n",
    "hand_dicts.edgelist": "a b {'weight': 3, 'color': 'dark \"blue\"', 'is_new': True}\nb c {}\nc a {'weight': -0.5, 'x': None}\n",
    "hand_skew.mtx": "%%MatrixMarket matrix coordinate real skew-symmetric\n% a comment\n4 4 3\n2 1 3.5\n4 1 -1\n3 2 2e-3\n",
    "hand_links.json": '{"directed": true, "multigraph": false, "graph": {"name": "d3"},\n "nodes": [{"id": "x", "group": 1}, '
    '{"id": "y", "group": 2.5, "pos": [1, 2]}],\n "links": [{"source": "x", "target": "y", "value": 3, "ok": null}]}\n',
    "hand_karate.gml": """Creator "by hand"
graph
[
  directed 0
  node [ id 1 label "Mr. Hi &amp; co" value 0 ]
  node
  [
    id 2
    label "Officer"
    value 1.5
    graphics [ x 1.5 y 2 fill "#ff0000" ]
  ]
  # a comment
  node [ id 3 label "&#228;" ]
  edge [ source 1 target 2 weight 3 ]
  edge [ source 3 target 1 note "a # b" ]
]
""",
    "hand_people.net": """*Network people
*Vertices 4
1 "Ada L" 0.1 0.2 ellipse
2 Bob 0.3 0.4 box
3 "Cleo"
4 Dan
*Arcs
1 2 2.5
2 3 1
3 1
""",
    # 5 nodes and 6 edges, weighted, with a size and two weights of each node (the format 111). METIS 5 manual, section 4.1.
    "hand_weights.metis": "% made by hand\n5 6 111 2\n1 10 20 2 1 3 2\n1 11 21 1 1 3 5\n2 12 22 1 2 2 5 4 1\n1 13 23 3 1 5 9\n3 14 24 4 9 1 6\n",
}
# The line of node 5 names node 1, whose line has to name node 5.
HAND["hand_weights.metis"] = HAND["hand_weights.metis"].replace("20 2 1 3 2\n", "20 2 1 3 2 5 6\n")

READERS = {
    "graphml": nx.read_graphml,
    "gexf": lambda path: nx.read_gexf(path),
    "gml": nx.read_gml,
    "net": nx.read_pajek,
}


def rows(g, defaults=True):
    """Nodes and edges with their attributes, None left out. GraphML's and GEXF's defaults are given to all without."""
    of_nodes, of_edges = (g.graph.get(f"{what}_default", {}) if defaults else {} for what in ("node", "edge"))

    def plain(data, default):
        out = {}
        for name, value in (default | data).items():
            if name in ("viz", "pos") or isinstance(value, (dict, list, tuple)):
                value = None if name == "viz" else json.dumps(value, separators=(",", ":"), sort_keys=True)
            if value is not None:
                out[name] = str(value).replace("inf", "INF") if value in (float("inf"), -float("inf")) else value
        return out

    return {
        "directed": g.is_directed(),
        "nodes": [[v, plain(data, of_nodes)] for v, data in g.nodes(data=True)],
        "edges": [[u, v, plain(data, of_edges)] for u, v, data in g.edges(data=True)],
    }


def integer_or_string(text):
    return int(text) if text.isdigit() else text


def number_or_string(text):
    """None if the field is empty."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text or None


def edge_list(path, separator=None):
    """NetworkX's reader, told what the third column is. It has no directed files: `# directed` is Onrush's."""
    lines = path.read_text().splitlines()
    directed = lines[0] == "# directed" or path.suffix in (".el", ".wel")
    kind = nx.MultiDiGraph if directed else nx.MultiGraph
    content = [line.split("#")[0].strip(None if separator is None else " ") for line in lines]
    content = [line for line in content if line]
    if any("{" in line for line in content):
        return nx.parse_edgelist(content, nodetype=integer_or_string, create_using=kind)
    names = next((line[1:].strip().split(separator) for line in lines if line.startswith("# source")), [])
    if names:
        data = [(name, number_or_string) for name in names[2:]]
    else:
        data = [("weight", float)] if len(content[0].split(separator)) > 2 else []
    return nx.parse_edgelist(content, nodetype=integer_or_string, data=data or False, delimiter=separator, create_using=kind)


def matrix_market(path):
    """The entries as SciPy reads them; ids from the comments that Onrush writes."""
    header = path.read_text().splitlines()[0].split()
    ids = [line.split(" ", 3)[3] for line in path.read_text().splitlines() if line.startswith("% node ")]
    a = scipy.io.mmread(path).tocoo()
    symmetric = header[4] == "symmetric"
    g = nx.MultiGraph() if symmetric else nx.MultiDiGraph()
    names = ids or list(range(1, a.shape[0] + 1))
    g.add_nodes_from(names)
    for i, j, value in zip(a.row.tolist(), a.col.tolist(), a.data.tolist()):
        # SciPy gives both halves of a symmetric matrix.
        if not symmetric or i >= j:
            g.add_edge(names[i], names[j], **({} if header[3] == "pattern" else {"weight": value}))
    return g


def metis(path):
    """By NetworKit's rules, written again here: it reads no weights of nodes and no sizes."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("%")]
    g = nx.Graph()
    for v, line in enumerate(lines[1:], 1):
        numbers = [int(word) for word in line.split()]
        g.add_node(v, size=numbers[0], weight_1=numbers[1], weight_2=numbers[2])
        for u, w in zip(numbers[3::2], numbers[4::2]):
            g.add_edge(v, u, weight=w)
    return g


def node_link(path):
    data = json.loads(path.read_text())
    return nx.node_link_graph(data, edges="links" if "links" in data else "edges")


def read(path):
    extension = path.suffix[1:]
    if extension in READERS:
        return READERS[extension](path)
    if extension == "json":
        return node_link(path)
    if extension == "mtx":
        return matrix_market(path)
    if extension == "metis":
        return metis(path)
    return edge_list(path, {"csv": ",", "tsv": "\t"}.get(extension))


def main():
    HERE.mkdir(exist_ok=True)
    for kind in (nx.Graph, nx.DiGraph):
        name = kind.__name__.lower()
        nx.write_graphml(typed(kind), HERE / f"nx_{name}.graphml")
        nx.write_gexf(typed(kind), HERE / f"nx_{name}.gexf")
        (HERE / f"nx_{name}.json").write_text(json.dumps(nx.node_link_data(typed(kind), edges="edges"), indent=1) + "\n")
    nx.write_gexf(typed(nx.DiGraph), HERE / "nx_old.gexf", version="1.1draft")
    nx.write_graphml(parallel(nx.MultiGraph), HERE / "nx_parallel.graphml")
    nx.write_gexf(parallel(nx.MultiDiGraph), HERE / "nx_parallel.gexf")
    links = nx.node_link_data(parallel(nx.MultiGraph), edges="links")
    (HERE / "nx_parallel.json").write_text(json.dumps(links) + "\n")
    nx.write_edgelist(typed(nx.Graph).subgraph("abc"), HERE / "nx_graph.edgelist")
    nx.write_weighted_edgelist(integers(nx.Graph, 1, lambda x: x / 8), HERE / "nx_weighted.edgelist")
    nx.write_edgelist(integers(nx.Graph, 2), HERE / "nx_plain.edgelist", data=False)
    nx.write_gml(integers(nx.DiGraph, 3, lambda x: x), HERE / "nx_digraph.gml")
    nx.write_pajek(integers(nx.MultiDiGraph, 4, lambda x: x + 0.5), HERE / "nx_digraph.net")
    for name, kind, weights in [
        ("real_symmetric", nx.Graph, lambda x: x + 0.125),
        ("integer_general", nx.DiGraph, lambda x: x + 1),
        ("pattern_general", nx.DiGraph, None),
    ]:
        g = integers(kind, 5, weights)
        g.add_nodes_from(range(1, 21))
        a = nx.to_scipy_sparse_array(g, nodelist=range(1, 21), weight="weight", dtype=int if name[0] != "r" else float)
        field, symmetry = name.split("_")
        scipy.io.mmwrite(HERE / f"scipy_{name}.mtx", sp.coo_array(a), field=field, symmetry=symmetry)
    for name, text in HAND.items():
        (HERE / name).write_text(text)
    write("files", {path.name: rows(read(path)) for path in sorted(HERE.iterdir())})


if __name__ == "__main__":
    main()
