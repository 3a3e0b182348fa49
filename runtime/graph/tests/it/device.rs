//! Algorithms on the emulated device against those of the host, which are checked against NetworkX in the other tests.

use onrush_graph::device::components as device_components;
use onrush_graph::device::index::index;
use onrush_graph::device::link_analysis::{self as device_link_analysis, Contributions};
use onrush_graph::device::shortest_paths as device_shortest_paths;
use onrush_graph::device::traversal as device_traversal;
use onrush_graph::device::{DeviceError, DeviceGraph, degree};
use onrush_graph::link_analysis::{Hits, PageRank};
use onrush_graph::{Graph, Rows, Run, components, degree as host_degree, generate, link_analysis};
use onrush_graph::{shortest_paths, traversal};
use onrush_kernels::graph::Csr;
use onrush_kernels::graph::build::EdgeColumns;
use onrush_kernels::{Column, Context, Scalar};

use crate::support::device::{Emulated, cases};
use crate::support::{Edges, graphs};

/// Rows of a device are those of the host bit for bit.
fn assert_same_rows(context: &Context, found: &Csr, expected: &Rows, weights: Option<&[f64]>, what: &str) {
    let stream = &context.stream;
    let offsets = found.offsets.read::<u32>(0..expected.nodes() + 1, stream).unwrap();
    let wanted: Vec<u32> = expected.offsets.iter().map(|o| *o as u32).collect();
    assert_eq!(offsets, if wanted.is_empty() { vec![0] } else { wanted }, "{what}: offsets");
    let arcs = 0..expected.targets.len();
    assert_eq!(found.targets.read::<u32>(arcs.clone(), stream).unwrap(), expected.targets, "{what}: targets");
    let edges = found.edges.as_ref().unwrap().read::<u32>(arcs.clone(), stream).unwrap();
    assert_eq!(edges, expected.edges, "{what}: edges");
    let found = found.weights.as_ref().map(|w| w.read::<f64>(arcs, stream).unwrap());
    assert_eq!(found.as_deref(), weights, "{what}: weights");
}

fn assert_same_graph(context: &Context, found: &DeviceGraph, expected: &Graph, what: &str) {
    assert_eq!((found.nodes(), found.edges() as usize), (expected.nodes(), expected.edges()), "{what}");
    assert_same_rows(context, found.out_rows(), expected.out_rows(), expected.out_weights(), what);
    let into = found.in_rows(context).unwrap();
    assert_same_rows(context, into, expected.in_rows(), expected.in_weights(), &format!("{what}, by target"));
}

#[test]
fn uploaded_rows_and_their_transposition_are_those_of_the_host() {
    let device = Emulated::new();
    for (name, graph) in cases() {
        let found = DeviceGraph::upload(&device.context, &graph, true).unwrap();
        assert_same_graph(&device.context, &found, &graph, &name);
        assert_eq!(found.is_weighted(), graph.is_weighted());
        let plain = found.unweighted();
        assert!(!plain.is_weighted() && plain.in_rows(&device.context).unwrap().weights.is_none());
    }
    device.assert_freed();
}

/// Each value is within `tolerance` of the expected one, relative to it.
fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (v, (found, expected)) in found.iter().zip(expected).enumerate() {
        let near = (found - expected).abs() <= tolerance * expected.abs() || found == expected;
        assert!(near, "{what}: node {v} has {found:e}, expected {expected:e}");
    }
}

#[test]
fn degrees_are_those_of_the_host() {
    let device = Emulated::new();
    let context = &device.context;
    for (name, graph) in cases() {
        let on_device = DeviceGraph::upload(context, &graph, false).unwrap();
        let all = degree::degree(&on_device, context).unwrap();
        assert_eq!(all.download(context).unwrap(), host_degree::degree(&graph), "{name}");
        let into = degree::in_degree(&on_device, context).unwrap().download(context).unwrap();
        assert_eq!(into, host_degree::in_degree(&graph), "{name}");
        let out = degree::out_degree(&on_device, context).unwrap().download(context).unwrap();
        assert_eq!(out, host_degree::out_degree(&graph), "{name}");
        let share = degree::centrality(&all, context).unwrap().download(context).unwrap();
        assert_eq!(share, host_degree::degree_centrality(&graph), "{name}");
    }
    device.assert_freed();
}

#[test]
fn pagerank_is_that_of_the_host() {
    let device = Emulated::new();
    let (context, run) = (&device.context, Run::silent());
    for (name, graph) in cases() {
        let n = graph.nodes();
        let some: Vec<f64> = (0..n).map(|v| f64::from(u32::from(v % 3 == 0))).collect();
        let other: Vec<f64> = (0..n).map(|v| (v % 7) as f64 + 0.5).collect();
        let plain = PageRank { tol: 1e-7, max_iter: 500, ..PageRank::default() };
        let all = [
            plain,
            PageRank { alpha: 0.6, personalization: Some(&some), ..plain },
            PageRank { personalization: Some(&other), dangling: Some(&some), nstart: Some(&other), ..plain },
        ];
        for (weighted, graph) in [(true, graph.clone()), (false, graph.unweighted())] {
            let on_device = DeviceGraph::upload(context, &graph, false).unwrap();
            for (i, options) in all.iter().enumerate().take(if weighted { 3 } else { 1 }) {
                let what = format!("{name}, weighted {weighted}, options {i}");
                let expected = link_analysis::pagerank(&graph, options, &run).unwrap();
                let found = device_link_analysis::pagerank(&on_device, options, context, &run).unwrap();
                assert_near(&found.download(context).unwrap(), &expected, 1e-12, &what);
            }
            let narrow = Contributions::Narrow;
            let expected = link_analysis::pagerank(&graph, &all[0], &run).unwrap();
            let found = device_link_analysis::pagerank_of(&on_device, &all[0], narrow, context, &run).unwrap();
            assert_near(&found.download(context).unwrap(), &expected, 1e-6, &format!("{name}, 32 bits"));
        }
    }
    device.assert_freed();
}

#[test]
fn errors_of_pagerank_are_those_of_the_host() {
    let device = Emulated::new();
    let (context, run) = (&device.context, Run::silent());
    let (s, t) = generate::star(9);
    let weights = vec![1.0, 2.0, 3.0, -0.5, 1.0, 1.0, 1.0, -2.0, 1.0];
    let graph = Graph::new(true, 10, &s, &t, Some(weights)).unwrap();
    let on_device = DeviceGraph::upload(context, &graph, true).unwrap();
    let error = |options: &PageRank, weighted: bool| {
        let (graph, on_device) =
            if weighted { (graph.clone(), on_device.clone()) } else { (graph.unweighted(), on_device.unweighted()) };
        let found = device_link_analysis::pagerank(&on_device, options, context, &run).err().unwrap();
        let expected = link_analysis::pagerank(&graph, options, &run).unwrap_err();
        match found {
            DeviceError::Graph(found) => assert_eq!(found, expected),
            other => panic!("{other}, expected {expected}"),
        }
    };
    error(&PageRank::default(), true);
    error(&PageRank { alpha: 1.5, ..PageRank::default() }, false);
    error(&PageRank { dangling: Some(&[0.0; 10]), ..PageRank::default() }, false);
    error(&PageRank { max_iter: 3, tol: 1e-30, ..PageRank::default() }, false);
    let stopped = Run { is_stopped: &|| true, ..Run::silent() };
    let options = PageRank::default();
    let found = device_link_analysis::pagerank(&on_device.unweighted(), &options, context, &stopped);
    assert!(matches!(found, Err(DeviceError::Graph(error)) if error.is_stopped()));
}

#[test]
fn ranks_that_have_not_converged_may_be_the_result() {
    let device = Emulated::new();
    let (context, run) = (&device.context, Run::silent());
    for (name, graph) in cases() {
        let on_device = DeviceGraph::upload(context, &graph, false).unwrap();
        for max_iter in [0, 1, 20] {
            let options = PageRank { tol: 0.0, max_iter, fail_on_nonconvergence: false, ..PageRank::default() };
            let expected = link_analysis::pagerank(&graph, &options, &run).unwrap();
            let found = device_link_analysis::pagerank(&on_device, &options, context, &run).unwrap();
            assert_near(&found.download(context).unwrap(), &expected, 1e-12, &format!("{name}, {max_iter} iterations"));
        }
    }
    device.assert_freed();
}

#[test]
fn errors_of_negative_weights_name_the_edge_if_the_device_has_its_number() {
    let device = Emulated::new();
    let (context, run) = (&device.context, Run::silent());
    // The first arc with a negative weight is that of edge 2, from node 0.
    let (sources, targets) = (vec![4, 1, 0, 3], vec![0, 2, 5, 1]);
    let weights = Some(vec![-1.0, 2.0, -3.5, 1.0]);
    let graph = Graph::new(true, 6, &sources, &targets, weights).unwrap();
    let expected = shortest_paths::single_source_dijkstra(&graph, 1, None, &run).unwrap_err();
    assert_eq!((expected.code(), expected.edge), ("weight", Some(2)));
    for with_edges in [true, false] {
        let on_device = DeviceGraph::upload(context, &graph, with_edges).unwrap();
        match device_shortest_paths::single_source_dijkstra(&on_device, 1, None, context, &run) {
            Err(DeviceError::Graph(found)) if with_edges => assert_eq!(found, expected),
            Err(DeviceError::Graph(found)) => {
                assert_eq!((found.code(), found.edge), ("weight", None));
                assert_eq!(found.message, "the weight of an edge is -3.5: Dijkstra's algorithm takes none below 0");
            }
            other => panic!("{:?}", other.map(|paths| paths.distance.len())),
        }
    }
    device.assert_freed();
}

/// A wait for the stream cannot be seen on the emulated device, whose launches are synchronous: the message can, and
/// that the memory is freed.
#[test]
fn stopped_algorithms_say_where_they_were() {
    let device = Emulated::new();
    let context = &device.context;
    let stopped = Run { is_stopped: &|| true, ..Run::silent() };
    let (s, t) = generate::path(40);
    let graph = Graph::new(false, 40, &s, &t, None).unwrap();
    let on_device = DeviceGraph::upload(context, &graph, false).unwrap();
    let messages = [
        device_components::connected_components(&on_device, context, &stopped).err(),
        device_link_analysis::pagerank(&on_device, &PageRank::default(), context, &stopped).err(),
        onrush_graph::device::cores::core_number(&on_device, context, &stopped).err(),
        device_traversal::bfs(&on_device, 0, None, context, &stopped).err(),
    ]
    .map(|error| error.unwrap().to_string());
    let expected = [
        "stopped after the labels of connected components",
        "stopped after 0 iterations of pagerank",
        "stopped after 0 iterations of core_number",
        "stopped after 0 levels of a breadth-first search",
    ];
    assert_eq!(messages, expected);
    drop(on_device);
    device.assert_freed();
}

/// Largest singular values that are alone: NetworkX's tolerance is 1e-5, vectors of two ways to the same residual of
/// 1e-8 differ by its ratio to the gap.
#[test]
fn hits_are_those_of_the_host() {
    let device = Emulated::new();
    let (context, run) = (&device.context, Run::silent());
    for (name, graph) in cases().into_iter().filter(|(name, _)| name.starts_with("rmat") || name.starts_with("star")) {
        for normalized in [true, false] {
            let options = Hits { normalized, ..Hits::default() };
            let (hubs, authorities) = link_analysis::hits(&graph, &options, &run).unwrap();
            let on_device = DeviceGraph::upload(context, &graph, false).unwrap();
            let found = device_link_analysis::hits(&on_device, &options, context, &run).unwrap();
            let close = |found: Vec<f64>, expected: &[f64]| {
                let largest = expected.iter().copied().fold(0.0, f64::max);
                for (v, (found, expected)) in found.iter().zip(expected).enumerate() {
                    assert!((found - expected).abs() <= 1e-7 * largest, "{name}: node {v} {found:e} {expected:e}");
                }
            };
            close(found.0.download(context).unwrap(), &hubs);
            close(found.1.download(context).unwrap(), &authorities);
        }
    }
    device.assert_freed();
}

#[test]
fn searches_are_those_of_the_host() {
    let device = Emulated::new();
    let (context, run) = (&device.context, Run::silent());
    for (name, graph) in cases().into_iter().filter(|(_, graph)| graph.nodes() > 0) {
        let n = graph.nodes() as u32;
        for with_rows_by_target in [false, true] {
            let on_device = DeviceGraph::upload(context, &graph, false).unwrap();
            if with_rows_by_target {
                on_device.in_rows(context).unwrap();
            }
            for (source, limit) in [(0, None), (n / 2, None), (n - 1, Some(2)), (1 % n, Some(0))] {
                let what = format!("{name} from {source}, limit {limit:?}, rows by target {with_rows_by_target}");
                let expected = traversal::bfs(&graph, source, limit, &run).unwrap();
                let found = device_traversal::bfs(&on_device, source, limit, context, &run).unwrap();
                assert_eq!(found.distance.download(context).unwrap(), expected.distance, "{what}: distance");
                assert_eq!(found.predecessor.download(context).unwrap(), expected.predecessor, "{what}: predecessor");
            }
            let several = [n - 1, 0, n / 3, 0];
            let expected = traversal::distances(&graph, &several, None, &run).unwrap();
            let found = device_traversal::distances(&on_device, &several, None, context, &run).unwrap();
            assert_eq!(found.download(context).unwrap(), expected, "{name} from several");
            let expected = traversal::distances_to(&graph, &several, None, &run).unwrap();
            let found = device_traversal::distances_to(&on_device, &several, None, context, &run).unwrap();
            assert_eq!(found.download(context).unwrap(), expected, "{name} to several");
        }
    }
    device.assert_freed();
}

#[test]
fn components_are_those_of_the_host() {
    let device = Emulated::new();
    let (context, run) = (&device.context, Run::silent());
    for (name, graph) in cases() {
        for with_rows_by_target in [false, true] {
            let on_device = DeviceGraph::upload(context, &graph, false).unwrap();
            if with_rows_by_target {
                on_device.in_rows(context).unwrap();
            }
            let (expected, found) = match graph.is_directed() {
                true => (
                    components::weakly_connected_components(&graph, &run),
                    device_components::weakly_connected_components(&on_device, context, &run),
                ),
                false => (
                    components::connected_components(&graph, &run),
                    device_components::connected_components(&on_device, context, &run),
                ),
            };
            assert_eq!(found.unwrap().download(context).unwrap(), expected.unwrap(), "{name}");
        }
    }
    device.assert_freed();
}

/// The cases, and one whose weights are mostly 0, so that predecessors are chosen along plateaus.
#[test]
fn shortest_paths_are_those_of_the_host() {
    let device = Emulated::new();
    let (context, run) = (&device.context, Run::silent());
    let mut all = cases();
    for directed in [false, true] {
        let (s, t) = generate::rmat(8, 3, 5);
        let weights = (0..s.len()).map(|e| (generate::hash(2, e as u64) % 3 / 2) as f64).collect();
        all.push((format!("zeros, directed {directed}"), Graph::new(directed, 256, &s, &t, Some(weights)).unwrap()));
    }
    for (name, graph) in all.into_iter().filter(|(_, graph)| graph.nodes() > 0) {
        let n = graph.nodes() as u32;
        for with_rows_by_target in [false, true] {
            let on_device = DeviceGraph::upload(context, &graph, false).unwrap();
            if with_rows_by_target {
                on_device.in_rows(context).unwrap();
            }
            for (sources, cutoff) in [(vec![0], None), (vec![n - 1], Some(1.5)), (vec![n / 2, 0, n / 2], None)] {
                let what = format!("{name} from {sources:?}, {cutoff:?}, rows by target {with_rows_by_target}");
                let expected = shortest_paths::multi_source_dijkstra(&graph, &sources, cutoff, &run).unwrap();
                let found =
                    device_shortest_paths::multi_source_dijkstra(&on_device, &sources, cutoff, context, &run).unwrap();
                let distance = found.distance.download(context).unwrap();
                let bits = |values: &[f64]| values.iter().map(|d| d.to_bits()).collect::<Vec<u64>>();
                assert_eq!(bits(&distance), bits(&expected.distance), "{what}: distance");
                assert_eq!(found.predecessor.download(context).unwrap(), expected.predecessor, "{what}: predecessor");
            }
        }
    }
    device.assert_freed();
}

/// Ids that are nodes' numbers in another form, ascending with them.
fn assert_index_is<T: onrush_device::Pod + PartialEq + std::fmt::Debug>(
    context: &Context,
    scalar: Scalar,
    id: impl Fn(u32) -> T,
    edges: &Edges,
) {
    let what = format!("{} as {}", edges.name, scalar.cuda());
    let column = |ends: &[u32]| context.upload(&ends.iter().map(|v| id(*v)).collect::<Vec<T>>()).unwrap();
    let (sources, targets) = (column(&edges.sources), column(&edges.targets));
    let weights = edges.weights.as_ref().map(|w| context.upload(w).unwrap());
    // Only nodes that occur in edges: numbered again on the host.
    let mut used: Vec<u32> = edges.sources.iter().chain(&edges.targets).copied().collect();
    used.sort_unstable();
    used.dedup();
    let renumbered = |ends: &[u32]| ends.iter().map(|v| used.binary_search(v).unwrap() as u32).collect::<Vec<u32>>();
    let (s, t) = (renumbered(&edges.sources), renumbered(&edges.targets));
    for with_edges in [true, false] {
        let columns = EdgeColumns {
            sources: Column::new(scalar, &sources),
            targets: Column::new(scalar, &targets),
            weights: weights.as_ref().map(|w| Column::new(Scalar::F64, w)),
            directed: edges.directed,
            with_edges,
        };
        let index = index(context, &columns).unwrap();
        let graph = Graph::new(edges.directed, used.len() as u32, &s, &t, edges.weights.clone()).unwrap();
        let ids = index.ids.read::<T>(0..used.len(), &context.stream).unwrap();
        assert_eq!(ids, used.iter().map(|v| id(*v)).collect::<Vec<T>>(), "{what}: ids");
        if with_edges {
            assert_same_graph(context, &index.graph, &graph, &what);
        } else {
            let targets =
                index.graph.out_rows().targets.read::<u32>(0..graph.out_rows().targets.len(), &context.stream);
            assert_eq!(targets.unwrap(), graph.out_rows().targets, "{what}: targets");
        }
    }
}

#[test]
fn graphs_of_columns_are_those_of_the_host() {
    let device = Emulated::new();
    let context = &device.context;
    let mut all = graphs();
    for directed in [true, false] {
        let (sources, targets) = generate::rmat(9, 6, 4);
        let weights = Some((0..sources.len()).map(|e| (e % 13) as f64).collect());
        all.push(Edges { name: "rmat".into(), directed, n: 512, sources, targets, weights });
    }
    let nothing = || Vec::new();
    all.push(Edges {
        name: "nothing".into(),
        directed: false,
        n: 0,
        sources: nothing(),
        targets: nothing(),
        weights: None,
    });
    for edges in &all {
        assert_index_is(context, Scalar::U32, |v| v, edges);
        assert_index_is(context, Scalar::I32, |v| v as i32 - 77, edges);
        assert_index_is(context, Scalar::I64, |v| (i64::from(v) - 40) * 0x0123_4567_89ab, edges);
    }
    device.assert_freed();
}

#[test]
fn edges_with_nulls_are_left_out_of_columns() {
    let device = Emulated::new();
    let context = &device.context;
    let (sources, targets): (Vec<i64>, Vec<i64>) = (vec![5, 9, 1, 5, 7, 5], vec![9, 9, 5, 1, 8, 1]);
    // The edges 2 and 4 have a null: 1 -> 5 and 7 -> 8.
    for scale in [1, 1_i64 << 40] {
        let scaled = |ends: &[i64]| context.upload(&ends.iter().map(|v| v * scale).collect::<Vec<i64>>()).unwrap();
        let (sources, targets) = (scaled(&sources), scaled(&targets));
        let (valid_sources, valid_targets) =
            (context.upload(&[0b11_1011_u32]).unwrap(), context.upload(&[0b10_1111_u32]).unwrap());
        let columns = EdgeColumns {
            sources: Column::new(Scalar::I64, &sources).with_validity(&valid_sources),
            targets: Column::new(Scalar::I64, &targets).with_validity(&valid_targets),
            weights: None,
            directed: false,
            with_edges: true,
        };
        let found = index(context, &columns).unwrap();
        let stream = &context.stream;
        assert_eq!(found.ids.read::<i64>(0..3, stream).unwrap(), [scale, 5 * scale, 9 * scale]);
        assert_eq!((found.graph.nodes(), found.graph.edges(), found.graph.arcs()), (3, 4, 7));
        let rows = found.graph.out_rows();
        // 1: 5 by the edges 3 and 5. 5: 1 twice, 9 by edge 0. 9: 5, and its loop, edge 1.
        assert_eq!(rows.offsets.read::<u32>(0..4, stream).unwrap(), [0, 2, 5, 7]);
        assert_eq!(rows.targets.read::<u32>(0..7, stream).unwrap(), [1, 1, 0, 0, 2, 1, 2]);
        assert_eq!(rows.edges.as_ref().unwrap().read::<u32>(0..7, stream).unwrap(), [3, 5, 3, 5, 0, 0, 1]);
    }
    device.assert_freed();
}

/// The check comes before any look at the columns, which are shorter than they say.
#[test]
fn columns_of_too_many_arcs_are_refused() {
    let device = Emulated::new();
    let ends = device.context.upload(&[1_i32, 2]).unwrap();
    let refused = |rows: u64, directed: bool| {
        let ends = Column { rows, ..Column::new(Scalar::I32, &ends) };
        let columns = EdgeColumns { sources: ends, targets: ends, weights: None, directed, with_edges: false };
        match index(&device.context, &columns) {
            Err(DeviceError::Graph(error)) => assert_eq!(error.code(), "arcs", "{error}"),
            other => panic!("{:?}", other.map(|index| index.graph.nodes())),
        }
    };
    // 2^32 - 1 less the 4,096 that loops of 32 bits step by.
    refused((1 << 32) - 4096, true);
    refused((1 << 31) - 2047, false);
}

#[test]
fn weights_of_columns_are_finite() {
    let device = Emulated::new();
    let context = &device.context;
    let (ends, weights) = (context.upload(&[1_i32, 2, 3]).unwrap(), context.upload(&[1.0_f32, f32::NAN, 2.0]).unwrap());
    let columns = EdgeColumns {
        sources: Column::new(Scalar::I32, &ends),
        targets: Column::new(Scalar::I32, &ends),
        weights: Some(Column::new(Scalar::F32, &weights)),
        directed: true,
        with_edges: false,
    };
    match index(context, &columns) {
        Err(DeviceError::Graph(error)) => assert!(error.message.contains("edge 1 "), "{error}"),
        other => panic!("{:?}", other.map(|index| index.graph.nodes())),
    }
}
