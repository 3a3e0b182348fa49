//! Values of formats without types. Expected strings are the characters of the file, as Python's `csv` gives them;
//! expected numbers are those of Python's `int` and `float`.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use onrush_graph_io::{Format, GraphTables, load, parse, read};

fn graph(extension: &str, text: &str) -> GraphTables {
    parse(format!("file.{extension}"), None, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn strings(graph: &GraphTables, name: &str) -> Vec<Option<String>> {
    let column = graph.edges.column_by_name(name).unwrap();
    assert_eq!(column.data_type(), &DataType::Utf8, "{name}");
    column.as_string::<i32>().iter().map(|value| value.map(str::to_string)).collect()
}

fn some(values: &[&str]) -> Vec<Option<String>> {
    values.iter().map(|value| (!value.is_empty()).then(|| value.to_string())).collect()
}

#[test]
fn a_column_with_strings_has_the_characters_of_the_file() {
    for (extension, separator) in [("csv", ","), ("tsv", "\t")] {
        let lines = [
            ["source", "target", "code", "price", "name", "sign", "large"],
            ["a", "b", "007", "1.10", "Nan", "+5", "123456789012345678901"],
            ["b", "c", "A12", "x", "Inf", "-0", "y"],
            ["c", "a", "", "1e3", "infinity", "z", "0.10"],
            ["c", "b", "\"012\"", "1.0", "Bo", "5", "1E5"],
        ];
        let text: String = lines.iter().map(|line| line.join(separator) + "\n").collect();
        let graph = graph(extension, &text);
        assert_eq!(strings(&graph, "code"), some(&["007", "A12", "", "012"]));
        assert_eq!(strings(&graph, "price"), some(&["1.10", "x", "1e3", "1.0"]));
        assert_eq!(strings(&graph, "name"), some(&["Nan", "Inf", "infinity", "Bo"]));
        assert_eq!(strings(&graph, "sign"), some(&["+5", "-0", "z", "5"]));
        assert_eq!(strings(&graph, "large"), some(&["123456789012345678901", "y", "0.10", "1E5"]));
    }
}

#[test]
fn a_column_of_numbers_has_their_values() {
    let text = "source,target,weight,count,rate\na,b,1.10,007,1\nb,c,1e3,+12,0.50\nc,a,Inf,,-0\nc,b,nan,3,1E2\n";
    let graph = graph("csv", text);
    let floats = |name: &str| {
        let column = graph.edges.column_by_name(name).unwrap();
        column.as_primitive::<Float64Type>().iter().map(|value| format!("{:?}", value.unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(floats("weight"), ["1.1", "1000.0", "inf", "NaN"]);
    assert_eq!(floats("rate"), ["1.0", "0.5", "0.0", "100.0"]);
    let counts = graph.edges.column_by_name("count").unwrap();
    assert_eq!(counts.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(7), Some(12), None, Some(3)]);
}

#[test]
fn braces_are_a_dict_in_lines_without_a_header_only() {
    let csv = graph("csv", "source,target,note\na,b,{x}\nb,c,see {1}\nc,a,{'k': 1}\n");
    assert_eq!(strings(&csv, "note"), some(&["{x}", "see {1}", "{'k': 1}"]));
    assert_eq!(csv.edges.num_columns(), 3);
    let spaces = graph("edgelist", "source target note\na b {x}\n");
    assert_eq!(strings(&spaces, "note"), some(&["{x}"]));
    // networkx.write_edgelist with `delimiter=","` writes this line, and read_edgelist reads it.
    let dict = graph("csv", "a,b,{'k': 'x', 'w': 1}\n");
    assert_eq!(strings(&dict, "k"), some(&["x"]));
}

#[test]
fn a_header_may_declare_nodes_without_edges() {
    let matrix = "%%MatrixMarket matrix coordinate pattern general\n1000000 1000000 1\n1 2\n";
    assert_eq!(graph("mtx", matrix).nodes.num_rows(), 1_000_000);
    assert_eq!(graph("net", "*Vertices 1000000\n*Arcs\n1 2\n").nodes.num_rows(), 1_000_000);
    // A larger file may declare more: 2 of 3 nodes have no edge.
    let edges: String = (1..400_000).map(|v| format!("{v} {}\n", v + 1)).collect();
    let matrix = format!("%%MatrixMarket matrix coordinate pattern general\n1200000 1200000 399999\n{edges}");
    assert_eq!(graph("mtx", &matrix).nodes.num_rows(), 1_200_000);
}

#[test]
fn loaded_bytes_are_parsed_as_by_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.txt.gz");
    let edges = "1 2\n".repeat(100_000);
    let written = graph("txt", &edges);
    onrush_graph_io::write(&path, None, &written).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 10_000);
    let bytes = load(&path).unwrap();
    assert_eq!(bytes.len(), edges.len());
    assert_eq!(parse(&path, Some(Format::EdgeList), &bytes).unwrap(), read(&path, None).unwrap());
}
