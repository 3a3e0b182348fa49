//! Communities against NetworkX and igraph (`tests/graph/expect_community.py`), and what has to hold of any.

use onrush_graph::community::{
    CommunityOptions, coverage, label_propagation_communities, leiden_communities, louvain_communities, modularity,
    performance,
};
use onrush_graph::{Error, Graph, Run, generate};
use serde_json::Value;

use crate::support::{Edges, expected, graphs, integers, numbers, on_threads};

type Search = fn(&Graph, &CommunityOptions, &Run) -> Result<Vec<u32>, Error>;

const SEARCHES: [(&str, Search); 2] = [("louvain", louvain_communities), ("leiden", leiden_communities)];

/// Groups of `size` nodes with `inside` edges within and as many edges between random nodes as `outside` says, for each
/// node.
fn planted(groups: u32, size: u32, inside: u32, outside: u32) -> Graph {
    let n = groups * size;
    let below = |counter: u64, n: u32| (generate::hash(3, counter) % u64::from(n)) as u32;
    let mut ends = (Vec::new(), Vec::new());
    for v in 0..n {
        for i in 0..inside + outside {
            let counter = u64::from(v) * 1000 + u64::from(i);
            ends.0.push(v);
            ends.1.push(if i < inside { v % groups + groups * below(counter, size) } else { below(counter, n) });
        }
    }
    Graph::new(false, n, &ends.0, &ends.1, None).unwrap()
}

fn planted_edges(name: &str, value: &Value) -> Edges {
    let all: Vec<u32> = numbers(&value["edges"]).into_iter().map(|v| v as u32).collect();
    Edges {
        name: name.into(),
        directed: false,
        n: value["n"].as_u64().unwrap() as u32,
        sources: all.iter().copied().step_by(2).collect(),
        targets: all.iter().copied().skip(1).step_by(2).collect(),
        weights: None,
    }
}

/// Asserts the numbering: by falling size, then by lowest node.
fn assert_numbered(labels: &[u32], what: &str) {
    let count = labels.iter().max().map_or(0, |c| *c as usize + 1);
    let mut members = vec![Vec::new(); count];
    labels.iter().enumerate().for_each(|(v, c)| members[*c as usize].push(v));
    for pair in members.windows(2) {
        let (a, b) = (&pair[0], &pair[1]);
        assert!(!b.is_empty() && (a.len() > b.len() || (a.len() == b.len() && a[0] < b[0])), "{what}: {a:?} {b:?}");
    }
}

fn assert_connected(graph: &Graph, labels: &[u32], what: &str) {
    let mut begun = vec![false; labels.len()];
    let mut seen = vec![false; labels.len()];
    for root in 0..labels.len() {
        if seen[root] {
            continue;
        }
        let community = labels[root] as usize;
        assert!(!std::mem::replace(&mut begun[community], true), "{what}: community {community} is in pieces");
        seen[root] = true;
        let mut stack = vec![root as u32];
        while let Some(v) = stack.pop() {
            for t in graph.out_rows().row(v).iter().chain(graph.in_rows().row(v)) {
                if labels[*t as usize] as usize == community && !std::mem::replace(&mut seen[*t as usize], true) {
                    stack.push(*t);
                }
            }
        }
    }
}

#[test]
fn modularity_is_that_of_networkx() {
    let all = expected("community.json");
    for edges in graphs() {
        let thirds: Vec<u32> = (0..edges.n).map(|v| v % 3).collect();
        let Some(wanted) = all["modularity"].get(&edges.name) else { continue };
        for (resolution, wanted) in [1.0, 0.7].into_iter().zip(numbers(wanted)) {
            let found = on_threads(&edges.name, || modularity(&edges.graph(), &thirds, resolution).unwrap().to_bits());
            assert!((f64::from_bits(found) - wanted).abs() < 1e-12, "{}: {found} {wanted}", edges.name);
        }
    }
}

/// NetworkX divides by zero there: `modularity` and `partition_quality`.
#[test]
fn the_quality_of_a_graph_without_edges_is_an_error() {
    let run = Run::silent();
    for directed in [false, true] {
        let isolated = Graph::new(directed, 4, &[], &[], None).unwrap();
        let parts = [0, 0, 1, 1];
        let found = [modularity(&isolated, &parts, 1.0), coverage(&isolated, &parts, &run)];
        for error in found.into_iter().chain([performance(&isolated, &parts, &run)]) {
            let error = error.unwrap_err();
            assert!(error.message.ends_with("is not defined for a graph without edges"), "{error}");
        }
        let looped = Graph::new(directed, 1, &[0], &[0], None).unwrap();
        assert_eq!((modularity(&looped, &[0], 1.0), coverage(&looped, &[0], &run)), (Ok(0.0), Ok(1.0)));
        assert_eq!(performance(&looped, &[0], &run).unwrap_err().code(), "empty");
    }
    let balanced = Graph::new(false, 3, &[0, 1], &[1, 2], Some(vec![1.0, -1.0])).unwrap();
    assert_eq!(modularity(&balanced, &[0, 0, 1], 1.0).unwrap_err().code(), "weight");
}

#[test]
fn label_propagation_is_that_of_networkx() {
    let all = expected("community.json");
    for edges in graphs() {
        let Some(wanted) = all["propagation"].get(&edges.name) else { continue };
        for edges in [edges.clone(), edges.permuted()] {
            let found = on_threads(&edges.name, || label_propagation_communities(&edges.graph(), &Run::silent()));
            let wanted: Vec<u32> = integers(wanted).into_iter().map(|c| c as u32).collect();
            assert_eq!(found.unwrap(), wanted, "{}", edges.name);
        }
    }
    let directed = Graph::new(true, 2, &[0], &[1], None).unwrap();
    assert_eq!(label_propagation_communities(&directed, &Run::silent()).unwrap_err().code(), "directed");
}

#[test]
fn quality_is_that_of_igraph() {
    let all = expected("community.json");
    let mut tested: Vec<Edges> = graphs();
    tested.extend(all["planted"].as_object().unwrap().iter().map(|(name, g)| planted_edges(name, g)));
    for edges in tested {
        let Some(wanted) = all["quality"].get(&edges.name) else { continue };
        let graph = edges.graph();
        for (name, search) in SEARCHES {
            let wanted = wanted[name].as_f64().unwrap();
            let found: Vec<f64> = (0..3)
                .map(|seed| {
                    let labels =
                        search(&graph, &CommunityOptions { seed, ..CommunityOptions::default() }, &Run::silent())
                            .unwrap();
                    modularity(&graph, &labels, 1.0).unwrap()
                })
                .collect();
            println!("{} {name}: {found:.4?}, igraph {wanted:.4}", edges.name);
            assert!(found[0] >= wanted - 0.005, "{} {name}: {found:?}, igraph {wanted}", edges.name);
        }
    }
}

#[test]
fn planted_groups_are_found_with_classes() {
    // 240,000 arcs and more: nodes move in classes.
    let graph = planted(50, 200, 10, 3);
    for (name, search) in SEARCHES {
        let labels = on_threads(name, || search(&graph, &CommunityOptions::default(), &Run::silent()));
        let labels = labels.unwrap();
        assert_numbered(&labels, name);
        let groups: std::collections::BTreeSet<(u32, u32)> =
            labels.iter().zip(0..).map(|(c, v)| (*c, v % 50)).collect();
        println!("{name}: {} pairs, {}", groups.len(), modularity(&graph, &labels, 1.0).unwrap());
        assert_eq!(groups.len(), 50, "{name}: a community for each group");
    }
}

#[test]
fn communities_are_the_same_on_any_number_of_threads_and_order_of_edges() {
    let (s, t) = generate::rmat(13, 16, 1);
    let weights: Vec<f64> = (0..s.len()).map(|e| (generate::hash(9, e as u64) % 9) as f64 / 4.0).collect();
    let rmat = |directed: bool, weights: Option<Vec<f64>>| Edges {
        name: format!("rmat, directed: {directed}"),
        directed,
        n: 1 << 13,
        sources: s.clone(),
        targets: t.clone(),
        weights,
    };
    let mut tested = graphs();
    tested.extend([rmat(false, None), rmat(false, Some(weights.clone())), rmat(true, Some(weights))]);
    for edges in tested {
        for (name, search) in SEARCHES {
            let what = format!("{} {name}", edges.name);
            let labels = |edges: &Edges| {
                on_threads(&what, || search(&edges.graph(), &CommunityOptions::default(), &Run::silent())).unwrap()
            };
            let found = labels(&edges);
            assert_numbered(&found, &what);
            assert_eq!(found.len(), edges.n as usize);
            assert_eq!(found, labels(&edges.permuted()), "{what}: permuted edges");
            if name == "leiden" {
                assert_connected(&edges.graph(), &found, &what);
            }
            if edges.graph().edges() > edges.graph().number_of_selfloops() {
                let singles: Vec<u32> = (0..edges.n).collect();
                let graph = edges.graph();
                let quality = |labels: &[u32]| modularity(&graph, labels, 1.0).unwrap();
                assert!(quality(&found) >= quality(&singles), "{what}");
            }
        }
    }
}

#[test]
fn resolution_and_levels_have_their_meaning() {
    let graph = crate::support::edges("les_miserables").graph();
    let count = |options: &CommunityOptions| {
        louvain_communities(&graph, options, &Run::silent()).unwrap().into_iter().max().unwrap() + 1
    };
    let with = |resolution: f64| count(&CommunityOptions { resolution, ..CommunityOptions::default() });
    assert!(with(0.3) < with(1.0) && with(1.0) < with(3.0));
    assert_eq!(with(0.0), 1, "nothing is expected: all connected nodes are together");
    assert!(count(&CommunityOptions { max_level: Some(1), ..CommunityOptions::default() }) >= with(1.0));
    let cut = CommunityOptions { max_level: Some(0), ..CommunityOptions::default() };
    assert_eq!(
        louvain_communities(&graph, &cut, &Run::silent()).unwrap_err().message,
        "max_level is 0, expected at least 1"
    );
    let negative = graph.with_weights(vec![-1.0; graph.edges()]).unwrap();
    let error = leiden_communities(&negative, &CommunityOptions::default(), &Run::silent()).unwrap_err();
    assert!(error.message.ends_with(" is -1: leiden_communities takes none below 0"), "{}", error.message);
}

#[test]
fn nodes_without_weight_are_alone() {
    for (n, edges, weights) in
        [(0, vec![], None), (1, vec![], None), (3, vec![0, 1], Some(vec![0.0; 2])), (2_000_000, vec![], None)]
    {
        let graph = Graph::new(false, n, &edges, &edges, weights).unwrap();
        for (name, search) in SEARCHES {
            let labels = search(&graph, &CommunityOptions::default(), &Run::silent()).unwrap();
            assert!(labels.into_iter().eq(0..n), "{name}");
        }
        let labels = label_propagation_communities(&graph, &Run::silent()).unwrap();
        assert!(labels.into_iter().eq(0..n));
    }
}

#[test]
fn a_stopped_search_ends() {
    let graph = planted(20, 100, 10, 3);
    let run = Run { is_stopped: &|| true, ..Run::silent() };
    for (name, search) in SEARCHES {
        assert!(search(&graph, &CommunityOptions::default(), &run).unwrap_err().is_stopped(), "{name}");
    }
    assert!(label_propagation_communities(&graph, &run).unwrap_err().is_stopped());
}
