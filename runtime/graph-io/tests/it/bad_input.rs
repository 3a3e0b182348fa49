//! Files that are not what their format says: the error names the line, what was found and what was expected.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, ListArray, StringArray, UInt64Array};
use arrow::datatypes::Int32Type;
use arrow::record_batch::RecordBatch;
use onrush_graph_io::{Error, Format, GraphTables, read, write};

use crate::support;

/// The error of a file with this extension, its path left out.
fn error_of(extension: &str, text: impl AsRef<[u8]>) -> (Option<usize>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("file.{extension}"));
    std::fs::write(&path, text).unwrap();
    match read(&path, None) {
        Ok(graph) => panic!("{extension}: read as {} nodes", graph.nodes.num_rows()),
        Err(error) => parts(error),
    }
}

fn parts(error: Error) -> (Option<usize>, String, String) {
    let diagnostic = error.diagnostic();
    assert!(!diagnostic.message.ends_with('.') && !diagnostic.help.iter().any(|help| help.ends_with('.')));
    match error {
        Error::Content { line, message, help, .. } => (line, message, help.unwrap_or_default()),
        Error::Io { source, .. } => (None, source.to_string(), String::new()),
    }
}

#[track_caller]
fn check(extension: &str, text: &str, line: usize, message: &str) {
    let (found_line, found, _) = error_of(extension, text);
    assert_eq!((found_line, found.as_str()), (Some(line), message), "{extension}: {text}");
}

fn graphml(graph: &str) -> String {
    format!(
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n\
         <key id=\"k\" for=\"node\" attr.name=\"age\" attr.type=\"int\"/>\n{graph}\n</graphml>"
    )
}

#[test]
fn edge_lists() {
    check("edgelist", "1 2\n3\n", 2, "found `3`, expected two ids separated by spaces");
    check("edgelist", "1 2 x\n", 1, "found `x`, expected a number: the third column is the weight");
    check("edgelist", "1 2 3 4\n", 1, "found 4 columns, expected two ids and a weight");
    check(
        "edgelist",
        "1 2 {'a': [1]}\n",
        1,
        "found `[1]}`, expected a number, a string in quotes, `True`, `False` or `None`",
    );
    check("edgelist", "1 2 {'a': 'b}\n", 1, "found `'b}`, expected a closing quote");
    check("edgelist", "1 2 {'a' 1}\n", 1, "found `1}`, expected a colon");
    check("csv", "1;2\n", 1, "found `1;2`, expected two ids separated by commas");
    check("csv", "1,\"2\n", 1, "the quote before `2` is never closed");
    check("csv", "1,\"2\"3\n", 1, "found `3` after a closing quote, expected a separator");
    check("csv", "source,target,kind\n1,2\n", 2, "found 2 fields, expected 3 as in the header");
    // A comment with the words of a header is not one.
    check(
        "edgelist",
        "# source and target of each edge\n1 2\n3\n",
        3,
        "found `3`, expected two ids separated by spaces",
    );
    let (line, message, help) = error_of("edgelist", b"1 2\n3 \xff\n");
    assert_eq!((line, message.as_str()), (Some(2), "found the byte 0xff, expected UTF-8"));
    assert_eq!(help, "convert the file, for example with `iconv -t utf-8`");
}

#[test]
fn matrices() {
    let mtx = |text: &str, line: usize, message: &str| check("mtx", text, line, message);
    let general = "%%MatrixMarket matrix coordinate real general\n";
    mtx("1 2 3\n", 1, "found `1 2 3`, expected a header such as `%%MatrixMarket matrix coordinate real general`");
    mtx(
        "%%MatrixMarket matrix array real general\n",
        1,
        "found `array`, expected `coordinate`: a dense matrix is not a graph's",
    );
    let complex = "found `complex`, expected `pattern`, `integer` or `real`: weights are real numbers";
    mtx("%%MatrixMarket matrix coordinate complex general\n", 1, complex);
    mtx(
        &format!("{general}2 3 1\n1 1 1\n"),
        2,
        "found a matrix of 2 rows and 3 columns, expected a square adjacency matrix",
    );
    mtx(&format!("{general}2 2 1\n1 3 1\n"), 3, "found `3`, expected a node from 1 to 2");
    mtx(&format!("{general}2 2 1\n1 2\n"), 3, "found `1 2`, expected two integers and a value");
    mtx(&format!("{general}2 2 1\n1 2 x\n"), 3, "found `x`, expected a number");
    mtx(&format!("{general}2 2 2\n1 2 1.5\n"), 3, "found 1 entries, expected 2, as the line with the size says");
    mtx(&format!("{general}2 2 -1\n"), 2, "found `2 2 -1`, expected `rows columns entries`");
    // Nothing of the size that a header claims is allocated.
    let huge = format!("{general}4000000000 4000000000 18446744073709551615\n1 1 1\n");
    let (line, message, _) = error_of("mtx", &huge);
    assert_eq!(line, Some(2));
    assert!(message.starts_with("found 4000000000 nodes, expected at most"), "{message}");
    let (line, message, _) = error_of("net", "*Vertices 4000000000\n");
    assert_eq!(line, Some(1));
    assert!(message.starts_with("found 4000000000 vertices, expected at most"), "{message}");
    // 60 bytes would become 1 GB: a node takes 8 bytes of a matrix, and about 100 of a network.
    let (_, message, _) = error_of("mtx", format!("{general}16000000 16000000 0\n"));
    assert_eq!(message, "found 16000000 nodes, expected at most 1048642 in a file of 66 bytes");
    let (_, message, _) = error_of("net", "*Vertices 16000000\n");
    assert_eq!(message, "found 16000000 vertices, expected at most 1048595 in a file of 19 bytes");
    check("metis", "4000000000 1\n2\n1\n", 1, "found 2 lines of nodes, expected 4000000000, as the header says");
    check("metis", "2 2\n2\n1\n", 1, "found 1 edges, expected 2, as the header says");
    check("metis", "2 1 1\n2\n1 5\n", 2, "found ``, expected the weight of an edge");
}

#[test]
fn xml() {
    let hyper = graphml("<graph edgedefault=\"directed\">\n<hyperedge/></graph>");
    check("graphml", &hyper, 4, "found a hyperedge, expected edges with two ends");
    let nested = graphml("<graph edgedefault=\"directed\"><node id=\"1\">\n<graph/></node></graph>");
    check("graphml", &nested, 4, "found a graph inside of a node or an edge, expected a flat graph");
    let mixed = graphml("<graph edgedefault=\"directed\"><edge source=\"1\" target=\"2\" directed=\"false\"/></graph>");
    check("graphml", &mixed, 3, "found an edge that is undirected, expected directed edges as the graph says");
    let typed = graphml("<graph><node id=\"1\"><data key=\"k\">old</data></node></graph>");
    check("graphml", &typed, 3, "found `old`, expected an integer of 64 bits");
    let undeclared = graphml("<graph>\n<node id=\"1\"><data key=\"x\">1</data></node></graph>");
    check("graphml", &undeclared, 4, "found a value of the key `x`, which is not declared");
    check(
        "graphml",
        &graphml("<graph><node/></graph>"),
        3,
        "found the element `node` without `id`, expected one with it",
    );
    check("graphml", &graphml("<graph/><graph/>"), 3, "found a second graph, expected one");
    check("graphml", "<gexf/>", 1, "found the element `gexf`, expected `graphml`");
    check("graphml", "<graphml>\n<graph>\n", 3, "found the end of the file with 2 elements open");
    let latin = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><graphml/>";
    check("graphml", latin, 1, "found the encoding `ISO-8859-1`, expected UTF-8");
    check("gexf", "<gexf><graph mode=\"dynamic\"/></gexf>", 1, "found a dynamic graph, expected a static one");
    let inside = "<gexf><graph><nodes><node id=\"1\"><nodes/></node></nodes></graph></gexf>";
    check("gexf", inside, 1, "found a node inside of another node, expected a flat graph");
    let value = "<gexf><graph><edges><edge source=\"1\" target=\"2\" weight=\"heavy\"/></edges></graph></gexf>";
    check("gexf", value, 1, "found `heavy`, expected a number");
    let (line, message, _) = error_of("graphml", graphml("<graph><node id=\"1\"></edge></graph>"));
    assert_eq!(line, Some(3));
    assert!(message.starts_with("found XML that is not well formed: "), "{message}");
}

/// Billion laughs, deep elements, many attributes, sparse tables, long labels.
#[test]
fn hostile_files_are_refused() {
    let laughs = "<!DOCTYPE g [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\">]>\n";
    let text = format!("{laughs}{}", graphml("<graph><node id=\"1\"><data key=\"k\">&b;</data></node></graph>"));
    check("graphml", &text, 4, "found the entity `b`, which is not one of XML itself");
    let external = format!(
        "<!DOCTYPE g [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>\n{}",
        graphml("<graph><node id=\"&x;\"/></graph>")
    );
    assert_eq!(error_of("graphml", external).0, Some(4));
    let deep = "<a>".repeat(1_000_000);
    check("graphml", &format!("<graphml>{deep}"), 1, "found more than 100 elements inside of each other, the limit");
    check(
        "gml",
        &format!("graph {}", "[ a ".repeat(1_000_000)),
        1,
        "found more than 64 lists inside of each other, the limit",
    );
    let (_, message, _) = error_of("json", format!("{{\"nodes\": {}", "[".repeat(1_000_000)));
    assert!(message.starts_with("found JSON that cannot be read: "), "{message}");
    let wide: String = (0..300_000).map(|i| format!(" a{i}=\"\"")).collect();
    assert_eq!(error_of("gexf", format!("<gexf><graph{wide}><nodes><node/></nodes></graph></gexf>")).0, Some(1));
    // Each edge has another attribute: a table of a billion nulls.
    let rare: String = (0..40_000).map(|i| format!("a b {{'k{i}': 1}}\n")).collect();
    let (_, message, help) = error_of("edgelist", rare);
    assert!(message.contains("cells, most of them null"), "{message}");
    assert_eq!(help, "leave rare attributes out of the file");
    // Labels that edges name by number.
    let long = "x".repeat(1 << 20);
    let edges = "1 1\n".repeat(3000);
    let (_, message, _) = error_of("net", format!("*Vertices 1\n1 \"{long}\"\n*Edges\n{edges}"));
    assert_eq!(message, "the ids at the ends of the edges have more than 2 GiB of characters, the limit");
}

#[test]
fn json_gml_and_pajek() {
    let (line, message, _) = error_of("json", "{\"nodes\": [{\"id\": 1}]}");
    assert_eq!((line, message.as_str()), (Some(1), "found an object without `edges`, expected node-link JSON"));
    let (line, message, _) = error_of("json", "{\"nodes\": [],\n\"edges\": [{\"source\": 1}]}");
    assert_eq!(
        (line, message.as_str()),
        (Some(2), "found an edge without `target`, expected one with `source` and `target`")
    );
    let (line, message, _) = error_of("json", "{\"nodes\": [],\n \"links\": [], \"edges\": []}");
    assert_eq!((line, message.as_str()), (Some(2), "found both `links` and `edges`, expected one list of edges"));
    let (line, message, _) = error_of("json", "{\"nodes\": [{\"id\": [1, 2]}], \"edges\": []}");
    assert_eq!((line, message.as_str()), (Some(1), "found the id `[1,2]`, expected a string or a number"));
    let (_, message, _) = error_of("json", "{\"nodes\": [{\"id\": 1}, {\"id\": \"1\"}], \"edges\": []}");
    assert_eq!(message, "found the ids 1 and \"1\", expected ids of one type");
    let (line, message, _) = error_of("json", "[1]");
    assert_eq!(line, Some(1));
    assert!(message.contains("expected an object with `nodes` and `edges`"), "{message}");
    check(
        "gml",
        "graph [ node [ id 1 ]\nedge [ source 1 target 2 ] ]",
        2,
        "found the target `2`, expected the id of a node",
    );
    check("gml", "graph [ node [ id x ] ]", 1, "found `x`, expected a number, a string in quotes or `[`");
    check("gml", "graph [ node [ id 1 ] node [ id 1 ] ]", 1, "two nodes have the id `1`, expected different ids");
    check("gml", "graph [\n", 2, "found the end of the file, expected a key or `]`");
    check("net", "*Vertices 1\n1 \"a\n", 2, "the quote before `a` is never closed");
    // The edge would have ends that the second network lacks.
    let second = "found a second `*Vertices`, expected one";
    check("net", "*Vertices 3\n*Arcs\n2 3\n*Vertices 1\n", 4, second);
    check("net", "*Vertices 0\n*Vertices 1\n", 2, second);
    check("net", "*Vertices 2\n*Arcs\n1 3\n", 3, "found `3`, expected a vertex from 1 to 2");
    check("net", "*Vertices 2\n*Arcs\n1 2\n*Edges\n", 4, "found both arcs and edges, expected one of them");
}

#[test]
fn paths() {
    let (_, message, help) = parts(read("graph.docx", None).unwrap_err());
    assert_eq!(message, "the extension `.docx`, expected that of a file format of graphs");
    assert!(help.contains(".graphml") && help.contains(".mtx"), "{help}");
    assert_eq!(Format::of("A/B.GraphML.GZ".as_ref()), Some(Format::GraphMl));
    let names: Vec<&str> = Format::names().collect();
    assert!(["edges", "txt", "graph", "metis"].iter().all(|name| names.contains(name)), "{names:?}");
    for name in names {
        assert_eq!(Format::named(name), Format::of(format!("file.{name}").as_ref()), "{name}");
        assert!(Format::named(name).is_some(), "{name}");
    }
    assert_eq!(Format::named("GraphML"), Some(Format::GraphMl));
    for other in ["", "a/b", "/", "graphml/", "x.graphml", "docx", "gz"] {
        assert_eq!(Format::named(other), None, "{other}");
    }
    let missing = read("/nowhere/graph.gexf", None).unwrap_err();
    assert_eq!(missing.to_string(), "cannot read `/nowhere/graph.gexf`: No such file or directory (os error 2)");
}

fn edges(columns: Vec<(&str, ArrayRef)>) -> GraphTables {
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let nodes = RecordBatch::try_from_iter([("node", Arc::clone(&ids))]).unwrap();
    let mut all = vec![("source", Arc::clone(&ids)), ("target", ids)];
    all.extend(columns);
    GraphTables { directed: false, nodes, edges: RecordBatch::try_from_iter(all).unwrap() }
}

#[test]
fn graphs_that_a_format_cannot_hold() {
    let folder = tempfile::tempdir().unwrap();
    let error = |name: &str, graph: &GraphTables| {
        let path = folder.path().join(name);
        let error = parts(write(&path, None, graph).unwrap_err());
        assert!(!path.exists(), "{name} is written");
        error.1
    };
    let typed = support::typed(true);
    assert_eq!(error("a.edgelist", &typed), "an edge list has no attributes of nodes, the graph has `name`");
    assert_eq!(error("a.mtx", &typed), "Matrix Market has no attributes of nodes, the graph has `name`");
    assert_eq!(error("a.gml", &typed), "GML is read, not written");
    let isolated = GraphTables { nodes: support::typed(true).nodes.project(&[0]).unwrap(), ..typed };
    assert_eq!(error("a.csv", &isolated), "an edge list has no nodes without edges, the graph has `lonely`");
    assert_eq!(error("a.wel", &support::weighted(false)), "a GAP edge list is directed, the graph is not");
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)]), None]));
    assert!(error("a.graphml", &edges(vec![("list", list)])).starts_with("the column `list` is of type "));
    let large: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 0]));
    assert!(error("a.graphml", &edges(vec![("n", large)])).starts_with("the column `n` cannot be written: "));
    let control: ArrayRef = Arc::new(StringArray::from(vec!["\u{1}", ""]));
    let message = "`\\u{1}` has the character U+0001, which XML cannot hold";
    assert_eq!(error("a.gexf", &edges(vec![("c", control)])), message);
    let weight: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let nullable = edges(vec![("weight", weight)]);
    assert_eq!(error("a.mtx", &nullable), "edge 2 has no weight, and an entry of a matrix needs a value");
    let nan: ArrayRef = Arc::new(arrow::array::Float64Array::from(vec![f64::NAN, 0.0]));
    assert_eq!(error("a.json", &edges(vec![("x", nan)])), "found NaN in `x`, and JSON has finite numbers only");
}
