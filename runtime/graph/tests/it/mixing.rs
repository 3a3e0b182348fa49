//! Mixing of degrees, cuts, partitions and mean distances against NetworkX 3.6.1 (`tests/graph/expect_mixing.py`).

use onrush_graph::assortativity::{DegreeKind, average_neighbor_degree, degree_assortativity_coefficient, reciprocity};
use onrush_graph::biconnected::{articulation_points, bridges};
use onrush_graph::community::{conductance, coverage, performance};
use onrush_graph::dag::{ancestors, descendants};
use onrush_graph::distance_measures::average_shortest_path_length;
use onrush_graph::similarity::{cosine, overlap, sorensen};
use onrush_graph::{Run, degree};

use crate::support::{assert_close, bits, expected, graphs, integers, numbers, on_threads};

fn kind(word: &str) -> DegreeKind {
    match word {
        "in" => DegreeKind::In,
        "out" => DegreeKind::Out,
        "in+out" => DegreeKind::Both,
        word => panic!("{word} is not a kind of degree"),
    }
}

fn wide(nodes: Vec<u32>) -> Vec<u64> {
    nodes.into_iter().map(u64::from).collect()
}

#[test]
fn mixing_is_that_of_networkx() {
    let (all, run) = (expected("mixing.json"), Run::silent());
    let mut compared = 0;
    for edges in graphs() {
        let (g, name, case) = (edges.graph(), &edges.name, &all[&edges.name]);
        for (key, wanted) in case["neighbor_degrees"].as_object().unwrap() {
            let words: Vec<&str> = key.split(' ').collect();
            let [source, target, weighted] = words[..] else { panic!("{key}") };
            let find = || average_neighbor_degree(&g, kind(source), kind(target), weighted == "True", &run).unwrap();
            let found = on_threads(name, || bits(&find()));
            let found: Vec<f64> = found.into_iter().map(f64::from_bits).collect();
            assert_close(&found, &numbers(wanted), 1e-12, &format!("{name} {key}"));
            compared += 1;
        }
        for (key, wanted) in case["assortativities"].as_object().unwrap() {
            let words: Vec<&str> = key.split(' ').collect();
            let [x, y, weighted] = words[..] else { panic!("{key}") };
            let find = || degree_assortativity_coefficient(&g, kind(x), kind(y), weighted == "True", &run).unwrap();
            let found = on_threads(name, || find().to_bits());
            assert_close(&[f64::from_bits(found)], &numbers(wanted), 1e-9, &format!("{name} {key}"));
            compared += 1;
        }
        match case["reciprocity"].as_f64() {
            Some(wanted) => assert_close(&[reciprocity(&g, &run).unwrap()], &[wanted], 1e-15, name),
            None => assert!(reciprocity(&g, &run).is_err(), "{name}"),
        }
        assert_eq!(wide(degree::isolates(&g)), integers(&case["isolates"]), "{name}");
    }
    assert!(compared > 100, "{compared} values were compared");
}

#[test]
fn the_quality_of_partitions_is_that_of_networkx() {
    let (all, run) = (expected("mixing.json"), Run::silent());
    for edges in graphs() {
        let (g, name, case) = (edges.graph(), &edges.name, &all[&edges.name]["partitions"]);
        if case.is_null() {
            continue;
        }
        let blocks: Vec<u32> = (0..edges.n).map(|v| v % 3).collect();
        assert_close(&[coverage(&g, &blocks, &run).unwrap()], &numbers(&case["coverage"]), 1e-15, name);
        if !case["performance"].is_null() {
            assert_close(&[performance(&g, &blocks, &run).unwrap()], &numbers(&case["performance"]), 1e-15, name);
        }
        for (weighted, key) in [(false, "conductance"), (true, "weighted_conductance")] {
            let find = || bits(&conductance(&g, &blocks, weighted, &run).unwrap());
            let found: Vec<f64> = on_threads(name, find).into_iter().map(f64::from_bits).collect();
            assert_close(&found, &numbers(&case[key]), 1e-12, &format!("{name} {key}"));
        }
    }
}

#[test]
fn cuts_relatives_and_mean_distances_are_those_of_networkx() {
    let (all, run) = (expected("mixing.json"), Run::silent());
    for edges in graphs() {
        let (g, name, case) = (edges.graph(), &edges.name, &all[&edges.name]);
        if g.is_directed() {
            assert_eq!(bridges(&g, &run).unwrap_err().code(), "directed", "{name}");
        } else {
            assert_eq!(wide(bridges(&g, &run).unwrap()), integers(&case["cuts"]["bridges"]), "{name}");
            let points = wide(articulation_points(&g, &run).unwrap());
            assert_eq!(points, integers(&case["cuts"]["articulation_points"]), "{name}");
        }
        for (v, wanted) in case["relatives"].as_array().unwrap().iter().enumerate() {
            assert_eq!(wide(ancestors(&g, v as u32, &run).unwrap()), integers(&wanted["ancestors"]), "{name} {v}");
            assert_eq!(wide(descendants(&g, v as u32, &run).unwrap()), integers(&wanted["descendants"]), "{name} {v}");
        }
        let distances = [false, true].map(|weighted| average_shortest_path_length(&g, weighted, &run));
        match case["mean_distance"].is_null() {
            true => assert!(distances.iter().all(Result::is_err), "{name}"),
            false => {
                let found = distances.map(Result::unwrap);
                assert_close(&found, &numbers(&case["mean_distance"]), 1e-12, name);
            }
        }
    }
}

// From sets of neighbours of NetworkX.
#[test]
fn overlaps_are_those_of_sets() {
    let (all, run) = (expected("mixing.json"), Run::silent());
    for edges in graphs().into_iter().filter(|edges| !edges.directed) {
        let (g, name, case) = (edges.graph(), &edges.name, &all[&edges.name]["overlaps"]);
        let pairs = numbers(&case["pairs"]);
        let pairs: Vec<(u32, u32)> = pairs.chunks(2).map(|pair| (pair[0] as u32, pair[1] as u32)).collect();
        for (key, score) in [("overlap", overlap as fn(&_, _, &_) -> _), ("sorensen", sorensen), ("cosine", cosine)] {
            let found = score(&g, Some(&pairs), &run).unwrap();
            assert_close(&found.values, &numbers(&case[key]), 1e-12, &format!("{name} {key}"));
        }
    }
}
