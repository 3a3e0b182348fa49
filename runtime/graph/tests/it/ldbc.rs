//! The validation graphs of LDBC Graphalytics (`tests/graph/ldbc`, Apache-2.0) with its six algorithms, parameters and
//! tolerances.

use std::collections::BTreeMap;
use std::path::PathBuf;

use onrush_graph::cluster::local_clustering_coefficient;
use onrush_graph::community::cdlp;
use onrush_graph::components::{connected_components, weakly_connected_components};
use onrush_graph::link_analysis::{PageRank, pagerank};
use onrush_graph::shortest_paths::single_source_dijkstra;
use onrush_graph::traversal::{NONE, bfs};
use onrush_graph::{Graph, Run};

/// Graphalytics' distance of a node that is not reached.
const UNREACHED: &str = "9223372036854775807";

/// The tolerance of Graphalytics for PR, LCC and SSSP, relative to the expected value.
const EPSILON: f64 = 1e-4;

fn text(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/graph/ldbc").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A graph with its ids, which ascend.
struct Case {
    ids: Vec<u64>,
    graph: Graph,
}

impl Case {
    fn new(directed: bool, mut ids: Vec<u64>, edges: &[(u64, u64)], weights: Option<Vec<f64>>) -> Case {
        ids.sort_unstable();
        ids.dedup();
        let number = |id: u64| ids.binary_search(&id).unwrap() as u32;
        let (sources, targets): (Vec<u32>, Vec<u32>) = edges.iter().map(|(u, v)| (number(*u), number(*v))).unzip();
        let graph = Graph::new(directed, ids.len() as u32, &sources, &targets, weights).unwrap();
        Case { ids, graph }
    }

    /// Lines of a node and its neighbours. An undirected edge stands in both lines.
    fn of_nodes(file: &str, directed: bool) -> Case {
        let lines: Vec<Vec<u64>> = text(file)
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
            .collect();
        let edges: Vec<(u64, u64)> = lines
            .iter()
            .flat_map(|line| line[1..].iter().map(|v| (line[0], *v)))
            .filter(|(u, v)| directed || u <= v)
            .collect();
        // A node without neighbours may have no line.
        Case::new(directed, lines.concat(), &edges, None)
    }

    /// A file of nodes, and one of edges with weights.
    fn of_edges(file: &str, directed: bool) -> Case {
        let ids = text(&format!("{file}.v")).split_whitespace().map(|word| word.parse().unwrap()).collect();
        let (mut edges, mut weights) = (Vec::new(), Vec::new());
        for line in text(&format!("{file}.e")).lines().filter(|line| !line.trim().is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            edges.push((words[0].parse().unwrap(), words[1].parse().unwrap()));
            weights.push(words[2].parse().unwrap());
        }
        Case::new(directed, ids, &edges, Some(weights))
    }

    fn number(&self, id: u64) -> u32 {
        self.ids.binary_search(&id).unwrap() as u32
    }

    /// The expected values in the order of nodes.
    fn expected(&self, file: &str) -> Vec<String> {
        let values: BTreeMap<u64, String> = text(file)
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| {
                let (id, value) = line.split_once(' ').unwrap();
                (id.parse().unwrap(), value.trim().to_string())
            })
            .collect();
        assert_eq!(values.keys().copied().collect::<Vec<u64>>(), self.ids, "{file}");
        values.into_values().collect()
    }

    fn check(&self, file: &str, found: &[f64]) {
        for ((id, found), expected) in self.ids.iter().zip(found).zip(self.expected(file)) {
            let expected: f64 = expected.parse().unwrap();
            let is_near = found == &expected || (found - expected).abs() <= EPSILON * expected;
            assert!(is_near, "{file}: {found} at node {id}, expected {expected}");
        }
    }
}

fn both(check: impl Fn(&str, bool)) {
    check("dir", true);
    check("undir", false);
}

#[test]
fn breadth_first_search() {
    let check = |case: Case, source: u64, output: &str| {
        let distance = bfs(&case.graph, case.number(source), None, &Run::silent()).unwrap().distance;
        let found: Vec<String> =
            distance.iter().map(|d| if *d == NONE { UNREACHED.to_string() } else { d.to_string() }).collect();
        assert_eq!(found, case.expected(output), "{output}");
    };
    both(|name, directed| {
        check(Case::of_nodes(&format!("bfs/{name}-input"), directed), 1, &format!("bfs/{name}-output"));
    });
    check(Case::of_nodes("example/example-directed-input", true), 1, "example/example-directed-BFS");
    check(Case::of_nodes("example/example-undirected-input", false), 2, "example/example-undirected-BFS");
}

#[test]
fn community_detection_by_label_propagation() {
    let check = |case: Case, rounds: usize, output: &str| {
        let labels = cdlp(&case.graph, rounds, &Run::silent()).unwrap();
        let found: Vec<String> = labels.iter().map(|label| case.ids[*label as usize].to_string()).collect();
        assert_eq!(found, case.expected(output), "{output}");
    };
    both(|name, directed| {
        check(Case::of_nodes(&format!("cdlp/{name}-input"), directed), 5, &format!("cdlp/{name}-output"));
    });
    check(Case::of_nodes("example/example-directed-input", true), 2, "example/example-directed-CDLP");
    check(Case::of_nodes("example/example-undirected-input", false), 2, "example/example-undirected-CDLP");
}

#[test]
fn clustering_coefficients() {
    let check = |case: Case, output: &str| {
        case.check(output, &local_clustering_coefficient(&case.graph, &Run::silent()).unwrap());
    };
    both(|name, directed| {
        check(Case::of_nodes(&format!("lcc/{name}-input"), directed), &format!("lcc/{name}-output"));
    });
    check(Case::of_nodes("example/example-directed-input", true), "example/example-directed-LCC");
    check(Case::of_nodes("example/example-undirected-input", false), "example/example-undirected-LCC");
}

#[test]
fn page_rank() {
    let check = |case: Case, iterations: usize, output: &str| {
        let options = PageRank { max_iter: iterations, tol: 0.0, fail_on_nonconvergence: false, ..PageRank::default() };
        case.check(output, &pagerank(&case.graph, &options, &Run::silent()).unwrap());
    };
    check(Case::of_nodes("pr/dir-input", true), 14, "pr/dir-output");
    check(Case::of_nodes("pr/undir-input", false), 26, "pr/undir-output");
    check(Case::of_nodes("example/example-directed-input", true), 2, "example/example-directed-PR");
    check(Case::of_nodes("example/example-undirected-input", false), 2, "example/example-undirected-PR");
}

#[test]
fn single_source_shortest_paths() {
    let check = |case: Case, source: u64, output: &str| {
        let paths = single_source_dijkstra(&case.graph, case.number(source), None, &Run::silent()).unwrap();
        case.check(output, &paths.distance);
    };
    both(|name, directed| {
        check(Case::of_edges(&format!("sssp/{name}-input"), directed), 1, &format!("sssp/{name}-output"));
    });
    check(Case::of_edges("example/example-directed", true), 1, "example/example-directed-SSSP");
    check(Case::of_edges("example/example-undirected", false), 2, "example/example-undirected-SSSP");
}

#[test]
fn weakly_connected_components_are_equivalent() {
    let check = |case: Case, output: &str| {
        let run = Run::silent();
        let found = match case.graph.is_directed() {
            true => weakly_connected_components(&case.graph, &run).unwrap().component,
            false => connected_components(&case.graph, &run).unwrap().component,
        };
        let expected = case.expected(output);
        for u in 0..found.len() {
            for v in 0..u {
                assert_eq!(found[u] == found[v], expected[u] == expected[v], "{output}: nodes {u} and {v}");
            }
        }
    };
    both(|name, directed| {
        check(Case::of_nodes(&format!("wcc/{name}-input"), directed), &format!("wcc/{name}-output"));
    });
    check(Case::of_nodes("example/example-directed-input", true), "example/example-directed-WCC");
    check(Case::of_nodes("example/example-undirected-input", false), "example/example-undirected-WCC");
}
