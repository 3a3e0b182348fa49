//! The rows of a graph against their definition.

use onrush_graph::{Graph, generate};
use rayon::prelude::*;

fn check(directed: bool, n: u32, sources: &[u32], targets: &[u32]) {
    let g = Graph::new(directed, n, sources, targets, None).unwrap();
    let mut out = vec![Vec::new(); n as usize];
    let mut into = vec![Vec::new(); n as usize];
    for (e, (u, v)) in sources.iter().zip(targets).enumerate() {
        out[*u as usize].push((*v, e as u32));
        into[*v as usize].push((*u, e as u32));
        if !directed && u != v {
            out[*v as usize].push((*u, e as u32));
        }
    }
    let expected = |rows: &onrush_graph::Rows, expected: Vec<Vec<(u32, u32)>>| {
        assert_eq!(rows.nodes(), n as usize);
        for (v, mut row) in expected.into_iter().enumerate() {
            row.sort();
            let arcs = rows.arcs(v as u32);
            let found: Vec<(u32, u32)> = arcs.map(|a| (rows.targets[a], rows.edges[a])).collect();
            assert_eq!(found, row, "row {v}");
        }
    };
    expected(g.out_rows(), out.clone());
    if directed {
        expected(g.in_rows(), into);
    }
    let simple = g.simple();
    for (v, mut row) in out.into_iter().enumerate() {
        row.sort();
        row.retain(|(t, _)| *t as usize != v);
        row.dedup_by_key(|(t, _)| *t);
        let rows = simple.out_rows();
        let found: Vec<(u32, u32)> = rows.arcs(v as u32).map(|a| (rows.targets[a], rows.edges[a])).collect();
        assert_eq!(found, row, "simple row {v}");
    }
    let loops = sources.iter().zip(targets).filter(|(u, v)| u == v).count();
    assert_eq!(g.number_of_selfloops(), loops);
    let mut next = 0;
    for range in g.out_rows().ranges_of(64) {
        assert_eq!(range.start, next);
        assert!(!range.is_empty());
        next = range.end;
    }
    assert_eq!(next, n as usize);
}

#[test]
fn rows_have_each_edge_in_order() {
    for directed in [false, true] {
        check(directed, 0, &[], &[]);
        check(directed, 1, &[], &[]);
        check(directed, 1, &[0, 0], &[0, 0]);
        check(directed, 5, &[4, 0, 2, 2, 0], &[0, 4, 2, 1, 4]);
        for (n, (s, t)) in [(9, generate::path(9)), (8, generate::star(7)), (20, generate::complete(20))] {
            check(directed, n, &s, &t);
        }
        let (s, t) = generate::rmat(12, 40, 7);
        check(directed, 1 << 12, &s, &t);
        check(directed, 5000, &s, &t);
    }
}

#[test]
fn rows_are_the_same_on_any_number_of_threads() {
    let (s, t) = generate::rmat(13, 16, 1);
    let rows = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let g = pool.install(|| Graph::new(true, 1 << 13, &s, &t, None).unwrap());
        (g.out_rows().targets.clone(), g.out_rows().edges.clone(), g.in_rows().edges.clone())
    };
    assert!(rows(1) == rows(2) && rows(1) == rows(7));
}

#[test]
fn rows_are_made_by_several_tasks_at_once() {
    let (s, t) = generate::rmat(13, 16, 1);
    let weights: Vec<f64> = (0..s.len()).map(|e| e as f64).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let sizes: Vec<usize> = pool.install(|| {
        let g = Graph::new(true, 1 << 13, &s, &t, Some(weights)).unwrap();
        let size = |_| g.in_rows().targets.len() + g.in_weights().unwrap().len() + g.simple().edges();
        (0..64).into_par_iter().map(size).collect()
    });
    assert!(sizes.iter().all(|size| *size == sizes[0]));
}

#[test]
fn simple_adds_the_weights_of_parallel_edges() {
    let g = Graph::new(false, 3, &[0, 1, 2, 1], &[1, 0, 2, 2], Some(vec![1.0, 2.0, 5.0, 7.0])).unwrap();
    assert_eq!(g.simple().out_weights(), Some([3.0, 3.0, 7.0, 7.0].as_slice()));
    assert_eq!((g.simple().edges(), g.edges(), g.number_of_selfloops()), (2, 4, 1));
    assert_eq!(g.unweighted().out_weights(), None);
}

#[test]
fn edges_that_are_wrong_are_named() {
    let error = |n: u32, s: &[u32], t: &[u32], w: Option<Vec<f64>>| match Graph::new(true, n, s, t, w) {
        Ok(_) => panic!("a graph was made"),
        Err(error) => error.message,
    };
    assert_eq!(error(2, &[0, 1], &[1, 2], None), "edge 1 has the node 2, expected a number below 2");
    assert_eq!(error(2, &[0], &[1, 0], None), "1 sources and 2 targets: an edge has one of each");
    assert_eq!(error(2, &[0], &[1], Some(vec![])), "0 weights for 1 edges: an edge has one");
    let nan = error(2, &[0], &[1], Some(vec![f64::NAN]));
    assert_eq!(nan, "the weight of edge 0 is NaN, expected a finite number");
}

#[test]
fn two_million_isolated_nodes_have_empty_rows() {
    let g = Graph::new(false, 2_000_000, &[], &[], None).unwrap();
    assert_eq!((g.nodes(), g.edges(), g.out_rows().len(1_999_999)), (2_000_000, 0, 0));
}
