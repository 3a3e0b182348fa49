//! Times of the algorithms on R-MAT graphs: `cargo run --release -p onrush-graph --example bench_graph [scale]`.
//!
//! Milliseconds, the best of three, without the session. `cargo xtask bench graph` compares whole calls with peers.

use std::time::Instant;

use onrush_graph::cluster::{clustering, square_clustering, triangles};
use onrush_graph::components::{connected_components, strongly_connected_components, weakly_connected_components};
use onrush_graph::cores::core_number;
use onrush_graph::distance_measures::diameter;
use onrush_graph::eigenvector::{Eigenvector, Katz, eigenvector_centrality, katz_centrality};
use onrush_graph::link_analysis::{Hits, PageRank, hits, pagerank};
use onrush_graph::shortest_paths::{bellman_ford, single_source_dijkstra};
use onrush_graph::traversal::bfs;
use onrush_graph::{Error, Graph, Run, generate};

fn time<T>(name: &str, work: impl Fn() -> T) {
    let run = || {
        let begin = Instant::now();
        drop(work());
        begin.elapsed().as_secs_f64() * 1e3
    };
    let best = (0..3).map(|_| run()).fold(f64::INFINITY, f64::min);
    println!("{name:<32} {best:9.1}");
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().collect();
    let scale = arguments.get(1).and_then(|s| s.parse().ok()).unwrap_or(17);
    let (s, t) = generate::rmat(scale, 16, 1);
    let n = 1u32 << scale;
    let weights: Vec<f64> = (0..s.len()).map(|e| generate::uniform(2, e as u64)).collect();
    println!("{} nodes, {} edges, {} threads", n, s.len(), rayon::current_num_threads());
    time("build", || Graph::new(false, n, &s, &t, None));
    let plain = Graph::new(false, n, &s, &t, None)?;
    let weighted = plain.with_weights(weights.clone())?;
    weighted.out_weights();
    let directed = Graph::new(true, n, &s, &t, Some(weights))?;
    let run = Run::silent();
    // Isolated nodes are no use as a source: the node with most arcs is not.
    let source = (0..n).max_by_key(|v| plain.out_rows().len(*v)).unwrap_or(0);
    time("build directed", || Graph::new(true, n, &s, &t, None));
    time("simple", || plain.with_weights(vec![1.0; s.len()]).map(|g| g.reverse().simple()));
    time("weakly, no rows by target", || weakly_connected_components(&directed, &run));
    time("pagerank, 1 iteration, directed", || {
        pagerank(&directed.unweighted(), &PageRank { max_iter: 1, ..PageRank::default() }, &run)
    });
    time("pagerank directed", || pagerank(&directed.unweighted(), &PageRank::default(), &run));
    time("pagerank", || pagerank(&plain, &PageRank::default(), &run));
    time("pagerank tol 1e-8 / n", || {
        pagerank(&plain, &PageRank { tol: 1e-8 / f64::from(n), ..PageRank::default() }, &run)
    });
    time("hits directed", || hits(&directed.unweighted(), &Hits::default(), &run));
    time("eigenvector", || eigenvector_centrality(&plain, &Eigenvector::default(), &run));
    time("katz", || katz_centrality(&plain, &Katz { alpha: 1e-5, ..Katz::default() }, &run));
    time("bfs", || bfs(&plain, source, None, &run));
    time("bfs directed", || bfs(&directed, source, None, &run));
    time("dijkstra", || single_source_dijkstra(&weighted, source, None, &run));
    time("bellman_ford", || bellman_ford(&weighted, source, &run));
    time("connected_components", || connected_components(&plain, &run));
    time("weakly_connected_components", || weakly_connected_components(&directed, &run));
    time("strongly_connected_components", || strongly_connected_components(&directed, &run));
    plain.simple();
    let (other_s, other_t): (Vec<u32>, Vec<u32>) = s.iter().zip(&t).filter(|(u, v)| u != v).unzip();
    let without_loops = Graph::new(false, n, &other_s, &other_t, None)?;
    without_loops.simple();
    time("core_number", || core_number(&without_loops, &run));
    time("triangles", || triangles(&plain, &run));
    time("clustering weighted", || clustering(&weighted, true, &run));
    time("clustering directed", || clustering(&directed, false, &run));
    let largest = connected_components(&plain, &run)?;
    let keep: Vec<usize> = (0..s.len()).filter(|e| largest.component[s[*e] as usize] == 0).collect();
    let mut number = vec![0u32; n as usize];
    (0..).zip(largest.nodes(0)).for_each(|(i, v)| number[v as usize] = i);
    let end = |ends: &[u32]| keep.iter().map(|e| number[ends[*e] as usize]).collect::<Vec<u32>>();
    let connected = Graph::new(false, largest.sizes[0], &end(&s), &end(&t), None)?;
    time("diameter", || diameter(&connected, &run));
    if scale <= 14 {
        time("square_clustering", || square_clustering(&plain, &run));
    }
    Ok(())
}
